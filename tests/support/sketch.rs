//! A program that can be made smaller: lines with alternatives, of which only those are written that something observed needs.
//!
//! In the text of a line `{own|simpler}` stands for `own`, and for `simpler` once it is shrunk. What observes data and what
//! departs from the default (`posterior`, `sweep`) may be dropped; every other line is written if a written line names what it
//! declares. So every sketch that is smaller is a whole program again.

use std::collections::BTreeSet;

/// A line of a sketch.
#[derive(Clone, Debug)]
struct Line {
    /// What it declares, its letters included; none if it may be dropped.
    declares: Vec<String>,
    text: String,
}

/// A program with alternatives.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    axes: Vec<Line>,
    support: Vec<Line>,
    likelihoods: Vec<String>,
    posterior: Vec<String>,
    /// Groups of variables, with how often each is repeated.
    sweep: Vec<(Vec<String>, usize)>,
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

/// The first `{own|simpler}` from a place on: where it starts and ends, and its two texts.
fn alternative(text: &str, from: usize) -> Option<(usize, usize, &str, &str)> {
    let start = from + text[from..].find('{')?;
    let (mut depth, mut bar) = (0, start);
    for (place, letter) in text[start..].char_indices() {
        match letter {
            '{' => depth += 1,
            '|' if depth == 1 => bar = start + place,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let end = start + place;
            return Some((start, end, &text[start + 1..bar], &text[bar + 1..end]));
        }
    }
    panic!("an alternative is closed: {text}");
}

/// The text with its own alternatives.
fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some((start, end, own, _)) = alternative(&text, 0) {
        text = format!("{}{own}{}", &text[..start], &text[end + 1..]);
    }
    text
}

/// The texts with one alternative shrunk.
fn simpler(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((start, end, _, simpler)) = alternative(text, from) {
        found.push(format!("{}{simpler}{}", &text[..start], &text[end + 1..]));
        from = start + 1;
    }
    found
}

impl Sketch {
    /// Adds an axis of one or two letters.
    pub fn axis(&mut self, name: &str, letters: &[&str], text: &str) {
        let declares = letters.iter().chain([&name]).map(|word| (*word).to_owned()).collect();
        self.axes.push(Line { declares, text: text.to_owned() });
    }

    /// Adds data, a constant or the statement of a latent.
    pub fn declare(&mut self, name: &str, text: String) {
        self.support.push(Line { declares: vec![name.to_owned()], text });
    }

    /// Adds the statement of observed data.
    pub fn observe(&mut self, text: String) {
        self.likelihoods.push(text);
    }

    /// Adds a line of `posterior { }`.
    pub fn depart(&mut self, text: String) {
        self.posterior.push(text);
    }

    /// Adds an item of the sweep.
    pub fn visit(&mut self, group: Vec<String>, repeat: usize) {
        self.sweep.push((group, repeat));
    }

    /// The program.
    pub fn text(&self) -> String {
        let likelihoods: Vec<String> = self.likelihoods.iter().map(|text| plain(text)).collect();
        let mut named: BTreeSet<String> =
            likelihoods.iter().flat_map(|text| words(text)).map(str::to_owned).collect();
        let lines: Vec<(&Line, String)> =
            self.axes.iter().chain(&self.support).map(|line| (line, plain(&line.text))).collect();
        let mut written = vec![false; lines.len()];
        loop {
            let next = (0..lines.len())
                .find(|own| !written[*own] && lines[*own].0.declares.iter().any(|name| named.contains(name)));
            let Some(next) = next else { break };
            written[next] = true;
            named.extend(words(&lines[next].1).map(str::to_owned));
        }
        let mut text = String::new();
        let mut add = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        lines.iter().zip(&written).filter(|(_, written)| **written).for_each(|((_, line), _)| add(line));
        likelihoods.iter().for_each(|line| add(line));
        let gone = |name: &str| {
            let declared = self.support.iter().any(|line| line.declares[0] == name);
            declared && !named.contains(name)
        };
        let posterior: Vec<String> =
            self.posterior.iter().map(|text| plain(text)).filter(|text| !words(text).any(&gone)).collect();
        if !posterior.is_empty() {
            add("posterior {");
            posterior.iter().for_each(|line| add(&format!("  {line}")));
            add("}");
        }
        let items: Vec<String> = self
            .sweep
            .iter()
            .filter_map(|(group, repeat)| {
                let members: Vec<&str> =
                    group.iter().map(String::as_str).filter(|name| !gone(name)).collect();
                let item = match members.as_slice() {
                    [] => return None,
                    [one] => (*one).to_owned(),
                    several => format!("({})", several.join(", ")),
                };
                Some(if *repeat > 1 { format!("{item} repeat {repeat}") } else { item })
            })
            .collect();
        if !items.is_empty() {
            add("fit {");
            add(&format!("  sweep {}", items.join(", ")));
            add("}");
        }
        text
    }

    /// Every sketch that is smaller by one step.
    fn smaller(&self) -> Vec<Sketch> {
        let mut found = Vec::new();
        let mut with = |change: &dyn Fn(&mut Sketch)| {
            let mut sketch = self.clone();
            change(&mut sketch);
            found.push(sketch);
        };
        (0..self.likelihoods.len()).for_each(|own| with(&|sketch| drop(sketch.likelihoods.remove(own))));
        if !self.sweep.is_empty() {
            with(&|sketch| sketch.sweep.clear());
        }
        (0..self.sweep.len()).for_each(|own| with(&|sketch| drop(sketch.sweep.remove(own))));
        (0..self.posterior.len()).for_each(|own| with(&|sketch| drop(sketch.posterior.remove(own))));
        for (own, text) in self.likelihoods.iter().enumerate() {
            simpler(text)
                .into_iter()
                .for_each(|text| with(&|sketch| sketch.likelihoods[own].clone_from(&text)));
        }
        for (own, line) in self.support.iter().enumerate() {
            let texts = simpler(&line.text);
            texts.into_iter().for_each(|text| with(&|sketch| sketch.support[own].text.clone_from(&text)));
        }
        found
    }

    /// The smallest sketch that still fails, each step the first of those that are smaller and fail.
    pub fn shrunk(&self, fails: &dyn Fn(&Sketch) -> bool) -> Sketch {
        let mut own = self.clone();
        let mut seen = BTreeSet::from([own.text()]);
        'steps: loop {
            for next in own.smaller() {
                if seen.insert(next.text()) && fails(&next) {
                    own = next;
                    continue 'steps;
                }
            }
            return own;
        }
    }
}
