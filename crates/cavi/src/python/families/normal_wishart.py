def normal_wishart_parameters(eta):
    """From the natural parameters of ln det L, L, L mu and mu' L mu."""
    n = eta["tau"].shape[-1]
    kappa = -2.0 * eta["mu tau mu"]
    mean = eta["tau mu"] / kappa[..., None]
    inverse = -(eta["tau"] + np.swapaxes(eta["tau"], -1, -2))
    inverse = inverse - kappa[..., None, None] * mean[..., :, None] * mean[..., None, :]
    dof = 2.0 * eta["ln det tau"] + n
    return {"mean": mean, "kappa": kappa, "dof": dof, "scale": np.linalg.inv(inverse)}


def normal_wishart_moments(q):
    m, kappa, dof, W = q["mean"], q["kappa"], q["dof"], q["scale"]
    n = m.shape[-1]
    halves = special.digamma(0.5 * (dof[..., None] - np.arange(n)))
    L = dof[..., None, None] * W
    Lm = np.einsum("...kl,...l->...k", L, m)
    return {
        "ln det tau": halves.sum(axis=-1) + n * np.log(2.0) + np.linalg.slogdet(W)[1],
        "tau": L,
        "tau mu": Lm,
        "mu tau mu": n / kappa + np.einsum("...k,...k->...", m, Lm),
        "1": m,
        "cov": np.linalg.inv(W) / (kappa * (dof - n - 1.0))[..., None, None],
    }


def normal_wishart_bound(q, prior):
    """E ln of the prior's part plus the entropy: sum_i (prior_i - eta_i) E t_i + A(eta)."""
    m, kappa, dof, W = q["mean"], q["kappa"], q["dof"], q["scale"]
    n = m.shape[-1]
    outer = m[..., :, None] * m[..., None, :]
    eta = {
        "ln det tau": 0.5 * (dof - n),
        "tau": -0.5 * (np.linalg.inv(W) + kappa[..., None, None] * outer),
        "tau mu": kappa[..., None] * m,
        "mu tau mu": -0.5 * kappa,
    }
    gammas = special.gammaln(0.5 * (dof[..., None] - np.arange(n))).sum(axis=-1) + 0.25 * n * (n - 1) * np.log(np.pi)
    A = 0.5 * dof * (n * np.log(2.0) + np.linalg.slogdet(W)[1]) + gammas + 0.5 * n * np.log(2.0 * np.pi / kappa)
    E = normal_wishart_moments(q)
    return np.sum(A) + sum(np.sum((prior.get(key, 0.0) - eta[key]) * E[key]) for key in eta)
