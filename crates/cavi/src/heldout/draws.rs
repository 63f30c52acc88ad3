//! Draws from q, and its means, as arrays in the declared order of their dimensions.

use cavi_algebra::{ArrayId, BlockId, Equations, Mode};
use cavi_executor::observed::Observed;
use cavi_executor::{Bound, BoundArray, Layout, Parameters};
use cavi_families::{views, views_mut};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::posterior::{Role, family, roles};

/// Where a variable of a block is found in a draw of it.
pub(crate) struct Source {
    block: BlockId,
    layout: Layout,
    /// For each member the variable and, for each of its elements in declared order, the place in a draw.
    members: Vec<(ArrayId, Vec<usize>)>,
    /// What is observed of a variable that is latent elsewhere.
    observed: Option<Observed>,
}

impl Source {
    /// The sources of a block.
    pub fn new(equations: &Equations, bound: &Bound, id: BlockId) -> Source {
        let block = equations.block(id);
        let missing =
            |array: ArrayId| bound.arrays[array.index()].as_ref().is_some_and(BoundArray::has_missing);
        let layout = Layout::new(equations, bound, block, &missing);
        let is_class = block.classes.is_some();
        let point = family(equations, id).is_none();
        let width = if is_class { 1 } else { layout.width() };
        let offsets = layout.offsets();
        let members = block.members.iter().enumerate().map(|(member, variable)| {
            let roles = roles(equations, id, member);
            let shape = bound.shape(&equations.symbols, *variable);
            let sizes = &layout.slices[member];
            let within_width: usize = sizes.iter().product();
            let count: usize = shape.iter().product();
            let mut places = Vec::with_capacity(count);
            for cell in 0..count {
                let mut rest = cell;
                let mut positions = vec![0; shape.len()];
                for (position, size) in positions.iter_mut().zip(&shape).rev() {
                    *position = rest % size.max(&1);
                    rest /= size.max(&1);
                }
                let mut plates = vec![0; layout.plates.len()];
                let mut slices = vec![0; sizes.len()];
                for (role, position) in roles.iter().zip(positions) {
                    match role {
                        Role::Plate(plate) => plates[*plate] = position,
                        Role::Slice(slice) => slices[*slice] = position,
                    }
                }
                let flat = |sizes: &[usize], positions: &[usize]| {
                    sizes.iter().zip(positions).fold(0, |place, (size, position)| place * size + position)
                };
                let (row, within) = (flat(&layout.plates, &plates), flat(sizes, &slices));
                places.push(match (is_class, point) {
                    (true, _) => row,
                    // A column of values for each member.
                    (false, true) => row * within_width + within,
                    (false, false) => row * width + offsets[member] + within,
                });
            }
            (*variable, places)
        });
        let members = members.collect();
        Source { block: id, layout, members, observed: Observed::of(equations, bound, block) }
    }

    /// A draw of every variable of the block; of a point its value.
    pub fn draw(
        &self,
        equations: &Equations,
        parameters: &Parameters,
        rng: &mut ChaCha8Rng,
    ) -> Vec<(ArrayId, Vec<f64>)> {
        let columns = &parameters.blocks[self.block.index()];
        let Some(family) = family(equations, self.block) else {
            let of = |(column, (variable, places)): (&Vec<f64>, &(ArrayId, Vec<usize>))| {
                (*variable, places.iter().map(|place| column[*place]).collect())
            };
            return columns.iter().zip(&self.members).map(of).collect();
        };
        let width = if equations.block(self.block).classes.is_some() { 1 } else { self.layout.width() };
        let mut drawn = vec![0.0; self.layout.rows * width];
        let batch = self.layout.batch();
        match &self.observed {
            None => family.sample(&batch, &views(columns), rng, &mut drawn),
            // An observed entry is a point mass and is not drawn. Any distribution may stand in its place.
            Some(observed) => {
                let mut proper = columns.clone();
                family.start(&batch, &mut ChaCha8Rng::seed_from_u64(0), &mut views_mut(&mut proper));
                let mut own = columns.clone();
                for (column, proper) in own.iter_mut().zip(&proper) {
                    let width = column.len() / self.layout.rows.max(1);
                    for (row, _) in observed.rows() {
                        let place = row * width..(row + 1) * width;
                        column[place.clone()].copy_from_slice(&proper[place]);
                    }
                }
                family.sample(&batch, &views(&own), rng, &mut drawn);
            }
        }
        let of = |(variable, places): &(ArrayId, Vec<usize>)| {
            (*variable, places.iter().map(|place| drawn[*place]).collect())
        };
        self.members.iter().map(of).collect()
    }
}

/// Whether a block has one value, whatever is drawn.
pub(super) fn is_certain(equations: &Equations, id: BlockId) -> bool {
    equations.block(id).mode != Mode::Implicit && family(equations, id).is_none()
}
