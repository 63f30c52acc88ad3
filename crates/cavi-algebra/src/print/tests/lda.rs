//! Latent Dirichlet allocation: a Multinomial with a bounded log of a sum, Dirichlet blocks.

use super::helper::{
    Families, array, at, axis, block, constant, data, equations, keep, latent, log, mean_log, natural,
    partition, share, site, statement, sum, term, value,
};
use crate::equations::{Equations, Mode};
use crate::expression::Function;
use crate::print::{Format, derivation};
use crate::statistic::Statistic;
use crate::sum_of_products::{Atom, Sum};
use crate::symbols::{ArrayKind, Symbols};

pub fn lda() -> Equations {
    let mut symbols = Symbols::default();
    let s = &mut symbols;
    let d = axis(s, "doc", &["d"], None)[0];
    let v = axis(s, "word", &["v"], None)[0];
    let k = axis(s, "topic", &["k"], None)[0];
    let n = data(s, "n", &[d, v]);
    let alpha = constant(s, "alpha");
    let eta = array(s, "eta", ArrayKind::Constant, &[]);
    let theta = latent(s, "theta", &[d, k]);
    let beta = latent(s, "beta", &[k, v]);

    let prior = |constant| sum(vec![term(1.0, &[], vec![value(constant, &[])]), term(-1.0, &[], vec![])]);
    let gamma = |atom: Atom| Atom::Apply(Function::LogGamma, vec![Sum::atom(atom)]);
    let plus_one = |atom: Atom| {
        let inside = sum(vec![term(1.0, &[], vec![atom]), term(1.0, &[], vec![])]);
        Atom::Apply(Function::LogGamma, vec![inside])
    };
    let total = |inside| Atom::Apply(Function::LogGamma, vec![sum(vec![inside])]);
    let counts = |sums: &[_]| term(1.0, sums, vec![value(n, &[d, v]), share(&[d, v], &[k])]);
    let dirichlet = |c, slot, plate, logs: Vec<_>| {
        let mut terms = vec![
            term(1.0, &[plate], vec![total(term(1.0, &[slot], vec![value(c, &[])]))]),
            term(-1.0, &[plate, slot], vec![gamma(value(c, &[]))]),
        ];
        terms.extend(logs);
        sum(terms)
    };
    let both = |c, sums: &[_], log: Atom| {
        vec![term(1.0, sums, vec![value(c, &[]), log.clone()]), term(-1.0, sums, vec![log])]
    };
    let mixed = sum(vec![term(1.0, &[k], vec![value(theta, &[d, k]), value(beta, &[k, v])])]);
    let head = || {
        vec![
            term(1.0, &[d], vec![total_plus_one(term(1.0, &[v], vec![value(n, &[d, v])]))]),
            term(-1.0, &[d, v], vec![plus_one(value(n, &[d, v]))]),
        ]
    };
    let mut density = head();
    density.push(term(1.0, &[d, v], vec![value(n, &[d, v]), Atom::Apply(Function::Log, vec![mixed])]));
    let mut bounded = head();
    bounded.push(term(1.0, &[d, v], vec![value(n, &[d, v]), partition(&[d, v])]));
    let statements = vec![
        statement(
            theta,
            "Dirichlet",
            false,
            dirichlet(alpha, k, d, both(alpha, &[d, k], log(value(theta, &[d, k])))),
        ),
        statement(
            beta,
            "Dirichlet",
            false,
            dirichlet(eta, v, k, both(eta, &[k, v], log(value(beta, &[k, v])))),
        ),
        statement(n, "Multinomial", true, sum(density)),
    ];
    let blocks = vec![
        block(
            theta,
            &[d],
            &[k],
            "Dirichlet",
            vec![natural(Statistic::log(), &[k], prior(alpha).plus(sum(vec![counts(&[v])])))],
            vec![prior(alpha)],
        ),
        block(
            beta,
            &[k],
            &[v],
            "Dirichlet",
            vec![natural(Statistic::log(), &[v], prior(eta).plus(sum(vec![counts(&[d])])))],
            vec![prior(eta)],
        ),
    ];
    let log_weight = sum(vec![
        term(1.0, &[], vec![mean_log(0, &[d], &[k])]),
        term(1.0, &[], vec![mean_log(1, &[k], &[v])]),
    ]);
    let weight = Sum::atom(value(n, &[d, v]));
    let sites = vec![site(2, &[d, v], weight, vec![(vec![k], log_weight)])];
    let elbo = vec![
        (0, dirichlet(alpha, k, d, Vec::new())),
        (1, dirichlet(eta, v, k, Vec::new())),
        (2, sum(bounded)),
    ];
    equations("lda", symbols, statements, blocks, sites, elbo)
}

fn total_plus_one(inside: crate::sum_of_products::Term) -> Atom {
    Atom::Apply(Function::LogGamma, vec![sum(vec![inside, term(1.0, &[], vec![])])])
}

fn program() -> Vec<String> {
    [
        "theta[d, :k] ~ Dirichlet(alpha)          # one vector over k for each d",
        "beta[k, :v]  ~ Dirichlet(eta)",
        "n[d, :v]     ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn text() {
    let shown = derivation(&lda(), &program(), &Families, Format::Text);
    keep("lda_text", &shown);
    assert_eq!(shown, include_str!("lda.txt"), "{shown}");
}

#[test]
fn latex() {
    let shown = derivation(&lda(), &program(), &Families, Format::Latex);
    for line in [
        "theta[d, :k] \\ensuremath{\\sim} Dirichlet(alpha)~~~~~~~~~~\\# one vector over k for each d \\\\\n",
        "  \\phi_{dvk} &\\propto \\exp(\\mathrm{E}[\\ln \\theta_{dk}] + \\mathrm{E}[\\ln \\beta_{kv}]) \\label{eq:lda:shares:1}\n",
        "  \\mathrm{concentration}^{\\theta}_{dk} &= \\alpha + \\sum_{v} n_{dv} \\, \\phi_{dvk} \\label{eq:lda:theta} \\\\\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
    keep("lda", &shown);
}

#[test]
fn a_point_prints_its_maximiser_and_its_plain_weight() {
    let mut equations = lda();
    equations.blocks[1].mode = Mode::Point;
    let beta = equations.blocks[1].members[0];
    let (k, v) = (equations.blocks[1].plates[0], equations.blocks[1].slices[0][0]);
    let logs = &mut equations.sites[0].addends[0].log_weight.terms;
    logs[1] = term(1.0, &[], vec![log(Atom::Value(beta, at(&[k, v])))]);
    let shown = derivation(&equations, &[], &Families, Format::Text);
    for line in [
        "  beta[k,:v]: a point, for each k\n",
        "    phi[d,v,k] ∝ beta[k,v] * exp(E[log theta[d,k]])\n",
        "    beta[k,v] ∝ eta - 1 + sum[d](n[d,v] * phi[d,v,k])\n",
        "    log p(data, beta) >= E[log p(theta)] + E[log p(beta)] + E[log p(n | theta, beta)] + H[q(theta)]\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
}

#[test]
fn markdown() {
    let shown = derivation(&lda(), &program(), &Families, Format::Markdown);
    assert!(shown.contains("### $q(\\theta_{d})$\n"), "{shown}");
    assert!(shown.contains("$$\n\\begin{aligned}\n"), "{shown}");
}
