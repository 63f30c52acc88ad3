"""What calls share: arguments sorted by name, progress, temporary directories."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path

import numpy as np

from . import _core, _data, _init
from ._program import opened as program_of


def split(program, arrays, data, settings, *, of_program=True):
    """Sort arguments by name: data of the program, or its constants and sizes, to which what was set of the program belongs if it is asked for."""
    names = {own[0] for own in program._core.data}
    settable = set(program._core.settable)
    data, settings = dict(data or {}), {**(program._values if of_program else {}), **(settings or {})}
    for name, value in arrays.items():
        if name in names:
            data[name] = value
        elif name in settable:
            settings[name] = value
        else:
            raise _core.UsageError(
                f"{program.file_name} has neither data nor a constant nor an axis {name!r}; its data are {', '.join(sorted(names))}, "
                f"and {', '.join(sorted(settable))} can be set. Options of a fit are those of `help(cavi.fit)`."
            )
    return data, settings


def opened(model, set_, arrays):
    """The program with what is set of it, for the names of its data."""
    program = program_of(model, {})
    settable = set(program._core.settable)
    # Names that are not its own are refused where data and settings are sorted.
    values = {name: value for name, value in {**(set_ or {}), **arrays}.items() if name in settable}
    return program_of(program, values) if values else program


def inputs(program, arrays, data, set_, *, of_program=True, **reading):
    own_data, settings = split(program, arrays, data, set_, of_program=of_program)
    return _data.inputs(program._core, own_data, settings, **reading), settings


class _Bar:
    """Progress on standard error: that of tqdm, where it is installed."""

    def __init__(self, callback):
        self._callback = callback
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._bar = tqdm(unit=" sweeps") if tqdm else None

    def __call__(self, report):
        bound = "" if report["elbo"] is None else f"ELBO {report['elbo']:.6g}"
        if self._bar is not None:
            self._bar.total = report["sweeps"]
            self._bar.n = report["sweep"]
            self._bar.set_postfix_str(bound, refresh=False)
            self._bar.update(0)
        else:
            print(f"\rsweep {report['sweep']} of at most {report['sweeps']}  {bound}", end="", file=sys.stderr)
        return self._callback(report) if self._callback else None

    def close(self):
        """End the line."""
        if self._bar is not None:
            self._bar.close()
        else:
            print(file=sys.stderr)


def watched(callback, progress, call):
    """Call with a callback, and progress where that is wanted."""
    if not progress:
        return call(callback)
    bar = _Bar(callback)
    try:
        return call(bar)
    finally:
        bar.close()


def seed(seed):
    """A seed as a number: that of NumPy's generators is drawn from them."""
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**31))
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31 - 1))
    return whole("seed", seed)


def whole(name, value, least=0):
    """A whole number that is no less than ``least``; ``None`` stays."""
    if value is None:
        return None
    if isinstance(value, (bool, str, bytes)) or not np.isscalar(value) or not np.isfinite(value) or value != int(value) or value < least:
        raise _core.UsageError(f"{name}={_data.brief(value)}: expected a whole number, {least} or greater")
    return int(value)


def init(init, scratch, program):
    """Initial parameters as a path, and what there is to say of them."""
    if init is None:
        return None, []
    if hasattr(init, "path") and hasattr(init, "summary"):
        return str(init.path), []
    if isinstance(init, dict):
        path = os.path.join(scratch, "init")
        return path, _init.written(program._core, init, path)
    return os.fspath(init), []


class _Home:
    """A temporary directory, which goes with this object. A process that was forked from the one that made it leaves it where it is."""

    def __init__(self):
        self.name = tempfile.mkdtemp(prefix="cavi-")
        weakref.finalize(self, _remove, self.name, os.getpid())


def _remove(directory, maker):
    if os.getpid() == maker:
        shutil.rmtree(directory, ignore_errors=True)


def home(out):
    """The directory to write, and what keeps a temporary one."""
    if out is not None:
        return None, Path(out)
    home = _Home()
    return home, Path(home.name) / "fit"


def number(text):
    """A number, where a text is one; else the text, which is an expression or a file."""
    try:
        return float(text)
    except ValueError:
        return text


def in_memory(settings):
    """Constants that are arrays in memory, which the directory of a fit does not hold."""
    return {name: own for name, own in settings.items() if not (np.isscalar(own) or isinstance(own, (str, os.PathLike)))}
