//! Values for every latent of a program.

use cavi_algebra::{ArrayId, ArrayKind, Support};
use cavi_executor::{Bound, Parameters};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::draws::draw;
use crate::subject::Subject;

/// For each latent its values, in C order of its declared dimensions.
pub type Latents = Vec<Option<Vec<f64>>>;

/// Draws alternatives from q, and implicit factors uniformly. What is too close to a boundary is moved off it.
pub fn alternatives(
    program: Subject<'_>,
    bound: &Bound,
    parameters: &Parameters,
    count: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Latents> {
    let symbols = &program.equations.symbols;
    let one = |rng: &mut ChaCha8Rng| {
        let mut latents = draw(program, bound, parameters, rng).latents;
        for (index, array) in symbols.arrays.iter().enumerate() {
            let id = ArrayId::from(index);
            if array.kind != ArrayKind::Latent {
                continue;
            }
            if let (Support::Index(axis), None) = (array.support, program.equations.block_of(id)) {
                let size: usize = bound.shape(symbols, id).iter().product();
                let classes = bound.axes[axis.index()].size;
                latents[index] = Some((0..size).map(|_| rng.random_range(0..classes) as f64).collect());
            }
            if array.support == Support::Binary && program.equations.block_of(id).is_none() {
                let size: usize = bound.shape(symbols, id).iter().product();
                latents[index] = Some((0..size).map(|_| f64::from(rng.random_range(0..2_u8))).collect());
            }
            let positive = matches!(
                array.support,
                Support::Positive | Support::Nonnegative | Support::Simplex | Support::Unit
            );
            let unit = matches!(array.support, Support::Unit);
            for value in latents[index].iter_mut().flatten().filter(|_| positive) {
                *value = value.max(1e-3);
                if unit {
                    *value = value.min(1.0 - 1e-3);
                }
            }
        }
        latents
    };
    (0..count).map(|_| one(rng)).collect()
}
