//! Sums of products at many entries at once: each letter has one position or a position for each entry, each atom one value
//! or a value for each entry. The meaning is that of [`cavi_algebra::evaluate`], a product with a factor of 0 included.

use std::rc::Rc;

use cavi_algebra::{Atom, Factor, Function, LetterId, Subscript, Sum, Symbols, Term};
use cavi_executor::{BoundArray, BoundAxis};
use cavi_families::functions;
use smallvec::{SmallVec, smallvec};

/// What expressions are evaluated in: concrete values for all arrays that they read.
pub(super) struct World<'a> {
    /// Letters and arrays.
    pub symbols: &'a Symbols,
    /// Sizes.
    pub axes: &'a [BoundAxis],
    /// Data, constants and latents with a value; what is missing reads as 0.
    pub arrays: Vec<Option<&'a BoundArray>>,
    /// The shape of each array.
    pub shapes: &'a [Vec<usize>],
}

impl World<'_> {
    /// The positions of a letter's axis.
    pub fn size(&self, letter: LetterId) -> usize {
        self.axes[self.symbols.letter(letter).axis.index()].size
    }
}

/// The position of a letter: one for all entries, or one for each.
#[derive(Clone, Debug)]
pub(super) enum Place {
    One(usize),
    Each(Rc<Vec<u32>>),
}

/// A value: one for all entries, or one for each.
#[derive(Clone, Debug)]
pub(super) enum Value {
    One(f64),
    Each(Vec<f64>),
}

impl Value {
    /// A value for each of so many entries.
    pub fn spread(self, count: usize) -> Vec<f64> {
        match self {
            Value::One(value) => vec![value; count],
            Value::Each(values) => values,
        }
    }
}

/// The values that the target of a statement has at the entries: slices of `width` numbers, with the size of each slice letter.
pub(super) struct Target<'a> {
    pub array: cavi_algebra::ArrayId,
    pub values: &'a [f64],
    /// For each dimension of the array the size of a slice, where it is one.
    pub slices: Vec<Option<usize>>,
}

/// Some entries, and where each letter stands at them.
pub(super) struct Batch<'a> {
    world: &'a World<'a>,
    count: usize,
    places: Vec<Option<Place>>,
    target: Option<Target<'a>>,
}

