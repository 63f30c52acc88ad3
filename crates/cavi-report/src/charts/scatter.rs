//! Positions of an axis as points over two components, which the reader chooses.

use serde_json::{Value, json};

use super::vega;
use crate::by::Colours;
use crate::figure::{Axes, Figure, Table, short};
use crate::html::{count, number};

/// So many points are drawn.
const MOST_POINTS: usize = 4000;
/// So many components can be chosen.
const MOST_COMPONENTS: usize = 12;

/// Points over components.
pub(crate) struct Cloud<'a> {
    /// The variable.
    pub variable: &'a str,
    /// The axis of the points, and its labels.
    pub points: (&'a str, &'a [String]),
    /// The names of the components, those that vary most first.
    pub components: Vec<String>,
    /// For each component a value for each point.
    pub values: Vec<Vec<f64>>,
    /// What the points are coloured by.
    pub by: Option<(&'a str, Colours)>,
}

/// A point for each position, or for evenly spaced ones.
pub(crate) fn figure(cloud: &Cloud<'_>) -> Figure {
    let Cloud { variable, points: (axis, labels), components, values, by } = cloud;
    let kept = components.len().min(MOST_COMPONENTS);
    let step = labels.len().div_ceil(MOST_POINTS).max(1);
    let places: Vec<usize> = (0..labels.len()).step_by(step).collect();
    let row = |place: &usize| {
        let own: Vec<Value> = values[..kept].iter().map(|own| short(own[*place])).collect();
        let mut row = json!({ "label": labels[*place], "values": own });
        match by {
            Some((_, Colours::Numbers(numbers))) => row["by"] = short(numbers[*place]),
            Some((_, Colours::Classes(classes))) => row["by"] = json!(classes[*place]),
            None => {}
        }
        row
    };
    let cells = places.iter().map(|place| {
        let mut row = vec![labels[*place].clone()];
        row.extend(by.iter().map(|(_, colours)| match colours {
            Colours::Numbers(numbers) => number(numbers[*place]),
            Colours::Classes(classes) => classes[*place].clone(),
        }));
        row.extend(values[..kept].iter().map(|own| number(own[*place])));
        row
    });
    let mut head: Vec<&str> = vec![axis];
    head.extend(by.iter().map(|(name, _)| *name));
    let text = head.len();
    head.extend(components[..kept].iter().map(String::as_str));
    let mut note =
        format!("A point for each {axis}, at its means under q of two components, which can be chosen.");
    if let Some((name, _)) = by {
        note += &format!(" Colours are of {name}.");
    }
    if step > 1 {
        note +=
            &format!(" {} of {} points are drawn, evenly spaced.", count(places.len()), count(labels.len()));
    }
    if kept < components.len() {
        note += &format!(" The {kept} of {} components that vary most can be chosen.", components.len());
    }
    let rows = places.iter().map(row).collect();
    Figure {
        name: format!("{variable}-points"),
        // On paper nothing can be chosen: the two that vary most stand there.
        axes: Axes::new(
            components.first().map_or("", String::as_str),
            components.get(1).map_or("", String::as_str),
        ),
        title: format!("{variable}: each {axis} over two components"),
        note,
        drawing: vega(spec(axis, &components[..kept], rows, by.as_ref())),
        table: Table::new(&head, text, cells),
    }
}

fn spec(axis: &str, components: &[String], rows: Vec<Value>, by: Option<&(&str, Colours)>) -> Value {
    let choice = |name: &str, title: &str, value: usize| {
        let options: Vec<usize> = (0..components.len()).collect();
        let bind = json!({ "input": "select", "options": options, "labels": components, "name": title });
        json!({ "name": name, "value": value, "bind": bind })
    };
    let place = |own: &str| json!({ "field": own, "type": "quantitative", "scale": { "zero": false }, "axis": { "format": ".5~g" } });
    let (mut x, mut y) = (place("x"), place("y"));
    x["axis"]["title"] = json!("first component");
    y["axis"]["title"] = json!("second component");
    let mut tooltip = vec![
        json!({ "field": "label", "title": axis }),
        json!({ "field": "x", "format": ".4~g" }),
        json!({ "field": "y", "format": ".4~g" }),
    ];
    let mut encoding = json!({ "x": x, "y": y });
    if let Some((name, colours)) = by {
        tooltip.push(json!({ "field": "by", "title": name }));
        match colours {
            Colours::Numbers(_) => {
                encoding["color"] = json!({ "field": "by", "type": "quantitative", "title": name, "scale": { "scheme": "viridis" } });
            }
            Colours::Classes(_) => {
                encoding["color"] = json!({ "field": "by", "type": "nominal", "title": name });
                encoding["shape"] = json!({ "field": "by", "type": "nominal", "title": name });
            }
        }
    }
    encoding["tooltip"] = json!(tooltip);
    json!({
        "params": [choice("first", "first component ", 0), choice("second", "second component ", 1)],
        "data": { "values": rows },
        "transform": [
            { "calculate": "datum.values[first]", "as": "x" },
            { "calculate": "datum.values[second]", "as": "y" },
        ],
        "width": "container",
        "height": 380,
        // Thousands of points with a text each would be read out one by one: the table has them.
        "mark": { "type": "point", "filled": true, "size": 36, "opacity": 0.75, "aria": false },
        "encoding": encoding,
    })
}
