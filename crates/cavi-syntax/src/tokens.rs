//! The words and signs of a text, with their places.
//!
//! Pest parses the lines; these tokens decide where a line ends, and they explain what pest could not read. Every byte
//! that is not blank belongs to a token, whatever the text.

use cavi_grammar::{RESERVED, continues_name, starts_name};

use crate::span::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a word, reserved or not.
    Word,
    /// A number as the language writes it.
    Number,
    /// `.5`
    NumberWithoutLead,
    /// `1.`
    NumberWithoutTail,
    /// `2x`, `1_000`, `1e`
    NumberThenLetters,
    /// A sign or a combination of signs that the language has.
    Sign,
    /// `<-`, `:=`, `**`, `&&` and other combinations that other languages have.
    ForeignSign,
    /// Text between quotes.
    Quoted,
    /// From `#` to the end of the line.
    Comment,
    /// From `//` to the end of the line, or `/* ... */`.
    ForeignComment,
    /// The end of a line of the file.
    Newline,
    /// A character that has no meaning anywhere.
    Stray,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'t str,
    pub(crate) span: Span,
}

impl Token<'_> {
    /// Whether it is this sign or this word.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Sign | TokenKind::Word) && self.text == text
    }

    /// Whether it is a word, reserved or not.
    pub(crate) fn is_word(&self) -> bool {
        self.kind == TokenKind::Word
    }

    /// Whether it is a word that may be a name.
    pub(crate) fn is_name(&self) -> bool {
        self.is_word() && !self.is_reserved()
    }

    /// Whether it is a point that belongs to no number, as in `theta.mean`.
    pub(crate) fn is_point(&self) -> bool {
        self.kind == TokenKind::Stray && self.text == "."
    }

    /// Whether it is a reserved word.
    pub(crate) fn is_reserved(&self) -> bool {
        self.is_word() && RESERVED.contains(&self.text)
    }

    /// Whether an operand may end with it.
    pub(crate) fn ends_operand(&self) -> bool {
        match self.kind {
            TokenKind::Sign => matches!(self.text, ")" | "]"),
            TokenKind::Word
            | TokenKind::Number
            | TokenKind::NumberWithoutLead
            | TokenKind::NumberWithoutTail
            | TokenKind::NumberThenLetters
            | TokenKind::Quoted => true,
            TokenKind::ForeignSign
            | TokenKind::Comment
            | TokenKind::ForeignComment
            | TokenKind::Newline
            | TokenKind::Stray => false,
        }
    }

    /// Whether a line that ends with it goes on with the next: `,`, `~`, `=` and the binary operators.
    pub(crate) fn continues_line(&self) -> bool {
        matches!(self.kind, TokenKind::Sign | TokenKind::ForeignSign)
            && matches!(
                self.text,
                "," | "~" | "=" | "+" | "-" | "*" | "/" | "^" | "==" | "!=" | "<" | "**" | "<-" | ":="
            )
    }
}

/// Combinations of signs, longest first; the flag says whether the language has them.
const COMBINATIONS: [(&str, bool); 15] = [
    ("==", true),
    ("!=", true),
    ("<-", false),
    ("<=", false),
    (">=", false),
    (":=", false),
    ("**", false),
    ("&&", false),
    ("||", false),
    ("+=", false),
    ("*=", false),
    ("->", false),
    ("~~", false),
    ("%%", false),
    ("%*%", false),
];

/// The signs of the language.
const SIGNS: &str = "()[]{},~=:+-*/^<;";

/// Cuts a text into tokens.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(letter) = text[start..].chars().next() {
        // A byte-order mark is a blank, and a carriage return belongs to the newline after it.
        if matches!(letter, ' ' | '\t' | '\r' | '\u{FEFF}') {
            start += letter.len_utf8();
            continue;
        }
        let (kind, length) = token(&text[start..], letter);
        let span = Span::new(start, start + length);
        found.push(Token { kind, text: &text[start..start + length], span });
        start += length;
    }
    found
}

