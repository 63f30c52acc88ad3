//! Sums of rows of a matrix over the places where a mask is 1:
//!
//! ```text
//! out[p, :] += c sum_{s: M[p, s] = 1} S[s, :]
//! ```
//!
//! Each `p` lists the places of its ones or those of its zeros, whichever are fewer. The rows at the ones are added,
//! or the rows at the zeros are subtracted from the sum over all rows. A subtraction loses digits if the rows left
//! out are much larger than the others: if the sum of absolute values is a million times what is left, or not finite,
//! the rows at the ones are added after all. A mask of one kind alone costs nothing but the sum over all.

#![allow(unsafe_code)]

use smallvec::SmallVec;

use super::vector::{Portable, Vector};
use crate::{InstructionSet, Scratch, Threads, instruction_set};

/// The places of a mask, for each row those of the fewer kind.
#[derive(Clone, Debug)]
pub struct Mask {
    /// Where the list of each row begins, and the end of the last.
    starts: Vec<usize>,
    /// The places, ascending.
    listed: Vec<u32>,
    /// Whether a row lists the places where it is 0.
    lists_zeros: Vec<bool>,
    columns: usize,
}

/// As many rows of the output are a task.
pub const ROWS: usize = 128;
/// As many rows of the matrix are packed together.
const PACKED: usize = 256;
/// The most vectors of sums that are in registers at a time.
const MOST: usize = 8;
/// As many places of a row are listed among the rows of the matrix that are treated together, about; these stay in L1, or in L2.
const LISTED: usize = 8;
const LEAST_ROWS: usize = 64;
const MOST_ROWS: usize = 1024;

