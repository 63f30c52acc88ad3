//! The data of a fit that are given again: in another order, for other rows, in part.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cavi, run, scratch, text};

fn prepared(name: &str, files: &[(&str, String)]) -> PathBuf {
    let directory = scratch(name);
    files.iter().for_each(|(file, content)| fs::write(directory.join(file), content).unwrap());
    directory
}

fn read(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join(file)).unwrap()
}

/// The column `mean` of a table of expected entries.
fn means(directory: &Path, file: &str) -> Vec<f64> {
    let table = read(directory, file);
    let place = table.lines().next().unwrap().split(',').position(|own| own == "mean").unwrap();
    table.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

/// `y = 100 + 3 x` without noise, x and y centred and scaled: new rows are expected on this line, whatever their own means are. Two latents alone bend it by less than 1 %.
#[test]
fn other_rows_are_standardised_by_the_constants_of_the_fit() {
    let program = "axis obs[n]\naxis pred[p]\ndata x[n, p] : real, center over n, scale over n\n\
        data y[n] : real, absent = NA, center over n, scale over n\nb[p] ~ Normal(0, sd = 100)\n\
        y[n] ~ Normal(sum[p](x[n, p] * b[p]), sd = 0.01)\n";
    let (mut x, mut y) = (String::from("obs,a\n"), String::from("obs,y\n"));
    for row in 0..40 {
        let own = f64::from(row * 7 % 40);
        writeln!(x, "o{row},{own}").unwrap();
        writeln!(y, "o{row},{}", 100.0 + 3.0 * own).unwrap();
    }
    let new = ["obs,a\nn0,50\nn1,60\nn2,70\n".to_owned(), "obs,y\nn0,\nn1,\nn2,\n".to_owned()];
    let [new_x, new_y] = new;
    let files =
        [("own.cavi", program.to_owned()), ("x.csv", x), ("y.csv", y), ("nx.csv", new_x), ("ny.csv", new_y)];
    let directory = prepared("given_again_rows", &files);
    run(&directory, "fit own.cavi --data x=x.csv --data y=y.csv:y --out o --quiet");
    run(&directory, "impute o --data x=nx.csv --data y=ny.csv:y --out i.csv --quiet");
    let found = means(&directory, "i.csv");
    for (own, right) in found.iter().zip([250.0, 280.0, 310.0]) {
        assert!((own - right).abs() < 0.05, "{found:?}");
    }
    // The fit's own rows, two of them, are where they were among all.
    fs::write(directory.join("few.csv"), "obs,a\no3,21\no1,7\n").unwrap();
    fs::write(directory.join("fewy.csv"), "obs,y\no3,163\no1,121\n").unwrap();
    run(&directory, "impute o --all --data x=few.csv --data y=fewy.csv:y --of y --out f.csv --quiet");
    let found = means(&directory, "f.csv");
    assert!((found[0] - 163.0).abs() < 0.05 && (found[1] - 121.0).abs() < 0.05, "{found:?}");
    let (shown, _) = run(&directory, "check-fit o --data x=few.csv --data y=fewy.csv:y --stat mean --json");
    assert!(shown.contains("\"observed\": 142.0"), "{shown}");
}

const RATINGS: &str = "axis user[u]\naxis item[i]\ndata r[u, i] : real, absent = NA, center over u, scale over u\n\
    a[u] ~ Normal(0, sd = 1)\nb[i] ~ Normal(0, sd = 1)\nr[u, i] ~ Normal(a[u] * b[i], sd = 1)\n";

/// Ratings of 12 users, who rate two thirds of 9 items, as lines of a table.
fn ratings() -> Vec<String> {
    let pairs = (0..12).flat_map(|user| (0..9).map(move |item| (user, item)));
    let rated = pairs.filter(|(user, item)| (user * 5 + item * 7) % 3 > 0);
    let line = |(user, item): (i32, i32)| {
        format!("u{user},i{item},{}", f64::from((user * 31 + item * 17) % 23) * f64::from(1 + item))
    };
    rated.map(line).collect()
}

#[test]
fn what_was_held_out_is_held_out_again_in_another_order_of_lines() {
    let lines = ratings();
    let table = |lines: &mut dyn Iterator<Item = &String>| {
        lines.fold(String::from("user,item,r\n"), |table, own| table + own + "\n")
    };
    let files = [
        ("own.cavi", RATINGS.to_owned()),
        ("r.csv", table(&mut lines.iter())),
        ("back.csv", table(&mut lines.iter().rev())),
        ("part.csv", table(&mut lines.iter().skip(9))),
    ];
    let directory = prepared("given_again_order", &files);
    run(&directory, "fit own.cavi --data r=r.csv --heldout r=0.2 --seed 3 --out o --quiet");
    for (data, out) in [("r.csv", "i.csv"), ("back.csv", "j.csv")] {
        run(&directory, &format!("impute o --data r={data} --out {out} --quiet"));
    }
    assert_eq!(read(&directory, "i.csv"), read(&directory, "j.csv"));
    // Of other data other entries would be hidden.
    let output = cavi(&directory, &["impute", "o", "--data", "r=part.csv", "--out", "k.csv"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("what was held out of the fit in `o` (14 entries)"), "{message}");
}

/// Covariates with missing entries are latent: `project` writes those that were given as they stand in the file, and one that is missing where the column
/// has its mean, in the same units.
#[test]
fn covariates_of_new_rows_are_written_in_their_units() {
    let program = "axis obs[n]\naxis pred[p]\ndata x[n, p] : real, absent = NA, center over n, scale over n\ndata y[n] : real\n\
        m[p] ~ Normal(0, sd = 1)\nx[n, p] ~ Normal(m[p], sd = 1)\nb[p] ~ Normal(0, sd = 1e-3)\ny[n] ~ Normal(sum[p](x[n, p] * b[p]), sd = 1)\n";
    let (mut x, mut y) = (String::from("obs,age,bmi\n"), String::from("obs,y\n"));
    for row in 0..40 {
        let missing = if row == 7 { "NA".to_owned() } else { format!("{}", 20 + row % 10) };
        writeln!(x, "o{row},{},{missing}", 40 + row * 7 % 20).unwrap();
        writeln!(y, "o{row},{}", row % 3).unwrap();
    }
    let files = [
        ("own.cavi", program.to_owned()),
        ("x.csv", x),
        ("y.csv", y),
        ("nx.csv", "obs,age,bmi\nn0,44.5,NA\nn1,51,23\n".to_owned()),
        ("ny.csv", "obs,y\nn0,1\nn1,2\n".to_owned()),
    ];
    let directory = prepared("given_again_units", &files);
    run(&directory, "fit own.cavi --data x=x.csv --data y=y.csv --out o --quiet");
    run(&directory, "project o --data x=nx.csv --data y=ny.csv --out p --quiet");
    let table = read(&directory, "p/x.csv");
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], ["obs", "age", "bmi"]);
    let value = |row: usize, column: usize| lines[row][column].parse::<f64>().unwrap();
    for (row, column, right) in [(1, 1, 44.5), (2, 1, 51.0), (2, 2, 23.0)] {
        assert!((value(row, column) - right).abs() < 1e-9, "{table}");
    }
    // 20 to 29, four times each but 27, which is missing once.
    let mean = (24.5 * 40.0 - 27.0) / 39.0;
    assert!((value(1, 2) - mean).abs() < 0.05, "{mean}\n{table}");
}

