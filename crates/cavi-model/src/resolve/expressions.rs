//! Expressions with their names resolved; deterministic names are expanded as they are met.

use cavi_algebra::{ArrayId, ArrayKind, Comparison, Expression, Function, LetterId, Support};
use cavi_families::covariance::KERNELS;
use cavi_syntax::ast::{self, BinaryOperator, ExpressionKind};
use cavi_syntax::{Diagnostic, Span, cut_off_by_name, nearest, print_expression, print_reference};

use super::declarations::State;
use super::elsewhere::function_elsewhere;
use super::entries::{Apart, over_entries};
use super::inverses::MATRIX_FUNCTIONS;
use super::names::join;
use super::places::{Bound, CONSTANT, DERIVED, How, INVERSE, START, Scope};
use super::substitute::{Binding, substitute};
use super::{Named, Resolver};
use crate::print::expression;

/// Whether programs may call a function of this name.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name() == name) || MATRIX_FUNCTIONS.contains(&name)
}

/// The functions that a program may call.
const FUNCTIONS: &[Function] = &[
    Function::Exp,
    Function::Log,
    Function::Sqrt,
    Function::Logistic,
    Function::Softplus,
    Function::LogGamma,
    Function::Phi,
    Function::InversePhi,
    Function::StandardNormalLogCdf,
    Function::StandardNormalLogCcdf,
    Function::StandardNormalLogQf,
];

/// The most parts that expanded definitions may write into a program.
const LARGEST: usize = 500_000;

/// The depth that an expanded definition may have, since later stages walk it recursively.
const DEEPEST: usize = 600;

