//! Constants and derived data, in the order in which they need each other.

use cavi_algebra::evaluate::Assignment;
use cavi_algebra::{
    Array, ArrayId, ArrayKind, AxisId, Expression, Function, LetterId, MatrixFunction, Subscript, Support,
    Symbols,
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
use super::zeros::Zeros;

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
    complete(symbols, inputs, SoFar { bound: axes, resolved: &[] }, &mut arrays);
    arrays
}

/// Computes the scalar constants whose operands are there. They may be defined in any order: each round computes those that it can.
fn complete(symbols: &Symbols, inputs: &Inputs, so_far: SoFar<'_>, arrays: &mut [Option<BoundArray>]) {
    loop {
        let mut found = Vec::new();
        let known = Known::new(symbols, so_far.bound, arrays);
        for (index, array) in symbols.arrays.iter().enumerate() {
            let set = inputs.set.iter().any(|input| input.name == array.name);
            let scalar = array.kind == ArrayKind::Constant && array.letters.is_empty();
            let Some(value) = array.value.as_ref().filter(|_| scalar && arrays[index].is_none() && !set)
            else {
                continue;
            };
            if known.knows(value)
                && so_far.can_evaluate(symbols, value)
                && let Some(number) = known.value_of(value, &mut Assignment::new())
            {
                found.push((index, number));
            }
        }
        if found.is_empty() {
            return;
        }
        for (index, number) in found {
            arrays[index] = Some(BoundArray::full(vec![number]));
        }
    }
}

/// The axes that are resolved so far.
#[derive(Clone, Copy)]
pub(super) struct SoFar<'a> {
    /// Sizes and groups of all axes, where they are resolved.
    pub bound: &'a [BoundAxis],
    /// Whether they are; none where this is empty.
    pub resolved: &'a [bool],
}

impl SoFar<'_> {
    /// No axis is resolved.
    pub const NONE: SoFar<'static> = SoFar { bound: &[], resolved: &[] };

    /// Whether an axis is resolved.
    pub fn has(&self, axis: AxisId) -> bool {
        self.resolved.get(axis.index()).copied().unwrap_or(false)
    }

    /// Whether an expression reads scalars alone and sums over axes that are resolved.
    fn can_evaluate(&self, symbols: &Symbols, expression: &Expression) -> bool {
        let mut scalar = true;
        expression.visit_values(&mut |array, _| scalar &= symbols.array(array).letters.is_empty());
        let mut summed = Vec::new();
        axes_summed(symbols, expression, &mut summed);
        scalar && summed.into_iter().all(|axis| self.has(axis))
    }
}

/// The axes that an expression sums over, those above a ragged one among them.
fn axes_summed(symbols: &Symbols, expression: &Expression, into: &mut Vec<AxisId>) {
    match expression {
        Expression::Sum(letters, body) => {
            let lineages = letters.iter().flat_map(|letter| symbols.lineage(*letter));
            into.extend(lineages.map(|letter| symbols.letter(letter).axis));
            axes_summed(symbols, body, into);
        }
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => {}
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter().for_each(|part| axes_summed(symbols, part, into));
        }
        Expression::Power(base, exponent) => {
            axes_summed(symbols, base, into);
            axes_summed(symbols, exponent, into);
        }
        Expression::Apply(_, argument) | Expression::OfMatrix(_, argument, ..) => {
            axes_summed(symbols, argument, into);
        }
    }
}

/// The axes whose sizes the size of an axis is computed from, by the text: `axis pair[p] = sum[n](1) / 2` of that of `n`, and so through
/// constants.
pub(super) fn sizes_read(symbols: &Symbols, axis: AxisId) -> Vec<AxisId> {
    let (mut axes, mut seen) = (Vec::new(), Vec::new());
    let mut waiting: Vec<&Expression> = symbols.axis(axis).size.iter().collect();
    while let Some(expression) = waiting.pop() {
        axes_summed(symbols, expression, &mut axes);
        expression.visit_values(&mut |array, _| {
            if !seen.contains(&array) {
                seen.push(array);
                waiting.extend(&symbols.array(array).value);
            }
        });
    }
    axes
}

