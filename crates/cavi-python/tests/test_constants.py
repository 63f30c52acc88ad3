"""Constants in memory belong to the fit that was given them, and scores have a unit; both are held to densities that are worked out here."""

import numpy as np
import pandas as pd
import pytest

import cavi

#: Rows z_n ~ Normal(0, 1) seen through noise of deviation s_j: the posterior of each is exact.
NOISE = """
axis sample[n]
axis lipid[j]
const s[j]
data x[n, j] : real, absent = NA
z[n] ~ Normal(0, sd = 1)
x[n, j] ~ Normal(z[n], sd = s[j])
"""
X = np.random.default_rng(0).normal(size=(10, 4))
HELD = {"heldout": {"x": 0.2}, "seed": 1}
COUNTS = """
axis case[n]
axis part[k]
const t[n]
data y[n, k] : count, absent = NA
r[n] ~ Gamma(1, rate = 1)
y[n, k] ~ Poisson(t[n] * r[n])
"""


def log_normal(x, mean, variance):
    return -0.5 * np.log(2 * np.pi * variance) - (x - mean) ** 2 / (2 * variance)


def predicted(x, seen, s):
    """The log density of the entries that are not ``seen``, given those of their row that are."""
    precision = 1 + (seen / s**2).sum(axis=1)
    mean = np.where(seen, x / s**2, 0).sum(axis=1) / precision
    return log_normal(x, mean[:, None], 1 / precision[:, None] + s**2)[~seen].sum()


def is_near(scored, exact):
    """Whether a score, an average over draws from q, is what it is an average of, by its standard error."""
    return abs(scored["log_predictive"] - exact) <= 4 * scored["standard_error"] < 0.1 * abs(exact)


def held(fit):
    """Which entries the fit saw."""
    return ~np.isnan(fit.impute("x", all=True)["value"].to_numpy().reshape(X.shape))


@pytest.fixture(scope="module")
def fits():
    return [cavi.fit(NOISE, x=X, s=np.full(4, size), **HELD) for size in (1.0, 3.0)]


def test_fits_are_compared_each_with_its_own_constants(fits):
    right = [predicted(X, held(fit), np.full(4, size)) for fit, size in zip(fits, (1.0, 3.0))]
    own = [fit.heldout["x"] for fit in fits]
    assert right[0] > right[1] + 5 and all(is_near(*both) for both in zip(own, right))
    for order in ([0, 1], [1, 0]):
        found = cavi.compare([fits[place] for place in order])
        assert [one["log_predictive"] for one in found["fits"]] == pytest.approx([own[place]["log_predictive"] for place in order])
        assert found["best"] == str(fits[0].path)
        assert max(one["below_best"] for one in found["fits"]) == pytest.approx(own[0]["log_predictive"] - own[1]["log_predictive"])


def test_fits_with_other_constants_are_not_averaged(fits):
    new = np.random.default_rng(5).normal(size=(6, 4))
    for both in (fits, fits[::-1]):
        with pytest.raises(cavi.DataError, match="`s` was another|different constants"):
            cavi.score(both, x=new)
    # With the same ones they are, and two fits that are the same predict as each.
    same = cavi.fit(NOISE, x=X, s=np.ones(4), heldout={"x": 0.2}, seed=1)
    both = cavi.score([fits[0], same], x=new, seed=0)
    assert both["n_fits"] == 2 and both["log_predictive"] == pytest.approx(fits[0].score(x=new, seed=0)["log_predictive"])


def test_new_rows_keep_the_constants_they_were_given():
    fit = cavi.fit(COUNTS, y=np.array([[2.0, np.nan], [4.0, 3.0]]), t=np.array([1.0, 2.0]))
    new = fit.transform(y=np.array([[2.0, np.nan], [4.0, 3.0]]), t=np.array([10.0, 20.0]), axis="case")
    # r is Gamma(1 + 2, 1 + 10) where t is 10, and Gamma(3, 2) where it is 1.
    assert new.impute("y")["mean"].tolist() == pytest.approx([10 * 3 / 11])
    assert fit.impute("y")["mean"].tolist() == pytest.approx([3 / 2])
    more = fit.transform(y=np.array([[2.0, np.nan], [4.0, 3.0], [1.0, 1.0]]), t=np.array([10.0, 20.0, 30.0]), axis="case")
    assert more.impute("y")["mean"].tolist() == pytest.approx([10 * 3 / 11])
    assert more["r"].array == pytest.approx([3 / 11, 8 / 41, 3 / 61])


# The unit of a score.


