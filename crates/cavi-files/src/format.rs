//! Which format a file has, by its suffix.

use std::path::{Path, PathBuf};

use crate::error::FileError;
use crate::packed::PACKED_SUFFIX;

/// What stands before the name of a file that holds one document a line.
const LINES: &str = "lines:";

/// The suffixes of readable data files, as a message lists them.
pub const SUFFIXES: &str = ".mtx, .tns, .csv, .tsv, .txt, .all, .ldac, .npy (each also with .gz or .zst), .npz, .parquet, .h5ad, .h5, .db or .cavi-data";

/// The format of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    MatrixMarket,
    Frostt,
    Npy,
    Npz,
    /// A table with this separator.
    Table(u8),
    /// A table with fields parted by tabs, or by blanks.
    Blanks,
    LdaC,
    Parquet,
    Hdf5,
    Sqlite,
    /// Packed by Cavi.
    Packed,
    /// Texts, one document a line.
    Lines,
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstandard,
}

const FORMATS: [(&str, Format); 17] = [
    (".mtx", Format::MatrixMarket),
    (".tns", Format::Frostt),
    (".npy", Format::Npy),
    (".npz", Format::Npz),
    (".csv", Format::Table(b',')),
    (".tsv", Format::Table(b'\t')),
    (".txt", Format::Blanks),
    (".all", Format::Blanks),
    (".ldac", Format::LdaC),
    (".parquet", Format::Parquet),
    (".h5ad", Format::Hdf5),
    (".h5", Format::Hdf5),
    (".hdf5", Format::Hdf5),
    (".db", Format::Sqlite),
    (".sqlite", Format::Sqlite),
    (".sqlite3", Format::Sqlite),
    (PACKED_SUFFIX, Format::Packed),
];

/// Whether a name stands for the standard input: `-` with the suffix of a format, `-.csv`.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.starts_with("-."))
}

/// The file that holds one document a line, if a name says so.
pub(crate) fn file_of_lines(path: &Path) -> Option<&Path> {
    path.to_str()?.strip_prefix(LINES).map(Path::new)
}

/// How a file is compressed, by the end of its name.
pub(crate) fn packing(path: &Path) -> Packing {
    let name = file_name(path);
    match () {
        () if name.ends_with(".gz") => Packing::Gzip,
        () if name.ends_with(".zst") => Packing::Zstandard,
        () => Packing::Plain,
    }
}

/// The format of a file, and how it is compressed.
pub(crate) fn of_path(path: &Path) -> Result<(Format, Packing), FileError> {
    let packing = packing(path);
    if file_of_lines(path).is_some() {
        return Ok((Format::Lines, packing));
    }
    let name = file_name(path);
    let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    match FORMATS.iter().find(|(suffix, _)| plain.ends_with(suffix)) {
        Some((suffix, Format::Npz | Format::Parquet | Format::Hdf5 | Format::Sqlite | Format::Packed))
            if packing != Packing::Plain =>
        {
            Err(FileError::new(
                format!("a {suffix} file within a compressed file"),
                format!("a {suffix} file as it is, for it is already compressed"),
            ))
        }
        Some(&(_, format)) => Ok((format, packing)),
        None if path == Path::new("-") => {
            Err(FileError::new("the standard input without a format", format!("`-` and one of {SUFFIXES}"))
                .with_help("`--data NAME=-.csv` reads a table from it"))
        }
        None => {
            let error =
                FileError::new("a file name that states no format", format!("one that ends in {SUFFIXES}"));
            Err(match () {
                () if path.extension().is_none() && !path.exists() => error.with_help(format!(
                    "a folder of texts may stand here, but there is no folder `{}`",
                    path.display()
                )),
                () => match path.extension().and_then(|own| other_program(&own.to_string_lossy())) {
                    Some(help) => error.with_help(help),
                    None => error,
                },
            })
        }
    }
}

