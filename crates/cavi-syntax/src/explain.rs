//! Why could pest not read a line? The mistakes that have a name come first, then what was expected and what was found.

use cavi_grammar::{Rule, rule_name};
use pest::error::{Error, ErrorVariant, InputLocation};

use crate::cut_off::{cut_off, cut_off_by_name};
use crate::diagnostic::Diagnostic;
use crate::lines::{BlockKind, item_forms};
use crate::mistakes::{reserved, second_statement};
use crate::span::Span;
use crate::suggest::nearest;
use crate::tokens::{Token, TokenKind};
use crate::tree::DATA_TYPES;

/// The place where a line stops being Cavi.
struct Failure<'a, 't> {
    rule: Rule,
    tokens: &'a [Token<'t>],
    /// The index of the token that does not fit; the number of tokens where the line ends too early.
    found: usize,
    expected: Vec<Rule>,
}

/// Explains pest's error about the tokens of a line whose first byte is at `base`.
pub(crate) fn explain(rule: Rule, tokens: &[Token<'_>], base: usize, error: &Error<Rule>) -> Diagnostic {
    let offset = base
        + match error.location {
            InputLocation::Pos(offset) => offset,
            InputLocation::Span((start, _)) => start,
        };
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.clone(),
        ErrorVariant::CustomError { .. } => {
            // Pest gives up only where the stack would overflow.
            return Diagnostic::error("E0123", "the expression is nested too deeply")
                .at(Span::new(base, offset.max(base)), "too deep")
                .help("name a part of the expression: `NAME[...] = ...`");
        }
    };
    let found = tokens.iter().position(|token| token.span.end > offset).unwrap_or(tokens.len());
    let failure = Failure { rule, tokens, found, expected };
    failure.known().unwrap_or_else(|| failure.generic())
}

