//! What to write in place of a flat prior on an interval, `Uniform(0, 100)`: a prior that its place in the other statements has an update for.

use cavi_families::{Domain, Parameter, Spelling};
use cavi_syntax::{ast, print_expression, print_reference};

use super::mixture_arguments::given;
use super::mixtures::is_name;

/// Where a variable stands.
enum Stands {
    /// Alone as an argument: its spelling, the parameter, and the variable as it is written there.
    Alone(&'static Spelling, &'static Parameter, String),
    /// Within an argument of this spelling.
    Within(&'static Spelling, &'static Parameter),
    /// As a real number that a function takes to others: `exp(a + b * x[n])`.
    Exponent,
    /// By its inverse square, as it is written.
    InverseSquare(String),
}

/// What a flat prior on an interval is, and what to write in its place, by the other statements and the values of definitions; `None` for other
/// distributions, and for shares from 0 to 1.
pub fn in_place_of_interval(
    statement: &ast::Distribution,
    others: &[&ast::Distribution],
    definitions: &[&ast::Expression],
) -> Option<(&'static str, String)> {
    if !["Uniform", "Unif"].iter().any(|name| is_name(name, &statement.family.text)) {
        return None;
    }
    let written = print_reference(&statement.target);
    let name = statement.target.name.text.as_str();
    let subscripts = &written[name.len()..];
    let bounds = given(&["lower", "upper"], &statement.arguments).and_then(|given| {
        let bound = |key: &str| given.iter().find(|(own, _)| *own == key)?.1.parse::<f64>().ok();
        Some((bound("lower")?, bound("upper")?))
    });
    let (middle, half) =
        bounds.map_or((0.0, 10.0), |(lower, upper)| (0.5 * (lower + upper), 0.5 * (upper - lower)));
    let is_share = bounds.is_some_and(|(lower, upper)| lower >= 0.0 && upper <= 1.0);
    let example = if bounds.is_none() { "for example " } else { "" };
    let normal = format!("  {written} ~ Normal({middle}, sd = {half})");
    let precision = |name: &str, subscripts: &str| format!("{name}{subscripts} ~ Gamma(0.1, rate = 0.1)");
    let stands = stands(name, others, definitions);
    if let Some(Stands::InverseSquare(used)) = &stands {
        return Some((
            "a standard deviation is given by its precision",
            format!(
                "write in its place (wide on any scale; then `{name}_prec{subscripts}` in place of `{used}`)\n  {}",
                precision(&format!("{name}_prec"), subscripts)
            ),
        ));
    }
    if let Some(Stands::Alone(spelling, parameter, used)) = &stands
        && let Some(inverse) = parameter.spellings.iter().find(|own| own.name == "prec")
        && spelling.domain == inverse.domain
    {
        let (prec, own) = (inverse.name, spelling.name);
        return Some(match own {
            "sd" => (
                "a standard deviation is given by its precision",
                format!(
                    "write in its place (wide on any scale; then `{prec} = {name}_{prec}{}` in place of `{own} = {used}`)\n  {}",
                    &used[name.len()..],
                    precision(&format!("{name}_{prec}"), subscripts)
                ),
            ),
            "var" => (
                "a variance has an inverse Gamma prior",
                format!("write in its place (wide on any scale)\n  {written} ~ InverseGamma(0.1, 0.1)"),
            ),
            _ => (
                "a precision has a Gamma prior",
                format!("write in its place (wide on any scale)\n  {}", precision(name, subscripts)),
            ),
        });
    }
    let has_precision = |own: &Parameter| own.spellings.iter().any(|own| own.name == "prec");
    let domain = match &stands {
        Some(Stands::Within(spelling, own)) if has_precision(own) && spelling.domain != Domain::Real => None,
        Some(Stands::Alone(spelling, _, _) | Stands::Within(spelling, _)) => Some(spelling.domain),
        Some(Stands::Exponent) => Some(Domain::Real),
        Some(Stands::InverseSquare(_)) | None => None,
    };
    match domain {
        Some(Domain::Real) => Some((
            "what may be any number has a Normal prior",
            format!(
                "write in its place ({example}about the middle of the interval, half its width the sd)\n{normal}"
            ),
        )),
        Some(Domain::Positive | Domain::Nonnegative) if bounds.is_none_or(|(lower, _)| lower >= 0.0) => {
            let mean = if bounds.is_some() { middle } else { 1.0 };
            Some((
                "what is never negative has a Gamma prior",
                format!(
                    "write in its place ({example}with the mean of the interval)\n  {written} ~ Gamma(1, mean = {mean})"
                ),
            ))
        }
        _ if is_share && bounds != Some((0.0, 1.0)) => {
            // The Beta of the same mean and variance: a + b = m (1 - m) / v - 1.
            let sum = middle * (1.0 - middle) / (half * half / 3.0) - 1.0;
            let shape = |share: f64| format!("{:.2}", share * sum);
            Some((
                "what lies between 0 and 1 has a Beta prior",
                format!(
                    "write in its place (of the mean and the spread of the interval)\n  {written} ~ Beta({}, {})",
                    shape(middle),
                    shape(1.0 - middle)
                ),
            ))
        }
        _ if is_share || bounds.is_none() || domain == Some(Domain::Unit) => None,
        _ => Some((
            "a location and a standard deviation have other priors",
            format!(
                "write in its place (a location; a standard deviation is given by its precision, `{}` and `prec = {name}_prec{subscripts}`)\n{normal}",
                precision(&format!("{name}_prec"), subscripts)
            ),
        )),
    }
}