impl Resolver<'_> {
    /// Resolves an expression; `None` where a mistake was found in it (and reported).
    pub fn expression(&mut self, scope: &mut Scope, expression: &ast::Expression) -> Option<Expression> {
        let resolved = self.unchecked_expression(scope, expression)?;
        // A part without a finite value is reported once, at its place. Expressions that contain it are not resolved.
        let computed =
            !matches!(expression.kind, ExpressionKind::Reference(_) | ExpressionKind::Indicator(..));
        if computed
            && let Some(value) = self.known_number(&resolved)
            && !value.is_finite()
        {
            let text = print_expression(expression);
            let found = if value.is_nan() { "is not a number" } else { "is infinite" };
            let help = match &expression.kind {
                ExpressionKind::Number(..) => "numbers go up to about 1e308",
                _ => "every constant part of an expression has a finite value: mend the numbers in it",
            };
            self.report(
                Diagnostic::error("E0518", format!("`{text}` {found}"))
                    .at(expression.span, "has no finite value")
                    .help(help),
            );
            return None;
        }
        Some(resolved)
    }

    fn unchecked_expression(
        &mut self,
        scope: &mut Scope,
        expression: &ast::Expression,
    ) -> Option<Expression> {
        match &expression.kind {
            ExpressionKind::Number(value, _) => Some(Expression::Number(*value)),
            ExpressionKind::Reference(reference) => self.reference(scope, reference),
            ExpressionKind::Negate(inner) => Some(match self.expression(scope, inner)? {
                Expression::Number(value) => Expression::Number(-value),
                value => product(Expression::Number(-1.0), value),
            }),
            ExpressionKind::Binary(operator, left, right) => {
                // Both sides are resolved before an error of one is returned, so that mistakes of both are reported.
                let before = scope.beside.take();
                let multiplies = *operator == BinaryOperator::Multiply;
                scope.beside = bare_name(right).filter(|_| multiplies);
                let first = self.expression(scope, left);
                scope.beside = bare_name(left).filter(|_| multiplies);
                let second = self.expression(scope, right);
                scope.beside = before;
                let ((first, left), (second, right)) = ((left, first?), (right, second?));
                if *operator == BinaryOperator::Divide && self.divides_by_zero(first, &left, second, &right) {
                    return None;
                }
                Some(match operator {
                    BinaryOperator::Add => total(left, right),
                    BinaryOperator::Subtract => total(left, negative(right)),
                    BinaryOperator::Multiply => product(left, right),
                    BinaryOperator::Divide => {
                        let inverse = Expression::Power(Box::new(right), Box::new(Expression::Number(-1.0)));
                        product(left, inverse)
                    }
                    BinaryOperator::Power => Expression::Power(Box::new(left), Box::new(right)),
                })
            }
            ExpressionKind::Call(name, arguments) => self.call(scope, name, arguments),
            ExpressionKind::Sum(letters, body) => self.sum(scope, letters, body),
            ExpressionKind::Indicator(comparison, left, right) => {
                self.indicator(scope, *comparison, left, right)
            }
        }
    }

    /// Reports a quotient of what is not known by what is 0 by the text. A quotient of numbers has a value, or none.
    fn divides_by_zero(
        &mut self,
        above: &ast::Expression,
        left: &Expression,
        below: &ast::Expression,
        right: &Expression,
    ) -> bool {
        if self.known_number(right) != Some(0.0) || self.known_number(left).is_some() {
            return false;
        }
        let message = match &below.kind {
            ExpressionKind::Number(..) => "a division by 0".to_owned(),
            _ => format!("`{}` is 0, and is divided by", print_expression(below)),
        };
        self.report(
            Diagnostic::error("E0706", message)
                .at(below.span, "is 0")
                .also(above.span, "is divided by it")
                .help("write what is not 0 by its form: no difference of equal parts, no product with 0"),
        );
        true
    }

    fn indicator(
        &mut self,
        scope: &mut Scope,
        comparison: ast::Comparison,
        left: &ast::Name,
        right: &ast::Name,
    ) -> Option<Expression> {
        let comparison = match comparison {
            ast::Comparison::Equal => Comparison::Equal,
            ast::Comparison::Different => Comparison::Different,
            ast::Comparison::Less => Comparison::Less,
        };
        let (first, second) = (self.letter(left), self.letter(right));
        let (first, second) = (first?, second?);
        let (one, other) = (self.symbols.letter(first).axis, self.symbols.letter(second).axis);
        if one != other {
            let (one, other) = (self.symbols.axis(one).name.clone(), self.symbols.axis(other).name.clone());
            self.report(
                Diagnostic::error(
                    "E0312",
                    format!("`[{} {} {}]` compares two axes", left.text, comparison.sign(), right.text),
                )
                .at(right.span, format!("a letter of `{other}`"))
                .also(left.span, format!("a letter of `{one}`"))
                .help(format!(
                    "compare two letters of one axis: `axis {one}[{}, {}]`",
                    left.text, right.text
                )),
            );
            return None;
        }
        let first = self.bound_letter(scope, first, left.span);
        let second = self.bound_letter(scope, second, right.span);
        Some(Expression::Indicator(comparison, first?, second?))
    }

    fn call(
        &mut self,
        scope: &mut Scope,
        name: &ast::Name,
        arguments: &[ast::Argument],
    ) -> Option<Expression> {
        let function = FUNCTIONS.iter().copied().find(|function| function.name() == name.text);
        let of_matrix = MATRIX_FUNCTIONS.contains(&name.text.as_str());
        if function.is_none() && !of_matrix {
            self.unknown_function(name);
            return None;
        }
        let [argument] = arguments else {
            self.report(
                Diagnostic::error(
                    "E0517",
                    format!("`{}` takes one argument, and {} are found", name.text, arguments.len()),
                )
                .at(name.span, "expected one argument"),
            );
            return None;
        };
        if let Some(unexpected) = &argument.name {
            self.report(
                Diagnostic::error("E0517", format!("`{}` takes its argument without a name", name.text))
                    .at(unexpected.span, "a name where none is expected")
                    .help(format!("write `{}(...)`", name.text)),
            );
            return None;
        }
        let Some(function) = function else { return self.matrix_function(scope, name, &argument.value) };
        // Other functions of a whole vector or matrix are taken element by element.
        let value = self.expression(scope, &argument.value)?;
        Some(Expression::Apply(function, Box::new(value)))
    }

    fn unknown_function(&mut self, name: &ast::Name) {
        let of_numbers = FUNCTIONS.iter().map(|function| function.name());
        let names: Vec<&str> = of_numbers.chain(MATRIX_FUNCTIONS.iter().copied()).collect();
        let possible = format!("functions: {}", join(&names));
        let diagnostic = if KERNELS.iter().any(|kernel| kernel.name == name.text) {
            Diagnostic::error("E0209", format!("`{}` is a kernel, not a function", name.text))
                .at(name.span, "a kernel is what a Gaussian process is given")
                .possible(possible)
                .help(format!(
                    "write `d[:i] ~ GaussianProcess({}(...), at = t[i])`, with `point d` in `posterior`",
                    name.text
                ))
        } else if cavi_families::family(&name.text).is_some() {
            Diagnostic::error("E0209", format!("`{}` is a family, not a function", name.text))
                .at(name.span, "a family stands right after `~`")
                .possible(possible)
                .help(format!(
                    "give the variable a statement of its own: `v ~ {}(...)`, and write `v` here",
                    name.text
                ))
        } else {
            let diagnostic = Diagnostic::error("E0209", format!("there is no function `{}`", name.text))
                .at(name.span, "unknown function")
                .possible(possible);
            let near =
                nearest(&name.text, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            let cut = cut_off_by_name(&name.text).map(|cut| cut.advice("x"));
            match function_elsewhere(&name.text).map(str::to_owned).or(cut).or(near) {
                Some(help) => diagnostic.help(help),
                None if self.names.contains_key(&name.text) => {
                    diagnostic.help(format!("subscripts have square brackets: `{}[...]`", name.text))
                }
                None => diagnostic.help("build it from these, sums, products and powers"),
            }
        };
        self.report(diagnostic);
    }

    /// `sum[a, b](body)`
    fn sum(
        &mut self,
        scope: &mut Scope,
        letters: &[ast::Name],
        body: &ast::Expression,
    ) -> Option<Expression> {
        let before = scope.bound.len();
        let mut failed = false;
        let mut named = Vec::new();
        for name in letters {
            let Some(letter) = self.letter(name) else {
                failed = true;
                continue;
            };
            if let Some(bound) = scope.find(letter).filter(|bound| bound.how != How::Unbound) {
                let (first, how) = (bound.span, bound.how);
                let place = match how {
                    How::Left | How::LeftSlice => "on the left",
                    How::Sum | How::Unbound => "summed here",
                    How::Own => "the slice of this argument",
                };
                let fixed = match how {
                    How::Left | How::LeftSlice => "by the left",
                    How::Sum | How::Unbound | How::Own => "around it",
                };
                let other = self.other_letter(scope, letter);
                let help = format!("drop `sum[{0}]`: `{0}` is fixed {fixed}; or {other}", name.text);
                self.report(
                    Diagnostic::error("E0304", format!("the letter `{}` is bound already", name.text))
                        .at(name.span, "summed")
                        .also(first, place)
                        .possible("a summed letter stands neither on the left nor in a sum around it")
                        .help(help),
                );
                failed = true;
                continue;
            }
            if named.iter().any(|(other, _)| *other == letter) {
                self.report(
                    Diagnostic::error("E0304", format!("the letter `{}` is summed twice", name.text))
                        .at(name.span, "the second time")
                        .help("drop one"),
                );
                failed = true;
                continue;
            }
            named.push((letter, name.span));
        }
        // Ancestors first: a ragged letter runs inside one that is bound by then.
        let depth = |resolver: &Self, letter| {
            let axis = resolver.symbols.letter(letter).axis;
            resolver.ancestors(axis).len()
        };
        let mut order = named.clone();
        order.sort_by_key(|(letter, _)| depth(self, *letter));
        let mut actual_of = Vec::new();
        for (letter, span) in order {
            let Some(actual) = self.bind_summed(scope, letter, span, body) else {
                failed = true;
                continue;
            };
            actual_of.push((letter, actual));
        }
        let lenient = scope.lenient;
        scope.lenient |= failed;
        let span = body.span;
        let body = self.expression(scope, body);
        scope.lenient = lenient;
        scope.bound.truncate(before);
        if failed {
            return None;
        }
        let sums = named
            .iter()
            .filter_map(|(letter, _)| actual_of.iter().find(|(other, _)| other == letter))
            .map(|(_, actual)| *actual)
            .collect();
        over_entries(&self.symbols, sums, body?).map_err(|apart| self.never_together(apart, span)).ok()
    }

    /// Two elements that one addend of a sum reads, of which one exists only where the other does not.
    fn never_together(&mut self, apart: Apart, span: Span) {
        let name = self.symbols.array(apart[0].0).name.clone();
        let [one, other] =
            apart.map(|(array, subscripts)| expression(&self.symbols, &Expression::Value(array, subscripts)));
        let message = format!("no term of this sum exists: it reads `{one}` and `{other}`");
        self.report(Diagnostic::error("E0524", message).at(span, "these are never there together").help(
            format!(
                "take a sum of two terms, of which each reads one of them, or declare `{name}` without the restriction"
            ),
        ));
    }

    /// Binds a summed letter; a ragged one runs inside the letter before which it stands in the body.
    fn bind_summed(
        &mut self,
        scope: &mut Scope,
        letter: LetterId,
        span: Span,
        body: &ast::Expression,
    ) -> Option<LetterId> {
        let axis = self.symbols.letter(letter).axis;
        let mut parent = None;
        if let Some(parent_axis) = self.symbols.axis(axis).parent {
            let name = self.symbols.letter(letter).name.clone();
            let written = self.parent_in(body, &name, parent_axis);
            let declared = self.symbols.letter(letter).parent;
            let any =
                scope.bound.iter().rev().find(|bound| self.symbols.letter(bound.named).axis == parent_axis);
            let found = written
                .and_then(|letter| scope.find(letter))
                .or_else(|| declared.and_then(|letter| scope.find(letter)))
                .or(any);
            match found {
                Some(bound) => parent = Some(bound.actual),
                None if scope.lenient => return None,
                None => {
                    let above = self.ancestors(axis).join(", ");
                    let parent_name = self.symbols.axis(parent_axis).name.clone();
                    self.report(
                        Diagnostic::error("E0305", format!("`{name}` is summed without its ancestor"))
                            .at(
                                span,
                                format!(
                                    "`{name}` is ragged in `{parent_name}`, and none of its letters is bound"
                                ),
                            )
                            .help(format!(
                                "sum over both, `sum[{above}, {name}](...)`, or let the left hold `{above}`"
                            )),
                    );
                    return None;
                }
            }
        }
        let mut actual = match parent {
            Some(parent) => self.inside(letter, parent),
            None => letter,
        };
        if scope.holds(actual) {
            actual = self.symbols.fresh(letter, parent);
        }
        scope.bound.push(Bound { named: letter, actual, how: How::Sum, span });
        Some(actual)
    }

    /// The element that a reference in an expression stands for.
    fn reference(&mut self, scope: &mut Scope, reference: &ast::Reference) -> Option<Expression> {
        match self.look_up_in(scope, reference)? {
            Named::Axis(_) => {
                let name = &reference.name.text;
                self.report(
                    Diagnostic::error("E0215", format!("`{name}` is an axis, not a variable"))
                        .at(reference.span, "expected an array")
                        .help(format!(
                            "the size of an axis is `sum[letter](1)`; `{name}` itself has no value"
                        )),
                );
                None
            }
            Named::Array(id) => {
                self.facts[id.index()].used = true;
                self.facts[id.index()].read = true;
                self.check_latent_allowed(scope, id, reference.span)?;
                self.check_number(scope, id, reference)?;
                let shape = self.shapes[id.index()].clone()?;
                let subscripts = self.subscripts(scope, reference, &shape)?;
                Some(Expression::Value(id, Self::fold(&shape, subscripts)))
            }
            Named::Definition(index) => {
                self.definitions[index].used = true;
                let value = self.definition(index);
                let shape = self.definitions[index].shape.clone()?;
                let subscripts = self.subscripts(scope, reference, &shape)?;
                let value = value?;
                let within = self.expanded <= LARGEST;
                self.expanded = self.expanded.saturating_add(self.definitions[index].size);
                if self.expanded > LARGEST {
                    if within {
                        self.too_large(&reference.name);
                    }
                    return None;
                }
                if scope.known_only.is_some() {
                    let mut read = Vec::new();
                    value.visit_values(&mut |id, _| read.push(id));
                    for id in read {
                        self.check_latent_allowed(scope, id, reference.span)?;
                    }
                }
                let bindings: Vec<Binding> = shape
                    .slots
                    .iter()
                    .zip(subscripts)
                    .map(|(slot, by)| Binding { letter: slot.letter, by })
                    .collect();
                match substitute(&mut self.symbols, scope, &value, &bindings) {
                    Ok(value) => Some(value),
                    Err(letter) => {
                        let letter = self.symbols.letter(letter).name.clone();
                        let message =
                            format!("`{}` has no value where `{letter}` is an index", reference.name.text);
                        self.report(
                            Diagnostic::error("E0316", message)
                                .at(
                                    reference.span,
                                    format!("its definition needs the letter `{letter}` itself"),
                                )
                                .also(self.definitions[index].name.span, "defined here")
                                .help("use letters here, or write the expression out"),
                        );
                        None
                    }
                }
            }
        }
    }

    /// The value of a definition over its own letters.
    pub fn definition(&mut self, index: usize) -> Option<Expression> {
        match &self.definitions[index].state {
            State::Done(value) => return value.clone(),
            State::Underway => return None,
            State::Waiting => {}
        }
        self.definitions[index].state = State::Underway;
        let definition = &self.definitions[index];
        let mut scope = Scope::new(definition.bound.clone(), format!("`{}`", definition.name.text));
        scope.lenient = definition.shape.is_none();
        let value = definition.value;
        let mut value = self.expression(&mut scope, value);
        if value.as_ref().is_some_and(|value| depth(value) > DEEPEST) {
            let name = self.definitions[index].name.clone();
            self.too_large(&name);
            value = None;
        }
        self.definitions[index].size = value.as_ref().map_or(0, size);
        self.definitions[index].state = State::Done(value.clone());
        value
    }

    fn too_large(&mut self, name: &ast::Name) {
        self.report(
            Diagnostic::error(
                "E0219",
                format!("the program grows too large where `{}` is written out", name.text),
            )
            .at(name.span, "names that hold names, each expanded")
            .help("shorten the definitions, or make part of them constants"),
        );
    }

    /// An index is no number, and neither is a multiplicity.
    fn check_number(&mut self, scope: &Scope, id: ArrayId, reference: &ast::Reference) -> Option<()> {
        let name = self.symbols.array(id).name.clone();
        let span = reference.span;
        let support = self.support(id)?;
        match support {
            Support::Index(axis) => {
                // A latent whose axis is not known yet has a place holder there.
                let known = axis.index() < self.symbols.axes.len();
                let letters = if known { self.letter_names(axis) } else { Vec::new() };
                let letter = letters.first().cloned().unwrap_or_default();
                let axis = if known { self.symbols.axis(axis).name.clone() } else { String::new() };
                let index = print_reference(reference);
                let help = match &scope.beside {
                    Some(factor) => format!(
                        "write `{factor}[{index}]` in place of `{factor} * {index}`, and state `{factor}[{letter}]`"
                    ),
                    None => {
                        let effect = self.free_name(&["effect", "level", "value"]);
                        format!(
                            "write `{effect}[{index}]` in its place, with `{effect}[{letter}] ~ Normal(0, sd = 1)`: one number for each position of `{axis}`"
                        )
                    }
                };
                self.report(
                    Diagnostic::error("E0515", format!("`{name}` is an index of `{axis}`, not a number"))
                        .at(span, "used as a number")
                        .possible("an index stands in subscripts")
                        .help(help),
                );
                None
            }
            Support::Multiplicity => {
                self.report(
                    Diagnostic::error("E0516", format!("`{name}` is a multiplicity, not a number"))
                        .at(span, "used as a number")
                        .possible(
                            "a multiplicity weights by itself every term whose plates include its letters",
                        )
                        .help("for a number of the expression declare it `nonnegative` or `count`"),
                );
                None
            }
            Support::Real
            | Support::Positive
            | Support::Nonnegative
            | Support::Unit
            | Support::Count
            | Support::Binary
            | Support::Simplex
            | Support::PositiveDefinite => Some(()),
        }
    }

    /// Where only what is known may stand, a latent is an error.
    pub fn check_latent_allowed(&mut self, scope: &Scope, id: ArrayId, span: Span) -> Option<()> {
        let array = self.symbols.array(id);
        let Some(what) = scope.known_only.filter(|_| array.kind == ArrayKind::Latent) else {
            return Some(());
        };
        let name = array.name.clone();
        let shape = self.shapes[id.index()].clone();
        let spelled = shape.map_or(name.clone(), |shape| self.spell(&name, &shape));
        let help = match what {
            INVERSE if array.support == Support::PositiveDefinite && scope.capacity == 2 => {
                format!("write `prec = {name}`: a latent matrix is itself the precision")
            }
            CONSTANT => {
                format!(
                    "for an expression of latents write {} = ...`, without `const`",
                    scope.what.trim_end_matches('`')
                )
            }
            DERIVED => {
                format!(
                    "for an expression of latents write {} = ...`, without `data`",
                    scope.what.trim_end_matches('`')
                )
            }
            START => "write constants or data: a start is computed before any latent has a value".to_owned(),
            _ => format!(
                "make it a constant: `const {spelled}` in place of its `~` statement (and of a line `point {name}`), with its value from the text or `--set`; or use data"
            ),
        };
        self.report(
            Diagnostic::error("E0216", format!("the latent `{name}` stands in {what}"))
                .at(span, "its value is not known beforehand")
                .possible(format!("constants and data: {what} holds no latents"))
                .help(help),
        );
        None
    }

    /// How to get a second letter of the axis of `letter`, for a sum.
    fn other_letter(&self, scope: &Scope, letter: LetterId) -> String {
        let axis = self.symbols.letter(letter).axis;
        let letters = self.symbols.axis(axis).letters.iter();
        let free = letters.filter(|own| **own != letter).find(|own| scope.find(**own).is_none());
        if let Some(free) = free {
            return format!("sum over `{}`, the other letter of the axis", self.symbols.letter(*free).name);
        }
        let names = self.letter_names(axis).join(", ");
        let fresh = self.free_letter();
        format!(
            "sum over another letter, declared by `axis {}[{names}, {fresh}]`",
            self.symbols.axis(axis).name
        )
    }
}

