//! Vectors in which several variables stand beside each other, put together and taken apart; running sums.

use cavi_numerics::{Scratch, Threads};

use crate::plan::tensor::{Part, Side};

/// The place in the whole of each element of a part, in the part's order, for each of its rows; `transposed` with the
/// last two dimensions of the whole exchanged. A whole without dimensions behind its rows is its own part.
fn places(part: &Part, shape: &[usize], transposed: bool) -> impl Iterator<Item = usize> {
    let inner = &shape[shape.len() - part.windows.len()..];
    let rows: usize = shape[..shape.len() - part.windows.len()].iter().product();
    let size: usize = inner.iter().product();
    let mut within: Scratch<usize> = Scratch::of(&[0]);
    for (dimension, (start, width)) in part.windows.iter().enumerate() {
        let stride: usize = match (transposed, dimension) {
            (true, 0) => 1,
            (true, _) => inner[1],
            (false, _) => inner[dimension + 1..].iter().product(),
        };
        let positions = |place: &usize| {
            let place = *place;
            (*start..start + width).map(move |position| place + position * stride)
        };
        within = within.iter().flat_map(positions).collect();
    }
    let each = within.len();
    (0..rows * each).map(move |place| place / each * size + within[place % each])
}

/// Adds a part to the whole, which has this shape.
pub fn put(part: &Part, values: &[f64], shape: &[usize], out: &mut [f64]) {
    let share = if part.crossed { 0.5 } else { 1.0 };
    for (place, value) in places(part, shape, false).zip(values) {
        out[place] += share * value;
    }
    if part.crossed {
        for (place, value) in places(part, shape, true).zip(values) {
            out[place] += share * value;
        }
    }
}

/// The elements of a part of the whole, which has this shape.
pub fn take(part: &Part, whole: &[f64], shape: &[usize], out: &mut [f64]) {
    for (place, value) in places(part, shape, false).zip(out) {
        *value = whole[place];
    }
}

/// For each row, of this width, the sum of the rows before it or after it. `out` is zeros.
pub fn beside(side: Side, rows: &[f64], width: usize, out: &mut [f64]) {
    let count = rows.len() / width.max(1);
    for step in 1..count {
        let (row, last) = match side {
            Side::Before => (step, step - 1),
            Side::After => (count - 1 - step, count - step),
        };
        for column in 0..width {
            out[row * width + column] = out[last * width + column] + rows[last * width + column];
        }
    }
}

/// As many values are copied together.
const VALUES: usize = 1 << 13;

/// The pairs `a <= b` of the symmetric matrices in dimension `at` and the next of values of this shape, in order.
pub fn pairs(values: &[f64], shape: &[usize], at: usize, out: &mut [f64], threads: &Threads) {
    let size = shape[at];
    let inner: usize = shape[at + 2..].iter().product();
    let (whole, half) = (size * size * inner, size * (size + 1) / 2 * inner);
    if half == 0 {
        return;
    }
    let row = |matrices: &[f64], a: usize, out: &mut [f64]| {
        out.copy_from_slice(&matrices[(a * size + a) * inner..(a + 1) * size * inner]);
    };
    if out.len() == half {
        let end = |a: usize, _: usize| (a + 1) * (2 * size - a) / 2 * inner;
        return threads.for_each_part(&mut [out], size, end, |a, out| row(values, a, out[0]));
    }
    let step = (VALUES / whole).max(1);
    threads.for_each_chunk(out, step * half, |chunk, out| {
        let matrices = values[chunk * step * whole..].chunks_exact(whole);
        for (matrices, out) in matrices.zip(out.chunks_exact_mut(half)) {
            rows(out, size, inner).for_each(|(a, out)| row(matrices, a, out));
        }
    });
}

/// For each `a`, the pairs `(a, b)` of a symmetric matrix with `inner` values each.
fn rows(pairs: &mut [f64], size: usize, inner: usize) -> impl Iterator<Item = (usize, &mut [f64])> {
    let mut rest = pairs;
    (0..size).map(move |a| {
        let (own, others) = std::mem::take(&mut rest).split_at_mut((size - a) * inner);
        rest = others;
        (a, own)
    })
}

