//! Diagnostics at their place in the text, for a terminal.

use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Severity};
use crate::span::Span;

/// The line and the column of a byte of the text, both from 1; columns count characters.
///
/// ```
/// assert_eq!(cavi_syntax::position("axis d\naxis β[b]", 13), (2, 7));
/// ```
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let line = Line::at(text, offset);
    (line.number, line.column(offset) + 1)
}

/// Where the lines of a text begin, for the places of many diagnostics.
pub struct Places<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Places<'t> {
    /// Those of a text.
    pub fn of(text: &'t str) -> Places<'t> {
        let behind = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place + 1);
        Places { text, starts: std::iter::once(0).chain(behind).collect() }
    }

    /// As [`position`], without a walk through the text before the line.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let number = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[number - 1];
        let (_, column) = position(&self.text[start..], offset - start);
        (number, column)
    }
}

/// Renders a diagnostic: message, place, the lines it concerns with carets under them, what is possible, what to try.
///
/// `file_name` is what the user typed for the file that holds `text`. The result ends with a newline.
pub fn render(diagnostic: &Diagnostic, file_name: &str, text: &str, color: bool) -> String {
    let paint = Paint { color };
    let mut out = String::new();
    let (word, style) = match diagnostic.severity {
        Severity::Error => ("error", Style::Red),
        Severity::Warning => ("warning", Style::Yellow),
        Severity::Note => ("note", Style::Green),
    };
    let head = paint.styled(style, &format!("{word}[{}]", diagnostic.code));
    let _ =
        writeln!(out, "{head}{}", paint.styled(Style::Bold, &format!(": {}", visible(&diagnostic.message))));

    let mut marks: Vec<Mark<'_>> = Vec::new();
    if let Some((span, label)) = &diagnostic.primary {
        marks.push(Mark::new(text, *span, label, '^', style));
    }
    marks.extend(
        diagnostic.secondary.iter().map(|(span, label)| Mark::new(text, *span, label, '-', Style::Blue)),
    );
    let width = marks.iter().map(|mark| mark.line.number.to_string().len()).max().unwrap_or(1);
    let gutter = format!("{:width$} {}", "", paint.styled(Style::Blue, "|"));

    let arrow = paint.styled(Style::Blue, "-->");
    match marks.first() {
        Some(mark) if diagnostic.primary.is_some() => {
            let (line, column) = (mark.line.number, mark.column + 1);
            let _ = writeln!(out, "{:width$}{arrow} {file_name}:{line}:{column}", "");
        }
        _ => {
            let _ = writeln!(out, "{:width$}{arrow} {file_name}", "");
        }
    }
    // The lines in the order of the text; on one line the primary mark stays first.
    marks.sort_by_key(|mark| mark.line.number);
    let mut shown: Option<(usize, usize)> = None;
    for mark in &marks {
        if shown != Some((mark.line.number, mark.from)) {
            match shown {
                None => {
                    let _ = writeln!(out, "{gutter}");
                }
                Some((previous, _)) if previous + 1 < mark.line.number => {
                    let _ = writeln!(out, "{}", paint.styled(Style::Blue, "..."));
                }
                Some(_) => {}
            }
            shown = Some((mark.line.number, mark.from));
            let number = paint.styled(Style::Blue, &format!("{:>width$} |", mark.line.number));
            let _ = writeln!(out, "{}", format!("{number} {}", mark.shown).trim_end());
        }
        let carets: String = std::iter::repeat_n(mark.sign, mark.length).collect();
        let underline = format!("{carets} {}", visible(mark.label));
        let _ = writeln!(
            out,
            "{gutter} {:indent$}{}",
            "",
            paint.styled(mark.style, underline.trim_end()),
            indent = mark.indent
        );
    }
    if !marks.is_empty() && (diagnostic.possible.is_some() || diagnostic.help.is_some()) {
        let _ = writeln!(out, "{gutter}");
    }
    for (word, part) in [("possible", &diagnostic.possible), ("try", &diagnostic.help)] {
        let Some(part) = part else { continue };
        let word = paint.styled(Style::Bold, &format!("{word}:"));
        let equals = paint.styled(Style::Blue, "=");
        for (index, line) in part.lines().enumerate() {
            if index == 0 {
                let _ = writeln!(out, "{:width$} {equals} {word} {}", "", visible(line));
            } else {
                let _ = writeln!(out, "{:width$}   {}", "", visible(line));
            }
        }
    }
    out
}

