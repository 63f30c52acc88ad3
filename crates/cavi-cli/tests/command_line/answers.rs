//! What a fit answers when it is asked, beside numbers that are worked out here by hand from its data.

use std::fs;
use std::path::Path;

use crate::common::{cavi, json, run, scratch, text};
use serde_json::Value;

/// The message of a mistake.
fn refused(directory: &Path, line: &str) -> String {
    let output = cavi(directory, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1), "{line}: {}", text(&output.stderr));
    text(&output.stderr)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Numbers about 0 whose mean is 0 and whose variance is nearly 1.
fn wave(place: u32) -> f64 {
    const QUANTILES: [f64; 10] = [-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645];
    QUANTILES[(place * 7 % 10) as usize]
}

/// Two classes of 30 rows with two measurements each, the centre of the second near 0: its intervals are those of a mean of 30 draws.
#[test]
fn a_class_near_zero_has_an_interval_about_zero() {
    let directory = scratch("answers_signs");
    let program = |mean: &str| {
        format!(
            "axis obs[n]\naxis comp[k] = 2\ndata x[n] : real\ndata y[n] : real\nmu[k] ~ Normal({mean}, sd = 10)\n\
             nu[k] ~ Normal({mean}, sd = 10)\npi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n\
             x[n] ~ Normal(mu[z[n]], sd = 1)\ny[n] ~ Normal(nu[z[n]], sd = 1)\ninit {{\n  mu = kmeans(x)\n}}\n"
        )
    };
    let mut table = "obs,x,y\n".to_owned();
    for row in 0..60 {
        let centre = if row < 30 { 8.0 } else { 0.02 };
        table += &format!("o{row},{},{}\n", centre + wave(row), centre + wave(row / 10 + row));
    }
    fs::write(directory.join("t.csv"), table).unwrap();
    for mean in ["0", "0.000000001"] {
        fs::write(directory.join("m.cavi"), program(mean)).unwrap();
        let fit = "fit m.cavi --data x=t.csv:x --data y=t.csv:y --quiet --force --out f";
        run(&directory, fit);
        let found = json(&directory, "intervals f mu --bootstrap 200 --seed 3");
        let all = found["variables"]["mu"]["intervals"].as_array().expect("two means");
        let near = all.iter().find(|own| number(&own["mean"]) < 1.0).expect("a centre near 0");
        let (mean, sd) = (number(&near["mean"]), number(&near["sd"]));
        let (low, high) = (number(&near["low"]), number(&near["high"]));
        // 1 / sqrt(30) = 0.1826, and 0.02 +- 1.645 of these; of 200 refits within four standard errors.
        assert!((mean - 0.02).abs() < 0.01 && (sd - 0.1826).abs() < 0.04, "{near}");
        assert!((low - (0.02 - 0.300)).abs() < 0.11 && (high - (0.02 + 0.300)).abs() < 0.11, "{near}");
    }
}

/// Replicates of a rare gene are 0 in every cell now and then, and have then no variance over the mean.
#[test]
fn statistics_that_some_replicates_lack_are_compared_with_the_others() {
    let directory = scratch("answers_rare");
    let program = "axis cell[n]\naxis gene[g]\ndata y[n, g] : count\nlam[g] ~ Gamma(1, rate = 1)\ny[n, g] ~ Poisson(lam[g])\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let line = |cell: u32| format!("c{cell},{},{},0\n", 3 + cell % 3, u32::from(cell == 7) * 4);
    let table: String = (0..40).map(line).collect();
    fs::write(directory.join("y.csv"), format!("cell,A,B,none\n{table}")).unwrap();
    run(&directory, "fit m.cavi --data y=y.csv --quiet --out f");
    let found = json(&directory, "check-fit f --by gene --stat dispersion");
    let rows = found["statistics"].as_array().unwrap();
    let own = rows.iter().find(|own| own["group"] == "B").expect("the rare gene is looked at");
    // One 4 among 40: a mean of 0.1, a variance of 16 / 40 - 0.01.
    assert!((number(&own["observed"]) - 3.9).abs() < 1e-12, "{own}");
    // A rate about Gamma(5, 41) leaves 40 cells empty with probability (41 / 81)^5 = 0.033.
    let count = number(&own["n_replicates"]);
    assert!((88.0..100.0).contains(&count), "{own}");
    assert!(own["beyond"] == true && (number(&own["p"]) - 2.0 / (count + 1.0)).abs() < 1e-12, "{own}");
    let all = rows.iter().find(|own| own["group"] == "A").unwrap();
    assert_eq!(all["n_replicates"], 100);
    // A gene that no cell has, has no variance over the mean.
    assert!(rows.iter().all(|own| own["group"] != "none"), "{found}");
    let (shown, noted) = run(&directory, "check-fit f --by gene --stat dispersion");
    assert!(noted.contains("the data have no value of `dispersion` of `y`, none"), "{noted}");
    assert!(shown.contains(&format!("beyond all  ({count} replicates have a value)")), "{shown}");
}

