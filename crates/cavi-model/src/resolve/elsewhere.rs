//! Families and functions by the names that BUGS, Stan, R and Python give them, and how they are written here.

/// How a family of another language is written.
const FAMILIES: &[(&[&str], &str)] = &[
    (&["dnorm"], "write `Normal(mean, prec = ...)`: the second argument of `dnorm` in BUGS is a precision"),
    (
        &["N", "Gaussian", "gaussian", "norm"],
        "write `Normal(mean, sd = ...)`, or `prec = ...` or `var = ...`",
    ),
    (&["normal"], "did you mean `Normal`? Its second argument has a name: `Normal(mean, sd = ...)`"),
    (
        &[
            "dmnorm",
            "multi_normal",
            "MultiNormal",
            "MvNormal",
            "multivariate_normal",
            "MVN",
            "MultiNormalCholesky",
            "MultiNormalPrec",
            "MvNormalCanon",
        ],
        "write `MultivariateNormal(mean, prec = ...)`, or `cov = ...`, with a slice on the left: `x[n, :i] ~ ...`",
    ),
    (&["dgamma"], "write `Gamma(shape, rate = ...)`"),
    (&["dexp", "expon"], "write `Exponential(rate)`"),
    (&["dbeta"], "write `Beta(a, b)`"),
    (&["ddirch", "ddirich"], "write `Dirichlet(concentration)`, with a slice on the left: `p[:k] ~ ...`"),
    (
        &["dcat", "Discrete", "OneHotCategorical", "CategoricalLogit"],
        "write `Categorical(p)`, with p on the simplex",
    ),
    (
        &["BernoulliProbit", "Probit"],
        "write `Bernoulli(logit = ...)`: log odds are about 1.7 times what a probit takes",
    ),
    (
        &["DiscreteUniform", "CategoricalUniform"],
        "write `Categorical(p)` with `const p[k]` of equal values, for index data or a latent",
    ),
    (&["Deterministic", "Delta", "Dirac"], "a name for an expression has `=`: `NAME[...] = expression`"),
    (
        &[
            "GaussianRandomWalk",
            "MvGaussianRandomWalk",
            "RandomWalk",
            "AR",
            "AR1",
            "AutoRegressive",
            "EulerMaruyama",
        ],
        "chains are outside of the class; a smooth series is a Gaussian process of points: \
         `x[:t] ~ GaussianProcess(exponential(length = 10))` with `posterior { point x }`",
    ),
    (
        &["CAR", "ICAR", "dcar_normal", "GMRF", "GaussianMRF"],
        "write `x[:i] ~ MultivariateNormal(0, prec = tau * K)` with `const K[i, j]`, the precision matrix of the graph, from \
         a file",
    ),
    (
        &["VonMises", "CircularNormal"],
        "angles have no family; hold them as two columns, their cosine and sine, each under a `Normal`",
    ),
    (&["ImproperUniform"], "a flat prior is one of points: `Flat(real)` with `posterior { point NAME }`"),
    (
        &[
            "Mixture",
            "NormalMixture",
            "MixtureNormal",
            "GaussianMixture",
            "MixtureSameFamily",
            "MixtureModel",
            "dnormmix",
            "log_mix",
            "Switch",
        ],
        "a mixture has a class for each copy, `axis class[k] = 3`, `share[:k] ~ Dirichlet(1)`, `z[n] ~ Categorical(share)`, and the \
         class chooses, `x[n] ~ Normal(mu[z[n]], sd = 1)`",
    ),
    (&["GaussianFromMeanAndPrecision"], "write `Normal(mean, prec = ...)`"),
    (&["GaussianFromMeanAndVariance"], "write `Normal(mean, var = ...)`"),
    (&["GammaFromShapeAndRate"], "write `Gamma(shape, rate = ...)`"),
    (&["GammaFromShapeAndScale"], "write `Gamma(shape, scale = ...)`"),
    (
        &["VectorGaussianFromMeanAndPrecision"],
        "write `MultivariateNormal(mean, prec = ...)`, with a slice on the left: `x[n, :i] ~ ...`",
    ),
    (&["normal_id_glm", "normal_id_glm_lpdf"], "write `Normal(sum[p](x[n, p] * w[p]), sd = ...)`"),
    (&["bernoulli_logit_glm"], "write `Bernoulli(logit = sum[p](x[n, p] * w[p]))`"),
    (&["gamma"], "did you mean `Gamma`? Its second argument has a name: `Gamma(shape, rate = ...)`"),
    (&["categorical_logit"], "write `Categorical(p)`, with p on the simplex: `p[:k] ~ Dirichlet(1)`"),
    (&["dbern", "bern"], "write `Bernoulli(p)`"),
    (&["bernoulli_logit", "BernoulliLogit"], "write `Bernoulli(logit = ...)`"),
    (&["dbin", "dbinom"], "write `Binomial(total, p = ...)`: the total comes first here"),
    (&["binomial_logit", "BinomialLogit"], "write `Binomial(total, logit = ...)`"),
    (&["dmulti"], "write `Multinomial(p = ...)`, with a slice on the left: `n[d, :v] ~ ...`"),
    (&["dpois"], "write `Poisson(rate)`"),
    (&["poisson_log"], "write `Poisson(rate = exp(...))`"),
    (
        &["dwish"],
        "write `Wishart(dof, scale = ...)`: its mean is dof * scale, and BUGS takes the inverse of the scale",
    ),
    (&["inv_gamma", "InvGamma", "igamma"], "write `InverseGamma(shape, scale)`"),
    (
        &["uniform", "dunif"],
        "write `Beta(1, 1)` for a probability; other flat priors are `Flat(real)` or `Flat(nonnegative)`, for points",
    ),
];

