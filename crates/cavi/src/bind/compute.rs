//! Constants and derived data, in the order in which they need each other.

use cavi_algebra::evaluate::Assignment;
use cavi_algebra::{
    Array, ArrayId, ArrayKind, Expression, Function, LetterId, MatrixFunction, Subscript, Support, Symbols,
};
use cavi_executor::{BoundArray, BoundAxis};
use cavi_numerics::linalg;

use super::axes::Axes;
use super::covariance;
use super::data_error::DataError;
use super::inputs::{Inputs, SetValue};
use super::known::Known;
use super::place::{Target, compact};
use super::values::misfit;

/// More entries than this are not made from sparse data.
pub(super) const LARGEST_DENSE: usize = 1 << 28;

/// The value that `--set` gives a constant as a number.
fn set_number(inputs: &Inputs, name: &str) -> Option<f64> {
    inputs.set.iter().find(|input| input.name == name && input.group.is_none()).and_then(|input| match input
        .value
    {
        SetValue::Number(value) => Some(value),
        SetValue::Source(_) => None,
    })
}

/// The scalar constants that need no file, so that sizes can be computed from them.
pub(super) fn scalars(symbols: &Symbols, inputs: &Inputs, axes: &[BoundAxis]) -> Vec<Option<BoundArray>> {
    let mut arrays: Vec<Option<BoundArray>> = vec![None; symbols.arrays.len()];
    let scalar = |array: &Array| array.kind == ArrayKind::Constant && array.letters.is_empty();
    for (array, bound) in symbols.arrays.iter().zip(&mut arrays) {
        if scalar(array) {
            *bound = set_number(inputs, &array.name).map(|value| BoundArray::full(vec![value]));
        }
    }
    // Constants may be defined in any order: each round computes those whose operands are there.
    loop {
        let mut found = Vec::new();
        let known = Known::new(symbols, axes, &arrays);
        for (index, array) in symbols.arrays.iter().enumerate() {
            let set = inputs.set.iter().any(|input| input.name == array.name);
            let Some(value) =
                array.value.as_ref().filter(|_| scalar(array) && arrays[index].is_none() && !set)
            else {
                continue;
            };
            if known.knows(value)
                && reads_scalars(symbols, value)
                && let Some(number) = known.value_of(value, &mut Assignment::new())
            {
                found.push((index, number));
            }
        }
        if found.is_empty() {
            return arrays;
        }
        for (index, number) in found {
            arrays[index] = Some(BoundArray::full(vec![number]));
        }
    }
}

/// Whether an expression sums over no axis and reads no array with letters.
fn reads_scalars(symbols: &Symbols, expression: &Expression) -> bool {
    let mut scalar = true;
    expression.visit_values(&mut |array, _| scalar &= symbols.array(array).letters.is_empty());
    scalar && !has_sum(expression)
}

fn has_sum(expression: &Expression) -> bool {
    match expression {
        Expression::Sum(..) => true,
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => false,
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().any(has_sum),
        Expression::Power(base, exponent) => has_sum(base) || has_sum(exponent),
        Expression::Apply(_, argument) | Expression::OfMatrix(_, argument, ..) => has_sum(argument),
    }
}

/// The size that the text gives an axis, from scalar constants.
pub(super) fn text_size(
    symbols: &Symbols,
    scalars: &[Option<BoundArray>],
    axis: cavi_algebra::AxisId,
) -> Option<Result<f64, DataError>> {
    let expression = symbols.axis(axis).size.as_ref()?;
    let known = Known::new(symbols, &[], scalars);
    if !known.knows(expression) || !reads_scalars(symbols, expression) {
        return Some(Err(DataError::new(format!(
            "the size of axis `{}` depends on a constant without a value",
            symbols.axis(axis).name
        ))
        .help("`--set NAME=VALUE` gives a constant its value")));
    }
    // Scalar constants have no missing entries.
    Some(Ok(known.value_of(expression, &mut Assignment::new()).unwrap_or(f64::NAN)))
}

