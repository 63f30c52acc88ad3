//! That rows without labels are not joined by their order where a column of their table says that they stand in another.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cavi, scratch, text};

fn prepared(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(name);
    for (file, content) in files {
        fs::write(directory.join(file), content).unwrap();
    }
    directory
}

/// The mean of a latent of a fit, and what the fit says.
fn fitted(directory: &Path, line: &str, latent: &str) -> (Vec<f64>, String) {
    let line = format!("fit {line} --out o --tol 1e-12 --sweeps 100000 --quiet");
    let output = cavi(directory, &line.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    let path = directory.join(format!("o/posterior/{latent}.mean.npy"));
    (cavi_files::read_npy(&path).unwrap().values, text(&output.stderr))
}

fn check_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{found}, not {expected}");
    }
}

/// A fit that is refused, with all of these in what it says.
fn check_refused(directory: &Path, line: &str, said: &[&str]) {
    let line = format!("fit {line} --out r --quiet");
    let output = cavi(directory, &line.split_whitespace().collect::<Vec<_>>());
    let found = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {found}");
    for own in said {
        assert!(found.contains(own), "{line}: {own} is not in {found}");
    }
}

const CLINICS: &str = "axis obs[o]\naxis clinic[c]\ndata who[o] : index clinic\ndata beds[c] : real\ndata y[o] : real\n\
                       b ~ Normal(0, sd = 10)\na ~ Normal(0, sd = 10)\ny[o] ~ Normal(a + b * beds[who[o]], sd = 1)\n";

/// The slope of y = 1, 2, 3, 1.1 in x = 10, 20, 30, 10 with the program's priors, by the normal equations of two unknowns.
fn slope() -> f64 {
    let (n, x, xx, y, xy) = (4.01, 70.0, 1500.01, 7.1, 151.0);
    (n * xy - x * y) / (n * xx - x * x)
}

#[test]
fn a_table_whose_key_has_another_name_is_not_joined_by_order() {
    let directory = prepared(
        "same_rows_clinics",
        &[
            ("m.cavi", CLINICS),
            ("y.csv", "who,y\n1,1\n2,2\n3,3\n1,1.1\n"),
            ("from_0.csv", "who,y\n0,1\n1,2\n2,3\n0,1.1\n"),
            ("named.csv", "who,y\nA,1\nB,2\nC,3\nA,1.1\n"),
            ("clinic.csv", "clinic,beds\n3,30\n2,20\n1,10\n"),
            ("who.csv", "who,beds\n3,30\n2,20\n1,10\n"),
            ("zeros.csv", "nr,beds\n03,30\n02,20\n01,10\n"),
            ("positions.csv", "nr,beds\n2,30\n1,20\n0,10\n"),
            ("in_order.csv", "nr,beds\n1,10\n2,20\n3,30\n"),
            ("staff.csv", "staff,beds\n7,10\n5,20\n12,30\n"),
            ("twice.csv", "name,beds\nC,30\nB,20\nA,10\nA,11\n"),
            ("lacking.csv", "clinic,beds\n2,20\n1,10\n"),
            ("empty.csv", "name,beds\nC,30\nB,20\n,10\n"),
        ],
    );
    let run = |y: &str, beds: &str| format!("m.cavi --data who={y}:who --data y={y}:y --data beds={beds}");
    for table in ["clinic.csv", "in_order.csv", "staff.csv"] {
        let (found, _) = fitted(&directory, &run("y.csv", table), "b");
        check_near(&found, &[slope()]);
    }
    check_refused(
        &directory,
        &run("y.csv", "who.csv"),
        &[
            "who.csv",
            "column `who` has labels of `clinic`",
            "it is 3 in line 2",
            "`--columns beds=clinic:who`",
        ],
    );
    check_refused(
        &directory,
        &run("y.csv", "zeros.csv"),
        &["lacks the label `1`", "`01` of zeros.csv may be this clinic"],
    );
    check_refused(&directory, &run("from_0.csv", "positions.csv"), &["column `nr` has labels of `clinic`"]);
    let twice = ["twice.csv", "`A` stands in line 4 and in line 5", "`name`", "`clinic`"];
    check_refused(&directory, &run("named.csv", "twice.csv:beds"), &twice);
    check_refused(&directory, &run("named.csv", "empty.csv:beds"), &["`name`", "it is empty in line 4"]);
    // The label is that of another file, not of the one that lacks it.
    check_refused(
        &directory,
        &run("y.csv", "lacking.csv"),
        &["lacking.csv lacks the label `3`", "which y.csv has"],
    );
    // The line that the message has.
    let (found, _) =
        fitted(&directory, &format!("{} --columns beds=clinic:who", run("y.csv", "who.csv")), "b");
    check_near(&found, &[slope()]);
}

