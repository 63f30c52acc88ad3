"""A start that is given as arrays by ``VAR.PARAM``: a directory as ``init`` takes it, with the labels that the arrays have.

Along one axis all arrays have one order, that of the first which has labels: others that have them are put into it, and one without is taken to be in it,
which is told. The library matches these labels with those of the data, where both have some.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import _core, _data

__all__ = ["written"]

#: Parameters of joint factors, whose dimensions are not those of the variable.
JOINT = ("cov", "kappa")


def written(program, arrays, directory) -> list[str]:
    """Write the arrays to a directory; gives what there is to say of them."""
    known = {own[0]: own for own in [*program.data, *program.latent_symbols]}
    root, orders, notes = Path(directory), {}, []
    parts = [part for key, value in arrays.items() for part in _parts(known, key, value)]
    for key, _, dimensions in parts:
        for place, labels in dimensions:
            if labels is not None and place not in orders:
                orders[place] = (key, labels)
    for key, values, dimensions in parts:
        for at, (place, labels) in enumerate(dimensions):
            if place in orders and (labels is not None or values.shape[at] == len(orders[place][1])):
                values = _in_order(key, values, at, place, labels, orders[place], notes)
        _save(root / "posterior" / f"{key}.npy", values)
    for (axis, group), (_, labels) in orders.items():
        path = root / "axes" / (f"{axis}.txt" if group is None else f"{axis}/{group}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{own}\n" for own in labels), encoding="utf-8", newline="\n")
    return notes


def _parts(known, key, value):
    """The arrays of a key, one for each group: the key of its file, its numbers, and for each dimension the axis (with the group) and its labels."""
    head, _, of_group = key.partition("/")
    name, _, parameter = head.rpartition(".")
    symbol = known.get(name)
    for inner, own in _data._groups(value):
        group = "/".join(label for label in (of_group, inner) if label)
        # Labels of nested groups are joined; that of one group may have a slash.
        depth = len(symbol[6]) if symbol else 0
        group = "/".join(_data.file_name(label) for label in (group.split("/") if depth > 1 else [group])) if group else None
        file = _data.file_name(head) if group is None else f"{_data.file_name(head)}/{group}"
        axes, letters, ragged = (list(symbol[1]), list(symbol[2]), list(symbol[8])) if symbol else ([], [], [])
        if symbol and parameter == "prob" and symbol[7] is not None:
            axes, letters, ragged = [*axes, symbol[7]], [*letters, symbol[7]], [*ragged, False]
        values, dimensions = _array(key, own, axes, letters, parameter not in JOINT and "+" not in name)
        places = [(axis, group if is_ragged else None) for axis, is_ragged in zip(axes, ragged)]
        yield file, values, list(zip(places, dimensions))


def _array(key, value, axes, letters, is_along):
    """The numbers of an array, and its labels along each of these axes."""
    if is_along and len(axes) > 1:
        if _data._has_dims(value):
            value = value.transpose(*(value.dims[place] for place in _data.order_of(value.dims, axes, letters)))
        elif hasattr(value, "iloc") and _data._is_frame(value):
            value = value.T if _data.order_of([value.index.name, value.columns.name], axes, letters) == [1, 0] else value
    values, labels, _ = _data._dense(key, value)
    if is_along and values.ndim == len(axes):
        for axis, own in zip(axes, labels):
            _refuse(key, axis, own)
        return values, labels
    # A variable that there is not is refused by its name.
    if any(own is not None for own in labels) and (axes or not is_along):
        along = f"numbers along {', '.join(axes)}" if is_along and axes else "an array of NumPy, which is taken in order"
        raise _core.DataError(f"init: {key!r} has labels along {len(labels)} dimensions; expected {along}")
    return values, [None] * len(axes)


def _refuse(key, axis, labels):
    """Refuses labels that a file of them cannot have."""
    if labels is None:
        return
    seen = set()
    twice = next((own for own in labels if own in seen or seen.add(own)), None)
    if twice is not None:
        raise _core.DataError(f"init: {key!r}: the label {twice!r} stands twice along {axis}; expected each label once")
    wrong = next((own for own in labels if not own or "\n" in own), None)
    if wrong is not None:
        raise _core.DataError(f"init: {key!r}: the label {wrong!r} along {axis}; expected labels of one line, none of them empty")


def _in_order(key, values, at, place, labels, order, notes):
    """The numbers with one dimension in the order that its axis has."""
    first, wanted = order
    axis = place[0] if place[1] is None else f"{place[0]} of {place[1]}"
    if labels is None:
        notes.append(f"init: `{key}` has no labels along {axis}, and is taken in the order of `{first}`")
        return values
    if labels == wanted:
        return values
    where = {label: position for position, label in enumerate(labels)}
    for lacks, has, own in ((key, first, [label for label in wanted if label not in where]), (first, key, [*where.keys() - {*wanted}])):
        if own:
            raise _core.DataError(f"init: `{lacks}` lacks the label `{min(own)}` of {axis}, which `{has}` has")
    return np.take(values, [where[label] for label in wanted], axis=at)


def _save(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, values)
