//! Labels that say where the points of a Gaussian process are, while their positions count as places.
//!
//! Without `at` the points of a process are at 0, 1, 2, ... in the order of their axis. Where the labels of this axis are numbers or times that are
//! not equally far apart, in order, these are other places. Kernels depend on distances alone, so that an order from the last to the first is right.

use cavi_algebra::{Array, ArrayKind, AxisId, Expression, LetterId, Support, Symbols};
use cavi_model::Model;

use super::axes::Axes;
use super::hide::order::{Time, time_of};

/// For each variable whose points are counted one after another, and have labels that say otherwise, what is done and what to write.
pub(super) fn counted(model: &Model, axes: &Axes) -> Vec<String> {
    let symbols = &model.symbols;
    let mut warnings = Vec::new();
    for statement in &model.statements {
        for argument in statement.arguments.iter().flatten() {
            let Some(letter) = argument.letters.first().filter(|own| reads_position(&argument.value, **own))
            else {
                continue;
            };
            let axis = symbols.letter(*letter).axis;
            let Some(labels) = axes.labels[axis.index()].as_deref() else { continue };
            if let Some(found) = unlike_positions(labels) {
                let name = &symbols.array(statement.target).name;
                warnings.push(warning(model, (name, *letter, axis), labels, found));
            }
        }
    }
    warnings
}

/// Whether the position of a letter stands in an expression.
fn reads_position(expression: &Expression, letter: LetterId) -> bool {
    let reads = |own: &Expression| reads_position(own, letter);
    match expression {
        Expression::Position(own) => *own == letter,
        Expression::Number(_) | Expression::Value(..) | Expression::Indicator(..) => false,
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().any(reads),
        Expression::Power(base, exponent) => reads(base) || reads(exponent),
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            reads(body)
        }
    }
}

/// How labels differ from places that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unlike {
    /// They rise and fall.
    Order,
    /// They rise or fall by different distances.
    Distances,
}

/// How labels differ from places that are counted, if all are numbers or all are times; `None` where they do not, and of other labels.
fn unlike_positions(labels: &[String]) -> Option<Unlike> {
    let numbers: Option<Vec<f64>> =
        labels.iter().map(|own| own.trim().parse().ok().filter(|own: &f64| own.is_finite())).collect();
    let times = || labels.iter().map(|own| time_of(own.trim())).collect::<Option<Vec<Time>>>();
    let (places, months) = match (numbers, compact(labels).or_else(times)) {
        (_, Some(times)) => (times.iter().map(seconds).collect(), Some(months(&times))),
        (Some(numbers), None) => (numbers, None),
        (None, None) => return None,
    };
    if are_even(&places) || months.is_some_and(|own| own.is_some_and(|own| are_even(&own))) {
        return None;
    }
    let rises = |pair: &[f64]| pair[0] < pair[1];
    let is_sorted = places.windows(2).all(rises) || !places.windows(2).any(rises);
    Some(if is_sorted { Unlike::Distances } else { Unlike::Order })
}

/// The times that numbers such as `20240105` or `202401` name, all of one length.
fn compact(labels: &[String]) -> Option<Vec<Time>> {
    let time = |label: &String| {
        let is_number = label.bytes().all(|own| own.is_ascii_digit());
        match label.len() {
            6 if is_number => time_of(&format!("{}-{}", &label[..4], &label[4..])),
            8 if is_number => time_of(&format!("{}-{}-{}", &label[..4], &label[4..6], &label[6..])),
            _ => None,
        }
    };
    let is_of_one_length = labels.windows(2).all(|pair| pair[0].len() == pair[1].len());
    labels.iter().map(time).collect::<Option<Vec<Time>>>().filter(|_| is_of_one_length)
}

fn seconds((day, second): &Time) -> f64 {
    *day as f64 * 86_400.0 + second
}

/// The months of times that all are on the same day of a month, or all on its last one, counted from a fixed one on.
fn months(times: &[Time]) -> Option<Vec<f64>> {
    let dates: Vec<(i64, i64)> = times.iter().map(|own| month_and_day(own.0)).collect();
    let is_last = |own: &Time| month_and_day(own.0 + 1).1 == 1;
    let is_one_time = times.iter().all(|own| own.1 == times[0].1);
    let are_alike = dates.iter().all(|own| own.1 == dates[0].1) || times.iter().all(is_last);
    (is_one_time && are_alike).then(|| dates.iter().map(|own| own.0 as f64).collect())
}

/// The month, counted from the first March of the calendar on, and the day in it: the inverse of the count of days of a [`Time`].
fn month_and_day(day: i64) -> (i64, i64) {
    // Four hundred years have 146,097 days; a year begins with March.
    let (era, rest) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (rest - rest / 1_460 + rest / 36_524 - rest / 146_096) / 365;
    let in_year = rest - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    (12 * (400 * era + year) + month, in_year - (153 * month + 2) / 5 + 1)
}

