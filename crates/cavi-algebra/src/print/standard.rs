//! From natural parameters to the ones that papers print, in symbols; what a family must tell is [`Standard`].

use crate::canonical::canonical;
use crate::equations::{Block, Natural};
use crate::expression::{Expression, Function, MatrixFunction, Subscript};
use crate::rules::{Substitution, rename_apart, substitute};
use crate::statistic::Statistic;
use crate::sum_of_products::{Atom, Factor, Moment, Sum, Term, dedup};
use crate::symbols::{ArrayId, FamilyId, LetterId, Support, Symbols};

use super::build::Builder;
use super::node::{Call, Node};
use super::number::Number;

/// How a family's parameters follow from its natural ones.
pub trait Standard {
    /// The name of the family, as derivations print it.
    fn name(&self, family: FamilyId) -> &'static str;

    /// The parameters that papers print, each over the slot letters of the naturals in it. Empty where the natural form
    /// says it all.
    fn standard(&self, family: FamilyId) -> Vec<StandardParameter>;

    /// The symbols that the literature has for the standard parameters, in their order: alternatives, the first of which is
    /// taken that is free on the page. Empty where their names say it best.
    fn symbols(&self, _family: FamilyId) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// The mode that a point of this family takes, over the natural parameters alone, if it has a closed form.
    fn mode(&self, _family: FamilyId) -> Option<Formula> {
        None
    }

    /// Expectations as functions of the standard parameters: `E[log x] = psi(shape) - log rate`.
    fn expectations(&self, _family: FamilyId) -> Vec<(Statistic, Formula)> {
        Vec::new()
    }

    /// The coefficients of the statistics in the base measure; empty where all are 0.
    fn base(&self, _family: FamilyId) -> Vec<f64> {
        Vec::new()
    }

    /// Whether the bound pairs the entropy of this family with the prior (see [`Elbo`](crate::Elbo)).
    fn paired(&self, _family: FamilyId) -> bool {
        false
    }

    /// Whether several variables of a block stand beside each other in one vector of this family, whose standard parameters
    /// are then those of the whole vector.
    fn one_vector(&self, _family: FamilyId) -> bool {
        false
    }

    /// Expectations that are finite only where the first of two formulas over the standard parameters is greater than the second.
    fn finite(&self, _family: FamilyId) -> Vec<(Statistic, [Formula; 2])> {
        Vec::new()
    }

    /// What is stated otherwise where a standard parameter is 0.
    fn limits(&self, _family: FamilyId) -> Vec<Limit> {
        Vec::new()
    }

    /// The log-normaliser of a paired family, over its standard parameters.
    fn log_normaliser(&self, _family: FamilyId) -> Option<Formula> {
        None
    }

    /// The entropy of a family that is not paired, over its standard parameters.
    fn entropy(&self, _family: FamilyId) -> Option<Formula> {
        None
    }
}

/// A parameter as papers print it.
#[derive(Clone, Debug, PartialEq)]
pub struct StandardParameter {
    /// `shape`, `rate`, `mean`, ...
    pub name: &'static str,
    /// Its value.
    pub formula: Formula,
}

/// What a family has where one of its standard parameters is 0 and its formulas are not defined: its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The number of the parameter.
    pub parameter: usize,
    /// The expectations, over the standard parameters.
    pub expectations: Vec<(Statistic, Formula)>,
    /// Those that are finite only where the first formula is greater than the second.
    pub finite: Vec<(Statistic, [Formula; 2])>,
    /// The log-normaliser.
    pub log_normaliser: Formula,
}

