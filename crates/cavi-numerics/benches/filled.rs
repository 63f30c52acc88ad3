//! Entries that fill most of a grid, by matrix products and one by one: `cargo bench -p cavi-numerics --bench filled`.
//!
//! 2,000 x 500, from a few entries of each row to all. Both ways take turns and the best of each is compared; the fill from which
//! products are the quicker way is what `Pattern::filled` asks for.

#![allow(missing_docs)]

use std::borrow::Cow;
use std::time::Instant;

use cavi_numerics::kernels::log_sum::LEAST;
use cavi_numerics::kernels::{Factor, LogSum, Outputs, Pattern, Scratch, log_sum};
use cavi_numerics::{Threads, instruction_set};

const ROWS: usize = 2_000;
const COLUMNS: usize = 500;

fn main() {
    println!("{:?}", instruction_set());
    println!("| K | fill | total | entry by entry, ms | products, ms | ratio |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for length in [2, 5, 20, 50, 100] {
        for fill in [0.1, 0.2, 0.3, 0.5, 0.9, 1.0] {
            for total in [false, true] {
                let [entries, products] = compare(length, fill, total);
                let ratio = entries / products;
                println!("| {length} | {fill} | {total} | {entries:.2} | {products:.2} | {ratio:.2} |");
            }
        }
    }
}

/// The best milliseconds of either way.
fn compare(length: usize, fill: f64, total: bool) -> [f64; 2] {
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let places = (0..ROWS as u32).flat_map(|row| (0..COLUMNS as u32).map(move |column| (row, column)));
    let (rows, columns): (Vec<u32>, Vec<u32>) = places.filter(|_| next() < fill).unzip();
    let weights: Vec<f64> = rows.iter().map(|_| 1.0 + (next() * 3.0).floor()).collect();
    let factors = [ROWS, COLUMNS].map(|rows| (0..rows * length).map(|_| 0.5 + next()).collect::<Vec<f64>>());
    let own = || vec![Cow::Borrowed(&rows[..]), Cow::Borrowed(&columns[..])];
    let patterns =
        [Pattern::on_grid(own(), length), Pattern::filled_at_least(0.0, own()).expect("ascending entries")];
    let mut accumulator = vec![0.0; ROWS * length];
    let (mut scratch, threads) = (Scratch::default(), Threads::one());
    let mut best = [f64::INFINITY; 2];
    for _ in 0..9 {
        for (pattern, best) in patterns.iter().zip(&mut best) {
            let begin = Instant::now();
            let input = LogSum {
                pattern,
                factors: &[0, 1]
                    .map(|mode| Factor { values: factors[mode].as_slice().into(), stride: length }),
                length,
                weights: &weights,
                addends: None,
                offsets: None,
                ratios: None,
                least: LEAST,
                own: None,
            };
            let accumulators = vec![Some(&mut accumulator[..]), None];
            let outputs = Outputs { accumulators: accumulators.into(), total, ..Outputs::default() };
            std::hint::black_box(log_sum(&input, outputs, &mut scratch, &threads).total);
            *best = best.min(1e3 * begin.elapsed().as_secs_f64());
        }
    }
    best
}