/// Whether numbers rise or fall by one distance, but for what is lost where they are rounded.
fn are_even(places: &[f64]) -> bool {
    const ROUNDED: f64 = 1e-3;
    let steps: Vec<f64> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.iter().all(|own| (own - steps[0]).abs() <= ROUNDED * steps[0].abs())
}

fn warning(
    model: &Model,
    (name, letter, axis): (&str, LetterId, AxisId),
    labels: &[String],
    found: Unlike,
) -> String {
    let symbols = &model.symbols;
    let (axis_name, letter) = (&symbols.axis(axis).name, &symbols.letter(letter).name);
    let shown: Vec<String> = labels.iter().take(3).map(|own| format!("`{own}`")).collect();
    let more = if labels.len() > 3 { ", ..." } else { "" };
    let why = match found {
        Unlike::Order => "stand in another order than they count",
        Unlike::Distances => "are not equally far apart",
    };
    let help = match declared_along(model, axis) {
        Some(places) => format!("write `at = {places}[{letter}]`, if these are the places"),
        None => {
            let new = free_name(symbols);
            format!(
                "declare `data {new}[{letter}] : real`, write `at = {new}[{letter}]`, and give `--data {new}=FILE`, a table of the columns \
                 `{axis_name}` and `{new}` with a number for each {axis_name}"
            )
        }
    };
    format!(
        "`{name}` is a GaussianProcess without `at`: the labels of `{axis_name}` ({}{more}), in this order, are its places 0, 1, 2, ..., \
         though they {why}\n  help: {help}",
        shown.join(", ")
    )
}

/// Data or a constant that is a number for each position of an axis, and that is not modelled.
fn declared_along(model: &Model, axis: AxisId) -> Option<&str> {
    let symbols = &model.symbols;
    let is_along = |array: &Array| matches!(array.letters[..], [only] if symbols.letter(only).axis == axis);
    let is_number =
        |array: &Array| matches!(array.support, Support::Real | Support::Positive | Support::Nonnegative);
    let is_modelled = |name: &str| {
        let mut targets = model.statements.iter().map(|own| &symbols.array(own.target).name);
        targets.any(|own| own == name)
    };
    symbols
        .arrays
        .iter()
        .filter(|own| own.kind == ArrayKind::Data || own.is_named_constant())
        .find(|own| is_along(own) && is_number(own) && !is_modelled(&own.name))
        .map(|own| own.name.as_str())
}

/// A name that the program does not have.
fn free_name(symbols: &Symbols) -> String {
    let is_taken = |name: &str| {
        symbols.arrays.iter().any(|own| own.name == name)
            || symbols.axes.iter().any(|own| own.name == name)
            || symbols.letters.iter().any(|own| own.name == name)
    };
    let numbered = (2..).map(|number| format!("place{number}"));
    let mut names = ["t", "place", "position"].map(str::to_owned).into_iter().chain(numbered);
    names.find(|own| !is_taken(own)).unwrap_or_else(|| "place".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(labels: &[&str]) -> Option<Unlike> {
        unlike_positions(&labels.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn labels_that_are_equally_far_apart_are_places_that_count() {
        for even in [
            vec!["2019", "2020", "2021"],
            vec!["2021", "2019", "2017"],
            vec!["0.1", "0.2", "0.3", "0.4"],
            vec!["2024-02-28", "2024-02-29", "2024-03-01"],
            // Months have different numbers of days.
            vec!["2023-12", "2024-01", "2024-02", "2024-03"],
            vec!["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"],
            vec!["2023-11-15", "2023-12-15", "2024-01-15", "2024-02-15"],
            vec!["20240130", "20240131", "20240201"],
            vec!["202311", "202312", "202401"],
            vec!["2024-W52", "2025-W01", "2025-W02"],
            vec!["2024-01-01 10:00", "2024-01-01 10:30", "2024-01-01 11:00"],
            vec!["7", "3"],
            vec!["only"],
            vec!["a", "c", "b"],
            vec!["2019", "2021", "then"],
            vec!["2019Q1", "2019Q3", "2019Q2"],
        ] {
            assert_eq!(found(&even), None, "{even:?}");
        }
    }

    #[test]
    fn labels_that_are_not_are_other_places() {
        for labels in [
            vec!["2019", "2020", "2023"],
            vec!["2024-01-05", "2024-01-06", "2024-01-09"],
            vec!["2024-01-31", "2024-02-28", "2024-03-31"],
            vec!["2023-12", "2024-01", "2024-03"],
            vec!["10", "5", "4"],
        ] {
            assert_eq!(found(&labels), Some(Unlike::Distances), "{labels:?}");
        }
        for labels in [
            vec!["2019", "2021", "2020"],
            vec!["2024-01-06", "2024-01-05", "2024-01-07"],
            vec!["3", "1", "2", "4"],
        ] {
            assert_eq!(found(&labels), Some(Unlike::Order), "{labels:?}");
        }
    }
}
