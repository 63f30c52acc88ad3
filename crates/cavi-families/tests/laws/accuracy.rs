//! Numbers at the ends of their ranges, against 60 digits; what is refused; what starts look like.

#![allow(clippy::excessive_precision, clippy::approx_constant, reason = "tables stand as they were printed")]

use cavi_algebra::{AxisId, Elementary, Statistic, Support};
use cavi_families::{Batch, Extent, posterior, posteriors, recognise, views, views_mut};

use crate::{
    assert_close, descriptor_columns, distributions, entropy_column, generator, named, natural_columns, shape,
};

/// `linear, prec, mean, var, A` by mpmath with 60 digits and more, from the complementary error function.
const TRUNCATED: &[(f64, f64, f64, f64, f64)] = &[
    (0.0, 1.0, 0.79788456080286536, 0.36338022763241866, 0.22579135264472743),
    (0.999, 1.0, 1.2869704325123859, 0.62939056791875582, 1.2448974690041402),
    (-0.999, 1.0, 0.52533443230534712, 0.19921463636137688, -0.42155787696010517),
    (-1.0, 1.0, 0.52513527616098121, 0.19909766557034879, -0.42208311180459076),
    (-1.0001, 1.0, 0.52511536697906696, 0.19908597284667498, -0.42213562433673802),
    (1.0, 1.0, 1.2875999709391784, 0.6296862857766054, 1.2461847541812229),
    (1.0001, 1.0, 1.287662941046347, 0.62971585759632358, 1.2463135173267975),
    (-1.5, 1.0, 0.43867716662254319, 0.1495465935502027, -0.66200586761921707),
    (-2.2, 1.0, 0.35149615315120809, 0.10315891738724462, -0.93667991383947026),
    (-3.0, 2.0, 0.25440040088976385, 0.05367983469248166, -1.2552743271867979),
    (-4.7, 1.0, 0.19682401471859646, 0.036187438052650311, -1.588586834708397),
    (-8.0, 1.0, 0.12136811223611268, 0.01432488344334091, -2.0944986267098772),
    (-22.3, 1.0, 0.044664486482358962, 0.0019870350906623001, -3.106587567123094),
    (-22.5, 1.0, 0.044270570725512791, 0.0019522752435995612, -3.1154809569795077),
    (-13.9, 1.0, 0.071216307022304289, 0.0050215700040752544, -2.6369992351211326),
    (-14.2, 1.0, 0.069740750769812704, 0.0048175667507225202, -2.6581412638934288),
    (-1000.0, 0.25, 0.000999999500000625, 9.9999850000312499e-7, -6.9077555289819808),
    (-100000000.0, 1.0, 9.999999999999998e-9, 9.999999999999994e-17, -18.420680743952366),
    (-5.0, 1e-20, 0.2, 0.04, -1.6094379124341004),
    (-2.0, 0.0, 0.5, 0.25, -0.69314718055994531),
    (5.0, 1.0, 5.0000014867199409, 0.99999256639808514, 13.41893824655306),
    (30.0, 4.0, 7.5, 0.25, 112.72579135264473),
    (1000000.0, 3.0, 333333.33333333333, 0.33333333333333333, 166666666667.0363),
    (1e-09, 1e-12, 798248.05005643312, 363598298631.1587, 14.042099976896259),
    (-1e-05, 1e-10, 52513.527616098119, 1990976655.7034878, 11.090842353165638),
];

/// `shape, rate, E log x, A` by mpmath with 60 digits.
const GAMMA: &[(f64, f64, f64, f64)] = &[
    (1e-14, 1e-14, -99999999999968.341, 32.236191301916956),
    (1e-10, 3.0, -10000000001.675828, 23.025850929772874),
    (0.1, 0.3, -9.2197821360851402, 2.3731099321667995),
    (10000000000.0, 0.001, 29.933606208872594, 289336062078.63195),
    (10000000000.0, 20000000000.0, -0.69314718060994531, -16931471816.19344),
];

