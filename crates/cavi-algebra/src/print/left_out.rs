//! Other rules of allocations: by means, and without what a unit itself adds, the formula of each.
//!
//! A mean of a Gamma is its shape over its rate, one of a Dirichlet its concentration over the total of them. Under the rule
//! `collapsed` what is above the line becomes `max(N - u, P)`: `N` is the natural parameter of the log of the variable, `u` what one
//! unit adds to it at the shares by means, and `P` what the prior contributes. Where the unit adds to a total that categories do not
//! have in common, that leaves its unit out as well. What is taken out, and of what, is what the derivation found
//! ([`Collapsed`](crate::Collapsed)).

use crate::equations::{Block, Equations, LeftOut, Site};
use crate::expression::{Function, Subscript};
use crate::statistic::{Elementary, Statistic};
use crate::sum_of_products::{Atom, Moment, Sum, Term};
use crate::symbols::{LetterId, SiteId, Symbols};

use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Item, Row, Span, words};
use super::node::{Call, Node};
use super::number::Number;
use super::standard::{Formula, Resolved, Shown, resolve, slots};
use super::{Format, Scope};

/// The allocations of a rule: each addend's, and what it is proportional to.
pub(super) type Rule = Vec<(Node, Node)>;

/// The mass of a variable and what its mean divides it by, over the letters of its block.
struct Parts {
    shown: Vec<Shown>,
    /// Which parameter the mass is.
    mass: usize,
    below: Resolved,
    /// Whether what is below the line is a total.
    total: bool,
    /// The statistics whose natural parameters are added up in that, each with the letters of its slots, new ones.
    masses: Vec<(Elementary, Vec<LetterId>)>,
}

/// In which symbols masses are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Masses {
    /// As natural parameters, `eta(log x)`, which say whose they are.
    Natural,
    /// As the parameters that papers print.
    Standard,
}

impl Masses {
    /// In text no parameter says whose it is.
    pub fn of(format: Format) -> Masses {
        if format == Format::Text { Masses::Natural } else { Masses::Standard }
    }
}

