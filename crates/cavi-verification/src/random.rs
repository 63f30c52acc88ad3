//! Random sizes, data and constants for any program.

use cavi_algebra::{Array, ArrayId, ArrayKind, Expression, Function, LetterId, Subscript, Support};
use cavi_executor::{Bound, BoundArray, BoundAxis};
use cavi_families::Domain;
use cavi_model::Model;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};

use crate::world::World;

/// What data to draw.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The smallest size of an axis of the data.
    pub smallest: usize,
    /// The largest size of an axis.
    pub largest: usize,
    /// Whether arrays that may be sparse are; else they are dense.
    pub sparse: bool,
    /// The share of entries that are missing, where the program allows it.
    pub missing: f64,
    /// What counts and other non-negative data are multiplied by.
    pub scale: f64,
}

impl Shape {
    /// Sizes from 2 to 5, some entries missing.
    pub fn small(sparse: bool) -> Shape {
        Shape { smallest: 2, largest: 5, sparse, missing: 0.25, scale: 1.0 }
    }
}

/// Sizes, data and constants for a program, of the right supports.
pub fn random_bound(model: &Model, shape: Shape, rng: &mut ChaCha8Rng) -> Bound {
    let symbols = &model.symbols;
    let mut bound = Bound { arrays: vec![None; symbols.arrays.len()], ..Bound::default() };
    for (index, axis) in symbols.axes.iter().enumerate() {
        let id = cavi_algebra::AxisId::from(index);
        // Something must be there to point at, and a slice on the simplex has mass.
        let pointed = symbols.arrays.iter().any(|array| array.support == Support::Index(id));
        let simplex = symbols.arrays.iter().any(|array| {
            let own = array.letters.iter().zip(&array.slice);
            array.support == Support::Simplex
                && own.into_iter().any(|(letter, slice)| *slice && symbols.letter(*letter).axis == id)
        });
        let least = if pointed || simplex { shape.smallest.max(1) } else { shape.smallest };
        let largest = shape.largest.max(least);
        let sized = match &axis.size {
            Some(Expression::Number(size)) => Some((*size as usize).clamp(1, 3)),
            _ => None,
        };
        bound.axes.push(match axis.parent {
            None => BoundAxis::plain(sized.unwrap_or_else(|| rng.random_range(least..=largest))),
            Some(parent) => {
                let parents = bound.axes[parent.index()].size;
                let sizes: Vec<usize> = (0..parents).map(|_| rng.random_range(least..=largest)).collect();
                BoundAxis::ragged(&sizes)
            }
        });
    }
    // Constants without a value first, then those computed from them, then data.
    let order = |kind: ArrayKind, computed: bool| {
        (0..symbols.arrays.len()).map(ArrayId::from).filter(move |id| {
            let array = symbols.array(*id);
            array.kind == kind && array.value.is_some() == computed
        })
    };
    for id in order(ArrayKind::Constant, false) {
        bound.arrays[id.index()] = Some(BoundArray::full(constant(model, &bound, id, rng)));
    }
    let mut waiting = fill_in_order(model, &mut bound, order(ArrayKind::Constant, true).collect());
    for id in order(ArrayKind::Data, false) {
        bound.arrays[id.index()] = Some(data(model, &bound, id, shape, rng));
    }
    // Data that follow from others, and constants that follow from data.
    waiting.extend(order(ArrayKind::Data, true));
    let waiting = fill_in_order(model, &mut bound, waiting);
    assert!(waiting.is_empty(), "the constants and data of a program form no cycle");
    totals(model, &mut bound, rng);
    bound
}

/// Arrays computed from others, each after those it reads. Leaves those that read what is not there.
fn fill_in_order(model: &Model, bound: &mut Bound, mut waiting: Vec<ArrayId>) -> Vec<ArrayId> {
    loop {
        let before = waiting.len();
        waiting.retain(|id| {
            let array = model.symbols.array(*id);
            let value = array.value.as_ref().expect("only computed arrays wait");
            let mut ready = true;
            value.visit_values(&mut |read, _| ready &= bound.arrays[read.index()].is_some());
            if !ready {
                return true;
            }
            let filled = evaluated(model, bound, array, value);
            bound.arrays[id.index()] = Some(filled);
            false
        });
        if waiting.len() == before {
            return waiting;
        }
    }
}

