//! Text as HTML: whatever comes from a program or from data passes through [`escape`].

/// Text in which nothing is markup, for elements and for attributes in double quotes.
///
/// # Example
/// ```
/// assert_eq!(cavi_report::escape("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Other control characters are no characters of HTML.
            own if own.is_control() && !matches!(own, '\n' | '\t') => out.push('\u{fffd}'),
            own => out.push(own),
        }
    }
    out
}

/// JSON inside an element `script`: no text in it ends the element.
pub(crate) fn json_in_script(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A name as part of an `id`: letters, digits and `-`.
pub(crate) fn identifier(text: &str) -> String {
    let part = |own: char| if own.is_ascii_alphanumeric() { own.to_ascii_lowercase() } else { '-' };
    text.chars().map(part).collect()
}

/// Bytes as base64, which a page holds in a third more characters than bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let all = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            match place <= three.len() {
                true => out.push(char::from(LETTERS[(all >> (18 - 6 * place) & 63) as usize])),
                false => out.push('='),
            }
        }
    }
    out
}

/// A number with four digits that matter.
pub(crate) fn number(value: f64) -> String {
    cavi::summary::digits(value, 4)
}

/// A text with a capital at its beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |own| own.to_uppercase().to_string() + letters.as_str())
}

/// `1,234,567`
pub(crate) fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_its_standard() {
        // RFC 4648, section 10.
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|own| base64(own.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn no_text_ends_a_script() {
        let shown = json_in_script(&serde_json::json!({"a": "</script><b>"}));
        assert!(!shown.contains('<'), "{shown}");
        let back: serde_json::Value = serde_json::from_str(&shown).expect("it is JSON still");
        assert_eq!(back["a"], "</script><b>");
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
