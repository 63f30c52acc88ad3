//! The multivariate Gamma function: `ln Gamma_n(x) = n (n - 1) ln(pi) / 4 + sum_{i<n} ln Gamma(x - i / 2)`, and its
//! derivative `sum_{i<n} psi(x - i / 2)`, for `x > (n - 1) / 2`.
//!
//! # Source
//! James, Distributions of matrix variates and latent roots derived from normal samples (1964), eq. 57.

use super::{digamma, log_gamma};

/// `ln Gamma_n(x)`; 0 for n = 0.
pub fn log_multivariate_gamma(x: f64, n: usize) -> f64 {
    let size = n as f64;
    let each = (0..n).map(|i| log_gamma(x - 0.5 * i as f64));
    0.25 * size * (size - 1.0) * std::f64::consts::PI.ln() + each.sum::<f64>()
}

/// `d/dx ln Gamma_n(x)`; 0 for n = 0.
pub fn multivariate_digamma(x: f64, n: usize) -> f64 {
    (0..n).map(|i| digamma(x - 0.5 * i as f64)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from `scipy.special.multigammaln`, and central differences of it.
    #[test]
    fn values() {
        assert_eq!(log_multivariate_gamma(0.3, 0), 0.0);
        assert_eq!(log_multivariate_gamma(0.3, 1), log_gamma(0.3));
        assert!((log_multivariate_gamma(2.5, 3) - MULTIGAMMALN_3).abs() < 1e-13);
        assert!((multivariate_digamma(2.5, 3) - DERIVATIVE_3).abs() < 1e-8);
    }

    /// `scipy.special.multigammaln(2.5, 3)`
    const MULTIGAMMALN_3: f64 = 1.8809954616117743;
    /// `psi(2.5) + psi(2) + psi(1.5)` by central differences of it.
    const DERIVATIVE_3: f64 = 1.1624309496971463;
}
