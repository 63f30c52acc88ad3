//! Texts as counts: how often each word stands in each document.
//!
//! Documents are the files of a folder, the lines of a file, or the cells of a column of text. Words are those of the Unicode
//! standard, in lower case, with two letters or more; [`TextOptions`] says which of them count. The result is a matrix of
//! documents by words with labels. Where the words are given beforehand (labels of an axis, those of an earlier fit), texts are
//! read by them: others are left out and counted, and no word is dropped for being rare.
//!
//! # Source
//! Words: Unicode Standard Annex 29, <https://www.unicode.org/reports/tr29/#Word_Boundaries>.

use crate::content::Content;
use crate::error::FileError;
use counter::Counter;

pub(super) mod column;
mod counter;
mod folder;
pub(crate) mod options;
mod report;

pub(crate) use folder::{first_names, folder};
pub use options::{LONGEST_SEQUENCE, LanguageName, MostDocuments, StopWords, TextOptions};
pub use report::{TextReport, TextTally, WordCount};

/// How texts are read.
#[derive(Clone, Copy, Debug)]
pub struct TextReading<'a> {
    /// Which words count.
    pub options: &'a TextOptions,
    /// The words, where they are given beforehand.
    pub vocabulary: Option<Vocabulary<'a>>,
}

/// Words that are given beforehand, in the order of their columns.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    /// The words.
    pub words: &'a [String],
    /// Where they come from, for messages.
    pub from: &'a str,
}

/// One document a line. Empty lines are documents without words, but for those that end the file.
pub(super) fn lines(text: &str, reading: &TextReading<'_>) -> Result<Content, FileError> {
    let mut counter = Counter::new(reading);
    for line in text.trim_end_matches(['\n', '\r']).lines() {
        counter.begin();
        counter.add(line);
    }
    counter.finish("line", None)
}
