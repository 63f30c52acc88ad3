"""The largest entries along the axis that is meant, also where a latent runs along one axis more than once."""

import numpy as np
import pandas as pd
import pytest

import cavi

CHAIN = """
axis state[i, j]
data n[i, j] : count
P[i, :j] ~ Dirichlet(1)
n[i, :j] ~ Multinomial(p = P[i, :j])
"""
COUNTS = pd.DataFrame([[1.0, 50, 2], [3, 1, 70], [90, 5, 2]], index=list("abc"), columns=list("abc"))


def test_top_of_a_transition_matrix_is_where_each_state_goes():
    fit = cavi.fit(CHAIN, n=COUNTS, seed=0)
    # By conjugacy: (1 + n) / (3 + the sum of the row).
    exact = (1 + COUNTS).div(3 + COUNTS.sum(axis=1), axis=0)
    rows = {state: [(exact.loc[state].idxmax(), pytest.approx(exact.loc[state].max()))] for state in "abc"}
    columns = {state: [(exact[state].idxmax(), pytest.approx(exact[state].max()))] for state in "abc"}
    assert fit.top("P", 1) == fit.top("P", 1, over="j") == rows
    assert fit.top("P", 1, over="i") == columns
    assert rows != columns
    assert [label for label, _ in fit.top("P", 3)["b"]] == ["c", "a", "b"]
    with pytest.raises(cavi.UsageError, match="runs along state more than once; expected over='i' or over='j'"):
        fit.top("P", over="state")
    with pytest.raises(cavi.UsageError, match="`P` has no such axis; expected one of i, j"):
        fit.top("P", over="k")


def test_top_of_a_variable_of_three_axes_two_of_which_are_one():
    program = """
axis node[i, j]
axis layer[l]
data n[l, i, j] : count
r[l, i, j] ~ Gamma(1, rate = 1)
n[l, i, j] ~ Poisson(r[l, i, j])
"""
    counts = np.random.default_rng(0).poisson(5.0, (2, 3, 3))
    fit = cavi.fit(program, n=counts, seed=0)
    exact = (1 + counts) / 2
    for axis, over in enumerate(["layer", "i", "j"]):
        found = fit.top("r", 1, over=over)
        best = np.moveaxis(exact, axis, -1)
        assert len(found) == best[..., 0].size
        for place in np.ndindex(*best.shape[:-1]):
            ((label, value),) = found[tuple(map(str, place))]
            assert value == pytest.approx(best[place].max()) and best[place][int(label)] == best[place].max()


def test_top_of_a_class_of_its_own_axis_is_over_the_classes():
    program = """
axis node[n]
data x[n] : real
pi[:n] ~ Dirichlet(1)
leader[n] ~ Categorical(pi)
m[n] ~ Normal(0, sd = 10)
x[n] ~ Normal(m[leader[n]], sd = 1)
"""
    fit = cavi.fit(program, x=pd.Series([0.0, 5.0, 5.1], index=list("abc")), seed=0)
    prob = fit["leader"].mean
    assert fit.top("leader", 1) == {own: [(prob.loc[own].idxmax(), prob.loc[own].max())] for own in "abc"}


def test_lift_is_by_the_axis_that_is_listed():
    program = "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata n[d, v] : count\ntheta[d, :k] ~ Dirichlet(1)\nbeta[k, :v] ~ Dirichlet(1)\nn[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n"
    counts = np.random.default_rng(1).poisson(2.0, (10, 6))
    fit = cavi.fit(program, n=counts, seed=0, sweeps=20)
    beta = fit["beta"].array
    shares = np.array(fit.summary["components"]["n"]["topic"]["shares"], dtype=float)
    lift = beta / (shares @ beta)
    for topic in range(2):
        assert [int(label) for label, _ in fit.top("beta", 6, by="lift")[str(topic)]] == np.argsort(-lift[topic]).tolist()
