//! Bars, curves, intervals and tables of classes against labels, as text.

use std::fmt::Write;

use cavi::findings::{Agreement, Bars, Curve, Curves, Interval, Intervals};
use cavi::summary::digits;

use super::more;
use crate::table::aligned;

/// From low to high within a line.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The width of the longest bar.
const BAR: usize = 40;
/// More entries than these are not drawn, but for the largest.
const MOST_BARS: usize = 12;
/// Columns and lines of a curve.
const CURVE: (usize, usize) = (64, 7);
/// More curves than these are not drawn.
const MOST_CURVES: usize = 8;
/// More intervals than these are not listed.
const MOST_INTERVALS: usize = 24;
/// More labels than these are not columns of a table.
const MOST_COLUMNS: usize = 20;

/// Of few entries a bar each; of substitutions in contexts the profile; of many the largest.
pub fn bars(bars: &Bars) -> String {
    let what = match (bars.substitutions.is_empty(), bars.labels.len() > MOST_BARS) {
        (false, _) => "profiles",
        (true, true) => "the largest entries",
        (true, false) => "entries",
    };
    let mut text = format!("{}: {what} over {}\n", bars.variable, bars.axis);
    for (name, values) in &bars.rows {
        let name = if name.is_empty() { &bars.variable } else { name };
        match bars.substitutions.is_empty() {
            false => profile(&mut text, name, values, bars),
            true => {
                let _ = writeln!(text, "  {name}");
                list(&mut text, values, bars);
            }
        }
    }
    more(&mut text, bars.more);
    text
}

/// A line of heights for each three substitutions, each context a character, in the order of the axis.
fn profile(text: &mut String, name: &str, values: &[f64], bars: &Bars) {
    let total: f64 = values.iter().sum();
    let highest = values.iter().copied().fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*other].total_cmp(&values[*one]).then(one.cmp(other)));
    let share = |place: &usize| format!("{} {:.0} %", bars.labels[*place], 100.0 * values[*place] / total);
    let largest: Vec<String> = order.iter().take(3).map(share).collect();
    let _ = writeln!(text, "  {name}: {}", largest.join(", "));
    for group in bars.substitutions.chunks(3) {
        let mut heads = String::new();
        let mut lines = String::new();
        for (substitution, places) in group {
            let width = places.len().max(substitution.chars().count());
            let line: String = places.iter().map(|place| height(values[*place], highest)).collect();
            let _ = write!(heads, "  {substitution:<width$}");
            let _ = write!(lines, "  {line:<width$}");
        }
        let _ = writeln!(text, "  {}\n  {}", heads.trim_end(), lines.trim_end());
    }
}

/// A character as high as a value beside the highest; the lowest for what is 0 or less.
fn height(value: f64, highest: f64) -> char {
    let last = HEIGHTS.len() - 1;
    let share = if highest > 0.0 { (value / highest).clamp(0.0, 1.0) } else { 0.0 };
    HEIGHTS[((share * last as f64).round() as usize).min(last)]
}

fn list(text: &mut String, values: &[f64], bars: &Bars) {
    let size = |value: f64| if bars.signed { value.abs() } else { value };
    let mut order: Vec<usize> = (0..values.len()).collect();
    if values.len() > MOST_BARS {
        order.sort_by(|one, other| size(values[*other]).total_cmp(&size(values[*one])).then(one.cmp(other)));
        order.truncate(MOST_BARS);
    }
    let width = order.iter().map(|place| bars.labels[*place].chars().count()).max().unwrap_or(0);
    let longest = values.iter().copied().map(size).fold(0.0, f64::max);
    for place in order {
        let share = if longest > 0.0 { size(values[place]) / longest } else { 0.0 };
        let bar = (if values[place] < 0.0 { "-" } else { "#" }).repeat((share * BAR as f64).round() as usize);
        let _ = writeln!(text, "    {:<width$}  {bar} {}", bars.labels[place], digits(values[place], 3));
    }
}

/// Each curve as a picture of points in a band, with the range of its values and of its axis.
pub fn curves(curves: &Curves) -> String {
    let has_bands = curves.rows.iter().any(|own| own.band.is_some());
    let band = if has_bands { " (* the mean, : the interval of 90 %)" } else { "" };
    let mut text = format!("{}: curves over {}{band}\n", curves.variable, curves.axis);
    for curve in curves.rows.iter().take(MOST_CURVES) {
        draw(&mut text, curve, curves);
    }
    more(&mut text, curves.more + curves.rows.len().saturating_sub(MOST_CURVES));
    text
}

/// The mean of the positions that fall on each column.
fn binned(values: &[f64], columns: usize) -> Vec<f64> {
    (0..columns)
        .map(|column| {
            let (from, to) = (column * values.len() / columns, (column + 1) * values.len() / columns);
            let own = &values[from..to.max(from + 1).min(values.len())];
            own.iter().sum::<f64>() / own.len().max(1) as f64
        })
        .collect()
}

