//! A sparse pattern: for each entry `e` and each mode `i` the index `idx_i(e)`, and the chunks that threads work on.
//!
//! What a kernel would otherwise have to check at every call is checked here once: columns of equal length, the
//! largest index of each mode, chunks that share no index of the first mode, and the grid.
//!
//! A *grid* cuts a pattern sorted by its first two modes into chunks of rows (indices of the first mode) and as many groups
//! of columns (indices of the second). Chunk `c` visits its entries in the groups `c, c + 1, ..`, around: chunks that run
//! together can be in different groups, so that nothing accumulated in these two modes needs a copy for each chunk. A group is
//! visited in strips of columns whose rows of a factor stay in the cache, each strip row by row. Entries that are put in the
//! order of these visits ([`Pattern::in_strips`]) are read one after another, two bytes of each: its column less the first of
//! its strip, as the grid knows the rest.
//!
//! Of more than 8 million entries the rows of each chunk are cut into slabs, and all chunks visit all groups in a slab before any of them comes to its next:
//! entries in the order of rows are then read from afar once, not once for each group, which matters where they lie in a file larger than memory.
//!
//! A *filled* pattern ([`Pattern::filled`]) has an entry in most places of its rows and columns, and none has two. It has a
//! grid whose strips are as wide as a block of a matrix product. Where the entries are all places of a matrix, one row after another,
//! as those of a dense array are ([`Pattern::whole`]), entry `e` of `n` columns is `(e / n, e mod n)`, and no column is kept.

use std::borrow::Cow;
use std::iter::Chain;
use std::ops::Range;

use crate::{Scratch, facts};

/// The coordinates of the entries of a sparse array, one column a mode, best sorted by the first.
#[derive(Clone, Debug)]
pub struct Pattern<'a> {
    entries: usize,
    /// One a mode; those of the first two are empty where the entries are in strips, and where they are a whole matrix.
    columns: Vec<Cow<'a, [u32]>>,
    /// Of entries in strips, the index of the second mode less the first column of the strip.
    near: Vec<u16>,
    sizes: Vec<usize>,
    chunks: Vec<usize>,
    is_disjoint: bool,
    is_sorted: bool,
    grid: Option<Grid>,
    is_filled: bool,
}

/// Chunks of rows by groups of columns, see the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// The number of rows.
    rows: usize,
    /// Where the rows of each chunk begin, and the number of rows.
    row_bounds: Vec<usize>,
    /// Into how many slabs the rows of each chunk are cut.
    slabs: usize,
    /// Where the strips of each group begin, and the number of strips.
    strip_bounds: Vec<usize>,
    /// The first column of each strip, and one past the last.
    edges: Vec<usize>,
    /// Whether the entries stand in the order of chunks, strips and rows; otherwise in that of rows.
    is_in_strips: bool,
    /// Of entries in strips: where each row began in the order of rows.
    row_starts: Vec<u32>,
    /// Of entries in the order of rows: for each strip, and one past the last, the first entry of each row that lies in this
    /// strip or a later one. Of entries in strips: for each chunk, strip and row in this order the first entry of the run, and
    /// the number of entries.
    starts: Vec<u32>,
}

/// What is visited at a time: the rows of a chunk that lie in a slab, in the columns of a strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub chunk: usize,
    pub slab: usize,
    pub strip: usize,
}

impl Grid {
    /// The number of slabs.
    pub(super) fn slabs(&self) -> usize {
        self.slabs
    }

    /// The number of chunks.
    pub(super) fn chunks(&self) -> usize {
        self.row_bounds.len() - 1
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.strip_bounds.len() - 1
    }

    /// The columns of a strip.
    pub(super) fn edges(&self, strip: usize) -> Range<usize> {
        self.edges[strip]..self.edges[strip + 1]
    }

    /// The strips of a group.
    pub(super) fn strips(&self, group: usize) -> Range<usize> {
        self.strip_bounds[group]..self.strip_bounds[group + 1]
    }

