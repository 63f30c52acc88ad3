//! Sums in which a log may be infinite: each such log is multiplied by the whole of its coefficient.
//!
//! Multiplied out, `(a - 1) log w` is `a log w - log w`: at `a = 1` and `w = 0` the difference of two infinities, where the
//! product is 0. Here the coefficients of a log are added up as numbers, for each value of the letters that the log and what
//! moves depend on; a coefficient of exactly 0 leaves the log unread. All other terms are evaluated as they are written.

use cavi_algebra::evaluate::{
    Accumulator, Assignment, Environment, evaluate_atom, evaluate_term, for_each_value,
};
use cavi_algebra::{
    ArrayKind, Atom, Elementary, Equations, Factor, Function, LetterId, Statistic, Sum, Symbols, Term,
};

/// What terms have in common that are added up before they are multiplied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Common {
    /// A log of data, constants and points, and the factors that move.
    Log,
    /// The factors that move. The coefficient of `log(1 - x)` of a point is a sum of failures, `sum q (1 - y)`, and says whether
    /// the point may be 1: as the difference `sum q - sum q y` it could be 0 by rounding alone.
    Moving,
}

impl Common {
    /// That of the coefficients of a statistic.
    pub fn of(statistic: &Statistic, is_point: bool) -> Common {
        match statistic.0.as_slice() {
            [(_, Elementary::LogComplement)] if is_point => Common::Moving,
            _ => Common::Log,
        }
    }
}

/// A sum as products, each to be evaluated by itself.
pub struct Whole {
    products: Vec<Product>,
}

enum Product {
    /// A term as it is written.
    Written(Term),
    /// `sum over letters of (product of factors) (sum of data)`.
    AddedUp(AddedUp),
}

#[derive(PartialEq)]
struct AddedUp {
    letters: Vec<LetterId>,
    factors: Vec<Factor>,
    data: Vec<Term>,
}

impl Whole {
    /// Adds up the terms of a sum that have this in common.
    pub fn of(equations: &Equations, sum: &Sum, common: Common) -> Whole {
        let mut products: Vec<Product> = Vec::new();
        // For each product that is added up, its first term.
        let mut first: Vec<Option<Term>> = Vec::new();
        for term in &sum.terms {
            let Some(own) = AddedUp::of(equations, term, common) else {
                products.push(Product::Written(term.clone()));
                first.push(None);
                continue;
            };
            let alike = products.iter_mut().find_map(|product| match product {
                Product::AddedUp(other) if other.factors == own.factors && other.letters == own.letters => {
                    Some(other)
                }
                Product::AddedUp(_) | Product::Written(_) => None,
            });
            match alike {
                Some(other) => other.data.extend(own.data),
                None => {
                    products.push(Product::AddedUp(own));
                    first.push(Some(term.clone()));
                }
            }
        }
        for (product, first) in products.iter_mut().zip(first) {
            if let (Product::AddedUp(AddedUp { data, .. }), Some(term)) = (&*product, first)
                && data.len() == 1
            {
                *product = Product::Written(term);
            }
        }
        Whole { products }
    }

    /// The value of the sum; its free letters must be assigned.
    pub fn value(
        &self,
        symbols: &Symbols,
        environment: &dyn Environment,
        assignment: &mut Assignment,
    ) -> f64 {
        let products = self.products.iter();
        let values = products.map(|product| product.value(symbols, environment, assignment));
        values.collect::<Accumulator>().total()
    }

    /// The values of its products, those with the same log of a point over the same letters as one.
    pub fn by_points(&self, equations: &Equations, environment: &dyn Environment) -> Vec<f64> {
        let symbols = &equations.symbols;
        let mut alike: Vec<(Option<&Factor>, Vec<&Product>)> = Vec::new();
        for product in &self.products {
            let mut logs = product.factors().iter().filter(|factor| is_log_of_point(equations, factor));
            let log = logs.next().filter(|_| logs.next().is_none());
            let same = |(other, others): &&mut (Option<&Factor>, Vec<&Product>)| {
                *other == log && others[0].letters() == product.letters()
            };
            match alike.iter_mut().filter(|_| log.is_some()).find(same) {
                Some((_, others)) => others.push(product),
                None => alike.push((log, vec![product])),
            }
        }
        let value = |(log, products): (Option<&Factor>, Vec<&Product>)| match (log, products.as_slice()) {
            (None, _) | (_, [_]) => products[0].value(symbols, environment, &mut Assignment::new()),
            (Some(log), _) => {
                let letters = outermost_first(symbols, products[0].letters());
                let mut total = Accumulator::default();
                for_each_value(symbols, environment, &letters, &mut Assignment::new(), &mut |assignment| {
                    let coefficients =
                        products.iter().map(|own| own.at(symbols, environment, assignment, Some(log)));
                    let coefficient = coefficients.collect::<Accumulator>().total();
                    if coefficient != 0.0 {
                        total.add(coefficient * evaluate_atom(symbols, &log.atom, environment, assignment));
                    }
                });
                total.total()
            }
        };
        alike.into_iter().map(value).collect()
    }
}

impl Product {
    fn letters(&self) -> &[LetterId] {
        match self {
            Product::Written(term) => &term.sums,
            Product::AddedUp(own) => &own.letters,
        }
    }

