"""Cavi's models as estimators of scikit-learn: pipelines, grid searches, ``set_output("pandas")``.

Each class is a program (``cavi._programs``) and a thin shell around ``cavi.fit`` and ``Fit.transform``; ``estimator.fit_`` is the fit, with
everything that it can be asked. ``Model`` takes any program of one matrix whose first axis can grow.

``transform`` fits the latents of the rows with everything that rows share at the fit's posterior, so that it is the same for rows that
were in the fit and for new ones. ``score`` is the log probability of one half of the entries (or units) of each row given the other,
for one unit of data: larger is better, and models of the same data compare.

``partial_fit`` goes on with more rows. It is exact: each call fits all rows so far, which the estimator keeps, from where the last call ended.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, DensityMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _data, _grow, _programs
from ._core import UsageError
from ._fit import fit as _fit
from ._program import CaviWarning, opened

__all__ = [
    "FactorAnalysis",
    "GaussianMixture",
    "GroupFactorAnalysis",
    "LatentDirichletAllocation",
    "Model",
    "NMF",
    "PoissonFactorization",
]

#: New rows have this seed, so that they come out the same each time.
SEED_OF_ROWS = 0


class _Growing:
    """``fit`` and ``partial_fit`` of the classes, by what a subclass says of its program and of its rows."""

    _data = "x"
    _axis = "sample"

    def _program(self):
        raise NotImplementedError

    def _set(self):
        """Constants and sizes of axes."""
        return {"component": self._components()}

    def _components(self):
        count = self.n_components
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise ValueError(f"n_components={count!r}: expected a whole number, 1 or more")
        return int(count)

    def _options(self):
        """How the fit is run."""
        return {}

    def _validated(self, X, reset):
        """The rows as they are given, checked; ``reset`` at a first fit."""
        raise NotImplementedError

    def _measure(self, X):
        """Sets what ``_set`` and ``_read`` say by all rows of a fit."""

    def _read(self, X):
        """The rows as the program reads them."""
        return X

    def _kept(self, X):
        """Sets what the fitted estimator has beside its fit."""

    def fit(self, X, y=None):
        """Fit to the rows of ``X``; ``y`` is not used."""
        X = self._validated(X, reset=True)
        # What `partial_fit` has seen is over.
        self._seen = None
        return self._fitted(X, restarts=self.n_init)

    def partial_fit(self, X, y=None):
        """Go on with more rows: the first call is ``fit``, each later one fits all rows so far from where the last one ended.

        It is exact. The bound, ``elbo_``, is that of all rows of all calls: none is forgotten, there is no step size and no order of batches but for where
        the ascent begins. New rows begin at their latents under the fit so far, and everything else where it was; up to ``max_iter`` sweeps over all
        rows follow, until ``tol`` is met. So the estimator keeps the rows, ``n_samples_seen_`` of them, and a call costs sweeps over all of
        them, if few. ``fit`` keeps none, so that ``partial_fit`` after it begins anew, with a warning.
        """
        is_first = not hasattr(self, "fit_") or self._seen is None
        if is_first and hasattr(self, "fit_"):
            warnings.warn(
                f"this {type(self).__name__} was fitted by `fit`, which keeps no rows to go on from: `partial_fit` begins anew, with these rows alone",
                CaviWarning,
                stacklevel=2,
            )
        X = self._numbered(self._validated(X, reset=is_first), 0 if is_first else self.n_samples_seen_)
        if is_first:
            # A copy: who reads a stream may read the next batch into the same memory.
            seen = _stacked([X])
            self._fitted(seen, restarts=self.n_init, labels=self._labels(seen))
        else:
            seen = _stacked([self._seen, X])
            labels = self._labels(seen)
            threads = _threads(self.n_jobs)
            rows = self.fit_.transform({self._data: self._read(seen)}, axis=self._axis, labels=labels, seed=SEED_OF_ROWS, threads=threads)
            start = self._restated(_grow.start(self.fit_, rows), self._seen, seen)
            self._fitted(seen, restarts=1, labels=labels, init=start)
        self._seen = seen
        self.n_samples_seen_ = _count(seen)
        return self

    def _numbered(self, X, first):
        """Rows that go on from ``first``, those without labels with some where they need them."""
        return X

    def _labels(self, X):
        """Labels of rows, by which a later fit knows those that it has."""
        return {self._axis: [f"row {own}" for own in range(_count(X))]}

    def _restated(self, start, before, after):
        """A start for the rows ``after`` of what was fitted to the rows ``before``, whose data may be in other units."""
        return start

    def _fitted(self, X, **options):
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._measure(X)
        self.fit_ = _fit(
            self._program(),
            {self._data: self._read(X)},
            set=self._set(),
            seed=seed,
            sweeps=self.max_iter,
            tol=self.tol,
            threads=_threads(self.n_jobs),
            **self._options(),
            **options,
        )
        # An estimator keeps the data that it was fitted to where it goes on with more alone.
        self.fit_._data = None
        self.n_iter_ = max(self.fit_.sweeps, 1)
        self.elbo_ = self.fit_.elbo
        if not self.fit_.converged:
            warnings.warn(
                f"Maximum number of iterations {self.n_iter_} reached. Increase it to improve convergence.", ConvergenceWarning, stacklevel=3
            )
        self._kept(X)
        return self


class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Growing, BaseEstimator):
    """What the classes have in common. A subclass says which program it is and what its latents are."""

    _rows = "z"
    #: Whether data must not be negative, may be sparse, may have missing entries.
    _nonnegative = False
    _sparse = False
    _missing = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._nonnegative
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = self._missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validated(self, X, reset):
        from scipy import sparse

        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc", "coo") if self._sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self._missing else True,
        )
        if sparse.issparse(X) and not X.has_canonical_format:
            # As everywhere in scikit-learn an entry that stands twice is the sum of both.
            X = X.tocsr(copy=True)
            X.sum_duplicates()
        smallest = X.data if sparse.issparse(X) else X
        if self._nonnegative and smallest.size and smallest.min() < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__}: its data are counts or amounts")
        return X

    def _new(self, X):
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        new = self.fit_.transform({self._data: self._read(X)}, axis=self._axis, seed=SEED_OF_ROWS, threads=_threads(self.n_jobs))
        return X, new

    def transform(self, X):
        """Means of the rows' latents: a row for each row of ``X``, a column for each component."""
        X, new = self._new(X)
        return new[self._rows].array.astype(X.dtype, copy=False)

    def fit_transform(self, X, y=None):
        """``fit``, then ``transform`` of the same rows."""
        return self.fit(X, y).transform(X)

    def score(self, X, y=None):
        """Log probability of one half of each row given the other, for one unit of data; of real numbers the log density in their units.

        Entries are scored one by one: of real numbers the sum is that of their marginal log densities, and no joint density of a row. Of data that
        are 0 for the most part as many zeros are scored as other entries: there models are compared by ``elbo_``.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        scored = self.fit_.score({self._data: self._read(X)}, seed=SEED_OF_ROWS, threads=_threads(self.n_jobs))
        if scored["per_unit"] is None:
            raise ValueError("nothing of X can be scored: no row has an entry of which a half could be hidden, such as a count above 0")
        # The density of numbers that the program divided by a scale is that of the quotients.
        if "log_scale" in scored and scored["n_scored"]:
            return float((float(scored["log_predictive"]) - float(scored["log_scale"])) / scored["n_scored"])
        return float(scored["per_unit"])

    @property
    def _n_features_out(self):
        return self.components_.shape[0]


def _threads(n_jobs):
    """As scikit-learn counts: ``None`` is 1, -1 all of the machine."""
    import os

    if n_jobs is None:
        return 1
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def _count(X):
    """How many rows there are."""
    if isinstance(X, dict):
        return max(own.shape[0] for own in X.values())
    return X.shape[0]


def _stacked(parts):
    """The rows of all parts, one part after another, in memory of their own."""
    from scipy import sparse

    if any(sparse.issparse(own) for own in parts):
        return sparse.vstack([sparse.csr_matrix(own) for own in parts], format="csr")
    if not isinstance(parts[0], dict):
        return np.concatenate(parts)
    stacked = {}
    for view, first in parts[0].items():
        own = [part.get(view) for part in parts]
        if hasattr(first, "columns"):
            import pandas

            stacked[view] = pandas.concat([part for part in own if part is not None])
            continue
        absent = lambda part: np.full((_count(part), np.shape(first)[1]), np.nan)  # noqa: E731
        stacked[view] = np.concatenate([absent(part) if at is None else at for part, at in zip(parts, own)])
    return stacked


def _is_whole(X):
    """Whether a matrix, dense or sparse, holds whole numbers alone."""
    numbers = getattr(X, "data", X) if hasattr(X, "tocoo") else X
    return bool(np.all(numbers == np.floor(numbers)))


class _Linear(_Estimator):
    """Rows are sums of components."""

    def inverse_transform(self, X):
        """The expected data of rows with these latents."""
        check_is_fitted(self)
        return np.asarray(X) @ self.components_


class NMF(_Linear):
    """Non-negative matrix factorisation: ``X`` is about ``W @ components_``.

    Parameters
    ----------
    n_components : number of components.
    beta_loss : ``"frobenius"`` (least squares; exact non-negative least squares for each number) or ``"kullback-leibler"`` (maximum
        likelihood of Poisson counts by multiplicative updates).
    max_iter, tol : at most so many sweeps; stop when the relative change of the objective stays under ``tol``.
    n_init : so many starts, the best kept.
    n_jobs, random_state : as everywhere in scikit-learn; the number of threads changes no bit.

    ``reconstruction_err_`` is the root of the loss, as of scikit-learn's class. ``fit_`` is a fit to ``X / unit_``, so that where it ends does not depend on the
    unit of the data. ``unit_`` is the root of their mean square, for Kullback-Leibler their mean, or 1 where they are counts. ``score`` of the Frobenius loss is
    the log density under a noise of 0.4 ``unit_``.
    """

    _rows = "w"
    _nonnegative = True
    _sparse = True

    def __init__(
        self, n_components=2, *, beta_loss="frobenius", max_iter=1000, tol=1e-6, n_init=1, n_jobs=None, random_state=None
    ):
        self.n_components = n_components
        self.beta_loss = beta_loss
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _program(self):
        programs = {"frobenius": _programs.NMF_FROBENIUS, "kullback-leibler": _programs.NMF_KULLBACK_LEIBLER}
        if self.beta_loss not in programs:
            raise ValueError(f"beta_loss={self.beta_loss!r}: expected 'frobenius' or 'kullback-leibler'")
        return programs[self.beta_loss]

    def _set(self):
        return {**super()._set(), **({"level": self._level} if self.beta_loss == "frobenius" else {})}

    def _measure(self, X):
        self.unit_ = self._unit(X)
        self._level = float(np.sqrt(X.mean(dtype=np.float64) / self.unit_ / self._components())) or 1.0

    def _unit(self, X):
        """The unit in which the program reads the data, as numbers near 1: where the fit ends does not depend on that in which they are given."""
        if self.beta_loss != "frobenius":
            return 1.0 if _is_whole(X) else float(X.mean(dtype=np.float64)) or 1.0
        numbers = X.data if hasattr(X, "tocoo") else X
        # Squares of small numbers may be 0, and those of large ones infinite.
        largest = float(np.max(numbers, initial=0)) or 1.0
        squares = np.sum(np.square(numbers / largest), dtype=np.float64)
        return largest * float(np.sqrt(squares / np.prod(X.shape, dtype=float))) or 1.0

    def _read(self, X):
        return X if self.unit_ == 1 else X.astype(np.float64, copy=False) / self.unit_

    def _restated(self, start, before, after):
        ratio = np.sqrt(self.unit_ / self._unit(after))
        # Zeros stay under multiplicative updates, and columns that were empty need not be any more.
        least = 1e-4 if self.beta_loss == "kullback-leibler" else 0.0
        return {name: np.maximum(own, least * own.mean()) * ratio for name, own in start.items()}

    def transform(self, X):
        """The weights of the components in each row."""
        X, new = self._new(X)
        return (new["w"].array * np.sqrt(self.unit_)).astype(X.dtype, copy=False)

    def score(self, X, y=None):
        """Log probability of one half of each row given the other, for one unit of data (``unit_``); of the Frobenius loss the log density for one entry."""
        return super().score(X) - (float(np.log(self.unit_)) if self.beta_loss == "frobenius" else 0.0)

    def _kept(self, X):
        # Half of the unit goes to either side.
        self.components_ = (self.fit_["h"].array * np.sqrt(self.unit_)).astype(X.dtype, copy=False)
        self.n_components_ = len(self.components_)
        self.reconstruction_err_ = self._error(X)

    def _error(self, X):
        """The root of the loss as scikit-learn states it: the Frobenius norm, or the root of twice the generalised Kullback-Leibler divergence."""
        from scipy import sparse

        w, h = self.fit_["w"].array, self.fit_["h"].array * self.unit_
        X = X.tocsr() if sparse.issparse(X) else X
        total = 0.0
        # Some 16 MB of the product at a time.
        step = max(1, 2_000_000 // max(1, h.shape[1]))
        for first in range(0, len(w), step):
            product, own = w[first : first + step] @ h, X[first : first + step]
            own = own.toarray() if sparse.issparse(own) else own
            if self.beta_loss == "frobenius":
                total += np.sum((own - product) ** 2)
            else:
                positive = own > 0
                total += 2 * (np.sum(own[positive] * np.log(own[positive] / product[positive])) - own.sum() + product.sum())
        return float(np.sqrt(max(total, 0.0)))


class LatentDirichletAllocation(_Estimator):
    """Topics of counts: each row a mixture of ``components_``, distributions over the columns.

    Parameters
    ----------
    n_components : number of topics.
    doc_topic_prior, topic_word_prior : concentrations; ``None`` is ``1 / n_components``.
    allocations : ``"collapsed"`` (each unit leaves out its own share; best predictions), ``"ordinary"`` (variational Bayes, whose bound
        never falls) or ``"means"``.
    max_iter, tol, n_init, n_jobs, random_state : as of ``NMF``.
    """

    _rows = "theta"
    _nonnegative = True
    _sparse = True

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        allocations="collapsed",
        max_iter=150,
        tol=1e-6,
        n_init=1,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.allocations = allocations
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _program(self):
        return _programs.LATENT_DIRICHLET_ALLOCATION if self._is_counts else _programs.TOPICS_OF_AMOUNTS

    def _validated(self, X, reset):
        X = super()._validated(X, reset)
        if reset:
            self._is_counts = _is_whole(X)
        return X

    def _set(self):
        count = self._components()
        prior = lambda own: 1.0 / count if own is None else own  # noqa: E731
        return {"component": count, "alpha": prior(self.doc_topic_prior), "eta": prior(self.topic_word_prior)}

    def _options(self):
        return {"allocations": self.allocations}

    def _kept(self, X):
        self.components_ = self.fit_.array("beta.concentration").astype(X.dtype, copy=False)
        self.topics_ = self.fit_["beta"].array

    def transform(self, X, *, normalize=True):
        """Shares of the topics in each row; with ``normalize=False`` the concentrations of their Dirichlet distributions."""
        if normalize:
            return super().transform(X)
        X, new = self._new(X)
        return new.array("theta.concentration").astype(X.dtype, copy=False)

    def score(self, X, y=None):
        """Log probability of one half of each row's units given the other half, for one unit.

        Amounts that are no whole numbers have no units to split: of a model that was fitted to amounts it is the log probability of each row given itself.
        One that was fitted to counts takes counts alone.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if self._is_counts and _is_whole(X):
            return super().score(X)
        from scipy import sparse

        entries = sparse.coo_array(X)
        rates = np.einsum("ik,ki->i", self.transform(X)[entries.row], self.topics_[:, entries.col])
        return float(np.sum(entries.data * np.log(rates)) / np.sum(entries.data))

    def perplexity(self, X):
        """exp(-``score``): perplexity of one half of each row's units given the other half."""
        return float(np.exp(-self.score(X)))


