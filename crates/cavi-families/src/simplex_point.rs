//! What a point on the simplex takes where linear terms differ along it: the maximiser of
//! `sum_v a_v log w_v - sum_v c_v w_v`, `a_v >= 0`.
//!
//! By Lagrange, `w_v = a_v / (c_v + mu)`, with `mu >= -min c` such that the sum is 1. If the entries with `a_v > 0` leave
//! mass at `mu = -min c`, the rest goes equally to the entries with `a_v = 0` and `c_v = min c`.
//!
//! # Source The Karush-Kuhn-Tucker conditions of a concave problem; Boyd and Vandenberghe, Convex Optimization
//! (2004), 5.5.3.

use cavi_algebra::{Elementary, Support};

use crate::dirichlet::{DirichletPosterior, inside, total_of_log_coefficients};
use crate::only_point::OnlyPoint;
use crate::posterior::Improper;

/// A Dirichlet with linear terms.
pub const SIMPLEX_POINT: OnlyPoint = OnlyPoint {
    name: "Dirichlet with linear terms",
    supports: &[Support::Simplex],
    over_slice: true,
    statistics: &[Elementary::Log, Elementary::Power(1)],
    twin: &DirichletPosterior,
    // The multiplier that makes the sum 1 has no closed form.
    mode: None,
    maximise: |row, coefficients, value| maximise(row, coefficients[0], coefficients[1], value),
};

/// Maximises `sum_v a_v log w_v + sum_v b_v w_v` over the simplex, `b = -c`.
fn maximise(row: usize, a: &[f64], b: &[f64], w: &mut [f64]) -> Result<(), Improper> {
    let total = total_of_log_coefficients(row, a)?;
    if let Some(linear) = b.iter().find(|linear| !linear.is_finite()) {
        return Err(Improper {
            row,
            reason: format!("a linear coefficient is {linear}, and must be finite"),
        });
    }
    let best = b.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let worst = b.iter().copied().fold(f64::INFINITY, f64::min);
    if total == 0.0 && best == worst {
        // Every value is optimal.
        return Ok(());
    }
    // With nu = mu + min c >= 0, w_v = a_v / (gap_v + nu), gap_v = c_v - min c >= 0.
    let gap = |v: usize| best - b[v];
    let positive = || (0..a.len()).filter(|v| a[*v] > 0.0);
    let mass = |nu: f64| positive().map(|v| a[v] / (gap(v) + nu)).sum::<f64>();
    // Each entry is at most 1, and gap_v <= best - worst: three lower bounds of the root.
    let lower = positive().map(|v| a[v] - gap(v)).fold((total - (best - worst)).max(0.0), f64::max);
    let mut nu = lower;
    if nu > 0.0 || mass(0.0) > 1.0 {
        // Newton's method for 1 / mass(nu) = 1; 1 / mass is increasing and concave, so it climbs to the root.
        for _ in 0..200 {
            let (mut value, mut slope) = (0.0, 0.0);
            for v in positive() {
                let share = a[v] / (gap(v) + nu);
                value += share;
                slope += share / (gap(v) + nu);
            }
            let next = nu + value * (value - 1.0) / slope;
            if !(next > nu * (1.0 + f64::EPSILON)) {
                break;
            }
            nu = next;
        }
    }
    let mut left = 1.0;
    for v in 0..a.len() {
        w[v] = if a[v] > 0.0 { inside(a[v], a[v] / (gap(v) + nu)) } else { 0.0 };
        left -= w[v];
    }
    let idle = (0..a.len()).filter(|v| a[*v] == 0.0 && b[*v] == best).count();
    if nu == 0.0 && left > 0.0 && idle > 0 {
        for v in 0..a.len() {
            if a[v] == 0.0 && b[v] == best {
                w[v] = left / idle as f64;
            }
        }
    } else {
        let sum: f64 = w.iter().sum();
        w.iter_mut().for_each(|w| *w /= sum);
    }
    Ok(())
}
