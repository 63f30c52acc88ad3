//! Lines of programs of other systems: what the whole line says, and how the same is written here.
//!
//! A line that is recognised has one complaint, whatever else of it is not in the language.

use crate::cut_off::CutOff;
use crate::diagnostic::Diagnostic;
use crate::lines::loops;
use crate::span::Span;
use crate::tokens::{Token, TokenKind, text};

/// Words that declare a variable in Stan and C, each with the data type of the same values here.
const TYPES: [(&str, &str); 22] = [
    ("int", "count"),
    ("real", "real"),
    ("float", "real"),
    ("double", "real"),
    ("complex", "real"),
    ("vector", "real"),
    ("row_vector", "real"),
    ("matrix", "real"),
    ("array", "real"),
    ("ordered", "real"),
    ("positive_ordered", "positive"),
    ("unit_vector", "real"),
    ("simplex", "unit"),
    ("sum_to_zero_vector", "real"),
    ("cov_matrix", "real"),
    ("corr_matrix", "real"),
    ("cholesky_factor_cov", "real"),
    ("cholesky_factor_corr", "real"),
    ("bool", "binary"),
    ("boolean", "binary"),
    ("var", "real"),
    ("let", "real"),
];

/// Words that a line of a script starts with.
const SCRIPTS: [&str; 12] = [
    "import", "from", "using", "library", "require", "return", "with", "def", "function", "include", "class",
    "end",
];

/// Families by the names of methods that other systems have for them.
const METHODS: [(&str, &str); 7] = [
    ("FromMeanAndPrecision", "Normal(mean, prec = ...)"),
    ("FromMeanAndVariance", "Normal(mean, var = ...)"),
    ("FromShapeAndRate", "Gamma(shape, rate = ...)"),
    ("FromShapeAndScale", "Gamma(shape, scale = ...)"),
    ("FromLogOdds", "Bernoulli(logit = ...)"),
    ("Discrete", "Categorical(p)"),
    ("Bernoulli", "Bernoulli(p)"),
];

/// Functions on the left of a sign of assignment, and what undoes them.
const LINKS: [(&str, &str); 6] = [
    ("log", "exp"),
    ("logit", "logistic"),
    ("probit", "Phi"),
    ("exp", "log"),
    ("sqrt", "square"),
    ("cloglog", "1 - exp(-exp"),
];

/// What is wrong with a statement that is one of another language as a whole.
pub(crate) fn foreign_line(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    declaration(tokens)
        .or_else(|| log_density(tokens))
        .or_else(|| script(tokens))
        .or_else(|| link(tokens))
        .or_else(|| condition(tokens))
        .or_else(|| library_name(tokens))
        .or_else(|| elementwise(tokens))
        .or_else(|| constraint(tokens))
        .or_else(|| range_after_family(tokens))
        .or_else(|| action(tokens))
}