/// An expression over the natural parameters of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// The coefficient of statistic number `i`.
    Natural(usize),
    /// The standard parameter number `i`, one that stands before this one.
    Parameter(usize),
    /// A number.
    Number(f64),
    /// A sum.
    Add(Vec<Formula>),
    /// Minus.
    Negate(Box<Formula>),
    /// An elementwise product.
    Multiply(Vec<Formula>),
    /// A quotient.
    Divide(Box<Formula>, Box<Formula>),
    /// A function, elementwise.
    Apply(Function, Box<Formula>),
    /// `ln K_p(z)` of the modified Bessel function of the second kind: the order, then the argument.
    LogBesselK(Box<Formula>, Box<Formula>),
    /// Its derivative in the order.
    LogBesselKInOrder(Box<Formula>, Box<Formula>),
    /// `max(0, x)`
    PositivePart(Box<Formula>),
    /// The digamma function.
    Digamma(Box<Formula>),
    /// Proportional to this, with sum 1 over the last slot letter (over the classes of an indicator).
    Normalised(Box<Formula>),
    /// The sum over the slot letters.
    Total(Box<Formula>),
    /// The inverse of a matrix.
    Inverse(Box<Formula>),
    /// A matrix times a vector.
    MatrixVector(Box<Formula>, Box<Formula>),
    /// The matrix of the products of the elements of two vectors.
    Outer(Box<Formula>, Box<Formula>),
    /// The symmetric part of a matrix of coefficients: only that counts in a sum over a symmetric statistic.
    Symmetric(Box<Formula>),
    /// The length of the vector: how many values its slot letters have together, which are the first half of those of the
    /// statistic that is a matrix.
    Size,
    /// The log of the determinant of a matrix, a standard parameter.
    LogDeterminant(Box<Formula>),
    /// The log of the multivariate Gamma function, of the dimension [`Formula::Size`].
    LogMultivariateGamma(Box<Formula>),
    /// Its derivative: `sum psi(x + (1 - i) / 2)` over i from 1 to [`Formula::Size`].
    MultivariateDigamma(Box<Formula>),
}

impl Formula {
    /// The formula built again from its innermost parts outwards, with `to` of each part in its place.
    pub(crate) fn rebuilt(&self, to: &dyn Fn(Formula) -> Formula) -> Formula {
        let one = |inner: &Formula| Box::new(inner.rebuilt(to));
        let all = |parts: &[Formula]| parts.iter().map(|part| part.rebuilt(to)).collect();
        to(match self {
            Formula::Natural(_) | Formula::Parameter(_) | Formula::Number(_) | Formula::Size => self.clone(),
            Formula::Add(parts) => Formula::Add(all(parts)),
            Formula::Multiply(parts) => Formula::Multiply(all(parts)),
            Formula::Divide(left, right) => Formula::Divide(one(left), one(right)),
            Formula::LogBesselK(left, right) => Formula::LogBesselK(one(left), one(right)),
            Formula::LogBesselKInOrder(left, right) => Formula::LogBesselKInOrder(one(left), one(right)),
            Formula::MatrixVector(left, right) => Formula::MatrixVector(one(left), one(right)),
            Formula::Outer(left, right) => Formula::Outer(one(left), one(right)),
            Formula::Apply(function, inner) => Formula::Apply(*function, one(inner)),
            Formula::Negate(inner) => Formula::Negate(one(inner)),
            Formula::PositivePart(inner) => Formula::PositivePart(one(inner)),
            Formula::Digamma(inner) => Formula::Digamma(one(inner)),
            Formula::Normalised(inner) => Formula::Normalised(one(inner)),
            Formula::Total(inner) => Formula::Total(one(inner)),
            Formula::Inverse(inner) => Formula::Inverse(one(inner)),
            Formula::Symmetric(inner) => Formula::Symmetric(one(inner)),
            Formula::LogDeterminant(inner) => Formula::LogDeterminant(one(inner)),
            Formula::LogMultivariateGamma(inner) => Formula::LogMultivariateGamma(one(inner)),
            Formula::MultivariateDigamma(inner) => Formula::MultivariateDigamma(one(inner)),
        })
    }

    /// The formula with each of some parameters by its number where it stands written out.
    pub(crate) fn over(&self, parameters: &[StandardParameter]) -> Formula {
        self.rebuilt(&|part| match parameters.iter().position(|own| own.formula == part) {
            Some(place) => Formula::Parameter(place),
            None => part,
        })
    }
}