/// Called with each array of data as soon as it has its values.
type Ready<'a> = dyn FnMut(ArrayId, &mut BoundArray) -> Result<(), DataError> + 'a;

/// Computes every constant without a file and all derived data; `ready` is called with each array of data as soon as it has its values
/// (those that are bound to files first).
pub(super) fn compute(
    symbols: &Symbols,
    inputs: &Inputs,
    axes: &Axes,
    arrays: &mut [Option<BoundArray>],
    ready: &mut Ready<'_>,
    jitters: &mut Vec<(String, f64)>,
    problems: &mut Vec<DataError>,
) {
    let ids = || (0..symbols.arrays.len()).map(ArrayId::from);
    for id in ids() {
        let array = symbols.array(id);
        if array.kind == ArrayKind::Data
            && let Some(bound) = &mut arrays[id.index()]
        {
            problems.extend(ready(id, bound).err());
        }
    }
    let mut waiting: Vec<ArrayId> = ids()
        .filter(|id| symbols.array(*id).kind != ArrayKind::Latent && arrays[id.index()].is_none())
        .collect();
    loop {
        let before = waiting.len();
        let mut rest = Vec::new();
        for id in waiting {
            match compute_one(symbols, inputs, axes, arrays, id, jitters) {
                None => rest.push(id),
                Some(Err(problem)) => problems.push(problem),
                Some(Ok(mut array)) => {
                    if symbols.array(id).kind == ArrayKind::Data {
                        problems.extend(ready(id, &mut array).err());
                    }
                    arrays[id.index()] = Some(array);
                }
            }
        }
        // What still waits needs something that was reported.
        if rest.len() == before || rest.is_empty() {
            return;
        }
        waiting = rest;
    }
}

/// One array; `None` while something that it needs is not there.
fn compute_one(
    symbols: &Symbols,
    inputs: &Inputs,
    axes: &Axes,
    arrays: &[Option<BoundArray>],
    id: ArrayId,
    jitters: &mut Vec<(String, f64)>,
) -> Option<Result<BoundArray, DataError>> {
    let target = Target::new(symbols, axes, id);
    let array = target.array;
    let name = &array.name;
    let Some(cells) = target.cells().filter(|cells| *cells <= LARGEST_DENSE) else {
        return match (&array.value, array.kind) {
            (Some(value), ArrayKind::Data) => derive(&target, axes, arrays, value, usize::MAX, jitters),
            (Some(Expression::OfMatrix(..)), _) => Some(Err(covariance::too_large(&target))),
            _ => Some(Err(DataError::new(format!("`{name}` would have {:?} entries", target.shape))
                .possible(format!("at most {LARGEST_DENSE} entries in all")))),
        };
    };
    match (array.kind, set_number(inputs, name), &array.value) {
        (ArrayKind::Constant, Some(number), _) => {
            Some(check(&target, number, "by `--set`").map(|()| BoundArray::full(vec![number; cells])))
        }
        (_, _, Some(Expression::OfMatrix(MatrixFunction::Whitening, ..))) if inputs.sizes_of_covariances => {
            Some(covariance::check_memory(&target, cells).map(|()| BoundArray::full(vec![0.0; cells])))
        }
        (ArrayKind::Data, _, None) if array.support == Support::Multiplicity => {
            Some(Ok(BoundArray::full(vec![1.0; cells])))
        }
        (ArrayKind::Data, _, None) => Some(Err(super::pieces::unbound(target.symbols, target.id))),
        (_, _, None) => Some(Err(DataError::new(format!("the constant `{name}` has no value"))
            .help(format!("`--set {name}=VALUE`, a number or a file")))),
        (_, _, Some(value)) => derive(&target, axes, arrays, value, cells, jitters),
    }
}

