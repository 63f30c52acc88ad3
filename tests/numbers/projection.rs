//! Rows of a fit that are projected by it come back: their latents are those of the fit, whatever axis they run along.

use std::collections::BTreeMap;
use std::path::Path;

use cavi::bind::Inputs;
use cavi::directory::Stored;
use cavi::posterior::NamedArray;
use cavi::project::{self, Projection};
use cavi::{Control, Error, Fit, Problem, Settings};
use cavi_tests::support::{Program, Shape, distance, files_of, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A relative difference of parameters within which rows have come back.
const CLOSE: f64 = 1e-8;
/// Sweeps of a fit between two looks at whether it still moves, and how many looks there are at most. Every other look is at
/// what accelerated sweeps have left.
const SWEEPS: u64 = 300;
const LOOKS: usize = 10;
/// A fit whose parameters change by less than this in [`SWEEPS`] ordinary sweeps stands still.
const STILL: f64 = 1e-11;

/// Fits that are not looked at, since 3000 sweeps leave them moving: points that climb, each visit a few steps of L-BFGS, and a
/// softmax whose bound has flat directions.
const MOVING: [&str; 0] = [];

/// Where rows that start at the average row end at another optimum, or are still on their way, and why.
const ELSEWHERE: [(&str, &str); 0] = [];

fn settings(sweeps: u64) -> Settings {
    Settings {
        sweeps: Some(sweeps),
        tolerance: Some(0.0),
        accelerate: Some(false),
        restarts: Some(1),
        ..Settings::default()
    }
}

/// The largest relative difference of the arrays that `theirs` has; a covariance that is one for all rows in one of them is
/// written out.
fn farthest(ours: &[NamedArray], theirs: &[NamedArray]) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for own in theirs {
        let other =
            ours.iter().find(|other| other.name == own.name).unwrap_or_else(|| panic!("{}", own.name));
        let shape: Vec<usize> =
            own.shape.iter().zip(&other.shape).map(|(own, other)| *own.max(other)).collect();
        let apart = distance(&written_out(own, &shape), &written_out(other, &shape), 1e-3);
        if apart > worst.0 {
            worst = (apart, own.name.clone());
        }
    }
    worst
}

fn written_out(array: &NamedArray, shape: &[usize]) -> Vec<f64> {
    let cells: usize = shape.iter().product();
    let place = |cell: usize| {
        let (mut rest, mut place, mut stride) = (cell, 0, 1);
        for (wide, own) in shape.iter().zip(&array.shape).rev() {
            place += (rest % wide).min(own - 1) * stride;
            rest /= wide;
            stride *= own;
        }
        place
    };
    if cells == array.values.len() {
        array.values.clone()
    } else {
        (0..cells).map(|cell| array.values[place(cell)]).collect()
    }
}

/// A fit that stands still, by ordinary sweeps alone; `None` where it fails or still moves.
fn settled(problem: &Problem) -> Option<Fit> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut fit = problem.fit(&settings(SWEEPS), &mut |_| Control::Continue).ok()?;
    for look in 0..LOOKS {
        let accelerate = Some(look % 2 == 1);
        let before = problem.posterior(&fit);
        cavi::posterior::write(problem, &fit.parameters, directory.path()).expect("it is written");
        let (given, _) = problem.given(directory.path()).ok()?;
        let settings = Settings { given: Some(given), accelerate, ..settings(SWEEPS) };
        fit = problem.fit(&settings, &mut |_| Control::Continue).ok()?;
        if fit.failure.is_some() {
            return None;
        }
        if accelerate == Some(false) && farthest(&problem.posterior(&fit), &before).0 < STILL {
            return Some(fit);
        }
    }
    None
}

fn stored(program: &Program) -> Stored {
    Stored {
        file_name: program.name.clone(),
        text: program.text.clone(),
        set: Vec::new(),
        allocations: None,
        model_hash: None,
    }
}

fn projected(program: &Program, inputs: &Inputs, directory: &Path, axis: &str) -> Result<Projection, Error> {
    let stored = stored(program);
    let (compiled, _) = cavi::session::open(&program.text, &program.name, inputs)?;
    let rows = project::bind(compiled, inputs, &stored, directory, Some(axis))?;
    rows.fit(&settings(3 * SWEEPS), &mut |_| Control::Continue)
}

/// The labels of the axis and of those ragged in it become others: no row is known then.
fn forget_rows(program: &Program, directory: &Path, axis: &str) {
    let symbols = &program.model.symbols;
    let is_below = |own: cavi_algebra::AxisId| {
        std::iter::successors(Some(own), |own| symbols.axis(*own).parent)
            .any(|own| symbols.axis(own).name == axis)
    };
    for index in 0..symbols.axes.len() {
        let id = cavi_algebra::AxisId::from(index);
        let mut files = vec![directory.join("axes").join(format!("{}.txt", symbols.axis(id).name))];
        files.extend(files_in(&directory.join("axes").join(&symbols.axis(id).name)));
        for file in files.iter().filter(|file| is_below(id) && file.is_file()) {
            let labels = std::fs::read_to_string(file).expect("labels");
            let others: String = labels.lines().map(|label| format!("other {label}\n")).collect();
            std::fs::write(file, format!("{others}and one more\n")).expect("it is written");
        }
    }
}

fn files_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

#[test]
fn rows_of_a_fit_come_back() {
    let (mut wrong, mut moving, mut cannot) = (Vec::new(), Vec::new(), BTreeMap::new());
    let (mut fits, mut axes, mut cold) = (0, 0, 0);
    let mut elsewhere = Vec::new();
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(12);
        let shape = Shape { smallest: 3, largest: 5, ..Shape::small(false) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let inputs = files_of(&program, &bound);
        let Ok((compiled, _)) = cavi::session::open(&program.text, &program.name, &inputs) else { continue };
        // Random data may break a rule that only files know.
        let Ok(problem) = compiled.bind(&inputs) else { continue };
        let Some(fit) = settled(&problem) else {
            moving.push(program.name.clone());
            continue;
        };
        fits += 1;
        let directory = tempfile::tempdir().expect("a directory");
        cavi::posterior::write(&problem, &fit.parameters, directory.path()).expect("it is written");
        let ours = problem.posterior(&fit);
        for axis in &program.model.symbols.axes {
            let name = format!("{} along {}", program.name, axis.name);
            let projection = match projected(&program, &inputs, directory.path(), &axis.name) {
                Ok(projection) => projection,
                Err(error) => {
                    if error.code() != "E0904" {
                        wrong.push(format!("{name}: {error}"));
                    }
                    *cannot.entry(error.code()).or_insert(0) += 1;
                    continue;
                }
            };
            let (apart, place) = farthest(&ours, &projection.posterior());
            if apart > CLOSE {
                wrong.push(format!("{name}: {place} by {apart:.1e}"));
            }
            axes += 1;
            let other = tempfile::tempdir().expect("a directory");
            cavi::posterior::write(&problem, &fit.parameters, other.path()).expect("it is written");
            forget_rows(&program, other.path(), &axis.name);
            let projection = projected(&program, &inputs, other.path(), &axis.name)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let (apart, place) = farthest(&ours, &projection.posterior());
            if apart > CLOSE {
                elsewhere.push(format!("{name}: {place} by {apart:.1e}"));
            }
            cold += usize::from(apart <= CLOSE);
        }
    }
    println!(
        "{fits} fits, {axes} axes, {cold} cold, {cannot:?}\nmoving {moving:?}\nelsewhere {}",
        elsewhere.join("\n")
    );
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
