"""The optima of points in logs of sums, for tests/learned.rs: SciPy on the objective written out by hand.

Every objective is maximised from many starts in unbounded coordinates, by BFGS on central differences.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, psi

X = np.array([[3.0, 0.0, 1.0], [0.0, 5.0, 2.0], [7.0, 1.0, 4.0], [2.0, 2.0, 0.0]])
DOSE = np.array([-1.0, 0.3, 1.2, -0.4])
Y = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
Z = np.array([[0.5, 1.0], [-0.3, 0.2], [1.4, -0.7], [0.9, 0.1], [-1.1, 0.8], [0.2, -0.4], [-0.6, -1.3], [0.0, 0.6]])


def normal(x, sd):
    return np.sum(-0.5 * (x / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi))


def gamma_prior(x, shape, rate):
    return np.sum(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x)


def kl_gamma(shape, rate, prior_shape, prior_rate):
    """KL of Gamma(shape, rate) from Gamma(prior_shape, prior_rate)."""
    return np.sum(
        (shape - prior_shape) * psi(shape) - gammaln(shape) + gammaln(prior_shape)
        + prior_shape * (np.log(rate) - np.log(prior_rate)) + shape * (prior_rate - rate) / rate
    )


def rates_by_dose(v):
    """The bound of rates_by_dose.cavi, with allocations at their optimum, in u and the logs of all shapes and rates."""
    u = v[0]
    sb, rb, sc, rc = np.exp(v[1:5]), np.exp(v[5:9]), np.exp(v[9:12]), np.exp(v[12:15])
    log_b, log_c = psi(sb) - np.log(rb), psi(sc) - np.log(rc)
    mass = np.exp(log_b)[:, None] + np.exp((u * DOSE)[:, None] + log_c[None, :])
    rate = (sb / rb)[:, None] + np.exp(u * DOSE)[:, None] * (sc / rc)[None, :]
    likelihood = np.sum(X * np.log(mass) - rate - gammaln(X + 1))
    return likelihood + normal(np.array([u]), 1.0) - kl_gamma(sb, rb, 1.3, 1.0) - kl_gamma(sc, rc, 0.9, 0.5)


def complementary_log_log(v):
    eta = v[0] + Z @ v[1:]
    p = -np.expm1(-np.exp(eta))
    return np.sum(Y * np.log(p) - (1 - Y) * np.exp(eta)) + normal(v[:1], 2.0) + normal(v[1:], 1.0)


def plain_and_linked(v):
    """Points alone: Poisson(c[j] + exp(a[i])), a Normal, c Gamma."""
    a, c = v[:4], np.exp(v[4:])
    rate = c[None, :] + np.exp(a)[:, None]
    return np.sum(X * np.log(rate) - rate - gammaln(X + 1)) + normal(a, 1.0) + gamma_prior(c, 2.0, 1.0)


def maximise(objective, count):
    rng = np.random.default_rng(0)
    optima = []
    for _ in range(8):
        at = rng.normal(size=count)
        for _ in range(3):
            at = minimize(lambda v: -objective(v), at, method="BFGS", jac="3-point", options={"gtol": 1e-10}).x
        optima.append((objective(at), at))
    values = np.array([value for value, _ in optima])
    print(objective.__name__, "optima", sorted(set(np.round(values[np.isfinite(values)], 5)))[-3:])
    return max((own for own in optima if np.isfinite(own[0])), key=lambda own: own[0])


for objective, count in ((rates_by_dose, 15), (complementary_log_log, 3), (plain_and_linked, 7)):
    value, at = maximise(objective, count)
    print(objective.__name__, [float(f"{x:.9g}") for x in at], repr(float(value)))