fn evaluated(model: &Model, bound: &Bound, array: &Array, value: &Expression) -> BoundArray {
    let world = World::new(&model.symbols, bound);
    let (mut values, mut seen) = (Vec::new(), Vec::new());
    let mut at = world.nowhere();
    world.each(&array.letters, &mut at, &mut |at| {
        values.push(world.value(value, at));
        let mut observed = true;
        // What is constant has no missing entries; along a letter that is summed nothing is missing.
        if array.kind == ArrayKind::Data {
            value.visit_values(&mut |read, subscripts| {
                let mut letters = Vec::new();
                subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
                if letters.iter().all(|letter| at[letter.index()].is_some()) {
                    observed &= world.observed(read, &world.positions(subscripts, at));
                }
            });
        }
        seen.push(observed);
    });
    let missing = seen.contains(&false);
    values.iter_mut().zip(&seen).filter(|(_, seen)| !**seen).for_each(|(value, _)| *value = 0.0);
    BoundArray::Dense { values: values.into(), observed: missing.then_some(seen) }
}

/// The domain of the parameter that an untyped constant is given for, and whether it is a vector.
fn domain(model: &Model, id: ArrayId) -> Option<Domain> {
    for statement in &model.statements {
        for (parameter, argument) in statement.family.parameters().iter().zip(&statement.arguments) {
            let Some(argument) = argument else { continue };
            if let Expression::Value(array, _) = &argument.value
                && *array == id
            {
                return Some(parameter.spellings[argument.spelling].domain);
            }
        }
    }
    None
}

/// Which two subscripts of an array are the row and the column of a matrix that a density reads as a whole: as a precision or a
/// covariance, also beside factors (`tau * K[i, j]`), or one that has an inverse or a determinant.
fn sides_of_matrix(model: &Model, id: ArrayId) -> Option<(usize, usize)> {
    let mut found = None;
    let mut look = |value: &Expression, row: LetterId, column: LetterId| {
        value.visit_values(&mut |array, subscripts| {
            let side = |letter| subscripts.iter().position(|own| *own == Subscript::Letter(letter));
            if array == id {
                found = found.or_else(|| Some((side(row)?, side(column)?)));
            }
        });
    };
    for statement in &model.statements {
        for (parameter, argument) in statement.family.parameters().iter().zip(&statement.arguments) {
            let Some(argument) = argument else { continue };
            let domain = parameter.spellings[argument.spelling].domain;
            if let (Domain::PositiveDefinite | Domain::Covariance, [row, column]) =
                (domain, &argument.letters[..])
            {
                look(&argument.value, *row, *column);
            }
        }
    }
    for value in model.symbols.arrays.iter().filter_map(|array| array.value.as_ref()) {
        match value {
            Expression::OfMatrix(_, matrix, row, column) => look(matrix, *row, *column),
            Expression::Apply(Function::LogDeterminant, elements) => {
                if let Expression::Sum(letters, matrix) = &**elements {
                    look(matrix, letters[0], letters[1]);
                }
            }
            _ => {}
        }
    }
    found.filter(|(row, column)| row != column)
}

/// Makes the matrices of an array symmetric and positive definite: `u u'` and 1 on the diagonal, with a random `u`.
fn positive_definite(values: &mut [f64], shape: &[usize], row: usize, column: usize, rng: &mut ChaCha8Rng) {
    let stride = |side: usize| shape[side + 1..].iter().product::<usize>();
    let (down, across) = (stride(row), stride(column));
    let size = shape[row].min(shape[column]);
    let corners = (0..values.len()).filter(|place| {
        let at = |side: usize| place / stride(side) % shape[side];
        at(row) == 0 && at(column) == 0
    });
    for corner in corners.collect::<Vec<usize>>() {
        let u: Vec<f64> = (0..size).map(|_| rng.random_range(-0.8..0.8)).collect();
        for (i, left) in u.iter().enumerate() {
            for (j, right) in u.iter().enumerate() {
                values[corner + i * down + j * across] = left * right + f64::from(u8::from(i == j));
            }
        }
    }
}