fn draw(text: &mut String, curve: &Curve, curves: &Curves) {
    let (width, height) = CURVE;
    let columns = width.min(curve.mean.len());
    if columns == 0 {
        return;
    }
    let mean = binned(&curve.mean, columns);
    let ends = |which: fn(&(f64, f64)) -> f64| {
        curve.band.as_ref().map(|band| binned(&band.iter().map(which).collect::<Vec<_>>(), columns))
    };
    let (below, above) = (ends(|own| own.0), ends(|own| own.1));
    let all = || mean.iter().chain(below.iter().flatten()).chain(above.iter().flatten()).copied();
    let (low, high) = all()
        .filter(|own| own.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, own| (ends.0.min(own), ends.1.max(own)));
    let name = if curve.name.is_empty() { &curves.variable } else { &curve.name };
    if !(low.is_finite() && high.is_finite()) {
        let _ = writeln!(text, "  {name}: no finite values");
        return;
    }
    let most = curve.mean.iter().enumerate().fold(
        0,
        |best, (place, own)| {
            if *own > curve.mean[best] { place } else { best }
        },
    );
    let _ = writeln!(text, "  {name}: highest at {}", curves.labels.get(most).map_or("", String::as_str));
    let line_of = |value: f64| match high > low {
        true => (((value - low) / (high - low)) * (height - 1) as f64).round() as usize,
        false => 0,
    };
    let labels = [digits(high, 3), digits(low, 3)];
    let margin = labels.iter().map(|own| own.chars().count()).max().unwrap_or(0);
    for line in (0..height).rev() {
        let cell = |column: usize| {
            if line_of(mean[column]) == line {
                return '*';
            }
            let inside = below.as_ref().zip(above.as_ref()).is_some_and(|(below, above)| {
                line_of(below[column]) <= line && line <= line_of(above[column])
            });
            if inside { ':' } else { ' ' }
        };
        let drawn: String = (0..columns).map(cell).collect();
        let label = match line {
            0 => labels[1].as_str(),
            _ if line == height - 1 => labels[0].as_str(),
            _ => "",
        };
        let _ = writeln!(text, "{}", format!("  {label:>margin$} |{drawn}").trim_end());
    }
    let (first, last) = (curves.labels.first(), curves.labels.get(curve.mean.len() - 1));
    let (first, last) = (first.map_or("", String::as_str), last.map_or("", String::as_str));
    let gap = columns.saturating_sub(first.chars().count() + last.chars().count()).max(1);
    let _ = writeln!(text, "  {:margin$}  {first}{}{last}", "", " ".repeat(gap));
}

/// Means, standard deviations and intervals, those first that lie farthest from 0 by their deviations; of what lies on both sides of 0 the number.
pub fn intervals(intervals: &Intervals) -> String {
    let rows = &intervals.rows;
    let apart = rows.iter().filter(|own| own.is_apart_from_zero()).count();
    let has_ends = rows.iter().any(|own| own.ends.is_some());
    let count = match (intervals.signed && has_ends, rows.len()) {
        (true, all) if all > 1 => format!(", {apart} of {all} apart from 0"),
        _ => String::new(),
    };
    let what = if has_ends { "means with intervals of 90 %" } else { "values" };
    let mut text = format!("{}: {what}{count}\n", intervals.variable);
    let mut table = vec![vec!["", "mean", "sd", "5 %", "95 %"]];
    if !has_ends {
        table[0] = vec!["", "value"];
    }
    let mut cells: Vec<Vec<String>> =
        table.into_iter().map(|row| row.into_iter().map(str::to_owned).collect()).collect();
    let cell = |value: Option<f64>| value.map_or_else(String::new, |own| digits(own, 4));
    let width = rows.iter().take(MOST_INTERVALS).map(|own| own.label.chars().count()).max().unwrap_or(0);
    for own in rows.iter().take(MOST_INTERVALS) {
        let Interval { label, mean, sd, ends } = own;
        let mut row = vec![format!("  {label:<width$}"), digits(*mean, 4)];
        if has_ends {
            row.extend([cell(*sd), cell(ends.map(|own| own.0)), cell(ends.map(|own| own.1))]);
        }
        cells.push(row);
    }
    text += &aligned(&cells);
    let rest = &rows[rows.len().min(MOST_INTERVALS)..];
    if !rest.is_empty() {
        let apart = rest.iter().filter(|own| own.is_apart_from_zero()).count();
        let of_them = match intervals.signed && has_ends {
            true => format!(", {apart} of them apart from 0"),
            false => String::new(),
        };
        let _ = writeln!(text, "  ... and {} more{of_them}", rest.len());
    }
    text
}

