//! Distributions that are no families here, and the statements to write in their place.

use cavi_syntax::{ast, print_reference};

/// A distribution and what is written instead of `x[n] ~ Name(...)`: `{x}` stands for the variable as it is written, `{N}`
/// for its name and `{S}` for its subscripts.
struct Instead {
    name: &'static str,
    /// What it is in terms of families.
    is: &'static str,
    /// Where its parameters go.
    parameters: &'static str,
    lines: &'static [&'static str],
}

const TABLE: &[Instead] = &[
    Instead {
        name: "StudentT",
        is: "it is a scale mixture of Normals",
        parameters: "here with 4 degrees of freedom, mean 0 and scale 1; a scale s makes it `prec = s^-2 * ...`",
        lines: &[
            "const {N}_dof = 4",
            "{N}_weight{S} ~ Gamma({N}_dof / 2, rate = {N}_dof / 2)",
            "{x} ~ Normal(0, prec = {N}_weight{S})",
        ],
    },
    Instead {
        name: "Laplace",
        is: "it is a scale mixture of Normals",
        parameters: "here with mean 0 and scale 1; a scale b makes the rate 1 / (2 * b^2)",
        lines: &["{N}_var{S} ~ Exponential(1 / 2)", "{x} ~ Normal(0, var = {N}_var{S})"],
    },
    Instead {
        name: "Cauchy",
        is: "it is a scale mixture of Normals",
        parameters: "here with centre 0 and scale 1; a scale s makes it `prec = s^-2 * ...`",
        lines: &["{N}_weight{S} ~ Gamma(1 / 2, rate = 1 / 2)", "{x} ~ Normal(0, prec = {N}_weight{S})"],
    },
    Instead {
        name: "HalfCauchy",
        is: "its square is a mixture of inverse Gammas",
        parameters: "here with scale 1; a scale s makes the first line's scale s^-2",
        lines: &[
            "{N}_mix{S} ~ InverseGamma(1 / 2, 1)",
            "{N}_square{S} ~ InverseGamma(1 / 2, 1 / {N}_mix{S})",
            "{x} = sqrt({N}_square{S})",
        ],
    },
    Instead {
        name: "HalfStudentT",
        is: "its square is a mixture of inverse Gammas",
        parameters: "here with 4 degrees of freedom and scale 1; a scale s makes the first line's scale s^-2",
        lines: &[
            "const {N}_dof = 4",
            "{N}_mix{S} ~ InverseGamma(1 / 2, 1)",
            "{N}_square{S} ~ InverseGamma({N}_dof / 2, {N}_dof / {N}_mix{S})",
            "{x} = sqrt({N}_square{S})",
        ],
    },
    Instead {
        name: "Horseshoe",
        is: "it is a scale mixture of Normals with half-Cauchy scales",
        parameters: "one scale of its own for each copy, and one for all",
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
        parameters: "here with size 2 and mean 5",
        lines: &["{N}_rate{S} ~ Gamma(2, mean = 5)", "{x} ~ Poisson({N}_rate{S})"],
    },
    Instead {
        name: "BetaBinomial",
        is: "it is a Beta mixture of Binomials",
        parameters: "here with 10 trials and a uniform mixture",
        lines: &["{N}_p{S} ~ Beta(1, 1)", "{x} ~ Binomial(10, {N}_p{S})"],
    },
    Instead {
        name: "InverseGaussian",
        is: "it is a generalised inverse Gaussian of order -1/2",
        parameters: "here with mean m = 1 and shape l = 1: a = l / m^2, b = l",
        lines: &["{x} ~ GeneralizedInverseGaussian(-1 / 2, 1, 1)"],
    },
    Instead {
        name: "ChiSquared",
        is: "it is a Gamma",
        parameters: "here with 4 degrees of freedom",
        lines: &["{x} ~ Gamma(4 / 2, rate = 1 / 2)"],
    },
    Instead {
        name: "Uniform",
        is: "on [0, 1] it is a Beta",
        parameters: "an interval [l, u] is l + (u - l) * {N} where {N} stands",
        lines: &["{x} ~ Beta(1, 1)"],
    },
];

/// Of `LogNormal` data: their logarithms are data of their own.
const LOG_NORMAL: Instead = Instead {
    name: "LogNormal",
    is: "its logarithm is Normal",
    parameters: "here with mean 0 and sd 1; the density is then that of the logarithm",
    lines: &["data {N}_log{S} = log({x})", "{N}_log{S} ~ Normal(0, sd = 1)"],
};

/// Of a `LogNormal` latent there is no factor of q.
const LOG_NORMAL_LATENT: Instead = Instead {
    name: "LogNormal",
    is: "it has no closed-form factor of q",
    parameters: "a Gamma of about its mean and spread",
    lines: &["{x} ~ Gamma(2, mean = 1)"],
};

/// What a distribution of this name is, and the lines to write in its place; `None` for an unknown name.
pub fn in_place_of(family: &str, target: &ast::Reference, observed: bool) -> Option<(&'static str, String)> {
    let log_normal = if observed { &LOG_NORMAL } else { &LOG_NORMAL_LATENT };
    let instead = TABLE.iter().chain([log_normal]).find(|own| own.name == family)?;
    let written = print_reference(target);
    let name = target.name.text.as_str();
    let subscripts = &written[name.len()..];
    let fill = |text: &str| text.replace("{x}", &written).replace("{N}", name).replace("{S}", subscripts);
    let lines: Vec<String> = instead.lines.iter().map(|line| format!("  {}", fill(line))).collect();
    Some((instead.is, format!("write in its place ({})\n{}", fill(instead.parameters), lines.join("\n"))))
}