/// The size that the text gives an axis, from scalar constants and from the sizes of the axes that are resolved so far.
pub(super) fn text_size(
    symbols: &Symbols,
    inputs: &Inputs,
    scalars: &[Option<BoundArray>],
    axis: AxisId,
    so_far: SoFar<'_>,
) -> Option<Result<f64, DataError>> {
    let expression = symbols.axis(axis).size.as_ref()?;
    let mut scalars = scalars.to_vec();
    complete(symbols, inputs, so_far, &mut scalars);
    let known = Known::new(symbols, so_far.bound, &scalars);
    let name = &symbols.axis(axis).name;
    let set = format!("`--set {name}=SIZE` gives it");
    let waits = sizes_read(symbols, axis).into_iter().find(|own| !so_far.has(*own));
    if let Some(other) = waits {
        let other = &symbols.axis(other).name;
        return Some(Err(DataError::new(format!(
            "the size of axis `{name}` is computed from that of `{other}`, which is computed from it"
        ))
        .help(set)));
    }
    let mut with_letters = None;
    expression.visit_values(&mut |array, _| {
        let own = symbols.array(array);
        with_letters = with_letters.take().or((!own.letters.is_empty()).then_some(own.name.as_str()));
    });
    if let Some(array) = with_letters {
        return Some(Err(DataError::new(format!(
            "the size of axis `{name}` is computed from `{array}`, whose values are not known before the sizes"
        ))
        .possible("numbers, constants without letters, and sums over other axes")
        .help(set)));
    }
    if !known.knows(expression) {
        return Some(Err(DataError::new(format!(
            "the size of axis `{name}` depends on a constant without a value"
        ))
        .help("`--set NAME=VALUE` gives a constant its value")));
    }
    // Scalar constants have no missing entries.
    Some(Ok(known.value_of(expression, &mut Assignment::new()).unwrap_or(f64::NAN)))
}

/// Called with each array of data as soon as it has its values, and with the others that have theirs.
type Ready<'a> = dyn FnMut(ArrayId, &mut BoundArray, &[Option<BoundArray>]) -> Result<(), DataError> + 'a;

/// Computes every constant without a file and all derived data; `ready` is called with each array of data as soon as it has its values
/// (those that are bound to files first, but for those that wait for the arrays `after` which they come).
pub(super) fn compute(
    symbols: &Symbols,
    inputs: &Inputs,
    axes: &Axes,
    arrays: &mut [Option<BoundArray>],
    (ready, after): (&mut Ready<'_>, &dyn Fn(ArrayId) -> Vec<ArrayId>),
    jitters: &mut Vec<(String, f64)>,
    problems: &mut Vec<DataError>,
) {
    let is_data = |id: &ArrayId| symbols.array(*id).kind == ArrayKind::Data;
    let mut waiting: Vec<(ArrayId, Option<BoundArray>)> = Vec::new();
    for id in (0..symbols.arrays.len()).map(ArrayId::from) {
        let bound = &mut arrays[id.index()];
        if symbols.array(id).kind != ArrayKind::Latent && (bound.is_none() || is_data(&id)) {
            waiting.push((id, bound.take()));
        }
    }
    waiting.sort_by_key(|(_, given)| given.is_none());
    loop {
        let before = waiting.len();
        let mut rest = Vec::new();
        for (id, given) in waiting {
            if !after(id).iter().all(|own| arrays[own.index()].is_some()) {
                rest.push((id, given));
                continue;
            }
            let found = match given {
                Some(array) => Some(Ok(array)),
                None => compute_one(symbols, inputs, axes, arrays, id, jitters),
            };
            match found {
                None => rest.push((id, None)),
                Some(Err(problem)) => problems.push(problem),
                Some(Ok(mut array)) => {
                    if is_data(&id) {
                        problems.extend(ready(id, &mut array, arrays).err());
                    }
                    arrays[id.index()] = Some(array);
                }
            }
        }
        if rest.is_empty() {
            return;
        }
        if rest.len() == before {
            // What still waits needs something that was reported, or itself.
            if problems.is_empty() {
                problems.extend(rest.iter().find_map(|(id, _)| circle(symbols, *id, after)));
            }
            return;
        }
        waiting = rest;
    }
}

/// That data are standardised by weights that are computed from them.
fn circle(symbols: &Symbols, id: ArrayId, after: &dyn Fn(ArrayId) -> Vec<ArrayId>) -> Option<DataError> {
    let (name, weights) = (&symbols.array(id).name, after(id));
    let first = weights.first()?;
    let weights = &symbols.array(*first).name;
    Some(
        DataError::new(format!(
            "`{name}` is centred or scaled by rows that count as `{weights}` says, and `{weights}` is computed from `{name}`"
        ))
        .help(format!("give `{weights}` as a file")),
    )
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
    let known = Known::new(target.symbols, &axes.bound, arrays).of_entries_alone();
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
        if matches!(arrays[id.index()], Some(BoundArray::Sparse { .. }))
            && is_element(array, subscripts)
            && !sparse.contains(&id)
        {
            sparse.push(id);
        }
    });
    sparse
}