/// `p, a, b, E x, E 1/x, E log x, A` by mpmath with 50 digits, from `besselk` and its derivative in the order.
const GENERALIZED_INVERSE_GAUSSIAN: &[[f64; 7]] = &[
    [0.5, 2.0, 3.0, 1.72474487139158905, 0.816496580927726033, 0.376196853383443528, -1.87712479985847801],
    [-0.5, 2.0, 3.0, 1.22474487139158905, 1.14982991426105937, 0.0292682547247208535, -2.0798573539125602],
    [0.0, 1.0, 1.0, 1.42962539826040176, 1.42962539826040176, 0.0, -0.171917218346842787],
    [-1.7, 0.3, 4.0, 1.69663754143898649, 0.97724781560792396, 0.252169556135937415, -1.57690318859268505],
    [12.25, 1e-6, 5.0, 24500000.2222222209, 4.44444439626618584e-8, 16.9728124035861315, 195.84672669152147],
    [3.0, 1e8, 1e-8, 6.22880985237933908e-8, 22880985.2379339073, -16.7513782726060727, -52.6086224204264181],
    [0.3, 1.5, 1e-24, 0.400000027198335678, 40797503538456493.5, -3.21483841992790673, 1.18210254855777292],
    [-250.5, 2e3, 7.0, 0.0133149070844566273, 75.3756877384161792, -4.32067987402983171, 803.80768070526893],
    [
        1.0,
        1e-10,
        1e-10,
        19999999999.9999993,
        2.31417824455988701e-9,
        23.1417824455988693,
        23.7189981105004021,
    ],
    [1e4, 1.0, 1e6, 20049.8805721024829, 4.9880572102482853e-5, 9.90592872356959793, 89006.2179605313864],
];

#[test]
fn generalised_inverse_gaussians_up_to_their_limits() {
    let family = named("GeneralizedInverseGaussian");
    let batch = Batch::of(1, 1);
    let answers = |p: f64, a: f64, b: f64| {
        let mut descriptors = vec![vec![p], vec![a], vec![b], vec![0.0]];
        family.complete(&batch, &mut views_mut(&mut descriptors)).unwrap();
        let mut out = [descriptors[3][0], 0.0, 0.0, 0.0];
        for (place, which) in [(1, 2), (2, 0)] {
            let mut own = [0.0];
            family.expect(&batch, &views(&descriptors), which, &mut own);
            out[place] = own[0];
        }
        out[3] = entropy_column(family, &batch, &descriptors)[0];
        out
    };
    for [p, a, b, expected @ ..] in GENERALIZED_INVERSE_GAUSSIAN {
        let found = answers(*p, *a, *b);
        let what = format!("p {p}, a {a}, b {b}");
        // The moments are relative to their size, the logs absolute below 1.
        assert_close(&what, found[0] / expected[0], 1.0, 1e-13);
        assert_close(&what, found[1] / expected[1], 1.0, 1e-13);
        assert_close(&what, found[2], expected[2], 1e-13);
        assert_close(&what, found[3], expected[3], 1e-13);
    }
    // Without 1 / x it is a Gamma, without x an inverse Gamma; a tiny coefficient is almost none.
    let (near, limit) = (answers(2.5, 3.0, 1e-250), answers(2.5, 3.0, 0.0));
    let (mirrored, mirror) = (answers(-2.5, 1e-250, 3.0), answers(-2.5, 0.0, 3.0));
    for place in 0..4 {
        assert_close("Gamma", near[place], limit[place], 1e-13);
        assert_close("inverse Gamma", mirrored[place], mirror[place], 1e-13);
    }
    assert_close("mean of a Gamma", limit[0], 5.0 / 3.0, 1e-15);
    assert_close("mean of an inverse Gamma", mirror[0], 1.0, 1e-15);
    assert_eq!(answers(1.0, 3.0, 0.0)[1], f64::INFINITY);
    assert_eq!(answers(-1.0, 0.0, 3.0)[0], f64::INFINITY);
}

#[test]
fn truncated_normals_in_both_tails() {
    let posterior = named("TruncatedNormal");
    let batch = Batch::of(1, 1);
    for (linear, precision, mean, variance, log_normaliser) in TRUNCATED {
        let mut descriptors = vec![vec![*linear], vec![*precision], vec![0.0], vec![0.0]];
        posterior.complete(&batch, &mut views_mut(&mut descriptors)).unwrap();
        let what = format!("linear {linear}, prec {precision}");
        assert_close(&what, descriptors[2][0] / mean, 1.0, 1e-14);
        assert_close(&what, descriptors[3][0] / variance, 1.0, 3e-14);
        assert_close(&what, entropy_column(posterior, &batch, &descriptors)[0], *log_normaliser, 1e-14);
    }
}

