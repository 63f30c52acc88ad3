//! Tables as people have them, each to its answer in at most three commands: a catalogue of mutations to signatures, views with
//! shuffled and missing samples to shared factors, and measurements in groups to effects with intervals.

use std::fs;
use std::path::{Path, PathBuf};

use super::texts::cavi;

fn example(file: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The 21 breast cancers of Nik-Zainal and others (2012), with types as rows and samples as columns, as catalogues come.
#[test]
fn a_catalogue_of_mutations_becomes_signatures() {
    let directory = tempfile::tempdir().expect("a directory");
    let table = example("nmf_gamma/data/counts.csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let samples = example("nmf_gamma/data/samples.txt");
    let mut catalogue = format!("Type\t{}\n", samples.lines().collect::<Vec<&str>>().join("\t"));
    for (column, name) in rows[0].iter().enumerate() {
        let counts: Vec<&str> = rows[1..].iter().map(|row| row[column]).collect();
        catalogue.push_str(&format!("{name}\t{}\n", counts.join("\t")));
    }
    fs::write(directory.path().join("catalogue.txt"), catalogue).expect("a file");

    let (shown, _) = cavi(directory.path(), &["data", "catalogue.txt"]);
    assert!(
        shown.contains("96 row (A[C>A]A, A[C>A]C, ...) x 21 column (Sample 1, Sample 2, ...)"),
        "{shown}"
    );
    let fit = "fit nmf_gamma --data x=catalogue.txt --transpose x --set signature=4 --restarts 3 --sweeps 1500 --out o";
    let (_, said) = cavi(directory.path(), &fit.split(' ').collect::<Vec<&str>>());
    assert!(said.contains("21 genome (Sample 1, Sample 2, ...) x 96 type (A[C>A]A, A[C>A]C, ...)"), "{said}");
    let (top, _) = cavi(directory.path(), &["top", "o", "h", "--n", "4"]);
    let signatures: Vec<Vec<&str>> = top
        .lines()
        .filter(|line| line.trim_start().starts_with("signature"))
        .map(|line| line.split_whitespace().skip(2).collect())
        .collect();
    assert_eq!(signatures.len(), 4, "{top}");
    // Deamination of methylated cytosine before guanine, in all four contexts; and the APOBEC enzymes, after a thymine.
    let all = |of: fn(&str) -> bool| signatures.iter().any(|own| own.iter().all(|name| of(name)));
    assert!(all(|name| name.ends_with("[C>T]G")), "{top}");
    assert!(all(|name| name.starts_with("T[C>")), "{top}");
}

/// Three descriptions of handwritten digits, the rows of each in an order of its own, and 250 of 400 samples without one of them.
#[test]
fn views_with_shuffled_and_missing_samples_become_factors() {
    let directory = tempfile::tempdir().expect("a directory");
    // 7, 11 and 13 are prime to 400, so that each order holds every sample once.
    for (view, step, kept) in [("mor", 7, 150), ("pix", 11, 400), ("zer", 13, 400)] {
        let table = example(&format!("gfa/data/{view}.csv"));
        let lines: Vec<&str> = table.lines().collect();
        let mut own = format!(",{}\n", lines[0]);
        for place in 0..kept {
            let sample = place * step % 400;
            own.push_str(&format!("P{sample:03},{}\n", lines[1 + sample]));
        }
        fs::write(directory.path().join(format!("{view}.csv")), own).expect("a file");
    }
    let fit = "fit gfa --data x[mor]=mor.csv --data x[pix]=pix.csv --data x[zer]=zer.csv --set factor=6 --sweeps 60 --out o";
    let (shown, said) = cavi(directory.path(), &fit.split(' ').collect::<Vec<&str>>());
    assert!(said.contains("400 sample (P000, P007, P014, ...)"), "{said}");
    assert!(said.contains("1,500 missing"), "{said}");
    let summary = fs::read_to_string(directory.path().join("o/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    for (view, least) in [("mor", 0.3), ("pix", 0.4), ("zer", 0.3)] {
        let share = summary["explained"]["x"]["groups"][view].as_f64().expect("a share");
        assert!(least < share && share < 0.8, "{view}: {share}\n{shown}");
    }
    // The rows of a sample are matched by its label: without that, no factor is shared, and the least view is not explained.
    let (export, _) = cavi(directory.path(), &["export", "o", "--csv", "--out", "tables"]);
    let z = fs::read_to_string(directory.path().join("tables/z.csv")).expect("a table");
    assert_eq!(z.lines().count(), 401, "{export}");
    assert!(z.lines().nth(2).is_some_and(|line| line.starts_with("P007,")), "{z:.100}");
}

/// Yields of dyestuff from six batches (Davies and Goldsmith 1972). Maximum likelihood has a mean of 1527.5, a deviation within
/// batches of 49.5 and one between them of 37.3, by which the effect of a batch is shrunk to 0.739 of its mean's; the restricted
/// likelihood has 42.0 and 0.783 (Bates, lme4, 2010, section 1.3). With vague priors the effects are near those of the latter.
#[test]
fn measurements_in_groups_become_effects_with_intervals() {
    const YIELDS: [(&str, [u32; 5]); 6] = [
        ("A", [1545, 1440, 1440, 1520, 1580]),
        ("B", [1540, 1555, 1490, 1560, 1495]),
        ("C", [1595, 1550, 1605, 1510, 1560]),
        ("D", [1445, 1440, 1595, 1465, 1545]),
        ("E", [1595, 1630, 1515, 1635, 1625]),
        ("F", [1520, 1455, 1450, 1480, 1445]),
    ];
    let directory = tempfile::tempdir().expect("a directory");
    let mut table = "batch,sample,yield\n".to_owned();
    for (batch, yields) in YIELDS {
        for (place, number) in yields.iter().enumerate() {
            table.push_str(&format!("{batch},{},{number}\n", place + 1));
        }
    }
    fs::write(directory.path().join("yields.csv"), table).expect("a file");
    let program = "axis batch[b]\naxis sample[s] in batch[b]\ndata y[b, s] : real\nm ~ Normal(1500, sd = 1000)\n\
        a[b] ~ Normal(m, prec = between)\nbetween ~ Gamma(0.01, rate = 0.01)\nwithin ~ Gamma(0.01, rate = 0.01)\n\
        y[b, s] ~ Normal(a[b], prec = within)\n";
    fs::write(directory.path().join("batches.cavi"), program).expect("a file");

    cavi(directory.path(), &["check", "batches.cavi"]);
    let (_, said) = cavi(
        directory.path(),
        &["fit", "batches.cavi", "--data", "y=yields.csv", "--tol", "1e-10", "--out", "o"],
    );
    assert!(said.contains("30 sample in batch (A 5, B 5, C 5, D 5, E 5, F 5)"), "{said}");
    cavi(directory.path(), &["export", "o", "--csv", "--out", "tables"]);
    let effects = fs::read_to_string(directory.path().join("tables/a.long.csv")).expect("a table");
    let mut lines = effects.lines();
    assert_eq!(lines.next(), Some("batch,mean,sd,q05,q50,q95"));
    for ((batch, yields), line) in YIELDS.iter().zip(lines) {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers: Vec<f64> = fields[1..].iter().map(|own| own.parse().expect("a number")).collect();
        let [mean, deviation, low, _, high] = numbers[..] else { panic!("{line}") };
        assert_eq!(fields[0], *batch);
        let effect = f64::from(yields.iter().sum::<u32>()) / 5.0 - 1527.5;
        assert!((mean - 1527.5 - 0.783 * effect).abs() < 0.03 * effect.abs() + 0.1, "{line}");
        // 1.6449 deviations to each side, the deviation near that of the conditional modes of lme4, 19.4 to 19.6.
        assert!((high - low - 2.0 * 1.644_853_626_951 * deviation).abs() < 1e-6, "{line}");
        assert!(18.0 < deviation && deviation < 21.5, "{line}");
    }
}
