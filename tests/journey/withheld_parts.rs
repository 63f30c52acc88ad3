//! Which entries are held out as whole rows, as last entries, and as the parts of a cross-validation, in any program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cavi::bind::{ArrayInput, Inputs, Source};
use cavi::heldout::{self, HeldOut, Request};
use cavi::{Compiled, Problem};

/// User, item, time and date.
type Rating = (usize, usize, u32, String);

/// Ratings: 11 users, 7 items, some 60% of them observed; a time that is no axis, tied here and there, and a date in another order.
fn ratings() -> (String, Vec<Rating>) {
    let mut entries = Vec::new();
    for cell in (0..77_usize).filter(|cell| cell * 7 % 10 < 6) {
        let (user, item) = (cell / 7, cell % 7);
        let date = format!("20{:02}-0{}-1{}", 10 + cell * 5 % 13, 1 + item % 9, user % 10);
        entries.push((user, item, (cell * 37 % 20) as u32, date));
    }
    let lines: Vec<String> = entries
        .iter()
        .map(|(user, item, time, date)| format!("{user},i{item},{},{time},{date}\n", 1 + user * item % 5))
        .collect();
    (format!("user,item,rating,time,date\n{}", lines.concat()), entries)
}

fn program(data: &str, last: &str) -> String {
    let latents = match last.contains("Multinomial") {
        true => "w[u, :k] ~ Dirichlet(0.5)\nh[k, :i] ~ Dirichlet(0.5)\n",
        false => "w[u, k] ~ Gamma(1, rate = 1)\nh[i, k] ~ Gamma(1, rate = 1)\n",
    };
    format!("axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : {data}\n{latents}{last}\n")
}

const NORMAL: &str = "y[u, i] ~ Normal(sum[k](w[u, k] * h[i, k]), sd = 1)";
const POISSON: &str = "y[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))";
const MULTINOMIAL: &str = "y[u, :i] ~ Multinomial(sum[k](w[u, k] * h[k, :i]))";

/// The inputs: the table as a file of its own, which a further column is read from.
fn inputs(name: &str, table: &str, column: Option<&str>) -> Inputs {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("withheld_parts_{name}.csv"));
    std::fs::write(&path, table).expect("a scratch file");
    let name = if column == Some("value") { "x" } else { "y" };
    let source = Source::File { path, column: column.map(str::to_owned) };
    Inputs { data: vec![ArrayInput { name: name.to_owned(), group: None, source }], ..Inputs::default() }
}

fn open(text: &str, inputs: &Inputs) -> Compiled {
    cavi::session::open(text, "y.cavi", inputs).unwrap_or_else(|error| panic!("{error}")).0
}

fn held(text: &str, inputs: &Inputs, requests: &[&str]) -> (Problem, HeldOut) {
    let requests: Vec<Request> =
        requests.iter().map(|text| Request::parse("--heldout", text).expect("a request")).collect();
    heldout::bind(open(text, inputs), inputs, &requests, 4).unwrap_or_else(|error| panic!("{error}"))
}

/// The labels of what is held out, with the values.
fn labelled((problem, held): &(Problem, HeldOut)) -> BTreeMap<Vec<String>, f64> {
    let part = &held.parts[0];
    let array = problem.model.symbols.array(part.array);
    let label = |dimension: usize, position: u32| {
        let axis = problem.model.symbols.letter(array.letters[dimension]).axis;
        let labels = &problem.binding.labels;
        labels.path(&problem.model.symbols, &problem.binding.bound, axis, position as usize).join("/")
    };
    let entries = part.values.iter().enumerate().map(|(entry, value)| {
        let labels = part.coordinates.iter().enumerate();
        (labels.map(|(dimension, column)| label(dimension, column[entry])).collect(), *value)
    });
    entries.collect()
}

#[test]
fn whole_rows_are_whole_and_others_stay() {
    let (table, entries) = ratings();
    let inputs = inputs("rows", &table, Some("rating"));
    for (data, last) in
        [("real, absent = NA", NORMAL), ("count, absent = 0", POISSON), ("count, absent = 0", MULTINOMIAL)]
    {
        let found = labelled(&held(&program(data, last), &inputs, &["y=rows:0.3"]));
        let users: BTreeSet<&String> = found.keys().map(|labels| &labels[0]).collect();
        // 0.3 of 11 rows, rounded.
        assert_eq!(users.len(), 3, "{last}");
        let of_users = entries.iter().filter(|own| users.contains(&own.0.to_string())).count();
        // Of counts at a rate the zeros are observed too.
        let wanted = if last == POISSON { 3 * 7 } else { of_users };
        assert_eq!(found.len(), wanted, "{last}");
        for (user, item, ..) in entries.iter().filter(|own| users.contains(&own.0.to_string())) {
            let value = found[&vec![user.to_string(), format!("i{item}")]];
            assert_eq!(value, (1 + user * item % 5) as f64);
        }
    }
}

/// The entry of each user that comes last by a key, of those with several.
fn last_of<K: PartialOrd>(entries: &[Rating], key: impl Fn(&Rating) -> K) -> BTreeSet<Vec<String>> {
    let mut last: BTreeMap<usize, (usize, &Rating)> = BTreeMap::new();
    for own in entries {
        let (count, before) = last.entry(own.0).or_insert((0, own));
        *count += 1;
        // Of equal ones the last line.
        if key(own) >= key(before) {
            *before = own;
        }
    }
    let several = last.into_values().filter(|(count, _)| *count > 1);
    several.map(|(_, own)| vec![own.0.to_string(), format!("i{}", own.1)]).collect()
}

