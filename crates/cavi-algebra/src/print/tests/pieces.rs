//! Single terms: letters, ranges, moments, numbers.

use super::helper::{
    array, at, axis, block, data, latent, mean, moment, partition, share, site, sum, term, value,
};
use crate::equations::{Block, Site};
use crate::expression::{Function, Subscript};
use crate::print::{Scope, latex, text};
use crate::statistic::{Elementary, Statistic};
use crate::sum_of_products::{Atom, Factor, Sum, Term};
use crate::symbols::{ArrayId, ArrayKind, LetterId, Symbols};

/// An axis with one letter and its copies, one with two letters, one ragged in the first.
struct World {
    symbols: Symbols,
    blocks: Vec<Block>,
    sites: Vec<Site>,
    m: LetterId,
    j: LetterId,
    k: LetterId,
    l: LetterId,
    copies: Vec<LetterId>,
    w: ArrayId,
    x: ArrayId,
}

fn world() -> World {
    let mut symbols = Symbols::default();
    let s = &mut symbols;
    let m = axis(s, "view", &["m"], None)[0];
    let j = axis(s, "feature", &["j"], Some(m))[0];
    let both = axis(s, "factor", &["k", "l"], None);
    let (k, l) = (both[0], both[1]);
    let x = data(s, "x", &[j]);
    let w = latent(s, "w", &[j, k]);
    let habit = latent(s, "habit", &[k]);
    array(s, "phi", ArrayKind::Constant, &[]);
    let copies = vec![s.fresh(k, None), s.fresh(k, None), s.fresh(m, None)];
    let blocks =
        vec![block(w, &[j], &[k], "Normal", vec![], vec![]), block(habit, &[k], &[], "Beta", vec![], vec![])];
    let weight = |slot| sum(vec![term(1.0, &[], vec![moment(0, Statistic::log(), &[j], &[slot])])]);
    let point = sum(vec![term(1.0, &[], vec![Atom::Apply(Function::Log, vec![Sum::atom(value(x, &[j]))])])]);
    let sites = vec![site(0, &[j], Sum::number(1.0), vec![(vec![], point), (vec![k], weight(k))])];
    World { symbols, blocks, sites, m, j, k, l, copies, w, x }
}

impl World {
    fn scope(&self) -> Scope<'_> {
        Scope {
            symbols: &self.symbols,
            blocks: &self.blocks,
            sites: &self.sites,
            auxiliaries: &[],
            taken: &[],
            named: &[],
        }
    }

    fn both(&self, terms: Vec<Term>) -> (String, String) {
        let sum = sum(terms);
        (text::sum(self.scope(), &sum), latex::sum(self.scope(), &sum))
    }

    #[track_caller]
    fn check(&self, terms: Vec<Term>, expected: &str, expected_latex: &str) {
        let (text, latex) = self.both(terms);
        assert_eq!((text.as_str(), latex.as_str()), (expected, expected_latex));
    }
}

fn letter(letter: LetterId) -> Subscript {
    Subscript::Letter(letter)
}

#[test]
fn ragged_letters_stand_behind_their_ancestors() {
    let w = world();
    w.check(vec![term(1.0, &[w.j], vec![value(w.w, &[w.j, w.k])])], "sum[j](w[m,j,k])", "\\sum_{j} w_{mjk}");
    w.check(
        vec![term(1.0, &[w.j, w.m], vec![value(w.w, &[w.j, w.k])])],
        "sum[m,j](w[m,j,k])",
        "\\sum_{m,j} w_{mjk}",
    );
    w.check(vec![term(1.0, &[w.j], vec![])], "|feature[m]|", "J_{m}");
}

#[test]
fn letters_have_names_of_their_own() {
    let w = world();
    let [a, b] = [w.copies[0], w.copies[1]];
    let element = |letter| value(w.w, &[w.j, letter]);
    w.check(
        vec![term(1.0, &[a], vec![element(a), element(w.k)])],
        "w[m,j,k] * sum[l](w[m,j,l])",
        "w_{mjk} \\, \\sum_{l} w_{mjl}",
    );
    w.check(
        vec![term(1.0, &[a], vec![element(a), element(w.k), element(w.l)])],
        "w[m,j,k] * w[m,j,l] * sum[k'](w[m,j,k'])",
        "w_{mjk} \\, w_{mjl} \\, \\sum_{k'} w_{mjk'}",
    );
    // Sums side by side may use the same letter.
    w.check(
        vec![term(1.0, &[a], vec![element(a)]), term(-1.0, &[b], vec![element(b)])],
        "sum[k](w[m,j,k]) - sum[k](w[m,j,k])",
        "\\sum_{k} w_{mjk} - \\sum_{k} w_{mjk}",
    );
}

