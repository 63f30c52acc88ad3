//! The resolved model as text: names and letters as declared, arguments under the names the densities are written in.

use std::fmt::Write as _;

use cavi_algebra::{
    ArrayId, ArrayKind, AxisId, Expression, LetterId, MatrixFunction, Subscript, Support, Symbols,
};
use cavi_families::Family;

use crate::model::{ArgumentSpec, BlockKind, Model, ReportSpec, ScheduleItem, ScheduleKind, Start};

/// Prints a resolved model, one line a thing.
pub fn print(model: &Model) -> String {
    let mut out = String::new();
    let symbols = &model.symbols;
    line(&mut out, format_args!("model {}", model.name));
    section(&mut out, "axes");
    for (index, axis) in symbols.axes.iter().enumerate() {
        let letters: Vec<String> = axis.letters.iter().map(|letter| letter_name(symbols, *letter)).collect();
        let mut text = format!("  {}[{}]", axis.name, letters.join(", "));
        if let Some(parent) = axis.parent {
            let inside = axis.letters.first().and_then(|letter| symbols.letter(*letter).parent);
            let letter =
                inside.map_or_else(String::new, |letter| format!("[{}]", letter_name(symbols, letter)));
            let _ = write!(text, " in {}{letter}", symbols.axis(parent).name);
        }
        if let Some(size) = &symbols.axis(AxisId::from(index)).size {
            let _ = write!(text, " = {}", expression(symbols, size));
        }
        line(&mut out, format_args!("{text}"));
    }
    section(&mut out, "arrays");
    for index in 0..symbols.arrays.len() {
        line(&mut out, format_args!("  {}", array(model, ArrayId::from(index))));
    }
    section(&mut out, "statements");
    for statement in &model.statements {
        let symbols = &model.symbols;
        line(
            &mut out,
            format_args!(
                "  {}{} ~ {}",
                element(symbols, statement.target),
                if statement.observed { " (observed)" } else { "" },
                call(symbols, statement.family, &statement.arguments, Some(statement.target))
            ),
        );
    }
    print_blocks(&mut out, model);
    out
}

fn print_blocks(out: &mut String, model: &Model) {
    let symbols = &model.symbols;
    if !model.blocks.is_empty() {
        section(out, "posterior");
    }
    for block in &model.blocks {
        let members: Vec<String> = block
            .members
            .iter()
            .zip(&block.slices)
            .map(|(id, slices)| {
                let letters: Vec<String> = symbols
                    .array(*id)
                    .letters
                    .iter()
                    .map(|letter| {
                        let colon = if slices.contains(letter) { ":" } else { "" };
                        format!("{colon}{}", letter_name(symbols, *letter))
                    })
                    .collect();
                bracketed(&symbols.array(*id).name, &letters)
            })
            .collect();
        let kind = match block.kind {
            BlockKind::Joint => "q",
            BlockKind::Point => "point",
            BlockKind::Fixed => "fixed",
            BlockKind::Implicit => "implicit",
        };
        let by = block.by.as_ref().map_or_else(String::new, |(by, _)| format!(" by {by}"));
        let clamp = if block.clamp { " clamp" } else { "" };
        line(out, format_args!("  {kind} ({}){by}{clamp}", members.join(", ")));
    }
    if !model.init.is_empty() {
        section(out, "init");
    }
    for init in &model.init {
        let target = element(symbols, init.target);
        let text = match &init.start {
            Start::Value(value) => format!("{target} = {}", expression(symbols, value)),
            Start::Draw { family, arguments } => {
                format!("{target} ~ {}", call(symbols, *family, arguments, None))
            }
            Start::FromData { method, data } => format!("{target} = {method}({})", symbols.array(*data).name),
        };
        line(out, format_args!("  {text}"));
    }
    print_fit(out, model);
    if !model.report.is_empty() {
        section(out, "report");
    }
    for report in &model.report {
        let text = match report {
            ReportSpec::Top { count, axis, variable } => {
                format!("top {count} {} in {}", symbols.axis(*axis).name, symbols.array(*variable).name)
            }
            ReportSpec::Heat(variable) => format!("heat {}", symbols.array(*variable).name),
            ReportSpec::Bars { axis, variable } => {
                format!("bars {} in {}", symbols.axis(*axis).name, symbols.array(*variable).name)
            }
            ReportSpec::Curve { axis, variable } => {
                format!("curve {} in {}", symbols.axis(*axis).name, symbols.array(*variable).name)
            }
            ReportSpec::Intervals(variable) => format!("intervals {}", symbols.array(*variable).name),
            ReportSpec::Compare { variable, with } => {
                format!("compare {} with {with}", symbols.array(*variable).name)
            }
            ReportSpec::Image { axis, height, width } => {
                format!("image {} = {height} x {width}", symbols.axis(*axis).name)
            }
        };
        line(out, format_args!("  {text}"));
    }
    print_notation(out, model);
}

