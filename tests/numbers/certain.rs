//! Probabilities of exactly 0 and 1. An outcome that is certain adds 0 to the bound, and q gives an impossible one
//! the probability 0.

use cavi::bind::{ArrayInput, Inputs, Source, bind};
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Interpreter, start};
use cavi_tests::support::{Program, bound_of, close, compile};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TOLERANCE: f64 = 1e-12;

/// Three columns: all ones, all zeros, and two ones of three.
const COLUMNS: [[f64; 3]; 3] = [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]];

fn program(text: &str) -> Program {
    compile("certain", text).unwrap_or_else(|problem| panic!("{problem}"))
}

/// The bound after some sweeps, of the interpreter and of the executor, which agree.
fn fitted(program: &Program, bound: &Bound, sweeps: usize) -> f64 {
    let from = start(&program.equations, bound, 3);
    let schedule = program.schedule();
    let mut slow = Interpreter::new(&program.equations, bound, from.clone()).expect("a start");
    let mut fast = Executor::new(&program.equations, bound, from, 1)
        .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
    for sweep in 1..=sweeps {
        slow.sweep(&schedule).unwrap_or_else(|trouble| panic!("sweep {sweep}: {trouble}"));
        fast.sweep(&schedule).unwrap_or_else(|trouble| panic!("sweep {sweep}: {trouble}"));
        let (slow, fast) = (slow.elbo(), fast.elbo());
        let same = slow == fast || close(slow, fast, slow.abs().max(1.0), TOLERANCE);
        assert!(same, "sweep {sweep}: {slow} and {fast}");
    }
    fast.elbo()
}

fn rows(values: &[[f64; 3]; 3]) -> Vec<f64> {
    (0..3).flat_map(|n| values.iter().map(move |column| column[n])).collect()
}

fn dense(values: Vec<f64>) -> BoundArray {
    BoundArray::full(values)
}

/// The positive entries of three rows by three columns.
fn sparse(values: &[f64]) -> BoundArray {
    let listed: Vec<usize> = (0..9).filter(|cell| values[*cell] > 0.0).collect();
    BoundArray::Sparse {
        indices: vec![
            listed.iter().map(|cell| (cell / 3) as u32).collect(),
            listed.iter().map(|cell| (cell % 3) as u32).collect(),
        ],
        values: listed.iter().map(|cell| values[*cell]).collect(),
        observed: None,
        unlisted_zero: true,
    }
}

/// `sum (y log p + (n - y) log(1 - p))` at `p = sum y / sum n`.
fn maximum(ones: f64, total: f64) -> f64 {
    let part = |count: f64| if count == 0.0 { 0.0 } else { count * (count / total).ln() };
    part(ones) + part(total - ones)
}

#[test]
fn a_column_of_ones_has_a_probability_of_one() {
    for (data, density) in [("binary", "Bernoulli(p[j])"), ("count", "Binomial(1, p[j])")] {
        for (absent, shape) in [("", false), (", absent = 0", true)] {
            let text = format!(
                "axis row[n]\naxis column[j]\ndata y[n, j] : {data}{absent}\np[j] ~ Beta(1, 1)\ny[n, j] ~ {density}\n\
                 posterior {{\n  point p\n}}\n"
            );
            let program = program(&text);
            let y = rows(&COLUMNS);
            let y = if shape { sparse(&y) } else { dense(y) };
            let bound = bound_of(&program, &[BoundAxis::plain(3), BoundAxis::plain(3)], &[("y", y)]);
            let expected = maximum(2.0, 3.0);
            let found = fitted(&program, &bound, 3);
            assert!(close(found, expected, expected.abs(), TOLERANCE), "{text}{found} and not {expected}");
        }
    }
}

