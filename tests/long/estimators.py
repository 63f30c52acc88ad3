"""Cavi's estimators beside scikit-learn's of the same names: processor seconds of a fit, and a score that is computed alike for both.

    python tests/long/estimators.py [TURNS]        (Python with the packages `cavi`, `scikit-learn` and `pandas`; some minutes)

Each pair is fitted in turns to the same data, three times unless TURNS says otherwise, each estimator by its own rule of stopping, on one thread; the seconds
are those of the processor, medians. Scores are worked out here from what an estimator has found, by one formula for both:

- NMF: `reconstruction_err_`, which both state alike. Lower is better.
- Latent Dirichlet allocation: log probability of a unit of one half of each held-out document given the other half.
- Factor analysis, Gaussian mixture: log density of a held-out row, at the means of the parameters.

Prints a table in Markdown.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import sys
import tempfile
import time
import warnings

import numpy as np
import sklearn
from scipy.io import mmread
from scipy.special import logsumexp
from sklearn import decomposition, mixture
from sklearn.datasets import load_digits

import cavi
from cavi import sklearn as own


def density(rows, mean, covariance):
    """Log density of each row under a normal distribution."""
    _, log_determinant = np.linalg.slogdet(covariance)
    centred = rows - mean
    squares = np.einsum("ij,ij->i", centred, np.linalg.solve(covariance, centred.T).T)
    return -0.5 * (squares + log_determinant + rows.shape[1] * np.log(2 * np.pi))


def of_factors(fitted, held):
    """Log density of a row."""
    covariance = fitted.components_.T @ fitted.components_ + np.diag(fitted.noise_variance_)
    return density(held, fitted.mean_, covariance).mean()


def of_mixture(fitted, held):
    """Log density of a row."""
    each = [np.log(w) + density(held, m, np.diag(c)) for w, m, c in zip(fitted.weights_, fitted.means_, fitted.covariances_)]
    return logsumexp(each, axis=0).mean()


def of_topics(fitted, held):
    """Log probability of a unit of the second half of each document given the first."""
    first, second = held
    topics = fitted.components_ / fitted.components_.sum(axis=1, keepdims=True)
    shares = fitted.transform(first)
    rates = np.einsum("ek,ke->e", shares[second.row], topics[:, second.col])
    return float(second.data @ np.log(rates) / second.data.sum())


def documents():
    """Counts of the corpus that comes with `lda`: documents to fit, and the rest in two halves of units."""
    with tempfile.TemporaryDirectory() as folder:
        counts = mmread(cavi.example_data("lda", folder)["data"]["n"]).tocsr()
    random = np.random.default_rng(0)
    order = random.permutation(counts.shape[0])
    fitted, held = counts[order[counts.shape[0] // 5 :]], counts[order[: counts.shape[0] // 5]].tocoo()
    half = random.binomial(held.data.astype(int), 0.5)
    first, second = held.copy(), held.copy()
    first.data, second.data = half.astype(float), held.data - half
    return fitted, (first.tocsr(), second)


def factors(rows=5_000, columns=100, count=10):
    """Draws of a factor analysis: rows to fit, and as many others as a tenth of them."""
    random = np.random.default_rng(1)
    loadings, noise = random.normal(size=(count, columns)), random.gamma(4, 0.25, size=columns)
    all_rows = random.normal(size=(rows * 11 // 10, count)) @ loadings
    all_rows += random.normal(size=all_rows.shape) * np.sqrt(noise)
    return all_rows[:rows], all_rows[rows:]


def clusters(rows=50_000, columns=20, count=10):
    """Draws of a mixture."""
    random = np.random.default_rng(2)
    means, scales = random.normal(scale=3, size=(count, columns)), random.gamma(4, 0.25, size=(count, columns))
    which = random.integers(count, size=rows * 11 // 10)
    all_rows = means[which] + random.normal(size=(len(which), columns)) * scales[which]
    return all_rows[:rows], all_rows[rows:]


def pairs():
    """What is fitted: its name, the data, Cavi's estimator, scikit-learn's, and the score of either."""
    digits = load_digits().data
    error = lambda fitted, _: fitted.reconstruction_err_  # noqa: E731
    yield (
        "NMF, squared error, digits 1,797 x 64, 16 components: error",
        (digits, None),
        lambda: own.NMF(16, random_state=0),
        lambda: decomposition.NMF(16, random_state=0, max_iter=1000),
        error,
    )
    divergence = {"beta_loss": "kullback-leibler", "random_state": 0, "max_iter": 1000}
    yield (
        "NMF, Kullback-Leibler, digits, 16 components: error",
        (digits, None),
        lambda: own.NMF(16, **divergence),
        lambda: decomposition.NMF(16, solver="mu", **divergence),
        error,
    )
    counts, held = documents()
    yield (
        f"LDA, {counts.shape[0]:,} documents x {counts.shape[1]:,} words, 20 topics: log probability of a held-out unit",
        (counts, held),
        lambda: own.LatentDirichletAllocation(20, random_state=0),
        lambda: decomposition.LatentDirichletAllocation(20, random_state=0, max_iter=100),
        of_topics,
    )
    yield (
        "factor analysis, 5,000 x 100, 10 factors: log density of a held-out row",
        factors(),
        lambda: own.FactorAnalysis(10, random_state=0),
        lambda: decomposition.FactorAnalysis(10, random_state=0),
        of_factors,
    )
    yield (
        "Gaussian mixture, 50,000 x 20, 10 components: log density of a held-out row",
        clusters(),
        lambda: own.GaussianMixture(10, random_state=0),
        lambda: mixture.GaussianMixture(10, covariance_type="diag", random_state=0, max_iter=1000),
        of_mixture,
    )


def main():
    """Measure."""
    warnings.simplefilter("ignore")
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(f"cavi {cavi.__version__}, scikit-learn {sklearn.__version__}, {time.strftime('%Y-%m-%d', time.gmtime())}, one thread, {turns} turns\n")
    print("| work: score | Cavi, s | scikit-learn, s | Cavi's score | scikit-learn's score |\n| --- | --- | --- | --- | --- |")
    for name, (data, held), *both, score in pairs():
        seconds, scores = ([], []), [None, None]
        for _ in range(turns):
            for place, make in enumerate(both):
                begun = time.process_time()
                fitted = make().fit(data)
                seconds[place].append(time.process_time() - begun)
                scores[place] = score(fitted, held)
        times = [f"{np.median(each):.2f}" for each in seconds]
        print(f"| {name} | {' | '.join(times)} | {scores[0]:.4f} | {scores[1]:.4f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
