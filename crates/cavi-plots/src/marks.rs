//! The marks that are drawn here and not by Vega: texts, and cells of colours.

use std::fmt::Write;

use cavi_report::escape;

use crate::font::Font;
use crate::theme::{INK, QUIET, SMALL, TEXT};

/// A place on a sheet, in pixels from the left and from above.
pub(crate) type Place = (f64, f64);

/// Where a text stands to its place.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A number with two decimals at most.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A text on its base line; `turned` reads upwards.
pub(crate) fn text(place: Place, anchor: Anchor, size: f64, turned: bool, colour: &str, own: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (short(place.0), short(place.1));
    let turn = if turned { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{colour}\"{turn}>{}</text>\n",
        short(size),
        escape(own)
    )
}

/// A title of a horizontal axis or of a vertical one, no longer than its axis.
pub(crate) fn axis_title(font: &Font, middle: Place, turned: bool, most: f64, own: &str) -> String {
    match own {
        "" => String::new(),
        own => text(middle, Anchor::Middle, TEXT, turned, QUIET, &font.fitted(own, TEXT, most)),
    }
}

/// A label of a cell, cut where it is too long.
pub(crate) fn label(font: &Font, place: Place, anchor: Anchor, turned: bool, most: f64, own: &str) -> String {
    text(place, anchor, SMALL, turned, INK, &font.fitted(own, SMALL, most))
}

/// Cells of colours, row by row, from a corner on. Neighbours of one colour are one path. Each reaches a little under the next, so that no
/// line shows between them, however a reader of the file rounds.
pub(crate) fn cells(corner: Place, size: (f64, f64), columns: usize, colours: &[u32]) -> String {
    let rows = colours.len() / columns.max(1);
    let mut out = format!(
        "<g transform=\"translate({} {}) scale({} {})\" shape-rendering=\"crispEdges\">\n",
        short(corner.0),
        short(corner.1),
        size.0,
        size.1
    );
    for (row, own) in colours.chunks(columns.max(1)).enumerate() {
        let below = if row + 1 < rows { "1.2" } else { "1" };
        let mut from = 0;
        while from < own.len() {
            let length = own[from..].iter().take_while(|other| **other == own[from]).count();
            let beyond = if from + length < own.len() { ".2" } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "<path fill=\"#{:06x}\" d=\"M{from} {row}h{length}{beyond}v{below}H{from}z\"/>",
                own[from]
            );
            from += length;
        }
    }
    out + "</g>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_colour_are_one_path() {
        let svg = cells((1.0, 2.0), (3.0, 4.0), 3, &[1, 1, 2, 3, 3, 3]);
        assert_eq!(svg.matches("<path").count(), 3, "{svg}");
        assert!(svg.contains("fill=\"#000001\" d=\"M0 0h2.2v1.2H0z\""), "{svg}");
        assert!(svg.contains("fill=\"#000003\" d=\"M0 1h3v1H0z\""), "{svg}");
    }

    #[test]
    fn markup_in_labels_is_text() {
        let svg = text((0.0, 0.0), Anchor::Start, 12.0, false, INK, "<script>&");
        assert!(svg.contains(">&lt;script&gt;&amp;</text>"), "{svg}");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, 0.125, -0.001, 12.5].map(short), ["1", "0.12", "0", "12.5"]);
    }
}
