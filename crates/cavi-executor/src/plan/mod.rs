//! In what order, with which kernels, in which memory?
//!
//! In come equations, bound data and layouts; out goes a [`Plan`]: for every natural parameter and every term of the
//! bound a node to read, for every site a pass over its entries. No symbol is left.

pub(crate) mod beside;
mod columns;
pub(crate) mod effort;
mod eliminate;
pub mod forecast;
pub(crate) mod gather;
pub(crate) mod lifetimes;
pub mod lower;
pub mod memory;
pub(crate) mod parts;
pub mod passes;
pub(crate) mod prepared;
mod print;
pub(crate) mod rates;
pub(crate) mod rows;
pub mod site;
pub(crate) mod stamps;
pub mod tensor;
mod verify;
pub(crate) mod visits;

use std::borrow::Cow;
use std::sync::Arc;

use cavi_algebra::{AxisId, Equations, SiteId};

use crate::data::{Bound, BoundArray};
use crate::layout::Layout;
use lower::limit;
pub use lower::{Unplanned, lower};
pub use passes::places::{Cut, Place};
pub use passes::precision::Precision;
use passes::{Context, PASSES};
pub use passes::{masked, precision, row_wise};
use row_wise::RowWise;
use site::SitePlan;
use tensor::{Loop, Maps, Node, NodeId, Operation};
pub use verify::verify;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The nodes; a node comes after those it reads, but for sums that it shares with others and rows that are padded.
    pub nodes: Vec<Node>,
    /// The values of static nodes.
    pub statics: Vec<Cow<'a, [f64]>>,
    /// The tables.
    pub maps: Maps,
    /// The layouts of the blocks.
    pub layouts: Vec<Arc<Layout>>,
    /// One for each block.
    pub blocks: Vec<Arc<BlockPlan>>,
    /// One for each site; none where its allocations are steps.
    pub sites: Vec<Option<Arc<SitePlan>>>,
    /// How the rows of each block are updated each by itself, where they can be.
    pub row_wise: Vec<Option<Arc<RowWise>>>,
    /// Scalar nodes of the bound: one for each term without the log partition of a pass.
    pub elbo: Vec<NodeId>,
    /// The nodes that are worked out a few rows at a time where they are read, and never kept.
    pub streamed: Vec<bool>,
    /// The given nodes whose values lie in a mapped file, so that they take no memory; empty before the plan is whole.
    pub mapped: Vec<bool>,
    /// The natural parameters and terms of the bound in which a square over the data was multiplied out for speed.
    pub opened: Vec<Opened>,
    /// The sites whose totals enter the bound, with their signs.
    pub elbo_sites: Vec<(SiteId, f64)>,
    /// One for each axis of the data: where the values of the steps lie when it is cut.
    pub cuts: Vec<Cut>,
}

/// A sum in which a square over the data was multiplied out.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Its node.
    pub node: NodeId,
    /// The entries that the square is over.
    pub entries: usize,
}

/// While copies are updated one after another, the change of a node is stored if it has at most this share of the
/// values of the node.
pub const KEPT: usize = 8;

/// A letter along which copies move in order.
#[derive(Clone, Debug)]
pub struct InOrder {
    /// Its place among the plates.
    pub place: usize,
    /// For a ragged letter whose copies meet within their group only: where each group starts, and the end of the last.
    pub groups: Option<Vec<usize>>,
}

/// The plan of a block.
#[derive(Clone, Debug)]
pub struct BlockPlan {
    /// One node for each natural parameter: plates (or group letters), then slots.
    pub natural: Vec<NodeId>,
    /// One node for each natural parameter's prior part, in its shape; empty for a point that neither resets nor has a level
    /// that only priors fix. Read by the bound of a family that pairs, by a reset, by a rotation and by a shift.
    pub prior: Vec<NodeId>,
    /// The weight of each row, where a multiplicity weighs them or some of them do not exist.
    pub weight: Option<NodeId>,
    /// The letters along which copies move in order.
    pub in_order: Vec<InOrder>,
    /// For a point without a closed form.
    pub ascent: Option<AscentPlan>,
}

impl BlockPlan {
    /// The nodes that an update reads while allocations are held.
    pub fn updated_from(&self) -> Vec<NodeId> {
        let climbed = self.ascent.iter().flat_map(|own| {
            let slopes = own.gradient.iter().flatten().chain(own.curvature.iter().flatten());
            own.objective.iter().chain(slopes)
        });
        self.natural.iter().chain(climbed).copied().collect()
    }

    /// The nodes of its ascent.
    pub fn ascent_nodes(&self) -> impl Iterator<Item = NodeId> {
        let nodes = |own: &'_ AscentPlan| {
            let gradient = own.gradient.iter().flatten();
            own.objective
                .iter()
                .chain(own.tight.iter().flatten())
                .chain(gradient)
                .chain(own.curvature.iter().flatten())
                .copied()
                .collect::<Vec<_>>()
        };
        self.ascent.iter().flat_map(nodes)
    }
}