class PoissonFactorization(_Linear):
    """Hierarchical Poisson factorisation (Gopalan, Hofman and Blei 2015): counts with users and items of unequal activity.

    Parameters
    ----------
    n_components : number of components.
    shape : shape of the Gamma priors; small ones are sparse.
    max_iter, tol, n_init, n_jobs, random_state : as of ``NMF``.
    """

    _rows = "theta"
    _nonnegative = True
    _sparse = True

    def __init__(self, n_components=10, *, shape=0.3, max_iter=1000, tol=1e-6, n_init=1, n_jobs=None, random_state=None):
        self.n_components = n_components
        self.shape = shape
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _program(self):
        return _programs.POISSON_FACTORIZATION

    def _set(self):
        return {**super()._set(), "shape": self.shape}

    def _kept(self, X):
        self.components_ = self.fit_["beta"].array.T.astype(X.dtype, copy=False)


class FactorAnalysis(_Linear):
    """Factor analysis with a noise of each feature, components that the data do not need switched off; NaN is missing.

    ``components_``, ``noise_variance_`` and ``mean_`` are as of scikit-learn's class, posterior means here.
    """

    _missing = True

    def __init__(self, n_components=2, *, max_iter=1000, tol=1e-6, n_init=1, n_jobs=None, random_state=None):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _program(self):
        return _programs.FACTOR_ANALYSIS

    def _restated(self, start, before, after):
        # The program's units are standard deviations about the mean of what is observed, of all rows.
        (center, scale), (next_center, next_scale) = _units_of(self.fit_, self._data), _units(after)
        ratio = scale / next_scale
        start["w.mean"] = start["w.mean"] * ratio[:, None]
        start["w.cov"] = start["w.cov"] * ratio[:, None, None] ** 2
        start["mu.mean"] = start["mu.mean"] * ratio + (center - next_center) / next_scale
        start["mu.var"] = start["mu.var"] * ratio**2
        start["psi.rate"] = start["psi.rate"] * ratio**2
        return start

    def _kept(self, X):
        center, scale = _units_of(self.fit_, self._data)
        self.components_ = (self.fit_["w"].array.T * scale).astype(X.dtype, copy=False)
        self.mean_ = self.fit_["mu"].array * scale + center
        self.noise_variance_ = scale**2 / self.fit_["psi"].array

    def inverse_transform(self, X):
        """The expected data of rows with these factors."""
        return super().inverse_transform(X) + self.mean_

    def get_covariance(self):
        """The covariance of the data by the posterior means."""
        check_is_fitted(self)
        return self.components_.T @ self.components_ + np.diag(self.noise_variance_)


