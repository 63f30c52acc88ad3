//! What the numeric tests share: programs, random data for them, and densities and draws written a second time, from the
//! text of a program alone.

mod density;
mod draws;
mod programs;
mod random;
mod world;

pub use density::{log_joint, log_joint_bounded};
pub use draws::{Draw, draw};
pub use programs::{Program, compile, inline_programs, programs};
pub use random::{Shape, random_bound};
pub use world::World;

use cavi_executor::Parameters;

/// Whether two numbers agree to `tolerance` relative to the larger of `scale` and themselves.
pub fn close(a: f64, b: f64, scale: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * scale.max(a.abs()).max(b.abs())
}

/// The largest difference between two columns, relative to the largest number in either; infinite where one has
/// something that is no number and the other has not.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "columns of one descriptor have one length");
    let size = a
        .iter()
        .chain(b)
        .filter(|value| value.is_finite())
        .fold(0.0_f64, |size, value| size.max(value.abs()));
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

/// The largest distance between the columns of two states, with its block and column.
pub fn farthest(a: &Parameters, b: &Parameters) -> (f64, usize, usize) {
    let mut farthest = (0.0, 0, 0);
    assert_eq!(a.blocks.len(), b.blocks.len());
    for (block, (a, b)) in a.blocks.iter().zip(&b.blocks).enumerate() {
        assert_eq!(a.len(), b.len(), "block {block}");
        for (column, (a, b)) in a.iter().zip(b).enumerate() {
            let own = distance(a, b);
            if own > farthest.0 {
                farthest = (own, block, column);
            }
        }
    }
    farthest
}
