//! Where fits start, held to numbers that were worked out by hand.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{cavi, run, scratch, text};

/// A directory with a program `m.cavi` and these files.
fn prepared(name: &str, program: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
    let directory = scratch(&format!("starts_{name}"));
    fs::write(directory.join("m.cavi"), program).unwrap();
    for (file, content) in files {
        fs::write(directory.join(file), content).unwrap();
    }
    directory
}

/// Fits `m.cavi` into `out`, and says what was said on standard error.
fn fitted(directory: &Path, out: &str, arguments: &str) -> String {
    run(directory, &format!("fit m.cavi --out {out} --force --progress none {arguments}")).1
}

fn array(directory: &Path, out: &str, key: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(format!("{out}/posterior/{key}.npy"))).unwrap().values
}

fn summary(directory: &Path, out: &str) -> Value {
    let text = fs::read_to_string(directory.join(out).join("summary.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn elbo(directory: &Path, out: &str) -> f64 {
    summary(directory, out)["elbo"].as_f64().unwrap()
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn close(found: &[f64], right: &[f64], within: f64) {
    let far = found.len() != right.len()
        || found.iter().zip(right).any(|(own, right)| (own - right).abs() > within);
    assert!(!far, "{found:?} for {right:?}");
}

const TWO: &str = "axis obs[n]\naxis comp[k] = 2\ndata x[n] : real\npi[:k] ~ Dirichlet(1)\nmu[k] ~ Normal(0, sd = 100)\n\
    z[n] ~ Categorical(pi)\nx[n] ~ Normal(mu[z[n]], sd = 1)\n";

const HELD: &str = "axis obs[n]\ndata y[n] : real\nb ~ Normal(0, sd = 1)\nc ~ Normal(0, sd = 1)\ny[n] ~ Normal(b + c, sd = 1)\n\
    posterior { fixed b }\n";

/// `b` is held at its mean 3 and variance 1e-4: `c` has the precision 1 + 4 and the mean `sum (y - 3) / 5 = -2.36` in every run.
#[test]
fn every_run_holds_what_is_fixed() {
    let directory = prepared("fixed", HELD, &[("y.csv", "0.1\n-0.2\n0.3\n0\n")]);
    fs::create_dir(directory.join("start")).unwrap();
    for (key, value) in [("b.mean", 3.0), ("b.var", 1e-4)] {
        cavi_files::write_npy(&directory.join(format!("start/{key}.npy")), &[], &[value]).unwrap();
    }
    for restarts in ["1", "5"] {
        fitted(&directory, "o", &format!("--data y=y.csv --init start --restarts {restarts} --tol 1e-12"));
        close(&array(&directory, "o", "b.mean"), &[3.0], 0.0);
        close(&array(&directory, "o", "c.mean"), &[-2.36], 1e-9);
        close(&[elbo(&directory, "o")], &[-16.631_893], 1e-5);
    }
    assert!(fitted(&directory, "o", "--data y=y.csv").contains("W0811"));
    assert!(!fitted(&directory, "o", "--data y=y.csv --init start").contains("W0811"));
}

/// One component has no values of what `--init` holds in two.
#[test]
fn one_component_is_not_held_at_random() {
    let program = format!("{TWO}posterior {{ fixed mu }}\n");
    let directory = prepared("one", &program, &[("x.csv", "0\n0.1\n-0.1\n6\n6.1\n5.9\n0\n6\n")]);
    fs::create_dir(directory.join("start")).unwrap();
    for (key, values) in [("mu.mean", [0.0, 6.0]), ("mu.var", [1e-4, 1e-4])] {
        cavi_files::write_npy(&directory.join(format!("start/{key}.npy")), &[2], &values).unwrap();
    }
    fitted(&directory, "o", "--data x=x.csv --init start --heldout x=0.25");
    let baselines = &summary(&directory, "o")["heldout_baselines"]["x"]["one_component"];
    let reason = baselines["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("`fixed`"), "{baselines}");
}

/// Centres of pilot values are where these are, although the data and what they read are fitted from an origin near them.
#[test]
fn centres_are_those_of_the_data_wherever_these_are() {
    let program = "axis obs[n]\naxis pilot[p]\naxis comp[k] = 2\ndata x[n] : real\ndata r[p] : real\npi[:k] ~ Dirichlet(1)\n\
        tau[k] ~ Gamma(1, rate = 1)\nmu[k] ~ Normal(0, prec = 1e-12 * tau[k])\nz[n] ~ Categorical(pi)\n\
        x[n] ~ Normal(mu[z[n]], prec = tau[z[n]])\nposterior { q(mu[k], tau[k]) }\ninit { mu = kmeans(FROM) }\n";
    let of = |centre: f64| (0..20).map(move |row| format!("{}\n", centre + f64::from(row % 5) - 2.0));
    let x: String = of(1e6).chain(of(1_000_030.0)).collect();
    let directory = prepared(
        "origin",
        &program.replace("FROM", "r"),
        &[("x.csv", &x), ("r.csv", "999999\n1000001\n1000029\n1000031\n")],
    );
    fitted(&directory, "o", "--data x=x.csv --data r=r.csv --sweeps 0");
    close(&sorted(array(&directory, "o", "mu.mean")), &[1e6, 1_000_030.0], 1e-6);
    fitted(&directory, "o", "--data x=x.csv --data r=r.csv");
    close(&sorted(array(&directory, "o", "mu.mean")), &[1e6, 1_000_030.0], 0.01);
    // A line with values is evaluated where the data are, too.
    fs::write(directory.join("m.cavi"), program.replace("kmeans(FROM)", "1000007")).unwrap();
    fitted(&directory, "o", "--data x=x.csv --data r=r.csv --sweeps 0");
    close(&array(&directory, "o", "mu.mean"), &[1_000_007.0; 2], 1e-6);
}

/// Counts about 500, 1000 and 2000; four clusters in a unit, in a thousandth of it and in a thousand; and a start from clusters in small units.
#[test]
fn components_start_at_the_scale_of_their_data() {
    let rates = "axis obs[n]\naxis comp[k] = 3\ndata x[n] : count\npi[:k] ~ Dirichlet(1)\nlam[k] ~ Gamma(1, rate = 0.001)\n\
        z[n] ~ Categorical(pi)\nx[n] ~ Poisson(lam[z[n]])\n";
    let counts: String = [500, 1000, 2000]
        .into_iter()
        .flat_map(|centre| (0..10).map(move |row| format!("{}\n", centre + 10 * (row % 5) - 20)))
        .collect();
    let directory = prepared("rates", rates, &[("x.csv", &counts)]);
    fitted(&directory, "o", "--data x=x.csv --restarts 20");
    let mean: Vec<f64> = array(&directory, "o", "lam.shape")
        .iter()
        .zip(array(&directory, "o", "lam.rate"))
        .map(|(shape, rate)| shape / rate)
        .collect();
    close(&sorted(mean), &[500.0, 1000.0, 2000.0], 1.0);

    let units = "axis obs[n]\naxis comp[k] = 4\ndata x[n] : real\nconst s = 1\npi[:k] ~ Dirichlet(1)\n\
        tau[k] ~ Gamma(1, rate = 0.1 * s^2)\nmu[k] ~ Normal(0, sd = 10 * s)\nz[n] ~ Categorical(pi)\n\
        x[n] ~ Normal(mu[z[n]], prec = tau[z[n]])\n";
    let clusters = |unit: f64| -> String {
        let own = |centre: f64| {
            (0..10).map(move |row| format!("{}\n", unit * (centre + 0.2 * f64::from(row) - 0.9)))
        };
        [-12.0, -3.0, 4.0, 13.0].into_iter().flat_map(own).collect()
    };
    let directory = prepared(
        "units",
        units,
        &[("x.csv", &clusters(1.0)), ("y.csv", &clusters(1000.0)), ("z.csv", &clusters(1e-3))],
    );
    for (file, unit) in [("x.csv", 1.0), ("y.csv", 1000.0), ("z.csv", 1e-3)] {
        fitted(&directory, "o", &format!("--data x={file} --set s={unit} --restarts 50"));
        let centres = [-12.0, -3.0, 4.0, 13.0].map(|own: f64| own * unit);
        close(&sorted(array(&directory, "o", "mu.mean")), &centres, 0.1 * unit);
    }

    let small = "axis obs[n]\naxis comp[k] = 2\ndata x[n] : real\npi[:k] ~ Dirichlet(1)\ntau ~ Gamma(0.001, rate = 1e-14)\n\
        mu[k] ~ Normal(0, sd = 10)\nz[n] ~ Categorical(pi)\nx[n] ~ Normal(mu[z[n]], prec = tau)\ninit { mu = kmeans(x) }\n";
    let two: String = [0.0, 0.01]
        .into_iter()
        .flat_map(|centre| (0..20).map(move |row| format!("{}\n", centre + 4e-4 * f64::from(row % 5) - 8e-4)))
        .collect();
    let directory = prepared("small", small, &[("x.csv", &two)]);
    fitted(&directory, "o", "--data x=x.csv");
    close(&sorted(array(&directory, "o", "mu.mean")), &[0.0, 0.01], 1e-5);
}

/// Coefficients of covariates and of what index data name stand at their labels in data of another order.
#[test]
fn more_data_meet_the_earlier_fit_by_their_labels() {
    let program = "axis obs[n]\naxis cov[p]\ndata y[n] : real\ndata x[n, p] : real\nb[p] ~ Normal(0, sd = 10)\n\
        y[n] ~ Normal(sum[p](b[p] * x[n, p]), sd = 1)\nposterior { fixed b }\n";
    let of = |labels: [&str; 2], rows: &[(&str, [f64; 2])]| {
        let mut text = format!("obs,{},{}\n", labels[0], labels[1]);
        for (row, [u, v]) in rows {
            let [first, second] = if labels[0] == "u" { [u, v] } else { [v, u] };
            text += &format!("{row},{first},{second}\n");
        }
        text
    };
    let rows = [("r1", [1.0, 2.0]), ("r2", [0.5, -1.0]), ("r3", [-2.0, 1.0]), ("r4", [3.0, 0.5])];
    let y = |rows: &[(&str, [f64; 2])]| -> String {
        let line = |(row, [u, v]): &(&str, [f64; 2])| format!("{row},{}\n", 10.0 * u + 2.0 * v);
        "obs,y\n".to_owned() + &rows.iter().map(line).collect::<String>()
    };
    let directory = prepared(
        "labels",
        &program.replace("posterior { fixed b }\n", ""),
        &[
            ("x1.csv", &of(["u", "v"], &rows[..3])),
            ("y1.csv", &y(&rows[..3])),
            ("x2.csv", &of(["v", "u"], &rows)),
            ("y2.csv", &y(&rows)),
        ],
    );
    fitted(&directory, "first", "--data x=x1.csv --data y=y1.csv --tol 1e-12");
    let before = array(&directory, "first", "b.mean");
    assert!(before[0] > 8.0 && before[1] < 3.0, "{before:?}");
    fs::write(directory.join("m.cavi"), program).unwrap();
    let said = fitted(&directory, "o", "--data x=x2.csv --data y=y2.csv --init first --grow");
    close(&array(&directory, "o", "b.mean"), &[before[1], before[0]], 0.0);
    assert!(said.contains("cov: 2 of the earlier fit and 0 new"), "{said}");

    let named = "axis obs[n]\naxis animal[a]\ndata y[n] : real\ndata an[n] : index animal\nb[a] ~ Normal(0, sd = 10)\n\
        y[n] ~ Normal(b[an[n]], sd = 1)\n";
    let files = [
        ("y1.csv", "obs,y\nr1,5\nr2,-3\nr3,5.2\n"),
        ("an1.csv", "obs,an\nr1,cat\nr2,dog\nr3,cat\n"),
        ("y2.csv", "obs,y\nr2,-3\nr1,5\nr3,5.2\nr4,7\n"),
        ("an2.csv", "obs,an\nr2,dog\nr1,cat\nr3,cat\nr4,cow\n"),
    ];
    let directory = prepared("named", named, &files);
    let data = |number: u32| format!("--data y=y{number}.csv --data an=an{number}.csv");
    fitted(&directory, "first", &data(1));
    let before = array(&directory, "first", "b.mean");
    fitted(&directory, "o", &format!("{} --init first --grow --sweeps 0", data(2)));
    // The new one starts at the average.
    let right = [before[1], before[0], (before[0] + before[1]) / 2.0];
    close(&array(&directory, "o", "b.mean"), &right, 1e-9);
}

/// New components differ from the one that there was, wherever the data are; and numbers that sum to 1 are divided by their new sum.
#[test]
fn more_components_and_words_start_beside_those_of_the_earlier_fit() {
    let far = TWO.replace("axis comp[k] = 2", "axis comp[k]").replace("sd = 100", "sd = 1e7");
    for shift in [0.0, 1e6] {
        let x: String =
            [0.0, 0.2, 10.0, 10.1, 20.0, 20.2].iter().map(|own| format!("{}\n", own + shift)).collect();
        let directory = prepared("grown", &far, &[("x.csv", &x)]);
        fitted(&directory, "one", "--data x=x.csv --set comp=1");
        fitted(&directory, "o", "--data x=x.csv --set comp=3 --init one --grow --sweeps 0");
        let (one, mu) = (array(&directory, "one", "mu.mean"), array(&directory, "o", "mu.mean"));
        assert!((mu[0] - one[0]).abs() < 1e-6, "{mu:?}");
        assert!(
            mu[1] != mu[0] && mu[2] != mu[0] && mu.iter().all(|own| (own - shift).abs() < 100.0),
            "{mu:?}"
        );
    }
    let topics = "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata x[d, v] : count, absent = 0\nw[k, :v] ~ Flat(simplex)\n\
        h[d, :k] ~ Flat(simplex)\nx[d, :v] ~ Multinomial(p = sum[k](w[k, v] * h[d, k]))\n\
        posterior {\n  point w[k, :v]\n  point h[d, :k]\n}\n";
    let first = "doc,a,b,c,d\nd1,9,8,0,1\nd2,7,9,1,0\nd3,0,1,9,8\nd4,1,0,8,9\n";
    let more = "doc,a,b,c,d,e\nd1,9,8,0,1,1\nd2,7,9,1,0,0\nd3,0,1,9,8,0\nd4,1,0,8,9,1\n";
    let less = "doc,a,b,c\nd1,9,8,0\nd2,7,9,1\nd3,0,1,9\nd4,1,0,8\n";
    let directory = prepared("words", topics, &[("a.csv", first), ("b.csv", more), ("c.csv", less)]);
    fitted(&directory, "first", "--data x=a.csv");
    let before = array(&directory, "first", "w.value");
    for (file, count) in [("b.csv", 5), ("c.csv", 3)] {
        fitted(&directory, "o", &format!("--data x={file} --init first --grow --sweeps 0"));
        let after = array(&directory, "o", "w.value");
        for topic in 0..2 {
            let (own, old) = (&after[topic * count..(topic + 1) * count], &before[topic * 4..topic * 4 + 4]);
            close(&[own.iter().sum::<f64>()], &[1.0], 1e-9);
            for word in 0..3 {
                close(&[own[word] * old[0].max(old[2])], &[old[word] * own[0].max(own[2])], 1e-6);
            }
        }
    }
}

/// The same listed entries in another order start where they ended.
#[test]
fn listed_entries_meet_the_earlier_fit_by_their_labels() {
    let program = "axis u[a]\naxis v[b]\ndata y[a, b] : count, absent = NA\nm[b] ~ Gamma(1, rate = 0.1)\nr[a, b] ~ Gamma(2, rate = 1)\n\
        y[a, b] ~ Poisson(r[a, b] * m[b])\n";
    let first = "u,v,y\np,s,3\np,t,10\nq,t,1\nr,s,40\nq,s,2\n";
    let again = "u,v,y\nr,s,40\np,s,3\nq,s,2\np,t,10\nq,t,1\n";
    let directory = prepared("entries", program, &[("a.csv", first), ("b.csv", again)]);
    fitted(&directory, "first", "--data y=a.csv --tol 1e-12");
    let said = fitted(&directory, "o", "--data y=b.csv --init first --grow --sweeps 0");
    close(&[elbo(&directory, "o")], &[elbo(&directory, "first")], 1e-9);
    assert!(said.contains("entry of y: 5 of the earlier fit and 0 new"), "{said}");
}

/// Equal programs hold out equal entries.
#[test]
fn a_split_does_not_depend_on_where_the_data_are_declared() {
    let lines = [
        "axis obs[n]\n",
        "data y[n] : real\n",
        "const c = 1\n",
        "m ~ Normal(0, sd = 10)\ny[n] ~ Normal(m, sd = c)\n",
    ];
    let y: String = (0..40).map(|row| format!("{}\n", f64::from(row * row % 17))).collect();
    let directory = prepared("split", &lines.concat(), &[("y.csv", &y)]);
    fitted(&directory, "a", "--data y=y.csv --heldout y=0.3");
    fs::write(directory.join("m.cavi"), [lines[0], lines[2], lines[1], lines[3]].concat()).unwrap();
    fitted(&directory, "b", "--data y=y.csv --heldout y=0.3");
    run(&directory, "compare a b");
    let of = |out: &str| summary(&directory, out)["heldout"]["y"]["per_unit"].as_f64().unwrap();
    close(&[of("a")], &[of("b")], 1e-12);
}

/// `y[i, j] = u[i] v[j]` over one axis. Centred over senders it is `(i - 2.5) v[j]`: scores of mean square 1 beside the loadings `sqrt(5/4) v`.
#[test]
fn senders_and_receivers_of_one_axis_are_told_apart() {
    let factors = "axis node[i, j]\naxis fac[k] = 1\ndata y[i, j] : real\nu[i, k] ~ Normal(0, sd = 1)\nv[j, k] ~ Normal(0, sd = 1)\n\
        y[i, j] ~ Normal(sum[k](u[i, k] * v[j, k]), sd = 1)\ninit {\n  u = pca(y)\n  v = pca(y)\n}\n";
    let directory =
        prepared("sides", factors, &[("y.csv", "4,-1,0.5,2\n8,-2,1,4\n12,-3,1.5,6\n16,-4,2,8\n")]);
    fitted(&directory, "o", "--data y=y.csv --sweeps 0");
    let root = 1.25_f64.sqrt();
    close(&array(&directory, "o", "v.mean"), &[4.0 * root, -root, 0.5 * root, 2.0 * root], 1e-9);
    close(&array(&directory, "o", "u.mean"), &[-1.5, -0.5, 0.5, 1.5].map(|own: f64| own / root), 1e-9);

    let classes = "axis node[i, j]\naxis comp[k] = 2\ndata y[i, j] : real\npi[:k] ~ Dirichlet(1)\nm[k] ~ Normal(0, sd = 10)\n\
        c[j] ~ Categorical(pi)\ny[i, j] ~ Normal(m[c[j]], sd = 1)\ninit { c = kmeans(y) }\nfit { sweep pi, m, c }\n";
    let directory =
        prepared("receivers", classes, &[("y.csv", "0,0.1,10,10\n0,0,10,10.2\n0.1,0,10,10\n0,0,9.9,10\n")]);
    fitted(&directory, "o", "--data y=y.csv --sweeps 0");
    let prob = array(&directory, "o", "c.prob");
    let class: Vec<bool> = prob.chunks(2).map(|own| own[0] > 0.5).collect();
    assert!(class[0] == class[1] && class[2] == class[3] && class[0] != class[2], "{prob:?}");
}

/// Classes that start at random help no one where the first update overwrites them; where something reads them first they do.
#[test]
fn a_start_is_symmetric_if_what_differs_is_never_read() {
    let alike = format!("{TWO}init {{\n  mu[k] = 0\n  pi[k] = 0.5\n}}\n");
    let directory = prepared("symmetric", &alike, &[("x.csv", "-5\n-5.1\n-4.9\n5\n5.1\n4.9\n")]);
    assert!(fitted(&directory, "o", "--data x=x.csv").contains("W0802"));
    assert!(!fitted(&directory, "o", "--data x=x.csv --schedule mu,pi,z").contains("W0802"));
    fs::write(directory.join("m.cavi"), TWO).unwrap();
    assert!(!fitted(&directory, "o", "--data x=x.csv").contains("W0802"));
}

/// The row of weight 0 is far away, and the row of weight 3 is three rows: centres (0.4 / 4, 18.4 / 3).
#[test]
fn rows_count_in_clusters_as_often_as_they_weigh() {
    let program = TWO.replace("data x[n] : real\n", "data m[n] : multiplicity\ndata x[n] : real\n")
        + "init { mu = kmeans(x) }\n";
    let directory = prepared(
        "weights",
        &program,
        &[("x.csv", "0\n0.4\n6\n6.1\n6.3\n1000\n"), ("m.csv", "3\n1\n1\n1\n1\n0\n")],
    );
    fitted(&directory, "o", "--data x=x.csv --data m=m.csv --sweeps 0");
    close(&sorted(array(&directory, "o", "mu.mean")), &[0.1, 18.4 / 3.0], 1e-9);
}

/// A column of ones stays within a Beta: the centre of two rows of two counts one more row, the mean of all.
#[test]
fn centres_of_ones_are_probabilities() {
    let program = "axis person[n]\naxis item[j]\naxis class[k] = 2\ndata x[n, j] : binary\npi[:k] ~ Dirichlet(1)\nth[k, j] ~ Beta(1, 1)\n\
        z[n] ~ Categorical(pi)\nx[n, j] ~ Bernoulli(th[z[n], j])\ninit { th = kmeans(x) }\n";
    let directory = prepared("ones", program, &[("x.csv", "1,1,0\n1,1,0\n1,0,1\n1,0,1\n")]);
    fitted(&directory, "o", "--data x=x.csv --sweeps 0");
    let (a, b) = (array(&directory, "o", "th.a"), array(&directory, "o", "th.b"));
    let mean: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / (a + b)).collect();
    // (2 * 1 + 1/2) / 3 where the others are all 1; of the mean 1 what is left is that of the other columns, 1/2.
    close(&[mean[0], mean[3]], &[5.0 / 6.0; 2], 1e-9);
    close(&sorted(mean[1..3].to_vec()), &[1.0 / 6.0, 5.0 / 6.0], 1e-9);
}

/// What the sweep of the run overwrites is told, not what that of the program would.
#[test]
fn a_lost_start_is_that_of_the_schedule() {
    for (start, kept, lost) in [("z", "pi,mu,z", "z,pi,mu"), ("mu", "z,mu,pi", "mu,pi,z")] {
        let program = format!("{TWO}init {{ {start} = kmeans(x) }}\n");
        let directory = prepared("lost", &program, &[("x.csv", "-5\n-5.1\n-4.9\n5\n5.1\n4.9\n")]);
        assert!(
            !fitted(&directory, "o", &format!("--data x=x.csv --schedule {kept}")).contains("W0703"),
            "{start}"
        );
        assert!(
            fitted(&directory, "o", &format!("--data x=x.csv --schedule {lost}")).contains("W0703"),
            "{start}"
        );
    }
}

/// Hidden entries that something reads are latent, and are updated whatever the schedule names.
#[test]
fn hidden_entries_are_updated_under_a_schedule() {
    let program = "axis obs[n]\ndata x[n] : real\ndata y[n] : real\nm ~ Normal(0, sd = 10)\nb ~ Normal(0, sd = 10)\n\
        x[n] ~ Normal(m, sd = 1)\ny[n] ~ Normal(b * x[n], sd = 1)\n";
    let x: String = (1..=10).map(|row| format!("{row}\n")).collect();
    let y: String = (1..=10).map(|row| format!("{}\n", f64::from(row) + 0.1)).collect();
    let directory = prepared("hidden", program, &[("x.csv", &x), ("y.csv", &y)]);
    let data = "--data x=x.csv --data y=y.csv --heldout x=0.3 --tol 1e-10";
    fitted(&directory, "own", data);
    fitted(&directory, "o", &format!("{data} --schedule m,b"));
    close(&array(&directory, "o", "b.mean"), &array(&directory, "own", "b.mean"), 1e-4);
}

/// `--tol` asks for three small changes, whatever the program asks for; and under `--accelerate auto` for three cycles of small changes, which are
/// seven sweeps at least.
#[test]
fn a_fit_is_at_rest_when_it_stays_there() {
    let program = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count\nw[i, k] ~ Gamma(1, rate = 1)\nh[j, k] ~ Gamma(1, rate = 1)\n\
        x[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\nfit { stop when rel_elbo < 1e-2 for 1 }\n";
    let x: String = (0..12)
        .map(|i| {
            (0..8).map(|j| ((i * 7 + j * j * 3 + i * j) % 11).to_string()).collect::<Vec<_>>().join(",")
                + "\n"
        })
        .collect();
    let directory = prepared("rest", program, &[("x.csv", &x)]);
    for (more, least) in [("", 3), (" --accelerate auto", 7)] {
        fitted(&directory, "o", &format!("--data x=x.csv --tol 1e-4{more}"));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        let change = |line: &str| line.split(',').nth(2).and_then(|own| own.parse::<f64>().ok());
        let small = trace.lines().rev().take_while(|line| change(line).is_some_and(|own| own < 1e-4)).count();
        assert!(small >= least && summary(&directory, "o")["converged"] == true, "{more}: {small}\n{trace}");
    }
}

/// A line that cannot be followed is refused at its place, whatever the coordinates of the run.
#[test]
fn a_wrong_line_is_told() {
    let program = format!("{TWO}init {{ mu = pca(x) }}\n");
    let directory = prepared("wrong", &program, &[("x.csv", "1000000\n1000000.1\n1000000.2\n1000000.3\n")]);
    let output = cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--out", "o"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("E0802"), "{}", text(&output.stderr));
}

/// A cell that is no entry (`i != j`) says as little as one that is missing: the start is that of the means of the columns in its place.
#[test]
fn cells_that_are_no_entries_are_no_zeros() {
    const VALUES: [[f64; 5]; 5] = [
        [0.0, 103.0, 98.0, 0.0, 110.0],
        [95.0, 0.0, 101.0, 97.0, 104.0],
        [108.0, 0.0, 0.0, 99.0, 92.0],
        [101.0, 96.0, 107.0, 0.0, 0.0],
        [99.0, 105.0, 94.0, 102.0, 0.0],
    ];
    let of_column = |j: usize| (0..5).filter(|i| *i != j).map(|i| VALUES[i][j]).sum::<f64>() / 4.0;
    let filled = |i: usize, j: usize| if i == j { of_column(j) } else { VALUES[i][j] };
    let table = |value: &dyn Fn(usize, usize) -> f64| -> String {
        let row = |i| (0..5).map(|j| value(i, j).to_string()).collect::<Vec<_>>().join(",") + "\n";
        (0..5).map(row).collect()
    };
    let pairs = (0..25).map(|cell| (cell / 5, cell % 5)).filter(|(i, j)| i != j && VALUES[*i][*j] != 0.0);
    let listed: String = pairs.map(|(i, j)| format!("{} {} {}\n", i + 1, j + 1, VALUES[i][j])).collect();
    let count = listed.lines().count();
    let sparse = format!("%%MatrixMarket matrix coordinate real general\n5 5 {count}\n{listed}");
    let program = |declared: &str| {
        format!(
            "axis node[i, j]\naxis fac[k] = 2\ndata y[i, j] : {declared}\nu[i, k] ~ Normal(0, sd = 1)\nv[j, k] ~ Normal(0, sd = 1)\n\
             y[i, j] ~ Normal(sum[k](u[i, k] * v[j, k]), sd = 1)\ninit {{\n  u = pca(y)\n}}\n"
        )
    };
    let dense = table(&|i, j| VALUES[i][j]);
    let files = [("full.csv", table(&filled)), ("zeros.csv", dense), ("listed.mtx", sparse)];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let directory = prepared("gaps", &program("real"), &files);
    fitted(&directory, "full", "--data y=full.csv --sweeps 0");
    let expected = array(&directory, "full", "u.mean");
    for (declared, file) in [("real, i != j", "zeros.csv"), ("real, absent = 0, i != j", "listed.mtx")] {
        fs::write(directory.join("m.cavi"), program(declared)).unwrap();
        fitted(&directory, "own", &format!("--data y={file} --sweeps 0"));
        close(&array(&directory, "own", "u.mean"), &expected, 1e-9);
    }
}

/// A multiplicity of columns leaves that of rows as it is: with weights 2, 1, 0 and 1 the scores are those of the rows written out, the second column once.
#[test]
fn rows_weigh_beside_columns_that_weigh() {
    let program = |weights: &str| {
        format!(
            "axis row[n]\naxis col[j]\naxis fac[k] = 1\n{weights}data y[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\n\
             y[n, j] ~ Normal(sum[k](z[n, k] * w[j, k]), sd = 1)\ninit {{ w = pca(y) }}\n"
        )
    };
    let files = [
        ("y.csv", "1,2\n3,-1\n900,500\n-2,0.5\n"),
        ("out.csv", "1,2\n1,2\n3,-1\n-2,0.5\n"),
        ("m.csv", "2\n1\n0\n1\n"),
        ("c.csv", "1\n1\n"),
    ];
    let directory = prepared("both_weigh", &program(""), &files);
    fitted(&directory, "out", "--data y=out.csv --sweeps 0");
    let weights = "data m[n] : multiplicity\ndata c[j] : multiplicity\n";
    fs::write(directory.join("m.cavi"), program(weights)).unwrap();
    fitted(&directory, "own", "--data y=y.csv --data m=m.csv --data c=c.csv --sweeps 0");
    close(&array(&directory, "own", "w.mean"), &array(&directory, "out", "w.mean"), 1e-9);
}