/// The kind and the length of the token that `rest` starts with; `letter` is its first character.
fn token(rest: &str, letter: char) -> (TokenKind, usize) {
    if letter == '\n' {
        return (TokenKind::Newline, 1);
    }
    if letter == '#' {
        return (TokenKind::Comment, line_length(rest));
    }
    if rest.starts_with("//") {
        return (TokenKind::ForeignComment, line_length(rest));
    }
    if rest.starts_with("/*") {
        // It ends on its line or, where it does not, with the line: the rest of the file stays readable.
        let line = &rest[..line_length(rest)];
        return (TokenKind::ForeignComment, line.find("*/").map_or(line.len(), |end| end + 2));
    }
    if starts_name(letter) {
        return (TokenKind::Word, name_length(rest));
    }
    if letter.is_ascii_digit() || (letter == '.' && starts_with_digit(&rest[1..])) {
        return number(rest);
    }
    if matches!(letter, '"' | '\'' | '`') {
        let line = &rest[..line_length(rest)];
        if let Some(end) = line[1..].find(letter) {
            return (TokenKind::Quoted, end + 2);
        }
    }
    if let Some((sign, ours)) =
        COMBINATIONS.iter().filter(|(sign, _)| rest.starts_with(sign)).max_by_key(|(sign, _)| sign.len())
    {
        let kind = if *ours { TokenKind::Sign } else { TokenKind::ForeignSign };
        return (kind, sign.len());
    }
    if SIGNS.contains(letter) {
        return (TokenKind::Sign, letter.len_utf8());
    }
    (TokenKind::Stray, letter.len_utf8())
}

/// Bytes up to the end of the line, without the newline.
fn line_length(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

fn name_length(rest: &str) -> usize {
    rest.find(|letter| !continues_name(letter)).unwrap_or(rest.len())
}

fn starts_with_digit(rest: &str) -> bool {
    rest.starts_with(|letter: char| letter.is_ascii_digit())
}

fn digits(rest: &str) -> usize {
    rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())
}

/// A number, well formed or not: what looks like one number is one token.
fn number(rest: &str) -> (TokenKind, usize) {
    let lead = digits(rest);
    let mut kind = if lead == 0 { TokenKind::NumberWithoutLead } else { TokenKind::Number };
    let mut length = lead;
    if rest[length..].starts_with('.') {
        let tail = digits(&rest[length + 1..]);
        if tail == 0 {
            kind = TokenKind::NumberWithoutTail;
        }
        length += 1 + tail;
    }
    let after = &rest[length..];
    if after.starts_with(['e', 'E']) {
        let sign = usize::from(after[1..].starts_with(['+', '-']));
        let exponent = digits(&after[1 + sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    let letters = name_length(&rest[length..]);
    if letters > 0 {
        return (TokenKind::NumberThenLetters, length + letters);
    }
    (kind, length)
}

/// Tokens as text, with a blank where any stood between them.
pub(crate) fn text(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    let mut end = tokens.first().map_or(0, |token| token.span.start);
    for token in tokens {
        if token.span.start > end {
            out.push(' ');
        }
        out.push_str(token.text);
        end = token.span.end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        tokens(text).iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn numbers_that_look_like_one_are_one() {
        use TokenKind::*;
        assert_eq!(kinds("3 0.5 1e-14"), [(Number, "3"), (Number, "0.5"), (Number, "1e-14")]);
        assert_eq!(
            kinds(".5 1. 2x"),
            [(NumberWithoutLead, ".5"), (NumberWithoutTail, "1."), (NumberThenLetters, "2x")]
        );
        assert_eq!(kinds("1_000 1e"), [(NumberThenLetters, "1_000"), (NumberThenLetters, "1e")]);
        assert_eq!(kinds("s^-2"), [(Word, "s"), (Sign, "^"), (Sign, "-"), (Number, "2")]);
    }

    #[test]
    fn every_byte_that_is_no_blank_is_in_a_token() {
        for text in ["a\0b😀 \u{FEFF}x /*", "'", "\"é", "%*% .", "<--", "1.e5.."] {
            let covered: usize = tokens(text).iter().map(|token| token.text.len()).sum();
            let blanks: usize =
                text.chars().filter(|c| " \t\r\u{FEFF}".contains(*c)).map(char::len_utf8).sum();
            assert_eq!(covered + blanks, text.len(), "{text:?}");
        }
    }
}
