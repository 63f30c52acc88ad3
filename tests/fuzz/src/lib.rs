//! What is fuzzed: each target takes bytes of no sense, does with them what a command does with a file, and panics where a promise is
//! broken. No input may lead to a panic, to memory that it does not account for, or to a result that is not its own.
//!
//! `tests/journey/replayed.rs` runs the same functions over the programs of the tests, over damaged copies of them, and over everything
//! that fuzzing has found.

mod algebra;
mod stored;

use std::collections::BTreeSet;
use std::path::Path;

use cavi::bind::{ArrayInput, Inputs, Source};
use cavi_files::{ColumnOf, Content, Dimension, ReadOptions, Wanted};
use cavi_syntax::{parse, print, render_all};

pub use algebra::canonical;
pub use stored::{begins, checkpoint, resumes, start};

/// What is done with bytes.
pub type Target = fn(&[u8]);

/// All targets, by their names.
pub const TARGETS: [(&str, Target); 8] = [
    ("text", text),
    ("format", format),
    ("canonical", canonical),
    ("readers", readers),
    ("blocks", blocks),
    ("data", data),
    ("start", start),
    ("checkpoint", checkpoint),
];

/// What is longer is cut: the time of a case is for many short texts.
const LONGEST: usize = 4096;

/// The largest part of the bytes that is text, up to a length.
fn text_of(bytes: &[u8]) -> &str {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// A program: it is read, resolved and derived, and every complaint is shown at its place. A program without an error derives equations;
/// it and its text in another layout have one hash.
pub fn text(bytes: &[u8]) {
    let text = text_of(bytes);
    let checked = cavi::compile(text, "fuzzed.cavi");
    let shown = render_all(&checked.diagnostics, "fuzzed.cavi", text, false);
    assert_eq!(shown.is_empty(), checked.diagnostics.is_empty());
    for diagnostic in &checked.diagnostics {
        if let Some((span, _)) = &diagnostic.primary {
            assert!(text.get(span.start..span.end).is_some(), "{span:?} is no place of the text");
        }
    }
    let was_ok = checked.is_ok();
    match checked.into_compiled() {
        Ok(compiled) => {
            assert!(was_ok);
            let again = cavi::compile(&print(&compiled.source.program), "fuzzed.cavi");
            let again =
                again.into_compiled().unwrap_or_else(|error| panic!("its printed text is none: {error}"));
            assert_eq!(again.source.hash(), compiled.source.hash());
        }
        Err(_) => assert!(!was_ok),
    }
}

/// A text in the layout of `cavi fmt`: what was read of it is read again from what is printed, and printing that changes nothing.
pub fn format(bytes: &[u8]) {
    let text = text_of(bytes);
    let (program, _) = parse(text);
    let printed = print(&program);
    let (again, complaints) = parse(&printed);
    assert!(complaints.is_empty(), "{printed}\n{complaints:?}");
    assert_eq!(print(&again), printed);
    assert_eq!(again.without_spans(), program.without_spans());
}

/// The names whose endings choose the formats, and those that need a reader of their own.
const NAMES: [&str; 16] = [
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
    "a.csv.zst",
    "a.parquet",
    "a.h5ad",
    "a.h5",
];

/// What two bytes ask of a data file, with its name and what is in it: the first byte chooses the format, the second the options.
fn asked<T>(bytes: &[u8], read: impl FnOnce(&Path, &[u8], &ReadOptions<'_>) -> T) -> Option<T> {
    let [format, asked, rest @ ..] = bytes else { return None };
    let name = NAMES[usize::from(*format) % NAMES.len()];
    let dimensions = [
        Dimension { axis: "row", letter: None },
        Dimension { axis: "column", letter: Some("j") },
        Dimension { axis: "layer", letter: None },
    ];
    let wanted = [Wanted::Numbers, Wanted::Text, Wanted::Positions, Wanted::Optional];
    let columns = [ColumnOf { role: "row", column: "row" }, ColumnOf { role: "value", column: "value" }];
    let options = ReadOptions {
        dimensions: &dimensions[..usize::from(asked & 3)],
        wanted: wanted[usize::from(asked >> 2 & 3)],
        column: (asked & 16 != 0).then_some("value"),
        name: "value",
        columns: if asked & 32 != 0 { &columns } else { &[] },
        is_wide: asked & 64 != 0,
        unique: asked & 128 != 0,
        ..ReadOptions::default()
    };
    Some(read(Path::new(name), rest, &options))
}

/// A data file, read from memory. What comes back has values for all its entries, and positions within its shape.
pub fn readers(bytes: &[u8]) {
    asked(bytes, looked_through);
}

/// The same file read from memory and from a disk, block by block, with lists in memory and on disk: all find the same content, or all refuse
/// it. Of two things that are wrong with a file another may be met first; where it is the same, it stands in the same line.
pub fn blocks(bytes: &[u8]) {
    asked(bytes, |name, rest, options| {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        let path = directory.path().join(name);
        std::fs::write(&path, rest).expect("a file can be written");
        let in_memory = cavi_files::read_from(&path, rest.to_vec(), options);
        let same = |how: &str, options: &ReadOptions<'_>| match (&in_memory, cavi_files::read(&path, options))
        {
            // Values that are missing are no numbers, which equal nothing.
            (Ok(one), Ok(other)) => assert_eq!(format!("{other:?}"), format!("{one:?}"), "{how}"),
            (Err(one), Err(other)) if one.found == other.found => {
                assert_eq!(other.line, one.line, "{how}: {one:?}")
            }
            (Err(_), Err(_)) => {}
            (one, other) => panic!("{how}: {other:?}, and from memory {one:?}"),
        };
        same("read block by block", options);
        same("with lists on disk", &ReadOptions { spill: Some(directory.path()), ..*options });
    });
}

fn looked_through(name: &Path, rest: &[u8], options: &ReadOptions<'_>) {
    match cavi_files::read_from(name, rest.to_vec(), options) {
        Err(error) => {
            assert!(!error.found.is_empty() && !error.expected.is_empty(), "{error:?} says nothing");
            let lines = 2 + rest.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
            // What is inflated has lines of its own.
            let suffix = name.extension().and_then(|suffix| suffix.to_str());
            let is_plain = !matches!(suffix, Some("gz" | "zst"));
            assert!(
                !is_plain || error.line.is_none_or(|line| (1..=lines).contains(&line)),
                "{error:?} is beyond the file"
            );
        }
        Ok(Content::Coordinates(own)) => {
            assert_eq!(own.indices.len(), own.shape.len());
            for (indices, size) in own.indices.iter().zip(&own.shape) {
                assert_eq!(indices.len(), own.values.len());
                assert!(indices.iter().all(|index| (*index as usize) < *size), "a position beyond {size}");
            }
        }
        Ok(Content::Dense(own)) => {
            assert_eq!(own.values.len(), own.shape.iter().product::<usize>());
            for (labels, size) in own.labels.iter().zip(&own.shape) {
                let Some(labels) = labels else { continue };
                assert_eq!(labels.len(), *size);
                assert_eq!(labels.iter().collect::<BTreeSet<&String>>().len(), *size, "a label stands twice");
            }
        }
        Ok(Content::Documents(own)) => {
            assert_eq!(own.offsets.last().copied().unwrap_or_default(), own.ids.len());
            assert_eq!(own.ids.len(), own.counts.len());
        }
        Ok(Content::Long(own)) => {
            let rows = own.positions.first().map_or(0, |first| first.codes.len());
            for column in &own.positions {
                assert_eq!(column.codes.len(), rows);
                assert!(
                    column.codes.iter().all(|code| (*code as usize) < column.names.len()),
                    "a position is missing"
                );
            }
            assert!(
                own.values
                    .as_ref()
                    .is_none_or(|(_, values)| values.len() == rows || own.positions.is_empty())
            );
        }
    }
}

/// Programs whose data are of each type; `x` is what the file is bound to.
const PROGRAMS: [&str; 6] = [
    "axis row[i]\naxis column[j]\ndata x[i, j] : count\nm[i] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(m[i])\n",
    "axis row[i]\naxis column[j]\ndata x[i, j] : count, absent = 0\nm[i] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(m[i])\n",
    "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA\nm[j] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m[j], sd = 1)\n",
    "axis row[i]\naxis group[g]\ndata x[i] : index group\np[:g] ~ Dirichlet(1)\nx[i] ~ Categorical(p[:g])\n",
    "axis row[i]\ndata x[i] : real\nm ~ Normal(0, sd = 1)\nx[i] ~ Normal(m, sd = 1)\n",
    "axis row[i]\naxis other[j]\ndata x[i, j] : binary, absent = NA\np[i] ~ Beta(1, 1)\nx[i, j] ~ Bernoulli(p[i])\n",
];

/// A data file with its program: the first byte chooses the format, the second the program. It is read, checked and prepared for a run,
/// or refused with a message.
pub fn data(bytes: &[u8]) {
    let [format, program, rest @ ..] = bytes else { return };
    cavi_files::memory::limit_to(512 << 20);
    let name = NAMES[usize::from(*format) % NAMES.len()].into();
    let source = Source::Bytes { name, bytes: rest.to_vec().into() };
    let data = vec![ArrayInput { name: "x".to_owned(), group: None, source }];
    let inputs = Inputs { data, ..Inputs::default() };
    let text = PROGRAMS[usize::from(*program) % PROGRAMS.len()];
    let (compiled, _) =
        cavi::session::open(text, "fuzzed.cavi", &inputs).expect("the program has no mistake");
    if let Err(error) = compiled.bind(&inputs) {
        assert!(!error.to_string().is_empty());
    }
}
