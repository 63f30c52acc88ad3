//! The default sweep: locals before globals, a variable before its hyper-parameters, ties in the order of the statements.

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Block, BlockId, Mode};
use cavi_model::Model;

/// The blocks of the default sweep, in order. A latent is local if its subscripts hold the first letter of some data
/// array, or of an ancestor of it, else global.
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
    let mut order: Vec<BlockId> = Vec::new();
    for local in [true, false] {
        let mut rest: Vec<usize> = (0..blocks.len())
            .filter(|index| is_local(&blocks[*index]) == local)
            .filter(|index| matches!(blocks[*index].mode, Mode::Distribution | Mode::Point))
            .collect();
        while !rest.is_empty() {
            let ready = rest.iter().position(|candidate| {
                !rest.iter().any(|other| {
                    other != candidate
                        && above[*other].iter().any(|array| blocks[*candidate].members.contains(array))
                })
            });
            // Statements form no cycle, so that there is always such a block, unless blocks of several members form a
            // cycle.
            order.push(BlockId::from(rest.remove(ready.unwrap_or(0))));
        }
    }
    order
}
