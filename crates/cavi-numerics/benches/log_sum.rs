//! The fused pass against code written by hand for two modes: `cargo bench -p cavi-numerics --bench log_sum`.
//!
//! 10^6 entries of a 10,000 x 5,000 matrix. Rates are entries times K per second on one core; the machine may be busy, so
//! variants take turns and the best of each is compared: read the ratios.

#![allow(unsafe_code, missing_docs)]

use std::borrow::Cow;
use std::time::Instant;

use cavi_numerics::kernels::{Factor, LogSum, Outputs, Pattern, Scratch, log_sum, strips};
use cavi_numerics::{Threads, instruction_set};

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
    let order = strips(&[&columns[0], &columns[1]], stride);
    let permuted = |column: &[u32]| order.permutation.iter().map(|e| column[*e as usize]).collect::<Vec<_>>();
    let striped_columns = [permuted(&columns[0]), permuted(&columns[1])];
    let striped_weights: Vec<f64> = order.permutation.iter().map(|e| weights[*e as usize]).collect();
    let striped = Pattern::with_chunks(
        striped_columns.iter().map(|c| Cow::Borrowed(&c[..])).collect(),
        order.chunks.clone(),
    );
    let mut accumulators: Vec<Vec<f64>> = factors.iter().map(|f| vec![0.0; f.len()]).collect();
    let mut scratch = Scratch::default();
    let (one, two_threads) = (Threads::new(1), Threads::new(2));
    let mut best = [f64::INFINITY; 8];
    for _ in 0..12 {
        let mut lap = |slot: usize, run: &mut dyn FnMut() -> f64| {
            let start = Instant::now();
            std::hint::black_box(run());
            best[slot] = best[slot].min(start.elapsed().as_secs_f64());
        };
        let mut kernel = |pattern: &Pattern, weights: &[f64], threads: &Threads, with_targets: bool| {
            let views: Vec<Factor> =
                factors[..pattern.modes()].iter().map(|f| Factor { values: f, stride }).collect();
            let input = LogSum { pattern, factors: &views, length, weights, addends: None, offsets: None };
            let wanted = if with_targets { pattern.modes() } else { 0 };
            let outputs = Outputs {
                accumulators: accumulators[..wanted].iter_mut().map(|a| Some(&mut a[..])).collect(),
                ..Outputs::default()
            };
            log_sum(&input, outputs, &mut scratch, threads).total
        };
        lap(2, &mut || kernel(&two, weights, &one, true));
        lap(3, &mut || kernel(&striped, &striped_weights, &one, true));
        lap(4, &mut || kernel(&two, weights, &two_threads, true));
        lap(5, &mut || kernel(&striped, &striped_weights, &two_threads, true));
        lap(6, &mut || kernel(&two, weights, &one, false));
        lap(7, &mut || kernel(&three, weights, &one, true));
        #[cfg(target_arch = "x86_64")]
        {
            let [ga, gb, _] = &mut accumulators[..] else { unreachable!() };
            let (a, b) = (&factors[0], &factors[1]);
            lap(0, &mut || by_hand::pass(length, &columns[0], &columns[1], weights, a, b, ga, gb));
            let (rows, columns) = (&striped_columns[0], &striped_columns[1]);
            lap(1, &mut || by_hand::pass(length, rows, columns, &striped_weights, a, b, ga, gb));
        }
    }
    let names = [
        "by hand",
        "by hand, strips",
        "kernel",
        "kernel, strips",
        "kernel, two threads",
        "kernel, strips, two threads",
        "kernel, total alone",
        "kernel, three modes",
    ];
    println!("K = {length}");
    for (slot, name) in names.iter().enumerate() {
        let rate = (ENTRIES * length) as f64 / best[slot] / 1e9;
        let ratio = best[slot % 2] / best[slot];
        println!("  {name:30} {rate:6.2} G/s, {ratio:5.2} of by hand");
    }
}

/// What one would write for this one model: two modes, four entries of a row at a time, logarithms in a buffer.
#[cfg(target_arch = "x86_64")]
mod by_hand {
    use std::arch::x86_64::*;

    use cavi_numerics::{InstructionSet, instruction_set, special};

    #[allow(clippy::too_many_arguments)]
    pub fn pass(
        length: usize,
        rows: &[u32],
        columns: &[u32],
        weights: &[f64],
        a: &[f64],
        b: &[f64],
        ga: &mut [f64],
        gb: &mut [f64],
    ) -> f64 {
        match instruction_set() {
            InstructionSet::Avx512 => unsafe { avx512(length, rows, columns, weights, a, b, ga, gb) },
            InstructionSet::Avx2 => unsafe { avx2(length, rows, columns, weights, a, b, ga, gb) },
            InstructionSet::Portable => 0.0,
        }
    }