/// How a function of another language is written.
const FUNCTIONS: &[(&[&str], &str)] = &[
    (
        &["inv_logit", "sigmoid", "expit", "ilogit", "invlogit", "plogis"],
        "write `logistic(...)`; of latents under q, `Bernoulli(logit = ...)` or `Binomial(total, logit = ...)`",
    ),
    (&["logit"], "write `log(p / (1 - p))`; log odds of data are `Bernoulli(logit = ...)`"),
    (
        &["softmax"],
        "probabilities that read no data are a slice on the simplex, `p[:k] ~ Dirichlet(1)`; of others the same maximiser has a Poisson for each \
         class: counts `c[n, k]`, 1 for the class of n and 0 for the others, with `u[n] ~ Flat(real)` and `c[n, k] ~ Poisson(exp(u[n] + e))`, \
         where `e` is what stands in the softmax, and all as points, `posterior { point u }` and so on",
    ),
    (
        &["log_sum_exp", "logsumexp", "log_mix", "logaddexp"],
        "a mixture is written by a latent class, `z[n] ~ Categorical(share)` with `mu[z[n]]` in the statement of the data; of numbers and \
         points `log(exp(a) + exp(b))`",
    ),
    (
        &[
            "rep_vector",
            "rep_matrix",
            "rep_row_vector",
            "rep_array",
            "ones",
            "zeros",
            "rep",
            "fill",
            "full",
            "ones_vector",
            "zeros_vector",
            "np_ones",
        ],
        "write the number alone: it is repeated along a slice, as in `Dirichlet(1)`",
    ),
    (
        &["equals", "eq"],
        "two letters of one axis compare as `[k == l]`; data and latents choose by an index, `mu[z[n]]`",
    ),
    (
        &["step", "ifelse", "if_else", "where", "switch", "int_step", "heaviside"],
        "there are no conditions: of cases that are data, choose by an index, `mu[group[n]]` with `data group[n] : index case`; of unknown \
         cases, by a latent, `mu[z[n]]`",
    ),
    (
        &[
            "abs",
            "fabs",
            "max",
            "min",
            "fmax",
            "fmin",
            "floor",
            "ceil",
            "round",
            "trunc",
            "rank",
            "sort",
            "cumsum",
            "cumulative_sum",
            "sin",
            "cos",
            "tan",
            "tanh",
            "relu",
        ],
        "of data, work it out before and bind the result as data of its own; of latents it has no closed form",
    ),
    (
        &[
            "to_vector",
            "to_matrix",
            "to_array_1d",
            "as_vector",
            "as_matrix",
            "diag_matrix",
            "flatten",
            "reshape",
        ],
        "drop it: elements are written with their letters, `w[i, k]`",
    ),
    (
        &[
            "rows_dot_product",
            "columns_dot_product",
            "dot_self",
            "multiply",
            "mdivide_left",
            "crossprod",
            "outer",
        ],
        "write the product by its sum: `sum[k](a[i, k] * b[k, j])`",
    ),
    (
        &["stick_breaking", "stick", "sticks", "break_sticks", "gem", "cumprod", "cumulative_product"],
        "a product over all classes before one cannot be written; shares of which few are large are a Dirichlet with a small constant, \
         `pi[:k] ~ Dirichlet(0.05)`, and classes that are not needed stay empty",
    ),
    (&["prod"], "write factor by factor, `a[n] * b[n]`; of numbers above 0, `exp(sum[k](log(a[k])))`"),
    (&["log1p"], "write `log(1 + ...)`"),
    (&["expm1"], "write `exp(...) - 1`"),
    (&["log1p_exp", "log1pexp"], "write `softplus(...)`"),
    (&["lgamma", "gammaln", "loggam", "lgam"], "write `log_gamma(...)`"),
    (&["ln"], "write `log(...)`"),
    (&["pow"], "write `x^2`, with the exponent behind `^`"),
    (&["square"], "write `x^2`"),
    (&["inv"], "write `1 / x`, or `inverse(...)` of a constant matrix"),
    (
        &["dot", "dot_product", "inprod", "matmul"],
        "write the product by its sum: `sum[k](a[i, k] * b[k, j])`",
    ),
    (&["log1m"], "write `log(1 - ...)`"),
    (&["log_inv_logit"], "write `-softplus(-...)`"),
    (&["mean"], "write the sum over its size: `sum[n](x[n]) / size`, `const size` given by `--set`"),
    (&["normal_cdf", "pnorm", "phi", "std_normal_cdf"], "write `Phi(...)`"),
    (&["qnorm", "probit", "std_normal_qf"], "write `inv_Phi(...)`"),
    (&["log_det", "log_determinant", "slogdet"], "write `logdet(...)`"),
];

/// How a family of another language is written here.
pub fn family_elsewhere(name: &str) -> Option<&'static str> {
    look_up(FAMILIES, name)
}

/// How a function of another language is written here.
pub fn function_elsewhere(name: &str) -> Option<&'static str> {
    look_up(FUNCTIONS, name)
}

fn look_up(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let exact = table.iter().find(|(names, _)| names.contains(&name));
    let alike = || table.iter().find(|(names, _)| names.iter().any(|own| plain(own) == plain(name)));
    exact.or_else(alike).map(|(_, text)| *text)
}
