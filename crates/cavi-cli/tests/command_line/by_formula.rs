//! Fits and answers against numbers whose formulas stand here: resets of points, rows without a weight, priors that are infinite at 0, allocations by the
//! means of reciprocals, shapes that data choose, dense files that are mostly zeros, classes of classes, networks, rows of weight.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::common::{cavi, json, run, scratch, text};

fn write(directory: &Path, files: &[(&str, &str)]) {
    files.iter().for_each(|(name, own)| fs::write(directory.join(name), own).unwrap());
}

fn array(directory: &Path, name: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(name)).unwrap().values
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], within: f64) {
    let far = found.iter().zip(expected).any(|(own, right)| (own - right).abs() > within);
    assert!(found.len() == expected.len() && !far, "found {found:?}, expected {expected:?}");
}

/// What is said where a command fails.
#[track_caller]
fn refused(directory: &Path, line: &str) -> String {
    let output = cavi(directory, &line.split(' ').collect::<Vec<_>>());
    assert_ne!(output.status.code(), Some(0), "{line}");
    text(&output.stderr)
}

/// A point without a closed form, `y ~ Normal(a^2, 1)`: from -2 it climbs to a poor optimum below 0. The mode of its prior alone is 1, and from there
/// it climbs to the root above 0 of the slope `-(a - 1) + 2 a sum (y - a^2) = 1 + 23 a - 6 a^3`.
#[test]
fn the_reset_of_a_point_begins_at_the_mode_of_its_prior() {
    let directory = scratch("formula_reset");
    let program = |more: &str| {
        format!(
            "axis obs[n]\ndata y[n] : real\na ~ Normal(1, sd = 1)\ny[n] ~ Normal(a^2, sd = 1)\n\
             posterior {{\n  point a\n}}\ninit {{\n  a = -2\n}}\n{more}"
        )
    };
    let reset = "fit {\n  sweep a reset\n}\n";
    write(
        &directory,
        &[("low.cavi", &program("")), ("high.cavi", &program(reset)), ("y.csv", "y\n3\n5\n4\n")],
    );
    let root = |start: f64| {
        (0..60).fold(start, |a, _| a - (1.0 + 23.0 * a - 6.0 * a * a * a) / (23.0 - 18.0 * a * a))
    };
    for (name, start) in [("low", -2.0), ("high", 2.0)] {
        run(&directory, &format!("fit {name}.cavi --data y=y.csv --tol 1e-12 --out {name}"));
        close(&array(&directory, &format!("{name}/posterior/a.value.npy")), &[root(start)], 1e-8);
    }
    // Where the own statement has no mode in closed form, as those of points that move together, nothing can be reset.
    let two = "axis obs[n]\ndata y[n] : real\na ~ Normal(1, sd = 1)\nb ~ Normal(1, sd = 1)\ny[n] ~ Normal(a^2 * b, sd = 1)\n\
               posterior {\n  point (a, b)\n}\nfit {\n  sweep a reset\n}\n";
    write(&directory, &[("two.cavi", two)]);
    assert!(refused(&directory, "check two.cavi").contains("E0618"));
}

/// Points with a closed form: the shares of two known topics in a document with 2 and 1 units. The mode of a Dirichlet of 2 and 2 is (1/2, 1/2), at which
/// the first word is of the first topic with the probability .8/(.8 + .3), the second with .2/(.2 + .7): after one sweep the shares are
/// (1 + 2 * .727273 + .222222, 1 + 2 * .272727 + .777778) / 5, wherever the point was before.
#[test]
fn the_reset_of_shares_forgets_where_they_were() {
    let directory = scratch("formula_reset_shares");
    let program = "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata x[d, v] : count\nconst be[k, v]\nth[d, :k] ~ Dirichlet(2)\n\
        x[d, :v] ~ Multinomial(p = sum[k](th[d, k] * be[k, v]))\nposterior {\n  point th\n}\nfit {\n  sweep th reset\n}\n";
    write(
        &directory,
        &[
            ("m.cavi", program),
            ("x.csv", "2,1\n2,1\n"),
            ("be.csv", "topic,word,be\n0,0,0.8\n0,1,0.2\n1,0,0.3\n1,1,0.7\n"),
        ],
    );
    let own = (1.0 + 2.0 * 0.8 / 1.1 + 0.2 / 0.9) / 5.0;
    for seed in [1, 2] {
        run(
            &directory,
            &format!("fit m.cavi --data x=x.csv --set be=be.csv --sweeps 1 --seed {seed} --out o{seed}"),
        );
        let found = array(&directory, &format!("o{seed}/posterior/th.value.npy"));
        close(&found, &[own, 1.0 - own, own, 1.0 - own], 1e-9);
    }
}

