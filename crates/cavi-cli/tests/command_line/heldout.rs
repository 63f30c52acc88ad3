//! `cavi fit --heldout` and `cavi score`: what they print and write, and what they say of wrong input.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{MODEL, cavi, scratch, text};
use serde_json::Value;

/// Counts as a long table: rows from `first` on.
fn table(first: usize, rows: usize, columns: usize) -> String {
    let mut lines = vec!["row,column,count".to_owned()];
    for i in first..first + rows {
        for j in 0..columns {
            let count = (i * 7 + j * 5) % 6 + 2 * usize::from(i % 2 == j % 2);
            if count > 0 {
                lines.push(format!("r{i},c{j},{count}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), table(0, 12, 8)).unwrap();
    fs::write(directory.join("new.csv"), table(12, 6, 8)).unwrap();
    directory
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let output = cavi(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON on standard output")
}

const FIT: [&str; 8] = ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "30", "--progress", "none"];

#[test]
fn a_fit_scores_what_it_was_not_given() {
    let directory = prepared("heldout_fit");
    let fit = |more: &[&str]| json(&directory, &[&FIT[..], &["--json"], more].concat());
    let held = fit(&["--heldout", "x=0.2", "--out", "o"]);
    let score = &held["heldout"]["x"];
    let units = score["n_scored"].as_u64().unwrap();
    let total: usize = table(0, 12, 8)
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse::<usize>().unwrap())
        .sum();
    assert!(units > 0 && units < total as u64 / 3, "{units} of {total}");
    let log = score["log_predictive"].as_f64().unwrap();
    let per_unit = score["per_unit"].as_f64().unwrap();
    assert!((per_unit - log / units as f64).abs() < 1e-12 && log < 0.0);
    // Counts at a rate have no perplexity.
    assert_eq!(score["perplexity"], Value::Null);
    assert_eq!(held["settings"]["heldout"][0], "x=0.2");
    let written: Value =
        serde_json::from_slice(&fs::read(directory.join("o/summary.json")).unwrap()).unwrap();
    assert_eq!(written["heldout"], held["heldout"]);
    // The same for any number of threads; another split under another seed; none without the option.
    let again = fit(&["--heldout", "x=0.2", "--out", "p", "--threads", "3"]);
    assert_eq!(again["heldout"], held["heldout"]);
    assert_eq!(again["elbo"], held["elbo"]);
    let other = fit(&["--heldout", "x=0.2", "--out", "p", "--seed", "1"]);
    assert_ne!(other["heldout"], held["heldout"]);
    assert_eq!(fit(&["--out", "p"])["heldout"], Value::Null);

    let output = cavi(&directory, &[&FIT[..], &["--heldout", "x=0.2", "--out", "p"]].concat());
    let shown = text(&output.stdout);
    assert!(shown.contains("held out x: log probability") && !shown.contains("perplexity"), "{shown}");
}

#[test]
fn scores_stand_beside_means_and_one_component() {
    let directory = prepared("heldout_beside");
    let fit = |more: &[&str]| json(&directory, &[&FIT[..], &["--json", "--out", "o"], more].concat());
    let held = fit(&["--heldout", "x=0.2"]);
    let (score, beside) = (&held["heldout"]["x"], &held["heldout_baselines"]["x"]);
    for own in ["means", "one_component"] {
        let other = &beside[own];
        assert_eq!(other["n_scored"], score["n_scored"], "{beside}");
        let difference = score["per_unit"].as_f64().unwrap() - other["per_unit"].as_f64().unwrap();
        assert!((other["difference"].as_f64().unwrap() - difference).abs() < 1e-12, "{beside}");
    }
    assert_eq!(beside["one_component"]["axes"][0], "part");
    // Given the totals of their rows the same units have a perplexity, and are scored again from the directory.
    let given = fit(&["--heldout", "x=0.2", "--heldout-totals"]);
    let score = &given["heldout"]["x"];
    let per_unit = score["per_unit"].as_f64().unwrap();
    assert!((score["perplexity"].as_f64().unwrap() - (-per_unit).exp()).abs() < 1e-9);
    assert_eq!(score["n_scored"], held["heldout"]["x"]["n_scored"]);
    assert_eq!((&given["elbo"], &given["settings"]["heldout_totals"]), (&held["elbo"], &Value::Bool(true)));
    let again = json(&directory, &["score", "o", "--json"]);
    assert_eq!(again["arrays"]["x"], *score);
    assert_eq!(again["baselines"]["x"]["means"], given["heldout_baselines"]["x"]["means"]);
    let output =
        cavi(&directory, &[&FIT[..], &["--heldout", "x=0.2", "--heldout-totals", "--out", "o"]].concat());
    let shown = text(&output.stdout);
    for part in ["difference", "perplexity", "this fit", "rows and columns", "one part"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn files_name_entries_and_continuous_data_have_no_perplexity() {
    let directory = scratch("heldout_files");
    let model = "axis row[i]\naxis column[j]\ndata x[i, j] : real\nm[j] ~ Normal(0, sd = 3)\n\
        x[i, j] ~ Normal(m[j], sd = 1)\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    fs::write(directory.join("x.csv"), ",a,b\np,1,2\nq,1.5,2.5\nr,0.5,\n".replace("0.5,\n", "0.5,3\n"))
        .unwrap();
    fs::write(directory.join("named.csv"), "row,column\nq,b\nr,a\n").unwrap();
    fs::write(directory.join("mask.csv"), "0,0\n0,1\n1,0\n").unwrap();
    fs::write(directory.join("values.csv"), ",a,b\np,,\nq,,7\nr,0,\n").unwrap();
    fs::write(directory.join("wrong.csv"), "row,column\nq,c\n").unwrap();
    let arguments = |file: &'static str| {
        let mut arguments = FIT.to_vec();
        arguments.extend(["--json", "--out", "o", "--heldout", file]);
        arguments
    };
    let named = json(&directory, &arguments("x=named.csv"));
    assert_eq!(named["heldout"]["x"]["n_scored"], 2);
    assert_eq!(named["heldout"]["x"]["perplexity"], Value::Null);
    assert!(named["heldout"]["x"]["standard_error"].as_f64().unwrap() > 0.0);
    for file in ["x=mask.csv", "x=values.csv"] {
        assert_eq!(json(&directory, &arguments(file))["heldout"], named["heldout"], "{file}");
    }
    let output = cavi(&directory, &arguments("x=wrong.csv"));
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("wrong.csv") && message.contains("`c`"), "{message}");
}

#[test]
fn what_cannot_be_hidden_is_refused_with_the_reason() {
    let directory = prepared("heldout_refused");
    let topics = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count, absent = 0\n\
        w[i, k] ~ Gamma(1, rate = 1)\nh[k, :j] ~ Dirichlet(1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n";
    fs::write(directory.join("topics.cavi"), topics).unwrap();
    let rows = topics
        .replace("w[i, k] ~ Gamma(1, rate = 1)", "w[i, :k] ~ Dirichlet(1)")
        .replace("x[i, j] ~ Poisson(", "x[i, :j] ~ Multinomial(");
    fs::write(directory.join("rows.cavi"), rows).unwrap();
    fs::write(directory.join("named.csv"), "row,column\nr1,c1\n").unwrap();
    for (model, wanted) in [
        ("topics.cavi", &["E0901", "`x`", "missing"][..]),
        ("rows.cavi", &["`x`", "Multinomial", "--heldout x=0.1"]),
    ] {
        let arguments = ["fit", model, "--data", "x=x.csv", "--out", "o", "--heldout", "x=named.csv"];
        let output = cavi(&directory, &arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{model}: {message}");
        assert!(wanted.iter().all(|part| message.contains(part)), "{model}: {message}");
        assert!(!directory.join("o").exists());
        // A fraction is thinned, and leaves nothing missing.
        let arguments = ["fit", model, "--data", "x=x.csv", "--out", "o", "--heldout", "x=0.1", "--json"];
        assert!(json(&directory, &arguments)["heldout"]["x"]["per_unit"].is_number());
        fs::remove_dir_all(directory.join("o")).unwrap();
    }
}

#[test]
fn new_rows_are_scored_by_a_fit() {
    let directory = prepared("score");
    json(&directory, &[&FIT[..], &["--json", "--out", "o"]].concat());
    let score =
        |more: &[&str]| json(&directory, &[&["score", "o", "--json", "--progress", "none"], more].concat());
    let plain = score(&["--data", "x=new.csv"]);
    for field in ["log_predictive", "per_unit", "n_scored"] {
        assert!(plain[field].is_number(), "{field}: {plain}");
        assert_eq!(plain[field], plain["arrays"]["x"][field]);
    }
    assert_eq!(plain["perplexity"], Value::Null);
    let given = score(&["--data", "x=new.csv", "--heldout-totals"]);
    assert!(given["perplexity"].is_number() && given["baselines"]["x"]["means"]["per_unit"].is_number());
    assert_eq!(plain["n_dropped"], 0);
    assert_eq!(score(&["--data", "x=new.csv", "--threads", "3"]), plain);
    assert_ne!(score(&["--data", "x=new.csv", "--seed", "5"])["log_predictive"], plain["log_predictive"]);
    // Columns that the fit does not know are left out, and counted.
    fs::write(directory.join("more.csv"), table(12, 6, 8) + "r12,strange,3\nr13,strange,1\n").unwrap();
    let output = cavi(&directory, &["score", "o", "--data", "x=more.csv", "--progress", "none"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("2 entries have a label that the fit does not know"));
    assert!(text(&output.stdout).starts_with("score of x: log probability"), "{}", text(&output.stdout));
    let more = score(&["--data", "x=more.csv"]);
    assert_eq!(more["n_dropped"], 2);
    assert_eq!(more["log_predictive"], plain["log_predictive"]);
    // The first part may be named: here all but the count of one entry.
    let given: Vec<String> =
        table(12, 6, 8).lines().filter(|line| !line.starts_with("r12,c0,")).map(str::to_owned).collect();
    fs::write(directory.join("given.csv"), given.join("\n") + "\n").unwrap();
    let rest = score(&["--data", "x=new.csv", "--given", "x=given.csv"]);
    let left = table(12, 1, 1).lines().nth(1).unwrap().rsplit(',').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(rest["n_scored"], left);
}

/// Rows whose values name an unknown label are left out of every array: the score is that of a file without them.
#[test]
fn rows_with_unknown_labels_are_left_out() {
    let regression = "model m\naxis row[n]\naxis item[j]\naxis group[g]\ndata h[n] : index group\ndata y[n, j] : real\n\
                      a[g] ~ Normal(0, sd = 1)\nu[n] ~ Normal(0, sd = 1)\ny[n, j] ~ Normal(a[h[n]] + u[n], sd = 1)\n";
    let pair = "model m\naxis row[n]\naxis group[g]\naxis kind[k]\ndata h[n] : index group\ndata y[n] : index kind\n\
                p[g, :k] ~ Dirichlet(1)\ny[n] ~ Categorical(p[h[n], :k])\n";
    let classes = "model m\naxis row[n]\naxis item[j]\naxis kind[k]\naxis class[c] = 2\ndata y[n, j] : index kind\n\
                   v[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(v)\np[c, j, :k] ~ Dirichlet(1)\n\
                   y[n, j] ~ Categorical(p[z[n], j, :k])\n";
    let tokens = "model m\naxis doc[d]\naxis token[t] in doc[d]\naxis word[v]\naxis mark[m]\naxis topic[k] = 2\n\
                  data w[d, t] : index word\ndata s[d, t] : index mark\ntheta[d, :k] ~ Dirichlet(1)\n\
                  beta[k, :v] ~ Dirichlet(1)\nrho[k, :m] ~ Dirichlet(1)\nz[d, t] ~ Categorical(theta[d])\n\
                  w[d, t] ~ Categorical(beta[z[d, t]])\ns[d, t] ~ Categorical(rho[z[d, t]])\n";
    let views = "model m\naxis row[n]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k] = 1\n\
                 data x[n, m, j] : real, absent = NA\nz[n, k] ~ Normal(0, sd = 1)\nw[m, j, k] ~ Normal(0, sd = 1)\n\
                 x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), sd = 1)\n";
    // Program, data of a file `F`, the file of the fit, lines that are known and lines that are not, and how many entries
    // these are.
    let cases = [
        (
            "labelled",
            regression,
            &["h=F:h", "y=F.y"][..],
            "row,h\n0,a\n1,b\n2,a\n",
            "row,h\n3,a\n4,z?\n5,b\n6,y?\n7,b\n",
            2,
        ),
        ("unlabelled", regression, &["h=F:h", "y=F.y"], "h\na\nb\na\n", "h\na\nz?\nb\ny?\nb\n", 2),
        (
            "two",
            pair,
            &["h=F:h", "y=F:y"],
            "h,y\na,r\nb,s\nb,s\na,s\n",
            "h,y\na,r\nz?,r\nb,q?\nz?,q?\nb,s\n",
            4,
        ),
        (
            "classes",
            classes,
            &["y=F"],
            "row,i1,i2\n0,r,s\n1,s,s\n2,r,r\n",
            "row,i1,i2\n3,r,s\n4,r,q?\n5,s,r\n",
            1,
        ),
        (
            "tokens",
            tokens,
            &["w=F:word", "s=F:mark"],
            "doc,token,word,mark\n0,0,a,x\n0,1,b,y\n1,0,b,x\n1,1,a,x\n",
            "doc,token,word,mark\n7,0,a,x\n7,1,q?,x\n7,2,b,y\n8,0,a,x\n8,1,b,q?\n8,2,b,y\n",
            2,
        ),
    ];
    for (name, program, data, fit, new, dropped) in cases {
        let directory = scratch(&format!("unknown_{name}"));
        fs::write(directory.join("m.cavi"), program).unwrap();
        let known: String =
            new.lines().filter(|line| !line.contains('?')).map(|line| format!("{line}\n")).collect();
        for (file, text) in [("fit", fit), ("new", &new.replace('?', "")), ("known", &known)] {
            fs::write(directory.join(format!("{file}.csv")), text).unwrap();
            // The other array of a regression: two items for each row, labelled where the rows are.
            let labelled = text.starts_with("row");
            let mut y = if labelled { "row,i1,i2\n".to_owned() } else { "i1,i2\n".to_owned() };
            for line in text.lines().skip(1) {
                let place = new.replace('?', "").lines().position(|own| own == line).unwrap_or(1) as f64;
                let row =
                    if labelled { format!("{},", line.split(',').next().unwrap()) } else { String::new() };
                y += &format!("{row}{},{}\n", place / 4.0, 1.0 - place / 8.0);
            }
            fs::write(directory.join(format!("{file}_y.csv")), y).unwrap();
        }
        let run = |command: &[&str], file: &str| {
            let texts: Vec<String> = data
                .iter()
                .map(|own| own.replace("F.y", &format!("{file}_y.csv")).replace('F', &format!("{file}.csv")))
                .collect();
            let mut arguments = command.to_vec();
            texts.iter().for_each(|text| arguments.extend(["--data", text]));
            cavi(&directory, &[&arguments[..], &["--progress", "none", "--json"]].concat())
        };
        let score = |file: &str| {
            let output = run(&["score", "o"], file);
            assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
            let json: Value = serde_json::from_slice(&output.stdout).unwrap();
            (json, text(&output.stderr).to_owned())
        };
        let output = run(&["fit", "m.cavi", "--out", "o"], "fit");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        let ((mut new, said), (known, nothing)) = (score("new"), score("known"));
        assert_eq!((&new["n_dropped"], &known["n_dropped"]), (&dropped.into(), &0.into()), "{name}");
        let unknown = "a label that the fit does not know";
        assert!(said.contains(unknown) && !nothing.contains(unknown), "{name}: {said}");
        new["n_dropped"] = 0.into();
        assert_eq!(new, known, "{name}");
        assert!(known["n_scored"].as_u64().unwrap() > 0, "{name}");
    }

    // A group that the fit does not have.
    let directory = scratch("unknown_group");
    fs::write(directory.join("m.cavi"), views).unwrap();
    fs::write(directory.join("a.csv"), "p,q\n1,2\n0,1\n-1,1\n").unwrap();
    fs::write(directory.join("b.csv"), "r,s\n1,0\n2,1\n1,1\n").unwrap();
    let fit = ["fit", "m.cavi", "--data", "x[a]=a.csv", "--out", "o", "--progress", "none", "--sweeps", "20"];
    assert_eq!(cavi(&directory, &fit).status.code(), Some(0));
    let score = ["score", "o", "--data", "x[a]=a.csv", "--json", "--progress", "none"];
    let mut both = json(&directory, &[&score[..], &["--data", "x[b]=b.csv"]].concat());
    assert_eq!(both["n_dropped"], 6);
    both["n_dropped"] = 0.into();
    assert_eq!(both, json(&directory, &score));
}

#[test]
fn wrong_scores_are_explained() {
    let directory = prepared("score_wrong");
    json(&directory, &[&FIT[..], &["--json", "--out", "o"]].concat());
    fs::write(directory.join("given.csv"), "row,column,count\nr12,c0,100\n").unwrap();
    fs::write(directory.join("wide.csv"), "1,2,3\n4,5,6\n").unwrap();
    for (arguments, status, wanted) in [
        (&["score", "none", "--data", "x=new.csv"][..], 1, &["none/summary.json", "cavi fit"][..]),
        (&["score", "o"], 1, &["`x`", "--data x=FILE"]),
        (&["score", "o", "--data", "y=new.csv"], 1, &["`--data y`", "`x`"]),
        (&["score", "o", "--data", "x=wide.csv"], 1, &["`column`", "size 8", "3"]),
        (&["score", "o", "--data", "x=new.csv", "--given", "x"], 2, &["`--given x`", "NAME=FILE"]),
        (&["score", "o", "--data", "x=new.csv", "--given", "y=given.csv"], 1, &["`--given y`", "`x`"]),
        (
            &["score", "o", "--data", "x=new.csv", "--given", "x=given.csv"],
            1,
            &["100", "at most what the data have"],
        ),
        (&["score", "o", "--data", "x=new.csv", "--seed", "-1"], 2, &["`--seed -1`"]),
    ] {
        let output = cavi(&directory, arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
        assert!(message.starts_with("error"), "{arguments:?}: {message}");
        assert!(wanted.iter().all(|part| message.contains(part)), "{arguments:?}: {message}");
    }
}

#[test]
fn a_network_has_no_new_rows_and_a_regression_is_scored_as_it_is() {
    let directory = scratch("score_rows");
    let network = "axis node[i, j]\ndata y[i, j] : count, i < j\nw[i] ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(w[i] * w[j])\n";
    fs::write(directory.join("network.cavi"), network).unwrap();
    fs::write(directory.join("y.csv"), "0,1,2\n0,0,1\n0,0,0\n").unwrap();
    let arguments =
        ["fit", "network.cavi", "--data", "y=y.csv", "--out", "n", "--json", "--progress", "none"];
    json(&directory, &arguments);
    let output = cavi(&directory, &["score", "n", "--data", "y=y.csv"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        message.contains("E0903") && message.contains("`node`") && message.contains("--heldout y=0.1"),
        "{message}"
    );

    let regression = "axis case[n]\naxis predictor[p]\ndata x[n, p] : real, center over n\ndata y[n] : real\n\
        w[p] ~ Normal(0, sd = 1)\ny[n] ~ Normal(sum[p](x[n, p] * w[p]), sd = 1)\nposterior {\n  q(w[:p])\n}\n";
    fs::write(directory.join("r.cavi"), regression).unwrap();
    fs::write(directory.join("x.csv"), ",a,b\nc1,1,2\nc2,2,1\nc3,4,0\n").unwrap();
    fs::write(directory.join("r.csv"), "case,y\nc1,1\nc2,2\nc3,3\n").unwrap();
    let arguments = [
        "fit",
        "r.cavi",
        "--data",
        "x=x.csv",
        "--data",
        "y=r.csv",
        "--out",
        "r",
        "--json",
        "--progress",
        "none",
    ];
    json(&directory, &arguments);
    fs::write(directory.join("x2.csv"), ",b,a\nd1,2,1\nd2,1,2\n").unwrap();
    fs::write(directory.join("r2.csv"), "case,y\nd1,1\nd2,2\n").unwrap();
    let arguments = ["score", "r", "--data", "x=x2.csv", "--data", "y=r2.csv", "--json"];
    let score = json(&directory, &arguments);
    assert_eq!((&score["n_scored"], &score["sweeps"]), (&Value::from(2), &Value::Null));
    // The weights of the fit, columns by label, centred by the means of the fit (7/3 and 1): with the covariance (I + X'X)^-1 a new
    // y is Normal about x'm, of variance 1 + x' S x.
    let x = [[1.0 - 7.0 / 3.0, 1.0], [2.0 - 7.0 / 3.0, 0.0], [4.0 - 7.0 / 3.0, -1.0]];
    let y = [1.0, 2.0, 3.0];
    let mut k = [[1.0, 0.0], [0.0, 1.0]];
    let mut r = [0.0, 0.0];
    for (x, y) in x.iter().zip(y) {
        for i in 0..2 {
            r[i] += x[i] * y;
            (0..2).for_each(|j| k[i][j] += x[i] * x[j]);
        }
    }
    let determinant = k[0][0] * k[1][1] - k[0][1] * k[1][0];
    let s =
        [[k[1][1] / determinant, -k[0][1] / determinant], [-k[1][0] / determinant, k[0][0] / determinant]];
    let m = [s[0][0] * r[0] + s[0][1] * r[1], s[1][0] * r[0] + s[1][1] * r[1]];
    let mut expected = 0.0;
    for (x, y) in x.iter().zip(y).take(2) {
        let variance: f64 =
            1.0 + (0..2).map(|i| (0..2).map(|j| x[i] * s[i][j] * x[j]).sum::<f64>()).sum::<f64>();
        let residual = y - m[0] * x[0] - m[1] * x[1];
        expected -= 0.5 * ((2.0 * std::f64::consts::PI * variance).ln() + residual * residual / variance);
    }
    let (found, error) =
        (score["log_predictive"].as_f64().unwrap(), score["standard_error"].as_f64().unwrap());
    assert!((found - expected).abs() < 4.0 * error && error < 0.2, "{score}, expected {expected}");
}

/// Every run of a fit is a fit of its own; their average predicts no worse than they do on average, and what the next fit does not
/// write is gone.
#[test]
fn runs_are_kept_and_averaged() {
    let directory = prepared("keep_all");
    let fit = |more: &[&str]| json(&directory, &[&FIT[..], &["--json", "--out", "o"], more].concat());
    let all = fit(&["--restarts", "3", "--keep", "all", "--heldout", "x=0.2", "--seed", "4"]);
    assert_eq!((&all["settings"]["keep"], &all["heldout_averaged"]["n_fits"]), (&"all".into(), &3.into()));
    let read = |path: &str| -> Value {
        serde_json::from_slice(&fs::read(directory.join(path)).unwrap()).expect("a summary")
    };
    let mut logs = Vec::new();
    for (number, run) in all["runs"].as_array().unwrap().iter().enumerate() {
        let own = read(&format!("o/runs/{}/summary.json", number + 1));
        for key in ["seed", "sweeps", "elbo", "converged"] {
            assert_eq!(own[key], run[key], "{key}");
        }
        assert_eq!(own["settings"]["restarts"], 1);
        logs.push(own["heldout"]["x"]["log_predictive"].as_f64().unwrap());
        // The run alone, from its seed, is the same fit.
        let seed = run["seed"].to_string();
        let alone = json(
            &directory,
            &[&FIT[..], &["--json", "--out", "alone", "--heldout", "x=0.2", "--seed", &seed]].concat(),
        );
        // The split follows the seed too, so that only the fit of the first run can be compared.
        if number == 0 {
            assert_eq!(alone["elbo"], own["elbo"]);
            for file in ["posterior/w.shape.npy", "posterior/h.rate.npy", "axes/column.txt", "model.cavi"] {
                let bytes = |path: &str| fs::read(directory.join(path).join(file)).unwrap();
                assert_eq!(bytes("alone"), bytes("o/runs/1"), "{file}");
            }
        }
    }
    let best = all["runs"].as_array().unwrap().iter().position(|run| run["elbo"] == all["elbo"]).unwrap() + 1;
    for file in ["posterior/w.shape.npy", "posterior/h.rate.npy"] {
        let bytes = |path: &str| fs::read(directory.join(path).join(file)).unwrap();
        assert_eq!(bytes("o"), bytes(&format!("o/runs/{best}")), "{file}");
    }
    let averaged = all["heldout_averaged"]["arrays"]["x"]["log_predictive"].as_f64().unwrap();
    assert!(averaged >= logs.iter().sum::<f64>() / 3.0 - 1e-9, "{averaged} of {logs:?}");

    // New rows: one fit, the same fit twice, all of them; a run is a start.
    let score = |fits: &[&str]| {
        json(
            &directory,
            &[&["score"], fits, &["--data", "x=new.csv", "--json", "--progress", "none"]].concat(),
        )
    };
    let paths = ["o/runs/1", "o/runs/2", "o/runs/3"];
    let each: Vec<f64> =
        paths.iter().map(|path| score(&[path])["log_predictive"].as_f64().unwrap()).collect();
    let together = score(&paths);
    assert_eq!((&together["n_fits"], &score(&["o"])["n_fits"]), (&3.into(), &1.into()));
    assert!(together["log_predictive"].as_f64().unwrap() >= each.iter().sum::<f64>() / 3.0 - 1e-9);
    assert_eq!(score(&["o/runs/2", "o/runs/2"])["log_predictive"].as_f64(), Some(each[1]));
    let output = cavi(&directory, &["score", "o", "o/runs/1", "--data", "x=new.csv", "--progress", "none"]);
    let line = text(&output.stdout);
    assert!(line.starts_with("score of x, 2 fits averaged: log probability"), "{line}");
    let again = [
        "fit", "m.cavi", "--data", "x=x.csv", "--init", "o/runs/3", "--sweeps", "0", "--out", "again",
        "--json",
    ];
    json(&directory, &[&again[..], &["--heldout", "x=0.2", "--seed", "4", "--progress", "none"]].concat());
    assert_eq!(
        fs::read(directory.join("again/posterior/h.rate.npy")).unwrap(),
        fs::read(directory.join("o/runs/3/posterior/h.rate.npy")).unwrap()
    );

    // Fewer runs leave none of the earlier ones; what Cavi did not write stays.
    fs::write(directory.join("o/runs/2/notes.txt"), "mine").unwrap();
    fit(&["--restarts", "2", "--keep", "all"]);
    assert!(directory.join("o/runs/2/summary.json").is_file() && !directory.join("o/runs/3").exists());
    fit(&[]);
    assert!(!directory.join("o/runs/1").exists() && !directory.join("o/runs/2/posterior").exists());
    assert_eq!(fs::read_to_string(directory.join("o/runs/2/notes.txt")).unwrap(), "mine");

    // A fit that somebody put there is none of them.
    let own = [&FIT[..], &["--out", "p/runs/1", "--quiet"]].concat();
    assert_eq!(cavi(&directory, &own).status.code(), Some(0));
    for (more, status) in [(&[][..], 2), (&["--force"][..], 0), (&[][..], 0)] {
        let over = [&FIT[..], &["--out", "p", "--quiet"], more].concat();
        assert_eq!(cavi(&directory, &over).status.code(), Some(status));
        assert!(directory.join("p/runs/1/posterior/h.rate.npy").is_file());
    }
}

/// Fits whose axes have another order are averaged by label; other labels, sizes, programs, constants and scales are refused.
#[test]
fn fits_are_averaged_by_label_or_refused() {
    let directory = prepared("score_several");
    let fit = |arguments: &[&str]| {
        let output = cavi(&directory, &[&["fit"], arguments, &["--progress", "none", "--quiet"]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    };
    let lines = table(0, 12, 8);
    let (header, rest) = lines.split_once('\n').unwrap();
    let mut turned: Vec<&str> = rest.lines().collect();
    turned.reverse();
    fs::write(directory.join("turned.csv"), format!("{header}\n{}\n", turned.join("\n"))).unwrap();
    fs::write(directory.join("narrow.csv"), table(0, 12, 7)).unwrap();
    fs::write(directory.join("other.csv"), table(0, 12, 8).replace(",c7,", ",c9,")).unwrap();
    fs::write(directory.join("other.cavi"), MODEL.replace("Gamma(1, rate = 1)\nh", "Gamma(2, rate = 1)\nh"))
        .unwrap();
    let with_constant = format!("const a : positive = 1\n{MODEL}").replace("model counts\n", "");
    fs::write(directory.join("constant.cavi"), with_constant.replace("Gamma(1,", "Gamma(a,")).unwrap();
    fit(&["m.cavi", "--data", "x=x.csv", "--sweeps", "20", "--out", "o"]);
    // The same q, its columns in another order.
    fit(&["m.cavi", "--data", "x=turned.csv", "--init", "o", "--sweeps", "0", "--out", "turned"]);
    let columns = |fit: &str| fs::read_to_string(directory.join(fit).join("axes/column.txt")).unwrap();
    assert_ne!(columns("o"), columns("turned"));
    let score = |fits: &[&str]| {
        json(
            &directory,
            &[&["score"], fits, &["--data", "x=new.csv", "--json", "--progress", "none"]].concat(),
        )
    };
    assert_eq!(score(&["o", "turned"])["log_predictive"], score(&["o"])["log_predictive"]);

    fit(&["m.cavi", "--data", "x=narrow.csv", "--sweeps", "2", "--out", "narrow"]);
    fit(&["m.cavi", "--data", "x=other.csv", "--sweeps", "2", "--out", "other_label"]);
    fit(&["m.cavi", "--data", "x=x.csv", "--sweeps", "2", "--set", "part=3", "--out", "three"]);
    fit(&["other.cavi", "--data", "x=x.csv", "--sweeps", "2", "--out", "other"]);
    fit(&["constant.cavi", "--data", "x=x.csv", "--sweeps", "2", "--out", "one"]);
    fit(&["constant.cavi", "--data", "x=x.csv", "--sweeps", "2", "--set", "a=2", "--out", "two"]);
    for (fits, wanted) in [
        (["o", "narrow"], &["axis `column`", "size 8 in `o`", "7 in `narrow`"][..]),
        (["o", "other_label"], &["axis `column`", "`c7` in `o`", "`other_label` lacks"]),
        (["o", "three"], &["axis `part`", "size 2 in `o`", "3 in `three`"]),
        (["o", "other"], &["different programs", "`other/model.cavi`", "`o/model.cavi`"]),
        (["one", "two"], &["different constants", "`--set a=...`", "`two`"]),
        (["o", "nothing"], &["nothing/summary.json"]),
    ] {
        let output =
            cavi(&directory, &["score", fits[0], fits[1], "--data", "x=new.csv", "--progress", "none"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{fits:?}: {message}");
        assert!(wanted.iter().all(|part| message.contains(part)), "{fits:?}: {message}");
    }
    assert_eq!(cavi(&directory, &["score", "--data", "x=new.csv"]).status.code(), Some(2));

    // Data that were standardised by other numbers are other data.
    let centred = "model centred\naxis row[i]\naxis column[j]\ndata x[i, j] : real, center over i\nm[j] ~ Normal(0, sd = 1)\n\
                   u[i] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m[j] + u[i], sd = 1)\n";
    fs::write(directory.join("c.cavi"), centred).unwrap();
    fs::write(directory.join("a.csv"), ",p,q\nr1,1,2\nr2,3,5\n").unwrap();
    fs::write(directory.join("b.csv"), ",q,p\nr1,2,1\nr2,5,3\n").unwrap();
    fs::write(directory.join("c.csv"), ",p,q\nr1,1,2\nr2,3,6\n").unwrap();
    for file in ["a", "b", "c"] {
        let (data, out) = (format!("x={file}.csv"), format!("c{file}"));
        fit(&["c.cavi", "--data", &data, "--sweeps", "3", "--out", &out]);
    }
    let output =
        |fits: &[&str]| cavi(&directory, &[&["score"], fits, &["--data", "x=a.csv", "--quiet"]].concat());
    assert_eq!(output(&["ca", "cb"]).status.code(), Some(0), "columns in another order");
    let refused = output(&["ca", "cc"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("`x` was standardised by other numbers in `cc`"));
}

/// A hidden class has a factor of q, which what stands below it has told of: it was once scored by what stands above it alone.
#[test]
fn hidden_classes_are_scored_as_they_are_imputed() {
    const CLASSES: &str = "model classes\n\naxis row[n]\naxis trait[j]\naxis kind[k] = 2\n\n\
        data y[n] : index kind, absent = NA\ndata x[n, j] : real\n\n\
        pi[:k] ~ Dirichlet(1)\nmu[k, j] ~ Normal(0, sd = 3)\ntau ~ Gamma(2, rate = 1)\n\
        y[n] ~ Categorical(pi)\nx[n, j] ~ Normal(mu[y[n], j], prec = tau)\n";
    let directory = scratch("heldout_classes");
    fs::write(directory.join("m.cavi"), CLASSES).unwrap();
    let own = |n: usize| (n * 5 % 7) % 2;
    let x: String = (0..60)
        .map(|n| {
            let value = |j: usize| 1.6 * own(n) as f64 + ((n * 7 + j * 11) % 13) as f64 / 6.0 - 1.0;
            format!("{},{}\n", value(0), value(1))
        })
        .collect();
    fs::write(directory.join("x.csv"), x).unwrap();
    fs::write(directory.join("y.csv"), (0..60).map(|n| format!("{}\n", own(n))).collect::<String>()).unwrap();
    let fit =
        ["fit", "m.cavi", "--data", "x=x.csv", "--data", "y=y.csv", "--heldout", "y=0.3", "--sweeps", "200"];
    let summary = json(&directory, &[&fit[..], &["--json", "--progress", "none", "--out", "o"]].concat());
    let score = summary["heldout"]["y"]["per_unit"].as_f64().unwrap();
    // The probabilities that q gives to what was hidden: one-hot where it was not.
    let prob = cavi_files::read_npy(&directory.join("o/posterior/y.prob.npy")).unwrap();
    let of_own: Vec<f64> = (0..60).map(|n| prob.values[2 * n + own(n)]).filter(|own| *own < 1.0).collect();
    let expected = of_own.iter().map(|own| own.ln()).sum::<f64>() / of_own.len() as f64;
    let units = summary["heldout"]["y"]["n_scored"].as_u64().unwrap() as usize;
    assert!(units >= of_own.len() && units < 25, "{units}");
    let all = expected * of_own.len() as f64 / units as f64;
    assert!((score - all).abs() < 1e-9, "{score} and {all}");
    // What stands above knows of two classes that are about as frequent.
    assert!(score > -0.3, "{score}");
}

/// A response to the classes of 20 words has 2^20 configurations of them: no fit could be scored by it, which is said before one is made.
#[test]
fn what_cannot_be_scored_is_refused_before_the_fit() {
    let program = "axis doc[d]\naxis word[t] in doc[d]\naxis topic[k] = 2\ndata w[d, t] : real\ndata y[d] : real\n\
        theta[d, :k] ~ Dirichlet(1)\nmu[k] ~ Normal(0, sd = 3)\neta[k] ~ Normal(0, sd = 3)\nz[d, t] ~ Categorical(theta[d])\n\
        w[d, t] ~ Normal(mu[z[d, t]], sd = 1)\ny[d] ~ Normal(sum[t](eta[z[d, t]]), sd = 1)\n";
    let directory = scratch("heldout_unscored");
    fs::write(directory.join("own.cavi"), program).unwrap();
    let words = (0..3).flat_map(|doc| (0..20).map(move |word| (doc, word)));
    let line = |(doc, word)| format!("d{doc},{word},{}\n", (doc * 3 + word * 5) % 7 - 3);
    fs::write(directory.join("w.csv"), format!("doc,word,w\n{}", words.map(line).collect::<String>()))
        .unwrap();
    fs::write(directory.join("y.csv"), "doc,y\nd0,1\nd1,2\nd2,3\n").unwrap();
    let line = "fit own.cavi --data w=w.csv --data y=y.csv --heldout y=0.4 --restarts 5 --sweeps 2 --out o";
    let output = cavi(&directory, &line.split(' ').collect::<Vec<_>>());
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("E0902") && message.contains("`y` cannot be scored"), "{message}");
    assert!(!message.contains("note: a part of the data was held out"), "{message}");
    assert!(!message.contains("sweep") && !directory.join("o").exists(), "{message}");
    // What can be scored of the same program is.
    let line = "fit own.cavi --data w=w.csv --data y=y.csv --heldout w=0.2 --sweeps 2 --out o --quiet";
    let output = cavi(&directory, &line.split(' ').collect::<Vec<_>>());
    assert!(directory.join("o/summary.json").is_file(), "{}", text(&output.stderr));
}
