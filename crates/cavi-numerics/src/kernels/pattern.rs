//! A sparse pattern: for each entry `e` and each mode `i` the index `idx_i(e)`, and the chunks that threads work on.
//!
//! Everything that a kernel would have to check on every call is checked here once: columns of equal length, the
//! largest index of each mode, chunks that share no index of the first mode.

use std::borrow::Cow;

/// The coordinates of the entries of a sparse array, one column a mode, best sorted by the first.
#[derive(Clone, Debug)]
pub struct Pattern<'a> {
    columns: Vec<Cow<'a, [u32]>>,
    sizes: Vec<usize>,
    chunks: Vec<usize>,
    is_disjoint: bool,
}

/// An order of a pattern's entries, and the bounds of its chunks in that order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// `permutation[position]` is the entry that comes at `position`.
    pub permutation: Vec<u32>,
    /// Where the chunks begin, and the number of entries at the end.
    pub chunks: Vec<usize>,
}

/// The most chunks a pattern is cut into; a kernel keeps at most this many copies of what it accumulates.
pub const MOST_CHUNKS: usize = 4;

/// Below this many entries a pattern is one chunk.
const SMALL: usize = 4096;

impl<'a> Pattern<'a> {
    /// The entries in the order given. Rows (runs of one index of the first mode) are kept within a chunk when the
    /// first column is sorted.
    ///
    /// # Panics
    /// If there is no column, or they differ in length.
    pub fn new(columns: Vec<Cow<'a, [u32]>>) -> Self {
        let first = columns.first().expect("a pattern has at least one mode");
        let count = chunk_count(&columns);
        let mut chunks = even_chunks(first.len(), count);
        if first.is_sorted() {
            for bound in &mut chunks[1..count] {
                let row = first[*bound];
                *bound = first.partition_point(|index| *index < row);
            }
            chunks.dedup();
        }
        Self::with_chunks(columns, chunks)
    }

    /// The entries with the chunks of an [`Order`] (the columns already in that order).
    ///
    /// # Panics
    /// If there is no column, if they differ in length, or if `chunks` does not ascend from 0 to the number of
    /// entries with at most [`MOST_CHUNKS`] chunks.
    pub fn with_chunks(columns: Vec<Cow<'a, [u32]>>, chunks: Vec<usize>) -> Self {
        let entries = columns.first().expect("a pattern has at least one mode").len();
        assert!(
            columns.iter().all(|column| column.len() == entries),
            "the columns of a pattern have one length"
        );
        let chunks = if entries == 0 { vec![0] } else { chunks };
        assert!(
            chunks.first() == Some(&0) && chunks.last() == Some(&entries) && chunks.is_sorted(),
            "chunks ascend from 0 to the number of entries"
        );
        assert!(chunks.len() <= MOST_CHUNKS + 1, "a pattern has at most {MOST_CHUNKS} chunks");
        let sizes =
            columns.iter().map(|column| column.iter().max().map_or(0, |index| *index as usize + 1)).collect();
        let is_disjoint = are_disjoint(&columns[0], &chunks);
        Self { columns, sizes, chunks, is_disjoint }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.columns[0].is_empty()
    }

    /// The number of modes.
    pub fn modes(&self) -> usize {
        self.columns.len()
    }

    /// The index of each entry in one mode.
    pub fn column(&self, mode: usize) -> &[u32] {
        &self.columns[mode]
    }

    /// One more than the largest index of a mode; 0 if there are no entries.
    pub fn size(&self, mode: usize) -> usize {
        self.sizes[mode]
    }

    /// Where the chunks begin, and the number of entries at the end.
    pub fn chunks(&self) -> &[usize] {
        &self.chunks
    }

    /// Whether no two chunks share an index of the first mode.
    pub fn is_disjoint(&self) -> bool {
        self.is_disjoint
    }
}

/// How many chunks: several only if there is enough to do, and if copies of what the other modes accumulate cost
/// little beside the entries.
fn chunk_count<C: AsRef<[u32]>>(columns: &[C]) -> usize {
    let entries = columns[0].as_ref().len();
    let others: usize = columns[1..]
        .iter()
        .map(|column| column.as_ref().iter().max().map_or(0, |index| *index as usize + 1))
        .sum();
    if entries < SMALL { 1 } else { (entries / (2 * others + 1)).clamp(1, MOST_CHUNKS) }
}

fn even_chunks(entries: usize, count: usize) -> Vec<usize> {
    (0..=count).map(|index| entries * index / count).collect()
}

fn are_disjoint(column: &[u32], chunks: &[usize]) -> bool {
    let mut ranges: Vec<(u32, u32)> = chunks
        .windows(2)
        .filter_map(|bounds| {
            let chunk = &column[bounds[0]..bounds[1]];
            Some((*chunk.iter().min()?, *chunk.iter().max()?))
        })
        .collect();
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

/// An order of the entries for which the rows of factors that they gather stay in the cache.
///
/// Entries are sorted by chunk, then by strip of the second mode's indices, then by row, then by the second mode. A
/// strip holds as many rows of `row_length` doubles as fit in 400 KB; the chunks are those of [`Pattern::new`] on the
/// sorted entries. With one mode, the order is that of the rows.
pub fn strips(columns: &[&[u32]], row_length: usize) -> Order {
    const STRIP_BYTES: usize = 400_000;
    let entries = columns.first().expect("a pattern has at least one mode").len();
    assert!(u32::try_from(entries).is_ok(), "a pattern has fewer than 2^32 entries");
    let strip = (STRIP_BYTES / (row_length.max(1) * size_of::<f64>())).max(1) as u32;
    let mut permutation: Vec<u32> = (0..entries as u32).collect();
    permutation.sort_by_key(|entry| columns[0][*entry as usize]);
    let rows: Vec<u32> = permutation.iter().map(|entry| columns[0][*entry as usize]).collect();
    let mut chunks = even_chunks(entries, chunk_count(columns));
    let last = chunks.len() - 1;
    for bound in &mut chunks[1..last] {
        let row = rows[*bound];
        *bound = rows.partition_point(|index| *index < row);
    }
    chunks.dedup();
    if let Some(second) = columns.get(1) {
        for bounds in chunks.windows(2) {
            permutation[bounds[0]..bounds[1]].sort_by_key(|entry| {
                let entry = *entry as usize;
                (second[entry] / strip, columns[0][entry], second[entry])
            });
        }
    }
    Order { permutation, chunks }
}
