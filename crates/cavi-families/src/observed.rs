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

#[cfg(test)]
mod tests {
    use super::*;

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
