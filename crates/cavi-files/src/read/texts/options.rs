//! Which words of texts count.

use std::path::{Path, PathBuf};

use rust_stemmers::Algorithm;
use serde_json::{Value, json};

use crate::error::{FileError, quote};
use crate::read::whole::composed;

/// Longer sequences of words than this stand nowhere twice.
pub const LONGEST_SEQUENCE: usize = 10;

/// Which words of texts count. By default those with two letters or more that stand in two documents or more and are no stop
/// words of English.
#[derive(Clone, Debug, PartialEq)]
pub struct TextOptions {
    /// A word of fewer documents is left out.
    pub min_docs: usize,
    /// A word of more documents is left out.
    pub max_docs: Option<MostDocuments>,
    /// At most so many words, the most frequent.
    pub words: Option<usize>,
    /// Sequences of up to so many words count as words too.
    pub ngrams: usize,
    /// The language by whose rules words are cut to their stems.
    pub stem: Option<LanguageName>,
    /// The words that say nothing.
    pub stop_words: StopWords,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions {
            min_docs: 2,
            max_docs: None,
            words: None,
            ngrams: 1,
            stem: None,
            stop_words: StopWords::Language(LanguageName("english")),
        }
    }
}

impl TextOptions {
    /// The options as `summary.json` and packed data keep them.
    pub fn to_json(&self) -> Value {
        json!({
            "min_docs": self.min_docs,
            "max_docs": match self.max_docs {
                None => Value::Null,
                Some(MostDocuments::Share(share)) => json!(share),
                Some(MostDocuments::Count(count)) => json!(count),
            },
            "words": self.words,
            "ngrams": self.ngrams,
            "stem": self.stem.map(|language| language.name()),
            "stop_words": match &self.stop_words {
                StopWords::None => json!("none"),
                StopWords::Language(language) => json!(language.name()),
                StopWords::Listed { file, words } => json!({ "file": file.display().to_string(), "words": words }),
            },
        })
    }

    /// Options that were kept; `None` where no texts were read, or something else is said.
    pub fn of_json(value: &Value) -> Option<TextOptions> {
        let size = |key: &str| value[key].as_u64().and_then(|own| usize::try_from(own).ok());
        let max_docs = match (&value["max_docs"], size("max_docs")) {
            (Value::Null, _) => None,
            (_, Some(count)) => Some(MostDocuments::Count(count)),
            (share, None) => Some(MostDocuments::Share(share.as_f64()?)),
        };
        let stop_words = match &value["stop_words"] {
            Value::String(name) => StopWords::named(name)?,
            listed => StopWords::Listed {
                file: listed["file"].as_str()?.into(),
                words: listed["words"]
                    .as_array()?
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            },
        };
        let stem = match &value["stem"] {
            Value::Null => None,
            name => Some(LanguageName::with_stems(name.as_str()?).ok()?),
        };
        Some(TextOptions {
            min_docs: size("min_docs")?,
            max_docs,
            words: size("words"),
            ngrams: size("ngrams")?,
            stem,
            stop_words,
        })
    }
}

/// In how many documents a word may stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MostDocuments {
    /// A share of them, above 0 and at most 1.
    Share(f64),
    /// So many.
    Count(usize),
}

/// Words that say nothing of what a text is about.
#[derive(Clone, Debug, PartialEq)]
pub enum StopWords {
    /// No word.
    None,
    /// The list of a language.
    Language(LanguageName),
    /// A list of one's own.
    Listed {
        /// The file.
        file: PathBuf,
        /// Its words.
        words: Vec<String>,
    },
}

/// The English name of a language, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageName(&'static str);

