//! How much each component of a fit holds, as lines and tables.

use serde_json::Value;

use crate::table;

/// So many components are listed in a line.
const IN_A_LINE: usize = 6;
/// Groups beyond these make no table.
const MOST_GROUPS: usize = 8;
/// So many in a table.
const IN_A_TABLE: usize = 12;
/// A component with less in everything and in each group is not listed.
const ACTIVE: f64 = 0.01;

/// For each array and axis of components how many hold one percent or more, and the shares of the largest; from `components` of `summary.json`.
///
/// ```text
/// topic in counts: 12 of 12 hold 1 % or more of the units: 3 14.2 %, 7 11.0 %, ...
/// factor in x: 3 of 15 have 1 % or more of the variance, in percent
///   factor   all   rna  protein
///        2  41.3  50.1      9.8
/// ```
pub fn lines(components: &Value) -> String {
    let arrays = components.as_object().into_iter().flatten();
    let axes =
        arrays.flat_map(|(array, axes)| axes.as_object().into_iter().flatten().map(move |own| (array, own)));
    axes.map(|(array, (axis, own))| of_axis(array, axis, own)).collect()
}

fn of_axis(array: &str, axis: &str, own: &Value) -> String {
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().into_iter().flatten().map(|own| own.as_f64().unwrap_or(f64::NAN)).collect()
    };
    let shares = numbers(&own["shares"]);
    let label = |component: usize| own["labels"][component].as_str().unwrap_or_default();
    let groups: Vec<(&String, Vec<f64>)> =
        own["groups"].as_object().into_iter().flatten().map(|(label, own)| (label, numbers(own))).collect();
    let is_active = |component: &usize| {
        shares[*component] >= ACTIVE || groups.iter().any(|(_, own)| own[*component] >= ACTIVE)
    };
    let mut order: Vec<usize> = (0..shares.len()).filter(is_active).collect();
    order.sort_by(|one, other| shares[*other].total_cmp(&shares[*one]).then(one.cmp(other)));
    let measure = own["measure"].as_str().unwrap_or_default();
    let head =
        format!("{axis} in {array}: {} of {} have 1 % or more of the {measure}", order.len(), shares.len());
    if !(2..=MOST_GROUPS).contains(&groups.len()) {
        let each = order.iter().take(IN_A_LINE);
        let each: Vec<String> =
            each.map(|own| format!("{} {:.1} %", label(*own), 100.0 * shares[*own])).collect();
        let more = if order.len() > IN_A_LINE { ", ..." } else { "" };
        return match each.is_empty() {
            true => format!("{head}\n"),
            false => format!("{head}: {}{more}\n", each.join(", ")),
        };
    }
    let mut rows = vec![vec![format!("  {axis}"), "all".to_owned()]];
    rows[0].extend(groups.iter().map(|(label, _)| (*label).clone()));
    for component in order.iter().take(IN_A_TABLE) {
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let mut row = vec![format!("  {}", label(*component)), percent(shares[*component])];
        row.extend(groups.iter().map(|(_, own)| percent(own[*component])));
        rows.push(row);
    }
    let more = match order.len().saturating_sub(IN_A_TABLE) {
        0 => String::new(),
        more => format!("  ... and {more} more\n"),
    };
    format!("{head}, in percent\n{}{more}", table::aligned(&rows))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lines;

    #[test]
    fn shares_are_listed_and_tabled() {
        let one = json!({ "labels": ["0", "1", "2"], "measure": "units", "shares": [0.2, 0.799, 0.001], "groups": {} });
        assert_eq!(
            lines(&json!({ "n": { "topic": one } })),
            "topic in n: 2 of 3 have 1 % or more of the units: 1 79.9 %, 0 20.0 %\n"
        );
        let views = json!({
            "labels": ["0", "1", "2"], "measure": "variance", "shares": [0.2, 0.5, -0.001],
            "groups": { "a": [0.3, 0.5, 0.0], "bc": [0.0, 0.5, 0.0] },
        });
        assert_eq!(
            lines(&json!({ "x": { "factor": views } })),
            "factor in x: 2 of 3 have 1 % or more of the variance, in percent\n  factor   all     a    bc\n       1  50.0  50.0  50.0\n       0  20.0  30.0   0.0\n"
        );
    }
}
