//! Charts, one kind a file. Each takes labels and numbers and gives a figure; none knows a model.

pub(crate) mod bars;
pub(crate) mod contexts;
pub(crate) mod curves;
pub(crate) mod heat;
pub(crate) mod histogram;
pub(crate) mod intervals;
pub(crate) mod pictures;
pub(crate) mod points;
pub(crate) mod progression;
pub(crate) mod scatter;
pub(crate) mod trace;

use serde_json::{Value, json};

/// A chart of Vega-Lite.
pub(crate) fn vega(spec: Value) -> Value {
    json!({ "kind": "vega", "spec": spec })
}

/// Small charts of one kind, each with a name and its own rows of data: `template` reads the data named `rows`.
pub(crate) fn small(template: Value, width: &str, items: Vec<Value>) -> Value {
    json!({ "kind": "small", "template": template, "width": width, "items": items })
}

/// What stands at a place of a vertical list: two places may have the same label, which alone is shown.
pub(crate) fn key(place: usize, label: &str) -> String {
    format!("{place}|{label}")
}

/// The vertical axis of a list by its keys.
pub(crate) fn keyed() -> Value {
    json!({
        "field": "key",
        "type": "nominal",
        "sort": null,
        "axis": {
            "title": null,
            "ticks": false,
            "domain": false,
            "grid": false,
            "labelPadding": 6,
            "labelExpr": "substring(datum.label, indexof(datum.label, '|') + 1)",
        },
    })
}