/// A language by name: the code of its list of stop words, and the rules of its stems.
const LANGUAGES: [(&str, Option<&str>, Option<Algorithm>); 33] = [
    ("albanian", Some("sq"), None),
    ("arabic", Some("ar"), Some(Algorithm::Arabic)),
    ("azerbaijani", Some("az"), None),
    ("basque", Some("eu"), None),
    ("belarusian", Some("be"), None),
    ("bengali", Some("bn"), None),
    ("catalan", Some("ca"), None),
    ("danish", Some("da"), Some(Algorithm::Danish)),
    ("dutch", Some("nl"), Some(Algorithm::Dutch)),
    ("english", Some("en"), Some(Algorithm::English)),
    ("finnish", Some("fi"), Some(Algorithm::Finnish)),
    ("french", Some("fr"), Some(Algorithm::French)),
    ("german", Some("de"), Some(Algorithm::German)),
    ("greek", Some("el"), Some(Algorithm::Greek)),
    ("hebrew", Some("he"), None),
    ("hinglish", Some("hinglish"), None),
    ("hungarian", Some("hu"), Some(Algorithm::Hungarian)),
    ("indonesian", Some("id"), None),
    ("italian", Some("it"), Some(Algorithm::Italian)),
    ("kazakh", Some("kk"), None),
    ("nepali", Some("ne"), None),
    ("norwegian", Some("no"), Some(Algorithm::Norwegian)),
    ("portuguese", Some("pt"), Some(Algorithm::Portuguese)),
    ("romanian", Some("ro"), Some(Algorithm::Romanian)),
    ("russian", Some("ru"), Some(Algorithm::Russian)),
    ("slovenian", Some("sl"), None),
    ("spanish", Some("es"), Some(Algorithm::Spanish)),
    ("swedish", Some("sv"), Some(Algorithm::Swedish)),
    ("tajik", Some("tg"), None),
    ("tamil", Some("ta"), Some(Algorithm::Tamil)),
    ("turkish", Some("tr"), Some(Algorithm::Turkish)),
    ("uzbek", Some("uz"), None),
    ("chinese", Some("zh"), None),
];

impl LanguageName {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// The language of a name, if it has rules for stems.
    ///
    /// # Errors
    /// Another name, with those that there are.
    pub fn with_stems(name: &str) -> Result<LanguageName, String> {
        let known = LANGUAGES.iter().filter(|own| own.2.is_some()).map(|own| own.0);
        known
            .clone()
            .find(|own| own.eq_ignore_ascii_case(name))
            .map(LanguageName)
            .ok_or_else(|| format!("expected a language: {}", known.collect::<Vec<_>>().join(", ")))
    }

    /// The language of a name, if it has a list of stop words.
    fn with_stop_words(name: &str) -> Option<LanguageName> {
        let known = LANGUAGES.iter().find(|own| own.1.is_some() && own.0.eq_ignore_ascii_case(name));
        known.map(|own| LanguageName(own.0))
    }

    fn row(self) -> Option<&'static (&'static str, Option<&'static str>, Option<Algorithm>)> {
        LANGUAGES.iter().find(|own| own.0 == self.0)
    }

    pub(super) fn algorithm(self) -> Option<Algorithm> {
        self.row()?.2
    }

    fn stop_words(self) -> &'static [&'static str] {
        let code = self.row().and_then(|own| own.1);
        code.and_then(stop_words::lookup).unwrap_or_default()
    }
}

impl MostDocuments {
    /// Reads a share with a decimal point (`0.5`, at most `1.0`) or a whole number of documents.
    pub fn parse(text: &str) -> Option<MostDocuments> {
        match text.parse::<usize>() {
            Ok(count) => (count > 0).then_some(MostDocuments::Count(count)),
            Err(_) => {
                let share: f64 = text.parse().ok()?;
                (share > 0.0 && share <= 1.0).then_some(MostDocuments::Share(share))
            }
        }
    }

    /// In how many of so many documents a word may stand.
    pub(super) fn of(self, documents: usize) -> usize {
        match self {
            MostDocuments::Count(count) => count,
            // A share such as 0.1 of 30 documents is 3 of them, whatever its last digit in binary.
            MostDocuments::Share(share) => (share * documents as f64 * (1.0 + 1e-12)).floor() as usize,
        }
    }
}

