//! HDF5: annotated matrices and 10x matrices as the same numbers in .csv, and damage.
//!
//! The files were written by anndata and h5py: `tests/data/hdf5/make.py`.

use std::path::{Path, PathBuf};

use crate::common::{check_error, describe, read, read_with};
use cavi_files::{Content, Coordinates, Dimension, FileError, ReadOptions, Values, Wanted, read_from};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hdf5").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// Reads a file by its path, as cells by genes; what follows a colon is a part of it.
fn open(name: &str, unique: bool) -> Result<Content, FileError> {
    let (file, part) = cavi_files::split_column(path(name).to_str().unwrap());
    let dimensions = ["cell", "gene"].map(|axis| Dimension { axis, letter: None });
    let column = part.as_deref();
    cavi_files::read(
        &file,
        &ReadOptions { dimensions: &dimensions, column, unique, ..ReadOptions::default() },
    )
}

/// Rows, columns and the numbers of a matrix in C order.
type Matrix = (Vec<String>, Vec<String>, Vec<f64>);

#[track_caller]
fn matrix(content: Content) -> Matrix {
    match content {
        Content::Dense(dense) => {
            let Values::Numbers(values) = dense.values else { panic!("text") };
            let mut labels = dense.labels.into_iter().map(Option::unwrap_or_default);
            (labels.next().unwrap(), labels.next().unwrap(), values.into_vec())
        }
        Content::Coordinates(Coordinates { shape, indices, values, labels, .. }) => {
            let mut all = vec![0.0; shape[0] * shape[1]];
            for (entry, value) in values.iter().enumerate() {
                all[indices[0][entry] as usize * shape[1] + indices[1][entry] as usize] += value;
            }
            let mut labels = labels.into_iter().map(Option::unwrap_or_default);
            (labels.next().unwrap(), labels.next().unwrap(), all)
        }
        other => panic!("{other:?}"),
    }
}

fn csv(name: &str) -> Matrix {
    matrix(read(name, bytes(name), "cell gene").unwrap())
}

#[test]
fn every_way_to_hold_the_counts_reads_as_the_csv() {
    let expected = csv("counts.csv");
    assert_eq!((expected.0.len(), expected.1.len()), (10, 6));
    for name in [
        "dense.h5ad",
        "csr.h5ad",
        "csc.h5ad",
        "rich.h5ad:raw",
        "rich.h5ad:raw/X",
        "ten_x.h5",
        "ten_x_2.h5",
        "ten_x",
    ] {
        let found = open(name, false).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(matrix(found), expected, "{name}");
    }
    // From bytes too.
    assert_eq!(matrix(read("x.h5ad", bytes("csr.h5ad"), "cell gene").unwrap()), expected);
}

#[test]
fn layers_and_tables_of_an_annotated_matrix_are_read_by_name() {
    let counts = csv("counts.csv");
    let (cells, genes, logs) = csv("logs.csv");
    // Single precision, written with fewer digits.
    let found = matrix(open("rich.h5ad", false).unwrap());
    assert_eq!((&found.0, &found.1), (&cells, &genes));
    assert!(found.2.iter().zip(&logs).all(|(one, other)| (one - other).abs() < 1e-6));
    let first_four: Vec<f64> = counts.2.chunks(6).flat_map(|row| row[..4].to_vec()).collect();
    assert_eq!(matrix(open("rich.h5ad:layers/counts", false).unwrap()).2, first_four);
    let doubled: Vec<f64> = first_four.iter().map(|own| 2.0 * own).collect();
    assert_eq!(matrix(open("rich.h5ad:layers/doubled", false).unwrap()).2, doubled);
    let pca = open("rich.h5ad:obsm/X_pca", false).unwrap();
    assert!(matches!(&pca, Content::Dense(own) if own.shape == [10, 2] && own.labels[1].is_none()));
    let protein = matrix(open("rich.h5ad:obsm/protein", false).unwrap());
    assert_eq!((protein.0, &protein.1[..]), (cells, &["CD3".to_owned(), "CD19".to_owned()][..]));
    assert_eq!(protein.2[..4], [0.0, 9.0, 1.0, 8.0]);
}