/// The values of an expression over the letters of an array.
fn derive(
    target: &Target<'_>,
    axes: &Axes,
    arrays: &[Option<BoundArray>],
    value: &Expression,
    cells: usize,
    jitters: &mut Vec<(String, f64)>,
) -> Option<Result<BoundArray, DataError>> {
    let known = Known::new(target.symbols, &axes.bound, arrays);
    if !known.knows(value) {
        return None;
    }
    if let Expression::OfMatrix(function, matrix, row, column) = value {
        return Some(of_matrices(target, &known, (*function, matrix), (*row, *column), cells, jitters));
    }
    let sparse = sparse_operands(target.array, arrays, value);
    Some(match sparse.is_empty() {
        false => derive_listed(target, &known, arrays, value, &sparse, cells),
        true => derive_all(target, &known, value, cells),
    })
}

/// What a function makes of the matrices that an expression is along two letters of the array, one for each place of the
/// others.
fn of_matrices(
    target: &Target<'_>,
    known: &Known<'_>,
    (function, matrix): (MatrixFunction, &Expression),
    (row, column): (LetterId, LetterId),
    cells: usize,
    jitters: &mut Vec<(String, f64)>,
) -> Result<BoundArray, DataError> {
    let letters = &target.array.letters;
    let place_of = |letter| letters.iter().position(|own| *own == letter);
    let (Some(row_place), Some(column_place)) = (place_of(row), place_of(column)) else {
        unreachable!("a matrix is the value of an array with both letters")
    };
    let size = known.size(row);
    if function == MatrixFunction::Whitening {
        covariance::check_memory(target, cells)?;
    }
    let mut values = vec![f64::NAN; cells];
    for cell in 0..cells {
        let mut place = target.coordinates(cell);
        if place[row_place] != 0 || place[column_place] != 0 {
            continue;
        }
        let mut assignment = Assignment::new();
        for (letter, position) in letters.iter().zip(&place) {
            assignment.assign(target.symbols, known, *letter, *position);
        }
        let elements = known.matrix(matrix, row, column, &assignment);
        let made = match function {
            // The inverse of a singular matrix is NaN. The checks of the parameter that holds it report the mistake.
            MatrixFunction::Inverse => {
                let mut inverse = vec![0.0; elements.len()];
                if linalg::inverse_of(&elements, &mut inverse).is_err() {
                    continue;
                }
                inverse
            }
            MatrixFunction::Whitening => covariance::whiten(target, &elements, jitters)?,
        };
        for (element, value) in made.into_iter().enumerate() {
            (place[row_place], place[column_place]) = (element / size, element % size);
            let cell =
                place.iter().zip(&target.shape).fold(0, |cell, (position, size)| cell * size + position);
            values[cell] = value;
        }
    }
    Ok(BoundArray::full(values))
}

/// Sparse arrays that stand in an expression with the very letters of the array that it defines.
fn sparse_operands(array: &Array, arrays: &[Option<BoundArray>], value: &Expression) -> Vec<ArrayId> {
    let mut sparse = Vec::new();
    value.visit_values(&mut |id, subscripts| {
        let own = array.letters.iter().map(|letter| Subscript::Letter(*letter));
        if matches!(arrays[id.index()], Some(BoundArray::Sparse { .. }))
            && subscripts.iter().cloned().eq(own)
            && !sparse.contains(&id)
        {
            sparse.push(id);
        }
    });
    sparse
}

/// Every cell.
fn derive_all(
    target: &Target<'_>,
    known: &Known<'_>,
    value: &Expression,
    cells: usize,
) -> Result<BoundArray, DataError> {
    if cells > LARGEST_DENSE {
        return Err(DataError::new(format!(
            "`{}` has a value at each of {:?} entries, which is not sparse",
            target.array.name, target.shape
        ))
        .help("an expression that is 0 where the data are 0 stays sparse, as `log(x + 1)`"));
    }
    let mut values = vec![0.0; cells];
    let mut observed: Option<Vec<bool>> = None;
    for (cell, slot) in values.iter_mut().enumerate() {
        let place = target.coordinates(cell);
        if !target.exists(|dimension| place[dimension]) {
            continue;
        }
        match at(target, known, value, &place)? {
            Some(number) => *slot = number,
            None => observed.get_or_insert_with(|| vec![true; cells])[cell] = false,
        }
    }
    allow_missing(target, observed.is_some())?;
    Ok(compact(target, values.into(), observed))
}

