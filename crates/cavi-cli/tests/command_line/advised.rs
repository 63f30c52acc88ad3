//! What a refusal tells to write: it stands in the message, and the program with it compiles.

use std::fs;
use std::path::Path;

use crate::common::{cavi, run, scratch, text};

/// What is said of a program that does not compile.
fn refused(directory: &Path, program: &str) -> String {
    fs::write(directory.join("m.cavi"), program).unwrap();
    let output = cavi(directory, &["check", "m.cavi"]);
    assert_ne!(output.status.code(), Some(0), "{program}");
    text(&output.stderr)
}

/// A program that compiles.
fn compiles(directory: &Path, program: &str) {
    fs::write(directory.join("m.cavi"), program).unwrap();
    run(directory, "check m.cavi");
}

#[test]
fn a_logistic_that_is_written_out_is_its_log_odds() {
    let directory = scratch("advised_logit");
    let program = |chance: &str| {
        format!(
            "axis n[n]\ndata y[n] : binary\ndata x[n] : real\na ~ Normal(0, sd = 1)\nb ~ Normal(a, sd = 1)\n\
             y[n] ~ Bernoulli({chance})\n"
        )
    };
    for (written, odds) in [
        ("1 / (1 + exp(-b * x[n]))", "b * x[n]"),
        ("1 / (1 + exp(-(a + b * x[n])))", "a + b * x[n]"),
        ("1 / (exp(b * x[n]) + 1)", "-b * x[n]"),
        ("exp(b * x[n]) / (1 + exp(b * x[n]))", "b * x[n]"),
        ("exp(a + b * x[n]) / (1 + exp(a + b * x[n]))", "a + b * x[n]"),
        ("exp(-b * x[n]) / (1 + exp(-b * x[n]))", "-b * x[n]"),
        ("exp(a) / (exp(a) + exp(b * x[n]))", "a - b * x[n]"),
        ("1 / (1 + 2 * exp(-b))", "-log(2) + b"),
        ("a + b * x[n]", "a + b * x[n]"),
    ] {
        let said = refused(&directory, &program(written));
        assert!(said.contains(&format!("write `logit = {odds}`")), "{written}: {said}");
        // The priors stay.
        assert!(!said.contains("~ Normal(0, sd = 1)"), "{written}: {said}");
        compiles(&directory, &program(&format!("logit = {odds}")));
    }
    // Of strengths themselves the logs have the place of the strengths, and priors of their own.
    let pairs = |chance: &str, prior: &str| {
        format!(
            "axis player[i, j]\ndata y[i, j] : binary, i != j\ns[i] ~ {prior}\ny[i, j] ~ Bernoulli({chance})\n"
        )
    };
    let said = refused(&directory, &pairs("s[i] / (s[i] + s[j])", "Gamma(1, rate = 1)"));
    assert!(
        said.contains("write `logit = s[i] - s[j]`") && said.contains("with `s[i] ~ Normal(0, sd = 1)`"),
        "{said}"
    );
    compiles(&directory, &pairs("logit = s[i] - s[j]", "Normal(0, sd = 1)"));
}

#[test]
fn an_axis_in_the_place_of_its_letter_is_told() {
    let directory = scratch("advised_letter");
    let said = refused(
        &directory,
        "axis n[N]\ndata x[N] : real\nmu ~ Normal(0, sd = 1)\nx[n] ~ Normal(mu, sd = 1)\n",
    );
    assert!(said.contains("`n` is the axis, its letter is `N`") && said.contains("write `N` here"), "{said}");
    let said = refused(
        &directory,
        "axis n[i, j]\ndata x[i] : real\nmu ~ Normal(0, sd = 1)\nx[n] ~ Normal(mu, sd = 1)\n",
    );
    assert!(said.contains("`n` is the axis, its letters are `i`, `j`"), "{said}");
}

#[test]
fn a_list_of_numbers_is_a_constant_with_a_name() {
    let directory = scratch("advised_list");
    let program = |line: &str| format!("axis k[k] = 2\n{line}\n");
    for (line, advice) in [
        ("pi[:k] ~ Dirichlet([1, 1])", "write `1` in place of the list"),
        (
            "pi[:k] ~ Dirichlet([1, 2])",
            "`const a[k]`, write `a` in place of the list, and give a file: `--set a=FILE`",
        ),
        ("a[k] ~ Normal(0, sd = [1, 2])", "`const b[k]`, write `b` in place of the list"),
        ("const w[k] = [1, 2]", "declare it without a value, `const w[k]`, and give a file: `--set w=FILE`"),
        ("p = [0.2, 0.8]", "declare it without a value, `const p`, and give a file: `--set p=FILE`"),
    ] {
        let said = refused(&directory, &program(line));
        assert!(said.contains(advice), "{line}: {said}");
    }
}

