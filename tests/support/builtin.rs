//! Built-in programs on data in memory, stepped sweep by sweep through the crate `cavi`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cavi::bind::{ArrayInput, Binding, Inputs, SetInput, SetValue, Source};
use cavi::{Compiled, Problem};
use cavi_algebra::{ArrayId, BlockId, Equations};
use cavi_examples::{Role, example};
use cavi_executor::{Bound, BoundArray, Executor, Layout, Parameters, Schedule};
use cavi_families::views_mut;

/// A matrix as rows.
pub type Matrix = Vec<Vec<f64>>;

/// A program, its data and its sweep.
pub struct Ready {
    compiled: Compiled,
    problem: Problem,
    schedule: Schedule,
}

/// A matrix as the bytes of a file: a dense table, or coordinates.
pub fn matrix_file(name: &str, data: &Matrix, sparse: bool) -> ArrayInput {
    let width = data.first().map_or(0, Vec::len);
    let (file, text) = if sparse {
        let entry =
            |i: usize, j: usize| (data[i][j] != 0.0).then(|| format!("{} {} {}", i + 1, j + 1, data[i][j]));
        let entries: Vec<String> =
            (0..data.len()).flat_map(|i| (0..width).filter_map(move |j| entry(i, j))).collect();
        let header = format!(
            "%%MatrixMarket matrix coordinate real general\n{} {width} {}",
            data.len(),
            entries.len()
        );
        (format!("{name}.mtx"), format!("{header}\n{}\n", entries.join("\n")))
    } else {
        let line = |row: &Vec<f64>| {
            let cells =
                row.iter().map(|value| if value.is_nan() { String::new() } else { value.to_string() });
            cells.collect::<Vec<_>>().join(",")
        };
        // A header: the first line of a table may else be taken for one only where it holds no number.
        let header: Vec<String> = (0..width).map(|j| format!("c{j}")).collect();
        let lines: Vec<String> = data.iter().map(line).collect();
        (format!("{name}.csv"), format!("{}\n{}\n", header.join(","), lines.join("\n")))
    };
    file_of(name, &file, text.into_bytes())
}

/// The bytes of a file for an array, `x` or `x[group]`.
pub fn file_of(array: &str, file: &str, bytes: Vec<u8>) -> ArrayInput {
    let (name, group) = match array.split_once('[') {
        Some((name, group)) => (name.to_owned(), Some(group.trim_end_matches(']').to_owned())),
        None => (array.to_owned(), None),
    };
    ArrayInput { name, group, source: Source::Bytes { name: PathBuf::from(file), bytes: Cow::Owned(bytes) } }
}

/// The bundled data of a built-in program, for the arrays of a program with other names where `names` says so.
///
/// # Panics
/// If there is no such program.
pub fn bundled(name: &str, names: &[(&str, &str)]) -> Vec<ArrayInput> {
    let files = example(name).expect("a built-in program").files;
    let data = files.iter().filter_map(|file| match file.role {
        Role::Data(array) => {
            let array = names.iter().find(|(own, _)| *own == array).map_or(array, |(_, other)| *other);
            Some(file_of(array, file.file, file.bytes.to_vec()))
        }
        Role::Labels(_) | Role::Known(_) => None,
    });
    data.collect()
}

/// The text of a built-in program.
///
/// # Panics
/// If there is no such program.
pub fn text_of(name: &str) -> &'static str {
    example(name).expect("a built-in program").text
}

