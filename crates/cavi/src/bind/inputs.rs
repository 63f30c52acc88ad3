//! What the command line (or a caller with data in memory) gives to a program.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cavi_files::{Columns, Content, Coordinates, Dense, FileError, ReadOptions, TextOptions, Values};
use cavi_model::Set;
use cavi_numerics::Numbers;

use super::arithmetic;
use super::data_error::DataError;

/// What `--columns` says of a table that is rows by columns, whatever its header looks like.
const WIDE: &str = "wide";

/// Everything that a program is run on. The fields are in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// `--data`
    pub data: Vec<ArrayInput>,
    /// `--fix`: latents that are held at the values of a file.
    pub fix: Vec<ArrayInput>,
    /// `--columns`
    pub columns: Vec<ColumnsInput>,
    /// `--transpose`
    pub transpose: Vec<String>,
    /// `--labels`
    pub labels: Vec<LabelsInput>,
    /// `--set`
    pub set: Vec<SetInput>,
    /// `--unique`: labels of genes and cells that stand twice are kept apart.
    pub unique: bool,
    /// Which words of texts count.
    pub texts: TextOptions,
    /// The options that ask for it, to be refused where there are no texts.
    pub asked_of_texts: Vec<&'static str>,
    /// Where lists are kept that may be larger than memory, for data that are read to be packed; `None` in memory.
    pub spill: Option<PathBuf>,
    /// Whether the covariances of Gaussian processes stay zeros: a plan reads their sizes alone.
    pub sizes_of_covariances: bool,
}

/// A file for an array: `NAME=FILE`, or `NAME[GROUP]=FILE` for one group of a ragged array.
#[derive(Clone, Debug)]
pub struct ArrayInput {
    /// The array.
    pub name: String,
    /// The label of the group; labels of nested groups are joined by `/`.
    pub group: Option<String>,
    /// Where the values are.
    pub source: Source,
}

/// Where the values of an array are.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a run has a few of them, and their data are larger")]
pub enum Source {
    /// A file, and possibly the column of a table.
    File {
        /// The file.
        path: PathBuf,
        /// The column.
        column: Option<String>,
    },
    /// The bytes of a file; its name states the format and stands in messages.
    Bytes {
        /// The name.
        name: PathBuf,
        /// The content.
        bytes: Cow<'static, [u8]>,
    },
    /// A file that was read before, or an array in memory. Numbers that are shared or lent ([`cavi_numerics::Numbers`]) are read where they
    /// are, unless some of them have to be others.
    Content {
        /// Its name, for messages.
        name: PathBuf,
        /// What it holds.
        content: Content,
        /// For each dimension whether it has an index that counts from 0, as a frame has by itself, and no other labels. The numbers are labels
        /// only where other data of the axis have one of them. Shorter than the dimensions: the rest has no index.
        counts: Vec<bool>,
    },
    /// A table in memory, read by the rules of a file with these names in its header.
    Table {
        /// Its name, for messages.
        name: PathBuf,
        /// Its columns; an index that does not count is the first one.
        columns: Arc<Columns>,
        /// Whether its rows have an index that counts from 0.
        counts: bool,
    },
}

/// Which columns of a table are what: `NAME=user:userId,value:rating`, or `NAME=wide` for one that is rows by columns.
#[derive(Clone, Debug)]
pub struct ColumnsInput {
    /// The array.
    pub name: String,
    /// Pairs of an axis (a letter, or `value`) and a column; none of a table that is rows by columns.
    pub columns: Vec<(String, String)>,
}

/// Labels of an axis, or of one group of a ragged axis.
#[derive(Clone, Debug)]
pub struct LabelsInput {
    /// The axis.
    pub axis: String,
    /// The label of the group.
    pub group: Option<String>,
    /// Where they are.
    pub source: LabelSource,
}

/// Where labels are.
#[derive(Clone, Debug)]
pub enum LabelSource {
    /// A file with one label a line.
    File(PathBuf),
    /// A list, and what to call it in messages.
    List(String, Vec<String>),
}

/// A constant, or the size of an axis.
#[derive(Clone, Debug)]
pub struct SetInput {
    /// The constant or the axis.
    pub name: String,
    /// The label of the group, for a constant over a ragged axis.
    pub group: Option<String>,
    /// The value.
    pub value: SetValue,
}

/// What a constant is set to.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there are a few, each given once")]
pub enum SetValue {
    /// A number, which fills an array.
    Number(f64),
    /// An array.
    Source(Source),
}

