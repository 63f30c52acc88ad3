//! `cavi graph MODEL`: the factor graph.

use crate::arguments::{GraphArguments, GraphFormat};
use crate::failure::Failure;
use crate::{program, terminal};

/// The graph as Graphviz text or as a drawing.
pub fn run(arguments: &GraphArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let compiled = program::compile(&source, &[])?;
    let text = match arguments.format {
        GraphFormat::Dot => compiled.dot(),
        GraphFormat::Svg => compiled.svg(),
        GraphFormat::Tikz => compiled.tikz(),
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    terminal::print(&format!("{text}{end}"))
}
