//! Words counted document by document, and which of them stay.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use cavi_numerics::Numbers;
use rust_stemmers::Stemmer;
use unicode_segmentation::UnicodeSegmentation;

use super::TextReading;
use super::options::MostDocuments;
use super::report::{TextReport, TextTally, WordCount};
use crate::content::{Content, Coordinates};
use crate::error::{FileError, count};
use crate::read::collector::ShortTextHasher;
use crate::read::whole::composed;

/// What becomes of a word that is left out wherever it stands.
const STOPPED: u32 = u32::MAX;
/// What precedes a single word.
const NOTHING: u32 = u32::MAX;
/// So many letters make a word.
const LETTERS: usize = 2;

type Fast = BuildHasherDefault<ShortTextHasher>;

/// A word, or a sequence of words: one before it, and the last.
struct Term {
    before: u32,
    /// The name of a single word; empty for a sequence.
    name: Box<str>,
    last: u32,
    count: u64,
    documents: u32,
    /// The last document that holds it, and where its entry stands.
    seen_in: u32,
    entry: usize,
}

/// Counts words, one document after another.
pub(super) struct Counter<'a> {
    reading: &'a TextReading<'a>,
    stopped: HashSet<String>,
    stemmer: Option<Stemmer>,
    /// The term of each word as it stands in the texts, in lower case.
    term_of: HashMap<Box<str>, u32, Fast>,
    /// The term of each stem.
    stem_of: HashMap<Box<str>, u32, Fast>,
    /// The term of each sequence: what comes before the last word, and that.
    sequence_of: HashMap<(u32, u32), u32>,
    terms: Vec<Term>,
    /// Where the entries of each document begin.
    offsets: Vec<usize>,
    ids: Vec<u32>,
    counts: Vec<u32>,
    /// The words before this one in the text.
    window: Vec<u32>,
    /// The word at hand.
    word: String,
    tally: TextTally,
}

