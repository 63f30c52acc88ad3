//! Labels that are whole numbers and are written with a decimal point, as `2.0`.
//!
//! A column of whole numbers of which one is missing is a column of floating-point numbers in many programs, which write them as `2.0`. So
//! `2.0` and `2` are one label, and it is read as `2`: in every format, in the labels that a fit wrote, and whatever labels stand beside it. Two
//! files have the same labels then if they say the same, and labels that were written are found when they are read again.
//!
//! Only one thing keeps a label as it is: a list that has both spellings, in which they are two labels, as among the words of a vocabulary. In a
//! column that holds numbers only they are one.

use std::collections::HashMap;

use crate::content::{Categories, Content, MISSING, Values};

/// Content with its labels that are whole numbers as such.
pub fn canonical(mut content: Content) -> Content {
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
            coordinates.value_labels.iter_mut().for_each(|labels| list(labels));
        }
        Content::Documents(_) => {}
    }
    content
}

/// The labels of a list, each a whole number if it says one. Of labels no two of which are alike, none become alike.
pub fn list(labels: &mut [String]) {
    if labels.iter().all(|label| canonical_label(label).len() == label.len()) {
        return;
    }
    let mut spellings: HashMap<&str, u32> = HashMap::new();
    for label in labels.iter() {
        *spellings.entry(canonical_label(label)).or_default() += 1;
    }
    let is_one = |label: &String| spellings[canonical_label(label)] == 1;
    let cut: Vec<Option<usize>> =
        labels.iter().map(|label| is_one(label).then(|| canonical_label(label).len())).collect();
    for (label, length) in labels.iter_mut().zip(cut) {
        label.truncate(length.unwrap_or(label.len()));
    }
}

/// The same of a column. Where it holds numbers only, both spellings are one label.
fn column(column: &mut Categories) {
    if !column.names.iter().all(|name| number(name).is_some()) {
        return list(&mut column.names);
    }
    if column.names.iter().all(|name| canonical_label(name).len() == name.len()) {
        return;
    }
    let mut places: HashMap<String, u32> = HashMap::new();
    let mut names = Vec::new();
    let mut place_of = |name: &String| {
        *places.entry(canonical_label(name).to_owned()).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    };
    let map: Vec<u32> = column.names.iter().map(&mut place_of).collect();
    for code in column.codes.iter_mut().filter(|code| **code != MISSING) {
        *code = map[*code as usize];
    }
    column.names = names;
}

/// A label as it is read everywhere: `2` of `2.0`, and any other as it is. It is the beginning of the label.
pub fn canonical_label(label: &str) -> &str {
    number(label).unwrap_or(label)
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
    fn whole_numbers_are_written_as_such_whatever_stands_beside_them() {
        assert_eq!(read(&["2.0", "0.0", "-1.0", "10"]), ["2", "0", "-1", "10"]);
        assert_eq!(read(&["2.00", "3."]), ["2", "3"]);
        assert_eq!(read(&["0.0", "0.5", "-0.50", "1.0"]), ["0", "0.5", "-0.50", "1"]);
        assert_eq!(read(&["baseline", "0.5", "1.0"]), ["baseline", "0.5", "1"]);
        assert_eq!(read(&["2.0", "a", "1", "1.0"]), ["2", "a", "1", "1.0"]);
        for kept in [
            ["2.5", "0.5"],
            ["1e3", "007"],
            ["1", "2"],
            ["1", "1.0"],
            ["", "-0.0"],
            ["1.0.0", "v1.0"],
            [".0", "007.0"],
        ] {
            assert_eq!(read(&kept), kept);
        }
    }

    #[test]
    fn what_was_read_is_read_as_it_stands() {
        for labels in [vec!["1.0", "2.0", "x"], vec!["1.0", "1"], vec!["1.00", "1.0", "3.0"]] {
            let once = read(&labels);
            assert_eq!(read(&once.iter().map(String::as_str).collect::<Vec<_>>()), once);
        }
    }

    #[test]
    fn in_a_column_of_numbers_both_spellings_are_one_label() {
        let names = ["1.0", "2", "1"].map(str::to_owned).to_vec();
        let mut own = Categories { names, codes: vec![0, 1, MISSING, 2] };
        column(&mut own);
        assert_eq!((own.names, own.codes), (vec!["1".to_owned(), "2".to_owned()], vec![0, 1, MISSING, 0]));
        let names = ["1.0", "x", "1"].map(str::to_owned).to_vec();
        let mut own = Categories { names: names.clone(), codes: vec![0, 1, MISSING, 2] };
        column(&mut own);
        assert_eq!((own.names, own.codes), (names, vec![0, 1, MISSING, 2]));
    }
}
