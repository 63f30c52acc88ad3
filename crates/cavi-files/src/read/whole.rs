//! One spelling for labels that are numbers or truth values.
//!
//! What writes a table decides how a number looks. A column of whole numbers of which one is missing is a column of floating-point numbers in many
//! programs, which write them as `2.0`; `0.00001` is `1e-05` in one program and `1e-5` in another, 100000 is `1e+05`, and what is so is `True`, `TRUE` or
//! `true`. So a label that says a number is read as one spelling of it, that of [`format_number`]: `2` for `2.0`, `1e-5` for `1e-05` and `0.00001`, `100000`
//! for `1e+05`. Labels all of which are truth values are `True` and `False`. This holds in every format, in the labels that a fit wrote, and whatever
//! labels stand beside it. Two files have the same labels then if they say the same, and labels that were written are found when they are read again.
//!
//! Letters with marks have one spelling as well, the composed one (normalisation form C of Unicode): systems differ in whether they write `é` as one
//! character or as `e` and an accent, and nobody sees which it is.
//!
//! Digits stay as they are otherwise: `0.50` and `3.10` may be no numbers, and neither may `1e5`, which no program writes for 100000.
//!
//! Only one thing keeps a label as it is: a list that has both spellings, in which they are two labels, as among the words of a vocabulary. Then they
//! are two labels in all that is joined to this list. In a column that holds numbers only they are one, and so are in any column the two spellings of
//! a letter with marks.
//!
//! # Source
//! Unicode Standard Annex 15, Unicode Normalization Forms, <https://www.unicode.org/reports/tr15/>.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::content::{Categories, Content, MISSING, Values};
use crate::write::format_number;

/// The labels of a dimension, or of values.
pub enum Labels<'a> {
    /// A list without repetitions.
    List(&'a mut Vec<String>),
    /// A column of a table.
    Column(&'a mut Categories),
}

/// All labels of content, each with its dimension; `None` of labels that are values.
pub fn labels_of(content: &mut Content) -> Vec<(Option<usize>, Labels<'_>)> {
    fn lists(lists: &mut [Option<Vec<String>>]) -> impl Iterator<Item = (Option<usize>, Labels<'_>)> {
        let named =
            |(dimension, own): (usize, _)| Some((Some(dimension), Labels::List(Option::as_mut(own)?)));
        lists.iter_mut().enumerate().filter_map(named)
    }
    match content {
        Content::Dense(dense) => {
            let values = match &mut dense.values {
                Values::Text(text) => Some((None, Labels::Column(text))),
                Values::Numbers(_) => None,
            };
            lists(&mut dense.labels).chain(values).collect()
        }
        Content::Long(long) => {
            let values = match &mut long.values {
                Some((_, Values::Text(text))) => Some((None, Labels::Column(text))),
                Some((_, Values::Numbers(_))) | None => None,
            };
            let columns = long.positions.iter_mut().enumerate();
            columns.map(|(dimension, own)| (Some(dimension), Labels::Column(own))).chain(values).collect()
        }
        Content::Coordinates(coordinates) => {
            let values = coordinates.value_labels.as_mut().map(|own| (None, Labels::List(own)));
            lists(&mut coordinates.labels).chain(values).collect()
        }
        Content::Documents(_) => Vec::new(),
    }
}

/// Content with one spelling of its labels, each dimension by itself.
pub fn canonical(mut content: Content) -> Content {
    for (_, mut labels) in labels_of(&mut content) {
        Spellings::default().and(&labels).apply(&mut labels);
    }
    content
}

/// The labels of a list, each in its one spelling. Of labels no two of which are alike, none become alike.
pub fn list(labels: &mut Vec<String>) {
    let mut labels = Labels::List(labels);
    Spellings::default().and(&labels).apply(&mut labels);
}

/// Which labels stay as they are written, by all lists of labels that are joined.
#[derive(Clone, Debug, Default)]
pub struct Spellings {
    /// Those that some list has in several spellings, in the one.
    apart: HashSet<String>,
}

impl Spellings {
    /// The same with what one more list says.
    pub fn and(mut self, labels: &Labels<'_>) -> Spellings {
        self.hear(labels);
        self
    }

    /// Takes note of what a list has in several spellings.
    pub fn hear(&mut self, labels: &Labels<'_>) {
        let names = labels.names();
        let of = of_list(names);
        let is_one = matches!(labels, Labels::Column(_)) && names.iter().all(|name| number(name).is_some());
        if is_one || labels.are_canonical() {
            return;
        }
        let written = |name| match labels {
            Labels::List(_) => Cow::Borrowed(name),
            Labels::Column(_) => composed(name),
        };
        // The first name of each spelling.
        let mut seen: HashMap<Cow<'_, str>, &str> = HashMap::with_capacity(names.len());
        for name in names {
            let own = of(name);
            match seen.get(&own) {
                Some(before) if written(before) == written(name) => {}
                Some(_) => _ = self.apart.insert(own.into_owned()),
                None => _ = seen.insert(own, name),
            }
        }
    }

    /// Gives labels their one spelling.
    pub fn apply(&self, labels: &mut Labels<'_>) {
        let of = of_list(labels.names());
        let spelled = |name: &str| -> Option<String> {
            let own = of(name);
            (own != name && !self.apart.contains(own.as_ref())).then(|| own.into_owned())
        };
        let names = match labels {
            Labels::List(names) => &mut **names,
            Labels::Column(column) => &mut column.names,
        };
        let mut has_changed = false;
        for name in names.iter_mut() {
            if let Some(own) = spelled(name) {
                *name = own;
                has_changed = true;
            }
        }
        if let (Labels::Column(column), true) = (labels, has_changed) {
            without_repetitions(column);
        }
    }

    /// One label in its one spelling.
    pub fn of(&self, label: &str) -> String {
        let own = canonical_label(label);
        if self.apart.contains(own.as_ref()) { label.to_owned() } else { own.into_owned() }
    }
}

impl Labels<'_> {
    /// The distinct labels.
    pub fn names(&self) -> &[String] {
        match self {
            Labels::List(names) => names,
            Labels::Column(column) => &column.names,
        }
    }

    /// Whether each has its one spelling already.
    pub fn are_canonical(&self) -> bool {
        let of = of_list(self.names());
        self.names().iter().all(|name| of(name) == name.as_str())
    }
}

