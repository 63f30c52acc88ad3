//! The identities between built-in programs, on the iterates of every sweep. Their numbers are those of
//! `examples/README.md`.
//!
//! Each is held on random matrices, on edge cases (an empty document, a column of zeros, one factor, one cell, counts of a
//! million, fewer rows than factors, values that are no integers, priors of 1e-14 from starts of order 1), dense and sparse,
//! and on a bundled real data set. Identity 7 (one block: the bound is the log evidence) is in `exact.rs`.

use cavi_executor::{Executor, Parameters};
use cavi_tests::support::{Matrix, Ready, bundled, file_of, matrix_file, text_of};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};
use statrs::function::gamma::ln_gamma;

const TOLERANCE: f64 = 1e-10;

/// Data for a pair of programs, and how many factors to take.
struct Case {
    name: &'static str,
    data: Matrix,
    factors: usize,
}

fn counts(rows: usize, columns: usize, scale: f64, rng: &mut ChaCha8Rng) -> Matrix {
    let own = |rng: &mut ChaCha8Rng| {
        let value: f64 = Exp1.sample(rng);
        if rng.random::<f64>() < 0.3 { 0.0 } else { (1.0 + scale * value).round() }
    };
    (0..rows).map(|_| (0..columns).map(|_| own(rng)).collect()).collect()
}

/// Edge cases. Every row has mass, but where `empty` asks for one without.
fn cases(empty: bool, integers: bool) -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(71);
    let mut all = vec![
        Case { name: "small counts", data: counts(9, 7, 3.0, &mut rng), factors: 3 },
        Case { name: "counts of a million", data: counts(6, 8, 1e6, &mut rng), factors: 3 },
        Case { name: "one factor", data: counts(5, 6, 4.0, &mut rng), factors: 1 },
        Case { name: "one cell", data: vec![vec![7.0]], factors: 1 },
        Case { name: "one cell, two factors", data: vec![vec![7.0]], factors: 2 },
        Case { name: "fewer rows than factors", data: counts(2, 8, 4.0, &mut rng), factors: 5 },
        Case { name: "fewer columns than factors", data: counts(8, 2, 4.0, &mut rng), factors: 4 },
    ];
    let mut column_of_zeros = counts(6, 5, 3.0, &mut rng);
    column_of_zeros.iter_mut().for_each(|row| row[2] = 0.0);
    all.push(Case { name: "a column of zeros", data: column_of_zeros, factors: 3 });
    for case in &mut all {
        // Every row has mass.
        case.data.iter_mut().filter(|row| row.iter().sum::<f64>() == 0.0).for_each(|row| row[0] = 2.0);
    }
    if empty {
        let mut data = counts(6, 5, 3.0, &mut rng);
        data[2].fill(0.0);
        all.push(Case { name: "an empty row", data, factors: 3 });
        all.push(Case { name: "nothing but zeros", data: vec![vec![0.0; 4]; 3], factors: 2 });
    }
    if !integers {
        let mut draw = |_: usize| (0..6).map(|_| Exp1.sample(&mut rng)).collect();
        all.push(Case { name: "no integers", data: (0..7).map(&mut draw).collect(), factors: 3 });
    }
    all
}

/// The largest difference, relative to the largest of the expected.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(0.0_f64, |size, value| size.max(value.abs()));
    let off = found.iter().zip(expected).fold(0.0_f64, |off, (found, expected)| {
        let own = (found - expected).abs();
        if own.is_nan() { f64::INFINITY } else { off.max(own) }
    });
    if off == 0.0 { 0.0 } else { off / size }
}

fn same(case: &str, sweep: usize, what: &str, found: &[f64], expected: &[f64]) {
    let off = difference(found, expected);
    assert!(off <= TOLERANCE, "{case}, sweep {sweep}: {what} is off by {off:e}");
}

/// Two bounds that differ by a constant of the data, relative to their sizes.
fn same_bound(case: &str, sweep: usize, found: f64, expected: f64, size: f64) {
    let off = (found - expected).abs() / size.max(1.0);
    assert!(
        off <= TOLERANCE,
        "{case}, sweep {sweep}: the bound is {found} and not {expected}, off by {off:e}"
    );
}

