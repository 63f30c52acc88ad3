"""KL-NMF by multiplicative updates, one thread: seconds a sweep against scikit-learn, sparse and dense, and against NumPy written by hand.

All start from the same w and h and update w, then h with the new w; `objective` is the divergence after the same number of sweeps, by one
evaluator, and must agree. scikit-learn's seconds a sweep are those of the sweeps between two fits of different length; Cavi's, from `trace.csv`, are without the bound,
which scikit-learn does not compute either (the row with the bound says what it costs). A row has the sweep with `--precision f32`, whose objective is its own.
"""

from bench import median, ratio, serve, short


def work(bench):
    rows, columns, units = (2000, 1800, 60) if bench.quick else (20_000, 18_206, 166)
    directory = bench.path("data", "articles")
    made = bench.child("data.py", "thinned", directory=directory, rows=rows, columns=columns, k=100, units=units, part=0.0, seed=11)
    for k, wanted in ((20, 25), (100, 15)):
        name = f"KL-NMF {made.rows:,} x {made.columns:,}, {made.entries:,} non-zeros, K = {k}"
        compare(bench, name, directory / "train.npz", k, [("scikit-learn", "scikit_learn", wanted)], turns=3, sweeps=4 if bench.quick else 7)
    directory = bench.path("data", "dense")
    bench.child("data.py", "dense", directory=directory, rows=2000, columns=500, k=20, seed=12)
    peers = [("scikit-learn", "scikit_learn", 4), ("NumPy by hand", "numpy_by_hand", 1.3)]
    compare(bench, "KL-NMF dense 2,000 x 500, K = 20", directory / "x.npy", 20, peers, turns=5, sweeps=60)


def compare(bench, work, data, k, peers, turns, sweeps):
    start = bench.path("fit", "nmf", "start")
    bench.child("nmf.py", "starts", data=data, k=k, seed=1, out=start)
    own, bounded, single, others = [], [], [], {function: [] for _, function, _ in peers}
    for turn in bench.turns(turns):
        out = bench.path("fit", "nmf", "cavi")
        arguments = ["--set", f"part={k}", "--init", start, "--tol", 0, "--sweeps", sweeps]
        own.append(bench.cavi("nmf_kl", out, [*arguments, "--elbo-every", 1000], data=[("x", data)]))
        single.append(bench.cavi("nmf_kl", bench.path("fit", "nmf", "single"), [*arguments, "--elbo-every", 1000, "--precision", "f32"], data=[("x", data)]))
        bounded.append(bench.cavi("nmf_kl", bench.path("fit", "nmf", "bounded"), arguments, data=[("x", data)]))
        for name, function, _ in peers:
            if bench.has("scikit-learn") or function != "scikit_learn":
                others[function].append(bench.child("nmf.py", function, data=data, start=start, k=k, sweeps=sweeps, out=bench.path("fit", "nmf", function)))
    objective = bench.child("nmf.py", "divergence", data=data, out=bench.path("fit", "nmf", "cavi", "posterior"))["divergence"]
    sweep = median(r.sweep for r in own)
    bench.row(work, "Cavi, sweep alone", sweep, None, median(r.peak for r in own), objective)
    bench.row(work, "Cavi, with the bound", median(r.sweep for r in bounded), None, median(r.peak for r in bounded), objective)
    objective = bench.child("nmf.py", "divergence", data=data, out=bench.path("fit", "nmf", "single", "posterior"))["divergence"]
    gain = ratio([r.sweep for r in own], [r.sweep for r in single])
    bench.row(work, "Cavi, --precision f32", median(r.sweep for r in single), None, median(r.peak for r in single), objective,
              remark=f"{short(gain)}x as fast as f64")
    for name, function, wanted in peers:
        runs = others[function]
        if not runs:
            bench.absent(work, name)
            continue
        faster = ratio([r.sweep for r in runs], [r.sweep for r in own])
        objective = bench.child("nmf.py", "divergence", data=data, out=runs[-1]["out"])["divergence"]
        bench.row(work, name, median(r.sweep for r in runs), None, median(r.peak for r in runs), objective, None, faster)
        bench.goal(work, f"{wanted}x faster a sweep than {name}", f"{short(faster)}x", faster >= wanted)


# What runs in processes of its own.


def load(data):
    import numpy as np
    import scipy.sparse as sp

    return np.load(data) if data.endswith(".npy") else sp.load_npz(data).tocsr()


def starts(data, k, seed, out):
    import pathlib

    import numpy as np

    x = load(data)
    rng = np.random.default_rng(seed)
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    scale = np.sqrt(x.mean() / k)
    for name, shape in (("w", (x.shape[0], k)), ("h", (k, x.shape[1]))):
        np.save(f"{out}/{name}.value.npy", scale * rng.uniform(0.5, 1.5, size=shape))
    return {}


def save(out, w, h):
    import pathlib

    import numpy as np

    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    np.save(f"{out}/w.value.npy", w)
    np.save(f"{out}/h.value.npy", h)


def scikit_learn(data, start, k, sweeps, out):
    import numpy as np
    from sklearn.decomposition import non_negative_factorization

    x = load(data)
    w, h = (np.load(f"{start}/{name}.value.npy") for name in "wh")
    seconds = {}
    for count in (1, sweeps):
        begin = clock()
        fitted = non_negative_factorization(
            x, W=w.copy(), H=h.copy(), n_components=k, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=count, tol=0
        )
        seconds[count] = clock() - begin
    save(out, fitted[0], fitted[1])
    return dict(sweep=(seconds[sweeps] - seconds[1]) / (sweeps - 1), seconds=seconds[sweeps], out=out)


def numpy_by_hand(data, start, k, sweeps, out):
    import numpy as np

    x = load(data)
    w, h = (np.load(f"{start}/{name}.value.npy") for name in "wh")
    ratios = np.empty_like(x)
    begin = clock()
    for _ in range(sweeps):
        np.divide(x, np.matmul(w, h, out=ratios), out=ratios)
        w *= (ratios @ h.T) / h.sum(axis=1)
        np.divide(x, np.matmul(w, h, out=ratios), out=ratios)
        h *= (w.T @ ratios) / w.sum(axis=0)[:, None]
    seconds = clock() - begin
    save(out, w, h)
    return dict(sweep=seconds / sweeps, seconds=seconds, out=out)


def divergence(data, out):
    """sum x log(x / wh) - x + wh."""
    import numpy as np
    import scipy.sparse as sp

    x = sp.csr_matrix(load(data))
    w, h = (np.load(f"{out}/{name}.value.npy") for name in "wh")
    value = float(w.sum(axis=0) @ h.sum(axis=1)) - float(x.sum())
    columns = np.ascontiguousarray(h.T)
    for begin in range(0, x.shape[0], 1000):
        part = x[begin : begin + 1000].tocoo()
        rate = np.einsum("nk,nk->n", w[begin + part.row], columns[part.col])
        value += float((part.data * np.log(part.data / rate)).sum())
    return dict(divergence=value)


if __name__ == "__main__":
    serve(globals())
