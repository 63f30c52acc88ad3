//! A figure laid out on a sheet of a given width: charts with the titles of their axes, several below and beside each other.

use cavi_report::{Axes, Figure};
use serde_json::{Value, json};

use crate::PlotError;
use crate::engine::{Drawn, Engine};
use crate::font::Font;
use crate::grids;
use crate::marks::{Anchor, axis_title, short, text};
use crate::theme::{INK, PIXELS_PER_MM, TEXT, config};

/// What the page calls the height of a row of a list, and how high it is here: 10 points.
const PAGE_ROW: f64 = 18.0;
const ROW: f64 = 15.0;
/// A row of a long list is as high as its text.
const LOW_ROW: f64 = TEXT;
/// A list is long from so many rows on.
const LONG: f64 = 60.0;
/// Charts below each other fill so many millimetres, which a page of a journal has; then comes another sheet.
const HIGHEST: f64 = 230.0;
/// A label is cut where it is longer.
const LONGEST_LABEL: f64 = 180.0;
/// Ticks are about so far apart.
const TICK: f64 = 60.0;
/// The room between charts.
const GAP: f64 = 12.0;

/// What is drawn, without its element `svg`, and how high it is, in pixels.
pub(crate) struct Sheet {
    pub height: f64,
    pub inside: String,
}

/// The sheets of a figure: one, or several where charts below each other do not fit on it. `width` is in pixels.
pub(crate) fn sheets(
    engine: &Engine,
    font: &Font,
    figure: &Figure,
    width: f64,
) -> Result<Vec<Sheet>, PlotError> {
    let drawing = &figure.drawing;
    match drawing["kind"].as_str() {
        Some("vega") => Ok(vec![one(engine, &drawing["spec"], &figure.axes, width)?]),
        Some("small") => small(engine, font, drawing, &figure.axes, width),
        Some("heat") => Ok(vec![grids::heat(font, drawing, &figure.axes, width)?]),
        Some("pictures") => Ok(stacked(grids::pictures(font, drawing, width)?, 0.0)),
        other => Err(PlotError::new(format!("no chart of the kind {other:?} is drawn on paper"))),
    }
}

/// A chart of its own.
fn one(engine: &Engine, spec: &Value, axes: &Axes, width: f64) -> Result<Sheet, PlotError> {
    let mut spec = sized(spec, width);
    titled(&mut spec, "x", &axes.across);
    titled(&mut spec, "y", &axes.upward);
    let drawn = kept(engine, &spec, 0.0, None)?;
    Ok(Sheet { height: drawn.size.1, inside: drawn.inside })
}

