//! Heat maps and pictures: what has too many cells for a mark each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cavi_report::Axes;
use serde_json::Value;

use crate::PlotError;
use crate::font::Font;
use crate::marks::{Anchor, axis_title, cells, label, short, text};
use crate::sheet::Sheet;
use crate::theme::{DIVERGING, INK, LINE, SEQUENTIAL, SMALL, TEXT, between};

/// A scale has so many colours: more are not told apart, and fewer paths are drawn.
const SHADES: f64 = 96.0;
/// A column is at least as wide, in pixels: of narrower ones the largest in size is drawn for its neighbours.
const NARROWEST: f64 = 1.2;
/// Labels of rows and columns are at least so far apart.
const APART: f64 = SMALL + 1.0;
/// The colour of a cell without a value.
const NONE: u32 = 0x808080;
/// The room that labels take at most.
const MOST_OF_LABELS: f64 = 110.0;

/// What a drawing says under a key.
fn missing(key: &str) -> PlotError {
    PlotError::new(format!("the drawing of a chart has no `{key}`"))
}

fn number(drawing: &Value, key: &str) -> Result<f64, PlotError> {
    drawing[key].as_f64().ok_or_else(|| missing(key))
}

fn names(drawing: &Value, key: &str) -> Result<Vec<String>, PlotError> {
    let all = drawing[key].as_array().ok_or_else(|| missing(key))?;
    Ok(all.iter().map(|own| own.as_str().unwrap_or_default().to_owned()).collect())
}

fn bytes(drawing: &Value, key: &str) -> Result<Vec<u8>, PlotError> {
    let text = drawing[key].as_str().ok_or_else(|| missing(key))?;
    STANDARD.decode(text).map_err(|_| missing(key))
}

/// The colour of a value: bands from light to dark, or from one colour over the ground to another.
struct Scale {
    stops: &'static [u32; 9],
    least: f64,
    most: f64,
}

impl Scale {
    fn new(low: f64, full: f64) -> Scale {
        match low < 0.0 {
            true => Scale { stops: &DIVERGING, least: -full, most: full },
            false => Scale { stops: &SEQUENTIAL, least: 0.0, most: full },
        }
    }

    fn colour(&self, value: f64) -> u32 {
        if value.is_nan() {
            return NONE;
        }
        let share =
            if self.most > self.least { (value - self.least) / (self.most - self.least) } else { 0.0 };
        between(self.stops, (share * SHADES).round() / SHADES)
    }

    /// What stands at the ends of the key of values in this range: an end that some values are beyond says so.
    fn ends(&self, low: f64, high: f64) -> [String; 2] {
        [
            rounded(self.least) + if low < self.least { " and less" } else { "" },
            rounded(self.most) + if high > self.most { " and more" } else { "" },
        ]
    }

    /// The key: a strip of the colours between the values at its ends, its right end here.
    fn key(&self, font: &Font, right: f64, top: f64, [start, end]: &[String; 2]) -> String {
        const LENGTH: f64 = 90.0;
        const HEIGHT: f64 = 8.0;
        let stops: String = self
            .stops
            .iter()
            .enumerate()
            .map(|(place, own)| {
                format!("<stop offset=\"{}\" stop-color=\"#{own:06x}\"/>", place as f64 / 8.0)
            })
            .collect();
        let last = right - font.width(end, SMALL) - 4.0;
        let base = top + HEIGHT;
        format!(
            "<defs><linearGradient id=\"key\">{stops}</linearGradient></defs>\n{}<rect x=\"{}\" y=\"{}\" width=\"{LENGTH}\" height=\"{HEIGHT}\" fill=\"url(#key)\" stroke=\"{LINE}\" stroke-width=\"0.5\"/>\n{}",
            text((last - LENGTH - 4.0, base), Anchor::End, SMALL, false, INK, start),
            short(last - LENGTH),
            short(top),
            text((right, base), Anchor::End, SMALL, false, INK, end),
        )
    }
}

/// A number with three digits that matter, and with the minus sign of the axes.
fn rounded(value: f64) -> String {
    digits(value).replace('-', "−")
}

