//! Hierarchical Poisson factorisation: a Poisson with a bounded log of a sum, a Gamma hierarchy on rates.

use super::helper::{
    Families, axis, block, constant, data, equations, latent, log, mean, mean_log, natural, partition, share,
    site, statement, sum, term, value,
};
use crate::contribution::Contribution;
use crate::equations::Equations;
use crate::expression::Function;
use crate::print::{Derivation, Format, derivation};
use crate::statistic::Statistic;
use crate::sum_of_products::{Atom, Sum};
use crate::symbols::{BlockId, StatementId, Symbols};

/// `y[u, i] ~ Poisson(b[u] + sum_k theta[u, k] beta[i, k])`, a rate that is latent for theta.
fn hpf() -> Equations {
    let mut symbols = Symbols::default();
    let s = &mut symbols;
    let u = axis(s, "user", &["u"], None)[0];
    let i = axis(s, "item", &["i"], None)[0];
    let k = axis(s, "factor", &["k"], None)[0];
    let y = data(s, "y", &[u, i]);
    let [a, a_prime, b_prime, c] = ["a", "a_prime", "b_prime", "c"].map(|name| constant(s, name));
    let theta = latent(s, "theta", &[u, k]);
    let xi = latent(s, "xi", &[u]);
    let beta = latent(s, "beta", &[i, k]);
    // Blocks: theta 0, xi 1, beta 2.
    let above = |a| sum(vec![term(1.0, &[], vec![value(a, &[])]), term(-1.0, &[], vec![])]);
    let shares = |sums| sum(vec![term(1.0, &[sums], vec![value(y, &[u, i]), share(&[u, i], &[k])])]);
    let mut rate = term(-1.0, &[], vec![value(a_prime, &[]), value(b_prime, &[])]);
    rate.factors[1].power = -1;
    let theta_prior = vec![above(a), sum(vec![term(-1.0, &[], vec![mean(1, &[u], &[])])])];
    let theta_natural = vec![
        natural(Statistic::log(), &[], above(a).plus(shares(i))),
        natural(
            Statistic::identity(),
            &[],
            theta_prior[1].clone().plus(sum(vec![term(-1.0, &[i], vec![mean(2, &[i, k], &[])])])),
        ),
    ];
    let xi_prior = vec![above(a_prime), sum(vec![rate.clone()])];
    let xi_natural = vec![
        natural(Statistic::log(), &[], above(a_prime).plus(sum(vec![term(1.0, &[k], vec![value(a, &[])])]))),
        natural(
            Statistic::identity(),
            &[],
            xi_prior[1].clone().plus(sum(vec![term(-1.0, &[k], vec![mean(0, &[u, k], &[])])])),
        ),
    ];
    let beta_prior = vec![above(c), sum(vec![term(-1.0, &[], vec![])])];
    let beta_natural = vec![
        natural(Statistic::log(), &[], above(c).plus(shares(u))),
        natural(
            Statistic::identity(),
            &[],
            beta_prior[1].clone().plus(sum(vec![term(-1.0, &[u], vec![mean(0, &[u, k], &[])])])),
        ),
    ];
    let factorial = |n| {
        let inside = sum(vec![term(1.0, &[], vec![n]), term(1.0, &[], vec![])]);
        Atom::Apply(Function::LogGamma, vec![inside])
    };
    let elbo = sum(vec![
        term(1.0, &[u, i], vec![value(y, &[u, i]), partition(&[u, i])]),
        term(-1.0, &[u, i, k], vec![mean(0, &[u, k], &[]), mean(2, &[i, k], &[])]),
        term(-1.0, &[u, i], vec![factorial(value(y, &[u, i]))]),
    ]);
    let log_gamma = |of| Atom::Apply(Function::LogGamma, vec![Sum::atom(of)]);
    let theta_density = sum(vec![
        term(1.0, &[u, k], vec![value(a, &[]), log(value(xi, &[u]))]),
        term(-1.0, &[u, k], vec![log_gamma(value(a, &[]))]),
        term(1.0, &[u, k], vec![value(a, &[]), log(value(theta, &[u, k]))]),
        term(-1.0, &[u, k], vec![log(value(theta, &[u, k]))]),
        term(-1.0, &[u, k], vec![value(theta, &[u, k]), value(xi, &[u])]),
    ]);
    let statements = vec![
        statement(theta, "Gamma", false, theta_density),
        statement(xi, "Gamma", false, sum(vec![term(1.0, &[u], vec![log(value(xi, &[u]))])])),
        statement(beta, "Gamma", false, sum(vec![term(-1.0, &[i, k], vec![value(beta, &[i, k])])])),
        statement(
            y,
            "Poisson",
            true,
            sum(vec![term(-1.0, &[u, i, k], vec![value(theta, &[u, k]), value(beta, &[i, k])])]),
        ),
    ];
    let blocks = vec![
        block(theta, &[u, k], &[], "Gamma", theta_natural, theta_prior),
        block(xi, &[u], &[], "Gamma", xi_natural, xi_prior),
        block(beta, &[i, k], &[], "Gamma", beta_natural, beta_prior),
    ];
    let weight = sum(vec![
        term(1.0, &[], vec![mean_log(0, &[u, k], &[])]),
        term(1.0, &[], vec![mean_log(2, &[i, k], &[])]),
    ]);
    let sites = vec![site(3, &[u, i], Sum::atom(value(y, &[u, i])), vec![(vec![k], weight)])];
    equations("hpf", symbols, statements, blocks, sites, vec![(3, elbo)])
}

