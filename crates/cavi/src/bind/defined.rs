//! Checks that every expression of data and constants has a value wherever its statement reads it.
//!
//! Judged is what holds no latent: whole arguments, and of a product with latents the factors that are known. A product with a
//! factor of 0 is 0 whatever its other factors are (`0 ln 0` is 0), but for a division by 0, which stays one. What a function
//! makes of an infinite argument counts if it is finite: `exp(-1 / x)` is 0 at 0.

use std::collections::BTreeSet;

use cavi_algebra::evaluate::{Accumulator, Assignment, for_each_value};
use cavi_algebra::{ArrayId, Atom, Expression, Function, LetterId, Subscript};
use cavi_derivation::multiplicities_of;
use cavi_families::functions;
use cavi_model::{Model, Statement};

use super::data_error::DataError;
use super::hide::Hidden;
use super::known::{Known, free_letters};

/// Expressions with more values than this are not looked at one by one.
const MANY: usize = 5_000_000;

/// Which copies of statements a program reads.
pub(super) struct Uses<'a> {
    pub model: &'a Model,
    pub known: &'a Known<'a>,
    /// Entries taken out of the data, which are predicted.
    pub hidden: Vec<&'a Hidden>,
    /// Data with missing entries that are latent.
    pub partly_latent: &'a [ArrayId],
}

impl Uses<'_> {
    /// Whether a copy of a statement that agrees with an assignment has a term: its entry exists, is observed or predicted, and
    /// has a weight.
    pub fn is_read(&self, statement: &Statement, assignment: &mut Assignment) -> bool {
        let symbols = &self.model.symbols;
        let letters = &symbols.array(statement.target).letters;
        let free: Vec<LetterId> =
            letters.iter().copied().filter(|letter| assignment.get(*letter).is_none()).collect();
        let mut found = false;
        for_each_value(symbols, self.known, &free, assignment, &mut |assignment| {
            found = found || self.has_term(statement, assignment);
        });
        found
    }

    /// The letters over which values are looked at one by one: a ragged letter takes its ancestors along. `None` where these are too many.
    pub fn to_look_through(&self, letters: impl Iterator<Item = LetterId>) -> Option<Vec<LetterId>> {
        let symbols = &self.model.symbols;
        let all: BTreeSet<LetterId> = letters.collect();
        let ancestors: BTreeSet<LetterId> =
            all.iter().flat_map(|letter| symbols.lineage(*letter)[1..].to_vec()).collect();
        let letters: Vec<LetterId> = all.difference(&ancestors).copied().collect();
        let values = letters.iter().map(|letter| self.known.size(*letter)).fold(1, usize::saturating_mul);
        (values <= MANY).then_some(letters)
    }

    fn has_term(&self, statement: &Statement, assignment: &Assignment) -> bool {
        let array = self.model.symbols.array(statement.target);
        let at = |letter: &LetterId| assignment.get(*letter).expect("every letter of the left is assigned");
        let positions: Vec<usize> = array.letters.iter().map(at).collect();
        array.has_entry(&positions)
            && (!statement.observed
                || self.partly_latent.contains(&statement.target)
                || self.known.is_observed(statement.target, &positions)
                || self.hidden.iter().any(|own| own.array == statement.target && self.holds(own, &positions)))
            && self.has_weight(statement, assignment)
    }

    fn holds(&self, hidden: &Hidden, positions: &[usize]) -> bool {
        let array = self.model.symbols.array(hidden.array);
        let whole = hidden.coordinates.len() < positions.len();
        let own = || positions.iter().zip(&array.slice).filter(|(_, slice)| !(whole && **slice));
        let count = hidden.coordinates.first().map_or(0, Vec::len);
        (0..count).any(|entry| {
            own().zip(&hidden.coordinates).all(|((position, _), column)| column[entry] as usize == *position)
        })
    }

    /// Whether no multiplicity of the copy is 0.
    fn has_weight(&self, statement: &Statement, assignment: &Assignment) -> bool {
        multiplicities_of(&self.model.symbols, statement).into_iter().all(|atom| {
            let Atom::Value(array, subscripts) = atom else { unreachable!("a multiplicity is an element") };
            let position = |own: &Subscript| match own {
                Subscript::Letter(letter) => assignment.get(*letter),
                Subscript::Index(..) => None,
            };
            let positions: Option<Vec<usize>> = subscripts.iter().map(position).collect();
            positions.is_none_or(|positions| self.known.entry(array, &positions).0 != 0.0)
        })
    }
}

