//! Seconds a sweep, against code written by hand for one model each: `cargo bench -p cavi-tests --bench sweep`.
//!
//! `--quick` takes small data; `--only NAME` one program (`lda`, `gfa`, ..., or `rates`); `--topics K` one number of topics.
//! Variants take turns in one run, and medians are compared: on a busy machine read the ratios. A sweep is timed with the
//! bound after it, since the pass that gives the bound serves the next sweep. `README.md` has what was measured.

#[path = "../../crates/cavi-numerics/benches/by_hand.rs"]
mod by_hand;
mod gfa;
mod hand;
mod workload;

use std::time::Instant;

use cavi_executor::{Executor, Parameters, start};
use cavi_numerics::instruction_set;
use cavi_tests::support::Program;
use hand::{Entries, Hand, Start, striped};
use workload::{Kind, Sparse, bind};

/// What was asked for.
struct Options {
    quick: bool,
    only: Option<String>,
    topics: Option<usize>,
}

impl Options {
    /// From the command line. Run by `cargo test`, which does not say `--bench`, it is quick.
    fn read() -> Options {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let value = |name: &str| {
            let place = arguments.iter().position(|argument| argument == name)?;
            arguments.get(place + 1).cloned()
        };
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        Options {
            quick: has("--quick") || !has("--bench"),
            only: value("--only"),
            topics: value("--topics").map(|topics| topics.parse().expect("a number of topics")),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == name)
    }
}

fn main() {
    let options = Options::read();
    println!(
        "instruction set {:?}, {} data",
        instruction_set(),
        if options.quick { "small" } else { "full" }
    );
    if !by_hand::is_available() {
        println!("the kernels written by hand need AVX2 and FMA: nothing to compare with");
        return;
    }
    if options.wants("rates") {
        rates(options.quick);
    }
    println!();
    println!(
        "`Cavi` is a sweep and the bound after it; `alone` a sweep without the bound, as many passes over the entries."
    );
    println!();
    println!(
        "| program | K | threads | by hand, s | Cavi, s | by hand / Cavi | alone, s | by hand / alone | pass by hand, G/s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for kind in Kind::ALL.into_iter().filter(|kind| options.wants(kind.name())) {
        let three = kind == Kind::Tensor;
        let sizes: &[usize] = match (options.quick, three) {
            (false, false) => &[20_000, 18_000],
            (false, true) => &[2_000, 3_000, 300],
            (true, false) => &[400, 300],
            (true, true) => &[50, 40, 30],
        };
        let data = Sparse::draw(sizes, if options.quick { 10_000 } else { 3_000_000 }, true);
        for topics in [20, 100].into_iter().filter(|topics| options.topics.is_none_or(|own| own == *topics)) {
            compare(kind, sizes, topics, &data, if options.quick { 5 } else { 9 });
        }
    }
    if options.wants("gfa") {
        gfa::compare(options.quick);
    }
}

