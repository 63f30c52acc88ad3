//! A mixture of Normals: an indicator, elements chosen by an index variable.

use super::helper::{
    Families, at, axis, block, constant, data, equations, keep, latent, log, mean, mean_log, moment, natural,
    statement, sum, term, value,
};
use crate::equations::{Equations, Mode};
use crate::expression::Subscript;
use crate::print::{Format, derivation};
use crate::statistic::Statistic;
use crate::sum_of_products::{Atom, ExpectedSquare, Sum};
use crate::symbols::{LetterId, Symbols};

/// `x[n] ~ Normal(mu[z[n]], prec = tau)`
fn mixture() -> Equations {
    let mut symbols = Symbols::default();
    let s = &mut symbols;
    let n = axis(s, "point", &["n"], None)[0];
    let k = axis(s, "component", &["k", "l"], None)[0];
    let x = data(s, "x", &[n]);
    let alpha = constant(s, "alpha");
    let z = latent(s, "z", &[n]);
    let pi = latent(s, "pi", &[k]);
    let mu = latent(s, "mu", &[k]);
    let tau = latent(s, "tau", &[]);
    // Blocks: z 0, pi 1, mu 2, tau 3.
    let chosen = Subscript::Index(z, at(&[n]));
    let is = |k| moment(0, Statistic::indicator(), &[n], &[k]);
    let square = || {
        let residual = |mu| sum(vec![term(1.0, &[], vec![value(x, &[n])]), term(-1.0, &[], vec![mu])]);
        Atom::ExpectedSquare(Box::new(ExpectedSquare {
            of: residual(value(mu, &[k])),
            mean: residual(mean(2, &[k], &[])),
            spread: Sum::atom(moment(2, Statistic::covariance(), &[k], &[])),
        }))
    };
    let z_prior = vec![sum(vec![term(1.0, &[], vec![mean_log(1, &[], &[k])])])];
    let z_natural = vec![natural(
        Statistic::indicator(),
        &[k],
        z_prior[0].clone().plus(sum(vec![
            term(0.5, &[], vec![mean_log(3, &[], &[])]),
            term(-0.5, &[], vec![square(), mean(3, &[], &[])]),
        ])),
    )];
    let pi_prior = vec![sum(vec![term(1.0, &[], vec![value(alpha, &[])]), term(-1.0, &[], vec![])])];
    let pi_natural = vec![natural(
        Statistic::log(),
        &[k],
        pi_prior[0].clone().plus(sum(vec![term(1.0, &[n], vec![is(k)])])),
    )];
    let mu_prior = vec![Sum::zero(), sum(vec![term(-0.005, &[], vec![])])];
    let mu_natural = vec![
        natural(
            Statistic::identity(),
            &[],
            sum(vec![term(1.0, &[n], vec![value(x, &[n]), is(k), mean(3, &[], &[])])]),
        ),
        natural(
            Statistic::square(),
            &[],
            mu_prior[1].clone().plus(sum(vec![term(-0.5, &[n], vec![is(k), mean(3, &[], &[])])])),
        ),
    ];
    let likelihood = sum(vec![
        term(0.5, &[n], vec![log(value(tau, &[]))]),
        term(
            -0.5,
            &[n],
            vec![
                Atom::Group(Box::new(sum(vec![
                    term(1.0, &[], vec![value(x, &[n])]),
                    term(-1.0, &[], vec![Atom::Value(mu, vec![chosen.clone()])]),
                ]))),
                value(tau, &[]),
            ],
        ),
    ]);
    let mut likelihood = likelihood;
    likelihood.terms[1].factors[0].power = 2;
    let statements = vec![
        statement(
            z,
            "Categorical",
            false,
            sum(vec![term(1.0, &[n], vec![log(Atom::Value(pi, vec![chosen]))])]),
        ),
        statement(
            pi,
            "Dirichlet",
            false,
            sum(vec![term(1.0, &[k], vec![value(alpha, &[]), log(value(pi, &[k]))])]),
        ),
        statement(mu, "Normal", false, sum(vec![term(1.0, &[], vec![])])),
        statement(tau, "Gamma", false, sum(vec![term(1.0, &[], vec![])])),
        statement(x, "Normal", true, likelihood),
    ];
    let mut z_block = block(z, &[n], &[], "Categorical", z_natural, z_prior);
    z_block.classes = Some(k);
    let mut tau_block = block(tau, &[], &[], "Gamma", Vec::new(), Vec::new());
    tau_block.mode = Mode::Fixed;
    let blocks = vec![
        z_block,
        block(pi, &[], &[k], "Dirichlet", pi_natural, pi_prior),
        block(mu, &[k], &[], "Normal", mu_natural, mu_prior),
        tau_block,
    ];
    let elbo = vec![
        (0, sum(vec![term(1.0, &[n, k], vec![is(k), mean_log(1, &[], &[k])])])),
        (4, sum(vec![term(-0.5, &[n, k], vec![is(k), square(), mean(3, &[], &[])])])),
    ];
    equations("mixture", symbols, statements, blocks, Vec::new(), elbo)
}

