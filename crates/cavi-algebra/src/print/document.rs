//! A derivation as a document: headings, sentences with formulas in them, and rows of equations.

use super::node::Node;
use super::page::{in_latex, in_markdown};
use super::table::{Cell, Table};
use super::text;
use super::{Columns, Format};

/// The longest line of text.
const TEXT_WIDTH: usize = 110;

/// A piece of a document.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Title(String),
    Heading(&'static str),
    Subheading(Vec<Span>),
    Paragraph(Vec<Span>),
    List(Vec<Vec<Span>>),
    Program(Vec<String>),
    Rows(Vec<Row>),
    Algorithm(Vec<Line>),
    Table(Table),
    /// A drawing in LaTeX, for a document that can draw it.
    Picture(String),
}

/// A line of an algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// How many loops it stands in.
    pub depth: usize,
    /// What is done.
    pub text: Vec<Span>,
}

/// A piece of a sentence.
#[derive(Clone, Debug)]
pub(crate) enum Span {
    Words(String),
    Math(Node),
    /// What stands in the program, in its own words.
    Stated(String),
    /// The number of an equation behind `by`, where equations have numbers.
    Reference(String),
    /// The number of an equation, where equations have numbers.
    Number(String),
}

/// An equation; its right side may come in parts, each with a remark.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub left: Node,
    pub relation: Sign,
    pub parts: Vec<Part>,
    /// What it is referred to by in LaTeX.
    pub label: Option<String>,
}

/// A part of a right side.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub node: Node,
    pub note: Option<(String, Vec<Node>)>,
}

/// What stands between left and right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Equal,
    Proportional,
    AtLeast,
    /// `<=`
    AtMost,
    Distributed,
}

impl Sign {
    /// As a terminal shows it.
    fn in_text(self) -> &'static str {
        match self {
            Sign::Equal => "=",
            Sign::Proportional => "∝",
            Sign::AtLeast => ">=",
            Sign::AtMost => "<=",
            Sign::Distributed => "~",
        }
    }

    /// As LaTeX writes it.
    pub fn in_latex(self) -> &'static str {
        match self {
            Sign::Equal => "=",
            Sign::Proportional => "\\propto",
            Sign::AtLeast => "\\geq",
            Sign::AtMost => "\\leq",
            Sign::Distributed => "\\sim",
        }
    }
}

/// A piece of a derivation, in the order in which it is printed; formulas as text on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Printed {
    /// A heading.
    Heading(String),
    /// What the following pieces are about, such as a factor of q.
    Subheading(String),
    /// A sentence.
    Sentence(String),
    /// An equation or an inequality.
    Relation {
        /// Its left side.
        left: String,
        /// What stands between: `=`, `∝`, `>=`, `<=` or `~`.
        sign: &'static str,
        /// Its right side.
        right: String,
        /// The remark beside it.
        note: Option<String>,
    },
    /// A table: of each row the cells, of each cell the entries.
    Table(Vec<Vec<Vec<String>>>),
}

/// The pieces of a document, those of programs and algorithms left out.
pub(crate) fn pieces(items: &[Item]) -> Vec<Printed> {
    let sentence = |line: &[Span]| line.iter().map(span_in_text).collect::<String>();
    let mut out = Vec::new();
    for item in items {
        match item {
            Item::Title(_) | Item::Program(_) | Item::Algorithm(_) | Item::Picture(_) => {}
            Item::Table(table) => {
                let cell = |cell: &Cell| cell.iter().map(|entry| sentence(entry)).collect();
                let row = |row: &Vec<Cell>| row.iter().map(cell).collect();
                out.push(Printed::Table(table.rows.iter().map(row).collect()));
            }
            Item::Heading(heading) => out.push(Printed::Heading((*heading).to_owned())),
            Item::Subheading(line) => out.push(Printed::Subheading(sentence(line))),
            Item::Paragraph(line) => out.push(Printed::Sentence(sentence(line))),
            Item::List(lines) => out.extend(lines.iter().map(|line| Printed::Sentence(sentence(line)))),
            Item::Rows(rows) => out.extend(rows.iter().map(|row| Printed::Relation {
                left: text::node(&row.left),
                sign: row.relation.in_text(),
                right: text::node(&Node::add(row.parts.iter().map(|part| part.node.clone()).collect())),
                note: row.parts.iter().find_map(|part| Some(part.note.as_ref()?.0.clone())),
            })),
        }
    }
    out
}

