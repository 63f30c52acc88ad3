//! What the places of the truth among draws of q say.
//!
//! Elements of a latent in one data set depend on each other, and data sets do not: each data set `r` gives one number for each question, the
//! mean over its elements. Were q the posterior, `p` would be uniform on (0, 1), and the means of
//!
//! ```text
//! s_r = mean_j (p_rj - 1/2)            whether q is shifted: above 0 the truth lies above it
//! w_r = mean_j 3 (2 p_rj - 1)^2 - 1    whether its width is right: above 0 it is too narrow
//! ```
//!
//! would be 0. Each is put to a t-test over data sets, and the two-sided p-values are multiplied by the number of tests (Bonferroni): two for
//! each latent.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A p-value below this is a finding.
const LEVEL: f64 = 0.01;

/// What is wrong with the q of a latent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The truth lies in its tails too often.
    Narrow,
    /// The truth lies in its middle too often.
    Wide,
    /// The truth lies above it.
    Low,
    /// The truth lies below it.
    High,
}

impl Finding {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Finding::Narrow => "too narrow",
            Finding::Wide => "too wide",
            Finding::Low => "too low",
            Finding::High => "too high",
        }
    }
}

/// How a latent is calibrated.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    /// The latent.
    pub name: String,
    /// How many elements it has in each data set.
    pub elements: usize,
    /// The mean of all places: 0.5 where q is not shifted.
    pub mean: f64,
    /// How often the central 90 % of q held the truth.
    pub coverage: f64,
    /// The p-value of a shift, for all tests together.
    pub p_shift: f64,
    /// The p-value of a wrong width, for all tests together.
    pub p_width: f64,
    /// The share of places in each tenth of (0, 1): 0.1 each where q is the posterior.
    pub histogram: [f64; 10],
    /// What is wrong, if anything: the question whose p-value is less.
    pub finding: Option<Finding>,
}

impl Calibrated {
    /// What its finding means, in words; `is_other` says that the data were drawn from another program.
    pub fn verdict(&self, is_other: bool) -> Option<String> {
        let Calibrated { name, mean, coverage, .. } = self;
        let prior = if is_other { ", or the prior is not the one that the data were drawn from" } else { "" };
        let held = format!("its 90 % intervals hold the truth in {:.0} % of cases", 100.0 * coverage);
        let shifted = |word: &str, share: f64, side: &str| {
            format!(
                "`{name}`: q is too {word}: on average {:.0} % of it lies {side} the truth. A factor, a bound or a point that it depends on draws \
                 it to one side{prior}",
                100.0 * share
            )
        };
        Some(match self.finding? {
            Finding::Narrow => format!(
                "`{name}`: q is too narrow: {held}. q takes apart what depends on each other, or the fit ends elsewhere than where the data \
                 come from{prior}; intervals by bootstrap are wider"
            ),
            Finding::Wide => format!("`{name}`: q is too wide: {held}{prior}"),
            Finding::Low => shifted("low", *mean, "below"),
            Finding::High => shifted("high", 1.0 - mean, "above"),
        })
    }

    /// From the places in each data set; `latents` are judged together. `None` where there are none.
    pub(super) fn of(name: String, places: &[&[f64]], latents: usize) -> Option<Calibrated> {
        let all = || places.iter().copied().flatten().copied();
        let count = all().count() as f64;
        if count == 0.0 {
            return None;
        }
        let of_each = |value: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let sets = places.iter().filter(|own| !own.is_empty());
            sets.map(|own| own.iter().map(|p| value(*p)).sum::<f64>() / own.len() as f64).collect()
        };
        let tests = 2.0 * latents as f64;
        let (shift, p_shift) = against_zero(&of_each(&|p| p - 0.5), tests);
        let (width, p_width) = against_zero(&of_each(&|p| 3.0 * (2.0 * p - 1.0).powi(2) - 1.0), tests);
        let mut histogram = [0.0; 10];
        all().for_each(|p| histogram[((p * 10.0) as usize).min(9)] += 1.0 / count);
        let finding = match (p_shift < LEVEL, p_width < LEVEL) {
            (false, false) => None,
            (true, other) if !other || p_shift <= p_width => {
                Some(if shift > 0.0 { Finding::Low } else { Finding::High })
            }
            _ => Some(if width > 0.0 { Finding::Narrow } else { Finding::Wide }),
        };
        Some(Calibrated {
            name,
            elements: places.iter().map(|own| own.len()).max().unwrap_or(0),
            mean: all().sum::<f64>() / count,
            coverage: all().filter(|p| (0.05..=0.95).contains(p)).count() as f64 / count,
            p_shift,
            p_width,
            histogram,
            finding,
        })
    }
}

/// The mean of numbers, and the two-sided p-value of a t-test of whether it is 0, times the number of tests.
fn against_zero(values: &[f64], tests: f64) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>() / (count - 1.0);
    let p = match StudentsT::new(0.0, 1.0, count - 1.0) {
        Ok(student) if variance > 0.0 => 2.0 * student.sf((mean / (variance / count).sqrt()).abs()),
        // Numbers that are all the same say that the mean is what they are.
        _ => f64::from(mean == 0.0),
    };
    (mean, (p * tests).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_scipy() {
        // scipy.stats.ttest_1samp([0.1, -0.2, 0.4, 0.3, 0.05], 0).pvalue
        let (mean, p) = against_zero(&[0.1, -0.2, 0.4, 0.3, 0.05], 1.0);
        assert!((mean - 0.13).abs() < 1e-15);
        assert!((p - 0.281_031_065_626_739_13).abs() < 1e-12, "{p}");
        assert_eq!(against_zero(&[0.1, -0.2, 0.4, 0.3, 0.05], 100.0).1, 1.0);
    }

    #[test]
    fn each_way_to_be_wrong_has_its_word() {
        let of = |place: &dyn Fn(f64) -> f64| {
            let places: Vec<Vec<f64>> =
                (0..100).map(|own| vec![place((f64::from(own) + 0.5) / 100.0)]).collect();
            let places: Vec<&[f64]> = places.iter().map(Vec::as_slice).collect();
            Calibrated::of("x".to_owned(), &places, 1).expect("places").finding
        };
        assert_eq!(of(&|p| p), None);
        assert_eq!(of(&|p| 0.5 + 0.5 * p), Some(Finding::Low));
        assert_eq!(of(&|p| p * p), Some(Finding::High));
        assert_eq!(of(&|p| 0.25 + 0.5 * p), Some(Finding::Wide));
        assert_eq!(
            of(&|p| 0.5 + 0.5 * (2.0 * p - 1.0).signum() * (2.0 * p - 1.0).abs().sqrt()),
            Some(Finding::Narrow)
        );
    }
}
