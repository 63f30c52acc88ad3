//! Labels that are whole numbers and are written with a decimal point, as `2.0`.
//!
//! A column of whole numbers of which one is missing is a column of floating-point numbers in many programs, which write them as `2.0`. In
//! Parquet and in a database such a column holds numbers, and its label is `2`. A text says so by itself: where all labels of a column are
//! numbers in decimal notation, the whole ones among them are read as they are written elsewhere, `2`. Each label is read so whatever
//! others stand beside it, so that `0.0, 0.5, 1.0` of one file meet `0, 1` of another. One label that is no such number (`007`, `v1.0`) leaves all
//! as they are.

use std::collections::HashMap;

use crate::content::{Categories, Content, MISSING, Values};

/// Content with its labels that are whole numbers as such.
pub(crate) fn canonical(mut content: Content) -> Content {
    match &mut content {
        Content::Dense(dense) => {
            dense.labels.iter_mut().flatten().for_each(|labels| list(labels));
            if let Values::Text(text) = &mut dense.values {
                column(text);
            }
        }
        Content::Long(long) => {
            long.positions.iter_mut().for_each(column);
            if let Some((_, Values::Text(text))) = &mut long.values {
                column(text);
            }
        }
        Content::Coordinates(coordinates) => {
            coordinates.labels.iter_mut().flatten().for_each(|labels| list(labels));
        }
        Content::Documents(_) => {}
    }
    content
}

/// The same of labels no two of which are alike; they stay so.
pub(crate) fn list(labels: &mut [String]) {
    let Some(all) = all_numbers(labels) else { return };
    let distinct: std::collections::HashSet<&String> = all.iter().collect();
    if distinct.len() == labels.len() {
        labels.clone_from_slice(&all);
    }
}

/// The same of a column, in which `2` and `2.0` are one label.
fn column(column: &mut Categories) {
    let Some(all) = all_numbers(&column.names) else { return };
    let mut places: HashMap<String, u32> = HashMap::new();
    let mut names = Vec::new();
    let mut place_of = |name: String| {
        *places.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    };
    let map: Vec<u32> = all.into_iter().map(&mut place_of).collect();
    for code in column.codes.iter_mut().filter(|code| **code != MISSING) {
        *code = map[*code as usize];
    }
    column.names = names;
}

/// All labels, the whole numbers among them without a decimal point; `None` where one is no number, or none has a decimal point.
fn all_numbers(labels: &[String]) -> Option<Vec<String>> {
    let all: Vec<String> = labels.iter().map_while(|label| number(label).map(str::to_owned)).collect();
    (all.len() == labels.len() && labels.iter().any(|label| label.contains('.'))).then_some(all)
}

/// `2` of `2.0` and of `2`, and `2.5` of `2.5`; `None` of what is no number in plain decimal notation.
fn number(label: &str) -> Option<&str> {
    let (number, rest) = label.split_once('.').unwrap_or((label, ""));
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_number = [digits, rest].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_plain = digits == "0" || !digits.is_empty() && !digits.starts_with('0');
    let is_whole = rest.bytes().all(|byte| byte == b'0');
    let is_negative_zero = number == "-0" && is_whole;
    (is_number && is_plain && !is_negative_zero).then_some(if is_whole { number } else { label })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[&str]) -> Vec<String> {
        let mut labels: Vec<String> = labels.iter().map(|own| (*own).to_owned()).collect();
        list(&mut labels);
        labels
    }

    #[test]
    fn whole_numbers_are_written_as_such_where_all_are_numbers() {
        assert_eq!(read(&["2.0", "0.0", "-1.0", "10"]), ["2", "0", "-1", "10"]);
        assert_eq!(read(&["2.00", "3."]), ["2", "3"]);
        assert_eq!(read(&["0.0", "0.5", "-0.50", "1.0"]), ["0", "0.5", "-0.50", "1"]);
        for kept in [
            ["2.5", "0.5"],
            ["2.0", "1e3"],
            ["2.0", "a"],
            ["007", "1.0"],
            ["1", "2"],
            ["1", "1.0"],
            ["", "1.0"],
            ["-0.0", "1.0"],
            ["1.0.0", "2.0"],
            [".0", "1.0"],
        ] {
            assert_eq!(read(&kept), kept);
        }
    }

    #[test]
    fn in_a_column_both_spellings_are_one_label() {
        let names = ["1.0", "2", "1"].map(str::to_owned).to_vec();
        let mut own = Categories { names, codes: vec![0, 1, MISSING, 2] };
        column(&mut own);
        assert_eq!((own.names, own.codes), (vec!["1".to_owned(), "2".to_owned()], vec![0, 1, MISSING, 0]));
    }
}
