//! Columns and last lines of tables that are the sums of the others: totals, which are no data of their own.
//!
//! A matrix of small counts may have such a line by chance. So many sums of two numbers or more have to agree that it does not.

use cavi_algebra::{ArrayKind, Symbols};
use cavi_files::{Content, Dense, Values};

use super::pieces::Piece;

/// So many sums of several numbers agree by chance nowhere.
const ENOUGH: usize = 5;
/// So many do where the name says that it is a total.
const ENOUGH_OF_NAMED: usize = 2;

/// What a table has beside its data, if a column or the last line is the sum of the others.
pub(super) fn warnings(symbols: &Symbols, piece: &Piece) -> Vec<String> {
    let array = symbols.array(piece.array);
    let Content::Dense(Dense { shape, values: Values::Numbers(values), labels, lines: Some(_), .. }) =
        &piece.content
    else {
        return Vec::new();
    };
    let ([rows, columns], [row_labels, column_labels]) = (shape.as_slice(), labels.as_slice()) else {
        return Vec::new();
    };
    if array.kind != ArrayKind::Data {
        return Vec::new();
    }
    let axis = |dimension: usize| &symbols.axis(symbols.letter(piece.letters[dimension]).axis).name;
    let table = Table { values, rows: *rows, columns: *columns };
    let column = table.total_column(|place| name(column_labels, place));
    let row = table.is_last_total(name(row_labels, rows.saturating_sub(1)));
    let of_column = column.map(|place| {
        let shown =
            name(column_labels, place).map_or_else(|| (place + 1).to_string(), |own| format!("`{own}`"));
        format!(
            "{}: the column {shown} is the sum of the others in every line, and is read as data\n  help: if it holds totals and is no \
             {} of its own, leave it out of the file",
            piece.name(),
            axis(1)
        )
    });
    let of_row = row.then(|| {
        let line = piece.content.line((rows - 1) * columns);
        let line = line.map_or_else(|| format!("row {rows}"), |own| format!("line {own}"));
        let shown = name(row_labels, rows - 1).map_or_else(String::new, |own| format!(" (`{own}`)"));
        format!(
            "{}: {line}{shown} is the sum of the others in every column, and is read as data\n  help: if it holds totals and is no {} of \
             its own, leave it out of the file",
            piece.name(),
            axis(0)
        )
    });
    of_column.into_iter().chain(of_row).collect()
}

/// The label of a position, if there are labels and it is one.
fn name(labels: &Option<Vec<String>>, place: usize) -> Option<&str> {
    labels.as_ref()?.get(place).map(String::as_str)
}

/// Rows by columns.
struct Table<'a> {
    values: &'a [f64],
    rows: usize,
    columns: usize,
}

impl Table<'_> {
    /// The first column that is the sum of the others in every line.
    fn total_column<'n>(&self, name: impl Fn(usize) -> Option<&'n str>) -> Option<usize> {
        let mut found: Vec<(usize, usize)> = (0..self.columns).map(|place| (place, 0)).collect();
        for line in self.values.chunks_exact(self.columns.max(1)) {
            if line.iter().any(|own| own.is_nan()) {
                continue;
            }
            let sum: f64 = line.iter().sum();
            let nonzero = line.iter().filter(|own| **own != 0.0).count();
            found.retain_mut(|(place, agree)| {
                let own = line[*place];
                // Of the others two are not zero.
                *agree += usize::from(nonzero > 2 && own != 0.0);
                is_same(own, sum - own)
            });
            if found.is_empty() {
                return None;
            }
        }
        found.into_iter().find(|(place, agree)| *agree >= enough(name(*place))).map(|own| own.0)
    }

    /// Whether the last line is the sum of the others in every column.
    fn is_last_total(&self, name: Option<&str>) -> bool {
        if self.rows < 3 {
            return false;
        }
        let mut agree = 0;
        for column in 0..self.columns {
            let (mut sum, mut nonzero, mut last) = (0.0, 0, 0.0);
            for row in 0..self.rows {
                last = self.values[row * self.columns + column];
                if row + 1 < self.rows {
                    sum += last;
                    nonzero += usize::from(last != 0.0);
                }
            }
            // What a sum with a missing number is, nobody can say.
            if sum.is_nan() || last.is_nan() {
                continue;
            }
            if !is_same(last, sum) {
                return false;
            }
            agree += usize::from(nonzero > 1 && last != 0.0);
        }
        agree >= enough(name)
    }
}

/// Whether two numbers are one, but for how decimal fractions are rounded.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// How many sums have to agree, by the name of what is their total.
fn enough(name: Option<&str>) -> usize {
    let is_word = |word: &str| ["total", "totals", "sum", "sums", "overall"].contains(&word);
    let is_named =
        name.is_some_and(|name| name.to_lowercase().split(|own: char| !own.is_alphanumeric()).any(is_word));
    if is_named { ENOUGH_OF_NAMED } else { ENOUGH }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(columns: usize, values: &[f64], name: Option<&str>) -> (Option<usize>, bool) {
        let table = Table { values, rows: values.len() / columns, columns };
        (table.total_column(|_| name), table.is_last_total(name))
    }

    #[test]
    fn sums_of_several_numbers_are_totals() {
        let by_row = [1.0, 3.0, 2.0, 4.0, 9.0, 5.0, 2.0, 5.0, 3.0, 0.5, 1.2, 0.7, 1.0, 2.0, 1.0];
        assert_eq!(found(3, &by_row, None), (Some(1), false));
        let by_column = [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 1.0, 9.0, 6.0, 2.0, 4.0, 13.0];
        assert_eq!(found(4, &by_column, None), (None, false));
        assert_eq!(found(4, &by_column, Some("Grand total")), (None, true));
        let by_column = [1.0, 2.0, 3.0, 4.0, 1.0, 5.0, 7.0, 1.0, 9.0, 2.0, 6.0, 9.0, 4.0, 13.0, 3.0];
        assert_eq!(found(5, &by_column, None), (None, true));
        // What is missing says nothing.
        let lacking = [1.0, 2.0, 3.0, f64::NAN, 5.0, 5.0, 4.0, 5.0, 9.0];
        assert_eq!(found(3, &lacking, Some("total")), (Some(2), false));
    }

    #[test]
    fn counts_that_agree_by_chance_are_none() {
        for (columns, values) in [
            // Alike, and no sum.
            (2, vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 5.0, 5.0, 6.0, 6.0]),
            (3, vec![0.0; 30]),
            (4, vec![1.0, 2.0, 3.0, 6.0]),
            // Zeros and ones, of which one is the only other one: an intercept beside its groups too.
            (3, [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]].concat().repeat(8)),
            (3, vec![1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 1.0, 3.0]),
            // One line disagrees.
            (3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 3.0, 2.0, 5.0, 1.0, 1.0, 2.0, 7.0, 7.0, 7.0]),
            (3, vec![]),
        ] {
            assert_eq!(found(columns, &values, None), (None, false), "{values:?}");
        }
        assert_eq!(found(1, &[1.0, 2.0, 3.0], Some("total")), (None, false));
    }

    /// Small counts of few rows and columns agree most often.
    #[test]
    fn matrices_of_small_counts_have_no_totals() {
        let mut state = 1_u64;
        let mut count = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % 4) as f64
        };
        for place in 0..5_000 {
            let (rows, columns) = (1 + place % 7, 2 + place % 5);
            let values: Vec<f64> = (0..rows * columns).map(|_| count()).collect();
            assert_eq!(found(columns, &values, None), (None, false), "{values:?}");
        }
    }
}