/// Eight 0, a 7 and a 9: 80 % zeros about a mean of 1.6, whatever the fit subtracts and divides by.
#[test]
fn standardised_data_are_checked_in_their_own_units() {
    let directory = scratch("answers_units");
    fs::write(directory.join("r.csv"), "obs,r\na,0\nb,0\nc,7\nd,0\ne,0\nf,0\ng,9\nh,0\ni,0\nj,0\n").unwrap();
    for given in ["", ", center over n", ", center over n, scale over n"] {
        let program = format!(
            "axis obs[n]\ndata r[n] : real{given}\nm ~ Normal(0, sd = 10)\nt ~ Gamma(1, rate = 1)\nr[n] ~ Normal(m, prec = t)\n"
        );
        fs::write(directory.join("m.cavi"), program).unwrap();
        run(&directory, "fit m.cavi --data r=r.csv --quiet --force --out f");
        let found = json(&directory, "check-fit f --stat zeros,mean,max,variance");
        let own = |name: &str| {
            let rows = found["statistics"].as_array().unwrap();
            rows.iter().find(|own| own["statistic"] == name).unwrap_or_else(|| panic!("{given}: no {name}"))
        };
        // The mean of squares is 130 / 10, less 1.6^2.
        for (name, expected) in [("zeros", 0.8), ("mean", 1.6), ("max", 9.0), ("variance", 10.44)] {
            assert!((number(&own(name)["observed"]) - expected).abs() < 1e-12, "{given}: {}", own(name));
        }
        assert!(number(&own("zeros")["highest"]) == 0.0 && own("zeros")["beyond"] == true, "{given}");
        // Replicates have these units too: their variance is about that of the data.
        let variance = number(&own("variance")["mean"]);
        assert!((5.0..25.0).contains(&variance), "{given}: {variance}");
    }
}

/// Classes of two schools have the same names, and are no classes together.
#[test]
fn groups_of_groups_are_told_apart_by_all_their_labels() {
    let directory = scratch("answers_paths");
    let program = "axis school[s]\naxis class[c] in school\naxis pupil[p] in class\ndata y[s, c, p] : real\n\
        b[s, c] ~ Normal(0, sd = 10)\ny[s, c, p] ~ Normal(b[s, c], sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let table =
        "school,class,pupil,y\nA,1,a,1\nA,1,b,2\nA,2,c,5\nA,2,d,7\nB,1,e,10\nB,1,f,11\nB,2,g,20\nB,2,h,24\n";
    fs::write(directory.join("y.csv"), table).unwrap();
    run(&directory, "fit m.cavi --data y=y.csv --quiet --out f");
    let of = |axis: &str| -> Vec<(String, f64)> {
        let found = json(&directory, &format!("check-fit f --stat mean --by {axis}"));
        let rows = found["statistics"].as_array().unwrap().iter();
        rows.map(|own| (own["group"].as_str().unwrap().to_owned(), number(&own["observed"]))).collect()
    };
    let named =
        |all: &[(&str, f64)]| all.iter().map(|(name, own)| ((*name).to_owned(), *own)).collect::<Vec<_>>();
    assert_eq!(of("class"), named(&[("A/1", 1.5), ("A/2", 6.0), ("B/1", 10.5), ("B/2", 22.0)]));
    assert_eq!(of("school"), named(&[("A", 3.75), ("B", 16.25)]));
}

