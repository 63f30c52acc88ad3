//! The same laws for every factor of q, in one loop over the registry; and the density of every family.

use cavi_algebra::{AxisId, Elementary, Statistic, Support};
use cavi_families::{
    Batch, Descriptor, Expectation, Extent, Posterior, of_any_length, posteriors, views, views_mut,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{self as statrs_distribution, Continuous, ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

mod accuracy;
mod densities;
mod formulas;
mod modes;
mod moments;

fn generator() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(20_240_817)
}

fn distributions() -> impl Iterator<Item = &'static dyn Posterior> {
    posteriors().iter().copied().filter(|posterior| !posterior.only_point())
}

fn named(name: &str) -> &'static dyn Posterior {
    let mut all = posteriors().iter().copied();
    all.find(|posterior| posterior.name() == name).expect("a family of the registry")
}

fn columns(batch: &Batch, extents: impl Iterator<Item = Extent>) -> Vec<Vec<f64>> {
    extents.map(|extent| vec![0.0; batch.len(extent)]).collect()
}

fn descriptor_columns(posterior: &dyn Posterior, batch: &Batch) -> Vec<Vec<f64>> {
    columns(batch, posterior.descriptors().iter().map(|descriptor| descriptor.extent))
}

fn natural_columns(posterior: &dyn Posterior, batch: &Batch) -> Vec<Vec<f64>> {
    columns(batch, posterior.statistics().iter().map(|statistic| statistic.extent))
}

/// The shape of a batch for this family: vectors of length 4.
fn shape(posterior: &dyn Posterior) -> usize {
    if posterior.over_slice() && posterior.lives_on(Support::PositiveDefinite) {
        return 3;
    }
    if posterior.descriptors()[0].extent == Extent::Scalar { 1 } else { 4 }
}

fn gaussian(rng: &mut ChaCha8Rng) -> f64 {
    // A sum of uniforms is normal enough for test points.
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// Random descriptors, of order 1.
fn random(posterior: &dyn Posterior, batch: &Batch, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut descriptors = descriptor_columns(posterior, batch);
    for (Descriptor { name, defining, extent }, column) in
        posterior.descriptors().iter().zip(&mut descriptors)
    {
        if !defining {
            continue;
        }
        match *name {
            // The moments of the mean that the laws look at exist.
            "dof" => column.fill_with(|| batch.n as f64 + 5.0 + 3.0 * rng.random::<f64>()),
            "scale" | "kappa" if *extent == Extent::Pairs => {
                (0..batch.rows)
                    .for_each(|row| positive_definite(batch.n, rng, &mut column[batch.pairs(row)]));
            }
            // The fourth moments of the mean and of the precision exist, so that variances can be compared with those
            // of draws.
            "shape" if !posterior.joint().is_empty() => column.fill_with(|| 5.0 + 3.0 * rng.random::<f64>()),
            "mean" | "mean0" | "mean1" | "linear" | "p" => column.fill_with(|| 1.5 * gaussian(rng)),
            "var" | "var0" | "var1" | "kappa" | "rate" | "scale" | "concentration" | "a" | "b" | "prec" => {
                column.fill_with(|| (0.7 * gaussian(rng)).exp());
            }
            // The variance of 1 / x and of its mean exist.
            "shape" if posterior.name() == "InverseGamma" => {
                column.fill_with(|| 5.0 + 3.0 * rng.random::<f64>())
            }
            "shape" => column.fill_with(|| (0.7 * gaussian(rng)).exp()),
            "prob" if posterior.descriptors()[0].extent == Extent::Scalar => {
                column.fill_with(|| 0.05 + 0.9 * rng.random::<f64>());
            }
            "prob" => {
                for row in 0..batch.rows {
                    let prob = &mut column[batch.row(row)];
                    prob.fill_with(|| rng.random::<f64>());
                    let total: f64 = prob.iter().sum();
                    prob.iter_mut().for_each(|prob| *prob /= total);
                }
            }
            "cov" => {
                for group in 0..batch.groups {
                    positive_definite(batch.n, rng, &mut column[batch.matrix(group)]);
                }
            }
            other => panic!("no random values for {other}"),
        }
    }
    posterior
        .complete(batch, &mut views_mut(&mut descriptors))
        .unwrap_or_else(|error| panic!("{}: {error:?}", posterior.name()));
    descriptors
}

/// A random symmetric positive definite matrix, of order 1.
fn positive_definite(n: usize, rng: &mut ChaCha8Rng, out: &mut [f64]) {
    let b: Vec<f64> = (0..n * n).map(|_| gaussian(rng)).collect();
    for k in 0..n {
        for l in 0..n {
            let product: f64 = (0..n).map(|i| b[k * n + i] * b[l * n + i]).sum();
            out[k * n + l] = product + 0.5 * f64::from(k == l);
        }
    }
}

fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let close = found == expected || (found - expected).abs() <= tolerance * expected.abs().max(1.0);
    assert!(close, "{what}: {found}, and {expected} was expected");
}

