//! How far the classes of a fit agree with labels that are known apart from it.
//!
//! With `n_ij` entries of class i and label j, `a_i` and `b_j` their sums and `C(n) = n (n - 1) / 2`, the adjusted Rand index is
//! `(sum_ij C(n_ij) - e) / ((sum_i C(a_i) + sum_j C(b_j)) / 2 - e)`, `e = sum_i C(a_i) sum_j C(b_j) / C(n)`: 1 for the same partition whatever the
//! classes are called, 0 on average for one by chance.
//!
//! # Source
//! Hubert and Arabie, Comparing partitions, Journal of Classification 2, 1985.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, Support};

use super::View;
use crate::column::Column;

/// What gives the lines of a file that a program carries with it, by its name.
pub type Carried<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

/// Classes against known labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The variable.
    pub variable: String,
    /// The axis of the classes.
    pub axis: String,
    /// The file that the labels are from, with its column.
    pub with: String,
    /// The labels: numbers by size, and after them texts in the order of their letters.
    pub columns: Vec<String>,
    /// For each class that has entries what it is called, and how many entries it has of each label.
    pub rows: Vec<(String, Vec<usize>)>,
    /// The adjusted Rand index.
    pub rand: f64,
    /// Entries without a known label.
    pub unknown: usize,
}

impl View<'_> {
    /// The most probable class of each position against the labels of a file.
    ///
    /// # Errors
    /// In words, why they cannot be compared.
    pub(super) fn agreement(
        &self,
        variable: ArrayId,
        with: &str,
        carried: Carried<'_>,
    ) -> Result<Agreement, String> {
        let name = self.name(variable);
        let problem = |what: String| format!("`compare {name} with {with}`: {what}");
        let mean =
            self.mean(variable).ok_or_else(|| problem(format!("`{name}` has no factor of q of its own")))?;
        let is_binary = self.symbols().array(variable).support == Support::Binary;
        let (classes, plates) = match (is_binary, mean.axes.split_last()) {
            (true, _) => (2, mean.axes.clone()),
            (false, Some((_, plates))) => (mean.shape[plates.len()], plates.to_vec()),
            (false, None) => return Err(problem("it has no axis of classes".to_owned())),
        };
        let [axis] = plates[..] else {
            return Err(problem(format!(
                "`{name}` has its classes along {} axes, and not along one",
                plates.len()
            )));
        };
        let size = self.binding.bound.size(axis);
        let found: Vec<usize> = match is_binary {
            true => mean.values.iter().map(|own| usize::from(*own > 0.5)).collect(),
            false => mean.values.chunks(classes.max(1)).map(largest).collect(),
        };
        let labels: Vec<String> = (0..size).map(|position| self.label(axis, position)).collect();
        let column = match carried(with) {
            Some(values) => Column { values, ..Column::default() },
            None => Column::read_named(with).map_err(|error| problem(error.to_string()))?,
        };
        let Some(known) = column.along(&labels).map_err(problem)? else {
            return Err(problem(format!(
                "the file has {} labels, and the axis `{}` {size} positions",
                column.values.len(),
                self.symbols().axis(axis).name
            )));
        };
        let columns = in_order(&known);
        let places: BTreeMap<&str, usize> =
            columns.iter().enumerate().map(|(place, own)| (*own, place)).collect();
        let mut table = vec![vec![0_usize; columns.len()]; classes];
        let mut unknown = 0;
        for (class, label) in found.iter().zip(&known) {
            match places.get(label) {
                Some(place) => table[*class][*place] += 1,
                None => unknown += 1,
            }
        }
        let rand = adjusted_rand(&table);
        let class_axis = match self.symbols().array(variable).support {
            Support::Index(axis) => Some(axis),
            _ => mean.axes.last().copied().filter(|_| !is_binary),
        };
        let called =
            |class: usize| class_axis.map_or_else(|| class.to_string(), |axis| self.label(axis, class));
        let rows = table.into_iter().enumerate().filter(|(_, row)| row.iter().any(|own| *own > 0));
        Ok(Agreement {
            variable: name,
            axis: class_axis.map_or_else(String::new, |axis| self.symbols().axis(axis).name.clone()),
            with: with.to_owned(),
            rows: rows.map(|(class, row)| (called(class), row)).collect(),
            columns: columns.into_iter().map(str::to_owned).collect(),
            rand,
            unknown,
        })
    }
}

