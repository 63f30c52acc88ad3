//! Rows of the data drawn with replacement: positions of an axis, with everything that runs along it.
//!
//! A row whose multiplicity m is a whole number stands for m rows: as many are drawn as the multiplicities come to, each position with the
//! probability `m / sum m`, and the new multiplicity of a position is how often it was drawn. Where a multiplicity is no whole number it is no
//! number of rows (but the weight of one in a survey), and rows are drawn alike, each with the weight that it has.

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Support};
use cavi_executor::BoundArray;
use cavi_model::Model;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::bind::{Binding, DataError};
use crate::error::Error;
use crate::prepare::Problem;
use crate::rows::{Gathering, RowAxes};

/// Which positions can be drawn.
pub(super) struct Resampling<'a> {
    problem: &'a Problem,
    gathering: Gathering<'a>,
    /// Where rows stand for several: the arrays that say so, and how many rows each position stands for.
    counts: Option<(Vec<ArrayId>, Vec<f64>)>,
}

impl<'a> Resampling<'a> {
    /// Along the axis of this name.
    ///
    /// # Errors
    /// A name that no axis has; an axis without data; one whose positions are tied together.
    pub fn along(problem: &'a Problem, name: &str) -> Result<Resampling<'a>, Error> {
        let model: &Model = &problem.model;
        let symbols = &model.symbols;
        let known = || {
            let axes = symbols.axes.iter().filter(|axis| axis.parent.is_none());
            axes.map(|axis| axis.name.as_str()).collect::<Vec<&str>>()
        };
        let Some(place) = symbols.axes.iter().position(|axis| axis.name == name) else {
            let message = format!("`--rows {name}`: the program has no axis of this name");
            return Err(DataError::unknown(message, name, &known()).into());
        };
        let axis = AxisId::from(place);
        let refused = |message: String| {
            DataError::new(format!("rows along `{name}` cannot be drawn: {message}"))
                .possible("an axis along which the data have independent rows, such as documents or samples")
                .help("`--bootstrap N` without `--rows` draws data from the fit, for any program")
        };
        let rows = RowAxes::along(model, axis);
        let has_data = |own: &ArrayId| symbols.array(*own).kind == ArrayKind::Data && rows.has_rows(*own);
        if !(0..symbols.arrays.len()).map(ArrayId::from).any(|own| has_data(&own)) {
            return Err(refused("no data run along it".to_owned()).into());
        }
        let gathering = Gathering::along(model, axis).map_err(refused)?;
        let counts = counts(problem, axis);
        Ok(Resampling { problem, gathering, counts })
    }

    /// What runs along rows.
    pub fn rows(&self) -> &RowAxes<'a> {
        &self.gathering.rows
    }

    /// Data whose rows are as many of the old ones, drawn with replacement.
    pub fn draw(&self, rng: &mut ChaCha8Rng) -> Binding {
        let binding = &self.problem.binding;
        let size = binding.bound.size(self.gathering.axis);
        let Some((arrays, counts)) = &self.counts else {
            let mut drawn: Vec<usize> = (0..size).map(|_| rng.random_range(0..size)).collect();
            drawn.sort_unstable();
            return self.gathering.at(binding, drawn).0;
        };
        let mut up_to: Vec<f64> = counts.clone();
        (1..size).for_each(|place| up_to[place] += up_to[place - 1]);
        let all = up_to.last().copied().unwrap_or(0.0);
        let mut drawn: BTreeMap<usize, f64> = BTreeMap::new();
        for _ in 0..all as u64 {
            let unit: f64 = rng.random::<f64>() * all;
            let place = up_to.partition_point(|own| *own <= unit).min(size - 1);
            *drawn.entry(place).or_default() += 1.0;
        }
        let (mut new, _) = self.gathering.at(binding, drawn.keys().copied().collect());
        for (place, array) in arrays.iter().enumerate() {
            let own = drawn.values().map(|count| if place == 0 { *count } else { 1.0 });
            new.bound.arrays[array.index()] = Some(BoundArray::full(own.collect()));
        }
        new
    }
}

/// The arrays that say how many rows each position on an axis stands for, and how many; `None` where none does, or where these are no whole
/// numbers.
fn counts(problem: &Problem, axis: AxisId) -> Option<(Vec<ArrayId>, Vec<f64>)> {
    let (symbols, bound) = (&problem.model.symbols, &problem.binding.bound);
    let is_along = |id: &ArrayId| {
        let array = symbols.array(*id);
        array.support == Support::Multiplicity
            && matches!(array.letters.as_slice(), [letter] if symbols.letter(*letter).axis == axis)
    };
    let arrays: Vec<ArrayId> = (0..symbols.arrays.len()).map(ArrayId::from).filter(is_along).collect();
    let size = bound.size(axis);
    let count =
        |position: usize| arrays.iter().map(|own| bound.array(*own).entry(&[size], &[position]).0).product();
    let counts: Vec<f64> = (0..size).map(count).collect();
    (!arrays.is_empty() && counts.iter().all(|own| own.fract() == 0.0)).then_some((arrays, counts))
}
