//! Statements for the printer of derivations: names resolved, deterministic names as the program has them.

use std::sync::Arc;

use cavi_algebra::print::{Defined, Named, Stated, StatedArgument, letters_of};
use cavi_algebra::{MatrixFunction, Symbols};
use cavi_syntax::Span;

use crate::model::{Definition, Model, Statement};

/// The statements of a model, in the order of its text.
pub fn stated(model: &Model, text: &str) -> Vec<Stated> {
    let (symbols, statements) = match &model.as_written {
        Some(written) => (&written.symbols, &written.statements),
        None => (&model.symbols, &model.statements),
    };
    let symbols = Arc::new(symbols.clone());
    statements.iter().map(|statement| one(&symbols, statement, text)).collect()
}

/// The deterministic names of a model, in the order of its text.
pub fn defined(model: &Model, text: &str) -> Vec<Defined> {
    let Some(written) = &model.as_written else { return Vec::new() };
    let symbols = Arc::new(written.symbols.clone());
    let one = |own: &Definition| {
        let written = own.written.as_ref()?;
        Some(Defined {
            target: written.target,
            value: written.value.clone(),
            line: line(text, own.span),
            symbols: Arc::clone(&symbols),
        })
    };
    model.definitions.iter().filter_map(one).collect()
}

/// The deterministic names that formulas are shown in; none of a program that was restated for its data. `symbols` are those of the
/// equations, which begin as the model's do.
pub fn named(model: &Model, symbols: &Symbols) -> Vec<Named> {
    let all = model.definitions.iter().filter(|_| model.as_written.is_some());
    all.filter_map(|own| Named::new(symbols, &own.name, &own.letters, &own.value)).collect()
}

/// The line in which something begins, counted from 1.
fn line(text: &str, span: Span) -> usize {
    1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count()
}

fn one(symbols: &Arc<Symbols>, statement: &Statement, text: &str) -> Stated {
    let parameters = statement.family.parameters();
    let arguments = parameters.iter().zip(&statement.arguments).filter_map(|(parameter, argument)| {
        let argument = argument.as_ref()?;
        let spelling = parameter.spellings[argument.spelling];
        let whitened = spelling.read_as == Some(MatrixFunction::Whitening);
        if statement.family.has_kernel() && !whitened {
            // The places of the points stand in their covariance.
            return None;
        }
        let named = !parameter.positional || argument.spelling > 0;
        let name = if whitened { Some("cov") } else { named.then_some(spelling.name) };
        let target = &symbols.array(statement.target).name;
        Some(StatedArgument {
            name,
            value: argument.value.clone(),
            letters: argument.letters.clone(),
            symbol: whitened.then(|| format!("K_{target}")),
        })
    });
    let word = || crate::print::support(symbols, symbols.array(statement.target).support);
    Stated {
        target: statement.target,
        letters: letters_of(symbols, statement.target, &statement.plates, &statement.slices),
        family: statement.family.name(),
        arguments: arguments.collect(),
        word: parameters.is_empty().then(word),
        line: line(text, statement.span),
        symbols: Arc::clone(symbols),
    }
}
