//! The maximum of a concave quadratic over non-negative vectors: non-negative least squares.
//!
//! `max b'x - x'Qx / 2, x >= 0` has, by Karush, Kuhn and Tucker, the solution with `g = b - Qx <= 0`, `x >= 0` and
//! `g_k x_k = 0`. An active set finds it: of the elements at 0 the one with the largest gradient is set free, and the free
//! ones solve their equations; where a solution leaves the region, the way to it ends on the boundary and what has reached
//! 0 is held again. Each set is visited at most once, so it ends.
//!
//! # Source
//! Lawson and Hanson (1974), chapter 23, on the normal equations (Bro and de Jong 1997).

use crate::Scratch;

use super::{cholesky, solve};

/// Why there is no maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbounded {
    /// An element along which the quadratic grows without limit.
    pub element: usize,
}

/// Writes the maximiser of `b'x - x'Qx / 2` over `x >= 0` to `x`. `q` is symmetric and positive semidefinite, row-major,
/// `n` by `n`. Of elements that are combinations of others, one that is not needed stays at 0.
///
/// # Errors
/// [`Unbounded`] if an element with a positive coefficient has no square.
pub fn nonnegative_quadratic(n: usize, q: &[f64], b: &[f64], x: &mut [f64]) -> Result<(), Unbounded> {
    assert_eq!((q.len(), b.len(), x.len()), (n * n, n, n), "a square matrix and two vectors");
    x.fill(0.0);
    if let Some(element) = (0..n).find(|k| b[*k] > 0.0 && q[k * n + k] <= 0.0) {
        return Err(Unbounded { element });
    }
    let mut free = Scratch::all(false, n);
    // Elements that cannot be set free, because their equations depend linearly on those of the free ones.
    let mut stuck = Scratch::all(false, n);
    for _ in 0..3 * n.max(1) {
        let gradient = |k: usize, x: &[f64]| b[k] - (0..n).map(|l| q[k * n + l] * x[l]).sum::<f64>();
        let size =
            |k: usize, x: &[f64]| b[k].abs() + (0..n).map(|l| (q[k * n + l] * x[l]).abs()).sum::<f64>();
        let next = (0..n)
            .filter(|k| !free[*k] && !stuck[*k])
            .map(|k| (k, gradient(k, x)))
            // A gradient that is rounding is 0.
            .filter(|(k, own)| *own > 1e-14 * size(*k, x))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((entering, _)) = next else { return Ok(()) };
        free[entering] = true;
        loop {
            let members: Scratch<usize> = (0..n).filter(|k| free[*k]).collect();
            let Some(solution) = solved(n, q, b, &members) else {
                free[entering] = false;
                stuck[entering] = true;
                break;
            };
            if solution.iter().all(|value| *value > 0.0) {
                members.iter().zip(&*solution).for_each(|(k, value)| x[*k] = *value);
                stuck.fill(false);
                break;
            }
            // As far as the first element that reaches 0, which is held again.
            let ratio = |k: usize, target: f64| if target > 0.0 { 1.0 } else { x[k] / (x[k] - target) };
            let ratios: Scratch = members
                .iter()
                .zip(&*solution)
                .map(|(k, target)| if x[*k] == *target { 0.0 } else { ratio(*k, *target) })
                .collect();
            let share = ratios.iter().copied().fold(1.0, f64::min);
            for ((k, target), ratio) in members.iter().zip(&*solution).zip(&*ratios) {
                if *target <= 0.0 && *ratio <= share {
                    x[*k] = 0.0;
                    free[*k] = false;
                } else {
                    x[*k] += share * (target - x[*k]);
                }
            }
            if !free[entering] {
                stuck[entering] = true;
                break;
            }
        }
    }
    Ok(())
}

/// The solution of the equations of some elements, the others 0; `None` where they depend on each other.
fn solved(n: usize, q: &[f64], b: &[f64], members: &[usize]) -> Option<Scratch> {
    let m = members.len();
    let mut factor: Scratch =
        members.iter().flat_map(|k| members.iter().map(move |l| q[k * n + l])).collect();
    cholesky(m, &mut factor).ok()?;
    // A pivot that is rounding of its diagonal is none.
    let independent =
        (0..m).all(|i| factor[i * m + i] * factor[i * m + i] > 1e-13 * q[members[i] * n + members[i]]);
    let mut x: Scratch = members.iter().map(|k| b[*k]).collect();
    solve(m, &factor, &mut x);
    independent.then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conditions of Karush, Kuhn and Tucker.
    fn check(n: usize, q: &[f64], b: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; n];
        nonnegative_quadratic(n, q, b, &mut x).expect("bounded");
        for k in 0..n {
            let own: Vec<f64> = (0..n).map(|l| q[k * n + l] * x[l]).collect();
            let gradient = b[k] - own.iter().sum::<f64>();
            let size = b[k].abs() + own.iter().map(|own| own.abs()).sum::<f64>();
            assert!(x[k] >= 0.0 && gradient <= 1e-9 * size, "{k}: {x:?}");
            assert!(x[k] == 0.0 || gradient.abs() <= 1e-9 * size, "{k}: {x:?}");
        }
        x
    }

    /// A stream of numbers between -1 and 1, the same everywhere.
    fn stream(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(2) + 1;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        }
    }

    #[test]
    fn meets_its_conditions() {
        for seed in 0..200 {
            let mut next = stream(seed);
            let n = 1 + seed as usize % 9;
            // Fewer rows than elements leave Q without full rank.
            let rows = 1 + (seed as usize / 9) % 12;
            let a: Vec<f64> = (0..rows * n).map(|_| next()).collect();
            let y: Vec<f64> = (0..rows).map(|_| next()).collect();
            let q: Vec<f64> =
                (0..n * n).map(|at| (0..rows).map(|r| a[r * n + at / n] * a[r * n + at % n]).sum()).collect();
            let b: Vec<f64> = (0..n).map(|k| (0..rows).map(|r| a[r * n + k] * y[r]).sum()).collect();
            check(n, &q, &b);
        }
    }

    #[test]
    fn small_cases() {
        let x = check(2, &[2.0, 0.0, 0.0, 4.0], &[2.0, -1.0]);
        assert!((x[0] - 1.0).abs() < 1e-15 && x[1] == 0.0, "{x:?}");
        assert_eq!(check(2, &[0.0, 0.0, 0.0, 1.0], &[0.0, 3.0]), [0.0, 3.0]);
        assert_eq!(check(0, &[], &[]), [0.0; 0]);
        let unbounded = nonnegative_quadratic(2, &[1.0, 0.0, 0.0, 0.0], &[1.0, 1.0], &mut [0.0; 2]);
        assert_eq!(unbounded, Err(Unbounded { element: 1 }));
    }

    /// Twice the same column: one of the two takes all.
    #[test]
    fn a_column_that_stands_twice() {
        let x = check(2, &[1.0, 1.0, 1.0, 1.0], &[2.0, 2.0]);
        assert!((x[0] + x[1] - 2.0).abs() < 1e-12);
    }
}
