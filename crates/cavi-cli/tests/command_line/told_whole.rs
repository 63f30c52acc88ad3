//! What is told of a fit is told whole, and of the data that it belongs to: shares, orders, draws and charts.

use std::fs;

use crate::common::{json, run, scratch};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|own| own.as_f64().expect("a number")).collect()
}

/// Two counts over the same parts, each with profiles of its own: the lift of a profile is over the mean profile of its own counts.
#[test]
fn lift_takes_the_shares_of_the_data_that_a_latent_makes() {
    let directory = scratch("told_lift");
    let profiles = [
        ("bx", "x", [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]),
        ("by", "u", [[0.4, 0.4, 0.2], [0.01, 0.3, 0.69], [0.3, 0.01, 0.69]]),
    ];
    // The third part makes no x, and the second no y.
    let weights = |row: usize| [[70.0 + row as f64, 90.0, 0.0], [40.0, 0.0, 80.0 + row as f64]];
    for (place, (name, label, own)) in profiles.iter().enumerate() {
        let line = |(part, own): (usize, &[f64; 3])| format!("p{part},{},{},{}\n", own[0], own[1], own[2]);
        let head = format!(",{label}1,{label}2,{label}3\n");
        let table: String = own.iter().enumerate().map(line).collect();
        fs::write(directory.join(format!("{name}.csv")), format!("part{head}{table}")).unwrap();
        let mut data = format!("doc{head}");
        for row in 0..12 {
            let of =
                |at: usize| (0..3).map(|part| weights(row)[place][part] * own[part][at]).sum::<f64>().round();
            data += &format!("d{row},{},{},{}\n", of(0), of(1), of(2));
        }
        fs::write(directory.join(format!("{}.csv", &name[1..])), data).unwrap();
    }
    fs::write(
        directory.join("m.cavi"),
        "axis doc[d]\naxis xw[v]\naxis yw[u]\naxis part[k] = 3\ndata x[d, v] : count\ndata y[d, u] : count\n\
         tx[d, k] ~ Gamma(0.1, rate = 0.01)\nty[d, k] ~ Gamma(0.1, rate = 0.01)\nbx[k, v] ~ Gamma(1, rate = 1)\n\
         by[k, u] ~ Gamma(1, rate = 1)\nx[d, v] ~ Poisson(sum[k](tx[d, k] * bx[k, v]))\n\
         y[d, u] ~ Poisson(sum[k](ty[d, k] * by[k, u]))\n",
    )
    .unwrap();
    run(
        &directory,
        "fit m.cavi --data x=x.csv --data y=y.csv --fix bx=bx.csv --fix by=by.csv --quiet --out o",
    );
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("o/summary.json")).unwrap()).unwrap();
    let order = |data: &str| -> Vec<&str> {
        let shares = numbers(&summary["components"][data]["part"]["shares"]);
        let own = profiles[1].2;
        let lift = |at: usize| own[0][at] / (0..3).map(|part| shares[part] * own[part][at]).sum::<f64>();
        let mut places = [0, 1, 2];
        places.sort_by(|one, other| lift(*other).total_cmp(&lift(*one)));
        places.map(|at| ["u1", "u2", "u3"][at]).to_vec()
    };
    assert_ne!(order("x"), order("y"), "the shares of x would give another order");
    let (said, _) = run(&directory, "top o by --by lift");
    let first = said.lines().find(|line| line.contains("p0")).expect("a line of the first part");
    let found: Vec<&str> = first.split_whitespace().filter(|own| own.starts_with('u')).collect();
    assert_eq!(found, order("y"), "{said}");
}

