def joint_normal_parameters(eta):
    """From the coefficients of x_k and x_k x_l."""
    precision = -(eta["outer"] + np.swapaxes(eta["outer"], -1, -2))
    S = np.linalg.inv(precision)
    return {"mean": np.einsum("...kl,...l->...k", S, eta["1"]), "cov": S}


def joint_normal_moments(q):
    m, S = q["mean"], q["cov"]
    outer = S + m[..., :, None] * m[..., None, :]
    return {"1": m, "cov": S, "outer": outer, "2": np.diagonal(outer, axis1=-2, axis2=-1)}


def joint_normal_bound(q, prior):
    """The entropy."""
    n = q["mean"].shape[-1]
    return np.sum(0.5 * np.linalg.slogdet(q["cov"])[1] + 0.5 * n * (1.0 + np.log(2.0 * np.pi)))


def joint_normal_mode(eta, old):
    """The largest value of b'x + x'Ax; an element that no term touches is 0."""
    precision = -(eta["outer"] + np.swapaxes(eta["outer"], -1, -2))
    alone = np.all(precision == 0.0, axis=-1)
    precision = precision + np.eye(precision.shape[-1]) * alone[..., None]
    linear = np.asarray(eta.get("1", 0.0)) + np.zeros(np.shape(old))
    return np.linalg.solve(precision, linear[..., None])[..., 0]