    /// The first row of a chunk, and for each of its rows the first entry in the strip, and the first after it.
    pub(super) fn runs(&self, chunk: usize, strip: usize) -> (usize, &[u32], &[u32]) {
        let rows = self.row_bounds[chunk]..self.row_bounds[chunk + 1];
        let at = |first: usize| &self.starts[first..first + rows.len()];
        if self.is_in_strips {
            let first = rows.start * self.strip_count() + strip * rows.len();
            return (rows.start, at(first), at(first + 1));
        }
        let first = strip * self.rows + rows.start;
        (rows.start, at(first), at(first + self.rows))
    }

    /// The same of the rows of a tile.
    pub(super) fn runs_of(&self, tile: Tile) -> (usize, &[u32], &[u32]) {
        let (first, from, to) = self.runs(tile.chunk, tile.strip);
        // Whole blocks of rows, but for the last.
        let cut = |slab: usize| match slab == self.slabs {
            true => from.len(),
            false => from.len() * slab / self.slabs / BLOCK_COLUMNS * BLOCK_COLUMNS,
        };
        let rows = cut(tile.slab)..cut(tile.slab + 1);
        (first + rows.start, &from[rows.clone()], &to[rows])
    }

    /// The entries of a chunk in a slab, of a grid in the order of rows.
    pub(super) fn entries_of(&self, chunk: usize, slab: usize) -> Range<usize> {
        let last = self.strip_count() - 1;
        let (_, from, _) = self.runs_of(Tile { chunk, slab, strip: 0 });
        let (_, _, to) = self.runs_of(Tile { chunk, slab, strip: last });
        let at = |place: Option<&u32>| place.map_or(0, |place| *place as usize);
        at(from.first())..at(to.last())
    }

    /// The strips in the order in which the chunk of a row comes to them: group by group from its own on.
    #[inline(always)]
    pub(super) fn strips_of(&self, row: usize) -> Chain<Range<usize>, Range<usize>> {
        let chunk = self.row_bounds.partition_point(|bound| *bound <= row) - 1;
        let first = self.strip_bounds[chunk % self.groups()];
        (first..self.strip_count()).chain(0..first)
    }

    /// The entries of a row in a strip, of a grid in the order of rows.
    #[inline(always)]
    pub(super) fn run(&self, row: usize, strip: usize) -> Range<usize> {
        let at = |strip: usize| self.starts[strip * self.rows + row] as usize;
        at(strip)..at(strip + 1)
    }

    /// Whether the entries of a group stand one after another.
    pub(super) fn is_in_strips(&self) -> bool {
        self.is_in_strips
    }

    fn strip_count(&self) -> usize {
        self.strip_bounds[self.groups()]
    }

    /// The grid of the same entries in strips, and the place of each of them before.
    fn in_strips(&self) -> (Grid, Vec<u32>) {
        let entries = self.starts.last().map_or(0, |last| *last as usize);
        let mut starts = Vec::with_capacity(self.rows * self.strip_count() + 1);
        let mut order = Vec::with_capacity(entries);
        for chunk in 0..self.chunks() {
            for strip in 0..self.strip_count() {
                let (_, from, to) = self.runs(chunk, strip);
                for (from, to) in from.iter().zip(to) {
                    starts.push(order.len() as u32);
                    order.extend(*from..*to);
                }
            }
        }
        starts.push(order.len() as u32);
        let row_starts = self.starts[..self.rows].to_vec();
        (Grid { is_in_strips: true, row_starts, starts, ..self.clone() }, order)
    }

    /// The row and the strip of an entry of this chunk, of entries in strips.
    fn locate(&self, chunk: usize, entry: usize) -> (usize, usize) {
        let rows = self.row_bounds[chunk]..self.row_bounds[chunk + 1];
        let first = rows.start * self.strip_count();
        let starts = &self.starts[first..first + rows.len() * self.strip_count()];
        let run = starts.partition_point(|start| *start as usize <= entry) - 1;
        (rows.start + run % rows.len(), run / rows.len())
    }

    /// The runs of a row of this chunk, strip after strip.
    fn row_runs(&self, chunk: usize, row: usize) -> impl Iterator<Item = Range<usize>> {
        let run = move |strip: usize| {
            let (first, from, to) = self.runs(chunk, strip);
            from[row - first] as usize..to[row - first] as usize
        };
        (0..self.strip_count()).map(run)
    }
}

