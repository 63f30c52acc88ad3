"""What every work shares: runs in processes of their own, timed, with one thread and their peak memory; and the rows of the table.

The parent imports the standard library only, so that it is small: Linux counts the size of a process before `exec` to the peak of its child.
"""

import concurrent.futures
import contextlib
import io
import json
import os
import pathlib
import platform
import queue
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
CORPORA = HERE.parent / "data"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")


class Run(dict):
    """What one process reported: `seconds` of its fit, `sweep` seconds a sweep, scores; and `peak` bytes, `process` seconds."""

    __getattr__ = dict.__getitem__


class Bench:
    """Where things are, and how long each work may take."""

    def __init__(self, python, cavi, directory, quick, clock, installed, most=99, beside=1):
        self.python, self.cavi_binary, self.directory = python, cavi, directory
        self.quick, self.clock, self.installed, self.most, self.beside = quick, clock, installed, most, beside
        self.rows, self.goals = [], []
        self.own = threading.local()

    def path(self, *parts):
        """A path of the working directory whose parent exists."""
        path = self.directory.joinpath(*map(str, parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def has(self, *packages):
        """Whether the environment has all of these."""
        return all(package in self.installed for package in packages)

    def turns(self, count):
        """Seeds or turns: 1, 2, ... up to what is asked for, and no more than `--turns`."""
        return range(1, min(count, self.most, 2 if self.quick else count) + 1)

    def side_by_side(self, jobs):
        """What each of the jobs (functions without arguments) returns, in their order: one after another, or with `--beside N` up to N at a time,
        the processes of each on two cores that no other job has."""
        if self.beside == 1:
            return [job() for job in jobs]
        free = queue.SimpleQueue()
        for pair in pairs_of_cores()[: self.beside]:
            free.put(pair)

        def pinned(job):
            self.own.cores = free.get()
            try:
                return job()
            finally:
                free.put(self.own.cores)
                self.own.cores = None

        with concurrent.futures.ThreadPoolExecutor(free.qsize()) as pool:
            return list(pool.map(pinned, jobs))

    def process(self, command, **variables):
        """Runs a command to its end with one thread. Returns its output, peak bytes, and its seconds by the wall and by the CPU."""
        environment = dict(os.environ) | dict.fromkeys(THREADS, "1") | {"PYTHONWARNINGS": "ignore"} | variables
        cores = getattr(self.own, "cores", None)
        if cores is not None:
            command = ["taskset", "-c", cores, *command]
        with open(self.path("log", f"error-{threading.get_ident()}.txt"), "w+") as errors:
            start = time.perf_counter()
            child = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
            output = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                errors.seek(0)
                raise RuntimeError(f"{' '.join(map(str, command))}\n{output[-2000:]}\n{errors.read()[-4000:]}")
        return output, usage.ru_maxrss * 1024, wall, usage.ru_utime + usage.ru_stime

    def child(self, file, function, /, **arguments):
        """Calls `function(**arguments)` of a file beside this one in a process of the environment; see `serve`."""
        output, peak, wall, cpu = self.process([self.python, HERE / file, function, json.dumps(arguments, default=str), self.clock])
        return Run(json.loads(output.splitlines()[-1]), peak=peak, process=wall, cpu=cpu)

    def seconds(self, seconds, run):
        """Seconds by the wall as the clock says: as they are, or those that all processors of its process spent, by share."""
        return seconds * run.cpu / run.process if self.clock == "cpu" else seconds

    def cavi(self, program, out, arguments=(), data=(), threads=1, before=(), binary=None):
        """`cavi fit`, after the words `before`. `seconds` counts from the first sweep's start, reading and writing apart, as `trace.csv` does."""
        path = HERE / "programs" / f"{program}.cavi"
        command = [*before, binary or self.cavi_binary, "fit", path if path.exists() else program, "--out", out, "--threads", threads, "--quiet"]
        for name, file in data:
            command += ["--data", f"{name}={file}"]
        _, peak, wall, cpu = self.process([*command, *arguments])
        lines = (out / "trace.csv").read_text().splitlines()[1:]
        cells = [line.split(",") for line in lines]
        seconds = [float(cell[3]) for cell in cells]
        fit = [float(cell[3]) for cell in cells if cell[4] != "warmup"]
        scale = cpu / wall if self.clock == "cpu" else 1.0
        scale = min(1.0, scale) if threads == 1 and not before else scale
        sweeps = [later - earlier for earlier, later in zip(fit, fit[1:])]
        return Run(
            seconds=scale * seconds[-1],
            sweep=scale * statistics.median(sweeps) if sweeps else None,
            elbo=float(cells[-1][1]) if cells[-1][1] else None,
            elbos=[(scale * float(cell[3]), float(cell[1])) for cell in cells if cell[1]],
            peak=peak,
            process=wall,
            out=str(out),
        )

    def row(self, work, who, sweep=None, seconds=None, peak=None, objective=None, score=None, ratio=None, remark=""):
        """A row of the table: numbers in seconds and bytes; `ratio` is the peer's time by Cavi's, or None."""
        row = dict(work=work, who=who, sweep=sweep, seconds=seconds, peak=peak, objective=objective, score=score, ratio=ratio, remark=remark)
        self.rows.append(row)
        print(" | ".join(cells(row)), file=sys.stderr, flush=True)

    def goal(self, work, wanted, measured, met):
        """A goal, in words, with what was measured."""
        self.goals.append(dict(work=work, wanted=wanted, measured=measured, met=met))
        print(f"  goal: {work}: wanted {wanted}; measured {measured}: {verdict(met)}", file=sys.stderr, flush=True)

    def absent(self, work, package):
        """A row for a peer that is not installed."""
        self.row(work, package, remark="not installed")

    def result(self):
        """The rows and goals, for a file of JSON."""
        return dict(rows=self.rows, goals=self.goals)


def verdict(met):
    return {True: "met", False: "**missed**", None: "not measured"}[met]


def median(values):
    """The median of what is there, None of nothing."""
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def ratio(peer, own):
    """How many times longer the peer takes: the median over pairs, None where Cavi did not arrive in half of them."""
    pairs = [(a, b) for a, b in zip(peer, own) if a is not None]
    arrived = [a / b for a, b in pairs if b]
    return statistics.median([*arrived, *[0.0] * (len(pairs) - len(arrived))]) if arrived and 2 * len(arrived) > len(pairs) else None


def short(value, digits=3):
    return "" if value is None else f"{value:.{digits}g}"


def cells(row):
    """The cells of a row as text."""
    return [
        row["work"],
        row["who"],
        short(row["sweep"]),
        short(row["seconds"]),
        "" if row["peak"] is None else f"{row['peak'] / 1e6:.0f}",
        "" if row["objective"] is None else f"{row['objective']:.8g}",
        "" if row["score"] is None else f"{row['score']:.4f}",
        "" if row["ratio"] is None else f"{row['ratio']:.3g}",
        row["remark"],
    ]


def machine():
    """The processor and its cores."""
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def pairs_of_cores():
    """Pairs of cores that this process may use, as `taskset` names them; of a core that runs two threads at once only the first is used."""
    first = []
    for core in sorted(os.sched_getaffinity(0)):
        siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        beside = siblings.read_text().replace("-", ",").split(",") if siblings.exists() else [core]
        if int(beside[0]) == core:
            first.append(core)
    return [f"{one},{other}" for one, other in zip(first[::2], first[1::2])]


def bayespy_sweep(q, sweeps, clock):
    """Seconds a sweep of BayesPy's variational inference, bound included, after one that is not counted; its lines are dropped."""
    with contextlib.redirect_stdout(io.StringIO()):
        q.update(repeat=1, tol=0, verbose=False)
        begin = clock()
        q.update(repeat=sweeps, tol=0, verbose=False)
    return (clock() - begin) / sweeps


def serve(functions):
    """The other end of `Bench.child`: calls the function that the command line names, prints what it returns as JSON."""
    _, name, arguments, clock = sys.argv
    functions["clock"] = {"wall": time.perf_counter, "cpu": time.process_time}[clock]
    print("\n" + json.dumps(functions[name](**json.loads(arguments))))
