//! Newton's method for the maximum of a function of one variable, guarded by the sign of its derivative: for many
//! independent problems side by side.
//!
//! A step is `u - f'(u) / f''(u)` where `f''(u) < 0`, else uphill, each twice as far as the last. Where the derivative has
//! been seen with both signs the maximum lies between, and a step that leaves this bracket goes to its middle instead, so
//! that the bracket at least halves. A problem is done when a step is below `TOLERANCE` of its variable's scale.

use crate::Scratch;

/// The relative change at which a variable has converged.
pub const TOLERANCE: f64 = 1e-12;
/// The most steps of one search. Newton's method takes about six; bisection of a bracket of doubles at most 64.
pub const STEPS: usize = 100;

/// What counts as 1.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// For the length of the first step.
    pub step: f64,
    /// For the change that is none.
    pub change: f64,
}

/// The state of the searches.
#[derive(Clone, Debug)]
pub struct Searches {
    below: Scratch,
    above: Scratch,
    stride: Scratch,
    done: Scratch<bool>,
}

impl Searches {
    /// As many searches as `count`.
    pub fn new(count: usize) -> Searches {
        Searches {
            below: Scratch::all(f64::NEG_INFINITY, count),
            above: Scratch::all(f64::INFINITY, count),
            stride: Scratch::all(0.5, count),
            done: Scratch::all(false, count),
        }
    }

    /// Moves `u` of search `index`, given `f'(u)` and `f''(u)`; `unit` is the length that counts as 1 at `u`, for the
    /// first step and for convergence. A derivative that is not finite ends the search where it is.
    pub fn step(&mut self, index: usize, u: f64, first: f64, second: f64, unit: Unit) -> f64 {
        if self.done[index] {
            return u;
        }
        if first == 0.0 || !first.is_finite() {
            self.done[index] = true;
            return u;
        }
        let uphill = first.signum();
        if first > 0.0 {
            self.below[index] = u;
        } else {
            self.above[index] = u;
        }
        let (below, above) = (self.below[index], self.above[index]);
        let bracketed = below.is_finite() && above.is_finite();
        let newton = u - first / second;
        let inside = newton > below && newton < above;
        let next = if second < 0.0
            && inside
            && (bracketed || (newton - u).abs() <= self.stride[index] * unit.step)
        {
            newton
        } else if bracketed {
            0.5 * (below + above)
        } else {
            self.stride[index] *= 2.0;
            u + uphill * self.stride[index] * unit.step
        };
        self.done[index] = (next - u).abs() <= TOLERANCE * unit.change;
        next
    }

    /// Whether every search has ended.
    pub fn done(&self) -> bool {
        self.done.iter().all(|done| *done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::{digamma, trigamma};

    fn maximise(
        start: f64,
        derivatives: impl Fn(f64) -> (f64, f64),
        unit: impl Fn(f64) -> Unit,
    ) -> (f64, usize) {
        let mut searches = Searches::new(1);
        let mut u = start;
        for step in 0..STEPS {
            let (first, second) = derivatives(u);
            u = searches.step(0, u, first, second, unit(u));
            if searches.done() {
                return (u, step + 1);
            }
        }
        panic!("{STEPS} steps from {start} did not converge");
    }

    /// The shape of a Gamma by maximum likelihood, `log a - psi(a) = s`, in `u = log a`; roots from SciPy's `brentq`.
    #[test]
    fn shapes_of_a_gamma() {
        for (s, root) in [(0.01, 50.16610820660196), (0.5, 1.1377247271478588), (10.0, 0.08305704799496325)] {
            for start in [-20.0, -1.0, 0.0, 3.0, 25.0] {
                let derivatives = |u: f64| {
                    let a = f64::exp(u);
                    let first = u - digamma(a) - s;
                    let second = 1.0 / a - trigamma(a);
                    (a * first, a * first + a * a * second)
                };
                let (u, steps) = maximise(start, derivatives, |_| Unit { step: 1.0, change: 1.0 });
                assert!((u.exp() / root - 1.0).abs() < 1e-11, "{s} from {start}: {}, not {root}", u.exp());
                assert!(steps < 60, "{steps} steps");
            }
        }
    }

    fn relative(u: f64) -> Unit {
        Unit { step: u.abs().max(1.0), change: u.abs() }
    }

    /// A bump in front of the peak, and far away: the bracket catches the step.
    #[test]
    fn two_bumps_and_a_quadratic() {
        let (u, _) = maximise(1.0, |u| (-2.0 * (u - 1e6), -2.0), relative);
        assert!((u - 1e6).abs() < 1e-5);
        let (u, _) = maximise(0.1, |u: f64| (u.cos(), -u.sin()), relative);
        assert!((u.cos()).abs() < 1e-10 && u.sin() > 0.0);
    }
}
