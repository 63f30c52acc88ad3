//! Text becomes the tree, with every mistake of the file in one run.

use std::collections::BTreeMap;

use cavi_grammar::{CaviParser, Rule};
use pest::Parser;
use pest::iterators::Pair;

use crate::ast::*;
use crate::diagnostic::Diagnostic;
use crate::explain::explain;
use crate::foreign::{foreign_line, transpose};
use crate::lines::{BlockKind, Line, Piece, SEMICOLON_AT_THE_END, item_forms, lines, loops};
use crate::mistakes::{assignment, depth_mistake, line_mistake, reserved, token_mistake};
use crate::print::print_reference;
use crate::span::Span;
use crate::suggest::nearest;
use crate::tokens::{Token, TokenKind, tokens};
use crate::tree::Builder;

/// Parses a program. Lines that could not be read are left out of the tree but for what [`Unread`] keeps of them, and
/// an error among the diagnostics, which come in the order of the text, points into each.
///
/// ```
/// let (program, diagnostics) = cavi_syntax::parse("model lda\naxis doc[d]\naxis word(v)\n");
/// assert_eq!(program.statements.len(), 2);
/// assert_eq!(diagnostics[0].message, "subscripts stand in square brackets");
/// ```
pub fn parse(text: &str) -> (Program, Vec<Diagnostic>) {
    let tokens = tokens(text);
    let lines = lines(&tokens);
    let mut parser = ProgramParser { diagnostics: lines.diagnostics, unread: Unread::default() };
    let mut statements = parser.statements(lines.pieces);
    let mut trailing_comments = lines.trailing_comments;
    match statements.first_mut() {
        Some(statement) => drop_blank(&mut statement.trivia),
        None => drop_first_blank(&mut trailing_comments),
    }
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.as_ref().map_or(0, |(span, _)| span.start));
    let diagnostics = with_reserved_words_once(diagnostics);
    (Program { statements, trailing_comments, unread: parser.unread }, diagnostics)
}

/// One reserved word as a name is one mistake: the first complaint points to all places. So is a `;` behind each line.
fn with_reserved_words_once(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(diagnostics.len());
    let mut firsts: BTreeMap<String, usize> = BTreeMap::new();
    let mut semicolons: Option<usize> = None;
    for diagnostic in diagnostics {
        if diagnostic.code == "E0110" && diagnostic.help.as_deref() == Some(SEMICOLON_AT_THE_END) {
            match semicolons {
                None => {
                    semicolons = Some(kept.len());
                    kept.push(diagnostic);
                }
                Some(first) => kept[first].help = Some(SEMICOLONS.to_owned()),
            }
            continue;
        }
        let first = firsts.get(&diagnostic.message).filter(|_| diagnostic.code == "E0105");
        match (first, &diagnostic.primary) {
            (Some(first), Some((span, _))) => kept[*first].secondary.push((*span, "and here".to_owned())),
            _ => {
                if diagnostic.code == "E0105" {
                    firsts.entry(diagnostic.message.clone()).or_insert(kept.len());
                }
                kept.push(diagnostic);
            }
        }
    }
    kept
}

/// What is said of a `;` where others follow on later lines.
const SEMICOLONS: &str = "remove it here and behind every other line: the newline ends a statement";

/// No empty line stands at the start of a file or a block, also where the lines before it could not be read.
fn drop_blank(trivia: &mut Trivia) {
    match trivia.above.first_mut() {
        Some(comment) => comment.blank_before = false,
        None => trivia.blank_before = false,
    }
}

fn drop_first_blank(comments: &mut [Comment]) {
    if let Some(comment) = comments.first_mut() {
        comment.blank_before = false;
    }
}

/// Parses a schedule as `--schedule` takes it: what stands behind `sweep`.
///
/// # Errors
///
/// What is wrong with it, with places in `text`.
pub fn parse_schedule(text: &str) -> Result<Vec<ScheduleItem>, Vec<Diagnostic>> {
    option(text, Rule::schedule_line, |builder, pair| builder.schedule(pair.into_inner()))
}

/// Parses warm-ups as `--warmup` takes them: `means 60`, `means 60, collapsed 60`, `shapes 0.6 over 40, means 20`; `none` is no warm-up.
///
/// # Errors
///
/// What is wrong with them, with places in `text`.
pub fn parse_warmup(text: &str) -> Result<Vec<Warmup>, Vec<Diagnostic>> {
    if text.trim() == "none" {
        return Ok(Vec::new());
    }
    option(text, Rule::warmups_line, |builder, pair| builder.warmups(pair.into_inner()))
}

