//! Clusters of the rows of a matrix: Lloyd's iterations from the seeds of k-means++.
//!
//! Lowers `sum_n min_c |x_n - m_c|^2`, alternately over the assignment and the centres. The first seed is a row drawn at
//! random, each next one a row drawn with probability proportional to its squared distance from the seeds so far. A
//! cluster that loses all its rows takes the row that is farthest from its centre.
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
    /// How many rows each cluster has.
    pub sizes: Vec<usize>,
}

/// Puts the rows into `count` clusters; `draw` gives numbers from 0 up to 1.
pub fn cluster(x: MatrixView<'_>, count: usize, draw: &mut dyn FnMut() -> f64) -> Clusters {
    let (n, width) = (x.rows(), x.columns());
    let mut centres = seeds(x, count, draw);
    let mut of_row = vec![usize::MAX; n];
    let mut sizes = vec![0; count];
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
        sizes = counted(&of_row, count);
        for c in 0..count {
            // Only a cluster of two rows or more can spare one.
            let spare = (0..n).filter(|row| sizes[of_row[*row]] > 1 && away[*row] > 0.0);
            if sizes[c] == 0
                && let Some(row) = spare.reduce(|best, row| if away[row] > away[best] { row } else { best })
            {
                sizes[of_row[row]] -= 1;
                (of_row[row], away[row], sizes[c]) = (c, 0.0, 1);
            }
        }
        means(x, &of_row, &sizes, &mut centres);
    }
    Clusters { of_row, centres, sizes }
}

fn counted(of_row: &[usize], count: usize) -> Vec<usize> {
    let mut sizes = vec![0; count];
    of_row.iter().for_each(|c| sizes[*c] += 1);
    sizes
}

/// Rows far from each other.
fn seeds(x: MatrixView<'_>, count: usize, draw: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let (n, width) = (x.rows(), x.columns());
    let mut centres = vec![0.0; count * width];
    let mut away = vec![1.0; n];
    for c in 0..if n == 0 { 0 } else { count } {
        let total: f64 = away.iter().sum();
        let mut left = draw() * if total > 0.0 { total } else { n as f64 };
        let mut chosen = n - 1;
        for (row, own) in away.iter().enumerate() {
            // Where all rows are seeds already, any will do.
            left -= if total > 0.0 { *own } else { 1.0 };
            if left < 0.0 {
                chosen = row;
                break;
            }
        }
        let centre = &mut centres[c * width..(c + 1) * width];
        x.add_row(chosen, centre);
        x.subtract(1, centre);
        let of_none = x.distance_of_none(centre);
        for (row, own) in away.iter_mut().enumerate() {
            let distance = x.distance(row, centre, of_none);
            *own = if c == 0 { distance } else { own.min(distance) };
        }
    }
    centres
}

fn means(x: MatrixView<'_>, of_row: &[usize], sizes: &[usize], centres: &mut [f64]) {
    let width = x.columns();
    centres.fill(0.0);
    let mut all = vec![0.0; width];
    for (row, c) in of_row.iter().enumerate() {
        x.add_row(row, &mut centres[c * width..(c + 1) * width]);
        x.add_row(row, &mut all);
    }
    sizes
        .iter()
        .enumerate()
        .for_each(|(c, size)| x.subtract(*size, &mut centres[c * width..(c + 1) * width]));
    x.subtract(of_row.len(), &mut all);
    for (c, size) in sizes.iter().enumerate() {
        let centre = &mut centres[c * width..(c + 1) * width];
        match size {
            0 => centre.iter_mut().zip(&all).for_each(|(own, all)| *own = all / of_row.len().max(1) as f64),
            size => centre.iter_mut().for_each(|own| *own /= *size as f64),
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
        let found = cluster(x, 4, &mut draw);
        assert_eq!(found.sizes, [15; 4]);
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
        let (own, other) = (cluster(sparse, 4, &mut draws()), cluster(dense, 4, &mut draws()));
        assert_eq!(own.of_row, other.of_row);
        let gap = own.centres.iter().zip(&other.centres).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-12, "{gap}");
    }

    #[test]
    fn more_clusters_than_distinct_rows() {
        let mut draw = draws();
        let x = MatrixView::Dense { rows: 4, columns: 1, values: &[1.0, 1.0, 5.0, 1.0] };
        let found = cluster(x, 3, &mut draw);
        assert_eq!(found.of_row[0], found.of_row[1]);
        assert_ne!(found.of_row[0], found.of_row[2]);
        assert!(found.centres.iter().all(|centre| [1.0, 2.0, 5.0].contains(centre)), "{:?}", found.centres);
        let nothing = MatrixView::Dense { rows: 0, columns: 2, values: &[] };
        assert_eq!(cluster(nothing, 2, &mut draw).centres, [0.0; 4]);
    }
}
