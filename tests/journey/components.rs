//! The shares of components: formulas written out a second time from the files of the posterior.

use cavi::bind::{ArrayInput, Inputs};
use cavi::components::{Components, Measure, components};
use cavi_tests::support::{Matrix, Shape, files_of, matrix_file, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::heldout::{FACTORS, Run, close, counts, inputs_of, run};

fn shares(run: &Run) -> Components {
    components(&run.problem, &run.fit.parameters, 0, 2).remove(0)
}

fn values(run: &Run, name: &str) -> Vec<f64> {
    let all = run.problem.posterior(&run.fit);
    all.into_iter().find(|own| own.name == name).unwrap_or_else(|| panic!("{name}")).values
}

/// In mofapy2 0.7 `BayesNet.calculate_variance_explained`: `1 - sum (Y - outer(Z[:, k], W[:, k]))^2 / sum Y^2`, a number for each view and factor.
#[test]
fn factors_have_the_variance_that_mofa_says() {
    let text = "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k] = 3\ndata x[n, m, j] : real, absent = NA\n\
        z[n, k] ~ Normal(0, sd = 1)\nalpha[m, k] ~ Gamma(1e-3, rate = 1e-3)\nw[m, j, k] ~ Normal(0, prec = alpha[m, k])\n\
        tau[m] ~ Gamma(1e-3, rate = 1e-3)\nx[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])\n\
        posterior {\n  q(z[n, :k])\n  q(w[m, j, :k])\n}\n";
    let table = |columns: usize, shift: f64| -> Matrix {
        let of = |i: usize, j: usize| {
            let (a, b) = ((i as f64 * 0.7 + shift).sin(), (i as f64 * 1.9).cos());
            a * (j as f64 + 1.0) / 3.0 - b * (j as f64 * 0.8).cos() + 0.1 * ((i * 13 + j * 7) as f64).sin()
        };
        (0..25).map(|i| (0..columns).map(|j| of(i, j)).collect()).collect()
    };
    let (one, other) = (table(6, 0.0), table(4, 1.0));
    let group = |name: &str, data: &Matrix| {
        let own = matrix_file("x", data, false);
        ArrayInput { group: Some(name.to_owned()), ..own }
    };
    let inputs = Inputs { data: vec![group("a", &one), group("b", &other)], ..Inputs::default() };
    let run = run(text, &inputs, &[], 60, 1);
    let found = shares(&run);
    assert_eq!(
        (found.array.as_str(), found.axis.as_str(), found.measure),
        ("x", "factor", Measure::Variance)
    );
    let z = values(&run, "z.mean");
    let (mut left, mut all) = (vec![0.0; 3], 0.0);
    for (place, (name, data)) in [("a", &one), ("b", &other)].into_iter().enumerate() {
        let w = values(&run, &format!("w.mean/{name}"));
        let width = data[0].len();
        let squares: f64 = data.iter().flatten().map(|own| own * own).sum();
        for (k, left) in left.iter_mut().enumerate() {
            let residual = |i: usize, j: usize| data[i][j] - z[3 * i + k] * w[3 * j + k];
            let rest: f64 = (0..25).map(|i| (0..width).map(|j| residual(i, j).powi(2)).sum::<f64>()).sum();
            close(found.groups[place].1[k], 1.0 - rest / squares, 1e-10);
            *left += rest;
        }
        assert_eq!(found.groups[place].0, name);
        all += squares;
    }
    left.iter().zip(&found.shares).for_each(|(left, share)| close(*share, 1.0 - left / all, 1e-10));
    // Two sines make the data: one of three factors is not needed.
    assert!(found.n_active() >= 2 && found.shares[found.by_share()[0]] > 0.1, "{found:?}");
}

#[test]
fn counts_are_shared_out_among_components_and_the_background() {
    let text = FACTORS.replace("sum[k](w[i, k] * h[k, j])", "b[j] + sum[k](w[i, k] * h[k, j])")
        + "b[j] ~ Gamma(1, rate = 1)\n";
    let data = counts(12, 9, 4.0, 3);
    let run = run(&text, &inputs_of(vec![matrix_file("x", &data, true)], &[]), &[], 30, 1);
    let (w, h, b) = (values(&run, "w.mean"), values(&run, "h.mean"), values(&run, "b.mean"));
    let mut expected = [0.0; 2];
    for (i, row) in data.iter().enumerate() {
        for (j, count) in row.iter().enumerate() {
            let part = |k: usize| w[2 * i + k] * h[9 * k + j];
            let all = b[j] + part(0) + part(1);
            expected.iter_mut().enumerate().for_each(|(k, sum)| *sum += count * part(k) / all);
        }
    }
    let total: f64 = data.iter().flatten().sum();
    let found = shares(&run);
    assert_eq!(found.measure, Measure::Units);
    expected.iter().zip(&found.shares).for_each(|(own, share)| close(*share, own / total, 1e-10));
    assert!(found.shares.iter().sum::<f64>() < 1.0);
}

#[test]
fn clusters_have_the_mean_of_their_probabilities() {
    let text = "axis sample[n]\naxis cluster[k] = 3\naxis side[j]\ndata x[n, j] : real\npi[:k] ~ Dirichlet(1)\n\
        z[n] ~ Categorical(pi)\nmu[k, j] ~ Normal(0, sd = 5)\nx[n, j] ~ Normal(mu[z[n], j], sd = 1)\n";
    let data: Matrix = (0..40)
        .map(|n| (0..2).map(|j| f64::from(n % 3 * (4 - 7 * j)) + (f64::from(n * 5 + j)).sin()).collect())
        .collect();
    let run = run(text, &inputs_of(vec![matrix_file("x", &data, false)], &[]), &[], 40, 1);
    let prob = values(&run, "z.prob");
    let found = shares(&run);
    assert_eq!((found.measure, found.axis.as_str()), (Measure::Entries, "cluster"));
    for k in 0..3 {
        close(found.shares[k], prob.chunks(3).map(|own| own[k]).sum::<f64>() / 40.0, 1e-12);
    }
}

#[test]
fn shares_of_every_program_are_shares() {
    let mut count = 0;
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let shape = Shape { smallest: 2, largest: 4, missing: 0.1, ..Shape::small(false) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let inputs = files_of(&program, &bound);
        let compiled = cavi::compile_with(&program.text, "program.cavi", &inputs.set_values()).compiled;
        let Some(Ok(problem)) = compiled.map(|own| own.bind(&inputs)) else { continue };
        let settings = cavi::Settings { sweeps: Some(3), tolerance: Some(0.0), ..cavi::Settings::default() };
        let Ok(fit) = problem.fit(&settings, &mut |_| cavi::Control::Continue) else { continue };
        for own in components(&problem, &fit.parameters, 0, 1) {
            count += 1;
            let (name, sum) = (&program.name, own.shares.iter().sum::<f64>());
            let fits = |share: &f64| match own.measure {
                Measure::Variance => *share <= 1.0 + 1e-12,
                Measure::Units | Measure::Entries => (-1e-12..=1.0 + 1e-12).contains(share),
            };
            assert!(own.shares.iter().all(fits), "{name}: {own:?}");
            assert!(own.measure != Measure::Entries || (sum - 1.0).abs() < 1e-9, "{name}: {own:?}");
            assert!(own.measure != Measure::Units || sum <= 1.0 + 1e-9, "{name}: {own:?}");
            // The bits do not depend on the number of threads.
            let again = components(&problem, &fit.parameters, 0, 3);
            assert!(again.contains(&own), "{name}");
        }
    }
    assert!(count > 40, "{count}");
}