#[test]
fn a_hierarchy_prints_as_the_paper_does() {
    let shown = derivation(&hpf(), &[], &Families, Format::Text);
    for line in [
        "    shape[u,k] = a + sum[i](y[u,i] * phi[u,i,k])\n",
        "    rate[u,k] = E[xi[u]] + sum[i](E[beta[i,k]])\n",
        "    shape = a_prime + |factor| * a\n",
        "    rate[u] = a_prime / b_prime + sum[k](E[theta[u,k]])\n",
        "    rate[k] = 1 + sum[u](E[theta[u,k]])\n",
        "    phi[u,i,k] ∝ exp(E[log theta[u,k]] + E[log beta[i,k]])\n",
        "                            - sum[u,i,k](E[theta[u,k]] * E[beta[i,k]]) - sum[u,i](log Gamma(y[u,i] + 1))\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
}

#[test]
fn one_block_is_explained_alone() {
    let mut equations = hpf();
    let (xi, u) = (equations.blocks[1].members[0], equations.blocks[1].plates[0]);
    let statement = equations.statements.iter().position(|own| own.target == xi).expect("a statement");
    let prior = sum(vec![term(1.0, &[u], vec![log(value(xi, &[u]))])]);
    equations.contributions[1] = vec![Contribution {
        statement: StatementId::from(statement),
        selected: prior.clone(),
        bounded: prior.clone(),
        monomials: prior,
        parts: vec![natural(Statistic::log(), &[], Sum::number(1.0))],
        objective: None,
    }];
    let shown = Derivation {
        equations: &equations,
        program: &[],
        stated: &[],
        defined: &[],
        named: &[],
        notation: &crate::print::Notation::default(),
        standard: &Families,
        run: &crate::print::Run::default(),
        schedule: None,
        level: crate::print::Level::Full,
        columns: crate::print::Columns::One,
        about: &[],
        diagram: None,
    }
    .explain(BlockId(1), Format::Text);
    assert_eq!(shown, EXPLAINED, "{shown}");
}

const EXPLAINED: &str = "  q(xi[u]): Gamma, for each u

Terms of the log joint
----------------------
  Of the log joint, the terms with xi in them; all others are part of the constant:
    log p(xi) = sum[u](log xi[u]) + const

Expectation
-----------
  The log of the best factor is the expectation of the log joint under all other factors:
    log q(xi[u]) = log xi[u]    (prior)
                 + const

Family
------
  This is linear in log xi[u], xi[u], as the log of the Gamma density is: the best factor is of this family,
    and the coefficients are its natural parameters.

Update
------
q(xi[u]) = Gamma
  For all u at once.
  Natural parameters:
    eta(log xi[u]) = a_prime - 1     (prior)
                   + |factor| * a    (from theta)
    eta(xi[u]) = -a_prime / b_prime       (prior)
               - sum[k](E[theta[u,k]])    (from theta)
  Standard form:
    shape = a_prime + |factor| * a
    rate[u] = a_prime / b_prime + sum[k](E[theta[u,k]])
    E[xi[u]] = shape / rate[u]
    E[log xi[u]] = psi(shape) - log rate[u]
    A(q(xi[u])) = log Gamma(shape) - shape * log(rate[u])
";

#[test]
fn latex() {
    let shown = derivation(&hpf(), &[], &Families, Format::Latex);
    assert!(
        shown.contains("\\mathrm{rate}^{\\xi}_{u} &= \\frac{a'}{b'} + \\sum_{k} \\mathrm{E}[\\theta_{uk}]"),
        "{shown}"
    );
    super::helper::keep("hpf", &shown);
    super::helper::keep("hpf_markdown", &derivation(&hpf(), &[], &Families, Format::Markdown));
}
