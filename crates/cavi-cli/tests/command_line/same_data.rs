//! The same data in other forms, and with rows of weight 0 beside them, have the same answers: numbers are worked out here.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::common::{cavi, json, run, scratch, text};

fn write(directory: &Path, files: &[(&str, &str)]) {
    files.iter().for_each(|(name, own)| fs::write(directory.join(name), own).unwrap());
}

/// A column of the posterior of a fit.
fn column(directory: &Path, file: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join("o/posterior").join(file)).unwrap().values.to_vec()
}

/// Fits with the words of a line, and gives a column of the posterior.
fn fitted(directory: &Path, line: &str, file: &str) -> Vec<f64> {
    let _ = fs::remove_dir_all(directory.join("o"));
    run(directory, &format!("fit {line} --quiet --seed 1 --out o"));
    column(directory, file)
}

/// What a line is refused with.
fn refused(directory: &Path, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let output = cavi(directory, &words);
    assert_eq!(output.status.code(), Some(1), "{line}");
    text(&output.stderr)
}

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
}

/// `mu ~ Normal(0, prec = 1e-12 tau)`, `tau ~ Gamma(2, rate = 1)`, and data `1e8 + d`, where the `d` are multiples of 1/4 and so exact.
///
/// With the sum of squares `S = sum (x - m)^2` about the mean `m` of `n` entries the rate of tau is `1 + S / 2 + k n m^2 / (2 (k + n))`, k = 1e-12: nearly
/// `1 + S / 2 + 5000 (m / 1e8)^2`.
fn rate(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|own| (own - mean).powi(2)).sum();
    let (from_zero, k) = (1e8 + mean, 1e-12);
    1.0 + squares / 2.0 + k * n / (k + n) * from_zero * from_zero / 2.0
}

fn deviation(number: usize) -> f64 {
    f64::from(number as u32 * 37 % 23) / 4.0 - 2.75
}

#[test]
fn data_far_from_0_keep_their_digits_in_every_form() {
    let directory = scratch("same_far");
    let statements = "mu ~ Normal(0, prec = 1e-12 * tau)\ntau ~ Gamma(2, rate = 1)\n@ ~ Normal(mu, prec = tau)\nposterior {\n  q(mu, tau)\n}\n";
    let program = |axes: &str, target: &str| format!("{axes}{}", statements.replace('@', target));
    // Some entries missing, as a table of entries and as a wide one; a wide table with so few that it is held by its entries.
    let wide = program("axis row[n]\naxis col[j]\ndata x[n, j] : real, absent = NA\n", "x[n, j]");
    for (name, rows, columns, keeps) in [("small", 40_usize, 3_usize, 9_usize), ("large", 1000, 5, 2)] {
        let header = (0..columns).map(|j| format!(",c{j}")).collect::<String>();
        let (mut table, mut list) = (format!("row{header}\n"), String::from("row,col,value\n"));
        let mut values = Vec::new();
        for i in 0..rows {
            write!(table, "r{i}").unwrap();
            for j in 0..columns {
                let own = deviation(i * columns + j);
                if (i * 7 + j * 3) % 10 < keeps {
                    write!(table, ",{}", 1e8 + own).unwrap();
                    writeln!(list, "r{i},c{j},{}", 1e8 + own).unwrap();
                    values.push(own);
                } else {
                    table.push(',');
                }
            }
            table.push('\n');
        }
        write(&directory, &[("own.cavi", &wide), ("table.csv", &table), ("list.csv", &list)]);
        for file in ["table.csv", "list.csv"] {
            let found = fitted(&directory, &format!("own.cavi --data x={file}"), "tau.rate.npy")[0];
            close(found, rate(&values), 1e-4 * rate(&values));
            println!("{name} {file}");
        }
    }
    // Pairs of a dense file, 0 elsewhere, and squares of groups.
    let pairs = program("axis node[i, j]\ndata y[i, j] : real, i < j\n", "y[i, j]");
    let groups =
        program("axis group[g]\naxis unit[i, j] in group[g]\ndata y[g, i, j] : real\n", "y[g, i, j]");
    let (mut square, mut upper) = (String::new(), Vec::new());
    for i in 0..8_usize {
        let own = |j: usize| {
            let own = deviation(i * 8 + j);
            if i < j { (1e8 + own).to_string() } else { "0".to_owned() }
        };
        upper.extend((i + 1..8).map(|j| deviation(i * 8 + j)));
        square += &((0..8).map(own).collect::<Vec<_>>().join(",") + "\n");
    }
    write(&directory, &[("pairs.cavi", &pairs), ("groups.cavi", &groups), ("square.csv", &square)]);
    let found = fitted(&directory, "pairs.cavi --data y=square.csv", "tau.rate.npy")[0];
    close(found, rate(&upper), 1e-4 * rate(&upper));
    let mut all = Vec::new();
    for group in 0..4_usize {
        let mut own = String::new();
        for i in 0..3_usize {
            let values: Vec<f64> = (0..3).map(|j| deviation(group * 9 + i * 3 + j)).collect();
            own += &(values.iter().map(|own| (1e8 + own).to_string()).collect::<Vec<_>>().join(",") + "\n");
            all.extend(values);
        }
        fs::write(directory.join(format!("g{group}.csv")), own).unwrap();
    }
    let files: Vec<String> = (0..4).map(|own| format!("--data y[{own}]=g{own}.csv")).collect();
    let found = fitted(&directory, &format!("groups.cavi {}", files.join(" ")), "tau.rate.npy")[0];
    close(found, rate(&all), 1e-4 * rate(&all));
}

