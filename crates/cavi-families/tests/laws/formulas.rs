//! What a family prints in symbols is what it computes in numbers: each formula is evaluated at random natural parameters
//! and held against `expect`, `entropy` and `mode`.

use cavi_algebra::print::Formula;
use cavi_algebra::{Function, Statistic};
use cavi_families::{Batch, Extent, Posterior, posteriors, views, views_mut};
use rand::Rng;
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::{digamma, ln_gamma};

use super::{assert_close, descriptor_columns, distributions, generator, natural_columns, random, shape};

/// A number, a vector over the slots, or a matrix over pairs of them, row after row.
#[derive(Clone, Debug)]
enum Value {
    Scalar(f64),
    Vector(Vec<f64>),
    Matrix(Vec<f64>),
}

impl Value {
    fn of(extent: Extent, column: &[f64]) -> Value {
        match extent {
            Extent::Scalar => Value::Scalar(column[0]),
            Extent::Vector => Value::Vector(column.to_vec()),
            Extent::Matrix | Extent::Pairs => Value::Matrix(column.to_vec()),
        }
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Value::Scalar(number) => vec![*number],
            Value::Vector(numbers) | Value::Matrix(numbers) => numbers.clone(),
        }
    }

    fn map(&self, function: impl Fn(f64) -> f64) -> Value {
        let all = |numbers: &[f64]| numbers.iter().map(|number| function(*number)).collect();
        match self {
            Value::Scalar(number) => Value::Scalar(function(*number)),
            Value::Vector(numbers) => Value::Vector(all(numbers)),
            Value::Matrix(numbers) => Value::Matrix(all(numbers)),
        }
    }

    fn with(&self, other: &Value, function: impl Fn(f64, f64) -> f64) -> Value {
        match (self, other) {
            (Value::Scalar(left), right) => right.map(|right| function(*left, right)),
            (left, Value::Scalar(right)) => left.map(|left| function(left, *right)),
            (Value::Vector(left), Value::Vector(right)) => {
                Value::Vector(left.iter().zip(right).map(|(left, right)| function(*left, *right)).collect())
            }
            (Value::Matrix(left), Value::Matrix(right)) => {
                Value::Matrix(left.iter().zip(right).map(|(left, right)| function(*left, *right)).collect())
            }
            (left, right) => panic!("{left:?} does not go with {right:?}"),
        }
    }
}

/// The inverse by Gauss and Jordan, pivots on the diagonal: precisions are positive definite.
fn inverse(matrix: &[f64]) -> Vec<f64> {
    let n = matrix.len().isqrt();
    let mut left = matrix.to_vec();
    let mut right: Vec<f64> = (0..n * n).map(|place| f64::from(place % (n + 1) == 0)).collect();
    for pivot in 0..n {
        let scale = 1.0 / left[pivot * n + pivot];
        for column in 0..n {
            left[pivot * n + column] *= scale;
            right[pivot * n + column] *= scale;
        }
        for row in (0..n).filter(|row| *row != pivot) {
            let factor = left[row * n + pivot];
            for column in 0..n {
                left[row * n + column] -= factor * left[pivot * n + column];
                right[row * n + column] -= factor * right[pivot * n + column];
            }
        }
    }
    right
}

/// The log-determinant of a positive definite matrix, by elimination.
fn log_determinant(matrix: &[f64]) -> f64 {
    let n = matrix.len().isqrt();
    let mut left = matrix.to_vec();
    let mut total = 0.0;
    for pivot in 0..n {
        total += left[pivot * n + pivot].ln();
        for row in pivot + 1..n {
            let factor = left[row * n + pivot] / left[pivot * n + pivot];
            for column in 0..n {
                left[row * n + column] -= factor * left[pivot * n + column];
            }
        }
    }
    total
}

fn apply(function: Function, x: f64) -> f64 {
    match function {
        Function::Exp => x.exp(),
        Function::Log => x.ln(),
        Function::Sqrt => x.sqrt(),
        Function::Logistic => 1.0 / (1.0 + (-x).exp()),
        Function::LogGamma => ln_gamma(x),
        Function::StandardNormalLogCdf => Normal::standard().cdf(x).ln(),
        other => panic!("no formula of a family has {}", other.name()),
    }
}

/// `ln K_p(z)` by the trapezoid rule on `int exp(p t - z cosh t) dt / 2`.
fn log_bessel_k(p: f64, z: f64) -> f64 {
    let kernel = |t: f64| (p * t - z * t.cosh()).exp();
    (0.5 * 0.01 * (-3000..=3000).map(|step| kernel(0.01 * f64::from(step))).sum::<f64>()).ln()
}

/// `d ln K_p(z) / dp` by the same rule: the mean of t.
fn log_bessel_k_in_order(p: f64, z: f64) -> f64 {
    let kernel = |t: f64| (p * t - z * t.cosh()).exp();
    let steps = || (-3000..=3000).map(|step| 0.01 * f64::from(step));
    steps().map(|t| t * kernel(t)).sum::<f64>() / steps().map(kernel).sum::<f64>()
}

