//! What a program is run on: arrays of NumPy, and the texts that the options of the command line take.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use cavi::bind::{ArrayInput, ColumnsInput, DataError, LabelSource, LabelsInput, SetInput, SetValue, Source};
use cavi::directory::Asked;
use cavi::heldout::Request;
use cavi_files::{
    Categories, Column, Columns, Content, Coordinates, Dense, LONGEST_SEQUENCE, LanguageName, MostDocuments,
    StopWords, Values,
};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::raised;
use crate::lent;

/// The labels of each dimension, where it has some.
type DimensionLabels = Vec<Option<Vec<String>>>;

/// Data, labels, sizes and constants of a call. What is given as a text is read as the option of the command line is.
#[pyclass(module = "cavi._core", from_py_object)]
#[derive(Clone, Default)]
pub struct Inputs {
    /// As the library takes them.
    pub inner: cavi::bind::Inputs,
    /// The parts of the data that are held out.
    pub heldout: Vec<Request>,
    /// What the summary keeps of it.
    pub asked: Asked,
    /// Whether they are the data that a fit keeps by reference.
    pub is_kept: bool,
}

#[pymethods]
impl Inputs {
    /// The texts of `--data`, `--columns`, `--transpose`, `--labels`, `--set` and `--heldout` (for a score: `--given`).
    #[new]
    #[pyo3(signature = (data, columns, transpose, labels, set, heldout, given = false))]
    #[allow(clippy::too_many_arguments, reason = "one for each option, all of them texts")]
    fn new(
        py: Python<'_>,
        data: Vec<String>,
        columns: Vec<String>,
        transpose: Vec<String>,
        labels: Vec<String>,
        set: Vec<String>,
        heldout: Vec<String>,
        given: bool,
    ) -> PyResult<Inputs> {
        let inner = cavi::bind::Inputs::parse(&data, &columns, &transpose, &labels, &set);
        let inner = raised(py, inner.map_err(cavi::Error::Usage))?;
        let request = |text: &String| match given {
            true => Request::parse_file("given", text),
            false => Request::parse("heldout", text),
        };
        let requests: Result<Vec<Request>, DataError> = heldout.iter().map(request).collect();
        let requests = raised(py, requests.map_err(|error| cavi::Error::Usage(vec![error])))?;
        let asked = Asked { data, columns, transpose, labels, set, heldout, ..Asked::default() };
        Ok(Inputs { inner, heldout: requests, asked, is_kept: false })
    }

    /// Every entry of an array: numbers, NaN missing. Those in C order are read where they are. `counts` says of each dimension whether it has an
    /// index that counts from 0 in the place of labels, and `rows_are` what the index of its rows is called.
    ///
    /// # Errors
    /// Labels that are not one for each position, or twice the same.
    #[pyo3(signature = (name, group, values, labels, counts = Vec::new(), rows_are = None))]
    #[allow(clippy::too_many_arguments, reason = "the parts of an array")]
    fn dense(
        &mut self,
        py: Python<'_>,
        name: &str,
        group: Option<String>,
        values: PyReadonlyArrayDyn<'_, f64>,
        labels: DimensionLabels,
        counts: Vec<bool>,
        rows_are: Option<String>,
    ) -> PyResult<()> {
        let source = dense(py, name, &values, labels, (counts, rows_are))?;
        self.inner.data.push(ArrayInput { name: name.to_owned(), group, source });
        Ok(())
    }

    /// The listed entries of an array: a column of positions from 0 for each dimension.
    ///
    /// # Errors
    /// As [`ArrayInput::sparse`]; labels that are not one for each position, or twice the same.
    #[pyo3(signature = (name, group, shape, indices, values, labels, counts = Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "the parts of a sparse array")]
    fn sparse(
        &mut self,
        py: Python<'_>,
        name: &str,
        group: Option<String>,
        shape: Vec<usize>,
        indices: Vec<PyReadonlyArray1<'_, u32>>,
        values: PyReadonlyArray1<'_, f64>,
        labels: DimensionLabels,
        counts: Vec<bool>,
    ) -> PyResult<()> {
        raised(py, refuse_labels(name, &shape, &labels))?;
        let columns = indices.iter().map(|column| Ok(column.as_array().to_vec()));
        let columns: PyResult<Vec<Vec<u32>>> = columns.collect();
        let input = raised(py, ArrayInput::sparse(name, &shape, columns?, values.as_array().to_vec()))?;
        let content = match input.source {
            Source::Content { content: Content::Coordinates(entries), .. } => {
                let own = if labels.iter().any(Option::is_some) { labels } else { entries.labels };
                Content::Coordinates(Coordinates { labels: own, ..entries })
            }
            Source::Content { content, .. } => content,
            Source::File { .. } | Source::Bytes { .. } | Source::Table { .. } => {
                unreachable!("a sparse array is in memory")
            }
        };
        self.push(name, group, content, counts);
        Ok(())
    }

