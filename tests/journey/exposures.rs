//! Exposures of new genomes to known signatures: `fit --fix` and `project` against solvers of convex problems, whose answers
//! `tests/outside/exposures.py` computed.

use std::fs;
use std::path::Path;

use super::texts::cavi;

/// Non-negative least squares is the problem of `nmf_ls` with known components, the likelihood of Poisson counts that of `nmf_kl`. Multiplicative
/// updates approach an exposure of 0 without end, hence the tolerance: 1e-6 of the largest exposure of a genome.
#[test]
fn new_rows_have_the_exposures_that_convex_solvers_find() {
    let expected: serde_json::Value =
        serde_json::from_str(include_str!("../outside/exposures.json")).expect("the file is JSON");
    let directory = tempfile::tempdir().expect("a directory");
    let trained = expected["trained"].as_u64().expect("a number") as usize;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/nmf_gamma/data");
    let read = |file: &str| fs::read_to_string(example.join(file)).expect("the example's file");
    let (counts, samples) = (read("counts.csv"), read("samples.txt"));
    let (types, genomes) = counts.split_once('\n').expect("a header");
    let genomes: Vec<String> =
        samples.lines().zip(genomes.lines()).map(|(name, row)| format!("{name},{row}\n")).collect();
    let table = |name: &str, rows: &[String]| {
        fs::write(directory.path().join(name), format!("genome,{types}\n{}", rows.concat())).expect("a file");
    };
    table("known.csv", &genomes[..trained]);
    table("new.csv", &genomes[trained..]);
    let rows = |of: &str| -> Vec<Vec<f64>> {
        serde_json::from_value(expected[of].clone()).expect("rows of numbers")
    };
    let signatures: Vec<String> = (rows("signatures").iter().enumerate())
        .map(|(place, row)| {
            let values: Vec<String> = row.iter().map(f64::to_string).collect();
            format!("S{place},{}\n", values.join(","))
        })
        .collect();
    table("signatures.csv", &signatures);

    for (program, components, solver) in
        [("nmf_ls", "note=4", "least_squares"), ("nmf_kl", "part=4", "poisson")]
    {
        let fit = format!(
            "fit {program} --data x=known.csv --fix h=signatures.csv --set {components} --out {program}"
        );
        cavi(directory.path(), &fit.split(' ').collect::<Vec<&str>>());
        let project =
            format!("project {program} --data x=new.csv --sweeps 20000 --tol 0 --out new_{program}");
        cavi(directory.path(), &project.split(' ').collect::<Vec<&str>>());
        let found =
            fs::read_to_string(directory.path().join(format!("new_{program}/w.csv"))).expect("exposures");
        assert!(found.lines().next().is_some_and(|head| head.ends_with(",S0,S1,S2,S3")), "{found}");
        let expected = rows(solver);
        assert_eq!(found.lines().count(), 1 + expected.len(), "{found}");
        for (line, expected) in found.lines().skip(1).zip(&expected) {
            let own: Vec<f64> = line.split(',').skip(1).map(|cell| cell.parse().expect("a number")).collect();
            assert_eq!(own.len(), expected.len(), "{line}");
            let largest = expected.iter().copied().fold(0.0, f64::max);
            for (own, expected) in own.iter().zip(expected) {
                assert!((own - expected).abs() < 1e-6 * largest, "{program}, {line}: {own} for {expected}");
            }
        }
    }
}