def _units(X):
    """Where the observed entries of each column of a matrix will be for a fit, and how wide they are; of equal ones the width is 1, and of none the place 0."""
    entries = np.ma.masked_invalid(X)
    # The mean of equal numbers may differ from them by rounding, and then so does their deviation from 0.
    is_constant = (entries.min(axis=0) == entries.max(axis=0)).filled(True)
    scale = np.where(is_constant, 1.0, entries.std(axis=0, dtype=np.float64).filled(1.0))
    scale[scale == 0] = 1
    return entries.mean(axis=0, dtype=np.float64).filled(0.0), scale


def _units_of(fit, name):
    """What a fit subtracted from the columns of its data, and what it divided them by."""
    folder = fit.path / "standardised"
    return np.load(folder / f"{name}.center.npy").reshape(-1), np.load(folder / f"{name}.scale.npy").reshape(-1)


class GaussianMixture(ClusterMixin, DensityMixin, _Estimator):
    """A mixture of Gaussians with diagonal covariances and priors on everything (variational Bayes).

    ``weights_``, ``means_``, ``covariances_`` and ``precisions_`` are in the units of the data; ``transform`` gives the probabilities of the
    components.
    """

    def __init__(
        self, n_components=2, *, weight_concentration_prior=1.0, max_iter=1000, tol=1e-6, n_init=1, n_jobs=None, random_state=None
    ):
        self.n_components = n_components
        self.weight_concentration_prior = weight_concentration_prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _program(self):
        return _programs.GAUSSIAN_MIXTURE

    def _set(self):
        return {**super()._set(), "alpha": self.weight_concentration_prior}

    def _restated(self, start, before, after):
        # The program's units are standard deviations about the mean, of all rows.
        (center, scale), (next_center, next_scale) = _units_of(self.fit_, self._data), _units(after)
        start["mu.mean"] = (start["mu.mean"] * scale + center - next_center) / next_scale
        start["tau.rate"] = start["tau.rate"] * (scale / next_scale) ** 2
        return start

    def _kept(self, X):
        center, scale = _units_of(self.fit_, self._data)
        self.weights_ = self.fit_["pi"].array
        self.means_ = self.fit_.array("mu.mean") * scale + center
        self.covariances_ = self.fit_.array("tau.rate") / self.fit_.array("tau.shape") * scale**2
        self.precisions_ = 1 / self.covariances_
        self.components_ = self.means_
        self.labels_ = np.argmax(self.fit_["z"].array, axis=1)
        self.lower_bound_ = self.fit_.elbo
        self.converged_ = self.fit_.converged

    def predict_proba(self, X):
        """The probability of each component for each row."""
        return self.transform(X)

    def predict(self, X):
        """The most probable component of each row."""
        return np.argmax(self.transform(X), axis=1)

    def score(self, X, y=None):
        """Log density of one half of each row's entries given the other, for one entry, in the units of the data."""
        return _Estimator.score(self, X)

    def fit_predict(self, X, y=None):
        """``fit``, then ``predict`` of the same rows."""
        return self.fit(X).predict(X)


