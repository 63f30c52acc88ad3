"""Hierarchical Poisson factorisation against hpfrec, one thread: seconds a sweep, and seconds to hpfrec's final held-out score; poismf beside them.

A tenth of the units of the counts is held out by thinning. The score is the log probability of the held-out counts under Poisson rates
0.1 / 0.9 sum_k E theta_uk E beta_ik, over all cells, by the held-out unit, by one evaluator. hpfrec computes in single precision (its default), Cavi in double but for a row with `--precision f32`. hpfrec runs
until its default rule stops it (training likelihood, 1e-3); Cavi's schedules are runs of their own.
"""

from bench import median, ratio, serve, short

SCHEDULES = [(5, 0), (10, 0), (20, 0), (40, 0), (40, 5), (40, 20), (40, 60)]
PART = 0.1


def work(bench):
    rows, columns, k = (1500, 800, 10) if bench.quick else (19_356, 5_000, 50)
    directory = bench.path("data", "basket")
    made = bench.child("data.py", "thinned", directory=directory, rows=rows, columns=columns, k=k, units=95, part=PART, seed=21)
    name = f"HPF {made.rows:,} x {made.columns:,}, {made.entries:,} non-zeros, K = {k}"
    own, single, others, alone, poisson = [], [], [], [], []
    for seed in bench.turns(2):
        path = []
        for warmup, sweeps in SCHEDULES:
            out = bench.path("fit", "hpf", "cavi")
            arguments = ["--set", f"taste={k}", "--seed", seed, "--tol", 0, "--warmup", f"shapes 1 over {warmup}", "--sweeps", sweeps, "--allocations", "ordinary"]
            run = bench.cavi("hpf", out, [*arguments, "--elbo-every", 1000], data=[("y", directory / "train.npz")])
            files = [out / "posterior" / f"{factor}.mean.npy" for factor in ("theta", "beta")]
            path.append(run | scored(bench, directory, files))
        own.append(path)
        # The last schedule once more.
        run = bench.cavi("hpf", out, [*arguments, "--elbo-every", 1000, "--precision", "f32"], data=[("y", directory / "train.npz")])
        single.append(run | scored(bench, directory, files))
        if bench.has("hpfrec"):
            alone.append(bench.child("hpf.py", "hpfrec_sweep", directory=directory, k=k, seed=seed, sweeps=3))
            run = bench.child("hpf.py", "hpfrec", directory=directory, k=k, seed=seed, out=bench.path("fit", "hpf", "hpfrec"))
            others.append(run | scored(bench, directory, run["files"]))
        if bench.has("poismf") and not poisson:
            run = bench.child("hpf.py", "poismf", directory=directory, k=k, seed=seed, out=bench.path("fit", "hpf", "poismf"))
            poisson.append(run | scored(bench, directory, run["files"]))
    last = [path[-1] for path in own]
    sweep = median(r["sweep"] for r in last)
    bench.row(name, f"Cavi, shapes 1 over {SCHEDULES[-1][0]} and {SCHEDULES[-1][1]} sweeps", sweep, median(r["seconds"] for r in last),
              median(r["peak"] for r in last), median(r["elbo"] for r in last), median(r["score"] for r in last))
    gain = ratio([r["sweep"] for r in last], [r["sweep"] for r in single])
    bench.row(name, "Cavi, the same with --precision f32", median(r["sweep"] for r in single), median(r["seconds"] for r in single),
              median(r["peak"] for r in single), median(r["elbo"] for r in single), median(r["score"] for r in single),
              remark=f"{short(gain)}x as fast as f64")
    if others:
        reached = [next((r["seconds"] for r in path if r["score"] >= other["score"]), None) for path, other in zip(own, others)]
        faster = ratio([r["sweep"] for r in alone], [r["sweep"] for r in last])
        sooner = ratio([r["seconds"] for r in others], reached)
        bench.row(name, "hpfrec, a sweep", median(r["sweep"] for r in alone), None, median(r["peak"] for r in alone), None, None, faster)
        bench.row(name, "hpfrec, to its end", None, median(r["seconds"] for r in others), median(r["peak"] for r in others), None,
                  median(r["score"] for r in others), sooner, f"{others[0]['sweeps']} sweeps")
        bench.row(name, "Cavi to that score", None, median(reached), remark=f"{sum(r is not None for r in reached)} of {len(reached)} seeds reach it")
        bench.goal(name, "40x faster a sweep than hpfrec", f"{short(faster)}x", faster >= 40)
        bench.goal(name, "20x sooner at hpfrec's final score", f"{short(sooner)}x" if sooner else "not reached", bool(sooner and sooner >= 20))
    else:
        bench.absent(name, "hpfrec")
    for run in poisson:
        bench.row(name, "poismf, conjugate gradients, its defaults", None, run["seconds"], run["peak"], None, run["score"])
    if not bench.has("poismf"):
        bench.absent(name, "poismf")


