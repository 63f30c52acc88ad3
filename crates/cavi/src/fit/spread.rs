//! Sweeps of a fit in shards of an axis, which are in step: over threads, and over processes.
//!
//! Every process runs the same loop on the same numbers, so that all decide alike. What they would not agree on by themselves, a watch or a
//! signal, is as the first one has it.

use cavi_algebra::AxisId;
use cavi_executor::reduce::{Exchange, all_bytes, of_first};
use cavi_executor::shard::axes;
use cavi_executor::shard::memory::{How, in_step};
use cavi_executor::{Spread, Unplanned};
use cavi_syntax::Diagnostic;

use super::{Context, FitError};
use crate::batch::Batch;
use crate::shards::{SHARDS, Shards};

/// What cannot be had: the shards that are asked for, or those that several processes need.
pub(super) fn written(asked: Option<&Shards>) -> String {
    match asked {
        Some(asked) => format!("`--shards {asked}` cannot be had"),
        None => "a fit over several processes cannot be had".to_owned(),
    }
}

/// What the first process says, to all; without others it is what this one says.
pub(super) fn as_first(others: Option<&dyn Exchange>, own: bool) -> bool {
    others.map_or(own, |others| of_first(others, own))
}

impl Context<'_> {
    /// The processes that the fit is spread over; `None` of this one alone.
    pub(super) fn others(&self) -> Option<&dyn Exchange> {
        self.settings.others.as_deref().filter(|own| own.ranks() > 1)
    }

    /// Over how many shards of which axis the sweeps are spread; `None` if they are of the whole data.
    ///
    /// # Errors
    /// If there is no such axis, or none can be cut; of an axis that is asked for the plan says so.
    pub(super) fn spread_of(&self) -> Result<Option<Spread>, FitError> {
        let Some(asked) = self.resolved.shards.clone() else { return Ok(None) };
        if self.resolved.batch != Batch::Off {
            let why = format!("`--batch {}` visits shards one after another", self.resolved.batch);
            return Err(self.unspread(&asked, &why, "leave one of the two out"));
        }
        let exchange = self.settings.others.clone();
        let largest = || {
            let refused = |own: Unplanned| {
                self.unspread(&asked, &own.0, "leave it out: the fit then runs in one piece")
            };
            let axes = axes(self.swept, &self.binding.bound, self.settings.precision).map_err(refused)?;
            Ok(axes[0].0)
        };
        let (axis, shards) = match &asked {
            Shards::Largest => (largest()?, None),
            Shards::Axis { axis, shards } => {
                let place = self.model.symbols.axes.iter().position(|own| own.name == *axis);
                let place = place.map(AxisId::from).ok_or_else(|| {
                    self.unspread(&asked, "the program has no such axis with these data", "name another axis")
                })?;
                (place, *shards)
            }
        };
        let shards = usize::try_from(shards.unwrap_or(SHARDS)).unwrap_or(usize::MAX);
        Ok(Some(Spread { axis, shards, exchange }))
    }

    /// These shards, by the names of the program.
    pub(super) fn shards_of(&self, spread: &Spread) -> Shards {
        let positions = self.binding.bound.size(spread.axis).max(1);
        let axis = self.model.symbols.axes[spread.axis.index()].name.clone();
        Shards::Axis { axis, shards: Some(spread.shards.min(positions) as u64) }
    }

    /// Refuses shards and mini-batches that cannot be had of this program with these data, before anything is run.
    ///
    /// # Errors
    /// As the fit.
    pub(super) fn refuse_pieces(&mut self) -> Result<(), FitError> {
        self.spread = self.spread_of()?;
        self.warmups = self.prepared(&mut Vec::new());
        let (bound, precision) = (&self.binding.bound, self.settings.precision);
        let (threads, sweeps) = (self.settings.threads.max(1), self.resolved.sweeps);
        let how = How { precision, schedule: &self.schedule, threads, sweeps };
        if let Some(spread) = &self.spread {
            let warm = self.warmups.iter().map(|own| &own.equations);
            for equations in warm.chain([self.swept]) {
                in_step(equations, bound, spread, how).map_err(|own| self.unplanned(own))?;
            }
        }
        if self.is_batched() {
            self.refuse_uncut(how)?;
        }
        Ok(())
    }

    /// What all processes have, unless one of them cannot.
    ///
    /// # Errors
    /// That of the first that cannot.
    pub(super) fn all_agree<T>(&self, own: Result<T, FitError>) -> Result<T, FitError> {
        let Some(others) = self.others() else { return own };
        let said = match &own {
            Ok(_) => String::new(),
            Err(FitError::Wrong(diagnostics)) => diagnostics[0].message.clone(),
            Err(_) => "it cannot run this program".to_owned(),
        };
        let all = all_bytes(others, said.as_bytes());
        match (own, all.iter().position(|said| !said.is_empty())) {
            (Ok(_), Some(rank)) => {
                let said = String::from_utf8_lossy(&all[rank]);
                Err(FitError::Wrong(vec![Diagnostic::error("E0805", format!("rank {rank}: {said}"))]))
            }
            (own, _) => own,
        }
    }

    /// Why sweeps cannot be spread.
    pub(super) fn unspread(&self, asked: &Shards, why: &str, help: &str) -> FitError {
        let written = written(self.settings.shards.as_ref().map(|_| asked));
        FitError::Wrong(vec![Diagnostic::error("E0617", format!("{written}: {why}")).help(help)])
    }

    /// The same of a plan.
    pub(super) fn unplanned(&self, own: Unplanned) -> FitError {
        let help = match self.settings.others {
            Some(_) => "name another axis, fewer processes, or leave it out: the fit then runs in one piece",
            None => "name another axis, or leave it out: the fit then runs in one piece",
        };
        match &self.spread {
            None => FitError::Unplanned(own.0),
            Some(_) => self.unspread(self.settings.shards.as_ref().unwrap_or(&Shards::Largest), &own.0, help),
        }
    }
}
