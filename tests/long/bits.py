"""Fits every program with 1, 2, 3, 5 and 8 threads, and compares the bytes of the results.

    python tests/long/bits.py CAVI [PROGRAMS]

CAVI is the binary. The programs are the built-in ones with their data, and those of PROGRAMS (tests/models) with data that `cavi simulate`
draws from their priors, where the priors allow it. Options take turns: as the program says, restarts, acceleration, single
precision. Prints for each option how many fits were compared, and which differ; what was not compared is counted by its reason. Ends
with status 1 if a bit differs.
"""

import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

THREADS = [1, 2, 3, 5, 8]
OPTIONS = [
    [],
    ["--restarts", "3"],
    ["--accelerate", "auto"],
    ["--precision", "f32"],
]


def run(arguments):
    return subprocess.run(arguments, capture_output=True, text=True)


def reason(ended):
    """Why a command failed: its first error, without the names in it."""
    lines = [line for line in ended.stderr.splitlines() if line.startswith("error")]
    return re.sub(r"`[^`]*`", "`...`", (lines or [f"status {ended.returncode}"])[0])[:100]


def bits(out):
    """The bytes of all arrays, and the traces without their seconds."""
    found = {}
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.suffix == ".npy":
            found[name] = path.read_bytes()
        elif path.name == "trace.csv":
            rows = [line.split(",") for line in path.read_text().splitlines()]
            seconds = rows[0].index("seconds")
            found[name] = [row[:seconds] + row[seconds + 1 :] for row in rows]
    return found


def compared(command, place, name):
    """Whether all numbers of threads give the same bits; None, and why, if there is no fit."""
    first = None
    for threads in THREADS:
        out = place / f"{name}-{threads}"
        ended = run([*command, "--threads", str(threads), "--quiet", "--out", str(out)])
        if ended.returncode not in (0, 4) or not (out / "summary.json").exists():
            return None, reason(ended)
        own = bits(out)
        first = own if first is None else first
        if own != first:
            return False, f"{threads} threads"
    return True, ""


def drawn(cavi, path, out):
    """Draws data from the prior of a program; an axis whose size nothing tells has 7 positions."""
    sizes = []
    while True:
        ended = run([cavi, "simulate", str(path), "--seed", "3", "--out", str(out), *sizes])
        asked = [name for name in re.findall(r"--set (\w+)=SIZE", ended.stderr) if f"{name}=7" not in sizes]
        if ended.returncode == 0 or not asked:
            return ended
        for name in dict.fromkeys(asked):
            sizes += ["--set", f"{name}=7"]


def main():
    cavi = str(Path(sys.argv[1]).resolve())
    programs = sorted(Path(sys.argv[2]).glob("*.cavi")) if len(sys.argv) > 2 else []
    counted, differing, left_out = collections.Counter(), [], collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        works = []
        for line in run([cavi, "list"]).stdout.splitlines():
            name = line.split()[0] if line.strip() else ""
            if (Path(__file__).parents[2] / "examples" / name).is_dir() and name:
                works.append((name, [cavi, "demo", name, "--sweeps", "15", "--tol", "0"]))
        for path in programs:
            ended = drawn(cavi, path, place / f"drawn-{path.stem}")
            line = next((line for line in ended.stdout.splitlines() + ended.stderr.splitlines() if "cavi fit " in line), "")
            if ended.returncode != 0 or not line:
                left_out[reason(ended) if ended.returncode else "no line to fit the draw"] += 1
                continue
            words = line[line.index("cavi fit ") :].split()[1:]
            if "--out" in words:
                place_of_out = words.index("--out")
                del words[place_of_out : place_of_out + 2]
            works.append((path.stem, [cavi, *words, "--sweeps", "15", "--tol", "0"]))
        for number, (name, command) in enumerate(works):
            options = OPTIONS[number % len(OPTIONS)]
            same, why = compared([*command, *options], place, f"{name}-fit")
            if same is None:
                left_out[why] += 1
                continue
            counted[" ".join(options) or "as the program says"] += 1
            if not same:
                differing.append((name, options, why))
    print(json.dumps({"compared": counted, "differing": differing, "left out": left_out}, indent=1))
    return 1 if differing or not counted else 0


if __name__ == "__main__":
    sys.exit(main())
