//! Squared extrapolation of a slow fixed-point iteration.
//!
//! From three iterates `x_0`, `x_1 = F(x_0)`, `x_2 = F(x_1)`, with `r = x_1 - x_0` and `v = (x_2 - x_1) - r`, the next point is
//! `x_0 - 2 a r + a^2 v` with the step `a = -|r| / |v|`: where F contracts by one rate along the way that is left, this is
//! near the limit. `a = -1` gives `x_2` itself.
//!
//! # Source
//! Varadhan and Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM algorithm,
//! scheme S3 and section 6 on the length of steps. Differences are taken relative to the size of each coordinate here, so
//! that counts and probabilities weigh alike. A coordinate that is no finite number in one of the iterates, as the logarithm of a
//! probability of 0, has no way that it takes: it weighs nothing, and stays as `x_2` has it.

/// The factor by which the longest step grows after it was reached, and shrinks after it failed.
const FACTOR: f64 = 4.0;

/// The longest step that is tried.
#[derive(Clone, Copy, Debug)]
pub struct Stride {
    longest: f64,
}

/// A point beyond three iterates.
#[derive(Clone, Debug, PartialEq)]
pub struct Beyond {
    /// Where it is.
    pub at: Vec<f64>,
    /// `-a`, at least 1.
    pub step: f64,
}

impl Default for Stride {
    fn default() -> Stride {
        Stride { longest: FACTOR }
    }
}

impl Stride {
    /// The stride whose longest step is this one, as [`Stride::longest`] gave it.
    pub fn of(longest: f64) -> Stride {
        Stride { longest }
    }

    /// The longest step that is tried next.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// The point beyond `x[0]`, `x[1]`, `x[2]`, all of one length; `None` where it is `x[2]`.
    pub fn beyond(&mut self, x: [&[f64]; 3]) -> Option<Beyond> {
        let (mut first, mut second) = (0.0, 0.0);
        for ((x0, x1), x2) in x[0].iter().zip(x[1]).zip(x[2]) {
            let (r, v) = (x1 - x0, (x2 - x1) - (x1 - x0));
            let size = x2.abs().max(x0.abs());
            if size > 0.0 && size.is_finite() && x1.is_finite() {
                first += (r / size).powi(2);
                second += (v / size).powi(2);
            }
        }
        let step = (first / second).sqrt();
        if !(step > 1.0 && step.is_finite()) {
            return None;
        }
        let step = if step >= self.longest {
            let step = self.longest;
            self.longest *= FACTOR;
            step
        } else {
            step
        };
        let point = |((x0, x1), x2): ((&f64, &f64), &f64)| {
            let (r, v) = (x1 - x0, (x2 - x1) - (x1 - x0));
            let beyond = x0 + 2.0 * step * r + step * step * v;
            // The sum of three finite numbers may still leave the range of doubles: then the step fails, and is shortened.
            if [x0, x1, x2].iter().all(|own| own.is_finite()) { beyond } else { *x2 }
        };
        Some(Beyond { at: x[0].iter().zip(x[1]).zip(x[2]).map(point).collect(), step })
    }

    /// After a step that led lower: the next are shorter.
    pub fn shorten(&mut self) {
        self.longest = (self.longest / FACTOR / FACTOR).max(1.0 + 1.0 / FACTOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear iteration with one slow rate: the limit is reached at once.
    #[test]
    fn one_rate_is_extrapolated_to_its_limit() {
        let limit = [3.0, -2.0];
        let iterate =
            |x: &[f64]| -> Vec<f64> { x.iter().zip(limit).map(|(x, to)| to + 0.75 * (x - to)).collect() };
        let x0 = vec![1.0, -1.0];
        let (x1, x2) = (iterate(&x0), iterate(&iterate(&x0)));
        let beyond = Stride::default().beyond([&x0, &x1, &x2]).expect("a step beyond");
        assert!((beyond.step - 4.0).abs() < 1e-12);
        beyond
            .at
            .iter()
            .zip(limit)
            .for_each(|(at, to)| assert!((at - to).abs() < 1e-12, "{at} and not {to}"));
    }

    /// What is infinite stays, and takes no part in the length of the step: the others go where they go without it.
    #[test]
    fn what_is_infinite_stays_as_it_is() {
        let x0 = vec![1.0, -1.0, f64::NEG_INFINITY, -700.0, 2.0];
        let x1 = vec![1.5, -1.25, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        let x2 = vec![1.875, -1.4375, f64::NEG_INFINITY, f64::NEG_INFINITY, 2.0];
        let part = |x: &[f64]| x[..2].to_vec();
        let whole = Stride::default().beyond([&x0, &x1, &x2]).expect("a step beyond");
        let alone = Stride::default().beyond([&part(&x0), &part(&x1), &part(&x2)]).expect("a step beyond");
        assert_eq!(whole.step, alone.step);
        assert_eq!(whole.at[..2], alone.at[..]);
        assert_eq!(whole.at[2..], x2[2..]);
    }

    /// The longest step grows when it is reached, and shrinks when it fails.
    #[test]
    fn steps_grow_and_shrink() {
        let mut stride = Stride::default();
        let x: [&[f64]; 3] = [&[1.0], &[1.5], &[1.995]];
        assert_eq!(stride.beyond(x).expect("a step").step, 4.0);
        assert_eq!(stride.beyond(x).expect("a step").step, 16.0);
        stride.shorten();
        assert_eq!(stride.beyond(x).expect("a step").step, 4.0);
        assert_eq!(Stride::default().beyond([&[1.0], &[1.5], &[3.0]]), None);
    }
}
