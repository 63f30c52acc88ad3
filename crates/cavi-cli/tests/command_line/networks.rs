//! Networks and designs that are too large to be filled out: listed entries against the same numbers in a dense file, and what follows by hand.

use std::fs;
use std::path::Path;

use crate::by_hand::{Case, check};
use crate::common::{cavi, scratch, text};

const NODES: usize = 300;

/// A restriction as it is written, and the pairs that it keeps.
type Pairs<'a> = (&'a str, &'a dyn Fn(usize, usize) -> bool);

/// Values at some 2,000 of all pairs, in any order.
fn listed() -> Vec<(usize, usize, f64)> {
    let mut found = Vec::new();
    for i in 0..NODES {
        for (step, stride) in [1, 7, 31, 77, 101, 150, 222].into_iter().enumerate() {
            let j = (i * stride + 3 * step + 1) % NODES;
            if found.iter().all(|(one, other, _)| (*one, *other) != (i, j)) {
                found.push((i, j, f64::from((i * 5 + step * 3) as u32 % 3 + 1)));
            }
        }
    }
    found.sort_by_key(|(i, j, _)| (*i, *j));
    found
}

/// Writes the entries that are kept as `x.mtx` and as `x.csv`.
fn write(directory: &Path, kept: &dyn Fn(usize, usize) -> bool, is_binary: bool) {
    let value = |own: f64| if is_binary { 1.0 } else { own };
    let entries: Vec<(usize, usize, f64)> = listed().into_iter().filter(|(i, j, _)| kept(*i, *j)).collect();
    let lines: String =
        entries.iter().map(|(i, j, own)| format!("{} {} {}\n", i + 1, j + 1, value(*own))).collect();
    let head = "%%MatrixMarket matrix coordinate real general";
    fs::write(directory.join("x.mtx"), format!("{head}\n{NODES} {NODES} {}\n{lines}", entries.len()))
        .unwrap();
    let mut dense = vec![vec![0.0; NODES]; NODES];
    entries.iter().for_each(|(i, j, own)| dense[*i][*j] = value(*own));
    let row = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = dense.iter().map(row).collect();
    fs::write(directory.join("x.csv"), rows.join("\n") + "\n").unwrap();
}

/// The bound and the posterior after three sweeps.
fn fitted(directory: &Path, program: &str, data: &[&str]) -> (f64, Vec<(String, Vec<f64>)>) {
    after(3, directory, program, data)
}

/// The same after so many.
fn after(sweeps: u32, directory: &Path, program: &str, data: &[&str]) -> (f64, Vec<(String, Vec<f64>)>) {
    fs::write(directory.join("own.cavi"), program).unwrap();
    let sweeps = sweeps.to_string();
    let fixed =
        ["fit", "own.cavi", "--out", "o", "--force", "--quiet", "--tol", "0", "--seed", "3", "--sweeps"];
    let output = cavi(directory, &[&fixed[..], &[&sweeps], data].concat());
    assert_eq!(output.status.code(), Some(0), "{program}\n{}", text(&output.stderr));
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let mut files: Vec<_> =
        fs::read_dir(directory.join("o/posterior")).unwrap().map(|own| own.unwrap().path()).collect();
    files.sort();
    let arrays = files.iter().map(|own| {
        let name = own.file_name().unwrap().to_string_lossy().into_owned();
        (name, cavi_files::read_npy(own).unwrap().values)
    });
    (summary["elbo"].as_f64().unwrap(), arrays.collect())
}

/// Fits the same program to a dense file and to listed entries.
fn agree(directory: &Path, name: &str, program: impl Fn(&str) -> String, data: &[&str]) {
    let whole = fitted(directory, &program(""), &[&["--data", "x=x.csv"], data].concat());
    let sparse = fitted(directory, &program(", absent = 0"), &[&["--data", "x=x.mtx"], data].concat());
    let near = |own: f64, other: f64| (own - other).abs() <= 1e-7 * other.abs().max(1.0);
    assert!(near(sparse.0, whole.0), "{name}: {} for {}", sparse.0, whole.0);
    for ((file, own), (_, other)) in sparse.1.iter().zip(&whole.1) {
        let far = own.iter().zip(other).find(|(own, other)| !near(**own, **other));
        assert!(own.len() == other.len() && far.is_none(), "{name} {file}: {far:?}");
    }
}

