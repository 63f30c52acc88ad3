//! How a fit lives in a terminal and in a pipeline: Ctrl-C, closed pipes, progress.

#![cfg(unix)]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{MODEL, cavi, command, scratch, text};

/// A directory with a program and data for it.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let row = |i: usize| (0..30).map(|j| ((i * 7 + j * 13) % 5).to_string()).collect::<Vec<_>>().join(",");
    let csv: String = (0..40).map(|i| row(i) + "\n").collect();
    fs::write(directory.join("x.csv"), csv).unwrap();
    directory
}

/// A fit that would go on for hours, begun: its first line of progress has been read.
fn endless(directory: &Path) -> Child {
    let arguments = [
        "fit",
        "m.cavi",
        "--data",
        "x=x.csv",
        "--sweeps",
        "1000000000",
        "--tol",
        "0",
        "--threads",
        "1",
        "--out",
        "o",
    ];
    let mut child = command(directory, &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let stderr = child.stderr.as_mut().expect("it is piped");
    let mut seen = String::new();
    let mut byte = [0];
    // The line of a sweep after the first: sweeps are under way.
    while !seen.lines().any(|line| line.starts_with("sweep ") && !line.starts_with("sweep 0/")) {
        assert_eq!(stderr.read(&mut byte).expect("it is open"), 1, "the fit ended: {seen}");
        seen.push(char::from(byte[0]));
    }
    child
}

/// Sends SIGINT by the command `kill`, and waits for the end.
fn interrupt(child: &mut Child) -> Option<i32> {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("`kill` is there").success());
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return status.code();
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().expect("it is our child");
            panic!("the fit goes on after Ctrl-C");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupted_fit_writes_its_last_completed_sweep() {
    let directory = prepared("interrupt");
    let mut child = endless(&directory);
    assert_eq!(interrupt(&mut child), Some(130));
    let out = directory.join("o");
    for file in ["model.cavi", "summary.json", "trace.csv", "posterior/w.shape.npy", "axes/row.txt"] {
        assert!(out.join(file).exists(), "{file} is missing");
    }
    let trace = fs::read_to_string(out.join("trace.csv")).unwrap();
    let last = trace.lines().last().expect("there are sweeps");
    let mut fields = last.split(',');
    let (sweep, elbo) = (fields.next().unwrap(), fields.next().unwrap());
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["sweeps"].to_string(), sweep);
    assert_eq!(summary["converged"], false);

    // The posterior is the state after that sweep: a fit that starts there has its ELBO.
    let arguments = ["fit", "m.cavi", "--data", "x=x.csv", "--init", "o", "--sweeps", "0", "--out", "again"];
    let output = cavi(&directory, &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let again = fs::read_to_string(directory.join("again/trace.csv")).unwrap();
    let found: f64 = again.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
    let elbo: f64 = elbo.parse().unwrap();
    assert!((found - elbo).abs() <= 1e-10 * elbo.abs(), "{found} and {elbo}");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let directory = prepared("pipe");
    let fit = ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "2", "--out", "o"];
    for arguments in [&["derive", "lda"][..], &["list"], &["show", "gfa"], &fit] {
        let mut child = command(&directory, arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it is our child");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {message}");
        assert!(!message.contains("error") && !message.contains("panic"), "{arguments:?}: {message}");
    }
    assert!(directory.join("o/summary.json").exists(), "the fit was written before its result was printed");
}

#[test]
fn progress_outside_a_terminal_is_plain_lines() {
    let directory = prepared("plain");
    let arguments = ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "5", "--tol", "0", "--out", "o"];
    let output = cavi(&directory, &arguments);
    let shown = text(&output.stderr);
    assert!(!shown.contains(['\r', '\x1b']), "{shown:?}");
    // What was read comes first, a line an array.
    assert!(
        shown.starts_with("x: 40 row x 30 column, 960 entries, 240 zeros, 0 missing, sum 2,400\n"),
        "{shown}"
    );
    assert!(shown.lines().skip(1).all(|line| line.starts_with("sweep ")), "{shown}");
    assert!(shown.lines().last().is_some_and(|line| line.starts_with("sweep 5/5  ELBO ")), "{shown}");
    for (silent, lines) in [(&["--quiet"][..], 0), (&["--progress", "none"], 1)] {
        let output = cavi(&directory, &[&arguments[..], silent].concat());
        assert_eq!(text(&output.stderr).lines().count(), lines, "{}", text(&output.stderr));
    }
}

/// `script` (util-linux) runs a command on a pseudo-terminal.
#[cfg(target_os = "linux")]
#[test]
fn progress_on_a_terminal_is_a_bar() {
    let directory = prepared("bar");
    let fit = format!(
        "'{}' fit m.cavi --data x=x.csv --sweeps 20000 --tol 0 --elbo-every 100 --out o",
        env!("CARGO_BIN_EXE_cavi")
    );
    let run = Command::new("script")
        .args(["--quiet", "--return", "--command", &fit, "/dev/null"])
        .current_dir(&directory)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = run else {
        eprintln!("`script` is not installed: the bar was not looked at");
        return;
    };
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}");
    // The bar is drawn over itself, and taken away at the end.
    assert!(shown.contains("/20000 ") && shown.contains('>') && shown.contains("\x1b["), "{shown:?}");
    assert!(shown.trim_end().ends_with("written to o"), "{shown:?}");
}

/// A person at a terminal is told once where more is said: of the first error, not of the warning before it.
#[test]
fn a_terminal_is_told_of_the_index_of_codes() {
    let directory = scratch("index");
    let program = "axis item[n]\ndata x[n] : real\nconst c = 1\nx[n] ~ Normal(m, sd = s)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let check = format!("'{}' check m.cavi", env!("CARGO_BIN_EXE_cavi"));
    let run = Command::new("script")
        .args(["--quiet", "--return", "--command", &check, "/dev/null"])
        .current_dir(&directory)
        .stdin(Stdio::null())
        .output();
    let Ok(output) = run else {
        eprintln!("`script` is not installed: the last line was not looked at");
        return;
    };
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.trim_end().ends_with("`cavi explain E0201` says more"), "{shown:?}");
    assert_eq!(shown.matches("says more").count(), 1, "{shown:?}");
}
