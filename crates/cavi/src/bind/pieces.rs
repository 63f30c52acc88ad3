//! Files to pieces: each file read once, and which dimensions of which array it holds.

use std::path::{Path, PathBuf};

use cavi_algebra::{Array, ArrayId, ArrayKind, AxisId, LetterId, Restriction, Support, Symbols, dedup};
use cavi_files::{
    ColumnOf, Content, Declared, Dimension, FileError, Only, ReadOptions, TextReading, TextReport, Values,
    Vocabulary, Wanted,
};

use super::data_error::DataError;
use super::flat::{self, FlatAxis};
use super::inputs::{Inputs, SetValue, Source};

/// A file bound to an array.
pub(super) struct Piece {
    /// The array.
    pub array: ArrayId,
    /// The file, for messages.
    pub file: PathBuf,
    /// What it holds.
    pub content: Content,
    /// The letters of the dimensions of the content. A table over a ragged axis has columns for the ancestors too.
    pub letters: Vec<LetterId>,
    /// For a file of one group of a ragged array: the labels of the group, outermost first.
    pub group: Option<Vec<String>>,
    /// Of packed data along ragged axes, whose dimensions hold the positions of all groups: these axes, and those above them.
    pub flat: Vec<FlatAxis>,
    /// For each dimension whether it has an index that counts from 0 in the place of labels; the rest has none.
    pub counts: Vec<bool>,
}

impl Piece {
    /// Whether a dimension has an index that counts from 0 in the place of labels.
    pub fn counts(&self, dimension: usize) -> bool {
        self.counts.get(dimension).copied().unwrap_or(false)
    }

    /// The file as messages name it.
    pub fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// How texts were read, where it holds their counts.
    pub fn texts(&self) -> Option<&TextReport> {
        match &self.content {
            Content::Coordinates(coordinates) => coordinates.texts.as_deref(),
            Content::Dense(_) | Content::Long(_) | Content::Documents(_) => None,
        }
    }

    /// Whether it holds rows of index and count for an index array over a ragged axis.
    pub fn is_documents(&self) -> bool {
        matches!(self.content, Content::Documents(_))
    }
}

/// The first ragged letter of an array.
fn ragged_letter(symbols: &Symbols, id: ArrayId) -> Option<LetterId> {
    symbols.array(id).letters.iter().copied().find(|letter| symbols.letter(*letter).parent.is_some())
}

/// Reads every file that is bound to data or to a constant.
pub(super) fn read(symbols: &Symbols, inputs: &Inputs, problems: &mut Vec<DataError>) -> Vec<Piece> {
    check_names(symbols, inputs, problems);
    let mut pieces: Vec<Piece> = Vec::new();
    let given = inputs.data.iter().map(|input| (&input.name, &input.group, &input.source, ArrayKind::Data));
    let set = inputs.set.iter().filter_map(|input| match &input.value {
        SetValue::Number(_) => None,
        SetValue::Source(source) => Some((&input.name, &input.group, source, ArrayKind::Constant)),
    });
    for (name, group, source, kind) in given.chain(set) {
        let Some(id) = symbols.find(name) else { continue };
        if symbols.array(id).kind != kind || kind == ArrayKind::Data && symbols.array(id).value.is_some() {
            continue;
        }
        if let Some(before) = pieces.iter().find(|piece| piece.array == id) {
            let labels = group.as_deref().map(|group| path(symbols, id, group));
            let clash = match (&labels, &before.group) {
                (Some(Ok(labels)), Some(_)) => {
                    pieces.iter().find(|piece| piece.array == id && piece.group.as_ref() == Some(labels))
                }
                (Some(Err(_)), _) => None,
                (None, _) | (Some(Ok(_)), None) => Some(before),
            };
            if let Some(before) = clash {
                problems.push(
                    DataError::new(format!(
                        "`{name}` is bound to {} and to {}",
                        before.name(),
                        source.name().display()
                    ))
                    .possible("one file an array, or one file for each group of a ragged array"),
                );
                continue;
            }
        }
        match read_one(symbols, inputs, id, group.as_deref(), source, None) {
            Ok(piece) => pieces.push(piece),
            Err(problem) => problems.push(problem),
        }
    }
    super::spellings::of_data(symbols, inputs, &mut pieces);
    pieces
}

