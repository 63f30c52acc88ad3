//! NumPy files, against those that NumPy and SciPy wrote, see `data/README.md`.

use std::path::{Path, PathBuf};

use crate::common::{check, check_error, read};
use cavi_files::{
    Content, DenseArray, Dimension, FileError, ReadOptions, read_npy, read_npz_arrays, write_npy,
    write_npy_i64,
};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn load(name: &str, axes: &str) -> Result<Content, FileError> {
    read(name, std::fs::read(data(name)).unwrap(), axes)
}

/// An .npy file with this header, padded as little as the format allows.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

#[test]
fn every_type_is_read_in_both_orders() {
    let arrays = read_npz_arrays(&data("types.npz")).unwrap();
    assert_eq!(arrays.len(), 40);
    for (key, array) in arrays {
        assert_eq!(array.shape, [2, 3], "{key}");
        assert_eq!(array.values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "{key}");
    }
    check(load("bool.npy", "n"), "dense [3] - = 1 0 1");
    check(load("signed.npy", "n"), "dense [3] - = -1 -32768 7");
    check(load("missing.npy", "a b"), "dense [2, 2] - - = 1.5 ? inf -0");
    check(load("scalar.npy", ""), "dense [] = 0.25");
    check(load("empty.npy", "a b"), "dense [0, 3] - - = ");
    check(load("version_2.npy", "n"), "dense [3] - = 0 1 2");
    check(load("version_3.npy", "n"), "dense [3] - = 0 1 2");
    check(load("gzip.npy.gz", "n"), "dense [4] - = 0 1 2 3");
    let expected = DenseArray { shape: vec![2, 3, 4], values: (0..24).map(f64::from).collect() };
    assert_eq!(read_npy(&data("fortran_3.npy")).unwrap(), expected);
    assert_eq!(read_npy(&data("gzip.npy.gz")).unwrap().shape, [4]);
}

#[test]
fn other_types_are_refused() {
    let refused = |name: &str, found: &str| {
        check_error(
            load(name, "n"),
            &format!(
                "{name}: found entries of type {found}; expected integers, booleans, or floats of 4 or 8 bytes \
                 (`array.astype('float64')` makes such of many others)"
            ),
        );
    };
    refused("complex.npy", "`<c16`");
    refused("structured.npy", "`[('a', '<i4'), ('b', '<f8')]`");
    refused("object.npy", "`|O`");
    check_error(load("text.npy", "n"), "text.npy: found entries of type `<U2`; expected numbers");
    check_error(
        load("wide.npy", "n"),
        "wide.npy: found an integer beyond 2^53; expected integers that a double can hold",
    );
    check_error(
        load("scalar.npy", "n"),
        "scalar.npy: found an array of 0 dimensions; expected 1 dimension, `n`",
    );
    check_error(
        load("missing.npy", ""),
        "missing.npy: found an array of 2 dimensions; expected a single number",
    );
}

#[test]
fn wrong_headers_are_refused() {
    let with = |header: &str, bytes: usize| read("a.npy", npy(header, &vec![0; bytes]), "n");
    let header = |shape: &str| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    check(with(&header("(2,)"), 16), "dense [2] - = 0 0");
    check(with(&header("(2L,)"), 16), "dense [2] - = 0 0");
    check(with("{\"shape\":(2,),'fortran_order':True,'descr':'=u1'}", 2), "dense [2] - = 0 0");
    let size = |shape: &str, expected: &str| {
        check_error(
            with(&header(shape), 8),
            &format!("a.npy: found 8 bytes after the header; expected {expected}"),
        );
    };
    size("(2,)", "16 bytes, for the shape is [2]");
    size("(0,)", "0 bytes, for the shape is [0]");
    size("(1000000000000,)", "8000000000000 bytes, for the shape is [1000000000000]");
    size(
        "(4294967296, 4294967296)",
        "the bytes of an array of shape [4294967296, 4294967296], which no memory can hold",
    );
    for text in [
        "",
        "{",
        "{}",
        "(2,)",
        "{'descr': '<f8', 'shape': (1,)}",
        "{'descr': '<f8' 'shape': (1,)}",
        &header("(-1,)"),
        &header("(1.5,)"),
        &header("(99999999999999999999,)"),
        &header("(1"),
        &header("1"),
        &header("(é,)"),
        "{'descr: (1,)}",
        "{'descr': [('a'",
        "{'other': True}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
    ] {
        let error = with(text, 8).unwrap_err().to_string();
        assert!(error.contains("found the header"), "{text}: {error}");
    }
    for descr in ["", "é8", "f8", "<", "<S99999999999999999999", "<Ué", "<f16", "<m8[D]"] {
        let error = with(&header("(1,)").replace("<f8", descr), 8).unwrap_err().to_string();
        assert!(error.contains("found entries of type"), "{descr}: {error}");
    }
    let whole = npy(&header("(1,)"), &[0; 8]);
    for length in 1..whole.len() {
        assert!(read("a.npy", &whole[..length], "n").is_err(), "{length}");
    }
    let mut other = whole.clone();
    other[6] = 9;
    check_error(
        read("a.npy", other, "n"),
        "a.npy: found version 9 of the .npy format; expected version 1, 2 or 3",
    );
    check_error(
        read("a.npy", "1,2\n", "n"),
        "a.npy: found `1,2\\n` at the start; expected the bytes `\\x93NUMPY` of an .npy file",
    );
    // An empty array may have other lengths of any size.
    let header = header("(4294967296, 4294967296, 4294967296, 0)");
    let content = read("a.npy", npy(&header, &[]), "a b c d").unwrap();
    assert!(content.is_empty());
}