fn print_notation(out: &mut String, model: &Model) {
    if !model.notation.is_empty() {
        section(out, "notation");
    }
    for own in &model.notation {
        line(out, format_args!("  {} = {}", own.left(), own.shown()));
    }
}

fn print_fit(out: &mut String, model: &Model) {
    let fit = &model.fit;
    let mut lines: Vec<String> = Vec::new();
    if let Some(items) = &fit.sweep {
        lines.push(format!("sweep {}", schedule(&model.symbols, items)));
    }
    if let Some((tolerance, sweeps)) = fit.stop {
        lines.push(format!("stop when rel_elbo < {tolerance:e} for {sweeps}"));
    }
    for (name, value) in [("restarts", fit.restarts), ("seed", fit.seed), ("sweeps", fit.sweeps)] {
        lines.extend(value.map(|value| format!("{name} = {value}")));
    }
    if fit.accelerate {
        lines.push("accelerate = auto".to_owned());
    }
    lines.extend(fit.allocations.map(|(own, _)| format!("allocations = {}", own.word())));
    lines.extend(fit.batch.iter().map(|(own, _)| match own.shards {
        None => format!("batch {}", own.axis),
        Some(shards) => format!("batch {} in {shards}", own.axis),
    }));
    lines.extend(fit.warmup.iter().map(|(warmup, _)| format!("warmup {warmup}")));
    if !lines.is_empty() {
        section(out, "fit");
    }
    lines.iter().for_each(|text| line(out, format_args!("  {text}")));
}

/// A schedule in the syntax of programs.
fn schedule(symbols: &Symbols, items: &[ScheduleItem]) -> String {
    let each: Vec<String> = items
        .iter()
        .map(|item| {
            let mut text = match &item.kind {
                ScheduleKind::Variable(id) => symbols.array(*id).name.clone(),
                ScheduleKind::Group(inner) => format!("({})", schedule(symbols, inner)),
                ScheduleKind::Sequence(inner) => format!("[{}]", schedule(symbols, inner)),
            };
            if item.reset {
                text.push_str(" reset");
            }
            if item.repeat != 1 {
                let _ = write!(text, " repeat {}", item.repeat);
            }
            text
        })
        .collect();
    each.join(", ")
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    let _ = writeln!(out, "{text}");
}

fn section(out: &mut String, name: &str) {
    let _ = writeln!(out, "\n{name}");
}

