//! Formulas as MathML, from the LaTeX that derivations are printed in.
//!
//! Cavi prints few commands, and each is known here: a formula with any other one is a mistake of this file, which shows the name of the
//! command as text, and which a test over all programs finds.

use crate::html::escape;

/// A formula in a line of text.
pub(crate) fn inline(latex: &str) -> String {
    format!("<math>{}</math>", Parser::new(latex).rows())
}

/// A formula on lines of its own: what stands in an environment `aligned` becomes a table.
pub(crate) fn display(latex: &str) -> String {
    let body = latex.trim();
    let inside = body.strip_prefix("\\begin{aligned}").and_then(|rest| rest.strip_suffix("\\end{aligned}"));
    let rows = Parser::new(inside.unwrap_or(body)).rows();
    format!("<math display=\"block\">{rows}</math>")
}

/// The parts of a text between marks; one behind a backslash is a character like any other.
pub(crate) fn between_marks(text: &str, mark: char) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (place, character) in text.char_indices() {
        if !escaped && character == mark {
            parts.push(&text[start..place]);
            start = place + character.len_utf8();
        }
        escaped = !escaped && character == '\\';
    }
    parts.push(&text[start..]);
    parts
}

/// Plain text with formulas between dollars.
pub(crate) fn text_with_formulas(text: &str) -> String {
    let mut out = String::new();
    for (place, part) in between_marks(text, '$').into_iter().enumerate() {
        if place % 2 == 0 {
            out.push_str(&escape(&plain(part)));
        } else {
            out.push_str(&inline(part));
        }
    }
    out
}

/// Text without the marks by which LaTeX and Markdown escape characters.
pub(crate) fn plain(text: &str) -> String {
    let text = text.replace("\\textgreater{}", ">").replace("\\textless{}", "<");
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(next)) if next.is_ascii_punctuation() => out.extend(characters.next()),
            _ => out.push(character),
        }
    }
    out
}

