//! The fit of what is the rows' own, given the q of an earlier fit for everything else.
//!
//! A row with a class and other latents of its own has several optima: whichever of the two moves first holds the other where it is. Where no row
//! has a place from the earlier fit, the sweep of the program and one whose first round goes backwards are both tried, and the higher bound is taken.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use cavi_algebra::{ArrayId, BlockId, Mode, Support};
use cavi_executor::{Item, Parameters, Schedule, Step};

use crate::bind::DataError;
use crate::error::Error;
use crate::fit::{Control, Fit, Progress, Settings};
use crate::prepare::Problem;
use crate::start::Given;

/// The q of the fit for what is shared, and a fit of what is not, the blocks of `own`, from `start` or at random; `is_new` says that no row has a place
/// from the earlier fit.
///
/// # Errors
/// A factor of q that holds latents of rows and others, a directory that lacks what is shared, a fit that fails.
pub(crate) fn fit_own(
    problem: &Problem,
    directory: &Path,
    own: &BTreeSet<ArrayId>,
    (start, is_new): (Option<Given>, bool),
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Result<(Parameters, Option<Fit>), Error> {
    let Problem { source, model, equations, .. } = problem;
    let is_own = |id: &BlockId| equations.block(*id).members.iter().any(|member| own.contains(member));
    for block in &equations.blocks {
        let count = block.members.iter().filter(|member| own.contains(member)).count();
        if count > 0 && count < block.members.len() {
            let names: Vec<&str> =
                block.members.iter().map(|member| model.symbols.array(*member).name.as_str()).collect();
            let names = crate::bind::list(&names);
            return Err(DataError::new(format!(
                "one factor of q holds {names}: those of rows cannot be fitted alone"
            ))
            .help("take the `q(...)` of what rows have apart from that of what they share")
            .into());
        }
    }
    let wanted = |id: BlockId| !is_own(&id) && equations.block(id).mode != Mode::Implicit;
    let mut given = crate::init::read_blocks(problem, directory, &wanted)?;
    for (shared, own) in given.blocks.iter_mut().zip(start.into_iter().flat_map(|start| start.blocks)) {
        *shared = shared.take().or(own);
    }
    let schedule = match &settings.schedule {
        Some(schedule) => schedule.clone(),
        None => crate::schedule::of_program(model, equations).schedule,
    };
    let items = only(&schedule.items, &is_own);
    if items.is_empty() {
        let seed = settings.seed.unwrap_or(0);
        let start = crate::start::start(problem.as_given(), Some(&given), seed)
            .map_err(|diagnostics| Error::Program { diagnostics, source: Arc::clone(source) })?;
        return Ok((start.parameters, None));
    }
    let mut settings = Settings {
        schedule: Some(Schedule { items }),
        warmup: Some(Vec::new()),
        batch: Some(crate::Batch::Off),
        given: Some(given),
        restarts: Some(1),
        glances: None,
        ..settings.clone()
    };
    let blocks: Vec<BlockId> = settings.schedule.iter().flat_map(Schedule::blocks).collect();
    let is_class = |id: &BlockId| {
        let first = model.symbols.array(equations.block(*id).members[0]);
        matches!(first.support, Support::Index(_) | Support::Binary)
    };
    if is_new && blocks.len() > 1 && blocks.iter().any(is_class) {
        settings.given = higher(problem, &settings).or(settings.given);
    }
    let fit = crate::fit::fit(problem, &settings, callback)?;
    Ok((fit.parameters.clone(), Some(fit)))
}

/// Where a fit ends whose first sweep goes backwards, if that is higher than where it ends as it is. A trial that fails is none: what is
/// wrong with the rows the fit says that follows.
fn higher(problem: &Problem, settings: &Settings) -> Option<Given> {
    let quietly = |settings: &Settings| {
        let fit = crate::fit::fit(problem, settings, &mut |_| Control::Continue).ok()?;
        Some(fit).filter(|fit| !fit.interrupted && fit.failure.is_none())
    };
    // What starts as usual is none of the rows' own.
    let started = settings.given.iter().flat_map(|given| &given.blocks).map(Option::is_some);
    let reached = |fit: &Fit| {
        let blocks = fit.parameters.blocks.iter().zip(started.clone());
        Given { blocks: blocks.map(|(own, is_given)| is_given.then(|| own.clone())).collect() }
    };
    let items = settings.schedule.iter().flat_map(|own| own.items.iter().rev().cloned()).collect();
    let backwards = Settings {
        schedule: Some(Schedule { items }),
        sweeps: Some(1),
        checkpoints: None,
        ..settings.clone()
    };
    let first = quietly(&backwards)?;
    let again = Settings { given: Some(reached(&first)), checkpoints: None, ..settings.clone() };
    let own = quietly(&Settings { checkpoints: None, ..settings.clone() })?;
    let other = quietly(&again)?;
    (other.run().elbo > own.run().elbo).then(|| reached(&other))
}

/// The items of a schedule, as far as they update such blocks.
pub(crate) fn only(items: &[Item], is_own: &dyn Fn(&BlockId) -> bool) -> Vec<Item> {
    let mut kept = Vec::new();
    for item in items {
        let step = match &item.step {
            Step::Block(block) if is_own(block) => Step::Block(*block),
            Step::Block(_) => continue,
            Step::Group(members) => Step::Group(only(members, is_own)),
            Step::Sequence(members) => Step::Sequence(only(members, is_own)),
        };
        let empty = matches!(&step, Step::Group(members) | Step::Sequence(members) if members.is_empty());
        if !empty {
            kept.push(Item { step, ..item.clone() });
        }
    }
    kept
}
