"""Starts that are given as arrays: series and frames by their labels, groups of ragged latents, arrays of NumPy in order."""

import numpy as np
import pandas as pd
import pytest

import cavi

RATES = """
axis row[n]
axis col[j]
data y[n, j] : count
a[n] ~ Gamma(1, rate = 1)
b[n] ~ Gamma(1, rate = 1)
y[n, j] ~ Poisson(a[n] * b[n])
"""
FACTORS = """
axis user[u]
axis item[i]
axis part[k] = 2
data y[u, i] : count
w[u, k] ~ Gamma(1, rate = 1)
h[i, k] ~ Gamma(1, rate = 1)
y[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))
"""
VIEWS = """
axis row[n]
axis view[m]
axis feature[j] in view[m]
axis factor[k] = 2
data x[n, m, j] : real
z[n, k] ~ Normal(0, sd = 1)
w[m, j, k] ~ Normal(0, sd = 1)
x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), sd = 1)
"""
RANDOM = np.random.default_rng(0)
Y = pd.DataFrame(RANDOM.poisson(3.0, (3, 4)), index=list("cba"), columns=list("wxyz"))


def shaped(labels, numbers=(1.0, 2.0, 3.0)):
    return pd.Series(numbers, index=list(labels))


def ones(labels="abc"):
    return shaped(labels, (1.0, 1.0, 1.0))


@pytest.mark.parametrize("order", ["abc", "bca", "cba"])
def test_series_are_matched_by_label(order):
    # The rows of the data are c, b, a; the start is 1, 2, 3 of a, b, c, however its series are ordered.
    start = {"a.shape": shaped("abc")[list(order)], "a.rate": ones()[list(order[::-1])]}
    fit = cavi.fit(RATES, y=Y, init=start, sweeps=0, seed=0)
    assert fit["a"].mean.to_dict() == {"c": 3.0, "b": 2.0, "a": 1.0}
    # The bits of the same numbers in the order of the data, given without labels.
    bare = {"a.shape": np.array([3.0, 2.0, 1.0]), "a.rate": np.ones(3)}
    assert fit.elbo == cavi.fit(RATES, y=Y, init=bare, sweeps=0, seed=0).elbo


def test_frames_are_matched_along_both_axes_and_turned_by_the_names_of_these():
    data = pd.DataFrame(RANDOM.poisson(2.0, (5, 4)), index=list("vwxyz"), columns=list("abcd"))
    fit = cavi.fit(FACTORS, y=data, sweeps=5, seed=0)
    names = ["w.shape", "w.rate", "h.shape", "h.rate"]
    axes = {"w": ("user", "part"), "h": ("item", "part")}
    frame = lambda name: pd.DataFrame(  # noqa: E731
        fit.array(name), index=pd.Index(fit.axis(axes[name[0]][0]), name=axes[name[0]][0]), columns=pd.Index(fit.axis("part"), name="part")
    )
    exact = cavi.fit(FACTORS, y=data, init=fit, sweeps=0).elbo
    shuffled = {name: frame(name).sample(frac=1, random_state=place) for place, name in enumerate(names)}
    assert cavi.fit(FACTORS, y=data, init=shuffled, sweeps=0).elbo == exact
    assert cavi.fit(FACTORS, y=data, init={name: own.T for name, own in shuffled.items()}, sweeps=0).elbo == exact
    arrays = {name: own.to_xarray().to_array("part").assign_coords(part=own.columns) for name, own in shuffled.items()}
    assert arrays["w.shape"].dims == ("part", "user")
    assert cavi.fit(FACTORS, y=data, init=arrays, sweeps=0).elbo == exact
    # What the fit gives goes back in as it is.
    again = {"w.shape": fit["w"].mean, "w.rate": np.ones((5, 2))}
    back = cavi.fit(FACTORS, y=data.iloc[::-1], init=again, sweeps=0, seed=0)
    np.testing.assert_allclose(back["w"].mean.loc[fit.axis("user")], fit["w"].mean, rtol=1e-12)


def test_an_array_without_labels_is_taken_in_the_order_of_those_that_have_some_and_this_is_told():
    start = {"a.shape": shaped("abc"), "a.rate": np.array([1.0, 2.0, 4.0])}
    with pytest.warns(cavi.CaviWarning, match="`a.rate` has no labels along row, and is taken in the order of `a.shape`"):
        fit = cavi.fit(RATES, y=Y, init=start, sweeps=0, seed=0)
    assert fit["a"].mean.to_dict() == {"c": 0.75, "b": 1.0, "a": 1.0}


