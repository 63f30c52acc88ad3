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
            "unit": if full > 0.0 { full } else { 1.0 },
            "values": base64(&in_units(&shown, full)),
        }),
        table: table(matrix),
    }
}

/// The entries over the value from which on colours do not change, as numbers of single precision, four bytes each, the lowest first; none is no
/// number. So each has its own digits, however far a few others are beyond.
fn in_units(values: &[f64], full: f64) -> Vec<u8> {
    let unit = if full > 0.0 { full } else { 1.0 };
    let most = f64::from(f32::MAX);
    let number = |own: &f64| match own.is_finite() {
        true => (own / unit).clamp(-most, most) as f32,
        false => f32::NAN,
    };
    values.iter().flat_map(|own| number(own).to_le_bytes()).collect()
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
    fn an_outlier_leaves_the_others_their_digits() {
        let back = |values: &[f64], full: f64| -> Vec<f64> {
            let number = |own: &[u8]| full * f64::from(f32::from_le_bytes([own[0], own[1], own[2], own[3]]));
            in_units(values, full).chunks(4).map(number).collect()
        };
        let values = [2.0, 9.99, 1e6, -0.001, 1e-30];
        for (found, value) in back(&values, 9.99).into_iter().zip(values) {
            assert!((found - value).abs() <= 1e-6 * value.abs(), "{found} for {value}");
        }
        assert!(back(&[f64::NAN, f64::INFINITY], 1.0).iter().all(|own| own.is_nan()));
        // Values that single precision does not have are told apart by their unit.
        assert!((back(&[1e-50, 5e-51], 1e-50)[1] / 5e-51 - 1.0).abs() < 1e-6);
    }
}
