//! `score --metrics` against numbers by hand: rows of weight, rows under a Multinomial that are held out as a whole, several arrays.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{cavi, json, run, scratch, text};

fn write(directory: &Path, files: &[(&str, &str)]) {
    files.iter().for_each(|(file, text)| fs::write(directory.join(file), text).unwrap());
}

/// The value, the popularity and the number of a metric.
fn measured(found: &Value, array: &str, metric: &str) -> [f64; 3] {
    ["value", "popularity", "n"].map(|key| found["metrics"][array][metric][key].as_f64().unwrap_or(f64::NAN))
}

fn close(found: [f64; 3], expected: [f64; 3]) {
    let is_close = |(one, other): (&f64, &f64)| (one - other).abs() < 1e-6;
    assert!(found.iter().zip(&expected).all(is_close), "{found:?}, by hand {expected:?}");
}

#[test]
fn rows_count_as_often_as_they_weigh() {
    let directory = scratch("metrics_of_weights");
    let program = "axis row[n]\naxis col[j]\ndata x[n, j] : real, absent = NA\ndata m[n] : multiplicity\n\
        mu[j] ~ Normal(0, sd = 10)\nx[n, j] ~ Normal(mu[j], sd = 1)\n";
    let counts = "axis row[n]\naxis col[j]\ndata c[n, j] : count, absent = 0\ndata m[n] : multiplicity\n\
        r[j] ~ Gamma(1, rate = 1)\nc[n, j] ~ Poisson(r[j])\n";
    write(
        &directory,
        &[
            ("x.cavi", program),
            ("c.cavi", counts),
            ("x.csv", "row,a,b\nr0,1,2\nr1,3,-1\nr2,50,200\nr3,0.5,4\n"),
            ("m.csv", "row,m\nr0,3\nr1,1\nr2,0\nr3,1\n"),
            ("xh.csv", "row,col,x\nr0,a,1\nr1,b,-1\nr2,b,200\n"),
            ("c.csv", "row,col,c\nr0,b,3\nr1,a,9\nr2,c,1\n"),
            ("mc.csv", "row,m\nr0,2\nr1,0\nr2,1\n"),
            ("ch.csv", "row,col,c\nr0,b,3\nr1,a,9\nr2,c,1\n"),
        ],
    );
    run(&directory, "fit x.cavi --data x=x.csv --data m=m.csv --heldout x=xh.csv --quiet --out x");
    // Given are 3 and 0.5 once each of a; 2 three times and 4 of b.
    let (a, b) = (1.0 - 3.5 / 2.01, -1.0 - 10.0 / 4.01);
    let found = json(&directory, "score x --metrics rmse,mae");
    let root = |a: f64, b: f64| ((3.0 * a * a + b * b) / 4.0).sqrt();
    close(measured(&found, "x", "rmse"), [root(a, b), root(1.0 - 1.75, -1.0 - 2.5), 4.0]);
    close(measured(&found, "x", "mae"), [(3.0 * a.abs() + b.abs()) / 4.0, (3.0 * 0.75 + 3.5) / 4.0, 4.0]);
    let (shown, _) = run(&directory, "score x --metrics rmse");
    assert!(shown.contains("over 4 entries"), "{shown}");
    run(&directory, "fit c.cavi --data c=c.csv --data m=mc.csv --heldout c=ch.csv --quiet --out c");
    // Rates of 1/4, 1/2 and 1/3: the first row has its one relevant column on top, the last in the middle.
    let found = json(&directory, "score c --metrics auc");
    close(measured(&found, "c", "auc"), [2.5 / 3.0, 0.5, 3.0]);
    let error = found["metrics"]["c"]["auc"]["standard_error"].as_f64().unwrap();
    assert!((error - 1.0 / 6.0).abs() < 1e-6, "{error}");
}

