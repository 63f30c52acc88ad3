"""The estimators of ``cavi.sklearn``: scikit-learn's own checks, and scikit-learn's own figures."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition, mixture
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import cavi
from cavi.sklearn import (
    NMF,
    FactorAnalysis,
    GaussianMixture,
    GroupFactorAnalysis,
    LatentDirichletAllocation,
    Model,
    PoissonFactorization,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::cavi.CaviWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
DIGITS = load_digits().data
RANDOM = np.random.default_rng(0)


@parametrize_with_checks(
    [NMF(), NMF(beta_loss="kullback-leibler"), LatentDirichletAllocation(), PoissonFactorization(), FactorAnalysis(), GaussianMixture(), Model()]
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("loss", "solver"), [("frobenius", "cd"), ("kullback-leibler", "mu")])
def test_nmf_reaches_the_loss_of_scikit_learn(loss, solver):
    theirs = decomposition.NMF(8, beta_loss=loss, solver=solver, init="random", max_iter=500, tol=1e-6, random_state=0).fit(DIGITS)
    ours = NMF(8, beta_loss=loss, max_iter=500, random_state=0).fit(DIGITS)
    product = ours.transform(DIGITS) @ ours.components_
    if loss == "frobenius":
        found = np.linalg.norm(DIGITS - product)
    else:
        positive = DIGITS > 0
        ratio = DIGITS[positive] / product[positive]
        # Half the deviance, as `reconstruction_err_` has its square.
        found = np.sqrt(2 * (np.sum(DIGITS[positive] * np.log(ratio)) - DIGITS.sum() + product.sum()))
    assert found < theirs.reconstruction_err_ * 1.02


def test_factor_analysis_has_the_likelihood_of_scikit_learn():
    x = RANDOM.normal(size=(400, 2)) @ RANDOM.normal(size=(2, 6)) + RANDOM.normal(size=(400, 6)) * np.linspace(0.5, 1, 6)
    theirs = decomposition.FactorAnalysis(2, tol=1e-8, max_iter=5000).fit(x)
    ours = FactorAnalysis(2, max_iter=5000, tol=1e-9, random_state=0).fit(x)
    from scipy.stats import multivariate_normal

    likelihood = lambda mean, covariance: multivariate_normal(mean, covariance).logpdf(x).mean()  # noqa: E731
    found = likelihood(ours.mean_, ours.get_covariance())
    assert found == pytest.approx(likelihood(theirs.mean_, theirs.get_covariance()), abs=0.02)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(x)), theirs.transform(x) @ theirs.components_ + theirs.mean_, atol=0.25)


def test_topics_of_new_rows_are_those_of_scikit_learn():
    counts = RANDOM.poisson(RANDOM.gamma(0.3, 3, size=(60, 25)))
    ours = LatentDirichletAllocation(4, allocations="ordinary", max_iter=300, random_state=0).fit(counts)
    theirs = decomposition.LatentDirichletAllocation(4, max_doc_update_iter=20_000, mean_change_tol=1e-12, max_iter=1, random_state=0)
    theirs.fit(counts)
    theirs.components_ = ours.components_
    from scipy.special import digamma

    own = ours.components_
    theirs.exp_dirichlet_component_ = np.exp(digamma(own) - digamma(own.sum(axis=1, keepdims=True)))
    # To the fixed point, as theirs: the bound is flat about it.
    found = ours.fit_.transform({"x": counts}, axis="sample", sweeps=2000, tol=0)["theta"].array
    np.testing.assert_allclose(found, theirs.transform(counts), atol=1e-6)


def test_a_mixture_finds_the_clusters_that_scikit_learn_finds():
    x = load_iris().data
    ours = GaussianMixture(3, n_init=5, random_state=0).fit(x)
    theirs = mixture.GaussianMixture(3, covariance_type="diag", n_init=5, random_state=0).fit(x)
    from sklearn.metrics import adjusted_rand_score

    assert adjusted_rand_score(ours.predict(x), theirs.predict(x)) > 0.7
    order, other = np.argsort(ours.means_[:, 0]), np.argsort(theirs.means_[:, 0])
    np.testing.assert_allclose(ours.means_[order], theirs.means_[other], atol=0.35)
    np.testing.assert_allclose(ours.predict_proba(x).sum(axis=1), 1)


def test_pipelines_searches_and_frames():
    counts = RANDOM.poisson(RANDOM.gamma(0.3, 3, size=(80, 20)))
    steps = make_pipeline(FunctionTransformer(sparse.csr_matrix), LatentDirichletAllocation(max_iter=30, random_state=0))
    search = GridSearchCV(steps, {"latentdirichletallocation__n_components": [2, 5]}, cv=2).fit(counts)
    assert search.best_score_ < 0
    frame = LatentDirichletAllocation(3, max_iter=20, random_state=0).set_output(transform="pandas").fit_transform(counts)
    assert list(frame.columns) == ["latentdirichletallocation0", "latentdirichletallocation1", "latentdirichletallocation2"]


def test_views_of_the_same_samples():
    z = RANDOM.normal(size=(50, 2))
    views = {"a": z @ RANDOM.normal(size=(2, 8)), "b": z @ RANDOM.normal(size=(2, 5))}
    views = {name: own + 0.1 * RANDOM.normal(size=own.shape) for name, own in views.items()}
    model = GroupFactorAnalysis(3, random_state=0).fit(views)
    assert model.components_["b"].shape == (3, 5)
    # Factors of samples by one view alone are close to those by both.
    both, one = model.transform(views), model.transform({"a": views["a"]})
    assert both.shape == (50, 3) and np.corrcoef(both[:, 0], one[:, 0])[0, 1] > 0.9
    with pytest.raises(ValueError, match="dictionary of views"):
        GroupFactorAnalysis().fit(views["a"])


def test_a_program_of_ones_own():
    program = """
