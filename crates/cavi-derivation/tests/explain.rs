//! Mistakes and what is said of them. Repairs are derived before they are suggested; here the repaired programs are
//! written out and derived once more.

use cavi_algebra::Equations;
use cavi_syntax::Diagnostic;

use cavi_derivation::derive;

/// The equations of a program, and what is said of it.
fn derived(text: &str) -> (Option<Equations>, Vec<Diagnostic>) {
    let (program, diagnostics) = cavi_syntax::parse(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let (model, diagnostics) = cavi_model::resolve(&program);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}"));
    derive(&model)
}

/// The only error of a program; `repaired` are programs that its help leads to.
fn only_error(text: &str, repaired: &[&str]) -> Diagnostic {
    let (equations, diagnostics) = derived(text);
    assert!(equations.is_none(), "this compiles:\n{text}");
    let [only] = diagnostics.as_slice() else { panic!("{diagnostics:#?}") };
    for program in repaired {
        let (equations, diagnostics) = derived(program);
        assert!(equations.is_some(), "{program}{diagnostics:#?}");
    }
    println!("{}", cavi_syntax::render(only, "model.cavi", text, false));
    only.clone()
}

fn assert_says(diagnostic: &Diagnostic, texts: &[&str]) {
    let mut all = format!("{} {}", diagnostic.code, diagnostic.message);
    for (_, label) in diagnostic.primary.iter().chain(&diagnostic.secondary) {
        all.push_str(&format!("\n{label}"));
    }
    for part in [&diagnostic.possible, &diagnostic.help].into_iter().flatten() {
        all.push_str(&format!("\n{part}"));
    }
    texts.iter().for_each(|text| assert!(all.contains(text), "`{text}` is missing:\n{all}"));
}

#[test]
fn a_deviation_with_a_prior_for_a_precision() {
    let program = |argument: &str| {
        format!(
            "axis item[n]\ndata x[n] : real\nmu ~ Normal(0, sd = 10)\ns ~ Gamma(2, rate = 1)\nx[n] ~ Normal(mu, {argument} = s)\n"
        )
    };
    let error = only_error(&program("sd"), &[&program("prec")]);
    let texts = [
        "`s` has no closed-form update: `s^-2` is no sufficient statistic of its prior, Gamma",
        "this statement contributes `log s` and `s^-2`",
        "its prior, Gamma, has log s, s",
        "write `prec = s` in place of `sd = s`",
    ];
    assert_says(&error, &texts);
}

#[test]
fn a_variance_with_a_half_normal_prior() {
    let program = |prior: &str| {
        format!(
            "axis item[n]\ndata x[n] : real\nmu ~ Normal(0, sd = 10)\nv ~ {prior}\nx[n] ~ Normal(mu, var = v)\n"
        )
    };
    let repaired = [program("InverseGamma(2, 1)"), program("Gamma(2, rate = 1)")];
    let error = only_error(&program("HalfNormal(sd = 2)"), &[&repaired[0], &repaired[1]]);
    assert_says(
        &error,
        &[
            "`log v` and `1/v` are no sufficient statistics",
            "Gamma(shape, rate)",
            "InverseGamma(shape, scale)",
        ],
    );
}

#[test]
fn a_square_under_a_prior_with_a_log() {
    let program = |prior: &str, block: &str| {
        format!("axis item[n]\ndata x[n] : real\nm ~ {prior}\nx[n] ~ Normal(m, sd = 1)\n{block}")
    };
    let gamma = "Gamma(2, rate = 1)";
    let repaired = [
        program("Exponential(2.7)", ""),
        program("HalfNormal(sd = 2)", ""),
        program("TruncatedNormal(1, sd = 2)", ""),
        program(gamma, "posterior {\n  point m\n}\n"),
    ];
    let repaired: Vec<&str> = repaired.iter().map(String::as_str).collect();
    let error = only_error(&program(gamma, ""), &repaired);
    let texts = [
        "`m^2` is no sufficient statistic of its prior, Gamma",
        "Exponential(rate)",
        "TruncatedNormal",
        "posterior { point m }",
    ];
    assert_says(&error, &texts);
    assert!(!error.possible.unwrap().contains("with a square term"), "for points only");
}

