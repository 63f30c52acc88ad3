//! Sums of products made of bytes, and their canonical form.

use std::ops::Range;

use cavi_algebra::canonical::canonical as canonical_form;
use cavi_algebra::evaluate::{Assignment, Environment, evaluate};
use cavi_algebra::{
    Absent, Array, ArrayId, ArrayKind, Atom, AuxiliaryId, Axis, AxisId, Coefficient, Factor, Function,
    Letter, LetterId, Moment, SiteId, Subscript, Sum, Support, Symbols, Term,
};

/// Axes of 3 and 2 positions, the second with the letters `k` and `l`; arrays with positive values: `a[i, k]`, `v[k]`, `c[i]`; and `t[i]`, which
/// names a position `k`.
struct World;

const I: LetterId = LetterId(0);
const K: LetterId = LetterId(1);
const L: LetterId = LetterId(2);
const SIZES: [usize; 2] = [3, 2];

fn symbols() -> Symbols {
    let axis = |name: &str, letters: &[LetterId]| Axis {
        name: name.to_owned(),
        parent: None,
        letters: letters.to_vec(),
        size: None,
    };
    let letter = |name: &str, axis| Letter { name: name.to_owned(), axis: AxisId(axis), parent: None };
    let array = |name: &str, letters: &[LetterId], support| Array {
        kind: ArrayKind::Data,
        absent: Absent::default(),
        ..Array::latent(name, letters.to_vec(), support)
    };
    Symbols {
        axes: vec![axis("row", &[I]), axis("part", &[K, L])],
        letters: vec![letter("i", 0), letter("k", 1), letter("l", 1)],
        arrays: vec![
            array("a", &[I, K], Support::Positive),
            array("v", &[K], Support::Positive),
            array("c", &[I], Support::Positive),
            array("t", &[I], Support::Index(AxisId(1))),
        ],
        ..Symbols::default()
    }
}

impl Environment for World {
    fn positions(&self, axis: AxisId, _: Option<usize>) -> Range<usize> {
        0..SIZES[axis.index()]
    }
    fn parent(&self, _: AxisId, position: usize) -> usize {
        position
    }
    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        match (array.0, subscripts) {
            (0, [i, k]) => [[0.5, 2.0], [1.25, 0.75], [3.0, 1.5]][*i][*k],
            (1, [k]) => [0.25, 1.75][*k],
            (2, [i]) => [1.125, 0.625, 2.5][*i],
            (3, [i]) => [1.0, 0.0, 1.0][*i],
            _ => panic!("there is no such element"),
        }
    }
    fn observed(&self, _: ArrayId, _: &[usize]) -> bool {
        true
    }
    fn moment(&self, _: &Moment, _: &[usize], _: &[usize]) -> f64 {
        panic!("no moment was made")
    }
    fn allocation(&self, _: SiteId, _: usize, _: &[usize], _: &[usize]) -> f64 {
        panic!("no allocation was made")
    }
    fn log_partition(&self, _: SiteId, _: &[usize]) -> f64 {
        panic!("no log partition was made")
    }
    fn auxiliary(&self, _: AuxiliaryId, _: &[usize]) -> f64 {
        panic!("no auxiliary was made")
    }
    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        match function {
            Function::Log => arguments[0].ln(),
            Function::Exp => arguments[0].exp(),
            Function::Sqrt => arguments[0].sqrt(),
            Function::Softplus => arguments[0].exp().ln_1p(),
            _ => panic!("no such function was made"),
        }
    }
}

/// Makes sums of the bytes that are left. Every summed letter is one of its own.
struct Maker<'b> {
    bytes: &'b [u8],
    symbols: Symbols,
    /// The letters of the second axis that have a value.
    letters: Vec<LetterId>,
}

