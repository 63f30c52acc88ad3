//! Tables: columns that line up in text, rows between bars in Markdown, and in LaTeX columns as wide as they need.
//!
//! A cell has entries, with commas between them; a line of a cell ends between entries. In LaTeX each entry is measured as the lines of
//! formulas are. Where the widest entries of all columns have no room beside each other, the rows become a list.

use super::Columns;
use super::document::{Span, span_in_text};
use super::latex;
use super::node::{Call, Node};
use super::page::in_cell;
use super::width::width;

/// What stands in one place of a table, an entry each.
pub(crate) type Cell = Vec<Vec<Span>>;

/// Rows of cells under a head.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What the columns hold.
    pub head: Vec<&'static str>,
    /// The rows, each with as many cells as the head has.
    pub rows: Vec<Vec<Cell>>,
}

/// The longest line of text.
const TEXT_WIDTH: usize = 108;
/// Rows of LaTeX between which no page ends.
const TOGETHER: usize = 2;
/// What an entry may be wider than it was measured.
const SLACK: f64 = 1.12;

impl Table {
    /// As a terminal shows it.
    pub fn in_text(&self) -> String {
        let shown: Vec<Vec<Vec<String>>> = self
            .rows
            .iter()
            .map(|row| {
                row.iter()
                    .map(|cell| at_signs(pieces(cell, &|own| own.iter().map(span_in_text).collect())))
                    .collect()
            })
            .collect();
        let length = |text: &str| text.chars().count();
        let over = |column: usize, of: &dyn Fn(&[String]) -> usize| {
            let cells = shown.iter().map(|row| of(&row[column]));
            cells.chain([length(self.head[column])]).max().unwrap_or(0)
        };
        let whole = |cell: &[String]| length(&cell.join(" "));
        let widest = |cell: &[String]| cell.iter().map(|own| length(own)).max().unwrap_or(0);
        let columns = 0..self.head.len();
        let mut widths: Vec<usize> = columns.clone().map(|column| over(column, &whole)).collect();
        let least: Vec<usize> = columns.clone().map(|column| over(column, &widest)).collect();
        // The widest column that can be narrower gives way.
        while widths.iter().sum::<usize>() + 2 * widths.len() > TEXT_WIDTH {
            let loose = columns.clone().filter(|column| widths[*column] > least[*column]);
            let Some(column) = loose.max_by_key(|column| widths[*column]) else { break };
            widths[column] -= 1;
        }
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}  "));
            format!("  {}\n", padded.collect::<String>().trim_end())
        };
        let mut out = line(&self.head.iter().map(|own| (*own).to_owned()).collect::<Vec<String>>());
        for row in &shown {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&widths).map(|(cell, width)| on_lines(cell, *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for at in 0..height {
                let own: Vec<String> =
                    cells.iter().map(|cell| cell.get(at).cloned().unwrap_or_default()).collect();
                out.push_str(&line(&own));
            }
        }
        out
    }

    /// As a page of Markdown has it.
    pub fn in_markdown(&self, entry: &dyn Fn(&[Span]) -> String) -> String {
        let cell = |cell: &Cell| pieces(cell, entry).join(" ");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = line(self.head.iter().map(|own| (*own).to_owned()).collect());
        out.push_str(&line(self.head.iter().map(|_| "---".to_owned()).collect()));
        self.rows.iter().for_each(|row| out.push_str(&line(row.iter().map(cell).collect())));
        out
    }

    /// As LaTeX sets it.
    pub fn in_latex(&self, columns: Columns) -> String {
        // The width of a line, and the size of the letters.
        let (line, size, command) = match columns {
            Columns::One => (340.0, 0.9, "\\small"),
            Columns::Two => (224.0, 0.8, "\\footnotesize"),
        };
        let room = line - 6.0 * (self.head.len() as f64 - 1.0);
        let measured = |of: &dyn Fn(&Cell) -> f64| -> Vec<f64> {
            let over = |column: usize| {
                let cells = self.rows.iter().map(|row| of(&row[column]));
                cells.chain([worded(self.head[column])]).fold(0.0, f64::max) * size * SLACK + 2.0
            };
            (0..self.head.len()).map(over).collect()
        };
        let least = measured(&|cell| cell.iter().map(|entry| narrowest(entry)).fold(0.0, f64::max));
        let whole = measured(&|cell| cell.iter().map(|entry| wide(entry) + 8.0).sum());
        let left = room - least.iter().sum::<f64>();
        if left < 0.0 {
            return self.as_list();
        }
        let wanted: f64 = whole.iter().zip(&least).map(|(whole, least)| (whole - least).max(0.0)).sum();
        let share = if wanted > 0.0 { (left / wanted).min(1.0) } else { 0.0 };
        let shape = whole.iter().zip(&least).map(|(whole, least)| {
            let own = least + share * (whole - least).max(0.0);
            format!("p{{{:.3}\\linewidth}}", own / (line + 4.0))
        });
        let shape: String = shape.collect();
        let cell = |cell: &Cell| format!("\\raggedright {}", pieces(cell, &in_cell).join(" "));
        let row = |row: &Vec<Cell>| {
            let cells: Vec<String> = row.iter().map(cell).collect();
            format!("  {} \\tabularnewline[2pt]\n", cells.join(" & "))
        };
        let mut out = format!("\\begingroup{command}\\setlength{{\\tabcolsep}}{{3pt}}\n");
        for (number, rows) in self.rows.chunks(TOGETHER).enumerate() {
            out.push_str(&format!("\\par\\noindent\\begin{{tabular}}{{@{{}}{shape}@{{}}}}\n"));
            if number == 0 {
                out.push_str(&format!(
                    "  {} \\tabularnewline \\hline\\noalign{{\\vskip 2pt}}\n",
                    self.head.join(" & ")
                ));
            }
            out.extend(rows.iter().map(row));
            out.push_str("\\end{tabular}\n");
        }
        out.push_str("\\par\\endgroup\n");
        out
    }

    /// The rows as a list, for a column that has no room for them.
    fn as_list(&self) -> String {
        let mut out = String::from("\\begin{itemize}\\setlength{\\itemsep}{0pt}\n");
        for row in &self.rows {
            let told = row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()).map(|(at, cell)| {
                let shown = pieces(cell, &in_cell).join(" ");
                if at == 0 { shown } else { format!("{} {shown}", self.head[at].to_lowercase()) }
            });
            out.push_str(&format!("  \\item {{\\sloppy {}\\par}}\n", told.collect::<Vec<_>>().join("; ")));
        }
        out.push_str("\\end{itemize}\n");
        out
    }
}