impl<'a> Counter<'a> {
    pub(super) fn new(reading: &'a TextReading<'a>) -> Counter<'a> {
        Counter {
            reading,
            stopped: reading.options.stop_words.words().into_iter().collect(),
            stemmer: reading.options.stem.and_then(|own| own.algorithm()).map(Stemmer::create),
            term_of: HashMap::default(),
            stem_of: HashMap::default(),
            sequence_of: HashMap::default(),
            terms: Vec::new(),
            offsets: Vec::new(),
            ids: Vec::new(),
            counts: Vec::new(),
            window: Vec::new(),
            word: String::new(),
            tally: TextTally::default(),
        }
    }

    /// The next document, without a text as yet.
    pub(super) fn begin(&mut self) {
        self.offsets.push(self.ids.len());
    }

    /// A text of this document.
    pub(super) fn add(&mut self, text: &str) {
        self.tally.texts += 1;
        self.window.clear();
        for word in text.unicode_words() {
            // Most words are of ASCII letters alone, and most of those are lower case already.
            self.word.clear();
            if word.is_ascii() {
                self.word.push_str(word);
                self.word.make_ascii_lowercase();
            } else {
                let lower = word.to_lowercase();
                self.word
                    .extend(composed(&lower).chars().map(|own| if own == '\u{2019}' { '\'' } else { own }));
            }
            if self.word.chars().filter(|own| own.is_alphabetic()).nth(LETTERS - 1).is_none() {
                continue;
            }
            self.tally.words += 1;
            match self.term() {
                STOPPED => self.tally.stopped += 1,
                term => self.see_sequences(term),
            }
        }
    }

    /// The term of the word at hand.
    fn term(&mut self) -> u32 {
        if let Some(term) = self.term_of.get(self.word.as_str()) {
            return *term;
        }
        let term = match &self.stemmer {
            _ if self.stopped.contains(&self.word) => STOPPED,
            None => new_term(&mut self.terms, &self.word),
            Some(stemmer) => {
                let stem = stemmer.stem(&self.word);
                match self.stem_of.get(stem.as_ref()) {
                    Some(term) => *term,
                    None => {
                        let term = new_term(&mut self.terms, &stem);
                        self.stem_of.insert(stem.into(), term);
                        term
                    }
                }
            }
        };
        self.term_of.insert(self.word.as_str().into(), term);
        term
    }

    /// One word more, and with it the sequences that it ends.
    fn see_sequences(&mut self, word: u32) {
        self.see(word);
        let longest = self.reading.options.ngrams;
        if longest < 2 {
            return;
        }
        // The sequence that starts at each of the words before, with this word at its end.
        for place in 0..self.window.len() {
            let key = (self.window[place], word);
            let next = u32::try_from(self.terms.len()).unwrap_or(STOPPED);
            let term = *self.sequence_of.entry(key).or_insert(next);
            if term == next {
                self.terms.push(Term {
                    before: key.0,
                    last: word,
                    ..Term {
                        before: NOTHING,
                        name: "".into(),
                        last: 0,
                        count: 0,
                        documents: 0,
                        seen_in: NOTHING,
                        entry: 0,
                    }
                });
            }
            self.see(term);
            self.window[place] = term;
        }
        self.window.push(word);
        if self.window.len() == longest {
            self.window.remove(0);
        }
    }

    fn see(&mut self, term: u32) {
        let document = self.offsets.len() as u32;
        let own = &mut self.terms[term as usize];
        own.count += 1;
        if own.seen_in == document {
            self.counts[own.entry] += 1;
            return;
        }
        own.seen_in = document;
        own.documents += 1;
        own.entry = self.ids.len();
        self.ids.push(term);
        self.counts.push(1);
    }

    /// The counts of the words that stay; `unit` is what a document is, `labels` are the names of the documents.
    pub(super) fn finish(
        mut self,
        unit: &'static str,
        labels: Option<Vec<String>>,
    ) -> Result<Content, FileError> {
        self.tally.unit = unit;
        self.tally.documents = self.offsets.len();
        if self.tally.words == 0 {
            return Err(FileError::new(
                format!("{} without a word", count(self.offsets.len(), unit)),
                "words of two letters or more",
            )
            .with_help(
                "words are parted by blanks and punctuation; Chinese, Japanese and Thai have to be cut into words beforehand",
            ));
        }
        if self.terms.is_empty() {
            let found = format!("{} that are all stop words", count_of(self.tally.words, "word"));
            return Err(FileError::new(found, "others").with_help("`--stop-words none` keeps them"));
        }
        let (words, column_of) = match &self.reading.vocabulary {
            Some(vocabulary) => {
                (vocabulary.words.to_vec(), self.by_vocabulary(vocabulary.words, vocabulary.from)?)
            }
            None => self.by_frequency()?,
        };
        let shape = vec![self.offsets.len(), words.len()];
        let mut indices = vec![Vec::new(), Vec::new()];
        let mut values = Vec::new();
        let mut report = TextReport {
            words: vec![WordCount::default(); words.len()],
            tally: TextTally::default(),
            unknown: 0,
            options: self.reading.options.clone(),
        };
        self.offsets.push(self.ids.len());
        let mut row: Vec<(u32, u32)> = Vec::new();
        for (document, range) in self.offsets.windows(2).enumerate() {
            row.clear();
            for entry in range[0]..range[1] {
                match column_of[self.ids[entry] as usize] {
                    Some(column) => row.push((column, self.counts[entry])),
                    None => report.unknown += 1,
                }
            }
            row.sort_unstable();
            for (column, count) in &row {
                indices[0].push(document as u32);
                indices[1].push(*column);
                values.push(f64::from(*count));
                let word = &mut report.words[*column as usize];
                word.documents += 1;
                word.count += u64::from(*count);
            }
        }
        if self.reading.vocabulary.is_none() {
            report.unknown = 0;
        }
        report.tally = self.tally;
        Ok(Content::Coordinates(Coordinates {
            shape,
            shape_is_exact: true,
            indices: indices.into_iter().map(Numbers::from).collect(),
            ascends: false,
            values: values.into(),
            labels: vec![labels, Some(words)],
            value_labels: None,
            texts: Some(Box::new(report)),
            lines: None,
        }))
    }

    /// The name of a term: that of its words, parted by blanks.
    fn name(&self, term: &Term) -> String {
        if term.before == NOTHING {
            return term.name.to_string();
        }
        let before = self.name(&self.terms[term.before as usize]);
        format!("{before} {}", self.terms[term.last as usize].name)
    }

    /// The column of each term that is given beforehand.
    fn by_vocabulary(&mut self, words: &[String], from: &str) -> Result<Vec<Option<u32>>, FileError> {
        let place: HashMap<&str, u32> =
            words.iter().enumerate().map(|(place, word)| (word.as_str(), place as u32)).collect();
        let columns: Vec<Option<u32>> =
            self.terms.iter().map(|term| place.get(self.name(term).as_str()).copied()).collect();
        if !columns.iter().any(Option::is_some) {
            let first = self.terms.iter().map(|term| self.name(term)).take(3).collect::<Vec<_>>();
            return Err(FileError::new(
                format!("no word of {from}, but {}", crate::error::list(&first)),
                "texts that have words in common with it",
            )
            .with_help("were those words cut to stems, or are they in another language?"));
        }
        let unknown = || self.terms.iter().zip(&columns).filter(|(_, column)| column.is_none());
        let tally = (unknown().map(|own| own.0.count).sum(), unknown().count());
        let first = unknown().map(|own| self.name(own.0)).take(3).collect();
        (self.tally.unknown, self.tally.first_unknown) = (tally, first);
        self.tally.unknown_to = Some(from.to_owned());
        Ok(columns)
    }

    /// The terms that stay by how often they stand in the documents, in alphabetical order, and the column of each.
    fn by_frequency(&mut self) -> Result<(Vec<String>, Vec<Option<u32>>), FileError> {
        let options = self.reading.options;
        let most = options.max_docs.map_or(usize::MAX, |most| most.of(self.offsets.len()));
        let mut kept: Vec<usize> = Vec::new();
        for (place, term) in self.terms.iter().enumerate() {
            let documents = term.documents as usize;
            let out = match () {
                () if documents < options.min_docs => &mut self.tally.rare,
                () if documents > most => &mut self.tally.common,
                () => {
                    kept.push(place);
                    continue;
                }
            };
            out.0 += term.count;
            out.1 += 1;
        }
        if kept.is_empty() {
            return Err(self.nothing_left(most));
        }
        let mut named: Vec<(usize, String)> =
            kept.into_iter().map(|place| (place, self.name(&self.terms[place]))).collect();
        if let Some(words) = options.words.filter(|words| *words < named.len()) {
            named.sort_by(|(one, name), (other, second)| {
                self.terms[*other].count.cmp(&self.terms[*one].count).then_with(|| name.cmp(second))
            });
            for (place, _) in named.drain(words..) {
                self.tally.beyond.0 += self.terms[place].count;
                self.tally.beyond.1 += 1;
            }
        }
        named.sort_by(|one, other| one.1.cmp(&other.1));
        let mut columns = vec![None; self.terms.len()];
        for (column, (place, _)) in named.iter().enumerate() {
            columns[*place] = Some(column as u32);
        }
        Ok((named.into_iter().map(|own| own.1).collect(), columns))
    }

    /// What is wrong where no word stays.
    fn nothing_left(&self, most: usize) -> FileError {
        let options = self.reading.options;
        let documents = count(self.offsets.len(), "document");
        let words = count_of(self.terms.len() as u64, "word");
        let (rare, common) = (self.tally.rare.1, self.tally.common.1);
        let too_few = format!("fewer than {} documents", options.min_docs);
        let share = match options.max_docs {
            Some(MostDocuments::Share(share)) => format!(" ({share} of {})", self.offsets.len()),
            Some(MostDocuments::Count(_)) | None => String::new(),
        };
        let (found, help) = match (rare, common) {
            (_, 0) => (
                format!("{words} in {documents}, each in {too_few}"),
                "`--min-docs 1` keeps words of one document".to_owned(),
            ),
            (0, _) => (
                format!("{words} in {documents}, each in more than {most}{share}"),
                "a greater `--max-docs` keeps more".to_owned(),
            ),
            _ => (
                format!(
                    "{words} in {documents}, {rare} of them in {too_few} and {common} in more than {most}{share}"
                ),
                "a lesser `--min-docs` or a greater `--max-docs` keeps more".to_owned(),
            ),
        };
        FileError::new(found, "words that stay").with_help(help)
    }
}

fn new_term(terms: &mut Vec<Term>, name: &str) -> u32 {
    let id = u32::try_from(terms.len()).unwrap_or(STOPPED);
    let name = name.into();
    terms.push(Term { before: NOTHING, name, last: 0, count: 0, documents: 0, seen_in: NOTHING, entry: 0 });
    id
}

/// "1 word", "3 words".
fn count_of(n: u64, noun: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), noun)
}
