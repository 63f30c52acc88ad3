//! Deterministic names inside formulas: `D[i,k]` in the place of `exp(d[i,k])`.
//!
//! The equations are derived from statements in which each name is written out. What a name stands for is found in them again,
//! under any letters:
//!
//! - a product with a function in it, among the factors of a term: of `D = a`, `c a^m b = c D^m b`;
//! - a sum, among the addends of a sum: of `eta = a + b`, `c - a - b = c - eta`. A sum that was multiplied out is not found.
//!
//! Whether two of them are the same is decided by their difference, which is 0 in canonical form, so that what is shown equals what
//! was derived.

use crate::canonical::canonical;
use crate::expression::{Expression, Subscript};
use crate::rules::{Substitution, rename_apart, substitute, to_sum};
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term, dedup};
use crate::symbols::{LetterId, Support, Symbols};

use super::Scope;
use super::build::Builder;
use super::node::Node;

/// Sums of more terms are shown as they are.
const LONGEST: usize = 30;

/// A deterministic name of a program.
#[derive(Clone, Debug)]
pub struct Named {
    /// As the program has it.
    pub name: String,
    /// The letters that it is over.
    pub letters: Vec<LetterId>,
    /// What it stands for, names in it written out.
    pub value: Expression,
}

/// An element of a deterministic name, to a power.
#[derive(Clone, Debug)]
pub(super) struct NamedElement {
    pub name: String,
    pub subscripts: Vec<Subscript>,
    pub power: i32,
}

impl Named {
    /// A name over letters of the symbols; `None` where formulas are shown without it: it is over ragged letters, its value is
    /// told apart from formulas, it could be taken for an expectation or a density, or it is a number, which stands in formulas that
    /// do not hold the name.
    pub fn new(symbols: &Symbols, name: &str, letters: &[LetterId], value: &Expression) -> Option<Named> {
        let plain = letters.iter().all(|letter| symbols.letter(*letter).parent.is_none());
        let clear = !matches!(name, "E" | "p" | "q");
        (plain && clear && is_formula(value) && holds_element(symbols, value)).then(|| Named {
            name: name.to_owned(),
            letters: letters.to_vec(),
            value: value.clone(),
        })
    }

    /// Name and value as text, `D[i,k]` and `exp(d[i,k])`.
    pub fn in_text(&self, scope: Scope<'_>) -> (String, String) {
        let mut builder = Builder::new(Scope { named: &[], ..scope }, &self.letters);
        let left = Node::element(&self.name, builder.subscripts_of(&self.letters));
        let right = builder.expression(&self.value);
        (super::text::node(&left), super::text::node(&right))
    }

    /// Its value with subscripts in the place of its letters.
    fn at(&self, symbols: &mut Symbols, subscripts: &[Subscript]) -> Sum {
        let map: Substitution = self.letters.iter().copied().zip(subscripts.iter().cloned()).collect();
        let mut taken = Vec::new();
        subscripts.iter().for_each(|own| own.letters(&mut taken));
        let value = to_sum(symbols, &self.value);
        let terms = value.terms.iter().map(|term| {
            let apart = rename_apart(symbols, term, &taken);
            substitute(symbols, &apart, &map)
        });
        Sum { terms: terms.collect() }
    }

