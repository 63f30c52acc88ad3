//! The assignment of rows to columns of the greatest total weight.
//!
//! # Source
//! Kuhn (1955), The Hungarian method for the assignment problem, with the shortest augmenting paths of Jonker and Volgenant (1987): one
//! path for each row, O(rows^2 columns) in all.

/// For each row the column that it is assigned to, so that the sum of their weights is greatest; no column twice. `weights` is in C
/// order. A weight that is no number, or minus infinity, is less than every other, and infinity is more than every other: as few of the first
/// are taken as can be, and as many of the last. With fewer columns than rows some rows have none.
///
/// # Panics
/// If there are not `rows * columns` weights.
pub fn assignment(weights: &[f64], rows: usize, columns: usize) -> Vec<Option<usize>> {
    assert_eq!(weights.len(), rows * columns, "a weight for each pair");
    if weights.iter().any(|own| !own.is_finite()) {
        return assignment(&finite(weights, rows.min(columns)), rows, columns);
    }
    if rows > columns {
        let turned: Vec<f64> =
            (0..columns).flat_map(|j| (0..rows).map(move |i| weights[i * columns + j])).collect();
        let mut of_rows = vec![None; rows];
        for (column, row) in assignment(&turned, columns, rows).into_iter().enumerate() {
            if let Some(row) = row {
                of_rows[row] = Some(column);
            }
        }
        return of_rows;
    }
    // Costs are the weights with the opposite sign; places count from 1, and 0 stands for none. `potential` holds
    // dual variables, with cost[i][j] >= row[i] + column[j] and equality on what is assigned.
    let mut row_potential = vec![0.0; rows + 1];
    let mut column_potential = vec![0.0; columns + 1];
    let mut row_of = vec![0_usize; columns + 1];
    for row in 1..=rows {
        row_of[0] = row;
        let mut least = vec![f64::INFINITY; columns + 1];
        let mut before = vec![0_usize; columns + 1];
        let mut used = vec![false; columns + 1];
        let mut column = 0;
        while row_of[column] != 0 {
            used[column] = true;
            let (own, mut step, mut next) = (row_of[column], f64::INFINITY, 0);
            for other in 1..=columns {
                if used[other] {
                    continue;
                }
                let cost = -weights[(own - 1) * columns + other - 1];
                let reduced = cost - row_potential[own] - column_potential[other];
                if reduced < least[other] {
                    (least[other], before[other]) = (reduced, column);
                }
                if least[other] < step {
                    (step, next) = (least[other], other);
                }
            }
            for other in 0..=columns {
                if used[other] {
                    row_potential[row_of[other]] += step;
                    column_potential[other] -= step;
                } else {
                    least[other] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[before[column]];
            column = before[column];
        }
    }
    let mut found = vec![None; rows];
    for (column, row) in row_of.iter().enumerate().skip(1) {
        if *row > 0 {
            found[row - 1] = Some(column - 1);
        }
    }
    found
}

/// The weights with finite ones in the place of those that are not. One of `count` pairs for another changes the total of the rest by at most
/// `count` times the distance of the greatest finite weight from the least, so that a number that far below and above decides first.
fn finite(weights: &[f64], count: usize) -> Vec<f64> {
    let known = || weights.iter().copied().filter(|own| own.is_finite());
    let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    // Beyond these bounds sums of costs overflow.
    let (least, most) = if least <= most { (least.max(-1e100), most.min(1e100)) } else { (0.0, 0.0) };
    let far = (count as f64 + 1.0) * (most - least + 1.0);
    let own = |weight: &f64| match *weight {
        own if own.is_finite() => own.clamp(least, most),
        f64::INFINITY => most + far,
        _ => least - far,
    };
    weights.iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::assignment;

    #[test]
    fn what_is_no_number_is_taken_last_and_infinity_first() {
        let nan = f64::NAN;
        // Without the pairs that are no numbers there is one assignment.
        assert_eq!(assignment(&[nan, 0.0, 0.0, nan], 2, 2), [Some(1), Some(0)]);
        assert_eq!(assignment(&[nan, 1.0, 2.0, 0.5, nan, 9.0], 2, 3), [Some(1), Some(2)]);
        assert_eq!(assignment(&[nan, 0.5, 1.0, nan, 2.0, 9.0], 3, 2), [None, Some(0), Some(1)]);
        assert_eq!(assignment(&[f64::NEG_INFINITY, 0.0, 7.0, 100.0], 2, 2), [Some(1), Some(0)]);
        assert_eq!(assignment(&[f64::INFINITY, 100.0, 100.0, -7.0], 2, 2), [Some(0), Some(1)]);
        // Where all are no numbers, each row still has a column.
        let mut all: Vec<usize> = assignment(&[nan; 9], 3, 3).into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
    }

    /// The greatest total over all assignments, one by one.
    fn best(weights: &[f64], rows: usize, columns: usize, row: usize, used: &mut Vec<bool>) -> f64 {
        if row == rows {
            return 0.0;
        }
        // A row may stay without a column only where there are too few.
        let mut most =
            if rows > columns { best(weights, rows, columns, row + 1, used) } else { f64::NEG_INFINITY };
        for column in 0..columns {
            if !used[column] {
                used[column] = true;
                most =
                    most.max(weights[row * columns + column] + best(weights, rows, columns, row + 1, used));
                used[column] = false;
            }
        }
        most
    }

    #[test]
    fn it_is_the_best_of_all() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 24)
        };
        for (rows, columns) in [(1, 1), (3, 3), (5, 5), (2, 6), (6, 2), (4, 5), (0, 3), (3, 0)] {
            let weights: Vec<f64> = (0..rows * columns).map(|_| random()).collect();
            let found = assignment(&weights, rows, columns);
            let mut seen: Vec<usize> = found.iter().flatten().copied().collect();
            let total: f64 =
                found.iter().enumerate().filter_map(|(i, j)| Some(weights[i * columns + (*j)?])).sum();
            assert_eq!(seen.len(), rows.min(columns));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), rows.min(columns), "a column twice");
            let expected = best(&weights, rows, columns, 0, &mut vec![false; columns]);
            assert!((total - expected).abs() < 1e-12, "{rows} x {columns}: {total}, not {expected}");
        }
    }
}