/// Where the values of a member begin in a draw, and how many there are: a vector (or a number) first, then a number or a
/// matrix.
fn member_of(posterior: &dyn Posterior, n: usize, member: u8) -> std::ops::Range<usize> {
    let first = match posterior.joint().first().copied() {
        None if posterior.lives_on(Support::PositiveDefinite) => n * n,
        None if posterior.lives_on(Support::Index(AxisId(0))) => 1,
        None | Some(_) => n,
    };
    let second = if posterior.joint().get(1) == Some(&Support::PositiveDefinite) { n * n } else { 1 };
    if member == 0 { 0..first } else { first..first + second }
}

/// How many values a draw has.
fn width(posterior: &dyn Posterior, n: usize) -> usize {
    let members = posterior.joint().len().max(1) as u8;
    member_of(posterior, n, members - 1).end
}

/// `log det` of a matrix, by elimination.
fn log_determinant(matrix: &[f64], n: usize) -> f64 {
    let mut a = matrix.to_vec();
    let mut total = 0.0;
    for k in 0..n {
        total += a[k * n + k].ln();
        for i in k + 1..n {
            let slope = a[i * n + k] / a[k * n + k];
            for j in k..n {
                a[i * n + j] -= slope * a[k * n + j];
            }
        }
    }
    total
}

/// The value of a statistic at one slot (a matrix: `k, l`) of a draw; `mean` for what is centred.
fn statistic(
    posterior: &dyn Posterior,
    n: usize,
    statistic: &Statistic,
    x: &[f64],
    mean: &[f64],
    slots: [usize; 2],
) -> f64 {
    let own = |member: u8| &x[member_of(posterior, n, member)];
    if let [(vector, Elementary::Contracted(0)), .., (matrix, Elementary::Contracted(left))] =
        statistic.0.as_slice()
    {
        let (vector, matrix) = (own(*vector), own(*matrix));
        let row = |k: usize| (0..n).map(|l| matrix[k * n + l] * vector[l]).sum::<f64>();
        return if *left == 1 { row(slots[0]) } else { (0..n).map(|k| vector[k] * row(k)).sum() };
    }
    let mut rest = slots.to_vec();
    let factors = statistic.0.iter().map(|(member, elementary)| {
        let values = own(*member);
        // A number takes no slot, a vector one, a matrix two.
        let slot = match values.len() {
            1 => 0,
            length if length == n => rest.remove(0),
            _ => slots[0] * n + slots[1],
        };
        match elementary {
            Elementary::Power(power) => values[slot].powi(*power),
            Elementary::Log => values[slot].ln(),
            Elementary::LogComplement => (-values[slot]).ln_1p(),
            Elementary::LogDeterminant => log_determinant(values, n),
            Elementary::Indicator => f64::from(x[0] as usize == slots[0]),
            Elementary::Centred => values[slot] - mean[member_of(posterior, n, *member).start + slot],
            Elementary::Contracted(_) => panic!("a contraction is of a vector and a matrix"),
            Elementary::Mass | Elementary::MassOfComplement => panic!("a mass is no function of a draw"),
        }
    });
    factors.product()
}

