//! Labels that stand twice: refused, or kept apart.

use std::collections::{HashMap, HashSet};

use super::table::check_label;
use crate::error::{FileError, count, list};

/// Labels none of which stands twice. Where `keeps_apart`, the second of a label gets `-1`, the third `-2`, and so on, a label
/// that another has being passed over, as `var_names_make_unique` of anndata does.
///
/// # Errors
/// Labels that stand twice, and are not to be kept apart; empty ones.
pub(crate) fn labels(
    mut labels: Vec<String>,
    keeps_apart: bool,
    what: &str,
) -> Result<Vec<String>, FileError> {
    let in_what = |mut error: FileError| {
        error.found = format!("{} among the names of {what}", error.found);
        error
    };
    labels.iter().try_for_each(|label| check_label(label)).map_err(in_what)?;
    let mut known: HashSet<&str> = HashSet::with_capacity(labels.len());
    let repeated: Vec<bool> = labels.iter().map(|label| !known.insert(label)).collect();
    let times = repeated.iter().filter(|again| **again).count();
    if times == 0 {
        return Ok(labels);
    }
    if !keeps_apart {
        let mut names: Vec<&str> =
            labels.iter().zip(&repeated).filter(|own| *own.1).map(|own| own.0.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(FileError::new(
            format!(
                "{} more than once among the names of {what}: {}",
                count(names.len(), "label"),
                list(&names)
            ),
            "a label of its own for each",
        )
        .with_help("`--unique` keeps them apart as `NAME`, `NAME-1`, `NAME-2`, ..."));
    }
    let mut all: HashSet<String> = known.into_iter().map(str::to_owned).collect();
    let mut next: HashMap<String, usize> = HashMap::new();
    for (label, _) in labels.iter_mut().zip(repeated).filter(|own| own.1) {
        let number = next.entry(label.clone()).or_insert(1);
        let mut name = format!("{label}-{number}");
        while !all.insert(name.clone()) {
            *number += 1;
            name = format!("{label}-{number}");
        }
        *number += 1;
        *label = name;
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of `anndata.utils.make_index_unique`.
    #[test]
    fn labels_are_kept_apart_as_anndata_does() {
        let of =
            |all: &[&str]| labels(all.iter().map(|own| (*own).to_owned()).collect(), true, "`var`").unwrap();
        assert_eq!(of(&["a", "b", "a", "a"]), ["a", "b", "a-1", "a-2"]);
        assert_eq!(of(&["a", "a", "a-1", "a"]), ["a", "a-2", "a-1", "a-3"]);
        let error = labels(vec!["a".to_owned(), "a".to_owned()], false, "`var`").unwrap_err();
        assert!(error.to_string().contains("--unique"), "{error}");
    }
}
