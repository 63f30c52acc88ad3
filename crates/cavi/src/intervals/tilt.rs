//! A program whose log joint is tilted along statistics of one block, by as much as an array says.
//!
//! To every coefficient of the block's statistics that are numbers or vectors a constant array is added. Where it is 0 the updates are
//! those of the program.

use cavi_algebra::{
    Array, ArrayId, ArrayKind, Atom, BlockId, Elementary, Equations, LetterId, Statistic, Subscript, Sum,
    Support,
};
use cavi_executor::{Bound, BoundArray, Layout};
use cavi_families::marginal::Marginal;
use cavi_families::{Batch, Extent, Posterior, views, views_mut};

/// Copies of more statistics than these are not inverted.
const MOST: usize = 400;

/// Relative steps of differences of expectations.
const STEP: f64 = 1e-5;

/// A tilted program: one array for each statistic, in the order of the block's.
pub(super) struct Tilted {
    pub equations: Equations,
    pub bound: Bound,
    /// For each statistic its array; `None` where that is a matrix.
    arrays: Vec<Option<ArrayId>>,
    block: BlockId,
}

impl Tilted {
    /// The program with arrays that are 0.
    pub fn of(equations: &Equations, bound: &Bound, block: BlockId, layout: &Layout) -> Tilted {
        let (mut equations, mut bound) = (equations.clone(), bound.clone());
        let family = cavi_families::posterior(equations.block(block).family);
        let mut arrays = Vec::new();
        for place in 0..equations.block(block).natural.len() {
            let own = equations.block(block);
            let natural = &own.natural[place];
            let statistic = family.place_of(&natural.statistic);
            let extent = statistic.map(|statistic| layout.statistics[statistic].extent);
            if !matches!(extent, Some(Extent::Scalar | Extent::Vector)) {
                arrays.push(None);
                continue;
            }
            let letters: Vec<LetterId> = own.plates.iter().chain(&natural.slots).copied().collect();
            let sizes = letters.iter().map(|letter| bound.size_of(&equations.symbols, *letter));
            let values = vec![0.0; sizes.product()];
            let subscripts = letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
            let tilt = Array { kind: ArrayKind::Constant, ..Array::latent("", letters, Support::Real) };
            let id = ArrayId::from(equations.symbols.arrays.len());
            equations.symbols.arrays.push(tilt);
            bound.arrays.resize(id.index(), None);
            bound.arrays.push(Some(BoundArray::full(values)));
            let terms = Sum::atom(Atom::Value(id, subscripts)).terms;
            equations.blocks[block.index()].natural[place].coefficient.terms.extend(terms);
            arrays.push(Some(id));
        }
        Tilted { equations, bound, arrays, block }
    }

    /// Sets the arrays: `tilt` times `by`.
    pub fn set(&mut self, tilt: &Tilt, by: f64) {
        for id in self.arrays.iter().flatten() {
            if let Some(BoundArray::Dense { values, .. }) = &mut self.bound.arrays[id.index()] {
                values.fill(0.0);
            }
        }
        for (statistic, place, amount) in &tilt.amounts {
            let Some(id) = self.arrays[*statistic] else { continue };
            if let Some(BoundArray::Dense { values, .. }) = &mut self.bound.arrays[id.index()] {
                values[*place] = by * amount;
            }
        }
    }
}

/// By how much each statistic is tilted: its number in the block, the place in its array, the amount.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tilt {
    amounts: Vec<(usize, usize, f64)>,
    /// The part of the element's variance under q that no statistic explains.
    pub unexplained: f64,
}

/// An element of a member of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub member: usize,
    /// Its row in the layout, and its place in the member's slice.
    pub row: usize,
    pub within: usize,
}

impl Tilt {
    /// The largest amount.
    pub fn largest(&self) -> f64 {
        self.amounts.iter().fold(0.0, |largest: f64, (.., amount)| largest.max(amount.abs()))
    }

