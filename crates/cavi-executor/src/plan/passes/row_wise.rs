//! Which blocks may be updated several times over, some rows at a time?
//!
//! The copies of a block that share a value of its first plate letter are a *row*. A row whose natural parameters are
//!
//! ```text
//! eta[row] = fixed[row] + sum_s c_s N_s[row],     N_s[row, c] = G_s[row, c] sum_{e in row} (w_e / s_e) prod_{others} G[., c]
//! ```
//!
//! with `G_s` a function of the row's own expectation, and with `fixed`, weights and other factors that the block does not
//! move, follows from its own entries: repeated updates of one row need no other. Its entries, and what these gather, are
//! then read from the cache at every repetition but the first.

use std::sync::Arc;

use cavi_algebra::{BlockId, Equations, SiteId};
use cavi_families::Extent;

use crate::plan::passes::Context;
use crate::plan::passes::precision::Stored;
use crate::plan::prepared::Prepared;
use crate::plan::tensor::{Contraction, Elementwise, NodeId, Operation, Source};
use crate::plan::{Plan, Unplanned};

/// How the rows of a block are updated, each by itself.
#[derive(Clone, Debug)]
pub struct RowWise {
    /// The sites whose counts it reads.
    pub sites: Vec<OwnRows>,
    /// One for each natural parameter.
    pub columns: Vec<Column>,
}

/// A site at some rows of a block: the first mode of its only addend.
#[derive(Clone, Debug)]
pub struct OwnRows {
    /// The site.
    pub site: SiteId,
    /// The expectation, or the value of the point, that its factor follows from.
    pub from: NodeId,
    /// The number that it is multiplied by, if any.
    pub coefficient: Option<f64>,
    /// The function of that which the factor is, if any.
    pub function: Option<Elementwise>,
    /// The node of its counts.
    pub counts: NodeId,
}

/// A natural parameter.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its node.
    pub node: NodeId,
    /// Of sums, how many come before the counts.
    pub fixed: usize,
    /// The counts, by their place among the sites, with their coefficients, in the order in which they are added.
    pub counts: Vec<(usize, f64)>,
}

/// Finds the blocks whose rows are updated each by itself.
pub fn find(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    let blocks = (0..plan.blocks.len()).map(BlockId::from);
    plan.row_wise = blocks.map(|block| plan.rows_alone(context.equations, block).map(Arc::new)).collect();
    Ok(())
}

