"""Variational logistic regression by Jaakkola and Jordan's bound, written straight from Bishop (2006), section 10.6.

Prints what tests/logistic.rs holds: the state of q after each of the first iterations, the bound, and by quadrature the log
evidence and the expected log-likelihood under q. NumPy 2, SciPy 1.
"""

import numpy as np
from scipy import integrate, special, stats

np.set_printoptions(precision=17)

X = np.array([[1.0, 0.5], [1.0, -1.25], [1.0, 2.0], [1.0, 0.0], [1.0, -0.75], [1.0, 3.5]])
Y = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
TOTAL = np.array([4.0, 2.0, 7.0, 1.0, 3.0, 9.0])
DEATHS = np.array([1.0, 2.0, 5.0, 0.0, 0.0, 9.0])
M0, PREC = np.array([0.3, 0.3]), 0.5


def lam(xi):
    return np.where(xi == 0, 0.125, np.tanh(xi / 2) / (4 * np.where(xi == 0, 1, xi)))


def bound(mean, cov, x, y, n):
    """E log p - log q with softplus under its tangent at xi^2 = E eta^2."""
    eta = x @ mean
    xi = np.sqrt(np.einsum("np,pq,nq->n", x, cov + np.outer(mean, mean), x))
    choose = special.gammaln(n + 1) - special.gammaln(y + 1) - special.gammaln(n - y + 1)
    likelihood = np.sum(choose + y * eta - n * (eta / 2 + np.logaddexp(xi / 2, -xi / 2)))
    p = len(mean)
    second = cov + np.outer(mean - M0[:p], mean - M0[:p])
    prior = -0.5 * p * np.log(2 * np.pi) + 0.5 * p * np.log(PREC) - 0.5 * PREC * np.trace(second)
    entropy = 0.5 * p * (1 + np.log(2 * np.pi)) + 0.5 * np.linalg.slogdet(cov)[1]
    return likelihood + prior + entropy


def iterate(x, y, n, steps):
    p = x.shape[1]
    mean, cov = np.zeros(p), np.eye(p)
    for _ in range(steps):
        # (10.163), then (10.157) and (10.158) with N trials an entry.
        xi = np.sqrt(np.einsum("np,pq,nq->n", x, cov + np.outer(mean, mean), x))
        cov = np.linalg.inv(PREC * np.eye(p) + 2 * (x.T * (n * lam(xi))) @ x)
        mean = cov @ (PREC * M0[:p] + x.T @ (y - n / 2))
    return mean, cov


def log_joint(w, x, y, n):
    eta = x @ w
    choose = special.gammaln(n + 1) - special.gammaln(y + 1) - special.gammaln(n - y + 1)
    prior = stats.norm.logpdf(w, M0[: len(w)], PREC**-0.5).sum()
    return np.sum(choose + y * eta - n * np.logaddexp(0, eta)) + prior


def evidence(x, y, n):
    joint = lambda *w: np.exp(log_joint(np.array(w), x, y, n))
    ranges = [[-15, 15]] * x.shape[1]
    value, _ = integrate.nquad(joint, ranges, opts={"epsabs": 1e-16, "epsrel": 1e-11, "limit": 400})
    return np.log(value)


def expected(mean, cov, x, y, n):
    """E log p(y | w) for one coefficient, by quadrature."""
    sd = cov[0, 0] ** 0.5
    f = lambda w: stats.norm.pdf(w, mean[0], sd) * (
        log_joint(np.array([w]), x, y, n) - stats.norm.logpdf(w, M0[0], PREC**-0.5)
    )
    return integrate.quad(f, mean[0] - 12 * sd, mean[0] + 12 * sd, epsabs=1e-13, epsrel=1e-13, limit=400)[0]


for name, y, n in [("bernoulli", Y, np.ones(6)), ("binomial", DEATHS, TOTAL)]:
    for steps in [1, 2, 40]:
        mean, cov = iterate(X, y, n, steps)
        print(name, steps, "mean", mean.tolist(), "cov", cov.ravel().tolist(), "bound", bound(mean, cov, X, y, n))
    print(name, "log evidence", evidence(X, y, n))

x = X[:, 1:]
mean, cov = iterate(x, Y, np.ones(6), 40)
print("one coefficient: mean", mean.tolist(), "var", cov.ravel().tolist(), "bound", bound(mean, cov, x, Y, np.ones(6)))
print("  E log p(y | w)", expected(mean, cov, x, Y, np.ones(6)), "log evidence", evidence(x, Y, np.ones(6)))
