//! Which argument of a distribution that is no family is which, by its name in other systems or by its place.

use cavi_syntax::{ast, print_expression};

/// The names under which other systems take an argument.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("mean", &["mean", "mu", "loc", "location", "meanlog"]),
    ("middle", &["mean", "mu", "loc", "location"]),
    ("level", &["level", "eta", "mean", "mu", "predictor"]),
    ("cuts", &["cuts", "c", "cutpoints", "cutpoint"]),
    ("scale", &["scale", "sigma", "sd", "s", "b", "gamma", "sdlog"]),
    ("dof", &["dof", "df", "nu"]),
    ("size", &["size", "n", "r", "total_count", "alpha", "phi", "concentration"]),
    ("trials", &["trials", "size", "n", "total_count"]),
    ("a", &["a", "alpha", "shape1"]),
    ("b", &["b", "beta", "shape2"]),
    ("p", &["p", "prob", "probs"]),
    ("shape", &["shape", "alpha", "k", "a", "c", "concentration"]),
    ("rate", &["rate", "lam", "lambda", "mu", "beta"]),
    ("share", &["psi", "gate", "zi", "zero_prob", "prob", "p", "pi", "theta"]),
    ("quantile", &["quantile", "q", "tau", "p"]),
    ("slant", &["slant", "alpha", "shape"]),
    ("delay", &["delay", "nu"]),
    ("lower", &["lower", "low", "min", "a"]),
    ("upper", &["upper", "high", "max", "b"]),
];

/// The arguments of a distribution that elsewhere has others in these places: they are known by their names alone.
pub(super) const BY_NAME: &[&str] = &["size", "middle"];

/// The arguments of a distribution by their meaning; `None` if that is not clear from their names and their number.
pub(super) fn given(
    meanings: &'static [&'static str],
    arguments: &[ast::Argument],
) -> Option<Vec<(&'static str, String)>> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    let positional: Vec<&ast::Argument> = arguments.iter().filter(|own| own.name.is_none()).collect();
    let is_number = |own: &ast::Argument| matches!(own.value.kind, ast::ExpressionKind::Number(..));
    // A number beside a name: the degrees of freedom, or the mean, whichever comes first elsewhere.
    let order: &[&'static str] = match positional[..] {
        [first, second] if meanings == ["dof", "mean", "scale"] => {
            match (is_number(first), is_number(second)) {
                (false, true) => &["mean", "dof"],
                (true, false) => &["dof", "mean"],
                _ => return None,
            }
        }
        [_, ..] if meanings == BY_NAME => return None,
        _ if positional.len() <= meanings.len() => meanings,
        _ => return None,
    };
    for (key, argument) in order.iter().zip(&positional) {
        found.push((*key, print_expression(&argument.value)));
    }
    for argument in arguments {
        let Some(name) = &argument.name else { continue };
        let is_its =
            |(key, names): &&(&str, &[&str])| meanings.contains(key) && names.contains(&name.text.as_str());
        let (key, _) = ARGUMENTS.iter().find(is_its)?;
        if found.iter().any(|(own, _)| own == key) {
            return None;
        }
        found.push((*key, print_expression(&argument.value)));
    }
    let number = |text: &str| text.parse::<f64>().ok();
    let is_meant = |(key, text): &(&str, String)| match *key {
        // A second number that is no probability is a mean, or a rate.
        "p" | "quantile" => number(text).is_some_and(|own| own > 0.0 && own < 1.0),
        // It goes into constants.
        "slant" | "lower" | "upper" => number(text).is_some(),
        _ => true,
    };
    let needs_both = meanings == ["lower", "upper"];
    if !found.iter().all(is_meant) || needs_both && found.len() < 2 {
        return None;
    }
    (!found.is_empty()).then_some(found)
}
