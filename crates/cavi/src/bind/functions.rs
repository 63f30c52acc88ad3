//! Functions of known numbers, and arithmetic on the command line.

use cavi_algebra::Function;
use cavi_numerics::special;
use cavi_syntax::ast::{BinaryOperator, Expression, ExpressionKind};

/// `function(arguments)`; `None` for a function that constants and data do not have in this version.
pub(super) fn apply(function: Function, arguments: &[f64]) -> Option<f64> {
    let x = arguments[0];
    Some(match function {
        Function::Exp => special::exp(x),
        Function::Log => special::ln(x),
        Function::Sqrt => x.sqrt(),
        Function::LogGamma => special::log_gamma(x),
        Function::Power => power(x, arguments[1]),
        Function::Logistic => {
            let small = special::exp(-x.abs());
            (if x < 0.0 { small } else { 1.0 }) / (1.0 + small)
        }
        Function::Softplus => x.max(0.0) + special::log1p(special::exp(-x.abs())),
        Function::Phi
        | Function::InversePhi
        | Function::StandardNormalLogCdf
        | Function::StandardNormalLogCcdf
        | Function::StandardNormalLogQf => return None,
    })
}

/// `x^p`: by multiplication for whole powers, by logs for others; NaN where it has no value.
fn power(x: f64, p: f64) -> f64 {
    if p.fract() == 0.0 && p.abs() <= 64.0 {
        return x.powi(p as i32);
    }
    if x == 0.0 {
        return if p > 0.0 { 0.0 } else { f64::INFINITY };
    }
    special::exp(p * special::ln(x))
}

/// The functions that arithmetic on the command line may call.
const OF_NUMBERS: [Function; 6] = [
    Function::Exp,
    Function::Log,
    Function::Sqrt,
    Function::Logistic,
    Function::Softplus,
    Function::LogGamma,
];

/// The value of an expression of numbers; `None` where it has names, or functions that are not known here.
pub(super) fn number(expression: &Expression) -> Option<f64> {
    Some(match &expression.kind {
        ExpressionKind::Number(value, _) => *value,
        ExpressionKind::Negate(inner) => -number(inner)?,
        ExpressionKind::Binary(operator, left, right) => {
            let (left, right) = (number(left)?, number(right)?);
            match operator {
                BinaryOperator::Add => left + right,
                BinaryOperator::Subtract => left - right,
                BinaryOperator::Multiply => left * right,
                BinaryOperator::Divide => left / right,
                BinaryOperator::Power => power(left, right),
            }
        }
        ExpressionKind::Call(name, arguments) => {
            let function = OF_NUMBERS.into_iter().find(|function| function.name() == name.text)?;
            let [argument] = arguments.as_slice() else { return None };
            apply(function, &[number(&argument.value)?])?
        }
        ExpressionKind::Reference(_) | ExpressionKind::Sum(..) | ExpressionKind::Equal(..) => return None,
    })
}