fn constant(model: &Model, bound: &Bound, id: ArrayId, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let array = model.symbols.array(id);
    let shape = bound.shape(&model.symbols, id);
    let size: usize = shape.iter().product();
    let domain = domain(model, id);
    let mut values: Vec<f64> = (0..size)
        .map(|_| match (array.support, domain) {
            (Support::Index(axis), _) => rng.random_range(0..bound.size(axis)) as f64,
            (Support::Real, Some(Domain::Real)) => rng.sample(StandardNormal),
            (_, Some(Domain::Unit)) => rng.random_range(0.1..0.9),
            (Support::Count | Support::Binary, _) => f64::from(rng.random::<bool>()),
            (Support::Unit, _) => rng.random_range(0.1..0.9),
            _ => rng.random_range(0.5..1.5),
        })
        .collect();
    if let Some((row, column)) = sides_of_matrix(model, id) {
        positive_definite(&mut values, &shape, row, column, rng);
    }
    if domain == Some(Domain::Simplex) || array.support == Support::Simplex {
        let width = shape.last().copied().unwrap_or(1).max(1);
        for row in values.chunks_mut(width) {
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|value| *value /= total);
        }
    }
    values
}

/// Whether an array without a statement of its own stands in an argument, a subscript included: it may lack no entry.
fn on_the_right(model: &Model, id: ArrayId) -> bool {
    if model.statement_of(id).is_some() {
        // Missing entries are latent, or drop out.
        return false;
    }
    let mut found = is_read(model, id);
    let derived = model.symbols.arrays.iter().filter_map(|array| array.value.as_ref());
    derived.for_each(|value| value.visit_values(&mut |array, _| found |= array == id));
    found
}

/// Whether an array stands in an argument of a statement, a subscript included.
fn is_read(model: &Model, id: ArrayId) -> bool {
    let mut found = false;
    for argument in model.statements.iter().flat_map(|statement| &statement.arguments).flatten() {
        argument.value.visit_values(&mut |array, _| found |= array == id);
    }
    found
}

fn data(model: &Model, bound: &Bound, id: ArrayId, shape: Shape, rng: &mut ChaCha8Rng) -> BoundArray {
    let array = model.symbols.array(id);
    let sizes = bound.shape(&model.symbols, id);
    let size: usize = sizes.iter().product();
    // Positions along the slices of a row are wholly observed.
    let sliced =
        model.statements.iter().any(|statement| statement.target == id && !statement.slices.is_empty());
    let may_miss = array.absent.missing && !sliced && !on_the_right(model, id);
    // Where missing entries are latent, what a restriction leaves out counts as observed to be 0, as it does in a fit.
    let is_partly_latent = may_miss && array.restriction.is_some() && is_read(model, id);
    let (mut values, mut seen, mut exists) = (Vec::new(), Vec::new(), Vec::new());
    for place in 0..size {
        let value = number(array.support, bound, shape.scale, rng);
        let there = restricted(array, &sizes, place);
        let observed = !(may_miss && rng.random::<f64>() < shape.missing) || is_partly_latent && !there;
        values.push(if there && observed { value } else { 0.0 });
        seen.push(observed);
        exists.push(there);
    }
    if let Some((row, column)) = sides_of_matrix(model, id).filter(|_| array.support == Support::Real) {
        positive_definite(&mut values, &sizes, row, column, rng);
    }
    let may_be_sparse = !sizes.is_empty() && (array.absent.zero || may_miss) && !is_partly_latent;
    if !(shape.sparse && may_be_sparse) {
        return BoundArray::Dense { values: values.into(), observed: seen.contains(&false).then_some(seen) };
    }
    let mut indices: Vec<Vec<u32>> = vec![Vec::new(); sizes.len()];
    let (mut listed, mut observed) = (Vec::new(), Vec::new());
    for place in 0..size {
        // A zero may be listed; with `absent = NA` what is missing is left out, or listed as missing.
        let left_out = if array.absent.zero {
            seen[place] && values[place] == 0.0 && rng.random::<f64>() < 0.9
        } else {
            !seen[place] && rng.random::<f64>() < 0.7
        };
        if left_out || !exists[place] {
            continue;
        }
        let mut rest = place;
        for (column, size) in indices.iter_mut().zip(&sizes).rev() {
            column.push((rest % size) as u32);
            rest /= size;
        }
        listed.push(values[place]);
        observed.push(seen[place]);
    }
    BoundArray::Sparse {
        indices: indices.into_iter().map(Into::into).collect(),
        values: listed.into(),
        observed: observed.contains(&false).then_some(observed),
        unlisted_zero: array.absent.zero,
    }
}

