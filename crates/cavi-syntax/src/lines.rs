//! Where does a line of the program end?
//!
//! A logical line is a statement or an item of a block. It goes on over newlines inside `( )` and `[ ]` and after
//! `,`, `~`, `=` or a binary operator. Lines are cut before anything is parsed, so that one bad line does not swallow
//! the lines after it: a bracket that is never closed ends where a new statement clearly starts.

use crate::ast::{Comment, Trivia};
use crate::diagnostic::Diagnostic;
use crate::mistakes::{MAX_DEPTH, token_mistake, too_deep};
use crate::span::Span;
use crate::suggest::nearest;
use crate::tokens::{Token, TokenKind};

/// The blocks and, for each, the words its items start with.
const BLOCKS: [(&str, BlockKind); 5] = [
    ("posterior", BlockKind::Posterior),
    ("init", BlockKind::Init),
    ("fit", BlockKind::Fit),
    ("report", BlockKind::Report),
    ("notation", BlockKind::Notation),
];

/// The blocks of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Posterior,
    Init,
    Fit,
    Report,
    Notation,
}

impl BlockKind {
    /// As programs write it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            BlockKind::Posterior => "posterior",
            BlockKind::Init => "init",
            BlockKind::Fit => "fit",
            BlockKind::Report => "report",
            BlockKind::Notation => "notation",
        }
    }

    /// The words that its items start with, where they start with one.
    pub(crate) fn items(self) -> &'static [&'static str] {
        match self {
            BlockKind::Posterior => &["q", "point", "fixed", "implicit"],
            BlockKind::Init | BlockKind::Notation => &[],
            BlockKind::Fit => &[
                "sweep",
                "stop",
                "restarts",
                "seed",
                "sweeps",
                "accelerate",
                "allocations",
                "warmup",
                "batch",
            ],
            BlockKind::Report => &["top", "bars", "curve", "heat", "intervals", "image", "compare"],
        }
    }

    fn of(word: &str) -> Option<BlockKind> {
        BLOCKS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }
}

/// The tokens of a logical line, without comments and newlines.
#[derive(Debug)]
pub(crate) struct Line<'t> {
    pub(crate) tokens: Vec<Token<'t>>,
    pub(crate) trivia: Trivia,
    /// The line has been reported already, and is not parsed.
    pub(crate) bad: bool,
}

impl Line<'_> {
    /// From the first to the last token.
    pub(crate) fn span(&self) -> Span {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => first.span.to(last.span),
            _ => Span::default(),
        }
    }
}

