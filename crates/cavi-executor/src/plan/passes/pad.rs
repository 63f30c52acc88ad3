//! Rows that a pass gathers are padded to whole cache lines.
//!
//! For each entry a pass reads a row of `K` numbers of every mode but the first, wherever it stands, and adds to one. A row of
//! 160 bytes that begins within a line of 64 lies in as many lines as one of 192 at the beginning of a line, and its vectors
//! cross from one into the next: 1.07 to 1.3 times as long a pass (K = 10 to 100, 3 x 10^6 entries of 20,000 x 18,000).
//! The rows of the first mode come one after another and stay as they are. Copies in single precision have rows of as many
//! numbers, which whole vectors read: 0.93 times as long a sweep.

use std::sync::Arc;

use cavi_algebra::Function;

use crate::plan::passes::Context;
use crate::plan::site::{AddendPlan, ModePlan};
use crate::plan::tensor::{Contraction, Elementwise, Index, Loop, Node, NodeId, Operation};
use crate::plan::{Plan, Unplanned};

/// The numbers of a cache line.
const LINE: usize = 8;

/// If each row is gathered at least this often, the time for arranging the rows anew is negligible.
const TIMES: usize = 16;

/// Gives the modes whose rows are gathered often factors, and so counts, with rows of whole lines.
///
/// Where copies move one after another nodes are brought up to date in part, and stay as they are.
pub fn pad(plan: &mut Plan, _: &Context) -> Result<(), Unplanned> {
    if !plan.moves_in_order() {
        plan.pad();
    }
    Ok(())
}

impl Plan<'_> {
    fn pad(&mut self) {
        let readers = self.readers();
        for number in 0..self.sites.len() {
            let Some(mut site) = self.sites[number].take() else { continue };
            let own = Arc::get_mut(&mut site).expect("the plan is not shared yet");
            // A pass that leaves shares out lays its rows out itself.
            let plain = own.own.is_none();
            for addend in own.addends.iter_mut().filter(|addend| plain && is_gathered(addend)) {
                let (entries, categories) = (own.entries, addend.categories);
                for mode in &mut addend.modes[1..] {
                    let padding = categories.next_multiple_of(LINE) - categories;
                    let pays = padding > 0 && entries >= TIMES * mode.rows && mode.climbers.is_empty();
                    if pays && self.nodes[mode.factor.index()].shape.last() == Some(&categories) {
                        mode.padding = padding;
                        self.pad_factor(mode, &readers);
                    }
                }
            }
            self.sites[number] = Some(site);
        }
    }

    /// How often each node is read: by others, by updates, by the bound, by passes.
    fn readers(&self) -> Vec<usize> {
        let mut readers = vec![0; self.nodes.len()];
        for node in &self.nodes {
            match node.operation {
                Operation::Held(from) => readers[from.index()] += 1,
                _ => node.reads().iter().for_each(|read| readers[read.index()] += 1),
            }
        }
        self.roots().iter().for_each(|root| readers[root.index()] += 1);
        readers
    }

    /// Puts zeros, or ones, behind the numbers of each row of a factor. What nothing else reads gets longer rows itself, so that
    /// what it follows from has no further reader.
    fn pad_factor(&mut self, mode: &mut ModePlan, readers: &[usize]) {
        let (function, from) = match self.nodes[mode.factor.index()].operation {
            // The padding has to be finite: 0, or 1, which is the exponential of 0.
            Operation::Map(function @ Elementwise::Function(Function::Exp), from) => (Some(function), from),
            _ => (None, mode.factor),
        };
        let loops = self.nodes[from.index()].loops();
        let letters: Vec<Index> = (0..loops.len()).map(Index::letter).collect();
        let arranged = match &self.nodes[from.index()].operation {
            Operation::Contractions(parts) => match parts.as_slice() {
                // What only arranges an array anew arranges it in longer rows.
                [part] if part.operands.len() == 1 && part.output == letters && part.letters == loops => {
                    Some(part.clone())
                }
                _ => None,
            },
            _ => None,
        };
        let is_alone = readers[mode.factor.index()] == 1;
        // Of the logarithms the factor and the mode are readers.
        let is_own =
            is_alone && (function.is_none() || from == mode.log_factor && readers[from.index()] == 2);
        let replaced = (arranged.is_some() && is_own).then_some(from);
        let arranged = arranged.unwrap_or_else(|| Contraction::copy(from, &loops));
        let mut loops = loops;
        let last = loops.last_mut().expect("rows of categories");
        *last = Loop::plain(last.size + mode.padding);
        let arranged = self.place(replaced, Operation::Contractions(vec![arranged]), &loops);
        let Some(function) = function else {
            mode.factor = arranged;
            return;
        };
        mode.log_factor = arranged;
        mode.factor = self.place(is_alone.then_some(mode.factor), Operation::Map(function, arranged), &loops);
    }

    /// Puts a node in the place of another, or where there is none behind all of them.
    fn place(&mut self, replaced: Option<NodeId>, operation: Operation, loops: &[Loop]) -> NodeId {
        let Some(replaced) = replaced else { return self.push(operation, loops) };
        self.nodes[replaced.index()] = Node::new(operation, loops);
        replaced
    }
}

impl AddendPlan {
    /// The length of a row of a mode's factor, and of what a pass accumulates for it.
    pub fn row_length(&self, mode: &ModePlan) -> usize {
        self.categories + mode.padding
    }
}

/// Whether the rows of every mode but the first are gathered entry by entry; short rows lie in a line or two.
fn is_gathered(addend: &AddendPlan) -> bool {
    addend.modes.len() > 1 && addend.categories > LINE && addend.listed.is_none() && !addend.by_products
}
