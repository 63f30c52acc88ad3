//! The cases with known answers: their files bind, their starts are read, and what is written is what they hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cavi::Problem;
use cavi::bind::{DataError, Inputs};
use cavi_executor::Parameters;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases");

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(CASES).expect("the cases are there");
    let mut cases: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    assert_eq!(cases.len(), 14);
    cases
}

/// The program of a case and what its command gives it, files named from the case's folder.
fn open(case: &Path) -> (cavi::Compiled, Inputs) {
    let command = std::fs::read_to_string(case.join("command.txt")).expect("a command");
    let words: Vec<String> = words(&command);
    let of = |option: &str| -> Vec<String> {
        let pairs = words.windows(2).filter(|pair| pair[0] == option);
        let value = |pair: &[String]| {
            let (name, value) = pair[1].split_once('=').expect("NAME=VALUE");
            match value.starts_with("data/") {
                true => format!("{name}={}", case.join(value).display()),
                false => pair[1].clone(),
            }
        };
        pairs.map(value).collect()
    };
    let none = of("--columns");
    let inputs = Inputs::parse(&of("--data"), &none, &none, &of("--labels"), &of("--set"))
        .expect("well-formed options");
    let text = std::fs::read_to_string(case.join("program.cavi")).expect("a program");
    let (compiled, _) = cavi::session::open(&text, "program.cavi", &inputs).expect("the program compiles");
    (compiled, inputs)
}

/// Words as a shell takes them apart, single quotes understood.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in command.trim().chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("it is never empty").push(other),
        }
    }
    words
}

fn problem(case: &Path) -> Problem {
    let (compiled, inputs) = open(case);
    compiled.bind(&inputs).unwrap_or_else(|error| panic!("{}: {error}", case.display()))
}

