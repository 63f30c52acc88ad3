"""Memory that was forecast against memory that was measured, of fits of many kinds.

    python tests/long/footprint.py CAVI [PART ...]        (Python alone; half an hour)

CAVI is the binary (of a release build). Fits programs of `examples/` and `tests/models`, and some that are written here, to data that are
drawn, of a size at which the heap holds 100 MB to about 1.5 GB at its peak, a few sweeps each: `planned_bytes` and `peak_bytes` of
`summary.json`. PART leaves out the fits without one of these words in their name. Prints a table; ends with status 1 if a forecast is less
than 0.9 or more than 1.1 times what was measured.
"""

import array
import json
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LEAST, MOST = 0.9, 1.1
DRAW = random.Random(7)

# Values of which data are made: each row begins at another place of them.
NORMAL = array.array("d", (DRAW.gauss(0, 1) for _ in range(50_021)))
POSITIVE = array.array("d", (DRAW.gammavariate(2, 1) for _ in range(50_021)))
COUNT = array.array("d", (float(min(int(DRAW.expovariate(0.4)), 30)) for _ in range(50_021)))
BINARY = array.array("d", (float(DRAW.random() < 0.4) for _ in range(50_021)))


def header(shape, kind):
    """The head of a .npy file."""
    sizes = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def stretch(values, length):
    """So many of these values, from a random place on."""
    out = array.array("d")
    while len(out) < length:
        first = DRAW.randrange(len(values))
        out.extend(values[first : first + length - len(out)])
    return out


def dense(place, name, shape, values=NORMAL, missing=0.0):
    """A dense array, some entries of which are missing."""
    path = place / f"{name}.npy"
    row = 1
    for size in shape[1:]:
        row *= size
    with path.open("wb") as file:
        file.write(header(shape, "<f8"))
        for _ in range(shape[0] if len(shape) > 1 else 1):
            own = stretch(values, row if len(shape) > 1 else shape[0])
            for _ in range(int(missing * len(own))):
                own[DRAW.randrange(len(own))] = float("nan")
            file.write(own.tobytes())
    return ["--data", f"{name}={path}"]