    /// The tilt of natural parameters that tilting the log joint by `t x` comes to, for an element x, per t.
    ///
    /// Among all factors of the family the one that maximises `E log p + t E x + H` has the natural parameters `eta = eta_0 + t c` with
    /// `F c = grad E x`, F the Fisher information `dE[T] / d eta`. Where x is itself a statistic, c is 1 there and 0 elsewhere.
    ///
    /// Without the family the tilted factor is `q exp(t x)`, up to a constant. Its statistics move as those in the family do, `dE[T] / dt = Cov(T, x)
    /// = F c`, and the other factors read nothing else of it; E x itself moves by `Var x`, which is more than `c' F c` by what no statistic
    /// explains of x ([`Tilt::unexplained`]).
    ///
    /// # Errors
    /// Why it is not known.
    pub fn of(
        tilted: &Tilted,
        layout: &Layout,
        columns: &[Vec<f64>],
        element: Element,
    ) -> Result<Tilt, String> {
        let block = tilted.equations.block(tilted.block);
        let family = cavi_families::posterior(block.family);
        let member = u8::try_from(element.member).map_err(|error| error.to_string())?;
        let identity = Statistic(vec![(member, Elementary::Power(1))]);
        let width: usize = layout.slices[element.member].iter().product();
        if let Some(place) = block.natural.iter().position(|own| own.statistic == identity) {
            if tilted.arrays[place].is_none() {
                return Err("it is a matrix".to_owned());
            }
            let amounts = vec![(place, element.row * width + element.within, 1.0)];
            return Ok(Tilt { amounts, unexplained: 0.0 });
        }
        let statistics = &layout.statistics;
        let is_whole = block.natural.len() == statistics.len()
            && block.natural.iter().zip(statistics).all(|(one, other)| one.statistic == other.statistic)
            && tilted.arrays.iter().all(Option::is_some)
            && layout.starts.is_empty();
        let which = family.expectation_of(&identity);
        let (Some(which), true) = (which, is_whole) else {
            return Err("its mean is no function of numbers and vectors alone".to_owned());
        };
        let copy = Copy { family, n: layout.n, lengths: Vec::new() };
        let copy = Copy {
            lengths: statistics
                .iter()
                .map(|own| if own.extent == Extent::Vector { layout.n } else { 1 })
                .collect(),
            ..copy
        };
        let (amounts, unexplained) = copy.inverse(layout, columns, which, element)?;
        let mut rest = amounts.as_slice();
        let mut all = Vec::new();
        for (statistic, length) in copy.lengths.iter().enumerate() {
            let (own, others) = rest.split_at(*length);
            rest = others;
            let place = |(within, amount): (usize, &f64)| (statistic, element.row * length + within, *amount);
            all.extend(own.iter().enumerate().map(place));
        }
        Ok(Tilt { amounts: all, unexplained })
    }
}

/// One copy of a block.
struct Copy {
    family: &'static dyn Posterior,
    n: usize,
    /// How many numbers each statistic has.
    lengths: Vec<usize>,
}

impl Copy {
    /// `F^-1 grad E x`, and what of `Var x` no statistic explains.
    fn inverse(
        &self,
        layout: &Layout,
        columns: &[Vec<f64>],
        which: usize,
        element: Element,
    ) -> Result<(Vec<f64>, f64), String> {
        let batch = layout.batch();
        let mut natural: Vec<Vec<f64>> =
            layout.statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        self.family.natural(&batch, &views(columns), &mut views_mut(&mut natural));
        let own = natural.iter().zip(&self.lengths);
        let eta: Vec<f64> = own
            .flat_map(|(column, length)| &column[element.row * length..(element.row + 1) * length])
            .copied()
            .collect();
        let size = eta.len();
        if size > MOST {
            return Err(format!(
                "one factor of it has {size} statistics, and at most {MOST} of them are inverted"
            ));
        }
        let is_vector = self.family.expectations()[which].extent == Extent::Vector;
        let within = if is_vector { element.within } else { 0 };
        let largest = eta.iter().fold(0.0, |largest: f64, own| largest.max(own.abs()));
        // The matrix row by row, each with its right side at the end.
        let mut rows = vec![vec![0.0; size + 1]; size];
        for place in 0..size {
            let step = STEP * eta[place].abs().max(1e-3 * largest);
            let moved = |by: f64| {
                let mut eta = eta.clone();
                eta[place] += by;
                self.expectations(&eta, which, within)
            };
            let (up, down) = (moved(step)?, moved(-step)?);
            let slope = |own: usize| (up[own] - down[own]) / (2.0 * step);
            // F is symmetric: its column is its row.
            (0..size).for_each(|own| rows[place][own] = slope(own));
            rows[place][size] = slope(size);
        }
        let gradient: Vec<f64> = rows.iter().map(|row| row[size]).collect();
        let inverse = solve(rows).ok_or_else(|| "its factor has no regular Fisher information".to_owned())?;
        let explained: f64 = inverse.iter().zip(&gradient).map(|(c, own)| c * own).sum();
        let variance = self.variance(&eta, element.member, self.expectations(&eta, which, within)?[size])?;
        Ok((inverse, (variance - explained).max(0.0)))
    }

