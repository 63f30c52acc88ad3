//! How wide a formula is when it is set, in points of ten-point Computer Modern.

use std::iter::Peekable;
use std::str::Chars;

/// The width of a displayed formula. A command that is not known counts as one symbol.
pub(crate) fn width(latex: &str) -> f64 {
    group(&mut latex.chars().peekable(), 1.0)
}

/// Up to the end of a group.
fn group(chars: &mut Peekable<Chars<'_>>, scale: f64) -> f64 {
    let mut total = 0.0;
    while let Some(c) = chars.next() {
        total += match c {
            '}' => return total,
            '{' => group(chars, scale),
            '_' | '^' => {
                let first = argument(chars, 0.7 * scale);
                // An index below another one takes no more room than the wider.
                let second = match chars.peek() {
                    Some('_' | '^') => {
                        chars.next();
                        argument(chars, 0.7 * scale)
                    }
                    _ => 0.0,
                };
                first.max(second) + 0.5
            }
            '\\' => command(chars, scale),
            other => scale * symbol(other),
        };
    }
    total
}

/// What follows a command or an index sign.
fn argument(chars: &mut Peekable<Chars<'_>>, scale: f64) -> f64 {
    while chars.peek() == Some(&' ') {
        chars.next();
    }
    match chars.next() {
        Some('{') => group(chars, scale),
        Some('\\') => command(chars, scale),
        Some(other) => scale * symbol(other),
        None => 0.0,
    }
}

/// What stands in the braces that follow.
fn braced(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut depth = 0usize;
    let mut inside = String::new();
    for c in chars.by_ref() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        inside.push(c);
        if depth == 0 {
            break;
        }
    }
    inside.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(&inside).to_owned()
}

fn symbol(c: char) -> f64 {
    match c {
        ' ' | '&' | '$' => 0.0,
        '+' | '-' => 12.2,
        '=' | '<' | '>' => 13.4,
        '(' | ')' | '[' | ']' | '|' | '\'' | ':' => 3.9,
        ',' => 4.5,
        'm' | 'w' | 'M' | 'W' => 8.8,
        'A'..='Z' => 7.4,
        _ => 5.4,
    }
}

fn command(chars: &mut Peekable<Chars<'_>>, scale: f64) -> f64 {
    let mut name = String::new();
    while let Some(next) = chars.peek().filter(|next| next.is_ascii_alphabetic()) {
        name.push(*next);
        chars.next();
    }
    match name.as_str() {
        // `\\,` and escaped characters.
        "" => match chars.next() {
            Some(',') => 1.7,
            Some(_) => 5.4,
            None => 0.0,
        },
        // A bracket that grows; its own character follows.
        "left" | "right" | "bigl" | "bigr" => 2.5,
        "mathrm" => argument(chars, scale),
        "substack" => {
            let lines = braced(chars);
            lines.split("\\\\").map(|line| group(&mut line.chars().peekable(), scale)).fold(0.0, f64::max)
        }
        "text" => argument(chars, scale) + 3.0,
        "frac" => argument(chars, scale).max(argument(chars, scale)) + 2.4,
        "tfrac" => argument(chars, 0.7 * scale).max(argument(chars, 0.7 * scale)) + 2.4,
        "sqrt" => argument(chars, scale) + 8.5,
        "sum" => {
            let limits = match chars.peek() {
                Some('_') => {
                    chars.next();
                    argument(chars, 0.7 * scale)
                }
                _ => 0.0,
            };
            limits.max(14.4 * scale) + 1.7
        }
        "quad" => 10.0,
        "qquad" => 20.0,
        "ln" => 10.7 * scale,
        "exp" => 17.0 * scale,
        "mid" | "propto" | "sim" | "geq" | "neq" | "times" => 13.4 * scale,
        _ => 6.2 * scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths that `\\settowidth` of pdfTeX reports for `$\\displaystyle ...$`, in points.
    #[test]
    fn widths_are_those_of_tex() {
        for (latex, points) in [
            (
                r"\sum_{m} \mathrm{E}[\tau_{m}] \, \sum_{j :\, x_{nmj}\text{ observed}} x_{nmj} \, \mathrm{E}[w_{mjk}]",
                165.0537,
            ),
            (r"-\tfrac{1}{2} \, [k = k'] \, \mathrm{E}[\alpha_{mk}]", 82.67429),
            (
                r"\left(a_{\alpha} - 1\right) \, \sum_{m,k} \ln \alpha_{mk} - b_{\alpha} \, \sum_{m,k} \alpha_{mk}",
                143.91245,
            ),
            (r"\mathrm{mean}^{z}_{nk}", 33.19688),
            (
                r"\psi(\mathrm{concentration}_{dk}) - \psi\left(\sum_{k'} \mathrm{concentration}_{dk'}\right)",
                206.61652,
            ),
            (r"\exp\left(\mathrm{E}[\ln \theta_{dk}] + \mathrm{E}[\ln \beta_{kv}]\right)", 110.27173),
            (r"\frac{\mathrm{shape}_{m}}{\mathrm{rate}_{mk}}", 34.77394),
            (r"M \, K \, a_{\alpha} \, \ln b_{\alpha} - M \, K \, \ln\Gamma(a_{\alpha})", 129.87599),
        ] {
            let off = width(latex) / points;
            assert!((0.9..1.25).contains(&off), "{latex}: {} for {points}", width(latex));
        }
    }
}
