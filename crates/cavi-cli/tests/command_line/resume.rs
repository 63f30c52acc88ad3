//! Fits that are killed or interrupted at any moment, and resumed to the same bytes.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{MODEL, command, scratch, text};

/// A directory with a program that warms up, and data for it.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let row = |i: usize| (0..30).map(|j| ((i * 7 + j * 13) % 5).to_string()).collect::<Vec<_>>().join(",");
    let csv: String = (0..40).map(|i| row(i) + "\n").collect();
    fs::write(directory.join("x.csv"), csv).unwrap();
    directory
}

/// What every fit here is.
const FIT: [&str; 12] = [
    "fit",
    "m.cavi",
    "--data",
    "x=x.csv",
    "--tol",
    "0",
    "--sweeps",
    "1500",
    "--restarts",
    "2",
    "--warmup",
    "means 60",
];

fn fit(more: &[&'static str]) -> Vec<&'static str> {
    FIT.iter().chain(["--heldout", "x=0.1", "--progress", "none"].iter()).chain(more).copied().collect()
}

/// The files of a posterior with their bytes, and the trace without its seconds.
fn bits(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(out.join("posterior"))
        .expect("a posterior")
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap()))
        .collect();
    found.sort();
    let trace = fs::read_to_string(out.join("trace.csv")).expect("a trace");
    let rows = trace.lines().map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        [cells[0], cells[1], cells[2], cells[4]].join(",") + "\n"
    });
    found.push(("trace.csv".to_owned(), rows.collect::<String>().into_bytes()));
    found
}

/// Runs the program to its end: its status and what it printed.
fn cavi(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = crate::common::cavi(directory, arguments);
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn begin(directory: &Path, arguments: &[&str]) -> Child {
    let begun = command(directory, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    begun.expect("the binary runs")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("`kill` is there").success());
}

/// Kills and interrupts at random moments, other numbers of threads each time, until the fit comes to its end.
#[test]
fn a_fit_that_is_killed_again_and_again_has_the_same_bytes() {
    let directory = prepared("resume-killed");
    let begun = Instant::now();
    let (status, said) = cavi(&directory, &fit(&["--threads", "1", "--out", "whole"]));
    assert_eq!(status, Some(0), "{said}");
    let whole = begun.elapsed();
    let expected = bits(&directory.join("whole"));
    let mut moment = 0.1;
    let mut cut_short = 0;
    for round in 0..3 {
        let out = ["a", "b", "c"][round];
        let mut first = fit(&["--threads", "1", "--checkpoint-every", "0.002", "--out", out]);
        for attempt in 0.. {
            let mut child = begin(&directory, &first);
            // Spread over the fit by the golden ratio.
            moment = (moment + 0.618_034) % 1.0;
            sleep(whole.mul_f64(0.1 + 0.5 * moment));
            let is_over = attempt > 20 || child.try_wait().unwrap().is_some();
            if !is_over {
                signal(&child, if (attempt + round) % 2 == 0 { "-KILL" } else { "-INT" });
                cut_short += 1;
            }
            let status = child.wait().expect("it ends");
            first =
                fit(&["--threads", ["1", "2"][attempt % 2], "--checkpoint-every", "0.002", "--resume", out]);
            if is_over || status.success() {
                break;
            }
        }
        assert_eq!(bits(&directory.join(out)), expected, "round {round}");
        let left: Vec<String> = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with('.'))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    assert!(cut_short >= 3, "only {cut_short} fits were cut short");
}

/// An interrupt writes a checkpoint, and what it leaves is refused to another fit, and says what is different.
#[test]
fn a_resumed_fit_is_the_same_fit() {
    let directory = prepared("resume-same");
    let endless = |more: &[&'static str]| -> Vec<&str> {
        fit(more).into_iter().map(|own| if own == "1500" { "1000000" } else { own }).collect()
    };
    let arguments = endless(&["--out", "o", "--checkpoint-every", "1000"]);
    let mut child = begin(&directory, &arguments);
    sleep(Duration::from_millis(700));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        directory.join(".o.cavi-checkpoints/fit.json").exists() && directory.join("o/summary.json").exists()
    );

    let resumed = |more: &[&'static str]| {
        let own: Vec<&'static str> = ["--resume", "o"].into_iter().chain(more.iter().copied()).collect();
        cavi(&directory, &endless(&own))
    };
    for (more, told) in [
        (&["--seed", "9"][..], "--seed is 9 and was 0"),
        (&["--elbo-every", "7"], "--elbo-every is 7 and was 1"),
        (&["--accelerate", "auto"], "--accelerate is auto and was none"),
        (&["--schedule", "w"], "--schedule is not that of the fit"),
    ] {
        let (status, said) = resumed(more);
        assert!(status == Some(2) && said.contains(told), "{more:?}: {said}");
    }
    fs::write(
        directory.join("x.csv"),
        fs::read_to_string(directory.join("x.csv")).unwrap().replace('4', "3"),
    )
    .unwrap();
    let (status, said) = resumed(&[]);
    assert!(status == Some(2) && said.contains("data `x` is not that of the fit"), "{said}");
    fs::write(directory.join("m.cavi"), MODEL.replace("Gamma(", "Gamma(1 + ")).unwrap();
    let (status, said) = resumed(&[]);
    assert!(status == Some(2) && said.contains("the program is not that of the fit"), "{said}");
}

