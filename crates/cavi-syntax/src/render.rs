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
    let mut shown: Option<usize> = None;
    for mark in &marks {
        if shown != Some(mark.line.number) {
            match shown {
                None => {
                    let _ = writeln!(out, "{gutter}");
                }
                Some(previous) if previous + 1 < mark.line.number => {
                    let _ = writeln!(out, "{}", paint.styled(Style::Blue, "..."));
                }
                Some(_) => {}
            }
            shown = Some(mark.line.number);
            let number = paint.styled(Style::Blue, &format!("{:>width$} |", mark.line.number));
            let _ = writeln!(out, "{}", format!("{number} {}", expanded(mark.line.text)).trim_end());
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
        let indent = expanded(&take_characters(line.text, column)).chars().count();
        let length = expanded(&take_characters(line.text, end)).chars().count().saturating_sub(indent).max(1);
        Mark { line, column, indent, length, label, sign, style }
    }
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

fn take_characters(text: &str, count: usize) -> String {
    text.chars().take(count).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
