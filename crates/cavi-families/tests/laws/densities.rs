//! Each family's log-density, evaluated at numbers, against one written independently.
//!
//! # Source
//! `statrs` where it has the family; else the formula of the reference that the family's file names, written out here with
//! `statrs`'s log-gamma.

use std::collections::BTreeMap;

use cavi_algebra::{
    Absent, Array, ArrayId, ArrayKind, Atom, Axis, AxisId, Function, Letter, LetterId, Subscript, Sum,
    Support, Symbols, Term,
};
use cavi_families::{Argument, Extent, Slices, Spelling, Target, families, family};
use statrs::distribution::{self as statrs_distribution, Continuous, ContinuousCDF, Discrete};
use statrs::function::gamma::ln_gamma;

/// Arrays of plain numbers, over one axis with the letter 0.
struct Numbers {
    symbols: Symbols,
    values: Vec<Vec<f64>>,
    size: usize,
}

const LETTER: LetterId = LetterId(0);
const OTHER: LetterId = LetterId(1);

impl Numbers {
    fn new(size: usize) -> Numbers {
        let letter = Letter { name: "v".to_owned(), axis: AxisId(0), parent: None };
        let other = Letter { name: "u".to_owned(), ..letter.clone() };
        let axis = Axis { name: "word".to_owned(), parent: None, letters: vec![LETTER, OTHER], size: None };
        let symbols = Symbols { axes: vec![axis], letters: vec![letter, other], ..Symbols::default() };
        Numbers { symbols, values: Vec::new(), size }
    }

    /// A new array of these values: a scalar where there is one of them, else along the axis, or over pairs of it.
    fn array(&mut self, values: &[f64]) -> Sum {
        let letters = match values.len() {
            1 => Vec::new(),
            length if length == self.size => vec![LETTER],
            _ => vec![LETTER, OTHER],
        };
        let is_vector = values.len() > 1;
        self.symbols.arrays.push(Array {
            name: format!("a{}", self.values.len()),
            kind: ArrayKind::Constant,
            slice: vec![is_vector; letters.len()],
            letters,
            written: Vec::new(),
            support: Support::Real,
            absent: Absent::default(),
            restriction: None,
            value: None,
            center: None,
            scale: None,
        });
        self.values.push(values.to_vec());
        let own = &self.symbols.arrays.last().expect("just pushed").letters;
        let subscripts = own.iter().map(|letter| Subscript::Letter(*letter)).collect();
        Sum::atom(Atom::Value(ArrayId::from(self.values.len() - 1), subscripts))
    }

    fn position(&self, subscript: &Subscript, letters: &BTreeMap<LetterId, usize>) -> usize {
        match subscript {
            Subscript::Letter(letter) => letters[letter],
            Subscript::Index(array, subscripts) => self.value(*array, subscripts, letters) as usize,
        }
    }

    fn value(&self, array: ArrayId, subscripts: &[Subscript], letters: &BTreeMap<LetterId, usize>) -> f64 {
        let place = subscripts
            .iter()
            .fold(0, |place, subscript| place * self.size + self.position(subscript, letters));
        self.values[array.index()][place]
    }

