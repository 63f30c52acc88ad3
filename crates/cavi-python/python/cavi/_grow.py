"""A start for a fit to more rows: what rows share as an earlier fit has it, and latents of all rows under that.

Latents of the earlier fit that its projection of the rows has as well are those of rows, and are taken from there; all others are shared.
The next fit begins there, as by ``init``, and is coordinate ascent on the bound of all rows: exact, without a step size.
"""

from __future__ import annotations

import numpy as np

__all__ = ["start"]


def start(fit, rows) -> dict:
    """The parameters of ``fit`` with those of ``rows``, its ``transform`` of all rows, in the place of its own: an ``init``."""
    return {**_parameters(fit), **_parameters(rows)}


def _parameters(fit) -> dict:
    """The arrays of ``posterior/`` by name, of a ragged variable ``VAR.PARAM/GROUP``."""
    root = fit.path / "posterior"
    names = {own.relative_to(root).as_posix().removesuffix(".npy"): own for own in sorted(root.rglob("*.npy"))}
    # The places of latents at listed entries are no parameters.
    return {name: np.load(own) for name, own in names.items() if not name.endswith(".index")}
