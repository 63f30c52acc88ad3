//! Starts computed from the data: principal components and clusters.

use cavi_tests::support::{Matrix, Ready, file_of, matrix_file};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

fn normal(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let spread = |j: usize| 1.0 / (1.0 + j as f64);
    (0..rows)
        .map(|_| (0..columns).map(|j| 2.0 + spread(j) * rng.sample::<f64, _>(StandardNormal)).collect())
        .collect()
}

fn factors(init: &str, absent: &str) -> String {
    format!(
        "axis person[p]\naxis question[r]\naxis trait[t]\ndata answer[p, r] : real{absent}\n\
         score[p, t] ~ Normal(0, sd = 1)\nload[t, r] ~ Normal(0, sd = 1)\n\
         answer[p, r] ~ Normal(sum[t](load[t, r] * score[p, t]), sd = 1)\ninit {{\n{init}\n}}\n"
    )
}

const BOTH: &str = "score = pca(answer)\nload = pca(answer)";

/// Scores by person and loadings by trait, of which there are so many.
fn components(data: &Matrix, traits: usize, sparse: bool, absent: &str) -> (Vec<f64>, Vec<f64>) {
    let program = Ready::new(
        &factors(BOTH, absent),
        &[("trait", traits as f64)],
        vec![matrix_file("answer", data, sparse)],
    );
    let from = program.start(3);
    (program.column(&from, "score", 0).to_vec(), program.column(&from, "load", 0).to_vec())
}

fn near(a: &[f64], b: &[f64]) {
    let off = a.iter().zip(b).fold(0.0_f64, |off, (a, b)| off.max((a - b).abs()));
    assert!(a.len() == b.len() && off < 1e-7, "off by {off:e}");
}

/// The matrix less the means of its columns.
fn centred(data: &Matrix) -> Matrix {
    let n = data.len() as f64;
    let means: Vec<f64> =
        (0..data[0].len()).map(|j| data.iter().map(|row| row[j]).sum::<f64>() / n).collect();
    data.iter().map(|row| row.iter().zip(&means).map(|(x, mean)| x - mean).collect()).collect()
}

/// Orthogonal scores of mean square 1 times orthogonal loadings, the longest first, are the centred data: that is the
/// singular value decomposition and nothing else, but for signs.
#[test]
fn scores_times_loadings_are_the_centred_data() {
    let (n, m) = (40, 5);
    let data = normal(n, m, 1);
    let (scores, loads) = components(&data, m, false, "");
    for (p, row) in centred(&data).iter().enumerate() {
        let found: Vec<f64> =
            (0..m).map(|q| (0..m).map(|t| scores[p * m + t] * loads[t * m + q]).sum()).collect();
        near(&found, row);
    }
    let mut before = f64::INFINITY;
    for t in 0..m {
        for s in 0..m {
            let product: f64 = (0..n).map(|p| scores[p * m + t] * scores[p * m + s]).sum();
            near(&[product / n as f64], &[f64::from(u8::from(s == t))]);
            let product: f64 = (0..m).map(|q| loads[t * m + q] * loads[s * m + q]).sum();
            assert!(s == t || product.abs() < 1e-7);
        }
        let own = &loads[t * m..(t + 1) * m];
        let length: f64 = own.iter().map(|x| x * x).sum();
        assert!(length <= before);
        before = length;
        let largest = own.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
        assert!(largest.is_some_and(|value| value > 0.0));
    }
    // The leading ones alone are the same.
    let (fewer, _) = components(&data, 2, false, "");
    for p in 0..n {
        near(&fewer[p * 2..p * 2 + 2], &scores[p * m..p * m + 2]);
    }
}

#[test]
fn a_sparse_file_gives_the_components_of_the_dense_one() {
    let mut data = normal(30, 6, 2);
    data.iter_mut().flatten().filter(|x| **x < 1.9).for_each(|x| *x = 0.0);
    let (dense, sparse) =
        (components(&data, 3, false, ", absent = 0"), components(&data, 3, true, ", absent = 0"));
    near(&dense.0, &sparse.0);
    near(&dense.1, &sparse.1);
}

#[test]
fn missing_entries_count_as_the_mean_of_their_column() {
    let mut data = normal(30, 6, 3);
    let mut filled = data.clone();
    for (j, hidden) in [(0, 0..7), (3, 5..6), (5, 0..29)] {
        let seen: Vec<f64> = (0..30).filter(|i| !hidden.contains(i)).map(|i| data[i][j]).collect();
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        for i in hidden {
            data[i][j] = f64::NAN;
            filled[i][j] = mean;
        }
    }
    let expected = components(&filled, 3, false, "");
    let found = components(&data, 3, false, ", absent = NA");
    near(&found.0, &expected.0);
    near(&found.1, &expected.1);
    // Listed entries only.
    let lines: Vec<String> = (0..30)
        .flat_map(|i| (0..6).map(move |j| (i, j)))
        .filter(|(i, j)| !data[*i][*j].is_nan())
        .map(|(i, j)| format!("{i},{j},{}", data[i][j]))
        .collect();
    let table =
        file_of("answer", "t.csv", format!("person,question,value\n{}\n", lines.join("\n")).into_bytes());
    let program = Ready::new(&factors(BOTH, ", absent = NA"), &[("trait", 3.0)], vec![table]);
    let from = program.start(3);
    near(program.column(&from, "score", 0), &expected.0);
    near(program.column(&from, "load", 0), &expected.1);
}