impl Derivation<'_> {
    /// Allocations by means, where the program has sweeps with such; those that leave the own unit out are named apart.
    pub(super) fn by_means(&self, id: SiteId) -> Rule {
        let (Some(means), equations) = (self.run.means.get(id.index()), self.without_units(id)) else {
            return Vec::new();
        };
        let scope = equations.map_or(self.scope(), |own| self.scope_of(own));
        let shares = equations.and_then(|own| Some(own.site(id).collapsed.as_ref()?.shares)).unwrap_or(id);
        let one = |(number, addend): (usize, &crate::equations::Addend)| {
            let letters: Vec<LetterId> = means.plates.iter().chain(&addend.letters).copied().collect();
            let mut builder = Builder::new(scope, &letters);
            let subscripts = builder.subscripts_of(&letters);
            let left = builder.allocation(shares, number, subscripts);
            (left, builder.exponential(&addend.log_weight))
        };
        means.addends.iter().enumerate().map(one).collect()
    }

    /// Allocations that leave the own unit out.
    pub(super) fn without_own(&self, id: SiteId, masses: Masses) -> Rule {
        let Some(equations) = self.without_units(id) else { return Vec::new() };
        let site = equations.site(id);
        let rows =
            (0..site.addends.len()).map(|number| self.addend_without(equations, (id, site), number, masses));
        rows.collect::<Option<Rule>>().unwrap_or_default()
    }

    /// The equations in which a site leaves units out.
    fn without_units(&self, id: SiteId) -> Option<&Equations> {
        let equations = self.run.collapsed.as_ref()?;
        equations.sites.get(id.index())?.collapsed.as_ref().map(|_| equations)
    }

    fn scope_of<'s>(&'s self, equations: &'s Equations) -> Scope<'s> {
        Scope { symbols: &equations.symbols, sites: &equations.sites, ..self.scope() }
    }

    fn addend_without(
        &self,
        equations: &Equations,
        (id, site): (SiteId, &Site),
        number: usize,
        masses: Masses,
    ) -> Option<(Node, Node)> {
        let collapsed = site.collapsed.as_ref()?;
        let addend = &site.addends[number];
        let stated = &self.equations.site(id).addends[number].log_weight.terms;
        let mut symbols = equations.symbols.clone();
        let mut of_terms = Vec::new();
        for ((term, by_means), left_out) in
            stated.iter().zip(&addend.log_weight.terms).zip(&collapsed.left_out[number])
        {
            let parts = match left_out {
                Some(own) => Some((own, expected_log(term)?, self.parts(&mut symbols, term)?)),
                None => None,
            };
            of_terms.push((term, by_means, parts));
        }
        let scope = Scope { symbols: &symbols, ..self.scope_of(equations) };
        let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
        let mut builder = Builder::new(scope, &letters);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (term, by_means, parts) in &of_terms {
            let Some((left_out, (moment, log), parts)) = parts else {
                above.push(builder.exponential(&Sum::term((*by_means).clone())));
                continue;
            };
            let unit = |builder: &mut Builder<'_>, share: &Sum| {
                let share = builder.sum(share);
                match collapsed.unit.as_number() {
                    Some(1.0) => share,
                    _ => Node::times(vec![at_most_one(builder, &collapsed.unit), share]),
                }
            };
            let less = |builder: &mut Builder<'_>, whole: Node, share: &Sum, prior: &Sum| {
                let left = Node::add(vec![whole, unit(builder, share).negated()]);
                let prior = builder.sum(prior);
                Node::Call(Call::Named("max".to_owned()), vec![left, prior])
            };
            let LeftOut { power, part, total: of_total } = left_out;
            if !term.sums.is_empty() {
                // Of each element that the sum goes over, the mean by the ratio of what is left.
                above.push(builder.exponential(&Sum::term((*by_means).clone())));
                let logs = builder.summed(&term.sums, |builder| {
                    let (mass, total) = self.of_copy(builder, moment, *log, parts, masses);
                    let kept = less(builder, mass.clone(), &part.share, &part.prior);
                    let (mut upper, mut lower) = (vec![kept], vec![mass]);
                    if let Some(own) = of_total {
                        let kept = less(builder, total.clone(), &own.share, &own.prior);
                        upper.push(total);
                        lower.push(kept);
                    }
                    let ratio = Node::log(Node::product(Number::one(), upper, lower));
                    match power.as_number() {
                        Some(1.0) => ratio,
                        _ => Node::times(vec![builder.sum(power), ratio]),
                    }
                });
                above.push(Node::call(Call::Function(Function::Exp), logs));
                continue;
            }
            let (mass, total) = self.of_copy(&mut builder, moment, *log, parts, masses);
            let kept = less(&mut builder, mass.clone(), &part.share, &part.prior);
            let total_kept =
                of_total.as_ref().map(|own| less(&mut builder, total.clone(), &own.share, &own.prior));
            let is_mean = power.as_number() == Some(1.0) && term.factors.len() == 1;
            if term.coefficient.0 == 1.0 && *log == Elementary::Log && is_mean {
                above.push(kept);
                let common = parts.total
                    && site.addends.len() == 1
                    && !moment.plates.iter().any(|own| holds(&symbols, own, &addend.letters));
                match (total_kept, masses) {
                    (Some(own), _) => below.push(own),
                    // What all categories have in common is part of the constant.
                    (None, _) if common => {}
                    (None, Masses::Standard) => below.push(total),
                    (None, Masses::Natural) => {
                        above.push(builder.exponential(&Sum::term((*by_means).clone())));
                        below.push(mass);
                    }
                }
                continue;
            }
            // A power of it, or its complement: the mean by the ratio of what is left.
            above.push(builder.exponential(&Sum::term((*by_means).clone())));
            let mut ratio = vec![(kept, mass)];
            ratio.extend(total_kept.map(|own| (total, own)));
            for (upper, lower) in ratio {
                let quotient = Node::product(Number::one(), vec![upper], vec![lower]);
                above.push(match power.as_number() {
                    Some(1.0) => quotient,
                    _ => quotient.raised(builder.sum(power)),
                });
            }
        }
        let subscripts = builder.subscripts_of(&letters);
        let left = builder.allocation(id, number, subscripts);
        Some((left, Node::product(Number::one(), above, below)))
    }

    /// The mass of the variable of a log, and what its mean divides by, in symbols.
    fn parts(&self, symbols: &mut Symbols, term: &Term) -> Option<Parts> {
        let (moment, log) = expected_log(term)?;
        let block: &Block = self.equations.block(moment.block);
        let place = block.natural.iter().position(|own| own.statistic == Statistic(vec![(0, log)]))?;
        let parameters = self.standard.standard(block.family);
        let mass = parameters.iter().position(|own| own.formula == Formula::Natural(place))?;
        let expectations = self.standard.expectations(block.family);
        let mean = expectations.iter().find(|(statistic, _)| *statistic == Statistic::identity());
        let (_, Formula::Divide(_, below)) = mean? else { return None };
        let shown = self.standard_parameters(symbols, block);
        let target = slots(below, &block.natural, &shown);
        let target = if target.is_empty() { shown.get(mass)?.slots.clone() } else { target };
        let resolved = resolve(symbols, &self.equations.blocks, below, &block.natural, &shown, &target);
        let total = matches!(**below, Formula::Total(_));
        let logs = [Elementary::Log, Elementary::LogComplement].into_iter().filter_map(|log| {
            let natural = block.natural.iter().find(|own| own.statistic == Statistic(vec![(0, log)]))?;
            let own =
                natural.slots.iter().map(|letter| symbols.fresh(*letter, symbols.letter(*letter).parent));
            Some((log, own.collect()))
        });
        let masses = logs.collect();
        Some(Parts { shown, mass, below: resolved, total, masses })
    }

    /// The mass and what is below it, of the copy and the element that a moment is about.
    fn of_copy(
        &self,
        builder: &mut Builder<'_>,
        moment: &Moment,
        log: Elementary,
        parts: &Parts,
        masses: Masses,
    ) -> (Node, Node) {
        let block = self.equations.block(moment.block);
        let own = &parts.shown[parts.mass];
        let plates = block.plates.iter().copied().zip(moment.plates.iter().cloned());
        let slots = own.slots.iter().copied().zip(moment.slots.iter().cloned());
        let places: Vec<(LetterId, Subscript)> = plates.chain(slots).collect();
        let natural = |builder: &mut Builder<'_>, log: Elementary, slots: &[LetterId]| {
            let statistic = Statistic(vec![(0, log)]);
            let statistic = builder.statistic(block, &self.moment(moment.block, &statistic, slots));
            Node::call(Call::Named(self.scope().natural()), statistic)
        };
        builder.replacing(&places, |builder| {
            if masses == Masses::Natural {
                let mass = natural(builder, log, &own.slots);
                let each = parts
                    .masses
                    .iter()
                    .map(|(log, slots)| builder.summed(slots, |builder| natural(builder, *log, slots)));
                let each: Vec<Node> = each.collect();
                return (mass, Node::add(each));
            }
            (own.element(builder, &own.slots), parts.below.node(builder, &parts.shown))
        })
    }

    /// What a page says of the other rules of a site.
    pub(super) fn other_rules(&self, id: SiteId, format: Format) -> Vec<Item> {
        let (means, without) = (self.by_means(id), self.without_own(id, Masses::of(format)));
        if means.is_empty() {
            return Vec::new();
        }
        let sweeps = if self.run.other_allocations { "the fit" } else { "the warm-up" };
        let rows = |rule: Rule| {
            Item::Rows(rule.into_iter().map(|(left, right)| Row::proportional(left, right)).collect())
        };
        let normalised = || Item::Paragraph(vec![words("normalised as above.")]);
        if without.is_empty() {
            let text =
                format!("The sweeps of {sweeps} take others, proportional to the product of the means:");
            return vec![Item::Paragraph(vec![words(text)]), rows(means), normalised()];
        }
        let share = means.first().map(|(left, _)| Span::Math(left.clone()));
        let text = format!(
            "The sweeps of {sweeps} take others, at means from which the unit that is allocated is left out. What it adds to them is its \
             share at the product of the means:"
        );
        let mut items = vec![Item::Paragraph(vec![words(text)]), rows(means), normalised()];
        let mut line = vec![words("The allocations are proportional to the means without ")];
        line.extend(share);
        line.push(words(
            " of a unit, where no parameter falls below what the prior contributes (Asuncion, Welling, Smyth and Teh 2009):",
        ));
        items.extend([Item::Paragraph(line), rows(without), normalised()]);
        items
    }
}

/// The expected log in a term, of a variable or of its complement.
fn expected_log(term: &Term) -> Option<(&Moment, Elementary)> {
    term.factors.iter().find_map(|factor| match &factor.atom {
        Atom::Moment(moment) => match moment.statistic.0.as_slice() {
            [(_, log @ (Elementary::Log | Elementary::LogComplement))] => Some((moment, *log)),
            _ => None,
        },
        _ => None,
    })
}

/// Whether a subscript depends on one of these letters.
fn holds(symbols: &Symbols, subscript: &Subscript, letters: &[LetterId]) -> bool {
    let mut own = Vec::new();
    subscript.letters(&mut own);
    own.into_iter().flat_map(|letter| symbols.lineage(letter)).any(|letter| letters.contains(&letter))
}

/// `min(1, w)`
fn at_most_one(builder: &mut Builder<'_>, unit: &Sum) -> Node {
    if let [Term { factors, .. }] = unit.terms.as_slice()
        && let [own] = factors.as_slice()
        && let Atom::Apply(Function::AtMostOne, weight) = &own.atom
    {
        let weight = builder.sum(&weight[0]);
        return Node::Call(Call::Named("min".to_owned()), vec![Node::number(1.0), weight]);
    }
    builder.sum(unit)
}
