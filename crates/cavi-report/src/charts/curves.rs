//! Curves over numbers or days, with a band where q has quantiles.

use serde_json::{Value, json};

use super::small;
use crate::axes::Kind;
use crate::figure::{Axes, Figure, Table, exact};
use crate::html::{count, number};

/// A curve has so many points.
const MOST_POINTS: usize = 1000;

/// One curve: its name, its values, and where there is one its band.
pub(crate) struct Curve {
    /// What it is called.
    pub name: String,
    /// A value for each label.
    pub values: Vec<f64>,
    /// The ends of the band for each label.
    pub band: Option<Vec<(f64, f64)>>,
}

/// The positions of a curve that are drawn: all, or evenly spaced ones.
pub(crate) fn places(size: usize) -> Vec<usize> {
    match size <= MOST_POINTS {
        true => (0..size).collect(),
        false => (0..MOST_POINTS).map(|own| own * (size - 1) / (MOST_POINTS - 1)).collect(),
    }
}

/// A small chart for each curve.
pub(crate) fn figure(variable: &str, axis: &str, labels: &[String], kind: Kind, curves: &[Curve]) -> Figure {
    let places = places(labels.len());
    let x = |place: usize| match kind {
        Kind::Numbers => labels[place].parse::<f64>().map_or(Value::Null, |own| json!(own)),
        Kind::Days | Kind::Contexts | Kind::Whole | Kind::Names | Kind::Counted => json!(labels[place]),
    };
    let item = |curve: &Curve| {
        let point = |place: &usize| {
            let mut row =
                json!({ "x": x(*place), "label": labels[*place], "value": exact(curve.values[*place]) });
            if let Some(band) = &curve.band {
                row["low"] = exact(band[*place].0);
                row["high"] = exact(band[*place].1);
            }
            row
        };
        json!({ "name": curve.name, "rows": places.iter().map(point).collect::<Vec<Value>>() })
    };
    let has_band = curves.iter().any(|own| own.band.is_some());
    let cells = curves.iter().flat_map(|curve| {
        places.iter().map(move |place| {
            let mut row = vec![curve.name.clone(), labels[*place].clone(), number(curve.values[*place])];
            if has_band {
                let (low, high) = curve.band.as_ref().map_or((f64::NAN, f64::NAN), |own| own[*place]);
                row.extend([number(low), number(high)]);
            }
            row
        })
    });
    let mut head = vec!["component", axis, "mean"];
    let mut note = "The mean under q.".to_owned();
    if has_band {
        head.extend(["5 %", "95 %"]);
        note = "The mean under q, in a band of 90 % probability.".to_owned();
    }
    if places.len() < labels.len() {
        note += &format!(
            " {} of {} positions are drawn, evenly spaced.",
            count(places.len()),
            count(labels.len())
        );
    }
    Figure {
        name: format!("{variable}-curves"),
        axes: Axes::new(axis, variable),
        title: format!("{variable} over {axis}"),
        note,
        drawing: small(
            template(axis, kind, has_band),
            if curves.len() > 4 { "small" } else { "wide" },
            curves.iter().map(item).collect(),
        ),
        table: Table::new(&head, 2, cells),
    }
}

fn template(axis: &str, kind: Kind, has_band: bool) -> Value {
    let x = match kind {
        Kind::Days => {
            // A day is the same day wherever it is read.
            json!({ "field": "x", "type": "temporal", "scale": { "type": "utc" }, "axis": { "title": axis, "labelOverlap": true } })
        }
        Kind::Numbers | Kind::Contexts | Kind::Whole | Kind::Names | Kind::Counted => {
            json!({ "field": "x", "type": "quantitative", "scale": { "zero": false }, "axis": { "title": axis, "labelOverlap": true } })
        }
    };
    let y = |field: &str| json!({ "field": field, "type": "quantitative", "scale": { "zero": false }, "axis": { "title": null, "tickCount": 4, "format": ".9~g" } });
    let mut layers = Vec::new();
    if has_band {
        layers.push(json!({
            "mark": { "type": "area", "opacity": 0.25 },
            "encoding": { "x": x, "y": y("low"), "y2": { "field": "high" } },
        }));
    }
    layers.push(json!({
        "mark": { "type": "line", "strokeWidth": 1.8 },
        "encoding": { "x": x, "y": y("value") },
    }));
    layers.push(json!({
        "mark": { "type": "point", "filled": true, "size": 60, "opacity": 0 },
        "encoding": { "x": x, "y": y("value"), "tooltip": [{ "field": "label", "title": axis }, { "field": "value", "title": "mean" }] },
    }));
    json!({ "data": { "name": "rows" }, "width": "container", "height": 130, "layer": layers })
}

#[cfg(test)]
mod tests {
    use super::{Kind, places, template};

    #[test]
    fn days_are_those_of_the_labels_in_every_time_zone() {
        let scale = |kind| template("day", kind, false)["layer"][0]["encoding"]["x"]["scale"].clone();
        assert_eq!(scale(Kind::Days)["type"], "utc");
        assert_eq!(scale(Kind::Numbers)["zero"], false);
    }

    #[test]
    fn long_curves_keep_both_ends() {
        let all = places(123_457);
        assert_eq!((all.len(), all[0], all[999]), (1000, 0, 123_456));
        assert_eq!(places(3), [0, 1, 2]);
    }
}
