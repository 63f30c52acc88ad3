"""Group factor analysis of complete data as one would write it in NumPy: shared covariances, Gram matrices, two products with
the data a sweep. Reads where it begins from a file of doubles, then runs a sweep for each line of its input and prints the
seconds it took and the bound."""

import math
import sys
import time

import numpy as np

path, samples, factors, *views = sys.argv[1:]
samples, factors, views = int(samples), int(factors), [int(view) for view in views]
features = sum(views)
values = np.fromfile(path, dtype="<f8")


def take(*shape):
    """The next values of the file."""
    global values
    count = math.prod(shape)
    head, values = values[:count], values[count:]
    return head.reshape(shape).copy()


z, z_cov = take(samples, factors), take(factors, factors)
w, w_cov = take(features, factors), take(len(views), factors, factors)
alpha_shape, alpha_rate = take(len(views), factors), take(len(views), factors)
tau_shape, tau_rate = take(len(views)), take(len(views))
x = take(samples, features)
ends = np.cumsum(views)
slices = [slice(end - size, end) for end, size in zip(ends, views)]
sizes = np.array(views)
x_square = np.array([np.einsum("nj,nj->", x[:, own], x[:, own]) for own in slices])
TINY = 1e-14
EYE = np.eye(factors)
# math.lgamma and a short digamma: SciPy is not asked for.
log_gamma = np.vectorize(math.lgamma)


def digamma(a):
    """By recurrence to 8, then the asymptotic series."""
    a = np.array(a, dtype=float)
    shift = np.zeros_like(a)
    for _ in range(8):
        small = a < 8
        shift -= np.where(small, 1 / np.where(small, a, 1), 0)
        a = np.where(small, a + 1, a)
    i = 1 / (a * a)
    series = i * (1 / 12 - i * (1 / 120 - i * (1 / 252 - i * (1 / 240 - i * (1 / 132 - i * (691 / 32760 - i / 12))))))
    return np.log(a) - 0.5 / a - series + shift


def gram():
    """E[w w'] summed over the features of each view."""
    return np.array([w[own].T @ w[own] + size * cov for own, size, cov in zip(slices, views, w_cov)])


def sweep():
    """z, w, alpha, tau, each by its exact update, and the bound."""
    global z, z_cov, w_cov, alpha_shape, alpha_rate, tau_shape, tau_rate
    tau = tau_shape / tau_rate
    alpha = alpha_shape / alpha_rate
    z_cov = np.linalg.inv(EYE + np.tensordot(tau, gram(), 1))
    z = x @ (w * np.repeat(tau, views)[:, None] @ z_cov)
    zz = z.T @ z + samples * z_cov
    xz = x.T @ z
    for m, own in enumerate(slices):
        w_cov[m] = np.linalg.inv(np.diag(alpha[m]) + tau[m] * zz)
        w[own] = tau[m] * xz[own] @ w_cov[m]
    ww = gram()
    square = np.einsum("mkk->mk", ww)
    alpha_shape = np.repeat(TINY + sizes[:, None] / 2, factors, axis=1)
    alpha_rate = TINY + square / 2
    residual = np.array(
        [
            x_square[m] - 2 * np.einsum("jk,jk->", w[own], xz[own]) + np.einsum("kl,kl->", ww[m], zz)
            for m, own in enumerate(slices)
        ]
    )
    tau_shape = TINY + samples * sizes / 2
    tau_rate = TINY + residual / 2
    return bound(zz, square, residual)


def gamma_part(shape, rate, log):
    """Expected log prior plus entropy of Gamma factors."""
    prior = TINY * math.log(TINY) - math.lgamma(TINY) + (TINY - 1) * log - TINY * shape / rate
    entropy = shape - np.log(rate) + log_gamma(shape) + (1 - shape) * digamma(shape)
    return np.sum(prior + entropy)


def bound(zz, square, residual):
    """The evidence lower bound, all constants included."""
    log_tau = digamma(tau_shape) - np.log(tau_rate)
    log_alpha = digamma(alpha_shape) - np.log(alpha_rate)
    tau, alpha = tau_shape / tau_rate, alpha_shape / alpha_rate
    two_pi = math.log(2 * math.pi)
    value = 0.5 * np.sum(samples * sizes * (log_tau - two_pi) - tau * residual)
    value += 0.5 * (samples * (factors + np.linalg.slogdet(z_cov)[1]) - np.trace(zz))
    value += 0.5 * np.sum(sizes[:, None] * log_alpha - alpha * square)
    value += 0.5 * np.sum(sizes * (factors + np.linalg.slogdet(w_cov)[1]))
    value += gamma_part(alpha_shape, alpha_rate, log_alpha)
    return value + gamma_part(tau_shape, tau_rate, log_tau)


for _ in sys.stdin:
    start = time.perf_counter()
    value = sweep()
    seconds = time.perf_counter() - start
    print(repr(seconds), repr(float(value)), flush=True)
