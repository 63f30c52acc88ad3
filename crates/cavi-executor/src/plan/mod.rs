//! In what order, with which kernels, in which memory?
//!
//! In come equations, bound data and layouts; out goes a [`Plan`]: for every natural parameter and every term of the
//! bound a node to read, for every site a pass over its entries. No symbol is left.

mod broadcast;
pub(crate) mod effort;
mod eliminate;
pub mod forecast;
pub(crate) mod gather;
pub(crate) mod lifetimes;
pub mod lower;
pub mod masked;
mod pad;
mod pairs;
pub(crate) mod parts;
pub mod precision;
pub(crate) mod prepared;
mod print;
pub(crate) mod rates;
pub mod row_wise;
mod share;
pub mod site;
pub(crate) mod stamps;
pub mod tensor;

use std::borrow::Cow;
use std::sync::Arc;

use cavi_algebra::{
    ArrayId, Block, BlockId, Equations, LetterId, Natural, SiteId, Statistic, Sum, Support, Term,
};

use crate::data::Bound;
use crate::layout::{Layout, is_one_vector};
use crate::plan::gather::{gather, gather_block, is_log_complement};
use broadcast::broadcast;
pub use lower::Unplanned;
use lower::{Dim, Lowering};
use masked::mask;
use pairs::pair;
pub use precision::Precision;
use row_wise::RowWise;
use share::share;
use site::{SitePlan, plan_site};
use tensor::{Index, Maps, Node, NodeId, Operation, Part};

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
    /// The natural parameters and terms of the bound in which a square over the data was multiplied out for speed.
    pub opened: Vec<Opened>,
    /// The sites whose totals enter the bound, with their signs.
    pub elbo_sites: Vec<(SiteId, f64)>,
}

/// A sum in which a square over the data was multiplied out.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Its node.
    pub node: NodeId,
    /// The entries that the square is over.
    pub entries: usize,
}

/// What a node gained while copies moved one after another is kept if it is at most this part of the node.
pub const KEPT: usize = 8;

/// A letter along which copies move in order.
#[derive(Clone, Debug)]
pub struct Along {
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
    /// One node for each natural parameter's prior part, in its shape; empty for a point. Read by the bound of a family that
    /// pairs, and by a reset.
    pub prior: Vec<NodeId>,
    /// The weight of each row, where a multiplicity weighs them.
    pub weight: Option<NodeId>,
    /// The letters along which copies move in order.
    pub in_order: Vec<Along>,
    /// For a point without a closed form.
    pub ascent: Option<AscentPlan>,
}

impl BlockPlan {
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

/// The plan of a point without a closed form. Each equation is the sum of its nodes: what changes with the point stands
/// apart from what does not, so that a step computes the first alone.
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
}

/// Plans a program for its data.
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
    let missing = |array: ArrayId| bound.array(array).has_missing();
    let layout = |block| Arc::new(Layout::new(equations, bound, block, &missing));
    let layouts: Vec<Arc<Layout>> = equations.blocks.iter().map(layout).collect();
    let mut lowering = Lowering::new(equations, bound, &layouts);
    lowering.opens = opens;
    let mut sites = Vec::new();
    for site in 0..equations.sites.len() {
        let site = SiteId::from(site);
        let pass = lowering.by_pass(site).then(|| plan_site(&mut lowering, site)).transpose()?;
        sites.push(pass.map(Arc::new));
    }
    let mut blocks = Vec::new();
    for (index, block) in equations.blocks.iter().enumerate() {
        let block = gather_block(equations, block);
        blocks.push(Arc::new(plan_block(&mut lowering, BlockId::from(index), &block, &layouts[index])?));
    }
    let mut elbo = Vec::new();
    let mut elbo_sites = Vec::new();
    for (_, sum) in &equations.elbo.terms {
        let (logs, rest): (Vec<Term>, Vec<Term>) =
            gather(equations, sum).into_iter().partition(|term| lowering.passed(term).is_some());
        for term in &logs {
            let site = lowering.passed(term).expect("chosen for it");
            elbo_sites.push((site, 1.0));
        }
        // One node a term: those of data and constants alone are computed once.
        for term in rest {
            elbo.push(lowering.sum(&Sum::term(term), &[], None)?);
        }
    }
    // Where copies move one after another, steps follow what changed of each sum.
    if blocks.iter().all(|block| block.in_order.is_empty()) {
        share(&mut lowering.nodes, &mut lowering.values, lowering.limit);
        pair(equations, &mut lowering.nodes, &mut lowering.values, lowering.limit);
        mask(&mut lowering.nodes, &mut lowering.values, lowering.limit);
        broadcast(&mut lowering.nodes, &mut lowering.values, lowering.limit);
    }
    let streamed = streamed(&lowering)?;
    // Other sums may be near 0 because they balance: slopes at a maximum, logs of the weights of choices.
    let chooses = |block: &Block| {
        let support = equations.symbols.array(block.members[0]).support;
        matches!(support, Support::Index(_) | Support::Binary)
    };
    let scales = equations.blocks.iter().zip(&blocks).filter(|(block, _)| !chooses(block));
    let watched: Vec<NodeId> =
        scales.flat_map(|(_, plan)| plan.natural.clone()).chain(elbo.iter().copied()).collect();
    lowering.opened.retain(|opened| watched.contains(&opened.node));
    let (nodes, statics, maps, opened) = (lowering.nodes, lowering.values, lowering.maps, lowering.opened);
    let row_wise = Vec::new();
    let mut plan =
        Plan { nodes, statics, maps, streamed, opened, layouts, blocks, sites, row_wise, elbo, elbo_sites };
    plan.store(precision);
    plan.pad();
    plan.row_wise = (0..plan.blocks.len())
        .map(|block| plan.rows_alone(equations, BlockId::from(block)).map(Arc::new))
        .collect();
    Ok(plan)
}