/// A parameter with the letters it is printed over.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Its name.
    pub name: String,
    /// The variables of its block, where other blocks have parameters of this name.
    pub of: Option<Vec<String>>,
    /// The plate letters that it depends on.
    pub plates: Vec<LetterId>,
    /// Its slot letters.
    pub slots: Vec<LetterId>,
    /// Its value.
    pub value: Resolved,
}

/// A formula with the coefficients put in; what is affine in them is one sum.
#[derive(Clone, Debug)]
pub(crate) enum Resolved {
    Sum(Sum),
    Parameter(usize, Vec<LetterId>),
    Add(Vec<Resolved>),
    Negate(Box<Resolved>),
    Multiply(Vec<Resolved>),
    Divide(Box<Resolved>, Box<Resolved>),
    Call(Call, Vec<Resolved>),
    Normalised(Box<Resolved>),
    Total(Vec<LetterId>, Box<Resolved>),
    Inverse(Box<Resolved>),
    /// A function of a whole matrix.
    Whole(Function, Box<Resolved>),
}

impl Resolved {
    /// As a page has it: what is the same for all classes goes into the constant of proportionality.
    fn on_page(&self, symbols: &Symbols, slots: &[LetterId]) -> Resolved {
        match (self, slots.last()) {
            (Resolved::Normalised(_), Some(class)) => self.clone().up_to_a_factor(symbols, *class),
            _ => self.clone(),
        }
    }

    /// The exponential of a sum without the terms that do not depend on a letter; anything else as it is.
    fn up_to_a_factor(self, symbols: &Symbols, letter: LetterId) -> Resolved {
        match self {
            Resolved::Normalised(inner) => {
                Resolved::Normalised(Box::new(inner.up_to_a_factor(symbols, letter)))
            }
            Resolved::Call(call @ Call::Function(Function::Exp), mut arguments) => {
                if let [Resolved::Sum(sum)] = arguments.as_mut_slice() {
                    let depends = |term: &Term| {
                        let letters = term.factors.iter().flat_map(|own| own.atom.free_letters(symbols));
                        letters.into_iter().flat_map(|own| symbols.lineage(own)).any(|own| own == letter)
                    };
                    if sum.terms.iter().any(depends) {
                        sum.terms.retain(depends);
                    }
                }
                Resolved::Call(call, arguments)
            }
            other => other,
        }
    }
}

/// The slot letters that a formula is printed over.
pub(crate) fn slots(formula: &Formula, naturals: &[Natural], before: &[Shown]) -> Vec<LetterId> {
    let longest = |formulas: &[&Formula]| {
        let all = formulas.iter().map(|formula| slots(formula, naturals, before));
        all.fold(Vec::new(), |best, next| if next.len() > best.len() { next } else { best })
    };
    match formula {
        Formula::Natural(index) => {
            naturals.get(*index).map(|natural| natural.slots.clone()).unwrap_or_default()
        }
        Formula::Parameter(index) => before.get(*index).map(|shown| shown.slots.clone()).unwrap_or_default(),
        Formula::Number(_)
        | Formula::Total(_)
        | Formula::Size
        | Formula::LogDeterminant(_)
        | Formula::LogMultivariateGamma(_)
        | Formula::MultivariateDigamma(_) => Vec::new(),
        Formula::Add(parts) | Formula::Multiply(parts) => longest(&parts.iter().collect::<Vec<_>>()),
        Formula::Divide(left, right)
        | Formula::LogBesselK(left, right)
        | Formula::LogBesselKInOrder(left, right) => longest(&[left, right]),
        Formula::Negate(inner)
        | Formula::Apply(_, inner)
        | Formula::PositivePart(inner)
        | Formula::Digamma(inner)
        | Formula::Normalised(inner)
        | Formula::Symmetric(inner)
        | Formula::Inverse(inner) => slots(inner, naturals, before),
        Formula::MatrixVector(matrix, _) => {
            let both = slots(matrix, naturals, before);
            both[..both.len() / 2].to_vec()
        }
        Formula::Outer(..) => {
            let pairs = naturals.iter().find(|own| own.slots.len() == 2);
            pairs.map(|own| own.slots.clone()).unwrap_or_default()
        }
    }
}

