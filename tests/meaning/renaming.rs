//! No model is known to the compiler, which is the first law of `crates/README.md`. Renaming every identifier of a
//! program changes labels only.
//!
//! Each program is renamed in its tree (axes, letters, data, constants, latents, deterministic names; families,
//! functions and arguments stay), printed, and compiled again. Then the labels are put back into what the stages made
//! of it. Model and derivation must then print as those of the original, to the letter: same equations, same order of
//! blocks, same sweep. The new names sort the other way round, so that an order that depends on names is noticed.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::Symbols;
use cavi_algebra::print::{Format, derivation};
use cavi_syntax::ast::*;
use cavi_syntax::print;
use cavi_tests::corpus::{Compiled, Text, check_each, compile, examples, models};

/// What a walk over a tree does with each identifier.
type Visit<'a> = &'a mut dyn FnMut(&mut Name);

fn visit_program(program: &mut Program, visit: Visit) {
    for statement in &mut program.statements {
        match &mut statement.kind {
            StatementKind::Model(name) => visit(name),
            StatementKind::Axis(axis) => {
                visit(&mut axis.name);
                axis.letters.iter_mut().for_each(&mut *visit);
                if let Some((parent, letters)) = &mut axis.parent {
                    visit(parent);
                    letters.iter_mut().for_each(&mut *visit);
                }
                axis.size.iter_mut().for_each(|size| visit_expression(size, visit));
            }
            StatementKind::Data(data) => {
                visit(&mut data.name);
                data.letters.iter_mut().for_each(&mut *visit);
                data.data_type.iter_mut().for_each(|data_type| visit_type(data_type, visit));
                data.value.iter_mut().for_each(|value| visit_expression(value, visit));
                data.options.iter_mut().for_each(|option| visit_option(option, visit));
            }
            StatementKind::Const(constant) => {
                visit(&mut constant.name);
                constant.letters.iter_mut().for_each(&mut *visit);
                constant.data_type.iter_mut().for_each(|data_type| visit_type(data_type, visit));
                constant.value.iter_mut().for_each(|value| visit_expression(value, visit));
            }
            StatementKind::Distribution(distribution) => visit_distribution(distribution, visit),
            StatementKind::Definition { target, value } => {
                visit_reference(target, visit);
                visit_expression(value, visit);
            }
            StatementKind::Posterior(block) => {
                block.items.iter_mut().for_each(|item| visit_posterior(&mut item.kind, visit));
            }
            StatementKind::Init(block) => {
                for item in &mut block.items {
                    match &mut item.kind {
                        InitItem::Value { target, value } => {
                            visit_reference(target, visit);
                            visit_expression(value, visit);
                        }
                        InitItem::Draw(distribution) => visit_distribution(distribution, visit),
                    }
                }
            }
            StatementKind::Fit(block) => {
                for item in &mut block.items {
                    match &mut item.kind {
                        FitItem::Sweep(items) => visit_schedule(items, visit),
                        FitItem::Batch { axis, .. } => visit(axis),
                        // Quantities, settings and their words belong to the language.
                        FitItem::Stop { .. } | FitItem::Setting { .. } | FitItem::Warmup(_) => {}
                    }
                }
            }
            StatementKind::Report(block) => {
                for item in &mut block.items {
                    match &mut item.kind {
                        ReportItem::Top { axis, variable, .. }
                        | ReportItem::Bars { axis, variable }
                        | ReportItem::Curve { axis, variable } => {
                            visit(axis);
                            visit_reference(variable, visit);
                        }
                        ReportItem::Heat(variable)
                        | ReportItem::Intervals(variable)
                        | ReportItem::Compare { variable, .. } => visit_reference(variable, visit),
                        ReportItem::Image { axis, .. } => visit(axis),
                        ReportItem::Unknown(_) => {}
                    }
                }
            }
            // Parameters are words of the language; a symbol is one of the page.
            StatementKind::Notation(block) => {
                block.items.iter_mut().for_each(|item| visit(&mut item.kind.variable));
            }
        }
    }
}

fn visit_type(data_type: &mut DataType, visit: Visit) {
    // `real`, `count`, ... are words of the language; the axis after `index` is a name.
    data_type.axis.iter_mut().for_each(visit);
}

fn visit_option(option: &mut DataOption, visit: Visit) {
    match option {
        DataOption::Absent { .. } => {}
        DataOption::Center(letter) | DataOption::Scale(letter) => visit(letter),
        DataOption::Different(left, right) | DataOption::Less(left, right) => {
            visit(left);
            visit(right);
        }
    }
}

fn visit_distribution(distribution: &mut Distribution, visit: Visit) {
    visit_reference(&mut distribution.target, visit);
    for argument in &mut distribution.arguments {
        // `Flat(simplex)`: the word is no name, although it looks like one.
        if distribution.family.text != "Flat" {
            visit_expression(&mut argument.value, visit);
        }
    }
}

fn visit_reference(reference: &mut Reference, visit: Visit) {
    visit(&mut reference.name);
    for subscript in reference.subscripts.iter_mut().flatten() {
        match subscript {
            Subscript::Slice(letter) => visit(letter),
            Subscript::Reference(inner) => visit_reference(inner, visit),
        }
    }
}

