def standardised(values, how, axis):
    """Less the mean of the observed entries along an axis, or divided by their standard deviation (where that is not 0)."""
    if how == "center":
        return values - np.nanmean(values, axis=axis, keepdims=True)
    spread = np.nanstd(values, axis=axis, keepdims=True)
    return values / np.where(spread == 0.0, 1.0, spread)


def replaced(old, new, at):
    """Parameters with those of some copies taken from others."""
    found = {}
    for parameter, values in new.items():
        found[parameter] = np.broadcast_to(old[parameter], np.shape(values)).copy()
        found[parameter][at] = values[at]
    return found


def fit(data, init, sizes=None, constants=None, groups=None, sweeps=20):
    """Coordinate ascent from given parameters.

    data: NAME -> array, NaN where an entry is missing. init: "VAR.PARAM" -> array, as the files of posterior/.
    groups: of each ragged axis, for each position the number of the group of the parent axis that it is in; arrays have all
    groups of an axis one after another.
    constants: NAME -> array or number, of constants that the program leaves open or that are to have another value.
    Returns the parameters by the same names, and the bound after each sweep.
    """
    size = {**SIZES, **(sizes or {})}
    for axis, parents in (groups or {}).items():
        size[axis] = len(parents)
        size[PARENTS[axis]] = max(size.get(PARENTS[axis], 0), 1 + max(parents, default=-1))
    for variable, axes in DATA_AXES.items():
        for axis, length in zip(axes, np.shape(data[variable])):
            size.setdefault(axis, length)
    unknown = [axis for axis in AXES if axis not in size]
    if unknown:
        raise ValueError(f"no array of data has these axes, so that `sizes` has to give their sizes: {unknown}")
    memberships = {}
    for axis, parent in PARENTS.items():
        if axis not in (groups or {}):
            raise ValueError(f"`groups` has to say for each position of {axis} in which {parent} it is")
        memberships[f"in {axis}"] = equal(np.arange(size[parent]), groups[axis])
    constants = constants_of(size, {**(constants or {}), **memberships})
    observed = {variable: 1.0 - np.isnan(values) for variable, values in data.items()}
    for (variable, how), dimension in STANDARDISED.items():
        data = {**data, variable: standardised(data[variable], how, dimension)}
    data = {variable: np.nan_to_num(values) for variable, values in data.items()}
    q = {
        variable: {parameter: np.asarray(init[file], dtype=float) for parameter, file in files.items()}
        for variable, files in FILES.items()
    }
    E = {variable: moments(q[variable]) for variable, moments in MOMENTS.items()}
    bounds = []
    for _ in range(sweeps):
        with np.errstate(divide="ignore", invalid="ignore"):
            sweep(size, data, observed, constants, q, E)
            bounds.append(float(elbo(size, data, observed, constants, q, E)))
    found = {file: q[variable][parameter] for variable in q for parameter, file in FILES[variable].items()}
    return found, bounds
