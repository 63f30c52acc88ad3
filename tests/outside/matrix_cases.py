"""Cases for the matrix families: data, start and expected output, from NumPy and SciPy alone.

Each case is a folder beside this file, laid out as those of `tests/cases`. The updates are written out from Bishop (2006),
2.3 and 10.2; where q is one block the bound is the log evidence in closed form, from SciPy's densities.
Run it in this folder: `python matrix_cases.py`.
"""

import os
import shutil

import numpy as np
from numpy.linalg import inv, slogdet
from scipy.special import digamma, gammaln, logsumexp, multigammaln
from scipy.stats import multivariate_normal, multivariate_t

LOG2PI = np.log(2 * np.pi)


def logdet(a):
    return slogdet(a)[1]


def save(folder, name, value):
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, name + ".npy"), np.array(value, dtype=float, order="C"))


def case(name, program, data, start, axes, runs, arguments):
    """`runs(sweeps)` gives the posterior and the list of bounds, that of the start first."""
    shutil.rmtree(name, ignore_errors=True)
    os.makedirs(name)
    with open(f"{name}/program.cavi", "w") as file:
        file.write(program)
    words = ["cavi fit program.cavi"]
    for key, value in data.items():
        save(f"{name}/data", key, value)
        option = "--set" if key.startswith("const_") else "--data"
        words.append(f"{option} {key.removeprefix('const_')}=data/{key}.npy")
    for key, value in start.items():
        save(f"{name}/start", key, value)
    words += ["--init start", *arguments]
    words.append("--sweeps N --tol 0 --accelerate none --seed 1 --threads 1 --quiet --out OUT")
    with open(f"{name}/command.txt", "w") as file:
        file.write(" ".join(words) + "\n")
    for sweeps in (1, 10):
        posterior, elbo = runs(sweeps)
        out = f"{name}/expected/sweeps_{sweeps}"
        for key, value in posterior.items():
            save(f"{out}/posterior", key, value)
        os.makedirs(f"{out}/axes")
        for axis, size in axes.items():
            with open(f"{out}/axes/{axis}.txt", "w") as file:
                file.write("".join(f"{label}\n" for label in range(size)))
        with open(f"{out}/trace.csv", "w") as file:
            file.write("sweep,elbo,rel_change\n")
            for sweep, value in enumerate(elbo):
                change = "" if sweep == 0 else repr(abs(value - elbo[sweep - 1]) / max(1, abs(value)))
                file.write(f"{sweep},{float(value)!r},{change}\n")


def expected_logdet(dof, scale):
    n = len(scale)
    return sum(digamma((dof - i) / 2) for i in range(n)) + n * np.log(2) + logdet(scale)


def log_wishart_normaliser(dof, scale):
    n = len(scale)
    return dof * n / 2 * np.log(2) + dof / 2 * logdet(scale) + multigammaln(dof / 2, n)


def wishart_gap(dof, scale, dof0, scale0):
    """E log p(L) - E log q(L), both Wishart."""
    n = len(scale)
    own = expected_logdet(dof, scale)
    mean = dof * scale
    log_p = (dof0 - n - 1) / 2 * own - np.trace(inv(scale0) @ mean) / 2 - log_wishart_normaliser(dof0, scale0)
    log_q = (dof - n - 1) / 2 * own - np.trace(inv(scale) @ mean) / 2 - log_wishart_normaliser(dof, scale)
    return log_p - log_q


def normal_entropy(covariance):
    return (len(covariance) * (1 + LOG2PI) + logdet(covariance)) / 2


rng = np.random.default_rng(20)


# A mixture with Normal-Wishart components.
N, D, K = 14, 2, 3
x = rng.normal(size=(N, D)) @ np.array([[1.0, 0.6], [0.0, 0.7]]) + 3 * rng.integers(0, 3, size=(N, 1))
m0 = np.array([0.5, -0.2])
W0 = np.array([[0.4, 0.1], [0.1, 0.3]])
alpha, kappa0, nu0 = 0.7, 0.3, 3.5
z0 = rng.dirichlet(np.ones(K), size=N)


