//! What was read of texts: a line for who bound them, the counts of their words, and the options for `summary.json`.

use cavi_files::{Cell, CsvText, MostDocuments, StopWords, TextOptions, TextReport, WordCount};

use super::data_error::DataError;
use super::inputs::Inputs;
use super::pieces::Piece;
use super::read_back::{counted, grouped};

/// The words of the texts that an array was counted from.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// The array.
    pub name: String,
    /// The labels of the group, outermost first, where the texts are those of one group of a ragged array.
    pub group: Option<Vec<String>>,
    /// The words, in the order of their columns.
    pub words: Vec<String>,
    /// How often each stands.
    pub counts: Vec<WordCount>,
    /// Which words counted.
    pub options: TextOptions,
}

impl Words {
    /// Of a file, if it holds texts.
    pub(super) fn of(piece: &Piece, name: &str) -> Option<Words> {
        let cavi_files::Content::Coordinates(coordinates) = &piece.content else { return None };
        let report = coordinates.texts.as_deref()?;
        Some(Words {
            name: name.to_owned(),
            group: piece.group.clone(),
            words: coordinates.labels(1).unwrap_or_default().to_vec(),
            counts: report.words.clone(),
            options: report.options.clone(),
        })
    }

    /// The table `word,documents,count`.
    pub fn csv(&self) -> String {
        let mut table = CsvText::new(&["word", "documents", "count"]);
        let integer = |count: u64| Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX));
        for (word, own) in self.words.iter().zip(&self.counts) {
            table.row(&[Cell::Text(word), integer(own.documents), integer(own.count)]);
        }
        table.as_str().to_owned()
    }
}

/// Refuses options of texts where nothing that is read is one.
pub(super) fn refuse_without_texts(inputs: &Inputs, pieces: &[Piece]) -> Option<DataError> {
    let option = inputs.asked_of_texts.first()?;
    pieces.iter().all(|piece| piece.texts().is_none_or(TextReport::is_packed)).then(|| {
        DataError::new(format!("`{option}` says how texts are read, and no text is read")).possible(
            "a folder of texts, `FILE.csv:COLUMN` of text, or `lines:FILE` with one document a line",
        )
    })
}

/// What was read of texts and what was left out, a line.
pub(super) fn line(name: &str, report: &TextReport) -> String {
    let TextReport { tally, options, words, .. } = report;
    let unit = match (tally.unit, tally.documents) {
        (unit, 1) => format!("1 {unit}"),
        (unit, count) => format!("{} {unit}s", grouped(count as f64)),
    };
    let unit = match tally.texts > tally.documents {
        true => format!(
            "{} {}s as {} documents",
            grouped(tally.texts as f64),
            tally.unit,
            grouped(tally.documents as f64)
        ),
        false => unit,
    };
    let mut how = vec!["lower case, two letters or more".to_owned()];
    if let Some(language) = options.stem {
        how.push(format!("cut to {} stems", capital(language.name())));
    }
    if options.ngrams > 1 {
        how.push(format!("and sequences of up to {}", options.ngrams));
    }
    let mut out = Vec::new();
    match &options.stop_words {
        StopWords::None => {}
        StopWords::Language(language) => {
            out.push(format!(
                "{} by the {} stop words",
                grouped(tally.stopped as f64),
                capital(language.name())
            ));
        }
        StopWords::Listed { file, .. } => {
            out.push(format!("{} by the stop words of {}", grouped(tally.stopped as f64), file.display()));
        }
    }
    let different = |(times, different): (u64, usize)| {
        format!("{} ({})", grouped(times as f64), counted(different, "word", "words"))
    };
    if let Some(from) = &tally.unknown_to {
        let first = match (tally.first_unknown.as_slice(), tally.unknown.1) {
            ([], _) => String::new(),
            (first, all) => format!(": {}{}", first.join(", "), if all > first.len() { ", ..." } else { "" }),
        };
        out.push(format!("{} that {from} does not have{first}", different(tally.unknown)));
    } else {
        if options.min_docs > 1 {
            let few = if options.min_docs == 2 {
                "in one document alone".to_owned()
            } else {
                format!("in fewer than {} documents", options.min_docs)
            };
            out.push(format!("{} {few}", different(tally.rare)));
        }
        if let Some(most) = options.max_docs {
            let most = match most {
                MostDocuments::Count(count) => format!("{} documents", grouped(count as f64)),
                MostDocuments::Share(share) => format!("{} of the documents", share),
            };
            out.push(format!("{} in more than {most}", different(tally.common)));
        }
        if let Some(most) = options.words {
            out.push(format!(
                "{} beyond the {} most frequent",
                different(tally.beyond),
                grouped(most as f64)
            ));
        }
    }
    let kept: u64 = words.iter().map(|own| own.count).sum();
    let left_out = if out.is_empty() { "nothing".to_owned() } else { out.join(", ") };
    format!(
        "{name}: {unit} of {} ({}); left out {left_out}; {} remain",
        counted(usize::try_from(tally.words).unwrap_or(usize::MAX), "word", "words"),
        how.join(", "),
        grouped(kept as f64)
    )
}

/// A name with a capital.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
