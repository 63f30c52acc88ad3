"""LDA, alpha = eta = 0.1, one thread each: seconds to the held-out score that tomotopy and scikit-learn end at.

The score is the log probability of a token. Topics are estimated from the training documents. Of each new document one half of the tokens gives theta, the other
is scored. One evaluator scores the topics of all: theta is the fixed point of theta_k ~ alpha + sum_v n_v phi_vk, phi_vk ~ theta_k beta_kv
(maximum a posteriori with alpha + 1), p(v) = sum_k theta_k beta_kv. So it compares topics, not the packages' own inference for documents.

Cavi's seconds to a score are those of the shortest of the schedules below whose state has that score: a run of its own for each, clock from its first sweep to its
last. The last of them is the built-in program's own. Its rule of allocations was chosen by `kos` and `inaugural`, so that on those two the rows say what the choice can
reach, and on the other corpora what it does unseen. `BY_MEANS` is what the program declared before. Predictions of the seeds averaged stand in a row of their own: ten
states of a sampler are an average too.
"""

import pathlib

from bench import median, ratio, serve, short

SETS = {
    # name: (maker, arguments, topics)
    "kos": ("corpus", dict(name="kos_blog/counts.mtx.gz", new=330), 20),
    "lda5k": ("simulated_topics", dict(rows=5000, columns=7000, k=50, units=142, new=500), 50),
    "sotu": ("corpus", dict(name="sotu/counts.mtx.gz", new=24), 20),
    "inaugural": ("corpus", dict(name="inaugural/counts.mtx.gz", new=64), 20),
    "msweb": ("corpus", dict(name="msweb/train.mtx.gz", new=3000), 20),
    "jss_abstracts": ("corpus", dict(name="jss_abstracts/counts.mtx.gz", new=60), 20),
    "shakespeare": ("corpus", dict(name="shakespeare_scenes/counts.mtx.gz", new=70), 20),
    "nih_abstracts": ("corpus", dict(name="nih_abstracts/counts.mtx.gz", new=30), 20),
    "baskets": ("corpus", dict(name="complete_journey/category.mtx.gz", new=600), 20),
}
# Warm-up, sweeps after it, and their rule of allocations; the program's own where it is empty.
SCHEDULES = [(f"means {sweeps}", 0, "ordinary") for sweeps in (5, 10, 15, 20, 30, 40, 60, 90, 120, 180)]
SCHEDULES += [("means 60", sweeps, "collapsed") for sweeps in (20, 60)]
BY_MEANS, OWN = ("means 60", 20, "ordinary"), ()
TITLES = {BY_MEANS: "Cavi, means 60 and 20 sweeps", OWN: "Cavi, the built-in program as it is"}
ALPHA = ETA = 0.1


def work(bench):
    seeds = bench.turns(5)
    for name, (maker, arguments, k) in SETS.items():
        if bench.quick and name not in ("kos", "inaugural"):
            continue
        directory = bench.path("data", name)
        made = bench.child("data.py", maker, directory=directory, seed=7, **arguments)
        corpus(bench, name, directory, k, seeds, made)


def score(bench, directory, files):
    return bench.child("lda.py", "evaluate", directory=directory, files=files)["score"]


def corpus(bench, name, directory, k, seeds, made):
    """One corpus: for each seed tomotopy, scikit-learn and Cavi take turns."""
    work = f"LDA {name}, {made.rows:,} x {made.columns:,}, {made.entries:,} non-zeros, K = {k}"
    own, gibbs, batch = [], [], []
    for seed in seeds:
        common = dict(directory=str(directory), k=k, seed=seed)
        if bench.has("tomotopy"):
            run = bench.child("lda.py", "tomotopy", out=bench.path("fit", name, "tomotopy"), iterations=300, **common)
            run["score"] = score(bench, directory, run["states"][:1])
            run["averaged"] = score(bench, directory, run["states"][1:])
            if not gibbs:
                run["path"] = [(seconds, score(bench, directory, [file])) for seconds, file in run["path"]]
            gibbs.append(run)
        if bench.has("scikit-learn"):
            run = bench.child("lda.py", "scikit_learn", out=bench.path("fit", name, "sklearn"), passes=20, **common)
            run["score"] = score(bench, directory, run["states"])
            batch.append(run)
        own.append(schedules(bench, name, directory, k, seed, [run.score for run in (*gibbs[-1:], *batch[-1:])]))
    averaged = None
    for schedule in (BY_MEANS, OWN):
        runs = [path[schedule] for path in own]
        bench.row(work, TITLES[schedule], median(r.sweep for r in runs), median(r.seconds for r in runs), median(r.peak for r in runs),
                  median(r.elbo for r in runs), median(r.score for r in runs))
        if len(runs) > 1:
            averaged = score(bench, directory, [r.topics for r in runs])
            bench.row(work, f"the same, predictions of {len(runs)} seeds averaged", None, sum(r.seconds for r in runs), None, None, averaged)
    against_gibbs(bench, work, own, gibbs, averaged)
    against_batch(bench, work, own, batch)
    if not bench.has("gensim"):
        return bench.absent(work, "gensim")
    run = bench.child("lda.py", "gensim", out=bench.path("fit", name, "gensim"), passes=10, directory=str(directory), k=k, seed=1)
    result = score(bench, directory, run["states"])
    bench.row(work, "gensim, 10 passes, one seed", run.sweep, run.seconds, run.peak, None, result, ratio([run.seconds], [reach(own[0], result)]))