/// Whether subscripts are the very letters of an array.
pub(super) fn is_element(array: &Array, subscripts: &[Subscript]) -> bool {
    let own = array.letters.iter().map(|letter| Subscript::Letter(*letter));
    subscripts.iter().cloned().eq(own)
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
    let mut outside = None;
    for (cell, slot) in values.iter_mut().enumerate() {
        let place = target.coordinates(cell);
        if !target.exists(|dimension| place[dimension]) {
            continue;
        }
        match at(target, known, value, &place)? {
            Some(number) => *slot = number,
            None => {
                outside = outside.or_else(|| Some((place, known.outside()?)));
                observed.get_or_insert_with(|| vec![true; cells])[cell] = false;
            }
        }
    }
    allow_missing(target, observed.is_some(), outside.as_ref())?;
    Ok(compact(target, values.into(), observed))
}

/// Whether an array has an entry wherever another one of the same dimensions has one.
fn exists_where(array: &Array, other: &Array) -> bool {
    let places = |own: &Array| {
        let (left, sign, right) = own.restriction?.parts();
        let place = |letter: LetterId| own.letters.iter().position(|own| *own == letter);
        Some((place(left), sign, place(right)))
    };
    match (places(array), places(other)) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((left, "<", right)), Some((first, sign, second))) => {
            sign == "<" && (left, right) == (first, second)
        }
        (Some((left, _, right)), Some((first, _, second))) => {
            [(first, second), (second, first)].contains(&(left, right))
        }
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
    // What an operand does not list may be no entry of it, which is no 0.
    let exists = || sparse.iter().all(|id| exists_where(target.symbols.array(*id), target.array));
    if unlisted_zero {
        let zeros = Zeros { target, known, operands: sparse };
        if !exists() || !zeros.vanishes(value) {
            return derive_all(target, known, value, cells);
        }
        if let Some(place) = unlisted(target, arrays, sparse) {
            // Whether its type allows a 0.
            at(target, known, value, &place)?;
        }
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
    let mut outside = None;
    for place in places {
        let position: Vec<usize> = place.iter().map(|place| *place as usize).collect();
        // What the restriction of the derived array leaves out is no entry of it, and not missing.
        if !target.exists(|dimension| position[dimension]) {
            continue;
        }
        let found = at(target, known, value, &position)?;
        if found.is_none() {
            outside = outside.or_else(|| Some((position, known.outside()?)));
        }
        if found == Some(0.0) && unlisted_zero || found.is_none() && !unlisted_zero {
            continue;
        }
        values.push(found.unwrap_or(0.0));
        observed.push(found.is_some());
        indices.iter_mut().zip(place).for_each(|(column, place)| column.push(place));
    }
    let observed = observed.contains(&false).then_some(observed);
    allow_missing(target, observed.is_some() || !unlisted_zero, outside.as_ref())?;
    Ok(BoundArray::Sparse {
        indices: indices.into_iter().map(Into::into).collect(),
        values: values.into(),
        observed,
        unlisted_zero,
    })
}