/// The symmetric matrices in dimension `at` and the next of a shape, from their pairs.
pub fn square(pairs: &[f64], shape: &[usize], at: usize, out: &mut [f64], threads: &Threads) {
    let size = shape[at];
    let inner: usize = shape[at + 2..].iter().product();
    let (row, half) = (size * inner, size * (size + 1) / 2 * inner);
    if half == 0 {
        return;
    }
    let step = (VALUES / row).max(1);
    threads.for_each_chunk(out, step * row, |chunk, out| {
        for (number, out) in out.chunks_exact_mut(row).enumerate() {
            let (matrix, a) = ((chunk * step + number) / size, (chunk * step + number) % size);
            let pairs = &pairs[matrix * half..(matrix + 1) * half];
            // The pair `(b, a)` stands behind the `b` longer rows, the first of `size` pairs.
            let place = |b: usize, a: usize| (b * (2 * size - b + 1) / 2 + a - b) * inner;
            for (b, out) in out[..a * inner].chunks_exact_mut(inner).enumerate() {
                out.copy_from_slice(&pairs[place(b, a)..][..inner]);
            }
            let own = &mut out[a * inner..];
            own.copy_from_slice(&pairs[place(a, a)..][..own.len()]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tensor::NodeId;

    fn part(windows: &[(usize, usize)], crossed: bool) -> Part {
        Part { node: NodeId(0), windows: windows.to_vec(), crossed }
    }

    #[test]
    fn a_vector_is_put_together_and_taken_apart() {
        let mut whole = vec![0.0; 6];
        put(&part(&[(0, 1)], false), &[1.0, 4.0], &[2, 3], &mut whole);
        put(&part(&[(1, 2)], false), &[2.0, 3.0, 5.0, 6.0], &[2, 3], &mut whole);
        assert_eq!(whole, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let mut taken = vec![0.0; 4];
        take(&part(&[(1, 2)], false), &whole, &[2, 3], &mut taken);
        assert_eq!(taken, [2.0, 3.0, 5.0, 6.0]);
    }

    #[test]
    fn a_product_of_two_variables_stands_on_both_sides_of_the_diagonal() {
        let mut whole = vec![0.0; 9];
        put(&part(&[(0, 1), (1, 2)], true), &[2.0, 4.0], &[3, 3], &mut whole);
        assert_eq!(whole, [0.0, 1.0, 2.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
        let mut taken = vec![0.0; 2];
        take(&part(&[(1, 2), (0, 1)], false), &whole, &[3, 3], &mut taken);
        assert_eq!(taken, [1.0, 2.0]);
    }

    #[test]
    fn pairs_are_half_of_a_symmetric_array() {
        for (shape, at) in [
            (&[3, 4, 4][..], 1),
            (&[2, 2, 5], 0),
            (&[2, 3, 3, 2], 1),
            (&[1, 1], 0),
            (&[3, 3, 0], 0),
            (&[200, 15, 15], 1),
        ] {
            let (before, size, inner) =
                (shape[..at].iter().product::<usize>(), shape[at], shape[at + 2..].iter().product::<usize>());
            let mut whole = Vec::new();
            for row in 0..before {
                for (a, b) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
                    whole.extend(
                        (0..inner).map(|place| (1000 * row + 100 * (a + b) + 10 * (a * b) + place) as f64),
                    );
                }
            }
            let expected: Vec<f64> = (0..before * size * size)
                .filter(|place| place / size % size <= place % size)
                .flat_map(|place| whole[place * inner..(place + 1) * inner].to_vec())
                .collect();
            for threads in [Threads::new(1), Threads::new(2)] {
                let mut half = vec![-1.0; before * size * (size + 1) / 2 * inner];
                pairs(&whole, shape, at, &mut half, &threads);
                assert_eq!(half, expected);
                let mut again = vec![-1.0; whole.len()];
                square(&half, shape, at, &mut again, &threads);
                assert_eq!(again, whole);
            }
        }
    }

    /// Of three rows of two: the first has nothing before it, the last nothing after it.
    #[test]
    fn a_running_sum_leaves_its_own_row_out() {
        let rows = [1.0, 10.0, 2.0, 20.0, 4.0, 40.0];
        let sums = |side, rows: &[f64]| {
            let mut out = vec![0.0; rows.len()];
            beside(side, rows, 2, &mut out);
            out
        };
        assert_eq!(sums(Side::Before, &rows), [0.0, 0.0, 1.0, 10.0, 3.0, 30.0]);
        assert_eq!(sums(Side::After, &rows), [6.0, 60.0, 4.0, 40.0, 0.0, 0.0]);
        assert!(sums(Side::After, &[]).is_empty());
    }
}
