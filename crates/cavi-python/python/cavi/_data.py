"""Arrays of Python as the inputs of a program.

NumPy arrays, SciPy sparse matrices, frames of pandas and polars, AnnData, lists, and files. Labels come from indices, columns and
names; an index that counts rows from 0 is no label. Nothing sparse is made dense, and no order of memory is taken for another.
"""

from __future__ import annotations

import os

import numpy as np

from . import _core

#: What a missing label is.
MISSING = np.iinfo(np.uint32).max


def inputs(program, data, settings, columns=None, labels=None, transpose=None, heldout=None, given=False, fix=None):
    """The inputs of a call: ``data`` by name, a dictionary of groups for a ragged array, ``settings`` for constants and sizes; ``fix`` has the
    values of latents that are held."""
    texts, arrays = _files_and_arrays(data)
    fixed_texts, fixed = _files_and_arrays(fix or {})
    set_texts, constants = [], []
    for name, value in settings.items():
        for group, own in _groups(value):
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
                lists.append((axis, group, [str(label) for label in own]))
    frames = {name for name, _, _ in arrays + fixed}
    column_texts = [
        f"{name}=" + (own if isinstance(own, str) else ",".join(f"{axis}:{column}" for axis, column in own.items()))
        for name, own in (columns or {}).items()
        if name not in frames
    ]
    hidden = [f"{name}={_shown(own)}" for name, own in (heldout or {}).items()]
    turned = [transpose] if isinstance(transpose, str) else list(transpose or [])
    core = _core.Inputs(texts, column_texts, turned, label_texts, set_texts, hidden, given)
    known = {own[0]: own for own in program.data}
    for name, group, own in arrays:
        _add(core, name, group, own, known.get(name), (columns or {}).get(name))
    for name, group, own in constants:
        values, own_labels = _dense(name, own, None)
        core.constant(name, group, values, own_labels)
    for axis, group, own in lists:
        core.labels(axis, group, own)
    if fix:
        held = _core.Inputs([], [], [], [], [], [], False)
        known = {own[0]: own for own in program.latent_symbols}
        for name, group, own in fixed:
            _add(held, name, group, own, known.get(name), (columns or {}).get(name))
        core.hold(fixed_texts, held)
    return core


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
    if not isinstance(value, dict):
        yield None, value
        return
    for label, inner in value.items():
        for rest, own in _groups(inner):
            yield (str(label) if rest is None else f"{label}/{rest}"), own


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
    if _is_frame(value):
        groups = symbol[6] if symbol and group is None else []
        if isinstance(columns, dict):
            groups = [columns.get(own, own) for own in groups]
        if groups and all(own in value.columns for own in groups):
            _add_groups(core, name, value, symbol, columns, groups)
            return
        chosen = _long_columns(value, axes, letters, columns, name)
        if chosen:
            _add_long(core, name, group, value, chosen, is_labels)
            return
    if hasattr(value, "obs_names") and hasattr(value, "var_names"):  # AnnData
        own = [_labels(value.obs_names), _labels(value.var_names)]
        value = value.X
        if not hasattr(value, "tocoo"):
            value = np.asarray(value)
    else:
        own = None
    if hasattr(value, "tocoo"):
        _add_sparse(core, name, group, value, own)
        return
    if is_labels and _holds_text(value):
        _add_words(core, name, group, value)
        return
    values, own_labels = _dense(name, value, own)
    core.dense(name, group, values, own_labels)


def _is_frame(value):
    return hasattr(value, "columns") and hasattr(value, "shape") and hasattr(value, "__getitem__")


def _long_columns(frame, axes, letters, columns, name):
    """The columns of a table that has one row for each entry: those of the axes, and that of the values; nothing for a wide one."""
    if columns == "wide":
        return None
    if columns is not None:
        places = []
        for axis, letter in zip(axes, letters):
            column = columns.get(axis, columns.get(letter))
            if column is None:
                raise _core.UsageError(f"columns[{name!r}]: no column for the axis {axis!r}; it has {list(columns)}")
            places.append(column)
        missing = [own for own in [*places, columns.get("value")] if own is not None and own not in frame.columns]
        if missing:
            raise _core.DataError(f"{name!r}: the frame has no column {missing[0]!r}; it has {list(frame.columns)}")
        return places, columns.get("value")
    names = axes if len(set(axes)) == len(axes) else letters
    if not names or any(own not in frame.columns for own in names):
        return None
    rest = [own for own in frame.columns if own not in names]
    if len(rest) > 1:
        raise _core.DataError(
            f"{name!r}: the frame has the columns {list(names)} of its axes and {rest} beside them; "
            f"say which one holds the values: columns={{{name!r}: {{..., 'value': {rest[0]!r}}}}}"
        )
    return list(names), (rest[0] if rest else None)


