//! `cavi fmt MODEL`: canonical form.

use std::path::Path;

use crate::arguments::FmtArguments;
use crate::failure::Failure;
use crate::{program, terminal};

/// Prints the program in canonical form, or checks or rewrites the file.
pub fn run(arguments: &FmtArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let (tree, diagnostics) = cavi_syntax::parse(&source.text);
    if diagnostics.iter().any(cavi_syntax::Diagnostic::is_error) {
        let text = program::text_in(&diagnostics, &source.name, &source.text);
        return Err(Failure::Wrong(text + &program::count(&diagnostics)));
    }
    let canonical = cavi_syntax::print(&tree);
    if arguments.check {
        return match first_difference(&source.text, &canonical) {
            None => Ok(()),
            Some(line) => Err(Failure::wrong(format!(
                "`{}` is not in canonical form, from line {line} on; `cavi fmt {} --write` rewrites it",
                source.name, source.name
            ))),
        };
    }
    if !arguments.write {
        return terminal::print(&canonical);
    }
    if !source.is_file {
        return Err(Failure::usage(format!(
            "`{}` is a built-in program; only a file is rewritten",
            source.name
        )));
    }
    if source.text == canonical {
        return Ok(());
    }
    cavi_files::write_text_atomically(Path::new(&source.name), &canonical)
        .map_err(|error| Failure::wrong(error.to_string()))
}

/// The first line, counted from 1, at which two texts differ.
fn first_difference(left: &str, right: &str) -> Option<usize> {
    if left == right {
        return None;
    }
    let same = left.split('\n').zip(right.split('\n')).take_while(|(left, right)| left == right).count();
    Some(same + 1)
}
