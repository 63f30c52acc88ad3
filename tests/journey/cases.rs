//! The cases with known answers (`cases/README.md`), through the command line: the files of a fit, the parameters
//! after 1 and 10 sweeps, the bound of every sweep.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TOLERANCE: f64 = 1e-10;

/// Cases whose start gives the responsibilities only, so that the bound of the start is not to be compared.
const WITHOUT_START: &[&str] = &["gmm_normal_gamma_joint", "naive_bayes_semisupervised", "matrix_mixture"];

/// Cases of one block, whose bound is the log evidence in closed form from the first sweep; that of the start is not known.
const EVIDENCE: &[&str] =
    &["matrix_intercept", "matrix_normal_wishart", "matrix_normal_gamma", "matrix_known"];

fn folder(case: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("cases").join(case);
    // Cases made by a script that stands beside them.
    if own.is_dir() { own } else { root.join("outside").join(case) }
}

/// Runs the command of a case.
fn run(case: &str, sweeps: u32, out: &Path) -> Output {
    let text = std::fs::read_to_string(folder(case).join("command.txt")).expect("a case has a command");
    let words = words(text.trim());
    assert_eq!(words[0], "cavi");
    let arguments = words[1..].iter().map(|word| match word.as_str() {
        "N" => sweeps.to_string(),
        "OUT" => out.to_string_lossy().into_owned(),
        other => other.to_owned(),
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_cavi-tested"));
    command.args(arguments).current_dir(folder(case)).output().expect("the program starts")
}

/// The words of a command, single quotes taken off.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().expect("there is always one").push(letter),
        }
    }
    words
}

/// The files below a folder, relative to it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder is readable") {
            let path = entry.expect("a folder is readable").path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                found.insert(path.strip_prefix(root).expect("it is below").to_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    if folder.is_dir() {
        walk(folder, folder, &mut found);
    }
    found
}

/// Shape and values of a `.npy` file of doubles in C order.
fn npy(path: &Path) -> (String, Vec<f64>) {
    let bytes = std::fs::read(path).expect("an array is readable");
    assert_eq!(&bytes[..6], b"\x93NUMPY", "{}", path.display());
    let length = match bytes[6] {
        1 => usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10,
        _ => u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize + 12,
    };
    let header = String::from_utf8_lossy(&bytes[10..length]).into_owned();
    assert!(
        header.contains("'<f8'") && header.contains("'fortran_order': False"),
        "{}: {header}",
        path.display()
    );
    let open = header.find('(').expect("a shape");
    let close = header.find(')').expect("a shape");
    let shape = header[open + 1..close].replace(' ', "").trim_end_matches(',').to_owned();
    let number = |chunk: &[u8]| f64::from_le_bytes(chunk.try_into().expect("eight bytes"));
    (shape, bytes[length..].chunks_exact(8).map(number).collect())
}

/// The difference of two arrays by norm, relative to the expected.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let off = norm(&mut found.iter().zip(expected).map(|(found, expected)| found - expected));
    let size = norm(&mut expected.iter().copied());
    if off == 0.0 { 0.0 } else { off / size }
}

/// The columns of a trace by name.
fn trace(path: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a trace is readable");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let place = header.iter().position(|own| *own == name).unwrap_or_else(|| panic!("{name} in {header:?}"));
    lines.map(|line| line.split(',').nth(place).expect("a cell").to_owned()).collect()
}

fn compare(case: &str, sweeps: u32) -> Vec<String> {
    let out = tempfile::tempdir().expect("a temporary folder");
    let out = out.path().join("fit");
    let output = run(case, sweeps, &out);
    if !output.status.success() {
        return vec![format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr))];
    }
    let expected = folder(case).join("expected").join(format!("sweeps_{sweeps}"));
    let mut wrong = Vec::new();
    for part in ["posterior", "axes"] {
        let (own, known) = (files(&out.join(part)), files(&expected.join(part)));
        // Means of members of joint factors stand beside what the cases have.
        let is_mean = |file: &Path| part == "posterior" && file.to_string_lossy().contains(".mean");
        if !own.is_superset(&known) || own.difference(&known).any(|more| !is_mean(more)) {
            wrong.push(format!("{part}: files {own:?} and not {known:?}"));
        }
    }
    for file in files(&expected.join("posterior")) {
        let found = out.join("posterior").join(&file);
        if !found.is_file() {
            continue;
        }
        let (shape, values) = npy(&found);
        let (expected_shape, expected_values) = npy(&expected.join("posterior").join(&file));
        if shape != expected_shape {
            wrong.push(format!("{}: shape {shape} and not {expected_shape}", file.display()));
            continue;
        }
        let off = difference(&values, &expected_values);
        if off.is_nan() || off > TOLERANCE {
            wrong.push(format!("{}: off by {off:e}", file.display()));
        }
    }
    for file in files(&expected.join("axes")) {
        let read = |root: &Path| std::fs::read_to_string(root.join("axes").join(&file)).unwrap_or_default();
        if read(&out) != read(&expected) {
            wrong.push(format!("axes/{}: {:?} and not {:?}", file.display(), read(&out), read(&expected)));
        }
    }
    let (own, known) = (out.join("trace.csv"), expected.join("trace.csv"));
    if trace(&own, "sweep") != trace(&known, "sweep") {
        wrong.push(format!("sweeps {:?} and not {:?}", trace(&own, "sweep"), trace(&known, "sweep")));
        return wrong;
    }
    let skip = usize::from(WITHOUT_START.contains(&case) || EVIDENCE.contains(&case));
    for (row, (own, known)) in trace(&own, "elbo").iter().zip(&trace(&known, "elbo")).enumerate().skip(skip) {
        let (own, known): (f64, f64) = (own.parse().expect("a number"), known.parse().expect("a number"));
        if own.is_nan() || (own - known).abs() > TOLERANCE * known.abs() {
            wrong.push(format!("the bound of sweep {row} is {own} and not {known}"));
        }
    }
    wrong
}

fn check(case: &str) {
    for sweeps in [1, 10] {
        let wrong = compare(case, sweeps);
        assert!(wrong.is_empty(), "{case} after {sweeps} sweeps\n{}", wrong.join("\n"));
    }
}

macro_rules! cases {
    ($($case:ident)*) => { $(#[test] fn $case() { check(stringify!($case)); })* };
}

cases! {
    nmf_kl joint_mu plsa lda lda_tokens gamma_poisson_masked hpf poisson_cp_3mode gfa gfa_masked ragged_hierarchy
    eight_schools naive_bayes_semisupervised gmm_normal_gamma_joint
    matrix_mixture matrix_wishart matrix_effects matrix_intercept matrix_normal_wishart matrix_normal_gamma
    matrix_known pairs_of_features
}
