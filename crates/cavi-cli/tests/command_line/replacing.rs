//! What stands in a directory when another fit is written to it: kills, full disks, two writers, files of others.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{MODEL, cavi, command, scratch, text};

/// The files below a directory with their bytes.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn collect(root: &Path, directory: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, all);
            } else {
                all.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    collect(directory, directory, &mut all);
    all
}

/// The names of what is in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn prepare(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), "row,a,b,c\nr1,3,0,1\nr2,0,2,5\nr3,1,1,1\n").unwrap();
    directory
}

fn arguments<'a>(seed: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed =
        ["fit", "m.cavi", "--data", "x=x.csv", "--quiet", "--out", "o", "--sweeps", "3", "--seed", seed];
    [&fixed[..], more].concat()
}

/// A fit with this seed, and its status and messages.
fn fit(directory: &Path, seed: &str, more: &[&str]) -> (i32, String) {
    let output = cavi(directory, &arguments(seed, more));
    (output.status.code().unwrap_or(-1), text(&output.stderr))
}

/// The seed of the whole fit that stands in a directory: every file is there that the marker lists, and no other, and the arrays are
/// those of the seed that the summary says.
fn seed_of_whole(out: &Path, posteriors: &BTreeMap<u64, Vec<u8>>) -> u64 {
    let json = |file: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(out.join(file)).unwrap_or_else(|error| panic!("{file}: {error}")))
            .unwrap()
    };
    let (marker, seed) = (json("cavi-files.json"), json("summary.json")["seed"].as_u64().unwrap());
    let listed = marker["files"].as_array().unwrap().iter().map(|own| PathBuf::from(own.as_str().unwrap()));
    let mut listed: Vec<PathBuf> = listed.chain([PathBuf::from("cavi-files.json")]).collect();
    listed.sort();
    assert_eq!(listed, files(out).into_keys().collect::<Vec<_>>());
    assert_eq!(
        posteriors[&seed],
        fs::read(out.join("posterior/w.mean.npy")).unwrap(),
        "arrays of another fit"
    );
    seed
}

#[test]
fn a_killed_fit_leaves_the_old_one_or_the_new_one_whole() {
    let directory = prepare("replace-kill");
    let out = directory.join("o");
    let mut posteriors = BTreeMap::new();
    let mut longest = Duration::ZERO;
    for seed in [1, 2] {
        let started = Instant::now();
        assert_eq!(fit(&directory, &seed.to_string(), &[]).0, 0);
        longest = longest.max(started.elapsed());
        posteriors.insert(seed, fs::read(out.join("posterior/w.mean.npy")).unwrap());
    }
    assert_ne!(posteriors[&1], posteriors[&2]);
    let tries = std::env::var("CAVI_KILLS").ok().and_then(|tries| tries.parse().ok()).unwrap_or(20);
    for number in 0..tries {
        let seed = if number % 2 == 0 { "1" } else { "2" };
        let mut child: Child =
            command(&directory, &arguments(seed, &[])).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the run by the golden ratio, so that any number of tries covers it.
        std::thread::sleep(longest.mul_f64((f64::from(number) * 0.618_033_988_749_895).fract() * 1.2));
        let _ = child.kill();
        child.wait().unwrap();
        seed_of_whole(&out, &posteriors);
    }
    assert_eq!(fit(&directory, "2", &[]).0, 0);
    assert_eq!(seed_of_whole(&out, &posteriors), 2);
    assert_eq!(names(&directory), ["m.cavi", "o", "x.csv"], "what killed fits left is taken away");
}

