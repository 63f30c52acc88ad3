//! Distributions that are no families here, and the statements to write in their place.

use cavi_syntax::{ast, print_expression, print_reference};

/// A distribution and what is written instead of `x[n] ~ Name(...)`: `{x}` stands for the variable as it is written, `{N}`
/// for its name and `{S}` for its subscripts; `{mean}`, `{scale}` and `{dof}` for its arguments, `{over}`, `{times}` and
/// `{twice}` for what a scale s makes of an inverse square, a precision and `2 * b^2`.
struct Instead {
    name: &'static str,
    /// What it is in terms of families.
    is: &'static str,
    /// Where its parameters go, with those that were not understood.
    parameters: &'static str,
    /// The arguments that it may be given by position, in this order.
    arguments: &'static [&'static str],
    lines: &'static [&'static str],
}

/// The names under which other systems take an argument.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("mean", &["mean", "mu", "loc", "location"]),
    ("scale", &["scale", "sigma", "sd", "s", "b", "gamma"]),
    ("dof", &["dof", "df", "nu"]),
    ("size", &["size", "n", "r", "total_count"]),
    ("p", &["p", "prob", "probs"]),
];

const TABLE: &[Instead] = &[
    Instead {
        name: "StudentT",
        is: "it is a scale mixture of Normals",
        parameters: "with {dof} degrees of freedom, mean {mean} and scale {scale}",
        arguments: &["dof", "mean", "scale"],
        lines: &[
            "const {N}_dof = {dof}",
            "{N}_weight{S} ~ Gamma({N}_dof / 2, rate = {N}_dof / 2)",
            "{x} ~ Normal({mean}, prec = {times}{N}_weight{S})",
        ],
    },
    Instead {
        name: "Laplace",
        is: "it is a scale mixture of Normals",
        parameters: "with mean {mean} and scale {scale}",
        arguments: &["mean", "scale"],
        lines: &["{N}_var{S} ~ Exponential(1 / {twice})", "{x} ~ Normal({mean}, var = {N}_var{S})"],
    },
    Instead {
        name: "Cauchy",
        is: "it is a scale mixture of Normals",
        parameters: "with centre {mean} and scale {scale}",
        arguments: &["mean", "scale"],
        lines: &[
            "{N}_weight{S} ~ Gamma(1 / 2, rate = 1 / 2)",
            "{x} ~ Normal({mean}, prec = {times}{N}_weight{S})",
        ],
    },
    Instead {
        name: "HalfCauchy",
        is: "its square is a mixture of inverse Gammas",
        parameters: "with scale {scale}",
        arguments: &["scale"],
        lines: &[
            "{N}_mix{S} ~ InverseGamma(1 / 2, {over})",
            "{N}_square{S} ~ InverseGamma(1 / 2, 1 / {N}_mix{S})",
            "{x} = sqrt({N}_square{S})",
        ],
    },
    Instead {
        name: "HalfStudentT",
        is: "its square is a mixture of inverse Gammas",
        parameters: "with {dof} degrees of freedom and scale {scale}",
        arguments: &["dof", "scale"],
        lines: &[
            "const {N}_dof = {dof}",
            "{N}_mix{S} ~ InverseGamma(1 / 2, {over})",
            "{N}_square{S} ~ InverseGamma({N}_dof / 2, {N}_dof / {N}_mix{S})",
            "{x} = sqrt({N}_square{S})",
        ],
    },
    Instead {
        name: "Horseshoe",
        is: "it is a scale mixture of Normals with half-Cauchy scales",
        parameters: "one scale of its own for each copy, and one for all",
        arguments: &[],
        lines: &[
            "{N}_global_mix ~ InverseGamma(1 / 2, 1)",
            "{N}_global ~ InverseGamma(1 / 2, 1 / {N}_global_mix)",
            "{N}_mix{S} ~ InverseGamma(1 / 2, 1)",
            "{N}_own{S} ~ InverseGamma(1 / 2, 1 / {N}_mix{S})",
            "{x} ~ Normal(0, var = {N}_own{S} * {N}_global)",
        ],
    },
    Instead {
        name: "NegativeBinomial",
        is: "it is a Gamma mixture of Poissons",
        parameters: "with size {size} and probability {p}; a size r and a mean m are `Gamma(r, mean = m)`",
        arguments: &["size", "p"],
        lines: &[
            "{N}_rate{S} ~ Gamma({size}, mean = {size} * (1 - {p}) / {p})",
            "{x} ~ Poisson({N}_rate{S})",
        ],
    },
    Instead {
        name: "BetaBinomial",
        is: "it is a Beta mixture of Binomials",
        parameters: "here with 10 trials and a uniform mixture",
        arguments: &[],
        lines: &["{N}_p{S} ~ Beta(1, 1)", "{x} ~ Binomial(10, {N}_p{S})"],
    },
    Instead {
        name: "InverseGaussian",
        is: "it is a generalised inverse Gaussian of order -1/2",
        parameters: "here with mean m = 1 and shape l = 1: a = l / m^2, b = l",
        arguments: &[],
        lines: &["{x} ~ GeneralizedInverseGaussian(-1 / 2, 1, 1)"],
    },
    Instead {
        name: "ChiSquared",
        is: "it is a Gamma",
        parameters: "here with 4 degrees of freedom",
        arguments: &[],
        lines: &["{x} ~ Gamma(4 / 2, rate = 1 / 2)"],
    },
    Instead {
        name: "Uniform",
        is: "on [0, 1] it is a Beta",
        parameters: "an interval [l, u] is l + (u - l) * {N} where {N} stands",
        arguments: &[],
        lines: &["{x} ~ Beta(1, 1)"],
    },
];

