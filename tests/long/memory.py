"""Peak memory of fits from Python to dense doubles that the program neither centres nor scales, over the data.

    python tests/long/memory.py [MEGABYTES] [--limit RATIO] [--program NAME ...]        (Python with the package `cavi`; Linux)

The data are 2,000 MB unless MEGABYTES says otherwise: an array of 64-bit floats in C order, with 1,000 columns. Each program of `examples/` below is
fitted to it with ten components, a few sweeps, in a process of its own; `center` and `scale` are taken out of those that have them, and so is a start
that is found from the data. The peak is that of the process (VmHWM), less what it held before the data were there: the array, and all that the fit
holds beside it. `gfa` has one group here, since several are laid side by side in one array, which is a copy of them. Prints the ratio of each
program, and exits with status 1 where one is above the limit.
"""

import argparse
import re
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COLUMNS = 1000
SWEEPS = 4
# The program, its data, the axis of its components, and whether the data are positive.
PROGRAMS = {
    "nmf_ls": ("x", "note", True),
    "factor_analysis": ("x", "factor", False),
    "gfa": ("x", "factor", False),
    "nmf_gamma": ("x", "signature", True),
    "pmf": ("r", "factor", False),
    "gmm": ("x", "cluster", False),
}


def held(what):
    """Bytes that the process holds (VmRSS) or held at most (VmHWM)."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(what))


def without_copies(text):
    """The program without what has to have data of its own: centred and scaled ones, and a start that is found from them."""
    text = re.sub(r", (center|scale) over \w+", "", text)
    return re.sub(r"(?ms)^(init|report) \{.*?^\}\n", "", text)


def one(name, megabytes):
    """Fits one program; prints its line."""
    import numpy as np

    import cavi

    warnings.simplefilter("ignore")
    data, axis, is_positive = PROGRAMS[name]
    text = without_copies((ROOT / "examples" / name / f"{name}.cavi").read_text(encoding="utf-8"))
    before = held("VmRSS")
    values = np.empty((megabytes * 1_000_000 // (8 * COLUMNS), COLUMNS))
    random = np.random.default_rng(0)
    for row in values:
        random.standard_exponential(out=row) if is_positive else random.standard_normal(out=row)
    own = held("VmRSS") - before
    given = {"one": values} if name == "gfa" else values
    fit = cavi.fit(text, data={data: given}, set={axis: 10}, sweeps=SWEEPS, tol=0, restarts=1, seed=1)
    peak = held("VmHWM") - before
    summary = fit.summary
    print(
        f"{name:16} data {values.nbytes / 1e6:.0f} MB (held {own / 1e6:.0f}), peak {peak / 1e6:.0f} MB: "
        f"{peak / values.nbytes:.3f} times the data; heap {summary['peak_bytes'] / 1e6:.1f} MB, forecast {summary['planned_bytes'] / 1e6:.1f} MB; "
        f"{fit.trace['seconds'][-1]:.2f} s, ELBO {fit.elbo!r}",
        flush=True,
    )
    return peak / values.nbytes


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("megabytes", nargs="?", type=int, default=2000)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--program", nargs="*", choices=sorted(PROGRAMS), default=list(PROGRAMS))
    asked = parser.parse_args()
    if len(asked.program) == 1:
        return int(one(asked.program[0], asked.megabytes) > (asked.limit or float("inf")))
    limit = [] if asked.limit is None else ["--limit", str(asked.limit)]
    command = [sys.executable, __file__, str(asked.megabytes), *limit, "--program"]
    return max(subprocess.run([*command, name], check=False).returncode for name in asked.program)


if __name__ == "__main__":
    sys.exit(main())
