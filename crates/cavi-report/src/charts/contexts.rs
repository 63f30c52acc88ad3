//! Profiles of substitutions in their contexts, `A[C>A]A`, a wide chart for each component.

use serde_json::{Value, json};

use super::small;
use crate::axes::substitution;
use crate::figure::{Axes, Figure, Table, short};
use crate::html::number;

/// A profile for each component: `rows` are their names with a value for each label.
pub(crate) fn figure(variable: &str, labels: &[String], rows: &[(String, Vec<f64>)]) -> Figure {
    // By substitution, then by the bases beside it.
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|place| (substitution(&labels[*place]).unwrap_or_default(), labels[*place].as_str()));
    let item = |(name, values): &(String, Vec<f64>)| {
        let entry = |place: &usize| {
            let change = substitution(&labels[*place]).unwrap_or_default();
            json!({ "label": labels[*place], "change": change, "value": short(values[*place]) })
        };
        json!({ "name": name, "rows": order.iter().map(entry).collect::<Vec<Value>>() })
    };
    let cells = rows.iter().flat_map(|(name, values)| {
        order.iter().map(|place| vec![name.clone(), labels[*place].clone(), number(values[*place])])
    });
    let template = json!({
        "data": { "name": "rows" },
        "width": "container",
        "height": 110,
        "mark": { "type": "bar" },
        "encoding": {
            "x": { "field": "label", "type": "nominal", "sort": null, "axis": { "labels": false, "ticks": false, "title": null } },
            "y": { "field": "value", "type": "quantitative", "axis": { "title": null, "tickCount": 3, "format": ".5~g" } },
            "color": { "field": "change", "type": "nominal", "legend": { "title": null, "orient": "top", "symbolType": "square" } },
            "tooltip": [{ "field": "label", "title": "context" }, { "field": "value", "title": "mean" }],
        },
    });
    Figure {
        name: format!("{variable}-profiles"),
        axes: Axes::new("context", format!("mean of {variable}")),
        title: format!("{variable}: profiles of substitutions"),
        note: "A bar for each context, by the substitution in its middle, which its colour shows.".to_owned(),
        drawing: small(template, "wide", rows.iter().map(item).collect()),
        table: Table::new(&["component", "context", "mean"], 2, cells),
    }
}
