"""Seconds a sweep: programs of the class against the same updates in straightforward NumPy and SciPy, one thread each.

    python class_numpy.py CAVI [NAME ...]

CAVI is the binary (`cargo build --release -p cavi-cli`). The two take turns in one run, five times, and the least times are
compared, since other work on the machine only adds to them; neither computes the bound. Both do the same updates in the same order, on at least 10^5 entries.
"""
import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from scipy.special import digamma, expit


def softmax(logits):
    logits -= logits.max(axis=-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-1, keepdims=True)
    return logits


def log_mean(concentration):
    return digamma(concentration) - digamma(concentration.sum(axis=-1, keepdims=True))


def mixture(rng, n, k, z):
    return {"r": softmax(rng.normal(size=(n, k))), "z": z}


def gmm(rng):
    n, j, k = 20_000, 8, 10
    x = rng.normal(size=(n, j)) + 3 * rng.normal(size=(k, j))[rng.integers(k, size=n)]
    text = f"""axis row[n]
axis feature[j]
axis part[k] = {k}
data x[n, j] : real
pi[:k] ~ Dirichlet(1)
z[n] ~ Categorical(pi)
tau[k, j] ~ Gamma(2, rate = 1)
mu[k, j] ~ Normal(0, prec = 0.1 * tau[k, j])
x[n, j] ~ Normal(mu[z[n], j], prec = tau[z[n], j])
posterior {{
  q(mu[k, j], tau[k, j])
}}
"""
    r = softmax(rng.normal(size=(n, k)))
    x2 = x * x
    while True:
        log_pi = log_mean(1 + r.sum(0))
        count = r.sum(0)[:, None]
        kappa = 0.1 + count
        mean = (r.T @ x) / kappa
        shape = 2 + count / 2
        rate = 1 + 0.5 * (r.T @ x2 - kappa * mean**2)
        tau, log_tau = shape / rate, digamma(shape) - np.log(rate)
        quadratic = x2 @ tau.T - 2 * x @ (tau * mean).T + (tau * mean**2 + 1 / kappa).sum(1)
        r = softmax(log_pi + 0.5 * log_tau.sum(1) - 0.5 * quadratic)
        yield text, {"x": x}


def bernoulli_mixture(rng):
    n, j, k = 5_000, 40, 10
    x = (rng.random((n, j)) < rng.random((k, j))[rng.integers(k, size=n)]).astype(float)
    text = f"""axis row[n]
axis feature[j]
axis part[k] = {k}
data x[n, j] : binary
pi[:k] ~ Dirichlet(1)
z[n] ~ Categorical(pi)
p[k, j] ~ Beta(1.1, 1.1)
x[n, j] ~ Bernoulli(p[z[n], j])
"""
    r = softmax(rng.normal(size=(n, k)))
    while True:
        log_pi = log_mean(1 + r.sum(0))
        a = 1.1 + r.T @ x
        b = 1.1 + r.T @ (1 - x)
        both = digamma(a + b)
        yes, no = digamma(a) - both, digamma(b) - both
        r = softmax(log_pi + x @ (yes - no).T + no.sum(1))
        yield text, {"x": x}


def logistic(rng):
    n, p = 10_000, 20
    x = rng.normal(size=(n, p))
    y = (rng.random(n) < expit(x @ rng.normal(size=p))).astype(float)
    text = f"""axis case[n]
axis cause[p]
data x[n, p] : real
data y[n] : binary
w[p] ~ Normal(0, sd = 2)
y[n] ~ Bernoulli(logit = sum[p](x[n, p] * w[p]))
posterior {{
  q(w[:p])
}}
"""
    mean, covariance = np.zeros(p), np.eye(p)
    while True:
        xi = np.sqrt(((x @ (covariance + np.outer(mean, mean))) * x).sum(1))
        slope = np.tanh(xi / 2) / (2 * xi)
        covariance = np.linalg.inv(np.eye(p) / 4 + (x * slope[:, None]).T @ x)
        mean = covariance @ (x.T @ (y - 0.5))
        yield text, {"x": x, "y": y}


