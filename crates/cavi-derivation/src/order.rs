//! The default sweep: a variable before its hyper-parameters; then locals before globals; ties in the order of the statements.

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Block, BlockId, Mode};
use cavi_model::Model;

/// The blocks of the default sweep, in order: of those that are no hyper-parameter of a block that is still to come the
/// first local one, else the first. A latent is local if its subscripts hold the first letter of some data array, or of
/// an ancestor of it, else global.
pub fn default_sweep(model: &Model, blocks: &[Block]) -> Vec<BlockId> {
    let symbols = &model.symbols;
    let mut local_axes: Vec<AxisId> = Vec::new();
    for array in symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data) {
        if let Some(first) = array.letters.first() {
            local_axes.extend(symbols.lineage(*first).into_iter().map(|letter| symbols.letter(letter).axis));
        }
    }
    let is_local = |block: &Block| {
        let letters = block.members.iter().flat_map(|member| &symbols.array(*member).letters);
        letters
            .clone()
            .flat_map(|letter| symbols.lineage(*letter))
            .any(|letter| local_axes.contains(&symbols.letter(letter).axis))
    };
    // `b` is a hyper-parameter of `a` where it stands on the right of a's statement.
    let parents = |block: &Block| -> Vec<ArrayId> {
        let mut found = Vec::new();
        for member in &block.members {
            let Some(statement) = model.statement_of(*member) else { continue };
            for argument in statement.arguments.iter().flatten() {
                argument.value.visit_values(&mut |array, _| found.push(array));
            }
        }
        found
    };
    let above: Vec<Vec<ArrayId>> = blocks.iter().map(parents).collect();
    let mut rest: Vec<usize> = (0..blocks.len())
        .filter(|index| matches!(blocks[*index].mode, Mode::Distribution | Mode::Point))
        .collect();
    let mut order: Vec<BlockId> = Vec::new();
    while !rest.is_empty() {
        let is_ready = |candidate: usize| {
            let stands_above = |other: usize| {
                other != candidate
                    && above[other].iter().any(|array| blocks[candidate].members.contains(array))
            };
            !rest.iter().any(|other| stands_above(*other))
        };
        let ready = || (0..rest.len()).filter(|place| is_ready(rest[*place]));
        let next = ready().find(|place| is_local(&blocks[rest[*place]])).or_else(|| ready().next());
        // Statements form no cycle, so that there is always such a block, unless blocks of several members form a
        // cycle: then the first local one.
        let next = next.or_else(|| rest.iter().position(|index| is_local(&blocks[*index]))).unwrap_or(0);
        order.push(BlockId::from(rest.remove(next)));
    }
    order
}
