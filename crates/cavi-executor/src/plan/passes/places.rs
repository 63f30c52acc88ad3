//! Where the values of each step lie when an axis of the data is cut into chunks: everywhere, with their positions, or as sums
//! over a chunk, which have to be added up.
//!
//! A dimension or letter *carries* an axis if it runs over it, over an axis that is ragged in it, or over the entries of an array
//! with such a column. A step with a dimension that carries the axis has each of its values at one position: [`Place::Local`].
//! One that sums over such a letter has a part of its value from each chunk: [`Place::Partial`]. What reads it reads the sum of
//! all parts. Everything else is [`Place::Replicated`].
//!
//! An axis is not cut where positions meet otherwise than in a sum: where it is a slice of a block, where copies along it move
//! one after another, where data say at which of its positions others are looked up, and where two letters run over it at once.

use cavi_algebra::{ArrayKind, AxisId, Equations, LetterId, Support, Symbols};

use crate::plan::passes::Context;
use crate::plan::tensor::{Access, Along, Contraction, Index, Node, Operation};
use crate::plan::{Plan, Unplanned};

/// Where the values of a step lie when an axis is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// They are the same everywhere.
    Replicated,
    /// Each belongs to a position of the axis.
    Local,
    /// Each is a sum over all positions.
    Partial,
}

/// An axis of the data.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The axis.
    pub axis: AxisId,
    /// The place of each step; or why the axis cannot be cut.
    pub places: Result<Vec<Place>, String>,
}

/// Finds the place of every step, for each axis of the data.
pub fn place(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    let symbols = &context.equations.symbols;
    let has_data = |axis: &AxisId| {
        let data = symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data);
        data.flat_map(|array| &array.letters).any(|letter| is_below(symbols, *letter, *axis))
    };
    let axes = (0..symbols.axes.len()).map(AxisId::from).filter(has_data);
    let cut = |axis: AxisId| {
        let own = Axis { axis, equations: context.equations, plan };
        Cut { axis, places: own.refusal().map_or_else(|| own.places(), Err) }
    };
    plan.cuts = axes.map(cut).collect();
    Ok(())
}

/// Whether a letter runs over an axis, or over one that is ragged in it.
fn is_below(symbols: &Symbols, letter: LetterId, axis: AxisId) -> bool {
    symbols.lineage(letter).iter().any(|own| symbols.letter(*own).axis == axis)
}

/// An axis that may be cut.
struct Axis<'p> {
    axis: AxisId,
    equations: &'p Equations,
    plan: &'p Plan<'p>,
}