/// What a text consists of.
#[derive(Debug)]
pub(crate) enum Piece<'a, 't> {
    /// A statement that is no block.
    Statement(Line<'t>),
    /// The keyword of a block.
    Open(BlockKind, Line<'t>),
    /// A line of the block that was opened last.
    Item(Line<'t>),
    /// Text that is skipped after a complaint.
    Lost(&'a [Token<'t>]),
    /// The end of that block.
    Close { end: usize, trailing_comments: Vec<Comment>, beside: Option<String> },
}

/// A text cut into lines.
pub(crate) struct Lines<'a, 't> {
    pub(crate) pieces: Vec<Piece<'a, 't>>,
    /// Comments after the last statement.
    pub(crate) trailing_comments: Vec<Comment>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Cuts tokens into lines.
pub(crate) fn lines<'a, 't>(tokens: &'a [Token<'t>]) -> Lines<'a, 't> {
    let mut splitter = Splitter {
        tokens,
        at: 0,
        ahead: 0,
        block: None,
        transparent: 0,
        comments: Vec::new(),
        newlines: 0,
        first: true,
        pieces: Vec::new(),
        diagnostics: Vec::new(),
    };
    splitter.run();
    Lines { pieces: splitter.pieces, trailing_comments: splitter.comments, diagnostics: splitter.diagnostics }
}

/// The words of a comment.
fn words(token: &Token<'_>) -> String {
    token.text.strip_prefix('#').unwrap_or(token.text).trim().to_string()
}

/// Whether a token only stands between lines.
fn separates(token: &Token<'_>) -> bool {
    matches!(token.kind, TokenKind::Newline | TokenKind::Comment | TokenKind::ForeignComment)
}

struct Splitter<'a, 't> {
    tokens: &'a [Token<'t>],
    at: usize,
    /// The last token that was looked for behind newlines and comments.
    ahead: usize,
    /// The open block, and its brace where there is one.
    block: Option<(BlockKind, Option<Span>)>,
    /// How many braces of other languages (`for (...) {`, `model {`) are open. The lines inside them are read as
    /// statements.
    transparent: usize,
    /// Comments that wait for their statement.
    comments: Vec<Comment>,
    /// Newlines since the last token.
    newlines: usize,
    /// Nothing has been read yet in the file or block.
    first: bool,
    pieces: Vec<Piece<'a, 't>>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a, 't> Splitter<'a, 't> {
    fn run(&mut self) {
        while let Some(token) = self.peek() {
            if token.kind == TokenKind::Newline {
                self.newlines += 1;
                self.at += 1;
            } else if token.kind == TokenKind::Comment {
                let comment = Comment { text: words(&token), blank_before: self.take_blank() };
                self.comments.push(comment);
                self.at += 1;
            } else if token.kind == TokenKind::ForeignComment && !self.in_report() {
                self.foreign_comment(&token);
            } else if token.is("}") {
                self.closing_brace(token);
            } else if token.is(";") && !self.in_report() {
                self.semicolon(token);
                self.at += 1;
            } else if token.is("{") {
                self.lonely_brace(token);
            } else {
                self.line();
            }
        }
        if let Some((kind, brace)) = self.block {
            if let Some(brace) = brace {
                self.unclosed_brace(kind, brace, None);
            }
            self.close_block();
        }
    }

    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    /// The token at `index` if it stands before the end of the line.
    fn on_line(&self, index: usize) -> Option<Token<'t>> {
        self.tokens.get(index).copied().filter(|token| !separates(token))
    }

    /// A comment in the style of another language is reported, and then treated as a comment.
    fn foreign_comment(&mut self, token: &Token<'t>) {
        self.diagnostics.extend(token_mistake(token));
        self.at += 1;
    }

    /// Whether an empty line stands before what is read now.
    fn take_blank(&mut self) -> bool {
        let blank = self.newlines >= 2 && !self.first;
        self.newlines = 0;
        self.first = false;
        blank
    }

    /// The comment at the end of the line that was just read.
    fn take_beside(&mut self) -> Option<String> {
        let token = self.peek().filter(|token| token.kind == TokenKind::Comment)?;
        self.at += 1;
        Some(words(&token))
    }

    fn in_report(&self) -> bool {
        matches!(self.block, Some((BlockKind::Report, _)))
    }

    // Lines -----------------------------------------------------------------------------------------------------

    /// Reads the line that starts here, and opens a block if it says so.
    fn line(&mut self) {
        match self.block {
            Some((kind, Some(brace))) if self.starts_statement_in(kind) => {
                let start = self.tokens[self.at];
                if self.next_brace_closes() {
                    let text = format!("a statement inside `{} {{ }}`", kind.word());
                    self.diagnostics.push(
                        Diagnostic::error("E0126", text)
                            .at(start.span, "statements stand outside blocks")
                            .possible(item_forms(kind))
                            .help(format!("move the line above `{}` or below its `}}`", kind.word())),
                    );
                    let line = self.collect();
                    self.pieces.push(Piece::Statement(line));
                    return;
                }
                self.unclosed_brace(kind, brace, Some(start.span));
                self.close_block();
            }
            // A block without braces goes on while its lines can belong to nothing else.
            Some((kind, None)) if !kind.items().contains(&self.tokens[self.at].text) => self.close_block(),
            _ => {}
        }
        let start = self.at;
        let line = self.collect();
        if self.block.is_some() {
            if let Some(brace) = self.peek().filter(|token| token.is("{")) {
                self.diagnostics.push(
                    Diagnostic::error("E0126", "braces inside a block")
                        .at(brace.span, "a block holds one item a line, and no blocks")
                        .help("close the block above with `}` before this one opens"),
                );
                self.lose(start);
                self.skip_braces();
                return;
            }
            if !line.tokens.is_empty() || line.bad {
                self.pieces.push(Piece::Item(line));
            }
            return;
        }
        let head = line.tokens.first().map_or("", |token| token.text);
        let opens = self.peek().filter(|token| token.is("{"));
        match (BlockKind::of(head), opens) {
            (Some(kind), Some(brace)) if line.tokens.len() == 1 => {
                self.open_block(kind, line, Some(brace.span))
            }
            (Some(kind), None) if line.tokens.len() == 1 && !line.bad => self.block_without_brace(kind, line),
            (_, Some(brace)) => {
                self.lose(start);
                self.foreign_block(line, brace);
            }
            (_, None) => self.pieces.push(Piece::Statement(line)),
        }
    }

