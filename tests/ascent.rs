//! The objective never falls, and an update leaves nothing to gain: law 3 of the design.

use cavi_executor::{Schedule, start};
use cavi_tests::support::{Shape, items_ascend, members_ascend, programs, random_bound, updates_rest};
use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Sizes from nought or one up, dense and sparse, with few and with nearly all entries missing.
fn shapes() -> impl Strategy<Value = Shape> {
    let range = (0_usize..3).prop_flat_map(|smallest| (proptest::strategy::Just(smallest), 1_usize..5));
    (range, any::<bool>(), 0.0..1.0).prop_map(|((smallest, width), sparse, missing)| Shape {
        smallest,
        largest: smallest + width - 1,
        sparse,
        missing,
        scale: 1.0,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn no_item_and_no_member_of_a_group_lowers_the_bound(shape in shapes(), seed in any::<u64>()) {
        let mut wrong = Vec::new();
        for program in programs() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let bound = random_bound(&program.model, shape, &mut rng);
            let found = [
                items_ascend(&program, &bound, &program.schedule(), seed),
                items_ascend(&program, &bound, &Schedule::of(&program.equations), seed),
                members_ascend(&program, &bound, seed),
            ];
            wrong.extend(found.into_iter().filter_map(Result::err).map(|text| format!("{}: {text}", program.name)));
        }
        assert!(wrong.is_empty(), "{shape:?}, seed {seed}\n{}", wrong.join("\n"));
    }
}

#[test]
fn an_update_leaves_no_slope() {
    let mut wrong = Vec::new();
    for program in programs() {
        for (seed, sparse) in [(31, false), (32, true)] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let shape = Shape { smallest: 2, largest: 3, ..Shape::small(sparse) };
            let bound = random_bound(&program.model, shape, &mut rng);
            let from = start(&program.equations, &bound, seed);
            if let Err(problem) = updates_rest(&program, &bound, &from) {
                wrong.push(format!("{}, seed {seed}: {problem}", program.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
