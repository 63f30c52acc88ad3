//! Packed data: what was written is read, where it lies, and what is no such file, or another one, is refused.

use std::fs;
use std::path::{Path, PathBuf};

use cavi_files::{
    Content, Declared, Dimension, FileError, PackedArray, PackedAxis, PackedEntries, ReadOptions, Values,
    packed_summary, read, write_packed,
};

use crate::common::{check, describe};

const DOCUMENTS: [&str; 3] = ["first", "", "zweite Ü"];

/// Counts of three documents with labels by four words without any, classes of the documents with one missing, and one number.
fn packed(directory: &Path) -> PathBuf {
    let path = directory.join("deep/all.cavi-data");
    let labels: Vec<String> = DOCUMENTS.map(str::to_owned).into();
    let axes = [
        PackedAxis { name: "doc", size: 3, labels: Some(&labels), groups: None },
        PackedAxis { name: "word", size: 4, labels: None, groups: None },
    ];
    let indices = [vec![0, 0, 2].into(), vec![1, 3, 0].into()];
    let array = |name, axes: &[&'static str], values, observed| PackedArray {
        name,
        axes: axes.to_vec(),
        points_into: None,
        declared: Declared { unlisted_zero: true, only: None },
        texts: None,
        indices: None,
        entries: PackedEntries { values, observed },
    };
    let counts = array("n", &["doc", "word"], &[2.0, 1.0, 5.0], None);
    let arrays = [
        PackedArray { indices: Some(&indices), ..counts },
        PackedArray {
            points_into: Some("doc"),
            ..array("class", &["doc"], &[2.0, 0.0, 1.0], Some(&[true, false, true]))
        },
        array("scale", &[], &[0.5], None),
    ];
    let bytes = write_packed(&path, &axes, &arrays).unwrap();
    assert_eq!(bytes, fs::metadata(&path).unwrap().len());
    path
}

fn read_as(path: &Path, name: &str, axes: &[&str]) -> Result<Content, FileError> {
    let dimensions: Vec<Dimension<'_>> = axes.iter().map(|axis| Dimension { axis, letter: None }).collect();
    read(path, &ReadOptions { dimensions: &dimensions, name, ..ReadOptions::default() })
}

#[test]
fn what_was_packed_is_read_and_stays_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = packed(directory.path());
    let counts = read_as(&path, "n", &["doc", "word"]);
    check(counts.clone(), "coordinates [3, 4]: [0, 1]=2 [0, 3]=1 [2, 0]=5");
    let Ok(Content::Coordinates(counts)) = counts else { panic!("they are listed") };
    assert!(counts.values.is_mapped() && counts.indices.iter().all(|column| column.is_mapped()));
    assert_eq!(counts.labels(0), Some(DOCUMENTS.map(str::to_owned).as_slice()));
    assert_eq!(counts.labels(1), None);
    check(read_as(&path, "class", &["doc"]), "dense [3] [first||zweite Ü] = (zweite Ü|?|)");
    let Ok(Content::Dense(scale)) = read_as(&path, "scale", &[]) else { panic!("it is one number") };
    assert!(matches!(&scale.values, Values::Numbers(own) if own.is_mapped() && *own == [0.5]));
    // By another name than that of the array it is read for, and after the file is gone.
    let dimensions = [Dimension { axis: "doc", letter: None }];
    let options =
        ReadOptions { dimensions: &dimensions, name: "z", column: Some("class"), ..ReadOptions::default() };
    assert!(read(&path, &options).is_ok());
    fs::remove_file(&path).unwrap();
    assert_eq!(counts.values, [2.0, 1.0, 5.0]);
}

#[test]
fn the_header_says_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let summary = packed_summary(&packed(directory.path())).unwrap();
    let names: Vec<&str> = summary.iter().map(|own| own.name.as_str()).collect();
    assert_eq!(names, ["n", "class", "scale"]);
    assert_eq!(summary[0].axes, [("doc".to_owned(), 3), ("word".to_owned(), 4)]);
    assert!(summary[0].is_sparse && summary[0].values == 3);
    assert_eq!(summary[1].points_into.as_deref(), Some("doc"));
}

/// What is said of a file that was changed, without its name.
#[track_caller]
fn refused(path: &Path, name: &str, axes: &[&str]) -> String {
    match read_as(path, name, axes) {
        Ok(content) => panic!("accepted: {}", describe(&content)),
        Err(error) => error.to_string().replace(&path.display().to_string(), "FILE"),
    }
}

