//! A figure: what is drawn, what it is called on paper, and the table behind it.

use serde_json::{Value, json};

use crate::html::{count, escape, identifier};

/// A table shows so many rows.
const MOST_ROWS: usize = 400;

/// A chart with its table.
#[derive(Debug)]
pub struct Figure {
    /// What the chart is of and of which kind, `beta-bars`: the name of its file. Two figures may have the same.
    pub name: String,
    /// A heading, without markup.
    pub title: String,
    /// What is shown and how to read it: sentences.
    pub note: String,
    /// What `page.js` draws.
    pub drawing: Value,
    /// The titles of the axes where the chart stands without its note; empty where its labels say it.
    pub axes: Axes,
    /// The numbers.
    pub table: Table,
}

/// The titles of the axes of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// Of the horizontal one.
    pub across: String,
    /// Of the vertical one.
    pub upward: String,
}

impl Axes {
    /// Both titles.
    pub(crate) fn new(across: impl Into<String>, upward: impl Into<String>) -> Axes {
        Axes { across: across.into(), upward: upward.into() }
    }
}

/// Rows of text and numbers.
#[derive(Debug, Default)]
pub struct Table {
    /// The names of the columns.
    pub head: Vec<String>,
    /// So many columns hold text; those behind them hold numbers.
    pub labels: usize,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// Rows that are not there, because there are too many.
    pub more: usize,
}

impl Table {
    /// A table of these columns; rows behind the first few hundred are counted only.
    pub(crate) fn new<R: IntoIterator<Item = Vec<String>>>(head: &[&str], labels: usize, rows: R) -> Table {
        let mut table =
            Table { head: head.iter().map(|own| (*own).to_owned()).collect(), labels, ..Table::default() };
        for row in rows {
            match table.rows.len() < MOST_ROWS {
                true => table.rows.push(row),
                false => table.more += 1,
            }
        }
        table
    }

    /// As HTML, in a box that scrolls.
    pub(crate) fn html(&self, caption: &str) -> String {
        let cell = |(place, text): (usize, &String)| match place < self.labels {
            true if place == 0 => format!("<th scope=\"row\">{}</th>", escape(text)),
            true => format!("<td>{}</td>", escape(text)),
            false => format!("<td class=\"number\">{}</td>", escape(text)),
        };
        let head = self.head.iter().enumerate().map(|(place, own)| match place < self.labels {
            true => format!("<th scope=\"col\">{}</th>", escape(own)),
            false => format!("<th scope=\"col\" class=\"number\">{}</th>", escape(own)),
        });
        let rows = self
            .rows
            .iter()
            .map(|row| format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<String>()));
        let more = match self.more {
            0 => String::new(),
            more => format!(
                "<p class=\"more\">{} more rows are not on this page; <code>cavi export</code> writes all numbers of a fit.</p>",
                count(more)
            ),
        };
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table><caption>{caption}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>{more}",
            head.collect::<String>(),
            rows.collect::<String>(),
            caption = escape(caption),
        )
    }
}

impl Figure {
    /// As HTML, to be drawn by the drawing of this number. Without scripts the table is open.
    pub(crate) fn html(&self, number: usize) -> String {
        let title = escape(&self.title);
        format!(
            "<figure id=\"figure-{number}\" data-name=\"{file}\">\n<figcaption><h3>{title}</h3><p>{note}</p></figcaption>\n\
             <div class=\"chart\" data-chart=\"{number}\"></div>\n\
             <details class=\"data\" open><summary>Table: {title}</summary>\n{table}</details>\n</figure>\n",
            file = identifier(&self.title),
            note = escape(&self.note),
            table = self.table.html(&self.title),
        )
    }
}

/// A number with six digits that matter, as JSON; null where it is none.
pub(crate) fn short(value: f64) -> Value {
    written(value, 6)
}

/// The same with nine digits, where what is drawn is far from 0 and differs in the last ones of a few: bounds, scores, curves on an axis without a 0.
pub(crate) fn exact(value: f64) -> Value {
    written(value, 9)
}

/// A number with so many digits that matter, as JSON; null where it is none.
pub(crate) fn written(value: f64, digits: usize) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse::<f64>().map_or(Value::Null, |own| json!(own))
}

/// How many digits tell numbers on one axis apart by a thousandth of what they span: `log10(largest / span) + 4`, at most 15. It is small
/// where they lie about 0, and large where they are all nearly one number far from it.
pub(crate) fn digits_apart(values: impl Iterator<Item = f64>) -> usize {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|own| own.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    let (largest, span) = (low.abs().max(high.abs()), high - low);
    match span > 0.0 && largest.is_finite() {
        true => ((largest / span).log10().ceil().max(0.0) as usize + 4).min(15),
        false => 4,
    }
}

/// A number with so many digits that matter, as text; one that has them before the point is written without an exponent.
pub(crate) fn text(value: f64, digits: usize) -> String {
    let size = value.abs();
    let before_the_point = size.log10().floor() + 1.0;
    if size < 1e6 || !size.is_finite() || before_the_point > digits as f64 {
        return cavi::summary::digits(value, digits);
    }
    let text = format!("{value:.*}", digits - before_the_point as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_text_in_tables() {
        let rows = [vec!["<script>alert(1)</script>".to_owned(), "1".to_owned()]];
        let html = Table::new(&["\"word\"", "p"], 1, rows).html("<i>");
        assert!(!html.contains("<script") && !html.contains("<i>"), "{html}");
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    }

    #[test]
    fn rows_that_are_left_out_are_counted() {
        let table = Table::new(&["n"], 1, (0..1000).map(|own| vec![own.to_string()]));
        assert_eq!((table.rows.len(), table.more), (400, 600));
        assert!(table.html("t").contains("600 more rows"));
    }

    #[test]
    fn numbers_far_from_zero_keep_what_tells_them_apart() {
        assert_eq!(digits_apart([-1.0, 2.0].into_iter()), 4);
        // 1234567 and 1234571: a thousandth of 4 is the ninth digit and more.
        assert_eq!(digits_apart([1_234_567.0, 1_234_571.0, f64::NAN].into_iter()), 10);
        assert_eq!([digits_apart([5.0].into_iter()), digits_apart(std::iter::empty())], [4, 4]);
        assert_eq!(written(1_234_568.25, 10), json!(1_234_568.25));
        assert_eq!(
            [text(1_234_568.25, 10), text(1_234_568.0, 10), text(0.5, 4)],
            ["1234568.25", "1234568", "0.5"]
        );
        assert_eq!(text(1_234_568.0, 4), "1.235e6");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [short(1.0 / 3.0), short(f64::NAN), short(12345678.0)],
            [json!(0.333333), Value::Null, json!(12345700.0)]
        );
    }
}
