//! A document as LaTeX and as Markdown: equations in displays that fit a narrow column.
//!
//! Lines are measured in points as ten-point Computer Modern sets them. What is too wide is broken before operators, as
//! far outside of brackets as can be; a left side that is too wide stands on a line of its own.

use crate::expression::Function;

use super::Columns;
use super::document::{Item, Line, Part, Row, Span};
use super::latex;
use super::node::{Call, Node, Product};
use super::table::without_bars;
use super::width::width;
use super::words::{escape, upright};

/// The lines of a page, in points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    /// The widest line: a little less than the column.
    column: f64,
    /// The widest left side that shares a line with the right one.
    left: f64,
}

impl Measure {
    /// The lines of an article that is set in so many columns.
    pub fn of(columns: Columns) -> Measure {
        match columns {
            Columns::One => Measure { column: 318.0, left: 105.0 },
            Columns::Two => Measure { column: 200.0, left: 72.0 },
        }
    }
}

/// What an indented line loses: `\\quad` or `\\qquad`.
const INDENT: f64 = 20.0;
/// Stands before a piece that begins a line: the first of an addend in brackets that has to be broken itself.
const BEGINS: char = '\u{1}';
/// What is left of a line for a factor behind something, at the least.
const NARROW: f64 = 60.0;
/// The least room for a right side with a remark beside it; with less, the remark has a line of its own.
const BESIDE: f64 = 120.0;
/// More lines than these may stand on two pages.
const LONG: usize = 5;
/// The space before a remark.
const GAP: f64 = 22.0;
/// As many lines fewer are worth a left side on a line of its own.
const SAVED: usize = 2;

fn span_in_latex(span: &Span) -> String {
    match span {
        Span::Words(text) => prose(text),
        Span::Stated(text) => format!("\\texttt{{{}}}", escape(text)),
        Span::Math(Node::Call(Call::Family(name), arguments)) if is_wide(span, 150.0) => {
            // The arguments are formulas of their own, between which a line may end.
            let mut pieces: Vec<String> = arguments.iter().map(latex::node).collect();
            let last = pieces.len().saturating_sub(1);
            pieces.iter_mut().take(last).for_each(|piece| piece.push(','));
            let pieces = around(&format!("{}\\bigl(", upright(name)), pieces, "\\bigr)");
            pieces.iter().map(|piece| format!("${piece}$")).collect::<Vec<_>>().join(" ")
        }
        Span::Math(Node::Call(Call::Named(_), arguments)) if is_wide(span, 100.0) && arguments.len() == 1 => {
            // A line may end at a sign between brackets that do not grow.
            let Span::Math(Node::Call(call, _)) = span else { unreachable!("it is one") };
            format!("${}({})$", latex::prefix(call).unwrap_or_default(), latex::node(&arguments[0]))
        }
        Span::Math(node) => format!("${}$", latex::node(node)),
        Span::Reference(label) => format!(" by \\eqref{{{label}}}"),
        Span::Number(label) => format!("\\eqref{{{label}}}"),
    }
}

/// A sentence; two formulas with a sign of equality between them are one.
pub(crate) fn sentence(spans: &[Span]) -> String {
    spans.iter().map(span_in_latex).collect::<String>().replace("$ = $", " = ")
}

/// Words that stand for symbols, which a sentence has in plain text.
const SYMBOLS: [(&str, &str); 5] = [
    ("q", "$q$"),
    (">=", "$\\geq$"),
    ("~", "$\\sim$"),
    ("-log q", "$-\\ln q$"),
    ("log Gamma", "$\\ln\\Gamma$"),
];

/// Plain words in LaTeX, symbols among them as symbols.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut at_start = true;
    while !rest.is_empty() {
        let symbol = SYMBOLS.iter().filter(|_| at_start).find(|(word, _)| {
            let behind = rest.strip_prefix(word).map(|behind| behind.chars().next());
            behind.is_some_and(|next| next.is_none_or(|c| " ,.;:".contains(c)))
        });
        if let Some((word, shown)) = symbol {
            out.push_str(shown);
            rest = &rest[word.len()..];
            at_start = false;
            continue;
        }
        let end = rest.find(' ').map_or(rest.len(), |place| place + 1);
        out.push_str(&escape(&rest[..end]));
        rest = &rest[end..];
        at_start = true;
    }
    out
}