/// One underlined place.
struct Mark<'t> {
    line: Line<'t>,
    /// Characters before it on its line.
    column: usize,
    /// The first character of the line that is shown: of a long line a part is.
    from: usize,
    /// What is shown of the line, tabs expanded.
    shown: String,
    /// Cells before it, tabs expanded.
    indent: usize,
    /// Cells under it, at least one.
    length: usize,
    label: &'t str,
    sign: char,
    style: Style,
}

impl<'t> Mark<'t> {
    fn new(text: &'t str, span: Span, label: &'t str, sign: char, style: Style) -> Mark<'t> {
        let line = Line::at(text, span.start);
        let column = line.column(span.start);
        // Of a place that goes over several lines the first is shown.
        let end = line.column(span.end.max(span.start));
        let (from, part, more) = part_of(line.text, column);
        let before = if from > 0 { DOTS } else { "" };
        let cells = |to: usize| {
            let own: String = part.chars().take(to - from).collect();
            expanded(&format!("{before}{own}")).chars().count()
        };
        let shown = from + part.chars().count();
        let indent = cells(column.min(shown));
        let length = cells(end.min(shown)).saturating_sub(indent).max(1);
        let shown = expanded(&format!("{before}{part}{}", if more { DOTS } else { "" }));
        Mark { line, column, from, shown, indent, length, label, sign, style }
    }
}

/// Lines of more characters than this are shown in part.
const LONG: usize = 1000;
/// So many characters before a place, and so many from it on.
const BEFORE: usize = 60;
const BEHIND: usize = 140;
/// What stands for the rest of a line.
const DOTS: &str = "...";

/// The part of a line that is shown around a place, the number of characters before it, and whether there are some behind it.
fn part_of(line: &str, column: usize) -> (usize, &str, bool) {
    if line.len() <= LONG || line.chars().nth(LONG).is_none() {
        return (0, line, false);
    }
    let from = if column < BEHIND { 0 } else { column - BEFORE };
    let mut places = line.char_indices().map(|(place, _)| place).skip(from);
    let start = places.next().unwrap_or(line.len());
    let end = places.nth(BEFORE + BEHIND - 1).unwrap_or(line.len());
    (from, &line[start..end], end < line.len())
}

/// A line of the text.
#[derive(Clone, Copy)]
struct Line<'t> {
    /// From 1.
    number: usize,
    /// Its first byte, behind a byte-order mark.
    start: usize,
    /// Its text, without the newline.
    text: &'t str,
}