/// A factor that is a name without subscripts.
fn bare_name(factor: &ast::Expression) -> Option<String> {
    match &factor.kind {
        ExpressionKind::Reference(reference) if reference.subscripts.is_none() => {
            Some(reference.name.text.clone())
        }
        _ => None,
    }
}

/// A sum, nested sums taken in.
fn total(left: Expression, right: Expression) -> Expression {
    let mut parts = match left {
        Expression::Add(parts) => parts,
        other => vec![other],
    };
    match right {
        Expression::Add(inner) => parts.extend(inner),
        other => parts.push(other),
    }
    Expression::Add(parts)
}

/// A product, nested products taken in.
fn product(left: Expression, right: Expression) -> Expression {
    let mut parts = match left {
        Expression::Multiply(parts) => parts,
        other => vec![other],
    };
    match right {
        Expression::Multiply(inner) => parts.extend(inner),
        other => parts.push(other),
    }
    Expression::Multiply(parts)
}

fn negative(expression: Expression) -> Expression {
    match expression {
        Expression::Number(value) => Expression::Number(-value),
        other => product(Expression::Number(-1.0), other),
    }
}

/// The number of parts of an expression.
fn size(expression: &Expression) -> usize {
    match expression {
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => 1,
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            1 + size(body)
        }
        Expression::Add(parts) | Expression::Multiply(parts) => 1 + parts.iter().map(size).sum::<usize>(),
        Expression::Power(base, exponent) => 1 + size(base) + size(exponent),
    }
}