/// Whether the value at a place is a function of the elements of `sparse` at this very place and of single numbers. Where all of these elements
/// are 0, it is then one number. `x[i, j] + x[j, i]` is not so, nor is `x[i, j] - sum[l](x[i, l])`: where x is 0, they may have any value.
fn is_local(target: &Target<'_>, value: &Expression, sparse: &[ArrayId]) -> bool {
    let is_local = |part: &Expression| is_local(target, part, sparse);
    match value {
        Expression::Number(_) => true,
        Expression::Value(id, subscripts) => {
            let own = target.array.letters.iter().map(|letter| Subscript::Letter(*letter));
            subscripts.is_empty() || sparse.contains(id) && subscripts.iter().cloned().eq(own)
        }
        Expression::Indicator(..)
        | Expression::Position(_)
        | Expression::Sum(..)
        | Expression::OfMatrix(..) => false,
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().all(is_local),
        Expression::Power(base, exponent) => is_local(base) && is_local(exponent),
        Expression::Apply(_, argument) => is_local(argument),
    }
}

/// The listed entries of sparse operands; elsewhere the value is that of zeros, or missing.
fn derive_listed(
    target: &Target<'_>,
    known: &Known<'_>,
    arrays: &[Option<BoundArray>],
    value: &Expression,
    sparse: &[ArrayId],
    cells: usize,
) -> Result<BoundArray, DataError> {
    let listed = |id: ArrayId| match &arrays[id.index()] {
        Some(BoundArray::Sparse { indices, unlisted_zero, .. }) => (indices, *unlisted_zero),
        Some(BoundArray::Dense { .. }) | None => unreachable!("operands were chosen for being sparse"),
    };
    let unlisted_zero = sparse.iter().all(|id| listed(*id).1);
    let is_local = || is_local(target, value, sparse);
    if unlisted_zero && (!is_local() || elsewhere(target, known, arrays, value, sparse)? != Some(0.0)) {
        return derive_all(target, known, value, cells);
    }
    let mut places: Vec<Vec<u32>> = Vec::new();
    // What one operand lacks is missing, whatever the others have there.
    let lacking = sparse.iter().find(|id| !listed(**id).1);
    let sources = lacking.map_or(sparse, std::slice::from_ref);
    for id in sources {
        let (indices, _) = listed(*id);
        let length = indices.first().map_or(0, |column| column.len());
        places.extend(
            (0..length).map(|entry| indices.iter().map(|column| column[entry]).collect::<Vec<u32>>()),
        );
    }
    places.sort_unstable();
    places.dedup();
    let mut indices = vec![Vec::new(); target.shape.len()];
    let (mut values, mut observed) = (Vec::new(), Vec::new());
    for place in places {
        let position: Vec<usize> = place.iter().map(|place| *place as usize).collect();
        let found = if target.exists(|dimension| position[dimension]) {
            at(target, known, value, &position)?
        } else {
            None
        };
        if found == Some(0.0) && unlisted_zero || found.is_none() && !unlisted_zero {
            continue;
        }
        values.push(found.unwrap_or(0.0));
        observed.push(found.is_some());
        indices.iter_mut().zip(place).for_each(|(column, place)| column.push(place));
    }
    let observed = observed.contains(&false).then_some(observed);
    allow_missing(target, observed.is_some() || !unlisted_zero)?;
    Ok(BoundArray::Sparse {
        indices: indices.into_iter().map(Into::into).collect(),
        values: values.into(),
        observed,
        unlisted_zero,
    })
}