/// The nodes with more values than may be kept. What reads one runs along its first dimension, row after row.
fn streamed(lowering: &Lowering) -> Result<Vec<bool>, Unplanned> {
    let large = |node: &Node| {
        let computed =
            matches!(node.operation, Operation::Contractions(_) | Operation::Map(..) | Operation::Site(..));
        computed && node.len() > lowering.limit
    };
    let streamed: Vec<bool> = lowering.nodes.iter().map(large).collect();
    for (node, own) in lowering.nodes.iter().zip(&streamed) {
        let Operation::Contractions(parts) = &node.operation else { continue };
        for part in parts {
            let read = part.operands.iter().filter(|operand| streamed[operand.node.index()]);
            let along: Vec<&[Index]> = read
                .map(|operand| operand.dims.as_slice())
                .chain(own.then_some(part.output.as_slice()))
                .collect();
            let Some(first) = along.first() else { continue };
            // By the values of a letter, or by listed entries that lie row after row.
            let in_rows = |dims: &&[Index]| {
                let alone = || dims[1..].iter().all(|index| index.letter != dims[0].letter);
                dims[0] == first[0]
                    && dims[0].map.map_or_else(alone, |map| lowering.maps.table(map).is_sorted())
            };
            if !along.iter().all(in_rows) {
                return Err(Unplanned(format!(
                    "auxiliary variables or allocations for {} entries are too many to keep, and are not read in rows",
                    node.len()
                )));
            }
        }
    }
    Ok(streamed)
}

fn plan_block(
    lowering: &mut Lowering,
    id: BlockId,
    block: &Block,
    layout: &Layout,
) -> Result<BlockPlan, Unplanned> {
    let family =
        cavi_families::posterior(block.family).expect("the derivation names families of the registry");
    let has_prior = !block.is_point();
    let mut natural = Vec::new();
    let mut prior = Vec::new();
    lowering.in_order = (!block.in_order.is_empty()).then_some(id);
    for (place, own) in family.statistics().iter().enumerate() {
        let rows: &[LetterId] = match own.extent {
            cavi_families::Extent::Matrix => &layout.group_letters,
            _ => &block.plates,
        };
        let is_own = |natural: &&Natural| family.place_of(&natural.statistic) == Some(place);
        let with_statistic: Vec<(&Natural, &Sum)> =
            block.natural.iter().zip(&block.prior).filter(|(natural, _)| is_own(natural)).collect();
        let all = with_statistic.iter().map(|(natural, _)| (*natural, &natural.coefficient)).collect();
        natural.push(plan_statistic(lowering, id, block, layout, rows, all)?);
        if has_prior {
            prior.push(plan_statistic(lowering, id, block, layout, rows, with_statistic)?);
        }
    }
    lowering.in_order = None;
    let weight = match block.multiplicity.as_slice() {
        [] => None,
        atoms => {
            let factors = atoms.iter().map(|atom| cavi_algebra::Factor::of(atom.clone())).collect();
            let sum = Sum::term(Term { factors, ..Term::number(1.0) });
            let copies = block.copies(&lowering.symbols);
            Some(lowering.sum_over_letters(&sum, &copies)?)
        }
    };
    let in_order = block.in_order.iter().filter_map(|letter| {
        let place = block.plates.iter().position(|plate| plate == letter)?;
        let above = &lowering.symbols.lineage(*letter)[1..];
        let within = !above.is_empty() && !above.iter().any(|ancestor| block.in_order.contains(ancestor));
        let axis = lowering.symbols.letter(*letter).axis;
        let groups = within.then(|| lowering.bound.axes[axis.index()].starts.clone()).flatten();
        Some(Along { place, groups })
    });
    let in_order = in_order.collect();
    let ascent = match &block.ascent {
        None => None,
        Some(ascent) => Some(plan_ascent(lowering, id, block, ascent)?),
    };
    Ok(BlockPlan { natural, prior, weight, in_order, ascent })
}

