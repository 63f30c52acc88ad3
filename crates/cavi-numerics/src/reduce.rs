//! Sums in a fixed order: `sum_i x_i`, `sum_i x_i y_i`, `max_i x_i`.
//!
//! Blocks of 128 values are summed in eight lanes, the lanes in a fixed order, and the blocks pairwise as a tree over
//! their number. Error: about `(16 + log2(n / 128)) eps sum |x|`. The bits depend on the length alone; only [`dot`]
//! depends on the instruction set, through the rounding of its multiply-add.
//!
//! # Source
//! N. J. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14, 1993 (pairwise summation).

use crate::instruction_set;
use crate::instruction_set::{dispatch, fma};

const BLOCK: usize = 128;
const LANES: usize = 8;

/// `sum_i x_i`.
pub fn sum(x: &[f64]) -> f64 {
    dispatch!(fn run(x: &[f64]) -> f64 = sum_body);
    run(instruction_set(), x)
}

/// `sum_i x_i y_i` over slices of the same length.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    dispatch!(fn run(x: &[f64], y: &[f64]) -> f64 = dot_body);
    assert_eq!(x.len(), y.len(), "a dot product needs slices of one length");
    run(instruction_set(), x, y)
}

/// The largest element: minus infinity if there is none, NaN if one is NaN.
pub fn max(x: &[f64]) -> f64 {
    dispatch!(fn run(x: &[f64]) -> f64 = max_body);
    run(instruction_set(), x)
}

/// Whether a value is NaN.
pub fn has_nan(x: &[f64]) -> bool {
    dispatch!(fn run(x: &[f64]) -> bool = has_nan_body);
    run(instruction_set(), x)
}

#[inline(always)]
fn has_nan_body<const FMA: bool>(x: &[f64]) -> bool {
    // Without an early end within a block the search is one of vectors.
    x.chunks(BLOCK).any(|block| block.iter().fold(false, |found, x| found | x.is_nan()))
}

#[inline(always)]
fn combine(lanes: [f64; LANES]) -> f64 {
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}

/// The sum of `block(0), ..., block(blocks - 1)` as a balanced tree, without recursion: a stack of partial sums, merged as
/// a binary counter carries.
#[inline(always)]
fn tree(blocks: usize, block: impl Fn(usize) -> f64) -> f64 {
    let mut stack = [0.0; usize::BITS as usize];
    let mut depth = 0;
    for index in 0..blocks {
        let mut value = block(index);
        let mut carry = index + 1;
        while carry & 1 == 0 {
            depth -= 1;
            value += stack[depth];
            carry >>= 1;
        }
        stack[depth] = value;
        depth += 1;
    }
    let mut total = 0.0;
    while depth > 0 {
        depth -= 1;
        total += stack[depth];
    }
    total
}

#[inline(always)]
fn sum_body<const FMA: bool>(x: &[f64]) -> f64 {
    tree(x.len().div_ceil(BLOCK), |index| {
        let block = &x[index * BLOCK..x.len().min((index + 1) * BLOCK)];
        let mut lanes = [0.0; LANES];
        let (rows, rest) = block.as_chunks::<LANES>();
        for row in rows {
            for (lane, x) in lanes.iter_mut().zip(row) {
                *lane += x;
            }
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            *lane += x;
        }
        combine(lanes)
    })
}

#[inline(always)]
fn dot_body<const FMA: bool>(x: &[f64], y: &[f64]) -> f64 {
    tree(x.len().div_ceil(BLOCK), |index| {
        let range = index * BLOCK..x.len().min((index + 1) * BLOCK);
        let (x_rows, x_rest) = x[range.clone()].as_chunks::<LANES>();
        let (y_rows, y_rest) = y[range].as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for (x, y) in x_rows.iter().zip(y_rows) {
            for lane in 0..LANES {
                lanes[lane] = fma::<FMA>(x[lane], y[lane], lanes[lane]);
            }
        }
        for (lane, (x, y)) in lanes.iter_mut().zip(x_rest.iter().zip(y_rest)) {
            *lane = fma::<FMA>(*x, *y, *lane);
        }
        combine(lanes)
    })
}

#[inline(always)]
fn max_body<const FMA: bool>(x: &[f64]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; LANES];
    let (rows, rest) = x.as_chunks::<LANES>();
    // A NaN fails the comparison and is taken; once in a lane it stays, since nothing is at least it.
    let larger = |lane: f64, x: f64| if lane >= x || lane.is_nan() { lane } else { x };
    for row in rows {
        for (lane, x) in lanes.iter_mut().zip(row) {
            *lane = larger(*lane, *x);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = larger(*lane, *x);
    }
    lanes.into_iter().fold(f64::NEG_INFINITY, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_right_at_every_length() {
        for length in (0..300).chain([1000, 4096, 100_001]) {
            let x: Vec<f64> = (0..length).map(|i| i as f64).collect();
            let n = length as f64;
            assert_eq!(sum(&x), n * (n - 1.0) / 2.0 * f64::from(length > 0));
            let ones = vec![1.0; length];
            assert_eq!(dot(&x, &ones), sum(&x));
            assert_eq!(max(&x), if length == 0 { f64::NEG_INFINITY } else { n - 1.0 });
        }
    }

    #[test]
    fn a_sum_of_tenths_loses_little() {
        let x = vec![0.1; 1_000_000];
        assert!((sum(&x) - 100_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_nan_is_found_wherever_it_stands() {
        for length in [0, 1, 20, 128, 300] {
            let mut x = vec![f64::INFINITY; length];
            assert!(!has_nan(&x), "{length}");
            for position in 0..length {
                x[position] = f64::NAN;
                assert!(has_nan(&x), "{position} of {length}");
                x[position] = -0.0;
            }
        }
    }

    #[test]
    fn the_maximum_keeps_nan() {
        for position in 0..20 {
            let mut x = vec![1.0; 20];
            x[position] = f64::NAN;
            assert!(max(&x).is_nan());
        }
        assert_eq!(max(&[f64::NEG_INFINITY]), f64::NEG_INFINITY);
    }
}