impl Axis<'_> {
    fn carries_letter(&self, letter: LetterId) -> bool {
        is_below(&self.equations.symbols, letter, self.axis)
    }

    fn carries(&self, along: Along) -> bool {
        let symbols = &self.equations.symbols;
        match along {
            Along::Axis(axis) | Along::Pairs(axis) => {
                let above = |axis: &AxisId| symbols.axis(*axis).parent;
                std::iter::successors(Some(axis), above).any(|own| own == self.axis)
            }
            Along::Entries(array) => {
                symbols.array(array).letters.iter().any(|letter| self.carries_letter(*letter))
            }
            Along::Plain => false,
        }
    }

    /// Why the program does not let the axis be cut.
    fn refusal(&self) -> Option<String> {
        let symbols = &self.equations.symbols;
        let over = |letter: &LetterId| symbols.letter(*letter).axis == self.axis;
        for (block, plan) in self.equations.blocks.iter().zip(&self.plan.blocks) {
            let mut members = block.members.iter().zip(&block.slices);
            if let Some((member, slices)) = members.find(|(_, slices)| slices.iter().any(over)) {
                let array = symbols.array(*member);
                let letter = |letter: &LetterId| {
                    let sign = if slices.contains(letter) { ":" } else { "" };
                    format!("{sign}{}", symbols.letter(*letter).name)
                };
                let letters: Vec<String> = array.letters.iter().map(letter).collect();
                return Some(format!(
                    "`{}[{}]` is one vector over all of it",
                    array.name,
                    letters.join(", ")
                ));
            }
            let name = || &symbols.array(block.members[0]).name;
            if block.classes.is_some_and(|letter| over(&letter)) {
                return Some(format!("its positions are the classes of `{}`", name()));
            }
            let meets = |step: &crate::plan::InOrder| {
                let letter = block.plates[step.place];
                // Copies that meet within a group alone stay with it.
                over(&letter) || step.groups.is_none() && self.carries_letter(letter)
            };
            if plan.in_order.iter().any(meets) {
                return Some(format!("copies of `{}` move one after another along it", name()));
            }
        }
        for array in symbols.arrays.iter().filter(|array| array.kind != ArrayKind::Latent) {
            if array.support == Support::Index(self.axis) {
                return Some(format!("`{}` says which of its positions are read", array.name));
            }
            let own: Vec<LetterId> =
                array.letters.iter().copied().filter(|letter| self.carries_letter(*letter)).collect();
            let apart = |one: LetterId, other: LetterId| {
                !symbols.lineage(one).contains(&other) && !symbols.lineage(other).contains(&one)
            };
            if own.iter().enumerate().any(|(place, one)| own[..place].iter().any(|other| apart(*one, *other)))
            {
                return Some(format!("`{}` has two subscripts on it", array.name));
            }
        }
        None
    }

    /// The place of every step, or the step in which positions meet.
    fn places(&self) -> Result<Vec<Place>, String> {
        let nodes = self.plan.nodes.iter().enumerate();
        nodes.map(|(index, node)| self.place(node).map_err(|why| format!("step {index} {why}"))).collect()
    }

    fn place(&self, node: &Node) -> Result<Place, String> {
        let carrying = node.dims.iter().filter(|along| self.carries(**along)).count();
        if carrying > 1 {
            return Err("pairs its positions".to_owned());
        }
        let mut sums = false;
        match &node.operation {
            Operation::Contractions(parts) => {
                for part in parts {
                    sums |= self.sums(part, node)?;
                }
            }
            Operation::Masked(sum) => {
                let mask = &self.plan.nodes[sum.mask.index()].dims;
                sums = self.carries(mask[usize::from(!sum.by_columns)]);
            }
            Operation::Counts(site, ..) => {
                let pass = self.plan.sites[site.index()].as_ref();
                let entries = pass.map(|pass| self.plan.nodes[pass.weight.index()].dims.as_slice());
                sums = entries.unwrap_or_default().iter().any(|along| self.carries(*along));
            }
            Operation::LogDeterminant(from) => {
                let matrix = &self.plan.nodes[from.index()].dims[node.dims.len()..];
                if matrix.iter().any(|along| self.carries(*along)) {
                    return Err("is the determinant of a matrix over it".to_owned());
                }
            }
            // Value by value, or with all values that belong together in one place.
            Operation::Static(_)
            | Operation::Point(..)
            | Operation::Moment(..)
            | Operation::Held(_)
            | Operation::Map(..)
            | Operation::Pair(..)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::Pairs(..)
            | Operation::Square(..)
            | Operation::Site(..) => {}
        }
        Ok(match (carrying, sums) {
            (1, _) => Place::Local,
            (_, true) => Place::Partial,
            (_, false) => Place::Replicated,
        })
    }

    /// Whether a contraction sums over the axis.
    fn sums(&self, part: &Contraction, node: &Node) -> Result<bool, String> {
        let letters: Vec<bool> = part.letters.iter().map(|letter| self.carries(letter.along)).collect();
        if letters.iter().filter(|carries| **carries).count() > 1 {
            return Err("runs over it twice at once".to_owned());
        }
        // A value at a position is read, or added to, where that position is.
        let elsewhere = |dims: &[Index], along: &[Along]| {
            dims.iter().zip(along).any(|(index, along)| self.carries(*along) && !letters[index.letter])
        };
        let reads = |own: &Access| elsewhere(&own.dims, &self.plan.nodes[own.node.index()].dims);
        if elsewhere(&part.output, &node.dims) || part.operands.iter().any(reads) {
            return Err("looks up its positions".to_owned());
        }
        let is_kept =
            |index: &Index| letters[index.letter] && self.carries(part.along(*index, &self.plan.maps));
        Ok(letters.contains(&true) && !part.output.iter().any(is_kept))
    }
}
