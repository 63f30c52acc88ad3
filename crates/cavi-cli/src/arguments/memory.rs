//! Sizes of memory as options state them, `2GB`, `500MiB`, `1.5G`, and which commands take one.

use std::path::Path;

use super::Command;

/// The units, by their names in lower case: of 1000 as in the figures of `cavi plan`, and of 1024 with an `i`.
const UNITS: [(&str, f64); 14] = [
    ("", 1.0),
    ("b", 1.0),
    ("k", 1e3),
    ("kb", 1e3),
    ("m", 1e6),
    ("mb", 1e6),
    ("g", 1e9),
    ("gb", 1e9),
    ("t", 1e12),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];

/// The bytes that a size states: a number above 0 and a unit, `2GB` or `2 GB`; without a unit they are bytes.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let expected = || "expected a size above 0, such as `2GB`, `500MiB` or `1.5G`".to_owned();
    let digits = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (number, unit) = text.split_at(text.find(|letter| !digits(letter)).unwrap_or(text.len()));
    let unit = unit.trim().to_ascii_lowercase();
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(expected)?;
    let bytes = number.parse::<f64>().map_err(|_| expected())? * unit;
    if 1.0 <= bytes && bytes < usize::MAX as f64 { Ok(bytes as usize) } else { Err(expected()) }
}

impl Command {
    /// The most bytes that it may take, if that is asked for, and where what exceeds them lies.
    pub fn memory(&self) -> (Option<usize>, Option<&Path>) {
        let inputs = match self {
            Command::Plan(own) => &own.inputs,
            Command::Pack(own) => &own.inputs,
            Command::Fit(own) => &own.inputs,
            Command::Score(own) => &own.inputs,
            Command::Project(own) => &own.inputs,
            Command::Simulate(own) => &own.inputs,
            Command::Impute(own) => &own.inputs,
            Command::Choose(own) => &own.inputs,
            Command::Compare(own) => &own.inputs,
            Command::Top(own) => &own.ranking.inputs,
            Command::CheckFit(own) => &own.inputs,
            Command::Calibrate(own) => &own.inputs,
            Command::Sample(own) => &own.inputs,
            Command::Intervals(own) => &own.inputs,
            Command::List
            | Command::Show { .. }
            | Command::Check(_)
            | Command::Fmt(_)
            | Command::Derive(_)
            | Command::Graph(_)
            | Command::Data(_)
            | Command::Demo(_)
            | Command::Report(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Export(_)
            | Command::Summary(_)
            | Command::Match(_)
            | Command::Explain(_) => return (None, None),
        };
        (inputs.memory_limit, inputs.scratch.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_numbers_with_units() {
        let sizes = ["2GB", "500MiB", "1.5G", "4096", "10 kb", "1TiB", ".5g"].map(size);
        let bytes = [2_000_000_000, 524_288_000, 1_500_000_000, 4096, 10_000, 1 << 40, 500_000_000];
        assert_eq!(sizes, bytes.map(Ok));
    }

    #[test]
    fn what_is_no_size_is_answered_with_some() {
        for text in
            ["", "GB", "0", "0.1", "-1GB", "2XB", "1e9", "2GB3", "inf", "NaN", "1.2.3G", "99999999999TB"]
        {
            assert!(size(text).is_err_and(|message| message.contains("`2GB`")), "{text}");
        }
    }
}