impl Mask {
    /// The mask of `rows` by `columns` values, which are 0 or 1: in C order, or if `by_columns` column after column.
    ///
    /// # Panics
    /// If there are not as many values, or `columns` is 2^32 or more.
    pub fn new(values: &[f64], [rows, columns]: [usize; 2], by_columns: bool) -> Mask {
        assert_eq!(values.len(), rows * columns, "one value for each place of a mask");
        let width = u32::try_from(columns).expect("a mask has fewer than 2^32 columns");
        let [row_step, step] = if by_columns { [1, rows] } else { [columns, 1] };
        let (mut starts, mut listed, mut lists_zeros) = (vec![0], Vec::new(), Vec::with_capacity(rows));
        for row in 0..rows {
            let is_one = |column: u32| values[row * row_step + column as usize * step] != 0.0;
            let ones = (0..width).filter(|column| is_one(*column)).count();
            let zeros = 2 * ones > columns;
            listed.extend((0..width).filter(|column| is_one(*column) != zeros));
            starts.push(listed.len());
            lists_zeros.push(zeros);
        }
        Mask { starts, listed, lists_zeros, columns }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.lists_zeros.len()
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many places are listed.
    pub fn listed(&self) -> usize {
        self.listed.len()
    }

    /// The bytes it takes.
    pub fn bytes(&self) -> usize {
        self.listed.len() * size_of::<u32>() + self.rows() * (size_of::<usize>() + 1)
    }
}

/// If the terms are at most this many times as large as their sum, its relative error is at most this times
/// `f64::EPSILON`, which is 1e-10.
const LOST: f64 = (1_u64 << 20) as f64;

/// How many places [`Mask::new`] would list, of each row of `rows` by `columns` values in C order and of each column.
pub fn fewer(values: &[f64], [rows, columns]: [usize; 2]) -> [usize; 2] {
    let mut of_columns = vec![0; columns];
    let mut by_rows = 0;
    for row in values.chunks_exact(columns.max(1)) {
        let ones = row.iter().filter(|value| **value != 0.0).count();
        by_rows += ones.min(columns - ones);
        of_columns.iter_mut().zip(row).for_each(|(ones, value)| *ones += usize::from(*value != 0.0));
    }
    [by_rows, of_columns.into_iter().map(|ones| ones.min(rows - ones)).sum()]
}

/// Adds the sums of rows of `matrix`, `width` values each, to the rows of `out`. See the [module](self) for the formula. If
/// `by_columns`, the matrix stands column after column. Its bits do not depend on the threads.
///
/// # Panics
/// If the matrix has not as many rows as the mask has columns, or the output not as many as the mask has.
pub fn masked_sums(
    mask: &Mask,
    coefficient: f64,
    (matrix, by_columns): (&[f64], bool),
    out: &mut [f64],
    threads: &Threads,
) {
    masked_sums_on(instruction_set(), mask, coefficient, (matrix, by_columns), out, threads);
}

fn masked_sums_on(
    set: InstructionSet,
    mask: &Mask,
    coefficient: f64,
    (matrix, by_columns): (&[f64], bool),
    out: &mut [f64],
    threads: &Threads,
) {
    let (rows, columns) = (mask.rows(), mask.columns());
    if out.is_empty() || columns == 0 {
        return;
    }
    let width = out.len() / rows;
    assert_eq!(out.len(), rows * width, "one row of the output for each of the mask");
    assert_eq!(matrix.len(), columns * width, "one row of the matrix for each column of the mask");
    let lanes = match set {
        InstructionSet::Avx512 => 8,
        InstructionSet::Avx2 | InstructionSet::Portable => 4,
    };
    let most = MOST * lanes;
    let padded = width.next_multiple_of(lanes);
    let mut packed = Scratch::any(columns * padded);
    let mut totals = Scratch::zeros(2 * padded);
    let mut blocks = Blocks::new();
    let mut rest = (&mut packed[..], &mut totals[..]);
    for first in (0..padded).step_by(most) {
        let length = most.min(padded - first);
        let ((rows, other_rows), (totals, others)) =
            (rest.0.split_at_mut(columns * length), rest.1.split_at_mut(2 * length));
        rest = (other_rows, others);
        blocks.push(pack((matrix, by_columns), [width, columns], (first, length), (rows, totals), threads));
    }
    let chunk = (LISTED * rows * columns / mask.listed().max(1)).clamp(LEAST_ROWS, MOST_ROWS);
    threads.for_each_chunk(out, ROWS * width, |task, out| {
        let first = task * ROWS;
        let own = first..first + out.len() / width;
        let mut sums = Scratch::any(own.len() * most);
        for block in &blocks {
            let length = block.all.len();
            let sums = &mut sums[..own.len() * length];
            sums.fill(0.0);
            let starts = &mask.starts[own.start..=own.end];
            sum_listed(set, &Listed { starts, listed: &mask.listed, chunk, rows: block.rows, columns }, sums);
            for ((number, sums), out) in
                sums.chunks_exact_mut(length).enumerate().zip(out.chunks_exact_mut(width))
            {
                let row = own.start + number;
                if mask.lists_zeros[row] {
                    sums.iter_mut().zip(block.all).for_each(|(sum, all)| *sum = all - *sum);
                    let is_whole =
                        |(sum, scale): (&f64, &f64)| scale.is_finite() && *scale <= LOST * sum.abs();
                    if !sums.iter().zip(block.scale).all(is_whole) {
                        add_others(&mask.listed[mask.starts[row]..mask.starts[row + 1]], block.rows, sums);
                    }
                }
                let out = &mut out[block.first..block.first + block.count];
                out.iter_mut().zip(&*sums).for_each(|(out, sum)| *out += coefficient * sum);
            }
        }
    });
}

/// A block of the matrix's columns, `length` of them from `first` on, padded to whole vectors. Its sums are those of
/// [`PACKED`] rows each, added up in order.
fn pack<'m>(
    (matrix, by_columns): (&[f64], bool),
    [width, columns]: [usize; 2],
    (first, length): (usize, usize),
    (rows, totals): (&'m mut [f64], &'m mut [f64]),
    threads: &Threads,
) -> Block<'m> {
    let count = length.min(width - first);
    let mut sums = Scratch::zeros(columns.div_ceil(PACKED) * 2 * length);
    threads.for_each_chunk_of_two((rows, PACKED * length), (&mut sums, 2 * length), |chunk, rows, sums| {
        let (all, scale) = sums.split_at_mut(length);
        for (row, to) in rows.chunks_exact_mut(length).enumerate() {
            let row = chunk * PACKED + row;
            to[count..].fill(0.0);
            match by_columns {
                false => to[..count].copy_from_slice(&matrix[row * width + first..][..count]),
                true => {
                    let values = matrix[row + first * columns..].iter().step_by(columns);
                    to[..count].iter_mut().zip(values).for_each(|(to, value)| *to = *value);
                }
            }
            all.iter_mut().zip(&*to).for_each(|(all, value)| *all += value);
            scale.iter_mut().zip(&*to).for_each(|(scale, value)| *scale += value.abs());
        }
    });
    let (all, scale) = totals.split_at_mut(length);
    for own in sums.chunks_exact(2 * length) {
        all.iter_mut().zip(&own[..length]).for_each(|(all, own)| *all += own);
        scale.iter_mut().zip(&own[length..]).for_each(|(scale, own)| *scale += own);
    }
    Block { first, count, rows, all, scale }
}

