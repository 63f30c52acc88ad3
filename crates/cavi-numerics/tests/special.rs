//! The special functions against mpmath's values (`tests/data/special.py`), one at a time and as slices.

use cavi_numerics::special;

fn table(name: &str) -> (Vec<f64>, Vec<f64>) {
    let text = include_str!("data/special.csv");
    text.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(',')?.split_once(','))
        .map(|(x, value)| (x.parse::<f64>().unwrap(), value.parse::<f64>().unwrap()))
        .unzip()
}

/// The largest error where an error of `absolute` plus `relative` times the value counts as one.
fn check(
    name: &str,
    scalar: fn(f64) -> f64,
    into: fn(&[f64], &mut [f64]),
    in_place: fn(&mut [f64]),
    absolute: f64,
    relative: f64,
) {
    let (x, expected) = table(name);
    assert!(x.len() > 200);
    let mut values = vec![0.0; x.len()];
    into(&x, &mut values);
    let mut replaced = x.clone();
    in_place(&mut replaced);
    let mut worst = (0.0_f64, 0.0, 0.0);
    for ((x, value), expected) in x.iter().zip(&values).zip(&expected) {
        assert_eq!(value.to_bits(), scalar(*x).to_bits(), "{name}({x}): slice and scalar differ");
        let error = (value - expected).abs() / (absolute + relative * expected.abs());
        // Zero for zero is no error, though none is allowed there.
        if value != expected && (error.is_nan() || error > worst.0) {
            worst = (error, *x, *value);
        }
    }
    assert_eq!(values, replaced);
    println!("{name}: {} of the allowed error at {}", worst.0, worst.1);
    assert!(
        worst.0.is_finite() && worst.0 <= 1.0,
        "{name}({}) = {}: {} times the allowed error",
        worst.1,
        worst.2,
        worst.0
    );
}

const ULP: f64 = f64::EPSILON;

#[test]
fn exp() {
    check("exp", special::exp, special::exp_into, special::exp_in_place, 5e-324, ULP);
}

#[test]
fn ln() {
    check("ln", special::ln, special::ln_into, special::ln_in_place, 0.0, ULP);
}

#[test]
fn digamma() {
    use special::{digamma, digamma_in_place, digamma_into};
    check("digamma", digamma, digamma_into, digamma_in_place, 2e-15, 2e-15);
}

#[test]
fn trigamma() {
    use special::{trigamma, trigamma_in_place, trigamma_into};
    check("trigamma", trigamma, trigamma_into, trigamma_in_place, 0.0, 2e-15);
}

#[test]
fn log_gamma() {
    use special::{log_gamma, log_gamma_in_place, log_gamma_into};
    check("log_gamma", log_gamma, log_gamma_into, log_gamma_in_place, 0.0, 3e-15);
}

/// Digamma has the bits that it has alone; log Gamma is held to the same table, and to an independent library between its points.
#[test]
fn digamma_and_log_gamma() {
    use special::digamma_and_log_gamma_into;
    let both = |x: &[f64]| {
        let (mut digamma, mut log_gamma) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        digamma_and_log_gamma_into(x, &mut digamma, &mut log_gamma);
        for (x, digamma) in x.iter().zip(&digamma) {
            assert_eq!(digamma.to_bits(), special::digamma(*x).to_bits(), "digamma({x})");
        }
        log_gamma
    };
    let (x, expected) = table("log_gamma");
    assert!(x.len() > 200 && x.iter().any(|x| *x < 1e-13) && x.iter().any(|x| *x > 1e11));
    let values = both(&x);
    for ((x, value), expected) in x.iter().zip(&values).zip(&expected) {
        let error = (value - expected).abs() / (1e-15 + 1e-15 * expected.abs());
        assert!(error <= 1.0, "log_gamma({x}) = {value}: {error} times the allowed error");
        assert_eq!(
            value.to_bits(),
            both(&[*x])[0].to_bits(),
            "log_gamma({x}): the place in the slice matters"
        );
    }
    // The whole range of the doubles, by small steps where shifts and signs change.
    let far = (-3075..3083).map(|step| 10_f64.powf(0.1 * f64::from(step)));
    let near = (1..=4000).map(|step| f64::from(step) / 400.0);
    let x: Vec<f64> = far.chain(near).collect();
    for (x, value) in x.iter().zip(both(&x)) {
        let expected = special::log_gamma(*x);
        // From 1e305.4 on it is infinite.
        if value == expected {
            continue;
        }
        assert!((value - expected).abs() <= 1e-15 + 3e-15 * expected.abs(), "{x}: {value}, not {expected}");
    }
    for (x, expected) in EXTREMES {
        let value = both(&[x])[0];
        let error = (value - expected).abs() / (1e-15 + 1e-15 * expected.abs());
        assert!(error <= 1.0, "log_gamma({x}) = {value}: {error} times the allowed error");
    }
    let edges = [0.0, f64::MAX, f64::INFINITY, -0.5, -1e300, f64::NAN, 1.0, 2.0];
    let values = both(&edges);
    assert!(values[..3].iter().all(|value| *value == f64::INFINITY), "{values:?}");
    assert!(values[3..6].iter().all(|value| value.is_nan()), "{values:?}");
    assert!(values[6..].iter().all(|value| value.abs() <= 1e-15), "{values:?}");
}

