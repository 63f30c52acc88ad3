//! The time that units of work take, from which `cavi plan` predicts seconds: `cargo bench -p cavi-numerics --bench
//! rates`.
//!
//! One thread; the least of many turns. Contractions are counted as the plan counts them (`kernels::contract::work`), and the
//! seconds of the whole are printed with the counts: the constants in `crates/cavi-executor/src/plan/rates.rs` add up to
//! them, those of the other steps of a plan are held against `tests/bench/predicted.py`.

#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use cavi_numerics::kernels::contract::{Letters, Operand, Output, Step, Work, contract, work};
use cavi_numerics::{Threads, instruction_set};

/// The least seconds of a call, of about a fifth of a second of calls.
fn least(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 0.2 {
        let since = Instant::now();
        run();
        best = best.min(since.elapsed().as_secs_f64());
    }
    best
}

/// A contraction of letters by their sizes; an array is the letters it has, the last one next to each other.
fn contraction(name: &str, sizes: &[(char, usize)], operands: &[&str], output: &str, table: Option<char>) {
    let size = |letter: char| sizes.iter().find(|own| own.0 == letter).map_or(1, |own| own.1);
    let steps = |array: &str| -> Vec<usize> {
        let stride = |letter: char| match array.split_once(letter) {
            Some((_, inner)) => inner.chars().map(size).product(),
            None => 0,
        };
        sizes.iter().map(|(letter, _)| stride(*letter)).collect()
    };
    let rows: Vec<u32> = table.map_or(Vec::new(), |letter| {
        let size = size(letter) as u64;
        (0..size).map(|place| (place * 7919 % size) as u32).collect()
    });
    let reached = |array: &str| -> Vec<Step> {
        let step = |((letter, _), stride): (&(char, usize), usize)| match Some(*letter) == table && stride > 0
        {
            true => Step::Table { table: &rows, scale: stride },
            false => Step::Stride(stride),
        };
        sizes.iter().zip(steps(array)).map(step).collect()
    };
    let plain = |array: &str| steps(array).into_iter().map(Step::Stride).collect::<Vec<Step>>();
    let length = |array: &str| array.chars().map(size).product::<usize>();
    let values: Vec<Vec<f64>> = operands.iter().map(|array| vec![1.5; length(array)]).collect();
    let mut out = vec![0.0; length(output)];
    // The first operand alone is read through the table.
    let own = |place: usize| if place == 0 { reached(operands[place]) } else { plain(operands[place]) };
    let arrays: Vec<Operand> = values
        .iter()
        .enumerate()
        .map(|(place, values)| Operand { values, steps: own(place).into() })
        .collect();
    let counted: Vec<(usize, Letters<Step>)> =
        (0..operands.len()).map(|place| (place, own(place).into())).collect();
    let sizes: Vec<usize> = sizes.iter().map(|own| own.1).collect();
    let Work { calls, packed, narrow, copied, rows, values, gathered, looked_up, .. } =
        work(&sizes, &counted, plain(output).into());
    let seconds = least(|| {
        let output = Output { values: &mut out, steps: plain(output).into() };
        contract(&sizes, 1.0, &arrays, output, &Threads::one());
        black_box(&mut out);
    });
    println!(
        "| {name} | {:.3} | {calls:.0} | {packed:.0} | {narrow:.0} | {copied:.0} | {rows:.0} | {values:.0} | {gathered:.0} | {looked_up:.0} |",
        1e6 * seconds
    );
}

fn main() {
    println!("{:?}", instruction_set());
    println!(
        "| contraction | us | calls | packed | narrow | copied | rows | values | gathered | looked up |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    contraction("nothing to speak of", &[('i', 2), ('j', 2)], &["ij", "j"], "i", None);
    for n in [64, 256, 700] {
        contraction("product", &[('i', n), ('j', n), ('k', n)], &["ik", "kj"], "ij", None);
    }
    for (i, j, k) in
        [(5000, 8, 40), (5000, 20, 20), (40, 8, 5000), (8, 8, 5000), (400, 293, 10), (20, 20, 10_000)]
    {
        contraction("narrow, rows", &[('i', i), ('j', j), ('k', k)], &["ik", "kj"], "ij", None);
        contraction("narrow, columns", &[('i', i), ('j', j), ('k', k)], &["ki", "kj"], "ij", None);
    }
    for k in [4, 10, 50, 1000] {
        contraction("sums", &[('i', 20_000), ('k', k)], &["ik", "ik"], "i", None);
        contraction("multiples", &[('i', 20_000), ('k', k)], &["ik", "i"], "ik", None);
        contraction("rows looked up", &[('i', 20_000), ('k', k)], &["ik", "i"], "ik", Some('i'));
    }
    contraction("transposed", &[('i', 10_000), ('j', 20)], &["ij"], "ji", None);
    contraction("transposed product", &[('i', 10_000), ('j', 20)], &["ij", "i"], "ji", None);
    contraction("looked up", &[('i', 100_000)], &["i", "i"], "i", Some('i'));
    contraction("looked up", &[('i', 2_000_000)], &["i", "i"], "i", Some('i'));
    contraction("squares of matrices", &[('n', 5000), ('i', 8), ('j', 8)], &["ni", "nj"], "nij", None);
}
