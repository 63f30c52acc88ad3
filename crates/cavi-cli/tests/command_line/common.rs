//! What the tests of the command line share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A small Poisson factorisation.
pub const MODEL: &str = "model counts\n\naxis row[i]\naxis column[j]\naxis part[k] = 2\n\n\
    data x[i, j] : count, absent = 0\n\n\
    w[i, k] ~ Gamma(1, rate = 1)\nh[k, j] ~ Gamma(1, rate = 1)\n\
    x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n";

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program, to be run in a directory.
pub fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cavi"));
    command.args(arguments).current_dir(directory);
    command
}

/// Runs the program to its end.
pub fn cavi(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().expect("the binary runs")
}

/// What a program printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory of its own for a test, empty at the start.
pub fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("the scratch directory can be made");
    directory
}

/// The status of a fit of one sweep, and what it says on standard error.
pub fn fit(directory: &Path, program: &str, arguments: &[&str]) -> (i32, String) {
    let fixed = ["fit", program, "--sweeps", "1", "--progress", "none", "--out", "o"];
    let output = cavi(directory, &[&fixed[..], arguments].concat());
    (output.status.code().unwrap_or(-1), text(&output.stderr))
}

/// Runs the words of a line, which has to succeed: what it prints, and what it says on standard error.
pub fn run(directory: &Path, line: &str) -> (String, String) {
    let arguments: Vec<&str> = line.split(' ').collect();
    let output = cavi(directory, &arguments);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// What a line with `--json` prints.
pub fn json(directory: &Path, line: &str) -> serde_json::Value {
    serde_json::from_str(&run(directory, &format!("{line} --json")).0).unwrap()
}
