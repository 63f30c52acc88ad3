//! Distributions that are no families here, and the statements to write in their place.

use cavi_syntax::{ast, print_reference};

use super::mixture_arguments::{BY_NAME, given};

/// A distribution and what is written instead of `x[n] ~ Name(...)`: `{x}` stands for the variable as it is written, `{N}`
/// for its name and `{S}` for its subscripts, `{C}` for these and one more, `{P}` for those that are no slices and `{E}` for all without colons, `{i}`
/// and `{j}` for the slice letters; `{mean}`, `{scale}`, `{dof}`, `{shape}` and so on for its arguments, `{over}`,
/// `{times}` and `{twice}` for what a scale s makes of an inverse square, a precision and `2 * b^2`; `{about}` for a mean that is added to, `{by}` and `{squared}`
/// for a factor s and s^2, nothing where these are 0 and 1, and `{placed}` for where {x} is between its bounds.
struct Instead {
    /// Its names: that of the field, and others that are not the same up to case, underscores and a `d` in front.
    names: &'static [&'static str],
    /// What it may describe.
    of: Of,
    /// What it is in terms of families.
    is: &'static str,
    /// Where its parameters go, with those that were not understood.
    parameters: &'static str,
    /// The arguments that it may be given by position, in this order.
    arguments: &'static [&'static str],
    lines: &'static [&'static str],
}

/// Which side of `~` a distribution is replaced on.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// Data and latents.
    All,
    /// Data: a function of them is data.
    Data,
    /// Latents.
    Latents,
}

