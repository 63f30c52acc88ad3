//! What a derivation comes to in words that readers know: found in the equations, not written for a model.
//!
//! - Points alone, with latent classes behind the sums of which logs are taken: the EM algorithm.
//! - The allocations as probabilities of latent classes of the units of a count: the same bound.
//! - A factor whose mean is a ratio, its own constants at 0: the mean by maximum likelihood of what it governs.

use crate::canonical::canonical;
use crate::equations::{Block, Mode, Natural};
use crate::statistic::Statistic;
use crate::sum_of_products::{Atom, Sum};
use crate::symbols::{ArrayId, ArrayKind, BlockId, LetterId, SiteId, Support, Symbols};

use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Item, Row, Span, words};
use super::node::Node;
use super::standard::{Formula, StandardParameter, resolve};

impl Derivation<'_> {
    /// The remarks that hold.
    pub(super) fn remarks(&self) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        items.extend(self.is_em().map(Item::Paragraph));
        items.extend(self.latent_classes().into_iter().map(Item::Paragraph));
        for id in (0..self.equations.blocks.len()).map(BlockId::from) {
            items.extend(self.without_constants(id));
        }
        if !items.is_empty() {
            items.insert(0, Item::Heading("Remarks"));
        }
        items
    }

    /// The sites that are bounds, not implicit factors.
    fn bounded_sites(&self) -> impl Iterator<Item = SiteId> {
        let all = (0..self.equations.sites.len()).map(SiteId::from);
        all.filter(|site| self.equations.implicit(*site).is_none())
    }

    /// With points in the place of q the allocations are the posterior of the latent classes.
    fn is_em(&self) -> Option<Vec<Span>> {
        // A factor of q that keeps its start is averaged over like any other.
        let blocks = &self.equations.blocks;
        let points = blocks.iter().filter(|block| block.is_point()).count();
        let kept = |block: &Block| block.is_point() || block.mode == Mode::Fixed;
        // What is clamped to a boundary is no maximum, as an M step is.
        let clamped = blocks.iter().any(|block| block.clamp);
        if points == 0 || clamped || self.equations.sites.is_empty() || self.run.other_allocations {
            return None;
        }
        let text = if self.is_all_points() {
            "All variables are points, so that nothing is averaged over them: the allocations are the posterior probabilities of the \
             latent classes behind the sums, and the bound is the log joint itself there. Setting the allocations is the E step \
             and each update an M step: the algorithm is EM (Dempster, Laird and Rubin 1977)."
        } else if points < blocks.len() && blocks.iter().all(kept) {
            "The updates of the points are the M step of a variational EM algorithm, whose E step are the allocations; the other \
             factors of q keep their start."
        } else if points < blocks.len() {
            "The updates of the points are the M step of a variational EM algorithm, whose E step are the other factors of q \
             and the allocations."
        } else {
            return None;
        };
        Some(vec![words(text)])
    }

    /// Whether all variables are points with closed forms, so that with the allocations the algorithm is EM.
    pub(super) fn is_all_points(&self) -> bool {
        let blocks = &self.equations.blocks;
        let closed = |own: &Block| own.is_point() && own.ascent.is_none() && own.by.is_none() && !own.clamp;
        !blocks.is_empty()
            && blocks.iter().all(closed)
            && !self.equations.sites.is_empty()
            && !self.run.other_allocations
    }

    /// The bound with a latent class behind each unit of a count is the same.
    fn latent_classes(&self) -> Vec<Vec<Span>> {
        let mut lines = Vec::new();
        for id in self.bounded_sites() {
            let site = self.equations.site(id);
            let [term] = site.weight.terms.as_slice() else { continue };
            let counts = term.factors.iter().find_map(|factor| match &factor.atom {
                Atom::Value(array, subscripts) if factor.power == 1 => Some((*array, subscripts)),
                _ => None,
            });
            let Some((array, subscripts)) = counts else { continue };
            let own = self.symbols().array(array);
            let alone = term.coefficient.0 == 1.0 && term.sums.is_empty() && term.factors.len() == 1;
            if !alone || own.kind != ArrayKind::Data || own.support != Support::Count {
                continue;
            }
            let addend = &site.addends[0];
            let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            let count = builder.element(array, subscripts);
            let shown = builder.subscripts_of(&letters);
            let share = builder.allocation(id, 0, shown);
            lines.push(vec![
                words("The same bound follows from a latent class for each of the "),
                Span::Math(count.clone()),
                words(" units. With these independent under q, of probabilities "),
                Span::Math(share.clone()),
                words(
                    ", the expected log-probabilities of the classes and their entropies add up to the bound above; a class \
                     has ",
                ),
                Span::Math(Node::times(vec![count, share])),
                words(" units in expectation."),
            ]);
        }
        lines
    }

    /// `alpha -> J / sum_j E w^2`: what a factor's mean comes to as the constants of its own statement go to 0.
    fn without_constants(&self, id: BlockId) -> Vec<Item> {
        let block = self.equations.block(id);
        if block.is_point() || block.mode == Mode::Fixed || block.members.len() != 1 {
            return Vec::new();
        }
        let mean = self.standard.expectations(block.family).into_iter();
        let Some((_, formula)) = mean.into_iter().find(|(statistic, _)| *statistic == Statistic::identity())
        else {
            return Vec::new();
        };
        let Some(constants) = self.constants_of_prior(block) else { return Vec::new() };
        let parameters = self.standard.standard(block.family);
        let Some(ratio) = of_natural(&formula, &parameters) else { return Vec::new() };
        let mut symbols = self.symbols().clone();
        let mut natural: Vec<Natural> = block.natural.clone();
        for (own, prior) in natural.iter_mut().zip(&block.prior) {
            own.coefficient = canonical(&mut symbols, &own.coefficient.clone().minus(prior.clone()));
        }
        if natural.iter().any(|own| own.coefficient.is_zero() || may_vanish(&own.coefficient)) {
            return Vec::new();
        }
        // With its constants at 0 in what is left of it, too, the ratio would be another one.
        let held = |array: ArrayId| {
            follows_from(self.symbols(), array, &constants)
                && natural.iter().any(|own| own.coefficient.mentions(array))
        };
        if (0..self.symbols().arrays.len()).map(ArrayId::from).any(held) {
            return Vec::new();
        }
        let empty = natural.iter().any(|own| may_be_empty(&own.coefficient));
        let value = resolve(&mut symbols, &self.equations.blocks, &ratio, &natural, &[], &[]);
        let mut builder = Builder::new(self.scope_with(&symbols), &block.plates);
        let moment = self.moment(id, &Statistic::identity(), &[]);
        let row = Row::equal(builder.moment(&moment), value.node(&mut builder, &[]));
        let mut line = vec![words("With ")];
        line.extend(separated(constants.into_iter().map(|array| Span::Math(self.name(array))).collect()));
        line.push(words(" at 0, the mean of "));
        line.push(Span::Math(self.left_of(block)));
        line.push(words(if empty { " is, where its sums are not empty," } else { " is" }));
        vec![Item::Paragraph(line), Item::Rows(vec![row])]
    }

    /// The constants that its own statement adds to the natural parameters, where it adds nothing else and each parameter has
    /// one: as they go to 0, its part goes to 0.
    fn constants_of_prior(&self, block: &Block) -> Option<Vec<ArrayId>> {
        let mut found = Vec::new();
        for sum in &block.prior {
            let [array] = only_constants(self.symbols(), sum)?[..] else { return None };
            if !found.contains(&array) {
                found.push(array);
            }
        }
        (block.prior.len() == 2).then_some(found)
    }
}