def mixture(sweeps):
    z, elbo = z0.copy(), [0.0]
    for _ in range(sweeps):
        counts = z.sum(0)
        concentration = alpha + counts
        kappa, nu = kappa0 + counts, nu0 + counts
        mean = (kappa0 * m0 + z.T @ x) / kappa[:, None]
        scale = np.zeros((K, D, D))
        for k in range(K):
            squares = (z[:, k, None] * x).T @ x
            rate = inv(W0) + kappa0 * np.outer(m0, m0) + squares - kappa[k] * np.outer(mean[k], mean[k])
            scale[k] = inv(rate)
        log_pi = digamma(concentration) - digamma(concentration.sum())
        logs = np.zeros((N, K))
        for k in range(K):
            off = x - mean[k]
            form = D / kappa[k] + nu[k] * np.einsum("ni,ij,nj->n", off, scale[k], off)
            logs[:, k] = log_pi[k] + (expected_logdet(nu[k], scale[k]) - D * LOG2PI - form) / 2
        total = logsumexp(logs, axis=1)
        z = np.exp(logs - total[:, None])
        bound = total.sum()
        a0 = np.full(K, alpha)
        bound += gammaln(a0.sum()) - gammaln(a0).sum() - gammaln(concentration.sum()) + gammaln(concentration).sum()
        bound += ((a0 - concentration) * log_pi).sum()
        for k in range(K):
            bound += wishart_gap(nu[k], scale[k], nu0, W0)
            # mu given L, on average over L: both are Normal with a multiple of L as precision.
            off = mean[k] - m0
            bound += D / 2 * np.log(kappa0 / kappa[k]) + D / 2
            bound -= kappa0 / 2 * (D / kappa[k] + nu[k] * off @ scale[k] @ off)
        elbo.append(bound)
    return {
        "pi.concentration": concentration, "pi.mean": concentration / concentration.sum(), "z.prob": z,
        "mu.mean": mean, "mu.kappa": kappa, "lam.dof": nu, "lam.scale": scale,
    }, elbo


case("matrix_mixture", f"""# A mixture of Normals with Normal-Wishart components.
axis item[n]
axis feature[i, j]
axis cluster[k] = {K}

data x[n, i] : real
const m0[i]
const W0[i, j]

pi[:k] ~ Dirichlet({alpha})
z[n] ~ Categorical(pi)
lam[k, :i, :j] ~ Wishart({nu0}, W0)
mu[k, :i] ~ MultivariateNormal(m0, prec = {kappa0} * lam[k])
x[n, :i] ~ MultivariateNormal(mu[z[n]], prec = lam[z[n]])

posterior {{
  q(mu[k, :i], lam[k, :i, :j])
}}
""", {"x": x, "const_m0": m0, "const_W0": W0}, {"z.prob": z0}, {"item": N, "feature": D, "cluster": K}, mixture,
     ["--schedule 'pi, mu, z'"])


# Mean and precision matrix, factorised, two rows missing.
N, D = 9, 3
x1 = rng.normal(size=(N, D)) * [1.0, 2.0, 0.5] + [1.0, -1.0, 0.3]
x1[[2, 6]] = np.nan
seen = x1[~np.isnan(x1[:, 0])]
V0 = np.array([[3.0, 0.4, 0.0], [0.4, 2.0, -0.3], [0.0, -0.3, 1.0]])
S0 = np.array([[0.5, 0.1, 0.05], [0.1, 0.4, 0.0], [0.05, 0.0, 0.6]])
dof0 = 4.5
start1 = {"mu.mean": rng.normal(size=D), "mu.cov": np.eye(D) * 0.5, "lam.dof": 5.0, "lam.scale": np.eye(D) / 5 + 0.02}