/// Reads one file for an array, with its labels as they are written there. `wanted` is what it holds where that is not the array's values.
pub(super) fn read_one(
    symbols: &Symbols,
    inputs: &Inputs,
    id: ArrayId,
    group: Option<&str>,
    source: &Source,
    wanted: Option<Wanted>,
) -> Result<Piece, DataError> {
    let array = symbols.array(id);
    let ragged = ragged_letter(symbols, id);
    let group = group.map(|group| path(symbols, id, group)).transpose()?;
    let file = source.name().to_owned();
    let index = match array.support {
        Support::Index(axis) => Some(axis),
        Support::Real
        | Support::Positive
        | Support::Nonnegative
        | Support::Unit
        | Support::Count
        | Support::Binary
        | Support::Simplex
        | Support::Multiplicity
        | Support::PositiveDefinite => None,
    };
    let of_values = if index.is_some() { Wanted::Text } else { Wanted::Numbers };
    let is_of_values = wanted.is_none();
    let wanted = wanted.unwrap_or(of_values);
    let flat = flat::of_source(symbols, array, source, group.as_deref())?;
    let mut letters: Vec<LetterId> = match (ragged, &group) {
        _ if flat.is_some() => array.letters.clone(),
        (Some(_), None) => {
            let lineage = |letter: &LetterId| symbols.lineage(*letter).into_iter().rev();
            dedup(array.letters.iter().flat_map(lineage).collect())
        }
        (Some(_), Some(_)) | (None, None) => array.letters.clone(),
        (None, Some(_)) => unreachable!("only ragged arrays have groups"),
    };
    let is_turned = inputs.transpose.contains(&array.name);
    if is_turned {
        letters.reverse();
    }
    let declared = is_of_values.then(|| declared(array, &letters));
    let asked = || inputs.columns.iter().filter(|columns| columns.name == array.name);
    let is_wide = asked().any(|columns| columns.columns.is_empty());
    let may_be_texts = wanted == Wanted::Numbers && array.kind == ArrayKind::Data;
    let words = match letters[..] {
        [_, words] if may_be_texts => Some(given_words(symbols, inputs, words, group.as_deref())?),
        _ => None,
    };
    let texts = words.as_ref().map(|words| TextReading {
        options: &inputs.texts,
        vocabulary: words.as_ref().map(|(from, words)| Vocabulary { words, from }),
    });
    if matches!(source, Source::Content { .. }) && asked().next().is_some() {
        return Err(DataError::new(format!(
            "`--columns {}` names columns, and an array in memory has none",
            array.name
        ))
        .possible("a frame, or a file that is a table"));
    }
    let read = |dimensions: &[Dimension<'_>], columns: &[ColumnOf<'_>]| {
        let unique = inputs.unique;
        // Entries beside the data have their values in a column of the same name.
        let of_data = inputs.data.iter().find_map(|own| match &own.source {
            Source::File { column: Some(column), .. } if own.name == array.name => Some(column),
            _ => None,
        });
        let name = of_data.filter(|_| wanted == Wanted::Optional).unwrap_or(&array.name);
        let spill = inputs.spill.as_deref();
        let options = ReadOptions {
            dimensions,
            name,
            spill,
            wanted,
            column: None,
            columns,
            is_wide,
            is_named: false,
            unique,
            is_turned,
            texts,
            declared,
            as_written: true,
        };
        source.read(&options).map_err(|error| {
            let is_about_columns = error.line == Some(1);
            let error = DataError::from(with_name(error, &array.name));
            match ragged.is_some() && group.is_none() && is_about_columns {
                true => or_of_one_group(symbols, id, error, &file),
                false => error,
            }
        })
    };
    let columns: Vec<ColumnOf<'_>> = asked()
        .flat_map(|columns| &columns.columns)
        .map(|(role, column)| ColumnOf { role, column })
        .collect();
    let is_documents = flat.is_none() && ragged.is_some() && group.is_none() && names_documents(source);
    let content = if is_documents {
        let Some(target) = index.filter(|_| letters.len() == 2) else {
            return Err(DataError::new(format!("{}: documents for `{}`", file.display(), array.name))
                .possible(
                    "an .ldac file holds counts of two axes, or an `index` array over one ragged axis",
                ));
        };
        let parent = dimension(symbols, letters[0]);
        let words = Dimension { axis: &symbols.axis(target).name, letter: None };
        read(&[parent, words], &columns)?
    } else {
        let dimensions: Vec<Dimension<'_>> =
            letters.iter().map(|letter| dimension(symbols, *letter)).collect();
        match read(&dimensions, &columns)? {
            Content::Documents(documents) => Content::Coordinates(documents.into_coordinates()),
            content @ (Content::Dense(_) | Content::Coordinates(_) | Content::Long(_)) => content,
        }
    };
    let found = match &content {
        Content::Dense(dense) => dense.shape.len(),
        Content::Coordinates(coordinates) => coordinates.indices.len(),
        Content::Long(long) => long.positions.len(),
        Content::Documents(_) => letters.len(),
    };
    if found != letters.len() {
        return Err(DataError::new(format!(
            "{}: an array of {found} dimensions for `{}`",
            file.display(),
            array.name
        ))
        .possible(format!("{} dimensions", letters.len())));
    }
    let needs_groups = ragged.is_some() && group.is_none() && flat.is_none();
    if needs_groups && matches!(content, Content::Dense(_) | Content::Coordinates(_)) {
        return Err(ragged_needs_groups(symbols, id, &file.display().to_string()));
    }
    if let Content::Long(long) = &content
        && long.values.is_none()
        && !wanted.may_lack_values()
    {
        return Err(DataError::new(format!("{}: no column of values for `{}`", file.display(), array.name)));
    }
    if index.is_none() && matches!(&content, Content::Dense(dense) if matches!(dense.values, Values::Text(_)))
    {
        return Err(DataError::new(format!(
            "{}: text for `{}`, whose values are numbers",
            file.display(),
            array.name
        )));
    }
    let counts = source.counts(&content);
    let flat = flat.unwrap_or_default();
    Ok(Piece { array: id, file, content, letters, group, flat, counts })
}

