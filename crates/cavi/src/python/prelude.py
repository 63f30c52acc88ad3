import numpy as np
from scipy import special


def einsum(letters, *factors):
    """np.einsum, but a product with a factor 0 is 0 even where another is infinite (0 ln 0)."""
    if all(np.all(np.isfinite(factor)) for factor in factors):
        return np.einsum(letters, *factors)
    inputs, out = letters.split("->")
    every = "".join(dict.fromkeys(inputs.replace(",", "")))
    product, zero = 1.0, False
    for own, factor in zip(inputs.split(","), factors):
        kept = "".join(letter for letter in every if letter in own)
        factor = np.einsum(f"{own}->{kept}", factor)
        lengths = dict(zip(kept, factor.shape))
        factor = factor.reshape([lengths.get(letter, 1) for letter in every])
        product, zero = product * factor, zero | (factor == 0.0)
    return np.einsum(f"{every}->{out}", np.where(zero, 0.0, product))


def log_sum_exp(parts, plates):
    """ln of the sum over all categories; each part has the plates first, its categories behind."""
    parts = [np.asarray(part) for part in parts]
    flat = [part.reshape(part.shape[:plates] + (-1,)) for part in parts]
    return special.logsumexp(np.concatenate(flat, axis=-1), axis=-1)


def shares(part, log_total):
    """exp(part - log_total), and 0 where all weights are 0."""
    part, log_total = np.asarray(part), np.asarray(log_total)
    total = log_total.reshape(log_total.shape + (1,) * (part.ndim - log_total.ndim))
    return np.where(np.isneginf(total), 0.0, np.exp(part - np.where(np.isneginf(total), 0.0, total)))


def equal(left, right):
    """1 where two positions agree, for all pairs."""
    return np.equal.outer(left, right).astype(float)


def less(left, right):
    """1 where the first position is less, for all pairs."""
    return np.less.outer(left, right).astype(float)


def log_multivariate_gamma(x, n):
    """ln of the multivariate Gamma function of n dimensions."""
    halves = special.gammaln(np.asarray(x)[..., None] - 0.5 * np.arange(int(n))).sum(axis=-1)
    return 0.25 * n * (n - 1.0) * np.log(np.pi) + halves


def filled(given, name, shape, value=None):
    """A constant as an array of this shape: what was given, else its value."""
    if name not in given and value is None:
        raise ValueError(f"the program states no value of {name}: `constants` has to give it")
    return np.broadcast_to(np.asarray(given[name] if name in given else value(), dtype=float), shape)
