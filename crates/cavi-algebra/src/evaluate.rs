//! The value of a sum of products, by nested loops over its letters as it is written. It is slow and obvious, and the
//! reference that the fast run is compared with.
//!
//! Numbers come from an [`Environment`]; this file knows the meaning of letters, products and sums and nothing else.
//! A ragged letter has positions of its own through all groups, and determines its ancestors: assigning it assigns them.
//! A product with a factor that is exactly 0 is 0, whatever the others are: `0 ln 0` is 0, and so is `0/0`.

use std::ops::Range;

use crate::expression::{Function, Subscript};
use crate::sum_of_products::{Atom, Factor, Moment, Sum, Term};
use crate::symbols::{ArrayId, AuxiliaryId, AxisId, LetterId, SiteId, Symbols};

/// Where the numbers come from.
pub trait Environment {
    /// The positions of an axis; of a ragged one with `parent` given, those in the group of that parent.
    fn positions(&self, axis: AxisId, parent: Option<usize>) -> Range<usize>;

    /// The parent of a position of a ragged axis.
    fn parent(&self, axis: AxisId, position: usize) -> usize;

    /// An element of data, of a constant or of a point; of an index array the position it names.
    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64;

    /// Whether an entry of a data array was observed.
    fn observed(&self, array: ArrayId, subscripts: &[usize]) -> bool;

    /// An expectation under q, the subscripts of the moment evaluated.
    fn moment(&self, moment: &Moment, plates: &[usize], slots: &[usize]) -> f64;

    /// The share of one category in the allocation of a copy of a site.
    fn allocation(&self, site: SiteId, addend: usize, plates: &[usize], categories: &[usize]) -> f64;

    /// What the log of a sum contributes to the bound at a copy of a site.
    fn log_partition(&self, site: SiteId, plates: &[usize]) -> f64;

    /// The auxiliary variable of a tangent at a copy of it.
    fn auxiliary(&self, id: AuxiliaryId, plates: &[usize]) -> f64;

    /// A function of numbers.
    fn function(&self, function: Function, arguments: &[f64]) -> f64;
}

/// Which letters have which values.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    values: Vec<Option<usize>>,
}

impl Assignment {
    /// No letter has a value.
    pub fn new() -> Assignment {
        Assignment::default()
    }

    /// The value of a letter, if it has one.
    pub fn get(&self, letter: LetterId) -> Option<usize> {
        self.values.get(letter.index()).copied().flatten()
    }

    /// Gives a letter a value, and its ancestors those that it determines.
    pub fn assign(
        &mut self,
        symbols: &Symbols,
        environment: &dyn Environment,
        letter: LetterId,
        value: usize,
    ) {
        let mut position = value;
        let mut letter = letter;
        self.put(letter, Some(position));
        while let Some(parent) = symbols.letter(letter).parent {
            position = environment.parent(symbols.letter(letter).axis, position);
            letter = parent;
            self.put(letter, Some(position));
        }
    }

    fn put(&mut self, letter: LetterId, value: Option<usize>) {
        if self.values.len() <= letter.index() {
            self.values.resize(letter.index() + 1, None);
        }
        self.values[letter.index()] = value;
    }
}

/// A running sum that carries its rounding error along (Neumaier 1974), so that it is nearly the exact sum, rounded
/// once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulator {
    sum: f64,
    lost: f64,
}

