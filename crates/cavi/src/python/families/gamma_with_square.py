def gamma_with_square_mode(eta, old):
    """The largest value of a ln x + b x + s x^2, s < 0: the positive root of 2 s x^2 + b x + a, without cancellation."""
    a, b, s = (np.asarray(eta.get(key, 0.0)) + np.zeros(np.shape(old)) for key in ("ln", "1", "2"))
    root = np.sqrt(b**2 - 8.0 * a * s)
    inner = np.where(b > 0.0, (b + root) / (-4.0 * s), 2.0 * a / (root - b))
    return np.where(a == 0.0, np.where(b > 0.0, b / (-2.0 * s), 0.0), inside(a, inner))