impl StopWords {
    /// Reads `none`, the name of a language, or the name of a file with one word a line.
    ///
    /// # Errors
    /// A file that cannot be read; a name that is neither, with the languages that there are.
    pub fn read(text: &str) -> Result<StopWords, FileError> {
        if let Some(named) = StopWords::named(text) {
            return Ok(named);
        }
        let file = Path::new(text);
        let bytes = super::super::bytes::load(file).map_err(|error| {
            let languages: Vec<&str> =
                LANGUAGES.iter().filter(|own| own.1.is_some()).map(|own| own.0).collect();
            error.in_file(file).with_help(format!(
                "`--stop-words` takes `none`, a file with one word a line, or a language: {}",
                languages.join(", ")
            ))
        })?;
        let listed = super::super::bytes::text(&bytes).map_err(|error| error.in_file(file))?;
        let words: Vec<String> =
            listed.lines().map(|line| line.trim().to_lowercase()).filter(|word| !word.is_empty()).collect();
        if let Some(word) = words.iter().find(|word| word.contains(char::is_whitespace)) {
            return Err(FileError::new(quote(word.as_bytes()), "one word a line").in_file(file));
        }
        Ok(StopWords::Listed { file: file.to_owned(), words })
    }

    /// What `none` and the names of languages stand for.
    pub fn named(text: &str) -> Option<StopWords> {
        if text.eq_ignore_ascii_case("none") {
            return Some(StopWords::None);
        }
        LanguageName::with_stop_words(text).map(StopWords::Language)
    }

    /// The words, in lower case, with straight apostrophes and composed letters.
    pub(super) fn words(&self) -> Vec<String> {
        let plain = |word: &str| composed(&word.to_lowercase()).replace('\u{2019}', "'");
        match self {
            StopWords::None => Vec::new(),
            StopWords::Language(language) => language.stop_words().iter().map(|word| plain(word)).collect(),
            StopWords::Listed { words, .. } => words.iter().map(|word| plain(word)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_what_it_says() {
        for (name, code, algorithm) in LANGUAGES {
            let language = LanguageName(name);
            assert_eq!(language.stop_words().is_empty(), code.is_none(), "{name}");
            assert_eq!(language.algorithm(), algorithm);
        }
        // Every list of the crate has a name.
        for code in stop_words::available_languages() {
            assert!(LANGUAGES.iter().any(|own| own.1 == Some(code)), "{code}");
        }
        assert!(LanguageName::with_stems("German").is_ok() && LanguageName::with_stems("basque").is_err());
    }

    #[test]
    fn a_share_has_a_point_and_a_number_has_none() {
        let parsed = ["0.5", "1.0", "1", "250", "0", "0.0", "1.5", "-1", "half"].map(MostDocuments::parse);
        let share = |share| Some(MostDocuments::Share(share));
        let count = |count| Some(MostDocuments::Count(count));
        assert_eq!(parsed, [share(0.5), share(1.0), count(1), count(250), None, None, None, None, None]);
        assert_eq!(MostDocuments::Share(0.1).of(30), 3);
        assert_eq!(MostDocuments::Share(0.5).of(5), 2);
    }

    #[test]
    fn options_are_read_back_as_they_were_written() {
        let german = LanguageName::with_stems("german").unwrap();
        let listed = StopWords::Listed { file: "s.txt".into(), words: vec!["und".to_owned()] };
        let all = [
            TextOptions::default(),
            TextOptions {
                min_docs: 5,
                max_docs: Some(MostDocuments::Share(1.0)),
                words: Some(100),
                ngrams: 3,
                stem: Some(german),
                stop_words: StopWords::None,
            },
            TextOptions {
                max_docs: Some(MostDocuments::Count(1)),
                stop_words: listed,
                ..TextOptions::default()
            },
        ];
        for options in all {
            let text = options.to_json().to_string();
            assert_eq!(TextOptions::of_json(&serde_json::from_str(&text).unwrap()), Some(options));
        }
        assert_eq!(TextOptions::of_json(&Value::Null), None);
    }
}
