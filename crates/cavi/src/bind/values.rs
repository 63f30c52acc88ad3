//! The values of a file, checked against the type of their array.

use std::borrow::Cow;

use cavi_algebra::{Absent, ArrayId, ArrayKind, AxisId, Support, Symbols};
use cavi_files::{Categories, Content, Dense, FileError, MISSING, Values};

use super::axes::Axes;
use super::data_error::DataError;
use super::pieces::Piece;
use super::suspicions::names_behind_nothing;

/// Stands for the position of a label that the earlier fit does not have, until the entry is left out.
pub(super) const UNKNOWN: f64 = f64::INFINITY;

/// What a type expects, if the value is outside it. NaN is never inside.
pub(crate) fn misfit(support: Support, value: f64) -> Option<&'static str> {
    let (fits, expected) = match support {
        Support::Real | Support::PositiveDefinite => (value.is_finite(), "a finite number"),
        Support::Positive => (value > 0.0 && value.is_finite(), "a finite number greater than 0"),
        Support::Nonnegative | Support::Simplex => {
            (value >= 0.0 && value.is_finite(), "a finite number, 0 or greater")
        }
        Support::Unit => ((0.0..=1.0).contains(&value), "a number from 0 to 1"),
        Support::Count => {
            (value >= 0.0 && is_whole(value) && value.is_finite(), "a count: a whole number, 0 or greater")
        }
        Support::Binary => (value == 0.0 || value == 1.0, "0 or 1"),
        Support::Index(_) => (
            value >= 0.0 && is_whole(value) && value < f64::from(u32::MAX),
            "a position from 0, or -1 or NaN if it is missing",
        ),
        Support::Multiplicity => {
            (value >= 0.0 && value.is_finite(), "a weight: a finite number, 0 or greater")
        }
    };
    (!fits).then_some(expected)
}

/// From 2^53 on every double is a whole number, and not every whole number is a double.
const FIRST: f64 = 9_007_199_254_740_992.0;

/// Whether a number is whole, without a call of the system's library for each of many numbers.
fn is_whole(value: f64) -> bool {
    value.abs() >= FIRST || (value as i64) as f64 == value
}

/// What a count is that was rounded when it was read, or may have been.
pub(super) fn rounded(support: Support, value: f64) -> Option<&'static str> {
    (support == Support::Count && value >= FIRST)
        .then_some("a count below 2^53, for larger whole numbers are rounded")
}

/// Why an entry of an array may not be missing; `None` where it may.
/// Counts over a slice are one observation a row.
pub(super) fn may_not_be_missing(symbols: &Symbols, id: ArrayId) -> Option<String> {
    let array = symbols.array(id);
    let is_amount = matches!(array.support, Support::Count | Support::Nonnegative);
    let is_one_observation = is_amount && !array.absent.missing && !symbols.slices(id).is_empty();
    let Absent { missing, .. } = array.absent;
    if array.kind == ArrayKind::Constant {
        return Some("a number: constants have no missing entries".to_owned());
    }
    if array.support == Support::Multiplicity {
        return Some("a weight: a multiplicity has no missing entries".to_owned());
    }
    if is_one_observation {
        return Some("a number: a row of such data is one observation, and has no missing entry (0 where nothing was counted)".to_owned());
    }
    (!missing).then(|| format!("a value, or `absent = NA` in the declaration of `{}`", array.name))
}

/// The values of a piece, one for each entry: index data as positions, NaN where missing. `outside` says whether an
/// entry is excluded by a restriction of the array; such an entry is not checked here.
pub(super) fn values<'a>(
    symbols: &Symbols,
    axes: &Axes,
    piece: &'a Piece,
    outside: &dyn Fn(usize) -> bool,
) -> Result<Cow<'a, [f64]>, DataError> {
    let array = symbols.array(piece.array);
    let values: Cow<'a, [f64]> = match &piece.content {
        Content::Dense(dense) => numbers(axes, symbols, piece, array.support, &dense.values)?,
        Content::Coordinates(coordinates) => match (&coordinates.value_labels, array.support) {
            (None, _) => Cow::Borrowed(coordinates.values.as_slice()),
            (Some(names), Support::Index(axis)) => {
                let code = |value: &f64| if value.is_nan() { MISSING } else { *value as u32 };
                let codes = || coordinates.values.iter().map(code);
                let map = map(axes, symbols, piece, axis, (names, codes()))?;
                if map.iter().enumerate().all(|(place, own)| *own == place as f64) {
                    Cow::Borrowed(coordinates.values.as_slice())
                } else {
                    Cow::Owned(codes().map(|code| at(&map, code)).collect())
                }
            }
            (Some(_), _) => return Err(text_for_numbers(piece)),
        },
        Content::Long(long) => match &long.values {
            Some((_, values)) => numbers(axes, symbols, piece, array.support, values)?,
            None => Cow::Borrowed(&[]),
        },
        Content::Documents(documents) => Cow::Owned(documents.ids.iter().map(|id| f64::from(*id)).collect()),
    };
    // Positions are missing where they are -1.
    let index = matches!(array.support, Support::Index(_));
    let values = match index && values.contains(&-1.0) {
        true => {
            Cow::Owned(values.iter().map(|value| if *value == -1.0 { f64::NAN } else { *value }).collect())
        }
        false => values,
    };
    if matches!(values, Cow::Borrowed(_)) && known_to_fit(piece, array.support) {
        return Ok(values);
    }
    for (entry, value) in values.iter().enumerate() {
        if value.is_nan() {
            if let Some(expected) = may_not_be_missing(symbols, piece.array)
                && !outside(entry)
            {
                let error = piece.content.error_at(&piece.file, entry, "a missing entry", expected);
                let names = if entry == 0 { names_behind_nothing(symbols, piece) } else { None };
                let labels = || piece.content.labels_of_values().map(|_| unknown_label(&array.name));
                let help = names.or_else(labels);
                return Err(help.into_iter().fold(error, FileError::with_help).into());
            }
        } else if let Some(expected) =
            misfit(array.support, *value).or_else(|| rounded(array.support, *value))
            && !outside(entry)
            && !(*value == UNKNOWN && axes.leaves_out[piece.array.index()])
        {
            let error = piece.content.error_at(&piece.file, entry, format!("{value}"), expected);
            return Err(match value.is_infinite() && array.kind == ArrayKind::Data {
                true => {
                    error.with_help("where a value is not known, write `NA` or nothing, with `absent = NA`")
                }
                false => error,
            }
            .into());
        }
    }
    Ok(values)
}