/// Known factors of a product, and the known ones of the products around it.
struct Part<'e> {
    around: Vec<&'e Expression>,
    factors: Vec<&'e Expression>,
    /// Whether a latent is the exponent of the factors, which then are not negative.
    is_base: bool,
}

/// What an expression is worth.
struct Worth<'e> {
    value: f64,
    /// What has no value in it, where the value is not finite for that.
    culprit: Option<Culprit<'e>>,
}

/// A function outside of its domain.
struct Culprit<'e> {
    expression: &'e Expression,
    assignment: Assignment,
    divides: bool,
}

/// Reports expressions of data and constants without a value where their statement reads them, the first of each statement, and
/// says which statements these are.
pub(super) fn undefined(
    uses: &Uses<'_>,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
    problems: &mut Vec<DataError>,
) -> Vec<usize> {
    let mut found = Vec::new();
    for (number, statement) in uses.model.statements.iter().enumerate() {
        let mut parts = Vec::new();
        for argument in statement.arguments.iter().flatten() {
            take_apart(uses.known, &argument.value, &[], &mut parts);
        }
        if let Some(problem) = parts.iter().find_map(|part| judge(uses, statement, part, at)) {
            problems.push(problem);
            found.push(number);
        }
    }
    found
}

fn take_apart<'e>(
    known: &Known<'_>,
    value: &'e Expression,
    around: &[&'e Expression],
    into: &mut Vec<Part<'e>>,
) {
    let part = |factors: Vec<&'e Expression>, is_base| Part { around: around.to_vec(), factors, is_base };
    if known.knows(value) {
        if may_fail(value) {
            into.push(part(vec![value], false));
        }
        return;
    }
    match value {
        Expression::Add(parts) => parts.iter().for_each(|own| take_apart(known, own, around, into)),
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            take_apart(known, body, around, into);
        }
        Expression::Multiply(factors) => {
            let (own, others): (Vec<&Expression>, Vec<&Expression>) =
                factors.iter().partition(|factor| known.knows(factor));
            if own.iter().any(|factor| may_fail(factor)) {
                into.push(part(own.clone(), false));
            }
            let around: Vec<&Expression> = around.iter().copied().chain(own).collect();
            others.into_iter().for_each(|other| take_apart(known, other, &around, into));
        }
        Expression::Power(base, exponent) => {
            match known.knows(base) {
                true => into.push(part(vec![base], true)),
                false => take_apart(known, base, around, into),
            }
            take_apart(known, exponent, around, into);
        }
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => {}
    }
}

/// Whether an expression has functions, powers or quotients: sums and products of finite numbers are finite, or too large for
/// what reads them.
fn may_fail(value: &Expression) -> bool {
    match value {
        Expression::Apply(..) | Expression::Power(..) | Expression::OfMatrix(..) => true,
        Expression::Sum(_, body) => may_fail(body),
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().any(may_fail),
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => false,
    }
}

/// The first place where a part has no value and is read.
fn judge(
    uses: &Uses<'_>,
    statement: &Statement,
    part: &Part<'_>,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
) -> Option<DataError> {
    let (symbols, known) = (&uses.model.symbols, uses.known);
    let all = part.factors.iter().chain(&part.around).flat_map(|own| free_letters(own));
    let letters = uses.to_look_through(all)?;
    let mut found = None;
    for_each_value(symbols, known, &letters, &mut Assignment::new(), &mut |assignment| {
        if found.is_some() {
            return;
        }
        let Some(own) = product(known, part.factors.iter().copied(), assignment) else { return };
        let negative = part.is_base && own.value < 0.0;
        if !negative && own.culprit.is_none() {
            return;
        }
        let is_zero = |own: &&Expression| worth(known, own, assignment).is_some_and(|own| own.value == 0.0);
        if part.around.iter().any(is_zero) || !uses.is_read(statement, assignment) {
            return;
        }
        found = Some(match own.culprit {
            Some(culprit) => explain(uses, statement, &culprit, at),
            None => negative_base(uses, statement, part.factors[0], own.value, assignment, at),
        });
    });
    found
}