/// The entries of a cell, all but the last with a comma.
fn pieces(cell: &Cell, entry: &dyn Fn(&[Span]) -> String) -> Vec<String> {
    let last = cell.len().saturating_sub(1);
    let comma =
        |(at, own): (usize, &Vec<Span>)| format!("{}{}", entry(own), if at < last { "," } else { "" });
    cell.iter().enumerate().map(comma).collect()
}

/// The orders of costs in pieces, before each sign.
fn at_signs(pieces: Vec<String>) -> Vec<String> {
    let split = |own: String| -> Vec<String> {
        if !own.starts_with("O(") {
            return vec![own];
        }
        let addends = own.split(" + ").enumerate();
        addends.map(|(at, part)| if at == 0 { part.to_owned() } else { format!("+ {part}") }).collect()
    };
    pieces.into_iter().flat_map(split).collect()
}

/// Entries on as few lines as fit.
fn on_lines(pieces: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + piece.chars().count() <= width => {
                line.push(' ');
                line.push_str(piece);
            }
            _ => lines.push(piece.clone()),
        }
    }
    lines
}

/// Points of words.
fn worded(text: &str) -> f64 {
    width(&format!("\\text{{{text}}}"))
}

/// Points of an entry on one line.
fn wide(entry: &[Span]) -> f64 {
    let of = |span: &Span| match span {
        Span::Words(text) | Span::Stated(text) => worded(text),
        Span::Math(node) => width(&latex::node(node)),
        Span::Reference(_) | Span::Number(_) => 18.0,
    };
    entry.iter().map(of).sum()
}

/// Points of the widest piece of an entry between whose pieces a line may end: at the signs of an order of a cost, and between words.
fn narrowest(entry: &[Span]) -> f64 {
    let of = |span: &Span| match span {
        Span::Words(text) => text.split(' ').map(worded).fold(0.0, f64::max),
        Span::Math(Node::Call(Call::Named(name), arguments)) if name == "O" && arguments.len() == 1 => {
            let addends = arguments[0].addends();
            addends.iter().map(|(_, own)| width(&latex::node(own)) + 24.0).fold(0.0, f64::max)
        }
        other => wide(std::slice::from_ref(other)),
    };
    entry.iter().map(of).fold(0.0, f64::max)
}

/// An entry for a cell of Markdown, in which a bar ends the cell.
pub(crate) fn without_bars(shown: &str) -> String {
    shown.replace("\\left|", "\\left\\vert ").replace("\\right|", "\\right\\vert ").replace('|', "\\vert ")
}
