"""Questions to a fit: what is missing, what comes first, which fit or which size to take; draws, and a page.

Questions that look at the data of a fit take them as ``fit`` does. Without them they read the files that the fit was made from, if these have not
changed, or the arrays in memory that the fit was given, to which it keeps a reference.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import tempfile
from pathlib import Path

import numpy as np

from . import _calls, _core, _data
from ._program import Program, opened, source, tell


class Questions:
    """What can be asked of a fit. Every answer is the one that the command line gives."""

    def _label(self, axis, label):
        """A label as the fit has it. Only how a moment or a duration is written depends on what else stands on its axis."""
        known = []
        if _data.is_moment(label) or _data.is_duration(label):
            try:
                known = self.axis(axis)
            except (KeyError, OSError):
                pass
        known = known if isinstance(known, list) else [own for group in known.values() for own in group]
        return _data.text_of(label, known)

    def _asked(self, data, set_, columns, labels, transpose, arrays):
        """The data of a question; nothing for the files of the fit."""
        if not (data or arrays):
            if columns or labels or transpose or set_:
                raise _core.UsageError("columns, labels, transpose and set say how data are read, and no data are given")
            kept = self._data
            # Files are read as the directory names them, which knows nothing of constants in memory.
            if kept is None or not self._settings and all(_is_file(own) for own in kept["data"].values()):
                return None
            inputs = self._new_inputs(kept["data"], None, {}, kept["columns"], kept["labels"], kept["transpose"], None)
            inputs.kept()
            return inputs
        return self._new_inputs(data, set_, arrays, columns, labels, transpose, None)

    def impute(
        self,
        of=None,
        data=None,
        *,
        all=False,
        only=None,
        draws=200,
        threads=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        **arrays,
    ):
        """What missing entries of the data are expected to be: a table with labels, ``mean`` and ``sd``, in the units of the data.

        ``of`` names one array, whose table comes back; without it a dictionary with a table for each. ``all=True`` predicts all entries
        and adds what the data have as ``value``. ``only`` picks labels, as in ``{"user": "u7"}`` or ``{"user": ["u7", "u8"]}``. Standard deviations
        are those of the entries, their noise included; ``draws`` are those from q for what has no closed form, 0 for means alone. Of
        entries that are classes there are ``class`` and ``prob``.

        Tables are frames of pandas where it is installed, else lists of dictionaries.
        """
        inputs = self._asked(data, set, columns, labels, transpose, arrays)
        draws, threads = _calls.whole("draws", draws), _calls.whole("threads", threads, 1)
        chosen = [(axis, self._label(axis, label)) for axis, own in (only or {}).items() for label in _listed(own)]
        tables = _core.impute_entries(
            str(self.path), inputs, all, [] if of is None else [of], chosen, draws, threads
        )
        found = {}
        classes = {own[0] for own in self.program._core.data if own[3]}
        for name, _, _, bare_rows, listed_only, text in tables:
            if listed_only:
                tell(
                    [f"entries of {name} that are not listed are left out: the program has latents of its own at each listed entry"],
                    stacklevel=2,
                )
            if bare_rows:
                tell(
                    [
                        f"{bare_rows} rows have no entry of {name}. Such rows bend a joint fit: fit the rows that have all arrays, "
                        "and impute `fit.transform` of the others"
                    ],
                    stacklevel=2,
                )
            # After the labels stand what is expected and how sure that is, and with `all` what the data have.
            numbers = range(-2 - bool(all), 0)
            if name in classes:
                numbers = [-1 - bool(all)]
            found[name] = _table(*_read(text, numbers))
        if of is None:
            return found
        # An array without a missing entry has no table.
        return found[of] if of in found else _table([], [])

    def rank(
        self,
        axis,
        each,
        data=None,
        *,
        n=10,
        of=None,
        not_in=None,
        unseen=False,
        threads=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        **arrays,
    ):
        """The positions of an axis in the order of what entries of the data are expected to be, the greatest first.

        ``each`` is the other axis, for all of its positions; or a dictionary with one label, ``{"user": "u7"}``; of three axes and more
        a list of both kinds. ``of`` names the data where several have these axes, ``not_in`` a file of entries that are left out, and
        ``unseen=True`` leaves out those that the data of the fit have.
        A table with a column for each label, ``rank``, the label of what is ranked, and ``expected``.
        """
        inputs = self._asked(data, set, columns, labels, transpose, arrays)
        n, threads = _calls.whole("n", n, 1), _calls.whole("threads", threads, 1)
        places = [(own, None if label is None else self._label(own, label)) for own, label in _places(each)]
        text, told = _core.rankings(
            str(self.path), inputs, axis, places, of, n, None if not_in is None else os.fspath(not_in), unseen, threads
        )
        tell(told, stacklevel=2)
        answer = json.loads(text)
        rows, names = [], []
        for own in answer["rankings"]:
            names = list(own["for"])
            for place, item in enumerate(own["ranking"]):
                rows.append([*own["for"].values(), place + 1, item[axis], _float(item["expected"])])
        return _table([*names, "rank", axis, "expected"], rows)

    def recommend(self, label=None, *, n=10, unseen=True, **options):
        """What to recommend: positions of the second axis of the data for a label of the first, or for all of them.

        As ``rank`` for data of two axes, leaving out what the data of the fit have unless ``unseen=False``.
        """
        core = self.program._core
        of = options.get("of")
        # An axis that stands twice goes by its letters.
        pairs = [_data._names_of(own[1], own[2]) for own in core.data if own[0] in core.predicted and of in (None, own[0])]
        if len(pairs) != 1 or len(pairs[0]) != 2:
            raise _core.UsageError(
                "recommend() needs one array of two axes that the program predicts"
                + (f", and {of!r} is none" if of else "")
                + "; `rank(axis, each, of=...)` names axes and data"
            )
        first, second = pairs[0]
        each = first if label is None else [{first: own} for own in _listed(label)]
        if each == []:
            return _table([first, "rank", second, "expected"], [])
        if isinstance(each, list) and len(each) > 1:
            tables = [self.rank(second, own, n=n, unseen=unseen, **options) for own in each]
            return _joined(tables)
        return self.rank(second, each[0] if isinstance(each, list) else each, n=n, unseen=unseen, **options)

    def heldout_score(
        self,
        metrics=None,
        data=None,
        *,
        rank=None,
        seed=None,
        threads=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        **arrays,
    ) -> dict:
        """How well this fit predicts what was held out of it.

        ``metrics`` adds how well it ranks it, beside popularity: ``"ndcg@20,recall@20,map,auc,rmse"``, with ``rank`` the axis that is ranked.
        """
        inputs = self._asked(data, set, columns, labels, transpose, arrays)
        wanted = metrics if metrics is None or isinstance(metrics, str) else ",".join(metrics)
        text, told = _core.heldout_score([str(self.path)], inputs, wanted, rank, _calls.seed(seed), threads)
        tell(told, stacklevel=2)
        return json.loads(text)

    def simulate(
        self,
        data=None,
        *,
        seed=0,
        total=None,
        out=None,
        set=None,
        columns=None,
        labels=None,
        transpose=None,
        **arrays,
    ) -> "Simulated":
        """Draws of latents from q, and of data given these. ``total`` has the totals of rows by the name of their data."""
        inputs = self._asked(data, set, columns, labels, transpose, arrays)
        home, path = _calls.home(out)
        _, told = _core.simulate_fit(str(self.path), inputs, _calls.seed(seed) or 0, _totals(total), str(path))
        tell(told, stacklevel=2)
        return Simulated(path, _home=home, _classes=_classes(self.program))

    def report(self, path=None, *, title=None, by=None):
        """A page about the fit that opens in any browser, offline. Gives its path, or without one its HTML.

        ``by`` colours rows by columns of tables, ``{"year": "talks.csv:year"}``.
        """
        texts = [f"{name}={os.fspath(own)}" for name, own in (by or {}).items()]
        page = _core.report(str(self.path), title, texts)
        if path is None:
            return page
        target = Path(path)
        target.write_text(page, encoding="utf-8")
        return target

    def match(self, other, *, variable=None, axis=None) -> dict:
        """As ``cavi.match(self, other)``."""
        return match(self, other, variable=variable, axis=axis)


def _is_file(value):
    own = list(value.values()) if isinstance(value, dict) else [value]
    return all(_is_file(inner) if isinstance(inner, dict) else isinstance(inner, (str, os.PathLike)) for inner in own)


def _listed(value):
    is_one = isinstance(value, (str, bytes)) or np.isscalar(value) or not hasattr(value, "__iter__")
    return [value] if is_one else list(value)


def _places(each):
    """Axes with one of their labels, or for all."""
    if isinstance(each, str):
        return [(each, None)]
    if isinstance(each, dict):
        return list(each.items())
    return [place for own in each for place in _places(own)]


def _float(value):
    """A number of JSON, where infinite ones and NaN are texts."""
    return float(value) if value is not None else np.nan


def _read(text, numbers):
    """A table of CSV: its columns, and rows with numbers in the columns at ``numbers``, counted from the last, which is -1. All others hold labels,
    whatever they look like; behind the axes one that is missing is ``None``."""
    header, *rows = csv.reader(io.StringIO(text))
    is_number = [place - len(header) in numbers for place in range(len(header))]
    cell = lambda own, number: (float(own) if own else np.nan) if number else own or None  # noqa: E731
    return header, [[cell(own, number) for own, number in zip(row, is_number)] for row in rows]


def _table(columns, rows):
    """A frame, or a list of dictionaries where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return [dict(zip(columns, row)) for row in rows]
    return pandas.DataFrame(rows, columns=columns)


