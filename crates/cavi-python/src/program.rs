//! A program: its text, what it needs, its derivation and its graph.

use cavi::{Compiled, Format, Level, Set};
use cavi_algebra::{Array, ArrayKind, Support, Symbols};
use cavi_examples::Role;
use cavi_syntax::{Diagnostic, Severity};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{exception, raised};

/// What a data array is: its name, its axes and letters in declared order, whether its values are labels of an axis, whether it has to
/// be given, whether an entry that is not listed is an observed zero, the axes of the groups that it has a part for, the outermost
/// first, the axis that its values are labels of, and which of its axes have labels for each group.
type DataSymbol =
    (String, Vec<String>, Vec<String>, bool, bool, bool, Vec<String>, Option<String>, Vec<bool>);

/// A file of a built-in program: whether it holds labels, what it is bound to, its name and its bytes.
type BundledFile = (bool, &'static str, &'static str, Py<PyBytes>);

/// A program that compiles.
#[pyclass(module = "cavi._core", frozen)]
pub struct Program {
    compiled: Compiled,
    warnings: Vec<String>,
    notes: Vec<String>,
}

/// Compiles a text; `file_name` stands in messages, and `set` are constants and sizes.
///
/// # Errors
/// Everything that is wrong with the program; a value for a name that it does not have.
#[pyfunction]
pub fn compile(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    set: Vec<(String, Option<f64>)>,
) -> PyResult<Program> {
    py.detach(|| {
        let set: Vec<Set<'_>> = set.iter().map(|(name, value)| Set { name, value: *value }).collect();
        let mut checked = cavi::compile_with(text, file_name, &set);
        let messages = std::mem::take(&mut checked.diagnostics);
        let shown = |severity: Severity| -> Vec<String> {
            let own = messages.iter().filter(|own| own.severity == severity);
            own.map(|own| cavi_syntax::render(own, file_name, text, false)).collect()
        };
        let (warnings, notes) = (shown(Severity::Warning), shown(Severity::Note));
        checked.diagnostics = messages.into_iter().filter(Diagnostic::is_error).collect();
        let compiled = checked.into_compiled()?;
        compiled.refuse_unknown(&set)?;
        Ok(Program { compiled, warnings, notes })
    })
    .map_err(|error: cavi::Error| exception(py, &error))
}

/// The built-in programs: name, a line that says what each is, and its text.
#[pyfunction]
pub fn builtin() -> Vec<(&'static str, &'static str, &'static str)> {
    cavi_examples::examples().iter().map(|own| (own.name, own.description(), own.text)).collect()
}

/// The axes of the groups that a ragged array has a part for, the outermost first.
fn groups(symbols: &Symbols, array: &Array) -> Vec<String> {
    let ancestors =
        array.letters.iter().flat_map(|letter| symbols.lineage(*letter).into_iter().skip(1).rev());
    let names = ancestors.filter(|letter| !array.letters.contains(letter));
    names.map(|letter| symbols.axis(symbols.letter(letter).axis).name.clone()).collect()
}

/// What a code of a diagnostic means, with a wrong and a right program; without one all codes with their titles.
///
/// # Errors
/// A code that there is not.
#[pyfunction]
#[pyo3(signature = (code = None))]
pub fn explain(py: Python<'_>, code: Option<&str>) -> PyResult<String> {
    let Some(code) = code else { return Ok(cavi::codes::list()) };
    let found = cavi::codes::find(code).map(|own| own.text());
    raised(py, found.map_err(|text| cavi::Error::Usage(vec![cavi::bind::DataError::new(text)])))
}

/// The data that a built-in program comes with; nothing for another name.
#[pyfunction]
pub fn bundled(py: Python<'_>, name: &str) -> Option<Vec<BundledFile>> {
    let files = cavi_examples::example(name)?.files.iter().filter_map(|own| {
        let (is_labels, role) = match own.role {
            Role::Data(name) => (false, name),
            Role::Labels(axis) => (true, axis),
            Role::Known(_) => return None,
        };
        Some((is_labels, role, own.file, PyBytes::new(py, own.bytes).unbind()))
    });
    Some(files.collect())
}

#[pymethods]
impl Program {
    /// The name that the text gives it.
    #[getter]
    fn name(&self) -> &str {
        &self.compiled.model.name
    }

    /// The text.
    #[getter]
    fn text(&self) -> &str {
        &self.compiled.source.text
    }

    /// What is most likely a mistake, though it compiles.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// What its author may want to know.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The names of its latents.
    #[getter]
    fn latents(&self) -> Vec<&str> {
        self.compiled.latents()
    }

    /// The names of the data that it predicts.
    #[getter]
    fn predicted(&self) -> Vec<&str> {
        self.compiled.predicted_data()
    }

    /// The factors of q.
    #[getter]
    fn factorisation(&self) -> Vec<String> {
        self.compiled.factorisation()
    }

