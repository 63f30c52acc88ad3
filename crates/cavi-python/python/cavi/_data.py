"""Arrays of Python as the inputs of a program.

NumPy arrays, SciPy sparse matrices, frames of pandas and polars, AnnData, lists, and files. Labels come from indices, columns and
names; an index that counts rows from 0 is a label only where other data of its axis have one of its numbers. A frame with a row for each
entry is read by the rules of a file with its columns. Values of ``index`` data are positions in an array of NumPy or a list of whole numbers, and labels,
as in a file, wherever they come from a library that labels: pandas, polars, xarray. Nothing sparse is made dense, and no order of memory is taken for another.
"""

from __future__ import annotations

import datetime
import os

import numpy as np

from . import _core

#: What ``columns`` says of a table that is rows by columns.
WIDE = "wide"
#: Tables of more columns than this are rows by columns, whatever stands in them, unless their header says otherwise.
FEW = 8
#: What a missing label is.
MISSING = np.iinfo(np.uint32).max


def inputs(
    program, data, settings, columns=None, labels=None, transpose=None, heldout=None, given=False, fix=None, unique=False, texts=None
):
    """The inputs of a call: ``data`` by name, a dictionary of groups for a ragged array, ``settings`` for constants and sizes; ``fix`` has the
    values of latents that are held. ``unique`` keeps apart what has one name, and ``texts`` says which words count."""
    of_texts = texts
    texts, arrays = _files_and_arrays(data)
    fixed_texts, fixed = _files_and_arrays(fix or {})
    set_texts, constants = [], []
    for name, value in settings.items():
        for group, own in _groups(value):
            own = own.item() if isinstance(own, np.ndarray) and own.ndim == 0 else own
            if np.isscalar(own) or _is_file(own):
                set_texts.append(f"{_place(name, group)}={_shown(own)}")
            else:
                constants.append((name, group, own))
    label_texts, lists = [], []
    for axis, value in (labels or {}).items():
        for group, own in _groups(value):
            if _is_file(own):
                label_texts.append(f"{_place(axis, group)}={os.fspath(own)}")
            else:
                lists.append((axis, group, _listed(own)))
    in_memory = {name: own for name, _, own in arrays + fixed + constants}
    column_texts, pairs = [], {}
    for name, own in (columns or {}).items():
        if name not in in_memory:
            column_texts.append(f"{name}=" + (own if isinstance(own, str) else ",".join(f"{axis}:{column}" for axis, column in own.items())))
        elif own != WIDE or not _is_frame(in_memory[name]):
            pairs[name] = _pairs(name, own)
    hidden = [
        f"{_place(name, group)}={_hidden('given' if given else 'heldout', name, own)}"
        for name, value in (heldout or {}).items()
        for group, own in _groups(value)
    ]
    turned = [transpose] if isinstance(transpose, str) else list(transpose or [])
    core = _core.Inputs(texts, column_texts, turned, label_texts, set_texts, hidden, given)
    if unique:
        core.keep_apart()
    if of_texts:
        core.texts(**_of_texts(of_texts))
    known = {own[0]: own for own in program.data}
    for name, own in pairs.items():
        core.columns(name, own)
    for name, group, own in arrays:
        _add(core, name, group, own, known.get(name), (columns or {}).get(name))
    # Groups in the order in which they are given, be they files or arrays.
    core.order([(name, group) for name, value in data.items() for group, _ in _groups(value)])
    if constants:
        held = _core.Inputs([], [], [], [], [], [], False)
        known = {own[0]: own for own in program.constant_symbols}
        for name, group, own in constants:
            _add(held, name, group, own, known.get(name), (columns or {}).get(name))
        core.constants(held)
    for axis, group, own in lists:
        core.labels(axis, group, own)
    if fix:
        held = _core.Inputs([], [], [], [], [], [], False)
        known = {own[0]: own for own in program.latent_symbols}
        for name, group, own in fixed:
            _add(held, name, group, own, known.get(name), (columns or {}).get(name))
        core.hold(fixed_texts, held)
    return core


def _hidden(argument, name, value):
    """What is held out of an array, as its option takes it."""
    value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if _is_file(value) or (np.isscalar(value) and not isinstance(value, (bool, np.bool_, bytes))):
        return _shown(value)
    possible = "a file with the entries" if argument == "given" else "a fraction between 0 and 1, or a file with the entries to hide"
    raise _core.UsageError(f"{argument}={{{name!r}: ...}}: found {brief(value)}; expected {possible}")