impl Maker<'_> {
    fn below(&mut self, number: usize) -> usize {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                usize::from(*first) % number
            }
            None => 0,
        }
    }

    fn letter(&mut self) -> LetterId {
        let number = self.below(self.letters.len());
        self.letters[number]
    }

    /// A position on the axis of `k` and `l`.
    fn subscript(&mut self) -> Subscript {
        match self.below(4) {
            0 => Subscript::Index(ArrayId(3), vec![Subscript::Letter(I)]),
            _ => Subscript::Letter(self.letter()),
        }
    }

    fn atom(&mut self, depth: usize) -> Atom {
        let kinds = if depth == 0 { 6 } else { 9 };
        match self.below(kinds) {
            0 => Atom::Value(ArrayId(0), vec![Subscript::Letter(I), self.subscript()]),
            1 => Atom::Value(ArrayId(1), vec![self.subscript()]),
            2 => Atom::Value(ArrayId(2), vec![Subscript::Letter(I)]),
            3 => Atom::Equal(self.subscript(), self.subscript()),
            4 => Atom::Different(self.subscript(), self.subscript()),
            5 => Atom::Less(self.subscript(), self.subscript()),
            6 => Atom::Group(Box::new(self.sum(depth - 1))),
            7 => Atom::Apply(Function::Softplus, vec![self.sum(depth - 1)]),
            _ => {
                let function = [Function::Log, Function::Exp, Function::Sqrt][self.below(3)];
                // Of a product of positive values, where all three have a value.
                let value = Atom::Value(ArrayId(1), vec![self.subscript()]);
                let other = Atom::Value(ArrayId(0), vec![Subscript::Letter(I), self.subscript()]);
                let factors = vec![
                    Factor { atom: value, power: self.power() },
                    Factor { atom: other, power: self.power() },
                ];
                Atom::Apply(
                    function,
                    vec![Sum::term(Term { sums: Vec::new(), factors, coefficient: Coefficient(0.5) })],
                )
            }
        }
    }

    fn power(&mut self) -> i32 {
        [1, 1, 2, -1, 3, -2][self.below(6)]
    }

    fn factor(&mut self, depth: usize) -> Factor {
        let atom = self.atom(depth);
        let power = match &atom {
            Atom::Value(..) => self.power(),
            // What may be 0 is not divided by.
            Atom::Group(_) => [1, 2][self.below(2)],
            Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => 1,
            _ => [1, 2][self.below(2)],
        };
        Factor { atom, power }
    }

    fn term(&mut self, depth: usize) -> Term {
        let sums: Vec<LetterId> = (0..self.below(3)).map(|_| self.symbols.fresh(K, None)).collect();
        let outer = self.letters.len();
        self.letters.extend(&sums);
        let number = 1 + self.below(3);
        let factors = (0..number).map(|_| self.factor(depth)).collect();
        self.letters.truncate(outer);
        let coefficient = [1.0, -1.0, 0.5, 2.0, 0.0, -0.25][self.below(6)];
        Term { sums, factors, coefficient: Coefficient(coefficient) }
    }

    fn sum(&mut self, depth: usize) -> Sum {
        let number = self.below(4);
        Sum { terms: (0..number).map(|_| self.term(depth)).collect() }
    }
}

/// The values of a sum at all positions of its free letters, and the sum of the absolute values of its terms there.
fn values(symbols: &Symbols, sum: &Sum) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    for i in 0..SIZES[0] {
        for k in 0..SIZES[1] {
            for l in 0..SIZES[1] {
                let mut assignment = Assignment::new();
                for (letter, value) in [(I, i), (K, k), (L, l)] {
                    assignment.assign(symbols, &World, letter, value);
                }
                let mut of = |sum: &Sum| evaluate(symbols, sum, &World, &mut assignment);
                let size = sum.terms.iter().map(|term| of(&Sum::term(term.clone())).abs()).sum();
                out.push((of(sum), size));
            }
        }
    }
    out
}

/// A sum of products: its canonical form has its value, and is its own canonical form; another order of its terms and factors changes
/// nothing.
pub fn canonical(bytes: &[u8]) {
    let mut maker = Maker { bytes: &bytes[..bytes.len().min(120)], symbols: symbols(), letters: vec![K, L] };
    let sum = maker.sum(2);
    let mut symbols = maker.symbols;
    let form = canonical_form(&mut symbols, &sum);
    for ((value, size), (other, of_form)) in values(&symbols, &sum).into_iter().zip(values(&symbols, &form)) {
        let scale = 1.0 + size + of_form;
        // Beyond the range of doubles there is nothing to compare, and products that were multiplied out lose digits to each other.
        if value.is_finite() && other.is_finite() && scale < 1e12 {
            assert!((value - other).abs() <= 1e-6 * scale, "{value} and {other}:\n{sum:?}\n{form:?}");
        }
    }
    assert_eq!(canonical_form(&mut symbols, &form), form, "of {sum:?}");
    let mut turned = sum.clone();
    turned.terms.reverse();
    turned.terms.iter_mut().for_each(|term| term.factors.reverse());
    let other = canonical_form(&mut symbols, &turned);
    assert_eq!(form.terms.len(), other.terms.len(), "of {sum:?}:\n{form:?}\n{other:?}");
}
