//! Group factor analysis: which factors are active in which view, and the error on entries that were held out.

use cavi::{Control, Settings};
use cavi_executor::Parameters;
use cavi_tests::support::{Matrix, Ready, bundled, matrix_file};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// The views of a program's data.
struct Views {
    names: Vec<String>,
    data: Vec<Matrix>,
}

/// What a fit says of each view: the loadings, features by factors.
struct Found {
    z: Vec<f64>,
    w: Vec<Vec<f64>>,
    factors: usize,
}

impl Views {
    fn fit(&self, factors: usize, seed: u64, sweeps: u64) -> Found {
        let files = self.names.iter().zip(&self.data);
        let files = files.map(|(name, data)| matrix_file(&format!("x[{name}]"), data, false)).collect();
        let program = Ready::built_in("gfa", &[("factor", factors as f64)], files);
        let settings = Settings { seed: Some(seed), sweeps: Some(sweeps), threads: 2, ..Settings::default() };
        let fit = program.problem().fit(&settings, &mut |_| Control::Continue);
        let state: Parameters = fit.unwrap_or_else(|error| panic!("{error:?}")).parameters;
        let all = program.column(&state, "w", 0);
        let mut place = 0;
        let split = |data: &Matrix| {
            let own = all[place..place + data[0].len() * factors].to_vec();
            place += own.len();
            own
        };
        Found {
            z: program.column(&state, "z", 0).to_vec(),
            w: self.data.iter().map(split).collect(),
            factors,
        }
    }
}

impl Found {
    /// The share of each view's variance (1 a feature) that a factor explains, by view and factor.
    fn shares(&self) -> Vec<Vec<f64>> {
        let k = self.factors;
        let samples = (self.z.len() / k) as f64;
        let share = |w: &Vec<f64>, factor: usize| {
            let scores: f64 = self.z.iter().skip(factor).step_by(k).map(|z| z * z).sum::<f64>() / samples;
            let loadings: f64 = w.iter().skip(factor).step_by(k).map(|w| w * w).sum();
            scores * loadings / (w.len() / k) as f64
        };
        self.w.iter().map(|w| (0..k).map(|factor| share(w, factor)).collect()).collect()
    }

    fn predict(&self, view: usize, n: usize, j: usize) -> f64 {
        let k = self.factors;
        (0..k).map(|factor| self.z[n * k + factor] * self.w[view][j * k + factor]).sum()
    }
}

/// The same views with a share of the entries missing, and for each hidden entry its view, row, column and value in units
/// of the observed entries of its column.
fn hide(views: &Views, share: f64, seed: u64) -> (Views, Vec<(usize, usize, usize, f64)>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut data = views.data.clone();
    let mut hidden = Vec::new();
    for (view, matrix) in data.iter_mut().enumerate() {
        for (n, row) in matrix.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                if rng.random::<f64>() < share {
                    hidden.push((view, n, j, *value));
                    *value = f64::NAN;
                }
            }
        }
    }
    for (view, _, j, value) in &mut hidden {
        let seen: Vec<f64> = data[*view].iter().map(|row| row[*j]).filter(|value| !value.is_nan()).collect();
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        let spread = (seen.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / seen.len() as f64).sqrt();
        *value = (*value - mean) / if spread > 0.0 { spread } else { 1.0 };
    }
    (Views { names: views.names.clone(), data }, hidden)
}

/// The root mean square of what is left of the hidden entries of a view, by the factors and by the means of the columns.
fn errors(found: &Found, hidden: &[(usize, usize, usize, f64)], view: usize) -> (f64, f64) {
    let own: Vec<_> = hidden.iter().filter(|entry| entry.0 == view).collect();
    let root = |total: f64| (total / own.len() as f64).sqrt();
    let by_factors = own.iter().map(|(_, n, j, value)| (value - found.predict(view, *n, *j)).powi(2)).sum();
    let by_means = own.iter().map(|(.., value)| value * value).sum();
    (root(by_factors), root(by_means))
}

/// Four factors: shared by all views, by the first two, private to the first, private to the third.
const ACTIVE: [[bool; 3]; 4] =
    [[true, true, true], [true, true, false], [true, false, false], [false, false, true]];
/// The standard deviation of the noise; loadings are of order 1.
const NOISE: f64 = 0.7;

fn simulated(seed: u64) -> Views {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (samples, features) = (200, [30, 20, 25]);
    let mut normal = || -> f64 { rng.sample(StandardNormal) };
    let z: Matrix = (0..samples).map(|_| (0..4).map(|_| normal()).collect()).collect();
    let data = (0..3).map(|view| {
        let w: Matrix = (0..features[view])
            .map(|_| (0..4).map(|factor| if ACTIVE[factor][view] { normal() } else { 0.0 }).collect())
            .collect();
        z.iter()
            .map(|z| {
                w.iter()
                    .map(|w| z.iter().zip(w).map(|(z, w)| z * w).sum::<f64>() + NOISE * normal())
                    .collect()
            })
            .collect()
    });
    let data = data.collect();
    Views { names: ["one", "two", "three"].map(str::to_owned).to_vec(), data }
}

/// Of 8 factors those that explain a twentieth of a view or more have the pattern of the truth: they explain 15 % or more,
/// and the others fit noise, at most 2.5 %.
#[test]
fn active_factors_are_recovered_in_each_view() {
    for seed in 0..3 {
        let found = simulated(seed).fit(8, seed, 1000);
        let shares = found.shares();
        let mut patterns: Vec<Vec<bool>> =
            (0..8).map(|factor| shares.iter().map(|view| view[factor] > 0.05).collect()).collect();
        patterns.retain(|pattern| pattern.contains(&true));
        patterns.sort();
        let mut expected: Vec<Vec<bool>> = ACTIVE.iter().map(|views| views.to_vec()).collect();
        expected.sort();
        assert_eq!(patterns, expected, "seed {seed}: {shares:.4?}");
    }
}

/// Root mean square errors of 0.58, 0.61 and 0.66 standard deviations (means of columns: 0.98 to 1.00); where two factors
/// are active the noise alone leaves 0.58.
#[test]
fn hidden_entries_of_simulated_views_are_predicted() {
    let (views, hidden) = hide(&simulated(5), 0.2, 5);
    let found = views.fit(8, 1, 1000);
    for view in 0..3 {
        let (factors, means) = errors(&found, &hidden, view);
        assert!(factors < 0.7 * means, "view {view}: {factors} and {means}");
    }
}

/// Root mean square errors on a fifth of the entries, in standard deviations of the columns, after 100
/// sweeps: pixels 0.67, Zernike moments 0.67, morphological features 0.73; means of columns 1.01 to 1.03.
#[test]
fn hidden_entries_of_the_digits_are_predicted() {
    let names = ["pix", "zer", "mor"];
    let data = names.map(|name| {
        let file = bundled("gfa", &[]).into_iter().find(|file| file.group.as_deref() == Some(name));
        let text = "axis sample[n]\naxis feature[j]\ndata x[n, j] : real\nm ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(m, sd = 1)\n";
        let file = cavi::bind::ArrayInput { group: None, ..file.expect("a view") };
        Ready::new(text, &[], vec![file]).matrix("x")
    });
    let views = Views { names: names.map(str::to_owned).to_vec(), data: data.to_vec() };
    let (views, hidden) = hide(&views, 0.2, 6);
    let found = views.fit(10, 0, 100);
    for (view, name) in names.iter().enumerate() {
        let (factors, means) = errors(&found, &hidden, view);
        assert!(factors < 0.75 * means, "{name}: {factors} and {means}");
    }
}
