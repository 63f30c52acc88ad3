//! What a data file holds, before there is a program for it.
//!
//! A declaration, `y[u, i] : count`, says what the file is to be read as. Without one the first that the file allows is taken: a
//! long table whose columns are ids or text; rows by columns; a vector; counts before real numbers.

use std::path::Path;

use cavi_files::{Head, HeadColumn, PACKED_SUFFIX, packed_axes};
use cavi_model::Model;

use crate::bind::{ArrayInput, Binding, ColumnsInput, DataError, Inputs, Source, bind, with_name};

/// A file, and what was understood of it.
#[derive(Clone, Debug)]
pub struct Look {
    /// The declaration as a line of a program, and the axes that it needs.
    pub declaration: Vec<String>,
    /// The name of the array.
    pub name: String,
    /// What was understood, a line.
    pub read: Vec<String>,
    /// What is most likely a mistake.
    pub warnings: Vec<String>,
    /// What there is to know.
    pub notes: Vec<String>,
    /// What `--columns` has to say, if anything.
    pub columns: Option<String>,
}

/// How a file may be read.
struct Reading {
    /// `y[u, i] : count`
    declared: String,
    columns: Option<String>,
}

/// What a declaration declares.
struct Declared {
    name: String,
    axes: Vec<String>,
    /// What stands after the colon.
    of: String,
    /// The axes that are ragged, each with the one that it is ragged in.
    above: Vec<(String, String)>,
}

/// Reads a file as a declaration says, or as the first one that it allows; `inputs` may say which columns are which, whether it is
/// transposed, and what labels there are.
///
/// # Errors
/// A declaration that is none; everything that is wrong with the file.
pub fn look(
    path: &str,
    head: &Head,
    declaration: Option<&str>,
    inputs: &Inputs,
) -> Result<Look, Vec<DataError>> {
    let readings = match declaration {
        Some(text) => vec![Reading { declared: text.to_owned(), columns: None }],
        None if holds_texts(path, head, inputs) => vec![of_texts(inputs)],
        None => guesses(head, inputs),
    };
    let mut first = None;
    for reading in readings {
        match try_one(path, &reading, inputs) {
            Ok(look) => return Ok(look),
            Err(problems) => {
                first.get_or_insert(problems);
            }
        }
    }
    Err(first.unwrap_or_default())
}

/// The column of a table of which each entry is a text of several words, where it is the only one and no column is named: what such a table is
/// about.
pub fn column_of_texts<'h>(path: &str, head: &'h Head, inputs: &Inputs) -> Option<&'h str> {
    if cavi_files::split_column(path).1.is_some() || !inputs.columns.is_empty() {
        return None;
    }
    let mut all = head.columns.iter().filter(|own| own.is_prose);
    match (all.next(), all.next()) {
        (Some(own), None) => Some(&own.name),
        _ => None,
    }
}

/// Whether a file holds texts, or the column that is named does.
fn holds_texts(path: &str, head: &Head, inputs: &Inputs) -> bool {
    let of_columns = inputs.columns.iter().flat_map(|own| &own.columns);
    let named = cavi_files::split_column(path)
        .1
        .or_else(|| of_columns.clone().find(|(role, _)| role == "value").map(|own| own.1.clone()));
    let is_text = |name: &String| head.columns.iter().any(|own| own.name == *name && !own.is_number);
    let roles = of_columns.filter(|(role, _)| role != "value").count();
    head.is_texts || roles < 2 && named.is_some_and(|name| is_text(&name))
}

/// Documents by words; the documents are named as `--columns` names them.
fn of_texts(inputs: &Inputs) -> Reading {
    let name = inputs.columns.iter().map(|own| &own.name).chain(&inputs.transpose).next();
    let mut roles = inputs.columns.iter().flat_map(|own| &own.columns).map(|(role, _)| role);
    let document = roles.find(|role| *role != "value").map_or("doc", String::as_str);
    let mut axes = [document, "word"];
    if !inputs.transpose.is_empty() {
        axes.reverse();
    }
    let declared = format!("{}[{}] : count, absent = 0", name.map_or("n", String::as_str), axes.join(", "));
    Reading { declared, columns: None }
}

