//! Plots of figures made up here; those of fits are in the tests of the command line.

use cavi_report::{Axes, Table};
use serde_json::json;

use super::*;

fn figure(label: &str) -> Figure {
    with_value(label, &json!(1.5))
}

fn with_value(label: &str, value: &Value) -> Figure {
    let rows = [json!({ "key": format!("0|{label}"), "label": label, "value": value })];
    let template = json!({
        "data": { "name": "rows" },
        "width": "container",
        "height": 18,
        "mark": "bar",
        "encoding": {
            "y": { "field": "key", "type": "nominal", "axis": { "title": null, "labelExpr": "substring(datum.label, 2)" } },
            "x": { "field": "value", "type": "quantitative", "axis": { "title": null } },
        },
    });
    Figure {
        name: "w-bars".to_owned(),
        title: label.to_owned(),
        note: label.to_owned(),
        drawing: json!({ "kind": "small", "template": template, "width": "small", "items": [{ "name": label, "rows": rows }] }),
        axes: Axes { across: "mean of w".to_owned(), upward: label.to_owned() },
        table: Table::default(),
    }
}

#[test]
fn the_same_figure_has_the_same_bytes() {
    let kinds = [Kind::Svg, Kind::Png, Kind::Pdf];
    let draw = || plots(vec![figure("one"), figure("two")], &kinds, ONE_COLUMN).expect("it is drawn");
    let (first, second) = (draw(), draw());
    let names: Vec<&str> = first.iter().map(|own| own.name.as_str()).collect();
    let wanted = ["w-bars.svg", "w-bars.png", "w-bars.pdf", "w-bars_2.svg", "w-bars_2.png", "w-bars_2.pdf"];
    assert_eq!(names, wanted);
    for (one, other) in first.iter().zip(&second) {
        assert!(one.bytes == other.bytes, "{}", one.name);
    }
}

#[test]
fn a_figure_without_values_is_drawn_without_marks() {
    let all = plots(vec![with_value("none", &Value::Null)], &[Kind::Svg], ONE_COLUMN).expect("it is drawn");
    let svg = std::str::from_utf8(&all[0].bytes).expect("it is text");
    assert!(!svg.contains("NaN") && !svg.contains("undefined") && svg.contains(">mean of w</text>"), "{svg}");
}

#[test]
fn labels_of_any_characters_are_drawn() {
    let long = "supercalifragilistic".repeat(20);
    for label in [
        "\u{0}\u{1b}\u{ffff}\n",
        "]]></svg><script>",
        "{{datum}}'\"\\",
        "\u{1f600}\u{4f60}\u{202e}",
        " ",
        &long,
    ] {
        let all = plots(vec![figure(label)], &[Kind::Svg, Kind::Pdf], TWO_COLUMNS).expect("it is drawn");
        let svg = std::str::from_utf8(&all[0].bytes).expect("it is text");
        let tree = resvg::usvg::Tree::from_str(svg, &resvg::usvg::Options::default());
        assert!(tree.is_ok(), "{label:?}: {svg}");
        assert!(!svg.contains("<script") && !svg.contains('\u{0}'), "{label:?}: {svg}");
    }
}
