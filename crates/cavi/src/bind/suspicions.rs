//! What can be read, and was most likely meant otherwise: files whose labels meet nowhere, files that look transposed, columns
//! of a table that look like no labels.
//!
//! Nothing here knows what an axis is about. What is said follows from labels that files share or do not share, and from names
//! that the program gives to its axes.

use std::collections::{BTreeSet, HashSet};

use cavi_algebra::{AxisId, LetterId, Symbols};
use cavi_files::{Categories, Content, Dense, MISSING, Values};

use super::axes::{Axes, Text};
use super::compute::SoFar;
use super::data_error::DataError;
use super::inputs::{Inputs, LabelSource, SetValue};
use super::missing_codes;
use super::pieces::Piece;
use super::read_twice;
use super::totals;

/// A wider table has labels as columns, some of which are words.
const FEW_COLUMNS: usize = 12;
/// Fewer rows than these count by chance.
const FEW_ROWS: usize = 5;
/// Fewer whole numbers below the name of a key may be anything.
const FEW_KEYS: usize = 3;
/// Of more groups, such as patients, some share nothing by chance; fewer, such as views, are compared.
const MOST_GROUPS: usize = 16;
/// Names of columns of long tables that are no labels of rows or columns.
const NAMES: [&str; 8] = ["timestamp", "rating", "ratings", "count", "counts", "value", "freq", "frequency"];

/// The labels that a file, or a group of it, has on an axis.
struct Has<'a> {
    /// The file, as its place in the list.
    piece: usize,
    /// `x`, or `x[a]` of a group.
    name: String,
    labels: Vec<&'a str>,
}

/// Everything that looks like a mistake.
pub(super) fn warnings(symbols: &Symbols, inputs: &Inputs, pieces: &[Piece], axes: &Axes) -> Vec<String> {
    let turned = (0..pieces.len()).filter_map(|place| transposed(symbols, inputs, pieces, place));
    let mut warnings: Vec<String> = turned.map(|own| own.to_string()).collect();
    if warnings.is_empty() {
        warnings.extend(pieces.iter().filter_map(|piece| named_as_columns(symbols, inputs, piece)));
    }
    // Labels of a file that looks transposed meet nowhere for that reason.
    if warnings.is_empty() {
        let axes = (0..symbols.axes.len()).map(AxisId::from);
        let plain = axes.filter(|axis| symbols.axis(*axis).parent.is_none());
        warnings.extend(plain.filter_map(|axis| disjoint(symbols, pieces, axis)));
    }
    for piece in pieces {
        if let Some(text) = columns_as_labels(symbols, piece) {
            warnings.push(text);
        } else {
            warnings.extend(id_among_columns(symbols, piece, axes));
            warnings.extend(labels_without_header(symbols, piece));
            warnings.extend(names_among_rows(symbols, piece));
        }
        warnings.extend(totals::warnings(symbols, piece));
        warnings.extend(read_twice::warnings(symbols, inputs, piece));
        warnings.extend(missing_codes::warning(symbols, piece));
        warnings.extend(missing_codes::label_warning(symbols, piece));
    }
    warnings
}

/// The labels of a dimension of a file, in its order.
pub(super) fn labels_of(content: &Content, dimension: usize) -> Vec<&str> {
    content.labels(dimension).into_iter().flatten().map(String::as_str).collect()
}

/// Which labels each file, or each group of a long table, has on an axis.
fn everyones<'a>(symbols: &Symbols, pieces: &'a [Piece], axis: AxisId) -> Vec<Has<'a>> {
    let mut all = Vec::new();
    for (place, piece) in pieces.iter().enumerate() {
        let own = &symbols.array(piece.array).name;
        let ragged = piece.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
        let above = ragged.and_then(|ragged| symbols.letter(*ragged).parent);
        let groups = above.and_then(|above| piece.letters.iter().position(|letter| *letter == above));
        for (dimension, letter) in piece.letters.iter().enumerate() {
            if symbols.letter(*letter).axis != axis {
                continue;
            }
            match (&piece.content, groups) {
                (Content::Long(long), Some(groups))
                    if groups != dimension && long.positions[groups].names.len() <= MOST_GROUPS =>
                {
                    for (group, labels) in by_group(&long.positions[groups], &long.positions[dimension]) {
                        all.push(Has { piece: place, name: format!("{own}[{group}]"), labels });
                    }
                }
                _ => {
                    let name = match &piece.group {
                        Some(path) => format!("{own}[{}]", path.join("/")),
                        None => own.clone(),
                    };
                    all.push(Has { piece: place, name, labels: labels_of(&piece.content, dimension) });
                }
            }
        }
    }
    all.retain(|has| !has.labels.is_empty());
    all
}

