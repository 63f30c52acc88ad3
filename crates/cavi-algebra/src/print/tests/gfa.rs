//! Group factor analysis: joint Normals over slices, a ragged axis, missing entries.

use super::helper::{
    Families, at, axis, block, constant, data, equations, keep, latent, log, mean, mean_log, moment, natural,
    statement, sum, term, value,
};
use crate::equations::Equations;
use crate::expression::Subscript;
use crate::print::{Format, derivation};
use crate::statistic::Statistic;
use crate::sum_of_products::{Atom, ExpectedSquare, Factor, Sum, Term};
use crate::symbols::{LetterId, Symbols};

const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_7;

fn squared(mut term: Term) -> Term {
    term.factors[0].power = 2;
    term
}

pub fn gfa(missing: bool) -> Equations {
    let mut symbols = Symbols::default();
    let s = &mut symbols;
    let n = axis(s, "sample", &["n"], None)[0];
    let m = axis(s, "view", &["m"], None)[0];
    let j = axis(s, "feature", &["j"], Some(m))[0];
    let k = axis(s, "factor", &["k"], None)[0];
    let x = data(s, "x", &[n, j]);
    let [a_alpha, b_alpha, a_tau, b_tau] =
        ["a_alpha", "b_alpha", "a_tau", "b_tau"].map(|name| constant(s, name));
    let z = latent(s, "z", &[n, k]);
    let alpha = latent(s, "alpha", &[m, k]);
    let w = latent(s, "w", &[j, k]);
    let tau = latent(s, "tau", &[m]);
    let k2 = s.fresh(k, None);

    let seen = |mut term: Term| {
        if missing {
            term.factors.push(Factor::of(Atom::Observed(x, at(&[n, j]))));
        }
        term
    };
    // Blocks: z 0, alpha 1, w 2, tau 3.
    let outer = Statistic::outer;
    let equal = |a: LetterId, b: LetterId| Atom::Equal(Subscript::Letter(a), Subscript::Letter(b));
    let product = |k: LetterId| term(1.0, &[k], vec![value(w, &[j, k]), value(z, &[n, k])]);
    let expected = |k: LetterId| term(1.0, &[k], vec![mean(2, &[j], &[k]), mean(0, &[n], &[k])]);
    let residual = |of: Term| sum(vec![term(1.0, &[], vec![value(x, &[n, j])]), of.scaled(-1.0)]);
    let square = || {
        Atom::ExpectedSquare(Box::new(ExpectedSquare {
            of: residual(product(k)),
            mean: residual(expected(k)),
            spread: sum(vec![term(
                1.0,
                &[k, k2],
                vec![moment(2, Statistic::covariance(), &[j], &[k, k2]), moment(0, outer(), &[n], &[k, k2])],
            )]),
        }))
    };
    let z_prior = vec![Sum::zero(), sum(vec![term(-0.5, &[], vec![equal(k, k2)])])];
    let z_natural = vec![
        natural(
            Statistic::identity(),
            &[k],
            sum(vec![seen(term(
                1.0,
                &[m, j],
                vec![value(x, &[n, j]), mean(2, &[j], &[k]), mean(3, &[m], &[])],
            ))]),
        ),
        natural(
            outer(),
            &[k, k2],
            z_prior[1].clone().plus(sum(vec![seen(term(
                -0.5,
                &[m, j],
                vec![moment(2, outer(), &[j], &[k, k2]), mean(3, &[m], &[])],
            ))])),
        ),
    ];
    let w_prior = vec![Sum::zero(), sum(vec![term(-0.5, &[], vec![equal(k, k2), mean(1, &[m, k], &[])])])];
    let w_natural = vec![
        natural(
            Statistic::identity(),
            &[k],
            sum(vec![seen(term(
                1.0,
                &[n],
                vec![value(x, &[n, j]), mean(0, &[n], &[k]), mean(3, &[m], &[])],
            ))]),
        ),
        natural(
            outer(),
            &[k, k2],
            w_prior[1].clone().plus(sum(vec![seen(term(
                -0.5,
                &[n],
                vec![moment(0, outer(), &[n], &[k, k2]), mean(3, &[m], &[])],
            ))])),
        ),
    ];
    let gamma = |a, b| {
        vec![
            sum(vec![term(1.0, &[], vec![value(a, &[])]), term(-1.0, &[], vec![])]),
            sum(vec![term(-1.0, &[], vec![value(b, &[])])]),
        ]
    };
    let alpha_prior = gamma(a_alpha, b_alpha);
    let alpha_natural = vec![
        natural(Statistic::log(), &[], alpha_prior[0].clone().plus(sum(vec![term(0.5, &[j], vec![])]))),
        natural(
            Statistic::identity(),
            &[],
            alpha_prior[1].clone().plus(sum(vec![term(-0.5, &[j], vec![moment(2, outer(), &[j], &[k, k])])])),
        ),
    ];
    let tau_prior = gamma(a_tau, b_tau);
    let tau_natural = vec![
        natural(
            Statistic::log(),
            &[],
            tau_prior[0].clone().plus(sum(vec![seen(term(0.5, &[n, j], vec![]))])),
        ),
        natural(
            Statistic::identity(),
            &[],
            tau_prior[1].clone().plus(sum(vec![seen(term(-0.5, &[n, j], vec![square()]))])),
        ),
    ];
    let group = |of: Sum| Atom::Group(Box::new(of));
    let likelihood = sum(vec![
        seen(term(-HALF_LOG_TWO_PI, &[n, m, j], vec![])),
        seen(term(0.5, &[n, m, j], vec![log(value(tau, &[m]))])),
        seen({
            let mut whole = term(-0.5, &[n, m, j], vec![group(residual(product(k))), value(tau, &[m])]);
            whole.factors[0].power = 2;
            whole
        }),
    ]);
    let expected_likelihood = sum(vec![
        seen(term(-HALF_LOG_TWO_PI, &[n, m, j], vec![])),
        seen(term(0.5, &[n, m, j], vec![mean_log(3, &[m], &[])])),
        seen(term(-0.5, &[n, m, j], vec![square(), mean(3, &[m], &[])])),
    ]);
    let z_density = sum(vec![
        term(-HALF_LOG_TWO_PI, &[n, k], vec![]),
        squared(term(-0.5, &[n, k], vec![value(z, &[n, k])])),
    ]);
    let z_elbo = sum(vec![
        term(-HALF_LOG_TWO_PI, &[n, k], vec![]),
        term(-0.5, &[n, k], vec![moment(0, outer(), &[n], &[k, k])]),
    ]);
    let w_density = sum(vec![
        term(-HALF_LOG_TWO_PI, &[m, j, k], vec![]),
        term(0.5, &[m, j, k], vec![log(value(alpha, &[m, k]))]),
        squared(term(-0.5, &[m, j, k], vec![value(w, &[j, k]), value(alpha, &[m, k])])),
    ]);
    let w_elbo = sum(vec![
        term(-HALF_LOG_TWO_PI, &[m, j, k], vec![]),
        term(0.5, &[m, j, k], vec![mean_log(1, &[m, k], &[])]),
        term(-0.5, &[m, j, k], vec![mean(1, &[m, k], &[]), moment(2, outer(), &[j], &[k, k])]),
    ]);
    let gamma_density = |a, b, of, plates: &[LetterId]| {
        sum(vec![
            term(1.0, plates, vec![value(a, &[]), log(value(b, &[]))]),
            term(1.0, plates, vec![value(a, &[]), log(value(of, plates))]),
            term(-1.0, plates, vec![log(value(of, plates))]),
            term(-1.0, plates, vec![value(b, &[]), value(of, plates)]),
        ])
    };
    let gamma_elbo =
        |a, b, plates: &[LetterId]| sum(vec![term(1.0, plates, vec![value(a, &[]), log(value(b, &[]))])]);
    let statements = vec![
        statement(z, "Normal", false, z_density),
        statement(alpha, "Gamma", false, gamma_density(a_alpha, b_alpha, alpha, &[m, k])),
        statement(w, "Normal", false, w_density),
        statement(tau, "Gamma", false, gamma_density(a_tau, b_tau, tau, &[m])),
        statement(x, "Normal", true, likelihood),
    ];
    let blocks = vec![
        block(z, &[n], &[k], "MultivariateNormal", z_natural, z_prior),
        block(alpha, &[m, k], &[], "Gamma", alpha_natural, alpha_prior),
        block(w, &[j], &[k], "MultivariateNormal", w_natural, w_prior),
        block(tau, &[m], &[], "Gamma", tau_natural, tau_prior),
    ];
    let elbo = vec![
        (0, z_elbo),
        (1, gamma_elbo(a_alpha, b_alpha, &[m, k])),
        (2, w_elbo),
        (3, gamma_elbo(a_tau, b_tau, &[m])),
        (4, expected_likelihood),
    ];
    equations("gfa", symbols, statements, blocks, Vec::new(), elbo)
}

