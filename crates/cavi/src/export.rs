//! The latents of a fit as tables with labels, from its directory alone.
//!
//! Each latent has two tables. The long one, `VAR.long.csv`, has a line for each number: its labels, its mean (`prob` of an index,
//! `value` of a point), and where q has them its standard deviation and its quantiles at 5, 50 and 95 %, which bound its credible
//! interval of 90 %. The wide one, `VAR.csv`, has the means alone: a line for each position on all axes but the last, a column for each
//! label of that. A latent over a ragged axis has its groups in the first columns; where these have other labels on the last axis
//! there is no wide table of it, nor is there of a latent that lives at the
//! listed entries of data.

use std::path::Path;

use cavi_files::{Cell, CsvText, write_text_atomically};

use crate::error::Error;
use crate::summary::{Variable, columns, place, variables};
use crate::writer::Writer;

/// The levels of the quantiles, with the names of their columns.
pub const LEVELS: [(f64, &str); 3] = [(0.05, "q05"), (0.5, "q50"), (0.95, "q95")];

/// A table of a latent.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its file.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// The tables of all latents of a fit that have a mean on axes.
///
/// # Errors
/// A directory that holds no fit.
pub fn tables(directory: &Path) -> Result<Vec<Table>, Error> {
    let all = variables(directory, None)?;
    let own_name = |variable: &Variable| match variable.group.is_empty() {
        true => variable.name.clone(),
        false => variable.name.split('[').next().unwrap_or_default().to_owned(),
    };
    let mut tables = Vec::new();
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let name = own_name(first);
        let count = rest.iter().take_while(|own| own_name(own) == name).count();
        let (groups, others) = rest.split_at(count);
        tables.extend(wide(groups).map(|text| Table { file: format!("{name}.csv"), text }));
        tables.push(Table { file: format!("{name}.long.csv"), text: long(groups) });
        rest = others;
    }
    Ok(tables)
}

/// The place of the directory that tables are written to.
#[derive(Debug)]
pub struct Export {
    writer: Writer,
}

impl Export {
    /// Takes the place. With `force` a directory that Cavi did not write is replaced too; its files stay.
    ///
    /// # Errors
    /// The directory of the fit, or one above it; a path that is a file, that cannot be written to, that another process writes to, or that holds files of others.
    pub fn prepare(path: &Path, fit: &Path, force: bool) -> Result<Export, Error> {
        Ok(Export { writer: Writer::open(path, &[fit], force)? })
    }

    /// Writes the tables. They take the place of an earlier export when all are there.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(self, tables: &[Table]) -> Result<(), Error> {
        self.writer.write(|path| {
            let mut each = tables.iter();
            Ok(each.try_for_each(|own| write_text_atomically(&path.join(&own.file), &own.text))?)
        })
    }
}

/// The names of the columns of labels.
fn axes_of(variable: &Variable) -> Vec<&str> {
    let groups = variable.group.iter().map(|(axis, _)| axis.as_str());
    groups.chain(columns(variable)).collect()
}

/// The groups of a variable, one number a line.
fn long(groups: &[Variable]) -> String {
    let first = &groups[0];
    let has_deviations = groups.iter().any(|own| own.deviations.is_some());
    let has_quantiles = groups.iter().any(|own| own.marginals.is_some());
    let mut header = axes_of(first);
    header.push(first.parameter);
    header.extend(has_deviations.then_some("sd"));
    header.extend(LEVELS.iter().filter(|_| has_quantiles).map(|(_, name)| *name));
    let mut table = CsvText::new(&header);
    for variable in groups {
        for (cell, value) in variable.values.iter().enumerate() {
            let mut row: Vec<Cell<'_>> = variable.group.iter().map(|(_, label)| Cell::Text(label)).collect();
            row.extend(place(variable, cell).into_iter().map(Cell::Text));
            row.push(Cell::Number(*value));
            // Where there is none, or none is known, there is nothing.
            let number =
                |value: Option<f64>| value.filter(|own| !own.is_nan()).map_or(Cell::Empty, Cell::Number);
            if has_deviations {
                row.push(number(variable.deviations.as_ref().map(|own| own[cell])));
            }
            if has_quantiles {
                let marginal = variable.marginals.as_ref().map(|own| own[cell]);
                row.extend(LEVELS.iter().map(|(level, _)| number(marginal.map(|own| own.quantile(*level)))));
            }
            table.row(&row);
        }
    }
    table.as_str().to_owned()
}

/// The means of the groups of a variable, a line for all numbers along the last axis; `None` where groups differ in its labels.
fn wide(groups: &[Variable]) -> Option<String> {
    let first = &groups[0];
    // Of listed entries a table would be empty almost everywhere.
    if first.listed.is_some() {
        return None;
    }
    let columns: &[String] =
        first.axes.last().filter(|_| axes_of(first).len() > 1).map_or(&[], |(_, labels)| labels);
    let is_one = axes_of(first).len() <= 1;
    let same = |own: &Variable| is_one || own.axes.last().is_some_and(|(_, labels)| labels == columns);
    if !groups.iter().all(same) {
        return None;
    }
    let mut header = axes_of(first);
    if !is_one {
        header.pop();
    }
    match is_one {
        true => header.push(first.parameter),
        false => header.extend(columns.iter().map(String::as_str)),
    }
    let width = if is_one { 1 } else { columns.len() };
    let mut table = CsvText::new(&header);
    for variable in groups.iter().filter(|_| width > 0) {
        for (line, values) in variable.values.chunks(width).enumerate() {
            let mut row: Vec<Cell<'_>> = variable.group.iter().map(|(_, label)| Cell::Text(label)).collect();
            let mut labels = place(variable, line * width);
            if !is_one {
                labels.pop();
            }
            row.extend(labels.into_iter().map(Cell::Text));
            row.extend(values.iter().copied().map(Cell::Number));
            table.row(&row);
        }
    }
    Some(table.as_str().to_owned())
}
