//! Changes of coordinates under `accelerate = auto` raise the bound by the amount that they return, and no small
//! change of coordinates raises it further.

use cavi_algebra::{BlockId, Rotated, Rotation};
use cavi_executor::{Bound, Executor, Interpreter, Item, Layout, Parameters, Step, start};
use cavi_families::views_mut;
use cavi_numerics::linalg::{lu_inverse, transpose};
use cavi_tests::support::{Program, Shape, close, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Factor models whose vectors have a joint q on both sides of the product.
const ROTATED: &[&str] = &[
    "factor_analysis",
    "gfa_complete",
    "gfa_masked",
    "low_rank_precisions",
    "mixed_views",
    "normal_sum_two_factors",
    "pmf_biases",
];

fn sides(rotation: &Rotation) -> impl Iterator<Item = (&Rotated, bool)> {
    rotation.left.iter().map(|own| (own, true)).chain(rotation.right.iter().map(|own| (own, false)))
}

/// Brings the precisions to their optimum.
fn settle(executor: &mut Executor<'_>, rotation: &Rotation) {
    for (own, _) in sides(rotation) {
        if let Some((block, _)) = own.precision {
            let item = Item { step: Step::Block(block), reset: false, repeat: 1 };
            executor.item(&item).unwrap_or_else(|trouble| panic!("{trouble}"));
        }
    }
}

fn run<'a>(program: &'a Program, bound: &'a Bound, from: Parameters) -> Executor<'a> {
    Executor::new(&program.equations, bound, from, 1).unwrap_or_else(|unplanned| panic!("{}", unplanned.0))
}

/// The bound at a state, evaluated literally.
fn literal(program: &Program, bound: &Bound, parameters: &Parameters) -> f64 {
    Interpreter::new(&program.equations, bound, parameters.clone()).expect("a state").elbo()
}

#[test]
fn a_rotation_gives_what_it_says() {
    let mut found = Vec::new();
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let bound = random_bound(&program.model, Shape::small(false), &mut rng);
        let blocks: Vec<BlockId> = (0..program.equations.blocks.len()).map(BlockId::from).collect();
        for rotation in &program.equations.rotations {
            let mut executor = run(&program, &bound, start(&program.equations, &bound, 5));
            let mut given = 0.0_f64;
            for _ in 0..3 {
                executor.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
                settle(&mut executor, rotation);
                let before = literal(&program, &bound, executor.parameters());
                let gain = executor.rotate(rotation, &blocks).unwrap_or_else(|trouble| panic!("{trouble}"));
                let after = literal(&program, &bound, executor.parameters());
                let scale = executor.elbo().abs().max(executor.elbo_scale());
                assert!(
                    gain >= 0.0 && close(after - before, gain, scale, 1e-10),
                    "{}: {gain}, and the bound rose by {}",
                    program.name,
                    after - before
                );
                given = given.max(gain);
            }
            assert!(given > 1e-3, "{}: at most {given}", program.name);
            found.push(program.name.clone());
        }
    }
    for name in ROTATED {
        assert!(found.iter().any(|own| own == name), "{name}: {found:?}");
    }
    // Each element has a q of its own, or one side has no joint q, or another statement reads more than the product.
    for name in ["pmf_factorised", "student_factors", "nmf_gamma_ard", "supervised_topics"] {
        assert!(!found.iter().any(|own| own == name), "{name}");
    }
}

/// The state with the vectors in other coordinates and the precisions at their optimum.
fn turned(
    program: &Program,
    bound: &Bound,
    rotation: &Rotation,
    from: &Parameters,
    matrix: &[f64],
    n: usize,
) -> f64 {
    let (inverse, _) = lu_inverse(n, matrix).expect("regular");
    let turned = transpose(n, matrix);
    let mut parameters = from.clone();
    let missing = |array| {
        bound.arrays[cavi_algebra::ArrayId::index(array)].as_ref().is_some_and(|own| own.has_missing())
    };
    for (own, is_left) in sides(rotation) {
        let block = program.equations.block(own.block);
        let layout = Layout::new(&program.equations, bound, block, &missing);
        let family = cavi_families::posterior(block.family);
        let matrix = if is_left { &inverse } else { &turned };
        family.transform(&layout.batch(), matrix, &mut views_mut(&mut parameters.blocks[own.block.index()]));
    }
    let mut executor = run(program, bound, parameters);
    settle(&mut executor, rotation);
    executor.elbo()
}

#[test]
fn no_small_change_of_coordinates_is_better() {
    let mut tried = 0;
    for program in programs().into_iter().filter(|own| ROTATED.contains(&own.name.as_str())) {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let bound = random_bound(&program.model, Shape::small(false), &mut rng);
        let blocks: Vec<BlockId> = (0..program.equations.blocks.len()).map(BlockId::from).collect();
        let rotation = &program.equations.rotations[0];
        let mut executor = run(&program, &bound, start(&program.equations, &bound, 6));
        executor.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
        for _ in 0..5 {
            executor.rotate(rotation, &blocks).unwrap_or_else(|trouble| panic!("{trouble}"));
        }
        let (best, parameters) = (executor.elbo(), executor.parameters().clone());
        let missing = |array| {
            bound.arrays[cavi_algebra::ArrayId::index(array)].as_ref().is_some_and(|own| own.has_missing())
        };
        let first = program.equations.block(rotation.left[0].block);
        let n = Layout::new(&program.equations, &bound, first, &missing).n;
        for at in 0..n * n {
            for step in [1e-2, -1e-2, 0.2] {
                let mut matrix: Vec<f64> =
                    (0..n * n).map(|own| f64::from(u8::from(own % (n + 1) == 0))).collect();
                matrix[at] += step;
                let value = turned(&program, &bound, rotation, &parameters, &matrix, n);
                let allowed = 1e-7 * best.abs().max(1.0);
                assert!(value <= best + allowed, "{}: {value} at {at} by {step}, and {best}", program.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}