impl ArrayInput {
    /// All entries of an array in memory, in C order of its declared dimensions; NaN is missing. A fit reads them where they are.
    ///
    /// # Errors
    /// If there are not as many values as the shape has cells.
    pub fn dense(name: &str, shape: &[usize], values: Vec<f64>) -> Result<ArrayInput, DataError> {
        let cells = shape.iter().try_fold(1_usize, |cells, size| cells.checked_mul(*size));
        if cells != Some(values.len()) {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let found = format!("`{name}`: {} values for a shape of {}", values.len(), sizes.join(" x "));
            return Err(
                DataError::new(found).possible("one value for each cell, the last dimension running fastest")
            );
        }
        let labels = vec![None; shape.len()];
        let dense = Dense::new(shape.to_vec(), Values::Numbers(Numbers::shared(values)), labels);
        Ok(ArrayInput::in_memory(name, Content::Dense(dense)))
    }

    /// The listed entries of an array in memory: a column of positions from 0 for each of its declared dimensions.
    ///
    /// # Errors
    /// If there is not one column for each dimension and one position in it for each value, or a position lies outside
    /// of the shape.
    pub fn sparse(
        name: &str,
        shape: &[usize],
        indices: Vec<Vec<u32>>,
        values: Vec<f64>,
    ) -> Result<ArrayInput, DataError> {
        if shape.len() != indices.len() {
            let (columns, dimensions) = (indices.len(), shape.len());
            return Err(DataError::new(format!(
                "`{name}`: {columns} columns of positions for {dimensions} dimensions"
            ))
            .possible("one column for each dimension"));
        }
        for (number, (size, column)) in shape.iter().zip(&indices).enumerate() {
            let dimension = number + 1;
            if column.len() != values.len() {
                let (positions, values) = (column.len(), values.len());
                return Err(DataError::new(format!(
                    "`{name}`: {positions} positions along dimension {dimension} for {values} values"
                ))
                .possible("one position in each column for each value"));
            }
            let outside = column.iter().enumerate().find(|(_, position)| **position as usize >= *size);
            if let Some((entry, position)) = outside {
                return Err(DataError::new(format!(
                    "`{name}`: entry {entry} has position {position} along dimension {dimension}, whose size is {size}"
                ))
                .possible(format!("positions count from 0 and are less than {size}")));
            }
        }
        let content = Coordinates {
            shape: shape.to_vec(),
            shape_is_exact: true,
            indices: indices.into_iter().map(Numbers::shared).collect(),
            ascends: false,
            values: Numbers::shared(values),
            labels: Vec::new(),
            value_labels: None,
            texts: None,
            lines: None,
        };
        Ok(ArrayInput::in_memory(name, Content::Coordinates(content)))
    }

    /// Values in memory under the name of their array.
    fn in_memory(name: &str, content: Content) -> ArrayInput {
        let source = Source::Content { name: PathBuf::from(name), content, counts: Vec::new() };
        ArrayInput { name: name.to_owned(), group: None, source }
    }
}

impl Inputs {
    /// Reads the texts of `--data`, `--columns`, `--transpose`, `--labels` and `--set`, one entry an occurrence.
    ///
    /// # Errors
    ///
    /// Every text that is not of the form that its option has.
    ///
    /// # Example
    /// ```
    /// use cavi::bind::Inputs;
    /// let texts = |text: &str| vec![text.to_owned()];
    /// let inputs = Inputs::parse(&texts("x[rna]=rna.csv"), &[], &[], &[], &texts("k=2 * 5")).unwrap();
    /// assert_eq!(inputs.data[0].group.as_deref(), Some("rna"));
    /// assert_eq!(inputs.set_values()[0].name, "k");
    /// ```
    pub fn parse(
        data: &[String],
        columns: &[String],
        transpose: &[String],
        labels: &[String],
        set: &[String],
    ) -> Result<Inputs, Vec<DataError>> {
        let mut problems = Vec::new();
        let mut inputs = Inputs { transpose: transpose.to_vec(), ..Inputs::default() };
        let form = |option: &str, text: &str, form: &str| {
            DataError::new(format!("`{option} {text}` is not of the form `{form}`"))
        };
        for text in data {
            match ArrayInput::parse(text) {
                Some(input) => inputs.data.push(input),
                None => problems.push(
                    form("--data", text, "NAME=FILE")
                        .help(format!("`--data NAME={text}`, by the name that the program gives the data")),
                ),
            }
        }
        for text in columns {
            match ColumnsInput::parse(text) {
                Some(input) => inputs.columns.push(input),
                None => problems.push(
                    form("--columns", text, "NAME=axis:column,...")
                        .help("`--columns n=user:userId,value:rating`"),
                ),
            }
        }
        for text in labels {
            match named(text) {
                Some((axis, group, file)) => inputs.labels.push(LabelsInput {
                    axis,
                    group,
                    source: LabelSource::File(PathBuf::from(file)),
                }),
                None => problems.push(form("--labels", text, "AXIS=FILE")),
            }
        }
        for text in set {
            match SetInput::parse(text) {
                Some(Ok(input)) => inputs.set.push(input),
                Some(Err(problem)) => problems.push(problem),
                None => problems.push(
                    form("--set", text, "NAME=VALUE")
                        .possible("a value is a number, an expression of numbers or a file"),
                ),
            }
        }
        if problems.is_empty() { Ok(inputs) } else { Err(problems) }
    }

