def normal_parameters(eta):
    """From the coefficients of x and x^2."""
    return {"mean": eta["1"] / (-2.0 * eta["2"]), "var": 1.0 / (-2.0 * eta["2"])}


def normal_moments(q):
    m, s = q["mean"], q["var"]
    return {"1": m, "cov": s, "2": m**2 + s}


def normal_bound(q, prior):
    """The entropy."""
    return np.sum(0.5 * np.log(2.0 * np.pi * q["var"]) + 0.5)


def normal_mode(eta, old):
    """The largest value of b x + s x^2, s < 0; an element that no term touches is 0."""
    b, s = (np.asarray(eta.get(key, 0.0)) + np.zeros(np.shape(old)) for key in ("1", "2"))
    return np.where((b == 0.0) & (s == 0.0), 0.0, b / (-2.0 * s))
