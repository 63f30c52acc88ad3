def dirichlet_with_linear_mode(eta, old):
    """The largest value of sum_v a_v ln w_v + b_v w_v on the simplex, row by row."""
    a, b = (np.asarray(eta.get(key, 0.0)) + np.zeros(np.shape(old)) for key in ("ln", "1"))
    rows = zip(*(own.reshape(-1, own.shape[-1]) for own in (a, b, np.asarray(old))))
    return np.reshape([on_the_simplex(*row) for row in rows], np.shape(old))


def on_the_simplex(a, b, old):
    """By Lagrange w_v = a_v / (gap_v + nu), gap_v = max b - b_v, with nu >= 0 such that the sum is 1."""
    gap, some = b.max() - b, a > 0.0
    if not some.any() and gap.max() == 0.0:
        return old
    nu = max(a.sum() - gap.max(), 0.0, *(a - gap)[some])
    with np.errstate(divide="ignore"):
        crowded = nu > 0.0 or np.sum(a[some] / gap[some]) > 1.0
    # Newton's method for 1 / sum_v w_v = 1, from below.
    for _ in range(200 if crowded else 0):
        w = a[some] / (gap[some] + nu)
        step = w.sum() * (w.sum() - 1.0) / np.sum(w / (gap[some] + nu))
        if not nu + step > nu * (1.0 + np.finfo(float).eps):
            break
        nu += step
    w = np.zeros_like(a)
    w[some] = np.maximum(a[some] / (gap[some] + nu), LEAST)
    idle = ~some & (gap == 0.0)
    if nu == 0.0 and idle.any() and w.sum() < 1.0:
        w[idle] = (1.0 - w.sum()) / idle.sum()
        return w
    return w / w.sum()
