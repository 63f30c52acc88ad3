//! What is said of the data that were read: the line of each array, what looks like a mistake, and `cavi data`.

use std::fs;
use std::path::PathBuf;

use crate::common::{MODEL, cavi, fit, scratch, text};

const COUNTS: &str = "axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : count, absent = 0\n\
    w[u, k] ~ Gamma(1, rate = 1)\nh[i, k] ~ Gamma(1, rate = 1)\ny[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))\n";
const VIEWS: &str = "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k] = 1\n\
    data x[n, m, j] : real, absent = NA\nz[n, k] ~ Normal(0, sd = 1)\nw[m, j, k] ~ Normal(0, sd = 1)\n\
    x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), sd = 1)\n";

fn prepared(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("counts.cavi"), COUNTS).unwrap();
    fs::write(directory.join("views.cavi"), VIEWS).unwrap();
    for (file, text) in files {
        fs::write(directory.join(file), text).unwrap();
    }
    directory
}

const RATINGS: &str = "userId,movieId,rating,timestamp\n1,1,4,964982703\n1,3,4,964981247\n2,1,3,964982224\n";

/// A table of ids was once rows by columns, and its items were called as its columns are.
#[test]
fn tables_of_ids_are_long_or_say_what_to_type() {
    let directory = prepared(
        "data_ids",
        &[
            ("ml.csv", RATINGS),
            ("ids.csv", "user_id,item_id,count\n1,10,3\n1,11,1\n2,10,2\n3,12,7\n"),
            ("ids_of_rows.csv", "id,a,b\n17,3,0\n12,0,2\n31,1,1\n4,2,2\n25,0,4\n"),
            ("years.csv", ",2020,2021\n17,3,0\n22,0,2\n31,1,1\n"),
            ("wide.csv", "id,a,b\n1,3,0\n2,0,2\n3,1,1\n4,2,2\n5,0,4\n"),
            ("named.csv", "user,a,b\n1,3,0\n2,0,2\n3,1,1\n4,2,2\n5,0,4\n"),
            ("empty.csv", ",a,b\n1,3,0\n2,0,2\n3,1,1\n4,2,2\n5,0,4\n"),
        ],
    );
    let fit = |arguments: &[&str]| fit(&directory, "counts.cavi", arguments);
    let (status, said) = fit(&["--data", "y=ml.csv"]);
    assert_eq!(status, 1, "{said}");
    let line = "--columns y=user:userId,item:movieId,value:rating";
    assert!(said.contains(line) && said.contains("`--columns y=wide`"), "{said}");
    assert!(!directory.join("o").exists());
    // Both lines do what they say.
    let (status, said) = fit(&["--data", "y=ml.csv", "--columns", line.split_once(' ').unwrap().1]);
    assert_eq!(
        (status, said.as_str()),
        (0, "y: 2 user (1, 2) x 2 item (1, 3), 3 entries, 1 zero, 0 missing, sum 11\n")
    );
    let (status, said) = fit(&["--data", "y=ml.csv", "--columns", "y=wide"]);
    assert!(
        status == 0 && said.starts_with("y: 3 user x 4 item (userId, movieId, ...), 12 entries"),
        "{said}"
    );
    assert!(said.contains("look like names of columns: `rating`, `timestamp`"), "{said}");
    let (status, said) = fit(&["--data", "y=ids.csv"]);
    assert_eq!(
        (status, said.as_str()),
        (0, "y: 3 user (1, 2, 3) x 3 item (10, 11, 12), 4 entries, 5 zeros, 0 missing, sum 13\n")
    );
    // A counter is labels where the header says so, and data with a warning elsewhere.
    for file in ["y=named.csv", "y=empty.csv"] {
        let (status, said) = fit(&["--data", file]);
        assert!(
            status == 0 && said.starts_with("y: 5 user (1, 2, 3, 4, 5) x 2 item (a, b), 7 entries"),
            "{said}"
        );
        assert!(!said.contains("warning"), "{said}");
    }
    let (status, said) = fit(&["--data", "y=wide.csv"]);
    assert!(status == 0 && said.contains("warning: wide.csv: the column `id` counts the rows"), "{said}");
    assert!(said.contains("name it `user`"), "{said}");
    let (status, said) = fit(&["--data", "y=ids_of_rows.csv"]);
    assert!(status == 0 && said.contains("the column `id` has another whole number in each row"), "{said}");
    fs::write(
        directory.join("pairs.cavi"),
        "axis user[u]\naxis item[i]\ndata y[u, i] : real, absent = NA\na ~ Normal(0, sd = 9)\ny[u, i] ~ Normal(a, sd = 1)\n",
    )
    .unwrap();
    let (_, said) = crate::common::fit(&directory, "pairs.cavi", &["--data", "y=years.csv"]);
    assert!(
        said.contains("if 2020 and 2021 are names of columns, write `user` into the empty field"),
        "{said}"
    );
}

