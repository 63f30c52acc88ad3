//! Points with their errors, one below the other: fits and what they are compared with.

use serde_json::{Value, json};

use super::{key, keyed, vega};
use crate::figure::{Axes, Figure, Table, exact, short};
use crate::html::number;

/// A number with its error.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// What it belongs to.
    pub label: String,
    /// What it is: points of one kind have one colour.
    pub kind: String,
    /// The number.
    pub value: f64,
    /// Its standard error, where it has one.
    pub error: Option<f64>,
}

/// What a list is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Titles<'a> {
    /// The name of its file.
    pub name: &'a str,
    /// Its heading.
    pub title: &'a str,
    /// What is shown, in sentences.
    pub note: &'a str,
    /// What the numbers are, for the axis and the table.
    pub value: &'a str,
}

/// A point for each, and a line from one standard error below to one above. With `from_zero` the axis begins at 0.
pub(crate) fn figure(titles: Titles<'_>, points: &[Point], from_zero: bool) -> Figure {
    let Titles { name, title, note, value } = titles;
    let mut kinds: Vec<&str> = Vec::new();
    for own in points {
        if !kinds.contains(&own.kind.as_str()) {
            kinds.push(&own.kind);
        }
    }
    let row = |(place, own): (usize, &Point)| {
        let mut row = json!({ "key": key(place, &own.label), "label": own.label, "value": exact(own.value), "kind": own.kind });
        if let Some(error) = own.error {
            row["low"] = exact(own.value - error);
            row["high"] = exact(own.value + error);
            row["error"] = short(error);
        }
        row
    };
    let rows: Vec<Value> = points.iter().enumerate().map(row).collect();
    // Long names stand one below the other, so that a phone shows them.
    let columns = if kinds.iter().map(|own| own.len()).sum::<usize>() > 24 { 1 } else { 0 };
    let legend = match kinds.len() {
        0 | 1 => Value::Null,
        _ => json!({ "title": null, "orient": "top", "columns": columns, "labelLimit": 260 }),
    };
    let colour =
        json!({ "field": "kind", "type": "nominal", "scale": { "domain": kinds }, "legend": legend });
    let x = |field: &str| json!({ "field": field, "type": "quantitative", "scale": { "zero": from_zero }, "axis": { "title": value, "format": ".6~g", "labelOverlap": true, "tickCount": 6 } });
    // In the order that is given, also of those without an error, which the first layer lacks.
    let mut y = keyed();
    y["scale"] = json!({ "domain": rows.iter().map(|own| own["key"].clone()).collect::<Vec<Value>>() });
    let tooltip = json!([
        { "field": "label", "title": "of" },
        { "field": "kind", "title": "what" },
        { "field": "value", "title": value },
        { "field": "error", "title": "standard error" },
    ]);
    let mut spec = json!({
        "data": { "values": rows },
        "width": "container",
        "height": points.len() * 22,
        "layer": [
            {
                "mark": { "type": "rule", "strokeWidth": 2 },
                "encoding": { "y": y, "x": x("low"), "x2": { "field": "high" }, "color": colour },
            },
            {
                "mark": { "type": "point", "filled": true, "size": 70, "opacity": 1 },
                "encoding": { "y": y, "x": x("value"), "color": colour, "tooltip": tooltip },
            },
        ],
    });
    // A layer without a mark is nothing to draw.
    if let (true, Some(layers)) = (points.iter().all(|own| own.error.is_none()), spec["layer"].as_array_mut())
    {
        layers.retain(|own| own["mark"]["type"] != "rule");
    }
    let cells = points.iter().map(|own| {
        let error = own.error.map_or_else(String::new, number);
        vec![own.label.clone(), own.kind.clone(), digits(own.value), error]
    });
    Figure {
        name: name.to_owned(),
        axes: Axes::new(value, ""),
        title: title.to_owned(),
        note: note.to_owned(),
        drawing: vega(spec),
        table: Table::new(&["of", "what", value, "standard error"], 2, cells),
    }
}

/// A number to be compared with others: seven digits that matter.
pub(crate) fn digits(value: f64) -> String {
    cavi::summary::digits(value, 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stand_around_their_points_and_none_is_invented() {
        let point = |label: &str, kind: &str, value: f64, error: Option<f64>| Point {
            label: label.to_owned(),
            kind: kind.to_owned(),
            value,
            error,
        };
        let titles = Titles { name: "n", title: "T", note: "N.", value: "score" };
        let all = [point("a", "fit", -2.0, Some(0.5)), point("b", "means", f64::NEG_INFINITY, None)];
        let figure = figure(titles, &all, false);
        let rows = &figure.drawing["spec"]["data"]["values"];
        assert_eq!((rows[0]["low"].as_f64(), rows[0]["high"].as_f64()), (Some(-2.5), Some(-1.5)));
        assert!(rows[1]["value"].is_null() && rows[1].get("low").is_none(), "{rows}");
        assert_eq!(figure.table.rows[1], ["b", "means", "-inf", ""]);
        assert!(
            figure.drawing["spec"]["layer"][1]["encoding"]["color"]["legend"].is_object(),
            "two kinds have a legend"
        );
    }
}
