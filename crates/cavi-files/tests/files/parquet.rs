//! Parquet tables: the same content as the same tables as .csv, by every rule of tables, and what is refused.
//!
//! The files were written by pyarrow and pandas: `tests/data/parquet/make.py`.

use crate::common::{check_error, describe, read_with};
use cavi_files::{Content, Values, Wanted};
use proptest::prelude::*;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../data/parquet/", $name)).as_slice()
    };
}

/// A content with every number as its bits.
fn exactly(content: &Content) -> (String, Vec<u64>) {
    let values = match content {
        Content::Dense(dense) => Some(&dense.values),
        Content::Long(long) => long.values.as_ref().map(|own| &own.1),
        Content::Coordinates(coordinates) => {
            let bits = coordinates.values.iter().map(|own| own.to_bits()).collect();
            return (format!("{} {:?}", describe(content), coordinates.labels), bits);
        }
        Content::Documents(_) => None,
    };
    match values {
        Some(Values::Numbers(numbers)) => {
            (describe(content), numbers.iter().map(|own| own.to_bits()).collect())
        }
        Some(Values::Text(_)) | None => (describe(content), Vec::new()),
    }
}

/// Both files read alike, and hold so many entries.
#[track_caller]
fn same(
    (parquet, csv): (&[u8], &[u8]),
    axes: &str,
    wanted: Wanted,
    column: Option<&str>,
    columns: &[(&str, &str)],
    entries: usize,
) -> Content {
    let one = read_with("t.parquet", parquet, axes, wanted, column, columns)
        .unwrap_or_else(|error| panic!("{error}"));
    let other =
        read_with("t.csv", csv, axes, wanted, column, columns).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(exactly(&one), exactly(&other));
    assert_eq!(one.len(), entries);
    one
}

const PLAYS: (&[u8], &[u8]) = (file!("plays.parquet"), file!("plays.csv"));
const RATED: (&[u8], &[u8]) = (file!("rated.parquet"), file!("rated.csv"));
const WIDE: (&[u8], &[u8]) = (file!("wide.parquet"), file!("wide.csv"));

/// Patients 11, 7, 32 and 5 by two genes: the index, which is the last column of the file, names the rows, as in what `to_csv` writes.
#[test]
fn the_index_of_a_data_frame_names_the_rows() {
    let index = (file!("index.parquet"), file!("index.csv"));
    let content = same(index, "patient gene", Wanted::Numbers, None, &[], 8);
    assert_eq!(describe(&content), "dense [4, 2] [11|7|32|5] [g1|g2] = 1 2 2 3 3 4 5 6");
}

/// Numbers beyond 2^63 in a column that nobody reads.
#[test]
fn columns_that_are_not_read_may_hold_any_number() {
    let of = |column: &str| {
        let column = Some(column);
        read_with("u.parquet", file!("unsigned.parquet"), "row", Wanted::Numbers, column, &[])
    };
    assert_eq!(of("y").unwrap().numbers().unwrap(), [1.0, 2.0, 3.0]);
    check_error(
        of("hash"),
        "u.parquet, column `hash`: found whole numbers beyond 2^63; expected numbers or text",
    );
}

#[test]
fn long_tables_are_those_of_csv() {
    let content = same(PLAYS, "user track", Wanted::Numbers, None, &[], 37);
    let Content::Long(long) = content else { panic!("the table is long") };
    assert_eq!(long.positions[1].names, ["x", "Ödland", "7", "say \"hi\", you", "na na na"]);
    same(
        PLAYS,
        "listener song",
        Wanted::Numbers,
        Some("plays"),
        &[("listener", "user"), ("song", "track")],
        37,
    );
    same(PLAYS, "user track", Wanted::Positions, None, &[], 37);
    same(PLAYS, "play", Wanted::Text, Some("track"), &[], 37);
    // The index of a data frame is no value, and labels rows.
    let indexed = (file!("indexed.parquet"), file!("indexed.csv"));
    same(indexed, "user track", Wanted::Numbers, None, &[], 37);
    same(indexed, "play", Wanted::Text, Some("track"), &[], 37);
    // Ids say what they identify, and columns that are not read may hold anything.
    let columns = [("user", "user_id"), ("track", "track_id"), ("value", "rating")];
    let content = same(RATED, "user track", Wanted::Numbers, None, &columns, 37);
    assert!(content.numbers().unwrap().iter().any(|own| own.is_nan()));
    same(RATED, "play", Wanted::Numbers, Some("rating"), &[], 37);
}

