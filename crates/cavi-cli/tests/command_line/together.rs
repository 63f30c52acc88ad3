//! Variables that nearly do the same. The means of q of a linear model are those of its posterior, which linear equations have: they are solved here.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::common::{run, scratch};

/// The solution of `A x = b`, by elimination with pivots.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|left, right| a[*left][column].abs().total_cmp(&a[*right][column].abs()));
        let pivot = pivot.unwrap();
        a.swap(column, pivot);
        b.swap(column, pivot);
        for row in (0..n).filter(|row| *row != column) {
            let share = a[row][column] / a[column][column];
            let from = a[column].clone();
            a[row].iter_mut().zip(&from).for_each(|(own, other)| *own -= share * other);
            b[row] -= share * b[column];
        }
    }
    (0..n).map(|row| b[row] / a[row][row]).collect()
}

const SITES: usize = 4;
const YEARS: usize = 12;
const FIRST: f64 = 2005.0;

fn observed(site: usize, year: usize) -> f64 {
    site as f64 * 1.5 - 2.0 + 0.3 * year as f64 + ((site * 7 + year * 5) % 11) as f64 / 11.0
}

/// `y = a[site] + b year + noise` of sd 0.5, with `a ~ Normal(0, 1000)` and `b ~ Normal(0, 10)`: the means of a, then of b. The years are taken from their
/// middle for the digits, `a = c - middle b`.
fn posterior_means() -> Vec<f64> {
    let middle = FIRST + (YEARS as f64 - 1.0) / 2.0;
    let n = SITES + 1;
    let (mut a, mut b) = (vec![vec![0.0; n]; n], vec![0.0; n]);
    // The log prior of `c_s - middle b` and of b.
    for row in (0..SITES).map(|site| [(site, 1.0), (SITES, -middle)]) {
        for (left, by) in &row {
            row.iter().for_each(|(right, other)| a[*left][*right] += by * other / 1e6);
        }
    }
    a[SITES][SITES] += 0.01;
    for (site, year) in (0..SITES).flat_map(|site| (0..YEARS).map(move |year| (site, year))) {
        let row = [(site, 1.0), (SITES, FIRST + year as f64 - middle)];
        for (left, by) in row {
            b[left] += by * observed(site, year) / 0.25;
            row.iter().for_each(|(right, other)| a[left][*right] += by * other / 0.25);
        }
    }
    let mut means = solve(a, b);
    let slope = means[SITES];
    means[..SITES].iter_mut().for_each(|own| *own -= middle * slope);
    means
}

fn mean(directory: &Path, name: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(format!("o/posterior/{name}.mean.npy"))).unwrap().values
}

fn elbo(directory: &Path) -> f64 {
    let text = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["elbo"].as_f64().unwrap()
}

fn write(directory: &Path) {
    let mut lines = "site,year,y\n".to_owned();
    for (site, year) in (0..SITES).flat_map(|site| (0..YEARS).map(move |year| (site, year))) {
        writeln!(lines, "s{site},{},{}", FIRST + year as f64, observed(site, year)).unwrap();
    }
    fs::write(directory.join("d.csv"), lines).unwrap();
}

const DATA: &str = "--data of=d.csv:site --data year=d.csv:year --data y=d.csv:y";
const HEAD: &str = "axis line[n]\naxis site[s]\ndata of[n] : index site\ndata year[n] : real\ndata y[n] : real\n\
    a[s] ~ Normal(0, sd = 1000)\nb ~ Normal(0, sd = 10)\ny[n] ~ Normal(a[of[n]] + b * year[n], sd = 0.5)\n";