/// The labels that occur with each group of a long table.
fn by_group<'a>(groups: &'a Categories, labels: &'a Categories) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut pairs: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); groups.names.len()];
    for (group, label) in groups.codes.iter().zip(&labels.codes) {
        if *group != MISSING && *label != MISSING {
            pairs[*group as usize].insert(*label);
        }
    }
    let name = |code: u32| labels.names[code as usize].as_str();
    let of =
        |(group, own): (&'a String, BTreeSet<u32>)| (group.as_str(), own.into_iter().map(name).collect());
    groups.names.iter().zip(pairs).map(of).collect()
}

/// Two files, or groups, that have no label of an axis in common: what they were meant to share is taken for different things.
fn disjoint(symbols: &Symbols, pieces: &[Piece], axis: AxisId) -> Option<String> {
    let all = everyones(symbols, pieces, axis);
    let (mut first, mut found) = (None, 0_usize);
    for (place, one) in all.iter().enumerate() {
        let known: HashSet<&str> = one.labels.iter().copied().collect();
        for other in &all[place + 1..] {
            // Two dimensions of one file may be the two sides of a network.
            let same_file = one.piece == other.piece && one.name == other.name;
            if !same_file && !other.labels.iter().any(|label| known.contains(label)) {
                first.get_or_insert((one, other));
                found += 1;
            }
        }
    }
    let (one, other): (&Has<'_>, &Has<'_>) = first?;
    let name = &symbols.axis(axis).name;
    let more = match found {
        1 => String::new(),
        2 => ", and neither has one other pair".to_owned(),
        pairs => format!(", and neither have {} other pairs", pairs - 1),
    };
    let hint = match alike(&one.labels, &other.labels) {
        Some((one, other)) => {
            format!("`{one}` and `{other}` may be one {name}: write its label alike in both files")
        }
        None => format!("label what is the same {name} alike in all files"),
    };
    Some(format!(
        "`{}` and `{}` have no {name} in common ({} and {}){more}, and nothing that one tells of a {name} is used for the \
         other\n  help: {hint}",
        one.name,
        other.name,
        some(&one.labels),
        some(&other.labels)
    ))
}

/// A label in lower case, without blanks and punctuation.
fn plain(label: &str) -> String {
    label.chars().filter(|own| own.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The label that is this one but for case, blanks and punctuation, or of digits for zeros in front.
pub(super) fn same_but_for_writing<'a>(label: &str, labels: &[&'a str]) -> Option<&'a str> {
    // Signs and points of numbers are no punctuation.
    let is_number = |label: &str| label.trim().parse::<f64>().is_ok();
    let is_whole = |label: &str| label.bytes().all(|own| own.is_ascii_digit());
    let written = |label: &str| match label.trim() {
        digits if is_whole(digits) && digits.len() > 1 => digits.trim_start_matches('0').to_owned(),
        number if is_number(number) => number.to_owned(),
        _ => plain(label),
    };
    let own = written(label);
    labels.iter().copied().find(|other| !own.is_empty() && *other != label && written(other) == own)
}