/// How the labels of a list are spelled.
fn of_list(names: &[String]) -> fn(&str) -> Cow<'_, str> {
    match !names.is_empty() && names.iter().all(|name| truth(name).is_some()) {
        true => |name| truth(name).map_or(Cow::Borrowed(name), Cow::Borrowed),
        false => canonical_label,
    }
}

/// Names that have become alike are one.
fn without_repetitions(column: &mut Categories) {
    let mut places: HashMap<&str, u32> = HashMap::with_capacity(column.names.len());
    let mut first = Vec::new();
    let map: Vec<u32> = (column.names.iter().enumerate())
        .map(|(place, name)| {
            *places.entry(name).or_insert_with(|| {
                first.push(place);
                first.len() as u32 - 1
            })
        })
        .collect();
    if first.len() == column.names.len() {
        return;
    }
    for code in column.codes.iter_mut().filter(|code| **code != MISSING) {
        *code = map[*code as usize];
    }
    column.names = first.into_iter().map(|place| std::mem::take(&mut column.names[place])).collect();
}

/// A label as it is read everywhere: `2` of `2.0`, `1e-5` of `1e-05`, and any other as it is, with its letters composed.
pub fn canonical_label(label: &str) -> Cow<'_, str> {
    number(label).unwrap_or_else(|| composed(label))
}

/// A text with each letter and its marks as one character, where there is one.
pub(crate) fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

/// `True` or `False`, in the three ways in which programs write them.
fn truth(label: &str) -> Option<&'static str> {
    match label {
        "True" | "TRUE" | "true" => Some("True"),
        "False" | "FALSE" | "false" => Some("False"),
        _ => None,
    }
}