    /// Reads tokens up to the end of the logical line, a brace, or a semicolon.
    fn collect(&mut self) -> Line<'t> {
        let blank_before = self.take_blank();
        let mut above = std::mem::take(&mut self.comments);
        let mut inner: Vec<String> = Vec::new();
        let mut beside: Option<String> = None;
        let mut tokens: Vec<Token<'t>> = Vec::new();
        let mut open: Vec<Token<'t>> = Vec::new();
        // Brackets beyond the depth that is told are counted alone.
        let mut deeper = 0_usize;
        let mut bad = false;
        while let Some(token) = self.peek() {
            match token.kind {
                TokenKind::Comment => {
                    inner.extend(beside.replace(words(&token)));
                    self.at += 1;
                    continue;
                }
                TokenKind::Newline => {
                    if !self.goes_on(&tokens, &open) {
                        break;
                    }
                    inner.extend(beside.take());
                    self.at += 1;
                    continue;
                }
                TokenKind::ForeignComment if !self.in_report() => {
                    self.foreign_comment(&token);
                    continue;
                }
                _ => {}
            }
            if token.is("{") || token.is("}") {
                break;
            }
            self.at += 1;
            if token.is(";") && !self.in_report() {
                if open.is_empty() {
                    self.semicolon(token);
                    break;
                }
                if !bad {
                    self.diagnostics.push(
                        Diagnostic::error("E0110", "`;` between arguments")
                            .at(token.span, "arguments are separated by `,`")
                            .help("write `,` here"),
                    );
                }
                bad = true;
            } else if token.is("(") || token.is("[") {
                if open.len() > MAX_DEPTH {
                    deeper += 1;
                } else {
                    open.push(token);
                }
                if open.len() > MAX_DEPTH && !bad {
                    self.complain(too_deep(&token));
                    bad = true;
                }
            } else if (token.is(")") || token.is("]")) && deeper > 0 {
                deeper -= 1;
            } else if (token.is(")") || token.is("]"))
                && let Some(complaint) = close(&mut open, token, &tokens)
            {
                if !bad {
                    self.complain(complaint);
                }
                bad = true;
            }
            tokens.push(token);
        }
        if let (Some(outer), false) = (open.first(), bad) {
            self.complain(unclosed(outer, &open[1..]));
            bad = true;
        }
        if !inner.is_empty() {
            // Comments inside the line move above it, for the line is printed in one piece.
            let first = inner.remove(0);
            above.push(Comment { text: first, blank_before });
            above.extend(inner.into_iter().map(|text| Comment { text, blank_before: false }));
            return Line { tokens, trivia: Trivia { above, blank_before: false, beside }, bad };
        }
        Line { tokens, trivia: Trivia { above, blank_before, beside }, bad }
    }

    /// An unknown line of `report { }` is kept whatever it holds; elsewhere the complaint is made.
    fn complain(&mut self, diagnostic: Diagnostic) {
        if !self.in_report() {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether the line goes on after the newline at `self.at`.
    fn goes_on(&mut self, tokens: &[Token<'t>], open: &[Token<'t>]) -> bool {
        // The newlines before one token lead to it once.
        self.ahead = self.ahead.max(self.at);
        self.ahead += self.tokens[self.ahead..].iter().take_while(|token| separates(token)).count();
        let next_index = self.ahead;
        let Some(next) = self.tokens.get(next_index).copied() else { return false };
        let Some(last) = tokens.last() else { return false };
        if next.is("}") || self.starts_statement(next_index) {
            return false;
        }
        // An unknown line of a report is kept as text: one with foreign signs ends where it ends in the file, since
        // in one piece it might be cut into other tokens.
        let plain =
            |token: &Token<'_>| matches!(token.kind, TokenKind::Word | TokenKind::Number | TokenKind::Sign);
        if self.in_report() && !tokens.iter().all(plain) {
            return false;
        }
        if open.is_empty() {
            return last.continues_line() && !self.starts_item(next_index);
        }
        // Two operands never stand side by side: the bracket was left open, and the next line is another one.
        let operand =
            (next.is_word() && !matches!(next.text, "repeat" | "reset")) || next.kind == TokenKind::Number;
        !(last.ends_operand() && operand)
    }

    // What starts here? -------------------------------------------------------------------------------------------

    /// Whether the token at `index` certainly starts a statement or an item, whatever stands before it.
    fn starts_statement(&self, index: usize) -> bool {
        let token = self.tokens[index];
        let next = self.on_line(index + 1);
        let before_word = next.is_some_and(|next| next.is_word());
        let before_open = next.is_some_and(|next| next.is("("));
        match token.text {
            "model" | "axis" | "data" | "const" => before_word,
            "point" | "fixed" | "implicit" => before_word || before_open,
            "q" => before_open,
            "posterior" | "init" | "fit" | "report" => next.is_none_or(|next| next.is("{")),
            // This word is not reserved.
            "notation" if next.is_some_and(|next| next.is("{")) => true,
            _ => match self.after_target(index) {
                Some((after, subscripts)) => after.is("~") || (subscripts && after.is("=")),
                None => false,
            },
        }
    }

    /// Whether it starts an item, for a line that ends with `,` or an operator.
    fn starts_item(&self, index: usize) -> bool {
        let token = self.tokens[index];
        let Some(next) = self.on_line(index + 1) else { return false };
        (token.is_name() && next.is("="))
            || (token.is("stop") && next.is("when"))
            || (token.is("warmup") && (next.is("means") || next.is("collapsed") || next.is("shapes")))
    }

    /// Whether the line at `self.at` belongs to the program rather than to the open block.
    fn starts_statement_in(&self, kind: BlockKind) -> bool {
        let token = self.tokens[self.at];
        let next = self.on_line(self.at + 1);
        match token.text {
            "model" | "axis" | "data" | "const" => next.is_some_and(|next| next.is_word()),
            "posterior" | "init" | "fit" | "report" => next.is_some_and(|next| next.is("{")),
            "notation" if next.is_some_and(|next| next.is("{")) => true,
            _ => {
                matches!(kind, BlockKind::Posterior | BlockKind::Fit | BlockKind::Notation)
                    && self.after_target(self.at).is_some_and(|(after, _)| after.is("~"))
            }
        }
    }

    /// What follows a name and its subscripts on the line, and whether there were subscripts.
    fn after_target(&self, index: usize) -> Option<(Token<'t>, bool)> {
        self.on_line(index).filter(Token::is_word)?;
        let mut at = index + 1;
        if !self.on_line(at)?.is("[") {
            return self.on_line(at).map(|token| (token, false));
        }
        let mut depth = 0usize;
        loop {
            let token = self.on_line(at)?;
            at += 1;
            if token.is("[") {
                depth += 1;
            } else if token.is("]") {
                depth -= 1;
                if depth == 0 {
                    return self.on_line(at).map(|token| (token, true));
                }
            } else if token.is("~") || token.is("=") || token.is("{") || token.is("}") {
                return None;
            }
        }
    }

    fn next_brace_closes(&self) -> bool {
        self.tokens[self.at..]
            .iter()
            .find(|token| token.is("{") || token.is("}"))
            .is_some_and(|token| token.is("}"))
    }

    // Braces ------------------------------------------------------------------------------------------------------

    fn open_block(&mut self, kind: BlockKind, mut line: Line<'t>, brace: Option<Span>) {
        if brace.is_some() {
            self.at += 1;
            line.trivia.beside = self.take_beside();
        }
        self.block = Some((kind, brace));
        self.newlines = 0;
        self.first = true;
        self.pieces.push(Piece::Open(kind, line));
    }

    /// `posterior` with its brace on a later line, or with none.
    fn block_without_brace(&mut self, kind: BlockKind, line: Line<'t>) {
        let ahead = self.tokens[self.at..].iter().position(|token| token.kind != TokenKind::Newline);
        let brace = ahead.map(|ahead| self.at + ahead).filter(|index| self.tokens[*index].is("{"));
        let word = kind.word();
        match brace {
            Some(index) => {
                let span = self.tokens[index].span;
                self.diagnostics.push(
                    Diagnostic::error("E0117", format!("the `{{` of `{word}` stands on another line"))
                        .at(span, "belongs to the line of its keyword")
                        .also(line.span(), "the keyword")
                        .help(format!("write `{word} {{` on one line")),
                );
                self.at = index;
                self.open_block(kind, line, Some(span));
            }
            None => {
                self.diagnostics.push(
                    Diagnostic::error("E0117", format!("`{word}` without its braces"))
                        .at(line.span(), "expected `{` after it")
                        .possible(item_forms(kind))
                        .help(format!(
                            "write `{word} {{` here and `}}` on a line of its own after the last item"
                        )),
                );
                self.open_block(kind, line, None);
            }
        }
    }

    /// A brace after something that opens no block.
    fn foreign_block(&mut self, line: Line<'t>, brace: Token<'t>) {
        let head = line.tokens.first().map_or("", |token| token.text);
        let span = line.span();
        let single = line.tokens.len() == 1;
        match head {
            "for" | "while" | "if" | "else" | "repeat" => {
                self.diagnostics.push(loops(head, span));
                self.transparent += 1;
                self.at += 1;
            }
            "model" => {
                self.diagnostics.push(
                    Diagnostic::error("E0117", "braces around a program")
                        .at(brace.span, "a program has no braces around it")
                        .help("write `model NAME` on a line of its own, then the statements"),
                );
                self.transparent += 1;
                self.at += 1;
            }
            _ if single && line.tokens[0].is_word() => {
                let near = nearest(head, BLOCKS.iter().map(|(word, _)| *word));
                let help = match (near, head) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, "data") => "declare each array on its line: `data x[n, j] : real`".to_string(),
                    (None, _) => "drop this block: a latent is declared by its `~` statement".into(),
                };
                self.diagnostics.push(
                    Diagnostic::error("E0118", format!("there is no block `{head}`"))
                        .at(span, "unknown block")
                        .possible("the blocks are `posterior`, `init`, `fit`, `report` and `notation`")
                        .help(help),
                );
                self.skip_braces();
            }
            _ => {
                if !line.bad {
                    self.diagnostics.push(
                        Diagnostic::error("E0117", "`{` after something that opens no block")
                            .at(brace.span, "not expected here")
                            .possible(
                                "`posterior {`, `init {`, `fit {`, `report {` and `notation {` open a block",
                            )
                            .help("remove the braces, or write the keyword right before `{`"),
                    );
                }
                self.skip_braces();
            }
        }
        self.newlines = 0;
    }

    fn lonely_brace(&mut self, brace: Token<'t>) {
        self.take_blank();
        self.diagnostics.push(
            Diagnostic::error("E0117", "`{` without a keyword")
                .at(brace.span, "opens nothing")
                .possible("`posterior {`, `init {`, `fit {`, `report {` and `notation {` open a block")
                .help("write the keyword on the same line, or remove the braces"),
        );
        if self.block.is_some() {
            self.skip_braces();
        } else {
            self.transparent += 1;
            self.at += 1;
        }
    }

    /// Leaves out everything from the `{` at `self.at` to its `}`; only the brace if it has none.
    fn skip_braces(&mut self) {
        let start = self.at;
        self.find_close();
        self.lose(start);
    }

    /// Keeps the text from `start` up to here as lost.
    fn lose(&mut self, start: usize) {
        let tokens: &'a [Token<'t>] = self.tokens;
        self.pieces.push(Piece::Lost(&tokens[start..self.at]));
    }

    fn find_close(&mut self) {
        let mut depth = 0usize;
        for (index, token) in self.tokens.iter().enumerate().skip(self.at) {
            if token.is("{") {
                depth += 1;
            } else if token.is("}") {
                depth -= 1;
                if depth == 0 {
                    self.at = index + 1;
                    return;
                }
            }
        }
        self.at += 1;
    }

    fn closing_brace(&mut self, brace: Token<'t>) {
        self.at += 1;
        self.newlines = 0;
        self.first = false;
        if self.block.take().is_some() {
            let trailing_comments = std::mem::take(&mut self.comments);
            let beside = self.take_beside();
            self.pieces.push(Piece::Close { end: brace.span.end, trailing_comments, beside });
        } else if self.transparent > 0 {
            self.transparent -= 1;
        } else {
            self.diagnostics.push(
                Diagnostic::error("E0109", "`}` closes nothing")
                    .at(brace.span, "no block is open here")
                    .help("remove it, or look for a `}` too many above"),
            );
        }
        if let Some(next) = self.on_line(self.at).filter(|next| !next.is("}") && !next.is(";")) {
            self.diagnostics.push(
                Diagnostic::error("E0110", "a second statement on the line")
                    .at(next.span, "belongs on a line of its own")
                    .help("start a new line after `}`"),
            );
        }
    }

    /// Ends the open block without a brace; comments that wait stay for the next statement.
    fn close_block(&mut self) {
        let end = match self.pieces.last() {
            Some(Piece::Item(line) | Piece::Open(_, line)) => line.span().end,
            _ => 0,
        };
        self.block = None;
        self.pieces.push(Piece::Close { end, trailing_comments: Vec::new(), beside: None });
    }

    fn unclosed_brace(&mut self, kind: BlockKind, brace: Span, statement: Option<Span>) {
        let mut diagnostic =
            Diagnostic::error("E0108", format!("the block `{}` is never closed", kind.word()))
                .at(brace, "this `{` has no `}`")
                .help("write `}` on a line of its own after the last item");
        if let Some(statement) = statement {
            diagnostic = diagnostic.also(statement, "a new statement starts here");
        }
        self.diagnostics.push(diagnostic);
    }

    fn semicolon(&mut self, token: Token<'t>) {
        let last = self.on_line(self.at).is_none_or(|next| next.span == token.span || next.is("}"));
        let help = if last { SEMICOLON_AT_THE_END } else { "start a new line here" };
        self.diagnostics.push(
            Diagnostic::error("E0110", "`;` ends nothing")
                .at(token.span, "one statement a line, and no `;`")
                .help(help),
        );
    }
}