def test_an_index_that_counts_is_an_order():
    fit = cavi.fit(RATES, y=Y, init={"a.shape": pd.Series([1.0, 2.0, 3.0]), "a.rate": pd.Series(np.ones(3))}, sweeps=0, seed=0)
    assert fit["a"].mean.to_dict() == {"c": 1.0, "b": 2.0, "a": 3.0}


def test_labels_that_do_not_match_are_refused():
    with pytest.raises(cavi.DataError, match="`a.rate` lacks the label `c` of row, which `a.shape` has"):
        cavi.fit(RATES, y=Y, init={"a.shape": shaped("abc"), "a.rate": ones("abd")}, sweeps=0)
    with pytest.raises(cavi.DataError, match="no label `c`"):
        cavi.fit(RATES, y=Y, init={"a.shape": shaped("abd"), "a.rate": ones("abd")}, sweeps=0)
    with pytest.raises(cavi.DataError, match="'a' stands twice along row"):
        cavi.fit(RATES, y=Y, init={"a.shape": shaped("aba"), "a.rate": ones("aba")}, sweeps=0)
    with pytest.raises(cavi.DataError, match="labels along 2 dimensions; expected numbers along row"):
        cavi.fit(RATES, y=Y, init={"a.shape": Y, "a.rate": ones("abc")}, sweeps=0)
    with pytest.raises(cavi.DataError, match="'a.cov' has labels along 1 dimensions; expected an array of NumPy"):
        cavi.fit(RATES, y=Y, init={"a.cov": ones()}, sweeps=0)
    with pytest.raises(cavi.DataError, match="no variable `c`"):
        cavi.fit(RATES, y=Y, init={"c.shape": ones("abc")}, sweeps=0)


def test_groups_of_ragged_latents_are_dictionaries():
    features = {"rna": list("pqr"), "50%/b": list("stuv")}
    views = {group: pd.DataFrame(RANDOM.normal(size=(6, len(own))), columns=own) for group, own in features.items()}
    fit = cavi.fit(VIEWS, x=views, sweeps=4, seed=0)
    start = {name: fit.array(name) for name in ("w.mean", "w.var", "z.mean", "z.var")}
    assert isinstance(start["w.mean"], dict)
    exact = cavi.fit(VIEWS, x=views, init=fit, sweeps=0).elbo
    assert cavi.fit(VIEWS, x=views, init=start, sweeps=0).elbo == exact
    # The same by keys, and as frames in another order.
    flat = {f"{name}/{group}": part for name in ("w.mean", "w.var") for group, part in start[name].items()}
    flat.update({name: own for name, own in start.items() if name[0] == "z"})
    assert cavi.fit(VIEWS, x=views, init=flat, sweeps=0).elbo == exact
    turned = {group: own[own.columns[::-1]] for group, own in views.items()}
    framed = {name: {group: pd.DataFrame(part, index=features[group]) for group, part in own.items()} if name[0] == "w" else own for name, own in start.items()}
    back = cavi.fit(VIEWS, x=turned, init=framed, sweeps=0)
    for group in features:
        np.testing.assert_array_equal(back["w"].mean[group].loc[features[group]], fit["w"].mean[group])


def test_classes_are_matched_by_label():
    program = """
axis obs[i]
axis group[g]
data x[i] : real
data t[i] : index group, absent = NA
m[g] ~ Normal(0, sd = 10)
pi[:g] ~ Dirichlet(1)
s[i] ~ Categorical(pi)
t[i] ~ Categorical(pi)
x[i] ~ Normal(m[s[i]], sd = 1)
"""
    x = pd.Series([0.0, 5.0, 0.1], index=list("abc"))
    t = pd.Series(["low", "high", "low"], index=list("abc"))
    prob = pd.DataFrame({"high": [0.1, 0.8, 0.3], "low": [0.9, 0.2, 0.7]}, index=list("abc"))
    fit = cavi.fit(program, x=x, t=t, init={"s.prob": prob.iloc[::-1]}, sweeps=0, seed=0)
    assert fit.axis("group") == ["low", "high"]
    np.testing.assert_allclose(fit["s"].mean.loc[list("abc"), ["high", "low"]], prob, rtol=1e-12)
