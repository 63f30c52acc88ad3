//! The distributions of single numbers of joint factors of q, from the files of all members.
//!
//! # Derivation
//! With `mu | tau ~ Normal(m, prec = kappa tau)` and `tau ~ Gamma(a, rate b)`, mu is a Student variable with `2 a` degrees of freedom
//! about m, of the squared scale `b / (a kappa)`; over a slice, with a matrix K in place of kappa, an element has
//! `b / a (K^-1)_ii`. With `L ~ Wishart(nu, W)` of size n in place of tau it has `nu - n + 1` degrees of freedom and the squared scale
//! `(W^-1)_ii / (kappa (nu - n + 1))`. An element `L_ij` has the mean `nu W_ij` and the variance `nu (W_ij^2 + W_ii W_jj)`; on the diagonal
//! it is a Gamma of shape `nu / 2` and rate `1 / (2 W_ii)`. A weight with a switch of probability p is a mixture of two Normals.
//!
//! # Source
//! Bernardo and Smith, Bayesian Theory (1994), appendix A.

use cavi_algebra::{ArrayId, AxisId, LetterId, Support};
use cavi_families::marginal::Marginal;
use cavi_files::DenseArray;
use cavi_numerics::linalg;

use super::cells::Cells;
use super::{Reader, numbers_groups};
use crate::error::Error;

/// The distributions of the numbers of a member of a joint factor, or of a matrix; `None` of any other variable, and where the files are
/// not laid out as a fit writes them.
///
/// # Errors
/// A parameter that cannot be read.
pub(super) fn marginals(
    reader: &Reader<'_>,
    (id, name): (ArrayId, &str),
    inner: &[AxisId],
    group: Option<&[String]>,
    mean: &DenseArray,
    own: &Cells,
) -> Result<Option<Vec<Marginal>>, Error> {
    let model = reader.model;
    let symbols = &model.symbols;
    let read = |name: &str, parameter: &str| reader.array(name, parameter, group);
    let joint = model.blocks.iter().enumerate().find_map(|(number, block)| {
        let place = block.members.iter().position(|member| *member == id)?;
        (block.members.len() == 2).then_some((number, place))
    });
    if symbols.array(id).support == Support::PositiveDefinite {
        let (Some(dof), Some(scale)) = (read(name, "dof")?, read(name, "scale")?) else { return Ok(None) };
        return Ok(elements_of_wishart(own, &dof, &scale));
    }
    let Some((number, place)) = joint else { return Ok(None) };
    let partner = model.blocks[number].members[1 - place];
    let plates = &model.block_plates[number];
    let rows = rows_of(own, reader, partner, inner, [&plates[place], &plates[1 - place]]);
    let theirs = &symbols.array(partner).name;
    if symbols.array(id).support != Support::Real {
        return Ok(None);
    }
    if let (Some(mean0), Some(var0), Some(mean1), Some(var1), Some(prob)) = (
        read(name, "mean0")?,
        read(name, "var0")?,
        read(name, "mean1")?,
        read(name, "var1")?,
        read(theirs, "prob")?,
    ) {
        let of = |cell: usize| {
            let at = |array: &DenseArray| array.values.get(cell).copied();
            Some(Marginal::Mixture {
                prob: *prob.values.get(*rows.get(cell)?)?,
                means: [at(&mean0)?, at(&mean1)?],
                vars: [at(&var0)?, at(&var1)?],
            })
        };
        return Ok((0..mean.values.len()).map(of).collect());
    }
    let Some(kappa) = read(name, "kappa")? else { return Ok(None) };
    if let (Some(shape), Some(rate)) = (read(theirs, "shape")?, read(theirs, "rate")?) {
        let inverses = match own.n_slices() {
            0 => None,
            // The matrix of a row stands behind the plates.
            _ => {
                let Some(all) = inverse_diagonals(own.width(), &kappa.values) else { return Ok(None) };
                Some(all)
            }
        };
        let of = |cell: usize| {
            let row = own.row(cell);
            let their = *rows.get(row)?;
            let (a, b) = (*shape.values.get(their)?, *rate.values.get(their)?);
            let spread = match &inverses {
                None => kappa.values.get(cell)?.recip(),
                Some(inverses) => *inverses.get(row * own.width() + own.element(cell))?,
            };
            Some(Marginal::Student { location: mean.values[cell], square: b / a * spread, dof: 2.0 * a })
        };
        return Ok((0..mean.values.len()).map(of).collect());
    }
    if let (Some(dof), Some(scale)) = (read(theirs, "dof")?, read(theirs, "scale")?) {
        let matrix = reader.cells(partner, inner, &scale.shape);
        let inverses =
            matrix.by_row(&scale.values).and_then(|matrices| inverse_diagonals(own.width(), &matrices));
        let Some(inverses) = inverses else { return Ok(None) };
        let of = |cell: usize| {
            let row = own.row(cell);
            let their = *rows.get(row)?;
            let left = dof.values.get(their)? - own.width() as f64 + 1.0;
            let spread = inverses.get(their * own.width() + own.element(cell))?;
            let square = spread / (kappa.values.get(row)? * left);
            Some(Marginal::Student { location: mean.values[cell], square, dof: left })
        };
        return Ok((0..mean.values.len()).map(of).collect());
    }
    Ok(None)
}

