//! Numbers as people write them: fractions, and the constants that densities bring along.

use std::f64::consts::PI;

use crate::expression::Function;

use super::node::{Call, Node};

/// A constant with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// `log(above / below)`
    Log(u32, u32),
    /// `log(above pi / below)`
    LogOfPi(u32, u32),
    /// `pi`
    Pi,
    /// `sqrt(above / below)`
    Root(u32, u32),
}

impl Named {
    /// Those that densities bring along; other logarithms are recognised by their exponentials.
    const ALL: [Named; 5] =
        [Named::LogOfPi(2, 1), Named::Log(2, 1), Named::LogOfPi(1, 1), Named::LogOfPi(1, 2), Named::Pi];

    fn value(self) -> f64 {
        let ratio = |above: u32, below: u32| f64::from(above) / f64::from(below);
        match self {
            Named::Log(above, below) => ratio(above, below).ln(),
            Named::LogOfPi(above, below) => (ratio(above, below) * PI).ln(),
            Named::Pi => PI,
            Named::Root(above, below) => ratio(above, below).sqrt(),
        }
    }

    /// Whether it is a logarithm.
    pub fn is_logarithm(self) -> bool {
        matches!(self, Named::Log(..) | Named::LogOfPi(..))
    }

    /// Whether pi stands in it.
    pub fn has_pi(self) -> bool {
        matches!(self, Named::Pi | Named::LogOfPi(..))
    }

    /// What it is, as a formula in which pi is written as given.
    pub fn spelled(self, pi: &Node) -> Node {
        let ratio = |above: u32, below: u32, factors: Vec<Node>| {
            let number = Number { above: above.to_string(), below, ..Number::one() };
            Node::product(number, factors, Vec::new())
        };
        match self {
            Named::Pi => pi.clone(),
            Named::Log(above, below) => Node::log(ratio(above, below, Vec::new())),
            Named::LogOfPi(above, below) => Node::log(ratio(above, below, vec![pi.clone()])),
            Named::Root(above, below) => {
                Node::call(Call::Function(Function::Sqrt), ratio(above, below, Vec::new()))
            }
        }
    }

    /// A number that is no logarithm, as a terminal shows it.
    pub fn in_text(self) -> String {
        match self {
            Named::Root(above, 1) => format!("sqrt({above})"),
            Named::Root(above, below) => format!("sqrt({above} / {below})"),
            Named::Pi | Named::Log(..) | Named::LogOfPi(..) => "pi".to_owned(),
        }
    }

    /// What stands in the brackets of the logarithm, with a word for pi; `None` of a number that is none.
    pub fn inside(self, pi: &str) -> Option<(String, u32)> {
        match self {
            Named::Pi | Named::Root(..) => None,
            Named::Log(above, below) => Some((above.to_string(), below)),
            Named::LogOfPi(1, below) => Some((pi.to_owned(), below)),
            Named::LogOfPi(above, below) => Some((format!("{above} {pi}"), below)),
        }
    }
}

/// `sign * above / below * named`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    /// Whether it is less than 0.
    pub negative: bool,
    /// The digits above the line.
    pub above: String,
    /// The number below the line.
    pub below: u32,
    /// A constant that multiplies the fraction.
    pub named: Option<Named>,
}

impl Number {
    /// The number 1.
    pub fn one() -> Number {
        Number { negative: false, above: "1".to_owned(), below: 1, named: None }
    }

    /// Whether it is 1.
    pub fn is_one(&self) -> bool {
        !self.negative && self.is_unit()
    }

    /// Whether it is 1 or -1.
    pub fn is_unit(&self) -> bool {
        self.above == "1" && self.below == 1 && self.named.is_none()
    }

    /// The whole number that it is, where it is one greater than 0.
    pub fn whole(&self) -> Option<u32> {
        let whole = !self.negative && self.below == 1 && self.named.is_none();
        self.above.parse().ok().filter(|value| whole && *value > 0)
    }

    /// A fraction or a multiple of a named constant where the value is one, else the shortest decimal that reads back,
    /// to 15 digits where that is much shorter.
    pub fn of(value: f64) -> Number {
        let negative = value < 0.0;
        let size = value.abs();
        if let Some((above, below)) = fraction(size, 0.0) {
            return Number { negative, above: above.to_string(), below, named: None };
        }
        if decimal(size).len() > READABLE {
            if let Some((above, below)) = ratio(size) {
                return Number { negative, above: above.to_string(), below, named: None };
            }
            if let Some((below, named)) = logarithm(size) {
                return Number { negative, above: "1".to_owned(), below, named: Some(named) };
            }
            if let Some((above, below)) = small(size * size) {
                let named = Some(Named::Root(above, below));
                return Number { negative, above: "1".to_owned(), below: 1, named };
            }
            if let Some((tenths, above, below)) = multiple_of_logarithm(size) {
                let named = Some(Named::Log(above, below));
                return Number { negative, above: decimal(f64::from(tenths) / 10.0), below: 1, named };
            }
        }
        for named in Named::ALL {
            if let Some((above, below)) = fraction(size / named.value(), 8.0 * f64::EPSILON)
                && above <= 64
            {
                return Number { negative, above: above.to_string(), below, named: Some(named) };
            }
        }
        Number { negative, above: decimal(size), below: 1, named: None }
    }
}

