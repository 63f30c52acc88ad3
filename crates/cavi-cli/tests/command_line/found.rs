//! What a fit found, on the screen: shares of components, lines of `report`, orders of `top`, intervals.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};
use serde_json::Value;

const CLUSTERS: &str = "model clusters\n\naxis sample[n]\naxis side[j]\naxis cluster[k] = 3\n\ndata x[n, j] : real\n\n\
    pi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\nmu[k, j] ~ Normal(0, sd = 10)\nx[n, j] ~ Normal(mu[z[n], j], sd = 1)\n\n\
    init {\n  mu = kmeans(x)\n}\n\nreport {\n  compare z with known.csv:kind\n  intervals mu\n}\n";

/// Three groups of ten, far apart, in turn.
fn clusters(directory: &Path) {
    let mut data = ",a,b\n".to_owned();
    let mut known = "sample,weight,kind\n".to_owned();
    for n in 0..30_i32 {
        let (group, noise) = (n % 3, f64::from(n) / 30.0 - 0.5);
        data += &format!("s{n},{},{}\n", f64::from(group * 12) + noise, f64::from(12 - group * 12) - noise);
        // In another order than the data.
        let own = 29 - n;
        known += &format!("s{own},1,{}\n", ["low", "mid", "top"][usize::try_from(own % 3).unwrap()]);
    }
    fs::write(directory.join("x.csv"), data).unwrap();
    fs::write(directory.join("known.csv"), known).unwrap();
    fs::write(directory.join("m.cavi"), CLUSTERS).unwrap();
}

