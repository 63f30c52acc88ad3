"""How sure a fit is: draws, intervals, checks by data that it would produce, calibration; and its charts as files for papers.

Questions that look at the data of a fit find them as those of ``_asking`` do.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from . import _calls, _core
from ._asking import _float, _listed, _read, _table, _totals
from ._program import source as text_of
from ._program import tell


class Uncertainty:
    """How far a fit can be believed. Every answer is the one that the command line gives."""

    def sample(
        self,
        names=None,
        data=None,
        *,
        draws=1000,
        seed=0,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        **arrays,
    ):
        """Draws from q of latents, and of deterministic names by those of what they read.

        A dictionary with an array for each name, the draws as its first dimension: with labels, as ``xarray.DataArray``, where xarray is
        installed, else of NumPy. That dimension is called ``draw``, or ``draw_`` where an axis of the program has this name. Of ragged
        variables there is a dictionary with an array for each group. Draws of a class are its positions, from 0. ``names`` picks some; of a
        single name its array comes back.

        q takes factors apart: draws of different factors do not depend on each other as those of the posterior would.
        """
        inputs = self._asked(data, set, columns, labels, transpose, arrays)
        wanted = [] if names is None else _listed(names)
        draws = _calls.whole("draws", draws)
        parts, left_out = _core.draw(str(self.path), inputs, wanted, draws, _calls.seed(seed) or 0)
        tell([f"`{name}` has no draws: {reason}" for name, reason in left_out], stacklevel=2)
        found = {}
        for name, what, group, axes, values in parts:
            array = values.reshape([draws, *(len(own) for _, own in axes)])
            array = _with_draws(array.astype(np.int64) if what == "index" else array, axes)
            if group:
                found.setdefault(name, {})[group] = array
            else:
                found[name] = array
        return found[names] if isinstance(names, str) else found

    def to_arviz(self, names=None, *, draws=1000, seed=0):
        """Draws from q as ArviZ has them, for its plots and summaries.

        They are independent draws from q and no Markov chain: R-hat and effective sample sizes say nothing about them. Groups of
        ragged variables are variables of their own, ``w[rna]``, and axes that have the names of ArviZ's own are called ``draw_axis`` and
        ``chain_axis``. ArviZ is installed by itself, ``pip install arviz``.
        """
        import arviz
        import xarray

        wanted = None if names is None else _listed(names)
        flat = {}
        for name, own in self.sample(wanted, draws=draws, seed=seed).items():
            if isinstance(own, dict):
                flat.update(_apart(name, own))
            else:
                flat[name] = own
        for name, own in flat.items():
            if not isinstance(own, xarray.DataArray):
                raise _core.UsageError(f"to_arviz(): {name} has an axis twice, which has no place in ArviZ; names= picks others")
        flat = {name: _renamed(own) for name, own in flat.items()}
        dataset = xarray.Dataset(flat).expand_dims(chain=[0])
        dataset.attrs = {"what": "independent draws from q, the variational posterior: R-hat says nothing about them"}
        convert = getattr(arviz, "convert_to_inference_data", None) or arviz.convert_to_datatree
        return convert(dataset)

    def intervals(
        self,
        of=None,
        data=None,
        *,
        level=0.9,
        bootstrap=None,
        rows=None,
        form="percentile",
        linear_response=False,
        seed=0,
        sweeps=None,
        tol=None,
        threads=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        **arrays,
    ):
        """Intervals of latents: a table with labels, ``mean``, ``sd``, ``low``, ``high``, ``level`` and ``method``.

        ``of`` names one latent, whose table comes back, or several; else a dictionary with a table for each, of all latents by q and of those
        that rows share by the other methods. Without a method they are quantiles of q, which may be too narrow. ``bootstrap=200`` fits so many
        data sets again that are drawn from the fit, or with ``rows="user"`` rows that are drawn from the data with replacement.
        ``linear_response=True`` corrects the variances of q by how its means answer to a small change of the model.
        """
        # The quantiles of q need no data, and are refused with any.
        told = any(own is not None for own in (data, set, columns, labels, transpose)) or bool(arrays)
        looks = bootstrap is not None or linear_response or told
        inputs = self._asked(data, set, columns, labels, transpose, arrays) if looks else None
        what, notes, tables = _core.intervals_of(
            str(self.path),
            inputs,
            [] if of is None else _listed(of),
            level,
            bootstrap,
            rows,
            form,
            linear_response,
            _calls.seed(seed) or 0,
            sweeps,
            tol,
            threads,
        )
        tell(notes, stacklevel=2)
        found = {}
        for name, text in tables:
            # After the labels: mean, sd, low, high, level, method.
            header, cells = _read(text, range(-6, -1))
            found[name] = _table(header, cells)
            if hasattr(found[name], "attrs"):
                found[name].attrs["what"] = what
        return found[of] if isinstance(of, str) else found

    def check_fit(
        self,
        data=None,
        *,
        stat=(),
        draws=100,
        k_hat=None,
        by=None,
        seed=0,
        threads=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        **arrays,
    ) -> "Check":
        """Whether data drawn from the fit look like those that it was made from: posterior predictive checks.

        ``stat`` names statistics (``"zeros,variance,max"`` or a list), else those that suit the type of each array are taken; ``by`` an
        axis of which each label is looked at by itself; ``k_hat`` how many draws from q judge how far it is from the posterior.
        """
        inputs = self._asked(data, set, columns, labels, transpose, arrays)
        stats = stat.split(",") if isinstance(stat, str) else list(stat)
        text = _core.predictive_checks(str(self.path), inputs, stats, draws, k_hat, by, _calls.seed(seed) or 0, threads)
        return Check(json.loads(text))

    def plots(self, path=None, kind="svg", *, width=None, by=None):
        """The charts of ``report`` as files for papers, ``kind`` being svg, png or pdf, or a list of these.

        With ``path`` they are written to that directory, and a list of their paths comes back; else a dictionary of their contents by
        name, svg as text. ``width`` is in millimetres, 85 for one column of a journal and 174 for two.
        """
        texts = [f"{name}={os.fspath(own)}" for name, own in (by or {}).items()]
        drawn = _core.plots(str(self.path), _listed(kind), width, texts)
        if path is None:
            return {name: own.decode() if name.endswith(".svg") else own for name, own in drawn}
        target = Path(path)
        target.mkdir(parents=True, exist_ok=True)
        for name, own in drawn:
            (target / name).write_bytes(own)
        return [target / name for name, _ in drawn]


class Check:
    """Posterior predictive checks: ``table`` has a row for each statistic, ``verdicts`` says in words where the data lie beyond all replicates.

    ``k_hat`` is the shape of the tail of q's importance weights, ``q`` what it says, in words.
    """

    def __init__(self, answer):
        self._answer = answer

    @property
    def table(self):
        """Statistics of the data beside those of the replicates, with two-sided posterior predictive p-values."""
        rows = [
            {name: _float(value) if name in NUMBERS else value for name, value in own.items()}
            for own in self._answer["statistics"]
        ]
        return _table(list(rows[0]), [list(own.values()) for own in rows]) if rows else _table([], [])

    @property
    def verdicts(self) -> list[str]:
        """What the data have that the fit does not produce."""
        return [own["verdict"] for own in self._answer["statistics"] if own["verdict"]]

    @property
    def notes(self) -> list[str]:
        """What is to be known of the table, such as statistics that the data have no value of."""
        return list(self._answer["notes"])

    @property
    def k_hat(self) -> float:
        """Below 0.5 q is close to the posterior, above 0.7 it is far from it; NaN where it was not worked out."""
        return _float(self._answer["q"]["k_hat"])

    @property
    def q(self) -> str:
        """What ``k_hat`` says, or why there is none."""
        return self._answer["q"]["words"]

    def __repr__(self) -> str:
        found, draws = self._answer["statistics"], self._answer["draws"]
        head = f"<cavi.Check of {len(found)} statistics and {draws} replicates: "
        if not self.verdicts:
            return f"{head}the data lie among them>"
        return f"{head}{len(self.verdicts)} beyond all>\n" + "\n".join(self.verdicts)


#: Columns of a check that hold numbers.
NUMBERS = {"observed", "mean", "lowest", "highest", "p"}


def _apart(name, groups):
    """The groups of a ragged variable as variables of their own. Axes along which groups have other labels are axes of their own."""
    first = next(iter(groups.values()))
    if not hasattr(first, "dims"):
        return {f"{name}[{group}]": own for group, own in groups.items()}
    is_shared = {dim: all(own.indexes[dim].equals(first.indexes[dim]) for own in groups.values()) for dim in first.dims[1:]}
    own_axes = [dim for dim, shared in is_shared.items() if not shared]
    return {
        f"{name}[{group}]": own.rename({dim: f"{dim}[{group}]" for dim in own_axes}) for group, own in groups.items()
    }


def _renamed(array):
    """The draws as the dimension ``draw``, where no axis is called as a dimension of ArviZ."""
    names = {dim: f"{dim}_axis" for dim in array.dims[1:] if dim in ("chain", "draw")}
    return array.rename({**names, array.dims[0]: "draw"})


def _with_draws(array, axes):
    """Draws with labels, where xarray is installed and no axis stands twice; the dimension of the draws has a name that no axis has."""
    try:
        import xarray
    except ImportError:
        return array
    names = [axis for axis, _ in axes]
    if len(dict.fromkeys(names)) < len(names):
        return array
    draw = "draw_" if "draw" in names else "draw"
    return xarray.DataArray(array, dims=[draw, *names], coords=dict(axes))


class Calibration:
    """Where the truth lies among draws of q, over many fits: ``table`` has a row for each latent, ``verdicts`` says in words what is wrong.

    ``histogram[name]`` are the shares of places in each tenth of (0, 1): level, 0.1 each, were q the posterior.
    """

    def __init__(self, answer, verdicts):
        self._answer = answer
        self.verdicts = verdicts

    @property
    def table(self):
        """Each latent with its number of elements, mean place, coverage of the central 90 % of q, p-values, and what is wrong."""
        columns = ["elements", "mean_rank", "coverage_90", "p_shift", "p_width", "finding"]
        rows = [
            [name, own["elements"], *(_float(own[column]) for column in columns[1:-1]), own["finding"]]
            for name, own in self._answer["latents"].items()
        ]
        return _table(["latent", *columns], rows)

    @property
    def histogram(self) -> dict:
        """For each latent an array of ten shares."""
        return {name: np.array([_float(own) for own in latent["histogram"]]) for name, latent in self._answer["latents"].items()}

    @property
    def left_out(self) -> dict:
        """Latents that are not judged, with the reason."""
        return dict(self._answer["left_out"])

    @property
    def fits(self) -> int:
        """How many fits there are."""
        return self._answer["fits"]

    @property
    def unconverged(self) -> int:
        """How many of them had not converged."""
        return self._answer["unconverged"]

    def __repr__(self) -> str:
        return f"<cavi.Calibration of {self.fits} fits: {'; '.join(self.verdicts) or 'nothing is off'}>"


def calibrate(
    model,
    data=None,
    *,
    source=None,
    fits=100,
    draws=99,
    sweeps=None,
    tol=None,
    restarts=None,
    seed=0,
    threads=None,
    total=None,
    set=None,
    columns=None,
    labels=None,
    transpose=None,
    **arrays,
) -> Calibration:
    """Does a fit find what its data were drawn from? Simulation-based calibration.

    Latents and data are drawn from the prior of the program, or of another program ``source``, and the program is fitted to each data set. Sizes of
    axes are set, ``doc=200``; data that are given, such as covariates, are not drawn. ``total`` is as for ``simulate``.

    >>> cavi.calibrate(text, case=50, x=covariates).table
    """
    programs = [model] if source is None else [model, source]
    own = [_calls.opened(program, set, arrays) for program in programs]
    known = [{data[0] for data in program._core.data} | {*program._core.settable} for program in own]

    def read(number):
        # What only the other program has a name for is left out; what neither has is refused.
        others = known[1 - number] if source is not None else frozenset()
        stays = lambda name: name in known[number] or name not in others  # noqa: E731
        of = lambda values: {name: value for name, value in (values or {}).items() if stays(name)}  # noqa: E731
        turned = [name for name in _listed(transpose or []) if stays(name)]
        inputs, _ = _calls.inputs(
            own[number], of(arrays), of(data), of(set), columns=of(columns), labels=of(labels), transpose=turned
        )
        return (*text_of(own[number]), inputs)

    other = None if source is None else read(1)
    totals = _totals(total)
    fits, draws, sweeps = _calls.whole("fits", fits, 1), _calls.whole("draws", draws, 1), _calls.whole("sweeps", sweeps)
    restarts, threads = _calls.whole("restarts", restarts, 1), _calls.whole("threads", threads, 1)
    answer, verdicts = _core.calibrated(
        *read(0), other, totals, fits, draws, sweeps, tol, restarts, _calls.seed(seed) or 0, threads
    )
    return Calibration(json.loads(answer), verdicts)