/// Whether it is a natural parameter, and no function of a draw.
fn is_mass(statistic: &Statistic) -> bool {
    matches!(statistic.0.as_slice(), [(_, Elementary::Mass | Elementary::MassOfComplement)])
}

/// The slots of a statistic of this extent, in the order of a column.
fn slots(extent: Extent, n: usize) -> Vec<[usize; 2]> {
    match extent {
        Extent::Scalar => vec![[0, 0]],
        Extent::Vector => (0..n).map(|k| [k, k]).collect(),
        Extent::Matrix | Extent::Pairs => (0..n * n).map(|place| [place / n, place % n]).collect(),
    }
}

/// `E t` for each statistic, in the order of the natural parameters.
fn expected_statistics(posterior: &dyn Posterior, batch: &Batch, descriptors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let expectations = posterior.expectations();
    let find = |wanted: &Statistic| expectations.iter().position(|own| own.statistic == *wanted);
    let of = |own: &Expectation| {
        let which = find(&own.statistic).unwrap_or_else(|| panic!("{} lacks a statistic", posterior.name()));
        let mut out = vec![0.0; batch.len(own.extent)];
        posterior.expect(batch, &views(descriptors), which, &mut out);
        out
    };
    posterior.statistics().iter().map(of).collect()
}

fn entropy_column(posterior: &dyn Posterior, batch: &Batch, descriptors: &[Vec<f64>]) -> Vec<f64> {
    let mut out = vec![0.0; batch.rows];
    posterior.entropy(batch, &views(descriptors), &mut out);
    out
}

/// `log N(x | mean, precision^-1)`
fn normal_log_density(mean: &[f64], precision: &[f64], x: &[f64]) -> f64 {
    let n = mean.len();
    let form: f64 = (0..n * n)
        .map(|place| precision[place] * (x[place / n] - mean[place / n]) * (x[place % n] - mean[place % n]))
        .sum();
    0.5 * (log_determinant(precision, n) - form - n as f64 * (2.0 * std::f64::consts::PI).ln())
}

/// `log W(x | dof, scale)`, its trace by columns: `scale^-1 x` is solved for by elimination.
fn wishart_log_density(n: usize, dof: f64, scale: &[f64], x: &[f64]) -> f64 {
    let (mut a, mut b) = (scale.to_vec(), x.to_vec());
    for k in 0..n {
        let pivot = a[k * n + k];
        for j in 0..n {
            a[k * n + j] /= pivot;
            b[k * n + j] /= pivot;
        }
        for i in (0..n).filter(|i| *i != k) {
            let slope = a[i * n + k];
            for j in 0..n {
                a[i * n + j] -= slope * a[k * n + j];
                b[i * n + j] -= slope * b[k * n + j];
            }
        }
    }
    let trace: f64 = (0..n).map(|k| b[k * n + k]).sum();
    let size = n as f64;
    let gammas: f64 = (0..n).map(|i| ln_gamma(0.5 * (dof - i as f64))).sum();
    0.5 * ((dof - size - 1.0) * log_determinant(x, n)
        - trace
        - dof * size * 2.0_f64.ln()
        - dof * log_determinant(scale, n)
        - 0.5 * size * (size - 1.0) * std::f64::consts::PI.ln())
        - gammas
}

