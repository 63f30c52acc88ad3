//! Points without a closed form: hyper-parameters by Newton's method and log-linear effects by L-BFGS, alone and in logs of
//! sums, against SciPy's maximisers of the same objective (`outside/learned.py` and `outside/shares.py`, which hold the same
//! data).

use cavi_executor::{BoundArray, BoundAxis, Executor, start};
use cavi_tests::support::{bound_of, column, compile};

/// Sweeps until nothing changes; the bound never falls on the way. The points and the bound are those given.
fn check(text: &str, sizes: &[usize], data: &[(&str, &[f64])], points: &[(&str, &[f64])], maximum: f64) {
    let program = compile("learned", text).unwrap_or_else(|problem| panic!("{problem}"));
    let sizes: Vec<BoundAxis> = sizes.iter().map(|size| BoundAxis::plain(*size)).collect();
    let data: Vec<(&str, BoundArray)> =
        data.iter().map(|(name, values)| (*name, BoundArray::full(values.to_vec()))).collect();
    let bound = bound_of(&program, &sizes, &data);
    for seed in 0..3 {
        let from = start(&program.equations, &bound, seed);
        let mut executor = Executor::new(&program.equations, &bound, from, 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        let (mut last, mut still) = (f64::NEG_INFINITY, 0);
        for _ in 0..20_000 {
            executor.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
            let elbo = executor.elbo();
            assert!(elbo >= last - 1e-10 * executor.elbo_scale(), "seed {seed}: {last} falls to {elbo}");
            still = if elbo == last { still + 1 } else { 0 };
            last = elbo;
            if still == 100 {
                break;
            }
        }
        assert!((last - maximum).abs() < 1e-8 * maximum.abs(), "seed {seed}: {last}, not {maximum}");
        for (name, expected) in points {
            let found = column(&program, executor.parameters(), name, 0);
            for (found, expected) in found.iter().zip(*expected) {
                assert!((found / expected - 1.0).abs() < 2e-5, "{name}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn shape_and_rate_of_a_gamma() {
    check(
        include_str!("../models/gamma_data.cavi"),
        &[2, 6],
        &[("wait", &[0.2, 1.1, 0.7, 2.3, 0.9, 0.4, 5.1, 4.2, 6.6, 5.9, 4.8, 5.5])],
        &[("a", &[1.97345922, 47.8848853]), ("b", &[2.11442059, 8.9504458])],
        -11.841377015240175,
    );
}

#[test]
fn shapes_of_the_gammas_behind_counts() {
    check(
        include_str!("../models/learned_shapes.cavi"),
        &[6, 3],
        &[("y", &[3., 0., 9., 1., 2., 4., 0., 0., 7., 12., 1., 2., 4., 1., 0., 2., 5., 1.])],
        &[("shape", &[1.43493929, 1.79801424, 1.70893005]), ("mu", &[11.0 / 3.0, 1.5, 23.0 / 6.0])],
        -44.42986104106991,
    );
}

#[test]
fn both_parameters_of_a_beta() {
    check(
        include_str!("../models/learned_beta.cavi"),
        &[7],
        &[("y", &[1., 4., 0., 7., 3., 9., 2.]), ("trials", &[10., 9., 8., 10., 12., 11., 5.])],
        &[("a", &[1.7588952]), ("b", &[2.72555382])],
        -20.226389048218152,
    );
}

const COUNTS: [f64; 15] = [5., 1., 0., 2., 2., 9., 0., 1., 4., 7., 0., 3., 1., 6., 2.];

#[test]
fn a_vector_of_concentrations() {
    check(
        "axis site[i]\naxis kind[k]\ndata n[i, k] : count\nalpha[k] ~ Flat(nonnegative)\n\
         p[i, :k] ~ Dirichlet(alpha[k])\nn[i, :k] ~ Multinomial(p[i, :k])\nposterior {\n  point alpha\n}\n",
        &[5, 3],
        &[("n", &COUNTS)],
        &[("alpha", &[1.05504649, 0.801491977, 1.2467986])],
        -18.973340201845538,
    );
}

#[test]
fn concentrations_that_move_together() {
    check(
        "axis site[i]\naxis kind[k]\ndata n[i, k] : count\nalpha[:k] ~ Flat(nonnegative)\n\
         p[i, :k] ~ Dirichlet(alpha[k])\nn[i, :k] ~ Multinomial(p[i, :k])\nposterior {\n  point alpha[:k]\n}\n",
        &[5, 3],
        &[("n", &COUNTS)],
        &[("alpha", &[1.05504649, 0.801491977, 1.2467986])],
        -18.973340201845538,
    );
}

#[test]
fn one_concentration() {
    check(
        "axis site[i]\naxis kind[k]\ndata n[i, k] : count\nalpha ~ Flat(nonnegative)\n\
         p[i, :k] ~ Dirichlet(alpha)\nn[i, :k] ~ Multinomial(p[i, :k])\nposterior {\n  point alpha\n}\n",
        &[5, 3],
        &[("n", &COUNTS)],
        &[("alpha", &[0.923937134])],
        -19.22034778456228,
    );
}

#[test]
fn log_linear_effects() {
    check(
        include_str!("../models/log_linear.cavi"),
        &[3, 4, 2],
        &[
            ("y", &[2., 9., 0., 1., 5., 30., 3., 4., 0., 2., 1., 0.]),
            ("x", &[0.3, -1.2, 1.5, 0.4, -0.7, 0.9, 0.1, 0.2]),
            ("exposure", &[1.0, 2.5, 0.7]),
        ],
        &[("g", &[1.21583882, 0.228600088])],
        -26.47689693973072,
    );
}

/// Counts of four rows and three columns.
const SUMS: [f64; 12] = [3., 0., 1., 0., 5., 2., 7., 1., 4., 2., 2., 0.];

/// In one addend of a rate, Gamma factors of q in both: the bound with allocations at their optimum, maximised by SciPy in
/// the point and all shapes and rates together.
#[test]
fn a_point_in_one_addend_of_a_rate() {
    check(
        include_str!("../models/rates_by_dose.cavi"),
        &[4, 3],
        &[("x", &SUMS), ("dose", &[-1.0, 0.3, 1.2, -0.4])],
        &[("u", &[0.579268006])],
        -29.116752315370185,
    );
}

/// A point that climbs and a point with a closed form share the log of a sum.
#[test]
fn a_linked_and_a_plain_addend() {
    check(
        "axis row[i]\naxis col[j]\ndata x[i, j] : count\na[i] ~ Normal(0, sd = 1)\nc[j] ~ Gamma(2, rate = 1)\n\
         x[i, j] ~ Poisson(c[j] + exp(a[i]))\nposterior {\n  point a\n  point c\n}\n",
        &[4, 3],
        &[("x", &SUMS)],
        &[
            ("a", &[-0.434274522, 0.337672242, 0.938952254, -0.43695723]),
            ("c", &[1.36603692, 0.85823917, 0.54301631]),
        ],
        -29.552142705184977,
    );
}

/// The log of a difference of points, which has no bound.
#[test]
fn complementary_log_log() {
    check(
        include_str!("../models/complementary_log_log.cavi"),
        &[8, 2],
        &[
            ("y", &[1., 0., 1., 1., 0., 1., 0., 0.]),
            ("x", &[0.5, 1.0, -0.3, 0.2, 1.4, -0.7, 0.9, 0.1, -1.1, 0.8, 0.2, -0.4, -0.6, -1.3, 0.0, 0.6]),
        ],
        &[("mu", &[-0.402551133])],
        -6.911497690525671,
    );
}
