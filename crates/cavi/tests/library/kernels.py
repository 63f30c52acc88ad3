"""Covariances of Gaussian processes by scikit-learn: the values of kernels.rs. Run with scikit-learn 1.9."""

import numpy as np
import sklearn
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Matern, WhiteKernel

T = np.array([[-1.3], [0.0], [0.25], [2.0], [7.5]])
XY = np.array([[0.0, 1.0], [0.5, -1.0], [2.0, 0.3], [-1.5, 4.0]])
noise = WhiteKernel(0.01)
KERNELS = {
    "squared_exponential(length = 1.7, sd = 0.6) + white(sd = 0.1)": 0.36 * RBF(1.7) + noise,
    "matern32(length = 1.7, sd = 0.6) + white(sd = 0.1)": 0.36 * Matern(1.7, nu=1.5) + noise,
    "matern52(length = 1.7, sd = 0.6) + white(sd = 0.1)": 0.36 * Matern(1.7, nu=2.5) + noise,
    "exponential(length = 1.7, sd = 0.6) + white(sd = 0.1)": 0.36 * Matern(1.7, nu=0.5) + noise,
    "periodic(period = 3.1, length = 1.7, sd = 0.6) + white(sd = 0.1)": 0.36 * ExpSineSquared(1.7, 3.1) + noise,
    "squared_exponential(length = 4) * periodic(period = 3.1) + matern32(length = 0.5, sd = 2) * white(sd = 0.3)":
        RBF(4) * ExpSineSquared(1, 3.1) + 4 * Matern(0.5, nu=1.5) * WhiteKernel(0.09),
}

print("//", "scikit-learn", sklearn.__version__)
for points, kernels in [(T, list(KERNELS)), (XY, [name for name in KERNELS if "periodic" not in name])]:
    print("points", points.shape)
    for name in kernels:
        K = KERNELS[name](points)
        lower = [repr(float(K[i, l])) for i in range(len(K)) for l in range(i + 1)]
        print(f'("{name}", &[{", ".join(lower)}]),')