/// The value of a product; `None` if an entry that it reads is missing.
fn product<'e>(
    known: &Known<'_>,
    factors: impl Iterator<Item = &'e Expression>,
    assignment: &mut Assignment,
) -> Option<Worth<'e>> {
    let (mut value, mut culprit, mut is_zero) = (1.0, None, false);
    let (indicators, others): (Vec<&Expression>, Vec<&Expression>) =
        factors.partition(|factor| matches!(factor, Expression::Indicator(..)));
    for factor in indicators.into_iter().chain(others) {
        let own = worth(known, factor, assignment)?;
        if own.value == 0.0 {
            if matches!(factor, Expression::Indicator(..)) {
                return Some(Worth { value: 0.0, culprit: None });
            }
            is_zero = true;
        }
        value *= own.value;
        culprit = culprit.or(own.culprit);
    }
    match culprit {
        Some(culprit) if is_zero && !culprit.divides => Some(Worth { value: 0.0, culprit: None }),
        None if is_zero => Some(Worth { value: 0.0, culprit: None }),
        culprit => Some(Worth { value, culprit }),
    }
}

/// The value of an expression without latents; `None` if an entry that it reads is missing.
fn worth<'e>(known: &Known<'_>, value: &'e Expression, assignment: &mut Assignment) -> Option<Worth<'e>> {
    match value {
        Expression::Add(parts) => {
            let parts: Vec<Worth<'e>> =
                parts.iter().map(|part| worth(known, part, assignment)).collect::<Option<_>>()?;
            let value = parts.iter().map(|part| part.value).sum();
            Some(Worth { value, culprit: parts.into_iter().find_map(|part| part.culprit) })
        }
        Expression::Multiply(factors) => product(known, factors.iter(), assignment),
        Expression::Sum(letters, body) => {
            let (mut total, mut culprit, mut is_missing) = (Accumulator::default(), None, false);
            known.each(letters, assignment, &mut |assignment| match worth(known, body, assignment) {
                Some(own) => {
                    total.add(own.value);
                    culprit = culprit.take().or(own.culprit);
                }
                None => is_missing = true,
            });
            (!is_missing).then(|| Worth { value: total.total(), culprit })
        }
        Expression::Power(base, exponent) => {
            let (base, exponent) = (worth(known, base, assignment)?, worth(known, exponent, assignment)?);
            let divides = base.value == 0.0 && exponent.value < 0.0;
            let outside = divides || base.value < 0.0 && exponent.value.fract() != 0.0;
            let own = functions::power(base.value, exponent.value);
            Some(applied(value, own, outside, divides, base.culprit.or(exponent.culprit), assignment))
        }
        Expression::Apply(function, argument) if *function != Function::LogDeterminant => {
            let argument = worth(known, argument, assignment)?;
            let own = functions::apply(*function, &[argument.value]);
            let outside = domain(*function).is_some_and(|(fits, _)| !fits(argument.value));
            Some(applied(value, own, outside, false, argument.culprit, assignment))
        }
        Expression::Apply(..) => {
            let own = known.value_of(value, assignment)?;
            Some(applied(value, own, false, false, None, assignment))
        }
        // What is wrong with an inverse shows where its matrix is checked.
        Expression::OfMatrix(..) => Some(Worth { value: 1.0, culprit: None }),
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => {
            known.value_of(value, assignment).map(|value| Worth { value, culprit: None })
        }
    }
}

/// The worth of a function whose arguments have a worth.
fn applied<'e>(
    expression: &'e Expression,
    value: f64,
    outside: bool,
    divides: bool,
    inner: Option<Culprit<'e>>,
    assignment: &Assignment,
) -> Worth<'e> {
    let culprit = match inner {
        Some(inner) => (!value.is_finite()).then_some(inner),
        None => (outside || !value.is_finite()).then(|| Culprit {
            expression,
            assignment: assignment.clone(),
            divides,
        }),
    };
    Worth { value, culprit }
}

/// Whether a number is in a function's domain.
type Fits = fn(f64) -> bool;

