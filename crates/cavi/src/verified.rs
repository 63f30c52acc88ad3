//! How the lines of a derivation were checked, at its foot.

use std::collections::BTreeSet;

use cavi_algebra::print::Json;
use cavi_verification::{Kind, Subject, Tally, Verified, verify};

use crate::compile::Compiled;
use crate::show::Format;

/// What the foot of a derivation whose lines were evaluated begins with, whatever the format.
const CHECKED: &str = "How this page was checked";
/// What the foot of one begins with whose lines were not.
const MADE: &str = "How this page was made";
/// In JSON the foot is the last entry, under this key.
const KEY: &str = ",\n  \"checked\":";

/// The version of Cavi.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Over how many draws expectations are averaged, unless another number is asked for.
pub const DRAWS: usize = 2000;

impl Compiled {
    /// Evaluates every relation of the derivation at random data ([`cavi_verification::verify`]), expectations by at least 2
    /// draws. Takes a few seconds for large programs: the time grows with draws and statements, and not with any data.
    pub fn verify(&self, draws: usize) -> Verified {
        let subject = Subject { model: &self.model, equations: &self.equations };
        verify(subject, &cavi_families::standard(), draws)
    }

    /// The whole derivation as JSON ([`Compiled::derivation_json`]), with what was found of its lines as its last entry,
    /// `checked`.
    pub fn derivation_json_checked(&self, verified: Option<&Verified>) -> String {
        let whole = self.derivation_json(None).unwrap_or_default();
        let whole = whole.trim_end().trim_end_matches('}').trim_end();
        let checked = checked(verified).to_string().replace('\n', "\n  ");
        format!("{whole}{KEY} {checked}\n}}\n")
    }
}

/// The foot of a derivation: the version of Cavi, and how each line was checked; or, where none was, that none was and how it
/// can be. In LaTeX without a check it is a comment.
pub fn foot(format: Format, verified: Option<&Verified>) -> String {
    let (begins, sentences) = (begins(verified), sentences(format, verified));
    match format {
        Format::Text => {
            let lines: Vec<String> = sentences.iter().map(|line| filled(line, "  ", "    ")).collect();
            let rest: Vec<String> = verified.iter().flat_map(|own| &own.rest).cloned().collect();
            let rest: String = rest.iter().map(|line| format!("    {line}\n")).collect();
            format!("\n{begins}\n{}\n{}{rest}", "-".repeat(begins.len()), lines.concat())
        }
        Format::Markdown => {
            let lines: Vec<String> = sentences.iter().map(|line| format!("- {line}\n")).collect();
            format!("\n## {begins}\n\n{}", lines.concat())
        }
        Format::Latex if verified.is_none() => {
            let lines: Vec<String> = sentences.iter().map(|line| format!("% {line}\n")).collect();
            format!("% {begins}:\n{}", lines.concat())
        }
        Format::Latex => {
            let lines: Vec<String> = sentences.iter().map(|line| format!("{line}\n")).collect();
            format!("% {begins}\n\\paragraph{{{begins}}}\n{{\\footnotesize {}\\par}}\n", lines.concat())
        }
    }
}

/// The same as comments of a file of Python.
pub fn foot_in_python(verified: Option<&Verified>) -> String {
    let lines = sentences(Format::Text, verified);
    let lines: Vec<String> = lines.iter().map(|line| filled(line, "# ", "#   ")).collect();
    format!("\n# {}\n{}", begins(verified), lines.concat())
}

/// A derivation without its foot, for a comparison: the foot changes with every version, and with what was checked.
pub fn without_foot(text: &str) -> String {
    let begins = |line: &str| {
        let line = line.trim_start_matches(['#', '%', ' ']);
        [CHECKED, MADE].contains(&line.trim_end_matches(':'))
    };
    if text.starts_with('{') {
        return match text.rfind(KEY) {
            Some(place) => format!("{}\n}}\n", &text[..place]),
            None => text.to_owned(),
        };
    }
    let mut kept: Vec<&str> = text.lines().take_while(|line| !begins(line)).collect();
    let ended = kept.len() == text.lines().count();
    while !ended && kept.last().is_some_and(|line| line.is_empty()) {
        kept.pop();
    }
    // A document of LaTeX ends behind its foot.
    let end = text.lines().last().filter(|line| !ended && *line == "\\end{document}");
    let mut out = kept.join("\n");
    if text.ends_with('\n') || !ended {
        out.push('\n');
    }
    end.into_iter().for_each(|line| {
        out.push_str(line);
        out.push('\n');
    });
    out
}

/// The heading says what was done.
fn begins(verified: Option<&Verified>) -> &'static str {
    if verified.is_some() { CHECKED } else { MADE }
}

/// What is said of a derivation, a line each.
fn sentences(format: Format, verified: Option<&Verified>) -> Vec<String> {
    let Some(verified) = verified else {
        let option = if format == Format::Markdown { "`--verify`" } else { "--verify" };
        return vec![format!(
            "Derived by Cavi {VERSION}. No line of it was evaluated in numbers; {option} evaluates each at random data and says here \
             what it found."
        )];
    };
    let total = verified.total();
    let failed = match verified.failed.len() {
        0 => "none failed".to_owned(),
        1 => "one FAILED".to_owned(),
        own => format!("{own} FAILED"),
    };
    let mut out = vec![format!(
        "By Cavi {VERSION}: the {} relations of the page and of the steps to its updates were read back from their text; {} of \
         them were evaluated, {} times in all, at {} sets of random data and of values of the latent variables: {failed}.",
        verified.lines,
        total.lines.len(),
        total.relations,
        verified.data
    )];
    let found = verified.found.iter().filter(|(_, own)| own.relations > 0);
    out.extend(found.map(|(kind, own)| of_kind(*kind, own, verified.draws, format)));
    if !verified.rest.is_empty() {
        let lines = if verified.rest.len() == 1 { "line was" } else { "lines were" };
        let end = if format == Format::Text { ":" } else { "." };
        out.push(format!(
            "{} {lines} not evaluated on their own; most state the principle, define a symbol with which others were evaluated, \
             or add up lines{end}",
            verified.rest.len()
        ));
    }
    out
}