/// `real<lower=0> sigma`, `vector[K] beta`, `int N`, `array[N] real y`, `real y[N]`, `int K = 3`
fn declaration(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let head = tokens.first()?;
    let (word, kind) = TYPES.iter().find(|(word, _)| head.is(word))?;
    // `vector[k] ~ ...` and `real = 3` are about a variable of that name.
    let after = after_brackets(tokens, 1);
    let constrained = tokens.get(1).is_some_and(|token| token.is("<"));
    if !constrained && !tokens.get(after).is_some_and(Token::is_word) {
        return None;
    }
    let end = tokens
        .iter()
        .position(|token| token.is("=") && !inside_angles(tokens, token))
        .unwrap_or(tokens.len());
    let mut depth = 0i32;
    let mut name = None;
    for token in tokens[1..end].iter().rev() {
        if token.is("]") || token.is(")") {
            depth += 1;
        } else if token.is("[") || token.is("(") {
            depth -= 1;
        } else if depth == 0 && token.is_name() {
            name = Some(token.text);
            break;
        }
    }
    let name = name.unwrap_or("x");
    let letters = letters_of(tokens);
    let has_lower = constrained && names_bound(tokens, "lower");
    let kind = if has_lower && *kind == "real" { "nonnegative" } else { kind };
    let left = if letters.is_empty() { name.to_owned() } else { format!("{name}[{}]", letters.join(", ")) };
    let unknown = match *word {
        "simplex" => {
            let slice = letters.last().map_or("k", String::as_str);
            let plates: String = letters.iter().rev().skip(1).rev().map(|own| format!("{own}, ")).collect();
            format!(
                "; an unknown needs no declaration but its prior, `{name}[{plates}:{slice}] ~ Dirichlet(1)`"
            )
        }
        "int" if letters.is_empty() => {
            format!(
                "; a size is that of an axis, `axis item[n] = {name}` with `const {name}`, or follows from the data"
            )
        }
        "int" => "; an unknown class needs no declaration but its prior, `Categorical(p)`".to_owned(),
        _ if has_lower => format!(
            "; an unknown needs no declaration but its prior, `{left} ~ Gamma(1, rate = 1)` or `{left} ~ HalfNormal(sd = 1)`"
        ),
        _ => format!("; an unknown needs no declaration but its prior, `{left} ~ Normal(0, sd = 1)`"),
    };
    Some(
        Diagnostic::error("E0102", format!("`{word}` declares nothing here"))
            .at(head.span, "a type of another language")
            .possible(STATEMENTS)
            .help(format!(
                "what is given is declared as `data {left} : {kind}`, or as `const {name}`{unknown}"
            )),
    )
}

