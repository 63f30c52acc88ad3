def beta_parameters(eta):
    """From the natural parameters of ln x and ln(1 - x)."""
    return {"a": eta["ln"], "b": eta["ln(1-x)"]}


def beta_moments(q):
    a, b = q["a"], q["b"]
    total = special.digamma(a + b)
    return {
        "ln": special.digamma(a) - total,
        "ln(1-x)": special.digamma(b) - total,
        "1": a / (a + b),
        "cov": a * b / ((a + b) ** 2 * (a + b + 1.0)),
    }


def beta_bound(q, prior):
    """E ln of the prior's part plus the entropy: sum_i (prior_i - eta_i) E t_i + A(eta)."""
    a, b, E = q["a"], q["b"], beta_moments(q)
    A = special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b)
    first = (prior.get("ln", 0.0) - a) * E["ln"]
    return np.sum(A + first + (prior.get("ln(1-x)", 0.0) - b) * E["ln(1-x)"])