/// Views stand beside each other; factors beyond the rank of the data keep their random start.
#[test]
fn ragged_views_are_one_matrix() {
    let text = cavi_tests::support::text_of("gfa").replace(", center over n, scale over n", "");
    let text = text.replace("  w = pca(x)\n", "  z = pca(x)\n  w = pca(x)\n");
    let (one, two) = (normal(12, 3, 4), normal(12, 2, 5));
    let files = || vec![matrix_file("x[one]", &one, false), matrix_file("x[two]", &two, false)];
    let program = Ready::new(&text, &[("factor", 7.0)], files());
    let from = program.start(1);
    let (z, w) = (program.column(&from, "z", 0), program.column(&from, "w", 0));
    let beside: Matrix = one.iter().zip(&two).map(|(a, b)| [a.clone(), b.clone()].concat()).collect();
    for (n, row) in centred(&beside).iter().enumerate() {
        let found: Vec<f64> = (0..5).map(|j| (0..5).map(|k| z[n * 7 + k] * w[j * 7 + k]).sum()).collect();
        near(&found, row);
    }
    let usual = Ready::built_in("gfa", &[("factor", 7.0)], files());
    let random = usual.start(1);
    for n in 0..12 {
        assert_eq!(z[n * 7 + 5..n * 7 + 7], usual.column(&random, "z", 0)[n * 7 + 5..n * 7 + 7]);
    }
    // The components are the same whatever the seed.
    let other = program.start(2);
    assert_eq!(z[..5], program.column(&other, "z", 0)[..5]);
}

/// A latent over one side of an array of three axes: the other two are unfolded beside each other.
#[test]
fn one_side_of_a_tensor() {
    let text = "axis one[i]\naxis two[j]\naxis three[l]\naxis part[k]\ndata y[i, j, l] : real\n\
                a[i, k] ~ Normal(0, sd = 1)\nb[j, k] ~ Normal(0, sd = 1)\nc[l, k] ~ Normal(0, sd = 1)\n\
                y[i, j, l] ~ Normal(sum[k](a[i, k] * b[j, k] * c[l, k]), sd = 1)\n\
                init {\n  a = pca(y)\n  b = pca(y)\n}\n";
    // One product of vectors, centred over i already.
    let (a, b, c) = ([1.0, -2.0, 1.0, 0.0], [0.5, 2.0, -1.0], [1.0, 3.0]);
    let entry =
        |at: usize| format!("{},{},{},{}", at / 6, at / 2 % 3, at % 2, a[at / 6] * b[at / 2 % 3] * c[at % 2]);
    let lines: Vec<String> = (0..24).map(entry).collect();
    let text_of_file = format!("one,two,three,value\n{}\n", lines.join("\n"));
    let text = text.replace("y[i, j, l] : real", "y[i, j, l] : real, absent = NA");
    let program = Ready::new(&text, &[("part", 1.0)], vec![file_of("y", "y.csv", text_of_file.into_bytes())]);
    let from = program.start(0);
    let shape = |found: &[f64], expected: &[f64]| {
        let scale = found[1] / expected[1];
        near(found, &expected.iter().map(|x| x * scale).collect::<Vec<f64>>());
        scale
    };
    let scale = shape(program.column(&from, "a", 0), &a);
    near(&[scale * scale], &[4.0 / 6.0]);
    shape(program.column(&from, "b", 0), &b);
}

/// Three clusters of rows far apart, and the cluster of each row.
fn clustered(seed: u64) -> (Matrix, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centres = [[0.0, 9.0, 3.0], [9.0, 0.0, 1.0], [5.0, 5.0, 20.0]];
    let of_row: Vec<usize> = (0..45).map(|n| n * 7 % 3).collect();
    let row = |c: &usize| centres[*c].iter().map(|x| x + 0.5 * rng.random::<f64>()).collect();
    (of_row.iter().map(row).collect(), of_row)
}

