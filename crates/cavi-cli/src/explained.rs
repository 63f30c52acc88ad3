//! How much of the data a fit explains, as lines.

use serde_json::Value;

/// `explains 83.1 % of the variance of x about its column means (rna 90.2 %, protein 40.0 %)`, a line for each array; from `explained` of `summary.json`.
pub fn lines(explained: &Value) -> String {
    explained.as_object().into_iter().flatten().map(|(name, own)| line(name, own)).collect()
}

fn line(name: &str, own: &Value) -> String {
    let measure = own["measure"].as_str().unwrap_or_default();
    let Some(share) = own["share"].as_f64() else { return String::new() };
    let groups: Vec<String> = own["groups"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(label, share)| Some(format!("{label} {}", percent(share.as_f64()?))))
        .collect();
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
