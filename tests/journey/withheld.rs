//! Entries that a file takes out of large sparse data: what is listed apart is worth what a whole mask is.

use cavi::bind::Inputs;
use cavi::heldout::{self, Asked, Request};
use cavi::{Control, Settings};
use cavi_tests::support::{Matrix, matrix_file};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// More cells than may be filled out: 120,000, of which some 1,200 are not 0.
const ROWS: usize = 400;
const COLUMNS: usize = 300;

/// Programs over `x` whose sums over all entries are of different kinds: a rate, a square, a point's.
const PROGRAMS: [&str; 3] = [
    "w[i, k] ~ Gamma(0.5, rate = 1)\nh[j, k] ~ Gamma(0.5, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\n",
    "w[i, k] ~ Normal(0, sd = 1)\nh[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
     x[i, j] ~ Normal(sum[k](w[i, k] * h[j, k]), prec = tau)\nposterior {\n  q(w[i, :k])\n  q(h[j, :k])\n}\n",
    "w[i, k] ~ Flat(nonnegative)\nh[j, k] ~ Flat(nonnegative)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\n\
     posterior {\n  point w[i, k]\n  point h[j, k]\n}\n",
];

fn program(absent: &str, rest: &str) -> String {
    format!("axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count, absent = {absent}\n{rest}")
}

#[test]
fn entries_hidden_in_large_sparse_data_are_worth_a_whole_mask() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let draw = |share: f64, rng: &mut ChaCha8Rng| -> Matrix {
        let cell = |rng: &mut ChaCha8Rng| match rng.random::<f64>() < share {
            true => f64::from(rng.random_range(1..6_u8)),
            false => 0.0,
        };
        (0..ROWS).map(|_| (0..COLUMNS).map(|_| cell(rng)).collect()).collect()
    };
    let data = draw(0.01, &mut rng);
    // Some of what is not 0, and zeros.
    let mut hidden = draw(0.005, &mut rng);
    for (row, own) in hidden.iter_mut().zip(&data) {
        for (cell, value) in row.iter_mut().zip(own) {
            if *value != 0.0 && rng.random::<f64>() < 0.3 {
                *cell = 1.0;
            }
        }
    }
    let masked: Matrix = (data.iter().zip(&hidden))
        .map(|(own, hidden)| {
            own.iter()
                .zip(hidden)
                .map(|(value, hidden)| if *hidden == 0.0 { *value } else { f64::NAN })
                .collect()
        })
        .collect();
    let settings = Settings {
        sweeps: Some(6),
        tolerance: Some(0.0),
        seed: Some(2),
        verify: true,
        ..Settings::default()
    };
    for rest in PROGRAMS {
        let inputs = |matrix: &Matrix, sparse| Inputs {
            data: vec![matrix_file("x", matrix, sparse)],
            ..Inputs::default()
        };
        let (listed, whole) = (inputs(&data, true), inputs(&masked, false));
        let open = |text: &str, inputs: &Inputs| {
            let (compiled, _) =
                cavi::session::open(text, "x.cavi", inputs).unwrap_or_else(|error| panic!("{error}"));
            compiled
        };
        let request = Request {
            name: "x".to_owned(),
            group: None,
            what: Asked::File(matrix_file("x", &hidden, true).source),
        };
        let (apart, held) = heldout::bind(open(&program("0", rest), &listed), &listed, &[request], 0)
            .unwrap_or_else(|error| panic!("{error}"));
        let filled =
            open(&program("NA", rest), &whole).bind(&whole).unwrap_or_else(|error| panic!("{error}"));
        let fit =
            |problem: &cavi::Problem| problem.fit(&settings, &mut |_| Control::Continue).expect("a fit");
        let (one, other) = (fit(&apart), fit(&filled));
        let bounds = one.trace.iter().zip(&other.trace).filter_map(|(one, other)| one.elbo.zip(other.elbo));
        for (number, (one, other)) in bounds.enumerate() {
            assert!((one - other).abs() < 1e-9 * other.abs(), "sweep {number} of\n{rest}{one} and {other}");
        }
        for (one, other) in apart.posterior(&one).iter().zip(filled.posterior(&other)) {
            let scale = other.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            let far = one.values.iter().zip(&other.values).map(|(one, other)| (one - other).abs());
            let far = far.fold(0.0, f64::max);
            assert!(far < 1e-8 * scale, "{} of\n{rest}is {far} apart", one.name);
        }
        let named: usize = hidden.iter().flatten().filter(|cell| **cell != 0.0).count();
        assert_eq!(held.parts[0].values.len(), named);
        // A point may put a rate of 0 where a count was hidden: its score is minus infinity then.
        let score = apart.score(&one, &held, 0, 1).expect("a score")[0].log_predictive;
        assert!(score.is_finite() || rest.contains("point"), "{score} of\n{rest}");
    }
}