#[test]
fn sparse_matrices_are_read() {
    check(load("csr.npz", "a b"), "coordinates [3, 4]: [0, 1]=2 [1, 0]=1.5 [1, 3]=?");
    check(load("csc.npz", "a b"), "coordinates [3, 4]: [1, 0]=1.5 [0, 1]=2 [1, 3]=?");
    let coo = "coordinates [3, 4]: [0, 1]=0.5 [1, 0]=1.5 [1, 3]=? [0, 1]=1.5";
    check(load("coo.npz", "a b"), coo);
    check(load("coo_array.npz", "a b"), coo);
    check(load("csr_int_stored.npz", "a b"), "coordinates [2, 2]: [0, 1]=3 [1, 0]=4");
    for format in ["bsr", "dia"] {
        check_error(
            load(&format!("{format}.npz"), "a b"),
            &format!(
                "{format}.npz: found a sparse matrix in the format `{format}`; expected `csr`, `csc` or `coo` \
                 (`matrix.tocsr()` converts it)"
            ),
        );
    }
    check_error(load("csr.npz", "a"), "csr.npz: found an array of 2 dimensions; expected 1 dimension, `a`");
}

#[test]
fn archives_of_arrays_are_read() {
    check(load("one.npz", "a b"), "dense [2, 3] - - = 0 1 2 3 4 5");
    check_error(
        load("two.npz", "a"),
        "two.npz: found 2 arrays: `a`, `b`; expected one array, or a sparse matrix as `scipy.sparse.save_npz` writes it",
    );
    let arrays = read_npz_arrays(&data("start.npz")).unwrap();
    let found: Vec<_> = arrays
        .iter()
        .map(|(key, array)| (key.as_str(), array.shape.as_slice(), array.values.as_slice()))
        .collect();
    let expected: [(&str, &[usize], &[f64]); 4] = [
        ("w.mean/rna", &[2, 2], &[0.0, 1.0, 2.0, 3.0]),
        ("w.mean/b.c", &[1], &[1.0]),
        ("tau.rate", &[], &[2.0]),
        ("w.index", &[1, 2], &[1.0, 2.0]),
    ];
    assert_eq!(found, expected);
    let error = read_npz_arrays(&data("none.npz")).unwrap_err().to_string();
    assert!(error.ends_with("none.npz: found no such file; expected a readable file"), "{error}");
}

