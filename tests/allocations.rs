//! A sweep that has been run before takes no memory from the heap, for all programs but those listed: it works in memory that
//! the run keeps, and its short lists stand on the stack. No sweep keeps more than the one before it. How the most that it holds grows with
//! the data is what was forecast. Reading takes little more than the arrays that are read.

use std::fmt::Write;
use std::time::{Duration, Instant};

use cavi::bind::{ArrayInput, Inputs, Source, bind};
use cavi_executor::plan::{Precision, plan};
use cavi_executor::shard::memory::of_bound;
use cavi_executor::{Executor, start};
use cavi_tests::support::{Program, Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Programs whose sweeps take memory all the same, and why.
const TAKING: [(&str, &str); 26] = [
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
    ("response_of_tokens", SETS),
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

/// The bytes of a run that are forecast, and those that the heap held at most: for planning, and while a run was begun and swept.
struct Bytes {
    data: usize,
    forecast: usize,
    planned: usize,
    taken: usize,
}

/// What a run takes on random data of which each axis has so many positions; `None` where there is no plan.
fn bytes(program: &Program, sparse: bool, size: usize) -> Option<Bytes> {
    const SWEEPS: u64 = 3;
    let schedule = program.schedule();
    let shape = Shape { smallest: size, largest: size, missing: 0.1, ..Shape::small(sparse) };
    let bound = random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(1));
    let mut forecast = None;
    let planned = allocation_counter::measure(|| {
        let plan = plan(&program.equations, &bound, Precision::Double);
        forecast = plan.ok().map(|plan| plan.memory(&program.equations, &bound, &schedule, 1, SWEEPS));
    });
    let forecast = forecast?;
    let taken = allocation_counter::measure(|| {
        let from = start(&program.equations, &bound, 7);
        let mut run = Executor::new(&program.equations, &bound, from, 1).expect("a plan");
        run.elbo();
        // Some have no optimum on data that are random.
        _ = (0..SWEEPS).all(|_| run.sweep(&schedule).is_ok() && !run.elbo().is_nan());
    });
    let (planned, taken) = (planned.bytes_max as usize, taken.bytes_max as usize);
    Some(Bytes { data: of_bound(&bound), forecast, planned, taken })
}

/// The forecast of memory is what the heap holds at most while a run is begun and sweeps, for all programs: hardly less, since what
/// cannot fit is refused by it. It may be more, where it depends on values what is taken.
#[test]
fn the_forecast_of_memory_is_what_the_heap_holds() {
    /// What a run takes beside its arrays: nodes, equations in lists, sums by chunk; a walk without numbers leaves them out or is less exact.
    const BESIDE: usize = 1_600_000;
    /// So many bytes show what counts, and more data take longer to draw.
    const LARGE: usize = 5_000_000;
    const MUCH: usize = 1_000_000;
    const PATIENCE: Duration = Duration::from_millis(100);
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for program in programs() {
        for sparse in [false, true] {
            let began = Instant::now();
            let mut size = 8;
            let found = loop {
                let own = bytes(&program, sparse, size);
                // Matrices are inverted when data are drawn.
                let is_quick = size < 1024 && began.elapsed() < PATIENCE;
                match own {
                    Some(own) if own.forecast < LARGE && own.data < MUCH && is_quick => size *= 2,
                    found => break found,
                }
            };
            let Some(Bytes { forecast, planned, taken, .. }) = found else { continue };
            compared += 1;
            // Planning is seen, not forecast.
            let (expected, most) = (forecast.max(planned), taken.max(planned));
            if most > expected + expected / 10 + BESIDE || expected > 2 * most {
                let kind = if sparse { "sparse" } else { "dense" };
                wrong.push(format!(
                    "{}, {kind}, {size}: {expected} bytes forecast, {most} taken",
                    program.name
                ));
            }
        }
    }
    assert!(compared > 400, "only {compared} are compared");
    assert!(wrong.is_empty(), "{} of {compared}\n{}", wrong.len(), wrong.join("\n"));
}

/// A file of so many entries at distinct places of a matrix, in an order: a head, and then each by its row, column and value.
struct Read {
    name: &'static str,
    head: &'static str,
    line: fn(usize, usize, usize) -> String,
    is_shuffled: bool,
}

/// Reading takes at most so many times the bytes of the arrays, and what does not grow with them: blocks of text, labels, tables of both. A
/// list that is full is counted twice when it gets room for a quarter more, since the allocator of this test copies it; all of them
/// together, held once, are the arrays. What is held besides, such as the whole text or a second list of entries, goes beyond that.
#[test]
fn reading_takes_little_more_than_the_arrays() {
    const TIMES: f64 = 2.3;
    const BESIDE: usize = 1_500_000;
    const ROWS: usize = 3000;
    const COLUMNS: usize = 1000;
    const ENTRIES: usize = 300_000;
    const LONG: &str = "user,item,n\n";
    const MARKET: &str = "%%MatrixMarket matrix coordinate integer general\n3000 1000 300000\n";
    fn labels(row: usize, column: usize, value: usize) -> String {
        format!("user {row:05},item {column:05},{value}\n")
    }
    fn ids(row: usize, column: usize, value: usize) -> String {
        format!("{row},{column},{value}\n")
    }
    fn positions(row: usize, column: usize, value: usize) -> String {
        format!("{} {} {value}\n", row + 1, column + 1)
    }
    let files = [
        Read { name: "labels.csv", head: LONG, line: labels, is_shuffled: false },
        Read { name: "shuffled.csv", head: LONG, line: labels, is_shuffled: true },
        Read { name: "ids.csv", head: LONG, line: ids, is_shuffled: true },
        Read { name: "rows.mtx", head: MARKET, line: positions, is_shuffled: false },
        Read { name: "shuffled.mtx", head: MARKET, line: positions, is_shuffled: true },
        Read { name: "shuffled.tns", head: "", line: positions, is_shuffled: true },
    ];
    let program = "axis user[u]\naxis item[i]\ndata y[u, i] : count, absent = 0\nm ~ Gamma(1, rate = 1)\ny[u, i] ~ Poisson(m)\n";
    let (program, _) = cavi_syntax::parse(program);
    let model = cavi_model::resolve(&program).0.expect("a model");
    let directory = tempfile::tempdir().expect("a directory");
    let mut wrong = Vec::new();
    let mut measure = |name: &str, text: String, arrays: usize| {
        let path = directory.path().join(name);
        std::fs::write(&path, &text).expect("a file");
        drop(text);
        let source = Source::File { path, column: None };
        let data = vec![ArrayInput { name: "y".to_owned(), group: None, source }];
        let mut bound = None;
        let taken = allocation_counter::measure(|| {
            bound = Some(bind(&model, &Inputs { data, ..Inputs::default() }));
        });
        let binding = bound.expect("it was bound").expect("a binding");
        assert_eq!(
            binding.bound.arrays.iter().flatten().map(|own| own.bytes()).sum::<usize>(),
            arrays,
            "{name}"
        );
        let most = (TIMES * arrays as f64) as usize + BESIDE;
        if taken.bytes_max as usize > most {
            wrong.push(format!("{name}: {} bytes are held for arrays of {arrays}", taken.bytes_max));
        }
    };
    for Read { name, head, line, is_shuffled } in files {
        let mut text = head.to_owned();
        for number in 0..ENTRIES {
            // A prime that divides no number of entries visits each of them once.
            let entry = if is_shuffled { number * 7919 % ENTRIES } else { number };
            let cell = entry * (ROWS * COLUMNS / ENTRIES);
            text += &line(cell / COLUMNS, cell % COLUMNS, 1 + entry % 9);
        }
        measure(name, text, ENTRIES * (2 * size_of::<u32>() + size_of::<f64>()));
    }
    let mut wide = String::new();
    for row in 0..ENTRIES / COLUMNS {
        for column in 0..COLUMNS {
            write!(wide, "{}{}", 1 + (row + column) % 9, if column + 1 < COLUMNS { "," } else { "\n" })
                .expect("a text");
        }
    }
    measure("wide.csv", wide, ENTRIES * size_of::<f64>());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
