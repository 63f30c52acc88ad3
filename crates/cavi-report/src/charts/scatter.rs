//! Positions of an axis as points over two components, which the reader chooses.

use serde_json::{Value, json};

use super::vega;
use crate::by::Colours;
use crate::figure::{Axes, Figure, Table, digits_apart, short, text, written};
use crate::html::{count, number};

/// So many points are drawn.
const MOST_POINTS: usize = 4000;
/// So many components can be chosen.
const MOST_COMPONENTS: usize = 12;

/// The colour of a point without a value.
const UNKNOWN: &str = "#9a9a9a";

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
    let digits: Vec<usize> = values[..kept].iter().map(|own| digits_apart(own.iter().copied())).collect();
    let row = |place: &usize| {
        let own =
            values[..kept].iter().zip(&digits).map(|(own, digits)| written(own[*place], (*digits).max(6)));
        let own: Vec<Value> = own.collect();
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
        let shown = |(own, digits): (&Vec<f64>, &usize)| text(own[*place], *digits);
        row.extend(values[..kept].iter().zip(&digits).map(shown));
        row
    });
    let mut head: Vec<&str> = vec![axis];
    head.extend(by.iter().map(|(name, _)| *name));
    let n_texts = head.len();
    head.extend(components[..kept].iter().map(String::as_str));
    let mut note =
        format!("A point for each {axis}, at its means under q of two components, which can be chosen.");
    if let Some((name, colours)) = by {
        note += &format!(" Colours are of {name}.");
        let without = places.iter().filter(|place| !colours.is_known(**place)).count();
        if without > 0 {
            note += &format!(
                " {} of {} points have no value of it, and are grey.",
                count(without),
                count(places.len())
            );
        }
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
        drawing: vega(spec(
            axis,
            &components[..kept],
            rows,
            by.as_ref(),
            digits.iter().copied().max().unwrap_or(5),
        )),
        table: Table::new(&head, n_texts, cells),
    }
}

fn spec(
    axis: &str,
    components: &[String],
    rows: Vec<Value>,
    by: Option<&(&str, Colours)>,
    digits: usize,
) -> Value {
    let format = format!(".{}~g", digits.max(5));
    let choice = |name: &str, title: &str, value: usize| {
        let options: Vec<usize> = (0..components.len()).collect();
        let bind = json!({ "input": "select", "options": options, "labels": components, "name": title });
        json!({ "name": name, "value": value, "bind": bind })
    };
    let place = |own: &str| json!({ "field": own, "type": "quantitative", "scale": { "zero": false }, "axis": { "format": format } });
    let (mut x, mut y) = (place("x"), place("y"));
    x["axis"]["title"] = json!("first component");
    y["axis"]["title"] = json!("second component");
    let mut tooltip = vec![
        json!({ "field": "label", "title": axis }),
        json!({ "field": "x", "format": format!(".{digits}~g") }),
        json!({ "field": "y", "format": format!(".{digits}~g") }),
    ];
    let mut encoding = json!({ "x": x, "y": y });
    if let Some((name, colours)) = by {
        tooltip.push(json!({ "field": "by", "title": name }));
        match colours {
            Colours::Numbers(_) => {
                let scale = json!({ "scheme": "viridis" });
                let own = json!({ "test": "isValid(datum.by)", "field": "by", "type": "quantitative", "title": name, "scale": scale });
                encoding["color"] = json!({ "condition": own, "value": UNKNOWN });
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
            { "filter": "isValid(datum.x) && isValid(datum.y)" },
        ],
        "width": "container",
        "height": 380,
        // Thousands of points with a text each would be read out one by one: the table has them.
        // A point without a colour of its own is a point still.
        "mark": { "type": "point", "filled": true, "size": 36, "opacity": 0.75, "aria": false, "invalid": "show" },
        "encoding": encoding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_without_a_number_are_drawn_and_counted() {
        let labels: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        let cloud = Cloud {
            variable: "z",
            points: ("obs", &labels),
            components: vec!["k 0".to_owned(), "k 1".to_owned()],
            values: vec![vec![1.0, 2.0, 3.0], vec![3.0, 2.0, 1.0]],
            by: Some(("age", Colours::Numbers(vec![20.0, f64::NAN, 22.0]))),
        };
        let figure = figure(&cloud);
        assert!(figure.note.contains("1 of 3 points have no value of it, and are grey"), "{}", figure.note);
        let spec = &figure.drawing["spec"];
        assert_eq!(
            (&spec["mark"]["invalid"], &spec["encoding"]["color"]["value"]),
            (&json!("show"), &json!(UNKNOWN))
        );
        assert!(spec["data"]["values"][1]["by"].is_null());
    }
}
