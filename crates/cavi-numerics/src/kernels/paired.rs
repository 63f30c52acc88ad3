//! What the bound pairs: `(p_i - n_i) e_i` of the natural parameters p of a prior and n of a factor of q, with the expectations e
//! of their statistics. Where p and n are equal that is 0, even if the expectation is infinite.

use crate::instruction_set;
use crate::instruction_set::dispatch;

/// Adds `(prior_i - natural_i) expectation_i` to each element of `out`; all slices have one length.
pub fn add_pairs(prior: &[f64], natural: &[f64], expectation: &[f64], out: &mut [f64]) {
    dispatch!(fn run(prior: &[f64], natural: &[f64], expectation: &[f64], out: &mut [f64]) = positive);
    check([prior, natural, expectation], out);
    run(instruction_set(), prior, natural, expectation, out);
}

/// The same of natural parameters with the opposite sign: adds `(prior_i + negative_i) expectation_i`.
pub fn add_negative_pairs(prior: &[f64], negative: &[f64], expectation: &[f64], out: &mut [f64]) {
    dispatch!(fn run(prior: &[f64], negative: &[f64], expectation: &[f64], out: &mut [f64]) = negated);
    check([prior, negative, expectation], out);
    run(instruction_set(), prior, negative, expectation, out);
}

fn check(slices: [&[f64]; 3], out: &[f64]) {
    assert!(slices.iter().all(|slice| slice.len() == out.len()), "pairs need slices of one length");
}

#[inline(always)]
fn positive<const FMA: bool>(prior: &[f64], natural: &[f64], expectation: &[f64], out: &mut [f64]) {
    add(prior, natural, expectation, out, |prior, natural| prior - natural);
}

#[inline(always)]
fn negated<const FMA: bool>(prior: &[f64], negative: &[f64], expectation: &[f64], out: &mut [f64]) {
    add(prior, negative, expectation, out, |prior, negative| prior + negative);
}

#[inline(always)]
fn add(
    prior: &[f64],
    own: &[f64],
    expectation: &[f64],
    out: &mut [f64],
    difference: impl Fn(f64, f64) -> f64,
) {
    for (((prior, own), expectation), out) in prior.iter().zip(own).zip(expectation).zip(out) {
        let difference = difference(*prior, *own);
        *out += if difference == 0.0 { 0.0 } else { difference * expectation };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parameters_pair_to_nothing() {
        let infinite = [f64::INFINITY, f64::NEG_INFINITY, 3.0, 3.0, 3.0];
        let prior = [1.0, 0.1, 2.0, 0.5, -1.5];
        let natural = [1.0, 0.1, 0.5, 2.0, 0.5];
        let mut out = [1.0; 5];
        add_pairs(&prior, &natural, &infinite, &mut out);
        assert_eq!(out, [1.0, 1.0, 5.5, -3.5, -5.0]);
        let mut again = [1.0; 5];
        add_negative_pairs(&prior, &natural.map(|value| -value), &infinite, &mut again);
        assert_eq!(again, out);
    }

    #[test]
    fn infinite_expectations_count_where_parameters_differ() {
        for length in [1, 8, 19] {
            let mut out = vec![0.0; length];
            let (one, two) = (vec![1.0; length], vec![2.0; length]);
            add_pairs(&one, &two, &vec![f64::NEG_INFINITY; length], &mut out);
            assert!(out.iter().all(|value| *value == f64::INFINITY));
        }
    }
}
