"""The data: corpora split, simulations from seeds. Each function writes into a directory and returns what it made.

    train.npz     the counts that are fitted, SciPy sparse
    given.npz     of new rows, the half that a row is fitted to
    scored.npz    the other half
"""

import pathlib

import numpy as np
import scipy.io
import scipy.sparse as sp

from bench import CORPORA, serve


def sparse(counts):
    return sp.csr_matrix(counts, dtype=np.float64)


def halves(counts, rng):
    """Half of the units of each row, drawn without replacement, and the rest; rows of fewer than two units are dropped."""
    counts = sparse(counts)
    counts = counts[np.asarray(counts.sum(axis=1)).ravel() >= 2]
    given = counts.copy()
    for row in range(counts.shape[0]):
        own = slice(counts.indptr[row], counts.indptr[row + 1])
        units = counts.data[own].astype(np.int64)
        given.data[own] = rng.multivariate_hypergeometric(units, int(units.sum()) // 2, method="marginals")
    scored = sparse(counts - given)
    given.eliminate_zeros()
    scored.eliminate_zeros()
    return given, scored


def write(directory, **matrices):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for name, matrix in matrices.items():
        sp.save_npz(directory / f"{name}.npz", matrix, compressed=False)
    train = matrices["train"]
    return dict(rows=train.shape[0], columns=train.shape[1], entries=train.nnz, units=float(train.sum()))


def split(directory, counts, new, rng):
    """The last `new` rows, in a random order, are scored; columns that the others do not have are dropped."""
    counts = sparse(counts)[rng.permutation(counts.shape[0])]
    train, rest = counts[:-new], counts[-new:]
    train = train[np.asarray(train.sum(axis=1)).ravel() > 0]
    seen = np.flatnonzero(np.asarray(train.sum(axis=0)).ravel())
    given, scored = halves(rest[:, seen], rng)
    return write(directory, train=sparse(train[:, seen]), given=given, scored=scored)


def corpus(directory, name, new, seed):
    """A corpus of ../data."""
    counts = scipy.io.mmread(CORPORA / name)
    return split(directory, counts.tocsr(), new, np.random.default_rng(seed))


def hidden_items(directory, name, least, part, seed):
    """A corpus of ../data, of which a part of the items of each row that has at least `least` of them is hidden whole: train.npz and hidden.npz, and
    train.csv, a line an entry, whose labels are `u` and `i` with the number of the row and the column. Columns of which nothing is left are dropped."""
    rng = np.random.default_rng(seed)
    counts = sparse(scipy.io.mmread(CORPORA / name))
    hide = np.zeros(counts.nnz, bool)
    for row in range(counts.shape[0]):
        size = counts.indptr[row + 1] - counts.indptr[row]
        if size >= least:
            hide[counts.indptr[row] + rng.permutation(size)[: max(1, int(part * size))]] = True
    train, hidden = counts.copy(), counts.copy()
    train.data = np.where(hide, 0, counts.data)
    hidden.data = np.where(hide, counts.data, 0)
    seen = np.flatnonzero(np.asarray(train.sum(axis=0)).ravel())
    train, hidden = sparse(train[:, seen]), sparse(hidden[:, seen])
    train.eliminate_zeros()
    hidden.eliminate_zeros()
    made = write(directory, train=train, hidden=hidden)
    entries = train.tocoo()
    with open(pathlib.Path(directory) / "train.csv", "w") as file:
        file.write("user,item,y\n")
        file.writelines(f"u{row},i{column},{value:.0f}\n" for row, column, value in zip(entries.row, entries.col, entries.data))
    return made | dict(ranked=int((np.diff(hidden.indptr) > 0).sum()))


def topics(rows, columns, k, units, seed):
    """Counts of `rows` documents of about `units` tokens each: k topics, Dirichlet(0.1) proportions, columns of Zipf's frequencies."""
    rng = np.random.default_rng(seed)
    base = 1 / np.arange(3, columns + 3) ** 0.9
    beta = rng.gamma(np.maximum(0.1 * columns * base / base.sum(), 1e-3), size=(k, columns)) + 1e-12
    beta /= beta.sum(axis=1, keepdims=True)
    cumulative = np.cumsum(beta, axis=1)
    theta = rng.dirichlet(np.full(k, 0.1), size=rows)
    lengths = np.maximum(2, rng.gamma(4, units / 4, size=rows)).astype(np.int64)
    split = np.array([rng.multinomial(length, share) for length, share in zip(lengths, theta)])
    row = np.concatenate([np.repeat(np.arange(rows), split[:, topic]) for topic in range(k)])
    column = np.concatenate([np.searchsorted(cumulative[topic], rng.random(int(split[:, topic].sum()))) for topic in range(k)])
    return sparse(sp.coo_matrix((np.ones(len(row)), (row, np.minimum(column, columns - 1))), shape=(rows, columns)).tocsr())


def simulated_topics(directory, rows, columns, k, units, new, seed):
    """Documents with topics, some of them new."""
    rng = np.random.default_rng(seed)
    return split(directory, topics(rows + new, columns, k, units, seed), new, rng)


def thinned(directory, rows, columns, k, units, part, seed):
    """Counts of which each unit is held out with probability `part`: train.npz and scored.npz."""
    rng = np.random.default_rng(seed)
    counts = topics(rows, columns, k, units, seed)
    counts = counts[:, np.asarray(counts.sum(axis=0)).ravel() > 0]
    hidden = counts.copy()
    hidden.data = rng.binomial(counts.data.astype(np.int64), part).astype(float)
    train = sparse(counts - hidden)
    hidden.eliminate_zeros()
    train.eliminate_zeros()
    return write(directory, train=train, scored=hidden)


def dense(directory, rows, columns, k, seed):
    """Positive dense counts of a product of k factors, x.npy, and a start for both sides."""
    rng = np.random.default_rng(seed)
    x = rng.poisson(rng.gamma(0.5, 2, size=(rows, k)) @ rng.gamma(0.5, 2, size=(k, columns))).astype(float)
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    np.save(directory / "x.npy", x)
    return dict(rows=rows, columns=columns)


def views(directory, samples, features, k, missing, seed):
    """Views of samples with k factors, some of them of one view only, centred: one .npy a view, and the same with missing entries."""
    rng = np.random.default_rng(seed)
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    z = rng.normal(size=(samples, k))
    for view, size in enumerate(features):
        active = rng.random(k) < 0.7
        x = z @ (rng.normal(size=(k, size)) * active[:, None]) + rng.normal(size=(samples, size))
        x -= x.mean(axis=0)
        np.save(directory / f"view{view}.npy", x)
        hidden = x.copy()
        hidden[rng.random(x.shape) < missing] = np.nan
        np.save(directory / f"missing{view}.npy", hidden - np.nanmean(hidden, axis=0))
    return dict(views=len(features))


def clusters(directory, samples, features, k, seed):
    """A mixture of k Normals with full covariances: x.npy."""
    rng = np.random.default_rng(seed)
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    centre = 3 * rng.normal(size=(k, features))
    root = rng.normal(size=(k, features, features)) / np.sqrt(features)
    which = rng.integers(k, size=samples)
    x = np.empty((samples, features))
    for c in range(k):
        own = which == c
        x[own] = centre[c] + rng.normal(size=(int(own.sum()), features)) @ root[c] + 0.3 * rng.normal(size=(int(own.sum()), features))
    np.save(directory / "x.npy", x)
    return dict(rows=samples, columns=features)


if __name__ == "__main__":
    serve(globals())