fn evaluate(n: usize, formula: &Formula, natural: &[Value], parameters: &[Value]) -> Value {
    let again = |formula: &Formula| evaluate(n, formula, natural, parameters);
    let fold = |parts: &[Formula], function: fn(f64, f64) -> f64| {
        let values: Vec<Value> = parts.iter().map(again).collect();
        values[1..].iter().fold(values[0].clone(), |all, one| all.with(one, function))
    };
    match formula {
        Formula::Natural(index) => natural[*index].clone(),
        Formula::Parameter(index) => parameters[*index].clone(),
        Formula::Number(number) => Value::Scalar(*number),
        Formula::Add(parts) => fold(parts, |left, right| left + right),
        Formula::Multiply(parts) => fold(parts, |left, right| left * right),
        Formula::Negate(inner) => again(inner).map(|x| -x),
        Formula::Divide(above, below) => again(above).with(&again(below), |above, below| above / below),
        Formula::Apply(function, inner) => again(inner).map(|x| apply(*function, x)),
        Formula::LogBesselK(order, argument) => again(order).with(&again(argument), log_bessel_k),
        Formula::LogBesselKInOrder(order, argument) => {
            again(order).with(&again(argument), log_bessel_k_in_order)
        }
        Formula::PositivePart(inner) => again(inner).map(|x| x.max(0.0)),
        Formula::Digamma(inner) => again(inner).map(digamma),
        Formula::Normalised(inner) => {
            let inner = again(inner);
            let total: f64 = inner.numbers().iter().sum();
            inner.map(|x| x / total)
        }
        Formula::Total(inner) => Value::Scalar(again(inner).numbers().iter().sum()),
        Formula::Inverse(inner) => Value::Matrix(inverse(&again(inner).numbers())),
        Formula::MatrixVector(matrix, vector) => {
            let (matrix, vector) = (again(matrix).numbers(), again(vector).numbers());
            let rows = matrix.chunks(vector.len());
            Value::Vector(rows.map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum()).collect())
        }
        Formula::Outer(left, right) => {
            let (left, right) = (again(left).numbers(), again(right).numbers());
            Value::Matrix(left.iter().flat_map(|a| right.iter().map(move |b| a * b)).collect())
        }
        Formula::Symmetric(inner) => {
            let own = again(inner).numbers();
            let n = own.len().isqrt();
            Value::Matrix((0..n * n).map(|at| 0.5 * (own[at] + own[at % n * n + at / n])).collect())
        }
        Formula::Size => Value::Scalar(n as f64),
        Formula::LogDeterminant(inner) => Value::Scalar(log_determinant(&again(inner).numbers())),
        Formula::LogMultivariateGamma(inner) => again(inner).map(|x| {
            let pairs = (n * (n - 1)) as f64;
            (0..n).map(|i| ln_gamma(x - 0.5 * i as f64)).sum::<f64>()
                + 0.25 * pairs * std::f64::consts::PI.ln()
        }),
        Formula::MultivariateDigamma(inner) => {
            again(inner).map(|x| (0..n).map(|i| digamma(x - 0.5 * i as f64)).sum())
        }
    }
}

fn values(posterior: &dyn Posterior, columns: &[Vec<f64>]) -> Vec<Value> {
    let extents = posterior.statistics().into_iter().map(|statistic| statistic.extent);
    extents.zip(columns).map(|(extent, column)| Value::of(extent, column)).collect()
}

/// To 1e-7: the distribution function of `statrs` and the cancellation in long tails leave no more.
fn compare(what: &str, found: &Value, expected: &[f64]) {
    let found = found.numbers();
    assert_eq!(found.len(), expected.len(), "{what}");
    found.iter().zip(expected).for_each(|(found, expected)| assert_close(what, *found, *expected, 1e-7));
}

#[test]
fn expectations_and_normalisers_print_as_they_are_computed() {
    let mut rng = generator();
    for posterior in distributions() {
        let formulas = posterior.formulas();
        assert!(!formulas.parameters.is_empty(), "{} prints no parameters", posterior.name());
        assert_eq!(formulas.log_normaliser.is_some(), posterior.paired(), "{}", posterior.name());
        assert_eq!(formulas.entropy.is_some(), !posterior.paired(), "{}", posterior.name());
        for _ in 0..20 {
            let n = shape(posterior);
            let batch = Batch::of(1, n);
            let descriptors = random(posterior, &batch, &mut rng);
            let mut natural = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
            let natural = values(posterior, &natural);
            let mut parameters = Vec::new();
            for (name, formula) in &formulas.parameters {
                let value = evaluate(n, formula, &natural, &parameters);
                let descriptor = posterior.descriptors().iter().position(|own| own.name == *name);
                if let Some(descriptor) = descriptor {
                    compare(&format!("{} {name}", posterior.name()), &value, &descriptors[descriptor]);
                }
                parameters.push(value);
            }
            for (statistic, formula) in &formulas.expectations {
                let all = posterior.expectations();
                let which = all.iter().position(|own| own.statistic == *statistic);
                let which = which.unwrap_or_else(|| panic!("{} {statistic:?}", posterior.name()));
                let mut expected = vec![0.0; batch.len(all[which].extent)];
                posterior.expect(&batch, &views(&descriptors), which, &mut expected);
                let what = format!("{} E {statistic:?}", posterior.name());
                compare(&what, &evaluate(n, formula, &natural, &parameters), &expected);
            }
            if let Some(formula) = formulas.log_normaliser.as_ref().or(formulas.entropy.as_ref()) {
                let mut expected = [0.0];
                posterior.entropy(&batch, &views(&descriptors), &mut expected);
                let what = format!("log normaliser or entropy of {}", posterior.name());
                compare(&what, &evaluate(n, formula, &natural, &parameters), &expected);
            }
        }
    }
}