class GroupFactorAnalysis(_Growing, BaseEstimator):
    """Factors that several views of the same samples share, or have for themselves (Virtanen et al. 2012; Klami et al. 2015).

    ``X`` is a dictionary of views: arrays or frames whose rows are samples; frames are matched by their labels, and NaN is missing. So it
    takes no place in a pipeline of matrices. Rows of ``partial_fit`` may lack views that the first ones had.
    """

    def __init__(self, n_components=10, *, max_iter=1000, tol=1e-6, n_init=1, n_jobs=None, random_state=None):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _program(self):
        return _programs.GROUP_FACTOR_ANALYSIS

    def _validated(self, X, reset):
        if not isinstance(X, dict) or not X:
            raise UsageError("GroupFactorAnalysis takes a dictionary of views, as in {'rna': rna, 'protein': protein}")
        X = {view: own if hasattr(own, "columns") else np.asarray(own) for view, own in X.items()}
        if not reset:
            unknown = [view for view in X if view not in self.components_]
            if unknown:
                raise UsageError(f"the view {unknown[0]!r} was not in the fit; there are {', '.join(self.components_)}")
        return X

    def _numbered(self, X, first):
        # The index that a frame has by itself begins anew in each call.
        counts = lambda own: hasattr(own, "iloc") and _data._counts(own.index)  # noqa: E731
        labels = [f"row {first + own}" for own in range(_count(X))]
        return {view: own.set_axis(labels[: len(own)]) if counts(own) else own for view, own in X.items()}

    def _labels(self, X):
        # Frames have labels of their own, by which rows of views are matched.
        return None if any(hasattr(own, "columns") for own in X.values()) else super()._labels(X)

    def _kept(self, X):
        self.components_ = {view: own.T for view, own in self.fit_["w"].array.items()}

    def transform(self, X):
        """Means of the factors of samples; views may be left out."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        new = self.fit_.transform({"x": X}, axis="sample", seed=SEED_OF_ROWS, threads=_threads(self.n_jobs))
        return new["z"].array

    def fit_transform(self, X, y=None):
        """``fit``, then the factors of its samples."""
        self.fit(X)
        return self.fit_["z"].array


class Model(_Estimator):
    """Any program of one matrix whose first axis can grow.

    Parameters
    ----------
    program : a text, a path, the name of a built-in program, or a ``cavi.Program``. As everywhere in scikit-learn the entries that a sparse matrix does not list
        are 0: a program that takes them as missing is given the matrix with its zeros.
    rows : the latent that ``transform`` gives, one of the matrix's first axis; by default the first such latent.
    set : constants and sizes of axes.
    max_iter, tol, n_init, n_jobs, random_state : as of ``NMF``; ``None`` is what the program says.
    """

    _sparse = True
    _missing = True

    def __init__(self, program="ppca", *, rows=None, set=None, max_iter=None, tol=None, n_init=None, n_jobs=None, random_state=None):
        self.program = program
        self.rows = rows
        self.set = set
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _program(self):
        program = opened(self.program, self.set or {})
        matrices = [(name, axes) for name, axes, _, _, required, *_ in program._core.data if required]
        if len(matrices) != 1 or len(matrices[0][1]) != 2:
            raise ValueError("the program has to have one data array, a matrix of rows and features")
        self._data, (self._axis, _) = matrices[0]
        return program

    def _validated(self, X, reset):
        X = super()._validated(X, reset)
        symbol = next(own for own in self._program()._core.data if own[0] == self._data)
        return X.toarray() if hasattr(X, "toarray") and not symbol[5] else X

    def _set(self):
        return dict(self.set or {})

    def _labels(self, X):
        # The axis of the rows is known once the program is.
        self._program()
        return super()._labels(X)

    def _kept(self, X):
        over_rows = [name for name in self.fit_.variables if self.fit_[name].axes[:1] == [self._axis]]
        if not over_rows:
            raise ValueError(f"the program has no latent along its axis `{self._axis}`")
        if self.rows is not None and self.rows not in over_rows:
            raise ValueError(f"rows={self.rows!r}: expected one of {', '.join(over_rows)}")
        self.rows_ = self.rows or over_rows[0]
        self._width = int(np.prod(self.fit_[self.rows_].array.shape[1:]))

    def transform(self, X):
        """Means of the rows' latent: a row for each row of ``X``."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        new = self.fit_.transform({self._data: X}, axis=self._axis, seed=SEED_OF_ROWS, threads=_threads(self.n_jobs))
        return new[self.rows_].array.reshape(X.shape[0], -1).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self):
        return self._width
