"""Fits: the main job, and what comes of it.

A ``Fit`` is a directory as the command line writes it, so that either reads what the other wrote. Without ``out`` it is a temporary one,
which goes with the object; ``save`` keeps it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from . import _calls, _core, _data
from ._asking import Questions
from ._program import CaviWarning, Program, opened, tell
from ._uncertain import Uncertainty

__all__ = ["CaviWarning", "Fit", "Variable", "fit", "load", "pack", "plan", "read", "score"]


#: Where, in the directory of rows that were projected, the fit is kept by which they were.
EARLIER = "earlier"


def fit(
    model,
    data=None,
    *,
    set=None,
    columns=None,
    labels=None,
    transpose=None,
    heldout=None,
    init=None,
    grow=False,
    fix=None,
    sweeps=None,
    tol=None,
    schedule=None,
    warmup=None,
    batch=None,
    shards=None,
    folds=None,
    accelerate=None,
    allocations=None,
    seed=None,
    restarts=None,
    keep="best",
    threads=None,
    precision="f64",
    elbo_every=1,
    verify=False,
    out=None,
    checkpoint_every=None,
    resume=None,
    callback=None,
    progress=False,
    unique=False,
    texts=None,
    heldout_totals=False,
    _baselines=True,
    **arrays,
) -> "Fit":
    """Fit a program to data.

    Parameters
    ----------
    model
        A text, a path, the name of a built-in program, or a ``Program``.
    data, **arrays
        The data by name: NumPy arrays (NaN is missing; one in C order is read where it is, and must not change meanwhile), SciPy sparse matrices, frames of pandas or polars (labels from index and columns,
        or one row for each entry), AnnData, MuData, nested lists, or paths of files. Of a ragged array a dictionary, one for each
        group. A keyword that is a constant or an axis of the program is set, as in ``topic=20``. A name that is also an option goes into
        ``data`` or ``set``. Values of ``index`` data are labels, as in a file, in a series or a frame, and where they are texts; the whole numbers of an
        array of NumPy or a list are positions from 0.
    set
        Constants, sizes of axes.
    columns
        Which columns of a table are which axes: ``{"y": {"user": "userId", "item": "movieId", "value": "rating"}}``, or ``{"y": "wide"}``.
    labels
        Labels of axes: a list, or a file with one a line.
    transpose
        The data (or a list of them) whose files hold the transpose.
    heldout
        Hides a part of the data and scores it: ``{"n": 0.1}``, or a file with the entries. ``summary["heldout_baselines"]`` has beside it the scores by the means
        of rows and columns, and of the same program with one component.
    heldout_totals
        Score held-out counts at a rate as units of their rows, given how many these have.
    unique
        Keep apart genes or cells of one name in files (.h5ad, 10x).
    texts
        Which words of texts count, where data are texts: ``{"min_docs": 2, "max_docs": 0.5, "words": 5000, "ngrams": 2, "stem": "english",
        "stop_words": "german"}``, each as the option of the command line.
    init
        Initial parameters: a ``Fit``, a directory, an ``.npz``, or a dictionary of arrays by ``VAR.PARAM``, of a ragged variable each a dictionary by group.
        Series and frames are matched with the data by their labels, arrays of NumPy are in the order of the data.
    grow
        The data have grown since the fit in ``init``: rows are matched by their labels, those that it has start there, new ones at its average
        row.
    fix
        Values at which latents are held, as data are given: ``{"h": signatures}`` with ``signature=8`` holds those of the frame and leaves the rest
        of the 8 free. Rows and columns are matched by name; NaN is free.
    folds
        Cross-validation: each of so many parts of all data is hidden in turn and scored, then all data are fitted. ``fit.folds`` has the scores.
    sweeps, tol, schedule, warmup, batch, shards, allocations, seed, restarts, threads, precision, elbo_every, verify
        As the options of ``cavi fit``: ``batch="doc=16"``, ``shards="doc=8"``. ``accelerate`` is ``True``, ``False`` or ``None`` for what the program says.
    keep
        ``"all"`` keeps every restart, in ``fit.runs``.
    out
        The directory to write; without it a temporary one.
    checkpoint_every
        Seconds between checkpoints beside ``out``, by which a fit that was killed goes on with ``resume``.
    resume
        The ``out`` of a fit that was killed or interrupted; everything else is given again. The result has the bits of a fit that was not.
    callback
        Called after each sweep with a dictionary (``sweep``, ``sweeps``, ``elbo``, ``rel_change``, ``seconds``, ``restart``, ``restarts``,
        ``warming``); ``False`` ends the fit and keeps it.
    progress
        Show progress on standard error.

    Raises
    ------
    ProgramError, DataError, UsageError
        What is wrong, where, and what to do; all are a ``CaviError`` and a ``ValueError``.
    KeyboardInterrupt
        On Ctrl-C, after the present sweep at the latest.
    """
    if keep not in ("best", "all"):
        raise _core.UsageError(f"keep={keep!r}: expected 'best' or 'all'")
    if precision not in ("f64", "f32"):
        raise _core.UsageError(f"precision={precision!r}: expected 'f64' or 'f32'")
    if grow and init is None:
        raise _core.UsageError("grow=True: `init` names the fit that the data have grown since")
    for name, own in (("heldout", heldout), ("init", init)):
        if folds is not None and own is not None:
            raise _core.UsageError(f"folds={folds!r} cannot be used with {name}: it is the folds that are held out, each of a fit from its own start")
    if heldout_totals and heldout is None and folds is None:
        raise _core.UsageError("heldout_totals=True says how held-out counts are scored: it goes with heldout or folds")
    program = _calls.opened(model, set, arrays)
    own_data, settings = _calls.split(program, arrays, data, set)
    inputs = _data.inputs(
        program._core,
        own_data,
        settings,
        columns=columns,
        labels=labels,
        transpose=transpose,
        heldout=heldout,
        fix=fix,
        unique=unique,
        texts=texts,
    )
    with tempfile.TemporaryDirectory(prefix="cavi-") as scratch:
        start, of_start = _calls.init(init, scratch, program)
        options = {
            "sweeps": sweeps,
            "tol": tol,
            "schedule": schedule,
            "warmup": warmup,
            "batch": batch,
            "shards": shards,
            "folds": folds,
            "accelerate": accelerate,
            "allocations": allocations,
            "seed": _calls.seed(seed),
            "restarts": restarts,
            "keep_all": keep == "all",
            "threads": threads,
            "single": precision == "f32",
            "elbo_every": elbo_every,
            "verify": verify,
            "init": start,
            "grow": bool(grow),
            "checkpoint_every": _seconds(checkpoint_every, out, resume),
            "resume": None if resume is None else str(resume),
            "heldout_totals": bool(heldout_totals),
            "baselines": bool(_baselines),
        }
        home, path = _calls.home(resume if out is None else out)
        _, told, understood = _calls.watched(
            callback, progress, lambda own: _core.fit(program.text, program.file_name, inputs, options, str(path), own)
        )
    tell([*of_start, *told], stacklevel=2)
    kept = {"data": own_data, "columns": columns, "labels": labels, "transpose": transpose}
    return Fit(path, _home=home, _settings=_calls.in_memory(settings), _understood=understood, _data=kept)


def _seconds(checkpoint_every, out, resume):
    """Seconds between checkpoints, which need a place that outlives the process."""
    if checkpoint_every is None:
        return None
    if out is None and resume is None:
        raise _core.UsageError("checkpoint_every needs out=..., beside which checkpoints are written")
    seconds = float(checkpoint_every)
    if not seconds >= 0:
        raise _core.UsageError(f"checkpoint_every={checkpoint_every!r}: expected seconds, 0 or more")
    return seconds


def plan(model, data=None, *, set=None, columns=None, labels=None, transpose=None, unique=False, texts=None, threads=None, **arrays) -> str:
    """How a fit of these data will run: steps, memory, seconds a sweep. Nothing is run."""
    program = _calls.opened(model, set, arrays)
    reading = {"columns": columns, "labels": labels, "transpose": transpose, "unique": unique, "texts": texts}
    inputs, _ = _calls.inputs(program, arrays, data, set, **reading)
    return _core.plan(program.text, program.file_name, inputs, threads)


def read(model, data=None, *, set=None, columns=None, labels=None, transpose=None, unique=False, texts=None, **arrays) -> str:
    """What is understood of the data, a line for each array: axes with labels, entries, missing ones, sums."""
    program = _calls.opened(model, set, arrays)
    reading = {"columns": columns, "labels": labels, "transpose": transpose, "unique": unique, "texts": texts}
    inputs, _ = _calls.inputs(program, arrays, data, set, **reading)
    lines, warned = _core.read(program.text, program.file_name, inputs)
    tell(warned, stacklevel=2)
    return "\n".join(lines)


def pack(model, out, data=None, *, set=None, columns=None, labels=None, transpose=None, unique=False, texts=None, **arrays) -> Path:
    """Write the data of a program to one file, ``out``, whose name ends in ``.cavi-data``: later fits map it into memory instead of reading it.

    ``cavi.fit(model, data={"y": "ratings.cavi-data"})`` takes it as any file, and so does the command line. Data that are given as files may be larger
    than memory.
    """
    program = _calls.opened(model, set, arrays)
    reading = {"columns": columns, "labels": labels, "transpose": transpose, "unique": unique, "texts": texts}
    inputs, _ = _calls.inputs(program, arrays, data, set, **reading)
    _, warned, _ = _core.pack(program.text, program.file_name, inputs, os.fspath(out))
    tell(warned, stacklevel=2)
    return Path(out)


def load(directory) -> "Fit":
    """Open the directory of a fit, which this package or the command line wrote."""
    path = Path(directory)
    if not (path / "summary.json").is_file():
        raise _core.DataError(
            f"`{path}` holds no `summary.json`; expected the directory of a fit, which `fit.save(directory)` or `cavi fit ... --out` wrote"
        )
    return Fit(path)


def score(fits, data=None, *, given=None, **options):
    """How well the average of several fits of one program, with the same constants, predicts new rows; arguments as those of ``Fit.score``."""
    fits = [fits] if isinstance(fits, Fit) else list(fits)
    if not fits:
        raise _core.UsageError("no fit to score")
    return fits[0]._score(fits, data, given=given, **options)


class Fit(Questions, Uncertainty):
    """A fit: the factors of the approximate posterior with labels, the bound, and what can be asked of it.

    ``fit["beta"]`` is a latent (see ``Variable``); ``fit.array("beta.concentration")`` a file of ``posterior/`` as an array.
    """

    def __init__(self, path, _home=None, _settings=None, _understood=None, _data=None, _of=None):
        self._path = Path(path)
        self._home = _home
        # The data in memory that it was made from, and the fit by which its rows were projected.
        self._data = _data
        self._of = _of
        self._settings = _settings or {}
        self._understood = _understood or []
        self._seen = _stamp(self._path)
        self._text = (self._path / "summary.json").read_text(encoding="utf-8")
        self.summary = json.loads(self._text)

    @property
    def path(self) -> Path:
        """Its directory. Another fit that was written there since is not this one, and is refused."""
        now = _stamp(self._path)
        if now is not None and now != self._seen:
            if (self._path / "summary.json").read_text(encoding="utf-8") != self._text:
                raise _core.DataError(
                    f"`{self._path}` holds another fit, which was written there since this one was opened; `cavi.load` opens it, and `fit.save` before that keeps this one"
                )
            self._seen = now
        return self._path

    # What the fit says of itself.

    @property
    def program(self) -> Program:
        """The program as it was run."""
        return opened(self.path / "model.cavi", self._set_values())

    def _set_values(self):
        texts = self.summary["settings"].get("set") or []
        pairs = [text.partition("=")[::2] for text in texts]
        return {name.strip(): _calls.number(value) for name, value in pairs if "[" not in name}

    @property
    def elbo(self) -> float:
        """The evidence lower bound at its end."""
        return float(self.summary["elbo"])

    @property
    def sweeps(self) -> int:
        """How many sweeps it took."""
        return self.summary["sweeps"]

    @property
    def converged(self) -> bool:
        """Whether it stopped by itself."""
        return self.summary["converged"]

    @property
    def heldout(self):
        """The scores of what was held out, by array; ``None`` without such a part."""
        return self.summary.get("heldout")

    @property
    def folds(self):
        """The scores of a cross-validation, as ``summary.json`` has them: ``arrays`` with the mean, its standard error and each part; ``None`` without."""
        return self.summary.get("folds")

    @property
    def understood(self) -> list[str]:
        """What was understood of the data, a line for each array."""
        return list(self._understood)

    @property
    def trace(self) -> dict[str, np.ndarray]:
        """The columns of ``trace.csv``: ``sweep``, ``elbo``, ``rel_change``, ``seconds``, ``phase``."""
        lines = (self.path / "trace.csv").read_text(encoding="utf-8").splitlines()
        names = lines[0].split(",")
        columns = list(zip(*(line.split(",") for line in lines[1:]))) or [()] * len(names)
        kinds = {"sweep": int, "phase": str}
        number = lambda text: float(text) if text else np.nan  # noqa: E731
        return {name: np.array([kinds.get(name, number)(own) for own in column]) for name, column in zip(names, columns)}

    @property
    def runs(self) -> list["Fit"]:
        """Every run as a fit, where ``keep="all"`` kept them."""
        directory = self.path / "runs"
        if not directory.is_dir():
            return []
        # A temporary directory goes with the last of the fits in it.
        own = {"_home": self._home, "_settings": self._settings, "_data": self._data, "_of": self._of}
        return [Fit(run, **own) for run in sorted(directory.iterdir(), key=lambda run: int(run.name))]

    # The latents.

    @property
    def variables(self) -> list[str]:
        """The names of the latents that have values on their axes."""
        names = [own.name.split("[")[0] for own in _core.variables(str(self.path), None)]
        return list(dict.fromkeys(names))

    def __getitem__(self, name: str) -> "Variable":
        return Variable(name, _core.variables(str(self.path), name), self)

    def array(self, name: str):
        """A file of ``posterior/`` by its name, as ``beta.concentration``; of a ragged variable a dictionary, one for each group."""
        path = self.path / "posterior" / name
        if path.is_dir():
            parts = {_group(own.relative_to(path).with_suffix("")): np.load(own) for own in path.rglob("*.npy")}
            return self._in_order(parts, name.rpartition(".")[0])
        file = path.with_name(path.name + ".npy")
        if not file.is_file():
            there = sorted({own.name.removesuffix(".npy") for own in (self.path / "posterior").iterdir()})
            raise KeyError(f"{name!r}; there are {', '.join(there)}")
        return np.load(file)

    def axis(self, name: str):
        """The labels of an axis; of a ragged one a dictionary, one list for each group."""
        path = self.path / "axes" / name
        if path.is_dir():
            parts = {_group(own.relative_to(path).with_suffix("")): _lines(own) for own in path.rglob("*.txt")}
            return self._in_order(parts, None)
        file = path.with_name(path.name + ".txt")
        if not file.is_file():
            raise KeyError(f"{name!r}; there are {', '.join(sorted(own.stem for own in (self.path / 'axes').iterdir()))}")
        return _lines(file)

    def _in_order(self, parts, variable):
        """Parts by group in the order that the fit has of the groups."""
        variable = variable if variable in self.variables else None
        groups = ["/".join(label for _, label in own.group) for own in _core.variables(str(self.path), variable)]
        place = {group: at for at, group in enumerate(dict.fromkeys(groups))}
        return {group: parts[group] for group in sorted(parts, key=lambda own: (place.get(own, len(place)), own))}

    def __contains__(self, name) -> bool:
        return name in self.variables

    def top(self, name: str, n: int = 10, *, by: str = "weight", over: str | None = None):
        """The largest entries of a latent over one axis: for each position on the others a list of labels and values.

        The axis is the last one, unless ``over`` names another; one along which the latent runs more than once goes by its letters. ``by`` is the order:
        ``"weight"``; ``"lift"``, by how much more frequent an entry is there than in all components together; or ``"frex"``, by frequency and exclusivity.
        """
        found = {}
        parts = _core.variables(str(self.path), name)
        place = _place(name, parts[0], over) if parts else 0
        for own, rows in zip(parts, _core.top(str(self.path), name, place, n, by)):
            others = [labels for at, (_, labels) in enumerate(own.axes) if at != place]
            group = "/".join(label for _, label in own.group)
            for entries, at in zip(rows, np.ndindex(*map(len, others))):
                key = tuple(([group] if group else []) + [labels[position] for labels, position in zip(others, at)])
                found[key[0] if len(key) == 1 else key] = entries
        return found

    def export(self, directory) -> list[Path]:
        """Write every latent as two tables to a directory, ``VAR.csv`` and ``VAR.long.csv``, as ``cavi export`` does; gives their paths.

        The long one has a line for each number with labels, mean, standard deviation and quantiles, the wide one the means. A directory with files
        of others is refused.
        """
        target = Path(directory)
        return [target / name for name in _core.export(str(self.path), str(target))]

    # New rows.

    def transform(
        self,
        data=None,
        *,
        axis=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        sweeps=None,
        tol=None,
        seed=None,
        threads=None,
        out=None,
        callback=None,
        progress=False,
        **arrays,
    ) -> "Fit":
        """The latents of new rows, everything that rows share as in this fit.

        ``axis`` is the one that grew, where the data do not say it. Gives a ``Fit`` with the latents of the new rows.
        """
        own_data, own_set = _calls.split(self.program, arrays, data, set, of_program=False)
        inputs = self._new_inputs(own_data, own_set, {}, columns, labels, transpose, None)
        options = {"sweeps": sweeps, "tol": tol, "seed": _calls.seed(seed), "threads": threads}
        home, path = _calls.home(out)
        _, told = _calls.watched(
            callback,
            progress,
            lambda own: _core.project(str(self.path), inputs, axis, options, str(path), own),
        )
        tell(told, stacklevel=2)
        kept = {"data": own_data, "columns": columns, "labels": labels, "transpose": transpose}
        # Constants along the rows are the rows' own.
        settings = {**self._settings, **_calls.in_memory(own_set)}
        return Fit(path, _home=home, _settings=settings, _data=kept, _of=self)

    def score(self, data=None, *, given=None, **options) -> dict:
        """How well this fit predicts new rows: each row is split, its latents are fitted to one part, the other is scored.

        ``given`` names files of the first part. ``metrics`` and ``rank`` are as of ``heldout_score``, ``heldout_totals`` as of ``cavi.fit``. The other options
        are those of ``transform`` but for ``out`` and ``axis``. Data that the program divides by a scale are scored in its unit; ``log_scale`` is then the
        sum of the logs of the scales, and ``log_predictive - log_scale`` the log density in the units of the data. A callback that ends the fit of the rows
        leaves nothing to score, and is refused.
        """
        return self._score([self], data, given=given, **options)

    def _score(
        self,
        fits,
        data,
        *,
        given=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        sweeps=None,
        tol=None,
        seed=None,
        threads=None,
        callback=None,
        progress=False,
        metrics=None,
        rank=None,
        heldout_totals=False,
        **arrays,
    ):
        inputs = self._new_inputs(data, set, arrays, columns, labels, transpose, given)
        options = {"sweeps": sweeps, "tol": tol, "seed": _calls.seed(seed), "threads": threads, "heldout_totals": bool(heldout_totals)}
        paths = [str(own.path) for own in fits]
        wanted = metrics if metrics is None or isinstance(metrics, str) else ",".join(metrics)
        text, told = _calls.watched(callback, progress, lambda own: _core.score(paths, inputs, options, wanted, rank, own))
        tell(told, stacklevel=3)
        return json.loads(text)

    def _new_inputs(self, data, set_, arrays, columns, labels, transpose, given):
        program = self.program
        settings = {**self._settings, **(set_ or {})}
        inputs, _ = _calls.inputs(
            program,
            arrays,
            data,
            settings,
            of_program=False,
            columns=columns,
            labels=labels,
            transpose=transpose,
            heldout=given,
            given=True,
        )
        return inputs

    # Keeping it.

    def save(self, directory) -> Path:
        """Copy the fit to a directory, which must not exist or be empty."""
        target = Path(directory)
        if target.exists() and any(target.iterdir()):
            raise FileExistsError(f"{target} is not empty")
        shutil.copytree(self.path, target, dirs_exist_ok=True)
        if self._of is not None and not (target / EARLIER).exists():
            shutil.copytree(self._of.path, target / EARLIER)
        return target

    def __getstate__(self):
        files = _files(self.path)
        if self._of is not None:
            files = {**{f"{EARLIER}/{name}": own for name, own in _files(self._of.path).items()}, **files}
        return {"files": files, "settings": self._settings, "understood": self._understood}

    def __setstate__(self, state):
        home, path = _calls.home(None)
        for name, content in state["files"].items():
            file = path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        self.__init__(path, _home=home, _settings=state["settings"], _understood=state["understood"])

    def __repr__(self) -> str:
        how = "converged" if self.converged else "not converged"
        sizes = ", ".join(f"{axis} {size}" for axis, size in self.summary["sizes"].items())
        return f"<cavi.Fit of {self.summary['model']} ({sizes}): {how} after {self.sweeps} sweeps, ELBO {self.elbo:.6f}>"

    def _repr_html_(self) -> str:
        text = io.StringIO()
        text.write(f"<p>{self.summary['model']}: {'converged' if self.converged else 'not converged'} after {self.sweeps} sweeps, ")
        text.write(f"ELBO {self.elbo:.6f}</p>")
        return text.getvalue()


def _place(name, variable, over):
    """Which of the axes of a variable ``over`` names: by its name, or by its letter where there are several of one name. Without it the last."""
    axes = [axis for axis, _ in variable.axes]
    if not axes:
        raise _core.UsageError(f"`{name}` is one number")
    if over is None:
        return len(axes) - 1
    for names in (variable.columns, axes):
        if names.count(over) == 1:
            return names.index(over)
    if over in axes:
        letters = [own for own, axis in zip(variable.columns, axes) if axis == over and own != over]
        ways = " or ".join(f"over={own!r}" for own in letters) or "no `over` for the last of them"
        raise _core.UsageError(f"over={over!r}: `{name}` runs along {over} more than once; expected {ways}")
    raise _core.UsageError(f"over={over!r}: `{name}` has no such axis; expected one of {', '.join(variable.columns)}")


def _stamp(path):
    """What changes when another fit is written to a directory; nothing where it is gone."""
    try:
        found = os.stat(path / "summary.json")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _files(directory):
    return {own.relative_to(directory).as_posix(): own.read_bytes() for own in directory.rglob("*") if own.is_file()}


def _group(path):
    """The group of a file by its path, labels of nested groups joined by ``/``."""
    return "/".join(unquote(own) for own in path.parts)


def _lines(file):
    """Labels, which stand one a line. Only a line feed ends a line."""
    text = file.read_bytes().decode("utf-8")
    return text.removesuffix("\n").split("\n") if text else []


class Variable:
    """A latent of a fit.

    ``mean``, ``sd``, ``interval`` and ``quantile`` are frames of pandas with labels where pandas is installed (a series for one axis, an
    array for more than two), else arrays; of a ragged variable they are dictionaries, one for each group. ``array`` is always that of
    NumPy.
    """

    def __init__(self, name, parts, fit):
        self.name = name
        self._parts = parts
        self._fit = fit

    @property
    def axes(self) -> list[str]:
        """The names of its axes."""
        return [axis for axis, _ in self._parts[0].axes]

    @property
    def parameter(self) -> str:
        """What ``mean`` holds: ``mean``, ``prob`` (of a class) or ``value`` (of a point)."""
        return self._parts[0].parameter

    @property
    def mean(self):
        """Means under q: of an index the probability of each class, of a point its value."""
        return self._each(lambda own: own.values)

    @property
    def array(self):
        """As ``mean``, without labels."""
        return self._each(lambda own: own.values, labelled=False)

    @property
    def sd(self):
        """Standard deviations under q; ``None`` where q has none of one number alone."""
        return self._each(lambda own: own.deviations)

    @property
    def var(self):
        """Variances under q."""
        return self._each(lambda own: None if own.deviations is None else own.deviations**2)

    def quantile(self, probability: float):
        """Quantiles under q at a probability between 0 and 1; ``None`` where q has none."""
        if not 0 <= probability <= 1:
            raise _core.UsageError(f"quantile({probability!r}): expected a number between 0 and 1")
        return self._each(lambda own: own.quantile(probability))

    def interval(self, level: float = 0.9):
        """The lower and the upper end of the central interval that holds this much of q.

        q is narrower than the posterior: it leaves out how latents move together.
        """
        if not 0 < level < 1:
            raise _core.UsageError(f"interval({level!r}): expected a number between 0 and 1")
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def sample(self, draws: int = 1000, *, seed=0):
        """Draws from q, the draws as the first dimension; see ``Fit.sample``, which also takes the data where these are needed again."""
        return self._fit.sample(self.name, draws=draws, seed=seed)

    def _each(self, values, labelled=True):
        shaped = {}
        for own in self._parts:
            numbers = values(own)
            if numbers is None:
                return None
            axes = own.axes
            array = numbers.reshape([len(labels) for _, labels in axes])
            group = "/".join(label for _, label in own.group)
            shaped[group] = _labelled(array, axes) if labelled else array
        return shaped[""] if list(shaped) == [""] else shaped

    def __repr__(self) -> str:
        return f"<cavi.Variable {self.name} over {', '.join(self.axes) or 'no axis'}>"


def _labelled(array, axes):
    """An array with its labels."""
    if array.ndim == 0:
        return float(array)
    try:
        import pandas
    except ImportError:
        return array
    index = [pandas.Index(labels, name=axis) for axis, labels in axes]
    if array.ndim == 1:
        return pandas.Series(array, index=index[0])
    if array.ndim == 2:
        return pandas.DataFrame(array, index=index[0], columns=index[1])
    try:
        import xarray
    except ImportError:
        return array
    names = [axis for axis, _ in axes]
    if len(dict.fromkeys(names)) < len(names):
        return array
    return xarray.DataArray(array, dims=names, coords={axis: labels for axis, labels in axes})

