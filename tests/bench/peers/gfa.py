"""Group factor analysis, one thread: mofapy2, BayesPy and NumPy written by hand.

mofapy2 runs without spike and slab, in double precision. A sweep: without the ELBO on either side, a noise precision a view in Cavi (`programs/gfa.cavi`), a
feature in mofapy2, which has no other. To the ELBO: mofapy2 runs to its own `medium` convergence; its q is written as the initial state of its model with its factorised q
(`programs/mofa_factorised.cavi`), and Cavi's ELBO of it, at sweep 0, is what Cavi has to reach on the same model with a q joint over the factors
(`programs/mofa.cavi`) with `--accelerate auto`; one seed, since mofapy2 takes five minutes of it. A factor is active where it explains 0.1 % of the variance of a view. NumPy by hand is ../gfa_numpy.py, from Cavi's start, bound included on both sides; the two
bounds must agree.
"""

import os
import pathlib
import subprocess
import time

from bench import HERE, THREADS, bayespy_sweep, median, ratio, serve, short

K = 15


def work(bench):
    samples, features = (300, (100, 60, 40)) if bench.quick else (2000, (1000, 500, 200))
    directory = bench.path("data", "views")
    bench.child("data.py", "views", directory=directory, samples=samples, features=features, k=12, missing=0.2, seed=31)
    size = f"{samples:,} x {sum(features):,}, K = {K}"
    sweeps(bench, f"GFA {size}, complete", directory, "view", features, 20)
    sweeps(bench, f"GFA {size}, 20 % missing", directory, "missing", features, 8)
    by_hand(bench, f"GFA {size}, complete", directory, samples, features)
    to_the_bound(bench, f"GFA {size}, a precision a feature", directory, features)
    bayespy(bench, f"factor analysis {size}", directory, len(features))


def views(directory, prefix, features):
    return [(f"x[view{view}]", directory / f"{prefix}{view}.npy") for view in range(len(features))]


def sweeps(bench, work, directory, prefix, features, wanted):
    """Seconds a sweep against mofapy2."""
    own, others = [], []
    for turn in bench.turns(3):
        arguments = ["--tol", 0, "--sweeps", 30, "--elbo-every", 1000]
        own.append(bench.cavi("gfa", bench.path("fit", "gfa", "cavi"), arguments, data=views(directory, prefix, features)))
        if bench.has("mofapy2"):
            others.append(bench.child("gfa.py", "mofapy2_sweep", directory=directory, prefix=prefix, views=len(features), sweeps=10))
    bench.row(work, "Cavi, sweep alone", median(r.sweep for r in own), None, median(r.peak for r in own), median(r.elbo for r in own))
    if not others:
        return bench.absent(work, "mofapy2")
    faster = ratio([r.sweep for r in others], [r.sweep for r in own])
    bench.row(work, "mofapy2", median(r.sweep for r in others), None, median(r.peak for r in others), None, None, faster)
    bench.goal(work, f"{wanted}x faster a sweep than mofapy2", f"{short(faster)}x", faster >= wanted)


def by_hand(bench, work, directory, samples, features):
    """Seconds a sweep with its bound against NumPy with OpenBLAS, from the same start."""
    start = bench.path("fit", "gfa", "start")
    data = views(directory, "view", features)
    bench.cavi("gfa", start, ["--sweeps", 0], data=data)
    file = bench.path("fit", "gfa", "start.bin")
    bench.child("gfa.py", "starting_values", start=start, directory=directory, views=len(features), file=file)
    own, others, bounds = [], [], []
    for turn in bench.turns(5):
        own.append(bench.cavi("gfa", bench.path("fit", "gfa", "cavi"), ["--init", start, "--tol", 0, "--sweeps", 40], data=data))
        seconds, bound, peak = numpy_sweeps(bench, file, samples, features, 40)
        others.append(seconds)
        bounds.append((bound, peak))
    faster = ratio(others, [r.sweep for r in own])
    bench.row(work, "Cavi, with the bound", median(r.sweep for r in own), None, median(r.peak for r in own), own[-1].elbo)
    bench.row(work, "NumPy by hand, with the bound", median(others), None, bounds[-1][1], bounds[-1][0], None, faster)
    bench.goal(work, "1.3x faster a sweep than NumPy by hand", f"{short(faster)}x", faster >= 1.3)


def numpy_sweeps(bench, file, samples, features, sweeps):
    """The median sweep, the last bound and the peak of ../gfa_numpy.py."""
    command = [bench.python, HERE.parent / "gfa_numpy.py", file, samples, K, *features]
    environment = dict(os.environ) | dict.fromkeys(THREADS, "1")
    child = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    begin = time.perf_counter()
    child.stdin.write("\n" * sweeps)
    child.stdin.close()
    lines = [line.split() for line in child.stdout.read().splitlines()]
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError("gfa_numpy.py failed")
    # It keeps the time by the wall; on a busy machine its share of the processor is that of the whole process.
    share = min(1.0, (usage.ru_utime + usage.ru_stime) / (time.perf_counter() - begin)) if bench.clock == "cpu" else 1.0
    return share * median(float(seconds) for seconds, _ in lines), float(lines[-1][1]), usage.ru_maxrss * 1024