#[test]
fn classes_that_cannot_be_are_not_believed() {
    // Class 0 never says yes and class 1 never no, so that the data name the classes.
    let text = "axis row[n]\naxis class[c] = 2\nconst p[c] : unit\ndata y[n] : binary\nv[:c] ~ Dirichlet(1)\n\
                z[n] ~ Categorical(v[:c])\ny[n] ~ Bernoulli(p[z[n]])\n";
    let program = program(text);
    let y = vec![0.0, 1.0, 0.0, 1.0, 1.0];
    let data = [("y", dense(y)), ("p", dense(vec![0.0, 1.0]))];
    let bound = bound_of(&program, &[BoundAxis::plain(5), BoundAxis::plain(2)], &data);
    // B(1 + 2, 1 + 3) / B(1, 1) = 2! 3! / 6!
    let expected = (1.0_f64 / 60.0).ln();
    let found = fitted(&program, &bound, 4);
    assert!(close(found, expected, expected.abs(), TOLERANCE), "{found} and not {expected}");
}

#[test]
fn what_is_certain_adds_nothing() {
    let text = "axis row[n]\ndata y[n] : binary\ndata p[n] : unit\ndata m[n] : count\ndata x[n] : count\n\
                r ~ Beta(2, 3)\ny[n] ~ Bernoulli(p[n])\nx[n] ~ Binomial(m[n], r)\n";
    let program = program(text);
    let data = [
        ("y", dense(vec![1.0, 0.0, 1.0])),
        ("p", dense(vec![1.0, 0.0, 0.25])),
        ("m", dense(vec![2.0, 2.0, 0.0])),
        ("x", dense(vec![2.0, 1.0, 0.0])),
    ];
    let bound = bound_of(&program, &[BoundAxis::plain(3)], &data);
    // log(1/4) + log C(2, 1) + log(B(2 + 3, 3 + 1) / B(2, 3)), with B(5, 4) = 4! 3! / 8! and B(2, 3) = 1/12.
    let expected = 0.25_f64.ln() + 2.0_f64.ln() + (24.0_f64 * 6.0 / 40320.0 * 12.0).ln();
    let found = fitted(&program, &bound, 2);
    assert!(close(found, expected, expected.abs(), TOLERANCE), "{found} and not {expected}");
}

#[test]
fn a_mixture_by_maximum_likelihood_finds_two_kinds_of_rows() {
    let text = |absent: &str| {
        format!(
            "axis row[n]\naxis column[j]\naxis class[c] = 2\ndata y[n, j] : binary{absent}\nv[:c] ~ Dirichlet(1)\n\
             z[n] ~ Categorical(v[:c])\np[c, j] ~ Beta(1, 1)\ny[n, j] ~ Bernoulli(p[z[n], j])\n\
             posterior {{\n  point p\n}}\n"
        )
    };
    let y = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]].concat();
    for (absent, y) in [("", dense(y.clone())), (", absent = 0", sparse(&y))] {
        let program = program(&text(absent));
        let axes = [BoundAxis::plain(3), BoundAxis::plain(3), BoundAxis::plain(2)];
        let bound = bound_of(&program, &axes, &[("y", y)]);
        // All entries are certain then: B(1 + 2, 1 + 1) / B(1, 1) = 2! 1! / 4!
        let expected = (1.0_f64 / 12.0).ln();
        let found = fitted(&program, &bound, 60);
        assert!(close(found, expected, expected.abs(), 1e-9), "{absent}: {found} and not {expected}");
    }
}