#[test]
fn wide_tables_and_their_columns_are_those_of_csv() {
    let content = same(WIDE, "row column", Wanted::Numbers, None, &[], 21);
    let described = describe(&content);
    let first = "dense [3, 7] [a|b,c|d] [i8|u32|i64|f64|half|price|bool] = -1 4000000000 9007199254740992 0.1 0.5 0.1 1 2 0 ? ? \
                 0.25 12.35 0 3 7 -5 -1000";
    assert!(described.starts_with(first) && described.ends_with("000 -2 ? 1"), "{described}");
    same(WIDE, "row", Wanted::Numbers, Some("f64"), &[], 3);
}

/// 1 and 0 as numbers, words as labels.
#[test]
fn truth_values_are_labels_as_they_are_written_in_text() {
    let read = read_with("w.parquet", WIDE.0, "row", Wanted::Text, Some("bool"), &[]).unwrap();
    let Content::Dense(dense) = read else { panic!("one column is dense") };
    let Values::Text(texts) = dense.values else { panic!("labels are text") };
    assert_eq!((texts.names, texts.codes), (vec!["True".to_owned(), "False".to_owned()], vec![0, 1, 0]));
}

#[test]
fn columns_of_text_are_texts() {
    let texts = (file!("texts.parquet"), file!("texts.csv"));
    let content = same(texts, "doc word", Wanted::Numbers, Some("body"), &[], 2);
    let Content::Coordinates(counts) = content else { panic!("counts are listed") };
    assert_eq!(counts.labels(0).unwrap(), ["3", "5", "9"]);
    assert_eq!(counts.labels(1).unwrap(), ["red"]);
}

#[test]
fn what_is_not_read_is_named() {
    let pick =
        |column| read_with("o.parquet", file!("odd.parquet"), "row", Wanted::Numbers, Some(column), &[]);
    check_error(pick("day"), "o.parquet, column `day`: found dates or times; expected numbers or text");
    check_error(
        pick("raw"),
        "o.parquet, column `raw`: found bytes that are not UTF-8; expected numbers or text",
    );
    check_error(
        pick("list.list.element"),
        "o.parquet, column `list.list.element`: found a list in each row; expected numbers or text",
    );
    check_error(
        pick("x"),
        "o.parquet, line 1: found the columns `row`, `day`, `list.list.element`, `raw`; expected a column `x`",
    );
    check_error(
        read_with("z.parquet", file!("zstd.parquet"), "n", Wanted::Numbers, None, &[]),
        "z.parquet: found a Parquet file compressed by ZSTD; expected one compressed by Snappy or gzip, or not at all \
         (`compression=\"snappy\"` in `to_parquet` of pandas and `write_parquet` of Polars writes one)",
    );
    let read = |bytes: &[u8]| read_with("t.parquet", bytes, "a b", Wanted::Numbers, None, &[]);
    check_error(
        read(b"a,b\n"),
        "t.parquet: found a file that does not start as Parquet does; expected a Parquet file",
    );
    let error = read(&PLAYS.0[..PLAYS.0.len() - 1]).unwrap_err().to_string();
    assert!(error.contains("found a Parquet file that cannot be read"), "{error}");
    check_error(
        read_with("t.parquet.gz", PLAYS.0, "a b", Wanted::Numbers, None, &[]),
        "t.parquet.gz: found a .parquet file within a compressed file; expected a .parquet file as it is, for it is already \
         compressed",
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20000, ..ProptestConfig::default() })]
    #[test]
    fn no_damage_leads_to_a_panic(place in any::<prop::sample::Index>(), byte: u8, file in 0usize..3, cut: bool) {
        let mut bytes = [PLAYS.0, RATED.0, WIDE.0][file].to_vec();
        let place = place.index(bytes.len());
        if cut { drop(bytes.drain(place..(place + 4).min(bytes.len() - 4).max(place))); } else { bytes[place] = byte; }
        let _ = read_with("t.parquet", bytes, "user track", Wanted::Numbers, None, &[]);
    }
}