/// The plan of a point without a closed form. Each equation is the sum of its nodes: terms that change with the point
/// are kept apart from those that do not, so that a step computes only the former.
#[derive(Clone, Debug)]
pub struct AscentPlan {
    /// Scalars; allocations as they were at the last refresh.
    pub objective: Vec<NodeId>,
    /// Scalars, allocations at their optimum; `None` where none stands in the objective.
    pub tight: Option<Vec<NodeId>>,
    /// The sites whose totals add to it.
    pub sites: Vec<SiteId>,
    /// For each member, a number an element.
    pub gradient: Vec<Vec<NodeId>>,
    /// A number a copy, where there is a second derivative.
    pub curvature: Option<Vec<NodeId>>,
}

impl Plan<'_> {
    /// As many rows of what is streamed are worked out together: a few thousand values.
    pub fn rows_at_once(&self) -> usize {
        const VALUES: usize = 1 << 13;
        let streamed = self.nodes.iter().zip(&self.streamed).filter(|(_, streamed)| **streamed);
        let longest = streamed.map(|(node, _)| node.shape[1..].iter().product()).max();
        (VALUES / longest.unwrap_or(1_usize).max(1)).max(1)
    }

    /// Whether copies of a block move one after another: steps then follow what changed of each sum, and stay as they are
    /// written.
    pub(crate) fn moves_in_order(&self) -> bool {
        self.blocks.iter().any(|block| !block.in_order.is_empty())
    }

    /// Whether the values of a node lie in a mapped file.
    pub fn is_mapped(&self, node: NodeId) -> bool {
        self.mapped.get(node.index()).is_some_and(|mapped| *mapped)
    }

    /// A step behind all others.
    pub(crate) fn push(&mut self, operation: Operation, loops: &[Loop]) -> NodeId {
        self.nodes.push(Node::new(operation, loops));
        self.statics.push(Cow::Owned(Vec::new()));
        self.streamed.push(false);
        NodeId((self.nodes.len() - 1) as u32)
    }

    /// The step that computes this, or a step behind all others.
    pub(crate) fn find_or_push(&mut self, operation: Operation, loops: &[Loop]) -> NodeId {
        let same = |node: &Node| node.operation == operation && node.loops() == loops;
        match self.nodes.iter().position(same) {
            Some(known) => NodeId(known as u32),
            None => self.push(operation, loops),
        }
    }

    /// What is read from outside of the steps: by updates, by passes over entries, by the bound.
    pub(crate) fn roots(&self) -> Vec<NodeId> {
        let mut roots = self.elbo.clone();
        for block in &self.blocks {
            roots.extend(block.natural.iter().chain(&block.prior).chain(&block.weight));
            roots.extend(block.ascent_nodes());
        }
        for site in self.sites.iter().flatten() {
            roots.extend(site.inputs());
            let modes = site.addends.iter().flat_map(|addend| &addend.modes);
            roots.extend(modes.map(|mode| mode.log_factor));
        }
        roots
    }
}

/// Plans a program for its data: it is lowered, and every pass of [`PASSES`] rewrites the plan in turn.
///
/// # Errors
/// If a step would take more memory than data and parameters, or a program is not lowered for these data.
pub fn plan<'a>(
    equations: &'a Equations,
    bound: &'a Bound,
    precision: Precision,
) -> Result<Plan<'a>, Unplanned> {
    plan_with(equations, bound, precision, true)
}

/// The same; if not `opens`, no square over the data is multiplied out for speed.
pub fn plan_with<'a>(
    equations: &'a Equations,
    bound: &'a Bound,
    precision: Precision,
    opens: bool,
) -> Result<Plan<'a>, Unplanned> {
    planned(equations, bound, precision, (opens, None))
}

/// The same for runs of shards of an axis of which each knows what the others' sums were: what all share is left out of these sums, and
/// multiplied in afterwards.
pub fn plan_memoized<'a>(
    equations: &'a Equations,
    bound: &'a Bound,
    precision: Precision,
    axis: AxisId,
) -> Result<Plan<'a>, Unplanned> {
    planned(equations, bound, precision, (true, Some(axis)))
}

fn planned<'a>(
    equations: &'a Equations,
    bound: &'a Bound,
    precision: Precision,
    (opens, cut): (bool, Option<AxisId>),
) -> Result<Plan<'a>, Unplanned> {
    let mut plan = lower(equations, bound, opens, cut)?;
    let context = Context { equations, bound, precision, limit: limit(equations, bound, &plan.layouts) };
    for pass in PASSES {
        (pass.run)(&mut plan, &context)?;
        check(pass.name, &plan, &context);
    }
    plan.mapped = mapped(&plan, bound);
    Ok(plan)
}

/// The given nodes whose values lie in a mapped file.
fn mapped(plan: &Plan, bound: &Bound) -> Vec<bool> {
    let mapped = bound.arrays.iter().flatten().filter(|array| array.is_mapped());
    let mapped: Vec<*const f64> = mapped
        .map(|array| match array {
            BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => values.as_ptr(),
        })
        .collect();
    let is_mapped = |values: &Cow<[f64]>| !values.is_empty() && mapped.contains(&values.as_ptr());
    plan.statics.iter().map(is_mapped).collect()
}

/// Looks through the plan that a pass leaves, in debug builds: a broken one is a bug of the pass.
fn check(pass: &str, plan: &Plan, context: &Context) {
    if cfg!(debug_assertions)
        && let Err(problem) = verify(plan, context.equations, context.bound)
    {
        panic!("after `{pass}` the plan is broken: {problem}");
    }
}
