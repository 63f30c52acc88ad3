//! Files that Cavi wrote and reads back, with other bytes in them: what a fit starts from, and checkpoints.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use cavi::bind::{ArrayInput, Inputs};
use cavi::checkpoint::{Checkpoints, Found};
use cavi::directory::Stored;
use cavi::{Control, Error, Problem, Settings};
use tempfile::TempDir;

const PROGRAM: &str = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count\n\
    w[i, k] ~ Gamma(1, rate = 1)\nh[:j, k] ~ Dirichlet(0.5)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\n";

fn problem() -> Problem {
    let values = vec![3.0, 0.0, 1.0, 2.0, 5.0, 0.0, 1.0, 1.0, 4.0, 0.0, 2.0, 7.0];
    let data = vec![ArrayInput::dense("x", &[4, 3], values).expect("a matrix of counts")];
    let inputs = Inputs { data, ..Inputs::default() };
    let (compiled, _) =
        cavi::session::open(PROGRAM, "fuzzed.cavi", &inputs).expect("the program has no mistake");
    compiled.bind(&inputs).expect("the data are right")
}

/// A directory of this process.
fn scratch() -> &'static Path {
    static SCRATCH: OnceLock<TempDir> = OnceLock::new();
    SCRATCH.get_or_init(|| tempfile::tempdir().expect("a directory for files")).path()
}

/// A start: the first byte chooses which file of a directory the others replace. It is read, or refused with a message; what is read
/// is what a run can begin from.
pub fn start(bytes: &[u8]) {
    if let [choice, rest @ ..] = bytes {
        begins(*choice, rest);
    }
}

/// Whether a fit begins from a directory in which one file holds these bytes.
pub fn begins(choice: u8, rest: &[u8]) -> bool {
    cavi_files::memory::limit_to(512 << 20);
    let problem = problem();
    let directory = scratch().join(format!("start-{:?}", std::thread::current().id()));
    let own = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        path.parent()
            .map(fs::create_dir_all)
            .transpose()
            .and_then(|_| fs::write(&path, bytes))
            .expect("a file is written");
    };
    let _ = fs::remove_dir_all(&directory);
    own("model.cavi", PROGRAM.as_bytes());
    own("summary.json", b"{}");
    own("axes/row.txt", b"0\n1\n2\n3\n");
    own("posterior/w.shape.npy", &npy(&[4, 2]));
    own("posterior/w.rate.npy", &npy(&[4, 2]));
    own("posterior/h.concentration.npy", &npy(&[3, 2]));
    let name = [
        "posterior/w.shape.npy",
        "posterior/h.concentration.npy",
        "axes/row.txt",
        "start.npz",
        "summary.json",
        "model.cavi",
    ];
    let name = name[usize::from(choice) % name.len()];
    own(name, rest);
    let place: PathBuf = if name == "start.npz" { directory.join(name) } else { directory.clone() };
    if let Err(error) = Stored::open(&directory) {
        assert!(!error.to_string().is_empty());
    }
    let fitted = problem.given(&place).and_then(|(given, _)| {
        let settings = Settings { given: Some(given), sweeps: Some(1), ..Settings::default() };
        problem.fit(&settings, &mut |_| Control::Continue)
    });
    explained(fitted.map(|_| ()))
}

/// Whether it went well; if not, there is a message.
fn explained(outcome: Result<(), Error>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// An array of ones.
fn npy(shape: &[usize]) -> Vec<u8> {
    let shape = shape.iter().map(|size| format!("{size},")).collect::<String>();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    bytes.extend(u16::try_from(padded).expect("a short header").to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = padded - 1).bytes());
    let entries: usize = shape.split(',').filter_map(|size| size.parse::<usize>().ok()).product();
    (0..entries).for_each(|_| bytes.extend(1f64.to_le_bytes()));
    bytes
}

/// The hash that stands at the end of a checkpoint (FNV-1a of 64 bits), so that damage is not found by it alone.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A checkpoint: the bytes are pairs of a position and a change, made in one that was written, whose hash is then put right if the first
/// byte is even. It is read or refused; a fit goes on from it, or says that it is damaged.
pub fn checkpoint(bytes: &[u8]) {
    if let [choice, changes @ ..] = bytes {
        resumes(*choice, changes);
    }
}

/// Whether a fit goes on from a checkpoint with these changes.
pub fn resumes(choice: u8, changes: &[u8]) -> bool {
    let problem = problem();
    let settings = Settings { sweeps: Some(6), tolerance: Some(0.0), ..Settings::default() };
    let out = scratch().join(format!("fit-{:?}", std::thread::current().id()));
    let written = Checkpoints::new(&out, Some(Duration::ZERO), None, &problem, &settings);
    let first = Settings { checkpoints: Some(written), ..settings.clone() };
    let mut sweeps = 0;
    problem
        .fit(&first, &mut |_| {
            sweeps += 1;
            if sweeps == 3 { Control::Stop } else { Control::Continue }
        })
        .expect("the first part of the fit");
    let place = cavi::checkpoint::place_of(&out).expect("a place for checkpoints");
    let path = place.join("run-1");
    let mut own = fs::read(&path).expect("a checkpoint was written");
    for change in changes.chunks_exact(3) {
        let position = usize::from(u16::from_le_bytes([change[0], change[1]])) % own.len();
        own[position] = change[2];
    }
    if choice & 2 != 0 {
        own.truncate(changes.first().map_or(0, |first| own.len() * usize::from(*first) / 256));
    }
    if choice & 1 == 0 && own.len() >= 8 {
        let end = own.len() - 8;
        let right = hash(&own[..end]).to_le_bytes();
        own[end..].copy_from_slice(&right);
    }
    fs::write(&path, own).expect("the checkpoint is damaged");
    if choice & 4 != 0 {
        let _ = fs::remove_file(place.join("run-1.before"));
    }
    let resumed = cavi::checkpoint::find(&out, &problem, &settings).and_then(|found| {
        let earlier = if let Found::Runs(earlier) = found { Some(earlier) } else { None };
        let was_found = earlier.is_some();
        let resumed = Checkpoints::new(&out, None, earlier, &problem, &settings);
        let settings = Settings { checkpoints: Some(resumed), ..settings.clone() };
        let fit = problem.fit(&settings, &mut |_| Control::Continue)?;
        Ok((was_found, fit))
    });
    fs::remove_dir_all(&place).expect("the checkpoints are taken away");
    let goes_on = resumed.as_ref().is_ok_and(|(was_found, _)| *was_found);
    explained(resumed.map(|_| ())) && goes_on
}