#[test]
fn tiny_and_large_shapes() {
    let gamma = named("Gamma");
    let inverse = named("InverseGamma");
    let batch = Batch::of(1, 1);
    for (shape, rate, log, log_normaliser) in GAMMA {
        for (posterior, sign) in [(gamma, 1.0), (inverse, -1.0)] {
            let mut descriptors = vec![vec![*shape], vec![*rate], vec![0.0]];
            posterior.complete(&batch, &mut views_mut(&mut descriptors)).unwrap();
            let mut out = [0.0];
            posterior.expect(&batch, &views(&descriptors), 0, &mut out);
            assert_close("E log x", sign * out[0], *log, 1e-14);
            assert_close("A", entropy_column(posterior, &batch, &descriptors)[0], *log_normaliser, 1e-14);
            // Bit for bit: the base keeps the 1 out of the shape.
            let mut natural = natural_columns(posterior, &batch);
            posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
            let mut again = descriptor_columns(posterior, &batch);
            posterior.describe(&batch, &views(&natural), &mut views_mut(&mut again)).unwrap();
            assert_eq!(again, descriptors);
        }
    }
}

#[test]
fn tiny_and_large_concentrations() {
    let dirichlet = named("Dirichlet");
    let beta = named("Beta");
    let pair = Batch::of(1, 2);
    let one = Batch::of(1, 1);
    // psi(a) - psi(a + b), psi(b) - psi(a + b) and A by mpmath with 60 digits; the last is the largest term of A.
    for (a, b, log_a, log_b, log_normaliser, largest) in [
        (1e-14, 1e-14, -50000000000000.0, -50000000000000.0, 32.929338482476585, 1.0),
        (1e-14, 2.0, -100000000000001.0, -6.4493406684822442e-15, 32.23619130191663, 1.0),
        (1e10, 3.0, -2.9999999997e-10, -22.10306659509199, -68.384405609561425, 2e11),
        (1e10, 1e10, -0.69314718058494531, -0.69314718058494531, -13862943621.44632, 4e11),
    ] {
        let mut descriptors = vec![vec![a, b], vec![0.0; 2]];
        dirichlet.complete(&pair, &mut views_mut(&mut descriptors)).unwrap();
        let mut out = [0.0; 2];
        dirichlet.expect(&pair, &views(&descriptors), 0, &mut out);
        assert_close("E log x_1", out[0], log_a, 1e-14);
        assert_close("E log x_2", out[1], log_b, 1e-14);
        let answer = entropy_column(dirichlet, &pair, &descriptors)[0];
        assert_close("A", answer, log_normaliser, 1e-14 * largest);
        let mut descriptors = vec![vec![a], vec![b], vec![0.0]];
        beta.complete(&one, &mut views_mut(&mut descriptors)).unwrap();
        assert_close("A", entropy_column(beta, &one, &descriptors)[0], log_normaliser, 1e-14 * largest);
        for (which, expected) in [log_a, log_b].into_iter().enumerate() {
            let mut out = [0.0];
            beta.expect(&one, &views(&descriptors), which, &mut out);
            assert_close("E log", out[0], expected, 1e-14);
        }
    }
}

#[test]
fn joint_normal_solves_accurately() {
    let joint = named("Normal over a slice");
    let batch = Batch { groups: 1, group: &[0, 0], ..Batch::of(2, 2) };
    // The precision [[1e12, 1e3], [1e3, 3e-6]] has determinant 2e6.
    let precision = [1e12, 1e3, 1e3, 3e-6];
    let natural = [vec![1.0, 0.0, 0.0, 1.0], precision.iter().map(|p| -0.5 * p).collect()];
    let mut descriptors = descriptor_columns(joint, &batch);
    joint.describe(&batch, &views(&natural), &mut views_mut(&mut descriptors)).unwrap();
    let covariance = [3e-6 / 2e6, -1e3 / 2e6, -1e3 / 2e6, 1e12 / 2e6];
    for (place, expected) in covariance.into_iter().enumerate() {
        assert_close("cov", descriptors[1][place] / expected, 1.0, 1e-12);
        assert_close("mean", descriptors[0][place] / expected, 1.0, 1e-12);
    }
}

