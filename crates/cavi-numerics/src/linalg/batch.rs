//! The operations of [`super::cholesky`] on many matrices of one size, stored one after another.
//!
//! Matrices are independent, so results do not depend on the threads.

use std::sync::Mutex;

use super::{NotPositive, cholesky, inverse, log_determinant, solve};
use crate::Threads;

/// Matrices a task: about 100,000 multiply-adds.
fn chunk(n: usize) -> usize {
    (300_000 / (n * n * n + 1)).clamp(1, 4096)
}

/// [`cholesky`] of each matrix.
///
/// # Errors
/// The index of the first matrix that is not positive definite, and its pivot. The others are factored all the same.
pub fn cholesky_batch(n: usize, a: &mut [f64], threads: &Threads) -> Result<(), (usize, NotPositive)> {
    if n == 0 {
        return Ok(());
    }
    assert_eq!(a.len() % (n * n), 0, "square matrices");
    let length = chunk(n);
    let first: Mutex<Option<(usize, NotPositive)>> = Mutex::new(None);
    threads.for_each_chunk(a, length * n * n, |task, matrices| {
        for (index, matrix) in matrices.chunks_mut(n * n).enumerate() {
            if let Err(error) = cholesky(n, matrix) {
                let own = task * length + index;
                let mut first = first.lock().expect("no task panics");
                if first.is_none_or(|(other, _)| own < other) {
                    *first = Some((own, error));
                }
            }
        }
    });
    first.into_inner().expect("no task panics").map_or(Ok(()), Err)
}

/// [`solve`] with each factor and the vector at the same position in `b`.
pub fn solve_batch(n: usize, factors: &[f64], b: &mut [f64], threads: &Threads) {
    if n == 0 {
        return;
    }
    assert_eq!(factors.len(), b.len() * n, "a matrix for each vector");
    let length = chunk(n) * n;
    threads.for_each_chunk(b, length, |task, vectors| {
        for (index, vector) in vectors.chunks_mut(n).enumerate() {
            let start = (task * length + index * n) * n;
            solve(n, &factors[start..start + n * n], vector);
        }
    });
}

/// [`inverse`] of each factor, to the same position in `out`.
pub fn inverse_batch(n: usize, factors: &[f64], out: &mut [f64], threads: &Threads) {
    if n == 0 {
        return;
    }
    assert_eq!(factors.len(), out.len(), "a result for each matrix");
    let length = chunk(n) * n * n;
    threads.for_each_chunk(out, length, |task, matrices| {
        for (index, matrix) in matrices.chunks_mut(n * n).enumerate() {
            let start = task * length + index * n * n;
            inverse(n, &factors[start..start + n * n], matrix);
        }
    });
}

/// [`log_determinant`] of each factor.
pub fn log_determinant_batch(n: usize, factors: &[f64], out: &mut [f64]) {
    assert_eq!(factors.len(), out.len() * n * n, "a result for each matrix");
    for (index, out) in out.iter_mut().enumerate() {
        *out = log_determinant(n, &factors[index * n * n..(index + 1) * n * n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_as_if_alone() {
        let n = 5;
        let count = 3000;
        let mut a: Vec<f64> = (0..count)
            .flat_map(|index| {
                (0..n * n).map(move |p| if p % (n + 1) == 0 { 9.0 + index as f64 } else { (p % 3) as f64 })
            })
            .collect();
        let original = a.clone();
        let b: Vec<f64> = (0..count * n).map(|i| i as f64).collect();
        let mut expected = None;
        for threads in [Threads::new(1), Threads::new(3)] {
            a.copy_from_slice(&original);
            cholesky_batch(n, &mut a, &threads).unwrap();
            let mut solutions = b.clone();
            solve_batch(n, &a, &mut solutions, &threads);
            let mut inverses = vec![0.0; a.len()];
            inverse_batch(n, &a, &mut inverses, &threads);
            let mut logs = vec![0.0; count];
            log_determinant_batch(n, &a, &mut logs);
            let mut alone = original[7 * n * n..8 * n * n].to_vec();
            cholesky(n, &mut alone).unwrap();
            assert_eq!(alone, a[7 * n * n..8 * n * n]);
            let result = (a.clone(), solutions, inverses, logs);
            assert_eq!(*expected.get_or_insert_with(|| result.clone()), result);
        }
        a.copy_from_slice(&original);
        a[2500 * n * n] = -1.0;
        a[2600 * n * n] = -1.0;
        let error = cholesky_batch(n, &mut a, &Threads::one()).unwrap_err();
        assert_eq!(error, (2500, NotPositive { pivot: 0 }));
    }
}