/// Small charts in rows and columns, under their names; the titles of their axes stand once.
fn small(
    engine: &Engine,
    font: &Font,
    drawing: &Value,
    axes: &Axes,
    width: f64,
) -> Result<Vec<Sheet>, PlotError> {
    // What is wide on the page has the width of a column.
    let items = drawing["items"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let target = match drawing["width"].as_str() {
        Some("wide") => 340.0,
        _ => f64::max(165.0, longest_label(font, items).min(LONGEST_LABEL) + 100.0),
    };
    let left = if axes.upward.is_empty() { 0.0 } else { TEXT + 6.0 };
    let below = if axes.across.is_empty() { 0.0 } else { TEXT + 8.0 };
    let columns = (((width + GAP) / (target + GAP)).floor() as usize).clamp(1, items.len().max(1));
    let each = (width - left - GAP * (columns as f64 - 1.0)) / columns as f64;
    let mut template = sized(&drawing["template"], each);
    titled(&mut template, "x", "");
    titled(&mut template, "y", "");
    let draw = |extent: f64| -> Result<Vec<Drawn>, PlotError> {
        items.iter().map(|item| kept(engine, &template, extent, Some(&item["rows"]))).collect()
    };
    // Charts below each other begin at one line: where labels need more room in one of them, all have it.
    let mut all = draw(0.0)?;
    let origins = || all.iter().map(|own| own.origin.0);
    let (least, most) =
        origins().fold((f64::INFINITY, 0.0_f64), |(low, high), own| (low.min(own), high.max(own)));
    if most - least > 0.5 {
        all = draw(most)?;
    }
    // The one chart of a variable has its name on its axis.
    let heading = match items {
        [one] if one["name"] == axes.upward => 0.0,
        _ => TEXT + 6.0,
    };
    let rows = all.chunks(columns).zip(items.chunks(columns)).map(|(drawn, items)| {
        let mut inside = String::new();
        for (place, (own, item)) in drawn.iter().zip(items).enumerate() {
            let x = left + place as f64 * (each + GAP);
            if heading > 0.0 {
                let name = item["name"].as_str().unwrap_or_default();
                let start = if font.width(name, TEXT) <= own.area.0 { own.origin.0 } else { 0.0 };
                inside += &text(
                    (x + start, TEXT),
                    Anchor::Start,
                    TEXT,
                    false,
                    INK,
                    &font.fitted(name, TEXT, each - start),
                );
            }
            inside += &moved(x, heading, &own.inside);
        }
        Sheet { height: heading + drawn.iter().map(|own| own.size.1).fold(0.0, f64::max), inside }
    });
    let mut sheets = stacked(rows.collect(), below);
    let first = all.first().map_or((0.0, 0.0), |own| (own.origin.0, own.area.0));
    let middle = if columns == 1 { left + first.0 + first.1 / 2.0 } else { (left + width) / 2.0 };
    for sheet in &mut sheets {
        sheet.inside += &axis_title(font, (TEXT, sheet.height / 2.0), true, sheet.height, &axes.upward);
        sheet.height += below;
        sheet.inside += &axis_title(font, (middle, sheet.height - 5.0), false, width, &axes.across);
    }
    Ok(sheets)
}

/// Rows below each other, on as many sheets as they need; `below` is the room that each sheet keeps.
fn stacked(rows: Vec<Sheet>, below: f64) -> Vec<Sheet> {
    let mut sheets: Vec<Sheet> = Vec::new();
    for row in rows {
        match sheets.last_mut() {
            Some(last) if last.height + GAP + row.height + below <= HIGHEST * PIXELS_PER_MM => {
                last.inside += &moved(0.0, last.height + GAP, &row.inside);
                last.height += GAP + row.height;
            }
            _ => sheets.push(row),
        }
    }
    sheets
}

/// How wide the labels of lists are.
fn longest_label(font: &Font, items: &[Value]) -> f64 {
    let rows = items.iter().flat_map(|item| item["rows"].as_array().into_iter().flatten());
    let labels = rows.filter(|row| row.get("key").is_some()).filter_map(|row| row["label"].as_str());
    labels.map(|own| font.width(own, TEXT)).fold(0.0, f64::max)
}

fn moved(x: f64, y: f64, inside: &str) -> String {
    format!("<g transform=\"translate({} {})\">\n{inside}</g>\n", short(x), short(y))
}

/// A specification of this width. What the page draws higher than three quarters of it gets lower; a list has a row for each label.
fn sized(spec: &Value, width: f64) -> Value {
    let mut spec = spec.clone();
    let height = spec["height"].as_f64().unwrap_or(0.0);
    let rows = height / PAGE_ROW;
    spec["height"] = json!(match is_list(&spec) {
        true if rows > LONG => rows * LOW_ROW,
        true => rows * ROW,
        false => height.min(0.75 * width),
    });
    spec["width"] = json!(width);
    ticked(&mut spec, width);
    spec
}

/// Gives a horizontal axis of numbers so many ticks that their labels have room, where its chart says nothing of them.
fn ticked(spec: &mut Value, width: f64) {
    let ticks = (width / TICK).ceil();
    let is_layered = spec.get("layer").is_some();
    let layers = if is_layered { spec["layer"].as_array_mut().map(Vec::as_mut_slice) } else { None };
    let all = match layers {
        Some(layers) => layers,
        None => std::slice::from_mut(spec),
    };
    for own in all {
        let x = &mut own["encoding"]["x"];
        let is_logarithmic = x["scale"]["type"] == "log";
        if matches!(x["type"].as_str(), Some("quantitative" | "temporal"))
            && let Some(axis) = x["axis"].as_object_mut()
        {
            // Of a logarithmic scale, which spans three powers of ten or more, the powers alone are marked.
            axis.entry("tickCount")
                .or_insert_with(|| json!(if is_logarithmic { ticks.min(3.0) } else { ticks }));
        }
    }
}

/// Draws a chart that keeps to its width: where labels reach beyond it, the chart gets narrower by as much.
fn kept(engine: &Engine, spec: &Value, extent: f64, rows: Option<&Value>) -> Result<Drawn, PlotError> {
    const TRIALS: usize = 4;
    let width = spec["width"].as_f64().unwrap_or_default();
    let mut spec = spec.clone();
    let mut drawn = engine.draw(&spec, &config(width, extent), rows)?;
    for _ in 0..TRIALS {
        let beyond = drawn.end - width;
        if beyond < 0.25 {
            break;
        }
        spec["width"] = json!(spec["width"].as_f64().unwrap_or_default() - beyond);
        drawn = engine.draw(&spec, &config(width, extent), rows)?;
    }
    Ok(drawn)
}

/// Whether the vertical axis of a chart is a list of labels.
fn is_list(spec: &Value) -> bool {
    let layers = spec["layer"].as_array().into_iter().flatten();
    std::iter::once(spec).chain(layers).any(|own| own["encoding"]["y"]["field"] == "key")
}

/// Gives an axis this title, in all layers that have it; an empty one is none.
fn titled(spec: &mut Value, channel: &str, title: &str) {
    let title = if title.is_empty() { Value::Null } else { json!(title) };
    if let Some(own) = spec.pointer_mut(&format!("/encoding/{channel}/axis")).and_then(Value::as_object_mut) {
        own.insert("title".to_owned(), title.clone());
    }
    for layer in spec.get_mut("layer").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(own) =
            layer.pointer_mut(&format!("/encoding/{channel}/axis")).and_then(Value::as_object_mut)
        {
            own.insert("title".to_owned(), title.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_a_row_for_each_label() {
        let list = |rows: f64| json!({ "height": rows * PAGE_ROW, "layer": [{ "encoding": { "y": { "field": "key" } } }] });
        assert_eq!(sized(&list(10.0), 300.0)["height"], 150.0);
        assert_eq!(sized(&list(100.0), 300.0)["height"], 1200.0);
        assert_eq!(sized(&json!({ "height": 380 }), 300.0)["height"], 225.0);
    }

    #[test]
    fn what_does_not_fit_is_on_another_sheet() {
        let row = || Sheet { height: 400.0, inside: String::new() };
        let sheets = stacked(vec![row(), row(), row()], 0.0);
        assert_eq!(sheets.iter().map(|own| own.height).collect::<Vec<_>>(), [812.0, 400.0]);
    }

    #[test]
    fn titles_are_set_in_all_layers() {
        let mut spec = json!({ "layer": [{ "encoding": { "x": { "datum": 0 } } }, { "encoding": { "x": { "axis": { "title": null } } } }] });
        titled(&mut spec, "x", "mean");
        assert_eq!(spec["layer"][1]["encoding"]["x"]["axis"]["title"], "mean");
        assert!(spec["layer"][0]["encoding"]["x"].get("axis").is_none());
    }
}
