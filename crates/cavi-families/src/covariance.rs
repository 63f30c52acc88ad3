//! Covariance functions: the covariance that a Gaussian process assumes for two points, from their distance. One
//! entry for each kernel.
//!
//! With r the Euclidean distance of the points, the length l and the standard deviation s:
//!
//! | kernel | covariance |
//! | --- | --- |
//! | `squared_exponential` | `s^2 exp(-r^2 / (2 l^2))` |
//! | `matern32` | `s^2 (1 + sqrt(3) r / l) exp(-sqrt(3) r / l)` |
//! | `matern52` | `s^2 (1 + sqrt(5) r / l + 5 r^2 / (3 l^2)) exp(-sqrt(5) r / l)` |
//! | `exponential` | `s^2 exp(-r / l)`, the Ornstein-Uhlenbeck process |
//! | `periodic` | `s^2 exp(-2 sum_c sin^2(pi (x_c - y_c) / p) / l^2)` with the period p, over the coordinates c |
//! | `white` | `s^2 [i = j]`, of the same point only, not of another at the same place |
//!
//! Each is stated once, as an expression: the numbers follow from it, and so does what a derivation prints. Sums and products
//! of covariances are covariances.
//!
//! # Source
//! Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), 4.2; (4.31) for the periodic one, whose product
//! over coordinates is positive definite in any number of them.

use cavi_algebra::{Comparison, Expression, Function, LetterId};

/// A hyper-parameter of a kernel: a number greater than 0.
#[derive(Clone, Copy, Debug)]
pub struct Hyperparameter {
    /// As programs write it.
    pub name: &'static str,
    /// Its value where it is left out; `None` where it must be given.
    pub default: Option<f64>,
}

/// A covariance function.
pub struct Kernel {
    /// As programs write it.
    pub name: &'static str,
    /// Its hyper-parameters.
    pub hyperparameters: &'static [Hyperparameter],
    /// The covariance over the standard deviation squared, from the pair and the hyper-parameters but the last, which is the
    /// standard deviation.
    correlation: fn(&Pair, &[Expression]) -> Expression,
}

/// Two points of a process.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The number of the first.
    pub row: LetterId,
    /// The number of the second.
    pub column: LetterId,
    /// Where the first is, over `row`.
    pub at: Expression,
    /// Where the second is, over `column`.
    pub other: Expression,
    /// The letter that runs through the coordinates of a place, where it has several.
    pub coordinates: Option<LetterId>,
}

const LENGTH: Hyperparameter = Hyperparameter { name: "length", default: Some(1.0) };
const SD: Hyperparameter = Hyperparameter { name: "sd", default: Some(1.0) };
const PERIOD: Hyperparameter = Hyperparameter { name: "period", default: None };

/// Every kernel.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "squared_exponential",
        hyperparameters: &[LENGTH, SD],
        correlation: |pair, given| {
            exponential(vec![number(-0.5), pair.squared_distance(), over(squared(&given[0]))])
        },
    },
    Kernel {
        name: "matern32",
        hyperparameters: &[LENGTH, SD],
        correlation: |pair, given| {
            let scaled = || vec![root(3.0), pair.distance(), over(given[0].clone())];
            let line = Expression::Add(vec![number(1.0), product(scaled())]);
            product(vec![line, exponential(negative(scaled()))])
        },
    },
    Kernel {
        name: "matern52",
        hyperparameters: &[LENGTH, SD],
        correlation: |pair, given| {
            let scaled = || vec![root(5.0), pair.distance(), over(given[0].clone())];
            let square = vec![number(5.0 / 3.0), pair.squared_distance(), over(squared(&given[0]))];
            let parabola = Expression::Add(vec![number(1.0), product(scaled()), product(square)]);
            product(vec![parabola, exponential(negative(scaled()))])
        },
    },
    Kernel {
        name: "exponential",
        hyperparameters: &[LENGTH, SD],
        correlation: |pair, given| exponential(negative(vec![pair.distance(), over(given[0].clone())])),
    },
    Kernel {
        name: "periodic",
        hyperparameters: &[PERIOD, LENGTH, SD],
        correlation: |pair, given| {
            let turns = product(vec![pair.difference(), over(given[0].clone())]);
            let sine = Expression::Apply(Function::SinePi, Box::new(turns));
            let squares = pair.over_coordinates(squared(&sine));
            exponential(vec![number(-2.0), squares, over(squared(&given[1]))])
        },
    },
    Kernel {
        name: "white",
        hyperparameters: &[SD],
        correlation: |pair, _| Expression::Indicator(Comparison::Equal, pair.row, pair.column),
    },
];

impl Kernel {
    /// The covariance of two points, with a value for each hyper-parameter.
    pub fn covariance(&self, pair: &Pair, given: &[Expression]) -> Expression {
        let correlation = (self.correlation)(pair, given);
        let variance = squared(given.last().expect("every kernel has a standard deviation"));
        if variance == number(1.0) { correlation } else { product(vec![variance, correlation]) }
    }
}

impl Pair {
    fn difference(&self) -> Expression {
        Expression::Add(vec![self.at.clone(), product(negative(vec![self.other.clone()]))])
    }

    fn squared_distance(&self) -> Expression {
        self.over_coordinates(squared(&self.difference()))
    }

    fn distance(&self) -> Expression {
        Expression::Apply(Function::Sqrt, Box::new(self.squared_distance()))
    }

    /// The sum over the coordinates, where there are several.
    fn over_coordinates(&self, value: Expression) -> Expression {
        match self.coordinates {
            Some(letter) => Expression::Sum(vec![letter], Box::new(value)),
            None => value,
        }
    }
}

fn number(value: f64) -> Expression {
    Expression::Number(value)
}

/// The product, numbers gathered in front.
fn product(parts: Vec<Expression>) -> Expression {
    let mut front = 1.0;
    let mut rest = Vec::new();
    for part in parts {
        match part {
            Expression::Number(value) => front *= value,
            Expression::Multiply(inner) => rest.extend(inner),
            other => rest.push(other),
        }
    }
    if front != 1.0 || rest.is_empty() {
        rest.insert(0, number(front));
    }
    if rest.len() == 1 { rest.remove(0) } else { Expression::Multiply(rest) }
}

fn negative(mut parts: Vec<Expression>) -> Vec<Expression> {
    parts.insert(0, number(-1.0));
    parts
}

fn exponential(parts: Vec<Expression>) -> Expression {
    Expression::Apply(Function::Exp, Box::new(product(parts)))
}

fn root(value: f64) -> Expression {
    Expression::Apply(Function::Sqrt, Box::new(number(value)))
}

fn squared(value: &Expression) -> Expression {
    raised(value.clone(), 2.0)
}

/// `1 / value`
fn over(value: Expression) -> Expression {
    raised(value, -1.0)
}

fn raised(value: Expression, power: f64) -> Expression {
    match value {
        // Of a number that stays one: 1 / 2 as a fraction prints better than as 0.5.
        Expression::Number(value) if power == 2.0 || value == 1.0 => number(value.powf(power)),
        value => Expression::Power(Box::new(value), Box::new(number(power))),
    }
}