const AREAS: &str = "axis area[a]\naxis cov[p]\ndata y[a] : real\ndata X[a, p] : real\nb[p] ~ Normal(0, sd = 10)\n\
                     y[a] ~ Normal(sum[p](b[p] * X[a, p]), sd = 0.1)\nposterior { q(b[:p]) }\n";

#[test]
fn a_key_among_covariates_is_not_joined_by_order() {
    let rows = "1009,5,1\n1007,4,1\n1005,3,1\n1003,2,1\n1001,1,1\n";
    let (named, other) = (format!("area,income,one\n{rows}"), format!("fips,income,one\n{rows}"));
    let sorted = "fips,income,one\n1001,1,1\n1003,2,1\n1005,3,1\n1007,4,1\n1009,5,1\n";
    let y = "1001,1\n1003,2\n1005,3\n1007,4\n1009,5\n";
    let (y_named, y_other) = (format!("area,y\n{y}"), format!("fips,y\n{y}"));
    let directory = prepared(
        "same_rows_areas",
        &[
            ("m.cavi", AREAS),
            ("X.csv", &named),
            ("X_fips.csv", &other),
            ("X_sorted.csv", sorted),
            ("y.csv", &y_named),
            ("y_fips.csv", &y_other),
        ],
    );
    // y = 1 * income + 0 * one, without noise; the prior of variance 100 beside one of 0.01 moves it by less than 1e-4.
    let (found, _) = fitted(&directory, "m.cavi --data X=X.csv --data y=y.csv", "b");
    assert!((found[0] - 1.0).abs() < 1e-4 && found[1].abs() < 3e-4, "{found:?}");
    let both = ["X_fips.csv", "`fips`", "1009 in line 2", "`area`"];
    check_refused(&directory, "m.cavi --data X=X_fips.csv --data y=y.csv", &both);
    check_refused(&directory, "m.cavi --data X=X_fips.csv --data y=y_fips.csv", &both);
    check_refused(
        &directory,
        "m.cavi --data X=X.csv --data y=y_fips.csv",
        &["y_fips.csv", "`fips`", "`area`"],
    );
    // In the right order it may be a covariate, which is told.
    for y in ["y.csv", "y_fips.csv"] {
        let (_, said) = fitted(&directory, &format!("m.cavi --data X=X_sorted.csv --data y={y}"), "b");
        assert!(said.contains("the column `fips` is read as data of `X`"), "{said}");
    }
}

#[test]
fn two_tables_in_two_orders_are_not_joined_by_order() {
    let model = "axis obs[o]\ndata x[o] : real\ndata y[o] : real\nb ~ Normal(0, sd = 10)\ny[o] ~ Normal(b * x[o], sd = 1)\n";
    let directory = prepared(
        "same_rows_pairs",
        &[
            ("m.cavi", model),
            ("x.csv", "country,year,x\nA,1,1\nA,2,2\nB,1,3\nB,2,4\n"),
            ("y.csv", "country,year,y\nA,1,2\nB,1,6\nA,2,4\nB,2,8\n"),
            ("y_turned.csv", "country,year,y\nA,2,4\nA,1,2\nB,2,8\nB,1,6\n"),
            ("y_in_order.csv", "country,year,y\nA,1,2\nA,2,4\nB,1,6\nB,2,8\n"),
            ("x_id.csv", "id,x\n7,1\n8,2\n9,3\n5,4\n"),
            ("y_key.csv", ",key,y\n0,5,8\n1,7,2\n2,8,4\n3,9,6\n"),
            ("trials.csv", "n,x\n10,1\n12,2\n10,3\n11,4\n"),
            ("others.csv", "n,y\n12,2\n10,4\n10,6\n9,8\n"),
        ],
    );
    // sum x y / (sum x^2 + 1 / 100), sums 60 and 30.
    for (x, y) in [("x.csv", "y_in_order.csv"), ("trials.csv", "others.csv")] {
        let (found, _) = fitted(&directory, &format!("m.cavi --data x={x} --data y={y}"), "b");
        check_near(&found, &[60.0 / 30.01]);
    }
    check_refused(&directory, "m.cavi --data x=x.csv --data y=y.csv", &["`country` is A in line 3 of x.csv"]);
    check_refused(
        &directory,
        "m.cavi --data x=x.csv --data y=y_turned.csv",
        &["`year` is 1 in line 2 of x.csv"],
    );
    check_refused(
        &directory,
        "m.cavi --data x=x_id.csv --data y=y_key.csv",
        &["`id` is 7 in line 2", "`key` is 5"],
    );
}

