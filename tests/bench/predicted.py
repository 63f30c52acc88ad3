"""Seconds a sweep as `cavi plan` predicts them, and as `cavi fit` takes them.

    python predicted.py CAVI [--threads T] [--set fitted|held|all] [NAME ...]

CAVI is the binary (`cargo build --release -p cavi-cli`). Programs of the set `fitted` are those that the constants in
`crates/cavi-executor/src/plan/rates.rs` were chosen on; those of `held` were not. A program is fitted three times with a few sweeps and
three times with many: what the many take more, in time of the processor, is that of a sweep. Other work on the machine only adds
to it, and the least is taken. Of several threads it is the time of the clock, on a quiet machine.
"""
import argparse
import csv
import pathlib
import re
import resource
import shlex
import subprocess
import tempfile

import numpy as np
from scipy import io, sparse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

COUNTS = """axis doc[d]
axis word[v]
axis topic[k]
data n[d, v] : count, absent = 0
"""
GAMMA = COUNTS + "w[d, k] ~ Gamma(0.3, rate = 1)\nh[k, v] ~ Gamma(0.3, rate = 1)\n"
PROGRAMS = {
    "lda": COUNTS
    + """theta[d, :k] ~ Dirichlet(0.1)
beta[k, :v] ~ Dirichlet(0.1)
n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))
fit {
  sweep (theta, beta)
}
""",
    "nmf_gamma": GAMMA + "n[d, v] ~ Poisson(sum[k](w[d, k] * h[k, v]))\nfit {\n  sweep w, h\n}\n",
    "background": GAMMA
    + """const g[v] = 0.1
s[d] ~ Gamma(0.3, rate = 1)
n[d, v] ~ Poisson(s[d] * g[v] + sum[k](w[d, k] * h[k, v]))
fit {
  sweep s, w, h
}
""",
    "exposure": GAMMA + "const e[d] = 2\nn[d, v] ~ Poisson(e[d] * sum[k](w[d, k] * h[k, v]))\nfit {\n  sweep w, h\n}\n",
    "three_modes": """axis doc[d]
axis word[v]
axis time[l]
axis topic[k]
data n[d, v, l] : count, absent = 0
w[d, k] ~ Gamma(0.3, rate = 1)
h[v, k] ~ Gamma(0.3, rate = 1)
c[l, k] ~ Gamma(0.3, rate = 1)
n[d, v, l] ~ Poisson(sum[k](w[d, k] * h[v, k] * c[l, k]))
fit {
  sweep w, h, c
}
""",
}

