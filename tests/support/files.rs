//! What is bound in memory, as the files that would bind it.

use std::path::PathBuf;

use cavi::bind::{ArrayInput, Inputs, SetInput, SetValue, Source};
use cavi_algebra::{ArrayId, ArrayKind, AxisId, LetterId, Symbols};
use cavi_executor::Bound;
use cavi_files::{Content, Dense, Values};

use super::programs::Program;

/// Data, constants and sizes in memory, as files.
pub fn files_of(program: &Program, bound: &Bound) -> Inputs {
    let symbols = &program.model.symbols;
    let mut inputs = Inputs::default();
    let number = |name: &str, group: Option<String>, value: usize| SetInput {
        name: name.to_owned(),
        group,
        value: SetValue::Number(value as f64),
    };
    for (axis, own) in symbols.axes.iter().zip(&bound.axes) {
        let Some(starts) = &own.starts else {
            inputs.set.push(number(&axis.name, None, own.size));
            continue;
        };
        let parent = axis.parent.expect("a ragged axis has one");
        for group in 0..starts.len() - 1 {
            let path = path_of(bound, symbols, parent, group);
            inputs.set.push(number(&axis.name, Some(path), starts[group + 1] - starts[group]));
        }
    }
    for index in 0..symbols.arrays.len() {
        let id = ArrayId::from(index);
        let array = symbols.array(id);
        if array.kind == ArrayKind::Latent || array.value.is_some() {
            continue;
        }
        let shape = bound.shape(symbols, id);
        let positions = |cell: usize| {
            let mut rest = cell;
            let mut place = vec![0; shape.len()];
            for (position, size) in place.iter_mut().zip(&shape).rev() {
                *position = rest % size;
                rest /= size;
            }
            place
        };
        let cells: usize = shape.iter().product();
        let values: Vec<(Vec<usize>, f64)> = (0..cells)
            .map(|cell| {
                let place = positions(cell);
                let (value, seen) = bound.array(id).entry(&shape, &place);
                (place, if seen { value } else { f64::NAN })
            })
            .collect();
        let ragged = array.letters.iter().any(|letter| symbols.letter(*letter).parent.is_some());
        let source = if ragged {
            let mut letters: Vec<LetterId> = Vec::new();
            for letter in &array.letters {
                let lineage = symbols.lineage(*letter).into_iter().rev();
                lineage.for_each(|own| {
                    if !letters.contains(&own) {
                        letters.push(own)
                    }
                });
            }
            let name = |letter: &LetterId| symbols.axis(symbols.letter(*letter).axis).name.clone();
            let names: Vec<String> = letters.iter().map(name).collect();
            let mut lines = vec![format!("{},value", names.join(","))];
            for (place, value) in &values {
                let mut labels = vec![String::new(); letters.len()];
                let mut exists = true;
                for (letter, position) in array.letters.iter().zip(place) {
                    let path = path_of(bound, symbols, symbols.letter(*letter).axis, *position);
                    for (own, label) in symbols.lineage(*letter).iter().rev().zip(path.split('/')) {
                        let column = letters.iter().position(|known| known == own).expect("a column each");
                        // Positions of two groups have no entry.
                        exists &= labels[column].is_empty() || labels[column] == label;
                        label.clone_into(&mut labels[column]);
                    }
                }
                let value = if value.is_nan() { String::new() } else { value.to_string() };
                if exists {
                    lines.push(format!("{},{value}", labels.join(",")));
                }
            }
            let bytes = format!("{}\n", lines.join("\n")).into_bytes();
            Source::Bytes { name: PathBuf::from(format!("{}.csv", array.name)), bytes: bytes.into() }
        } else {
            let content = Content::Dense(Dense::new(
                shape.clone(),
                Values::Numbers(values.into_iter().map(|(_, value)| value).collect()),
                vec![None; shape.len()],
            ));
            Source::Content {
                name: PathBuf::from(format!("{}.npy", array.name)),
                content,
                counts: Vec::new(),
            }
        };
        match array.kind {
            ArrayKind::Data => inputs.data.push(ArrayInput { name: array.name.clone(), group: None, source }),
            ArrayKind::Constant => {
                inputs.set.push(SetInput {
                    name: array.name.clone(),
                    group: None,
                    value: SetValue::Source(source),
                });
            }
            ArrayKind::Latent => {}
        }
    }
    inputs
}

/// The labels of a position and of its groups, outermost first.
fn path_of(bound: &Bound, symbols: &Symbols, axis: AxisId, position: usize) -> String {
    let own = &bound.axes[axis.index()];
    match (&own.starts, &own.parent, symbols.axis(axis).parent) {
        (Some(starts), Some(parents), Some(parent)) => {
            let above = parents[position];
            format!("{}/{}", path_of(bound, symbols, parent, above), position - starts[above])
        }
        _ => position.to_string(),
    }
}