#[test]
fn columns_of_cells_are_labels_or_numbers() {
    let of = |column: &str, wanted| {
        let column = Some(column);
        read_with("x.h5ad", bytes("rich.h5ad"), "cell", wanted, column, &[]).unwrap()
    };
    let kinds = describe(&of("obs/kind", Wanted::Text));
    assert!(kinds.starts_with("dense [10] [CELL0-1|CELL1-1|"), "{kinds}");
    let Content::Dense(dense) = of("obs/kind", Wanted::Text) else { panic!() };
    let Values::Text(texts) = dense.values else { panic!() };
    let found: Vec<_> = (0..6).map(|row| texts.get(row)).collect();
    assert_eq!(found, [Some("T"), Some("B"), Some("T"), Some("B"), None, Some("NK")]);
    let plates = of("obs/plate", Wanted::Numbers);
    assert_eq!(plates.numbers().unwrap()[..5], [0.0, 1.0, 2.0, 0.0, 1.0]);
    let error = read_with("x.h5ad", bytes("rich.h5ad"), "cell", Wanted::Text, Some("obs/king"), &[]);
    check_error(
        error,
        "x.h5ad: found no column `king` in `obs`; expected one of `kind`, `depth`, `plate`, `site`",
    );
}

/// Codes with a list of categories beside the columns: ages 30, 60, 45, 60, and kinds B, T, nothing, B. Read as codes they were 0, 2, 1, 2.
#[test]
fn categories_of_earlier_files_are_their_names() {
    let of = |column: &str, wanted| {
        describe(&read_with("x.h5ad", bytes("old.h5ad"), "cell", wanted, Some(column), &[]).unwrap())
    };
    assert_eq!(of("obs/age", Wanted::Numbers), "dense [4] [c1|c2|c3|c4] = 30 60 45 60");
    assert_eq!(of("obs/kind", Wanted::Text), "dense [4] [c1|c2|c3|c4] = (B|T|?|B)");
}

/// Whole numbers that differ in their last digit, and texts that differ in a letter that is not UTF-8: different labels stay different, or are
/// refused.
#[test]
fn labels_that_differ_stay_different() {
    let of =
        |file: &str, column: &str| read_with("x.h5ad", bytes(file), "cell", Wanted::Text, Some(column), &[]);
    assert_eq!(
        describe(&of("old.h5ad", "obs/donor").unwrap()),
        "dense [4] [c1|c2|c3|c4] = (9007199254740993|9007199254740993|9007199254740992|9007199254740992)"
    );
    for column in ["fixed", "variable"] {
        check_error(
            of("latin.h5ad", &format!("obs/{column}")),
            &format!(
                "x.h5ad: found bytes that are not UTF-8 in text 0 of `obs/{column}/categories`; expected text in UTF-8"
            ),
        );
    }
}

/// Names for whole numbers of any size, sign and order of bytes; beside them a link to nothing.
#[test]
fn named_whole_numbers_are_their_numbers() {
    let of = |part: &str| {
        let found = read_with("x.h5", bytes("names.h5"), "i", Wanted::Numbers, Some(part), &[]).unwrap();
        found.numbers().unwrap().to_vec()
    };
    assert_eq!(of("low"), [-1.0, 2.0, 2.0, -1.0]);
    assert_eq!(of("three"), [-300.0, 70000.0, 2.0]);
}

/// Numbers of several types in chunks, some of which were never written.
#[test]
fn any_array_is_read_by_its_path() {
    let of = |part: &str, axes: &str| {
        read_with("x.h5", bytes("plain.h5"), axes, Wanted::Numbers, Some(part), &[]).unwrap()
    };
    let numbers = |content: &Content| content.numbers().unwrap().to_vec();
    assert_eq!(numbers(&of("a/whole", "i j")), (0..12).map(f64::from).collect::<Vec<_>>());
    let chunked = numbers(&of("a/chunked", "i j"));
    let expected: Vec<f64> = (0..3000).map(|own| if own < 900 { f64::from(own) } else { 0.0 }).collect();
    assert_eq!(chunked, expected);
    assert_eq!(numbers(&of("truth", "i")), [1.0, 0.0, 1.0]);
    assert_eq!(numbers(&of("one", "")), [2.5]);
    let error = read("x.h5", bytes("plain.h5"), "i j");
    check_error(
        error,
        "x.h5: found 4 arrays, `a/chunked`, `a/whole`, `one`, `truth`; expected one of them (`--data \
         NAME=FILE:a/chunked` reads the first)",
    );
}

