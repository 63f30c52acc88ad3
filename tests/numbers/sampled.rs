//! Draws from q have the moments that q states, are drawn jointly where q is joint, and deterministic names are functions of them: for every
//! program.

use std::collections::BTreeMap;

use cavi::bind::Binding;
use cavi::posterior::NamedArray;
use cavi::sample::{Asked, Drawn, What, sample};
use cavi::{Control, Fit, Problem, Settings, prepare};
use cavi_tests::support::{Program, Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const DRAWS: usize = 2000;
/// Sample moments differ from those of q by at most so many of their standard errors.
const ERRORS: f64 = 5.0;

fn fitted(program: &Program, seed: u64) -> Option<(Problem, Fit)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let bound = random_bound(&program.model, Shape::small(true), &mut rng);
    let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
    let problem = prepare(compiled, Binding { bound, ..Binding::default() }).ok()?;
    let settings =
        Settings { sweeps: Some(3), restarts: Some(1), warmup: Some(Vec::new()), ..Settings::default() };
    let fit = problem.fit(&settings, &mut |_| Control::Continue).ok()?;
    Some((problem, fit))
}

fn asked(seed: u64, names: &[&str]) -> Asked {
    Asked { draws: DRAWS, seed, names: names.iter().map(|own| (*own).to_owned()).collect() }
}

/// Mean and variance of each element under q, where the files of the fit state both; of a variable without groups.
fn moments(arrays: &BTreeMap<&str, &NamedArray>, name: &str) -> Option<(Vec<f64>, Vec<Option<f64>>)> {
    let of = |parameter: &str| arrays.get(format!("{name}.{parameter}").as_str()).map(|own| &own.values);
    let mean = of("mean").or_else(|| of("value"))?;
    let both = |one: &[f64], other: &[f64], of: &dyn Fn(f64, f64) -> Option<f64>| -> Vec<Option<f64>> {
        one.iter().zip(other).map(|(one, other)| of(*one, *other)).collect()
    };
    // The mean of so many draws of a Gamma is a Gamma of as many times its shape, which is a Normal where that is large.
    let heavy = |shape: f64| shape * (DRAWS as f64) < 50.0;
    let variances = if of("value").is_some() {
        vec![Some(0.0); mean.len()]
    } else if let Some(own) = of("var") {
        own.iter().map(|own| Some(*own)).collect()
    } else if of("kappa").is_some() || of("cov").is_some() || of("dof").is_some() || of("p").is_some() {
        return None;
    } else if let (Some(shape), Some(rate)) = (of("shape"), of("rate")) {
        both(shape, rate, &|shape, rate| (!heavy(shape)).then(|| shape / rate / rate))
    } else if let (Some(shape), Some(scale)) = (of("shape"), of("scale")) {
        // Its eighth moment makes the error of the sample variance a useful one.
        both(shape, scale, &|a, b| (a > 10.0).then(|| b * b / (a - 1.0).powi(2) / (a - 2.0)))
    } else if let (Some(a), Some(b)) = (of("a"), of("b")) {
        both(a, b, &|a, b| (!heavy(a.min(b))).then(|| a * b / (a + b).powi(2) / (a + b + 1.0)))
    } else if let Some(concentration) = of("concentration") {
        both(concentration, mean, &|a, m| (!heavy(a)).then(|| m * (1.0 - m) / (a / m + 1.0)))
    } else {
        return None;
    };
    (variances.len() == mean.len()).then(|| (mean.clone(), variances))
}

/// Compares the draws of one element with a mean and a variance.
fn compare(place: &str, draws: &[f64], mean: f64, variance: f64) {
    let count = draws.len() as f64;
    let own = draws.iter().sum::<f64>() / count;
    let central = |power: i32| draws.iter().map(|draw| (draw - mean).powi(power)).sum::<f64>() / count;
    let rounding = 1e-9 * mean.abs();
    let far = (own - mean).abs();
    assert!(far <= ERRORS * (variance / count).sqrt() + rounding, "{place}: mean {own}, of q {mean}");
    let error = ((central(4) - variance * variance).max(0.0) / count).sqrt();
    let second = central(2);
    let far = (second - variance).abs();
    assert!(far <= ERRORS * error + rounding * rounding, "{place}: variance {second}, of q {variance}");
}

