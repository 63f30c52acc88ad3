//! Components over a ragged axis: each group has its own, in an order of its own.

use std::fs;
use std::path::Path;

use crate::common::{json, run, scratch};

/// Factors of two views, `comp[k] in view[m]`, of as many rows.
fn prepared(name: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    let program = "axis row[n]\naxis view[m]\naxis feature[j]\naxis comp[k] in view[m]\ndata x[n, m, j] : real, absent = NA\n\
        z[n, m, k] ~ Normal(0, sd = 1)\nw[m, k, j] ~ Normal(0, sd = 1)\n\
        x[n, m, j] ~ Normal(sum[k](z[n, m, k] * w[m, k, j]), sd = 1)\n";
    fs::write(directory.join("rg.cavi"), program).unwrap();
    let mut lines = String::from("row,view,feature,x\n");
    for row in 0..20_u32 {
        for (m, view) in ["A", "B"].iter().enumerate() {
            for (j, feature) in ["a", "b", "c", "d"].iter().enumerate() {
                let wave = |by: u32| f64::from((row * by + m as u32) % 7) - 3.0;
                let loading = |by: usize| ((j * by + m) % 5) as f64 / 2.0 - 1.0;
                let noise = f64::from((row * 13 + 5 * j as u32 + 3) % 11) / 10.0 - 0.5;
                lines += &format!(
                    "r{row},{view},{feature},{:.3}\n",
                    wave(3) * loading(2) + wave(5) * loading(3) + noise
                );
            }
        }
    }
    fs::write(directory.join("x.csv"), lines).unwrap();
    directory
}

fn fit(directory: &Path, sizes: [usize; 2], seed: u64, out: &str) {
    let [a, b] = sizes;
    run(
        directory,
        &format!(
            "fit rg.cavi --data x=x.csv --set comp[A]={a} --set comp[B]={b} --seed {seed} --sweeps 3000 --tol 1e-9 --quiet --out {out}"
        ),
    );
}

/// Exchanges the two halves of the numbers of an array.
fn exchange(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let middle = (bytes.len() - start) / 2;
    bytes[start..].rotate_left(middle);
    fs::write(file, bytes).unwrap();
}

#[test]
fn components_of_each_group_are_matched_among_themselves() {
    let directory = prepared("ragged_components_matched");
    for (sizes, name) in [([3, 2], "more"), ([2, 3], "fewer")] {
        fit(&directory, sizes, 0, name);
        let found = json(&directory, &format!("match {name} {name}"));
        let pairs: Vec<(&str, &str)> = found["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|own| (own["a"].as_str().unwrap(), own["b"].as_str().unwrap()))
            .collect();
        let own =
            |(view, count): (&str, usize)| (0..count).map(|k| format!("{view}/{k}")).collect::<Vec<_>>();
        let expected = [own(("A", sizes[0])), own(("B", sizes[1]))].concat();
        assert_eq!(pairs.len(), 5, "{found}");
        assert!(expected.iter().all(|name| pairs.contains(&(name, name))), "{found}");
        assert!((found["stability"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{found}");
        assert_eq!(found["n_common"], 8, "{found}");
    }
    // A third component of one group has no partner in another.
    let found = json(&directory, "match more fewer");
    assert_eq!(found["pairs"].as_array().unwrap().len(), 4, "{found}");
    let alone = |side: &str| found["unmatched"][side][0].as_str().unwrap().to_owned();
    assert!(alone("a").starts_with("A/") && alone("b").starts_with("B/"), "{found}");

    // The same fit with the components of one view in the other order.
    fit(&directory, [2, 2], 1, "one");
    fit(&directory, [2, 2], 1, "other");
    exchange(&directory.join("other/posterior/w.mean/B.npy"));
    let found = json(&directory, "match one other");
    assert!((found["stability"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{found}");
    let pairs = found["pairs"].as_array().unwrap();
    let turned = pairs.iter().any(|own| own["a"] == "B/0" && own["b"] == "B/1");
    let kept = pairs.iter().any(|own| own["a"] == "A/0" && own["b"] == "A/0");
    assert!(turned && kept, "{found}");
}

#[test]
fn the_page_of_a_fit_has_shares_in_each_group() {
    let directory = prepared("ragged_components_shares");
    fit(&directory, [3, 2], 0, "fit");
    run(&directory, "report fit");
    let html = fs::read_to_string(directory.join("fit/report.html")).unwrap();
    let found = json(&directory, "intervals fit z w");
    let squares = |name: &str, view: &str| -> Vec<f64> {
        let mut sums = vec![0.0; 3];
        for own in found["variables"][name]["intervals"].as_array().unwrap() {
            let labels: Vec<&str> =
                own["labels"].as_array().unwrap().iter().map(|own| own.as_str().unwrap()).collect();
            let component = labels.iter().find_map(|own| own.parse::<usize>().ok()).unwrap();
            if labels.contains(&view) {
                sums[component] += own["mean"].as_f64().unwrap().powi(2);
            }
        }
        sums
    };
    for (view, count) in [("A", 3), ("B", 2)] {
        let of: Vec<f64> = squares("z", view).iter().zip(squares("w", view)).map(|(z, w)| z * w).collect();
        let all: f64 = of.iter().sum();
        let active = of.iter().filter(|own| **own >= 0.01 * all).count();
        let (place, largest) = of.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1)).unwrap();
        let said = format!(
            "Of {count} comp, {active} have 1 % or more of the sum of squares of z x w; the largest is comp {view}/{place} with "
        );
        let rest = html.split(&said).nth(1).unwrap_or_else(|| panic!("{said}"));
        let percent: f64 = rest.split(' ').next().unwrap().parse().unwrap();
        assert!((percent - 100.0 * largest / all).abs() < 0.01, "{percent}, by hand {}", largest / all);
    }
}

/// With one view the axis may as well not be ragged.
#[test]
fn signs_of_ragged_components_are_put_right() {
    let directory = scratch("ragged_components_calibrated");
    let program = "axis row[n] = 12\naxis view[m] = 1\naxis feature[j] = 5\naxis comp[k]@ = 1\ndata x[n, m, j] : real\n\
        z[n, m, k] ~ Normal(0, sd = 1)\nw[m, k, j] ~ Normal(0, sd = 1)\n\
        x[n, m, j] ~ Normal(sum[k](z[n, m, k] * w[m, k, j]), sd = 0.5)\n";
    fs::write(directory.join("ragged.cavi"), program.replace('@', " in view[m]")).unwrap();
    fs::write(directory.join("plain.cavi"), program.replace('@', "")).unwrap();
    let coverage = |name: &str, latent: &str| {
        let found = json(&directory, &format!("calibrate {name}.cavi --fits 40 --seed 1"));
        found["latents"][latent]["coverage_90"].as_f64().unwrap()
    };
    for latent in ["z", "w"] {
        let (ragged, plain) = (coverage("ragged", latent), coverage("plain", latent));
        assert!(plain > 0.6 && (ragged - plain).abs() < 0.12, "{latent}: {ragged} and {plain}");
    }
}