/// Whether the values of a file are known to be of a type, none of them missing: those of most types lie in an interval, and others are whole besides.
fn known_to_fit(piece: &Piece, support: Support) -> bool {
    let facts = match &piece.content {
        Content::Dense(Dense { values: Values::Numbers(values), .. }) => values.facts(),
        Content::Coordinates(own) => own.values.facts(),
        Content::Dense(_) | Content::Long(_) | Content::Documents(_) => None,
    };
    let fits = |value: f64| misfit(support, value).or_else(|| rounded(support, value)).is_none();
    let by_interval = !matches!(support, Support::Count | Support::Binary | Support::Index(_));
    facts.is_some_and(|own| {
        own.missing == 0 && (by_interval || own.are_whole) && fits(own.least) && fits(own.most)
    })
}

/// The values of cells: labels of an axis become its positions.
fn numbers<'a>(
    axes: &Axes,
    symbols: &Symbols,
    piece: &Piece,
    support: Support,
    values: &'a Values,
) -> Result<Cow<'a, [f64]>, DataError> {
    match (values, support) {
        (Values::Numbers(numbers), _) => Ok(Cow::Borrowed(numbers)),
        (Values::Text(text), Support::Index(axis)) => {
            positions(axes, symbols, piece, axis, text).map(Cow::Owned)
        }
        (Values::Text(_), _) => Err(text_for_numbers(piece)),
    }
}

fn text_for_numbers(piece: &Piece) -> DataError {
    DataError::new(format!("{}: text where numbers are expected", piece.name()))
}

/// Labels of an axis to positions.
fn positions(
    axes: &Axes,
    symbols: &Symbols,
    piece: &Piece,
    axis: AxisId,
    text: &Categories,
) -> Result<Vec<f64>, DataError> {
    let map = map(axes, symbols, piece, axis, (&text.names, text.codes.iter().copied()))?;
    Ok(text.codes.iter().map(|code| at(&map, *code)).collect())
}

/// Where a map has the position of a label by its code; NaN for what is missing.
fn at(map: &[f64], code: u32) -> f64 {
    map.get(code as usize).copied().unwrap_or(f64::NAN)
}

/// For each label of an axis its position. `-1` is missing unless it is a label. A label that the axis does not have is an error at the first entry
/// with its code.
fn map(
    axes: &Axes,
    symbols: &Symbols,
    piece: &Piece,
    axis: AxisId,
    (names, mut codes): (&[String], impl Iterator<Item = u32>),
) -> Result<Vec<f64>, DataError> {
    let mut map = Vec::with_capacity(names.len());
    for (code, name) in names.iter().enumerate() {
        map.push(match axes.find(axis, 0, name) {
            Some(position) => f64::from(position),
            None if name == "-1" => f64::NAN,
            None if axes.leaves_out[piece.array.index()] => UNKNOWN,
            None => {
                let entry = codes.position(|other| other as usize == code).unwrap_or(0);
                let expected = axes.expected_label(symbols, axis);
                return Err(piece
                    .content
                    .error_at(&piece.file, entry, format!("the label `{name}`"), expected)
                    .into());
            }
        });
    }
    Ok(map)
}

/// What to do where a label among the values of an index is missing.
fn unknown_label(name: &str) -> String {
    format!(
        "if the label itself is `NA`, write another word for it, such as the whole name; if it is not known, leave its line out of all data, or give `{name}` a statement of its \
         own, by which missing entries are latent"
    )
}