fn shown(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = cavi(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

const FIT: [&str; 9] = ["fit", "m.cavi", "--data", "x=x.csv", "--progress", "none", "--out", "o", "--force"];

#[test]
fn classes_are_compared_with_known_labels() {
    let directory = scratch("found_compare");
    clusters(&directory);
    let (printed, _) = shown(&directory, &FIT);
    assert!(printed.contains("z against known.csv:kind: adjusted Rand index 1.000"), "{printed}");
    assert!(printed.contains("cluster  low  mid  top"), "{printed}");
    assert!(printed.contains("cluster in x: 3 of 3 have 1 % or more of the entries"), "{printed}");
    assert!(printed.contains("mu: means with intervals of 90 %, "), "{printed}");
    // The same shares from the directory.
    let (summary, _) = shown(&directory, &["summary", "o"]);
    assert!(summary.contains("cluster in x: 3 of 3 have 1 % or more of the entries: "), "{summary}");
    // Intervals of 90 % of a Normal: 1.6449 standard deviations on both sides.
    let (table, _) = shown(&directory, &["summary", "o", "mu"]);
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["cluster", "side", "mean", "sd", "q05", "q95"]);
    for row in &rows[1..] {
        let own: Vec<f64> = row[2..].iter().map(|own| own.parse().unwrap()).collect();
        assert!((own[2] - (own[0] - 1.644_853_627 * own[1])).abs() < 1e-3, "{row:?}");
        assert!((own[3] - (own[0] + 1.644_853_627 * own[1])).abs() < 1e-3, "{row:?}");
    }
}

/// A file with one label a line has one for each row: the kinds of 30 rows in turn, of which the fit finds three clusters of ten.
#[test]
fn classes_are_compared_with_a_label_for_each_row() {
    let directory = scratch("found_rows");
    clusters(&directory);
    let program = CLUSTERS.replace("known.csv:kind", "known.txt");
    fs::write(directory.join("m.cavi"), program).unwrap();
    let kinds = |missing: usize| -> String {
        let kind = |n: usize| if n == missing { "" } else { ["low", "mid", "top"][n % 3] };
        (0..30).map(|n| format!("{}\n", kind(n))).collect()
    };
    fs::write(directory.join("known.txt"), kinds(30)).unwrap();
    let (printed, said) = shown(&directory, &FIT);
    assert!(printed.contains("z against known.txt: adjusted Rand index 1.000"), "{printed}{said}");
    let heading = printed.lines().position(|line| line.trim_start() == "cluster  low  mid  top");
    let table: Vec<&str> = printed.lines().skip(heading.unwrap() + 1).take(3).collect();
    for row in &table {
        let mut counts: Vec<&str> = row.split_whitespace().skip(1).collect();
        counts.sort_unstable();
        assert_eq!(counts, [".", ".", "10"], "{printed}");
    }
    // A row without a label says nothing.
    fs::write(directory.join("known.txt"), kinds(4)).unwrap();
    let (printed, said) = shown(&directory, &FIT);
    assert!(printed.contains("z against known.txt: adjusted Rand index 1.000"), "{printed}{said}");
    // A label too few is no label for each row.
    fs::write(directory.join("known.txt"), "low\nmid\nlow\n").unwrap();
    let (_, said) = shown(&directory, &FIT);
    assert!(said.contains("the file has 3 labels, and the axis `sample` 30 positions"), "{said}");
}

#[test]
fn a_file_that_is_not_there_or_not_of_the_axis_is_told() {
    let directory = scratch("found_absent");
    clusters(&directory);
    fs::remove_file(directory.join("known.csv")).unwrap();
    let (printed, said) = shown(&directory, &FIT);
    assert!(
        printed.contains("z: compared with nothing, since there is no file `known.csv:kind`"),
        "{printed}"
    );
    assert!(!said.contains("warning"), "{said}");
    fs::write(directory.join("known.csv"), "kind\na\nb\n").unwrap();
    let (_, said) = shown(&directory, &FIT);
    assert!(said.contains("the file has 2 labels, and the axis `sample` 30 positions"), "{said}");
    fs::write(directory.join("known.csv"), "sample,other\ns0,a\n").unwrap();
    let (_, said) = shown(&directory, &FIT);
    assert!(said.contains("`compare z with known.csv:kind`: "), "{said}");
    // A variable without classes is refused at its place.
    fs::write(directory.join("w.cavi"), CLUSTERS.replace("compare z with", "compare mu with")).unwrap();
    let output = cavi(&directory, &["check", "w.cavi"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("E0611") && said.contains("`mu` has no classes that could be compared"), "{said}");
}

/// One line written twice in the place of another leaves 29 labels, all of which agree; with another value it is not known which holds.
#[test]
fn a_label_that_stands_twice_does_not_join_a_table_by_order() {
    let directory = scratch("found_twice");
    clusters(&directory);
    let known = fs::read_to_string(directory.join("known.csv")).unwrap();
    let twice = |kind: &str| {
        let known = known.replace("s0,1,low\n", &format!("s1,1,{kind}\n"));
        fs::write(directory.join("known.csv"), known).unwrap();
        shown(&directory, &FIT)
    };
    let (printed, said) = twice("mid");
    assert!(printed.contains("z against known.csv:kind: adjusted Rand index 1.000"), "{printed}{said}");
    let (printed, said) = twice("top");
    assert!(said.contains("`s1` is `mid` in line 30 and `top` in line 31"), "{said}");
    assert!(!printed.contains("adjusted Rand"), "{printed}");
}

#[test]
fn words_are_ordered_by_weight_lift_and_frex() {
    let directory = scratch("found_top");
    let model = "model topics\n\naxis doc[d]\naxis word[v]\naxis topic[k] = 2\n\ndata n[d, v] : count, absent = 0\n\n\
        theta[d, :k] ~ Dirichlet(0.5)\nbeta[k, :v] ~ Dirichlet(0.1)\nn[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n\n\
        init {\n  beta[k, :v] ~ Dirichlet(5)\n}\n\nreport {\n  bars word in beta[k, :v]\n}\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    // `all` is frequent everywhere; `red` and `rare` are of the first kind of text, `blue` of the second.
    let mut table = "doc,word,count\n".to_owned();
    for d in 0..20 {
        let own = if d % 2 == 0 {
            [("all", 30), ("red", 20), ("rare", 1)]
        } else {
            [("all", 30), ("blue", 20), ("odd", 1)]
        };
        own.iter().for_each(|(word, count)| table += &format!("d{d},{word},{count}\n"));
    }
    fs::write(directory.join("n.csv"), table).unwrap();
    let arguments =
        ["fit", "m.cavi", "--data", "n=n.csv", "--progress", "none", "--restarts", "5", "--out", "o"];
    let (printed, _) = shown(&directory, &arguments);
    assert!(printed.contains("beta: entries over word\n  topic 0\n    all"), "{printed}");
    let summary: Value =
        serde_json::from_slice(&fs::read(directory.join("o/summary.json")).unwrap()).unwrap();
    let own = &summary["components"]["n"]["topic"];
    let shares: Vec<f64> =
        own["shares"].as_array().unwrap().iter().map(|own| own.as_f64().unwrap()).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && own["measure"] == "units", "{own}");
    let first = |by: &str| -> Vec<String> {
        let (printed, _) = shown(&directory, &["top", "o", "beta", "--n", "1", "--by", by]);
        let word = |line: &str| line.split_whitespace().last().unwrap_or_default().to_owned();
        let mut words: Vec<String> = printed.lines().skip(1).map(word).collect();
        words.sort();
        words
    };
    assert_eq!(first("weight"), ["all", "all"]);
    assert_eq!(first("frex"), ["blue", "red"]);
    let lift = first("lift");
    assert!(!lift.contains(&"all".to_owned()), "{lift:?}");
    // Documents that are typical of a topic.
    let (printed, _) = shown(&directory, &["top", "o", "theta", "--over", "doc", "--n", "3"]);
    assert!(printed.starts_with("theta: the largest entries over doc\n"), "{printed}");
    let output = cavi(&directory, &["top", "o", "beta", "--by", "size"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn entries_with_signs_have_no_lift() {
    let directory = scratch("found_signs");
    clusters(&directory);
    shown(&directory, &FIT);
    let output = cavi(&directory, &["top", "o", "mu", "--by", "frex"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("entries of `mu` have no lift and no exclusivity: its entries have signs"),
        "{said}"
    );
}

#[test]
fn the_largest_entries_of_a_computed_name_are_those_of_its_draws() {
    let directory = scratch("found_computed");
    let program = "axis item[n]\ndata x[n] : real\nm[n] ~ Normal(0, sd = 1)\nb[n] = 2 * m[n]\nx[n] ~ Normal(b[n], sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("x.csv"), "item,x\na,1\nb,2\nc,5\n").unwrap();
    shown(&directory, &FIT);
    let output = cavi(&directory, &["top", "o", "b"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("has no latent `b`") && said.contains("`cavi sample o b` draws it"), "{said}");
    let (_, _) = shown(&directory, &["sample", "o", "b", "--out", "s"]);
}

/// Known classes are joined by the column that has the labels of the axis, wherever it stands in the table.
#[test]
fn known_classes_are_joined_by_the_column_with_the_labels() {
    let directory = scratch("found_joined");
    let program = "axis person[p]\naxis item[j]\naxis class[k] = 2\ndata x[p, j] : real\npi[:k] ~ Dirichlet(1)\nm[k, j] ~ Normal(0, sd = 5)\n\
        z[p] ~ Categorical(pi)\nx[p, j] ~ Normal(m[z[p], j], sd = 1)\nreport {\n  compare z with known.csv:class\n}\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let class = |person: usize| person * 7 % 3 % 2;
    let mut data = "person,a,b,c\n".to_owned();
    let mut known = "sex,class,person\n".to_owned();
    for person in 0..20 {
        let far = if class(person) == 0 { -3.0 } else { 3.0 };
        data += &format!("id{person},{},{},{}\n", far + 0.1 * person as f64 % 0.5, far, -far);
        // In another order.
        let other = (person * 3 + 5) % 20;
        known += &format!("{},c{},id{other}\n", ["f", "m"][other % 2], class(other));
    }
    fs::write(directory.join("x.csv"), data).unwrap();
    fs::write(directory.join("known.csv"), known).unwrap();
    let line = "fit m.cavi --data x=x.csv --restarts 5 --seed 1 --out o --progress none";
    let output = cavi(&directory, &line.split_whitespace().collect::<Vec<_>>());
    let shown = text(&output.stdout);
    assert!(shown.contains("adjusted Rand index 1.000"), "{shown}{}", text(&output.stderr));
}
