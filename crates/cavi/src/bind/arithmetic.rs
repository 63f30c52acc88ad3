//! Arithmetic on the command line.

use cavi_algebra::Function;
use cavi_families::functions::{apply, power};
use cavi_syntax::ast::{BinaryOperator, Expression, ExpressionKind};

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
            apply(function, &[number(&argument.value)?])
        }
        ExpressionKind::Reference(_) | ExpressionKind::Sum(..) | ExpressionKind::Indicator(..) => {
            return None;
        }
    })
}