/// What a file may be, the likeliest first.
fn guesses(head: &Head, inputs: &Inputs) -> Vec<Reading> {
    let named = inputs.columns.iter().map(|own| &own.name).chain(&inputs.transpose).next();
    let own = head.array.as_ref();
    let name = named.or(own.map(|own| &own.0)).map_or("y", String::as_str);
    let ids: Vec<&HeadColumn> =
        head.columns.iter().filter(|own| own.identifies.is_some() || !own.is_number).collect();
    let values: Vec<&HeadColumn> = head
        .columns
        .iter()
        .filter(|own| own.identifies.is_none() && own.is_number && !is_time(own))
        .collect();
    let mut shapes: Vec<(Vec<String>, Option<String>)> = Vec::new();
    let asked = inputs.columns.iter().find(|own| own.name == name).filter(|own| !own.columns.is_empty());
    if let Some((_, axes)) = own {
        shapes.push((axes.clone(), None));
    } else if let Some(asked) = asked {
        let roles = asked.columns.iter().map(|(role, _)| role).filter(|role| *role != "value");
        shapes.push((roles.cloned().collect(), None));
    } else if ids.len() > 1 && !values.is_empty() && inputs.columns.is_empty() {
        let axes = names(ids.iter().map(|own| match own.identifies.as_deref() {
            None | Some("") => own.name.as_str(),
            Some(identified) => identified,
        }));
        let mut columns: Vec<String> =
            axes.iter().zip(&ids).map(|(axis, own)| format!("{axis}:{}", own.name)).collect();
        columns.push(format!("value:{}", values[0].name));
        let is_plain = axes.iter().zip(&ids).all(|(axis, own)| *axis == own.name) && values.len() == 1;
        shapes.push((axes, (!is_plain).then(|| columns.join(","))));
    }
    let plain = |count: usize| -> (Vec<String>, Option<String>) {
        let axes: &[&str] = match (count, &head.axes) {
            (1 | 2, Some(axes)) => &axes[..count],
            (1, None) => &["row"],
            (2, None) => &["row", "column"],
            _ => &[],
        };
        let others = (axes.len()..count).map(|place| format!("axis{}", place + 1));
        (axes.iter().map(|own| (*own).to_owned()).chain(others).collect(), None)
    };
    match head.dimensions {
        Some(count) => shapes.push(plain(count)),
        None if head.columns.len() == 1 => shapes.extend([plain(1), plain(2)]),
        None => shapes.extend([plain(2), plain(1)]),
    }
    shapes.extend(long_at_last(head, inputs));
    // What nobody has rated is not rated 0.
    let rated = asked.is_none() && values.first().is_some_and(|own| is_rating(own)) && ids.len() > 1;
    let of = if rated {
        ["count, absent = NA", "real, absent = NA"]
    } else {
        ["count, absent = 0", "real, absent = NA"]
    };
    // What has one label for each row is an index, where it is text.
    let of: &[&str] = match head.dimensions {
        Some(1) => &["count, absent = 0", "real, absent = NA", "index class, absent = NA"],
        _ => &of,
    };
    let reading = |(axes, columns): &(Vec<String>, Option<String>), of: &&str| Reading {
        declared: format!("{name}{} : {of}", subscripts(axes)),
        columns: columns.clone(),
    };
    shapes.iter().flat_map(|shape| of.iter().map(move |of| reading(shape, of))).collect()
}

/// A long table whose header names no id: its last column of numbers is the value, and all others are axes.
fn long_at_last(head: &Head, inputs: &Inputs) -> Option<(Vec<String>, Option<String>)> {
    let columns: Vec<&HeadColumn> = head.columns.iter().filter(|own| !is_time(own)).collect();
    let value = columns.iter().rposition(|own| own.is_number && own.identifies.is_none())?;
    if columns.len() < 3 || !inputs.columns.is_empty() || columns.iter().all(|own| own.is_number) {
        return None;
    }
    let others: Vec<&str> =
        columns.iter().enumerate().filter(|own| own.0 != value).map(|own| own.1.name.as_str()).collect();
    let axes = names(others.iter().copied());
    let mut line: Vec<String> = axes.iter().zip(&others).map(|(axis, own)| format!("{axis}:{own}")).collect();
    line.push(format!("value:{}", columns[value].name));
    let is_plain =
        axes.iter().zip(&others).all(|(axis, own)| axis == own) && columns.len() == head.columns.len();
    Some((axes, (!is_plain).then(|| line.join(","))))
}