def _joined(tables):
    if isinstance(tables[0], list):
        return [row for own in tables for row in own]
    import pandas

    return pandas.concat(tables, ignore_index=True)


def _totals(total):
    return [(name, _calls.whole(f"total[{name!r}]", own)) for name, own in (total or {}).items()]


# Several fits.


def compare(fits, data=None, *, threads=None, set=None, columns=None, labels=None, transpose=None, **arrays) -> dict:
    """Which of several fits predicts better what was held out of all of them, and by how much, with the standard error of the paired difference.

    The fits need the same data, ``heldout`` and ``seed``; the programs may differ.
    """
    fits = list(fits)
    if len(fits) < 2:
        raise _core.UsageError("compare() needs two fits or more")
    # Each with its own constants, which differ where these are arrays in memory.
    asked = [(str(own.path), own._asked(data, set, columns, labels, transpose, arrays)) for own in fits]
    return json.loads(_core.compare_fits(asked, threads))


def match(a, b, *, variable=None, axis=None) -> dict:
    """Which components of two fits are the same, or of a fit and a table of components (a frame with names, or a file).

    ``pairs`` with their cosines, ``mixtures`` of two of ``b`` where these are closer, ``unmatched`` ones, and ``stability``, the mean size
    of the cosines.
    """
    with tempfile.TemporaryDirectory(prefix="cavi-") as scratch:
        if isinstance(b, Questions):
            other = str(b.path)
        elif hasattr(b, "to_csv"):
            other = os.path.join(scratch, "components.csv")
            # The first column has the names of the rows, be they numbers.
            b.to_csv(other, index_label="label")
        else:
            other = os.fspath(b)
        return json.loads(_core.match_components(str(a.path), other, variable, axis))


