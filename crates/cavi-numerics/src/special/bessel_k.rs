//! The modified Bessel function `K_p(z)` of the second kind, its neighbour in the order and its slope in the order.
//!
//! `2 K_p(z) = int exp(p t - z cosh t) dt` over all real `t`. Its integrand is log-concave; with `w = sqrt(p^2 + z^2)` the
//! mode is `t0 = log((p + w) / z)`, its value there `exp(p t0 - w)`, and `s = t - t0` away from it `exp(-f(s))`,
//!
//! ```text
//! f(s) = p (e^s - 1 - s) + d (cosh s - 1),   d = w - p = z^2 / (p + w)
//! ```
//!
//! For `p >= 0` (and `K_(-p) = K_p`) no two terms cancel in it. The trapezoid rule converges exponentially: on the line
//! `s + i u` the integrand is at most `exp(w (1 - cos u))` larger, so that a step `h` errs by `exp(w u^2 / 2 - 2 pi u / h)`
//! for small `u` (least at `exp(-2 pi^2 / (w h^2))`) and by about `exp(w - 9 / h)` for `u` close to `pi / 2`. One pass gives
//!
//! ```text
//! I = int exp(-f),   E s,   E e^(-s) = K_(p-1)(z) / K_p(z) * (p + w) / z
//! ```
//!
//! and with them `log K_p = p t0 - w + log(I / 2)` and `d log K_p / dp = t0 + E s`. The expectation of `e^s` follows from
//! `K_(p+1) = K_(p-1) + (2 p / z) K_p`, a sum of positive terms.
//!
//! For small `z` and `p` the integrand is `exp(w + p s)` on a long plateau between two cliffs, and its sum there is
//! geometric: it is summed by doubling, so that no `z` takes more than about two hundred points.
//!
//! Error: below 1e-12 relative (absolute where the value is below 1) over `0 <= |p| <= 1e4`, `1e-300 <= z <= 1e6`
//! (`tests/special.rs`).
//!
//! # Source
//! Abramowitz and Stegun 9.6.24 (the integral) and 9.6.26 (the recurrence); Trefethen and Weideman, The exponentially
//! convergent trapezoidal rule, SIAM Review 56 (2014), section 5.

use super::{exp, expm1, ln};

/// The integrals of `exp(p s - (p + w) (e^s - 1) / 2 - d (e^(-s) - 1) / 2)` about its mode `s = 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BesselK {
    /// `w = sqrt(p^2 + z^2)`.
    pub w: f64,
    /// `log I`: `log K_p(z) = p t0 - w + log I - log 2`, `t0 = log((p + w) / z)`.
    pub log_integral: f64,
    /// `E s`: the slope of `log K_p(z)` in `p` is `t0 + E s`.
    pub mean: f64,
    /// `log E e^(-s)`, that is `log(K_(p-1)(z) / K_p(z)) + t0`.
    pub log_inverse: f64,
}

/// Where `exp(-f)` is no longer added.
const NEGLIGIBLE: f64 = 45.0;
/// A cliff begins where its term passes this.
const FLAT: f64 = 1e-18;

/// `e^s - 1 - s`, without cancellation.
pub fn above_tangent(s: f64) -> f64 {
    if s.abs() >= 0.5 {
        return expm1(s) - s;
    }
    // s^2/2 (1 + s/3 (1 + s/4 (...))): the 17th power of 1/2 over 17! is below 1e-19.
    let series = (3..=16).rev().fold(1.0, |rest, n| 1.0 + s / f64::from(n) * rest);
    0.5 * s * s * series
}

/// `sum_{j<n} r^j` and `sum_{j<n} j r^j` for `0 < r = exp(log_ratio) <= 1`, by doubling `n`.
fn geometric(n: u64, log_ratio: f64) -> (f64, f64) {
    let ratio = exp(log_ratio);
    let (mut sum, mut moment, mut terms) = (0.0, 0.0, 0_u64);
    for bit in (0..u64::BITS - n.leading_zeros()).rev() {
        let (count, shift) = (terms as f64, exp(terms as f64 * log_ratio));
        (sum, moment) = (sum + shift * sum, moment + shift * (moment + count * sum));
        terms *= 2;
        if n >> bit & 1 == 1 {
            (sum, moment) = (1.0 + ratio * sum, ratio * (moment + sum));
            terms += 1;
        }
    }
    (sum, moment)
}