/// Rows of weight 0 keep what they have, whether their items are reset or another statement touches them. A row of weight 1 with the visits 1 has
/// the precision 2 and the mean 1/2; the other, whose precision would be infinite, keeps its start.
#[test]
fn a_row_without_a_weight_keeps_its_start() {
    let directory = scratch("formula_weightless");
    let program = "axis person[n]\naxis visit[t]\ndata at[t] : index person\ndata y[t] : real\ndata m[n] : multiplicity\n\
        b[n] ~ Normal(0, sd = 1)\ny[t] ~ Normal(b[at[t]], sd = 1)\ninit {\n  b[n] = 7\n}\n";
    write(
        &directory,
        &[
            ("m.cavi", program),
            ("reset.cavi", &format!("{program}fit {{\n  sweep b reset\n}}\n")),
            ("at.csv", "0\n1\n1\n"),
            ("y.csv", "1\n2\n3\n"),
            ("w.csv", "1\n0\n"),
        ],
    );
    for name in ["m", "reset"] {
        run(
            &directory,
            &format!("fit {name}.cavi --data at=at.csv --data y=y.csv --data m=w.csv --out {name}"),
        );
        let (mean, var) = (format!("{name}/posterior/b.mean.npy"), format!("{name}/posterior/b.var.npy"));
        close(&array(&directory, &mean), &[0.5, 7.0], 1e-12);
        close(&array(&directory, &var)[..1], &[0.5], 1e-12);
    }
    // Topics, with a row that weighs nothing: its shares stay (7, 3).
    let topics = "axis doc[n]\naxis word[v]\naxis topic[k] = 2\ndata x[n, v] : count\ndata m[n] : multiplicity\n\
        th[n, :k] ~ Dirichlet(1)\nbe[k, :v] ~ Dirichlet(1)\nx[n, :v] ~ Multinomial(p = sum[k](th[n, k] * be[k, v]))\n";
    write(
        &directory,
        &[
            ("t.cavi", &format!("{topics}fit {{\n  sweep th reset repeat 3, be\n}}\n")),
            ("plain.cavi", topics),
            ("x.csv", "3,1,0\n0,2,2\n5,1,1\n"),
            ("mm.csv", "2\n0\n1\n"),
        ],
    );
    fs::create_dir_all(directory.join("start")).unwrap();
    let start = [5.0, 1.0, 7.0, 3.0, 1.0, 4.0];
    cavi_files::write_npy(&directory.join("start/th.concentration.npy"), &[3, 2], &start).unwrap();
    for line in ["t.cavi", "plain.cavi --batch doc=2"] {
        run(
            &directory,
            &format!("fit {line} --data x=x.csv --data m=mm.csv --init start --sweeps 5 --out o --force"),
        );
        close(&array(&directory, "o/posterior/th.concentration.npy")[2..4], &[7.0, 3.0], 0.0);
    }
}