def brief(value):
    """A value as a message shows it: one of many numbers by its kind."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"{type(value).__name__} of the shape {tuple(shape)}"
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"{type(value).__name__} of {len(text)} characters, {text[:40]!r}..."


#: What ``texts`` says of the words of texts, as the options of the command line.
OF_TEXTS = ("min_docs", "max_docs", "words", "ngrams", "stem", "stop_words")


def _of_texts(texts):
    """Which words of texts count, as the reader takes it."""
    unknown = [name for name in texts if name not in OF_TEXTS]
    if unknown:
        raise _core.UsageError(f"texts={{{unknown[0]!r}: ...}}: expected one of {', '.join(OF_TEXTS)}")
    found = dict.fromkeys(OF_TEXTS) | dict(texts)
    for name in ("min_docs", "words", "ngrams"):
        own = found[name]
        if own is not None and (isinstance(own, (bool, str)) or own != own or own != int(own) or own < 1):
            raise _core.UsageError(f"texts={{{name!r}: {own!r}}}: expected a whole number, 1 or greater")
        found[name] = None if own is None else int(own)
    for name in ("max_docs", "stem", "stop_words"):
        found[name] = None if found[name] is None else _shown(found[name])
    return found


def _files_and_arrays(given):
    """What is given by name, group for group: the texts ``NAME[GROUP]=FILE`` of files, and all else as name, group and value."""
    texts, arrays = [], []
    for name, value in given.items():
        for group, own in _groups(value):
            if _is_file(own):
                texts.append(f"{_place(name, group)}={os.fspath(own)}")
            else:
                arrays.append((name, group, own))
    return texts, arrays


def _groups(value):
    """The groups of a ragged array, those of nested ones joined by ``/``; one without a name for any other."""
    if hasattr(value, "mod") and hasattr(value, "obs_names"):  # MuData: a view for each modality
        value = dict(value.mod)
    # A sparse matrix of SciPy may be a dictionary of its entries.
    if not isinstance(value, dict) or hasattr(value, "tocoo"):
        yield None, value
        return
    for label, inner in value.items():
        for rest, own in _groups(inner):
            yield (text_of(label) if rest is None else f"{text_of(label)}/{rest}"), own


def _pairs(name, columns):
    """Pairs of an axis and a column, as ``columns`` of an array in memory says them; none of one that is rows by columns."""
    if columns == WIDE:
        return []
    if isinstance(columns, str):
        pairs = [own.partition(":") for own in columns.split(",")]
        if not all(axis and colon and column for axis, colon, column in pairs):
            raise _core.UsageError(f"columns[{name!r}]={columns!r}: expected AXIS:COLUMN, separated by commas, or a dictionary")
        return [(axis.strip(), column) for axis, _, column in pairs]
    return [(str(axis), str(column)) for axis, column in columns.items() if column is not None]


def _place(name, group):
    return name if group is None else f"{name}[{group}]"


def _is_file(value):
    return isinstance(value, (str, os.PathLike))


def _shown(value):
    """A value as its option takes it: numbers by their shortest decimals."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _add(core, name, group, value, symbol, columns):
    """Add one array. ``symbol`` is what the program says of it, if it knows it."""
    axes, letters, is_labels = (symbol[1], symbol[2], symbol[3]) if symbol else ([], [], False)
    groups = symbol[6] if symbol and group is None else []
    own = _names_of(axes, letters)
    value = _with_levels(name, value, (groups, own), dict(zip(letters, own)), columns)
    if _is_frame(value) and columns != WIDE:
        if groups and columns is None and all(own in value.columns for own in groups) and not all(own in value.columns for own in axes):
            _add_groups(core, name, value, symbol, groups)
            return
        if _is_table(value, axes, letters, groups, columns):
            of_axes = [column for axis, column in _pairs(name, columns) if axis != "value"] if columns is not None else []
            named = {own.strip().lower() for own in [*axes, *letters, *groups, *of_axes]}
            _add_table(core, name, group, value, lambda column: is_labels or column.strip().lower() in named or _is_id(column))
            return
    if hasattr(value, "tocoo"):
        _add_sparse(core, name, group, value, None)
        return
    if hasattr(value, "obs_names") and hasattr(value, "var_names"):  # AnnData
        own = [_labels(value.obs_names), _labels(value.var_names)]
        matrix = value.X
        if hasattr(matrix, "to_memory"):  # sparse, in its file
            matrix = matrix.to_memory()
        if hasattr(matrix, "tocoo"):
            _add_sparse(core, name, group, matrix, own)
        else:
            values, own_labels, counts = _dense(name, np.asarray(matrix), own)
            core.dense(name, group, values, own_labels, counts)
        return
    if _has_dims(value):
        value = value.transpose(*(value.dims[place] for place in order_of(value.dims, axes, letters)))
    if is_labels and (_is_labelled(value) or _holds_text(value)):
        _add_words(core, name, group, value)
        return
    values, own_labels, counts = _dense(name, value)
    core.dense(name, group, values, own_labels, counts, _rows_are(value, axes))


