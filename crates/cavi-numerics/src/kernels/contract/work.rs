//! What a contraction would do, counted without doing it.

use super::problem::Problem;
use super::{Letters, Operand, Operands, Output, Step, nest, product, split};

/// Counts of the operations of [`contract`](super::contract), by kind of loop. The counts of all chunks add up to
/// those of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Calls of a kernel: matrix products in outer loops, or one nest of loops.
    pub calls: f64,
    /// Multiply-adds of matrix products that pack both sides.
    pub packed: f64,
    /// Multiply-adds of matrix products with a narrow side, which is padded to whole vectors.
    pub narrow: f64,
    /// Elements of narrow sides, and of outputs, that products copy or add one by one.
    pub copied: f64,
    /// Runs of an innermost loop over contiguous values, times the arrays whose offset each looks up.
    pub rows: f64,
    /// Values that contiguous loops read or add to.
    pub values: f64,
    /// Values that are read or written one by one, at strides.
    pub gathered: f64,
    /// The same through tables.
    pub looked_up: f64,
    /// Into how many tasks it is cut.
    pub tasks: usize,
    /// The values that tasks keep apart and add in the end.
    pub apart: usize,
    /// The values that each task works in.
    pub desk: usize,
}

/// What a contraction of these sizes and steps would do. Each operand has a number that says which array it is; arrays
/// themselves are not read.
pub fn work(sizes: &[usize], operands: &[(usize, Letters<Step>)], output: Letters<Step>) -> Work {
    if sizes.contains(&0) {
        return Work::default();
    }
    let most = operands.iter().map(|(array, _)| *array).max().unwrap_or(0);
    let places = vec![1.0; most + 1];
    let arrays: Operands<Operand> = operands
        .iter()
        .map(|(array, steps)| Operand {
            values: &places[*array..=*array],
            steps: steps.iter().copied().collect(),
        })
        .collect();
    let mut out = [0.0];
    let output = Output { values: &mut out, steps: output.iter().copied().collect() };
    let problem = Problem::reading(sizes, 1.0, &arrays, output, |_| 1.0);
    let mut work = product::work(&problem).unwrap_or_else(|| nest::work(&problem));
    let (tasks, apart) = split::tasks(&problem);
    work.tasks = tasks;
    (work.apart, work.desk) = (apart, product::desk(&problem));
    work.values += 2.0 * apart as f64;
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strides(own: &[usize]) -> Letters<Step<'static>> {
        own.iter().map(|stride| Step::Stride(*stride)).collect()
    }

    #[test]
    fn each_way_counts_its_own() {
        // Letters i, j, k.
        let product = |[i, j, k]: [usize; 3]| {
            work(&[i, j, k], &[(0, strides(&[k, 0, 1])), (1, strides(&[0, 1, j]))], strides(&[j, 1, 0]))
        };
        let large = product([200, 100, 300]);
        assert_eq!((large.packed, large.narrow, large.calls), (6e6, 0.0, 1.0));
        let narrow = product([200, 9, 300]);
        assert_eq!((narrow.packed, narrow.narrow), (0.0, 200.0 * 16.0 * 300.0));
        let small = product([10, 10, 10]);
        assert_eq!((small.packed, small.narrow, small.rows, small.values), (0.0, 0.0, 300.0, 2000.0));
        // A column, read through a table.
        let table: Vec<u32> = (0..50).rev().collect();
        let steps = Letters::from_slice(&[Step::Table { table: &table, scale: 2 }]);
        let looked_up = work(&[50], &[(0, steps)], strides(&[1]));
        assert_eq!((looked_up.looked_up, looked_up.gathered, looked_up.rows), (50.0, 50.0, 2.0));
        assert_eq!(work(&[0], &[], strides(&[1])), Work::default());
    }

    #[test]
    fn the_same_array_twice_is_half_the_work() {
        let twice = |second: usize, extra: usize| {
            let [left, right, weights, also] =
                [[0, 1, 0, 20], [0, 0, 1, 20], [1, 0, 0, 30], [0, 0, 0, 1]].map(|own| strides(&own));
            let operands = [(0, left), (second, right), (2, weights), (3, also)];
            work(&[30, 20, 20, 300], &operands[..3 + extra], strides(&[400, 20, 1, 0]))
        };
        assert_eq!(2.0 * twice(0, 1).narrow, twice(1, 1).narrow);
        // Second moments for many weights: each pair once.
        assert_eq!(twice(0, 0).narrow, 300.0 * 210.0 * 32.0);
    }
}
