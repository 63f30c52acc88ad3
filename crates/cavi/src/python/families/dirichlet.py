def dirichlet_parameters(eta):
    """From the natural parameters of ln x_v."""
    return {"concentration": eta["ln"]}


def dirichlet_moments(q):
    a = q["concentration"]
    total = a.sum(axis=-1, keepdims=True)
    return {"ln": special.digamma(a) - special.digamma(total), "1": a / total}


def dirichlet_bound(q, prior):
    """E ln of the prior's part plus the entropy: sum_v (prior_v - a_v) E ln x_v + A(a)."""
    a = q["concentration"]
    A = np.sum(special.gammaln(a)) - np.sum(special.gammaln(a.sum(axis=-1)))
    return A + np.sum((prior["ln"] - a) * dirichlet_moments(q)["ln"])


def dirichlet_mode(eta, old):
    """The largest value of sum_v a_v ln x_v on the simplex; a row that no term touches stays."""
    a = np.asarray(eta["ln"]) + np.zeros(np.shape(old))
    if np.any(a < 0.0):
        raise ValueError("the mode is an infinite density at the boundary (a concentration below 1)")
    total = a.sum(axis=-1, keepdims=True)
    return np.where(total == 0.0, old, inside(a, a / total))
