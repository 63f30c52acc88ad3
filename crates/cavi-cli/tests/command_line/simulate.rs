//! `cavi simulate`: what it draws and writes, and what it says of wrong questions.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};
use serde_json::Value;

const TOPICS: &str = "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata n[d, v] : count, absent = 0\n\
    theta[d, :k] ~ Dirichlet(0.3)\nbeta[k, :v] ~ Dirichlet(0.3)\nn[d, :v] ~ Multinomial(sum[k](theta[d, k] * beta[k, :v]))\n";

fn simulated(directory: &Path, arguments: &[&str]) -> Value {
    let output = cavi(directory, &[&["simulate"], arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read(directory: &Path, file: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(file)).unwrap().values
}

/// The dense rows of a Matrix Market file.
fn rows(directory: &Path, file: &str) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(directory.join(file)).unwrap();
    let numbers = |line: &str| -> Vec<f64> { line.split(' ').map(|word| word.parse().unwrap()).collect() };
    let mut lines = text.lines().skip(1).map(numbers);
    let size = lines.next().unwrap();
    let mut rows = vec![vec![0.0; size[1] as usize]; size[0] as usize];
    lines.for_each(|entry| rows[entry[0] as usize - 1][entry[1] as usize - 1] = entry[2]);
    rows
}

#[test]
fn what_is_drawn_from_the_prior_is_fitted_by_the_line_that_is_printed() {
    let directory = scratch("simulate_prior");
    fs::write(directory.join("m.cavi"), TOPICS).unwrap();
    let sizes = ["m.cavi", "--set", "doc=12", "--set", "word=9"];
    let output = cavi(&directory, &[&["simulate"], &sizes[..], &["--out", "s"]].concat());
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(
        said.contains("each row of `n` has 100 units") && shown.contains("n: 12 x 9, data/n.mtx"),
        "{shown}{said}"
    );
    assert!(rows(&directory, "s/data/n.mtx").iter().all(|row| row.iter().sum::<f64>() == 100.0));
    let theta = read(&directory, "s/latents/theta.npy");
    assert!(theta.chunks(2).all(|row| (row[0] + row[1] - 1.0).abs() < 1e-12 && row[0] > 0.0));
    let line = shown.lines().find_map(|line| line.strip_prefix("to fit them: cavi ")).unwrap();
    let words: Vec<&str> = line.split(' ').map(|word| if word == "DIR" { "o" } else { word }).collect();
    let fit = cavi(&directory, &[&words[..], &["--sweeps", "5", "--progress", "none"]].concat());
    assert!(fit.status.success(), "{}", text(&fit.stderr));
    // The same seed, the same draws; another, others; totals as they are given.
    let same = |directory: &str| fs::read(Path::new(directory)).unwrap();
    let path = |file: &str| directory.join(file).display().to_string();
    simulated(&directory, &[&sizes[..], &["--out", "t"]].concat());
    assert_eq!(same(&path("s/data/n.mtx")), same(&path("t/data/n.mtx")));
    simulated(&directory, &[&sizes[..], &["--seed", "1", "--total", "n=7", "--out", "t"]].concat());
    assert_ne!(read(&directory, "t/latents/theta.npy"), theta);
    assert!(rows(&directory, "t/data/n.mtx").iter().all(|row| row.iter().sum::<f64>() == 7.0));
}

#[test]
fn draws_from_a_fit_keep_the_totals_of_its_rows_and_centre_on_its_means() {
    let directory = scratch("simulate_fit");
    fs::write(directory.join("m.cavi"), TOPICS).unwrap();
    let line = |d: usize| {
        (0..6).map(move |v| format!("d{d},w{v},{}\n", 1 + (d * v) % 5 + 20 * usize::from(d % 2 == v % 2)))
    };
    let table: String = (0..10).flat_map(line).collect();
    fs::write(directory.join("n.csv"), format!("doc,word,n\n{table}")).unwrap();
    let fit = ["fit", "m.cavi", "--data", "n=n.csv", "--sweeps", "60", "--progress", "none", "--out", "o"];
    assert!(cavi(&directory, &fit).status.success());
    let of = |theta: &[f64], beta: &[f64], d: usize, v: usize| -> f64 {
        (0..2).map(|k| theta[d * 2 + k] * beta[k * 6 + v]).sum()
    };
    let means = ["theta", "beta"].map(|name| read(&directory, &format!("o/posterior/{name}.mean.npy")));
    let mut sums = vec![0.0; 60];
    const DRAWS: usize = 40;
    for seed in 0..DRAWS {
        let seed = seed.to_string();
        let json = simulated(&directory, &["o", "--seed", &seed, "--out", "s", "--force"]);
        assert_eq!(json["latents"], serde_json::json!(["theta", "beta"]));
        for (d, row) in rows(&directory, "s/data/n.mtx").iter().enumerate() {
            let total: usize = (0..6).map(|v| 1 + (d * v) % 5 + 20 * usize::from(d % 2 == v % 2)).sum();
            assert_eq!(row.iter().sum::<f64>(), total as f64);
            row.iter().enumerate().for_each(|(v, count)| sums[d * 6 + v] += count / total as f64);
        }
    }
    // A share of some 70 units has a standard deviation of at most 0.08 a draw, and 0.013 over 40 of them.
    for (place, sum) in sums.iter().enumerate() {
        let expected = of(&means[0], &means[1], place / 6, place % 6);
        assert!(
            (sum / DRAWS as f64 - expected).abs() < 0.06,
            "{place}: {} and {expected}",
            sum / DRAWS as f64
        );
    }
}

/// The line that is printed brings the labels of the fit along, so that what is found in the draws can be matched with it.
#[test]
fn draws_from_a_fit_are_fitted_under_its_labels() {
    let directory = scratch("simulate_labels");
    fs::write(directory.join("m.cavi"), TOPICS).unwrap();
    let rows: String = (0..10)
        .map(|d| {
            let counts = (0..6).map(|v| (1 + (d * v) % 5 + 20 * usize::from(d % 2 == v % 2)).to_string());
            format!("d{d},{}\n", counts.collect::<Vec<String>>().join(","))
        })
        .collect();
    fs::write(directory.join("n.csv"), format!(",w0,w1,w2,w3,w4,w5\n{rows}")).unwrap();
    let fit = ["fit", "m.cavi", "--data", "n=n.csv", "--sweeps", "60", "--quiet", "--out", "o"];
    assert!(cavi(&directory, &fit).status.success());
    let json = simulated(&directory, &["o", "--out", "s"]);
    let line = json["command"].as_str().unwrap();
    assert!(line.contains("--labels doc=s/axes/doc.txt --labels word=s/axes/word.txt"), "{line}");
    let words: Vec<&str> =
        line.split(' ').skip(1).map(|word| if word == "DIR" { "again" } else { word }).collect();
    let again = cavi(&directory, &[&words[..], &["--sweeps", "60", "--quiet"]].concat());
    assert!(again.status.success(), "{}", text(&again.stderr));
    let labels =
        |fit: &str, axis: &str| fs::read_to_string(directory.join(format!("{fit}/axes/{axis}.txt"))).unwrap();
    assert!(["doc", "word"].iter().all(|axis| labels("again", axis) == labels("o", axis)));
    let matched = cavi(&directory, &["match", "o", "again", "--json"]);
    let matched: Value = serde_json::from_slice(&matched.stdout).unwrap();
    assert!(matched["stability"].as_f64().unwrap() > 0.95, "{matched}");
}

/// A prior, the mean of its draws and their variance, by the formulas of the handbooks.
const PRIORS: &[(&str, f64, f64)] = &[
    ("Normal(2, sd = 3)", 2.0, 9.0),
    ("Normal(-1, prec = 4)", -1.0, 0.25),
    ("Gamma(3, rate = 2)", 1.5, 0.75),
    ("Gamma(1.5, scale = 2)", 3.0, 6.0),
    ("InverseGamma(5, scale = 8)", 2.0, 4.0 / 3.0),
    ("Beta(2, 3)", 0.4, 0.04),
    ("Exponential(rate = 4)", 0.25, 0.0625),
    ("HalfNormal(sd = 2)", 1.595_769_121_605_731, 1.453_520_910_529_345_8),
    // scipy.stats.truncnorm(-0.5, inf, loc = 1, scale = 2)
    ("TruncatedNormal(1, sd = 2)", 2.018_320_867_674_067, 1.944_701_742_785_468),
];

#[test]
fn draws_have_the_moments_of_their_families() {
    let directory = scratch("simulate_moments");
    const N: usize = 40_000;
    for (prior, mean, variance) in PRIORS {
        // The updates of this program are of no interest here: a point has some under every prior.
        let program = format!(
            "axis row[i]\ndata x[i] : real\nz[i] ~ {prior}\nx[i] ~ Normal(z[i], sd = 0.001)\n\
             posterior {{\n  point z\n}}\n"
        );
        fs::write(directory.join("m.cavi"), program).unwrap();
        simulated(&directory, &["m.cavi", "--set", &format!("row={N}"), "--out", "s"]);
        let z = read(&directory, "s/latents/z.npy");
        let own = z.iter().sum::<f64>() / N as f64;
        let error = (variance / N as f64).sqrt();
        assert!((own - mean).abs() < 5.0 * error, "{prior}: mean {own}, not {mean}");
        let spread = z.iter().map(|value| (value - own).powi(2)).sum::<f64>() / (N - 1) as f64;
        assert!((spread / variance - 1.0).abs() < 0.12, "{prior}: variance {spread}, not {variance}");
        let x = read(&directory, "s/data/x.npy");
        assert!(z.iter().zip(&x).all(|(z, x)| (z - x).abs() < 0.006));
    }
    // Counts: those of a Gamma rate have the variance m + m^2 / shape.
    let counts = "axis row[i]\ndata x[i] : count\nz[i] ~ Gamma(4, rate = 2)\nx[i] ~ Poisson(z[i])\n";
    fs::write(directory.join("m.cavi"), counts).unwrap();
    simulated(&directory, &["m.cavi", "--set", &format!("row={N}"), "--out", "s"]);
    let x = read(&directory, "s/data/x.npy");
    let mean = x.iter().sum::<f64>() / N as f64;
    let variance = x.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / N as f64;
    assert!(
        (mean - 2.0).abs() < 5.0 * (3.0 / N as f64).sqrt() && (variance - 3.0).abs() < 0.15,
        "{mean} {variance}"
    );
}

#[test]
fn classes_select_what_they_name_and_given_data_are_not_drawn() {
    let directory = scratch("simulate_classes");
    let program = "axis row[i]\naxis cluster[c] = 3\ndata t[i] : real\ndata x[i] : real\npi[:c] ~ Dirichlet(2)\n\
        z[i] ~ Categorical(pi)\nmu[c] ~ Normal(0, sd = 50)\nx[i] ~ Normal(mu[z[i]] + 1000 * t[i], sd = 0.01)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("t.csv"), "0\n1\n2\n0\n1\n2\n").unwrap();
    let message = |arguments: &[&str]| {
        let output = cavi(&directory, &[&["simulate", "m.cavi", "--out", "s"], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(!directory.join("s").exists());
        text(&output.stderr)
    };
    assert!(message(&["--set", "row=6"]).contains("the data `t` are bound to no file"));
    let json = simulated(&directory, &["m.cavi", "--data", "t=t.csv", "--out", "s"]);
    assert_eq!(json["latents"], serde_json::json!(["pi", "z", "mu"]));
    assert!(json["command"].as_str().unwrap().contains("--data t=t.csv"), "{json}");
    let (z, mu, x) = (
        read(&directory, "s/latents/z.npy"),
        read(&directory, "s/latents/mu.npy"),
        read(&directory, "s/data/x.npy"),
    );
    for (i, (class, x)) in z.iter().zip(&x).enumerate() {
        let mean = mu[*class as usize] + 1000.0 * (i % 3) as f64;
        assert!((x - mean).abs() < 0.06, "{i}: {x} and {mean}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_with_the_reason() {
    let directory = scratch("simulate_refused");
    fs::write(directory.join("m.cavi"), TOPICS).unwrap();
    let flat = "axis row[i]\ndata x[i] : real\nm ~ Flat(real)\nx[i] ~ Normal(m, sd = 1)\nposterior {\n  point m\n}\n";
    fs::write(directory.join("flat.cavi"), flat).unwrap();
    let wide =
        "axis row[i]\ndata x[i] : real\nt[i] ~ Gamma(1e-4, rate = 1e-4)\nx[i] ~ Normal(0, prec = t[i])\n";
    fs::write(directory.join("wide.cavi"), wide).unwrap();
    fs::create_dir(directory.join("mine")).unwrap();
    fs::write(directory.join("mine/notes.txt"), "x").unwrap();
    let sizes = ["--set", "doc=3", "--set", "word=3"];
    for (arguments, status, wanted) in [
        (&["m.cavi", "--set", "doc=3", "--out", "s"][..], 1, "the size of axis `word` is not known"),
        (
            &["m.cavi", "--set", "doc=3", "--set", "word=3", "--total", "m=3", "--out", "s"],
            1,
            "`--total m=3`",
        ),
        (
            &["m.cavi", "--set", "doc=3", "--set", "word=3", "--total", "n=-3", "--out", "s"],
            2,
            "`--total n=-3`",
        ),
        (&["m.cavi", "--set", "doc=1000000", "--set", "word=1000000", "--out", "s"], 1, "1.000e12 entries"),
        (&["flat.cavi", "--set", "row=3", "--out", "s"], 1, "it is flat"),
        (&["none.cavi", "--out", "s"], 1, "there is no file"),
        (&["mine", "--out", "s"], 2, "is a directory; expected a .cavi file"),
    ] {
        let output = cavi(&directory, &[&["simulate"], arguments].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
        assert!(message.contains(wanted), "{arguments:?}: {message}");
        assert!(!directory.join("s").exists(), "{arguments:?}");
    }
    let output = cavi(&directory, &[&["simulate", "m.cavi", "--out", "mine"], &sizes[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--force") && directory.join("mine/notes.txt").exists());
    let output = cavi(&directory, &["simulate", "wide.cavi", "--set", "row=9", "--out", "s"]);
    assert!(output.status.success() && text(&output.stderr).contains("too vague to be drawn from"));
}

/// A latent that is implicit is drawn at its optimum for the others: rows are drawn from the class in which the fit has them.
#[test]
fn implicit_latents_are_drawn_as_stored_ones_are() {
    let directory = scratch("simulate_implicit");
    let stored = "axis row[n]\naxis class[k] = 2\ndata x[n] : real\npi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n\
        mu[k] ~ Normal(0, sd = 10)\nx[n] ~ Normal(mu[z[n]], sd = 0.5)\ninit {\n  mu = kmeans(x)\n}\nfit {\n  sweep z, mu, pi\n}\n";
    fs::write(directory.join("stored.cavi"), stored).unwrap();
    let implicit =
        stored.replace("sweep z, mu", "sweep mu").replace("init {", "posterior {\n  implicit z\n}\ninit {");
    fs::write(directory.join("implicit.cavi"), implicit).unwrap();
    let side = |n: usize| if n.is_multiple_of(3) { 5.0 } else { -5.0 };
    let column: String = (0..12).map(|n| format!("{}\n", side(n) + 0.1 * (n % 4) as f64)).collect();
    fs::write(directory.join("x.csv"), format!("x\n{column}")).unwrap();
    let drawn = ["stored", "implicit"].map(|name| {
        let program = format!("{name}.cavi");
        let fit = ["fit", &program, "--data", "x=x.csv", "--progress", "none", "--out", name];
        let fit = cavi(&directory, &fit);
        assert!(fit.status.success(), "{}", text(&fit.stderr));
        let json = simulated(&directory, &[name, "--out", "s", "--force"]);
        assert_eq!(json["latents"], serde_json::json!(["pi", "z", "mu"]), "{name}");
        let x = read(&directory, "s/data/x.npy");
        x.iter().enumerate().for_each(|(n, x)| assert!((x - side(n)).abs() < 3.0, "{name}, {n}: {x}"));
        let checked = cavi(&directory, &["check-fit", name, "--draws", "20"]);
        assert!(checked.status.success(), "{}", text(&checked.stderr));
        read(&directory, "s/latents/z.npy")
    });
    assert_eq!(drawn[0], drawn[1]);
}

/// Draws of data that the program computes from others are given to no fit, and the line that is printed still fits.
#[test]
fn the_line_leaves_out_draws_that_the_program_computes() {
    let directory = scratch("simulate_computed");
    let program = "axis row[n]\ndata t[n] : positive\ndata l[n] : real = log(t[n])\nm ~ Normal(0, sd = 1)\n\
        l[n] ~ Normal(m, sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("t.csv"), "t\n1.5\n2\n0.5\n").unwrap();
    let output = cavi(&directory, &["simulate", "m.cavi", "--data", "t=t.csv", "--out", "s"]);
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("computes `l` from other data"), "{shown}{said}");
    assert_eq!(read(&directory, "s/data/l.npy").len(), 3);
    let line = shown
        .lines()
        .find_map(|line| line.strip_prefix("to fit the data that were given, and not these draws: cavi "))
        .unwrap();
    let words: Vec<&str> = line.split(' ').map(|word| if word == "DIR" { "o" } else { word }).collect();
    let fit = cavi(&directory, &[&words[..], &["--progress", "none"]].concat());
    assert!(fit.status.success(), "{}", text(&fit.stderr));
}