/// Of `LogNormal` data: their logarithms are data of their own.
const LOG_NORMAL: Instead = Instead {
    name: "LogNormal",
    is: "its logarithm is Normal",
    parameters: "here with mean 0 and sd 1; the density is then that of the logarithm",
    arguments: &[],
    lines: &["data {N}_log{S} = log({x})", "{N}_log{S} ~ Normal(0, sd = 1)"],
};

/// Of a `LogNormal` latent there is no factor of q.
const LOG_NORMAL_LATENT: Instead = Instead {
    name: "LogNormal",
    is: "it has no closed-form factor of q",
    parameters: "a Gamma of about its mean and spread",
    arguments: &[],
    lines: &["{x} ~ Gamma(2, mean = 1)"],
};

/// What a distribution of this name is, and the lines to write in its place; `None` for an unknown name.
pub fn in_place_of(statement: &ast::Distribution, observed: bool) -> Option<(&'static str, String)> {
    let log_normal = if observed { &LOG_NORMAL } else { &LOG_NORMAL_LATENT };
    let instead = TABLE.iter().chain([log_normal]).find(|own| own.name == statement.family.text)?;
    let target = &statement.target;
    let written = print_reference(target);
    let name = target.name.text.as_str();
    let subscripts = &written[name.len()..];
    let given = given(instead, &statement.arguments);
    let value = |key: &str, default: &str| {
        let found = given.iter().flatten().find(|(own, _)| *own == key);
        found.map_or(default.to_owned(), |(_, text)| text.clone())
    };
    let (scale, simple) =
        (
            value("scale", "1"),
            |text: &str| if text.contains(' ') { format!("({text})") } else { text.to_owned() },
        );
    let unit = scale == "1";
    let base = simple(&scale);
    let (over, times, twice) = if unit {
        ("1".to_owned(), String::new(), "2".to_owned())
    } else {
        (format!("{base}^-2"), format!("{base}^-2 * "), format!("(2 * {base}^2)"))
    };
    let fill = |text: &str| {
        text.replace("{x}", &written)
            .replace("{N}", name)
            .replace("{S}", subscripts)
            .replace("{mean}", &value("mean", "0"))
            .replace("{scale}", &scale)
            .replace("{dof}", &value("dof", "4"))
            .replace("{size}", &simple(&value("size", "2")))
            .replace("{p}", &simple(&value("p", "0.5")))
            .replace("{over}", &over)
            .replace("{times}", &times)
            .replace("{twice}", &twice)
    };
    let here = if given.is_none() && !instead.arguments.is_empty() { "for example " } else { "" };
    let lines: Vec<String> = instead.lines.iter().map(|line| format!("  {}", fill(line))).collect();
    Some((
        instead.is,
        format!("write in its place ({here}{})\n{}", fill(instead.parameters), lines.join("\n")),
    ))
}

/// The arguments of a distribution by their meaning; `None` if that is not clear from their names and their number.
fn given(instead: &Instead, arguments: &[ast::Argument]) -> Option<Vec<(&'static str, String)>> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    let positional: Vec<&ast::Argument> = arguments.iter().filter(|own| own.name.is_none()).collect();
    let is_number = |own: &ast::Argument| matches!(own.value.kind, ast::ExpressionKind::Number(..));
    // A number beside a name: the degrees of freedom, or the mean, whichever comes first elsewhere.
    let order: &[&'static str] = match positional[..] {
        [first, second] if instead.arguments == ["dof", "mean", "scale"] => {
            match (is_number(first), is_number(second)) {
                (false, true) => &["mean", "dof"],
                (true, false) => &["dof", "mean"],
                _ => return None,
            }
        }
        _ if positional.is_empty() || positional.len() == instead.arguments.len() => instead.arguments,
        _ => return None,
    };
    for (key, argument) in order.iter().zip(&positional) {
        found.push((*key, print_expression(&argument.value)));
    }
    for argument in arguments {
        let Some(name) = &argument.name else { continue };
        let (key, _) = ARGUMENTS.iter().find(|(_, names)| names.contains(&name.text.as_str()))?;
        if !instead.arguments.contains(key) || found.iter().any(|(own, _)| own == key) {
            return None;
        }
        found.push((*key, print_expression(&argument.value)));
    }
    // A second number that is no probability is a mean, or a rate.
    let chance = |text: &str| text.parse::<f64>().is_ok_and(|value| value > 0.0 && value < 1.0);
    if found.iter().any(|(key, text)| *key == "p" && !chance(text)) {
        return None;
    }
    (!found.is_empty()).then_some(found)
}
