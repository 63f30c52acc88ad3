//! The index of codes: what each error, note and warning means, with the smallest program that has it and one beside it that has not.
//!
//! An entry is one file, `codes/CODE.md`: a title, what the code means and why, then `## Wrong` and `## Right`, each with a program
//! and, where the mistake shows only with data, files and the commands. A test runs all of them, and holds the list to the codes in
//! the sources.

/// The entries: one for each code that a diagnostic has, in order.
macro_rules! entries {
    ($($code:ident)*) => {
        &[$(Entry { code: stringify!($code), text: include_str!(concat!("codes/", stringify!($code), ".md")) }),*]
    };
}

/// What the index says of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The code, as `E0310`.
    pub code: &'static str,
    text: &'static str,
}

/// A program, with what it needs to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The text of the program.
    pub program: &'static str,
    /// Files beside it: their names and texts.
    pub files: Vec<(&'static str, &'static str)>,
    /// The commands, one a line, in which the program is called `model.cavi`. Without one it is checked.
    pub commands: Option<&'static str>,
}

/// Stages in the order of their numbers: the first two digits of a code.
const STAGES: [(&str, &str); 9] = [
    ("01", "text"),
    ("02", "names"),
    ("03", "axes and letters"),
    ("04", "slices"),
    ("05", "arguments, types and options of data"),
    ("06", "posterior, start, schedule, report"),
    ("07", "derivation"),
    ("08", "fit"),
    ("09", "new data, scores, draws"),
];

/// All entries: errors, notes, warnings.
pub const ENTRIES: &[Entry] = entries! {
    E0101 E0102 E0103 E0104 E0105 E0106 E0107 E0108 E0109 E0110 E0111 E0112 E0113 E0114 E0115 E0116
    E0117 E0118 E0119 E0120 E0121 E0122 E0123 E0124 E0125 E0126 E0127 E0128 E0129 E0130 E0201 E0202
    E0203 E0204 E0205 E0206 E0207 E0208 E0209 E0210 E0211 E0212 E0213 E0215 E0216 E0219 E0220 E0301
    E0302 E0303 E0304 E0305 E0306 E0307 E0308 E0309 E0310 E0312 E0314 E0315 E0316 E0401 E0402 E0403
    E0404 E0405 E0406 E0407 E0408 E0409 E0501 E0502 E0503 E0504 E0505 E0506 E0507 E0508 E0509 E0510
    E0511 E0512 E0513 E0514 E0515 E0516 E0517 E0518 E0519 E0520 E0521 E0522 E0523 E0524 E0525 E0602 E0603 E0604
    E0605 E0606 E0607 E0608 E0609 E0610 E0611 E0612 E0613 E0614 E0615 E0616 E0617 E0618 E0701 E0702 E0703 E0704
    E0705 E0706 E0710 E0711 E0712 E0713 E0714 E0715 E0716 E0717 E0791 E0792 E0793 E0794 E0796 E0797 E0801
    E0802 E0803 E0804 E0805 E0806 E0901 E0902 E0903 E0904 E0905 E0906
    N0501 N0701 N0702 N0703 N0704 N0705 N0706 W0201 W0202 W0203 W0501 W0601
    W0602 W0603 W0604 W0701 W0702 W0703 W0801 W0802 W0803 W0804 W0805 W0806 W0807 W0808 W0809 W0810
    W0811 W0812 W0813
};

/// The entry of a code, in any case.
pub fn entry(code: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.code.eq_ignore_ascii_case(code))
}

/// The entry of a code, in any case and between blanks.
///
/// # Errors
/// That there is none, in words, with the codes near it: those that differ in one character, of the same stage first.
pub fn find(code: &str) -> Result<&'static Entry, String> {
    if let Some(found) = entry(code.trim()) {
        return Ok(found);
    }
    let upper: Vec<char> = code.trim().to_uppercase().chars().collect();
    let differing = |own: &str| own.chars().zip(&upper).filter(|(one, other)| one != *other).count();
    let mut near: Vec<&str> =
        ENTRIES.iter().map(|entry| entry.code).filter(|own| own.len() == upper.len()).collect();
    near.retain(|own| differing(own) == 1);
    near.sort_by_key(|own| (!own.chars().take(3).eq(upper.iter().copied().take(3)), *own));
    near.truncate(5);
    let hint = match near.as_slice() {
        [] => "a code is a letter and four digits, as in `error[E0310]`; `cavi explain` lists all".to_owned(),
        near => format!("near it: {}; `cavi explain` lists all", near.join(", ")),
    };
    Err(format!("no diagnostic has the code `{code}`\n  {hint}"))
}