fn text(problems: &[DataError]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// The files below a directory by their paths in it.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut rest = vec![directory.to_owned()];
    while let Some(next) = rest.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory").filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                rest.push(path);
            } else {
                let name = path.strip_prefix(directory).expect("it is below").to_owned();
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("cavi-binding-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_case_binds_and_has_the_axes_it_should_have() {
    for case in cases() {
        let problem = problem(&case);
        let name = case.file_name().expect("a name").to_string_lossy().into_owned();
        let scratch = Scratch::new(&format!("axes-{name}"));
        let start = cavi_executor::start(&problem.equations, &problem.binding.bound, 1);
        cavi::posterior::write(&problem, &start, &scratch.0).expect("it is written");
        let expected = files(&case.join("expected/sweeps_1/axes"));
        assert_eq!(files(&scratch.0.join("axes")), expected, "{name}");
    }
}

#[test]
fn starts_are_read_and_written_back_byte_for_byte() {
    let mut done = 0;
    for case in cases() {
        let name = case.file_name().expect("a name").to_string_lossy().into_owned();
        let problem = problem(&case);
        let read = |path: &Path| problem.given(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (given, warnings) = read(&case.join("start"));
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
        let start = cavi_executor::start(&problem.equations, &problem.binding.bound, 1);
        let blocks = given.blocks.into_iter().zip(start.blocks);
        let parameters = Parameters { blocks: blocks.map(|(given, own)| given.unwrap_or(own)).collect() };
        let scratch = Scratch::new(&format!("start-{name}"));
        cavi::posterior::write(&problem, &parameters, &scratch.0).expect("it is written");
        let written = files(&scratch.0.join("posterior"));
        for (file, bytes) in files(&case.join("start")) {
            assert_eq!(written.get(&file), Some(&bytes), "{name}: {}", file.display());
        }
        // The same files as a fit writes, with the same headers.
        let expected = files(&case.join("expected/sweeps_1/posterior"));
        // Means of members of joint factors stand beside what the cases have.
        let is_expected = |file: &&PathBuf| expected.contains_key(*file);
        assert_eq!(written.keys().filter(is_expected).count(), expected.len(), "{name}");
        let mut others = written.keys().filter(|file| !is_expected(file));
        assert!(others.all(|file| file.to_string_lossy().contains(".mean")), "{name}");
        for (file, bytes) in &expected {
            assert_eq!(written[file][..128], bytes[..128], "{name}: {}", file.display());
        }
        // A fit's directory is a start too.
        let again: Vec<_> = read(&scratch.0).0.blocks.into_iter().flatten().collect();
        let stored: Vec<_> = parameters.blocks.into_iter().filter(|columns| !columns.is_empty()).collect();
        assert_eq!(again, stored, "{name}");
        done += 1;
    }
    assert!(done >= 10, "only {done} cases were derived");
}

/// Copies the start of a case, so that a test may spoil it.
fn spoiled(case: &str, spoil: impl Fn(&Path)) -> String {
    let case = Path::new(CASES).join(case);
    let problem = problem(&case);
    let name = format!("spoiled-{:?}", std::thread::current().id());
    let scratch = Scratch::new(&name);
    for (file, bytes) in files(&case.join("start")) {
        let path = scratch.0.join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("it is made");
        std::fs::write(path, bytes).expect("it is written");
    }
    spoil(&scratch.0);
    match cavi::init::read(&problem, &scratch.0) {
        Ok((_, warnings)) => warnings.join("\n"),
        Err(errors) => text(&errors),
    }
}

#[test]
fn a_start_that_does_not_fit_is_refused() {
    let remove =
        |name: &'static str| move |path: &Path| std::fs::remove_file(path.join(name)).expect("it is there");
    let found = spoiled("eight_schools", remove("spread.rate.npy"));
    assert!(
        found.contains(
            "the start of `spread` is given in part: `spread.shape` is there, and `spread.rate` is not"
        ),
        "{found}"
    );
    let found = spoiled("gfa", remove("force.cov/vb.npy"));
    assert!(found.contains("`force.cov/vb` is not"), "{found}");
    let write = |name: &'static str, shape: &'static [usize], values: Vec<f64>| {
        move |path: &Path| cavi_files::write_npy(&path.join(name), shape, &values).expect("it is written")
    };
    let found = spoiled("eight_schools", write("worht.mean.npy", &[8], vec![0.0; 8]));
    assert!(found.contains("no variable `worht`") && found.contains("did you mean `worth`?"), "{found}");
    let found = spoiled("eight_schools", write("worth.mean.npy", &[7], vec![0.0; 7]));
    assert!(found.contains("found the shape [7]") && found.contains("the shape [8]"), "{found}");
    let found = spoiled("eight_schools", write("worth.var.npy", &[8], vec![0.0; 8]));
    assert!(found.contains("the start of `worth` at [0]"), "{found}");
    let found = spoiled("plsa", write("lattice.value.npy", &[3, 5], vec![0.3; 15]));
    assert!(found.contains("must sum to 1"), "{found}");
    let found = spoiled("eight_schools", write("worth.tags.npy", &[2], vec![0.0; 2]));
    assert_eq!(found, "");
}

#[test]
fn a_start_that_stands_still_is_warned_about() {
    let write = |path: &Path, name: &str, shape: &[usize], value: f64| {
        let values = vec![value; shape.iter().product()];
        cavi_files::write_npy(&path.join(name), shape, &values).expect("it is written");
    };
    let found = spoiled("nmf_kl", |path| {
        write(path, "girder.value.npy", &[6, 2], 1.0);
        write(path, "lattice.value.npy", &[2, 5], 0.0);
    });
    assert!(found.contains("`lattice` has 10 zeros"), "{found}");
    assert!(
        found.contains("a symmetric start: `girder`, `lattice` are alike for all positions of `strand`"),
        "{found}"
    );
}

#[test]
fn a_shared_covariance_may_be_written_out() {
    let write = |rows: usize, last: f64| {
        move |path: &Path| {
            let mut values: Vec<f64> =
                (0..rows).flat_map(|_| [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0]).collect();
            *values.last_mut().expect("it has entries") = last;
            cavi_files::write_npy(&path.join("score.cov.npy"), &[rows, 3, 3], &values)
                .expect("it is written");
        }
    };
    assert_eq!(spoiled("gfa", write(12, 2.0)), "");
    assert!(spoiled("gfa", write(12, 3.0)).contains("its rows differ"));
    assert_eq!(spoiled("gfa_masked", write(1, 2.0)), "");
    assert!(spoiled("gfa", write(11, 2.0)).contains("found the shape [11, 3, 3]"));
}

#[test]
fn labels_of_a_start_are_matched() {
    let found = spoiled("hpf", |path| {
        let labels = |name: &str, text: &str| {
            std::fs::create_dir_all(path.join("axes")).expect("it is made");
            std::fs::write(path.join("axes").join(name), text).expect("it is written");
        };
        labels("dish.txt", "ham\nfigs\npie\nrice\nsoup\n");
        labels("guest.txt", "Ana\nBo\nCy\nDi\nEd\nGil\n");
    });
    assert!(found.contains("the start has no label `Flo` of axis `guest`"), "{found}");
    assert!(!found.contains("dish"), "{found}");
}