#[test]
fn text() {
    let shown = derivation(&gfa(true), &[], &Families, Format::Text);
    keep("gfa_text", &shown);
    assert_eq!(shown, include_str!("gfa.txt"), "{shown}");
}

#[test]
fn complete_data_share_a_covariance() {
    let shown = derivation(&gfa(false), &[], &Families, Format::Text);
    for line in [
        "    prec[k,k'] = [k = k'] + sum[m](E[tau[m]] * sum[j](E[w[m,j,k] * w[m,j,k']]))\n",
        "    prec[m,k,k'] = [k = k'] * E[alpha[m,k]] + E[tau[m]] * sum[n](E[z[n,k] * z[n,k']])\n",
        "    shape[m] = a_tau + |sample| * |feature[m]| / 2\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
}

#[test]
fn latex() {
    let shown = derivation(&gfa(false), &[], &Families, Format::Latex);
    let line =
        "\\mathrm{shape}^{\\alpha}_{m} &= a_{\\alpha} + \\tfrac{1}{2} \\, J_{m} \\label{eq:gfa:alpha} \\\\\n";
    assert!(shown.contains(line), "{line}{shown}");
    keep("gfa_full", &shown);
    keep("gfa", &derivation(&gfa(true), &[], &Families, Format::Latex));
}
