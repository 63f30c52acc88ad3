"""Peak memory of a fit from Python to dense doubles that the program neither centres nor scales, over the data.

    python tests/long/memory.py [MEGABYTES] [--limit RATIO]        (Python with the package `cavi`; Linux)

The data are 2,000 MB unless MEGABYTES says otherwise: an array of 64-bit floats in C order. The peak is that of the process (VmHWM), less what it held
before the data were there: once the array, once the fit's copy of it, and what the run keeps of its size (here the squares of the data). Prints the
ratio, and exits with status 1 where it is above the limit.
"""

import argparse
import sys
import warnings

import numpy as np

import cavi

PROGRAM = """
axis sample[n]
axis feature[j]
axis factor[k] = 2

data x[n, j] : real

z[n, k] ~ Normal(0, sd = 1)
w[j, k] ~ Normal(0, sd = 1)
tau ~ Gamma(1, rate = 1)
x[n, j] ~ Normal(sum[k](z[n, k] * w[j, k]), prec = tau)
"""


def held(what):
    """Bytes that the process holds (VmRSS) or held at most (VmHWM)."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(what))


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("megabytes", nargs="?", type=int, default=2000)
    parser.add_argument("--limit", type=float)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    before = held("VmRSS")
    rows = asked.megabytes * 1_000_000 // (8 * 10_000)
    data = np.empty((rows, 10_000))
    random = np.random.default_rng(0)
    for row in data:
        random.standard_normal(out=row)
    own = held("VmRSS") - before
    fit = cavi.fit(PROGRAM, x=data, sweeps=3, tol=0, seed=1)
    peak = held("VmHWM") - before
    ratio = peak / data.nbytes
    print(f"data {data.nbytes / 1e6:.0f} MB (held {own / 1e6:.0f}), peak {peak / 1e6:.0f} MB: {ratio:.3f} times the data; ELBO {fit.elbo:.6f}")
    return int(asked.limit is not None and ratio > asked.limit)


if __name__ == "__main__":
    sys.exit(main())
