"""A fit as a model of MOFA2: the HDF5 layout that its R package and ``mofax`` open, with their plots.

The layout is that of ``mofapy2.build_model.save_model`` (version 0.7): data by view and group of samples, expectations of factors (``Z``, factors by
samples) and weights (``W``, factors by features), variance explained in percent, and the course of the bound.

MOFA2 has ``y_ij = b_j + sum_k z_ik w_jk`` and shows ``y`` without the intercept ``b``. A fit is written if its expected data have this form in
units ``s_j`` of each feature,

    E[x_ij] = s_j (b_j + sum_k E[z_ik] E[w_jk]),

with ``s`` the scale that the program standardised by, else 1. ``b`` is read off the expected data of some samples, and must be the same by each of
them: a program of another form is refused. What is written as data is ``x_ij / s_j - b_j``.
"""

from __future__ import annotations

import json
import os

import numpy as np

from . import _core, _data

#: By so many samples the form is checked.
CHECKED = 3
#: What MOFA2 calls the distributions of data.
LIKELIHOODS = {"Poisson": "poisson", "Bernoulli": "bernoulli", "Binomial": "bernoulli"}


def write_mofa(fit, path, data=None, *, name=None, groups=None, sort=True) -> list[str]:
    """Write a fit of factors and loadings as a model of MOFA2, whose plots in R and in Python (``mofax``) then show it.

    >>> cavi.anndata.write_mofa(fit, "fit.hdf5")
    >>> mofax.mofa_model("fit.hdf5")                      # in R: MOFA2::load_model("fit.hdf5")

    Parameters
    ----------
    fit
        A fit with one latent over samples and factors and one over features and factors, such as ``gfa`` or ``factor_analysis``.
    path
        The file to write.
    data
        The data of the fit: a MuData, an AnnData, a dictionary of views, a matrix. Without it what the fit was given in memory, else its files.
    name
        The array of the program; needed only where it has several.
    groups
        The group of each sample: a sequence in the order of ``fit.axis(samples)``, a series by label, or the name of a column of ``obs``. Without it there
        is one group. It changes nothing of the fit; MOFA2 shows its groups apart.
    sort
        Whether the first factor is the one that explains most, as MOFA2 has it.

    Returns the labels of the factors of the fit in the order of the file.
    """
    from .anndata import array_of, factors_of

    h5py = _h5py()
    program = fit.program
    name = name or array_of(program)
    own_data = (fit._data or {"data": {}})["data"].get(name)
    seen = own_data if data is None else data
    symbol = next(own for own in program._core.data if own[0] == name)
    samples, features = symbol[1][0], symbol[1][-1]
    of_samples, of_features = factors_of(fit, name)
    if len(of_samples) != 1 or len(of_features) != 1:
        found = ", ".join(own[0] for own in of_samples + of_features) or "none"
        raise _core.UsageError(
            f"{program.name} is no model of one array of factors and one of loadings: of {samples} or {features} and components it has {found}"
        )
    (_, factors, of_rows), (_, loadings, of_columns) = of_samples[0], of_features[0]
    rows = fit.axis(samples)
    z = factors.array if of_rows == 0 else factors.array.T
    own = loadings.array if isinstance(loadings.array, dict) else {name: loadings.array}
    w = {view: array if of_columns == 0 else array.T for view, array in own.items()}
    columns = fit.axis(features)
    columns = columns if isinstance(columns, dict) else {name: columns}
    is_ragged = isinstance(loadings.array, dict)
    if len(symbol[1]) != 2 or len(symbol[6]) > 1:
        raise _core.UsageError(f"{name} lies along {', '.join(symbol[1])}; MOFA2 has samples by features, in views of one kind")

    intercepts, scales = _form(fit, name, (samples, features), (rows, columns), (z, w), is_ragged)
    matrices = _matrices(fit, data, symbol, (rows, columns), is_ragged)
    centred = {view: own / scales[view] - intercepts[view] for view, own in matrices.items()}
    belongs = _belongs(groups, seen, rows)
    names = list(dict.fromkeys(belongs.tolist()))
    chosen = {group: np.flatnonzero(belongs == group) for group in names}
    shares = {group: np.stack([_explained(centred[view][own], z[own], w[view]) for view in w]) for group, own in chosen.items()}
    totals = {group: np.array([_total(centred[view][own], z[own], w[view]) for view in w]) for group, own in chosen.items()}
    order = np.argsort(-np.nansum(list(shares.values()), axis=(0, 1)), kind="stable") if sort else np.arange(z.shape[1])

    text = h5py.string_dtype("utf-8")
    packed = {"compression": "gzip"}
    with h5py.File(os.fspath(path), "w") as file:
        file["groups/groups"] = np.array(names, dtype=text)
        file["views/views"] = np.array(list(w), dtype=text)
        for group, own in chosen.items():
            file[f"samples/{group}"] = np.array([rows[at] for at in own], dtype=text)
            file.create_dataset(f"expectations/Z/{group}", data=z[own][:, order].T, **packed)
            file[f"variance_explained/r2_per_factor/{group}"] = 100 * shares[group][:, order]
            file[f"variance_explained/r2_total/{group}"] = 100 * totals[group]
        for view, own in w.items():
            file[f"features/{view}"] = np.array(_apart(columns[view], view, columns), dtype=text)
            file.create_dataset(f"expectations/W/{view}", data=own[:, order].T, **packed)
            for group, at in chosen.items():
                file.create_dataset(f"data/{view}/{group}", data=centred[view][at], **packed)
                file[f"intercepts/{view}/{group}"] = intercepts[view]
        _options(file, fit, name, len(w))
        _course(file, fit, z.shape[1])
        _metadata(file, seen, chosen, rows, columns)
    labels = dict(zip(factors.axes, _axis_labels(factors)))
    component = next(axis for axis in factors.axes if axis != samples)
    return [labels[component][at] for at in order]


