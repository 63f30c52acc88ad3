//! How much was given along an axis, which is what popularity goes by.

use cavi_algebra::Support;
use cavi_executor::BoundArray;

use super::{CELLS, Measuring};
use crate::bind::Existing;
use crate::heldout::unflat;
use crate::rows::RowWeights;

/// What was given at each position of a dimension.
pub(super) struct Popularity {
    /// How much: units of counts, ones of what is 0 or 1, else entries.
    pub amounts: Vec<f64>,
    /// Its mean over all entries there.
    pub means: Vec<f64>,
}

impl Measuring<'_> {
    /// What was given along a dimension, each entry as often as its row counts. How the data were written changes nothing: a zero of
    /// `absent = 0` counts for the mean whether it is listed or not.
    pub(super) fn popularity(&self, dimension: usize) -> Popularity {
        let (data, shape) = self.data();
        let symbols = &self.given.equations.symbols;
        let array = symbols.array(self.hidden.array);
        let is_count = matches!(array.support, Support::Count | Support::Binary);
        let existing = Existing::of(symbols, &self.given.binding.bound.axes, array);
        let cells = shape.iter().copied().fold(1, usize::saturating_mul);
        let mut entries: Vec<Vec<u32>> = vec![Vec::new(); shape.len()];
        let mut values = Vec::new();
        let ends = self.ends(dimension);
        // A position that counts m times is m positions, each with what was given at it.
        let is_of_position = |along: &[usize]| along.iter().all(|own| ends.contains(own));
        let weights = self.weights().part(|along| !is_of_position(along));
        let positions = self.weights().part(is_of_position);
        // How many entries are observed at each position.
        let mut observed = vec![0.0; shape[dimension]];
        match data {
            BoundArray::Sparse { indices, values: listed, observed: seen, unlisted_zero } => {
                if *unlisted_zero && existing.has_gaps() && cells > CELLS {
                    // Too many to count: their means are not known.
                    observed.fill(f64::NAN);
                } else if *unlisted_zero && existing.has_gaps() {
                    (0..cells).for_each(|cell| {
                        let place = unflat(&shape, cell);
                        let is_observed = existing.is_there(&place) && data.entry(&shape, &place).1;
                        let count = if is_observed { weights.at(|own| place[own]) } else { 0.0 };
                        ends.iter().for_each(|end| observed[place[*end]] += count);
                    });
                } else if *unlisted_zero {
                    observed = counted(&weights, &shape, dimension);
                }
                for (entry, value) in listed.iter().enumerate() {
                    let is_seen = seen.as_ref().is_none_or(|own| own[entry]);
                    let change = match (is_seen, *unlisted_zero) {
                        (true, false) => 1.0,
                        (false, true) if !existing.has_gaps() => -1.0,
                        _ => 0.0,
                    };
                    let change = change * weights.at(|own| indices[own][entry] as usize);
                    ends.iter().for_each(|end| observed[indices[*end][entry] as usize] += change);
                    if is_seen {
                        let own = entries.iter_mut().zip(indices);
                        own.for_each(|(column, own)| column.push(own[entry]));
                        values.push(*value);
                    }
                }
            }
            BoundArray::Dense { values: all, observed: seen } => {
                for (cell, value) in all.iter().enumerate() {
                    let place = unflat(&shape, cell);
                    if seen.as_ref().is_none_or(|own| own[cell]) && existing.is_there(&place) {
                        let count = weights.at(|own| place[own]);
                        ends.iter().for_each(|end| observed[place[*end]] += count);
                        entries.iter_mut().zip(&place).for_each(|(column, own)| column.push(*own as u32));
                        values.push(*value);
                    }
                }
            }
        }
        let (mut sums, mut counts) = (vec![0.0; shape[dimension]], vec![0.0; shape[dimension]]);
        let in_units = self.in_units(&entries, &values);
        for (entry, (value, own)) in values.iter().zip(in_units).enumerate() {
            // What is not listed is no entry that was given, so neither is a zero that is.
            let is_nothing = array.absent.zero && *value == 0.0;
            let weight = weights.at(|own| entries[own][entry] as usize);
            for end in &ends {
                let position = entries[*end][entry] as usize;
                sums[position] += weight * own;
                counts[position] += if is_nothing { 0.0 } else { weight };
            }
        }
        let often = |position: usize| positions.at(|_| position);
        let all = |numbers: &[f64]| -> f64 {
            numbers.iter().enumerate().map(|(position, own)| often(position) * own).sum()
        };
        let total = all(&observed);
        let overall = all(&sums) / if total > 0.0 || total.is_nan() { total } else { 1.0 };
        let mean = |(sum, observed): (&f64, &f64)| if *observed > 0.0 { sum / observed } else { overall };
        let means = sums.iter().zip(&observed).map(mean).collect();
        Popularity { amounts: if is_count { sums } else { counts }, means }
    }

    /// The share that an entry has of the units of its row, where each column has its mean of the last dimension.
    pub(super) fn share(&self, means: &[f64], place: &dyn Fn(usize) -> usize) -> f64 {
        let (_, shape) = self.data();
        let symbols = &self.given.equations.symbols;
        let array = symbols.array(self.hidden.array);
        // The positions that stand in the row of an entry along a dimension.
        let beside = |dimension: usize| {
            let axis = &self.given.binding.bound.axes[symbols.letter(array.letters[dimension]).axis.index()];
            match (&axis.starts, &axis.parent) {
                (Some(starts), Some(parents)) => {
                    let group = parents[place(dimension)];
                    starts[group]..starts[group + 1]
                }
                _ => 0..shape[dimension],
            }
        };
        let last = shape.len() - 1;
        let of_last: f64 = match array.slice[last] {
            true => means[beside(last)].iter().sum(),
            false => means[place(last)],
        };
        let others: usize = (0..last).filter(|own| array.slice[*own]).map(|own| beside(own).len()).product();
        let cells = of_last * others as f64;
        // Where nothing was given columns are alike.
        let alike = || 1.0 / (others * if array.slice[last] { beside(last).len() } else { 1 }) as f64;
        if cells == 0.0 { alike() } else { means[place(last)] / cells }
    }
}

/// How many entries there are at each position of a dimension, each as often as it counts, where every cell is one.
fn counted(weights: &RowWeights<'_>, shape: &[usize], dimension: usize) -> Vec<f64> {
    let mut along = weights.dimensions();
    along.push(dimension);
    along.sort_unstable();
    along.dedup();
    let is_free = |own: &usize| !along.contains(own);
    let others: f64 = (0..shape.len()).filter(is_free).map(|own| shape[own] as f64).product();
    let sizes: Vec<usize> = along.iter().map(|own| shape[*own]).collect();
    let mut counted = vec![0.0; shape[dimension]];
    for cell in 0..sizes.iter().product() {
        let positions = unflat(&sizes, cell);
        let place =
            |wanted: usize| along.iter().position(|own| *own == wanted).map_or(0, |place| positions[place]);
        counted[place(dimension)] += weights.at(place) * others;
    }
    counted
}