/// The most chunks a pattern without a grid is cut into; a kernel keeps at most this many copies of what it accumulates.
pub const MOST_CHUNKS: usize = 4;

/// The most chunks of a grid, and so the most threads that work on it.
pub(super) const MOST_ROUNDS: usize = 16;

/// The numbers of chunks of a grid: those that the usual numbers of threads divide, since a thread that has one chunk more than the others
/// is waited for.
const ROUNDS: [usize; 7] = [MOST_ROUNDS, 12, 8, 6, 4, 3, 2];

/// The greatest of [`ROUNDS`] that is no greater than this; 1 where none is.
fn rounds(most: usize) -> usize {
    ROUNDS.into_iter().find(|rounds| *rounds <= most).unwrap_or(1)
}

/// The most modes that a kernel is compiled for, each by itself.
pub const MOST_MODES: usize = 4;

/// The most entries of a slab of all chunks: 128 MiB of two columns and values.
const SLAB: usize = 1 << 23;

/// Below this many entries a pattern is one chunk.
pub(super) const SMALL: usize = 4096;

/// As many bytes of a factor's rows are gathered again and again.
const STRIP_BYTES: usize = 400_000;

/// The most columns of a strip of a filled pattern.
pub(super) const BLOCK_COLUMNS: usize = 64;

/// The part of all places of its rows and columns that a filled pattern has an entry in, at least.
pub const LEAST_FILL: f64 = 0.5;

/// Whether entries with these indices of two modes, put in order, make a [filled](Pattern::filled) pattern.
pub fn fills_a_grid(columns: [&[u32]; 2]) -> bool {
    if fill(columns) < LEAST_FILL || u32::try_from(columns[0].len()).is_err() {
        return false;
    }
    let pairs = || columns[0].iter().zip(columns[1]);
    if pairs().zip(pairs().skip(1)).all(|(one, next)| one < next) {
        return true;
    }
    // A bit for each place.
    let [rows, width] = columns.map(size);
    let mut seen = vec![0_u64; (rows * width).div_ceil(64)];
    pairs().all(|(row, column)| {
        let place = *row as usize * width + *column as usize;
        let (word, bit) = (&mut seen[place / 64], 1 << (place % 64));
        std::mem::replace(word, *word | bit) & bit == 0
    })
}