/// Of a large sparse array no `1 - y` is stored: the coefficients of `log(1 - p)` are multiplied out.
#[test]
fn large_sparse_data_have_the_bound_of_dense_ones() {
    let text = |absent: &str| {
        format!(
            "axis row[n]\naxis column[j]\naxis class[c] = 3\ndata y[n, j] : binary{absent}\nv[:c] ~ Dirichlet(1)\n\
             z[n] ~ Categorical(v[:c])\np[c, j] ~ Beta(1, 1)\ny[n, j] ~ Bernoulli(p[z[n], j])\n\
             posterior {{\n  point p\n}}\n"
        )
    };
    let (rows, columns) = (6000, 12);
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let y: Vec<f64> = (0..rows * columns)
        .map(|cell| f64::from(u8::from(cell % columns == 0 || rng.random_bool(0.1))))
        .collect();
    let listed: Vec<usize> = (0..y.len()).filter(|cell| y[*cell] > 0.0).collect();
    let index = |of: &dyn Fn(&usize) -> usize| listed.iter().map(|cell| of(cell) as u32).collect();
    let sparse = BoundArray::Sparse {
        indices: vec![index(&|cell| cell / columns), index(&|cell| cell % columns)],
        values: vec![1.0; listed.len()].into(),
        observed: None,
        unlisted_zero: true,
    };
    let bounds = [(", absent = 0", sparse), ("", dense(y))].map(|(absent, y)| {
        let program = program(&text(absent));
        let axes = [BoundAxis::plain(rows), BoundAxis::plain(columns), BoundAxis::plain(3)];
        let bound = bound_of(&program, &axes, &[("y", y)]);
        let from = start(&program.equations, &bound, 3);
        let mut run = Executor::new(&program.equations, &bound, from, 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        (0..5).for_each(|_| run.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}")));
        run.elbo()
    });
    let [sparse, dense] = bounds;
    assert!(sparse.is_finite() && close(sparse, dense, 1.0, 1e-10), "{sparse} and {dense}");
}

/// Classes that differ from each other by what they never and always answer.
#[test]
fn classes_summed_out_may_be_certain() {
    let text = |implicit: &str| {
        format!(
            "axis row[n]\naxis item[j]\naxis class[c] = 3\nconst p[c, j] : unit\ndata y[n, j] : binary\n\
             v[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(v[:c])\ny[n, j] ~ Bernoulli(p[z[n], j])\n{implicit}"
        )
    };
    // A scale of Guttman: class c answers yes to the first c + 1 items.
    let p = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]].concat();
    let y = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]].concat();
    for implicit in ["", "posterior {\n  implicit z\n}\n"] {
        let program = program(&text(implicit));
        let axes = [BoundAxis::plain(4), BoundAxis::plain(3), BoundAxis::plain(3)];
        let bound = bound_of(&program, &axes, &[("y", dense(y.clone())), ("p", dense(p.clone()))]);
        // Gamma(3) / Gamma(7) times 1! 2! 1!
        let expected = (2.0_f64 * 2.0 / 720.0).ln();
        let found = fitted(&program, &bound, 4);
        assert!(close(found, expected, expected.abs(), TOLERANCE), "{implicit}: {found} and not {expected}");
    }
}

/// A share that is nearly 0 leaves a probability that is nearly 0, and never a bound of minus infinity.
#[test]
fn probabilities_that_vanish_leave_the_bound_finite() {
    let programs = [
        "axis row[n]\naxis item[j]\naxis answer[a] = 3\naxis class[c] = 2\ndata y[n, j] : index answer\nv[:c] ~ Dirichlet(1)\n\
         z[n] ~ Categorical(v[:c])\np[c, j, :a] ~ Flat(simplex)\ny[n, j] ~ Categorical(p[z[n], j, :a])\n\
         posterior {\n  point p\n}\n",
        "axis row[n]\naxis item[j]\naxis class[c] = 2\ndata y[n, j] : binary\nv[:c] ~ Dirichlet(1)\n\
         z[n] ~ Categorical(v[:c])\np[c, j] ~ Beta(1, 1)\ny[n, j] ~ Bernoulli(p[z[n], j])\n\
         posterior {\n  point p\n}\n",
        "axis row[n]\naxis item[j]\naxis class[c] = 2\ndata y[n, j] : count\nv[:c] ~ Dirichlet(1)\n\
         z[n] ~ Categorical(v[:c])\np[c, j] ~ Flat(nonnegative)\ny[n, j] ~ Poisson(p[z[n], j])\n\
         posterior {\n  point p\n}\n",
    ];
    let (rows, items) = (12, 6);
    for text in programs {
        let program = program(text);
        for seed in 0..6 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let most = if text.contains("binary") { 2 } else { 3 };
            let y = (0..rows * items).map(|_| f64::from(rng.random_range(0..most as u32))).collect();
            let sizes = program.model.symbols.axes.iter().map(|axis| match axis.name.as_str() {
                "row" => BoundAxis::plain(rows),
                "item" => BoundAxis::plain(items),
                "answer" => BoundAxis::plain(3),
                _ => BoundAxis::plain(2),
            });
            let axes: Vec<BoundAxis> = sizes.collect();
            let bound = bound_of(&program, &axes, &[("y", dense(y))]);
            let from = start(&program.equations, &bound, seed);
            let mut run = Executor::new(&program.equations, &bound, from, 1)
                .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
            let mut before = run.elbo();
            for sweep in 1..=60 {
                run.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
                let after = run.elbo();
                let fell = after < before - 1e-10 * run.elbo_scale();
                assert!(
                    after.is_finite() && !fell,
                    "{text}seed {seed}, sweep {sweep}: from {before} to {after}"
                );
                before = after;
            }
        }
    }
}

