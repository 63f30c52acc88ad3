//! Which word was meant?

/// The candidate nearest to a misspelt word, if one is near enough to be meant.
///
/// A candidate that differs only in case wins. Otherwise it may differ by one insertion, deletion, substitution or swap of
/// neighbours for every three letters; of several the first of the nearest is taken.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower: Vec<char> = word.chars().flat_map(char::to_lowercase).take(MAX_LENGTH + 1).collect();
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).take(MAX_LENGTH + 1).collect();
        if lower.len() > MAX_LENGTH || other.len() > MAX_LENGTH {
            continue;
        }
        let allowed = lower.len().max(other.len()) / 3;
        let distance = distance(&lower, &other);
        if distance <= allowed && best.is_none_or(|(nearest, _)| distance < nearest) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Words longer than this get no suggestion.
const MAX_LENGTH: usize = 64;

/// The number of insertions, deletions, substitutions and swaps of neighbours (Damerau and Levenshtein, each place
/// edited once).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitution = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_are_found() {
        let words = ["model", "axis", "data", "const", "posterior"];
        let check = |word: &str| nearest(word, words.iter().copied());
        assert_eq!(check("axsi"), Some("axis"));
        assert_eq!(check("Data"), Some("data"));
        assert_eq!(check("constant"), None);
        assert_eq!(check("cnst"), Some("const"));
        assert_eq!(check("posteriro"), Some("posterior"));
        assert_eq!(check("theta"), None);
        assert_eq!(check(""), None);
    }

    #[test]
    fn short_names_match_only_up_to_case() {
        assert_eq!(nearest("n", ["k", "N"].into_iter()), Some("N"));
        assert_eq!(nearest("mu", ["nu", "tau"].into_iter()), None);
    }

    #[test]
    fn equality_up_to_case_wins() {
        assert_eq!(nearest("gamma", ["gamme", "Gamma"].into_iter()), Some("Gamma"));
    }
}
