def inverse_gamma_parameters(eta):
    """From the natural parameters of ln x and 1 / x."""
    return {"shape": -eta["ln"], "scale": -eta["-1"]}


def inverse_gamma_moments(q):
    a, b = q["shape"], q["scale"]
    mean = np.where(a > 1.0, b / np.where(a > 1.0, a - 1.0, 1.0), np.inf)
    return {"ln": np.log(b) - special.digamma(a), "-1": a / b, "1": mean}


def inverse_gamma_bound(q, prior):
    """E ln of the prior's part plus the entropy: sum_i (prior_i - eta_i) E t_i + A(eta)."""
    a, b, E = q["shape"], q["scale"], inverse_gamma_moments(q)
    A = special.gammaln(a) - a * np.log(b)
    return np.sum(A + (prior.get("ln", 0.0) + a) * E["ln"] + (prior.get("-1", 0.0) + b) * E["-1"])


def inverse_gamma_mode(eta, old):
    """The largest value of a ln x + b / x, a and b negative; an element that no term touches is 0."""
    a, b = (np.asarray(eta.get(key, 0.0)) + np.zeros(np.shape(old)) for key in ("ln", "-1"))
    return np.where((a == 0.0) & (b == 0.0), 0.0, b / a)
