"""Objectives of scikit-learn's NMF from given starts: run in this folder, `python nmf_scikit_learn.py`.

Data and starts of the small problems are drawn here and stored as .npy. The digits are those of `examples/nmf_kl`, with
the start w[i, k] = 0.5 + ((7 i + 13 k) mod 17) / 17, h[k, j] = 0.5 + ((11 k + 5 j) mod 19) / 19.
Each objective is that after so many iterations (w, then h), without a tolerance that could stop it earlier:
`kullback-leibler` and `frobenius` (half the squared error) by multiplicative updates, `cd` by coordinate descent.
"""

import json
import pathlib
import platform
import warnings

import numpy as np
import scipy
import sklearn
from sklearn.decomposition import non_negative_factorization
from sklearn.decomposition._nmf import _beta_divergence

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).parent


def objective(x, w, h, solver, loss, iterations):
    w, h, _ = non_negative_factorization(
        x, W=w.copy(), H=h.copy(), n_components=w.shape[1], init="custom", solver=solver, beta_loss=loss,
        max_iter=iterations, tol=0.0,
    )
    return float(_beta_divergence(x, w, h, loss))


def curve(x, w, h, solver, loss, counts):
    return {str(count): objective(x, w, h, solver, loss, count) for count in counts}


def save(name, array):
    np.save(HERE / f"{name}.npy", array)
    return np.load(HERE / f"{name}.npy")


rng = np.random.default_rng(20261121)
n, m, k = 24, 18, 4
truth = rng.gamma(0.4, 3.0, (n, k)) @ rng.gamma(0.4, 3.0, (k, m))
counts = save("counts", rng.poisson(truth).astype(float))
values = save("values", np.maximum(truth + rng.normal(0.0, 0.5, (n, m)), 0.0))
w = save("start_w", rng.uniform(0.2, 1.5, (n, k)))
h = save("start_h", rng.uniform(0.2, 1.5, (k, m)))

digits = np.loadtxt(HERE / "../../examples/nmf_kl/data/pixels.csv", delimiter=",", skiprows=1)
i, j, part = np.arange(digits.shape[0]), np.arange(digits.shape[1]), np.arange(16)
digits_w = 0.5 + ((7 * i[:, None] + 13 * part) % 17) / 17
digits_h = 0.5 + ((11 * part[:, None] + 5 * j) % 19) / 19

found = {
    "versions": {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    },
    "kullback_leibler": curve(counts, w, h, "mu", "kullback-leibler", [1, 2, 10, 100]),
    "frobenius": curve(values, w, h, "mu", "frobenius", [1, 2, 10, 100]),
    "frobenius_counts": curve(counts, w, h, "mu", "frobenius", [1, 10, 100]),
    "coordinate_descent": curve(values, w, h, "cd", "frobenius", [1, 2, 10, 100, 20000]),
    "digits_kullback_leibler": curve(digits, digits_w, digits_h, "mu", "kullback-leibler", [1, 20]),
    "digits_frobenius": curve(digits, digits_w, digits_h, "mu", "frobenius", [1, 20]),
}
(HERE / "nmf_scikit_learn.json").write_text(json.dumps(found, indent=2) + "\n")
