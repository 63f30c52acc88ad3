"""Values of the modified Bessel function K_p(z) for tests/special.rs, by mpmath: the integral
2 K_p(z) = int exp(p t - z cosh t) dt and its moments in quadrature with 40 digits, pieces between the points where the
integrand turns. Columns: p, z, log K_p(z), d log K_p(z) / dp, log(K_(p-1)(z) / K_p(z)). The first and last are held
against mpmath's own besselk where that converges.

    python bessel_k.py > bessel_k.csv
"""

from mpmath import asinh, besselk, cosh, exp, log, mp, mpf, nstr, quad, sinh, sqrt

mp.dps = 40


def integral(p, z, moment):
    """log int exp(p t - z cosh t) dt, and the mean of t."""
    t0 = asinh(p / z)
    top = p * t0 - z * cosh(t0)
    f = lambda t: exp(p * t - z * cosh(t) - top)
    width = 1 / sqrt(sqrt(p * p + z * z))
    # Beyond these points the integrand is below exp(-100) of its largest value.
    def edge(sign):
        low, high = mpf(0), mpf(1)
        while p * (t0 + sign * high) - z * cosh(t0 + sign * high) - top > -110:
            high *= 2
        for _ in range(60):
            mid = (low + high) / 2
            if p * (t0 + sign * mid) - z * cosh(t0 + sign * mid) - top > -110:
                low = mid
            else:
                high = mid
        return high
    left, right = t0 - edge(-1), t0 + edge(1)
    points = [left + (right - left) * i / 24 for i in range(25)]
    cliff = log(2 / z)
    points += [t0 + s * width * k for s in (-1, 1) for k in (1, 3, 6, 10)] + [t0]
    points += [s * cliff + d for s in (-1, 1) for d in (-40, -20, -10, -6, -4, -2, -1, 0, 1, 2, 3, 4, 5)]
    points = sorted({x for x in points if left <= x <= right})
    total = quad(f, points)
    mean = quad(lambda t: (t - t0) * f(t), points) / total if moment else 0
    return top + log(total), t0 + mean


def main():
    print("# mpmath, 40 digits; written by bessel_k.py")
    for p in ("0", "1e-12", "0.001", "0.25", "0.5", "0.75", "0.999", "1", "1.001", "1.5", "2", "3.25", "10", "40.5", "300", "10000"):
        for z in ("1e-300", "1e-100", "1e-30", "1e-10", "1e-4", "0.02", "0.3", "1", "2.5", "9", "40", "700", "20000", "1e6"):
            order, at = mpf(float(p)), mpf(float(z))
            whole, slope = integral(order, at, True)
            below, _ = integral(order - 1, at, False)
            if 1e-30 <= at <= 1000 and order <= 40.5:
                known = log(besselk(order, at))
                assert abs(known - (whole - log(mpf(2)))) < mpf(10) ** -18 * max(1, abs(known)), (p, z)
            columns = (whole - log(mpf(2)), slope, below - whole)
            print(",".join([p, z] + [nstr(value, 20) for value in columns]))


main()
