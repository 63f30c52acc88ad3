//! Sweeps in shards of an axis that are in step ([`cavi_executor::shard::Joined`]): exact coordinate ascent, in pieces.

use std::fmt;

use cavi_algebra::Symbols;
use cavi_executor::reduce::{Exchange, all_bytes};
use cavi_numerics::InstructionSet;
use cavi_syntax::{Diagnostic, nearest};

use crate::fit::Settings;

/// As many shards, unless told otherwise; fewer where the axis has fewer positions.
pub const SHARDS: u64 = 16;

/// Which axis is cut into how many shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shards {
    /// Of the axes that can be cut the one with the most positions.
    Largest,
    /// This one.
    Axis {
        /// Its name.
        axis: String,
        /// How many; 16 unless given.
        shards: Option<u64>,
    },
}

/// Lets all processes use the instruction set that the least of their machines has, on which bits depend; before anything is computed. Whether
/// this one can.
pub fn agree_on_instructions(others: &dyn Exchange) -> bool {
    let sets = [InstructionSet::Portable, InstructionSet::Avx2, InstructionSet::Avx512];
    let own = sets.iter().position(|set| *set == InstructionSet::of_machine()).unwrap_or(0);
    let all = all_bytes(others, &[own as u8]);
    let least = all.iter().filter_map(|own| own.first()).min().copied().unwrap_or(0);
    sets.get(usize::from(least)).is_some_and(|set| set.limit())
}

impl fmt::Display for Shards {
    /// As `--shards` takes it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Shards::Largest => f.write_str("auto"),
            Shards::Axis { axis, shards: None } => f.write_str(axis),
            Shards::Axis { axis, shards: Some(shards) } => write!(f, "{axis}={shards}"),
        }
    }
}

impl Shards {
    /// What the settings say; several processes cut the largest axis.
    pub(crate) fn of(settings: &Settings) -> Option<Shards> {
        settings.shards.clone().or_else(|| settings.others.as_ref().map(|_| Shards::Largest))
    }

    /// Reads `auto`, `doc` or `doc=16`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(symbols: &Symbols, text: &str) -> Result<Shards, Box<Diagnostic>> {
        if text == "auto" {
            return Ok(Shards::Largest);
        }
        let (axis, shards) = axis_and_shards(symbols, text, ("E0617", "--shards"), SHARDS)?;
        Ok(Shards::Axis { axis, shards })
    }
}

/// Reads `doc` or `doc=16`: an axis of the program and how many shards of it. `code` and `option` are what a message names, `usual` the
/// number that it proposes.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn axis_and_shards(
    symbols: &Symbols,
    text: &str,
    (code, option): (&'static str, &str),
    usual: u64,
) -> Result<(String, Option<u64>), Box<Diagnostic>> {
    let (axis, shards) = match text.split_once('=') {
        None => (text, None),
        Some((axis, shards)) => match shards.parse::<u64>() {
            Ok(shards) if shards > 0 => (axis, Some(shards)),
            _ => {
                let wrong = Diagnostic::error(code, format!("`{shards}` is no number of shards"))
                    .possible("a whole number, 1 or greater")
                    .help(format!("write `{option} {axis}={usual}`, or `{option} {axis}`"));
                return Err(Box::new(wrong));
            }
        },
    };
    let names = || symbols.axes.iter().map(|own| own.name.as_str());
    if names().any(|own| own == axis) {
        return Ok((axis.to_owned(), shards));
    }
    let all: Vec<String> = names().map(|own| format!("`{own}`")).collect();
    let near = nearest(axis, names());
    let help = near.map_or_else(|| "name one of them".to_owned(), |near| format!("did you mean `{near}`?"));
    let unknown = Diagnostic::error(code, format!("there is no axis `{axis}`"))
        .possible(format!("the axes of the program: {}", all.join(", ")))
        .help(help);
    Err(Box::new(unknown))
}
