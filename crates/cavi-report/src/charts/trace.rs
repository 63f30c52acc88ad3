//! The bound from sweep to sweep.

use serde_json::{Value, json};

use super::curves::places;
use super::vega;
use crate::figure::{Axes, Figure, Table, exact};
use crate::fitted::Trace;
use crate::html::number;

/// More lines than there are colours are told apart by their dashes too.
const COLOURS: usize = 7;

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
    // Long names stand one below the other.
    let long = traces.iter().map(|own| own.name.chars().count()).max().unwrap_or(0) > 12;
    let columns = if long { 2 } else { 0 };
    let legend = match traces.len() {
        0 | 1 => Value::Null,
        _ => json!({ "title": null, "orient": "top", "columns": columns, "labelLimit": 260 }),
    };
    let mut scale = json!({ "zero": false });
    if let Some(domain) = close_up(traces) {
        scale["domain"] = json!(domain);
        note += " The first sweeps are far below what is shown: the table has them.";
    }
    let names: Vec<&str> = traces.iter().map(|own| own.name.as_str()).collect();
    let mut spec = json!({
        "data": { "values": rows },
        "width": "container",
        "height": 220,
        "mark": { "type": "line", "point": { "size": 18 }, "clip": true },
        "encoding": {
            "x": { "field": "sweep", "type": "quantitative", "axis": { "title": "sweep" } },
            "y": { "field": "elbo", "type": "quantitative", "scale": scale, "axis": { "title": "ELBO" } },
            // In the order of the runs: by their names run 10 would stand before run 2.
            "color": { "field": "run", "type": "nominal", "sort": null, "scale": { "domain": names }, "legend": legend.clone() },
            "tooltip": [{ "field": "run" }, { "field": "sweep" }, { "field": "elbo", "format": ".6~f" }],
        },
    });
    if traces.len() > COLOURS {
        spec["encoding"]["strokeDash"] = json!({ "field": "run", "type": "nominal", "sort": null, "scale": { "domain": names }, "legend": legend });
    }
    Some(Figure {
        name: "bound".to_owned(),
        axes: Axes::new("sweep", "ELBO"),
        title: "The bound from sweep to sweep".to_owned(),
        note,
        drawing: vega(spec),
        table: Table::new(&["run", "sweep", "ELBO"], 1, cells),
    })
}

/// The range of the bounds without the first tenth of the sweeps, where that is less than a fifth of the whole range.
fn close_up(traces: &[Trace]) -> Option<[f64; 2]> {
    let range = |points: &mut dyn Iterator<Item = f64>| {
        points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), own| (low.min(own), high.max(own)))
    };
    let all = || traces.iter().flat_map(|own| own.points.iter().map(|(_, elbo)| *elbo));
    let late = || {
        traces
            .iter()
            .flat_map(|own| own.points.iter().skip((own.points.len() / 10).max(1)).map(|(_, elbo)| *elbo))
    };
    let (low, high) = range(&mut all());
    let (start, end) = range(&mut late());
    let room = 0.08 * (end - start);
    (room > 0.0 && end - start < 0.2 * (high - low)).then_some([start - room, end + room])
}

/// A point for the bound of each restart; nothing of a single run.
pub(crate) fn restarts(summary: &Value) -> Option<Figure> {
    let runs = summary["runs"].as_array().filter(|own| own.len() > 1)?;
    // Several runs may end at one bound: the one that is kept has the seed of the fit too.
    let is_kept = |run: &Value| run["elbo"] == summary["elbo"] && run["seed"] == summary["seed"];
    let point = |(place, run): (usize, &Value)| {
        Some(json!({ "run": place + 1, "elbo": exact(run["elbo"].as_f64()?), "kept": is_kept(run) }))
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
            "x": { "field": "run", "type": "quantitative", "scale": { "zero": false }, "axis": { "title": "run", "tickMinStep": 1 } },
            "y": { "field": "elbo", "type": "quantitative", "scale": { "zero": false }, "axis": { "title": "ELBO" } },
            "color": { "field": "kept", "type": "nominal", "scale": { "domain": [true, false] }, "legend": null },
            "tooltip": [{ "field": "run" }, { "field": "elbo" }],
        },
    });
    Some(Figure {
        name: "bound-of-runs".to_owned(),
        axes: Axes::new("run", "ELBO"),
        title: "The bounds of all runs".to_owned(),
        note: "Where runs from different starts end; the one with the best bound is kept, and has a colour of its own.".to_owned(),
        drawing: vega(spec),
        table: Table::new(&["run", "how it ended", "seed", "sweeps", "ELBO"], 2, cells),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(bounds: &[f64]) -> Trace {
        let points = bounds.iter().enumerate().map(|(sweep, own)| (sweep as f64, *own)).collect();
        Trace { name: "run".to_owned(), points }
    }

    #[test]
    fn bounds_far_from_zero_are_drawn_apart() {
        let summary = json!({ "elbo": -1234567.1, "runs": [{ "elbo": -1234567.1 }, { "elbo": -1234569.9 }] });
        let figure = restarts(&summary).expect("two runs");
        let drawn = format!("{:?}", figure.drawing);
        assert!(drawn.contains("-1234567.1") && drawn.contains("-1234569.9"), "{drawn}");
    }

    #[test]
    fn runs_stand_in_their_order_and_one_is_kept() {
        let names: Vec<String> = (1..12).map(|run| format!("run {run}")).collect();
        let traces: Vec<Trace> =
            names.iter().map(|name| Trace { name: name.clone(), points: vec![(1.0, -1.0)] }).collect();
        let figure = figure(&traces).expect("runs with bounds");
        assert_eq!(figure.drawing["spec"]["encoding"]["color"]["scale"]["domain"], json!(names));
        let run = |seed: u64| json!({ "elbo": -1.5, "seed": seed });
        let summary = json!({ "elbo": -1.5, "seed": 1, "runs": [run(0), run(1), run(2)] });
        let figure = restarts(&summary).expect("three runs");
        let rows = figure.drawing["spec"]["data"]["values"].as_array().expect("points").clone();
        assert_eq!(rows.iter().map(|own| own["kept"] == true).collect::<Vec<bool>>(), [false, true, false]);
    }

    #[test]
    fn a_steep_start_does_not_hide_the_rest() {
        let [low, high] = close_up(&[trace(&[-1000.0, -10.0, -8.0, -7.0])]).expect("the start is far below");
        assert!(low > -11.0 && low < -10.0 && high > -7.0, "{low} {high}");
        assert_eq!(close_up(&[trace(&[-4.0, -3.0, -2.0, -1.0])]), None);
        assert_eq!(close_up(&[trace(&[-4.0])]), None);
        assert_eq!(close_up(&[]), None);
    }
}