#[test]
fn conditions_stand_in_the_range() {
    let w = world();
    let element = |letter| value(w.w, &[w.j, letter]);
    let different = || Atom::Different(letter(w.k), letter(w.l));
    w.check(
        vec![term(1.0, &[w.l], vec![element(w.l), different()])],
        "sum[l != k](w[m,j,l])",
        "\\sum_{l \\neq k} w_{mjl}",
    );
    w.check(
        vec![term(1.0, &[w.k, w.l], vec![element(w.k), element(w.l), different()])],
        "sum[k, l != k](w[m,j,k] * w[m,j,l])",
        "\\sum_{k,l \\neq k} w_{mjk} \\, w_{mjl}",
    );
    w.check(
        vec![term(1.0, &[w.k, w.l], vec![element(w.l), Atom::Less(letter(w.k), letter(w.l))])],
        "sum[k < l](w[m,j,l])",
        "\\sum_{k < l} w_{mjl}",
    );
    let observed = || Atom::Observed(w.x, at(&[w.j]));
    w.check(
        vec![term(0.5, &[w.j], vec![observed()])],
        "#[j: x[m,j] observed] / 2",
        "\\tfrac{1}{2} \\, \\#\\left\\{j :\\, x_{mj}\\text{ observed}\\right\\}",
    );
    w.check(
        vec![term(-1.0, &[], vec![observed(), value(w.x, &[w.j])])],
        "-[x[m,j] observed] * x[m,j]",
        "-[x_{mj}\\text{ observed}] \\, x_{mj}",
    );
}

#[test]
fn moments_are_recombined_in_declared_order() {
    let w = world();
    let of = |elementary: &[Elementary], slots: &[LetterId]| {
        let statistic = Statistic(elementary.iter().map(|elementary| (0, *elementary)).collect());
        vec![term(1.0, &[], vec![moment(0, statistic, &[w.j], slots)])]
    };
    w.check(of(&[Elementary::Power(1)], &[w.k]), "E[w[m,j,k]]", "\\mathrm{E}[w_{mjk}]");
    let outer = [Elementary::Power(1), Elementary::Power(1)];
    w.check(of(&outer, &[w.k, w.k]), "E[w[m,j,k]^2]", "\\mathrm{E}\\left[w_{mjk}^{2}\\right]");
    w.check(of(&outer, &[w.k, w.l]), "E[w[m,j,k] * w[m,j,l]]", "\\mathrm{E}[w_{mjk} \\, w_{mjl}]");
    let centred = [Elementary::Centred, Elementary::Centred];
    w.check(of(&centred, &[w.k, w.k]), "Var(w[m,j,k])", "\\mathrm{Var}(w_{mjk})");
    w.check(of(&centred, &[w.k, w.l]), "Cov(w[m,j,k], w[m,j,l])", "\\mathrm{Cov}(w_{mjk}, w_{mjl})");
    w.check(of(&[Elementary::Log], &[w.k]), "E[log w[m,j,k]]", "\\mathrm{E}[\\ln w_{mjk}]");
    w.check(
        of(&[Elementary::LogComplement], &[w.k]),
        "E[log(1 - w[m,j,k])]",
        "\\mathrm{E}[\\ln (1 - w_{mjk})]",
    );
    w.check(
        of(&[Elementary::Power(-1)], &[w.k]),
        "E[1 / w[m,j,k]]",
        "\\mathrm{E}\\left[\\frac{1}{w_{mjk}}\\right]",
    );
    w.check(
        vec![term(1.0, &[], vec![mean(1, &[w.k], &[])])],
        "E[habit[k]]",
        "\\mathrm{E}[\\mathrm{habit}_{k}]",
    );
}

#[test]
fn allocations_of_several_addends_are_numbered() {
    let w = world();
    // `phi` is a constant here, so that allocations take the next name.
    let Atom::Allocation { site, plates, categories, .. } = share(&[w.j], &[w.l]) else { unreachable!() };
    let second = Atom::Allocation { site, addend: 1, plates, categories };
    w.check(vec![term(1.0, &[], vec![second])], "chi2[m,j,l]", "\\chi^{(2)}_{mjl}");
    w.check(
        vec![term(1.0, &[w.k], vec![partition(&[w.j]), value(w.w, &[w.j, w.k])])],
        "log(x[m,j] + sum[k](exp(E[log w[m,j,k]]))) * sum[k](w[m,j,k])",
        "\\ln \\left(x_{mj} + \\sum_{k} \\exp(\\mathrm{E}[\\ln w_{mjk}])\\right) \\, \\sum_{k} w_{mjk}",
    );
}

#[test]
fn quotients_signs_and_numbers() {
    let w = world();
    let element = |letter| value(w.w, &[w.j, letter]);
    let over = |mut term: Term, power| {
        term.factors.push(Factor { atom: element(w.l), power });
        term
    };
    w.check(
        vec![over(term(-0.5, &[], vec![element(w.k)]), -1), term(1e-14, &[], vec![])],
        "-w[m,j,k] / (2 * w[m,j,l]) + 1e-14",
        "-\\frac{w_{mjk}}{2 \\, w_{mjl}} + 10^{-14}",
    );
    w.check(
        vec![over(term(0.3, &[], vec![]), -2), term(-0.918_938_533_204_672_7, &[], vec![])],
        "0.3 / w[m,j,l]^2 - log(2 pi) / 2",
        "\\frac{0.3}{w_{mjl}^{2}} - \\tfrac{1}{2} \\, \\ln (2\\pi)",
    );
    w.check(vec![], "0", "0");
}