    fn factors(&self) -> &[Factor] {
        match self {
            Product::Written(term) => &term.factors,
            Product::AddedUp(own) => &own.factors,
        }
    }

    fn value(&self, symbols: &Symbols, environment: &dyn Environment, assignment: &mut Assignment) -> f64 {
        let letters = match self {
            Product::Written(term) => return evaluate_term(symbols, term, environment, assignment),
            Product::AddedUp(own) => outermost_first(symbols, &own.letters),
        };
        let mut total = Accumulator::default();
        for_each_value(symbols, environment, &letters, assignment, &mut |assignment| {
            total.add(self.at(symbols, environment, assignment, None));
        });
        total.total()
    }

    /// The product at these values of its letters, one factor left out.
    fn at(
        &self,
        symbols: &Symbols,
        environment: &dyn Environment,
        assignment: &mut Assignment,
        without: Option<&Factor>,
    ) -> f64 {
        let indicates = |factor: &Factor| {
            matches!(factor.atom, Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..))
        };
        let product = |factors: Vec<Factor>, coefficient: f64, assignment: &mut Assignment| {
            let term = Term { factors, ..Term::number(coefficient) };
            evaluate_term(symbols, &term, environment, assignment)
        };
        let factors = self.factors().iter().filter(|factor| Some(*factor) != without).cloned();
        let own = match self {
            Product::Written(term) => return product(factors.collect(), term.coefficient.0, assignment),
            Product::AddedUp(own) => own,
        };
        // Where an indicator is 0 the data need not have a value.
        let (indicators, others): (Vec<Factor>, Vec<Factor>) = factors.partition(indicates);
        if product(indicators, 1.0, assignment) == 0.0 {
            return 0.0;
        }
        let data = own.data.iter().map(|term| evaluate_term(symbols, term, environment, assignment));
        let data = data.collect::<Accumulator>().total();
        if data == 0.0 {
            return 0.0;
        }
        data * product(others, 1.0, assignment)
    }
}

impl AddedUp {
    /// A term as a product of what others may share with it and a sum over data; `None` for one without exactly one log of data,
    /// constants and points, where that is what is shared.
    fn of(equations: &Equations, term: &Term, common: Common) -> Option<AddedUp> {
        let symbols = &equations.symbols;
        let is_log = |factor: &Factor| common == Common::Log && is_log_of_known(equations, factor);
        if common == Common::Log && term.factors.iter().filter(|factor| is_log(factor)).count() != 1 {
            return None;
        }
        let is_data = |factor: &Factor| match &factor.atom {
            Atom::Value(array, _) | Atom::Observed(array, _) => {
                symbols.array(*array).kind != ArrayKind::Latent
            }
            _ => false,
        };
        let (data, factors): (Vec<Factor>, Vec<Factor>) =
            term.factors.iter().cloned().partition(|factor| is_data(factor) && !is_log(factor));
        // A ragged letter stands for its ancestors too.
        let free = Term { factors: factors.clone(), ..Term::number(1.0) }.free_letters(symbols);
        let seen: Vec<LetterId> = free.into_iter().flat_map(|letter| symbols.lineage(letter)).collect();
        let (letters, sums): (Vec<LetterId>, Vec<LetterId>) =
            term.sums.iter().partition(|letter| seen.contains(letter));
        let data = vec![Term { sums, factors: data, coefficient: term.coefficient }];
        Some(AddedUp { letters, factors, data })
    }
}

/// A parent is summed before its children, which then run over its group.
fn outermost_first(symbols: &Symbols, letters: &[LetterId]) -> Vec<LetterId> {
    let mut letters = letters.to_vec();
    letters.sort_by_key(|letter| symbols.lineage(*letter).len());
    letters
}

/// Whether a factor is the log of data, constants and points: where these are 0 it is infinite.
fn is_log_of_known(equations: &Equations, factor: &Factor) -> bool {
    let is_known = |factor: &Factor| match &factor.atom {
        Atom::Value(array, _) => {
            let is_latent = equations.symbols.array(*array).kind == ArrayKind::Latent;
            !is_latent || equations.block_of(*array).is_some_and(|id| equations.block(id).is_point())
        }
        _ => false,
    };
    match &factor.atom {
        Atom::Apply(Function::Log, sums) if factor.power == 1 => {
            sums.iter().flat_map(|sum| &sum.terms).flat_map(|term| &term.factors).all(is_known)
        }
        _ => false,
    }
}

/// Whether a factor is the log of an element of a point.
fn is_log_of_point(equations: &Equations, factor: &Factor) -> bool {
    if factor.power != 1 {
        return false;
    }
    match &factor.atom {
        Atom::Moment(moment) => {
            let is_log = matches!(moment.statistic.0.as_slice(), [(_, Elementary::Log)]);
            is_log && equations.block(moment.block).is_point()
        }
        Atom::Apply(Function::Log, sums) => match sums.as_slice() {
            [Sum { terms }] => match terms.as_slice() {
                [Term { factors, .. }] => match factors.as_slice() {
                    [Factor { atom: Atom::Value(array, _), power: 1 }] => {
                        equations.block_of(*array).is_some_and(|id| equations.block(id).is_point())
                    }
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}