pub(crate) fn in_latex(item: &Item, columns: Columns) -> String {
    let (spans, measure) = (sentence, Measure::of(columns));
    match item {
        Item::Title(title) => format!("\\section*{{{}}}\n", escape(title)),
        Item::Heading(heading) => format!("\\subsection*{{{}}}\n", escape(heading)),
        Item::Subheading(line) => format!("\\paragraph{{{}}}\n", spans(line)),
        Item::Paragraph(line) if line.iter().any(|span| is_wide(span, 40.0)) => {
            format!("{{\\sloppy {}\\par\\nobreak}}\n", spans(line))
        }
        Item::Paragraph(line) => format!("{}\n", spans(line)),
        Item::List(lines) => {
            let item = |line: &Vec<Span>| {
                let loose = line.iter().any(|span| is_wide(span, 200.0));
                let (open, close) = if loose { ("{\\sloppy ", "\\par}") } else { ("", "") };
                format!("  \\item {open}{}{close}\n", spans(line))
            };
            let items: String = lines.iter().map(item).collect();
            format!("\\begin{{itemize}}\\setlength{{\\itemsep}}{{0pt}}\n{items}\\end{{itemize}}\n")
        }
        Item::Program(lines) => {
            let line = |line: &String| {
                let rest = line.trim_start();
                let indent = "~".repeat(line.chars().count() - rest.chars().count());
                format!(
                    "{indent}{}",
                    escape(rest).replace("  ", "~~").replace('-', "{-}").replace('`', "{`}")
                )
            };
            let shown: Vec<String> = lines.iter().filter(|line| !line.trim().is_empty()).map(line).collect();
            format!("\\begin{{flushleft}}\\small\\ttfamily\n{}\n\\end{{flushleft}}\n", shown.join(" \\\\\n"))
        }
        Item::Rows(rows) => aligned(rows, measure),
        Item::Algorithm(lines) => {
            let boxed = nested(lines, 0, &mut 0);
            // Between two rules, so that a page may end inside.
            format!(
                "\\par\\medskip\\hrule\\nobreak\\medskip\n\\begingroup\\sloppy\n{boxed}\\endgroup\\par\\nobreak\\smallskip\\hrule\\medskip\n"
            )
        }
        Item::Table(table) => table.in_latex(columns),
        // A document that does not load tikz goes on without it.
        Item::Picture(drawing) => {
            format!("\\ifdefined\\tikzpicture\n\\begin{{center}}\n{drawing}\\end{{center}}\n\\fi\n")
        }
    }
}

/// Whether a formula in a sentence is so wide that lines before it may have to stay short.
fn is_wide(span: &Span, points: f64) -> bool {
    match span {
        Span::Words(_) | Span::Stated(_) | Span::Reference(_) | Span::Number(_) => false,
        Span::Math(node) => width(&latex::node(node)) > points,
    }
}

/// Lines of an algorithm from `place` on as lists in lists.
fn nested(lines: &[Line], depth: usize, place: &mut usize) -> String {
    let indent = "  ".repeat(depth);
    let mut out = format!("{indent}\\begin{{enumerate}}\n");
    while let Some(line) = lines.get(*place).filter(|line| line.depth >= depth) {
        if line.depth > depth {
            out.push_str(&nested(lines, depth + 1, place));
        } else {
            out.push_str(&format!("{indent}  \\item {}\n", sentence(&line.text)));
            *place += 1;
        }
    }
    out.push_str(&format!("{indent}\\end{{enumerate}}\n"));
    out
}

