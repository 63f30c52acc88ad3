def normal_gamma_parameters(eta):
    """From the natural parameters of ln tau, tau, tau mu and tau mu^2."""
    kappa = -2.0 * eta["mu tau mu"]
    mean = eta["tau mu"] / kappa
    rate = -eta["tau"] - 0.5 * kappa * mean**2
    return {"mean": mean, "kappa": kappa, "shape": eta["ln tau"], "rate": rate}


def normal_gamma_moments(q):
    m, kappa, a, b = q["mean"], q["kappa"], q["shape"], q["rate"]
    tau = a / b
    return {
        "ln tau": special.digamma(a) - np.log(b),
        "tau": tau,
        "tau mu": tau * m,
        "mu tau mu": 1.0 / kappa + tau * m**2,
        "1": m,
        "cov": np.where(a > 1.0, b / (kappa * np.where(a > 1.0, a - 1.0, 1.0)), np.inf),
    }


def normal_gamma_bound(q, prior):
    """E ln of the prior's part plus the entropy: sum_i (prior_i - eta_i) E t_i + A(eta)."""
    m, kappa, a, b = q["mean"], q["kappa"], q["shape"], q["rate"]
    eta = {"ln tau": a, "tau": -b - 0.5 * kappa * m**2, "tau mu": kappa * m, "mu tau mu": -0.5 * kappa}
    A = special.gammaln(a) - a * np.log(b) + 0.5 * np.log(2.0 * np.pi / kappa)
    E = normal_gamma_moments(q)
    return np.sum(A + sum((prior.get(key, 0.0) - eta[key]) * E[key] for key in eta))
