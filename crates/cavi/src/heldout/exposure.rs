//! Rates of counts that a fit was given a part of, at the scale of another part.
//!
//! Thinning with the fraction f leaves counts of rate `(1 - f) r` to a fit, whose factors of q are about this rate, call it s. Counts of
//! the same source of which the share e is given then have the rate `e / (1 - f) s`: this is their **exposure**. It is 1 within the fit;
//! `1 / (1 - f)` for whole counts (rows that are projected or scored as they are, entries that are missing, draws of data); and of new rows
//! whose units go one way or the other by halves `1/2 / (1 - f)` for each half, so that `1/2` where the fit was given everything.
//! Rows under a Multinomial have probabilities, which a share leaves as they are.

use std::path::Path;

use cavi_algebra::{ArrayId, Expression};
use cavi_families::Prediction;
use cavi_model::{Model, Statement};
use serde_json::Value;

use super::{Asked, Request, Way, way_of};
use crate::bind::{DataError, Hidden};
use crate::compile::Compiled;
use crate::directory::Stored;
use crate::error::Error;
use crate::prepare::derive_alike;

/// Arrays of counts with a number of each; those that are not among them have 1.
pub(crate) type OfArrays = Vec<(ArrayId, f64)>;

/// The share of the units of each array of counts at a rate that a fit was given, by its `summary.json`: `1 - f` of what `--heldout` thinned.
pub(crate) fn shares(model: &Model, summary: &Value) -> OfArrays {
    let settings = &summary["settings"];
    let totals = settings["heldout_totals"].as_bool().unwrap_or(false);
    let texts = settings["heldout"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let of = |text: &str| {
        let Request { name, what: Asked::Share(share), .. } = Request::parse("--heldout", text).ok()? else {
            return None;
        };
        let statement = model.statement_of(model.symbols.find(&name)?)?;
        let thins = is_at_a_rate(statement) && way_of(model, statement, false, totals) == Way::Units;
        thins.then_some((statement.target, 1.0 - share))
    };
    texts.filter_map(of).collect()
}

/// The shares that all of several fits were given.
///
/// # Errors
/// Fits of which some were given another share than others; a directory that holds no fit.
pub(crate) fn shares_of_all(model: &Model, directories: &[&Path]) -> Result<OfArrays, Error> {
    let mut all: Vec<(&Path, OfArrays)> = Vec::new();
    for directory in directories {
        let mut own = shares(model, &Stored::open(directory)?.summary);
        own.sort_by_key(|(array, _)| *array);
        all.push((directory, own));
    }
    let Some((first, shares)) = all.first() else { return Ok(Vec::new()) };
    if let Some((other, _)) = all.iter().find(|(_, own)| own != shares) {
        return Err(DataError::new(format!(
            "fits to different shares of the same counts cannot be averaged: `{}` and `{}`",
            first.display(),
            other.display()
        ))
        .possible("fits with the same fraction of `--heldout`")
        .into());
    }
    Ok(shares.clone())
}

/// The exposure of whole counts, by the shares that the fit was given.
pub(crate) fn of_whole(shares: &OfArrays) -> OfArrays {
    shares.iter().map(|(array, share)| (*array, 1.0 / share)).collect()
}

/// The exposures of data of which a part is hidden and the rest is given, by the shares that the fit was given.
pub(super) fn of_given(model: &Model, hidden: &[Hidden], shares: &OfArrays) -> OfArrays {
    let of = |own: &Hidden| {
        let thins = model.statement_of(own.array).is_some_and(is_at_a_rate);
        let given = own.odds.map_or(1.0, |odds| 1.0 / (1.0 + odds));
        let exposure = given / of_array(shares, own.array);
        (thins && exposure != 1.0).then_some((own.array, exposure))
    };
    hidden.iter().filter_map(of).collect()
}

/// The number of an array.
pub(crate) fn of_array(all: &OfArrays, array: ArrayId) -> f64 {
    all.iter().find(|(own, _)| *own == array).map_or(1.0, |(_, number)| *number)
}

/// The program whose counts have these exposures: the rate of their statement, times a number.
pub(crate) fn restated(model: &Model, exposures: &OfArrays) -> Model {
    let mut model = model.clone();
    for statement in &mut model.statements {
        let exposure = of_array(exposures, statement.target);
        if exposure == 1.0 {
            continue;
        }
        for rate in statement.arguments.iter_mut().flatten() {
            let stated = std::mem::replace(&mut rate.value, Expression::Number(exposure));
            rate.value = Expression::Multiply(vec![Expression::Number(exposure), stated]);
        }
    }
    model
}

/// The same of a program with its equations.
///
/// # Errors
/// A program that has other factors of q then.
pub(crate) fn exposed(compiled: Compiled, exposures: &OfArrays) -> Result<Compiled, DataError> {
    let Some((array, exposure)) = exposures.first() else { return Ok(compiled) };
    let model = restated(&compiled.model, exposures);
    let Some(equations) = derive_alike(&model, &compiled.equations) else {
        let name = &model.symbols.array(*array).name;
        return Err(DataError::new(format!(
            "the fit was given another share of the units of `{name}` than these data hold, and the program has no updates for \
             {exposure} times its rate"
        ))
        .help(format!("fit without a fraction of `{name}` in `--heldout`")));
    };
    Ok(Compiled { model, equations, ..compiled })
}

/// Whether a statement is about counts at a rate, its only argument.
fn is_at_a_rate(statement: &Statement) -> bool {
    statement.family.prediction() == Prediction::Rate
}