const TABLE: &[Instead] = &[
    Instead {
        names: &["StudentT", "StudentsT", "T"],
        of: Of::All,
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
        names: &["Laplace", "DoubleExponential", "DExp", "DDExp"],
        of: Of::All,
        is: "it is a scale mixture of Normals",
        parameters: "with mean {mean} and scale {scale}",
        arguments: &["mean", "scale"],
        lines: &["{N}_var{S} ~ Exponential(1 / {twice})", "{x} ~ Normal({mean}, var = {N}_var{S})"],
    },
    Instead {
        names: &["Cauchy"],
        of: Of::All,
        is: "it is a scale mixture of Normals",
        parameters: "with centre {mean} and scale {scale}",
        arguments: &["mean", "scale"],
        lines: &[
            "{N}_weight{S} ~ Gamma(1 / 2, rate = 1 / 2)",
            "{x} ~ Normal({mean}, prec = {times}{N}_weight{S})",
        ],
    },
    Instead {
        names: &["HalfCauchy"],
        of: Of::Latents,
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
        names: &["HalfStudentT", "HalfT"],
        of: Of::Latents,
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
        names: &["HalfCauchy"],
        of: Of::Data,
        is: "its square is a mixture of inverse Gammas",
        parameters: "with scale {scale}; the density is then that of the square",
        arguments: &["scale"],
        lines: &[
            "data {N}_square{S} : positive = {x}^2",
            "{N}_mix{S} ~ InverseGamma(1 / 2, {over})",
            "{N}_square{S} ~ InverseGamma(1 / 2, 1 / {N}_mix{S})",
        ],
    },
    Instead {
        names: &["HalfStudentT", "HalfT"],
        of: Of::Data,
        is: "its square is a mixture of inverse Gammas",
        parameters: "with {dof} degrees of freedom and scale {scale}; the density is then that of the square",
        arguments: &["dof", "scale"],
        lines: &[
            "data {N}_square{S} : positive = {x}^2",
            "const {N}_dof = {dof}",
            "{N}_mix{S} ~ InverseGamma(1 / 2, {over})",
            "{N}_square{S} ~ InverseGamma({N}_dof / 2, {N}_dof / {N}_mix{S})",
        ],
    },
    Instead {
        names: &["Horseshoe"],
        of: Of::All,
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
        names: &["NegativeBinomial", "NegBinomial", "NegBin", "NBinom"],
        of: Of::All,
        is: "it is a Gamma mixture of Poissons",
        parameters: "with size {size} and probability {p}; a size r and a mean m are `Gamma(r, mean = m)`",
        arguments: &["size", "p"],
        lines: &[
            "{N}_rate{S} ~ Gamma({size}, mean = {size} * (1 - {p}) / {p})",
            "{x} ~ Poisson({N}_rate{S})",
        ],
    },
    Instead {
        names: &["NegativeBinomial", "NegBinomial", "NegBin", "NBinom"],
        of: Of::All,
        is: "it is a Gamma mixture of Poissons",
        parameters: "with size {size} and mean {middle}",
        arguments: BY_NAME,
        lines: &["{N}_spread{S} ~ Gamma({size}, mean = 1)", "{x} ~ Poisson({middle} * {N}_spread{S})"],
    },
    Instead {
        names: &["NegBinomial2", "NegativeBinomial2"],
        of: Of::All,
        is: "it is a Gamma mixture of Poissons",
        parameters: "with mean {middle} and size {size}",
        arguments: &["middle", "size"],
        lines: &["{N}_spread{S} ~ Gamma({size}, mean = 1)", "{x} ~ Poisson({middle} * {N}_spread{S})"],
    },
    Instead {
        names: &["NegBinomialLog", "NegBinomial2Log", "NegativeBinomial2Log"],
        of: Of::All,
        is: "it is a Gamma mixture of Poissons",
        parameters: "with a mean whose logarithm is {level}, and size {size}",
        arguments: &["level", "size"],
        lines: &["{N}_spread{S} ~ Gamma({size}, mean = 1)", "{x} ~ Poisson(exp({level}) * {N}_spread{S})"],
    },
    Instead {
        names: &["BetaBinomial"],
        of: Of::All,
        is: "it is a Beta mixture of Binomials",
        parameters: "with {trials} trials and the mixture Beta({a}, {b})",
        arguments: &["trials", "a", "b"],
        lines: &["{N}_p{S} ~ Beta({a}, {b})", "{x} ~ Binomial({trials}, {N}_p{S})"],
    },
    Instead {
        names: &["InverseGaussian", "Wald"],
        of: Of::All,
        is: "it is a generalised inverse Gaussian of order -1/2",
        parameters: "with mean m = {middle} and shape l = {shape}: a = l / m^2, b = l",
        arguments: &["middle", "shape"],
        lines: &["{x} ~ GeneralizedInverseGaussian(-1 / 2, {shape} / {middle}^2, {shape})"],
    },
    Instead {
        names: &["ChiSquared", "ChiSquare", "Chi2", "ChiSq", "ChiSqr"],
        of: Of::All,
        is: "it is a Gamma",
        parameters: "with {dof} degrees of freedom",
        arguments: &["dof"],
        lines: &["{x} ~ Gamma({dof} / 2, rate = 1 / 2)"],
    },
    Instead {
        names: &["Uniform", "Unif"],
        of: Of::Latents,
        is: "on [0, 1] it is a Beta",
        parameters: "an interval [l, u] is l + (u - l) * {N} where {N} stands",
        arguments: &[],
        lines: &["{x} ~ Beta(1, 1)"],
    },
    Instead {
        names: &["Uniform", "Unif"],
        of: Of::Data,
        is: "between its bounds it is a Beta",
        parameters: "from {lower} to {upper}; the density is then that of the place between them",
        arguments: &["lower", "upper"],
        lines: &["data {N}_unit{S} : unit = {placed}", "{N}_unit{S} ~ Beta(1, 1)"],
    },
    Instead {
        names: &["Geometric", "Geom"],
        of: Of::All,
        is: "it is a Gamma mixture of Poissons of size 1",
        parameters: "with probability {p}, counted from 0",
        arguments: &["p"],
        lines: &["{N}_rate{S} ~ Exponential({p} / (1 - {p}))", "{x} ~ Poisson({N}_rate{S})"],
    },
    Instead {
        names: &["Erlang"],
        of: Of::All,
        is: "it is a Gamma",
        parameters: "with shape {shape} and rate {rate}",
        arguments: &["shape", "rate"],
        lines: &["{x} ~ Gamma({shape}, rate = {rate})"],
    },
    Instead {
        names: &["InverseChiSquared", "InvChiSquare", "InvChi2"],
        of: Of::All,
        is: "it is an inverse Gamma",
        parameters: "with {dof} degrees of freedom",
        arguments: &["dof"],
        lines: &["{x} ~ InverseGamma({dof} / 2, 1 / 2)"],
    },
    Instead {
        names: &["ScaledInverseChiSquared", "ScaledInvChiSquare", "ScaleInvChi2"],
        of: Of::All,
        is: "it is an inverse Gamma",
        parameters: "with {dof} degrees of freedom and scale {scale}",
        arguments: &["dof", "scale"],
        lines: &["{x} ~ InverseGamma({dof} / 2, {dof} * {square} / 2)"],
    },
    Instead {
        names: &["Levy"],
        of: Of::All,
        is: "it is an inverse Gamma",
        parameters: "with scale {scale}",
        arguments: &["scale"],
        lines: &["{x} ~ InverseGamma(1 / 2, {scale} / 2)"],
    },
    Instead {
        names: &["BetaPrime", "InverseBeta", "Pearson6"],
        of: Of::All,
        is: "it is a Gamma mixture of Gammas",
        parameters: "with shapes {a} and {b}",
        arguments: &["a", "b"],
        lines: &["{N}_rate{S} ~ Gamma({b}, rate = 1)", "{x} ~ Gamma({a}, rate = {N}_rate{S})"],
    },
    Instead {
        names: &["F", "FisherSnedecor", "FDist"],
        of: Of::All,
        is: "it is a Gamma mixture of Gammas",
        parameters: "with {a} and {b} degrees of freedom",
        arguments: &["a", "b"],
        lines: &[
            "{N}_weight{S} ~ Gamma({b} / 2, rate = {b} / 2)",
            "{x} ~ Gamma({a} / 2, rate = {a} / 2 * {N}_weight{S})",
        ],
    },
    Instead {
        names: &["Lomax", "ParetoType2", "Pareto2"],
        of: Of::All,
        is: "it is a Gamma mixture of exponentials",
        parameters: "with shape {shape} and scale {scale}",
        arguments: &["shape", "scale"],
        lines: &["{N}_rate{S} ~ Gamma({shape}, rate = {scale})", "{x} ~ Exponential({N}_rate{S})"],
    },
    Instead {
        names: &["AsymmetricLaplace"],
        of: Of::All,
        is: "it is a mixture of Normals over an exponential",
        parameters: "about the quantile q = {quantile}, which is {mean}, with scale {scale}; {N}_skew is (1 - 2 q) / (q (1 - q)), {N}_spread 2 / (q (1 - q))",
        arguments: &["mean", "scale", "quantile"],
        lines: &[
            "const {N}_skew = (1 - 2 * {quantile}) / ({quantile} * (1 - {quantile}))",
            "const {N}_spread = 2 / ({quantile} * (1 - {quantile}))",
            "{N}_part{S} ~ Exponential(1 / {simple})",
            "{x} ~ Normal({about}{N}_skew * {N}_part{S}, var = {N}_spread * {by}{N}_part{S})",
        ],
    },
    Instead {
        names: &["SkewDoubleExponential"],
        of: Of::All,
        is: "it is a mixture of Normals over an exponential",
        parameters: "about the quantile q = {quantile}, which is {mean}, with scale {scale}; {N}_skew is (1 - 2 q) / (q (1 - q)), {N}_spread 2 / (q (1 - q))",
        arguments: &["mean", "scale", "quantile"],
        lines: &[
            "const {N}_skew = (1 - 2 * {quantile}) / ({quantile} * (1 - {quantile}))",
            "const {N}_spread = 2 / ({quantile} * (1 - {quantile}))",
            "{N}_part{S} ~ Exponential(2 / {simple})",
            "{x} ~ Normal({about}{N}_skew * {N}_part{S}, var = {N}_spread / 2 * {by}{N}_part{S})",
        ],
    },
    Instead {
        names: &["SkewNormal"],
        of: Of::All,
        is: "it is a Normal about a half-normal",
        parameters: "with location {mean}, scale {scale} and slant {slant}",
        arguments: &["mean", "scale", "slant"],
        lines: &[
            "const {N}_part = {slant} / sqrt(1 + {slant}^2)",
            "{N}_skew{S} ~ HalfNormal(sd = 1)",
            "{x} ~ Normal({about}{by}{N}_part * {N}_skew{S}, var = {squared}(1 - {N}_part^2))",
        ],
    },
    Instead {
        names: &["ExGaussian"],
        of: Of::All,
        is: "it is a Normal about an exponential",
        parameters: "with mean {mean} and sd {scale} of the Normal, and an exponential of mean {delay}",
        arguments: &["mean", "scale", "delay"],
        lines: &[
            "{N}_delay{S} ~ Exponential(mean = {delay})",
            "{x} ~ Normal({about}{N}_delay{S}, sd = {scale})",
        ],
    },
    Instead {
        names: &["ExpModNormal"],
        of: Of::All,
        is: "it is a Normal about an exponential",
        parameters: "with mean {mean} and sd {scale} of the Normal, and an exponential of rate {rate}",
        arguments: &["mean", "scale", "rate"],
        lines: &["{N}_delay{S} ~ Exponential({rate})", "{x} ~ Normal({about}{N}_delay{S}, sd = {scale})"],
    },
    Instead {
        names: &["EMG", "ExponNorm"],
        of: Of::All,
        is: "it is a Normal about an exponential",
        parameters: "here with rate 1 and sd 1, about 0",
        arguments: &[],
        lines: &["{N}_delay{S} ~ Exponential(1)", "{x} ~ Normal({N}_delay{S}, sd = 1)"],
    },
    Instead {
        names: &["Logistic"],
        of: Of::All,
        is: "its mixture of Normals has no closed form",
        parameters: "a Student t of 8 degrees of freedom, which is close, with mean {mean} and scale {scale}",
        arguments: &["mean", "scale"],
        lines: &[
            "{N}_weight{S} ~ Gamma(8 / 2, rate = 8 / 2)",
            "{x} ~ Normal({mean}, prec = {times}0.42 * {N}_weight{S})",
        ],
    },
    Instead {
        names: &["ZeroInflatedPoisson", "ZIP", "HurdlePoisson"],
        of: Of::All,
        is: "it is a mixture of a Poisson and zeros",
        parameters: "with rate {rate}; `--set {N}_on=FILE` gives 0 and 1, zeros and the Poisson{known}",
        arguments: &["share", "rate"],
        lines: &[
            "axis {N}_part[{N}_c] = 2",
            "const {N}_on[{N}_c]",
            "{N}_share[:{N}_c] ~ Dirichlet(1)",
            "{N}_of{S} ~ Categorical({N}_share)",
            "{x} ~ Poisson({N}_on[{N}_of{S}] * {factor})",
        ],
    },
    Instead {
        names: &["ZeroInflatedNegativeBinomial", "ZINB", "ZeroInflatedNegBin", "HurdleNegativeBinomial"],
        of: Of::All,
        is: "it is a mixture of a negative binomial and zeros",
        parameters: "here of size 2; `--set {N}_on=FILE` gives 0 and 1, zeros and the negative binomial{known}",
        arguments: &[],
        lines: &[
            "axis {N}_part[{N}_c] = 2",
            "const {N}_on[{N}_c]",
            "{N}_share[:{N}_c] ~ Dirichlet(1)",
            "{N}_mean ~ Gamma(1, mean = 1)",
            "{N}_of{S} ~ Categorical({N}_share)",
            "{N}_spread{S} ~ Gamma(2, mean = 1)",
            "{x} ~ Poisson({N}_on[{N}_of{S}] * {N}_mean * {N}_spread{S})",
        ],
    },
    Instead {
        names: &["ZeroInflatedBinomial", "ZIB"],
        of: Of::All,
        is: "it is a mixture of a Binomial and zeros",
        parameters: "here of 10 trials; `--set {N}_on=FILE` gives 0 and 1, zeros and the Binomial{known}",
        arguments: &[],
        lines: &[
            "axis {N}_part[{N}_c] = 2",
            "const {N}_on[{N}_c]",
            "{N}_share[:{N}_c] ~ Dirichlet(1)",
            "{N}_p ~ Beta(1, 1)",
            "{N}_of{S} ~ Categorical({N}_share)",
            "{x} ~ Binomial(10 * {N}_on[{N}_of{S}], {N}_p)",
        ],
    },
    Instead {
        names: &["Mixture", "NormalMixture", "MixtureSameFamily", "MixtureModel"],
        of: Of::All,
        is: "a mixture is a selection by a categorical latent",
        parameters: "here of two Normals",
        arguments: &[],
        lines: &[
            "axis {N}_part[{N}_c] = 2",
            "{N}_share[:{N}_c] ~ Dirichlet(1)",
            "{N}_centre[{N}_c] ~ Normal(0, sd = 10)",
            "{N}_of{S} ~ Categorical({N}_share)",
            "{x} ~ Normal({N}_centre[{N}_of{S}], sd = 1)",
        ],
    },
    Instead {
        names: &["OrderedLogistic", "OrderedProbit", "CumulativeLogit"],
        of: Of::All,
        is: "cut points of cumulative shares have no closed form, and those of a sequential logit have",
        parameters: "with {level} against the cuts; the data are a line for each cut: 1 for those that an answer passes, 0 for the first that it does not \
                     pass, and no line for later ones",
        arguments: &["level", "cuts"],
        lines: &[
            "axis {N}_cut[{N}_c]",
            "data {N}_passes{C} : binary, absent = NA",
            "{N}_at[{N}_c] ~ Normal(0, sd = 5)",
            "{N}_passes{C} ~ Bernoulli(logit = {level} - {N}_at[{N}_c])",
        ],
    },
    Instead {
        names: &["MultivariateStudentT", "MultiStudentT", "MvStudentT", "MvT", "MvTDist"],
        of: Of::All,
        is: "it is a scale mixture of Normals with one weight for all elements",
        parameters: "here with 4 degrees of freedom, mean 0 and independent elements of scale 1",
        arguments: &[],
        lines: &["{N}_weight{P} ~ Gamma(4 / 2, rate = 4 / 2)", "{E} ~ Normal(0, prec = {N}_weight{P})"],
    },
    Instead {
        names: &["DirichletMultinomial", "MultinomialDirichlet", "Polya"],
        of: Of::All,
        is: "it is a Dirichlet mixture of Multinomials",
        parameters: "with concentration {shape}",
        arguments: &["shape"],
        lines: &["{N}_p{S} ~ Dirichlet({shape})", "{x} ~ Multinomial({N}_p{S})"],
    },
    Instead {
        names: &["InverseWishart", "InvWishart"],
        of: Of::Latents,
        is: "it is the inverse of a Wishart",
        parameters: "the precision matrix; then `prec = {N}_prec` in place of `cov = {N}`; the degrees of freedom are at least the size",
        arguments: &[],
        lines: &["const {N}_dof", "{N}_prec{S} ~ Wishart({N}_dof, scale = [{i} == {j}])"],
    },
    Instead {
        names: &["LKJ", "LKJCorr", "LKJCholesky", "LKJCholeskyCov", "LKJCorrCholesky"],
        of: Of::Latents,
        is: "correlations have no factor of q without their scales",
        parameters: "the whole precision matrix, as `prec = {N}_prec`; the degrees of freedom are at least the size",
        arguments: &[],
        lines: &["const {N}_dof", "{N}_prec{S} ~ Wishart({N}_dof, scale = [{i} == {j}])"],
    },
    Instead {
        names: &["HalfLaplace"],
        of: Of::All,
        is: "it is an exponential",
        parameters: "with scale {scale}",
        arguments: &["scale"],
        lines: &["{x} ~ Exponential(mean = {scale})"],
    },
    Instead {
        names: &["HalfFlat", "ImproperUniformPositive"],
        of: Of::Latents,
        is: "a flat prior is one of points",
        parameters: "in a program with other points, `{N}` joins their line",
        arguments: &[],
        lines: &["{x} ~ Flat(nonnegative)", "posterior { point {N} }"],
    },
    Instead {
        names: &["DirichletProcess", "StickBreaking", "GEM", "CRP", "DP"],
        of: Of::Latents,
        is: "a Dirichlet process is cut off at the size of an axis",
        parameters: "a sparse Dirichlet over many classes, those that are not needed stay empty",
        arguments: &[],
        lines: &["{x} ~ Dirichlet(0.05)"],
    },
    Instead {
        names: &["LogNormal", "LNorm"],
        of: Of::Data,
        is: "its logarithm is Normal",
        parameters: "with mean {mean} and sd {scale}; the density is then that of the logarithm",
        arguments: &["mean", "scale"],
        lines: &["data {N}_log{S} = log({x})", "{N}_log{S} ~ Normal({mean}, sd = {scale})"],
    },
    Instead {
        names: &["LogitNormal"],
        of: Of::Data,
        is: "its log odds are Normal",
        parameters: "with mean {mean} and sd {scale}; the density is then that of the log odds",
        arguments: &["mean", "scale"],
        lines: &["data {N}_logit{S} = log({x} / (1 - {x}))", "{N}_logit{S} ~ Normal({mean}, sd = {scale})"],
    },
    Instead {
        names: &["Weibull", "Weib", "WeibullMin"],
        of: Of::Data,
        is: "its power of the shape is exponential",
        parameters: "with shape {shape} and scale {scale}; the density is then that of the power",
        arguments: &["shape", "scale"],
        lines: &[
            "data {N}_power{S} : positive = {x}^{shape}",
            "{N}_power{S} ~ Exponential(mean = {scale}^{shape})",
        ],
    },
    Instead {
        names: &["Frechet", "InverseWeibull"],
        of: Of::Data,
        is: "its inverse to the power of the shape is exponential",
        parameters: "with shape {shape} and scale {scale}; the density is then that of the power",
        arguments: &["shape", "scale"],
        lines: &[
            "data {N}_power{S} : positive = (1 / {x})^{shape}",
            "{N}_power{S} ~ Exponential({scale}^{shape})",
        ],
    },
    Instead {
        names: &["Rayleigh"],
        of: Of::Data,
        is: "its square is exponential",
        parameters: "with scale {scale}; the density is then that of the square",
        arguments: &["scale"],
        lines: &["data {N}_square{S} : positive = {x}^2", "{N}_square{S} ~ Exponential(mean = 2 * {square})"],
    },
    Instead {
        names: &["Maxwell", "MaxwellBoltzmann"],
        of: Of::Data,
        is: "its square is a Gamma",
        parameters: "with scale {scale}; the density is then that of the square",
        arguments: &["scale"],
        lines: &[
            "data {N}_square{S} : positive = {x}^2",
            "{N}_square{S} ~ Gamma(3 / 2, rate = 1 / (2 * {square}))",
        ],
    },
    Instead {
        names: &["Nakagami"],
        of: Of::Data,
        is: "its square is a Gamma",
        parameters: "here with shape 1 and mean square 1; the density is then that of the square",
        arguments: &[],
        lines: &["data {N}_square{S} : positive = {x}^2", "{N}_square{S} ~ Gamma(1, mean = 1)"],
    },
    Instead {
        names: &["Pareto", "Par"],
        of: Of::Data,
        is: "the logarithm of its quotient by the least value is exponential",
        parameters: "here with least value 1 and shape 2; the density is then that of the logarithm",
        arguments: &[],
        lines: &["data {N}_log{S} : nonnegative = log({x} / 1)", "{N}_log{S} ~ Exponential(2)"],
    },
    Instead {
        names: &["Gumbel", "ExtremeValue", "Gev"],
        of: Of::Data,
        is: "its exponential is exponential",
        parameters: "with centre {mean} and scale {scale}; the density is then that of exp(-{N} / scale)",
        arguments: &["mean", "scale"],
        lines: &[
            "data {N}_exp{S} : positive = exp(-{x} / {simple})",
            "{N}_exp{S} ~ Exponential(exp({mean} / {simple}))",
        ],
    },
    Instead {
        names: &["Kumaraswamy"],
        of: Of::Data,
        is: "its power of the first shape is a Beta",
        parameters: "with shapes {a} and {b}; the density is then that of the power",
        arguments: &["a", "b"],
        lines: &["data {N}_power{S} : unit = {x}^{a}", "{N}_power{S} ~ Beta(1, {b})"],
    },
    Instead {
        names: &["LogLogistic", "Fisk"],
        of: Of::Data,
        is: "its power of the shape is a mixture of exponentials",
        parameters: "with shape {shape} and scale {scale}; the density is then that of the power",
        arguments: &["shape", "scale"],
        lines: &[
            "data {N}_power{S} : positive = {x}^{shape}",
            "{N}_rate{S} ~ Gamma(1, rate = {scale}^{shape})",
            "{N}_power{S} ~ Exponential({N}_rate{S})",
        ],
    },
    Instead {
        names: &[
            "LogNormal",
            "LNorm",
            "Weibull",
            "Weib",
            "WeibullMin",
            "Frechet",
            "InverseWeibull",
            "Rayleigh",
            "Maxwell",
            "MaxwellBoltzmann",
            "Nakagami",
            "Pareto",
            "Par",
            "LogLogistic",
            "Fisk",
        ],
        of: Of::Latents,
        is: "it has no closed-form factor of q",
        parameters: "a Gamma of about its mean and spread",
        arguments: &[],
        lines: &["{x} ~ Gamma(2, mean = 1)"],
    },
    Instead {
        names: &["LogitNormal", "Kumaraswamy"],
        of: Of::Latents,
        is: "it has no closed-form factor of q",
        parameters: "a Beta of about its mean and spread",
        arguments: &[],
        lines: &["{x} ~ Beta(2, 2)"],
    },
    Instead {
        names: &["Gumbel", "ExtremeValue", "Gev"],
        of: Of::Latents,
        is: "it has no closed-form factor of q",
        parameters: "a Normal of about its mean and spread",
        arguments: &[],
        lines: &["{x} ~ Normal(0.58, sd = 1.28)"],
    },
];

