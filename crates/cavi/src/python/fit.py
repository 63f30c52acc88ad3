def fit(data, init, sizes=None, constants=None, sweeps=20):
    """Coordinate ascent from given parameters.

    data: NAME -> array, NaN where an entry is missing. init: "VAR.PARAM" -> array, as the files of posterior/.
    Returns the parameters by the same names, and the bound after each sweep.
    """
    size = {**SIZES, **(sizes or {})}
    for variable, axes in DATA_AXES.items():
        for axis, length in zip(axes, np.shape(data[variable])):
            size.setdefault(axis, length)
    unknown = [axis for axis in AXES if axis not in size]
    if unknown:
        raise ValueError(f"no array of data has these axes, so that `sizes` has to give their sizes: {unknown}")
    constants = {**constants_of(size), **(constants or {})}
    observed = {variable: 1.0 - np.isnan(values) for variable, values in data.items()}
    data = {variable: np.nan_to_num(values) for variable, values in data.items()}
    q = {}
    for full, values in init.items():
        variable, parameter = full.rsplit(".", 1)
        q.setdefault(variable, {})[parameter] = np.asarray(values, dtype=float)
    E = {variable: moments(q[variable]) for variable, moments in MOMENTS.items()}
    bounds = []
    for _ in range(sweeps):
        sweep(size, data, observed, constants, q, E)
        bounds.append(float(elbo(size, data, observed, constants, q, E)))
    found = {f"{variable}.{parameter}": q[variable][parameter] for variable in q for parameter in q[variable]}
    return found, bounds
