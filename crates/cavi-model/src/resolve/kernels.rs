//! The covariance of a Gaussian process: kernels with `+` and `*` between them, over the places of a slice.

use cavi_algebra::{Expression, LetterId, Subscript};
use cavi_families::covariance::{KERNELS, Kernel, Pair};
use cavi_families::{Domain, Spelling};
use cavi_syntax::ast::{self, BinaryOperator, ExpressionKind};
use cavi_syntax::{Diagnostic, Span, nearest, print_expression};

use super::arguments::free_letters;
use super::names::join;
use super::places::{Bound, COVARIANCE, PLACES, Scope};
use super::substitute::{Binding, substitute};
use super::{Named, Resolver};
use crate::model::ArgumentSpec;

/// Names that other systems use.
const SYNONYMS: &[(&[&str], &str)] = &[
    (
        &["rbf", "RBF", "se", "gaussian", "exp_quad", "exponentiated_quadratic", "squared_exp"],
        "squared_exponential",
    ),
    (&["matern_32", "matern", "matern12_3"], "matern32"),
    (&["matern_52"], "matern52"),
    (&["ou", "ornstein_uhlenbeck", "matern12", "matern_12", "absolute_exponential"], "exponential"),
    (&["exp_sine_squared", "seasonal", "cosine"], "periodic"),
    (&["noise", "white_noise", "nugget", "jitter"], "white"),
];