impl<'t> Line<'t> {
    /// The line that holds the byte `offset`; the last one if the text is shorter.
    fn at(text: &'t str, offset: usize) -> Line<'t> {
        let offset = offset.min(text.len());
        let before = &text.as_bytes()[..offset];
        let number = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let mut start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        if start == 0 && text.starts_with('\u{FEFF}') {
            start = '\u{FEFF}'.len_utf8();
        }
        let line = text[start..].split('\n').next().unwrap_or("");
        Line { number, start, text: line.strip_suffix('\r').unwrap_or(line) }
    }

    /// Characters of the line before the byte `offset` of the text.
    fn column(&self, offset: usize) -> usize {
        self.text.char_indices().take_while(|(index, _)| self.start + index < offset).count()
    }
}

/// A line of the text as it is shown: tabs to the next multiple of four, other control characters made visible.
fn expanded(text: &str) -> String {
    let mut out = String::new();
    let mut cells = 0;
    for letter in text.chars() {
        if letter == '\t' {
            let blanks = 4 - cells % 4;
            out.extend(std::iter::repeat_n(' ', blanks));
            cells += blanks;
        } else {
            out.push(printable(letter));
            cells += 1;
        }
    }
    out
}

/// Text without control characters, which a terminal might obey.
fn visible(text: &str) -> String {
    text.chars().map(printable).collect()
}

fn printable(letter: char) -> char {
    if letter.is_control() { '\u{FFFD}' } else { letter }
}

#[derive(Clone, Copy)]
enum Style {
    Red,
    Yellow,
    Green,
    Blue,
    Bold,
}

struct Paint {
    color: bool,
}

impl Paint {
    fn styled(&self, style: Style, text: &str) -> String {
        if !self.color {
            return text.to_string();
        }
        let code = match style {
            Style::Red => "1;31",
            Style::Yellow => "1;33",
            Style::Green => "1;32",
            Style::Blue => "1;34",
            Style::Bold => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Renders diagnostics one after another, an empty line behind each: the first hundred, and how many more there are.
pub fn render_all(diagnostics: &[Diagnostic], file_name: &str, text: &str, color: bool) -> String {
    let shown = diagnostics.iter().take(MOST);
    let mut out: String = shown.map(|own| render(own, file_name, text, color) + "\n").collect();
    if let Some(more @ 1..) = diagnostics.len().checked_sub(MOST) {
        let _ = writeln!(out, "and {more} more; `cavi check --json` lists all");
    }
    out
}

/// So many diagnostics are shown: nobody reads more at once.
const MOST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let text = format!("a ~ b{}+ bad, sd = 1) {}", " ".repeat(70_000), "c".repeat(5000));
        let start = text.find("bad").unwrap_or(0);
        let diagnostic = Diagnostic::error("E0101", "unknown").at(Span::new(start, start + 3), "here");
        let expected = format!(
            "error[E0101]: unknown\n --> m.cavi:1:70008\n  |\n1 | ...{}+ bad, sd = 1) {}...\n  | {}^^^ here\n",
            " ".repeat(58),
            "c".repeat(127),
            " ".repeat(63)
        );
        check(&diagnostic, &text, &expected);
    }

    #[test]
    fn of_many_diagnostics_the_first_are_shown_and_the_others_counted() {
        let all = vec![Diagnostic::error("E0101", "unknown").at(Span::new(0, 1), "here"); 102];
        let text = render_all(&all, "m.cavi", "a", false);
        assert_eq!(text.matches("error[E0101]").count(), 100);
        assert!(text.ends_with("and 2 more; `cavi check --json` lists all\n"), "{text}");
        assert_eq!(render_all(&all[..1], "m.cavi", "a", false), render(&all[0], "m.cavi", "a", false) + "\n");
    }

    fn check(diagnostic: &Diagnostic, text: &str, expected: &str) {
        let rendered = render(diagnostic, "m.cavi", text, false);
        assert_eq!(rendered, expected, "\n{rendered}");
    }

    #[test]
    fn carets_stand_under_characters_not_bytes() {
        let text = "θ ~ Gamma(β β)\n";
        let start = text.rfind('β').unwrap_or(0);
        let diagnostic = Diagnostic::error("E0101", "two names")
            .at(Span::new(start, start + 2), "here")
            .possible("one name")
            .help("write one");
        let expected = "\
error[E0101]: two names
 --> m.cavi:1:13
  |
1 | θ ~ Gamma(β β)
  |             ^ here
  |
  = possible: one name
  = try: write one
";
        check(&diagnostic, text, expected);
    }

    #[test]
    fn tabs_are_expanded_and_long_places_show_their_first_line() {
        let text = "a\n\tb ~\n c\r\nd";
        let diagnostic =
            Diagnostic::warning("W0001", "long").at(Span::new(3, 9), "").also(Span::new(0, 1), "first");
        let expected = "\
warning[W0001]: long
 --> m.cavi:2:2
  |
1 | a
  | - first
2 |     b ~
  |     ^^^
";
        check(&diagnostic, text, expected);
    }

    #[test]
    fn lines_far_apart_are_joined_by_dots() {
        let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
        let ten = text.find("ten").unwrap_or(0);
        let diagnostic = Diagnostic::error("E0106", "open")
            .at(Span::new(0, 1), "here")
            .also(Span::new(ten, ten + 3), "there");
        let expected = "\
error[E0106]: open
  --> m.cavi:1:1
   |
 1 | one
   | ^ here
...
10 | ten
   | --- there
";
        check(&diagnostic, text, expected);
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        for text in ["", "\u{FEFF}", "é", "a\n", "\r\n"] {
            for (start, end) in [(0, 0), (1, 1), (0, 99), (99, 99), (99, 3)] {
                let diagnostic =
                    Diagnostic::note("N0001", "\u{1b}[2J").at(Span::new(start, end), "x").help("a\nb");
                let rendered = render(&diagnostic, "f", text, true);
                assert!(!rendered.contains("\u{1b}[2J"));
                position(text, start);
            }
        }
        check(&Diagnostic::error("E0001", "nowhere"), "text", "error[E0001]: nowhere\n --> m.cavi\n");
    }

    #[test]
    fn positions_count_from_one() {
        assert_eq!(position("ab\ncd", 0), (1, 1));
        assert_eq!(position("ab\ncd", 2), (1, 3));
        assert_eq!(position("ab\ncd", 3), (2, 1));
        assert_eq!(position("ab\ncd", 5), (2, 3));
        assert_eq!(position("\u{FEFF}ab", 4), (1, 2));
        for text in ["ab\ncd", "\u{FEFF}ab\n\nβc\n", "", "\n"] {
            let places = Places::of(text);
            for offset in (0..text.len() + 3).filter(|own| text.is_char_boundary(*own) || *own > text.len()) {
                assert_eq!(places.position(offset), position(text, offset), "{text:?} {offset}");
            }
        }
    }
}
