//! Sweeps in shards of an axis that move together: `--shards`.

use std::fs;

use crate::common::{MODEL, cavi, scratch, text};

const TABLE: &str = ",a,b,c\nr,1,0,2\ns,0,3,1\nt,4,1,0\nu,2,2,5\nv,0,1,1\n";

#[test]
fn a_fit_in_shards_is_that_of_the_whole() {
    let directory = scratch("shards");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), TABLE).unwrap();
    let fit = |options: &[&str]| {
        let own = ["fit", "m.cavi", "--data", "x=x.csv", "--verify", "--force", "--out", "o"];
        let output = cavi(&directory, &[&own[..], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        let bound = |line: &str| line.split(',').nth(1).unwrap().to_owned();
        let summary: serde_json::Value =
            serde_json::from_slice(&fs::read(directory.join("o/summary.json")).unwrap()).unwrap();
        (trace.lines().skip(1).map(bound).collect::<Vec<_>>(), summary)
    };
    let (whole, summary) = fit(&[]);
    assert_eq!(summary["settings"]["shards"], "none");
    let (one, summary) = fit(&["--shards", "row=3", "--threads", "1"]);
    assert_eq!(summary["settings"]["shards"], "row=3");
    assert_eq!(one.len(), whole.len());
    for (one, whole) in one.iter().zip(&whole) {
        let [one, whole] = [one, whole].map(|own| own.parse::<f64>().unwrap());
        assert!((one - whole).abs() <= 1e-9 * whole.abs(), "{one} {whole}");
    }
    assert_eq!(fit(&["--shards", "row=3", "--threads", "2"]).0, one);
    // As many as there are positions, and of the largest axis.
    let (_, summary) = fit(&["--shards", "auto"]);
    assert_eq!(summary["settings"]["shards"], "row=5");
}

/// Rows that share a covariance, eight of which weigh nothing and fill a shard: that shard has to move the covariance with the others.
#[test]
fn a_shard_of_rows_without_weight_moves_what_its_rows_share() {
    let directory = scratch("shards_weightless");
    let program = "axis row[n]\naxis col[d]\naxis factor[k] = 2\ndata x[n, d] : real\ndata m[n] : multiplicity\n\
        w[d, k] ~ Normal(0, sd = 1)\nz[n, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
        x[n, d] ~ Normal(sum[k](z[n, k] * w[d, k]), prec = tau)\nposterior {\n  q(z[n, :k])\n  q(w[d, :k])\n}\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let line = |n: i32| (0..3).map(|d| ((n * 7 + d * 5) % 11 - 5).to_string()).collect::<Vec<_>>().join(",");
    fs::write(directory.join("x.csv"), (0..24).map(|n| line(n) + "\n").collect::<String>()).unwrap();
    let weights: String = (0..24).map(|n| if n < 8 { "0\n" } else { "2\n" }).collect();
    fs::write(directory.join("m.csv"), weights).unwrap();
    let bounds = |options: &[&str]| -> Vec<f64> {
        let own = ["fit", "m.cavi", "--data", "x=x.csv", "--data", "m=m.csv", "--sweeps", "9", "--tol", "0"];
        let output = cavi(&directory, &[&own[..], &["--force", "--out", "o"], options].concat());
        assert!(output.status.success(), "{options:?}: {}", text(&output.stderr));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        trace.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
    };
    let (whole, shards) = (bounds(&[]), bounds(&["--shards", "row=3"]));
    assert!(whole.len() == shards.len() && !whole.is_empty());
    for (whole, shards) in whole.iter().zip(&shards) {
        assert!((whole - shards).abs() <= 1e-9 * whole.abs(), "{whole} {shards}");
    }
}

#[test]
fn what_cannot_be_cut_is_told() {
    let directory = scratch("shards_refused");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), TABLE).unwrap();
    let cases: [(&[&str], i32, &[&str]); 5] = [
        (&["--shards", "rows"], 2, &["there is no axis `rows`", "did you mean `row`?"]),
        (&["--shards", "row=0"], 2, &["`0` is no number of shards", "1 or greater"]),
        (
            &["--shards", "row=2", "--batch", "row"],
            1,
            &["E0617", "`--batch row` visits shards one after another"],
        ),
        (
            &["--shards", "part=2"],
            1,
            &["E0617", "axis `part` cannot be cut into shards: no data run along it"],
        ),
        (
            &["--batch", "part"],
            1,
            &["E0616", "`--batch part` cannot be had: axis `part` cannot be cut", "no data run along it"],
        ),
    ];
    for (options, status, expected) in cases {
        let own = ["fit", "m.cavi", "--data", "x=x.csv", "--out", "o"];
        let output = cavi(&directory, &[&own[..], options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{options:?}: {said}");
        assert!(expected.iter().all(|part| said.contains(part)), "{options:?}: {said}");
        assert!(!directory.join("o").exists(), "{options:?}");
        // One process has no others that could be fewer.
        assert!(!said.contains("processes"), "{said}");
        // A plan is that of the fit, and ends as it does.
        let output = cavi(&directory, &[&["plan", "m.cavi", "--data", "x=x.csv"], options].concat());
        assert_eq!(output.status.code(), Some(status), "{options:?}: {}", text(&output.stderr));
        let error = |said: &str| said[said.find("error").expect("an error is said")..].to_owned();
        assert_eq!(error(&text(&output.stderr)), error(&said), "{options:?}");
    }
}

#[test]
fn a_sweep_over_many_processes_is_predicted() {
    let directory = scratch("shards_predicted");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let rows: String = (0..64).map(|row| format!("r{row},{},{},1\n", row % 3, row % 5)).collect();
    fs::write(directory.join("x.csv"), format!(",a,b,c\n{rows}")).unwrap();
    let plan = |options: &[&str]| {
        let output = cavi(&directory, &[&["plan", "m.cavi", "--data", "x=x.csv"], options].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, said, _) =
        plan(&["--ranks", "24", "--nodes", "3", "--bandwidth", "10Gb", "--shards", "row=48"]);
    assert_eq!(status, Some(0), "{said}");
    let head = "axis row in 48 shards, 1 thread a process, 3 machines, 10.0 Gb/s each way between them, 20.0 us a message";
    assert!(said.contains(head), "{said}");
    let counts: Vec<&str> = said
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(counts, ["1", "2", "4", "8", "16", "24"], "{said}");
    // Of so few entries the messages take the most.
    assert!(said.contains("exchanging takes the most"), "{said}");
    assert!(said.contains("mpirun -n 24 cavi-mpi fit ... --shards row=48"), "{said}");
    let refused: [(&[&str], i32, &str); 11] = [
        (&["--ranks", "0"], 2, "from 1 to"),
        (&["--ranks", "2", "--nodes", "3"], 2, "no more machines than `--ranks 2`"),
        (&["--ranks", "2", "--bandwidth", "fast"], 2, "expected a rate such as `25Gb`"),
        (&["--ranks", "2", "--latency", "1"], 2, "expected a time such as `20us`"),
        (&["--nodes", "2"], 2, "--ranks"),
        (&["--ranks", "65", "--shards", "row"], 1, "is cut into 64 shards, and there are 65 processes"),
        (&["--ranks", "65", "--shards", "row"], 1, "at most one for each of the 64 positions of `row`"),
        (&["--ranks", "24", "--shards", "row=8"], 1, "`--shards row=24`, or fewer processes"),
        (
            &["--ranks", "4", "--shards", "part"],
            1,
            "axis `part` cannot be cut into shards: no data run along it",
        ),
        (&["--ranks", "4", "--batch", "row"], 1, "`--batch row` visits shards one after another"),
        (&["--ranks", "4", "--batch", "row"], 1, "a fit over several processes cannot be had"),
    ];
    for (options, expected, words) in refused {
        let (status, _, said) = plan(options);
        assert!(status == Some(expected) && said.contains(words), "{options:?}: {said}");
    }
}
