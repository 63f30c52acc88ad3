"""Sweeps to converge with `--accelerate auto` and without, over the built-in programs.

    python3 accelerated.py BINARY [NAME ...]

Each program of the list is fitted to its bundled data from the seeds 1, 2 and 3, to a relative change of the bound below 1e-7 three times running, with the
program's own warm-up. The table has the median sweeps and bounds; the ratio is of the medians, and the last line its geometric mean.
A bound is counted as reached from below: where acceleration ends higher, its sweeps led further.
"""

import csv
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = [
    "nmf_gamma", "gfa", "gfa_lowrank", "factor_analysis", "ppca", "pmf", "gmm", "linear_regression_ard",
    "nmf_ls", "nmf_kl", "poisson_tensor", "hpf", "lda", "plsa",
]
SEEDS = [1, 2, 3]


def fit(binary, name, seed, accelerate):
    """Sweeps, bound and seconds of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "demo", name, "--accelerate", accelerate, "--tol", "1e-7", "--sweeps", "20000", "--seed", str(seed)]
        command += ["--restarts", "1", "--progress", "none", "--threads", "1", "--out", folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr}")
        with open(Path(folder) / "trace.csv", newline="") as file:
            rows = [row for row in csv.DictReader(file) if int(row["sweep"]) >= 0]
        return int(rows[-1]["sweep"]), float(rows[-1]["elbo"]), float(rows[-1]["seconds"])


def main():
    binary, names = sys.argv[1], sys.argv[2:] or NAMES
    print("| program | sweeps without | with | ratio | s without | with | bound without | with |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios = []
    for name in names:
        runs = {how: [fit(binary, name, seed, how) for seed in SEEDS] for how in ("none", "auto")}
        (sweeps, bound, seconds), (fewer, higher, less) = (
            [statistics.median(run[at] for run in runs[how]) for at in range(3)] for how in ("none", "auto")
        )
        ratios.append(fewer / sweeps)
        print(
            f"| {name} | {sweeps:,.0f} | {fewer:,.0f} | {fewer / sweeps:.2f} | {seconds:.2f} | {less:.2f} | {bound:,.1f} | {higher:,.1f} |",
            flush=True,
        )
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    print(f"\ngeometric mean of the ratios: {mean:.2f}")


if __name__ == "__main__":
    main()