/// All codes with their titles, a line each, under the stages in which they are given.
pub fn list() -> String {
    let mut text = String::new();
    let mut stages: Vec<&str> = Vec::new();
    for entry in ENTRIES {
        if !stages.contains(&entry.stage()) {
            stages.push(entry.stage());
        }
    }
    for stage in stages {
        text += &format!("{}{stage}\n", if text.is_empty() { "" } else { "\n" });
        for entry in ENTRIES.iter().filter(|entry| entry.stage() == stage) {
            text += &format!("  {}  {}\n", entry.code, entry.title());
        }
    }
    text
}

/// Every line four blanks to the right; a line that is too long to be read is cut.
fn indented(text: &str) -> String {
    let line = |line: &str| match line.chars().count() {
        0..=200 => format!("    {line}\n"),
        _ => format!("    {} ...\n", line.chars().take(80).collect::<String>()),
    };
    text.lines().map(line).collect()
}

impl Entry {
    /// All that the index says of it, for a reader.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n\n{}\n", self.code, self.title(), self.meaning());
        // What is noted is not wrong.
        let headings =
            if self.code.starts_with('N') { ["with this note", "without it"] } else { ["wrong", "right"] };
        for (heading, example) in headings.into_iter().zip([self.wrong(), self.right()]) {
            let Some(Example { program, files, commands }) = example else { continue };
            text += &format!("\n{heading}:\n\n{}", indented(program));
            for (name, content) in files {
                text += &format!("\n  {name}:\n\n{}", indented(content));
            }
            if let Some(commands) = commands {
                let lines: Vec<String> = commands.lines().map(|line| format!("$ {line}\n")).collect();
                text += &format!("\n{}", indented(&lines.concat()));
            }
        }
        text
    }

    /// Where a program is when it gets this code, in words.
    pub fn stage(&self) -> &'static str {
        let number = &self.code[1..3];
        STAGES.iter().find(|(own, _)| *own == number).map_or("others", |(_, stage)| stage)
    }

    /// One sentence.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// What the code means, why Cavi refuses it or warns of it: paragraphs.
    pub fn meaning(&self) -> &'static str {
        let rest = self.text.split_once('\n').map_or("", |(_, rest)| rest);
        rest.split("\n## ").next().unwrap_or_default().trim()
    }

    /// The smallest program that gets this code. Where none can be written down (another processor is needed, say), there is none.
    pub fn wrong(&self) -> Option<Example> {
        self.example("Wrong")
    }

    /// The program beside it that gets no error.
    pub fn right(&self) -> Option<Example> {
        self.example("Right")
    }

    /// The fenced blocks below a heading.
    fn example(&self, heading: &str) -> Option<Example> {
        let section =
            self.text.split("\n## ").find_map(|own| own.strip_prefix(heading)?.strip_prefix('\n'))?;
        let mut example = Example::default();
        // Between fences stand, in turn, what is outside of a block and what is inside.
        for block in section.split("```").skip(1).step_by(2) {
            let (kind, text) = block.split_once('\n').unwrap_or((block, ""));
            match kind.split_once(' ') {
                Some((_, name)) => example.files.push((name, text)),
                None if kind == "sh" => example.commands = Some(text.trim_end()),
                None => example.program = text,
            }
        }
        Some(example)
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES, entry};

    #[test]
    fn entries_have_a_title_a_meaning_and_a_stage() {
        for entry in ENTRIES {
            assert!(entry.title().ends_with('.') && entry.title().len() < 100, "{}", entry.code);
            assert!(entry.meaning().len() > 20, "{}", entry.code);
            assert_ne!(entry.stage(), "others", "{}", entry.code);
            assert_eq!(entry.wrong().is_some(), entry.right().is_some(), "{}", entry.code);
        }
        assert!(ENTRIES.is_sorted_by_key(|entry| entry.code));
    }

    #[test]
    fn a_code_is_found_in_any_case() {
        let found = entry("e0310").expect("it has an entry");
        assert_eq!(found.code, "E0310");
        assert!(
            found.wrong().is_some_and(|own| own.program.starts_with("axis") && own.program.ends_with('\n'))
        );
        assert!(entry("E9999").is_none());
    }
}