/// The domain of a function, with it in words; `None` where that is the real line.
fn domain(function: Function) -> Option<(Fits, &'static str)> {
    match function {
        Function::Log | Function::LogGamma | Function::Digamma | Function::Trigamma => {
            Some((|x| x > 0.0, "numbers greater than 0"))
        }
        Function::Sqrt => Some((|x| x >= 0.0, "numbers of 0 or more")),
        Function::InversePhi => Some((|x| x > 0.0 && x < 1.0, "numbers between 0 and 1, both excluded")),
        Function::StandardNormalLogQf | Function::LogOneLessExp => Some((|x| x < 0.0, "numbers less than 0")),
        Function::Exp
        | Function::SinePi
        | Function::Logistic
        | Function::Softplus
        | Function::EvenSoftplus
        | Function::LogisticCurvature
        | Function::LogBesselK
        | Function::Power
        | Function::Phi
        | Function::StandardNormalLogCdf
        | Function::StandardNormalLogCcdf
        | Function::LogDeterminant
        | Function::LogMultivariateGamma
        | Function::AtMostOne
        | Function::LogLeft => None,
    }
}

/// `sqrt(x[n])` is NaN: x[1], of x.csv, is -1
fn explain(
    uses: &Uses<'_>,
    statement: &Statement,
    culprit: &Culprit<'_>,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
) -> DataError {
    let mut assignment = culprit.assignment.clone();
    let text = |own: &Expression| cavi_model::text_of(&uses.model.symbols, own);
    let value = |own: &Expression, assignment: &mut Assignment| {
        worth(uses.known, own, assignment).map_or(f64::NAN, |own| own.value)
    };
    let (quoted, possible) = match culprit.expression {
        Expression::Power(base, exponent) => {
            let whole = matches!(&**exponent, Expression::Number(power) if *power == -1.0);
            let quoted = match whole {
                true => format!("1 / {}", bracketed(base, &text(base))),
                false => text(culprit.expression),
            };
            let possible = match (culprit.divides, value(base, &mut assignment) < 0.0) {
                (true, _) => "a divisor other than 0",
                (false, true) => "powers that are whole numbers, or numbers of 0 or more",
                (false, false) => "a power that double precision holds",
            };
            (quoted, possible.to_owned())
        }
        Expression::Apply(function, argument) => {
            let argument = value(argument, &mut assignment);
            let possible = match domain(*function).filter(|(fits, _)| !fits(argument)) {
                Some((_, of)) => format!("`{}` of {of}", function.name()),
                None => "a value that double precision holds".to_owned(),
            };
            (text(culprit.expression), possible)
        }
        other => (text(other), "a finite number".to_owned()),
    };
    let own = value(culprit.expression, &mut assignment);
    let found = if own.is_finite() { "has no value".to_owned() } else { format!("is {own}") };
    refusal(uses, statement, &format!("`{quoted}` {found}"), culprit.expression, &mut assignment, at)
        .possible(possible)
}

/// `x[n]^b` with a negative base.
fn negative_base(
    uses: &Uses<'_>,
    statement: &Statement,
    base: &Expression,
    value: f64,
    assignment: &mut Assignment,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
) -> DataError {
    let quoted = cavi_model::text_of(&uses.model.symbols, base);
    let found = format!("`{quoted}` is {value}, and a latent is its exponent");
    refusal(uses, statement, &found, base, assignment, at).possible("powers of numbers of 0 or more")
}

fn bracketed(value: &Expression, text: &str) -> String {
    match value {
        Expression::Add(_) | Expression::Multiply(_) | Expression::Power(..) => format!("({text})"),
        _ => text.to_owned(),
    }
}

fn refusal(
    uses: &Uses<'_>,
    statement: &Statement,
    found: &str,
    expression: &Expression,
    assignment: &mut Assignment,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
) -> DataError {
    let symbols = &uses.model.symbols;
    let entries = uses.known.entries_of(expression, assignment);
    let entries: Vec<String> = entries
        .iter()
        .map(|(array, positions)| {
            let value = uses.known.entry(*array, positions).0;
            let place = at(*array, positions);
            let end = if place.contains(", of ") { "," } else { "" };
            format!("{place}{end} is {value}")
        })
        .collect();
    let why = if entries.is_empty() { String::new() } else { format!(": {}", entries.join(" and ")) };
    let target = &symbols.array(statement.target).name;
    let family = statement.family.name();
    let problem = DataError::new(format!("in the statement `{target} ~ {family}(...)`: {found}{why}"));
    match statement.observed {
        true => problem.help(format!(
            "mend the entry, or leave it out: where `{target}` is missing (`absent = NA`) or has multiplicity 0 nothing is read"
        )),
        false => problem.help("mend the entry"),
    }
}