def factor_analysis(rng):
    n, j, k = 5_000, 40, 8
    x = rng.normal(size=(n, k)) @ rng.normal(size=(k, j)) + 0.5 * rng.normal(size=(n, j))
    text = f"""axis row[n]
axis feature[j]
axis factor[k] = {k}
data x[n, j] : real
z[n, k] ~ Normal(0, sd = 1)
w[j, k] ~ Normal(0, sd = 1)
tau[j] ~ Gamma(1, rate = 1)
x[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), prec = tau[j])
posterior {{
  q(z[n, :k])
  q(w[j, :k])
}}
"""
    w, w_cov, tau = rng.normal(size=(j, k)), np.tile(np.eye(k), (j, 1, 1)), np.ones(j)
    x2 = (x * x).sum(0)
    while True:
        z_cov = np.linalg.inv(np.eye(k) + np.einsum("j,jab->ab", tau, w_cov) + (w * tau[:, None]).T @ w)
        z = (x * tau) @ w @ z_cov
        zz = z.T @ z + n * z_cov
        w_cov = np.linalg.inv(np.eye(k) + tau[:, None, None] * zz)
        zx = x.T @ z
        w = np.einsum("jab,jb->ja", w_cov, tau[:, None] * zx)
        error = x2 - 2 * (w * zx).sum(1) + np.einsum("ab,jab->j", zz, w_cov + w[:, :, None] * w[:, None, :])
        tau = (1 + n / 2) / (1 + error / 2)
        yield text, {"x": x}


def ratings(rng):
    users, films, k, count = 2_000, 1_000, 10, 120_000
    cells = rng.choice(users * films, size=count, replace=False)
    cells.sort()
    i, f = cells // films, cells % films
    r = rng.normal(size=users)[i] + rng.normal(size=films)[f] + rng.normal(size=count)
    text = f"""axis user[i]
axis film[f]
axis factor[k] = {k}
data r[i, f] : real, absent = NA
a[i] ~ Normal(0, sd = 1)
b[f] ~ Normal(0, sd = 1)
u[i, k] ~ Normal(0, sd = 1)
v[f, k] ~ Normal(0, sd = 1)
tau ~ Gamma(1, rate = 1)
r[i, f] ~ Normal(a[i] + b[f] + sum[k](u[i, k] * v[f, k]), prec = tau)
posterior {{
  q(u[i, :k])
  q(v[f, :k])
}}
"""

    def totals(values, index, size):
        return np.bincount(index, values, minlength=size)

    def slices(other, other_cov, index, at, rest, size, tau):
        second = (other_cov + other[:, :, None] * other[:, None, :]).reshape(len(other), -1)
        import scipy.sparse as sparse

        pattern = sparse.csr_matrix((np.ones(count), (index, at)), shape=(size, len(other)))
        weighed = sparse.csr_matrix((rest, (index, at)), shape=(size, len(other)))
        cov = np.linalg.inv(np.eye(k) + tau * (pattern @ second).reshape(size, k, k))
        return np.einsum("nab,nb->na", cov, tau * (weighed @ other)), cov

    a, b = np.zeros(users), np.zeros(films)
    b_var, a_var = np.ones(films), np.ones(users)
    u, v = rng.normal(size=(users, k)), rng.normal(size=(films, k))
    u_cov, v_cov = np.tile(np.eye(k), (users, 1, 1)), np.tile(np.eye(k), (films, 1, 1))
    per_user, per_film, tau = totals(None, i, users), totals(None, f, films), 1.0
    while True:
        dot = (u[i] * v[f]).sum(1)
        a_var = 1 / (1 + tau * per_user)
        a = a_var * tau * totals(r - b[f] - dot, i, users)
        b_var = 1 / (1 + tau * per_film)
        b = b_var * tau * totals(r - a[i] - dot, f, films)
        rest = r - a[i] - b[f]
        u, u_cov = slices(v, v_cov, i, f, rest, users, tau)
        v, v_cov = slices(u, u_cov, f, i, rest, films, tau)
        error = (rest - (u[i] * v[f]).sum(1)) ** 2 + a_var[i] + b_var[f]
        uu, vv = u[:, :, None] * u[:, None, :], v[:, :, None] * v[:, None, :]
        spread = ((u_cov + uu).reshape(users, -1)[i] * v_cov.reshape(films, -1)[f]).sum(1)
        spread += (u_cov.reshape(users, -1)[i] * vv.reshape(films, -1)[f]).sum(1)
        tau = (1 + count / 2) / (1 + (error + spread).sum() / 2)
        yield text, {"r": ("mtx", (users, films), (i, f), r)}