/// Whether the expectations that a family states to be finite under a condition are finite just where it holds, and what it states
/// where a parameter is 0.
#[test]
fn limits_print_as_they_are_computed() {
    let mut rng = generator();
    let (mut at_limits, mut finite, mut infinite) = (0, 0, 0);
    for posterior in distributions() {
        let formulas = posterior.formulas();
        let stated = |statistic: &Statistic, batch: &Batch, descriptors: &[Vec<f64>]| {
            let all = posterior.expectations();
            let which = all.iter().position(|own| own.statistic == *statistic).expect("an expectation");
            let mut out = vec![0.0; batch.len(all[which].extent)];
            posterior.expect(batch, &views(descriptors), which, &mut out);
            out
        };
        for round in 0..40 {
            let n = shape(posterior);
            let batch = Batch::of(1, n);
            let mut descriptors = random(posterior, &batch, &mut rng);
            // Few degrees of freedom, so that some expectations are infinite.
            for (column, own) in descriptors.iter_mut().zip(posterior.descriptors()) {
                match own.name {
                    "shape" if round % 2 == 0 => column[0] = rng.random(),
                    "dof" if round % 2 == 0 => column[0] = n as f64 - 1.0 + 2.0 * rng.random::<f64>(),
                    _ => {}
                }
            }
            let mut natural = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
            let parameters = |natural: &[Vec<f64>]| {
                let natural = values(posterior, natural);
                let mut all = Vec::new();
                for (_, formula) in &formulas.parameters {
                    let value = evaluate(n, formula, &natural, &all);
                    all.push(value);
                }
                all
            };
            let holds = |[left, right]: &[Formula; 2], parameters: &[Value]| {
                let number = |own: &Formula| evaluate(n, own, &[], parameters).numbers()[0];
                number(left) > number(right)
            };
            for (statistic, condition) in &formulas.finite {
                let holds = holds(condition, &parameters(&natural));
                let all_finite = stated(statistic, &batch, &descriptors).iter().all(|own| own.is_finite());
                assert_eq!(all_finite, holds, "{} {statistic:?}", posterior.name());
                *(if holds { &mut finite } else { &mut infinite }) += 1;
            }
            for limit in &formulas.limits {
                let Formula::Multiply(parts) = &formulas.parameters[limit.parameter].1 else { continue };
                let Some(Formula::Natural(index)) = parts.last() else { continue };
                let mut natural = natural.clone();
                natural[*index].fill(0.0);
                let mut descriptors = descriptor_columns(posterior, &batch);
                if posterior.describe(&batch, &views(&natural), &mut views_mut(&mut descriptors)).is_err() {
                    continue;
                }
                let parameters = parameters(&natural);
                for (statistic, formula) in &limit.expectations {
                    let own = limit.finite.iter().find(|own| own.0 == *statistic);
                    let expected = stated(statistic, &batch, &descriptors);
                    match own.is_none_or(|(_, condition)| holds(condition, &parameters)) {
                        true => compare(posterior.name(), &evaluate(n, formula, &[], &parameters), &expected),
                        false => assert!(expected.iter().all(|own| !own.is_finite())),
                    }
                }
                let mut expected = [0.0];
                posterior.entropy(&batch, &views(&descriptors), &mut expected);
                compare(posterior.name(), &evaluate(n, &limit.log_normaliser, &[], &parameters), &expected);
                at_limits += 1;
            }
        }
    }
    assert!(at_limits > 10 && finite > 10 && infinite > 10, "{at_limits} {finite} {infinite}");
}

#[test]
fn modes_print_as_they_are_computed() {
    let mut rng = generator();
    for posterior in posteriors().iter().copied() {
        let Some(formula) = posterior.formulas().mode else { continue };
        for _ in 0..20 {
            let n = shape(posterior);
            let batch = Batch::of(1, n);
            let coefficients = if posterior.only_point() {
                // Of a log, a linear and a square term.
                vec![vec![rng.random()], vec![rng.random::<f64>() - 0.5], vec![-rng.random::<f64>()]]
            } else {
                let descriptors = random(posterior, &batch, &mut rng);
                let mut natural = natural_columns(posterior, &batch);
                posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
                natural
            };
            let mut expected = descriptor_columns(posterior, &batch)[0].clone();
            posterior.mode(&batch, &views(&coefficients), &mut expected).expect("a mode exists");
            let found = evaluate(n, &formula, &values(posterior, &coefficients), &[]);
            compare(&format!("mode of {}", posterior.name()), &found, &expected);
        }
    }
}