impl Accumulator {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        // An infinite sum has no rounding error, and computing one would turn it into NaN.
        if sum.is_finite() {
            let larger_first =
                if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
            self.lost += (larger_first.0 - sum) + larger_first.1;
        }
        self.sum = sum;
    }

    /// The sum of what was added.
    pub fn total(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

impl FromIterator<f64> for Accumulator {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Accumulator {
        let mut accumulator = Accumulator::default();
        values.into_iter().for_each(|value| accumulator.add(value));
        accumulator
    }
}

/// The value of a sum. Its free letters must be assigned (a ragged letter assigns its ancestors); the assignment is the
/// same afterwards.
pub fn evaluate(
    symbols: &Symbols,
    sum: &Sum,
    environment: &dyn Environment,
    assignment: &mut Assignment,
) -> f64 {
    let terms = sum.terms.iter().map(|term| evaluate_term(symbols, term, environment, assignment));
    terms.collect::<Accumulator>().total()
}

/// The value of one term. A factor is evaluated in the loop of the last letter that it depends on, and where the product is 0
/// the loops inside are left out: squares of sums over several axes have eight letters and more.
pub fn evaluate_term(
    symbols: &Symbols,
    term: &Term,
    environment: &dyn Environment,
    assignment: &mut Assignment,
) -> f64 {
    // A parent is summed before its children, which then run over its group.
    let mut letters = term.sums.clone();
    letters.sort_by_key(|letter| symbols.lineage(*letter).len());
    let loops = loops(symbols, &letters, &term.factors, assignment);
    let mut accumulator = Accumulator::default();
    sum_products(symbols, environment, &letters, &loops, 1.0, assignment, &mut accumulator);
    term.coefficient.0 * accumulator.total()
}

/// The factors that are known before any of the letters has a value, those that the first letter makes known, and so on.
fn loops<'a>(
    symbols: &Symbols,
    letters: &[LetterId],
    factors: &'a [Factor],
    assignment: &Assignment,
) -> Vec<Vec<&'a Factor>> {
    let mut loops = vec![Vec::new(); letters.len() + 1];
    if letters.len() < 2 {
        // Nothing is gained where there is one loop.
        loops[letters.len()].extend(factors);
        return loops;
    }
    let known_in = |letter: LetterId| {
        let summed = letters.iter().position(|own| *own == letter);
        let determined = || letters.iter().position(|own| symbols.lineage(*own).contains(&letter));
        match summed {
            Some(own) => own + 1,
            None if assignment.get(letter).is_some() => 0,
            None => determined().map_or(0, |own| own + 1),
        }
    };
    for factor in factors {
        let last = factor.atom.free_letters(symbols).into_iter().map(known_in).max();
        loops[last.unwrap_or(0)].push(factor);
    }
    loops
}

/// Adds the products of the factors of all loops for all values of the letters, `known` times each.
fn sum_products(
    symbols: &Symbols,
    environment: &dyn Environment,
    letters: &[LetterId],
    loops: &[Vec<&Factor>],
    known: f64,
    assignment: &mut Assignment,
    accumulator: &mut Accumulator,
) {
    let own = product(symbols, loops[0].iter().copied(), environment, assignment);
    if own == 0.0 {
        return;
    }
    let known = known * own;
    let Some((first, rest)) = letters.split_first() else {
        accumulator.add(known);
        return;
    };
    for_each_value(symbols, environment, std::slice::from_ref(first), assignment, &mut |assignment| {
        sum_products(symbols, environment, rest, &loops[1..], known, assignment, accumulator);
    });
}

/// Calls `body` with all values of the letters, the last one fastest. A letter whose ancestor has a value, given before
/// or by a letter further left, runs over that group. The assignment is the same afterwards.
pub fn for_each_value(
    symbols: &Symbols,
    environment: &dyn Environment,
    letters: &[LetterId],
    assignment: &mut Assignment,
    body: &mut dyn FnMut(&mut Assignment),
) {
    let Some((first, rest)) = letters.split_first() else {
        body(assignment);
        return;
    };
    let own = symbols.letter(*first);
    if own.parent.is_none() {
        let before = assignment.get(*first);
        for value in environment.positions(own.axis, None) {
            assignment.put(*first, Some(value));
            for_each_value(symbols, environment, rest, assignment, body);
        }
        assignment.put(*first, before);
        return;
    }
    let lineage = symbols.lineage(*first);
    let before: Vec<Option<usize>> = lineage.iter().map(|letter| assignment.get(*letter)).collect();
    for value in values_of(symbols, environment, &lineage, assignment) {
        assignment.assign(symbols, environment, *first, value);
        for_each_value(symbols, environment, rest, assignment, body);
        for (letter, before) in lineage.iter().zip(&before) {
            assignment.put(*letter, *before);
        }
    }
}

/// The values that the first letter of a lineage can take while its ancestors keep theirs.
fn values_of(
    symbols: &Symbols,
    environment: &dyn Environment,
    lineage: &[LetterId],
    assignment: &Assignment,
) -> Vec<usize> {
    let axis = symbols.letter(lineage[0]).axis;
    let parent = lineage.get(1).and_then(|parent| assignment.get(*parent));
    let fits = |value: &usize| {
        let mut position = *value;
        lineage.windows(2).all(|pair| {
            position = environment.parent(symbols.letter(pair[0]).axis, position);
            assignment.get(pair[1]).is_none_or(|ancestor| ancestor == position)
        })
    };
    environment.positions(axis, parent).filter(fits).collect()
}