/// Words of a sentence.
pub(crate) fn words(text: impl Into<String>) -> Span {
    Span::Words(text.into())
}

impl Row {
    /// `left = right`
    pub fn equal(left: Node, right: Node) -> Row {
        Row { left, relation: Sign::Equal, parts: vec![Part { node: right, note: None }], label: None }
    }

    /// The row with a label.
    pub fn labelled(self, label: String) -> Row {
        Row { label: Some(label), ..self }
    }

    /// `left` proportional to `right`
    pub fn proportional(left: Node, right: Node) -> Row {
        Row { relation: Sign::Proportional, ..Row::equal(left, right) }
    }
}

/// The document in a format.
pub(crate) fn render(items: &[Item], format: Format, columns: Columns) -> String {
    let blocks: Vec<String> = items
        .iter()
        .map(|item| match format {
            Format::Text => in_text(item),
            Format::Latex => in_latex(item, columns),
            Format::Markdown => in_markdown(item),
        })
        .collect();
    let mut out = match format {
        Format::Latex => {
            "% needs \\usepackage{amsmath,mathtools}\n\\begingroup\\allowdisplaybreaks\\emergencystretch=3em\n\
             \\clubpenalty=10000\\widowpenalty=10000\\displaywidowpenalty=10000\n"
                .to_owned()
        }
        Format::Text | Format::Markdown => String::new(),
    };
    for (position, (item, block)) in items.iter().zip(&blocks).enumerate() {
        let heads = matches!(item, Item::Title(_) | Item::Heading(_) | Item::Subheading(_));
        let under_heading = matches!(items.get(position.wrapping_sub(1)), Some(Item::Heading(_)));
        // What leads to a display stays on its page.
        let leads = format == Format::Latex
            && matches!(item, Item::Rows(_))
            && matches!(items.get(position.wrapping_sub(1)), Some(Item::Paragraph(_)));
        // A sentence that a display interrupts goes on behind it.
        let goes_on = format == Format::Latex
            && matches!(items.get(position.wrapping_sub(1)), Some(Item::Rows(_)))
            && matches!(item, Item::Paragraph(line) if begins_small(line));
        // Displays one after another have no paragraph between them. What a factor is about opens the paragraph about it.
        let before = |back: usize| position.checked_sub(back).and_then(|place| items.get(place));
        let follows = format == Format::Latex
            && match item {
                Item::Rows(_) => matches!(before(1), Some(Item::Rows(_))),
                Item::Paragraph(_) => {
                    matches!((before(2), before(1)), (Some(Item::Subheading(_)), Some(Item::Paragraph(_))))
                }
                _ => false,
            };
        if position > 0
            && !leads
            && !goes_on
            && !follows
            && (format != Format::Text || heads && !under_heading)
        {
            out.push('\n');
        }
        out.push_str(block);
    }
    if format == Format::Latex {
        out.push_str("\n\\endgroup\n");
    }
    out
}

/// Whether a sentence begins with a small letter.
fn begins_small(line: &[Span]) -> bool {
    matches!(line.first(), Some(Span::Words(text)) if text.starts_with(char::is_lowercase))
}

fn in_text(item: &Item) -> String {
    let spans = |spans: &[Span]| spans.iter().map(span_in_text).collect::<String>();
    match item {
        Item::Title(title) => format!("{title}\n{}\n", "=".repeat(title.chars().count())),
        Item::Heading(heading) => format!("{heading}\n{}\n", "-".repeat(heading.chars().count())),
        Item::Subheading(line) => format!("{}\n", spans(line)),
        Item::Paragraph(line) => filled(&spans(line), 2),
        Item::List(lines) => lines.iter().map(|line| filled(&spans(line), 2)).collect(),
        Item::Program(lines) => lines
            .iter()
            .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") })
            .collect(),
        Item::Rows(rows) => rows.iter().map(row_in_text).collect(),
        Item::Table(table) => table.in_text(),
        Item::Picture(_) => String::new(),
        Item::Algorithm(lines) => {
            lines.iter().map(|line| filled(&spans(&line.text), 2 + 2 * line.depth)).collect()
        }
    }
}

pub(crate) fn span_in_text(span: &Span) -> String {
    match span {
        Span::Words(text) | Span::Stated(text) => text.clone(),
        Span::Math(node) => text::node(node),
        Span::Reference(_) | Span::Number(_) => String::new(),
    }
}

