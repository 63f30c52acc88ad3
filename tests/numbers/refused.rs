//! What has no number is said, and nothing stands in its place: means that are infinite, matrices that are
//! singular in double precision, rates whose digits are gone. An update that fails leaves the run where the last whole sweep had it.

use cavi_derivation::warmup::with_means;
use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Parameters, start};
use cavi_tests::support::{Program, bound_of, column, compile};

fn program(text: &str) -> Program {
    compile("refused", text).unwrap_or_else(|problem| panic!("{problem}"))
}

fn bound(program: &Program, sizes: &[usize], data: &[(&str, &[f64])]) -> Bound {
    let sizes: Vec<BoundAxis> = sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
    let data: Vec<(&str, BoundArray)> =
        data.iter().map(|(name, values)| (*name, BoundArray::full(values.to_vec()))).collect();
    bound_of(program, &sizes, &data)
}

fn run<'a>(program: &'a Program, bound: &'a Bound, from: Parameters) -> Executor<'a> {
    Executor::new(&program.equations, bound, from, 1).unwrap_or_else(|unplanned| panic!("{}", unplanned.0))
}

/// The log of the square of a real number is no twice its log: with a precision of `x^2` each datum is Normal about the mean, whatever the sign of
/// x, and the evidence of one mean under a Normal prior is known in closed form, `log N(y; 0, S)` with `S = diag(1/p) + 100`, here by the lemma of
/// the determinant and of Sherman and Morrison.
#[test]
fn the_log_of_a_square_has_no_sign() {
    let text = "axis row[n]\ndata x[n] : real\ndata y[n] : real\nm ~ Normal(0, sd = 10)\ny[n] ~ Normal(m, prec = x[n]^2)\n";
    let program = program(text);
    let (x, y) = ([-1.0, 2.0, -0.5], [1.0, 2.0, 3.0]);
    let bound = bound(&program, &[3], &[("x", &x), ("y", &y)]);
    let mut run = run(&program, &bound, start(&program.equations, &bound, 1));
    run.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
    let p = x.map(|x: f64| x * x);
    let (total, mixed) = (p.iter().sum::<f64>(), p.iter().zip(&y).map(|(p, y)| p * y).sum::<f64>());
    let squares: f64 = p.iter().zip(&y).map(|(p, y)| p * y * y).sum();
    let determinant = p.iter().map(|p| -p.ln()).sum::<f64>() + (1.0 + 100.0 * total).ln();
    let distance = squares - 100.0 * mixed * mixed / (1.0 + 100.0 * total);
    let evidence = -0.5 * (3.0 * (2.0 * std::f64::consts::PI).ln() + determinant + distance);
    assert!((run.elbo() - evidence).abs() < 1e-12, "{} for {evidence}", run.elbo());
}

/// The shape of a variance is that of its prior and 1/2: with 1/2 in the prior its mean is infinite, and no allocation can be made by
/// it; with more it is finite, and each of the 6 data is allocated once: the concentrations sum to 2 + 6.
#[test]
fn allocations_by_infinite_means_are_refused() {
    for (shape, is_finite) in [(0.5, false), (0.4, false), (0.6, true), (3.0, true)] {
        let text = format!(
            "axis obs[n]\naxis comp[k] = 2\ndata x[n] : real\npi[:k] ~ Dirichlet(1)\nmu[k] ~ Normal(0, prec = 0.01)\n\
             lam[n] ~ InverseGamma({shape}, 0.5)\nz[n] ~ Categorical(pi)\nx[n] ~ Normal(mu[z[n]], var = lam[n])\n\
             posterior {{\n  implicit z[n]\n}}\n"
        );
        let program = program(&text);
        let bound = bound(&program, &[6, 2], &[("x", &[-3.0, 3.5, -2.0, 2.0, 31.0, -4.0])]);
        let means = with_means(&program.equations);
        let from = start(&means, &bound, 1);
        let mut run =
            Executor::new(&means, &bound, from.clone(), 1).unwrap_or_else(|own| panic!("{}", own.0));
        let mut outcome = Ok(());
        for _ in 0..5 {
            outcome = outcome.and_then(|()| run.sweep(&program.schedule()));
        }
        assert_eq!(outcome.is_ok(), is_finite, "shape {shape}: {outcome:?}");
        match outcome {
            Ok(()) => {
                let sum: f64 = column(&program, run.parameters(), "pi", 0).iter().sum();
                assert!((sum - 8.0).abs() < 1e-9, "shape {shape}: {sum}");
            }
            Err(trouble) => {
                assert!(trouble.reason.contains("its mean is inf"), "{trouble}");
                assert_eq!(*run.parameters(), from);
            }
        }
    }
}

