//! Copies that keep what they have while others of their block move: rows of weight 0, entries that were observed, points whose own
//! statement is greatest where no update leads out.
//!
//! The coefficients of a row of weight w are divided by w: those of a row of weight 0 are infinite, or no numbers, and belong to no
//! distribution. Such a copy is settled by the coefficients of one that moves, and is then put back.

use std::ops::DerefMut;

use cavi_algebra::Support;
use cavi_numerics::Scratch;

use crate::{Batch, Expectation, Extent};

/// Gives the copies of a batch that keep what they have the coefficients of the first that does not, and says which that is. `None`
/// where all keep it. A matrix that rows share stays: it is made from all of them, and where all keep what they have, their other coefficients are 0 beside it.
pub fn lend(
    statistics: &[Expectation],
    (batch, shares): (&Batch, bool),
    is_kept: &dyn Fn(usize) -> bool,
    columns: &mut [impl DerefMut<Target = [f64]>],
) -> Option<usize> {
    let Some(lender) = (0..batch.rows).find(|copy| !is_kept(*copy)) else {
        let rows =
            columns.iter_mut().zip(statistics).filter(|(_, own)| shares && own.extent != Extent::Matrix);
        rows.for_each(|(column, _)| column.fill(0.0));
        return None;
    };
    for (column, own) in columns.iter_mut().zip(statistics) {
        let at = |copy: usize| match own.extent {
            Extent::Scalar => copy..copy + 1,
            Extent::Vector => batch.row(copy),
            Extent::Pairs => batch.pairs(copy),
            Extent::Matrix => batch.matrix(batch.group_of(copy)),
        };
        let lent = Scratch::of(&column[at(lender)]);
        if own.extent == Extent::Matrix && shares || lent.is_empty() {
            continue;
        }
        for copy in (0..batch.rows).filter(|copy| is_kept(*copy)) {
            // Slices over a ragged axis have another length in each group.
            let places = at(copy).zip(lent.iter().cycle());
            places.for_each(|(place, value)| column[place] = *value);
        }
    }
    Some(lender)
}

/// Whether a point may leave these values: on the boundary of its support every factor that it is multiplied by stays 0.
pub fn is_inside(support: Support, values: &[f64]) -> bool {
    match support {
        Support::Positive | Support::Nonnegative | Support::Simplex => {
            values.iter().all(|value| *value > 0.0)
        }
        Support::Unit => values.iter().all(|value| *value > 0.0 && *value < 1.0),
        Support::Real
        | Support::Count
        | Support::Binary
        | Support::Index(_)
        | Support::Multiplicity
        | Support::PositiveDefinite => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cavi_algebra::Statistic;

    #[test]
    fn rows_that_keep_what_they_have_borrow_from_the_first_that_moves() {
        let statistics = [
            Expectation { statistic: Statistic::identity(), extent: Extent::Vector },
            Expectation { statistic: Statistic::square(), extent: Extent::Scalar },
        ];
        let infinite = f64::INFINITY;
        let mut columns = vec![vec![infinite, f64::NAN, 1.0, 2.0, 3.0, 4.0], vec![infinite, -1.0, -2.0]];
        let lender = lend(&statistics, (&Batch::of(3, 2), false), &|copy| copy == 0, &mut columns);
        assert_eq!(lender, Some(1));
        assert_eq!(columns, [vec![1.0, 2.0, 1.0, 2.0, 3.0, 4.0], vec![-1.0, -1.0, -2.0]]);
        assert_eq!(lend(&statistics, (&Batch::of(3, 2), false), &|_| true, &mut columns), None);
        assert_eq!(columns[1], [-1.0, -1.0, -2.0]);
        assert_eq!(lend(&statistics, (&Batch::of(3, 2), true), &|_| true, &mut columns), None);
        assert_eq!(columns, [vec![0.0; 6], vec![0.0; 3]]);
    }

    #[test]
    fn groups_of_another_length_borrow_as_much_as_they_need() {
        let statistics = [Expectation { statistic: Statistic::log(), extent: Extent::Vector }];
        let mut columns = vec![vec![1.0, 2.0, f64::NAN, f64::NAN, f64::NAN]];
        lend(&statistics, (&Batch::cut(1, 5, &[0, 2, 5]), false), &|copy| copy == 1, &mut columns);
        assert_eq!(columns, [vec![1.0, 2.0, 1.0, 2.0, 1.0]]);
    }
}
