//! Mini-batches: memoized passes over shards of an axis before the sweeps of a fit ([`cavi_executor::shard`]).

use std::fmt;

use cavi_algebra::{AxisId, Symbols};
use cavi_executor::shard::Visits;
use cavi_model::Model;
use cavi_syntax::{Diagnostic, nearest};

use crate::fit::Settings;

/// As many shards, unless told otherwise; fewer where the axis has fewer positions.
pub const SHARDS: u64 = 16;

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
        let (axis, shards) = match text.split_once('=') {
            None => (text, None),
            Some((axis, shards)) => match shards.parse::<u64>() {
                Ok(shards) if shards > 0 => (axis, Some(shards)),
                _ => {
                    let wrong = Diagnostic::error("E0616", format!("`{shards}` is no number of shards"))
                        .possible("a whole number, 1 or greater")
                        .help(format!("write `--batch {axis}={SHARDS}`, or `--batch {axis}`"));
                    return Err(Box::new(wrong));
                }
            },
        };
        let names = || symbols.axes.iter().map(|own| own.name.as_str());
        if names().any(|own| own == axis) {
            return Ok(Batch::Axis(cavi_model::Batch { axis: axis.to_owned(), shards }));
        }
        let all: Vec<String> = names().map(|own| format!("`{own}`")).collect();
        let near = nearest(axis, names());
        let help =
            near.map_or_else(|| "name one of them".to_owned(), |near| format!("did you mean `{near}`?"));
        let unknown = Diagnostic::error("E0616", format!("there is no axis `{axis}`"))
            .possible(format!("the axes of the program: {}", all.join(", ")))
            .help(help);
        Err(Box::new(unknown))
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
