"""Shapes of the tails of importance weights by `psislw` of ArviZ, for `crates/cavi/tests/library/psis.rs`, which has the numbers.

    pip install arviz==0.21.0 "matplotlib<3.8"
    python tests/outside/psis.py
"""

import numpy as np
from arviz import psislw

GOLDEN = 0.6180339887498949


def u(count):
    return (np.arange(1, count + 1) * GOLDEN) % 1.0


LOGS = {
    "heavy": lambda u: -0.9 * np.log1p(-u),
    "light": lambda u: -0.3 * np.log1p(-u),
    "bounded": lambda u: u,
    "square": lambda u: np.log1p(-u) ** 2 / 2,
}

for name, logs in LOGS.items():
    for count in (100, 1000, 4000):
        print(f'    ("{name}", {count}, {psislw(logs(u(count)))[1]:.12f}),')