/// Runs with the seeds S and S + 1 once had all data sets but one in common.
#[test]
fn another_seed_gives_other_replicates_and_other_data_sets() {
    let directory = scratch("answers_seeds");
    let program = "axis n[i]\ndata x[i] : real\nm ~ Normal(0, sd = 1)\nx[i] ~ Normal(m, sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let table: String = (0..20).map(|own| format!("{}\n", wave(own))).collect();
    fs::write(directory.join("x.csv"), format!("x\n{table}")).unwrap();
    run(&directory, "fit m.cavi --data x=x.csv --quiet --out f");
    let ends = |seed: u32| {
        let found = json(&directory, &format!("check-fit f --stat mean --draws 20 --seed {seed}"));
        let own = &found["statistics"][0];
        [number(&own["lowest"]), number(&own["highest"])]
    };
    let places = |seed: u32| -> Vec<f64> {
        let found = json(&directory, &format!("calibrate m.cavi --set n=3 --fits 40 --seed {seed}"));
        found["latents"]["m"]["histogram"].as_array().unwrap().iter().map(number).collect()
    };
    for seed in 0..3 {
        // One replicate in place of another changes one end at most.
        let ([low, high], [other_low, other_high]) = (ends(seed), ends(seed + 1));
        assert!(low != other_low && high != other_high, "{seed}");
        // One data set in place of another moves one place of 40: two bars by 1 / 40.
        let (one, other) = (places(seed), places(seed + 1));
        let moved: f64 = one.iter().zip(&other).map(|(one, other)| (one - other).abs()).sum();
        assert!(moved > 2.5 / 40.0, "{seed}: {moved}");
    }
}

/// A probability of 1 is the best there is, and no worse than a density of 2.
#[test]
fn probabilities_and_densities_are_not_compared() {
    let directory = scratch("answers_kinds");
    let head = "axis row[i]\naxis column[j]\n";
    let programs = [
        ("binary", "data y[i, j] : binary\np[j] ~ Beta(1, 1)\ny[i, j] ~ Bernoulli(p[j])\n"),
        ("count", "data y[i, j] : count\nr[j] ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(r[j])\n"),
        (
            "real",
            "data y[i, j] : real\nm[j] ~ Normal(0, sd = 1)\nt[j] ~ Gamma(1, rate = 0.01)\ny[i, j] ~ Normal(m[j], prec = t[j])\n",
        ),
        ("normal", "data y[i, j] : count\nm[j] ~ Normal(0, sd = 1)\ny[i, j] ~ Normal(m[j], sd = 0.1)\n"),
    ];
    let line = |row: u32| format!("r{row},{},{},1,0\n", row % 2, u32::from(row.is_multiple_of(5)));
    let table: String = (0..30).map(line).collect();
    fs::write(directory.join("y.csv"), format!("row,a,b,c,d\n{table}")).unwrap();
    for (name, program) in programs {
        fs::write(directory.join(format!("{name}.cavi")), format!("{head}{program}")).unwrap();
        let fit = format!("fit {name}.cavi --data y=y.csv --heldout y=0.2 --seed 3 --quiet --out {name}");
        run(&directory, &fit);
    }
    for pair in ["binary real", "real count", "count normal"] {
        let said = refused(&directory, &format!("compare {pair}"));
        assert!(said.contains("`y` is not scored alike: one program gives probabilities"), "{pair}: {said}");
    }
    assert!(json(&directory, "compare real normal")["best"].is_string());
    // The page leaves out what is not of the kind of the best.
    run(&directory, "report binary real --out page.html");
    let page = fs::read_to_string(directory.join("page.html")).unwrap();
    assert!(page.contains("gives probabilities, and the other densities"));
    // And it says which of the two a score is.
    for (name, kind) in [("binary", "probability"), ("real", "density"), ("normal", "density")] {
        run(&directory, &format!("report {name} --out {name}.html"));
        let page = fs::read_to_string(directory.join(format!("{name}.html"))).unwrap();
        assert!(page.contains(&format!("their log predictive {kind} is ")), "{name}");
    }
}

