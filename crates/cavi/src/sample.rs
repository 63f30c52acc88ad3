//! Independent draws from q: of latents, and of deterministic names as functions of them.
//!
//! Factors of q are drawn one by one, as q has them: what is joint in q is drawn jointly, a point is repeated. A draw of everything is
//! numbered, and a deterministic name `NAME[...] = expression` is evaluated on each: its draws follow the distribution that q gives it,
//! whatever function it is.
//!
//! Each factor has a stream of random numbers of its own, so that a seed gives the same draws of a variable whatever else is asked for.
//!
//! What has no draws: an implicit latent, which has no factor that is stored; a name that reads one, or that reads latents which live at the
//! listed entries of sparse data.

use std::ops::Range;
use std::path::Path;

use cavi_algebra::evaluate::Assignment;
use cavi_algebra::{ArrayId, ArrayKind, AxisId, Expression, LetterId, Mode, Subscript, Support, Symbols};
use cavi_executor::{BoundArray, Parameters};
use cavi_files::{Cell, CsvText, write_npy, write_text_atomically};
use cavi_model::{Definition, Model};
use serde_json::Value;

use crate::bind::known::Known;
use crate::bind::{DataError, Existing};
use crate::dimensions::Dimension;
use crate::error::Error;
use crate::heldout::{sources, unflat};
use crate::posterior::{groups_of, safe, write_axes};
use crate::prepare::Problem;
use crate::streams;
use crate::writer::Writer;

/// More numbers than these are not drawn at once: 1.6 GB.
const MOST: f64 = 2e8;

/// The levels of the quantiles, with the names of their columns.
pub const LEVELS: [(f64, &str); 3] = crate::export::LEVELS;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How many draws.
    pub draws: usize,
    /// Of the random numbers.
    pub seed: u64,
    /// These latents and deterministic names alone; all where there is none.
    pub names: Vec<String>,
}

/// What was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A latent.
    Latent,
    /// A latent that chooses: its draws are positions on an axis, from 0.
    Index,
    /// A deterministic name, evaluated on draws of what it reads.
    Function,
}

/// The draws of one variable or name.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Its name.
    pub name: String,
    /// What it is.
    pub what: What,
    /// The letter of each dimension.
    letters: Vec<LetterId>,
    /// The size of each dimension; ragged ones have all groups one after another.
    pub shape: Vec<usize>,
    /// Draw by draw, each in C order of the dimensions; NaN where a deterministic name has no value, since it reads a missing entry.
    pub values: Vec<f64>,
}

/// The draws of a variable, or of one group of a ragged one.
#[derive(Clone, Debug)]
pub struct Part {
    /// The labels of the group, joined by `/`; empty where no axis is ragged.
    pub group: String,
    /// The name and the labels of each axis.
    pub axes: Vec<(String, Vec<String>)>,
    /// Draw by draw, each in C order of the axes.
    pub values: Vec<f64>,
}

impl Part {
    /// The shape of its values, the draws first.
    pub fn shape(&self, draws: usize) -> Vec<usize> {
        std::iter::once(draws).chain(self.axes.iter().map(|(_, labels)| labels.len())).collect()
    }
}

/// Draws of a fit.
#[derive(Clone, Debug)]
pub struct Sample<'a> {
    problem: &'a Problem,
    /// How many draws.
    pub draws: usize,
    /// What was drawn: latents in the order of the program, then deterministic names.
    pub drawn: Vec<Drawn>,
    /// What has no draws, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// What draws of one number come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, with divisor draws - 1; NaN of one draw.
    pub sd: f64,
    /// The quantiles at [`LEVELS`], between two draws on the line that joins them.
    pub quantiles: [f64; 3],
}