/// `log q(x)`, written independently.
fn log_density(posterior: &dyn Posterior, batch: &Batch, descriptors: &[Vec<f64>], x: &[f64]) -> f64 {
    match posterior.name() {
        "Normal" => Normal::new(descriptors[0][0], descriptors[1][0].sqrt()).unwrap().ln_pdf(x[0]),
        "Gamma" => {
            statrs_distribution::Gamma::new(descriptors[0][0], descriptors[1][0]).unwrap().ln_pdf(x[0])
        }
        "InverseGamma" => {
            statrs_distribution::InverseGamma::new(descriptors[0][0], descriptors[1][0]).unwrap().ln_pdf(x[0])
        }
        "GeneralizedInverseGaussian" => {
            let [p, a, b] = [0, 1, 2].map(|which| descriptors[which][0]);
            let kernel = |log: f64| p * log - 0.5 * (a * log.exp() + b * (-log).exp());
            // Over log x, by the trapezoid rule on a grid that the density vanishes outside of.
            let total: f64 = (-600..=600).map(|step| kernel(0.05 * f64::from(step)).exp()).sum();
            kernel(x[0].ln()) - x[0].ln() - (0.05 * total).ln()
        }
        "Beta" => statrs_distribution::Beta::new(descriptors[0][0], descriptors[1][0]).unwrap().ln_pdf(x[0]),
        "TruncatedNormal" => {
            let (linear, precision) = (descriptors[0][0], descriptors[1][0]);
            let normal = Normal::new(linear / precision, precision.sqrt().recip()).unwrap();
            normal.ln_pdf(x[0]) - normal.sf(0.0).ln()
        }
        "Dirichlet" => {
            let a = &descriptors[0];
            let each = a.iter().zip(x).map(|(a, x)| (a - 1.0) * x.ln() - ln_gamma(*a));
            each.sum::<f64>() + ln_gamma(a.iter().sum())
        }
        "Categorical" => descriptors[0][x[0] as usize].ln(),
        "Bernoulli" => if x[0] == 1.0 { descriptors[0][0] } else { 1.0 - descriptors[0][0] }.ln(),
        "Bernoulli-Normal" => {
            let prob = descriptors[0][0];
            let (column, log_prob) = if x[1] == 1.0 { (3, prob.ln()) } else { (1, (1.0 - prob).ln()) };
            let weight = Normal::new(descriptors[column][0], descriptors[column + 1][0].sqrt()).unwrap();
            log_prob + weight.ln_pdf(x[0])
        }
        "Normal-Gamma" => {
            let [mean, kappa, shape, rate] = [0, 1, 2, 3].map(|which| descriptors[which][0]);
            let deviation = (kappa * x[1]).sqrt().recip();
            Normal::new(mean, deviation).unwrap().ln_pdf(x[0])
                + statrs_distribution::Gamma::new(shape, rate).unwrap().ln_pdf(x[1])
        }
        "Normal over a slice" => {
            // Conditioning one element after another: eliminates the covariance in place.
            let n = batch.n;
            let (mut mean, mut cov) = (descriptors[0].clone(), descriptors[1].clone());
            let mut total = 0.0;
            for k in 0..n {
                let variance = cov[k * n + k];
                total += Normal::new(mean[k], variance.sqrt()).unwrap().ln_pdf(x[k]);
                for i in k + 1..n {
                    let slope = cov[i * n + k] / variance;
                    mean[i] += slope * (x[k] - mean[k]);
                    for j in k + 1..n {
                        cov[i * n + j] -= slope * cov[k * n + j];
                    }
                }
            }
            total
        }
        "Wishart" => wishart_log_density(batch.n, descriptors[0][0], &descriptors[1], x),
        "Normal-Wishart" => {
            let n = batch.n;
            let (mean, precision) = x.split_at(n);
            let scaled: Vec<f64> = precision.iter().map(|value| descriptors[1][0] * value).collect();
            normal_log_density(&descriptors[0], &scaled, mean)
                + wishart_log_density(n, descriptors[2][0], &descriptors[3], precision)
        }
        "Normal-Gamma over a slice" => {
            let (mean, precision) = x.split_at(batch.n);
            let scaled: Vec<f64> = descriptors[1].iter().map(|value| precision[0] * value).collect();
            let gamma = statrs_distribution::Gamma::new(descriptors[2][0], descriptors[3][0]).unwrap();
            normal_log_density(&descriptors[0], &scaled, mean) + gamma.ln_pdf(precision[0])
        }
        other => panic!("no density of {other}"),
    }
}