/// The labels of a group stand beside its own numbers, also where it has more of them than the first.
#[test]
fn bars_and_curves_of_groups_have_the_labels_of_their_group() {
    let directory = scratch("answers_groups");
    let program = "axis view[m]\naxis feat[d] in view\naxis samp[n]\naxis fac[k] = 1\ndata x[n, m, d] : real\n\
        w[k, m, d] ~ Normal(0, sd = 1)\na[n, k] ~ Normal(0, sd = 1)\nx[n, m, d] ~ Normal(sum[k](a[n, k] * w[k, m, d]), sd = 0.1)\n\
        report {\n  bars feat in w\n  curve feat in w\n}\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let mut table = "view,feat,samp,x\n".to_owned();
    let weights = [
        ("rna", "gA", 1.0),
        ("rna", "gB", 3.0),
        ("prot", "pX", 2.0),
        ("prot", "pY", 1.0),
        ("prot", "pZ", 4.0),
    ];
    for n in 0..10 {
        for (view, feat, weight) in weights {
            table += &format!("{view},{feat},s{n},{}\n", weight * wave(n));
        }
    }
    fs::write(directory.join("x.csv"), table).unwrap();
    let (shown, _) = run(&directory, "fit m.cavi --data x=x.csv --progress none --out f");
    // The sizes of the weights of a factor are as 1 to 3, and as 2 to 1 to 4.
    let sizes: Vec<(&str, f64)> = shown
        .lines()
        .take_while(|line| !line.contains("curves over"))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let label = words.next().filter(|own| weights.iter().any(|(_, feat, _)| feat == own))?;
            Some((label, words.next_back()?.parse::<f64>().ok()?.abs()))
        })
        .collect();
    let labels: Vec<&str> = sizes.iter().map(|(label, _)| *label).collect();
    assert_eq!(labels, ["gA", "gB", "pX", "pY", "pZ"], "{shown}");
    for ((label, size), (_, _, weight)) in sizes.iter().zip(&weights) {
        let share = size / sizes[0].1;
        assert!((share / weight - 1.0).abs() < 0.05, "{label}: {share}\n{shown}");
    }
    let ends: Vec<&str> = shown.lines().filter(|line| line.contains("highest at")).collect();
    assert!(ends.len() == 2 && ends[0].contains("view rna") && ends[1].contains("view prot"), "{shown}");
    assert!(ends[0].ends_with("gA") || ends[0].ends_with("gB"), "{}", ends[0]);
    assert!(ends[1].ends_with("pY") || ends[1].ends_with("pZ"), "{}", ends[1]);
}

/// What has no spread is not said to have that of the posterior.
#[test]
fn points_are_no_posterior() {
    let directory = scratch("answers_points");
    let table: String = (0..30).map(|own| format!("{}\n", 7.0 + wave(own))).collect();
    fs::write(directory.join("y.csv"), format!("y\n{table}")).unwrap();
    let head = "axis obs[n]\ndata y[n] : real\nm ~ Normal(0, sd = 10)\n";
    for (name, rest) in [
        ("one", "y[n] ~ Normal(m, sd = 1)\nposterior { point m }\n"),
        ("given", "t ~ Gamma(1, rate = 1)\ny[n] ~ Normal(m, prec = t)\nposterior { point t }\n"),
        ("exact", "y[n] ~ Normal(m, sd = 1)\n"),
    ] {
        fs::write(directory.join(format!("{name}.cavi")), format!("{head}{rest}")).unwrap();
        run(&directory, &format!("fit {name}.cavi --data y=y.csv --quiet --out {name}"));
    }
    let q = |name: &str| json(&directory, &format!("check-fit {name}"))["q"].clone();
    let one = q("one");
    assert!(
        one["k_hat"].is_null() && one["words"].as_str().unwrap().contains("all latents are points"),
        "{one}"
    );
    // m is exact given t, to the tolerance of the fit.
    let given = q("given");
    assert_eq!((&given["k_hat"], &given["given"]), (&"-inf".into(), &serde_json::json!(["t"])), "{given}");
    assert!(
        given["words"].as_str().unwrap().starts_with("given the point `t`, q is the posterior"),
        "{given}"
    );
    let exact = q("exact");
    assert!(
        exact["k_hat"] == "-inf" && exact["words"].as_str().unwrap().starts_with("q is the posterior"),
        "{exact}"
    );
}

/// Counts of six cells, each with a latent of its own, beside the same counts without.
fn listed(name: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    let own = "axis u[a]\naxis v[b]\ndata y[a, b] : count, absent = NA\nm[b] ~ Gamma(1, rate = 0.1)\n\
        r[a, b] ~ Gamma(2, rate = 1)\ny[a, b] ~ Poisson(r[a, b] * m[b])\n";
    fs::write(directory.join("own.cavi"), own).unwrap();
    let plain = "axis u[a]\naxis v[b]\ndata y[a, b] : count, absent = NA\nm[b] ~ Gamma(1, rate = 0.1)\ny[a, b] ~ Poisson(m[b])\n";
    fs::write(directory.join("plain.cavi"), plain).unwrap();
    let table = "u,v,y\nA,s,2\nB,s,5\nC,s,1\nA,t,20\nC,t,35\nD,t,28\n";
    fs::write(directory.join("y.csv"), table).unwrap();
    directory
}

