//! How much of the data a fit explains, as lines.

use serde_json::Value;

/// So many groups are shown; `summary.json` has all.
const GROUPS: usize = 6;

/// `explains 83.1 % of the variance of x about its column means (rna 90.2 %, protein 40.0 %)`, a line for each array; from `explained` of `summary.json`.
pub fn lines(explained: &Value) -> String {
    explained.as_object().into_iter().flatten().map(|(name, own)| line(name, own)).collect()
}

fn line(name: &str, own: &Value) -> String {
    let measure = own["measure"].as_str().unwrap_or_default();
    let Some(share) = own["share"].as_f64() else { return String::new() };
    let mut groups: Vec<String> = own["groups"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(label, share)| Some(format!("{label} {}", percent(share.as_f64()?))))
        .collect();
    if groups.len() > GROUPS + 1 {
        groups.truncate(GROUPS);
        groups.push("...".to_owned());
    }
    let groups = if groups.is_empty() { String::new() } else { format!(" ({})", groups.join(", ")) };
    let (compared, all) = (own["n_compared"].as_u64(), own["n_entries"].as_u64());
    let sample = match (compared, all) {
        (Some(compared), Some(all)) if compared < all => format!(", by {compared} of {all} entries"),
        _ => String::new(),
    };
    let about = own["about"].as_str().unwrap_or_default();
    format!("explains {} of the {measure} of {name} about its {about}{groups}{sample}\n", percent(share))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::line;

    #[test]
    fn a_few_groups_are_shown() {
        let of = |count: usize| {
            let groups: serde_json::Map<_, _> =
                (0..count).map(|own| (format!("g{own}"), json!(0.5))).collect();
            line("x", &json!({"measure": "variance", "about": "mean", "share": 0.5, "groups": groups}))
        };
        assert!(of(7).contains("g6 50.0 %)") && !of(7).contains("..."));
        assert!(
            of(2000).ends_with("(g0 50.0 %, g1 50.0 %, g2 50.0 %, g3 50.0 %, g4 50.0 %, g5 50.0 %, ...)\n")
        );
    }
}