#[test]
fn natural_parameters_and_descriptors_are_inverse() {
    let mut rng = generator();
    let group = [1, 0, 1, 1, 0];
    for posterior in distributions() {
        let n = shape(posterior);
        let shared = Batch { groups: 2, group: &group, ..Batch::of(5, n) };
        let own = Batch::of(5, n);
        for batch in [shared, own] {
            let descriptors = random(posterior, &batch, &mut rng);
            let mut natural = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
            let mut again = descriptor_columns(posterior, &batch);
            posterior.describe(&batch, &views(&natural), &mut views_mut(&mut again)).unwrap();
            for (column, expected) in again.iter().zip(&descriptors) {
                for (found, expected) in column.iter().zip(expected) {
                    assert_close(posterior.name(), *found, *expected, 1e-12);
                }
            }
            let mut back = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&again), &mut views_mut(&mut back));
            // Log weights are natural parameters up to a constant, which `natural` puts where probabilities sum to 1.
            for (found, expected) in back.iter().flatten().zip(natural.iter().flatten()) {
                assert_close(posterior.name(), *found, *expected, 1e-11);
            }
        }
    }
}

/// Slices of a ragged axis, one of them empty, are what each is alone.
#[test]
fn rows_of_different_lengths_do_not_mix() {
    let mut rng = generator();
    let starts = [0, 2, 2, 5];
    let ragged = distributions().filter(|posterior| posterior.over_slice() && of_any_length(*posterior));
    let mut found = 0;
    for posterior in ragged {
        found += 1;
        let batch = Batch::cut(2, 5, &starts);
        let descriptors = random(posterior, &batch, &mut rng);
        let mut entropy = vec![0.0; batch.rows];
        posterior.entropy(&batch, &views(&descriptors), &mut entropy);
        let mut natural = natural_columns(posterior, &batch);
        posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
        let mut modes = vec![0.0; batch.len(Extent::Vector)];
        posterior.mode(&batch, &views(&natural), &mut modes).unwrap();
        for (row, entropy) in entropy.iter().enumerate() {
            let place = batch.row(row);
            let alone = Batch::of(1, place.len());
            let of_row = |columns: &[Vec<f64>]| -> Vec<Vec<f64>> {
                columns.iter().map(|own| own[place.clone()].to_vec()).collect()
            };
            let mut own = descriptor_columns(posterior, &alone);
            posterior.describe(&alone, &views(&of_row(&natural)), &mut views_mut(&mut own)).unwrap();
            assert_eq!(own, of_row(&descriptors), "{}, row {row}", posterior.name());
            let mut own_entropy = [0.0];
            posterior.entropy(&alone, &views(&own), &mut own_entropy);
            assert_eq!(own_entropy[0], *entropy, "{}, row {row}", posterior.name());
            for which in 0..posterior.expectations().len() {
                let mut whole = vec![0.0; batch.len(Extent::Vector)];
                posterior.expect(&batch, &views(&descriptors), which, &mut whole);
                let mut part = vec![0.0; place.len()];
                posterior.expect(&alone, &views(&own), which, &mut part);
                assert_eq!(part, whole[place.clone()], "{}, row {row}, {which}", posterior.name());
            }
            let mut mode = vec![0.0; place.len()];
            posterior.mode(&alone, &views(&of_row(&natural)), &mut mode).unwrap();
            assert_eq!(mode, modes[place], "{}, row {row}", posterior.name());
        }
    }
    assert!(found > 0, "some family goes through slices of different lengths");
}

