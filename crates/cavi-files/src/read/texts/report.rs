//! What was read of texts, and what was left out of them.

use super::options::TextOptions;

/// How texts became counts.
#[derive(Clone, Debug, PartialEq)]
pub struct TextReport {
    /// For each column in how many documents its word stands, and how often.
    pub words: Vec<WordCount>,
    /// What was read and left out.
    pub tally: TextTally,
    /// How many entries were left out since their word is none of those that were given beforehand.
    pub unknown: usize,
    /// Which words counted.
    pub options: TextOptions,
}

impl TextReport {
    /// Of counts that were packed: of the texts themselves nothing is known but how they were read.
    pub(crate) fn of_packed(words: Vec<WordCount>, options: TextOptions) -> TextReport {
        TextReport { words, tally: TextTally::default(), unknown: 0, options }
    }

    /// Whether the counts were packed, so that no text was read for them.
    pub fn is_packed(&self) -> bool {
        self.tally.unit.is_empty()
    }
}

/// How often a word stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordCount {
    /// In so many documents.
    pub documents: u64,
    /// So many times.
    pub count: u64,
}

/// What was read and left out. Pairs are occurrences and different words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTally {
    /// What a text is: a file, a line or a row.
    pub unit: &'static str,
    /// How many texts.
    pub texts: usize,
    /// How many documents they make up.
    pub documents: usize,
    /// Occurrences of words of two letters or more.
    pub words: u64,
    /// Of those the stop words.
    pub stopped: u64,
    /// Of too few documents.
    pub rare: (u64, usize),
    /// Of too many documents.
    pub common: (u64, usize),
    /// Beyond the number of words that was asked for.
    pub beyond: (u64, usize),
    /// Of none of the words that were given beforehand.
    pub unknown: (u64, usize),
    /// The first of those.
    pub first_unknown: Vec<String>,
    /// Where the words that were given beforehand come from.
    pub unknown_to: Option<String>,
}
