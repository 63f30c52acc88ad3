//! L-BFGS: the maximum of a differentiable function of many variables, from its values and gradients.
//!
//! The direction is that of Newton's method with the inverse Hessian built from the last [`HISTORY`] pairs of steps and
//! changes of the gradient (the two-loop recursion). The step along it meets the weak conditions of Wolfe, found by
//! doubling and bisection; a step is taken only if the value does not fall.
//!
//! # Source
//! Nocedal and Wright (2006), algorithms 7.4 and 7.5; Lewis and Overton (2013), algorithm 2.6, for the line search.

use smallvec::SmallVec;

use crate::Scratch;

/// The number of pairs that are remembered: with it 20 vectors.
pub const HISTORY: usize = 10;
/// The share of the first-order gain that a step must reach.
const GAIN: f64 = 1e-4;
/// The share of the slope that must be gone at its end.
const SLOPE: f64 = 0.9;
/// The most evaluations of one line search.
const EVALUATIONS: usize = 40;

/// The last steps, and how the gradient changed in them; one more before the first is forgotten.
type Pairs = SmallVec<[(Scratch, Scratch); HISTORY + 1]>;

/// A function's value and gradient.
pub type Evaluate<'f, E> = dyn FnMut(&[f64]) -> Result<(f64, Scratch), E> + 'f;

/// Why a search has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As many steps were taken as it may take.
    Steps,
    /// The gradient is 0: a stationary point.
    Level,
    /// The last step changed no digit of the value.
    Settled,
    /// No step along the gradient raises the value, to its rounding.
    Stuck,
    /// The value at the start is no number, or the gradient there no finite one, so that no direction is known. Nothing was searched.
    Undefined,
}

/// Where a search has come to.
#[derive(Clone, Debug)]
pub struct Found {
    /// The variables.
    pub at: Scratch,
    /// The value there.
    pub value: f64,
    /// The gradient there.
    pub gradient: Scratch,
    /// The steps taken.
    pub steps: usize,
    /// Why it took no more.
    pub end: End,
}

/// Takes at most `steps` steps uphill from `start`. A value that is not a number counts as too low. It ends early where
/// the gradient is 0 or no step raises the value, and at once, with [`End::Undefined`], where the value at `start` is no number or
/// the gradient no finite one: without a direction nothing says that the start is a maximum.
pub fn maximise<E>(start: &[f64], steps: usize, evaluate: &mut Evaluate<'_, E>) -> Result<Found, E> {
    let (value, gradient) = evaluate(start)?;
    let mut found = Found { at: Scratch::of(start), value, gradient, steps: 0, end: End::Steps };
    if found.value.is_nan() || !found.gradient.iter().all(|own| own.is_finite()) {
        return Ok(Found { end: End::Undefined, ..found });
    }
    let mut pairs = Pairs::new();
    while found.steps < steps {
        let mut direction = ascent_direction(&pairs, &found.gradient);
        let mut slope = dot(&direction, &found.gradient);
        if slope.is_nan() || slope <= 0.0 {
            pairs.clear();
            direction.copy_from_slice(&found.gradient);
            slope = dot(&direction, &direction);
        }
        if slope == 0.0 {
            found.end = End::Level;
            break;
        }
        if !slope.is_finite() {
            // The square of a finite gradient leaves the range of doubles: a direction of length 1 does not.
            let most = found.gradient.iter().fold(0.0_f64, |most, own| most.max(own.abs()));
            direction.iter_mut().zip(&*found.gradient).for_each(|(own, slope)| *own = slope / most);
            slope = dot(&direction, &found.gradient);
        }
        // The first step has no scale to go by: a length of 1.
        let length = if pairs.is_empty() { 1.0 / slope.sqrt().max(1.0) } else { 1.0 };
        let Some(next) = line_search(&found, &direction, slope, length, evaluate)? else {
            if pairs.is_empty() {
                found.end = End::Stuck;
                break;
            }
            pairs.clear();
            continue;
        };
        let step: Scratch = next.at.iter().zip(&*found.at).map(|(new, old)| new - old).collect();
        let change: Scratch =
            found.gradient.iter().zip(&*next.gradient).map(|(old, new)| old - new).collect();
        if dot(&step, &change) > 1e-10 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            pairs.push((step, change));
            if pairs.len() > HISTORY {
                pairs.remove(0);
            }
        }
        let settled = next.value == found.value;
        found = Found { steps: found.steps + 1, ..next };
        if settled {
            found.end = End::Settled;
            break;
        }
    }
    Ok(found)
}

/// The two-loop recursion: the approximate inverse of the negative Hessian times the gradient.
fn ascent_direction(pairs: &[(Scratch, Scratch)], gradient: &[f64]) -> Scratch {
    let mut direction = Scratch::of(gradient);
    let mut shares: SmallVec<[f64; HISTORY]> = SmallVec::new();
    for (step, change) in pairs.iter().rev() {
        let share = dot(step, &direction) / dot(step, change);
        add(&mut direction, -share, change);
        shares.push(share);
    }
    if let Some((step, change)) = pairs.last() {
        let scale = dot(step, change) / dot(change, change);
        direction.iter_mut().for_each(|own| *own *= scale);
    }
    for ((step, change), share) in pairs.iter().zip(shares.into_iter().rev()) {
        let back = dot(change, &direction) / dot(step, change);
        add(&mut direction, share - back, step);
    }
    direction
}

