//! Probabilities from log weights, and their entropies, row by row: `p_c = exp(l_c - m) / sum exp(l - m)` with `m`
//! the largest, and `-sum_c p_c ln p_c`.
//!
//! Rows are treated some at a time, so that exponentials and logarithms run over whole vectors however short a row is. The bits
//! of a row depend on nothing else. Error: a few units in the last place of `p_c`, and of the largest term of the entropy.

use super::{exp_in_place, ln_into};
use crate::Scratch;
use crate::reduce::{max, sum};

/// As many values are treated together.
const BLOCK: usize = 1024;

/// Makes probabilities of log weights, in place, in rows of `width`. Returns the first row without a finite weight, or with one
/// that is infinite or no number; the rows from it on are then of no use.
///
/// # Panics
/// If the values are no whole rows.
pub fn softmax_rows(values: &mut [f64], width: usize) -> Option<usize> {
    if values.is_empty() {
        return None;
    }
    assert!(width > 0 && values.len().is_multiple_of(width), "whole rows");
    let rows = (BLOCK / width).max(1);
    for (number, block) in values.chunks_mut(rows * width).enumerate() {
        for (row, own) in block.chunks_exact_mut(width).enumerate() {
            let largest = max(own);
            if !largest.is_finite() {
                return Some(number * rows + row);
            }
            own.iter_mut().for_each(|value| *value -= largest);
        }
        exp_in_place(block);
        for own in block.chunks_exact_mut(width) {
            let total = sum(own);
            own.iter_mut().for_each(|value| *value /= total);
        }
    }
    None
}

/// `-sum_c p_c ln p_c` of each row of `width` probabilities, where 0 ln 0 is 0.
///
/// # Panics
/// If there is not a row for each entropy.
pub fn entropy_rows(probabilities: &[f64], width: usize, entropies: &mut [f64]) {
    assert_eq!(probabilities.len(), entropies.len() * width, "a row for each entropy");
    if width == 0 {
        return entropies.fill(0.0);
    }
    let rows = (BLOCK / width).max(1);
    let mut terms = Scratch::zeros(probabilities.len().min(rows * width));
    for (block, entropies) in probabilities.chunks(rows * width).zip(entropies.chunks_mut(rows)) {
        let terms = &mut terms[..block.len()];
        ln_into(block, terms);
        terms
            .iter_mut()
            .zip(block)
            .for_each(|(term, own)| *term = if *own > 0.0 { own * *term } else { 0.0 });
        for (entropy, terms) in entropies.iter_mut().zip(terms.chunks_exact(width)) {
            *entropy = -sum(terms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::{exp, ln};

    #[test]
    fn are_their_formulas_in_any_company() {
        for width in [1, 2, 3, 8, 20, 130, 1500] {
            let weights: Vec<f64> =
                (0..7 * width).map(|place| (place * 7919 % 1013) as f64 / 50.0 - 10.0).collect();
            let mut all = weights.clone();
            assert_eq!(softmax_rows(&mut all, width), None);
            let mut entropies = vec![0.0; 7];
            entropy_rows(&all, width, &mut entropies);
            for (row, own) in all.chunks_exact(width).enumerate() {
                let mut alone = weights[row * width..(row + 1) * width].to_vec();
                let total: f64 = alone.iter().map(|weight| exp(*weight)).sum();
                for (own, weight) in own.iter().zip(&alone) {
                    assert!((own - exp(*weight) / total).abs() <= 4e-16 + 1e-14 * own, "{width}");
                }
                assert_eq!(softmax_rows(&mut alone, width), None);
                assert_eq!(alone, own, "a row by itself");
                let wanted: f64 = -own.iter().map(|own| own * ln(*own)).sum::<f64>();
                assert!((entropies[row] - wanted).abs() < 1e-13 * wanted.max(1.0));
                let mut by_itself = [0.0];
                entropy_rows(own, width, &mut by_itself);
                assert_eq!(by_itself[0], entropies[row]);
            }
        }
    }

    #[test]
    fn edges() {
        let mut values = [0.0, 0.0, f64::NEG_INFINITY, 3.0, 1000.0, -1000.0];
        assert_eq!(softmax_rows(&mut values, 2), None);
        assert_eq!(values, [0.5, 0.5, 0.0, 1.0, 1.0, 0.0]);
        let mut entropies = [1.0; 3];
        entropy_rows(&values, 2, &mut entropies);
        assert!((entropies[0] - std::f64::consts::LN_2).abs() < 1e-15);
        assert_eq!(entropies[1..], [0.0, 0.0]);
        for bad in [f64::NAN, f64::INFINITY] {
            assert_eq!(softmax_rows(&mut [0.0, 1.0, 0.0, bad], 2), Some(1));
        }
        assert_eq!(softmax_rows(&mut [f64::NEG_INFINITY; 3], 3), Some(0));
        assert_eq!(softmax_rows(&mut [], 0), None);
    }
}