/// Whether a column says when an entry came about, and not what it is.
fn is_time(column: &HeadColumn) -> bool {
    ["timestamp", "time", "date", "datetime"].contains(&column.name.to_lowercase().as_str())
}

/// Whether a column holds ratings.
fn is_rating(column: &HeadColumn) -> bool {
    ["rating", "ratings", "score", "scores", "stars"].contains(&column.name.to_lowercase().as_str())
}

/// `[u, i]`, nothing without axes.
fn subscripts(axes: &[String]) -> String {
    if axes.is_empty() { String::new() } else { format!("[{}]", axes.join(", ")) }
}

/// Names of columns as names of axes, no two alike.
fn names<'a>(columns: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let mut name: String = column
            .chars()
            .map(|own| if own.is_ascii_alphanumeric() { own.to_ascii_lowercase() } else { '_' })
            .collect();
        name = name.trim_matches('_').to_owned();
        if !name.starts_with(|own: char| own.is_ascii_alphabetic()) {
            name = format!("axis_{name}");
        }
        while names.contains(&name) {
            name.push('2');
        }
        names.push(name);
    }
    names
}

fn try_one(path: &str, reading: &Reading, inputs: &Inputs) -> Result<Look, Vec<DataError>> {
    let mut declared = Declared::parse(&reading.declared).map_err(|error| vec![error])?;
    declared.above = ragged_in(path).map_err(|error| vec![error])?;
    let model = declared.model(&reading.declared).map_err(|error| vec![error])?;
    let mut inputs = inputs.clone();
    let columns = reading.columns.as_ref().map(|columns| format!("{}={columns}", declared.name));
    inputs.columns.extend(columns.as_deref().and_then(ColumnsInput::parse));
    let name = declared.name.clone();
    inputs.data = vec![ArrayInput { name: name.clone(), group: None, source: Source::file(path) }];
    let Binding { read, warnings, notes, .. } = bind(&model, &inputs)?;
    Ok(Look { declaration: declared.lines(), name, read, warnings, notes, columns })
}

impl Declared {
    /// Reads `y[u, i] : count`.
    fn parse(text: &str) -> Result<Declared, DataError> {
        let wrong = || {
            DataError::new(format!("`--as '{text}'` declares no data"))
                .possible("a name, its axes, and what its values are: `y[user, item] : count`")
        };
        let text = text.trim();
        let text = text.strip_prefix("data ").unwrap_or(text);
        let (left, of) = text.split_once(':').ok_or_else(wrong)?;
        let left = left.trim();
        let (name, axes) = match left.split_once('[') {
            None => (left, Vec::new()),
            Some((name, axes)) => {
                let axes = axes.trim_end().strip_suffix(']').ok_or_else(wrong)?;
                (name.trim(), axes.split(',').map(|axis| axis.trim().to_owned()).collect())
            }
        };
        let is_name = |name: &str| {
            name.starts_with(|own: char| own.is_alphabetic())
                && name.chars().all(|own| own.is_alphanumeric() || own == '_')
        };
        if !is_name(name) || axes.iter().any(|axis: &String| !is_name(axis)) {
            return Err(wrong());
        }
        Ok(Declared { name: name.to_owned(), axes, of: of.trim().to_owned(), above: Vec::new() })
    }

