//! Starts that nothing reads.
//!
//! The factor that an update gives a block follows from the other blocks alone, unless the update reads an allocation or an auxiliary
//! variable, both of which follow from the block itself too, or the block moves by ascent, or its copies are updated one after another and read
//! each other. So what `init` says of a block is lost if the first sweep comes to it before it comes to any block that reads it: the fit then
//! begins at what the others were drawn from. One block reads another only if the two stand in one statement.

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, Block, BlockId, Equations, Mode, Sum};
use cavi_model::{Model, ScheduleItem, ScheduleKind};
use cavi_syntax::Diagnostic;

use crate::order::parents;

/// A warning for each start that is lost in the program's own sweep.
pub fn lost_starts(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    lost_starts_by(model, equations, &first_sweep(model, equations))
}

/// Whether nothing reads the start of a block where the first sweep comes to the blocks in this order.
pub fn start_is_lost(model: &Model, equations: &Equations, order: &[BlockId], id: BlockId) -> bool {
    let Some(place) = order.iter().position(|own| *own == id) else { return false };
    let block = equations.block(id);
    let is_read = order[..place].iter().any(|other| meet(model, equations.block(*other), block));
    !(reads_itself(block) || is_read || order.len() < 2)
}

/// A warning for each start that is lost where the first sweep comes to the blocks in this order.
pub fn lost_starts_by(model: &Model, equations: &Equations, order: &[BlockId]) -> Vec<Diagnostic> {
    let mut told: BTreeSet<BlockId> = BTreeSet::new();
    let mut warnings = Vec::new();
    for init in &model.init {
        let Some(id) = equations.block_of(init.target) else { continue };
        if !start_is_lost(model, equations, order, id) || !told.insert(id) {
            continue;
        }
        let name = |id: &BlockId| {
            let member = equations.block(*id).members[0];
            model.symbols.array(member).name.clone()
        };
        let others = order.iter().filter(|own| **own != id);
        let after: Vec<String> = others.chain([&id]).map(name).collect();
        let own = &model.symbols.array(init.target).name;
        warnings.push(
            Diagnostic::warning(
                "W0703",
                format!("the start of `{own}` is lost: a sweep updates `{own}` before anything reads it"),
            )
            .at(init.span, "overwritten by its first update, which does not depend on it")
            .help(format!(
                "update `{own}` after what reads it: `fit {{ sweep {} }}`; or start what its update reads",
                after.join(", ")
            )),
        );
    }
    warnings
}

/// The blocks in the order in which the first sweep comes to them.
fn first_sweep(model: &Model, equations: &Equations) -> Vec<BlockId> {
    fn gather(items: &[ScheduleItem], found: &mut Vec<ArrayId>) {
        for item in items {
            match &item.kind {
                ScheduleKind::Variable(array) => found.push(*array),
                ScheduleKind::Group(items) | ScheduleKind::Sequence(items) => gather(items, found),
            }
        }
    }
    let Some(items) = &model.fit.sweep else { return equations.sweep.clone() };
    let (mut arrays, mut order) = (Vec::new(), Vec::new());
    gather(items, &mut arrays);
    for block in arrays.into_iter().filter_map(|array| equations.block_of(array)) {
        if !order.contains(&block) {
            order.push(block);
        }
    }
    order
}

/// Whether the update of a block depends on its own factor.
fn reads_itself(block: &Block) -> bool {
    !matches!(block.mode, Mode::Distribution | Mode::Point)
        || block.ascent.is_some()
        // A bound that is asked for is taken at the old values.
        || block.by.is_some()
        || !block.in_order.is_empty()
        || block.update().any(|sum: &Sum| sum.has_allocation() || sum.has_auxiliary())
}

/// Whether variables of two blocks stand in one statement.
fn meet(model: &Model, one: &Block, other: &Block) -> bool {
    model.statements.iter().any(|statement| {
        let read = parents(statement);
        let holds =
            |block: &Block| read.iter().chain([&statement.target]).any(|own| block.members.contains(own));
        holds(one) && holds(other)
    })
}
