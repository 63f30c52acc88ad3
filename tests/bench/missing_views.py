"""What a view is expected to be of samples that lack it: a joint fit, a fit to complete samples that projects the others, and ridge regression.

    python3 missing_views.py BINARY

Needs NumPy and scikit-learn. On two of the bundled sets one view is taken away from a fifth of the samples, three times, and `gfa` says what it is expected to
be: fitted to all samples, and fitted to the complete ones, the others projected. Printed is R-squared over all held-out numbers of the view,
each feature in its own standard deviation, against the means of its columns over the complete samples: 0 is no better than these.
"""

import csv
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import RidgeCV

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
SWEEPS = ["--sweeps", "300", "--quiet", "--progress", "none"]


def load(path, change=lambda values: values):
    """A table of numbers, a missing one as the mean of its column; columns that are constant are left out."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        rows = list(csv.reader(file))[1:]
    values = change(np.array([[float(cell) if cell not in ("", "NA") else np.nan for cell in row] for row in rows]))
    values = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    return values[:, values.std(axis=0) > 1e-9]


def save(path, values, labels, view):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow([""] + [f"{view}{column}" for column in range(values.shape[1])])
        for label, row in zip(labels, values):
            table.writerow([label] + ["NA" if np.isnan(cell) else repr(float(cell)) for cell in row])


def expected(binary, folder, name, labels, target, width):
    """The means of the target's entries by a fit or a projection."""
    run(binary, folder, "impute", name, "--draws", "0", "--quiet")
    with open(folder / name / "imputed" / "x.csv", newline="") as file:
        found = {(row["sample"], row["feature"]): float(row["mean"]) for row in csv.DictReader(file) if row["view"] == target}
    return np.array([[found[label, f"{target}{column}"] for column in range(width)] for label in labels])


def run(binary, folder, *arguments):
    done = subprocess.run([binary, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")


def split(binary, folder, views, target, factors, seed):
    """R-squared of the joint fit, of the projection and of ridge regression."""
    count = len(views[target])
    lacks = np.zeros(count, bool)
    lacks[np.random.default_rng(seed).choice(count, count // 5, replace=False)] = True
    labels = np.array([f"s{row}" for row in range(count)])
    data = {"all": [], "complete": [], "new": []}
    for view, values in views.items():
        shown = values.copy()
        if view == target:
            shown[lacks] = np.nan
        for part, rows in [("all", lacks | True), ("complete", ~lacks), ("new", lacks)]:
            save(folder / f"{view}.{part}.csv", shown[rows], labels[rows], view)
            data[part] += ["--data", f"x[{view}]={view}.{part}.csv"]
    more = ["--set", f"factor={factors}", *SWEEPS]
    run(binary, folder, "fit", "gfa", *data["all"], "--out", "joint", *more)
    run(binary, folder, "fit", "gfa", *data["complete"], "--out", "complete", *more)
    run(binary, folder, "project", "complete", *data["new"], "--out", "projected", "--quiet")
    truth, known = views[target][lacks], views[target][~lacks]
    centre, scale = known.mean(axis=0), known.std(axis=0)
    others = np.hstack([values for view, values in views.items() if view != target])
    others = (others - others[~lacks].mean(axis=0)) / (others[~lacks].std(axis=0) + 1e-12)
    ridge = RidgeCV(alphas=np.logspace(-1, 5, 25)).fit(others[~lacks], (known - centre) / (scale + 1e-12))
    of = lambda name: expected(binary, folder, name, labels[lacks], target, truth.shape[1])
    kept = scale > 1e-9
    residual = lambda guess: np.square(((truth - guess) / (scale + 1e-12))[:, kept]).sum()
    guesses = [of("joint"), of("projected"), ridge.predict(others[lacks]) * scale + centre]
    return [1 - residual(guess) / residual(centre) for guess in guesses]


def main():
    binary = str(Path(sys.argv[1]).resolve())
    digits, cells = EXAMPLES / "gfa" / "data", EXAMPLES / "gfa_lowrank" / "data"
    sets = [
        ("digits", "zer", 10, {view: load(digits / f"{view}.csv") for view in ["mor", "pix", "zer"]}),
        ("cell lines", "rna", 8, {view: load(cells / f"{view}.csv.gz", np.log1p) for view in ["rna", "mirna"]}),
    ]
    print("set         view  split  joint  projected  ridge")
    for name, target, factors, views in sets:
        found = []
        for seed in range(3):
            with tempfile.TemporaryDirectory() as folder:
                found.append(split(binary, Path(folder), views, target, factors, seed))
            print(f"{name:10}  {target:4}  {seed:5}  {found[-1][0]:5.3f}  {found[-1][1]:9.3f}  {found[-1][2]:5.3f}")
        joint, projected, ridge = np.mean(found, axis=0)
        print(f"{name:10}  {target:4}   mean  {joint:5.3f}  {projected:9.3f}  {ridge:5.3f}")


if __name__ == "__main__":
    main()
