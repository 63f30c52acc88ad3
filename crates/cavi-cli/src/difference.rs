//! The lines in which two texts differ, as `diff` shows them.

/// The most lines of a difference that are shown.
const SHOWN: usize = 60;
/// The most pairs of lines that are compared; texts that differ by more have little in common.
const MOST_COMPARED: usize = 4_000_000;

/// `- line` for each line that only `old` has and `+ line` for each that only `new` has, in order, with the number of the line
/// of `old` where each run begins; `None` where the texts are the same.
pub fn difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let alike = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let before = old.iter().zip(&new).take_while(alike).count();
    let behind = old[before..].iter().rev().zip(new[before..].iter().rev()).take_while(alike).count();
    let (left, right) = (&old[before..old.len() - behind], &new[before..new.len() - behind]);
    if left.len().saturating_mul(right.len()) > MOST_COMPARED {
        let removed = left.iter().map(|line| format!("- {line}"));
        let added = right.iter().map(|line| format!("+ {line}"));
        return Some(shown(
            [format!("line {}:", before + 1)].into_iter().chain(removed).chain(added).collect(),
        ));
    }
    // The length of the longest common subsequence of what is left from each pair of places on.
    let mut common = vec![vec![0_usize; right.len() + 1]; left.len() + 1];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            common[i][j] = match left[i] == right[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let mut lines: Vec<String> = Vec::new();
    let (mut i, mut j, mut run) = (0, 0, false);
    while i < left.len() || j < right.len() {
        if i < left.len() && j < right.len() && left[i] == right[j] {
            (i, j, run) = (i + 1, j + 1, false);
            continue;
        }
        if !run {
            lines.push(format!("line {}:", before + i + 1));
            run = true;
        }
        if j == right.len() || i < left.len() && common[i + 1][j] >= common[i][j + 1] {
            lines.push(format!("- {}", left[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", right[j]));
            j += 1;
        }
    }
    if lines.is_empty() {
        lines.push("only the end of the last line differs".to_owned());
    }
    Some(shown(lines))
}

/// The first of the lines, and how many more there are.
fn shown(mut lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("... and {more} more lines"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn what_differs_is_shown_with_its_place() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\nc\n", "a\nx\nc\n").as_deref(), Some("line 2:\n- b\n+ x\n"));
        assert_eq!(difference("a\nc\n", "a\nb\nc\n").as_deref(), Some("line 2:\n+ b\n"));
        assert_eq!(difference("a\nb\nc\nd\n", "b\nc\n").as_deref(), Some("line 1:\n- a\nline 4:\n- d\n"));
        let long: String = (0..3_000).map(|line| format!("{line}\n")).collect();
        let other: String = (0..3_000).map(|line| format!("x{line}\n")).collect();
        let found = difference(&long, &other).expect("they differ");
        assert!(
            found.starts_with("line 1:\n- 0\n- 1\n") && found.ends_with("... and 5941 more lines\n"),
            "{found}"
        );
        assert_eq!(difference("a", "a\n").as_deref(), Some("only the end of the last line differs\n"));
    }
}
