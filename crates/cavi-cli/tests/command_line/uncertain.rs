//! `cavi sample` and `cavi intervals`: what they print and write, and what they say of wrong questions.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};
use serde_json::Value;

/// Groups of columns of different numbers, a joint factor, a mixture of rows, and names for what is made of them.
const RAGGED: &str = "axis row[i]\naxis view[m]\naxis column[j] in view[m]\naxis class[c] = 2\n\
    data x[i, m, j] : real\n\
    share[:c] ~ Dirichlet(1)\nz[i] ~ Categorical(share)\n\
    centre[c] ~ Normal(0, sd = 3)\nw[m, j] ~ Normal(0, sd = 1)\nt[m] ~ Gamma(1, rate = 1)\n\
    level[m, j] = w[m, j] + sum[c](share[c] * centre[c])\n\
    x[i, m, j] ~ Normal(centre[z[i]] + w[m, j], prec = t[m])\n";

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

/// A fit of a ragged mixture, in `fit`.
fn ragged(name: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), RAGGED).unwrap();
    let mut table = vec!["row,view,column,x".to_owned()];
    for i in 0..12 {
        for (view, columns) in [("rna", 3), ("dna", 2)] {
            for j in 0..columns {
                let wave = ((i * 7 + j * 3) % 5) as f64 / 5.0 - 0.4;
                let x = if i % 3 == 0 { 4.0 } else { -2.0 } + wave;
                table.push(format!("r{i},{view},{view}{j},{x}"));
            }
        }
    }
    fs::write(directory.join("x.csv"), table.join("\n") + "\n").unwrap();
    let fit = ["fit", "m.cavi", "--data", "x=x.csv", "--progress", "none", "--seed", "2", "--out", "fit"];
    succeed(&directory, &fit);
    directory
}

#[test]
fn draws_stand_in_files_by_variable_and_group() {
    let directory = ragged("sample_ragged");
    let (shown, _) = succeed(&directory, &["sample", "fit", "--draws", "400"]);
    assert!(shown.contains("z: 400 draws of 12, positions from 0"), "{shown}");
    assert!(
        shown.contains("level: 400 draws of 5, a function of draws") && shown.contains("rna1"),
        "{shown}"
    );
    let of = |file: &str| cavi_files::read_npy(&directory.join("fit/sample").join(file)).unwrap();
    assert_eq!((of("w/rna.npy").shape, of("w/dna.npy").shape), (vec![400, 3], vec![400, 2]));
    assert_eq!((of("share.npy").shape, of("z.npy").shape), (vec![400, 2], vec![400, 12]));
    assert!(of("share.npy").values.chunks(2).all(|own| (own[0] + own[1] - 1.0).abs() < 1e-12));
    assert!(directory.join("fit/sample/axes/column/rna.txt").is_file());
    assert!(!directory.join("fit/sample/z.csv").exists());
    // A function of draws is worked out on each.
    let (level, w, share, centre) = (of("level/dna.npy"), of("w/dna.npy"), of("share.npy"), of("centre.npy"));
    for draw in 0..400 {
        let mixed: f64 = (0..2).map(|c| share.values[2 * draw + c] * centre.values[2 * draw + c]).sum();
        assert!((level.values[2 * draw + 1] - w.values[2 * draw + 1] - mixed).abs() < 1e-12);
    }
    let table = lines(&directory, "fit/sample/level.csv");
    assert_eq!(table[0], ["view", "column", "mean", "sd", "q05", "q50", "q95"]);
    assert_eq!((table.len(), &table[4][..2]), (6, &["dna".to_owned(), "dna0".to_owned()][..]));
    // One variable, with another seed and elsewhere; the JSON says what was drawn.
    let said =
        json(&directory, &["sample", "fit", "level", "--seed", "1", "--draws", "10", "--out", "other"]);
    assert_eq!(said["variables"]["level"]["elements"][0]["labels"][1], "rna0");
    assert_eq!(said["variables"].as_object().unwrap().len(), 1);
    assert!(!directory.join("other/w").exists() && directory.join("other/level/rna.npy").is_file());
}