#[test]
fn draws_have_the_moments_of_q() {
    let (mut elements, mut classes, mut repeated) = (0, 0, 0);
    for program in programs() {
        let Some((problem, fit)) = fitted(&program, 11) else { continue };
        let sampled = sample(&problem, &fit.parameters, &asked(3, &[]))
            .unwrap_or_else(|error| panic!("{}: {error}", program.name));
        let arrays = problem.posterior(&fit);
        let arrays: BTreeMap<&str, &NamedArray> = arrays.iter().map(|own| (own.name.as_str(), own)).collect();
        for own in &sampled.drawn {
            assert_eq!(own.values.len(), own.cells() * DRAWS, "{}: {}", program.name, own.name);
            let place = |cell: usize| format!("{}: {} {cell}", program.name, own.name);
            if own.what == What::Index {
                let Some(prob) = arrays.get(format!("{}.prob", own.name).as_str()) else { continue };
                let k = prob.values.len() / own.cells().max(1);
                for (cell, prob) in prob.values.chunks(k.max(1)).enumerate() {
                    for (class, p) in prob.iter().enumerate() {
                        let chosen = own.of(cell).iter().filter(|own| **own == class as f64).count();
                        let error = (p * (1.0 - p) / DRAWS as f64).sqrt();
                        let far = (chosen as f64 / DRAWS as f64 - p).abs();
                        // A class that is expected less than once in these draws has no normal error.
                        let rare = p.min(1.0 - p) * (DRAWS as f64) < 10.0;
                        assert!(rare || far < ERRORS * error, "{}", place(cell));
                        classes += 1;
                    }
                }
                continue;
            }
            let Some((means, variances)) = moments(&arrays, &own.name) else { continue };
            for (cell, (mean, variance)) in means.iter().zip(&variances).enumerate() {
                let Some(variance) = variance.filter(|own| own.is_finite() && mean.is_finite()) else {
                    continue;
                };
                if variance == 0.0 {
                    assert!(own.of(cell).iter().all(|draw| draw == mean), "{}", place(cell));
                    repeated += 1;
                } else {
                    compare(&place(cell), &own.of(cell), *mean, variance);
                    elements += 1;
                }
            }
        }
    }
    assert!(elements > 1000 && classes > 50 && repeated > 100, "{elements} {classes} {repeated}");
}

#[test]
fn a_seed_gives_the_same_draws_whatever_else_is_drawn() {
    let mut compared = 0;
    for program in programs() {
        let Some((problem, fit)) = fitted(&program, 12) else { continue };
        let draw = |seed: u64, names: &[&str]| {
            let asked = Asked { draws: 3, ..asked(seed, names) };
            sample(&problem, &fit.parameters, &asked).map(|own| own.drawn)
        };
        let all = draw(1, &[]).unwrap_or_else(|error| panic!("{}: {error}", program.name));
        let Some(last) = all.last() else { continue };
        let alone = draw(1, &[&last.name]).unwrap_or_else(|error| panic!("{}: {error}", program.name));
        let bits = |own: &Drawn| own.values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
        assert_eq!(alone.len(), 1);
        assert_eq!(bits(&alone[0]), bits(last), "{}: {}", program.name, last.name);
        compared += 1;
    }
    assert!(compared > 60, "only {compared} programs");
}

/// A program whose q is joint in places, with functions that are linear and that are not.
const FUNCTIONS: &str = "axis n[n]\naxis k[k] = 3\ndata y[n] : real\ndata c[n, k] : real\n\
    b[k] ~ Normal(0, sd = 1)\na ~ Normal(0, sd = 1)\nt ~ Gamma(2, rate = 2)\n\
    line[n] = a + sum[k](c[n, k] * b[k])\ncontrast = 2 * a - sum[k](b[k])\nsize = exp(a) / t\n\
    y[n] ~ Normal(line[n], prec = t)\nposterior { q(a, b[:k]) }\n";

#[test]
fn deterministic_names_are_functions_of_joint_draws() {
    let program = cavi_tests::support::compile("functions", FUNCTIONS).expect("it compiles");
    let (problem, fit) = fitted(&program, 4).expect("it runs");
    let sampled = sample(&problem, &fit.parameters, &asked(5, &[])).expect("it is drawn");
    let drawn = |name: &str| sampled.drawn.iter().find(|own| own.name == name).expect("it is there");
    let arrays = problem.posterior(&fit);
    let of = |name: &str| &arrays.iter().find(|own| own.name == name).expect("a file").values;
    // The mean and variance of a linear function of one Normal vector: w'm and w'Sw.
    let (mean, cov): (Vec<f64>, _) = ([of("a.mean").as_slice(), of("b.mean")].concat(), of("a+b.cov"));
    let exact = |w: &[f64]| {
        let m: f64 = w.iter().zip(&mean).map(|(w, m)| w * m).sum();
        let pairs = (0..4).flat_map(|i| (0..4).map(move |j| (i, j)));
        (m, pairs.map(|(i, j)| w[i] * cov[4 * i + j] * w[j]).sum::<f64>())
    };
    let (m, v) = exact(&[2.0, -1.0, -1.0, -1.0]);
    compare("contrast", &drawn("contrast").values, m, v);
    let c = match problem.as_given().binding.bound.array(program.model.symbols.find("c").expect("data")) {
        cavi_executor::BoundArray::Dense { values, .. } => values.clone(),
        cavi_executor::BoundArray::Sparse { .. } => unreachable!("dense data were bound"),
    };
    let line = drawn("line");
    assert_eq!((line.shape.len(), line.what), (1, What::Function));
    for (row, c) in c.chunks(3).enumerate() {
        let (m, v) = exact(&[&[1.0], c].concat());
        compare(&format!("line {row}"), &line.of(row), m, v);
    }
    // Each draw of a function is that of what it reads.
    let (size, a, t) = (&drawn("size").values, &drawn("a").values, &drawn("t").values);
    for ((size, a), t) in size.iter().zip(a).zip(t) {
        assert!((size - a.exp() / t).abs() < 1e-12 * size.abs());
    }
}