/// Each was refused as a list of edges with `i != j`.
#[test]
fn a_list_of_edges_has_the_fit_of_the_whole_matrix() {
    let blocks = "z[i] ~ Categorical(pi)\npi[:k] ~ Dirichlet(1)\n";
    let cases = [
        ("density", "binary", "p ~ Beta(1, 1)\n".to_owned(), "Bernoulli(p)"),
        ("blocks", "binary", format!("{blocks}p[k, l] ~ Beta(1, 1)\n"), "Bernoulli(p[z[i], z[j]])"),
        ("counted blocks", "count", format!("{blocks}p[k, l] ~ Gamma(1, rate = 1)\n"), "Poisson(p[z[i], z[j]])"),
        (
            "factors",
            "count",
            "s[i, k] ~ Gamma(1, rate = 1)\nr[j, k] ~ Gamma(1, rate = 1)\n".to_owned(),
            "Poisson(0.01 + sum[k](s[i, k] * r[j, k]))",
        ),
        ("one latent a node", "count", "s[i] ~ Gamma(1, rate = 1)\n".to_owned(), "Poisson(s[i] * s[j])"),
        (
            "senders and receivers",
            "binary",
            "c ~ Normal(0, sd = 1)\ns[i] ~ Normal(0, sd = 1)\nr[j] ~ Normal(0, sd = 1)\n".to_owned(),
            "Bernoulli(logit = c + s[i] + r[j])",
        ),
        (
            "social relations",
            "real",
            "m ~ Normal(0, sd = 1)\ns[i] ~ Normal(0, sd = 1)\nr[j] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n".to_owned(),
            "Normal(m + s[i] + r[j], prec = tau)",
        ),
        ("trials", "count", format!("{blocks}p[k, l] ~ Beta(1, 1)\n"), "Binomial(5, p[z[i], z[j]])"),
    ];
    let pairs: [Pairs; 3] = [("", &|_, _| true), (", i != j", &|i, j| i != j), (", i < j", &|i, j| i < j)];
    for (restriction, kept) in pairs {
        let directory = scratch(&format!("networks{}", restriction.replace([' ', ',', '!', '='], "")));
        for (name, support, prior, family) in &cases {
            // A node beside itself has one factor twice.
            if restriction.is_empty() && *name == "one latent a node" {
                continue;
            }
            write(&directory, kept, *support == "binary");
            let program = |absent: &str| {
                format!(
                    "axis node[i, j] = {NODES}\naxis block[k, l] = 2\ndata x[i, j] : {support}{absent}{restriction}\n{prior}\
                     x[i, j] ~ {family}\n"
                )
            };
            agree(&directory, &format!("{name}{restriction}"), program, &[]);
        }
    }
}

/// A design of listed entries, read twice in a square, and through index data.
#[test]
fn a_sparse_design_has_the_fit_of_the_whole_matrix() {
    let directory = scratch("networks_designs");
    write(&directory, &|_, _| true, false);
    let column =
        |value: &dyn Fn(usize) -> f64| -> String { (0..NODES).map(|i| format!("{}\n", value(i))).collect() };
    fs::write(directory.join("y.csv"), format!("y\n{}", column(&|i| ((i * 37) % 19) as f64 / 10.0 - 0.9)))
        .unwrap();
    fs::write(directory.join("b.csv"), format!("b\n{}", column(&|i| ((i * 37) % 2) as f64))).unwrap();
    fs::write(directory.join("h.csv"), format!("h\n{}", column(&|i| ((i * 7) % NODES) as f64))).unwrap();
    let start = |absent: &str| {
        format!(
            "axis row[i] = {NODES}\naxis col[j] = {NODES}\ndata x[i, j] : real{absent}\nb[j] ~ Normal(0, sd = 1)\n\
             tau ~ Gamma(1, rate = 1)\n"
        )
    };
    let real = "data y[i] : real\n";
    for (name, rest, data) in [
        ("regression", format!("{real}y[i] ~ Normal(sum[j](x[i, j] * b[j]), prec = tau)\n"), vec!["y=y.csv"]),
        (
            "logit",
            "data y[i] : binary\ny[i] ~ Bernoulli(logit = sum[j](x[i, j] * b[j]))\n".to_owned(),
            vec!["y=b.csv"],
        ),
        (
            "through index data",
            format!("{real}data h[i] : index row\ny[i] ~ Normal(sum[j](x[h[i], j] * b[j]), prec = tau)\n"),
            vec!["y=y.csv", "h=h.csv"],
        ),
    ] {
        let data: Vec<&str> = data.into_iter().flat_map(|own| ["--data", own]).collect();
        agree(&directory, name, |absent| format!("{}{rest}", start(absent)), &data);
    }
}