impl Resolver<'_> {
    /// Where the points of a slice are: one number for each, or several over a letter of their own.
    pub(super) fn positions(
        &mut self,
        value: &ast::Expression,
        bound: &[Bound],
        left: &[LetterId],
        lenient: bool,
    ) -> Option<ArgumentSpec> {
        let mut scope = Scope::new(bound.to_vec(), PLACES);
        scope.known_only = Some(COVARIANCE);
        scope.lenient = lenient;
        scope.capacity = 1;
        // A bare name is an array over the slice, with its coordinates if it has another dimension.
        if let ExpressionKind::Reference(reference) = &value.kind
            && reference.subscripts.is_none()
            && let Some(Named::Array(id)) = self.names.get(&reference.name.text).copied()
        {
            scope.slices = left.iter().copied().take(1).collect();
            scope.capacity = self.symbols.array(id).letters.len().clamp(1, 2);
        }
        let before = self.diagnostics.len();
        let resolved = self.expression(&mut scope, value)?;
        let [slice] = left else { return None };
        if lenient || self.diagnostics.len() > before {
            return None;
        }
        if !free_letters(&resolved).contains(slice) {
            let axis = self.symbols.axis(self.symbols.letter(*slice).axis).name.clone();
            let letter = self.symbols.letter(*slice).name.clone();
            let help = self.places_along(*slice);
            self.report(
                Diagnostic::error(
                    "E0521",
                    format!("every point has the same place: it does not depend on `{letter}`"),
                )
                .at(value.span, format!("expected a number for each position of `{axis}`"))
                .possible(format!("data or a constant along `{axis}`; left out, the places are 0, 1, ..."))
                .help(help),
            );
            return None;
        }
        let letters = scope.slices.iter().copied().filter(|letter| letter != slice).collect();
        Some(ArgumentSpec { spelling: 0, value: resolved, letters, inverse: None, span: value.span })
    }

    /// The covariance matrix of the points of a slice under a kernel.
    pub(super) fn kernel(
        &mut self,
        value: &ast::Expression,
        bound: &[Bound],
        left: &[LetterId],
        at: Option<&ArgumentSpec>,
        lenient: bool,
    ) -> Option<ArgumentSpec> {
        let mut scope = Scope::new(bound.to_vec(), "the kernel");
        scope.known_only = Some(COVARIANCE);
        scope.lenient = lenient;
        let row = left.first().copied().filter(|_| !lenient);
        let Some(row) = row else {
            // The left side has a mistake. The kernel is checked all the same.
            self.covariance(&mut scope, value, None);
            return None;
        };
        if self.symbols.letter(row).parent.is_some() {
            self.report(
                Diagnostic::error("E0523", "a Gaussian process over a ragged axis is not in this version")
                    .at(value.span, "each group would have a covariance of another size")
                    .help("give each group a variable of its own, or declare the axis without `in`"),
            );
            return None;
        }
        let column = self.column_of(&scope, row);
        let (here, there, coordinates) = match at {
            None => (Expression::Position(row), Expression::Position(column), None),
            Some(at) => {
                let binding = Binding { letter: row, by: Subscript::Letter(column) };
                let there = substitute(&mut self.symbols, &scope, &at.value, &[binding])
                    .expect("a letter stands for a letter");
                (at.value.clone(), there, at.letters.first().copied())
            }
        };
        let pair = Pair { row, column, at: here, other: there, coordinates };
        let covariance = self.covariance(&mut scope, value, Some(&pair))?;
        let letters = vec![row, column];
        Some(ArgumentSpec { spelling: 0, value: covariance, letters, inverse: None, span: value.span })
    }

    /// The covariance of a pair; without one, only what is wrong with the kernel is found.
    fn covariance(
        &mut self,
        scope: &mut Scope,
        value: &ast::Expression,
        pair: Option<&Pair>,
    ) -> Option<Expression> {
        match &value.kind {
            ExpressionKind::Binary(
                operator @ (BinaryOperator::Add | BinaryOperator::Multiply),
                left,
                right,
            ) => {
                if *operator == BinaryOperator::Multiply
                    && let Some((factor, kernel)) =
                        scaled_kernel(left, right).or_else(|| scaled_kernel(right, left))
                {
                    self.no_kernel(factor, Some(kernel));
                    return None;
                }
                let (left, right) = (self.covariance(scope, left, pair), self.covariance(scope, right, pair));
                let both = vec![left?, right?];
                Some(match operator {
                    BinaryOperator::Add => Expression::Add(both),
                    _ => Expression::Multiply(both),
                })
            }
            ExpressionKind::Call(name, arguments) => {
                let Some(kernel) = KERNELS.iter().find(|kernel| kernel.name == name.text) else {
                    self.unknown_kernel(name);
                    return None;
                };
                let given = self.hyperparameters(scope, kernel, name, arguments, pair);
                Some(kernel.covariance(pair?, &given?))
            }
            ExpressionKind::Number(..)
            | ExpressionKind::Reference(_)
            | ExpressionKind::Negate(_)
            | ExpressionKind::Binary(..)
            | ExpressionKind::Sum(..)
            | ExpressionKind::Indicator(..) => {
                self.no_kernel(value, None);
                None
            }
        }
    }

    /// A value for each hyper-parameter, in the order of the kernel.
    fn hyperparameters(
        &mut self,
        scope: &mut Scope,
        kernel: &Kernel,
        name: &ast::Name,
        arguments: &[ast::Argument],
        pair: Option<&Pair>,
    ) -> Option<Vec<Expression>> {
        let mut given: Vec<Option<Expression>> = vec![None; kernel.hyperparameters.len()];
        let mut seen: Vec<Option<Span>> = vec![None; given.len()];
        let mut failed = false;
        let names = || kernel.hyperparameters.iter().map(|own| own.name);
        for argument in arguments {
            let Some(word) = &argument.name else {
                let possible = names().map(|name| format!("`{name} = ...`")).collect::<Vec<_>>().join(", ");
                self.report(
                    Diagnostic::error("E0505", format!("an argument of `{}` needs a name", name.text))
                        .at(argument.value.span, "what this number means is not said")
                        .possible(possible)
                        .help(format!(
                            "write `{} = {}`",
                            kernel.hyperparameters[0].name,
                            print_expression(&argument.value)
                        )),
                );
                failed = true;
                continue;
            };
            let Some(place) = names().position(|name| name == word.text) else {
                let help = match nearest(&word.text, names()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("`{}` takes {}", name.text, join(names())),
                };
                self.report(
                    Diagnostic::error("E0501", format!("`{}` has no argument `{}`", name.text, word.text))
                        .at(word.span, "unknown argument")
                        .possible(format!("arguments: {}", join(names())))
                        .help(help),
                );
                failed = true;
                continue;
            };
            if let Some(before) = seen[place].replace(word.span) {
                self.report(
                    Diagnostic::error("E0502", format!("`{}` of `{}` is given twice", word.text, name.text))
                        .at(word.span, "the second time")
                        .also(before, "the first time")
                        .help("keep one of them"),
                );
                failed = true;
                continue;
            }
            let what = format!("the {} of `{}`", word.text, name.text);
            given[place] = self.hyperparameter(scope, &what, &argument.value, pair);
            failed |= given[place].is_none();
        }
        for (own, (value, seen)) in kernel.hyperparameters.iter().zip(given.iter_mut().zip(&seen)) {
            match own.default {
                Some(default) if seen.is_none() => *value = Some(Expression::Number(default)),
                None if seen.is_none() && !failed => {
                    let span = arguments.last().map_or(name.span, |last| name.span.to(last.value.span));
                    self.report(
                        Diagnostic::error("E0503", format!("`{}` is missing its {}", name.text, own.name))
                            .at(span, format!("needs `{}`", own.name))
                            .help(format!("add `{} = ...`, in the units of `at`", own.name)),
                    );
                    failed = true;
                }
                Some(_) | None => {}
            }
        }
        if failed { None } else { given.into_iter().collect() }
    }

    /// A hyper-parameter: constants and data, greater than 0, the same for all points.
    fn hyperparameter(
        &mut self,
        scope: &mut Scope,
        what: &str,
        value: &ast::Expression,
        pair: Option<&Pair>,
    ) -> Option<Expression> {
        let resolved = self.expression(scope, value)?;
        if let Some(row) = pair.map(|pair| pair.row).filter(|row| free_letters(&resolved).contains(row)) {
            let letter = self.symbols.letter(row).name.clone();
            self.report(
                Diagnostic::error("E0408", format!("{what} is one number for the whole slice"))
                    .at(value.span, format!("depends on `{letter}`, the letter of the slice"))
                    .possible("a kernel has the same hyper-parameters at all points of a slice")
                    .help(format!(
                        "leave `{letter}` out; a covariance of your own is a constant, `cov = S[{letter}, l]`"
                    )),
            );
            return None;
        }
        self.check_domain(what, Spelling::canonical("", Domain::Positive), None, &resolved, value.span)?;
        Some(resolved)
    }

    fn unknown_kernel(&mut self, name: &ast::Name) {
        let names = || KERNELS.iter().map(|kernel| kernel.name);
        let synonym =
            SYNONYMS.iter().find(|(words, _)| words.contains(&name.text.as_str())).map(|(_, meant)| *meant);
        let help = match synonym.or_else(|| nearest(&name.text, names())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "build it from these, or give the matrix: `cov = S[i, l]`".to_owned(),
        };
        self.report(
            Diagnostic::error("E0519", format!("there is no kernel `{}`", name.text))
                .at(name.span, "unknown kernel")
                .possible(format!("kernels: {}", join(names())))
                .help(help),
        );
    }

    /// Reports what stands where a kernel belongs; `scaled` is the kernel that it multiplies.
    fn no_kernel(&mut self, value: &ast::Expression, scaled: Option<String>) {
        let text = print_expression(value);
        let (possible, help) = match (&value.kind, scaled) {
            (_, Some(scaled)) => (
                "kernels with `+` and `*` between them",
                format!("the size of a kernel is its `sd`; for {text} times the covariance: `{scaled}`"),
            ),
            (ExpressionKind::Reference(_), None) => (
                "a kernel, or under the name `cov` a constant matrix",
                format!("for a covariance matrix write `cov = {text}`"),
            ),
            _ => (
                "kernels with `+` and `*` between them",
                "the size of a kernel is its `sd`, a standard deviation: 3 times a covariance has `sd = sqrt(3)`"
                    .to_owned(),
            ),
        };
        self.report(
            Diagnostic::error("E0520", format!("`{text}` is no kernel"))
                .at(value.span, "expected a kernel")
                .possible(possible)
                .help(help),
        );
    }
}

