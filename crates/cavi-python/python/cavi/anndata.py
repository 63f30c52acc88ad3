"""Single cells and multi-omics: programs on AnnData and MuData, results where scanpy looks for them.

>>> import cavi.anndata
>>> fit = cavi.anndata.fit(adata, "nmf_gamma_joint", layer="counts", set={"programme": 20})
>>> scanpy.pp.neighbors(adata, use_rep="X_cavi")
>>> cavi.anndata.write_mofa(fit, "fit.hdf5")             # for the plots of MOFA2, in R and in Python
"""

from __future__ import annotations

import json

import numpy as np

from . import _core, _data
from ._fit import Fit
from ._fit import fit as _fit
from ._mofa import write_mofa
from ._program import opened

__all__ = ["fit", "write", "write_mofa"]


def fit(data, model, *, name=None, layer=None, key="cavi", set=None, **options) -> Fit:
    """Fit a program to an AnnData or a MuData, and write what was found into it.

    Parameters
    ----------
    data
        An AnnData, cells by genes; or a MuData, each modality a group of the ragged array.
    model
        A program of which one array has cells along its first axis and genes along its second.
    name
        This array; needed only where the program has several.
    layer
        The layer that is read; without it ``X``.
    key
        What the results are called: ``obsm["X_" + key]``, ``varm[key + "_loadings"]``, ``uns[key]``.
    set, **options
        As in ``cavi.fit``.

    Returns the fit. See ``write`` for what is written.
    """
    program = opened(model, {})
    name = name or array_of(program)
    views = dict(data.mod) if hasattr(data, "mod") else None
    given = {view: _matrix(own, layer) for view, own in views.items()} if views else _matrix(data, layer)
    found = _fit(program, {name: given}, set=set, **options)
    write(found, data, name=name, key=key)
    return found


def write(fit, data, *, name=None, key="cavi") -> None:
    """Write a fit into the AnnData or MuData that it was made from.

    Latents over cells and components go to ``obsm["X_" + key]``, or ``obsm["X_" + key + "_" + variable]`` where there are several; those over
    genes and components to ``varm[key + "_loadings"]`` in the same way, of a MuData to ``varm`` of each modality, always a row for each cell or gene. What
    the fit came to is in ``uns[key]``, with the program.
    """
    program = fit.program
    name = name or array_of(program)
    of_cells, of_genes = factors_of(fit, name)
    if not of_cells:
        cells = program.data[name][0]
        raise _core.UsageError(f"{program.name} has no latent over {cells} and components, which `obsm` would hold")
    cells, genes = program.data[name][0], program.data[name][-1]
    for variable, own, dimension in of_cells:
        label = f"X_{key}" if len(of_cells) == 1 else f"X_{key}_{variable}"
        data.obsm[label] = _rows(own.array, dimension, fit.axis(cells), data.obs_names)
    for variable, own, dimension in of_genes:
        label = f"{key}_loadings" if len(of_genes) == 1 else f"{key}_loadings_{variable}"
        labels = fit.axis(genes)
        if hasattr(data, "mod"):
            for view, loadings in own.array.items():
                data.mod[view].varm[label] = _rows(loadings, dimension, labels[view], data.mod[view].var_names)
        else:
            data.varm[label] = _rows(own.array, dimension, labels, data.var_names)
    data.uns[key] = {
        "program": program.text,
        "elbo": fit.elbo,
        "sweeps": fit.sweeps,
        "converged": fit.converged,
        "summary": json.dumps(fit.summary),
    }


def _rows(array, dimension, labels, names):
    """A row for each name, by its label in the fit; in order where names count from 0 and the fit has no number."""
    table = array if dimension == 0 else array.T
    return np.ascontiguousarray(table[_data.positions(names, labels, "the name")])


def factors_of(fit, name):
    """The latents over cells and components, and those over genes and components: each with its name and which dimension cells or genes are."""
    program = fit.program
    cells, genes = program.data[name][0], program.data[name][-1]
    of_data = {axis for axes in program.data.values() for axis in axes}
    of_cells, of_genes = [], []
    for variable in fit.variables:
        own = fit[variable]
        components = [axis for axis in own.axes if axis not in of_data]
        if len(own.axes) != 2 or len(components) != 1:
            continue
        (rest,) = [axis for axis in own.axes if axis != components[0]]
        if rest == cells:
            of_cells.append((variable, own, own.axes.index(cells)))
        elif rest == genes:
            of_genes.append((variable, own, own.axes.index(genes)))
    return of_cells, of_genes


def array_of(program):
    """The one array of a program that has two axes of its own."""
    names = [own[0] for own in program._core.data if own[4] and len(own[1]) >= 2]
    if len(names) != 1:
        raise _core.UsageError(
            f"{program.name} needs data for {', '.join(names) or 'no array of two axes'}; name= says which of them holds the cells"
        )
    return names[0]


def _matrix(own, layer):
    """An AnnData that holds the layer as its matrix."""
    if layer is None:
        return own
    if layer not in own.layers:
        # Newer AnnData counts its matrix among the layers, without a name.
        named = [str(name) for name in own.layers if name is not None]
        raise _core.DataError(f"there is no layer {layer!r}; there are {', '.join(named) or 'none'}")
    return type(own)(own.layers[layer], obs=own.obs, var=own.var)
