def bernoulli_parameters(eta):
    """From the log odds."""
    return {"prob": special.expit(eta["1"])}


def bernoulli_moments(q):
    p = q["prob"]
    return {"1": p, "2": p, "cov": p * (1.0 - p)}


def bernoulli_bound(q, prior):
    """The entropy."""
    return np.sum(special.entr(q["prob"]) + special.entr(1.0 - q["prob"]))