#[test]
fn wrong_questions_of_draws_are_answered() {
    let directory = ragged("sample_wrong");
    refuse(&directory, &["sample", "fit", "centr"], 1, &["no deterministic name `centr`", "`centre`"]);
    refuse(&directory, &["sample", "fit", "--draws", "0"], 2, &["--draws 0", "at least 1"]);
    refuse(&directory, &["sample", "nowhere"], 1, &["nowhere", "the directory of a fit"]);
    refuse(&directory, &["sample", "fit", "--draws", "900000000"], 1, &["numbers at once", "--draws N"]);
    refuse(&directory, &["sample", "fit", "--out", "x.csv"], 2, &["x.csv"]);
    let program = fs::read_to_string(directory.join("m.cavi")).unwrap();
    fs::write(directory.join("i.cavi"), program + "posterior { implicit z }\n").unwrap();
    let fit = ["fit", "i.cavi", "--data", "x=x.csv", "--progress", "none", "--sweeps", "5", "--out", "i"];
    succeed(&directory, &fit);
    refuse(&directory, &["sample", "i", "z"], 1, &["`z` has no draws", "implicit"]);
    let (_, said) = succeed(&directory, &["sample", "i", "--draws", "5"]);
    assert!(said.contains("`z` has no draws"), "{said}");
    fs::write(directory.join("x.csv"), "row,view,column,x\n").unwrap();
    refuse(&directory, &["sample", "fit"], 1, &["`x.csv`", "has changed since", "--data"]);
}

/// A regression with known precision on two predictors that go together, in `fit`: its posterior is Normal, with the precision
/// I / 4 + 4 X'X.
const REGRESSION: &str = "axis n[n]\naxis p[p] = 2\ndata x[n, p] : real\ndata y[n] : real\n\
    b[p] ~ Normal(0, sd = 2)\ny[n] ~ Normal(sum[p](x[n, p] * b[p]), sd = 0.5)\n";

fn regression(name: &str) -> (std::path::PathBuf, [f64; 3]) {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), REGRESSION).unwrap();
    let (mut x, mut y, mut products) = (String::new(), String::new(), [0.0; 3]);
    for n in 0..40 {
        let one = f64::from((n * 13) % 17) / 8.0 - 1.0;
        let two = 0.8 * one + f64::from((n * 7) % 11) / 20.0 - 0.25;
        x += &format!("{one},{two}\n");
        y += &format!("{}\n", one - 0.5 * two + f64::from((n * 5) % 9) / 8.0 - 0.5);
        for (own, product) in products.iter_mut().zip([one * one, one * two, two * two]) {
            *own += product;
        }
    }
    fs::write(directory.join("x.csv"), x).unwrap();
    fs::write(directory.join("y.csv"), y).unwrap();
    let data = ["--data", "x=x.csv", "--data", "y=y.csv", "--tol", "1e-12", "--progress", "none"];
    succeed(&directory, &[&["fit", "m.cavi", "--out", "fit"], &data[..]].concat());
    (directory, products)
}

/// The standard deviations of `b` in the JSON of `intervals`.
fn deviations(said: &Value) -> Vec<f64> {
    let all = said["variables"]["b"]["intervals"].as_array().unwrap();
    all.iter().map(|own| own["sd"].as_f64().unwrap()).collect()
}

#[test]
fn linear_response_has_the_covariance_of_a_normal_posterior() {
    let (directory, [a, b, c]) = regression("intervals_exact");
    let (one, both, two) = (0.25 + 4.0 * a, 4.0 * b, 0.25 + 4.0 * c);
    let exact = [two, one].map(|own| (own / (one * two - both * both)).sqrt());
    let narrow = [one, two].map(|own| own.recip().sqrt());
    let said = json(&directory, &["intervals", "fit", "--linear-response"]);
    for ((own, exact), narrow) in deviations(&said).iter().zip(exact).zip(narrow) {
        assert!((own / exact - 1.0).abs() < 1e-6, "{own} of {exact}");
        assert!(*own > 1.5 * narrow);
    }
    // The interval is that of a Normal, about the mean at rest, from which that of the fit is not far.
    let first = &said["variables"]["b"]["intervals"][0];
    let [mean, low, high] = ["mean", "low", "high"].map(|name| first[name].as_f64().unwrap());
    assert!(((high - low) / 2.0 / exact[0] - 1.644_853_626_951_47).abs() < 1e-5);
    assert!((mean - (low + high) / 2.0).abs() < 0.01 * exact[0]);
    // q has the variances given the other, and says so.
    let (shown, noted) = succeed(&directory, &["intervals", "fit"]);
    assert!(shown.contains("90 % intervals of q") && noted.contains("narrower than the posterior's"));
    let q = deviations(&json(&directory, &["intervals", "fit"]));
    assert_eq!(deviations(&json(&directory, &["intervals", "fit", "b", "b"])), q, "asked for twice");
    assert!(q.iter().zip(narrow).all(|(own, narrow)| (own / narrow - 1.0).abs() < 1e-6));
    let table = lines(&directory, "fit/intervals/b.csv");
    assert_eq!(table[0], ["p", "mean", "sd", "low", "high", "level", "method"]);
    assert_eq!((table.len(), table[1][6].as_str()), (3, "q"));
}