def tensor(rng):
    shape, k, count = (300, 200, 100), 10, 120_000
    cells = np.sort(rng.choice(np.prod(shape), size=count, replace=False))
    at = np.unravel_index(cells, shape)
    x = 1.0 + rng.poisson(1.0, size=count)
    text = f"""axis one[i] = {shape[0]}
axis two[j] = {shape[1]}
axis three[l] = {shape[2]}
axis part[k] = {k}
data x[i, j, l] : count, absent = 0
a[i, k] ~ Gamma(0.5, rate = 0.5)
b[j, k] ~ Gamma(0.5, rate = 0.5)
c[l, k] ~ Gamma(0.5, rate = 0.5)
x[i, j, l] ~ Poisson(sum[k](a[i, k] * b[j, k] * c[l, k]))
"""
    import scipy.sparse as sparse

    shapes = [0.5 + rng.gamma(1.0, size=(size, k)) for size in shape]
    rates = [np.ones((size, k)) for size in shape]
    rows = [sparse.csr_matrix((np.ones(count), (own, np.arange(count))), shape=(size, count)) for own, size in zip(at, shape)]
    means = [own / rate for own, rate in zip(shapes, rates)]
    logs = [np.exp(digamma(own)) / rate for own, rate in zip(shapes, rates)]
    while True:
        for mode in range(3):
            weights = logs[0][at[0]] * logs[1][at[1]] * logs[2][at[2]]
            weights *= (x / weights.sum(1))[:, None]
            one, two = [means[other].sum(0) for other in range(3) if other != mode]
            shapes[mode], rates[mode] = 0.5 + rows[mode] @ weights, 0.5 + one * two
            means[mode] = shapes[mode] / rates[mode]
            logs[mode] = np.exp(digamma(shapes[mode])) / rates[mode]
        yield text, {"x": ("tns", shape, at, x)}


def blocks(rng):
    n, k = 400, 5
    of = rng.integers(k, size=n)
    x = rng.poisson(rng.gamma(2.0, size=(k, k))[of][:, of]).astype(float)
    np.fill_diagonal(x, 0)
    text = f"""axis node[i, o]
axis block[a, b] = {k}
data x[i, o] : count, i != o
pi[:a] ~ Dirichlet(1)
z[i] ~ Categorical(pi)
rate[a, b] ~ Gamma(1, rate = 1)
x[i, o] ~ Poisson(rate[z[i], z[o]])
"""
    r = softmax(rng.normal(size=(n, k)))
    while True:
        log_pi = log_mean(1 + r.sum(0))
        total = r.sum(0)
        shape = 1 + r.T @ x @ r
        scale = 1 + np.outer(total, total) - r.T @ r
        rate, log_rate = shape / scale, digamma(shape) - np.log(scale)
        for i in range(n):
            others = total - r[i]
            logits = log_pi + log_rate @ (r.T @ x[i]) + log_rate.T @ (r.T @ x[:, i]) - rate @ others - rate.T @ others
            fresh = softmax(logits)
            total += fresh - r[i]
            r[i] = fresh
        yield text, {"x": x}


def naive_bayes(rng):
    n, j, k = 10_000, 20, 5
    label = rng.integers(k, size=n).astype(float)
    x = (rng.random((n, j)) < rng.random((k, j))[label.astype(int)]).astype(float)
    label[rng.random(n) < 0.5] = np.nan
    text = f"""axis row[n]
axis feature[j]
axis class[k] = {k}
data z[n] : index class, absent = NA
data x[n, j] : binary
pi[:k] ~ Dirichlet(1)
p[k, j] ~ Beta(1.1, 1.1)
z[n] ~ Categorical(pi)
x[n, j] ~ Bernoulli(p[z[n], j])
"""
    r = softmax(rng.normal(size=(n, k)))
    seen = ~np.isnan(label)
    r[seen] = np.eye(k)[label[seen].astype(int)]
    while True:
        log_pi = log_mean(1 + r.sum(0))
        a = 1.1 + r.T @ x
        b = 1.1 + r.T @ (1 - x)
        both = digamma(a + b)
        yes, no = digamma(a) - both, digamma(b) - both
        r[~seen] = softmax(log_pi + x[~seen] @ (yes - no).T + no.sum(1))
        yield text, {"z": label, "x": x}