/// Draws from q.
///
/// # Errors
/// No draw; a name that the program does not have, or of which there are no draws; more numbers than memory holds.
pub fn sample<'a>(problem: &'a Problem, parameters: &Parameters, asked: &Asked) -> Result<Sample<'a>, Error> {
    if asked.draws == 0 {
        return Err(Error::Usage(vec![DataError::new("`--draws 0`: found no draw; expected at least 1")]));
    }
    let problem = problem.as_given();
    let Problem { model, equations, binding, .. } = problem;
    let (symbols, bound) = (&model.symbols, &binding.bound);
    let mut left_out = Vec::new();
    let mut drawn = Vec::new();
    let is_wanted = |name: &str| asked.names.is_empty() || asked.names.iter().any(|own| own == name);
    for id in symbols.latents() {
        let array = symbols.array(id);
        let block = equations.block_of(id);
        if block.is_none_or(|block| equations.block(block).mode == Mode::Implicit) {
            let reason = "it is implicit: no factor of q is stored for it";
            left_out.push((array.name.clone(), reason.to_owned()));
            continue;
        }
        if is_wanted(&array.name) {
            let what = match array.support {
                Support::Index(_) => What::Index,
                _ => What::Latent,
            };
            let shape = bound.shape(symbols, id);
            drawn.push((
                Drawn {
                    name: array.name.clone(),
                    what,
                    letters: array.letters.clone(),
                    shape,
                    values: Vec::new(),
                },
                Of::Latent(id),
            ));
        }
    }
    for own in &model.definitions {
        match reason_against(problem, own) {
            Some(Against::NoLatent) => {}
            Some(Against::Reason(reason)) => left_out.push((own.name.clone(), reason)),
            None if is_wanted(&own.name) => {
                let shape = own.letters.iter().map(|letter| bound.size_of(symbols, *letter)).collect();
                drawn.push((
                    Drawn {
                        name: own.name.clone(),
                        what: What::Function,
                        letters: own.letters.clone(),
                        shape,
                        values: Vec::new(),
                    },
                    Of::Definition(own),
                ));
            }
            None => {}
        }
    }
    refuse_unknown(model, asked, &drawn, &left_out)?;
    let numbers: f64 = drawn.iter().map(|(own, _)| own.cells() as f64).sum::<f64>() * asked.draws as f64;
    if numbers > MOST {
        return Err(DataError::new(format!("the draws would be {numbers:.1e} numbers"))
            .possible(format!("at most {MOST:.0e} numbers at once"))
            .help("name the variables that are wanted, or ask for fewer draws, `--draws N`")
            .into());
    }
    let mut sample = Sample { problem, draws: asked.draws, drawn: Vec::new(), left_out };
    sample.draw(parameters, asked.seed, &mut drawn);
    sample.drawn = drawn.into_iter().map(|(own, _)| own).collect();
    Ok(sample)
}

/// What draws are of.
enum Of<'a> {
    Latent(ArrayId),
    Definition(&'a Definition),
}

/// Why there are no draws of a deterministic name.
enum Against {
    /// It reads no latent, and is known.
    NoLatent,
    Reason(String),
}

/// Why a deterministic name has no draws; `None` where it has.
fn reason_against(problem: &Problem, own: &Definition) -> Option<Against> {
    let Problem { equations, binding, .. } = problem;
    let symbols = &equations.symbols;
    let (mut is_any, mut implicit, mut moved) = (false, None, None);
    let mut look = |array: ArrayId, subscripts: &[Subscript]| {
        let read = symbols.array(array);
        let block = equations.block_of(array);
        let is_implicit = block.is_none_or(|block| equations.block(block).mode == Mode::Implicit);
        if read.kind == ArrayKind::Latent {
            is_any = true;
            if is_implicit {
                implicit.get_or_insert(array);
            }
        }
        if !fits(symbols, array, subscripts) {
            moved.get_or_insert(array);
        }
    };
    visit_all(&own.value, &mut look);
    let name = |array: ArrayId| &symbols.array(array).name;
    if !is_any {
        return Some(Against::NoLatent);
    }
    if let Some(array) = implicit {
        return Some(Against::Reason(format!("it reads `{}`, which is implicit", name(array))));
    }
    if let Some(array) = moved {
        return Some(Against::Reason(format!(
            "it reads `{}`, which lives at the listed entries of sparse data",
            name(array)
        )));
    }
    let is_known = |array: ArrayId| {
        symbols.array(array).kind == ArrayKind::Latent || binding.bound.arrays[array.index()].is_some()
    };
    let mut unknown = None;
    visit_all(&own.value, &mut |array, _| {
        if !is_known(array) {
            unknown.get_or_insert(array);
        }
    });
    if let Some(array) = unknown {
        return Some(Against::Reason(format!("it reads `{}`, which has no values", name(array))));
    }
    let mut is_matrix = false;
    visit_matrices(&own.value, &mut || is_matrix = true);
    is_matrix.then(|| Against::Reason("it takes a function of a whole matrix".to_owned()))
}