def factorised(sweeps):
    mean, cov = start1["mu.mean"], start1["mu.cov"]
    dof, scale = start1["lam.dof"], start1["lam.scale"]

    def bound():
        off = seen - mean
        spread = off.T @ off + len(seen) * cov
        value = len(seen) / 2 * (expected_logdet(dof, scale) - D * LOG2PI) - dof * np.trace(scale @ spread) / 2
        value += wishart_gap(dof, scale, dof0, S0)
        value += -(logdet(V0) + D * LOG2PI + np.trace(inv(V0) @ (cov + np.outer(mean, mean)))) / 2
        return value + normal_entropy(cov)

    elbo = [bound()]
    for _ in range(sweeps):
        cov = inv(inv(V0) + len(seen) * dof * scale)
        mean = cov @ (dof * scale @ seen.sum(0))
        off = seen - mean
        scale = inv(inv(S0) + off.T @ off + len(seen) * cov)
        dof = dof0 + len(seen)
        elbo.append(bound())
    return {"mu.mean": mean, "mu.cov": cov, "lam.dof": dof, "lam.scale": scale, "lam.mean": dof * scale}, elbo


case("matrix_wishart", f"""# Mean and precision matrix of a multivariate Normal, factorised.
axis item[n]
axis feature[i, j]

data x[n, i] : real, absent = NA
const V0[i, j]
const S0[i, j]

mu[:i] ~ MultivariateNormal(0, cov = V0)
lam[:i, :j] ~ Wishart({dof0}, S0)
x[n, :i] ~ MultivariateNormal(mu, prec = lam)
""", {"x": x1, "const_V0": V0, "const_S0": S0}, start1, {"item": N, "feature": D}, factorised, [])


# Random effects of groups with a learned precision matrix.
N, G, P = 12, 4, 2
x2, group = rng.normal(size=(N, P)), np.arange(N) % G
y2 = (x2 * rng.normal(size=(G, P))[group]).sum(1) + rng.normal(size=N) * 0.4
R0 = np.array([[0.5, 0.1], [0.1, 0.3]])
start2 = {
    "m.mean": np.array([0.1, -0.2]), "m.cov": np.eye(P), "lam.dof": 4.0, "lam.scale": np.eye(P) / 4,
    "b.mean": rng.normal(size=(G, P)), "b.cov": np.broadcast_to(np.eye(P) * 0.3, (G, P, P)).copy(),
    "tau.shape": 2.0, "tau.rate": 1.0,
}


def effects(sweeps):
    m, mv, dof, scale = start2["m.mean"], start2["m.cov"], start2["lam.dof"], start2["lam.scale"]
    b, bv, shape, rate = start2["b.mean"], start2["b.cov"], start2["tau.shape"], start2["tau.rate"]

    def squares():
        fitted = (x2 * b[group]).sum(1)
        return ((y2 - fitted) ** 2).sum() + np.einsum("np,npr,nr->", x2, bv[group], x2)

    def spread():
        off = b - m
        return off.T @ off + bv.sum(0) + G * mv

    def bound():
        tau, log_tau = shape / rate, digamma(shape) - np.log(rate)
        value = N / 2 * (log_tau - LOG2PI) - tau / 2 * squares()
        value += G / 2 * (expected_logdet(dof, scale) - P * LOG2PI) - dof / 2 * np.trace(scale @ spread())
        value += wishart_gap(dof, scale, 3.5, R0)
        value += P / 2 * (np.log(0.1) - LOG2PI) - 0.05 * (m @ m + np.trace(mv)) + normal_entropy(mv)
        value += sum(normal_entropy(own) for own in bv)
        value += -tau + shape - np.log(rate) + gammaln(shape) + (1 - shape) * digamma(shape)
        return value

    elbo = [bound()]
    for _ in range(sweeps):
        b, bv = b.copy(), bv.copy()
        for g in range(G):
            own = x2[group == g]
            bv[g] = inv(dof * scale + shape / rate * own.T @ own)
            b[g] = bv[g] @ (dof * scale @ m + shape / rate * own.T @ y2[group == g])
        mv = inv(0.1 * np.eye(P) + G * dof * scale)
        m = mv @ (dof * scale @ b.sum(0))
        scale = inv(inv(R0) + spread())
        dof = 3.5 + G
        shape, rate = 1 + N / 2, 1 + squares() / 2
        elbo.append(bound())
    return {
        "m.mean": m, "m.cov": mv, "lam.dof": dof, "lam.scale": scale, "lam.mean": dof * scale, "b.mean": b, "b.cov": bv,
        "tau.shape": shape, "tau.rate": rate, "tau.mean": shape / rate,
    }, elbo