/// Labels of two lists that are one but for case, punctuation, or what one of them has more at an end, if most are.
fn alike<'a>(one: &[&'a str], other: &[&'a str]) -> Option<(&'a str, &'a str)> {
    const LOOKED_AT: usize = 50;
    let theirs: Vec<(String, &'a str)> = other.iter().map(|label| (plain(label), *label)).collect();
    let mut found: Vec<(&'a str, &'a str)> = Vec::new();
    let looked_at = one.iter().take(LOOKED_AT);
    for label in looked_at.clone() {
        let own = plain(label);
        let near = |(text, _): &&(String, &'a str)| {
            let (short, long) = if text.len() < own.len() { (text, &own) } else { (&own, text) };
            short.len() > 2 && (long.starts_with(short.as_str()) || long.ends_with(short.as_str()))
        };
        found.extend(theirs.iter().find(near).map(|(_, other)| (*label, *other)));
    }
    (2 * found.len() > looked_at.len()).then(|| found[0])
}

/// A file whose rows are named as another file names the second axis, or its columns as another names the first.
fn transposed(symbols: &Symbols, inputs: &Inputs, pieces: &[Piece], place: usize) -> Option<DataError> {
    let piece = &pieces[place];
    let Content::Dense(_) = &piece.content else { return None };
    let [rows, columns] = piece.letters[..] else { return None };
    let axis = |letter: LetterId| symbols.letter(letter).axis;
    if axis(rows) == axis(columns) {
        return None;
    }
    let others = |of: AxisId| -> HashSet<String> {
        let mut labels: HashSet<String> = everyones(symbols, pieces, of)
            .into_iter()
            .filter(|has| has.piece != place)
            .flat_map(|has| has.labels.into_iter().map(str::to_owned))
            .collect();
        for input in inputs.labels.iter().filter(|own| own.axis == symbols.axis(of).name) {
            if let LabelSource::List(_, own) = &input.source {
                labels.extend(own.iter().cloned());
            }
        }
        labels
    };
    let (of_rows, of_columns) = (others(axis(rows)), others(axis(columns)));
    let meets = |dimension: usize, known: &HashSet<String>| {
        labels_of(&piece.content, dimension).into_iter().any(|label| known.contains(label))
    };
    let straight = meets(0, &of_rows) || meets(1, &of_columns);
    let turned = meets(0, &of_columns) || meets(1, &of_rows);
    let name = &symbols.array(piece.array).name;
    (turned && !straight).then(|| {
        let (rows, columns) = (&symbols.axis(axis(rows)).name, &symbols.axis(axis(columns)).name);
        DataError::new(format!(
            "{} looks transposed beside other files: its rows are read as {rows} and its columns as {columns}, and their labels \
             stand on the other axis there",
            piece.name()
        ))
        .help(match piece.group {
            // The option is one for all files of an array.
            Some(_) => {
                format!("write this file, or the others, the other way round (`--transpose {name}` turns all of them)")
            }
            None => transpose(inputs, name),
        })
    })
}

/// Files that cannot be bound as they are, since their labels stand on the other axis in other files.
pub(super) fn transposed_by_labels(symbols: &Symbols, inputs: &Inputs, pieces: &[Piece]) -> Vec<DataError> {
    (0..pieces.len()).filter_map(|place| transposed(symbols, inputs, pieces, place)).collect()
}

/// A table whose column of row labels has the name of the axis that its columns are read as: `gene` above the labels of the rows, where
/// rows are samples and columns are genes.
fn named_as_columns(symbols: &Symbols, inputs: &Inputs, piece: &Piece) -> Option<String> {
    let Content::Dense(Dense { rows_are: Some(found), .. }) = &piece.content else { return None };
    let [rows, columns] = piece.letters[..] else { return None };
    let plain = |text: &str| {
        let text = text.to_lowercase();
        text.strip_suffix('s').unwrap_or(&text).to_owned()
    };
    let name = |letter: LetterId| &symbols.axis(symbols.letter(letter).axis).name;
    let (rows, columns, own) = (name(rows), name(columns), plain(found));
    let array = &symbols.array(piece.array).name;
    (plain(columns) == own && plain(rows) != own).then(|| {
        format!(
            "{} looks transposed: the labels of its rows stand below `{found}`, and its rows are read as {rows}, its columns as \
             {columns}\n  help: {}; or, if rows are {rows}, write `{rows}` there, or nothing",
            piece.name(),
            transpose(inputs, array)
        )
    })
}

/// Files of two dimensions whose sizes are those that the program or `--set` states, the other way round.
pub(super) fn transposed_by_size(
    symbols: &Symbols,
    inputs: &Inputs,
    pieces: &[Piece],
    text: &Text<'_>,
) -> Vec<DataError> {
    let stated = |letter: LetterId| -> Option<f64> {
        let axis = symbols.letter(letter).axis;
        let set = inputs.set.iter().find(|own| own.name == symbols.axis(axis).name && own.group.is_none());
        match set.map(|own| &own.value) {
            Some(SetValue::Number(size)) => Some(*size),
            Some(SetValue::Source(_)) | None => text(axis, SoFar::NONE)?.ok(),
        }
    };
    let mut found = Vec::new();
    for piece in pieces {
        let shape = match &piece.content {
            Content::Dense(dense) => &dense.shape,
            Content::Coordinates(coordinates) if coordinates.shape_is_exact => &coordinates.shape,
            Content::Coordinates(_) | Content::Long(_) | Content::Documents(_) => continue,
        };
        let ([rows, columns], [first, second]) = (shape.as_slice(), &piece.letters[..]) else { continue };
        let sizes = [stated(*first), stated(*second)];
        let fits = |one: usize, other: usize| {
            let agrees = |size: Option<f64>, own: usize| size.is_none_or(|size| size == own as f64);
            agrees(sizes[0], one) && agrees(sizes[1], other)
        };
        if fits(*rows, *columns) || !fits(*columns, *rows) {
            continue;
        }
        let name = &symbols.array(piece.array).name;
        let declared = |letter: LetterId, size: Option<f64>| {
            let axis = &symbols.axis(symbols.letter(letter).axis).name;
            size.map_or_else(|| format!("`{axis}`"), |size| format!("`{axis}` of size {size}"))
        };
        found.push(
            DataError::new(format!(
                "{} looks transposed: it has {rows} rows and {columns} columns, read as {} by {}",
                piece.name(),
                declared(*first, sizes[0]),
                declared(*second, sizes[1])
            ))
            .help(transpose(inputs, name)),
        );
    }
    found
}

/// What to do about an array that looks transposed.
fn transpose(inputs: &Inputs, name: &str) -> String {
    match inputs.transpose.iter().any(|own| own == name) {
        true => format!("leave `--transpose {name}` out"),
        false => format!("`--transpose {name}`"),
    }
}

/// A dense table whose column labels look like the header of a long one.
fn columns_as_labels(symbols: &Symbols, piece: &Piece) -> Option<String> {
    let labels = column_labels(piece)?;
    let plain = |text: &str| text.trim().to_lowercase();
    let axes: Vec<String> =
        piece.letters.iter().map(|letter| plain(&symbols.axis(symbols.letter(*letter).axis).name)).collect();
    let is_name = |label: &&String| {
        let label = plain(label);
        NAMES.contains(&label.as_str()) || axes.contains(&label)
    };
    let found: Vec<&str> = labels.iter().filter(is_name).map(String::as_str).collect();
    let [_, letter] = piece.letters[..] else { return None };
    let axis = &symbols.axis(symbols.letter(letter).axis).name;
    let name = &symbols.array(piece.array).name;
    let first = &symbols.axis(symbols.letter(piece.letters[0]).axis).name;
    (!found.is_empty()).then(|| {
        format!(
            "{}: labels of axis `{axis}` look like names of columns: {}\n  help: if each line is one entry, say which columns are \
             which: `--columns {name}={first}:COLUMN,{axis}:COLUMN,value:COLUMN`",
            piece.name(),
            some(&found)
        )
    })
}

/// The labels of the columns of a table of few columns.
fn column_labels(piece: &Piece) -> Option<&Vec<String>> {
    let Content::Dense(Dense { labels, lines: Some(_), .. }) = &piece.content else { return None };
    let [_, Some(columns)] = labels.as_slice() else { return None };
    (columns.len() <= FEW_COLUMNS).then_some(columns)
}

/// What to do about a missing entry in the corner of a table without a header, if its first line may be one.
pub(super) fn names_behind_nothing(symbols: &Symbols, piece: &Piece) -> Option<String> {
    let Content::Dense(Dense { shape, values: Values::Numbers(values), labels, lines: Some(_), .. }) =
        &piece.content
    else {
        return None;
    };
    let ([_, columns], [None, None]) = (shape.as_slice(), labels.as_slice()) else { return None };
    let mut names: Vec<f64> = values.get(1..*columns)?.to_vec();
    names.sort_by(f64::total_cmp);
    let differ = names.iter().all(|own| !own.is_nan()) && names.windows(2).all(|pair| pair[0] != pair[1]);
    (values[0].is_nan() && names.len() > 1 && differ).then(|| {
        let axis = &symbols.axis(symbols.letter(piece.letters[0]).axis).name;
        let (first, second) = (values[1], values[2]);
        format!("if {first} and {second} are names of columns, write `{axis}` into the empty field")
    })
}

/// A table without a header whose first line may be one: whole numbers that rise, such as years, behind an empty field, above a first column of
/// whole numbers that rise.
fn names_among_rows(symbols: &Symbols, piece: &Piece) -> Option<String> {
    let Content::Dense(Dense { shape, values: Values::Numbers(values), labels, lines: Some(_), .. }) =
        &piece.content
    else {
        return None;
    };
    let ([rows, columns], [None, None]) = (shape.as_slice(), labels.as_slice()) else { return None };
    let rises = |own: &mut dyn Iterator<Item = f64>| {
        let own: Vec<f64> = own.collect();
        own.iter().all(|value| value.fract() == 0.0) && own.windows(2).all(|pair| pair[0] < pair[1])
    };
    let is_header = *rows > 2
        && *columns > 2
        && values[0].is_nan()
        && rises(&mut values[1..*columns].iter().copied())
        && rises(&mut values.iter().copied().step_by(*columns).skip(1));
    is_header.then(|| {
        let axis = &symbols.axis(symbols.letter(piece.letters[0]).axis).name;
        format!(
            "{}: the first line is read as data, its empty field as a missing entry\n  help: if {} and {} are names of columns, write `{axis}` \
             into the empty field; else `NA`",
            piece.name(),
            values[1],
            values[2]
        )
    })
}

/// Whether a name ends in a word for what tells rows from each other: `id`, `gene_key`, `Year`.
fn is_named_as_key(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    let last = name.rsplit(|own: char| !own.is_alphanumeric()).next();
    last.is_some_and(|word| {
        ["id", "ids", "idx", "index", "key", "keys", "year", "nr", "fips"].contains(&word)
    })
}

/// A table without row labels whose first column counts the rows, or is named as a key and holds whole numbers that differ.
fn id_among_columns(symbols: &Symbols, piece: &Piece, axes: &Axes) -> Option<String> {
    let Content::Dense(Dense { shape, values: Values::Numbers(values), labels, lines: Some(_), .. }) =
        &piece.content
    else {
        return None;
    };
    let ([rows, columns], [None, Some(names)]) = (shape.as_slice(), labels.as_slice()) else { return None };
    if *rows < FEW_KEYS || *columns < 2 {
        return None;
    }
    let first = values[0];
    let counts = |(row, value): (usize, &f64)| *value == first + row as f64;
    let is_counter = *rows >= FEW_ROWS
        && (first == 0.0 || first == 1.0)
        && values.iter().step_by(*columns).enumerate().all(counts);
    let mut ids: Vec<f64> = values.iter().copied().step_by(*columns).collect();
    ids.sort_by(f64::total_cmp);
    // Wider tables have words as columns, `key` and `index` among them, and so have those of which all columns are so named.
    let is_word =
        names.len() > FEW_COLUMNS && *rows < FEW_ROWS || names.iter().all(|own| is_named_as_key(own));
    let is_id = is_named_as_key(&names[0])
        && !is_word
        && ids.iter().all(|own| own.fract() == 0.0)
        && ids.windows(2).all(|pair| pair[0] != pair[1]);
    let axis = symbols.letter(piece.letters[0]).axis;
    // Where rows have labels from elsewhere, so has this file.
    let is_labelled = axes.labels[axis.index()].is_some();
    (is_counter || is_id).then(|| {
        let does = if is_counter { "counts the rows" } else { "has another whole number in each row" };
        let (column, name) = (&names[0], &symbols.axis(axis).name);
        let or = if is_labelled { "" } else { ", or give it no name" };
        format!(
            "{}: the column `{column}` {does}, and is read as data\n  help: if it holds labels, name it `{name}` in the \
             header{or}",
            piece.name()
        )
    })
}

/// A table without a header whose first column is whole numbers that rise, and unlike the others: these are measured ones, or the first counts one by
/// one and no other does.
fn labels_without_header(symbols: &Symbols, piece: &Piece) -> Option<String> {
    let Content::Dense(Dense { shape, values: Values::Numbers(values), labels, lines: Some(_), .. }) =
        &piece.content
    else {
        return None;
    };
    let ([rows, columns], [None, None]) = (shape.as_slice(), labels.as_slice()) else { return None };
    let axis = |dimension: usize| symbols.letter(piece.letters[dimension]).axis;
    if *rows < FEW_ROWS || *columns < 2 || axis(0) == axis(1) {
        return None;
    }
    let column = |place: usize| values.iter().copied().skip(place).step_by(*columns);
    let steps = |place: usize| column(place).zip(column(place).skip(1)).map(|(one, next)| next - one);
    let rises = column(0).all(|own| own.fract() == 0.0) && steps(0).all(|step| step > 0.0);
    if !rises {
        return None;
    }
    let counts = |place: usize| steps(place).all(|step| step == 1.0);
    let is_measured = |place: usize| column(place).any(|own| own.fract() != 0.0);
    let is_unlike = (1..*columns).all(is_measured) || counts(0) && !(1..*columns).any(counts);
    is_unlike.then(|| {
        let name = &symbols.axis(axis(0)).name;
        format!(
            "{}: the first column holds whole numbers that rise, unlike the others, and is read as data\n  help: if it holds labels, write a \
             first line with a name for each column, `{name}` for this one",
            piece.name()
        )
    })
}

/// The first three of some names.
fn some(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > 3 { ", ..." } else { "" };
    shown.join(", ") + more
}
