#!/usr/bin/env python3
"""Cavi against the packages that people use today, in one table: RESULTS.md.

    python3 tests/bench/peers/run.py                 # environment, build, data, all works; under an hour on two quiet cores
    python3 tests/bench/peers/run.py --only lda nmf  # these works; the table keeps what earlier runs said of the others
    python3 tests/bench/peers/run.py --quick         # small data: does it run? writes no table but to the terminal

It needs Python 3.11, a C compiler, cargo, and the registries of both. Nothing is written outside of `target/peers` (or --directory) but RESULTS.md.
"""

import argparse
import datetime
import importlib
import json
import os
import pathlib
import subprocess
import sys
import venv

import bench

WORKS = ("lda", "nmf", "hpf", "rank", "gfa", "mixtures", "large")
PACKAGES = ("scikit-learn", "gensim", "tomotopy", "hpfrec", "poismf", "mofapy2", "bayespy", "pyspark")


def main():
    options = arguments()
    directory = options.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    python = environment(options.venv or directory / "venv")
    installed = versions(python)
    cavi = options.cavi or build()
    where = directory / ("quick" if options.quick else "full")
    stopped = []
    for name in options.only or WORKS:
        run = bench.Bench(python, cavi, where, options.quick, options.clock, installed, options.turns, options.beside)
        try:
            importlib.import_module(name).work(run)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            stopped.append(name)
        result = run.result() | dict(commit=commit(), date=f"{datetime.datetime.now():%Y-%m-%d %H:%M}", machine=bench.machine())
        result |= dict(clock=options.clock, turns=options.turns, stopped=name in stopped)
        run.path("results", f"{name}.json").write_text(json.dumps(result, indent=1))
    text = table(where, installed)
    if options.quick:
        print(text)
    else:
        (bench.HERE / "RESULTS.md").write_text(text)
    if stopped:
        sys.exit(f"stopped by an error: {', '.join(stopped)}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=WORKS, help="these works")
    parser.add_argument("--quick", action="store_true", help="small data, few turns")
    parser.add_argument("--directory", type=pathlib.Path, default=bench.REPOSITORY / "target" / "peers", help="environment, data and fits")
    parser.add_argument("--venv", type=pathlib.Path, help="an environment that is there or is to be made")
    parser.add_argument("--cavi", type=pathlib.Path, help="a binary, instead of building one")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a busy machine, see README.md")
    parser.add_argument("--turns", type=int, default=99, help="at most so many seeds or turns")
    parser.add_argument("--beside", type=int, default=1, metavar="N", help="`large`: up to N fits at a time, each on two cores of its own")
    return parser.parse_args()


def environment(directory):
    """Makes the environment and installs what is pinned, each package by itself: one that fails is left out."""
    python = directory / "bin" / "python"
    if not python.exists():
        venv.create(directory, with_pip=True)
    done = directory / "requirements.done"
    pinned = [line.strip() for line in (bench.HERE / "requirements.txt").read_text().splitlines() if "==" in line]
    if done.exists() and done.read_text().split() == pinned:
        return python
    for requirement in pinned:
        if subprocess.run([python, "-m", "pip", "install", "--quiet", requirement]).returncode:
            print(f"{requirement} does not install here: its rows will say so", file=sys.stderr)
    done.write_text("\n".join(pinned))
    return python


def versions(python):
    """The version of each peer that is installed."""
    script = "import importlib.metadata as m, json; print(json.dumps({d.metadata['Name'].lower(): d.version for d in m.distributions()}))"
    found = json.loads(subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout)
    return {name: found[name] for name in (*PACKAGES, "numpy", "scipy") if name in found}


def build():
    """The release binary."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "cavi-cli"], cwd=bench.REPOSITORY, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", bench.REPOSITORY / "target"))
    return target / "release" / "cavi"


def commit():
    def git(*words):
        return subprocess.run(["git", *words], cwd=bench.REPOSITORY, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "crates", "examples", "grammar", "Cargo.lock")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def table(directory, installed):
    """RESULTS.md: the goals, then every row, from the results of the works that have been run."""
    works = {name: json.loads(path.read_text()) for name in WORKS if (path := directory / "results" / f"{name}.json").exists()}
    lines = [
        "# Cavi and its peers, measured",
        "",
        "Written by `python3 tests/bench/peers/run.py`; [README.md](README.md) says what is measured and how, and what limits the goals that are missed.",
        "Medians of runs that take turns, one thread each; a ratio is the peer's time by Cavi's of the same pair.",
        "",
        "Peers: " + ", ".join(f"{name} {version}" for name, version in installed.items())
        + "".join(f", {name} not installed" for name in PACKAGES if name not in installed) + ".",
        "",
        "| work | commit | date | machine | clock | turns |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {name}{', stopped by an error' if r['stopped'] else ''} | `{r['commit']}` | {r['date']} | {r['machine']} | {r['clock']} | {r['turns'] if r['turns'] < 5 else '1 to 5'} |" for name, r in works.items()]
    lines += ["", "## Goals", "", "| work | goal | measured | |", "| --- | --- | --- | --- |"]
    for result in works.values():
        lines += [f"| {g['work']} | {g['wanted']} | {g['measured']} | {bench.verdict(g['met'])} |" for g in result["goals"]]
    lines += ["", "## Everything measured", ""]
    lines += ["| work | who | s a sweep | s to the score or in all | peak, MB | objective | held-out score | peer / Cavi | |", "| --- " * 9 + "|"]
    for result in works.values():
        lines += ["| " + " | ".join(bench.cells(row)) + " |" for row in result["rows"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