WORDS = {"doc": 10_000, "word": 9_000}
# Name, program (of `PROGRAMS`, of `class_numpy.py`, of a folder, or built in), the sizes of axes, the listed entries.
FITTED = [
    ("lda, K = 20", "lda", {**WORDS, "topic": 20}, 1_000_000),
    ("lda, K = 100", "lda", {**WORDS, "topic": 100}, 1_000_000),
    ("lda, small", "lda", {"doc": 400, "word": 1_000, "topic": 10}, 20_000),
    ("nmf_gamma, K = 20", "nmf_gamma", {**WORDS, "topic": 20}, 1_000_000),
    ("nmf_gamma, K = 100", "nmf_gamma", {**WORDS, "topic": 100}, 1_000_000),
    ("background, K = 20", "background", {**WORDS, "topic": 20}, 1_000_000),
    ("exposure, K = 50", "exposure", {**WORDS, "topic": 50}, 1_000_000),
    ("three_modes, K = 20", "three_modes", {"doc": 2_000, "word": 3_000, "time": 300, "topic": 20}, 1_000_000),
    ("three_modes, K = 100", "three_modes", {"doc": 2_000, "word": 3_000, "time": 300, "topic": 100}, 300_000),
    ("dense counts, K = 20", "nmf_gamma", {"doc": 500, "word": 1_000, "topic": 20}, None),
    ("dense counts, K = 60", "nmf_gamma", {"doc": 500, "word": 1_000, "topic": 60}, None),
] + [
    (name, "numpy:" + name, {}, None)
    for name in (
        "gmm bernoulli_mixture logistic factor_analysis ratings tensor blocks naive_bayes student tucker supervised_topics"
    ).split()
] + [
    (f"demo {name}", "demo:" + name, {}, None)
    for name in (
        "dirichlet_poisson gfa gfa_lowrank hpf lda lda_tokens linear_regression_ard nmf_gamma nmf_gamma_joint nmf_gp nmf_kl nmf_ls"
        " nmf_sparse plsa poisson_tensor ppca"
    ).split()
]
HELD = [
    ("hpf", "models:hpf", {"user": 3_000, "item": 2_000, "preference": 30}, 300_000),
    ("nmf_gamma_ard", "models:nmf_gamma_ard", {"genome": 1_000, "type": 96, "signature": 15}, None),
    ("mixture_normal_wishart", "models:mixture_normal_wishart", {"item": 20_000, "feature": 5, "cluster": 8}, None),
    ("item_response", "models:item_response", {"answer": 50_000, "person": 1_000, "item": 100}, None),
    ("crossed_effects", "models:crossed_effects", {"rating": 200_000, "rater": 1_000, "item": 300}, None),
    ("student_factors", "models:student_factors", {"sample": 2_000, "feature": 60, "factor": 8}, None),
    ("regression_factorised", "models:regression_factorised", {"case": 5_000, "predictor": 40}, None),
    ("missing_profiles", "models:missing_profiles", {"row": 5_000, "trait": 6, "component": 4}, None),
    ("pmf_factorised", "models:pmf_factorised", {"user": 1_000, "item": 300, "trait": 10}, None),
    ("cp_tensor", "models:cp_tensor", {"subject": 60, "voxel": 80, "time": 50, "component": 6}, None),
    ("logistic_points", "models:logistic_points", {"case": 20_000, "predictor": 30}, None),
    ("mixture_categorical", "models:mixture_categorical", {"person": 10_000, "question": 20, "class": 6}, None),
    ("mixture_poisson", "models:mixture_poisson", {"unit": 20_000, "kind": 30, "class": 10}, None),
    ("ppca_points", "models:ppca_points", {"sample": 3_000, "feature": 100, "component": 10}, None),
    ("plsa", "models:plsa", {"doc": 4_000, "word": 6_000, "topic": 40}, 400_000),
    ("horseshoe_regression", "models:horseshoe_regression", {"case": 4_000, "predictor": 60}, None),
    ("learned_concentrations", "models:learned_concentrations", {"doc": 2_000, "word": 3_000, "topic": 15}, 200_000),
    ("binary_factorisation", "models:binary_factorisation", {"row": 800, "column": 60, "factor": 4}, None),
]


def counts(rng, shape, entries):
    """So many places, columns skewed, with counts from 1 to 3."""
    places = np.zeros(0, np.int64)
    while len(places) < entries:
        draws = [rng.random(entries) ** (1 if mode == 0 else 2) for mode in range(len(shape))]
        own = np.ravel_multi_index([(u * size).astype(np.int64) for u, size in zip(draws, shape)], shape)
        places = np.unique(np.concatenate([places, own]))
    places = np.sort(rng.permutation(places)[:entries])
    return np.unravel_index(places, shape), rng.integers(1, 4, entries)


def declared(text):
    """The axis of each letter, the axes with a size, and the data: name, letters, type."""
    axes, sized, data = {}, {}, []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if own := re.match(r"axis (\w+)\[([\w, ]+)\](?: in \w+\[\w+\])?(?: *= *(\d+))?", line):
            axes.update({letter.strip(): own[1] for letter in own[2].split(",")})
            if own[3]:
                sized[own[1]] = int(own[3])
        if own := re.match(r"data (\w+)(?:\[([\w, ]+)\])? *: *(\w+(?: \w+)?)(.*)", line):
            letters = [letter.strip() for letter in (own[2] or "").split(",") if letter.strip()]
            data.append((own[1], letters, own[3], own[4]))
    return axes, sized, data


def drawn(rng, kind, shape, sizes):
    draws = {
        "count": lambda: rng.poisson(1.0, shape),
        "real": lambda: rng.normal(size=shape),
        "binary": lambda: (rng.random(shape) < 0.5).astype(float),
        "nonnegative": lambda: rng.gamma(1.0, size=shape),
        "positive": lambda: rng.gamma(2.0, size=shape) + 0.01,
        "unit": lambda: rng.random(shape),
    }
    if kind.startswith("index"):
        return rng.integers(0, sizes[kind.split()[1]], shape)
    return draws[kind]()