/// Where a variable stands: as an inverse square anywhere, alone as an argument, else within one.
fn stands(name: &str, statements: &[&ast::Distribution], definitions: &[&ast::Expression]) -> Option<Stands> {
    let arguments = statements.iter().flat_map(|own| &own.arguments).map(|own| &own.value);
    let mut all = arguments.chain(definitions.iter().copied());
    if let Some(used) = all.find_map(|value| inverse_square(value, name)) {
        return Some(Stands::InverseSquare(used));
    }
    let mut within = None;
    for statement in statements {
        let Some(family) = cavi_families::family(&statement.family.text) else { continue };
        let mut place = 0;
        for argument in &statement.arguments {
            let parameters = family.parameters();
            let (parameter, word) = match &argument.name {
                Some(word) => {
                    let is_named =
                        |own: &&Parameter| own.spellings.iter().any(|own| own.name == word.text.as_str());
                    (parameters.iter().find(is_named), Some(word.text.as_str()))
                }
                None => {
                    place += 1;
                    (parameters.get(place - 1).filter(|own| own.positional), None)
                }
            };
            let Some(parameter) = parameter else { continue };
            let mut spellings = parameter.spellings.iter();
            let Some(spelling) = spellings.find(|own| word.is_none_or(|word| own.name == word)) else {
                continue;
            };
            match &argument.value.kind {
                ast::ExpressionKind::Reference(used) if used.name.text == name => {
                    return Some(Stands::Alone(spelling, parameter, print_reference(used)));
                }
                _ => {
                    let found = mentions(&argument.value, name, false).map(|in_function| match in_function {
                        true => Stands::Exponent,
                        false => Stands::Within(spelling, parameter),
                    });
                    within = within.or(found);
                }
            }
        }
    }
    within
}

/// Whether an expression reads a variable, and then whether it does within a function.
fn mentions(expression: &ast::Expression, name: &str, in_function: bool) -> Option<bool> {
    match &expression.kind {
        ast::ExpressionKind::Number(..) | ast::ExpressionKind::Indicator(..) => None,
        ast::ExpressionKind::Reference(own) => (own.name.text == name).then_some(in_function),
        ast::ExpressionKind::Negate(inner) | ast::ExpressionKind::Sum(_, inner) => {
            mentions(inner, name, in_function)
        }
        ast::ExpressionKind::Binary(_, left, right) => {
            mentions(left, name, in_function).or_else(|| mentions(right, name, in_function))
        }
        ast::ExpressionKind::Call(_, arguments) => {
            arguments.iter().find_map(|own| mentions(&own.value, name, true))
        }
    }
}

/// The inverse square of a variable in an expression: `s^-2`, `1 / s^2`, `1 / (s * s)`, and `pow(s, -2)` of other languages.
fn inverse_square(expression: &ast::Expression, name: &str) -> Option<String> {
    use ast::BinaryOperator::{Divide, Multiply, Power};
    let is_it = |own: &ast::Expression| matches!(&own.kind, ast::ExpressionKind::Reference(own) if own.name.text == name);
    let is_square = |own: &ast::Expression| match &own.kind {
        ast::ExpressionKind::Binary(Power, base, exponent) => is_it(base) && number(exponent) == Some(2.0),
        ast::ExpressionKind::Binary(Multiply, left, right) => is_it(left) && is_it(right),
        _ => false,
    };
    let (found, inside): (bool, Vec<&ast::Expression>) = match &expression.kind {
        ast::ExpressionKind::Number(..)
        | ast::ExpressionKind::Indicator(..)
        | ast::ExpressionKind::Reference(_) => (false, Vec::new()),
        ast::ExpressionKind::Negate(inner) | ast::ExpressionKind::Sum(_, inner) => (false, vec![inner]),
        ast::ExpressionKind::Binary(operator, left, right) => {
            let found = match operator {
                Power => is_it(left) && number(right) == Some(-2.0),
                Divide => number(left) == Some(1.0) && is_square(right),
                _ => false,
            };
            (found, vec![left, right])
        }
        ast::ExpressionKind::Call(word, arguments) => {
            let found = match arguments.as_slice() {
                [base, exponent] if word.text == "pow" => {
                    is_it(&base.value) && number(&exponent.value) == Some(-2.0)
                }
                _ => false,
            };
            (found, arguments.iter().map(|own| &own.value).collect())
        }
    };
    match found {
        true => Some(print_expression(expression)),
        false => inside.into_iter().find_map(|own| inverse_square(own, name)),
    }
}

/// A number that is written out.
fn number(expression: &ast::Expression) -> Option<f64> {
    match &expression.kind {
        ast::ExpressionKind::Number(value, _) => Some(*value),
        ast::ExpressionKind::Negate(inner) => number(inner).map(|value| -value),
        _ => None,
    }
}