#[test]
fn a_setting_without_its_sign_is_told_with_it() {
    let directory = scratch("advised_setting");
    let program = |line: &str| {
        format!(
            "axis n[n]\ndata y[n] : real\nw ~ Normal(0, sd = 1)\ny[n] ~ Normal(w, sd = 1)\nfit {{\n  {line}\n}}\n"
        )
    };
    for (line, advice) in [
        ("sweeps: 100", "write `sweeps = 100`"),
        ("sweeps 100", "write `sweeps = 100`"),
        ("seed", "write `seed = ...`"),
    ] {
        let said = refused(&directory, &program(line));
        assert!(said.contains(advice), "{line}: {said}");
    }
    assert!(refused(&directory, &program("threads")).contains("`sweeps = 500`"));
    compiles(&directory, &program("sweeps = 100"));
}

#[test]
fn a_flat_prior_on_an_interval_is_told_by_where_it_stands() {
    let directory = scratch("advised_interval");
    let program = |mu: &str, scale: &str, spelled: &str| {
        format!(
            "axis n[n]\naxis j[j]\ndata y[n] : real\ndata g[n] : index j\nmu[j] ~ {mu}\n{scale}\n\
             y[n] ~ Normal(mu[g[n]], {spelled})\n"
        )
    };
    let said = refused(&directory, &program("Uniform(0, 10)", "s[j] ~ dunif(0, 100)", "sd = s[g[n]]"));
    for advice in [
        "mu[j] ~ Normal(5, sd = 5)",
        "s_prec[j] ~ Gamma(0.1, rate = 0.1)",
        "`prec = s_prec[g[n]]` in place of `sd = s[g[n]]`",
    ] {
        assert!(said.contains(advice), "{said}");
    }
    compiles(
        &directory,
        &program("Normal(5, sd = 5)", "s_prec[j] ~ Gamma(0.1, rate = 0.1)", "prec = s_prec[g[n]]"),
    );
    for (spelled, prior) in
        [("prec = s", "s ~ Gamma(0.1, rate = 0.1)"), ("var = s", "s ~ InverseGamma(0.1, 0.1)")]
    {
        let said = refused(&directory, &program("Uniform(-5, 5)", "s ~ Uniform(0, 100)", spelled));
        assert!(said.contains("mu[j] ~ Normal(0, sd = 5)") && said.contains(prior), "{said}");
        compiles(&directory, &program("Normal(0, sd = 5)", prior, spelled));
    }
    for written in ["1 / s^2", "s^-2", "1 / (s * s)", "pow(s, -2)"] {
        for line in [format!("prec = {written}"), format!("prec = t\nt = {written}")] {
            let (spelled, definition) = line.split_once('\n').unwrap_or((&line, ""));
            let said = refused(
                &directory,
                &program("Uniform(-5, 5)", &format!("{definition}\ns ~ dunif(0, 100)"), spelled),
            );
            let advice = format!("`s_prec` in place of `{written}`)\n      s_prec ~ Gamma(0.1, rate = 0.1)");
            assert!(said.contains(&advice), "{line}: {said}");
        }
    }
    compiles(
        &directory,
        &program("Normal(0, sd = 5)", "t = s_prec\ns_prec ~ Gamma(0.1, rate = 0.1)", "prec = t"),
    );
    let counts = |prior: &str, statement: &str| {
        format!("axis n[n]\ndata y[n] : count\np ~ {prior}\ny[n] ~ {statement}\n")
    };
    for (interval, statement, prior) in [
        ("Uniform(0, 50)", "Poisson(p)", "Gamma(1, mean = 25)"),
        ("Uniform(0, 1)", "Binomial(50, p)", "Beta(1, 1)"),
        // Of the mean 1/2 and the variance 0.03: a + b = 0.25 / 0.03 - 1.
        ("Uniform(0.2, 0.8)", "Binomial(50, p)", "Beta(3.67, 3.67)"),
        ("Uniform(0, 4)", "Binomial(50, logit = p)", "Normal(2, sd = 2)"),
    ] {
        let said = refused(&directory, &counts(interval, statement));
        assert!(said.contains(&format!("p ~ {prior}")), "{said}");
        compiles(&directory, &counts(prior, statement));
    }
}

#[test]
fn shares_in_a_rate_are_told_as_numbers_of_their_own() {
    let directory = scratch("advised_rates");
    let program = |u: &str, v: &str| {
        format!(
            "axis r[i]\naxis c[j]\naxis rk[k] = 2\naxis ck[l] = 3\ndata y[i, j] : count\n{u}\n{v}\n\
             s[k, l] ~ Gamma(1, rate = 0.1)\ny[i, j] ~ Poisson(sum[k, l](u[i, k] * s[k, l] * v[j, l]))\n"
        )
    };
    let said = refused(&directory, &program("u[i, :k] ~ Dirichlet(0.5)", "v[j, :l] ~ Dirichlet(0.5)"));
    let (u, v) = ("u[i, k] ~ Gamma(0.5, rate = 1)", "v[j, l] ~ Gamma(0.5, rate = 1)");
    assert!(said.contains(u) && said.contains(v), "{said}");
    compiles(&directory, &program(u, v));
}