def schedules(bench, name, directory, k, seed, targets):
    """Cavi's runs by schedule: those in order until all targets are reached, then the two that are always run."""
    runs = {}
    for number, schedule in enumerate([*SCHEDULES, BY_MEANS, OWN]):
        if schedule in SCHEDULES and runs and all(reach(runs, target) for target in targets):
            continue
        out = bench.path("fit", name, f"cavi-{seed}-{number}")
        arguments = ["--set", f"topic={k}", "--set", f"alpha={ALPHA}", "--set", f"eta={ETA}", "--seed", seed, "--elbo-every", 1000]
        if schedule:
            warmup, sweeps, rule = schedule
            arguments += ["--tol", 0, "--warmup", warmup, "--sweeps", sweeps, "--allocations", rule]
        run = bench.cavi("lda", out, arguments, data=[("n", directory / "train.npz")])
        run["topics"] = str(out / "posterior" / "beta.mean.npy")
        run["score"] = score(bench, directory, [run.topics])
        runs[schedule] = run
    return runs


def reach(runs, target):
    """Seconds of the quickest schedule whose state scores `target` or better."""
    return min((run.seconds for run in runs.values() if run.score >= target), default=None)


def against_gibbs(bench, work, own, gibbs, averaged):
    if not gibbs:
        return bench.absent(work, "tomotopy")
    reached = [reach(path, run.score) for path, run in zip(own, gibbs)]
    faster = ratio([run.seconds for run in gibbs], reached)
    early = next(seconds for seconds, value in gibbs[0]["path"] if value >= gibbs[0].score - 0.005)
    bench.row(work, "tomotopy, one state after 300 iterations", median(r.sweep for r in gibbs), median(r.seconds for r in gibbs),
              median(r.peak for r in gibbs), None, median(r.score for r in gibbs), faster, f"first seed within 0.005 of its end after {short(early)} s")
    bench.row(work, "Cavi to that score", None, median(reached), remark=f"{sum(r is not None for r in reached)} of {len(reached)} seeds reach it")
    bench.row(work, "tomotopy, ten states averaged", None, median(r["seconds_averaged"] for r in gibbs), None, None, median(r["averaged"] for r in gibbs))
    bench.goal(work, "a quarter of tomotopy's time to its single state's score", f"1/{short(faster)}" if faster else "not reached", bool(faster and faster >= 4))
    gap = median(run.score - path[OWN].score for path, run in zip(own, gibbs))
    bench.goal(work, "one fit no worse than one state by more than 0.015", f"{abs(gap):.4f} {'short of it' if gap > 0 else 'better'}", gap <= 0.015)
    if averaged is not None:
        gap = median(run["averaged"] for run in gibbs) - averaged
        bench.goal(work, "the seeds averaged no worse than ten states averaged by more than 0.01", f"{abs(gap):.4f} {'short of it' if gap > 0 else 'better'}", gap <= 0.01)


def against_batch(bench, work, own, batch):
    if not batch:
        return bench.absent(work, "scikit-learn")
    reached = [reach(path, run.score) for path, run in zip(own, batch)]
    faster = ratio([run.seconds for run in batch], reached)
    bench.row(work, "scikit-learn, 20 passes of up to 100 inner iterations", median(r.sweep for r in batch), median(r.seconds for r in batch),
              median(r.peak for r in batch), None, median(r.score for r in batch), faster)
    bench.row(work, "Cavi to that score", None, median(reached), remark=f"{sum(r is not None for r in reached)} of {len(reached)} seeds reach it")
    bench.goal(work, "a twentieth of scikit-learn's time to its final score", f"1/{short(faster)}" if faster else "not reached", bool(faster and faster >= 20))


# What runs in processes of its own.


