//! Small square matrices without symmetry, row by row.

use crate::starts::product;

/// The product of two n x n matrices, each transposed if so said.
pub fn multiply(n: usize, a: &[f64], transpose_a: bool, b: &[f64], transpose_b: bool) -> Vec<f64> {
    let turned: Vec<f64>;
    let b = if transpose_b {
        turned = transpose(n, b);
        &turned
    } else {
        b
    };
    let mut out = vec![0.0; n * n];
    product([n, n, n], a, if transpose_a { [1, n] } else { [n, 1] }, b, &mut out);
    out
}

/// The transpose of an n x n matrix.
pub fn transpose(n: usize, a: &[f64]) -> Vec<f64> {
    (0..n * n).map(|at| a[at % n * n + at / n]).collect()
}

/// The inverse of an n x n matrix and the logarithm of the absolute value of its determinant, by elimination with partial
/// pivoting; `None` where it is singular or not finite.
pub fn lu_inverse(n: usize, a: &[f64]) -> Option<(Vec<f64>, f64)> {
    let mut left = a.to_vec();
    let mut right: Vec<f64> = (0..n * n).map(|at| if at % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let mut log_determinant = 0.0;
    for column in 0..n {
        let size = |row: &usize| left[row * n + column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        for k in 0..n {
            left.swap(column * n + k, pivot * n + k);
            right.swap(column * n + k, pivot * n + k);
        }
        let value = left[column * n + column];
        if value == 0.0 || !value.is_finite() {
            return None;
        }
        log_determinant += value.abs().ln();
        for k in 0..n {
            left[column * n + k] /= value;
            right[column * n + k] /= value;
        }
        for row in (0..n).filter(|row| *row != column) {
            let factor = left[row * n + column];
            if factor != 0.0 {
                for k in 0..n {
                    left[row * n + k] -= factor * left[column * n + k];
                    right[row * n + k] -= factor * right[column * n + k];
                }
            }
        }
    }
    right.iter().all(|value| value.is_finite()).then_some((right, log_determinant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_and_its_determinant() {
        // det = 2 (0 - 2) - 1 (3 - 0) + 0 = -7
        let a = [2.0, 1.0, 0.0, 3.0, 0.0, 2.0, 0.0, 1.0, 1.0];
        let (inverse, log_determinant) = lu_inverse(3, &a).expect("regular");
        assert!((log_determinant - 7.0_f64.ln()).abs() < 1e-15);
        for (at, value) in multiply(3, &a, false, &inverse, false).iter().enumerate() {
            let expected = if at % 4 == 0 { 1.0 } else { 0.0 };
            assert!((value - expected).abs() < 1e-15, "{value} at {at}");
        }
        assert!(lu_inverse(2, &[1.0, 2.0, 2.0, 4.0]).is_none());
    }

    #[test]
    fn products_of_transposed_matrices() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        assert_eq!(multiply(2, &a, false, &b, false), [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(multiply(2, &a, true, &b, false), [26.0, 30.0, 38.0, 44.0]);
        assert_eq!(multiply(2, &a, false, &b, true), [17.0, 23.0, 39.0, 53.0]);
    }
}