/// Puts the coefficients of a block into a formula.
pub(crate) fn resolve(
    symbols: &mut Symbols,
    blocks: &[Block],
    formula: &Formula,
    naturals: &[Natural],
    before: &[Shown],
    target: &[LetterId],
) -> Resolved {
    if let Some(sum) = affine(symbols, blocks, formula, naturals, target) {
        return Resolved::Sum(canonical(symbols, &sum));
    }
    let again = |symbols: &mut Symbols, formula: &Formula, target: &[LetterId]| {
        resolve(symbols, blocks, formula, naturals, before, target)
    };
    let boxed = |symbols: &mut Symbols, formula: &Formula| Box::new(again(symbols, formula, target));
    match formula {
        Formula::Natural(_) | Formula::Number(_) => unreachable!("these are affine"),
        Formula::Parameter(index) => {
            let rank = before.get(*index).map_or(0, |shown| shown.slots.len());
            Resolved::Parameter(*index, target.iter().copied().take(rank).collect())
        }
        Formula::Add(parts) => Resolved::Add(parts.iter().map(|part| again(symbols, part, target)).collect()),
        Formula::Negate(inner) => Resolved::Negate(boxed(symbols, inner)),
        Formula::Multiply(parts) => {
            Resolved::Multiply(parts.iter().map(|part| again(symbols, part, target)).collect())
        }
        Formula::Divide(left, right) => {
            let (left, right) = (again(symbols, left, target), again(symbols, right, target));
            let (left, right) = match (left, right) {
                (Resolved::Sum(mut left), Resolved::Sum(mut right)) => {
                    reduce(symbols, &mut left, &mut right);
                    (Resolved::Sum(left), Resolved::Sum(right))
                }
                other => other,
            };
            Resolved::Divide(Box::new(left), Box::new(right))
        }
        Formula::Apply(function, inner) => {
            Resolved::Call(Call::Function(*function), vec![again(symbols, inner, target)])
        }
        Formula::LogBesselK(order, argument) | Formula::LogBesselKInOrder(order, argument) => {
            let call = match formula {
                Formula::LogBesselKInOrder(..) => Call::LogBesselKInOrder,
                _ => Call::Function(Function::LogBesselK),
            };
            let parts = [order, argument].into_iter().map(|part| again(symbols, part, target));
            Resolved::Call(call, parts.collect())
        }
        Formula::PositivePart(inner) => {
            Resolved::Call(Call::PositivePart, vec![again(symbols, inner, target)])
        }
        Formula::Digamma(inner) => Resolved::Call(Call::Digamma, vec![again(symbols, inner, target)]),
        Formula::Normalised(inner) => Resolved::Normalised(boxed(symbols, inner)),
        Formula::Total(inner) => {
            let letters: Vec<LetterId> = slots(inner, naturals, before)
                .into_iter()
                .map(|letter| symbols.fresh(letter, symbols.letter(letter).parent))
                .collect();
            let inner = again(symbols, inner, &letters);
            Resolved::Total(letters, Box::new(inner))
        }
        Formula::Inverse(inner) => Resolved::Inverse(boxed(symbols, inner)),
        Formula::MatrixVector(matrix, vector) => {
            let both = slots(matrix, naturals, before);
            let mut columns = both[both.len() / 2..].to_vec();
            if columns.iter().any(|letter| target.contains(letter)) {
                columns = columns
                    .iter()
                    .map(|letter| symbols.fresh(*letter, symbols.letter(*letter).parent))
                    .collect();
            }
            let element: Vec<LetterId> = target.iter().chain(&columns).copied().collect();
            let matrix = again(symbols, matrix, &element);
            let vector = again(symbols, vector, &columns);
            Resolved::Total(columns, Box::new(Resolved::Multiply(vec![matrix, vector])))
        }
        Formula::Outer(left, right) => {
            let (row, column) = target.split_at(target.len() / 2);
            let both = vec![again(symbols, left, row), again(symbols, right, column)];
            Resolved::Multiply(both)
        }
        Formula::Symmetric(_) | Formula::Size => unreachable!("it is a sum"),
        Formula::LogDeterminant(inner) => {
            let letters = slots(inner, naturals, before);
            Resolved::Whole(Function::LogDeterminant, Box::new(again(symbols, inner, &letters)))
        }
        Formula::LogMultivariateGamma(inner) => {
            let parts = vec![again(symbols, inner, target), again(symbols, &Formula::Size, target)];
            Resolved::Call(Call::Function(Function::LogMultivariateGamma), parts)
        }
        Formula::MultivariateDigamma(inner) => {
            let parts = vec![again(symbols, inner, target), again(symbols, &Formula::Size, target)];
            Resolved::Call(Call::MultivariateDigamma, parts)
        }
    }
}

