//! Lines that are not Cavi: the words and signs of other languages, and how to write the same thing here.

use cavi_grammar::RESERVED;

use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::tokens::{Token, TokenKind, text};

/// How deep brackets may be nested.
pub(crate) const MAX_DEPTH: usize = 200;

/// How many operators a statement may hold: the tree's depth is bounded by it.
pub(crate) const MAX_OPERATORS: usize = 500;

/// A mistake that a single token shows, whatever stands around it.
pub(crate) fn token_mistake(token: &Token<'_>) -> Option<Diagnostic> {
    let text = token.text;
    let diagnostic = match token.kind {
        TokenKind::Word | TokenKind::Sign | TokenKind::Comment | TokenKind::Newline => return None,
        TokenKind::Number => {
            if text.parse::<f64>().is_ok_and(f64::is_finite) {
                return None;
            }
            Diagnostic::error("E0124", "the number is too large")
                .at(token.span, "beyond the range of double precision")
                .help("write a number below 1.8e308")
        }
        TokenKind::NumberWithoutLead => {
            Diagnostic::error("E0104", format!("a number starts with a digit, found `{text}`"))
                .at(token.span, "no digit before the point")
                .help(format!("write `0{text}`"))
        }
        TokenKind::NumberWithoutTail => {
            let repair = text.replacen('.', ".0", 1);
            Diagnostic::error("E0104", format!("a digit follows the point of a number, found `{text}`"))
                .at(token.span, "no digit after the point")
                .help(format!("write `{repair}` or `{}`", text.replacen('.', "", 1)))
        }
        TokenKind::NumberThenLetters => number_then_letters(token),
        TokenKind::ForeignSign => foreign_sign(token),
        TokenKind::Quoted => {
            let inside = &text[1..text.len() - 1];
            let found = match inside {
                "" => "quotes with nothing between them".to_owned(),
                _ => format!("quotes around `{inside}`"),
            };
            Diagnostic::error("E0127", found).at(token.span, "the language has no strings").help(match inside {
                    "" => "write text for readers as a comment, which starts with `#`".to_owned(),
                    _ if inside.parse::<f64>().is_ok() => format!("write the number without quotes: `{inside}`"),
                    _ if inside.contains(['.', '/', '\\']) => format!("files are given on the command line: `data y[n] : real` here, and `--data y={inside}` there"),
                    _ => format!("write `{inside}` without quotes, if it is a name"),
                })
        }
        TokenKind::ForeignComment => {
            Diagnostic::error("E0111", format!("a comment starts with `#`, found `{}`", &text[..2]))
                .at(Span::new(token.span.start, token.span.start + 2), "starts no comment")
                .help("write `#`; the comment goes to the end of the line")
        }
        TokenKind::Stray => stray(token),
    };
    Some(diagnostic)
}

fn number_then_letters(token: &Token<'_>) -> Diagnostic {
    let text = token.text;
    let digits = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    let (number, letters) = text.split_at(digits);
    let help = if letters.starts_with('_') {
        format!("write `{}`", text.replace('_', ""))
    } else if matches!(letters, "e" | "E") {
        format!("write an exponent, `{number}e-3`, or `{number}`")
    } else {
        format!("write `{number} * {letters}` for a product; a name starts with a letter")
    };
    Diagnostic::error("E0104", format!("letters follow a number, `{text}`"))
        .at(token.span, "neither a number nor a name")
        .help(help)
}

