//! `cavi impute`, rankings, metrics, `match`, `choose` and `compare`: what they print and write, and what they say of wrong questions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{MODEL, cavi, scratch, text};
use serde_json::Value;

/// Counts of two groups of rows, which have two groups of columns.
fn table(rows: std::ops::Range<usize>) -> String {
    let mut lines = vec!["row,column,count".to_owned()];
    for i in rows {
        for j in 0..8 {
            let count = if i % 2 == j % 2 { 3 + (i + j) % 3 } else { (i * j) % 2 };
            if count > 0 {
                lines.push(format!("r{i},c{j},{count}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Numbers with missing entries, along columns of other means and scales.
const NORMAL: &str = "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA, center over i, scale over i\n\
    u[i] ~ Normal(0, sd = 1)\nv[j] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(u[i] * v[j], sd = 0.5)\n";

fn numbers() -> String {
    let mut lines = vec![",a,b,c".to_owned()];
    for i in 0..10 {
        let u = f64::from(i) - 4.5;
        let cell = |j: i32, value: f64| if i == 2 * j + 1 { String::new() } else { value.to_string() };
        lines.push(format!("r{i},{},{},{}", cell(0, 100.0 + u), cell(1, 5.0 - 2.0 * u), cell(2, 10.0 * u)));
    }
    lines.join("\n") + "\n"
}

fn succeed(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = cavi(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let (out, _) = succeed(directory, &[arguments, &["--json"]].concat());
    serde_json::from_str(&out).expect("JSON on standard output")
}

/// A mistake: the status, and the message, which has all of these words.
fn refuse(directory: &Path, arguments: &[&str], status: i32, words: &[&str]) {
    let output = cavi(directory, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
    assert!(words.iter().all(|word| message.contains(word)), "{arguments:?}: {message}");
    assert!(!message.contains("panicked"), "{message}");
}

fn lines(directory: &Path, file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(directory.join(file)).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Programs, data, and a fit `fit` of counts with a held-out part.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    let write = |file: &str, text: &str| fs::write(directory.join(file), text).unwrap();
    write("m.cavi", MODEL);
    write("x.csv", &table(0..12));
    write("normal.cavi", NORMAL);
    write("n.csv", &numbers());
    fit(&directory, "m.cavi", "x=x.csv", "fit", &["--heldout", "x=0.3", "--restarts", "3"]);
    directory
}

fn fit(directory: &Path, model: &str, data: &str, out: &str, more: &[&str]) {
    let fixed = ["fit", model, "--data", data, "--out", out, "--sweeps", "200", "--quiet"];
    succeed(directory, &[&fixed[..], more].concat());
}

#[test]
fn missing_entries_come_back_in_their_own_units() {
    let directory = prepared("asking_impute");
    fit(&directory, "normal.cavi", "x=n.csv", "n", &[]);
    let said = json(&directory, &["impute", "n"]);
    assert_eq!(said["arrays"]["x"]["n_entries"], 3);
    assert_eq!(said["arrays"]["x"]["n_rows_without_entries"], 0);
    let found = lines(&directory, "n/imputed/x.csv");
    assert_eq!(found[0], ["row", "column", "mean", "sd"]);
    // r1 of a, r3 of b, r5 of c, of lines through known numbers.
    for (row, (label, column, truth, sd)) in
        found[1..].iter().zip([("r1", "a", 96.5, 3.0), ("r3", "b", 8.0, 6.0), ("r5", "c", 5.0, 30.0)])
    {
        assert_eq!((row[0].as_str(), row[1].as_str()), (label, column));
        let (mean, own): (f64, f64) = (row[2].parse().unwrap(), row[3].parse().unwrap());
        assert!((mean - truth).abs() < sd / 3.0, "{label}, {column}: {mean}, not {truth}");
        // The noise has half the deviation of the column.
        assert!(0.4 * sd < own && own < 0.8 * sd, "{label}, {column}: sd {own}");
    }
    // All entries of one row, in one file, with what the data have.
    succeed(&directory, &["impute", "n", "--all", "--for", "row=r1", "--out", "one.csv"]);
    let all = lines(&directory, "one.csv");
    assert_eq!(all[0], ["row", "column", "mean", "sd", "value"]);
    assert_eq!(all[1][2..4], found[1][2..4]);
    assert_eq!((all.len(), all[1][4].as_str(), all[2][4].as_str()), (4, "", "12"));
    // Means alone are the same, and no count is missing.
    succeed(&directory, &["impute", "n", "--draws", "0", "--out", "means"]);
    let means = lines(&directory, "means/x.csv");
    assert!(means[1..].iter().zip(&found[1..]).all(|(own, both)| own[2] == both[2] && own[3].is_empty()));
    assert!(succeed(&directory, &["impute", "fit"]).0.contains("no entry is missing"));
    // Of counts the expectation is the sum of products of the means, over the share of the units that the fit was given.
    succeed(
        &directory,
        &["impute", "fit", "--all", "--for", "row=r0", "--for", "column=c2", "--out", "c.csv"],
    );
    let row = &lines(&directory, "c.csv")[1];
    let (w, h) = (lines_of(&directory, "w", "row r0"), lines_of(&directory, "h", "column c2"));
    let expected: f64 = w.iter().zip(&h).map(|(w, h)| w * h).sum::<f64>() / 0.7;
    assert!((row[2].parse::<f64>().unwrap() - expected).abs() < 1e-9 * expected, "{row:?}, not {expected}");
}

/// The means of a variable of `fit` at a label, from its exported table.
fn lines_of(directory: &Path, variable: &str, at: &str) -> Vec<f64> {
    succeed(directory, &["export", "fit", "--csv", "--quiet"]);
    let rows = lines(directory, &format!("fit/export/{variable}.long.csv"));
    let (axis, label) = at.split_once(' ').unwrap();
    let column = rows[0].iter().position(|name| name == axis).unwrap();
    let mean = rows[0].iter().position(|name| name == "mean").unwrap();
    rows[1..].iter().filter(|row| row[column] == label).map(|row| row[mean].parse().unwrap()).collect()
}

#[test]
fn columns_are_ranked_for_rows() {
    let directory = prepared("asking_rank");
    let (all, _) = succeed(&directory, &["top", "fit", "--rank", "column", "--for", "row", "--n", "4"]);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!((lines[0], lines.len()), ("row,rank,column,expected", 1 + 12 * 4));
    // Rows of one kind like columns of their kind.
    assert!(lines[1..5].iter().all(|line| line.starts_with("r0,")));
    let mut liked: Vec<&str> = lines[1..5].iter().map(|line| line.split(',').nth(2).unwrap()).collect();
    liked.sort_unstable();
    assert_eq!(liked, ["c0", "c2", "c4", "c6"]);
    fs::write(directory.join("train.csv"), "row,column\nr1,c1\nr1,c5\nr1,c99\n").unwrap();
    let ask = ["top", "fit", "--rank", "column", "--for", "row=r1", "--n", "9", "--not-in", "train.csv"];
    let one = json(&directory, &ask);
    assert_eq!(one["n_unknown"], 1);
    assert_eq!(one["rankings"][0]["for"]["row"], "r1");
    let ranking = one["rankings"][0]["ranking"].as_array().unwrap();
    let names: Vec<&str> = ranking.iter().map(|own| own["column"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 6);
    assert!(!names.contains(&"c1") && !names.contains(&"c5"));
    let values: Vec<f64> = ranking.iter().map(|own| own["expected"].as_f64().unwrap()).collect();
    assert!(values.windows(2).all(|pair| pair[0] >= pair[1]));
    // What the fit has seen is left out; of new rows that were projected there are rankings too.
    fs::write(directory.join("new.csv"), table(12..14)).unwrap();
    succeed(&directory, &["project", "fit", "--data", "x=new.csv", "--out", "new", "--quiet"]);
    let (projected, _) = succeed(&directory, &["top", "new", "--rank", "column", "--for", "row", "--n", "1"]);
    let kinds: Vec<bool> = projected
        .lines()
        .skip(1)
        .map(|line| line.contains("c1") || line.contains("c3") || line.contains("c5") || line.contains("c7"))
        .collect();
    assert_eq!(kinds, [false, true]);
    let seen = json(&directory, &["top", "new", "--rank", "column", "--for", "row=r12", "--unseen"]);
    assert!(seen["rankings"][0]["ranking"].as_array().unwrap().len() < 8);
    // The other way round.
    let (rows, _) = succeed(&directory, &["top", "fit", "--rank", "row", "--for", "column=c0", "--n", "2"]);
    assert!(rows.starts_with("column,rank,row,expected\nc0,1,r"), "{rows}");
    let top: &[&str] = &["top", "fit", "--rank", "column"];
    let wrong =
        |more: &[&str], status: i32, words: &[&str]| refuse(&directory, &[top, more].concat(), status, words);
    wrong(&[], 2, &["--for"]);
    wrong(&["--for", "rwo"], 1, &["`--for rwo`", "did you mean `row`"]);
    wrong(&["--for", "row=r77"], 1, &["`--for row=r77`", "no such label"]);
    wrong(&["--for", "part"], 1, &["no data of the program have exactly the axes column, part"]);
    wrong(&["--for", "row", "--not-in", "none.csv"], 1, &["none.csv"]);
    refuse(&directory, &["top", "fit"], 2, &["VARIABLE"]);
    refuse(&directory, &["top", "fit", "w", "--json"], 2, &["`--json` goes with `--rank`"]);
}

#[test]
fn held_out_entries_are_ranked_beside_popularity() {
    let directory = prepared("asking_metrics");
    let own = json(&directory, &["score", "fit", "--metrics", "ndcg@3,recall@3,map,auc,rmse"]);
    let summary: Value =
        serde_json::from_slice(&fs::read(directory.join("fit/summary.json")).unwrap()).unwrap();
    assert_eq!(own["log_predictive"], summary["heldout"]["x"]["log_predictive"]);
    let metrics = &own["metrics"]["x"];
    for name in ["ndcg@3", "recall@3", "map", "auc"] {
        let value = metrics[name]["value"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&value), "{name}: {value}");
    }
    assert!(metrics["rmse"]["value"].as_f64().unwrap() < metrics["rmse"]["popularity"].as_f64().unwrap());
    let (shown, _) = succeed(&directory, &["score", "fit", "--metrics", "rmse"]);
    assert!(
        shown.contains("held out x") && shown.contains("rmse of x") && shown.contains("popularity"),
        "{shown}"
    );
    fs::write(directory.join("new.csv"), table(12..20)).unwrap();
    let new = json(&directory, &["score", "fit", "--data", "x=new.csv", "--metrics", "auc,mae"]);
    assert!(new["metrics"]["x"]["mae"]["value"].as_f64().unwrap() > 0.0);
    refuse(&directory, &["score", "fit", "--metrics", "ndgc"], 2, &["no metric `ndgc`", "ndcg@K"]);
    refuse(&directory, &["score", "fit", "--metrics", "map", "--rank", "part"], 1, &["has no axis `part`"]);
    fit(&directory, "m.cavi", "x=x.csv", "plain", &[]);
    refuse(&directory, &["score", "plain", "--metrics", "map"], 1, &["bound to no file"]);
}

#[test]
fn components_are_matched_by_cosine() {
    let directory = prepared("asking_match");
    fit(&directory, "m.cavi", "x=x.csv", "other", &["--seed", "5"]);
    let own = json(&directory, &["match", "fit", "fit"]);
    assert_eq!(own["variables"], serde_json::json!(["h", "h"]));
    assert!((own["stability"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert!(own["pairs"].as_array().unwrap().iter().all(|pair| pair["a"] == pair["b"]));
    let other = json(&directory, &["match", "fit", "other"]);
    assert!(other["stability"].as_f64().unwrap() > 0.9);
    let (by_rows, _) = succeed(&directory, &["match", "fit", "other", "--variable", "w"]);
    assert!(by_rows.starts_with("part by `w` and `w`, over 12 labels"), "{by_rows}");
    // A table of references, a component a column, in another order and with a label that the fit lacks.
    let mut references = "column,even,odd\nc99,1,1\n".to_owned();
    for j in (0..8).rev() {
        references += &format!("c{j},{},{}\n", 1 - j % 2, j % 2);
    }
    fs::write(directory.join("references.csv"), references).unwrap();
    let table = json(&directory, &["match", "fit", "references.csv"]);
    assert_eq!((&table["n_common"], &table["n_left_out"][1]), (&Value::from(8), &Value::from(1)));
    assert!(table["stability"].as_f64().unwrap() > 0.9);
    fs::write(directory.join("strange.csv"), ",even,odd\nz,1,2\n").unwrap();
    refuse(&directory, &["match", "fit", "strange.csv"], 1, &["strange.csv", "no label is one of `h`"]);
    refuse(&directory, &["match", "fit", "other", "--variable", "q"], 1, &["`--variable q`"]);
    refuse(&directory, &["match", "fit", "other", "--axis", "q"], 1, &["`--axis q`"]);
    refuse(&directory, &["match", "fit", "nothing"], 1, &["`nothing`: found no such directory or file"]);
    refuse(&directory, &["match", "fit"], 2, &["<B>"]);
}

#[test]
fn the_smallest_good_value_is_suggested() {
    let directory = prepared("asking_choose");
    let ask = [
        "choose",
        "m.cavi",
        "--data",
        "x=x.csv",
        "--set",
        "part=1..3",
        "--restarts",
        "2",
        "--sweeps",
        "200",
        "--heldout",
        "x=0.3",
        "--quiet",
        "--out",
        "grid",
    ];
    let found = json(&directory, &ask);
    let candidates = found["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 3);
    // Two kinds of rows need two parts.
    assert_eq!(found["suggested"]["part"], 2.0);
    assert!(candidates[0]["below_best"].as_f64() > candidates[0]["below_best_se"].as_f64());
    assert!(found["reason"].as_str().unwrap().starts_with("suggested: part=2"));
    assert!(candidates[1]["stability"].as_f64().unwrap() > 0.9);
    let csv = lines(&directory, "grid/choose.csv");
    assert_eq!(csv[0][..3], ["part", "score", "se"]);
    assert_eq!((csv.len(), csv[2][0].as_str()), (4, "2"));
    // The fits are kept, and the same as they would be on their own; they can be compared.
    let alone = ["--set", "part=2", "--restarts", "2", "--heldout", "x=0.3"];
    fit(&directory, "m.cavi", "x=x.csv", "alone", &alone);
    let read = |path: &str| fs::read(directory.join(path)).unwrap();
    assert_eq!(read("grid/part=2/posterior/h.shape.npy"), read("alone/posterior/h.shape.npy"));
    let both = json(&directory, &["compare", "grid/part=1", "grid/part=2", "alone"]);
    assert_eq!(both["best"], "grid/part=2");
    let one = &both["fits"][0];
    let units = both["n_scored"].as_f64().unwrap();
    let own = candidates[0]["below_best"].as_f64().unwrap();
    assert!((one["below_best"].as_f64().unwrap() / units - own).abs() < 1e-12);
    assert_eq!(
        (&both["fits"][2]["below_best"], &both["fits"][2]["standard_error"]),
        (&Value::from(0.0), &Value::from(0.0))
    );
    let (shown, _) = succeed(&directory, &["compare", "grid/part=1", "grid/part=2"]);
    assert!(shown.contains("the best") && shown.contains("the same for all"), "{shown}");
    refuse(&directory, &["choose", "m.cavi", "--data", "x=x.csv"], 2, &["--set topic=5..50:5"]);
    refuse(
        &directory,
        &["choose", "m.cavi", "--data", "x=x.csv", "--set", "part=5..1"],
        2,
        &["the range is empty"],
    );
    refuse(&directory, &["choose", "m.cavi", "--data", "x=x.csv", "--set", "prat=1..2"], 1, &["prat"]);
}

#[test]
fn other_data_are_not_compared() {
    let directory = prepared("asking_compare");
    fit(&directory, "m.cavi", "x=x.csv", "seed", &["--heldout", "x=0.3", "--seed", "7"]);
    fit(&directory, "m.cavi", "x=x.csv", "none", &[]);
    refuse(&directory, &["compare", "fit", "seed"], 1, &["other entries of `x`", "--seed"]);
    refuse(&directory, &["compare", "fit", "none"], 1, &["nothing was held out of the fit in `none`"]);
    refuse(&directory, &["compare", "fit"], 2, &["DIR"]);
    fs::write(directory.join("y.csv"), table(0..11)).unwrap();
    fit(&directory, "m.cavi", "x=y.csv", "data", &["--heldout", "x=0.3"]);
    refuse(&directory, &["compare", "fit", "data"], 1, &["different data", "hashes"]);
    refuse(&directory, &["impute", "fit", "--of", "w"], 1, &["`--of w`"]);
    // Files that have changed are not taken for those of the fit; moved ones are named again.
    fs::rename(directory.join("x.csv"), directory.join("moved.csv")).unwrap();
    refuse(&directory, &["impute", "fit", "--all"], 1, &["`x.csv`", "is not there", "--data"]);
    succeed(&directory, &["impute", "fit", "--all", "--data", "x=moved.csv", "--quiet"]);
    fs::write(directory.join("x.csv"), table(0..12) + "r1,c2,9\n").unwrap();
    refuse(&directory, &["impute", "fit", "--all"], 1, &["`x.csv`", "has changed since"]);
    refuse(&directory, &["impute", "fit", "--columns", "x=row:a"], 2, &["`--columns`", "--data"]);
    refuse(&directory, &["impute", "fit", "--for", "row"], 2, &["AXIS=LABEL"]);
}

#[test]
fn entries_with_latents_of_their_own_are_told_apart() {
    let directory = scratch("asking_entries");
    let model = "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA\nm[j] ~ Normal(0, sd = 3)\n\
        s[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal(m[j], prec = s[i, j])\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    fs::write(
        directory.join("x.csv"),
        "row,column,value\np,a,1\np,b,2\nq,a,1.5\nr,b,2.5\nr,a,1\nq,b,2\ns,a,1\n",
    )
    .unwrap();
    fit(&directory, "m.cavi", "x=x.csv", "o", &["--heldout", "x=0.2"]);
    // Those that were hidden have latents of their own, and what is not listed has none.
    let (out, said) = succeed(&directory, &["impute", "o"]);
    assert!(out.contains("x: 1 entries, 1 of them missing"), "{out}");
    assert!(said.contains("that are not listed are left out"), "{said}");
    fit(&directory, "m.cavi", "x=x.csv", "whole", &[]);
    refuse(&directory, &["impute", "whole"], 1, &["latents of its own at each listed entry", "--all", "NaN"]);
    refuse(&directory, &["score", "o", "--metrics", "auc"], 1, &["cannot be ranked", "`rmse`"]);
    let own = json(&directory, &["score", "o", "--metrics", "rmse"]);
    assert!(own["metrics"]["x"]["rmse"]["value"].as_f64().unwrap() < 1.5);
    succeed(&directory, &["impute", "o", "--all", "--quiet"]);
    let all = lines(&directory, "o/imputed/x.csv");
    assert_eq!((all[0].join(",").as_str(), all.len()), ("row,column,mean,sd,value", 8));
    // An entry that is listed without a value has latents of its own.
    fs::write(directory.join("y.csv"), "row,column,value\np,a,1\np,b,2\nq,a,\nq,b,2\nr,b,2.5\n").unwrap();
    fit(&directory, "m.cavi", "x=y.csv", "listed", &[]);
    succeed(&directory, &["impute", "listed", "--quiet"]);
    let missing = lines(&directory, "listed/imputed/x.csv");
    assert_eq!((missing.len(), &missing[1][..2]), (2, &["q".to_owned(), "a".to_owned()][..]));
}

#[test]
fn classes_come_back_by_their_labels() {
    let directory = scratch("asking_classes");
    let model = "axis row[i]\naxis column[j]\naxis kind[c]\naxis group[g] = 2\ndata y[i, j] : index kind, absent = NA\n\
        pi[:g] ~ Dirichlet(1)\np[g, j, :c] ~ Dirichlet(1)\nz[i] ~ Categorical(pi)\n\
        y[i, j] ~ Categorical(p[z[i], j])\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let mut text = ",a,b,c\n".to_owned();
    for i in 0..12 {
        let own = if i % 2 == 0 { "red" } else { "blue" };
        text += &format!("r{i},{own},{},{own}\n", if i == 4 { "" } else { own });
    }
    fs::write(directory.join("y.csv"), text).unwrap();
    fit(&directory, "m.cavi", "y=y.csv", "o", &["--restarts", "3"]);
    succeed(&directory, &["impute", "o", "--quiet"]);
    let found = lines(&directory, "o/imputed/y.csv");
    assert_eq!(found[0], ["row", "column", "class", "prob"]);
    assert_eq!(found[1][..3], ["r4", "b", "red"]);
    assert!(found[1][3].parse::<f64>().unwrap() > 0.7, "{found:?}");
    refuse(
        &directory,
        &["top", "o", "--rank", "column", "--for", "row"],
        1,
        &["classes, which have no order"],
    );
}

#[test]
fn a_fit_of_a_demo_is_asked_with_the_data_that_the_binary_holds() {
    let directory = scratch("asking-demo");
    let demo = ["demo", "gmm", "--set", "cluster=2", "--sweeps", "5", "--quiet", "--out", "d"];
    assert!(cavi(&directory, &demo).status.success());
    let output = cavi(&directory, &["sample", "d", "mu", "--draws", "20", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary = fs::read_to_string(directory.join("d/summary.json")).unwrap();
    fs::write(directory.join("d/summary.json"), summary.replace("\"gmm\"", "\"gmm2\"")).unwrap();
    let output = cavi(&directory, &["sample", "d", "mu", "--draws", "20", "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("does not say which files"), "{}", text(&output.stderr));
}

/// Whether zeros were given does not hang on how entries are held out: where what is not listed is 0, every column that a row does not have is
/// a candidate, and the area under the curve is that of the expected entries as `impute` writes them.
#[test]
fn what_a_row_does_not_have_is_a_candidate_however_entries_are_held_out() {
    let directory = prepared("asking_candidates");
    let lines: Vec<String> = table(0..12).lines().skip(1).map(str::to_owned).collect();
    let (mut train, mut test) = ("row,column,count\n".to_owned(), "row,column,count\n".to_owned());
    for (place, line) in lines.iter().enumerate() {
        let part = if place % 5 == 1 { &mut test } else { &mut train };
        *part += &format!("{line}\n");
    }
    fs::write(directory.join("train.csv"), &train).unwrap();
    fs::write(directory.join("test.csv"), &test).unwrap();
    fit(&directory, "m.cavi", "x=train.csv", "by_file", &["--heldout", "x=test.csv"]);
    succeed(&directory, &["impute", "by_file", "--all", "--out", "all.csv"]);
    let all = self::lines(&directory, "all.csv");
    let has = |part: &str, row: &str, column: &str| part.contains(&format!("\n{row},{column},"));
    let mut areas = Vec::new();
    for row in (0..12).map(|row| format!("r{row}")) {
        let of: Vec<(f64, bool)> = all[1..]
            .iter()
            .filter(|own| own[0] == row && !has(&train, &row, &own[1]))
            .map(|own| (own[2].parse().unwrap(), has(&test, &row, &own[1])))
            .collect();
        let ask =
            ["top", "by_file", "--rank", "column", "--for", &format!("row={row}"), "--n", "99", "--unseen"];
        let ranked = json(&directory, &ask)["rankings"][0]["ranking"].as_array().unwrap().len();
        assert_eq!(ranked, of.len(), "{row}");
        let (mut above, mut pairs) = (0.0, 0.0);
        for (one, _) in of.iter().filter(|own| own.1) {
            for (other, _) in of.iter().filter(|own| !own.1) {
                pairs += 1.0;
                above += if one > other {
                    1.0
                } else if one == other {
                    0.5
                } else {
                    0.0
                };
            }
        }
        if pairs > 0.0 {
            areas.push(above / pairs);
        }
    }
    assert!(areas.len() > 5, "{areas:?}");
    let own = json(&directory, &["score", "by_file", "--metrics", "auc"]);
    let auc = &own["metrics"]["x"]["auc"];
    assert_eq!(auc["n"], areas.len());
    let expected = areas.iter().sum::<f64>() / areas.len() as f64;
    assert!((auc["value"].as_f64().unwrap() - expected).abs() < 1e-9, "{auc}, not {expected}");
}

/// A metric without a row says so.
#[test]
fn a_metric_of_no_row_says_why() {
    let directory = prepared("asking_no_rows");
    // Every column is given or held out above 0, and no other candidate is left.
    fs::write(directory.join("one.csv"), "row,column,count\nr0,c0,1\nr0,c1,2\nr1,c0,2\nr1,c1,1\n").unwrap();
    fs::write(directory.join("test.csv"), "row,column\nr0,c0\nr1,c1\n").unwrap();
    fit(&directory, "m.cavi", "x=one.csv", "one", &["--heldout", "x=test.csv"]);
    let (shown, _) = succeed(&directory, &["score", "one", "--metrics", "auc,map"]);
    assert!(
        shown.contains(
            "auc of x: not defined, since no row has a held-out entry above 0 and another candidate\n"
        ) && shown.contains("map of x: 1.0000 (standard error 0.0000) over 2 rows"),
        "{shown}"
    );
}

/// Flows among five countries, without those to itself.
const NETWORK: &str = "axis country[i, j]\ndata flow[i, j] : count, absent = 0, i != j\na[i] ~ Gamma(1, rate = 1)\nb[i] ~ Gamma(1, rate = 1)\n\
    flow[i, j] ~ Poisson(a[i] * b[j])\n";

#[test]
fn sides_of_a_network_are_named_by_letters() {
    let directory = scratch("asking-network");
    fs::write(directory.join("m.cavi"), NETWORK).unwrap();
    let pairs = (0..5).flat_map(|i| (0..5).map(move |j| (i, j))).filter(|(i, j)| i != j);
    let rows: String = pairs.map(|(i, j)| format!("C{i},C{j},{}\n", 1 + i + 3 * j)).collect();
    fs::write(directory.join("flow.csv"), format!("i, j ,flow\n{rows}")).unwrap();
    fit(&directory, "m.cavi", "flow=flow.csv", "o", &[]);
    let (by_letter, _) = succeed(&directory, &["top", "o", "--rank", "j", "--for", "i=C3", "--n", "2"]);
    assert!(by_letter.starts_with("i,rank,j,expected\nC3,1,C4,"), "{by_letter}");
    // The axis means the side that is left.
    let (by_axis, _) = succeed(&directory, &["top", "o", "--rank", "j", "--for", "country=C3", "--n", "2"]);
    assert_eq!(by_axis, by_letter);
    let (other, _) = succeed(&directory, &["top", "o", "--rank", "i", "--for", "j", "--n", "1"]);
    assert_eq!(other.lines().count(), 6, "{other}");
    refuse(
        &directory,
        &["top", "o", "--rank", "country", "--for", "country=C3"],
        1,
        &["an axis that stands twice is named by its letters: `--rank j --for i`"],
    );
    let (nothing, notes) = succeed(&directory, &["top", "o", "--rank", "j", "--for", "i=C3", "--unseen"]);
    assert_eq!(nothing, "i,rank,j,expected\n");
    assert!(
        notes.contains(
            "nothing is ranked for i C3: 4 entries are in the data of the fit, 1 entries do not exist"
        ),
        "{notes}"
    );
}

#[test]
fn a_fit_is_matched_with_what_its_data_were_drawn_from() {
    let directory = scratch("asking-truth");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let sizes = ["--set", "row=40", "--set", "column=12"];
    succeed(&directory, &[&["simulate", "m.cavi", "--seed", "4", "--out", "truth"][..], &sizes].concat());
    succeed(&directory, &["fit", "m.cavi", "--data", "x=truth/data/x.mtx", "--out", "o", "--restarts", "5"]);
    let found = json(&directory, &["match", "o", "truth"]);
    assert_eq!(found["pairs"].as_array().map(Vec::len), Some(2));
    assert!(found["stability"].as_f64().unwrap() > 0.8, "{found}");
    assert_eq!(json(&directory, &["match", "truth", "truth"])["stability"], 1.0);
    fs::write(directory.join("truth/simulated.json"), "{").unwrap();
    refuse(&directory, &["match", "o", "truth"], 1, &["truth/simulated.json", "is no JSON"]);
}

/// A pair of `i < j` is one entry, whichever of its two a ranking is asked for.
#[test]
fn partners_of_undirected_pairs_are_ranked_on_both_sides() {
    let directory = scratch("asking_undirected");
    let program = "axis person[i, j]\ndata y[i, j] : count, absent = 0, i < j\na[i] ~ Gamma(1, rate = 1)\n\
        y[i, j] ~ Poisson(a[i] * a[j])\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("y.csv"), "i,j,y\nann,bob,5\nann,cy,1\nbob,cy,2\nann,dan,1\ncy,dan,9\n")
        .unwrap();
    fit(&directory, "m.cavi", "y=y.csv", "o", &[]);
    let ranked = |rank: &str, whom: &str| -> Vec<String> {
        let (found, _) = succeed(&directory, &["top", "o", "--rank", rank, "--for", whom]);
        found.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_owned()).collect()
    };
    for (rank, other) in [("j", "i"), ("i", "j")] {
        for person in ["ann", "bob", "cy", "dan"] {
            let mut found = ranked(rank, &format!("{other}={person}"));
            assert_eq!(found, ranked("j", &format!("person={person}")), "{rank} {person}");
            found.sort();
            let others: Vec<&str> =
                ["ann", "bob", "cy", "dan"].into_iter().filter(|own| *own != person).collect();
            assert_eq!(found, others, "{rank} {person}");
        }
    }
    // What a file lists is left out, in whichever order it names the two.
    fs::write(directory.join("seen.csv"), "i,j\ndan,cy\nbob,dan\n").unwrap();
    let line = ["top", "o", "--rank", "j", "--for", "i=dan", "--not-in", "seen.csv"];
    let (found, _) = succeed(&directory, &line);
    assert_eq!(found.lines().count(), 2, "{found}");
    assert!(found.lines().nth(1).unwrap().starts_with("dan,1,ann,"), "{found}");
    let (unseen, _) = succeed(&directory, &["top", "o", "--rank", "j", "--for", "i=dan", "--unseen"]);
    assert!(unseen.lines().nth(1).unwrap().starts_with("dan,1,bob,"), "{unseen}");
}

/// The table that `export` writes of a fit without labels has whole numbers as names.
#[test]
fn tables_whose_names_are_whole_numbers_are_matched() {
    let directory = scratch("asking_numbers");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let sizes = ["--set", "row=20", "--set", "column=6"];
    succeed(&directory, &[&["simulate", "m.cavi", "--seed", "4", "--out", "d"][..], &sizes].concat());
    fit(&directory, "m.cavi", "x=d/data/x.mtx", "o", &[]);
    succeed(&directory, &["export", "o", "--csv", "--out", "tables"]);
    for (file, header) in [("h.csv", "part"), ("w.csv", "row")] {
        let table = fs::read_to_string(directory.join("tables").join(file)).unwrap();
        assert!(table.starts_with(header), "{table}");
        let variable = file.split('.').next().unwrap();
        let path = format!("tables/{file}");
        let found = json(&directory, &["match", "o", &path, "--variable", variable]);
        assert!((found["stability"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{file}: {found}");
        // Under any name of the first column.
        fs::write(directory.join("other.csv"), table.replacen(header, "name", 1)).unwrap();
        let other = json(&directory, &["match", "o", "other.csv", "--variable", variable]);
        assert_eq!(found["stability"], other["stability"], "{file}");
    }
    refuse(&directory, &["match", "o", "nosuch.csv"], 1, &["`nosuch.csv`: found no such directory or file"]);
}

/// Of two programs that differ in what they divide the data by, the difference is that of the densities of the data.
#[test]
fn programs_with_and_without_a_scale_are_compared_in_one_unit() {
    let directory = scratch("asking_scales");
    let program = "axis row[n]\naxis col[j]\ndata x[n, j] : real, absent = NA@\nmu[j] ~ Normal(0, sd = 10)\n\
        x[n, j] ~ Normal(mu[j], sd = 1)\nposterior { point mu }\n";
    for (name, how) in [("a", ""), ("b", ", scale over n"), ("c", ", center over n, scale over n")] {
        fs::write(directory.join(format!("{name}.cavi")), program.replace('@', how)).unwrap();
    }
    fs::write(directory.join("x.csv"), "row,p,q\nr0,10,3\nr1,14,2\nr2,11,-5\nr3,25,1\nr4,13,4\n").unwrap();
    fs::write(directory.join("h.csv"), "row,col\nr0,p\nr3,q\nr4,q\n").unwrap();
    for name in ["a", "b", "c"] {
        let line =
            format!("fit {name}.cavi --data x=x.csv --heldout x=h.csv --tol 1e-13 --quiet --out {name}");
        succeed(&directory, &line.split(' ').collect::<Vec<_>>());
    }
    let given = [[14.0, 11.0, 25.0, 13.0].as_slice(), [3.0, 2.0, -5.0].as_slice()];
    let held = [(0, 10.0), (1, 1.0), (1, 4.0)];
    // The log densities of the data by each program, a point of mu being S / (N + 0.01) of what it sees.
    let logs = |centred: bool, scaled: bool| -> Vec<f64> {
        let of = |(column, value): &(usize, f64)| {
            let all = given[*column];
            let count = all.len() as f64;
            let mean = all.iter().sum::<f64>() / count;
            let spread = (all.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>() / count).sqrt();
            let (centre, scale) = (if centred { mean } else { 0.0 }, if scaled { spread } else { 1.0 });
            let seen = |own: f64| (own - centre) / scale;
            let mu = all.iter().map(|own| seen(*own)).sum::<f64>() / (count + 0.01);
            -0.5 * (seen(*value) - mu).powi(2) - 0.5 * (2.0 * std::f64::consts::PI).ln() - scale.ln()
        };
        held.iter().map(of).collect()
    };
    let (a, b, c) = (logs(false, false), logs(false, true), logs(true, true));
    let sum = |own: &[f64]| own.iter().sum::<f64>();
    let found = json(&directory, &["compare", "a", "b", "c"]);
    let number = |place: usize, key: &str| found["fits"][place][key].as_f64().unwrap();
    let best = [&a, &b, &c].into_iter().max_by(|one, other| sum(one).total_cmp(&sum(other))).unwrap();
    for (place, own) in [&a, &b, &c].into_iter().enumerate() {
        assert!((number(place, "log_predictive") - sum(own)).abs() < 1e-5, "{place}: {found}, {}", sum(own));
        assert!((number(place, "below_best") - (sum(best) - sum(own))).abs() < 1e-5, "{place}: {found}");
    }
    // Other entries are told from the same ones as before.
    fs::write(directory.join("o.csv"), "row,col\nr1,p\nr3,q\nr4,q\n").unwrap();
    succeed(
        &directory,
        &["fit", "b.cavi", "--data", "x=x.csv", "--heldout", "x=o.csv", "--quiet", "--out", "other"],
    );
    refuse(&directory, &["compare", "a", "other"], 1, &["other entries of `x`"]);
}

#[test]
fn every_node_of_a_pair_has_its_entry_and_missing_entries_of_sparse_data_are_found_by_their_list() {
    let directory = scratch("asking_missing_pairs");
    let program = "axis node[i, j]\ndata y[i, j] : real, absent = NA, i < j\nb[i] ~ Normal(0, sd = 1)\n\
        y[i, j] ~ Normal(b[i] + b[j], sd = 1)\n";
    fs::write(directory.join("n.cavi"), program).unwrap();
    let pairs = |without: &dyn Fn(usize, usize) -> bool| {
        let mut lines = String::from("i,j,y\n");
        for i in 0..5 {
            for j in i + 1..5 {
                let value = if without(i, j) { "NA".to_owned() } else { format!("{}", (i * 3 + j) % 4) };
                lines += &format!("n{i},n{j},{value}\n");
            }
        }
        lines
    };
    fs::write(directory.join("one.csv"), pairs(&|i, j| (i, j) == (1, 3))).unwrap();
    fs::write(directory.join("node.csv"), pairs(&|i, j| i == 2 || j == 2)).unwrap();
    for (name, bare) in [("one", 0), ("node", 1)] {
        let data = format!("y={name}.csv");
        succeed(&directory, &["fit", "n.cavi", "--data", &data, "--quiet", "--out", name]);
        let said = json(&directory, &["impute", name]);
        assert_eq!(said["arrays"]["y"]["n_rows_without_entries"], bare, "{name}: {said}");
    }
    // Two missing entries among ten thousand million.
    let program = "axis row[n]\naxis col[j]\ndata y[n, j] : count, absent = 0, NA\n\
        r ~ Gamma(1, rate = 1)\ny[n, j] ~ Poisson(r)\n";
    fs::write(directory.join("s.cavi"), program).unwrap();
    fs::write(directory.join("s.csv"), "row,col,y\n7,5,3\n99999,2,NA\n20,99998,1\n3,40000,NA\n").unwrap();
    fs::write(directory.join("all.txt"), (0..100_000).map(|own| format!("{own}\n")).collect::<String>())
        .unwrap();
    succeed(
        &directory,
        &[
            "fit",
            "s.cavi",
            "--data",
            "y=s.csv",
            "--labels",
            "row=all.txt",
            "--labels",
            "col=all.txt",
            "--quiet",
            "--out",
            "s",
        ],
    );
    let said = json(&directory, &["impute", "s"]);
    assert_eq!(said["arrays"]["y"]["n_missing"], 2, "{said}");
    let table = fs::read_to_string(directory.join("s/imputed/y.csv")).unwrap();
    let places: Vec<&str> = table.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().0).collect();
    assert!(
        places.len() == 2 && places[0].starts_with("3,40000,") && places[1].starts_with("99999,2,"),
        "{table}"
    );
}