/// A family that works out an expectation beside what the bound pairs gives the bits of that expectation, and
/// `A + sum_i (prior_i - eta_i) E t_i`.
#[test]
fn what_is_worked_out_together_is_what_each_is_alone() {
    let mut rng = generator();
    let starts = [0, 2, 2, 9];
    let together = || distributions().filter(|posterior| posterior.pairs_with().is_some());
    assert!(together().count() >= 2, "Gamma and Dirichlet do");
    for posterior in together() {
        assert!(posterior.paired(), "{}", posterior.name());
        let which = posterior.pairs_with().unwrap();
        let extent = posterior.expectations()[which].extent;
        let mut batches = vec![Batch::of(1, shape(posterior)), Batch::of(700, shape(posterior))];
        if posterior.over_slice() && of_any_length(posterior) {
            batches.extend([Batch::of(3, 1000), Batch::cut(2, 9, &starts), Batch::of(2, 0)]);
        }
        for batch in batches {
            let mut descriptors = random(posterior, &batch, &mut rng);
            // Arguments of all sizes, and one whose expected log is minus infinity.
            let spread = |(place, value): (usize, &mut f64)| *value *= 10_f64.powi((place % 9) as i32 - 4);
            descriptors[0].iter_mut().enumerate().for_each(spread);
            descriptors[0].first_mut().into_iter().for_each(|first| *first = 5e-324);
            posterior.complete(&batch, &mut views_mut(&mut descriptors)).unwrap();
            let mut natural = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
            // Every third parameter is that of the prior.
            let mut prior = natural.clone();
            for column in &mut prior {
                let others = column.iter_mut().enumerate().filter(|(place, _)| place % 3 > 0);
                others.for_each(|(_, value)| *value += rng.random::<f64>() - 0.3);
            }
            let mut expectation = vec![0.0; batch.len(extent)];
            let mut rows = vec![0.0; batch.rows];
            posterior.pair(&batch, &views(&descriptors), &views(&prior), &mut expectation, &mut rows);
            let mut alone = vec![0.0; batch.len(extent)];
            posterior.expect(&batch, &views(&descriptors), which, &mut alone);
            assert!(expectation.iter().zip(&alone).all(|(own, alone)| own.to_bits() == alone.to_bits()));
            let mut terms = entropy_column(posterior, &batch, &descriptors);
            let mut sizes: Vec<f64> = terms.iter().map(|term| term.abs()).collect();
            let expected = expected_statistics(posterior, &batch, &descriptors);
            for (number, statistic) in posterior.statistics().iter().enumerate() {
                for row in 0..batch.rows {
                    let own = if statistic.extent == Extent::Scalar { row..row + 1 } else { batch.row(row) };
                    for place in own {
                        let difference = prior[number][place] - natural[number][place];
                        let term = if difference == 0.0 { 0.0 } else { difference * expected[number][place] };
                        terms[row] += term;
                        // Digamma and log Gamma of the single elements may cancel in the log-normaliser.
                        sizes[row] += term.abs() + ln_gamma(descriptors[0][place]).abs();
                    }
                }
            }
            for ((found, expected), size) in rows.iter().zip(&terms).zip(&sizes) {
                let error = (found - expected).abs();
                assert!(error <= 2e-14 * (1.0 + size), "{}: {found}, not {expected}", posterior.name());
            }
        }
    }
}

/// `dA = E t`, where the family answers `A`.
#[test]
fn expectations_are_the_gradient_of_the_log_normaliser() {
    let mut rng = generator();
    for posterior in distributions().filter(|posterior| posterior.paired()) {
        let batch = Batch::of(1, shape(posterior));
        for _ in 0..20 {
            let descriptors = random(posterior, &batch, &mut rng);
            let mut natural = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
            let expected = expected_statistics(posterior, &batch, &descriptors);
            for (which, column) in expected.iter().enumerate() {
                for (place, expected) in column.iter().enumerate() {
                    let step = 1e-5 * natural[which][place].abs().max(1e-2);
                    let at = |by: f64| {
                        let mut moved = natural.clone();
                        moved[which][place] += by * step;
                        let mut descriptors = descriptor_columns(posterior, &batch);
                        posterior.describe(&batch, &views(&moved), &mut views_mut(&mut descriptors)).unwrap();
                        entropy_column(posterior, &batch, &descriptors)[0]
                    };
                    let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * step);
                    assert_close(posterior.name(), slope, *expected, 1e-7);
                }
            }
        }
    }
}

