//! Groups of ragged axes as files and options name them: `--data 'x[rna]=rna.csv'`, `--set 'feat[rna]=4'`, columns of a long table.

use cavi_algebra::{AxisId, LetterId, Symbols};
use cavi_files::{Content, MISSING};

use super::axes::Axes;
use super::data_error::DataError;
use super::inputs::{Inputs, SetValue};
use super::pieces::{Piece, split_path};
use super::suspicions::labels_of;

impl Axes {
    /// Refuses sizes that `--set` gives to groups that the axis does not have.
    pub(super) fn refuse_unknown_groups(
        &self,
        symbols: &Symbols,
        inputs: &Inputs,
        axis: AxisId,
        problems: &mut Vec<DataError>,
    ) {
        let name = &symbols.axis(axis).name;
        for input in inputs.set.iter().filter(|input| input.name == *name) {
            let (SetValue::Number(value), Some(group)) = (&input.value, &input.group) else { continue };
            let option = format!("`--set '{name}[{group}]={value}'`");
            let Some(parent) = symbols.axis(axis).parent else {
                let problem = DataError::new(format!("{option} names a group, and `{name}` has none"));
                problems.push(problem.help(format!("`--set {name}={value}`")));
                continue;
            };
            match split_path(symbols, axis, group) {
                Err(problem) => problems.push(problem),
                Ok(path) if self.find_path(symbols, parent, &path).is_none() => {
                    let problem =
                        format!("{option}: axis `{}` has no group `{group}`", symbols.axis(parent).name);
                    let groups = 0..self.bound[parent.index()].size;
                    let known: Vec<String> =
                        groups.map(|group| self.path(symbols, parent, group).join("/")).collect();
                    let known: Vec<&str> = known.iter().map(String::as_str).collect();
                    problems.push(DataError::unknown(problem, group, &known));
                }
                Ok(_) => {}
            }
        }
    }
}

/// A file of a group that its axis does not have.
pub(super) fn unknown_group(symbols: &Symbols, piece: &Piece, parent: AxisId, path: &[String]) -> DataError {
    let (name, group) = (&symbols.array(piece.array).name, path.join("/"));
    DataError::new(format!(
        "`{name}[{group}]` ({}): axis `{}` has no group `{group}`",
        piece.name(),
        symbols.axis(parent).name
    ))
    .help("write the group as its labels do, capitals included, or add it to them")
}

/// The axes that a file says something of: those of its dimensions, and those above a ragged one.
pub(super) fn axes_of(symbols: &Symbols, piece: &Piece) -> Vec<AxisId> {
    let mut axes: Vec<AxisId> = Vec::new();
    for letter in piece.letters.iter().flat_map(|letter| symbols.lineage(*letter)) {
        let axis = symbols.letter(letter).axis;
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    axes
}

/// Labels that a file has of one group of an axis.
pub(super) struct OfGroup {
    /// The labels of the group, outermost first; none of an axis that is not ragged.
    pub group: Vec<String>,
    /// Those along the axis, in order of appearance.
    pub labels: Vec<String>,
}

/// The labels that a file has along an axis, group by group. The group that a file is bound to is a label of the axis above.
pub(super) fn labels_along(symbols: &Symbols, piece: &Piece, axis: AxisId) -> Vec<OfGroup> {
    let mut found: Vec<OfGroup> = Vec::new();
    let above = |letter: LetterId| -> Vec<LetterId> {
        let mut above = symbols.lineage(letter)[1..].to_vec();
        above.reverse();
        above
    };
    let ragged = piece.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
    if let (Some(path), Some(ragged)) = (&piece.group, ragged)
        && let Some(level) = above(*ragged).iter().position(|own| symbols.letter(*own).axis == axis)
    {
        found.push(OfGroup { group: path[..level].to_vec(), labels: vec![path[level].clone()] });
    }
    for (dimension, letter) in piece.letters.iter().enumerate() {
        if symbols.letter(*letter).axis != axis {
            continue;
        }
        let all = || -> Vec<String> {
            labels_of(&piece.content, dimension).into_iter().map(str::to_owned).collect()
        };
        let above = above(*letter);
        match (&piece.content, &piece.group) {
            _ if above.is_empty() => found.push(OfGroup { group: Vec::new(), labels: all() }),
            (_, Some(path)) => found.push(OfGroup { group: path.clone(), labels: all() }),
            (Content::Long(long), None) => {
                let column = |letter: &LetterId| piece.letters.iter().position(|own| own == letter);
                let columns: Option<Vec<usize>> = above.iter().map(column).collect();
                let Some(columns) = columns else { continue };
                let own = &long.positions[dimension];
                let mut seen: std::collections::BTreeSet<(Vec<u32>, u32)> = std::collections::BTreeSet::new();
                for (entry, code) in own.codes.iter().enumerate() {
                    let path: Vec<u32> =
                        columns.iter().map(|column| long.positions[*column].codes[entry]).collect();
                    if *code == MISSING || path.contains(&MISSING) || !seen.insert((path.clone(), *code)) {
                        continue;
                    }
                    let names = columns.iter().zip(&path);
                    let group: Vec<String> = names
                        .map(|(column, code)| long.positions[*column].names[*code as usize].clone())
                        .collect();
                    let place = found.iter().position(|own| own.group == group).unwrap_or_else(|| {
                        found.push(OfGroup { group, labels: Vec::new() });
                        found.len() - 1
                    });
                    found[place].labels.push(own.names[*code as usize].clone());
                }
            }
            (Content::Dense(_) | Content::Coordinates(_) | Content::Documents(_), None) => {}
        }
    }
    found.retain(|own| !own.labels.is_empty());
    found
}