/// A fit without a checkpoint starts anew, one that is finished stays, and both say so; damaged checkpoints are told.
#[test]
fn what_is_found_is_said() {
    let directory = prepared("resume-said");
    let run = |more: &[&'static str]| cavi(&directory, &fit(more));
    let (status, said) = run(&["--resume", "o"]);
    assert!(status == Some(0) && said.contains("`o` has no checkpoint: the fit starts anew"), "{said}");
    let written = fs::metadata(directory.join("o/trace.csv")).unwrap().modified().unwrap();
    let (status, said) = run(&["--resume", "o"]);
    assert!(
        status == Some(0) && said.contains("`o` holds this fit, finished: nothing is to be resumed"),
        "{said}"
    );
    let (status, said) = run(&["--resume", "o", "--seed", "4"]);
    assert!(
        status == Some(2) && said.contains("holds another fit, which is finished: --seed is 4 and was 0"),
        "{said}"
    );
    assert_eq!(fs::metadata(directory.join("o/trace.csv")).unwrap().modified().unwrap(), written);

    let mut child = begin(&directory, &fit(&["--checkpoint-every", "0", "--out", "p"]));
    let place = directory.join(".p.cavi-checkpoints");
    while !place.join("run-1.before").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the fit ended without a checkpoint");
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!directory.join("p").exists());
    // The data are the same, and another part of them is held out.
    let without = [&FIT[..], &["--progress", "none", "--resume", "p", "--out", "q"]].concat();
    let (status, said) = cavi(&directory, &without);
    assert!(
        status == Some(2) && said.contains("is another fit: --heldout is none and was x=0.1\n"),
        "{said}"
    );
    // A single bit of what the fit is.
    let facts = fs::read_to_string(place.join("fit.json")).unwrap();
    let digit = facts.find("\"data `x`\": \"").expect("the hash of the data") + "\"data `x`\": \"".len();
    let mut flipped = facts.clone().into_bytes();
    flipped[digit] ^= 1;
    fs::write(place.join("fit.json"), &flipped).unwrap();
    let (status, said) = run(&["--resume", "p", "--out", "q"]);
    assert!(status == Some(1) && said.contains("fit.json` is damaged"), "{said}");
    fs::write(place.join("fit.json"), facts).unwrap();
    let copy = fs::read(place.join("run-1.before")).unwrap();
    fs::write(place.join("run-1.before"), &copy[..copy.len() / 2]).unwrap();
    // A single bit is noticed.
    let mut flipped = copy.clone();
    flipped[copy.len() / 2] ^= 1;
    fs::write(place.join("run-1"), &flipped).unwrap();
    let (status, said) = run(&["--resume", "p", "--out", "q"]);
    assert!(
        status == Some(1) && said.contains("is damaged, and no other one of this run is whole"),
        "{said}"
    );
    fs::write(place.join("run-1.before"), &copy).unwrap();
    let (status, said) = run(&["--resume", "p", "--out", "q"]);
    assert!(status == Some(0) && said.contains("run-1` is damaged; the one before it is used"), "{said}");
    assert!(said.contains("resuming `p`"), "{said}");
    assert_eq!(bits(&directory.join("q")), bits(&directory.join("o")));

    let (status, said) = cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv"]);
    assert!(status == Some(2) && said.contains("--out"), "{said}");
}

/// Labels of 200 kB do not fit where a file may have 64 kB, which the system says as of a full disk; the checkpoints do, and the fit goes on from them.
#[test]
fn a_fit_that_could_not_be_written_is_finished_from_its_checkpoints() {
    let directory = scratch("resume-unwritten");
    fs::write(
        directory.join("m.cavi"),
        "axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 1)\nx[n] ~ Normal(m, sd = 1)\n",
    )
    .unwrap();
    let long = "a".repeat(2_000);
    let table: String = (0..100).map(|row| format!("{long}{row},{row}\n")).collect();
    fs::write(directory.join("x.csv"), format!("item,x\n{table}")).unwrap();
    let line = ["fit", "m.cavi", "--data", "x=x.csv", "--progress", "none", "--checkpoint-every", "0"];
    let limited = |more: &[&str]| {
        let own = command(&directory, &[]);
        let script =
            format!("trap '' XFSZ; ulimit -f 128; exec {} \"$@\"", own.get_program().to_string_lossy());
        let arguments = ["-c", script.as_str(), "sh"].into_iter().chain(line).chain(more.iter().copied());
        let output = Command::new("sh").args(arguments).current_dir(&directory).output().expect("a shell");
        (output.status.code(), text(&output.stderr))
    };
    let (status, said) = limited(&["--out", "o"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("an error of the system") && said.contains("large"), "{said}");
    assert!(said.contains("checkpoints of this fit stand") && said.contains("`--resume o`"), "{said}");
    assert!(!directory.join("o").exists());
    let (status, said) = cavi(&directory, &[&line[..], &["--resume", "o"]].concat());
    assert!(status == Some(0) && said.contains("resuming `o`"), "{said}");
    assert!(directory.join("o/axes/item.txt").is_file());
}
