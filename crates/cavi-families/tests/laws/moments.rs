//! Mean and variance of what families describe, against `statrs`, and against the formula where it lacks the family.

use cavi_families::{families, family};
use statrs::distribution as of;
use statrs::statistics::Distribution;

/// Mean and variance of a density on the positive numbers, up to a constant, by the trapezoid rule over the logarithm.
fn integrated(density: impl Fn(f64) -> f64) -> (f64, f64) {
    let power = |power: i32| -> f64 {
        let at = |step: i32| (f64::from(step) * 0.01).exp();
        (-4000..=700).map(at).map(|x| x.powi(power + 1) * density(x)).sum()
    };
    let (mass, mean, square) = (power(0), power(1), power(2));
    (mean / mass, square / mass - mean * mean / (mass * mass))
}

#[test]
fn moments_are_those_of_the_distribution() {
    let pair = |own: &dyn Distribution<f64>| (own.mean().unwrap(), own.variance().unwrap());
    let half = (2.0 / std::f64::consts::PI / 4.0_f64).sqrt();
    let cases: Vec<(&str, Vec<f64>, (f64, f64))> = vec![
        ("Normal", vec![1.5, 4.0], pair(&of::Normal::new(1.5, 0.5).unwrap())),
        ("Gamma", vec![2.5, 0.5], pair(&of::Gamma::new(2.5, 0.5).unwrap())),
        ("Exponential", vec![3.0], pair(&of::Exp::new(3.0).unwrap())),
        ("Poisson", vec![2.5], pair(&of::Poisson::new(2.5).unwrap())),
        ("Bernoulli", vec![0.3], pair(&of::Bernoulli::new(0.3).unwrap())),
        ("Binomial", vec![7.0, 0.3], pair(&of::Binomial::new(0.3, 7).unwrap())),
        ("Beta", vec![2.0, 5.0], pair(&of::Beta::new(2.0, 5.0).unwrap())),
        ("InverseGamma", vec![3.5, 2.0], pair(&of::InverseGamma::new(3.5, 2.0).unwrap())),
        ("HalfNormal", vec![4.0], (half, 0.25 - half * half)),
        ("TruncatedNormal", vec![0.0, 4.0], (half, 0.25 - half * half)),
        ("TruncatedNormal", vec![-1.5, 4.0], integrated(|x| (-2.0 * (x + 1.5) * (x + 1.5)).exp())),
    ];
    for (name, parameters, (mean, variance)) in cases {
        let found = family(name).unwrap().moments(&parameters).unwrap();
        assert!((found.mean - mean).abs() < 1e-12 * mean.abs(), "{name}: {found:?}, not {mean}");
        assert!((found.variance - variance).abs() < 1e-12 * variance, "{name}: {found:?}, not {variance}");
    }
    // Without a mean or a variance they are infinite.
    let none = family("InverseGamma").unwrap();
    assert_eq!(none.moments(&[1.0, 2.0]).unwrap().mean, f64::INFINITY);
    assert_eq!(none.moments(&[2.0, 2.0]).unwrap().variance, f64::INFINITY);
}

#[test]
fn means_are_the_products_that_families_say() {
    for own in families() {
        let parameters = [0.7, 0.4];
        let parameters = &parameters[..own.parameters().len().min(2)];
        let Some(moments) = own.moments(parameters) else { continue };
        if !own.mean_is().is_empty() {
            let product: f64 = own.mean_is().iter().map(|place| parameters[*place]).product();
            assert!((moments.mean - product).abs() < 1e-15, "{}", own.name());
        }
    }
}
