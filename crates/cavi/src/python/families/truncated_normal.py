def truncated_normal_mode(eta, old):
    """The largest value of b x + s x^2 over x >= 0; an element that no term touches is 0."""
    b, s = (np.asarray(eta.get(key, 0.0)) + np.zeros(np.shape(old)) for key in ("1", "2"))
    return np.where((s == 0.0) & (b <= 0.0), 0.0, np.maximum(b / (-2.0 * s), 0.0))
