//! Rows of a fit that are projected by it come back: their latents are those of the fit, whatever axis they run along.

use std::path::Path;

use cavi::bind::{ArrayInput, Inputs, SetInput, SetValue};
use cavi::directory::Stored;
use cavi::posterior::NamedArray;
use cavi::project::{self, Projection};
use cavi::{Control, Error, Fit, Problem, Settings};
use cavi_syntax::ast::Allocations;
use cavi_tests::support::{
    Matrix, Program, Ready, Shape, distance, file_of, files_of, programs, random_bound, text_of,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::straight_line::digamma;

/// A relative difference of parameters within which rows have come back.
const CLOSE: f64 = 1e-8;
/// Sweeps of a fit between two looks at whether it still moves, and how many looks there are at most. Every other look is at
/// what accelerated sweeps have left.
const SWEEPS: u64 = 150;
const LOOKS: usize = 10;
/// A fit whose parameters change by less than this in [`SWEEPS`] ordinary sweeps stands still.
const STILL: f64 = 1e-11;

/// Rows that do not come back, and why.
const NOT_BACK: [(&str, &str, &str); 1] = [(
    "nmf_ls",
    "frequency",
    "more factors than frames: a zero that starts anew ends elsewhere on a flat optimum",
)];

/// Rows that do not come back where they start at the average row, since the fit's own start led them to another optimum, or none is
/// unique.
const ELSEWHERE: [(&str, &str, &str); 9] = [
    ("lda_tokens", "doc", "the sweep of the program leaves `z` as it started"),
    ("inline_weighted_lda", "doc", "documents of a few words: one topic or another"),
    ("ragged_multiplicity", "school", "a row of weight 0 keeps its start"),
    ("polylingual_mixture", "family", "as above"),
    ("polylingual_mixture", "lang", "as above"),
    ("inline_two_levels", "region", "a product of two latents of a row: the signs of both may change"),
    ("nmf_cemgil", "frequency", "several optima"),
    ("nmf_ls", "frame", "several optima"),
    ("factor_analysis", "feature", "a mean and loadings of its own, with a flat prior"),
];

/// What rows have come back to that start at the average row, where zeros are reached by multiplicative updates: slower than any
/// power.
const NEAR: f64 = 1e-5;

/// Ordinary sweeps, whatever rule of allocations a program says: by others the fit leaves units out of what rows share, too.
fn settings(sweeps: u64) -> Settings {
    Settings {
        allocations: Some(Allocations::Ordinary),
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
        texts: None,
        summary: Default::default(),
    }
}

fn projected(program: &Program, inputs: &Inputs, directory: &Path, axis: &str) -> Result<Projection, Error> {
    let stored = stored(program);
    let (compiled, _) = cavi::session::open(&program.text, &program.name, inputs)?;
    let rows = project::bind(compiled, inputs, &stored, directory, Some(axis))?;
    rows.fit(&settings(6 * SWEEPS), &mut |_| Control::Continue)
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
    let (mut wrong, mut moving) = (Vec::new(), Vec::new());
    let (mut fits, mut axes, mut cold) = (0, 0, 0);
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
                    // A sweep that leaves a latent out leaves it out here.
                    if error.code() != "E0904" && !error.to_string().contains("the sweep of the program") {
                        wrong.push(format!("{name}: {error}"));
                    }
                    continue;
                }
            };
            let (apart, place) = farthest(&ours, &projection.posterior());
            let own = (program.name.as_str(), axis.name.as_str());
            if apart > CLOSE && !is_among(&NOT_BACK, own) {
                wrong.push(format!("{name}: {place} by {apart:.1e}"));
            }
            axes += 1;
            let other = tempfile::tempdir().expect("a directory");
            cavi::posterior::write(&problem, &fit.parameters, other.path()).expect("it is written");
            forget_rows(&program, other.path(), &axis.name);
            let projection = projected(&program, &inputs, other.path(), &axis.name)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let (apart, place) = farthest(&ours, &projection.posterior());
            if apart > NEAR && !is_among(&ELSEWHERE, own) && !is_among(&NOT_BACK, own) {
                wrong.push(format!("{name}, from the average row: {place} by {apart:.1e}"));
            }
            cold += usize::from(apart <= CLOSE);
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(moving.len() < 30, "these fits do not settle: {moving:?}");
    assert!(fits > 190 && axes > 220 && cold > 200, "{fits} fits, {axes} axes, {cold} from the average row");
}

fn is_among(all: &[(&str, &str, &str)], own: (&str, &str)) -> bool {
    all.iter().any(|(program, axis, _)| own == (program, axis))
}

/// Counts of some rows over 12 columns: two kinds of rows.
fn counts(rows: std::ops::Range<usize>) -> Matrix {
    let count = |i: usize, j: usize| ((i * 7 + j * 5) % 6 + 6 * usize::from(i % 2 == usize::from(j < 6))) / 2;
    rows.map(|i| (0..12).map(|j| count(i, j) as f64).collect()).collect()
}

/// A table with labels: rows `r3`, columns `c0`.
fn table(array: &str, rows: std::ops::Range<usize>) -> ArrayInput {
    let header: String = (0..12).map(|j| format!(",c{j}")).collect();
    let line = |(i, row): (usize, &Vec<f64>)| {
        let cells: String = row.iter().map(|value| format!(",{value}")).collect();
        format!("\nr{}{cells}", rows.start + i)
    };
    let lines: String = counts(rows.clone()).iter().enumerate().map(line).collect();
    file_of(array, "x.csv", format!("{header}{lines}\n").into_bytes())
}