def scored(bench, directory, files):
    return dict(score=bench.child("hpf.py", "evaluate", directory=directory, files=files)["score"])


# What runs in processes of its own.


def table(directory):
    import pandas as pd
    import scipy.sparse as sp

    train = sp.load_npz(f"{directory}/train.npz").tocoo()
    return train.shape, pd.DataFrame(dict(UserId=train.row, ItemId=train.col, Count=train.data))


def model(k, seed, sweeps, **options):
    from hpfrec import HPF

    return HPF(k=k, ncores=1, random_seed=seed, maxiter=sweeps, reindex=True, verbose=False, keep_data=False, **options)


def hpfrec_sweep(directory, k, seed, sweeps):
    _, counts = table(directory)
    seconds = []
    for n in (1, 1 + sweeps):
        fit = model(k, seed, n, stop_crit="maxiter", check_every=n)
        begin = clock()
        fit.fit(counts.copy())
        seconds.append(clock() - begin)
    return dict(sweep=(seconds[1] - seconds[0]) / sweeps)


def hpfrec(directory, k, seed, out):
    import numpy as np

    shape, counts = table(directory)
    fit = model(k, seed, 200, stop_crit="train-llk", check_every=10, stop_thr=1e-3)
    begin = clock()
    fit.fit(counts.copy())
    seconds = clock() - begin
    files = save(out, spread(fit.Theta, fit.user_mapping_, shape[0]), spread(fit.Beta, fit.item_mapping_, shape[1]))
    return dict(seconds=seconds, sweeps=int(fit.niter), files=files)


def spread(factor, labels, size):
    """Rows in the order of the data; one that the data do not have is 0."""
    import numpy as np

    full = np.zeros((size, factor.shape[1]))
    full[np.asarray(labels).astype(int)] = factor
    return full


def poismf(directory, k, seed, out):
    import scipy.sparse as sp
    from poismf import PoisMF

    train = sp.load_npz(f"{directory}/train.npz").tocoo()
    fit = PoisMF(k=k, reindex=False, random_state=seed, nthreads=1)
    begin = clock()
    fit.fit(train)
    seconds = clock() - begin
    return dict(seconds=seconds, files=save(out, fit.A.astype(float), fit.B.astype(float)))


def save(out, theta, beta):
    import pathlib

    import numpy as np

    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    files = [f"{out}/theta.npy", f"{out}/beta.npy"]
    np.save(files[0], theta)
    np.save(files[1], beta)
    return files


def evaluate(directory, files):
    import numpy as np
    import scipy.sparse as sp
    from scipy.special import gammaln

    theta, beta = map(np.load, files)
    scored = sp.load_npz(f"{directory}/scored.npz").tocoo()
    scale = PART / (1 - PART)
    rate = scale * np.einsum("nk,nk->n", theta[scored.row], beta[scored.col])
    total = (scored.data * np.log(np.maximum(rate, 1e-30)) - gammaln(scored.data + 1)).sum() - scale * float(theta.sum(axis=0) @ beta.sum(axis=0))
    return dict(score=float(total / scored.data.sum()))


if __name__ == "__main__":
    serve(globals())