/// What is said of a `;` at the end of a line.
pub(crate) const SEMICOLON_AT_THE_END: &str = "remove it: the newline ends a statement";

/// Takes the bracket that `closing` closes off the open ones, or says what is wrong.
fn close(open: &mut Vec<Token<'_>>, closing: Token<'_>, before: &[Token<'_>]) -> Option<Diagnostic> {
    let wanted = if closing.text == ")" { "(" } else { "[" };
    let Some(top) = open.last().copied() else {
        return Some(
            Diagnostic::error("E0107", format!("`{}` closes nothing", closing.text))
                .at(closing.span, format!("no `{wanted}` is open here"))
                .help("remove it, or open the bracket before it"),
        );
    };
    let Some(matching) = open.iter().rposition(|token| token.text == wanted) else {
        open.pop();
        return Some(
            Diagnostic::error("E0107", format!("`{}` closes `{}`", closing.text, top.text))
                .at(closing.span, format!("expected `{}`", partner(&top)))
                .also(top.span, "opened here")
                .help(format!("write `{}`", partner(&top))),
        );
    };
    let complaint = open.get(matching + 1).map(|left_open| {
        Diagnostic::error("E0106", format!("`{}` is not closed", left_open.text))
            .at(left_open.span, format!("no `{}` follows", partner(left_open)))
            .also(closing.span, "closes the bracket around it")
            .help(match subscripts(left_open, before) {
                Some(subscripts) => format!("write `]` after the last subscript: `{subscripts}`"),
                None => format!("write `{}` before this `{}`", partner(left_open), closing.text),
            })
    });
    open.truncate(matching);
    complaint
}

/// The name and the subscripts of a bracket that is not closed, as far as they are subscripts, and `...` where more follows.
fn subscripts(open: &Token<'_>, before: &[Token<'_>]) -> Option<String> {
    let place = before.iter().position(|token| token.span == open.span)?;
    let name = place.checked_sub(1).map(|at| &before[at]).filter(|_| open.is("["))?;
    if !name.is_name() || name.is("sum") {
        return None;
    }
    let inside = &before[place + 1..];
    let mut written: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(token) = inside.get(at) {
        let colon = token.is(":");
        let word = inside.get(at + usize::from(colon)).filter(|token| token.is_name())?;
        written.push(format!("{}{}", if colon { ":" } else { "" }, word.text));
        at += 1 + usize::from(colon);
        if !inside.get(at).is_some_and(|next| next.is(",")) {
            break;
        }
        at += 1;
    }
    // An index in a subscript, `mu[z[n]`, has brackets of its own.
    let next = inside.get(at);
    if next.is_some_and(|next| next.is("[") || next.is("]")) || written.is_empty() {
        return None;
    }
    let more = next.map_or(String::new(), |next| format!(" {} ...", next.text));
    Some(format!("{}[{}]{more}", name.text, written.join(", ")))
}