/// Two clusters, at 1000 and at 1100: the start is at the data, so that no class is left at 0.
#[test]
fn a_mixture_starts_at_its_data_in_every_form() {
    let directory = scratch("same_mixture");
    let program = "axis row[n]\naxis col[j]\naxis class[k] = 2\ndata x[n, j] : real, absent = NA\npi[:k] ~ Dirichlet(1)\n\
        z[n] ~ Categorical(pi)\nmu[k, j] ~ Normal(0, sd = 1000)\ntau[j] ~ Gamma(1, rate = 1)\nx[n, j] ~ Normal(mu[z[n], j], prec = tau[j])\n";
    let mut list = String::from("row,col,value\n");
    let mut sums = [[0.0; 2]; 2];
    for i in 0..40_usize {
        for j in 0..3_usize {
            if (i * 7 + j * 3) % 10 < 9 {
                let own = deviation(i * 3 + j) / 3.0;
                writeln!(list, "r{i},c{j},{}", 1000.0 + 100.0 * (i % 2) as f64 + own).unwrap();
                if j == 0 {
                    sums[i % 2][0] += 1.0;
                    sums[i % 2][1] += own;
                }
            }
        }
    }
    write(&directory, &[("own.cavi", program), ("list.csv", &list)]);
    for seed in 0..4 {
        let _ = fs::remove_dir_all(directory.join("o"));
        run(&directory, &format!("fit own.cavi --data x=list.csv --quiet --seed {seed} --out o"));
        let mut means: Vec<f64> = column(&directory, "mu.mean.npy").into_iter().step_by(3).collect();
        means.sort_by(f64::total_cmp);
        for (mean, (class, [count, sum])) in means.into_iter().zip(sums.into_iter().enumerate()) {
            close(mean, 1000.0 + 100.0 * class as f64 + sum / count, 0.05);
        }
    }
}