/// Ratings centred by item, of effects that are held near 0: what is expected of an item without ratings is the average of the items' means, whether it is held
/// out or new.
#[test]
fn rows_without_an_entry_are_expected_at_the_average_of_the_means() {
    let program = "axis user[u]\naxis item[i]\ndata r[u, i] : real, absent = NA, center over u, scale over u\n\
        a[u] ~ Normal(0, sd = 1e-4)\nb[i] ~ Normal(0, sd = 1e-4)\nr[u, i] ~ Normal(a[u] + b[i], sd = 1)\n";
    let (users, items) = (6, 5);
    let rating = |user: usize, item: usize| 10.0 * item as f64 + (user * 3 % 6) as f64;
    let table = |items: &[usize]| {
        let pairs = (0..users).flat_map(|user| items.iter().map(move |item| (user, *item)));
        pairs.fold(String::from("user,item,r\n"), |mut table, (user, item)| {
            writeln!(table, "u{user},i{item},{}", rating(user, item)).unwrap();
            table
        })
    };
    let all: Vec<usize> = (0..items).collect();
    let held = (0..users).fold(String::from("user,item\n"), |table, user| table + &format!("u{user},i2\n"));
    let files = [
        ("own.cavi", program.to_owned()),
        ("r.csv", table(&all)),
        ("held.csv", held),
        ("new.csv", "user,item,r\nu0,n0,NA\nu1,n0,NA\n".to_owned()),
    ];
    let directory = prepared("given_again_cold", &files);
    let of_item = |item: &usize| (0..users).map(|user| rating(user, *item)).sum::<f64>() / users as f64;
    run(&directory, "fit own.cavi --data r=r.csv --heldout r=held.csv --out o --quiet");
    run(&directory, "impute o --data r=r.csv --out i.csv --quiet");
    let known = [0, 1, 3, 4].iter().map(of_item).sum::<f64>() / 4.0;
    let found = means(&directory, "i.csv");
    assert_eq!(found.len(), users);
    found.iter().for_each(|own| assert!((own - known).abs() < 1e-3, "{known} {found:?}"));
    run(&directory, "fit own.cavi --data r=r.csv --out w --quiet");
    run(&directory, "project w --axis item --data r=new.csv --out p --quiet");
    run(&directory, "impute p --out j.csv --quiet");
    let known = all.iter().map(of_item).sum::<f64>() / items as f64;
    let found = means(&directory, "j.csv");
    assert!(!found.is_empty());
    found.iter().for_each(|own| assert!((own - known).abs() < 1e-3, "{known} {found:?}"));
}

