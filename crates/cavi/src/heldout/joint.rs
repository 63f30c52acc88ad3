//! The log joint density at draws from q, and that of q: the log importance weights of a fit.
//!
//! `log w = log p(data, latents) - log q(latents)`, latents from q. The mean of `log w` is the evidence lower bound of a program without
//! bounds; rows of weight 0 are in neither density. The tail of `w` says how far q is from the posterior. Points have no density under q: theirs is left out, and they are as they
//! are in every draw.

use std::collections::BTreeMap;
use std::rc::Rc;

use cavi_algebra::{ArrayId, ArrayKind, Atom, BlockId, Mode, Subscript};
use cavi_derivation::copy::{Copy, copy};
use cavi_executor::{Bound, BoundArray};
use cavi_families::Slices;
use cavi_model::Statement;
use cavi_numerics::Threads;

use super::batch::{Batch, Place, Target, World};
use super::draws::{Source, is_certain};
use super::predict::{CHUNK, placed_letters, unflat, weighted};
use crate::bind::Existing;
use crate::reopen::Reopened;
use crate::streams;

/// A statement whose density is evaluated.
struct Density<'a> {
    statement: &'a Statement,
    copy: Copy,
    /// For each dimension of the array the size of a slice.
    slices: Vec<Option<usize>>,
    /// For each letter that is placed the position of each copy.
    coordinates: Vec<Vec<u32>>,
    /// The cells of the copies, those of a slice beside each other.
    cells: Vec<usize>,
}

/// The log importance weights of so many draws from q; NaN of those that are left when `is_stopped` says so.
///
/// # Errors
/// In words, why they cannot be evaluated.
pub(crate) fn log_weights(
    fit: &Reopened,
    seed: u64,
    draws: usize,
    threads: usize,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<f64>, String> {
    let problem = fit.problem.as_given();
    let (model, equations, bound) = (&problem.model, &problem.equations, &problem.binding.bound);
    let name = |array: ArrayId| &model.symbols.array(array).name;
    let is_implicit = |latent: &ArrayId| {
        equations.block_of(*latent).is_none_or(|stored| equations.block(stored).mode == Mode::Implicit)
    };
    if let Some(implicit) = model.symbols.latents().find(is_implicit) {
        return Err(format!("`{}` is implicit, and has no draws", name(implicit)));
    }
    let mut sources = Vec::new();
    for (index, block) in equations.blocks.iter().enumerate() {
        let id = BlockId::from(index);
        let source = Source::new(equations, bound, id);
        if !is_certain(equations, id) && !source.has_density(equations) {
            return Err(format!("the density of q(`{}`) is not evaluated at draws", name(block.members[0])));
        }
        sources.push(source);
    }
    let uncertain =
        |array: ArrayId| equations.block_of(array).is_some_and(|block| !is_certain(equations, block));
    let mut densities = Vec::new();
    for statement in &model.statements {
        let mut moves = uncertain(statement.target);
        for argument in statement.arguments.iter().flatten() {
            argument.value.visit_values(&mut |array, _| moves |= uncertain(array));
        }
        // What has the same density at every draw moves no weight.
        if moves {
            let copy =
                copy(model, &equations.symbols, statement, &|axis| bound.size(axis)).map_err(|reason| {
                    format!("the density of `{}` is not evaluated: {reason}", name(statement.target))
                })?;
            // m rows have m draws of what is their own.
            if let Some(by) = counts_one_draw(bound, &copy).filter(|_| uncertain(statement.target)) {
                return Err(format!(
                    "`{}` counts rows more than once, and one draw of `{}` would stand for all of them",
                    name(by),
                    name(statement.target)
                ));
            }
            densities.push(density(fit, statement, copy));
        }
    }
    let shapes: Vec<Vec<usize>> = (0..equations.symbols.arrays.len())
        .map(|index| bound.shape(&equations.symbols, index.into()))
        .collect();
    let parameters = &fit.parameters;
    let each = |draw: usize| {
        if is_stopped() {
            return f64::NAN;
        }
        let mut rng = streams::OF_Q.at(draw).of(seed);
        let mut log_q = 0.0;
        let mut drawn: BTreeMap<ArrayId, BoundArray> = BTreeMap::new();
        for source in &sources {
            let (values, own) = source.draw_with_density((equations, bound), parameters, &mut rng);
            log_q += own;
            drawn.extend(values.into_iter().map(|(array, values)| (array, BoundArray::full(values))));
        }
        let mut arrays: Vec<Option<&BoundArray>> = bound.arrays.iter().map(Option::as_ref).collect();
        drawn.iter().for_each(|(array, values)| arrays[array.index()] = Some(values));
        densities.iter().map(|density| density.log(&arrays, &bound.axes, &shapes)).sum::<f64>() - log_q
    };
    Ok(Threads::new(threads).map(draws, each))
}

/// A multiplicity of the rows of a statement by which some count neither once nor not at all.
fn counts_one_draw(bound: &Bound, copy: &Copy) -> Option<ArrayId> {
    let counts = |array: &ArrayId| {
        let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) = bound.array(*array);
        values.iter().any(|own| *own != 0.0 && *own != 1.0)
    };
    let arrays = copy.weights.iter().filter_map(|atom| match atom {
        Atom::Value(array, _) => Some(*array),
        _ => None,
    });
    arrays.into_iter().find(counts)
}

