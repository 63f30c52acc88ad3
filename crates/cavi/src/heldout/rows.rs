//! New rows of data for an earlier fit: what they share keeps the q of the fit, what is their own is fitted to a part of them, and the
//! other part is predicted.
//!
//! **Rows.** They run along the first axis of the data that the program predicts (of a ragged one its outermost ancestor), unless
//! that axis is also a later one of such data: columns of one file that are the rows of another are no rows. Everything along a
//! row axis, or along an axis that is ragged in one, is a row's own; every other axis keeps the positions and labels of the fit,
//! and every latent without a row axis its factor of q. An array that has a row axis twice (a network) has no rows, for a new row
//! would be a new column too; nor have latents that tie rows together (a simplex over rows, a Gaussian process over them).
//!
//! **Split.** An array whose statement reads latents of rows is split: by [`SHARE`], in each row, as data are held out before a
//! fit; what is given decides the row's own latents, and the rest is scored. Missing entries of data that it reads are latents of the row
//! too, but for a class of the entry alone, which is summed out by its statement. An array whose statement reads none is scored as it is.
//! Counts at a rate have an exposure then, the share of their units that is given in units of the share that the fit was given
//! (`exposure`).
//!
//! **Several fits.** The rows are bound once, along the axes of the first fit; every fit's q is read along the same axes, by label,
//! so that all of them are given and predict the same entries. Each fits the rows' own latents for itself.

use std::collections::BTreeSet;
use std::path::Path;

use cavi_algebra::{ArrayId, BlockId, LetterId, Support};
use cavi_executor::{BoundArray, Parameters};
use cavi_model::{InitSpec, Start, Statement};
use cavi_syntax::Diagnostic;

use super::{Asking, HeldOut, Request, Score, Split, Way, bind_split, exposure, hiding, requested, way_of};
use crate::bind::{DataError, Draw, Hide, Inputs, Part, What, bind_in_part};
use crate::compile::Compiled;
use crate::directory::Stored;
use crate::error::Error;
use crate::fit::{Control, Fit, Progress, Settings};
use crate::prepare::Problem;
use crate::rows::{Earlier, Known, RowAxes, fit_own};

/// The share of each row that is scored.
pub const SHARE: f64 = 0.5;

/// New rows with what is theirs fitted, and the part of them that is to be scored.
#[derive(Debug)]
pub struct Rows {
    /// The program with the part that was given.
    pub problem: Problem,
    /// The other part.
    pub held: HeldOut,
    /// The factors of q for each directory: those of its fit, and those of the new rows given it.
    pub parameters: Vec<Parameters>,
    /// For each directory the fit of the rows' own latents; empty where they have none.
    pub fits: Vec<Fit>,
    /// How many entries were left out for a label that the fit does not have.
    pub dropped: usize,
}

impl Rows {
    /// How well the average of the predictions of the fits predicts the part that is to be scored, one score an array.
    ///
    /// # Errors
    /// As [`super::score`].
    pub fn score(&self, seed: u64, threads: usize) -> Result<Vec<Score>, Error> {
        let parameters: Vec<&Parameters> = self.parameters.iter().collect();
        super::score_averaged(&self.problem, &parameters, &self.held, seed, threads)
    }
}

/// What is hidden of each array, and how it is split; of rows of weight with what is drawn.
type Splits = (Vec<Hide>, Vec<(Way, Option<Draw>)>);

