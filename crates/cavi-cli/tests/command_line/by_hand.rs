//! Posteriors of tiny programs that were worked out by hand, from files in the formats in which they come.

use std::fs;

use crate::common::{cavi, scratch, text};

/// A program with its files, what is asked, and what is right.
pub struct Case<'a> {
    pub name: &'a str,
    pub program: &'a str,
    pub files: &'a [(&'a str, &'a str)],
    pub arguments: &'a [&'a str],
    /// Arrays of the posterior.
    pub found: &'a [(&'a str, &'a [f64])],
    /// The bound, where q is the posterior and so the bound the evidence.
    pub elbo: Option<f64>,
}

pub fn check(case: &Case) {
    let directory = scratch(&format!("by_hand_{}", case.name));
    fs::write(directory.join("own.cavi"), case.program).unwrap();
    for (file, content) in case.files {
        fs::write(directory.join(file), content).unwrap();
    }
    let fixed = ["fit", "own.cavi", "--out", "o", "--quiet", "--tol", "1e-13", "--sweeps", "500", "--json"];
    let output = cavi(&directory, &[&fixed[..], case.arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}: {}", case.name, text(&output.stderr));
    for (file, expected) in case.found {
        let path = directory.join(format!("o/posterior/{file}.npy"));
        let found = cavi_files::read_npy(&path).unwrap().values;
        let far = found.iter().zip(*expected).find(|(own, right)| (**own - **right).abs() > 1e-5);
        assert!(found.len() == expected.len() && far.is_none(), "{} {file}: {found:?}", case.name);
    }
    if let Some(expected) = case.elbo {
        let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        let elbo = summary["elbo"].as_f64().unwrap();
        assert!((elbo - expected).abs() < 1e-5, "{}: {elbo}", case.name);
    }
}

const MATRIX: &str = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n";

/// `y[i, j] x[i, j]` and `y[i, j] x[j, i]` were once one array where both are sparse: b had the mean 1/2.
///
/// `y = x = (0, 1; 0, 0)`, so that `y[i, j] x[j, i]` is 0 everywhere: b has the precision 2 and the mean 0, a the mean 1/2. The evidence is that of four
/// independent cells, of variances 1, 2, 2, 1.
#[test]
fn sparse_data_are_read_as_they_are_and_transposed() {
    let program = "axis node[i, j]\ndata x[i, j] : real, absent = 0\ndata y[i, j] : real, absent = 0\n\
        a ~ Normal(0, sd = 1)\nb ~ Normal(0, sd = 1)\ny[i, j] ~ Normal(a * x[i, j] + b * x[j, i], sd = 1)\n";
    check(&Case {
        name: "transposed",
        program,
        files: &[("x.mtx", MATRIX), ("y.mtx", MATRIX)],
        arguments: &["--data", "x=x.mtx", "--data", "y=y.mtx"],
        found: &[("a.mean", &[0.5]), ("b.mean", &[0.0]), ("b.var", &[0.5])],
        elbo: Some(-4.618_901),
    });
}

/// An observed 0 that no file lists has its log rate under `Exponential`. Those of sparse data were left out once.
///
/// The fixed point of `shape = 2 + n phi`, `rate = 1 + sum y`, `phi = f / (f + 0.1)`, `f = exp(psi(shape) - ln rate)`, with n the observed entries of a row.
#[test]
fn zeros_that_are_not_listed_have_a_log_density() {
    let program = "axis node[i, j]\ndata y[i, j] : nonnegative, absent = 0, NA\nu[i] ~ Gamma(2, rate = 1)\n\
        y[i, j] ~ Exponential(rate = u[i] + 0.1)\n";
    let sparse = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n1 2 NaN\n2 2 2\n";
    for (name, file, content) in
        [("unlisted", "y.mtx", sparse), ("all_listed", "y.csv", "1,NA,0\n0,2,0\n0,0,0\n")]
    {
        check(&Case {
            name,
            program,
            files: &[(file, content)],
            arguments: &["--data", &format!("y={file}")],
            found: &[("u.shape", &[3.888_92, 4.804_97, 4.933_97])],
            elbo: None,
        });
    }
}

/// Sparse data beside an index array over the same letters.
///
/// The entries (0, 0) and (1, 1) are 2 and 4, both of class 1: `b[1]` has precision 3 and mean 2. Class 0 has its prior.
#[test]
fn a_dense_index_array_is_read_at_the_entries_of_sparse_data() {
    check(&Case {
        name: "index_at_entries",
        program: "axis user[u]\naxis item[v]\naxis ctx[c] = 2\ndata r[u, v] : real, absent = NA\n\
            data g[u, v] : index ctx\nb[c] ~ Normal(0, sd = 1)\nr[u, v] ~ Normal(b[g[u, v]], sd = 1)\n",
        files: &[
            ("r.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 2\n2 2 4\n"),
            ("g.csv", "1,0\n0,1\n"),
        ],
        arguments: &["--data", "r=r.mtx", "--data", "g=g.csv"],
        found: &[("b.mean", &[0.0, 2.0]), ("b.var", &[1.0, 1.0 / 3.0])],
        elbo: None,
    });
}

/// The diagonal of `i != j` is no missing entry: it has no factor of q, and a sum reads 0 there.
///
/// `x[0, 1]` is missing and in `y[0] = 1` alone: precision 2, mean 1/2. The bound is the evidence `N(.5; 0, 1) N(1; 0, 2) N(2; .5, 1)`.
#[test]
fn what_a_restriction_leaves_out_is_not_missing() {
    check(&Case {
        name: "restricted",
        program: "axis node[i, j]\ndata x[i, j] : real, absent = NA, i != j\ndata y[i] : real\n\
            x[i, j] ~ Normal(0, sd = 1)\ny[i] ~ Normal(sum[j](x[i, j]), sd = 1)\n",
        files: &[("x.csv", "NA,NA\n0.5,NA\n"), ("y.csv", "1\n2\n")],
        arguments: &["--data", "x=x.csv", "--data", "y=y.csv"],
        found: &[("x.mean", &[0.0, 0.5, 0.5, 0.0]), ("x.var", &[0.0, 0.5, 0.0, 0.0])],
        elbo: Some(-4.603_389),
    });
}

/// An index of an axis into itself: `y[0] ~ N(2 m[0], 1)` and `y[1] ~ N(m[1] + m[0], 1)`.
///
/// `m[0] = (2 y[0] + y[1] - m[1]) / 6` and `m[1] = (y[1] - m[0]) / 2`: 9/11 and 1/11.
#[test]
fn an_axis_is_indexed_by_itself() {
    check(&Case {
        name: "own_axis",
        program: "axis t[t]\ndata y[t] : real\ndata next[t] : index t\nm[t] ~ Normal(0, sd = 1)\n\
            y[t] ~ Normal(m[t] + m[next[t]], sd = 1)\n",
        files: &[("y.csv", "2\n1\n"), ("next.csv", "0\n0\n")],
        arguments: &["--data", "y=y.csv", "--data", "next=next.csv"],
        found: &[("m.mean", &[9.0 / 11.0, 1.0 / 11.0]), ("m.var", &[1.0 / 6.0, 0.5])],
        elbo: None,
    });
}

/// `1.0` is `1` of another table, whatever stands beside it: the means of two or three numbers and the prior's 0.
#[test]
fn labels_that_are_numbers_meet() {
    check(&Case {
        name: "labels",
        program: "axis a[i]\naxis b[j]\naxis time[t]\ndata x[i, t] : real\ndata y[j, t] : real, absent = NA\n\
            m[t] ~ Normal(0, sd = 1)\nx[i, t] ~ Normal(m[t], sd = 1)\ny[j, t] ~ Normal(m[t], sd = 1)\n",
        files: &[("x.csv", "sample,0.0,0.5,1.0\ns1,1,2,3\n"), ("y.csv", "sample,0.0,1.0\np1,11,13\n")],
        arguments: &["--data", "x=x.csv", "--data", "y=y.csv"],
        found: &[("m.mean", &[12.0 / 3.0, 1.0, 16.0 / 3.0])],
        elbo: None,
    });
}

/// What is missing has the q of its statement, whatever type the data have: a Normal of nonnegative numbers is no truncated one.
///
/// m has the precision 1/100 + 2 + 1/2, of the prior, of two observed x and of y at the missing one.
#[test]
fn missing_entries_have_the_q_of_their_statement() {
    check(&Case {
        name: "missing",
        program: "axis row[n]\ndata x[n] : nonnegative, absent = NA\ndata y[n] : real\nm ~ Normal(0, sd = 10)\n\
            x[n] ~ Normal(m, sd = 1)\ny[n] ~ Normal(x[n], sd = 1)\n",
        files: &[("x.csv", "0.2\n0.5\nNA\n"), ("y.csv", "0.1\n0.4\n-1\n")],
        arguments: &["--data", "x=x.csv", "--data", "y=y.csv"],
        found: &[("m.mean", &[0.2 / 2.51])],
        elbo: None,
    });
}

/// A matrix whose second subscript is the slice of the left is that matrix, not its diagonal: `S (S + I / 4)^-1 y`, by NumPy.
#[test]
fn a_matrix_is_read_by_either_letter_first() {
    for subscripts in ["[:l, :i]", "[:i, :l]", "[:l, i]", ""] {
        check(&Case {
            name: "matrix",
            program: &format!(
                "axis pt[i, l] = 3\nconst S[i, l]\ndata y[i] : real\nd[:i] ~ GaussianProcess(cov = S{subscripts})\n\
                 y[i] ~ Normal(d[i], sd = 0.5)\nposterior {{\n  point d\n}}\n"
            ),
            files: &[("S.csv", "1,0.5,0.2\n0.5,1,0.5\n0.2,0.5,1\n"), ("y.csv", "1\n2\n4\n")],
            arguments: &["--data", "y=y.csv", "--set", "S=S.csv"],
            found: &[("d.value", &[0.952_381, 1.923_810, 3.238_095])],
            elbo: None,
        });
    }
}

/// A factor that is implicit has the bound of one that is stored, also where it selects in the prior of a Gamma.
#[test]
fn an_implicit_class_of_a_rate_counts_once() {
    let program = "axis obs[n]\naxis comp[c] = 2\ndata y[n] : count\nw[n] ~ Gamma(2, rate = b[z[n]])\n\
        b[c] ~ Gamma(1, rate = 1)\nz[n] ~ Categorical(pi)\npi[:c] ~ Dirichlet(1)\ny[n] ~ Poisson(w[n])\n";
    let directory = scratch("by_hand_implicit");
    fs::write(directory.join("y.csv"), "3\n5\n1\n20\n17\n").unwrap();
    let elbo = |name: &str, program: &str| {
        fs::write(directory.join(name), program).unwrap();
        let arguments = ["--data", "y=y.csv", "--out", "o", "--quiet", "--tol", "1e-13", "--sweeps", "5000"];
        let output = cavi(&directory, &[&["fit", name, "--force"][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&summary).unwrap()["elbo"].as_f64().unwrap()
    };
    let stored = elbo("stored.cavi", program);
    let implicit = elbo("implicit.cavi", &format!("{program}posterior {{\n  implicit z\n}}\n"));
    assert!((stored - implicit).abs() < 1e-6, "{stored} and {implicit}");
}

/// What would be read at a wrong place, or computed from other rows, is refused.
#[test]
fn what_has_no_place_is_refused() {
    let refused = |name: &str, program: &str, files: &[(&str, &str)], wanted: &[&str]| {
        let directory = scratch(&format!("by_hand_{name}"));
        fs::write(directory.join("own.cavi"), program).unwrap();
        let mut arguments = vec!["fit".to_owned(), "own.cavi".to_owned(), "--out".to_owned(), "o".to_owned()];
        for (array, content) in files {
            fs::write(directory.join(format!("{array}.csv")), content).unwrap();
            arguments.extend(["--data".to_owned(), format!("{array}={array}.csv")]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = cavi(&directory, &arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(wanted.iter().all(|part| said.contains(part)), "{name}: {said}");
    };
    refused(
        "computed_index",
        "axis row[n]\naxis comp[k] = 3\ndata g[n] : count\ndata z[n] : index comp = g[n] + 1\ndata y[n] : real\n\
            m[k] ~ Normal(0, sd = 1)\ny[n] ~ Normal(m[z[n]], sd = 1)\n",
        &[("g", "1\n2\n"), ("y", "1\n2\n")],
        &["the data `z` is 3", "a position from 0 to 2"],
    );
    refused(
        "outside",
        "axis row[n]\naxis node[i, j] = 3\ndata x[i, j] : real, i < j\ndata h[n] : index node\ndata a[n] : index node\n\
            data y[n] : real\nb ~ Normal(0, sd = 1)\ny[n] ~ Normal(b * x[h[n], a[n]], sd = 1)\n",
        &[("x", "0,1,2\n0,0,3\n0,0,0\n"), ("h", "0\n1\n"), ("a", "1\n0\n"), ("y", "1\n1\n")],
        &["x[1, 0]", "does not exist", "`i < j`"],
    );
    refused(
        "joined",
        "axis person[n]\ndata x[n] : real\ndata y[n] : real\nb ~ Normal(0, sd = 10)\ny[n] ~ Normal(b * x[n], sd = 1)\n",
        &[("x", "id,x\n3,30\n1,10\n2,20\n"), ("y", "id,y\n1,100\n2,200\n3,300\n")],
        &["`id` is 3 in line 2 of x.csv and 1 in line 2 of y.csv", "--columns x=person:id"],
    );
}

/// Sums over all rows would be others of new rows alone.
#[test]
fn new_rows_do_not_change_what_is_computed_from_all() {
    let directory = scratch("by_hand_rows");
    let program = "axis row[n]\naxis col[j]\ndata x[n, j] : real\ndata base[j] : real = sum[n](x[n, j]) / 4\n\
        data d[n, j] : real = x[n, j] - base[j]\nz[n] ~ Normal(0, sd = 1)\nd[n, j] ~ Normal(z[n], sd = 1)\n";
    fs::write(directory.join("own.cavi"), program).unwrap();
    fs::write(directory.join("x.csv"), ",a,b,c\nr1,4,5,6\nr2,1,2,3\nr3,4,4,4\nr4,3,5,7\n").unwrap();
    fs::write(directory.join("new.csv"), ",a,b,c\nr9,4,5,6\n").unwrap();
    let output = cavi(&directory, &["fit", "own.cavi", "--data", "x=x.csv", "--out", "o", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = cavi(&directory, &["project", "o", "--data", "x=new.csv", "--out", "p"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("E0904") && said.contains("`base` is computed from all rows"), "{said}");
}

/// Data that are centred within rows are centred by the means of the new rows, not by those of the fit at the same places.
///
/// (12, 8) less their mean are (2, -2), with t = (2, 1) and a prior of precision 1/100: z = (4 - 2) / 5.01; and (5, -5) of the second row.
#[test]
fn new_rows_are_centred_by_their_own_means() {
    let directory = scratch("by_hand_centred");
    let program = "axis row[n]\naxis obs[j] in row[n]\ndata x[n, j] : real, center over j\ndata t[n, j] : real\n\
        z[n] ~ Normal(0, sd = 10)\nx[n, j] ~ Normal(z[n] * t[n, j], sd = 1)\n";
    fs::write(directory.join("own.cavi"), program).unwrap();
    let table = |name: &str, rows: &[(&str, &str, f64)]| {
        let lines: Vec<String> =
            rows.iter().map(|(row, obs, value)| format!("{row},{obs},{value}\n")).collect();
        fs::write(directory.join(name), format!("row,obs,value\n{}", lines.concat())).unwrap();
    };
    table("x.csv", &[("a", "1", 101.0), ("a", "2", 99.0), ("b", "1", 12.0), ("b", "2", 8.0)]);
    table("t.csv", &[("a", "1", 2.0), ("a", "2", 1.0), ("b", "1", 2.0), ("b", "2", 1.0)]);
    table("x2.csv", &[("c", "1", 12.0), ("c", "2", 8.0), ("d", "1", 105.0), ("d", "2", 95.0)]);
    table("t2.csv", &[("c", "1", 2.0), ("c", "2", 1.0), ("d", "1", 2.0), ("d", "2", 1.0)]);
    let run = |arguments: &[&str]| {
        let output = cavi(&directory, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    run(&["fit", "own.cavi", "--data", "x=x.csv", "--data", "t=t.csv", "--out", "o", "--quiet"]);
    run(&["project", "o", "--data", "x=x2.csv", "--data", "t=t2.csv", "--out", "p", "--quiet"]);
    let found = cavi_files::read_npy(&directory.join("p/posterior/z.mean.npy")).unwrap().values;
    let far = found.iter().zip([2.0 / 5.01, 5.0 / 5.01]).any(|(own, right)| (own - right).abs() > 1e-6);
    assert!(found.len() == 2 && !far, "{found:?}");
}

/// A latent that one fit held and another did not has no common q: the average was NaN, or the first fit alone.
#[test]
fn fits_that_held_other_latents_are_not_averaged() {
    let directory = scratch("by_hand_held");
    let program = "axis n[n]\naxis dim[j]\ndata x[n, j] : real, absent = NA\nm[j] ~ Normal(0, sd = 10)\n\
        t[j] ~ Gamma(1, rate = 1)\nx[n, j] ~ Normal(m[j], prec = t[j])\n";
    fs::write(directory.join("own.cavi"), program).unwrap();
    fs::write(directory.join("x.csv"), "n,a,b\n1,1,2\n2,2,4\n3,0,3\n4,1,1\n").unwrap();
    fs::write(directory.join("m.csv"), "dim,m\na,1\nb,2\n").unwrap();
    fs::write(directory.join("other.csv"), "dim,m\na,1\nb,3\n").unwrap();
    let fits: [(&str, &[&str]); 4] = [
        ("A", &[]),
        ("B", &["--fix", "m=m.csv"]),
        ("C", &["--fix", "m=other.csv"]),
        ("D", &["--fix", "m=m.csv"]),
    ];
    for (out, fixed) in fits {
        let arguments =
            ["fit", "own.cavi", "--data", "x=x.csv", "--heldout", "x=0.3", "--out", out, "--quiet"];
        let output = cavi(&directory, &[&arguments[..], fixed].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    for (one, two, new, wanted) in [
        ("A", "B", false, "`m` was held in `B`, and not in `A`"),
        ("B", "A", true, "`m` was held in `B`, and not in `A`"),
        ("B", "C", false, "`m` was held at other values in `C` than in `B`"),
    ] {
        let data: &[&str] = if new { &["--data", "x=x.csv"] } else { &[] };
        let output = cavi(&directory, &[&["score", one, two][..], data].concat());
        let said = text(&output.stderr);
        assert!(output.status.code() != Some(0) && said.contains(wanted), "{one} {two}: {said}");
    }
    let output = cavi(&directory, &["score", "B", "D"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
