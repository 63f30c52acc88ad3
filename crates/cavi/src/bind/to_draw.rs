//! A program bound to what a simulation needs beside what it draws: sizes of axes, constants, and data that no statement draws.

use cavi_algebra::{Array, ArrayId, ArrayKind, AxisId, Symbols};
use cavi_executor::{Bound, BoundArray};
use cavi_model::Model;

use super::compute::SoFar;
use super::data_error::DataError;
use super::inputs::Inputs;
use super::place::{self, Target};
use super::{Labels, axes, compute, no_entry, pieces, standardise, stop};

/// Binds a program of which these data are drawn, and have no values yet.
///
/// # Errors
/// What is wrong with files, labels, sizes and constants; an axis without a size; data that are computed from what is drawn.
pub(crate) fn bind_to_draw(
    model: &Model,
    inputs: &Inputs,
    drawn: &[ArrayId],
) -> Result<(Bound, Labels), Vec<DataError>> {
    let symbols = &model.symbols;
    let mut problems: Vec<DataError> =
        symbols.arrays.iter().filter_map(|array| computed_from(symbols, array, drawn)).collect();
    let mut pieces = pieces::read(symbols, inputs, &mut problems);
    stop(&mut problems)?;
    let scalars = compute::scalars(symbols, inputs, &[]);
    let text = |axis: AxisId, so_far: SoFar<'_>| compute::text_size(symbols, inputs, &scalars, axis, so_far);
    let axes = axes::resolve(symbols, inputs, &pieces, &text, &mut problems);
    stop(&mut problems)?;
    let place::Placed { mut arrays, .. } =
        place::place(symbols, &axes, &mut pieces, &[], None, &mut problems);
    stop(&mut problems)?;
    for id in drawn {
        arrays[id.index()] = Some(no_entry(symbols.array(*id).letters.len()));
    }
    let mut ready = |id: ArrayId, bound: &mut BoundArray, others: &[Option<BoundArray>]| {
        if !drawn.contains(&id) {
            standardise::standardise(&Target::new(symbols, &axes, id), bound, (None, None), (model, others))?;
        }
        Ok(())
    };
    let after = |id: ArrayId| standardise::weighed_by(model, id);
    compute::compute(
        symbols,
        inputs,
        &axes,
        &mut arrays,
        (&mut ready, &after),
        &mut Vec::new(),
        &mut problems,
    );
    stop(&mut problems)?;
    for id in drawn {
        arrays[id.index()] = None;
    }
    Ok((Bound { axes: axes.bound, arrays, ..Bound::default() }, Labels { axes: axes.labels }))
}

/// Refuses data that are computed from what is drawn.
fn computed_from(symbols: &Symbols, array: &Array, drawn: &[ArrayId]) -> Option<DataError> {
    let value = array.value.as_ref().filter(|_| array.kind == ArrayKind::Data)?;
    let mut from = None;
    value.visit_values(&mut |own, _| from = from.or(drawn.contains(&own).then_some(own)));
    let from = &symbols.array(from?).name;
    let name = &array.name;
    Some(
        DataError::new(format!("`{name}` is computed from `{from}`, which is to be drawn"))
            .help(format!("`--data {from}=FILE` gives it")),
    )
}