/// The fraction with a small denominator that `size` is, to a relative error.
fn fraction(size: f64, tolerance: f64) -> Option<(u64, u32)> {
    if !size.is_finite() || size >= 1e15 {
        return None;
    }
    for below in [1u32, 2, 3, 4, 6, 8] {
        let above = (size * f64::from(below)).round();
        if below > 1 && above >= 100.0 || above == 0.0 && size != 0.0 {
            continue;
        }
        if (above / f64::from(below) - size).abs() <= tolerance * size {
            return Some((above as u64, below));
        }
    }
    None
}

/// The longest decimal that reads better than a fraction with a large denominator.
const READABLE: usize = 8;

/// How far a logarithm may be from the number that it is recognised in, relative to it: a few roundings. The logarithm of 1, which
/// is 0, is near no number.
const NEAR: f64 = 64.0 * f64::EPSILON;

/// Whether `part` of a named constant is a number up to rounding.
fn is_near(part: f64, named: Named, size: f64) -> bool {
    (part * named.value() - size).abs() <= NEAR * size
}

/// A number as a logarithm or half of one, of a fraction or of a multiple of pi: the divisor and the
/// logarithm. Near 1 exponentials of different numbers are the same fraction, so that the logarithm decides.
fn logarithm(size: f64) -> Option<(u32, Named)> {
    let fraction = |value: f64| {
        let (above, below) = fraction(value, 16.0 * f64::EPSILON).or_else(|| ratio(value))?;
        // A large whole number reads well, a large fraction does not.
        let most = if below == 1 { 1_000_000 } else { 1000 };
        ((1..most).contains(&above)).then_some((above as u32, below))
    };
    for below in [1_u32, 2] {
        let value = (f64::from(below) * size).exp();
        if value >= 1e6 {
            continue;
        }
        let plain = fraction(value).map(|(above, under)| Named::Log(above, under));
        let of_pi = || fraction(value / PI).map(|(above, under)| Named::LogOfPi(above, under));
        let near = |named: &Named| is_near(1.0 / f64::from(below), *named, size);
        if let Some(named) = plain.filter(near).or_else(|| of_pi().filter(near)) {
            return Some((below, named));
        }
    }
    None
}

/// The fraction of two small numbers that a number is, up to a few roundings.
fn small(value: f64) -> Option<(u32, u32)> {
    (1..100_u32).find_map(|below| {
        let above = (value * f64::from(below)).round();
        let near = (above / f64::from(below) - value).abs() <= 8.0 * f64::EPSILON * value;
        ((1.0..1000.0).contains(&above) && near).then_some((above as u32, below))
    })
}

/// A number as tenths of the logarithm of a fraction of small numbers: the tenths, and the fraction. A shape of 1.1 at a rate
/// of 0.7 gives 1.1 log(7 / 10).
fn multiple_of_logarithm(size: f64) -> Option<(u32, u32, u32)> {
    (1..100_u32).find_map(|tenths| {
        let (above, below) = small((10.0 * size / f64::from(tenths)).exp())?;
        let near = is_near(f64::from(tenths) / 10.0, Named::Log(above, below), size);
        near.then_some((tenths, above, below))
    })
}

/// The fraction of numbers below 1000 that a number is, up to the rounding of one division and one product.
fn ratio(size: f64) -> Option<(u64, u32)> {
    (2..1000_u32).find_map(|below| {
        let above = (size * f64::from(below)).round();
        let near = (above / f64::from(below) - size).abs() <= 4.0 * f64::EPSILON * size;
        ((1.0..1000.0).contains(&above) && near).then_some((above as u64, below))
    })
}

/// The number in LaTeX, from its digits: `10^{-6}` for `1e-6`.
pub(crate) fn in_latex(digits: &str) -> String {
    match digits.split_once('e') {
        Some(("1", exponent)) => format!("10^{{{exponent}}}"),
        Some(("-1", exponent)) => format!("-10^{{{exponent}}}"),
        Some((mantissa, exponent)) => format!("{mantissa} \\times 10^{{{exponent}}}"),
        None if digits == "inf" => "\\infty".to_owned(),
        None => digits.to_owned(),
    }
}

