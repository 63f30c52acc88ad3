//! What is written, and that it is written whole. NumPy files have their tests in `numpy.rs`.

use cavi_files::{
    Cell, CsvText, format_number, read_labels, write_bytes_atomically, write_labels, write_npy,
    write_text_atomically,
};
use proptest::prelude::*;

#[test]
fn a_file_is_written_beside_its_name_and_renamed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("axes/word/rna.txt");
    write_text_atomically(&path, "first").unwrap();
    write_bytes_atomically(&path, b"second").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
    let names: Vec<_> = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["rna.txt"]);
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("taken");
    std::fs::create_dir(&path).unwrap();
    let error = write_text_atomically(&path, "text").unwrap_err().to_string();
    assert!(error.contains("taken: found an error of the system"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    write_text_atomically(&directory.path().join("file"), "").unwrap();
    assert!(write_npy(&directory.path().join("file/below.npy"), &[], &[1.0]).is_err());
}

#[test]
fn labels_are_written_as_they_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("word.txt");
    let labels = ["a", "b c ", "é,\"", "7"];
    write_labels(&path, &labels).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb c \né,\"\n7\n");
    assert_eq!(read_labels(&path).unwrap(), labels);
}

#[test]
fn files_of_labels() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l.txt");
    let labels = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read_labels(&path).map_err(|error| {
            error.to_string().replace(&directory.path().display().to_string(), "").replace("/l.txt", "l.txt")
        })
    };
    assert_eq!(labels(b"\xef\xbb\xbfa\r\nb").unwrap(), ["a", "b"]);
    assert_eq!(labels(b"a\nb\n\n\n").unwrap(), ["a", "b"]);
    assert!(labels(b"").unwrap().is_empty());
    let refused = |bytes: &[u8], message: &str| assert_eq!(labels(bytes).unwrap_err(), message);
    refused(
        b"a\nb\na\n",
        "l.txt, line 3: found the label `a`, which also stands in line 1; expected a label of its own for each line",
    );
    refused(b"a\n\nb\n", "l.txt, line 2: found an empty line; expected a label");
    refused(b"a\n\0\n", "l.txt, line 2: found a NUL byte (byte 2); expected text");
    refused(
        b"a\nb\xff\n",
        "l.txt, line 2: found byte 3 (0xff), which is no UTF-8, after `b`; expected text in UTF-8 (if it is Latin-1 or \
         Windows-1252, `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW` makes it so)",
    );
    refused(
        b"a\rb\n",
        "l.txt, line 1: found a carriage return within `a\\rb`; expected lines that end in a line feed",
    );
    let error = read_labels(directory.path()).unwrap_err().to_string();
    assert!(error.ends_with(": found a directory; expected a readable file"), "{error}");
}

#[test]
fn a_table_is_written_row_by_row() {
    let mut table = CsvText::new(&["sweep", "elbo", "rel_change", "phase"]);
    table.row(&[Cell::Integer(-1), Cell::Empty, Cell::Empty, Cell::Text("warmup")]);
    table.row(&[
        Cell::Integer(0),
        Cell::Number(-42.19616448711219),
        Cell::Number(f64::INFINITY),
        Cell::Text("fit"),
    ]);
    table.row(&[Cell::Integer(1), Cell::Number(f64::NAN), Cell::Number(1e-300), Cell::Text("a \"b\", c")]);
    assert_eq!(
        table.as_str(),
        "sweep,elbo,rel_change,phase\n-1,,,warmup\n0,-42.19616448711219,inf,fit\n1,nan,1e-300,\"a \"\"b\"\", c\"\n"
    );
}

#[test]
fn numbers_are_short() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1e-4, "0.0001"),
        (9.5e-5, "9.5e-5"),
        (123456789.0, "123456789"),
        (1e16, "1e16"),
        (9999999999999998.0, "9999999999999998"),
        (-1.7976931348623157e308, "-1.7976931348623157e308"),
        (f64::NEG_INFINITY, "-inf"),
        (-f64::NAN, "nan"),
    ] {
        assert_eq!(format_number(value), text);
    }
}

proptest! {
    #[test]
    fn numbers_are_read_back(bits: u64) {
        let value = f64::from_bits(bits);
        let text = format_number(value);
        let again: f64 = text.parse().unwrap();
        prop_assert!(again.to_bits() == bits || again.is_nan() && value.is_nan());
        prop_assert!(text.len() <= 24);
    }
}

#[test]
fn labels_may_be_a_column_of_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("features.tsv");
    std::fs::write(&file, "ENSG1\tCD3E\tGene Expression\nENSG2\tMS4A1\tGene Expression\n").unwrap();
    let of = |column: &str| {
        let path = format!("{}:{column}", file.display());
        read_labels(path.as_ref())
            .map_err(|error| error.to_string().replace(&directory.path().display().to_string(), ""))
    };
    assert_eq!(of("2").unwrap(), ["CD3E", "MS4A1"]);
    assert_eq!(of("CD3E").unwrap(), ["MS4A1"]);
    assert_eq!(of("4").unwrap_err(), "/features.tsv, line 1: found 3 columns; expected a column 4");
    assert!(of("name").unwrap_err().contains("expected a column `name`, or its number from 1"));
    assert_eq!(
        of("3").unwrap_err(),
        "/features.tsv, line 2: found the label `Gene Expression`, which also stands in line 1; expected a label of its own \
         for each line"
    );
}