/// What a program declares of the entries of an array, over these letters of it.
pub(crate) fn declared(array: &Array, letters: &[LetterId]) -> Declared {
    let place = |letter: LetterId| letters.iter().position(|own| *own == letter);
    let only = array.restriction.and_then(|own| match own {
        Restriction::Less(left, right) => Some(Only::Below(place(left)?, place(right)?)),
        Restriction::Different(left, right) => Some(Only::Different(place(left)?, place(right)?)),
    });
    Declared { unlisted_zero: array.absent.zero, only }
}

/// The words that texts are read by: the labels that are given for the axis of words, and where they stand.
fn given_words(
    symbols: &Symbols,
    inputs: &Inputs,
    words: LetterId,
    group: Option<&[String]>,
) -> Result<Option<(String, Vec<String>)>, DataError> {
    let letter = symbols.letter(words);
    let name = &symbols.axis(letter.axis).name;
    let group = group.filter(|_| letter.parent.is_some()).map(|path| path.join("/"));
    let given = inputs.labels.iter().find(|own| own.axis == *name && own.group == group);
    given.map(|given| Ok((given.source.name(), given.source.read()?))).transpose()
}

/// An error whose advice is a line to type, with the name of the array in it: the reader of a file does not know the name.
pub(crate) fn with_name(mut error: FileError, name: &str) -> FileError {
    error.help = error.help.map(|help| {
        let help = help.replace("--columns NAME=", &format!("--columns {name}="));
        let file = error.file.display().to_string();
        let help = help.replace("NAME=FILE:", &format!("NAME={file}:"));
        let help = help.replace("NAME=lines:FILE", &format!("NAME=lines:{file}"));
        let help = help.replace("--data NAME=", &format!("--data {name}="));
        let help = help.replace("--data 'NAME=", &format!("--data '{name}="));
        help.replace("--transpose NAME", &format!("--transpose {name}")).into_boxed_str()
    });
    error
}

fn dimension(symbols: &Symbols, letter: LetterId) -> Dimension<'_> {
    let letter = symbols.letter(letter);
    let axis = symbols.axis(letter.axis);
    let several = axis.letters.len() > 1;
    Dimension { axis: &axis.name, letter: several.then_some(letter.name.as_str()) }
}

fn names_documents(source: &Source) -> bool {
    if let Source::Content { content, .. } = source {
        return matches!(content, Content::Documents(_));
    }
    let name = source.name().to_string_lossy().to_ascii_lowercase();
    [".ldac", ".ldac.gz", ".ldac.zst"].iter().any(|suffix| name.ends_with(suffix))
}

fn ragged_needs_groups(symbols: &Symbols, id: ArrayId, file: &str) -> DataError {
    let array = symbols.array(id);
    let ragged = array.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
    let axes: Vec<&str> = ragged
        .map(|letter| symbols.lineage(*letter))
        .unwrap_or_default()
        .iter()
        .rev()
        .map(|letter| symbols.axis(symbols.letter(*letter).axis).name.as_str())
        .collect();
    let name = &array.name;
    DataError::new(format!("{file}: one array without groups for `{name}`, which is ragged"))
        .possible(format!(
            "one file for each group, or one table with a column for each axis ({})",
            super::data_error::list(&axes)
        ))
        .help(format!("`--data '{name}[GROUP]={file}'`, where GROUP is the label of the group"))
}

