//! `W = L^-1` of a covariance `A = L L'`: `W x` has the covariance I where x has A, and `x = L (W x)`.
//!
//! Where A has a Cholesky factor it is A's own. A covariance that is positive semi-definite up to rounding may have
//! none: then `A + j I` is factorised with the smallest jitter j of the ladder `10^k` times the mean of the diagonal,
//! k = -16, -15, ..., -6, that has one. A matrix that has no factor with the largest jitter is refused as a
//! covariance.
//!
//! With the rows of W known above row i, `W_i = (e_i - sum_{p<i} L_ip W_p) / L_ii`, so W takes the place of L row by row:
//! n^3 / 3 multiply-adds for the factor and n^3 / 6 for its inverse. W is used with `L x = b` solved as `W b = x` and the
//! reverse (`solve_lower`, `solve_upper` of W), so that a product with it and its inverse are consistent to rounding however
//! ill-conditioned A is; the elements of `A^-1`, whose errors are the square of theirs, are never formed.

use super::{NotPositive, cholesky};

/// The exponents of the ladder: jitters are these powers of ten of the mean of the diagonal.
const LADDER: std::ops::RangeInclusive<i32> = -16..=-6;

/// `W`, lower triangular with zeros above the diagonal, row by row, and the jitter that it took, 0 in most cases.
///
/// # Errors
/// The row at which the factorisation stops with the largest jitter of the ladder.
pub fn whitening(a: &[f64]) -> Result<(Vec<f64>, f64), NotPositive> {
    let n = a.len().isqrt();
    assert_eq!(a.len(), n * n, "a square matrix");
    let mean = (0..n).map(|i| a[i * n + i]).sum::<f64>() / n.max(1) as f64;
    let ladder = LADDER.map(|exponent| mean * 10_f64.powi(exponent));
    let mut last = NotPositive { pivot: 0 };
    for jitter in std::iter::once(0.0).chain(ladder) {
        let mut factor = a.to_vec();
        (0..n).for_each(|i| factor[i * n + i] += jitter);
        match cholesky(n, &mut factor) {
            Ok(()) => {
                invert(n, &mut factor);
                return Ok((factor, jitter));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Replaces a lower triangular matrix by its inverse.
fn invert(n: usize, factor: &mut [f64]) {
    let mut row = vec![0.0; n];
    for i in 0..n {
        let (above, rest) = factor.split_at_mut(i * n);
        let own = &mut rest[..=i];
        row[..=i].copy_from_slice(own);
        own.fill(0.0);
        for p in 0..i {
            for (value, other) in own.iter_mut().zip(&above[p * n..=p * n + p]) {
                *value -= row[p] * other;
            }
        }
        own[i] = 1.0;
        own.iter_mut().for_each(|value| *value /= row[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covariance(n: usize, at: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..n * n).map(|place| at((place / n) as f64 - (place % n) as f64)).collect()
    }

    /// `W A W'`
    fn whitened(n: usize, w: &[f64], a: &[f64]) -> Vec<f64> {
        let product = |x: &dyn Fn(usize, usize) -> f64, y: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..n * n).map(|at| (0..n).map(|p| x(at / n, p) * y(p, at % n)).sum()).collect()
        };
        let half = product(&|i, j| w[i * n + j], &|i, j| a[i * n + j]);
        product(&|i, j| half[i * n + j], &|i, j| w[j * n + i])
    }

    #[test]
    fn it_whitens_without_jitter_where_there_is_a_factor() {
        for n in [0, 1, 2, 7, 23] {
            let a = covariance(n, |r| f64::exp(-0.3 * r.abs()) + if r == 0.0 { 0.1 } else { 0.0 });
            let (w, jitter) = whitening(&a).expect("positive definite");
            assert_eq!(jitter, 0.0);
            for (at, value) in whitened(n, &w, &a).iter().enumerate() {
                let expected = f64::from(u8::from(at / n == at % n));
                assert!((value - expected).abs() < 1e-12, "n = {n}, at {at}: {value}");
                assert!(at % n <= at / n || w[at] == 0.0);
            }
        }
    }

    #[test]
    fn a_singular_covariance_takes_the_smallest_jitter_that_works() {
        // Rank 1, and a very smooth one.
        for a in [vec![4.0; 9], covariance(40, |r| f64::exp(-r * r / 800.0))] {
            let n = a.len().isqrt();
            let (_, jitter) = whitening(&a).expect("semi-definite");
            assert!(jitter > 0.0 && jitter <= a[0] * 1e-12, "{jitter}");
            let mut less = a.clone();
            (0..n).for_each(|i| less[i * n + i] += 0.1 * jitter);
            assert!(cholesky(n, &mut less).is_err());
        }
    }

    #[test]
    fn what_is_no_covariance_is_refused() {
        assert_eq!(whitening(&[1.0, 2.0, 2.0, 1.0]), Err(NotPositive { pivot: 1 }));
        assert_eq!(whitening(&[-1.0]), Err(NotPositive { pivot: 0 }));
        assert!(whitening(&[f64::NAN]).is_err());
    }
}