def student(rng):
    n, p = 20_000, 8
    x = rng.normal(size=(n, p))
    y = x @ rng.normal(size=p) + rng.standard_t(3, size=n)
    text = f"""axis case[n]
axis cause[p]
data x[n, p] : real
data y[n] : real
w[p] ~ Normal(0, sd = 2)
tau ~ Gamma(1, rate = 1)
s[n] ~ Gamma(2, rate = 2)
y[n] ~ Normal(sum[p](x[n, p] * w[p]), prec = tau * s[n])
posterior {{
  q(w[:p])
}}
"""
    s, tau, mean, cov = np.ones(n), 1.0, np.zeros(p), np.eye(p)
    while True:
        square = (y - x @ mean) ** 2 + ((x @ cov) * x).sum(1)
        s = 2.5 / (2 + tau * square / 2)
        weighed = x * (tau * s)[:, None]
        cov = np.linalg.inv(np.eye(p) / 4 + weighed.T @ x)
        mean = cov @ (weighed.T @ y)
        square = (y - x @ mean) ** 2 + ((x @ cov) * x).sum(1)
        tau = (1 + n / 2) / (1 + (s * square).sum() / 2)
        yield text, {"x": x, "y": y}


def tucker(rng):
    shape, rank = (60, 50, 40), (3, 3, 3)
    x = rng.normal(size=shape)
    text = f"""axis one[i]
axis two[j]
axis three[l]
axis first[p] = {rank[0]}
axis second[q1] = {rank[1]}
axis third[r] = {rank[2]}
data x[i, j, l] : real
a[i, p] ~ Normal(0, sd = 1)
b[j, q1] ~ Normal(0, sd = 1)
c[l, r] ~ Normal(0, sd = 1)
g[p, q1, r] ~ Normal(0, sd = 1)
x[i, j, l] ~ Normal(sum[p, q1, r](g[p, q1, r] * a[i, p] * b[j, q1] * c[l, r]), prec = 4)
posterior {{
  q(a[i, :p])
  q(b[j, :q1])
  q(c[l, :r])
  q(g[:p, :q1, :r])
}}
"""
    factors = [rng.normal(size=(size, own)) for size, own in zip(shape, rank)]
    covs = [np.eye(own) for own in rank]
    size = int(np.prod(rank))
    core, core_cov = rng.normal(size=size), np.eye(size)
    unfolded = [np.ascontiguousarray(np.moveaxis(x, mode, 0)).reshape(shape[mode], -1) for mode in range(3)]
    while True:
        seconds = [own.T @ own + len(own) * cov for own, cov in zip(factors, covs)]
        for mode in range(3):
            one, two = [other for other in range(3) if other != mode]
            gg = (core_cov + np.outer(core, core)).reshape(rank + rank)
            gg = np.moveaxis(gg, (mode, 3 + mode), (0, 3))
            order = np.einsum("abcdef,be,cf->ad", gg, seconds[one], seconds[two])
            covs[mode] = np.linalg.inv(np.eye(rank[mode]) + 4 * order)
            along = unfolded[mode].reshape(shape[mode], shape[one], shape[two])
            middle = np.tensordot(np.tensordot(along, factors[two], (2, 0)), factors[one], (1, 0))
            mean = np.moveaxis(core.reshape(rank), mode, 0)
            factors[mode] = 4 * np.einsum("ncb,abc->na", middle, mean) @ covs[mode]
            seconds[mode] = factors[mode].T @ factors[mode] + shape[mode] * covs[mode]
        core_cov = np.linalg.inv(np.eye(size) + 4 * np.kron(np.kron(seconds[0], seconds[1]), seconds[2]))
        down = np.tensordot(np.tensordot(np.tensordot(x, factors[2], (2, 0)), factors[1], (1, 0)), factors[0], (0, 0))
        core = 4 * core_cov @ np.ascontiguousarray(down.transpose(2, 1, 0)).ravel()
        yield text, {"x": x}


