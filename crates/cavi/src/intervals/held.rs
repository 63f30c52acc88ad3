//! What is held, and what is drawn anew, when data are drawn from a fit.
//!
//! The fit as a truth: latents whose intervals are asked for, and those that rows share, have their means under q. Latents of rows that are not
//! asked for are drawn anew from their statements given these, since other data have other rows: a bootstrap that held them would have the rows
//! of the fit in each of its data sets, and shares of classes and spreads of factors would vary too little. What cannot be drawn
//! (a flat prior, an axis without rows) is held as well; what takes classes and is not drawn anew is drawn from q. What the fit holds at given
//! values (`--fix`) has these in all of its data sets, as the fits to them have: it is part of what the fit knows. What no statement reads that draws
//! something needs no value: the scales of a hierarchy whose coefficients are held (of half a Cauchy, they have no mean).

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, Mode, Support};
use cavi_executor::{BoundArray, Parameters};
use cavi_model::Statement;
use rand_chacha::ChaCha8Rng;

use crate::bind::DataError;
use crate::heldout::sources;
use crate::means::mean;
use crate::prepare::Problem;
use crate::rows::RowAxes;

/// Whether every entry of an array is given.
fn is_whole(array: &BoundArray) -> bool {
    match array {
        BoundArray::Dense { observed, .. } => observed.as_ref().is_none_or(|own| !own.contains(&false)),
        BoundArray::Sparse { .. } => !array.has_missing(),
    }
}

/// What becomes of each latent.
pub(super) struct Held {
    /// Those that have the same values in every data set.
    pub values: Vec<(ArrayId, Vec<f64>)>,
    /// Those that are drawn from q.
    pub from_q: Vec<ArrayId>,
    /// Those that are drawn from their statements.
    pub anew: BTreeSet<ArrayId>,
}

impl Held {
    /// Decides, with the means under q as the truth.
    ///
    /// # Errors
    /// A latent without a finite mean, which cannot be held.
    pub fn of(
        problem: &Problem,
        parameters: &Parameters,
        asked: &BTreeSet<ArrayId>,
    ) -> Result<Held, DataError> {
        let Problem { model, equations, binding, .. } = problem;
        let symbols = &model.symbols;
        let rows = RowAxes::of(model).ok();
        let mut held = Held { values: Vec::new(), from_q: Vec::new(), anew: BTreeSet::new() };
        let mut others = Vec::new();
        for statement in model.statements.iter().filter(|own| !own.observed) {
            let array = statement.target;
            let block = equations.block_of(array).map(|id| equations.block(id));
            let is_implicit = block.is_none_or(|own| own.mode == Mode::Implicit);
            // What one factor of q holds together goes one way.
            let together = block.map_or(vec![array], |own| own.members.clone());
            let is_own = |own: &ArrayId| rows.as_ref().is_some_and(|rows| rows.has_rows(*own));
            let is_asked = together.iter().any(|own| asked.contains(own));
            let is_given = binding.bound.arrays[array.index()].as_ref().is_some_and(is_whole);
            let is_fixed = block.is_some_and(|own| own.mode == Mode::Fixed);
            let is_drawn = !statement.family.parameters().is_empty();
            let is_free = !is_asked && !is_fixed && !is_given;
            if is_implicit || is_free && is_drawn && together.iter().all(is_own) {
                held.anew.insert(array);
                continue;
            }
            if matches!(symbols.array(array).support, Support::Index(_) | Support::Binary | Support::Count) {
                held.from_q.push(array);
                continue;
            }
            others.push(array);
        }
        let read = held.read(problem);
        for array in others.into_iter().filter(|array| read.contains(array)) {
            let name = &symbols.array(array).name;
            let mean = mean(equations, &binding.bound, parameters, array)
                .filter(|own| own.values.iter().all(|value| value.is_finite()))
                .ok_or_else(|| {
                    DataError::new(format!(
                        "`{name}` has no finite mean under q, and no data can be drawn from this fit"
                    ))
                    .help("`--rows AXIS` draws rows of the data in place of data from the fit")
                })?;
            held.values.push((array, mean.values));
        }
        Ok(held)
    }

    /// What the statements read that draw something: those of data, and of what is drawn anew.
    fn read(&self, problem: &Problem) -> BTreeSet<ArrayId> {
        let is_drawn = |own: &&Statement| own.observed || self.anew.contains(&own.target);
        let drawn = problem.model.statements.iter().filter(is_drawn);
        let mut read = BTreeSet::new();
        for argument in drawn.flat_map(|own| own.arguments.iter().flatten()) {
            argument.value.visit_values(&mut |array, _| {
                read.insert(array);
            });
        }
        read
    }

    /// The values of all that is not drawn from its statement, for one data set.
    pub fn draw(
        &self,
        problem: &Problem,
        parameters: &Parameters,
        rng: &mut ChaCha8Rng,
    ) -> Vec<(ArrayId, Vec<f64>)> {
        let Problem { equations, binding, .. } = problem;
        let mut values = self.values.clone();
        let blocks: BTreeSet<_> = self.from_q.iter().filter_map(|array| equations.block_of(*array)).collect();
        for block in blocks {
            let drawn = sources(equations, &binding.bound, block).draw(equations, parameters, rng);
            values.extend(drawn.into_iter().filter(|(array, _)| self.from_q.contains(array)));
        }
        values
    }
}