#[test]
fn rows_are_centred_and_scaled_as_often_as_they_weigh() {
    let directory = scratch("same_weights");
    let program = "axis row[n]\ndata w[n] : multiplicity\ndata x[n] : real, center over n\nm ~ Normal(1, sd = 1)\nx[n] ~ Normal(m, sd = 1)\n";
    let scaled = program.replace("center over n", "scale over n");
    let derived = program
        .replace(": multiplicity", ": multiplicity = v[n] - 1")
        .replace("data w", "data v[n] : real\ndata w");
    let circle = program.replace(": multiplicity", ": multiplicity = x[n]^2");
    let sparse = "axis row[n]\naxis col[j]\ndata w[n] : multiplicity\ndata x[n, j] : real, absent = 0, scale over n\nm ~ Normal(0, sd = 1)\n\
        x[n, j] ~ Normal(m, sd = 1)\n";
    write(
        &directory,
        &[
            ("centred.cavi", program),
            ("scaled.cavi", &scaled),
            ("derived.cavi", &derived),
            ("circle.cavi", &circle),
            ("sparse.cavi", sparse),
            ("x3.csv", "1\n2\n100\n"),
            ("w3.csv", "1\n1\n0\n"),
            ("x2.csv", "1\n2\n"),
            ("w2.csv", "3\n1\n"),
            ("v2.csv", "4\n2\n"),
            ("list.csv", "row,col,value\na,p,4\nb,p,2\nb,q,3\nc,p,50\n"),
            ("w.csv", "row,w\na,1\nb,3\nc,0\nd,4\n"),
            ("labels", "a\nb\nc\nd\n"),
        ],
    );
    // Of 1 and 2 less their mean the sum is 0, and the mean of m is (1 + 0) / (1 + rows).
    close(
        fitted(&directory, "centred.cavi --data x=x3.csv --data w=w3.csv", "m.mean.npy")[0],
        1.0 / 3.0,
        1e-9,
    );
    close(fitted(&directory, "centred.cavi --data x=x2.csv --data w=w2.csv", "m.mean.npy")[0], 0.2, 1e-9);
    close(fitted(&directory, "derived.cavi --data x=x2.csv --data v=v2.csv", "m.mean.npy")[0], 0.2, 1e-9);
    // 1, 1, 1, 2 have the sum 5 and the variance 3/16.
    let right = (1.0 + 5.0 / (3.0_f64 / 16.0).sqrt()) / 5.0;
    close(fitted(&directory, "scaled.cavi --data x=x2.csv --data w=w2.csv", "m.mean.npy")[0], right, 1e-9);
    // Columns p = 4, 2, 2, 2, 0, 0, 0, 0 and q = 0, 3, 3, 3, 0, ...: of 8 rows the means 10/8 and 9/8, the variances 28/8 - (10/8)^2 and 27/8 - (9/8)^2.
    let scale = |squares: f64, sum: f64| (squares / 8.0 - (sum / 8.0).powi(2)).sqrt();
    let right = (10.0 / scale(28.0, 10.0) + 9.0 / scale(27.0, 9.0)) / 17.0;
    let found =
        fitted(&directory, "sparse.cavi --data x=list.csv --data w=w.csv --labels row=labels", "m.mean.npy");
    close(found[0], right, 1e-9);
    let said = refused(&directory, "fit circle.cavi --data x=x2.csv --out p");
    assert!(said.contains("`w` is computed from `x`"), "{said}");
}