/// The part of all places of its rows and columns that entries with these indices of two modes are.
pub fn fill(columns: [&[u32]; 2]) -> f64 {
    let [rows, width] = columns.map(|column| size(column) as f64);
    if rows == 0.0 || width == 0.0 { 0.0 } else { columns[0].len() as f64 / (rows * width) }
}

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
        if facts::are_sorted(first) {
            for bound in &mut chunks[1..count] {
                let row = first[*bound];
                *bound = first.partition_point(|index| *index < row);
            }
            chunks.dedup();
        }
        Self::cut(columns, chunks)
    }

    /// The entries in the order given, on a [grid](self) for factors of `row_length` values a row where the first two modes
    /// are sorted and the grid takes less than the entries; otherwise as [`Pattern::new`].
    ///
    /// # Panics
    /// As [`Pattern::new`].
    pub fn on_grid(columns: Vec<Cow<'a, [u32]>>, row_length: usize) -> Self {
        let Some(grid) = grid(&columns, row_length) else { return Self::new(columns) };
        let rows = &columns[0];
        let bound = |row: &usize| rows.partition_point(|index| (*index as usize) < *row);
        let chunks = grid.row_bounds.iter().map(bound).collect();
        Self { grid: Some(grid), ..Self::cut(columns, chunks) }
    }

    /// The entries in the order given if they ascend by both of two modes and fill most of their rows and columns; otherwise
    /// `None`, and the entries again.
    ///
    /// # Errors
    /// The columns, where they are not so.
    ///
    /// # Panics
    /// As [`Pattern::new`].
    pub fn filled(columns: Vec<Cow<'a, [u32]>>) -> Result<Self, Vec<Cow<'a, [u32]>>> {
        Self::filled_at_least(LEAST_FILL, columns)
    }

    /// All places of a matrix of so many rows and columns, one row after another: the pattern that [`Pattern::filled`] would make of them,
    /// without their columns.
    ///
    /// # Panics
    /// If there is no place, or there are 2^32 or more.
    pub fn whole([rows, width]: [usize; 2]) -> Pattern<'a> {
        let entries = rows * width;
        assert!(entries > 0 && u32::try_from(entries).is_ok(), "a pattern has from 1 to 2^32 - 1 places");
        let starts = |edges: &[usize]| -> Vec<u32> {
            let mut starts = Vec::with_capacity(edges.len() * rows);
            for edge in edges {
                starts.extend((0..rows).map(|row| (row * width + edge) as u32));
            }
            starts
        };
        let grid = filled_on(entries, [rows, width], starts);
        Pattern {
            entries,
            columns: vec![Cow::default(); 2],
            near: Vec::new(),
            sizes: vec![rows, width],
            chunks: grid.row_bounds.iter().map(|row| row * width).collect(),
            is_disjoint: true,
            is_sorted: true,
            grid: Some(grid),
            is_filled: true,
        }
    }

    /// The same from another part of all places on.
    ///
    /// # Errors
    /// As [`Pattern::filled`].
    ///
    /// # Panics
    /// As [`Pattern::new`].
    pub fn filled_at_least(part: f64, columns: Vec<Cow<'a, [u32]>>) -> Result<Self, Vec<Cow<'a, [u32]>>> {
        let Some(grid) = filled_grid(&columns, part) else { return Err(columns) };
        let rows = &columns[0];
        let bound = |row: &usize| rows.partition_point(|index| (*index as usize) < *row);
        let chunks = grid.row_bounds.iter().map(bound).collect();
        Ok(Self { grid: Some(grid), is_filled: true, ..Self::cut(columns, chunks) })
    }

    /// The same entries in the order in which a grid in the order of rows visits them, with the place of each before; `None`
    /// without such a grid, for a filled one, whose entries stand together as they are, for one with wider strips than two bytes
    /// can tell, and for more modes than a kernel is compiled for.
    pub fn in_strips(&self) -> Option<(Pattern<'static>, Vec<u32>)> {
        let grid = self.grid.as_ref().filter(|grid| !grid.is_in_strips && !self.is_filled)?;
        let is_near = |edges: &[usize]| edges[1] - edges[0] <= 1 << 16;
        if !grid.edges.windows(2).all(is_near) || self.modes() > MOST_MODES {
            return None;
        }
        // What stays first, so that what is given back leaves no hole below it.
        let mut near = Vec::with_capacity(self.entries);
        let (grid, order) = grid.in_strips();
        let permuted = |column: &Cow<[u32]>| -> Cow<'static, [u32]> {
            order.iter().map(|entry| column[*entry as usize]).collect()
        };
        for chunk in 0..grid.chunks() {
            for strip in 0..grid.strip_count() {
                let (_, from, to) = grid.runs(chunk, strip);
                let (Some(first), Some(last)) = (from.first(), to.last()) else { continue };
                let own = order[*first as usize..*last as usize].iter();
                near.extend(
                    own.map(|entry| (self.columns[1][*entry as usize] as usize - grid.edges[strip]) as u16),
                );
            }
        }
        let others = self.columns[2..].iter().map(permuted);
        let pattern = Pattern {
            entries: self.entries,
            columns: [Cow::default(), Cow::default()].into_iter().chain(others).collect(),
            near,
            sizes: self.sizes.clone(),
            chunks: self.chunks.clone(),
            is_disjoint: self.is_disjoint,
            is_sorted: false,
            grid: Some(grid),
            is_filled: false,
        };
        Some((pattern, order))
    }

    /// Other columns of the same entries, of which the first two are those of this pattern, on its grid.
    ///
    /// # Panics
    /// If the first two are others, a column has another length, or there are more than [`MOST_MODES`] of entries in strips.
    pub fn with_columns<'b>(&self, columns: Vec<Cow<'b, [u32]>>) -> Pattern<'b> {
        let is_same = (0..2).all(|mode| columns[mode].as_ref() == self.indices(mode).as_ref());
        assert!(is_same, "the first two columns are those of the grid");
        let is_filled = self.is_filled && columns.len() == 2;
        let mut pattern = Pattern { is_filled, ..Pattern::cut(columns, self.chunks.clone()) };
        if self.is_in_strips() {
            assert!(pattern.modes() <= MOST_MODES, "as many modes as kernels are compiled for");
            pattern.near.clone_from(&self.near);
            pattern.columns[..2].fill(Cow::default());
            pattern.is_sorted = false;
        }
        Pattern { grid: self.grid.clone(), ..pattern }
    }

    /// The entries with chunks that ascend from 0 to their number.
    fn cut(columns: Vec<Cow<'a, [u32]>>, chunks: Vec<usize>) -> Self {
        let entries = columns.first().expect("a pattern has at least one mode").len();
        assert!(
            columns.iter().all(|column| column.len() == entries),
            "the columns of a pattern have one length"
        );
        let chunks = if entries == 0 { vec![0] } else { chunks };
        let sizes = columns.iter().map(|column| size(column)).collect();
        let (is_disjoint, is_sorted) = (are_disjoint(&columns[0], &chunks), facts::are_sorted(&columns[0]));
        let near = Vec::new();
        Self { entries, columns, near, sizes, chunks, is_disjoint, is_sorted, grid: None, is_filled: false }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The number of modes.
    pub fn modes(&self) -> usize {
        self.columns.len()
    }

    /// Whether the entries are all places of a matrix, of which no columns are kept.
    fn is_whole(&self) -> bool {
        self.is_filled && self.columns[0].is_empty()
    }

    /// The same entries with their columns, of a whole matrix; `None` for any other pattern.
    pub(super) fn with_all_columns(&self) -> Option<Pattern<'a>> {
        let all = || (0..2).map(|mode| Cow::Owned(self.indices(mode).into_owned())).collect();
        self.is_whole().then(|| Pattern { columns: all(), ..self.clone() })
    }

    /// The index of each entry in one mode: empty for the first two of entries in strips or of a whole matrix.
    pub(super) fn column(&self, mode: usize) -> &[u32] {
        &self.columns[mode]
    }

    /// Of entries in strips, the index of the second mode less the first column of the strip; otherwise empty.
    pub(super) fn near(&self) -> &[u16] {
        &self.near
    }

    /// The index of an entry in one mode.
    pub fn index(&self, mode: usize, entry: usize) -> usize {
        match &self.grid {
            Some(grid) if grid.is_in_strips && mode < 2 => {
                let (row, strip) = grid.locate(self.chunk_of(entry), entry);
                if mode == 0 { row } else { grid.edges[strip] + self.near[entry] as usize }
            }
            _ if self.is_whole() => match mode {
                0 => entry / self.sizes[1],
                _ => entry % self.sizes[1],
            },
            _ => self.columns[mode][entry] as usize,
        }
    }

    /// The index of each entry in one mode.
    pub fn indices(&self, mode: usize) -> Cow<'_, [u32]> {
        match &self.grid {
            Some(grid) if grid.is_in_strips && mode < 2 => {
                let mut indices = Vec::with_capacity(self.entries);
                for chunk in 0..grid.chunks() {
                    for strip in 0..grid.strip_count() {
                        let (first, from, to) = grid.runs(chunk, strip);
                        for (own, (from, to)) in from.iter().zip(to).enumerate() {
                            let near = self.near[*from as usize..*to as usize].iter();
                            indices.extend(near.map(|near| match mode {
                                0 => (first + own) as u32,
                                _ => grid.edges[strip] as u32 + u32::from(*near),
                            }));
                        }
                    }
                }
                Cow::Owned(indices)
            }
            _ if self.is_whole() => (0..self.entries).map(|entry| self.index(mode, entry) as u32).collect(),
            _ => Cow::Borrowed(&self.columns[mode]),
        }
    }

    /// The chunk of an entry.
    fn chunk_of(&self, entry: usize) -> usize {
        self.chunks.partition_point(|bound| *bound <= entry) - 1
    }

    /// Whether the entries were put [in strips](Pattern::in_strips).
    pub fn is_in_strips(&self) -> bool {
        self.grid.as_ref().is_some_and(|grid| grid.is_in_strips)
    }

    /// The place that an entry of a pattern in strips had in the order of rows; of another pattern its own.
    pub fn place_by_rows(&self, entry: usize) -> usize {
        let Some(grid) = self.grid.as_ref().filter(|grid| grid.is_in_strips) else { return entry };
        let chunk = self.chunk_of(entry);
        let (row, strip) = grid.locate(chunk, entry);
        let before: usize = grid.row_runs(chunk, row).take(strip).map(|run| run.len()).sum();
        let (first, from, _) = grid.runs(chunk, strip);
        grid.row_starts[row] as usize + before + entry - from[row - first] as usize
    }

    /// Values of entries in the order of rows, in the order of this pattern in strips; `None` for another pattern.
    ///
    /// # Panics
    /// If there are not as many values as entries.
    pub fn by_strips(&self, values: &[f64]) -> Option<Scratch> {
        let grid = self.grid.as_ref().filter(|grid| grid.is_in_strips)?;
        assert_eq!(values.len(), self.entries, "a value for each entry");
        let (mut out, mut next) = (Scratch::any(self.entries), 0);
        for chunk in 0..grid.chunks() {
            for row in grid.row_bounds[chunk]..grid.row_bounds[chunk + 1] {
                for run in grid.row_runs(chunk, row) {
                    let end = next + run.len();
                    out[run].copy_from_slice(&values[next..end]);
                    next = end;
                }
            }
        }
        Some(out)
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

    /// Whether the entries stand row after row (equal indices of the first mode), up to four modes of them, and are visited one
    /// by one.
    pub fn stands_in_rows(&self) -> bool {
        self.is_sorted && !self.is_filled && self.modes() <= MOST_MODES
    }

    /// The entries in a range of rows, of a pattern that [stands in rows](Pattern::stands_in_rows).
    pub fn entries_of(&self, rows: &Range<usize>) -> Range<usize> {
        debug_assert!(self.stands_in_rows(), "entries row after row");
        let bound = |row: usize| self.columns[0].partition_point(|index| (*index as usize) < row);
        bound(rows.start)..bound(rows.end)
    }

    /// Whether the pattern has a grid.
    pub fn has_grid(&self) -> bool {
        self.grid.is_some()
    }

    /// Whether the entries fill most of their rows and columns, on a grid.
    pub fn is_filled(&self) -> bool {
        self.is_filled
    }

    /// The bytes that it takes beside the columns that it was made of.
    pub fn own_bytes(&self) -> usize {
        let grid = self.grid.as_ref().map_or(0, |grid| grid.starts.len() + grid.row_starts.len());
        grid * size_of::<u32>() + self.near.len() * size_of::<u16>()
    }

    pub(super) fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    /// The same with so many slabs.
    #[cfg(test)]
    pub(super) fn in_slabs(&self, slabs: usize) -> Pattern<'a> {
        Pattern { grid: self.grid.clone().map(|grid| Grid { slabs, ..grid }), ..self.clone() }
    }

    /// The modes in which two chunks that run together may accumulate in the same row.
    pub(super) fn shared_modes(&self) -> Range<usize> {
        let has_groups = self.grid.as_ref().is_some_and(|grid| grid.groups() == grid.chunks());
        let first = if has_groups { 2 } else { usize::from(self.is_disjoint) };
        first..self.modes().max(first)
    }
}