#[test]
fn improper_parameters_are_refused_by_row() {
    let batch = Batch::of(2, 2);
    let refuse = |name: &str, natural: &[&[f64]]| {
        let posterior = named(name);
        let mut descriptors = descriptor_columns(posterior, &batch);
        let error = posterior.describe(&batch, natural, &mut views_mut(&mut descriptors)).unwrap_err();
        assert_eq!(error.row, 1, "{name}");
        error.reason
    };
    let reason = refuse("Gamma", &[&[1.0, 0.0], &[-1.0, -1.0]]);
    assert_eq!(reason, "the shape is 0, and must be greater than 0");
    refuse("Gamma", &[&[1.0, 1.0], &[-1.0, f64::NAN]]);
    refuse("Normal", &[&[1.0, 0.0], &[-1.0, 0.0]]);
    refuse("Beta", &[&[1.0, 1.0], &[1.0, -1.0]]);
    refuse("InverseGamma", &[&[-1.0, 0.5], &[-1.0, -1.0]]);
    refuse("TruncatedNormal", &[&[-1.0, 1.0], &[0.0, 0.0]]);
    refuse("GeneralizedInverseGaussian", &[&[1.0, 1.0], &[-1.0, 0.0], &[-1.0, -1.0]]);
    refuse("GeneralizedInverseGaussian", &[&[1.0, -1.0], &[-1.0, -1.0], &[0.0, 0.0]]);
    refuse("Bernoulli-Normal", &[&[0.0; 2], &[-1.0, 2.0], &[0.0; 2], &[0.0; 2], &[-1.0; 2]]);
    refuse("Dirichlet", &[&[1.0, 2.0, 1.0, 0.0]]);
    refuse("Categorical", &[&[1.0, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY]]);
    refuse("Bernoulli", &[&[f64::INFINITY, f64::NAN]]);
    let matrices = [-1.0, 0.0, 0.0, -1.0, -1.0, 2.0, 2.0, -1.0];
    let reason = refuse("Normal over a slice", &[&[0.0; 4], &matrices]);
    assert!(reason.contains("not positive definite"), "{reason}");
}

#[test]
fn given_values_are_checked_and_kept() {
    let batch = Batch::of(1, 2);
    let complete = |name: &str, mut descriptors: Vec<Vec<f64>>| {
        let outcome = named(name).complete(&batch, &mut views_mut(&mut descriptors));
        outcome.map(|()| descriptors)
    };
    let prob = vec![vec![0.3 + 1e-10, 0.7]];
    assert_eq!(complete("Categorical", prob.clone()), Ok(prob));
    assert!(complete("Categorical", vec![vec![0.3, 0.71]]).is_err());
    assert!(complete("Categorical", vec![vec![-0.3, 1.3]]).is_err());
    assert!(complete("Normal", vec![vec![f64::NAN], vec![1.0]]).is_err());
    assert!(complete("Normal", vec![vec![0.0], vec![0.0]]).is_err());
    let joint =
        |covariance: [f64; 4]| complete("Normal over a slice", vec![vec![0.0; 2], covariance.to_vec()]);
    assert!(joint([1.0, 0.5, 0.5, 1.0]).is_ok());
    assert!(joint([1.0, 0.5, 0.4, 1.0]).unwrap_err().reason.contains("symmetric"));
    assert!(joint([1.0, 2.0, 2.0, 1.0]).unwrap_err().reason.contains("positive definite"));
    let heavy = complete("InverseGamma", vec![vec![0.5], vec![1.0], vec![0.0]]).unwrap();
    assert_eq!(heavy[2][0], f64::INFINITY);
}