/// How a file of another program becomes one that is read here.
fn other_program(suffix: &str) -> Option<&'static str> {
    Some(match suffix.to_ascii_lowercase().as_str() {
        "xlsx" | "xls" | "ods" | "numbers" => "save the sheet as CSV, which every spreadsheet offers",
        "rds" | "rda" | "rdata" => {
            "in R, `write.csv(x, \"x.csv\")` or, of a sparse matrix, `Matrix::writeMM(x, \"x.mtx\")`"
        }
        "pkl" | "pickle" | "feather" | "arrow" | "dta" | "sav" | "sas7bdat" => {
            "in Python, `pandas.read_...(FILE).to_csv(\"x.csv\")` or `.to_parquet(\"x.parquet\")`"
        }
        "mat" => "in Python, `numpy.save(\"x.npy\", scipy.io.loadmat(FILE)[\"x\"])`",
        "json" | "jsonl" => "in Python, `pandas.read_json(FILE).to_csv(\"x.csv\")`",
        "dat" | "data" | "asc" | "prn" => "a table with tabs or blanks is read as `.txt`: rename the file",
        _ => return None,
    })
}

/// Takes `FILE:COLUMN` apart; a column (or a query, or a part) is named only after a file whose suffix is that of a format that
/// has some, or after a folder as 10x pipelines write it. The file ends at the first such suffix that a colon follows, so that the
/// name of the column may itself hold colons.
///
/// ```
/// use cavi_files::split_column;
/// let (file, column) = split_column("lipids.csv:Cer(d18:1/16:0)");
/// assert_eq!((file.to_str(), column.as_deref()), (Some("lipids.csv"), Some("Cer(d18:1/16:0)")));
/// assert_eq!(split_column("counts.mtx").1, None);
/// ```
pub fn split_column(text: &str) -> (PathBuf, Option<String>) {
    for (colon, _) in text.match_indices(':') {
        let file = text[..colon].to_ascii_lowercase();
        let plain = file.strip_suffix(".gz").or_else(|| file.strip_suffix(".zst")).unwrap_or(&file);
        let has_parts = |own: &(&str, Format)| {
            let format = matches!(
                own.1,
                Format::Table(_)
                    | Format::Blanks
                    | Format::Parquet
                    | Format::Hdf5
                    | Format::Sqlite
                    | Format::Packed
            );
            format && plain.ends_with(own.0)
        };
        if FORMATS.iter().any(has_parts) || crate::read::is_ten_x(Path::new(&text[..colon])) {
            return (PathBuf::from(&text[..colon]), Some(text[colon + 1..].to_owned()));
        }
    }
    (PathBuf::from(text), None)
}

/// The name of a file in lower case.
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_state_format_and_compression() {
        let of = |name: &str| of_path(Path::new(name)).ok();
        assert_eq!(of("a/b.c/x.mtx"), Some((Format::MatrixMarket, Packing::Plain)));
        assert_eq!(of("X.MTX.GZ"), Some((Format::MatrixMarket, Packing::Gzip)));
        assert_eq!(of("x.tsv.gz"), Some((Format::Table(b'\t'), Packing::Gzip)));
        assert_eq!(of("x.npy.gz"), Some((Format::Npy, Packing::Gzip)));
        assert_eq!(of("x.csv.ZST"), Some((Format::Table(b','), Packing::Zstandard)));
        assert_eq!(of("lines:a/x.txt"), Some((Format::Lines, Packing::Plain)));
        assert_eq!(of("lines:x.csv.gz"), Some((Format::Lines, Packing::Gzip)));
        for name in ["x", "x.dat", "x.npz.gz", "x.npz.zst", "x.parquet.gz", "x.gz", "x.zst", "", "/"] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn a_column_follows_the_suffix_of_a_table() {
        let split = |text: &str| {
            let (file, column) = split_column(text);
            (file.to_string_lossy().into_owned(), column)
        };
        assert_eq!(split("a.csv:y"), ("a.csv".to_owned(), Some("y".to_owned())));
        assert_eq!(split("C:\\a.csv.gz:y:z"), ("C:\\a.csv.gz".to_owned(), Some("y:z".to_owned())));
        assert_eq!(split("x:y.mtx"), ("x:y.mtx".to_owned(), None));
        assert_eq!(split("t.CSV:y"), ("t.CSV".to_owned(), Some("y".to_owned())));
    }
}
