//! Names of files, after the variable and the chart.

use std::collections::BTreeSet;

/// A name has so many characters.
const MOST: usize = 60;

/// The names that are taken.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// A name for a file: letters and digits as they are, all else `-`. One that is taken gets a number, also where only the case of letters
    /// tells it apart, since some file systems do not.
    pub fn of(&mut self, text: &str) -> String {
        let part = |own: char| if own.is_alphanumeric() || own == '_' { own } else { '-' };
        let words: String = text.chars().map(part).take(MOST).collect();
        let words: Vec<&str> = words.split('-').filter(|own| !own.is_empty()).collect();
        let base = words.join("-");
        let base = if base.is_empty() { "plot".to_owned() } else { base };
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let free =
            std::iter::once(base.clone()).chain(numbered).find(|own| self.0.insert(own.to_lowercase()));
        free.unwrap_or(base)
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_of_letters_and_told_apart() {
        let mut names = Names::default();
        let all = ["w[rna]-heat", "W-bars", "w-bars", "../../x", "θ-heat", "///"].map(|own| names.of(own));
        assert_eq!(all, ["w-rna-heat", "W-bars", "w-bars_2", "x", "θ-heat", "plot"]);
    }
}
