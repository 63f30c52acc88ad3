//! `ln sum_i exp x_i = m + ln sum_i exp(x_i - m)`, `m` the largest `x_i`.
//!
//! Error: a few units in the last place of `m` or of the result, whichever is larger. The sum runs in a fixed order.

use super::{exp_in_place, ln};
use crate::reduce::{max, sum};

/// `ln sum_i exp x_i`: minus infinity for no values at all, infinity if one is infinite, NaN if one is NaN.
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let largest = max(x);
    if !largest.is_finite() {
        return largest;
    }
    let mut buffer = [0.0; 128];
    let mut total = 0.0;
    for block in x.chunks(buffer.len()) {
        let buffer = &mut buffer[..block.len()];
        for (out, x) in buffer.iter_mut().zip(block) {
            *out = x - largest;
        }
        exp_in_place(buffer);
        total += sum(buffer);
    }
    largest + ln(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_and_edges() {
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[f64::NEG_INFINITY; 3]), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert!(log_sum_exp(&[1.0, f64::NAN]).is_nan());
        assert!((log_sum_exp(&[-1000.0; 300]) - (300.0_f64.ln() - 1000.0)).abs() < 1e-12);
        assert_eq!(log_sum_exp(&[2.5, f64::NEG_INFINITY]), 2.5);
    }
}
