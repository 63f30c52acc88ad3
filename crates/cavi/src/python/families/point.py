LEAST = np.finfo(float).tiny


def inside(log, mode):
    """Where a density has a log, its mode is positive, be it smaller than any number."""
    return np.where(log > 0.0, np.maximum(mode, LEAST), mode)


def point_moments(q):
    """The functions of a point are those of its value."""
    return {"1": q["value"]}


def zeros_kept(value, old):
    """A multiplicative update leaves 0 where it is."""
    return np.where(old == 0.0, 0.0, value)


def clamped(eta):
    """Without the negative coefficients of logs, by which the density is infinite on the boundary."""
    return {key: np.maximum(own, 0.0) if key.startswith("ln") else own for key, own in eta.items()}
