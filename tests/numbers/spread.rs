//! Fits in shards that move together, over threads and processes: those of the whole data, and the same bits for every spread.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cavi::bind::Binding;
use cavi::checkpoint::{Checkpoints, Found, find};
use cavi::{Cluster, Control, Error, Exchange, Fit, Precision, Problem, Settings, prepare};
use cavi_algebra::AxisId;
use cavi_executor::{Bound, BoundArray, BoundAxis};
use cavi_tests::support::{Neighbour, Program, Shape, programs, random_bound, thorough};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::restarts::{facts, told};

/// A program on small random data.
fn problem_of(program: &Program, seed: u64) -> Option<Problem> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let shape = Shape { smallest: 4, largest: 7, ..Shape::small(seed.is_multiple_of(2)) };
    let bound = random_bound(&program.model, shape, &mut rng);
    let binding = Binding { bound, ..Binding::default() };
    let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
    prepare(compiled, binding).ok()
}

fn go_on() -> Box<dyn FnMut() -> Control + Send> {
    Box::new(|| Control::Continue)
}

/// One process's part of a fit, stopped where the watch says so, with checkpoints beside a directory where there is one.
fn fit(
    problem: &Problem,
    settings: &Settings,
    checkpoints: Option<&Path>,
    mut watch: Box<dyn FnMut() -> Control + Send>,
) -> Result<Fit, Error> {
    let mut settings = settings.clone();
    if let Some(out) = checkpoints {
        let earlier = match find(out, problem, &settings)? {
            Found::Runs(earlier) => Some(earlier),
            Found::Nothing | Found::Finished => None,
        };
        let is_first = settings.others.as_ref().is_none_or(|own| own.rank() == 0);
        let every = is_first.then_some(Duration::MAX);
        settings.checkpoints = Some(Checkpoints::new(out, every, earlier, problem, &settings));
    }
    problem.fit(&settings, &mut |_| watch())
}

/// What of a fit does not depend on who fits it.
fn said(fit: Result<Fit, Error>) -> Result<String, String> {
    fit.map(|fit| facts(&fit)).map_err(|error| told(&error))
}

/// The same over so many processes; only the first one watches.
fn over(
    processes: usize,
    problem: &Problem,
    settings: &Settings,
    checkpoints: Option<&Path>,
    watch: Box<dyn FnMut() -> Control + Send>,
) -> Result<Fit, Error> {
    let mut watches = vec![watch];
    watches.resize_with(processes, go_on);
    std::thread::scope(|scope| {
        let begin = |(own, watch): (Arc<dyn Exchange>, _)| {
            let settings = Settings { others: Some(own), ..settings.clone() };
            scope.spawn(move || fit(problem, &settings, checkpoints, watch))
        };
        let threads: Vec<_> = Neighbour::all(processes).into_iter().zip(watches).map(begin).collect();
        let mut all: Vec<_> =
            threads.into_iter().map(|thread| thread.join().expect("no process panics")).collect();
        let first = all.remove(0);
        let one = first.as_ref().map(facts).map_err(told);
        for other in all {
            assert_eq!(other.as_ref().map(facts).map_err(told), one, "the processes agree");
        }
        first
    })
}