    /// Reads the texts of `--fix`, one entry an occurrence.
    ///
    /// # Errors
    /// Every text that is not of the form `NAME=FILE`.
    pub fn parse_fixed(fix: &[String]) -> Result<Vec<ArrayInput>, Vec<DataError>> {
        let mut problems = Vec::new();
        let mut inputs = Vec::new();
        for text in fix {
            let is_number = |own: &ArrayInput| {
                let name = own.source.name();
                name.to_str().is_some_and(|name| name.parse::<f64>().is_ok()) && !name.exists()
            };
            match ArrayInput::parse(text) {
                Some(input) if is_number(&input) => {
                    let (name, number) = (&input.name, input.source.name().display());
                    let problem =
                        DataError::new(format!("`--fix {text}`: {number} is a number, and no file"));
                    problems.push(problem.help(format!(
                        "write {number} into a file, `{name}.csv` say, and give `--fix {name}={name}.csv`"
                    )));
                }
                Some(input) => inputs.push(input),
                None => problems.push(
                    DataError::new(format!("`--fix {text}` is not of the form `NAME=FILE`"))
                        .help(format!("`--fix NAME={text}`, by the name that the program gives the latent")),
                ),
            }
        }
        if problems.is_empty() { Ok(inputs) } else { Err(problems) }
    }

    /// What `--set` gives values, for [`cavi_model::resolve_with`].
    pub fn set_values(&self) -> Vec<Set<'_>> {
        let value = |input: &SetInput| match input.value {
            SetValue::Number(value) if input.group.is_none() => Some(value),
            SetValue::Number(_) | SetValue::Source(_) => None,
        };
        self.set.iter().map(|input| Set { name: &input.name, value: value(input) }).collect()
    }
}

impl ArrayInput {
    /// Reads `NAME=FILE`, `NAME=FILE:COLUMN` or `NAME[GROUP]=FILE`.
    pub fn parse(text: &str) -> Option<ArrayInput> {
        let (name, group, file) = named(text)?;
        Some(ArrayInput { name, group, source: Source::file(file) })
    }
}

impl ColumnsInput {
    /// Reads `NAME=axis:column,...` or `NAME=wide`.
    pub fn parse(text: &str) -> Option<ColumnsInput> {
        let (name, columns) = text.split_once('=')?;
        if columns == WIDE {
            return Some(ColumnsInput { name: name.trim().to_owned(), columns: Vec::new() });
        }
        let columns: Option<Vec<(String, String)>> = columns
            .split(',')
            .map(|pair| {
                let (role, column) = pair.split_once(':')?;
                (!role.is_empty() && !column.is_empty()).then(|| (role.trim().to_owned(), column.to_owned()))
            })
            .collect();
        Some(ColumnsInput { name: name.trim().to_owned(), columns: columns? })
    }
}

impl SetInput {
    /// Whether another gives the same thing the same number, or the same file.
    pub(crate) fn is_same(&self, other: &SetInput) -> bool {
        let place = |source: &Source| match source {
            Source::File { path, column } => (path.clone(), column.clone()),
            Source::Bytes { name, .. } | Source::Content { name, .. } | Source::Table { name, .. } => {
                (name.clone(), None)
            }
        };
        let same = match (&self.value, &other.value) {
            (SetValue::Number(one), SetValue::Number(other)) => one == other,
            (SetValue::Source(one), SetValue::Source(other)) => place(one) == place(other),
            (SetValue::Number(_), SetValue::Source(_)) | (SetValue::Source(_), SetValue::Number(_)) => false,
        };
        same && self.name == other.name && self.group == other.group
    }

    /// Reads `NAME=VALUE`; `None` where it has another form.
    pub fn parse(text: &str) -> Option<Result<SetInput, DataError>> {
        let (name, group, value) = named(text)?;
        let number = number(value);
        let value = match number {
            Some(number) if !number.is_finite() => {
                let message = format!("`--set {text}` is {number}");
                return Some(Err(DataError::new(message).possible("a finite number")));
            }
            Some(number) => SetValue::Number(number),
            None => {
                let source = Source::file(value);
                // A value without a suffix is more likely a mistyped number than a missing file.
                if source.name().extension().is_none() && !source.name().exists() {
                    let message = format!("`--set {text}`: `{value}` is neither a number nor a file");
                    let possible = "a number, an expression of numbers such as `3 * 4`, or a file of numbers";
                    return Some(Err(DataError::new(message).possible(possible)));
                }
                SetValue::Source(source)
            }
        };
        Some(Ok(SetInput { name, group, value }))
    }
}