/// A rate that all pairs of 5,000 nodes share: `Gamma(1 + 2, 1 + n (n - 1) / 2)`. And a latent a node: the rate of each is 1 and the
/// sum of the means of all others, so that rates and means add up to one number.
#[test]
fn pairs_of_thousands_of_nodes_are_summed_node_by_node() {
    let edges = "%%MatrixMarket matrix coordinate real general\n5000 5000 2\n1 4000 1\n17 18 1\n";
    check(&Case {
        name: "pairs_of_nodes",
        program: "axis node[i, j]\ndata x[i, j] : count, absent = 0, i < j\nm ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(m)\n",
        files: &[("x.mtx", edges)],
        arguments: &["--data", "x=x.mtx"],
        found: &[("m.shape", &[3.0]), ("m.rate", &[1.0 + 5000.0 * 4999.0 / 2.0])],
        elbo: None,
    });
    let directory = scratch("networks_nodes");
    let edges = edges.replace("5000 5000", "1000 1000").replace("4000", "900");
    fs::write(directory.join("x.mtx"), edges).unwrap();
    for restriction in ["i < j", "i != j"] {
        let program = format!(
            "axis node[i, j]\ndata x[i, j] : count, absent = 0, {restriction}\ns[i] ~ Gamma(2, rate = 1)\nx[i, j] ~ Poisson(s[i] * s[j])\n"
        );
        fs::write(directory.join("own.cavi"), program).unwrap();
        let arguments =
            ["fit", "own.cavi", "--data", "x=x.mtx", "--out", "o", "--force", "--quiet", "--tol", "1e-13"];
        let output = cavi(&directory, &[&arguments[..], &["--sweeps", "200"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let of = |name: &str| {
            cavi_files::read_npy(&directory.join(format!("o/posterior/s.{name}.npy"))).unwrap().values
        };
        let (shape, rate, mean) = (of("shape"), of("rate"), of("mean"));
        let directions = if restriction == "i < j" { 1.0 } else { 2.0 };
        let all = mean.iter().sum::<f64>();
        for node in [0, 16, 17, 899, 999] {
            let degree = f64::from(u8::from([0, 16, 17, 899].contains(&node)));
            assert!((shape[node] - 2.0 - degree).abs() < 1e-12, "{restriction} {node}: {}", shape[node]);
            let right = 1.0 + directions * (all - mean[node]);
            assert!(
                (rate[node] - right).abs() < 1e-6 * right,
                "{restriction} {node}: {} for {right}",
                rate[node]
            );
        }
    }
}

/// Genotypes of persons with several visits: which allele a visit has is read where its person says. By the ridge regression of y on the
/// indicators of locus and allele, the means of b are `(I + X'X)^-1 X'y`, worked out with NumPy.
#[test]
fn index_data_are_read_where_other_index_data_say() {
    check(&Case {
        name: "genotypes",
        program: "axis person[i] = 4\naxis locus[l] = 3\naxis allele[a] = 2\naxis visit[n]\ndata g[i, l] : index allele\n\
            data p[n] : index person\ndata y[n] : real\nb[l, a] ~ Normal(0, sd = 1)\ny[n] ~ Normal(sum[l](b[l, g[p[n], l]]), sd = 1)\n",
        files: &[
            ("g.csv", "0,1,0\n1,1,0\n0,0,1\n1,0,0\n"),
            ("p.csv", "p\n0\n1\n2\n3\n0\n1\n"),
            ("y.csv", "y\n0.1\n0.5\n-1\n2\n0.3\n1\n"),
        ],
        arguments: &["--data", "g=g.csv", "--data", "p=p.csv", "--data", "y=y.csv"],
        found: &[(
            "b.mean",
            &[-0.321739130, 0.440468227, 0.254180602, -0.135451505, 0.584949833, -0.466220736],
        )],
        elbo: None,
    });
}

/// Powers of functions of sparse data: `y ~ Normal(g f(x), 1)` has `g` with precision `1 + sum f^2` and mean `sum y f` over that, `Normal(g, 1 + x)` with
/// `(1 + x)^-2` for the squares, and `Poisson(g exp(x)^2)` the rate `1 + sum exp(x)^2`, over all cells.
#[test]
fn functions_of_sparse_data_may_be_squared_and_divided_by() {
    let directory = scratch("networks_powers");
    write(&directory, &|i, j| (i + 2 * j) % 3 > 0, false);
    fs::rename(directory.join("x.mtx"), directory.join("v.mtx")).unwrap();
    let of_v: Vec<Vec<f64>> = read(&directory.join("x.csv"));
    write(&directory, &|i, j| (i + j) % 4 > 0, false);
    let of_x = read(&directory.join("x.csv"));
    let cells: Vec<(f64, f64)> = of_x.into_iter().flatten().zip(of_v.into_iter().flatten()).collect();
    let sum = |of: &dyn Fn(f64, f64) -> f64| cells.iter().map(|(x, y)| of(*x, *y)).sum::<f64>();
    let program = |support: &str, rest: &str| {
        format!(
            "axis r[i]\naxis c[j]\ndata x[i, j] : nonnegative, absent = 0\ndata v[i, j] : {support}, absent = 0\n{rest}\n"
        )
    };
    let posterior = |program: &str| {
        let (_, arrays) = fitted(&directory, program, &["--data", "x=x.mtx", "--data", "v=v.mtx"]);
        arrays.into_iter().map(|(name, own)| (name, own[0])).collect::<Vec<_>>()
    };
    let near =
        |found: f64, right: f64| assert!((found - right).abs() < 1e-9 * right.abs(), "{found} for {right}");
    let normal = |mean: &str, sd: &str| {
        let program = program("real", &format!("g ~ Normal(0, sd = 1)\nv[i, j] ~ Normal({mean}, sd = {sd})"));
        posterior(&program)[0].1
    };
    let (log, power) = (|x: f64, _: f64| (x + 1.0).ln().powi(2), |x: f64, _: f64| (1.0 + x).powi(-2));
    near(normal("g * log(x[i, j] + 1)", "1"), sum(&|x, y| y * (x + 1.0).ln()) / (1.0 + sum(&log)));
    near(normal("g", "1 + x[i, j]"), sum(&|x, y| y * (1.0 + x).powi(-2)) / (1.0 + sum(&power)));
    let counts = program("count", "g ~ Gamma(1, rate = 1)\nv[i, j] ~ Poisson(g * exp(x[i, j])^2)");
    let shape_and_rate = [1.0 + sum(&|_, y| y), 1.0 + sum(&|x, _| x.exp().powi(2))];
    for (name, own) in posterior(&counts) {
        match name.as_str() {
            "g.shape.npy" => near(own, shape_and_rate[0]),
            "g.rate.npy" => near(own, shape_and_rate[1]),
            _ => near(own, shape_and_rate[0] / shape_and_rate[1]),
        }
    }
}

/// The numbers of a table.
fn read(file: &Path) -> Vec<Vec<f64>> {
    let lines = fs::read_to_string(file).unwrap();
    lines.lines().map(|line| line.split(',').map(|own| own.parse().unwrap()).collect()).collect()
}

/// `x[j, i]` exists where `x[i, j]` does, so that the whole body runs over the same pairs: with symmetric x the regression on
/// `s_i = sum_(j: j != i) (x_ij + 2 x_ji + w_j)`, however it is written, has the precision `1 + sum_i s_i^2`.
#[test]
fn both_orders_of_a_pair_are_one_restriction() {
    let x = [[0.0, 1.0, 2.0, 0.5], [1.0, 0.0, 0.0, 3.0], [2.0, 0.0, 0.0, 1.5], [0.5, 3.0, 1.5, 0.0]];
    let (w, y) = ([0.3, -0.2, 0.7, 1.1], [2.0, 1.0, -1.0, 4.0]);
    let directory = scratch("both_orders");
    let table: String =
        x.iter().map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n").collect();
    fs::write(directory.join("x.csv"), table).unwrap();
    for (file, values) in [("w.csv", w), ("y.csv", y)] {
        fs::write(directory.join(file), values.map(|own| format!("{own}\n")).concat()).unwrap();
    }
    let s: Vec<f64> =
        (0..4).map(|i| (0..4).filter(|j| *j != i).map(|j| 3.0 * x[i][j] + w[j]).sum()).collect();
    let precision = 1.0 + s.iter().map(|own| own * own).sum::<f64>();
    let mean = s.iter().zip(&y).map(|(s, y)| s * y).sum::<f64>() / precision;
    for body in
        ["x[i, j] + 2 * x[j, i] + w[j]", "3 * x[j, i] + w[j]", "[j != i] * x[i, j] + 2 * x[j, i] + w[j]"]
    {
        let program = format!(
            "axis node[i, j]\ndata x[i, j] : nonnegative, absent = 0, i != j\ndata w[j] : real\ndata y[i] : real\nb ~ Normal(0, sd = 1)\n\
             y[i] ~ Normal(b * sum[j]({body}), sd = 1)\n"
        );
        fs::write(directory.join("m.cavi"), program).unwrap();
        let data = ["--data", "x=x.csv", "--data", "w=w.csv", "--data", "y=y.csv"];
        let fit = [&["fit", "m.cavi", "--quiet", "--force", "--out", "o"][..], &data].concat();
        let output = cavi(&directory, &fit);
        assert!(output.status.success(), "{body}: {}", text(&output.stderr));
        let found = |name: &str| {
            let array = fs::read(directory.join(format!("o/posterior/{name}.npy"))).unwrap();
            f64::from_le_bytes(array[array.len() - 8..].try_into().unwrap())
        };
        assert!((found("b.mean") - mean).abs() < 1e-9, "{body}: {}, by hand {mean}", found("b.mean"));
        assert!((found("b.var") * precision - 1.0).abs() < 1e-9, "{body}");
    }
}

/// Entries of sparse data are hidden, some of them zeros that no file lists, beside a sparse covariate with more cells than are filled out: by the
/// normal equations over what is seen, b has the precision `1 + sum x^2` and the mean `sum x y` over that.
#[test]
fn a_sparse_covariate_stands_beside_hidden_entries() {
    let directory = scratch("networks_hidden");
    let is_hidden = |i: usize, j: usize| (3 * i + j).is_multiple_of(5);
    let value = |i: usize, j: usize| if (i + j).is_multiple_of(2) { ((i + j) % 3) as f64 + 1.0 } else { 0.0 };
    let (mut x, mut y, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
    let (mut precision, mut product) = (1.0, 0.0);
    for (i, j, own) in listed() {
        let line = |value: f64| format!("{} {} {value}\n", i + 1, j + 1);
        x.push(line(own));
        if value(i, j) != 0.0 {
            y.push(line(value(i, j)));
        }
        if is_hidden(i, j) {
            hidden.push(line(value(i, j)));
        } else {
            precision += own * own;
            product += own * value(i, j);
        }
    }
    for (file, lines) in [("x.mtx", x), ("y.mtx", y), ("h.mtx", hidden)] {
        let head = "%%MatrixMarket matrix coordinate real general";
        let content = format!("{head}\n{NODES} {NODES} {}\n{}", lines.len(), lines.concat());
        fs::write(directory.join(file), content).unwrap();
    }
    let program = "axis row[i]\naxis col[j]\ndata y[i, j] : real, absent = 0\ndata x[i, j] : real, absent = 0\n\
        b ~ Normal(0, sd = 1)\ny[i, j] ~ Normal(b * x[i, j], sd = 1)\n";
    let data = ["--data", "y=y.mtx", "--data", "x=x.mtx", "--heldout", "y=h.mtx"];
    let (_, arrays) = fitted(&directory, program, &data);
    let found = |name: &str| arrays.iter().find(|(own, _)| own == name).expect("it is written").1[0];
    assert!((found("b.var.npy") * precision - 1.0).abs() < 1e-9, "{}", found("b.var.npy"));
    assert!((found("b.mean.npy") * precision / product - 1.0).abs() < 1e-9, "{}", found("b.mean.npy"));
}

/// Missing covariates of pairs have a factor where there is a pair, and nowhere else: the fit is that of a table with a line a pair.
#[test]
fn missing_covariates_of_pairs_are_those_of_a_table_of_pairs() {
    let directory = scratch("networks_missing");
    let priors =
        "a ~ Normal(0, sd = 2)\nb ~ Normal(0, sd = 2)\nm ~ Normal(0, sd = 2)\ntau ~ Gamma(2, rate = 1)\n";
    for (sign, exists) in [("i < j", (|i, j| i < j) as fn(usize, usize) -> bool), ("i != j", |i, j| i != j)] {
        let (mut pairs, mut y, mut x) = ("pair,y,x\n".to_owned(), "i,j,y\n".to_owned(), "i,j,x\n".to_owned());
        for (i, j) in (0..49).map(|cell| (cell / 7, cell % 7)).filter(|(i, j)| exists(*i, *j)) {
            let (own, covariate) =
                (f64::from((i * 5 + j * 3) as u32 % 7) / 2.0, f64::from((i * 3 + j * j) as u32 % 5) - 1.5);
            let is_missing = (i + 2 * j) % 4 == 1;
            pairs += &format!(
                "n{i}n{j},{own},{}\n",
                if is_missing { "NA".to_owned() } else { covariate.to_string() }
            );
            y += &format!("n{i},n{j},{own}\n");
            if !is_missing {
                x += &format!("n{i},n{j},{covariate}\n");
            }
        }
        for (file, content) in [("pairs.csv", pairs), ("y.csv", y), ("x.csv", x)] {
            fs::write(directory.join(file), content).unwrap();
        }
        for (model, of_x) in [
            ("Normal(a + b * LETTERS, sd = 0.5)", "Normal(m, prec = tau)"),
            ("Normal(a + b * LETTERS, prec = tau)", "Normal(m, sd = 1)"),
        ] {
            let program = |axes: &str, letters: &str, rest: &str| {
                format!(
                    "{axes}data y[{letters}] : real, absent = NA{rest}\ndata x[{letters}] : real, absent = NA{rest}\n{priors}\
                     x[{letters}] ~ {of_x}\ny[{letters}] ~ {}\n",
                    model.replace("LETTERS", &format!("x[{letters}]"))
                )
            };
            let of_pairs = ["--data", "y=y.csv", "--data", "x=x.csv"];
            let network = after(
                400,
                &directory,
                &program("axis node[i, j]\n", "i, j", &format!(", {sign}")),
                &of_pairs,
            );
            let of_table = ["--data", "y=pairs.csv:y", "--data", "x=pairs.csv:x"];
            let table = after(400, &directory, &program("axis pair[p]\n", "p", ""), &of_table);
            assert!(
                (network.0 - table.0).abs() < 1e-8 * table.0.abs(),
                "{sign} {model}: {} for {}",
                network.0,
                table.0
            );
            for ((file, own), (_, other)) in
                network.1.iter().zip(&table.1).filter(|((file, _), _)| !file.starts_with("x."))
            {
                assert!(
                    (own[0] - other[0]).abs() < 1e-6 * other[0].abs().max(1.0),
                    "{sign} {model} {file}: {own:?} for {other:?}"
                );
            }
        }
    }
}