#[test]
fn starts_are_proper_and_break_symmetry() {
    let mut rng = generator();
    for posterior in posteriors().iter().copied() {
        let n = shape(posterior);
        let batch = Batch::of(6, n);
        let mut descriptors = descriptor_columns(posterior, &batch);
        posterior.start(&batch, &mut rng, &mut views_mut(&mut descriptors));
        let is_centre = |name: &str| ["mean", "prob"].contains(&name);
        let centre = posterior.descriptors().iter().position(|own| is_centre(own.name)).unwrap();
        let mut values = descriptors[centre].clone();
        if posterior.descriptors()[centre].extent == Extent::Pairs {
            // A symmetric matrix: its lower triangle.
            let place = |index: usize| (index / n % n, index % n);
            let mut index = 0;
            values.retain(|_| {
                index += 1;
                place(index - 1).1 <= place(index - 1).0
            });
        }
        values.sort_by(f64::total_cmp);
        assert!(values.windows(2).all(|pair| pair[0] != pair[1]), "{} starts symmetric", posterior.name());
        assert!(values.iter().all(|value| value.abs() < 5.0));
        // A start at these means has them.
        let mut again = descriptor_columns(posterior, &batch);
        posterior.start_at(&batch, &descriptors[centre], &mut views_mut(&mut again)).unwrap();
        for (found, expected) in again[centre].iter().zip(&descriptors[centre]) {
            assert_close(posterior.name(), *found, *expected, 1e-14);
        }
        if !posterior.only_point() {
            posterior.complete(&batch, &mut views_mut(&mut descriptors)).unwrap();
        }
    }
}

#[test]
fn an_empty_axis_is_no_error() {
    let mut rng = generator();
    for posterior in distributions() {
        let batch = match (posterior.over_slice(), shape(posterior)) {
            (true, _) => Batch::of(2, 0),
            (false, n) => Batch::of(0, n),
        };
        let mut descriptors = descriptor_columns(posterior, &batch);
        posterior.start(&batch, &mut rng, &mut views_mut(&mut descriptors));
        posterior.complete(&batch, &mut views_mut(&mut descriptors)).unwrap();
        let mut natural = natural_columns(posterior, &batch);
        posterior.natural(&batch, &views(&descriptors), &mut views_mut(&mut natural));
        posterior.describe(&batch, &views(&natural), &mut views_mut(&mut descriptors)).unwrap();
        assert_eq!(entropy_column(posterior, &batch, &descriptors).len(), batch.rows);
    }
}

#[test]
fn recognises_the_smallest_family() {
    let name = |support, over_slice, point, collected: &[&Statistic]| {
        let collected: Vec<Statistic> = collected.iter().map(|statistic| (*statistic).clone()).collect();
        recognise(support, over_slice, point, &collected).map(|id| posterior(id).name())
    };
    let (x, square, log) = (&Statistic::identity(), &Statistic::square(), &Statistic::log());
    let inverse = &Statistic::of(Elementary::Power(-1));
    let complement = &Statistic::of(Elementary::LogComplement);
    let (outer, indicator) = (&Statistic::outer(), &Statistic::indicator());
    for positive in [Support::Positive, Support::Nonnegative] {
        assert_eq!(name(positive, false, false, &[x]), Some("Gamma"));
        assert_eq!(name(positive, false, false, &[log, x]), Some("Gamma"));
        assert_eq!(name(positive, false, false, &[x, square]), Some("TruncatedNormal"));
        assert_eq!(name(positive, false, false, &[log, inverse]), Some("InverseGamma"));
        assert_eq!(name(positive, false, false, &[x, inverse]), Some("GeneralizedInverseGaussian"));
        assert_eq!(name(positive, false, false, &[log, x, inverse]), Some("GeneralizedInverseGaussian"));
        assert_eq!(name(positive, false, false, &[log, x, square]), None);
        assert_eq!(name(positive, false, true, &[log, x, square]), Some("Gamma with a square term"));
    }
    assert_eq!(name(Support::Real, false, false, &[x, square]), Some("Normal"));
    assert_eq!(name(Support::Real, true, true, &[x, outer]), Some("Normal over a slice"));
    assert_eq!(name(Support::Simplex, true, false, &[log]), Some("Dirichlet"));
    assert_eq!(name(Support::Simplex, true, true, &[log]), Some("Dirichlet"));
    assert_eq!(name(Support::Simplex, true, false, &[log, x]), None);
    assert_eq!(name(Support::Simplex, true, true, &[log, x]), Some("Dirichlet with linear terms"));
    assert_eq!(name(Support::Unit, false, false, &[log, complement]), Some("Beta"));
    assert_eq!(name(Support::Binary, false, false, &[x]), Some("Bernoulli"));
    assert_eq!(name(Support::Index(AxisId(3)), false, false, &[indicator]), Some("Categorical"));
}
