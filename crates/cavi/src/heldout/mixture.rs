//! The prediction of several posteriors: what each predicts, averaged.
//!
//! Several posteriors of one problem predict as their equal mixture does, `1/F sum_f q_f`: the prediction of an entry (of a slice
//! that is one observation, the slice; of counts, one unit) is the average of their predictions,
//! `log 1/F sum_f exp(log E_{q_f} p(y | latents))`, and thinned counts of a Poisson have their rate at its mean under the
//! mixture, the average of the means. Both are concave in what is averaged, so that by Jensen's inequality the score is at least
//! the mean of the posteriors' own.

use cavi_algebra::evaluate::Accumulator;
use cavi_numerics::special::exp;
use cavi_syntax::Diagnostic;

use super::averages::LogAverage;
use super::predict::{FEWEST_DRAWS, Predictor, Score, weighted};
use crate::bind::Hidden;
use crate::compare::ByEntry;

/// What a posterior predicts of the held-out part of an array.
pub(super) struct Predicted {
    pub name: String,
    pub discrete: bool,
    /// Whether units are scored given how many their row has.
    pub given_totals: bool,
    /// How often each entry counts.
    pub counts: Vec<f64>,
    /// Whether there is something to predict where no entry is held out.
    pub of_nothing: bool,
    /// The log of the prediction of each entry, in each batch of draws; one batch where it is exact.
    pub batches: Vec<Vec<f64>>,
    /// What is subtracted beside the logs, in each batch.
    pub rests: Vec<f64>,
    /// On how many draws the average of each entry rests, in the posterior that has the fewest; nothing where it is exact.
    pub effective: Vec<f64>,
}

/// The score of the held-out part of an array under the equal mixture of posteriors.
pub(super) fn score(predictors: &[Predictor<'_>], hidden: &Hidden) -> Result<Score, Box<Diagnostic>> {
    let (first, others) = predictors.split_first().expect("a score is that of at least one posterior");
    let mut predicted = first.predict(hidden)?;
    if !others.is_empty() {
        predicted.mix(others, hidden)?;
    }
    let Predicted { name, discrete, given_totals, counts, of_nothing, batches, rests, effective } = predicted;
    let is_poor = |(count, draws): (&f64, &f64)| *count > 0.0 && *draws < FEWEST_DRAWS;
    let poor = counts.iter().zip(&effective).filter(|own| is_poor(*own)).count();
    let (log_predictive, standard_error) = summed(&batches, &rests, &counts);
    // Units of no count leave their rate behind, and are no units.
    let units = counts.iter().copied().collect::<Accumulator>().total();
    let log_predictive = if counts.is_empty() && !of_nothing { 0.0 } else { log_predictive };
    Ok(Score { name, log_predictive, standard_error, units, discrete, given_totals, poor })
}

impl Predicted {
    /// The log of the prediction of each entry, and what is subtracted beside.
    pub fn by_entry(self) -> ByEntry {
        let Predicted { name, discrete, counts, of_nothing, batches, rests, .. } = self;
        let mut average = LogAverage::new(counts.len());
        batches.iter().for_each(|batch| average.add(batch));
        let rest = rests.iter().sum::<f64>() / rests.len().max(1) as f64;
        ByEntry { array: name, counts, logs: average.finish(), rest, of_rates: of_nothing, discrete }
    }

    /// Averages the prediction with those of other posteriors, batch by batch: a batch has the same draws' numbers in each.
    fn mix(&mut self, others: &[Predictor<'_>], hidden: &Hidden) -> Result<(), Box<Diagnostic>> {
        let of = |logs: &Vec<f64>| {
            let mut average = LogAverage::new(logs.len());
            average.add(logs);
            average
        };
        let mut averages: Vec<LogAverage> = self.batches.iter().map(of).collect();
        for other in others {
            let own = other.predict(hidden)?;
            assert_eq!(
                own.batches.len(),
                averages.len(),
                "whether a prediction is exact follows from the program"
            );
            averages.iter_mut().zip(&own.batches).for_each(|(average, logs)| average.add(logs));
            self.rests.iter_mut().zip(&own.rests).for_each(|(sum, rest)| *sum += rest);
            self.effective.iter_mut().zip(&own.effective).for_each(|(least, own)| *least = least.min(*own));
        }
        self.batches = averages.into_iter().map(LogAverage::finish).collect();
        self.rests.iter_mut().for_each(|rest| *rest /= 1.0 + others.len() as f64);
        Ok(())
    }
}

/// The sum over entries of the log of their average over batches, less the average of the rests; with its standard error where
/// there are several batches.
fn summed(batches: &[Vec<f64>], rests: &[f64], counts: &[f64]) -> (f64, Option<f64>) {
    let mut sum = Accumulator::default();
    let mut totals = vec![0.0; batches.len()];
    for (entry, count) in counts.iter().enumerate() {
        let mut average = LogAverage::new(1);
        batches.iter().for_each(|batch| average.add(&batch[entry..=entry]));
        let log = average.finish()[0];
        sum.add(weighted(*count, log));
        if log.is_finite() {
            for (total, batch) in totals.iter_mut().zip(batches) {
                *total += count * exp(batch[entry] - log);
            }
        }
    }
    let number = batches.len() as f64;
    let log_predictive = sum.total() - rests.iter().sum::<f64>() / number;
    if batches.len() == 1 {
        return (log_predictive, None);
    }
    totals.iter_mut().zip(rests).for_each(|(total, rest)| *total -= rest);
    let middle = totals.iter().sum::<f64>() / number;
    let squares: f64 = totals.iter().map(|total| (total - middle) * (total - middle)).sum();
    (log_predictive, Some((squares / (number * (number - 1.0))).sqrt()))
}