#[test]
fn entries_without_a_term_are_not_checked() {
    let directory = scratch("same_checks");
    let beta = "axis node[i, j]\ndata y[i, j] : unit, i < j\na ~ Gamma(2, rate = 1)\ny[i, j] ~ Beta(a, 3)\nposterior {\n  point a\n}\n";
    let certain = "axis node[i, j]\ndata p[i, j] : unit\ndata y[i, j] : binary, i != j\ndata x[i] : real\nm ~ Normal(0, sd = 1)\n\
        y[i, j] ~ Bernoulli(p[i, j])\nx[i] ~ Normal(m, sd = 1)\n";
    let trials = "axis row[n]\ndata w[n] : multiplicity\ndata t[n] : count\ndata y[n] : count\np ~ Beta(1, 1)\ny[n] ~ Binomial(t[n], p)\n";
    let games = "axis game[g]\naxis team[t]\ndata w[g] : multiplicity\ndata h[g] : index team\ndata a[g] : index team\ndata y[g] : count\n\
        r[t] ~ Gamma(1, rate = 1)\ny[g] ~ Poisson(r[h[g]] * r[a[g]])\n";
    write(
        &directory,
        &[
            ("beta.cavi", beta),
            ("certain.cavi", certain),
            ("trials.cavi", trials),
            ("games.cavi", games),
            ("beta.csv", "0,0.3,0.4\n0,0,0.6\n0,0,0\n"),
            ("beta_list.csv", "i,j,y\n0,1,0.3\n0,2,0.4\n1,2,0.6\n"),
            ("p.csv", "1,0.5,0.5\n0.5,1,0.5\n0.5,0.5,1\n"),
            ("y.csv", "0,1,0\n1,0,0\n1,1,0\n"),
            ("x.csv", "1\n2\n3\n"),
            ("t.csv", "3\n4\n"),
            ("n.csv", "1\n9\n"),
            ("w.csv", "1\n0\n"),
            ("w1.csv", "1\n2\n"),
            ("h.csv", "h\nA\nB\nA\n"),
            ("a.csv", "a\nB\nC\nA\n"),
            ("goals.csv", "3\n2\n7\n"),
            ("w3.csv", "1\n1\n0\n"),
            ("w31.csv", "1\n1\n1\n"),
        ],
    );
    fitted(&directory, "beta.cavi --data y=beta.csv", "a.value.npy");
    // (0 + 6) / (3 + 1).
    close(
        fitted(&directory, "certain.cavi --data p=p.csv --data y=y.csv --data x=x.csv", "m.mean.npy")[0],
        1.5,
        1e-9,
    );
    let line = "trials.cavi --data t=t.csv --data y=n.csv --data w=";
    close(fitted(&directory, &format!("{line}w.csv"), "p.mean.npy")[0], 2.0 / 5.0, 1e-9);
    let said = refused(&directory, &format!("fit {line}w1.csv --out p"));
    assert!(said.contains("more than its total 4"), "{said}");
    let line = "games.cavi --data h=h.csv --data a=a.csv --data y=goals.csv --data w=";
    fitted(&directory, &format!("{line}w3.csv"), "r.shape.npy");
    let said = refused(&directory, &format!("fit {line}w31.csv --out p"));
    assert!(said.contains("E0716"), "{said}");
}