/// The sum of all rows but the listed ones, ascending.
fn add_others(listed: &[u32], rows: &[f64], sums: &mut [f64]) {
    sums.fill(0.0);
    let mut listed = listed.iter().peekable();
    for (number, row) in rows.chunks_exact(sums.len()).enumerate() {
        if listed.next_if(|own| **own as usize == number).is_none() {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
    }
}

/// The blocks of a matrix of up to 256 columns stand on the stack.
type Blocks<'m> = SmallVec<[Block<'m>; 4]>;

/// Some columns of the matrix.
struct Block<'m> {
    first: usize,
    count: usize,
    /// Their part of each row, padded to whole vectors.
    rows: &'m [f64],
    /// The sum of all rows, and of their absolute values.
    all: &'m [f64],
    scale: &'m [f64],
}

/// The rows that are summed for some rows of the output.
struct Listed<'m> {
    /// Where the list of each row of the output begins, and the end of the last.
    starts: &'m [usize],
    listed: &'m [u32],
    /// As many rows of the matrix are treated together.
    chunk: usize,
    rows: &'m [f64],
    columns: usize,
}

/// Adds the listed rows to `sums`.
fn sum_listed(set: InstructionSet, own: &Listed, sums: &mut [f64]) {
    let length = own.rows.len() / own.columns;
    let listed = &own.listed[own.starts[0]..own.starts[own.starts.len() - 1]];
    assert!(listed.iter().all(|row| (*row as usize) < own.columns), "a listed row exists");
    assert_eq!(sums.len(), (own.starts.len() - 1) * length, "sums for each list");
    #[cfg(target_arch = "x86_64")]
    {
        use super::vector::{Avx2, Avx512};

        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        unsafe fn avx512(own: &Listed, sums: &mut [f64]) {
            // SAFETY: compiled for these features; the caller's promise.
            unsafe { add_listed::<Avx512>(own, sums) }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(own: &Listed, sums: &mut [f64]) {
            // SAFETY: as above.
            unsafe { add_listed::<Avx2>(own, sums) }
        }
        match set {
            // SAFETY: `instruction_set` found these features on this machine; the rows exist, and are whole vectors.
            InstructionSet::Avx512 => return unsafe { avx512(own, sums) },
            // SAFETY: as above.
            InstructionSet::Avx2 => return unsafe { avx2(own, sums) },
            InstructionSet::Portable => {}
        }
    }
    let _ = set;
    // SAFETY: `Portable` needs no features.
    unsafe { add_listed::<Portable>(own, sums) }
}

/// # Safety
/// The features of `V`; listed rows exist, and are at most [`MOST`] whole vectors; sums for each list.
#[inline(always)]
unsafe fn add_listed<V: Vector>(own: &Listed, sums: &mut [f64]) {
    // SAFETY: the caller's promise.
    unsafe {
        match own.rows.len() / own.columns / V::LANES {
            1 => add_vectors::<V, 1>(own, sums),
            2 => add_vectors::<V, 2>(own, sums),
            3 => add_vectors::<V, 3>(own, sums),
            4 => add_vectors::<V, 4>(own, sums),
            5 => add_vectors::<V, 5>(own, sums),
            6 => add_vectors::<V, 6>(own, sums),
            7 => add_vectors::<V, 7>(own, sums),
            _ => add_vectors::<V, MOST>(own, sums),
        }
    }
}

/// # Safety
/// As [`add_listed`], of rows of `N` vectors.
#[inline(always)]
unsafe fn add_vectors<V: Vector, const N: usize>(own: &Listed, sums: &mut [f64]) {
    let length = N * V::LANES;
    let mut places = [0; ROWS];
    let next = &mut places[..own.starts.len() - 1];
    next.copy_from_slice(&own.starts[..own.starts.len() - 1]);
    for limit in (own.chunk..own.columns + own.chunk).step_by(own.chunk) {
        let lists = next.iter_mut().zip(&own.starts[1..]);
        for ((at, end), sums) in lists.zip(sums.chunks_exact_mut(length)) {
            let list = &own.listed[*at..*end];
            if list.first().is_none_or(|row| *row as usize >= limit) {
                continue;
            }
            // SAFETY: `N` vectors of the sums and of each listed row.
            unsafe {
                let mut parts: [V; N] =
                    std::array::from_fn(|number| V::load(sums.as_ptr().add(number * V::LANES)));
                for row in list {
                    if *row as usize >= limit {
                        break;
                    }
                    let row = own.rows.as_ptr().add(*row as usize * length);
                    for (number, part) in parts.iter_mut().enumerate() {
                        *part = part.plus(V::load(row.add(number * V::LANES)));
                    }
                    *at += 1;
                }
                for (number, part) in parts.into_iter().enumerate() {
                    part.store(sums.as_mut_ptr().add(number * V::LANES));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction_set::available;

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|place| ((place * 7919 + seed * 31) % 1009) as f64 / 1009.0 - 0.4).collect()
    }

    /// Masks of few and of many ones, of none and of all; rows of every length up to several registers.
    #[test]
    fn is_its_formula() {
        let threads = [Threads::one(), Threads::new(2)];
        for (rows, columns) in [(1, 1), (3, 7), (130, 20), (70, 33), (5, 2 * PACKED + 9)] {
            for width in (1..=40).chain([63, 64, 65, 120, 127, 128, 129, 250]) {
                let share = numbers(rows, width);
                let is_one = |row: usize, column: usize| {
                    let share = match row % 4 {
                        0 => 1.0,
                        1 => -1.0,
                        _ => share[row],
                    };
                    numbers(1, row * 131 + column * 17)[0] < share
                };
                let values: Vec<f64> = (0..rows * columns)
                    .map(|place| f64::from(is_one(place / columns, place % columns)))
                    .collect();
                let turned: Vec<f64> =
                    (0..rows * columns).map(|place| values[place % rows * columns + place / rows]).collect();
                let matrix = numbers(columns * width, 3);
                let by_columns: Vec<f64> = (0..columns * width)
                    .map(|place| matrix[place % columns * width + place / columns])
                    .collect();
                let mask = Mask::new(&values, [rows, columns], false);
                assert_eq!(mask.listed, Mask::new(&turned, [rows, columns], true).listed);
                assert_eq!(fewer(&values, [rows, columns])[0], mask.listed());
                assert_eq!(fewer(&turned, [columns, rows])[1], mask.listed());
                assert!(2 * mask.listed() <= rows * columns);
                let mut wanted = vec![1.0; rows * width];
                for (place, value) in values.iter().enumerate() {
                    let (row, column) = (place / columns, place % columns);
                    for k in 0..width {
                        wanted[row * width + k] += 2.0 * value * matrix[column * width + k];
                    }
                }
                for set in available() {
                    let mut first: Option<Vec<f64>> = None;
                    for threads in &threads {
                        for matrix in [(matrix.as_slice(), false), (by_columns.as_slice(), true)] {
                            let mut out = vec![1.0; rows * width];
                            masked_sums_on(set, &mask, 2.0, matrix, &mut out, threads);
                            let least = 1e-14 * columns.max(100) as f64;
                            let close =
                                out.iter().zip(&wanted).all(|(own, wanted)| (own - wanted).abs() < least);
                            assert!(close, "{set:?}, {rows} by {columns}, {width}");
                            assert!(first.get_or_insert_with(|| out.clone()) == &out);
                        }
                    }
                }
            }
        }
    }

    /// Rows that are left out may be any number of times larger than the others, or infinite.
    #[test]
    fn what_is_left_out_costs_no_digit() {
        let (rows, columns, width) = (5, 40, 3);
        for large in [1e9, 1e18, 1e308, f64::INFINITY, f64::NAN] {
            let zeros = [7, 11];
            let values: Vec<f64> =
                (0..rows * columns).map(|place| f64::from(!zeros.contains(&(place % columns)))).collect();
            let mut matrix = numbers(columns * width, 3);
            let mask = Mask::new(&values, [rows, columns], false);
            let mut wanted = vec![0.0; rows * width];
            for (place, wanted) in wanted.iter_mut().enumerate() {
                let kept = (0..columns).filter(|column| !zeros.contains(column));
                *wanted = kept.map(|column| matrix[column * width + place % width]).sum();
            }
            for (zero, sign) in zeros.iter().zip([1.0, -0.5]) {
                matrix[zero * width..(zero + 1) * width].fill(sign * large);
            }
            for set in available() {
                let mut out = vec![0.0; rows * width];
                masked_sums_on(set, &mask, 1.0, (&matrix, false), &mut out, &Threads::one());
                let close =
                    out.iter().zip(&wanted).all(|(own, wanted)| (own - wanted).abs() < 1e-9 * wanted.abs());
                assert!(close, "{set:?}, {large}: {out:?} for {wanted:?}");
            }
        }
    }
}