fn array(model: &Model, id: ArrayId) -> String {
    let symbols = &model.symbols;
    let array = symbols.array(id);
    let kind = match array.kind {
        ArrayKind::Data => "data",
        ArrayKind::Constant => "const",
        ArrayKind::Latent => "latent",
    };
    let support =
        if model.untyped.contains(&id) { "untyped".to_owned() } else { support(symbols, array.support) };
    let mut text = format!("{kind} {} : {support}", element(symbols, id));
    match (array.absent.zero, array.absent.missing) {
        (false, false) => {}
        (true, false) => text.push_str(", absent = 0"),
        (false, true) => text.push_str(", absent = NA"),
        (true, true) => text.push_str(", absent = 0, NA"),
    }
    for (what, letter) in [("center", array.center), ("scale", array.scale)] {
        if let Some(letter) = letter {
            let _ = write!(text, ", {what} over {}", letter_name(symbols, letter));
        }
    }
    if let Some(restriction) = array.restriction {
        let (left, sign, right) = restriction.parts();
        let _ = write!(text, ", {} {sign} {}", letter_name(symbols, left), letter_name(symbols, right));
    }
    if let Some(value) = &array.value {
        let _ = write!(text, " = {}", expression(symbols, value));
    }
    text
}

pub(crate) fn support(symbols: &Symbols, support: Support) -> String {
    match support {
        Support::Real => "real".to_owned(),
        Support::Positive => "positive".to_owned(),
        Support::Nonnegative => "nonnegative".to_owned(),
        Support::Unit => "unit".to_owned(),
        Support::Count => "count".to_owned(),
        Support::Binary => "binary".to_owned(),
        Support::Simplex => "simplex".to_owned(),
        Support::Index(axis) => format!("index {}", symbols.axis(axis).name),
        Support::Multiplicity => "multiplicity".to_owned(),
        Support::PositiveDefinite => "positive definite".to_owned(),
    }
}

/// A letter's name; a letter that runs inside another parent than the declared one, or was made, has primes.
pub(crate) fn letter_name(symbols: &Symbols, letter: LetterId) -> String {
    let name = &symbols.letter(letter).name;
    let copies = symbols.letters[..letter.index()].iter().filter(|other| other.name == *name).count();
    format!("{name}{}", "'".repeat(copies))
}

fn bracketed(name: &str, letters: &[String]) -> String {
    if letters.is_empty() { name.to_owned() } else { format!("{name}[{}]", letters.join(", ")) }
}

/// An array with its own letters, slices with their colons.
fn element(symbols: &Symbols, id: ArrayId) -> String {
    let array = symbols.array(id);
    let letters: Vec<String> = array
        .letters
        .iter()
        .zip(&array.slice)
        .map(|(letter, slice)| format!("{}{}", if *slice { ":" } else { "" }, letter_name(symbols, *letter)))
        .collect();
    bracketed(&array.name, &letters)
}

/// An array as programs write it: with the ancestors of ragged letters.
pub(crate) fn written(symbols: &Symbols, id: ArrayId) -> String {
    let array = symbols.array(id);
    let dimension = |(letter, slice): (&LetterId, &bool)| {
        let mut names: Vec<String> =
            symbols.lineage(*letter).into_iter().map(|own| letter_name(symbols, own)).collect();
        if *slice {
            names[0].insert(0, ':');
        }
        names.reverse();
        names
    };
    let dimensions: Vec<Vec<String>> = array.letters.iter().zip(&array.slice).map(dimension).collect();
    bracketed(&array.name, &symbols.written(id, &dimensions))
}

/// A family with its arguments; one that has no parameters shows the support of its variable.
fn call(
    symbols: &Symbols,
    family: &dyn Family,
    arguments: &[Option<ArgumentSpec>],
    target: Option<ArrayId>,
) -> String {
    if let (Some(target), true) = (target, family.parameters().is_empty()) {
        return format!("{}({})", family.name(), support(symbols, symbols.array(target).support));
    }
    let each = family.parameters().iter().zip(arguments).filter_map(|(parameter, argument)| {
        let argument = argument.as_ref()?;
        let letters: Vec<String> =
            argument.letters.iter().map(|letter| letter_name(symbols, *letter)).collect();
        let over = if letters.is_empty() { String::new() } else { format!("[:{}]", letters.join(", :")) };
        let name = parameter.spellings[argument.spelling].name;
        Some(format!("{name}{over} = {}", expression(symbols, &argument.value)))
    });
    format!("{}({})", family.name(), each.collect::<Vec<_>>().join(", "))
}

