//! The tree becomes canonical text: two blanks a block, single blanks around binary operators, comments kept.

use std::fmt::Write;

use crate::ast::*;
use crate::tree::{NEGATE, precedence};

/// Prints a program in canonical form. Parsing the result gives the same tree up to places.
///
/// ```
/// let (program, _) = cavi_syntax::parse("beta [k,:v]~Dirichlet( eta )# topics");
/// assert_eq!(cavi_syntax::print(&program), "beta[k, :v] ~ Dirichlet(eta)  # topics\n");
/// ```
pub fn print(program: &Program) -> String {
    let mut printer = Printer { text: String::new() };
    for statement in &program.statements {
        printer.statement(statement);
    }
    printer.comments(&program.trailing_comments, "");
    printer.text
}

/// Prints an expression on one line.
pub fn print_expression(expression: &Expression) -> String {
    let mut text = String::new();
    write_expression(&mut text, expression, 0);
    text
}

/// Prints a name with its subscripts.
pub fn print_reference(reference: &Reference) -> String {
    let mut text = String::new();
    write_reference(&mut text, reference);
    text
}

struct Printer {
    text: String,
}

impl Printer {
    fn comments(&mut self, comments: &[Comment], indent: &str) {
        for comment in comments {
            if comment.blank_before {
                self.text.push('\n');
            }
            self.text.push_str(indent);
            self.text.push_str(&comment_text(&comment.text));
            self.text.push('\n');
        }
    }

    /// A line with the comments above and beside it.
    fn line(&mut self, line: &str, trivia: &Trivia, indent: &str) {
        self.comments(&trivia.above, indent);
        if trivia.blank_before {
            self.text.push('\n');
        }
        self.text.push_str(indent);
        self.text.push_str(line);
        self.beside(trivia.beside.as_deref());
    }

    fn beside(&mut self, beside: Option<&str>) {
        if let Some(comment) = beside {
            self.text.push_str("  ");
            self.text.push_str(&comment_text(comment));
        }
        self.text.push('\n');
    }

    fn statement(&mut self, statement: &Statement) {
        let trivia = &statement.trivia;
        let line = match &statement.kind {
            StatementKind::Model(name) => format!("model {}", name.text),
            StatementKind::Axis(axis) => axis_text(axis),
            StatementKind::Data(data) => data_text(data),
            StatementKind::Const(constant) => const_text(constant),
            StatementKind::Distribution(distribution) => distribution_text(distribution),
            StatementKind::Definition { target, value } => {
                format!("{} = {}", print_reference(target), print_expression(value))
            }
            StatementKind::Posterior(block) => return self.block("posterior", block, trivia, posterior_text),
            StatementKind::Init(block) => return self.block("init", block, trivia, init_text),
            StatementKind::Fit(block) => return self.block("fit", block, trivia, fit_text),
            StatementKind::Report(block) => return self.block("report", block, trivia, report_text),
            StatementKind::Notation(block) => return self.block("notation", block, trivia, notation_text),
        };
        self.line(&line, trivia, "");
    }

    fn block<T>(&mut self, word: &str, block: &Block<T>, trivia: &Trivia, text: impl Fn(&T) -> String) {
        self.line(&format!("{word} {{"), trivia, "");
        for item in &block.items {
            self.line(&text(&item.kind), &item.trivia, "  ");
        }
        self.comments(&block.trailing_comments, "  ");
        self.text.push('}');
        self.beside(block.beside_close.as_deref());
    }
}

fn comment_text(words: &str) -> String {
    // `##` stays what it is.
    if words.is_empty() || words.starts_with('#') { format!("#{words}") } else { format!("# {words}") }
}

// Statements ------------------------------------------------------------------------------------------------------

fn join<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// `[d, v]`, or nothing.
fn letters_text(letters: &[Name]) -> String {
    if letters.is_empty() {
        String::new()
    } else {
        format!("[{}]", join(letters, |letter| letter.text.clone()))
    }
}

fn value_text(value: Option<&Expression>) -> String {
    value.map_or_else(String::new, |value| format!(" = {}", print_expression(value)))
}

fn type_text(data_type: Option<&DataType>) -> String {
    let Some(data_type) = data_type else { return String::new() };
    match &data_type.axis {
        Some(axis) => format!(" : {} {}", data_type.word.text, axis.text),
        None => format!(" : {}", data_type.word.text),
    }
}

