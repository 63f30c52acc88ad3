//! What comes first: the positions of one axis in the order of what entries are expected to be, for each position of the others.
//!
//! Positions with the same expected entry stand in the order of their axis; those of a row under a Multinomial are ordered by their probabilities, so that
//! a row without units has an order too. Left out are entries that a file lists, or those that the
//! fit's own data do.

use std::collections::HashSet;
use std::path::Path;

use cavi_algebra::{Array, ArrayId, Restriction, Support};
use cavi_executor::BoundArray;
use cavi_families::Prediction;
use cavi_files::{Content, MISSING, ReadOptions, Values, Wanted};
use serde_json::{Map, Value, json};

use crate::bind::{DataError, Existing};
use crate::dimensions::{Declared, Dimension};
use crate::directory::number;
use crate::error::Error;
use crate::heldout::expected_of_one;
use crate::impute::{Cells, arrays, labels};
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::row_totals::RowTotals;

pub mod metrics;

/// Entries that are worked out together.
const BLOCK: usize = 1 << 16;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The axis whose positions are ranked.
    pub rank: &'a str,
    /// The other axes, each with one of its labels or for all of them.
    pub each: Vec<(String, Option<String>)>,
    /// The array; else the one that has these axes.
    pub of: Option<&'a str>,
    /// How many positions.
    pub count: usize,
    /// A file of entries that are left out.
    pub not_in: Option<&'a Path>,
    /// Whether entries that the data of the fit have are left out.
    pub unseen: bool,
    /// How many threads.
    pub threads: usize,
}

/// Rankings, and what was left out on the way.
#[derive(Clone, Debug)]
pub struct Rankings {
    /// The array.
    pub array: String,
    /// The names of the labels of each ranking.
    pub names: Vec<String>,
    /// The rankings.
    pub rankings: Vec<Ranking>,
    /// How many entries of the file have a label that the fit does not know.
    pub unknown: usize,
}

/// A ranking.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// For whom: the labels on the other axes.
    pub labels: Vec<String>,
    /// Label and expected entry, the greatest first.
    pub items: Vec<(String, f64)>,
    /// What is not ranked.
    pub left_out: LeftOut,
}

/// How many positions are left out of a ranking, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The program has no such entry, by a restriction as `i < j` or another group.
    pub absent: usize,
    /// The file lists them.
    pub listed: usize,
    /// The data of the fit have them.
    pub seen: usize,
}

impl Rankings {
    /// For whom nothing is ranked, and why; `None` where every ranking has an item.
    pub fn empty(&self) -> Option<String> {
        let empty: Vec<&Ranking> = self.rankings.iter().filter(|own| own.items.is_empty()).collect();
        let names = self.names.join(", ");
        let first = empty.first()?;
        let whom = match (empty.len(), self.rankings.len()) {
            (_, 1) => format!("{names} {}", first.labels.join(", ")),
            (count, all) => format!("{count} of {all} ({names} {}, ...)", first.labels.join(", ")),
        };
        let sum = |of: &dyn Fn(&LeftOut) -> usize| empty.iter().map(|own| of(&own.left_out)).sum::<usize>();
        let reasons = [
            (sum(&|own| own.listed), "are listed in the file of `--not-in`"),
            (sum(&|own| own.seen), "are in the data of the fit"),
            (sum(&|own| own.absent), "do not exist in the program, by its restriction or its groups"),
        ];
        let reasons: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} entries {why}"))
            .collect();
        let why =
            if reasons.is_empty() { "there are no positions to rank".to_owned() } else { reasons.join(", ") };
        Some(format!("nothing is ranked for {whom}: {why}"))
    }
}

impl Rankings {
    /// As JSON: `array`, the axis that is ranked, `n_unknown`, and for each ranking the labels it is `for` and its labels with what is expected.
    pub fn json(&self, axis: &str) -> Value {
        let one = |ranking: &Ranking| {
            let labels: Map<String, Value> =
                self.names.iter().cloned().zip(ranking.labels.iter().map(|label| json!(label))).collect();
            let items: Vec<Value> = ranking
                .items
                .iter()
                .map(|(label, value)| json!({ axis: label, "expected": number(*value) }))
                .collect();
            json!({ "for": labels, "ranking": items })
        };
        let all: Vec<Value> = self.rankings.iter().map(one).collect();
        json!({ "array": self.array, "rank": axis, "n_unknown": self.unknown, "rankings": all })
    }
}