/// The text of a program of `tests/models`.
///
/// # Panics
/// If there is no such file.
pub fn corpus_model(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(format!("{name}.cavi"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Ready {
    /// A built-in program with some constants and sizes set.
    pub fn built_in(name: &str, set: &[(&str, f64)], data: Vec<ArrayInput>) -> Ready {
        Ready::new(text_of(name), set, data)
    }

    /// Any program.
    ///
    /// # Panics
    /// If it does not compile, or the data do not fit.
    pub fn new(text: &str, set: &[(&str, f64)], data: Vec<ArrayInput>) -> Ready {
        Ready::with_constants(text, set, data, Vec::new())
    }

    /// Any program, some of whose constants come from files.
    ///
    /// # Panics
    /// If it does not compile, or the data do not fit.
    pub fn with_constants(
        text: &str,
        set: &[(&str, f64)],
        data: Vec<ArrayInput>,
        constants: Vec<ArrayInput>,
    ) -> Ready {
        let numbers = set.iter().map(|(name, value)| SetInput {
            name: (*name).to_owned(),
            group: None,
            value: SetValue::Number(*value),
        });
        let files = constants.into_iter().map(|file| SetInput {
            name: file.name,
            group: file.group,
            value: SetValue::Source(file.source),
        });
        let set = numbers.chain(files);
        let inputs = Inputs { data, set: set.collect(), ..Inputs::default() };
        Ready::prepared(text, &inputs).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Any program with its inputs.
    ///
    /// # Errors
    /// If it does not compile, or cannot run on these data.
    pub fn prepared(text: &str, inputs: &Inputs) -> Result<Ready, cavi::Error> {
        let (compiled, _) = cavi::session::open(text, "program.cavi", inputs)?;
        let problem = compiled.clone().bind(inputs)?;
        let schedule = problem.own_schedule();
        Ok(Ready { compiled, problem, schedule })
    }

    /// The same with another schedule.
    ///
    /// # Panics
    /// If the schedule does not fit the program.
    #[must_use]
    pub fn scheduled(mut self, text: &str) -> Ready {
        let resolved = self.problem.schedule(text);
        self.schedule = resolved.unwrap_or_else(|error| panic!("{error}")).schedule;
        self
    }

    /// The observed values of an array of two dimensions, 0 where none is listed.
    ///
    /// # Panics
    /// If there is no such array.
    pub fn matrix(&self, name: &str) -> Matrix {
        let symbols = &self.equations().symbols;
        let id = symbols.find(name).expect("an array of the program");
        let bound = &self.binding().bound;
        let shape = bound.shape(symbols, id);
        match bound.array(id) {
            BoundArray::Dense { values, .. } => values.chunks(shape[1]).map(<[f64]>::to_vec).collect(),
            BoundArray::Sparse { indices, values, .. } => {
                let mut rows = vec![vec![0.0; shape[1]]; shape[0]];
                for (entry, value) in values.iter().enumerate() {
                    rows[indices[0][entry] as usize][indices[1][entry] as usize] = *value;
                }
                rows
            }
        }
    }

    /// What was compiled.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The program with its data, as it is run.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The data, in the coordinates in which they were given.
    pub fn binding(&self) -> &Binding {
        &self.problem.as_given().binding
    }

    /// The sweep.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The equations, in the same coordinates.
    pub fn equations(&self) -> &Equations {
        &self.problem.as_given().equations
    }

    fn place(&self, name: &str) -> (ArrayId, BlockId) {
        let equations = self.equations();
        let array = equations.symbols.find(name).unwrap_or_else(|| panic!("no variable `{name}`"));
        (array, equations.block_of(array).expect("it has a factor"))
    }

    /// The random start of a seed, `init` applied.
    ///
    /// # Panics
    /// If there is no start.
    pub fn start(&self, seed: u64) -> Parameters {
        let start = cavi::start::start(self.problem.as_given(), None, seed);
        start.unwrap_or_else(|problems| panic!("{problems:?}")).parameters
    }

    /// A column of a variable's factor: a defining parameter, or the values of a point.
    pub fn column<'a>(&self, parameters: &'a Parameters, name: &str, which: usize) -> &'a [f64] {
        &parameters.blocks[self.place(name).1.index()][which]
    }

    /// Puts defining columns of a variable's factor, or the values of a point.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn put(&self, parameters: &mut Parameters, name: &str, columns: &[Vec<f64>]) {
        let id = self.place(name).1;
        let block = self.equations().block(id);
        let own = &mut parameters.blocks[id.index()];
        for (own, column) in own.iter_mut().zip(columns) {
            assert_eq!(own.len(), column.len(), "`{name}`");
            own.clone_from(column);
        }
        if !block.is_point() {
            let bound: &Bound = &self.binding().bound;
            let missing =
                |array: ArrayId| bound.arrays[array.index()].as_ref().is_some_and(BoundArray::has_missing);
            let layout = Layout::new(self.equations(), bound, block, &missing);
            let family = cavi_families::posterior(block.family);
            family
                .complete(&layout.batch(), &mut views_mut(own))
                .unwrap_or_else(|improper| panic!("{name}: {improper:?}"));
        }
    }

    /// A run.
    ///
    /// # Panics
    /// If there is no plan.
    pub fn run(&self, from: Parameters) -> Executor<'_> {
        Executor::new(self.equations(), &self.binding().bound, from, 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0))
    }

    /// One sweep of a run.
    ///
    /// # Panics
    /// If an update fails.
    pub fn sweep(&self, executor: &mut Executor<'_>) {
        executor.sweep(&self.schedule).unwrap_or_else(|trouble| panic!("{trouble}"));
    }
}
