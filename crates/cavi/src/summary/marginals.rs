//! The distributions of single numbers, by the parameters of the factor of their variable alone.

use cavi_families::marginal::Marginal;
use cavi_files::DenseArray;

use super::cells::Cells;
use crate::error::Error;

/// The distributions of single numbers, in declared order: an element of a slice of Normals has its variance on the diagonal of their
/// covariance, and one of a Dirichlet is a Beta of its concentration and of the sum of those of the others in its slice. `None` where the
/// parameters are those of no such factor.
///
/// # Errors
/// A parameter that cannot be read.
pub(super) fn marginals_of(
    mean: &DenseArray,
    cells: &Cells,
    array: &dyn Fn(&str) -> Result<Option<DenseArray>, Error>,
) -> Result<Option<Vec<Marginal>>, Error> {
    let read = |parameter: &str| -> Result<Option<Vec<f64>>, Error> {
        Ok(array(parameter)?.filter(|own| own.shape == mean.shape).map(|own| own.values))
    };
    // Of what is held, or was observed, a parameter is infinite: it is a point.
    let both = |one: &[f64], other: &[f64], of: &dyn Fn(f64, f64) -> Marginal| -> Option<Vec<Marginal>> {
        let each = one.iter().zip(other).zip(&mean.values);
        let marginal =
            |((one, other), mean): ((&f64, &f64), &f64)| match one.is_infinite() || other.is_infinite() {
                true => Marginal::Normal { mean: *mean, var: 0.0 },
                false => of(*one, *other),
            };
        Some(each.map(marginal).collect())
    };
    if let (Some(linear), Some(prec)) = (read("linear")?, read("prec")?) {
        return Ok(both(&linear, &prec, &|linear, prec| Marginal::TruncatedNormal { linear, prec }));
    }
    let normal =
        |variances: Vec<f64>| both(&mean.values, &variances, &|mean, var| Marginal::Normal { mean, var });
    // Of an order p there are three parameters, and the quantiles of that factor are not known.
    if read("p")?.is_some() {
        return Ok(None);
    }
    if let Some(variances) = read("var")? {
        return Ok(normal(variances));
    }
    if let Some(covariance) = array("cov")? {
        return Ok(diagonal(&covariance, cells).and_then(normal));
    }
    if let (Some(shape), Some(rate)) = (read("shape")?, read("rate")?) {
        return Ok(both(&shape, &rate, &|shape, rate| Marginal::Gamma { shape, rate }));
    }
    if let (Some(shape), Some(scale)) = (read("shape")?, read("scale")?) {
        return Ok(both(&shape, &scale, &|shape, scale| Marginal::InverseGamma { shape, scale }));
    }
    if let (Some(a), Some(b)) = (read("a")?, read("b")?) {
        return Ok(both(&a, &b, &|a, b| Marginal::Beta { a, b }));
    }
    if let Some(concentration) = read("concentration")? {
        let Some(others) = sums_of_others(&concentration, cells) else { return Ok(None) };
        let of = |a: f64, b: f64| match b {
            // One class alone has all probability.
            0.0 => Marginal::Normal { mean: 1.0, var: 0.0 },
            b => Marginal::Beta { a, b },
        };
        return Ok(both(&concentration, &others, &of));
    }
    Ok(None)
}

/// The diagonals of covariances of rows, in declared order: these stand behind the plates, with length 1 along a plate whose rows share one. `None`
/// where the file is not laid out so.
fn diagonal(covariance: &DenseArray, cells: &Cells) -> Option<Vec<f64>> {
    let (plates, n) = (cells.plates(), cells.width());
    let (outer, inner) = covariance.shape.split_at_checked(plates.len())?;
    let fits = |(own, full): (&usize, &usize)| own == full || *own == 1;
    if inner != [n, n] || !outer.iter().zip(&plates).all(fits) {
        return None;
    }
    let shared = |row: usize| {
        let (mut rest, mut place, mut stride) = (row, 0, 1);
        for (full, own) in plates.iter().zip(outer).rev() {
            place += (rest % full.max(&1)).min(own.saturating_sub(1)) * stride;
            rest /= full.max(&1);
            stride *= own;
        }
        place
    };
    let of = |cell: usize| {
        let element = cells.element(cell);
        covariance.values.get((shared(cells.row(cell)) * n + element) * n + element).copied()
    };
    (0..cells.count()).map(of).collect()
}

/// For each number the sum of the others of its row, without a difference, which loses the digits of a small one.
fn sums_of_others(values: &[f64], cells: &Cells) -> Option<Vec<f64>> {
    let rows = cells.by_row(values)?;
    let width = cells.width().max(1);
    let mut others = vec![0.0; rows.len()];
    for (row, own) in rows.chunks(width).zip(others.chunks_mut(width)) {
        let mut before = 0.0;
        for (other, value) in own.iter_mut().zip(row) {
            *other = before;
            before += value;
        }
        let mut behind = 0.0;
        for (other, value) in own.iter_mut().zip(row).rev() {
            *other += behind;
            behind += value;
        }
    }
    Some((0..values.len()).map(|cell| others[cells.row(cell) * width + cells.element(cell)]).collect())
}

#[cfg(test)]
mod tests {
    use cavi_algebra::LetterId;
    use cavi_files::DenseArray;

    use super::{Cells, diagonal, sums_of_others};

    #[test]
    fn diagonals_stand_where_their_elements_do() {
        let letters: Vec<LetterId> = (0..2).map(LetterId::from).collect();
        // w[:j, k], 2 x 2: the rows are k, the elements j.
        let cells = Cells::new(&letters, &[2, 2], &letters[..1]);
        let own = DenseArray { shape: vec![2, 2, 2], values: vec![1.0, 9.0, 9.0, 2.0, 3.0, 9.0, 9.0, 4.0] };
        assert_eq!(diagonal(&own, &cells), Some(vec![1.0, 3.0, 2.0, 4.0]));
        // One covariance for both rows.
        let own = DenseArray { shape: vec![1, 2, 2], values: vec![1.0, 9.0, 9.0, 2.0] };
        assert_eq!(diagonal(&own, &cells), Some(vec![1.0, 1.0, 2.0, 2.0]));
        assert_eq!(diagonal(&own, &Cells::new(&letters, &[3, 2], &letters[..1])), None);
    }

    #[test]
    fn a_small_number_beside_a_large_one_keeps_its_digits() {
        let letter = [LetterId::from(0)];
        let of = |values: &[f64]| sums_of_others(values, &Cells::new(&letter, &[values.len()], &letter));
        let sums = of(&[1e9, 1e-9, 2e-9]).expect("the shape is that of the values");
        assert!((sums[0] / 3e-9 - 1.0).abs() < 1e-15, "{}", sums[0]);
        assert_eq!(sums[1..], [1e9 + 2e-9, 1e9 + 1e-9]);
        assert_eq!(of(&[3.0]), Some(vec![0.0]));
    }
}