/// A mean of draws lies within four standard errors of what is claimed.
fn assert_within_error(what: &str, draws: &[f64], claimed: f64) {
    let count = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / count;
    let variance = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / count;
    let error = 4.0 * (variance / count).sqrt() + 1e-9 * claimed.abs().max(1.0);
    assert!((mean - claimed).abs() <= error, "{what}: {claimed}, and draws give {mean} +- {}", error / 4.0);
}

#[test]
fn expectations_and_entropy_agree_with_samples() {
    const DRAWS: usize = 40_000;
    let mut rng = generator();
    for posterior in distributions() {
        let n = shape(posterior);
        let batch = Batch::of(1, n);
        for _ in 0..3 {
            let descriptors = random(posterior, &batch, &mut rng);
            let width = width(posterior, n);
            let mut draw = vec![0.0; width];
            let draws: Vec<Vec<f64>> = (0..DRAWS)
                .map(|_| {
                    posterior.sample(&batch, &views(&descriptors), &mut rng, &mut draw);
                    draw.clone()
                })
                .collect();
            let mut mean = vec![0.0; width];
            for member in 0..posterior.joint().len().max(1) {
                let identity = Statistic(vec![(member as u8, Elementary::Power(1))]);
                if let Some(which) = posterior.expectations().iter().position(|e| e.statistic == identity) {
                    let first = member_of(posterior, n, member as u8).start;
                    posterior.expect(&batch, &views(&descriptors), which, &mut mean[first..]);
                }
            }
            for (which, expectation) in posterior.expectations().iter().enumerate() {
                if is_mass(&expectation.statistic) {
                    continue;
                }
                let mut claimed = vec![0.0; batch.len(expectation.extent)];
                posterior.expect(&batch, &views(&descriptors), which, &mut claimed);
                for (place, slots) in slots(expectation.extent, n).into_iter().enumerate() {
                    let at = |x: &Vec<f64>| statistic(posterior, n, &expectation.statistic, x, &mean, slots);
                    let values: Vec<f64> = draws.iter().map(at).collect();
                    let what = format!("{} {:?}", posterior.name(), expectation.statistic);
                    assert_within_error(&what, &values, claimed[place]);
                }
            }
            let log_densities: Vec<f64> =
                draws.iter().map(|x| log_density(posterior, &batch, &descriptors, x)).collect();
            let surprises: Vec<f64> = log_densities.iter().map(|value| -value).collect();
            let answer = entropy_column(posterior, &batch, &descriptors)[0];
            let what = format!("entropy of {}", posterior.name());
            if !posterior.paired() {
                assert_within_error(&what, &surprises, answer);
                continue;
            }
            // log q(x) = sum_i (base_i + eta_i) t_i(x) - A, and the entropy is A minus what its sum expects.
            let mut coefficients = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut coefficients));
            let per_element = posterior.base_per_element().into_iter().map(|base| base * n as f64);
            let bases = posterior.base().into_iter().zip(per_element).map(|(base, more)| base + more);
            for (column, base) in coefficients.iter_mut().zip(bases) {
                column.iter_mut().for_each(|coefficient| *coefficient += base);
            }
            for (x, expected) in draws.iter().zip(&log_densities).take(100) {
                assert_close(&what, objective(posterior, n, &coefficients, x) - answer, *expected, 1e-9);
            }
            let expected = expected_statistics(posterior, &batch, &descriptors);
            let pairs = coefficients.iter().flatten().zip(expected.iter().flatten());
            assert_within_error(&what, &surprises, answer - pairs.map(|(c, t)| c * t).sum::<f64>());
        }
    }
}

/// `sum_i c_i t_i(x)`, with `0 log 0 = 0`.
fn objective(posterior: &dyn Posterior, n: usize, coefficients: &[Vec<f64>], x: &[f64]) -> f64 {
    let mut total = 0.0;
    for (own, column) in posterior.statistics().iter().zip(coefficients) {
        for (slots, coefficient) in slots(own.extent, n).into_iter().zip(column) {
            if *coefficient != 0.0 {
                total += coefficient * statistic(posterior, n, &own.statistic, x, &[], slots);
            }
        }
    }
    total
}
