"""Rankings of what people bought or looked at: hierarchical Poisson factorisation by Cavi and by hpfrec, and popularity. One thread each.

The corpora are baskets of groceries, by category and by type, and visits to areas of a web site. Of each person with at least five different items a fifth of
them, drawn at random, is hidden whole; what is left is fitted, with 20 components. Candidates are the items that the person does not have in what was
fitted; those that were hidden are relevant. One evaluator ranks the candidates of all by the expected count, the mean of theta times the mean of
beta, and popularity ranks by the units that an item has in all. Metrics are means over persons, of lists of 20: the discounted gain (`ndcg@20`), the
part of what is relevant that is in the list (`recall@20`), and average precision over all candidates (`map`).

Cavi runs the built-in program as it is. hpfrec runs with its own defaults until its default rule stops it (training likelihood, 1e-3). Seconds are those of the
fit. Then `cavi top` is asked for the lists themselves, and they must have the gain that the evaluator found.
"""

from bench import median, ratio, serve

SETS = {
    "baskets by category": "complete_journey/category.mtx.gz",
    "baskets by type": "complete_journey/type.mtx.gz",
    "web site": "msweb/train.mtx.gz",
}
METRICS = ("ndcg@20", "recall@20", "map")
COMPONENTS = 20


def work(bench):
    seeds = bench.turns(3)
    for name, file in SETS.items():
        if bench.quick and name != "baskets by category":
            continue
        directory = bench.path("data", f"rank {name}")
        made = bench.child("data.py", "hidden_items", directory=directory, name=file, least=5, part=0.2, seed=7)
        title = f"{name}, {made.rows:,} x {made.columns:,}, {made.entries:,} entries, {made.ranked:,} persons ranked"
        popular = bench.child("rank.py", "popularity", directory=directory)
        own, theirs = [], []
        for seed in seeds:
            out = bench.path("fit", f"rank {name}", f"cavi-{seed}")
            run = bench.cavi("hpf", out, ["--set", f"taste={COMPONENTS}", "--seed", seed, "--elbo-every", 1000], data=[("y", directory / "train.csv")])
            own.append(run | bench.child("rank.py", "factors", directory=directory, fit=str(out)))
            if bench.has("hpfrec"):
                run = bench.child("hpf.py", "hpfrec", directory=directory, k=COMPONENTS, seed=seed, out=bench.path("fit", f"rank {name}", "hpfrec"))
                theirs.append(run | bench.child("rank.py", "metrics", directory=directory, theta=run["files"][0], beta=run["files"][1]))
        listed, _, _, _ = bench.process(
            [bench.cavi_binary, "top", out, "--rank", "item", "--for", "user", "--n", 20, "--not-in", directory / "train.csv"]
        )
        lists = bench.path("fit", f"rank {name}", "lists.csv")
        lists.write_text(listed)
        gain = bench.child("rank.py", "of_lists", directory=directory, lists=str(lists))["ndcg@20"]
        bench.row(title, "popularity", remark=shown(popular))
        bench.row(title, "Cavi, the built-in hpf as it is", None, median(r["seconds"] for r in own), median(r["peak"] for r in own), remark=shown(average(own)))
        bench.goal(title, "the lists of `cavi top` have the gain of its factors", f"{gain:.6f} and {own[-1]['ndcg@20']:.6f}", abs(gain - own[-1]["ndcg@20"]) < 1e-6)
        bench.goal(title, "ndcg@20 above popularity", compared(own, [popular]), average(own)["ndcg@20"] > popular["ndcg@20"])
        if theirs:
            faster = ratio([r["seconds"] for r in theirs], [r["seconds"] for r in own])
            bench.row(title, "hpfrec, to its end", None, median(r["seconds"] for r in theirs), median(r["peak"] for r in theirs), ratio=faster, remark=shown(average(theirs)))
            bench.goal(title, "ndcg@20 above hpfrec", compared(own, theirs), average(own)["ndcg@20"] > average(theirs)["ndcg@20"])
        else:
            bench.absent(title, "hpfrec")


def average(runs):
    return {metric: sum(run[metric] for run in runs) / len(runs) for metric in METRICS}


def shown(values):
    return ", ".join(f"{metric} {values[metric]:.4f}" for metric in METRICS)


def compared(own, others):
    return f"{average(own)['ndcg@20']:.4f} against {average(others)['ndcg@20']:.4f}"


# What runs in processes of its own.


def popularity(directory):
    import numpy as np

    train, hidden = matrices(directory)
    units = np.asarray(train.sum(axis=0)).ravel()
    return measured(np.broadcast_to(units, train.shape), train, hidden)


def metrics(directory, theta, beta):
    import numpy as np

    return measured(np.load(theta) @ np.load(beta).T, *matrices(directory))


def factors(directory, fit):
    """Cavi's factors, in the order of the matrix: its axes hold labels `u12` and `i7`, in the order in which they came."""
    import pathlib

    import numpy as np

    train, hidden = matrices(directory)
    factors = []
    for axis, latent, size in (("user", "theta", train.shape[0]), ("item", "beta", train.shape[1])):
        labels = pathlib.Path(fit, "axes", f"{axis}.txt").read_text().split()
        mean = np.load(f"{fit}/posterior/{latent}.mean.npy")
        full = np.zeros((size, mean.shape[1]))
        full[[int(label[1:]) for label in labels]] = mean
        factors.append(full)
    return measured(factors[0] @ factors[1].T, train, hidden)


def of_lists(directory, lists):
    """The gain of lists that `cavi top` printed, a table with a header."""
    import csv

    import numpy as np

    train, hidden = matrices(directory)
    places = {}
    with open(lists) as file:
        for row in csv.DictReader(file):
            places.setdefault(int(row["user"][1:]), []).append(int(row["item"][1:]))
    discount = 1 / np.log2(np.arange(2, 22))
    gains = []
    for user in np.flatnonzero(np.diff(hidden.indptr)):
        relevant = set(hidden.indices[hidden.indptr[user] : hidden.indptr[user + 1]])
        hits = np.array([item in relevant for item in places[user]])
        gains.append((hits * discount[: len(hits)]).sum() / discount[: min(20, len(relevant))].sum())
    return {"ndcg@20": float(np.mean(gains))}


def matrices(directory):
    import scipy.sparse as sp

    return [sp.load_npz(f"{directory}/{part}.npz").tocsr() for part in ("train", "hidden")]


def measured(scores, train, hidden):
    """The metrics of expected counts, persons x items."""
    import numpy as np

    discount = 1 / np.log2(np.arange(2, 22))
    found = {metric: [] for metric in METRICS}
    for user in np.flatnonzero(np.diff(hidden.indptr)):
        own = np.array(scores[user], dtype=float)
        own[train.indices[train.indptr[user] : train.indptr[user + 1]]] = -np.inf
        order = np.argsort(-own, kind="stable")
        order = order[np.isfinite(own[order])]
        relevant = np.zeros(len(own), bool)
        relevant[hidden.indices[hidden.indptr[user] : hidden.indptr[user + 1]]] = True
        hits = relevant[order]
        count = relevant.sum()
        found["ndcg@20"].append((hits[:20] * discount[: len(hits[:20])]).sum() / discount[: min(20, count)].sum())
        found["recall@20"].append(hits[:20].sum() / count)
        found["map"].append((np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1)).sum() / count)
    return {metric: float(np.mean(values)) for metric, values in found.items()}


if __name__ == "__main__":
    serve(globals())