#[test]
fn missing_entries_under_a_simplex() {
    let program = |absent: &str, block: &str| {
        format!(
            "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata x[d, v] : count, absent = {absent}\nh[d, k] ~ Gamma(1, rate = 1)\nw[k, :v] ~ Dirichlet(1)\nx[d, v] ~ Poisson(sum[k](w[k, v] * h[d, k]))\n{block}"
        )
    };
    let entries = program("NA", "").replace("w[k, :v] ~ Dirichlet(1)", "w[k, v] ~ Gamma(1, rate = 1)");
    let repaired = [program("0", ""), program("NA", "posterior {\n  point w\n}\n"), entries];
    let repaired: Vec<&str> = repaired.iter().map(String::as_str).collect();
    let error = only_error(&program("NA", ""), &repaired);
    assert_says(
        &error,
        &[
            "`w` is no sufficient statistic of its prior, Dirichlet",
            "`x` has `absent = NA`",
            "`absent = 0`",
            "write `w[k, v] ~ Gamma(1, rate = 1)`",
            "point w",
        ],
    );
}

#[test]
fn a_rate_that_is_an_exponential() {
    let program = |prior: &str, rate: &str| {
        format!("axis item[n]\ndata x[n] : count\ng ~ {prior}\nx[n] ~ Poisson({rate})\n")
    };
    let repaired = [program("Gamma(2, rate = 1)", "g")];
    let error = only_error(&program("Normal(0, sd = 1)", "exp(g)"), &[&repaired[0]]);
    assert_says(&error, &["E0710", "`exp(g)`", "write `g` in place of `exp(g)`", "Gamma(shape, rate)"]);
    let error = only_error(&program("Gamma(2, rate = 1)", "exp(g)"), &[&repaired[0]]);
    assert_says(&error, &["write `g` in place of `exp(g)`: its prior, Gamma, then fits"]);
}

#[test]
fn one_mistake_is_one_error() {
    let concentration = "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata n[d, v] : count, absent = 0\nalpha ~ Gamma(1, rate = 1)\ntheta[d, :k] ~ Dirichlet(alpha)\nbeta[k, :v] ~ Dirichlet(0.1)\nn[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n";
    let constant = concentration.replace("alpha ~ Gamma(1, rate = 1)", "const alpha = 1");
    let point = format!("{concentration}posterior {{\n  point alpha\n}}\n");
    let error = only_error(concentration, &[&constant, &point]);
    assert_says(&error, &["E0710", "`log Gamma(alpha)`", "posterior { point alpha }"]);
    let product =
        "axis item[n]\ndata x[n] : binary\na ~ Beta(1, 1)\nb ~ Beta(1, 1)\nx[n] ~ Bernoulli(a * b)\n";
    let points = format!("{product}posterior {{\n  point a, b\n}}\n");
    let error = only_error(product, &[&points]);
    assert_says(
        &error,
        &[
            "E0704",
            "is no statistic of any family",
            "between 0 and 1, as `p_of_x ~ Beta(1, 1)`",
            "`posterior { point a, b }`",
        ],
    );
}

#[test]
fn signs_inside_and_before_a_log() {
    let covariates = |kind: &str| {
        format!(
            "axis item[n]\naxis cause[p]\ndata x[n, p] : {kind}\ndata y[n] : count\nw[p] ~ Gamma(1, rate = 1)\ny[n] ~ Poisson(sum[p](x[n, p] * w[p]))\n"
        )
    };
    let error = only_error(&covariates("real"), &[&covariates("nonnegative")]);
    assert_says(&error, &["E0704", "`x` is a real number", "declare `x` as `nonnegative`"]);
    let difference = "axis item[n]\ndata x[n] : count\na ~ Gamma(2, rate = 1)\nb ~ Gamma(1, rate = 1)\nx[n] ~ Poisson(a - b)\n";
    assert_says(&only_error(difference, &[]), &["E0704", "it is a difference", "put one latent in place"]);
    let points = format!("{difference}posterior {{\n  point a, b\n}}\n");
    assert_says(&only_error(&points, &[]), &["E0704", "it is a difference"]);
    let negative = "axis item[n]\ndata x[n] : positive\na ~ Gamma(1, rate = 1)\nb ~ Gamma(1, rate = 1)\nx[n] ~ InverseGamma(2, 1 / (a + b))\n";
    assert_says(&only_error(negative, &[]), &["E0703", "has the coefficient `-2"]);
}

