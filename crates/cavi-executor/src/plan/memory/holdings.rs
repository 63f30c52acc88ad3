//! What a run holds from its beginning to its end, in bytes: parts of the plan, tables, masks, lists.

use cavi_algebra::{BlockId, Equations};
use cavi_families::Extent;
use cavi_numerics::kernels::masked::fewer;

use crate::layout::Layout;
use crate::plan::Plan;
use crate::plan::prepared::{Prepared, Reach};
use crate::plan::site::{Listed, Rows, SitePlan};
use crate::plan::tensor::{NodeId, Operation};

const NUMBER: usize = size_of::<f64>();

/// The bytes of the arrays that a plan itself holds, data that it only reads left out.
pub(crate) fn plan(plan: &Plan) -> usize {
    let statics = plan.statics.iter().map(|own| match own {
        std::borrow::Cow::Borrowed(_) => 0,
        std::borrow::Cow::Owned(values) => values.len() * NUMBER,
    });
    let groups = plan.blocks.iter().flat_map(|block| &block.in_order).filter_map(|own| own.groups.as_ref());
    let layouts = plan.layouts.iter().map(|own| own.group.len() + own.starts.len());
    let lists: usize = groups.map(Vec::len).chain(layouts).sum();
    let sites = plan.sites.iter().flatten().map(|own| site(own));
    statics.sum::<usize>() + sites.sum::<usize>() + lists * size_of::<usize>() + plan.maps.bytes()
}

fn site(plan: &SitePlan) -> usize {
    let each = plan.addends.iter().map(|addend| {
        let modes = addend.modes.iter().map(|mode| &mode.row);
        let scalars = addend.scalars.iter().map(|own| &own.element);
        let single = addend.single.iter().filter_map(|own| own.row.as_ref());
        let rows = modes.chain(scalars).chain(single).map(Rows::bytes);
        rows.sum::<usize>() + addend.listed.as_ref().map_or(0, Listed::bytes)
    });
    each.sum()
}

/// The bytes of the tables that contractions are prepared with.
pub(super) fn prepared(all: &[Vec<Prepared>]) -> usize {
    let joined = |reach: &Reach| match reach {
        Reach::Joined(table) => table.len() * size_of::<u32>(),
        Reach::Stride(_) | Reach::Table(..) => 0,
    };
    let of = |own: &Prepared| -> usize {
        let within = own.rows.iter().flatten().flat_map(|(_, reach)| reach);
        own.operands.iter().flat_map(|(_, reach)| reach).chain(&own.reach).chain(within).map(joined).sum()
    };
    all.iter().flatten().map(of).sum()
}

/// The bytes of the masks of sums.
pub(super) fn masks(plan: &Plan) -> usize {
    let mut seen = std::collections::BTreeMap::new();
    for node in &plan.nodes {
        let Operation::Masked(sum) = &node.operation else { continue };
        seen.entry((sum.mask, sum.by_columns)).or_insert_with(|| {
            let shape = &plan.nodes[sum.mask.index()].shape;
            let listed = fewer(&plan.statics[sum.mask.index()], [shape[0], shape[1]]);
            let (listed, rows) = if sum.by_columns { (listed[1], shape[1]) } else { (listed[0], shape[0]) };
            // The list grows to the next power of two.
            listed.next_power_of_two() * size_of::<u32>()
                + rows.next_power_of_two() * (size_of::<usize>() + 1)
        });
    }
    seen.values().sum()
}

/// The bytes of what is observed of the blocks of partly observed arrays.
pub(super) fn observed(layout: &Layout) -> usize {
    layout.rows * (layout.width() * (NUMBER + 1) + 1)
}

/// How many doubles describe a block: the columns of its parameters.
pub(super) fn columns(equations: &Equations, layouts: &[std::sync::Arc<Layout>], id: BlockId) -> Vec<usize> {
    let (block, layout) = (equations.block(id), &layouts[id.index()]);
    if block.is_point() {
        return layout.slices.iter().map(|own| layout.rows * own.iter().product::<usize>()).collect();
    }
    let batch = layout.batch();
    cavi_families::posterior(block.family).descriptors().iter().map(|own| batch.len(own.extent)).collect()
}

/// The doubles that the family works in where it treats all rows of a block at once: a factor of each matrix.
pub(super) fn whole_desk(equations: &Equations, layout: &Layout, id: BlockId) -> Vec<usize> {
    let family = cavi_families::posterior(equations.block(id).family);
    let batch = layout.batch();
    let matrices = layout.statistics.iter().map(|own| own.extent).filter(|own| *own == Extent::Matrix);
    let desks = matrices.map(|own| batch.len(own)).chain([family.descriptors().len().min(1) * batch.rows]);
    desks.collect()
}

/// The bytes of the steps in which the copies of a block move one after another.
pub(super) fn steps(plan: &Plan, id: BlockId) -> usize {
    /// A box of rows, and the rows in it with their group.
    const EACH: usize = 160;
    let layout = &plan.layouts[id.index()];
    let along = plan.blocks[id.index()].in_order.iter().map(|own| match &own.groups {
        Some(starts) => starts.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0),
        None => layout.plates[own.place],
    });
    let steps: usize = along.product();
    steps * EACH
}

/// The doubles of a node.
pub(super) fn length(plan: &Plan, id: NodeId) -> usize {
    plan.nodes[id.index()].len()
}