#[test]
fn what_was_given_to_rows_of_weight_counts_as_often() {
    let directory = scratch("metrics_of_weights_written_out");
    let program = "axis row[n]\naxis col[j]\ndata c[n, j] : count, absent = 0\n@r[j] ~ Gamma(1, rate = 1)\n\
        c[n, j] ~ Poisson(r[j])\n";
    let (mut once, mut often) = (String::from("row,col,c\n"), String::from("row,col,c\n"));
    let (mut held_once, mut held_often) = (once.clone(), often.clone());
    let mut weights = String::from("row,m\n");
    for row in 0..9_u32 {
        let times = [1, 3, 0, 2][row as usize % 4];
        weights += &format!("r{row},{times}\n");
        for col in 0..5_u32 {
            let count = (row * 5 + col * 3) % 4 * u32::from((row + col) % 3 != 0);
            if count == 0 {
                continue;
            }
            let is_held = (row * 2 + col) % 4 == 1;
            once += &format!("r{row},c{col},{count}\n");
            held_once += &if is_held { format!("r{row},c{col},{count}\n") } else { String::new() };
            for copy in 0..times {
                often += &format!("r{row}_{copy},c{col},{count}\n");
                held_often +=
                    &if is_held { format!("r{row}_{copy},c{col},{count}\n") } else { String::new() };
            }
        }
    }
    write(
        &directory,
        &[
            ("once.cavi", &program.replace('@', "data m[n] : multiplicity\n")),
            ("often.cavi", &program.replace('@', "")),
            ("once.csv", &once),
            ("often.csv", &often),
            ("m.csv", &weights),
            ("ho.csv", &held_once),
            ("hf.csv", &held_often),
        ],
    );
    run(&directory, "fit once.cavi --data c=once.csv --data m=m.csv --heldout c=ho.csv --quiet --out once");
    run(&directory, "fit often.cavi --data c=often.csv --heldout c=hf.csv --quiet --out often");
    for options in ["", " --rank row"] {
        let metrics = "ndcg,ndcg@2,precision@2,recall@2,map,auc,rmse,mae";
        let of = |fit: &str| json(&directory, &format!("score {fit} --metrics {metrics}{options}"));
        let (once, often) = (of("once"), of("often"));
        for metric in metrics.split(',') {
            let own = measured(&once, "c", metric);
            assert!(own[2] >= 2.0 && own[1].is_finite(), "{metric}: {own:?}");
            close(own, measured(&often, "c", metric));
        }
    }
}

