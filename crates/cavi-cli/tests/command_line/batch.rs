//! Passes over shards of an axis before the sweeps: `--batch`, and the line of a program.

use std::fs;

use crate::common::{MODEL, cavi, scratch, text};

const TABLE: &str = ",a,b,c\nr,1,0,2\ns,0,3,1\nt,4,1,0\nu,2,2,5\nv,0,1,1\n";

#[test]
fn passes_over_shards_come_before_the_sweeps() {
    let directory = scratch("batch");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("batched.cavi"), format!("{MODEL}\nfit {{\n  batch row in 2\n}}\n")).unwrap();
    fs::write(directory.join("x.csv"), TABLE).unwrap();
    let fit = |model: &str, options: &[&str]| {
        let own = ["fit", model, "--data", "x=x.csv", "--verify", "--force", "--out", "o"];
        let output = cavi(&directory, &[&own[..], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[0].to_owned(), cells[1].parse::<f64>().unwrap(), cells[4].to_owned())
        };
        let summary: serde_json::Value =
            serde_json::from_slice(&fs::read(directory.join("o/summary.json")).unwrap()).unwrap();
        (trace.lines().skip(1).map(row).collect::<Vec<_>>(), summary)
    };
    let (trace, summary) = fit("m.cavi", &["--batch", "row=2"]);
    let phases: Vec<&str> = trace.iter().map(|row| row.2.as_str()).collect();
    assert_eq!(phases[..6], ["fit", "warmup", "warmup", "warmup", "warmup", "warmup"]);
    assert!(phases[6] == "batch" && phases.ends_with(&["fit"]), "{phases:?}");
    let warm = trace.iter().skip_while(|row| row.0 == "0" || row.2 == "warmup").collect::<Vec<_>>();
    assert!(warm.windows(2).all(|pair| pair[1].1 >= pair[0].1 - 1e-9), "{trace:?}");
    assert_eq!(summary["settings"]["batch"], "row=2");
    assert_eq!(summary["converged"], true);
    // The line of a program does the same, and the option replaces it.
    let (of_program, _) = fit("batched.cavi", &[]);
    assert_eq!(of_program, trace);
    let (without, summary) = fit("batched.cavi", &["--batch", "none"]);
    assert!(without.iter().all(|row| row.2 == "fit"));
    assert_eq!(summary["settings"]["batch"], "none");
}

#[test]
fn what_has_no_shards_is_told() {
    let directory = scratch("batch_refused");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), TABLE).unwrap();
    let cases: [(&[&str], i32, &[&str]); 4] = [
        (&["--batch", "rows"], 2, &["there is no axis `rows`", "did you mean `row`?"]),
        (&["--batch", "row=0"], 2, &["`0` is no number of shards", "1 or greater"]),
        (&["--batch", "row=x"], 2, &["`x` is no number of shards"]),
        (&["--batch", "row", "--allocations", "collapsed"], 1, &["E0616", "`collapsed` may lower the ELBO"]),
    ];
    for (options, status, expected) in cases {
        let own = ["fit", "m.cavi", "--data", "x=x.csv", "--out", "o"];
        let output = cavi(&directory, &[&own[..], options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{options:?}: {said}");
        assert!(expected.iter().all(|part| said.contains(part)), "{options:?}: {said}");
        assert!(!directory.join("o").exists(), "{options:?}");
    }
}