#[test]
fn derived_data_have_their_own_entries() {
    let directory = scratch("same_derived");
    let pairs = "axis node[i, j]\ndata x[i, j] : count, absent = 0\ndata y[i, j] = log(x[i, j] + 1), i < j\nm ~ Normal(0, sd = 10)\n\
        y[i, j] ~ Normal(m, sd = 1)\n";
    let entropy = "axis node[i, j] = 3\ndata d[i, j] : positive, i != j\ndata y[i] : real\ndata s[i] = sum[j](d[i, j] * log(d[i, j]))\n\
        b ~ Normal(0, sd = 1)\ny[i] ~ Normal(b * s[i], sd = 1)\n";
    let weighed = "axis row[i]\naxis col[j]\ndata n[i, j] : count, absent = 0\ndata c[j] : positive\n\
        data y[i, j] : nonnegative = n[i, j] * c[j] / (c[j] + 1), absent = 0\na ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(a)\n";
    let hidden = "axis row[i]\naxis col[j]\ndata y[i, j] : count, absent = 0\ndata v[i, j] = log(y[i, j] + 1)\nm ~ Normal(0, sd = 10)\n\
        v[i, j] ~ Normal(m, sd = 1)\n";
    let (mut wide, mut list) = (String::from("row"), String::from("row,col,y\n"));
    (0..20).for_each(|j| write!(wide, ",c{j}").unwrap());
    wide.push('\n');
    for i in 0..20 {
        write!(wide, "r{i}").unwrap();
        for j in 0..20 {
            let own = if (i * 3 + j * 7) % 10 == 0 { 1 + (i + j) % 4 } else { 0 };
            write!(wide, ",{own}").unwrap();
            if own > 0 {
                writeln!(list, "r{i},c{j},{own}").unwrap();
            }
        }
        wide.push('\n');
    }
    let (mut counts, mut weights) = (String::from("row,col,n\n"), String::from("col,c\n"));
    for j in 0..20_000 {
        writeln!(counts, "r{j},c{j},2").unwrap();
        writeln!(weights, "c{j},1").unwrap();
    }
    write(
        &directory,
        &[
            ("pairs.cavi", pairs),
            ("entropy.cavi", entropy),
            ("weighed.cavi", weighed),
            ("hidden.cavi", hidden),
            ("x.csv", "i,j,x\na,b,1\nb,a,3\na,c,2\nd,b,5\n"),
            ("nodes", "a\nb\nc\nd\n"),
            ("d.csv", "0,1,2\n3,0,4\n1,2,0\n"),
            ("y.csv", "1\n2\n3\n"),
            ("counts.csv", &counts),
            ("weights.csv", &weights),
            ("wide.csv", &wide),
            ("list.csv", &list),
        ],
    );
    // Of the six pairs a, b and a, c have log 2 and log 3.
    let right = 6.0_f64.ln() / (6.0 + 0.01);
    close(fitted(&directory, "pairs.cavi --data x=x.csv --labels node=nodes", "m.mean.npy")[0], right, 1e-9);
    // 0 ln 0 is 0: sums of d ln d.
    let of = |own: &[f64]| own.iter().map(|d| d * d.ln()).sum::<f64>();
    let sums = [of(&[1.0, 2.0]), of(&[3.0, 4.0]), of(&[1.0, 2.0])];
    let right =
        (sums[0] + 2.0 * sums[1] + 3.0 * sums[2]) / (1.0 + sums.iter().map(|own| own * own).sum::<f64>());
    close(fitted(&directory, "entropy.cavi --data d=d.csv --data y=y.csv", "b.mean.npy")[0], right, 1e-9);
    // Of 4e8 entries 20,000 are not 0, and 2 * 1 / 2 = 1: the shape is 1 + 20,000. A dense copy would have 3.2 GB.
    let found = fitted(&directory, "weighed.cavi --data n=counts.csv --data c=weights.csv", "a.shape.npy");
    close(found[0], 20_001.0, 1e-6);
    // A quarter of the 40 entries that are not 0, and as many zeros, in either form.
    for file in ["wide.csv", "list.csv"] {
        let found =
            json(&directory, &format!("fit hidden.cavi --data y={file} --heldout v=0.25 --out {file}.o"));
        assert_eq!(found["heldout"]["v"]["n_scored"], 20, "{found}");
    }
}

