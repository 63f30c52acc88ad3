//! What a [`Pattern`] would take, from the columns of its entries, without making one: a forecast of memory asks for it before
//! anything is copied or sorted.

use crate::facts;

use super::pattern::{self, BLOCK_COLUMNS, LEAST_FILL, MOST_MODES, Pattern};

/// The parts of a pattern, and how large they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// How many numbers of 4 bytes the grid has; 0 without one.
    pub grid: usize,
    /// The numbers of 4 bytes that the grid of the same entries in strips has; `None` where they cannot be put in strips.
    pub strips: Option<usize>,
    /// Into how many chunks the pass is cut.
    pub chunks: usize,
    /// The first mode in which chunks accumulate in copies of their own.
    pub first_shared: usize,
    /// Whether the entries stand row after row.
    pub in_rows: bool,
}

impl Outline {
    /// The outline of the pattern of these columns, once sorted by the first two of them if `sorts`: filled where `fills` and it can be,
    /// else on a grid for factors of `row_length` values a row, if there is one. Without `on_grid` there is none.
    pub fn of(columns: &[&[u32]], sorts: bool, (fills, on_grid): (bool, bool), row_length: usize) -> Outline {
        let entries = columns[0].len();
        let in_order = sorts
            || columns.len() > 1 && facts::pairs_are_sorted(columns[0], columns[1])
            || columns.len() == 1 && facts::are_sorted(columns[0]);
        if fills && in_order && columns.len() == 2 && is_filled(columns) {
            return Outline::filled(entries, [columns[0], columns[1]].map(pattern::size));
        }
        if on_grid
            && in_order
            && let Some(cuts) = pattern::cuts(columns, row_length)
        {
            let grid = cuts.rows * cuts.edges.len();
            let is_near = cuts.edges.windows(2).all(|edges| edges[1] - edges[0] <= 1 << 16);
            let strips = (is_near && columns.len() <= MOST_MODES)
                .then(|| cuts.rows * cuts.strip_bounds[cuts.strip_bounds.len() - 1] + 1 + cuts.rows);
            return Outline { grid, strips, chunks: cuts.parts, first_shared: 2, in_rows: true };
        }
        let chunks = pattern::chunk_count(columns);
        // Rows stay within a chunk where they are sorted.
        let is_disjoint = in_order
            || facts::are_sorted(columns[0])
            || pattern::are_disjoint(columns[0], &pattern::even_chunks(entries, chunks));
        let in_rows = in_order || facts::are_sorted(columns[0]);
        Outline { grid: 0, strips: None, chunks, first_shared: usize::from(is_disjoint), in_rows }
    }

    /// The outline of a pattern that has all places of a matrix of so many rows and columns ([`Pattern::whole`]).
    pub fn whole(sizes: [usize; 2]) -> Outline {
        Outline::filled(sizes[0] * sizes[1], sizes)
    }

    /// The outline of a filled pattern of so many entries.
    fn filled(entries: usize, [rows, width]: [usize; 2]) -> Outline {
        let (chunks, groups) = pattern::filled_parts(entries, [rows, width]);
        let grid = rows * (width.div_ceil(BLOCK_COLUMNS) + 1);
        let first_shared = if groups == chunks { 2 } else { 0 };
        Outline { grid, strips: None, chunks, first_shared, in_rows: false }
    }

    /// The values that chunks accumulate in copies of their own, of modes with so many rows of as many values each; `None` for a mode
    /// that is not wanted.
    pub fn copied(&self, modes: &[(usize, Option<usize>)]) -> usize {
        let shared = modes.iter().skip(self.first_shared);
        let values: usize = shared.filter_map(|(rows, stride)| Some(rows * (*stride)?)).sum();
        values * self.chunks.saturating_sub(1)
    }
}

/// Whether entries fill most places of their rows and columns, none of them twice.
fn is_filled(columns: &[&[u32]]) -> bool {
    pattern::fill([columns[0], columns[1]]) >= LEAST_FILL && pattern::fills_a_grid([columns[0], columns[1]])
}

impl Pattern<'_> {
    /// What it takes.
    pub fn outline(&self) -> Outline {
        let grid = self.own_bytes() / size_of::<u32>();
        let strips = self.in_strips().map(|(own, _)| (own.own_bytes() - self.len() * size_of::<u16>()) / 4);
        let (chunks, first_shared) = (self.chunks().len() - 1, self.shared_modes().start);
        Outline { grid, strips, chunks, first_shared, in_rows: self.stands_in_rows() }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// Pseudo-random columns of these sizes, sorted by the first two.
    fn columns(entries: usize, sizes: &[usize]) -> Vec<Vec<u32>> {
        let mut state = 12345_u64;
        let mut next = |size: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) as usize % size) as u32
        };
        let mut rows: Vec<Vec<u32>> =
            (0..entries).map(|_| sizes.iter().map(|size| next(*size)).collect()).collect();
        rows.sort();
        (0..sizes.len()).map(|mode| rows.iter().map(|row| row[mode]).collect()).collect()
    }

    #[test]
    fn an_outline_is_that_of_the_pattern() {
        let shapes: [(usize, &[usize]); 6] = [
            (100_000, &[300, 2_000]),
            (100_000, &[300, 20_000, 5]),
            (50_000, &[20_000, 40]),
            (5_000, &[50, 60]),
            (30_000, &[30_000]),
            (10, &[3, 4]),
        ];
        for (entries, sizes) in shapes {
            let own = columns(entries, sizes);
            let views: Vec<&[u32]> = own.iter().map(Vec::as_slice).collect();
            for row_length in [8, 5_000] {
                let borrowed = || views.iter().map(|own| Cow::Borrowed(*own)).collect();
                let (plain, on_grid) = (Pattern::new(borrowed()), Pattern::on_grid(borrowed(), row_length));
                assert_eq!(
                    Outline::of(&views, false, (false, false), row_length),
                    plain.outline(),
                    "{sizes:?}"
                );
                assert_eq!(
                    Outline::of(&views, true, (false, true), row_length),
                    on_grid.outline(),
                    "{sizes:?}"
                );
            }
        }
        let (rows, width) = (100, 90);
        let all: Vec<Vec<u32>> = vec![
            (0..rows * width).map(|at| at / width).collect(),
            (0..rows * width).map(|at| at % width).collect(),
        ];
        let views: Vec<&[u32]> = all.iter().map(Vec::as_slice).collect();
        let filled = Pattern::filled(all.iter().map(|own| Cow::Borrowed(own.as_slice())).collect());
        let filled = filled.expect("all places are filled");
        assert_eq!(Outline::of(&views, true, (true, true), 8), filled.outline());
        let whole = Outline::whole([rows as usize, width as usize]);
        assert_eq!((whole, Pattern::whole([100, 90]).outline()), (filled.outline(), filled.outline()));
    }
}