impl<'t> Failure<'_, 't> {
    /// The token `steps` before the one found.
    fn before(&self, steps: usize) -> Option<&Token<'t>> {
        self.found.checked_sub(steps).map(|index| &self.tokens[index])
    }

    fn token(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.found)
    }

    fn found_is(&self, text: &str) -> bool {
        self.token().is_some_and(|token| token.is(text))
    }

    fn expects(&self, rule: Rule) -> bool {
        self.expected.contains(&rule)
    }

    /// Whether a rule with this name was expected. Pest reports the first part of a rule or the rule, as it comes.
    fn expects_text(&self, text: &str) -> bool {
        self.expected.iter().any(|rule| rule_name(*rule) == Some(text))
    }

    /// The place of the token found, or just behind the last one.
    fn span(&self) -> Span {
        match (self.token(), self.tokens.last()) {
            (Some(token), _) => token.span,
            (None, Some(last)) => Span::new(last.span.end, last.span.end),
            (None, None) => Span::default(),
        }
    }

    /// The opening bracket around the place, and its index.
    fn bracket(&self) -> Option<(usize, &Token<'t>)> {
        let mut depth = 0usize;
        for (index, token) in self.tokens[..self.found].iter().enumerate().rev() {
            if token.is(")") || token.is("]") {
                depth += 1;
            } else if token.is("(") || token.is("[") {
                if depth == 0 {
                    return Some((index, token));
                }
                depth -= 1;
            }
        }
        None
    }

    /// The index of the bracket that the `]` or `)` at `index` closes.
    fn opener(&self, index: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..=index).rev() {
            let token = &self.tokens[at];
            if token.is(")") || token.is("]") {
                depth += 1;
            } else if token.is("(") || token.is("[") {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    // Mistakes with a name ----------------------------------------------------------------------------------------

    fn known(&self) -> Option<Diagnostic> {
        self.cut_off()
            .or_else(|| self.sum())
            .or_else(|| self.chained_subscripts())
            .or_else(|| self.product_over_letters())
            .or_else(|| self.round_subscripts())
            .or_else(|| self.reserved_word())
            .or_else(|| self.option_without_comma())
            .or_else(|| self.array_literal())
            .or_else(|| self.two_statements())
            .or_else(|| self.constant_without_sign())
            .or_else(|| self.data_statement())
            .or_else(|| self.setting_without_sign())
            .or_else(|| self.comparison())
            .or_else(|| self.subscript_arithmetic())
            .or_else(|| self.colon_range())
            .or_else(|| self.after_family())
    }

    /// `x[n] ~ Normal(mu, sd = 1) censored`, `... T(0, )`, `..., lower = 0`
    fn cut_off(&self) -> Option<Diagnostic> {
        if self.rule != Rule::distribution_line {
            return None;
        }
        let tilde = self.tokens.iter().position(|token| token.is("~"))?;
        let open = self.tokens.get(tilde + 2).filter(|token| token.is("(")).map(|_| tilde + 2)?;
        let close = self.closer(open)?;
        if self.found <= close {
            return None;
        }
        let comma = self.tokens.get(close + 1).is_some_and(|token| token.is(","));
        let first = close + 1 + usize::from(comma);
        let words = self.tokens.iter().skip(first).take_while(|token| token.is_word()).take(3);
        let (word, cut) = words.clone().find_map(|token| Some((token, cut_off(token.text)?)))?;
        // `T[n] = ...` behind a statement is another one.
        let sure = cut_off_by_name(word.text).is_some() || matches!(word.text, "lower" | "upper");
        if !sure && second_statement(self.tokens, self.found) {
            return None;
        }
        Some(
            Diagnostic::error("E0113", format!("`{}` after the family", word.text))
                .at(word.span, "the statement ends with the family's `)`")
                .help(cut.advice(self.tokens[0].text)),
        )
    }

    /// `sum(k)(...)`, `sum[k] x[k]`, `sum[](...)`
    fn sum(&self) -> Option<Diagnostic> {
        let help = "write `sum[k](theta[d, k] * beta[k, v])`, with several letters `sum[k, l](...)`";
        let previous = self.before(1)?;
        if previous.is("sum") {
            let label = if self.found_is("(") { "letters stand in square brackets" } else { "expected `[`" };
            return Some(
                Diagnostic::error("E0115", "`sum` without its letters").at(self.span(), label).help(help),
            );
        }
        let open = if previous.is("]") { self.opener(self.found - 1) } else { None };
        if open.is_some_and(|open| open > 0 && self.tokens[open - 1].is("sum")) && self.expects_text("`(`") {
            return Some(
                Diagnostic::error("E0115", "`sum` without brackets around what it sums")
                    .at(self.span(), "expected `(`")
                    .help(help),
            );
        }
        let (index, bracket) = self.bracket()?;
        if bracket.is("[") && index > 0 && self.tokens[index - 1].is("sum") {
            return Some(
                Diagnostic::error("E0115", "`sum` takes letters and nothing else")
                    .at(self.span(), format!("found {}", self.found_text()))
                    .help(format!("{help}; a letter runs over its whole axis")),
            );
        }
        None
    }

    /// `x[n][k]`
    fn chained_subscripts(&self) -> Option<Diagnostic> {
        let previous = self.before(1)?;
        if !(self.found_is("[") && previous.is("]")) {
            return None;
        }
        let open = self.opener(self.found - 1)?;
        let name = open.checked_sub(1).map(|index| &self.tokens[index]).filter(|token| token.is_word())?;
        Some(
            Diagnostic::error("E0116", "a second pair of brackets")
                .at(self.span(), "subscripts stand in one pair")
                .help(format!("write `{}[{}]`", name.text, self.joined_subscripts(open))),
        )
    }

    /// `prod[k](a[k])`, `max[k](a[k])`: the one operation over letters is `sum`.
    fn product_over_letters(&self) -> Option<Diagnostic> {
        let previous = self.before(1)?;
        if !(self.found_is("(") && previous.is("]")) {
            return None;
        }
        let open = self.opener(self.found - 1)?;
        let name = open.checked_sub(1).map(|index| &self.tokens[index]).filter(|token| token.is_name())?;
        let letters = self.joined_subscripts(open);
        let body: String =
            self.tokens[self.found..self.closer(self.found)?].iter().map(|token| token.text).collect();
        let body = body.trim_start_matches('(').replace(',', ", ");
        let help = if matches!(name.text, "prod" | "product" | "Prod" | "PROD") {
            format!(
                "of numbers above 0 that are data, constants or points, write `exp(sum[{letters}](log({body})))`; a product of \
                 latents under q is written factor by factor, `a[n] * b[n]`"
            )
        } else {
            format!(
                "write `sum[{letters}]({body})`; extremes and products over letters have no closed form under q"
            )
        };
        Some(
            Diagnostic::error("E0101", format!("there is no `{}` over letters", name.text))
                .at(name.span, "not in the language")
                .possible("`sum[k](a[k])` sums over letters")
                .help(help),
        )
    }

    /// The token that closes the bracket that opens at `open`.
    fn closer(&self, open: usize) -> Option<usize> {
        let mut depth = 0i32;
        self.tokens[open..]
            .iter()
            .position(|token| {
                depth +=
                    i32::from(token.is("(") || token.is("[")) - i32::from(token.is(")") || token.is("]"));
                depth == 0
            })
            .map(|close| open + close)
    }

    /// What stands in the brackets that open at `open` and in those right behind them, with commas between.
    fn joined_subscripts(&self, open: usize) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut part = String::new();
        let mut depth = 0usize;
        for (place, token) in self.tokens.iter().enumerate().skip(open) {
            let opens = token.is("[");
            if opens {
                depth += 1;
            }
            let ends = token.is("]") && depth == 1;
            if depth == 1 && (ends || token.is(",")) {
                parts.push(std::mem::take(&mut part));
            } else if !(opens && depth == 1) {
                part.push_str(token.text);
                if token.is(",") {
                    part.push(' ');
                }
            }
            if token.is("]") {
                depth -= 1;
            }
            if depth == 0 && !self.tokens.get(place + 1).is_some_and(|next| next.is("[")) {
                break;
            }
        }
        parts.join(", ")
    }

    /// `x(n, k) ~ ...`, `axis doc(d)`
    fn round_subscripts(&self) -> Option<Diagnostic> {
        let previous = self.before(1)?;
        if !self.found_is("(") || !previous.is_name() {
            return None;
        }
        let left = match self.rule {
            Rule::distribution_line | Rule::definition_line => self.found == 1,
            Rule::axis_line | Rule::data_line | Rule::const_line => self.found == 2,
            _ => self.expects_text("`[`"),
        };
        if !left {
            return None;
        }
        // `log(x[n]) ~ ...` and `exp(a + b) ~ ...` transform the left side; letters alone are subscripts.
        let inside: Vec<&Token<'_>> =
            self.tokens[self.found + 1..].iter().take_while(|token| !token.is(")")).collect();
        if inside.iter().any(|token| !(token.is_word() || token.is(",") || token.is(":"))) {
            return Some(
                Diagnostic::error("E0116", format!("`{}(...)` on the left", previous.text))
                    .at(previous.span.to(self.span()), "a name with subscripts stands here")
                    .help("derive an array first: `data y[n] = log(x[n])`, then `y[n] ~ ...`"),
            );
        }
        let letters: Vec<&str> =
            inside.iter().filter(|token| token.is_word()).map(|token| token.text).collect();
        Some(
            Diagnostic::error("E0116", "subscripts stand in square brackets")
                .at(self.span(), "found `(`")
                .help(format!("write `{}[{}]`", previous.text, letters.join(", "))),
        )
    }

    /// `const a[k] = [1, 2, 3]`
    fn array_literal(&self) -> Option<Diagnostic> {
        let previous = self.before(1)?;
        let number = self.token().is_some_and(|token| matches!(token.kind, TokenKind::Number));
        if !previous.is("[") || !number || self.before(2).is_some_and(|token| token.is_word()) {
            return None;
        }
        let end = self.tokens[self.found..].iter().position(|token| token.is("]"));
        let numbers = &self.tokens[self.found..self.found + end.unwrap_or(self.tokens.len() - self.found)];
        let end = end.map(|end| &self.tokens[self.found + end]).or(self.tokens.last());
        let whole = end.map_or(self.span(), |end| previous.span.to(end.span));
        let text = |tokens: &[Token<'_>]| {
            tokens.iter().map(|token| token.text).collect::<String>().replace(',', ", ")
        };
        let is_declared = self.tokens[0].is("const") || self.tokens[0].is("data");
        // Of `p = [0.2, 0.8]` the whole right side is the list.
        let equal = self.tokens.iter().position(|token| token.is("=")).filter(|equal| {
            let is_defined = !self.tokens[..*equal].iter().any(|token| token.is("~"));
            *equal > usize::from(is_declared) && equal + 2 == self.found && is_defined
        });
        let help = match equal {
            Some(equal) => {
                let own = &self.tokens[usize::from(is_declared)..equal];
                let (name, declared) = (own[0].text, text(own));
                format!(
                    "declare it without a value, `const {declared}`, and give a file: `--set {name}=FILE`"
                )
            }
            // One number stands for the whole of an argument.
            None if numbers.iter().all(|token| token.is(",") || token.text == numbers[0].text) => {
                format!("one number fills an array: write `{}` in place of the list", numbers[0].text)
            }
            None => {
                let slice = self.tokens.windows(2).find(|pair| pair[0].is(":") && pair[1].is_word());
                let letter = slice.map_or("k", |pair| pair[1].text);
                let taken = |name: &&&str| !self.tokens.iter().any(|token| token.is(name));
                let name = ["a", "b", "given"].iter().find(taken).unwrap_or(&"values");
                format!(
                    "declare a constant of its own, `const {name}[{letter}]`, write `{name}` in place of the list, and give a file: \
                     `--set {name}=FILE`"
                )
            }
        };
        Some(
            Diagnostic::error("E0101", "an array written out in the text")
                .at(whole, "the language has no lists of numbers")
                .possible("one number fills an array: `const a[k] = 0.1`")
                .help(help),
        )
    }

    /// `sweeps: 100`, `sweeps 100`
    fn setting_without_sign(&self) -> Option<Diagnostic> {
        if self.rule != Rule::setting_line || self.found != 1 {
            return None;
        }
        let (name, first) = (self.tokens[0].text, 1 + usize::from(self.found_is(":")));
        let value: String = self.tokens.iter().skip(first).map(|token| token.text).collect();
        let value = if value.is_empty() { "...".to_owned() } else { value };
        Some(
            Diagnostic::error("E0101", format!("`{name}` without `=`"))
                .at(self.span(), "expected `=`")
                .help(format!("write `{name} = {value}`")),
        )
    }

    fn reserved_word(&self) -> Option<Diagnostic> {
        let token = self.token().filter(|token| token.is_reserved())?;
        if !self.expects_name() || second_statement(self.tokens, self.found) {
            return None;
        }
        Some(reserved(token))
    }

    /// `data x[n] : real absent = NA`
    fn option_without_comma(&self) -> Option<Diagnostic> {
        let token = self.token().filter(|token| matches!(token.text, "absent" | "center" | "scale"))?;
        if self.rule != Rule::data_line || !self.expects_text("`,`") {
            return None;
        }
        Some(
            Diagnostic::error("E0128", format!("`,` is missing before `{}`", token.text))
                .at(self.span(), "expected `,`")
                .help(format!("write `, {}`: commas separate the options of `data`", token.text)),
        )
    }

    /// `const a 1`
    fn constant_without_sign(&self) -> Option<Diagnostic> {
        let token = self.token().filter(|token| token.kind == TokenKind::Number)?;
        if self.rule != Rule::const_line || !self.expects_text("`=`") {
            return None;
        }
        let name = self.before(1).filter(|previous| previous.is_name()).map_or("a", |previous| previous.text);
        Some(
            Diagnostic::error("E0101", format!("`=` is missing before `{}`", token.text))
                .at(self.span(), "expected `=`")
                .help(format!("write `const {name} = {}`", token.text)),
        )
    }

    fn two_statements(&self) -> Option<Diagnostic> {
        if self.bracket().is_some() || !second_statement(self.tokens, self.found) {
            return None;
        }
        Some(
            Diagnostic::error("E0110", "a second statement on the line")
                .at(self.span(), "starts here")
                .help("write one statement a line"),
        )
    }

    /// `data x[n]` without a type, `absent = none`, `centre over n`
    fn data_statement(&self) -> Option<Diagnostic> {
        if self.rule != Rule::data_line {
            return None;
        }
        if self.expects_text("`:`") && self.token().is_some_and(|token| token.is("in") || token.is_name()) {
            return Some(
                Diagnostic::error("E0120", "`:` is missing before the type")
                    .at(self.span(), "expected `:`")
                    .possible(DATA_TYPES)
                    .help("write `data x[n, j] : real`"),
            );
        }
        let previous = self.before(1)?;
        let before_previous = self.before(2)?;
        if previous.is("=") && before_previous.is("absent") || previous.is(",") && self.expects(Rule::zero) {
            return Some(
                Diagnostic::error("E0121", format!("`absent` is `0` or `NA`, found {}", self.found_text()))
                    .at(self.span(), "not known")
                    .possible("`absent = 0`: what is not listed was observed to be 0; `absent = NA`: it was not observed")
                    .help("write `absent = 0`, `absent = NA` or `absent = 0, NA`"),
            );
        }
        if self.expects(Rule::kw_over) || self.expects(Rule::differs) || self.expects_text("`absent`") {
            let word = if self.expects_text("`absent`") { self.token() } else { Some(previous) };
            let word = word?;
            let near = nearest(word.text, ["absent", "center", "scale"].into_iter());
            let name = self.tokens.get(1).map_or("x", |token| token.text);
            let help = match (cut_off_by_name(word.text), near) {
                (Some(cut), _) => cut.advice(name),
                (None, Some(near)) if near != word.text => format!("did you mean `{near}`?"),
                _ => match cut_off(word.text) {
                    Some(cut) => cut.advice(name),
                    None => "write one of these after the comma".to_string(),
                },
            };
            return Some(
                Diagnostic::error("E0128", format!("`{}` starts no option of `data`", word.text))
                    .at(word.span, "unknown option")
                    .possible(
                        "`absent = 0`, `absent = NA`, `center over n`, `scale over n`, `i != j`, `i < j`",
                    )
                    .help(help),
            );
        }
        None
    }

    /// `[i != j]`, `x < y`, `a == b` in an expression
    fn comparison(&self) -> Option<Diagnostic> {
        let sign = self.token().filter(|token| ["==", "!=", "<", "="].iter().any(|sign| token.is(sign)))?;
        let indicator = self.bracket().is_some_and(|(index, bracket)| {
            bracket.is("[") && !(index > 0 && self.tokens[index - 1].is_word())
        });
        let operator_possible = self.expects_text("an operator") || indicator;
        if !operator_possible || (sign.is("=") && !indicator) {
            return None;
        }
        let help = if sign.is("=") {
            "write `[j == l]` with two equal signs"
        } else {
            "letters are compared in square brackets, `[i != j]`; to leave entries out, write `data x[i, j] : real, i < j`"
        };
        Some(
            Diagnostic::error("E0122", format!("`{}` in an expression", sign.text))
                .at(sign.span, "not possible here")
                .possible("`[j == l]`, `[j != l]` and `[j < l]` are 1 where two letters of one axis compare so, else 0")
                .help(help),
        )
    }

    /// `x[n + 1]`, `x[1]`, `x[, k]`
    fn subscript_arithmetic(&self) -> Option<Diagnostic> {
        let (index, bracket) = self.bracket()?;
        if !bracket.is("[") || index == 0 || !self.tokens[index - 1].is_word() {
            return None;
        }
        let token = self.token()?;
        let number = token.kind == TokenKind::Number;
        let operator = ["+", "-", "*", "/", "^", "("].iter().any(|sign| token.is(sign));
        let declares =
            index == 2 && matches!(self.rule, Rule::axis_line | Rule::data_line | Rule::const_line);
        if number && self.tokens.get(self.found + 1).is_some_and(|next| next.is(":")) {
            return Some(range(self.span().to(self.tokens[self.found + 1].span)));
        }
        if number {
            return Some(
                Diagnostic::error("E0129", format!("`{}` is no subscript", token.text))
                    .at(token.span, "a number")
                    .possible("a subscript is a letter, an index variable (`mu[z[n], j]`) or a slice (`:k`)")
                    .help(if declares {
                        "write the axis's size in its statement: `axis factor[k] = 15`"
                    } else {
                        "write a letter; what holds for one element only needs an array or an axis of its own"
                    }),
            );
        }
        if operator {
            return Some(
                Diagnostic::error("E0129", format!("`{}` inside a subscript", token.text))
                    .at(token.span, "there is no index arithmetic")
                    .possible("a subscript is a letter, an index variable (`mu[z[n], j]`) or a slice (`:k`)")
                    .help(self.other_position(index)),
            );
        }
        if token.is(",") || token.is("]") {
            return Some(
                Diagnostic::error("E0129", "an empty subscript")
                    .at(token.span, "expected a subscript before it")
                    .possible("a subscript is a letter, an index variable (`mu[z[n], j]`) or a slice (`:k`)")
                    .help("write `:k` for all values of `k`; a scalar has no brackets"),
            );
        }
        None
    }

    /// Arithmetic in the subscript of the reference whose bracket is at `open`, as an index that is data.
    fn other_position(&self, open: usize) -> String {
        let letter = self.before(1).filter(|token| token.is_name()).map_or("t", |token| token.text);
        let other = if self.found_is("-") { "before" } else { "after" };
        let start = self.tokens[..self.found].iter().rposition(|token| token.is("[") || token.is(","));
        let first = start.map_or(open + 1, |start| start + 1);
        let mut depth = 0i32;
        let close = self.tokens[self.found..].iter().position(|token| {
            depth += i32::from(token.is("(") || token.is("[")) - i32::from(token.is(")") || token.is("]"));
            depth < 0 || (depth == 0 && token.is(","))
        });
        let end = close.map_or(self.tokens.len(), |close| self.found + close);
        let rest = self.tokens[end..].iter().position(|token| token.is("]")).map_or(end, |close| end + close);
        let text = |tokens: &[Token<'_>]| {
            tokens.iter().map(|token| token.text).collect::<String>().replace(',', ", ")
        };
        let path = self.tokens[open - 1].text;
        if self.rule == Rule::distribution_line && self.tokens[0].text == path {
            let left = self.tokens.iter().position(|token| token.is("]")).map_or(1, |close| close + 1);
            return format!(
                "of data, bind the shifted values as data of their own, `data {path}_{other}{} : real`, and write \
                 `{path}_{other}{}`; a latent that depends on its own past is outside of the class: a smooth path is a \
                 Gaussian process of points",
                text(&self.tokens[1..left]),
                text(&self.tokens[1..left]),
            );
        }
        format!(
            "declare the other position as data, `data {other}[{letter}] : index AXIS` with the axis of `{letter}` for `AXIS`, then write `{}{}{other}[{letter}]{}]`",
            self.tokens[open - 1].text,
            text(&self.tokens[open..first]),
            text(&self.tokens[end..rest]),
        )
    }

    /// `1:K`, `k:`
    fn colon_range(&self) -> Option<Diagnostic> {
        let token = self.token().filter(|token| token.is(":"))?;
        if self.rule == Rule::axis_line {
            let end = self.tokens.get(self.found + 1).map_or("10", |token| token.text);
            let start = self.tokens[..self.found].iter().rposition(|token| token.is("="));
            let left: String = self.tokens[1..start?].iter().map(|token| token.text).collect();
            return Some(range(token.span).help(format!(
                "write the size, one number: `axis {} = {end}`; letters run over the whole axis",
                left.replace(',', ", ")
            )));
        }
        self.bracket()?;
        Some(range(token.span))
    }

    /// `y ~ Normal(0, sd = 1) + 3`, `y ~ Normal`, `y ~ 3`
    fn after_family(&self) -> Option<Diagnostic> {
        if self.rule != Rule::distribution_line {
            return None;
        }
        let tilde = self.tokens.iter().position(|token| token.is("~"))?;
        let help =
            "write what the family's parameters are inside its brackets: `x[n] ~ Normal(a[n] + b, sd = 1)`";
        if self.found == tilde + 1 {
            return Some(
                Diagnostic::error("E0113", format!("a family follows `~`, found {}", self.found_text()))
                    .at(self.span(), "no family")
                    .help(if self.found_is("~") {
                        "write one `~`"
                    } else {
                        "write `NAME ~ Family(...)`, or `NAME = expression` for a definition"
                    }),
            );
        }
        if self.found == tilde + 2 && self.expects_text("`(`") {
            let family = &self.tokens[tilde + 1];
            return Some(
                Diagnostic::error("E0113", format!("`{}` without its arguments", family.text))
                    .at(self.span(), "expected `(`")
                    .help(format!("write `{}(...)`", family.text)),
            );
        }
        let help = match self.token().map_or("", |token| token.text) {
            "observed" | "obs" | "given" | "known" => {
                "drop it: what is observed is declared, `data x[n] : real`, and every other variable is latent"
            }
            "iid" | "independent" | "independently" => {
                "drop it: a letter on the left makes independent copies"
            }
            _ => help,
        };
        let complete = self.expects(Rule::EOI) && self.before(1).is_some_and(|token| token.is(")"));
        if complete && self.found > tilde + 2 {
            return Some(
                Diagnostic::error("E0113", format!("{} after the family", self.found_text()))
                    .at(self.span(), "the statement ends with the family's `)`")
                    .help(help),
            );
        }
        None
    }

    // What was expected -------------------------------------------------------------------------------------------

    fn expects_name(&self) -> bool {
        [Rule::name, Rule::reference, Rule::expression, Rule::operand].iter().any(|rule| self.expects(*rule))
            || self.expects_text("a name")
    }

    fn found_text(&self) -> String {
        self.token().map_or_else(|| "the end of the line".to_string(), |token| format!("`{}`", token.text))
    }

    fn generic(&self) -> Diagnostic {
        let expected = expected_text(&self.expected);
        let message = match &expected {
            Some(expected) => format!("expected {expected}, found {}", self.found_text()),
            None => format!("{} does not fit here", self.found_text()),
        };
        let label = match &expected {
            Some(expected) if expected.len() <= 40 => format!("expected {expected}"),
            _ => String::new(),
        };
        let mut diagnostic = Diagnostic::error("E0101", message).at(self.span(), label);
        if let Some(form) = form(self.rule) {
            diagnostic = diagnostic.possible(form);
        }
        if let Some(help) = self.generic_help() {
            diagnostic = diagnostic.help(help);
        }
        diagnostic
    }

    fn generic_help(&self) -> Option<String> {
        let operand = self.token().is_some_and(|token| {
            token.is_word() || token.kind == TokenKind::Number || token.is("(") || token.is("[")
        });
        let side_by_side = operand && self.before(1).is_some_and(Token::ends_operand);
        let operator_possible = self.expects_text("an operator");
        if self.bracket().is_some() && self.tokens.get(self.found + 1).is_some_and(|next| next.is("=")) {
            return Some("write `,` between the arguments".to_string());
        }
        if side_by_side && operator_possible {
            return Some("write an operator between the two; a product needs its `*`".to_string());
        }
        if self.rule == Rule::axis_line && self.found_is("in") && self.expects_text("`[`") {
            return Some(
                "the axis's own letter stands before `in`: `axis feature[j] in view[m]`".to_string(),
            );
        }
        if self.rule == Rule::axis_line && self.expects_text("`[`") {
            let name = self.before(1).map_or("doc", |token| token.text);
            let letter: String = name.chars().take(1).collect();
            return Some(format!("give the axis a letter: `axis {name}[{letter}]`"));
        }
        if matches!(self.rule, Rule::sweep_line | Rule::schedule_line) && self.found_is("[") {
            return Some("write the variable's bare name: an item updates all its copies".to_string());
        }
        if self.rule == Rule::data_line && self.before(1).is_some_and(|token| token.is("index")) {
            return Some(
                "name the axis that the values are positions of: `data z[n] : index cluster`".to_string(),
            );
        }
        let type_before = self.before(2).is_some_and(|token| token.is(":"));
        if self.rule == Rule::data_line && type_before && self.token().is_some_and(Token::is_word) {
            return Some(format!("{DATA_TYPES}, one of them; options follow after a comma"));
        }
        if self.found == self.tokens.len() && self.expects(Rule::close) {
            return Some("close the bracket".to_string());
        }
        None
    }
}