#[test]
fn rows_and_components_keep_their_numbers() {
    let directory = scratch("same_numbers");
    let rows = "axis row[n]\naxis group[g]\naxis rep[p]\ndata grp[n] : index group\ndata y[n, p] : real\nb[g] ~ Normal(0, sd = 10)\n\
        z[n] ~ Normal(b[grp[n]], sd = 1)\ny[n, p] ~ Normal(z[n], sd = 0.1)\n";
    let parts = "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata n[d, v] : count, absent = 0\nh[d, k] ~ Gamma(1, rate = 1)\n\
        w[k, v] ~ Gamma(1, rate = 1)\nn[d, v] ~ Poisson(sum[k](h[d, k] * w[k, v]))\n";
    let teams = "axis game[g]\naxis team[t]\ndata h[g] : index team\ndata a[g] : index team\ndata y[g] : real\nb[t] ~ Normal(0, sd = 1)\n\
        y[g] ~ Normal(b[h[g]] - b[a[g]], sd = 1)\n";
    write(
        &directory,
        &[
            ("rows.cavi", rows),
            ("parts.cavi", parts),
            ("teams.cavi", teams),
            ("g.csv", "grp\na\nb\na\nb\n"),
            ("y.csv", "1,1\n6,6\n2,2\n7,7\n"),
            ("g2.csv", "grp\na\nc\nb\n"),
            ("y2.csv", "2,2\n100,100\n7,7\n"),
            ("n.csv", "1,2,3\n4,5,6\n"),
            ("w.csv", "1,2,1\n2,1,3\n"),
            ("h.csv", "1,2\n3,4\n"),
            ("home.csv", "h\nC\nA\nB\n"),
            ("score.csv", "1\n2\n3\n"),
        ],
    );
    run(&directory, "fit rows.cavi --data grp=g.csv --data y=y.csv --quiet --out f");
    let (_, said) = run(&directory, "project f --data grp=g2.csv --data y=y2.csv --out p");
    assert!(said.contains("row `1` is left out"), "{said}");
    assert_eq!(fs::read_to_string(directory.join("p/axes/row.txt")).unwrap(), "0\n2\n");
    // Two of three topics are held by both files, which name none.
    run(&directory, "fit parts.cavi --data n=n.csv --fix w=w.csv --fix h=h.csv --sweeps 3 --quiet --out q");
    assert_eq!(fs::read_to_string(directory.join("q/axes/topic.txt")).unwrap(), "0\n1\n2\n");
    let held = cavi_files::read_npy(&directory.join("q/posterior/w.mean.npy")).unwrap().values.to_vec();
    assert_eq!(held[..6], [1.0, 2.0, 1.0, 2.0, 1.0, 3.0]);
    // Positions of a binary file meet labels of another in the order in which these first appear.
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let padded = format!("{header:<117}\n");
    bytes.extend(u16::try_from(padded.len()).unwrap().to_le_bytes());
    bytes.extend(padded.bytes());
    (0..3_i64).for_each(|own| bytes.extend(own.to_le_bytes()));
    fs::write(directory.join("away.npy"), bytes).unwrap();
    let line = "fit teams.cavi --data h=home.csv --data a=away.npy --data y=score.csv --sweeps 1";
    let (_, said) = run(&directory, &format!("{line} --out t"));
    assert!(
        said.contains("labels of axis `team` stand in `h` (home.csv), and none in `a` (away.npy)"),
        "{said}"
    );
    fs::write(directory.join("teams"), "A\nB\nC\n").unwrap();
    let (_, said) = run(&directory, &format!("{line} --labels team=teams --out u"));
    assert!(!said.contains("labels of axis"), "{said}");
}

/// A table that ends in the midst of a line, read by three arrays: one mistake.
#[test]
fn a_cut_table_is_told_once() {
    let directory = scratch("cut_once");
    fs::write(
        directory.join("m.cavi"),
        "axis row[i]\ndata a[i] : real\ndata b[i] : real\ndata c[i] : real\nm ~ Normal(0, sd = 1)\na[i] ~ Normal(m + b[i] + c[i], sd = 1)\n",
    )
    .unwrap();
    fs::write(directory.join("d.csv"), "a,b,c\n1,2,3\n1,2").unwrap();
    let arguments = "fit m.cavi --data a=d.csv:a --data b=d.csv:b --data c=d.csv:c --out f";
    let output = cavi(&directory, &arguments.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "error: d.csv, line 3: found 2 fields; expected 3, as in the first line\n"
    );
}

