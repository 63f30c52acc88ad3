//! A distribution that is not a family gets an error that prints the statements to write in its place. These
//! statements compile.

use cavi_tests::corpus::root;
use cavi_tests::support::compile;

/// The lines that the message of `name` gives in place of the statement `written ~ name(1)`.
fn lines(before: &str, written: &str, name: &str, after: &str) -> Vec<String> {
    let text = format!("{before}{written} ~ {name}(1)\n{after}");
    let message = compile("instead", &text).expect_err("the family is unknown");
    assert!(message.contains(&format!("`{name}` is no family")), "{message}");
    let help = message.lines().skip_while(|line| !line.contains("write in its place")).skip(1);
    help.take_while(|line| line.starts_with("      ")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn what_is_printed_compiles_when_it_is_pasted() {
    let data = |kind: &str| format!("axis item[n]\ndata x[n] : {kind}\n");
    let latent = "axis item[n]\naxis group[g]\ndata y[n, g] : real\n".to_owned();
    let as_scale = "y[n, g] ~ Normal(0, sd = x[g])\n";
    let as_mean = "y[n, g] ~ Normal(x[g], sd = 1)\n";
    let as_rate = "c[n, g] ~ Poisson(x[g])\n";
    let counted = "axis item[n]\naxis group[g]\ndata c[n, g] : count\n".to_owned();
    let as_chance = "b[n, g] ~ Bernoulli(x[g])\n";
    let binary = "axis item[n]\naxis group[g]\ndata b[n, g] : binary\n".to_owned();
    let real = data("real");
    let positive = data("positive");
    let counts = "axis item[n]\naxis word[v]\ndata x[n, v] : count\n".to_owned();
    let vectors = "axis item[n]\naxis dim[i, j]\ndata x[n, i] : real\n".to_owned();
    let classes = "axis item[n]\naxis class[k]\ndata z[n] : index class\n".to_owned();
    let cases: &[(&str, &str, &str, &str)] = &[
        (&real, "x[n]", "StudentT", ""),
        (&latent, "x[g]", "StudentT", as_mean),
        (&real, "x[n]", "Laplace", ""),
        (&latent, "x[g]", "Laplace", as_mean),
        (&real, "x[n]", "Cauchy", ""),
        (&latent, "x[g]", "Cauchy", as_mean),
        (&latent, "x[g]", "HalfCauchy", as_scale),
        (&latent, "x[g]", "HalfStudentT", as_scale),
        (&positive, "x[n]", "HalfCauchy", ""),
        (&positive, "x[n]", "HalfStudentT", ""),
        (&real, "x[n]", "HalfCauchy", ""),
        (&latent, "x[g]", "Horseshoe", as_mean),
        (&data("count"), "x[n]", "NegativeBinomial", ""),
        (&data("count"), "x[n]", "BetaBinomial", ""),
        (&positive, "x[n]", "InverseGaussian", ""),
        (&counted, "x[g]", "InverseGaussian", as_rate),
        (&positive, "x[n]", "ChiSquared", ""),
        (&counted, "x[g]", "ChiSquared", as_rate),
        (&binary, "x[g]", "Uniform", as_chance),
        (&real, "x[n]", "Uniform", ""),
        (&data("unit"), "x[n]", "Uniform", ""),
        (&positive, "x[n]", "LogNormal", ""),
        (&counted, "x[g]", "LogNormal", as_rate),
        (&real, "x[n]", "Logistic", ""),
        (&latent, "x[g]", "Logistic", as_mean),
        (&real, "x[n]", "SkewNormal", ""),
        (&latent, "x[g]", "SkewNormal", as_mean),
        (&real, "x[n]", "ExGaussian", ""),
        (&real, "x[n]", "AsymmetricLaplace", ""),
        (&real, "x[n]", "skew_double_exponential", ""),
        (&real, "x[n]", "exp_mod_normal", ""),
        (&real, "x[n]", "exponnorm", ""),
        (&latent, "x[g]", "AsymmetricLaplace", as_mean),
        (&real, "x[n]", "Gumbel", ""),
        (&latent, "x[g]", "Gumbel", as_mean),
        (&real, "x[n]", "NormalMixture", ""),
        (&real, "x[n]", "double_exponential", ""),
        (&real, "x[n]", "student_t", ""),
        (&positive, "x[n]", "Erlang", ""),
        (&counted, "x[g]", "Erlang", as_rate),
        (&positive, "x[n]", "inv_chi_square", ""),
        (&positive, "x[n]", "scaled_inv_chi_square", ""),
        (&positive, "x[n]", "Levy", ""),
        (&positive, "x[n]", "BetaPrime", ""),
        (&counted, "x[g]", "BetaPrime", as_rate),
        (&positive, "x[n]", "FisherSnedecor", ""),
        (&positive, "x[n]", "Lomax", ""),
        (&counted, "x[g]", "Lomax", as_rate),
        (&positive, "x[n]", "HalfLaplace", ""),
        (&positive, "x[n]", "Weibull", ""),
        (&counted, "x[g]", "dweib", as_rate),
        (&positive, "x[n]", "Frechet", ""),
        (&positive, "x[n]", "Rayleigh", ""),
        (&positive, "x[n]", "Maxwell", ""),
        (&positive, "x[n]", "Nakagami", ""),
        (&positive, "x[n]", "Pareto", ""),
        (&positive, "x[n]", "LogLogistic", ""),
        (&data("unit"), "x[n]", "Kumaraswamy", ""),
        (&data("unit"), "x[n]", "LogitNormal", ""),
        (&binary, "x[g]", "LogitNormal", as_chance),
        (&data("count"), "x[n]", "Geometric", ""),
        (&data("count"), "x[n]", "ZeroInflatedPoisson", ""),
        (&data("count"), "x[n]", "ZeroInflatedNegativeBinomial", ""),
        (&data("count"), "x[n]", "ZeroInflatedBinomial", ""),
        (&data("count"), "x[n]", "ordered_logistic", ""),
        (&counts, "x[n, :v]", "dirichlet_multinomial", ""),
        (&vectors, "x[n, :i]", "multi_student_t", ""),
        (&vectors, "s[:i, :j]", "inv_wishart", "x[n, :i] ~ MultivariateNormal(0, prec = s_prec)\n"),
        (&vectors, "s[:i, :j]", "lkj_corr", "x[n, :i] ~ MultivariateNormal(0, prec = s_prec)\n"),
        (&classes, "x[:k]", "DirichletProcess", "z[n] ~ Categorical(x)\n"),
        (&latent, "x[g]", "HalfFlat", as_scale),
    ];
    let mut wrong = Vec::new();
    for (before, written, name, after) in cases {
        let pasted = lines(before, written, name, after);
        assert!(!pasted.is_empty(), "{name} prints nothing to write");
        let text = format!("{before}{}\n{after}", pasted.join("\n"));
        if let Err(problem) = compile(name, &text) {
            wrong.push(format!("{name}\n{text}\n{problem}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What stands in a statement stands in the lines that take its place, and these compile.
#[test]
fn arguments_go_where_they_belong() {
    let data = |kind: &str| {
        format!(
            "axis item[n]\ndata x[n] : {kind}\ndata w[n] : real\na ~ Normal(0, sd = 2)\ns ~ Gamma(2, rate = 1)\nw[n] ~ Normal(a, prec = s)\n"
        )
    };
    let cases: &[(&str, &str, &[&str])] = &[
        ("positive", "LogNormal(a + 3, 0.5)", &["Normal(a + 3, sd = 0.5)"]),
        ("positive", "LogNormal(mu = a, sigma = 2)", &["Normal(a, sd = 2)"]),
        ("unit", "LogitNormal(a, 0.5)", &["Normal(a, sd = 0.5)"]),
        ("count", "NegativeBinomial(3, 0.25)", &["Gamma(3, mean = 3 * (1 - 0.25) / 0.25)"]),
        (
            "count",
            "NegativeBinomial(mean = s, size = 3)",
            &["Gamma(3, mean = 1)", "Poisson(s * x_spread[n])"],
        ),
        ("count", "NegBinomial2(s, 3)", &["Gamma(3, mean = 1)", "Poisson(s * x_spread[n])"]),
        (
            "count",
            "neg_binomial_2_log(a + 1, 3)",
            &["Gamma(3, mean = 1)", "Poisson(exp((a + 1)) * x_spread[n])"],
        ),
        ("count", "BetaBinomial(20, 2, 5)", &["Beta(2, 5)", "Binomial(20, x_p[n])"]),
        ("positive", "InverseGaussian(2, 5)", &["GeneralizedInverseGaussian(-1 / 2, 5 / 2^2, 5)"]),
        ("positive", "ChiSquared(7)", &["Gamma(7 / 2, rate = 1 / 2)"]),
        ("positive", "BetaPrime(2, 4)", &["Gamma(4, rate = 1)", "Gamma(2, rate = x_rate[n])"]),
        ("positive", "F(4, 9)", &["Gamma(9 / 2, rate = 9 / 2)", "Gamma(4 / 2, rate = 4 / 2 * x_weight[n])"]),
        (
            "real",
            "AsymmetricLaplace(a, 2, 0.25)",
            &[
                "const x_skew = (1 - 2 * 0.25)",
                "Exponential(1 / 2)",
                "Normal(a + x_skew * x_part[n], var = x_spread * 2 * x_part[n])",
            ],
        ),
        (
            "real",
            "skew_double_exponential(a, 3, 0.25)",
            &["Exponential(2 / 3)", "Normal(a + x_skew * x_part[n], var = x_spread / 2 * 3 * x_part[n])"],
        ),
        (
            "real",
            "SkewNormal(a, 3, -2)",
            &["(-2) / sqrt(1 + (-2)^2)", "Normal(a + 3 * x_part * x_skew[n], var = 3^2 * (1 - x_part^2))"],
        ),
        (
            "real",
            "ExGaussian(mu = a, sigma = 2, nu = 5)",
            &["Exponential(mean = 5)", "Normal(a + x_delay[n], sd = 2)"],
        ),
        ("real", "exp_mod_normal(a, 2, 5)", &["Exponential(5)", "Normal(a + x_delay[n], sd = 2)"]),
        ("real", "HalfCauchy(2)", &["data x_square[n] : positive = x[n]^2", "InverseGamma(1 / 2, 2^-2)"]),
        ("positive", "HalfStudentT(3, 2)", &["const x_dof = 3", "InverseGamma(x_dof / 2, x_dof / x_mix[n])"]),
        ("real", "Uniform(0, 5)", &["data x_unit[n] : unit = x[n] / 5", "x_unit[n] ~ Beta(1, 1)"]),
        ("real", "Uniform(-1, 5)", &["= (x[n] - (-1)) / (5 - (-1))"]),
        ("real", "Uniform(lower = 2, upper = 5)", &["= (x[n] - 2) / (5 - 2)"]),
        ("unit", "Kumaraswamy(4, 5)", &["x[n]^4", "Beta(1, 5)"]),
        (
            "count",
            "OrderedLogistic(a, cuts)",
            &["data x_passes[n, x_c] : binary", "Bernoulli(logit = a - x_at[x_c])"],
        ),
    ];
    let mut wrong = Vec::new();
    for (kind, written, parts) in cases {
        let before = data(kind);
        let text = format!("{before}x[n] ~ {written}\n");
        let message = compile("instead", &text).expect_err("the family is unknown");
        let help = message.lines().skip_while(|line| !line.contains("write in its place")).skip(1);
        let lines: Vec<&str> = help.take_while(|line| line.starts_with("      ")).map(str::trim).collect();
        let pasted = lines.join("\n");
        if let Some(part) = parts.iter().find(|part| !pasted.contains(**part)) {
            wrong.push(format!("{written}: no `{part}` in\n{message}"));
        }
        // Of the exponential of a latent only a point has an update.
        let after = if pasted.contains("exp(") { "posterior { point a }\n" } else { "" };
        if let Err(problem) = compile("pasted", &format!("{before}{pasted}\n{after}")) {
            wrong.push(format!("{written}\n{before}{pasted}\n{problem}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A rejected program, and what its message says to write.
struct Mended {
    name: &'static str,
    /// What stands in the program, and what its message has for it.
    changes: &'static [(&'static str, &'static str)],
    /// What of the program gave its place away.
    more: &'static str,
}

const MENDED: &[Mended] = &[
    Mended {
        name: "conjugacy_bradley_terry",
        changes: &[
            ("s[home[g]] / (s[home[g]] + s[away[g]])", "logit = s[home[g]] - s[away[g]]"),
            ("s[i] ~ Gamma(1, rate = 1)", "s[i] ~ Normal(0, sd = 1)"),
        ],
        more: "",
    },
    Mended {
        name: "conjugacy_slip_and_guess",
        changes: &[
            ("known[n] ~ Bernoulli(0.5)", "part_of_y[n] ~ Categorical(share)"),
            ("guess[j] ~ Beta(1, 1)", "share[:c] ~ Dirichlet(1)"),
            ("right[j] ~ Beta(1, 1)", "p_of_part[c, j] ~ Beta(1, 1)"),
            ("guess[j] * (1 - known[n]) + right[j] * known[n]", "p = p_of_part[part_of_y[n], j]"),
            ("axis student[n]\n", "axis part[c] = 2"),
        ],
        more: "axis student[n]",
    },
    Mended {
        name: "conjugacy_share_by_group",
        changes: &[
            ("s[g] ~ Beta(1, 1)", "share[g, :c] ~ Dirichlet(1)"),
            ("a ~ Beta(1, 1)", "part_of_x[n] ~ Categorical(share[of[n], :c])"),
            ("b ~ Beta(1, 1)", "p_of_part[c] ~ Beta(1, 1)"),
            ("s[of[n]] * a + (1 - s[of[n]]) * b", "p = p_of_part[part_of_x[n]]"),
            ("axis group[g]\n", "axis part[c] = 2"),
        ],
        more: "axis group[g]",
    },
    Mended {
        name: "conjugacy_switch_of_a_group",
        changes: &[
            ("p ~ Beta(1, 1)", "share[:c] ~ Dirichlet(1)"),
            ("z[g] ~ Bernoulli(p)", "part_of_x[g] ~ Categorical(share)"),
            ("a[g] ~ Gamma(1, rate = 1)", "rate_of_part[c, g] ~ Gamma(1, rate = 1)"),
            ("b ~ Gamma(1, rate = 1)\n", ""),
            ("z[g] * a[g] + (1 - z[g]) * b", "rate = rate_of_part[part_of_x[g], g]"),
            ("model wrong\n", "axis part[c] = 2"),
        ],
        more: "",
    },
    Mended {
        name: "conjugacy_share_of_rates",
        changes: &[
            ("s ~ Beta(1, 1)", "rate_of_part[c] ~ Gamma(1, rate = 1)"),
            ("s * a + (1 - s) * b", "rate = sum[c](rate_of_part[c])"),
            ("axis row[n]\n", "axis part[c] = 2"),
        ],
        more: "axis row[n]",
    },
    Mended {
        name: "conjugacy_real_factor_of_a_rate",
        changes: &[
            ("1 + p * z[n]", "rate = rate_of_y[n]"),
            ("z[n] ~ Normal(0, sd = 1)", "rate_of_y[n] ~ Gamma(1, rate = 1)"),
        ],
        more: "",
    },
    Mended {
        name: "conjugacy_softmax_of_a_latent_class",
        changes: &[
            ("a[c] ~ Normal(0, sd = 1)", "share_of_z[:c] ~ Dirichlet(1)"),
            ("z[n] ~ Categorical(p[n, :c])", "z[n] ~ Categorical(share_of_z[:c])"),
            ("p[n, c] = exp(a[c] * x[n]) / sum[e](exp(a[e] * x[n]))\n", ""),
        ],
        more: "",
    },
    Mended {
        name: "conjugacy_rows_without_simplex",
        changes: &[("truth[r, c, e] ~ Gamma(1, rate = 1)", "truth[r, c, :e] ~ Dirichlet(1)")],
        more: "",
    },
    Mended {
        name: "axes_binary_index",
        changes: &[
            ("z[n] ~ Bernoulli(0.3)", "z[n] ~ Categorical(share)"),
            ("model wrong\n", "share[:c] ~ Dirichlet(1)"),
        ],
        more: "",
    },
];

#[test]
fn what_a_message_proposes_compiles_in_its_program() {
    let mut wrong = Vec::new();
    for Mended { name, changes, more } in MENDED {
        let path = root().join("tests/rejected").join(format!("{name}.cavi"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let message = compile(name, &text).expect_err("the program is rejected");
        let mut mended = text;
        for (from, to) in *changes {
            if !mended.contains(from) || !message.contains(to) {
                wrong.push(format!("{name}: `{from}` in the program, `{to}` in\n{message}"));
            }
            let end = if from.ends_with('\n') { "\n" } else { "" };
            mended = mended.replace(from, &format!("{to}{end}"));
        }
        mended.push_str(&format!("{more}\n"));
        if let Err(problem) = compile(name, &mended) {
            wrong.push(format!("{name}\n{mended}\n{problem}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
