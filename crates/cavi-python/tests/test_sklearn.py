"""The estimators of ``cavi.sklearn``: scikit-learn's own checks, and scikit-learn's own figures."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition, mixture
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from cavi.sklearn import (
    NMF,
    FactorAnalysis,
    GaussianMixture,
    GroupFactorAnalysis,
    LatentDirichletAllocation,
    Model,
    PoissonFactorization,
)

pytestmark = pytest.mark.filterwarnings("ignore::cavi.CaviWarning")
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