/// What is proposed has the subscripts of what it replaces.
#[test]
fn shares_and_switches_of_groups() {
    let by_data = "axis group[g]\naxis item[n]\ndata of[n] : index group\n";
    let ragged = "axis group[g]\naxis item[n] in group[g]\n";
    let cases: [(&str, &str, &str, &[&str]); 6] = [
        // A chance by group.
        (
            by_data,
            "data x[n] : binary\ns[g] ~ Beta(1, 1)\na ~ Beta(1, 1)\nb ~ Beta(1, 1)\nx[n] ~ Bernoulli(s[of[n]] * a + (1 - s[of[n]]) * b)\n",
            "axis part[c] = 2\ndata x[n] : binary\nshare[g, :c] ~ Dirichlet(1)\npart_of_x[n] ~ Categorical(share[of[n], :c])\np_of_part[c] ~ Beta(1, 1)\nx[n] ~ Bernoulli(p_of_part[part_of_x[n]])\n",
            &[
                "`share[g, :c] ~ Dirichlet(1)`",
                "`part_of_x[n] ~ Categorical(share[of[n], :c])`",
                "`p = p_of_part[part_of_x[n]]`",
            ],
        ),
        // A switch of the group, over a ragged axis.
        (
            ragged,
            "data x[g, n] : count\np ~ Beta(1, 1)\nz[g] ~ Bernoulli(p)\na[g] ~ Gamma(1, rate = 1)\nb ~ Gamma(1, rate = 1)\nx[g, n] ~ Poisson(z[g] * a[g] + (1 - z[g]) * b)\n",
            "axis part[c] = 2\ndata x[g, n] : count\nshare[:c] ~ Dirichlet(1)\npart_of_x[g] ~ Categorical(share)\nrate_of_part[c, g] ~ Gamma(1, rate = 1)\nx[g, n] ~ Poisson(rate_of_part[part_of_x[g], g])\n",
            &[
                "`part_of_x[g] ~ Categorical(share)`",
                "`rate_of_part[c, g] ~ Gamma(1, rate = 1)`",
                "`rate = rate_of_part[part_of_x[g], g]`",
            ],
        ),
        // A switch of the group that an entry is of.
        (
            by_data,
            "data x[n] : count\nz[g] ~ Bernoulli(0.5)\na ~ Gamma(1, rate = 1)\nb ~ Gamma(1, rate = 1)\nx[n] ~ Poisson(z[of[n]] * a + (1 - z[of[n]]) * b)\n",
            "axis part[c] = 2\ndata x[n] : count\nshare[:c] ~ Dirichlet(1)\npart_of_x[g] ~ Categorical(share)\nrate_of_part[c] ~ Gamma(1, rate = 1)\nx[n] ~ Poisson(rate_of_part[part_of_x[of[n]]])\n",
            &["`part_of_x[g] ~ Categorical(share)`", "`rate = rate_of_part[part_of_x[of[n]]]`"],
        ),
        // A switch of each entry whose chance is that of the group.
        (
            ragged,
            "data x[g, n] : count\np[g] ~ Beta(1, 1)\nz[g, n] ~ Bernoulli(p[g])\na[g] ~ Gamma(1, rate = 1)\nb ~ Gamma(1, rate = 1)\nx[g, n] ~ Poisson(z[g, n] * a[g] + (1 - z[g, n]) * b)\n",
            "axis part[c] = 2\ndata x[g, n] : count\nshare[g, :c] ~ Dirichlet(1)\npart_of_x[g, n] ~ Categorical(share[g, :c])\nrate_of_part[c, g] ~ Gamma(1, rate = 1)\nx[g, n] ~ Poisson(rate_of_part[part_of_x[g, n], g])\n",
            &["`share[g, :c] ~ Dirichlet(1)`", "`part_of_x[g, n] ~ Categorical(share[g, :c])`"],
        ),
        // A share of rates by group.
        (
            ragged,
            "data x[g, n] : count\np[g] ~ Beta(1, 1)\na[g] ~ Gamma(1, rate = 1)\nb ~ Gamma(1, rate = 1)\nx[g, n] ~ Poisson(p[g] * a[g] + (1 - p[g]) * b)\n",
            "axis part[c] = 2\ndata x[g, n] : count\nrate_of_part[c, g] ~ Gamma(1, rate = 1)\nx[g, n] ~ Poisson(sum[c](rate_of_part[c, g]))\n",
            &["`rate_of_part[c, g] ~ Gamma(1, rate = 1)`", "`rate = sum[c](rate_of_part[c, g])`"],
        ),
        // A difference of what groups have: one latent for each group.
        (
            by_data,
            "data x[n] : count\na[g] ~ Gamma(1, rate = 1)\nb[g] ~ Gamma(1, rate = 1)\nx[n] ~ Poisson(a[of[n]] - b[of[n]])\n",
            "data x[n] : count\nrate_of_x[g] ~ Gamma(1, rate = 1)\nx[n] ~ Poisson(rate_of_x[of[n]])\n",
            &["`rate = rate_of_x[of[n]]`", "`rate_of_x[g] ~ Gamma(1, rate = 1)`"],
        ),
    ];
    for (axes, rest, repaired, says) in cases {
        let error = only_error(&format!("{axes}{rest}"), &[&format!("{axes}{repaired}")]);
        assert_says(&error, says);
    }
}

