//! The derivation of a program as HTML, from the Markdown that `cavi derive` prints.

use cavi::{Compiled, Format, Level};

use crate::html::escape;
use crate::mathml::{between_marks, display, plain, text_with_formulas};

/// The derivation of a program as HTML: headings, sentences, lists, and formulas in MathML.
pub fn derivation_html(compiled: &Compiled) -> String {
    html(&compiled.derivation_at(Level::Full, Format::Markdown))
}

/// The parts of Markdown that derivations are written in.
fn html(markdown: &str) -> String {
    let mut out = String::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        if line == "$$" {
            let formula: Vec<&str> = lines.by_ref().take_while(|own| own.trim_end() != "$$").collect();
            out.push_str(&wide(&display(&formula.join("\n"))));
        } else if line.starts_with("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|own| !own.starts_with("```")).collect();
            out.push_str(&format!("<pre tabindex=\"0\">{}</pre>\n", escape(&block.join("\n"))));
        } else if let Some(heading) = line.strip_prefix("### ") {
            out.push_str(&format!("<h4>{}</h4>\n", sentence(heading)));
        } else if let Some(heading) = line.strip_prefix("## ") {
            out.push_str(&format!("<h3>{}</h3>\n", sentence(heading)));
        } else if line.starts_with("# ") || line.is_empty() {
            // The page has its own title.
        } else if let Some(first) = line.strip_prefix("- ") {
            let mut items = vec![sentence(first)];
            while let Some(next) = lines.next_if(|own| own.starts_with("- ")) {
                items.push(sentence(next.trim_start_matches("- ")));
            }
            let items: String = items.iter().map(|own| format!("<li>{own}</li>")).collect();
            out.push_str(&format!("<ul>{items}</ul>\n"));
        } else if line.starts_with("| ") {
            let rows = std::iter::once(line)
                .chain(std::iter::from_fn(|| lines.next_if(|own| own.starts_with("| "))));
            out.push_str(&wide(&table(&rows.collect::<Vec<&str>>())));
        } else {
            let mut text = line.to_owned();
            let plain = |own: &&str| {
                !own.is_empty() && !["$$", "#", "- ", "| ", "```"].iter().any(|mark| own.starts_with(mark))
            };
            while let Some(next) = lines.next_if(plain) {
                text = format!("{text} {next}");
            }
            out.push_str(&format!("<p>{}</p>\n", sentence(&text)));
        }
    }
    out
}

/// A table: its head, a line below it, and its rows. A bar inside a cell is written as a command.
fn table(rows: &[&str]) -> String {
    let cells = |row: &str, tag: &str| -> String {
        let inside = row.trim().trim_matches('|');
        let cells = inside
            .split(" | ")
            .map(|own| format!("<{tag}>{}</{tag}>", sentence(&own.trim().replace("\\vert ", "|"))));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let body: String = rows.iter().skip(2).map(|row| cells(row, "td")).collect();
    let head = rows.first().map_or_else(String::new, |row| cells(row, "th"));
    format!("<table>\n<thead>{head}</thead>\n<tbody>{body}</tbody></table>\n")
}

/// What may be wider than the page scrolls by itself.
fn wide(formula: &str) -> String {
    format!("<div class=\"formula\" tabindex=\"0\" role=\"region\" aria-label=\"Formula\">{formula}</div>\n")
}

/// A line of text: what stands between backticks is code.
fn sentence(text: &str) -> String {
    let parts = between_marks(text, '`').into_iter().enumerate().map(|(place, part)| match place % 2 {
        0 => text_with_formulas(part),
        _ => format!("<code>{}</code>", escape(&plain(part))),
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn headings_lists_and_formulas_are_told_apart() {
        let shown = html("# Title\n\n## One\n\nText with $x$\nand `y`.\n\n- a\n- b\n\n$$\nx = 1\n$$\n");
        assert!(shown.contains("<h3>One</h3>"), "{shown}");
        assert!(shown.contains("<ul><li>a</li><li>b</li></ul>"), "{shown}");
        assert!(shown.contains("and <code>y</code>."), "{shown}");
        assert_eq!(shown.matches("<math").count(), 2, "{shown}");
        assert!(!shown.contains('$') && !shown.contains("Title"), "{shown}");
    }

    #[test]
    fn what_is_escaped_is_text() {
        let shown = html("\\# \\`per\\` unit from \\$5 to \\$6, \\<b> and `y`\n");
        assert_eq!(shown, "<p># `per` unit from $5 to $6, &lt;b&gt; and <code>y</code></p>\n");
    }
}