/// Binds new rows to the program of earlier fits, splits them and fits their own latents given each. `compiled` is this program, with
/// the constants of the fits (`stored`) where `inputs` give no others.
///
/// # Errors
/// Programs without rows, data that do not fit the axes of the earlier fits, fits along other axes than the first, a fit that
/// fails.
///
/// # Panics
/// Without a directory.
pub fn fit(
    mut compiled: Compiled,
    inputs: &Inputs,
    stored: &Stored,
    directories: &[&Path],
    given: &[Request],
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Rows, Error> {
    let at = |diagnostic: Box<Diagnostic>| Error::at(*diagnostic, &compiled.source);
    let rows = RowAxes::of(&compiled.model).map_err(at)?;
    let own: BTreeSet<ArrayId> = rows.own_latents().map_err(at)?;
    let fitted: BTreeSet<ArrayId> = own.iter().copied().chain(rows.own_data()).collect();
    let asked = requested(&compiled.model, "--given", given)?;
    let (first, others) = directories.split_first().expect("rows are those of at least one fit");
    crate::fixed::refuse_others(directories)?;
    let shares = exposure::shares_of_all(&compiled.model, directories)?;
    let inputs = &rows.with_constants(inputs, &stored.set);
    let earlier = rows.frozen(inputs, first)?;
    for other in others {
        let other = rows.frozen(inputs, other)?;
        rows.refuse_other_axes(&earlier, &other)?;
        rows.refuse_other_scales(&earlier, &other)?;
    }
    let Earlier { inputs, frozen, .. } = earlier;
    let model = rows.without_sizes();
    let seed = settings.seed.or(model.fit.seed).unwrap_or(0);
    let part = Part { seed, frozen: Some(&frozen), ..Part::default() };
    let axes = rows.axes.clone();
    let read = RowAxes { model: &model, axes: axes.clone() }.with_missing(&own, &inputs, &part)?;
    let (hide, ways) = rows.split(&read, asked)?;
    compiled.model = model;
    // Only starts of the latents that are fitted here are kept, and no start from data, since those were computed
    // from the data of the earlier fit.
    let kept = |line: &InitSpec| own.contains(&line.target) && !matches!(line.start, Start::FromData { .. });
    compiled.model.init.retain(kept);
    let part = Part { hide: &hide, ..part };
    let Split { problem, held, dropped } = bind_split(compiled, &inputs, &part, &ways, Some(&shares))?;
    super::scorable::refuse_unscored(&problem, &held, seed)?;
    let (mut parameters, mut fits) = (Vec::new(), Vec::new());
    for (number, directory) in directories.iter().enumerate() {
        let mut callback = |progress: &Progress| {
            let (restart, restarts) = (number as u64, directories.len() as u64);
            callback(&Progress { restart, restarts, ..*progress })
        };
        let own = &problem.as_given().equations;
        let is_own = |id: BlockId| own.block(id).members.iter().any(|member| fitted.contains(member));
        let new = RowAxes { model: &problem.as_given().model, axes: axes.clone() };
        let is_row = |axis| new.is_row(axis);
        let start = crate::rows::start(&problem, directory, (&is_own, &is_row), Known::AtAverage, seed)?;
        let (own, fit) =
            fit_own(&problem, directory, &fitted, (Some(start.0), true), settings, &mut callback)?;
        parameters.push(own);
        let stopped = fit.as_ref().is_some_and(|fit| fit.interrupted || fit.failure.is_some());
        fits.extend(fit);
        // What was not fitted to its end is not scored, and the others need not be fitted.
        if stopped {
            break;
        }
    }
    Ok(Rows { problem, held, parameters, fits, dropped })
}

impl RowAxes<'_> {
    /// The latents of rows with the data of which these rows lack entries that something else is told by: as long as an entry is missing, its
    /// factor of q is fitted to all that reads it.
    fn with_missing(
        &self,
        own: &BTreeSet<ArrayId>,
        inputs: &Inputs,
        part: &Part<'_>,
    ) -> Result<BTreeSet<ArrayId>, Error> {
        let mut all = own.clone();
        let may_lack: Vec<ArrayId> = self.own_data().filter(|data| self.is_told(*data)).collect();
        if may_lack.is_empty() {
            return Ok(all);
        }
        let binding = bind_in_part(self.model, inputs, part)?.binding;
        let lacks =
            |data: &ArrayId| binding.bound.arrays[data.index()].as_ref().is_some_and(BoundArray::has_missing);
        all.extend(may_lack.into_iter().filter(lacks));
        Ok(all)
    }

    /// Whether data with a statement of their own may lack entries of which other data tell. A class that is one entry's alone is summed out
    /// there, by its statement: nothing tells of it.
    fn is_told(&self, data: ArrayId) -> bool {
        let symbols = &self.model.symbols;
        let array = symbols.array(data);
        if !array.absent.missing || self.model.statement_of(data).is_none() {
            return false;
        }
        let mut readers = Vec::new();
        for statement in &self.model.statements {
            let mut letters: Option<Vec<LetterId>> = None;
            for argument in statement.arguments.iter().flatten() {
                argument.value.visit_values(&mut |read, subscripts| {
                    if read == data {
                        let letters = letters.get_or_insert_default();
                        subscripts.iter().for_each(|own| own.letters(letters));
                    }
                });
            }
            readers.extend(letters.map(|letters| (statement, letters)));
        }
        let covers = |(statement, letters): &(&Statement, Vec<LetterId>)| {
            let own: BTreeSet<LetterId> =
                letters.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
            statement.plates.iter().all(|letter| own.contains(letter))
        };
        match readers.as_slice() {
            [] => false,
            [only] if matches!(array.support, Support::Index(_)) => !covers(only),
            _ => true,
        }
    }

    /// What is hidden of each array of new rows.
    fn split(&self, own: &BTreeSet<ArrayId>, asked: Vec<(&Statement, Asking)>) -> Result<Splits, DataError> {
        let symbols = &self.model.symbols;
        let mut asked = asked;
        let (mut hide, mut splits) = (Vec::new(), Vec::new());
        for statement in self.model.statements.iter().filter(|own| own.observed) {
            if !self.has_rows(statement.target) {
                continue;
            }
            let mut reads = false;
            for argument in statement.arguments.iter().flatten() {
                argument.value.visit_values(&mut |array, _| reads |= own.contains(&array));
            }
            let place = asked.iter().position(|(other, _)| other.target == statement.target);
            let given = place.map(|place| asked.remove(place).1);
            let by_file = given.is_some();
            // The counts of the first part may be given for what is thinned.
            let split = way_of(self.model, statement, by_file && !self.thins(statement), false);
            if let (false, Some(Asking::Files(_))) = (reads, &given) {
                let name = &symbols.array(statement.target).name;
                return Err(DataError::new(format!(
                    "`--given {name}`: nothing is fitted to the new rows of `{name}`, so that no part of it tells of the rest, and all of it is scored"
                ))
                .help(format!("leave out `--given {name}=...`, or give `--data {name}=...` only what is to be scored")));
            }
            let (what, draw) = match (reads, given) {
                (false, _) => (What::Nothing, None),
                (true, Some(Asking::Files(files))) => (What::AllBut(files), None),
                (true, None | Some(Asking::Draw(_) | Asking::Chosen(_))) => match split {
                    Way::Weights(_) => (What::Nothing, Some(Draw::Share(SHARE))),
                    Way::Units | Way::Entries => (What::Drawn(Draw::Share(SHARE)), None),
                },
            };
            let split = if reads { split } else { Way::Entries };
            let mut own = hiding(self.model, statement, what, split)?;
            own.rows = symbols.array(statement.target).letters.iter().find_map(|letter| {
                let axes = std::iter::successors(Some(symbols.letter(*letter).axis), |axis| {
                    symbols.axis(*axis).parent
                });
                axes.into_iter().find(|axis| self.axes.contains(axis)).map(|axis| (*letter, axis))
            });
            hide.push(own);
            splits.push((split, draw));
        }
        if let Some((statement, _)) = asked.first() {
            let name = &symbols.array(statement.target).name;
            return Err(DataError::new(format!("`--given {name}`: `{name}` has no new rows")));
        }
        Ok((hide, splits))
    }

    /// Whether counts are thinned where a fraction is asked for.
    fn thins(&self, statement: &Statement) -> bool {
        way_of(self.model, statement, false, false) == Way::Units
    }
}