#[test]
fn a_flat_prior_without_data() {
    let program = "axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 1)\nw ~ Flat(real)\nu ~ Normal(w, sd = 1)\nx[n] ~ Normal(m, sd = 1)\nposterior {\n  point w\n}\n";
    let (equations, diagnostics) = derived(program);
    assert!(equations.is_none());
    assert!(diagnostics.iter().any(|own| own.code == "E0714"), "{diagnostics:#?}");
}

#[test]
fn a_latent_that_touches_no_data() {
    let program = |rest: &str| {
        format!(
            "axis item[n]\naxis group[g] = 2\ndata x[n] : real\ndata at[n] : index group\nm[g] ~ Normal(0, sd = 1)\nx[n] ~ Normal(m[at[n]], sd = 1)\n{rest}"
        )
    };
    let warnings = |text: &str| -> Vec<String> {
        let (equations, diagnostics) = derived(text);
        assert!(equations.is_some(), "{diagnostics:?}");
        diagnostics.into_iter().filter(|own| own.code == "W0701").map(|own| own.message).collect()
    };
    assert!(warnings(&program("")).is_empty());
    let alone = "`u` touches no data: its posterior is its prior";
    assert_eq!(warnings(&program("u ~ Gamma(1, rate = 1)\n")), [alone]);
    // What is read by nothing but such a latent touches none either; what data read as well does.
    let path = "w ~ Gamma(1, rate = 1)\nv[g] ~ Gamma(1, rate = w)\nu[g] ~ Normal(m[g], prec = v[g])\n";
    assert_eq!(
        warnings(&program(path)),
        ["`u` touches no data, and with it `v`, `w`: its posterior is its prior"]
    );
    // Through an index, and through other latents, data are reached.
    let selected =
        "pi[:g] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\ndata y[n] : real\ny[n] ~ Normal(m[z[n]], sd = 1)\n";
    assert!(warnings(&program(selected)).is_empty());
}

#[test]
fn notes_on_factors_and_scales() {
    let notes = |text: &str| -> Vec<&'static str> { derived(text).1.iter().map(|own| own.code).collect() };
    let tokens = "axis doc[d]\naxis token[t] in doc[d]\naxis word[v]\naxis topic[k] = 3\ndata w[d, t] : index word\ntheta[d, :k] ~ Dirichlet(0.1)\nbeta[k, :v] ~ Dirichlet(0.1)\nz[d, t] ~ Categorical(theta[d])\nw[d, t] ~ Categorical(beta[z[d, t]])\n";
    assert_eq!(notes(tokens), ["N0701"]);
    assert_eq!(notes(&format!("{tokens}posterior {{\n  implicit z[d, t]\n}}\n")), ["N0703"]);
    let factors = |prior: &str, rest: &str| {
        format!(
            "axis row[i]\naxis column[j]\naxis factor[k] = 3\ndata x[i, j] : count, absent = 0\nw[i, k] ~ Gamma(1, rate = 1)\n{prior}\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]){rest})\n"
        )
    };
    assert_eq!(notes(&factors("h[k, j] ~ Gamma(1, rate = 1)", "")), ["N0702"]);
    assert_eq!(notes(&factors("h[k, :j] ~ Dirichlet(0.1)", "")), ["N0703"]);
    assert_eq!(notes(&factors("h[k, j] ~ Gamma(1, rate = 1)", " + sum[k](h[k, j])")), [""; 0]);
    // Without a sum the logarithm of the rate comes apart.
    let product = |rate: &str| {
        format!(
            "axis row[i]\naxis column[j]\ndata x[i, j] : count\ndata e[i, j] : positive\na[i] ~ Gamma(1, rate = 1)\nb[j] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson({rate})\n"
        )
    };
    assert_eq!(notes(&product("a[i] * b[j]")), ["N0702"]);
    assert_eq!(notes(&product("e[i, j] * a[i] * b[j]")), ["N0702"]);
}

#[test]
fn a_point_with_an_infinite_mode() {
    let program = |shape: &str| {
        format!(
            "axis item[n]\ndata x[n] : count\nconst a = 0.5\nw ~ Gamma({shape}, rate = 1)\nx[n] ~ Poisson(w)\nposterior {{\n  point w\n}}\n"
        )
    };
    let error = only_error(&program("0.5"), &[&program("1"), &program("1.5")]);
    assert_says(&error, &["E0713", "`w` lies at 0, where its density is infinite"]);
}