/// A name that the program has stays its own; sums of the same form, whatever their letters, have one name.
#[test]
fn expected_counts_have_names_of_their_own() {
    let mut equations = mixture();
    let tau = equations.symbols.find("tau").unwrap();
    equations.symbols.arrays[tau.index()].name = "N".to_owned();
    let letter = |name: &str| equations.symbols.letters.iter().position(|own| own.name == name).unwrap();
    let [k, l] = [letter("k"), letter("l")].map(LetterId::from);
    let n = LetterId::from(letter("n"));
    // The update of mu in another letter.
    let mu = &mut equations.blocks[2];
    mu.plates = vec![l];
    for natural in &mut mu.natural {
        natural.coefficient.map_subscripts(&mut |own| {
            if *own == Subscript::Letter(k) {
                *own = Subscript::Letter(l);
            }
        });
    }
    // Two copies that nothing links are counted apart; one copy is of one class.
    let pair = |first: LetterId, second: LetterId| {
        let is = |copy, class| moment(0, Statistic::indicator(), &[copy], &[class]);
        let sums: Vec<LetterId> = if first == second { vec![first] } else { vec![first, second] };
        term(1.0, &sums, vec![is(first, k), is(second, l)])
    };
    let m = equations.symbols.fresh(n, None);
    equations.blocks[1].natural[0].coefficient.terms.extend([pair(n, m), pair(n, n)]);
    let shown = derivation(&equations, &[], &Families, Format::Text);
    for line in [
        "    M[k] = sum[n](q(z[n] = k))\n    x_bar[l] = sum[n](x[n] * q(z[n] = l)) / M[l]\n",
        "    prec[l] = 0.01 + M[l] * E[N]\n",
        "    concentration[k] = alpha + M[k] + M[k] * M[l] + sum[n](q(z[n] = k) * q(z[n] = l))\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
}

#[test]
fn responsibilities_are_probabilities() {
    let shown = derivation(&mixture(), &[], &Families, Format::Text);
    for line in [
        "    log p(z | pi) = sum[n](log pi[z[n]])\n",
        "    eta([z[n] = k]) = E[log pi[k]]",
        "    prob[n,k] ∝ exp(E[log pi[k]] - E[tau] * E[(x[n] - mu[k])^2] / 2)\n",
        "  normalised over k.\n",
        "    N[k] = sum[n](q(z[n] = k))\n    x_bar[k] = sum[n](x[n] * q(z[n] = k)) / N[k]\n",
        "    concentration[k] = alpha + N[k]\n",
        "    prec[k] = 0.01 + N[k] * E[tau]\n",
        "    mean[k] = N[k] * x_bar[k] * E[tau] / prec[k]\n",
        "    E[log p(x | z, mu, tau)] = -E[tau] * sum[n,k](q(z[n] = k) * E[(x[n] - mu[k])^2]) / 2\n",
        "    H[q(z)] = sum[n](H[q(z[n])])\n",
        "  It keeps its start.\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
    keep("mixture", &derivation(&mixture(), &[], &Families, Format::Latex));
}