/// A prior that is infinite at 0 is one in every row, whatever the row weighs, and for points that climb by the values of a file as well.
#[test]
fn a_point_whose_prior_is_infinite_is_refused_for_its_shape() {
    let directory = scratch("formula_infinite");
    let weighed = "axis obs[n]\ndata c[n] : count\ndata m[n] : multiplicity\na[n] ~ Gamma(0.7, rate = 1)\nc[n] ~ Poisson(a[n] + 1)\n\
        posterior {\n  point a\n}\n";
    let climbing = "axis obs[n]\naxis c[k] = 3\ndata y[n] : real\nconst a[k]\nw[k] ~ Gamma(a[k], rate = 1)\n\
        y[n] ~ Normal(sum[k](sqrt(w[k])), sd = 1)\nposterior {\n  point w\n}\n";
    let unit = "axis obs[n]\ndata o[n] : binary\nconst a[n]\np[n] ~ Beta(a[n], 1)\no[n] ~ Bernoulli(p[n]^2)\nposterior {\n  point p\n}\n";
    write(
        &directory,
        &[
            ("weighed.cavi", weighed),
            ("climbing.cavi", climbing),
            ("unit.cavi", unit),
            ("y.csv", "y\n1\n2\n"),
            ("o.csv", "o\n1\n0\n1\n"),
            ("small.csv", "0.5\n2\n0.3\n"),
            ("large.csv", "1.5\n2\n1.2\n"),
        ],
    );
    let said = refused(&directory, "check weighed.cavi");
    assert!(said.contains("E0713") && said.contains("0.3") && !said.contains("0.6"), "{said}");
    for line in ["climbing.cavi --data y=y.csv", "unit.cavi --data o=o.csv"] {
        let said = refused(&directory, &format!("fit {line} --set a=small.csv --out o"));
        assert!(said.contains("E0713") && said.contains("by the value of `a`"), "{said}");
    }
    run(&directory, "fit climbing.cavi --data y=y.csv --set a=large.csv --out o");
}

/// Under allocations by means the share of an addend is proportional to `a E[w] E[1/s]`, and `1/s` under an InverseGamma is a Gamma: the fixed point of
/// `w ~ Gamma(2 + sum y phi, 1 + E[1/s] sum a)`, `1/s ~ Gamma(3 + sum y phi, 2 + E[w] sum a)`.
#[test]
fn allocations_by_means_take_the_mean_of_a_reciprocal() {
    let directory = scratch("formula_means");
    let program = |shape: &str| {
        format!(
            "axis obs[n]\naxis comp[k] = 2\ndata y[n] : count\ndata a[n, k] : positive\ns[k] ~ InverseGamma({shape}, 2)\n\
             w[k] ~ Gamma(2, rate = 1)\ny[n] ~ Poisson(sum[k](a[n, k] * w[k] / s[k]))\nfit {{\n  allocations = means\n}}\n"
        )
    };
    let (y, a) = ([3.0, 0.0, 5.0, 1.0], [[1.0, 0.5], [0.2, 1.0], [1.5, 2.0], [0.4, 0.3]]);
    write(
        &directory,
        &[
            ("m.cavi", &program("3")),
            ("small.cavi", &program("0.5")),
            ("y.csv", "3\n0\n5\n1\n"),
            ("a.csv", "1,0.5\n0.2,1\n1.5,2\n0.4,0.3\n"),
        ],
    );
    // With a shape of 1/2 there is no E s at the start, and E 1/s all the same.
    for (name, shape) in [("m", 3.0), ("small", 0.5)] {
        let (mut w, mut r) = ([1.0; 2], [1.0; 2]);
        for _ in 0..20_000 {
            for which in 0..2 {
                let counts = |k: usize| -> f64 {
                    let share =
                        |n: usize| a[n][k] * w[k] * r[k] / (0..2).map(|l| a[n][l] * w[l] * r[l]).sum::<f64>();
                    (0..4).map(|n| y[n] * share(n)).sum()
                };
                let found = [counts(0), counts(1)];
                for k in 0..2 {
                    let exposure: f64 = a.iter().map(|own| own[k]).sum();
                    match which {
                        0 => r[k] = (shape + found[k]) / (2.0 + w[k] * exposure),
                        _ => w[k] = (2.0 + found[k]) / (1.0 + r[k] * exposure),
                    }
                }
            }
        }
        run(
            &directory,
            &format!("fit {name}.cavi --data y=y.csv --data a=a.csv --tol 1e-13 --sweeps 20000 --out {name}"),
        );
        close(&array(&directory, &format!("{name}/posterior/w.mean.npy")), &w, 1e-5);
    }
}