/// Of `x[i, j] ~ Poisson(sum[k](s[k] a[k, i] b[k, j]))`, a and b shares, part k makes s_k of all: 100 counts are of the first, and 1 of the second.
#[test]
fn shares_of_parts_have_their_scales() {
    let directory = scratch("told_scales");
    // More cells than are gone through one by one, so that the page takes the shares from the latents.
    let entries = [(1, 1, 40), (1, 2, 20), (2, 1, 20), (2, 2, 20), (5, 5, 1)];
    let lines: String =
        entries.iter().map(|(row, column, count)| format!("{row} {column} {count}\n")).collect();
    let head = "%%MatrixMarket matrix coordinate integer general\n10000 10000 5\n";
    fs::write(directory.join("x.mtx"), head.to_owned() + &lines).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis u[i]\naxis v[j]\naxis part[k] = 2\ndata x[i, j] : count, absent = 0\ns[k] ~ Gamma(1, rate = 0.001)\n\
         a[k, :i] ~ Dirichlet(0.01)\nb[k, :j] ~ Dirichlet(0.01)\n\
         x[i, j] ~ Poisson(sum[k](s[k] * a[k, i] * b[k, j]))\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data x=x.mtx --sweeps 50 --restarts 3 --quiet --out o");
    let scales = cavi_files::read_npy(&directory.join("o/posterior/s.mean.npy")).unwrap().values;
    let total: f64 = scales.iter().sum();
    let largest = 100.0 * scales.iter().copied().fold(0.0, f64::max) / total;
    run(&directory, "report o");
    let page = fs::read_to_string(directory.join("o/report.html")).unwrap();
    let line = page.split("1 % or more of the sum of ").nth(1).expect("a sentence of shares");
    let share =
        line.split(" with ").nth(1).and_then(|own| own.split(" %").next()).expect("the largest share");
    let share: f64 = share.parse().unwrap();
    assert!(line.starts_with("s x a x b;"), "{}", &line[..60]);
    assert!(largest > 60.0 && (share - largest).abs() < 0.1, "{share} and {largest}");
}

#[test]
fn draws_are_summed_up_of_every_element_and_of_what_is_named() {
    let directory = scratch("told_draws");
    let rows: String = (0..250).map(|row| format!("s{row},{}\n", row % 7)).collect();
    fs::write(directory.join("x.csv"), format!("obs,x\n{rows}")).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis obs[n]\ndata x[n] : real\nm[n] ~ Normal(0, sd = 1)\nd[n] = exp(m[n])\nx[n] ~ Normal(m[n], sd = 1)\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data x=x.csv:x --quiet --out o");
    let found = json(&directory, "sample o d m --draws 400");
    for name in ["d", "m"] {
        let all = found["variables"][name]["elements"].as_array().expect("elements");
        assert_eq!(all.len(), 250, "{name}");
    }
    // Of x = 6 the mean is 3 and the standard deviation sqrt(1/2).
    let own = &found["variables"]["m"]["elements"][6];
    assert_eq!(own["labels"], serde_json::json!(["s6"]));
    let [mean, sd] = ["mean", "sd"].map(|key| own[key].as_f64().expect("a number"));
    assert!((mean - 3.0).abs() < 0.18 && (sd - 0.5_f64.sqrt()).abs() < 0.12, "{own}");
}

/// A page has the charts of 40 latents and says how many more there are; on paper there are all.
#[test]
fn every_group_has_its_chart_on_paper() {
    let directory = scratch("told_groups");
    let line = |place: usize| format!("v{:02},f{},{}\n", place / 2, place % 2, place % 5);
    let rows: String = (0..90).map(line).collect();
    fs::write(directory.join("x.csv"), format!("view,feat,x\n{rows}")).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis view[m]\naxis feat[j] in view[m]\ndata x[m, j] : real\nb[m, j] ~ Normal(0, sd = 1)\nx[m, j] ~ Normal(b[m, j], sd = 1)\n\
         report {\n  intervals b\n}\n",
    )
    .unwrap();
    let (said, _) = run(&directory, "fit m.cavi --data x=x.csv --progress none --out o");
    // A ragged latent has its intervals where a fit tells what it found: x / 2 with the variance 1/2.
    assert!(said.contains("b: means with intervals of 90 %") && said.contains("0.7071"), "{said}");
    run(&directory, "report o --plots svg");
    let plots = fs::read_dir(directory.join("o/plots")).unwrap();
    let names: Vec<String> =
        plots.map(|own| own.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(names.iter().filter(|own| own.contains("intervals")).count(), 45, "{names:?}");
}

/// An axis of a latent that has no chart of points is not coloured, and that is said.
#[test]
fn a_colouring_of_what_has_no_points_is_refused() {
    let directory = scratch("told_colours");
    let rows: String = (0..9).map(|row| format!("s{row},{}\n", row % 4)).collect();
    fs::write(directory.join("x.csv"), format!("obs,x\n{rows}")).unwrap();
    fs::write(directory.join("by.csv"), format!("obs,age\n{rows}")).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis obs[n]\ndata x[n] : real\nm[n] ~ Normal(0, sd = 1)\nx[n] ~ Normal(m[n], sd = 1)\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data x=x.csv:x --quiet --out o");
    let output = crate::common::cavi(&directory, &["report", "o", "--by", "age=by.csv:age"]);
    let said = crate::common::text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no latent of the fit has points along it that could be coloured"), "{said}");
}