/// Parses an arithmetic expression of numbers, as `--set K=3*4` takes it. Functions of numbers are allowed, names
/// are not.
///
/// # Errors
///
/// What is wrong with it, with places in `text`.
pub fn parse_number_expression(text: &str) -> Result<Expression, Vec<Diagnostic>> {
    let expression = option(text, Rule::expression_line, |builder, pair| {
        let expression = pair.into_inner().next().expect("the line holds an expression");
        builder.expression(expression)
    })?;
    match first_name(&expression) {
        None => Ok(expression),
        Some(span) => Err(vec![
            Diagnostic::error("E0130", "a name in an expression of numbers")
                .at(span, "not a number")
                .help("write numbers, operators and functions of numbers: `3 * 4`, `1e-3`, `sqrt(2)`"),
        ]),
    }
}

/// Where an expression mentions a name or a letter.
fn first_name(expression: &Expression) -> Option<Span> {
    match &expression.kind {
        ExpressionKind::Number(..) => None,
        ExpressionKind::Negate(inner) => first_name(inner),
        ExpressionKind::Binary(_, left, right) => first_name(left).or_else(|| first_name(right)),
        ExpressionKind::Call(_, arguments) => {
            arguments.iter().find_map(|argument| first_name(&argument.value))
        }
        ExpressionKind::Reference(_) | ExpressionKind::Sum(..) | ExpressionKind::Indicator(..) => {
            Some(expression.span)
        }
    }
}

