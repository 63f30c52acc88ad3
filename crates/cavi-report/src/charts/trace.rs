//! The bound from sweep to sweep.

use serde_json::{Value, json};

use super::curves::places;
use super::vega;
use crate::figure::{Figure, Table, short};
use crate::fitted::Trace;
use crate::html::number;

/// A line for each run; nothing without a bound.
pub(crate) fn figure(traces: &[Trace]) -> Option<Figure> {
    let mut rows: Vec<Value> = Vec::new();
    let mut cells = Vec::new();
    let mut thinned = false;
    for trace in traces {
        let places = places(trace.points.len());
        thinned |= places.len() < trace.points.len();
        for (sweep, elbo) in places.iter().map(|place| trace.points[*place]) {
            rows.push(json!({ "run": trace.name, "sweep": sweep, "elbo": elbo }));
            cells.push(vec![trace.name.clone(), format!("{sweep}"), format!("{elbo:.6}")]);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut note = "The evidence lower bound (ELBO) after each sweep, the larger the better.".to_owned();
    if thinned {
        note += " Of long runs evenly spaced sweeps are shown.";
    }
    let spec = json!({
        "data": { "values": rows },
        "width": "container",
        "height": 220,
        "mark": { "type": "line", "point": { "size": 18 } },
        "encoding": {
            "x": { "field": "sweep", "type": "quantitative", "axis": { "title": "sweep" } },
            "y": { "field": "elbo", "type": "quantitative", "scale": { "zero": false }, "axis": { "title": "ELBO" } },
            "color": { "field": "run", "type": "nominal", "legend": if traces.len() > 1 { json!({ "title": null, "orient": "top" }) } else { Value::Null } },
            "tooltip": [{ "field": "run" }, { "field": "sweep" }, { "field": "elbo", "format": ".6~f" }],
        },
    });
    Some(Figure {
        title: "The bound from sweep to sweep".to_owned(),
        note,
        drawing: vega(spec),
        table: Table::new(&["run", "sweep", "ELBO"], 1, cells),
    })
}

/// A point for the bound of each restart; nothing of a single run.
pub(crate) fn restarts(summary: &Value) -> Option<Figure> {
    let runs = summary["runs"].as_array().filter(|own| own.len() > 1)?;
    let point = |(place, run): (usize, &Value)| {
        Some(
            json!({ "run": place + 1, "elbo": short(run["elbo"].as_f64()?), "kept": run["elbo"] == summary["elbo"] }),
        )
    };
    let rows: Vec<Value> = runs.iter().enumerate().filter_map(point).collect();
    let cells = runs.iter().enumerate().map(|(place, run)| {
        let shown = |key: &str| match &run[key] {
            Value::String(text) => text.clone(),
            Value::Number(own) => own.as_f64().map_or_else(String::new, number),
            _ => String::new(),
        };
        let end = match (run["converged"].as_bool(), run["failure"].as_str()) {
            (_, Some(why)) => why.to_owned(),
            (Some(true), None) => "converged".to_owned(),
            _ => "not converged".to_owned(),
        };
        vec![(place + 1).to_string(), end, shown("seed"), shown("sweeps"), run["elbo"].to_string()]
    });
    let spec = json!({
        "data": { "values": rows },
        "width": "container",
        "height": 180,
        "mark": { "type": "point", "filled": true, "size": 90, "opacity": 0.9 },
        "encoding": {
            "x": { "field": "run", "type": "quantitative", "axis": { "title": "run", "tickMinStep": 1 } },
            "y": { "field": "elbo", "type": "quantitative", "scale": { "zero": false }, "axis": { "title": "ELBO" } },
            "color": { "field": "kept", "type": "nominal", "scale": { "domain": [true, false] }, "legend": null },
            "tooltip": [{ "field": "run" }, { "field": "elbo" }],
        },
    });
    Some(Figure {
        title: "The bounds of all runs".to_owned(),
        note: "Where runs from different starts end; the one with the best bound is kept, and has a colour of its own.".to_owned(),
        drawing: vega(spec),
        table: Table::new(&["run", "how it ended", "seed", "sweeps", "ELBO"], 2, cells),
    })
}
