//! The data of a program at their positions, as files give them: what is packed, before anything is hidden, standardised or checked
//! against its statements.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Support, Symbols};
use cavi_executor::{BoundArray, BoundAxis};
use cavi_files::TextOptions;
use cavi_model::Model;
use cavi_numerics::Numbers;

use super::compute::SoFar;
use super::data_error::DataError;
use super::inputs::Inputs;
use super::pieces::Piece;
use super::place::{Columns, Target};
use super::{axes, components, compute, pieces, place, read_back, stop, suspicions, texts};

/// Data at the positions of their axes.
pub(crate) struct ToPack {
    /// The axes, with their labels.
    pub axes: Vec<(BoundAxis, Option<Vec<String>>)>,
    /// The arrays that are given.
    pub arrays: Vec<(ArrayId, BoundArray)>,
    /// How texts were read, for the arrays that hold their counts.
    pub texts: BTreeMap<ArrayId, TextOptions>,
    /// What was understood of each, a line each.
    pub read: Vec<String>,
    /// What is most likely a mistake.
    pub warnings: Vec<String>,
}

/// Reads the data that are given for a program.
///
/// # Errors
/// Everything that is wrong with files, labels and sizes; data that point into a ragged axis.
pub(crate) fn to_pack(model: &Model, inputs: &Inputs) -> Result<ToPack, Vec<DataError>> {
    let symbols = &model.symbols;
    let mut problems: Vec<DataError> =
        inputs.data.iter().filter_map(|own| points_into_groups(symbols, symbols.find(&own.name)?)).collect();
    stop(&mut problems)?;
    let mut pieces = pieces::read(symbols, inputs, &mut problems);
    problems.extend(texts::refuse_without_texts(inputs, &pieces));
    stop(&mut problems)?;
    let scalars = compute::scalars(symbols, inputs, &[]);
    let text = |axis: AxisId, so_far: SoFar<'_>| compute::text_size(symbols, inputs, &scalars, axis, so_far);
    let asked = Some(depended_on(symbols, &pieces));
    let axes = axes::resolve_asked(symbols, inputs, &pieces, (&text, asked), &mut problems);
    stop(&mut problems)?;
    let mut warnings = suspicions::warnings(symbols, inputs, &pieces, &axes);
    let with_latents: Vec<ArrayId> =
        components(model).iter().flat_map(|own| own.data.iter().map(|member| member.array)).collect();
    let place::Placed { arrays, listed, added } =
        place::place(symbols, &axes, &mut pieces, &with_latents, inputs.spill.as_deref(), &mut problems);
    stop(&mut problems)?;
    let texts =
        pieces.iter().filter_map(|piece| Some((piece.array, piece.texts()?.options.clone()))).collect();
    drop(pieces);
    let mut placed = Vec::new();
    let mut read = Vec::new();
    for (index, (array, listed)) in arrays.into_iter().zip(listed).enumerate() {
        let id = ArrayId::from(index);
        let Some(array) = array.filter(|_| symbols.array(id).kind == ArrayKind::Data) else { continue };
        let target = Target::new(symbols, &axes, id);
        let tally = read_back::Tally::of(&target, &array);
        read.push(read_back::line(&target, &tally, added[index]));
        warnings.extend(read_back::poor_positions(&target, &axes, (&array, &tally)));
        placed.push((
            id,
            match listed {
                Some(listed) => in_file_order(&array, listed, symbols.array(id).absent.zero),
                None => array,
            },
        ));
    }
    let axes = axes.bound.into_iter().zip(axes.labels).collect();
    Ok(ToPack { axes, arrays: placed, texts, read, warnings })
}

/// The axes on which data that are given depend, with those that these are ragged in and those that their sizes are computed from.
fn depended_on(symbols: &Symbols, pieces: &[Piece]) -> BTreeSet<AxisId> {
    let (mut all, mut more) = (BTreeSet::new(), Vec::new());
    for piece in pieces {
        let array = symbols.array(piece.array);
        more.extend(array.letters.iter().map(|letter| symbols.letter(*letter).axis));
        if let Support::Index(axis) = array.support {
            more.push(axis);
        }
    }
    while let Some(axis) = more.pop() {
        if all.insert(axis) {
            more.extend(symbols.axis(axis).parent);
            more.extend(compute::sizes_read(symbols, axis));
        }
    }
    all
}

/// Listed entries in the order of the file, which says in what order latents live at them. One that is not kept is listed as what an
/// unlisted one is.
fn in_file_order(array: &BoundArray, columns: Columns, zero: bool) -> BoundArray {
    let entries = columns.first().map_or(0, Vec::len);
    let unlisted = if zero { 0.0 } else { f64::NAN };
    let value = |entry: usize| {
        let place: Vec<usize> = columns.iter().map(|column| column[entry] as usize).collect();
        let BoundArray::Sparse { values, observed, .. } = array else { return unlisted };
        match array.listed(&place) {
            Some(own) if observed.as_ref().is_none_or(|observed| observed[own]) => values[own],
            Some(_) => f64::NAN,
            None => unlisted,
        }
    };
    // What is filled out has no order of its own.
    if matches!(array, BoundArray::Dense { .. }) {
        return array.clone();
    }
    let values = (0..entries).map(value).collect();
    let indices = columns.into_iter().map(Numbers::from).collect();
    BoundArray::Sparse { indices, values, observed: None, unlisted_zero: zero }
}

/// Data that point into a ragged axis are not packed: their values are positions among all groups, which may stand in another order.
fn points_into_groups(symbols: &Symbols, id: ArrayId) -> Option<DataError> {
    let array = symbols.array(id);
    let Support::Index(axis) = array.support else { return None };
    symbols.axis(axis).parent?;
    let (name, axis) = (&array.name, &symbols.axis(axis).name);
    let problem =
        DataError::new(format!("`{name}` cannot be packed: it points into `{axis}`, which is ragged"));
    Some(problem.help(format!("leave `{name}` out, and bind it to its own files when the rest is fitted")))
}