/// An expression with resolved names, as text.
pub fn expression(symbols: &Symbols, value: &Expression) -> String {
    render(symbols, value, 0)
}

/// The strength of the operator around decides about brackets: 0 none, 2 a sum, 3 a product, 4 a power; a value's own is
/// 1 for a sum, 2 a product, 3 a power, 4 what needs none.
fn render(symbols: &Symbols, value: &Expression, around: u8) -> String {
    let (text, own) = match value {
        Expression::Number(number) => (number_text(*number), if *number < 0.0 { 1 } else { 4 }),
        Expression::Value(id, subscripts) => {
            let each: Vec<String> = subscripts.iter().map(|inner| subscript(symbols, inner)).collect();
            (bracketed(&symbols.array(*id).name, &each), 4)
        }
        Expression::Indicator(comparison, left, right) => {
            let [left, right] = [left, right].map(|letter| letter_name(symbols, *letter));
            (format!("[{left} {} {right}]", comparison.sign()), 4)
        }
        Expression::Sum(letters, body) => {
            let letters: Vec<String> = letters.iter().map(|letter| letter_name(symbols, *letter)).collect();
            (format!("sum[{}]({})", letters.join(", "), render(symbols, body, 0)), 4)
        }
        Expression::Add(parts) => {
            let mut text = String::new();
            for (index, part) in parts.iter().enumerate() {
                let (sign, part) = signed(part);
                text.push_str(match (index, sign) {
                    (0, false) => "",
                    (0, true) => "-",
                    (_, false) => " + ",
                    (_, true) => " - ",
                });
                text.push_str(&render(symbols, &part, 2));
            }
            (text, 1)
        }
        Expression::Multiply(parts) => match signed(value) {
            (true, rest) => (format!("-{}", render(symbols, &rest, 2)), 1),
            (false, _) => {
                let each: Vec<String> = parts.iter().map(|part| render(symbols, part, 3)).collect();
                (each.join(" * "), 2)
            }
        },
        Expression::Power(base, exponent) => {
            (format!("{}^{}", render(symbols, base, 4), render(symbols, exponent, 4)), 3)
        }
        Expression::Position(letter) => (format!("position of {}", letter_name(symbols, *letter)), 1),
        Expression::OfMatrix(function, matrix, ..) => {
            let name = match function {
                MatrixFunction::Inverse => "inverse",
                MatrixFunction::Whitening => "whitening",
            };
            (format!("{name}({})", render(symbols, matrix, 0)), 4)
        }
        Expression::Apply(function, argument) => {
            (format!("{}({})", function.name(), render(symbols, argument, 0)), 4)
        }
    };
    if own >= around { text } else { format!("({text})") }
}

/// Whether a minus stands in front, and what follows it.
fn signed(value: &Expression) -> (bool, Expression) {
    match value {
        Expression::Number(number) if *number < 0.0 => (true, Expression::Number(-number)),
        Expression::Multiply(parts) => match parts.as_slice() {
            [Expression::Number(-1.0), rest] => (true, rest.clone()),
            [Expression::Number(-1.0), rest @ ..] => (true, Expression::Multiply(rest.to_vec())),
            _ => (false, value.clone()),
        },
        _ => (false, value.clone()),
    }
}

fn number_text(number: f64) -> String {
    if number != 0.0 && (number.abs() < 1e-4 || number.abs() >= 1e15) {
        format!("{number:e}")
    } else {
        format!("{number}")
    }
}

pub(crate) fn subscript(symbols: &Symbols, value: &Subscript) -> String {
    match value {
        Subscript::Letter(letter) => letter_name(symbols, *letter),
        Subscript::Index(id, inner) => {
            let each: Vec<String> = inner.iter().map(|inner| subscript(symbols, inner)).collect();
            bracketed(&symbols.array(*id).name, &each)
        }
    }
}
