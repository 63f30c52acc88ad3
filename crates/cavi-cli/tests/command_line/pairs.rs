//! What is said of an undirected network, a program with `i < j`: it does not depend on the order of its nodes. Beside numbers that are worked out
//! here by hand.

use std::fmt::Write as _;
use std::fs;

use crate::common::{json, run, scratch};
use serde_json::Value;

const NODES: usize = 9;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Whether a pair is joined.
fn is_joined(one: usize, other: usize) -> bool {
    let (low, high) = (one.min(other), one.max(other));
    (low * 5 + high * 3 + low * high) % 7 < 3
}

/// Whether a pair is held out.
fn is_hidden(one: usize, other: usize) -> bool {
    (one + other + one * other) % 3 == 1
}

/// The other nodes.
fn others(node: usize) -> impl Iterator<Item = usize> {
    (0..NODES).filter(move |other| *other != node)
}

/// The values of the pairs of a node that the fit was given.
fn given(node: usize) -> Vec<f64> {
    let seen = others(node).filter(|other| !is_hidden(node, *other));
    seen.map(|other| f64::from(u8::from(is_joined(node, other)))).collect()
}

/// For each node with held-out pairs of both kinds, how often a joined one has the greater popularity, a tie counting half; the mean.
fn popularity_auc() -> (usize, f64) {
    let popularity = |node: usize| given(node).iter().sum::<f64>();
    let mut values = Vec::new();
    for node in 0..NODES {
        let (relevant, rest): (Vec<usize>, Vec<usize>) =
            others(node).filter(|other| is_hidden(node, *other)).partition(|other| is_joined(node, *other));
        let mut sum = 0.0;
        for one in &relevant {
            for other in &rest {
                let (one, other) = (popularity(*one), popularity(*other));
                sum += if one > other {
                    1.0
                } else if one == other {
                    0.5
                } else {
                    0.0
                };
            }
        }
        if !relevant.is_empty() && !rest.is_empty() {
            values.push(sum / (relevant.len() * rest.len()) as f64);
        }
    }
    (values.len(), values.iter().sum::<f64>() / values.len() as f64)
}

#[test]
fn metrics_and_totals_are_the_same_in_every_order_of_the_nodes() {
    let directory = scratch("pairs");
    fs::write(
        directory.join("m.cavi"),
        "axis node[i, j]\ndata y[i, j] : binary, absent = NA, i < j\na[i] ~ Normal(0, sd = 2)\n\
         y[i, j] ~ Bernoulli(logit = a[i] + a[j])\n",
    )
    .unwrap();
    let mut found: Vec<Value> = Vec::new();
    for (name, order) in [("f", (0..NODES).collect::<Vec<_>>()), ("b", (0..NODES).rev().collect())] {
        let (mut labels, mut all, mut hidden) = (String::new(), "i,j,y\n".to_owned(), "i,j,y\n".to_owned());
        for (place, one) in order.iter().enumerate() {
            writeln!(labels, "n{one}").unwrap();
            for other in &order[place + 1..] {
                let line = format!("n{one},n{other},{}\n", u8::from(is_joined(*one, *other)));
                all += &line;
                hidden += if is_hidden(*one, *other) { line.as_str() } else { "" };
            }
        }
        fs::write(directory.join(format!("{name}.txt")), labels).unwrap();
        fs::write(directory.join(format!("{name}.csv")), all).unwrap();
        fs::write(directory.join(format!("{name}h.csv")), hidden).unwrap();
        run(
            &directory,
            &format!(
                "fit m.cavi --data y={name}.csv --labels node={name}.txt --heldout y={name}h.csv --tol 1e-12 --sweeps 5000 --quiet --out {name}"
            ),
        );
        let score = json(&directory, &format!("score {name} --metrics auc,map,ndcg,recall@2,rmse,mae"));
        found.push(score["metrics"]["y"].clone());
        // The totals of nodes over the pairs that the fit was given.
        let check = json(&directory, &format!("check-fit {name} --stat rows --stat columns"));
        let totals: Vec<f64> = (0..NODES).map(|node| given(node).iter().sum()).collect();
        let mean = totals.iter().sum::<f64>() / NODES as f64;
        let variance = totals.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / NODES as f64;
        for own in check["statistics"].as_array().expect("statistics") {
            assert!(
                (number(&own["observed"]) - variance / mean).abs() < 1e-9,
                "{own}, not {}",
                variance / mean
            );
        }
    }
    let (count, auc) = popularity_auc();
    let mut errors = Vec::new();
    let mean = |node: usize| given(node).iter().sum::<f64>() / given(node).len() as f64;
    for one in 0..NODES {
        for other in (one + 1..NODES).filter(|other| is_hidden(one, *other)) {
            let value = f64::from(u8::from(is_joined(one, other)));
            errors.push(value - 0.5 * (mean(one) + mean(other)));
        }
    }
    let rmse = (errors.iter().map(|own| own * own).sum::<f64>() / errors.len() as f64).sqrt();
    assert!(count > 2);
    for own in &found {
        assert_eq!(own["auc"]["n"], count, "{own}");
        assert!((number(&own["auc"]["popularity"]) - auc).abs() < 1e-9, "{own}, not {auc}");
        assert!((number(&own["rmse"]["popularity"]) - rmse).abs() < 1e-9, "{own}, not {rmse}");
    }
    for metric in ["auc", "map", "ndcg", "recall@2", "rmse", "mae"] {
        let [one, other] = [&found[0][metric], &found[1][metric]];
        assert_eq!(one["n"], other["n"], "{metric}: {one}, {other}");
        let between = |key: &str| (number(&one[key]) - number(&other[key])).abs();
        assert!(between("popularity") < 1e-9, "{metric}: {one}, {other}");
        // What is expected is an average over draws, of which each order has its own.
        assert!(
            between("value") < if matches!(metric, "rmse" | "mae") { 0.03 } else { 0.3 },
            "{metric}: {one}, {other}"
        );
    }
}