def supervised_topics(rng):
    d, t, v, k = 1_000, 100, 1_000, 10
    w = rng.integers(v, size=(d, t))
    rating = rng.normal(size=d)
    text = f"""axis doc[d]
axis token[t] in doc[d]
axis word[v] = {v}
axis topic[k] = {k}
data w[d, t] : index word
data rating[d] : real
theta[d, :k] ~ Dirichlet(0.6)
beta[k, :v] ~ Dirichlet(0.4)
z[d, t] ~ Categorical(theta[d, :k])
w[d, t] ~ Categorical(beta[z[d, t], :v])
e[k] ~ Normal(0, sd = 1)
tau ~ Gamma(2, rate = 1)
rating[d] ~ Normal(sum[t](e[z[d, t]]) / {t}, prec = tau)
"""
    import scipy.sparse as sparse

    words = sparse.csr_matrix((np.ones(d * t), (w.ravel(), np.arange(d * t))), shape=(v, d * t))
    r = softmax(rng.normal(size=(d, t, k)))
    e, e_var, tau = np.zeros(k), np.ones(k), 1.0
    long = ("csv", "doc,token,w", (np.repeat(np.arange(d), t), np.tile(np.arange(t), d), w.ravel()))
    while True:
        total = r.sum(1)
        log_theta = log_mean(0.6 + total)
        log_beta = log_mean(0.4 + (words @ r.reshape(-1, k)).T).T
        for own in range(t):
            others = total - r[:, own]
            logits = log_theta + log_beta[w[:, own]] + np.outer(rating, tau / t * e)
            logits -= tau / t**2 * ((e**2 + e_var) / 2 + e_var * others + np.outer(others @ e, e))
            r[:, own] = softmax(logits)
            total = others + r[:, own]
        flat = r.reshape(-1, k)
        pairs = (total.T @ total - flat.T @ flat + np.diag(total.sum(0))) / t**2
        e_var = 1 / (1 + tau * np.diag(pairs))
        for own in range(k):
            e[own] = e_var[own] * tau * (rating @ total[:, own] / t - pairs[own] @ e + pairs[own, own] * e[own])
        square = rating @ rating - 2 * rating @ (total @ e) / t + e @ pairs @ e + np.diag(pairs) @ e_var
        tau = (2 + d / 2) / (1 + square / 2)
        yield text, {"w": long, "rating": rating}


PROGRAMS = [
    gmm, bernoulli_mixture, logistic, factor_analysis, ratings, tensor, blocks, naive_bayes, student, tucker,
    supervised_topics,
]
ORDER = {
    "gmm": "pi, mu, z",
    "bernoulli_mixture": "pi, p, z",
    "blocks": "pi, rate, z",
    "naive_bayes": "pi, p, z",
    "factor_analysis": "z, w, tau",
    "ratings": "a, b, u, v, tau",
    "tensor": "a, b, c",
    "student": "s, w, tau",
    "tucker": "a, b, c, g",
    "logistic": "w",
    "supervised_topics": "theta, beta, z, e, tau",
}


def written(folder, name, values):
    if not isinstance(values, tuple):
        path = folder / f"{name}.npy"
        np.save(path, values)
        return path
    path = folder / f"{name}.{values[0]}"
    if values[0] == "csv":
        np.savetxt(path, np.column_stack(values[2]), fmt="%d", delimiter=",", header=values[1], comments="")
        return path
    kind, shape, at, entries = values
    with open(path, "w") as file:
        if kind == "mtx":
            file.write("%%MatrixMarket matrix coordinate real general\n")
            file.write(f"{shape[0]} {shape[1]} {len(entries)}\n")
        for row in zip(*at, entries):
            file.write(" ".join(str(own + 1) for own in row[:-1]) + f" {row[-1]!s}\n")
    return path


def seconds_of_cavi(binary, folder, name, files, sweeps):
    command = [binary, "fit", str(folder / f"{name}.cavi"), "--sweeps", str(sweeps), "--tol", "0", "--threads", "1"]
    command += ["--elbo-every", str(sweeps), "--schedule", ORDER[name], "--out", str(folder / "out"), "--quiet"]
    for data, path in files.items():
        command += ["--data", f"{data}={path}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    rows = (folder / "out" / "trace.csv").read_text().splitlines()
    times = [float(row.split(",")[3]) for row in rows[1:]]
    # The first sweep fills what is kept, and the last one computes the bound.
    return (times[-2] - times[1]) / (sweeps - 2)


def main():
    binary, only = sys.argv[1], sys.argv[2:]
    print("| program | NumPy, ms a sweep | Cavi, ms a sweep | Cavi / NumPy |\n| --- | --- | --- | --- |")
    for program in PROGRAMS:
        name = program.__name__
        if only and name not in only:
            continue
        sweeps_of_numpy = program(np.random.default_rng(1))
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            text, data = next(sweeps_of_numpy)
            (folder / f"{name}.cavi").write_text(text)
            files = {array: written(folder, array, values) for array, values in data.items()}
            ours, theirs = [], []
            for _ in range(5):
                start = time.perf_counter()
                for _ in range(8):
                    next(sweeps_of_numpy)
                theirs.append((time.perf_counter() - start) / 8)
                ours.append(seconds_of_cavi(binary, folder, name, files, 10))
            mine, other = min(ours), min(theirs)
            print(f"| {name} | {1e3 * other:.2f} | {1e3 * mine:.2f} | {mine / other:.2f} |", flush=True)


if __name__ == "__main__":
    main()
