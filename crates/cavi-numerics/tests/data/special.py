"""Writes special.csv: mpmath's values of the special functions, and prints the polynomial of log_gamma.rs.

    python -m venv venv && venv/bin/pip install mpmath && venv/bin/python special.py > special.csv
    venv/bin/python special.py polynomial

Each line: function, x, value. x is a double, written exactly; the value has 22 digits.
"""

import random
import sys

from mpmath import (
    mp, mpf, cos, cosh, digamma, euler, exp, log, loggamma, lu_solve, matrix, nstr, pi, polyval, psi, tanh,
)

mp.dps = 60


def polynomial(degree=20):
    """R(u) = ln Gamma(u + 3/2) / ((u + 1/2)(u - 1/2)), interpolated at Chebyshev points of [-1/2, 1/2]."""

    def r(u):
        y = u + mpf(3) / 2
        return loggamma(y) / ((y - 1) * (y - 2))

    n = degree + 1
    points = [cos(pi * (2 * i + 1) / (2 * n)) / 2 for i in range(n)]
    a = matrix(n, n)
    b = matrix(n, 1)
    for i, u in enumerate(points):
        b[i] = r(u)
        for j in range(n):
            a[i, j] = u**j
    c = lu_solve(a, b)
    inner = [mpf(i) / 1000 - mpf(1) / 2 for i in range(1, 1000)]
    error = max(abs(polyval(list(reversed(list(c))), u) / r(u) - 1) for u in inner)
    for value in c:
        print(nstr(value, 20))
    print("relative error", nstr(error, 3))


def arguments():
    random.seed(1)
    x = [10 ** (-14 + 26 * i / 259) for i in range(260)]
    x += [random.uniform(0, 10) for _ in range(150)]
    x += [1.4616321449683623 + d for d in (-1e-3, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-3)]
    x += [r + s * 2.0**-e for r in (1.0, 2.0) for s in (-1, 1) for e in (1, 3, 7, 15, 30, 45, 51)]
    x += [1.0, 2.0, 3.0, 8.0, 7.999999999999999, 3.0000000000000004, 0.5, 0.9999999999999999]
    return x


def main():
    print("# mpmath, 22 digits; written by special.py")
    for x in arguments():
        print(f"digamma,{x!r},{nstr(digamma(mpf(x)), 22)}")
        print(f"trigamma,{x!r},{nstr(psi(1, mpf(x)), 22)}")
        print(f"log_gamma,{x!r},{nstr(loggamma(mpf(x)), 22)}")
        print(f"ln,{x!r},{nstr(log(mpf(x)), 22)}")
    for i in range(300):
        x = random.uniform(-745, 709.7) if i % 2 else random.uniform(-2, 2)
        print(f"exp,{x!r},{nstr(exp(mpf(x)), 22)}")
    for x in (5e-324, 1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, 0.7071067811865475, 0.7071067811865476):
        print(f"ln,{x!r},{nstr(log(mpf(x)), 22)}")
    for i in range(300):
        x = 10 ** random.uniform(-12, 3) if i % 2 else random.uniform(-40, 40)
        print(f"even_softplus,{x!r},{nstr(log(2 * cosh(mpf(x) / 2)), 22)}")
        print(f"logistic_curvature,{x!r},{nstr(tanh(mpf(x) / 2) / (2 * mpf(x)), 22)}")


if sys.argv[1:] == ["polynomial"]:
    polynomial()
else:
    main()
