//! The default sweep: a variable before its hyper-parameters; then locals before globals; ties in the order of the statements.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Block, BlockId, Mode};
use cavi_model::{Model, Statement};

/// The variables on the right of a statement, those in subscripts included.
pub fn parents(statement: &Statement) -> Vec<ArrayId> {
    let mut found = Vec::new();
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |array, _| found.push(array));
    }
    found
}

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
    let parents_of = |block: &Block| -> Vec<ArrayId> {
        let statements = block.members.iter().filter_map(|member| model.statement_of(*member));
        statements.flat_map(parents).collect()
    };
    let mut holders: BTreeMap<ArrayId, Vec<usize>> = BTreeMap::new();
    for (index, block) in blocks.iter().enumerate() {
        block.members.iter().for_each(|member| holders.entry(*member).or_default().push(index));
    }
    // The blocks that are hyper-parameters of each.
    let above: Vec<BTreeSet<usize>> = blocks
        .iter()
        .enumerate()
        .map(|(index, block)| {
            let read = parents_of(block);
            let holding = read.iter().filter_map(|array| holders.get(array)).flatten().copied();
            holding.filter(|other| *other != index).collect()
        })
        .collect();
    let local: Vec<bool> = blocks.iter().map(is_local).collect();
    let mut rest: Vec<usize> = (0..blocks.len())
        .filter(|index| matches!(blocks[*index].mode, Mode::Distribution | Mode::Point))
        .collect();
    // Of how many blocks that are still to come each is a hyper-parameter.
    let mut below = vec![0_usize; blocks.len()];
    rest.iter().flat_map(|index| &above[*index]).for_each(|other| below[*other] += 1);
    let mut order: Vec<BlockId> = Vec::new();
    while !rest.is_empty() {
        let ready = || (0..rest.len()).filter(|place| below[rest[*place]] == 0);
        let next = ready().find(|place| local[rest[*place]]).or_else(|| ready().next());
        // Statements form no cycle, so that there is always such a block, unless blocks of several members form a
        // cycle: then the first local one.
        let next = next.or_else(|| rest.iter().position(|index| local[*index])).unwrap_or(0);
        let next = rest.remove(next);
        above[next].iter().for_each(|other| below[*other] -= 1);
        order.push(BlockId::from(next));
    }
    order
}