    /// The axis of each subscript with its letter, and the axis that index data point into.
    fn axes(&self) -> Vec<(String, String)> {
        let into = self.of.split(',').next().unwrap_or_default().strip_prefix("index ").map(str::trim);
        let mut axes: Vec<String> = self.axes.clone();
        axes.extend(into.filter(|into| !axes.iter().any(|axis| axis == into)).map(str::to_owned));
        let mut next = 0;
        while let Some(axis) = axes.get(next) {
            let parent = self.parent(axis).filter(|parent| !axes.iter().any(|axis| axis == parent));
            axes.extend(parent.map(str::to_owned));
            next += 1;
        }
        let mut letters: Vec<String> = Vec::new();
        for axis in &axes {
            // The first of the name's own letters that nothing has; the array has its name, and `q` is a word of the language.
            let free = |letter: &String| {
                !letters.contains(letter) && *letter != self.name && *letter != "q" && !axes.contains(letter)
            };
            let own = axis.chars().map(|own| own.to_ascii_lowercase().to_string()).find(free);
            let numbered = || (1..).map(|number| format!("l{number}")).find(|letter| free(letter));
            letters.push(own.or_else(numbered).expect("there are more numbers than letters"));
        }
        axes.into_iter().zip(letters).collect()
    }

    /// The axis that one is ragged in.
    fn parent(&self, axis: &str) -> Option<&str> {
        self.above.iter().find(|own| own.0 == axis).map(|own| own.1.as_str())
    }

    /// The lines of a program. Before the letter of a ragged axis stand those of the axes above it.
    fn lines(&self) -> Vec<String> {
        let mut axes = self.axes();
        // An axis stands after the one that it is ragged in.
        axes.sort_by_key(|own| std::iter::successors(Some(own.0.as_str()), |axis| self.parent(axis)).count());
        let mut letters: Vec<String> = Vec::new();
        for axis in &self.axes {
            let mut lineage: Vec<&str> =
                std::iter::successors(Some(axis.as_str()), |axis| self.parent(axis)).collect();
            lineage.reverse();
            for (last, own) in
                lineage.iter().enumerate().map(|(place, own)| (place + 1 == lineage.len(), own))
            {
                let letter = axes.iter().find(|(axis, _)| axis == own).map(|(_, letter)| letter.clone());
                letters.extend(letter.filter(|letter| last || !letters.contains(letter)));
            }
        }
        let line = |(axis, letter): &(String, String)| match self.parent(axis) {
            Some(parent) => format!("axis {axis}[{letter}] in {parent}"),
            None => format!("axis {axis}[{letter}]"),
        };
        let mut lines: Vec<String> = axes.iter().map(line).collect();
        lines.push(format!("data {}{} : {}", self.name, subscripts(&letters), self.of));
        lines
    }

    /// The declaration as a program.
    fn model(&self, text: &str) -> Result<Model, DataError> {
        // A program fits something: here a latent that has nothing to do with the data.
        let latent = (0..).map(|number| format!("latent{number}")).find(|name| *name != self.name);
        let latent = latent.expect("there are more numbers than names");
        let lines = self.lines().join("\n") + &format!("\n{latent} ~ Normal(0, sd = 1)\n");
        let (program, mut problems) = cavi_syntax::parse(&lines);
        let (model, more) = cavi_model::resolve(&program);
        problems.extend(more);
        let error = problems.into_iter().find(cavi_syntax::Diagnostic::is_error);
        match (model, error) {
            (Some(model), None) => Ok(model),
            (_, error) => {
                let said = error.map_or_else(String::new, |error| format!(": {}", error.message));
                Err(DataError::new(format!("`--as '{text}'` declares no data{said}"))
                    .possible("a name, its axes, and what its values are: `y[user, item] : count`"))
            }
        }
    }
}

/// The ragged axes of a packed file, each with the one that it is ragged in; none of any other file.
fn ragged_in(path: &str) -> Result<Vec<(String, String)>, DataError> {
    let (path, _) = cavi_files::split_column(path);
    if !path.to_string_lossy().to_ascii_lowercase().ends_with(PACKED_SUFFIX) {
        return Ok(Vec::new());
    }
    let axes = packed_axes(&path).map_err(|error| error.in_file(&path))?;
    Ok(axes.into_iter().filter_map(|own| Some((own.name, own.groups?.0))).collect())
}

/// The head of a file that `FILE` or `FILE:COLUMN` names.
///
/// # Errors
/// A file that cannot be read, or whose name states no format.
pub fn head(text: &str) -> Result<Head, DataError> {
    let (path, part) = cavi_files::split_column(text);
    let path: &Path = &path;
    Ok(cavi_files::head(path, part.as_deref()).map_err(|error| with_name(error, "y"))?)
}
