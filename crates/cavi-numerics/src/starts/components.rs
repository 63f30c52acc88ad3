//! The leading singular vectors of a matrix, by block power iteration with Rayleigh-Ritz projection.
//!
//! From a random block `Z` (m by l, l = k + 10): `Q` an orthonormal basis of `A Z`, `B = A' Q`, and with `B'B = U S^2 U'`
//! the vectors `Q U` on the left, `B U S^-1` on the right, and the values `S`; then again from `Z = B`. Each round damps
//! what lies outside of the leading subspace by `(s_(l+1) / s_k)^2`. Rounds end when none of the k values changes by more
//! than 1e-10 of the largest, or after 40.
//!
//! Two passes over the matrix a round, `O((n + m) l)` memory beside it. The same bits on the same instruction set.
//!
//! # Source
//! N. Halko, P.-G. Martinsson and J. Tropp (2011), Finding structure with randomness, SIAM Review 53, algorithm 4.4. The
//! small eigenvalue problem is solved by Jacobi's method: G. Golub and C. Van Loan, Matrix Computations, 4th ed. 2013, 8.5.

use super::matrix::{MatrixView, product};

/// How many vectors more than wanted are carried along.
const EXTRA: usize = 10;
/// At most so many rounds.
const ROUNDS: usize = 40;
/// A singular value below this part of the largest counts as 0, since values are found through their squares, which
/// keep half of the digits.
const NEGLIGIBLE: f64 = 1e-7;

/// `A ~ sum_c left_c values_c right_c'`.
#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    /// How many there are: as many as wanted, or the rank of the matrix.
    pub count: usize,
    /// Unit vectors over the rows: rows by `count`, row-major.
    pub left: Vec<f64>,
    /// The singular values, the largest first.
    pub values: Vec<f64>,
    /// Unit vectors over the columns: columns by `count`, row-major. The entry of each that is largest in size is positive.
    pub right: Vec<f64>,
}

/// The `wanted` leading components of a matrix whose rows count as often as `weights` says; each once without.
///
/// They are those of `W^1/2 A`, so that `sum_n w_n |a_n - (values left_n) right'|^2` is as small as can be: `left` is divided by the roots again, and
/// is 0 where a row does not count. With `sum_n w_n left_n left_n' = I` a row that counts twice is two rows.
///
/// # Panics
/// If there are weights, and not one for each row.
pub fn leading_components(a: MatrixView<'_>, weights: Option<&[f64]>, wanted: usize) -> Components {
    assert!(weights.is_none_or(|own| own.len() == a.rows()), "a weight for each row");
    let roots: Option<Vec<f64>> = weights.map(|own| own.iter().map(|weight| weight.sqrt()).collect());
    let weighed = |values: &mut [f64], width: usize| {
        for (row, root) in values.chunks_mut(width.max(1)).zip(roots.iter().flatten()) {
            row.iter_mut().for_each(|value| *value *= root);
        }
    };
    let (n, m) = (a.rows(), a.columns());
    let most = n.min(m);
    let l = (wanted + EXTRA).min(most);
    let mut z = noise(m * l);
    let mut q = vec![0.0; n * l];
    let mut b = vec![0.0; m * l];
    let (mut squares, mut u) = (vec![0.0; l], vec![0.0; l * l]);
    let mut gram = vec![0.0; l * l];
    for _ in 0..ROUNDS {
        a.times(&z, l, &mut q);
        weighed(&mut q, l);
        orthonormalise(&mut q, l);
        let mut of_rows = q.clone();
        weighed(&mut of_rows, l);
        a.transposed_times(&of_rows, l, &mut b);
        gram_of(&b, l, &mut gram);
        let before = squares.clone();
        eigen(l, &mut gram, &mut squares, &mut u);
        let moved = squares.iter().zip(&before).take(wanted).map(|(now, before)| (now - before).abs());
        let settled = moved.fold(0.0, f64::max) <= 1e-10 * squares.first().copied().unwrap_or(0.0);
        if settled || l == most {
            break;
        }
        z.copy_from_slice(&b);
    }
    let root = |square: &f64| square.max(0.0).sqrt();
    let largest = squares.first().map_or(0.0, root);
    let count = squares.iter().take(wanted).filter(|square| root(square) > NEGLIGIBLE * largest).count();
    let values: Vec<f64> = squares[..count].iter().map(root).collect();
    // The first `count` columns of U, those of the right divided by their values.
    let leading: Vec<f64> = u.chunks(l.max(1)).flat_map(|row| row[..count].iter().copied()).collect();
    let (mut left, mut right) = (vec![0.0; n * count], vec![0.0; m * count]);
    product([n, l, count], &q, [l, 1], &leading, &mut left);
    product([m, l, count], &b, [l, 1], &leading, &mut right);
    for (c, value) in values.iter().enumerate() {
        right.iter_mut().skip(c).step_by(count).for_each(|entry| *entry /= value);
        let column = || right.iter().skip(c).step_by(count);
        let size = column().fold(0.0_f64, |size, entry| size.max(entry.abs()));
        // Of entries equal but for rounding the first decides.
        let first = column().find(|entry| entry.abs() >= size * (1.0 - 1e-9)).copied().unwrap_or(0.0);
        if first < 0.0 {
            for side in [&mut left, &mut right] {
                side.iter_mut().skip(c).step_by(count).for_each(|entry| *entry = -*entry);
            }
        }
    }
    for (row, root) in left.chunks_mut(count.max(1)).zip(roots.iter().flatten()) {
        row.iter_mut().for_each(|value| *value = if *root > 0.0 { *value / root } else { 0.0 });
    }
    Components { count, left, values, right }
}