#[test]
fn classes_with_the_names_of_labels_are_told_apart_or_warned_about() {
    let warned = |prior: &str, latent: &str, rest: &str| -> bool {
        let text = format!(
            "axis item[n]\naxis rater[a]\naxis class[k, l] = 3\naxis kind[c] = 3\ndata answer[n, a] : index class\n\
             pi[:k] ~ Dirichlet(1)\n{prior}\n{latent}\nanswer[n, a] ~ Categorical(answers[a, truth[n]])\n{rest}"
        );
        let (_, diagnostics) = derived(&text);
        let errors: Vec<_> = diagnostics.iter().filter(|own| own.code.starts_with('E')).collect();
        assert!(errors.is_empty(), "{text}\n{errors:?}");
        diagnostics.iter().any(|own| own.code == "W0702")
    };
    let truth = "truth[n] ~ Categorical(pi)";
    let same = "answers[a, k, :l] ~ Dirichlet(1)";
    assert!(warned(same, truth, ""));
    let learned = "g[l] ~ Gamma(1, rate = 1)\nanswers[a, k, :l] ~ Dirichlet(g[l])";
    assert!(warned(learned, truth, "posterior {\n  point g\n}\n"));
    // What differs by the class, in the prior or at the start.
    assert!(!warned("answers[a, k, :l] ~ Dirichlet(1 + 3 * [k == l])", truth, ""));
    assert!(!warned("answers[a, k, :l] ~ Dirichlet(1 + [k < l])", truth, ""));
    assert!(!warned("data told[k, l] : positive\nanswers[a, k, :l] ~ Dirichlet(told[k, l])", truth, ""));
    assert!(!warned("data told[k] : positive\nanswers[a, k, :l] ~ Dirichlet(told[k])", truth, ""));
    assert!(!warned(same, truth, "init {\n  answers[a, k, :l] = (1 + 6 * [k == l]) / 9\n}\n"));
    assert!(!warned(same, truth, "posterior {\n  fixed answers\n}\n"));
    // Some labels are known.
    assert!(!warned(same, "data truth[n] : index class, absent = NA\ntruth[n] ~ Categorical(pi)", ""));
    // Classes that have numbers of their own.
    let kinds = "answers[a, c, :l] ~ Dirichlet(1)\nshare[:c] ~ Dirichlet(1)";
    assert!(!warned(kinds, "truth[n] ~ Categorical(share)", ""));
}

#[test]
fn a_start_that_nothing_reads_is_warned_about() {
    let lost = |rest: &str| -> Option<String> {
        let text = format!(
            "axis item[n]\naxis part[k] = 3\ndata x[n] : real\npi[:k] ~ Dirichlet(1)\nmu[k] ~ Normal(0, sd = 10)\n\
             z[n] ~ Categorical(pi)\nx[n] ~ Normal(mu[z[n]], sd = 1)\n{rest}"
        );
        let (_, diagnostics) = derived(&text);
        let errors: Vec<_> = diagnostics.iter().filter(|own| own.code.starts_with('E')).collect();
        assert!(errors.is_empty(), "{text}\n{errors:?}");
        diagnostics
            .iter()
            .find(|own| own.code == "W0703")
            .map(|own| format!("{} {:?}", own.message, own.help))
    };
    let said = lost("init {\n  z = kmeans(x)\n}\n").expect("a sweep begins with z");
    assert!(said.contains("the start of `z` is lost") && said.contains("sweep pi, mu, z"), "{said}");
    // Something reads it before.
    assert_eq!(lost("init {\n  mu[k] ~ Normal(0, sd = 5)\n}\n"), None);
    assert_eq!(lost("init {\n  z = kmeans(x)\n}\nfit {\n  sweep mu, z, pi\n}\n"), None);
    assert_eq!(lost("init {\n  z = kmeans(x)\n}\nfit {\n  sweep (mu, z), pi\n}\n"), None);
    assert!(lost("init {\n  mu[k] ~ Normal(0, sd = 5)\n}\nfit {\n  sweep pi, mu, z\n}\n").is_some());
    // It keeps its start.
    assert_eq!(lost("init {\n  mu[k] ~ Normal(0, sd = 5)\n}\nposterior {\n  fixed mu\n}\n"), None);
    // A factor that its own update reads: by allocations, or as a point that climbs.
    let factors = "axis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : count\nw[i, k] ~ Gamma(1, rate = 1)\n\
        h[k, j] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\ninit {\n  w[i, k] = 1\n}\n";
    let (_, diagnostics) = derived(factors);
    assert!(diagnostics.iter().all(|own| own.code != "W0703"), "{diagnostics:?}");
}
