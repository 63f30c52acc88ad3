//! Which bytes are which arrays?
//!
//! In comes the path of a data file and the names of the axes that its array is declared over; out comes a
//! [`Content`]: the numbers and labels that the file holds, in one of four neutral shapes. The other way round, arrays,
//! labels and tables become files, each written beside its final name and renamed, so that a directory never holds half
//! a file.
//!
//! What this crate never knows: programs, plates, distributions, what an array is for, and how the labels of one file
//! match those of another. It reports what a file holds, and where; its caller decides what that means.
//!
//! No input leads to a panic, and no header makes the reader take memory that the bytes behind it do not account for, nor a file more
//! than there is: [`memory`] says how much that is.

pub use content::{
    Categories, Content, Coordinates, Dense, Documents, Lines, Long, MISSING, PassedOver, Values,
};
pub use error::FileError;
pub use format::{SUFFIXES, split_column};
pub use growing::Growing;
pub use packed::{
    AxisOfPack, Declared, Only, PACKED_SUFFIX, PackedArray, PackedAxis, PackedEntries, PackedSummary,
    axes as packed_axes, identity as packed_identity, summary as packed_summary, write_packed,
};
pub use read::columns::{Column, Columns};
pub use read::head::{Head, HeadColumn, head};
pub use read::npy::DenseArray;
pub use read::texts::{
    LONGEST_SEQUENCE, LanguageName, MostDocuments, StopWords, TextOptions, TextReading, TextTally,
    Vocabulary, WordCount,
};
pub use read::whole::{Labels, Spellings, canonical, canonical_label, labels_of, list as canonical_labels};
pub use read::{
    ColumnOf, Dimension, ReadOptions, TextReport, Wanted, read, read_columns, read_from, read_labels,
    read_labels_of_rows, read_npy, read_npz_arrays, read_text,
};
pub use write::{
    Cell, CsvText, Written, format_number, write_atomically, write_bytes_atomically, write_labels, write_npy,
    write_npy_i64, write_text_atomically,
};

pub mod memory;

mod content;
mod error;
mod format;
mod growing;
mod packed;
mod read;
mod write;