/// The shortest decimal that reads back, with an exponent where the number is very small or large.
fn decimal(size: f64) -> String {
    if size.is_nan() {
        "nan".to_owned()
    } else if size.is_infinite() {
        "inf".to_owned()
    } else {
        // What arithmetic left in the last digits is not shown.
        let (whole, rounded) = (shortest(size), shortest(to_15_digits(size)));
        if rounded.len() + SAVED <= whole.len() { rounded } else { whole }
    }
}

/// As many characters fewer are worth a rounding in the sixteenth digit.
const SAVED: usize = 4;

fn to_15_digits(size: f64) -> f64 {
    format!("{size:.14e}").parse().expect("a number that was written is read")
}

/// The shortest decimal that reads back.
fn shortest(size: f64) -> String {
    if (1e-4..1e15).contains(&size) { format!("{size}") } else { format!("{size:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_recognised() {
        let show = |value: f64| {
            let Number { negative, above, below, named } = Number::of(value);
            format!("{}{above}/{below} {named:?}", if negative { "-" } else { "" })
        };
        assert_eq!(show(-0.5), "-1/2 None");
        assert_eq!(show(0.1), "0.1/1 None");
        assert_eq!(show(0.8 - 1.0), "-0.2/1 None");
        assert_eq!(show(0.1 + 0.2), "0.3/1 None");
        assert_eq!(show(0.1234567890123456), "0.1234567890123456/1 None");
        assert_eq!(show(1e-14), "1e-14/1 None");
        assert_eq!(show(-0.918938533204673), "-1/2 Some(LogOfPi(2, 1))");
        assert_eq!(show(-0.5 * (0.5 * PI).ln()), "-1/2 Some(LogOfPi(1, 2))");
        assert_eq!(show(2.0_f64.ln()), "1/1 Some(Log(2, 1))");
        assert_eq!(show(1.0 / 3.0), "1/3 None");
        assert_eq!(show(1.0 / 18.0), "1/18 None");
        assert_eq!(show(-7.0 / 360.0), "-7/360 None");
        assert_eq!(show(5.0_f64.ln()), "1/1 Some(Log(5, 1))");
        assert_eq!(show(-1.5_f64.ln()), "-1/1 Some(Log(3, 2))");
        assert_eq!(show(2.0_f64.ln() + 0.5 * (2.0 * PI).ln()), "1/2 Some(LogOfPi(8, 1))");
        assert_eq!(in_latex("1e-6"), "10^{-6}");
        assert_eq!(in_latex("2.5e-7"), "2.5 \\times 10^{-7}");
        assert_eq!(show(3.0), "3/1 None");
        assert_eq!(show(2.0_f64.sqrt()), "1/1 Some(Root(2, 1))");
        assert_eq!(show(1.2_f64.sqrt()), "1/1 Some(Root(6, 5))");
        assert_eq!(show(1.1 * 0.7_f64.ln()), "-1.1/1 Some(Log(10, 7))");
        assert_eq!(show(-0.5 * (2e4 * PI).ln()), "-1/2 Some(LogOfPi(20000, 1))");
        assert_eq!(show(0.0), "0/1 None");
        assert_eq!(show(1.004_f64.ln()), "1/1 Some(Log(251, 250))");
    }

    /// Numbers of all sizes: powers of ten, their logarithms, what is a little more than a whole number, and fractions of large ones.
    fn numbers() -> impl Iterator<Item = f64> {
        (-300..300).flat_map(|exponent| {
            let power = 10_f64.powi(exponent);
            [1.0, 1.37, 2.5, 3.0, 7.3, 9.99, 1.23456789].into_iter().flat_map(move |mantissa| {
                let own = mantissa * power;
                [own, 1.0 / own, own.ln().abs(), own.sqrt(), own.ln_1p(), 1.0 + own, (own * PI).ln().abs()]
            })
        })
    }

    #[test]
    fn what_is_shown_is_the_number_on_its_own_scale() {
        for size in numbers().filter(|own| own.is_finite()) {
            for value in [size, -size] {
                let Number { negative, above, below, named } = Number::of(value);
                let digits: f64 = above.parse().expect("digits");
                let sign = if negative { -1.0 } else { 1.0 };
                let shown = sign * digits / f64::from(below) * named.map_or(1.0, Named::value);
                assert!((shown - value).abs() <= 1e-13 * value.abs(), "{value:e}: {above}/{below} {named:?}");
            }
        }
    }
}
