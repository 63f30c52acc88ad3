//! The means of the latents of rows as tables: a row of the table for each row of the data.

use cavi_algebra::{ArrayId, AxisId};
use cavi_files::{Cell, CsvText};

use super::Projection;
use crate::dimensions::Dimension;
use crate::means::{Mean, mean};
use crate::prepare::{EntryAxis, Problem};

impl Projection {
    /// The name of each latent of rows, and its means as the text of a table: the labels of the row, then a mean for each position
    /// on its other axes (of an index the probability of each class), under its label. A latent without other axes has one column,
    /// `mean`. Data with missing entries are in the units in which they were given.
    pub fn tables(&self) -> Vec<(String, String)> {
        let Problem { equations, .. } = self.rows.problem.as_given();
        let name = |array: &ArrayId| equations.symbols.array(*array).name.clone();
        self.rows.own.iter().filter_map(|array| Some((name(array), self.table(*array)?))).collect()
    }

    /// The table of a latent; `None` for one without a mean of its own.
    fn table(&self, array: ArrayId) -> Option<String> {
        let Problem { equations, binding, .. } = self.rows.problem.as_given();
        let found = mean(equations, &binding.bound, &self.fit.parameters, array)?;
        let Mean { axes, shape, values } = self.in_units_of_data(array, found);
        let is_key: Vec<bool> = axes.iter().map(|axis| self.is_key(&binding.entries, *axis)).collect();
        let some = |key: bool| (0..axes.len()).filter(|place| is_key[*place] == key).collect::<Vec<usize>>();
        let (keys, others) = (some(true), some(false));
        let dimensions: Vec<Dimension<'_>> =
            axes.iter().map(|axis| Dimension::new(self.rows.problem.as_given(), *axis)).collect();

        let size = |places: &[usize]| places.iter().map(|place| shape[*place]).product::<usize>();
        // The positions of a cell of the table along some dimensions, the last the fastest.
        let positions = |places: &[usize], cell: usize| {
            let mut rest = cell;
            let mut own = vec![0; places.len()];
            for (position, place) in own.iter_mut().zip(places).rev() {
                *position = rest % shape[*place];
                rest /= shape[*place];
            }
            own
        };
        let texts = |places: &[usize], cell: usize| -> Vec<String> {
            let own = positions(places, cell);
            places.iter().zip(own).flat_map(|(place, position)| dimensions[*place].labels(position)).collect()
        };
        let mut stride = vec![1; shape.len()];
        for place in (1..shape.len()).rev() {
            stride[place - 1] = stride[place] * shape[place];
        }
        let offsets = |places: &[usize]| -> Vec<usize> {
            let offset = |cell: usize| {
                let own = positions(places, cell);
                own.iter().zip(places).map(|(position, place)| position * stride[*place]).sum()
            };
            (0..size(places)).map(offset).collect()
        };
        let mut header: Vec<String> = keys.iter().flat_map(|place| dimensions[*place].names()).collect();
        match others.is_empty() {
            true => header.push("mean".to_owned()),
            false => header.extend((0..size(&others)).map(|cell| texts(&others, cell).join("/"))),
        }
        let mut table = CsvText::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
        let columns = offsets(&others);
        for (row, start) in offsets(&keys).into_iter().enumerate() {
            let labels = texts(&keys, row);
            let cells = labels.iter().map(|label| Cell::Text(label));
            let means = columns.iter().map(|column| Cell::Number(values[start + column]));
            table.row(&cells.chain(means).collect::<Vec<_>>());
        }
        Some(table.as_str().to_owned())
    }

    /// The means of data with missing entries, which are latent, in the units in which the data were given.
    fn in_units_of_data(&self, array: ArrayId, mut found: Mean) -> Mean {
        let problem = self.rows.problem.as_given();
        let Some(own) = problem.binding.standardised.iter().find(|own| own.array == array) else {
            return found;
        };
        let count = found.values.len();
        let entries = problem.binding.entries.iter().find(|own| found.axes.as_slice() == [own.axis]);
        let coordinates: Vec<Vec<u32>> = match entries {
            Some(entries) => entries.columns.to_vec(),
            None => {
                let along = |dimension: usize| {
                    let (size, inner) =
                        (found.shape[dimension], found.shape[dimension + 1..].iter().product::<usize>());
                    (0..count).map(|cell| (cell / inner % size) as u32).collect()
                };
                (0..found.shape.len()).map(along).collect()
            }
        };
        own.undo(problem, &coordinates, &mut found.values, None);
        found
    }

    /// Whether positions on an axis are rows of the tables: those of rows, of what is ragged in them, and listed entries.
    fn is_key(&self, entries: &[EntryAxis], axis: AxisId) -> bool {
        let symbols = &self.rows.problem.as_given().model.symbols;
        let mut above = std::iter::successors(Some(axis), |own| symbols.axis(*own).parent);
        entries.iter().any(|own| own.axis == axis) || above.any(|own| self.rows.axes.contains(&own))
    }
}