/// A bracket that is open where the line ends, with those inside it.
fn unclosed(outer: &Token<'_>, inner: &[Token<'_>]) -> Diagnostic {
    let closing: String =
        inner.iter().rev().chain(std::iter::once(outer)).map(|token| partner(token)).take(20).collect();
    let mut diagnostic = Diagnostic::error("E0106", format!("`{}` is not closed", outer.text))
        .at(outer.span, format!("no `{}` follows in this statement", partner(outer)))
        .help(format!("write `{closing}` where the list ends"));
    if let Some(token) = inner.last() {
        diagnostic = diagnostic.also(token.span, "nor is this one");
    }
    diagnostic
}

fn partner(open: &Token<'_>) -> &'static str {
    if open.text == "(" { ")" } else { "]" }
}

/// A loop or a condition, which the language does not have.
pub(crate) fn loops(word: &str, span: Span) -> Diagnostic {
    let help = match word {
        "if" | "else" | "?" => {
            "of cases that are data, choose by an index: `mu[group[n]]` with `data group[n] : index case`; of unknown cases, write a \
             mixture by a categorical latent, `mu[z[n]]`; two letters of one axis compare as `[j == l]`"
        }
        _ => {
            "write the statement once, with the index as a letter: `x[n] ~ Normal(mu, sd = 1)` holds for every `n`"
        }
    };
    Diagnostic::error("E0119", format!("there is no `{word}` in the language"))
        .at(span, "a letter on the left already makes one copy for each of its values")
        .help(help)
}

/// What the items of a block look like.
pub(crate) fn item_forms(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Posterior => {
            "a line of `posterior` is `q(z[n, :k])`, `point w[i, k]`, `fixed w` or `implicit z[d, t]`"
        }
        BlockKind::Init => "a line of `init` is `w[i, k] = expression` or `w[i, k] ~ Family(...)`",
        BlockKind::Fit => {
            "a line of `fit` is `sweep a, (b, c)`, `stop when rel_elbo < 1e-6 for 3`, `restarts = 10`, `seed = 1`, \
             `sweeps = 500`, `accelerate = auto`, `allocations = collapsed`, `warmup means 60`, `warmup collapsed 60`, \
             `warmup shapes 0.6 over 40`, `batch doc` or `batch doc in 16`"
        }
        BlockKind::Report => {
            "a line of `report` is `top 10 word in beta[k, v]`, `bars type in h[k, j]`, `curve week in d[i, k]`, `heat w`, \
             `intervals w`, `image pixel = 28 x 28` or `compare z with FILE:COLUMN`"
        }
        BlockKind::Notation => "a line of `notation` is `theta.concentration = gamma` or `sigma2 = sigma^2`",
    }
}