/// A line for each class, a column for each label, and the adjusted Rand index.
pub fn agreement(agreement: &Agreement) -> String {
    let Agreement { variable, axis, with, columns, rows, rand, unknown } = agreement;
    let mut text = format!(
        "{variable} against {with}: adjusted Rand index {rand:.3} (1 for the same classes, 0 by chance)\n"
    );
    let shown = columns.len().min(MOST_COLUMNS);
    let mut cells = vec![vec![format!("  {axis}")]];
    cells[0].extend(columns.iter().take(shown).cloned());
    for (name, counts) in rows {
        let mut row = vec![format!("  {name}")];
        let count = |own: &usize| if *own == 0 { ".".to_owned() } else { own.to_string() };
        row.extend(counts.iter().take(shown).map(count));
        cells.push(row);
    }
    text += &aligned(&cells);
    if columns.len() > shown {
        let _ = writeln!(text, "  ... and {} more labels", columns.len() - shown);
    }
    if *unknown > 0 {
        let _ = writeln!(text, "  {unknown} have no label there");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_entries_have_a_bar_each() {
        let own = Bars {
            variable: "h".to_owned(),
            axis: "item".to_owned(),
            labels: vec!["a".to_owned(), "bb".to_owned()],
            substitutions: Vec::new(),
            signed: true,
            rows: vec![("part 0".to_owned(), vec![1.0, -0.5])],
            more: 0,
        };
        let expected = format!(
            "h: entries over item\n  part 0\n    a   {} 1\n    bb  {} -0.5\n",
            "#".repeat(40),
            "-".repeat(20)
        );
        assert_eq!(bars(&own), expected);
    }

    #[test]
    fn substitutions_have_a_profile() {
        let labels: Vec<String> = ["A[C>A]A", "A[C>A]C", "A[C>T]A", "A[C>T]C"].map(str::to_owned).to_vec();
        let own = Bars {
            variable: "h".to_owned(),
            axis: "type".to_owned(),
            labels,
            substitutions: vec![("C>A".to_owned(), vec![0, 1]), ("C>T".to_owned(), vec![2, 3])],
            signed: false,
            rows: vec![("signature 0".to_owned(), vec![0.0, 0.1, 0.7, 0.2])],
            more: 0,
        };
        assert_eq!(
            bars(&own),
            "h: profiles over type\n  signature 0: A[C>T]A 70 %, A[C>T]C 20 %, A[C>A]C 10 %\n    C>A  C>T\n    ▁▂   █▃\n"
        );
    }

    #[test]
    fn intervals_say_which_are_apart_from_zero() {
        let own = |label: &str, mean: f64, sd: f64| Interval {
            label: label.to_owned(),
            mean,
            sd: Some(sd),
            ends: Some((mean - 2.0 * sd, mean + 2.0 * sd)),
        };
        let rows = vec![own("a", 2.0, 0.5), own("bb", -0.25, 0.25)];
        let found = intervals(&Intervals { variable: "w".to_owned(), signed: true, rows });
        let expected = "w: means with intervals of 90 %, 1 of 2 apart from 0\n       mean    sd    5 %  95 %\n  a       2   0.5      1     3\n  bb  -0.25  0.25  -0.75  0.25\n";
        assert_eq!(found, expected);
    }

    #[test]
    fn classes_stand_against_labels() {
        let own = Agreement {
            variable: "z".to_owned(),
            axis: "cluster".to_owned(),
            with: "known.csv:kind".to_owned(),
            columns: vec!["0".to_owned(), "1".to_owned()],
            rows: vec![("0".to_owned(), vec![10, 0]), ("2".to_owned(), vec![1, 7])],
            rand: 0.75,
            unknown: 0,
        };
        let expected = "z against known.csv:kind: adjusted Rand index 0.750 (1 for the same classes, 0 by chance)\n  cluster   0  1\n        0  10  .\n        2   1  7\n";
        assert_eq!(agreement(&own), expected);
    }

    #[test]
    fn curves_are_drawn_in_their_bands() {
        let curve = Curve {
            name: "pattern 0".to_owned(),
            mean: vec![0.0, 1.0, 3.0, 6.0],
            band: Some(vec![(0.0, 1.0), (0.0, 2.0), (2.0, 4.0), (5.0, 6.0)]),
        };
        let labels = ["mon", "tue", "wed", "thu"].map(str::to_owned).to_vec();
        let own =
            Curves { variable: "d".to_owned(), axis: "day".to_owned(), labels, rows: vec![curve], more: 0 };
        let expected = "d: curves over day (* the mean, : the interval of 90 %)\n  pattern 0: highest at thu\n  6 |   *\n    |   :\n    |  :\n    |  *\n    | ::\n    |:*\n  0 |*:\n     mon thu\n";
        assert_eq!(curves(&own), expected);
    }
}