fn axis_text(axis: &Axis) -> String {
    let parent = axis.parent.as_ref().map_or_else(String::new, |(parent, letters)| {
        format!(" in {}{}", parent.text, letters_text(letters))
    });
    format!(
        "axis {}{}{parent}{}",
        axis.name.text,
        letters_text(&axis.letters),
        value_text(axis.size.as_ref())
    )
}

fn data_text(data: &Data) -> String {
    let mut text = format!(
        "data {}{}{}{}",
        data.name.text,
        letters_text(&data.letters),
        type_text(data.data_type.as_ref()),
        value_text(data.value.as_ref())
    );
    for option in &data.options {
        text.push_str(", ");
        text.push_str(&match option {
            DataOption::Absent { zero: true, missing: true, .. } => "absent = 0, NA".to_string(),
            DataOption::Absent { zero: true, .. } => "absent = 0".to_string(),
            DataOption::Absent { .. } => "absent = NA".to_string(),
            DataOption::Center(letter) => format!("center over {}", letter.text),
            DataOption::Scale(letter) => format!("scale over {}", letter.text),
            DataOption::Different(left, right) => format!("{} != {}", left.text, right.text),
            DataOption::Less(left, right) => format!("{} < {}", left.text, right.text),
        });
    }
    text
}

fn const_text(constant: &Const) -> String {
    format!(
        "const {}{}{}{}",
        constant.name.text,
        letters_text(&constant.letters),
        type_text(constant.data_type.as_ref()),
        value_text(constant.value.as_ref())
    )
}

fn distribution_text(distribution: &Distribution) -> String {
    let mut text = format!("{} ~ {}", print_reference(&distribution.target), distribution.family.text);
    write_arguments(&mut text, &distribution.arguments);
    text
}

// Items of blocks ---------------------------------------------------------------------------------------------------

fn posterior_text(item: &PosteriorItem) -> String {
    match item {
        PosteriorItem::Joint(members) => format!("q({})", join(members, print_reference)),
        PosteriorItem::Fixed(members) => format!("fixed {}", join(members, print_reference)),
        PosteriorItem::Implicit(members) => format!("implicit {}", join(members, print_reference)),
        PosteriorItem::Point { blocks, by, clamp } => {
            let mut text = format!(
                "point {}",
                join(blocks, |block| match block.as_slice() {
                    [single] => print_reference(single),
                    members => format!("({})", join(members, print_reference)),
                })
            );
            if let Some(bound) = by {
                text.push_str(" by ");
                text.push_str(&bound.text);
            }
            if clamp.is_some() {
                text.push_str(" clamp");
            }
            text
        }
    }
}

fn init_text(item: &InitItem) -> String {
    match item {
        InitItem::Value { target, value } => {
            format!("{} = {}", print_reference(target), print_expression(value))
        }
        InitItem::Draw(distribution) => distribution_text(distribution),
    }
}

fn fit_text(item: &FitItem) -> String {
    match item {
        FitItem::Sweep(items) => format!("sweep {}", schedule_text(items)),
        FitItem::Stop { quantity, tolerance, sweeps } => {
            let sweeps = sweeps.map_or_else(String::new, |sweeps| format!(" for {sweeps}"));
            format!("stop when {} < {}{sweeps}", quantity.text, number_text(*tolerance))
        }
        FitItem::Setting { name, value } => format!("{} = {}", name.text, print_expression(value)),
        FitItem::Batch { axis, shards: None } => format!("batch {}", axis.text),
        FitItem::Batch { axis, shards: Some(shards) } => format!("batch {} in {shards}", axis.text),
        FitItem::Warmup(warmups) => format!("warmup {}", join(warmups, Warmup::to_string)),
    }
}

impl std::fmt::Display for Warmup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warmup::Means(sweeps) => write!(f, "means {sweeps}"),
            Warmup::Collapsed(sweeps) => write!(f, "collapsed {sweeps}"),
            Warmup::Shapes(shape, sweeps) => write!(f, "shapes {} over {sweeps}", number_text(*shape)),
        }
    }
}

fn schedule_text(items: &[ScheduleItem]) -> String {
    join(items, |item| {
        let mut text = match &item.kind {
            ScheduleKind::Variable(name) => name.text.clone(),
            ScheduleKind::Group(members) => format!("({})", schedule_text(members)),
            ScheduleKind::Sequence(members) => format!("[{}]", schedule_text(members)),
        };
        if item.reset {
            text.push_str(" reset");
        }
        if item.repeat != 1 {
            let _ = write!(text, " repeat {}", item.repeat);
        }
        text
    })
}