fn plan_ascent(
    lowering: &mut Lowering,
    id: BlockId,
    block: &Block,
    ascent: &cavi_algebra::Ascent,
) -> Result<AscentPlan, Unplanned> {
    let mut apart = |sum: &Sum, letters: Vec<LetterId>| -> Result<Vec<NodeId>, Unplanned> {
        let dims: Vec<Dim> = letters.iter().map(|letter| Dim::Letter(*letter)).collect();
        let moves = |term: &Term| block.members.iter().any(|member| term.mentions(*member));
        let (moving, still): (Vec<Term>, Vec<Term>) = sum.terms.iter().cloned().partition(moves);
        [moving, still].into_iter().map(|terms| lowering.of_shares(&Sum { terms }, &dims, Some(id))).collect()
    };
    let members = ascent.gradient.iter().zip(&block.slices);
    let gradient = members.map(|(own, slices)| apart(own, [block.plates.as_slice(), slices].concat()));
    let gradient = gradient.collect::<Result<_, _>>()?;
    let curvature = ascent.curvature.as_ref().map(|own| apart(own, block.plates.clone())).transpose()?;
    let objective = apart(&ascent.objective, Vec::new())?;
    let Some(tight) = &ascent.tight else {
        return Ok(AscentPlan { objective, tight: None, sites: Vec::new(), gradient, curvature });
    };
    let (passed, terms): (Vec<Term>, Vec<Term>) =
        tight.terms.iter().cloned().partition(|term| lowering.passed(term).is_some());
    let sites = passed.iter().filter_map(|term| lowering.passed(term)).collect();
    let mut node = |terms: Vec<Term>| lowering.sum(&Sum { terms }, &[], None);
    let tight = terms.into_iter().map(|term| node(vec![term])).collect::<Result<_, _>>()?;
    Ok(AscentPlan { objective, tight: Some(tight), sites, gradient, curvature })
}

/// The coefficients of a statistic as one node: rows, then slots. Of a vector in which several variables stand beside each
/// other the parts are put together.
fn plan_statistic(
    lowering: &mut Lowering,
    id: BlockId,
    block: &Block,
    layout: &Layout,
    rows: &[LetterId],
    coefficients: Vec<(&Natural, &Sum)>,
) -> Result<NodeId, Unplanned> {
    let mut parts = Vec::new();
    for (natural, coefficient) in coefficients {
        let dims: Vec<Dim> = rows.iter().chain(&natural.slots).map(|letter| Dim::Letter(*letter)).collect();
        lowering.whole = block.is_point() && is_log_complement(&natural.statistic);
        let node = lowering.sum(coefficient, &dims, Some(id));
        lowering.whole = false;
        let node = node?;
        if !is_one_vector(block) {
            return Ok(node);
        }
        let crossed = matches!(natural.statistic.0.as_slice(), [(left, _), (right, _)] if left != right);
        parts.push(Part { node, windows: windows(layout, &natural.statistic), crossed });
    }
    let mut shape: Vec<usize> =
        rows.iter().map(|letter| lowering.bound.size_of(&lowering.symbols, *letter)).collect();
    let depth = parts.first().map_or(0, |part| part.windows.len());
    shape.extend(vec![layout.n; depth]);
    Ok(lowering.node(Operation::Whole(parts), shape, Vec::new))
}

/// Where the elements of a statistic stand in the vector of a copy, for each of its elementary functions.
fn windows(layout: &Layout, statistic: &Statistic) -> Vec<(usize, usize)> {
    let offsets = layout.offsets();
    let window = |(member, _): &(u8, _)| {
        let member = usize::from(*member);
        (offsets[member], layout.slices[member].iter().product())
    };
    statistic.0.iter().map(window).collect()
}