fn sums(rows: &[Vec<f64>]) -> Vec<f64> {
    rows.iter().map(|row| row.iter().sum()).collect()
}

/// Each row of `width` values times its own number.
fn scaled(values: &[f64], width: usize, by: &[f64]) -> Vec<f64> {
    values.chunks(width).zip(by).flat_map(|(row, by)| row.iter().map(move |value| value * by)).collect()
}

/// One program beside another on the same data, from starts made of random ones; `each` sees both after every sweep.
fn beside(
    one: &Ready,
    other: &Ready,
    sweeps: usize,
    align: impl Fn(&mut Parameters, &mut Parameters),
    mut each: impl FnMut(usize, &mut Executor<'_>, &mut Executor<'_>),
) {
    let (mut from, mut from_other) = (one.start(11), other.start(12));
    align(&mut from, &mut from_other);
    let (mut left, mut right) = (one.run(from), other.run(from_other));
    for sweep in 1..=sweeps {
        one.sweep(&mut left);
        other.sweep(&mut right);
        each(sweep, &mut left, &mut right);
    }
}

/// Runs a check on every case, dense and sparse, and on bundled data.
fn on_all(
    cases: Vec<Case>,
    factor: &str,
    real: (&str, &str, usize),
    check: impl Fn(&str, &[(&str, f64)], &dyn Fn(&str) -> Vec<cavi::bind::ArrayInput>, usize),
) {
    for case in cases {
        let sizes = [(factor, case.factors as f64)];
        for sparse in [false, true] {
            // A sparse file states nothing where all is zero, but its sizes.
            let data = |array: &str| vec![matrix_file(array, &case.data, sparse)];
            check(&format!("{}, sparse {sparse}", case.name), &sizes, &data, 12);
        }
    }
    let (program, array, factors) = real;
    let data = |name: &str| bundled(program, &[(array, name)]);
    check(program, &[(factor, factors as f64)], &data, 6);
}

/// Identity 1 (Geiger and Park 2024, 4.2): same w; h of the joint form is that of PLSA times the sums of the rows.
#[test]
fn nmf_joint_is_plsa() {
    on_all(cases(true, false), "topic", ("plsa", "x", 6), |case, sizes, data, sweeps| {
        let (joint, plsa) =
            (Ready::built_in("nmf_joint", sizes, data("x")), Ready::built_in("plsa", sizes, data("x")));
        let k = sizes[0].1 as usize;
        let mass = sums(&joint.matrix("x"));
        let proportional = std::cell::RefCell::new(Vec::new());
        let align = |left: &mut Parameters, right: &mut Parameters| {
            joint.put(left, "w", &[plsa.column(right, "w", 0).to_vec()]);
            let h = plsa.column(right, "h", 0).to_vec();
            let factors: Vec<f64> = (0..mass.len()).map(|d| 0.3 + 0.2 * d as f64).collect();
            joint.put(left, "h", &[scaled(&h, k, &factors)]);
            *proportional.borrow_mut() = h;
        };
        beside(&joint, &plsa, sweeps, align, |sweep, left, right| {
            let (left, right) = (left.parameters(), right.parameters());
            same(case, sweep, "w", joint.column(left, "w", 0), plsa.column(right, "w", 0));
            let h = plsa.column(right, "h", 0);
            // A document without words has h = 0, and its proportions keep their start.
            same(case, sweep, "h", joint.column(left, "h", 0), &scaled(h, k, &mass));
            for (d, _) in mass.iter().enumerate().filter(|(_, mass)| **mass == 0.0) {
                assert_eq!(h[d * k..(d + 1) * k], proportional.borrow()[d * k..(d + 1) * k], "{case}");
            }
        });
    });
}

/// The multinomial coefficient of every row, summed.
fn coefficients(data: &Matrix) -> f64 {
    let row = |row: &Vec<f64>| {
        ln_gamma(row.iter().sum::<f64>() + 1.0) - row.iter().map(|x| ln_gamma(x + 1.0)).sum::<f64>()
    };
    data.iter().map(row).sum()
}