/// Columns that are almost the same: the three equations have the solution that back substitution gives, and where doubles cannot hold
/// the covariance the update has no value. Nothing panics, of whatever the prior and the data make of it.
#[test]
fn nearly_singular_precisions_are_solved_or_refused() {
    let mut refused = 0;
    for power in 1..=16 {
        let d = 10_f64.powi(-power);
        for sd in [1e2, 1e6, 1e10, 1e15] {
            let text = format!(
                "axis row[n]\naxis col[k]\ndata x[n, k] : real\ndata y[n] : real\nw[k] ~ Normal(0, sd = {sd:e})\n\
                 y[n] ~ Normal(sum[k](w[k] * x[n, k]), sd = 1)\nposterior {{\n  q(w[:k])\n}}\n"
            );
            let program = program(&text);
            let x = [1.0, 1.0, 0.0, 0.0, d, 1.0, 0.0, 0.0, d];
            let bound = bound(&program, &[3, 3], &[("x", &x), ("y", &[1.0, 2.0, 3.0])]);
            let mut run = run(&program, &bound, start(&program.equations, &bound, 1));
            let before = run.parameters().clone();
            match run.sweep(&program.schedule()) {
                Ok(()) => {
                    assert!(run.elbo().is_finite(), "d = {d:e}, sd = {sd:e}: {}", run.elbo());
                    if power <= 2 && sd >= 1e10 {
                        let third = 3.0 / d;
                        let second = (2.0 - third) / d;
                        let own = column(&program, run.parameters(), "w", 0);
                        let gap = (own[1] / second - 1.0).abs().max((own[2] / third - 1.0).abs());
                        assert!(gap < 1e-5, "d = {d:e}: {own:?}, not {second:e} and {third:e}");
                    }
                }
                Err(trouble) => {
                    refused += 1;
                    assert!(trouble.reason.contains("positive definite"), "{trouble}");
                    assert_eq!(*run.parameters(), before);
                }
            }
        }
    }
    assert!((1..50).contains(&refused), "{refused} of 64");
}

/// Two groups whose values differ by a constant have the same precision. Far from 0 its digits go, and then it is refused: never is
/// there another number.
#[test]
fn a_constant_moves_no_precision() {
    let near = [0.1, -0.1, 0.05, -0.05, 0.0];
    for text in [
        "axis obs[n]\naxis group[k]\ndata x[n] : real\ndata g[n] : index group\nmu[k] ~ Normal(0, prec = 1e-20 * tau[k])\n\
         tau[k] ~ Gamma(1, rate = 1e-4)\nx[n] ~ Normal(mu[g[n]], prec = tau[g[n]])\nposterior {\n  q(mu[k], tau[k])\n}\n",
        "axis obs[n]\naxis group[k]\naxis one[i] = 1\ndata x[n] : real\ndata g[n] : index group\n\
         mu[k, i] ~ Normal(0, prec = 1e-20 * tau[k])\ntau[k] ~ Gamma(1, rate = 1e-4)\n\
         x[n] ~ Normal(sum[i](mu[g[n], i]), prec = tau[g[n]])\nposterior {\n  q(mu[k, :i], tau[k])\n}\n",
    ] {
        let program = program(text);
        let (mut kept, mut refused) = (0, 0);
        for power in 0..=10 {
            let far = 10_f64.powi(power);
            let x: Vec<f64> = near.iter().copied().chain(near.iter().map(|own| own + far)).collect();
            let g: Vec<f64> = (0..10).map(|number| f64::from(number / 5)).collect();
            let sizes: &[usize] = if text.contains("one[i]") { &[10, 2, 1] } else { &[10, 2] };
            let bound = bound(&program, sizes, &[("x", &x), ("g", &g)]);
            let mut run = run(&program, &bound, start(&program.equations, &bound, 1));
            match run.sweep(&program.schedule()) {
                Ok(()) => {
                    kept += 1;
                    let rates = column(&program, run.parameters(), "tau", 3);
                    // b + sum (x - mean)^2 / 2
                    assert!((rates[0] / 0.0126 - 1.0).abs() < 1e-9, "{rates:?}");
                    assert!((rates[1] / rates[0] - 1.0).abs() < 0.05, "at {far:e}: {rates:?}");
                }
                Err(trouble) => {
                    refused += 1;
                    assert!(trouble.reason.contains("digits"), "at {far:e}: {trouble}");
                    assert_eq!(trouble.copy, [1]);
                }
            }
        }
        assert!(kept >= 5 && refused >= 3, "{kept} kept, {refused} refused");
    }
}

/// Sizes of axes that no entry reaches change nothing, and take no memory, where sparse data stand in a sum.
#[test]
fn listed_data_know_no_product_of_sizes() {
    let program = program(
        "axis a[i]\naxis b[j]\naxis c[k]\ndata x[i, j, k] : nonnegative, absent = 0\ndata y[i, j] : count, absent = 0\n\
         theta[k] ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(sum[k](theta[k] * x[i, j, k]))\n",
    );
    let listed = |indices: [&[u32]; 3], values: &[f64]| BoundArray::Sparse {
        indices: indices[..].iter().filter(|own| !own.is_empty()).map(|own| own.to_vec().into()).collect(),
        values: values.to_vec().into(),
        observed: None,
        unlisted_zero: true,
    };
    let found: Vec<Vec<f64>> = [[4, 4, 3], [50_000, 40_000, 3], [100_000, 100_000, 3]]
        .iter()
        .map(|sizes| {
            let last = [sizes[0] as u32 - 1, sizes[1] as u32 - 1];
            let x = listed(
                [&[0, 0, 1, last[0], last[0]], &[0, 0, 2, last[1], last[1]], &[0, 2, 1, 0, 2]],
                &[1.0, 2.0, 0.5, 3.0, 0.25],
            );
            let y = listed([&[0, 1, last[0]], &[0, 2, last[1]], &[]], &[4.0, 1.0, 6.0]);
            let axes: Vec<BoundAxis> = sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
            let bound = bound_of(&program, &axes, &[("x", x), ("y", y)]);
            let mut run = run(&program, &bound, start(&program.equations, &bound, 1));
            for _ in 0..20 {
                run.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
            }
            assert!(run.peak_bytes() < 1 << 24, "{sizes:?}: {} bytes", run.peak_bytes());
            let block = &run.parameters().blocks[0];
            // The shapes of the prior and of all counts: 3 + 11.
            assert!((block[0].iter().sum::<f64>() - 14.0).abs() < 1e-9, "{block:?}");
            block.concat()
        })
        .collect();
    for own in &found[1..] {
        let gap = own.iter().zip(&found[0]).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-12, "{gap}");
    }
}