/// `ln Gamma` by mpmath with 40 digits, beyond the table and where its parts meet.
#[allow(clippy::excessive_precision, reason = "the table stands as it was printed")]
const EXTREMES: [(f64, f64); 21] = [
    (5e-324, 744.44007192138126),
    (1e-310, 713.80137882815417),
    (2.3e-308, 708.36329951923097),
    (1e-300, 690.77552789821371),
    (1e-100, 230.25850929940457),
    (1e-20, 46.051701859880914),
    (0.05, 2.9688792010517308),
    (0.1, 2.2527126517342059),
    (0.5, 0.57236494292470009),
    (0.9999999999999999, 6.4083812134800072e-17),
    (1.0000000000000002, -1.2816762426960008e-16),
    (1.4616321449683622, -0.12148629053584961),
    (1.9999999999999998, -9.3876980655431168e-17),
    (2.0000000000000004, 1.8775396131086243e-16),
    (7.999999999999999, 8.5251613610654125),
    (8.0, 8.5251613610654143),
    (8.000000000000002, 8.5251613610654179),
    (1e15, 33538776394910669.),
    (1e20, 4.5051701859880914e+21),
    (1e100, 2.2925850929940457e+102),
    (1e305, 7.0128845336318389e+307),
];

/// `log K_p(z)`, its slope in `p` and `log(K_(p-1)(z) / K_p(z))` (`tests/data/bessel_k.py`).
#[test]
fn bessel_k() {
    let text = include_str!("data/bessel_k.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for row in rows {
        let [p, z, log, slope, ratio] =
            row.split(',').map(|field| field.parse::<f64>().unwrap()).collect::<Vec<f64>>()[..]
        else {
            panic!("{row}");
        };
        let integrals = special::bessel_k(p, z);
        let centre = special::ln(p + integrals.w) - special::ln(z);
        for (name, found, expected) in [
            ("log K", special::log_bessel_k(p, z), log),
            ("log K of -p", special::log_bessel_k(-p, z), log),
            ("slope", centre + integrals.mean, slope),
            ("ratio", integrals.log_inverse - centre, ratio),
        ] {
            let error = (found - expected).abs() / expected.abs().max(1.0);
            assert!(error <= 5e-13, "{name} at p = {p}, z = {z}: {found}, not {expected}");
        }
        count += 1;
    }
    assert_eq!(count, 224);
    assert_eq!(special::log_bessel_k(0.5, 0.0), f64::INFINITY);
    assert!(special::log_bessel_k(0.5, -1.0).is_nan());
}

/// `e^x E_1(x)` by mpmath with 40 digits.
#[test]
#[allow(clippy::excessive_precision, reason = "the table stands as it was printed")]
fn scaled_exp_integral() {
    for (x, expected) in [
        (1e-300, 690.19831223331217232),
        (1e-20, 45.474486194979380875),
        (1e-5, 10.935829157788483783),
        (0.01, 4.0785114434564258266),
        (0.3, 1.22253560508058558),
        (0.9, 0.6399492266392997303),
        (1.0, 0.59634736232319407434),
        (1.0001, 0.59630700004092928685),
        (1.2, 0.52593453189478460077),
        (1.7, 0.40865559600056071179),
        (2.5, 0.30352583648598409918),
        (4.0, 0.2063456499010558331),
        (7.0, 0.1266410960766327647),
        (12.5, 0.074435275189775051256),
        (30.0, 0.032289738758980125216),
        (99.0, 0.010000980858478218413),
        (101.0, 0.0098048461923006263392),
        (700.0, 0.0014265364183008866918),
        (1e5, 9.9999000019999400024e-6),
        (1e300, 9.999999999999999475e-301),
    ] {
        let found = special::scaled_exp_integral(x);
        assert!((found - expected).abs() <= 2e-15 * expected, "{x}: {found}, not {expected}");
    }
    assert_eq!(special::scaled_exp_integral(0.0), f64::INFINITY);
    assert!(special::scaled_exp_integral(-1.0).is_nan());
}

/// The functions of the logistic bound come one number at a time.
#[test]
fn logistic_bound() {
    check_even("even_softplus", special::even_softplus);
    check_even("logistic_curvature", special::logistic_curvature);
    assert_eq!(special::logistic_curvature(0.0), 0.25);
    assert_eq!(special::logistic_curvature(1e-300), 0.25);
}

/// An even function, to four units in the last place.
fn check_even(name: &str, function: fn(f64) -> f64) {
    let (x, expected) = table(name);
    assert!(x.len() >= 300);
    for (x, expected) in x.iter().zip(&expected) {
        let value = function(*x);
        assert!((value - expected).abs() <= 4.0 * ULP * expected, "{name}({x}) = {value}, not {expected}");
        assert_eq!(value, function(-x), "{name} is even");
    }
}

/// `log(2 cosh(x / 2))` lies below the parabolas that touch it, and touches them.
#[test]
fn the_parabola_of_the_logistic_bound_touches_from_above() {
    use special::{even_softplus, logistic_curvature};
    let points: Vec<f64> = (-60..=60).map(|step| f64::from(step).powi(3) / 1e3).collect();
    for xi in &points {
        for x in &points {
            let parabola = even_softplus(*xi) + 0.5 * logistic_curvature(*xi) * (x * x - xi * xi);
            let gap = parabola - even_softplus(*x);
            let rounding = 1e-14 * (parabola.abs() + xi.abs() + x * x);
            assert!(gap >= -rounding, "{xi}, {x}: {gap}");
            assert!(x.abs() != xi.abs() || gap.abs() <= rounding, "{xi}: {gap}");
        }
    }
}
