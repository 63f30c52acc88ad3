//! Random starts: every factor of q and every point is drawn from its own stream of random numbers.

use cavi_algebra::{ArrayId, BlockId, Equations, Mode, Support};
use cavi_families::{Extent, Posterior, views_mut};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::coordinate::{normalise, of_members, simplexes};
use crate::data::Bound;
use crate::layout::{Layout, Parameters, extent};

/// The start of a seed. A block draws from the stream of its place in the default sweep (blocks that the sweep leaves out
/// come after it), so that names and the order of other draws change nothing.
pub fn start(equations: &Equations, bound: &Bound, seed: u64) -> Parameters {
    let missing = |array: ArrayId| bound.array(array).has_missing();
    let mut order = equations.sweep.clone();
    order.extend((0..equations.blocks.len()).map(BlockId::from));
    let order = cavi_algebra::dedup(order);
    let mut blocks = vec![Vec::new(); equations.blocks.len()];
    for (stream, id) in order.into_iter().enumerate() {
        let block = equations.block(id);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream as u64);
        let layout = Layout::new(equations, bound, block, &missing);
        let family = cavi_families::posterior(block.family);
        blocks[id.index()] = match block.mode {
            Mode::Implicit => Vec::new(),
            Mode::Distribution | Mode::Fixed if !family.only_point() => {
                distribution(family, &layout, &mut rng)
            }
            Mode::Point | Mode::Distribution | Mode::Fixed => {
                let supports = block.members.iter().map(|member| equations.symbols.array(*member).support);
                let drawn = supports
                    .enumerate()
                    .map(|(member, support)| values(support, &layout, member, bound, &mut rng));
                let mut drawn: Vec<Vec<f64>> = drawn.collect();
                for (member, values) in drawn.iter_mut().enumerate() {
                    for slice in simplexes(equations, bound, block, &layout, member) {
                        normalise(values, slice);
                    }
                }
                // A whitened point is drawn from its prior, since the prior of a smooth one gives almost no density
                // to other values.
                let coordinates = of_members(equations, bound, block, &layout);
                let members = block.members.iter().zip(drawn.into_iter().zip(&coordinates));
                members
                    .map(|(member, (drawn, own))| match equations.whitening_of(*member) {
                        Some(_) => own.back(&drawn).into_values(),
                        None => drawn,
                    })
                    .collect()
            }
        };
    }
    Parameters { blocks }
}

/// The family's own start.
fn distribution(family: &dyn Posterior, layout: &Layout, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let batch = layout.batch();
    let count = family.descriptors().len();
    let mut descriptors: Vec<Vec<f64>> =
        (0..count).map(|index| vec![0.0; batch.len(extent(family, index))]).collect();
    family.start(&batch, rng, &mut views_mut(&mut descriptors));
    descriptors
}

/// The start of a point: of order 1, inside its support, and different for every element; a simplex is yet to be normalised.
fn values(support: Support, layout: &Layout, member: usize, bound: &Bound, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let slices = layout.slices_of(member);
    let mut values: Vec<f64> = (0..slices.len(Extent::Vector))
        .map(|_| match support {
            Support::Real => rng.sample(StandardNormal),
            Support::Positive | Support::Nonnegative | Support::Simplex | Support::PositiveDefinite => {
                0.5 + rng.random::<f64>()
            }
            Support::Unit => 0.25 + 0.5 * rng.random::<f64>(),
            Support::Binary => f64::from(rng.random::<bool>()),
            Support::Count | Support::Multiplicity => (10.0 * rng.random::<f64>()).floor(),
            Support::Index(axis) => (bound.size(axis) as f64 * rng.random::<f64>()).floor(),
        })
        .collect();
    for row in 0..slices.rows {
        let own = &mut values[slices.row(row)];
        if support == Support::PositiveDefinite {
            // A diagonal of order 1.
            let n = layout.slices[member].first().copied().unwrap_or(1);
            own.iter_mut()
                .enumerate()
                .filter(|(place, _)| place / n != place % n)
                .for_each(|(_, value)| *value = 0.0);
        }
    }
    values
}