/// Data that no file is given for, with the line to type: of ragged data one file for each group, or one for all.
pub(crate) fn unbound(symbols: &Symbols, id: ArrayId) -> DataError {
    let name = &symbols.array(id).name;
    let problem = DataError::new(format!("the data `{name}` are bound to no file"));
    match group_axis(symbols, id) {
        None => problem.help(format!("--data {name}=FILE")),
        Some(axis) => problem.help(format!(
            "--data '{name}[GROUP]=FILE' for each label GROUP of `{axis}`, or --data {name}=FILE, a long table of all groups"
        )),
    }
}

/// The axis whose labels name the groups of a ragged array; `None` of any other array, and of one that is ragged in several axes.
fn group_axis(symbols: &Symbols, id: ArrayId) -> Option<&str> {
    let letter = ragged_letter(symbols, id)?;
    let parents = symbols.array(id).letters.iter().filter_map(|own| symbols.letter(*own).parent);
    let is_one = dedup(parents.collect::<Vec<_>>()).len() == 1;
    let parent = symbols.axis(symbols.letter(letter).axis).parent?;
    is_one.then(|| symbols.axis(parent).name.as_str())
}

/// The same error of a file for all groups, with the line for a file of one group, if its columns are not those that were looked for.
fn or_of_one_group(symbols: &Symbols, id: ArrayId, mut error: DataError, file: &Path) -> DataError {
    let (Some(axis), Some(stem)) = (group_axis(symbols, id), file.file_stem()) else { return error };
    let (name, stem) = (&symbols.array(id).name, stem.to_string_lossy());
    let group = stem.split('.').next().unwrap_or("GROUP");
    let own = format!(
        "`--data '{name}[{group}]={}'` if this is the file of one group, the `{axis}` {group}",
        file.display()
    );
    error.help = Some(match error.help {
        None => own,
        Some(help) => format!("{help}; {own}"),
    });
    error
}

/// The labels of a group, outermost first.
fn path(symbols: &Symbols, id: ArrayId, group: &str) -> Result<Vec<String>, DataError> {
    group_of(symbols, id, group).map(|(_, labels)| labels)
}

/// The axis that a group of an array is a position of, and the labels of the group, outermost first.
pub(super) fn group_of(
    symbols: &Symbols,
    id: ArrayId,
    group: &str,
) -> Result<(AxisId, Vec<String>), DataError> {
    let array = symbols.array(id);
    let Some(letter) = ragged_letter(symbols, id) else {
        return Err(DataError::new(format!(
            "`{}[{group}]` names a group, and `{}` has none",
            array.name, array.name
        ))
        .possible("groups belong to arrays over a ragged axis, `axis feature[j] in view[m]`"));
    };
    // One label of a group is that of all dimensions only if they are ragged in the same letter.
    let parent = symbols.letter(letter).parent;
    let mut parents = array.letters.iter().filter_map(|own| symbols.letter(*own).parent);
    if parents.any(|other| Some(other) != parent) {
        return Err(DataError::new(format!(
            "`{}[{group}]` names one group, and `{}` is ragged in several axes",
            array.name, array.name
        ))
        .possible("one long table with a column for each axis, ancestors included"));
    }
    let axis = symbols.letter(letter).axis;
    let labels = split_path(symbols, axis, group)?;
    let parent = symbols.axis(axis).parent.expect("a ragged axis has a parent");
    Ok((parent, labels))
}

/// The labels of the ancestors that name a group of a ragged axis, outermost first.
pub(super) fn split_path(symbols: &Symbols, axis: AxisId, group: &str) -> Result<Vec<String>, DataError> {
    let ancestors =
        std::iter::successors(symbols.axis(axis).parent, |parent| symbols.axis(*parent).parent).count();
    if ancestors == 1 {
        return Ok(vec![group.to_owned()]);
    }
    let labels: Vec<String> = group.split('/').map(str::to_owned).collect();
    if labels.len() == ancestors {
        return Ok(labels);
    }
    Err(DataError::new(format!(
        "the group `{group}` of `{}` has {} labels, and {ancestors} are expected, joined by `/`",
        symbols.axis(axis).name,
        labels.len()
    )))
}