/// A step along the direction that meets the conditions; if none is found, the best step that raises the value.
fn line_search<E>(
    from: &Found,
    direction: &[f64],
    slope: f64,
    first: f64,
    evaluate: &mut Evaluate<'_, E>,
) -> Result<Option<Found>, E> {
    let (mut low, mut high, mut length) = (0.0, f64::INFINITY, first);
    let mut best: Option<Found> = None;
    for _ in 0..EVALUATIONS {
        let mut at = from.at.clone();
        add(&mut at, length, direction);
        if *at == *from.at {
            break;
        }
        let (value, gradient) = evaluate(&at)?;
        let enough = value >= from.value + GAIN * length * slope;
        let finite = value.is_finite() && gradient.iter().all(|own| own.is_finite());
        let level = finite && dot(&gradient, direction) <= SLOPE * slope;
        if finite && value >= best.as_ref().map_or(from.value, |best| best.value) {
            best = Some(Found { at, value, gradient, steps: 0, end: End::Steps });
        }
        if !(enough && finite) {
            high = length;
        } else if !level {
            low = length;
        } else {
            break;
        }
        length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * length };
    }
    Ok(best)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `a += share * b`
fn add(a: &mut [f64], share: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += share * b);
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Rosenbrock's valley, upside down: the maximum is 0 at ones. Values never fall.
    #[test]
    fn climbs_rosenbrocks_ridge() {
        let mut last = f64::NEG_INFINITY;
        let mut at = Scratch::of(&[-1.2, 1.0, -1.2, 1.0]);
        for _ in 0..10 {
            let found = maximise::<Infallible>(&at, 20, &mut |x| {
                let mut gradient = Scratch::zeros(x.len());
                let mut value = 0.0;
                for i in 0..x.len() - 1 {
                    let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
                    value -= a * a + 100.0 * b * b;
                    gradient[i] += 2.0 * a + 400.0 * b * x[i];
                    gradient[i + 1] -= 200.0 * b;
                }
                Ok((value, gradient))
            })
            .expect("it cannot fail");
            assert!(found.value >= last);
            (at, last) = (found.at, found.value);
        }
        assert!(at.iter().all(|x| (x - 1.0).abs() < 1e-6), "{at:?}");
    }

    /// A badly scaled quadratic is solved in about as many steps as it has variables.
    #[test]
    fn solves_a_quadratic() {
        let scales = [1e-3, 1.0, 30.0, 4e4];
        let found = maximise::<Infallible>(&[1.0; 4], 40, &mut |x| {
            let value = x.iter().zip(scales).map(|(x, scale)| -0.5 * scale * (x - 3.0) * (x - 3.0)).sum();
            Ok((value, x.iter().zip(scales).map(|(x, scale)| -scale * (x - 3.0)).collect()))
        })
        .expect("it cannot fail");
        assert!(found.gradient.iter().all(|own| own.abs() < 1e-6), "{found:?}");
    }

    /// A gradient that is no number, or infinite, gives no direction, and is told apart from one that is 0.
    #[test]
    fn a_start_without_a_gradient_is_no_maximum() {
        let mut norm = |x: &[f64]| {
            let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let slope = |x: &f64| (3.0 - length) * x / length;
            Ok::<_, Infallible>((-0.5 * (3.0 - length).powi(2), x.iter().map(slope).collect()))
        };
        let found = maximise(&[0.0, 0.0], 20, &mut norm).expect("it cannot fail");
        assert_eq!((found.end, found.steps), (End::Undefined, 0));
        let found = maximise(&[1.0, 1.0], 20, &mut norm).expect("it cannot fail");
        assert!(found.end != End::Undefined && found.value.abs() < 1e-12, "{found:?}");
        let mut root = |x: &[f64]| Ok::<_, Infallible>((x[0].sqrt(), Scratch::of(&[0.5 / x[0].sqrt()])));
        assert_eq!(maximise(&[0.0], 20, &mut root).expect("it cannot fail").end, End::Undefined);
        let mut flat = |x: &[f64]| Ok::<_, Infallible>((1.0, Scratch::zeros(x.len())));
        assert_eq!(maximise(&[4.0], 20, &mut flat).expect("it cannot fail").end, End::Level);
    }

    /// Outside its domain a function is no number: the step is shortened.
    #[test]
    fn stays_where_values_are_numbers() {
        let found = maximise::<Infallible>(&[0.5], 50, &mut |x| {
            Ok((x[0].ln() - x[0] / 4.0, Scratch::of(&[1.0 / x[0] - 0.25])))
        })
        .expect("it cannot fail");
        assert!((found.at[0] - 4.0).abs() < 1e-6, "{found:?}");
    }
}