/// Columns of one number have the deviation 0, which counts as 1, whatever rounding makes of their mean.
#[test]
fn constant_columns_are_centred_to_zero() {
    let text = "axis row[n]\naxis column[j]\ndata x[n, j] : real, center over n, scale over n\n\
                m[j] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(m[j], sd = 1)\n";
    let program = program(text);
    for rows in [3, 6, 13, 301] {
        let values: Vec<f64> = (0..rows).flat_map(|_| (1..400).map(|tenth| f64::from(tenth) * 0.1)).collect();
        let lines: Vec<String> = values
            .chunks(399)
            .map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
            .collect();
        let bytes = (lines.join("\n") + "\n").into_bytes();
        let source = Source::Bytes { name: "x.csv".into(), bytes: bytes.into() };
        let mut inputs = Inputs::default();
        inputs.data.push(ArrayInput { name: "x".to_owned(), group: None, source });
        let bound = match bind(&program.model, &inputs) {
            Ok(binding) => binding.bound,
            Err(problems) => panic!("{}", problems[0]),
        };
        let x = program.model.symbols.find("x").expect("the data");
        let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) = bound.array(x);
        assert!(values.iter().all(|value| *value == 0.0), "{rows} rows");
    }
}

/// Entries that are missing, of weight 0 or excluded are read nowhere, so that the values of their expressions change
/// nothing.
#[test]
fn what_is_not_read_needs_no_value() {
    let text = |data: &str, mean: &str| {
        format!(
            "axis row[n]\naxis item[j]\ndata x[n] : real\ndata y[n, j] : real{data}\nb[j] ~ Normal(0, sd = 1)\n\
             t ~ Gamma(2, rate = 1)\ny[n, j] ~ Normal({mean}, prec = t)\n"
        )
    };
    let y = [1.5, -0.5, 0.25, 2.0, 0.75, 1.0];
    for mean in ["b[j] * log(x[n])", "b[j] * sqrt(x[n]) + 1 / x[n]", "b[j] * x[n]^-0.5"] {
        let elbo = |data: &str, x: &[f64], y: BoundArray, m: Option<&[f64]>| {
            let program = program(&text(data, mean));
            let axes = [BoundAxis::plain(x.len()), BoundAxis::plain(2)];
            let mut arrays = vec![("x", dense(x.to_vec())), ("y", y)];
            arrays.extend(m.map(|m| ("m", dense(m.to_vec()))));
            fitted(&program, &bound_of(&program, &axes, &arrays), 5)
        };
        let expected = elbo("", &[0.5, 2.0, 3.0], dense(y.to_vec()), None);
        for bad in [0.0, -1.0] {
            let x = [0.5, bad, 2.0, 3.0];
            let with = [&y[..2], &[7.0, 8.0], &y[2..]].concat();
            let observed = Some((0..8).map(|entry| entry / 2 != 1).collect());
            let missing = BoundArray::Dense { values: with.clone().into(), observed };
            let found = elbo(", absent = NA", &x, missing, None);
            assert!(
                close(found, expected, expected.abs(), TOLERANCE),
                "{mean}, missing: {found}, {expected}"
            );
            let weights = "\ndata m[n] : multiplicity";
            let found = elbo(weights, &x, dense(with), Some(&[1.0, 0.0, 1.0, 1.0]));
            assert!(
                close(found, expected, expected.abs(), TOLERANCE),
                "{mean}, no weight: {found}, {expected}"
            );
        }
    }
}
