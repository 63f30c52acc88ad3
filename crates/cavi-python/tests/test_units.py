"""Estimators of ``cavi.sklearn`` where the unit and the origin of data are others: figures of scikit-learn and SciPy, and identities of each model."""

import warnings

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.stats import multivariate_normal
from sklearn import decomposition, mixture
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

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
UNITS = [1e-4, 1.0, 1e4]
DIGITS = load_digits().data[:300]
RANDOM = np.random.default_rng(3)
#: Three features of each of two groups, each with a mean of 10 standard deviations.
FACTORS = RANDOM.normal(size=(200, 2)) @ RANDOM.normal(size=(2, 6)) + 0.3 * RANDOM.normal(size=(200, 6))
FACTORS = FACTORS + 10 * FACTORS.std(axis=0)
CLUSTERS = np.vstack([RANDOM.normal(0, 1, (60, 3)), RANDOM.normal(6, 2, (40, 3))])
CLUSTERS = CLUSTERS + 10 * CLUSTERS.std(axis=0)


def converged(estimator, X):
    """The estimator, fitted; that it stops by itself is a part of each test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return estimator.fit(X)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("data", [load_iris().data, load_wine().data, FACTORS], ids=["iris", "wine", "factors"])
def test_factor_analysis_has_the_covariance_of_scikit_learn_in_every_unit(data, unit):
    ours = converged(FactorAnalysis(2, random_state=0), data * unit)
    np.testing.assert_allclose(ours.mean_ / unit, data.mean(axis=0), rtol=1e-3)
    # Theirs in standard deviations about the mean, in which its optimum is that of any units.
    center, scale = data.mean(axis=0), data.std(axis=0)
    theirs = decomposition.FactorAnalysis(2, tol=1e-8, max_iter=5000).fit((data - center) / scale)
    log_density = multivariate_normal(ours.mean_, ours.get_covariance()).logpdf(data * unit).mean()
    in_units = log_density + data.shape[1] * np.log(unit) + np.log(scale).sum()
    assert in_units == pytest.approx(theirs.score((data - center) / scale), abs=0.03)
    correlations = ours.get_covariance() / unit**2 / np.outer(scale, scale)
    np.testing.assert_allclose(correlations, theirs.get_covariance(), atol=0.05)
    # What `transform` gives is what the data are made of.
    rest = data - ours.inverse_transform(ours.transform(data * unit)) / unit
    assert np.mean((rest / scale) ** 2) < 1.1 * np.mean(theirs.noise_variance_)


def test_factor_analysis_of_missing_entries_and_of_more_rows_is_the_same_in_every_unit():
    data = FACTORS.copy()
    data[RANDOM.random(data.shape) < 0.2] = np.nan
    found = []
    for unit in UNITS:
        estimator = FactorAnalysis(2, tol=1e-8, max_iter=5000, random_state=0)
        estimator.partial_fit(data[:80] * unit).partial_fit(data[80:] * unit)
        assert estimator.elbo_ == pytest.approx(FactorAnalysis(2, tol=1e-8, max_iter=5000, random_state=0).fit(data * unit).elbo_, abs=0.05)
        found.append((estimator.mean_ / unit, estimator.noise_variance_ / unit**2, estimator.score(data * unit) + np.log(unit)))
    for own in found:
        for one, other in zip(own, found[1]):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    # The noise that the data were made with.
    assert found[1][1] == pytest.approx(0.09, abs=0.04)


def test_a_second_call_of_partial_fit_begins_where_the_first_ended_in_its_own_units():
    data = FACTORS.copy()
    data[150:] = 3 * data[150:] + 40
    first = FactorAnalysis(2, tol=1e-9, max_iter=5000, random_state=0).partial_fit(data[:150])
    center, scale = data[:150].mean(axis=0), data[:150].std(axis=0)
    start = {name: first.fit_.array(name) for name in ("w.mean", "w.cov", "mu.mean", "mu.var", "psi.rate", "psi.shape")}
    stated = first._restated(dict(start), data[:150], data)
    next_center, next_scale = data.mean(axis=0), data.std(axis=0)
    # By hand: the same loadings, means and precisions in the units of the data.
    np.testing.assert_allclose(stated["w.mean"] * next_scale[:, None], start["w.mean"] * scale[:, None])
    np.testing.assert_allclose(stated["mu.mean"] * next_scale + next_center, start["mu.mean"] * scale + center)
    np.testing.assert_allclose(stated["psi.rate"] / start["psi.shape"] * next_scale**2, start["psi.rate"] / start["psi.shape"] * scale**2)


@pytest.mark.parametrize("unit", [1e-8, *UNITS])
def test_nmf_ends_where_that_of_scikit_learn_does_in_every_unit(unit):
    ours = converged(NMF(8, random_state=0), DIGITS * unit)
    theirs = decomposition.NMF(8, init="nndsvda", max_iter=2000, tol=1e-6, random_state=0).fit(DIGITS)
    assert ours.reconstruction_err_ / unit < 1.01 * theirs.reconstruction_err_
    product = ours.transform(DIGITS * unit) @ ours.components_
    assert np.linalg.norm(DIGITS - product / unit) < 1.01 * theirs.reconstruction_err_
    weights = np.array([nnls(ours.components_.T, row)[0] for row in DIGITS[:20] * unit])
    np.testing.assert_allclose(ours.transform(DIGITS[:20] * unit), weights, atol=1e-4 * weights.max())
    # Either side has half of the unit, as that of scikit-learn.
    assert ours.components_.mean() / np.sqrt(unit) == pytest.approx(converged(NMF(8, random_state=0), DIGITS).components_.mean(), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-8, *UNITS])
def test_nmf_by_kullback_leibler_ends_where_that_of_scikit_learn_does_in_every_unit(unit):
    # The loss has several minima: the best of some starts.
    ours = converged(NMF(4, beta_loss="kullback-leibler", n_init=5, max_iter=2000, random_state=0), DIGITS * unit)
    theirs = decomposition.NMF(4, beta_loss="kullback-leibler", solver="mu", max_iter=2000, tol=1e-6, random_state=0).fit(DIGITS)
    assert ours.reconstruction_err_ / np.sqrt(unit) < 1.01 * theirs.reconstruction_err_


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_nmf_of_rows_in_two_parts_is_that_of_all_of_them_in_every_unit(loss):
    for unit in UNITS:
        # The second part is in other numbers, so that the unit of all rows is another.
        rows = np.vstack([DIGITS[:150], 30 * DIGITS[150:]]) * unit
        ours = NMF(4, beta_loss=loss, max_iter=3000, random_state=0).partial_fit(rows[:150]).partial_fit(rows[150:])
        whole = NMF(4, beta_loss=loss, max_iter=3000, n_init=5, random_state=0).fit(rows)
        assert ours.reconstruction_err_ == pytest.approx(whole.reconstruction_err_, rel=0.05)


def test_the_score_of_nmf_is_a_log_density_in_the_units_of_the_data():
    scores = [NMF(4, random_state=0).fit(DIGITS * unit).score(DIGITS * unit) + np.log(unit) for unit in UNITS]
    np.testing.assert_allclose(scores, scores[1], rtol=1e-6)
    # A noise of 0.4 of the root of the mean square bounds the density of an entry.
    assert scores[1] < -np.log(np.sqrt(np.mean(DIGITS**2)))


@pytest.mark.parametrize("unit", UNITS)
def test_gaussian_mixtures_find_the_clusters_of_scikit_learn_in_every_unit(unit):
    ours = converged(GaussianMixture(2, random_state=0), CLUSTERS * unit)
    theirs = mixture.GaussianMixture(2, covariance_type="diag", random_state=0).fit(CLUSTERS)
    order, their_order = np.argsort(ours.weights_), np.argsort(theirs.weights_)
    np.testing.assert_allclose(ours.means_[order] / unit, theirs.means_[their_order], rtol=0.02)
    np.testing.assert_allclose(np.sqrt(ours.covariances_[order]) / unit, np.sqrt(theirs.covariances_[their_order]), rtol=0.15)
    assert ours.score(CLUSTERS * unit) + np.log(unit) == pytest.approx(theirs.score(CLUSTERS) / 3, abs=0.3)


def test_group_factor_analysis_gives_the_same_factors_in_every_unit():
    views = lambda unit: {"a": FACTORS[:, :3] * unit, "b": FACTORS[:, 3:] / unit}  # noqa: E731
    found = {unit: converged(GroupFactorAnalysis(2, random_state=0), views(unit)) for unit in UNITS}
    z = found[1.0].transform(views(1.0))
    for unit, own in found.items():
        assert own.elbo_ == pytest.approx(found[1.0].elbo_, rel=1e-9)
        np.testing.assert_allclose(own.transform(views(unit)), z, atol=1e-6)
    # They span what the first two principal components of the standardised data do.
    standardised = (FACTORS - FACTORS.mean(axis=0)) / FACTORS.std(axis=0)
    principal = np.linalg.svd(standardised, full_matrices=False)[0][:, :2]
    angles = np.linalg.svd(np.linalg.qr(z - z.mean(axis=0))[0].T @ principal, compute_uv=False)
    assert angles.min() > 0.98


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_of_the_data_of_topics_belongs_to_one(unit):
    # Of counts and amounts the unit is what there is evidence by, so that topics differ; but these hold in each.
    amounts = DIGITS[:100] * unit
    ours = LatentDirichletAllocation(3, allocations="ordinary", random_state=0).fit(amounts)
    np.testing.assert_allclose((ours.components_ - 1 / 3).sum(axis=0), amounts.sum(axis=0), rtol=1e-6, atol=1e-9 * unit)
    shares = ours.transform(amounts, normalize=False) - 1 / 3
    np.testing.assert_allclose(shares.sum(axis=1), amounts.sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_of_the_data_of_a_poisson_factorisation_belongs_to_a_component(unit):
    amounts = DIGITS[:100] * unit
    ours = PoissonFactorization(3, random_state=0).fit(amounts)
    np.testing.assert_allclose((ours.fit_.array("theta.shape") - 0.3).sum(axis=1), amounts.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose((ours.fit_.array("beta.shape") - 0.3).sum(axis=1), amounts.sum(axis=0), rtol=1e-6, atol=1e-9 * unit)


def test_a_program_that_standardises_is_the_same_in_every_unit():
    found = [Model("factor_analysis", set={"factor": 2}, random_state=0).fit(FACTORS * unit) for unit in UNITS]
    for unit, own in zip(UNITS, found):
        np.testing.assert_allclose(own.transform(FACTORS * unit), found[1].transform(FACTORS), atol=1e-6)
        assert own.score(FACTORS * unit) + np.log(unit) == pytest.approx(found[1].score(FACTORS), rel=1e-6)