def _add_groups(core, name, frame, symbol, columns, groups):
    """Add a table with columns for the groups of a ragged array: the rows of each group as its part."""
    codes, labels = zip(*(_codes(frame[column], f"{name}: column {column!r}") for column in groups))
    missing = [column for column, own in zip(groups, codes) if (own == MISSING).any()]
    if missing:
        raise _core.DataError(f"{name!r}: the column {missing[0]!r} has rows without a label")
    table = np.stack(codes, axis=1)
    # Groups as their labels are ordered: integers sorted, others in order of first appearance.
    distinct, where = np.unique(table, axis=0, return_inverse=True)
    where = where.reshape(-1)
    rest = frame[[own for own in frame.columns if own not in groups]]
    for place, own in enumerate(distinct):
        group = "/".join(labels[level][code] for level, code in enumerate(own))
        rows = np.flatnonzero(where == place)
        part = rest.iloc[rows] if hasattr(rest, "iloc") else rest[rows]
        _add(core, name, group, part, symbol, columns)


def _add_long(core, name, group, frame, chosen, is_labels):
    """Add the entries of a table with a column for each axis."""
    places, value = chosen
    codes, labels = zip(*(_codes(frame[column], f"{name}: column {column!r}") for column in places)) if places else ((), ())
    missing = [column for column, own in zip(places, codes) if (own == MISSING).any()]
    if missing:
        raise _core.DataError(f"{name!r}: the column {missing[0]!r} has rows without a label")
    if is_labels:
        if len(places) != 1:
            raise _core.DataError(f"{name!r}: labels of an axis are read from a table of one axis, not of {len(places)}")
        order = np.asarray(codes[0])
        column, names = _codes(frame[value], f"{name}: column {value!r}")
        words = np.full(len(labels[0]), MISSING, dtype=np.uint32)
        words[order] = column
        core.words(name, group, [len(words)], names, words, [labels[0]])
        return
    numbers = _floats(name, frame[value].to_numpy()) if value is not None else np.ones(len(frame))
    shape = [len(own) for own in labels]
    core.sparse(name, group, shape, list(codes), numbers, list(labels))


def _codes(column, what):
    """Which of its distinct labels each entry of a column is: integers sorted, others in order of first appearance."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind in "iu":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.uint32), [str(own) for own in distinct.tolist()]
    if values.dtype.kind == "f":
        whole = values[~np.isnan(values)]
        if not (whole == np.floor(whole)).all():
            raise _core.DataError(f"{what} holds numbers that are no integers where labels are expected")
        values = np.array([None if np.isnan(own) else int(own) for own in values], dtype=object)
    positions: dict = {}
    codes = np.empty(len(values), dtype=np.uint32)
    for row, own in enumerate(values):
        if _is_missing(own):
            codes[row] = MISSING
        else:
            codes[row] = positions.setdefault(str(own), len(positions))
    return codes, list(positions)


def _is_missing(value):
    return value is None or value != value


def _add_sparse(core, name, group, value, own):
    """Add a sparse matrix; entries that stand twice are left to the program, as those of a file."""
    entries = value.tocoo()
    shape = list(entries.shape)
    indices = getattr(entries, "coords", None) or (entries.row, entries.col)
    columns = [np.ascontiguousarray(column, dtype=np.uint32) for column in indices]
    numbers = _floats(name, entries.data)
    core.sparse(name, group, shape, columns, numbers, own or [None] * len(shape))


def _holds_text(value):
    kind = np.asarray(value).dtype.kind
    return kind in "US" or (kind == "O" and any(isinstance(own, str) for own in np.asarray(value).ravel()))


def _add_words(core, name, group, value):
    """Add an array whose values are labels of an axis."""
    own = [_labels(value.index)] if hasattr(value, "index") and hasattr(value, "iloc") else None
    array = np.asarray(value, dtype=object)
    codes, names = _codes(array.ravel(), name)
    core.words(name, group, list(array.shape), names, codes, own or [None] * array.ndim)


def _dense(name, value, own):
    """Every entry of an array as doubles in C order, with labels where it has some."""
    if own is None:
        own = _labels_of(value)
    if isinstance(value, np.ma.MaskedArray):
        value = value.astype(float).filled(np.nan)
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    elif hasattr(value, "values") and not isinstance(value, dict):  # xarray
        value = value.values
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise _core.DataError(f"{name!r}: {error}; a list of lists needs rows of one length") from None
    # In C order and aligned, as the fit reads it where it is; otherwise this is a copy.
    values = np.require(_floats(name, array), requirements=("C", "A"))
    # NumPy makes a number an array of one dimension here.
    values = values.reshape(array.shape)
    return values, own or [None] * values.ndim


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


def _labels_of(value):
    """The labels of each dimension of a frame, a series or an array of xarray; nothing for other arrays."""
    if hasattr(value, "dims") and hasattr(value, "coords"):  # xarray
        return [[str(own) for own in value.coords[dim].values] if dim in value.coords else None for dim in value.dims]
    if _is_frame(value):
        rows = _labels(value.index) if hasattr(value, "index") and not callable(value.index) else None
        return [rows, _labels(value.columns)]
    if hasattr(value, "index") and hasattr(value, "iloc"):
        return [_labels(value.index)]
    return None


def _labels(index):
    """The labels of an index; nothing for one that counts from 0."""
    values = [str(own) for own in index]
    counts = all(own == str(place) for place, own in enumerate(values))
    return None if counts else values
