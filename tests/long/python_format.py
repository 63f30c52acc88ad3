"""Runs the files of `cavi derive --format python` beside the executor: parameters and bound over 20 sweeps.

Usage: python tests/long/python_format.py CAVI   (Python with NumPy and SciPy; CAVI is the binary)
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWEEPS, TOLERANCE, LENGTHS = 20, 1e-10, [7, 6, 5, 4, 3]


def run(*arguments):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)


def compare(cavi, program, folder):
    """None where the program has no code, else the largest relative difference."""
    code = run(cavi, "derive", program, "--format", "python")
    if code.returncode != 0:
        return None, code.stderr.strip().splitlines()[0]
    module = {}
    exec(compile(code.stdout, str(program), "exec"), module)
    lengths = iter(LENGTHS * 3)
    size = dict(module["SIZES"])
    rng = np.random.default_rng(1)
    data, given = {}, []
    for variable, axes in module["DATA_AXES"].items():
        shape = [size.setdefault(axis, next(lengths)) for axis in axes]
        data[variable] = rng.poisson(3.0, shape).astype(float)
        np.save(folder / f"{variable}.npy", data[variable])
        given += ["--data", f"{variable}={folder / variable}.npy"]
    common = ["--seed", "1", "--restarts", "1", "--warmup", "none", "--accelerate", "none", "--tol", "0", "--allocations", "ordinary"]
    one = run(cavi, "fit", program, *given, *common, "--sweeps", "1", "--out", folder / "start")
    if one.returncode not in (0, 3):
        return None, one.stderr.strip().splitlines()[0]
    init = {path.stem: np.load(path) for path in (folder / "start" / "posterior").glob("*.npy")}
    np.savez(folder / "init.npz", **init)
    fit = run(cavi, "fit", program, *given, *common, "--init", folder / "init.npz", "--sweeps", SWEEPS, "--out", folder / "end")
    if fit.returncode not in (0, 3):
        return None, fit.stderr.strip().splitlines()[0]
    found, bounds = module["fit"](data, init, sizes=size, sweeps=SWEEPS)
    with open(folder / "end" / "trace.csv") as file:
        trace = [float(row["elbo"]) for row in csv.DictReader(file) if int(row["sweep"]) > 0]
    worst = np.max(np.abs(np.array(bounds[: len(trace)]) / np.array(trace) - 1.0))
    if len(trace) != SWEEPS:
        return None, f"the executor made {len(trace)} sweeps"
    for path in (folder / "end" / "posterior").glob("*.npy"):
        if path.stem in found:
            wanted = np.load(path)
            worst = max(worst, np.max(np.abs(found[path.stem] - wanted) / np.maximum(1.0, np.abs(wanted))))
    return worst, ""


def main():
    cavi = pathlib.Path(sys.argv[1]).resolve()
    programs = sorted((ROOT / "examples").glob("*/*.cavi")) + sorted((ROOT / "tests" / "models").glob("*.cavi"))
    compared, wrong = 0, 0
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst, reason = compare(cavi, program, pathlib.Path(folder))
            except ValueError as error:
                worst, reason = None, str(error)
            except Exception as error:
                worst, reason = np.inf, repr(error)
        if worst is None:
            print(f"{program.stem}: not compared: {reason}")
            continue
        compared += 1
        wrong += not worst <= TOLERANCE
        print(f"{program.stem}: {worst:.1e} {reason}{'' if worst <= TOLERANCE else '  WRONG'}", flush=True)
    print(f"{compared} programs compared, {wrong} differ by more than {TOLERANCE}")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