class Choice:
    """Fits with several values of a constant or an axis, and which one to take.

    ``table`` has a row for each; ``suggested`` and ``best`` are values by name, ``fit`` the fit that is suggested, ``fits`` all of them, ``reason``
    why.
    """

    def __init__(self, answer, fits):
        self._answer = answer
        self.fits = fits
        self.best = answer["best"]
        self.suggested = answer["suggested"]
        self.reason = answer["reason"]

    @property
    def table(self):
        """Each value with its held-out score, its bound, and how stable and coherent its components are."""
        rows = [
            {**own["values"], **{name: value for name, value in own.items() if name != "values"}}
            for own in self._answer["candidates"]
        ]
        number = lambda value: value if isinstance(value, bool) else _float(value)  # noqa: E731
        return _table(list(rows[0]), [[number(own) for own in row.values()] for row in rows])

    @property
    def fit(self):
        """The fit that is suggested."""
        places = [own["values"] for own in self._answer["candidates"]]
        return self.fits[places.index(self.suggested)]

    def __repr__(self) -> str:
        return f"<cavi.Choice of {len(self.fits)}: {self.reason}>"


def choose(model, data=None, *, set=None, restarts=3, heldout=None, out=None, threads=None, **options) -> Choice:
    """Fit a program with several values of a constant or an axis, and say which one to take by what was held out.

    >>> cavi.choose("lda", n=counts, topic=range(5, 55, 5))

    What is tried is given as a range, a list or a text, ``topic=[5, 10, 20]`` or ``topic="5..50:5"``; several at once as all combinations.
    The same part of the data is held out of every fit, without ``heldout`` a tenth of all data that the program predicts. Suggested is the
    smallest value within one standard error of the best score. With ``out`` the fits are kept there. The other options are those of ``fit``.
    """
    from ._fit import fit

    program = opened(model, {})
    settable = {*program._core.settable}
    given = {**(set or {}), **{name: own for name, own in options.items() if name in settable}}
    grids = {name: values for name, own in given.items() if (values := _values(name, own)) is not None}
    if not grids:
        raise _core.UsageError(
            "choose() needs values to choose from, as in topic=range(5, 55, 5), topic=[4, 8, 16] or topic='5..50:5'"
        )
    others = {name: own for name, own in (set or {}).items() if name not in grids}
    options = {name: own for name, own in options.items() if name not in grids}
    heldout = heldout or {name: 0.1 for name in program._core.predicted}
    if "seed" in options:
        # One split for all: a generator is drawn from once.
        options["seed"] = _calls.seed(options["seed"])
    fits, candidates = [], []
    for values in itertools.product(*grids.values()):
        chosen = dict(zip(grids, values))
        folder = ",".join(f"{name}={_short(value)}" for name, value in chosen.items())
        own = fit(
            program,
            data,
            set={**others, **chosen},
            heldout=heldout,
            restarts=restarts,
            keep="all",
            threads=threads,
            out=None if out is None else Path(out) / folder,
            _baselines=False,
            **options,
        )
        fits.append(own)
        pairs = [(name, float(value)) for name, value in chosen.items()]
        candidates.append((pairs, str(own.path), own._asked(None, None, None, None, None, {})))
    return Choice(json.loads(_core.choose_fit(candidates, threads)), fits)


