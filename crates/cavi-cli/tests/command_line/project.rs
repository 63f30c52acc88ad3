//! `cavi project`: latents of new rows, and what is said of wrong questions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{MODEL, cavi, scratch, text};
use serde_json::Value;

/// Counts as a long table, of such rows and columns.
fn table(rows: &[String], columns: &[String]) -> String {
    let mut lines = vec!["row,column,count".to_owned()];
    for (i, row) in rows.iter().enumerate() {
        for (j, column) in columns.iter().enumerate() {
            let count = (i * 7 + j * 5) % 6 + 2 * usize::from(i % 2 == j % 2);
            if count > 0 {
                lines.push(format!("{row},{column},{count}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

fn names(letter: &str, range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("{letter}{number}")).collect()
}

/// A fit of a small factorisation in `fit`, and tables beside it.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    let write = |file: &str, text: String| fs::write(directory.join(file), text).unwrap();
    write("m.cavi", MODEL.to_owned());
    write("x.csv", table(&names("r", 0..12), &names("c", 0..8)));
    write("rows.csv", table(&names("s", 0..3), &names("c", 0..9)));
    write("columns.csv", table(&names("r", 0..12), &names("d", 0..2)));
    write("unknown.csv", table(&names("s", 0..3), &names("d", 0..8)));
    let arguments =
        ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "3000", "--tol", "0", "--quiet", "--out", "fit"];
    succeed(&directory, &arguments);
    directory
}

fn succeed(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = cavi(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// A mistake: the status, and the message, which has all of these words.
fn refuse(directory: &Path, arguments: &[&str], status: i32, words: &[&str]) {
    let output = cavi(directory, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
    assert!(words.iter().all(|word| message.contains(word)), "{arguments:?}: {message}");
}

fn rows(directory: &Path, file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(directory.join(file)).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn rows_and_columns_are_projected_as_the_data_say() {
    let directory = prepared("project_axes");
    let (out, notes) = succeed(&directory, &["project", "fit", "--data", "x=rows.csv", "--out", "p"]);
    assert!(out.contains("3 new rows along `row`: converged after") && out.contains("written to p"), "{out}");
    assert!(notes.contains("note: 3 entries have a label that the fit does not know"), "{notes}");
    assert!(!notes.contains("do not say"), "{notes}");
    let table = rows(&directory, "p/w.csv");
    assert_eq!(table[0], ["row", "0", "1"]);
    let labels: Vec<&str> = table[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(labels, ["s0", "s1", "s2"]);
    let summary: Value =
        serde_json::from_slice(&fs::read(directory.join("p/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["sizes"]["row"], 3);
    assert_eq!(summary["projected"]["axis"], "row");
    assert_eq!(summary["projected"]["n_dropped"], 3);
    let mut files: Vec<String> = fs::read_dir(directory.join("p/posterior"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["w.mean.npy", "w.rate.npy", "w.shape.npy"]);
    assert_eq!(fs::read_to_string(directory.join("p/axes/row.txt")).unwrap(), "s0\ns1\ns2\n");

    // Columns: what was there before goes.
    succeed(&directory, &["project", "fit", "--data", "x=columns.csv", "--out", "p"]);
    assert!(!directory.join("p/w.csv").exists() && !directory.join("p/posterior/w.mean.npy").exists());
    let table = rows(&directory, "p/h.csv");
    assert_eq!(table[0], ["column", "0", "1"]);
    assert_eq!((table[1][0].as_str(), table.len()), ("d0", 3));
    let (shown, _) = succeed(&directory, &["summary", "p", "h"]);
    assert!(shown.contains("h (part 2 x column 2): mean from"), "{shown}");
    let (shown, _) = succeed(&directory, &["top", "p", "h", "--over", "column", "--n", "1"]);
    assert!(shown.contains("part 0"), "{shown}");
    // Another order of threads, the same bits.
    succeed(&directory, &["project", "fit", "--data", "x=columns.csv", "--out", "q", "--threads", "3"]);
    assert_eq!(rows(&directory, "p/h.csv"), rows(&directory, "q/h.csv"));
}

#[test]
fn rows_of_the_fit_come_back() {
    let directory = prepared("project_back");
    for (axis, variable) in [("row", "w"), ("column", "h")] {
        let arguments = ["project", "fit", "--data", "x=x.csv", "--out", "p", "--axis", axis, "--json"];
        let (json, notes) = succeed(&directory, &arguments);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["projected"]["axis"], axis);
        assert!(!notes.contains("do not say"), "{notes}");
        let means = |place: &str| {
            let path = directory.join(place).join(format!("posterior/{variable}.mean.npy"));
            cavi_files::read_npy(&path).unwrap()
        };
        let (before, after) = (means("fit"), means("p"));
        assert_eq!(before.shape, after.shape);
        for (before, after) in before.values.iter().zip(&after.values) {
            assert!((before - after).abs() <= 1e-8 * before, "{before} {after}");
        }
    }
    let (_, notes) = succeed(&directory, &["project", "fit", "--data", "x=x.csv", "--out", "p"]);
    assert!(notes.contains("`row` is taken (else `--axis column`)"), "{notes}");
    assert!(notes.contains("`r0`, `r1`, `r2` and 9 others along `row` are labels of the fit too"), "{notes}");
    let (_, notes) = succeed(&directory, &["project", "fit", "--data", "x=rows.csv", "--out", "p"]);
    assert!(!notes.contains("labels of the fit too"), "{notes}");
}

/// New rows have their own number, whatever the text of the program or `--set` said of those of the fit.
#[test]
fn sizes_of_rows_are_those_of_the_new_rows() {
    let directory = prepared("project_sizes");
    let sized = [
        "fit", "m.cavi", "--data", "x=x.csv", "--out", "sized", "--quiet", "--set", "row=12", "--set",
        "column=8",
    ];
    succeed(&directory, &sized);
    fs::write(directory.join("text.cavi"), MODEL.replace("axis row[i]", "axis row[i] = 12")).unwrap();
    succeed(&directory, &["fit", "text.cavi", "--data", "x=x.csv", "--out", "text", "--quiet"]);
    for fit in ["sized", "text"] {
        succeed(&directory, &["project", fit, "--data", "x=rows.csv", "--out", "p", "--quiet"]);
        assert_eq!(rows(&directory, "p/w.csv").len(), 4);
        succeed(&directory, &["score", fit, "--data", "x=rows.csv", "--quiet"]);
    }
    // A size that is asked for now holds: a row without entries.
    let asked = ["project", "sized", "--data", "x=rows.csv", "--out", "p", "--axis", "row", "--set", "row=3"];
    succeed(&directory, &asked);
    assert_eq!(rows(&directory, "p/w.csv").len(), 4);
}

#[test]
fn a_row_without_a_known_label_is_a_row() {
    let directory = prepared("project_lost");
    fs::write(directory.join("lost.csv"), "row,column,count\ns9,c0,3\ns1,zzz,4\ns5,c2,1\n").unwrap();
    succeed(&directory, &["project", "fit", "--data", "x=lost.csv", "--out", "p", "--axis", "row"]);
    let labels: Vec<String> =
        rows(&directory, "p/w.csv").into_iter().skip(1).map(|row| row[0].clone()).collect();
    assert_eq!(labels, ["s9", "s1", "s5"]);
}

/// Two views: new samples may lack one of them, and are centred by the numbers of the fit.
#[test]
fn a_view_may_be_missing() {
    let directory = scratch("project_views");
    let model = "axis sample[n]\naxis gene[g]\naxis site[s]\naxis factor[k] = 1\n\
        data x[n, g] : real, center over n\ndata y[n, s] : real, absent = NA\n\
        z[n, k] ~ Normal(0, sd = 1)\na[g, k] ~ Normal(0, sd = 1)\nb[s, k] ~ Normal(0, sd = 1)\n\
        x[n, g] ~ Normal(sum[k](a[g, k] * z[n, k]), sd = 0.3)\n\
        y[n, s] ~ Normal(sum[k](b[s, k] * z[n, k]), sd = 0.3)\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let level = |i: usize| (i * 5 % 7) as f64 - 3.0;
    let table = |rows: std::ops::Range<usize>, columns: usize, shift: f64| {
        let header: String = (0..columns).map(|j| format!(",c{j}")).collect();
        let row = |i: usize| -> String {
            let cells = (0..columns).map(|j| format!(",{}", shift + level(i) * (j as f64 - 1.5)));
            format!("\nn{i}{}", cells.collect::<String>())
        };
        format!("{header}{}\n", rows.map(row).collect::<String>())
    };
    fs::write(directory.join("x.csv"), table(0..14, 4, 10.0)).unwrap();
    fs::write(directory.join("y.csv"), table(0..14, 3, 0.0)).unwrap();
    fs::write(directory.join("x2.csv"), table(3..5, 4, 10.0)).unwrap();
    fs::write(directory.join("y2.csv"), table(3..5, 3, 0.0)).unwrap();
    let fit =
        ["fit", "m.cavi", "--data", "x=x.csv", "--data", "y=y.csv", "--out", "fit", "--quiet", "--tol", "0"];
    succeed(&directory, &fit);
    let mut found = Vec::new();
    for data in
        [&["--data", "x=x2.csv"][..], &["--data", "y=y2.csv"], &["--data", "x=x2.csv", "--data", "y=y2.csv"]]
    {
        let arguments = [&["project", "fit", "--out", "p", "--axis", "sample"][..], data].concat();
        let (_, notes) = succeed(&directory, &arguments);
        assert_eq!(notes.contains("is not given, and counts as missing"), data.len() == 2, "{notes}");
        let rows = rows(&directory, "p/z.csv");
        assert_eq!(rows[0], ["sample", "0"]);
        found.push(rows[1..].iter().map(|row| row[1].parse::<f64>().unwrap()).collect::<Vec<f64>>());
    }
    // Each view alone says nearly what both say: one factor made the data.
    for alone in &found[..2] {
        for (alone, both) in alone.iter().zip(&found[2]) {
            assert!((alone - both).abs() < 0.05 * both.abs().max(1.0), "{found:?}");
        }
    }
    // Numbers of the fit, whose samples were centred together: of two samples alone the mean would be 0.
    assert!((found[2][0] + found[2][1]).abs() > 0.5, "{found:?}");
}

/// One covariance serves rows without missing entries, as in a fit; where the fit had missing entries, its covariances are read
/// into rows that have none.
#[test]
fn covariances_are_shared_where_a_fit_shares_them() {
    let directory = scratch("project_shared");
    let model = "axis sample[n]\naxis gene[g]\naxis factor[k] = 2\ndata x[n, g] : real, absent = NA\n\
        z[n, k] ~ Normal(0, sd = 1)\na[g, k] ~ Normal(0, sd = 1)\n\
        x[n, g] ~ Normal(sum[k](a[g, k] * z[n, k]), sd = 0.5)\nposterior {\n  q(z[n, :k])\n  q(a[g, :k])\n}\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let table = |missing: bool| {
        let cell = |i: usize, j: usize| match (missing, i, j) {
            (true, 1, 2) => ",".to_owned(),
            _ => format!(",{}", ((i * 5 + j * 3) % 7) as f64 - 3.0 + ((i * j) % 3) as f64),
        };
        let row = |i: usize| format!("\nn{i}{}", (0..5).map(|j| cell(i, j)).collect::<String>());
        format!(",a,b,c,d,e{}\n", (0..8).map(row).collect::<String>())
    };
    fs::write(directory.join("all.csv"), table(false)).unwrap();
    fs::write(directory.join("some.csv"), table(true)).unwrap();
    for (fitted, projected, covariances) in [
        ("all.csv", "all.csv", 1),
        ("some.csv", "all.csv", 8),
        ("all.csv", "some.csv", 8),
        ("some.csv", "some.csv", 8),
    ] {
        let fitted_to = format!("x={fitted}");
        let fit = [
            "fit", "m.cavi", "--data", &fitted_to, "--out", "fit", "--quiet", "--tol", "0", "--sweeps",
            "3000",
        ];
        succeed(&directory, &fit);
        let new = format!("x={projected}");
        succeed(&directory, &["project", "fit", "--data", &new, "--out", "p", "--axis", "sample", "--quiet"]);
        let read = |place: &str, file: &str| {
            cavi_files::read_npy(&directory.join(place).join("posterior").join(file)).unwrap()
        };
        assert_eq!(read("p", "z.cov.npy").shape, [covariances, 2, 2], "{fitted}, {projected}");
        let (before, after) = (read("fit", "z.mean.npy").values, read("p", "z.mean.npy").values);
        for (row, (before, after)) in before.chunks(2).zip(after.chunks(2)).enumerate() {
            let apart =
                before.iter().zip(after).map(|(before, after)| (before - after).abs()).fold(0.0, f64::max);
            // The row with a missing entry is another where that is given.
            assert!(
                apart < 1e-7 || row == 1 && fitted != projected,
                "{fitted}, {projected}, row {row}: {apart:e}"
            );
        }
    }
}

#[test]
fn wrong_questions_are_answered() {
    let directory = prepared("project_wrong");
    let project = |more: &[&'static str]| [&["project", "fit", "--out", "p"][..], more].concat();
    refuse(&directory, &project(&[]), 1, &["`x` are bound to no file", "--data x=FILE"]);
    refuse(
        &directory,
        &project(&["--data", "x=x.csv", "--axis", "part"]),
        1,
        &["E0904", "axis `part` cannot grow"],
    );
    refuse(
        &directory,
        &project(&["--data", "x=x.csv", "--axis", "rwo"]),
        1,
        &["no axis of this name", "did you mean `row`?"],
    );
    refuse(
        &directory,
        &project(&["--data", "x=unknown.csv", "--axis", "row"]),
        1,
        &["the fit knows none of the 8 labels that `x` has on axis `column`"],
    );
    refuse(&directory, &project(&["--data", "y=x.csv"]), 1, &["the program has no data of this name"]);
    let negative = fs::read_to_string(directory.join("rows.csv")).unwrap().replacen(",2\n", ",-2\n", 1);
    fs::write(directory.join("negative.csv"), negative).unwrap();
    refuse(
        &directory,
        &project(&["--data", "x=negative.csv"]),
        1,
        &["negative.csv", "found -2; expected a count"],
    );
    refuse(
        &directory,
        &["project", "fit", "--data", "x=x.csv", "--out", "fit"],
        2,
        &["is the directory of the fit itself"],
    );
    refuse(
        &directory,
        &["project", "no", "--data", "x=x.csv", "--out", "p"],
        1,
        &["no/summary.json", "the directory of a fit"],
    );
    refuse(&directory, &["project", "fit", "--data", "x=x.csv"], 2, &["--out"]);
    assert!(!directory.join("p").exists(), "nothing is left behind");
    // The latents of rows are no fit, and half a fit is none.
    succeed(&directory, &project(&["--data", "x=rows.csv"]));
    refuse(
        &directory,
        &["project", "p", "--data", "x=rows.csv", "--out", "o", "--axis", "row"],
        1,
        &["nothing is there of `h`"],
    );
    fs::remove_file(directory.join("fit/posterior/h.rate.npy")).unwrap();
    refuse(
        &directory,
        &["project", "fit", "--data", "x=rows.csv", "--out", "o"],
        1,
        &["`h` is given in part", "`h.rate`"],
    );
    fs::remove_file(directory.join("fit/axes/column.txt")).unwrap();
    refuse(&directory, &["project", "fit", "--data", "x=rows.csv", "--out", "o"], 1, &["column.txt"]);
    // The program of another fit.
    fs::write(directory.join("fit/model.cavi"), MODEL.replace("Gamma(1,", "Gamma(2,")).unwrap();
    refuse(
        &directory,
        &["project", "fit", "--data", "x=rows.csv", "--out", "o"],
        1,
        &["another program than the one that was fitted"],
    );
}

#[test]
fn what_ties_rows_together_is_named() {
    let directory = scratch("project_ties");
    fs::write(directory.join("y.csv"), "0,1,2\n0,0,1\n0,0,0\n").unwrap();
    fs::write(directory.join("v.csv"), "1\n2\n3\n").unwrap();
    let network = "axis node[i, j]\ndata y[i, j] : count, i < j\nw[i] ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(w[i] * w[j])\n";
    let sums = "axis case[n]\naxis group[g]\ndata x[n, g] : real\ndata v[n] : real\nw[g] ~ Normal(0, sd = 1)\n\
        v[n] ~ Normal(sum[g](x[n, g] * w[g]), sd = 1)\n";
    let chosen = "axis case[n]\naxis class[k] = 2\ndata v[n] : real\nm[k] ~ Normal(0, sd = 3)\np[:k] ~ Dirichlet(1)\n\
        z[n] ~ Categorical(p)\nv[n] ~ Normal(m[z[n]], sd = 1)\n";
    let alone = "axis case[n]\ndata v[n] : real\nm ~ Normal(0, sd = 3)\nv[n] ~ Normal(m, sd = 1)\n";
    type Words = &'static [&'static str];
    let cases: [(&str, Words, Words, Words); 4] = [
        (network, &["--data", "y=y.csv"], &[], &["axis `node` cannot grow", "ties two rows"]),
        (
            sums,
            &["--data", "x=y.csv", "--data", "v=v.csv"],
            &["--axis", "group"],
            &["reads several rows of axis `group` at once"],
        ),
        (
            chosen,
            &["--data", "v=v.csv"],
            &["--axis", "class"],
            &["axis `class` cannot grow: no data run along it"],
        ),
        (
            alone,
            &["--data", "v=v.csv"],
            &[],
            &[
                "axis `case` cannot grow: no latent",
                "`cavi impute DIR --all --data v=FILE ...` predicts new rows",
            ],
        ),
    ];
    for (model, data, more, words) in cases {
        fs::write(directory.join("m.cavi"), model).unwrap();
        succeed(&directory, &[&["fit", "m.cavi", "--out", "fit", "--quiet"][..], data].concat());
        refuse(&directory, &[&["project", "fit", "--out", "p"][..], data, more].concat(), 1, words);
    }
}

/// The fit goes on with more data: what it had is where it was, and at its end it is the fit of all rows.
#[test]
fn a_fit_goes_on_with_more_rows() {
    let directory = prepared("project_grow");
    let all = table(&[names("s", 0..3), names("r", 0..12)].concat(), &names("c", 0..9));
    fs::write(directory.join("all.csv"), all).unwrap();
    let fit = |out: &str, more: &[&str]| {
        let fixed = ["fit", "m.cavi", "--data", "x=all.csv", "--tol", "0", "--force", "--out", out];
        succeed(&directory, &[&fixed[..], more].concat()).1
    };
    let said = fit("start", &["--init", "fit", "--grow", "--sweeps", "0"]);
    for words in ["row: 12 of the earlier fit and 3 new", "column: 8 of the earlier fit and 1 new"] {
        assert!(said.contains(words), "{said}");
    }
    let means = |out: &str| {
        succeed(&directory, &["export", out, "--csv", "--force", "--quiet"]);
        let table = rows(&directory, &format!("{out}/export/w.long.csv"));
        let of = |row: &[String]| (row[..2].join(" "), row[2].parse::<f64>().unwrap());
        table[1..].iter().map(|row| of(row)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let (before, start) = (means("fit"), means("start"));
    for (place, mean) in &before {
        assert!((mean - start[place]).abs() < 1e-9 * mean.abs(), "{place}: {mean} and {}", start[place]);
    }
    let average = |component: usize| {
        let own = before.iter().filter(|(place, _)| place.ends_with(&format!(" {component}")));
        let own: Vec<f64> = own.map(|(_, mean)| *mean).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    // The average of shapes and rates is near that of means here, and no draw of a random start is.
    assert!((start["s1 0"] / average(0) - 1.0).abs() < 0.5, "{} and {}", start["s1 0"], average(0));
    fit("grown", &["--init", "fit", "--grow", "--sweeps", "3000", "--verify", "--quiet"]);
    let elbo = |out: &str| {
        let text = fs::read_to_string(directory.join(out).join("summary.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["elbo"].as_f64().unwrap()
    };
    assert!(elbo("grown") > elbo("start") + 1e-3);
    // The same rows in another order start where they ended.
    fs::write(directory.join("all.csv"), table(&names("r", 0..12), &names("c", 0..8))).unwrap();
    fit("same", &["--init", "fit", "--grow", "--sweeps", "0", "--quiet"]);
    assert!((elbo("same") - elbo("fit")).abs() < 1e-9 * elbo("fit").abs());
    // Fewer rows, and more components.
    fs::write(directory.join("all.csv"), table(&names("r", 2..13), &names("c", 0..8))).unwrap();
    let said = fit("fewer", &["--init", "fit", "--grow", "--sweeps", "5", "--set", "part=4"]);
    assert!(
        said.contains("row: 10 of the earlier fit and 1 new, and 2 of the earlier fit are not in these data"),
        "{said}"
    );
    let others = ["fit", "m.cavi", "--data", "x=unknown.csv", "--init", "fit", "--grow", "--out", "o"];
    refuse(&directory, &others, 1, &["no label of axis `row`", "leave `--init` and `--grow` out"]);
    refuse(&directory, &["fit", "m.cavi", "--data", "x=all.csv", "--grow", "--out", "o"], 2, &["--init"]);
    let file = ["fit", "m.cavi", "--data", "x=all.csv", "--init", "x.csv", "--grow", "--out", "o"];
    refuse(&directory, &file, 1, &["`x.csv` has no `axes`", "the directory of a fit"]);
}

/// New rows are classified: their labels, which are not given, have a factor of q that features below them inform.
#[test]
fn labels_that_new_rows_lack_are_found() {
    let directory = scratch("project_classified");
    let program = |absent: &str| {
        format!(
            "axis flower[n]\naxis feature[j]\naxis kind[k]\ndata x[n, j] : real\ndata y[n] : index kind{absent}\n\
             pi[:k] ~ Dirichlet(1)\nmu[k, j] ~ Normal(0, sd = 10)\ntau[j] ~ Gamma(1, rate = 1)\n\
             y[n] ~ Categorical(pi)\nx[n, j] ~ Normal(mu[y[n], j], prec = tau[j])\n"
        )
    };
    let kinds = ["setosa", "versicolor", "virginica"];
    let rows = |name: &str, count: usize| {
        let row = |place: usize| {
            let (kind, wave) = ((place % 3) as f64, (place * 7 % 5) as f64 / 10.0);
            format!("{name}{place},{},{}\n", 4.0 * kind + wave, wave - 3.0 * kind)
        };
        format!("flower,width,length\n{}", (0..count).map(row).collect::<String>())
    };
    fs::write(directory.join("x.csv"), rows("old", 30)).unwrap();
    fs::write(directory.join("new.csv"), rows("new", 9)).unwrap();
    let labels: String = (0..30).map(|place| format!("old{place},{}\n", kinds[place % 3])).collect();
    fs::write(directory.join("y.csv"), format!("flower,kind\n{labels}")).unwrap();
    // Whether labels of the fit were missing or not.
    for (name, absent) in [("some", ", absent = NA"), ("none", "")] {
        fs::write(directory.join("m.cavi"), program(absent)).unwrap();
        let data = ["--data", "x=x.csv", "--data", "y=y.csv:kind", "--quiet"];
        succeed(&directory, &[&["fit", "m.cavi", "--out", name][..], &data].concat());
        let line = ["project", name, "--data", "x=new.csv", "--out", "found", "--force"];
        succeed(&directory, &line);
        let table = fs::read_to_string(directory.join("found/y.csv")).unwrap();
        let mut lines = table.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        for (place, line) in lines.enumerate() {
            let cells: Vec<&str> = line.split(',').collect();
            let of = |kind: &str| {
                let column = header.iter().position(|own| *own == kind).unwrap();
                cells[column].parse::<f64>().unwrap()
            };
            assert_eq!(cells[0], format!("new{place}"), "{table}");
            assert!(of(kinds[place % 3]) > 0.99, "{name}: {table}");
        }
        assert_eq!(table.lines().count(), 10, "{table}");
    }
}