#[test]
fn latents_at_listed_entries_are_asked_as_the_program_declares_them() {
    let directory = listed("answers_listed");
    run(&directory, "fit own.cavi --data y=y.csv --quiet --out f");
    let read = |name: &str| cavi_files::read_npy(&directory.join("f/posterior").join(name)).unwrap();
    let (r, m, index) = (read("r.mean.npy").values, read("m.mean.npy").values, read("r.index.npy").values);
    let counts = [[2.0, f64::NAN], [5.0, f64::NAN], [1.0, 35.0], [f64::NAN, 28.0]];
    let at = |a: usize, b: usize| if (a, b) == (0, 1) { 20.0 } else { counts[a][b] };
    // The means of the columns are 8 / 3 and 83 / 3.
    let (mut left, mut all) = (0.0, 0.0);
    for (entry, place) in index.chunks(2).enumerate() {
        let (a, b) = (place[0] as usize, place[1] as usize);
        let (y, mean, column) = (at(a, b), r[entry] * m[b], [8.0 / 3.0, 83.0 / 3.0][b]);
        let lost = |by: f64| 2.0 * (y * (y / by).ln() - y + by);
        left += lost(mean);
        all += lost(column);
    }
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("f/summary.json")).unwrap()).unwrap();
    let own = &summary["explained"]["y"];
    assert!((number(&own["share"]) - (1.0 - left / all)).abs() < 1e-6, "{own}");
    assert_eq!(own["about"], "column means", "{own}");
    // One array of rows and columns.
    let found = json(&directory, "check-fit f");
    let names: Vec<(&Value, &str)> = found["statistics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| (&own["group"], own["statistic"].as_str().unwrap()))
        .collect();
    assert!(names.iter().all(|(group, _)| group.is_null()), "{found}");
    assert!(names.iter().any(|own| own.1 == "rows") && names.iter().any(|own| own.1 == "columns"), "{found}");
    // Totals of columns 8 and 83: a variance of 37.5^2 over a mean of 45.5; of rows 22, 5, 36, 28: 522.75 / 4 ... over 22.75.
    let value = |name: &str| {
        let rows = found["statistics"].as_array().unwrap();
        number(&rows.iter().find(|own| own["statistic"] == name).unwrap()["observed"])
    };
    assert!((value("columns") - 37.5 * 37.5 / 45.5).abs() < 1e-9, "{}", value("columns"));
    let rows = [22.0, 5.0, 36.0, 28.0_f64];
    let variance = rows.iter().map(|own| (own - 22.75).powi(2)).sum::<f64>() / 4.0;
    assert!((value("rows") - variance / 22.75).abs() < 1e-9, "{}", value("rows"));
    let by: Vec<String> = json(&directory, "check-fit f --by v --stat mean")["statistics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| format!("{} {:.4}", own["group"].as_str().unwrap(), number(&own["observed"])))
        .collect();
    assert_eq!(by, ["s 2.6667", "t 27.6667"]);
    // Its latent stands at its labels.
    let (shown, _) = run(&directory, "summary f r");
    let lines: Vec<Vec<&str>> = shown.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["u", "v", "mean", "sd", "q05", "q95"]);
    let places: Vec<String> = lines[1..].iter().map(|line| line[..2].join(" ")).collect();
    assert_eq!(places, ["A s", "B s", "C s", "A t", "C t", "D t"]);
    assert!((lines[4][2].parse::<f64>().unwrap() - r[3]).abs() < 1e-4 * r[3], "{shown}");
    let said = json(&directory, "intervals f r");
    assert_eq!(said["variables"]["r"]["intervals"].as_array().unwrap().len(), 6);
    run(&directory, "export f --csv --out tables");
    let long = fs::read_to_string(directory.join("tables/r.long.csv")).unwrap();
    assert!(long.starts_with("u,v,mean,sd,q05,q50,q95\nA,s,"), "{long}");
    assert!(!directory.join("tables/r.csv").exists() && directory.join("tables/m.csv").exists());
    // What is expected elsewhere is not known.
    let said = refused(&directory, "top f --rank v --for u");
    assert!(said.contains("latents of its own at each of its listed entries"), "{said}");
}