/// Numbers of trials that are listed, of which what is not listed is 0, beside successes: the evidence of a rate of each row, `prod C(n, y) B(1 + sum y, 1 + sum (n - y))`.
#[test]
fn trials_that_are_listed_have_the_evidence_of_all_of_them() {
    let directory = scratch("same_data_trials");
    let program = |absent: &str| {
        format!(
            "axis a[i]\naxis b[j]\ndata y[i, j] : count, absent = {absent}\ndata n[i, j] : count, absent = 0\n\
             p[i] ~ Beta(1, 1)\ny[i, j] ~ Binomial(n[i, j], p = p[i])\n"
        )
    };
    let cells = [("u", "s", 3, 10), ("u", "t", 2, 8), ("v", "s", 1, 5), ("v", "t", 1, 6)];
    let table = cells
        .iter()
        .fold("a,b,y,n\n".to_owned(), |table, (a, b, y, n)| table + &format!("{a},{b},{y},{n}\n"));
    fs::write(directory.join("f.csv"), table).unwrap();
    let ln_factorial = |n: u32| (1..=n).map(|own| f64::from(own).ln()).sum::<f64>();
    let choose = |n: u32, y: u32| ln_factorial(n) - ln_factorial(y) - ln_factorial(n - y);
    // `B(1 + a, 1 + b) = a! b! / (a + b + 1)!`
    let beta = |a: u32, b: u32| ln_factorial(a) + ln_factorial(b) - ln_factorial(a + b + 1);
    let coefficients: f64 = cells.iter().map(|(_, _, y, n)| choose(*n, *y)).sum();
    let exact = coefficients + beta(5, 13) + beta(2, 9);
    for absent in ["NA", "0"] {
        fs::write(directory.join("m.cavi"), program(absent)).unwrap();
        run(&directory, "fit m.cavi --data y=f.csv --data n=f.csv --out o --force --quiet");
        let summary = fs::read(directory.join("o/summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
        let elbo = summary["elbo"].as_f64().unwrap();
        assert!((elbo - exact).abs() < 1e-9, "{absent}: {elbo} {exact}");
    }
}

/// A row of weight m is m rows, for the means of rows and columns beside a score too: each of these has an effect of its own.
#[test]
fn rows_of_weight_have_the_means_of_the_rows_they_stand_for() {
    let directory = scratch("same_data_means");
    let program = |kind: &str, weight: &str, statement: &str| {
        format!("axis row[n]\naxis col[j]\ndata x[n, j] : {kind}, absent = NA\n{weight}m[j] ~ {statement}\n")
    };
    let cell = |row: usize, col: usize| (row * 5 + col * 3 + row * col) % 7;
    // 0, 3, 1, 4, 2, and again: of rows of weight 0 there is none.
    let weight = |row: usize| row * 3 % 5;
    let kinds = [
        ("real", "Normal(0, sd = 3)\nx[n, j] ~ Normal(m[j], sd = 1)"),
        ("count", "Gamma(2, rate = 1)\nx[n, j] ~ Poisson(m[j])"),
        ("binary", "Beta(1, 1)\nx[n, j] ~ Bernoulli(m[j])"),
    ];
    for (kind, statement) in kinds {
        let value = |own: usize| if kind == "binary" { own % 2 } else { own };
        fs::write(directory.join("w.cavi"), program(kind, "data w[n] : multiplicity\n", statement)).unwrap();
        fs::write(directory.join("e.cavi"), program(kind, "", statement)).unwrap();
        let header = "row,a,b,c\n";
        let (mut whole, mut each) = (header.to_owned(), header.to_owned());
        let (mut held, mut held_each, mut weights) =
            ("row,col\n".to_owned(), "row,col\n".to_owned(), "row,w\n".to_owned());
        for row in 0..9 {
            let cells: Vec<String> = (0..3).map(|col| value(cell(row, col)).to_string()).collect();
            let cells = cells.join(",");
            writeln!(whole, "r{row},{cells}").unwrap();
            writeln!(weights, "r{row},{}", weight(row)).unwrap();
            let hidden = (row % 2 == 0).then(|| ["a", "b", "c"][row % 3]);
            hidden.iter().for_each(|col| writeln!(held, "r{row},{col}").unwrap());
            for copy in 0..weight(row) {
                writeln!(each, "r{row}_{copy},{cells}").unwrap();
                hidden.iter().for_each(|col| writeln!(held_each, "r{row}_{copy},{col}").unwrap());
            }
        }
        for (name, text) in [
            ("x.csv", &whole),
            ("e.csv", &each),
            ("xh.csv", &held),
            ("eh.csv", &held_each),
            ("weights.csv", &weights),
        ] {
            fs::write(directory.join(name), text).unwrap();
        }
        let means = |line: &str| {
            run(&directory, line);
            let summary = fs::read(directory.join("o/summary.json")).unwrap();
            let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
            summary["heldout_baselines"]["x"]["means"]["per_unit"].as_f64().expect("the means have a score")
        };
        let of_weight = means(
            "fit w.cavi --data x=x.csv --data w=weights.csv --heldout x=xh.csv --out o --force --quiet",
        );
        let of_each = means("fit e.cavi --data x=e.csv --heldout x=eh.csv --out o --force --quiet");
        assert!((of_weight - of_each).abs() < 1e-9, "{kind}: {of_weight} {of_each}");
    }
}