def _h5py():
    try:
        import h5py
    except ImportError:
        raise _core.UsageError("write_mofa() writes HDF5, which h5py does: `pip install h5py`") from None
    return h5py


def _axis_labels(variable):
    return [labels for _, labels in variable._parts[0].axes]


def _apart(labels, view, columns):
    """Names of features, with their view where another view has one of the same name: MOFA2 needs each name once."""
    others = {label for own, labels in columns.items() if own != view for label in labels}
    return [f"{label}_{view}" if label in others else label for label in labels]


def _form(fit, name, axes, labels, arrays, is_ragged):
    """The intercept and the scale of each feature of each view, by the expected data of some samples."""
    (samples, features), (rows, columns), (z, w) = axes, labels, arrays
    few = sorted({0, len(rows) // 2, len(rows) - 1})[:CHECKED]
    table = fit.impute(name, all=True, only={samples: [rows[at] for at in few]}, draws=0)
    records = table.to_dict("list") if hasattr(table, "to_dict") else _by_column(table)
    place = {str(label): at for at, label in zip(few, [rows[at] for at in few])}
    view_axis = next((own for own in records if own not in (samples, features, "mean", "sd", "value")), None) if is_ragged else None
    intercepts, scales = {}, {}
    for view, own in w.items():
        scale = _scale(fit, name, view if is_ragged else None)
        scale = np.ones(len(own)) if scale is None else scale
        where = {label: at for at, label in enumerate(columns[view])}
        expected = np.full((len(rows), len(own)), np.nan)
        views = records[view_axis] if view_axis else [view] * len(records["mean"])
        for row, column, at, mean in zip(records[samples], records[features], views, records["mean"]):
            if str(at) == view:
                expected[place[str(row)], where[str(column)]] = mean
        product = z[few] @ own.T
        rest = expected[few] / scale - product
        first = np.nanmean(rest, axis=0)
        size = np.abs(product).max(initial=0) + np.abs(first).max(initial=0)
        if np.isnan(first).any() or not np.nanmax(np.abs(rest - first)) <= 1e-6 * max(size, 1e-300):
            raise _core.UsageError(
                f"{fit.program.name} is no model of MOFA2's form: the data that it expects are not factors times loadings and a constant of each "
                f"{features}"
            )
        intercepts[view], scales[view] = first, scale
    return intercepts, scales


def _by_column(table):
    return {name: [row[name] for row in table] for name in table[0]} if table else {}


def _scale(fit, name, view):
    """What the program divided the data of a view by, if it did."""
    file = fit.path / "standardised" / f"{name}.scale"
    file = file / f"{_data.file_name(view)}.npy" if view is not None else file.with_name(file.name + ".npy")
    return np.load(file).reshape(-1) if file.is_file() else None


def _matrices(fit, data, symbol, labels, is_ragged):
    """The data of each view, samples by features as the fit has them; NaN is missing."""
    name, (rows, columns) = symbol[0], labels
    own_data = (fit._data or {"data": {}})["data"].get(name)
    given = own_data if data is None else data
    parts = [] if given is None else [(group, own) for group, own in _data._groups(given)]
    if not parts or not all(_is_matrix(own) for _, own in parts):
        return _by_entries(fit, symbol, labels, is_ragged, {} if data is None else {name: data})
    fill = 0.0 if symbol[5] else np.nan
    matrices = {view: np.full((len(rows), len(own)), fill) for view, own in columns.items()}
    for group, own in parts:
        view = group if is_ragged else name
        if view not in matrices:
            raise _core.UsageError(f"the view {view!r} is not of the fit, which has {', '.join(matrices)}")
        names = [own.obs_names, own.var_names] if hasattr(own, "obs_names") else [None, None]
        own = own.X if hasattr(own, "obs_names") else own
        own = own.to_memory() if hasattr(own, "to_memory") else own
        at = _positions(names[0], rows, own.shape[0], f"{view}: sample")
        to = _positions(names[1], columns[view], own.shape[1], f"{view}: feature")
        if hasattr(own, "tocoo"):
            # What is not listed is as the program says, and is missing or 0.
            entries = own.tocoo()
            place = (at[entries.row], to[entries.col])
            matrices[view][place] = 0.0
            np.add.at(matrices[view], place, _data._floats("data", entries.data))
        else:
            own = own.astype(float).filled(np.nan) if isinstance(own, np.ma.MaskedArray) else own
            matrices[view][np.ix_(at, to)] = _data._floats("data", np.asarray(own))
    return matrices


def _is_matrix(own):
    """Whether it is a matrix in memory whose entries have their places: an AnnData, or an array of NumPy or SciPy. Of all else the program says what its rows
    and columns are."""
    return hasattr(own, "obs_names") or (isinstance(own, np.ndarray) or hasattr(own, "tocoo")) and own.ndim == 2


def _positions(names, of_fit, size, what):
    if names is None:
        if size != len(of_fit):
            raise _core.DataError(f"{what}s: {size} without labels, and the fit has {len(of_fit)}")
        return np.arange(size)
    return _data.positions(names, of_fit, what)


def _by_entries(fit, symbol, labels, is_ragged, data):
    """As ``_matrices``, by the table of all entries, which reads data of every kind and the files of the fit."""
    name, (rows, columns) = symbol[0], labels
    samples, features = symbol[1][0], symbol[1][-1]
    table = fit.impute(name, data, all=True, draws=0)
    records = table.to_dict("list") if hasattr(table, "to_dict") else _by_column(table)
    view_axis = next((own for own in records if own not in (samples, features, "mean", "sd", "value")), None) if is_ragged else None
    row_at = {label: at for at, label in enumerate(rows)}
    column_at = {view: {label: at for at, label in enumerate(own)} for view, own in columns.items()}
    matrices = {view: np.full((len(rows), len(own)), np.nan) for view, own in columns.items()}
    views = records[view_axis] if view_axis else [name] * len(records["value"])
    for row, view, column, value in zip(records[samples], views, records[features], records["value"]):
        matrices[str(view)][row_at[str(row)], column_at[str(view)][str(column)]] = value
    return matrices


def _belongs(groups, data, rows):
    """The group of each sample."""
    if groups is None:
        return np.array(["group1"] * len(rows), dtype=object)
    if isinstance(groups, str):
        if not hasattr(data, "obs") or groups not in data.obs.columns:
            raise _core.UsageError(f"groups={groups!r} names a column of `obs`, and the data that are given have none of this name")
        groups = data.obs[groups]
    if hasattr(groups, "index") and hasattr(groups, "iloc"):
        own = {label: str(value) for label, value in zip(_data._texts(groups.index), groups)}
        absent = [label for label in rows if label not in own]
        if absent:
            raise _core.DataError(f"groups: there is no group of {absent[0]!r}")
        return np.array([own[label] for label in rows], dtype=object)
    own = [str(value) for value in groups]
    if len(own) != len(rows):
        raise _core.DataError(f"groups: {len(own)} for {len(rows)} samples")
    return np.array(own, dtype=object)


def _explained(y, z, w):
    """1 - sum (y - z_k w_k)^2 / sum y^2 over what is observed, for each factor."""
    seen = np.isfinite(y)
    own = np.where(seen, y, 0.0)
    total = np.sum(own**2)
    # sum (y - z w')^2 = sum y^2 - 2 z' y w + sum of z^2 w^2 where y is observed.
    cross = np.einsum("ik,ij,jk->k", z, own, w, optimize=True)
    squares = np.einsum("ik,ij,jk->k", z**2, seen.astype(float), w**2, optimize=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (2 * cross - squares) / total


def _total(y, z, w):
    """The same by all factors together."""
    seen = np.isfinite(y)
    own = np.where(seen, y, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - np.sum((own - np.where(seen, z @ w.T, 0.0)) ** 2) / np.sum(own**2)


def _options(file, fit, name, views):
    """Options as MOFA2 has them, where the fit has such."""
    statements = json.loads(fit.program.derive(format="json"))["statements"]
    family = next((own["family"] for own in statements if own["variable"] == name), None)
    options = {
        "likelihoods": [LIKELIHOODS.get(family, "gaussian")] * views,
        "spikeslab_factors": "False",
        "spikeslab_weights": "False",
        "ard_factors": "False",
        "ard_weights": "True",
    }
    for option, value in options.items():
        file[f"model_options/{option}"] = np.asarray(value).astype("S")
    file["model_options/ard_weights"].attrs["names"] = np.asarray(list(options)).astype("S")
    settings = fit.summary["settings"]
    training = {
        "maxiter": settings.get("sweeps") or fit.sweeps,
        "freqELBO": settings.get("elbo_every") or 1,
        "start_elbo": 1,
        "gpu_mode": 0,
        "stochastic": 0,
        "seed": fit.summary["seed"],
    }
    file["training_opts"] = np.array(list(training.values()), dtype=float)
    file["training_opts"].attrs["names"] = np.asarray(list(training)).astype("S")


def _course(file, fit, factors):
    """The bound by sweep, and how long each took."""
    trace = fit.trace
    counts = np.isfinite(trace["elbo"]) & (trace["phase"] == "fit")
    seconds = trace["seconds"][counts]
    file["training_stats/elbo"] = trace["elbo"][counts]
    file["training_stats/time"] = np.diff(seconds, prepend=seconds[:1])
    file["training_stats/number_factors"] = np.full(int(counts.sum()), float(factors))


def _metadata(file, data, chosen, rows, columns):
    """What AnnData and MuData say of samples and features."""
    if hasattr(data, "obs") and hasattr(data.obs, "columns"):
        for group, own in chosen.items():
            table = data.obs.reindex([rows[at] for at in own])
            for column in table.columns:
                _column(file, f"samples_metadata/{group}/{column}", table[column])
    is_views = hasattr(data, "mod") and hasattr(data, "obs_names")
    parts = dict(data.mod) if is_views else data if isinstance(data, dict) else {next(iter(columns)): data}
    if all(hasattr(own, "var") and hasattr(own.var, "columns") for own in parts.values()):
        shared = set.intersection(*(set(own.var.columns) for own in parts.values()))
        for view, own in parts.items():
            table = own.var.reindex(columns[view])
            for column in sorted(shared):
                _column(file, f"features_metadata/{view}/{column}", table[column])


def _column(file, place, values):
    """One column: numbers as they are, all else as text."""
    array = np.asarray(values)
    if array.dtype.kind in "iuf":
        file[place] = array
    else:
        file[place] = np.array([str(own) for own in array.tolist()], dtype=_h5py().string_dtype("utf-8"))
