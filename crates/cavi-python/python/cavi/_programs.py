"""The programs behind the classes of ``cavi.sklearn``, as texts that anybody may change and run."""

NMF_KULLBACK_LEIBLER = """
model nmf

axis sample[n]
axis feature[j]
axis component[k]

data x[n, j] : nonnegative, absent = 0

w[n, k] ~ Flat(nonnegative)
h[k, j] ~ Flat(nonnegative)
x[n, j] ~ Poisson(sum[k](w[n, k] * h[k, j]))

posterior {
  point w[n, k]
  point h[k, j]
}

fit {
  sweep w, h
}
"""

NMF_FROBENIUS = """
model nmf

axis sample[n]
axis feature[j]
axis component[k]

data x[n, j] : real, absent = 0

# Where numbers start, on average: at the root of the mean of the data over the number of components, so that what is started from is as large as the
# data. From larger starts the first components take all of the data, and those after them stay at 0.
const level

# 2 pi sd^2 = 1: the bound is -pi times the sum of squares, without a constant, and its relative change that of the loss.
w[n, k] ~ Flat(nonnegative)
h[k, j] ~ Flat(nonnegative)
x[n, j] ~ Normal(sum[k](w[n, k] * h[k, j]), sd = 0.3989422804014327)

posterior {
  point w[n, k]
  point h[k, j]
}

init {
  w[n, k] ~ Gamma(0.5, rate = 0.5 / level)
  h[k, j] ~ Gamma(0.5, rate = 0.5 / level)
}

fit {
  sweep w, h
}
"""

LATENT_DIRICHLET_ALLOCATION = """
model lda

axis sample[n]
axis feature[v]
axis component[k]

data x[n, v] : count, absent = 0

const alpha
const eta

theta[n, :k] ~ Dirichlet(alpha)
beta[k, :v] ~ Dirichlet(eta)
x[n, :v] ~ Multinomial(p = sum[k](theta[n, k] * beta[k, v]))

fit {
  warmup means 60
  sweep (theta, beta)
}
"""

TOPICS_OF_AMOUNTS = LATENT_DIRICHLET_ALLOCATION.replace(": count,", ": nonnegative,")

POISSON_FACTORIZATION = """
model poisson_factorization

axis sample[n]
axis feature[j]
axis component[k]

data x[n, j] : nonnegative, absent = 0

const shape = 0.3

theta[n, k] ~ Gamma(shape, rate = xi[n])
xi[n] ~ Gamma(shape, rate = shape)
beta[j, k] ~ Gamma(shape, rate = eta[j])
eta[j] ~ Gamma(shape, rate = shape)
x[n, j] ~ Poisson(sum[k](theta[n, k] * beta[j, k]))

fit {
  warmup shapes 1 over 40
  sweep (theta, beta), xi, eta
}
"""

FACTOR_ANALYSIS = """
model factor_analysis

axis sample[n]
axis feature[j]
axis component[k]

data x[n, j] : real, absent = NA, center over n, scale over n

const a = 1e-3

z[n, k] ~ Normal(0, sd = 1)
w[j, k] ~ Normal(0, prec = alpha[k])
mu[j] ~ Normal(0, prec = 1e-6)
alpha[k] ~ Gamma(a, rate = a)
psi[j] ~ Gamma(a, rate = a)
x[n, j] ~ Normal(mu[j] + sum[k](w[j, k] * z[n, k]), prec = psi[j])

posterior {
  q(z[n, :k])
  q(w[j, :k])
}

# From where the data lie: elsewhere `mu` and the mean of `z` pull at each other for hundreds of sweeps.
init {
  mu[j] = 0
  w = pca(x)
}

fit {
  sweep z, w, mu, alpha, psi
}
"""

GAUSSIAN_MIXTURE = """
model gaussian_mixture

axis sample[n]
axis feature[j]
axis component[k]

data x[n, j] : real, center over n, scale over n

const alpha
const kappa = 0.1
const a = 2
const b = 1

pi[:k] ~ Dirichlet(alpha)
z[n] ~ Categorical(pi)
tau[k, j] ~ Gamma(a, rate = b)
mu[k, j] ~ Normal(0, prec = kappa * tau[k, j])
x[n, j] ~ Normal(mu[z[n], j], prec = tau[z[n], j])

posterior {
  q(mu[k, j], tau[k, j])
}

init {
  mu = kmeans(x)
}

fit {
  sweep z, pi, mu
}
"""

GROUP_FACTOR_ANALYSIS = """
model group_factor_analysis

axis sample[n]
axis view[m]
axis feature[j] in view[m]
axis component[k]

data x[n, m, j] : real, absent = NA, center over n, scale over n

const a = 1e-14

z[n, k] ~ Normal(0, sd = 1)
alpha[m, k] ~ Gamma(shape = a, rate = a)
w[m, j, k] ~ Normal(0, prec = alpha[m, k])
tau[m] ~ Gamma(shape = a, rate = a)
x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])

posterior {
  q(z[n, :k])
  q(w[m, j, :k])
}

init {
  w = pca(x)
}

fit {
  sweep z, w, alpha, tau
}
"""