/// A formula read from left to right.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn new(latex: &'a str) -> Parser<'a> {
        Parser { rest: latex }
    }

    /// Everything: lines apart at `\\`, columns at `&`.
    fn rows(&mut self) -> String {
        let mut rows: Vec<Vec<String>> = vec![vec![]];
        loop {
            let cell = self.list();
            rows.last_mut().expect("there is a row").push(cell);
            if self.take("\\\\") {
                rows.push(vec![]);
            } else if !self.take("&") && !self.skip_one() {
                break;
            }
        }
        match rows.as_slice() {
            [row] if row.len() == 1 => format!("<mrow>{}</mrow>", row[0]),
            rows => table(rows, "aligned"),
        }
    }

    /// A closing brace without an opening one is left out; false at the end.
    fn skip_one(&mut self) -> bool {
        let mut characters = self.rest.chars();
        let skipped = characters.next().is_some();
        self.rest = characters.as_str();
        skipped
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = self.rest.strip_prefix(mark);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// Atoms with their scripts, up to what ends them: the end, `}`, `&`, `\\`, `\right`, `\end`.
    fn list(&mut self) -> String {
        let mut out = String::new();
        loop {
            self.rest = self.rest.trim_start();
            let ends = ["}", "&", "\\\\", "\\right", "\\end"];
            let is_arrow = self.rest.starts_with("\\rightarrow");
            if self.rest.is_empty() || !is_arrow && ends.iter().any(|own| self.rest.starts_with(own)) {
                return out;
            }
            out.push_str(&self.scripted());
        }
    }

    /// An atom with what stands above and below it.
    fn scripted(&mut self) -> String {
        let (base, is_sum) = self.atom();
        let (mut above, mut below) = (String::new(), None);
        // As in TeX a base has one superscript, which primes may stand before: a second one is a mistake of the formula, which is shown.
        let mut raised = false;
        loop {
            if !raised && self.rest.starts_with('\'') {
                let primes = self.rest.len() - self.rest.trim_start_matches('\'').len();
                self.rest = &self.rest[primes..];
                above.push_str(&format!("<mo lspace=\"0\" rspace=\"0\">{}</mo>", "\u{2032}".repeat(primes)));
            } else if self.take("^") {
                if raised {
                    above.push_str("<mtext>^</mtext>");
                }
                raised = true;
                above.push_str(&self.argument());
            } else if below.is_none() && self.take("_") {
                below = Some(self.argument());
            } else {
                break;
            }
        }
        let above = (!above.is_empty()).then(|| format!("<mrow>{above}</mrow>"));
        match (above, below, is_sum) {
            (None, None, _) => base,
            (Some(above), None, _) => format!("<msup>{base}{above}</msup>"),
            (None, Some(below), true) => format!("<munder>{base}{below}</munder>"),
            (None, Some(below), false) => format!("<msub>{base}{below}</msub>"),
            (Some(above), Some(below), true) => format!("<munderover>{base}{below}{above}</munderover>"),
            (Some(above), Some(below), false) => format!("<msubsup>{base}{below}{above}</msubsup>"),
        }
    }

    /// What stands in braces, or one atom.
    fn argument(&mut self) -> String {
        self.rest = self.rest.trim_start();
        if !self.take("{") {
            return self.atom().0;
        }
        let inside = self.list();
        self.take("}");
        format!("<mrow>{inside}</mrow>")
    }

    /// What stands in braces, as it is written.
    fn raw(&mut self) -> &'a str {
        let Some(text) = self.rest.strip_prefix('{') else { return "" };
        let (mut depth, mut escaped) = (0, false);
        for (place, character) in text.char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '{' => depth += 1,
                '}' if depth == 0 => {
                    self.rest = &text[place + 1..];
                    return &text[..place];
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        self.rest = "";
        text
    }

    /// One atom, and whether its scripts stand right above and below it.
    fn atom(&mut self) -> (String, bool) {
        let mut characters = self.rest.chars();
        let Some(first) = characters.next() else { return ("<mrow></mrow>".to_owned(), false) };
        let shown = match first {
            '\\' => return self.command(),
            '{' => self.argument(),
            own if own.is_ascii_digit() => {
                let end = self.rest.find(|own: char| !own.is_ascii_digit() && own != '.');
                let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                self.rest = rest;
                format!("<mn>{number}</mn>")
            }
            own => {
                self.rest = characters.as_str();
                match own {
                    '-' => "<mo>\u{2212}</mo>".to_owned(),
                    '(' | ')' | '[' | ']' | '|' => format!("<mo stretchy=\"false\">{own}</mo>"),
                    own if own.is_alphabetic() => format!("<mi>{own}</mi>"),
                    own => format!("<mo>{}</mo>", escape(&own.to_string())),
                }
            }
        };
        (shown, false)
    }

    /// A command with its arguments.
    fn command(&mut self) -> (String, bool) {
        let after = &self.rest[1..];
        let end = after.find(|own: char| !own.is_ascii_alphabetic()).unwrap_or(after.len());
        let end = if end == 0 { after.chars().next().map_or(0, char::len_utf8) } else { end };
        let (name, rest) = after.split_at(end);
        self.rest = rest;
        if let Some(letter) = greek(name) {
            // Capitals stand upright.
            let upright = if letter.is_uppercase() { " mathvariant=\"normal\"" } else { "" };
            return (format!("<mi{upright}>{letter}</mi>"), false);
        }
        if name == "#" {
            return ("<mi>#</mi>".to_owned(), false);
        }
        if let Some(sign) = sign(name) {
            return (format!("<mo>{sign}</mo>"), false);
        }
        if let Some(width) = space(name) {
            return (format!("<mspace width=\"{width}em\"></mspace>"), false);
        }
        let shown = match name {
            "sum" => return ("<mo>\u{2211}</mo>".to_owned(), true),
            "ln" | "exp" | "max" | "min" | "sin" | "cos" | "cosh" | "tanh" => {
                // As TeX does, a little room before what is not in brackets.
                let next = self.rest.trim_start();
                let bracketed = ["(", "\\left", "^", "_"].iter().any(|own| next.starts_with(own));
                let room = if bracketed { "" } else { "<mspace width=\"0.17em\"></mspace>" };
                format!("<mi>{name}</mi><mo>\u{2061}</mo>{room}")
            }
            "tfrac" | "frac" => {
                let (above, below) = (self.argument(), self.argument());
                let small = if name == "tfrac" { " displaystyle=\"false\"" } else { "" };
                format!("<mfrac{small}>{above}{below}</mfrac>")
            }
            "sqrt" => format!("<msqrt>{}</msqrt>", self.argument()),
            "tilde" => self.accented("~"),
            "hat" => self.accented("^"),
            "dot" => self.accented("\u{2d9}"),
            "bar" | "overline" => self.accented("\u{af}"),
            "mathrm" | "mathbf" | "operatorname" => upright(self.raw()),
            "text" | "textrm" => text(self.raw()),
            "left" => self.between(),
            "big" | "bigl" | "bigr" | "Bigl" | "Bigr" => {
                format!("<mo stretchy=\"false\">{}</mo>", self.delimiter())
            }
            "substack" => substack(self.raw()),
            "ensuremath" => self.argument(),
            // A formula that Cavi does not print.
            other => format!("<mtext>{}</mtext>", escape(other)),
        };
        (format!("<mrow>{shown}</mrow>"), false)
    }

    /// An argument with a mark above it.
    fn accented(&mut self, mark: &str) -> String {
        format!("<mover accent=\"true\">{}<mo>{mark}</mo></mover>", self.argument())
    }

    /// `\left( ... \right)`
    fn between(&mut self) -> String {
        let open = self.delimiter();
        let inside = self.list();
        self.take("\\right");
        let close = self.delimiter();
        let mark = |own: &str, form: &str| match own {
            "" => String::new(),
            own => format!("<mo form=\"{form}\" stretchy=\"true\">{own}</mo>"),
        };
        format!("{}{inside}{}", mark(&open, "prefix"), mark(&close, "postfix"))
    }

    /// The bracket behind `\left`, `\right` and `\bigl`.
    fn delimiter(&mut self) -> String {
        self.rest = self.rest.trim_start();
        self.take("\\");
        let mut characters = self.rest.chars();
        let own = characters.next();
        self.rest = characters.as_str();
        own.filter(|own| *own != '.').map_or_else(String::new, |own| escape(&own.to_string()))
    }
}