/// For each row of a variable that of another member, whose plates are called `plates[1]` where its own are `plates[0]`.
fn rows_of(
    own: &Cells,
    reader: &Reader<'_>,
    partner: ArrayId,
    inner: &[AxisId],
    plates: [&Vec<LetterId>; 2],
) -> Vec<usize> {
    let own = own.plate_letters();
    let called = |letter: LetterId| {
        let place = plates[0].iter().position(|own| *own == letter);
        place.and_then(|place| plates[1].get(place).copied()).unwrap_or(letter)
    };
    let theirs: Vec<usize> = letters_of(reader, partner, inner)
        .into_iter()
        .filter_map(|letter| own.iter().position(|(own, _)| called(*own) == letter))
        .collect();
    let count: usize = own.iter().map(|(_, size)| size).product();
    let row = |row: usize| {
        let mut rest = row;
        let mut at = vec![0; own.len()];
        for (at, (_, size)) in at.iter_mut().zip(&own).rev() {
            *at = rest % (*size).max(1);
            rest /= (*size).max(1);
        }
        theirs.iter().fold(0, |place, dimension| place * own[*dimension].1 + at[*dimension])
    };
    (0..count).map(row).collect()
}

/// The diagonals of the inverses of matrices of size n that stand one after another; `None` where one has none.
fn inverse_diagonals(n: usize, matrices: &[f64]) -> Option<Vec<f64>> {
    let mut diagonals = Vec::with_capacity(matrices.len() / n.max(1));
    for matrix in matrices.chunks(n * n).filter(|own| !own.is_empty()) {
        let mut factor = matrix.to_vec();
        linalg::cholesky(n, &mut factor).ok()?;
        let mut inverse = vec![0.0; n * n];
        linalg::inverse(n, &factor, &mut inverse);
        diagonals.extend((0..n).map(|place| inverse[place * n + place]));
    }
    Some(diagonals)
}

/// The letters of the dimensions of the files of a variable: those of groups are left out.
pub(super) fn letters_of(reader: &Reader<'_>, id: ArrayId, inner: &[AxisId]) -> Vec<LetterId> {
    let symbols = &reader.model.symbols;
    let above = |letter: &LetterId| numbers_groups(symbols, inner, symbols.letter(*letter).axis);
    symbols.array(id).letters.iter().copied().filter(|letter| !above(letter)).collect()
}

/// Of the elements of Wishart matrices, in declared order.
fn elements_of_wishart(own: &Cells, dof: &DenseArray, scale: &DenseArray) -> Option<Vec<Marginal>> {
    let n = own.width().isqrt();
    let matrices = own.by_row(&scale.values)?;
    let element = |cell: usize| {
        let (row, i, j) = (own.row(cell), own.element(cell) / n, own.element(cell) % n);
        let at = |i: usize, j: usize| matrices.get((row * n + i) * n + j).copied();
        let (nu, w) = (*dof.values.get(row)?, at(i, j)?);
        Some(match i == j {
            true => Marginal::Gamma { shape: 0.5 * nu, rate: 0.5 / w },
            false => Marginal::Moments { deviation: (nu * (w * w + at(i, i)? * at(j, j)?)).sqrt() },
        })
    };
    (0..scale.values.len()).map(element).collect()
}
