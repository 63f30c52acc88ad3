//! Heat maps with labels, drawn on a canvas.

use serde_json::json;

use crate::figure::{Axes, Figure, Table, short};
use crate::html::{base64, count, number};

/// A heat map has so many cells; of wider ones the columns with the largest values are kept.
const MOST_CELLS: usize = 60_000;
/// So many rows.
const MOST_ROWS: usize = 200;
/// So many entries are in its table.
const TABLE: usize = 100;

/// A matrix with labels.
pub(crate) struct Matrix<'a> {
    /// The name of the axis of the rows, and its labels.
    pub rows: (&'a str, &'a [String]),
    /// The name of the axis of the columns, and its labels.
    pub columns: (&'a str, &'a [String]),
    /// The entries, row by row.
    pub values: Vec<f64>,
    /// Whether columns have an order of their own.
    pub ordered: bool,
}

/// The matrix in colours: of what it is for the name of its file, its title, and what its values are in a sentence.
pub(crate) fn figure(of: &str, title: String, what: &str, matrix: &Matrix<'_>) -> Figure {
    let Matrix { rows: (row_axis, row_labels), columns: (column_axis, column_labels), values, ordered } =
        matrix;
    let width = column_labels.len();
    let rows: Vec<usize> =
        largest(row_labels.len(), MOST_ROWS, |row| size_of(&values[row * width..(row + 1) * width]));
    let most = (MOST_CELLS / rows.len().max(1)).max(1);
    let column = |place: usize| rows.iter().map(move |row| values[row * width + place]);
    let mut columns = largest(width, most, |place| column(place).map(f64::abs).fold(0.0, f64::max));
    if !ordered {
        // Columns stand with those that are largest in the same row, from large to small.
        let key = |place: usize| {
            let best = column(place).enumerate().fold((0, 0.0_f64), |best, (row, own)| {
                if own.abs() > best.1 { (row, own.abs()) } else { best }
            });
            (best.0, -best.1)
        };
        columns.sort_by(|one, other| {
            let (one, other) = (key(*one), key(*other));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
        });
    }
    let shown: Vec<f64> =
        rows.iter().flat_map(|row| columns.iter().map(move |place| values[row * width + place])).collect();
    let mut note = format!("{what} A row for each {row_axis}, a column for each {column_axis}.");
    if !ordered {
        note += " Columns stand beside others that are largest in the same row.";
    }
    if columns.len() < width || rows.len() < row_labels.len() {
        note += &format!(
            " The {} of {} rows and {} of {} columns with the largest values are drawn.",
            count(rows.len()),
            count(row_labels.len()),
            count(columns.len()),
            count(width)
        );
    }
    let names = |places: &[usize], labels: &[String]| {
        places.iter().map(|own| labels[*own].clone()).collect::<Vec<_>>()
    };
    let full = full_colour(&shown);
    if full < 0.5 * size_of(&shown) {
        note += " The strongest colour stands for all beyond 99 % of the values.";
    }
    let (low, high) = shown
        .iter()
        .filter(|own| own.is_finite())
        .fold((0.0_f64, 0.0_f64), |(low, high), own| (low.min(*own), high.max(*own)));
    Figure {
        name: format!("{of}-heat"),
        axes: Axes::new(*column_axis, *row_axis),
        title,
        note,
        drawing: json!({
            "kind": "heat",
            "rowAxis": row_axis,
            "columnAxis": column_axis,
            "rows": names(&rows, row_labels),
            "columns": names(&columns, column_labels),
            "low": short(low),
            "high": short(high),
            "full": short(full),
            "values": base64(&levels(&shown, low, high)),
        }),
        table: table(matrix),
    }
}

/// The entries on a scale from 0 to 65534 between the least and the largest, two bytes each, the lower first; 65535 is none.
fn levels(values: &[f64], low: f64, high: f64) -> Vec<u8> {
    let level = |own: &f64| match own.is_finite() {
        true if high > low => (65534.0 * ((own - low) / (high - low))).round() as u16,
        true => 0,
        false => u16::MAX,
    };
    values.iter().flat_map(|own| level(own).to_le_bytes()).collect()
}