impl Plan<'_> {
    /// How the rows of a block are updated each by itself, if they can be.
    fn rows_alone(&self, equations: &Equations, id: BlockId) -> Option<RowWise> {
        let (block, plan, layout) =
            (equations.block(id), &self.blocks[id.index()], &self.layouts[id.index()]);
        // What gains instead of being summed anew would have other bits.
        let gains = self.blocks.iter().any(|block| !block.in_order.is_empty());
        let is_plain = !gains && plan.ascent.is_none() && plan.weight.is_none();
        let letters = *layout.plates.first()?;
        if !is_plain || letters < 2 || !layout.starts.is_empty() || !layout.group.is_empty() {
            return None;
        }
        let family = cavi_families::posterior(block.family);
        let extents = family.descriptors().iter().map(|own| own.extent);
        let extents =
            extents.chain(family.statistics().into_iter().map(|own| own.extent)).collect::<Vec<_>>();
        if extents.iter().any(|extent| !matches!(extent, Extent::Scalar | Extent::Vector)) {
            return None;
        }
        let sites = self.sites.iter().enumerate();
        let sites = sites.filter(|(_, site)| site.as_ref().is_some_and(|site| site.is_read_by(id)));
        let sites = sites.map(|(site, _)| self.own_rows(id, SiteId::from(site), letters));
        let sites = sites.collect::<Option<Vec<_>>>()?;
        if sites.is_empty() {
            return None;
        }
        let columns = plan.natural.iter().map(|node| self.column(id, *node, letters, &sites));
        Some(RowWise { columns: columns.collect::<Option<_>>()?, sites })
    }

    /// A site at the rows of a block, if the block moves nothing there but the first mode of its only addend.
    fn own_rows(&self, id: BlockId, site: SiteId, letters: usize) -> Option<OwnRows> {
        let own = self.sites[site.index()].as_ref()?;
        let [addend] = own.addends.as_slice() else { return None };
        if own.own.is_some() {
            return None;
        }
        let by_entries = addend.in_rows && addend.listed.is_none() && !addend.by_products;
        let [mode, others @ ..] = addend.modes.as_slice() else { return None };
        let is_first = mode.block == Some(id) && mode.climbers.is_empty() && mode.rows == letters;
        let is_alone = !others.iter().any(|mode| mode.is_read_by(&[id]) || self.follows(mode.factor, id))
            && !addend.scalars.iter().any(|scalar| scalar.block == id)
            && !self.follows(own.weight, id);
        if !by_entries || addend.stored != Stored::Double || !is_first || !is_alone || !mode.counts_in_order()
        {
            return None;
        }
        let counts = Operation::Counts(site, 0, mode.log);
        let counts = self.nodes.iter().position(|node| node.operation == counts)?;
        let (mut from, mut function, mut coefficient) = (mode.factor, None, None);
        if let Operation::Map(of, node) = self.nodes[from.index()].operation {
            (from, function) = (node, Some(of));
        }
        if let Operation::Contractions(parts) = &self.nodes[from.index()].operation {
            let [part] = parts.as_slice() else { return None };
            if !self.is_multiple(part, from) {
                return None;
            }
            (from, coefficient) = (part.operands[0].node, Some(part.coefficient));
        }
        let node = &self.nodes[from.index()];
        let is_own = node.source() == Source::Block(id) && node.shape.first() == Some(&letters);
        (is_own && node.len() == mode.rows * addend.categories).then_some(OwnRows {
            site,
            from,
            coefficient,
            function,
            counts: NodeId(counts as u32),
        })
    }

    /// A natural parameter: what the block does not move, and behind it counts.
    fn column(&self, id: BlockId, node: NodeId, letters: usize, sites: &[OwnRows]) -> Option<Column> {
        let own = &self.nodes[node.index()];
        if own.shape.first() != Some(&letters) || self.streamed[node.index()] {
            return None;
        }
        let of_site = |node: NodeId| sites.iter().position(|site| site.counts == node);
        if let Some(site) = of_site(node) {
            return Some(Column { node, fixed: 0, counts: vec![(site, 1.0)] });
        }
        let Operation::Contractions(parts) = &own.operation else {
            return (!self.follows(node, id)).then_some(Column { node, fixed: 0, counts: Vec::new() });
        };
        let is_still = |part: &Contraction| !part.operands.iter().any(|own| self.follows(own.node, id));
        let fixed = parts.iter().take_while(|part| is_still(part)).count();
        if parts[..fixed].iter().flat_map(|part| &part.operands).any(|own| self.streamed[own.node.index()]) {
            return None;
        }
        let counts = parts[fixed..].iter().map(|part| {
            let site = of_site(part.operands.first()?.node)?;
            self.is_multiple(part, node).then_some((site, part.coefficient))
        });
        Some(Column { node, fixed, counts: counts.collect::<Option<_>>()? })
    }

    /// Whether a part of a node adds a multiple of another of the same shape.
    fn is_multiple(&self, part: &Contraction, node: NodeId) -> bool {
        Prepared::new(part, &self.nodes, &self.nodes[node.index()].shape, &self.maps).is_multiple()
    }

    /// Whether a node follows from a block, or from a refresh.
    fn follows(&self, node: NodeId, id: BlockId) -> bool {
        let own = &self.nodes[node.index()];
        match own.source() {
            Source::Given => false,
            Source::Block(block) => block == id,
            Source::Refresh => true,
            Source::Nodes => own.reads().into_iter().any(|read| self.follows(read, id)),
        }
    }
}