/// A product of sums that would be multiplied out into more products than this is refused.
const MOST_OPENED: f64 = 128.0;

/// Whether products of sums in it open into too many products.
pub fn opens_too_far(expression: &Expression) -> bool {
    opened(expression).is_none()
}

/// The number of products that an expression opens into; `None` where products of sums make it too many.
fn opened(expression: &Expression) -> Option<f64> {
    let within = |count: f64| (count <= MOST_OPENED).then_some(count);
    match expression {
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => Some(1.0),
        Expression::Sum(_, body) => opened(body),
        // What a function takes stays inside it.
        Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => opened(body).map(|_| 1.0),
        Expression::Add(parts) => parts.iter().map(opened).sum(),
        Expression::Multiply(parts) => {
            let counts: Vec<f64> = parts.iter().map(opened).collect::<Option<_>>()?;
            let several = counts.iter().filter(|count| **count > 1.0).count();
            let product = counts.iter().product();
            if several > 1 { within(product) } else { Some(product) }
        }
        Expression::Power(base, exponent) => {
            let count = opened(base)?;
            match **exponent {
                Expression::Number(power) if count > 1.0 && power > 1.0 => within(count.powf(power)),
                _ => Some(count),
            }
        }
    }
}

/// How many levels an expression has.
fn depth(expression: &Expression) -> usize {
    match expression {
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => 1,
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            1 + depth(body)
        }
        Expression::Add(parts) | Expression::Multiply(parts) => {
            1 + parts.iter().map(depth).max().unwrap_or(0)
        }
        Expression::Power(base, exponent) => 1 + depth(base).max(depth(exponent)),
    }
}
