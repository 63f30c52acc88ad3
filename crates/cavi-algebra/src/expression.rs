//! An expression as the program states it, names resolved: the input of the algebra.

use crate::symbols::{ArrayId, LetterId};

/// A subscript: a letter, or an element of an index array (data or latent).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subscript {
    /// `k`
    Letter(LetterId),
    /// `z[n]`
    Index(ArrayId, Vec<Subscript>),
}

impl Subscript {
    /// The letters in it.
    pub fn letters(&self, out: &mut Vec<LetterId>) {
        match self {
            Subscript::Letter(letter) => out.push(*letter),
            Subscript::Index(_, subscripts) => subscripts.iter().for_each(|inner| inner.letters(out)),
        }
    }

    /// Whether an element of `array` stands in it.
    pub fn mentions(&self, array: ArrayId) -> bool {
        match self {
            Subscript::Letter(_) => false,
            Subscript::Index(id, subscripts) => {
                *id == array || subscripts.iter().any(|inner| inner.mentions(array))
            }
        }
    }
}

/// The functions that programs may use (`grammar/README.md`, section 6), and those that densities and their
/// derivatives need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// Natural exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// sin(pi x), which periodic covariances are made of.
    SinePi,
    /// 1 / (1 + exp(-x)).
    Logistic,
    /// log(1 + exp(x)).
    Softplus,
    /// log(2 cosh(x / 2)), the even part of softplus: softplus(x) = x / 2 + log(2 cosh(x / 2)).
    EvenSoftplus,
    /// tanh(x / 2) / (2 x), 1/4 at 0: the curvature of the parabola that touches log(2 cosh(x / 2)) from above.
    LogisticCurvature,
    /// log(1 - exp(x)) for x < 0.
    LogOneLessExp,
    /// ln Gamma(x).
    LogGamma,
    /// psi(x), the derivative of ln Gamma.
    Digamma,
    /// psi'(x).
    Trigamma,
    /// `ln K_p(z)` of the modified Bessel function of the second kind: the order first, then the argument.
    LogBesselK,
    /// First argument to the power of the second, where that is no integer.
    Power,
    /// Standard normal distribution function.
    Phi,
    /// Its inverse.
    InversePhi,
    /// Its logarithm.
    StandardNormalLogCdf,
    /// The logarithm of its complement.
    StandardNormalLogCcdf,
    /// Inverse of the logarithm of the standard normal distribution function.
    StandardNormalLogQf,
    /// Of a matrix: its argument is a sum of its elements over two letters, and stands for the elements themselves, the
    /// first letter for the rows.
    LogDeterminant,
    /// `ln Gamma_n(x)`, the multivariate Gamma function, its second argument n.
    LogMultivariateGamma,
    /// `min(x, 1)`.
    AtMostOne,
    /// `log max(1 - x, min(y, 1), 2^-52)`: what is left of a number without its part x, of which the part y stays in any case.
    LogLeft,
}

impl Function {
    /// As programs write it.
    pub fn name(self) -> &'static str {
        match self {
            Function::Exp => "exp",
            Function::Log => "log",
            Function::Sqrt => "sqrt",
            Function::SinePi => "sin_pi",
            Function::Logistic => "logistic",
            Function::Softplus => "softplus",
            Function::EvenSoftplus => "even_softplus",
            Function::LogisticCurvature => "logistic_curvature",
            Function::LogOneLessExp => "log_one_less_exp",
            Function::LogGamma => "log_gamma",
            Function::Digamma => "digamma",
            Function::Trigamma => "trigamma",
            Function::LogBesselK => "log_bessel_k",
            Function::Power => "power",
            Function::Phi => "Phi",
            Function::InversePhi => "inv_Phi",
            Function::StandardNormalLogCdf => "std_normal_lcdf",
            Function::StandardNormalLogCcdf => "std_normal_lccdf",
            Function::StandardNormalLogQf => "std_normal_log_qf",
            Function::LogDeterminant => "logdet",
            Function::LogMultivariateGamma => "log_multivariate_gamma",
            Function::AtMostOne => "at_most_one",
            Function::LogLeft => "log_left",
        }
    }

    /// Whether some of its values are negative. (Those of a power depend on what it is a power of.)
    pub fn takes_either_sign(self) -> bool {
        match self {
            Function::Exp
            | Function::Sqrt
            | Function::Logistic
            | Function::Softplus
            | Function::EvenSoftplus
            | Function::LogisticCurvature
            | Function::Phi
            | Function::Trigamma
            | Function::Power => false,
            Function::Log
            | Function::LogOneLessExp
            | Function::SinePi
            | Function::LogGamma
            | Function::Digamma
            | Function::LogBesselK
            | Function::LogDeterminant
            | Function::LogMultivariateGamma
            | Function::AtMostOne
            | Function::LogLeft
            | Function::InversePhi
            | Function::StandardNormalLogCdf
            | Function::StandardNormalLogCcdf
            | Function::StandardNormalLogQf => true,
        }
    }
}

