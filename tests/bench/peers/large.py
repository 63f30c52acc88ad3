"""Topics of growing data on two cores: the same held-out score by peers that take data in parts, and by Cavi in each of its ways.

scikit-learn's online LDA (two processes) and MiniBatchNMF (one), gensim's LdaMulticore (two workers), tomotopy with its documents partitioned over two
workers, Spark's LDA with two local threads; Cavi with two threads in sweeps over all data, in passes over shards (`--batch`), from a packed file
(`cavi pack`) and, where `cavi-mpi` stands beside the binary, in two processes. alpha = eta = 0.1 and the evaluator of `lda.py` for all; of NMF the rows of H, each
divided by its sum, are the topics.

Seconds are by the wall or of all processes together, as `--clock` says; memory is that of the largest process. Each peer runs once a seed, with a few lengths; its row is the
first that comes within 0.005 of the best of its own. The ratio is its time by that of Cavi's shortest fit with that score.
"""

import functools
import pathlib
import shutil
import time

from bench import median, ratio, serve, short
from lda import ALPHA, ETA, evaluate  # noqa: F401  (`evaluate` is called by name)

WORK = dict(rows=30_000, columns=15_000, k=50, units=80, new=1000)
QUICK = dict(rows=3000, columns=2000, k=10, units=60, new=300)
NEAR = 0.005
# For each way of Cavi: options of the fit, and the lengths that are tried until the targets are reached.
WARMED = [["--warmup", f"means {n}, collapsed {n}", "--sweeps", 0] for n in (3, 5, 10, 20, 30, 60, 120)]
PASSES = [["--batch", "doc=32", "--sweeps", n] for n in (2, 3, 5, 8, 12, 20, 30)]
WAYS = {
    "sweeps over all data": WARMED,
    "passes over 32 shards": PASSES,
    "passes over 32 shards of a packed file": PASSES,
    "two processes, a shard each": [[*one, "--shards", "doc=2"] for one in WARMED],
}
PEERS = {
    "scikit-learn": {"online LDA": ("online_lda", (1, 2, 4, 8)), "MiniBatchNMF": ("mini_batch_nmf", (1, 2, 5, 10, 20))},
    "gensim": {"LdaMulticore": ("multicore", (1, 2, 5, 10))},
    "tomotopy": {"partitions": ("partitions", (25, 50, 100, 200))},
    "pyspark": {"online LDA of ml": ("spark", (20, 50, 100))},
}


def work(bench):
    sizes = QUICK if bench.quick else WORK
    directory = bench.path("data", "large")
    made = bench.child("data.py", "simulated_topics", directory=directory, seed=11, **sizes)
    k = sizes["k"]
    name = f"LDA, {made.rows:,} x {made.columns:,}, {made.entries:,} non-zeros, K = {k}, two cores"
    kinds = []
    for package, functions in PEERS.items():
        if not bench.has(package):
            bench.absent(name, package)
            continue
        kinds += [(f"{package}, {title}", function, lengths) for title, (function, lengths) in functions.items()]
    jobs = [(who, functools.partial(peer, bench, directory, k, function, length)) for who, function, lengths in kinds for length in reversed(lengths)]
    runs = list(zip((who for who, _ in jobs), bench.side_by_side([job for _, job in jobs])))
    peers = []
    for who, _, _ in kinds:
        own = sorted((run for other, run in runs if other == who), key=lambda run: run.length)
        best = max(run.score for run in own)
        peers.append((who, next(run for run in own if run.score >= best - NEAR)))
    targets = [run.score for _, run in peers]
    ways = dict(zip(WAYS, bench.side_by_side([functools.partial(cavi, bench, directory, k, way, lengths, targets) for way, lengths in WAYS.items()])))
    every = [run for runs in ways.values() for run in runs]
    for who, run in peers:
        own = min((fit.seconds for fit in every if fit.score >= run.score), default=None)
        bench.row(name, who, None, run.seconds, run.peak, None, run.score, ratio([run.seconds], [own]), f"{run.length} passes; Cavi's shortest {short(own) or 'none'} s")
    for way, runs in ways.items():
        if not runs:
            bench.row(name, f"Cavi, {way}", remark="no `cavi-mpi` beside the binary")
            continue
        best = max(run.score for run in runs)
        run = next(run for run in runs if run.score >= best - NEAR)
        bench.row(name, f"Cavi, {way}", run.sweep, run.seconds, run.peak, run.elbo, run.score, None, " ".join(map(str, run["options"])))
    if peers:
        quickest = [(who, run, min((fit.seconds for fit in every if fit.score >= run.score), default=None)) for who, run in peers]
        met = all(own is not None and own <= run.seconds for _, run, own in quickest)
        bench.goal(name, "each peer's score in no more than its time", "; ".join(f"{who} {short(ratio([run.seconds], [own])) or 'not reached'}" for who, run, own in quickest), met)


def peer(bench, directory, k, function, length):
    """One fit of a peer, of so many passes, and its held-out score."""
    out = bench.path("fit", "large", f"{function}-{length}")
    run = bench.child("large.py", function, directory=str(directory), k=k, seed=1, length=length, out=str(out))
    run["seconds"] = bench.seconds(run["seconds"], run)
    run["score"] = bench.child("large.py", "evaluate", directory=str(directory), files=run["states"])["score"]
    run["length"] = length
    return run


