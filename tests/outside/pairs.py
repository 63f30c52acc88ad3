"""Coordinate ascent for y ~ Normal(sum of x_p x_r v_p v_r over p < r, sd = 1), v ~ Normal(0, sd = 1), by hand.

The log joint is written out as a polynomial in v, and expectations are taken monomial by monomial, from the moments of a
Normal. Python alone; writes `pairs_of_features/`.
"""

import math
import os
import random
import struct

P, N = 4, 12
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pairs_of_features")


def write(path, values, shape):
    path = os.path.join(HERE, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }" % "".join("%d," % own for own in shape)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        out.write(struct.pack("<%dd" % len(values), *values))


def times(left, right):
    out = {}
    for one, a in left.items():
        for other, b in right.items():
            key = tuple(i + j for i, j in zip(one, other))
            out[key] = out.get(key, 0.0) + a * b
    return out


def moment(mean, var, power):
    return (1.0, mean, mean**2 + var, mean**3 + 3 * mean * var, mean**4 + 6 * mean**2 * var + 3 * var**2)[power]


def expected(polynomial, mean, var, without=None):
    """The coefficients of the powers of one element, expectations taken of the others; without one, a number."""
    out = [0.0] * 5
    for powers, factor in polynomial.items():
        for p in range(P):
            if p != without:
                factor *= moment(mean[p], var[p], powers[p])
        out[0 if without is None else powers[without]] += factor
    return out[0] if without is None else out


def bound(log_joint, mean, var):
    prior = sum(-0.5 * math.log(2 * math.pi) - 0.5 * (m**2 + s) for m, s in zip(mean, var))
    entropy = sum(0.5 * math.log(2 * math.pi * math.e * s) for s in var)
    return expected(log_joint, mean, var) - 0.5 * N * math.log(2 * math.pi) + prior + entropy


def main():
    draw = random.Random(7)
    x = [[draw.gauss(0, 1) for _ in range(P)] for _ in range(N)]
    truth = [1.0, -0.7, 0.5, 0.3]
    log_joint, y = {}, []
    for row in x:
        pairs = {}
        for p in range(P):
            for r in range(p + 1, P):
                pairs[tuple(int(i in (p, r)) for i in range(P))] = -row[p] * row[r]
        y.append(sum(-c * math.prod(t for t, i in zip(truth, k) if i) for k, c in pairs.items()) + draw.gauss(0, 0.5))
        pairs[(0,) * P] = y[-1]
        for key, value in times(pairs, pairs).items():
            log_joint[key] = log_joint.get(key, 0.0) - 0.5 * value
    write("data/x.npy", [value for row in x for value in row], (N, P))
    write("data/y.npy", y, (N,))
    mean, var = [0.8, -0.5, 0.4, 0.2], [1.0] * P
    write("start/v.mean.npy", mean, (P,))
    write("start/v.var.npy", var, (P,))
    trace = [bound(log_joint, mean, var)]
    for sweep in range(1, 11):
        for p in range(P):
            _, linear, square, cube, fourth = expected(log_joint, mean, var, p)
            assert cube == 0.0 and fourth == 0.0
            var[p] = 1 / (1 - 2 * square)
            mean[p] = linear * var[p]
        trace.append(bound(log_joint, mean, var))
        if sweep in (1, 10):
            folder = "expected/sweeps_%d/" % sweep
            write(folder + "posterior/v.mean.npy", mean, (P,))
            write(folder + "posterior/v.var.npy", var, (P,))
            os.makedirs(os.path.join(HERE, folder, "axes"), exist_ok=True)
            for name, size in (("example", N), ("feature", P)):
                with open(os.path.join(HERE, folder, "axes", name + ".txt"), "w") as out:
                    out.write("".join("%d\n" % place for place in range(size)))
            with open(os.path.join(HERE, folder, "trace.csv"), "w") as out:
                out.write("sweep,elbo,rel_change\n")
                for row, value in enumerate(trace):
                    change = abs(value - trace[row - 1]) / max(1.0, abs(value)) if row else ""
                    out.write("%d,%r,%s\n" % (row, value, change))


if __name__ == "__main__":
    main()