    /// Every entry of an array whose values are labels: the distinct ones, and for each entry which one it is (the largest number
    /// of 32 bits where it is missing).
    ///
    /// # Errors
    /// Labels of positions that are not one for each, or twice the same.
    #[pyo3(signature = (name, group, shape, names, codes, labels, counts = Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "the parts of an array of labels")]
    fn words(
        &mut self,
        py: Python<'_>,
        name: &str,
        group: Option<String>,
        shape: Vec<usize>,
        names: Vec<String>,
        codes: PyReadonlyArray1<'_, u32>,
        labels: DimensionLabels,
        counts: Vec<bool>,
    ) -> PyResult<()> {
        raised(py, refuse_labels(name, &shape, &labels))?;
        let codes = codes.as_array().to_vec();
        if codes.len() != shape.iter().product::<usize>()
            || codes.iter().any(|code| *code as usize >= names.len() && *code != cavi_files::MISSING)
        {
            return raised(
                py,
                Err(DataError::new(format!("`{name}`: codes that are no positions in the labels"))),
            );
        }
        let values = Values::Text(Categories { names, codes });
        self.push(name, group, Content::Dense(Dense::new(shape, values, labels)), counts);
        Ok(())
    }

    /// A table, which is read as a file with these names in its header is. A column is an array of whole numbers (of 64 bits), one of doubles (NaN
    /// is missing), or a pair of the distinct texts and which of them each row has (the largest number of 32 bits where it is missing). `counts`
    /// says that its rows have an index that counts from 0.
    ///
    /// # Errors
    /// A column of another kind.
    #[pyo3(signature = (name, group, names, columns, rows, counts))]
    #[allow(clippy::too_many_arguments, reason = "the parts of a table")]
    fn table(
        &mut self,
        name: &str,
        group: Option<String>,
        names: Vec<String>,
        columns: Vec<Bound<'_, PyAny>>,
        rows: usize,
        counts: bool,
    ) -> PyResult<()> {
        let columns = columns.iter().map(column).collect::<PyResult<Vec<Column>>>()?;
        let columns = Arc::new(Columns { names, columns, rows });
        let source = Source::Table { name: PathBuf::from(name), columns, counts };
        self.inner.data.push(ArrayInput { name: name.to_owned(), group, source });
        Ok(())
    }

    /// Which columns of an array's table are what: pairs of an axis (or `value`) and a column; none for one that is rows by columns.
    fn columns(&mut self, name: &str, columns: Vec<(String, String)>) {
        self.inner.columns.push(ColumnsInput { name: name.to_owned(), columns });
    }

    /// Puts the data into this order of names and groups; what is not among them stays behind them.
    fn order(&mut self, wanted: Vec<(String, Option<String>)>) {
        let place = |own: &ArrayInput| {
            wanted.iter().position(|(name, group)| (name, group) == (&own.name, &own.group))
        };
        self.inner.data.sort_by_cached_key(|own| place(own).unwrap_or(wanted.len()));
    }

    /// That labels of genes and cells which stand twice are kept apart.
    fn keep_apart(&mut self) {
        self.inner.unique = true;
        self.asked.unique = true;
    }

    /// Which words of texts count: the values of `--min-docs`, `--max-docs`, `--words`, `--ngrams`, `--stem` and `--stop-words`, where they are given.
    ///
    /// # Errors
    /// A value that its option does not take; a file of stop words that cannot be read.
    #[pyo3(signature = (min_docs, max_docs, words, ngrams, stem, stop_words))]
    #[allow(clippy::too_many_arguments, reason = "one for each option")]
    fn texts(
        &mut self,
        py: Python<'_>,
        min_docs: Option<usize>,
        max_docs: Option<String>,
        words: Option<usize>,
        ngrams: Option<usize>,
        stem: Option<String>,
        stop_words: Option<String>,
    ) -> PyResult<()> {
        let wrong = |name: &str, text: &str, possible: &str| {
            let found = DataError::new(format!("texts={{{name:?}: {text}}}")).possible(possible.to_owned());
            cavi::Error::Usage(vec![found])
        };
        let texts = &mut self.inner.texts;
        let numbers = [
            ("min_docs", "--min-docs", min_docs),
            ("words", "--words", words),
            ("ngrams", "--ngrams", ngrams),
        ];
        for (name, option, value) in numbers {
            let Some(value) = value else { continue };
            let most = if name == "ngrams" { LONGEST_SEQUENCE } else { usize::MAX };
            if !(1..=most).contains(&value) {
                let possible = match name {
                    "ngrams" => format!("a whole number from 1 to {LONGEST_SEQUENCE}"),
                    _ => "a whole number, 1 or greater".to_owned(),
                };
                return raised(py, Err(wrong(name, &value.to_string(), &possible)));
            }
            match name {
                "min_docs" => texts.min_docs = value,
                "words" => texts.words = Some(value),
                _ => texts.ngrams = value,
            }
            self.inner.asked_of_texts.push(option);
        }
        if let Some(text) = max_docs {
            let read = MostDocuments::parse(&text);
            let possible = "a share above 0 and at most 1.0, or a whole number of documents";
            texts.max_docs = Some(raised(py, read.ok_or_else(|| wrong("max_docs", &text, possible)))?);
            self.inner.asked_of_texts.push("--max-docs");
        }
        if let Some(text) = stem {
            let read = LanguageName::with_stems(&text);
            texts.stem = Some(raised(
                py,
                read.map_err(|what| {
                    let found = DataError::new(format!("texts={{\"stem\": {text:?}}}: {what}"));
                    cavi::Error::Usage(vec![found])
                }),
            )?);
            self.inner.asked_of_texts.push("--stem");
        }
        if let Some(text) = stop_words {
            texts.stop_words = raised(py, StopWords::read(&text).map_err(DataError::from))?;
            self.inner.asked_of_texts.push("--stop-words");
        }
        Ok(())
    }

