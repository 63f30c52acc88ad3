//! A sum over every entry of an array, without a number for each of them.
//!
//! `sum_ij sum_k a_ik b_jk` is `sum_k (sum_i a_ik) (sum_j b_jk)`: the letters of a product of arrays are summed one after another,
//! each in the product of the arrays that hold it, the one first that leaves the smallest array. Where a term is no product of
//! arrays at letters (it holds a function, a ragged letter, an index), it is summed entry by entry, some thousand at a time.

use std::rc::Rc;

use cavi_algebra::evaluate::Accumulator;
use cavi_algebra::{Atom, LetterId, Subscript, Sum, Term};
use cavi_executor::BoundArray;

use super::batch::{Batch, Place, World};

/// Entries evaluated at once.
const CHUNK: usize = 4096;

/// Which entries there are.
type Exists<'a> = dyn Fn(&[usize]) -> bool + 'a;

/// A product of arrays summed over some letters.
#[derive(Clone)]
struct Tensor {
    letters: Vec<LetterId>,
    sizes: Vec<usize>,
    values: Vec<f64>,
}

/// The sum over every value of the letters of `rate`, where `exists` says which entries there are.
pub(super) fn total(world: &World<'_>, rate: &Sum, letters: &[LetterId], exists: Option<&Exists<'_>>) -> f64 {
    let mut sum = Accumulator::default();
    for term in &rate.terms {
        let own = match exists {
            None => contracted(world, term, letters),
            Some(_) => None,
        };
        sum.add(own.unwrap_or_else(|| entry_by_entry(world, term, letters, exists)));
    }
    sum.total()
}

/// By contraction; `None` where the term is no product of arrays at letters.
fn contracted(world: &World<'_>, term: &Term, letters: &[LetterId]) -> Option<f64> {
    kept(world, term, letters, &[]).map(|own| own.at(&[]))
}

/// What is left of a product of arrays when some of its letters were summed over.
pub(super) struct Kept {
    factor: f64,
    /// Each with the place of its letters among those that were kept.
    tensors: Vec<(Tensor, Vec<usize>)>,
}

impl Kept {
    /// The sum at a position of each letter that was kept; further positions are not read.
    pub fn at(&self, place: &[usize]) -> f64 {
        self.tensors.iter().fold(self.factor, |product, (tensor, letters)| {
            let own = letters.iter().zip(&tensor.sizes);
            product * tensor.values[own.fold(0, |cell, (letter, size)| cell * size + place[*letter])]
        })
    }
}

/// The sum over every value of some letters, at each value of others; `None` where the term is no product of arrays at letters.
pub(super) fn kept(world: &World<'_>, term: &Term, letters: &[LetterId], kept: &[LetterId]) -> Option<Kept> {
    let all: Vec<LetterId> = letters.iter().chain(&term.sums).copied().collect();
    let plain = |letter: &LetterId| world.symbols.letter(*letter).parent.is_none();
    if !all.iter().chain(kept).all(plain) {
        return None;
    }
    let mut tensors: Vec<Tensor> = Vec::new();
    for factor in &term.factors {
        let Atom::Value(array, subscripts) = &factor.atom else { return None };
        let BoundArray::Dense { values, .. } = world.arrays[array.index()]? else { return None };
        let mut own: Vec<LetterId> = Vec::new();
        for subscript in subscripts {
            match subscript {
                Subscript::Letter(letter) if !own.contains(letter) => own.push(*letter),
                Subscript::Letter(_) | Subscript::Index(..) => return None,
            }
        }
        let values = values.iter().map(|value| value.powi(factor.power)).collect();
        tensors.push(Tensor { sizes: world.shapes[array.index()].clone(), letters: own, values });
    }
    let mut left = all;
    let mut result = term.coefficient.0;
    while !left.is_empty() {
        let outcome = |letter: &LetterId| -> usize {
            let mut seen: Vec<LetterId> = Vec::new();
            let with = tensors.iter().filter(|tensor| tensor.letters.contains(letter));
            for own in with.flat_map(|tensor| &tensor.letters) {
                if own != letter && !seen.contains(own) {
                    seen.push(*own);
                }
            }
            seen.iter().map(|letter| world.size(*letter)).fold(1, usize::saturating_mul)
        };
        let next = (0..left.len()).min_by_key(|place| outcome(&left[*place]))?;
        let letter = left.remove(next);
        let (with, without): (Vec<Tensor>, Vec<Tensor>) =
            tensors.into_iter().partition(|tensor| tensor.letters.contains(&letter));
        tensors = without;
        if with.is_empty() {
            result *= world.size(letter) as f64;
            continue;
        }
        tensors.push(sum_out(world, &with, letter));
    }
    let placed = |tensor: Tensor| {
        let place = |letter: &LetterId| kept.iter().position(|own| own == letter);
        let places: Option<Vec<usize>> = tensor.letters.iter().map(place).collect();
        Some((tensor, places?))
    };
    Some(Kept { factor: result, tensors: tensors.into_iter().map(placed).collect::<Option<_>>()? })
}