/// Numbers from -1 to 1 without pattern, always the same: SplitMix64 (Steele, Lea and Flood 2014).
fn noise(count: usize) -> Vec<f64> {
    let mut state = 0x0123_4567_89ab_cdef_u64;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / 2_f64.powi(52) - 1.0
    };
    (0..count).map(|_| draw()).collect()
}

/// `B'B`
fn gram_of(b: &[f64], l: usize, gram: &mut [f64]) {
    gram.fill(0.0);
    for row in b.chunks(l.max(1)) {
        for (i, x) in row.iter().enumerate() {
            gram[i * l..=i * l + i].iter_mut().zip(row).for_each(|(g, y)| *g += x * y);
        }
    }
    for i in 0..l {
        for j in 0..i {
            gram[j * l + i] = gram[i * l + j];
        }
    }
}

/// Makes the `l` columns orthonormal by Gram and Schmidt, each orthogonalised twice; a column that depends on those before
/// it becomes 0.
fn orthonormalise(q: &mut [f64], l: usize) {
    if l == 0 {
        return;
    }
    let n = q.len() / l;
    // Columns beside each other in memory.
    let mut columns = vec![0.0; q.len()];
    for (row, values) in q.chunks(l).enumerate() {
        values.iter().enumerate().for_each(|(c, value)| columns[c * n + row] = *value);
    }
    for c in 0..l {
        let (done, rest) = columns.split_at_mut(c * n);
        let own = &mut rest[..n];
        let before = norm(own);
        for _ in 0..2 {
            for other in done.chunks(n) {
                let along: f64 = own.iter().zip(other).map(|(x, y)| x * y).sum();
                own.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
            }
        }
        let after = norm(own);
        let scale = if after > 1e-12 * before { 1.0 / after } else { 0.0 };
        own.iter_mut().for_each(|x| *x *= scale);
    }
    for (row, values) in q.chunks_mut(l).enumerate() {
        values.iter_mut().enumerate().for_each(|(c, value)| *value = columns[c * n + row]);
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Eigenvalues, the largest first, and eigenvectors (the columns of `vectors`) of a symmetric matrix, which is overwritten.
fn eigen(l: usize, a: &mut [f64], values: &mut [f64], vectors: &mut [f64]) {
    let mut v = vec![0.0; l * l];
    (0..l).for_each(|i| v[i * l + i] = 1.0);
    let size: f64 = (0..l).map(|i| a[i * l + i].abs()).sum();
    for _ in 0..60 {
        let off: f64 =
            (0..l).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * l + j].abs()).sum();
        if off <= 1e-15 * size {
            break;
        }
        for p in 0..l {
            for q in p + 1..l {
                rotate(l, a, &mut v, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..l).collect();
    order.sort_by(|i, j| a[j * l + j].total_cmp(&a[i * l + i]));
    for (to, from) in order.into_iter().enumerate() {
        values[to] = a[from * l + from];
        (0..l).for_each(|row| vectors[row * l + to] = v[row * l + from]);
    }
}

/// Jacobi's rotation of rows and columns `p` and `q`, which makes `a_pq` 0.
fn rotate(l: usize, a: &mut [f64], v: &mut [f64], p: usize, q: usize) {
    let between = a[p * l + q];
    if between == 0.0 {
        return;
    }
    let theta = (a[q * l + q] - a[p * l + p]) / (2.0 * between);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let turn = |values: &mut [f64], i: usize, j: usize| {
        let (x, y) = (values[i], values[j]);
        values[i] = cosine * x - sine * y;
        values[j] = sine * x + cosine * y;
    };
    (0..l).for_each(|r| turn(a, r * l + p, r * l + q));
    (0..l).for_each(|r| turn(a, p * l + r, q * l + r));
    (0..l).for_each(|r| turn(v, r * l + p, r * l + q));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with these singular values, and noise vectors on both sides.
    fn matrix(n: usize, m: usize, values: &[f64]) -> Vec<f64> {
        let k = values.len();
        let both = noise((n + m) * k);
        let (mut left, mut right) = (both[..n * k].to_vec(), both[n * k..].to_vec());
        orthonormalise(&mut left, k);
        orthonormalise(&mut right, k);
        let mut a = vec![0.0; n * m];
        for i in 0..n {
            for j in 0..m {
                a[i * m + j] = (0..k).map(|c| left[i * k + c] * values[c] * right[j * k + c]).sum();
            }
        }
        a
    }

    fn dense(n: usize, m: usize, values: &[f64]) -> MatrixView<'_> {
        MatrixView::Dense { rows: n, columns: m, values }
    }

    #[test]
    fn a_matrix_of_known_values_is_taken_apart() {
        for (n, m) in [(60, 40), (40, 60), (7, 5), (5, 7), (30, 3), (1, 4), (4, 1)] {
            let values: Vec<f64> = [9.0, 4.0, 3.5, 1.0, 0.2].into_iter().take(n.min(m)).collect();
            let a = matrix(n, m, &values);
            let found = leading_components(dense(n, m, &a), None, 4);
            let count = values.len().min(4);
            assert_eq!(found.count, count, "{n} x {m}");
            for (c, value) in values.iter().enumerate().take(count) {
                assert!((found.values[c] - value).abs() < 1e-9, "{n} x {m}: {:?}", found.values);
                // A v = s u
                for i in 0..n {
                    let image: f64 = (0..m).map(|j| a[i * m + j] * found.right[j * count + c]).sum();
                    assert!((image - value * found.left[i * count + c]).abs() < 1e-7, "{n} x {m}, {c}");
                }
                let column: Vec<f64> = (0..m).map(|j| found.right[j * count + c]).collect();
                let largest = column.iter().copied().max_by(|x, y| x.abs().total_cmp(&y.abs()));
                assert!(largest.is_some_and(|entry| entry > 0.0));
            }
        }
    }

    #[test]
    fn no_more_components_than_the_rank() {
        let a = matrix(20, 15, &[3.0, 2.0]);
        assert_eq!(leading_components(dense(20, 15, &a), None, 5).count, 2);
        assert_eq!(leading_components(dense(20, 15, &[0.0; 300]), None, 5).count, 0);
        assert_eq!(leading_components(dense(0, 4, &[]), None, 2).count, 0);
        assert_eq!(leading_components(dense(3, 0, &[]), None, 2).count, 0);
    }

    #[test]
    fn listed_entries_less_a_shift_are_the_same_matrix() {
        let (n, m) = (12, 7);
        let full: Vec<f64> = noise(n * m).into_iter().map(|x| if x > 0.3 { x } else { 0.0 }).collect();
        let shift = noise(m);
        let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in full.chunks(m) {
            for (j, x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                places.push(j as u32);
                values.push(*x);
            }
            starts.push(values.len());
        }
        let shifted: Vec<f64> = full.iter().enumerate().map(|(at, x)| x - shift[at % m]).collect();
        let sparse = MatrixView::Sparse {
            rows: n,
            columns: m,
            starts: &starts,
            places: &places,
            values: &values,
            shift: &shift,
        };
        let (one, other) =
            (leading_components(sparse, None, 3), leading_components(dense(n, m, &shifted), None, 3));
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(
            near(&one.values, &other.values)
                && near(&one.left, &other.left)
                && near(&one.right, &other.right)
        );
        for row in 0..n {
            let point = noise(m);
            let of_none = sparse.distance_of_none(&point);
            let gap =
                sparse.distance(row, &point, of_none) - dense(n, m, &shifted).distance(row, &point, 0.0);
            assert!(gap.abs() < 1e-12);
        }
    }

    /// A row that counts twice is two rows, and one that counts 0 times is none.
    #[test]
    fn weights_are_rows_that_stand_several_times() {
        let rows = [[1.0, 2.0], [-3.0, 1.0], [0.5, -2.0], [900.0, 70.0]];
        let weights = [2.0, 1.0, 3.0, 0.0];
        let repeated: Vec<f64> = [0, 0, 1, 2, 2, 2].iter().flat_map(|row: &usize| rows[*row]).collect();
        let whole = leading_components(dense(6, 2, &repeated), None, 2);
        let own = leading_components(dense(4, 2, &rows.concat()), Some(&weights), 2);
        let close = |own: &[f64], other: &[f64]| own.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close(&own.values, &whole.values) && close(&own.right, &whole.right));
        for (row, at) in [(0, 0), (1, 2), (2, 3)] {
            assert!(
                close(&own.left[row * 2..row * 2 + 2], &whole.left[at * 2..at * 2 + 2]),
                "{own:?} {whole:?}"
            );
        }
        assert_eq!(own.left[6..], [0.0, 0.0]);
    }
}
