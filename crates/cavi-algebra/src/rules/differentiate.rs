//! `d/dx` of a sum of products, in an element of an array: product rule, chain rule, and `d x[i] / d x[k] = [i = k]`.

use super::multiply::{distribute, multiply, power};
use super::substitute::rename_apart;
use crate::canonical::canonical;
use crate::expression::{Function, Subscript};
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
use crate::symbols::{ArrayId, LetterId, Symbols};

/// `log(2 pi) / 2`
const LOG_ROOT_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// The derivative of a sum in the element `array[letters]`. The letters are free in the result; the sum may have some
/// of them free already. Expectations, allocations and indicators count as constants, as in a bound whose allocations
/// are held. `None` where a function in the way has no derivative among [`Function`], or where the array stands in a
/// subscript.
pub fn differentiate(symbols: &mut Symbols, sum: &Sum, array: ArrayId, letters: &[LetterId]) -> Option<Sum> {
    let taken: Vec<LetterId> = letters.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
    let mut out = Sum::zero();
    for term in sum.terms.iter().filter(|term| term.mentions(array)) {
        let term = rename_apart(symbols, term, &taken);
        for (position, factor) in term.factors.iter().enumerate() {
            if !factor.atom.mentions(array) {
                continue;
            }
            let inner = of_atom(symbols, &factor.atom, array, letters)?;
            let mut rest = term.clone();
            rest.coefficient = Coefficient(rest.coefficient.0 * f64::from(factor.power));
            match factor.power {
                1 => drop(rest.factors.remove(position)),
                power => rest.factors[position].power = power - 1,
            }
            out = out.plus(distribute(symbols, &rest, &inner));
        }
    }
    Some(canonical(symbols, &out))
}

fn of_atom(symbols: &mut Symbols, atom: &Atom, array: ArrayId, letters: &[LetterId]) -> Option<Sum> {
    match atom {
        Atom::Value(own, subscripts) if *own == array => {
            let equal = |(subscript, letter): (&Subscript, &LetterId)| {
                Factor::of(Atom::Equal(subscript.clone(), Subscript::Letter(*letter)))
            };
            let inside = subscripts.iter().any(|subscript| subscript.mentions(array));
            let factors = subscripts.iter().zip(letters).map(equal).collect();
            (!inside).then(|| Sum::term(Term { factors, ..Term::number(1.0) }))
        }
        Atom::Group(inner) => differentiate(symbols, inner, array, letters),
        Atom::Apply(function, arguments) => {
            let mut out = Sum::zero();
            for (position, argument) in arguments.iter().enumerate() {
                if !argument.mentions(array) {
                    continue;
                }
                let outer = of_function(symbols, *function, arguments, position)?;
                let inner = differentiate(symbols, argument, array, letters)?;
                out = out.plus(multiply(symbols, &outer, &inner));
            }
            Some(out)
        }
        Atom::ExpectedSquare(square) => {
            let mean = differentiate(symbols, &square.mean, array, letters)?;
            let twice = multiply(symbols, &square.mean, &mean).scaled(2.0);
            Some(twice.plus(differentiate(symbols, &square.spread, array, letters)?))
        }
        // An array in a subscript is an index, and no point is one.
        Atom::Value(..)
        | Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::Observed(..)
        | Atom::Equal(..)
        | Atom::Different(..)
        | Atom::Less(..) => None,
    }
}

/// The derivative of a function in its argument number `position`, at the arguments.
fn of_function(symbols: &mut Symbols, function: Function, arguments: &[Sum], position: usize) -> Option<Sum> {
    let x = arguments[0].clone();
    let value = Sum::atom(Atom::Apply(function, arguments.to_vec()));
    // phi(x)^p exp(a), for the density phi of the standard normal distribution: with p = -1 the slope of its quantiles.
    let gaussian = |symbols: &mut Symbols, x: &Sum, p: f64, shift: Sum| {
        let square = power(symbols, x, 2).scaled(-0.5 * p);
        let constant = Sum::number(-LOG_ROOT_TWO_PI * p);
        canonical(symbols, &shift.plus(square).plus(constant)).apply(Function::Exp)
    };
    let derivative = match function {
        Function::Exp => value,
        Function::Log => power(symbols, &x, -1),
        Function::Sqrt => power(symbols, &value, -1).scaled(0.5),
        Function::Logistic => multiply(symbols, &value, &x.scaled(-1.0).apply(Function::Logistic)),
        Function::Softplus => x.apply(Function::Logistic),
        Function::EvenSoftplus => multiply(symbols, &x.clone().apply(Function::LogisticCurvature), &x),
        // -e^x / (1 - e^x) as one exponential.
        Function::LogOneLessExp => canonical(symbols, &x.minus(value)).apply(Function::Exp).scaled(-1.0),
        Function::LogGamma => x.apply(Function::Digamma),
        Function::Digamma => x.apply(Function::Trigamma),
        Function::SinePi
        | Function::Trigamma
        | Function::LogisticCurvature
        | Function::LogDeterminant
        | Function::LogMultivariateGamma
        | Function::AtMostOne
        | Function::LogLeft => return None,
        Function::LogBesselK if position == 0 => return None,
        Function::LogBesselK => {
            // K_p'(z) = -K_(p-1)(z) - (p / z) K_p(z)
            let (order, z) = (x, arguments[1].clone());
            let below = order.clone().minus(Sum::number(1.0));
            let below = Sum::atom(Atom::Apply(function, vec![below, z.clone()]));
            let ratio = canonical(symbols, &below.minus(value)).apply(Function::Exp);
            let inverse = power(symbols, &z, -1);
            let share = multiply(symbols, &order, &inverse);
            canonical(symbols, &ratio.plus(share).scaled(-1.0))
        }
        Function::Power if position == 0 => {
            // b a^(b - 1)
            let exponent = arguments[1].clone();
            let less = canonical(symbols, &exponent.clone().minus(Sum::number(1.0)));
            multiply(symbols, &exponent, &Sum::atom(Atom::Apply(Function::Power, vec![x, less])))
        }
        Function::Power => multiply(symbols, &value, &x.apply(Function::Log)),
        Function::Phi => gaussian(symbols, &x, 1.0, Sum::zero()),
        Function::InversePhi => gaussian(symbols, &value, -1.0, Sum::zero()),
        // phi / Phi as one exponential: nothing underflows in the tails.
        Function::StandardNormalLogCdf => gaussian(symbols, &x, 1.0, value.scaled(-1.0)),
        Function::StandardNormalLogCcdf => gaussian(symbols, &x, 1.0, value.scaled(-1.0)).scaled(-1.0),
        Function::StandardNormalLogQf => gaussian(symbols, &value, -1.0, x),
    };
    Some(derivative)
}
