//! What the numeric tests share: programs, random data for them, and densities and draws written a second time, from the
//! text of a program alone.

mod agreement;
mod ascent;
mod average;
mod builtin;
mod files;
mod generate;
mod given;
mod meeting;
mod points;
mod programs;
mod sketch;

pub use agreement::{climbs_stay_together, runs_agree};
pub use ascent::{items_ascend, members_ascend, updates_rest};
pub use average::{bound_is_average, has_implicit};
pub use builtin::{Matrix, Ready, bundled, corpus_model, file_of, matrix_file, text_of};
pub use files::files_of;
pub use generate::generate;
pub use given::{bound_of, column};
pub use meeting::Neighbour;
pub use points::Points;
pub use programs::{Program, compile, inline_programs, programs, thorough};
pub use sketch::Sketch;

pub use cavi_verification::{
    Draw, Positions, Shape, Squares, Subject, World, alternatives, draw, log_density_of, log_joint,
    log_joint_bounded, random_bound,
};

use cavi_algebra::Equations;
use cavi_executor::Parameters;

/// Whether two numbers agree to `tolerance` relative to the larger of `scale` and themselves.
pub fn close(a: f64, b: f64, scale: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * scale.max(a.abs()).max(b.abs())
}

/// The largest difference between two columns, relative to the largest number in either or to `floor`; infinite where one
/// has something that is no number and the other has not.
pub fn distance(a: &[f64], b: &[f64], floor: f64) -> f64 {
    assert_eq!(a.len(), b.len(), "columns of one descriptor have one length");
    let size =
        a.iter().chain(b).filter(|value| value.is_finite()).fold(floor, |size, value| size.max(value.abs()));
    let mut largest = 0.0_f64;
    for (a, b) in a.iter().zip(b) {
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let difference = (a - b).abs() / size;
        largest = if difference.is_nan() { f64::INFINITY } else { largest.max(difference) };
    }
    largest
}

/// Points are compared to at least this: one that other terms fit exactly is 0, or as much as rounding left of the data.
const POINT: f64 = 1e-4;

/// The largest distance between the columns of two states, with its block and column. The mean of a Normal is compared to a
/// thousandth of its standard deviation: as a component dies out, its mean goes to 0 faster than any power, and keeps no
/// relative digit.
pub fn farthest(equations: &Equations, a: &Parameters, b: &Parameters) -> (f64, usize, usize) {
    let mut farthest = (0.0, 0, 0);
    assert_eq!(a.blocks.len(), b.blocks.len());
    for (block, (a, b)) in a.blocks.iter().zip(&b.blocks).enumerate() {
        assert_eq!(a.len(), b.len(), "block {block}");
        let own = &equations.blocks[block];
        let normal = !own.is_point()
            && ["Normal", "Normal over a slice", "TruncatedNormal"]
                .contains(&cavi_families::posterior(own.family).name());
        let spread =
            if normal { a[1].iter().fold(0.0_f64, |size, var| size.max(var.abs())).sqrt() } else { 0.0 };
        for (column, (a, b)) in a.iter().zip(b).enumerate() {
            let floor = match own.is_point() {
                true => POINT,
                false if column == 0 => 1e-3 * spread,
                false => 0.0,
            };
            let own = distance(a, b, floor);
            if own > farthest.0 {
                farthest = (own, block, column);
            }
        }
    }
    farthest
}
