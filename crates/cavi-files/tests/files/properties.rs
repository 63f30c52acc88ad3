//! Readers against naive ones, and readers against bytes of no sense.

use std::fmt::Write;

use crate::common::{read, read_with};
use cavi_files::{Content, Values, Wanted};
use proptest::prelude::*;

const NAMES: [&str; 14] = [
    "a.mtx",
    "a.tns",
    "a.npy",
    "a.npz",
    "a.csv",
    "a.tsv",
    "a.ldac",
    "a.mtx.gz",
    "a.csv.gz",
    "a.npy.gz",
    "a",
    "a.txt",
    "lines:a.txt",
    "a.csv.zst",
];

/// Entries of a matrix: position and value.
fn entries() -> impl Strategy<Value = (usize, usize, Vec<(usize, usize, f64)>)> {
    (1usize..20, 1usize..20).prop_flat_map(|(rows, columns)| {
        let entry = (0..rows, 0..columns, any::<f64>().prop_filter("finite", |value| value.is_finite()));
        (Just(rows), Just(columns), prop::collection::vec(entry, 0..30))
    })
}

fn text_cell() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ,\"é;\t]{1,6}", Just("NA".to_owned()), Just("7".to_owned())]
}

fn quoted(cell: &str, always: bool) -> String {
    // Without quotation marks blanks around a field are no part of it.
    if always || cell.contains([',', '"', '\n']) || cell != cell.trim() {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

proptest! {
    #[test]
    fn coordinates_are_read_as_written((rows, columns, entries) in entries(), comment in "[ -~]{0,10}") {
        let mut mtx = format!("%%MatrixMarket matrix coordinate real general\n%{comment}\n{rows} {columns} {}\n", entries.len());
        let mut tns = format!("#{comment}\n");
        for (row, column, value) in &entries {
            writeln!(mtx, "{} {} {value:e}", row + 1, column + 1).unwrap();
            writeln!(tns, "{} {}  {value}", row + 1, column + 1).unwrap();
        }
        let mtx = read("a.mtx", mtx, "a b").unwrap();
        let tns = read("a.tns", tns, "a b").unwrap();
        let (Content::Coordinates(mtx), Content::Coordinates(tns)) = (mtx, tns) else { panic!("no coordinates") };
        let expected_rows: Vec<u32> = entries.iter().map(|entry| entry.0 as u32).collect();
        let expected_columns: Vec<u32> = entries.iter().map(|entry| entry.1 as u32).collect();
        let expected_values: Vec<u64> = entries.iter().map(|entry| entry.2.to_bits()).collect();
        for coordinates in [&mtx, &tns] {
            prop_assert_eq!(&coordinates.indices[0], &expected_rows);
            prop_assert_eq!(&coordinates.indices[1], &expected_columns);
            let values: Vec<u64> = coordinates.values.iter().map(|value| value.to_bits()).collect();
            prop_assert_eq!(&values, &expected_values);
        }
        prop_assert_eq!(mtx.shape, vec![rows, columns]);
        let least = |column: &[u32]| column.iter().max().map_or(0, |&last| last as usize + 1);
        prop_assert_eq!(tns.shape, vec![least(&expected_rows), least(&expected_columns)]);
    }

    #[test]
    fn dense_tables_are_read_as_written(
        width in 1usize..6,
        cells in prop::collection::vec(prop::option::of(any::<f64>()), 1..40),
        line_end in prop_oneof![Just("\n"), Just("\r\n")],
        has_header: bool,
        last_line_end: bool,
    ) {
        let rows: Vec<&[Option<f64>]> = cells.chunks_exact(width).collect();
        // Empty lines at the end of a table of one column are no rows.
        prop_assume!(rows.last().is_some_and(|row| width > 1 || row[0].is_some()));
        let mut text = String::new();
        if has_header {
            text += &(0..width).map(|column| format!("c{column}")).collect::<Vec<_>>().join(",");
            text += line_end;
        }
        for (place, row) in rows.iter().enumerate() {
            text += &row.iter().map(|cell| cell.map_or(String::new(), |value| value.to_string())).collect::<Vec<_>>().join(",");
            if place + 1 < rows.len() || last_line_end || width == 1 {
                text += line_end;
            }
        }
        let Content::Dense(dense) = read("a.csv", text, "a b").unwrap() else { panic!("not dense") };
        prop_assert_eq!(dense.shape, vec![rows.len(), width]);
        prop_assert_eq!(dense.labels[1].is_some(), has_header);
        let Values::Numbers(values) = dense.values else { panic!("no numbers") };
        let expected: Vec<f64> = rows.concat().into_iter().map(|cell| cell.unwrap_or(f64::NAN)).collect();
        for (value, expected) in values.iter().zip(expected) {
            prop_assert!(value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan());
        }
    }

    #[test]
    fn long_tables_are_read_as_written(
        rows in prop::collection::vec((text_cell(), text_cell(), text_cell(), any::<bool>()), 0..20),
    ) {
        let mut text = "item,user,word\n".to_owned();
        for (item, user, word, always) in &rows {
            writeln!(text, "{},{},{}", quoted(item, *always), quoted(user, *always), quoted(word, *always)).unwrap();
        }
        let content = read_with("a.csv", text, "user item", Wanted::Text, None, &[]).unwrap();
        let Content::Long(long) = content else { panic!("not long") };
        let Some((name, Values::Text(words))) = &long.values else { panic!("no text") };
        prop_assert_eq!(name, "word");
        prop_assert_eq!(words.codes.len(), rows.len());
        for (row, (item, user, word, _)) in rows.iter().enumerate() {
            prop_assert_eq!(long.positions[0].get(row), Some(user.as_str()));
            prop_assert_eq!(long.positions[1].get(row), Some(item.as_str()));
            let is_missing = ["", "na", "nan"].contains(&word.trim_ascii().to_lowercase().as_str());
            prop_assert_eq!(words.get(row), Some(word.as_str()).filter(|_| !is_missing));
            prop_assert_eq!(long.lines.line(row), Some(row + 2));
        }
    }

    #[test]
    fn documents_are_read_as_written(
        documents in prop::collection::vec(prop::collection::vec((0u32..50, 0u32..9), 0..6), 1..10),
    ) {
        let mut text = String::new();
        for document in &documents {
            write!(text, "{}", document.len()).unwrap();
            for (id, count) in document {
                write!(text, " {id}:{count}").unwrap();
            }
            text.push('\n');
        }
        let Content::Documents(found) = read("a.ldac", text, "a b").unwrap() else { panic!("no documents") };
        prop_assert_eq!(found.len(), documents.len());
        for (document, range) in documents.iter().zip(found.offsets.windows(2)) {
            let pairs: Vec<(u32, u32)> =
                (range[0]..range[1]).map(|entry| (found.ids[entry], found.counts[entry] as u32)).collect();
            prop_assert_eq!(&pairs, document);
        }
    }

    #[test]
    fn no_bytes_lead_to_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), axes in "(a ?)?(b ?)?c?") {
        for name in NAMES {
            for wanted in [Wanted::Numbers, Wanted::Text, Wanted::Positions] {
                let _ = read_with(name, &bytes, &axes, wanted, None, &[]);
            }
        }
    }

    #[test]
    fn no_text_leads_to_a_panic(
        text in "[-a0-3,;\t\n\r\":%# .NA]{0,60}",
        header in prop_oneof![
            Just(""), Just("a,b,c\n"), Just(",x\n"), Just("%%MatrixMarket matrix coordinate real symmetric\n"),
            Just("%%MatrixMarket matrix array real symmetric\n"),
        ],
        axes in "(a ?)?(b ?)?",
        column in prop::option::of("[abcx]"),
    ) {
        for name in NAMES {
            for wanted in [Wanted::Numbers, Wanted::Text, Wanted::Positions] {
                let content = read_with(name, format!("{header}{text}"), &axes, wanted, column.as_deref(), &[]);
                if let Ok(content) = content {
                    // Every entry has a place, and an error there can be made.
                    for entry in 0..content.len() {
                        let _ = content.error_at(name.as_ref(), entry, "", "").to_string();
                    }
                }
            }
        }
    }
}
