//! What is compared between data and replicates: numbers that say something of a set of entries.

use cavi_algebra::Support;
use cavi_families::Prediction;
use cavi_numerics::special::ln;

/// A number about some entries of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The share of entries that are 0.
    Zeros,
    /// The mean.
    Mean,
    /// The variance, divisor n.
    Variance,
    /// The variance over the mean.
    Dispersion,
    /// The greatest entry.
    Max,
    /// The least entry.
    Min,
    /// The third central moment over the third power of the standard deviation.
    Skewness,
    /// The fourth central moment over the square of the variance; 3 for a bell curve.
    Kurtosis,
    /// The variance of the totals of rows (positions on the first axis) over their mean.
    Rows,
    /// The same of columns (positions on the last axis).
    Columns,
    /// The share of the class that is most frequent.
    Commonest,
    /// The entropy of the frequencies of classes, in nats.
    Entropy,
}

/// All of them.
pub const ALL: [Statistic; 12] = [
    Statistic::Zeros,
    Statistic::Mean,
    Statistic::Variance,
    Statistic::Dispersion,
    Statistic::Max,
    Statistic::Min,
    Statistic::Skewness,
    Statistic::Kurtosis,
    Statistic::Rows,
    Statistic::Columns,
    Statistic::Commonest,
    Statistic::Entropy,
];

impl Statistic {
    /// As `--stat` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Zeros => "zeros",
            Statistic::Mean => "mean",
            Statistic::Variance => "variance",
            Statistic::Dispersion => "dispersion",
            Statistic::Max => "max",
            Statistic::Min => "min",
            Statistic::Skewness => "skewness",
            Statistic::Kurtosis => "kurtosis",
            Statistic::Rows => "rows",
            Statistic::Columns => "columns",
            Statistic::Commonest => "commonest",
            Statistic::Entropy => "entropy",
        }
    }

    /// Whether it has a meaning for data of a type. Totals need rows and columns, and those of rows whose total is given say nothing.
    pub fn suits(self, support: Support, dimensions: usize, prediction: Prediction) -> bool {
        let is_class = matches!(support, Support::Index(_));
        match self {
            Statistic::Commonest | Statistic::Entropy => is_class,
            Statistic::Zeros => matches!(support, Support::Count | Support::Nonnegative | Support::Real),
            Statistic::Dispersion => matches!(support, Support::Count | Support::Nonnegative),
            Statistic::Mean => !is_class,
            Statistic::Variance
            | Statistic::Max
            | Statistic::Min
            | Statistic::Skewness
            | Statistic::Kurtosis => !is_class && support != Support::Binary,
            Statistic::Rows => {
                dimensions > 1
                    && prediction != Prediction::Units
                    && matches!(support, Support::Count | Support::Nonnegative | Support::Binary)
            }
            Statistic::Columns => {
                dimensions > 1 && matches!(support, Support::Count | Support::Nonnegative | Support::Binary)
            }
        }
    }

    /// Whether it is looked at where none is asked for, among those that suit.
    pub fn by_default(self, support: Support) -> bool {
        let counts = matches!(support, Support::Count | Support::Nonnegative);
        match self {
            Statistic::Zeros | Statistic::Dispersion => counts,
            Statistic::Variance | Statistic::Min | Statistic::Skewness | Statistic::Kurtosis => !counts,
            Statistic::Mean
            | Statistic::Max
            | Statistic::Rows
            | Statistic::Columns
            | Statistic::Commonest
            | Statistic::Entropy => true,
        }
    }

    /// Its value; NaN where it has none. `rows` and `columns` are the places of each entry on the first and on the last axis, from 0 to
    /// the number that stands beside them.
    pub fn value(self, values: &[f64], rows: (&[u32], usize), columns: (&[u32], usize)) -> f64 {
        let count = values.len() as f64;
        match self {
            Statistic::Zeros => values.iter().filter(|value| **value == 0.0).count() as f64 / count,
            Statistic::Mean => mean(values),
            Statistic::Variance => moment(values, 2),
            Statistic::Dispersion => moment(values, 2) / mean(values),
            Statistic::Max => values.iter().copied().fold(f64::NAN, f64::max),
            Statistic::Min => values.iter().copied().fold(f64::NAN, f64::min),
            Statistic::Skewness => moment(values, 3) / moment(values, 2).powi(3).sqrt(),
            Statistic::Kurtosis => moment(values, 4) / moment(values, 2).powi(2),
            Statistic::Rows => spread_of_totals(values, rows),
            Statistic::Columns => spread_of_totals(values, columns),
            Statistic::Commonest => frequencies(values).into_iter().fold(f64::NAN, f64::max),
            Statistic::Entropy => {
                let parts = frequencies(values).into_iter().filter(|own| *own > 0.0);
                parts.map(|own| -own * ln(own)).sum()
            }
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The central moment of an order.
fn moment(values: &[f64], order: i32) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(order)).sum::<f64>() / values.len() as f64
}

fn spread_of_totals(values: &[f64], (places, count): (&[u32], usize)) -> f64 {
    if count < 2 {
        return f64::NAN;
    }
    let mut totals = vec![0.0; count];
    values.iter().zip(places).for_each(|(value, place)| totals[*place as usize] += value);
    moment(&totals, 2) / mean(&totals)
}

/// The share of each class, from position 0 on.
fn frequencies(values: &[f64]) -> Vec<f64> {
    let mut shares: Vec<f64> = Vec::new();
    for value in values {
        let place = *value as usize;
        if shares.len() <= place {
            shares.resize(place + 1, 0.0);
        }
        shares[place] += 1.0 / values.len() as f64;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_definitions() {
        // scipy.stats.skew and kurtosis(fisher = False) of these numbers, and the others by hand.
        let values = [0.0, 0.0, 1.0, 2.0, 7.0, 2.0];
        let of = |own: Statistic| own.value(&values, (&[0, 0, 0, 1, 1, 1], 2), (&[0, 1, 2, 0, 1, 2], 3));
        let expected = [
            (Statistic::Zeros, 1.0 / 3.0),
            (Statistic::Mean, 2.0),
            (Statistic::Variance, 17.0 / 3.0),
            (Statistic::Dispersion, 17.0 / 6.0),
            (Statistic::Max, 7.0),
            (Statistic::Min, 0.0),
            (Statistic::Skewness, 18.0 / (17.0_f64 / 3.0).powi(3).sqrt()),
            (Statistic::Kurtosis, (658.0 / 6.0) / (17.0_f64 / 3.0).powi(2)),
            // Rows have the totals 1 and 11, columns 2, 7 and 3.
            (Statistic::Rows, 25.0 / 6.0),
            (Statistic::Columns, (4.0 + 9.0 + 1.0) / 3.0 / 4.0),
            (Statistic::Commonest, 1.0 / 3.0),
        ];
        for (statistic, value) in expected {
            assert!(
                (of(statistic) - value).abs() < 1e-12,
                "{}: {} and {value}",
                statistic.name(),
                of(statistic)
            );
        }
    }
}
