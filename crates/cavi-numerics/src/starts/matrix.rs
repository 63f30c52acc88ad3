//! A matrix as starts see it: dense, or listed entries less a number for each column.

#![allow(unsafe_code)]

/// A matrix of `rows` by `columns`.
#[derive(Clone, Copy, Debug)]
pub enum MatrixView<'a> {
    /// All entries, row-major.
    Dense {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        columns: usize,
        /// The entries.
        values: &'a [f64],
    },
    /// `S - 1 c'`: listed entries by rows, and what is subtracted from every entry of a column, listed or not.
    Sparse {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        columns: usize,
        /// Where each row's entries begin; one more at the end.
        starts: &'a [usize],
        /// The column of each entry, increasing in a row.
        places: &'a [u32],
        /// The entries of `S`.
        values: &'a [f64],
        /// `c`
        shift: &'a [f64],
    },
}

impl MatrixView<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            MatrixView::Dense { rows, .. } | MatrixView::Sparse { rows, .. } => *rows,
        }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        match self {
            MatrixView::Dense { columns, .. } | MatrixView::Sparse { columns, .. } => *columns,
        }
    }

    /// `out = A b`: `b` is columns by `width`, `out` rows by `width`, both row-major.
    pub(super) fn times(&self, b: &[f64], width: usize, out: &mut [f64]) {
        assert_eq!(
            (b.len(), out.len()),
            (self.columns() * width, self.rows() * width),
            "shapes of a product"
        );
        match *self {
            MatrixView::Dense { rows, columns, values } => {
                product([rows, columns, width], values, [columns, 1], b, out);
            }
            MatrixView::Sparse { starts, places, values, shift, .. } => {
                let mut mean = vec![0.0; width];
                for (c, row) in shift.iter().zip(b.chunks(width.max(1))) {
                    add(&mut mean, *c, row);
                }
                for (row, out) in out.chunks_mut(width.max(1)).enumerate() {
                    out.iter_mut().zip(&mean).for_each(|(out, mean)| *out = -mean);
                    for entry in starts[row]..starts[row + 1] {
                        let place = places[entry] as usize;
                        add(out, values[entry], &b[place * width..(place + 1) * width]);
                    }
                }
            }
        }
    }

    /// `out = A' b`: `b` is rows by `width`, `out` columns by `width`, both row-major.
    pub(super) fn transposed_times(&self, b: &[f64], width: usize, out: &mut [f64]) {
        assert_eq!(
            (b.len(), out.len()),
            (self.rows() * width, self.columns() * width),
            "shapes of a product"
        );
        match *self {
            MatrixView::Dense { rows, columns, values } => {
                product([columns, rows, width], values, [1, columns], b, out);
            }
            MatrixView::Sparse { starts, places, values, shift, .. } => {
                let mut total = vec![0.0; width];
                for row in b.chunks(width.max(1)) {
                    add(&mut total, 1.0, row);
                }
                for (c, out) in shift.iter().zip(out.chunks_mut(width.max(1))) {
                    out.iter_mut().zip(&total).for_each(|(out, total)| *out = -c * total);
                }
                for (row, b) in b.chunks(width.max(1)).enumerate() {
                    for entry in starts[row]..starts[row + 1] {
                        let place = places[entry] as usize;
                        add(&mut out[place * width..(place + 1) * width], values[entry], b);
                    }
                }
            }
        }
    }

    /// The squared distance of a row without a listed entry from a point: `sum_j (p_j + c_j)^2` over all columns. Of a dense
    /// matrix, which has no such row, 0.
    pub(super) fn distance_of_none(&self, point: &[f64]) -> f64 {
        match *self {
            MatrixView::Dense { .. } => 0.0,
            MatrixView::Sparse { shift, .. } => shift.iter().zip(point).map(|(c, p)| (p + c) * (p + c)).sum(),
        }
    }

    /// The squared distance of a row from a point, of which [`MatrixView::distance_of_none`] is known: it costs as much as the row
    /// has entries.
    pub(super) fn distance(&self, row: usize, point: &[f64], of_none: f64) -> f64 {
        match *self {
            MatrixView::Dense { columns, values, .. } => {
                let own = &values[row * columns..(row + 1) * columns];
                own.iter().zip(point).map(|(x, c)| (x - c) * (x - c)).sum()
            }
            MatrixView::Sparse { starts, places, values, shift, .. } => {
                // That of a row without an entry, mended where one is listed.
                let mut total = of_none;
                for entry in starts[row]..starts[row + 1] {
                    let at = places[entry] as usize;
                    let away = point[at] + shift[at];
                    total += values[entry] * (values[entry] - 2.0 * away);
                }
                total.max(0.0)
            }
        }
    }

    /// Adds `weight` times a row to `sum`, but for what is subtracted from every row ([`MatrixView::subtract`]).
    pub(super) fn add_row(&self, row: usize, weight: f64, sum: &mut [f64]) {
        match *self {
            MatrixView::Dense { columns, values, .. } => {
                add(sum, weight, &values[row * columns..(row + 1) * columns])
            }
            MatrixView::Sparse { starts, places, values, .. } => {
                for entry in starts[row]..starts[row + 1] {
                    sum[places[entry] as usize] += weight * values[entry];
                }
            }
        }
    }
}

impl MatrixView<'_> {
    /// Subtracts from the sum of rows of this total weight what is subtracted from each: `weight c`.
    pub(super) fn subtract(&self, weight: f64, sum: &mut [f64]) {
        match *self {
            MatrixView::Dense { .. } => {}
            MatrixView::Sparse { shift, .. } => add(sum, -weight, shift),
        }
    }
}

/// `a += factor b`
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

/// `out = A b` for sizes m, k, n: `A` is m by k with these strides, `b` k by n and `out` m by n, row-major.
pub(crate) fn product([m, k, n]: [usize; 3], a: &[f64], strides: [usize; 2], b: &[f64], out: &mut [f64]) {
    assert!(a.len() == m * k && b.len() == k * n && out.len() == m * n, "shapes of a product");
    // SAFETY: the three matrices have the sizes just checked, the strides are those of an m by k or a transposed k by m
    // array without gaps, and `out` is borrowed alone.
    unsafe {
        matrixmultiply::dgemm(
            m,
            k,
            n,
            1.0,
            a.as_ptr(),
            strides[0] as isize,
            strides[1] as isize,
            b.as_ptr(),
            n as isize,
            1,
            0.0,
            out.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}