#[test]
fn what_a_killed_writer_left_is_cleaned_and_nothing_else() {
    let directory = prepare("replace-left");
    assert_eq!(fit(&directory, "1", &[]).0, 0);
    let marked = |name: &str, state: &str, listed: &str| {
        let path = directory.join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("array.npy"), "array").unwrap();
        fs::write(path.join("note.txt"), "note").unwrap();
        let marker = format!("{{\"written_by\": \"cavi\", \"state\": \"{state}\", \"files\": [{listed}]}}");
        fs::write(path.join("cavi-files.json"), marker).unwrap();
    };
    marked("o.new-1-2", "begun", "");
    marked("o.new-3-4", "whole", "\"array.npy\", \"../x.csv\"");
    marked("o.mine", "whole", "\"array.npy\"");
    fs::create_dir(directory.join("o.new-5-6")).unwrap();
    fs::create_dir(directory.join("o.new-7-8")).unwrap();
    fs::write(directory.join("o.new-7-8/own.txt"), "own").unwrap();
    fs::write(directory.join(".o.cavi-lock"), "").unwrap();
    assert_eq!(fit(&directory, "2", &[]), (0, String::new()));
    assert_eq!(names(&directory), ["m.cavi", "o", "o.mine", "o.new-7-8", "x.csv"]);
    assert_eq!(fs::read_to_string(directory.join("o/note.txt")).unwrap(), "note", "an unlisted file is kept");
    assert!(!directory.join("o/array.npy").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_earlier_fit() {
    let directory = prepare("replace-full");
    assert_eq!(fit(&directory, "1", &[]).0, 0);
    let before = files(&directory);
    // The shell's limit on the size of files stands for the disk: the arrays fit, and larger files do not.
    for kilobytes in ["0", "1"] {
        let line = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_cavi")]).args(arguments("2", &["--restarts", "20"]));
        let output = shell.current_dir(&directory).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{kilobytes}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("File too large"), "{}", text(&output.stderr));
        assert!(files(&directory) == before, "{kilobytes}: the earlier fit, and nothing beside it");
    }
}