#[test]
fn refits_vary_as_least_squares_do() {
    let (directory, [a, b, c]) = regression("intervals_bootstrap");
    // The posterior mean (I / 16 + X'X)^-1 X'y varies with the noise by s (..)^-1 X'X (..)^-1.
    let (p, q, r) = (a + 0.0625, b, c + 0.0625);
    let determinant = p * r - q * q;
    let inverse = [r / determinant, -q / determinant, p / determinant];
    let variance = |u: f64, v: f64| 0.25 * (u * u * a + 2.0 * u * v * b + v * v * c);
    let exact = [variance(inverse[0], inverse[1]), variance(inverse[1], inverse[2])].map(f64::sqrt);
    let bootstrap = ["intervals", "fit", "b", "--bootstrap", "300"];
    let said = json(&directory, &bootstrap);
    assert!(said["what"].as_str().unwrap().contains("parametric bootstrap"));
    for (own, exact) in deviations(&said).iter().zip(exact) {
        // The standard deviation of 300 numbers has a standard error of 4 %.
        assert!((own / exact - 1.0).abs() < 0.17, "{own} of {exact}");
    }
    // The same seed and any number of threads give the same bits.
    let again = json(&directory, &[&bootstrap[..], &["--threads", "1"]].concat());
    assert_eq!(again["variables"], said["variables"]);
    let rows = json(&directory, &[&bootstrap[..], &["--rows", "n", "--form", "percentile"]].concat());
    assert_eq!(rows["method"], "rows");
    for (own, exact) in deviations(&rows).iter().zip(exact) {
        assert!(0.5 < own / exact && own / exact < 2.0, "{own} of {exact}");
    }
}

#[test]
fn groups_and_mixtures_have_intervals() {
    let directory = ragged("intervals_ragged");
    let said = json(&directory, &["intervals", "fit", "--bootstrap", "12", "--level", "0.8"]);
    let of = |name: &str| said["variables"][name]["intervals"].as_array().unwrap().clone();
    assert_eq!(of("w").len(), 5);
    assert_eq!(of("w")[3]["labels"], serde_json::json!(["dna", "dna0"]));
    assert!(said["variables"]["z"].is_null());
    // The two classes are six apart, and stay in their order.
    let centres: Vec<f64> = of("centre").iter().map(|own| own["mean"].as_f64().unwrap()).collect();
    assert!((centres[0] - centres[1]).abs() > 3.0, "{centres:?}");
    assert!(of("centre").iter().all(|own| own["sd"].as_f64().unwrap() < 1.0), "{said:#}");
    let rows = json(&directory, &["intervals", "fit", "share", "--bootstrap", "12", "--rows", "row"]);
    assert_eq!(rows["variables"]["share"]["intervals"].as_array().unwrap().len(), 2);
    let tilt = json(&directory, &["intervals", "fit", "--linear-response"]);
    let sd = |name: &str| tilt["variables"][name]["intervals"][0]["sd"].as_f64().unwrap();
    assert!(["share", "centre", "w", "t"].iter().all(|name| sd(name) > 0.0), "{tilt:#}");
}

#[test]
fn wrong_questions_of_intervals_are_answered() {
    let directory = ragged("intervals_wrong");
    let ask = |more: &[&str], status: i32, words: &[&str]| {
        refuse(&directory, &[&["intervals", "fit"], more].concat(), status, words);
    };
    ask(&["centr", "--bootstrap", "5"], 1, &["no latent `centr`", "`centre`"]);
    ask(&["--bootstrap", "0"], 2, &["--bootstrap 0", "at least 2"]);
    ask(&["--level", "90"], 2, &["--level 90", "between 0 and 1"]);
    ask(&["z", "--bootstrap", "5"], 1, &["`z` has no interval", "classes"]);
    ask(&["--bootstrap", "5", "--linear-response"], 2, &["--linear-response", "--bootstrap"]);
    ask(&["--rows", "row"], 2, &["--bootstrap"]);
    ask(&["--bootstrap", "5", "--rows", "rows"], 1, &["no axis of this name", "`row`"]);
    ask(&["--bootstrap", "5", "--rows", "class"], 1, &["`class`", "no data run along it"]);
    ask(&["--bootstrap", "5", "--out", "all.csv"], 2, &["all.csv", "one file"]);
    let points = RAGGED.to_owned() + "posterior { point centre }\n";
    fs::write(directory.join("p.cavi"), points).unwrap();
    let fit = ["fit", "p.cavi", "--data", "x=x.csv", "--progress", "none", "--sweeps", "5", "--out", "p"];
    succeed(&directory, &fit);
    refuse(&directory, &["intervals", "p", "--linear-response"], 1, &["`centre`", "a point", "--bootstrap"]);
    fs::write(directory.join("x.csv"), "row,view,column,x\n").unwrap();
    ask(&["--bootstrap", "5"], 1, &["`x.csv`", "has changed since", "--data"]);
}

