//! What is a chart on paper?
//!
//! In come the figures of a page, out go files for papers: SVG, PNG and PDF of a width in millimetres, with text of 7 and 8 points. Charts are
//! drawn by the program of the page, run in an interpreter; what the page draws on a canvas is drawn as cells. The font lies in this crate, so
//! that the same fit has the same files everywhere. This crate knows no fit and no program, prints nothing, and writes no file.

mod engine;
mod files;
mod font;
mod grids;
mod marks;
mod names;
mod sheet;
mod theme;

use std::fmt;

use cavi_report::Figure;
use serde_json::Value;

use engine::Engine;
use font::Font;
use theme::PIXELS_PER_MM;

/// A column of a journal, in millimetres.
pub const ONE_COLUMN: f64 = 85.0;
/// Two columns of a journal with the room between them, in millimetres.
pub const TWO_COLUMNS: f64 = 174.0;
/// A plot can be so wide, in millimetres.
pub const WIDTHS: std::ops::RangeInclusive<f64> = 50.0..=500.0;

/// What a plot is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Lines and text, for web pages and drawing programs.
    Svg,
    /// Pixels, 300 in an inch.
    Png,
    /// Lines and text with the font in it.
    Pdf,
}

impl Kind {
    /// What the name of a file ends with.
    pub fn suffix(self) -> &'static str {
        match self {
            Kind::Svg => "svg",
            Kind::Png => "png",
            Kind::Pdf => "pdf",
        }
    }
}

/// A file to be written.
#[derive(Debug)]
pub struct Plot {
    /// `beta-bars.svg`: no two of a list have the same, whatever the case of their letters.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// A drawing that failed: a bug of ours, or of what draws.
#[derive(Debug)]
pub struct PlotError(String);

impl PlotError {
    fn new(message: String) -> PlotError {
        PlotError(message)
    }
}

impl fmt::Display for PlotError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for PlotError {}

/// Draws figures, each as files of these kinds that are `width` millimetres wide. A figure that does not fit on a page has several.
///
/// # Errors
/// A figure that cannot be drawn.
///
/// # Panics
/// With a width outside of [`WIDTHS`].
pub fn plots(figures: Vec<Figure>, kinds: &[Kind], width: f64) -> Result<Vec<Plot>, PlotError> {
    assert!(WIDTHS.contains(&width), "a plot of {width} mm");
    let font = Font::embedded();
    let engine = Engine::load(font)?;
    let mut taken = names::Names::default();
    let mut plots = Vec::new();
    for mut figure in figures {
        clean(&mut figure);
        let sheets = sheet::sheets(&engine, font, &figure, width * PIXELS_PER_MM)?;
        let base = taken.of(&figure.name);
        for (number, sheet) in sheets.iter().enumerate() {
            let base = if sheets.len() > 1 { format!("{base}-{}", number + 1) } else { base.clone() };
            let svg = files::svg(&figure, sheet, width);
            for kind in kinds {
                let name = format!("{base}.{}", kind.suffix());
                plots.push(Plot { name, bytes: files::bytes(svg.clone(), *kind, width)? });
            }
        }
    }
    Ok(plots)
}

/// Replaces the characters that no file of XML may hold, in all that is drawn of a figure.
fn clean(figure: &mut Figure) {
    let texts = [&mut figure.title, &mut figure.note, &mut figure.axes.across, &mut figure.axes.upward];
    texts.into_iter().for_each(clean_text);
    clean_value(&mut figure.drawing);
}

fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => clean_text(text),
        Value::Array(all) => all.iter_mut().for_each(clean_value),
        Value::Object(all) => all.values_mut().for_each(clean_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Characters of XML 1.0, section 2.2, stay. Ends of lines become blanks, since labels are lines.
fn clean_text(text: &mut String) {
    let is_strange = |own: char| own.is_control() || matches!(own, '\u{fffe}' | '\u{ffff}');
    if text.chars().any(is_strange) {
        let kept = |own: char| match own {
            '\n' | '\r' | '\t' => ' ',
            own if is_strange(own) => '\u{fffd}',
            own => own,
        };
        *text = text.chars().map(kept).collect();
    }
}

#[cfg(test)]
mod tests;