/// Identity 2 (sect. 5): the same iterates; the bounds differ by the Poisson density of the sums of the rows at rate 1.
#[test]
fn dirichlet_poisson_is_lda_by_variational_em() {
    for alpha in [0.4, 1.0, 1e-14] {
        on_all(cases(true, true), "k", ("dirichlet_poisson", "x", 4), |case, sizes, data, sweeps| {
            let set = |axis: &'static str| vec![(axis, sizes[0].1), ("alpha", alpha)];
            let poisson = Ready::built_in("dirichlet_poisson", &set("community"), data("x"));
            let multinomial = Ready::built_in("lda_vem", &set("topic"), data("x"));
            let rates: f64 = sums(&poisson.matrix("x")).iter().map(|n| ln_gamma(n + 1.0) + 1.0).sum();
            let align = |left: &mut Parameters, right: &mut Parameters| {
                poisson.put(left, "w", &[multinomial.column(right, "w", 0).to_vec()]);
                poisson.put(left, "h", &[multinomial.column(right, "h", 0).to_vec()]);
            };
            let case = &format!("{case}, alpha {alpha}");
            beside(&poisson, &multinomial, sweeps, align, |sweep, left, right| {
                let (found, expected) = (left.elbo(), right.elbo());
                same_bound(case, sweep, found + rates, expected, expected.abs().max(rates));
                let (left, right) = (left.parameters(), right.parameters());
                same(case, sweep, "w", poisson.column(left, "w", 0), multinomial.column(right, "w", 0));
                same(case, sweep, "h", poisson.column(left, "h", 0), multinomial.column(right, "h", 0));
            });
        });
    }
}

/// Identity 3 (E.3, E.4): one rate for all factors, the same <ln h> up to a constant of the row at the start.
#[test]
fn nmf_gamma_joint_is_lda_by_variational_em() {
    for alpha in [0.4, 1e-14] {
        on_all(cases(true, true), "k", ("plsa", "x", 5), |case, sizes, data, sweeps| {
            let k = sizes[0].1 as usize;
            let gamma = Ready::built_in(
                "nmf_gamma_joint",
                &[("programme", sizes[0].1), ("alpha", alpha), ("a", 0.7)],
                data("x"),
            );
            let dirichlet = Ready::built_in("lda_vem", &[("topic", sizes[0].1), ("alpha", alpha)], data("x"));
            let align = |left: &mut Parameters, right: &mut Parameters| {
                gamma.put(left, "w", &[dirichlet.column(right, "w", 0).to_vec()]);
                let shapes = dirichlet.column(right, "h", 0).to_vec();
                // A rate for each row.
                let rates = (0..shapes.len()).map(|at| 0.2 + (at / k) as f64).collect();
                gamma.put(left, "h", &[shapes, rates]);
            };
            let case = &format!("{case}, alpha {alpha}");
            beside(&gamma, &dirichlet, sweeps, align, |sweep, left, right| {
                let (left, right) = (left.parameters(), right.parameters());
                same(case, sweep, "w", gamma.column(left, "w", 0), dirichlet.column(right, "w", 0));
                same(case, sweep, "shapes", gamma.column(left, "h", 0), dirichlet.column(right, "h", 0));
                let rates = gamma.column(left, "h", 1);
                same(case, sweep, "rates", rates, &vec![1.7; rates.len()]);
            });
        });
    }
}

