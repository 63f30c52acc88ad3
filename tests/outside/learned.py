"""Values that `tests/learned.rs` compares with: the same objectives, written from the text, maximised by SciPy.

Each program is exact once its rates or shares are integrated out, so that the fixed point of its sweeps is the maximiser
of the log evidence plus the log prior of its points, and the bound there is that maximum.

    python3 tests/outside/learned.py        # numpy 2, scipy 1.17
"""
import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, gammaln

WAIT = np.array([[0.2, 1.1, 0.7, 2.3, 0.9, 0.4], [5.1, 4.2, 6.6, 5.9, 4.8, 5.5]])
Y = np.array([[3, 0, 9], [1, 2, 4], [0, 0, 7], [12, 1, 2], [4, 1, 0], [2, 5, 1]])
HITS = np.array([1, 4, 0, 7, 3, 9, 2])
TRIALS = np.array([10, 9, 8, 10, 12, 11, 5])
COUNTS = np.array([[5, 1, 0], [2, 2, 9], [0, 1, 4], [7, 0, 3], [1, 6, 2]])
EXPOSURE = np.array([1.0, 2.5, 0.7])
X = np.array([[0.3, -1.2], [1.5, 0.4], [-0.7, 0.9], [0.1, 0.2]])
EVENTS = np.array([[2, 9, 0, 1], [5, 30, 3, 4], [0, 2, 1, 0]])


def maximise(objective, start):
    """From several starts, polished; variables are free on the line."""
    best = None
    for scale in (1.0, 0.3, 2.0):
        result = minimize(lambda u: -objective(u), np.array(start) * scale, method="BFGS", options={"gtol": 1e-11})
        result = minimize(
            lambda u: -objective(u), result.x, method="Nelder-Mead",
            options={"xatol": 1e-12, "fatol": 1e-14, "maxiter": 40000, "maxfev": 40000},
        )
        if best is None or -result.fun > objective(best):
            best = result.x
    return best, objective(best)


def log_gamma_prior(x, shape, rate):
    return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x


def gamma_data(u):
    a, b = np.exp(u[:2])[:, None], np.exp(u[2:])[:, None]
    return np.sum(a * np.log(b) - gammaln(a) + (a - 1) * np.log(WAIT) - b * WAIT)


def learned_shapes(u):
    shape, mu = np.exp(u[:3]), np.exp(u[3:])
    rate = shape / mu
    evidence = (
        shape * np.log(rate) - gammaln(shape) + gammaln(shape + Y) - (shape + Y) * np.log(rate + 1) - gammaln(Y + 1)
    )
    return np.sum(evidence) + np.sum(log_gamma_prior(shape, 2, 0.5))


def learned_beta(u):
    a, b = np.exp(u)
    choose = gammaln(TRIALS + 1) - gammaln(HITS + 1) - gammaln(TRIALS - HITS + 1)
    evidence = np.sum(choose + betaln(a + HITS, b + TRIALS - HITS) - betaln(a, b))
    return evidence + log_gamma_prior(a, 2, 0.3) + log_gamma_prior(b, 2, 0.3)


def learned_concentration(u):
    alpha = np.exp(u)
    total = COUNTS.sum(1)
    coefficient = np.sum(gammaln(total + 1)) - np.sum(gammaln(COUNTS + 1))
    evidence = np.sum(gammaln(alpha.sum()) - gammaln(alpha.sum() + total))
    return coefficient + evidence + np.sum(gammaln(alpha + COUNTS) - gammaln(alpha))


def one_concentration(u):
    return learned_concentration(np.repeat(u, 3))


def log_linear(u):
    g, level = u[:2], u[2:]
    eta = np.log(EXPOSURE)[:, None] + level[:, None] + (X @ g)[None, :]
    prior = -0.5 * np.sum(g**2 / 4) - np.log(2) * 2 - 0.5 * np.sum(level**2 / 9) - np.log(3) * 3
    prior -= 0.5 * 5 * np.log(2 * np.pi)
    return np.sum(EVENTS * eta - np.exp(eta) - gammaln(EVENTS + 1)) + prior


for objective, count in (
    (gamma_data, 4), (learned_shapes, 6), (learned_beta, 2), (learned_concentration, 3), (one_concentration, 1),
    (log_linear, 5),
):
    at, value = maximise(objective, np.full(count, 0.5))
    shown = at if objective is log_linear else np.exp(at)
    print(objective.__name__, [float(f"{x:.9g}") for x in shown], repr(float(value)))