/// Whether subscripts are those of an array, as far as their axes go: a program that was restated has arrays with others.
fn fits(symbols: &Symbols, array: ArrayId, subscripts: &[Subscript]) -> bool {
    let letters = &symbols.array(array).letters;
    let axis = |letter: &LetterId| symbols.letter(*letter).axis;
    let fits = |(letter, subscript): (&LetterId, &Subscript)| match subscript {
        Subscript::Letter(own) => axis(own) == axis(letter),
        Subscript::Index(inner, _) => symbols.array(*inner).support == Support::Index(axis(letter)),
    };
    letters.len() == subscripts.len() && letters.iter().zip(subscripts).all(fits)
}

/// Calls a function with every array that an expression reads, those of subscripts included.
fn visit_all(expression: &Expression, visit: &mut dyn FnMut(ArrayId, &[Subscript])) {
    fn inside(subscripts: &[Subscript], visit: &mut dyn FnMut(ArrayId, &[Subscript])) {
        for subscript in subscripts {
            if let Subscript::Index(array, inner) = subscript {
                visit(*array, inner);
                inside(inner, visit);
            }
        }
    }
    expression.visit_values(&mut |array, subscripts| {
        visit(array, subscripts);
        inside(subscripts, visit);
    });
}

/// Whether an expression takes the inverse of a matrix, which has no value by element.
fn visit_matrices(expression: &Expression, found: &mut dyn FnMut()) {
    match expression {
        Expression::OfMatrix(..) => found(),
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => {}
        Expression::Sum(_, body) | Expression::Apply(_, body) => visit_matrices(body, found),
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter().for_each(|part| visit_matrices(part, found));
        }
        Expression::Power(base, exponent) => {
            visit_matrices(base, found);
            visit_matrices(exponent, found);
        }
    }
}