@pytest.mark.parametrize("over", ["n", "j"])
def test_a_score_says_the_logs_of_its_scales(over, tmp_path):
    random = np.random.default_rng(2)
    program = f"axis row[n]\naxis column[j]\ndata x[n, j] : real, absent = NA, scale over {over}\nz[n] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(z[n], sd = 1)\n"
    table = pd.DataFrame(random.normal(size=(12, 4)) * ([1, 10, 100, 1000] if over == "n" else [1, 1, 1.5, 2]), index=[f"r{own}" for own in range(12)], columns=list("abcd"))
    fit = cavi.fit(program, x=table)
    # The columns a and b are given, and c and d scored.
    given = table[["a", "b"]].stack().rename("x").rename_axis(["row", "column"]).reset_index()
    given.to_csv(tmp_path / "given.csv", index=False)
    scored = fit.score(x=table, given={"x": tmp_path / "given.csv"})
    # Of a column it is the fit's; of a new row that of what is given of it.
    own = table.to_numpy()
    scale = np.broadcast_to(own.std(axis=0, keepdims=True) if over == "n" else own[:, :2].std(axis=1, keepdims=True), own.shape)
    assert scored["n_scored"] == 24
    assert scored["log_scale"] == pytest.approx(np.log(scale[:, 2:]).sum())
    seen = np.tile([True, True, False, False], (12, 1))
    # Numbers far outside of the scale of two others are predicted by too few draws.
    assert over == "j" or is_near(scored, predicted(own / scale, seen, np.ones(4)))
    assert "log_scale" not in cavi.fit(program.replace(f", scale over {over}", ""), x=table).score(x=table)


@pytest.mark.parametrize("over", ["n", "j"])
def test_groups_have_scales_of_their_own(over, tmp_path):
    program = f"""
axis row[n]
axis view[m]
axis column[j] in view[m]
data x[n, m, j] : real, absent = NA, scale over {over}
z[n] ~ Normal(0, sd = 1)
x[n, m, j] ~ Normal(z[n], sd = 1)
"""
    random = np.random.default_rng(2)
    rows = [f"r{own}" for own in range(6)]
    sizes = {"a": 3, "b": 5}
    views = {view: pd.DataFrame(random.normal(size=(6, size)) * (1 + np.arange(size)), rows, [f"{view}{own}" for own in range(size)]) for view, size in sizes.items()}
    fit = cavi.fit(program, x=views)
    # The first two columns of each view are given.
    lines = [f"{row},{view},{column},{own.loc[row, column]!r}" for view, own in views.items() for row in rows for column in own.columns[:2]]
    (tmp_path / "given.csv").write_text("\n".join(["row,view,column,x", *lines]).replace("np.float64(", "").replace(")", "") + "\n")
    scored = fit.score(x=views, given={"x": tmp_path / "given.csv"})
    parts = {view: own.to_numpy() for view, own in views.items()}
    of = lambda own: own.std(axis=0, keepdims=True) if over == "n" else own[:, :2].std(axis=1, keepdims=True)  # noqa: E731
    scale = np.hstack([np.broadcast_to(of(own), own.shape) for own in parts.values()])
    seen = np.tile([True, True, False, True, True, False, False, False], (6, 1))
    assert scored["n_scored"] == 24 and scored["log_scale"] == pytest.approx(np.log(scale[~seen]).sum())
    if over == "n":
        assert is_near(scored, predicted(np.hstack(list(parts.values())) / scale, seen, np.ones(8)))


def test_scores_of_mixtures_are_densities_of_the_data():
    pytest.importorskip("sklearn")
    from cavi.sklearn import FactorAnalysis, GaussianMixture, Model

    random = np.random.default_rng(0)
    x = random.normal(size=(300, 3))
    own = GaussianMixture(1, random_state=0).fit(x)
    far = GaussianMixture(1, random_state=0).fit(1000 * x)
    # Of y = 1000 x the density is a thousandth of that of x.
    assert far.score(1000 * x) == pytest.approx(own.score(x) - np.log(1000))
    # Independent numbers have the mean log density -1/2 log(2 pi e sigma^2), whatever the model.
    exact = -0.5 * np.log(2 * np.pi * np.e) - np.log(1000)
    factors = FactorAnalysis(1, random_state=0).fit(1000 * x)
    assert far.score(1000 * x) == pytest.approx(exact, abs=0.1) and factors.score(1000 * x) == pytest.approx(exact, abs=0.1)
    program = "axis row[n]\naxis column[j]\ndata x[n, j] : real, absent = NA, scale over n\nz[n] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(z[n], sd = 1)\n"
    scores = [Model(program, random_state=0).fit(factor * x).score(factor * x) for factor in (1, 1000)]
    assert scores[1] == pytest.approx(scores[0] - np.log(1000))
