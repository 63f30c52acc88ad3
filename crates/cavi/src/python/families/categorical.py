def categorical_parameters(eta):
    """From the log weights of the classes."""
    return {"prob": special.softmax(eta["is"], axis=-1)}


def categorical_moments(q):
    return {"is": q["prob"]}


def categorical_bound(q, prior):
    """The entropy."""
    return np.sum(special.entr(q["prob"]))