/// The integrals of `K_p(z)` for `p >= 0` and `z > 0`; NaN elsewhere.
pub fn bessel_k(p: f64, z: f64) -> BesselK {
    let w = p.hypot(z);
    if !(p >= 0.0 && z > 0.0 && w.is_finite()) {
        return BesselK { w: f64::NAN, log_integral: f64::NAN, mean: f64::NAN, log_inverse: f64::NAN };
    }
    let log_d = 2.0 * ln(z) - ln(p + w);
    let f = |s: f64| {
        let fall = expm1(-s.abs());
        p * above_tangent(s) + 0.5 * exp(log_d + s.abs()) * fall * fall
    };
    let step = (0.5 / w.sqrt()).min(0.16);
    // Between these the terms in e^s and e^(-s) are negligible, and f(s) = -w - p s.
    let plateau_left = log_d - ln(2.0 * FLAT);
    let plateau_right = ln(2.0 * FLAT) - ln(p + w);
    // The mode of exp(-s - f), and its value: t0 is the inverse hyperbolic sine of p / z.
    let summit = {
        let below = p - 1.0;
        let numerator =
            if below >= 0.0 { ln(below + below.hypot(z)) } else { 2.0 * ln(z) - ln(below.hypot(z) - below) };
        numerator - ln(p + w)
    };
    let top = -summit - f(summit);

    let mut total = Totals { sum: 1.0, moment: 0.0, inverse: exp(-top) };
    let mut j = 1_u64;
    loop {
        let s = step * j as f64;
        if s > plateau_left && s + step < plateau_right {
            let last = (plateau_right / step) as u64;
            let count = last.saturating_sub(j) + 1;
            // From the right end, where it is largest.
            let (sum, moment) = geometric(count, -p * step);
            let largest = exp(w + p * step * last as f64);
            total.sum += largest * sum;
            total.moment += largest * step * (last as f64 * sum - moment);
            let (sum, _) = geometric(count, -(p - 1.0).abs() * step);
            let from = if p < 1.0 { j } else { last };
            total.inverse += exp(w + (p - 1.0) * step * from as f64 - top) * sum;
            j = last + 1;
            continue;
        }
        let f = f(s);
        total.add(s, exp(-f), exp(-s - f - top));
        if f > NEGLIGIBLE {
            break;
        }
        j += 1;
    }
    j = 1;
    loop {
        let s = -step * j as f64;
        if s < plateau_right && s - step > plateau_left {
            let last = (-plateau_left / step) as u64;
            let count = last.saturating_sub(j) + 1;
            let (sum, moment) = geometric(count, -p * step);
            let largest = exp(w - p * step * j as f64);
            total.sum += largest * sum;
            total.moment -= largest * step * (j as f64 * sum + moment);
            let (sum, _) = geometric(count, -(p - 1.0).abs() * step);
            let from = if p < 1.0 { last } else { j };
            total.inverse += exp(w + (1.0 - p) * step * from as f64 - top) * sum;
            j = last + 1;
            continue;
        }
        let f = f(s);
        let inverse = -s - f - top;
        total.add(s, exp(-f), exp(inverse));
        if f > NEGLIGIBLE && inverse < -NEGLIGIBLE && s < summit {
            break;
        }
        j += 1;
    }
    BesselK {
        w,
        log_integral: ln(step * total.sum),
        mean: total.moment / total.sum,
        log_inverse: top + ln(total.inverse / total.sum),
    }
}

/// Sums over the points: of `exp(-f)`, `s exp(-f)`, and `exp(-s - f)` in units of its largest value.
struct Totals {
    sum: f64,
    moment: f64,
    inverse: f64,
}

impl Totals {
    fn add(&mut self, s: f64, weight: f64, inverse: f64) {
        self.sum += weight;
        self.moment += s * weight;
        self.inverse += inverse;
    }
}

/// `log K_p(z)` for any real `p` and `z > 0`; infinite at `z = 0`, NaN below.
pub fn log_bessel_k(p: f64, z: f64) -> f64 {
    if z == 0.0 {
        return f64::INFINITY;
    }
    let p = p.abs();
    let integrals = bessel_k(p, z);
    p * (ln(p + integrals.w) - ln(z)) - integrals.w + integrals.log_integral - std::f64::consts::LN_2
}
