//! Statements for the printer of derivations: names resolved, deterministic names expanded.

use cavi_algebra::MatrixFunction;
use cavi_algebra::print::{Stated, StatedArgument, letters_of};

use crate::model::{Model, Statement};

/// The statements of a model, in the order of its text.
pub fn stated(model: &Model, text: &str) -> Vec<Stated> {
    model.statements.iter().map(|statement| one(model, statement, text)).collect()
}

fn one(model: &Model, statement: &Statement, text: &str) -> Stated {
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
        let target = &model.symbols.array(statement.target).name;
        Some(StatedArgument {
            name,
            value: argument.value.clone(),
            letters: argument.letters.clone(),
            symbol: whitened.then(|| format!("K_{target}")),
        })
    });
    let word = || crate::print::support(&model.symbols, model.symbols.array(statement.target).support);
    Stated {
        target: statement.target,
        letters: letters_of(&model.symbols, statement.target, &statement.plates, &statement.slices),
        family: statement.family.name(),
        arguments: arguments.collect(),
        word: parameters.is_empty().then(word),
        line: 1 + text.bytes().take(statement.span.start).filter(|byte| *byte == b'\n').count(),
    }
}