    /// Whether these are data that a fit keeps by reference, so that questions to it refuse those that have changed since.
    fn kept(&mut self) {
        self.is_kept = true;
    }

    /// Latents that are held at the values of these files, by the texts of `--fix`, and at the data of other inputs.
    ///
    /// # Errors
    /// A text that is not of the form `NAME=FILE`.
    fn hold(&mut self, py: Python<'_>, files: Vec<String>, values: Inputs) -> PyResult<()> {
        let own = cavi::bind::Inputs::parse_fixed(&files);
        self.inner.fix = raised(py, own.map_err(cavi::Error::Usage))?;
        let names: Vec<String> = values.inner.data.iter().map(|own| format!("{}=values", own.name)).collect();
        self.inner.fix.extend(values.inner.data);
        self.asked.fix = files.into_iter().chain(names).collect();
        Ok(())
    }

    /// Labels of an axis, or of one group of a ragged axis.
    fn labels(&mut self, axis: &str, group: Option<String>, labels: Vec<String>) {
        let source = LabelSource::List(format!("labels[{axis:?}]"), labels);
        self.inner.labels.push(LabelsInput { axis: axis.to_owned(), group, source });
    }

    /// Constants that are arrays: the data of other inputs.
    fn constants(&mut self, values: Inputs) {
        let constant = |own: ArrayInput| SetInput {
            name: own.name,
            group: own.group,
            value: SetValue::Source(own.source),
        };
        self.inner.set.extend(values.inner.data.into_iter().map(constant));
    }
}

impl Inputs {
    fn push(&mut self, name: &str, group: Option<String>, content: Content, counts: Vec<bool>) {
        let source = Source::Content { name: PathBuf::from(name), content, counts };
        self.inner.data.push(ArrayInput { name: name.to_owned(), group, source });
    }
}

/// The entries of an array, which a fit reads where they are.
fn dense(
    py: Python<'_>,
    name: &str,
    values: &PyReadonlyArrayDyn<'_, f64>,
    labels: DimensionLabels,
    (counts, rows_are): (Vec<bool>, Option<String>),
) -> PyResult<Source> {
    let shape = values.shape().to_vec();
    raised(py, refuse_labels(name, &shape, &labels))?;
    let values = Values::Numbers(lent::numbers(values));
    let content = Content::Dense(Dense { rows_are, ..Dense::new(shape, values, labels) });
    Ok(Source::Content { name: PathBuf::from(name), content, counts })
}

/// A column of a table.
fn column(own: &Bound<'_, PyAny>) -> PyResult<Column> {
    if let Ok(values) = own.extract::<PyReadonlyArray1<'_, i64>>() {
        return Ok(Column::Whole { values: values.as_array().to_vec(), missing: None });
    }
    if let Ok(values) = own.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Column::Numbers(values.as_array().to_vec()));
    }
    let (names, codes): (Vec<String>, PyReadonlyArray1<'_, u32>) = own.extract()?;
    Ok(Column::Text(Categories { names, codes: codes.as_array().to_vec() }))
}

/// Refuses labels that are not one for each position of their dimension, or twice the same.
fn refuse_labels(name: &str, shape: &[usize], labels: &DimensionLabels) -> Result<(), DataError> {
    if labels.len() != shape.len() {
        let (given, have) = (labels.len(), shape.len());
        return Err(DataError::new(format!("`{name}`: labels of {given} dimensions for {have}")));
    }
    for (number, (size, own)) in shape.iter().zip(labels).enumerate() {
        let Some(own) = own else { continue };
        let dimension = number + 1;
        if own.len() != *size {
            let count = own.len();
            return Err(DataError::new(format!(
                "`{name}`: {count} labels along dimension {dimension}, whose size is {size}"
            ))
            .possible("one label for each position"));
        }
        let mut seen = HashSet::with_capacity(own.len());
        if let Some(twice) = own.iter().find(|label| !seen.insert(label.as_str())) {
            return Err(DataError::new(format!(
                "`{name}`: the label `{twice}` stands twice along dimension {dimension}"
            ))
            .possible("each label once")
            .help(
                "make the labels distinct, or leave them out: an array without an index is read by position",
            ));
        }
    }
    Ok(())
}
