//! What colours the rows of an axis: a column of a table, joined by labels or by order.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cavi::Error;
use cavi_files::split_column;

/// So many colours are told apart; other values share one.
const MOST_CLASSES: usize = 7;
/// What the rest is called.
const REST: &str = "other";

/// `NAME=FILE:COLUMN`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colouring {
    /// What the colours are of, for the legend.
    pub name: String,
    /// The table.
    pub file: PathBuf,
    /// Its column, by name or by number from 1.
    pub column: String,
}

impl Colouring {
    /// Reads the option.
    ///
    /// # Errors
    /// A text of another form, as a message.
    pub fn parse(text: &str) -> Result<Colouring, String> {
        let (name, rest) = text.split_once('=').filter(|(name, _)| !name.is_empty()).unwrap_or(("", text));
        match (name, split_column(rest)) {
            ("", _) | (_, (_, None)) => {
                Err(format!("`--by {text}` is not NAME=FILE:COLUMN, as `--by year=talks.csv:year`"))
            }
            (name, (file, Some(column))) => Ok(Colouring { name: name.to_owned(), file, column }),
        }
    }
}

/// A colouring with the values of its column.
pub(crate) struct Column {
    /// What the colours are of.
    pub name: String,
    own: cavi::column::Column,
}

/// What an axis is coloured by.
pub(crate) enum Colours {
    /// A number for each position.
    Numbers(Vec<f64>),
    /// One of few classes for each position.
    Classes(Vec<String>),
}

impl Colours {
    /// Whether a position has a colour of its own.
    pub fn is_known(&self, place: usize) -> bool {
        match self {
            Colours::Numbers(numbers) => numbers[place].is_finite(),
            // What has no class shares one without a name.
            Colours::Classes(_) => true,
        }
    }
}

impl Column {
    /// Reads the column.
    ///
    /// # Errors
    /// A file that cannot be read, or without the column.
    pub fn read(colouring: &Colouring) -> Result<Column, Error> {
        let Colouring { name, file, column } = colouring;
        let own = cavi::column::Column::read(&format!("--by {name}"), file, column)?;
        Ok(Column { name: name.clone(), own })
    }

    /// The value at each of these labels, if the column has any of them.
    pub fn along(&self, labels: &[String]) -> Option<Vec<&str>> {
        self.own.along(labels).ok().flatten()
    }

    /// What is wrong with a table that has labels of these and does not say which value is theirs.
    pub fn refuse_ambiguous(&self, labels: &[String]) -> Result<(), Error> {
        let problem = |what| cavi::bind::DataError::new(format!("`--by {}`: {what}", self.name)).into();
        self.own.along(labels).map(|_| ()).map_err(problem)
    }

    /// The colours at these labels.
    pub fn colours(&self, labels: &[String]) -> Option<Colours> {
        let values = self.along(labels)?;
        let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
        values.iter().for_each(|value| *tally.entry(value).or_default() += 1);
        let mut counts: Vec<(&str, usize)> = tally.into_iter().collect();
        let number = |text: &&str| if text.is_empty() { Some(f64::NAN) } else { text.parse().ok() };
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        if let Some(numbers) = numbers.filter(|_| counts.len() > MOST_CLASSES) {
            return Some(Colours::Numbers(numbers));
        }
        counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        let kept = if counts.len() > MOST_CLASSES { MOST_CLASSES - 1 } else { MOST_CLASSES };
        let kept: Vec<&str> = counts.iter().take(kept).map(|(own, _)| *own).collect();
        let class = |own: &&str| if kept.contains(own) { (*own).to_owned() } else { REST.to_owned() };
        Some(Colours::Classes(values.iter().map(class).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(labels: Option<&[&str]>, values: &[&str]) -> Column {
        let owned = |all: &[&str]| all.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>();
        let own = cavi::column::Column {
            labels: labels.map(owned),
            values: owned(values),
            ..cavi::column::Column::default()
        };
        Column { name: "by".to_owned(), own }
    }

    fn labels(all: &[&str]) -> Vec<String> {
        all.iter().map(|own| (*own).to_owned()).collect()
    }

    #[test]
    fn values_are_joined_by_label_and_else_by_order() {
        let joined = column(Some(&["b", "a"]), &["2", "1"]);
        assert_eq!(joined.along(&labels(&["a", "b", "c"])), Some(vec!["1", "2", ""]));
        let ordered = column(None, &["2", "1"]);
        assert_eq!(ordered.along(&labels(&["a", "b"])), Some(vec!["2", "1"]));
        assert_eq!(ordered.along(&labels(&["a"])), None);
    }

    #[test]
    fn many_classes_share_a_colour_and_many_numbers_are_a_scale() {
        let names: Vec<String> = (0..20).map(|own| format!("n{own}")).collect();
        let values: Vec<&str> = names.iter().map(String::as_str).collect();
        let Some(Colours::Classes(classes)) = column(None, &values).colours(&names) else {
            panic!("classes")
        };
        assert_eq!(classes.iter().filter(|own| *own == REST).count(), 14);
        let years: Vec<String> = (1990..2010).map(|own| own.to_string()).collect();
        let values: Vec<&str> = years.iter().map(String::as_str).collect();
        assert!(matches!(column(None, &values).colours(&names), Some(Colours::Numbers(_))));
    }

    #[test]
    fn the_option_names_a_column() {
        let read = Colouring::parse("year=talks.csv:year").expect("it is well formed");
        assert_eq!((read.name.as_str(), read.column.as_str()), ("year", "year"));
        for wrong in ["talks.csv:year", "year=talks.csv", "=talks.csv:year", "year"] {
            assert!(Colouring::parse(wrong).is_err(), "{wrong}");
        }
    }
}