fn digits(value: f64) -> String {
    let text = format!("{value:.2e}");
    let value: f64 = text.parse().unwrap_or(value);
    if value != 0.0 && (value.abs() < 1e-4 || value.abs() >= 1e6) {
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    value.to_string()
}

/// A matrix in colours.
pub(crate) fn heat(font: &Font, drawing: &Value, axes: &Axes, width: f64) -> Result<Sheet, PlotError> {
    let (rows, columns) = (names(drawing, "rows")?, names(drawing, "columns")?);
    let (low, high, full) = (number(drawing, "low")?, number(drawing, "high")?, number(drawing, "full")?);
    let unit = number(drawing, "unit")?;
    let value = |own: &[u8]| unit * f64::from(f32::from_le_bytes([own[0], own[1], own[2], own[3]]));
    let values: Vec<f64> = bytes(drawing, "values")?.chunks_exact(4).map(value).collect();
    if values.len() != rows.len() * columns.len() || values.is_empty() {
        return Err(missing("values"));
    }
    let scale = Scale::new(low, full);
    let longest = |all: &[String]| all.iter().map(|own| font.width(own, SMALL)).fold(0.0, f64::max);

    // Rows.
    let room = 360.0 / rows.len() as f64;
    let height = if rows.len() > 60 { room.max(4.5) } else { room.clamp(APART, 20.0) };
    let titled = if axes.upward.is_empty() { 0.0 } else { TEXT + 6.0 };
    let named =
        if height >= APART { (longest(&rows) + 4.0).min(MOST_OF_LABELS).min(width / 3.0) } else { 0.0 };
    let left = titled + named + 1.0;
    let area = width - left - 1.0;

    // Columns.
    let shown = columns.len().min((area / NARROWEST) as usize).max(1);
    let wide = (area / shown as f64).min(40.0);
    let area = wide * shown as f64;
    let has_names = shown == columns.len() && wide >= APART;
    let turned = longest(&columns) > wide - 4.0;
    let below = match (has_names, turned) {
        (false, _) => 4.0,
        (true, true) => (longest(&columns) + 6.0).min(MOST_OF_LABELS),
        (true, false) => SMALL + 6.0,
    };
    let top = 16.0;
    let bottom = top + height * rows.len() as f64;

    let mut colours = Vec::with_capacity(rows.len() * shown);
    for row in values.chunks(columns.len()) {
        for column in 0..shown {
            // Of several columns in one the largest in size is shown.
            let from = column * columns.len() / shown;
            let to = ((column + 1) * columns.len() / shown).max(from + 1);
            let all = row[from..to].iter().copied().filter(|own| !own.is_nan());
            let best = all.reduce(|best, own| if own.abs() > best.abs() { own } else { best });
            colours.push(scale.colour(best.unwrap_or(f64::NAN)));
        }
    }
    let ends = scale.ends(low, high);
    let least = ends.iter().map(|own| font.width(own, SMALL)).sum::<f64>() + 100.0;
    let mut svg = scale.key(font, left + area.max(180.0).max(least).min(width - left - 1.0), 2.0, &ends);
    svg += &cells((left, top), (wide, height), shown, &colours);
    svg += &format!(
        "<rect x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{LINE}\" stroke-width=\"0.75\"/>\n",
        short(left),
        short(area),
        short(bottom - top)
    );
    if named > 0.0 {
        for (place, own) in rows.iter().enumerate() {
            let base = top + (place as f64 + 0.5) * height + 0.35 * SMALL;
            svg += &label(font, (left - 4.0, base), Anchor::End, false, named - 3.0, own);
        }
    }
    if has_names {
        for (place, own) in columns.iter().enumerate() {
            let middle = left + (place as f64 + 0.5) * wide;
            svg += &match turned {
                true => {
                    label(font, (middle + 0.35 * SMALL, bottom + 4.0), Anchor::End, true, below - 6.0, own)
                }
                false => label(font, (middle, bottom + SMALL + 2.0), Anchor::Middle, false, wide, own),
            };
        }
    }
    svg += &axis_title(font, (TEXT, (top + bottom) / 2.0), true, bottom - top, &axes.upward);
    let mut total = bottom + below;
    if !axes.across.is_empty() {
        svg += &axis_title(font, (left + area / 2.0, total + TEXT), false, width - left, &axes.across);
        total += TEXT + 6.0;
    }
    Ok(Sheet { height: total, inside: svg })
}

/// Pictures beside each other, each in shades of grey under its name; the rows of pictures.
pub(crate) fn pictures(font: &Font, drawing: &Value, width: f64) -> Result<Vec<Sheet>, PlotError> {
    const GAP: f64 = 8.0;
    const TARGET: f64 = 82.0;
    let (tall, wide) = (number(drawing, "height")?, number(drawing, "width")?);
    let items = drawing["items"].as_array().ok_or_else(|| missing("items"))?;
    let columns = ((width + GAP) / (TARGET + GAP)).floor().max(1.0);
    let each = (width - GAP * (columns - 1.0)) / columns;
    let pixel = each / wide;
    let mut rows = Vec::new();
    for row in items.chunks(columns as usize) {
        let mut inside = String::new();
        for (place, item) in row.iter().enumerate() {
            let left = place as f64 * (each + GAP);
            let name = item["name"].as_str().unwrap_or_default();
            let colours: Vec<u32> =
                bytes(item, "pixels")?.iter().map(|own| u32::from(*own) * 0x01_01_01).collect();
            inside += &label(font, (left, SMALL), Anchor::Start, false, each, name);
            inside += &cells((left, SMALL + 4.0), (pixel, pixel), wide as usize, &colours);
        }
        rows.push(Sheet { height: SMALL + 4.0 + pixel * tall, inside });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_key_are_short() {
        assert_eq!(
            [0.0, 0.12345, -12.0, 1234.5, 0.000012345].map(rounded),
            ["0", "0.123", "−12", "1230", "1.23e−5"]
        );
    }

    #[test]
    fn each_end_of_a_key_says_what_is_beyond_it() {
        let of = |low: f64, high: f64, full: f64| Scale::new(low, full).ends(low, high);
        assert_eq!(of(-50.0, 1.0, 1.0), ["−1 and less", "1"]);
        assert_eq!(of(-1.0, 50.0, 1.0), ["−1", "1 and more"]);
        assert_eq!(of(-50.0, 50.0, 1.0), ["−1 and less", "1 and more"]);
        assert_eq!(of(0.5, 50.0, 2.0), ["0", "2 and more"]);
        assert_eq!(of(-1.0, 0.5, 1.0), ["−1", "1"]);
    }

    #[test]
    fn what_has_no_value_is_grey() {
        let scale = Scale::new(-1.0, 2.0);
        assert_eq!(
            [scale.colour(f64::NAN), scale.colour(0.0), scale.colour(-9.0)],
            [NONE, DIVERGING[4], DIVERGING[0]]
        );
        assert_eq!(Scale::new(0.0, 0.0).colour(0.0), SEQUENTIAL[0]);
    }
}
