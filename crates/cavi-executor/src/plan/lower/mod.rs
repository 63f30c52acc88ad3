//! From sums of products to contractions: letters become loops, sparse arrays drive them, sums move inward.

mod auxiliaries;
mod collapsed;
mod counts;
mod factors;
mod finish;
mod program;
mod rewrite;
mod scope;
mod shares;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use cavi_algebra::rules::rename_apart;
use cavi_algebra::{
    ArrayId, Atom, AxisId, BlockId, Equations, Factor, LetterId, Subscript, Sum, Symbols, Term,
};

use crate::data::{Bound, BoundArray};
use crate::layout::Layout;
use crate::plan::Opened;
use crate::plan::eliminate::{eliminate, factor_out};
use crate::plan::tensor::{Along, Contraction, Index, Loop, Maps, Node, NodeId, Operation};

pub use program::lower;
use scope::wide_indices;

/// A dimension of a node's domain.
#[derive(Clone, Debug, PartialEq)]
pub enum Dim {
    /// The positions of a letter's axis.
    Letter(LetterId),
    /// The listed entries of an array; each of its coordinates is the value of a letter.
    Entries(ArrayId, Vec<LetterId>),
}

/// Why a program has no plan for these data.
#[derive(Clone, Debug, PartialEq)]
pub struct Unplanned(pub String);

/// What lowering reads and fills.
pub struct Lowering<'a, 'l> {
    /// The equations.
    pub equations: &'a Equations,
    /// Letters are added while expressions are rewritten.
    pub symbols: Symbols,
    /// The data.
    pub bound: &'a Bound,
    /// One for each block.
    pub layouts: &'l [Arc<Layout>],
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Values of static nodes, those of data as they are bound; empty for the others.
    pub values: Vec<Cow<'a, [f64]>>,
    /// The tables.
    pub maps: Maps,
    /// The most values that an intermediate array may have.
    pub limit: usize,
    /// Whether squares over the data may be multiplied out where that is faster.
    pub(super) opens: bool,
    /// The axis whose sums are kept shard by shard: of what all shards share they are to be free.
    pub(crate) cut: Option<AxisId>,
    /// Of how many entries one was in the sum that is lowered, or 0; and the nodes of the sums in which one was.
    pub(super) opened_here: Cell<usize>,
    pub(super) opened: Vec<Opened>,
    /// Whether what is lowered is worked out a few rows at a time, so that no array of it is kept.
    streaming: bool,
    /// Whether expectations are those of the last refresh.
    holding: bool,
    /// Whether what is lowered is the objective or a slope of a point that climbs: an allocation is then a share at every
    /// entry, unless it stands with its weight and what the rows of a pass have.
    by_shares: bool,
    /// The block whose coefficients are lowered, if its copies move one after another.
    pub in_order: Option<BlockId>,
    /// Whether sums of data stay in their brackets.
    pub whole: bool,
    known: BTreeMap<String, NodeId>,
}

/// The letters of one term: what each is in the loop.
struct Scope {
    /// The loop's letters.
    letters: Vec<Loop>,
    /// Letters of the term that have a value.
    index: BTreeMap<LetterId, Index>,
    /// The dimensions of the output.
    output: Vec<Index>,
    /// The array whose listed entries a loop letter runs over.
    pattern: Vec<(usize, ArrayId, Vec<LetterId>)>,
    /// Indices that have to be equal: ancestors of two letters that are ragged in one.
    tied: Vec<(Index, Index)>,
    /// Loop letters that others have replaced: they are not run over.
    replaced: Vec<usize>,
}

/// What follows from the copies of a block that move one after another.
pub struct Moving {
    /// Of each node, whether it does.
    pub follows: Vec<bool>,
    /// In how many steps they move.
    pub steps: f64,
}

/// A factor on its way to an operand: an array and its subscripts.
struct Pending {
    node: NodeId,
    subscripts: Vec<Subscript>,
}

impl<'a, 'l> Lowering<'a, 'l> {
    /// Nothing lowered yet.
    pub fn new(equations: &'a Equations, bound: &'a Bound, layouts: &'l [Arc<Layout>]) -> Lowering<'a, 'l> {
        Lowering {
            equations,
            symbols: equations.symbols.clone(),
            bound,
            layouts,
            nodes: Vec::new(),
            values: Vec::new(),
            maps: Maps::default(),
            limit: limit(equations, bound, layouts),
            opens: true,
            cut: None,
            opened_here: Cell::new(0),
            opened: Vec::new(),
            streaming: false,
            holding: false,
            by_shares: false,
            in_order: None,
            whole: false,
            known: BTreeMap::new(),
        }
    }