/// The kernels written by hand on the entries that the prototype was measured on: 10^6, uniform, 10,000 x 5,000 (x 300).
fn rates(quick: bool) {
    let scale = if quick { 100 } else { 1 };
    let data = Sparse::draw(&[10_000 / scale, 5_000, 300], 1_000_000 / scale, false);
    println!();
    println!("| kernel by hand, one thread | K | G/s | prototype, G/s | of it |");
    println!("| --- | --- | --- | --- | --- |");
    for (topics, rows) in
        [(10, [Some(1.0), Some(1.1), Some(0.64)]), (20, [None; 3]), (100, [Some(1.8), Some(2.5), Some(0.88)])]
    {
        let strips = striped(&data, topics);
        let mut factors: Vec<Vec<f64>> = Vec::new();
        let mut uniform = workload::Uniform::fixed();
        for size in [10_000 / scale, 5_000, 300] {
            factors.push((0..size * topics).map(|_| 0.5 + uniform.draw()).collect());
        }
        let mut accumulators: Vec<Vec<f64>> = factors.iter().map(|factor| vec![0.0; factor.len()]).collect();
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..if quick { 3 } else { 15 } {
            for (variant, times) in times.iter_mut().enumerate() {
                let data = if variant == 1 { &strips } else { &data };
                let [ga, gb, gc] = &mut accumulators[..] else { unreachable!("three") };
                let columns = [0, 1, 2].map(|mode| &data.columns[mode][..]);
                let start = Instant::now();
                let total = if variant == 2 {
                    by_hand::three(by_hand::Three {
                        length: topics,
                        columns,
                        weights: &data.values,
                        factors: [&factors[0], &factors[1], &factors[2]],
                        first_row: 0,
                        accumulators: [Some(ga), Some(gb), Some(gc)],
                        total: true,
                    })
                } else {
                    by_hand::two(by_hand::Two {
                        length: topics,
                        rows: columns[0],
                        columns: columns[1],
                        weights: &data.values,
                        a: &factors[0],
                        b: &factors[1],
                        first_row: 0,
                        ga: Some(ga),
                        gb: Some(gb),
                        background: None,
                        total: true,
                    })
                };
                std::hint::black_box(total);
                times.push(start.elapsed().as_secs_f64());
            }
        }
        let names = ["two modes", "two modes, strips", "three modes"];
        for ((name, row), times) in names.iter().zip(rows).zip(&mut times) {
            let rate = (data.values.len() * topics) as f64 / median(times) / 1e9;
            let (row, of) = match row {
                Some(row) => (format!("{row}"), format!("{:.0} %", 100.0 * rate / row)),
                None => ("-".to_owned(), "-".to_owned()),
            };
            println!("| {name} | {topics} | {rate:.2} | {row} | {of} |");
        }
    }
}

/// The middle of the times.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Times one program with one and two threads, and checks that both have computed the same.
fn compare(kind: Kind, sizes: &[usize], topics: usize, data: &Sparse, rounds: usize) {
    let program = kind.program();
    let bound = bind(&program, sizes, topics, data);
    let parameters = start(&program.equations, &bound, 1);
    let begin = beginning(kind, &program, &parameters, topics);
    for threads in [1, 2] {
        let schedule = program.schedule();
        let mut executor = Executor::new(&program.equations, &bound, parameters.clone(), threads)
            .expect("the programs of the bench have plans");
        let mut hand = faster(kind, topics, data, &begin, threads);
        let (mut hand_times, mut cavi_times) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let start = Instant::now();
            hand.sweep();
            let hand_time = start.elapsed().as_secs_f64();
            let start = Instant::now();
            executor.sweep(&schedule).expect("the data are proper");
            std::hint::black_box(executor.elbo());
            let cavi_time = start.elapsed().as_secs_f64();
            // The first sweep of the executor has a pass of its own.
            if round > 0 {
                hand_times.push(hand_time);
                cavi_times.push(cavi_time);
            }
        }
        agree(kind, &program, executor.parameters(), &hand, topics);
        let mut alone_times = Vec::new();
        for round in 0..=rounds {
            let start = Instant::now();
            hand.sweep();
            let hand_time = start.elapsed().as_secs_f64();
            let start = Instant::now();
            executor.sweep(&schedule).expect("the data are proper");
            if round > 0 {
                hand_times.push(hand_time);
                alone_times.push(start.elapsed().as_secs_f64());
            }
        }
        let mut passes: Vec<f64> = (0..3)
            .map(|_| {
                let start = Instant::now();
                std::hint::black_box(hand.whole_pass());
                start.elapsed().as_secs_f64()
            })
            .collect();
        let rate = (data.values.len() * topics) as f64 / median(&mut passes) / 1e9;
        let hand = median(&mut hand_times);
        let (cavi, alone) = (median(&mut cavi_times), median(&mut alone_times));
        let (ratio, of_alone) = (100.0 * hand / cavi, 100.0 * hand / alone);
        let name = kind.name();
        println!(
            "| {name} | {topics} | {threads} | {hand:.4} | {cavi:.4} | {ratio:.0} % | {alone:.4} | {of_alone:.0} % | {rate:.2} |"
        );
    }
}