fn number(support: Support, bound: &Bound, scale: f64, rng: &mut ChaCha8Rng) -> f64 {
    let exponential = |rng: &mut ChaCha8Rng| -> f64 { Exp1.sample(rng) };
    match support {
        Support::Real => rng.sample::<f64, _>(StandardNormal) * 1.5,
        Support::Positive => scale * (0.3 + exponential(rng)),
        Support::Nonnegative if rng.random::<f64>() < 0.4 => 0.0,
        Support::Nonnegative => scale * 2.0 * exponential(rng),
        Support::Count if rng.random::<f64>() < 0.4 => 0.0,
        Support::Count => (scale * 3.0 * exponential(rng)).round(),
        Support::Unit => rng.random_range(0.05..0.95),
        Support::Binary => f64::from(rng.random::<bool>()),
        Support::Index(axis) => rng.random_range(0..bound.size(axis)) as f64,
        Support::Multiplicity => [0.0, 1.0, 2.0, 0.5][rng.random_range(0..4)],
        Support::Simplex | Support::PositiveDefinite => panic!("no data have the support {support:?}"),
    }
}

/// Whether an entry exists under the array's restriction.
fn restricted(array: &Array, sizes: &[usize], place: usize) -> bool {
    let mut positions = vec![0; sizes.len()];
    let mut rest = place;
    for (position, size) in positions.iter_mut().zip(sizes).rev() {
        *position = rest % size;
        rest /= size;
    }
    array.has_entry(&positions)
}

/// Data under a total are cut to it; where a latent class chooses the total, to the smallest that it can choose.
fn totals(model: &Model, bound: &mut Bound, rng: &mut ChaCha8Rng) {
    for statement in &model.statements {
        let parameters = statement.family.parameters();
        let Some(place) = parameters.iter().position(|own| own.spellings[0].name == "total") else {
            continue;
        };
        let (Some(argument), true) = (&statement.arguments[place], statement.observed) else { continue };
        if !statement.slices.is_empty() {
            continue;
        }
        let Some(worlds) = worlds_of_classes(model, bound, &argument.value) else { continue };
        let sizes = bound.shape(&model.symbols, statement.target);
        // By places in C order; there is no limit where no copy of the statement stands.
        let mut limits = vec![f64::INFINITY; sizes.iter().product()];
        let letters = &model.symbols.array(statement.target).letters;
        for world in &worlds {
            world.each(letters, &mut world.nowhere(), &mut |at| {
                let positions: Vec<usize> = letters.iter().filter_map(|letter| at[letter.index()]).collect();
                let limit = &mut limits[world.place(statement.target, &positions)];
                *limit = limit.min(world.value(&argument.value, at));
            });
        }
        let (values, places): (&mut [f64], Vec<usize>) = match &mut bound.arrays[statement.target.index()] {
            Some(BoundArray::Dense { values, .. }) => {
                let places = (0..values.len()).collect();
                (values, places)
            }
            Some(BoundArray::Sparse { indices, values, .. }) => {
                let place = |entry: usize| {
                    let own = indices.iter().zip(&sizes);
                    own.fold(0, |place, (column, size)| place * size + column[entry] as usize)
                };
                let places = (0..values.len()).map(place).collect();
                (values, places)
            }
            None => continue,
        };
        for (value, place) in values.iter_mut().zip(places) {
            let limit = limits[place];
            if *value > limit {
                *value = (limit * rng.random::<f64>()).round();
            }
        }
    }
}

/// A world for each combination of the values of the latent classes that an expression reads, each class the same for all copies of its
/// latent; `None` where it reads a latent that is no class.
fn worlds_of_classes<'a>(model: &'a Model, bound: &'a Bound, value: &Expression) -> Option<Vec<World<'a>>> {
    let mut read = std::collections::BTreeSet::new();
    value.visit_values(&mut |array, _| {
        if model.symbols.array(array).kind == ArrayKind::Latent {
            read.insert(array);
        }
    });
    let mut worlds = vec![World::new(&model.symbols, bound)];
    for latent in read {
        let classes = match model.symbols.array(latent).support {
            Support::Index(axis) => bound.size(axis),
            Support::Binary => 2,
            _ => return None,
        };
        let copies: usize = bound.shape(&model.symbols, latent).iter().product();
        let with = |world: World<'a>| {
            (0..classes).map(move |class| {
                let mut world = world.clone();
                world.latents[latent.index()] = Some(vec![class as f64; copies]);
                world
            })
        };
        worlds = worlds.into_iter().flat_map(with).collect();
    }
    Some(worlds)
}