def tomotopy(directory, k, seed, out, iterations):
    """Collapsed Gibbs sampling. The clock runs while it trains; states are the topics' means given the assignments."""
    import numpy as np
    import scipy.sparse as sp
    import tomotopy as tp

    train = sp.load_npz(f"{directory}/train.npz").tocsr()
    model = tp.LDAModel(k=k, alpha=ALPHA, eta=ETA, seed=seed)
    model.optim_interval = 0
    for row in range(train.shape[0]):
        own = slice(train.indptr[row], train.indptr[row + 1])
        model.add_doc([str(word) for word, n in zip(train.indices[own], train.data[own]) for _ in range(int(n))])
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)

    def state(name):
        beta = np.zeros((k, train.shape[1]))
        order = np.array([int(word) for word in model.used_vocabs])
        for topic in range(k):
            beta[topic, order] = model.get_topic_word_dist(topic)
        np.save(out / name, beta)
        return str(out / name)

    spent, path, done = 0.0, [], 0

    def train_on(n):
        nonlocal spent, done
        start = clock()
        model.train(n, workers=1, parallel=tp.ParallelScheme.NONE)
        spent += clock() - start
        done += n

    for point in (25, 50, 75, 100, 150, 200, 250, iterations):
        train_on(point - done)
        path.append((spent, state(f"path{point}.npy")))
    seconds, states = spent, [path[-1][1]]
    for extra in range(10):
        train_on(6)
        states.append(state(f"state{extra}.npy"))
    return dict(seconds=seconds, sweep=seconds / iterations, states=states, path=path, seconds_averaged=spent)


def scikit_learn(directory, k, seed, out, passes):
    """Batch variational Bayes."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.decomposition import LatentDirichletAllocation

    train = sp.load_npz(f"{directory}/train.npz").tocsr()
    model = LatentDirichletAllocation(
        k, doc_topic_prior=ALPHA, topic_word_prior=ETA, learning_method="batch", max_iter=passes, max_doc_update_iter=100, n_jobs=1, random_state=seed
    )
    start = clock()
    model.fit(train)
    seconds = clock() - start
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "beta.npy", model.components_ / model.components_.sum(axis=1, keepdims=True))
    return dict(seconds=seconds, sweep=seconds / passes, states=[str(out / "beta.npy")])


def gensim(directory, k, seed, out, passes):
    """Online variational Bayes over chunks of 2,000 documents."""
    import numpy as np
    import scipy.sparse as sp
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    train = sp.load_npz(f"{directory}/train.npz").tocsr()
    corpus = [list(document) for document in Sparse2Corpus(train, documents_columns=False)]
    words = {word: str(word) for word in range(train.shape[1])}
    start = clock()
    model = LdaModel(corpus, num_topics=k, id2word=words, alpha=[ALPHA] * k, eta=ETA, passes=passes, iterations=50, eval_every=None, random_state=seed)
    seconds = clock() - start
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "beta.npy", model.get_topics().astype(float))
    return dict(seconds=seconds, sweep=seconds / passes, states=[str(out / "beta.npy")])


def evaluate(directory, files):
    """Log probability of a token of the scored halves, the probability averaged over the states given."""
    import numpy as np
    import scipy.sparse as sp

    given, scored = (sp.load_npz(f"{directory}/{part}.npz").tocsr() for part in ("given", "scored"))
    rows, columns = scored.nonzero()
    probability = np.zeros(len(rows))
    for file in files:
        beta = np.load(file)
        theta = documents(given, beta)
        probability += np.einsum("nk,nk->n", theta[rows], np.ascontiguousarray(beta.T)[columns]) / len(files)
    return dict(score=float((scored.data * np.log(probability)).sum() / scored.data.sum()))


def documents(given, beta):
    """Proportions of topics by the fixed point above: each document's own, until its proportions move by less than 1e-5 in all, at most 500 rounds."""
    import numpy as np
    import scipy.sparse as sp

    k = beta.shape[0]
    words = np.ascontiguousarray(beta.T)
    theta = np.full((given.shape[0], k), 1 / k)
    moving = np.arange(given.shape[0])
    for _ in range(500):
        counts = given[moving]
        rows = np.repeat(np.arange(len(moving)), np.diff(counts.indptr))
        weight = counts.data / np.maximum(np.einsum("nk,nk->n", theta[moving][rows], words[counts.indices]), 1e-300)
        new = ALPHA + theta[moving] * (sp.csr_matrix((weight, counts.indices, counts.indptr), counts.shape) @ words)
        new /= new.sum(axis=1, keepdims=True)
        moved = np.abs(new - theta[moving]).sum(axis=1)
        theta[moving] = new
        moving = moving[moved >= 1e-5]
        if not len(moving):
            break
    return theta


if __name__ == "__main__":
    serve(globals())