/// The product of tensors summed over a letter that all of them hold.
fn sum_out(world: &World<'_>, tensors: &[Tensor], letter: LetterId) -> Tensor {
    let mut letters: Vec<LetterId> = Vec::new();
    for own in tensors.iter().flat_map(|tensor| &tensor.letters) {
        if *own != letter && !letters.contains(own) {
            letters.push(*own);
        }
    }
    let sizes: Vec<usize> = letters.iter().map(|letter| world.size(*letter)).collect();
    let stride = |tensor: &Tensor, letter: LetterId| -> usize {
        match tensor.letters.iter().position(|own| *own == letter) {
            Some(place) => tensor.sizes[place + 1..].iter().product(),
            None => 0,
        }
    };
    let strides: Vec<Vec<usize>> =
        tensors.iter().map(|tensor| letters.iter().map(|letter| stride(tensor, *letter)).collect()).collect();
    let own: Vec<usize> = tensors.iter().map(|tensor| stride(tensor, letter)).collect();
    let count: usize = sizes.iter().product();
    let length = world.size(letter);
    let mut values = Vec::with_capacity(count);
    let mut positions = vec![0; sizes.len()];
    for _ in 0..count {
        let starts: Vec<usize> = strides
            .iter()
            .map(|strides| strides.iter().zip(&positions).map(|(stride, position)| stride * position).sum())
            .collect();
        let mut sum = Accumulator::default();
        for step in 0..length {
            let factors = tensors.iter().zip(&starts).zip(&own);
            sum.add(factors.map(|((tensor, start), own)| tensor.values[start + step * own]).product());
        }
        values.push(sum.total());
        for place in (0..positions.len()).rev() {
            positions[place] += 1;
            if positions[place] < sizes[place] {
                break;
            }
            positions[place] = 0;
        }
    }
    Tensor { letters, sizes, values }
}

fn entry_by_entry(world: &World<'_>, term: &Term, letters: &[LetterId], exists: Option<&Exists<'_>>) -> f64 {
    let sizes: Vec<usize> = letters.iter().map(|letter| world.size(*letter)).collect();
    let cells: usize = sizes.iter().product();
    let sum = Sum { terms: vec![term.clone()] };
    let mut result = Accumulator::default();
    for start in (0..cells).step_by(CHUNK) {
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); sizes.len()];
        let mut count = 0;
        for cell in start..cells.min(start + CHUNK) {
            let mut rest = cell;
            let mut place = vec![0; sizes.len()];
            for (position, size) in place.iter_mut().zip(&sizes).rev() {
                *position = rest % size;
                rest /= size;
            }
            if exists.is_none_or(|exists| exists(&place)) {
                columns.iter_mut().zip(place).for_each(|(column, position)| column.push(position as u32));
                count += 1;
            }
        }
        let mut batch = Batch::new(world, count, None);
        for (letter, column) in letters.iter().zip(columns) {
            batch.place(*letter, Place::Each(Rc::new(column)));
        }
        batch.sum(&sum).spread(count).into_iter().for_each(|value| result.add(value));
    }
    result.total()
}