    /// All ways in which subscripts may stand in the place of its letters.
    fn assignments(&self, symbols: &Symbols, subscripts: &[Subscript]) -> Vec<Vec<Subscript>> {
        let mut all = vec![Vec::new()];
        for letter in &self.letters {
            let axis = symbols.letter(*letter).axis;
            let fits = |own: &&Subscript| match own {
                Subscript::Letter(own) => symbols.letter(*own).axis == axis,
                Subscript::Index(array, _) => symbols.array(*array).support == Support::Index(axis),
            };
            let own: Vec<&Subscript> = subscripts.iter().filter(fits).collect();
            let longer = |known: &Vec<Subscript>| -> Vec<Vec<Subscript>> {
                own.iter().map(|next| [known.as_slice(), &[(*next).clone()]].concat()).collect()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }
}

impl Scope<'_> {
    /// A sum without what has a name, and what has: each with its sign.
    pub(super) fn named_addends(self, sum: &Sum) -> (Vec<Term>, Vec<(f64, NamedElement)>) {
        let (mut rest, mut found) = (sum.terms.clone(), Vec::new());
        if rest.len() > LONGEST {
            return (rest, found);
        }
        for own in self.named {
            let mut subscripts = Vec::new();
            rest.iter().for_each(|term| subscripts_of(term, &mut subscripts));
            for at in own.assignments(self.symbols, &subscripts) {
                let mut symbols = self.symbols.clone();
                let value = own.at(&mut symbols, &at);
                if as_product(&value).is_some() || value.terms.is_empty() {
                    continue;
                }
                for sign in [1.0, -1.0] {
                    let wanted = value.clone().scaled(sign);
                    if let Some(left) = without(&symbols, &rest, &wanted.terms) {
                        rest = left;
                        let element =
                            NamedElement { name: own.name.clone(), subscripts: at.clone(), power: 1 };
                        found.push((sign, element));
                    }
                }
            }
        }
        (rest, found)
    }

    /// A term without the factors that have a name together, and these names.
    pub(super) fn named_factors(self, term: &Term) -> (Term, Vec<NamedElement>) {
        let (mut rest, mut found) = (term.clone(), Vec::new());
        for own in self.named {
            let mut subscripts = Vec::new();
            subscripts_of(&rest, &mut subscripts);
            for at in own.assignments(self.symbols, &subscripts) {
                let mut symbols = self.symbols.clone();
                let value = own.at(&mut symbols, &at);
                let Some(product) = as_product(&value) else { continue };
                if let Some((left, power)) = divided(&symbols, &rest, product) {
                    rest = left;
                    found.push(NamedElement { name: own.name.clone(), subscripts: at, power });
                }
            }
        }
        (rest, found)
    }
}

/// Whether a value is a formula: matrices and positions have pages of their own.
fn is_formula(value: &Expression) -> bool {
    match value {
        Expression::Number(_) | Expression::Value(..) | Expression::Indicator(..) => true,
        Expression::Sum(_, inner) | Expression::Apply(_, inner) => is_formula(inner),
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().all(is_formula),
        Expression::Power(base, exponent) => is_formula(base) && is_formula(exponent),
        Expression::OfMatrix(..) | Expression::Position(_) => false,
    }
}

/// Whether a value is more than a number: one that holds an element of an array with a name, or letters.
fn holds_element(symbols: &Symbols, value: &Expression) -> bool {
    match value {
        Expression::Number(_) => false,
        Expression::Indicator(..) | Expression::OfMatrix(..) | Expression::Position(_) => true,
        Expression::Value(array, _) => {
            symbols.array(*array).name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        }
        Expression::Sum(_, inner) | Expression::Apply(_, inner) => holds_element(symbols, inner),
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter().any(|own| holds_element(symbols, own))
        }
        Expression::Power(base, exponent) => holds_element(symbols, base) || holds_element(symbols, exponent),
    }
}

/// A product with a function in it, which is told by its factors.
fn as_product(value: &Sum) -> Option<&Term> {
    let [term] = value.terms.as_slice() else { return None };
    let function = term.factors.iter().any(|own| matches!(own.atom, Atom::Apply(..)));
    (function && term.sums.is_empty()).then_some(term)
}

/// The subscripts that stand in a term, those in nested sums among them.
fn subscripts_of(term: &Term, out: &mut Vec<Subscript>) {
    for factor in &term.factors {
        factor.atom.visit_subscripts(&mut |own| {
            if !out.contains(own) {
                out.push(own.clone());
            }
        });
    }
}

fn is_zero(symbols: &Symbols, sum: &Sum) -> bool {
    canonical(&mut symbols.clone(), sum).is_zero()
}

/// Terms without those that equal the wanted ones; `None` if one of these is not there.
fn without(symbols: &Symbols, terms: &[Term], wanted: &[Term]) -> Option<Vec<Term>> {
    let mut rest = terms.to_vec();
    for own in wanted {
        let place = rest.iter().position(|term| {
            let alike = term.sums.len() == own.sums.len() && term.factors.len() == own.factors.len();
            alike && is_zero(symbols, &Sum::term(term.clone()).minus(Sum::term(own.clone())))
        })?;
        rest.remove(place);
    }
    Some(rest)
}

/// A term divided by a product as often as it holds it.
fn divided(symbols: &Symbols, term: &Term, product: &Term) -> Option<(Term, i32)> {
    let same = |left: &Atom, right: &Atom| {
        left == right
            || std::mem::discriminant(left) == std::mem::discriminant(right)
                && is_zero(symbols, &Sum::atom(left.clone()).minus(Sum::atom(right.clone())))
    };
    let places: Option<Vec<(usize, i32)>> = product
        .factors
        .iter()
        .map(|own| Some((term.factors.iter().position(|other| same(&other.atom, &own.atom))?, own.power)))
        .collect();
    let places = places?;
    let distinct = dedup(places.iter().map(|(place, _)| *place).collect()).len() == places.len();
    let times = |(place, power): &(usize, i32)| {
        let held = term.factors[*place].power;
        if held.signum() == power.signum() { held / power } else { 0 }
    };
    let power = places.iter().map(times).min().unwrap_or(0);
    if !distinct || power < 1 || product.coefficient.0 == 0.0 {
        return None;
    }
    let mut rest = term.clone();
    for (place, own) in places {
        rest.factors[place].power -= own * power;
    }
    rest.factors.retain(|own: &Factor| own.power != 0);
    rest.coefficient = Coefficient(term.coefficient.0 / product.coefficient.0.powi(power));
    Some((rest, power))
}
