//! Which entries data have, what weighs them, and where they belong: posteriors that were worked out by hand, and what is refused.

use std::fs;

use crate::by_hand::{Case, check};
use crate::common::{cavi, run, scratch, text};

/// What a fit that fails, or tells something, writes to stderr.
fn said(name: &str, program: &str, files: &[(&str, &str)], arguments: &[&str], status: i32) -> String {
    let directory = scratch(&format!("entries_{name}"));
    fs::write(directory.join("own.cavi"), program).unwrap();
    for (file, content) in files {
        fs::write(directory.join(file), content).unwrap();
    }
    let output = cavi(&directory, &[&["fit", "own.cavi", "--out", "o", "--sweeps", "3"], arguments].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{name}: {said}");
    said
}

/// A sum of restricted data goes over the entries that exist, whether the file is dense or lists them.
///
/// Of four nodes `x[2, 3]` is missing: s = (1 + 2 + 4, 8 + 16, NA, 0). With the prior variance 100 and the noise 1 the mean of m is s 100 / 101.
#[test]
fn a_sum_of_restricted_data_goes_over_the_entries_that_exist() {
    let program = "axis node[i, j] = 4\ndata x[i, j] : real, i < j, absent = NA\n\
        data s[i] : real = sum[j](x[i, j]), absent = NA\nm[i] ~ Normal(0, sd = 10)\ns[i] ~ Normal(m[i], sd = 1)\n";
    let dense = "0,1,2,4\n0,0,8,16\n0,0,0,NA\n0,0,0,0\n";
    let listed = "i,j,x\n0,1,1\n0,2,2\n0,3,4\n1,2,8\n1,3,16\n";
    for (name, content) in [("sum_dense", dense), ("sum_listed", listed)] {
        check(&Case {
            name,
            program,
            files: &[("x.csv", content)],
            arguments: &["--data", "x=x.csv"],
            found: &[
                ("m.mean", &[700.0 / 101.0, 2400.0 / 101.0, 0.0, 0.0]),
                ("m.var", &[100.0 / 101.0, 100.0 / 101.0, 100.0, 100.0 / 101.0]),
            ],
            elbo: None,
        });
    }
    // Both orders under a sum: 1 + 2, then 1 + 4, and 2 + 4.
    check(&Case {
        name: "sum_both_orders",
        program: "axis node[i, j] = 3\ndata x[i, j] : real, i < j\ndata s[i] : real = sum[j](x[i, j] + x[j, i])\n\
            m[i] ~ Normal(0, sd = 1)\ns[i] ~ Normal(m[i], sd = 1)\n",
        files: &[("x.csv", "0,1,2\n0,0,4\n0,0,0\n")],
        arguments: &["--data", "x=x.csv"],
        found: &[("m.mean", &[1.5, 2.5, 3.0])],
        elbo: None,
    });
}

/// A sum runs over the entries that exist; where addends read data of different restrictions, each runs over its own. The mean of m is half of s.
///
/// The rows of d off the diagonal are (2, 3), (4, 5), (6, 7), x[0, 1] = 100, x[0, 2] = 200, x[1, 2] = 300, and w = (10, 20, 40).
#[test]
fn each_addend_of_a_sum_runs_over_its_own_entries() {
    let d = "0,2,3\n4,0,5\n6,7,0\n";
    let x = "0,100,200\n0,0,300\n0,0,0\n";
    let w = "10\n20\n40\n";
    let entropy = |a: f64, b: f64| a * a.ln() + b * b.ln();
    let roots = [2_f64.ln() + 3_f64.ln(), 4_f64.ln() + 5_f64.ln(), 6_f64.ln() + 7_f64.ln()];
    let cases: [(&str, &str, [f64; 3]); 7] = [
        ("two_restrictions", "d[i, j] + x[i, j]", [305.0, 309.0, 13.0]),
        ("times_a_number", "-2 * (d[i, j] + x[i, j])", [-610.0, -618.0, -26.0]),
        ("beside_no_restriction", "x[i, j] + w[j]", [360.0, 340.0, 0.0]),
        ("beside_both_orders", "x[i, j] + x[j, i] + w[j]", [370.0, 470.0, 570.0]),
        ("inside_of_a_sum", "sum[l](d[i, j] * w[l] + w[l])", [490.0, 770.0, 1050.0]),
        ("entropy", "d[i, j] * log(d[i, j])", [entropy(2.0, 3.0), entropy(4.0, 5.0), entropy(6.0, 7.0)]),
        ("functions", "log(d[i, j])", roots),
    ];
    for (name, body, sums) in cases {
        check(&Case {
            name,
            program: &format!(
                "axis node[i, j, l] = 3\ndata d[i, j] : nonnegative, i != j\ndata x[i, j] : real, i < j\n\
                 data w[j] : real\ndata s[i] : real = sum[j]({body})\nm[i] ~ Normal(0, var = 1)\n\
                 s[i] ~ Normal(m[i], var = 1)\nd[i, j] ~ Exponential(1)\nx[i, j] ~ Normal(0, sd = 1)\nw[j] ~ Normal(0, sd = 1)\n"
            ),
            files: &[("d.csv", d), ("x.csv", x), ("w.csv", w)],
            arguments: &["--data", "d=d.csv", "--data", "x=x.csv", "--data", "w=w.csv"],
            found: &[("m.mean", &sums.map(|own| own / 2.0))],
            elbo: None,
        });
    }
}

/// Under a likelihood too: the symmetric distance `d[i, j] + d[j, i]` is there in one of two orders, so that each is a term of its own.
/// With s = sum_j exp(-d), the precision of b is `1 / 100 + sum_i s_i^2`.
#[test]
fn a_term_that_reads_two_entries_of_which_one_exists_is_a_mistake() {
    let program = |body: &str| {
        format!(
            "axis node[i, j]\ndata d[i, j] : positive, i < j\ndata y[i] : real\nb ~ Normal(0, sd = 10)\n\
             y[i] ~ Normal(b * sum[j]({body}), sd = 1)\n"
        )
    };
    let files = [("d.csv", "0,1,2\n0,0,0.5\n0,0,0\n"), ("y.csv", "1\n2\n3\n")];
    let data = ["--data", "d=d.csv", "--data", "y=y.csv"];
    let near = |own: f64| (-own).exp();
    let s = [near(1.0) + near(2.0), near(1.0) + near(0.5), near(2.0) + near(0.5)];
    let precision = 0.01 + s.iter().map(|own| own * own).sum::<f64>();
    check(&Case {
        name: "both_orders_of_a_function",
        program: &program("exp(-d[i, j]) + exp(-d[j, i])"),
        files: &files,
        arguments: &data,
        found: &[("b.mean", &[(s[0] + 2.0 * s[1] + 3.0 * s[2]) / precision]), ("b.var", &[1.0 / precision])],
        elbo: None,
    });
    let said = said("never_together", &program("exp(-(d[i, j] + d[j, i]))"), &files, &data, 1);
    for part in ["E0524", "`d[i, j]` and `d[j, i]`", "never there together", "a sum of two terms"] {
        assert!(said.contains(part), "{said}");
    }
}

/// An entry that a restriction leaves out is no 0: of (0, 1), (1, 0) and (2, 1) the first alone exists, and b is `5 / 1.01`.
#[test]
fn derived_data_have_no_value_where_what_they_read_does_not_exist() {
    let program = |absent: &str| {
        format!(
            "axis node[i, j] = 3\ndata x[i, j] : real, i < j\naxis row[n]\ndata h[n] : index node\ndata k[n] : index node\n\
             data d[n] : real = x[h[n], k[n]]{absent}\nb ~ Normal(0, sd = 10)\nd[n] ~ Normal(b, sd = 1)\n"
        )
    };
    let files = [("x.csv", "0,5,7\n0,0,9\n0,0,0\n"), ("h.csv", "0\n1\n2\n"), ("k.csv", "1\n0\n1\n")];
    let data = ["--data", "x=x.csv", "--data", "h=h.csv", "--data", "k=k.csv"];
    check(&Case {
        name: "outside_derived",
        program: &program(", absent = NA"),
        files: &files,
        arguments: &data,
        found: &[("b.mean", &[5.0 / 1.01]), ("b.var", &[1.0 / 1.01])],
        elbo: None,
    });
    let said = said("outside", &program(""), &files, &data, 1);
    for part in ["`d[1]` is computed from x[1, 0], which does not exist: `x` has `i < j`", "`absent = NA`"] {
        assert!(said.contains(part), "{said}");
    }
    // The entries of another restriction: (0, 1) has 1, (1, 0) and so on are missing. Zeros that no file lists are none of these.
    check(&Case {
        name: "outside_wider",
        program: "axis node[i, j]\ndata x[i, j] : real, i < j, absent = 0\ndata y[i, j] : real = x[i, j], i != j, absent = NA\n\
            b ~ Normal(0, sd = 10)\ny[i, j] ~ Normal(b, sd = 1)\n",
        files: &[("x.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 6\n")],
        arguments: &["--data", "x=x.mtx"],
        found: &[("b.mean", &[6.0 / 3.01])],
        elbo: None,
    });
}

/// A multiplicity weighs by the letters on the left of `~`, whatever names the data were declared with.
///
/// m[0] = (1 * 10 + 2 * 20) / (1 + 1 + 2), m[1] = (3 * 30 + 4 * 40) / (1 + 3 + 4).
#[test]
fn a_multiplicity_follows_the_letters_on_the_left() {
    for declared in ["x[i, j]", "x[j, i]", "x[l, j]"] {
        check(&Case {
            name: &format!("weights_{}", &declared[2..3]),
            program: &format!(
                "axis node[i, j, l] = 2\ndata w[i, j] : multiplicity\ndata {declared} : real\nm[i] ~ Normal(0, sd = 1)\n\
                 x[i, j] ~ Normal(m[i], sd = 1)\n"
            ),
            files: &[("w.csv", "1,2\n3,4\n"), ("x.csv", "10,20\n30,40\n")],
            arguments: &["--data", "w=w.csv", "--data", "x=x.csv"],
            found: &[("m.mean", &[12.5, 31.25]), ("m.var", &[0.25, 0.125])],
            elbo: None,
        });
    }
}

/// A missing entry of weight: `x[0, 1]` (of weight 2) is latent, with the precisions 1 of itself and 1 of y; its entropy counts twice.
///
/// With m = 0 known: q(x[0, 1]) has the precision 2 and the mean `y / 2`. The bound of one such row is its evidence, `log N(3; 0, 2)`, twice; and
/// the others are observed under two standard normals each, as often as they weigh.
#[test]
fn missing_entries_have_the_weights_of_their_letters() {
    let normal =
        |x: f64, variance: f64| -0.5 * (std::f64::consts::TAU * variance).ln() - 0.5 * x * x / variance;
    let elbo = 1.0 * (normal(1.0, 1.0) + normal(1.0, 1.0))
        + 2.0 * normal(3.0, 2.0)
        + 3.0 * (normal(0.5, 1.0) + normal(-0.5, 1.0))
        + 4.0 * (normal(-1.0, 1.0) + normal(1.0, 1.0));
    check(&Case {
        name: "weights_of_missing",
        program: "axis node[i, j] = 2\ndata w[i, j] : multiplicity\ndata x[j, i] : real, absent = NA\ndata y[i, j] : real\n\
            x[i, j] ~ Normal(0, sd = 1)\ny[i, j] ~ Normal(x[i, j], sd = 1)\n",
        files: &[("w.csv", "1,2\n3,4\n"), ("x.csv", "1,NA\n0.5,-1\n"), ("y.csv", "2,3\n0,0\n")],
        arguments: &["--data", "w=w.csv", "--data", "x=x.csv", "--data", "y=y.csv"],
        found: &[("x.mean", &[1.0, 1.5, 0.5, -1.0]), ("x.var", &[0.0, 0.5, 0.0, 0.0])],
        elbo: Some(elbo),
    });
}

const VIEWS: &str = "axis view[m]\naxis feat[j] in view[m]\ndata x[m, j] : real\n";

/// Files without labels are joined with groups, and within groups, by their order, which is told.
///
/// s = (1, 10) belongs to a and b: b = (5 + 5 + 10 * 20) / (2 + 100 + 1 / 100). With the files the other way round s belongs to b and a.
#[test]
fn groups_that_are_joined_by_order_are_told() {
    let program =
        format!("{VIEWS}data s[m] : real\nb ~ Normal(0, sd = 10)\nx[m, j] ~ Normal(b * s[m], sd = 1)\n");
    let files = [("a.csv", "5\n5\n"), ("b.csv", "20\n"), ("s.csv", "1\n10\n")];
    let (a, b, s) = (["--data", "x[a]=a.csv"], ["--data", "x[b]=b.csv"], ["--data", "s=s.csv"]);
    for (name, first, second, mean) in
        [("in_order", a, b, 210.0 / 102.01), ("swapped", b, a, (20.0 + 100.0) / 201.01)]
    {
        let arguments = [first, second, s].concat();
        let found: &[f64] = &[mean];
        check(&Case {
            name,
            program: &program,
            files: &files,
            arguments: &arguments,
            found: &[("b.mean", found)],
            elbo: None,
        });
        let said = said(name, &program, &files, &arguments, 0);
        let note = "labels of axis `view` stand in `x[a]` (a.csv), `x[b]` (b.csv), and none in `s` (s.csv): what has none is taken in the same order";
        assert!(said.contains(note), "{said}");
    }
    let program = format!(
        "{VIEWS}data s[m, j] : real\nb ~ Normal(0, sd = 10)\nx[m, j] ~ Normal(b * s[m, j], sd = 1)\n"
    );
    let files =
        [("x.csv", "feat,x\nf2,20\nf1,10\n"), ("s.csv", "1\n2\n"), ("named.csv", "feat,s\nf1,1\nf2,2\n")];
    let data = |file: &str| {
        ["--data".to_owned(), "x[a]=x.csv".to_owned(), "--data".to_owned(), format!("s[a]={file}")]
    };
    for (name, file, is_told) in [("of_a_group", "s.csv", true), ("labelled", "named.csv", false)] {
        let data = data(file);
        let arguments: Vec<&str> = data.iter().map(String::as_str).collect();
        let said = said(name, &program, &files, &arguments, 0);
        let note = "labels of axis `feat` stand in `x[a]` (x.csv), and none in `s[a]` (s.csv)";
        assert_eq!(said.contains(note), is_told, "{said}");
    }
}

/// Groups and labels that `--fix` and `--set` name have to exist.
#[test]
fn groups_of_options_exist() {
    let program = format!("{VIEWS}w[m, j] ~ Normal(0, sd = 1)\nx[m, j] ~ Normal(w[m, j], sd = 1)\n");
    let files = [
        ("a.csv", "feat,x\na,1\nb,2\n"),
        ("b.csv", "feat,x\na,3\nb,4\n"),
        ("w.csv", "feat,w\na,0.5\n"),
        ("other.csv", "feat,w\nB,0.5\n"),
        ("long.csv", "view,feat,w\nrna,a,0.5\ndna,c,1\n"),
    ];
    let data = ["--data", "x[rna]=a.csv", "--data", "x[dna]=b.csv"];
    for (name, options, wanted) in [
        ("fix_group", ["--fix", "w[RNA]=w.csv"], "the label `RNA` is not one of `view`"),
        ("fix_label", ["--fix", "w[rna]=other.csv"], "the label `B` is not one of `feat`"),
        ("fix_long", ["--fix", "w=long.csv"], "the label `c` is not one of `feat`"),
        ("set_group", ["--set", "feat[RNA]=4"], "`--set 'feat[RNA]=4'`: axis `view` has no group `RNA`"),
        ("set_none", ["--set", "view[rna]=4"], "names a group, and `view` has none"),
    ] {
        let said = said(name, &program, &files, &[&data[..], &options].concat(), 1);
        assert!(said.contains(wanted), "{name}: {said}");
    }
    // What is there is held: w[rna] at a, and the other three at half of x.
    check(&Case {
        name: "fix_right",
        program: &program,
        files: &files,
        arguments: &[&data[..], &["--fix", "w[rna]=w.csv"]].concat(),
        found: &[("w.mean/rna", &[0.5, 1.0]), ("w.mean/dna", &[1.5, 2.0])],
        elbo: None,
    });
}

/// Sizes that the text computes from other axes, in any order: three items, `k` has three positions, and `pair` six.
///
/// The sum of x is 7. Each m has the precision 1 + 3 and the mean `(7 - 3 * 2 m) / 4`, so 0.7.
#[test]
fn sizes_are_computed_from_other_axes() {
    check(&Case {
        name: "sizes",
        program: "axis pair[p] = sum[k](1) + total\naxis comp[k] = sum[n](1)\nconst total = sum[n](1)\naxis item[n]\n\
            data x[n] : real\nm[k] ~ Normal(0, sd = 1)\nu[p] ~ Normal(0, sd = 1)\nx[n] ~ Normal(sum[k](m[k]), sd = 1)\n",
        files: &[("x.csv", "1\n2\n4\n")],
        arguments: &["--data", "x=x.csv"],
        found: &[("m.mean", &[0.7, 0.7, 0.7]), ("u.mean", &[0.0; 6])],
        elbo: None,
    });
    let circle = "axis a[i] = sum[j](1)\naxis b[j] = sum[i](1)\ndata x[i, j] : real\nm ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m, sd = 1)\n";
    let files = [("x.csv", "1,2\n3,4\n")];
    let said_of = said("circle", circle, &files, &["--data", "x=x.csv"], 1);
    assert!(said_of.contains("the size of axis `a` is computed from that of `b`"), "{said_of}");
    said("circle_set", circle, &files, &["--data", "x=x.csv", "--set", "a=2"], 0);
}

/// Positions that are all missing give an axis no size.
#[test]
fn missing_positions_give_no_size() {
    let program = "axis item[n]\naxis comp[k]\ndata z[n] : index comp, absent = NA\np[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(p)\n";
    let files = [("z.csv", "NA\nNA\n")];
    let said_of = said("no_size", program, &files, &["--data", "z=z.csv"], 1);
    assert!(said_of.contains("`z` has entries, and axis `comp`"), "{said_of}");
    assert!(said_of.contains("`--set comp=SIZE`"), "{said_of}");
    let said_of = said("empty", program, &files, &["--data", "z=z.csv", "--set", "comp=0"], 1);
    assert!(said_of.contains("`z` has entries, and axis `comp`"), "{said_of}");
    said("sized", program, &files, &["--data", "z=z.csv", "--set", "comp=2"], 0);
}

/// A constant position: the three x are about m[1], which has the precision 4 and the mean 7 / 4.
#[test]
fn a_constant_may_be_a_position() {
    for (name, declared, read) in [("constant", "z0", "z0"), ("constants", "z0[n]", "z0[n]")] {
        check(&Case {
            name,
            program: &format!(
                "axis item[n]\naxis comp[k] = 3\nconst {declared} : index comp = 1\ndata x[n] : real\nm[k] ~ Normal(0, sd = 1)\n\
                 x[n] ~ Normal(m[{read}], sd = 1)\n"
            ),
            files: &[("x.csv", "1\n2\n4\n")],
            arguments: &["--data", "x=x.csv"],
            found: &[("m.mean", &[0.0, 1.75, 0.0]), ("m.var", &[1.0, 0.25, 1.0])],
            elbo: None,
        });
    }
}

/// Each axis has one column, and each column one axis.
#[test]
fn columns_are_said_once() {
    let program = "axis user[u]\naxis item[i]\ndata r[u, i] : real, absent = NA\nm ~ Normal(0, sd = 1)\nr[u, i] ~ Normal(m, sd = 1)\n";
    let files = [("r.csv", "a,b,c,d\nu1,u2,i1,3\nu2,u1,i2,4\n")];
    for (name, options, wanted) in [
        ("twice", &["--columns", "r=user:a,user:b,item:c,value:d"][..], "`user:a` and `user:b`"),
        ("values", &["--columns", "r=user:a,item:c,value:d,value:b"][..], "`value:d` and `value:b`"),
        ("one_for_two", &["--columns", "r=user:a,item:a,value:d"][..], "`user:a` and `item:a`"),
        (
            "apart",
            &["--columns", "r=user:a,item:c", "--columns", "r=user:b,value:d"][..],
            "`user:a` and `user:b`",
        ),
    ] {
        let said = said(name, program, &files, &[&["--data", "r=r.csv"], options].concat(), 1);
        assert!(said.contains(wanted), "{name}: {said}");
    }
    let options = ["--data", "r=r.csv", "--columns", "r=user:a,item:c", "--columns", "r=value:d"];
    said("together", program, &files, &options, 0);
}

/// Two nodes of an edge are two columns: their letters tell them apart, and the axis means each of them.
#[test]
fn an_imputed_network_tells_its_two_nodes_apart() {
    let program = "axis node[i, j]\naxis block[k, l] = 2\ndata y[i, j] : binary, i != j, absent = NA\n\
        theta[i, :k] ~ Dirichlet(0.3)\nrate[k, l] ~ Beta(1, 1)\ns[i, j] ~ Categorical(theta[i])\nr[i, j] ~ Categorical(theta[j])\n\
        y[i, j] ~ Bernoulli(rate[s[i, j], r[i, j]])\n";
    let directory = scratch("entries_nodes");
    fs::write(directory.join("own.cavi"), program).unwrap();
    let edge =
        |i: usize, j: usize| format!("{},{},{}\n", ["a", "b", "c"][i], ["a", "b", "c"][j], (i + 2 * j) % 2);
    let edges: String = [(0, 1), (0, 2), (1, 0), (2, 1)].into_iter().map(|(i, j)| edge(i, j)).collect();
    fs::write(directory.join("y.csv"), format!("i,j,y\n{edges}")).unwrap();
    run(&directory, "fit own.cavi --data y=y.csv --sweeps 5 --tol 0 --out o --quiet");
    let table = |options: &str| {
        run(&directory, &format!("impute o --all --out i.csv --quiet{options}"));
        let table = fs::read_to_string(directory.join("i.csv")).unwrap();
        let two = |line: &str| line.split(',').take(2).collect::<Vec<_>>().join(",");
        table.lines().map(two).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(table(""), "i,j a,b a,c b,a c,b");
    assert_eq!(table(" --for i=a"), "i,j a,b a,c");
    assert_eq!(table(" --for j=b"), "i,j a,b c,b");
    assert_eq!(table(" --for node=a --for node=b"), "i,j a,b b,a");
    // A latent of each listed edge.
    let program = "axis node[i, j]\ndata y[i, j] : real, i != j, absent = NA\nm ~ Normal(0, sd = 1)\n\
        e[i, j] ~ Normal(m, sd = 1)\ny[i, j] ~ Normal(e[i, j], sd = 1)\n";
    fs::write(directory.join("own.cavi"), program).unwrap();
    run(&directory, "fit own.cavi --data y=y.csv --out o --force --quiet");
    run(&directory, "export o --csv --out e");
    let long = fs::read_to_string(directory.join("e/e.long.csv")).unwrap();
    assert!(long.starts_with("i,j,mean,") && long.contains("\na,b,"), "{long}");
}
