def gamma_parameters(eta):
    """From the natural parameters of ln x and x."""
    return {"shape": eta["ln"], "rate": -eta["1"]}


def gamma_moments(q):
    a, b = q["shape"], q["rate"]
    return {"ln": special.digamma(a) - np.log(b), "1": a / b, "2": a * (a + 1.0) / b**2, "cov": a / b**2}


def gamma_bound(q, prior):
    """E ln of the prior's part plus the entropy: sum_i (prior_i - eta_i) E t_i + A(eta)."""
    a, b, E = q["shape"], q["rate"], gamma_moments(q)
    A = special.gammaln(a) - a * np.log(b)
    return np.sum(A + (prior["ln"] - a) * E["ln"] + (prior["1"] + b) * E["1"])


def gamma_mode(eta, old):
    """The largest value of a ln x - b x; an element that no term touches is 0."""
    a, b = (np.asarray(eta.get(key, 0.0)) + np.zeros(np.shape(old)) for key in ("ln", "1"))
    if np.any(a < 0.0):
        raise ValueError("the mode is an infinite density at 0 (a shape below 1)")
    return np.where(a == 0.0, 0.0, inside(a, a / -b))