def arguments(folder, text, sizes, entries):
    """Writes the program and data from a fixed seed: the arguments that bind them."""
    rng = np.random.default_rng(1)
    (folder / "model.cavi").write_text(text)
    axes, sized, data = declared(text)
    sizes = {**sized, **sizes}
    own = [str(folder / "model.cavi")]
    for name, letters, kind, rest in data:
        shape = tuple(sizes[axes[letter]] for letter in letters)
        if entries and "absent = 0" in rest and len(letters) > 1:
            where, values = counts(rng, shape, entries)
            if len(shape) == 2:
                path = folder / f"{name}.npz"
                sparse.save_npz(path, sparse.csr_matrix((values.astype(float), where), shape=shape))
            else:
                path = folder / f"{name}.tns"
                np.savetxt(path, np.column_stack([*(1 + own for own in where), values]), fmt="%d")
        else:
            path = folder / f"{name}.npy"
            values = drawn(rng, kind, shape, sizes)
            if "absent = NA" in rest and len(shape) > 1:
                # Of a slice all is missing, or nothing.
                over_slice = f"{name}[{letters[0]}, :" in text
                gaps = rng.random((shape[0], 1) if over_slice else shape) < 0.1
                values = np.where(gaps, np.nan, values)
            np.save(path, values)
        own += ["--data", f"{name}={path}"]
    for axis, size in sizes.items():
        own += ["--set", f"{axis}={size}"]
    return own


def case(folder, program, sizes, entries):
    """The folder to run in, and the program with its data."""
    kind, _, name = program.rpartition(":")
    if kind == "":
        return folder, arguments(folder, PROGRAMS[name], sizes, entries)
    if kind == "models":
        return folder, arguments(folder, (ROOT / "tests/models" / f"{name}.cavi").read_text(), sizes, entries)
    if kind == "numpy":
        import class_numpy

        text, data = next(getattr(class_numpy, name)(np.random.default_rng(1)))
        (folder / "model.cavi").write_text(text)
        own = [str(folder / "model.cavi")]
        for array, values in data.items():
            own += ["--data", f"{array}={class_numpy.written(folder, array, values)}"]
        return folder, own
    readme = (ROOT / "examples" / name / "README.md").read_text().replace("\\\n", " ")
    command = shlex.split(re.search(rf"^cavi fit ({name} .*)$", readme, re.M)[1])
    return ROOT / "examples" / name, [command[0]] + [
        word
        for first, second in zip(command, command[1:])
        if first in ("--data", "--set", "--columns", "--labels", "--transpose")
        for word in (first, second)
    ]


def predicted(binary, cwd, own, threads):
    command = [binary, "plan", *own, "--threads", str(threads)]
    out = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(out.stderr)
    value, unit = re.search(r"^predicted, .*: ([\d.]+) (\w+) a sweep", out.stdout, re.M).groups()
    return float(value) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]


def fitted(binary, cwd, own, threads, folder, sweeps):
    """Seconds of the processor, and of the clock between the third sweep and the last."""
    out = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "fit"
    command = [binary, "fit", *own, "--threads", str(threads), "--sweeps", str(sweeps), "--tol", "0", "--quiet"]
    command += ["--warmup", "none", "--accelerate", "none", "--restarts", "1", "--out", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    with open(out / "trace.csv") as file:
        at = [float(row["seconds"]) for row in csv.DictReader(file)]
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, (at[-1] - at[3]) / (sweeps - 3)


def measured(binary, cwd, own, threads, folder, guess):
    """Of one thread the processor time that more sweeps take; of several the clock's."""
    more = int(min(4_000, max(6, 0.3 / guess)))
    few, many = [], []
    for _ in range(3):
        many.append(fitted(binary, cwd, own, threads, folder, 4 + more))
        few.append(fitted(binary, cwd, own, threads, folder, 4))
    if threads > 1:
        return min(clock for _, clock in many)
    return (min(own for own, _ in many) - min(own for own, _ in few)) / more


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", default="all", choices=["fitted", "held", "all"])
    options = parser.parse_intermixed_args()
    binary = str(pathlib.Path(options.binary).resolve())
    sets = {"fitted": [FITTED], "held": [HELD], "all": [FITTED, HELD]}[options.set]
    print("| program | predicted, ms | taken, ms | predicted / taken | |\n| --- | --- | --- | --- | --- |")
    for name, program, sizes, entries in (own for group in sets for own in group):
        if options.names and not any(wanted in name for wanted in options.names):
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            cwd, own = case(folder, program, sizes, entries)
            guess = predicted(binary, cwd, own, options.threads)
            taken = measured(binary, cwd, own, options.threads, folder, guess)
        ratio = guess / taken
        far = "" if 0.5 <= ratio <= 2 else "**outside**"
        print(f"| {name} | {1e3 * guess:.3g} | {1e3 * taken:.3g} | {ratio:.2f} | {far} |", flush=True)


if __name__ == "__main__":
    main()