#[test]
fn a_program_with_latents_at_listed_entries_is_compared_with_one_without() {
    let directory = listed("answers_listed_compared");
    let mut table = "u,v,y\n".to_owned();
    for a in 0..8_u32 {
        for b in (0..5_u32).filter(|b| !(a + b).is_multiple_of(3)) {
            table += &format!("u{a},v{b},{}\n", (a * 7 + b * 11) % 13 + 10 * (b % 2));
        }
    }
    fs::write(directory.join("y.csv"), table).unwrap();
    for name in ["own", "plain"] {
        let fit = format!("fit {name}.cavi --data y=y.csv --heldout y=0.2 --seed 1 --quiet --out {name}");
        run(&directory, &fit);
    }
    let found = json(&directory, "compare own plain");
    let of = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(directory.join(name).join("summary.json")).unwrap()).unwrap()
    };
    for (own, name) in found["fits"].as_array().unwrap().iter().zip(["own", "plain"]) {
        let score = number(&of(name)["heldout"]["y"]["log_predictive"]);
        assert!((number(&own["log_predictive"]) - score).abs() < 1e-9, "{own}");
    }
    // Another seed holds other entries out.
    run(&directory, "fit plain.cavi --data y=y.csv --heldout y=0.2 --seed 2 --quiet --out other");
    assert!(refused(&directory, "compare own other").contains("other entries of `y` were held out"));
}

/// Of y = a + b x with known noise the posterior is exact: its mean is that at rest, wherever the fit was stopped.
#[test]
fn linear_response_of_an_unfinished_fit_stands_about_the_mean_at_rest() {
    let directory = scratch("answers_response");
    let program = "axis obs[n]\ndata x[n] : real\ndata y[n] : real\na ~ Normal(0, sd = 10)\nb ~ Normal(0, sd = 10)\ny[n] ~ Normal(a + b * x[n], sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let mut table = "obs,x,y\n".to_owned();
    // X'X + I / 100 and X'y of the two coefficients.
    let (mut matrix, mut right) = ([0.01, 0.0, 0.01], [0.0, 0.0]);
    for row in 0..20 {
        let x = 3.0 + f64::from(row) / 10.0;
        let y = 1.5 + 2.0 * x + wave(row);
        table += &format!("o{row},{x},{y}\n");
        matrix = [matrix[0] + 1.0, matrix[1] + x, matrix[2] + x * x];
        right = [right[0] + y, right[1] + x * y];
    }
    fs::write(directory.join("t.csv"), table).unwrap();
    let determinant = matrix[0] * matrix[2] - matrix[1] * matrix[1];
    let mean = (matrix[2] * right[0] - matrix[1] * right[1]) / determinant;
    let sd = (matrix[2] / determinant).sqrt();
    let fit = "fit m.cavi --data x=t.csv:x --data y=t.csv:y --quiet --force --out f";
    for (sweeps, is_finished) in [("10", false), ("100000 --tol 1e-14", true)] {
        run(&directory, &format!("{fit} --sweeps {sweeps}"));
        let found = json(&directory, "intervals f a --linear-response");
        let own = &found["variables"]["a"]["intervals"][0];
        assert!((number(&own["sd"]) / sd - 1.0).abs() < 1e-4, "{own} beside {sd}");
        let ends = [number(&own["low"]), number(&own["high"])];
        for (end, sign) in ends.into_iter().zip([-1.0, 1.0]) {
            assert!((end - (mean + sign * 1.644_853_627 * sd)).abs() < 1e-3 * sd, "{own} beside {mean}");
        }
        let notes = found["notes"].to_string();
        assert_eq!(notes.contains("had not come to rest"), !is_finished, "{notes}");
        assert_eq!((number(&own["mean"]) - mean).abs() > sd, !is_finished, "{own}");
    }
}

