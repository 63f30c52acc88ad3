//! Matrix Market, FROSTT and LDA-C files, and gzip around them: what they hold, and what is refused.

use std::io::Write;

use crate::common::{check, check_error, lines, read, read_with};
use cavi_files::Wanted;

fn mtx(text: &str) -> Result<cavi_files::Content, cavi_files::FileError> {
    read("a.mtx", text, "doc word")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const INTEGER: &str = "%%MatrixMarket matrix coordinate integer general\n";

#[test]
fn matrix_market_coordinates() {
    let text = format!("{INTEGER}% a comment\n\n3 4 4\n3 4 2\n1 1 5\n% another\n\n3 4 -1\r\n 2\t2   nan \n");
    let content = mtx(&text);
    check(content.clone(), "coordinates [3, 4]: [2, 3]=2 [0, 0]=5 [2, 3]=-1 [1, 1]=?");
    assert_eq!(lines(&content.unwrap()), [5, 6, 9, 10]);
    check(
        mtx("%%matrixmarket MATRIX Coordinate Real General\n1 1 1\n1 1 1e-3"),
        "coordinates [1, 1]: [0, 0]=0.001",
    );
    check(
        mtx("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n"),
        "coordinates [2, 2]: [0, 1]=1 [1, 0]=1",
    );
    check(mtx(&format!("{INTEGER}0 5 0\n")), "coordinates [0, 5]: ");
    check(mtx(&format!("{INTEGER}4294967295 5 0")), "coordinates [4294967295, 5]: ");
}

#[test]
fn a_symmetric_matrix_has_both_triangles() {
    check(
        mtx("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 2\n3 2 .5\n"),
        "coordinates [3, 3]: [0, 0]=1 [1, 0]=2 [0, 1]=2 [2, 1]=0.5 [1, 2]=0.5",
    );
    check(mtx("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"), "dense [2, 2] - - = 1 2 2 3");
    check(
        mtx("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 3\n2 2 1\n"),
        "coordinates [2, 2]: [0, 1]=3 [1, 0]=3 [1, 1]=1",
    );
    check_error(
        mtx("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 3\n3 3 1\n1 2 3\n"),
        "a.mtx, line 5: found the entry 1 2 above the diagonal, and entries on the other side before it; expected one half of the matrix, for the \
         first line says `symmetric` (list each pair once, below the diagonal, or write `general` for `symmetric` if all entries are listed)",
    );
    check_error(
        mtx("%%MatrixMarket matrix coordinate real symmetric\n3 2 0\n"),
        "a.mtx, line 2: found 3 rows and 2 columns; expected as many rows as columns, for the header says `symmetric`",
    );
}

#[test]
fn a_matrix_market_array_lists_columns() {
    check(
        mtx("%%MatrixMarket matrix array real general\n% c\n2 3\n1\n2\n\n3\n% c\n4\n5 6\n"),
        "dense [2, 3] - - = 1 3 5 2 4 6",
    );
    check(mtx("%%MatrixMarket matrix array integer general\n0 3\n"), "dense [0, 3] - - = ");
    check(read("y.mtx", "%%MatrixMarket matrix array real general\n2 1\n7\n8\n", "n"), "dense [2] - = 7 8");
    check(read("y.mtx", format!("{INTEGER}3 1 1\n2 1 7\n"), "n"), "coordinates [3]: [1]=7");
}

#[test]
fn wrong_matrix_market_headers_are_refused() {
    let header = |words: &str| mtx(&format!("%%MatrixMarket {words}\n1 1 1\n1 1 1\n"));
    check_error(
        mtx("1 1 1\n"),
        "a.mtx, line 1: found `1` at the start; expected the header `%%MatrixMarket matrix coordinate real general`, \
         or one of its variants",
    );
    check_error(
        header("tensor coordinate real general"),
        "a.mtx, line 1: found `tensor` in the header; expected `matrix`",
    );
    check_error(
        header("matrix coordinate complex general"),
        "a.mtx, line 1: found `complex` in the header; expected `real`, `integer` or `pattern`",
    );
    check_error(
        header("matrix coordinate real skew-symmetric"),
        "a.mtx, line 1: found `skew-symmetric` in the header; expected `general` or `symmetric`",
    );
    check_error(
        header("matrix coordinate real hermitian"),
        "a.mtx, line 1: found `hermitian` in the header; expected `general` or `symmetric`",
    );
    check_error(
        header("matrix list real general"),
        "a.mtx, line 1: found `list` in the header; expected `coordinate` or `array`",
    );
    check_error(
        header("matrix array pattern general"),
        "a.mtx, line 1: found `pattern` in the header; expected `real` or `integer`, for `pattern` has no meaning in an array",
    );
    check_error(header("matrix"), "a.mtx, line 1: found `` in the header; expected `coordinate` or `array`");
    check_error(
        mtx(INTEGER),
        "a.mtx: found the end of the file; expected a line with rows, columns and the number of entries",
    );
    check_error(
        mtx(&format!("{INTEGER}-3 4 1\n1 1 1\n")),
        "a.mtx, line 2: found `-3`; expected a size from 0 to 4294967295",
    );
    check_error(
        mtx(&format!("{INTEGER}3 4 -1\n1 1 1\n")),
        "a.mtx, line 2: found `-1`; expected a number of entries",
    );
    check_error(
        mtx(&format!("{INTEGER}3 4\n1 1 1\n")),
        "a.mtx, line 2: found 2 numbers; expected rows, columns and the number of entries",
    );
    check_error(
        mtx(&format!("{INTEGER}3 4 1 9\n1 1 1\n")),
        "a.mtx, line 2: found `9` after the sizes; expected rows, columns and the number of entries",
    );
    check_error(
        read("a.mtx", format!("{INTEGER}1 1 0\n"), "a b c"),
        "a.mtx: found an array of 2 dimensions; expected 3 dimensions, `a` by `b` by `c`",
    );
}

#[test]
fn a_header_that_claims_too_much_is_refused_before_memory_is_taken() {
    check_error(
        mtx(&format!("{INTEGER}10 10 1000000000000\n1 1 1\n")),
        "a.mtx, line 2: found a header that claims 1000000000000 entries; expected at most 2, for which the 7 bytes \
         that follow it suffice",
    );
    check_error(
        mtx(&format!("{INTEGER}1000000000000 10 1\n1 1 1\n")),
        "a.mtx, line 2: found `1000000000000`; expected a size from 0 to 4294967295",
    );
    check_error(
        mtx(&format!("{INTEGER}10 10 18446744073709551616\n1 1 1\n")),
        "a.mtx, line 2: found `18446744073709551616`; expected a number of entries",
    );
    check_error(
        mtx("%%MatrixMarket matrix array real general\n1000000 1000000\n1\n"),
        "a.mtx, line 2: found a header that claims 1000000000000 entries; expected at most 2, for which the 3 bytes \
         that follow it suffice",
    );
    check_error(
        mtx("%%MatrixMarket matrix array real symmetric\n4294967295 4294967295\n1\n"),
        "a.mtx, line 2: found a header that claims 9223372034707292160 entries; expected at most 2, for which the 3 \
         bytes that follow it suffice",
    );
}

#[test]
fn wrong_matrix_market_entries_are_refused() {
    let entries = |text: &str| mtx(&format!("{INTEGER}3 4 2\n{text}"));
    check_error(entries("1 1 1\n4 1 1\n"), "a.mtx, line 4: found row `4`; expected a row from 1 to 3");
    check_error(entries("1 1 1\n3 5 1\n"), "a.mtx, line 4: found column `5`; expected a column from 1 to 4");
    check_error(entries("0 1 1\n1 1 1\n"), "a.mtx, line 3: found row `0`; expected a row from 1 to 3");
    check_error(
        entries("1 -1 1\n1 1 1\n"),
        "a.mtx, line 3: found column `-1`; expected a column from 1 to 4",
    );
    check_error(
        entries("1 1.0 1\n1 1 1\n"),
        "a.mtx, line 3: found column `1.0`; expected a column from 1 to 4",
    );
    check_error(entries("1 1 one\n1 1 1\n"), "a.mtx, line 3: found `one`; expected a number");
    check_error(entries("1 1 NA\n1 1 1\n"), "a.mtx, line 3: found `NA`; expected a number");
    check_error(
        entries("1 1 1.5\n1 1 1\n"),
        "a.mtx, line 3: found `1.5`; expected a whole number, for the header says `integer`",
    );
    check_error(
        entries("1 1\n1 1 1 1\n"),
        "a.mtx, line 3: found 2 fields; expected 3: row, column and value",
    );
    check_error(entries("1\n1 1 1 1 1\n"), "a.mtx, line 3: found 1 field; expected 3: row, column and value");
    check_error(
        entries("1 1 1 1\n1 1 1\n"),
        "a.mtx, line 3: found 4 fields; expected 3: row, column and value",
    );
    check_error(
        entries("1 1 10000000\n"),
        "a.mtx: found the end of the file after 1 entry; expected 2 entries, as the header says",
    );
    check_error(
        entries("1 1 1\n1 1 1\n1 1 1\n"),
        "a.mtx, line 5: found `1` after the last entry; expected no more than 2 entries, as the header says",
    );
    check_error(entries("1 1 \0\n1 1 1\n"), "a.mtx, line 3: found `\\0`; expected a number");
    check_error(
        mtx("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2 1\n2 1\n"),
        "a.mtx, line 3: found 3 fields; expected 2: row and column",
    );
    check_error(
        mtx(&format!("{INTEGER}0 4 1\n1 1 1\n")),
        "a.mtx, line 3: found row `1`; expected no entry, for the size is 0",
    );
    let array = |text: &str| mtx(&format!("%%MatrixMarket matrix array real general\n2 2\n{text}"));
    check_error(array("1\n2\nx\n4\n"), "a.mtx, line 5: found `x`; expected a number");
    check_error(
        array("1\n2\n3.00\n"),
        "a.mtx: found the end of the file before row 2 of column 2; expected 4 values, as the header says",
    );
    check_error(
        array("1\n2\n3\n4\n5\n"),
        "a.mtx, line 7: found `5` after the last entry; expected no more than 4 values, as the header says",
    );
}

#[test]
fn frostt_tensors() {
    let content = read("a.tns", "# 9 9 9\n2 1 3 4\n\n1 1 1 .5\n# c\n2 1 3 1\n", "a b c");
    check(content.clone(), "coordinates [2, 1, 3] or more: [1, 0, 2]=4 [0, 0, 0]=0.5 [1, 0, 2]=1");
    assert_eq!(lines(&content.unwrap()), [2, 4, 6]);
    check(read("a.tns", "\u{feff}3 7", "n"), "coordinates [3] or more: [2]=7");
    check(read("a.tns", "# nothing\n", "a b"), "coordinates [0, 0] or more: ");
    check(
        read_with("a.tns", "1 2\n2 2\n", "a b", Wanted::Positions, None, &[]),
        "coordinates [2, 2] or more: [0, 1]=1 [1, 1]=1",
    );
}

#[test]
fn wrong_frostt_tensors_are_refused() {
    let tns = |text: &str| read("a.tns", text, "a b c");
    check_error(
        tns("1 1 1 1\n1 1 1\n"),
        "a.tns, line 2: found 3 fields; expected 4: 3 positions and a value",
    );
    check_error(tns("1 1\n"), "a.tns, line 1: found 2 fields; expected 4: 3 positions and a value");
    check_error(tns("1 1 1 1 1 1\n"), "a.tns, line 1: found 6 fields; expected 4: 3 positions and a value");
    check_error(
        tns("1 0 1 1\n"),
        "a.tns, line 1: found position `0` in dimension 2; expected a position from 1 to 4294967295",
    );
    check_error(
        tns("1 1 -1 1\n"),
        "a.tns, line 1: found position `-1` in dimension 3; expected a position from 1 to 4294967295",
    );
    check_error(
        tns("1 1 4294967296 1\n"),
        "a.tns, line 1: found position `4294967296` in dimension 3; expected a position from 1 to 4294967295",
    );
    check_error(tns("1 1 1 x\n"), "a.tns, line 1: found `x`; expected a number");
    check_error(tns(""), "a.tns: found an empty file; expected data");
    check_error(read("a.tns", "1\n", ""), "a.tns: found a tensor; expected a single number");
}

#[test]
fn lda_c_documents() {
    let content = read("a.ldac", "3 0:4 6:1 0:2\n0\n1 2:1.5\n\n", "doc word");
    check(content.clone(), "documents 0:4 6:1 0:2 /  / 2:1.5");
    let content = content.unwrap();
    assert_eq!(lines(&content), [1, 1, 1, 3]);
    let cavi_files::Content::Documents(documents) = content else { panic!("no documents") };
    assert_eq!((documents.len(), documents.words(), documents.document(3)), (3, 7, 2));
    let coordinates = cavi_files::Content::Coordinates(documents.clone().into_coordinates());
    assert_eq!(lines(&coordinates), [1, 1, 1, 3]);
    check(Ok(coordinates), "coordinates [3, 7] or more: [0, 0]=4 [0, 6]=1 [0, 0]=2 [2, 2]=1.5");
}

#[test]
fn wrong_lda_c_documents_are_refused() {
    let ldac = |text: &str| read("a.ldac", text, "doc word");
    check_error(
        ldac("1 0:1\n3 0:4 6:1\n"),
        "a.ldac, line 2: found 2 pairs; expected 3, as the line says at its start",
    );
    check_error(
        ldac("1 0:1\n\n1 0:1\n"),
        "a.ldac, line 2: found an empty line; expected `N id:count ...`, or `0` for no words",
    );
    for pair in ["0", "0:", ":1", "-1:1", "0:x", "0:1:1", "4294967295:1", "a:1"] {
        check_error(
            ldac(&format!("1 {pair}\n")),
            &format!(
                "a.ldac, line 1: found `{pair}`; expected a pair `id:count` with an id from 0 to 4294967294"
            ),
        );
    }
    check_error(
        ldac("0:1 1:1\n"),
        "a.ldac, line 1: found `0:1`; expected the number of pairs `id:count` on this line",
    );
    check_error(
        read("a.ldac", "0\n", "doc"),
        "a.ldac: found an array of 2 dimensions; expected 1 dimension, `doc`",
    );
}

#[test]
fn gzip_is_undone() {
    let text = format!("{INTEGER}1 1 1\n1 1 7\n");
    let compressed = gzip(text.as_bytes());
    check(read("a.mtx.gz", &compressed, "a b"), "coordinates [1, 1]: [0, 0]=7");
    check(read("A.CSV.GZ", gzip(b"1,2\n"), "a b"), "dense [1, 2] - - = 1 2");
    // Several gzip streams one after another are one file, as `cat` makes them.
    let both = [gzip(b"1 1 1\n"), gzip(b"2 2 2\n")].concat();
    check(read("a.tns.gz", both, "a b"), "coordinates [2, 2] or more: [0, 0]=1 [1, 1]=2");
}

#[test]
fn broken_gzip_is_refused() {
    let compressed = gzip("1 1 1\n".repeat(1000).as_bytes());
    for length in 1..compressed.len() {
        let error = read("a.tns.gz", &compressed[..length], "a b").unwrap_err().to_string();
        assert!(error.contains("gzip"), "{length}: {error}");
    }
    check_error(
        read("a.tns.gz", &compressed[..compressed.len() - 1], "a b"),
        "a.tns.gz: found a gzip file that breaks off (after 6000 decompressed bytes); expected a complete gzip file",
    );
    let mut damaged = compressed.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    assert!(read("a.tns.gz", damaged, "a b").unwrap_err().to_string().contains("gzip file"));
    check_error(
        read("a.tns.gz", "1 1 1\n", "a b"),
        "a.tns.gz: found a file that is not compressed; expected a gzip file, since its name ends in .gz",
    );
    check_error(read("a.tns.gz", "", "a b"), "a.tns.gz: found an empty file; expected data");
    check_error(read("a.tns.gz", gzip(b""), "a b"), "a.tns.gz: found an empty file; expected data");
}

#[test]
fn formats_that_cannot_be_read_are_named() {
    check_error(
        read("labels.dat", "", "a b"),
        "labels.dat: found a file name that states no format; expected one that ends in .mtx, .tns, .csv, .tsv, .txt, \
         .all, .ldac, .npy (each also with .gz or .zst), .npz, .parquet, .h5ad, .h5, .db or .cavi-data (a table with tabs or blanks is read as \
         `.txt`: rename the file)",
    );
    check_error(
        read_with("a.mtx", "", "a b", Wanted::Numbers, Some("y"), &[]),
        "a.mtx: found a file without columns; expected a table (.csv, .tsv, .parquet or the answer of a database), since columns are named",
    );
    for name in ["a.mtx", "a.tns", "a.npy", "a.npz", "a.csv", "a.tsv", "a.ldac"] {
        check_error(read(name, "", "a b"), &format!("{name}: found an empty file; expected data"));
    }
}

#[test]
fn infinite_values_are_kept_until_refused() {
    let content = read("a.tns", "1 1 1\n2 2 1e999\n", "a b").unwrap();
    let error = content.refuse_infinite("a.tns".as_ref()).unwrap_err().to_string();
    assert_eq!(error, "a.tns, line 2: found an infinite value; expected a finite number, or none");
    let content = read("a.csv", ",x,y\nr,1,2\ns,3,-inf\n", "a b").unwrap();
    let error = content.refuse_infinite("a.csv".as_ref()).unwrap_err().to_string();
    assert_eq!(
        error,
        "a.csv, line 3, column `y`: found a value of minus infinity; expected a finite number, or none"
    );
    assert!(read("a.csv", "1,NA\n", "a b").unwrap().refuse_infinite("a.csv".as_ref()).is_ok());
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let message = |name: &str| {
        let error =
            cavi_files::read(&directory.path().join(name), &Default::default()).unwrap_err().to_string();
        error.replace(&directory.path().display().to_string(), "")
    };
    std::fs::create_dir(directory.path().join("d.csv")).unwrap();
    std::fs::write(directory.path().join("c.csv"), "x\n").unwrap();
    assert_eq!(message("none.mtx"), "/none.mtx: found no such file; expected a readable file");
    assert!(message("d.csv").starts_with("/d.csv: found a directory; expected a file that ends in .mtx"));
    std::fs::create_dir(directory.path().join("d")).unwrap();
    assert!(message("d").starts_with("/d: found a directory; expected a file that ends in .mtx"));
    assert_eq!(message("c.csv"), "/c.csv: found 0 rows; expected a single number");
    assert!(message("none.dat").starts_with("/none.dat: found a file name that states no format"));
}

/// Written by `zstd -19 --check` from the lines that the test writes again.
const ZSTANDARD: &[u8] = include_bytes!("../data/counts.tns.zst");

#[test]
fn zstandard_is_undone() {
    let line = |i: u32| format!("{} {} {}\n", i * 7919 % 97 + 1, i * 104_729 % 89 + 1, i % 7 + 1);
    let text: String = (0..1000).map(line).collect();
    let plain = read("a.tns", &text, "a b").unwrap();
    assert_eq!(read("a.tns.zst", ZSTANDARD, "a b").unwrap(), plain);
    // Frames one after another are one file, and frames that are to be skipped are skipped.
    let skipped = [&[0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7], ZSTANDARD, ZSTANDARD].concat();
    assert_eq!(read("A.TNS.ZST", skipped, "a b").unwrap(), read("a.tns", text.repeat(2), "a b").unwrap());
}

#[test]
fn broken_zstandard_is_refused() {
    for length in (1..ZSTANDARD.len()).step_by(7) {
        let error = read("a.tns.zst", &ZSTANDARD[..length], "a b").unwrap_err().to_string();
        assert!(error.contains("Zstandard"), "{length}: {error}");
    }
    for place in (4..ZSTANDARD.len()).step_by(11) {
        let mut damaged = ZSTANDARD.to_vec();
        damaged[place] ^= 0x55;
        let error = read("a.tns.zst", damaged, "a b").unwrap_err().to_string();
        assert!(error.contains("a damaged Zstandard file"), "{place}: {error}");
    }
    let error = read("a.tns.zst", [ZSTANDARD, b"rest"].concat(), "a b").unwrap_err().to_string();
    assert!(error.contains("other bytes after its end"), "{error}");
    check_error(
        read("a.tns.zst", "1 1 1\n", "a b"),
        "a.tns.zst: found a file that is not compressed; expected a Zstandard file, since its name ends in .zst",
    );
    check_error(read("a.tns.zst", "", "a b"), "a.tns.zst: found an empty file; expected data");
}
