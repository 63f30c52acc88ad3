//! Which format a file has, by its suffix.

use std::path::{Path, PathBuf};

use crate::error::{FileError, quote};

/// The suffixes of readable data files, as a message lists them.
pub const SUFFIXES: &str = ".mtx, .tns, .csv, .tsv, .ldac, .npy (each also with .gz) or .npz";

/// The format of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    MatrixMarket,
    Frostt,
    Npy,
    Npz,
    /// A table with this separator.
    Table(u8),
    LdaC,
}

const FORMATS: [(&str, Format); 7] = [
    (".mtx", Format::MatrixMarket),
    (".tns", Format::Frostt),
    (".npy", Format::Npy),
    (".npz", Format::Npz),
    (".csv", Format::Table(b',')),
    (".tsv", Format::Table(b'\t')),
    (".ldac", Format::LdaC),
];

/// The format of a file, and whether it is compressed by gzip.
pub(crate) fn of_path(path: &Path) -> Result<(Format, bool), FileError> {
    let name = file_name(path);
    if let Some(inner) = name.strip_suffix(".zst") {
        return Err(FileError::new(
            "a file compressed by Zstandard",
            "a plain file, or one compressed by gzip",
        )
        .with_help(format!(
            "this version of Cavi does not read .zst; `unzstd` makes {} of it",
            quote(inner.as_bytes())
        )));
    }
    if name.ends_with(".parquet") {
        return Err(FileError::new("a Parquet file", format!("a file that ends in {SUFFIXES}")).with_help(
            "this version of Cavi does not read .parquet; write the table as .csv, or the array as .npy",
        ));
    }
    let (plain, gzip) = match name.strip_suffix(".gz") {
        Some(plain) => (plain, true),
        None => (name.as_str(), false),
    };
    match FORMATS.iter().find(|(suffix, _)| plain.ends_with(suffix)) {
        Some((_, Format::Npz)) if gzip => Err(FileError::new(
            "an .npz file within a gzip file",
            "an .npz file as it is, for it is already compressed",
        )),
        Some(&(_, format)) => Ok((format, gzip)),
        None => {
            Err(FileError::new("a file name that states no format", format!("one that ends in {SUFFIXES}")))
        }
    }
}

/// Takes `FILE:COLUMN` apart; a column is named only after a file whose suffix is that of a table. The file ends at the
/// first such suffix that a colon follows, so that the name of the column may itself hold colons.
///
/// ```
/// use cavi_files::split_column;
/// let (file, column) = split_column("lipids.csv:Cer(d18:1/16:0)");
/// assert_eq!((file.to_str(), column.as_deref()), (Some("lipids.csv"), Some("Cer(d18:1/16:0)")));
/// assert_eq!(split_column("counts.mtx").1, None);
/// ```
pub fn split_column(text: &str) -> (PathBuf, Option<String>) {
    const TABLES: [&str; 7] = [".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst", ".parquet"];
    for (colon, _) in text.match_indices(':') {
        let file = text[..colon].to_ascii_lowercase();
        if TABLES.iter().any(|suffix| file.ends_with(suffix)) {
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
        assert_eq!(of("a/b.c/x.mtx"), Some((Format::MatrixMarket, false)));
        assert_eq!(of("X.MTX.GZ"), Some((Format::MatrixMarket, true)));
        assert_eq!(of("x.tsv.gz"), Some((Format::Table(b'\t'), true)));
        assert_eq!(of("x.npy.gz"), Some((Format::Npy, true)));
        for name in ["x", "x.txt", "x.npz.gz", "x.csv.zst", "x.parquet", "x.gz", "", "/"] {
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