#[test]
fn another_array_or_other_axes_are_refused_with_what_there_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = packed(directory.path());
    assert_eq!(
        refused(&path, "m", &["doc", "word"]),
        "FILE: found packed data of `n`, `class`, `scale`; expected an array `m` (`--data NAME=FILE:n` reads `n`)"
    );
    assert_eq!(
        refused(&path, "n", &["word", "doc"]),
        "FILE: found `n` packed over 2 dimensions, `doc` by `word`; expected 2 dimensions, `word` by `doc` (`--transpose NAME` reads \
         it the other way round)"
    );
    let other = refused(&path, "n", &["user", "item"]);
    assert!(
        other.contains("expected 2 dimensions, `user` by `item`") && other.contains("pack them anew"),
        "{other}"
    );
    assert!(refused(&path, "n", &["doc"]).contains("expected 1 dimension, `doc`"));
}

#[test]
fn what_is_cut_damaged_or_of_another_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = packed(directory.path());
    let whole = fs::read(&path).unwrap();
    let said = |bytes: &[u8], name: &str, axes: &[&str]| {
        fs::write(&path, bytes).unwrap();
        refused(&path, name, axes)
    };
    let both = ["doc", "word"];
    for length in 0..whole.len() {
        let message = said(&whole[..length], "n", &both);
        let cut = format!("packed data of {length} bytes that had {} when they were written", whole.len());
        let expected = if length < 64 { "a file that is no packed data" } else { cut.as_str() };
        assert!(message.contains(expected), "{length}: {message}");
    }
    let mut other = whole.clone();
    other[8] = 2;
    let message = said(&other, "n", &both);
    assert!(
        message.contains("found packed data of version 2; expected packed data of version 1"),
        "{message}"
    );
    let csv = b"doc,word,n\n1,2,3\n".repeat(9);
    assert!(said(&csv, "n", &both).contains("found a file that is no packed data"));

    // Any byte that is changed changes no number: it is refused, or belongs to nothing that is read.
    let mut refusals = 0;
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        for (name, axes, own) in [
            ("n", &both[..], "coordinates [3, 4]: [0, 1]=2 [0, 3]=1 [2, 0]=5"),
            ("class", &both[..1], "dense [3] [first||zweite Ü] = (zweite Ü|?|)"),
        ] {
            match read_as(&path, name, axes) {
                Ok(content) => assert_eq!(describe(&content), own, "byte {place}"),
                Err(error) => {
                    refusals += 1;
                    let known = ["damaged", "no packed data", "version", "when they were written"];
                    assert!(known.iter().any(|own| error.to_string().contains(own)), "byte {place}: {error}");
                }
            }
        }
    }
    assert!(refusals > whole.len(), "{refusals}");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_mapped_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("d.cavi-data");
    fs::create_dir(&path).unwrap();
    let message = refused(&path, "n", &["doc", "word"]);
    assert!(message.contains("found a directory") || message.contains("folder"), "{message}");
    let message = refused(&directory.path().join("none.cavi-data"), "n", &["doc", "word"]);
    assert!(message.contains("found no such file"), "{message}");
}

/// Listed classes `b`, `a`, one missing, of an axis with labels: the labels come with the positions, `2.0` among them as `2`.
#[test]
fn listed_positions_of_an_axis_have_its_labels() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w.cavi-data");
    let labels = ["a", "b", "2.0"].map(str::to_owned);
    let axes = [
        PackedAxis { name: "doc", size: 2, labels: None, groups: None },
        PackedAxis { name: "pos", size: 2, labels: None, groups: None },
        PackedAxis { name: "word", size: 3, labels: Some(&labels), groups: None },
    ];
    let indices = [vec![0, 0, 1].into(), vec![0, 1, 0].into()];
    let own = PackedArray {
        name: "w",
        axes: vec!["doc", "pos"],
        points_into: Some("word"),
        declared: Declared { unlisted_zero: false, only: None },
        texts: None,
        indices: Some(&indices),
        entries: PackedEntries { values: &[1.0, 0.0, 2.0], observed: Some(&[true, true, false]) },
    };
    write_packed(&path, &axes, std::slice::from_ref(&own)).unwrap();
    let content = read_as(&path, "w", &["doc", "pos"]).unwrap();
    assert_eq!(content.labels_of_values(), Some(["a", "b", "2"].map(str::to_owned).as_slice()));
    // A position beyond the axis is damage.
    let entries = PackedEntries { values: &[1.0, 3.0, 2.0], observed: None };
    write_packed(&path, &axes, &[PackedArray { entries, ..own }]).unwrap();
    let error = read_as(&path, "w", &["doc", "pos"]).unwrap_err().to_string();
    assert!(error.contains("damaged (the values of `w`)"), "{error}");
}