/// The product of factors to their powers.
fn product<'a>(
    symbols: &Symbols,
    factors: impl Iterator<Item = &'a Factor> + Clone,
    environment: &dyn Environment,
    assignment: &mut Assignment,
) -> f64 {
    // Indicators first: where one is 0 the others need not have a value.
    let indicator = |factor: &&Factor| {
        matches!(factor.atom, Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..))
    };
    let others = factors.clone().filter(|factor| !indicator(factor));
    let mut product = 1.0;
    for factor in factors.filter(indicator).chain(others) {
        let value = power(evaluate_atom(symbols, &factor.atom, environment, assignment), factor.power);
        if value == 0.0 {
            return 0.0;
        }
        product *= value;
    }
    product
}

/// An integer power, by multiplication.
fn power(base: f64, exponent: i32) -> f64 {
    let power: f64 = std::iter::repeat_n(base, exponent.unsigned_abs() as usize).product();
    if exponent < 0 { 1.0 / power } else { power }
}

/// The value of an atom.
pub fn evaluate_atom(
    symbols: &Symbols,
    atom: &Atom,
    environment: &dyn Environment,
    assignment: &mut Assignment,
) -> f64 {
    match atom {
        Atom::Value(array, subscripts) => {
            environment.value(*array, &positions(subscripts, environment, assignment))
        }
        Atom::Observed(array, subscripts) => {
            f64::from(environment.observed(*array, &positions(subscripts, environment, assignment)))
        }
        Atom::Moment(moment) => {
            let plates = positions(&moment.plates, environment, assignment);
            let slots = positions(&moment.slots, environment, assignment);
            environment.moment(moment, &plates, &slots)
        }
        Atom::Allocation { site, addend, plates, categories } => {
            let plates = positions(plates, environment, assignment);
            let categories = positions(categories, environment, assignment);
            environment.allocation(*site, *addend, &plates, &categories)
        }
        Atom::LogPartition { site, plates } => {
            environment.log_partition(*site, &positions(plates, environment, assignment))
        }
        Atom::Auxiliary { id, plates } => {
            environment.auxiliary(*id, &positions(plates, environment, assignment))
        }
        Atom::Group(sum) => evaluate(symbols, sum, environment, assignment),
        Atom::Apply(Function::LogDeterminant, matrix) => {
            let elements = elements(symbols, &matrix[0], environment, assignment);
            environment.function(Function::LogDeterminant, &elements)
        }
        // The normaliser of a distribution over no category. There is one value, the empty vector, and its density is
        // 1.
        Atom::Apply(Function::LogGamma, arguments)
            if is_over_nothing(symbols, &arguments[0], environment, assignment) =>
        {
            0.0
        }
        Atom::Apply(function, arguments) => {
            let arguments: Vec<f64> = arguments
                .iter()
                .map(|argument| evaluate(symbols, argument, environment, assignment))
                .collect();
            environment.function(*function, &arguments)
        }
        Atom::ExpectedSquare(square) => {
            let mean = evaluate(symbols, &square.mean, environment, assignment);
            mean * mean + evaluate(symbols, &square.spread, environment, assignment)
        }
        Atom::Equal(left, right) => {
            f64::from(position(left, environment, assignment) == position(right, environment, assignment))
        }
        Atom::Different(left, right) => {
            f64::from(position(left, environment, assignment) != position(right, environment, assignment))
        }
        Atom::Less(left, right) => {
            f64::from(position(left, environment, assignment) < position(right, environment, assignment))
        }
    }
}

/// The elements of a matrix that is written as their sum, row by row.
fn elements(
    symbols: &Symbols,
    sum: &Sum,
    environment: &dyn Environment,
    assignment: &mut Assignment,
) -> Vec<f64> {
    let [term] = sum.terms.as_slice() else { return Vec::new() };
    let mut elements = Vec::new();
    for_each_value(symbols, environment, &term.sums, assignment, &mut |assignment| {
        elements.push(term.coefficient.0 * product(symbols, term.factors.iter(), environment, assignment));
    });
    elements
}

/// Whether every term of a sum runs over an axis, or a group of one, without a position.
fn is_over_nothing(
    symbols: &Symbols,
    sum: &Sum,
    environment: &dyn Environment,
    assignment: &Assignment,
) -> bool {
    let is_empty = |letter: &LetterId| {
        let letter = symbols.letter(*letter);
        let group = letter.parent.and_then(|parent| assignment.get(parent));
        environment.positions(letter.axis, group).is_empty()
    };
    !sum.terms.is_empty() && sum.terms.iter().all(|term| term.sums.iter().any(is_empty))
}

