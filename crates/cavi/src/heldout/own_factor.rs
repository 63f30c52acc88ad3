//! Hidden entries that have a factor of q of their own.
//!
//! An array that other statements read is latent at its missing entries. Under q the prediction of such an entry is its own factor, `log q(y)`: what
//! stands below the entry tells of it as much as what stands above. `E_q p(y | parents)` would leave the former out. Where the entry is among the data
//! (of data that are scored as they are, and of rows of weight) its factor is a point mass at the value itself, which predicts nothing:
//! its score is that of its statement.

use cavi_algebra::{ArrayId, Mode};
use cavi_families::Slices;
use cavi_model::Statement;

use super::classes::{Given, given};
use super::draws::Source;
use super::predict::{Kind, Predictor};
use crate::bind::Hidden;

impl Predictor<'_> {
    /// Whether the factor of the hidden entries of an array is implicit.
    pub(super) fn has_implicit_factor(&self, array: ArrayId) -> bool {
        let block = self.equations.block_of(array);
        block.is_some_and(|block| self.equations.block(block).mode == Mode::Implicit)
    }

    /// The log density of each hidden entry under its own factor of q: that of a variable which other statements read, so that it is latent where it is
    /// not observed. What stands below an entry tells of it too, and its factor knows that: of a hidden class the score is the log
    /// of the probability that q gives to it, as it was classified. `None` where hidden entries have no factor with a density, or are among
    /// the data.
    pub(super) fn logs_of_own_factor(
        &self,
        hidden: &Hidden,
        statement: &Statement,
        kind: Kind,
    ) -> Option<Vec<f64>> {
        let block = self.equations.block_of(hidden.array)?;
        let is_missing = given(&self.model.symbols, self.bound, hidden) == Given::None;
        if matches!(kind, Kind::Unit | Kind::Rate) || !is_missing {
            return None;
        }
        let whole = kind == Kind::Density && statement.family.slices() != Slices::None;
        let array = self.model.symbols.array(hidden.array);
        let shape = self.bound.shape(&self.model.symbols, hidden.array);
        let width: usize = shape
            .iter()
            .zip(&array.slice)
            .filter(|(_, slice)| whole && **slice)
            .map(|(size, _)| size)
            .product();
        let cell = |entry: usize| {
            let mut columns = hidden.coordinates.iter();
            shape.iter().zip(&array.slice).fold(0, |cell, (size, slice)| {
                let position = if whole && *slice { 0 } else { columns.next().map_or(0, |own| own[entry]) };
                cell * size + position as usize
            })
        };
        let cells: Vec<usize> = (0..hidden.values.len() / width.max(1)).map(cell).collect();
        let source = Source::new(self.equations, self.bound, block);
        source.log_density_at(self.equations, self.parameters, hidden.array, &cells, &hidden.values)
    }
}
