//! Names and plain words in LaTeX.

use super::number::in_latex;

/// Greek letters by name, by character and in LaTeX.
const GREEK: [(&str, char, &str); 35] = [
    ("alpha", 'α', "\\alpha"),
    ("beta", 'β', "\\beta"),
    ("gamma", 'γ', "\\gamma"),
    ("delta", 'δ', "\\delta"),
    ("epsilon", 'ε', "\\epsilon"),
    ("zeta", 'ζ', "\\zeta"),
    ("eta", 'η', "\\eta"),
    ("theta", 'θ', "\\theta"),
    ("iota", 'ι', "\\iota"),
    ("kappa", 'κ', "\\kappa"),
    ("lambda", 'λ', "\\lambda"),
    ("mu", 'μ', "\\mu"),
    ("nu", 'ν', "\\nu"),
    ("xi", 'ξ', "\\xi"),
    ("omicron", 'ο', "o"),
    ("pi", 'π', "\\pi"),
    ("rho", 'ρ', "\\rho"),
    ("sigma", 'σ', "\\sigma"),
    ("tau", 'τ', "\\tau"),
    ("upsilon", 'υ', "\\upsilon"),
    ("phi", 'φ', "\\phi"),
    ("chi", 'χ', "\\chi"),
    ("psi", 'ψ', "\\psi"),
    ("omega", 'ω', "\\omega"),
    ("Gamma", 'Γ', "\\Gamma"),
    ("Delta", 'Δ', "\\Delta"),
    ("Theta", 'Θ', "\\Theta"),
    ("Lambda", 'Λ', "\\Lambda"),
    ("Xi", 'Ξ', "\\Xi"),
    ("Pi", 'Π', "\\Pi"),
    ("Sigma", 'Σ', "\\Sigma"),
    ("Upsilon", 'Υ', "\\Upsilon"),
    ("Phi", 'Φ', "\\Phi"),
    ("Psi", 'Ψ', "\\Psi"),
    ("Omega", 'Ω', "\\Omega"),
];

/// A name as LaTeX sets it: `a_alpha` has the base `a` and the subscript `\alpha`, `c_prime` a prime.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    /// The symbol.
    pub base: String,
    /// How many primes follow it.
    pub primes: usize,
    /// Subscripts that are part of the name.
    pub subscripts: Vec<String>,
}

/// Greek characters spelled out, so that names in both spellings compare equal.
pub(crate) fn plain(name: &str) -> String {
    let spell = |c: char| match GREEK.iter().find(|(_, character, _)| *character == c) {
        Some((word, _, _)) => (*word).to_owned(),
        None => c.to_string(),
    };
    name.chars().map(spell).collect()
}

/// A word that is one symbol: a single letter or a Greek one.
fn symbol(word: &str) -> Option<String> {
    let mut chars = word.chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) if only.is_ascii_alphabetic() => Some(only.to_string()),
        (Some(only), None) => {
            GREEK.iter().find(|(_, character, _)| *character == only).map(|(_, _, latex)| (*latex).to_owned())
        }
        _ => GREEK.iter().find(|(name, _, _)| *name == word).map(|(_, _, latex)| (*latex).to_owned()),
    }
}

/// Whether a word is a symbol by itself: `kappa`, `a`.
pub(crate) fn is_symbol(word: &str) -> bool {
    symbol(word.trim_end_matches(|c: char| c.is_ascii_digit())).is_some()
}

/// A word set upright; a hyphen is no minus.
pub(crate) fn upright(word: &str) -> String {
    if word.is_empty() {
        String::new()
    } else if word.is_ascii() && !word.contains('-') {
        format!("\\mathrm{{{}}}", escape(word))
    } else {
        format!("\\text{{{}}}", escape(word))
    }
}