/// A fit that was stopped on its way goes on before its refits, whose intervals are then not about the means that it wrote: that is said.
#[test]
fn intervals_of_an_unfinished_fit_say_that_it_went_on() {
    let directory = scratch("uncertain_unfinished");
    let program = "axis place[d]\naxis age[a]\ndata y[d, a] : count\nrate[d] ~ Gamma(2, rate = 2)\nlevel[a] ~ Gamma(0.1, rate = 0.1)\n\
                   y[d, a] ~ Poisson(rate[d] * level[a])\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let rows: String = (1..9).map(|d| format!("{},{},{}\n", 30 * d, 47 * d + 3, 61 * d - 2)).collect();
    fs::write(directory.join("y.csv"), rows).unwrap();
    let fitted = |sweeps: &str, out: &str| {
        let fit = [
            "fit", "m.cavi", "--data", "y=y.csv", "--quiet", "--sweeps", sweeps, "--tol", "1e-13", "--out",
            out,
        ];
        succeed(&directory, &fit);
        let ask = ["intervals", out, "rate", "--bootstrap", "20", "--sweeps", "20000", "--tol", "1e-13"];
        succeed(&directory, &ask).1
    };
    let unfinished = fitted("4", "early");
    assert!(
        unfinished.contains(
            "the fit had not come to rest: when it went on before its refits, `rate` moved by up to"
        ),
        "{unfinished}"
    );
    let finished = fitted("100000", "late");
    assert!(!finished.contains("come to rest"), "{finished}");
}

/// Why a latent has no quantiles is said of it alone, and where its parameters are.
#[test]
fn latents_without_quantiles_are_told_the_reason_of_their_own() {
    let directory = scratch("uncertain_reasons");
    let program = "axis row[n]\naxis class[k] = 2\ndata x[n] : real\nz[n] ~ Categorical(pi)\npi[:k] ~ Dirichlet(1)\nt[k] ~ Gamma(2, rate = 1)\n\
                   mu[k] ~ Normal(0, prec = 0.1 * t[k])\nb ~ Normal(0, sd = 1)\nx[n] ~ Normal(mu[z[n]] + b, prec = t[z[n]])\n\
                   posterior {\n  q(mu[k], t[k])\n  point b\n}\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("x.csv"), "1\n1.2\n0.9\n6\n6.3\n5.8\n").unwrap();
    succeed(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--quiet", "--out", "fit"]);
    let reasons = [("b", "points have no width"), ("z", "what takes classes has probabilities")];
    for (name, reason) in reasons {
        let output = cavi(&directory, &["intervals", "fit", name]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        for (_, other) in reasons {
            assert_eq!(message.contains(other), other == reason, "{name}: {message}");
        }
    }
    // The members of a joint factor have theirs.
    for name in ["mu", "t"] {
        let output = cavi(&directory, &["summary", "fit", name]);
        assert!(text(&output.stdout).contains("mean"), "{}", text(&output.stderr));
        assert_eq!(cavi(&directory, &["intervals", "fit", name]).status.code(), Some(0), "{name}");
    }
}

/// The scales of a horseshoe have no mean under q, and none is needed: the data read the coefficients alone, which are held. The coefficient of 40 rows
/// with noise of 0.1 is within 0.1 of the 2 that it was made with.
#[test]
fn a_bootstrap_needs_no_mean_of_what_draws_no_data() {
    let directory = scratch("uncertain_horseshoe");
    let program = "axis row[n]\naxis item[p]\ndata x[n, p] : real\ndata y[n] : real\nlam[p] ~ InverseGamma(0.5, scale = 1)\n\
        w[p] ~ Normal(0, prec = 1 / lam[p])\ny[n] ~ Normal(sum[p](x[n, p] * w[p]), sd = 0.1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let (mut x, mut y) = ("x,z\n".to_owned(), "y\n".to_owned());
    for n in 0..40_u32 {
        let (one, other) = (f64::from(n * 7 % 11) / 5.0 - 1.0, f64::from(n * 5 % 13) / 6.0 - 1.0);
        x += &format!("{one},{other}\n");
        y += &format!("{}\n", 2.0 * one + 0.1 * (f64::from(n * 3 % 7) / 3.0 - 1.0));
    }
    fs::write(directory.join("x.csv"), x).unwrap();
    fs::write(directory.join("y.csv"), y).unwrap();
    succeed(
        &directory,
        &["fit", "m.cavi", "--data", "x=x.csv", "--data", "y=y.csv", "--out", "o", "--quiet"],
    );
    succeed(&directory, &["intervals", "o", "w", "--bootstrap", "9", "--out", "w.csv", "--quiet"]);
    let table = lines(&directory, "w.csv");
    let mean = table[0].iter().position(|own| own == "mean").unwrap();
    let first: f64 = table[1][mean].parse().unwrap();
    assert!((first - 2.0).abs() < 0.1, "{table:?}");
}