/// The rankings.
///
/// # Errors
/// Axes that no data of the program have, or more than one array; labels that the fit does not know; a file that cannot be read.
pub fn rankings(fit: &Reopened, asked: &Asked<'_>) -> Result<Rankings, Error> {
    let problem = fit.problem.as_given();
    let (array, places) = array(problem, asked)?;
    let wanted: Vec<(String, String)> =
        asked.each.iter().filter_map(|(axis, label)| Some((axis.clone(), label.clone()?))).collect();
    labels(problem, &wanted)?;
    let own = problem.equations.symbols.array(array);
    let bound = &problem.binding.bound;
    let (data, shape) = (bound.array(array), bound.shape(&problem.equations.symbols, array));
    let dimensions = Dimension::of(problem, array);
    let ranked = places[0];
    let existing = Existing::of(&problem.equations.symbols, &bound.axes, own);
    let (excluded, unknown) = match asked.not_in {
        None => (HashSet::new(), 0),
        Some(path) => listed(problem, array, path)?,
    };
    let excluded: Places = excluded.into_iter().map(|place| at_home(own, &place)).collect();
    let mut positions = Cells { problem, array, only: &Vec::new() }.positions();
    for place in &places[1..] {
        let asked = asked.each.iter().zip(&places[1..]).filter(|(_, other)| *other == place);
        let only: Vec<&String> = asked.filter_map(|((_, label), _)| label.as_ref()).collect();
        let is_wanted = |position: &u32| {
            let label = dimensions[*place].labels(*position as usize).pop();
            only.is_empty() || label.is_some_and(|label| only.contains(&&label))
        };
        positions[*place].retain(is_wanted);
    }
    let others: Vec<usize> = (0..shape.len()).filter(|dimension| *dimension != ranked).collect();
    let names = others.iter().flat_map(|dimension| dimensions[*dimension].names()).collect();
    let rows: usize = others.iter().map(|dimension| positions[*dimension].len()).product();
    let totals = is_of_units(problem, array).then(|| RowTotals::of(&problem.model.symbols, bound, array));
    let mut rankings = Vec::with_capacity(rows);
    let together = (BLOCK / shape[ranked].max(1)).max(1);
    for start in (0..rows).step_by(together) {
        let mut coordinates: Vec<Vec<u32>> = vec![Vec::new(); shape.len()];
        let (mut ends, mut items_of) = (Vec::new(), Vec::new());
        for row in start..rows.min(start + together) {
            let mut left_out = LeftOut::default();
            let mut place = vec![0_u32; shape.len()];
            let mut rest = row;
            for dimension in others.iter().rev() {
                let own = &positions[*dimension];
                place[*dimension] = own[rest % own.len()];
                rest /= own.len();
            }
            for item in &positions[ranked] {
                place[ranked] = *item;
                let place = at_home(own, &place);
                let at: Vec<usize> = place.iter().map(|own| *own as usize).collect();
                if !existing.is_there(&at) {
                    left_out.absent += 1;
                } else if excluded.contains(&place) {
                    left_out.listed += 1;
                } else if asked.unseen && is_seen(own, data, &shape, &at) {
                    left_out.seen += 1;
                } else {
                    coordinates.iter_mut().zip(&place).for_each(|(column, own)| column.push(*own));
                    items_of.push(*item as usize);
                }
            }
            ends.push((place, items_of.len(), left_out));
        }
        let settings = (fit.seed, asked.threads);
        let found = expected_of_one(&fit.problem, &fit.parameters, array, &coordinates, false, settings)?;
        let mut first = 0;
        for (place, end, left_out) in ends {
            let mut order: Vec<usize> = (first..end).collect();
            order.sort_by(|one, other| found[*other].total_cmp(&found[*one]));
            let label = |entry: &usize| {
                let place = |dimension: usize| coordinates[dimension][*entry] as usize;
                let units = totals.as_ref().map_or(1.0, |totals| totals.at(place));
                (dimensions[ranked].labels(items_of[*entry]).join("/"), units * found[*entry])
            };
            let items = order.iter().take(asked.count).map(label).collect();
            let labels =
                others.iter().flat_map(|own| dimensions[*own].labels(place[*own] as usize)).collect();
            rankings.push(Ranking { labels, items, left_out });
            first = end;
        }
    }
    Ok(Rankings { array: own.name.clone(), names, rankings, unknown })
}

