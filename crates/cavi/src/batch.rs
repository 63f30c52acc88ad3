//! Mini-batches: memoized passes over shards of an axis before the sweeps of a fit ([`cavi_executor::shard`]).

use std::fmt;

use cavi_algebra::{AxisId, Symbols};
use cavi_executor::shard::Visits;
use cavi_model::Model;
use cavi_syntax::Diagnostic;

use crate::fit::Settings;
use crate::shards::axis_and_shards;

/// As many shards, unless told otherwise; fewer where a shard would have fewer than 16 positions.
pub const SHARDS: u64 = 16;

/// What all share follows from few positions in the first pass, and from fewer than these too little.
const POSITIONS: usize = 16;

/// Where shards have fewer positions than these on average, the ways to begin are compared by their bounds at the end of the warm-up. Of fewer rows than
/// components what all share may end at a saddle, with components that no later pass brings back; and few rows take little time.
pub(crate) const FEW: usize = 64;

/// The number of shards of an axis with so many positions: what was asked for, else the usual one.
pub(crate) fn shards(asked: Option<u64>, positions: usize) -> usize {
    match asked {
        Some(own) => usize::try_from(own).unwrap_or(usize::MAX),
        None => (positions / POSITIONS).clamp(1, SHARDS as usize),
    }
}

/// In so many passes what lies at the positions of a shard begins afresh.
pub(crate) const AFRESH: u64 = 5;

/// As often it moves then, before what all share does.
const TIMES: u64 = 8;

/// Which axis is cut into shards, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// None: whatever the program says, all sweeps are of the whole data.
    Off,
    /// This one, into so many shards.
    Axis(cavi_model::Batch),
}

impl fmt::Display for Batch {
    /// As `--batch` takes it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Batch::Off => f.write_str("none"),
            Batch::Axis(own) => match own.shards {
                None => f.write_str(&own.axis),
                Some(shards) => write!(f, "{}={shards}", own.axis),
            },
        }
    }
}

impl Batch {
    /// What the settings say, else the program; in shards that are in step what the program says has no effect.
    pub(crate) fn of(settings: &Settings, model: &Model) -> Batch {
        let of_program = || model.fit.batch.as_ref().map_or(Batch::Off, |(own, _)| Batch::Axis(own.clone()));
        let in_step = settings.shards.is_some() || settings.others.is_some();
        settings.batch.clone().unwrap_or_else(|| if in_step { Batch::Off } else { of_program() })
    }

    /// Reads `none`, `doc` or `doc=16`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(symbols: &Symbols, text: &str) -> Result<Batch, Box<Diagnostic>> {
        if text == "none" {
            return Ok(Batch::Off);
        }
        let (axis, shards) = axis_and_shards(symbols, text, ("E0616", "--batch"), SHARDS)?;
        Ok(Batch::Axis(cavi_model::Batch { axis, shards }))
    }

    /// The axis, in a program.
    pub(crate) fn axis(&self, symbols: &Symbols) -> Option<(AxisId, Option<u64>)> {
        let Batch::Axis(own) = self else { return None };
        let place = symbols.axes.iter().position(|axis| axis.name == own.axis)?;
        Some((AxisId::from(place), own.shards))
    }
}

/// How shards are visited in a pass.
pub(crate) fn visits(afresh: bool) -> Visits {
    Visits { afresh, times: if afresh { TIMES } else { 1 } }
}