/// Rows and columns as a table.
fn table(rows: &[Vec<String>], class: &str) -> String {
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().map(|cell| format!("<mtd>{cell}</mtd>"));
        format!("<mtr>{}</mtr>", cells.collect::<String>())
    };
    let rows: String = rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty())).map(row).collect();
    format!("<mtable class=\"{class}\" displaystyle=\"true\">{rows}</mtable>")
}

/// Conditions below each other.
fn substack(inside: &str) -> String {
    let rows: Vec<Vec<String>> = inside.split("\\\\").map(|own| vec![Parser::new(own).list()]).collect();
    table(&rows, "stack").replace(" displaystyle=\"true\"", "")
}

/// A name in upright letters.
fn upright(name: &str) -> String {
    let name = plain(name);
    let one = if name.chars().count() == 1 { " mathvariant=\"normal\"" } else { "" };
    format!("<mi{one}>{}</mi>", escape(&name))
}

/// Words in a formula, with formulas between dollars.
fn text(inside: &str) -> String {
    let parts = inside.split('$').enumerate().map(|(place, part)| match place % 2 {
        0 if part.is_empty() => String::new(),
        // A space at the edge of a text counts.
        0 => format!("<mtext>{}</mtext>", escape(&plain(part)).replace(' ', "\u{a0}")),
        _ => Parser::new(part).list(),
    });
    parts.collect()
}

fn greek(name: &str) -> Option<char> {
    const LETTERS: [(&str, char); 36] = [
        ("alpha", 'α'),
        ("beta", 'β'),
        ("gamma", 'γ'),
        ("delta", 'δ'),
        ("epsilon", 'ϵ'),
        ("varepsilon", 'ε'),
        ("zeta", 'ζ'),
        ("eta", 'η'),
        ("theta", 'θ'),
        ("iota", 'ι'),
        ("kappa", 'κ'),
        ("lambda", 'λ'),
        ("mu", 'μ'),
        ("nu", 'ν'),
        ("xi", 'ξ'),
        ("omicron", 'ο'),
        ("pi", 'π'),
        ("rho", 'ρ'),
        ("sigma", 'σ'),
        ("tau", 'τ'),
        ("upsilon", 'υ'),
        ("phi", 'φ'),
        ("chi", 'χ'),
        ("psi", 'ψ'),
        ("omega", 'ω'),
        ("Gamma", 'Γ'),
        ("Delta", 'Δ'),
        ("Theta", 'Θ'),
        ("Lambda", 'Λ'),
        ("Xi", 'Ξ'),
        ("Pi", 'Π'),
        ("Sigma", 'Σ'),
        ("Upsilon", 'Υ'),
        ("Phi", 'Φ'),
        ("Psi", 'Ψ'),
        ("Omega", 'Ω'),
    ];
    LETTERS.iter().find(|(own, _)| *own == name).map(|(_, letter)| *letter)
}

