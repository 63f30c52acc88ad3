//! How a block comes by its natural parameters: what one statement contributes, step by step.
//!
//! A log-density `log p` is rewritten four times. The terms that hold the block are *selected*; logs of sums in them
//! are *bounded*, allocations held; squares are opened and copies that may coincide are made equal or different,
//! which leaves *monomials*; the expectation of each under the other factors is the coefficient of a statistic. As
//! functions of one copy of the block, all four keep the value up to a constant, except for the bound, which lies
//! below and touches at the held allocations. A point without a closed form has no statistics. The expectation of its
//! terms is taken as they stand, for all copies together.

use crate::canonical::canonical;
use crate::equations::{Block, Natural};
use crate::expression::{Function, Subscript};
use crate::rules::multiply;
use crate::statistic::Elementary;
use crate::sum_of_products::{Atom, Factor, Sum, Term};
use crate::symbols::{LetterId, StatementId, Symbols};

/// What one statement contributes to a block.
#[derive(Clone, Debug)]
pub struct Contribution {
    /// The statement.
    pub statement: StatementId,
    /// The terms of its log-density that hold the block.
    pub selected: Sum,
    /// The same with logs of sums bounded and implicit factors at their optimum, allocations held.
    pub bounded: Sum,
    /// The same with squares opened and copies that may coincide set apart: products of statistics. For a point
    /// without a closed form, the terms are left as they were.
    pub monomials: Sum,
    /// The expected coefficient of each statistic of one copy, over its plate letters and the letters of the slots. Empty
    /// for a point that ascends.
    pub parts: Vec<Natural>,
    /// Of a point that ascends, the expected terms over all copies: its part of the objective.
    pub objective: Option<Sum>,
}

impl Contribution {
    /// `sum_i sum_slots E[coefficient_i] t_i(x)`: the expected log-density as a function of one copy of the block, whose
    /// plate letters are free in it. Of a block with a bound of its own (`by`), the coefficients hold the old values. Of a
    /// point that ascends, the expected log-density as a function of all copies.
    pub fn expected(&self, symbols: &mut Symbols, block: &Block) -> Sum {
        if let Some(objective) = &self.objective {
            return objective.clone();
        }
        let mut out = Sum::zero();
        for part in &self.parts {
            let statistic = Sum::term(written(symbols, block, part));
            let mut product = multiply(symbols, &part.coefficient, &statistic);
            product
                .terms
                .iter_mut()
                .for_each(|term| term.sums.splice(0..0, part.slots.iter().copied()).for_each(drop));
            out = out.plus(product);
        }
        canonical(symbols, &out)
    }
}

/// A statistic of a block as a product of elements: `log x[n]`, `w[j, k] w[j, l]`, `[z[n] = c]`, `sum[j](L[i, j] m[j])`.
pub fn written(symbols: &Symbols, block: &Block, part: &Natural) -> Term {
    let mut product = Term::number(1.0);
    let mut rest = part.slots.as_slice();
    // The letters of a matrix that products with it are summed over, in its order; its vectors take one each.
    let mut summed = part.summed(block);
    product.sums.clone_from(&summed);
    for (member, elementary) in &part.statistic.0 {
        let number = usize::from(*member);
        let slice = &block.slices[number];
        let (slots, others) = rest.split_at(elementary.slots(slice.len()));
        rest = others;
        let slots: Vec<LetterId> = match elementary {
            Elementary::LogDeterminant => slice.clone(),
            Elementary::Contracted(_) if slice.len() == 1 => summed.drain(..1).collect(),
            Elementary::Contracted(_) => slice.clone(),
            Elementary::Indicator
            | Elementary::Power(_)
            | Elementary::Log
            | Elementary::LogComplement
            | Elementary::Centred
            | Elementary::Mass
            | Elementary::MassOfComplement => slots.to_vec(),
        };
        let subscripts: Vec<Subscript> = places(symbols, block, number)
            .into_iter()
            .filter_map(|place| match place {
                Place::Plate(index) => block.plates.get(index),
                Place::Slot(index) => slots.get(index),
            })
            .map(|letter| Subscript::Letter(*letter))
            .collect();
        let array = block.members[number];
        let value = Atom::Value(array, subscripts.clone());
        product.factors.push(match elementary {
            Elementary::Power(power) => Factor { atom: value, power: *power },
            Elementary::Contracted(_) => Factor::of(value),
            Elementary::LogDeterminant => {
                let elements = Term { sums: slots, ..Term::atom(value) };
                Factor::of(Atom::Apply(Function::LogDeterminant, vec![Sum::term(elements)]))
            }
            Elementary::Log => Factor::of(Atom::Apply(Function::Log, vec![Sum::atom(value)])),
            Elementary::LogComplement => {
                let complement = Sum::number(1.0).minus(Sum::atom(value));
                Factor::of(Atom::Apply(Function::Log, vec![complement]))
            }
            Elementary::Indicator => {
                let class = slots[0];
                Factor::of(Atom::Equal(Subscript::Index(array, subscripts), Subscript::Letter(class)))
            }
            Elementary::Centred | Elementary::Mass | Elementary::MassOfComplement => {
                unreachable!("what is collected are statistics, not moments")
            }
        });
    }
    product
}

impl Natural {
    /// The letters of the matrix whose products with vectors the statistic is: those that are summed over.
    fn summed(&self, block: &Block) -> Vec<LetterId> {
        let matrix = self.statistic.0.iter().find_map(|(member, elementary)| {
            let slice = &block.slices[usize::from(*member)];
            (matches!(elementary, Elementary::Contracted(_)) && slice.len() == 2).then_some(slice)
        });
        let letters = matrix.into_iter().flatten().copied();
        letters.filter(|letter| !self.slots.contains(letter)).collect()
    }
}

/// Where a dimension of a member stands in a moment.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Among the plates of the block.
    Plate(usize),
    /// Among the slots of the member.
    Slot(usize),
}

/// For each dimension of a member, in declared order, where a moment of the block holds its subscript.
pub fn places(symbols: &Symbols, block: &Block, member: usize) -> Vec<Place> {
    let (plates, slices) = (&block.member_plates[member], &block.slices[member]);
    let place = |letter: &LetterId| match slices.iter().position(|own| own == letter) {
        Some(index) => Some(Place::Slot(index)),
        None => plates.iter().position(|own| own == letter).map(Place::Plate),
    };
    symbols.array(block.members[member]).letters.iter().filter_map(place).collect()
}
