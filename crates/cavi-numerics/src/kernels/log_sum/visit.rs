//! Which entries a call of the pass visits, and in which order: runs of entries that share the first mode's index.

use std::iter::Chain;
use std::ops::Range;

use super::pass::Task;
use crate::kernels::pattern::{Grid, Tile};
use crate::kernels::vector::prefetch;

/// The entries that a call visits: all of its range, those of a tile, or those of some rows, each row's in the
/// order in which its chunk comes to them.
#[derive(Clone)]
pub(super) enum Visit<'a> {
    All,
    Tile { grid: &'a Grid, tile: Tile },
    Rows { grid: &'a Grid, rows: Range<usize> },
}

/// The runs of a visit that are still to come.
pub(super) enum Runs<'a> {
    All { rows: &'a [u32], entries: Range<usize> },
    Strip(Strip<'a>),
    Rows { grid: &'a Grid, rows: Range<usize>, row: usize, strips: Chain<Range<usize>, Range<usize>> },
}

/// The runs of a tile: one for each of its rows, which may be empty.
pub(super) struct Strip<'a> {
    first_row: usize,
    first_column: usize,
    from: &'a [u32],
    to: &'a [u32],
    next: usize,
    /// What is read and written far from the run before, in the order of rows; nothing of entries in strips.
    far: Option<Far<'a>>,
}

/// What the entries of a run have in memory, each at the entry's place.
struct Far<'a> {
    columns: &'a [u32],
    values: [Option<*const f64>; 5],
}

impl<'a> Runs<'a> {
    /// The runs of a visit of this task.
    #[inline(always)]
    pub fn of(task: &Task<'a>, visit: Visit<'a>) -> Self {
        let pattern = task.input.pattern;
        match visit {
            Visit::All => Runs::All { rows: pattern.column(0), entries: task.range.clone() },
            Visit::Rows { grid, rows } => Runs::Rows { grid, rows, row: 0, strips: (0..0).chain(0..0) },
            Visit::Tile { grid, tile } => {
                let (first_row, from, to) = grid.runs_of(tile);
                let first_column = grid.edges(tile.strip).start;
                let far = (!grid.is_in_strips()).then(|| Far::of(task));
                Runs::Strip(Strip { first_row, first_column, from, to, next: 0, far })
            }
        }
    }

    /// The first column of the strip; 0 of other visits.
    #[inline(always)]
    pub fn first_column(&self) -> usize {
        if let Runs::Strip(strip) = self { strip.first_column } else { 0 }
    }

    /// The index of the first mode, and entries that share it.
    #[inline(always)]
    pub fn next(&mut self) -> Option<(usize, Range<usize>)> {
        match self {
            Runs::Strip(strip) => strip.next(),
            Runs::All { rows, entries } => {
                let start = entries.start;
                if start >= entries.end {
                    return None;
                }
                let row = rows[start];
                let mut end = start + 1;
                while end < entries.end && rows[end] == row {
                    end += 1;
                }
                entries.start = end;
                Some((row as usize, start..end))
            }
            Runs::Rows { grid, rows, row, strips } => loop {
                let Some(strip) = strips.next() else {
                    if rows.start >= rows.end {
                        return None;
                    }
                    (*row, *strips) = (rows.start, grid.strips_of(rows.start));
                    rows.start += 1;
                    continue;
                };
                let entries = grid.run(*row, strip);
                if !entries.is_empty() {
                    return Some((*row, entries));
                }
            },
        }
    }
}

impl Strip<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<(usize, Range<usize>)> {
        // In the order of rows a run is short, and far from the next one in memory. What it reads and writes is therefore
        // prefetched some rows ahead.
        const AHEAD: usize = 6;
        while let (Some(from), Some(to)) = (self.from.get(self.next), self.to.get(self.next)) {
            if let (Some(far), Some(ahead)) = (&self.far, self.from.get(self.next + AHEAD)) {
                far.prefetch(*ahead as usize..self.to[self.next + AHEAD] as usize);
            }
            let row = self.first_row + self.next;
            self.next += 1;
            if from < to {
                return Some((row, *from as usize..*to as usize));
            }
        }
        None
    }
}

impl<'a> Far<'a> {
    fn of(task: &Task<'a>) -> Self {
        let input = task.input;
        // What is written begins with the chunk.
        let written = |values: &Option<&mut [f64]>| {
            values.as_ref().map(|values| values.as_ptr().wrapping_sub(task.range.start))
        };
        let values = [
            input.ratios.or(Some(input.weights)).map(<[f64]>::as_ptr),
            input.addends.map(<[f64]>::as_ptr),
            input.offsets.map(<[f64]>::as_ptr),
            written(&task.written.ratios),
            written(&task.written.sums),
        ];
        Self { columns: input.pattern.column(1), values }
    }

    #[inline(always)]
    fn prefetch(&self, entries: Range<usize>) {
        prefetch(self.columns.as_ptr().wrapping_add(entries.start));
        prefetch(self.columns.as_ptr().wrapping_add(entries.end));
        for values in self.values.into_iter().flatten() {
            for entry in entries.clone().step_by(8) {
                prefetch(values.wrapping_add(entry));
            }
            prefetch(values.wrapping_add(entries.end));
        }
    }
}