fn sign(name: &str) -> Option<&'static str> {
    Some(match name {
        "sim" => "∼",
        "mid" => "∣",
        "geq" => "≥",
        "leq" => "≤",
        "neq" => "≠",
        "propto" => "∝",
        "times" => "×",
        "cdot" => "⋅",
        "top" => "⊤",
        "prime" => "′",
        "partial" => "∂",
        "nabla" => "∇",
        "infty" => "∞",
        "in" => "∈",
        "to" | "rightarrow" => "→",
        "ldots" | "dots" => "…",
        "approx" => "≈",
        "%" => "%",
        "_" => "_",
        "&" => "&amp;",
        "$" => "$",
        "{" => "{",
        "}" => "}",
        "|" => "‖",
        "textgreater" => "&gt;",
        "textless" => "&lt;",
        _ => return None,
    })
}

/// The width of a space in the size of the letters.
fn space(name: &str) -> Option<f64> {
    Some(match name {
        "," => 0.17,
        ":" => 0.22,
        ";" => 0.28,
        "!" => -0.17,
        " " => 0.25,
        "quad" => 1.0,
        "qquad" => 2.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_stand_at_their_base() {
        assert_eq!(
            inline("\\theta_{dk}^{2}"),
            "<math><mrow><msubsup><mi>θ</mi><mrow><mi>d</mi><mi>k</mi></mrow><mrow><mrow><mn>2</mn></mrow></mrow></msubsup></mrow></math>"
        );
    }

    #[test]
    fn accents_stand_above() {
        for (command, mark) in [("bar", "¯"), ("overline", "¯"), ("hat", "^"), ("tilde", "~"), ("dot", "˙")]
        {
            let shown = inline(&format!("\\{command}{{x}}_{{k}}"));
            assert!(shown.contains(&format!("<mi>x</mi></mrow><mo>{mark}</mo></mover>")), "{shown}");
            assert!(!shown.contains(command), "{shown}");
        }
    }

    #[test]
    fn lines_and_columns_are_a_table() {
        let shown = display("\\begin{aligned}\n  a &= b \\\\\n  c &\\geq \\frac{1}{2}\n\\end{aligned}");
        assert_eq!(shown.matches("<mtr>").count(), 2, "{shown}");
        assert_eq!(shown.matches("<mtd>").count(), 4, "{shown}");
        assert!(shown.contains("<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"), "{shown}");
    }

    #[test]
    fn brackets_grow_with_what_they_hold() {
        let shown = inline("\\left(\\sum_{k} a_{k}\\right)");
        assert!(shown.contains("<munder><mo>∑</mo>"), "{shown}");
        assert!(shown.contains("form=\"postfix\" stretchy=\"true\">)</mo>"), "{shown}");
    }

    #[test]
    fn one_base_has_one_superscript() {
        assert!(inline("10^{-7}^{2}").contains("<mtext>^</mtext>"));
        assert!(!inline("\\left(2.5 \\times 10^{-7}\\right)^{2} + x'^{2}_{k}").contains("<mtext>"));
    }

    #[test]
    fn dollars_behind_a_backslash_are_money() {
        let shown = text_with_formulas("from \\$5 to \\$6, \\\\$x$ \\<b>");
        assert!(shown.starts_with("from $5 to $6, \\<math>"), "{shown}");
        assert!(shown.ends_with("</math> &lt;b&gt;"), "{shown}");
    }

    #[test]
    fn nothing_in_a_formula_is_markup() {
        let shown = inline("\\text{<b> & \\_} < \\mathrm{<i>}");
        assert!(!shown.contains("<b>") && !shown.contains("<i>"), "{shown}");
    }
}