/// Labels that meet nowhere, and files that look transposed.
#[test]
fn labels_that_meet_nowhere_are_warned_about() {
    let view = |rows: &[&str], columns: &[&str]| {
        let mut text = format!(",{}\n", columns.join(","));
        for (i, row) in rows.iter().enumerate() {
            let cells: Vec<String> = (0..columns.len()).map(|j| format!("{}", (i * 7 + j * 3) % 5)).collect();
            text += &format!("{row},{}\n", cells.join(","));
        }
        text
    };
    let people = ["P000", "P001", "P002", "P003"];
    let samples = ["P000-01A", "P001-01A", "P002-01A", "P003-01A"];
    let directory = prepared(
        "data_disjoint",
        &[
            ("a.csv", &view(&samples, &["g1", "g2"])),
            ("b.csv", &view(&people, &["p1", "p2", "p3"])),
            ("c.csv", &view(&["P003", "Q1"], &["m1"])),
            ("t.csv", &view(&["q1", "q2"], &people)),
            ("long.csv", "sample,view,feature,v\nr1,a,f,1\nr2,a,f,2\nr3,b,g,2\nr4,b,g,3\n"),
        ],
    );
    let fit = |arguments: &[&str]| fit(&directory, "views.cavi", arguments);
    let (status, said) = fit(&["--data", "x[a]=a.csv", "--data", "x[b]=b.csv", "--quiet"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.starts_with("warning: `x[a]` and `x[b]` have no sample in common (`P000-01A`, "), "{said}");
    assert!(said.contains("`P000-01A` and `P000` may be one sample"), "{said}");
    // One label in common is enough, and a label of other words says nothing of ends.
    let (_, said) = fit(&["--data", "x[b]=b.csv", "--data", "x[c]=c.csv"]);
    assert!(!said.contains("in common"), "{said}");
    assert!(
        said.starts_with(
            "x: 5 sample (P000, P001, P002, ...) x 4 feature in view (b 3, c 1), 14 entries, 6 missing"
        ),
        "{said}"
    );
    let (_, said) = fit(&["--data", "x=long.csv"]);
    assert!(
        said.contains("`x[a]` and `x[b]` have no sample in common (`r1`, `r2` and `r3`, `r4`)"),
        "{said}"
    );
    assert!(said.contains("alike in all files"), "{said}");
    let (_, said) = fit(&["--data", "x[b]=b.csv", "--data", "x[t]=t.csv"]);
    assert!(said.contains("t.csv looks transposed") && !said.contains("in common"), "{said}");
}

/// A size that the program states says which way a file goes.
#[test]
fn a_transposed_file_is_seen_by_its_sizes() {
    let directory = prepared(
        "data_transposed",
        &[("t.csv", ",s1,s2,s3\nA,1,0,2\nB,0,1,3\n"), ("plain.csv", "1,0,2\n0,1,3\n")],
    );
    fs::write(directory.join("sized.cavi"), COUNTS.replace("axis item[i]", "axis item[i] = 2")).unwrap();
    let wrong = |arguments: &[&str]| fit(&directory, "sized.cavi", arguments);
    for file in ["y=t.csv", "y=plain.csv"] {
        let (status, said) = wrong(&["--data", file]);
        assert_eq!(status, 1, "{said}");
        assert!(said.contains("looks transposed: it has 2 rows and 3 columns"), "{said}");
        assert!(said.contains("help: `--transpose y`"), "{said}");
        let (status, said) = wrong(&["--data", file, "--transpose", "y"]);
        assert!(status == 0 && said.starts_with("y: 3 user"), "{said}");
    }
}

/// Positions of which nothing, or nothing that differs, is observed.
#[test]
fn empty_and_constant_positions_are_warned_about() {
    let directory = prepared(
        "data_poor",
        &[("y.csv", ",a,b,c\nu1,1,0,2\nu2,0,0,0\nu3,3,0,1\n"), ("x.csv", ",f,g\ns1,1,2\ns2,1,NA\ns3,1,3\n")],
    );
    let (_, said) = fit(&directory, "counts.cavi", &["--data", "y=y.csv"]);
    assert!(said.contains("warning: `y`: 1 of 3 positions of axis `user` has zeros alone: u2\n"), "{said}");
    assert!(said.contains("warning: `y`: 1 of 3 positions of axis `item` has zeros alone: b\n"), "{said}");
    let (_, said) = fit(&directory, "views.cavi", &["--data", "x[m]=x.csv"]);
    assert!(
        said.contains("x: 3 sample (s1, s2, s3) x 2 feature in view (m 2), 5 entries, 1 missing, "),
        "{said}"
    );
    assert!(said.contains("`x`: 1 of 2 positions of axis `feature` has equal entries: m/f\n"), "{said}");
}

/// A file without a program: its first lines, what it is read as, and a line that binds it and works.
#[test]
fn a_file_is_shown_with_the_line_that_binds_it() {
    let directory = prepared(
        "data_show",
        &[
            ("ml.csv", RATINGS),
            ("w.csv", ",a,b\nr,0.5,1\ns,2,3\n"),
            ("t.tns", "1 1 1 3\n2 2 1 4\n"),
            ("v.csv", "x\n1\n2\n"),
            ("text.csv", "name,colour\nx,red\ny,blue\n"),
        ],
    );
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let data = |arguments: &[&str]| {
        let output = cavi(&directory, &[&["data"], arguments].concat());
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    };
    let (status, shown, said) = data(&["ml.csv"]);
    assert_eq!((status, said.as_str()), (0, "note: 1 of the 4 entries of `y` are missing\n"));
    assert!(
        shown.starts_with(
            "ml.csv: table, fields parted by commas, a header, 4 columns, 3 lines\n  1  userId,"
        ),
        "{shown}"
    );
    assert!(shown.contains("\ny: 2 user (1, 2) x 2 movie (1, 3), 3 entries, 1 missing, sum 11\n"), "{shown}");
    let columns = "--data y=ml.csv --columns y=user:userId,movie:movieId,value:rating --out DIR\n";
    assert!(shown.ends_with(columns), "{shown}");
    // The declaration and the line make a program run.
    let (_, shown, _) = data(&[
        "ml.csv",
        "--as",
        "n[user, item] : count, absent = 0",
        "--columns",
        "n=user:userId,item:movieId,value:rating",
    ]);
    let declared: Vec<&str> =
        shown.lines().skip_while(|line| *line != "declared").skip(1).take(3).map(str::trim).collect();
    let letters: Vec<&str> =
        declared[..2].iter().map(|line| line.split_once('[').unwrap().1.trim_end_matches(']')).collect();
    let (u, i) = (letters[0], letters[1]);
    let program = format!(
        "{}\naxis z_part[zk] = 2\nw[{u}, zk] ~ Gamma(1, rate = 1)\nh[{i}, zk] ~ Gamma(1, rate = 1)\n\
         n[{u}, {i}] ~ Poisson(sum[zk](w[{u}, zk] * h[{i}, zk]))\n",
        declared.join("\n")
    );
    fs::write(directory.join("own.cavi"), program).unwrap();
    let line = shown.lines().last().unwrap().trim().replace("MODEL", "own.cavi").replace("DIR", "o");
    let arguments: Vec<&str> = line.split(' ').skip(1).chain(["--sweeps", "1"]).collect();
    let output = cavi(&directory, &arguments);
    assert_eq!(output.status.code(), Some(0), "{line}\n{}", text(&output.stderr));

    for (arguments, wanted) in [
        (
            &["w.csv"][..],
            "y: 2 row (r, s) x 2 column (a, b), 4 entries, 0 missing, mean 1.625, from 0.5 to 3\n",
        ),
        (&["t.tns"], "y: 2 axis1 x 2 axis2 x 1 axis3, 2 entries, 2 zeros, 0 missing, sum 7\n"),
        (&["v.csv"], "y: 2 row, 2 entries, 0 zeros, 0 missing, sum 3\n"),
        (
            &["w.csv", "--as", "m[gene, cell] : real", "--transpose", "m"],
            "m: 2 gene (a, b) x 2 cell (r, s), 4 entries",
        ),
        (
            &["text.csv:colour", "--as", "c[name] : index colour"],
            "c: 2 name (x, y), 2 entries, 0 missing, 2 of 2 colour in them\n",
        ),
    ] {
        let (status, shown, said) = data(arguments);
        assert!(status == 0 && shown.contains(wanted), "{arguments:?}: {shown}{said}");
    }
    for (arguments, wanted) in [
        (&["none.csv"][..], &["none.csv", "no such file"][..]),
        (&["m.cavi"], &["m.cavi", ".csv"]),
        (
            &["ml.csv", "--as", "y[user, item] : count, absent = 0"],
            &["`--columns y=user:userId,item:movieId,value:rating`"],
        ),
        (&["ml.csv", "--as", "y[user item]"], &["declares no data", "`y[user, item] : count`"]),
        (&["ml.csv", "--as", "y[user, item] : counts"], &["declares no data", "`counts`"]),
        (&["w.csv", "--as", "y[u, i] : count"], &["0.5", "count"]),
        (&["text.csv"], &["text.csv"]),
    ] {
        let (status, shown, said) = data(arguments);
        assert_eq!(status, 1, "{arguments:?}: {shown}{said}");
        assert!(
            said.starts_with("error") && wanted.iter().all(|part| said.contains(part)),
            "{arguments:?}: {said}"
        );
    }
}

/// What a fit found: its `report` lines after the fit, and its variables from the directory alone.
#[test]
fn what_was_found_is_shown_after_a_fit_and_from_its_directory() {
    let directory = prepared(
        "data_found",
        &[("y.csv", ",apple,bread,cat,dog\nu1,9,8,0,0\nu2,7,9,0,1\nu3,0,0,8,9\nu4,1,0,7,9\n")],
    );
    let program = COUNTS
        .replace("w[u, k] ~ Gamma", "r ~ Gamma(1, rate = 1)\nw[u, k] ~ Gamma")
        .replace("y[u, i] ~ Poisson(", "y[u, i] ~ Poisson(r * ");
    let program = program
        .replace("h[i, k] ~ Gamma(1, rate = 1)", "h[k, :i] ~ Dirichlet(0.5)")
        .replace("h[i, k]", "h[k, i]");
    fs::write(directory.join("r.cavi"), format!("{program}report {{\n  top 2 item in h[k, :i]\n}}\n"))
        .unwrap();
    let fit = ["fit", "r.cavi", "--data", "y=y.csv", "--sweeps", "40", "--tol", "0", "--out", "o"];
    let output = cavi(&directory, &fit);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].starts_with("not converged after 40 sweeps")
            && lines[1].starts_with("explains ")
            && lines[2].starts_with("part in y: 2 of 2 have 1 % or more of the units: ")
            && lines[3].starts_with("h: the largest entries over item"),
        "{shown}"
    );
    assert!(lines[4].contains("apple") && lines[4].contains("bread") != lines[4].contains("dog"), "{shown}");
    assert_eq!(lines[6], "written to o");
    assert!(cavi(&directory, &[&fit[..], &["--quiet"]].concat()).stdout.is_empty());

    let run = |arguments: &[&str]| {
        let output = cavi(&directory, arguments);
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    };
    // From the directory alone, the same entries in the same order.
    fs::remove_file(directory.join("y.csv")).unwrap();
    let (status, top, said) = run(&["top", "o", "h", "--n", "2"]);
    assert_eq!((status, top.lines().collect::<Vec<_>>()), (0, lines[3..6].to_vec()), "{said}");
    let (_, turned, _) = run(&["top", "o", "h", "--over", "part"]);
    assert!(turned.starts_with("h: the largest entries over part\n  item apple  "), "{turned}");
    let (status, shown, said) = run(&["summary", "o"]);
    assert_eq!(status, 0, "{said}");
    assert!(
        shown.starts_with("model: user 4, item 4, part 2\nnot converged after 40 sweeps, seed 0: ELBO -"),
        "{shown}"
    );
    assert!(shown.contains("\nh (part 2 x item 4): mean from ") && shown.contains("\nr: mean "), "{shown}");
    let (_, shown, _) = run(&["summary", "o", "w"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        (lines.len(), lines[1].split_whitespace().collect::<Vec<_>>()),
        (10, vec!["user", "part", "mean", "sd", "q05", "q95"])
    );
    // The first mean and the deviation of its Gamma, from the files themselves.
    let read = |name: &str| -> f64 {
        let bytes = fs::read(directory.join(format!("o/posterior/w.{name}.npy"))).unwrap();
        f64::from_le_bytes(bytes[bytes.len() - 64..bytes.len() - 56].try_into().unwrap())
    };
    let cells: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(cells[..2], ["u1", "0"]);
    let near = |cell: &str, value: f64| (cell.parse::<f64>().unwrap() / value - 1.0).abs() < 1e-4;
    assert!(
        near(cells[2], read("mean")) && near(cells[3], read("shape").sqrt() / read("rate")),
        "{}",
        lines[2]
    );
    for (arguments, status, wanted) in [
        (&["summary", "nothing"][..], 1, "nothing/summary.json"),
        (&["summary", "o", "ww"], 1, "possible: `r`, `w`, `h`"),
        (&["top", "o", "y"], 1, "no latent `y`"),
        (&["top", "o", "r"], 1, "`r` is one number"),
        (&["top", "o", "h", "--over", "user"], 1, "`h` has no axis `user`"),
        (&["top", "o", "h", "--n", "0"], 2, "1 or greater"),
    ] {
        let (code, shown, said) = run(arguments);
        assert!(code == status && said.contains(wanted) && shown.is_empty(), "{arguments:?}: {said}");
    }
}

