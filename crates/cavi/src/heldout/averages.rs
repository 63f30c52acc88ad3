//! Sums and averages of exponentials, in logarithms, entry by entry.

use cavi_numerics::special::{exp, ln};

/// `log sum_c w_c exp(x_c)` for each entry.
pub(super) struct LogSum {
    largest: Vec<f64>,
    sum: Vec<f64>,
}

impl LogSum {
    /// Of nothing.
    pub fn new(count: usize) -> LogSum {
        LogSum { largest: vec![f64::NEG_INFINITY; count], sum: vec![0.0; count] }
    }

    /// Adds an exponential for each entry, by its weight.
    pub fn add(&mut self, weights: &[f64], logs: &[f64]) {
        let own = self.largest.iter_mut().zip(&mut self.sum).zip(weights.iter().zip(logs));
        for ((largest, sum), (weight, log)) in own {
            if *weight == 0.0 || *log == f64::NEG_INFINITY {
                continue;
            }
            if *log > *largest {
                *sum = if *sum == 0.0 { 0.0 } else { *sum * exp(*largest - *log) };
                *largest = *log;
            }
            // A density that is infinite has no difference from itself.
            *sum += if log == largest { *weight } else { weight * exp(*log - *largest) };
        }
    }

    /// The logarithms.
    pub fn finish(self) -> Vec<f64> {
        self.over(1.0)
    }

    /// The logarithms of the sums over a number.
    fn over(self, number: f64) -> Vec<f64> {
        let of = |(largest, sum): (f64, f64)| {
            if sum == 0.0 { f64::NEG_INFINITY } else { largest + ln(sum / number) }
        };
        self.largest.into_iter().zip(self.sum).map(of).collect()
    }
}

/// The log of an average of exponentials for each entry.
pub(super) struct LogAverage {
    sum: LogSum,
    ones: Vec<f64>,
    count: f64,
}

impl LogAverage {
    /// Of nothing.
    pub fn new(entries: usize) -> LogAverage {
        LogAverage { sum: LogSum::new(entries), ones: vec![1.0; entries], count: 0.0 }
    }

    /// Adds an exponential for each entry.
    pub fn add(&mut self, logs: &[f64]) {
        self.sum.add(&self.ones, logs);
        self.count += 1.0;
    }

    /// The logarithms. Of equal exponentials it is what each of them was, to the bit.
    pub fn finish(self) -> Vec<f64> {
        self.sum.over(self.count)
    }
}

/// How many draws the average of exponentials rests on, for each entry: `(sum_i w_i)^2 / sum_i w_i^2`, the number of all where they are alike, 1 where one of
/// them is all there is.
///
/// # Source
/// Kong, A note on importance sampling using standardized weights, 1992.
pub(super) struct Effective {
    sums: LogSum,
    squares: LogSum,
    ones: Vec<f64>,
}

impl Effective {
    /// Of nothing.
    pub fn new(entries: usize) -> Effective {
        Effective { sums: LogSum::new(entries), squares: LogSum::new(entries), ones: vec![1.0; entries] }
    }

    /// Adds a draw.
    pub fn add(&mut self, logs: &[f64]) {
        self.sums.add(&self.ones, logs);
        let twice: Vec<f64> = logs.iter().map(|own| 2.0 * own).collect();
        self.squares.add(&self.ones, &twice);
    }

    /// The numbers; 0 where no draw has any.
    pub fn finish(self) -> Vec<f64> {
        let own = self.sums.finish().into_iter().zip(self.squares.finish());
        own.map(|(sum, square)| if sum.is_finite() { exp(2.0 * sum - square) } else { 0.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_rests_on_the_draws_that_make_it() {
        let mut effective = Effective::new(3);
        // Alike; one of four; 3, 1, 1, 1 of which (3 + 3)^2 / (9 + 3).
        for draw in 0..4 {
            let alone = if draw == 2 { -700.0 } else { f64::NEG_INFINITY };
            effective.add(&[-1234.5, alone, if draw == 0 { ln(3.0) } else { 0.0 }]);
        }
        let found = effective.finish();
        for (found, expected) in found.iter().zip([4.0, 1.0, 3.0]) {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
    }

    #[test]
    fn averages_are_those_of_exponentials() {
        let mut average = LogAverage::new(3);
        average.add(&[ln(2.0), -2000.0, f64::NEG_INFINITY]);
        average.add(&[ln(4.0), f64::NEG_INFINITY, f64::NEG_INFINITY]);
        let found = average.finish();
        assert!((found[0] - ln(3.0)).abs() < 1e-15);
        assert_eq!(found[1..], [-2000.0 - ln(2.0), f64::NEG_INFINITY]);
        let mut same = LogAverage::new(2);
        (0..3).for_each(|_| same.add(&[-1234.567, f64::INFINITY]));
        assert_eq!(same.finish(), [-1234.567, f64::INFINITY]);
        let mut sum = LogSum::new(1);
        sum.add(&[0.25], &[ln(8.0)]);
        sum.add(&[0.0], &[f64::INFINITY]);
        assert!((sum.finish()[0] - ln(2.0)).abs() < 1e-15);
    }
}
