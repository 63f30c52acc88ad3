//! Steps that nothing reads are left out: lowering lowers some terms that turn out to be 0, and some logs of factors in two ways.
//!
//! So are the counts of sites that nothing reads. Where allocations are made by means, or leave their own shares out, the bound has a site of
//! its own, and the updates of its blocks read the counts of the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::plan::passes::Context;
use crate::plan::tensor::{NodeId, Operation, Part};
use crate::plan::{Plan, Unplanned};

/// Keeps what updates, passes over entries and the bound read, and what that follows from, in its order.
pub fn keep_used(plan: &mut Plan, _: &Context) -> Result<(), Unplanned> {
    let used = plan.used();
    take_no_counts_in_vain(plan, &used);
    if used.iter().all(|used| *used) {
        return Ok(());
    }
    let mut count = 0;
    let number = |used: &bool| {
        count += u32::from(*used);
        NodeId(count.saturating_sub(1))
    };
    let numbers: Vec<NodeId> = used.iter().map(number).collect();
    let is_used = || used.iter();
    let mut kept = is_used();
    plan.nodes.retain(|_| kept.next() == Some(&true));
    let mut kept = is_used();
    plan.statics.retain(|_| kept.next() == Some(&true));
    let mut kept = is_used();
    plan.streamed.retain(|_| kept.next() == Some(&true));
    plan.opened.retain(|opened| used[opened.node.index()]);
    plan.rename(&|node| *node = numbers[node.index()]);
    Ok(())
}

/// A pass over the entries of a site is due for the blocks that read its counts: of counts that no step in use holds there are none.
fn take_no_counts_in_vain(plan: &mut Plan, used: &[bool]) {
    let steps = plan.nodes.iter().zip(used).filter(|(_, used)| **used);
    let counts = steps.filter_map(|(node, _)| match node.operation {
        Operation::Counts(site, addend, log) => Some((site.index(), addend, log)),
        _ => None,
    });
    let read: BTreeSet<(usize, usize, usize)> = counts.collect();
    for (number, site) in plan.sites.iter_mut().enumerate() {
        let Some(site) = site else { continue };
        for (place, addend) in Arc::make_mut(site).addends.iter_mut().enumerate() {
            let is_read = |log: usize| read.contains(&(number, place, log));
            for mode in addend.modes.iter_mut().filter(|mode| !is_read(mode.log)) {
                mode.block = None;
                mode.climbers.clear();
            }
            addend.scalars.retain(|scalar| is_read(scalar.log));
        }
    }
}

impl Plan<'_> {
    /// Of each step, whether something reads it in the end.
    pub(crate) fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.nodes.len()];
        let mut rest = self.roots();
        while let Some(node) = rest.pop() {
            if std::mem::replace(&mut used[node.index()], true) {
                continue;
            }
            let own = &self.nodes[node.index()];
            rest.extend(own.reads());
            if let Operation::Held(from) = own.operation {
                rest.push(from);
            }
        }
        used
    }

    /// Changes the number of every step that is named anywhere, before blocks and sites are shared.
    fn rename(&mut self, rename: &dyn Fn(&mut NodeId)) {
        for node in &mut self.nodes {
            match &mut node.operation {
                Operation::Static(_)
                | Operation::Point(..)
                | Operation::Moment(..)
                | Operation::Counts(..) => {}
                Operation::Contractions(parts) => {
                    parts
                        .iter_mut()
                        .flat_map(|part| &mut part.operands)
                        .for_each(|own| rename(&mut own.node));
                }
                Operation::Masked(sum) => [&mut sum.mask, &mut sum.of].into_iter().for_each(rename),
                Operation::Held(from)
                | Operation::Map(_, from)
                | Operation::Pairs(from, _)
                | Operation::Square(from, _)
                | Operation::LogDeterminant(from)
                | Operation::Beside(.., from)
                | Operation::Taken(Part { node: from, .. }) => rename(from),
                Operation::Pair(_, left, right) => [left, right].into_iter().for_each(rename),
                Operation::Whole(parts) => parts.iter_mut().for_each(|part| rename(&mut part.node)),
                Operation::Site(_, weights) => {
                    weights.now.iter_mut().chain(&mut weights.then).for_each(rename);
                }
            }
        }
        for block in &mut self.blocks {
            let own = Arc::make_mut(block);
            own.natural.iter_mut().chain(&mut own.prior).chain(&mut own.weight).for_each(rename);
            let Some(ascent) = &mut own.ascent else { continue };
            ascent.objective.iter_mut().chain(ascent.tight.iter_mut().flatten()).for_each(rename);
            ascent.gradient.iter_mut().chain(&mut ascent.curvature).flatten().for_each(rename);
        }
        for site in self.sites.iter_mut().flatten() {
            let own = Arc::make_mut(site);
            rename(&mut own.weight);
            let left_out = own.own.iter_mut().flatten().flatten();
            left_out.for_each(|own| own.rename(&mut |node| rename(node)));
            for addend in &mut own.addends {
                addend.offset.iter_mut().for_each(rename);
                addend.single.iter_mut().for_each(|single| rename(&mut single.factor));
                for mode in &mut addend.modes {
                    [&mut mode.factor, &mut mode.log_factor].into_iter().for_each(rename);
                }
            }
        }
        self.elbo.iter_mut().for_each(rename);
        self.opened.iter_mut().for_each(|opened| rename(&mut opened.node));
    }
}
