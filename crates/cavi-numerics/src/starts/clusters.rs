//! Clusters of the rows of a matrix: Lloyd's iterations from the seeds of k-means++.
//!
//! Lowers `sum_n w_n min_c |x_n - m_c|^2`, alternately over the assignment and the centres, for rows that count `w_n` times. The first seed is a
//! row drawn with probability proportional to its weight, each next one with probability proportional to its weight times its squared distance
//! from the seeds so far. A cluster that loses all its rows takes the row that is farthest from its centre. A row of weight 0 belongs to the
//! nearest centre, and moves none.
//!
//! # Source
//! D. Arthur and S. Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA 18. S. Lloyd (1982).

use super::matrix::MatrixView;

/// At most so many of Lloyd's iterations.
const ITERATIONS: usize = 100;

/// Rows in clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster of each row.
    pub of_row: Vec<usize>,
    /// The mean of each cluster's rows: clusters by columns, row-major. A cluster without a row has the mean of all.
    pub centres: Vec<f64>,
    /// The weight of each cluster's rows: their number, where each counts once.
    pub sizes: Vec<f64>,
}

/// Puts the rows into `count` clusters; `weights` says how often each row counts, `draw` gives numbers from 0 up to 1.
///
/// # Panics
/// If there is not one weight for each row.
pub fn cluster(x: MatrixView<'_>, weights: &[f64], count: usize, draw: &mut dyn FnMut() -> f64) -> Clusters {
    let (n, width) = (x.rows(), x.columns());
    assert_eq!(weights.len(), n, "a weight for each row");
    let mut centres = seeds(x, weights, count, draw);
    let mut of_row = vec![usize::MAX; n];
    let mut sizes = vec![0.0; count];
    for _ in 0..ITERATIONS {
        let mut away = vec![0.0; n];
        let mut moved = false;
        let centre = |c: usize| &centres[c * width..(c + 1) * width];
        let of_none: Vec<f64> = (0..count).map(|c| x.distance_of_none(centre(c))).collect();
        for row in 0..n {
            let mut nearest = (f64::INFINITY, 0);
            for (c, of_none) in of_none.iter().enumerate() {
                let distance = x.distance(row, centre(c), *of_none);
                if distance < nearest.0 {
                    nearest = (distance, c);
                }
            }
            moved |= of_row[row] != nearest.1;
            (away[row], of_row[row]) = nearest;
        }
        if !moved {
            break;
        }
        let mut counts = counted(weights, &of_row, count);
        for c in 0..count {
            // Only a cluster of two rows or more can spare one.
            let spare =
                (0..n).filter(|row| weights[*row] > 0.0 && counts[of_row[*row]] > 1 && away[*row] > 0.0);
            if counts[c] == 0
                && let Some(row) = spare.reduce(|best, row| if away[row] > away[best] { row } else { best })
            {
                counts[of_row[row]] -= 1;
                (of_row[row], away[row], counts[c]) = (c, 0.0, 1);
            }
        }
        sizes.fill(0.0);
        of_row.iter().zip(weights).for_each(|(c, weight)| sizes[*c] += weight);
        means(x, weights, &of_row, &sizes, &mut centres);
    }
    Clusters { of_row, centres, sizes }
}

/// How many rows with a weight each cluster has.
fn counted(weights: &[f64], of_row: &[usize], count: usize) -> Vec<usize> {
    let mut counts = vec![0; count];
    of_row.iter().zip(weights).for_each(|(c, weight)| counts[*c] += usize::from(*weight > 0.0));
    counts
}

/// Rows far from each other.
fn seeds(x: MatrixView<'_>, weights: &[f64], count: usize, draw: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let (n, width) = (x.rows(), x.columns());
    let mut centres = vec![0.0; count * width];
    let mut away = vec![1.0; n];
    let weight: f64 = weights.iter().sum();
    // Where no row counts there is nothing to begin from.
    for c in 0..if weight > 0.0 { count } else { 0 } {
        let total: f64 = away.iter().zip(weights).map(|(away, weight)| away * weight).sum();
        let mut left = draw() * if total > 0.0 { total } else { weight };
        let mut chosen = (0..n).rfind(|row| weights[*row] > 0.0).unwrap_or(0);
        for (row, (own, weight)) in away.iter().zip(weights).enumerate() {
            // Where all rows are seeds already, any will do.
            left -= if total > 0.0 { *own * weight } else { *weight };
            if left < 0.0 {
                chosen = row;
                break;
            }
        }
        let centre = &mut centres[c * width..(c + 1) * width];
        x.add_row(chosen, 1.0, centre);
        x.subtract(1.0, centre);
        let of_none = x.distance_of_none(centre);
        for (row, own) in away.iter_mut().enumerate() {
            let distance = x.distance(row, centre, of_none);
            *own = if c == 0 { distance } else { own.min(distance) };
        }
    }
    centres
}

