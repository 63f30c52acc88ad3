//! Shares of classes that are implicit, and which axes a page takes for those of components.

use std::fmt::Write as _;
use std::fs;

use crate::common::{run, scratch};

#[test]
fn far_entries_belong_to_their_class_where_it_is_implicit() {
    let directory = scratch("class_shares");
    let mut table = "row,x\n".to_owned();
    for row in 0..20 {
        // Two groups of ten, spread by a hundred times the sd of the statement: every density is less than any number.
        writeln!(table, "r{row},{}", if row < 10 { 0.0 } else { 10.0 } + f64::from(row % 10) * 0.3).unwrap();
    }
    fs::write(directory.join("x.csv"), table).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis row[n]\naxis cls[c] = 2\ndata x[n] : real\npi[:c] ~ Dirichlet(1)\nmu[c] ~ Normal(0, sd = 10)\nz[n] ~ Categorical(pi)\n\
         x[n] ~ Normal(mu[z[n]], sd = 0.01)\nposterior {\n  implicit z[n]\n}\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data x=x.csv --restarts 5 --quiet --out o");
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let shares =
        summary["components"]["x"]["cls"]["shares"].as_array().unwrap_or_else(|| panic!("{summary}"));
    assert_eq!(shares.len(), 2);
    shares.iter().for_each(|own| assert!((own.as_f64().unwrap() - 0.5).abs() < 1e-9, "{shares:?}"));
}

#[test]
fn positions_that_index_data_name_are_no_components() {
    let directory = scratch("named_positions");
    fs::write(
        directory.join("m.cavi"),
        "axis obs[r]\naxis user[u]\naxis item[i]\naxis factor[k] = 2\ndata who[r] : index user\ndata what[r] : index item\n\
         data y[r] : real\na[u, k] ~ Normal(0, sd = 1)\nb[i, k] ~ Normal(0, sd = 1)\n\
         y[r] ~ Normal(sum[k](a[who[r], k] * b[what[r], k]), sd = 0.5)\n",
    )
    .unwrap();
    let mut table = "who,what,y\n".to_owned();
    for (user, item) in (0..9).flat_map(|user| (0..6).map(move |item| (user, item))) {
        writeln!(table, "U{user},I{item},{}", f64::from((user * item) % 5) - 2.0).unwrap();
    }
    fs::write(directory.join("t.csv"), table).unwrap();
    run(
        &directory,
        "fit m.cavi --data who=t.csv:who --data what=t.csv:what --data y=t.csv:y --quiet --out o",
    );
    run(&directory, "report o --out o.html");
    let page = fs::read_to_string(directory.join("o.html")).unwrap();
    assert!(page.contains("2 factor"), "{page}");
    for wrong in ["6 item x 2 factor", "How much each user", "Of 9 user", "How much each item", "Of 6 item"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
}