/// A zip file of these members.
fn npz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn wrong_archives_are_refused() {
    let integers = |values: &[i64]| {
        let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},)}}", values.len());
        npy(&header, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
    };
    let csr = |shape: &[i64], indptr: &[i64], indices: &[i64], data: &[i64]| {
        let format = npy("{'descr': '|S3', 'fortran_order': False, 'shape': ()}", b"csr");
        let bytes = npz(&[
            ("format.npy", format),
            ("shape.npy", integers(shape)),
            ("indptr.npy", integers(indptr)),
            ("indices.npy", integers(indices)),
            ("data.npy", integers(data)),
        ]);
        read("a.npz", bytes, "a b")
    };
    check(csr(&[2, 2], &[0, 1, 2], &[1, 1], &[5, 6]), "coordinates [2, 2]: [0, 1]=5 [1, 1]=6");
    let refused =
        |content, expected: &str| check_error(content, &format!("a.npz: found in the array {expected}"));
    refused(
        csr(&[2, 2], &[0, 1, 2], &[1, 2], &[5, 6]),
        "`indices`, the position 2; expected positions from 0 to less than 2",
    );
    refused(
        csr(&[2, 2], &[0, 1, 2], &[1, -1], &[5, 6]),
        "`indices`, the position -1; expected positions from 0 to less than 2",
    );
    refused(
        csr(&[2, 2], &[0, 1, 2], &[1], &[5, 6]),
        "`indices`, 1 positions; expected 2, one for each entry of `data`",
    );
    refused(
        csr(&[2, 2], &[0, 2], &[1, 1], &[5, 6]),
        "`indptr`, 2 offsets; expected 3, one more than the shape",
    );
    refused(
        csr(&[4294967295, 2], &[0, 2], &[1, 1], &[5, 6]),
        "`indptr`, 2 offsets; expected 4294967296, one more than the shape",
    );
    refused(
        csr(&[2, 2], &[0, 1, 3], &[1, 1], &[5, 6]),
        "`indptr`, offsets from 0 to 3; expected offsets from 0 to 2, the number of entries",
    );
    refused(
        csr(&[2, 2], &[0, 3, 2], &[1, 1], &[5, 6]),
        "`indptr`, the offset 3 after 0; expected whole offsets that never fall",
    );
    refused(
        csr(&[2, 2], &[0, -1, 2], &[1, 1], &[5, 6]),
        "`indptr`, the offset -1 after 0; expected whole offsets that never fall",
    );
    refused(
        csr(&[2, -2], &[0, 1, 2], &[1, 1], &[5, 6]),
        "`shape`, the length -2; expected a whole number from 0 to 4294967295",
    );
    check_error(
        csr(&[2], &[0, 1, 2], &[1, 1], &[5, 6]),
        "a.npz: found a sparse array of 1 dimensions; expected a matrix, which has 2",
    );
    let other = |members: &[(&str, Vec<u8>)]| read("a.npz", npz(members), "n");
    check(other(&[("x.npy", integers(&[3]))]), "dense [1] - = 3");
    check_error(
        other(&[("x.txt", vec![])]),
        "a.npz: found the member `x.txt`; expected members that end in .npy",
    );
    check_error(
        other(&[]),
        "a.npz: found 0 arrays: none; expected one array, or a sparse matrix as `scipy.sparse.save_npz` writes it",
    );
    refused(
        other(&[("x.npy", b"text".to_vec())]),
        "`x`, `text` at the start; expected the bytes `\\x93NUMPY` of an .npy file",
    );
    let whole = npz(&[("x.npy", integers(&[3]))]);
    for length in 1..whole.len() {
        assert!(read("a.npz", &whole[..length], "n").is_err(), "{length}");
    }
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        // Some bytes, such as dates, carry nothing; whatever happens, it is no panic.
        let _ = read("a.npz", damaged, "n");
    }
}

#[test]
fn arrays_are_written_byte_for_byte_as_by_numpy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    let mut shapes: Vec<Vec<usize>> =
        vec![vec![], vec![1], vec![7], vec![2, 3], vec![10, 1], vec![1; 5], vec![12, 1, 1, 1, 1, 1, 1]];
    shapes.extend((8..33).map(|n| vec![1; n]));
    shapes.extend([vec![0, 12345, 7], vec![0, 1234567890123], vec![100, 2]]);
    let mut written = Vec::new();
    for shape in shapes {
        let n: usize = shape.iter().product();
        let floats: Vec<f64> = (0..n).map(|value| value as f64 / 3.0).collect();
        write_npy(&path, &shape, &floats).unwrap();
        written.extend(std::fs::read(&path).unwrap());
        assert_eq!(read_npy(&path).unwrap(), DenseArray { shape: shape.clone(), values: floats });
        let integers: Vec<i64> = (0..n as i64).map(|value| value - 2).collect();
        write_npy_i64(&path, &shape, &integers).unwrap();
        written.extend(std::fs::read(&path).unwrap());
    }
    assert!(written == std::fs::read(data("written.bin")).unwrap(), "the bytes differ from NumPy's");
}

/// Arrays of several blocks, of each type and order, whole and cut anywhere, are what they are as bytes in memory.
#[test]
fn a_file_is_read_in_blocks_as_its_bytes_are() {
    let directory = std::env::temp_dir().join(format!("cavi-npy-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("x.npy");
    let two = ["a", "b"].map(|axis| Dimension { axis, letter: None });
    let options = ReadOptions { dimensions: &two, ..ReadOptions::default() };
    for (descr, size) in [("<f8", 8), (">f8", 8), ("<f4", 4), (">i2", 2), ("|u1", 1), ("|b1", 1), ("<i4", 4)]
    {
        for fortran in ["False", "True"] {
            let (rows, columns) = (701, 2_503);
            let bytes = (0..rows * columns * size).map(|place| (place * 37 % 113) as u8);
            let header =
                format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({rows}, {columns}), }}");
            let whole = npy(&header, &bytes.collect::<Vec<u8>>());
            for length in [whole.len(), whole.len() - 1, 200, 11, 5, 0] {
                std::fs::write(&path, &whole[..length]).unwrap();
                let read = cavi_files::read(&path, &options);
                let from = cavi_files::read_from(&path, whole[..length].to_vec(), &options);
                assert_eq!(read.is_ok(), length == whole.len(), "{descr} {length}");
                let same = match (&read, &from) {
                    (Err(one), Err(other)) => one.to_string() == other.to_string(),
                    (one, other) => one.as_ref().ok() == other.as_ref().ok(),
                };
                assert!(same, "{descr}, fortran_order {fortran}, {length} of {} bytes", whole.len());
            }
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