#[test]
fn responsibilities_and_centres_come_from_the_same_clusters() {
    let (data, of_row) = clustered(1);
    let text = cavi_tests::support::text_of("gmm").replace(", center over n, scale over n", "");
    let text = text.replace("  mu = kmeans(x)\n", "  z = kmeans(x)\n  mu = kmeans(x)\n");
    let program = Ready::new(&text, &[("cluster", 3.0)], vec![matrix_file("x", &data, false)]);
    for seed in 0..5 {
        let from = program.start(seed);
        let (z, mu) = (program.column(&from, "z", 0), program.column(&from, "mu", 0));
        for (n, cluster) in of_row.iter().enumerate() {
            let own: Vec<f64> = (0..3).map(|c| z[n * 3 + c]).collect();
            let chosen = own.iter().position(|p| *p == 1.0).expect("one class has all the mass");
            assert_eq!(own.iter().sum::<f64>(), 1.0);
            let like = of_row.iter().position(|other| other == cluster).expect("itself at least");
            assert_eq!(z[like * 3..like * 3 + 3], own[..]);
            let mean = |j: usize| {
                let rows = data.iter().zip(&of_row).filter(|(_, other)| *other == cluster);
                rows.map(|(row, _)| row[j]).sum::<f64>() / 15.0
            };
            near(&mu[chosen * 3..chosen * 3 + 3], &[mean(0), mean(1), mean(2)]);
        }
        assert_eq!(from, program.start(seed));
    }
}

/// Centres of counts with zeros start factors of q that have none.
#[test]
fn centres_of_counts_start_positive_latents() {
    let data: Matrix = (0..12)
        .map(|n| if n % 2 == 0 { vec![8.0, 0.0, 1.0, 0.0] } else { vec![0.0, 6.0, 2.0, 0.0] })
        .collect();
    for prior in ["rate[c, j] ~ Gamma(1, rate = 1)", "rate[c, j] ~ Exponential(1)"] {
        let text = format!(
            "axis item[n]\naxis kind[j]\naxis class[c] = 2\ndata x[n, j] : count, absent = 0\npi[:c] ~ Dirichlet(1)\n\
             z[n] ~ Categorical(pi)\n{prior}\nx[n, j] ~ Poisson(rate[z[n], j])\ninit {{\n  rate = kmeans(x)\n}}\n"
        );
        for sparse in [false, true] {
            let program = Ready::new(&text, &[], vec![matrix_file("x", &data, sparse)]);
            let from = program.start(0);
            let means = program.column(&from, "rate", 2);
            assert!(means.iter().all(|mean| *mean > 0.0));
            let row =
                |first: f64| means.chunks(4).find(|row| (row[0] > 4.0) == (first > 4.0)).expect("a class");
            assert!(row(8.0)[0] > 7.0 && row(0.0)[1] > 5.0, "{means:?}");
        }
    }
    let text = "axis item[n]\naxis kind[j]\naxis class[c] = 2\ndata x[n, j] : count, absent = 0\npi[:c] ~ Dirichlet(1)\n\
                z[n] ~ Categorical(pi)\nbeta[c, :j] ~ Dirichlet(1)\nx[n, :j] ~ Multinomial(p = beta[z[n], j])\n\
                init {\n  beta = kmeans(x)\n}\n";
    let program = Ready::new(text, &[], vec![matrix_file("x", &data, true)]);
    let from = program.start(0);
    let means = program.column(&from, "beta", 1);
    assert!(means.chunks(4).any(|row| row[0] > 0.6) && means.chunks(4).any(|row| row[1] > 0.5), "{means:?}");
}

/// What cannot be a start says why.
#[test]
fn a_start_that_cannot_be_is_explained() {
    let message = |text: &str, data: cavi::bind::ArrayInput| {
        let program = Ready::new(text, &[], vec![data]);
        let start = cavi::start::start(program.problem(), None, 0);
        start.err().map_or_else(String::new, |found| found[0].message.clone())
    };
    let data = normal(4, 3, 9);
    let x = || matrix_file("x", &data, false);
    let nonnegative = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : real\nw[i, k] ~ Flat(nonnegative)\n\
                       h[k, j] ~ Flat(nonnegative)\nx[i, j] ~ Normal(sum[k](w[i, k] * h[k, j]), sd = 1)\n\
                       posterior {\n  point w\n  point h\n}\ninit {\n  w = pca(x)\n}\n";
    assert!(message(nonnegative, x()).contains("both signs"));
    let narrow = "axis row[i]\naxis column[j]\ndata x[i, j] : real\nm[i] ~ Normal(0, sd = 1)\n\
                  x[i, j] ~ Normal(m[i], sd = 1)\ninit {\n  m = pca(x)\n}\n";
    assert!(message(narrow, x()).contains("one letter over factors"));
    let everything = "axis row[i]\naxis column[j]\naxis class[c] = 2\ndata x[i, j] : real\nz[i, j] ~ Categorical(pi)\n\
                      pi[:c] ~ Dirichlet(1)\nm[c] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m[z[i, j]], sd = 1)\n\
                      init {\n  z = kmeans(x)\n}\n";
    assert_eq!(message(everything, x()), "");
}
