//! How a chart looks on paper: the light theme of the page.
//!
//! Charts are laid out in the pixels of the page, of which one is two thirds of a point: text of 12 pixels is set in 8 points, the lines of a
//! chart are as thin as journals ask for, and a column of 85 mm is as wide as the page of a phone.

use serde_json::{Value, json};

use crate::font::FAMILIES;

/// Pixels of a layout in a millimetre: 72 / 25.4 points of 3 / 2 pixels.
pub(crate) const PIXELS_PER_MM: f64 = 72.0 / 25.4 * 1.5;
/// The room around a chart.
pub(crate) const PADDING: f64 = 2.0;
/// The size of text in pixels: 8 points.
pub(crate) const TEXT: f64 = 12.0;
/// The size of labels that stand close: 7 points.
pub(crate) const SMALL: f64 = 10.5;
/// The label of a legend is cut where it is wider.
pub(crate) const LEGEND: f64 = 160.0;
/// The colour of text and labels.
pub(crate) const INK: &str = "#1b1f24";
/// The colour of titles of axes.
pub(crate) const QUIET: &str = "#4d5661";
/// The colour of lines behind the data.
pub(crate) const LINE: &str = "#d4d9df";
/// The colours of classes, told apart by people who see no red or no green.
pub(crate) const CATEGORIES: [&str; 7] =
    ["#0068a8", "#c04b00", "#00785a", "#ab4a84", "#7a6200", "#4b4fae", "#5a5f66"];
/// The colours of values from 0 on.
pub(crate) const SEQUENTIAL: [u32; 9] =
    [0xfdfdf0, 0xedf8b1, 0xc7e9b4, 0x7fcdbb, 0x41b6c4, 0x1d91c0, 0x225ea8, 0x253494, 0x081d58];
/// The colours of values on both sides of 0.
pub(crate) const DIVERGING: [u32; 9] =
    [0x7f3b08, 0xb35806, 0xe08214, 0xfdb863, 0xf7f7f7, 0x92c5de, 0x4393c3, 0x2166ac, 0x053061];

/// The settings of a chart of Vega-Lite that is this wide, in pixels. `extent` is how much room the labels of its vertical axis have at least,
/// `columns` how many entries of a legend stand beside each other.
pub(crate) fn config(width: f64, extent: f64, columns: usize) -> Value {
    json!({
        "background": null,
        "font": FAMILIES,
        "padding": PADDING,
        // The title and the note of a figure describe it; a text for each mark would be most of the file.
        "aria": false,
        "autosize": { "type": "fit-x", "contains": "padding" },
        "view": { "stroke": null },
        "mark": { "color": CATEGORIES[0] },
        "rule": { "color": CATEGORIES[0] },
        "axis": {
            "labelColor": INK, "titleColor": QUIET, "gridColor": LINE, "domainColor": QUIET, "tickColor": QUIET,
            // Labels of lists are cut before, by what the font says of their widths.
            "labelLimit": 0, "labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal",
            "titlePadding": 6, "labelSeparation": 3,
        },
        "axisQuantitative": { "labelFlush": false },
        "axisTemporal": { "labelFlush": false },
        "axisLeft": { "minExtent": extent },
        "legend": {
            "labelColor": INK, "titleColor": QUIET, "labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal",
            "orient": "top", "direction": "horizontal", "columns": columns, "labelLimit": LEGEND,
            "gradientLength": (0.5 * width).min(200.0), "gradientThickness": 8,
        },
        "range": { "category": CATEGORIES },
    })
}

/// A colour between the stops of a scale, `at` from 0 to 1.
pub(crate) fn between(stops: &[u32; 9], at: f64) -> u32 {
    let at = at.clamp(0.0, 1.0) * 8.0;
    let from = (at.floor() as usize).min(7);
    let part = |shift: u32| {
        let of = |place: usize| f64::from(stops[place] >> shift & 0xff);
        ((of(from) + (of(from + 1) - of(from)) * (at - from as f64)).round() as u32) << shift
    };
    part(16) | part(8) | part(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_page() {
        let style = include_str!("../../cavi-report/assets/page.css");
        let light = style.split("@media").next().expect("the light theme is first");
        for colour in CATEGORIES.into_iter().chain([INK, QUIET, LINE]) {
            assert!(light.contains(colour), "{colour}");
        }
        let script = include_str!("../../cavi-report/assets/page.js");
        for stops in [SEQUENTIAL, DIVERGING] {
            let listed: Vec<String> = stops.iter().map(|own| format!("'{own:06x}'")).collect();
            assert!(script.contains(&format!("light: [{}]", listed.join(", "))), "{listed:?}");
        }
    }

    #[test]
    fn colours_lie_between_their_stops() {
        assert_eq!([between(&SEQUENTIAL, 0.0), between(&SEQUENTIAL, 1.0)], [0xfdfdf0, 0x081d58]);
        assert_eq!(between(&DIVERGING, 0.5), 0xf7f7f7);
    }
}