/// Sweeps end far from there, and say by how much the bound could be higher: covariances do not depend on means, so that this is the difference between
/// the two fits.
#[test]
fn a_slope_of_a_covariate_far_from_0_is_missed_with_a_warning_or_found() {
    let directory = scratch("together");
    write(&directory);
    let expected = posterior_means();
    for posterior in ["", "posterior {\n  q(a[:s])\n}\n"] {
        fs::write(directory.join("m.cavi"), format!("{HEAD}{posterior}")).unwrap();
        let (_, said) = run(&directory, &format!("fit m.cavi {DATA} --out o --force"));
        let (_, rest) = said
            .split_once("warning[W0813]: the fit ended far from the best values of `")
            .unwrap_or_else(|| panic!("{said}"));
        let (_, rest) = rest.split_once("they raise the ELBO by ").unwrap_or_else(|| panic!("{said}"));
        let gain: f64 = rest.split(' ').next().unwrap().parse().unwrap();
        let before = elbo(&directory);
        assert!((mean(&directory, "b")[0] - expected[SITES]).abs() > 0.01, "nothing is missed");
        for shards in ["", " --shards line=3"] {
            let arguments =
                format!("fit m.cavi {DATA} --out o --force --accelerate auto --tol 1e-12{shards}");
            let (_, said) = run(&directory, &arguments);
            assert!(!said.contains("W0813"), "{said}");
            let (a, b) = (mean(&directory, "a"), mean(&directory, "b"));
            for (found, expected) in a.iter().chain(&b).zip(&expected) {
                assert!((found - expected).abs() < 1e-5 * expected.abs().max(1.0), "{found} {expected}");
            }
            let after = elbo(&directory);
            assert!((after - before - gain).abs() < 0.06 + 1e-3 * gain, "{before} {after} {gain}");
        }
    }
}

/// Where sweeps get there, there is nothing to say: the same lines with their years centred.
#[test]
fn what_sweeps_find_is_no_warning() {
    let directory = scratch("together_centred");
    write(&directory);
    fs::write(
        directory.join("m.cavi"),
        HEAD.replace("data year[n] : real", "data year[n] : real, center over n"),
    )
    .unwrap();
    let (_, said) = run(&directory, &format!("fit m.cavi {DATA} --out o --force"));
    assert!(!said.contains("W081"), "{said}");
    // Of years about their middle, the same at each site, the slope depends on the prior of b alone.
    let year = |year: usize| year as f64 - (YEARS as f64 - 1.0) / 2.0;
    let cells = || (0..SITES).flat_map(|site| (0..YEARS).map(move |year| (site, year)));
    let product: f64 = cells().map(|(site, own)| year(own) * observed(site, own)).sum();
    let square: f64 = cells().map(|(_, own)| year(own).powi(2)).sum();
    let slope = product / (square + 0.25 * 0.01);
    assert!((mean(&directory, "b")[0] - slope).abs() < 1e-6, "{slope}");
}

/// A level of 60 beside two factors: with the means of the columns and of the factors moved together the noise is found, from any order.
#[test]
fn factors_do_not_keep_a_level_that_is_the_means() {
    let directory = scratch("together_levels");
    let mut lines = String::new();
    for row in 0..60 {
        let z = [((row * 7) % 13) as f64 / 6.0 - 1.0, ((row * 5) % 11) as f64 / 5.0 - 1.0];
        let cell = |column: usize| {
            let (first, second) =
                (((column * 3) % 7) as f64 / 3.0 - 1.0, ((column * 2) % 5) as f64 / 2.0 - 1.0);
            let noise = ((row * 31 + column * 17) % 19) as f64 / 19.0 - 0.5;
            60.0 + column as f64 + 2.0 * z[0] * first + 2.0 * z[1] * second + noise
        };
        let own: Vec<String> = (0..8).map(|column| cell(column).to_string()).collect();
        writeln!(lines, "{}", own.join(",")).unwrap();
    }
    fs::write(directory.join("x.csv"), lines).unwrap();
    let head = "axis row[n]\naxis column[j]\naxis factor[k] = 2\ndata x[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\n\
        m[j] ~ Normal(0, sd = 100)\nt ~ Gamma(1, rate = 1)\nx[n, j] ~ Normal(m[j] + sum[k](w[j, k] * z[n, k]), prec = t)\n\
        posterior {\n  q(z[n, :k])\n  q(w[j, :k])\n}\n";
    fs::write(directory.join("m.cavi"), head).unwrap();
    for seed in 1..4 {
        let (_, said) = run(&directory, &format!("fit m.cavi --data x=x.csv --seed {seed} --out o --force"));
        assert!(said.contains("W0813"), "{said}");
        let (_, said) = run(
            &directory,
            &format!("fit m.cavi --data x=x.csv --seed {seed} --out o --force --accelerate auto"),
        );
        assert!(!said.contains("W0813"), "{said}");
        // The noise is uniform on 19 places, of variance 1/12 or so.
        let precision = mean(&directory, "t")[0];
        assert!((10.0..20.0).contains(&precision), "seed {seed}: {precision}");
    }
}