def _values(name, value):
    """The values of a grid; nothing for what is one value, an array or a file."""
    if isinstance(value, (range, list, tuple)) and value and all(np.isscalar(own) for own in value):
        return [own.item() if hasattr(own, "item") else own for own in value]
    if isinstance(value, str):
        numbers = _core.grid(f"{name}={value}")
        return numbers and [int(own) if own == int(own) else own for own in numbers]
    return None


def _short(value):
    return repr(float(value)).removesuffix(".0")


# Draws.


class Simulated:
    """Draws of a program: ``data`` and ``latents`` by name, in the directory ``path`` as ``cavi simulate`` writes it.

    Counts of two axes are sparse matrices of SciPy (arrays where it is not installed), arrays over a ragged axis tables with labels, and all
    others arrays with NaN where there is no entry. ``cavi.fit(model, data=drawn.data)`` fits them.
    """

    def __init__(self, path, _home=None, _classes=frozenset()):
        self.path = Path(path)
        self._home = _home
        # The arrays whose values are labels.
        self._classes = _classes

    @property
    def data(self) -> dict:
        """The data that were drawn."""
        return _arrays(self.path / "data", self._classes)

    @property
    def latents(self) -> dict:
        """The latents that they were drawn from."""
        return _arrays(self.path / "latents", self._classes)

    def __repr__(self) -> str:
        return f"<cavi.Simulated: data {', '.join(self.data)}; latents {', '.join(self.latents)}>"


def _classes(program):
    """The arrays of a program whose values are labels of an axis."""
    return frozenset(own[0] for own in [*program._core.data, *program._core.latent_symbols] if own[3])


def _arrays(directory, classes):
    readers = {".mtx": _matrix, ".npy": np.load, ".csv": lambda path: _long(path, path.stem in classes)}
    files = sorted(own for own in directory.iterdir() if own.suffix in readers) if directory.is_dir() else []
    return {own.stem: readers[own.suffix](own) for own in files}


def _matrix(path):
    """A matrix in the format of Matrix Market."""
    with open(path, encoding="utf-8") as file:
        file.readline()
        rows, columns, count = (int(own) for own in file.readline().split())
        entries = np.loadtxt(file, ndmin=2) if count else np.empty((0, 3))
    places = entries[:, :2].astype(int) - 1
    try:
        from scipy import sparse
    except ImportError:
        dense = np.zeros((rows, columns))
        dense[places[:, 0], places[:, 1]] = entries[:, 2]
        return dense
    return sparse.csr_matrix((entries[:, 2], (places[:, 0], places[:, 1])), shape=(rows, columns))


def _long(path, is_class):
    """A table with a column for each axis, and in the last one the values, which are labels of an axis or numbers."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    value = (lambda text: text or None) if is_class else (lambda text: float(text) if text else np.nan)
    return _table(header, [[*row[:-1], value(row[-1])] for row in rows])


def simulate(model, data=None, *, set=None, seed=0, total=None, columns=None, labels=None, transpose=None, out=None, **arrays) -> Simulated:
    """Draw latents and data from the prior of a program.

    Sizes of axes are set, ``doc=200``; data that are given are not drawn. ``total`` has the totals of rows of counts under a Multinomial by the
    name of the data, without it 100.

    >>> drawn = cavi.simulate("lda", doc=200, word=500, total={"n": 80})
    >>> cavi.fit("lda", data=drawn.data)
    """
    program = model if isinstance(model, Program) else _calls.opened(model, set, arrays)
    inputs, _ = _calls.inputs(program, arrays, data, set, columns=columns, labels=labels, transpose=transpose)
    text, file_name = source(program)
    home, path = _calls.home(out)
    _, told = _core.simulate_prior(text, file_name, inputs, _calls.seed(seed) or 0, _totals(total), str(path))
    tell(told, stacklevel=2)
    return Simulated(path, _home=home, _classes=_classes(program))
