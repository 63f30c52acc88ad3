//! How many values lie where, for a long list of numbers.

use serde_json::{Value, json};

use super::vega;
use crate::figure::{Axes, Figure, Table, digits_apart, text, written};
use crate::html::count;

const BINS: usize = 40;

/// The number of values in each of equally wide bins.
pub(crate) fn figure(variable: &str, axis: &str, values: &[f64]) -> Figure {
    let finite = || values.iter().copied().filter(|own| own.is_finite());
    let (low, high) =
        finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), own| (low.min(own), high.max(own)));
    let bins = bins(finite(), low, high);
    let digits = digits_apart(finite());
    let row = |(from, to, own): &(f64, f64, usize)| {
        let end = |value: f64| written(value, digits.max(6));
        json!({ "from": end(*from), "to": end(*to), "count": own })
    };
    let rows: Vec<Value> = bins.iter().map(row).collect();
    let text = |value: f64| text(value, digits);
    let cells = bins.iter().map(|(from, to, own)| vec![text(*from), text(*to), count(*own)]);
    let spec = json!({
        "data": { "values": rows },
        "width": "container",
        "height": 160,
        "mark": { "type": "bar" },
        "encoding": {
            "x": { "field": "from", "type": "quantitative", "bin": "binned", "axis": { "title": variable, "format": format!(".{}~g", digits.max(5)) } },
            "x2": { "field": "to" },
            "y": { "field": "count", "type": "quantitative", "axis": { "title": format!("positions of {axis}") } },
            "tooltip": [{ "field": "from" }, { "field": "to" }, { "field": "count" }],
        },
    });
    Figure {
        name: format!("{variable}-histogram"),
        axes: Axes::new(variable, format!("positions of {axis}")),
        title: format!("{variable}: how its values are spread"),
        note: format!("The means under q of {} positions of {axis}.", count(values.len())),
        drawing: vega(spec),
        table: Table::new(&["from", "to", "count"], 0, cells),
    }
}

/// From, to and number of each bin.
fn bins(values: impl Iterator<Item = f64>, low: f64, high: f64) -> Vec<(f64, f64, usize)> {
    let width = (high - low) / BINS as f64;
    let mut counts = [0; BINS];
    let mut any = 0;
    for value in values {
        any += 1;
        let place = if width > 0.0 { ((value - low) / width) as usize } else { 0 };
        counts[place.min(BINS - 1)] += 1;
    }
    if any == 0 || width.is_nan() || width <= 0.0 {
        return if any == 0 { Vec::new() } else { vec![(low, high, any)] };
    }
    let bin =
        |(place, own): (usize, &usize)| (low + width * place as f64, low + width * (place + 1) as f64, *own);
    counts.iter().enumerate().map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_far_from_zero_have_a_width() {
        let values: Vec<f64> = (0..80).map(|own| 1_234_567.0 + 0.05 * f64::from(own)).collect();
        let figure = figure("m", "obs", &values);
        let rows = figure.drawing["spec"]["data"]["values"].as_array().expect("bins").clone();
        // A fortieth of 3.95.
        let width = |own: &Value| own["to"].as_f64().unwrap_or(0.0) - own["from"].as_f64().unwrap_or(0.0);
        assert!(rows.iter().all(|own| (width(own) - 0.09875).abs() < 0.01), "{rows:?}");
        assert_ne!(figure.table.rows[0][0], figure.table.rows[0][1]);
    }

    #[test]
    fn every_value_is_in_one_bin() {
        let values: Vec<f64> = (0..1000).map(|own| (f64::from(own) * 0.37).sin()).collect();
        let total: usize = bins(values.iter().copied(), -1.0, 1.0).iter().map(|own| own.2).sum();
        assert_eq!(total, 1000);
        assert_eq!(bins([2.0, 2.0].into_iter(), 2.0, 2.0), [(2.0, 2.0, 2)]);
    }
}