/// Identity 4 (6.1): h is that of `nmf_joint` divided by 1 + lambda, with the same zeros.
#[test]
fn nmf_sparse_is_nmf_joint_scaled() {
    for lambda in [1.0, 0.01, 30.0] {
        on_all(cases(true, false), "k", ("lda", "n", 5), |case, sizes, data, sweeps| {
            let sparse =
                Ready::built_in("nmf_sparse", &[("part", sizes[0].1), ("lambda", lambda)], data("x"));
            let joint = Ready::built_in("nmf_joint", &[("topic", sizes[0].1)], data("x"));
            let align = |left: &mut Parameters, right: &mut Parameters| {
                let mut h = joint.column(right, "h", 0).to_vec();
                if h.len() > 2 {
                    // Zeros that stay.
                    h[1] = 0.0;
                }
                joint.put(right, "h", std::slice::from_ref(&h));
                sparse.put(left, "h", &[h]);
                sparse.put(left, "w", &[joint.column(right, "w", 0).to_vec()]);
            };
            beside(&sparse, &joint, sweeps, align, |sweep, left, right| {
                let (left, right) = (left.parameters(), right.parameters());
                same(case, sweep, "w", sparse.column(left, "w", 0), joint.column(right, "w", 0));
                let (h, other) = (sparse.column(left, "h", 0), joint.column(right, "h", 0));
                let expected: Vec<f64> = other.iter().map(|value| value / (1.0 + lambda)).collect();
                same(case, sweep, "h", h, &expected);
                assert!(h.iter().zip(other).all(|(one, other)| (*one == 0.0) == (*other == 0.0)), "{case}");
            });
        });
    }
}

/// The rows of h made to sum to 1, the columns of w times what they were divided by.
fn normalised(w: &[f64], h: &[f64], k: usize) -> (Vec<f64>, Vec<f64>) {
    let width = h.len() / k;
    let total: Vec<f64> = h.chunks(width).map(|row| row.iter().sum()).collect();
    let inverse: Vec<f64> = total.iter().map(|total| 1.0 / total).collect();
    let w = w.chunks(k).flat_map(|row| row.iter().zip(&total).map(|(w, total)| w * total)).collect();
    (w, scaled(h, width, &inverse))
}

/// Identity 5: `nmf_em`, normalised at the start and after each sweep, is `nmf_joint` with the names exchanged.
#[test]
fn nmf_em_normalised_is_nmf_joint() {
    let all = cases(true, false).into_iter().filter(|case| case.name != "nothing but zeros").collect();
    on_all(all, "k", ("nmf_em", "x", 4), |case, sizes, data, sweeps| {
        let k = sizes[0].1 as usize;
        let em = Ready::built_in("nmf_em", &[("signature", sizes[0].1)], data("x"));
        let joint = Ready::built_in("nmf_joint", &[("topic", sizes[0].1)], data("x"));
        let normalise = |state: &mut Parameters| {
            let (w, h) = normalised(em.column(state, "w", 0), em.column(state, "h", 0), k);
            em.put(state, "w", &[w]);
            em.put(state, "h", &[h]);
        };
        let (mut left, mut right) = (em.start(21), joint.start(22));
        normalise(&mut left);
        joint.put(&mut right, "w", &[em.column(&left, "h", 0).to_vec()]);
        joint.put(&mut right, "h", &[em.column(&left, "w", 0).to_vec()]);
        let mut right = joint.run(right);
        for sweep in 1..=sweeps {
            let mut run = em.run(left);
            em.sweep(&mut run);
            left = run.parameters().clone();
            normalise(&mut left);
            joint.sweep(&mut right);
            same(case, sweep, "w", joint.column(right.parameters(), "w", 0), em.column(&left, "h", 0));
            same(case, sweep, "h", joint.column(right.parameters(), "h", 0), em.column(&left, "w", 0));
        }
    });
}

/// How far a sweep of a program moves w and h, relative to the larger of each. Neither program fixes the scale of a factor.
fn moves(program: &Ready, w: &[f64], h: &[f64], k: usize) -> f64 {
    let mut state = program.start(0);
    let (w, h) = normalised(w, h, k);
    program.put(&mut state, "w", std::slice::from_ref(&w));
    program.put(&mut state, "h", std::slice::from_ref(&h));
    let mut run = program.run(state);
    program.sweep(&mut run);
    let (found, other) = (program.column(run.parameters(), "w", 0), program.column(run.parameters(), "h", 0));
    let (found, other) = normalised(found, other, k);
    difference(&found, &w).max(difference(&other, &h))
}