    fn atom(&self, atom: &Atom, letters: &BTreeMap<LetterId, usize>) -> f64 {
        match atom {
            Atom::Value(array, subscripts) => self.value(*array, subscripts, letters),
            Atom::Group(sum) => self.evaluate(sum, letters),
            Atom::Equal(left, right) => {
                f64::from(self.position(left, letters) == self.position(right, letters))
            }
            Atom::Apply(Function::LogDeterminant, matrix) => {
                let [term] = matrix[0].terms.as_slice() else { panic!("a matrix is one term") };
                let element = Sum::term(Term { sums: Vec::new(), ..term.clone() });
                let at = |row: usize, column: usize| {
                    let mut letters = letters.clone();
                    letters.insert(term.sums[0], row);
                    letters.insert(term.sums[1], column);
                    self.evaluate(&element, &letters)
                };
                assert_eq!(self.size, 2, "determinants of 2 x 2 matrices");
                (at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0)).ln()
            }
            Atom::Apply(Function::LogMultivariateGamma, arguments) => {
                let x = self.evaluate(&arguments[0], letters);
                assert_eq!(self.evaluate(&arguments[1], letters), 2.0);
                0.5 * std::f64::consts::PI.ln() + ln_gamma(x) + ln_gamma(x - 0.5)
            }
            Atom::Apply(function, arguments) => {
                let x = self.evaluate(&arguments[0], letters);
                match function {
                    Function::LogBesselK => {
                        // By the trapezoid rule on the integral of exp(p t - z cosh t) / 2.
                        let z = self.evaluate(&arguments[1], letters);
                        let kernel = |t: f64| (x * t - z * t.cosh()).exp();
                        (0.005 * (-3000..=3000).map(|step| kernel(0.01 * f64::from(step))).sum::<f64>()).ln()
                    }
                    Function::Log => x.ln(),
                    Function::LogGamma => ln_gamma(x),
                    Function::Sqrt => x.sqrt(),
                    Function::StandardNormalLogCdf => {
                        statrs_distribution::Normal::new(0.0, 1.0).unwrap().cdf(x).ln()
                    }
                    other => panic!("no density has {}", other.name()),
                }
            }
            other => panic!("no density has {other:?}"),
        }
    }

    /// The value of a sum; a summed letter that no factor mentions counts its size, as it should.
    fn evaluate(&self, sum: &Sum, letters: &BTreeMap<LetterId, usize>) -> f64 {
        let mut total = 0.0;
        for term in &sum.terms {
            for place in 0..self.size.pow(term.sums.len() as u32) {
                let mut letters = letters.clone();
                let mut rest = place;
                for letter in &term.sums {
                    letters.insert(*letter, rest % self.size);
                    rest /= self.size;
                }
                let factors =
                    term.factors.iter().map(|factor| self.atom(&factor.atom, &letters).powi(factor.power));
                total += term.coefficient.0 * factors.product::<f64>();
            }
        }
        total
    }
}

/// The log-density of `x` under a family, with the given spelling of each parameter.
fn log_density(name: &str, x: &[f64], parameters: &[(&str, &[f64])]) -> f64 {
    let family = family(name).unwrap_or_else(|| panic!("no family {name}"));
    let longest = x.len().max(parameters.iter().map(|(_, value)| value.len()).max().unwrap_or(1));
    let has_matrix = family.parameters().iter().any(|own| own.extent == Extent::Matrix);
    let size = if has_matrix { longest.isqrt() } else { longest };
    let mut numbers = Numbers::new(size);
    let value = numbers.array(x);
    let index = Some(Subscript::Index(ArrayId(0), Vec::new()));
    let slices = match family.slices() {
        Slices::One => vec![LETTER],
        Slices::Two => vec![LETTER, OTHER],
        Slices::None | Slices::Any => Vec::new(),
    };
    let target = Target { value, slices, index };
    let mut canonical: Vec<Sum> = Vec::new();
    let mut arguments = Vec::new();
    for parameter in family.parameters() {
        let given = parameters.iter().find_map(|(name, value)| {
            let spelling = parameter.spellings.iter().find(|spelling| spelling.name == *name)?;
            Some((spelling, *value))
        });
        let Some((spelling, value)) = given else {
            assert!(parameter.optional, "{name} lacks a parameter");
            arguments.push(None);
            continue;
        };
        let mut sum = numbers.array(value);
        if let Some(rewrite) = spelling.rewrite {
            sum = rewrite(&mut numbers.symbols, &sum, &canonical);
        }
        canonical.push(sum.clone());
        arguments.push(Some(Argument { value: sum, letters: vec![LETTER, OTHER] }));
    }
    let density = family.log_density(&mut numbers.symbols, &target, &arguments);
    let canonical = cavi_algebra::canonical::canonical(&mut numbers.symbols, &density);
    let value = numbers.evaluate(&density, &BTreeMap::new());
    let again = numbers.evaluate(&canonical, &BTreeMap::new());
    assert_close(&format!("{name} in canonical form"), again, value);
    value
}

