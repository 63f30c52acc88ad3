//! The passes of programs whose addends move one at a time, against code by hand: `cargo bench -p cavi-numerics --bench passes`.
//!
//! 3 x 10^6 entries of 20,000 x 18,000, columns skewed, one thread, with and without an additive background. Variants take
//! turns and the best of each is compared; by hand the entries are in order of rows or in strips of columns, whichever is
//! faster.

#![allow(missing_docs)]

#[allow(dead_code)] // another bench uses the rest
mod by_hand;

use std::borrow::Cow;
use std::time::Instant;

use cavi_numerics::kernels::log_sum::{Known, LEAST, ratios as ratios_of};
use cavi_numerics::kernels::{Factor, LogSum, Outputs, Pattern, Scratch, log_sum};
use cavi_numerics::{CacheAligned, Threads, instruction_set};

/// As that of the program.
#[global_allocator]
static ALLOCATOR: CacheAligned = CacheAligned;

const ROWS: usize = 20_000;
const COLUMNS: usize = 18_000;
const ENTRIES: usize = 3_000_000;
const STRIP_BYTES: usize = 400_000;

/// What a pass takes beside the total.
#[derive(Clone, Copy, PartialEq)]
enum Take {
    First,
    Second,
    Both,
    Strength,
    /// The first mode's counts from sums that an earlier pass took.
    FirstFromSums,
}

fn main() {
    println!("{:?}", instruction_set());
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut entries: Vec<[u32; 2]> = (0..ENTRIES)
        .map(|_| [(next() * ROWS as f64) as u32, (next().powi(2) * COLUMNS as f64) as u32])
        .collect();
    entries.sort_unstable();
    let columns: [Vec<u32>; 2] = [0, 1].map(|mode| entries.iter().map(|entry| entry[mode]).collect());
    let weights: Vec<f64> = (0..ENTRIES).map(|_| 1.0 + (next() * 3.0).floor()).collect();
    println!("| K | pass | background | by hand, s | kernel, s | by hand / kernel | single precision, s |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for length in [20, 100] {
        let factors =
            [ROWS, COLUMNS].map(|rows| (0..rows * length).map(|_| 0.5 + next()).collect::<Vec<f64>>());
        for (name, take, background) in [
            ("first", Take::First, false),
            ("second", Take::Second, false),
            ("both", Take::Both, false),
            ("first", Take::First, true),
            ("second", Take::Second, true),
            ("strength", Take::Strength, true),
            ("first, sums known", Take::FirstFromSums, true),
        ] {
            let [by_hand, kernel, single] = compare(length, take, background, &columns, &weights, &factors);
            let ratio = 100.0 * by_hand / kernel;
            println!(
                "| {length} | {name} | {background} | {by_hand:.4} | {kernel:.4} | {ratio:.0} % | {single:.4} |"
            );
        }
    }
}

fn sums_of<'a>(sums: &'a [f64], weights: &'a [f64], addends: &'a [f64]) -> Known<'a> {
    Known { sums, weights, addends: Some(addends), offsets: None, least: LEAST }
}