/// Lee and Seung's updates and EM rest at the same points (Paisley, COMS 4721 lecture 18).
#[test]
fn nmf_em_and_nmf_kl_have_the_same_fixed_points() {
    for case in cases(true, false).into_iter().filter(|case| case.name != "nothing but zeros") {
        let k = case.factors;
        let data = || vec![matrix_file("x", &case.data, false)];
        let kl = Ready::built_in("nmf_kl", &[("part", k as f64)], data());
        let em = Ready::built_in("nmf_em", &[("signature", k as f64)], data());
        for (one, other) in [(&kl, &em), (&em, &kl)] {
            let mut run = one.run(one.start(31));
            for _ in 0..20_000 {
                one.sweep(&mut run);
            }
            let (w, h) = (one.column(run.parameters(), "w", 0), one.column(run.parameters(), "h", 0));
            let (own, others) = (moves(one, w, h, k), moves(other, w, h, k));
            // The fit may crawl still: then both crawl.
            assert!(own <= 1e-7, "{}: {own:e}", case.name);
            assert!(others <= 10.0 * own + 1e-12, "{}: {own:e} and {others:e}", case.name);
        }
    }
    // A product of positive factors is a fixed point of both.
    let mut rng = ChaCha8Rng::seed_from_u64(73);
    let (n, m, k) = (6, 5, 3);
    let mut draw = |size: usize| -> Vec<f64> { (0..size).map(|_| rng.random_range(0.1..2.0)).collect() };
    let (w, h) = (draw(n * k), draw(k * m));
    let cell = |i: usize, j: usize| (0..k).map(|t| w[i * k + t] * h[t * m + j]).sum();
    let data: Matrix = (0..n).map(|i| (0..m).map(|j| cell(i, j)).collect()).collect();
    for (name, axis) in [("nmf_kl", "part"), ("nmf_em", "signature")] {
        let program = Ready::built_in(name, &[(axis, k as f64)], vec![matrix_file("x", &data, false)]);
        let moved = moves(&program, &w, &h, k);
        assert!(moved <= 1e-14, "{name}: {moved:e}");
    }
}

/// Documents as lines of `N id:count ...`; `repeated` writes each word as often as it occurs.
fn documents(data: &Matrix, repeated: bool) -> Vec<u8> {
    let line = |row: &Vec<f64>| {
        let words = row.iter().enumerate().filter(|(_, count)| **count > 0.0);
        let entries: Vec<String> = words
            .flat_map(|(word, count)| match repeated {
                true => vec![format!("{word}:1"); *count as usize],
                false => vec![format!("{word}:{count}")],
            })
            .collect();
        format!("{} {}", entries.len(), entries.join(" ")).trim_end().to_owned()
    };
    (data.iter().map(line).collect::<Vec<_>>().join("\n") + "\n").into_bytes()
}

/// Identity 6: the same q(theta) and q(beta), and the bound of `lda` less the multinomial coefficients.
fn tokens_are_bags(case: &str, tokens: &Ready, bags: &Ready, sweeps: usize) {
    let constant = coefficients(&bags.matrix("n"));
    let align = |left: &mut Parameters, right: &mut Parameters| {
        for name in ["theta", "beta"] {
            tokens.put(left, name, &[bags.column(right, name, 0).to_vec()]);
        }
    };
    beside(tokens, bags, sweeps, align, |sweep, left, right| {
        let (found, expected) = (left.elbo(), right.elbo());
        same_bound(case, sweep, found + constant, expected, expected.abs().max(constant).max(found.abs()));
        for name in ["theta", "beta"] {
            let expected = bags.column(right.parameters(), name, 0);
            same(case, sweep, name, tokens.column(left.parameters(), name, 0), expected);
        }
    });
}

#[test]
fn lda_by_tokens_is_lda() {
    for prior in [0.3, 1e-14] {
        for case in cases(true, true) {
            let words = case.data[0].len() as f64;
            let set = [("topic", case.factors as f64), ("alpha", prior), ("eta", prior)];
            let set_tokens = [set[0], set[1], set[2], ("word", words)];
            let bags = Ready::built_in("lda", &set, vec![matrix_file("n", &case.data, true)]);
            let largest = case.data.concat().into_iter().fold(0.0, f64::max);
            for repeated in [false, true].into_iter().filter(|repeated| !repeated || largest < 100.0) {
                let file = file_of("w", "w.ldac", documents(&case.data, repeated));
                let tokens = Ready::built_in("lda_tokens", &set_tokens, vec![file]);
                tokens_are_bags(&format!("{}, {prior}, repeated {repeated}", case.name), &tokens, &bags, 12);
            }
        }
    }
    let tokens = Ready::built_in("lda_tokens", &[], bundled("lda_tokens", &[]));
    let bags = Ready::built_in("lda", &[], bundled("lda_tokens", &[("w", "n")]));
    tokens_are_bags("the bundled papers", &tokens, &bags, 5);
}

