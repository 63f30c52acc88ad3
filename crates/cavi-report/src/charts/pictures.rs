//! Components as pictures, by a line `image` of the program.

use serde_json::{Value, json};

use crate::figure::{Axes, Figure, Table};
use crate::html::base64;

/// A picture for each component: `rows` are their names with a value for each pixel, row by row.
pub(crate) fn figure(variable: &str, height: usize, width: usize, rows: &[(String, Vec<f64>)]) -> Figure {
    let item = |(name, values): &(String, Vec<f64>)| {
        let least = values.iter().copied().fold(0.0, f64::min);
        let most = values.iter().copied().fold(least, f64::max);
        let shade = |own: &f64| if most > least { (255.0 * (own - least) / (most - least)) as u8 } else { 0 };
        let pixels: Vec<u8> = values.iter().map(shade).collect();
        json!({ "name": name, "pixels": base64(&pixels) })
    };
    let cells = rows.iter().map(|(name, values)| {
        let (place, most) =
            values.iter().enumerate().fold((0, f64::NEG_INFINITY), |(place, most), (own, value)| {
                if *value > most { (own, *value) } else { (place, most) }
            });
        let at = |own: usize| (own + 1).to_string();
        vec![name.clone(), at(place / width), at(place % width), crate::html::number(most)]
    });
    Figure {
        name: format!("{variable}-pictures"),
        axes: Axes::default(),
        title: format!("{variable} as pictures"),
        note: format!(
            "{height} x {width} pixels each, from dark (0, or the least value if that is negative) to bright (the largest of its picture)."
        ),
        drawing: json!({ "kind": "pictures", "height": height, "width": width, "items": rows.iter().map(item).collect::<Vec<Value>>() }),
        table: Table::new(
            &["component", "row of the brightest", "column of the brightest", "its value"],
            1,
            cells,
        ),
    }
}