fn assert_close(what: &str, found: f64, expected: f64) {
    let tolerance = 1e-11 * expected.abs().max(1.0);
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, and {expected} was expected");
}

fn check(name: &str, x: &[f64], parameters: &[(&str, &[f64])], expected: f64) {
    assert_close(name, log_density(name, x, parameters), expected);
}

#[test]
fn scalar_families() {
    let normal = statrs_distribution::Normal::new(0.7, 1.3).unwrap();
    check("Normal", &[2.1], &[("mean", &[0.7]), ("sd", &[1.3])], normal.ln_pdf(2.1));
    check("Normal", &[2.1], &[("mean", &[0.7]), ("var", &[1.3 * 1.3])], normal.ln_pdf(2.1));
    check("Normal", &[2.1], &[("mean", &[0.7]), ("prec", &[1.0 / (1.3 * 1.3)])], normal.ln_pdf(2.1));
    let gamma = statrs_distribution::Gamma::new(2.5, 0.8).unwrap();
    check("Gamma", &[1.9], &[("shape", &[2.5]), ("rate", &[0.8])], gamma.ln_pdf(1.9));
    check("Gamma", &[1.9], &[("shape", &[2.5]), ("scale", &[1.25])], gamma.ln_pdf(1.9));
    check("Gamma", &[1.9], &[("shape", &[2.5]), ("mean", &[2.5 / 0.8])], gamma.ln_pdf(1.9));
    let exponential = statrs_distribution::Exp::new(2.5).unwrap();
    check("Exponential", &[0.3], &[("rate", &[2.5])], exponential.ln_pdf(0.3));
    check("Exponential", &[0.3], &[("mean", &[0.4])], exponential.ln_pdf(0.3));
    let inverse = statrs_distribution::InverseGamma::new(2.5, 0.8).unwrap();
    check("InverseGamma", &[0.6], &[("shape", &[2.5]), ("scale", &[0.8])], inverse.ln_pdf(0.6));
    // By mpmath, with 30 digits.
    let parameters: [(&str, &[f64]); 3] = [("p", &[-0.7]), ("a", &[1.3]), ("b", &[0.8])];
    check("GeneralizedInverseGaussian", &[0.6], &parameters, -0.332_490_871_725_816_65);
    let beta = statrs_distribution::Beta::new(2.5, 0.8).unwrap();
    check("Beta", &[0.6], &[("a", &[2.5]), ("b", &[0.8])], beta.ln_pdf(0.6));
    let poisson = statrs_distribution::Poisson::new(2.5).unwrap();
    check("Poisson", &[4.0], &[("rate", &[2.5])], poisson.ln_pmf(4));
    let bernoulli = statrs_distribution::Bernoulli::new(0.3).unwrap();
    check("Bernoulli", &[1.0], &[("p", &[0.3])], bernoulli.ln_pmf(1));
    check("Bernoulli", &[0.0], &[("p", &[0.3])], bernoulli.ln_pmf(0));
    let binomial = statrs_distribution::Binomial::new(0.3, 9).unwrap();
    check("Binomial", &[4.0], &[("total", &[9.0]), ("p", &[0.3])], binomial.ln_pmf(4));
    let folded = statrs_distribution::Normal::new(0.0, 0.5).unwrap();
    check("HalfNormal", &[0.6], &[("prec", &[4.0])], folded.ln_pdf(0.6) + 2.0_f64.ln());
    check("HalfNormal", &[0.6], &[("sd", &[0.5])], folded.ln_pdf(0.6) + 2.0_f64.ln());
    let cut = statrs_distribution::Normal::new(-0.2, 0.5).unwrap();
    let expected = cut.ln_pdf(0.6) - cut.sf(0.0).ln();
    check("TruncatedNormal", &[0.6], &[("mean", &[-0.2]), ("prec", &[4.0])], expected);
    check("Flat", &[0.6], &[], 0.0);
}

