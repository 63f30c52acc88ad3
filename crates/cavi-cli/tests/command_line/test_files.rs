//! `cavi fit --heldout NAME=FILE` with a table of test entries beside the table of training entries.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cavi, scratch, text};
use serde_json::Value;

/// Ratings, where an entry that no line gives was not observed.
const RATINGS: &str = "axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : real, absent = NA\n\
    w[u, k] ~ Normal(0, sd = 1)\nh[i, k] ~ Normal(0, sd = 1)\ny[u, i] ~ Normal(sum[k](w[u, k] * h[i, k]), sd = 0.5)\n";

/// Counts, where an entry that no line gives is 0.
const COUNTS: &str = "axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : count, absent = 0\n\
    w[u, k] ~ Gamma(0.5, rate = 1)\nh[i, k] ~ Gamma(0.5, rate = 1)\ny[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))\n";

/// Counts of words: rows without missing entries.
const WORDS: &str = "axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : count, absent = 0\n\
    w[u, :k] ~ Dirichlet(0.5)\nh[k, :i] ~ Dirichlet(0.5)\ny[u, :i] ~ Multinomial(sum[k](w[u, k] * h[k, :i]))\n";

const FIT: [&str; 10] =
    ["fit", "m.cavi", "--sweeps", "20", "--seed", "3", "--progress", "none", "--out", "o"];

/// A long table of some of the cells of 12 x 9, by the remainder of their number. Labels are numbers, so that their order does not
/// depend on the file.
fn table(chosen: impl Fn(usize) -> bool, value: impl Fn(usize, usize) -> String) -> String {
    let mut lines = "user,item,rating\n".to_owned();
    for cell in (0..12 * 9).filter(|cell| chosen(cell % 7)) {
        let (user, item) = (cell / 9, cell % 9);
        writeln!(lines, "{user},{item},{}", value(user, item)).unwrap();
    }
    lines
}

fn count(user: usize, item: usize) -> String {
    (1 + (user * item + user) % 4).to_string()
}

fn rating(user: usize, item: usize) -> String {
    format!("{:.2}", (user as f64 - 5.5) * (item as f64 - 4.0) / 10.0)
}

/// A directory with the program, `train.csv`, `test.csv` of other entries, and `all.csv` of both.
fn prepared(name: &str, program: &str, value: fn(usize, usize) -> String) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("train.csv"), table(|rest| rest < 4, value)).unwrap();
    fs::write(directory.join("test.csv"), table(|rest| rest == 4, value)).unwrap();
    fs::write(directory.join("all.csv"), table(|rest| rest <= 4, value)).unwrap();
    directory
}

