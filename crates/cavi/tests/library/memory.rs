//! Arrays and tables in memory: their labels, and what a fit says of them.

use std::path::PathBuf;
use std::sync::Arc;

use cavi::bind::{ArrayInput, Binding, DataError, Inputs, LabelSource, LabelsInput, Source, bind};
use cavi::data_files;
use cavi_executor::BoundArray;
use cavi_files::{Categories, Column, Columns, Content, Dense, MISSING, Values};

const PAIRS: &str = "axis case[n]\ndata x[n] : real\ndata y[n] : real\nb ~ Normal(0, sd = 10)\ny[n] ~ Normal(b * x[n], sd = 1)\n";

fn bound(program: &str, inputs: &Inputs) -> Result<Binding, Vec<DataError>> {
    let (tree, _) = cavi_syntax::parse(program);
    let (model, _) = cavi_model::resolve(&tree);
    bind(&model.expect("the program compiles"), inputs)
}

/// Numbers along one dimension, with labels, or with an index that counts, or with none.
fn vector(name: &str, values: &[f64], labels: Option<&[&str]>, counts: bool) -> ArrayInput {
    let labels = labels.map(|own| own.iter().map(|label| (*label).to_owned()).collect());
    let values_of = Values::Numbers(values.to_vec().into());
    let dense = Dense::new(vec![values.len()], values_of, vec![labels]);
    let source =
        Source::Content { name: PathBuf::from(name), content: Content::Dense(dense), counts: vec![counts] };
    ArrayInput { name: name.to_owned(), group: None, source }
}

fn values(binding: &Binding, array: usize) -> Vec<f64> {
    match binding.bound.arrays[array].as_ref().expect("it is bound") {
        BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => values.to_vec(),
    }
}

/// An index that counts is matched by number where another has these numbers in another order, and by order otherwise.
#[test]
fn an_index_that_counts_is_a_label_where_others_know_its_numbers() {
    let of = |y: ArrayInput| {
        let x = vector("x", &[1.0, 2.0, 3.0], None, true);
        bound(PAIRS, &Inputs { data: vec![x, y], ..Inputs::default() }).unwrap()
    };
    let turned = of(vector("y", &[30.0, 20.0, 10.0], Some(&["2", "1", "0"]), false));
    let pairs = |own: &Binding| {
        let mut pairs: Vec<(i64, i64)> =
            values(own, 0).iter().zip(values(own, 1)).map(|(x, y)| (*x as i64, y as i64)).collect();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(pairs(&turned), [(1, 10), (2, 20), (3, 30)]);
    assert!(turned.by_counters.is_empty());

    let named = of(vector("y", &[10.0, 20.0, 30.0], Some(&["p", "q", "r"]), false));
    assert_eq!(pairs(&named), [(1, 10), (2, 20), (3, 30)]);
    assert_eq!(named.bound.axes[0].size, 3);
    assert_eq!(named.by_counters.len(), 1, "{:?}", named.by_counters);
    assert!(named.notes.contains(&named.by_counters[0]));

    // Numbers that count from 1 are other labels, and what is left of rows that count is matched by number.
    let from_one = of(vector("y", &[10.0, 20.0, 30.0], Some(&["1", "2", "3"]), false));
    assert_eq!(pairs(&from_one), [(1, 10), (2, 20), (3, 30)]);
    assert_eq!(from_one.by_counters.len(), 1);
    let x = vector("x", &[1.0, 2.0, 3.0], None, true);
    let rest = vector("y", &[30.0, 20.0], Some(&["2", "1"]), false);
    let program = PAIRS.replace("y[n] : real", "y[n] : real, absent = NA");
    let rest = bound(&program, &Inputs { data: vec![x, rest], ..Inputs::default() }).unwrap();
    assert_eq!(rest.labels.axes[0].as_ref().map(Vec::len), Some(3));
    let y = values(&rest, 1);
    let seen: Vec<(f64, f64)> = values(&rest, 0).into_iter().zip(y).filter(|own| own.1 > 0.0).collect();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|(x, y)| *y == 10.0 * x), "{seen:?}");

    let bare = of(vector("y", &[10.0, 20.0, 30.0], None, true));
    assert!(bare.by_counters.is_empty() && bare.labels.axes[0].is_none());
}

#[test]
fn an_index_that_counts_is_matched_with_labels_that_are_given() {
    let labels = ["2", "0", "1"].map(str::to_owned).to_vec();
    let labels = LabelsInput {
        axis: "case".to_owned(),
        group: None,
        source: LabelSource::List("labels".to_owned(), labels),
    };
    let data = vec![vector("x", &[1.0, 2.0, 3.0], None, true), vector("y", &[5.0, 6.0, 7.0], None, false)];
    let found = bound(PAIRS, &Inputs { data, labels: vec![labels], ..Inputs::default() }).unwrap();
    assert_eq!(values(&found, 0), [3.0, 1.0, 2.0]);
    assert_eq!(values(&found, 1), [5.0, 6.0, 7.0]);
}