/// The value where every sparse operand is 0, if there is such a place.
fn elsewhere(
    target: &Target<'_>,
    known: &Known<'_>,
    arrays: &[Option<BoundArray>],
    value: &Expression,
    sparse: &[ArrayId],
) -> Result<Option<f64>, DataError> {
    let Some(cells) = target.cells() else { return Ok(None) };
    let listed = |place: &[usize]| {
        sparse.iter().any(|id| match &arrays[id.index()] {
            Some(array) => array.listed(place).is_some(),
            None => false,
        })
    };
    for cell in 0..cells {
        let place = target.coordinates(cell);
        if target.exists(|dimension| place[dimension]) && !listed(&place) {
            return at(target, known, value, &place);
        }
    }
    Ok(Some(0.0))
}

/// The value at one place, checked; `None` where it is missing.
fn at(
    target: &Target<'_>,
    known: &Known<'_>,
    value: &Expression,
    place: &[usize],
) -> Result<Option<f64>, DataError> {
    let mut assignment = Assignment::new();
    let letters: &[LetterId] = &target.array.letters;
    for (letter, position) in letters.iter().zip(place) {
        assignment.assign(target.symbols, known, *letter, *position);
    }
    let Some(number) = known.value_of(value, &mut assignment) else { return Ok(None) };
    // What has no log-determinant is NaN: the checks of matrices say what is wrong with it.
    if matches!(value, Expression::Apply(Function::LogDeterminant, _)) {
        return Ok(Some(number));
    }
    let what = if place.is_empty() { String::new() } else { format!("at {}", target.describe(place)) };
    match check(target, number, &what) {
        Ok(()) => Ok(Some(number)),
        Err(error) if target.array.kind == ArrayKind::Data => {
            Err(error.help(computed_from(target, known, value, &mut assignment)))
        }
        Err(error) => Err(error),
    }
}

/// What an entry that has no value is computed from, and what to do.
fn computed_from(
    target: &Target<'_>,
    known: &Known<'_>,
    value: &Expression,
    assignment: &mut Assignment,
) -> String {
    let entries = known.entries_of(value, assignment).into_iter().map(|(array, positions)| {
        let entry = Target::new(target.symbols, target.axes, array).describe(&positions);
        format!("{entry} = {}", known.entry(array, &positions).0)
    });
    let entries: Vec<String> = entries.collect();
    let from = match entries.is_empty() {
        true => String::new(),
        false => format!(", here from {}", entries.join(" and ")),
    };
    format!(
        "the program computes `{}`{from}: mend these data, leave the row out, or write an expression that has a value there",
        target.array.name
    )
}

/// Refuses a value outside the type of its array, and a position beyond the end of its axis.
fn check(target: &Target<'_>, value: f64, place: &str) -> Result<(), DataError> {
    let array = target.array;
    let size = match array.support {
        Support::Index(axis) => Some(target.axes.bound[axis.index()].size),
        _ => None,
    };
    let expected = match (misfit(array.support, value), size) {
        (None, Some(size)) if value >= size as f64 => match size {
            0 => "no position, since the axis is empty".to_owned(),
            _ => format!("a position from 0 to {}", size - 1),
        },
        (None, _) => return Ok(()),
        (Some(expected), _) => expected.to_owned(),
    };
    let kind = if array.kind == ArrayKind::Constant { "the constant" } else { "the data" };
    let place = if place.is_empty() { String::new() } else { format!(" {place}") };
    Err(DataError::new(format!("{kind} `{}` is {value}{place}", array.name)).possible(expected))
}

/// A derived array with missing entries must say so, for the equations to leave them out.
fn allow_missing(target: &Target<'_>, missing: bool) -> Result<(), DataError> {
    let array = target.array;
    if !missing || array.absent.missing {
        return Ok(());
    }
    let name = &array.name;
    if array.kind == ArrayKind::Constant {
        return Err(DataError::new(format!("the constant `{name}` depends on missing entries of data")));
    }
    Err(DataError::new(format!("`{name}` is derived from data with missing entries"))
        .help(format!("add `absent = NA` to the declaration of `{name}`")))
}
