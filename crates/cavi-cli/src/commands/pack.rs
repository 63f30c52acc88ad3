//! `cavi pack MODEL --data ... --out FILE`: data in one file that is mapped instead of read.

use cavi_files::memory;

use super::fit;
use crate::arguments::PackArguments;
use crate::failure::Failure;
use crate::{program, terminal};

/// Reads the data, writes the file, and shows the line that binds it.
pub fn run(arguments: &PackArguments) -> Result<(), Failure> {
    let PackArguments { model, inputs, out, quiet } = arguments;
    let source = program::find(model)?;
    let inputs = fit::inputs(inputs)?;
    let compiled = program::open(&source, &inputs, &[])?;
    let packed = cavi::pack::pack(&compiled, &inputs, out)?;
    packed.warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
    if *quiet {
        return Ok(());
    }
    packed.read.iter().for_each(|line| terminal::note(&format!("{line}\n")));
    let bytes = memory::text(usize::try_from(packed.bytes).unwrap_or(usize::MAX));
    let options: Vec<String> =
        packed.names.iter().map(|name| format!("--data {name}={}", out.display())).collect();
    terminal::print(&format!(
        "{bytes} written to {}\nbound by\n  cavi fit {model} {} --out DIR\n",
        out.display(),
        options.join(" ")
    ))
}
