//! What `--help` says of data files.

/// Of `--data`.
pub const DATA: &str = "\
Bind a data array: a file or folder, one column of a table (FILE:COLUMN), a part of an .h5ad (FILE.h5ad:layers/counts), the
answer to a query (FILE.db:SELECT ...), the standard input (-.csv), or one file a group ('x[rna]=rna.csv').

The format is that of the suffix. Tables, long or rows by columns: .csv, .tsv, .txt, .all, .parquet, and .db (SQLite). Matrices and
arrays: .mtx, .npy, .npz, .tns (FROSTT), .ldac, .h5ad, .h5, folders of 10x, and .cavi-data (`cavi pack`). Texts: a folder of files, lines:FILE, or a column of
text. All but .npz, .parquet, .h5ad, .h5, .db and .cavi-data also as .gz or .zst. `cavi data FILE` shows what a file is read as.";
