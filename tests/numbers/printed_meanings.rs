//! What pages say, where a reader who takes them at their word would get something else: an inverse of an element, one symbol for two
//! things, the log of a copy for that of many, formulas that are not defined, and claims that do not hold.

use cavi::{Compiled, Format};

use crate::printed_pages::{compiled, holds};

/// A page in one line.
fn page(program: &Compiled, format: Format) -> String {
    program.derivation(format).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn says(page: &str, all: &[&str]) {
    for own in all {
        assert!(page.contains(own), "{own} is not in\n{page}");
    }
}

#[track_caller]
fn says_nowhere(page: &str, all: &[&str]) {
    for own in all {
        assert!(!page.contains(own), "{own} is in\n{page}");
    }
}

/// Ridge regression by a point: the matrix that is inverted has a line of its own, is evaluated, and costs its cube.
#[test]
fn a_point_over_a_slice_states_the_matrix_that_it_inverts() {
    let own = compiled(
        "axis n[n]\naxis p[p] = 2\ndata X[n, p] : real\ndata y[n] : real\nb[p] ~ Normal(0, sd = 1)\n\
         y[n] ~ Normal(sum[p](b[p] * X[n, p]), sd = 1)\nposterior { point b[:p] }\n",
    );
    let text = page(&own, Format::Text);
    says(
        &text,
        &[
            "prec[p,p'] = [p = p'] + sum[n](X[n,p] * X[n,p'])",
            "cov[:p,:p'] = inverse(prec[:p,:p'])",
            "b[p] = sum[p'](cov[p,p'] * sum[n](X[n,p'] * y[n]))",
            "b O(|n| * |p|^2 + |p|^3)",
        ],
    );
    says(&page(&own, Format::Latex), &["\\Lambda_{pp'}"]);
    holds(&own);
}

/// The log of a truncated or a half normal has the number pi beside what the program calls so.
#[test]
fn the_number_pi_is_no_variable() {
    let constant = compiled(
        "axis n[n]\naxis p[p] = 2\ndata X[n, p] : real\ndata y[n] : real\nconst pi = 0.3\nb[p] ~ HalfNormal(prec = pi)\n\
         y[n] ~ Normal(sum[p](b[p] * X[n, p]), sd = 1)\n",
    );
    let latent = compiled(
        "axis n[n]\naxis p[p] = 2\ndata X[n, p] : real\ndata y[n] : real\ns[p] ~ Bernoulli(pi)\npi ~ Beta(1, 4)\n\
         b[p] ~ HalfNormal(prec = 0.5)\ny[n] ~ Normal(sum[p](s[p] * b[p] * X[n, p]), sd = 1)\n",
    );
    for own in [constant, latent] {
        let text = page(&own, Format::Text);
        says(&text, &["log(2 * PI)", "PI is 3.14159..., the circumference"]);
        says_nowhere(&text, &["2 pi", "pi / 2) / 2 +"]);
        says_nowhere(&page(&own, Format::Latex), &["2\\pi"]);
        holds(&own);
    }
    // What has subscripts wherever it is a number is no number without.
    let weights = compiled(
        "axis n[n]\naxis k[k] = 2\ndata y[n] : real\npi[:k] ~ Dirichlet(1)\nm[k] ~ Normal(0, sd = 1)\nz[n] ~ Categorical(pi)\n\
         y[n] ~ Normal(m[z[n]], sd = 1)\n",
    );
    says(&page(&weights, Format::Text), &["log(2 pi)", "log pi[k]"]);
    holds(&weights);
}

/// In print a function is no variable and no size of an axis.
#[test]
fn functions_are_no_variables_in_print() {
    let bessel = compiled(
        "axis n[n]\naxis k[k] = 2\ndata y[n, k] : real\ng[n, k] ~ GeneralizedInverseGaussian(p = 0.5, a = 2, b = 1)\n\
         m[k] ~ Normal(1, sd = 2)\ny[n, k] ~ Normal(m[k], var = g[n, k])\n",
    );
    let latex = page(&bessel, Format::Latex);
    says(&latex, &["\\ln K(", "|\\mathrm{k}|"]);
    says_nowhere(&latex, &["N \\, K"]);
    let names = compiled(
        "axis n[n]\naxis p[p]\naxis k[k] = 2\ndata X[n, p] : real\nPhi[k, p] ~ HalfNormal(prec = 2)\n\
         W[n, k] ~ HalfNormal(prec = Gamma)\nGamma ~ Gamma(psi, rate = 1)\nconst psi = 2.5\n\
         X[n, p] ~ Normal(sum[k](W[n, k] * Phi[k, p]), sd = 1)\n",
    );
    // Behind the picture, in which no function stands.
    let latex = page(&names, Format::Latex);
    let latex = latex.rsplit("\\subsection*{Overview}").next().expect("the page").to_owned();
    says(&latex, &["\\ln\\Gamma(", "\\ln\\Phi", "\\ln \\mathrm{Gamma}", "\\mathrm{Phi}_{kp}"]);
    says_nowhere(&latex, &["\\Phi_{", "\\ln \\Gamma "]);
    says(
        &page(&names, Format::Text),
        &["log_gamma(psi)", "log_gamma(x) is the natural logarithm of the Gamma function"],
    );
    holds(&names);
}

/// A constant called log leaves the logarithm another name.
#[test]
fn the_logarithm_is_no_constant() {
    let own = compiled(
        "axis n[n]\ndata y[n] : real\ndata c[n] : count\nconst log = 2.3\nm ~ Normal(0, prec = log * tau)\n\
         tau ~ Gamma(log, rate = log)\ny[n] ~ Normal(m, prec = tau)\nr ~ Gamma(log, rate = 1)\nc[n] ~ Poisson(r * log)\n",
    );
    let text = page(&own, Format::Text);
    says(&text, &["log * ln(log) - log_gamma(log)", "ln(x) is the natural logarithm", "ln(2 * pi)"]);
    holds(&own);
}

/// A row of weight m counts m times, and shares one factor: Gamma(3 + d, 2 + 1) whatever m is.
#[test]
fn the_log_of_a_weighted_factor_stands_with_its_weight() {
    let own = compiled(
        "axis c[c]\ndata m[c] : multiplicity\ndata d[c] : count\nr[c] ~ Gamma(3, rate = 2)\nd[c] ~ Poisson(r[c])\n",
    );
    let text = page(&own, Format::Text);
    says(
        &text,
        &["m[c] * log(q(r[c])) = 2 * m[c] * log(r[c])", "shape[c] = 3 + d[c]", "that factor, m times"],
    );
    says(&text, &["the coefficients, divided by the weight of the row, are its natural parameters"]);
    holds(&own);
    // The weights of groups count the rows in them, whose letters stand behind those of the group.
    holds(&compiled(
        "axis country[c]\naxis town[t] in country[c]\ndata w[c] : multiplicity\ndata deaths[c, t] : count\n\
         data people[c, t] : positive\nlevel[c] ~ Gamma(1.5, rate = 1)\nrisk[c, t] ~ Gamma(3, rate = level[c])\n\
         deaths[c, t] ~ Poisson(people[c, t] * risk[c, t])\n",
    ));
}

/// A variance whose observation is missing keeps its prior, which is a Gamma: the formulas with Bessel functions are 0/0 there.
#[test]
fn a_generalised_inverse_gaussian_without_an_observation_is_stated() {
    let own = compiled(
        "axis n[n]\ndata y[n] : real, absent = NA\ndata x[n] : real\nv[n] ~ Exponential(0.5)\nmu ~ Normal(0, sd = 1)\n\
         y[n] ~ Normal(mu, var = v[n])\nx[n] ~ Normal(mu, sd = 1)\n",
    );
    let text = page(&own, Format::Text);
    says(
        &text,
        &[
            "Where b[n] is 0, these stand in their place:",
            "E[v[n]] = 2 * p[n] / a",
            "E[log v[n]] = log(b[n] / a) / 2 + log BesselK'(p[n], sqrt(a * b[n]))",
            "E[1 / v[n]] is not finite where p[n] is 1 or less.",
            "log BesselK'(p, x) is the derivative of log BesselK(p, x) in p",
        ],
    );
    says_nowhere(&text, &["Where a is 0"]);
    says(&page(&own, Format::Latex), &["(\\ln K)'("]);
    holds(&own);
    // With an observation for each the second parameter is a square, which is not 0.
    let whole = compiled(
        "axis n[n]\ndata y[n] : real\nv[n] ~ Exponential(0.5)\nmu ~ Normal(0, sd = 1)\ny[n] ~ Normal(mu, var = v[n])\n",
    );
    says_nowhere(&page(&whole, Format::Text), &["these stand in their place"]);
}

/// The marginal of the mean is a Student distribution of 2 a degrees of freedom, which has a variance if a > 1.
#[test]
fn the_variance_of_a_normal_gamma_has_its_condition() {
    let own = compiled(
        "axis n[n]\naxis k[k] = 3\ndata y[n] : real\nmu[k] ~ Normal(0, prec = 0.1 * tau[k])\ntau[k] ~ Gamma(0.4, rate = 1)\n\
         z[n] ~ Categorical(w)\nw[:k] ~ Dirichlet(1)\ny[n] ~ Normal(mu[z[n]], prec = tau[z[n]])\nposterior { q(mu[k], tau[k]) }\n",
    );
    says(&page(&own, Format::Text), &["Var(mu[k]) is not finite where shape[k] is 1 or less."]);
    holds(&own);
}

/// Of two maxima Newton's method finds the one near its start.
#[test]
fn a_point_without_a_closed_form_claims_no_largest_value() {
    let own = compiled(
        "axis i[i]\ndata y[i] : real\nmu ~ Normal(0, sd = 10)\ny[i] ~ Normal(mu^4 - 10 * mu^2 + 2 * mu, sd = 1)\nposterior { point mu }\n",
    );
    let text = page(&own, Format::Text);
    says(
        &text,
        &[
            "It goes from where it is to a maximum of its terms in the log joint, of several not always the largest,",
        ],
    );
    says_nowhere(&text, &["expected log joint", "are largest"]);
}

/// The boundary, where the density is infinite, is no maximum of an M step.
#[test]
fn clamped_points_are_no_em() {
    let program = |own: &str| {
        compiled(&format!(
            "axis d[d]\naxis v[v]\naxis k[k] = 3\ndata x[d, v] : count, absent = 0\nw[k, :v] ~ Dirichlet(0.5)\n\
             h[d, k] ~ Gamma(0.5, rate = 1)\nx[d, v] ~ Poisson(sum[k](h[d, k] * w[k, v]))\nposterior {{\n{own}\n}}\n"
        ))
    };
    let text = page(&program("point w[k, :v] clamp\npoint h[d, k] clamp"), Format::Text);
    says(
        &text,
        &[
            "All latent variables are points, so that both sides are equal at:",
            "no rise of the objective is claimed",
        ],
    );
    let claims =
        ["EM (Dempster", "M step", "The update of a point is the maximum", "Under q the addends are random"];
    says_nowhere(&text, &claims);
    let text = page(&program("point w[k, :v] clamp"), Format::Text);
    says_nowhere(&text, &["a point takes", "The updates of the points are the M step"]);
}

/// A factor that is never stored is a factor.
#[test]
fn implicit_factors_are_among_those_of_q() {
    let own = compiled(
        "axis doc[d]\naxis tok[t] in doc[d]\naxis word[v]\naxis k[k] = 2\ndata w[d, t] : index word\nth[d, :k] ~ Dirichlet(0.1)\n\
         be[k, :v] ~ Dirichlet(0.2)\nz[d, t] ~ Categorical(th[d, :k])\nw[d, t] ~ Categorical(be[z[d, t], :v])\n\
         posterior { implicit z[d, t] }\n",
    );
    assert_eq!(
        own.factorisation(),
        ["q(th[d, :k]): Dirichlet", "q(be[k, :v]): Dirichlet", "implicit z[d, t]: Categorical"]
    );
}

/// The square of a vector under each class is part of what its probability costs: n observations, k classes, p values.
#[test]
fn what_implicit_probabilities_sum_is_in_their_cost() {
    let own = compiled(
        "axis n[n]\naxis p[p]\naxis k[k] = 2\ndata x[n, p] : real\ndata y[n] : real\nb[k, p] ~ Normal(0, sd = 1)\nw[:k] ~ Dirichlet(1)\n\
         z[n] ~ Categorical(w)\ny[n] ~ Normal(sum[p](x[n, p] * b[z[n], p]), sd = 1)\nposterior { implicit z[n] }\n",
    );
    says(&page(&own, Format::Text), &["allocations O(|n| * |p| * |k|)"]);
}