/// A letter for each size in square brackets: `k` for `K`, the next free one for a number or a longer name.
fn letters_of(tokens: &[Token<'_>]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut depth = 0i32;
    for token in tokens {
        depth += i32::from(token.is("[")) - i32::from(token.is("]"));
        if depth < 1 || !(token.is_word() || token.kind == TokenKind::Number) {
            continue;
        }
        let own = token.text.to_lowercase();
        let plain = own.len() == 1 && own.starts_with(|letter: char| letter.is_ascii_lowercase());
        let mut wishes =
            std::iter::once(own).filter(|_| plain).chain(["n", "j", "k", "m", "t"].map(str::to_owned));
        found.extend(wishes.find(|wish| !found.contains(wish)));
    }
    found
}

/// What a statement may be.
pub(crate) const STATEMENTS: &str = "a statement starts with `model`, `axis`, `data`, `const` or the name that it is about; blocks are `posterior`, \
     `init`, `fit`, `report` and `notation`";

/// The index behind the brackets or angles that open at `at`, if any do.
fn after_brackets(tokens: &[Token<'_>], at: usize) -> usize {
    if !tokens.get(at).is_some_and(|token| token.is("[")) {
        return at;
    }
    let mut depth = 0i32;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        depth += i32::from(token.is("[")) - i32::from(token.is("]"));
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Whether a sign stands between `<` and `>`.
fn inside_angles(tokens: &[Token<'_>], sign: &Token<'_>) -> bool {
    let place = tokens.iter().position(|token| token.span == sign.span).unwrap_or(0);
    let opens = tokens[..place].iter().rposition(|token| token.is("<"));
    let closes = tokens[..place].iter().rposition(|token| token.text == ">");
    opens.is_some_and(|open| closes.is_none_or(|close| close < open))
}

/// Whether `word =` stands in the line.
fn names_bound(tokens: &[Token<'_>], word: &str) -> bool {
    tokens.windows(2).any(|pair| pair[0].is(word) && pair[1].is("="))
}

/// `target += normal_lpdf(x | mu, 1)`, `increment_log_prob(...)`, `@addlogprob! ...`
fn log_density(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let head = tokens.first()?;
    let target = head.is("target") && tokens.get(1).is_some_and(|next| next.text == "+=");
    let increment =
        ["increment_log_prob", "addlogprob", "Potential", "factor"].iter().any(|word| head.is(word));
    if !(target || increment && tokens.get(1).is_some_and(|next| next.is("("))) {
        return None;
    }
    let span = if target { head.span.to(tokens[1].span) } else { head.span };
    let density = tokens.iter().find_map(|token| {
        let stem = ["_lpdf", "_lpmf", "_lupdf", "_lupmf", "_log"]
            .iter()
            .find_map(|end| token.text.strip_suffix(end))?;
        token.is_word().then_some((stem, token.span))
    });
    let variable = density.and_then(|(_, own)| {
        let place = tokens.iter().position(|token| token.span == own)?;
        tokens.get(place + 2).filter(|token| token.is_name()).map(|token| token.text)
    });
    let help = match (density, variable) {
        (Some((stem, _)), Some(variable)) => format!(
            "write the distribution of `{variable}`, a family with its arguments for each letter: `{variable}[n] ~ {}(...)`",
            capital(stem)
        ),
        _ => "write each term as the distribution of a variable, `x[n] ~ Family(...)`; a term that is none has no place in a program"
            .to_owned(),
    };
    Some(
        Diagnostic::error("E0112", "terms are not added to a log density by hand")
            .at(span, "the log joint is the sum of the distributions")
            .help(help),
    )
}

/// `neg_binomial` as families are written: `NegBinomial`.
fn capital(stem: &str) -> String {
    let words = stem.split('_').filter(|word| !word.is_empty());
    words
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        })
        .collect()
}

/// `import numpy as np`, `library(rstan)`, `with pm.Model() as model:`, `end`, `@model function f(x)`
fn script(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let at = usize::from(tokens.first()?.text == "@");
    let head = tokens.get(at)?;
    let annotated = at == 1 && head.is_word();
    let next = tokens.get(at + 1);
    let known = SCRIPTS.iter().any(|word| head.is(word));
    let starts = next.is_none_or(|next| next.is_word() || next.is("(") || next.kind == TokenKind::Quoted);
    // A name of an array may be one of these words: then a sign follows.
    let is_call = next.is_some_and(|next| next.is("("));
    let call_only = matches!(head.text, "library" | "require" | "include");
    if !(annotated || known && starts && (next.is_none() == head.is("end")) && (!is_call || call_only)) {
        return None;
    }
    let last = tokens[tokens.len() - 1];
    Some(
        Diagnostic::error(
            "E0102",
            format!("`{}` starts no statement", if annotated { "@" } else { head.text }),
        )
        .at(tokens[0].span.to(last.span), "a line of a script")
        .possible(STATEMENTS)
        .help("remove it: a program is its statements, nothing is loaded, opened or ended"),
    )
}

/// `log(lambda[n]) <- a + b`: a function of what is defined.
fn link(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let head = tokens.first()?;
    let close = closes(tokens, 1).filter(|_| tokens.get(1).is_some_and(|token| token.is("(")))?;
    let sign = tokens.get(close + 1).filter(|token| ["<-", ":=", "="].contains(&token.text))?;
    let (link, inverse) = LINKS.iter().find(|(link, _)| head.is(link))?;
    let (name, value) = (text(&tokens[2..close]), text(&tokens[close + 2..]));
    if name.is_empty() || value.is_empty() {
        return None;
    }
    let inverted = match *inverse {
        "square" => format!("({value})^2"),
        own if own.contains('(') => format!("{own}({value}))"),
        own => format!("{own}({value})"),
    };
    let of_latents = match *link {
        "logit" => {
            "; where latents under q stand in it, give it to the family, `Bernoulli(logit = ...)` or `Binomial(total, logit = ...)`"
        }
        "log" => {
            "; of a rate with latents under q, write a product of latents, each with a prior of its own, in place of the `exp` of a sum"
        }
        _ => "",
    };
    Some(
        Diagnostic::error("E0112", format!("`{link}(...)` on the left of `{}`", sign.text))
            .at(head.span.to(sign.span), "a name with subscripts stands here")
            .help(format!("write `{name} = {inverted}`{of_latents}")),
    )
}

/// The index of the token that closes the bracket at `open`.
fn closes(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0i32;
    (tokens.iter().enumerate().skip(open)).find_map(|(index, token)| {
        depth += i32::from(token.is("(") || token.is("[")) - i32::from(token.is(")") || token.is("]"));
        (depth == 0).then_some(index)
    })
}

/// `a if c > 0 else b`, `c > 0 ? a : b`, `if c then a else b` inside a statement, `... for n in item` behind one
fn condition(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let equal = tokens.iter().position(|token| token.is("~") || token.is("="))?;
    tokens.iter().enumerate().skip(equal + 1).find_map(|(index, token)| {
        let before = tokens[index - 1];
        let next = tokens.get(index + 1);
        let word = match token.text {
            "?" => "?",
            "if" if before.ends_operand() || next.is_some_and(|next| next.is_word() || next.is("(")) => "if",
            "for" if before.is(")") && next.is_some_and(Token::is_word) => "for",
            _ => return None,
        };
        Some(loops(word, token.span))
    })
}

/// `pm.Normal("x", mu, 1)`, `np.log(x)`, `W.T`, `Gaussian.FromMeanAndPrecision(m, 1)`
fn library_name(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let points: Vec<usize> = (1..tokens.len())
        .filter(|at| {
            let touches = tokens[at - 1].span.end == tokens[*at].span.start;
            tokens[*at].is_point() && touches && tokens[at - 1].ends_operand()
        })
        .filter(|at| tokens.get(at + 1).is_some_and(Token::is_word))
        .collect();
    let named = |at: &usize| tokens[at + 1].text;
    let family = |at: &&usize| {
        named(at).starts_with(char::is_uppercase) && tokens.get(**at + 2).is_some_and(|next| next.is("("))
    };
    let at = *points.iter().rfind(family).or(points.first())?;
    let name = named(&at);
    let span = tokens[at - 1].span.to(tokens[at + 1].span);
    let whole = format!("{}.{name}", tokens[at - 1].text);
    let call = tokens.get(at + 2).is_some_and(|next| next.is("("));
    let left = tokens
        .iter()
        .position(|token| token.is("=") || token.is("~") || token.text == "<-")
        .filter(|end| *end < at);
    let quoted = tokens.iter().find(|token| token.kind == TokenKind::Quoted && token.text.len() > 2);
    let left = match (left, quoted) {
        (Some(end), _) => text(&tokens[..end]),
        (None, Some(quoted)) => quoted.text[1..quoted.text.len() - 1].to_owned(),
        (None, None) => "x".to_owned(),
    };
    let left = if left.contains('[') { left } else { format!("{left}[n]") };
    let help = if let Some((_, written)) = METHODS.iter().find(|(method, _)| name.ends_with(method) && call) {
        format!("write `{left} ~ {written}`, with a letter for each dimension of an array")
    } else if matches!(name, "Model" | "plate" | "Data" | "Deterministic" | "sample") {
        match name {
            "Deterministic" => format!("a name for an expression has `=`: `{left} = expression`"),
            "sample" => format!("write `{left} ~ Family(...)`, with a letter for each dimension of an array"),
            "plate" => "an index set is an axis with its letter, `axis item[n]`; a letter on the left makes one copy for each".to_owned(),
            "Data" => format!("declare it: `data {left} : real`"),
            _ => "write `model NAME` on a line of its own, then the statements".to_owned(),
        }
    } else if call && name.starts_with(char::is_uppercase) {
        format!(
            "write `{left} ~ {name}(...)`, with a letter for each dimension of an array, without the name of a library, and with no name \
             in quotes; what is observed is declared, `data {left} : real`"
        )
    } else if matches!(name, "T" | "t" | "transpose") {
        "there is no transpose: swap the subscripts, `w[k, i]` for `w[i, k]` where they are declared so, and sum over the letter that is shared".to_owned()
    } else if call {
        format!("write `{name}(...)`, without the name of a library")
    } else {
        "a name holds letters, digits and `_`".to_owned()
    };
    Some(
        Diagnostic::error("E0103", format!("`{whole}` is no name here"))
            .at(span, "a point stands in numbers only")
            .help(help),
    )
}

/// `x .~ Normal(mu, 1)`, `a .* b`
fn elementwise(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let at = tokens.windows(2).position(|pair| {
        pair[0].is_point()
            && pair[0].span.end == pair[1].span.start
            && ["~", "*", "/", "+", "-", "^", "="].iter().any(|sign| pair[1].is(sign))
    })?;
    let sign = tokens[at + 1].text;
    let span = tokens[at].span.to(tokens[at + 1].span);
    Some(
        Diagnostic::error("E0103", format!("`.{sign}` has no meaning here"))
            .at(span, "not in the language")
            .help(format!("write `{sign}` between elements, each with its letters, as in `x[n]`: a statement holds for every value of its letters")),
    )
}

/// `sigma<lower=0> ~ Normal(0, sd = 1)`, `data y[n] : real<lower=0>`: the range of a variable.
fn constraint(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let open = tokens.windows(3).position(|own| {
        own[0].is("<")
            && ["lower", "upper", "offset", "multiplier"].iter().any(|word| own[1].is(word))
            && own[2].is("=")
    })?;
    let close =
        tokens[open..].iter().position(|token| token.text == ">").map_or(tokens.len() - 1, |own| open + own);
    let (lower, upper) = (names_bound(tokens, "lower"), names_bound(tokens, "upper"));
    let start = usize::from(tokens[0].is_reserved());
    let name = tokens.get(start).map_or("x", |token| token.text);
    let end = tokens.iter().position(|token| token.is(":")).unwrap_or(start + 1);
    let declared = text(tokens.get(start..end).unwrap_or_default());
    let kind = match (lower, upper) {
        (true, true) => "unit",
        _ => "nonnegative",
    };
    let help = if tokens[0].is("data") || tokens[0].is("const") {
        format!(
            "write the type of these numbers, `{} {declared} : {kind}`: `positive` is above 0, `nonnegative` from 0 on, `unit` from 0 to 1",
            tokens[0].text
        )
    } else {
        CutOff::Truncated.advice(name)
    };
    Some(
        Diagnostic::error("E0122", "a range in angle brackets")
            .at(tokens[open].span.to(tokens[close].span), "not in the language")
            .help(help),
    )
}

/// `s ~ Gamma(1, rate = 1) > 0`: a distribution and what its values are compared with.
fn range_after_family(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let tilde = tokens.iter().position(|token| token.is("~"))?;
    let close =
        closes(tokens, tilde + 2).filter(|_| tokens.get(tilde + 2).is_some_and(|token| token.is("(")))?;
    let sign = tokens.get(close + 1).filter(|token| [">", "<", ">=", "<="].contains(&token.text))?;
    Some(
        Diagnostic::error("E0113", format!("`{}` after the family", sign.text))
            .at(sign.span, "the statement ends with the family's `)`")
            .help(CutOff::Truncated.advice(tokens[0].text)),
    )
}

/// `observe(x, mu)`: a call alone.
fn action(tokens: &[Token<'_>]) -> Option<Diagnostic> {
    let head = tokens.first().filter(|head| head.is_name())?;
    let close = closes(tokens, 1).filter(|_| tokens.get(1).is_some_and(|token| token.is("(")))?;
    // Letters in round brackets are subscripts, which have a message of their own.
    if close + 1 < tokens.len() || close == 2 {
        return None;
    }
    Some(
        Diagnostic::error("E0102", format!("`{}(...)` alone is no statement", head.text))
            .at(Span::new(head.span.start, tokens[close].span.end), "a call does nothing here")
            .possible(STATEMENTS)
            .help("say how a variable is distributed, `x[n] ~ Family(...)`, or name an expression, `NAME = ...`; what is observed is declared as `data`"),
    )
}

/// `c'` in front of a second `'`, which was read as quotes: `c' * a'`.
pub(crate) fn transpose(before: Option<&Token<'_>>, token: &Token<'_>) -> Option<Diagnostic> {
    let touches = before.is_some_and(|before| before.ends_operand() && before.span.end == token.span.start);
    (token.kind == TokenKind::Quoted && token.text.starts_with('\'') && touches).then(|| {
        Diagnostic::error("E0127", "the character `'` has no meaning here")
            .at(Span::new(token.span.start, token.span.start + 1), "not in the language")
            .help("there is no sign for the transpose: swap the subscripts, and sum over the letter that is shared, `sum[k](a[i, k] * b[j, k])`")
    })
}