/// `w ~ Gamma(a[h[n]], 1)` with constant a is raised as any other shape: after one sweep of the warm-up w has the shape 0.6 + y and the rate 2.
#[test]
fn shapes_that_data_choose_are_raised() {
    let directory = scratch("formula_shapes");
    let program = "axis obs[n]\naxis grp[g]\ndata h[n] : index grp\ndata y[n] : count\nconst a[g] = 0.1\n\
        w[n] ~ Gamma(a[h[n]], rate = 1)\ny[n] ~ Poisson(w[n])\n";
    write(&directory, &[("m.cavi", program), ("h.csv", "0\n1\n1\n"), ("y.csv", "0\n3\n1\n")]);
    let output = cavi(
        &directory,
        &[
            "fit",
            "m.cavi",
            "--data",
            "h=h.csv",
            "--data",
            "y=y.csv",
            "--warmup",
            "shapes 0.6 over 1",
            "--sweeps",
            "0",
            "--out",
            "o",
        ],
    );
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(0) && !said.contains("W0805"), "{said}");
    close(&array(&directory, "o/posterior/w.shape.npy"), &[0.6, 3.6, 1.6], 1e-12);
    close(&array(&directory, "o/posterior/w.rate.npy"), &[2.0; 3], 1e-12);
}

/// A dense file of 280 x 280 cells that are mostly 0 is read in any way: `y[i, j] ~ Normal(b x[h[i], j], 1)`, whose b has the precision `1 + sum x^2`
/// and the mean `sum x y` over it.
#[test]
fn a_dense_file_of_zeros_is_read_as_one() {
    let directory = scratch("formula_dense");
    let program = "axis node[i, j]\ndata x[i, j] : real, absent = 0\ndata y[i, j] : real, absent = 0\ndata h[i] : index node\n\
        b ~ Normal(0, sd = 1)\ny[i, j] ~ Normal(b * x[h[i], j], sd = 1)\n";
    const N: usize = 280;
    let x =
        |i: usize, j: usize| if (i * 31 + j * 17).is_multiple_of(53) { 1.0 + (i % 3) as f64 } else { 0.0 };
    let y = |i: usize, j: usize| if (i * 13 + j * 7).is_multiple_of(29) { (j % 5) as f64 - 1.5 } else { 0.0 };
    let h = |i: usize| (i * 7 + 3) % N;
    let table = |of: &dyn Fn(usize, usize) -> f64| -> String {
        (0..N).fold(String::new(), |mut text, i| {
            let row: Vec<String> = (0..N).map(|j| of(i, j).to_string()).collect();
            let _ = writeln!(text, "{}", row.join(","));
            text
        })
    };
    let index: String = (0..N).map(|i| format!("{}\n", h(i))).collect();
    write(
        &directory,
        &[("m.cavi", program), ("x.csv", &table(&x)), ("y.csv", &table(&y)), ("h.csv", &index)],
    );
    run(&directory, "fit m.cavi --data x=x.csv --data y=y.csv --data h=h.csv --out o");
    let cells = || (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
    let precision: f64 = 1.0 + cells().map(|(i, j)| x(h(i), j).powi(2)).sum::<f64>();
    let mean = cells().map(|(i, j)| x(h(i), j) * y(i, j)).sum::<f64>() / precision;
    close(&array(&directory, "o/posterior/b.mean.npy"), &[mean], 1e-10);
}

/// The class of a hidden entry is chosen by a class that other data tell: it is what its statement says, `sum_g q(g) sum_k E theta[g, k] mu[k]`.
#[test]
fn a_class_that_a_class_chooses_is_predicted_by_its_statement() {
    let directory = scratch("formula_chosen");
    let program = "axis n[n]\naxis grp[g] = 2\naxis class[k] = 2\ndata u[n] : real\ndata x[n] : real, absent = NA\nrho[:g] ~ Dirichlet(1)\n\
        nu[g] ~ Normal(0, sd = 10)\nmu[k] ~ Normal(0, sd = 10)\ntheta[g, :k] ~ Dirichlet(0.2)\ng[n] ~ Categorical(rho)\n\
        z[n] ~ Categorical(theta[g[n]])\nu[n] ~ Normal(nu[g[n]], sd = 1)\nx[n] ~ Normal(mu[z[n]], sd = 1)\n\
        init {\n  nu[g] = kmeans(u)\n  mu[k] = kmeans(x)\n}\n";
    write(
        &directory,
        &[
            ("m.cavi", program),
            ("u.csv", "n,u\na,-9\nb,-9\nc,9\nd,9\ne,9\nf,-9\n"),
            ("x.csv", "n,x\na,-5\nb,-5\nc,5\nd,5\ne,-5\nf,5\n"),
            ("h.csv", "n\nf\n"),
        ],
    );
    let own =
        json(&directory, "fit m.cavi --data u=u.csv --data x=x.csv --heldout x=h.csv --tol 1e-12 --out o");
    let posterior = |name: &str| array(&directory, &format!("o/posterior/{name}.npy"));
    let (groups, theta, mu, var) =
        (posterior("g.prob"), posterior("theta.mean"), posterior("mu.mean"), posterior("mu.var"));
    let weight = |k: usize| groups[10] * theta[k] + groups[11] * theta[2 + k];
    let density = |k: usize| {
        let variance: f64 = 1.0 + var[k];
        (-0.5 * (5.0 - mu[k]).powi(2) / variance).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
    };
    let number = |name: &str| own["heldout"]["x"][name].as_f64().unwrap();
    let expected = (weight(0) * density(0) + weight(1) * density(1)).ln();
    close(&[number("log_predictive")], &[expected], 4.0 * number("standard_error"));
    run(&directory, "impute o");
    let table = fs::read_to_string(directory.join("o/imputed/x.csv")).unwrap();
    let mean: f64 = table.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
    close(&[mean], &[weight(0) * mu[0] + weight(1) * mu[1]], 1e-9);
}

/// Two groups of four nodes each, with all edges inside: each accounts for half of the cells, whichever nodes come first.
#[test]
fn both_ends_of_an_edge_count_for_their_groups() {
    let directory = scratch("formula_network");
    let program = "axis node[i, j]\naxis com[k, l] = 2\ndata x[i, j] : binary, absent = 0, i < j\npi[:k] ~ Dirichlet(1)\n\
        B[k, l] ~ Beta(1, 1)\nz[i] ~ Categorical(pi)\nx[i, j] ~ Bernoulli(B[z[i], z[j]])\n";
    let edges = "%%MatrixMarket matrix coordinate real general\n8 8 12\n1 2 1\n1 3 1\n1 4 1\n2 3 1\n2 4 1\n3 4 1\n5 6 1\n5 7 1\n5 8 1\n\
        6 7 1\n6 8 1\n7 8 1\n";
    write(&directory, &[("m.cavi", program), ("x.mtx", edges)]);
    let own = json(&directory, "fit m.cavi --data x=x.mtx --restarts 10 --seed 1 --out o");
    let shares: Vec<f64> = own["components"]["x"]["com"]["shares"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own.as_f64().unwrap())
        .collect();
    close(&shares, &[0.5, 0.5], 1e-4);
}

/// The shares of columns in rows of the weights 100 and 1: 900 + 1 and 100 + 9 units, half a unit more each, of 1011.
#[test]
fn rows_of_weight_count_as_often_in_what_takes_no_model() {
    let directory = scratch("formula_baseline");
    let program = "axis doc[d]\naxis word[v]\ndata x[d, v] : count, absent = 0\ndata m[d] : multiplicity\np[:v] ~ Dirichlet(1)\n\
        x[d, :v] ~ Multinomial(p)\n";
    write(
        &directory,
        &[
            ("m.cavi", program),
            ("m.csv", "doc,m\na,100\nb,1\n"),
            ("x.csv", "doc,word,x\na,w0,9\na,w1,1\nb,w0,1\nb,w1,9\n"),
            ("t.csv", "doc,word,x\na,w0,9\na,w1,1\nb,w1,2\n"),
        ],
    );
    run(&directory, "fit m.cavi --data x=x.csv --data m=m.csv --heldout x=t.csv --out o");
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let found = summary["heldout_baselines"]["x"]["means"]["per_unit"].as_f64().unwrap();
    let (first, second) = ((901.5_f64 / 1011.0).ln(), (109.5_f64 / 1011.0).ln());
    close(&[found], &[(900.0 * first + 102.0 * second) / 1002.0], 1e-9);
}
