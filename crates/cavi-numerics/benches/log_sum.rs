//! The fused pass against code written by hand for two modes: `cargo bench -p cavi-numerics --bench log_sum`.
//!
//! 10^6 entries of a 10,000 x 5,000 matrix. Rates are entries times K per second on one core; the machine may be busy, so
//! variants take turns and the best of each is compared: read the ratios.

#![allow(missing_docs)]

#[allow(dead_code)] // another bench uses the rest
mod by_hand;

use std::borrow::Cow;
use std::time::Instant;

use cavi_numerics::kernels::log_sum::LEAST;
use cavi_numerics::kernels::{Factor, LogSum, Outputs, Pattern, Scratch, log_sum};
use cavi_numerics::{CacheAligned, Threads, instruction_set};

/// As that of the program.
#[global_allocator]
static ALLOCATOR: CacheAligned = CacheAligned;

const ROWS: usize = 10_000;
const COLUMNS: usize = 5_000;
const THIRD: usize = 300;
const ENTRIES: usize = 1_000_000;

fn main() {
    println!("{:?}", instruction_set());
    let mut state = 1_u64;
    let mut next = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % n
    };
    let mut entries: Vec<[u32; 3]> =
        (0..ENTRIES).map(|_| [next(ROWS) as u32, next(COLUMNS) as u32, next(THIRD) as u32]).collect();
    entries.sort_unstable();
    let columns: Vec<Vec<u32>> = (0..3).map(|mode| entries.iter().map(|e| e[mode]).collect()).collect();
    let weights: Vec<f64> = (0..ENTRIES).map(|_| 1.0 + next(5) as f64).collect();
    for length in [10, 20, 50, 100] {
        let stride = length;
        let mut factor = |rows: usize| -> Vec<f64> {
            (0..rows * stride).map(|_| (1 + next(1000)) as f64 / 1000.0).collect()
        };
        let factors = [factor(ROWS), factor(COLUMNS), factor(THIRD)];
        bench(length, stride, &columns, &weights, &factors);
    }
}

fn bench(length: usize, stride: usize, columns: &[Vec<u32>], weights: &[f64], factors: &[Vec<f64>; 3]) {
    let modes =
        |m: usize| -> Vec<Cow<[u32]>> { columns[..m].iter().map(|c| Cow::Borrowed(&c[..])).collect() };
    let two = Pattern::new(modes(2));
    let three = Pattern::new(modes(3));
    let grid = Pattern::on_grid(modes(2), stride);
    let width = 50_000 / stride as u32;
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|e| columns[1][*e] / width);
    let permuted = |column: &[u32]| order.iter().map(|e| column[*e]).collect::<Vec<_>>();
    let striped_columns = [permuted(&columns[0]), permuted(&columns[1])];
    let striped_weights: Vec<f64> = order.iter().map(|e| weights[*e]).collect();
    let mut accumulators: Vec<Vec<f64>> = factors.iter().map(|f| vec![0.0; f.len()]).collect();
    let mut scratch = Scratch::default();
    let (one, two_threads) = (Threads::new(1), Threads::new(2));
    let mut best = [f64::INFINITY; 9];
    for _ in 0..12 {
        let mut lap = |slot: usize, run: &mut dyn FnMut() -> f64| {
            let start = Instant::now();
            std::hint::black_box(run());
            best[slot] = best[slot].min(start.elapsed().as_secs_f64());
        };
        let mut kernel = |pattern: &Pattern, weights: &[f64], threads: &Threads, with_targets: bool| {
            let views: Vec<Factor> = factors[..pattern.modes()]
                .iter()
                .map(|f| Factor { values: f.as_slice().into(), stride })
                .collect();
            let input = LogSum {
                pattern,
                factors: &views,
                length,
                weights,
                addends: None,
                offsets: None,
                ratios: None,
                least: LEAST,
                own: None,
            };
            let wanted = if with_targets { pattern.modes() } else { 0 };
            let outputs = Outputs {
                accumulators: accumulators[..wanted].iter_mut().map(|a| Some(&mut a[..])).collect(),
                total: true,
                ..Outputs::default()
            };
            log_sum(&input, outputs, &mut scratch, threads).total
        };
        lap(2, &mut || kernel(&two, weights, &one, true));
        lap(3, &mut || kernel(&grid, weights, &one, true));
        lap(4, &mut || kernel(&two, weights, &two_threads, true));
        lap(5, &mut || kernel(&grid, weights, &two_threads, true));
        lap(6, &mut || kernel(&two, weights, &one, false));
        lap(7, &mut || kernel(&three, weights, &one, true));
        let [ga, gb, gc] = &mut accumulators[..] else { unreachable!() };
        let mut by_hand = |rows: &[u32], columns: &[u32], weights: &[f64]| {
            by_hand::two(by_hand::Two {
                length,
                rows,
                columns,
                weights,
                a: &factors[0],
                b: &factors[1],
                first_row: 0,
                ga: Some(&mut ga[..]),
                gb: Some(&mut gb[..]),
                background: None,
                total: true,
            })
        };
        lap(0, &mut || by_hand(&columns[0], &columns[1], weights));
        lap(1, &mut || by_hand(&striped_columns[0], &striped_columns[1], &striped_weights));
        lap(8, &mut || {
            by_hand::three(by_hand::Three {
                length,
                columns: [0, 1, 2].map(|mode| &columns[mode][..]),
                weights,
                factors: [0, 1, 2].map(|mode| &factors[mode][..]),
                first_row: 0,
                accumulators: [Some(&mut ga[..]), Some(&mut gb[..]), Some(&mut gc[..])],
                total: true,
            })
        });
    }
    let names = [
        "by hand",
        "by hand, strips",
        "kernel",
        "kernel, grid",
        "kernel, two threads",
        "kernel, grid, two threads",
        "kernel, total alone",
        "kernel, three modes",
        "by hand, three modes",
    ];
    println!("K = {length}");
    for (slot, name) in names.iter().enumerate() {
        let rate = (ENTRIES * length) as f64 / best[slot] / 1e9;
        let ratio = best[if slot >= 7 { 8 } else { slot % 2 }] / best[slot];
        println!("  {name:30} {rate:6.2} G/s, {ratio:5.2} of by hand");
    }
}