impl<'a> Batch<'a> {
    /// So many entries, no letter placed.
    pub fn new(world: &'a World<'a>, count: usize, target: Option<Target<'a>>) -> Batch<'a> {
        Batch { world, count, places: vec![None; world.symbols.letters.len()], target }
    }

    /// How many entries there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Places a letter, and its ancestors where it determines them.
    pub fn place(&mut self, letter: LetterId, place: Place) {
        let symbols = self.world.symbols;
        let (mut letter, mut place) = (letter, place);
        loop {
            let own = symbols.letter(letter);
            let above = own.parent.zip(self.world.axes[own.axis.index()].parent.as_ref());
            let next = above.map(|(parent, parents)| {
                let of = |position: usize| parents.get(position).copied().unwrap_or(0);
                let place = match &place {
                    Place::One(position) => Place::One(of(*position)),
                    Place::Each(positions) => Place::Each(Rc::new(
                        positions.iter().map(|position| of(*position as usize) as u32).collect(),
                    )),
                };
                (parent, place)
            });
            self.places[letter.index()] = Some(place);
            match next {
                Some((parent, above)) => (letter, place) = (parent, above),
                None => return,
            }
        }
    }

    /// Takes the place of a letter away.
    pub fn clear(&mut self, letter: LetterId) {
        for own in self.world.symbols.lineage(letter) {
            self.places[own.index()] = None;
        }
    }

    /// Where every letter is placed.
    pub fn places(&self) -> Vec<Option<Place>> {
        self.places.clone()
    }

    /// Places every letter as it was.
    pub fn put_back(&mut self, places: Vec<Option<Place>>) {
        self.places = places;
    }

    /// Where a subscript points.
    pub fn position(&self, subscript: &Subscript) -> Place {
        match subscript {
            Subscript::Letter(letter) => self.places[letter.index()]
                .clone()
                .expect("every free letter of a sum is placed before it is evaluated"),
            Subscript::Index(array, subscripts) => match self.element(*array, subscripts) {
                Value::One(value) => Place::One(value as usize),
                Value::Each(values) => {
                    Place::Each(Rc::new(values.iter().map(|value| *value as u32).collect()))
                }
            },
        }
    }

    /// An element of an array.
    pub fn element(&self, array: cavi_algebra::ArrayId, subscripts: &[Subscript]) -> Value {
        if let Some(target) = self.target.as_ref().filter(|target| target.array == array) {
            let width: usize = target.slices.iter().flatten().product();
            let mut within: Vec<Place> = Vec::new();
            for (subscript, _) in subscripts.iter().zip(&target.slices).filter(|(_, size)| size.is_some()) {
                within.push(self.position(subscript));
            }
            let sizes: Vec<usize> = target.slices.iter().flatten().copied().collect();
            let value = |entry: usize| {
                let place = within.iter().zip(&sizes).fold(0, |place, (position, size)| {
                    place * size
                        + match position {
                            Place::One(position) => *position,
                            Place::Each(positions) => positions[entry] as usize,
                        }
                });
                target.values[entry * width + place]
            };
            return Value::Each((0..self.count).map(value).collect());
        }
        let bound = self.world.arrays[array.index()].expect("what an expression reads has a value");
        let shape = &self.world.shapes[array.index()];
        let positions: SmallVec<[Place; 4]> =
            subscripts.iter().map(|subscript| self.position(subscript)).collect();
        let each = positions.iter().any(|place| matches!(place, Place::Each(_)));
        let at = |entry: usize| -> Vec<usize> {
            let own = |place: &Place| match place {
                Place::One(position) => *position,
                Place::Each(positions) => positions[entry] as usize,
            };
            positions.iter().map(own).collect()
        };
        match bound {
            _ if !each => Value::One(bound.entry(shape, &at(0)).0),
            BoundArray::Dense { values, .. } => {
                let mut cells = vec![0_usize; self.count];
                for (place, size) in positions.iter().zip(shape) {
                    match place {
                        Place::One(position) => {
                            cells.iter_mut().for_each(|cell| *cell = *cell * size + position)
                        }
                        Place::Each(positions) => cells
                            .iter_mut()
                            .zip(positions.iter())
                            .for_each(|(cell, position)| *cell = *cell * size + *position as usize),
                    }
                }
                Value::Each(cells.into_iter().map(|cell| values[cell]).collect())
            }
            BoundArray::Sparse { .. } => {
                Value::Each((0..self.count).map(|entry| bound.entry(shape, &at(entry)).0).collect())
            }
        }
    }

    /// A sum.
    pub fn sum(&mut self, sum: &Sum) -> Value {
        let mut total = Total::default();
        for term in &sum.terms {
            self.term(term, &mut total);
        }
        total.value(self.count)
    }

    /// The log of a density, for each entry: minus infinity where one of its terms is. What one factor of a density makes impossible no other makes
    /// possible.
    pub fn log_density(&mut self, log_density: &Sum) -> Vec<f64> {
        let mut total = vec![0.0; self.count];
        for term in &log_density.terms {
            let mut own = Total::default();
            self.term(term, &mut own);
            for (total, own) in total.iter_mut().zip(own.value(self.count).spread(self.count)) {
                let impossible = *total == f64::NEG_INFINITY || own == f64::NEG_INFINITY;
                *total = if impossible { f64::NEG_INFINITY } else { *total + own };
            }
        }
        total
    }

    /// `a_i sum_j b_ij sum_k c_ijk`: every factor stands in the loop of the last of its letters, and where it is 0 nothing further in is visited.
    fn term(&mut self, term: &Term, total: &mut Total) {
        let symbols = self.world.symbols;
        let mut letters = term.sums.clone();
        letters.sort_by_key(|letter| symbols.lineage(*letter).len());
        let mut factors: SmallVec<[Vec<&Factor>; 4]> = smallvec![Vec::new(); letters.len() + 1];
        for factor in &term.factors {
            let last = letters.iter().rposition(|letter| factor.atom.depends_on(symbols, *letter));
            factors[last.map_or(0, |last| last + 1)].push(factor);
        }
        let outside = self.product(&factors[0]);
        let outside = times(outside, Value::One(term.coefficient.0));
        total.add(self.times_inner(outside, &letters, &factors[1..]));
    }

    /// A product times what is summed over the letters that are left.
    fn times_inner(&mut self, product: Value, letters: &[LetterId], factors: &[Vec<&Factor>]) -> Value {
        match product {
            Value::One(0.0) => product,
            _ if letters.is_empty() => product,
            _ => times(product, self.over(letters, factors)),
        }
    }

    /// The sum over letters, of each with the factors that stand in its loop.
    fn over(&mut self, letters: &[LetterId], factors: &[Vec<&Factor>]) -> Value {
        let (letter, rest) = (letters[0], &letters[1..]);
        let symbols = self.world.symbols;
        let lineage = symbols.lineage(letter).into_iter();
        let before: SmallVec<[(LetterId, Option<Place>); 4]> =
            lineage.map(|letter| (letter, self.places[letter.index()].clone())).collect();
        let mut total = Total::default();
        let mut at = |own: &mut Self, inside: Value| {
            let product = times(inside, own.product(&factors[0]));
            total.add(own.times_inner(product, rest, &factors[1..]));
        };
        let axis = &self.world.axes[symbols.letter(letter).axis.index()];
        let parent = symbols.letter(letter).parent.and_then(|parent| self.places[parent.index()].clone());
        match (&axis.starts, parent) {
            (Some(starts), Some(Place::One(parent))) => {
                for position in starts[parent]..starts[parent + 1] {
                    self.places[letter.index()] = Some(Place::One(position));
                    at(self, Value::One(1.0));
                }
            }
            (Some(starts), Some(Place::Each(parents))) => {
                let length = |parent: &u32| starts[*parent as usize + 1] - starts[*parent as usize];
                let longest = parents.iter().map(length).max().unwrap_or(0);
                for step in 0..longest {
                    let is_inside = |parent: &u32| step < length(parent);
                    let inside =
                        parents.iter().map(|parent| f64::from(u8::from(is_inside(parent)))).collect();
                    // Outside any position of the axis will do.
                    let position = |parent: &u32| match is_inside(parent) {
                        true => (starts[*parent as usize] + step) as u32,
                        false => 0,
                    };
                    let positions = parents.iter().map(position).collect();
                    self.places[letter.index()] = Some(Place::Each(Rc::new(positions)));
                    at(self, Value::Each(inside));
                }
            }
            (Some(_) | None, _) => {
                for position in 0..axis.size {
                    self.place(letter, Place::One(position));
                    at(self, Value::One(1.0));
                }
            }
        }
        for (letter, place) in before {
            self.places[letter.index()] = place;
        }
        total.value(self.count)
    }

    fn product(&mut self, factors: &[&Factor]) -> Value {
        let mut product = Value::One(1.0);
        for factor in factors {
            let value = self.atom(&factor.atom);
            let value = if factor.power == 1 { value } else { map(value, |value| value.powi(factor.power)) };
            product = times(product, value);
        }
        product
    }

    fn atom(&mut self, atom: &Atom) -> Value {
        let compare = |left: Place, right: Place, holds: fn(usize, usize) -> bool| {
            let at = |place: &Place, entry: usize| match place {
                Place::One(position) => *position,
                Place::Each(positions) => positions[entry] as usize,
            };
            match (&left, &right) {
                (Place::One(left), Place::One(right)) => Value::One(f64::from(holds(*left, *right))),
                _ => Value::Each(
                    (0..self.count)
                        .map(|entry| f64::from(holds(at(&left, entry), at(&right, entry))))
                        .collect(),
                ),
            }
        };
        match atom {
            Atom::Value(array, subscripts) => self.element(*array, subscripts),
            // A copy is evaluated where its data are.
            Atom::Observed(..) => Value::One(1.0),
            Atom::Equal(left, right) => compare(self.position(left), self.position(right), |a, b| a == b),
            Atom::Different(left, right) => compare(self.position(left), self.position(right), |a, b| a != b),
            Atom::Less(left, right) => compare(self.position(left), self.position(right), |a, b| a < b),
            Atom::Group(sum) => self.sum(sum),
            Atom::Apply(Function::LogDeterminant, matrix) => self.log_determinant(&matrix[0]),
            Atom::Apply(function, arguments) => {
                let arguments: Vec<Value> = arguments.iter().map(|argument| self.sum(argument)).collect();
                apply(*function, arguments, self.count)
            }
            Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::ExpectedSquare(_) => unreachable!("a density before expectations has none of these"),
        }
    }

    /// The elements of the matrix are the values of the term, row by row.
    fn log_determinant(&mut self, matrix: &Sum) -> Value {
        let [term] = matrix.terms.as_slice() else { return Value::One(f64::NAN) };
        let mut elements: Vec<Value> = Vec::new();
        let [row, column] = term.sums[..] else { return Value::One(f64::NAN) };
        let factors: Vec<&Factor> = term.factors.iter().collect();
        for i in 0..self.world.size(row) {
            for j in 0..self.world.size(column) {
                self.place(row, Place::One(i));
                self.place(column, Place::One(j));
                elements.push(times(self.product(&factors), Value::One(term.coefficient.0)));
            }
        }
        self.clear(row);
        self.clear(column);
        apply(Function::LogDeterminant, elements, self.count)
    }
}

/// A running sum.
#[derive(Default)]
struct Total {
    one: f64,
    each: Option<Vec<f64>>,
}

impl Total {
    fn add(&mut self, value: Value) {
        match (value, &mut self.each) {
            (Value::One(value), _) => self.one += value,
            (Value::Each(values), None) => self.each = Some(values),
            (Value::Each(values), Some(each)) => {
                each.iter_mut().zip(values).for_each(|(sum, value)| *sum += value)
            }
        }
    }