/// The copies of a statement.
fn density<'a>(fit: &Reopened, statement: &'a Statement, copy: Copy) -> Density<'a> {
    let problem = fit.problem.as_given();
    let (symbols, bound) = (&problem.model.symbols, &problem.binding.bound);
    let own = symbols.array(statement.target);
    let shape = bound.shape(symbols, statement.target);
    let whole = statement.family.slices() != Slices::None;
    let slices: Vec<Option<usize>> =
        shape.iter().zip(&own.slice).map(|(size, slice)| (whole && *slice).then_some(*size)).collect();
    let is_plate: Vec<bool> = slices.iter().map(Option::is_none).collect();
    let mut coordinates: Vec<Vec<u32>> = vec![Vec::new(); is_plate.iter().filter(|plate| **plate).count()];
    let mut cells = Vec::new();
    let sizes = |plates: bool| -> Vec<usize> {
        let each = shape.iter().zip(&is_plate).filter(|(_, plate)| **plate == plates);
        each.map(|(size, _)| *size).collect()
    };
    let (outer, inner) = (sizes(true), sizes(false));
    let existing = Existing::of(symbols, &bound.axes, own);
    for copy in 0..outer.iter().product() {
        let at = unflat(&outer, copy);
        let of_copy: Vec<usize> = (0..inner.iter().product())
            .map(|element| {
                let within = unflat(&inner, element);
                let (mut at, mut within) = (at.iter(), within.iter());
                let place = is_plate.iter().map(|plate| if *plate { at.next() } else { within.next() });
                shape
                    .iter()
                    .zip(place)
                    .fold(0, |cell, (size, place)| cell * size + place.copied().unwrap_or(0))
            })
            .collect();
        let is_seen = |cell: &usize| {
            let place = unflat(&shape, *cell);
            let data = bound.arrays[statement.target.index()].as_ref();
            // Missing data that are latent have their density as well.
            let is_drawn = problem.equations.block_of(statement.target).is_some();
            existing.is_there(&place)
                && (own.kind == ArrayKind::Latent
                    || is_drawn
                    || data.is_some_and(|data| data.entry(&shape, &place).1))
        };
        if of_copy.iter().all(is_seen) {
            cells.extend(of_copy);
            coordinates.iter_mut().zip(&at).for_each(|(column, place)| column.push(*place as u32));
        }
    }
    Density { statement, copy, slices, coordinates, cells }
}

impl Density<'_> {
    /// The sum of the log densities of all copies, each as often as its row counts.
    fn log(
        &self,
        arrays: &[Option<&BoundArray>],
        axes: &[cavi_executor::BoundAxis],
        shapes: &[Vec<usize>],
    ) -> f64 {
        let array = self.statement.target;
        let world = World { symbols: &self.copy.symbols, axes, arrays: arrays.to_vec(), shapes };
        let own = self.copy.symbols.array(array);
        let letters = placed_letters(self.statement, &own.slice, self.slices.iter().any(Option::is_some));
        let width: usize = self.slices.iter().flatten().product();
        let copies = self.cells.len() / width.max(1);
        let shape = &shapes[array.index()];
        let bound = arrays[array.index()].expect("what has a density has values");
        let mut total = 0.0;
        for start in (0..copies).step_by(CHUNK) {
            let chunk = start..copies.min(start + CHUNK);
            let cells = &self.cells[chunk.start * width..chunk.end * width];
            let values: Vec<f64> =
                cells.iter().map(|cell| bound.entry(shape, &unflat(shape, *cell)).0).collect();
            let target = Target { array, values: &values, slices: self.slices.clone() };
            let mut batch = Batch::new(&world, chunk.len(), Some(target));
            for (letter, column) in letters.iter().zip(&self.coordinates) {
                batch.place(*letter, Place::Each(Rc::new(column[chunk.clone()].to_vec())));
            }
            for own in &self.copy.placed {
                batch.place(own.letter, Place::One(own.position));
            }
            for selection in &self.copy.selections {
                let chosen = Subscript::Index(selection.index, selection.subscripts.clone());
                let place = batch.position(&chosen);
                batch.place(selection.class, place);
            }
            let mut logs = batch.log_density(&self.copy.log_density);
            for atom in &self.copy.weights {
                let weights = batch.sum(&cavi_algebra::Sum::atom(atom.clone())).spread(chunk.len());
                logs.iter_mut().zip(weights).for_each(|(log, weight)| *log = weighted(weight, *log));
            }
            total += logs.iter().sum::<f64>();
        }
        total
    }
}