axis cell[n]
axis gene[g]
axis programme[k]
data x[n, g] : count, absent = 0
usage[n, k] ~ Gamma(0.5, rate = 1)
weight[g, k] ~ Gamma(0.5, rate = 1)
x[n, g] ~ Poisson(sum[k](usage[n, k] * weight[g, k]))
"""
    counts = sparse.csr_matrix(RANDOM.poisson(1.0, size=(30, 12)))
    found = Model(program, set={"programme": 3}, random_state=0).fit(counts)
    assert found.transform(counts).shape == (30, 3) and found.rows_ == "usage"
    with pytest.raises(ValueError, match="expected one of usage"):
        Model(program, rows="weight", set={"programme": 3}).fit(counts)


@pytest.mark.parametrize("count", [0, -1, 1.5, "many"])
def test_wrong_numbers_of_components(count):
    with pytest.raises(ValueError, match="n_components"):
        NMF(count).fit(DIGITS)


COUNTS = np.random.default_rng(7).poisson(np.random.default_rng(8).gamma(0.3, 3, size=(90, 20)))
NUMBERS = np.random.default_rng(9).normal(size=(90, 2)) @ np.random.default_rng(10).normal(size=(2, 8)) * 3 + 50
NUMBERS += np.random.default_rng(11).normal(size=(90, 8))
PROGRAM = """
axis cell[n]
axis gene[g]
axis programme[k] = 3
data x[n, g] : count, absent = 0
activity[n] ~ Gamma(1, rate = 1)
weight[g, k] ~ Gamma(0.5, rate = 1)
usage[k, n] ~ Gamma(0.5, rate = activity[n])
x[n, g] ~ Poisson(sum[k](usage[k, n] * weight[g, k]))
"""


@pytest.mark.parametrize(
    ("estimator", "rows"),
    [
        (NMF(3, random_state=0), COUNTS),
        (NMF(3, beta_loss="kullback-leibler", random_state=0), COUNTS),
        (LatentDirichletAllocation(3, random_state=0), COUNTS),
        (LatentDirichletAllocation(3, allocations="ordinary", random_state=0), sparse.csr_matrix(COUNTS)),
        (PoissonFactorization(3, random_state=0), sparse.coo_matrix(COUNTS)),
        (FactorAnalysis(2, random_state=0), NUMBERS),
        (GaussianMixture(2, random_state=0), NUMBERS),
        (Model(PROGRAM, rows="activity", random_state=0), COUNTS),
        (Model("ppca", random_state=0), NUMBERS),
    ],
    ids=lambda own: str(own).split("(")[0] if hasattr(own, "fit") else "",
)
def test_rows_that_come_in_parts_are_fitted_together(estimator, rows):
    rows = rows.tocsr() if sparse.issparse(rows) else rows
    first = clone(estimator).partial_fit(rows[:30])
    alone = clone(estimator).fit(rows[:30])
    assert first.elbo_ == alone.elbo_
    grown = first.partial_fit(rows[30:60]).partial_fit(rows[60:])
    assert grown.n_samples_seen_ == 90 and grown.n_features_in_ == rows.shape[1]
    # The bound is that of all rows: a fit that begins where this one ended has it before its first sweep.
    inputs = {grown._data: grown._read(rows)}
    again = cavi.fit(grown._program(), inputs, set=grown._set(), init=grown.fit_, sweeps=0, **grown._options())
    assert again.elbo == pytest.approx(grown.elbo_, rel=1e-9)
    # It is as good as that of a fit to all rows at once, which begins elsewhere.
    whole = clone(estimator).fit(rows)
    assert grown.elbo_ > whole.elbo_ - 0.02 * abs(whole.elbo_)
    assert grown.transform(rows[:5]).shape == whole.transform(rows[:5]).shape


def test_a_batch_may_be_read_into_the_memory_of_the_last_one():
    memory = COUNTS[:30].astype(float)
    reused = LatentDirichletAllocation(3, random_state=0).partial_fit(memory)
    memory[:] = COUNTS[30:60]
    reused.partial_fit(memory)
    apart = LatentDirichletAllocation(3, random_state=0).partial_fit(COUNTS[:30].astype(float)).partial_fit(COUNTS[30:60].astype(float))
    np.testing.assert_array_equal(reused.components_, apart.components_)


def test_the_units_of_a_mixture_are_carried_over():
    # The second batch lies elsewhere and is wider, so that standardised data mean something else; fits that are at rest stay there.
    rows = np.concatenate([NUMBERS, 10 * NUMBERS[:30] - 400])
    mixed = GaussianMixture(3, random_state=0).partial_fit(NUMBERS)
    means = mixed.means_
    mixed.max_iter = 1
    mixed.partial_fit(rows[90:])
    # Where a component was, one of them still is: within a tenth of the standard deviation of all rows.
    distances = np.abs((means[:, None] - mixed.means_[None]) / rows.std(axis=0)).max(axis=2)
    assert distances.min(axis=1).max() < 0.3


def test_rows_of_which_nothing_can_be_scored_are_told():
    model = PoissonFactorization(n_components=2, max_iter=5, random_state=0).fit(np.eye(4) + 1)
    with pytest.raises(ValueError, match="nothing of X can be scored"):
        model.score(np.zeros((3, 4)))


def test_after_fit_the_rows_begin_anew():
    model = NMF(3, random_state=0).fit(COUNTS)
    with pytest.warns(cavi.CaviWarning, match="begins anew"):
        model.partial_fit(COUNTS[:30])
    assert model.n_samples_seen_ == 30
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(COUNTS[:, :4])
    # A batch that is refused changes nothing.
    assert model.partial_fit(COUNTS[30:]).n_samples_seen_ == 90


@pytest.mark.parametrize("framed", [False, True])
def test_views_that_come_in_parts(framed):
    import pandas

    z = np.random.default_rng(0).normal(size=(60, 2))
    views = {name: z @ np.random.default_rng(size).normal(size=(2, size)) for name, size in (("a", 8), ("b", 5))}
    views = {name: own + 0.1 * np.random.default_rng(3).normal(size=own.shape) for name, own in views.items()}
    if framed:
        names = [f"s{own}" for own in range(60)]
        views = {name: pandas.DataFrame(own, index=names) for name, own in views.items()}
    part = lambda rows, *names: {name: views[name][rows] for name in names or views}  # noqa: E731
    grown = GroupFactorAnalysis(3, max_iter=50, random_state=0).partial_fit(part(slice(0, 20))).partial_fit(part(slice(20, 40)))
    # These samples lack a view.
    grown.partial_fit(part(slice(40, 60), "a"))
    assert grown.n_samples_seen_ == 60 and grown.fit_["z"].array.shape == (60, 3)
    with pytest.raises(ValueError, match="'c' was not in the fit"):
        grown.partial_fit({"c": views["a"]})


def test_a_fit_that_is_not_at_rest_is_warned_about():
    with pytest.warns(ConvergenceWarning, match="Maximum number of iterations 2 reached"):
        NMF(3, max_iter=2, random_state=0).fit(DIGITS)


def test_nmf_of_many_components_reaches_the_loss_of_scikit_learn():
    # A start that is larger than the data leaves most components at 0.
    theirs = decomposition.NMF(16, init="random", max_iter=500, tol=1e-6, random_state=0).fit(DIGITS)
    ours = NMF(16, random_state=0).fit(DIGITS)
    assert ours.reconstruction_err_ < theirs.reconstruction_err_ * 1.01
    found = np.linalg.norm(DIGITS - ours.unit_ * ours.fit_["w"].array @ ours.fit_["h"].array)
    assert ours.reconstruction_err_ == pytest.approx(found, rel=1e-12)
