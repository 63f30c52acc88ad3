"""Kills fits at random moments, resumes them, and compares the bytes of the results.

    python tests/long/kills.py CAVI [KILLS]

CAVI is the binary, KILLS the number of kills (100). Fits of a factorisation of counts, with warm-ups, restarts,
acceleration, held-out data and passes over shards; every second kill is SIGKILL, every second SIGINT, and the number of
threads changes each time. Prints, for each fit, how often it was killed and what was lost. Ends with status 1 if a bit differs.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A fit is killed so often and then left to end: one that is killed before its first sweep each time would never end.
MOST = 20

# The fits, by what they are there for.
FITS = [
    ("counts", ["--sweeps", "12000", "--restarts", "3"]),
    ("warmed", ["--sweeps", "8000", "--warmup", "means 500", "--restarts", "2"]),
    ("accelerated", ["--sweeps", "10000", "--accelerate", "auto"]),
    ("held out", ["--sweeps", "20000", "--heldout", "x=0.1"]),
    ("batched", ["--sweeps", "3000", "--batch", "row=8", "--restarts", "2"]),
]

PROGRAM = """model counts

axis row[i]
axis column[j]
axis part[k] = 3

data x[i, j] : count, absent = 0

w[i, k] ~ Gamma(1, rate = 1)
h[k, j] ~ Gamma(1, rate = 1)
x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))
"""


def bits(out):
    """The bytes of the posterior, and the trace without its seconds."""
    found = {path.name: path.read_bytes() for path in sorted((out / "posterior").iterdir())}
    rows = (line.split(",") for line in (out / "trace.csv").read_text().splitlines())
    found["trace.csv"] = [row[:3] + row[4:] for row in rows]
    return found


def main():
    cavi, kills = str(Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    draw = random.Random(5)
    done, begun, differing = 0, time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "m.cavi").write_text(PROGRAM)
        rows = [",".join(str(draw.choice([0, 0, 1, 2, 5])) for _ in range(40)) for _ in range(60)]
        (place / "x.csv").write_text("\n".join(rows) + "\n")
        fits = []
        for label, options in FITS:
            base = [cavi, "fit", "m.cavi", "--data", "x=x.csv", "--tol", "0", "--quiet"] + options
            start = time.monotonic()
            subprocess.run(base + ["--threads", "1", "--out", f"whole-{label}"], cwd=place, check=True)
            fits.append((label, base, time.monotonic() - start, bits(place / f"whole-{label}")))
        counts = {label: [0, 0, 0] for label, *_ in fits}
        round_number = 0
        while done < kills:
            label, base, seconds, expected = fits[round_number % len(fits)]
            out, first = f"out-{round_number}", True
            for attempt in range(1000):
                where = ["--out", out] if first else ["--resume", out]
                threads = ["--threads", str(1 + attempt % 2)]
                command = base + threads + ["--checkpoint-every", "0.01"] + where
                child = subprocess.Popen(command, cwd=place, stderr=subprocess.DEVNULL)
                first = False
                try:
                    child.wait(seconds * draw.uniform(0.05, 0.5) if done < kills and attempt < MOST else None)
                    break
                except subprocess.TimeoutExpired:
                    child.send_signal(signal.SIGKILL if attempt % 2 == 0 else signal.SIGINT)
                    child.wait()
                    done += 1
                    counts[label][0] += 1
            counts[label][1] += 1
            if child.returncode != 0 or bits(place / out) != expected:
                differing += 1
                counts[label][2] += 1
            round_number += 1
    for label, (killed, fitted, lost) in counts.items():
        print(f"{label:12} {killed:4} kills in {fitted:3} fits, {lost} with other bits")
    print(f"{done} kills in {time.monotonic() - begun:.0f} s, {differing} fits with other bits")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