/// What a distribution of this name is, and the lines to write in its place; `None` for an unknown name.
pub fn in_place_of(statement: &ast::Distribution, observed: bool) -> Option<(&'static str, String)> {
    let side = if observed { Of::Data } else { Of::Latents };
    let names = |own: &&Instead| own.names.iter().any(|name| is_name(name, &statement.family.text));
    let all: Vec<&Instead> =
        TABLE.iter().filter(|own| own.of == Of::All || own.of == side).filter(names).collect();
    // Of several ways to give its arguments that of the statement.
    let told = all.iter().find(|own| given(own.arguments, &statement.arguments).is_some());
    let instead = *told.or(all.first())?;
    let target = &statement.target;
    let written = print_reference(target);
    let name = target.name.text.as_str();
    let subscripts = &written[name.len()..];
    let given = given(instead.arguments, &statement.arguments);
    let value = |key: &str, default: &str| {
        let found = given.iter().flatten().find(|(own, _)| *own == key);
        found.map_or(default.to_owned(), |(_, text)| text.clone())
    };
    let (scale, simple) =
        (value("scale", "1"), |text: &str| match text.contains(' ') || text.starts_with('-') {
            true => format!("({text})"),
            false => text.to_owned(),
        });
    let unit = scale == "1";
    let base = simple(&scale);
    let square = if unit { "1".to_owned() } else { format!("{base}^2") };
    let (plates, elements, slices) = parts(target);
    let one_more = match subscripts.strip_suffix(']') {
        Some(all) => format!("{all}, {name}_c]"),
        None => format!("[{name}_c]"),
    };
    let slice =
        |number: usize, default: &str| slices.get(number).map_or(default, |own| own.as_str()).to_owned();
    let (over, times, twice) = if unit {
        ("1".to_owned(), String::new(), "2".to_owned())
    } else {
        (format!("{base}^-2"), format!("{base}^-2 * "), format!("(2 * {base}^2)"))
    };
    let mean = value("mean", "0");
    let about = if mean == "0" { String::new() } else { format!("{mean} + ") };
    let (by, squared) =
        if unit { (String::new(), String::new()) } else { (format!("{base} * "), format!("{square} * ")) };
    let (lower, upper) = (simple(&value("lower", "0")), simple(&value("upper", "1")));
    let placed = match (lower.as_str(), upper.as_str()) {
        ("0", "1") => written.clone(),
        ("0", upper) => format!("{written} / {upper}"),
        (lower, upper) => format!("({written} - {lower}) / ({upper} - {lower})"),
    };
    let known = match value("share", "").as_str() {
        "" => ", and covariates of their shares cannot be kept".to_owned(),
        share => format!(
            "; the shares are learned, in place of {share}: known ones are `const {name}_share[{name}_c]`, without the Dirichlet, and their covariates \
             cannot be kept"
        ),
    };
    let fill = |text: &str| {
        text.replace("{known}", &known)
            .replace("{factor}", &simple(&value("rate", "1")))
            .replace("{x}", &written)
            .replace("{N}", name)
            .replace("{S}", subscripts)
            .replace("{C}", &one_more)
            .replace("{P}", &plates)
            .replace("{E}", &elements)
            .replace("{i}", &slice(0, "i"))
            .replace("{j}", &slice(1, "j"))
            .replace("{mean}", &mean)
            .replace("{about}", &about)
            .replace("{by}", &by)
            .replace("{squared}", &squared)
            .replace("{quantile}", &value("quantile", "0.3"))
            .replace("{slant}", &simple(&value("slant", "2")))
            .replace("{delay}", &value("delay", "1"))
            .replace("{lower}", &value("lower", "0"))
            .replace("{upper}", &value("upper", "1"))
            .replace("{placed}", &placed)
            .replace("{middle}", &simple(&value("middle", "1")))
            .replace("{level}", &simple(&value("level", "0")))
            .replace("{trials}", &simple(&value("trials", "10")))
            .replace("{a}", &simple(&value("a", "2")))
            .replace("{b}", &simple(&value("b", "3")))
            .replace("{scale}", &simple(&scale))
            .replace("{simple}", &base)
            .replace("{square}", &square)
            .replace("{shape}", &simple(&value("shape", "2")))
            .replace("{rate}", &value("rate", "1"))
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

/// Whether a name that a program uses is one of this table: up to case, underscores and the `d` of BUGS and R.
pub(super) fn is_name(name: &str, used: &str) -> bool {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let (name, used) = (plain(name), plain(used));
    used == name || used.strip_prefix('d') == Some(name.as_str())
}

/// Of a left: its subscripts that are no slices, itself without colons, and its slice letters.
fn parts(target: &ast::Reference) -> (String, String, Vec<String>) {
    let (mut plates, mut all, mut slices) = (Vec::new(), Vec::new(), Vec::new());
    for subscript in target.subscripts.iter().flatten() {
        match subscript {
            ast::Subscript::Slice(letter) => {
                all.push(letter.text.clone());
                slices.push(letter.text.clone());
            }
            ast::Subscript::Reference(inner) => {
                all.push(print_reference(inner));
                plates.push(print_reference(inner));
            }
        }
    }
    let bracketed =
        |own: &[String]| if own.is_empty() { String::new() } else { format!("[{}]", own.join(", ")) };
    (bracketed(&plates), format!("{}{}", target.name.text, bracketed(&all)), slices)
}