/// The constants of a sum of at most one constant to the first power, none of them a number of the text.
fn only_constants(symbols: &Symbols, sum: &Sum) -> Option<Vec<ArrayId>> {
    let [term] = sum.terms.as_slice() else { return None };
    let [factor] = term.factors.as_slice() else { return None };
    let Atom::Value(array, _) = &factor.atom else { return None };
    let own = symbols.array(*array);
    let named = own.name.starts_with(char::is_alphabetic);
    (own.kind == ArrayKind::Constant && factor.power == 1 && term.sums.is_empty() && named)
        .then(|| vec![*array])
}

/// Whether an array is one of some constants, or is computed from them.
fn follows_from(symbols: &Symbols, array: ArrayId, constants: &[ArrayId]) -> bool {
    let mut found = constants.contains(&array);
    if let Some(value) = &symbols.array(array).value {
        value.visit_values(&mut |read, _| {
            found = found || read != array && follows_from(symbols, read, constants);
        });
    }
    found
}

/// Whether a coefficient is 0 for some elements: where an entry is not observed, and nothing is summed.
fn may_vanish(sum: &Sum) -> bool {
    sum.terms.iter().any(|term| {
        term.sums.is_empty() && term.factors.iter().any(|factor| matches!(factor.atom, Atom::Observed(..)))
    })
}

/// Whether a sum may run over nothing: over the entries of a group, which may have none.
fn may_be_empty(sum: &Sum) -> bool {
    sum.terms.iter().any(|term| {
        let chosen = |own: &Atom| matches!(own, Atom::Equal(..) | Atom::Different(..) | Atom::Less(..));
        !term.sums.is_empty() && term.factors.iter().any(|factor| chosen(&factor.atom))
    })
}

/// A ratio of standard parameters over the natural ones.
fn of_natural(formula: &Formula, parameters: &[StandardParameter]) -> Option<Formula> {
    match formula {
        Formula::Divide(above, below) => {
            let above = of_natural(above, parameters)?;
            Some(Formula::Divide(Box::new(above), Box::new(of_natural(below, parameters)?)))
        }
        Formula::Parameter(index) => {
            let own = &parameters.get(*index)?.formula;
            matches!(own, Formula::Natural(_) | Formula::Negate(_)).then(|| own.clone())
        }
        _ => None,
    }
}
