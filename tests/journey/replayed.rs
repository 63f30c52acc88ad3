//! The targets of fuzzing (`tests/fuzz`) over the programs of the tests, over damaged copies of them and of small data files, and over every
//! input that fuzzing has found something with. The copies are damaged in the same places in every run.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

use cavi_tests::corpus::{examples, models, rejected};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Runs a target, which panics where a promise is broken.
fn target(name: &str) -> targets::Target {
    let found = targets::TARGETS.iter().find(|own| own.0 == name);
    found.unwrap_or_else(|| panic!("there is no target {name}")).1
}

/// A copy with up to four pieces left out, doubled, overwritten, exchanged for a piece of another, or with a byte changed.
fn damaged(bytes: &[u8], other: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut own = bytes.to_vec();
    for _ in 0..random.random_range(1..=4) {
        if own.is_empty() {
            break;
        }
        let start = random.random_range(0..own.len());
        let end = (start + random.random_range(1..=24)).min(own.len());
        match random.random_range(0..5) {
            0 => drop(own.drain(start..end)),
            1 => {
                let piece = own[start..end].to_vec();
                own.splice(start..start, piece);
            }
            2 => own[start..end].fill(*b" \n,;[~0\xff9".choose(random).unwrap()),
            3 if !other.is_empty() => {
                let from = random.random_range(0..other.len());
                let to = (from + random.random_range(1..=24)).min(other.len());
                own.splice(start..end, other[from..to].iter().copied());
            }
            _ => own[start] ^= 1 << random.random_range(0..8),
        }
    }
    own
}

#[test]
fn what_fuzzing_found_stays_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/findings");
    let mut replayed = 0;
    for (name, run) in targets::TARGETS {
        let Ok(files) = fs::read_dir(folder.join(name)) else { continue };
        for file in files {
            run(&fs::read(file.unwrap().path()).unwrap());
            replayed += 1;
        }
    }
    assert!(replayed > 0, "the inputs are in {}", folder.display());
}

#[test]
fn damaged_programs_are_explained() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let texts: Vec<String> =
        [models(), examples(), rejected()].concat().into_iter().map(|own| own.text).collect();
    for text in &texts {
        target("format")(text.as_bytes());
        let other = texts.choose(&mut random).unwrap();
        let damaged = damaged(text.as_bytes(), other.as_bytes(), &mut random);
        target("format")(&damaged);
        target("text")(&damaged);
    }
}

#[test]
fn sums_of_no_sense_have_a_canonical_form_of_the_same_value() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..3000 {
        let length = random.random_range(1..100);
        target("canonical")(&(0..length).map(|_| random.random()).collect::<Vec<u8>>());
    }
}

/// Small data files, each behind the byte that chooses its format.
const FILES: [(u8, &[u8]); 9] = [
    (0, b"%%MatrixMarket matrix coordinate integer general\n3 2 3\n1 1 4\n2 2 1\n3 1 7\n"),
    (1, b"1 1 4\n2 2 1\n3 1 7\n"),
    (4, b"row,column,value\na,x,1\nb,y,2\na,y,0\n"),
    (4, b",x,y\na,1,2\nb,0,NA\n"),
    (5, b"gene\ts1\ts2\ng1\t0.5\t1\ng2\t-1\t2\n"),
    (6, b"2 0:1 3:2\n1 1:1\n"),
    (11, b"1 2 3\n4 5 6\n"),
    (2, b"\x93NUMPY\x01\x00\x36\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}\n\0\0\0\0\0\0\xf0?"),
    (10, b"a,b\n"),
];

#[test]
fn damaged_data_files_are_read_or_refused() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..150 {
        for (format, bytes) in FILES {
            let (_, other) = FILES.choose(&mut random).unwrap();
            let asked: u8 = random.random();
            let damaged = damaged(bytes, other, &mut random);
            target("readers")(&[&[format, asked], damaged.as_slice()].concat());
            target("blocks")(&[&[format, asked], damaged.as_slice()].concat());
            target("data")(&[&[format, asked], damaged.as_slice()].concat());
        }
    }
}

#[test]
fn damaged_starts_and_checkpoints_are_refused_or_run() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    // A start is read as it was written, and a checkpoint that nothing changed is resumed.
    assert!(targets::begins(2, b"0\n1\n2\n3\n"));
    assert!(!targets::begins(2, b"0\n1\n2\n"));
    assert!(targets::resumes(0, &[]));
    assert!(!targets::resumes(5, &[40, 0, 1]));
    for _ in 0..60 {
        let (_, bytes) = FILES.choose(&mut random).unwrap();
        let damaged = damaged(bytes, FILES[7].1, &mut random);
        target("start")(&[&[random.random()], damaged.as_slice()].concat());
        let changes: Vec<u8> = (0..random.random_range(1..20)).map(|_| random.random()).collect();
        target("checkpoint")(&changes);
    }
}