/// Rows in groups that share a display: neighbours, except for those whose left side has a line of its own, since it is wide or
/// since the right side is so much shorter there. For each its rows, each in lines.
fn grouped(rows: &[Row], measure: Measure) -> Vec<Vec<(&Row, Vec<String>)>> {
    let left = |row: &Row| width(&latex::node(&row.left));
    let alone = |row: &Row| {
        let lines = |widest: f64| {
            let room = Room::of(row, widest, measure);
            row_in_latex(row, widest, measure, room.remarks_below()).len()
        };
        left(row) > measure.left || lines(left(row)) >= lines(f64::INFINITY) + SAVED
    };
    let mut out = Vec::new();
    let mut start = 0;
    while start < rows.len() {
        let mut end = start + 1;
        while !alone(&rows[start]) && end < rows.len() && !alone(&rows[end]) {
            end += 1;
        }
        let together = &rows[start..end];
        let widest = match together {
            [only] if alone(only) => f64::INFINITY,
            several => several.iter().map(left).fold(0.0, f64::max),
        };
        // Remarks of a display stand in one column, behind its widest line, or below lines.
        let below = together.iter().any(|row| Room::of(row, widest, measure).remarks_below());
        out.push(together.iter().map(|row| (row, row_in_latex(row, widest, measure, below))).collect());
        start = end;
    }
    out
}

/// Rows as displays that may break between pages; those with a label have a number.
fn aligned(rows: &[Row], measure: Measure) -> String {
    let display = |group: Vec<(&Row, Vec<String>)>| {
        let numbered = group.iter().any(|(row, _)| row.label.is_some());
        let mut rows: Vec<String> = Vec::new();
        for (row, own) in group {
            let last = own.len().saturating_sub(1);
            // A page ends between rows, or inside a long one but for its first and its last line.
            let within = |place: usize| own.len() <= LONG || place == 0 || place + 2 > last;
            let lines = own.iter().enumerate().map(|(place, line)| {
                let end = match (place == last, within(place)) {
                    (true, _) => "",
                    (false, true) => " \\\\*\n",
                    (false, false) => " \\\\\n",
                };
                match &row.label {
                    Some(label) if place == last => format!("{line} \\label{{{label}}}{end}"),
                    _ if numbered => format!("{line} \\notag{end}"),
                    _ => format!("{line}{end}"),
                }
            });
            rows.push(lines.collect());
        }
        let name = if numbered { "align" } else { "align*" };
        format!("\\begin{{{name}}}\n{}\n\\end{{{name}}}\n", rows.join(" \\\\\n"))
    };
    grouped(rows, measure).into_iter().map(display).collect()
}

/// Rows as displays between dollars.
fn displayed(rows: &[Row]) -> String {
    let display = |group: Vec<(&Row, Vec<String>)>| {
        let lines: Vec<String> = group.into_iter().flat_map(|(_, lines)| lines).collect();
        format!("$$\n\\begin{{aligned}}\n{}\n\\end{{aligned}}\n$$\n", lines.join(" \\\\\n"))
    };
    grouped(rows, Measure::of(Columns::One)).into_iter().map(display).collect()
}

/// What a display leaves for the right side of a row.
struct Room<'r> {
    row: &'r Row,
    /// The points of a line.
    whole: f64,
    /// What the widest remark takes of them.
    remark: f64,
}

impl Room<'_> {
    fn of(row: &Row, widest: f64, measure: Measure) -> Room<'_> {
        let notes = row.parts.iter().filter_map(note);
        let remark = notes.map(|note| width(&note) + GAP).fold(0.0, f64::max);
        let whole = measure.column - INDENT - if widest > measure.left { INDENT } else { widest };
        Room { row, whole, remark }
    }

    /// Whether remarks stand below: where one leaves too little room, or costs lines of its own.
    fn remarks_below(&self) -> bool {
        let lines = |room: f64| {
            self.row.parts.iter().map(|part| filled(&part.node, false, room).len()).sum::<usize>()
        };
        let noted = self.row.parts.iter().filter_map(note).count();
        self.remark > 0.0
            && (self.whole - self.remark < BESIDE
                || lines(self.whole - self.remark) > lines(self.whole) + noted)
    }
}

