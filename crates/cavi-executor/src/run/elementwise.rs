//! Functions of every element of an array.

use cavi_algebra::Function;
use cavi_families::functions;
use cavi_numerics::{Scratch, Threads, special};

use crate::plan::tensor::Elementwise;

/// As many values are a task.
const CHUNK: usize = 1 << 13;

/// A function of every element.
pub fn elementwise(function: Elementwise, from: &[f64], out: &mut [f64], threads: &Threads) {
    threads
        .for_each_chunk(out, CHUNK, |index, out| apply(function, &from[index * CHUNK..][..out.len()], out));
}

/// A function of every element, in place.
pub fn in_place(function: Elementwise, values: &mut [f64], threads: &Threads) {
    const BLOCK: usize = 512;
    threads.for_each_chunk(values, CHUNK, |_, values| {
        let mut from = [0.0; BLOCK];
        for block in values.chunks_mut(BLOCK) {
            let from = &mut from[..block.len()];
            from.copy_from_slice(block);
            apply(function, from, block);
        }
    });
}

/// So many values of unspecified content, in the memory of the given ones if it is large enough.
pub fn room(values: Vec<f64>, length: usize) -> Vec<f64> {
    let mut values = memory(values, length);
    values.resize(length, 0.0);
    values
}

/// As many zeros, in the memory of these values if there is enough of it.
pub fn zeros(values: Vec<f64>, length: usize, threads: &Threads) -> Vec<f64> {
    let mut values = memory(values, length);
    let used = values.len().min(length);
    values.resize(length, 0.0);
    threads.for_each_chunk(&mut values[..used], CHUNK, |_, values| values.fill(0.0));
    values
}

/// Memory for as many values: that of these, or what is kept.
fn memory(values: Vec<f64>, length: usize) -> Vec<f64> {
    if values.capacity() >= length {
        return values;
    }
    Scratch::keep(values);
    Scratch::room(length)
}

fn apply(function: Elementwise, from: &[f64], out: &mut [f64]) {
    match function {
        Elementwise::Power(2) => out.iter_mut().zip(from).for_each(|(out, value)| *out = value * value),
        Elementwise::Power(-1) => out.iter_mut().zip(from).for_each(|(out, value)| *out = value.recip()),
        // What rounding made negative is 0.
        Elementwise::Root => each(from, out, |value| value.max(0.0).sqrt()),
        Elementwise::Power(power) => {
            for (out, value) in out.iter_mut().zip(from) {
                *out = value.powi(power);
            }
        }
        Elementwise::LogFloored => each(from, out, |value| special::ln(value.max(f64::MIN_POSITIVE))),
        Elementwise::LogGammaOfGroup => {
            special::log_gamma_into(from, out);
            let nothing = out.iter_mut().zip(from).filter(|(_, value)| **value == 0.0);
            nothing.for_each(|(out, _)| *out = 0.0);
        }
        Elementwise::LogMultivariateGamma(size) => {
            for (out, value) in out.iter_mut().zip(from) {
                *out = special::log_multivariate_gamma(*value, size);
            }
        }
        Elementwise::Function(function) => match function {
            Function::Exp => special::exp_into(from, out),
            Function::Log => special::ln_into(from, out),
            Function::LogGamma => special::log_gamma_into(from, out),
            Function::Digamma => special::digamma_into(from, out),
            Function::Trigamma => special::trigamma_into(from, out),
            Function::Sqrt => out.iter_mut().zip(from).for_each(|(out, value)| *out = value.sqrt()),
            Function::SinePi => each(from, out, special::sin_pi),
            Function::Logistic => each(from, out, special::logistic),
            Function::Softplus => each(from, out, special::softplus),
            Function::LogOneLessExp => each(from, out, special::log_one_less_exp),
            Function::EvenSoftplus => each(from, out, special::even_softplus),
            Function::LogisticCurvature => each(from, out, special::logistic_curvature),
            Function::Phi => each(from, out, special::normal_cdf),
            Function::InversePhi => each(from, out, special::normal_quantile),
            Function::StandardNormalLogCdf => each(from, out, special::normal_log_cdf),
            Function::StandardNormalLogCcdf => each(from, out, |value| special::normal_log_cdf(-value)),
            Function::StandardNormalLogQf => each(from, out, special::normal_log_quantile),
            Function::AtMostOne => each(from, out, |value| value.min(1.0)),
            Function::Power
            | Function::LogBesselK
            | Function::LogLeft
            | Function::LogDeterminant
            | Function::LogMultivariateGamma => {
                unreachable!("a function of a matrix or of two arguments is lowered otherwise")
            }
        },
    }
}

/// A function of two arguments, of every pair of elements.
pub fn pairwise(function: Function, left: &[f64], right: &[f64], out: &mut [f64]) {
    for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
        *out = functions::apply(function, &[*left, *right]);
    }
}

/// `function(x)` of every element.
fn each(from: &[f64], out: &mut [f64], function: fn(f64) -> f64) {
    out.iter_mut().zip(from).for_each(|(out, value)| *out = function(*value));
}