/// Every group of a ragged variable, its nested labels in file names.
#[test]
fn groups_of_ragged_variables_are_shown_one_by_one() {
    let directory =
        prepared("data_groups", &[("a.csv", "f,g\n1,2\n0,1\n-1,1\n"), ("b.csv", "p\n1\n2\n-1\n")]);
    let (status, said) = fit(&directory, "views.cavi", &["--data", "x[a/1]=a.csv", "--data", "x[b]=b.csv"]);
    assert_eq!(status, 0, "{said}");
    let output = cavi(&directory, &["summary", "o"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("\nw[a/1] (feature 2 x factor 1): mean")
            && shown.contains("\nw[b] (feature 1 x factor 1)"),
        "{shown}"
    );
    let shown = text(&cavi(&directory, &["top", "o", "w"]).stdout);
    assert!(shown.starts_with("w[a/1]: the largest") && shown.contains("\nw[b]: the largest"), "{shown}");
}

/// What nobody rated is not proposed as 0, and what says when an entry came about is not proposed as its value.
#[test]
fn ratings_and_times_are_proposed_as_such() {
    let directory = prepared(
        "data_ratings",
        &[
            ("ml.csv", "userId,movieId,rating\n1,1,4\n1,3,5\n2,1,3\n"),
            ("tags.csv", "userId,movieId,tag,timestamp\n1,1,fun,964982703\n1,3,old,964981247\n"),
            ("n.csv", "row,c\n1,2\n"),
        ],
    );
    let output = cavi(&directory, &["data", "ml.csv"]);
    assert!(text(&output.stdout).contains(": count, absent = NA\n"), "{}", text(&output.stdout));
    let output = cavi(&directory, &["data", "tags.csv"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    // The name is that of the options.
    let options = ["--columns", "r=user:userId,movie:movieId,value:rating"];
    let output = cavi(&directory, &[&["data", "ml.csv"], &options[..]].concat());
    let shown = text(&output.stdout);
    assert!(output.status.code() == Some(0) && shown.contains("data r[u, m]"), "{shown}");
}

/// The same table as .csv and as .parquet gives the same fit, to the bit, and the same words about it.
#[test]
fn a_parquet_table_is_that_of_csv() {
    let directory = prepared("data_parquet", &[]);
    let written = crate::common::root().join("crates/cavi-files/tests/data/parquet");
    for name in ["plays", "rated", "texts"] {
        for suffix in ["csv", "parquet"] {
            let file = format!("{name}.{suffix}");
            fs::copy(written.join(&file), directory.join(&file)).unwrap();
        }
    }
    let of = |name: &str, columns: Option<&str>, column: &str| -> Vec<(String, Vec<u8>)> {
        let read = |suffix: &str| {
            let data = format!("y={name}.{suffix}{column}");
            let mut arguments = vec!["--data", &data];
            arguments.extend(columns.iter().flat_map(|own| ["--columns", own]));
            let (status, said) = fit(&directory, "counts.cavi", &arguments);
            assert_eq!(status, 0, "{said}");
            (said, fs::read(directory.join("o/posterior/h.shape.npy")).unwrap())
        };
        ["csv", "parquet"].map(read).to_vec()
    };
    for columns in [Some("y=user:user,item:track,value:plays"), Some("y=user:track,item:user,value:plays")] {
        let found = of("plays", columns, "");
        assert_eq!(found[0], found[1]);
    }
    let found = of("texts", None, ":body");
    assert!(found[0] == found[1] && found[0].0.contains("y: 3 user (3, 5, 9) x 1 item (red)"), "{found:?}");
    let declared = "y[user, track] : count, absent = 0";
    let output = cavi(&directory, &["data", "plays.parquet", "--as", declared]);
    let said = text(&output.stdout);
    assert!(
        said.starts_with("plays.parquet: Parquet table, 3 columns, 37 rows\n  1  user,track,plays\n"),
        "{said}"
    );
    assert!(
        said.contains("y: 11 user (1, 2, 3, 4, 5, 6, 7, ...) x 5 track (x, Ödland, 7, ...), 37 entries"),
        "{said}"
    );
    let output = cavi(&directory, &["data", "rated.parquet:when"]);
    let said = text(&output.stderr);
    assert!(said.contains("rated.parquet, column `when`: found dates or times"), "{said}");
}

/// What was once done or left silently.
#[test]
fn entries_that_were_added_up_and_data_of_one_value_are_said() {
    let directory = prepared(
        "data_silent",
        &[
            ("twice.csv", "user,item,n\na,x,1\nb,x,2\na,x,3\na,y,1\nb,y,1\nb,y,1\n"),
            ("zeros.csv", ",a,b,c\nr,0,0,0\ns,0,0,0\n"),
            ("fours.csv", ",a,b,c\nr,4,4,4\ns,4,4,4\n"),
            ("poor.mtx", "%%MatrixMarket matrix coordinate integer general\n3 2 2\n1 1 4\n3 2 1\n"),
        ],
    );
    let fit = |data: &str| fit(&directory, "counts.cavi", &["--data", data]);
    let (status, said) = fit("y=twice.csv");
    assert_eq!(status, 0, "{said}");
    assert!(
        said.starts_with(
            "y: 2 user (a, b) x 2 item (x, y), 4 entries, 0 zeros, 0 missing, sum 9 (2 lines stand a second"
        ),
        "{said}"
    );
    let (_, said) = fit("y=zeros.csv");
    assert!(said.contains("warning: `y`: all entries are 0\n"), "{said}");
    let (_, said) = fit("y=fours.csv");
    assert!(said.contains("warning: `y`: all 6 entries are 4\n"), "{said}");
    let (_, said) = fit("y=poor.mtx");
    assert!(said.contains("axis `user` has zeros alone: 1 (counted from 0)"), "{said}");
}

#[test]
fn the_standard_input_is_a_file_of_the_format_that_is_named() {
    let directory = prepared("data_stdin", &[]);
    let with = |input: &str, arguments: &[&str]| {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_cavi"))
            .args(arguments)
            .current_dir(&directory)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let table = "user;item;n\na;x;1\nb;y;2\n";
    let fit =
        |data: &str| with(table, &["fit", "counts.cavi", "--data", data, "--out", "o", "--progress", "none"]);
    let (status, _, said) = fit("y=-.csv");
    assert_eq!(
        (status, said.as_str()),
        (0, "y: 2 user (a, b) x 2 item (x, y), 2 entries, 2 zeros, 0 missing, sum 3\n")
    );
    let (status, _, said) = fit("y=-");
    assert!(status == 1 && said.contains("`--data y=-.csv` reads a table from it"), "{said}");
    let (status, shown, said) =
        with(table, &["data", "--as", "y[user, item] : count, absent = 0", "--", "-.csv"]);
    assert_eq!(status, 0, "{said}");
    assert!(
        shown.starts_with("-.csv: table, fields parted by semicolons, a header, 3 columns, 2 lines\n"),
        "{shown}"
    );
    assert!(shown.contains("sum 3") && shown.contains("--data y=-.csv"), "{shown}");
}

#[test]
fn genes_of_one_name_and_queries_lead_to_the_line_to_type() {
    let directory = prepared("data_genes", &[]);
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cavi-files/tests/data");
    fs::copy(data.join("hdf5/twice.h5ad"), directory.join("twice.h5ad")).unwrap();
    fs::copy(data.join("sqlite/shop.db"), directory.join("shop.db")).unwrap();
    let (status, said) = fit(&directory, "counts.cavi", &["--data", "y=twice.h5ad"]);
    assert!(status == 1 && said.contains("`TBCE`") && said.contains("`--unique`"), "{said}");
    let (status, said) = fit(&directory, "counts.cavi", &["--data", "y=twice.h5ad", "--unique"]);
    assert!(
        status == 0 && said.starts_with("y: 10 user (CELL0-1, CELL1-1, ...) x 6 item (CD3E, TBCE, "),
        "{said}"
    );
    // What is asked of the fit later reads the file as the fit did.
    let asked = cavi(&directory, &["impute", "o", "--all"]);
    assert!(asked.status.success(), "{}", text(&asked.stderr));
    assert!(fs::read_to_string(directory.join("o/imputed/y.csv")).unwrap().contains("TBCE-1"));
    let shown = cavi(&directory, &["data", "twice.h5ad", "--unique"]);
    assert!(text(&shown.stdout).ends_with("cavi fit MODEL --data y=twice.h5ad --unique --out DIR\n"));
    let (status, said) = fit(&directory, "counts.cavi", &["--data", "y=shop.db"]);
    assert!(
        status == 1 && said.contains("`--data 'y=shop.db:SELECT user, track, plays FROM plays'`"),
        "{said}"
    );
    let query = "y=shop.db:SELECT user, track AS item, plays FROM plays";
    let (status, said) = fit(&directory, "counts.cavi", &["--data", query]);
    assert!(status == 0 && said.contains("37 entries"), "{said}");
    // Neither `user` nor `track` says that it is an id, and `track` is text.
    let shown = text(&cavi(&directory, &["data", "shop.db:SELECT user, track, plays FROM plays"]).stdout);
    assert!(
        shown.starts_with(
            "shop.db:SELECT user, track, plays FROM plays: SQLite: a query with 3 columns, 37 rows"
        ),
        "{shown}"
    );
    assert!(shown.contains("\n  data y[u, t] : count, absent = 0\n"), "{shown}");
    assert!(
        shown.ends_with("--data 'y=shop.db:SELECT user, track, plays FROM plays' --out DIR\n"),
        "{shown}"
    );
}

/// The name above the labels of the rows is that of an axis: of which one says which way the table goes.
#[test]
fn a_table_whose_rows_are_named_as_its_columns_is_read_and_warned_about() {
    let table = |name: &str| format!("{name},s1,s2,s3\nA,1,0,2\nB,0,1,3\n");
    let directory = prepared(
        "data_corner",
        &[
            ("item.csv", &table("item")),
            ("items.csv", &table("Items")),
            ("user.csv", &table("user")),
            ("none.csv", &table("")),
            ("other.csv", &table("gene")),
        ],
    );
    let warns = |file: &str, more: &[&str]| {
        let (status, said) =
            fit(&directory, "counts.cavi", &[&["--data", &format!("y={file}")], more].concat());
        assert_eq!(status, 0, "{said}");
        said.contains("looks transposed").then_some(said)
    };
    let said = warns("item.csv", &[]).expect("a warning");
    assert!(
        said.contains(
            "warning: item.csv looks transposed: the labels of its rows stand below `item`, and its rows are read as user, \
             its columns as item\n  help: `--transpose y`; or, if rows are user, write `user` there, or nothing\n"
        ),
        "{said}"
    );
    assert!(warns("items.csv", &[]).is_some());
    assert!(warns("item.csv", &["--transpose", "y"]).is_none());
    assert!(
        warns("user.csv", &["--transpose", "y"]).expect("a warning").contains("leave `--transpose y` out")
    );
    for file in ["user.csv", "none.csv", "other.csv"] {
        assert!(warns(file, &[]).is_none(), "{file}");
    }
}

/// -999 among measurements is most likely a missing value that another program wrote.
#[test]
fn a_code_for_missing_values_is_warned_about() {
    let directory = prepared(
        "data_codes",
        &[
            ("x.csv", ",f,g\ns1,1.5,-999\ns2,-999,2\ns3,8,NA\n"),
            ("once.csv", ",f,g\ns1,1.5,-999\ns2,3,2\ns3,8,NA\n"),
            ("near.csv", ",f,g\ns1,60,99\ns2,99,2\ns3,8,NA\n"),
            ("y.csv", "user,item,count\na,s,3\na,t,9999\nb,s,9999\nb,u,1\n"),
        ],
    );
    let said = |model: &str, data: &str| {
        let (status, said) = fit(&directory, model, &["--data", data]);
        assert_eq!(status, 0, "{said}");
        said
    };
    let of_views = said("views.cavi", "x[m]=x.csv");
    assert!(
        of_views.contains(
            "warning: x.csv: -999 stands 2 times, and all other values lie from 1.5 to 8: it may stand for a missing value\n  \
             help: write `NA` or nothing in its place, with `absent = NA` in the declaration of `x`\n"
        ),
        "{of_views}"
    );
    assert!(
        said("counts.cavi", "y=y.csv")
            .contains("y.csv: 9999 stands 2 times, and all other values lie from 1 to 3")
    );
    for data in ["x[m]=once.csv", "x[m]=near.csv"] {
        assert!(!said("views.cavi", data).contains("missing value\n"), "{data}");
    }
}

const REGRESSION: &str = "axis n[i]\naxis f[j]\ndata x[i, j] : real\ndata y[i] : real\nb[j] ~ Normal(0, sd = 1)\n\
    y[i] ~ Normal(sum[j](b[j] * x[i, j]), sd = 1)\n";

/// What a file that is turned lacks follows from that, and `absent = NA` would be the wrong answer.
#[test]
fn a_turned_file_is_told_in_place_of_what_it_lacks() {
    let directory = prepared(
        "data_turned",
        &[
            ("reg.cavi", REGRESSION),
            ("turned.csv", "id,s1,s2,s3\nf1,1,3,5\nf2,2,4,7\n"),
            ("x.csv", "id,f1,f2\ns1,1,2\ns2,3,4\ns3,5,7\n"),
            ("y.csv", "id,y\ns1,1\ns2,2\ns3,3.5\n"),
        ],
    );
    let (status, said) = fit(&directory, "reg.cavi", &["--data", "x=turned.csv", "--data", "y=y.csv"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("turned.csv looks transposed") && said.contains("help: `--transpose x`"), "{said}");
    assert!(!said.contains("lacks the label"), "{said}");
    let line = ["--data", "x=x.csv", "--data", "y=y.csv", "--transpose", "x"];
    let (status, said) = fit(&directory, "reg.cavi", &line);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("help: leave `--transpose x` out"), "{said}");
}

/// Rows of a file with labels and of one without are the same by their order, which is said.
#[test]
fn what_has_no_labels_is_said_to_be_taken_in_order() {
    let directory = prepared(
        "data_by_order",
        &[
            ("reg.cavi", REGRESSION),
            ("x.csv", "id,f1,f2\ns1,1,2\ns2,3,4\ns3,5,7\n"),
            ("y.csv", "1\n2\n3.5\n"),
            ("named.csv", "id,y\ns3,3.5\ns1,1\ns2,2\n"),
            ("labels.txt", "s1\ns2\ns3\n"),
        ],
    );
    let note = "labels of axis `n` stand in `x` (x.csv), and none in `y` (y.csv): what has none is taken in the same order";
    let said = |arguments: &[&str]| {
        let (status, said) =
            fit(&directory, "reg.cavi", &[&["--data", "x=x.csv", "--force"], arguments].concat());
        assert_eq!(status, 0, "{said}");
        said
    };
    assert!(said(&["--data", "y=y.csv"]).contains(note));
    assert!(!said(&["--data", "y=named.csv"]).contains("same order"));
    assert!(!said(&["--data", "y=y.csv", "--labels", "n=labels.txt"]).contains("same order"));
}

/// An entry that a program computes and that has no value names what it was computed from.
#[test]
fn what_a_computed_entry_comes_from_is_named() {
    let program = "axis s[n]\naxis g[j]\ndata x[n, j] : count, absent = 0\ndata size[n] = sum[j](x[n, j])\n\
        data y[n, j] : real = log(1 + x[n, j] / size[n])\nm ~ Normal(0, sd = 1)\ny[n, j] ~ Normal(m, sd = 1)\n";
    let files = [("d.cavi", program), ("x.csv", "s,a,b\ns0,1,2\ns1,0,0\n")];
    let directory = prepared("data_computed", &files);
    let (status, said) = fit(&directory, "d.cavi", &["--data", "x=x.csv"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("the data `y` is NaN at y[s1, a]"), "{said}");
    assert!(said.contains("the program computes `y`, here from x[s1, a] = 0 and size[s1] = 0"), "{said}");
}

/// Nothing that is measured has a 0 in front: a first column of such codes holds labels, under a name that says nothing.
#[test]
fn codes_with_zeros_in_front_are_labels() {
    let directory = scratch("data_codes");
    fs::write(directory.join("m.cavi"), "axis row[n]\naxis column[j]\ndata x[n, j] : real\nm[j] ~ Normal(0, sd = 10)\nx[n, j] ~ Normal(m[j], sd = 1)\n")
        .unwrap();
    fs::write(directory.join("x.csv"), "plot,a,b\n0003,2.2,1.3\n0022,3.6,1.8\n0107,1.6,2.8\n").unwrap();
    let output = cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--out", "o", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(directory.join("o/axes/row.txt")).unwrap(), "0003\n0022\n0107\n");
    assert_eq!(fs::read_to_string(directory.join("o/axes/column.txt")).unwrap(), "a\nb\n");
}

/// Among answers from 1 to 5 a 99 or a -9 is most likely none; ids of many kinds may be what they are.
#[test]
fn codes_of_missing_answers_are_told() {
    let directory = scratch("data_answer_codes");
    fs::write(
        directory.join("m.cavi"),
        "axis person[n]\naxis answer[a]\ndata x[n] : index answer, absent = NA\np[:a] ~ Dirichlet(1)\nx[n] ~ Categorical(p)\n",
    )
    .unwrap();
    for (code, is_told) in [("99", true), ("-9", true), ("6", false), ("9", false)] {
        let rows = (0..20).map(|row| {
            format!("p{row},{}\n", if row == 7 { code.to_owned() } else { (row % 5 + 1).to_string() })
        });
        fs::write(directory.join("x.csv"), format!("person,x\n{}", rows.collect::<String>())).unwrap();
        let output =
            cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--out", "o", "--force", "--quiet"]);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("it may stand for a missing value"), is_told, "{code}: {said}");
    }
}