/// Refuses names that the program does not have.
fn check_names(symbols: &Symbols, inputs: &Inputs, problems: &mut Vec<DataError>) {
    let of_kind = |kind: ArrayKind| -> Vec<&str> {
        symbols.arrays.iter().filter(|array| array.kind == kind).map(|array| array.name.as_str()).collect()
    };
    let data = of_kind(ArrayKind::Data);
    let axes: Vec<&str> = symbols.axes.iter().map(|axis| axis.name.as_str()).collect();
    for input in &inputs.data {
        let name = &input.name;
        match symbols.find(name).map(|id| symbols.array(id)) {
            Some(array) if array.kind == ArrayKind::Data => {
                if array.value.is_some() {
                    problems.push(DataError::new(format!(
                        "`{name}` is bound to {}, and the program derives it from other data",
                        input.source.name().display()
                    )));
                }
            }
            Some(array) if array.kind == ArrayKind::Constant => problems.push(
                DataError::new(format!("`--data {name}` names a constant"))
                    .help(format!("`--set {name}={}`", input.source.name().display())),
            ),
            Some(_) => problems.push(
                DataError::new(format!("`--data {name}` names a latent variable"))
                    .possible(super::data_error::list(&data)),
            ),
            None => {
                let message = format!("`--data {name}`: the program has no data of this name");
                problems.push(DataError::unknown(message, name, &data));
            }
        }
    }
    for (option, name) in inputs
        .columns
        .iter()
        .map(|columns| ("--columns", &columns.name))
        .chain(inputs.transpose.iter().map(|name| ("--transpose", name)))
    {
        match symbols.find(name).map(|id| symbols.array(id)) {
            Some(array) if option == "--transpose" && array.letters.len() < 2 => {
                problems.push(DataError::new(format!(
                    "`--transpose {name}`: `{name}` has {} dimension, and nothing to transpose",
                    array.letters.len()
                )))
            }
            Some(array) if array.kind != ArrayKind::Latent => {}
            Some(_) | None => {
                let known = [data.clone(), of_kind(ArrayKind::Constant)].concat();
                let message = format!("`{option} {name}`: the program has no data of this name");
                problems.push(DataError::unknown(message, name, &known));
            }
        }
    }
    for input in &inputs.labels {
        if !axes.contains(&input.axis.as_str()) {
            let message = format!("`--labels {}`: the program has no axis of this name", input.axis);
            // An index is a likely name for its axis.
            let letter = symbols.letters.iter().find(|letter| letter.name == input.axis);
            problems.push(match letter.map(|letter| &symbols.axis(letter.axis).name) {
                Some(axis) => DataError::new(message).help(format!(
                    "`{}` is an index of the axis `{axis}`: `--labels {axis}=FILE`",
                    input.axis
                )),
                None => DataError::unknown(message, &input.axis, &axes),
            });
        }
    }
    let mut seen: Vec<(&str, Option<&str>)> = Vec::new();
    for input in &inputs.set {
        let name = input.name.as_str();
        let key = (name, input.group.as_deref());
        if seen.contains(&key) {
            problems.push(DataError::new(format!("`--set {name}` is given twice")));
        }
        seen.push(key);
        let constant = symbols.find(name).map(|id| symbols.array(id).kind);
        let is_axis = axes.contains(&name);
        if let Some(group) = &input.group {
            let ragged = symbols.axes.iter().any(|axis| axis.name == name && axis.parent.is_some());
            let number = matches!(input.value, SetValue::Number(_));
            if is_axis && !ragged {
                problems.push(DataError::new(format!(
                    "`--set {name}[{group}]` names a group, and `{name}` has none"
                )));
            } else if constant.is_some() && number {
                problems.push(
                    DataError::new(format!("`--set {name}[{group}]` is a number"))
                        .possible("a file for a group of a constant, or one number for the whole constant"),
                );
            }
        }
        match (constant, is_axis, &input.value) {
            (Some(ArrayKind::Constant), _, _) | (None, false, _) => {
                problems.extend(super::unknown_set(symbols, name));
            }
            (None, true, SetValue::Number(_)) => {}
            (None, true, SetValue::Source(source)) => problems.push(
                DataError::new(format!("`--set {name}={}` is no size for an axis", source.name().display()))
                    .possible("a whole number, 0 or more")
                    .help(format!("`--labels {name}=FILE` gives an axis its labels")),
            ),
            (Some(ArrayKind::Data), _, _) => problems.push(
                DataError::new(format!("`--set {name}` names data")).help(format!("`--data {name}=FILE`")),
            ),
            (Some(ArrayKind::Latent), _, _) => problems.push(
                DataError::new(format!("`--set {name}` names a latent variable"))
                    .help("its start is given with `--init`"),
            ),
        }
    }
}