/// A built-in program fitted to twenty rows, and five others projected.
fn fitted_and_projected(name: &str, array: &str, set: &[(&str, f64)]) -> (Ready, Fit, Projection) {
    let ready = Ready::built_in(name, set, vec![table(array, 0..20)]);
    let fit = ready.problem().fit(&settings(60), &mut |_| Control::Continue).expect("it fits");
    let directory = tempfile::tempdir().expect("a directory");
    cavi::posterior::write(ready.problem(), &fit.parameters, directory.path()).expect("it is written");
    let number = |(name, value): &(&str, f64)| SetInput {
        name: (*name).to_owned(),
        group: None,
        value: SetValue::Number(*value),
    };
    let set = set.iter().map(number).collect();
    let inputs = Inputs { data: vec![table(array, 20..25)], set, ..Inputs::default() };
    let program = text_of(name);
    let stored = Stored {
        file_name: name.to_owned(),
        text: program.to_owned(),
        set: Vec::new(),
        allocations: None,
        model_hash: None,
        texts: None,
        summary: Default::default(),
    };
    let (compiled, _) = cavi::session::open(program, name, &inputs).expect("it compiles");
    let rows = project::bind(compiled, &inputs, &stored, directory.path(), None).expect("rows");
    let projection = rows.fit(&settings(2000), &mut |_| Control::Continue).expect("it fits");
    (ready, fit, projection)
}

fn array(all: &[NamedArray], name: &str) -> Vec<f64> {
    all.iter().find(|own| own.name == name).unwrap_or_else(|| panic!("{name}")).values.clone()
}

/// The E step of variational LDA with topics fixed, as scikit-learn's `LatentDirichletAllocation.transform` has it (Hoffman, Blei and
/// Bach 2010, algorithm 1): `phi_vk` proportional to `exp(E log theta_k + E log beta_kv)`, `gamma_k = alpha + sum_v n_v phi_vk`.
#[test]
fn documents_get_the_topics_of_the_e_step_with_fixed_topics() {
    let alpha = 0.8;
    let (ready, fit, projection) = fitted_and_projected("lda", "n", &[("topic", 3.0), ("alpha", alpha)]);
    let topics = array(&ready.problem().posterior(&fit), "beta.concentration");
    let found = array(&projection.posterior(), "theta.concentration");
    assert_eq!(projection.posterior().len(), 2, "the latents of documents alone");
    let log_topics: Matrix = topics
        .chunks(12)
        .map(|topic| topic.iter().map(|own| digamma(*own) - digamma(topic.iter().sum())).collect())
        .collect();
    for (document, found) in counts(20..25).iter().zip(found.chunks(3)) {
        let mut gamma = [1.0; 3];
        for _ in 0..3000 {
            let total = digamma(gamma.iter().sum());
            let log_theta = gamma.map(|own| digamma(own) - total);
            let mut next = [alpha; 3];
            for (v, count) in document.iter().enumerate() {
                let phi: Vec<f64> = (0..3).map(|k| (log_theta[k] + log_topics[k][v]).exp()).collect();
                let sum: f64 = phi.iter().sum();
                next.iter_mut().zip(&phi).for_each(|(next, phi)| *next += count * phi / sum);
            }
            gamma = next;
        }
        for (found, expected) in found.iter().zip(gamma) {
            assert!((found - expected).abs() < 1e-8 * expected, "{found} {expected}");
        }
    }
}

/// Cemgil (2009), equations 25 to 28, with templates fixed: the shape is `a + sum_j x_j phi_jk`, the rate `b + sum_j E h_kj`, with
/// `phi_jk` proportional to `exp(E log w_k + E log h_kj)`.
#[test]
fn rows_of_counts_get_the_weights_of_fixed_parts() {
    let (ready, fit, projection) = fitted_and_projected("nmf_gamma", "x", &[("signature", 3.0)]);
    let ours = ready.problem().posterior(&fit);
    let (shapes, rates) = (array(&ours, "h.shape"), array(&ours, "h.rate"));
    let theirs = projection.posterior();
    let (found_shapes, found_rates) = (array(&theirs, "w.shape"), array(&theirs, "w.rate"));
    let (a, b) = (0.5, 0.01);
    let place = |k: usize, j: usize| k * 12 + j;
    let rate = |k: usize| b + (0..12).map(|j| shapes[place(k, j)] / rates[place(k, j)]).sum::<f64>();
    for (i, row) in counts(20..25).iter().enumerate() {
        let mut shape = [1.0; 3];
        for _ in 0..3000 {
            let mut next = [a; 3];
            for (j, count) in row.iter().enumerate() {
                let log = |k: usize| {
                    digamma(shape[k]) - rate(k).ln() + digamma(shapes[place(k, j)]) - rates[place(k, j)].ln()
                };
                let phi: Vec<f64> = (0..3).map(|k| log(k).exp()).collect();
                let sum: f64 = phi.iter().sum();
                next.iter_mut().zip(&phi).for_each(|(next, phi)| *next += count * phi / sum);
            }
            shape = next;
        }
        for k in 0..3 {
            let (found, expected) = (found_shapes[i * 3 + k], shape[k]);
            assert!((found - expected).abs() < 1e-8 * expected, "{found} {expected}");
            assert!((found_rates[i * 3 + k] - rate(k)).abs() < 1e-12 * rate(k));
        }
    }
}