#[test]
fn the_last_entry_is_that_by_an_axis_or_by_a_further_column() {
    let (mut table, mut entries) = ratings();
    // A user of one entry.
    table += "77,i0,3,5,2011-01-01\n";
    entries.push((77, 0, 5, "2011-01-01".to_owned()));
    let inputs = inputs("last", &table, Some("rating"));
    for (data, last) in
        [("real, absent = NA", NORMAL), ("count, absent = 0", POISSON), ("count, absent = 0", MULTINOMIAL)]
    {
        let text = program(data, last);
        let of = |by: &str| labelled(&held(&text, &inputs, &[by])).into_keys().collect::<BTreeSet<_>>();
        assert_eq!(of("y=last:time"), last_of(&entries, |own| own.2), "{last}");
        assert_eq!(of("y=last:date"), last_of(&entries, |own| own.3.clone()), "{last}");
        if !last.contains(":i") {
            // Items are in the order in which the file lists them.
            let mut order: Vec<usize> = Vec::new();
            entries.iter().for_each(|own| {
                if !order.contains(&own.1) {
                    order.push(own.1)
                }
            });
            let place = |own: &Rating| order.iter().position(|item| *item == own.1);
            assert_eq!(of("y=last:item"), last_of(&entries, place), "{last}");
        }
    }
    // What is hidden is missing, and the row that has nothing else stays.
    let (problem, held) = held(&program("real, absent = NA", NORMAL), &inputs, &["y=last:time"]);
    assert_eq!(held.parts[0].values.len(), 11);
    let note = problem.binding.notes.iter().find(|note| note.contains("held out")).expect("a note");
    assert!(note.contains("of 11 rows (`user`)") && note.contains("; 1 row without another entry"), "{note}");
}

/// Visits of patients: ragged, 1 to 4 of them, with labels in another order than time.
const VISITS: &str = "axis patient[p]\naxis visit[t] in patient[p]\naxis lab[j]\naxis part[k] = 2\n\
    data x[p, t, j] : real, absent = NA\nz[p, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\n\
    x[p, t, j] ~ Normal(sum[k](z[p, k] * w[j, k]), sd = 1)\n";

#[test]
fn rows_of_a_ragged_axis_are_groups_and_one_group_can_be_meant_alone() {
    let mut table = "patient,visit,lab,value\n".to_owned();
    for patient in 0..6 {
        for visit in (0..=patient % 4).rev() {
            for lab in ["a", "b", "c"] {
                table += &format!("p{patient},2020-0{}-01,{lab},{patient}.{visit}\n", visit + 1);
            }
        }
    }
    let inputs = inputs("ragged", &table, Some("value"));
    // Dates say which visit is the last, whatever their order in the file.
    let found = labelled(&held(VISITS, &inputs, &["x=last:visit"]));
    let wanted: BTreeSet<Vec<String>> = [1, 2, 3, 5]
        .iter()
        .flat_map(|patient| {
            let visit = format!("p{patient}/2020-0{}-01", patient % 4 + 1);
            ["a", "b", "c"].map(|lab| vec![visit.clone(), lab.to_owned()])
        })
        .collect();
    assert_eq!(found.into_keys().collect::<BTreeSet<_>>(), wanted);
    // Two of the four visits of one patient, and one of the three of another.
    let found = labelled(&held(VISITS, &inputs, &["x[p3]=rows:0.5", "x[p2]=rows:0.3"]));
    let visits: BTreeSet<&String> = found.keys().map(|labels| &labels[0]).collect();
    let of = |patient: &str| visits.iter().filter(|own| own.starts_with(patient)).count();
    assert_eq!((visits.len(), of("p3"), of("p2"), found.len()), (3, 2, 1, 9));
}

#[test]
fn folds_are_disjoint_and_together_everything() {
    let (table, entries) = ratings();
    let inputs = inputs("folds", &table, Some("rating"));
    for (data, last) in
        [("real, absent = NA", NORMAL), ("count, absent = 0", POISSON), ("count, absent = 0", MULTINOMIAL)]
    {
        let text = program(data, last);
        let mut sums: BTreeMap<Vec<String>, f64> = BTreeMap::new();
        let mut sizes = Vec::new();
        for fold in 0..4 {
            let compiled = open(&text, &inputs);
            let requests = heldout::folds::requests(&compiled, fold, 4);
            let found =
                heldout::bind(compiled, &inputs, &requests, 9).unwrap_or_else(|error| panic!("{error}"));
            let own = labelled(&found);
            sizes.push(own.len());
            for (place, value) in own {
                let before = sums.insert(place.clone(), value);
                // Entries are in one part alone; units of a count may be in several.
                assert!(before.is_none() || last != NORMAL, "{place:?}");
                *sums.get_mut(&place).expect("it was inserted") += before.unwrap_or(0.0);
            }
        }
        for (user, item, ..) in &entries {
            let sum = sums.remove(&vec![user.to_string(), format!("i{item}")]);
            assert_eq!(sum, Some((1 + user * item % 5) as f64), "{last}");
        }
        assert!(sums.is_empty(), "{last}: {sums:?}");
        let even = sizes.iter().max().unwrap() - sizes.iter().min().unwrap();
        assert!(even <= 1 || last != NORMAL, "{sizes:?}");
    }
}
