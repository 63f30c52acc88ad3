//! Means with intervals of 90 %, one below the other.

use serde_json::{Value, json};

use super::{key, keyed, vega};
use crate::figure::{Axes, Figure, Table, digits_apart, text, written};
use crate::html::count;

/// A number with its interval.
pub(crate) struct Interval {
    /// What it belongs to.
    pub label: String,
    /// The mean.
    pub mean: f64,
    /// The ends of the interval, where q has them.
    pub ends: Option<(f64, f64)>,
}

/// A point and a line for each; `more` are left out. Positive numbers of very different sizes stand on a logarithmic scale.
pub(crate) fn figure(
    variable: &str,
    axis: &str,
    intervals: &[Interval],
    more: usize,
    signed: bool,
) -> Figure {
    let has_ends = intervals.iter().any(|own| own.ends.is_some());
    let spread = |own: &Interval| {
        let (low, high) = own.ends.unwrap_or((own.mean, own.mean));
        [if own.mean.is_finite() { own.mean } else { high }, low]
    };
    let digits = digits_apart(intervals.iter().flat_map(spread));
    let all = intervals.iter().flat_map(spread).filter(|own| own.is_finite());
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), own| (low.min(own), high.max(own)));
    let is_wide = !signed && least > 0.0 && most / least > 1000.0;
    // The powers of ten alone are named.
    let decades = is_wide.then(|| (most / least).log10().clamp(3.0, 8.0) as usize);
    let row = |(place, own): (usize, &Interval)| {
        let short = |value: f64| written(value, digits.max(6));
        let mut row = json!({ "key": key(place, &own.label), "label": own.label, "value": short(own.mean) });
        if let Some((low, high)) = own.ends {
            row["low"] = short(low);
            row["high"] = short(high);
        }
        row
    };
    let number = |value: f64| text(value, digits);
    let cells = intervals.iter().map(|own| {
        let mut cells = vec![own.label.clone(), number(own.mean)];
        if has_ends {
            let (low, high) = own.ends.unwrap_or((f64::NAN, f64::NAN));
            cells.extend([number(low), number(high)]);
        }
        cells
    });
    let head: &[&str] = if has_ends { &[axis, "mean", "5 %", "95 %"] } else { &[axis, "mean"] };
    let mut note = match has_ends {
        true => "A point is the mean under q, the line around it holds 90 % of the probability.".to_owned(),
        false => "A point is the mean under q.".to_owned(),
    };
    if signed && has_ends {
        let apart = intervals
            .iter()
            .filter(|own| own.ends.is_some_and(|(low, high)| low > 0.0 || high < 0.0))
            .count();
        note += &format!(" {apart} of {} intervals do not hold 0.", intervals.len());
    }
    let infinite = intervals.iter().filter(|own| !own.mean.is_finite()).count();
    if infinite > 0 {
        note += &format!(" Of {} no mean is shown, since it is infinite under q.", count(infinite));
    }
    if is_wide {
        note += " The scale is logarithmic.";
    }
    if more > 0 {
        note += &format!(" The largest are shown; {} more are left out.", count(more));
    }
    let rows: Vec<Value> = intervals.iter().enumerate().map(row).collect();
    Figure {
        name: format!("{variable}-intervals"),
        axes: Axes::new(variable, axis),
        title: format!("{variable} by {axis}"),
        note,
        drawing: vega(spec(variable, axis, rows, has_ends, signed, (decades, digits))),
        table: Table::new(head, 1, cells),
    }
}

fn spec(
    variable: &str,
    axis: &str,
    rows: Vec<Value>,
    has_ends: bool,
    signed: bool,
    (decades, digits): (Option<usize>, usize),
) -> Value {
    let count = rows.len();
    let y = keyed();
    let scale = if decades.is_some() { json!({ "type": "log" }) } else { json!({ "zero": signed }) };
    let mut below =
        json!({ "title": variable, "format": format!(".{}~g", digits.max(5)), "labelOverlap": true });
    if let Some(decades) = decades {
        below["tickCount"] = json!(decades);
    }
    let x = |field: &str| json!({ "field": field, "type": "quantitative", "scale": scale, "axis": below });
    let mut layers = Vec::new();
    if signed {
        layers.push(json!({ "mark": { "type": "rule", "strokeDash": [4, 4], "aria": false }, "encoding": { "x": { "datum": 0 } } }));
    }
    if has_ends {
        layers.push(json!({
            "mark": { "type": "rule", "strokeWidth": 2 },
            "encoding": { "y": y, "x": x("low"), "x2": { "field": "high" } },
        }));
    }
    let has_points = rows.iter().any(|own| own["value"].is_number());
    let mut tooltip =
        vec![json!({ "field": "label", "title": axis }), json!({ "field": "value", "title": "mean" })];
    if has_ends {
        tooltip
            .extend([json!({ "field": "low", "title": "5 %" }), json!({ "field": "high", "title": "95 %" })]);
    }
    // A layer without a mark is nothing to draw.
    if has_points {
        layers.push(json!({
            "mark": { "type": "point", "filled": true, "size": 60, "opacity": 1 },
            "encoding": { "y": y, "x": x("value"), "tooltip": tooltip },
        }));
    } else if let Some(rule) = layers.last_mut().filter(|_| has_ends) {
        rule["encoding"]["tooltip"] = json!(tooltip);
    }
    json!({
        "data": { "values": rows },
        "width": "container",
        "height": count * 18,
        "layer": layers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_far_from_zero_keep_their_ends() {
        let interval =
            |at: f64| Interval { label: "a".to_owned(), mean: at, ends: Some((at - 0.25, at + 0.25)) };
        let figure = figure("m", "unit", &[interval(1_234_568.0), interval(1_234_570.0)], 0, true);
        let row = &figure.drawing["spec"]["data"]["values"][0];
        assert_eq!((&row["low"], &row["high"]), (&json!(1_234_567.75), &json!(1_234_568.25)));
        assert_eq!(figure.table.rows[0][1..], ["1234568", "1234567.75", "1234568.25"]);
    }

    #[test]
    fn an_infinite_mean_has_an_interval_and_no_point() {
        let interval =
            |label: &str, mean: f64| Interval { label: label.to_owned(), mean, ends: Some((0.5, 2.0)) };
        let marks = |all: &[Interval]| -> Vec<String> {
            let figure = figure("tau", "unit", all, 0, false);
            let layers = figure.drawing["spec"]["layer"].as_array().expect("layers").clone();
            layers.iter().map(|own| own["mark"]["type"].as_str().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(marks(&[interval("a", f64::INFINITY)]), ["rule"]);
        let both = [interval("a", f64::INFINITY), interval("b", 1.0)];
        assert_eq!(marks(&both), ["rule", "point"]);
        assert!(figure("tau", "unit", &both, 0, false).note.contains("Of 1 no mean is shown"));
    }
}