    fn value(self, count: usize) -> Value {
        match self.each {
            None => Value::One(self.one),
            Some(mut each) => {
                debug_assert_eq!(each.len(), count, "a value for each entry");
                if self.one != 0.0 {
                    each.iter_mut().for_each(|value| *value += self.one);
                }
                Value::Each(each)
            }
        }
    }
}

/// A product; 0 where a factor is, whatever the other.
fn times(left: Value, right: Value) -> Value {
    let product = |left: f64, right: f64| if left == 0.0 || right == 0.0 { 0.0 } else { left * right };
    match (left, right) {
        (Value::One(left), Value::One(right)) => Value::One(product(left, right)),
        (Value::One(1.0), other) | (other, Value::One(1.0)) => other,
        (Value::One(0.0), _) | (_, Value::One(0.0)) => Value::One(0.0),
        (Value::One(one), Value::Each(mut each)) | (Value::Each(mut each), Value::One(one)) => {
            each.iter_mut().for_each(|value| *value = product(one, *value));
            Value::Each(each)
        }
        (Value::Each(mut left), Value::Each(right)) => {
            left.iter_mut().zip(&right).for_each(|(left, right)| *left = product(*left, *right));
            Value::Each(left)
        }
    }
}

fn map(value: Value, of: impl Fn(f64) -> f64) -> Value {
    match value {
        Value::One(value) => Value::One(of(value)),
        Value::Each(mut values) => {
            values.iter_mut().for_each(|value| *value = of(*value));
            Value::Each(values)
        }
    }
}

fn apply(function: Function, arguments: Vec<Value>, count: usize) -> Value {
    let one = |value: &Value| matches!(value, Value::One(_));
    let at = |entry: usize| -> Vec<f64> {
        let own = |value: &Value| match value {
            Value::One(value) => *value,
            Value::Each(values) => values[entry],
        };
        arguments.iter().map(own).collect()
    };
    if arguments.iter().all(one) {
        return Value::One(functions::apply(function, &at(0)));
    }
    if let [Value::Each(values)] = arguments.as_slice() {
        return Value::Each(values.iter().map(|value| functions::apply(function, &[*value])).collect());
    }
    Value::Each((0..count).map(|entry| functions::apply(function, &at(entry))).collect())
}