/// The labels, each once: numbers by size, and after them texts in the order of their letters.
fn in_order<'a>(labels: &[&'a str]) -> Vec<&'a str> {
    let each: BTreeSet<&str> = labels.iter().copied().filter(|own| !own.is_empty()).collect();
    let number = |own: &str| own.parse::<f64>().ok().filter(|own| own.is_finite());
    let mut columns: Vec<&str> = each.into_iter().collect();
    // Of two spellings of one number, as of texts, the order of the letters stays.
    columns.sort_by(|one, other| match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    });
    columns
}

/// The place of the largest number, of equal ones the first.
fn largest(values: &[f64]) -> usize {
    values.iter().enumerate().fold(0, |best, (place, own)| if *own > values[best] { place } else { best })
}

/// The adjusted Rand index of a table of classes by labels.
fn adjusted_rand(table: &[Vec<usize>]) -> f64 {
    let pairs = |count: usize| count as f64 * (count as f64 - 1.0) / 2.0;
    let rows: f64 = table.iter().map(|row| pairs(row.iter().sum())).sum();
    let width = table.first().map_or(0, Vec::len);
    let columns: f64 = (0..width).map(|column| pairs(table.iter().map(|row| row[column]).sum())).sum();
    let both: f64 = table.iter().flatten().map(|own| pairs(*own)).sum();
    let all = pairs(table.iter().flatten().sum());
    let expected = if all > 0.0 { rows * columns / all } else { 0.0 };
    let most = (rows + columns) / 2.0;
    // Two partitions into one part, or into single entries, are the same.
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::{adjusted_rand, in_order};

    #[test]
    fn labels_that_are_partly_numbers_have_one_order() {
        let of = |labels: &str| in_order(&labels.split(' ').collect::<Vec<_>>()).join(" ");
        assert_eq!(of("10 1a 9 1 2b 9 30 10 3c nan 2 1a"), "1 2 9 10 30 1a 2b 3c nan");
        assert_eq!(of("b a 1.0 -3 1 b"), "-3 1 1.0 a b");
        // Enough of them that a sort notices an order that is none.
        let many: Vec<String> = (0..200)
            .map(|own: u32| match own % 3 {
                0 => format!("{}a", own * 7 % 41),
                1 => format!("x{own}"),
                _ => format!("{}", own * 11 % 53),
            })
            .collect();
        let found = in_order(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let numbers: Vec<f64> = found.iter().map_while(|own| own.parse().ok()).collect();
        assert!(numbers.len() > 20 && numbers.is_sorted());
        assert!(
            found[numbers.len()..].is_sorted()
                && found[numbers.len()..].iter().all(|own| own.parse::<f64>().is_err())
        );
    }

    /// `sklearn.metrics.adjusted_rand_score` of scikit-learn 1.9.
    #[test]
    fn agreement_is_that_of_scikit_learn() {
        let table = |classes: &[usize], labels: &[usize]| {
            let mut table =
                vec![vec![0; 1 + labels.iter().max().unwrap()]; 1 + classes.iter().max().unwrap()];
            classes.iter().zip(labels).for_each(|(class, label)| table[*class][*label] += 1);
            adjusted_rand(&table)
        };
        assert!((table(&[0, 0, 1, 1], &[0, 0, 1, 2]) - 0.571_428_571_428_571_5).abs() < 1e-15);
        assert!((table(&[0, 0, 1, 1], &[1, 1, 0, 0]) - 1.0).abs() < 1e-15);
        assert!((table(&[0, 0, 0, 0], &[0, 1, 2, 3]) - 0.0).abs() < 1e-15);
        assert!((table(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-15);
        assert!((table(&[0, 0, 1, 2, 2, 2], &[0, 1, 1, 2, 2, 0]) - 0.074_074_074_074_074_07).abs() < 1e-15);
        assert_eq!(table(&[0, 0], &[0, 0]), 1.0);
    }
}