    /// Adds a node, or finds the one that computes the same.
    pub fn node(
        &mut self,
        operation: Operation,
        loops: Vec<Loop>,
        values: impl FnOnce() -> Vec<f64>,
    ) -> NodeId {
        self.given(operation, loops, || Cow::Owned(values()))
    }

    /// As [`Lowering::node`], for values that may be those of the bound data.
    fn given(
        &mut self,
        operation: Operation,
        loops: Vec<Loop>,
        values: impl FnOnce() -> Cow<'a, [f64]>,
    ) -> NodeId {
        let key = format!("{operation:?} {loops:?}");
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).expect("a plan has fewer than 2^32 nodes"));
        self.nodes.push(Node::new(operation, &loops));
        self.values.push(values());
        self.known.insert(key, id);
        id
    }

    /// A sum over a domain of letters.
    pub fn sum_over_letters(&mut self, sum: &Sum, letters: &[LetterId]) -> Result<NodeId, Unplanned> {
        let dims: Vec<Dim> = letters.iter().map(|letter| Dim::Letter(*letter)).collect();
        self.sum(sum, &dims, None)
    }

    /// A sum over a domain. `target` is the block whose coefficient it is, if any: its allocations are counts.
    pub fn sum(&mut self, sum: &Sum, domain: &[Dim], target: Option<BlockId>) -> Result<NodeId, Unplanned> {
        let loops: Vec<Loop> = domain.iter().map(|dim| self.over(dim)).collect();
        self.opened_here.set(0);
        let sum = self.rewritten(sum);
        let entries = self.opened_here.get();
        let mut parts = Vec::new();
        for term in &sum.terms {
            self.term(term, domain, target, &mut parts)?;
        }
        let parts: Vec<Contraction> =
            factor_out(self, parts).into_iter().map(|part| eliminate(self, part)).collect();
        // An array read as it is needs no copy.
        if let [Contraction { coefficient: 1.0, letters, operands, output }] = parts.as_slice()
            && let [operand] = operands.as_slice()
            && operand.dims == *output
            && output.iter().enumerate().all(|(place, index)| *index == Index::letter(place))
            && letters.len() == output.len()
            && self.nodes[operand.node.index()].loops() == loops
        {
            return Ok(operand.node);
        }
        let node = self.node(Operation::Contractions(parts), loops, Vec::new);
        if entries > 0 && !self.opened.iter().any(|opened| opened.node == node) {
            self.opened.push(Opened { node, entries });
        }
        Ok(node)
    }

    /// As [`Lowering::sum`], allocations as shares at every entry.
    pub fn of_shares(
        &mut self,
        sum: &Sum,
        domain: &[Dim],
        target: Option<BlockId>,
    ) -> Result<NodeId, Unplanned> {
        self.by_shares = true;
        let node = self.sum(sum, domain, target);
        self.by_shares = false;
        node
    }

    /// What follows from the block whose coefficients are lowered, if its copies move one after another.
    pub fn moving(&self) -> Moving {
        let mut follows = vec![false; self.nodes.len()];
        let Some(id) = self.in_order else { return Moving { follows, steps: 1.0 } };
        for (index, node) in self.nodes.iter().enumerate() {
            follows[index] = match node.operation {
                Operation::Point(block, _) | Operation::Moment(block, _) => block == id,
                _ => node.reads().iter().any(|read| follows[read.index()]),
            };
        }
        let letters = self.equations.block(id).in_order.iter();
        let steps = letters.map(|letter| self.bound.size_of(&self.symbols, *letter) as f64).product();
        Moving { follows, steps }
    }

    fn size(&self, dim: &Dim) -> usize {
        self.over(dim).size
    }

    /// The loop over a dimension of a domain.
    pub(super) fn over(&self, dim: &Dim) -> Loop {
        match dim {
            Dim::Letter(letter) => self.over_letter(*letter),
            Dim::Entries(array, _) => self.over_entries(*array),
        }
    }

    /// The loop over the positions of a letter's axis.
    pub(super) fn over_letter(&self, letter: LetterId) -> Loop {
        self.over_axis(self.symbols.letter(letter).axis)
    }

    /// The loop over the positions of an axis.
    pub(super) fn over_axis(&self, axis: AxisId) -> Loop {
        Loop { size: self.bound.size(axis), along: Along::Axis(axis) }
    }

    /// The loop over the listed entries of an array.
    pub(super) fn over_entries(&self, array: ArrayId) -> Loop {
        Loop { size: self.entries(array).len(), along: Along::Entries(array) }
    }

    /// The loops over the dimensions of an array.
    pub(super) fn over_array(&self, array: ArrayId) -> Vec<Loop> {
        self.symbols.array(array).letters.iter().map(|letter| self.over_letter(*letter)).collect()
    }

    /// The dimensions of a node.
    pub(super) fn loops(&self, node: NodeId) -> Vec<Loop> {
        self.nodes[node.index()].loops()
    }

    /// The number of listed entries of an array, as a range.
    fn entries(&self, array: ArrayId) -> std::ops::Range<usize> {
        match self.bound.array(array) {
            BoundArray::Sparse { values, .. } | BoundArray::Dense { values, .. } => 0..values.len(),
        }
    }

    /// Lowers one rewritten term.
    fn term(
        &mut self,
        term: &Term,
        domain: &[Dim],
        target: Option<BlockId>,
        parts: &mut Vec<Contraction>,
    ) -> Result<(), Unplanned> {
        // The letters of the domain are the output's: summed letters keep apart.
        let mut taken: Vec<LetterId> = Vec::new();
        for dim in domain {
            match dim {
                Dim::Letter(letter) => taken.extend(self.symbols.lineage(*letter)),
                Dim::Entries(_, letters) => {
                    letters.iter().for_each(|letter| taken.extend(self.symbols.lineage(*letter)))
                }
            }
        }
        let term = rename_apart(&mut self.symbols, term, &taken);
        let mut term = self.letters_apart(term);
        self.indices_apart(&mut term);
        let mut scope = self.scope(domain);
        if self.is_counted(&term) {
            let (counts, coefficient) = self.counts(&term, target)?;
            parts.extend(self.finish(&mut scope, coefficient, vec![counts], &[], &[])?);
            return Ok(());
        }
        let mut counts = None;
        let by_rows = if self.by_shares { self.counts_of_rows(&term, domain, target) } else { None };
        if let Some((found, rest)) = by_rows {
            counts = Some(found);
            term = rest;
        }
        // The listed entries of a sparse array drive the loop. A mask comes first, since auxiliary variables are
        // stored for its entries.
        let (masks, others): (Vec<&Factor>, Vec<&Factor>) =
            term.factors.iter().partition(|factor| matches!(factor.atom, Atom::Observed(..)));
        for factor in masks.into_iter().chain(others) {
            if let Some((array, subscripts)) = self.driver(factor) {
                self.drive(&mut scope, array, &subscripts, &term)?;
            }
        }
        self.positions_apart(&scope, &mut term);
        for subscript in wide_indices(&self.symbols, &term) {
            let Subscript::Index(array, inner) = &subscript else { continue };
            if !inner.is_empty() {
                self.drive(&mut scope, *array, inner, &term)?;
            } else if !scope.pattern.iter().any(|(_, own, _)| own == array) {
                // An index that is one number is the entry of a loop of length 1.
                scope.pattern.push((scope.letters.len(), *array, Vec::new()));
                scope.letters.push(Loop { size: 1, along: Along::Entries(*array) });
            }
        }
        let mut pending: Vec<Pending> = counts.into_iter().collect();
        let mut guards = Vec::new();
        for factor in &term.factors {
            match &factor.atom {
                Atom::Equal(..) | Atom::Less(..) => guards.push(factor.atom.clone()),
                _ => pending.extend(self.factor(&scope, factor, target)?),
            }
        }
        parts.extend(self.finish(&mut scope, term.coefficient.0, pending, &guards, &term.sums)?);
        Ok(())
    }
}

/// The most values that an array of shares that are left out of allocations may have: these are kept for all entries.
const MOST_SHARES: usize = 1 << 24;

/// The most values that an intermediate array may have: as many as data and parameters together.
pub fn limit(equations: &Equations, bound: &Bound, layouts: &[Arc<Layout>]) -> usize {
    let values = |(number, array): (usize, &Option<BoundArray>)| match array {
        None => 0,
        // A file of all cells is no smaller for the zeros in it.
        Some(_) if bound.whole.contains(&ArrayId::from(number)) => {
            bound.shape(&equations.symbols, ArrayId::from(number)).iter().product()
        }
        Some(BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) => values.len(),
    };
    let data: usize = bound.arrays.iter().enumerate().map(values).sum();
    let blocks = equations.blocks.iter().zip(layouts);
    let parameters: usize = blocks.map(|(block, layout)| layout.values(block)).sum();
    let leaves_out = equations.sites.iter().any(|site| site.collapsed.is_some());
    (data + parameters).max(if leaves_out { MOST_SHARES } else { 1 << 16 })
}
