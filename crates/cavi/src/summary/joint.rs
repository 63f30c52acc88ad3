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
) -> Result<Option<Vec<Marginal>>, Error> {
    let model = reader.model;
    let symbols = &model.symbols;
    let read = |name: &str, parameter: &str| reader.array(name, parameter, group);
    let joint = model.blocks.iter().enumerate().find_map(|(number, block)| {
        let place = block.members.iter().position(|member| *member == id)?;
        (block.members.len() == 2).then_some((number, place))
    });
    // A slice of the factor need not be one of the statement.
    let written = joint.map_or(&[][..], |(number, place)| model.blocks[number].slices[place].as_slice());
    let own = Own::of(reader, id, inner, mean, written);
    if symbols.array(id).support == Support::PositiveDefinite {
        let (Some(dof), Some(scale)) = (read(name, "dof")?, read(name, "scale")?) else { return Ok(None) };
        return Ok(elements_of_wishart(&own, &dof, &scale));
    }
    let Some((number, place)) = joint else { return Ok(None) };
    let partner = model.blocks[number].members[1 - place];
    let plates = &model.block_plates[number];
    let rows = own.rows_of(reader, partner, inner, [&plates[place], &plates[1 - place]]);
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
        let of = |cell: usize| {
            let row = cell / own.n.max(1);
            let their = *rows.get(row)?;
            let (a, b) = (*shape.values.get(their)?, *rate.values.get(their)?);
            let spread = match own.n_slices {
                0 => kappa.values.get(cell)?.recip(),
                _ => own.inverse_diagonal(&kappa.values, row)?[cell % own.n],
            };
            Some(Marginal::Student { location: mean.values[cell], square: b / a * spread, dof: 2.0 * a })
        };
        return Ok((0..mean.values.len()).map(of).collect());
    }
    if let (Some(dof), Some(scale)) = (read(theirs, "dof")?, read(theirs, "scale")?) {
        let of = |cell: usize| {
            let row = cell / own.n.max(1);
            let their = *rows.get(row)?;
            let left = dof.values.get(their)? - own.n as f64 + 1.0;
            let spread = own.inverse_diagonal(&scale.values, their)?[cell % own.n];
            let square = spread / (kappa.values.get(row)? * left);
            Some(Marginal::Student { location: mean.values[cell], square, dof: left })
        };
        return Ok((0..mean.values.len()).map(of).collect());
    }
    Ok(None)
}

/// How the files of a variable are laid out: rows, and within each the elements of its slices.
struct Own {
    /// The letters of the dimensions, with their sizes.
    letters: Vec<(LetterId, usize)>,
    n_slices: usize,
    /// The number of elements of a row.
    n: usize,
}

impl Own {
    fn of(
        reader: &Reader<'_>,
        id: ArrayId,
        inner: &[AxisId],
        mean: &DenseArray,
        written: &[LetterId],
    ) -> Own {
        let symbols = &reader.model.symbols;
        let letters: Vec<(LetterId, usize)> =
            letters_of(reader, id, inner).into_iter().zip(mean.shape.iter().copied()).collect();
        let mut slices = symbols.slices(id);
        slices.extend(written.iter().filter(|letter| !symbols.slices(id).contains(letter)));
        let sizes = letters.iter().filter(|(letter, _)| slices.contains(letter)).map(|(_, size)| *size);
        Own { n_slices: slices.len(), n: sizes.product(), letters }
    }

    /// For each row of this variable that of another member, whose plates are called `plates[1]` where those here are `plates[0]`.
    fn rows_of(
        &self,
        reader: &Reader<'_>,
        partner: ArrayId,
        inner: &[AxisId],
        plates: [&Vec<LetterId>; 2],
    ) -> Vec<usize> {
        let own: Vec<(LetterId, usize)> =
            self.letters.iter().filter(|(letter, _)| plates[0].contains(letter)).copied().collect();
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

    /// The diagonal of the inverse of the matrix of a row.
    fn inverse_diagonal(&self, matrices: &[f64], row: usize) -> Option<Vec<f64>> {
        let n = self.n;
        let mut factor = matrices.get(row * n * n..(row + 1) * n * n)?.to_vec();
        linalg::cholesky(n, &mut factor).ok()?;
        let mut inverse = vec![0.0; n * n];
        linalg::inverse(n, &factor, &mut inverse);
        Some((0..n).map(|place| inverse[place * n + place]).collect())
    }
}

/// The letters of the dimensions of the files of a variable: those of groups are left out.
fn letters_of(reader: &Reader<'_>, id: ArrayId, inner: &[AxisId]) -> Vec<LetterId> {
    let symbols = &reader.model.symbols;
    let above = |letter: &LetterId| numbers_groups(symbols, inner, symbols.letter(*letter).axis);
    symbols.array(id).letters.iter().copied().filter(|letter| !above(letter)).collect()
}

/// Of the elements of Wishart matrices.
fn elements_of_wishart(own: &Own, dof: &DenseArray, scale: &DenseArray) -> Option<Vec<Marginal>> {
    let (_, n) = *own.letters.last()?;
    let element = |cell: usize| {
        let (row, i, j) = (cell / (n * n), cell / n % n, cell % n);
        let at = |i: usize, j: usize| scale.values.get((row * n + i) * n + j).copied();
        let (nu, w) = (*dof.values.get(row)?, at(i, j)?);
        Some(match i == j {
            true => Marginal::Gamma { shape: 0.5 * nu, rate: 0.5 / w },
            false => Marginal::Moments { deviation: (nu * (w * w + at(i, i)? * at(j, j)?)).sqrt() },
        })
    };
    (0..scale.values.len()).map(element).collect()
}
