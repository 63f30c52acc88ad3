"""Dimensions of arrays of xarray, and constants as everything that data may be."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cavi

xarray = pytest.importorskip("xarray")

#: Rates that are known, times one of each row: by conjugacy a = (1 + sum of y) / (1 + sum of e).
EXPOSED = """
axis row[n]
axis col[j]
const e[n, j]
data y[n, j] : count
a[n] ~ Gamma(1, rate = 1)
y[n, j] ~ Poisson(a[n] * e[n, j])
"""
NETWORK = """
axis node[i, j]
data y[i, j] : count, i != j
a[i] ~ Gamma(1, rate = 1)
y[i, j] ~ Poisson(a[i])
"""
E = np.array([[1.0, 2, 4], [3, 1, 1], [1, 1, 8]])
Z = np.array([[5, 5, 5], [1, 2, 3], [9, 9, 9]])
EXACT = (1 + Z.sum(axis=1)) / (1 + E.sum(axis=1))
FRAME = pd.DataFrame(E, index=list("abc"), columns=list("xyz"))
DATA = pd.DataFrame(Z, index=list("abc"), columns=list("xyz"))


def means(e, y=Z):
    return cavi.fit(EXPOSED, y=y, e=e)["a"].array


@pytest.mark.parametrize("names", [("row", "col"), ("n", "j"), ("row", "j"), ("dim_0", "dim_1")])
def test_dimensions_of_a_constant_are_axes_by_their_names_or_letters(names):
    array = xarray.DataArray(E, dims=names)
    np.testing.assert_allclose(means(array), EXACT)
    if names[0] != "dim_0":
        np.testing.assert_allclose(means(array.transpose(*names[::-1])), EXACT)


def test_a_dimension_that_is_no_axis_is_the_one_that_is_left():
    np.testing.assert_allclose(means(xarray.DataArray(E, dims=("row", "other")).transpose("other", "row")), EXACT)


@pytest.mark.parametrize("names", [("row", "col"), ("n", "j"), ("n", "col")])
def test_dimensions_of_data_are_axes_by_their_names_or_letters(names):
    array = xarray.DataArray(Z, dims=names).transpose(*names[::-1])
    np.testing.assert_allclose(means(E, array), EXACT)


def test_dimensions_along_one_axis_are_its_letters():
    y = np.array([[0.0, 5, 9], [1, 0, 2], [0, 1, 0]])
    array = xarray.DataArray(y, dims=("i", "j"))
    for own in (array, array.transpose("j", "i"), xarray.DataArray(y), xarray.DataArray(y, dims=("node", "other"))):
        np.testing.assert_allclose(cavi.fit(NETWORK, y=own)["a"].array, (1 + y.sum(axis=1)) / 3)


def test_dimensions_of_what_is_held_are_axes():
    program = "axis row[n]\naxis col[j]\naxis part[k] = 2\ndata y[n, j] : count\nw[n, k] ~ Gamma(1, rate = 1)\nh[k, j] ~ Gamma(1, rate = 1)\ny[n, j] ~ Poisson(sum[k](w[n, k] * h[k, j]))\n"
    h = xarray.DataArray(np.array([[1.0, 2, 3], [3, 1, 1]]), dims=("part", "col"))
    fits = [cavi.fit(program, y=Z, fix={"h": own}, sweeps=20, seed=0) for own in (h.values, h, h.transpose("col", "part"))]
    assert fits[0].elbo == fits[1].elbo == fits[2].elbo


def test_constants_are_all_that_data_may_be(tmp_path):
    long = FRAME.rename_axis(index="row", columns="col").stack().rename("e").reset_index()
    long.to_csv(tmp_path / "e.csv", index=False)
    series = long.set_index(["row", "col"])["e"]
    given = {
        "a file": tmp_path / "e.csv",
        "a frame": FRAME,
        "a frame in another order": FRAME.iloc[::-1, [2, 0, 1]],
        "rows of a table": long.sample(frac=1, random_state=0),
        "a series of two levels": series,
        "a series whose levels are turned": series.swaplevel().sort_index(),
        "an array with labels": FRAME.to_xarray().to_array("col").rename(index="row"),
    }
    for what, own in given.items():
        np.testing.assert_allclose(means(own, DATA), EXACT, err_msg=what)
    for what, own in {"lists": E.tolist(), "a sparse matrix": sparse.csr_matrix(E), "a masked array": np.ma.array(E)}.items():
        np.testing.assert_allclose(means(own), EXACT, err_msg=what)
    renamed = long.rename(columns={"row": "where", "col": "what", "e": "how_much"}).assign(more=1)
    fit = cavi.fit(EXPOSED, y=DATA, e=renamed, columns={"e": {"row": "where", "col": "what", "value": "how_much"}})
    np.testing.assert_allclose(fit["a"].array, EXACT)
    # Questions and new rows have the constant of the fit.
    assert fit.impute("y", all=True, draws=0)["mean"].to_numpy() == pytest.approx((EXACT[:, None] * E).ravel())


def test_a_constant_of_one_axis_may_be_a_table():
    program = "axis row[n]\naxis col[j]\nconst e[n]\ndata y[n, j] : count\na[n] ~ Gamma(1, rate = 1)\ny[n, j] ~ Poisson(a[n] * e[n])\n"
    e = pd.Series([1.0, 2.0, 4.0], index=list("abc"))
    exact = (1 + Z.sum(axis=1)) / (1 + 3 * e.to_numpy())
    for own in (e, e.iloc[::-1], e.rename_axis("row").rename("e").reset_index(), e.rename("e").to_frame().iloc[::-1]):
        np.testing.assert_allclose(cavi.fit(program, y=DATA, e=own)["a"].array, exact)


def test_constants_that_are_none_are_refused():
    with pytest.raises(cavi.CaviError, match="`e`"):
        means(E[0])
    with pytest.raises(cavi.DataError, match="'e': values of the type <U21 are no numbers"):
        means([["much", 1, 1], [1, 1, 1], [1, 1, 1]])
    with pytest.raises(cavi.CaviError):
        means(FRAME.iloc[:2], DATA)
