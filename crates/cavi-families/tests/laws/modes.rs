//! A mode maximises, on the boundary too.

use cavi_algebra::{AxisId, Elementary, Support};
use cavi_families::{Batch, Posterior, posteriors};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::{
    assert_close, gaussian, generator, named, natural_columns, objective, positive_definite, random, shape,
    views, width,
};

/// A point near `x`, in the same support.
fn perturbed(posterior: &dyn Posterior, x: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let scale = [1e-4, 1e-2, 1.0][rng.random_range(0..3)];
    let mut near: Vec<f64> = x.to_vec();
    if posterior.lives_on(Support::Real) {
        near.iter_mut().for_each(|x| *x += scale * gaussian(rng));
    } else if posterior.lives_on(Support::Simplex) {
        for x in &mut near {
            *x = *x * (scale * gaussian(rng)).exp() + scale * 1e-3 * rng.random::<f64>();
        }
        let total: f64 = near.iter().sum();
        near.iter_mut().for_each(|x| *x /= total);
    } else if posterior.lives_on(Support::PositiveDefinite) {
        // (I + B) x (I + B)' with a small B.
        let n = x.len().isqrt();
        let mut b: Vec<f64> = (0..n * n).map(|_| scale * 0.3 * gaussian(rng)).collect();
        (0..n).for_each(|k| b[k * n + k] += 1.0);
        for (place, value) in near.iter_mut().enumerate() {
            let (k, l) = (place / n, place % n);
            *value = (0..n * n).map(|inner| b[k * n + inner / n] * x[inner] * b[l * n + inner % n]).sum();
        }
    } else if posterior.lives_on(Support::Unit) {
        near[0] = (near[0] + scale * 0.1 * gaussian(rng)).clamp(1e-300, 1.0 - 1e-16);
    } else if posterior.lives_on(Support::Nonnegative) {
        for x in &mut near {
            *x = (*x * (scale * gaussian(rng)).exp() + scale * 1e-3 * gaussian(rng)).max(1e-300);
        }
    } else {
        panic!("no neighbours for {}", posterior.name());
    }
    near
}

/// Coefficients for which a maximum exists.
fn coefficients(posterior: &dyn Posterior, batch: &Batch, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut coefficients = natural_columns(posterior, batch);
    for (own, column) in posterior.statistics().iter().zip(&mut coefficients) {
        let spread = gaussian(rng).exp();
        column.fill_with(|| match own.statistic.0.as_slice() {
            [(_, Elementary::Log)] if posterior.name() == "InverseGamma" => -spread,
            [(_, Elementary::Log | Elementary::LogComplement)] if rng.random::<f64>() < 0.2 => 0.0,
            [(_, Elementary::Log | Elementary::LogComplement)] => rng.random::<f64>() * spread,
            [(_, Elementary::Power(2 | -1))] => -spread,
            [(_, Elementary::Power(1))]
                if ["Gamma", "GeneralizedInverseGaussian"].contains(&posterior.name()) =>
            {
                -spread
            }
            _ => spread * gaussian(rng),
        });
    }
    match posterior.name() {
        "Normal over a slice" => {
            let covariance = random(posterior, batch, rng).remove(1);
            coefficients[1] = covariance.iter().map(|value| -value).collect();
        }
        "Normal on non-negative slices" => {
            positive_definite(batch.n, rng, &mut coefficients[1]);
            coefficients[1].iter_mut().for_each(|value| *value *= -1.0);
        }
        "Wishart" => {
            positive_definite(batch.n, rng, &mut coefficients[0]);
            coefficients[0].iter_mut().for_each(|value| *value *= -1.0);
            coefficients[1][0] = gaussian(rng).exp();
        }
        "Dirichlet with linear terms" if rng.random::<f64>() < 0.3 => {
            // Ties at the smallest linear cost, and mass left over for entries without a log.
            coefficients[1][..2].fill(3.0);
            coefficients[0][..2].fill(0.0);
        }
        _ => {}
    }
    coefficients
}

#[test]
fn modes_maximise() {
    let mut rng = generator();
    for posterior in posteriors().iter().copied() {
        // A joint factor of several variables is no point.
        if !posterior.joint().is_empty() {
            continue;
        }
        if posterior.lives_on(Support::Binary) || posterior.lives_on(Support::Index(AxisId(0))) {
            continue;
        }
        let n = shape(posterior);
        let batch = Batch::of(1, n);
        for _ in 0..200 {
            let coefficients = coefficients(posterior, &batch, &mut rng);
            let mut value = vec![1.0 / n as f64; width(posterior, n)];
            posterior.mode(&batch, &views(&coefficients), &mut value).unwrap();
            let best = objective(posterior, n, &coefficients, &value);
            if posterior.lives_on(Support::Simplex) {
                assert_close("sum of a simplex", value.iter().sum(), 1.0, 1e-14);
            }
            for _ in 0..50 {
                let near = perturbed(posterior, &value, &mut rng);
                let other = objective(posterior, n, &coefficients, &near);
                let tolerance = 1e-13 * best.abs().max(1.0);
                let name = posterior.name();
                assert!(
                    other <= best + tolerance,
                    "{name} {coefficients:?}: {value:?} {best}, but {near:?} {other}"
                );
            }
        }
    }
}