/// The lines of a row in a display whose widest left side is given, and whether remarks stand below.
fn row_in_latex(row: &Row, widest: f64, measure: Measure, below: bool) -> Vec<String> {
    let left = latex::node(&row.left);
    let sign = row.relation.in_latex();
    let alone = widest > measure.left;
    let notes: Vec<Option<String>> = row.parts.iter().map(note).collect();
    let Room { whole, remark, .. } = Room::of(row, widest, measure);
    let room = if below { whole } else { whole - remark };
    let mut out = Vec::new();
    if alone {
        out.push(format!("  &{left}"));
    }
    let mut first = true;
    for (part, note) in row.parts.iter().zip(notes) {
        let mut shown = filled(&part.node, first, room);
        match (shown.last_mut(), note) {
            (Some(last), Some(note)) if below && width(last) + width(&note) + GAP <= whole => {
                last.push_str(&format!(" \\qquad {note}"));
            }
            (Some(_), Some(note)) if below => shown.push(format!("\\qquad {note}")),
            (Some(last), Some(note)) => last.push_str(&format!(" && {note}")),
            (_, None) | (None, _) => {}
        }
        for line in shown {
            let lead = match (first, alone) {
                (true, false) => format!("{left} &{sign} "),
                (true, true) => format!("&\\quad {sign} "),
                (false, false) => "&\\qquad ".to_owned(),
                (false, true) => "&\\qquad\\quad ".to_owned(),
            };
            out.push(format!("  {lead}{line}"));
            first = false;
        }
    }
    out
}

/// `(from x, z)`
fn note(part: &Part) -> Option<String> {
    let (words, names) = part.note.as_ref()?;
    let names: Vec<String> = names.iter().map(|name| format!("${}$", latex::node(name))).collect();
    Some(format!("\\text{{({})}}", [escape(words), names.join(", ")].join(" ").trim_end()))
}

