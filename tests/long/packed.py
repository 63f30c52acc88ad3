"""A fit of packed data larger than the memory that it may take, and the same fits from memory and from a packed file.

    python tests/long/packed.py CAVI [--megabytes 1500] [--memory 400] [--small 200] [--scratch DIR]          (Linux; standard library alone)

Writes counts as a Matrix Market file of which the packed file has the megabytes asked for, packs it, and fits `lda` to it, both under
`--memory-limit` and under a limit of the system on private memory (RLIMIT_DATA, `ulimit -d`): what takes more is refused or killed. A smaller file is
fitted from memory and from a packed file; the bytes of `posterior/` and of `trace.csv` but for its seconds are compared, and so are the peaks of the
heap. Prints a table, and exits with status 1 where bytes differ or a command fails.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

WORDS = 20_000
EACH = 2_000
# Stacks of threads count for the system's limit in full, whether or not they are used.
STACKS = 300


def write_counts(path, megabytes, shuffled):
    """Counts with 16 bytes an entry once they are packed; `shuffled`, the rows come in another order."""
    documents = megabytes * 1_000_000 // (16 * EACH)
    rows = list(range(documents))
    draw = random.Random(7)
    if shuffled:
        draw.shuffle(rows)
    step = WORDS // EACH

    def ends(kind):
        topic, value = divmod(kind, 5)
        return [f" {i * step + 1 + topic * (i + 3) * 7 % step} {1 + (i * value + topic) % 5}\n" for i in range(EACH)]

    kinds = [ends(kind) for kind in range(5 * step)]
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix coordinate integer general\n{documents} {WORDS} {documents * EACH}\n")
        for row in rows:
            place = str(row + 1)
            file.write(place + place.join(draw.choice(kinds)))


def run(command, megabytes=None):
    """Runs a command, with a limit on its private memory; its seconds and the most that it had resident, in MB."""

    def limited():
        if megabytes is not None:
            resource.setrlimit(resource.RLIMIT_DATA, ((megabytes + STACKS) * 1_000_000,) * 2)

    began = time.monotonic()
    process = subprocess.Popen(command, preexec_fn=limited, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {status}\n{said}")
    return time.monotonic() - began, used.ru_maxrss * 1024 / 1e6


def bytes_of(directory):
    """The bytes of a fit that do not depend on when it ran."""
    lines = (directory / "trace.csv").read_text().splitlines()
    place = lines[0].split(",").index("seconds")
    trace = [[own for at, own in enumerate(line.split(",")) if at != place] for line in lines]
    return trace, {own.name: own.read_bytes() for own in sorted((directory / "posterior").iterdir())}


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cavi", type=pathlib.Path)
    parser.add_argument("--megabytes", type=int, default=1500)
    parser.add_argument("--memory", type=int, default=400)
    parser.add_argument("--small", type=int, default=200)
    parser.add_argument("--scratch", default=".")
    asked = parser.parse_args()
    cavi, limit = asked.cavi.resolve(), f"--memory-limit={asked.memory}MB"
    wrong = []
    with tempfile.TemporaryDirectory(dir=asked.scratch) as scratch:
        folder = pathlib.Path(scratch)

        def fitted(data, name, *more, **limits):
            out = folder / name
            options = ["--sweeps", "5", "--seed", "1", "--warmup", "none", "--quiet", "--out", out, *more]
            seconds, resident = run([cavi, "fit", "lda", "--data", f"n={data}", *options], **limits)
            summary = json.loads((out / "summary.json").read_text())
            return seconds, resident, summary["peak_bytes"] / 1e6

        print("| data | command | seconds | peak of the heap | resident at most |\n| --- | --- | --- | --- | --- |")

        def line(data, command, seconds, resident, heap=None):
            heap = "" if heap is None else f"{heap:.0f} MB"
            print(f"| {data} | {command} | {seconds:.1f} | {heap} | {resident:.0f} MB |", flush=True)

        for shuffled in (False, True):
            source, packed = folder / "small.mtx", folder / "small.cavi-data"
            write_counts(source, asked.small, shuffled)
            what = f"{asked.small} MB" + (", rows in another order" if shuffled else "")
            line(what, "pack", *run([cavi, "pack", "lda", "--data", f"n={source}", "--out", packed, "--quiet", limit], megabytes=asked.memory))
            seconds, resident, heap = fitted(source, f"own-{shuffled}")
            line(what, "fit, from memory", seconds, resident, heap)
            seconds, resident, heap = fitted(packed, f"packed-{shuffled}")
            line(what, "fit, packed", seconds, resident, heap)
            if bytes_of(folder / f"own-{shuffled}") != bytes_of(folder / f"packed-{shuffled}"):
                wrong.append(f"{what}: the fits have other bytes")
        source, packed = folder / "large.mtx", folder / "large.cavi-data"
        write_counts(source, asked.megabytes, False)
        what = f"{asked.megabytes} MB, {asked.memory} MB of memory"
        line(what, "pack", *run([cavi, "pack", "lda", "--data", f"n={source}", "--out", packed, "--quiet", limit], megabytes=asked.memory))
        source.unlink()
        seconds, resident, heap = fitted(packed, "large", limit, megabytes=asked.memory)
        line(what, "fit, packed", seconds, resident, heap)
        if heap > asked.memory:
            wrong.append(f"the heap held {heap:.0f} MB")
    print("\n".join(wrong) or "same bytes, and within the limit")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