#[test]
fn modes_of_discrete_families() {
    let batch = Batch::of(2, 3);
    let mut value = vec![0.3; 6];
    let categorical = named("Categorical");
    categorical.mode(&batch, &[&[0.1, 0.9, 0.9, -1.0, f64::NEG_INFINITY, -2.0]], &mut value).unwrap();
    assert_eq!(value, [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    let mut value = vec![0.3; 2];
    named("Bernoulli").mode(&batch, &[&[0.1, -0.1]], &mut value).unwrap();
    assert_eq!(value, [1.0, 0.0]);
}

/// `examples/README.md`, points on a simplex and trap 6.
#[test]
fn modes_at_the_boundary() {
    let one = Batch::of(1, 1);
    let mode = |name: &str, coefficients: &[&[f64]]| {
        let mut value = vec![7.0];
        named(name).mode(&one, coefficients, &mut value).map(|()| value[0])
    };
    assert_eq!(mode("Gamma", &[&[0.0], &[-2.0]]), Ok(0.0));
    assert_eq!(mode("Gamma", &[&[0.0], &[0.0]]), Ok(0.0));
    assert!(mode("Gamma", &[&[-0.5], &[-2.0]]).unwrap_err().reason.contains("infinite density"));
    assert!(mode("Gamma", &[&[0.5], &[0.0]]).is_err());
    assert_eq!(mode("TruncatedNormal", &[&[-1.0], &[-2.0]]), Ok(0.0));
    assert_eq!(mode("TruncatedNormal", &[&[0.0], &[0.0]]), Ok(0.0));
    assert!(mode("TruncatedNormal", &[&[1.0], &[0.0]]).is_err());
    let square = "Gamma with a square term";
    assert_eq!(mode(square, &[&[3.0], &[-2.0], &[0.0]]), Ok(1.5));
    assert_eq!(mode(square, &[&[0.0], &[3.0], &[-2.0]]), Ok(0.75));
    assert_eq!(mode(square, &[&[0.0], &[0.0], &[0.0]]), Ok(0.0));
    assert!(mode(square, &[&[-0.5], &[-2.0], &[-1.0]]).unwrap_err().reason.contains("infinite density"));
    assert!(mode(square, &[&[0.5], &[0.0], &[0.0]]).is_err());
    assert_eq!(mode("Normal", &[&[0.0], &[0.0]]), Ok(0.0));
    assert!(mode("Normal", &[&[1.0], &[0.0]]).is_err());
}

#[test]
fn elements_of_a_slice_that_no_term_touches() {
    let joint = named("Normal over a slice");
    let batch = Batch::of(2, 2);
    let matrices = [-2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut value = vec![7.0; 4];
    joint.mode(&batch, &[&[3.0, 0.0, 0.0, 0.0], &matrices], &mut value).unwrap();
    assert_eq!(value, [0.75, 0.0, 0.0, 0.0]);
    let error = joint.mode(&batch, &[&[3.0, 0.0, 0.0, 1.0], &matrices], &mut value).unwrap_err();
    assert_eq!(error.row, 1);
}

#[test]
fn modes_on_the_boundary_of_a_simplex() {
    let slice = Batch::of(1, 3);
    let mode = |name: &str, coefficients: &[&[f64]]| {
        let mut value = vec![0.5, 0.25, 0.25];
        named(name).mode(&slice, coefficients, &mut value).map(|()| value)
    };
    assert_eq!(mode("Dirichlet", &[&[0.0; 3]]), Ok(vec![0.5, 0.25, 0.25]));
    assert_eq!(mode("Dirichlet", &[&[1.0, 0.0, 3.0]]), Ok(vec![0.25, 0.0, 0.75]));
    assert!(mode("Dirichlet", &[&[1.0, -0.5, 3.0]]).unwrap_err().reason.contains("infinite density"));
    let linear = "Dirichlet with linear terms";
    assert_eq!(mode(linear, &[&[0.0; 3], &[-1.0; 3]]), Ok(vec![0.5, 0.25, 0.25]));
    assert_eq!(mode(linear, &[&[0.0; 3], &[-1.0, -1.0, -2.0]]), Ok(vec![0.5, 0.5, 0.0]));
    // At mu = -min c the first entry takes 1 / (4 - 1), and the two others share the rest.
    let shared = mode(linear, &[&[1.0, 0.0, 0.0], &[-4.0, -1.0, -1.0]]).unwrap();
    shared.iter().for_each(|w| assert_close(linear, *w, 1.0 / 3.0, 1e-15));
    // With one cost for all it is the Dirichlet's mode.
    let even = mode(linear, &[&[1.0, 0.0, 3.0], &[-5.0; 3]]).unwrap();
    even.iter().zip([0.25, 0.0, 0.75]).for_each(|(w, expected)| assert_close(linear, *w, expected, 1e-15));
    // Tiny and huge counts: w_v (c_v + mu) = a_v for one mu.
    let wide = mode(linear, &[&[1e-12, 1e6, 3.0], &[-1.0, -1e7, -2.0]]).unwrap();
    let mu = 3.0 / wide[2] - 2.0;
    assert_close(linear, wide[0] * (1.0 + mu), 1e-12, 1e-24);
    assert_close(linear, wide[1] * (1e7 + mu) / 1e6, 1.0, 1e-12);
}
