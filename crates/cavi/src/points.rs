//! Points on a simplex whose values nothing determines.

use cavi_algebra::{Block, BlockId, Equations, Mode, Support};
use cavi_executor::{Bound, Layout, Parameters, Runner};
use cavi_model::Model;
use cavi_syntax::Diagnostic;

/// The first number of each slice of every point on a simplex; what it takes to see whether a slice has moved.
pub(crate) fn traces(equations: &Equations, bound: &Bound, parameters: &Parameters) -> Vec<Vec<f64>> {
    let firsts = |(block, columns): (&Block, &Vec<Vec<f64>>)| {
        let [member] = block.members.as_slice() else { return Vec::new() };
        let on_simplex = equations.symbols.array(*member).support == Support::Simplex;
        match (block.mode, on_simplex, columns.first()) {
            (Mode::Point, true, Some(values)) => {
                let layout = Layout::new(equations, bound, block, &|_| false);
                let slices = layout.slices_of(0);
                let full = (0..slices.rows).map(|row| slices.row(row)).filter(|row| !row.is_empty());
                full.map(|row| values[row.start]).collect()
            }
            _ => Vec::new(),
        }
    };
    equations.blocks.iter().zip(&parameters.blocks).map(firsts).collect()
}

/// Reports points on a simplex on which neither data nor a prior has an effect, so that they still have the value of
/// the start.
pub(crate) fn undetermined(
    model: &Model,
    equations: &Equations,
    bound: &Bound,
    executor: &mut Runner<'_>,
    start: &[Vec<f64>],
) -> Vec<Diagnostic> {
    let now = traces(equations, bound, executor.parameters());
    let mut found = Vec::new();
    for (index, block) in equations.blocks.iter().enumerate() {
        // Only what has not moved is worth another pass over the data.
        if !start[index].iter().zip(&now[index]).any(|(before, now)| before == now) {
            continue;
        }
        let rows = executor.undetermined(BlockId::from(index));
        if rows > 0 {
            let copies = if rows == 1 { "1 copy".to_owned() } else { format!("{rows} copies") };
            let name = &equations.symbols.array(block.members[0]).name;
            found.push(
                Diagnostic::warning("W0804", format!("{copies} of `{name}` met no data and kept the start"))
                    .at(
                        model.array_spans[block.members[0].index()],
                        "every value of these is as good as any other",
                    )
                    .help("leave out what is empty (a document without words), or give a prior"),
            );
        }
    }
    found
}