/// A number times a kernel, as the number and the kernel with that size; `None` where the two are something else.
fn scaled_kernel<'a>(
    factor: &'a ast::Expression,
    kernel: &ast::Expression,
) -> Option<(&'a ast::Expression, String)> {
    let ExpressionKind::Call(name, arguments) = &kernel.kind else { return None };
    let number = match &factor.kind {
        ExpressionKind::Number(value, _) => *value > 0.0,
        ExpressionKind::Reference(_) => true,
        _ => false,
    };
    let known = KERNELS.iter().find(|own| own.name == name.text)?;
    if !number || !known.hyperparameters.iter().any(|own| own.name == SIZE) {
        return None;
    }
    let mut size = format!("sqrt({})", print_expression(factor));
    let mut parts = Vec::new();
    for argument in arguments {
        let (name, value) = (argument.name.as_ref()?, print_expression(&argument.value));
        if name.text == SIZE {
            let value = if value.contains(' ') { format!("({value})") } else { value };
            size = format!("{value} * {size}");
        } else {
            parts.push(format!("{} = {value}", name.text));
        }
    }
    parts.push(format!("{SIZE} = {size}"));
    Some((factor, format!("{}({})", name.text, parts.join(", "))))
}

/// The hyper-parameter that is the size of a kernel.
const SIZE: &str = "sd";