/// Whether entries are units of rows under a Multinomial, whose number is given.
fn is_of_units(problem: &Problem, array: ArrayId) -> bool {
    let statement = problem.model.statement_of(array);
    statement.is_some_and(|own| own.family.prediction() == Prediction::Units)
}

/// Where an entry stands: of `i < j` the pair is one entry, whichever of the two is named first.
pub(crate) fn at_home(array: &Array, place: &[u32]) -> Vec<u32> {
    let mut place = place.to_vec();
    if let Some((first, second)) = pair(array)
        && place[first] > place[second]
    {
        place.swap(first, second);
    }
    place
}

/// The two dimensions of an array of `i < j`, whose entries are pairs without an order.
pub(crate) fn pair(array: &Array) -> Option<(usize, usize)> {
    let Some(Restriction::Less(first, second)) = array.restriction else { return None };
    let dimension = |wanted| array.letters.iter().position(|letter| *letter == wanted);
    Some((dimension(first)?, dimension(second)?))
}

/// Whether the data have an entry: one that is observed, and is not 0 where a zero says that there is nothing: where what is not listed is 0,
/// and in counts and the like that are wholly observed. What is held out of the data is missing, and changes nothing for their zeros.
pub(crate) fn is_seen(array: &Array, data: &BoundArray, shape: &[usize], place: &[usize]) -> bool {
    let (value, seen) = data.entry(shape, place);
    let is_amount = matches!(array.support, Support::Count | Support::Binary | Support::Nonnegative);
    let is_whole = !array.absent.missing || array.absent.withheld;
    let zero_is_nothing = array.absent.zero || is_amount && is_whole;
    seen && !(value == 0.0 && zero_is_nothing)
}

