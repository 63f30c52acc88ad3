//! Checks before a fit whether its parameters, and then its plan, fit into the memory that there is.

use cavi_algebra::{LetterId, Mode};
use cavi_files::memory;
use cavi_syntax::Diagnostic;

use crate::prepare::Problem;

/// An error if the parameters alone, of which a fit keeps at least two numbers for each element, need more memory than there
/// is; at the largest variable.
pub(crate) fn refusal(problem: &Problem) -> Option<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let bound = &binding.bound;
    let available = memory::left()? as f64;
    let size = |letter: &LetterId| bound.size_of(&equations.symbols, *letter) as f64;
    let mut largest = (0.0, None);
    let mut total = 0.0;
    for block in equations.blocks.iter().filter(|block| block.mode != Mode::Implicit) {
        let rows: f64 = block.plates.iter().map(size).product();
        let slices = block.slices.iter().map(|letters| letters.iter().map(size).product::<f64>());
        let classes = block.classes.iter().map(size).product::<f64>();
        let elements = rows * slices.sum::<f64>().max(1.0) * classes;
        total += elements;
        if elements > largest.0 {
            largest = (elements, Some(block.members[0]));
        }
    }
    let needed = 2.0 * size_of::<f64>() as f64 * total;
    let array = largest.1.filter(|_| needed > available)?;
    let name = &model.symbols.array(array).name;
    Some(
        Diagnostic::error("E0804", format!("the parameters take {:.1} GB of memory or more", 1e-9 * needed))
            .at(model.array_spans[array.index()], format!("`{name}` has {:.3e} elements", largest.0))
            .possible(memory::left_in_words())
            .help("fewer positions on its axes (`--set AXIS=SIZE`), or a machine with more memory"),
    )
}

/// An error if a run whose plan takes so many bytes needs more than what is left.
pub(crate) fn refusal_of_plan(needed: usize) -> Option<Diagnostic> {
    memory::left().filter(|left| needed > *left)?;
    let message = format!("a sweep of this program over these data takes {} of memory", memory::text(needed));
    Some(Diagnostic::error("E0805", message).possible(memory::left_in_words()).help(
        "fewer positions on an axis (`--set AXIS=SIZE`), `--precision f32`, or more memory; `cavi plan` shows what takes how much. Data that `cavi pack` wrote stay in their \
         file, and `--scratch DIR` keeps what is too large in files",
    ))
}