def to_the_bound(bench, work, directory, features):
    if not bench.has("mofapy2"):
        return bench.absent(work, "mofapy2")
    data = views(directory, "view", features)
    state = bench.path("fit", "gfa", "mofapy2")
    own, others, targets, actives = [], [], [], []
    for seed in bench.turns(1):
        run = bench.child("gfa.py", "mofapy2_fit", directory=directory, views=len(features), seed=seed, out=state)
        target = bench.cavi("mofa_factorised", bench.path("fit", "gfa", "evaluated"), ["--init", state, "--sweeps", 0], data=data).elbo
        path = bench.cavi("mofa", bench.path("fit", "gfa", "mofa"), ["--seed", seed, "--accelerate", "auto", "--tol", 1e-7], data=data)
        first = next((place for place, (_, elbo) in enumerate(path.elbos) if elbo >= target), None)
        if first is None:
            own.append(None)
        else:
            # The state at that sweep, for its factors.
            again = bench.cavi("mofa", bench.path("fit", "gfa", "reached"), ["--seed", seed, "--accelerate", "auto", "--tol", 0, "--sweeps", first], data=data)
            own.append(again.seconds)
        ours = bench.child("gfa.py", "active", directory=directory, views=len(features), state=bench.path("fit", "gfa", "reached" if first is not None else "mofa", "posterior"))
        theirs = bench.child("gfa.py", "active", directory=directory, views=len(features), state=state)
        others.append(run)
        targets.append(target)
        actives.append((ours["active"], theirs["active"], path.elbo, path.seconds, path.peak))
    faster = ratio([r.seconds for r in others], own)
    bench.row(work, "mofapy2, to its convergence (medium)", median(r.sweep for r in others), median(r.seconds for r in others), median(r.peak for r in others),
              median(targets), None, faster, f"{median(a[1] for a in actives)} active factors; its own ELBO {others[-1].elbo:.8g}")
    bench.row(work, "Cavi, to that ELBO", None, median(own), median(a[4] for a in actives), None, None, None, f"{median(a[0] for a in actives)} active factors")
    bench.row(work, "Cavi, to its convergence (1e-7)", None, median(a[3] for a in actives), None, median(a[2] for a in actives))
    fewer = all(a[0] <= a[1] for a in actives)
    bench.goal(work, "mofapy2's ELBO 20x sooner, with as few active factors", (f"{short(faster)}x" if faster else "not reached") + f", {actives[0][0]} and {actives[0][1]} active",
               bool(faster and faster >= 20 and fewer))


def bayespy(bench, work, directory, count):
    """Seconds a sweep and memory against BayesPy's factor analysis, a precision a feature, bound on both sides."""
    whole = bench.path("data", "views", "whole.npy")
    bench.child("gfa.py", "joined", directory=directory, views=count, file=whole)
    own, others = [], []
    for turn in bench.turns(3):
        arguments = ["--set", f"factor={K}", "--tol", 0, "--sweeps", 30]
        own.append(bench.cavi("factor_analysis", bench.path("fit", "gfa", "fa"), arguments, data=[("x", whole)]))
        if bench.has("bayespy"):
            others.append(bench.child("gfa.py", "bayespy_factors", file=whole, sweeps=4))
    bench.row(work, "Cavi, with the bound", median(r.sweep for r in own), None, median(r.peak for r in own), median(r.elbo for r in own))
    if not others:
        return bench.absent(work, "BayesPy")
    faster = ratio([r.sweep for r in others], [r.sweep for r in own])
    smaller = median(r.peak for r in others) / median(r.peak for r in own)
    bench.row(work, "BayesPy, with the bound", median(r.sweep for r in others), None, median(r.peak for r in others), None, None, faster)
    bench.goal(work, "50x faster a sweep than BayesPy", f"{short(faster)}x", faster >= 50)
    bench.goal(work, "1/20 of BayesPy's memory", f"1/{short(smaller)}", smaller >= 20)


# What runs in processes of its own.


def loaded(directory, prefix, views):
    import numpy as np

    return [np.load(f"{directory}/{prefix}{view}.npy") for view in range(views)]


def mofa(directory, prefix, views, seed, iterations, **training):
    """A mofapy2 model, built."""
    import contextlib
    import io

    from mofapy2.run.entry_point import entry_point

    with contextlib.redirect_stdout(io.StringIO()):
        entry = entry_point()
        entry.set_data_options(scale_views=False)
        entry.set_data_matrix([[x] for x in loaded(directory, prefix, views)], likelihoods=["gaussian"] * views)
        entry.set_model_options(factors=K, spikeslab_weights=False, spikeslab_factors=False, ard_weights=True, ard_factors=False)
        entry.set_train_options(iter=iterations, seed=seed, quiet=True, dropR2=None, **training)
        entry.build()
    return entry