/// `nmf_gamma` with other priors and both factors points.
fn as_points(a: &str, c: &str) -> String {
    let text = text_of("nmf_gamma").replace("w[i, k] ~ Gamma(a, rate = b)", a);
    let text = text.replace("h[k, j] ~ Gamma(c, rate = d)", c);
    format!("{text}\nposterior {{\n  point w[i, k]\n  point h[k, j]\n}}\n")
}

/// The multiplicative updates with `b` and `d` added to the denominators, by hand; 0/0 is 0.
fn multiplicative(x: &Matrix, w: &mut [f64], h: &mut [f64], k: usize, b: f64, d: f64) {
    let m = h.len() / k;
    let ratio = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a / b };
    let product = |w: &[f64], h: &[f64], i: usize, j: usize| -> f64 {
        (0..k).map(|t| w[i * k + t] * h[t * m + j]).sum()
    };
    let old = w.to_vec();
    for (at, w) in w.iter_mut().enumerate() {
        let (i, t) = (at / k, at % k);
        let above: f64 = (0..m).map(|j| h[t * m + j] * ratio(x[i][j], product(&old, h, i, j))).sum();
        *w = ratio(old[at] * above, b + h[t * m..(t + 1) * m].iter().sum::<f64>());
    }
    let old = h.to_vec();
    for (at, h) in h.iter_mut().enumerate() {
        let (t, j) = (at / m, at % m);
        let above: f64 = (0..x.len()).map(|i| w[i * k + t] * ratio(x[i][j], product(w, &old, i, j))).sum();
        *h = ratio(old[at] * above, d + (0..x.len()).map(|i| w[i * k + t]).sum::<f64>());
    }
}

/// Identity 8: shapes of 1 add the rates to the denominators; flat priors leave `nmf_kl`.
#[test]
fn nmf_gamma_as_points_is_nmf_kl() {
    let exponential = as_points("w[i, k] ~ Gamma(a, rate = b)", "h[k, j] ~ Gamma(c, rate = d)");
    let flat = as_points("w[i, k] ~ Flat(nonnegative)", "h[k, j] ~ Flat(nonnegative)");
    for (b, d) in [(0.3, 1.7), (1e-14, 1e-14), (0.0, 0.0)] {
        on_all(cases(true, false), "k", ("nmf_gamma", "x", 5), |case, sizes, data, sweeps| {
            let k = sizes[0].1 as usize;
            let kl = Ready::built_in("nmf_kl", &[("part", sizes[0].1)], data("x"));
            let set = [("signature", sizes[0].1), ("a", 1.0), ("b", b), ("c", 1.0), ("d", d)];
            let points = match b {
                0.0 => Ready::new(&flat, &set[..1], data("x")),
                _ => Ready::new(&exponential, &set, data("x")),
            };
            let x = points.matrix("x");
            let case = &format!("{case}, rates {b} and {d}");
            let align = |left: &mut Parameters, right: &mut Parameters| {
                for name in ["w", "h"] {
                    points.put(left, name, &[kl.column(right, name, 0).to_vec()]);
                }
            };
            let from = kl.start(12);
            let (mut w, mut h) = (kl.column(&from, "w", 0).to_vec(), kl.column(&from, "h", 0).to_vec());
            beside(&points, &kl, sweeps, align, |sweep, left, right| {
                multiplicative(&x, &mut w, &mut h, k, b, d);
                for (name, expected) in [("w", &w), ("h", &h)] {
                    same(case, sweep, name, points.column(left.parameters(), name, 0), expected);
                    if b == 0.0 {
                        let other = kl.column(right.parameters(), name, 0);
                        same(case, sweep, name, points.column(left.parameters(), name, 0), other);
                    }
                }
            });
        });
    }
}
