//! Values that are known to a limit only (censored), and densities that are confined to a range (truncated): the words by which
//! other systems say so, and how the same is written here.

/// What is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// A value of which only a limit is known.
    Censored,
    /// A density on a part of its range, with the mass outside of it shared out.
    Truncated,
    /// A word that says one or the other.
    Either,
}

/// What a word says of the values that it stands beside: `censored`, `right_cens`, `dinterval`, `truncated`, and the `T(a, b)`,
/// `I(a, b)`, `C(a, b)` and `T[a, b]` of BUGS, JAGS and Stan.
///
/// ```
/// use cavi_syntax::{CutOff, cut_off};
/// assert_eq!(cut_off("rightCensored"), Some(CutOff::Censored));
/// assert_eq!(cut_off("T"), Some(CutOff::Truncated));
/// assert_eq!(cut_off("tau"), None);
/// ```
pub fn cut_off(word: &str) -> Option<CutOff> {
    if let Some(found) = cut_off_by_name(word) {
        return Some(found);
    }
    match word {
        "T" => Some(CutOff::Truncated),
        "C" => Some(CutOff::Censored),
        "I" => Some(CutOff::Either),
        "lower" | "upper" | "low" | "high" | "lb" | "ub" | "min" | "max" | "bounds" | "bound" | "range"
        | "limits" | "in" | "within" | "between" => Some(CutOff::Truncated),
        "limit" | "interval" | "status" | "event" => Some(CutOff::Censored),
        _ => None,
    }
}

/// The same of a name that says so wherever it stands, as that of a family: `Truncated`, `dinterval`, `censored_normal`.
pub fn cut_off_by_name(word: &str) -> Option<CutOff> {
    let plain = word.replace('_', "").to_lowercase();
    if plain.contains("censor") || plain == "cens" || plain.ends_with("cens") || plain == "dinterval" {
        return Some(CutOff::Censored);
    }
    (plain.contains("truncat") || plain == "trunc" || plain == "zerotruncated").then_some(CutOff::Truncated)
}

impl CutOff {
    /// How the same is written here, of a variable of this name.
    pub fn advice(self, name: &str) -> String {
        let name = if name.is_empty() { "x" } else { name };
        let censored = format!(
            "of a censored value only a limit is known: bind the limits as data of their own, beside the values that are known, and \
             let a latent be how far above its limit a value lies (`+` in place of `-` for values below), with mean and precision as \
             those of `{name}`:\n  \
             axis cut[m]\n  \
             data {name}_limit[m] : real\n  \
             {name}_beyond[m] ~ Exponential(1e-6)\n  \
             {name}_limit[m] ~ Normal(mean - {name}_beyond[m], prec = precision)\n\
             waiting times under `Exponential(rate)` have the same posterior as counts of their ends, `data {name}_event[n] : count` \
             (1, or 0 where it is censored) with `{name}_event[n] ~ Poisson(rate * {name}_waited[n])`"
        );
        let truncated = format!(
            "a family has its range: of a latent, `HalfNormal(sd = 1)` or `TruncatedNormal(0, sd = 1)` on [0, inf), `Gamma(1, rate = 1)` \
             on (0, inf), `Beta(1, 1)` on [0, 1]; another range is made of such a latent, `low + (high - low) * {name}`. Of data, \
             the mass inside a range has no bound: leave the range out where nearly all mass lies inside, and declare the \
             values as `nonnegative`, `positive` or `unit`"
        );
        match self {
            CutOff::Censored => censored,
            CutOff::Truncated => truncated,
            CutOff::Either => format!("{truncated}\n{censored}"),
        }
    }

    /// What was found, in a word.
    pub fn word(self) -> &'static str {
        match self {
            CutOff::Censored => "censored values",
            CutOff::Truncated => "a truncated density",
            CutOff::Either => "a range",
        }
    }
}
