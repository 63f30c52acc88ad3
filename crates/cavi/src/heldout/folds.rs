//! Cross-validation: so many fits, each without another part of the data, which it is then scored on.
//!
//! The parts are disjoint and of equal size, and together they are all entries (units, slices) of all data that the program predicts.
//! The mean of the scores of the parts says how well such a fit predicts, and their standard error, the standard deviation over
//! the parts divided by the square root of their number, how much that depends on the part. The fits share most of
//! their data, so that the standard error is a little too small (Bengio and Grandvalet 2004).

use serde_json::{Map, Value, json};

use super::{Asked, Baseline, Request, Score};
use crate::bind::Fold;
use crate::compile::Compiled;
use crate::directory::{number, score_json};

/// The fits of a cross-validation.
#[derive(Clone, Debug)]
pub struct Folds {
    /// How many parts there are: more than fits, if these were interrupted.
    pub of: usize,
    /// One fit a part, in order.
    pub fits: Vec<FoldFit>,
}

/// One fit of a cross-validation.
#[derive(Clone, Debug)]
pub struct FoldFit {
    /// How well it predicts the part that it was not given, one score an array.
    pub scores: Vec<Score>,
    /// The scores of the same parts by the means of rows and columns.
    pub means: Vec<Baseline>,
    /// Its last bound.
    pub elbo: f64,
    /// Its number of sweeps.
    pub sweeps: u64,
    /// Whether it converged.
    pub converged: bool,
}

/// The scores of one array over the parts, each that of an entry or unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Over {
    /// The array.
    pub name: String,
    /// The score of an entry or unit in each part; `None` where a part has none.
    pub each: Vec<Option<f64>>,
    /// Whether they are log probabilities; else log densities.
    pub discrete: bool,
    /// The score of an entry or unit by the means of rows and columns, in each part.
    pub means: Vec<Option<f64>>,
}

impl Over {
    /// The mean over the parts; `None` if none has a score.
    pub fn mean(&self) -> Option<f64> {
        mean(&self.each)
    }

    /// The standard error of the mean; `None` for fewer than two parts, and where a score is not finite.
    pub fn standard_error(&self) -> Option<f64> {
        standard_error(&self.each)
    }

    /// By how much an entry or unit is predicted better than by the means of rows and columns, in each part.
    pub fn differences(&self) -> Vec<Option<f64>> {
        let of = |(fit, means): (&Option<f64>, &Option<f64>)| Some(fit.as_ref()? - means.as_ref()?);
        self.each.iter().zip(&self.means).map(of).collect()
    }
}

/// The mean of the scores that there are.
pub fn mean(each: &[Option<f64>]) -> Option<f64> {
    let scored: Vec<f64> = each.iter().copied().flatten().collect();
    (!scored.is_empty()).then(|| scored.iter().sum::<f64>() / scored.len() as f64)
}

/// The standard error of their mean; `None` for fewer than two, and where one is not finite.
pub fn standard_error(each: &[Option<f64>]) -> Option<f64> {
    let scored: Vec<f64> = each.iter().copied().flatten().collect();
    let (mean, count) = (mean(each)?, scored.len() as f64);
    let squares: f64 = scored.iter().map(|own| (own - mean) * (own - mean)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    (scored.len() > 1 && error.is_finite()).then_some(error)
}

impl Folds {
    /// The scores of each array over the parts.
    pub fn arrays(&self) -> Vec<Over> {
        let Some(first) = self.fits.first() else { return Vec::new() };
        let over = |place: usize| Over {
            name: first.scores[place].name.clone(),
            each: self.fits.iter().map(|fit| fit.scores[place].per_unit()).collect(),
            discrete: first.scores[place].discrete,
            means: self.fits.iter().map(|fit| fit.means[place].score()?.per_unit()).collect(),
        };
        (0..first.scores.len()).map(over).collect()
    }

    /// As `summary.json` has them.
    pub fn json(&self) -> Value {
        let optional = |value: Option<f64>| value.map_or(Value::Null, number);
        let mut arrays = Map::new();
        for (place, own) in self.arrays().into_iter().enumerate() {
            let each: Vec<Value> =
                self.fits.iter().map(|fit| Value::Object(score_json(&fit.scores[place]))).collect();
            let numbers = |each: &[Option<f64>]| {
                json!({
                    "mean": optional(mean(each)),
                    "standard_error": optional(standard_error(each)),
                    "each": each.iter().map(|own| optional(*own)).collect::<Vec<_>>(),
                })
            };
            let mut means = numbers(&own.means);
            means["difference"] = numbers(&own.differences());
            arrays.insert(
                own.name.clone(),
                json!({
                    "mean": optional(own.mean()),
                    "standard_error": optional(own.standard_error()),
                    "each": each,
                    "means": means,
                }),
            );
        }
        let fits = self
            .fits
            .iter()
            .map(|fit| json!({ "elbo": number(fit.elbo), "sweeps": fit.sweeps, "converged": fit.converged }));
        json!({ "n_folds": self.of, "arrays": arrays, "fits": fits.collect::<Vec<_>>() })
    }
}

/// What is to be held out so that a fit is one of a cross-validation: one of so many parts of all data that the program predicts.
pub fn requests(compiled: &Compiled, number: usize, of: usize) -> Vec<Request> {
    let request =
        |name: &str| Request { name: name.to_owned(), group: None, what: Asked::Fold(Fold { number, of }) };
    compiled.predicted_data().into_iter().map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_error_is_that_of_a_mean() {
        let over = |each: &[Option<f64>]| Over {
            name: "y".to_owned(),
            each: each.to_vec(),
            discrete: false,
            means: Vec::new(),
        };
        // Deviations -1, 0, 1: variance 1, error 1 / sqrt 3.
        let three = over(&[Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!(three.mean(), Some(2.0));
        assert!((three.standard_error().unwrap() - 3.0_f64.sqrt().recip()).abs() < 1e-15);
        assert_eq!(over(&[Some(1.0), None]).standard_error(), None);
        assert_eq!(over(&[Some(1.0), Some(f64::NEG_INFINITY)]).standard_error(), None);
        assert_eq!(over(&[None]).mean(), None);
    }
}