/// The complaint about `1:K`.
fn range(span: Span) -> Diagnostic {
    Diagnostic::error("E0129", "there are no ranges")
        .at(span, "not possible here")
        .possible("`:k` is the slice over all values of `k`")
        .help("write the letter alone for each element, `x[n]`, and `:k` for the vector: a letter runs over its whole axis")
}

/// The rules that pest would have taken, in words: "`,` or `)`".
fn expected_text(rules: &[Rule]) -> Option<String> {
    let mut names: Vec<&'static str> = Vec::new();
    for name in rules.iter().filter_map(|rule| rule_name(*rule)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let expression = names.contains(&"an expression")
        || (names.contains(&"a name") && names.contains(&"a number") && names.contains(&"`(`"));
    if expression {
        let parts = ["a name", "a number", "`(`", "`[`", "`sum`", "an operator", "an expression"];
        names.retain(|name| !parts.contains(name));
        names.insert(0, "an expression");
    } else if names.contains(&"an operator") {
        // Brackets after a name, and operators, are always possible: they come last or not at all.
        names.retain(|name| !matches!(*name, "an operator" | "`[`" | "`(`"));
        names.push("an operator");
    }
    if let Some(end) = names.iter().position(|name| *name == "the end of the line") {
        let end = names.remove(end);
        names.push(end);
    }
    let (last, others) = names.split_last()?;
    if others.is_empty() {
        return Some((*last).to_string());
    }
    Some(format!("{} or {last}", others.join(", ")))
}

/// What a line of this kind looks like.
fn form(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::model_line => "`model NAME`",
        Rule::axis_line => {
            "an axis is `axis doc[d]`, `axis factor[k, l] = 15` or `axis feature[j] in view[m]`"
        }
        Rule::data_line => {
            "data are `data x[n, j] : real, absent = NA`, `data z[n] : index cluster` or `data y[n] = log(x[n] + 1)`"
        }
        Rule::const_line => "a constant is `const alpha = 0.1`, `const a[k] : positive` or `const s`",
        Rule::distribution_line => "a distribution is `theta[d, :k] ~ Dirichlet(alpha)`",
        Rule::definition_line => "a definition is `rate[i, k] = exp(d[i, k])`",
        Rule::joint_line | Rule::point_line | Rule::fixed_line | Rule::implicit_line => {
            item_forms(BlockKind::Posterior)
        }
        Rule::sweep_line | Rule::schedule_line => {
            "a schedule is `a, (b, c), [d, e] repeat 3, f reset repeat 10`: names of variables, groups, sequences"
        }
        Rule::stop_line => "`stop when rel_elbo < 1e-6 for 3`",
        Rule::setting_line => {
            "`restarts = 10`, `seed = 1`, `sweeps = 500`, `accelerate = auto`, `allocations = collapsed`"
        }
        Rule::batch_line => "a line about mini-batches is `batch doc` or `batch doc in 16`",
        Rule::warmup_line | Rule::warmups_line => {
            "a warm-up is `means 60`, `collapsed 60` or `shapes 0.6 over 40`"
        }
        _ => return None,
    })
}