/// The size from which on colours do not change: the 99 % point of the sizes that are not 0, or the largest where that is near.
fn full_colour(values: &[f64]) -> f64 {
    let mut sizes: Vec<f64> =
        values.iter().map(|own| own.abs()).filter(|own| *own > 0.0 && own.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let Some(largest) = sizes.last().copied() else { return 0.0 };
    let point = sizes[(sizes.len() * 99 / 100).min(sizes.len() - 1)];
    if point < 0.5 * largest { point } else { largest }
}

fn size_of(values: &[f64]) -> f64 {
    values.iter().map(|own| own.abs()).fold(0.0, f64::max)
}

/// So many of `n` places with the largest sizes, in their order.
fn largest(n: usize, most: usize, size: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..n).collect();
    if n > most {
        let sizes: Vec<f64> = places.iter().map(|own| size(*own)).collect();
        places.sort_by(|one, other| sizes[*other].total_cmp(&sizes[*one]).then(one.cmp(other)));
        places.truncate(most);
        places.sort_unstable();
    }
    places
}

/// The entries of the largest size.
fn table(matrix: &Matrix<'_>) -> Table {
    let Matrix { rows: (row_axis, row_labels), columns: (column_axis, column_labels), values, .. } = matrix;
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by_size =
        |one: &usize, other: &usize| values[*other].abs().total_cmp(&values[*one].abs()).then(one.cmp(other));
    if order.len() > TABLE {
        order.select_nth_unstable_by(TABLE, by_size);
        order.truncate(TABLE);
    }
    order.sort_by(by_size);
    let cells = order.iter().map(|place| {
        let (row, column) = (place / column_labels.len(), place % column_labels.len());
        vec![row_labels[row].clone(), column_labels[column].clone(), number(values[*place])]
    });
    let mut table = Table::new(&[row_axis, column_axis, "value"], 2, cells);
    table.more = values.len() - table.rows.len();
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(n: usize) -> Vec<String> {
        (0..n).map(|own| own.to_string()).collect()
    }

    #[test]
    fn large_ones_keep_their_largest_columns_and_say_so() {
        let (rows, columns) = (labels(100), labels(5000));
        let mut values = vec![0.0; 500_000];
        values[4999] = 2.0;
        let matrix = Matrix { rows: ("k", &rows), columns: ("v", &columns), values, ordered: true };
        let figure = figure("t", "t".to_owned(), "Means.", &matrix);
        assert!(figure.note.contains("600 of 5,000 columns"), "{}", figure.note);
        assert_eq!(figure.drawing["columns"][599], "4999");
        assert_eq!(figure.table.rows[0], ["0", "4999", "2"]);
        assert_eq!(figure.table.more, 499_900);
    }

    #[test]
    fn columns_stand_with_those_of_their_row() {
        let (rows, columns) = (labels(2), labels(3));
        let values = vec![0.1, 3.0, 0.0, 2.0, 0.0, 1.0];
        let matrix = Matrix { rows: ("k", &rows), columns: ("v", &columns), values, ordered: false };
        let drawing = figure("t", "t".to_owned(), "Means.", &matrix).drawing;
        assert_eq!(drawing["columns"], json!(["1", "0", "2"]));
    }

    #[test]
    fn one_large_value_does_not_take_all_colours() {
        let mut values = vec![1.0; 1000];
        values[0] = 100.0;
        assert_eq!(full_colour(&values), 1.0);
        assert_eq!([full_colour(&[0.0, 3.0, -4.0]), full_colour(&[]), full_colour(&[0.0])], [4.0, 0.0, 0.0]);
    }

    #[test]
    fn levels_span_the_values() {
        assert_eq!(levels(&[-1.0, 1.0, f64::NAN], -1.0, 1.0), [0, 0, 254, 255, 255, 255]);
    }
}
