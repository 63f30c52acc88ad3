//! Rows of factors in single precision.
//!
//! Single precision holds numbers from `2^-126` on. Rows are therefore scaled by powers of two, which round nothing, and what
//! is below `2^-126` after that is stored as 0 (never as a number with fewer digits, which processors are slow with).
//! With `a_ik` the rows of `M` modes of `K` values, none above 2 in size, a sum `s = sum_k prod_i a_ik` loses less than
//! `K 2^(M - 127)`: relative to `s >= K 2^(M - 87)` ([`least_of_scaled`]) less than `2^-40`. Smaller sums are left out by the
//! pass ([`LogSum::least`](super::LogSum::least)), and their entries are treated in logarithms.

use crate::Threads;

/// Values that one task converts, about.
const CHUNK: usize = 1 << 14;

/// Factors whose largest value is within `2^-RANGE .. 2^RANGE` are stored as they are.
const RANGE: i32 = 20;

/// The exponent of `2^e <= |value| < 2^(e + 1)`, within -1000 .. 1000; 0 of what is 0, infinite or no number.
fn exponent(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).clamp(-1000, 1000)
}

/// `2^exponent` for exponents of normal numbers.
pub fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent));
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

fn single(value: f64) -> f32 {
    let own = value as f32;
    if own.abs() < f32::MIN_POSITIVE { 0.0 } else { own }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

/// `out[row, k] = values[row, k] / 2^e[row]`, the largest of each row of `length` values within 1 .. 2. A row that is 0, or has
/// an infinite value, is stored as it is. Rows begin `stride` values apart, in both; what is between them is stored as 0.
///
/// # Panics
/// If the slices do not hold the same rows, or rows overlap.
pub fn narrow_rows(
    values: &[f64],
    [length, stride]: [usize; 2],
    out: &mut [f32],
    exponents: &mut [i32],
    threads: &Threads,
) {
    assert!(length <= stride, "rows that do not overlap");
    assert!(values.len() == out.len() && values.len() == exponents.len() * stride, "rows of one length");
    if length == 0 {
        return out.fill(0.0);
    }
    let rows = (CHUNK / stride).max(1);
    threads.for_each_chunk_of_two((out, rows * stride), (exponents, rows), |chunk, out, exponents| {
        let from = &values[chunk * rows * stride..];
        for ((out, from), own) in out.chunks_exact_mut(stride).zip(from.chunks_exact(stride)).zip(exponents) {
            let (row, between) = out.split_at_mut(length);
            *own = exponent(largest(&from[..length]));
            let scale = power_of_two(-*own);
            row.iter_mut().zip(from).for_each(|(out, value)| *out = single(value * scale));
            between.fill(0.0);
        }
    });
}

/// The values without a scale, rows as in [`narrow_rows`]. Whether the largest is of ordinary size: where it is not they are better
/// left in doubles.
///
/// # Panics
/// If the slices differ in length, or rows overlap.
pub fn narrow(values: &[f64], [length, stride]: [usize; 2], out: &mut [f32], threads: &Threads) -> bool {
    assert!(length <= stride, "rows that do not overlap");
    assert_eq!(values.len(), out.len());
    if length == 0 {
        out.fill(0.0);
        return true;
    }
    let rows = (CHUNK / stride).max(1);
    threads.for_each_chunk(out, rows * stride, |chunk, out| {
        let from = values[chunk * rows * stride..].chunks_exact(stride);
        for (out, from) in out.chunks_exact_mut(stride).zip(from) {
            let (row, between) = out.split_at_mut(length);
            row.iter_mut().zip(from).for_each(|(out, value)| *out = single(*value));
            between.fill(0.0);
        }
    });
    let most = values.chunks_exact(stride).map(|row| largest(&row[..length])).fold(0.0, f64::max);
    most == 0.0 || (power_of_two(-RANGE)..=power_of_two(RANGE)).contains(&most)
}

/// The least sum over `length` products of `modes` values of scaled rows that loses less than `2^-40` of itself.
pub fn least_of_scaled(length: usize, modes: usize) -> f64 {
    least(length, modes as i32 - 87)
}

/// The same of factors without a scale, the largest value of each within `2^20`: each other mode may magnify a loss so.
pub fn least_of_narrow(length: usize, modes: usize) -> f64 {
    least(length, RANGE * (modes as i32 - 1) - 86)
}

fn least(length: usize, exponent: i32) -> f64 {
    (length.max(1) as f64 * power_of_two(exponent.clamp(-800, 800))).max(super::LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_scaled_by_powers_of_two() {
        let tiny = f64::MIN_POSITIVE / 1024.0;
        let values = [
            [3e-200, 1e-200, 0.0],
            [0.7, -1.9, 1e-60],
            [0.0, 0.0, 0.0],
            [f64::INFINITY, 1.0, 2.0],
            [1e300, 5e299, 1.0],
            [tiny, 0.0, tiny],
        ];
        let (mut out, mut exponents) = (vec![0.0; 18], vec![7; 6]);
        narrow_rows(values.as_flattened(), [3, 3], &mut out, &mut exponents, &Threads::one());
        for ((row, own), exponent) in values.iter().zip(out.chunks_exact(3)).zip(&exponents) {
            let scaled = row.map(|value| (value / power_of_two(*exponent)) as f32);
            let kept = scaled.map(|value| if value.abs() < f32::MIN_POSITIVE { 0.0 } else { value });
            assert_eq!(own, kept);
        }
        assert_eq!((exponents[1], exponents[2], exponents[3]), (0, 0, 0));
        assert!(out[0] >= 1.0 && out[0] < 2.0 && out[12] >= 1.0 && out[5] == 0.0);
    }

    /// What is between rows says nothing of their size.
    #[test]
    fn rows_may_stand_apart() {
        let values = [3e-10, 1e-10, 1.0, 1.0, -5e-10, 0.0, 1.0, 1e300];
        let (mut out, mut exponents) = ([7.0; 8], [7; 2]);
        narrow_rows(&values, [2, 4], &mut out, &mut exponents, &Threads::one());
        let scales = exponents.map(power_of_two);
        assert_eq!(out[..2], [(3e-10 / scales[0]) as f32, (1e-10 / scales[0]) as f32]);
        assert_eq!(out[4..6], [(-5e-10 / scales[1]) as f32, 0.0]);
        assert!(out[0] >= 1.0 && out[0] < 2.0 && out[4] <= -1.0 && out[4] > -2.0);
        assert_eq!((&out[2..4], &out[6..]), (&[0.0; 2][..], &[0.0; 2][..]));
        assert!(!narrow(&values, [2, 4], &mut out, &Threads::one()));
        assert_eq!(out, [3e-10, 1e-10, 0.0, 0.0, -5e-10, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn what_is_no_ordinary_size_is_refused() {
        let mut out = [0.0_f32; 3];
        for (values, fits) in [
            ([1e-3, 1.0, 7.0], true),
            ([0.0; 3], true),
            ([1e-9, 1e-8, 0.0], false),
            ([1e7, 1.0, 1.0], false),
            ([f64::INFINITY, 1.0, 1.0], false),
        ] {
            assert_eq!(narrow(&values, [3, 3], &mut out, &Threads::one()), fits, "{values:?}");
            assert_eq!(out, values.map(|value| value as f32));
        }
    }
}
