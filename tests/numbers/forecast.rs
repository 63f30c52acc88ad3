//! The predicted seconds of a plan: laws, without a clock.

use cavi_executor::plan::forecast::Forecast;
use cavi_executor::plan::plan;
use cavi_executor::{Bound, BoundArray, BoundAxis, Precision};
use cavi_tests::support::{Program, Shape, bound_of, compile, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn forecast(program: &Program, bound: &Bound, threads: usize) -> Forecast {
    let plan = plan(&program.equations, bound, Precision::Double)
        .unwrap_or_else(|unplanned| panic!("{}: {}", program.name, unplanned.0));
    plan.forecast(&program.equations, &program.schedule(), threads)
}

/// A sweep of every program takes some time, its bound a part of it, and more threads take no more.
#[test]
fn every_program_takes_some_time() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for program in programs() {
        for sparse in [false, true] {
            let bound = random_bound(&program.model, Shape::small(sparse), &mut rng);
            let one = forecast(&program, &bound, 1);
            let (name, seconds) = (&program.name, one.seconds());
            assert!(seconds.is_finite() && seconds > 0.0, "{name}: {seconds} s");
            assert!(0.0 <= one.bound && one.bound < seconds, "{name}: {} of {seconds} s", one.bound);
            assert!(seconds < 1.0, "{name}: {seconds} s for a handful of entries");
            assert!(forecast(&program, &bound, 2).seconds() <= seconds, "{name} on two threads");
            assert!(one.text(&program.equations).starts_with("predicted, on one thread"), "{name}");
        }
    }
}

/// Twice the rows take twice as long, about.
#[test]
fn twice_the_data_take_twice_as_long() {
    let listed = |rows: usize, columns: usize| -> BoundArray {
        let places = (0..rows * 20).map(|entry| (entry / 20, entry * 7919 % columns));
        let mut places: Vec<(usize, usize)> = places.collect();
        places.sort_unstable();
        places.dedup();
        BoundArray::Sparse {
            values: vec![1.0; places.len()].into(),
            indices: vec![
                places.iter().map(|place| place.0 as u32).collect(),
                places.iter().map(|place| place.1 as u32).collect(),
            ],
            observed: None,
            unlisted_zero: true,
        }
    };
    let dense = |rows: usize, columns: usize| {
        BoundArray::full((0..rows * columns).map(|place| (place % 7) as f64).collect())
    };
    type Drawn<'d> = &'d dyn Fn(usize, usize) -> BoundArray;
    let cases: [(&str, Drawn); 3] = [
        (
            "axis row[i]\naxis column[j]\naxis factor[k]\ndata x[i, j] : count, absent = 0\n\
             w[i, k] ~ Gamma(0.3, rate = 1)\nh[k, j] ~ Gamma(0.3, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n",
            &listed,
        ),
        (
            "axis row[i]\naxis column[j]\naxis factor[k]\ndata x[i, j] : real\n\
             z[i, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ntau[j] ~ Gamma(1, rate = 1)\n\
             x[i, j] ~ Normal(sum[k](w[j, k] * z[i, k]), prec = tau[j])\nposterior {\n  q(z[i, :k])\n  q(w[j, :k])\n}\n",
            &dense,
        ),
        (
            "axis row[i]\naxis column[j]\naxis part[k]\ndata x[i, j] : real\n\
             pi[:k] ~ Dirichlet(1)\nz[i] ~ Categorical(pi)\nmu[k, j] ~ Normal(0, sd = 3)\ntau ~ Gamma(1, rate = 1)\n\
             x[i, j] ~ Normal(mu[z[i], j], prec = tau)\n",
            &dense,
        ),
    ];
    for (text, data) in cases {
        let program = compile("doubled", text).unwrap_or_else(|problem| panic!("{problem}"));
        let seconds = |rows: usize| {
            let sizes = [rows, 60, 8].map(BoundAxis::plain);
            let bound = bound_of(&program, &sizes, &[("x", data(rows, 60))]);
            forecast(&program, &bound, 1).seconds()
        };
        let ratio = seconds(16_000) / seconds(8_000);
        assert!((1.8..2.4).contains(&ratio), "{ratio} times as long:\n{text}");
    }
}
