//! Tables of `.txt` and `.all` files, such as catalogues of mutations: fields parted by tabs, or by runs of blanks.

use std::borrow::Cow;

/// The same lines with fields parted by tabs. A text with a tab in its first line is left as it is; in another one, runs of blanks
/// outside of quotation marks become tabs. Where the first line has one field less than the second and all lines below it end with a tab, that is what is
/// one too many.
pub(crate) fn tabbed(text: &str) -> Cow<'_, str> {
    let parted = match text.lines().find(|line| !line.trim().is_empty()) {
        Some(line) if !line.contains('\t') => Cow::Owned(by_tabs(text)),
        Some(_) | None => Cow::Borrowed(text),
    };
    let mut lines = parted.lines().filter(|line| !line.is_empty());
    let fields = |line: Option<&str>| line.map_or(0, |line| line.split('\t').count());
    let (first, second) = (fields(lines.next()), fields(lines.next()));
    if first == 0 || first + 1 != second {
        return parted;
    }
    let mut below = parted.lines().filter(|line| !line.is_empty()).skip(1);
    match below.all(|line| line.ends_with('\t')) {
        true => Cow::Owned(without_last_tabs(&parted)),
        false => parted,
    }
}

/// The same lines without a tab at their ends.
fn without_last_tabs(text: &str) -> String {
    text.lines().flat_map(|line| [line.strip_suffix('\t').unwrap_or(line), "\n"]).collect()
}

fn by_tabs(text: &str) -> String {
    let mut parted = String::with_capacity(text.len());
    for line in text.lines() {
        let (mut quoted, mut pending) = (false, false);
        for own in line.trim().chars() {
            quoted ^= own == '"';
            if own == ' ' && !quoted {
                pending = true;
                continue;
            }
            if std::mem::take(&mut pending) {
                parted.push('\t');
            }
            parted.push(own);
        }
        parted.push('\n');
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_become_tabs() {
        assert_eq!(tabbed("a b\n1  2 \n\n 3 4\n"), "a\tb\n1\t2\n\n3\t4\n");
        assert_eq!(tabbed("a\tb c\n1\t2\n"), "a\tb c\n1\t2\n");
        assert_eq!(tabbed("\"a b\" c\nr1 1 2\n"), "\"a b\"\tc\nr1\t1\t2\n");
        assert_eq!(tabbed("a\tb\n1\t2\t\n3\t4\t\n"), "a\tb\n1\t2\n3\t4\n");
        assert_eq!(tabbed("a\tb\n1\t2\t\n3\t4\t5\n"), "a\tb\n1\t2\t\n3\t4\t5\n");
        assert_eq!(tabbed(""), "");
    }
}
