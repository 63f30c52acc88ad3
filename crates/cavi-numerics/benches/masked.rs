//! Sums over the places where a mask is 1: lists of the fewer kind against a product with the mask, one thread.
//!
//! `cargo bench -p cavi-numerics --bench masked`. Behind the choice in `crates/cavi-executor/src/plan/masked.rs`.

#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use cavi_numerics::Threads;
use cavi_numerics::kernels::contract::{Operand, Output, Step, contract};
use cavi_numerics::kernels::masked::{Mask, masked_sums};

/// The median seconds of five calls.
fn median(mut run: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..5)
        .map(|_| {
            let since = Instant::now();
            run();
            since.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[2]
}

fn main() {
    let threads = Threads::one();
    println!("rows x columns   width   zeros    product, ms   lists, ms   ratio   ns a listed value");
    for [rows, columns] in [[1700, 2000], [300, 20_000]] {
        for zeros in [2, 5, 20, 50] {
            let places = 0..(rows * columns) as u64;
            let values: Vec<f64> = places
                .map(|place| f64::from((place.wrapping_mul(2_654_435_761) >> 7) & 1023 >= 1024 * zeros / 100))
                .collect();
            let mask = Mask::new(&values, [rows, columns], false);
            for width in [1, 4, 8, 15, 32, 55, 120, 250] {
                let matrix: Vec<f64> = (0..columns * width).map(|place| (place % 101) as f64).collect();
                let mut out = vec![0.0; rows * width];
                let of_lists =
                    median(|| masked_sums(&mask, 1.0, (black_box(&matrix), false), &mut out, &threads));
                let stride = |p: usize, s: usize, k: usize| [p, s, k].map(Step::Stride).to_vec();
                let product = median(|| {
                    let operands = [
                        Operand { values: black_box(&values), steps: stride(columns, 1, 0).into() },
                        Operand { values: &matrix, steps: stride(0, width, 1).into() },
                    ];
                    let output = Output { values: &mut out, steps: stride(width, 0, 1).into() };
                    contract(&[rows, columns, width], 1.0, &operands, output, &threads);
                });
                println!(
                    "{rows:>5} x {columns:<6} {width:>7} {zeros:>6} % {:>12.2} {:>11.2} {:>7.2} {:>12.4}",
                    product * 1e3,
                    of_lists * 1e3,
                    product / of_lists,
                    of_lists * 1e9 / (mask.listed() * width) as f64,
                );
            }
        }
    }
}