/// Refuses a name that is not there, or that has no draws.
fn refuse_unknown(
    model: &Model,
    asked: &Asked,
    drawn: &[(Drawn, Of<'_>)],
    left_out: &[(String, String)],
) -> Result<(), DataError> {
    let known: Vec<&str> = drawn.iter().map(|(own, _)| own.name.as_str()).collect();
    let Some(name) = asked.names.iter().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    if let Some((_, reason)) = left_out.iter().find(|(own, _)| own == name) {
        return Err(DataError::new(format!("`{name}` has no draws: {reason}")));
    }
    if model.definitions.iter().any(|own| own.name == *name) {
        return Err(DataError::new(format!("`{name}` reads no latent, and is the same in every draw")));
    }
    let latents = model.symbols.latents().map(|id| model.symbols.array(id).name.as_str());
    let all: Vec<&str> = latents.chain(model.definitions.iter().map(|own| own.name.as_str())).collect();
    let message = format!("the program has no latent and no deterministic name `{name}`");
    Err(DataError::unknown(message, name, &all))
}

impl Sample<'_> {
    /// Fills the draws.
    fn draw(&mut self, parameters: &Parameters, seed: u64, drawn: &mut [(Drawn, Of<'_>)]) {
        let Problem { model, equations, binding, .. } = self.problem;
        let (symbols, bound) = (&model.symbols, &binding.bound);
        let blocks = equations.blocks.iter().enumerate().filter(|(_, block)| block.mode != Mode::Implicit);
        let mut factors: Vec<_> = blocks
            .map(|(id, _)| {
                let rng = streams::SAMPLES.at(id).of(seed);
                (sources(equations, bound, id.into()), rng)
            })
            .collect();
        let mut arrays = bound.arrays.clone();
        for _ in 0..self.draws {
            for (source, rng) in &mut factors {
                for (variable, values) in source.draw(equations, parameters, rng) {
                    arrays[variable.index()] = Some(BoundArray::full(values));
                }
            }
            let known = Known::new(symbols, &bound.axes, &arrays);
            for (own, of) in drawn.iter_mut() {
                match of {
                    Of::Latent(id) => {
                        if let Some(BoundArray::Dense { values, .. }) = &arrays[id.index()] {
                            own.values.extend_from_slice(values);
                        }
                    }
                    Of::Definition(definition) => {
                        let start = own.values.len();
                        own.values.resize(start + own.cells(), f64::NAN);
                        let (shape, letters) = (own.shape.clone(), &definition.letters);
                        known.each(letters, &mut Assignment::new(), &mut |assignment| {
                            let at = |letter: &LetterId| assignment.get(*letter).unwrap_or(0);
                            let place =
                                shape.iter().zip(letters).fold(0, |cell, (size, own)| cell * size + at(own));
                            let value = known.value_of(&definition.value, assignment);
                            own.values[start + place] = value.unwrap_or(f64::NAN);
                        });
                    }
                }
            }
        }
    }

    /// The names of the columns of labels.
    pub fn columns(&self, own: &Drawn) -> Vec<String> {
        Dimension::along(self.problem, &own.letters).iter().flat_map(Dimension::names).collect()
    }

    /// The labels of an element, one for each column.
    pub fn labels(&self, own: &Drawn, cell: usize) -> Vec<String> {
        let place = unflat(&own.shape, cell);
        let dimensions = self.axes(own).into_iter().zip(place);
        dimensions.flat_map(|(axis, position)| Dimension::new(self.problem, axis).labels(position)).collect()
    }

    fn axes(&self, own: &Drawn) -> Vec<AxisId> {
        own.letters.iter().map(|letter| self.problem.model.symbols.letter(*letter).axis).collect()
    }

    /// The elements that exist, in C order: a restriction may leave some out, and so may groups.
    pub fn cells<'s>(&'s self, own: &'s Drawn) -> impl Iterator<Item = usize> + 's {
        let symbols = &self.problem.model.symbols;
        let restriction = symbols.find(&own.name).and_then(|id| symbols.array(id).restriction.as_ref());
        let axes = &self.problem.binding.bound.axes;
        let existing = Existing::along(symbols, axes, &own.letters, restriction);
        (0..own.cells()).filter(move |cell| existing.is_there(&unflat(&own.shape, *cell)))
    }

    /// The table of one variable: its labels, then mean, standard deviation and quantiles of its draws. `None` of positions on an axis,
    /// which have no mean.
    pub fn table(&self, own: &Drawn) -> Option<String> {
        if own.what == What::Index {
            return None;
        }
        let columns = self.columns(own);
        let mut header: Vec<&str> = columns.iter().map(String::as_str).collect();
        header.extend(["mean", "sd"]);
        header.extend(LEVELS.iter().map(|(_, name)| *name));
        let mut table = CsvText::new(&header);
        for cell in self.cells(own) {
            let labels = self.labels(own, cell);
            let mut row: Vec<Cell<'_>> = labels.iter().map(|label| Cell::Text(label)).collect();
            let spread = own.spread(cell);
            let numbers = [spread.mean, spread.sd].into_iter().chain(spread.quantiles);
            row.extend(numbers.map(Cell::Number));
            table.row(&row);
        }
        Some(table.as_str().to_owned())
    }

    /// The draws of one variable: one part, or of a ragged one a part for each group.
    pub fn parts(&self, own: &Drawn) -> Vec<Part> {
        let Problem { model, binding, .. } = self.problem;
        let groups = groups_of(&model.symbols, &binding.bound, &binding.labels, &own.letters);
        let cells = own.cells();
        let axes = self.axes(own);
        let of_group = |(group, ranges): (String, Vec<Range<usize>>)| {
            let labels = |(axis, range): (&AxisId, &Range<usize>)| {
                let dimension = Dimension::new(self.problem, *axis);
                let label = |position: usize| dimension.labels(position).pop().unwrap_or_default();
                (dimension.names().pop().unwrap_or_default(), range.clone().map(label).collect())
            };
            let inside = |cell: &usize| {
                let place = unflat(&own.shape, *cell);
                place.iter().zip(&ranges).all(|(position, range)| range.contains(position))
            };
            let kept: Vec<usize> = (0..cells).filter(inside).collect();
            let draw = |draw: usize| kept.iter().map(move |cell| draw * cells + cell).collect::<Vec<usize>>();
            let values = (0..self.draws).flat_map(draw).map(|place| own.values[place]).collect();
            Part { group, axes: axes.iter().zip(&ranges).map(labels).collect(), values }
        };
        groups.into_iter().map(of_group).collect()
    }
}

impl Drawn {
    /// The number of elements of a draw.
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    /// The draws of one element.
    pub fn of(&self, cell: usize) -> Vec<f64> {
        self.values.iter().skip(cell).step_by(self.cells().max(1)).copied().collect()
    }

    /// What the draws of one element come to.
    pub fn spread(&self, cell: usize) -> Spread {
        Spread::of(self.of(cell))
    }
}

impl Spread {
    /// Mean, standard deviation and quantiles; NaN where a draw is.
    pub fn of(mut values: Vec<f64>) -> Spread {
        if values.iter().any(|value| value.is_nan()) {
            return Spread { mean: f64::NAN, sd: f64::NAN, quantiles: [f64::NAN; 3] };
        }
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        // About the smallest, so that a number that is always the same has that mean and no deviation.
        let first = values.first().copied().unwrap_or(f64::NAN);
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let quantiles = LEVELS.map(|(level, _)| quantile(&values, level));
        Spread { mean, sd: (squares / (count - 1.0)).sqrt(), quantiles }
    }
}

/// The quantile of numbers that are sorted, between two of them on the line that joins them: at `p`, the place `p (n - 1)` from the first.
///
/// # Source
/// Hyndman and Fan (1996), definition 7.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p * last as f64;
    let low = place.floor();
    let (one, other) = (sorted[low as usize], sorted[(low as usize + 1).min(last)]);
    if one == other { one } else { one + (place - low) * (other - one) }
}

/// The place of the directory that draws are written to.
#[derive(Debug)]
pub struct Place(Writer);

impl Place {
    /// Takes the place. With `force` a directory that Cavi did not write is replaced too; its files stay.
    ///
    /// # Errors
    /// The directory of the fit, or one above it; a path that is a file, that cannot be written to, that another process writes to, or that holds files of others.
    pub fn prepare(path: &Path, fit: &Path, force: bool) -> Result<Place, Error> {
        Ok(Place(Writer::open(path, &[fit], force)?))
    }

    /// Writes the draws: `VAR.npy` with the draws as the first dimension (of a ragged variable `VAR/GROUP.npy`), `VAR.csv` with labels, mean,
    /// standard deviation and quantiles, `axes/`, and the JSON as `sample.json`.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn write(self, sample: &Sample<'_>, json: &Value) -> Result<(), Error> {
        let Problem { model, binding, .. } = sample.problem;
        self.0.write(|path| {
            for own in &sample.drawn {
                for part in sample.parts(own) {
                    let name = match part.group.is_empty() {
                        true => format!("{}.npy", safe(&own.name)),
                        false => format!("{}/{}.npy", safe(&own.name), part.group),
                    };
                    write_npy(&path.join(name), &part.shape(sample.draws), &part.values)?;
                }
                if let Some(table) = sample.table(own) {
                    write_text_atomically(&path.join(format!("{}.csv", safe(&own.name))), &table)?;
                }
            }
            write_axes(&model.symbols, &binding.bound, &binding.labels, &binding.entries, path)?;
            Ok(write_text_atomically(&path.join("sample.json"), &format!("{json:#}\n"))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_draws() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.0, 0.5, 1.0].map(|p| quantile(&sorted, p)), [1.0, 3.0, 8.0]);
        assert_eq!(quantile(&[3.0], 0.2), 3.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn what_is_always_the_same_has_no_deviation() {
        let spread = Spread::of(vec![0.1; 7]);
        assert_eq!((spread.mean, spread.sd, spread.quantiles), (0.1, 0.0, [0.1; 3]));
        assert_eq!(Spread::of(vec![1.0, 3.0]).sd, 2.0_f64.sqrt());
    }
}
