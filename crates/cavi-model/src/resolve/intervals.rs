//! What to write in place of a flat prior on an interval, `Uniform(0, 100)`: a prior that its place in the other statements has an update for.

use cavi_families::{Domain, Parameter, Spelling};
use cavi_syntax::{ast, print_reference};

use super::mixture_arguments::given;
use super::mixtures::is_name;

/// Where a variable stands.
enum Stands {
    /// Alone as an argument: its spelling, the parameter, and the variable as it is written there.
    Alone(&'static Spelling, &'static Parameter, String),
    /// Within an argument of this spelling.
    Within(&'static Spelling),
}

/// What a flat prior on an interval is, and what to write in its place; `None` for other distributions, and for shares from 0 to 1.
pub fn in_place_of_interval<'a>(
    statement: &ast::Distribution,
    others: impl Iterator<Item = &'a ast::Distribution>,
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
    let stands = stands(name, others);
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
    let domain = stands.map(|stands| match stands {
        Stands::Alone(spelling, ..) | Stands::Within(spelling) => spelling.domain,
    });
    match domain {
        Some(Domain::Real) => Some((
            "what stands in a mean has a Normal prior",
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

/// Where a variable stands in statements: alone as an argument, else within one.
fn stands<'a>(name: &str, statements: impl Iterator<Item = &'a ast::Distribution>) -> Option<Stands> {
    let mut within = None;
    for statement in statements {
        let Some(family) = cavi_families::family(&statement.family.text) else { continue };
        let mut place = 0;
        for argument in &statement.arguments {
            let named = |own: &&Parameter, word: &str| own.spellings.iter().any(|own| own.name == word);
            let (parameter, word) = match &argument.name {
                Some(word) => {
                    (family.parameters().iter().find(|own| named(own, &word.text)), Some(word.text.as_str()))
                }
                None => {
                    place += 1;
                    (family.parameters().get(place - 1).filter(|own| own.positional), None)
                }
            };
            let Some(parameter) = parameter else { continue };
            let spelling = match word {
                Some(word) => parameter.spellings.iter().find(|own| own.name == word),
                None => parameter.spellings.first(),
            };
            let Some(spelling) = spelling else { continue };
            match &argument.value.kind {
                ast::ExpressionKind::Reference(used) if used.name.text == name => {
                    return Some(Stands::Alone(spelling, parameter, print_reference(used)));
                }
                _ if mentions(&argument.value, name) => within = within.or(Some(Stands::Within(spelling))),
                _ => {}
            }
        }
    }
    within
}

/// Whether an expression reads a variable.
fn mentions(expression: &ast::Expression, name: &str) -> bool {
    match &expression.kind {
        ast::ExpressionKind::Number(..) | ast::ExpressionKind::Indicator(..) => false,
        ast::ExpressionKind::Reference(own) => own.name.text == name,
        ast::ExpressionKind::Negate(inner) | ast::ExpressionKind::Sum(_, inner) => mentions(inner, name),
        ast::ExpressionKind::Binary(_, left, right) => mentions(left, name) || mentions(right, name),
        ast::ExpressionKind::Call(_, arguments) => arguments.iter().any(|own| mentions(&own.value, name)),
    }
}
