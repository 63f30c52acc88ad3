//! The derivatives that points without a closed form follow, compared with differences of the bound.

use cavi_algebra::BlockId;
use cavi_executor::{Interpreter, start};
use cavi_tests::support::{Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Central differences of fourth order: off by `h^4` times the fifth derivative.
fn difference(mut at: impl FnMut(f64) -> f64, step: f64) -> f64 {
    (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step)
}

#[test]
fn gradients_are_slopes_of_the_bound() {
    let mut wrong = Vec::new();
    let mut programs_seen = 0;
    for program in programs() {
        let blocks: Vec<usize> = (0..program.equations.blocks.len())
            .filter(|b| program.equations.blocks[*b].ascent.is_some())
            .collect();
        programs_seen += usize::from(!blocks.is_empty());
        for (block, seed) in blocks.iter().flat_map(|block| (0..3).map(move |seed| (*block, seed))) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let shape = Shape { smallest: 1, largest: 3, ..Shape::small(seed % 2 == 1) };
            let bound = random_bound(&program.model, shape, &mut rng);
            let from = start(&program.equations, &bound, seed);
            let mut interpreter = Interpreter::new(&program.equations, &bound, from)
                .unwrap_or_else(|trouble| panic!("{}: {trouble}", program.name));
            let id = BlockId::from(block);
            let best = interpreter.parameters().blocks[block].clone();
            let gradient = interpreter.gradient(id);
            let rounding = interpreter.elbo_held_terms().iter().map(|term| term.abs()).sum::<f64>() * 1e-15;
            for (member, column) in best.iter().enumerate() {
                for (place, value) in column.iter().enumerate() {
                    let step = 1e-3 * value.abs().clamp(0.1, 10.0);
                    let found = difference(
                        |by| {
                            let mut columns = best.clone();
                            columns[member][place] += by;
                            interpreter.set_block(id, columns);
                            interpreter.elbo_held()
                        },
                        step,
                    );
                    interpreter.set_block(id, best.clone());
                    let expected = gradient[member][place];
                    let allowed = 1e-6 * expected.abs().max(1.0) + 10.0 * rounding / step;
                    if found.is_finite() && (found - expected).abs() > allowed {
                        wrong.push(format!(
                            "{}, seed {seed}, member {member} at {place}: {expected}, by differences {found}",
                            program.name
                        ));
                    }
                }
            }
        }
    }
    assert!(programs_seen >= 7, "{programs_seen} programs have such points");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