fn visit_expression(expression: &mut Expression, visit: Visit) {
    match &mut expression.kind {
        ExpressionKind::Number(..) => {}
        ExpressionKind::Reference(reference) => visit_reference(reference, visit),
        ExpressionKind::Negate(inner) => visit_expression(inner, visit),
        ExpressionKind::Binary(_, left, right) => {
            visit_expression(left, visit);
            visit_expression(right, visit);
        }
        ExpressionKind::Call(_, arguments) => {
            arguments.iter_mut().for_each(|argument| visit_expression(&mut argument.value, visit));
        }
        ExpressionKind::Sum(letters, body) => {
            letters.iter_mut().for_each(&mut *visit);
            visit_expression(body, visit);
        }
        ExpressionKind::Indicator(_, left, right) => {
            visit(left);
            visit(right);
        }
    }
}

fn visit_posterior(item: &mut PosteriorItem, visit: Visit) {
    let members: Vec<&mut Reference> = match item {
        PosteriorItem::Joint(members) | PosteriorItem::Fixed(members) | PosteriorItem::Implicit(members) => {
            members.iter_mut().collect()
        }
        PosteriorItem::Point { blocks, .. } => blocks.iter_mut().flatten().collect(),
    };
    members.into_iter().for_each(|member| visit_reference(member, visit));
}

fn visit_schedule(items: &mut [ScheduleItem], visit: Visit) {
    for item in items {
        match &mut item.kind {
            ScheduleKind::Variable(name) => visit(name),
            ScheduleKind::Group(items) | ScheduleKind::Sequence(items) => visit_schedule(items, visit),
        }
    }
}

/// New names for all identifiers, in the reverse of their alphabetical order.
fn new_names(program: &Program) -> BTreeMap<String, String> {
    let mut names = BTreeSet::new();
    visit_program(&mut program.clone(), &mut |name| {
        names.insert(name.text.clone());
    });
    names.into_iter().rev().enumerate().map(|(index, old)| (old, format!("nn{index:03}"))).collect()
}

/// The label of the original.
fn label<'a>(name: &str, old: &BTreeMap<&str, &'a str>) -> &'a str {
    old.get(name).unwrap_or_else(|| panic!("`{name}` is a name that nobody wrote"))
}

/// An expression with the labels of the original in the place of its names.
fn in_words(text: &str, old: &BTreeMap<&str, &str>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = match in_word(first) {
            true => rest.find(|letter| !in_word(letter)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        out.push_str(old.get(word).copied().unwrap_or(word));
        rest = after;
    }
    out
}

/// Puts the labels of the original back. What starts with no letter is a number that the derivation keeps as a constant.
fn labels_back(symbols: &mut Symbols, old: &BTreeMap<&str, &str>) {
    let back = |name: &mut String| {
        if !name.starts_with(char::is_alphabetic) {
            return;
        }
        // A matrix that is worked out has a name made from those that were written; the whitening matrix of a variable one from
        // that one's.
        if let Some(inside) = name.strip_prefix("C_").and_then(|rest| rest.strip_suffix("'^-1")) {
            *name = format!("C_{}'^-1", label(inside, old));
            return;
        }
        if name.contains(['(', '[']) {
            *name = in_words(name, old);
            return;
        }
        *name = label(name, old).to_owned();
    };
    symbols.axes.iter_mut().for_each(|axis| back(&mut axis.name));
    symbols.letters.iter_mut().for_each(|letter| back(&mut letter.name));
    symbols.arrays.iter_mut().for_each(|array| back(&mut array.name));
}

fn codes(compiled: &Compiled) -> Vec<&'static str> {
    compiled.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

fn check(text: &Text) {
    let original = compile(&text.text);
    assert!(!original.failed(), "{}", original.rendered(&text.name, &text.text));
    let names = new_names(&original.program);
    let mut program = original.program.clone();
    visit_program(&mut program, &mut |name| name.text.clone_from(&names[&name.text]));
    let renamed_text = print(&program);
    let renamed = compile(&renamed_text);
    assert!(!renamed.failed(), "{}", renamed.rendered(&text.name, &renamed_text));
    assert_eq!(codes(&renamed), codes(&original), "{}: other things are said", text.name);

    let old: BTreeMap<&str, &str> = names.iter().map(|(old, new)| (new.as_str(), old.as_str())).collect();
    let mut model = renamed.model.expect("no error was found");
    labels_back(&mut model.symbols, &old);
    model.notation.iter_mut().for_each(|own| own.variable = label(&own.variable, &old).to_owned());
    let original_model = original.model.as_ref().expect("no error was found");
    model.name.clone_from(&original_model.name);
    assert_eq!(cavi_model::print(&model), cavi_model::print(original_model), "{}: another model", text.name);

    let mut equations = renamed.equations.expect("no error was found");
    labels_back(&mut equations.symbols, &old);
    let original_equations = original.equations.as_ref().expect("no error was found");
    equations.name.clone_from(&original_equations.name);
    let standard = cavi_families::standard();
    for format in [Format::Text, Format::Latex] {
        let left = derivation(&equations, &[], &standard, format);
        let right = derivation(original_equations, &[], &standard, format);
        assert_eq!(left, right, "{}: other equations", text.name);
    }
    assert_eq!(equations.sweep, original_equations.sweep, "{}: another sweep", text.name);
}

#[test]
fn a_renamed_model_derives_the_same_equations() {
    check_each(&models(), check);
}

#[test]
fn a_renamed_example_derives_the_same_equations() {
    check_each(&examples(), check);
}
