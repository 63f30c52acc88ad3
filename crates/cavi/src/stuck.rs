//! Starts that no sweep leaves: positions of an axis that are alike in every variable, zeros under an update that
//! multiplies. Both are allowed, and warned about.

use cavi_algebra::{ArrayId, ArrayKind, AxisId, BlockId, Equations, Mode, Support};
use cavi_executor::Bound;

use crate::bind::Labels;
use crate::posterior::{Along, ColumnFile, FileDimension, columns, layouts};

/// A start and what it is for.
pub(crate) struct Stuck<'a> {
    pub equations: &'a Equations,
    pub bound: &'a Bound,
    pub labels: &'a Labels,
    /// For each block its descriptors; `None` for one that starts as usual, at random.
    pub parameters: &'a [Option<&'a [Vec<f64>]>],
}

/// An axis whose positions start alike.
pub(crate) struct Symmetric {
    pub axis: AxisId,
    pub message: String,
}

impl Stuck<'_> {
    /// Axes whose positions all start alike, and which no data tell apart: they stay alike for ever.
    pub fn symmetric(&self) -> Vec<Symmetric> {
        let axes = (0..self.equations.symbols.axes.len()).map(AxisId::from);
        let candidates = axes.filter(|axis| self.bound.size(*axis) > 1 && self.is_latent_only(*axis));
        candidates.filter_map(|axis| self.alike(axis)).collect()
    }

    /// Whether no data and no constant has positions of this axis.
    fn is_latent_only(&self, axis: AxisId) -> bool {
        let symbols = &self.equations.symbols;
        symbols.arrays.iter().filter(|array| array.kind != ArrayKind::Latent).all(|array| {
            array.support != Support::Index(axis)
                && array
                    .letters
                    .iter()
                    .flat_map(|letter| symbols.lineage(*letter))
                    .all(|letter| symbols.letter(letter).axis != axis)
        })
    }

    fn alike(&self, axis: AxisId) -> Option<Symmetric> {
        let mut names: Vec<&str> = Vec::new();
        let mut complete = true;
        let mut classes = false;
        let layouts = layouts(self.equations, self.bound);
        for column in columns(self.equations).iter().filter(|column| column.defining) {
            let array = self.equations.symbols.array(column.variable);
            for file in column.files(self.equations, self.bound, &layouts, self.labels) {
                // The two dimensions of a matrix move together; its rows are not compared.
                let along: Vec<usize> = (0..file.dimensions.len())
                    .filter(|place| runs_over(&file.dimensions[*place], axis))
                    .collect();
                let [along] = along[..] else { continue };
                let Some(columns) = self.parameters[column.block.index()] else {
                    complete = false;
                    continue;
                };
                if !is_constant(&file.gather(&columns[column.column]), &file, along) {
                    return None;
                }
                classes |= array.support == Support::Index(axis);
                if !names.contains(&array.name.as_str()) {
                    names.push(&array.name);
                }
            }
        }
        if names.is_empty() || !(complete || classes) {
            return None;
        }
        let message = format!(
            "a symmetric start: {} {} alike for all positions of `{}`, which no update tells apart",
            crate::bind::list(&names),
            if names.len() == 1 { "is" } else { "are" },
            self.equations.symbols.axis(axis).name
        );
        Some(Symmetric { axis, message })
    }

    /// Zeros of points whose update multiplies, among the blocks that are asked for.
    pub fn zeros(&self, asked: &dyn Fn(&BlockId) -> bool) -> Vec<(ArrayId, String)> {
        let mut found = Vec::new();
        for (index, columns) in self.parameters.iter().enumerate() {
            let (id, Some(columns)) = (BlockId::from(index), columns) else { continue };
            let block = self.equations.block(id);
            if !asked(&id) || block.mode != Mode::Point || !self.equations.reads_allocation(id) {
                continue;
            }
            for (member, values) in block.members.iter().zip(*columns) {
                let zeros = values.iter().filter(|value| **value == 0.0).count();
                if zeros > 0 {
                    let name = &self.equations.symbols.array(*member).name;
                    let word = if zeros == 1 { "zero" } else { "zeros" };
                    let message = format!(
                        "the start of `{name}` has {zeros} {word}, which the multiplicative update never leaves"
                    );
                    found.push((*member, message));
                }
            }
        }
        found
    }
}

/// Whether a dimension of a file runs over an axis.
fn runs_over(dimension: &FileDimension, axis: AxisId) -> bool {
    matches!(dimension.along, Along::Axis(own, _) if own == axis)
}

/// Whether the numbers of a file are the same along a dimension.
fn is_constant(values: &[f64], file: &ColumnFile, along: usize) -> bool {
    let after: usize = file.dimensions[along + 1..].iter().map(|dimension| dimension.length).product();
    let length = file.dimensions[along].length;
    values.iter().enumerate().all(|(place, value)| {
        let position = place / after.max(1) % length.max(1);
        *value == values[place - position * after]
    })
}