/// 20 refits have 21 places for one more, of which 19 lie between them.
#[test]
fn levels_need_their_number_of_refits() {
    let directory = scratch("answers_levels");
    fs::write(
        directory.join("m.cavi"),
        "axis n[i]\ndata x[i] : count\nr ~ Gamma(1, rate = 1)\nx[i] ~ Poisson(r)\n",
    )
    .unwrap();
    fs::write(directory.join("x.csv"), "x\n3\n4\n5\n2\n").unwrap();
    run(&directory, "fit m.cavi --data x=x.csv --quiet --out f");
    let notes = |line: &str| json(&directory, &format!("intervals f {line}"))["notes"].to_string();
    let few = notes("--bootstrap 20 --level 0.99");
    assert!(few.contains("with a probability of 90.48 % at most; `--bootstrap 199` or more"), "{few}");
    assert!(!notes("--bootstrap 199 --level 0.99").contains("too few"));
    assert!(
        !notes("--bootstrap 19 --level 0.9").contains("too few")
            && notes("--bootstrap 18").contains("`--bootstrap 19`")
    );
    // One latent: its quantiles are those of its posterior, and they are not said to be too narrow.
    let own = json(&directory, "intervals f");
    assert!(own["what"].as_str().unwrap().ends_with("which may be too narrow"), "{own}");
}

/// Groups of rows and groups of columns, each with labels of its own.
#[test]
fn latents_with_two_kinds_of_groups_are_read_back() {
    let directory = scratch("answers_two_groups");
    let program = "axis group[g]\naxis item[i] in group\naxis view[v]\naxis feat[d] in view\ndata y[g, i, v, d] : real\n\
        c[g, i, v, d] ~ Normal(0, sd = 1)\ny[g, i, v, d] ~ Normal(c[g, i, v, d], sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let mut table = "group,item,view,feat,y\n".to_owned();
    let mut expected = Vec::new();
    for (group, items) in [("A", &["a1", "a2", "a3"][..]), ("B", &["b1", "b2"])] {
        for (view, feats) in [("r", &["r1", "r2"][..]), ("p", &["p1"])] {
            for item in items {
                for feat in feats {
                    let y = f64::from(expected.len() as u32 * 7 % 10) - 4.0;
                    table += &format!("{group},{item},{view},{feat},{y}\n");
                    // A Normal prior and one draw, both of variance 1: the mean is half of it.
                    expected.push((format!("{group},{view},{item},{feat}"), y / 2.0));
                }
            }
        }
    }
    fs::write(directory.join("y.csv"), table).unwrap();
    run(&directory, "fit m.cavi --data y=y.csv --quiet --out f");
    let (shown, _) = run(&directory, "summary f c");
    for name in ["c[A/r]", "c[A/p]", "c[B/r]", "c[B/p]"] {
        assert!(shown.contains(name), "{name} in {shown}");
    }
    run(&directory, "summary f");
    run(&directory, "report f --out page.html");
    assert_eq!(
        json(&directory, "intervals f c")["variables"]["c"]["intervals"].as_array().unwrap().len(),
        15
    );
    run(&directory, "export f --csv --out tables");
    let long = fs::read_to_string(directory.join("tables/c.long.csv")).unwrap();
    assert!(long.starts_with("group,view,item,feat,mean,"), "{long}");
    let mut found: Vec<(String, f64)> = long
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[..4].join(","), cells[4].parse().unwrap())
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found.len(), expected.len());
    for ((place, mean), (name, own)) in found.iter().zip(&expected) {
        assert!(place == name && (mean - own).abs() < 1e-12, "{place} {mean} beside {name} {own}");
    }
}

#[test]
fn a_cross_validation_is_told_on_page_and_screen() {
    let directory = scratch("answers_folds");
    fs::write(
        directory.join("m.cavi"),
        "axis n[i]\naxis c[j]\ndata x[i, j] : binary\np[j] ~ Beta(1, 1)\nx[i, j] ~ Bernoulli(p[j])\n",
    )
    .unwrap();
    let line = |row: u32| format!("r{row},{},{}\n", row % 2, u32::from(row.is_multiple_of(3)));
    let table: String = (0..24).map(line).collect();
    fs::write(directory.join("x.csv"), format!("n,a,b\n{table}")).unwrap();
    run(&directory, "fit m.cavi --data x=x.csv --folds 4 --quiet --out f");
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("f/summary.json")).unwrap()).unwrap();
    let mean = number(&summary["folds"]["arrays"]["x"]["mean"]);
    run(&directory, "report f --out page.html");
    let page = fs::read_to_string(directory.join("page.html")).unwrap();
    assert!(page.contains(
        "Each of 4 parts of x was held out of a fit to the others: the log predictive probability"
    ));
    assert!(!page.contains("Nothing was held out"));
    let (shown, _) = run(&directory, "summary f");
    let digits = format!("4 folds of x: {} each, standard error", cavi::summary::digits(mean, 6));
    assert!(shown.contains(&digits), "{digits} in {shown}");
}