case("matrix_effects", """# Random effects of groups, their precision matrix learned.
axis case[n]
axis group[g]
axis effect[p, r]

data x[n, p] : real
data member[n] : index group
data y[n] : real
const R0[p, r]

m[:p] ~ MultivariateNormal(0, prec = 0.1 * [p == r])
lam[:p, :r] ~ Wishart(3.5, R0)
b[g, :p] ~ MultivariateNormal(m, prec = lam)
tau ~ Gamma(1, rate = 1)
y[n] ~ Normal(sum[p](x[n, p] * b[member[n], p]), prec = tau)
""", {"x": x2, "member": group, "y": y2, "const_R0": R0}, start2, {"case": N, "group": G, "effect": P}, effects,
     ["--schedule 'b, m, lam, tau'"])


# Intercept and weights of several regressions with known noise in one Gaussian each: the bound is the evidence.
N, U, P = 7, 2, 2
x3, y3 = rng.normal(size=(N, P)), rng.normal(size=(N, U)) + 1
y3[1, 0] = np.nan


def intercept(sweeps):
    prior, noise = np.diag([4.0] * P + [9.0]), 0.64
    mean, cov, evidence = np.zeros((U, P + 1)), np.zeros((U, P + 1, P + 1)), 0.0
    for u in range(U):
        rows = ~np.isnan(y3[:, u])
        design = np.column_stack([x3[rows], np.ones(rows.sum())])
        y = y3[rows, u]
        cov[u] = inv(inv(prior) + design.T @ design / noise)
        mean[u] = cov[u] @ design.T @ y / noise
        total = noise * np.eye(len(y)) + design @ prior @ design.T
        evidence += multivariate_normal(np.zeros(len(y)), total).logpdf(y)
    var = np.einsum("uii->ui", cov)
    return {
        "a.mean": mean[:, :P], "c.mean": mean[:, P], "a.var": var[:, :P], "c.var": var[:, P], "a+c.cov": cov,
    }, [0.0] + [evidence] * sweeps


case("matrix_intercept", """# Intercepts and weights of several regressions, one Gaussian for each response.
axis case[n]
axis response[u]
axis predictor[p]

data x[n, p] : real
data y[n, u] : real, absent = NA

a[u, p] ~ Normal(0, sd = 2)
c[u] ~ Normal(0, sd = 3)
y[n, u] ~ Normal(c[u] + sum[p](x[n, p] * a[u, p]), sd = 0.8)

posterior {
  q(a[u, :p], c[u])
}
""", {"x": x3, "y": y3}, {"a.mean": np.ones((U, P)), "c.mean": np.zeros(U), "a+c.cov": np.broadcast_to(np.eye(P + 1), (U, P + 1, P + 1))},
     {"case": N, "response": U, "predictor": P}, intercept, [])


# One multivariate Normal with a Normal-Wishart prior: the bound is the evidence.
N, D = 6, 3
x4 = rng.normal(size=(N, D)) + [0.5, 0.0, -1.0]


def one_normal_wishart(sweeps):
    m0, kappa0, dof0 = np.zeros(D), 0.5, 4.5
    kappa, dof = kappa0 + N, dof0 + N
    mean = x4.sum(0) / kappa
    rate = inv(S0) + x4.T @ x4 - kappa * np.outer(mean, mean)
    scale = inv(rate)
    # One row after another, each under its predictive Student distribution.
    evidence, k, nu, m, w = 0.0, kappa0, dof0, m0, inv(S0)
    for row in x4:
        free = nu - D + 1
        evidence += multivariate_t(m, w * (k + 1) / (k * free), df=free).logpdf(row)
        w = w + k / (k + 1) * np.outer(row - m, row - m)
        m, k, nu = (k * m + row) / (k + 1), k + 1, nu + 1
    return {"mu.mean": mean, "mu.kappa": kappa, "lam.dof": dof, "lam.scale": scale}, [0.0] + [evidence] * sweeps