/// The entries in order of the rows or in strips, whichever this machine passes faster.
fn faster(kind: Kind, topics: usize, data: &Sparse, begin: &Start, threads: usize) -> Hand {
    let timed = |strips: Option<usize>| {
        let mut hand = Hand::new(kind, topics, begin, Entries::new(data, threads, strips), threads);
        let mut times: Vec<f64> = (0..3)
            .map(|_| {
                let start = Instant::now();
                hand.whole_pass();
                start.elapsed().as_secs_f64()
            })
            .collect();
        (median(&mut times), strips)
    };
    let (plain, striped) = (timed(None), timed(Some(topics)));
    let strips = if plain.0 <= striped.0 { plain.1 } else { striped.1 };
    Hand::new(kind, topics, begin, Entries::new(data, threads, strips), threads)
}

/// The columns of the block of a variable.
fn block<'a>(program: &Program, parameters: &'a Parameters, name: &str) -> &'a [Vec<f64>] {
    let symbols = &program.equations.symbols;
    let place = program
        .equations
        .blocks
        .iter()
        .position(|block| symbols.array(block.members[0]).name == name)
        .expect("a variable of the program");
    &parameters.blocks[place]
}

/// The two or three factors of a program, in the order of the modes, and whether topics come before the mode.
fn factors(kind: Kind) -> &'static [(&'static str, bool)] {
    match kind {
        Kind::Lda => &[("theta", false), ("beta", true)],
        Kind::Tensor => &[("w", false), ("h", false), ("c", false)],
        Kind::Nmf | Kind::NmfGroup | Kind::Background | Kind::Exposure => &[("w", false), ("h", true)],
    }
}

/// Topics by rows to rows by topics.
fn transposed(values: &[f64], topics: usize) -> Vec<f64> {
    let rows = values.len() / topics;
    (0..values.len()).map(|place| values[place % topics * rows + place / topics]).collect()
}

/// The start of the executor in the layout of the code by hand.
fn beginning(kind: Kind, program: &Program, parameters: &Parameters, topics: usize) -> Start {
    let factors = factors(kind)
        .iter()
        .map(|(name, topics_first)| {
            let columns = block(program, parameters, name);
            let arranged = |column: &Vec<f64>| {
                if *topics_first { transposed(column, topics) } else { column.clone() }
            };
            (arranged(&columns[0]), (kind != Kind::Lda).then(|| arranged(&columns[1])))
        })
        .collect();
    let strength = (kind == Kind::Background).then(|| {
        let columns = block(program, parameters, "s");
        (columns[0].clone(), columns[1].clone())
    });
    Start { factors, strength }
}

/// After as many sweeps the code by hand must be where the executor is, or the comparison means nothing.
fn agree(kind: Kind, program: &Program, parameters: &Parameters, hand: &Hand, topics: usize) {
    let mut pairs: Vec<(Vec<f64>, &[f64])> = Vec::new();
    for (mode, (name, topics_first)) in factors(kind).iter().enumerate() {
        let column = &block(program, parameters, name)[0];
        let own = if *topics_first { transposed(column, topics) } else { column.clone() };
        pairs.push((own, &hand.factors[mode].shape));
    }
    if let Some(strengths) = hand.strengths() {
        pairs.push((block(program, parameters, "s")[0].clone(), strengths));
    }
    for (own, other) in pairs {
        for (a, b) in own.iter().zip(other) {
            assert!(
                (a - b).abs() <= 1e-6 * a.abs().max(b.abs()),
                "{}: {a} by Cavi, {b} by hand",
                kind.name()
            );
        }
    }
}