/// A sentence over several lines.
fn filled(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut line = " ".repeat(indent);
    for word in text.split(' ') {
        if line.chars().count() + word.chars().count() + 1 > TEXT_WIDTH && !line.trim().is_empty() {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent + 2);
        }
        line.push_str(word);
        line.push(' ');
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

/// The addends of a part on as few lines as fit; each line after the first starts with a sign.
fn lines(node: &Node, first: bool, width: usize, show: &dyn Fn(&Node) -> (String, usize)) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let addends = node.addends();
    if addends.is_empty() {
        return if first { vec!["0".to_owned()] } else { Vec::new() };
    }
    for (position, (negative, addend)) in addends.iter().enumerate() {
        let (shown, size) = show(addend);
        let starts = first && position == 0;
        match lines.last_mut() {
            Some((line, length)) if *length + size + 3 <= width => {
                line.push_str(if *negative { " - " } else { " + " });
                line.push_str(&shown);
                *length += size + 3;
            }
            Some(_) | None => {
                let sign = match (starts, negative) {
                    (true, false) => "",
                    (true, true) => "-",
                    (false, false) => "+ ",
                    (false, true) => "- ",
                };
                lines.push((format!("{sign}{shown}"), size + sign.len()));
            }
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// Breaks a line that is much too long before operators, inside as few brackets as possible.
fn broken(line: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "    ";
    /// A few characters too many read better than a break inside brackets.
    const EXCESS: usize = 25;
    let mut out = Vec::new();
    let mut rest: Vec<char> = line.chars().collect();
    while rest.len() > width + EXCESS {
        // Where an operator stands between blanks, and how many brackets are open there.
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut depth = 0usize;
        for (place, c) in rest.iter().enumerate() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                ' ' if rest.get(place + 2) == Some(&' ')
                    && matches!(rest.get(place + 1), Some('+' | '-' | '*' | '/'))
                    && place > INDENT.len() =>
                {
                    places.push((place, depth));
                }
                _ => {}
            }
        }
        // In the second half, so that no line is a stub.
        let fitting = places.iter().filter(|(place, _)| width / 2 <= *place && *place <= width);
        let best = fitting.min_by_key(|(place, depth)| (*depth, usize::MAX - place));
        let Some((place, _)) = best.or_else(|| places.iter().find(|(place, _)| *place > width)) else {
            break;
        };
        let tail = rest.split_off(*place);
        out.push(rest.into_iter().collect());
        rest = INDENT.chars().chain(tail.into_iter().skip(1)).collect();
    }
    out.push(rest.into_iter().collect());
    out
}

fn row_in_text(row: &Row) -> String {
    let left = text::node(&row.left);
    let sign = row.relation.in_text();
    let head = format!("    {left} {sign} ");
    // Later lines put their sign below the relation.
    let hang = if head.chars().count() <= 50 { head.chars().count() - sign.len().min(2) - 1 } else { 8 };
    let hang = hang.max(8);
    let room = TEXT_WIDTH - head.chars().count().min(50);
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    for part in &row.parts {
        let show = |node: &Node| {
            let shown = text::node(node);
            let size = shown.chars().count();
            (shown, size)
        };
        let note = part.note.as_ref().map(|(words, names)| {
            let names = text::list(names, ", ");
            if names.is_empty() { format!("({words})") } else { format!("({words} {names})") }
        });
        let shown = lines(&part.node, all.is_empty(), room, &show);
        let mut shown: Vec<String> = shown.iter().flat_map(|line| broken(line, room)).collect();
        let last = shown.pop();
        all.extend(shown.into_iter().map(|line| (line, None)));
        all.extend(last.map(|line| (line, note)));
    }
    let mut finished: Vec<(String, Option<String>)> = Vec::new();
    for (position, (line, note)) in all.into_iter().enumerate() {
        let lead = if position == 0 { head.clone() } else { " ".repeat(hang) };
        finished.push((format!("{lead}{line}"), note));
    }
    // Remarks stand in a column, as far as lines leave room for one.
    let lengths = finished.iter().filter(|(_, note)| note.is_some()).map(|(line, _)| line.chars().count());
    let edge = lengths.filter(|length| *length <= TEXT_WIDTH - 20).max().unwrap_or(0);
    let mut out = String::new();
    for (line, note) in finished {
        out.push_str(&line);
        if let Some(note) = note {
            out.push_str(&" ".repeat(edge.saturating_sub(line.chars().count()) + 4));
            out.push_str(&note);
        }
        out.push('\n');
    }
    out
}