/// Takes what all terms above and below a line have in common out of both: constants and factors that no letter of a term is
/// summed over. What stands below the line in every term of one side goes to the other side.
fn reduce(symbols: &Symbols, above: &mut Sum, below: &mut Sum) {
    if above.terms.is_empty() || below.terms.is_empty() {
        return;
    }
    let free = |term: &Term, factor: &Factor| {
        let letters = factor.atom.free_letters(symbols);
        let letters = letters.into_iter().flat_map(|letter| symbols.lineage(letter));
        letters.into_iter().all(|letter| !term.sums.contains(&letter))
    };
    let power = |term: &Term, atom: &Atom| {
        let own = term.factors.iter().find(|own| own.atom == *atom && free(term, own));
        own.map_or(0, |own| own.power)
    };
    let terms = above.terms.iter().chain(&below.terms);
    let atoms = dedup(
        terms
            .flat_map(|term| term.factors.iter().filter(|own| free(term, own)))
            .map(|own| own.atom.clone())
            .collect(),
    );
    for atom in atoms.into_iter().filter(|atom| matches!(atom, Atom::Value(..) | Atom::Moment(_))) {
        // As little of it as any term has.
        let least = above.terms.iter().chain(&below.terms).map(|term| power(term, &atom)).min().unwrap_or(0);
        for term in above.terms.iter_mut().chain(&mut below.terms) {
            let symbols_of = term.clone();
            match term.factors.iter_mut().find(|own| own.atom == atom && free(&symbols_of, own)) {
                Some(own) => own.power -= least,
                None if least != 0 => term.factors.push(Factor { atom: atom.clone(), power: -least }),
                None => {}
            }
            term.factors.retain(|own| own.power != 0);
        }
    }
    let first = above.terms[0].coefficient.0.abs();
    let alike = |sum: &Sum| sum.terms.iter().all(|term| term.coefficient.0.abs() == first);
    if alike(above) && alike(below) && first != 0.0 {
        for term in above.terms.iter_mut().chain(&mut below.terms) {
            term.coefficient.0 /= first;
        }
    }
}