#[test]
fn rows_of_counts_that_are_held_out_as_a_whole_have_their_probabilities() {
    let directory = scratch("metrics_of_whole_rows");
    let program = "axis doc[d]\naxis word[v]\ndata n[d, v] : count, absent = 0\nbeta[:v] ~ Dirichlet(1)\n\
        n[d, :v] ~ Multinomial(p = beta[v])\n";
    write(
        &directory,
        &[
            ("n.cavi", program),
            ("n.csv", "doc,word,n\nd0,a,5\nd0,b,1\nd1,a,2\nd1,c,1\n"),
            ("docs.txt", "d0\nd1\nd2\n"),
            ("held.csv", "doc,word,n\nd2,a,3\nd2,c,1\n"),
        ],
    );
    run(&directory, "fit n.cavi --data n=n.csv --labels doc=docs.txt --heldout n=held.csv --quiet --out n");
    // Of 9 units 7, 1 and 1, and one more of each: 8/12, 2/12 and 2/12 of the 4 units that are held out.
    let found = json(&directory, "score n --metrics rmse,mae,auc,map");
    let (a, c) = (3.0 - 4.0 * 8.0 / 12.0, 1.0 - 4.0 * 2.0 / 12.0);
    let (pa, pc) = (3.0 - 4.0 * 7.0 / 9.0, 1.0 - 4.0 / 9.0);
    let root = |a: f64, c: f64| ((a * a + c * c) / 2.0_f64).sqrt();
    close(measured(&found, "n", "rmse"), [root(a, c), root(pa, pc), 2.0]);
    close(measured(&found, "n", "mae"), [(a.abs() + c.abs()) / 2.0, (pa.abs() + pc.abs()) / 2.0, 2.0]);
    // Of the three words a is first, and b and c share their place: relevant are a and c.
    let auc = found["metrics"]["n"]["auc"]["value"].as_f64().unwrap();
    assert!((auc - 0.75).abs() < 1e-9, "{found}");
    let map = found["metrics"]["n"]["map"]["value"].as_f64().unwrap();
    assert!((map - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-9, "{found}");
    // A document without words has the order of the probabilities as well.
    let more = "doc,word,n\nd0,a,1\nd0,b,5\nd1,b,2\nd1,c,3\n";
    write(&directory, &[("more.csv", more)]);
    run(&directory, "fit n.cavi --data n=more.csv --labels doc=docs.txt --quiet --out more");
    let (shown, _) = run(&directory, "top more --rank word --for doc=d2");
    let words: Vec<&str> = shown.lines().skip(1).map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(words, ["b", "c", "a"], "{shown}");
    let found = json(&directory, "top more --rank word --for doc=d0");
    // 8/14 of 6 units.
    let first = found["rankings"][0]["ranking"][0]["expected"].as_f64().unwrap();
    assert!((first - 6.0 * 8.0 / 14.0).abs() < 1e-6, "{found}");
}

#[test]
fn arrays_without_a_metric_leave_it_to_the_others() {
    let directory = scratch("metrics_of_several_arrays");
    let program = "axis row[n]\naxis cls[c]\naxis col[j, i]\ndata lab[n] : index cls, absent = NA\n\
        data x[n, j] : real, absent = NA\ndata y[n, j] : real, absent = NA\npi[:c] ~ Dirichlet(1)\n\
        mu[j] ~ Normal(0, sd = 1)\nnu[j] ~ Normal(0, sd = 1)\nlab[n] ~ Categorical(pi)\n\
        x[n, j] ~ Normal(mu[j], sd = 1)\ny[n, :j] ~ MultivariateNormal(nu[j], cov = [j == i])\n";
    write(
        &directory,
        &[
            ("m.cavi", program),
            ("lab.csv", "row,lab\nr0,A\nr1,B\nr2,A\nr3,B\n"),
            ("x.csv", "row,p,q\nr0,1,2\nr1,3,4\nr2,5,1\nr3,0,7\n"),
            ("y.csv", "row,p,q\nr0,2,-1\nr1,4,1\nr2,-3,3\nr3,1,1\n"),
            ("xh.csv", "row,col\nr0,p\nr2,q\n"),
            ("yh.csv", "row,col\nr1,p\nr1,q\n"),
            ("lh.csv", "row\nr2\n"),
        ],
    );
    let data = "--data lab=lab.csv --data x=x.csv --data y=y.csv";
    let held = "--heldout lab=lh.csv --heldout x=xh.csv --heldout y=yh.csv";
    run(&directory, &format!("fit m.cavi {data} {held} --quiet --out m"));
    let found = json(&directory, "score m --metrics rmse,map");
    // Three of four are given of each column, under a prior of precision 1.
    let (p, q) = (1.0 - 8.0 / 4.0, 1.0 - 13.0 / 4.0_f64);
    close(
        measured(&found, "x", "rmse"),
        [
            ((p * p + q * q) / 2.0_f64).sqrt(),
            (((1.0 - 8.0 / 3.0_f64).powi(2) + (1.0 - 13.0 / 3.0_f64).powi(2)) / 2.0).sqrt(),
            2.0,
        ],
    );
    let (p, q) = (4.0 - 0.0, 1.0 - 3.0 / 4.0_f64);
    close(
        measured(&found, "y", "rmse"),
        [((p * p + q * q) / 2.0_f64).sqrt(), ((16.0 + 0.0) / 2.0_f64).sqrt(), 2.0],
    );
    assert!(found["metrics"]["x"]["map"]["value"] == 1.0, "{found}");
    assert!(found["metrics"]["y"]["map"].is_null() && found["metrics"]["lab"].is_null(), "{found}");
    let (_, said) = run(&directory, "score m --metrics rmse,map");
    assert!(said.contains("left out of rmse: entries of `lab` are classes"), "{said}");
    assert!(said.contains("left out of map: whole rows of `y`"), "{said}");
    // What no array has is refused.
    run(&directory, &format!("fit m.cavi {data} --heldout lab=lh.csv --quiet --out l"));
    let output = cavi(&directory, &["score", "l", "--metrics", "rmse"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("entries of `lab` are classes"), "{}", text(&output.stderr));
}

/// Zeros of data that are given as a whole stay candidates where other entries are held out, as those that are not listed do.
#[test]
fn zeros_are_candidates_whatever_is_held_out() {
    let directory = scratch("metrics_zeros");
    let program = |absent: &str| {
        format!(
            "axis row[n]\naxis col[j]\ndata y[n, j] : binary{absent}\np[j] ~ Beta(1, 1)\ny[n, j] ~ Bernoulli(p[j])\n"
        )
    };
    write(
        &directory,
        &[
            ("whole.cavi", &program("")),
            ("listed.cavi", &program(", absent = 0")),
            ("whole.csv", "row,a,b,c,d\nr0,1,0,0,1\nr1,1,0,1,1\nr2,0,1,0,1\nr3,1,1,0,0\n"),
            (
                "listed.csv",
                "row,col,y\nr0,a,1\nr0,d,1\nr1,a,1\nr1,c,1\nr1,d,1\nr2,b,1\nr2,d,1\nr3,a,1\nr3,b,1\n",
            ),
            ("held.csv", "row,col,y\nr0,a,1\nr1,c,1\n"),
        ],
    );
    for name in ["whole", "listed"] {
        run(
            &directory,
            &format!("fit {name}.cavi --data y={name}.csv --heldout y=held.csv --quiet --out {name}"),
        );
        // Probabilities of 3/5, 1/2, 1/5 and 2/3. Of r0 the one held out is a, before b and c, which are 0; of r1 it is c, after b.
        let found = json(&directory, &format!("score {name} --metrics auc"));
        let own = ["value", "n"].map(|key| found["metrics"]["y"]["auc"][key].as_f64().unwrap());
        assert_eq!(own, [0.5, 2.0], "{name}: {found}");
        let (first, _) = run(&directory, &format!("top {name} --rank col --for row=r0 --unseen"));
        let ranked: Vec<&str> = first.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
        assert_eq!(ranked, ["a", "b", "c"], "{name}: {first}");
    }
}
