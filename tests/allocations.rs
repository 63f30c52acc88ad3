//! A sweep that has been run before takes no memory from the heap, for all programs but those listed: it works in memory that
//! the run keeps, and its short lists stand on the stack. No sweep keeps more than the one before it.

use cavi_executor::{Executor, start};
use cavi_tests::support::{Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Programs whose sweeps take memory all the same, and why.
const TAKING: [(&str, &str); 25] = [
    ("binomial_pairs", SETS),
    ("blocks_logit", SETS),
    ("dense_choices", SETS),
    ("diallel_cross", SETS),
    ("distances", SETS),
    ("field_aware_pairs", SETS),
    ("lagged_excitation", SETS),
    ("linked_classes", SETS),
    ("linked_counts", "entries out of the range of doubles are listed, for the log space"),
    ("linked_groups", SETS),
    ("linked_three_deep", SETS),
    ("logit_network", SETS),
    ("logit_network_missing", SETS),
    ("logit_pairs_in_groups", SETS),
    ("logit_self_ties", SETS),
    ("pairs_of_rates", "a pass has more modes than its lists have room for"),
    ("products_over_two_parents", SETS),
    ("products_within_houses", SETS),
    ("ragged_effects", SETS),
    ("ragged_regression", SETS),
    ("shares_of_rates", "entries out of the range of doubles are listed, for the log space"),
    ("sources_and_background", "entries out of the range of doubles are listed, for the log space"),
    ("supervised_topics", SETS),
    ("switches_within_groups", SETS),
    ("waiting_between_pairs", SETS),
];

const SETS: &str = "copies that move together are listed, where they are no single one and not all of them";

/// After this many sweeps the memory is constant: before its third run a pass puts its entries in the order in which
/// it visits them.
const SETTLED: usize = 6;

#[test]
fn settled_sweeps_take_nothing_from_the_heap() {
    let (mut taking, mut unexpected, mut settled) = (Vec::new(), Vec::new(), 0);
    for program in programs() {
        for sparse in [false, true] {
            let shape = Shape { smallest: 10, largest: 12, missing: 0.1, ..Shape::small(sparse) };
            let bound = random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(1));
            let from = start(&program.equations, &bound, 7);
            let mut run = Executor::new(&program.equations, &bound, from, 1).expect("a plan");
            let schedule = program.schedule();
            let mut sweep = || run.sweep(&schedule).is_ok() && !run.elbo().is_nan();
            // Some have no optimum on data that are random.
            if !(0..SETTLED).all(|_| sweep()) {
                continue;
            }
            let mut taken = allocation_counter::measure(|| _ = sweep());
            // A climb that takes more steps than any before it keeps the memory for them, once.
            if taken.count_current > 0 {
                taken = allocation_counter::measure(|| _ = sweep());
            }
            settled += 1;
            assert!(taken.count_current <= 0, "{}: a sweep keeps {taken:?}", program.name);
            if taken.count_total == 0 {
                continue;
            }
            match TAKING.iter().any(|(name, _)| *name == program.name) {
                true => taking.push(program.name.clone()),
                false => unexpected.push(format!(
                    "{}, {}: {} blocks, {} bytes",
                    program.name,
                    if sparse { "sparse" } else { "dense" },
                    taken.count_total,
                    taken.bytes_total
                )),
            }
        }
    }
    assert!(settled > 350, "only {settled} runs settle");
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    let stale = TAKING.iter().filter(|(name, _)| !taking.iter().any(|own| own == name));
    let stale: Vec<&str> = stale.map(|(name, _)| *name).collect();
    assert!(stale.is_empty(), "these take nothing any more: {stale:?}");
}