/// The one spelling of a number; `None` of what is none in decimal notation.
fn number(label: &str) -> Option<Cow<'_, str>> {
    let (plain, exponent) = match label.split_once(['e', 'E']) {
        Some((plain, exponent)) => (plain, Some(exponent)),
        None => (label, None),
    };
    let (whole, rest) = plain.split_once('.').unwrap_or((plain, ""));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    let is_plain = digits == "0" || !digits.is_empty() && !digits.starts_with('0');
    if !are_digits(digits) || !are_digits(rest) || !is_plain {
        return None;
    }
    // What more than seventeen digits say no double does.
    let as_double = || {
        let significant = [digits, rest].concat().trim_matches('0').len();
        let value = label.parse::<f64>().ok().filter(|own| own.is_finite() && significant <= 17);
        Cow::Owned(value.map_or_else(|| label.to_owned(), format_number))
    };
    let is_none = is_zero(digits) && is_zero(rest);
    match exponent {
        Some(exponent) => {
            let power = exponent.strip_prefix(['+', '-'])?;
            (!power.is_empty() && are_digits(power) && !is_none).then(as_double)
        }
        None if is_none && whole == "-0" => None,
        None if is_zero(rest) => Some(Cow::Borrowed(whole)),
        None if digits == "0" && rest.starts_with("0000") => Some(as_double()),
        None => Some(Cow::Borrowed(label)),
    }
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
        assert_eq!(read(&["1e-05", "1.5E-07", "1e+05", "1e+16"]), ["1e-5", "1.5e-7", "100000", "1e16"]);
        assert_eq!(
            read(&["0.00001", "-0.000050", "0.0001", "2.5e-3"]),
            ["1e-5", "-5e-5", "0.0001", "0.0025"]
        );
        assert_eq!(read(&["TRUE", "FALSE"]), ["True", "False"]);
        assert_eq!(read(&["false"]), ["False"]);
        assert_eq!(read(&["1e-05", "0.00001"]), ["1e-05", "0.00001"]);
        // More digits than a double has.
        assert_eq!(read(&["0.000012345678901234567890"]), ["0.000012345678901234567890"]);
        for kept in [
            ["2.5", "0.5"],
            ["1e3", "007"],
            ["1E5", "3.10"],
            ["1e-", "1e+x"],
            ["-0e-5", "e-5"],
            ["true", "maybe"],
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
        let column = |own: &mut Categories| {
            let mut labels = Labels::Column(own);
            Spellings::default().and(&labels).apply(&mut labels);
        };
        let mut own = Categories { names, codes: vec![0, 1, MISSING, 2] };
        column(&mut own);
        assert_eq!((own.names, own.codes), (vec!["1".to_owned(), "2".to_owned()], vec![0, 1, MISSING, 0]));
        let names = ["1.0", "x", "1"].map(str::to_owned).to_vec();
        let mut own = Categories { names: names.clone(), codes: vec![0, 1, MISSING, 2] };
        column(&mut own);
        assert_eq!((own.names, own.codes), (names, vec![0, 1, MISSING, 2]));
    }

    #[test]
    fn letters_and_their_marks_are_composed() {
        assert_eq!(read(&["Ana\u{308}is", "e\u{301}", "b"]), ["Anäis", "é", "b"]);
        // The Angstrom sign is the letter, and ligatures are no letters with marks.
        assert_eq!(read(&["\u{212b}", "ﬁ"]), ["Å", "ﬁ"]);
        // A list that has both has two labels, and a column one.
        assert_eq!(read(&["e\u{301}", "é"]), ["e\u{301}", "é"]);
        let names = ["e\u{301}", "x", "é"].map(str::to_owned).to_vec();
        let mut own = Categories { names, codes: vec![0, 1, MISSING, 2] };
        let mut labels = Labels::Column(&mut own);
        Spellings::default().and(&labels).apply(&mut labels);
        assert_eq!((own.names, own.codes), (vec!["é".to_owned(), "x".to_owned()], vec![0, 1, MISSING, 0]));
    }

    /// Versions 2 and 2.0 are two where one of the lists has both, and so are they in a column of numbers beside it.
    #[test]
    fn what_one_list_keeps_apart_is_apart_in_the_others() {
        let of = |own: &[&str]| -> Vec<String> { own.iter().map(|own| (*own).to_owned()).collect() };
        let (mut both, mut other) = (of(&["v2", "2", "2.0"]), of(&["v2", "2.0", "3.0"]));
        let mut numbers = Categories { names: of(&["2.0", "2", "3.0", "3"]), codes: vec![0, 1, 2, 3] };
        let mut spellings = Spellings::default();
        let mut all = [Labels::List(&mut both), Labels::List(&mut other), Labels::Column(&mut numbers)];
        all.iter().for_each(|own| spellings.hear(own));
        all.iter_mut().for_each(|own| spellings.apply(own));
        assert_eq!((both, other), (of(&["v2", "2", "2.0"]), of(&["v2", "2.0", "3"])));
        assert_eq!((numbers.names, numbers.codes), (of(&["2.0", "2", "3"]), vec![0, 1, 2, 2]));
        assert_eq!(["2.0", "3.0"].map(|own| spellings.of(own)), ["2.0", "3"]);
    }
}
