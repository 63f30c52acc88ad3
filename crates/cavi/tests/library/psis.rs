//! Shapes of the tails of importance weights: those of ArviZ.

use cavi::check_fit::k_hat;

/// Weights, how many, and the shape that `tests/outside/psis.py` prints.
const SHAPES: &[(&str, usize, f64)] = &[
    ("heavy", 100, 0.644_268_707_004),
    ("heavy", 1000, 0.860_274_326_467),
    ("heavy", 4000, 0.862_906_786_558),
    ("light", 100, 0.334_168_937_402),
    ("light", 1000, 0.336_853_973_186),
    ("light", 4000, 0.303_203_366_423),
    ("bounded", 100, -0.321_925_995_501),
    ("bounded", 1000, -0.800_491_722_069),
    ("bounded", 4000, -0.887_760_726_119),
    ("square", 100, 1.789_898_883_377),
    ("square", 1000, 3.519_072_743_232),
    ("square", 4000, 4.257_505_569_772),
];

#[test]
fn tails_have_the_shapes_of_arviz() {
    for (name, count, expected) in SHAPES {
        let log = |place: usize| {
            let u = (place as f64 * 0.618_033_988_749_894_9) % 1.0;
            match *name {
                "heavy" => -0.9 * (-u).ln_1p(),
                "light" => -0.3 * (-u).ln_1p(),
                "bounded" => u,
                _ => (-u).ln_1p().powi(2) / 2.0,
            }
        };
        let logs: Vec<f64> = (1..=*count).map(log).collect();
        let found = k_hat(&logs);
        assert!((found - expected).abs() < 1e-9, "{name}, {count}: {found} and {expected}");
    }
}

#[test]
fn weights_without_a_tail_are_said_to_have_none() {
    assert_eq!(k_hat(&[-3.0; 100]), f64::NEG_INFINITY);
    assert_eq!(k_hat(&[0.0, 1.0, 2.0]), f64::INFINITY);
    assert!(k_hat(&[0.0, f64::NAN, 1.0]).is_nan());
}