#[test]
fn a_second_writer_is_told_and_the_first_one_ends_well() {
    let directory = prepare("replace-two");
    assert_eq!(fit(&directory, "1", &[]).0, 0);
    let long = arguments("2", &["--sweeps", "100000000", "--tol", "0"]);
    let long: Vec<&str> = long.into_iter().filter(|own| *own != "3").collect();
    let at = long.iter().position(|own| *own == "--sweeps").unwrap();
    let long = [&long[..at], &long[at + 1..]].concat();
    let mut first = command(&directory, &long).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Err(error) = fs::metadata(directory.join(".o.cavi-lock")) {
        assert!(error.kind() == ErrorKind::NotFound && Instant::now() < deadline, "{error}");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let (status, message) = fit(&directory, "3", &["--force"]);
    assert!(
        status == 2 && message.contains("another run of Cavi is writing to `--out o`"),
        "{status} {message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(fit(&directory, "3", &[]), (0, String::new()), "the lock of a dead process is none");
    assert_eq!(names(&directory), ["m.cavi", "o", "x.csv"]);
}

#[test]
fn files_of_others_stay() {
    let directory = prepare("replace-foreign");
    let out = directory.join("o");
    fs::create_dir_all(out.join("posterior/sub")).unwrap();
    // A file of this name alone makes no fit.
    for (file, own) in [("summary.json", "{}"), ("posterior/thesis.txt", "mine"), ("posterior/sub/x", "x")] {
        fs::write(out.join(file), own).unwrap();
    }
    let before = files(&out);
    let (status, message) = fit(&directory, "1", &[]);
    assert!(
        status == 2 && message.contains("not written by Cavi") && message.contains("--force"),
        "{message}"
    );
    assert!(files(&out) == before);
    for round in 0..2 {
        assert_eq!(fit(&directory, "1", &["--force"]), (0, String::new()));
        let after = files(&out);
        let kept = |file: &str| String::from_utf8_lossy(&after[Path::new(file)]).into_owned();
        assert_eq!(kept("posterior/thesis.txt"), "mine", "{round}");
        assert_eq!(kept("posterior/sub/x"), "x", "{round}");
        assert_eq!(kept("summary.json.earlier"), "{}", "{round}");
        assert!(kept("summary.json").contains("\"seed\": 1"), "{round}");
    }
    // A file under the name of the marker that is not Cavi's.
    fs::create_dir(directory.join("p")).unwrap();
    fs::write(directory.join("p/cavi-files.json"), "[]").unwrap();
    let output = cavi(&directory, &["export", "o", "--csv", "--out", "p", "--force"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("cavi-files.json"));
}

#[test]
fn a_fit_of_a_version_without_markers_is_replaced_and_an_edited_one_is_not() {
    let directory = prepare("replace-earlier");
    let out = directory.join("o");
    let all = ["--restarts", "2", "--keep", "all"];
    assert_eq!(fit(&directory, "1", &all).0, 0);
    fs::remove_file(out.join("cavi-files.json")).unwrap();
    fs::write(out.join("notes.txt"), "mine").unwrap();
    assert_eq!(cavi(&directory, &["summary", "o"]).status.code(), Some(0), "it opens");
    assert_eq!(fit(&directory, "2", &[]), (0, String::new()));
    assert!(!out.join("runs").exists() && out.join("notes.txt").is_file());
    assert_eq!(names(&directory), ["m.cavi", "o", "x.csv"]);
    fs::remove_file(out.join("cavi-files.json")).unwrap();
    fs::write(out.join("model.cavi"), MODEL.replace("Gamma(1", "Gamma(2")).unwrap();
    let (status, message) = fit(&directory, "2", &[]);
    assert!(status == 2 && message.contains("not written by Cavi"), "{message}");
}

#[test]
fn every_command_that_writes_a_directory_writes_so() {
    let directory = prepare("replace-commands");
    assert_eq!(fit(&directory, "1", &[]).0, 0);
    let commands: [&[&str]; 3] = [
        &["export", "o", "--csv", "--quiet"],
        &["project", "o", "--data", "x=x.csv", "--quiet"],
        &["demo", "nmf_kl", "--quiet", "--sweeps", "1"],
    ];
    for own in commands {
        fs::create_dir(directory.join("mine")).unwrap();
        fs::write(directory.join("mine/a.txt"), "a").unwrap();
        let with = |more: &[&str]| cavi(&directory, &[own, more].concat());
        assert_eq!(with(&["--out", "mine"]).status.code(), Some(2), "{own:?}");
        for _ in 0..2 {
            let output = with(&["--out", "p"]);
            assert_eq!(output.status.code(), Some(0), "{own:?}: {}", text(&output.stderr));
        }
        assert_eq!(with(&["--out", "mine", "--force"]).status.code(), Some(0), "{own:?}");
        assert!(directory.join("mine/cavi-files.json").is_file() && directory.join("mine/a.txt").is_file());
        fs::remove_dir_all(directory.join("mine")).unwrap();
        fs::remove_dir_all(directory.join("p")).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", directory.join("link")).unwrap();
    for out in [".", "..", "/", "link", "m.cavi"] {
        if cfg!(not(unix)) && out == "link" {
            continue;
        }
        let output = cavi(&directory, &["export", "o", "--csv", "--out", out]);
        assert_eq!(output.status.code(), Some(2), "{out}: {}", text(&output.stderr));
    }
}

/// The limit of the shell stands for that of a container: the parameters take 9.6 GB.
#[cfg(target_os = "linux")]
#[test]
fn parameters_beyond_the_limit_of_the_process_are_refused() {
    let directory = prepare("replace-limit");
    let line = "ulimit -v 4000000; exec \"$0\" \"$@\"";
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", line, env!("CARGO_BIN_EXE_cavi")]).args(arguments("1", &["--set", "part=100000000"]));
    let output = shell.current_dir(&directory).output().unwrap();
    let message = text(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains("E0804"), "{:?} {message}", output.status);
    let before = message.split(" GB are available").next().unwrap();
    let available: f64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(available < 4.1, "{message}");
    assert_eq!(names(&directory), ["m.cavi", "x.csv"]);
}
