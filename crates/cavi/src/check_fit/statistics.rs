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

    /// The fewest entries of which its value follows from the data: the variance of one entry is 0, two lie evenly about their mean, and the kurtosis of three
    /// is 3 / 2, whatever they are.
    pub fn fewest(self) -> usize {
        match self {
            Statistic::Variance | Statistic::Dispersion | Statistic::Commonest | Statistic::Entropy => 2,
            Statistic::Skewness => 3,
            Statistic::Kurtosis => 4,
            Statistic::Zeros
            | Statistic::Mean
            | Statistic::Max
            | Statistic::Min
            | Statistic::Rows
            | Statistic::Columns => 1,
        }
    }

    /// Its value; NaN where it has none. Each of the `values` counts as often as it weighs; `rows` and `columns` are the places of each entry on
    /// the first and on the last axis, from 0 to the number that stands beside them. Where entries are pairs without an order, the places of one
    /// side of all of them are followed by those of the other.
    pub fn value(
        self,
        values: &[f64],
        weights: &[f64],
        rows: (&[u32], usize),
        columns: (&[u32], usize),
    ) -> f64 {
        let own = Weighted { values, weights };
        match self {
            Statistic::Zeros => own.sum(|value| f64::from(value == 0.0)) / own.count(),
            Statistic::Mean => own.mean(),
            Statistic::Variance => own.moment(2),
            Statistic::Dispersion => own.moment(2) / own.mean(),
            Statistic::Max => values.iter().copied().fold(f64::NAN, f64::max),
            Statistic::Min => values.iter().copied().fold(f64::NAN, f64::min),
            Statistic::Skewness => own.moment(3) / own.moment(2).powi(3).sqrt(),
            Statistic::Kurtosis => own.moment(4) / own.moment(2).powi(2),
            Statistic::Rows => own.spread_of_totals(rows),
            Statistic::Columns => own.spread_of_totals(columns),
            Statistic::Commonest => own.frequencies().into_iter().fold(f64::NAN, f64::max),
            Statistic::Entropy => {
                let parts = own.frequencies().into_iter().filter(|own| *own > 0.0);
                parts.map(|own| -own * ln(own)).sum()
            }
        }
    }
}

/// Numbers, each of which counts as often as it weighs.
struct Weighted<'a> {
    values: &'a [f64],
    weights: &'a [f64],
}

impl Weighted<'_> {
    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.values.iter().zip(self.weights).map(|(value, weight)| weight * of(*value)).sum()
    }

    fn count(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn mean(&self) -> f64 {
        self.sum(|value| value) / self.count()
    }

    /// The central moment of an order.
    fn moment(&self, order: i32) -> f64 {
        let centre = self.mean();
        self.sum(|value| (value - centre).powi(order)) / self.count()
    }

    /// The variance of totals over their mean. A place all of whose entries weigh alike is so many places with the same total; else each entry
    /// adds as often as it weighs.
    fn spread_of_totals(&self, (places, count): (&[u32], usize)) -> f64 {
        if count < 2 {
            return f64::NAN;
        }
        let mut own = vec![f64::NAN; count];
        let mut is_alike = true;
        // The places of the other sides of pairs come behind those of the first ones.
        let weights_of = || self.weights.iter().cycle();
        for (place, weight) in places.iter().zip(weights_of()) {
            let own = &mut own[*place as usize];
            is_alike &= own.is_nan() || *own == *weight;
            *own = *weight;
        }
        let mut totals = vec![0.0; count];
        for (place, (value, weight)) in places.iter().zip(self.values.iter().cycle().zip(weights_of())) {
            totals[*place as usize] += if is_alike { *value } else { weight * value };
        }
        let weights = if is_alike { own } else { vec![1.0; count] };
        let totals = Weighted { values: &totals, weights: &weights };
        totals.moment(2) / totals.mean()
    }

    /// The share of each class, from position 0 on.
    fn frequencies(&self) -> Vec<f64> {
        let count = self.count();
        let mut shares: Vec<f64> = Vec::new();
        for (value, weight) in self.values.iter().zip(self.weights) {
            let place = *value as usize;
            if shares.len() <= place {
                shares.resize(place + 1, 0.0);
            }
            shares[place] += weight / count;
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_definitions() {
        // scipy.stats.skew and kurtosis(fisher = False) of these numbers, and the others by hand.
        let values = [0.0, 0.0, 1.0, 2.0, 7.0, 2.0];
        let of = |own: Statistic| {
            own.value(&values, &[1.0; 6], (&[0, 0, 0, 1, 1, 1], 2), (&[0, 1, 2, 0, 1, 2], 3))
        };
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

    /// The three pairs of three nodes: the totals of the nodes are 1 + 2, 1 + 4 and 2 + 4, whichever side they stand on.
    #[test]
    fn a_pair_belongs_to_both_of_its_sides() {
        let of = |values: &[f64], places: &[u32]| {
            Statistic::Rows.value(values, &[1.0; 3], (places, 3), (&[0; 3], 1))
        };
        // Deviations of -5/3, 1/3 and 4/3 from 14/3.
        let expected = 42.0 / 9.0 / 3.0 / (14.0 / 3.0);
        // (0, 1), (0, 2), (1, 2), and the same with the nodes turned around: (1, 2) is (0, 1).
        assert!((of(&[1.0, 2.0, 4.0], &[0, 0, 1, 1, 2, 2]) - expected).abs() < 1e-12);
        assert!((of(&[4.0, 2.0, 1.0], &[0, 0, 1, 1, 2, 2]) - expected).abs() < 1e-12);
    }

    /// Rows, and columns, that count twice or not at all are those that stand twice or not at all.
    #[test]
    fn what_weighs_stands_as_often() {
        let all: [f64; 9] = [0.0, 3.0, 1.0, 2.0, 7.0, 2.0, 5.0, 5.0, 0.0];
        let table = |rows: &[usize], weight: &dyn Fn(usize) -> f64| {
            let mut own = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for (place, row) in rows.iter().enumerate() {
                for column in 0..3 {
                    own.0.push(all[3 * row + column]);
                    own.1.push(weight(*row));
                    own.2.push(place as u32);
                    own.3.push(column as u32);
                }
            }
            own
        };
        let (once, twice) = (table(&[0, 2], &|row| [2.0, 0.0, 1.0][row]), table(&[0, 0, 2], &|_| 1.0));
        for statistic in ALL {
            let of = |own: &(Vec<f64>, Vec<f64>, Vec<u32>, Vec<u32>), rows: usize| {
                let plain = statistic.value(&own.0, &own.1, (&own.2, rows), (&own.3, 3));
                // The same table turned around.
                (plain, statistic.value(&own.0, &own.1, (&own.3, 3), (&own.2, rows)))
            };
            let (one, other) = (of(&once, 2), of(&twice, 3));
            let close = |one: f64, other: f64| (one - other).abs() < 1e-12 * other.abs().max(1.0);
            let name = statistic.name();
            assert!(close(one.0, other.0) && close(one.1, other.1), "{name}: {one:?} and {other:?}");
        }
    }
}
