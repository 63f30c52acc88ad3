//! Packed data: arrays as they lie in memory, in one file that is mapped instead of read.
//!
//! A file that ends in `.cavi-data` holds arrays that were read from other files once, with the axes that they run along and
//! the labels of these. Who reads it copies no number: lists of positions and values are parts of the mapped file, whose pages
//! belong to the operating system. So data may be larger than memory.
//!
//! # Layout, version 1
//!
//! All numbers are little-endian. A file is a preamble, sections, and a header that says what the sections are:
//!
//! ```text
//! byte 0   8 bytes   CAVIDATA
//!      8   u32       version: 1
//!     12   u32       CRC-32 of the header
//!     16   u64       where the header begins
//!     24   u64       the bytes of the header
//!     32   u64       the bytes of the file
//!     40   u32       CRC-32 of bytes 0 to 39
//!     44   20 bytes  0
//!     64   ...       sections, each at a multiple of 64 bytes, with zeros between them
//!          ...       the header, JSON in UTF-8
//! ```
//!
//! The header has every axis and every array; a section is given by its first byte, its bytes and its CRC-32 (that of gzip):
//!
//! ```json
//! {"axes":   [{"name": "doc", "size": 2, "labels": {"at": 64, "bytes": 18, "crc32": 1}}, {"name": "word", "size": 3, "labels": null}],
//!  "arrays": [{"name": "n", "axes": ["doc", "word"], "form": "sparse", "points_into": null, "unlisted": "0", "only": null,
//!              "indices": [{"at": 128, "bytes": 16, "crc32": 2}, {"at": 192, "bytes": 16, "crc32": 3}],
//!              "values": {"at": 256, "bytes": 32, "crc32": 4}}]}
//! ```
//!
//! - `labels`: for each position of the axis a u32, the bytes of its label, and the label in UTF-8; `null` for an axis that has none.
//! - `in`, `groups`: of a ragged axis the axis that it is ragged in, which is listed too, and for each position of that a u32, how many positions its group has. The positions
//!   of one group stand after those of the other, and so do their labels. Other axes have neither.
//! - `values`: float64. Of a `dense` array every entry in C order, of a `sparse` one those that are listed. NaN is missing.
//! - `indices`: of a sparse array u32 positions from 0, a section for each of its axes; entries ascend by these positions, the
//!   first axis first, unless their order means something. Of a dense array there are none.
//! - `points_into`: of index data the axis whose positions the values are.
//! - `unlisted`: what an entry of a sparse array is that is not listed, `0` or `NA` (missing); of such entries none was kept.
//! - `only`: which entries there are, where a restriction leaves some out: `0 < 1` those whose position along the first axis is below that along the
//!   second, `0 != 1` those where the two differ. An array is read under the declaration that it was packed for, and under no other. Files that were
//!   written without these two are read under any.
//! - `texts`: of counts of words in texts the options by which they were read, so that new texts of a fit are read by them too.

mod read;
mod write;

pub(crate) use read::read;
pub use read::{AxisOfPack, PackedSummary, axes, identity, summary};
pub use write::{PackedArray, PackedAxis, PackedEntries, write_packed};

/// What a program declares of the entries of an array beside its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Whether an entry that is not listed is 0; otherwise it is missing.
    pub unlisted_zero: bool,
    /// Which entries there are, where a restriction leaves some out.
    pub only: Option<Only>,
}

/// Which entries there are, by their positions along two dimensions, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Those whose position along the first is below that along the second.
    Below(usize, usize),
    /// Those whose positions differ.
    Different(usize, usize),
}

impl Declared {
    /// What an entry that is not listed is, as in the header.
    fn unlisted(&self) -> &'static str {
        if self.unlisted_zero { "0" } else { "NA" }
    }
}

impl Only {
    /// As in the header.
    fn text(self) -> String {
        match self {
            Only::Below(one, other) => format!("{one} < {other}"),
            Only::Different(one, other) => format!("{} != {}", one.min(other), one.max(other)),
        }
    }
}

/// What a packed file begins with.
const MAGIC: [u8; 8] = *b"CAVIDATA";

/// The version of the layout.
const VERSION: u32 = 1;

/// The bytes of the preamble, and what sections begin at multiples of.
const ALIGNMENT: u64 = 64;

/// The suffix of packed files.
pub const PACKED_SUFFIX: &str = ".cavi-data";

/// The CRC-32 of some bytes.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}
