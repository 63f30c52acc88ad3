//! A number over values that were tried, with its error: how many components, or another constant.

use serde_json::{Value, json};

use super::vega;
use crate::charts::points::digits;
use crate::figure::{Axes, Figure, Table, short};
use crate::html::number;

/// A value that was tried, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The value.
    pub at: f64,
    /// The fit.
    pub label: String,
    /// What came of it.
    pub value: f64,
    /// Its standard error.
    pub error: Option<f64>,
    /// What is said of it; of most nothing.
    pub mark: &'static str,
}

/// What a chart is called: as [`crate::charts::points::Titles`], with the name of what was tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Titles<'a> {
    /// The name of its file.
    pub name: &'a str,
    /// Its heading.
    pub title: &'a str,
    /// What is shown, in sentences.
    pub note: &'a str,
    /// What was tried.
    pub over: &'a str,
    /// What came of it.
    pub value: &'a str,
}

/// Values that span more than this factor stand on a logarithmic scale.
const WIDE: f64 = 30.0;
/// So many values are all named at the axis.
const NAMED: usize = 12;

/// Points joined by a line, with one standard error to either side; those with a mark have colours of their own.
pub(crate) fn figure(titles: Titles<'_>, steps: &[Step]) -> Figure {
    let Titles { name, title, note, over, value } = titles;
    let mut steps: Vec<&Step> = steps.iter().collect();
    steps.sort_by(|one, other| one.at.total_cmp(&other.at));
    let row = |own: &&Step| {
        let mut row = json!({ "at": own.at, "label": own.label, "value": own.value, "mark": own.mark });
        if !own.value.is_finite() {
            row["value"] = Value::Null;
        } else if let Some(error) = own.error {
            row["low"] = json!(own.value - error);
            row["high"] = json!(own.value + error);
            row["error"] = short(error);
        }
        row
    };
    let rows: Vec<Value> = steps.iter().map(row).collect();
    let (least, most) = (steps.first().map_or(0.0, |own| own.at), steps.last().map_or(0.0, |own| own.at));
    let scale = match least > 0.0 && most / least > WIDE {
        true => json!({ "type": "log", "nice": false, "padding": 16 }),
        false => json!({ "zero": false, "nice": false, "padding": 16 }),
    };
    let mut at = json!({ "title": over, "labelOverlap": true, "grid": false, "format": ".6~g" });
    let mut values: Vec<f64> = steps.iter().map(|own| own.at).collect();
    values.dedup();
    if values.len() <= NAMED {
        at["values"] = json!(values);
    }
    let x = json!({ "field": "at", "type": "quantitative", "scale": scale, "axis": at });
    let y = |field: &str| json!({ "field": field, "type": "quantitative", "scale": { "zero": false }, "axis": { "title": value, "format": ".6~g" } });
    let mut marks: Vec<&str> = Vec::new();
    for own in &steps {
        if !marks.contains(&own.mark) {
            marks.push(own.mark);
        }
    }
    marks.sort_unstable();
    let legend = match marks.len() > 1 {
        true => json!({ "title": null, "orient": "top" }),
        false => Value::Null,
    };
    let colour =
        json!({ "field": "mark", "type": "nominal", "scale": { "domain": marks }, "legend": legend });
    let mut spec = json!({
        "data": { "values": rows },
        "width": "container",
        "height": 240,
        "layer": [
            { "mark": { "type": "line", "opacity": 0.5, "aria": false }, "encoding": { "x": x, "y": y("value") } },
            {
                "mark": { "type": "rule", "strokeWidth": 2 },
                "encoding": { "x": x, "y": y("low"), "y2": { "field": "high" }, "color": colour },
            },
            {
                "mark": { "type": "point", "filled": true, "size": 90, "opacity": 1 },
                "encoding": {
                    "x": x,
                    "y": y("value"),
                    "color": colour,
                    "tooltip": [
                        { "field": "label", "title": "fit" },
                        { "field": "at", "title": over },
                        { "field": "value", "title": value },
                        { "field": "error", "title": "standard error" },
                        { "field": "mark", "title": "what" },
                    ],
                },
            },
        ],
    });
    // A layer without a mark is nothing to draw.
    if let (true, Some(layers)) = (steps.iter().all(|own| own.error.is_none()), spec["layer"].as_array_mut())
    {
        layers.retain(|own| own["mark"]["type"] != "rule");
    }
    let cells = steps.iter().map(|own| {
        let error = own.error.map_or_else(String::new, number);
        vec![number(own.at), own.label.clone(), own.mark.to_owned(), digits(own.value), error]
    });
    Figure {
        name: name.to_owned(),
        axes: Axes::new(over, value),
        title: title.to_owned(),
        note: note.to_owned(),
        drawing: vega(spec),
        table: Table::new(&[over, "fit", "what", value, "standard error"], 3, cells),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_order_and_wide_ones_on_a_logarithmic_scale() {
        let step =
            |at: f64| Step { at, label: format!("k={at}"), value: -at, error: Some(0.1), mark: "tried" };
        let titles = Titles { name: "n", title: "T", note: "N.", over: "k", value: "score" };
        let spec = |steps: &[Step]| figure(titles, steps).drawing["spec"].clone();
        let near = spec(&[step(8.0), step(4.0)]);
        assert_eq!([&near["data"]["values"][0]["at"], &near["data"]["values"][1]["at"]], [4.0, 8.0]);
        let scale = |spec: &Value| spec["layer"][0]["encoding"]["x"]["scale"]["type"].clone();
        assert_eq!([scale(&near), scale(&spec(&[step(1.0), step(100.0)]))], [Value::Null, json!("log")]);
    }
}