/// Fits of every program that has shards, every second one from the given on; in turn accelerated, verified, with restarts.
fn every_second_program(from: usize) {
    let (mut fitted, mut same, mut wrong) = (0, 0, Vec::new());
    for (number, program) in programs().into_iter().skip(from).step_by(2).enumerate() {
        let Some(problem) = problem_of(&program, number as u64) else { continue };
        // Of several runs that end alike rounding chooses one.
        let plain =
            Settings { sweeps: Some(5), tolerance: Some(0.0), restarts: Some(1), ..Settings::default() };
        let varied = match number % 3 {
            0 => Settings { accelerate: Some(true), sweeps: Some(10), ..plain.clone() },
            1 => Settings { verify: true, ..plain.clone() },
            _ => Settings { restarts: Some(2), elbo_every: 2, ..plain.clone() },
        };
        for (number, axis) in problem.model.symbols.axes.iter().enumerate() {
            let Ok(one) = problem.shards(&axis.name) else { continue };
            let name = format!("{}, {}", program.name, axis.name);
            let first = Settings { shards: Some(one), ..plain.clone() };
            match fit(&problem, &first, None, go_on()) {
                Err(error) if error.code() == "E0617" => continue,
                _ => {}
            }
            let whole = fit(&problem, &plain, None, go_on());
            // Other numbers of shards are those of `shards.rs`.
            let shards = problem.shards(&format!("{}=3", axis.name)).expect("the axis is there");
            let own = Settings { shards: Some(shards.clone()), ..plain.clone() };
            let found = fit(&problem, &own, None, go_on());
            match (&whole, &found) {
                (Ok(whole), Ok(found)) => {
                    let rows = whole.trace.iter().zip(&found.trace);
                    let tolerance = if program.climbs() { 1e-5 } else { 1e-9 };
                    let differs = |(one, other): (&cavi::TraceRow, &cavi::TraceRow)| {
                        let (Some(one), Some(other)) = (one.elbo, other.elbo) else { return false };
                        let size = one.abs().max(100.0);
                        one != other
                            && ((one - other).is_nan() || (one - other).abs() > 10.0 * tolerance * size)
                    };
                    if whole.trace.len() != found.trace.len() || rows.clone().any(differs) {
                        let elbos = |own: &Fit| own.trace.iter().map(|row| row.elbo).collect::<Vec<_>>();
                        wrong.push(format!("{name}: {:?}\n{:?}", elbos(whole), elbos(found)));
                    }
                }
                (Err(_), Err(_)) => {}
                (one, other) => wrong.push(format!(
                    "{name}: {:?}, {:?}",
                    one.as_ref().err().map(ToString::to_string),
                    other.as_ref().err().map(ToString::to_string)
                )),
            }
            fitted += 1;
            let settings = Settings { shards: Some(shards), ..varied.clone() };
            let expected = said(fit(&problem, &settings, None, go_on()));
            let threads = Settings { threads: 3, ..settings.clone() };
            if said(fit(&problem, &threads, None, go_on())) != expected {
                wrong.push(format!("{name}: other bits on three threads"));
            }
            // Each process has a shard.
            let positions = problem.binding.bound.size(AxisId::from(number));
            let numbers = if thorough() { 2..=3 } else { 2 + number % 2..=2 + number % 2 };
            for processes in numbers.filter(|own| *own <= positions) {
                if said(over(processes, &problem, &settings, None, go_on())) != expected {
                    wrong.push(format!("{name}: other bits in {processes} processes"));
                }
                same += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} ({fitted} fits)\n{}", wrong.len(), wrong.join("\n"));
    let is_one = std::env::var_os("CAVI_PROGRAM").is_some();
    assert!(fitted > 100 && same > 60 || is_one, "{fitted} {same}");
}

#[test]
fn even_programs_fit_in_shards_as_in_one_piece() {
    every_second_program(0);
}

#[test]
fn odd_programs_fit_in_shards_as_in_one_piece() {
    every_second_program(1);
}

/// A fit over two processes that was stopped goes on over one, and over three, to the bits of one that was not.
#[test]
fn fits_go_on_over_another_number_of_processes() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("o");
    let mut resumed = 0;
    for (number, program) in programs().into_iter().step_by(3).enumerate() {
        let Some(problem) = problem_of(&program, 6) else { continue };
        let accelerate = Some(number % 2 == 0);
        let settings = Settings { sweeps: Some(9), tolerance: Some(0.0), accelerate, ..Settings::default() };
        let settings = Settings { shards: Some(cavi::Shards::Largest), ..settings };
        let Ok(whole) = fit(&problem, &settings, None, go_on()) else { continue };
        let stopped = |after: usize| -> Box<dyn FnMut() -> Control + Send> {
            let mut left = after;
            Box::new(move || {
                left = left.saturating_sub(1);
                if left == 0 { Control::Stop } else { Control::Continue }
            })
        };
        let first = over(2, &problem, &settings, Some(&out), stopped(4)).expect("it begins");
        assert!(first.interrupted, "{}", program.name);
        let second = fit(&problem, &settings, Some(&out), stopped(3)).expect("it goes on");
        assert!(second.interrupted, "{}", program.name);
        let own = over(3, &problem, &settings, Some(&out), go_on()).expect("it ends");
        cavi::checkpoint::remove(&out).expect("checkpoints are removed");
        assert!(!own.interrupted && facts(&own) == facts(&whole), "{}", program.name);
        resumed += 1;
    }
    assert!(resumed > 15 || std::env::var_os("CAVI_PROGRAM").is_some(), "{resumed}");
}

/// Where there are fewer shards than processes, all are told.
#[test]
fn a_process_without_a_shard_is_told() {
    let program =
        programs().into_iter().find(|own| own.name.starts_with("mixture_normal")).expect("a program");
    let problem = problem_of(&program, 2).expect("it has data");
    let axes = &problem.model.symbols.axes;
    let mut told = 0;
    for axis in axes {
        let shards = problem.shards(&format!("{}=2", axis.name)).expect("the axis is there");
        let settings = Settings { shards: Some(shards), sweeps: Some(2), ..Settings::default() };
        let Err(error) = over(3, &problem, &settings, None, go_on()) else { panic!("{} has two", axis.name) };
        told += usize::from(error.to_string().contains("each of which needs one"));
    }
    assert!(told > 0);
}

/// What a process sends in a sweep is what `cavi plan --ranks` predicts, where sums are large beside votes; and no process computes less than
/// its part.
#[test]
fn a_sweep_sends_as_much_as_is_predicted() {
    const PROGRAMS: [(&str, usize, &str); 3] = [
        (
            "counts",
            8,
            "axis row[i]\naxis column[j]\naxis part[k] = 8\ndata x[i, j] : count, absent = 0\nw[i, k] ~ Gamma(1, rate = 1)\n\
             h[k, j] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n",
        ),
        (
            "topics",
            8,
            "axis row[i]\naxis column[j]\naxis part[k] = 8\ndata x[i, j] : count, absent = 0\ntheta[i, :k] ~ Dirichlet(0.5)\n\
             beta[k, :j] ~ Dirichlet(0.5)\nx[i, :j] ~ Multinomial(sum[k](theta[i, k] * beta[k, :j]))\n",
        ),
        (
            "factors",
            3,
            "axis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : real\nw[j, k] ~ Normal(0, sd = 1)\nz[i, k] ~ Normal(0, sd = 1)\n\
             t[j] ~ Gamma(1, rate = 1)\nx[i, j] ~ Normal(sum[k](z[i, k] * w[j, k]), prec = t[j])\n",
        ),
    ];
    for (name, parts, text) in PROGRAMS {
        let compiled = cavi::compile(text, name).into_compiled().expect("it compiles");
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let symbols = &compiled.model.symbols;
        let mut arrays = vec![None; symbols.arrays.len()];
        let data = symbols.find("x").expect("the data");
        arrays[data.index()] =
            Some(BoundArray::full((0..12 * 3000).map(|_| f64::from(rng.random_range(0..3_u8))).collect()));
        let bound = Bound {
            axes: [12, 3000, parts].map(|size| BoundAxis { size, ..BoundAxis::default() }).into(),
            arrays,
            ..Bound::default()
        };
        let problem = prepare(compiled, Binding { bound, ..Binding::default() }).expect("it has data");
        let shards = Some(problem.shards("row=4").expect("the axis is there"));
        for processes in [2, 4] {
            let sent = |sweeps: u64| {
                let settings = Settings {
                    sweeps: Some(sweeps),
                    tolerance: Some(0.0),
                    restarts: Some(1),
                    ..Settings::default()
                };
                let settings = Settings { shards: shards.clone(), warmup: Some(Vec::new()), ..settings };
                let (all, sent) = Neighbour::counted(processes);
                std::thread::scope(|scope| {
                    for own in all {
                        let settings = Settings { others: Some(own), ..settings.clone() };
                        let problem = &problem;
                        scope.spawn(move || {
                            problem.fit(&settings, &mut |_| Control::Continue).expect("it fits")
                        });
                    }
                });
                sent.load(Ordering::Relaxed)
            };
            let measured = 8.0 * (sent(9) - sent(4)) as f64 / 5.0;
            let plan =
                cavi_executor::plan::plan(&problem.equations, &problem.binding.bound, Precision::Double);
            let plan = plan.unwrap_or_else(|why| panic!("{name}: {why:?}"));
            let cost = plan.spread_cost(&problem.equations, &problem.own_schedule(), AxisId::from(0));
            let cost = cost.expect("it can be cut");
            let cluster = Cluster {
                processes,
                machines: processes,
                threads: 1,
                bandwidth: f64::INFINITY,
                latency: 0.0,
            };
            let spent = cost.over(4, &cluster);
            assert!(
                (spent.bytes / measured - 1.0).abs() < 0.15,
                "{name}, {processes}: {} predicted, {measured}",
                spent.bytes
            );
            let whole = plan.forecast(&problem.equations, &problem.own_schedule(), 1).seconds();
            assert!(
                (cost.local + cost.shared + cost.once - whole).abs() < 1e-9 * whole,
                "{name}: {cost:?}, {whole}"
            );
            assert!(spent.seconds() >= cost.local / processes as f64, "{name}");
            let one = cost.over(4, &Cluster { processes: 1, ..cluster });
            assert!(one.exchanging == 0.0 && one.seconds() >= whole, "{name}");
        }
    }
}