/// What to write for a line with a sign of assignment: the same line with `~` before a distribution, else with `=`.
pub(crate) fn assignment(line: &[Token<'_>], sign: &Token<'_>) -> Option<String> {
    if !matches!(sign.text, "<-" | ":=") {
        return None;
    }
    let at = line.iter().position(|token| token.span == sign.span)?;
    let (left, right) = (&line[..at], &line[at + 1..]);
    let (first, last) = (right.first()?, right.last()?);
    // A family has a capital letter, and its arguments end the line.
    let capital = first.text.chars().next().is_some_and(char::is_uppercase);
    let family = capital && right.get(1).is_some_and(|token| token.is("(")) && last.is(")");
    (!left.is_empty())
        .then(|| format!("write `{} {} {}`", text(left), if family { "~" } else { "=" }, text(right)))
}

/// Which comparisons there are, and where.
const COMPARISONS: &str = "letters are compared by `==`, `!=` and `<`: `[j == l] + [j < l]` in an expression, `i < j` or `i != j` in `data`";

fn foreign_sign(token: &Token<'_>) -> Diagnostic {
    let text = token.text;
    let (code, label, help) = match text {
        "<-" | ":=" | "->" => (
            "E0112",
            "no assignment in the language",
            "write `NAME[...] = expression` for a definition, `NAME[...] ~ Family(...)` for a distribution",
        ),
        "**" => ("E0114", "no operator of the language", "write `^` for a power: `s^-2`"),
        "<=" | ">=" => ("E0122", "no operator of the language", COMPARISONS),
        "&&" | "||" => (
            "E0122",
            "no operator of the language",
            "there are no conditions: write one statement for each case",
        ),
        "+=" | "*=" => {
            ("E0112", "no assignment in the language", "write the whole sum in one statement: `NAME = a + b`")
        }
        "%*%" => (
            "E0103",
            "no operator of the language",
            "write a matrix product by its sum: `sum[k](a[i, k] * b[k, j])`",
        ),
        "~~" => ("E0103", "no operator of the language", "write one `~`"),
        _ => ("E0103", "no operator of the language", "a comment starts with `#`"),
    };
    Diagnostic::error(code, format!("`{text}` has no meaning here")).at(token.span, label).help(help)
}

/// A character that is not in the language, and what it looks like or stands for elsewhere.
fn stray(token: &Token<'_>) -> Diagnostic {
    let letter = token.text.chars().next().unwrap_or(' ');
    let help = match letter {
        '\u{2212}' | '\u{2013}' | '\u{2014}' | '\u{2010}' | '\u{2011}' => {
            "write the minus of the keyboard, `-`".to_string()
        }
        '\u{00D7}' | '\u{00B7}' | '\u{22C5}' | '\u{2217}' | '\u{2715}' => {
            "write `*` for a product".to_string()
        }
        '\u{00F7}' | '\u{2215}' | '\u{2044}' => "write `/` for a quotient".to_string(),
        '\u{223C}' | '\u{02DC}' | '\u{FF5E}' => "write the tilde of the keyboard, `~`".to_string(),
        '\u{2264}' | '\u{2265}' | '>' => COMPARISONS.to_string(),
        '\u{2260}' => "write `!=`".to_string(),
        '\u{2211}' | '\u{03A3}' => "write `sum[k](...)`".to_string(),
        '\u{00B5}' => {
            "this is the micro sign; write the Greek letter `\u{03BC}` (U+03BC), or `mu`".to_string()
        }
        '\u{00A0}' | '\u{2000}'..='\u{200B}' | '\u{202F}' | '\u{3000}' => {
            "write an ordinary blank".to_string()
        }
        '\u{2018}' | '\u{2019}' | '\u{201C}' | '\u{201D}' | '\'' | '"' | '`' => {
            "remove it: the language has no strings, and no sign for the transpose (swap the subscripts)"
                .to_string()
        }
        '\u{2080}'..='\u{2089}' => {
            let digit = u32::from(letter) - 0x2080;
            format!("write the digit, `{digit}`")
        }
        '\u{00B2}' => "write `^2`".to_string(),
        '\u{00B3}' => "write `^3`".to_string(),
        '&' => "write a product of two indicators, or two statements".to_string(),
        '|' => "there are no conditions in a statement: the parents stand in the brackets of the family"
            .to_string(),
        '%' => "a comment starts with `#`".to_string(),
        '.' => {
            "a name holds letters, digits and `_`; a number has digits on both sides of its point".to_string()
        }
        '_' => "a name starts with a letter".to_string(),
        '!' => "write `i != j` in a `data` statement to leave out the diagonal".to_string(),
        '@' => "write a matrix product by its sum: `sum[k](a[i, k] * b[k, j])`".to_string(),
        '$' | '?' | '\\' => "remove it: names and numbers are written bare".to_string(),
        _ if letter.is_alphabetic() => "names are written in Latin or Greek letters".to_string(),
        _ => "remove it".to_string(),
    };
    let code = if matches!(letter, '\u{2018}' | '\u{2019}' | '\u{201C}' | '\u{201D}' | '\'' | '"' | '`') {
        "E0127"
    } else {
        "E0103"
    };
    Diagnostic::error(code, format!("the character {} has no meaning here", shown(letter)))
        .at(token.span, "not in the language")
        .help(help)
}

/// A character in a message: itself if it can be seen, and its number unless it is ASCII.
fn shown(letter: char) -> String {
    let number = u32::from(letter);
    if letter.is_ascii_graphic() {
        format!("`{letter}`")
    } else if letter.is_alphanumeric() || (!letter.is_control() && !letter.is_whitespace() && number > 0x00A0)
    {
        format!("`{letter}` (U+{number:04X})")
    } else {
        format!("U+{number:04X}")
    }
}

/// Mistakes that are found by counting the tokens of a line, before pest parses it: too many operators.
pub(crate) fn line_mistake(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let mut operators =
        tokens.iter().filter(|token| ["+", "-", "*", "/", "^"].iter().any(|sign| token.is(sign)));
    let token = operators.nth(MAX_OPERATORS)?;
    Some(
        Diagnostic::error("E0123", format!("a statement with more than {MAX_OPERATORS} operators"))
            .at(token.span, "too long")
            .help("name parts of the expression: `NAME[...] = ...`; or write `sum[k](...)`"),
    )
}

/// What a line looks like that says more than one thing: the place where the second one starts.
pub(crate) fn second_statement(tokens: &[Token<'_>], found: usize) -> bool {
    let Some(token) = tokens.get(found) else { return false };
    if found == 0 || !tokens[found - 1].ends_operand() || !token.is_word() {
        return false;
    }
    let next = tokens.get(found + 1);
    match token.text {
        "model" | "axis" | "data" | "const" | "point" | "fixed" | "implicit" => {
            next.is_some_and(Token::is_word)
        }
        "q" => next.is_some_and(|next| next.is("(")),
        "posterior" | "init" | "fit" | "report" => next.is_none(),
        "stop" => next.is_some_and(|next| next.is("when")),
        "sweep" | "warmup" | "batch" | "heat" | "top" | "image" => next.is_some(),
        _ => {
            let mut depth = 0usize;
            for after in &tokens[found + 1..] {
                if after.is("[") {
                    depth += 1;
                } else if after.is("]") {
                    depth = depth.saturating_sub(1);
                } else if depth == 0 {
                    return after.is("~") || after.is("=");
                }
            }
            false
        }
    }
}

/// Brackets nested too deeply in a text that is not cut into lines.
pub(crate) fn depth_mistake(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let mut depth = 0usize;
    for token in tokens {
        if token.is("(") || token.is("[") {
            depth += 1;
        } else if token.is(")") || token.is("]") {
            depth = depth.saturating_sub(1);
        }
        if depth > MAX_DEPTH {
            return Some(too_deep(token));
        }
    }
    None
}

/// The complaint about brackets nested too deeply.
pub(crate) fn too_deep(token: &Token<'_>) -> Diagnostic {
    Diagnostic::error("E0123", format!("brackets are nested more than {MAX_DEPTH} deep"))
        .at(token.span, "too deep")
        .help("name a part of the expression: `NAME[...] = ...`")
}

/// The complaint about a reserved word where a name should stand.
pub(crate) fn reserved(token: &Token<'_>) -> Diagnostic {
    let text = token.text;
    Diagnostic::error("E0105", format!("`{text}` is a reserved word"))
        .at(token.span, "cannot be a name")
        .possible(format!("reserved are `{}`", RESERVED.join(" ")))
        .help(format!("choose another name: `{text}_`, `{text}1`"))
}