/// One more than the largest index.
pub(super) fn size(column: &[u32]) -> usize {
    facts::size(column)
}

/// The number of chunks. There are several only if there is enough work, and if copies of the accumulators of the
/// other modes cost little compared with the entries.
pub(super) fn chunk_count<C: AsRef<[u32]>>(columns: &[C]) -> usize {
    let entries = columns[0].as_ref().len();
    chunks_of(entries, columns[1..].iter().map(|column| size(column.as_ref())).sum())
}

/// The same of so many entries, where the other modes have so many indices together.
fn chunks_of(entries: usize, others: usize) -> usize {
    if entries < SMALL { 1 } else { (entries / (2 * others + 1)).clamp(1, MOST_CHUNKS) }
}

pub(super) fn even_chunks(entries: usize, count: usize) -> Vec<usize> {
    (0..=count).map(|index| entries * index / count).collect()
}

pub(super) fn are_disjoint(column: &[u32], chunks: &[usize]) -> bool {
    if facts::are_sorted(column) {
        let bounds = chunks.get(1..chunks.len().saturating_sub(1)).unwrap_or_default();
        let is_between = |own: &&usize| (1..column.len()).contains(*own);
        return bounds.iter().filter(is_between).all(|own| column[own - 1] < column[*own]);
    }
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

/// The cuts of a grid, which follow from how many entries each row and column has, whatever their order.
pub(super) struct Cuts {
    pub(super) rows: usize,
    pub(super) parts: usize,
    pub(super) strip_bounds: Vec<usize>,
    /// The first column of each strip, and one past the last.
    pub(super) edges: Vec<usize>,
}

/// The grid of a pattern sorted by its first two modes, if there is enough to do in every part of it.
fn grid(columns: &[Cow<[u32]>], row_length: usize) -> Option<Grid> {
    let [first, second, ..] = columns else { return None };
    if !facts::pairs_are_sorted(first, second) {
        return None;
    }
    let columns: Vec<&[u32]> = columns.iter().map(|column| column.as_ref()).collect();
    let Cuts { rows, parts, strip_bounds, edges } = cuts(&columns, row_length)?;
    let entries = first.len();
    let mut row_bounds: Vec<usize> = (0..parts).map(|part| first[entries * part / parts] as usize).collect();
    row_bounds[0] = 0;
    row_bounds.push(rows);
    let starts = starts([first, second], rows, &edges);
    let slabs = entries.div_ceil(SLAB);
    Some(Grid {
        rows,
        row_bounds,
        slabs,
        strip_bounds,
        edges,
        is_in_strips: false,
        row_starts: Vec::new(),
        starts,
    })
}

/// The cuts of the grid that entries have once they are sorted by their first two modes, if there is enough to do in every part.
///
/// Chunks and groups hold about the same number of entries. There are as many groups as rows have sixteen entries for, or as strips are
/// wanted, at most eight, or few. A group is cut into strips of as many columns as have 400 KB of rows, as long as a row has four entries in a strip on average.
pub(super) fn cuts(columns: &[&[u32]], row_length: usize) -> Option<Cuts> {
    let [first, second, others @ ..] = columns else { return None };
    let entries = first.len();
    let parts = (entries / SMALL).min(MOST_ROUNDS);
    if parts < 2 || u32::try_from(entries).is_err() {
        return None;
    }
    let (rows, width) = (size(first), size(second));
    // Other modes have copies for each chunk.
    let parts = others.iter().fold(parts, |parts, column| {
        let in_proportion = entries / (2 * size(column) + 1);
        parts.min(MOST_CHUNKS).min(in_proportion)
    });
    let in_cache = (STRIP_BYTES / (row_length.max(1) * size_of::<f64>())).max(1);
    let most_strips = (entries / (4 * rows)).max(1);
    // Rows in as many groups have sixteen entries in each, or the groups are few, or they are eight at most and no narrower than strips would be.
    // (With twelve, a pass of one thread took up to a fifth longer where columns stand by their frequency: the first groups are narrow.)
    let strips = width.div_ceil(in_cache).min(most_strips).min(8);
    let parts = parts.min((entries / (16 * rows)).max(MOST_CHUNKS).max(strips)).min(rows).min(width);
    let parts = rounds(parts);
    if parts < 2 || rows * (parts + 1) > 2 * entries {
        return None;
    }
    let counts = facts::counts(second, width);
    let mut group_bounds = vec![0];
    let mut seen = 0;
    for (column, count) in counts.iter().enumerate() {
        if seen * parts >= entries * group_bounds.len() && group_bounds.len() < parts {
            group_bounds.push(column);
        }
        seen += *count as usize;
    }
    group_bounds.resize(parts, width);
    group_bounds.push(width);
    let strip = in_cache.max(width.div_ceil(most_strips));
    let mut strip_bounds = vec![0];
    let mut edges = Vec::new();
    for group in group_bounds.windows(2) {
        let width = group[1] - group[0];
        let count = ((width + strip / 2) / strip).max(usize::from(width > 0));
        edges.extend((0..count).map(|own| group[0] + (group[1] - group[0]) * own / count));
        strip_bounds.push(edges.len());
    }
    edges.push(width);
    Some(Cuts { rows, parts, strip_bounds, edges })
}

/// For each edge of a strip the first entry of each row at this column or a later one; entries are sorted.
fn starts([first, second]: [&[u32]; 2], rows: usize, edges: &[usize]) -> Vec<u32> {
    let mut starts = vec![0; edges.len() * rows];
    let mut entry = 0;
    for row in 0..rows {
        for (strip, edge) in edges.iter().enumerate() {
            while entry < first.len() && first[entry] as usize == row && (second[entry] as usize) < *edge {
                entry += 1;
            }
            starts[strip * rows + row] = entry as u32;
        }
    }
    starts
}

/// The grid of a filled pattern, if it is one: chunks of about as many rows, and as many groups of strips where the columns
/// are enough for them; otherwise one group, and fewer chunks.
fn filled_grid(columns: &[Cow<[u32]>], part: f64) -> Option<Grid> {
    let [first, second] = columns else { return None };
    let entries = first.len();
    if fill([first, second]) < part || entries == 0 || u32::try_from(entries).is_err() {
        return None;
    }
    let pairs = || first.iter().zip(second.iter());
    if !pairs().zip(pairs().skip(1)).all(|(one, next)| one < next) {
        return None;
    }
    let sizes = [first, second].map(|column| size(column));
    Some(filled_on(entries, sizes, |edges| starts([first, second], sizes[0], edges)))
}

/// The grid of so many entries that fill most of so many rows and columns. `starts` has for each edge of a strip the first entry of each row
/// at this column or a later one.
fn filled_on(entries: usize, [rows, width]: [usize; 2], starts: impl FnOnce(&[usize]) -> Vec<u32>) -> Grid {
    let strips = width.div_ceil(BLOCK_COLUMNS);
    let (chunks, groups) = filled_parts(entries, [rows, width]);
    let split = |size: usize, parts: usize| (0..=parts).map(|part| size * part / parts).collect();
    let edges: Vec<usize> = (0..=strips).map(|strip| width.min(strip * BLOCK_COLUMNS)).collect();
    let starts = starts(&edges);
    let (row_bounds, strip_bounds) = (split(rows, chunks), split(strips, groups));
    let slabs = entries.div_ceil(SLAB);
    Grid { rows, row_bounds, slabs, strip_bounds, edges, is_in_strips: false, row_starts: Vec::new(), starts }
}

/// The chunks of rows and the groups of strips of a filled pattern of so many entries, rows and columns.
pub(super) fn filled_parts(entries: usize, [rows, width]: [usize; 2]) -> (usize, usize) {
    let strips = width.div_ceil(BLOCK_COLUMNS);
    // A chunk of more than the usual eight has whole blocks of rows.
    let most = MOST_ROUNDS.min(strips).min(rows / BLOCK_COLUMNS).max(8);
    let many = (entries / SMALL).clamp(1, most).min(rows);
    let many = if many > 8 { rounds(many) } else { many };
    match strips >= many {
        true => (many, many),
        false => (many.min(MOST_CHUNKS).min(chunks_of(entries, width)), 1),
    }
}

/// The order of the entries by their first two modes (by the only one, if there is one).
///
/// # Panics
/// If there are 2^32 entries or more.
pub fn by_rows(columns: &[&[u32]]) -> Vec<u32> {
    let entries = u32::try_from(columns[0].len()).expect("a pattern has fewer than 2^32 entries");
    let mut permutation: Vec<u32> = (0..entries).collect();
    permutation.sort_by_key(|entry| {
        let entry = *entry as usize;
        (columns[0][entry], columns.get(1).map_or(0, |second| second[entry]))
    });
    permutation
}
