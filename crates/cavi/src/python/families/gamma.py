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
