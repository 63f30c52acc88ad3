//! What a non-negative point takes where a square meets the log and linear terms of a Gamma: the maximiser of
//! `a log x + b x - c x^2`, `a, c >= 0`.
//!
//! The derivative is zero where `2 c x^2 - b x - a = 0`, whose positive root is `(b + r) / (4 c) = 2 a / (r - b)`, with
//! `r = sqrt(b^2 + 8 a c)`; the form without cancellation is taken.

use cavi_algebra::print::Formula;
use cavi_algebra::{Elementary, Function, Support};

use crate::dirichlet::inside;
use crate::gamma::GammaPosterior;
use crate::only_point::OnlyPoint;
use crate::posterior::Improper;
use crate::standard::build::{apply, eta, over, product, sum, times};

/// A Gamma with a square term.
pub const NONNEGATIVE_POINT: OnlyPoint = OnlyPoint {
    name: "Gamma with a square term",
    supports: &[Support::Positive, Support::Nonnegative],
    over_slice: false,
    statistics: &[Elementary::Log, Elementary::Power(1), Elementary::Power(2)],
    twin: &GammaPosterior,
    mode: Some(mode),
    maximise: |row, coefficients, value| {
        value[0] = maximise(coefficients[0][0], coefficients[1][0], coefficients[2][0])
            .map_err(|reason| Improper { row, reason: reason.to_owned() })?;
        Ok(())
    },
};

/// `(b + sqrt(b^2 - 8 a s)) / (-4 s)`, `s = -c` the coefficient of the square.
fn mode() -> Formula {
    let (log, linear, square) = (|| eta(0), || eta(1), || eta(2));
    let discriminant = sum([product([linear(), linear()]), times(-8.0, product([log(), square()]))]);
    over(sum([linear(), apply(Function::Sqrt, discriminant)]), times(-4.0, square()))
}

fn maximise(log: f64, linear: f64, square: f64) -> Result<f64, &'static str> {
    if log < 0.0 {
        return Err("the mode is an infinite density at 0 (a shape below 1)");
    }
    let grows = square > 0.0 || (square == 0.0 && (linear > 0.0 || (linear == 0.0 && log > 0.0)));
    if grows || (log + linear + square).is_nan() {
        return Err("the objective grows without limit (no rate)");
    }
    if log == 0.0 {
        // 0/0 is 0.
        return Ok(if linear > 0.0 { linear / (-2.0 * square) } else { 0.0 });
    }
    let root = (linear * linear - 8.0 * log * square).sqrt();
    let mode = if linear > 0.0 { (linear + root) / (-4.0 * square) } else { 2.0 * log / (root - linear) };
    Ok(inside(log, mode))
}