#[test]
fn symbols_that_stand_twice_are_refused_or_kept_apart() {
    for name in ["twice.h5ad", "ten_x_twice.h5", "ten_x_twice"] {
        let error = open(name, false).unwrap_err().to_string();
        assert!(error.contains("1 label more than once") && error.contains("`TBCE`"), "{error}");
        assert!(error.contains("`--unique`"), "{error}");
        let (_, genes, values) = matrix(open(name, true).unwrap());
        assert_eq!(genes, ["CD3E", "TBCE", "GNLY", "TBCE-1", "LYZ", "PPBP"], "{name}");
        assert_eq!(values, csv("counts.csv").2, "{name}");
    }
}

#[test]
fn features_of_several_kinds_are_taken_one_kind_at_a_time() {
    for name in ["ten_x_kinds.h5", "ten_x_kinds"] {
        let error = open(name, false).unwrap_err().to_string();
        assert!(error.contains("`--data 'NAME=FILE:Gene Expression'`"), "{error}");
        let (_, genes, values) = matrix(open(&format!("{name}:Antibody Capture"), false).unwrap());
        assert_eq!(genes, ["LYZ", "PPBP"]);
        let all = csv("counts.csv").2;
        let expected: Vec<f64> = all.chunks(6).flat_map(|row| row[4..].to_vec()).collect();
        assert_eq!(values, expected, "{name}");
    }
}

/// Groups that hold each other have no end of paths.
#[test]
fn groups_in_a_circle_end() {
    let of = |part| read_with("x.h5", bytes("loop.h5"), "i", Wanted::Numbers, part, &[]);
    assert_eq!(of(Some("numbers")).unwrap().numbers().unwrap(), [0.0, 1.0, 2.0]);
    assert!(of(Some("a/numbers")).is_err());
    assert_eq!(cavi_files::head(&path("loop.h5"), None).unwrap().lines, ["numbers: 3"]);
}

/// Files that break off, and files with single bytes changed, are read or refused; nothing panics, nothing runs away.
#[test]
fn damage_ends_in_a_message() {
    let dimensions = ["cell", "gene"].map(|axis| Dimension { axis, letter: None });
    let options = ReadOptions { dimensions: &dimensions, ..ReadOptions::default() };
    let mut refused = 0;
    for name in ["csr.h5ad", "dense.h5ad", "ten_x.h5"] {
        let whole = bytes(name);
        for part in 0..60 {
            let cut = whole[..whole.len() * part / 60].to_vec();
            assert!(read_from(Path::new("x.h5"), cut, &options).is_err(), "{name} cut at {part}");
        }
        let mut state = 12_345_u64;
        for _ in 0..600 {
            let mut damaged = whole.clone();
            for _ in 0..4 {
                // Knuth's linear congruential generator.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let place = (state >> 33) as usize % damaged.len();
                damaged[place] = (state >> 20) as u8;
            }
            if let Err(error) = read_from(Path::new("x.h5"), damaged, &options) {
                assert!(!error.to_string().contains("the reader of the format fails"), "{name}: a panic");
                refused += 1;
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_file_of_another_format_says_so() {
    check_error(
        read("x.h5ad", "a,b\n1,2\n", "cell gene"),
        "x.h5ad: found a file that is not in HDF5; expected an HDF5 file, since its name ends so",
    );
    let error = open("csr.h5ad:layers/count", false).unwrap_err().to_string();
    assert!(error.contains("found no matrix `layers/count`; expected one of `X`"), "{error}");
}
