//! Contractions of common shapes: `cargo bench -p cavi-numerics --bench contract`. The machine may be busy: best of 15.

#![allow(missing_docs)]

use std::time::Instant;

use cavi_numerics::kernels::{Operand, Output, Step, contract};
use cavi_numerics::{Threads, instruction_set};

fn main() {
    println!("{:?}; GFLOP/s with one thread and two", instruction_set());
    let values = |n: usize| -> Vec<f64> { (0..n).map(|i| (i * 7 % 1000) as f64 / 1000.0).collect() };
    for (n, d, k) in [(2000, 1000, 15), (2000, 1000, 50), (20_000, 500, 15)] {
        let (x, w, z) = (values(n * d), values(d * k), values(n * k));
        let sizes = [n, d, k];
        run("X W", &sizes, 1.0, &[(&x, [d, 1, 0]), (&w, [0, k, 1])], [k, 0, 1]);
        run("X' Z", &sizes, 1.0, &[(&x, [d, 1, 0]), (&z, [k, 0, 1])], [0, k, 1]);
    }
    let (n, k) = (100_000, 15);
    let (z, y) = (values(n * k), values(n));
    run("Gram Z' Z", &[n, k, k], 1.0, &[(&z, [k, 1, 0]), (&z, [k, 0, 1])], [0, k, 1]);
    let weighted: &[(&[f64], _)] = &[(&z, [k, 1, 0]), (&z, [k, 0, 1]), (&y, [1, 0, 0])];
    run("weighted Gram", &[n, k, k], 1.5, weighted, [0, k, 1]);
    run("X' y", &[n, k, 1], 1.0, &[(&z, [k, 1, 0]), (&y, [1, 0, 0])], [0, 1, 0]);
    run("X b", &[n, k, 1], 1.0, &[(&z, [k, 1, 0]), (&y, [0, 1, 0])], [1, 0, 0]);
    let (n, j, k) = (500, 400, 15);
    let (mask, w) = (values(n * j), values(j * k));
    let masked: &[(&[f64], _)] = &[(&w, [0, k, 1, 0]), (&w, [0, k, 0, 1]), (&mask, [j, 1, 0, 0])];
    run("masked Gram of each row", &[n, j, k, k], 1.5, masked, [k * k, 0, k, 1]);

    let (entries, rows, columns) = (1_000_000, 10_000, 5_000);
    let i: Vec<u32> = (0..entries).map(|e| (e * rows / entries) as u32).collect();
    let j: Vec<u32> =
        (0..entries).map(|e: usize| (e.wrapping_mul(2_654_435_761) >> 7) as u32 % columns).collect();
    for k in [20, 100] {
        let (a, b, r) = (values(rows * k), values(columns as usize * k), values(entries));
        let at = |table| [Step::Table { table, scale: k }, Step::Stride(1)];
        let each = [Step::Stride(1), Step::Stride(0)];
        let operands: [(&[f64], _); 2] = [(&a, at(&i)), (&b, at(&j))];
        run_steps("gather dot", &[entries, k], 1.0, &operands, each);
        let operands: [(&[f64], _); 2] = [(&r, each), (&b, at(&j))];
        run_steps("gather, add to sorted rows", &[entries, k], 1.0, &operands, at(&i));
        let operands: [(&[f64], _); 2] = [(&r, each), (&a, at(&i))];
        run_steps("scatter to columns", &[entries, k], 1.0, &operands, at(&j));
    }
}

fn run<const L: usize>(
    name: &str,
    sizes: &[usize; L],
    products: f64,
    operands: &[(&[f64], [usize; L])],
    out: [usize; L],
) {
    let steps: Vec<_> =
        operands.iter().map(|(values, strides)| (*values, strides.map(Step::Stride))).collect();
    run_steps(name, sizes, products, &steps, out.map(Step::Stride));
}

fn run_steps<const L: usize>(
    name: &str,
    sizes: &[usize; L],
    products: f64,
    operands: &[(&[f64], [Step; L])],
    out: [Step; L],
) {
    let operands: Vec<Operand> =
        operands.iter().map(|(values, steps)| Operand { values, steps: steps.as_slice().into() }).collect();
    let reach = |(step, size): (&Step, &usize)| match step {
        Step::Stride(stride) => stride * (size - 1),
        Step::Table { table, scale } => *table.iter().max().unwrap() as usize * scale,
    };
    let mut values = vec![0.0; 1 + out.iter().zip(sizes).map(reach).sum::<usize>()];
    let flops = 2.0 * products * sizes.iter().map(|size| *size as f64).product::<f64>();
    let rates = [Threads::new(1), Threads::new(2)].map(|threads| {
        let mut best = f64::INFINITY;
        for _ in 0..15 {
            let start = Instant::now();
            let output = Output { values: &mut values, steps: out.as_slice().into() };
            contract(sizes, 1.0, &operands, output, &threads);
            best = best.min(start.elapsed().as_secs_f64());
        }
        flops / best / 1e9
    });
    println!("  {name:28} {sizes:?}: {:.1}, {:.1}", rates[0], rates[1]);
}