def _rows_are(value, axes):
    """What the rows of a frame are by the names of its index or its columns: as above the labels of the rows of a file, a frame that is turned is told
    by it."""
    if not _is_frame(value) or not hasattr(value, "iloc"):
        return None
    if value.index.name is not None:
        return str(value.index.name)
    if len(axes) == 2 and axes[0] != axes[1] and value.columns.name in axes:
        return axes[1] if value.columns.name == axes[0] else axes[0]
    return None


def _names_of(axes, letters):
    """The names of the columns that a table has for these axes: one along which an array runs more than once goes by its letters."""
    return [letter if axes.count(axis) > 1 else axis for axis, letter in zip(axes, letters)]


def _axes_of(names, axes, letters):
    """Which axis each of these names is: the one that it is called like, or whose letter it is; where there are as many names as axes, the others are the
    rest of them in order, else ``None``. And whether all are called so."""
    found = [name if name in axes else letters.get(name) for name in names]
    is_called = None not in found
    if len(found) == len(axes):
        rest = [axis for axis in axes if axis not in found]
        found = [rest.pop(0) if own is None and rest else own for own in found]
    return found, is_called


def order_of(dims, axes, letters):
    """For each axis of an array, as the program declares them, the place of the dimension that is called like it."""
    own = _names_of(axes, letters)
    found, _ = _axes_of(dims, own, dict(zip(letters, own)))
    return [found.index(axis) for axis in own] if len(found) == len(own) and {*found} == {*own} else list(range(len(dims)))


def _with_levels(name, value, axes, letters, columns):
    """A series or a frame of pandas whose index has several levels, these as columns that are called like the axes; every other value as it is.

    ``axes`` are those of the groups and those of the array within them. Levels that are called like an axis (or its letter) are this axis, and where there are as many levels as axes the others are the rest of them in order.
    """
    if getattr(getattr(value, "columns", None), "nlevels", 1) > 1:
        raise _core.DataError(
            f"{name!r}: columns of {value.columns.nlevels} levels; expected one label for each column, as of "
            f"`frame.set_axis(['/'.join(map(str, own)) for own in frame.columns], axis=1)`"
        )
    groups, own = axes
    axes = [*groups, *own]
    levels = getattr(getattr(value, "index", None), "nlevels", 1)
    is_frame = _is_frame(value)
    if levels == 1:
        # The groups of a ragged axis may stand in the index.
        is_of_groups = is_frame and hasattr(value, "iloc") and columns is None and value.index.name in groups
        return value.reset_index() if is_of_groups else value
    if columns is not None and columns != WIDE:
        return (value if is_frame else value.rename(value.name or name)).reset_index()
    names, is_called = _axes_of(value.index.names, axes, letters)
    if is_frame and is_called:
        return value.rename_axis(names).reset_index()
    if None not in names and (not is_frame or value.shape[1] == 1):
        series = value.iloc[:, 0] if is_frame else value
        return series.rename_axis(names).rename(name).reset_index()
    raise _core.DataError(
        f"{name!r}: an index of {levels} levels ({', '.join(map(str, value.index.names))}), of which nothing says what they are; expected levels that are called "
        f"like the axes {', '.join(axes)} (`.rename_axis([...])`), or one label for each row"
    )


def _is_labelled(value):
    """Whether it comes from a library that labels, pandas, polars or xarray, where a whole number among ``index`` data is a label, as in a file."""
    return hasattr(value, "to_numpy") or _has_dims(value)


def _is_frame(value):
    return hasattr(value, "columns") and hasattr(value, "shape") and hasattr(value, "__getitem__")


def _is_table(frame, axes, letters, groups, columns):
    """Whether the reader of tables is to find out what the columns of a frame are; else it is rows by columns of numbers.

    The reader would say the same of these. They are not handed to it since they may be large.
    """
    if columns is not None or groups or len(axes) != 2:
        return True
    names = [str(own).strip().lower() for own in frame.columns]
    own = {own.lower() for own in [*axes, *letters]}
    if any(name in own or _is_id(name) for name in names):
        return True
    return len(names) <= FEW and not all(_is_numeric(kind) for kind in frame.dtypes)