/// The first place at which no sparse operand has a listed entry.
fn unlisted(target: &Target<'_>, arrays: &[Option<BoundArray>], sparse: &[ArrayId]) -> Option<Vec<usize>> {
    let listed = |place: &[usize]| {
        sparse.iter().any(|id| arrays[id.index()].as_ref().is_some_and(|own| own.listed(place).is_some()))
    };
    let mut places = (0..target.cells()?).map(|cell| target.coordinates(cell));
    places.find(|place| target.exists(|dimension| place[dimension]) && !listed(place))
}

/// Whether data list what is not 0: by their declaration, or since they are computed from such data and are 0 where these are. It does not depend
/// on the form of their files.
pub(super) fn lists_zeros(target: &Target<'_>, arrays: &[Option<BoundArray>]) -> bool {
    let Target { symbols, axes, array, .. } = *target;
    let Some(value) = array.value.as_ref().filter(|_| !array.absent.zero && array.kind == ArrayKind::Data)
    else {
        return array.absent.zero;
    };
    let mut operands = Vec::new();
    value.visit_values(&mut |id, subscripts| {
        if is_element(array, subscripts) && !operands.contains(&id) {
            operands.push(id);
        }
    });
    operands.retain(|id| {
        let other = symbols.array(*id);
        exists_where(other, array) && lists_zeros(&Target::new(symbols, axes, *id), arrays)
    });
    let known = Known::new(symbols, &axes.bound, arrays).of_entries_alone();
    !operands.is_empty() && Zeros { target, known: &known, operands: &operands }.vanishes(value)
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

/// An entry of a derived array, and the entry of another one that it is computed from and that does not exist.
type Outside = (Vec<usize>, (ArrayId, Vec<usize>));

/// A derived array with missing entries must say so, for the equations to leave them out. One of them may be missing since a restriction
/// leaves out what it is computed from.
fn allow_missing(target: &Target<'_>, missing: bool, outside: Option<&Outside>) -> Result<(), DataError> {
    let array = target.array;
    if !missing || array.absent.missing {
        return Ok(());
    }
    let name = &array.name;
    let constant = array.kind == ArrayKind::Constant;
    if let Some((place, (read, positions))) = outside {
        let operand = Target::new(target.symbols, target.axes, *read);
        let entry = if place.is_empty() { name.clone() } else { target.describe(place) };
        let (left, sign, right) = operand.array.restriction.expect("a restriction leaves it out").parts();
        let letter = |own: LetterId| &target.symbols.letter(own).name;
        let problem = DataError::new(format!(
            "`{entry}` is computed from {}, which does not exist: `{}` has `{} {sign} {}`",
            operand.describe(positions),
            operand.array.name,
            letter(left),
            letter(right)
        ));
        let other = format!("declare `{}` without the restriction", operand.array.name);
        return Err(problem.help(match constant {
            true => other,
            false => format!(
                "add `absent = NA` to the declaration of `{name}`, where such an entry is then missing, or {other}"
            ),
        }));
    }
    if constant {
        return Err(DataError::new(format!("the constant `{name}` depends on missing entries of data")));
    }
    Err(DataError::new(format!("`{name}` is derived from data with missing entries"))
        .help(format!("add `absent = NA` to the declaration of `{name}`")))
}
