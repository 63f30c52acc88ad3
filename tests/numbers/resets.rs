//! A reset makes every block the optimum of its own statements alone, points among them: the run as the interpreter, whatever the block was before.

use cavi_algebra::{BlockId, Mode};

use cavi_executor::{Executor, Interpreter, start};
use cavi_tests::support::{Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

#[test]
fn points_of_every_program_are_reset_to_the_mode_of_their_statements() {
    let (mut moved, mut wrong) = (0, Vec::new());
    for program in programs() {
        let mut equations = program.equations.clone();
        equations.blocks.iter_mut().for_each(|block| block.resets = block.mode == Mode::Point);
        if !equations.blocks.iter().any(|block| block.resets) {
            continue;
        }
        let bound = random_bound(&program.model, Shape::small(false), &mut ChaCha8Rng::seed_from_u64(11));
        let from = start(&equations, &bound, 3);
        let Ok(mut executor) = Executor::new(&equations, &bound, from.clone(), 2) else { continue };
        let Ok(mut interpreter) = Interpreter::new(&equations, &bound, from.clone()) else { continue };
        for id in (0..equations.blocks.len()).map(BlockId::from) {
            if !equations.block(id).resets {
                continue;
            }
            let (fast, slow) = (executor.reset(id), interpreter.reset_block(id));
            if fast.is_err() || slow.is_err() {
                if fast.is_err() != slow.is_err() {
                    wrong.push(format!("{}: executor {fast:?}, interpreter {slow:?}", program.name));
                }
                break;
            }
            let values = |own: &cavi_executor::Parameters| own.blocks[id.index()].concat();
            let (fast, slow) = (values(executor.parameters()), values(interpreter.parameters()));
            let far = |(one, other): (&f64, &f64)| (one - other).abs() > 1e-9 * (1.0 + other.abs());
            if fast.iter().zip(&slow).any(far) {
                wrong.push(format!("{}: {fast:?}, not {slow:?}", program.name));
            }
            moved += usize::from(values(&from) != fast);
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(moved >= 10, "only {moved} points moved");
}
