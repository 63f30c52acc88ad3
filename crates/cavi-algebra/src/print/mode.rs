//! The update of a point with a closed form: its maximiser, and why it stands there.

use crate::canonical::canonical;
use crate::equations::Block;
use crate::statistic::{Elementary, Statistic};
use crate::symbols::{BlockId, LetterId, Support, Symbols};

use super::build::Builder;
use super::counts::Counts;
use super::derivation::Derivation;
use super::document::{Item, Row, Span, words};
use super::node::Node;
use super::standard::{Formula, resolve, slots};

impl Derivation<'_> {
    /// The maximiser that a point takes, over its coefficients and [`Derivation::parameters_of`] it, where it has a closed form. Under `clamp` a negative coefficient of
    /// a log, with which the density is infinite on the boundary, counts as 0, as it does in a run.
    pub(super) fn mode_of(&self, block: &Block) -> Option<Formula> {
        let formula = self.standard.mode(block.family)?;
        let clamped = |index: usize| {
            let own = Formula::Natural(index);
            let natural = block.natural.get(index).filter(|_| block.clamp);
            let Some(natural) = natural.filter(|natural| is_of_log(&natural.statistic)) else { return own };
            let coefficient = canonical(&mut self.symbols().clone(), &natural.coefficient);
            match coefficient.as_number() {
                Some(value) if value >= 0.0 => own,
                Some(_) if natural.slots.is_empty() => Formula::Number(0.0),
                _ => Formula::PositivePart(Box::new(own)),
            }
        };
        let clamped = formula.rebuilt(&|part| match part {
            Formula::Natural(index) => clamped(index),
            other => other,
        });
        Some(clamped.over(&self.parameters_of(block)))
    }

    /// What the update of a point states: the matrices that it takes, each stated whole or by elements, then the point with its
    /// maximiser.
    pub(super) fn mode_nodes(
        &self,
        id: BlockId,
        block: &Block,
        mut symbols: Symbols,
        formula: &Formula,
    ) -> Vec<(Node, Node)> {
        let shown = self.standard_parameters(&mut symbols, block);
        let slots = slots(formula, &block.natural, &shown);
        let value = resolve(&mut symbols, &self.equations.blocks, formula, &block.natural, &shown, &slots);
        let mut rows = self.stated_nodes(block, &symbols, &shown);
        let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
        let mut builder = Builder::new(self.scope_with(&symbols), &letters);
        let own = self.moment(id, &Statistic::identity(), &slots);
        let left = builder.statistic(block, &own);
        rows.push((left, builder.with_old(self.old(block), |builder| value.node(builder, &shown))));
        rows
    }

    /// Why the maximiser of a point stands where it does.
    fn largest_at(&self, block: &Block, formula: &Formula) -> &'static str {
        match (matches!(formula, Formula::Normalised(_)), block.clamp) {
            (true, false) => {
                return "Under the constraint that the elements sum to 1 (a Lagrange multiplier), the derivative is zero at:";
            }
            (true, true) => {
                return "Under the constraint that the elements sum to 1 (a Lagrange multiplier), the derivative is zero at this, where \
                        a negative coefficient of a log, with which the density is infinite at 0, counts as 0 (clamp):";
            }
            (false, true) => {
                return "It is largest where the derivative is zero, where a negative coefficient of a log, with which the density is \
                        infinite on the boundary, counts as 0 (clamp):";
            }
            (false, false) => {}
        }
        if !self.parameters_of(block).is_empty() {
            return "It is largest where the derivative is zero, by the inverse of the matrix of its second derivatives with their \
                    signs turned:";
        }
        let supports = block.members.iter().map(|member| self.symbols().array(*member).support);
        if supports.into_iter().any(|support| support == Support::Nonnegative) {
            "It is largest where the derivative is zero, or at the boundary where that lies outside:"
        } else {
            "It is largest where the derivative is zero:"
        }
    }

    /// The update of a point that has one in closed form.
    pub(super) fn mode(&self, id: BlockId, counts: &Counts) -> Vec<Item> {
        let block = counts.block(id);
        let Some(formula) = self.mode_of(block) else {
            let line = vec![words(format!(
                "It takes the mode of the {} with these natural parameters.",
                self.standard.name(block.family)
            ))];
            return vec![Item::Paragraph(line)];
        };
        let mut rows = self.mode_nodes(id, block, counts.symbols.clone(), &formula);
        let slots = slots(&formula, &block.natural, &[]);
        let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
        let mut builder = Builder::new(self.scope(), &letters);
        let normalised = matches!(formula, Formula::Normalised(_));
        let last = rows.pop().map(|(left, right)| {
            let row = if normalised { Row::proportional(left, right) } else { Row::equal(left, right) };
            row.labelled(self.label_of(block))
        });
        let matrices = rows.into_iter().map(|(left, right)| Row::equal(left, right));
        let rows = matrices.chain(last).collect();
        let mut items =
            vec![Item::Paragraph(vec![words(self.largest_at(block, &formula))]), Item::Rows(rows)];
        if block.by.is_some() {
            let text = "There the bound is at least what it was at the values before the update, where it equals the \
                        objective; the objective is nowhere below it and cannot fall.";
            items.push(Item::Paragraph(vec![words(text)]));
        }
        if let (true, Some(slot)) = (normalised, slots.last()) {
            let mut line = vec![words("normalised over ")];
            line.extend(builder.subscripts_of(&[*slot]).pop().map(Span::Math));
            line.push(words("."));
            items.push(Item::Paragraph(line));
        }
        items
    }
}

/// Whether a statistic is a log, whose coefficient counts as 0 where `clamp` finds it negative.
fn is_of_log(statistic: &Statistic) -> bool {
    matches!(statistic.0.as_slice(), [(_, Elementary::Log | Elementary::LogComplement)])
}