#[test]
fn vector_families() {
    let (x, p) = ([2.0, 0.0, 3.0, 1.0], [0.1, 0.2, 0.3, 0.4]);
    let multinomial = ln_gamma(7.0)
        + x.iter().zip(&p).map(|(x, p): (&f64, &f64)| x * p.ln() - ln_gamma(x + 1.0)).sum::<f64>();
    check("Multinomial", &x, &[("p", &p)], multinomial);
    check("Multinomial", &x, &[("p", &p), ("total", &[6.0])], multinomial);
    let a = [0.5, 1.0, 2.0, 3.5];
    let dirichlet = ln_gamma(7.0)
        + a.iter().zip(&p).map(|(a, p): (&f64, &f64)| (a - 1.0) * p.ln() - ln_gamma(*a)).sum::<f64>();
    check("Dirichlet", &p, &[("concentration", &a)], dirichlet);
    // A scalar is repeated along the slice.
    let symmetric = ln_gamma(2.0) + p.iter().map(|p| -0.5 * p.ln() - ln_gamma(0.5)).sum::<f64>();
    check("Dirichlet", &p, &[("concentration", &[0.5])], symmetric);
    let categorical = statrs_distribution::Categorical::new(&p).unwrap();
    for class in 0..4 {
        check("Categorical", &[class as f64], &[("p", &p)], categorical.ln_pmf(class));
    }
}

#[test]
fn matrix_families() {
    // The density takes the precision and, of a Wishart, the inverse of the scale: values from
    // `scipy.stats.multivariate_normal` and `scipy.stats.wishart`.
    let precision = [2.0, 0.3, 0.3, 0.5];
    check("MultivariateNormal", &[0.4, -1.1], &[("mean", &[0.1, 0.2]), ("prec", &precision)], NORMAL);
    let rate = [1.5, -0.2, -0.2, 0.8];
    check("Wishart", &[1.2, 0.3, 0.3, 0.9], &[("dof", &[4.5]), ("scale", &rate)], WISHART);
    // Of a process the inverse of the Cholesky factor of the covariance.
    let whitening = [1.25, 0.0, -0.4, 0.8];
    check("GaussianProcess", &[0.4, -1.1], &[("kernel", &whitening)], PROCESS);
}

/// `multivariate_normal([.1, .2], inv([[2, .3], [.3, .5]])).logpdf([.4, -1.1])`
const NORMAL: f64 = -2.280532406144966;
/// `wishart(4.5, inv([[1.5, -.2], [-.2, .8]])).logpdf([[1.2, .3], [.3, .9]])`
const WISHART: f64 = -4.605590589690376;

/// `W = array([[1.25, 0], [-.4, .8]]); multivariate_normal([0, 0], inv(W.T @ W)).logpdf([.4, -1.1])`
const PROCESS: f64 = -2.5036770664093457;

/// What `check` found above cannot be forgotten for a new family.
#[test]
fn every_family_is_checked() {
    let text = include_str!("densities.rs");
    for family in families() {
        assert!(text.contains(&format!("check(\"{}\"", family.name())), "{} has no check", family.name());
    }
}

#[test]
fn families_are_consistent() {
    for family in families() {
        let parameters = family.parameters();
        for parameter in parameters {
            assert!(
                parameter.spellings[0].rewrite.is_none(),
                "{}: the first spelling is canonical",
                family.name()
            );
            let differs = |spelling: &Spelling| spelling.rewrite.is_some() || spelling.read_as.is_some();
            assert!(parameter.spellings[1..].iter().all(differs));
        }
        let first_named = parameters.iter().position(|p| !p.positional).unwrap_or(parameters.len());
        assert!(
            parameters[first_named..].iter().all(|p| !p.positional),
            "{}: positions have no gap",
            family.name()
        );
    }
}