/// The dimension of an axis, by its innermost name.
pub(crate) fn dimension_of(dimensions: &[Dimension<'_>], axis: &str) -> Option<usize> {
    dimensions.iter().position(|own| own.names().last().is_some_and(|name| name == axis))
}

/// The data whose entries are ranked, and for `--rank` and each `--for` the dimension that is meant.
fn array(problem: &Problem, asked: &Asked<'_>) -> Result<(ArrayId, Vec<usize>), DataError> {
    let symbols = &problem.equations.symbols;
    let given: Vec<&str> =
        std::iter::once(asked.rank).chain(asked.each.iter().map(|(axis, _)| axis.as_str())).collect();
    let axes: Vec<&str> = symbols.axes.iter().map(|axis| axis.name.as_str()).collect();
    let is_known =
        |name: &&str| axes.contains(name) || symbols.letters.iter().any(|letter| letter.name == **name);
    for (place, axis) in given.iter().enumerate() {
        let option = if place == 0 { "--rank" } else { "--for" };
        if !is_known(axis) {
            let message = format!("`{option} {axis}`: the program has no axis and no letter of this name");
            return Err(DataError::unknown(message, axis, &axes));
        }
    }
    let names: Vec<String> = asked.of.iter().map(|name| (*name).to_owned()).collect();
    let all = arrays(problem, &names)?;
    let has = |array: &ArrayId| Some((*array, meant(problem, *array, &given)?));
    let found: Vec<(ArrayId, Vec<usize>)> = all.iter().filter_map(has).collect();
    let over = |array: ArrayId| {
        let names: Vec<String> = Dimension::of(problem, array).iter().flat_map(Dimension::names).collect();
        format!("`{}` over {}", symbols.array(array).name, names.join(", "))
    };
    match found.as_slice() {
        [(array, _)] if matches!(symbols.array(*array).support, Support::Index(_)) => {
            Err(DataError::new(format!(
                "`{}` cannot be ranked: its entries are classes, which have no order",
                symbols.array(*array).name
            )))
        }
        [own] => Ok(own.clone()),
        [] => {
            let twice = |array: &ArrayId| {
                let dimensions = Dimension::of(problem, *array);
                let along = |axis: &str| dimensions.iter().filter(|own| own.is_along(axis)).count() > 1;
                given
                    .iter()
                    .any(|axis| along(axis))
                    .then(|| dimensions.iter().flat_map(Dimension::names).collect())
            };
            let by_letters: Option<Vec<String>> = all.iter().find_map(twice);
            if let (None, Some(axis)) = (&by_letters, given[1..].iter().find(|axis| **axis == asked.rank)) {
                return Err(DataError::new(format!("`--for {axis}` is the axis that is ranked")));
            }
            if let Some(listed) = all.iter().find(|array| lives_at_entries(problem, **array, &given)) {
                let name = &symbols.array(*listed).name;
                return Err(DataError::new(format!(
                    "`{name}` cannot be ranked: the program has latents of its own at each of its listed entries, and of others nothing is expected"
                ))
                .help(format!("`cavi impute DIR {name} --all` has what the listed entries are expected to be")));
            }
            let all: Vec<String> = arrays(problem, &[])?.into_iter().map(over).collect();
            let problem =
                DataError::new(format!("no data of the program have exactly the axes {}", given.join(", ")))
                    .possible(format!(
                        "the axes of one array, `--rank` one of them and `--for` each of the others: {}",
                        all.join("; ")
                    ));
            Err(match by_letters.as_deref() {
                Some([others @ .., last]) => {
                    let others: Vec<String> = others.iter().map(|own| format!("--for {own}")).collect();
                    problem.help(format!(
                        "an axis that stands twice is named by its letters: `--rank {last} {}`",
                        others.join(" ")
                    ))
                }
                _ => problem,
            })
        }
        [(first, _), ..] => {
            let all: Vec<String> = found.iter().map(|(array, _)| over(*array)).collect();
            Err(DataError::new(format!("several data have these axes: {}", all.join("; ")))
                .help(format!("--of {}", symbols.array(*first).name)))
        }
    }
}

/// Whether an array is held by its listed entries, and has these axes as it is declared.
fn lives_at_entries(problem: &Problem, array: ArrayId, given: &[&str]) -> bool {
    let dimensions = Declared::of(problem, array);
    let names: Vec<String> = dimensions.iter().flat_map(Declared::names).collect();
    dimensions.iter().any(Declared::is_listed) && given.iter().all(|own| names.iter().any(|name| name == own))
}

/// The dimensions of an array that names mean, the first of which is ranked: its own letters, or axes. An axis along which the
/// array runs twice means the dimension that no letter names, where one is left. `None` where these are not all dimensions of
/// the array.
fn meant(problem: &Problem, array: ArrayId, given: &[&str]) -> Option<Vec<usize>> {
    let symbols = &problem.equations.symbols;
    let dimensions = Dimension::of(problem, array);
    // Of ragged axes a position has several labels.
    if dimensions.iter().any(|own| own.names().len() > 1) {
        return None;
    }
    let letters = &symbols.array(array).letters;
    let by_letter = |name: &str| {
        let is_own = |letter: &cavi_algebra::LetterId| symbols.letter(*letter).name == name;
        letters.iter().position(is_own)
    };
    let is_axis = |name: &str| dimensions.iter().any(|own| own.is_along(name));
    let mut found: Vec<Option<usize>> =
        given.iter().map(|name| if is_axis(name) { None } else { by_letter(name) }).collect();
    for place in 0..given.len() {
        if found[place].is_some() {
            continue;
        }
        let known = (0..place).find(|other| *other > 0 && given[*other] == given[place]);
        let taken: Vec<usize> = found.iter().flatten().copied().collect();
        let free: Vec<usize> = (0..dimensions.len())
            .filter(|own| dimensions[*own].is_along(given[place]) && !taken.contains(own))
            .collect();
        found[place] = match (known, free.as_slice()) {
            (Some(known), _) => found[known],
            (None, [one]) => Some(*one),
            (None, _) => return None,
        };
    }
    let found: Vec<usize> = found.into_iter().collect::<Option<_>>()?;
    let covers = (0..dimensions.len()).all(|own| found.contains(&own));
    (covers && !found[1..].contains(&found[0])).then_some(found)
}

/// Entries by their positions.
type Places = HashSet<Vec<u32>>;

/// The entries that a file lists, of a dense one those that are not 0; and how many have a label that the fit does not know.
fn listed(problem: &Problem, array: ArrayId, path: &Path) -> Result<(Places, usize), Error> {
    let dimensions = Dimension::of(problem, array);
    let names: Vec<String> = dimensions.iter().flat_map(Dimension::names).collect();
    let axes: Vec<cavi_files::Dimension<'_>> =
        names.iter().map(|axis| cavi_files::Dimension { axis, letter: None }).collect();
    let options = ReadOptions { dimensions: &axes, wanted: Wanted::Positions, ..ReadOptions::default() };
    let content = cavi_files::read(path, &options).map_err(|error| Error::from(error.in_file(path)))?;
    let shape = problem.binding.bound.shape(&problem.equations.symbols, array);
    let known: Vec<std::collections::HashMap<String, u32>> = dimensions
        .iter()
        .zip(&shape)
        .map(|(own, size)| {
            (0..*size).map(|position| (own.labels(position).join("/"), position as u32)).collect()
        })
        .collect();
    let by_label = |dimension: usize, label: &str| known[dimension].get(label).copied();
    let by_place =
        |dimension: usize, position: usize| (position < shape[dimension]).then_some(position as u32);
    let columns: Vec<Vec<Option<u32>>> = match &content {
        Content::Long(long) => long
            .positions
            .iter()
            .enumerate()
            .map(|(dimension, own)| {
                let of: Vec<Option<u32>> = own.names.iter().map(|name| by_label(dimension, name)).collect();
                own.codes
                    .iter()
                    .map(|code| if *code == MISSING { None } else { of[*code as usize] })
                    .collect()
            })
            .collect(),
        Content::Coordinates(own) => (0..shape.len())
            .map(|dimension| {
                let place = |position: &u32| match own.labels(dimension) {
                    Some(labels) => by_label(dimension, &labels[*position as usize]),
                    None => by_place(dimension, *position as usize),
                };
                own.indices[dimension].iter().map(place).collect()
            })
            .collect(),
        Content::Dense(own) => {
            let Values::Numbers(values) = &own.values else {
                return Err(
                    DataError::new(format!("{}: found text; expected entries", path.display())).into()
                );
            };
            let there: Vec<usize> =
                (0..values.len()).filter(|cell| values[*cell] != 0.0 && !values[*cell].is_nan()).collect();
            (0..shape.len())
                .map(|dimension| {
                    let after: usize = own.shape[dimension + 1..].iter().product::<usize>().max(1);
                    let place = |cell: &usize| {
                        let position = cell / after % own.shape[dimension].max(1);
                        match own.labels.get(dimension).and_then(Option::as_deref) {
                            Some(labels) => by_label(dimension, &labels[position]),
                            None => by_place(dimension, position),
                        }
                    };
                    there.iter().map(place).collect()
                })
                .collect()
        }
        Content::Documents(own) => {
            let rows = own
                .offsets
                .windows(2)
                .enumerate()
                .flat_map(|(row, pair)| std::iter::repeat_n(by_place(0, row), pair[1] - pair[0]));
            vec![rows.collect(), own.ids.iter().map(|id| by_place(1, *id as usize)).collect()]
        }
    };
    let count = columns.first().map_or(0, Vec::len);
    let mut places = Places::new();
    let mut unknown = 0;
    for entry in 0..count {
        match columns.iter().map(|column| column[entry]).collect::<Option<Vec<u32>>>() {
            Some(place) => _ = places.insert(place),
            None => unknown += 1,
        }
    }
    Ok((places, unknown))
}
