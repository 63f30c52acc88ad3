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

#[test]
fn what_cannot_be_cut_is_told() {
    let directory = scratch("shards_refused");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), TABLE).unwrap();
    let cases: [(&[&str], i32, &[&str]); 4] = [
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
