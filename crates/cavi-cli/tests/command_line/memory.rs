//! What takes more memory than there is, is refused with status 1 before it is begun: plans, headers, files that inflate without an end.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::common::{MODEL, cavi, command, fit, scratch, text};

/// A NumPy file of zeros.
fn zeros(shape: [usize; 2]) -> Vec<u8> {
    let header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", shape[0], shape[1]);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.bytes());
    bytes.resize(bytes.len() + 8 * shape[0] * shape[1], 0);
    bytes
}

/// Compresses a file by a tool of the system; nothing where there is none.
fn compressed(directory: &Path, tool: &[&str], name: &str) {
    let run = std::process::Command::new(tool[0]).args(&tool[1..]).arg(name).current_dir(directory).status();
    assert!(run.expect("the tool is there").success());
}

fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), "1,2,0\n0,1,3\n").unwrap();
    directory
}

/// A fit that ends within status 1, and what it says.
fn refused(directory: &Path, arguments: &[&str]) -> String {
    let (status, message) = fit(directory, "m.cavi", arguments);
    assert_eq!(status, 1, "{arguments:?}: {message}");
    assert!(!directory.join("o").exists(), "{arguments:?}");
    message
}

#[test]
fn a_plan_beyond_the_limit_is_refused_with_both_figures_and_what_would_help() {
    let directory = prepared("memory-plan");
    let limited = ["--data", "x=x.csv", "--set", "part=2000000", "--memory-limit", "300MB"];
    let message = refused(&directory, &limited);
    let parts = ["E0805", " of memory", "`--memory-limit` is 300.0 MB", "are left", "--set AXIS=SIZE"];
    for part in parts.into_iter().chain(["cavi pack", "--scratch DIR"]) {
        assert!(message.contains(part), "{part}: {message}");
    }
    fs::write(directory.join("more.csv"), "1,2,0,4\n0,1,3,2\n".repeat(20)).unwrap();
    let choose = [
        "choose",
        "m.cavi",
        "--set",
        "part=200000,300000",
        "--data",
        "x=more.csv",
        "--memory-limit",
        "200MB",
    ];
    let output = cavi(&directory, &choose);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--memory-limit"), "{}", text(&output.stderr));
    let simulate = ["simulate", "m.cavi", "--set", "row=10000", "--set", "column=10000", "--out", "s"];
    let output = cavi(&directory, &[&simulate[..], &["--memory-limit", "0.5GiB"]].concat());
    let message = text(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains("a draw of `x` takes 1.6 GB"), "{message}");
    // What fits is not refused, and the limit changes no number.
    for (limit, out) in [("2GB", "a"), ("40GB", "b")] {
        let small =
            ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "5", "--memory-limit", limit, "--out", out];
        let output = cavi(&directory, &small);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let posterior = |out: &str| fs::read(directory.join(out).join("posterior/w.mean.npy")).unwrap();
    assert!(posterior("a") == posterior("b"));
}

#[test]
fn new_rows_are_held_to_the_limit() {
    let directory = prepared("memory-rows");
    let output = cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "5", "--out", "f"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::write(directory.join("new.npy"), zeros([1_000_000, 3])).unwrap();
    for arguments in [&["project", "f", "--out", "p"][..], &["score", "f"]] {
        let limited = [arguments, &["--data", "x=new.npy", "--memory-limit", "60MB", "--quiet"]].concat();
        let output = cavi(&directory, &limited);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains("`--memory-limit` is 60.0 MB"), "{message}");
    }
}