/// The addends of a part on as few lines as fit. An addend that has to be broken begins a line, and what goes on with it is
/// indented.
fn filled(node: &Node, first: bool, room: f64) -> Vec<String> {
    let addends = node.addends();
    if addends.is_empty() {
        return if first { vec!["0".to_owned()] } else { Vec::new() };
    }
    let mut lines: Vec<(String, f64)> = Vec::new();
    for (position, (negative, addend)) in addends.iter().enumerate() {
        let sign = match (first && position == 0, negative) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => "{}+ ",
            (false, true) => "{}- ",
        };
        let pieces = around(sign, broken(addend, room, room), "");
        let several = pieces.len() > 1;
        // Below the addends of a bracket what goes on with one of them is indented once more.
        let nested = pieces.iter().skip(1).any(|piece| piece.trim_start_matches(BEGINS).starts_with("{}"));
        let deeper = if nested { "\\quad " } else { "" };
        for (number, piece) in pieces.into_iter().enumerate() {
            let (piece, begins) = match piece.strip_prefix(BEGINS) {
                Some(piece) => (piece.to_owned(), true),
                None => (piece, false),
            };
            let size = width(&piece);
            match lines.last_mut() {
                Some((line, used)) if *used + size <= room && !begins && (number > 0 || !several) => {
                    // Behind something a sign is binary by itself.
                    line.push(' ');
                    line.push_str(piece.strip_prefix("{}").unwrap_or(&piece));
                    *used += size;
                }
                Some(_) if number > 0 => {
                    // A product that goes on says so.
                    let goes_on = match piece.strip_prefix("\\, ").or_else(|| piece.strip_prefix("\\cdot ")) {
                        Some(factor) => format!("\\quad {deeper}{{}}\\times {factor}"),
                        None => format!("\\quad {piece}"),
                    };
                    lines.push((goes_on, size + INDENT));
                }
                Some(_) | None => lines.push((piece, size)),
            }
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// A node in pieces, between which a line may end. One that fits is one piece. Something may stand before the first piece on its
/// line, which leaves `first` of the `room`.
fn broken(node: &Node, first: f64, room: f64) -> Vec<String> {
    let whole = latex::node(node);
    if width(&whole) <= first {
        return vec![whole];
    }
    let inside = room - INDENT;
    let behind = |head: &str| (first - width(head)).max(NARROW);
    match node {
        Node::Add(_) => signed(node, first, room),
        Node::Product(product) => factors(product, first, room).unwrap_or_else(|| vec![whole]),
        Node::Sum(over, body) => {
            let head = format!("\\sum_{{{}}} ", latex::range(over));
            match &**body {
                Node::Add(_) => {
                    around(&format!("{head}\\bigl("), signed(body, behind(&head), inside), "\\bigr)")
                }
                Node::Product(product) if product.number.negative => {
                    around(&format!("{head}\\bigl("), broken(body, behind(&head), inside), "\\bigr)")
                }
                other => around(&head, broken(other, behind(&head), inside), ""),
            }
        }
        Node::Power(base, exponent) => {
            let close = format!("\\bigr)^{{{}}}", latex::node(exponent));
            around("\\bigl(", broken(base, first - INDENT, inside), &close)
        }
        Node::Call(Call::Argument(name), arguments) if arguments.len() == 1 => {
            around(&format!("{} = ", upright(name)), broken(&arguments[0], first - INDENT, inside), "")
        }
        Node::Expectation(inner) => {
            around("\\mathrm{E}\\bigl[", broken(inner, first - INDENT, inside), "\\bigr]")
        }
        Node::Call(Call::Function(Function::Sqrt), arguments) if arguments.len() == 1 => {
            around("\\bigl(", broken(&arguments[0], first - INDENT, inside), "\\bigr)^{1/2}")
        }
        Node::Call(call, arguments) => match (latex::prefix(call), arguments.as_slice()) {
            (Some(name), [only]) => {
                around(&format!("{name}\\bigl("), broken(only, behind(&name), inside), "\\bigr)")
            }
            (Some(name), several) => {
                let last = several.len() - 1;
                let pieces = several.iter().enumerate().flat_map(|(at, own)| {
                    around("", broken(own, inside, inside), if at < last { "," } else { "" })
                });
                around(&format!("{name}\\bigl("), pieces.collect(), "\\bigr)")
            }
            (None, _) => vec![whole],
        },
        Node::Count(_)
        | Node::Element(_)
        | Node::Letter(_)
        | Node::Slice(_)
        | Node::Size { .. }
        | Node::Variance(_)
        | Node::Covariance(..)
        | Node::Probability(..)
        | Node::Indicator(_)
        | Node::Density(..)
        | Node::Entropy(_) => vec![whole],
    }
}

/// Pieces with something before the first and behind the last.
fn around(open: &str, mut pieces: Vec<String>, close: &str) -> Vec<String> {
    pieces[0] = format!("{open}{}", pieces[0]);
    let last = pieces.len() - 1;
    pieces[last].push_str(close);
    pieces
}

/// The addends as pieces, each with its sign.
fn signed(node: &Node, first: f64, room: f64) -> Vec<String> {
    let mut pieces = Vec::new();
    for (position, (negative, addend)) in node.addends().iter().enumerate() {
        let sign = match (position, negative) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => "{}+ ",
            (_, true) => "{}- ",
        };
        let first = if position == 0 { first } else { room };
        let mut own = around(sign, broken(addend, first, room), "");
        if position > 0 && own.len() > 1 {
            own[0].insert(0, BEGINS);
        }
        pieces.extend(own);
    }
    pieces
}

/// The factors of a product as pieces; what it is divided by stands in front, or behind as an inverse where it is too wide.
fn factors(product: &Product, first: f64, room: f64) -> Option<Vec<String>> {
    if product.number.named.is_some() {
        return None;
    }
    let inside = room - INDENT;
    let below = |inner: &Node| width(&latex::node(inner)) > inside;
    // A fraction does not break, a product with an inverse does.
    let inverted = product.below.iter().any(below);
    if product.above.is_empty() && !inverted {
        return None;
    }
    let mut pieces: Vec<String> = Vec::new();
    let mut number = Product { above: Vec::new(), ..product.clone() };
    if inverted {
        number.below.clear();
    }
    let mut open = match latex::product(&number).as_str() {
        "1" => String::new(),
        "-1" => "-".to_owned(),
        other => format!("{other} \\, "),
    };
    let last = product.above.len().saturating_sub(1);
    // A constant that is a numeral stands first, with a dot behind another number.
    let (numerals, others): (Vec<&Node>, Vec<&Node>) =
        product.above.iter().partition(|own| latex::is_numeral(own));
    for (at, factor) in numerals.into_iter().chain(others).enumerate() {
        let mut shown = latex::factor(factor, at == last);
        let dotted = latex::is_numeral(factor) && (at > 0 || open.ends_with(" \\, "));
        if dotted {
            shown = latex::behind_number(factor, &shown);
            open = open.trim_end_matches("\\, ").to_owned();
        }
        // What the line of the first piece leaves, behind the number in front.
        let left = if at == 0 { first - width(&open) } else { room };
        let in_pieces = |left: f64| match factor {
            Node::Add(_) => around("\\bigl(", signed(factor, left - INDENT, inside), "\\bigr)"),
            Node::Sum(..) if at < last => around("\\bigl(", broken(factor, left - INDENT, inside), "\\bigr)"),
            other => broken(other, left, inside),
        };
        let mut own = vec![shown];
        if width(&own[0]) > left {
            let pieces_of = in_pieces(left.max(NARROW));
            // A number in front stands alone where what follows neither fits nor breaks behind it.
            let stands = width(&pieces_of[0]) > left && open.ends_with(" \\, ");
            if stands {
                pieces.push(open.trim_end_matches(" \\, ").to_owned());
                open = String::new();
            }
            if !stands {
                own = pieces_of;
            } else if width(&own[0]) > inside {
                own = in_pieces(inside);
            }
            if stands {
                own[0] = format!("\\, {}", own[0]);
            }
        }
        own[0] = format!("{open}{}", own[0]);
        open = String::new();
        if at > 0 && !dotted {
            own[0] = format!("\\, {}", own[0]);
        }
        pieces.extend(own);
    }
    for inner in product.below.iter().filter(|_| inverted) {
        let mut own = around("\\bigl(", broken(inner, inside, inside), "\\bigr)^{-1}");
        own[0] = if pieces.is_empty() { format!("{open}{}", own[0]) } else { format!("\\, {}", own[0]) };
        pieces.extend(own);
    }
    Some(pieces)
}

/// Plain words in Markdown: what would begin a formula, a piece of code, a tag, an emphasis or a link is escaped, and at the start of
/// a paragraph what would make it a heading, a quotation, a list or a table.
fn in_markdown_words(text: &str, first: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut behind = text.char_indices().peekable();
    while let Some((place, character)) = behind.next() {
        let next = behind.peek().map(|(_, next)| *next);
        let escaped = match character {
            '\\' | '`' | '*' | '_' | '$' | '<' => true,
            // `&lt;` would be a character of its own.
            '&' => next.is_some_and(|next| next.is_alphanumeric() || next == '#'),
            ']' => next.is_some_and(|next| "([:".contains(next)),
            '#' | '>' | '-' | '+' | '=' | '~' | '|' => first && place == 0,
            '.' | ')' => first && digits > 0 && place == digits,
            _ => false,
        };
        if escaped {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

pub(crate) fn in_markdown(item: &Item) -> String {
    let spans = |spans: &[Span]| {
        let start = spans.as_ptr();
        let span = |span: &Span| match span {
            Span::Words(text) => in_markdown_words(text, std::ptr::eq(span, start)),
            Span::Stated(text) => format!("`{text}`"),
            Span::Math(_) => span_in_latex(span),
            // Equations in Markdown have no numbers.
            Span::Reference(_) | Span::Number(_) => String::new(),
        };
        spans.iter().map(span).collect::<String>().replace("$ = $", " = ")
    };
    match item {
        Item::Title(title) => format!("# {title}\n"),
        Item::Heading(heading) => format!("## {heading}\n"),
        Item::Subheading(line) => format!("### {}\n", spans(line)),
        Item::Paragraph(line) => format!("{}\n", spans(line)),
        Item::List(lines) => lines.iter().map(|line| format!("- {}\n", spans(line))).collect(),
        Item::Program(lines) => format!("```cavi\n{}\n```\n", lines.join("\n")),
        Item::Rows(rows) => displayed(rows),
        Item::Algorithm(lines) => {
            let line = |line: &Line| format!("{}1. {}\n", "   ".repeat(line.depth), spans(&line.text));
            lines.iter().map(line).collect()
        }
        Item::Table(table) => table.in_markdown(&|entry| without_bars(&spans(entry))),
        Item::Picture(_) => String::new(),
    }
}

/// An entry of a table, in which a formula may break at a sign.
pub(crate) fn in_cell(entry: &[Span]) -> String {
    let span = |span: &Span| match span {
        Span::Math(Node::Call(Call::Named(name), arguments)) if name == "O" && arguments.len() == 1 => {
            format!("$O({})$", latex::node(&arguments[0]))
        }
        other => sentence(std::slice::from_ref(other)),
    };
    entry.iter().map(span).collect()
}