def _is_id(name):
    """Whether a column that is called so holds labels, as the reader of tables sees it."""
    return name.strip().lower().endswith(("id", "ids", "idx", "index"))


def _is_numeric(kind):
    """Whether a type of a column, of NumPy or of a library of frames, is one of numbers."""
    if hasattr(kind, "is_numeric"):  # polars
        return kind.is_numeric()
    return getattr(kind, "kind", "O") in "biufc"


def _add_groups(core, name, frame, symbol, groups):
    """Add a table with columns for the groups of a ragged array, and none for the axis within them: the rows of each group as its part."""
    codes, labels = zip(*(_codes(*_values(frame[column])) for column in groups))
    missing = [column for column, own in zip(groups, codes) if (own == MISSING).any()]
    if missing:
        raise _core.DataError(f"{name!r}: the column {missing[0]!r} has rows without a label")
    table = np.stack(codes, axis=1)
    # Groups as their labels are ordered: integers sorted, others in order of first appearance.
    distinct, where = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(where.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(where.reshape(-1), minlength=len(distinct)))
    rest = frame[[own for own in frame.columns if own not in groups]]
    # An index that counts has the rows of all groups.
    counts = hasattr(rest, "iloc") and _counts(rest.index)
    for place, own in enumerate(distinct):
        group = "/".join(labels[level][code] for level, code in enumerate(own))
        rows = order[(ends[place - 1] if place else 0) : ends[place]]
        part = rest.iloc[rows] if hasattr(rest, "iloc") else rest[rows]
        _add(core, name, group, part.reset_index(drop=True) if counts else part, symbol, None)


def _add_table(core, name, group, frame, is_label):
    """Add a frame as a table, which is read by the rules of a file. An index that does not count is its first column. ``is_label`` says of a column by its
    name whether it may hold labels, so that truth values in it are words."""
    names, cells = [], []
    index = frame.index if hasattr(frame, "iloc") else None
    counts = index is not None and _counts(index)
    if index is not None and not counts:
        is_taken = index.name is None or index.name in frame.columns
        names.append("" if is_taken else str(index.name))
        cells.append(_cells(index, True))
    for place, own in enumerate(frame.columns):
        names.append(str(own))
        cells.append(_cells(frame.iloc[:, place] if hasattr(frame, "iloc") else frame[own], is_label(str(own))))
    core.table(name, group, names, cells, len(frame), counts)


def _cells(column, is_label):
    """A column of a table: whole numbers, doubles, or distinct texts with the one of each row."""
    array, mask = _values(column)
    kind = array.dtype.kind
    if (kind == "i" or kind == "b" and not is_label) and mask is None:
        return np.ascontiguousarray(array, dtype=np.int64)
    if kind == "f" and array.dtype.itemsize <= 8:
        return np.ascontiguousarray(array if mask is None else np.where(mask, np.nan, array), dtype=np.float64)
    codes, names = _codes(array, mask)
    return names, codes


def _values(value):
    """The entries as an array, and which of them are masked, if any is."""
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        return np.asarray(value.data), mask if mask.any() else None
    if hasattr(value, "to_numpy"):
        return value.to_numpy(), None
    if hasattr(value, "values") and not isinstance(value, dict):  # xarray
        return np.asarray(value.values), None
    return np.asarray(value), None


def _codes(array, mask=None):
    """Which of its distinct labels each entry is, as text, and these: integers sorted, others in order of first appearance."""
    array = array.ravel()
    missing = np.zeros(array.shape, dtype=bool) if mask is None else mask.ravel().copy()
    if array.dtype.kind in "iu" and not missing.any():
        distinct, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.uint32), [str(own) for own in distinct.tolist()]
    if array.dtype.kind == "O":
        missing |= np.fromiter((_is_missing(own) for own in array), dtype=bool, count=len(array))
    elif array.dtype.kind in "fMm":
        missing |= array != array
    positions: dict = {}
    codes = np.full(len(array), MISSING, dtype=np.uint32)
    there = np.flatnonzero(~missing)
    codes[there] = [positions.setdefault(own, len(positions)) for own in _texts(array[there])]
    return codes, list(positions)