#[test]
fn what_inflates_beyond_the_limit_is_refused_with_what_was_inflated() {
    let directory = prepared("memory-bombs");
    fs::write(directory.join("x.npy"), zeros([10_000, 2000])).unwrap();
    let mut lines = fs::File::create(directory.join("big.csv")).unwrap();
    let line = "0,".repeat(50_000) + "0\n";
    (0..1000).for_each(|_| lines.write_all(line.as_bytes()).unwrap());
    drop(lines);
    compressed(&directory, &["gzip", "-1"], "big.csv");
    compressed(&directory, &["python3", "-c", ZIP], "x.npy");
    for name in ["big.csv.gz", "x.npz"] {
        let message = refused(&directory, &["--data", &format!("x={name}"), "--memory-limit", "100MB"]);
        for part in [name, "a compressed file of which", "MB were inflated", "`--memory-limit` is 100.0 MB"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
    let message = refused(&directory, &["--data", "x=x.npy", "--memory-limit", "100MB"]);
    assert!(message.contains("an array of 160.0 MB"), "{message}");
}

/// Packs the file that is named after it as `x.npz`.
const ZIP: &str = "import sys, zipfile\nwith zipfile.ZipFile('x.npz', 'w', zipfile.ZIP_DEFLATED) as archive: archive.write(sys.argv[1])";

#[test]
fn headers_of_gigantic_sizes_are_refused() {
    let directory = prepared("memory-headers");
    let market =
        |kind: &str, sizes: &str| format!("%%MatrixMarket matrix {kind} real general\n{sizes}\n1 1 1\n");
    let mut claimed = zeros([0, 0]);
    let header = String::from_utf8_lossy(&claimed[10..]).replace("(0, 0)", "(4000000000, 4000000000)");
    claimed.truncate(8);
    claimed.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    claimed.extend(header.bytes());
    let files = [
        ("entries.mtx", market("coordinate", "4 4 400000000000").into_bytes()),
        ("rows.mtx", market("coordinate", "400000000 400000000 1").into_bytes()),
        ("array.mtx", market("array", "400000 400000").into_bytes()),
        ("last.tns", b"4294967295 4294967295 1\n".to_vec()),
        ("claims.npy", claimed),
    ];
    for (name, bytes) in files {
        fs::write(directory.join(name), bytes).unwrap();
        let message = refused(&directory, &["--data", &format!("x={name}"), "--memory-limit", "1GB"]);
        assert!(message.contains(name), "{name}: {message}");
    }
}

#[cfg(unix)]
#[test]
fn devices_directories_and_circles_of_links_are_refused_and_a_pipe_is_read() {
    use std::os::unix::fs::symlink;
    let directory = prepared("memory-kinds");
    symlink("/dev/zero", directory.join("zero.csv")).unwrap();
    symlink("circle.csv", directory.join("circle.csv")).unwrap();
    fs::create_dir(directory.join("d.npy")).unwrap();
    for (arguments, part) in [
        (&["--data", "x=zero.csv"][..], "a device"),
        (&["--data", "x=circle.csv"], "circle.csv"),
        (&["--data", "x=d.npy"], "d.npy"),
        (&["--data", "x=x.csv", "--labels", "row=zero.csv"], "a device"),
        (&["--data", "x=x.csv", "--init", "zero.csv"], "zero.csv"),
    ] {
        let message = refused(&directory, arguments);
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
    let output = cavi(&directory, &["check", "zero.csv"]);
    let message = text(&output.stderr);
    assert!(output.status.code() == Some(1) && message.contains("a device"), "{message}");

    let made = std::process::Command::new("mkfifo").arg(directory.join("pipe.csv")).status();
    assert!(made.expect("`mkfifo` is there").success());
    let child =
        command(&directory, &["fit", "m.cavi", "--data", "x=pipe.csv", "--sweeps", "2", "--out", "o"]);
    let child = { child }.stderr(std::process::Stdio::piped()).spawn().unwrap();
    fs::copy(directory.join("x.csv"), directory.join("pipe.csv")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("x: 2 row x 3 column"), "{}", text(&output.stderr));
}

/// Above a few megabytes the forecast is what the run takes beside what was read.
#[test]
fn the_summary_has_the_memory_that_was_taken_beside_the_forecast() {
    let directory = prepared("memory-peak");
    let program = "axis i[n]\naxis j[p]\ndata x[n, p] : real\na[n] ~ Normal(0, sd = 1)\nb[p] ~ Normal(0, sd = 1)\n\
                   x[n, p] ~ Normal(a[n] + b[p], sd = 1)\n";
    fs::write(directory.join("n.cavi"), program).unwrap();
    fs::write(directory.join("x.npy"), zeros([2000, 1000])).unwrap();
    let output =
        cavi(&directory, &["fit", "n.cavi", "--data", "x=x.npy", "--sweeps", "3", "--out", "o", "--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = |key: &str| summary[key].as_u64().unwrap_or_else(|| panic!("{summary:#}"));
    let (peak, planned) = (bytes("peak_bytes"), bytes("planned_bytes"));
    // The data and the file that they were read from.
    assert!((32_000_000..40_000_000).contains(&peak), "{peak}");
    assert!((16_000_000..40_000_000).contains(&planned), "{planned}");
}

#[cfg(target_os = "linux")]
#[test]
fn arrays_beyond_the_limit_lie_in_the_directory_of_scratch_and_change_no_bit() {
    let directory = prepared("memory-scratch");
    fs::create_dir(directory.join("disk")).unwrap();
    fs::write(directory.join("x.csv"), "1,2,0,4\n0,1,3,2\n".repeat(20)).unwrap();
    let common = ["fit", "m.cavi", "--data", "x=x.csv", "--set", "part=30000", "--sweeps", "3"];
    let limited = ["--memory-limit", "60MB"];
    let in_memory = cavi(&directory, &[&common[..], &["--out", "memory"]].concat());
    assert!(in_memory.status.success(), "{}", text(&in_memory.stderr));
    let beyond = cavi(&directory, &[&common[..], &limited, &["--out", "none"]].concat());
    assert_eq!(beyond.status.code(), Some(1), "{}", text(&beyond.stderr));
    let on_disk =
        cavi(&directory, &[&common[..], &limited, &["--scratch", "disk", "--out", "scratch"]].concat());
    assert!(on_disk.status.success(), "{}", text(&on_disk.stderr));
    let posterior =
        |out: &str, name: &str| fs::read(directory.join(out).join("posterior").join(name)).unwrap();
    for file in fs::read_dir(directory.join("memory/posterior")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(posterior("memory", &name) == posterior("scratch", &name), "{name}");
    }
    let scratch_bytes = |out: &str| -> serde_json::Value {
        let summary = fs::read(directory.join(out).join("summary.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&summary).unwrap()["scratch_bytes"].clone()
    };
    assert!(scratch_bytes("memory").is_null());
    // Shapes and rates of `w` alone have 40 rows of 30,000 numbers.
    assert!(scratch_bytes("scratch").as_u64() > Some(2 * 40 * 30_000 * 8), "{}", scratch_bytes("scratch"));
    // Nothing stays there.
    assert_eq!(fs::read_dir(directory.join("disk")).unwrap().count(), 0);
    // A limit that leaves nothing is named where the first file is read.
    let nothing = refused(&directory, &["--data", "x=x.csv", "--memory-limit", "1"]);
    assert!(
        nothing.contains("`m.cavi` cannot be read") && nothing.contains("`--memory-limit` is 1 bytes"),
        "{nothing}"
    );
    let nowhere = cavi(&directory, &[&common[..], &["--scratch", "nowhere", "--out", "none"]].concat());
    let message = text(&nowhere.stderr);
    assert_eq!(nowhere.status.code(), Some(1), "{message}");
    assert!(message.contains("`--scratch nowhere`") && message.contains("Without `--scratch`"), "{message}");
    assert!(!directory.join("none").exists());
}