fn means(x: MatrixView<'_>, weights: &[f64], of_row: &[usize], sizes: &[f64], centres: &mut [f64]) {
    let width = x.columns();
    centres.fill(0.0);
    let mut all = vec![0.0; width];
    for (row, (c, weight)) in of_row.iter().zip(weights).enumerate() {
        x.add_row(row, *weight, &mut centres[c * width..(c + 1) * width]);
        x.add_row(row, *weight, &mut all);
    }
    sizes
        .iter()
        .enumerate()
        .for_each(|(c, size)| x.subtract(*size, &mut centres[c * width..(c + 1) * width]));
    let total: f64 = sizes.iter().sum();
    x.subtract(total, &mut all);
    for (c, size) in sizes.iter().enumerate() {
        let centre = &mut centres[c * width..(c + 1) * width];
        if *size > 0.0 {
            centre.iter_mut().for_each(|own| *own /= *size);
        } else {
            let of = if total > 0.0 { total } else { 1.0 };
            centre.iter_mut().zip(&all).for_each(|(own, all)| *own = all / of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 0 up to 1 without pattern.
    fn draws() -> impl FnMut() -> f64 {
        let mut state = 7_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 2_f64.powi(53)
        }
    }

    #[test]
    fn clusters_far_apart_are_found() {
        let mut draw = draws();
        let values: Vec<f64> = (0..60)
            .flat_map(|row| [f64::from(row % 4) * 10.0 + draw(), f64::from(row % 2) * 7.0 + draw()])
            .collect();
        let x = MatrixView::Dense { rows: 60, columns: 2, values: &values };
        let found = cluster(x, &[1.0; 60], 4, &mut draw);
        assert_eq!(found.sizes, [15.0; 4]);
        for row in 0..60 {
            assert_eq!(found.of_row[row], found.of_row[row % 4]);
            let centre = &found.centres[found.of_row[row] * 2..][..2];
            assert!(x.distance(row, centre, x.distance_of_none(centre)) < 2.0);
        }
    }

    /// Listed entries less a number for each column are the same rows as the matrix that they stand for.
    #[test]
    fn listed_entries_cluster_as_the_matrix_does() {
        let mut draw = draws();
        let (n, width) = (40, 6);
        let listed: Vec<f64> = (0..n * width).map(|_| (draw() * 4.0 - 2.0).max(0.0)).collect();
        let shift: Vec<f64> = (0..width).map(|_| draw()).collect();
        let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for number in 0..n {
            for column in (0..width).filter(|column| listed[number * width + column] != 0.0) {
                places.push(column as u32);
                values.push(listed[number * width + column]);
            }
            starts.push(places.len());
        }
        let whole: Vec<f64> = listed.iter().enumerate().map(|(at, own)| own - shift[at % width]).collect();
        let sparse = MatrixView::Sparse {
            rows: n,
            columns: width,
            starts: &starts,
            places: &places,
            values: &values,
            shift: &shift,
        };
        let dense = MatrixView::Dense { rows: n, columns: width, values: &whole };
        // Rows that count several times, once, and not at all.
        let weights: Vec<f64> = (0..n).map(|row| (row % 3) as f64).collect();
        let (own, other) =
            (cluster(sparse, &weights, 4, &mut draws()), cluster(dense, &weights, 4, &mut draws()));
        assert_eq!(own.of_row, other.of_row);
        let gap = own.centres.iter().zip(&other.centres).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-12, "{gap}");
    }

    #[test]
    fn more_clusters_than_distinct_rows() {
        let mut draw = draws();
        let x = MatrixView::Dense { rows: 4, columns: 1, values: &[1.0, 1.0, 5.0, 1.0] };
        let found = cluster(x, &[1.0; 4], 3, &mut draw);
        assert_eq!(found.of_row[0], found.of_row[1]);
        assert_ne!(found.of_row[0], found.of_row[2]);
        assert!(found.centres.iter().all(|centre| [1.0, 2.0, 5.0].contains(centre)), "{:?}", found.centres);
        let nothing = MatrixView::Dense { rows: 0, columns: 2, values: &[] };
        assert_eq!(cluster(nothing, &[], 2, &mut draw).centres, [0.0; 4]);
    }

    /// A row that counts twice is two rows, and one that counts 0 times is none.
    #[test]
    fn weights_are_rows_that_stand_several_times() {
        let values = [0.0, 0.25, 6.0, 6.5, 1000.0];
        let x = MatrixView::Dense { rows: 5, columns: 1, values: &values };
        let mut centres = cluster(x, &[3.0, 1.0, 1.0, 1.0, 0.0], 2, &mut draws()).centres;
        centres.sort_by(f64::total_cmp);
        assert_eq!(centres, [0.0625, 6.25]);
    }
}