fn positions(subscripts: &[Subscript], environment: &dyn Environment, assignment: &Assignment) -> Vec<usize> {
    subscripts.iter().map(|subscript| position(subscript, environment, assignment)).collect()
}

/// The position that a subscript names.
fn position(subscript: &Subscript, environment: &dyn Environment, assignment: &Assignment) -> usize {
    match subscript {
        Subscript::Letter(letter) => {
            assignment.get(*letter).expect("every free letter of a sum is assigned before it is evaluated")
        }
        Subscript::Index(array, subscripts) => {
            environment.value(*array, &positions(subscripts, environment, assignment)) as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum_of_products::{Coefficient, ExpectedSquare};
    use crate::symbols::{Absent, Array, ArrayKind, Axis, Letter, Support};

    /// Groups m of sizes 2, 0 and 3, with j ragged in m; an axis k of 2; arrays y[j], c[k], t[m], g[k] (index into m).
    struct World;

    const STARTS: [usize; 4] = [0, 2, 2, 5];
    const Y: [f64; 5] = [1.0, 2.0, 3.0, 0.0, 5.0];
    const C: [f64; 2] = [10.0, 0.5];
    const T: [f64; 3] = [7.0, 8.0, 9.0];
    const G: [f64; 2] = [2.0, 0.0];

    const M: LetterId = LetterId(0);
    const J: LetterId = LetterId(1);
    const K: LetterId = LetterId(2);

    impl Environment for World {
        fn positions(&self, axis: AxisId, parent: Option<usize>) -> Range<usize> {
            match (axis.0, parent) {
                (0, _) => 0..3,
                (1, None) => 0..5,
                (1, Some(m)) => STARTS[m]..STARTS[m + 1],
                _ => 0..2,
            }
        }
        fn parent(&self, _: AxisId, position: usize) -> usize {
            if position < 2 { 0 } else { 2 }
        }
        fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
            let values: &[f64] = match array.0 {
                0 => &Y,
                1 => &C,
                2 => &T,
                _ => &G,
            };
            values[subscripts[0]]
        }
        fn observed(&self, _: ArrayId, subscripts: &[usize]) -> bool {
            subscripts[0] != 4
        }
        fn moment(&self, _: &Moment, plates: &[usize], slots: &[usize]) -> f64 {
            (plates[0] * 10 + slots[0]) as f64
        }
        fn allocation(&self, _: SiteId, _: usize, _: &[usize], _: &[usize]) -> f64 {
            0.5
        }
        fn log_partition(&self, _: SiteId, _: &[usize]) -> f64 {
            f64::NEG_INFINITY
        }
        fn auxiliary(&self, _: AuxiliaryId, plates: &[usize]) -> f64 {
            plates[0] as f64
        }
        fn function(&self, function: Function, arguments: &[f64]) -> f64 {
            assert_eq!(function, Function::Log);
            arguments[0].ln()
        }
    }

    fn symbols() -> Symbols {
        let axis = |name: &str, parent, letter| Axis {
            name: name.to_owned(),
            parent,
            letters: vec![letter],
            size: None,
        };
        let letter = |name: &str, axis, parent| Letter { name: name.to_owned(), axis: AxisId(axis), parent };
        let array = |name: &str, letter| Array {
            name: name.to_owned(),
            kind: ArrayKind::Data,
            letters: vec![letter],
            slice: vec![false],
            written: Vec::new(),
            support: Support::Real,
            absent: Absent::default(),
            restriction: None,
            value: None,
            center: None,
            scale: None,
        };
        Symbols {
            axes: vec![axis("view", None, M), axis("feature", Some(AxisId(0)), J), axis("factor", None, K)],
            letters: vec![letter("m", 0, None), letter("j", 1, Some(M)), letter("k", 2, None)],
            arrays: vec![array("y", J), array("c", K), array("t", M), array("g", K)],
            ..Symbols::default()
        }
    }

    fn value(array: u32, letter: LetterId) -> Factor {
        Factor::of(Atom::Value(ArrayId(array), vec![Subscript::Letter(letter)]))
    }

    fn term(sums: &[LetterId], factors: Vec<Factor>, coefficient: f64) -> Sum {
        Sum::term(Term { sums: sums.to_vec(), factors, coefficient: Coefficient(coefficient) })
    }

    fn check(sum: &Sum, assigned: &[(LetterId, usize)], expected: f64) {
        let symbols = symbols();
        let mut assignment = Assignment::new();
        for (letter, value) in assigned {
            assignment.assign(&symbols, &World, *letter, *value);
        }
        let before = assignment.values.clone();
        let found = evaluate(&symbols, sum, &World, &mut assignment);
        assert!(found == expected, "found {found}, expected {expected}");
        let unset =
            |values: &[Option<usize>]| values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        assert_eq!(before[..unset(&before)], assignment.values[..unset(&assignment.values)]);
    }

    #[test]
    fn a_ragged_letter_runs_over_the_group_of_its_parent() {
        let y = || vec![value(0, J)];
        check(&term(&[J], y(), 2.0), &[(M, 0)], 6.0);
        check(&term(&[J], y(), 1.0), &[(M, 1)], 0.0);
        check(&term(&[J], y(), 1.0), &[(M, 2)], 8.0);
        // Not summed with its parent, it runs over all groups and determines the parent.
        check(&term(&[J], vec![value(0, J), value(2, M)], 1.0), &[], 3.0 * 7.0 + 8.0 * 9.0);
        // Summed with its parent, in either order of the list.
        check(&term(&[J, M], vec![value(0, J), value(2, M)], 1.0), &[], 3.0 * 7.0 + 8.0 * 9.0);
        // Assigned, it implies its parent.
        check(&term(&[], vec![value(2, M)], 1.0), &[(J, 3)], 9.0);
    }

    #[test]
    fn a_letter_that_nothing_mentions_multiplies_by_its_size() {
        check(&term(&[K], vec![], 1.5), &[], 3.0);
        check(&term(&[M, J], vec![], 1.0), &[], 5.0);
    }

    #[test]
    fn index_data_are_positions() {
        let g = Subscript::Index(ArrayId(3), vec![Subscript::Letter(K)]);
        let looked_up = Factor::of(Atom::Value(ArrayId(2), vec![g.clone()]));
        check(&term(&[K], vec![looked_up.clone(), value(1, K)], 1.0), &[], 90.0 + 3.5);
        let agrees = Factor::of(Atom::Equal(g.clone(), Subscript::Letter(M)));
        check(&term(&[K], vec![agrees], 1.0), &[(M, 2)], 1.0);
        let less = Factor::of(Atom::Less(g.clone(), Subscript::Letter(M)));
        check(&term(&[K], vec![less], 1.0), &[(M, 2)], 1.0);
        let differs = Factor::of(Atom::Different(g, Subscript::Letter(M)));
        check(&term(&[K], vec![differs], 1.0), &[(M, 1)], 2.0);
    }

    #[test]
    fn nothing_times_the_log_of_nothing_is_nothing() {
        let log = Factor::of(Atom::Apply(
            Function::Log,
            vec![Sum::term(Term { factors: vec![value(0, J)], ..Term::number(1.0) })],
        ));
        check(&term(&[], vec![log.clone(), value(0, J)], 1.0), &[(J, 3)], 0.0);
        check(&term(&[], vec![log, value(1, K)], 1.0), &[(J, 3), (K, 0)], f64::NEG_INFINITY);
        let partition = Factor::of(Atom::LogPartition { site: SiteId(0), plates: vec![] });
        check(&term(&[J], vec![partition, value(0, J)], 1.0), &[(M, 2)], f64::NEG_INFINITY);
        let reciprocal = Factor { power: -1, ..value(0, J) };
        check(&term(&[], vec![reciprocal, value(0, J)], 1.0), &[(J, 3)], 0.0);
    }

    #[test]
    fn powers_groups_squares_and_masks() {
        let inner = term(&[K], vec![value(1, K)], 1.0);
        let group = Factor { atom: Atom::Group(Box::new(inner.clone())), power: 2 };
        check(&term(&[], vec![group], 1.0), &[], 110.25);
        let square = ExpectedSquare { of: Sum::zero(), mean: inner, spread: Sum::number(0.25) };
        let square = Factor { atom: Atom::ExpectedSquare(Box::new(square)), power: -1 };
        check(&term(&[], vec![square], 110.5), &[], 110.5 * (1.0 / 110.5));
        let observed = Factor::of(Atom::Observed(ArrayId(0), vec![Subscript::Letter(J)]));
        check(&term(&[J], vec![observed], 1.0), &[(M, 2)], 2.0);
    }

    #[test]
    fn an_accumulator_loses_nothing() {
        let total = |values: &[f64]| values.iter().copied().collect::<Accumulator>().total();
        assert_eq!(total(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(total(&[f64::NEG_INFINITY, 1.0]), f64::NEG_INFINITY);
        assert!(total(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }
}