#[test]
fn broken_sticks_are_a_sparse_dirichlet() {
    let directory = scratch("advised_sticks");
    let said = refused(
        &directory,
        "axis n[n]\naxis k[k] = 10\ndata y[n] : real\nv[k] ~ Beta(1, 1)\npi = stick_breaking(v)\nz[n] ~ Categorical(pi)\n\
         mu[k] ~ Normal(0, sd = 3)\ny[n] ~ Normal(mu[z[n]], sd = 1)\n",
    );
    assert!(said.contains("`pi[:k] ~ Dirichlet(0.05)`"), "{said}");
}

#[test]
fn a_multiple_of_the_identity_takes_the_letters_of_the_matrix() {
    let directory = scratch("advised_identity");
    let program = |scale: &str| {
        format!(
            "axis n[n]\naxis p[p, q1]\ndata x[n, p] : real\nS[:p, :q1] ~ Wishart(5, scale = {scale})\n\
             mu[p] ~ Normal(0, sd = 3)\nx[n, :p] ~ MultivariateNormal(mu, prec = S)\n"
        )
    };
    let said = refused(&directory, &program("1"));
    assert!(said.contains("write `1 * [p == q1]`, a multiple of the identity\n"), "{said}");
    compiles(&directory, &program("1 * [p == q1]"));
}

#[test]
fn counts_with_more_zeros_are_told_as_they_are() {
    let directory = scratch("advised_zeros");
    let said = refused(
        &directory,
        "axis n[n]\ndata y[n] : count\nlam ~ Gamma(1, rate = 1)\ny[n] ~ ZeroInflatedPoisson(0.3, lam)\n",
    );
    let lines = [
        "axis y_part[y_c] = 2",
        "const y_on[y_c]",
        "y_share[:y_c] ~ Dirichlet(1)",
        "y_of[n] ~ Categorical(y_share)",
        "y[n] ~ Poisson(y_on[y_of[n]] * lam)",
    ];
    assert!(said.contains(&lines.join("\n      ")), "{said}");
    assert!(said.contains("known ones are `const y_share[y_c]`, without the Dirichlet"), "{said}");
    // With shares and rate known q is the posterior, and the bound is the evidence, `sum log (0.3 [y = 0] + 0.7 Poisson(y; 2))`.
    let known = lines.join("\n").replace("y_share[:y_c] ~ Dirichlet(1)", "const y_share[y_c]");
    fs::write(
        directory.join("known.cavi"),
        format!("axis n[n]\ndata y[n] : count\nconst lam = 2\n{known}\n"),
    )
    .unwrap();
    fs::write(directory.join("y.csv"), "0\n0\n1\n3\n0\n5\n").unwrap();
    fs::write(directory.join("on.csv"), "0\n1\n").unwrap();
    fs::write(directory.join("share.csv"), "0.3\n0.7\n").unwrap();
    run(
        &directory,
        "fit known.cavi --data y=y.csv --set y_on=on.csv --set y_share=share.csv --tol 1e-12 --out o",
    );
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(directory.join("o/summary.json")).unwrap()).unwrap();
    let of = |y: i32| {
        let factorial: f64 = (1..=y).map(f64::from).product();
        let poisson = (-2.0_f64).exp() * 2.0_f64.powi(y) / factorial;
        (0.3 * f64::from(u8::from(y == 0)) + 0.7 * poisson).ln()
    };
    let expected: f64 = [0, 0, 1, 3, 0, 5].map(of).iter().sum();
    let found = summary["elbo"].as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    for (family, last) in [
        ("ZeroInflatedBinomial(10)", "y[n] ~ Binomial(10 * y_on[y_of[n]], y_p)"),
        ("ZeroInflatedNegativeBinomial(2, 3)", "y[n] ~ Poisson(y_on[y_of[n]] * y_mean * y_spread[n])"),
    ] {
        let head = "axis n[n]\ndata y[n] : count\n";
        let said = refused(&directory, &format!("{head}y[n] ~ {family}\n"));
        let (_, recipe) = said.split_once("axis y_part").unwrap();
        let (recipe, _) = recipe.split_once("\n\n").unwrap();
        assert!(recipe.contains(last), "{said}");
        compiles(&directory, &format!("{head}axis y_part{recipe}\n"));
    }
    // A regression of the zeros is lost, and said to be.
    let said = refused(
        &directory,
        "axis i[i]\naxis p[p]\ndata y[i] : count\ndata x[i, p] : real\nb[p] ~ Normal(0, sd = 2)\nlam ~ Gamma(1, rate = 1)\n\
         z[i] ~ Bernoulli(logit = sum[p](b[p] * x[i, p]))\ny[i] ~ Poisson(z[i] * lam)\n",
    );
    assert!(said.contains("`sum[p](b[p] * x[i, p])` cannot be kept"), "{said}");
}