/// A name of a program.
pub(crate) fn name(text: &str) -> Name {
    // A number of the program that the derivation keeps as a constant prints as it is written.
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return Name { base: in_latex(text), primes: 0, subscripts: Vec::new() };
    }
    // A matrix that a density reads as a whole, under the name that the model gives it.
    for (word, open, close) in [("inverse(", "(", "^{-1})"), ("logdet(", "\\ln|", "|")] {
        if let Some(bare) = text.strip_prefix(word).and_then(|rest| rest.strip_suffix(')')) {
            let base = format!("{open}{}{close}", of_matrix(bare));
            return Name { base, primes: 0, subscripts: Vec::new() };
        }
    }
    // The inverse of a transpose.
    if let Some(bare) = text.strip_suffix("'^-1") {
        let Name { base, subscripts, .. } = name(bare);
        let below =
            if subscripts.is_empty() { String::new() } else { format!("_{{{}}}", subscripts.join(",")) };
        return Name { base: format!("({base}{below}^{{-\\top}})"), primes: 0, subscripts: Vec::new() };
    }
    // A name that is set word for word, since its symbol stands for another one.
    if let Some((word, behind)) = text.strip_prefix('`').and_then(|own| own.split_once('`')) {
        let (behind, old) = behind.strip_suffix('~').map_or((behind, false), |own| (own, true));
        let primes = behind.chars().filter(|c| *c == '\'').count();
        let base = match behind.starts_with("_bar") {
            true => format!("\\overline{{{}}}", upright(word)),
            false => upright(word),
        };
        let base = if old { format!("\\tilde{{{base}}}") } else { base };
        return Name { base, primes, subscripts: Vec::new() };
    }
    // `sigma^2` is one symbol.
    if let Some(bare) = text.strip_suffix("^2") {
        let own = name(bare);
        return Name { base: format!("{}^{{2}}", own.base), ..own };
    }
    // A value before an update.
    if let Some(bare) = text.strip_suffix('~') {
        let own = name(bare);
        return Name { base: format!("\\tilde{{{}}}", own.base), ..own };
    }
    // A derivative has its primes at the end.
    let bare = text.trim_end_matches('\'');
    let primes = text.len() - bare.len();
    let mut parts = bare.split('_').filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or("");
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let Some(base) = symbol(stem) else {
        if let Some(word) = bare.strip_suffix("_bar") {
            let base = format!("\\overline{{{}}}", upright(word));
            return Name { base, primes, subscripts: Vec::new() };
        }
        return Name { base: upright(bare), primes, subscripts: Vec::new() };
    };
    let mut out = Name { base, primes, subscripts: Vec::new() };
    if stem.len() < first.len() {
        out.subscripts.push(first[stem.len()..].to_owned());
    }
    for part in parts {
        match (part, ACCENTS.iter().find(|(word, _)| *word == part)) {
            ("prime", _) => out.primes += 1,
            (_, Some((_, accent))) => out.base = format!("{accent}{{{}}}", out.base),
            (_, None) => out.subscripts.push(subscript(part)),
        }
    }
    out
}

/// A matrix inside another name: its own name, else (of a computed one) the words of it.
fn of_matrix(text: &str) -> String {
    if text.chars().all(|c| c.is_alphanumeric() || c == '_') {
        letter(text)
    } else {
        format!("\\text{{{}}}", escape(text))
    }
}

/// Parts of names that are set as accents.
const ACCENTS: [(&str, &str); 4] =
    [("bar", "\\bar"), ("hat", "\\hat"), ("tilde", "\\tilde"), ("dot", "\\dot")];

/// A part of a name behind an underscore.
fn subscript(part: &str) -> String {
    if part.chars().all(|c| c.is_ascii_digit()) {
        return part.to_owned();
    }
    // A Latin letter set upright is no index: `Lambda_k` is one number, and not the element k of Lambda.
    symbol(part).filter(|_| part.len() > 1).unwrap_or_else(|| upright(part))
}

/// A letter, whose primes follow it.
pub(crate) fn letter(text: &str) -> String {
    let stem = text.trim_end_matches('\'');
    let Name { base, primes, subscripts } = name(stem);
    let primes = "'".repeat(primes + text.len() - stem.len());
    if subscripts.is_empty() {
        format!("{base}{primes}")
    } else {
        format!("{base}_{{{}}}{primes}", subscripts.join(","))
    }
}

/// Plain text with everything escaped that LaTeX would take for a command.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => {
                out.push('\\');
                out.push(c);
            }
            '~' => out.push_str("\\ensuremath{\\sim}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            other => match GREEK.iter().find(|(_, character, _)| *character == other) {
                Some((_, _, latex)) => out.push_str(&format!("\\ensuremath{{{latex}}}")),
                None => out.push(other),
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_set_as_papers_set_them() {
        let show = |text: &str| {
            let Name { base, primes, subscripts } = name(text);
            format!("{base}{}_{}", "'".repeat(primes), subscripts.join(","))
        };
        assert_eq!(show("a_alpha"), "a_\\alpha");
        assert_eq!(show("b0"), "b_0");
        assert_eq!(show("c_prime"), "c'_");
        assert_eq!(show("L''"), "L''_");
        assert_eq!(show("mu_bar"), "\\bar{\\mu}_");
        assert_eq!(show("Lambda_k"), "\\Lambda_\\mathrm{k}");
        assert_eq!(show("sigma^2"), "\\sigma^{2}_");
        assert_eq!(show("w~"), "\\tilde{w}_");
        assert_eq!(show("1e-6"), "10^{-6}_");
        assert_eq!(show("inverse(W0)"), "(W_{0}^{-1})_");
        assert_eq!(show("logdet(K)"), "\\ln|K|_");
        assert_eq!(show("habit"), "\\mathrm{habit}_");
        assert_eq!(show("user_bias"), "\\mathrm{user\\_bias}_");
        assert_eq!(show("`x_1`"), "\\mathrm{x\\_1}_");
        assert_eq!(show("`x_1`_bar"), "\\overline{\\mathrm{x\\_1}}_");
        assert_eq!(show("`x_1`~"), "\\tilde{\\mathrm{x\\_1}}_");
        assert_eq!(show("exposure_bar"), "\\overline{\\mathrm{exposure}}_");
        assert_eq!(show("theta"), "\\theta_");
        assert_eq!(show("θ"), "\\theta_");
        assert_eq!(show("kappa0"), "\\kappa_0");
        assert_eq!(show("alpha_top"), "\\alpha_\\mathrm{top}");
        assert_eq!(letter("k''"), "k''");
        assert_eq!(escape("50% of #1_$"), "50\\% of \\#1\\_\\$");
    }
}