def _is_missing(value):
    """Whether a value is none: ``None``, NaN, NaT, or the ``NA`` of pandas, which is neither equal to itself nor different."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _texts(values):
    """Labels as a table of text has them: whole numbers without a point, days without hours, no blanks around them."""
    array, _ = _values(values)
    if array.dtype.kind == "M":
        for unit in ("D", "s", "ms", "us"):
            coarse = array.astype(f"datetime64[{unit}]")
            if (coarse == array).all():
                array = coarse
                break
        return [own.replace("T", " ") for own in np.datetime_as_string(array).tolist()]
    if array.dtype.kind == "m":
        return _durations(array)
    return [_text(own) for own in array.tolist()]


def _durations(array, with_hours=False):
    """Durations as pandas writes them to a file: days, and hours where any of them has some."""
    day = 86_400_000_000_000
    days, rest = np.divmod(array.astype("timedelta64[ns]").astype(np.int64), day)
    if not with_hours and not rest.any():
        return [f"{own} days" for own in days.tolist()]

    def text(days, rest):
        seconds, part = divmod(rest, 1_000_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        digits = f".{part // 1000:06}" if part % 1000 == 0 else f".{part:09}"
        return f"{days} days {'+' if days < 0 else ''}{clock}{digits if part else ''}"

    return [text(*own) for own in zip(days.tolist(), rest.tolist())]


def _text(value):
    if isinstance(value, (float, np.floating)):
        return _core.format_number(float(value))
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            raise _core.DataError(f"the label {value!r} is no text in UTF-8") from None
    return str(value).strip()


def _listed(labels):
    """Labels in a list, an index or an array as a table of text has them."""
    if hasattr(labels, "to_numpy") or isinstance(labels, np.ndarray):
        return _texts(labels)
    labels = list(labels)
    if labels and all(is_moment(own) for own in labels):
        return _texts(np.array(labels, dtype="datetime64[ns]"))
    if labels and all(is_duration(own) for own in labels):
        return _texts(np.array([np.timedelta64(own) for own in labels], dtype="timedelta64[ns]"))
    return [_text(own) for own in labels]


def file_name(label):
    """A label as names of files have it."""
    if label in ("", ".", ".."):
        return "%" + "".join(f"{own:02X}" for own in label.encode())
    is_kept = lambda own: own not in "/\\" and not (ord(own) < 32 or 127 <= ord(own) < 160)  # noqa: E731
    return "".join(own if is_kept(own) else f"%{ord(own):02X}" for own in label)


def is_moment(value):
    """Whether it is a day or a moment without a time zone, as an index of days has them."""
    return isinstance(value, (datetime.date, np.datetime64)) and value == value and getattr(value, "tzinfo", None) is None


def is_duration(value):
    """Whether it is a time between two moments."""
    return isinstance(value, (datetime.timedelta, np.timedelta64)) and value == value


def text_of(label, known=()):
    """One label as a table of text has it: a moment or a duration as it is among those that are ``known``, with hours or without."""
    (text,) = _listed([label])
    if text in known or not (is_moment(label) or is_duration(label)):
        return text
    if is_duration(label):
        (own,) = _durations(np.array([np.timedelta64(label)]), with_hours=True)
        return own if own in known else text
    moment = np.datetime64(label)
    forms = (np.datetime_as_string(moment.astype(f"datetime64[{unit}]")).replace("T", " ") for unit in ("s", "ms", "us", "ns"))
    return next((own for own in forms if own in known), text)


def _add_sparse(core, name, group, value, own):
    """Add a sparse matrix; entries that stand twice are left to the program, as those of a file."""
    entries = value.tocoo()
    shape = list(entries.shape)
    if any(size > MISSING for size in shape):
        raise _core.DataError(f"{name!r}: a sparse array of the shape {tuple(shape)}; expected sizes below {MISSING}")
    own = [(None, False)] * len(shape) if own is None else own
    indices = getattr(entries, "coords", None) or (entries.row, entries.col)
    columns = [np.ascontiguousarray(column, dtype=np.uint32) for column in indices]
    numbers = _floats(name, entries.data)
    labels, counts = zip(*own)
    core.sparse(name, group, shape, columns, numbers, list(labels), list(counts))


def _holds_text(value):
    array, _ = _values(value)
    kind = array.dtype.kind
    return kind in "USMm" or (kind == "O" and any(isinstance(own, str) for own in array.ravel()))


def _add_words(core, name, group, value):
    """Add an array whose values are labels of an axis. A text that is missing in a file is so here."""
    array, mask = _values(value)
    codes, names = _codes(array, mask)
    if array.dtype.kind in "OUS":
        is_there = np.array([own.lower() not in ("", "na", "nan") for own in names], dtype=bool)
        numbers = np.append(np.where(is_there, np.cumsum(is_there) - 1, MISSING), MISSING).astype(np.uint32)
        codes = numbers[np.minimum(codes, len(names))]
        names = [own for own, there in zip(names, is_there) if there]
    labels, counts = zip(*(_labels_of(value) or [(None, False)] * array.ndim)) if array.ndim else ((), ())
    core.words(name, group, list(array.shape), names, codes, list(labels), list(counts))


def _dense(name, value, own=None):
    """Every entry of an array as doubles in C order, with labels where it has some, and which of its indices count from 0."""
    if own is None:
        own = _labels_of(value)
    try:
        array, mask = _values(value)
    except ValueError as error:
        raise _core.DataError(f"{name!r}: {error}; a list of lists needs rows of one length") from None
    if mask is not None:
        array = np.where(mask, np.nan, _floats(name, np.where(mask, 0, array)))
    # In C order and aligned, as the fit reads it where it is; otherwise this is a copy.
    values = np.require(_floats(name, array), requirements=("C", "A"))
    # NumPy makes a number an array of one dimension here.
    values = values.reshape(array.shape)
    labels, counts = zip(*own) if own else ([None] * values.ndim, [])
    return values, list(labels), list(counts)


def _floats(name, array):
    """Numbers as doubles; a message says which value is none."""
    array = np.asarray(array)
    kind = array.dtype.kind
    if kind == "f" and array.dtype.itemsize == 8 and array.dtype.isnative:
        return array
    if kind in "biuf":
        return array.astype(np.float64)
    if kind == "c":
        raise _core.DataError(f"{name!r}: complex data are not supported; expected real numbers")
    if kind == "O":
        filled = np.array([np.nan if _is_missing(own) else own for own in array.ravel()], dtype=object)
        try:
            return filled.astype(np.float64).reshape(array.shape)
        except (TypeError, ValueError):
            wrong = next(own for own in filled if not _is_number(own))
            raise _core.DataError(
                f"{name!r}: {wrong!r} is no number; "
                "expected numbers, or labels where the program declares `index`"
            ) from None
    raise _core.DataError(
        f"{name!r}: values of the type {array.dtype} are no numbers; expected numbers, or labels where the program declares `index`"
    )


def _is_number(value):
    try:
        float(value)
        return True
    except (TypeError, ValueError):
        return False


def _has_dims(value):
    """Whether it is an array of xarray."""
    return hasattr(value, "dims") and hasattr(value, "coords")


def _labels_of(value):
    """For each dimension of a frame, a series or an array of xarray its labels, and whether its index counts from 0; nothing for other arrays."""
    if _has_dims(value):
        return [_labels(value.coords[dim]) if dim in value.coords else (None, False) for dim in value.dims]
    if _is_frame(value):
        rows = _labels(value.index) if hasattr(value, "index") and not callable(value.index) else (None, False)
        return [rows, _labels(value.columns)]
    if hasattr(value, "index") and hasattr(value, "iloc"):
        return [_labels(value.index)]
    return None


def _labels(index):
    """The labels of an index and ``False``; nothing and ``True`` for one that counts from 0."""
    if _is_range(index):
        return None, True
    array, _ = _values(index)
    if array.dtype.kind in "OfMm":
        absent = next((place for place, own in enumerate(array) if _is_missing(own)), None)
        if absent is not None:
            raise _core.DataError(f"an index has {array[absent]!r} at position {absent}; expected a label for each row and column")
    texts = _texts(index)
    counts = all(own == str(place) for place, own in enumerate(texts))
    return (None, True) if counts else (texts, False)


def _counts(index):
    """Whether an index is 0, 1, 2 and so on."""
    return _labels(index)[1]


def _is_range(index):
    """Whether an index is that which a frame of pandas has by itself."""
    return all(hasattr(index, own) for own in ("start", "stop", "step")) and index.start == 0 and index.step == 1


def positions(names, of_fit, what):
    """Where the labels of an index stand among those of a fit. One that counts from 0, and of which the fit knows no number, is in its order."""
    labels = _texts(names)
    where = {label: at for at, label in enumerate(of_fit)}
    unknown = [label for label in labels if label not in where]
    if len(unknown) == len(labels) == len(of_fit) and _counts(names):
        return np.arange(len(labels))
    if unknown:
        raise _core.DataError(f"{what} {unknown[0]!r} is not in the fit, which was made from other data")
    return np.array([where[label] for label in labels], dtype=int)