/// The best seconds by hand, of the kernel, and of the kernel with factors in single precision.
fn compare(
    length: usize,
    take: Take,
    with_background: bool,
    columns: &[Vec<u32>; 2],
    weights: &[f64],
    factors: &[Vec<f64>; 2],
) -> [f64; 3] {
    let row_length = length.next_multiple_of(8);
    let pattern =
        Pattern::on_grid(columns.iter().map(|column| Cow::Borrowed(&column[..])).collect(), row_length);
    // As the executor does.
    let in_strips = pattern.in_strips();
    let own_columns = in_strips.as_ref().map(|(own, _)| [0, 1].map(|mode| own.indices(mode).into_owned()));
    let own_columns = own_columns.unwrap_or_else(|| columns.clone());
    let own_weights: Vec<f64> = match &in_strips {
        Some((_, order)) => order.iter().map(|entry| weights[*entry as usize]).collect(),
        None => weights.to_vec(),
    };
    let pattern = in_strips.map_or(pattern, |(pattern, _)| pattern);
    let width = (STRIP_BYTES / (8 * length)) as u32;
    let mut order: Vec<usize> = (0..ENTRIES).collect();
    order.sort_by_key(|entry| columns[1][*entry] / width);
    let permuted = |column: &[u32]| order.iter().map(|entry| column[*entry]).collect::<Vec<_>>();
    let strips = [permuted(&columns[0]), permuted(&columns[1])];
    let strip_weights: Vec<f64> = order.iter().map(|entry| weights[*entry]).collect();
    let [strength, profile] = [vec![0.3; ROWS], vec![0.1; COLUMNS]];
    let mut counts = vec![0.0; ROWS];
    let [mut first, mut second] = [ROWS, COLUMNS].map(|rows| vec![0.0; rows * length]);
    let wants = |own: Take| match take {
        Take::Both => own != Take::Strength,
        Take::FirstFromSums => own == Take::First,
        _ => take == own,
    };
    let mut sums = vec![1.0; ENTRIES];
    let mut scratch = Scratch::default();
    let mut addends = vec![0.0; ENTRIES];
    let mut ratios = vec![0.0; ENTRIES];
    let threads = Threads::new(1);
    let singles = [0, 1].map(|mode| factors[mode].iter().map(|own| *own as f32).collect::<Vec<f32>>());
    // As the executor does: rows that are gathered are whole cache lines.
    let stride = length.next_multiple_of(8);
    let mut padded = vec![0.0; COLUMNS * stride];
    for (padded, own) in padded.chunks_exact_mut(stride).zip(factors[1].chunks_exact(length)) {
        padded[..length].copy_from_slice(own);
    }
    let mut of_columns = vec![0.0; COLUMNS * stride];
    let mut best = [f64::INFINITY; 4];
    for _ in 0..7 {
        for (slot, best) in best.iter_mut().enumerate() {
            let begin = Instant::now();
            if slot >= 2 {
                let single = slot == 3;
                if with_background {
                    for (entry, addend) in addends.iter_mut().enumerate() {
                        *addend = strength[own_columns[0][entry] as usize]
                            * profile[own_columns[1][entry] as usize];
                    }
                }
                let views = [0, 1].map(|mode| match (single, mode) {
                    (true, _) => Factor { values: singles[mode].as_slice().into(), stride: length },
                    (false, 0) => Factor { values: factors[0].as_slice().into(), stride: length },
                    (false, _) => Factor { values: padded.as_slice().into(), stride },
                });
                let known = take == Take::FirstFromSums;
                if known {
                    ratios_of(&sums_of(&sums, &own_weights, &addends), false, &mut ratios, &threads);
                }
                let input = LogSum {
                    pattern: &pattern,
                    factors: &views,
                    length,
                    weights: &own_weights,
                    addends: with_background.then_some(&addends[..]),
                    offsets: None,
                    ratios: known.then_some(&ratios[..]),
                    least: LEAST,
                    own: None,
                };
                let outputs = Outputs {
                    accumulators: vec![
                        wants(Take::First).then_some(&mut first[..]),
                        wants(Take::Second).then_some(if single {
                            &mut second[..]
                        } else {
                            &mut of_columns[..]
                        }),
                    ]
                    .into(),
                    ratios: None,
                    sums: (take == Take::Strength).then_some(&mut sums[..]),
                    total: false,
                };
                std::hint::black_box(log_sum(&input, outputs, &mut scratch, &threads).total);
                if take == Take::Strength {
                    ratios_of(&sums_of(&sums, &own_weights, &addends), true, &mut ratios, &threads);
                    for (entry, ratio) in ratios.iter().enumerate() {
                        counts[own_columns[0][entry] as usize] += ratio * addends[entry];
                    }
                }
            } else {
                let (columns, weights) =
                    if slot == 0 { (columns, weights) } else { (&strips, &strip_weights[..]) };
                std::hint::black_box(by_hand::two(by_hand::Two {
                    length,
                    rows: &columns[0],
                    columns: &columns[1],
                    weights,
                    a: &factors[0],
                    b: &factors[1],
                    first_row: 0,
                    ga: wants(Take::First).then_some(&mut first[..]),
                    gb: wants(Take::Second).then_some(&mut second[..]),
                    background: with_background.then_some(by_hand::Background {
                        strength: &strength,
                        profile: &profile,
                        counts: (take == Take::Strength).then_some(&mut counts[..]),
                    }),
                    total: take == Take::Strength,
                }));
            }
            *best = best.min(begin.elapsed().as_secs_f64());
        }
    }
    [best[0].min(best[1]), best[2], best[3]]
}