    macro_rules! body {
        ($name:ident, $features:literal, $lanes:literal, $load:ident, $store:ident, $fma:ident, $set:ident, $sum:expr) => {
            #[target_feature(enable = $features)]
            #[allow(clippy::too_many_arguments)]
            unsafe fn $name(
                length: usize,
                rows: &[u32],
                columns: &[u32],
                weights: &[f64],
                a: &[f64],
                b: &[f64],
                ga: &mut [f64],
                gb: &mut [f64],
            ) -> f64 {
                let mut total = 0.0;
                let (mut sums, mut logs) = ([1.0; 512], [0.0; 512]);
                let mut count = 0;
                let mut first = 0;
                let mut e = 0;
                let whole = length / $lanes * $lanes;
                while e < rows.len() {
                    let row = rows[e] as usize;
                    let run = if e + 4 <= rows.len() && rows[e + 1..e + 4] == [rows[e]; 3] { 4 } else { 1 };
                    unsafe {
                        let a = a.as_ptr().add(row * length);
                        let ga = ga.as_mut_ptr().add(row * length);
                        let b: [*const f64; 4] = std::array::from_fn(|n| {
                            b.as_ptr().add(columns[e + n.min(run - 1)] as usize * length)
                        });
                        let gb: [*mut f64; 4] = std::array::from_fn(|n| {
                            gb.as_mut_ptr().add(columns[e + n.min(run - 1)] as usize * length)
                        });
                        if run == 4 {
                            let mut s = [$set(0.0); 4];
                            for k in (0..whole).step_by($lanes) {
                                let a = $load(a.add(k));
                                for n in 0..4 {
                                    s[n] = $fma(a, $load(b[n].add(k)), s[n]);
                                }
                            }
                            let mut s: [f64; 4] = $sum(s);
                            for k in whole..length {
                                for n in 0..4 {
                                    s[n] += *a.add(k) * *b[n].add(k);
                                }
                            }
                            let r: [f64; 4] = std::array::from_fn(|n| weights[e + n] / s[n]);
                            let rv = r.map(|r| $set(r));
                            for k in (0..whole).step_by($lanes) {
                                let a = $load(a.add(k));
                                let mut g = $load(ga.add(k));
                                for n in 0..4 {
                                    g = $fma(rv[n], $load(b[n].add(k)), g);
                                    $store(gb[n].add(k), $fma(rv[n], a, $load(gb[n].add(k))));
                                }
                                $store(ga.add(k), g);
                            }
                            for k in whole..length {
                                for n in 0..4 {
                                    *ga.add(k) += r[n] * *b[n].add(k);
                                    *gb[n].add(k) += r[n] * *a.add(k);
                                }
                            }
                            sums[count..count + 4].copy_from_slice(&s);
                        } else {
                            let mut s = 0.0;
                            for k in 0..length {
                                s += *a.add(k) * *b[0].add(k);
                            }
                            let r = weights[e] / s;
                            for k in 0..length {
                                *ga.add(k) += r * *b[0].add(k);
                                *gb[0].add(k) += r * *a.add(k);
                            }
                            sums[count] = s;
                        }
                    }
                    count += run;
                    e += run;
                    if count > 508 || e == rows.len() {
                        special::ln_into(&sums[..count], &mut logs[..count]);
                        total += (0..count).map(|n| weights[first + n] * logs[n]).sum::<f64>();
                        first = e;
                        count = 0;
                    }
                }
                total
            }
        };
    }

    body!(
        avx2,
        "avx2,fma",
        4,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_set1_pd,
        |s: [__m256d; 4]| {
            let (ab, cd) = (_mm256_hadd_pd(s[0], s[1]), _mm256_hadd_pd(s[2], s[3]));
            let (x, y) = (_mm256_permute2f128_pd::<0x21>(ab, cd), _mm256_blend_pd::<0b1100>(ab, cd));
            std::mem::transmute::<__m256d, [f64; 4]>(_mm256_add_pd(x, y))
        }
    );
    body!(
        avx512,
        "avx512f,avx512dq,avx512vl,avx2,fma",
        8,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_set1_pd,
        |s: [__m512d; 4]| s.map(|s| _mm512_reduce_add_pd(s))
    );
}
