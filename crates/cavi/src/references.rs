//! The literature of a derivation as BibTeX: of the model, as its program names it, and of what the derivation uses.

use cavi_algebra::print::Source;

use crate::compile::Compiled;

impl Compiled {
    /// An entry of BibTeX for each work that the opening comment of the program names by a year in brackets, `Bishop, C.
    /// (2006). Pattern Recognition and Machine Learning.`, and for each that the derivation rests on. Empty where there is none.
    /// A work that is both stands once, in the second form.
    pub fn bibliography(&self) -> String {
        let sources = self.sources();
        let used = || sources.iter().flat_map(|own| &own.references);
        let named = self.works().into_iter().filter(|work| used().all(|own| own.key() != work.key));
        let mut entries: Vec<String> = named.map(|own| own.entry()).collect();
        for entry in used().map(|own| own.0) {
            if !entries.iter().any(|own| own == entry) {
                entries.push(entry.to_owned());
            }
        }
        entries.into_iter().map(|entry| entry + "\n").collect::<Vec<_>>().join("\n")
    }

    /// Where the model and each part of the derivation come from, as a list of LaTeX that cites the keys of
    /// [`Compiled::bibliography`]. Empty where there is nothing to cite.
    pub fn citations(&self) -> String {
        let model: Vec<String> = self.works().into_iter().map(|own| own.key).collect();
        let mut lines: Vec<(&str, Vec<String>)> = vec![("The model", model)];
        let sources = self.sources();
        let of = |own: &Source| own.references.iter().map(|own| own.key().to_owned()).collect();
        lines.extend(sources.iter().map(|own| (own.of, of(own))));
        lines.retain(|(_, keys)| !keys.is_empty());
        if lines.is_empty() {
            return String::new();
        }
        let item =
            |(of, keys): &(&str, Vec<String>)| format!("  \\item {of}: \\cite{{{}}}\n", keys.join(","));
        let items: String = lines.iter().map(item).collect();
        format!("\n\\subsection*{{Sources}}\n\n\\begin{{itemize}}\n{items}\\end{{itemize}}\n")
    }

    /// The works that the program itself names.
    fn works(&self) -> Vec<Work> {
        let mut all: Vec<Work> = Vec::new();
        for line in crate::show::about(&self.source.program) {
            if let Some(mut work) = Work::of(&line) {
                // Two works of one author and year have different keys.
                let known = |key: &str| all.iter().any(|own| own.key == key);
                if known(&work.key) {
                    let letters = ('b'..='z').map(|letter| format!("{}{letter}", work.key));
                    work.key = letters.into_iter().find(|key| !known(key)).unwrap_or_default();
                }
                all.push(work);
            }
        }
        all
    }
}

/// A work as a comment names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Work {
    key: String,
    author: String,
    year: String,
    /// None where the comment does not say it as `AUTHORS (YEAR). TITLE.`
    title: Option<String>,
    /// What else the comment says.
    note: String,
}

impl Work {
    /// The work that a line is about, if it has a year in brackets behind a name.
    fn of(line: &str) -> Option<Work> {
        let years = years(line);
        let (place, year) = years.first()?;
        let author = line[..*place].trim().trim_end_matches(',').to_owned();
        let rest = line[place + year.len() + 2..].trim();
        if !author.starts_with(char::is_uppercase) {
            return None;
        }
        // Of several works in one line only the first can be told from the others.
        let stated = rest.strip_prefix(". ").filter(|_| years.len() == 1);
        let (title, note) = match stated.map(|stated| stated.split_once(". ").unwrap_or((stated, ""))) {
            Some((title, note)) => (Some(title.trim_end_matches('.').to_owned()), note.to_owned()),
            None => (None, line.to_owned()),
        };
        let letters = |word: &str| word.chars().filter(char::is_ascii_alphabetic).collect::<String>();
        let surname = author.split([',', ' ']).next().unwrap_or("");
        let words = title.iter().flat_map(|title| title.split([' ', '-'])).map(letters);
        let word = words
            .map(|word| word.to_lowercase())
            .find(|word| !["", "a", "an", "the", "on"].contains(&word.as_str()));
        let key = format!("{}{year}{}", letters(surname).to_lowercase(), word.unwrap_or_default());
        Some(Work { key, author, year: year.clone(), title, note })
    }

    /// As an entry of BibTeX. Names stand as the comment has them, in braces, so that BibTeX takes none of them apart.
    fn entry(&self) -> String {
        let mut fields = vec![("author", format!("{{{}}}", escaped(&self.author)))];
        fields.extend(self.title.iter().map(|title| ("title", format!("{{{}}}", escaped(title)))));
        fields.push(("year", self.year.clone()));
        if !self.note.is_empty() {
            fields.push(("note", escaped(&self.note)));
        }
        let fields: Vec<String> =
            fields.into_iter().map(|(name, value)| format!("  {name} = {{{value}}}")).collect();
        format!("@misc{{{},\n{}\n}}", self.key, fields.join(",\n"))
    }
}

/// The years in brackets of a line, each with its place: `(2006)`.
fn years(line: &str) -> Vec<(usize, String)> {
    let year = |(place, _): (usize, &str)| {
        let inside = line.get(place + 1..place + 5)?;
        let is_year = inside.chars().all(|c| c.is_ascii_digit()) && line[place + 5..].starts_with(')');
        is_year.then(|| (place, inside.to_owned()))
    };
    line.match_indices('(').filter_map(year).collect()
}

/// Text in an entry of BibTeX.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' => out.extend(['\\', c]),
            '\\' => out.push_str("\\textbackslash{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            // An unbalanced brace would end the field.
            '{' | '}' => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Work;

    #[test]
    fn a_comment_names_a_work() {
        let work = Work::of("Lee, D. and Seung, H. S. (2001). Algorithms for matrices. NIPS 13.").unwrap();
        assert_eq!(work.key, "lee2001algorithms");
        assert_eq!(work.author, "Lee, D. and Seung, H. S.");
        assert_eq!(work.title.as_deref(), Some("Algorithms for matrices"));
        assert_eq!(work.note, "NIPS 13.");
        assert_eq!(
            work.entry(),
            "@misc{lee2001algorithms,\n  author = {{Lee, D. and Seung, H. S.}},\n  title = {{Algorithms for matrices}},\n  \
             year = {2001},\n  note = {NIPS 13.}\n}"
        );
        // What is no title stays a note as a whole.
        let work = Work::of("Bishop (2006), 10.2, in one dimension & more.").unwrap();
        assert_eq!((work.key.as_str(), work.title.as_deref()), ("bishop2006", None));
        assert!(work.entry().contains("note = {Bishop (2006), 10.2, in one dimension \\& more.}"));
        // So do several works in one line.
        let work = Work::of("Able, A. (2007). One thing. X 1. Baker, B. (2008). Another. Y 2.").unwrap();
        assert_eq!((work.key.as_str(), work.title), ("able2007", None));
        assert_eq!(Work::of("a mixture (in 2006) of things"), None);
        assert_eq!(Work::of("of the year (2006)"), None);
        assert_eq!(Work::of("Umlaute (200é)"), None);
    }
}