/// Elements of symmetric matrices and of outer products with their two letters in one order. A row of data is observed as a whole,
/// so that either letter says whether; where the letters are equal, one stands for both.
fn in_letter_order((symbols, blocks): (&Symbols, &[Block]), sum: &Sum, [row, column]: [LetterId; 2]) -> Sum {
    let sort = |pair: &mut [Subscript]| {
        if let [.., Subscript::Letter(row), Subscript::Letter(column)] = pair
            && row > column
        {
            std::mem::swap(row, column);
        }
    };
    let mut sum = sum.clone();
    let (first, second) = (Subscript::Letter(row), Subscript::Letter(column));
    for term in &mut sum.terms {
        let tied = term.factors.iter().any(|own| match &own.atom {
            Atom::Equal(left, right) => {
                [left, right] == [&first, &second] || [left, right] == [&second, &first]
            }
            _ => false,
        });
        if tied {
            for own in term.factors.iter_mut().filter(|own| !matches!(own.atom, Atom::Equal(..))) {
                own.atom.map_subscripts(&mut |own| {
                    if *own == second {
                        *own = first.clone();
                    }
                });
            }
        }
        for own in &mut term.factors {
            if let Atom::Observed(array, subscripts) = &mut own.atom {
                let array = symbols.array(*array);
                for (subscript, slice) in subscripts.iter_mut().zip(&array.slice) {
                    if *slice && *subscript == second {
                        *subscript = first.clone();
                    }
                }
            }
            if let Atom::Equal(left, right) | Atom::Different(left, right) = &mut own.atom
                && (&*left, &*right) == (&second, &first)
            {
                std::mem::swap(left, right);
            }
        }
    }
    for factor in sum.terms.iter_mut().flat_map(|term| &mut term.factors) {
        match &mut factor.atom {
            Atom::Value(array, subscripts) if is_symmetric(symbols, *array) => {
                sort(subscripts);
            }
            // `E[L_ij]` and `E[(L^-1)_ij]` of a variable that is a symmetric matrix.
            Atom::Moment(moment) if is_of_matrix(symbols, blocks, moment) => sort(&mut moment.slots),
            // `E[x_k x_l]` of one vector, which may run over several slices and be a member of a larger block.
            Atom::Moment(moment) if matches!(&moment.statistic.0[..], [one, other] if one == other) => {
                match moment.slots.len() {
                    2 => sort(&mut moment.slots),
                    all => {
                        let (one, other) = moment.slots.split_at_mut(all / 2);
                        if one.contains(&second) && other.contains(&first) {
                            one.swap_with_slice(other);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    sum
}

/// Whether a moment is an element of one symmetric matrix, a variable or its inverse.
fn is_of_matrix(symbols: &Symbols, blocks: &[Block], moment: &Moment) -> bool {
    let members = &blocks[moment.block.index()].members;
    matches!(&moment.statistic.0[..], [(member, _)] if is_symmetric(symbols, members[usize::from(*member)]))
        && moment.slots.len() == 2
}

/// Whether an array is a symmetric matrix: one by its support, or a computed one that is as symmetric as what it is computed from.
fn is_symmetric(symbols: &Symbols, array: ArrayId) -> bool {
    let own = symbols.array(array);
    let computed = matches!(own.value, Some(Expression::OfMatrix(MatrixFunction::Inverse, ..)));
    own.support == Support::PositiveDefinite || computed || symbols.symmetric.contains(&array)
}

/// The formula as one sum, where it is affine in the natural parameters.
fn affine(
    symbols: &mut Symbols,
    blocks: &[Block],
    formula: &Formula,
    naturals: &[Natural],
    target: &[LetterId],
) -> Option<Sum> {
    match formula {
        Formula::Natural(index) => {
            let Some(natural) = naturals.get(*index) else { return Some(Sum::zero()) };
            let map: Substitution = natural
                .slots
                .iter()
                .zip(target)
                .filter(|(from, to)| from != to)
                .map(|(from, to)| (*from, Subscript::Letter(*to)))
                .collect();
            let rename = |term| {
                let apart = rename_apart(symbols, term, target);
                substitute(symbols, &apart, &map)
            };
            Some(Sum { terms: natural.coefficient.terms.iter().map(rename).collect() })
        }
        Formula::Number(value) => Some(Sum::number(*value)),
        Formula::Size => {
            // A matrix has the letters of its rows, then those of its columns; a vector may run over several slices.
            let matrix = &naturals.iter().max_by_key(|own| own.slots.len())?.slots;
            let rows = matrix.get(..matrix.len().div_ceil(2)).filter(|rows| !rows.is_empty())?;
            Some(Sum::term(Term { sums: rows.to_vec(), ..Term::number(1.0) }))
        }
        Formula::Symmetric(inner) => {
            // A matrix over several slices has the letters of its rows, then those of its columns.
            let (rows, columns) = target.split_at(target.len() / 2);
            let one = affine(symbols, blocks, inner, naturals, target)?;
            let other = affine(symbols, blocks, inner, naturals, &[columns, rows].concat())?;
            let mut ordered = |sum: Sum| {
                let pairs = rows.iter().zip(columns);
                let sum = pairs.fold(sum, |sum, (row, column)| {
                    in_letter_order((symbols, blocks), &sum, [*row, *column])
                });
                canonical(symbols, &sum)
            };
            // What is symmetric by its form is left as it is, and so are two terms that mirror each other.
            let (one, mirrored) = (ordered(one), ordered(other));
            Some(one.plus(mirrored).scaled(0.5))
        }
        Formula::Add(parts) => parts.iter().try_fold(Sum::zero(), |sum, part| {
            let part = affine(symbols, blocks, part, naturals, target)?;
            Some(sum.plus(part))
        }),
        Formula::Negate(inner) => Some(affine(symbols, blocks, inner, naturals, target)?.scaled(-1.0)),
        Formula::Multiply(parts) => {
            let mut number = 1.0;
            let mut other = None;
            for part in parts {
                let part = affine(symbols, blocks, part, naturals, target)?;
                match part.as_number() {
                    Some(value) => number *= value,
                    None if other.is_none() => other = Some(part),
                    None => return None,
                }
            }
            Some(other.map_or_else(|| Sum::number(number), |sum| sum.scaled(number)))
        }
        Formula::Divide(left, right) => {
            let below = affine(symbols, blocks, right, naturals, target)?
                .as_number()
                .filter(|value| *value != 0.0)?;
            Some(affine(symbols, blocks, left, naturals, target)?.scaled(1.0 / below))
        }
        Formula::Parameter(_)
        | Formula::Apply(..)
        | Formula::LogBesselK(..)
        | Formula::LogBesselKInOrder(..)
        | Formula::PositivePart(_)
        | Formula::Digamma(_)
        | Formula::Normalised(_)
        | Formula::Total(_)
        | Formula::Inverse(_)
        | Formula::MatrixVector(..)
        | Formula::Outer(..)
        | Formula::LogDeterminant(_)
        | Formula::LogMultivariateGamma(_)
        | Formula::MultivariateDigamma(_) => None,
    }
}

impl Resolved {
    /// The plate letters that it depends on, ancestors among them.
    pub fn plates(&self, symbols: &Symbols, block: &Block, before: &[Shown]) -> Vec<LetterId> {
        let mut letters = Vec::new();
        self.letters(symbols, before, &mut letters);
        let plates = block.copies(symbols);
        let plates = plates.iter().flat_map(|plate| symbols.lineage(*plate).into_iter().rev());
        dedup(plates.filter(|plate| letters.contains(plate)).collect())
    }

    fn letters(&self, symbols: &Symbols, before: &[Shown], out: &mut Vec<LetterId>) {
        match self {
            Resolved::Sum(sum) => {
                let free = sum.free_letters(symbols);
                out.extend(dedup(free.into_iter().flat_map(|letter| symbols.lineage(letter)).collect()));
                out.extend(sizes(symbols, sum));
            }
            Resolved::Parameter(index, _) => {
                out.extend(before.get(*index).map_or(&[][..], |shown| &shown.plates))
            }
            Resolved::Add(parts) | Resolved::Multiply(parts) | Resolved::Call(_, parts) => {
                parts.iter().for_each(|part| part.letters(symbols, before, out));
            }
            Resolved::Divide(left, right) => {
                left.letters(symbols, before, out);
                right.letters(symbols, before, out);
            }
            Resolved::Negate(inner)
            | Resolved::Normalised(inner)
            | Resolved::Total(_, inner)
            | Resolved::Whole(_, inner)
            | Resolved::Inverse(inner) => inner.letters(symbols, before, out),
        }
    }

    /// The notation.
    pub fn node(&self, builder: &mut Builder<'_>, before: &[Shown]) -> Node {
        match self {
            Resolved::Sum(sum) => builder.sum(sum),
            Resolved::Parameter(index, slots) => match before.get(*index) {
                Some(shown) => shown.element(builder, slots),
                None => Node::name("?"),
            },
            Resolved::Add(parts) => Node::add(parts.iter().map(|part| part.node(builder, before)).collect()),
            Resolved::Negate(inner) => inner.node(builder, before).negated(),
            Resolved::Multiply(parts) => {
                let (mut number, mut others) = (1.0, Vec::new());
                for part in parts {
                    match part {
                        Resolved::Sum(sum) if sum.as_number().is_some() => {
                            number *= sum.as_number().unwrap_or(1.0);
                        }
                        other => others.push(other.node(builder, before)),
                    }
                }
                Node::product(Number::of(number), others, Vec::new())
            }
            Resolved::Divide(left, right) => {
                quotient(left.node(builder, before), right.node(builder, before))
            }
            Resolved::Call(call, parts) => {
                Node::Call(call.clone(), parts.iter().map(|part| part.node(builder, before)).collect())
            }
            Resolved::Normalised(inner) => inner.node(builder, before),
            Resolved::Total(letters, inner) => builder.summed(letters, |builder| inner.node(builder, before)),
            Resolved::Inverse(inner) => match &**inner {
                Resolved::Parameter(index, slots) => {
                    let whole = before.get(*index).map(|shown| shown.whole(builder, slots));
                    Node::call(Call::Inverse, whole.unwrap_or_else(|| Node::name("?")))
                }
                other => Node::call(Call::Inverse, other.node(builder, before)),
            },
            Resolved::Whole(function, inner) => match &**inner {
                Resolved::Parameter(index, slots) => {
                    let whole = before.get(*index).map(|shown| shown.whole(builder, slots));
                    Node::call(Call::Function(*function), whole.unwrap_or_else(|| Node::name("?")))
                }
                other => Node::call(Call::Function(*function), other.node(builder, before)),
            },
        }
    }
}

/// The ancestors that sizes of unmentioned letters depend on.
fn sizes(symbols: &Symbols, sum: &Sum) -> Vec<LetterId> {
    let terms = sum.terms.iter();
    terms.flat_map(|term| &term.sums).flat_map(|letter| symbols.lineage(*letter).split_off(1)).collect()
}

/// `left / right`, signs taken in front.
fn quotient(left: Node, right: Node) -> Node {
    let minus = |node: &Node| node.addends().iter().all(|(negative, _)| *negative) && !node.is_zero();
    let flip = |node: Node| -> Node {
        Node::add(
            node.addends()
                .into_iter()
                .map(|(negative, node)| if negative { node } else { node.negated() })
                .collect(),
        )
    };
    let negative = minus(&left) != minus(&right);
    let left = if minus(&left) { flip(left) } else { left };
    let right = if minus(&right) { flip(right) } else { right };
    let node = Node::product(Number::one(), vec![left], vec![right]);
    if negative { node.negated() } else { node }
}

impl Shown {
    /// As a page has it ([`Resolved::on_page`]).
    pub fn on_page(&self, symbols: &Symbols) -> Shown {
        Shown { value: self.value.on_page(symbols, &self.slots), ..self.clone() }
    }

    /// The parameter over letters: `shape[m,k]`.
    pub fn element(&self, builder: &mut Builder<'_>, slots: &[LetterId]) -> Node {
        let letters: Vec<LetterId> = self.plates.iter().chain(slots).copied().collect();
        self.named(builder.subscripts_of(&letters))
    }

    /// The parameter as a whole along its slots: `prec[n,:k,:l]`.
    pub fn whole(&self, builder: &mut Builder<'_>, slots: &[LetterId]) -> Node {
        let letters: Vec<LetterId> = self.plates.iter().chain(slots).copied().collect();
        let mut subscripts = builder.subscripts_of(&letters);
        let from = subscripts.len() - slots.len();
        for subscript in &mut subscripts[from..] {
            if let Node::Letter(name) = subscript {
                *subscript = Node::Slice(std::mem::take(name));
            }
        }
        self.named(subscripts)
    }

    fn named(&self, subscripts: Vec<Node>) -> Node {
        let mut node = Node::element(&self.name, subscripts);
        if let Node::Element(element) = &mut node {
            element.of.clone_from(&self.of);
        }
        node
    }
}
