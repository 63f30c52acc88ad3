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

use cavi_algebra::{ArrayKind, AxisId, Block, Equations, LetterId, Support, Symbols};

use crate::plan::passes::Context;
use crate::plan::tensor::{Access, Along, Contraction, Index, Node, NodeId, Operation, Source, Within};
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
pub(crate) fn is_below(symbols: &Symbols, letter: LetterId, axis: AxisId) -> bool {
    symbols.lineage(letter).iter().any(|own| symbols.letter(*own).axis == axis)
}

/// Whether the values of a letter belong to positions of an axis.
pub(crate) fn carries(symbols: &Symbols, axis: AxisId, along: Along) -> bool {
    match along {
        Along::Axis(own) | Along::Pairs(own) => {
            let above = |axis: &AxisId| symbols.axis(*axis).parent;
            std::iter::successors(Some(own), above).any(|own| own == axis)
        }
        Along::Entries(array) => {
            symbols.array(array).letters.iter().any(|letter| is_below(symbols, *letter, axis))
        }
        Along::Plain => false,
    }
}

/// An axis that may be cut.
pub(crate) struct Axis<'p> {
    pub axis: AxisId,
    pub equations: &'p Equations,
    pub plan: &'p Plan<'p>,
}

impl Axis<'_> {
    fn carries_letter(&self, letter: LetterId) -> bool {
        is_below(&self.equations.symbols, letter, self.axis)
    }

    fn carries(&self, along: Along) -> bool {
        carries(&self.equations.symbols, self.axis, along)
    }

    /// Why the program does not let the axis be cut.
    fn refusal(&self) -> Option<String> {
        let symbols = &self.equations.symbols;
        let over = |letter: &LetterId| symbols.letter(*letter).axis == self.axis;
        for (block, plan) in self.equations.blocks.iter().zip(&self.plan.blocks) {
            let carries = |letter: &LetterId| self.carries_letter(*letter);
            let mut members = block.members.iter().zip(&block.slices);
            if let Some((member, slices)) = members.find(|(_, slices)| slices.iter().any(carries)) {
                let array = symbols.array(*member);
                let letter = |letter: &LetterId| {
                    let sign = if slices.contains(letter) { ":" } else { "" };
                    format!("{sign}{}", symbols.letter(*letter).name)
                };
                let letters: Vec<String> = array.letters.iter().map(letter).collect();
                let what = format!("`{}[{}]`", array.name, letters.join(", "));
                return Some(match slices.iter().any(over) {
                    true => format!("{what} is one vector over all of it"),
                    false => format!("{what} has vectors of different lengths along it"),
                });
            }
            let name = || &symbols.array(block.members[0]).name;
            if block.classes.as_ref().is_some_and(carries) {
                return Some(format!("its positions are the classes of `{}`", name()));
            }
            let mut moves = plan.in_order.iter().map(|step| block.plates[step.place]).filter(carries);
            if let Some(letter) = moves.next() {
                let along = if over(&letter) { "along it" } else { "within its positions" };
                return Some(format!("copies of `{}` move one after another {along}", name()));
            }
            let climbs = block.ascent.as_ref().is_some_and(|ascent| ascent.curvature.is_none());
            if climbs && self.is_local(block) {
                return Some(format!("`{}` has no closed form, and all its copies climb together", name()));
            }
        }
        for array in symbols.arrays.iter().filter(|array| array.kind != ArrayKind::Latent) {
            if matches!(array.support, Support::Index(axis) if self.carries(Along::Axis(axis))) {
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
        for site in self.plan.sites.iter().flatten().filter(|site| !self.carries_any(site.weight)) {
            if let Some(step) = site.inputs().find(|input| self.carries_any(*input)) {
                return Err(format!("{} is looked up where its positions are not", self.named(step)));
            }
        }
        let sites = self.equations.sites.iter().zip(&self.plan.sites);
        for (site, plan) in sites.filter_map(|(site, plan)| Some((site, plan.as_ref()?))) {
            for (addend, own) in plan.addends.iter().zip(&site.addends) {
                for mode in &addend.modes {
                    let factor = &self.plan.nodes[mode.factor.index()];
                    let categories = &factor.dims[mode.row_dims(factor, own.letters.len())..];
                    if categories.iter().any(|along| self.carries(*along)) {
                        return Err(format!("{} has its positions as categories", self.named(mode.factor)));
                    }
                }
            }
        }
        let nodes = self.plan.nodes.iter().enumerate();
        let place = |(index, node)| {
            let named = || self.named(NodeId(index as u32));
            self.place(node).map_err(|why| format!("{} {why}", named()))
        };
        nodes.map(place).collect()
    }

    /// A step, by what of the program it follows from.
    fn named(&self, id: NodeId) -> String {
        let symbols = &self.equations.symbols;
        let (mut seen, mut rest) = (vec![false; self.plan.nodes.len()], vec![id]);
        let mut names: Vec<&str> = Vec::new();
        while let Some(node) = rest.pop() {
            if std::mem::replace(&mut seen[node.index()], true) {
                continue;
            }
            let own = &self.plan.nodes[node.index()];
            if let Source::Block(block) = own.source() {
                let members = &self.equations.block(block).members;
                names.extend(members.iter().map(|member| symbols.array(*member).name.as_str()));
            }
            rest.extend(own.reads());
        }
        names.sort_unstable();
        names.dedup();
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        match names.len() {
            0 => format!("step {}, which follows from data alone,", id.index()),
            _ => format!("step {}, which follows from {},", id.index(), names.join(", ")),
        }
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
            Operation::Beside(_, within, _) => {
                // A group that is one of the axis is a shard's own as a whole.
                let is_whole = |own: &Within| self.carries(self.plan.maps.to(own.group));
                if node.dims.first().is_some_and(|along| self.carries(*along))
                    && !within.as_ref().is_some_and(is_whole)
                {
                    return Err("is summed over the positions before or after each of it".to_owned());
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

    /// Whether the copies of a block belong to positions of the axis.
    pub fn is_local(&self, block: &Block) -> bool {
        block.plates.iter().any(|letter| self.carries_letter(*letter))
    }

    /// Whether a dimension of a step carries the axis.
    pub fn carries_any(&self, node: NodeId) -> bool {
        self.plan.nodes[node.index()].dims.iter().any(|along| self.carries(*along))
    }

    /// Whether a contraction sums over the axis.
    pub fn sums(&self, part: &Contraction, node: &Node) -> Result<bool, String> {
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