#[test]
fn labels_that_cannot_be_written_are_refused_whatever_they_come_from() {
    for label in ["", "New\nYork"] {
        let data =
            vec![vector("x", &[1.0, 2.0], Some(&["p", label]), false), vector("y", &[1.0, 2.0], None, false)];
        let problems = bound(PAIRS, &Inputs { data, ..Inputs::default() }).unwrap_err();
        assert!(problems.iter().any(|own| own.message.contains("label") && own.message.contains("`case`")));
        let given = vec![label.to_owned(), "q".to_owned()];
        let labels = LabelsInput {
            axis: "case".to_owned(),
            group: None,
            source: LabelSource::List("labels".to_owned(), given),
        };
        let data = vec![vector("x", &[1.0, 2.0], None, false), vector("y", &[1.0, 2.0], None, false)];
        bound(PAIRS, &Inputs { data, labels: vec![labels], ..Inputs::default() }).unwrap_err();
    }
}

const COUNTS: &str = "axis user[u]\naxis item[i]\ndata y[u, i] : count, absent = 0\nr[u] ~ Gamma(1, rate = 1)\n\
    y[u, i] ~ Poisson(r[u])\n";

/// A table in memory and the same as the text of a file are bound to the same.
#[test]
fn a_table_in_memory_is_read_as_its_file() {
    let text = |names: &[&str], codes: &[u32]| {
        Column::Text(Categories {
            names: names.iter().map(|own| (*own).to_owned()).collect(),
            codes: codes.to_vec(),
        })
    };
    let table = |names: [&str; 3]| Columns {
        names: names.map(str::to_owned).to_vec(),
        columns: vec![
            Column::Whole { values: vec![107, 103, 107], missing: None },
            text(&["b", "a"], &[0, 1, 1]),
            Column::Numbers(vec![1.0, 2.0, 4.0]),
        ],
        rows: 3,
    };
    let file = |names: [&str; 3]| format!("{}\n107,b,1\n103,a,2\n107,a,4\n", names.join(","));
    let read = |source: Source| {
        let data = vec![ArrayInput { name: "y".to_owned(), group: None, source }];
        bound(COUNTS, &Inputs { data, ..Inputs::default() })
            .map(|own| format!("{:?} {:?} {:?}", own.labels, own.bound.arrays, own.bound.axes))
            .map_err(|problems| problems.len())
    };
    for names in
        [["user", "item", "n"], ["User", "Item", "n"], ["user", "film", "n"], ["userId", "item", "n"]]
    {
        let columns = Arc::new(table(names));
        let in_memory = read(Source::Table { name: "y".into(), columns, counts: true });
        let of_file = read(Source::Bytes { name: "y.csv".into(), bytes: file(names).into_bytes().into() });
        assert_eq!(in_memory, of_file, "{names:?}");
    }
    // Columns of other lengths, and codes of no text, are no table.
    let mut short = table(["user", "item", "n"]);
    short.columns[2] = Column::Numbers(vec![1.0]);
    assert!(read(Source::Table { name: "y".into(), columns: Arc::new(short), counts: true }).is_err());
    let mut wrong = table(["user", "item", "n"]);
    wrong.columns[1] = text(&["a"], &[0, 3, 0]);
    assert!(read(Source::Table { name: "y".into(), columns: Arc::new(wrong), counts: true }).is_err());
    // A label that is missing is one that a file leaves empty.
    let mut empty = table(["user", "item", "n"]);
    empty.columns[1] = text(&["a"], &[0, MISSING, 0]);
    assert!(read(Source::Table { name: "y".into(), columns: Arc::new(empty), counts: true }).is_err());
}

#[test]
fn data_in_memory_are_known_again_by_their_values_and_labels() {
    let hash = |own: ArrayInput| {
        data_files::in_memory(&Inputs { data: vec![own], ..Inputs::default() })["x"].clone()
    };
    let one = hash(vector("x", &[1.0, 2.0], None, false));
    assert_eq!(one, hash(vector("x", &[1.0, 2.0], None, false)));
    for other in [
        vector("x", &[1.0, 2.5], None, false),
        vector("x", &[2.0, 1.0], None, false),
        vector("x", &[1.0, 2.0, 0.0], None, false),
        vector("x", &[1.0, 2.0], Some(&["a", "b"]), false),
    ] {
        assert_ne!(one, hash(other));
    }
    let inputs = Inputs { data: vec![vector("x", &[1.0, 2.5], None, false)], ..Inputs::default() };
    let summary = |hash: &str| serde_json::json!({ "settings": { "data_in_memory": { "x": hash } } });
    let changed = data_files::refuse_changed_in_memory(&inputs, &summary(&one));
    assert!(changed.unwrap_err()[0].message.contains("has changed"));
    let own = data_files::in_memory(&inputs)["x"].clone();
    data_files::refuse_changed_in_memory(&inputs, &summary(&own)).unwrap();
}
