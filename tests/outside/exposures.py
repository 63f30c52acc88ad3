"""Exposures of new genomes to known signatures, by solvers of convex problems: run in this folder, `python exposures.py`.

The counts are those of ../../examples/nmf_gamma/data. Signatures are estimated from the first 15 genomes by scikit-learn's NMF. The
exposures of the other six to these signatures are refitted twice: by least squares (`scipy.optimize.nnls`, an active-set method), and by
the likelihood of independent Poisson counts (`scipy.optimize.minimize`, L-BFGS-B). Both problems are convex, and the signatures are
linearly independent, so that each has one answer, which does not depend on a method or a start.
"""

import json
import pathlib
import platform

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize, nnls
from sklearn.decomposition import NMF

HERE = pathlib.Path(__file__).parent
TRAINED, SIGNATURES = 15, 4

counts = np.loadtxt(HERE / "../../examples/nmf_gamma/data/counts.csv", delimiter=",", skiprows=1)
assert counts.shape == (21, 96), counts.shape
trained, new = counts[:TRAINED], counts[TRAINED:]
model = NMF(SIGNATURES, solver="mu", beta_loss="kullback-leibler", init="nndsvda", max_iter=5000, tol=0).fit(trained)
# As the test reads them: ten decimals, and none of them 0, so that every product stays positive.
signatures = np.round(np.maximum(model.components_ / model.components_.sum(axis=1, keepdims=True), 1e-6), 10)


def poisson(genome):
    """argmin over w >= 0 of sum_j (w h)_j - x_j log (w h)_j, scaled by the genome's total."""
    total = genome.sum()

    def negative(share):
        rate = share @ signatures
        return rate.sum() - genome @ np.log(rate) / total, signatures @ (1 - genome / total / rate)

    start = np.full(SIGNATURES, 1 / SIGNATURES)
    found = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * SIGNATURES, options=dict(ftol=0, gtol=1e-12, maxiter=10000))
    share, gradient = found.x, found.jac
    # Optimal if the gradient is 0 where the share is positive, and not negative where it is 0.
    assert np.all(np.abs(gradient[share > 0]) < 1e-6) and np.all(gradient >= -1e-6), (share, gradient)
    return total * share


result = dict(
    versions={"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__},
    trained=TRAINED,
    signatures=signatures.tolist(),
    least_squares=[nnls(signatures.T, genome)[0].tolist() for genome in new],
    poisson=[poisson(genome).tolist() for genome in new],
)
(HERE / "exposures.json").write_text(json.dumps(result) + "\n")
for name in ("least_squares", "poisson"):
    print(name)
    print(np.round(np.array(result[name]), 1))