fn of_kind(kind: Kind, own: &Tally, draws: usize, format: Format) -> String {
    let count = own.lines.len();
    let lines = if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    let largest = format!("largest relative deviation {}", number(own.deviation, format));
    match kind {
        Kind::LogJoint => {
            format!("Log joint: {lines}, against densities that are written a second time; {largest}.")
        }
        Kind::Bounds => {
            format!(
                "Bounds: {lines}, by their sign at 50 points, and equal at the stated optimum; {largest}."
            )
        }
        Kind::Expectations => {
            let errors = match own.errors {
                0.0 => String::new(),
                own => format!("; the farthest equality is {own:.1} standard errors away"),
            };
            format!(
                "Expectations in the bound: {lines}, against averages over {draws} draws from q; no lower bound is above its \
                 average by more than 4 standard errors{errors}."
            )
        }
        Kind::Steps => format!(
            "Steps and natural parameters: {lines}, each worth what the line before it is as one copy of a factor moves; \
             {largest}."
        ),
        Kind::Squares => format!("Expected squares: {lines}, against the average of the square; {largest}."),
        Kind::StandardForms => format!(
            "Parameters, expectations and entropies of q: {lines}, against what the family computes in numbers from the natural \
             parameters that are printed; {largest}."
        ),
        Kind::Remarks => format!("Remarks: {lines}; {largest}."),
        Kind::Overview => {
            format!("Overview: what updates read, {} rows, against their equations.", own.relations)
        }
    }
}

/// `2.2e-16`, or as a power of ten in print.
fn number(value: f64, format: Format) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let shown = format!("{value:.1e}");
    match (format, shown.split_once('e')) {
        (Format::Latex | Format::Markdown, Some((digits, power))) => {
            format!("${digits} \\times 10^{{{power}}}$")
        }
        _ => shown,
    }
}

/// A sentence over lines of at most 110 characters.
fn filled(text: &str, first: &str, later: &str) -> String {
    let (mut out, mut line) = (String::new(), first.to_owned());
    let mut bare = true;
    for word in text.split(' ') {
        if !bare && line.chars().count() + word.chars().count() + 1 > 110 {
            out.push_str(&line);
            out.push('\n');
            line = later.to_owned();
            bare = true;
        }
        if !bare {
            line.push(' ');
        }
        line.push_str(word);
        bare = false;
    }
    out + &line + "\n"
}

/// What was found, as JSON.
fn checked(verified: Option<&Verified>) -> Json {
    let object = |entries: Vec<(&str, Json)>| {
        Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let mut all = vec![("cavi", VERSION.into()), ("verified", verified.is_some().into())];
    if let Some(verified) = verified {
        let kind = |(kind, own): &(Kind, Tally)| {
            let name = match kind {
                Kind::LogJoint => "log_joint",
                Kind::Bounds => "bounds",
                Kind::Expectations => "expectations",
                Kind::Steps => "steps",
                Kind::Squares => "squares",
                Kind::StandardForms => "standard_forms",
                Kind::Remarks => "remarks",
                Kind::Overview => "overview",
            };
            object(vec![
                ("kind", name.into()),
                ("lines", own.lines.len().into()),
                ("evaluations", own.relations.into()),
                ("largest_deviation", Json::Number(own.deviation)),
                ("standard_errors", Json::Number(own.errors)),
            ])
        };
        let text = |lines: BTreeSet<&String>| {
            Json::List(lines.into_iter().map(|line| line.as_str().into()).collect())
        };
        all.extend([
            ("draws", verified.draws.into()),
            ("data", Json::Number(verified.data as f64)),
            ("lines", verified.lines.into()),
            ("kinds", Json::List(verified.found.iter().map(kind).collect())),
            ("not_on_their_own", text(verified.rest.iter().collect())),
            ("failed", text(verified.failed.iter().map(|own| &own.problem).collect())),
        ]);
    }
    object(all)
}

#[cfg(test)]
mod tests {
    use super::{foot, foot_in_python, without_foot};
    use crate::show::Format;

    #[test]
    fn a_foot_can_be_taken_off() {
        for format in [Format::Text, Format::Markdown, Format::Latex] {
            let page = "a page\nof two lines\n";
            assert_eq!(without_foot(&format!("{page}{}", foot(format, None))), page);
            assert_eq!(without_foot(page), page);
        }
        assert_eq!(without_foot(&format!("x = 1\n{}", foot_in_python(None))), "x = 1\n");
        let document = format!("x\n{}\\end{{document}}\n", foot(Format::Latex, None));
        assert_eq!(without_foot(&document), "x\n\\end{document}\n");
        assert_eq!(
            without_foot("{\n  \"a\": 1,\n  \"checked\": {\"cavi\": \"0\"}\n}\n"),
            "{\n  \"a\": 1\n}\n"
        );
    }
}