/// The score of a fit in `summary.json`, and what the fit said.
fn score(directory: &Path, data: &str, held: &str) -> (Value, String) {
    let (data, held) = (format!("y={data}"), format!("y={held}"));
    let output = cavi(directory, &[&FIT[..], &["--data", &data, "--heldout", &held, "--force"]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    (summary["heldout"].clone(), said)
}

fn refused(directory: &Path, data: &str, held: &str) -> String {
    let (data, held) = (format!("y={data}"), format!("y={held}"));
    let output = cavi(directory, &[&FIT[..], &["--data", &data, "--heldout", &held]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn a_table_of_test_entries_beside_that_of_training_is_worth_a_split_of_both() {
    for (name, program, value) in
        [("test_ratings", RATINGS, rating as fn(usize, usize) -> String), ("test_counts", COUNTS, count)]
    {
        let directory = prepared(name, program, value);
        let (apart, said) = score(&directory, "train.csv", "test.csv");
        assert!(said.contains("15 with the value that the file gives"), "{said}");
        let (within, said) = score(&directory, "all.csv", "test.csv");
        assert!(said.contains("15 with the value that the data have"), "{said}");
        assert_eq!(apart, within, "{name}");
        // A mask of ones hides the same entries.
        fs::write(directory.join("ones.csv"), table(|rest| rest == 4, |_, _| "1".to_owned())).unwrap();
        assert_eq!(score(&directory, "all.csv", "ones.csv").0, within, "{name}");
        // Entries alone are hidden with the values of the data, or as the zeros that they are.
        let places =
            table(|rest| rest == 4, |_, _| String::new()).replace(",rating", "").replace(",\n", "\n");
        fs::write(directory.join("places.csv"), places).unwrap();
        assert_eq!(score(&directory, "all.csv", "places.csv").0, within, "{name}");
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("test_counts");
    let (zeros, said) = score(&directory, "train.csv", "places.csv");
    assert!(said.contains("15 as zeros, which the data do not list"), "{said}");
    assert_ne!(zeros, score(&directory, "train.csv", "test.csv").0);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("test_ratings");
    assert!(
        refused(&directory, "train.csv", "places.csv")
            .contains("neither the data nor places.csv have a value")
    );
    // Of several columns the one that the data are read from holds the values, or the one with the name of the array.
    let apart = score(&directory, "train.csv", "test.csv").0;
    let wide = |own: fn(usize) -> bool, rating_as: &str| {
        table(own, |user, item| format!("{},{}", user * 31 + item, rating(user, item)))
            .replace("rating", &format!("stamp,{rating_as}"))
    };
    for name in ["rating", "y"] {
        fs::write(directory.join("train_stamps.csv"), wide(|rest| rest < 4, name)).unwrap();
        fs::write(directory.join("test_stamps.csv"), wide(|rest| rest == 4, name)).unwrap();
        assert_eq!(
            score(&directory, &format!("train_stamps.csv:{name}"), "test_stamps.csv").0,
            apart,
            "{name}"
        );
    }
    assert_eq!(score(&directory, "train.csv", "test_stamps.csv").0, apart);
    fs::write(directory.join("test_stamps.csv"), wide(|rest| rest == 4, "grade")).unwrap();
    let said = refused(&directory, "train.csv", "test_stamps.csv");
    assert!(said.contains("any of the 15 entries") && said.contains("FILE:COLUMN"), "{said}");
    // Of no entries no fraction is an entry.
    fs::write(directory.join("none.csv"), "user,item,rating\n").unwrap();
    let said = refused(&directory, "none.csv", "0.5");
    assert!(said.contains("nothing of `y` is held out") && said.contains("data that have entries"), "{said}");
}

#[test]
fn ones_are_values_where_the_data_are_ones_and_do_not_list_the_entries() {
    let directory = prepared("test_ones", COUNTS, |_, _| "1".to_owned());
    let (_, said) = score(&directory, "train.csv", "test.csv");
    assert!(said.contains("15 with the value that the file gives"), "{said}");
    let some: String = table(|rest| rest == 3 || rest == 4, |_, _| "1".to_owned());
    fs::write(directory.join("mask.csv"), some).unwrap();
    let (_, said) = score(&directory, "train.csv", "mask.csv");
    assert!(said.contains("as zeros, which the data do not list"), "{said}");
}

#[test]
fn labels_that_only_the_test_file_has_are_left_out_and_counted() {
    let directory = prepared("test_labels", COUNTS, count);
    let (known, _) = score(&directory, "train.csv", "test.csv");
    let more = fs::read_to_string(directory.join("test.csv")).unwrap() + "1,77,3\n99,1,1\n";
    fs::write(directory.join("more.csv"), more).unwrap();
    let (with_new, said) = score(&directory, "train.csv", "more.csv");
    assert!(said.contains("; 2 entries left out, for labels or places that the data do not have"), "{said}");
    assert_eq!(with_new, known);
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("o/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["heldout_left_out"]["y"], 2);
    fs::write(directory.join("none.csv"), "user,item,rating\n70,71,1\n").unwrap();
    let message = refused(&directory, "train.csv", "none.csv");
    assert!(message.contains("none.csv, line 2") && message.contains("`70`"), "{message}");
}

#[test]
fn values_outside_of_their_type_are_refused_and_those_of_a_mask_are_none() {
    let directory = prepared("test_values", COUNTS, count);
    let test = fs::read_to_string(directory.join("test.csv")).unwrap();
    for (line, wanted) in [
        ("0,5,-1", "a count: a whole number, 0 or greater"),
        ("0,5,1.5", "a count: a whole number, 0 or greater"),
        ("0,5,four", "`rating`"),
    ] {
        fs::write(directory.join("wrong.csv"), format!("{test}{line}\n")).unwrap();
        let message = refused(&directory, "train.csv", "wrong.csv");
        assert!(message.contains(wanted), "{line}: {message}");
    }
    fs::write(directory.join("mask.csv"), format!("{test}0,0,9\n")).unwrap();
    let (_, said) = score(&directory, "train.csv", "mask.csv");
    let wanted = "warning: mask.csv is read as a mask, and its numbers are no values of `y`: y[0, 0] is 9 there and 1 in the data. ";
    assert!(said.contains("15 as zeros") && said.contains(wanted), "{said}");
    fs::write(directory.join("mask.csv"), format!("{test}0,0,9\n0,1,9\n0,2,9\n")).unwrap();
    assert!(score(&directory, "train.csv", "mask.csv").1.contains("and 2 more differ"));
    let directory = prepared("test_values_twice", RATINGS, rating);
    fs::write(directory.join("twice.csv"), "user,item,rating\n0,4,1\n0,4,2\n").unwrap();
    let message = refused(&directory, "train.csv", "twice.csv");
    assert!(message.contains("y[0, 4] is 1 and 2 in twice.csv"), "{message}");
}

#[test]
fn a_file_of_counts_beside_rows_that_are_complete_gives_further_units() {
    let directory = prepared("test_units", WORDS, count);
    let (found, said) = score(&directory, "train.csv", "test.csv");
    assert!(said.contains("15 with the value that the file gives"), "{said}");
    let read = |name: &str| {
        let path = directory.join(format!("o/posterior/{name}.mean.npy"));
        let array = cavi_files::read_npy(&path).unwrap();
        (array.shape, array.values)
    };
    // Each unit of word i in row u has the probability sum_k E w_uk E h_ki.
    let ((_, w), (shape, h)) = (read("w"), read("h"));
    let labels = |axis: &str| -> Vec<String> {
        let text = fs::read_to_string(directory.join(format!("o/axes/{axis}.txt"))).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let (users, items) = (labels("user"), labels("item"));
    let test = fs::read_to_string(directory.join("test.csv")).unwrap();
    let (mut sum, mut units) = (0.0, 0.0);
    for line in test.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (Some(u), Some(i)) = (
            users.iter().position(|label| label == fields[0]),
            items.iter().position(|label| label == fields[1]),
        ) else {
            continue;
        };
        let count: f64 = fields[2].parse().unwrap();
        let probability: f64 = (0..shape[0]).map(|k| w[u * shape[0] + k] * h[k * shape[1] + i]).sum();
        sum += count * probability.ln();
        units += count;
    }
    let own = &found["y"];
    assert_eq!(own["n_scored"].as_f64(), Some(units), "{found}");
    assert!((own["log_predictive"].as_f64().unwrap() - sum).abs() < 1e-9 * sum.abs(), "{found} {sum}");
    fs::write(directory.join("places.csv"), "user,item\n0,4\n").unwrap();
    let message = refused(&directory, "train.csv", "places.csv");
    assert!(message.contains("gives no counts") && message.contains("--heldout y=0.1"), "{message}");
}

#[test]
fn entries_that_have_no_latent_of_their_own_are_refused() {
    let own = RATINGS.replace("sd = 0.5)", "prec = t[u, i])") + "t[u, i] ~ Gamma(2, rate = 2)\n";
    let directory = prepared("test_listed", &own, rating);
    let message = refused(&directory, "train.csv", "test.csv");
    assert!(
        message.contains("is not listed in the data, and the program has latents for listed entries alone")
    );
    score(&directory, "all.csv", "test.csv");
}

/// Of a file of entries only the positions count, whatever `--columns` says of the table of the data.
#[test]
fn a_list_of_entries_needs_no_column_of_values() {
    let directory = scratch("test_files_columns");
    let program = "axis user[u]\naxis item[i]\ndata y[u, i] : real, absent = NA\nm ~ Normal(0, sd = 10)\ny[u, i] ~ Normal(m, sd = 1)\n";
    for (name, content) in [
        ("m.cavi", program),
        ("y.csv", "user,item,rating,week\na,p,1,9\na,q,2,9\nb,p,3,8\nb,q,40,8\n"),
        ("ids.csv", "who,what,rating,week\na,p,1,9\na,q,2,9\nb,p,3,8\nb,q,40,8\n"),
        ("wide.csv", ",p,q\na,1,2\nb,3,40\n"),
        ("held.csv", "user,item\nb,q\n"),
        ("noted.csv", "user,item,why\nb,q,far off\n"),
        ("held_ids.csv", "who,what\nb,q\n"),
        ("typing.csv", "whom,what\nb,q\n"),
        (
            "vector.cavi",
            "axis user[u]\ndata y[u] : real, absent = NA\nm ~ Normal(0, sd = 10)\ny[u] ~ Normal(m, sd = 1)\n",
        ),
        ("v.csv", "who,rating,week\na,1,9\nb,2,9\nc,3,8\nd,40,8\n"),
        ("held_v.csv", "user\nd\n"),
        ("held_who.csv", "who\nd\n"),
    ] {
        fs::write(directory.join(name), content).unwrap();
    }
    let mean = |line: &str| {
        let line = format!("fit {line} --out o --force --quiet");
        let output = cavi(&directory, &line.split_whitespace().collect::<Vec<_>>());
        let said = text(&output.stderr);
        let path = directory.join("o/posterior/m.mean.npy");
        if output.status.success() { Ok(cavi_files::read_npy(&path).unwrap().values[0]) } else { Err(said) }
    };
    for line in [
        "m.cavi --data y=y.csv --columns y=value:rating --heldout y=held.csv",
        "m.cavi --data y=y.csv --columns y=value:rating --heldout y=noted.csv",
        "m.cavi --data y=ids.csv --columns y=user:who,item:what,value:rating --heldout y=held.csv",
        "m.cavi --data y=wide.csv --columns y=wide --heldout y=held.csv",
        "m.cavi --data y=ids.csv --columns y=user:who,item:what,value:rating --heldout y=held_ids.csv",
        "vector.cavi --data y=v.csv --columns y=user:who,value:rating --heldout y=held_v.csv",
        "vector.cavi --data y=v.csv --columns y=user:who,value:rating --heldout y=held_who.csv",
    ] {
        // The mean of 1, 2 and 3 with variance 1 each, beside a prior of variance 100.
        let found = mean(line).unwrap();
        assert!((found - 6.0 / 3.01).abs() < 1e-9, "{line}: {found}");
    }
    let columns =
        "m.cavi --data y=ids.csv --columns y=user:who,item:what,value:rating --heldout y=typing.csv";
    let said = mean(columns).unwrap_err();
    assert!(said.contains("expected a column `who`"), "{said}");
    // Data have to have the column.
    let said = mean("m.cavi --data y=held.csv --columns y=value:rating").unwrap_err();
    assert!(said.contains("expected a column `rating`"), "{said}");
}