def cavi(bench, directory, k, way, lengths, targets):
    """Fits of one way, each longer than the one before, until all targets are reached."""
    data, binary = directory / "train.npz", pathlib.Path(bench.cavi_binary)
    before = []
    if "packed" in way:
        packed = bench.path("data", "large", "train.cavi-data")
        packed.unlink(missing_ok=True)
        bench.process([binary, "pack", "lda", "--data", f"n={data}", "--set", f"topic={k}", "--out", packed])
        data = packed
    if "processes" in way:
        binary = binary.with_name("cavi-mpi")
        if not binary.exists() or shutil.which("mpirun") is None:
            return []
        before = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", 2]
    runs = []
    for number, options in enumerate(lengths):
        out = bench.path("fit", "large", f"cavi-{way.replace(' ', '-').replace(',', '')}-{number}")
        common = ["--set", f"topic={k}", "--set", f"alpha={ALPHA}", "--set", f"eta={ETA}", "--seed", 1, "--elbo-every", 1000, "--tol", 0, "--allocations", "ordinary"]
        threads = 1 if before else 2
        run = bench.cavi("lda", out, [*common, *options], data=[("n", data)], threads=threads, before=before, binary=binary)
        run["score"] = bench.child("large.py", "evaluate", directory=str(directory), files=[str(out / "posterior" / "beta.mean.npy")])["score"]
        run["options"] = options
        runs.append(run)
        if targets and run.score >= max(targets):
            break
    return runs


# What runs in processes of its own.


def load(directory):
    import scipy.sparse as sp

    return sp.load_npz(f"{directory}/train.npz").tocsr()


def kept(out, topics, seconds):
    """Writes topics, rows that sum to one."""
    import numpy as np

    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "beta.npy", topics / topics.sum(axis=1, keepdims=True))
    return dict(seconds=seconds, states=[str(out / "beta.npy")])


def online_lda(directory, k, seed, length, out):
    """Online variational Bayes (Hoffman, Blei and Bach 2010) of scikit-learn, its E-steps in two processes."""
    from sklearn.decomposition import LatentDirichletAllocation

    train = load(directory)
    options = dict(learning_method="online", batch_size=1024, learning_offset=10.0, total_samples=train.shape[0], n_jobs=2)
    model = LatentDirichletAllocation(k, doc_topic_prior=ALPHA, topic_word_prior=ETA, max_iter=length, random_state=seed, **options)
    start = time.perf_counter()
    model.fit(train)
    return kept(out, model.components_, time.perf_counter() - start)


def mini_batch_nmf(directory, k, seed, length, out):
    """Kullback-Leibler NMF by mini-batches of scikit-learn."""
    from sklearn.decomposition import MiniBatchNMF

    train = load(directory)
    model = MiniBatchNMF(k, init="random", beta_loss="kullback-leibler", batch_size=1024, max_iter=length, tol=0, max_no_improvement=None, random_state=seed)
    start = time.perf_counter()
    model.fit(train)
    return kept(out, model.components_ + 1e-12, time.perf_counter() - start)


def multicore(directory, k, seed, length, out):
    """Online variational Bayes of gensim, two workers beside the process that adds."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    train = load(directory)
    corpus = [list(document) for document in Sparse2Corpus(train, documents_columns=False)]
    words = {word: str(word) for word in range(train.shape[1])}
    options = dict(alpha=[ALPHA] * k, eta=ETA, iterations=50, chunksize=1024, eval_every=None, workers=2)
    start = time.perf_counter()
    model = LdaMulticore(corpus, num_topics=k, id2word=words, passes=length, random_state=seed, **options)
    return kept(out, model.get_topics().astype(float), time.perf_counter() - start)


def partitions(directory, k, seed, length, out):
    """Collapsed Gibbs sampling of tomotopy, documents and words partitioned over two workers."""
    import numpy as np
    import tomotopy as tp

    train = load(directory)
    model = tp.LDAModel(k=k, alpha=ALPHA, eta=ETA, seed=seed)
    model.optim_interval = 0
    for row in range(train.shape[0]):
        own = slice(train.indptr[row], train.indptr[row + 1])
        model.add_doc([str(word) for word, n in zip(train.indices[own], train.data[own]) for _ in range(int(n))])
    start = time.perf_counter()
    model.train(length, workers=2, parallel=tp.ParallelScheme.PARTITION)
    seconds = time.perf_counter() - start
    beta = np.zeros((k, train.shape[1]))
    order = np.array([int(word) for word in model.used_vocabs])
    for topic in range(k):
        beta[topic, order] = model.get_topic_word_dist(topic)
    return kept(out, beta, seconds)


def spark(directory, k, seed, length, out):
    """Online variational Bayes of Spark's ml, two local threads; `length` mini-batches of a twentieth of the documents."""
    import numpy as np
    from pyspark.ml.clustering import LDA
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    train = load(directory)
    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    rows = (slice(train.indptr[row], train.indptr[row + 1]) for row in range(train.shape[0]))
    documents = [(number, Vectors.sparse(train.shape[1], train.indices[own].tolist(), train.data[own].tolist())) for number, own in enumerate(rows)]
    frame = session.createDataFrame(documents, ["id", "features"]).repartition(4).cache()
    frame.count()
    options = dict(optimizer="online", subsamplingRate=0.05, docConcentration=[ALPHA] * k, topicConcentration=ETA, optimizeDocConcentration=False)
    start = time.perf_counter()
    model = LDA(k=k, seed=seed, maxIter=length, **options).fit(frame)
    seconds = time.perf_counter() - start
    topics = np.asarray(model.topicsMatrix().toArray()).T
    session.stop()
    return kept(out, topics, seconds)


if __name__ == "__main__":
    serve(globals())