    /// The variance of an element under q, from the natural parameters of its copy and its mean.
    fn variance(&self, eta: &[f64], member: usize, mean: f64) -> Result<f64, String> {
        let unknown = || "its variance under q is not known".to_owned();
        // A share of a total has the Beta distribution of its own mass and of the rest.
        if self.family.mean_is_over_total() {
            return Ok(mean * (1.0 - mean) / (eta.iter().sum::<f64>() + 1.0));
        }
        let member = u8::try_from(member).map_err(|error| error.to_string())?;
        let centred = Statistic(vec![(member, Elementary::Centred), (member, Elementary::Centred)]);
        let columns = self.columns(eta)?;
        let batch = Batch::of(1, self.n);
        if let Some(which) = self.family.expectation_of(&centred) {
            let mut out = vec![0.0; batch.len(self.family.expectations()[which].extent)];
            self.family.expect(&batch, &views(&columns), which, &mut out);
            return if let [variance] = out[..] { Ok(variance) } else { Err(unknown()) };
        }
        let names: Vec<&str> = self.family.descriptors().iter().map(|own| own.name).collect();
        let of = |name: &str| Some(columns[names.iter().position(|own| *own == name)?][0]);
        match (self.family.joint().len(), of("shape"), of("scale")) {
            (0, Some(shape), Some(scale)) => Marginal::InverseGamma { shape, scale }
                .deviation()
                .map(|sd| sd * sd)
                .ok_or_else(|| "its variance under q is infinite".to_owned()),
            _ => Err(unknown()),
        }
    }

    /// What describes q at these natural parameters.
    fn columns(&self, eta: &[f64]) -> Result<Vec<Vec<f64>>, String> {
        let batch = Batch::of(1, self.n);
        let mut rest = eta;
        let natural: Vec<&[f64]> = self
            .lengths
            .iter()
            .map(|length| {
                let (own, others) = rest.split_at(*length);
                rest = others;
                own
            })
            .collect();
        let mut columns: Vec<Vec<f64>> =
            self.family.descriptors().iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        self.family
            .describe(&batch, &natural, &mut views_mut(&mut columns))
            .map_err(|improper| improper.reason)?;
        Ok(columns)
    }

    /// The expectations of the statistics, then that of the element.
    fn expectations(&self, eta: &[f64], which: usize, within: usize) -> Result<Vec<f64>, String> {
        let batch = Batch::of(1, self.n);
        let columns = self.columns(eta)?;
        let expect = |which: usize| {
            let extent = self.family.expectations()[which].extent;
            let mut out = vec![0.0; batch.len(extent)];
            self.family.expect(&batch, &views(&columns), which, &mut out);
            out
        };
        let mut all = Vec::new();
        for own in self.family.statistics() {
            let place = self.family.expectation_of(&own.statistic);
            let place = place.ok_or_else(|| "a statistic of it has no finite expectation".to_owned())?;
            all.extend(expect(place));
        }
        all.push(expect(which)[within]);
        if all.iter().all(|own| own.is_finite()) {
            Ok(all)
        } else {
            Err("an expectation of it is not finite".to_owned())
        }
    }
}

/// Solves linear equations by elimination, the largest pivot first; each row has its right side at the end. `None` where a pivot is 0.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for place in 0..size {
        let pivot = (place..size)
            .max_by(|one, other| rows[*one][place].abs().total_cmp(&rows[*other][place].abs()))?;
        rows.swap(place, pivot);
        let own = rows[place].clone();
        if own[place] == 0.0 || !own[place].is_finite() {
            return None;
        }
        for (number, row) in rows.iter_mut().enumerate() {
            if number != place {
                let factor = row[place] / own[place];
                row.iter_mut().zip(&own).for_each(|(entry, own)| *entry -= factor * own);
            }
        }
    }
    let value = |(place, row): (usize, &Vec<f64>)| row[size] / row[place];
    Some(rows.iter().enumerate().map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved() {
        let rows = vec![vec![0.0, 2.0, 4.0], vec![1.0, 1.0, 5.0]];
        assert_eq!(solve(rows), Some(vec![3.0, 2.0]));
        assert_eq!(solve(vec![vec![1.0, 1.0, 1.0], vec![1.0, 1.0, 2.0]]), None);
    }
}
