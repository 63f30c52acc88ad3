"""How often intervals of 90 % hold the numbers that data were drawn from: five programs, by simulation.

Usage: python tests/long/coverage.py CAVI [REPLICATIONS] [REFITS] [PROGRAM ...]   (Python with NumPy and SciPy; CAVI is the binary)

Each replication draws a truth and data, fits the program, and asks for intervals by each method. Components that a fit may have in any order
are matched to the truth. The share of intervals that hold the truth is printed, with its standard error over replications.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy.optimize import linear_sum_assignment

METHODS = {
    "q": [],
    "linear response": ["--linear-response"],
    "basic": ["--bootstrap", "REFITS", "--form", "basic"],
    "percentile": ["--bootstrap", "REFITS", "--form", "percentile"],
    "rows": ["--bootstrap", "REFITS", "--form", "basic", "--rows", "AXIS"],
}


class Signatures:
    """Exposures of genomes to eight known signatures: Poisson counts, each genome with its own latents."""

    variable, axis = "h", None
    text = """axis genome[d]
axis context[v]
axis signature[k]
data n[d, v] : count, absent = 0
data w[k, v] : nonnegative
h[d, k] ~ Gamma(1, rate = 0.001)
n[d, v] ~ Poisson(sum[k](h[d, k] * w[k, v]))
"""
    options = ["--tol", "1e-9", "--sweeps", "20000", "--accelerate", "auto"]

    def draw(self, rng):
        w = rng.dirichlet(np.full(48, 0.3), size=8)
        h = rng.gamma(2.0, 150.0, size=(5, 8))
        return {"n": rng.poisson(h @ w).astype(float), "w": w}, h


class Regression:
    """Three predictors, two of which go together, and an unknown precision."""

    variable, axis = "b", "row"
    text = """axis row[n]
axis predictor[p]
data x[n, p] : real
data y[n] : real
b[p] ~ Normal(0, sd = 10)
t ~ Gamma(1, rate = 1)
y[n] ~ Normal(sum[p](x[n, p] * b[p]), prec = t)
"""
    options = ["--tol", "1e-10"]

    def draw(self, rng):
        z = rng.normal(size=(60, 2))
        x = np.column_stack([np.ones(60), z[:, 0], 0.9 * z[:, 0] + 0.45 * z[:, 1]])
        b = rng.normal(size=3)
        return {"x": x, "y": x @ b + rng.normal(scale=0.7, size=60)}, b


class Mixture:
    """The means of two Normal classes that overlap."""

    variable, axis = "m", "row"
    text = """axis row[n]
axis class[k] = 2
data y[n] : real
share[:k] ~ Dirichlet(1)
m[k] ~ Normal(0, sd = 5)
z[n] ~ Categorical(share)
y[n] ~ Normal(m[z[n]], sd = 1)
"""
    options = ["--tol", "1e-9", "--sweeps", "5000"]

    def draw(self, rng):
        z = rng.random(150) < 0.4
        m = np.array([-1.3, 1.3]) + rng.normal(scale=0.1, size=2)
        return {"y": np.where(z, m[1], m[0]) + rng.normal(size=150)}, m


class Topics:
    """The word probabilities of three topics."""

    variable, axis = "beta", "doc"
    text = """axis doc[d]
axis word[v]
axis topic[k] = 3
data n[d, v] : count, absent = 0
theta[d, :k] ~ Dirichlet(0.3)
beta[k, :v] ~ Dirichlet(1)
n[d, :v] ~ Multinomial(sum[k](theta[d, k] * beta[k, v]))
"""
    options = ["--tol", "1e-8", "--sweeps", "5000", "--accelerate", "auto", "--restarts", "2"]

    def draw(self, rng):
        beta = rng.dirichlet(np.full(12, 0.7), size=3)
        theta = rng.dirichlet(np.full(3, 0.3), size=80)
        return {"n": np.array([rng.multinomial(60, p) for p in theta @ beta]).astype(float)}, beta


class Crossed:
    """Effects of raters and of items: `tests/models/crossed_effects.cavi`."""

    variable, axis = "of_item", None
    text = (pathlib.Path(__file__).resolve().parents[1] / "models" / "crossed_effects.cavi").read_text()
    options = ["--tol", "1e-10", "--sweeps", "5000"]

    def draw(self, rng):
        raters, items = np.meshgrid(np.arange(8), np.arange(6))
        rater, item = raters.ravel(), items.ravel()
        a, b = rng.normal(size=8), rng.normal(scale=0.5, size=6)
        y = 2.0 + a[rater] + b[item] + rng.normal(scale=0.8, size=rater.size)
        return {"rn": rater.astype(float), "it": item.astype(float), "y": y}, b


PROGRAMS = {own.__name__.lower(): own() for own in [Signatures, Regression, Mixture, Topics, Crossed]}


def run(*arguments):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def held(cavi, program, folder, rng, refits):
    """For each method the share of intervals that hold the truth."""
    data, truth = program.draw(rng)
    (folder / "m.cavi").write_text(program.text)
    bound = []
    for name, values in data.items():
        np.save(folder / f"{name}.npy", values)
        bound += ["--data", f"{name}={folder / name}.npy"]
    fit = folder / "fit"
    run(cavi, "fit", folder / "m.cavi", *bound, "--out", fit, "--progress", "none", "--quiet", *program.options)
    mean = np.load(fit / "posterior" / f"{program.variable}.mean.npy")
    # Components of a fit come in any order.
    if type(program) in (Mixture, Topics):
        ours, true = mean.reshape(len(mean), -1), truth.reshape(len(truth), -1)
        cost = ((true[:, None, :] - ours[None, :, :]) ** 2).sum(axis=2)
        order = linear_sum_assignment(cost)[1]
    else:
        order = np.arange(len(truth))
    shares = {}
    for method, options in METHODS.items():
        if "AXIS" in options and program.axis is None:
            continue
        options = [{"REFITS": refits, "AXIS": program.axis}.get(own, own) for own in options]
        said = run(cavi, "intervals", fit, program.variable, *options, "--json", "--threads", "1")
        all_of = json.loads(said)["variables"][program.variable]["intervals"]
        low, high = (np.array([float(own[end]) for own in all_of]).reshape(truth.shape) for end in ("low", "high"))
        inside = (low[order] <= truth) & (truth <= high[order])
        shares[method] = inside.mean()
    return shares


def main():
    cavi = pathlib.Path(sys.argv[1]).resolve()
    replications, refits = (int(own) for own in (sys.argv[2:4] + ["200", "200"][len(sys.argv[2:4]):]))
    for name in sys.argv[4:] or PROGRAMS:
        rng = np.random.default_rng(7)
        found = {}
        for _ in range(replications):
            with tempfile.TemporaryDirectory() as folder:
                for method, share in held(cavi, PROGRAMS[name], pathlib.Path(folder), rng, refits).items():
                    found.setdefault(method, []).append(share)
        for method, shares in found.items():
            error = 100 * np.std(shares, ddof=1) / np.sqrt(len(shares))
            print(f"{name:12} {method:16} {100 * np.mean(shares):5.1f} % ± {error:.1f}", flush=True)


main()
