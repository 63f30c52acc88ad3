def wishart_parameters(eta):
    """From the natural parameters of L and ln det L."""
    n = eta["1"].shape[-1]
    inverse = -(eta["1"] + np.swapaxes(eta["1"], -1, -2))
    return {"dof": 2.0 * eta["ln det"] + n + 1.0, "scale": np.linalg.inv(inverse)}


def wishart_moments(q):
    dof, W = q["dof"], q["scale"]
    n = W.shape[-1]
    halves = special.digamma(0.5 * (dof[..., None] - np.arange(n)))
    ln_det = halves.sum(axis=-1) + n * np.log(2.0) + np.linalg.slogdet(W)[1]
    return {"1": dof[..., None, None] * W, "ln det": ln_det}


def wishart_bound(q, prior):
    """E ln of the prior's part plus the entropy: sum_i (prior_i - eta_i) E t_i + A(eta)."""
    dof, W, E = q["dof"], q["scale"], wishart_moments(q)
    n = W.shape[-1]
    gammas = special.gammaln(0.5 * (dof[..., None] - np.arange(n))).sum(axis=-1) + 0.25 * n * (n - 1) * np.log(np.pi)
    A = 0.5 * dof * (n * np.log(2.0) + np.linalg.slogdet(W)[1]) + gammas
    squares = (prior.get("1", 0.0) + 0.5 * np.linalg.inv(W)) * E["1"]
    return np.sum(A + (prior.get("ln det", 0.0) - 0.5 * (dof - n - 1.0)) * E["ln det"]) + np.sum(squares)


def wishart_mode(eta, old):
    """The largest value of c ln det L - tr(S L) / 2: 2 c / S."""
    inverse = -(eta["1"] + np.swapaxes(eta["1"], -1, -2))
    return 2.0 * np.asarray(eta["ln det"])[..., None, None] * np.linalg.inv(inverse)