/// An expression with resolved names.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// An element of an array.
    Value(ArrayId, Vec<Subscript>),
    /// 1 where the two letters compare so, else 0.
    Indicator(Comparison, LetterId, LetterId),
    /// A sum over letters.
    Sum(Vec<LetterId>, Box<Expression>),
    /// A sum of its parts.
    Add(Vec<Expression>),
    /// A product of its parts.
    Multiply(Vec<Expression>),
    /// Base and exponent.
    Power(Box<Expression>, Box<Expression>),
    /// A function of one argument.
    Apply(Function, Box<Expression>),
    /// The position of a letter on its axis, from 0. Positions of Gaussian processes are such numbers; programs never write
    /// one.
    Position(LetterId),
    /// The element at (row, column) of a matrix made from the symmetric one that the expression is along these letters.
    OfMatrix(MatrixFunction, Box<Expression>, LetterId, LetterId),
}

/// How two letters of one axis compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `j == l`
    Equal,
    /// `j != l`
    Different,
    /// `j < l`
    Less,
}

impl Comparison {
    /// As programs write it.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::Different => "!=",
            Comparison::Less => "<",
        }
    }

    /// Whether it holds of two positions.
    pub fn holds<P: PartialOrd>(self, left: P, right: P) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Different => left != right,
            Comparison::Less => left < right,
        }
    }
}

/// What is made from a symmetric positive definite matrix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixFunction {
    /// `A^-1`
    Inverse,
    /// `L^-1` of the Cholesky factor L, `L L' = A`: lower triangular. It whitens: `L^-1 x` has the covariance I where x has
    /// A. Where A is no more than positive semi-definite, of `A + jitter I` with the smallest jitter that has a factor.
    Whitening,
}

impl Expression {
    /// Calls `visit` with every function of one argument in it.
    pub fn visit_functions(&self, visit: &mut dyn FnMut(Function)) {
        match self {
            Expression::Number(_)
            | Expression::Indicator(..)
            | Expression::Position(_)
            | Expression::Value(..) => {}
            Expression::Sum(_, body) | Expression::OfMatrix(_, body, ..) => body.visit_functions(visit),
            Expression::Apply(function, body) => {
                visit(*function);
                body.visit_functions(visit);
            }
            Expression::Add(parts) | Expression::Multiply(parts) => {
                parts.iter().for_each(|part| part.visit_functions(visit));
            }
            Expression::Power(base, exponent) => {
                base.visit_functions(visit);
                exponent.visit_functions(visit);
            }
        }
    }

    /// Calls `visit` with every array element in it, those inside subscripts included.
    pub fn visit_values(&self, visit: &mut dyn FnMut(ArrayId, &[Subscript])) {
        fn inside(subscript: &Subscript, visit: &mut dyn FnMut(ArrayId, &[Subscript])) {
            if let Subscript::Index(array, subscripts) = subscript {
                visit(*array, subscripts);
                subscripts.iter().for_each(|inner| inside(inner, visit));
            }
        }
        match self {
            Expression::Number(_) | Expression::Indicator(..) | Expression::Position(_) => {}
            Expression::Value(array, subscripts) => {
                visit(*array, subscripts);
                subscripts.iter().for_each(|inner| inside(inner, visit));
            }
            Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
                body.visit_values(visit);
            }
            Expression::Add(parts) | Expression::Multiply(parts) => {
                parts.iter().for_each(|part| part.visit_values(visit));
            }
            Expression::Power(base, exponent) => {
                base.visit_values(visit);
                exponent.visit_values(visit);
            }
        }
    }
}
