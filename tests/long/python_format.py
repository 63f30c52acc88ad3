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
GROUPS = [3, 2, 4]


def run(*arguments):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)


def ragged(parents, size):
    """Three groups of different sizes for each ragged axis whose parent is not ragged."""
    groups = {}
    for axis, parent in parents.items():
        if parent in parents:
            raise ValueError("an axis in a ragged axis is not tried")
        size[parent] = 3
        groups[axis] = np.repeat(np.arange(3), GROUPS)
        size[axis] = sum(GROUPS)
    return groups


def posterior(fit):
    """The parameters of a fit; those of a ragged axis with all groups one after another."""
    folder = fit / "posterior"
    found = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    for group in filter(pathlib.Path.is_dir, folder.iterdir()):
        own = [np.load(path) for path in sorted(group.glob("*.npy"))]
        if len({array.shape for array in own}) == 1:
            # All rows of a group share one matrix.
            own = [np.repeat(array, length, axis=0) for array, length in zip(own, GROUPS)]
        found[group.name] = np.concatenate(own, axis=ragged_dimension(own))
    return found


def ragged_dimension(arrays):
    """The first dimension in which arrays differ."""
    return next(place for place, lengths in enumerate(zip(*(own.shape for own in arrays))) if len(set(lengths)) > 1)


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
    groups = ragged(module["PARENTS"], size)
    for variable, axes in module["DATA_AXES"].items():
        shape = [size.setdefault(axis, next(lengths)) for axis in axes]
        data[variable] = rng.poisson(3.0, shape).astype(float)
        cut = [place for place, axis in enumerate(axes) if axis in groups]
        if not cut:
            np.save(folder / f"{variable}.npy", data[variable])
            given += ["--data", f"{variable}={folder / variable}.npy"]
        for group in sorted(set(groups[axes[cut[0]]])) if cut else []:
            own = data[variable].compress(np.equal(groups[axes[cut[0]]], group), axis=cut[0])
            np.save(folder / f"{variable}.{group}.npy", own)
            given += ["--data", f"{variable}[g{group}]={folder / variable}.{group}.npy"]
    common = ["--seed", "1", "--restarts", "1", "--warmup", "none", "--accelerate", "none", "--tol", "0", "--allocations", "ordinary"]
    one = run(cavi, "fit", program, *given, *common, "--sweeps", "1", "--out", folder / "start")
    if one.returncode not in (0, 3):
        return None, one.stderr.strip().splitlines()[0]
    init = posterior(folder / "start")
    fit = run(cavi, "fit", program, *given, *common, "--init", folder / "start", "--sweeps", SWEEPS, "--out", folder / "end")
    if fit.returncode not in (0, 3):
        return None, fit.stderr.strip().splitlines()[0]
    found, bounds = module["fit"](data, init, sizes=size, groups=groups, sweeps=SWEEPS)
    with open(folder / "end" / "trace.csv") as file:
        trace = [float(row["elbo"]) for row in csv.DictReader(file) if int(row["sweep"]) > 0]
    worst = np.max(np.abs(np.array(bounds[: len(trace)]) / np.array(trace) - 1.0))
    if len(trace) != SWEEPS:
        return None, f"the executor made {len(trace)} sweeps"
    for file, wanted in posterior(folder / "end").items():
        if file in found:
            worst = max(worst, np.max(np.abs(found[file] - wanted) / np.maximum(1.0, np.abs(wanted))))
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