/// Goals of six teams: new games name four of them, and have the rates of these, as the files of the fit say them.
#[test]
fn new_rows_name_some_of_the_labels_of_the_fit() {
    let program = "axis team[i]\naxis game[g]\ndata home[g] : index team\ndata away[g] : index team\ndata x[g] : count\n\
        att[i] ~ Gamma(2, rate = 1)\ndef[i] ~ Gamma(2, rate = 1)\nx[g] ~ Poisson(att[home[g]] * def[away[g]])\n";
    let teams: Vec<String> = (0..6).map(|team| format!("t{team}")).collect();
    let pairs =
        (0..6).flat_map(|one| (0..6).map(move |other| (one, other))).filter(|(one, other)| one != other);
    let game = |(number, (one, other)): (usize, (usize, usize))| {
        format!("g{number},{},{},{}\n", teams[one], teams[other], (one * 3 + other * 5) % 4)
    };
    let games: String = pairs.enumerate().map(game).collect();
    let head = "game,home,away,x\n";
    let files = [
        ("own.cavi", program.to_owned()),
        ("g.csv", format!("{head}{games}")),
        ("new.csv", format!("{head}n1,t5,t1,0\nn2,t2,t4,0\n")),
        ("other.csv", format!("{head}n1,t5,t9,0\n")),
        ("ids.csv", format!("{head}{games}").replace(",t", ",")),
        ("ids_new.csv", format!("{head}n1,5,1,0\nn2,2,4,0\n")),
    ];
    let directory = prepared("given_again_some", &files);
    let data =
        |file: &str| ["home", "away", "x"].map(|name| format!("--data {name}={file}:{name}")).join(" ");
    run(&directory, &format!("fit own.cavi {} --out o --quiet", data("g.csv")));
    let mean = |name: &str| -> Vec<f64> {
        let path = directory.join(format!("o/posterior/{name}.mean.npy"));
        cavi_files::read_npy(&path).unwrap().values
    };
    let (att, def) = (mean("att"), mean("def"));
    let right = [att[5] * def[1], att[2] * def[4]];
    let near = |found: &[f64]| {
        assert_eq!(found.len(), 2);
        found
            .iter()
            .zip(right)
            .for_each(|(own, right)| assert!((own - right).abs() < 1e-9, "{found:?} {right}"));
    };
    run(&directory, &format!("impute o --all {} --of x --out i.csv --quiet", data("new.csv")));
    near(&means(&directory, "i.csv"));
    let (shown, _) = run(&directory, &format!("check-fit o {} --stat mean --json", data("new.csv")));
    assert!(shown.contains("\"observed\": 0.0"), "{shown}");
    // A team that never played.
    let line = format!("impute o --all {} --of x --out j.csv", data("other.csv"));
    let output = cavi(&directory, &line.split(' ').collect::<Vec<_>>());
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("axis `team`: `t9` is no label of the fit in `o`"), "{message}");
    assert!(message.contains("the 6 labels of axis `team`"), "{message}");
    // Numbers in the place of names.
    run(&directory, &format!("fit own.cavi {} --out p --quiet", data("ids.csv")));
    run(&directory, &format!("impute p --all {} --of x --out k.csv --quiet", data("ids_new.csv")));
    near(&means(&directory, "k.csv"));
}