def timed(entry):
    import contextlib
    import io

    begin = clock()
    with contextlib.redirect_stdout(io.StringIO()):
        entry.run()
    return clock() - begin


def mofapy2_sweep(directory, prefix, views, sweeps):
    # It runs one iteration fewer than it is told.
    seconds = [timed(mofa(directory, prefix, views, 1, n, freqELBO=10_000, startELBO=10_000, nostop=True)) for n in (2, 2 + sweeps)]
    return dict(sweep=(seconds[1] - seconds[0]) / sweeps)


def mofapy2_fit(directory, views, seed, out):
    """To convergence; q is written as `posterior/` is laid out."""
    import numpy as np

    entry = mofa(directory, "view", views, seed, 2000, convergence_mode="medium")
    seconds = timed(entry)
    nodes, stats = entry.model.nodes, entry.model.train_stats
    out = pathlib.Path(out)

    def save(name, value):
        path = out / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.ascontiguousarray(value, dtype=float))

    samples = loaded(directory, "view", 1)[0].shape[0]
    z = nodes["Z"].getParameters()
    save("z.mean", z["mean"])
    save("z.var", np.broadcast_to(z["var"], z["mean"].shape))
    alpha = []
    for view in range(views):
        w = nodes["W"].getNodes()[view].getParameters()
        save(f"w.mean/view{view}", w["mean"])
        save(f"w.var/view{view}", np.broadcast_to(w["var"], w["mean"].shape))
        a = nodes["AlphaW"].getNodes()[view].getParameters()
        alpha.append((np.broadcast_to(a["a"], K), np.broadcast_to(a["b"], K)))
        tau = nodes["Tau"].getNodes()[view].getParameters()
        save(f"tau.shape/view{view}", of_features(tau["a"], samples))
        save(f"tau.rate/view{view}", of_features(tau["b"], samples))
    save("alpha.shape", [a for a, _ in alpha])
    save("alpha.rate", [b for _, b in alpha])
    elbo = [value for value in stats["elbo"] if np.isfinite(value)]
    iterations = len(stats["time"])
    return dict(seconds=seconds, sweep=seconds / iterations, sweeps=iterations, elbo=float(elbo[-1]))


def of_features(values, samples):
    """One value a feature, from an array that has them for each group or sample."""
    return values if values.ndim == 1 else values[0]


def active(directory, views, state):
    """Factors that explain 0.1 % of the variance of a view."""
    import numpy as np

    z = np.load(f"{state}/z.mean.npy")
    count = np.zeros(z.shape[1], dtype=bool)
    for view, x in enumerate(loaded(directory, "view", views)):
        w = np.load(f"{state}/w.mean/view{view}.npy")
        for k in range(z.shape[1]):
            count[k] |= 1 - ((x - np.outer(z[:, k], w[:, k])) ** 2).sum() / (x**2).sum() >= 1e-3
    return dict(active=int(count.sum()))


def starting_values(start, directory, views, file):
    """The file of doubles that ../gfa_numpy.py reads."""
    import numpy as np

    def part(name):
        return np.load(f"{start}/posterior/{name}.npy")

    means = [part(f"w.mean/view{view}") for view in range(views)]
    covariances = [part(f"w.cov/view{view}")[0] for view in range(views)]
    parts = [part("z.mean"), part("z.cov")[0], *means, *covariances]
    parts += [part(name) for name in ("alpha.shape", "alpha.rate", "tau.shape", "tau.rate")]
    parts.append(np.hstack(loaded(directory, "view", views)))
    np.concatenate([value.ravel() for value in parts]).astype("<f8").tofile(file)
    return {}


def joined(directory, views, file):
    import numpy as np

    np.save(file, np.hstack(loaded(directory, "view", views)))
    return {}


def bayespy_factors(file, sweeps):
    import numpy as np
    from bayespy.inference import VB
    from bayespy.nodes import Add, Gamma, GaussianARD, SumMultiply

    x = np.load(file)
    samples, features = x.shape
    alpha = Gamma(1e-3, 1e-3, plates=(K,))
    w = GaussianARD(0, alpha, shape=(K,), plates=(features, 1))
    z = GaussianARD(0, 1, shape=(K,), plates=(1, samples))
    mu = GaussianARD(0, 1e-6, plates=(features, 1))
    psi = Gamma(1e-3, 1e-3, plates=(features, 1))
    y = GaussianARD(Add(SumMultiply("i,i", w, z), mu), psi)
    y.observe(x.T)
    w.initialize_from_random()
    q = VB(y, z, w, mu, alpha, psi)
    return dict(sweep=bayespy_sweep(q, sweeps, clock))


if __name__ == "__main__":
    serve(globals())