case("matrix_normal_wishart", """# A multivariate Normal with a Normal-Wishart prior.
axis item[n]
axis feature[i, j]

data x[n, i] : real
const S0[i, j]

lam[:i, :j] ~ Wishart(4.5, S0)
mu[:i] ~ MultivariateNormal(0, prec = 0.5 * lam)
x[n, :i] ~ MultivariateNormal(mu, prec = lam)

posterior {
  q(mu[:i], lam[:i, :j])
}
""", {"x": x4, "const_S0": S0},
     {"mu.mean": np.ones(D), "mu.kappa": 1.0, "lam.dof": 4.0, "lam.scale": np.eye(D)}, {"item": N, "feature": D},
     one_normal_wishart, [])


# Regression with weights and noise in one Normal-Gamma: the bound is the evidence.
N, P = 8, 2
x5, y5 = rng.normal(size=(N, P)), rng.normal(size=N) * 2
K0 = np.array([[0.8, 0.2], [0.2, 0.5]])


def normal_gamma(sweeps):
    kappa = K0 + x5.T @ x5
    mean = inv(kappa) @ x5.T @ y5
    shape, rate = 1.5 + N / 2, 0.7 + (y5 @ y5 - mean @ kappa @ mean) / 2
    shape_matrix = 0.7 / 1.5 * (np.eye(N) + x5 @ inv(K0) @ x5.T)
    evidence = multivariate_t(np.zeros(N), shape_matrix, df=3.0).logpdf(y5)
    return {"w.mean": mean, "w.kappa": kappa, "tau.shape": shape, "tau.rate": rate}, [0.0] + [evidence] * sweeps


case("matrix_normal_gamma", """# Linear regression, weights and noise in one factor.
axis case[n]
axis predictor[p, r]

data x[n, p] : real
data y[n] : real
const K0[p, r]

tau ~ Gamma(1.5, rate = 0.7)
w[:p] ~ MultivariateNormal(0, prec = tau * K0)
y[n] ~ Normal(sum[p](x[n, p] * w[p]), prec = tau)

posterior {
  q(w[:p], tau)
}
""", {"x": x5, "y": y5, "const_K0": K0}, {"w.mean": np.zeros(P), "w.kappa": np.eye(P), "tau.shape": 1.0, "tau.rate": 1.0},
     {"case": N, "predictor": P}, normal_gamma, [])


# The mean of a multivariate Normal with known covariance matrices: the bound is the evidence.
N, D = 5, 3
C = np.array([[1.0, 0.3, 0.1], [0.3, 2.0, -0.2], [0.1, -0.2, 0.7]])


def known(sweeps):
    cov = inv(inv(V0) + N * inv(C))
    mean = cov @ inv(C) @ x4[:N].sum(0)
    total = np.kron(np.eye(N), C) + np.kron(np.ones((N, N)), V0)
    evidence = multivariate_normal(np.zeros(N * D), total).logpdf(x4[:N].ravel())
    return {"mu.mean": mean, "mu.cov": cov}, [0.0] + [evidence] * sweeps


case("matrix_known", """# The mean of a multivariate Normal, covariances known.
axis item[n]
axis feature[i, j]

data x[n, i] : real
const V0[i, j]
const P[i, j]

mu[:i] ~ MultivariateNormal(0, cov = V0)
x[n, :i] ~ MultivariateNormal(mu, prec = P)
""", {"x": x4[:N], "const_V0": V0, "const_P": inv(C)}, {"mu.mean": np.zeros(D), "mu.cov": np.eye(D)},
     {"item": N, "feature": D}, known, [])
