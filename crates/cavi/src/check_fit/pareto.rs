//! Pareto smoothed importance sampling: how heavy the right tail of importance weights is.
//!
//! The M largest of S weights, `M = min(S / 5, 3 sqrt S)`, less the largest weight below them, are taken for draws of a generalised Pareto
//! distribution; its shape k says which moments the weights have: below 1/2 a variance, below 1 a mean. The shape is the posterior mean
//! of Zhang and Stephens (2009) on a grid, drawn a little towards 1/2 by a prior worth 10 draws.
//!
//! # Source
//! Vehtari, Simpson, Gelman, Yao, Gabry (2024), "Pareto smoothed importance sampling"; Zhang, Stephens (2009), "A new and efficient estimation
//! method for the generalized Pareto distribution"; of what k says about q: Yao, Vehtari, Simpson, Gelman (2018), "Yes, but did it work?".

use cavi_numerics::special::{exp, ln};

/// Weights whose logs have no larger standard deviation than this are equal: they are so to six digits, and the divergence of q from the
/// posterior, about half the variance of the logs, is below 1e-12. What rounding and a fit that has all but converged leave is less.
const EQUAL: f64 = 1e-6;

/// The rounding of a log weight, as a share of its size: it is a sum of many terms.
const ROUNDING: f64 = 1e-12;

/// The estimated shape k of the tail of weights with these logs: minus infinity where all are equal to six digits, infinite where the tail
/// has fewer than 5 weights, NaN where a log is.
pub fn k_hat(log_weights: &[f64]) -> f64 {
    if log_weights.iter().any(|log| log.is_nan()) {
        return f64::NAN;
    }
    let mut logs = log_weights.to_vec();
    logs.sort_by(f64::total_cmp);
    let Some(largest) = logs.last().copied() else { return f64::INFINITY };
    if deviation(&logs) <= EQUAL.max(ROUNDING * largest.abs()) {
        return f64::NEG_INFINITY;
    }
    let count = logs.len() as f64;
    let tail = (count / 5.0).min(3.0 * count.sqrt()).ceil() as usize;
    let Some(place) = logs.len().checked_sub(tail + 1) else { return f64::INFINITY };
    // Weights are relative to the largest; below the least positive number there is none.
    let cut = (logs[place] - largest).max(ln(f64::MIN_POSITIVE));
    let above: Vec<f64> = logs
        .iter()
        .map(|log| log - largest)
        .filter(|log| *log > cut)
        .map(|log| exp(log) - exp(cut))
        .collect();
    if above.len() < 5 {
        return f64::INFINITY;
    }
    shape(&above)
}

/// The standard deviation of numbers.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>() / count).sqrt()
}

/// The shape of a generalised Pareto distribution, given draws in ascending order.
fn shape(draws: &[f64]) -> f64 {
    let count = draws.len() as f64;
    let points = 30 + count.sqrt() as usize;
    let quartile = draws[(count / 4.0 + 0.5) as usize - 1];
    let largest = draws[draws.len() - 1];
    let mean_log = |b: f64| draws.iter().map(|draw| ln(1.0 - b * draw)).sum::<f64>() / count;
    // The profile of the log likelihood over a grid of b = -k / sigma.
    let grid: Vec<f64> = (1..=points)
        .map(|point| (1.0 - (points as f64 / (point as f64 - 0.5)).sqrt()) / (3.0 * quartile) + 1.0 / largest)
        .collect();
    let profile: Vec<f64> = grid
        .iter()
        .map(|b| {
            let k = mean_log(*b);
            count * (ln(-b / k) - k - 1.0)
        })
        .collect();
    let weights: Vec<f64> =
        profile.iter().map(|own| 1.0 / profile.iter().map(|other| exp(other - own)).sum::<f64>()).collect();
    let kept = |weight: &f64| *weight >= 10.0 * f64::EPSILON;
    let total: f64 = weights.iter().filter(|weight| kept(weight)).sum();
    let b = grid
        .iter()
        .zip(&weights)
        .filter(|(_, weight)| kept(weight))
        .map(|(b, weight)| b * weight)
        .sum::<f64>()
        / total;
    (count * mean_log(b) + 10.0 * 0.5) / (count + 10.0)
}
