//! What it means that data lie beyond every replicate, by the statistic and by what the family of the statement predicts.

use cavi_families::Prediction;

use super::Row;
use super::statistics::Statistic;
use crate::summary::digits;

/// A number with four decimals, or of another size with five digits that matter.
///
/// # Example
/// ```
/// assert_eq!([0.0, 46.5, 1e-6, -0.05].map(cavi::check_fit::shown), ["0.0000", "46.5000", "1.0000e-6", "-0.05"]);
/// ```
pub fn shown(value: f64) -> String {
    match value == 0.0 || !value.is_finite() || (0.1..1e6).contains(&value.abs()) {
        true => format!("{value:.4}"),
        false => digits(value, 5),
    }
}

/// A sentence; `None` where the data lie among the replicates.
pub(super) fn verdict(row: &Row, statistic: Statistic, prediction: Prediction) -> Option<String> {
    if !row.is_beyond() {
        return None;
    }
    let is_more = row.observed > row.highest;
    let place =
        row.group.as_ref().map_or_else(|| format!("`{}`", row.name), |own| format!("`{}`, {own}", row.name));
    let (expected, found) = match statistic {
        Statistic::Zeros | Statistic::Commonest => {
            (format!("{:.1} %", row.mean * 100.0), format!("{:.1} %", row.observed * 100.0))
        }
        Statistic::Mean
        | Statistic::Variance
        | Statistic::Dispersion
        | Statistic::Max
        | Statistic::Min
        | Statistic::Skewness
        | Statistic::Kurtosis
        | Statistic::Rows
        | Statistic::Columns
        | Statistic::Entropy => (shown(row.mean), shown(row.observed)),
    };
    let (what, meaning) = meaning(statistic, is_more);
    let remedy = remedy(statistic, is_more, prediction).map(|own| format!("; {own}")).unwrap_or_default();
    Some(format!("{place}: the model expects {what} {expected}, the data have {found}: {meaning}{remedy}"))
}

/// The statistic in words, and what it says that the data have more or less of it.
fn meaning(statistic: Statistic, is_more: bool) -> (&'static str, &'static str) {
    let (what, more, less) = match statistic {
        Statistic::Zeros => {
            ("a share of zeros of", "more zeros than it can produce", "fewer zeros than it must produce")
        }
        Statistic::Mean => ("a mean of", "its level is too low", "its level is too high"),
        Statistic::Variance => {
            ("a variance of", "more spread than it can produce", "less spread than it must have")
        }
        Statistic::Dispersion => (
            "a variance over the mean of",
            "more dispersed than it can produce",
            "less dispersed than it must be",
        ),
        Statistic::Max => {
            ("a largest entry of", "larger entries than it can produce", "its entries reach too far up")
        }
        Statistic::Min => {
            ("a least entry of", "its entries reach too far down", "lower entries than it can produce")
        }
        Statistic::Skewness => (
            "a skewness of",
            "a longer tail upwards than it can produce",
            "a longer tail downwards than it can produce",
        ),
        Statistic::Kurtosis => {
            ("a kurtosis of", "heavier tails than it can produce", "lighter tails than it must have")
        }
        Statistic::Rows => (
            "a variance over the mean of the totals of rows of",
            "rows differ in their totals more than it allows",
            "rows differ in their totals less than it says",
        ),
        Statistic::Columns => (
            "a variance over the mean of the totals of columns of",
            "columns differ in their totals more than it allows",
            "columns differ in their totals less than it says",
        ),
        Statistic::Commonest => (
            "a share of the commonest class of",
            "one class is more frequent than it can produce",
            "classes are more even than it says",
        ),
        Statistic::Entropy => (
            "an entropy of the classes of",
            "classes are more even than it says",
            "classes are less even than it can produce",
        ),
    };
    (what, if is_more { more } else { less })
}

/// What would help, where statistic and family say it.
fn remedy(statistic: Statistic, is_more: bool, prediction: Prediction) -> Option<&'static str> {
    let text = match (statistic, is_more, prediction) {
        (Statistic::Zeros, true, Prediction::Rate) => {
            "a negative binomial (a rate of its own for each entry, under a Gamma) or zero inflation would, or more components"
        }
        (Statistic::Dispersion | Statistic::Max, true, Prediction::Rate) => {
            "a rate of its own for each entry, under a Gamma (a negative binomial), would, or more components"
        }
        (Statistic::Rows, true, _) => "an effect of each row would",
        (Statistic::Columns, true, _) => "an effect of each column would",
        (Statistic::Dispersion | Statistic::Max | Statistic::Zeros, true, Prediction::Units) => {
            "more components would, or proportions of its own for each row"
        }
        (Statistic::Kurtosis, true, Prediction::Density) => {
            "a precision of its own for each entry, under a Gamma (a Student t), would"
        }
        (Statistic::Max | Statistic::Min, _, Prediction::Density)
            if is_more == (statistic == Statistic::Max) =>
        {
            "a precision of its own for each entry, under a Gamma (a Student t), or a transformation of the data would"
        }
        (Statistic::Skewness, _, Prediction::Density) => {
            "a transformation of the data, such as a logarithm, may help"
        }
        (Statistic::Zeros, true, Prediction::Density) => {
            "values that pile up at 0 need a part of their own, such as counts or an indicator"
        }
        (Statistic::Variance, true, Prediction::Density) => {
            "a noise precision that is learned, or more components, would"
        }
        (
            Statistic::Zeros
            | Statistic::Mean
            | Statistic::Variance
            | Statistic::Dispersion
            | Statistic::Max
            | Statistic::Min
            | Statistic::Kurtosis
            | Statistic::Rows
            | Statistic::Columns
            | Statistic::Commonest
            | Statistic::Entropy
            | Statistic::Skewness,
            _,
            Prediction::Density
            | Prediction::Class
            | Prediction::Trial
            | Prediction::Units
            | Prediction::Rate,
        ) => return None,
    };
    Some(text)
}