#[test]
fn constants_and_held_values_are_not_joined_by_order() {
    let directory = prepared(
        "same_rows_constants",
        &[
            (
                "m.cavi",
                "axis area[a]\ndata y[a] : count\nconst E[a] : positive\nr[a] ~ Gamma(1, rate = 1)\ny[a] ~ Poisson(E[a] * r[a])\n",
            ),
            ("y.csv", "area,y\n1001,10\n1003,20\n1005,30\n"),
            ("E.csv", "area,E\n1005,30\n1003,20\n1001,10\n"),
            ("E_fips.csv", "fips,E\n1005,30\n1003,20\n1001,10\n"),
            (
                "z.cavi",
                "axis i[i]\naxis k[k] = 2\ndata y[i] : real\nmu[k] ~ Normal(0, sd = 100)\nz[i] ~ Categorical(pi)\n\
                 pi[:k] ~ Dirichlet(1)\ny[i] ~ Normal(mu[z[i]], sd = 5)\n",
            ),
            ("yz.csv", "i,y\n11,0\n12,1\n13,9\n14,10\n15,11\n"),
            ("known.csv", "nr,z\n15,hi\n14,hi\n13,hi\n12,lo\n11,lo\n"),
            ("named.csv", "i,z\n15,hi\n14,hi\n13,hi\n12,lo\n11,lo\n"),
        ],
    );
    // The mean of a Gamma(1 + y, 1 + E), which is 1 where y = E.
    let (found, _) = fitted(&directory, "m.cavi --data y=y.csv --set E=E.csv", "r");
    check_near(&found, &[1.0, 1.0, 1.0]);
    let wrong = ["E_fips.csv", "`fips`", "`area`", "1005 in line 2"];
    check_refused(&directory, "m.cavi --data y=y.csv --set E=E_fips.csv", &wrong);
    // Means of 9, 10 and 11 and of 0 and 1, each with variance 25 beside a prior of 10000.
    let (found, _) = fitted(&directory, "z.cavi --data y=yz.csv --fix z=named.csv", "mu");
    check_near(&found, &[30.0 / 3.0025, 1.0 / 2.0025]);
    check_refused(
        &directory,
        "z.cavi --data y=yz.csv --fix z=known.csv",
        &["known.csv", "`nr`", "15 in line 2"],
    );
}

/// The first column of a square table under the names of its nodes is one of them, whatever numbers stand in it.
#[test]
fn distances_of_nodes_are_no_labels() {
    let directory = prepared(
        "same_rows_square",
        &[
            (
                "m.cavi",
                "axis node[i, j]\ndata d[i, j] : real\nm ~ Normal(0, sd = 10)\nd[i, j] ~ Normal(m, sd = 1)\n",
            ),
            ("d.csv", "1,2,3,four\n0,1,3,2\n1,0,2,3\n3,2,0,1\n2,3,1,0\n"),
        ],
    );
    // 16 entries of sum 24, beside a prior of variance 100.
    check_near(&fitted(&directory, "m.cavi --data d=d.csv", "m").0, &[24.0 / 16.01]);
}

/// A mask without labels stands in the order of the data only if no column of its says otherwise.
#[test]
fn masks_are_not_joined_by_order() {
    let directory = prepared(
        "same_rows_masks",
        &[
            ("m.cavi", "axis area[a]\ndata y[a] : real\nm ~ Normal(0, sd = 10)\ny[a] ~ Normal(m, sd = 1)\n"),
            ("y.csv", "area,y\n1001,1\n1003,2\n1005,30\n"),
            ("mask.csv", "area,held\n1005,1\n1003,0\n1001,0\n"),
            ("fips.csv", "fips,held\n1005,1\n1003,0\n1001,0\n"),
            ("fips_y.csv", "fips,y\n1005,1\n1003,0\n1001,0\n"),
            ("plain.csv", "held\n0\n0\n1\n"),
        ],
    );
    for mask in ["mask.csv", "plain.csv"] {
        // The mean of 1 and 2, beside a prior of variance 100.
        let (found, _) = fitted(&directory, &format!("m.cavi --data y=y.csv --heldout y={mask}"), "m");
        check_near(&found, &[3.0 / 2.01]);
    }
    let said = ["fips.csv", "`fips` has labels of `area`", "1005 in line 2", "call the column as the axis"];
    check_refused(&directory, "m.cavi --data y=y.csv --heldout y=fips.csv:held", &said);
    let named = ["fips_y.csv", "`fips` has labels of `area`"];
    check_refused(&directory, "m.cavi --data y=y.csv --heldout y=fips_y.csv", &named);
}
