//! Bars of the largest entries, a small chart for each component.

use cavi::findings::Top;
use serde_json::{Value, json};

use super::{key, keyed, small, vega};
use crate::figure::{Axes, Figure, Table, short};
use crate::html::{count, number};

/// Bars of the largest entries.
pub(crate) fn figure(top: &Top) -> Figure {
    let item = |(name, entries): &(String, Vec<(String, f64)>)| {
        let rows: Vec<Value> = entries
            .iter()
            .enumerate()
            .map(|(place, (label, value))| {
                let sign = if *value < 0.0 { "negative" } else { "positive" };
                json!({ "key": key(place, label), "label": label, "value": short(*value), "sign": sign })
            })
            .collect();
        json!({ "name": name, "rows": rows })
    };
    let rows = top.rows.iter().flat_map(|(name, entries)| {
        entries.iter().enumerate().map(|(place, (label, value))| {
            vec![name.clone(), label.clone(), (place + 1).to_string(), number(*value)]
        })
    });
    let shown = top.rows.first().map_or(0, |(_, entries)| entries.len());
    let size = if top.signed { "largest in size" } else { "largest" };
    let more = match top.more {
        0 => String::new(),
        more => format!(" {} further charts are left out.", count(more)),
    };
    Figure {
        name: format!("{}-bars", top.variable),
        axes: Axes::new(format!("mean of {}", top.variable), top.axis.as_str()),
        title: format!("{}: the {size} entries over {}", top.variable, top.axis),
        note: format!(
            "The {shown} {size} means under q of each chart's component; lengths compare within a chart.{more}"
        ),
        drawing: small(template(top), "small", top.rows.iter().map(item).collect()),
        table: Table::new(&["component", &top.axis, "rank", "mean"], 2, rows),
    }
}

/// A share has a bar; of more components the largest have one.
const MOST_SHARES: usize = 100;

/// Shares in percent, the largest first.
pub(crate) fn shares(
    name: &str,
    (title, note): (String, String),
    axis: &str,
    labels: &[String],
    shares: &[f64],
) -> Figure {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|one, other| shares[*other].total_cmp(&shares[*one]).then(one.cmp(other)));
    let row = |place: &usize| {
        let label = format!("{axis} {}", labels[*place]);
        json!({ "key": key(*place, &label), "label": label, "value": short(100.0 * shares[*place]) })
    };
    let cells = order.iter().map(|place| vec![labels[*place].clone(), number(100.0 * shares[*place])]);
    let table = Table::new(&[axis, "percent"], 1, cells);
    let more = order.len().saturating_sub(MOST_SHARES);
    order.truncate(MOST_SHARES);
    let note = match more {
        0 => note,
        more => format!("{note} The {} smallest are in the table alone.", count(more)),
    };
    let spec = json!({
        "data": { "values": order.iter().map(row).collect::<Vec<Value>>() },
        "width": "container",
        "height": order.len() * 18,
        "mark": { "type": "bar", "height": { "band": 0.8 } },
        "encoding": {
            "y": keyed(),
            "x": { "field": "value", "type": "quantitative", "axis": { "title": "percent", "format": ".5~g" } },
            "tooltip": [{ "field": "label", "title": axis }, { "field": "value", "title": "percent" }],
        },
    });
    let axes = Axes::new("percent", "");
    Figure { name: name.to_owned(), title, note, drawing: vega(spec), axes, table }
}

fn template(top: &Top) -> Value {
    let height = top.rows.iter().map(|(_, entries)| entries.len()).max().unwrap_or(1);
    let mut encoding = json!({
        "y": keyed(),
        "x": { "field": "value", "type": "quantitative", "axis": { "title": null, "tickCount": 3, "format": ".5~g" } },
        "tooltip": [{ "field": "label", "title": top.axis }, { "field": "value", "title": "mean" }],
    });
    if top.signed {
        let scale = json!({ "domain": ["positive", "negative"] });
        encoding["color"] = json!({ "field": "sign", "type": "nominal", "scale": scale, "legend": null });
    }
    json!({
        "data": { "name": "rows" },
        "width": "container",
        "height": height * 18,
        "encoding": encoding,
        "mark": { "type": "bar", "height": { "band": 0.8 } },
    })
}
