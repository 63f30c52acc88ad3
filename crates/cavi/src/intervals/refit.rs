//! The fit to other data, begun at the q of a fit.

use cavi_algebra::{BlockId, Mode};
use cavi_executor::{Item, Parameters, Schedule};

use super::bootstrap::Bootstrap;
use crate::error::Error;
use crate::fit::{Control, Settings, fit};
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::rows::only;
use crate::start::Given;

/// Sweeps of what is the rows' own, before all is fitted.
const OWN_SWEEPS: u64 = 100;

/// How data are fitted again.
pub(super) struct Refit {
    settings: Settings,
    schedule: Schedule,
}

impl Refit {
    /// As the fit was made, with the limits that are asked for; of projected rows what is theirs alone.
    ///
    /// # Errors
    /// A schedule that the program does not have.
    pub fn of(fit: &Reopened, asked: &Bootstrap) -> Result<Refit, Error> {
        let (problem, summary) = (&fit.problem, &fit.stored.summary["settings"]);
        let schedule = match summary["schedule"].as_str() {
            Some(text) => problem.schedule(text)?.schedule,
            None => problem.own_schedule(),
        };
        let schedule = Schedule { items: only(&schedule.items, &|id| !fit.is_held_block(*id)) };
        let settings = Settings {
            sweeps: Some(asked.sweeps.or(summary["sweeps"].as_u64()).unwrap_or(crate::fit::SWEEPS)),
            tolerance: Some(asked.tolerance),
            accelerate: Some(summary["accelerate"].as_str() == Some("auto")),
            allocations: fit.stored.allocations,
            warmup: Some(Vec::new()),
            restarts: Some(1),
            seed: Some(fit.seed),
            threads: 1,
            stop: asked.stop.clone(),
            ..Settings::default()
        };
        Ok(Refit { settings, schedule })
    }

    /// The q of a problem, begun at `start`. Blocks for which `is_new` have no start of their own: they are fitted first, with all others as they
    /// are, so that what is shared is not led astray by their random starts. Whether it converged comes with it.
    ///
    /// # Errors
    /// As [`crate::fit::fit`]; a stop.
    pub fn run(
        &self,
        problem: &Problem,
        start: &Parameters,
        is_new: &dyn Fn(BlockId) -> bool,
    ) -> Result<(Parameters, bool), Error> {
        let equations = &problem.equations;
        let given = |parameters: &Parameters, wanted: &dyn Fn(BlockId) -> bool| {
            let one = |(index, columns): (usize, &Vec<Vec<f64>>)| {
                let id = BlockId::from(index);
                let is_stored = equations.block(id).mode != Mode::Implicit;
                (is_stored && wanted(id)).then(|| columns.clone())
            };
            Given { blocks: parameters.blocks.iter().enumerate().map(one).collect() }
        };
        let run = |items: Vec<Item>, given: Given, sweeps: Option<u64>| {
            let settings = Settings {
                schedule: Some(Schedule { items }),
                given: Some(given),
                sweeps,
                glances: None,
                ..self.settings.clone()
            };
            fit(problem, &settings, &mut |_| Control::Continue)
        };
        let mut begun = given(start, &|id| !is_new(id));
        let items = only(&self.schedule.items, &|id| is_new(*id));
        if !items.is_empty() {
            let own = run(items, begun, Some(OWN_SWEEPS))?;
            begun = given(&own.parameters, &|_| true);
        }
        let own = run(self.schedule.items.clone(), begun, self.settings.sweeps)?;
        if own.interrupted {
            return Err(Error::Stopped);
        }
        let is_converged = own.run().converged;
        Ok((own.parameters, is_converged))
    }
}
