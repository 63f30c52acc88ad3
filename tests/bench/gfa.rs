//! Group factor analysis of complete data against NumPy.
//!
//! Python runs `gfa_numpy.py` on the same data from the same start, a sweep whenever it is asked for one, so that variants
//! take turns. The interpreter is that of the variable `PYTHON`, or `python3`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use cavi_executor::{BoundArray, BoundAxis, Executor, Parameters, start};
use cavi_tests::support::Program;

use crate::workload::{Uniform, bind_with, compiled};

const TEXT: &str = "axis sample[n]\naxis view[m]\naxis feature[j] in view\naxis factor[k]\ndata x[n, m, j] : real\n\
    z[n, k] ~ Normal(0, sd = 1)\nalpha[m, k] ~ Gamma(1e-14, rate = 1e-14)\nw[m, j, k] ~ Normal(0, prec = alpha[m, k])\n\
    tau[m] ~ Gamma(1e-14, rate = 1e-14)\nx[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])\n\
    posterior {\n  q(z[n, :k])\n  q(w[m, j, :k])\n}\nfit {\n  sweep z, w, alpha, tau\n}\n";

/// A Python process that waits for orders.
struct Numpy {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    times: Vec<f64>,
    bound: f64,
}

impl Numpy {
    /// Starts one, with as many threads as the library likes or with one.
    fn start(python: &str, sizes: &[usize], file: &std::path::Path, one_thread: bool) -> Option<Numpy> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/bench/gfa_numpy.py");
        let mut command = Command::new(python);
        command.arg(script).arg(file).args(sizes.iter().map(usize::to_string));
        if one_thread {
            for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
                command.env(variable, "1");
            }
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let orders = child.stdin.take()?;
        let answers = BufReader::new(child.stdout.take()?);
        Some(Numpy { child, orders, answers, times: Vec::new(), bound: f64::NAN })
    }

    /// One sweep and the bound: Python's own clock.
    fn sweep(&mut self) {
        writeln!(self.orders, "sweep").expect("Python listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("Python answers");
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [seconds, bound] = numbers[..] else { panic!("Python answers `{line}`") };
        self.times.push(seconds);
        self.bound = bound;
    }

    fn stop(mut self) {
        drop(self.orders);
        let _ = self.child.wait();
    }
}

/// Data of five true factors and noise; samples by features.
fn draw(samples: usize, features: usize) -> Vec<f64> {
    const TRUE_FACTORS: usize = 5;
    let mut uniform = Uniform::fixed();
    let mut values = |count: usize| -> Vec<f64> { (0..count).map(|_| 2.0 * uniform.draw() - 1.0).collect() };
    let (scores, loadings) = (values(samples * TRUE_FACTORS), values(features * TRUE_FACTORS));
    let mut x = values(samples * features);
    for (place, x) in x.iter_mut().enumerate() {
        let (n, j) = (place / features * TRUE_FACTORS, place % features * TRUE_FACTORS);
        *x += (0..TRUE_FACTORS).map(|k| scores[n + k] * loadings[j + k]).sum::<f64>();
    }
    x
}

/// The columns of the block of a variable.
fn block<'a>(program: &Program, parameters: &'a Parameters, name: &str) -> &'a [Vec<f64>] {
    let symbols = &program.equations.symbols;
    let mut blocks = program.equations.blocks.iter();
    let place = blocks.position(|block| symbols.array(block.members[0]).name == name).expect("a variable");
    &parameters.blocks[place]
}

/// Waits until the threads of the process before are idle, since threads of a library spin on a core for a while
/// before they sleep.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

/// Prints the table.
pub fn compare(quick: bool) {
    let (samples, views, factors) = if quick { (60, [10, 5, 4], 3) } else { (2_000, [1_000, 500, 200], 15) };
    let features: usize = views.iter().sum();
    let program = compiled("gfa", TEXT);
    let x = draw(samples, features);
    let bound = bind_with(
        &program,
        &|axis| match axis {
            "sample" => BoundAxis::plain(samples),
            "view" => BoundAxis::plain(views.len()),
            "feature" => BoundAxis::ragged(&views),
            _ => BoundAxis::plain(factors),
        },
        &|| BoundArray::full(x.clone()),
    );
    let parameters = start(&program.equations, &bound, 1);
    let schedule = program.schedule();
    let mut runs: Vec<(usize, Executor, Vec<f64>, f64)> = [1, 2]
        .into_iter()
        .map(|threads| {
            let executor = Executor::new(&program.equations, &bound, parameters.clone(), threads);
            (threads, executor.expect("the program has a plan"), Vec::new(), f64::NAN)
        })
        .collect();
    println!();
    println!("GFA, {samples} x {views:?}, K = {factors}, complete");
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import numpy"]).stderr(Stdio::null()).status();
    let file = std::env::temp_dir().join(format!("cavi-gfa-{}.f64", std::process::id()));
    let mut peers: Vec<(&str, Numpy)> = Vec::new();
    if probe.is_ok_and(|status| status.success()) {
        let columns = ["z", "w", "alpha", "tau"].map(|name| &block(&program, &parameters, name)[..2]);
        let bytes: Vec<u8> = columns
            .iter()
            .flat_map(|columns| columns.iter())
            .chain([&x])
            .flatten()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        std::fs::write(&file, bytes).expect("a temporary file for Python");
        let sizes: Vec<usize> = [samples, factors].into_iter().chain(views).collect();
        for (name, one_thread) in [("NumPy, one thread", true), ("NumPy, its default", false)] {
            peers.extend(Numpy::start(&python, &sizes, &file, one_thread).map(|numpy| (name, numpy)));
        }
    } else {
        println!("`{python}` has no NumPy: no comparison (PYTHON names another interpreter)");
    }
    let rounds = if quick { 5 } else { 21 };
    for round in 0..=rounds {
        for (_, executor, times, value) in &mut runs {
            pause();
            let start = Instant::now();
            executor.sweep(&schedule).expect("the data are proper");
            *value = executor.elbo();
            if round > 0 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
        for (_, numpy) in &mut peers {
            pause();
            numpy.sweep();
        }
    }
    let _ = std::fs::remove_file(&file);
    println!();
    println!("| | s a sweep, bound included | NumPy of one thread / this |");
    println!("| --- | --- | --- |");
    let mut middles: Vec<(String, f64)> = Vec::new();
    for (threads, _, times, value) in &mut runs {
        middles.push((format!("Cavi, {threads} thread(s)"), crate::median(times)));
        for (_, numpy) in &peers {
            let difference = (*value - numpy.bound).abs();
            assert!(
                difference <= 1e-9 * value.abs(),
                "the bound is {value} by Cavi, {} by NumPy",
                numpy.bound
            );
        }
    }
    for (name, mut numpy) in peers {
        // The first sweep warms up.
        middles.push((name.to_owned(), crate::median(&mut numpy.times[1..])));
        numpy.stop();
    }
    let peer = middles.iter().find(|(name, _)| name == "NumPy, one thread").map(|(_, time)| *time);
    for (name, time) in middles {
        let ratio = peer.map_or("-".to_owned(), |peer| format!("{:.0} %", 100.0 * peer / time));
        println!("| {name} | {time:.4} | {ratio} |");
    }
}