    /// The data that it reads.
    #[getter]
    fn data(&self) -> Vec<DataSymbol> {
        self.symbols_of(&|own| own.kind == ArrayKind::Data && own.value.is_none())
    }

    /// The latents, which `fix` may hold, told as data are.
    #[getter]
    fn latent_symbols(&self) -> Vec<DataSymbol> {
        self.symbols_of(&|own| own.kind == ArrayKind::Latent)
    }

    /// The constants, which `set` may give arrays, told as data are.
    #[getter]
    fn constant_symbols(&self) -> Vec<DataSymbol> {
        self.symbols_of(&Array::is_named_constant)
    }

    /// The names that `set` takes: constants and axes.
    #[getter]
    fn settable(&self) -> Vec<String> {
        let symbols = &self.compiled.model.symbols;
        let constants = symbols.arrays.iter().filter(|own| own.is_named_constant());
        let axes = symbols.axes.iter().map(|own| own.name.clone());
        constants.map(|own| own.name.clone()).chain(axes).collect()
    }

    /// The updates and the bound: `text`, `latex`, `markdown`, `json`, `python` or `bibtex`; of one variable, if it is named; with the reasons of a
    /// `paper`, in `full`, or of a `lecture`.
    ///
    /// # Errors
    /// A format, a level or a variable that there is not; a derivation without code.
    #[pyo3(signature = (format, variable, level))]
    fn derive(&self, py: Python<'_>, format: &str, variable: Option<&str>, level: &str) -> PyResult<String> {
        let compiled = &self.compiled;
        let wrong =
            |text: String| raised(py, Err(cavi::Error::Usage(vec![cavi::bind::DataError::new(text)])));
        let level = match level {
            "paper" => Level::Paper,
            "full" => Level::Full,
            "lecture" => Level::Lecture,
            _ => return wrong(format!("level={level:?}: expected paper, full or lecture")),
        };
        if format == "bibtex" {
            return match variable {
                Some(_) => {
                    wrong("BibTeX is the literature of the whole derivation: name no variable".to_owned())
                }
                None => Ok(compiled.bibliography()),
            };
        }
        if format == "python" {
            if variable.is_some() {
                return wrong("a file of code holds the whole derivation: name no variable".to_owned());
            }
            let refused = |why| {
                let name = &compiled.model.name;
                cavi::bind::DataError::new(format!(
                    "the derivation of `{name}` has no Python code yet: {why}"
                ))
            };
            return raised(py, compiled.python().map_err(refused));
        }
        let text = py.detach(|| {
            let form = match format {
                "json" => return Some(compiled.derivation_json(variable)),
                "text" => Format::Text,
                "latex" => Format::Latex,
                "markdown" => Format::Markdown,
                _ => return None,
            };
            Some(match variable {
                Some(name) => compiled.explain(name, form),
                None => Some(compiled.derivation_at(level, form)),
            })
        });
        match text {
            Some(Some(text)) => Ok(text),
            Some(None) => wrong(format!(
                "there is no latent `{}`; expected one of {}",
                variable.unwrap_or_default(),
                compiled.latents().join(", ")
            )),
            None => {
                wrong(format!("format={format:?}: expected text, latex, markdown, json, python or bibtex"))
            }
        }
    }

    /// The factor graph: `svg`, `dot` or `tikz`.
    ///
    /// # Errors
    /// Another format.
    fn graph(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        match format {
            "svg" => Ok(self.compiled.svg()),
            "dot" => Ok(self.compiled.dot()),
            "tikz" => Ok(self.compiled.tikz()),
            _ => {
                let found =
                    cavi::bind::DataError::new(format!("format={format:?}: expected svg, dot or tikz"));
                raised(py, Err(cavi::Error::Usage(vec![found])))
            }
        }
    }
}

impl Program {
    /// Those of its arrays.
    fn symbols_of(&self, which: &dyn Fn(&Array) -> bool) -> Vec<DataSymbol> {
        let symbols = &self.compiled.model.symbols;
        let required = self.compiled.required_data();
        let symbol = |own: &Array| {
            let letters: Vec<_> = own.letters.iter().map(|letter| symbols.letter(*letter)).collect();
            let classes = if let Support::Index(axis) = own.support {
                Some(symbols.axis(axis).name.clone())
            } else {
                None
            };
            (
                own.name.clone(),
                letters.iter().map(|letter| symbols.axis(letter.axis).name.clone()).collect(),
                letters.iter().map(|letter| letter.name.clone()).collect(),
                classes.is_some(),
                required.contains(&own.name.as_str()),
                own.absent.zero,
                groups(symbols, own),
                classes,
                letters.iter().map(|letter| letter.parent.is_some()).collect(),
            )
        };
        symbols.arrays.iter().filter(|own| which(own)).map(symbol).collect()
    }
}
