//! The observed entries of a variable that is latent at its other entries. Their factor of q is the point mass at the
//! value: the expectation of a function is the function's value, and there is no entropy.

use cavi_algebra::{Elementary, Function, Statistic};

use crate::functions::apply;

/// The expectations of a statistic of one variable under the point mass at a value (of a slice: at its elements): one
/// number, one for each element or class, or one for each pair.
pub fn at_value(statistic: &Statistic, value: &[f64], out: &mut [f64]) {
    let of = |elementary: Elementary, value: f64| match elementary {
        Elementary::Power(power) => value.powi(power),
        Elementary::Log => apply(Function::Log, &[value]),
        Elementary::LogComplement => apply(Function::Log, &[1.0 - value]),
        Elementary::Centred => 0.0,
        Elementary::Mass | Elementary::MassOfComplement => f64::INFINITY,
        Elementary::Indicator | Elementary::LogDeterminant | Elementary::Contracted(_) => {
            unreachable!("only numbers, classes and vectors are observed in part")
        }
    };
    match statistic.0.as_slice() {
        [(_, Elementary::Indicator)] => {
            out.fill(0.0);
            out[value[0] as usize] = 1.0;
        }
        [(_, own)] => out.iter_mut().zip(value).for_each(|(out, value)| *out = of(*own, *value)),
        [(_, left), (_, right)] if out.len() == value.len() * value.len() => {
            for (row, out) in value.iter().zip(out.chunks_exact_mut(value.len().max(1))) {
                out.iter_mut()
                    .zip(value)
                    .for_each(|(out, column)| *out = of(*left, *row) * of(*right, *column));
            }
        }
        _ => unreachable!("a statistic has one elementary function, or two over a slice"),
    }
}

/// Puts what describes a point mass into a row: for each descriptor of one number its value in the limit.
pub(crate) fn describe(descriptors: &mut [&mut [f64]], row: usize, limit: &[f64]) {
    descriptors.iter_mut().zip(limit).for_each(|(column, limit)| column[row] = *limit);
}

/// Coefficients of a quadratic in a slice of `n` elements, some of which are held at values: those of the same function of the others.
///
/// # Derivation
/// With `x_H = c`, but for a constant,
///
/// ```text
/// b'x + x'A x = (b_F + (A_FH + A_HF') c)' x_F + x_F' A_FF x_F .
/// ```
///
/// What is held stands apart, with its maximum at `c`: `A_HH = -I / 2` and `b_H = c`. A Normal with such coefficients is the
/// conditional distribution of the others, `q(x_F | x_H = c)`.
pub fn hold(n: usize, held: &[bool], value: &[f64], linear: &mut [f64], square: &mut [f64]) {
    for own in (0..n).filter(|own| held[*own]) {
        for other in (0..n).filter(|other| !held[*other]) {
            linear[other] += (square[other * n + own] + square[own * n + other]) * value[own];
        }
    }
    for own in (0..n).filter(|own| held[*own]) {
        for other in 0..n {
            square[own * n + other] = 0.0;
            square[other * n + own] = 0.0;
        }
        square[own * n + own] = -0.5;
        linear[own] = value[own];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean given the others is that of Gauss's formula, `m_F + S_FH S_HH^-1 (c - m_H)`, and the variance `S_FF - S_FH S_HH^-1 S_HF`.
    #[test]
    fn what_is_held_conditions_the_others() {
        // The precision [[2, 1], [1, 3]] has the covariance [[3, -1], [-1, 2]] / 5.
        let (mut linear, mut square) = ([1.0, 2.0], [-1.0, -0.5, -0.5, -1.5]);
        let mean = [(3.0 - 2.0) / 5.0, (-1.0 + 4.0) / 5.0];
        hold(2, &[true, false], &[7.0, f64::NAN], &mut linear, &mut square);
        let variance = -0.5 / square[3];
        assert!((variance - (0.4 - 0.04 / 0.6)).abs() < 1e-15, "{variance}");
        let found = variance * linear[1];
        assert!((found - (mean[1] - 0.2 / 0.6 * (7.0 - mean[0]))).abs() < 1e-14, "{found}");
        assert_eq!((linear[0], square[0], square[1], square[2]), (7.0, -0.5, 0.0, 0.0));
    }

    #[test]
    fn expectations_are_values() {
        let check = |statistic: &Statistic, value: &[f64], expected: &[f64]| {
            let mut out = vec![f64::NAN; expected.len()];
            at_value(statistic, value, &mut out);
            assert_eq!(out, expected, "{statistic:?}");
        };
        check(&Statistic::square(), &[3.0], &[9.0]);
        check(&Statistic::of(Elementary::Power(-1)), &[4.0], &[0.25]);
        check(&Statistic::log(), &[1.0], &[0.0]);
        check(&Statistic::of(Elementary::LogComplement), &[0.0], &[0.0]);
        check(&Statistic::covariance(), &[3.0], &[0.0]);
        check(&Statistic::indicator(), &[1.0], &[0.0, 1.0, 0.0]);
        check(&Statistic::identity(), &[2.0, 5.0], &[2.0, 5.0]);
        check(&Statistic::outer(), &[2.0, 5.0], &[4.0, 10.0, 10.0, 25.0]);
        check(&Statistic::covariance(), &[2.0, 5.0], &[0.0; 4]);
    }
}