def sparse(place, name, shape, entries, values=None):
    """A sparse matrix, as SciPy writes one; about so many entries."""
    path = place / f"{name}.npz"
    rows, columns = shape
    each = max(1, entries // rows)
    # Entries of a row stand at random distances of each other.
    most = max(1, 2 * columns // each - 1)
    row, column = array.array("i"), array.array("i")
    for number in range(rows):
        at = DRAW.randrange(most)
        own = array.array("i")
        for step in DRAW.choices(range(1, most + 1), k=each):
            if at >= columns:
                break
            own.append(at)
            at += step
        column.extend(own)
        row.extend(array.array("i", [number]) * len(own))
    data = array.array("d", (1.0 + value for value in stretch(COUNT, len(row)))) if values is None else stretch(values, len(row))
    with zipfile.ZipFile(path, "w") as file:
        members = {
            "row": (header([len(row)], "<i4"), row),
            "col": (header([len(row)], "<i4"), column),
            "data": (header([len(row)], "<f8"), data),
            "shape": (header([2], "<i8"), array.array("q", shape)),
            "format": (header([], "|S3").replace(b"(,)", b"()"), array.array("b", b"coo")),
        }
        for key, (head, own) in members.items():
            file.writestr(f"{key}.npy", head + own.tobytes())
    return ["--data", f"{name}={path}"]


def table(place, name, head, rows):
    """A table of rows of text."""
    path = place / f"{name}.csv"
    with path.open("w") as file:
        file.write(head + "\n")
        file.writelines(rows)
    return ["--data", f"{name}={path}"]


def tokens(place, docs, each, words):
    """Words of documents, one after another."""
    rows = (f"d{doc},t{token},w{DRAW.randrange(words)}\n" for doc in range(docs) for token in range(each))
    return table(place, "w", "doc,token,word", rows)


def listed(place, name, head, sizes, entries):
    """Entries of a tensor with counts."""
    rows = (",".join(f"{DRAW.randrange(size)}" for size in sizes) + f",{1 + DRAW.randrange(5)}\n" for _ in range(entries))
    return table(place, name, head + ",value", rows)


def example(name):
    return ROOT / "examples" / name / f"{name}.cavi"


def model(name):
    return ROOT / "tests" / "models" / f"{name}.cavi"


RATINGS = """
axis user[i]
axis item[j]
axis factor[k] = 30
data r[i, j] : real, absent = NA
u[i, k] ~ Normal(0, sd = 1)
v[j, k] ~ Normal(0, sd = 1)
a[i] ~ Normal(0, sd = 1)
b[j] ~ Normal(0, sd = 1)
tau ~ Gamma(1, rate = 1)
r[i, j] ~ Normal(a[i] + b[j] + sum[k](u[i, k] * v[j, k]), prec = tau)
"""

JOINT = RATINGS + """posterior {
  q(u[i, :k])
  q(v[j, :k])
}
"""

ADDITIVE = """
axis i[n]
axis j[p]
data x[n, p] : real, absent = NA
a[n] ~ Normal(0, sd = 1)
b[p] ~ Normal(0, sd = 1)
t[p] ~ Gamma(1, rate = 1)
x[n, p] ~ Normal(a[n] + b[p], prec = t[p])
"""

LOGISTIC = """
axis row[n]
axis input[p]
data x[n, p] : real
data y[n] : binary
w[p] ~ Normal(0, sd = 1)
y[n] ~ Bernoulli(logit = sum[p](x[n, p] * w[p]))
posterior {
  q(w[:p])
}
"""

LEVELS = """
axis person[i]
axis question[j]
data y[i, j] : binary, absent = NA
a[i] ~ Normal(0, sd = 1)
b[j] ~ Normal(0, sd = 1)
y[i, j] ~ Bernoulli(logit = a[i] + b[j])
"""

RATES = """
axis row[n]
axis input[p]
data x[n, p] : real
data y[n] : count
w[p] ~ Normal(0, sd = 0.1)
y[n] ~ Poisson(exp(sum[p](x[n, p] * w[p])))
posterior {
  point w[p]
}
"""

TENSOR = """
axis a[i]
axis b[j]
axis c[l]
axis part[k] = 20
data x[i, j, l] : count, absent = 0
u[i, k] ~ Gamma(0.5, rate = 1)
v[j, k] ~ Gamma(0.5, rate = 1)
w[l, k] ~ Gamma(0.5, rate = 1)
x[i, j, l] ~ Poisson(sum[k](u[i, k] * v[j, k] * w[l, k]))
"""

MIXTURE = """
axis row[n]
axis column[j]
axis class[k] = 12
data x[n, j] : binary, absent = NA
pi[:k] ~ Dirichlet(1)
z[n] ~ Categorical(pi)
p[k, j] ~ Beta(1, 1)
x[n, j] ~ Bernoulli(p[z[n], j])
"""

FULL = """
axis row[n]
axis column[j, r]
axis class[k] = 6
data x[n, j] : real
pi[:k] ~ Dirichlet(1)
z[n] ~ Categorical(pi)
L[k, :j, :r] ~ Wishart(40, scale = 0.5 * [j == r])
mu[k, j] ~ Normal(0, sd = 2)
x[n, :j] ~ MultivariateNormal(mu[z[n], j], prec = L[z[n], :j, :r])
"""

EFFECTS = """
axis school[s]
axis pupil[p] in school
data y[s, p] : real
a[s] ~ Normal(mu, prec = t)
mu ~ Normal(0, sd = 10)
t ~ Gamma(1, rate = 1)
e ~ Gamma(1, rate = 1)
y[s, p] ~ Normal(a[s], prec = e)
"""


def counts(place, rows=40_000, columns=20_000, entries=1_000_000, name="x"):
    return sparse(place, name, (rows, columns), entries)


# Name, program (a path, or its text), what makes the data, options.
FITS = [
    ("rows and columns, dense", ADDITIVE, lambda p: dense(p, "x", (6000, 2000)), []),
    ("rows and columns, missing", ADDITIVE, lambda p: dense(p, "x", (4000, 2000), missing=0.1), []),
    ("rows and columns, held out", ADDITIVE, lambda p: dense(p, "x", (4000, 2000)), ["--heldout", "x=0.1"]),
    ("rows and columns, restarts", ADDITIVE, lambda p: dense(p, "x", (5000, 1500)), ["--restarts", "3"]),
    ("rows and columns, shards", ADDITIVE, lambda p: dense(p, "x", (6000, 2000)), ["--shards", "i=8"]),
    ("rows and columns, batch", ADDITIVE, lambda p: dense(p, "x", (6000, 2000)), ["--batch", "i=8"]),
    ("factor analysis", example("factor_analysis"), lambda p: dense(p, "x", (4000, 2500)), []),
    ("factor analysis, missing", example("factor_analysis"), lambda p: dense(p, "x", (2000, 1500), missing=0.1), []),
    ("factor analysis, shards", example("factor_analysis"), lambda p: dense(p, "x", (4000, 2500)), ["--shards", "sample=6"]),
    ("ppca", example("ppca"), lambda p: dense(p, "x", (8000, 1500)), []),
    ("ppca, batch", example("ppca"), lambda p: dense(p, "x", (8000, 1500)), ["--batch", "sample=10"]),
    ("ppca, accelerated", example("ppca"), lambda p: dense(p, "x", (60_000, 150)), ["--accelerate", "auto"]),
    ("ratings", RATINGS, lambda p: sparse(p, "r", (60_000, 8000), 2_000_000, NORMAL), []),
    ("ratings, joint factors", JOINT, lambda p: sparse(p, "r", (30_000, 4000), 1_000_000, NORMAL), []),
    ("ratings, joint, held out", JOINT, lambda p: sparse(p, "r", (20_000, 4000), 1_000_000, NORMAL), ["--heldout", "r=0.1"]),
    ("ratings, joint, shards", JOINT, lambda p: sparse(p, "r", (20_000, 3000), 800_000, NORMAL), ["--shards", "user=4"]),
    ("ratings, joint, batch", JOINT, lambda p: sparse(p, "r", (20_000, 3000), 800_000, NORMAL), ["--batch", "user=8"]),
    ("pmf", example("pmf"), lambda p: sparse(p, "r", (40_000, 6000), 1_500_000, NORMAL), ["--set", "factor=20"]),
    ("Poisson factors", TENSOR.replace("axis c[l]\n", "").replace(", l]", "]").replace("w[l, k] ~ Gamma(0.5, rate = 1)\n", "").replace(" * w[l, k]", ""), lambda p: counts(p), ["--set", "part=100"]),
    ("Poisson factors, f32", TENSOR.replace("axis c[l]\n", "").replace(", l]", "]").replace("w[l, k] ~ Gamma(0.5, rate = 1)\n", "").replace(" * w[l, k]", ""), lambda p: counts(p), ["--set", "part=100", "--precision", "f32"]),
    ("nmf gamma, sparse", example("nmf_gamma"), lambda p: counts(p), ["--set", "signature=60"]),
    ("nmf gamma, dense", example("nmf_gamma"), lambda p: dense(p, "x", (2500, 2000), POSITIVE), ["--set", "signature=20"]),
    ("nmf em", example("nmf_em"), lambda p: counts(p), ["--set", "signature=50"]),
    ("nmf em, restarts", example("nmf_em"), lambda p: counts(p), ["--set", "signature=50", "--restarts", "3"]),
    ("nmf em, held out", example("nmf_em"), lambda p: counts(p), ["--set", "signature=40", "--heldout", "x=0.1"]),
    ("nmf em, shards", example("nmf_em"), lambda p: counts(p), ["--set", "signature=30", "--shards", "genome=4"]),
    ("nmf em, batch", example("nmf_em"), lambda p: counts(p), ["--set", "signature=30", "--batch", "genome=8"]),
    ("nmf cemgil", example("nmf_cemgil"), lambda p: dense(p, "x", (3000, 1500), POSITIVE), []),
    ("nmf kl, dense", example("nmf_kl"), lambda p: dense(p, "x", (4000, 1500), POSITIVE), []),
    ("nmf ls", example("nmf_ls"), lambda p: dense(p, "x", (5000, 1600), POSITIVE), []),
    ("nmf sparse", example("nmf_sparse"), lambda p: dense(p, "x", (5000, 1600), POSITIVE), []),
    ("nmf joint", example("nmf_joint"), lambda p: counts(p), ["--set", "topic=40"]),
    ("nmf gamma joint", example("nmf_gamma_joint"), lambda p: counts(p), ["--set", "programme=40"]),
    ("lda", example("lda"), lambda p: counts(p, name="n"), ["--set", "topic=50"]),
    ("lda, ordinary", example("lda"), lambda p: counts(p, name="n"), ["--set", "topic=50", "--allocations", "ordinary", "--warmup", "none"]),
    ("lda, ordinary, shards", example("lda"), lambda p: counts(p, name="n"), ["--set", "topic=30", "--allocations", "ordinary", "--warmup", "none", "--shards", "doc=4"]),
    ("lda, ordinary, batch", example("lda"), lambda p: counts(p, name="n"), ["--set", "topic=30", "--allocations", "ordinary", "--warmup", "none", "--batch", "doc=10"]),
    ("lda, held out", example("lda"), lambda p: counts(p, name="n"), ["--set", "topic=40", "--heldout", "n=0.1"]),
    ("lda vem", example("lda_vem"), lambda p: counts(p), ["--set", "topic=60"]),
    ("lda tokens", example("lda_tokens"), lambda p: tokens(p, 5000, 100, 8000), ["--set", "topic=30"]),
    ("plsa", example("plsa"), lambda p: counts(p), ["--set", "topic=50"]),
    ("Dirichlet Poisson", example("dirichlet_poisson"), lambda p: counts(p), ["--set", "community=50"]),
    ("hpf", example("hpf"), lambda p: counts(p, name="y"), ["--set", "taste=40"]),
    ("hpf, ordinary", example("hpf"), lambda p: counts(p, name="y"), ["--set", "taste=50", "--allocations", "ordinary"]),
    ("Poisson tensor", TENSOR, lambda p: listed(p, "x", "a,b,c", (20_000, 5000, 300), 600_000), ["--set", "part=60"]),
    ("Poisson tensor, restarts", TENSOR, lambda p: listed(p, "x", "a,b,c", (20_000, 5000, 300), 500_000), ["--set", "part=60", "--restarts", "2"]),
    ("Gaussian mixture", example("gmm"), lambda p: dense(p, "x", (30_000, 300)), ["--restarts", "2"]),
    ("Gaussian mixture, shards", example("gmm"), lambda p: dense(p, "x", (30_000, 300)), ["--restarts", "1", "--shards", "sample=4"]),
    ("Gaussian mixture, batch", example("gmm"), lambda p: dense(p, "x", (30_000, 300)), ["--restarts", "1", "--batch", "sample=8"]),
    ("binary mixture", MIXTURE, lambda p: dense(p, "x", (30_000, 300), BINARY), []),
    ("binary mixture, missing", MIXTURE, lambda p: dense(p, "x", (15_000, 200), BINARY, missing=0.1), []),
    ("full mixture", FULL, lambda p: dense(p, "x", (150_000, 30)), []),
    ("regression, 2,000 inputs", example("linear_regression_ard"), lambda p: dense(p, "x", (4000, 2000)) + dense(p, "y", (4000,)), []),
    ("regression, 300 inputs", example("linear_regression_ard"), lambda p: dense(p, "x", (40_000, 300)) + dense(p, "y", (40_000,)), []),
    ("regression, shards", example("linear_regression_ard"), lambda p: dense(p, "x", (40_000, 300)) + dense(p, "y", (40_000,)), ["--shards", "sample=4"]),
    ("logistic regression", LOGISTIC, lambda p: dense(p, "x", (60_000, 200)) + dense(p, "y", (60_000,), BINARY), []),
    ("logistic regression, batch", LOGISTIC, lambda p: dense(p, "x", (60_000, 200)) + dense(p, "y", (60_000,), BINARY), ["--batch", "row=6"]),
    ("answers, missing", LEVELS, lambda p: dense(p, "y", (6000, 500), BINARY, missing=0.1), []),
    ("rates by L-BFGS", RATES, lambda p: dense(p, "x", (60_000, 200)) + dense(p, "y", (60_000,), COUNT), []),
    ("effects, ragged", EFFECTS, lambda p: table(p, "y", "school,pupil,y", (f"s{s},p{i},{DRAW.gauss(0, 1):.4f}\n" for s in range(30_000) for i in range(DRAW.randrange(5, 60)))), []),
]


def fit(cavi, place, program, data, options):
    """One fit; its forecast and its peak in bytes, or what went wrong."""
    path = program
    if isinstance(program, str):
        path = place / "program.cavi"
        path.write_text(program)
    command = [cavi, "fit", str(path), "--sweeps", "4", "--threads", "2", "--seed", "1", "--json", "--out", str(place / "out")]
    begun = time.monotonic()
    run = subprocess.run([*command, *data, *options], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return None, run.stderr.strip()[-300:]
    summary = json.loads(run.stdout)
    return (summary["planned_bytes"], summary["peak_bytes"], time.monotonic() - begun), None


def main():
    """Fit all, and print the table."""
    cavi, words = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    wrong = count = 0
    print("| fit | measured, MB | forecast, MB | forecast / measured |\n| --- | --- | --- | --- |")
    for name, program, make, options in FITS:
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            found, problem = fit(cavi, place, program, make(place), options)
        count += 1
        if problem is not None:
            wrong += 1
            print(f"| {name} | {problem!r} |")
            continue
        planned, peak, _ = found
        is_wrong = peak >= 100e6 and not LEAST <= planned / peak <= MOST
        wrong += is_wrong
        print(f"| {name} | {peak / 1e6:.0f} | {planned / 1e6:.0f} | {planned / peak:.2f}{' !' if is_wrong else ''} |", flush=True)
    print(f"{count} fits, {wrong} of them wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