fn report_text(item: &ReportItem) -> String {
    match item {
        ReportItem::Top { count, axis, variable } => {
            format!("top {count} {} in {}", axis.text, print_reference(variable))
        }
        ReportItem::Heat(variable) => format!("heat {}", print_reference(variable)),
        ReportItem::Image { axis, height, width } => format!("image {} = {height} x {width}", axis.text),
        ReportItem::Bars { axis, variable } => {
            format!("bars {} in {}", axis.text, print_reference(variable))
        }
        ReportItem::Curve { axis, variable } => {
            format!("curve {} in {}", axis.text, print_reference(variable))
        }
        ReportItem::Intervals(variable) => format!("intervals {}", print_reference(variable)),
        ReportItem::Compare { variable, with } => {
            format!("compare {} with {with}", print_reference(variable))
        }
        ReportItem::Unknown(text) => text.clone(),
    }
}

fn notation_text(item: &NotationItem) -> String {
    let parameter = item.parameter.as_ref().map_or_else(String::new, |own| format!(".{}", own.text));
    let squared = if item.squared { "^2" } else { "" };
    format!("{}{parameter} = {}{squared}", item.variable.text, item.symbol.text)
}

/// A number whose own text the tree does not hold, as short as it can be read back.
fn number_text(number: f64) -> String {
    if number == 0.0 || (1e-3..1e15).contains(&number.abs()) {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

// Expressions -------------------------------------------------------------------------------------------------------

fn write_reference(text: &mut String, reference: &Reference) {
    text.push_str(&reference.name.text);
    let Some(subscripts) = &reference.subscripts else { return };
    text.push('[');
    for (index, subscript) in subscripts.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        match subscript {
            Subscript::Slice(letter) => {
                text.push(':');
                text.push_str(&letter.text);
            }
            Subscript::Reference(reference) => write_reference(text, reference),
        }
    }
    text.push(']');
}

fn write_arguments(text: &mut String, arguments: &[Argument]) {
    text.push('(');
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        if let Some(name) = &argument.name {
            text.push_str(&name.text);
            text.push_str(" = ");
        }
        write_expression(text, &argument.value, 0);
    }
    text.push(')');
}

/// Writes an expression where operators that bind less tightly than `least` need brackets.
fn write_expression(text: &mut String, expression: &Expression, least: u8) {
    match &expression.kind {
        ExpressionKind::Number(_, written) => text.push_str(written),
        ExpressionKind::Reference(reference) => write_reference(text, reference),
        ExpressionKind::Negate(operand) => {
            bracketed(text, NEGATE < least, |text| {
                text.push('-');
                write_expression(text, operand, NEGATE);
            });
        }
        ExpressionKind::Binary(operator, left, right) => {
            let binds = precedence(*operator);
            bracketed(text, binds < least, |text| {
                if *operator == BinaryOperator::Power {
                    // `^` groups to the right, and its exponent may carry a minus.
                    write_expression(text, left, binds + 1);
                    text.push('^');
                    let negated = matches!(right.kind, ExpressionKind::Negate(_));
                    write_expression(text, right, if negated { NEGATE } else { binds });
                } else {
                    write_expression(text, left, binds);
                    let _ = write!(text, " {} ", sign(*operator));
                    write_expression(text, right, binds + 1);
                }
            });
        }
        ExpressionKind::Call(name, arguments) => {
            text.push_str(&name.text);
            write_arguments(text, arguments);
        }
        ExpressionKind::Sum(letters, body) => {
            text.push_str("sum");
            text.push_str(&letters_text(letters));
            bracketed(text, true, |text| write_expression(text, body, 0));
        }
        ExpressionKind::Indicator(comparison, left, right) => {
            let sign = match comparison {
                Comparison::Equal => "==",
                Comparison::Different => "!=",
                Comparison::Less => "<",
            };
            let _ = write!(text, "[{} {sign} {}]", left.text, right.text);
        }
    }
}

fn bracketed(text: &mut String, brackets: bool, write: impl FnOnce(&mut String)) {
    if brackets {
        text.push('(');
    }
    write(text);
    if brackets {
        text.push(')');
    }
}

fn sign(operator: BinaryOperator) -> char {
    match operator {
        BinaryOperator::Add => '+',
        BinaryOperator::Subtract => '-',
        BinaryOperator::Multiply => '*',
        BinaryOperator::Divide => '/',
        BinaryOperator::Power => '^',
    }
}