impl Source {
    /// A file, with the column that may stand after it.
    pub fn file(text: &str) -> Source {
        let (path, column) = cavi_files::split_column(text);
        Source::File { path, column }
    }

    /// Its name, for messages.
    pub fn name(&self) -> &Path {
        match self {
            Source::File { path, .. } => path,
            Source::Bytes { name, .. } | Source::Content { name, .. } | Source::Table { name, .. } => name,
        }
    }

    /// Reads it; the column of the options is that of the source.
    pub(super) fn read(&self, options: &ReadOptions<'_>) -> Result<Content, FileError> {
        match self {
            Source::File { path, column } => {
                cavi_files::read(path, &ReadOptions { column: column.as_deref(), ..*options })
            }
            Source::Bytes { name, bytes } => cavi_files::read_from(name, bytes.to_vec(), options),
            Source::Content { content, .. } if options.as_written => Ok(content.clone()),
            Source::Content { content, .. } => Ok(cavi_files::canonical(content.clone())),
            Source::Table { name, columns, .. } => cavi_files::read_columns(name, columns, options),
        }
    }

    /// For each dimension of what was read of it whether it has an index that counts from 0.
    pub(super) fn counts(&self, content: &Content) -> Vec<bool> {
        match (self, content) {
            (Source::Content { counts, .. }, _) => counts.clone(),
            (Source::Table { counts, .. }, Content::Dense(dense)) => {
                vec![*counts && dense.labels.first().is_some_and(Option::is_none)]
            }
            (Source::File { .. } | Source::Bytes { .. } | Source::Table { .. }, _) => Vec::new(),
        }
    }
}

impl LabelSource {
    /// Its name, for messages.
    pub(super) fn name(&self) -> String {
        match self {
            LabelSource::File(path) => path.display().to_string(),
            LabelSource::List(name, _) => name.clone(),
        }
    }

    /// Reads it.
    pub(super) fn read(&self) -> Result<Vec<String>, FileError> {
        match self {
            LabelSource::File(path) => {
                // Blanks around a label are no part of it, as in a table.
                let labels = cavi_files::read_labels(path)?;
                let mut labels: Vec<String> = labels.iter().map(|label| label.trim().to_owned()).collect();
                cavi_files::canonical_labels(&mut labels);
                Ok(labels)
            }
            LabelSource::List(_, labels) => {
                let mut labels = labels.clone();
                cavi_files::canonical_labels(&mut labels);
                Ok(labels)
            }
        }
    }
}

/// The number that an expression of numbers is.
pub(crate) fn number(text: &str) -> Option<f64> {
    cavi_syntax::parse_number_expression(text).ok().and_then(|value| arithmetic::number(&value))
}

/// Takes `NAME=REST` or `NAME[GROUP]=REST` apart.
fn named(text: &str) -> Option<(String, Option<String>, &str)> {
    let equals = text.find('=')?;
    let (name, group, rest) = match text.find('[') {
        Some(bracket) if bracket < equals => {
            let end = bracket + text[bracket..].find("]=")?;
            (&text[..bracket], Some(text[bracket + 1..end].to_owned()), &text[end + 2..])
        }
        Some(_) | None => (&text[..equals], None, &text[equals + 1..]),
    };
    let name = name.trim();
    let empty = name.is_empty() || rest.is_empty() || group.as_deref() == Some("");
    (!empty).then(|| (name.to_owned(), group, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_files_are_taken_apart() {
        let check = |text: &str| named(text).map(|(name, group, rest)| (name, group, rest.to_owned()));
        let found = |name: &str, group: Option<&str>, rest: &str| {
            Some((name.to_owned(), group.map(str::to_owned), rest.to_owned()))
        };
        assert_eq!(check("x=a=b.csv"), found("x", None, "a=b.csv"));
        assert_eq!(check("x[a/b]=c[1].csv"), found("x", Some("a/b"), "c[1].csv"));
        assert_eq!(check("x[p=1]=c.csv"), found("x", Some("p=1"), "c.csv"));
        assert_eq!(check("x[p]"), None);
        assert_eq!(check("=c.csv"), None);
        assert_eq!(check("x="), None);
    }

    #[test]
    fn a_constant_is_a_number_or_a_file() {
        let check = |text: &str| match SetInput::parse(text) {
            Some(Ok(SetInput { value: SetValue::Number(value), .. })) => Some(value),
            Some(Ok(_) | Err(_)) | None => None,
        };
        assert_eq!(check("k=-2^2 + 1e1"), Some(6.0));
        assert_eq!(check("k=data/k.npy"), None);
        assert!(SetInput::parse("k=1 / 0").is_some_and(|parsed| parsed.is_err()));
    }
}
