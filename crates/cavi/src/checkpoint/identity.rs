//! Which fit a checkpoint belongs to: everything on which a bit of the result depends, apart from the machine.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use cavi_executor::{BoundArray, Precision};
use serde_json::{Map, Value, json};

use super::files::{self, FIT};
use crate::bind::{Binding, DataError};
use crate::compile::{FNV_START, fnv1a};
use crate::data_files::{mixed, of_words};
use crate::fit::{Resolved, Settings};
use crate::prepare::Problem;

/// What a fit is: names of what it depends on, as a person knows them, each with its value or the hash of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    facts: Vec<(String, String)>,
    restarts: u64,
    keeps_all: bool,
}

/// What `fit.json` calls the list.
const FACTS: &str = "fit";

/// What `summary.json` calls the facts of a fit.
const IN_SUMMARY: &str = "identity";

/// The name of the program among the facts, and in `summary.json`.
const PROGRAM: &str = "the program";

/// The name of the seed.
const SEED: &str = "--seed";

/// The name of what is held out, and its value where nothing is.
const HELD_OUT: &str = "--heldout";
const NOTHING: &str = "none";

/// What `fit.json` calls the hash of the list.
const HASH: &str = "hash";

impl Identity {
    /// That of a fit of a problem with these settings. Neither the number of threads nor the callback changes a bit.
    pub fn of(problem: &Problem, settings: &Settings) -> Identity {
        let resolved = Resolved::of(settings, &problem.model);
        let lines = |lines: &[cavi_syntax::ast::Warmup]| -> String {
            lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let mut facts: Vec<(String, String)> = vec![
            ("the version of Cavi".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            (PROGRAM.to_owned(), problem.source.hash()),
            // Before the data, of which it draws those that are held out.
            (SEED.to_owned(), resolved.seed.to_string()),
        ];
        // Before the data, which are without it.
        let held_out = &problem.binding.held_out_by;
        let held_out = if held_out.is_empty() { NOTHING.to_owned() } else { held_out.join(" ") };
        facts.push((HELD_OUT.to_owned(), held_out));
        facts.extend(of_data(problem));
        let own = |name: &str, value: String| (name.to_owned(), value);
        facts.extend([
            own("--sweeps", resolved.sweeps.to_string()),
            own("--tol", resolved.tolerance.to_string()),
            own("--restarts", resolved.restarts.to_string()),
            own("--keep", if settings.keep_all { "all" } else { "best" }.to_owned()),
            own("--accelerate", if resolved.accelerates { "auto" } else { "none" }.to_owned()),
            own("--allocations", resolved.allocations.word().to_owned()),
            own("--batch", resolved.batch.to_string()),
            own("--shards", resolved.shards.as_ref().map_or("none".to_owned(), ToString::to_string)),
            own("--elbo-every", settings.elbo_every.to_string()),
            own("--verify", settings.verify.to_string()),
            own(
                "--precision",
                match settings.precision {
                    Precision::Double => "f64".to_owned(),
                    Precision::Single => "f32".to_owned(),
                },
            ),
            own("--warmup", settings.warmup.as_deref().map_or("as the program says".to_owned(), lines)),
            own(
                "--schedule",
                settings.schedule.as_ref().map_or("as the program says".to_owned(), |schedule| {
                    hex(fnv1a(FNV_START, format!("{schedule:?}").as_bytes()))
                }),
            ),
            own(
                "--init",
                settings.given.as_ref().map_or("none".to_owned(), |given| {
                    let columns = given.blocks.iter().flatten().flatten();
                    hex(columns.fold(FNV_START, |hash, column| of_numbers(hash, column)))
                }),
            ),
        ]);
        Identity { facts, restarts: resolved.restarts, keeps_all: settings.keep_all }
    }

    /// How many runs the fit has.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Whether all of them are kept.
    pub fn keeps_all(&self) -> bool {
        self.keeps_all
    }

    /// 16 hexadecimal digits that no other fit has.
    pub fn hash(&self) -> String {
        hex(fnv1a(FNV_START, self.json().to_string().as_bytes()))
    }

    /// What it is made of, one fact a line: its name, a tab and its value.
    pub fn text(&self) -> String {
        self.facts.iter().map(|(name, value)| format!("{name}\t{value}\n")).collect()
    }

    /// The facts as JSON.
    pub(super) fn json(&self) -> Value {
        let facts = self.facts.iter().filter(|(name, value)| name != HELD_OUT || value != NOTHING);
        let fact = |(name, value): &(String, String)| (name.clone(), json!(value));
        json!({ FACTS: facts.map(fact).collect::<Map<_, _>>() })
    }

    /// The first of the facts that another fit does not share, as `--seed is 3 and was 2`.
    pub fn differs_from(&self, stored: &Value) -> Option<String> {
        let told = |name: &str, value: &str, other: Option<&str>| match other {
            _ if [PROGRAM, "--schedule", "--init"].contains(&name) || name.starts_with(DATA) => {
                format!("{name} is not that of the fit")
            }
            Some(other) => format!("{name} is {value} and was {other}"),
            None => format!("{name} is {value} and was not given"),
        };
        self.facts.iter().find_map(|(name, value)| {
            let other = stored[FACTS][name].as_str().or((name == HELD_OUT).then_some(NOTHING));
            (other != Some(value.as_str())).then(|| told(name, value, other))
        })
    }

    /// The same for a finished fit, by its `summary.json`: an early one has the program and the seed alone.
    pub fn differs_from_summary(&self, summary: &Value) -> Option<String> {
        if summary[IN_SUMMARY][FACTS].is_object() {
            return self.differs_from(&summary[IN_SUMMARY]);
        }
        let own =
            |name: &str| self.facts.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        if summary["model_hash"].as_str() != own(PROGRAM) {
            return Some(format!("{PROGRAM} is not that of the fit"));
        }
        let seed = summary["runs"][0]["seed"].to_string();
        (own(SEED) != Some(seed.as_str()))
            .then(|| format!("{SEED} is {} and was {seed}", own(SEED).unwrap_or_default()))
    }

    /// What is stored in a directory of checkpoints; `None` where there is nothing. A file whose facts do not have the hash beside them is damaged; early
    /// ones have none.
    pub fn read(place: &Path) -> Result<Option<Value>, DataError> {
        let path = place.join(FIT);
        if !path.exists() {
            return Ok(None);
        }
        let stored =
            fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let is_whole = |stored: &Value| stored[HASH].is_null() || stored[HASH] == json!(of_facts(stored));
        match stored.filter(|stored| stored[FACTS].is_object() && is_whole(stored)) {
            Some(stored) => Ok(Some(stored)),
            None => Err(DataError::new(format!("`{}` is damaged", path.display()))
                .help(format!("delete `{}` to start anew", place.display()))),
        }
    }

    /// Makes a directory that of this fit: checkpoints of another one are removed.
    pub fn begin(&self, place: &Path) -> io::Result<()> {
        fs::create_dir_all(place)?;
        if let Ok(Some(stored)) = Identity::read(place)
            && stored[FACTS] == self.json()[FACTS]
        {
            return Ok(());
        }
        files::clear(place)?;
        let mut stored = self.json();
        stored[HASH] = json!(of_facts(&stored));
        let text = format!("{stored:#}\n");
        let fill = |mut file: io::BufWriter<fs::File>| {
            file.write_all(text.as_bytes())?;
            Ok(file)
        };
        files::put(&place.join(FIT), fill, || Ok(()))
    }
}

/// The hash of the facts of a file.
fn of_facts(stored: &Value) -> String {
    hex(fnv1a(FNV_START, stored[FACTS].to_string().as_bytes()))
}

/// How the name of data begins among the facts.
const DATA: &str = "data ";

/// The axes with their labels and the arrays with their values, as they are fitted: without what is held out.
fn of_data(problem: &Problem) -> Vec<(String, String)> {
    let Binding { bound, labels, .. } = &problem.binding;
    let symbols = &problem.model.symbols;
    let mut facts = Vec::new();
    for (index, axis) in bound.axes.iter().enumerate() {
        let mut hash = fnv1a(FNV_START, &axis.size.to_le_bytes());
        for start in axis.starts.iter().flatten() {
            hash = fnv1a(hash, &start.to_le_bytes());
        }
        for label in labels.axes.get(index).into_iter().flatten().flatten() {
            hash = fnv1a(fnv1a(hash, &label.len().to_le_bytes()), label.as_bytes());
        }
        let name = symbols.axes.get(index).map_or_else(|| index.to_string(), |own| own.name.clone());
        facts.push((format!("{DATA}axis `{name}`"), hex(hash)));
    }
    for (index, array) in bound.arrays.iter().enumerate() {
        let Some(array) = array else { continue };
        let name = symbols.arrays.get(index).map_or_else(|| index.to_string(), |own| own.name.clone());
        facts.push((format!("{DATA}`{name}`"), hex(of_array(array))));
    }
    facts
}

fn of_array(array: &BoundArray) -> u64 {
    let seen = |hash: u64, observed: &Option<Vec<bool>>| {
        let observed = observed.iter().flatten();
        observed.fold(hash, |hash, own| fnv1a(hash, &[u8::from(*own)]))
    };
    match array {
        BoundArray::Dense { values, observed } => seen(values.computed(FNV_START, of_numbers), observed),
        BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
            let hash = fnv1a(FNV_START, &[1, u8::from(*unlisted_zero)]);
            let of_positions = |hash: u64, own: &[u32]| in_lanes(hash, own, u64::from);
            let hash = indices.iter().fold(hash, |hash, own| own.computed(hash, of_positions));
            seen(values.computed(hash, of_numbers), observed)
        }
    }
}

fn of_numbers(hash: u64, values: &[f64]) -> u64 {
    in_lanes(hash, values, f64::to_bits)
}

/// Numbers in a hash: every fourth in a hash of its own, which do not wait for each other, and these one after another with what is left over.
fn in_lanes<T: Copy>(hash: u64, numbers: &[T], word: impl Fn(T) -> u64) -> u64 {
    let (blocks, rest) = numbers.as_chunks::<4>();
    let mut lanes = [hash; 4];
    for block in blocks {
        lanes.iter_mut().zip(block).for_each(|(lane, own)| *lane = mixed(*lane, word(*own)));
    }
    of_words(lanes.into_iter().chain(rest.iter().map(|own| word(*own))), hash)
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}