/// Parses the text of a command-line option by one rule.
fn option<T>(
    text: &str,
    rule: Rule,
    build: impl FnOnce(&mut Builder, Pair<'_, Rule>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    let mut tokens = tokens(text);
    tokens.retain(|token| !matches!(token.kind, TokenKind::Newline | TokenKind::Comment));
    let mut mistakes: Vec<Diagnostic> = tokens.iter().filter_map(token_mistake).collect();
    mistakes.extend(depth_mistake(&tokens));
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    pest(&tokens, rule, build)
}

/// Runs pest over the tokens of a line and builds its tree.
fn pest<T>(
    tokens: &[Token<'_>],
    rule: Rule,
    build: impl FnOnce(&mut Builder, Pair<'_, Rule>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    if let Some(mistake) = line_mistake(tokens) {
        return Err(vec![mistake]);
    }
    let base = tokens.first().map_or(0, |token| token.span.start);
    let text = line_text(tokens);
    match CaviParser::parse(rule, &text) {
        Ok(mut pairs) => {
            let pair = pairs.next().expect("a rule that was parsed gives one pair");
            let mut builder = Builder { base, diagnostics: Vec::new() };
            let tree = build(&mut builder, pair);
            if builder.diagnostics.is_empty() { Ok(tree) } else { Err(builder.diagnostics) }
        }
        Err(error) => Err(vec![explain(rule, tokens, base, &error)]),
    }
}

/// The text of a line with blanks where comments and newlines stand, so that places stay what they are.
fn line_text(tokens: &[Token<'_>]) -> String {
    let base = tokens.first().map_or(0, |token| token.span.start);
    let mut text = String::new();
    for token in tokens {
        text.extend(std::iter::repeat_n(' ', token.span.start - base - text.len()));
        text.push_str(token.text);
    }
    text
}

/// So many single tokens of a line are reported.
const MOST_OF_A_LINE: usize = 10;

/// The block that is being read.
struct OpenBlock {
    head: Span,
    trivia: Trivia,
    items: Items,
}

enum Items {
    Posterior(Vec<Item<PosteriorItem>>),
    Init(Vec<Item<InitItem>>),
    Fit(Vec<Item<FitItem>>),
    Report(Vec<Item<ReportItem>>),
    Notation(Vec<Item<NotationItem>>),
}

struct ProgramParser {
    diagnostics: Vec<Diagnostic>,
    unread: Unread,
}

impl ProgramParser {
    fn statements(&mut self, pieces: Vec<Piece<'_, '_>>) -> Vec<Statement> {
        let mut statements = Vec::new();
        let mut open: Option<OpenBlock> = None;
        for piece in pieces {
            match piece {
                Piece::Statement(line) => {
                    let span = line.span();
                    let kind = self.statement(&line);
                    if kind.is_none() {
                        self.unread.statements(&line.tokens);
                    }
                    statements.extend(kind.map(|kind| Statement { kind, span, trivia: line.trivia }));
                }
                Piece::Open(kind, line) => {
                    let items = match kind {
                        BlockKind::Posterior => Items::Posterior(Vec::new()),
                        BlockKind::Init => Items::Init(Vec::new()),
                        BlockKind::Fit => Items::Fit(Vec::new()),
                        BlockKind::Report => Items::Report(Vec::new()),
                        BlockKind::Notation => Items::Notation(Vec::new()),
                    };
                    open = Some(OpenBlock { head: line.span(), trivia: line.trivia, items });
                }
                Piece::Item(line) => {
                    if let Some(block) = &mut open {
                        self.item(line, &mut block.items);
                    }
                }
                Piece::Lost(tokens) => self.unread.line(tokens),
                Piece::Close { end, trailing_comments, beside } => {
                    statements.extend(open.take().map(|block| block.close(end, trailing_comments, beside)));
                }
            }
        }
        statements
    }

    /// Reports what is wrong with single tokens of a line; whether nothing is.
    fn readable(&mut self, line: &Line<'_>) -> bool {
        let before = self.diagnostics.len();
        let mistakes = line.tokens.iter().enumerate().filter_map(|(place, token)| {
            let before = place.checked_sub(1).map(|before| &line.tokens[before]);
            let mistake = transpose(before, token).or_else(|| token_mistake(token))?;
            let help = assignment(&line.tokens, token);
            Some(match help {
                Some(help) => mistake.help(help),
                None => mistake,
            })
        });
        // A line of many is no program: it is another file.
        self.diagnostics.extend(mistakes.take(MOST_OF_A_LINE));
        self.diagnostics.len() == before && !line.bad
    }

    fn run<T>(
        &mut self,
        line: &Line<'_>,
        rule: Rule,
        build: impl FnOnce(&mut Builder, Pair<'_, Rule>) -> T,
    ) -> Option<T> {
        match pest(&line.tokens, rule, build) {
            Ok(tree) => Some(tree),
            Err(diagnostics) => {
                self.diagnostics.extend(diagnostics);
                None
            }
        }
    }

    // Statements --------------------------------------------------------------------------------------------------

    fn statement(&mut self, line: &Line<'_>) -> Option<StatementKind> {
        if let Some(foreign) = foreign_line(&line.tokens).filter(|_| !line.bad) {
            self.diagnostics.push(foreign);
            // What it declares is not where a statement has it.
            self.unread.line(&line.tokens);
            return None;
        }
        if !self.readable(line) {
            return None;
        }
        match statement_rule(&line.tokens) {
            Ok(rule) => {
                let statement = self.run(line, rule, |builder, pair| builder.statement(pair))?;
                Some(match statement {
                    StatementKind::Definition { target, value } => {
                        match self.family_after_equals(target, value, line) {
                            Ok(distribution) => StatementKind::Distribution(distribution),
                            Err(definition) => {
                                let (target, value) = *definition;
                                StatementKind::Definition { target, value }
                            }
                        }
                    }
                    other => other,
                })
            }
            Err(diagnostic) => {
                self.diagnostics.push(*diagnostic);
                None
            }
        }
    }

    /// `x[n] = Normal(0, sd = 1)`: families are written with a capital letter, functions (but `Phi`) are not.
    fn family_after_equals(
        &mut self,
        target: Reference,
        value: Expression,
        line: &Line<'_>,
    ) -> Result<Distribution, Box<(Reference, Expression)>> {
        let span = value.span;
        match value.kind {
            ExpressionKind::Call(family, arguments)
                if family.text.starts_with(char::is_uppercase) && family.text != "Phi" =>
            {
                let sign = line.tokens.iter().find(|token| token.is("=")).map_or(span, |token| token.span);
                self.diagnostics.push(
                    Diagnostic::error("E0113", format!("`=` before the family `{}`", family.text))
                        .at(sign, "expected `~`")
                        .possible("`=` names an expression; `~` gives a variable its distribution")
                        .help(format!("write `{} ~ {}(...)`", print_reference(&target), family.text)),
                );
                Ok(Distribution { target, family, arguments })
            }
            kind => Err(Box::new((target, Expression { kind, span }))),
        }
    }

    // Items of blocks -----------------------------------------------------------------------------------------------

    fn item(&mut self, line: Line<'_>, items: &mut Items) {
        let span = line.span();
        match items {
            Items::Posterior(items) => {
                let kind = self.posterior(&line);
                if kind.is_none() {
                    self.unread.line(&line.tokens);
                }
                items.extend(kind.map(|kind| Item { kind, span, trivia: line.trivia }));
            }
            Items::Init(items) => {
                let kind = self.init(&line);
                items.extend(kind.map(|kind| Item { kind, span, trivia: line.trivia }));
            }
            Items::Fit(items) => {
                let kind = self.fit(&line);
                items.extend(kind.map(|kind| Item { kind, span, trivia: line.trivia }));
            }
            Items::Report(items) => {
                let kind = self.report(&line);
                items.extend(kind.map(|kind| Item { kind, span, trivia: line.trivia }));
            }
            Items::Notation(items) => {
                let kind = self.notation(&line);
                items.extend(kind.map(|kind| Item { kind, span, trivia: line.trivia }));
            }
        }
    }

    /// A line that is not known is kept as it is where it begins with a word: one that begins with a sign would be read with the line above it.
    fn report(&mut self, line: &Line<'_>) -> Option<ReportItem> {
        let kind = report(line);
        let is_line = line.tokens.first().is_some_and(Token::is_word);
        if is_line || !matches!(kind, ReportItem::Unknown(_)) {
            return Some(kind);
        }
        self.diagnostics.push(
            Diagnostic::error("E0101", "this is no line of `report`")
                .at(line.span(), "expected a word first")
                .help("remove it, or write `top 10 AXIS in VARIABLE`, `heat VARIABLE` or another line that `report` knows"),
        );
        None
    }

    fn posterior(&mut self, line: &Line<'_>) -> Option<PosteriorItem> {
        if !self.readable(line) {
            return None;
        }
        let rule = match line.tokens.first().map_or("", |token| token.text) {
            "q" => Rule::joint_line,
            "point" => Rule::point_line,
            "fixed" => Rule::fixed_line,
            "implicit" => Rule::implicit_line,
            _ => return self.unknown_item(line, BlockKind::Posterior),
        };
        self.run(line, rule, |builder, pair| builder.posterior(pair))
    }

    fn init(&mut self, line: &Line<'_>) -> Option<InitItem> {
        if !self.readable(line) {
            return None;
        }
        let rule = match first_sign(&line.tokens) {
            Some("~") => Rule::distribution_line,
            _ => Rule::definition_line,
        };
        let item = self.run(line, rule, |builder, pair| builder.init(pair))?;
        Some(match item {
            InitItem::Value { target, value } => match self.family_after_equals(target, value, line) {
                Ok(distribution) => InitItem::Draw(distribution),
                Err(definition) => {
                    let (target, value) = *definition;
                    InitItem::Value { target, value }
                }
            },
            draw => draw,
        })
    }

    fn fit(&mut self, line: &Line<'_>) -> Option<FitItem> {
        if !self.readable(line) {
            return None;
        }
        let head = line.tokens.first().map_or("", |token| token.text);
        let assigns = line.tokens.get(1).is_some_and(|token| token.is("="));
        let rule = match head {
            _ if assigns => Rule::setting_line,
            "sweep" => Rule::sweep_line,
            "stop" => Rule::stop_line,
            "warmup" => Rule::warmup_line,
            "batch" => Rule::batch_line,
            _ if BlockKind::Fit.items().contains(&head) => Rule::setting_line,
            _ => return self.unknown_item(line, BlockKind::Fit),
        };
        self.run(line, rule, |builder, pair| builder.fit(pair))
    }

    fn notation(&mut self, line: &Line<'_>) -> Option<NotationItem> {
        // A point between two names belongs to these lines alone.
        let tokens = line.tokens.iter().filter(|token| !token.is_point()).copied().collect();
        let without = Line { tokens, trivia: Trivia::default(), bad: line.bad };
        if !self.readable(&without) {
            return None;
        }
        match pest(&line.tokens, Rule::notation_line, |builder, pair| builder.notation(pair)) {
            Ok(item) => Some(item),
            Err(diagnostics) => {
                let forms = |own: Diagnostic| match (&own.possible, &own.help) {
                    (None, None) => own.possible(item_forms(BlockKind::Notation)),
                    _ => own,
                };
                self.diagnostics.extend(diagnostics.into_iter().map(forms));
                None
            }
        }
    }

    /// A line of a block that starts with no word of its items.
    fn unknown_item<T>(&mut self, line: &Line<'_>, kind: BlockKind) -> Option<T> {
        let head = line.tokens.first()?;
        let elsewhere = if head.is_word() { home(head.text).filter(|home| *home != kind) } else { None };
        let diagnostic = if let Some(home) = elsewhere {
            Diagnostic::error("E0126", format!("`{}` inside `{} {{ }}`", head.text, kind.word()))
                .at(head.span, format!("belongs in `{} {{ }}`", home.word()))
                .help(format!("move the line to `{} {{ }}`", home.word()))
        } else {
            let near = if head.is_word() { nearest(head.text, kind.items().iter().copied()) } else { None };
            let help = match (near, kind) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, BlockKind::Posterior) => {
                    "starts and settings stand in `init { }` and `fit { }`".to_string()
                }
                (None, _) => "write one of these".to_string(),
            };
            Diagnostic::error("E0128", format!("`{}` starts no line of `{}`", head.text, kind.word()))
                .at(head.span, "unknown line")
                .possible(item_forms(kind))
                .help(help)
        };
        self.diagnostics.push(diagnostic);
        None
    }
}

impl OpenBlock {
    fn close(self, end: usize, trailing_comments: Vec<Comment>, beside_close: Option<String>) -> Statement {
        let kind = match self.items {
            Items::Posterior(items) => {
                StatementKind::Posterior(block(items, trailing_comments, beside_close))
            }
            Items::Init(items) => StatementKind::Init(block(items, trailing_comments, beside_close)),
            Items::Fit(items) => StatementKind::Fit(block(items, trailing_comments, beside_close)),
            Items::Report(items) => StatementKind::Report(block(items, trailing_comments, beside_close)),
            Items::Notation(items) => StatementKind::Notation(block(items, trailing_comments, beside_close)),
        };
        let span = Span::new(self.head.start, end.max(self.head.end));
        Statement { kind, span, trivia: self.trivia }
    }
}

fn block<T>(
    mut items: Vec<Item<T>>,
    mut trailing_comments: Vec<Comment>,
    beside_close: Option<String>,
) -> Block<T> {
    match items.first_mut() {
        Some(item) => drop_blank(&mut item.trivia),
        None => drop_first_blank(&mut trailing_comments),
    }
    Block { items, trailing_comments, beside_close }
}

/// A line of `report { }`; one that is not known is kept as it is, for later versions may know it.
fn report(line: &Line<'_>) -> ReportItem {
    let rule = match line.tokens.first().map_or("", |token| token.text) {
        "top" => Some(Rule::top_line),
        "heat" => Some(Rule::heat_line),
        "image" => Some(Rule::image_line),
        "bars" => Some(Rule::bars_line),
        "curve" => Some(Rule::curve_line),
        "intervals" => Some(Rule::intervals_line),
        _ => None,
    };
    if let Some(compared) = compared(line) {
        return compared;
    }
    let known = if line.bad { None } else { rule };
    known.and_then(|rule| pest(&line.tokens, rule, |builder, pair| builder.report(pair)).ok()).unwrap_or_else(
        || {
            let text = line_text(&line.tokens);
            let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
            ReportItem::Unknown(words.join(" "))
        },
    )
}

/// `compare z with FILE:COLUMN`: the name of a file holds signs that are none of the language, and is taken as it stands.
fn compared(line: &Line<'_>) -> Option<ReportItem> {
    let place = line.tokens.iter().position(|token| token.is("with"))?;
    let (variable, file) = line.tokens.split_at(place);
    let with = line_text(file.get(1..)?).trim().to_owned();
    let is_compare = variable.first().is_some_and(|token| token.is("compare"));
    if !is_compare || with.is_empty() || with.contains(char::is_whitespace) {
        return None;
    }
    let found = pest(variable, Rule::compare_line, |builder, pair| builder.report(pair)).ok()?;
    Some(match found {
        ReportItem::Compare { variable, .. } => ReportItem::Compare { variable, with },
        other => other,
    })
}

/// The first `~` or `=` of a line outside brackets.
fn first_sign(tokens: &[Token<'_>]) -> Option<&'static str> {
    let mut depth = 0usize;
    for token in tokens {
        if token.is("(") || token.is("[") {
            depth += 1;
        } else if token.is(")") || token.is("]") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is("~") {
            return Some("~");
        } else if depth == 0 && token.is("=") {
            return Some("=");
        }
    }
    None
}

/// The block whose items start with this word.
fn home(word: &str) -> Option<BlockKind> {
    [BlockKind::Posterior, BlockKind::Fit, BlockKind::Report]
        .into_iter()
        .find(|kind| kind.items().contains(&word))
}

/// The statements' own keywords.
const KEYWORDS: [&str; 4] = ["model", "axis", "data", "const"];

const FORMS: &str = "a statement starts with `model`, `axis`, `data`, `const` or the name that it is about; \
                     blocks are `posterior`, `init`, `fit`, `report` and `notation`";

/// The rule that a statement's first tokens ask for.
fn statement_rule(tokens: &[Token<'_>]) -> Result<Rule, Box<Diagnostic>> {
    let (Some(head), next) = (tokens.first(), tokens.get(1)) else { return Ok(Rule::definition_line) };
    if !head.is_word() {
        return Err(Box::new(no_statement(head)));
    }
    let text = head.text;
    let used_as_name = next.is_some_and(|next| next.is("~") || next.is("=") || next.is("["));
    let before_word = next.is_some_and(Token::is_word);
    if head.is_reserved() && used_as_name {
        return Err(Box::new(reserved(head)));
    }
    let rule = match text {
        "model" => Rule::model_line,
        "axis" => Rule::axis_line,
        "data" => Rule::data_line,
        "const" => Rule::const_line,
        "posterior" | "init" | "fit" | "report" => {
            return Err(Box::new(
                Diagnostic::error("E0117", format!("`{text}` without its braces"))
                    .at(head.span, "expected `{` after it")
                    .help(format!("write `{text} {{`, one item a line, and `}}` on a line of its own")),
            ));
        }
        "for" | "while" | "if" | "else"
            if next
                .is_some_and(|next| next.is("(") || (next.is_word() && first_sign(tokens) != Some("="))) =>
        {
            return Err(Box::new(loops(text, head.span)));
        }
        _ if head.is_reserved() || (before_word && home(text).is_some()) => {
            return Err(Box::new(misplaced(head)));
        }
        _ if before_word => return Err(Box::new(misspelt(head))),
        _ => match first_sign(tokens) {
            Some("=") => Rule::definition_line,
            _ => Rule::distribution_line,
        },
    };
    Ok(rule)
}

/// An item of a block, or a reserved word, where a statement should start.
fn misplaced(head: &Token<'_>) -> Diagnostic {
    let text = head.text;
    match home(text) {
        Some(kind) => Diagnostic::error("E0126", format!("`{text}` outside `{} {{ }}`", kind.word()))
            .at(head.span, format!("belongs in `{} {{ }}`", kind.word()))
            .help(format!("write it inside `{} {{ }}`, one item a line", kind.word())),
        None => Diagnostic::error("E0102", format!("`{text}` starts no statement"))
            .at(head.span, "not expected here")
            .possible(FORMS)
            .help("if the line above goes on here, end it with an operator or `,`, or open a bracket"),
    }
}

/// Two words side by side, the first of which is no keyword.
fn misspelt(head: &Token<'_>) -> Diagnostic {
    let text = head.text;
    let help = match nearest(text, KEYWORDS.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if ["observe", "observed", "obs", "given", "input"].contains(&text) => {
            "what is observed is declared, `data NAME[...] : real`, and its statement is written as that of a latent, `NAME[...] ~ Family(...)`"
                .to_string()
        }
        None if ["plate", "dim", "index", "range", "coords"].contains(&text) => {
            "an index set is an axis with its letter: `axis NAME[n]`".to_string()
        }
        None => "latents need no declaration: write `NAME[...] ~ Family(...)`".to_string(),
    };
    Diagnostic::error("E0102", format!("`{text}` starts no statement"))
        .at(head.span, "unknown keyword")
        .possible(FORMS)
        .help(help)
}

/// A sign or a number where a statement should start.
fn no_statement(head: &Token<'_>) -> Diagnostic {
    let operator = ["+", "-", "*", "/", "^", "~", "=", ",", "<", "==", "!="].iter().any(|sign| head.is(sign));
    if operator {
        return Diagnostic::error("E0125", format!("a line starts with `{}`", head.text))
            .at(head.span, "a line goes on after a sign, not before it")
            .help(format!("move the `{}` to the end of the line above", head.text));
    }
    Diagnostic::error("E0102", format!("`{}` starts no statement", head.text))
        .at(head.span, "not expected here")
        .possible(FORMS)
        .help("write the statement on one line; a newline is free inside brackets and after `,`, `~`, `=` and operators")
}
