//! Draws from q, and its means, as arrays in the declared order of their dimensions.

use std::ops::Range;

use cavi_algebra::{ArrayId, BlockId, Elementary, Equations, Mode, Statistic};
use cavi_executor::observed::Observed;
use cavi_executor::{Bound, BoundArray, Layout, Parameters};
use cavi_families::observed::at_value;
use cavi_families::{Batch, Extent, Posterior, views, views_mut};
use cavi_numerics::special::ln;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::predict::{unflat, weighted};
use crate::posterior::{Role, family, roles};
use crate::rows::RowWeights;

/// Where a variable of a block is found in a draw of it.
pub(crate) struct Source {
    block: BlockId,
    layout: Layout,
    /// For each member the variable and, for each of its elements in declared order, the place in a draw.
    members: Vec<(ArrayId, Vec<usize>)>,
    /// What is observed of a variable that is latent elsewhere.
    observed: Option<Observed>,
}

impl Source {
    /// The sources of a block.
    pub fn new(equations: &Equations, bound: &Bound, id: BlockId) -> Source {
        let block = equations.block(id);
        let missing =
            |array: ArrayId| bound.arrays[array.index()].as_ref().is_some_and(BoundArray::has_missing);
        let layout = Layout::new(equations, bound, block, &missing);
        let is_class = block.classes.is_some();
        let point = family(equations, id).is_none();
        let width = if is_class { 1 } else { layout.width() };
        let offsets = layout.offsets();
        let members = block.members.iter().enumerate().map(|(member, variable)| {
            let roles = roles(equations, id, member);
            let shape = bound.shape(&equations.symbols, *variable);
            let sizes = &layout.slices[member];
            let within_width: usize = sizes.iter().product();
            let count: usize = shape.iter().product();
            let mut places = Vec::with_capacity(count);
            for cell in 0..count {
                let mut rest = cell;
                let mut positions = vec![0; shape.len()];
                for (position, size) in positions.iter_mut().zip(&shape).rev() {
                    *position = rest % size.max(&1);
                    rest /= size.max(&1);
                }
                let mut plates = vec![0; layout.plates.len()];
                let mut slices = vec![0; sizes.len()];
                for (role, position) in roles.iter().zip(positions) {
                    match role {
                        Role::Plate(plate) => plates[*plate] = position,
                        Role::Slice(slice) => slices[*slice] = position,
                    }
                }
                let flat = |sizes: &[usize], positions: &[usize]| {
                    sizes.iter().zip(positions).fold(0, |place, (size, position)| place * size + position)
                };
                let (row, within) = (flat(&layout.plates, &plates), flat(sizes, &slices));
                places.push(match (is_class, point) {
                    (true, _) => row,
                    // A column of values for each member.
                    (false, true) => row * within_width + within,
                    (false, false) => row * width + offsets[member] + within,
                });
            }
            (*variable, places)
        });
        let members = members.collect();
        Source { block: id, layout, members, observed: Observed::of(equations, bound, block) }
    }

    /// How many numbers a draw of the block has.
    pub fn numbers(&self) -> usize {
        self.members.iter().map(|(_, places)| places.len()).sum()
    }

    /// A draw of every variable of the block; of a point its value, and of what is observed or held what it is.
    pub fn draw(
        &self,
        equations: &Equations,
        parameters: &Parameters,
        rng: &mut ChaCha8Rng,
    ) -> Vec<(ArrayId, Vec<f64>)> {
        self.draw_rows(equations, parameters, rng, &mut |_| {})
    }

    /// Whether the log density of the factor is evaluated at draws: not of several variables that are no vector, of matrices, of a
    /// variable that is observed in part, or of slices over a ragged axis.
    pub fn has_density(&self, equations: &Equations) -> bool {
        let is_known = |elementary: &Elementary| match elementary {
            Elementary::Power(_) | Elementary::Log | Elementary::LogComplement | Elementary::Indicator => {
                true
            }
            Elementary::Centred
            | Elementary::Mass
            | Elementary::MassOfComplement
            | Elementary::LogDeterminant
            | Elementary::Contracted(_) => false,
        };
        family(equations, self.block).is_some_and(|family| {
            let is_vector = self.members.len() == 1 || family.one_vector();
            let mut statistics = family.statistics().into_iter();
            is_vector
                && self.observed.is_none()
                && self.layout.starts.is_empty()
                && self.layout.slices.iter().all(|slices| slices.len() < 2 || family.one_vector())
                && statistics.all(|own| own.statistic.0.iter().all(|(_, elementary)| is_known(elementary)))
        })
    }

    /// As [`Source::draw`], with the log density of the draw: of an exponential family `sum_i (base_i + eta_i) t_i(x) - A(eta)`, or with the
    /// entropy H in the place of A, `sum_i (base_i + eta_i) (t_i(x) - E t_i) - H`. Of a point it is 0. A row of weight m has
    /// it m times: of weight 0 it is none. The factor must have a density ([`Source::has_density`]).
    pub fn draw_with_density(
        &self,
        (equations, bound): (&Equations, &Bound),
        parameters: &Parameters,
        rng: &mut ChaCha8Rng,
    ) -> (Vec<(ArrayId, Vec<f64>)>, f64) {
        let columns = &parameters.blocks[self.block.index()];
        let mut log_density = 0.0;
        let drawn = self.draw_rows(equations, parameters, rng, &mut |drawn| {
            log_density = self.log_density((equations, bound), columns, drawn);
        });
        (drawn, log_density)
    }

    /// The log density of q at values, rows by slice.
    fn log_density(
        &self,
        (equations, bound): (&Equations, &Bound),
        columns: &[Vec<f64>],
        drawn: &[f64],
    ) -> f64 {
        let Some(family) = family(equations, self.block) else { return 0.0 };
        let block = equations.block(self.block);
        let rows: Vec<usize> = (0..self.layout.rows).collect();
        let weights = RowWeights::of(&equations.symbols, bound, &block.multiplicity, &block.plates);
        let weight = |row: usize| {
            let place = unflat(&self.layout.plates, row);
            weights.at(|plate| place[plate])
        };
        let each = self.log_densities(family, columns, &rows, drawn).into_iter().enumerate();
        each.map(|(row, own)| weighted(weight(row), own)).sum()
    }

    /// The log density of q of some rows at values, one after another, each a scalar or a slice.
    fn log_densities(
        &self,
        family: &dyn Posterior,
        columns: &[Vec<f64>],
        rows: &[usize],
        values: &[f64],
    ) -> Vec<f64> {
        let batch = self.layout.batch();
        let statistics = family.statistics();
        let mut naturals: Vec<Vec<f64>> =
            statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        family.natural(&batch, &views(columns), &mut views_mut(&mut naturals));
        let mut constants = vec![0.0; batch.rows];
        family.entropy(&batch, &views(columns), &mut constants);
        let mut log_densities: Vec<f64> = rows.iter().map(|row| -constants[*row]).collect();
        let width = values.len() / rows.len().max(1);
        let base = family.base().into_iter().zip(family.base_per_element());
        for ((statistic, natural), (base, per_element)) in statistics.iter().zip(&naturals).zip(base) {
            let base = base + per_element * width as f64;
            let expected =
                (!family.paired()).then(|| Expected::of(family, &batch, columns, &statistic.statistic));
            for ((log_density, row), own) in
                log_densities.iter_mut().zip(rows).zip(values.chunks_exact(width.max(1)))
            {
                let natural = &natural[place(&batch, statistic.extent, *row)];
                let mut values = vec![0.0; natural.len()];
                at_value(&statistic.statistic, own, &mut values);
                if let Some(expected) = &expected {
                    expected.take_off(&batch, *row, &mut values);
                }
                let product = |(natural, value): (&f64, &f64)| match natural + base {
                    0.0 => 0.0,
                    // A class that q never takes has log probability minus infinity, and is not drawn.
                    _ if *value == 0.0 => 0.0,
                    coefficient => coefficient * value,
                };
                *log_density += natural.iter().zip(&values).map(product).sum::<f64>();
            }
        }
        log_densities
    }

    /// The log density (of classes and of 0 and 1 the log probability) of q at values of a variable that is latent where it is not
    /// observed: of the elements at these cells of it, each the first of as many as there are values for it, one or a whole slice.
    /// An element of a vector has the density of its marginal, which is known for Normals. `None` where there is none: of points,
    /// and of elements of other vectors.
    pub fn log_density_at(
        &self,
        equations: &Equations,
        parameters: &Parameters,
        array: ArrayId,
        cells: &[usize],
        values: &[f64],
    ) -> Option<Vec<f64>> {
        let family = family(equations, self.block)?;
        let (_, places) = self.members.iter().find(|(own, _)| *own == array)?;
        let columns = &parameters.blocks[self.block.index()];
        let is_class = equations.block(self.block).classes.is_some();
        let width = if is_class { 1 } else { self.layout.width() };
        if self.members.len() > 1 || !self.layout.starts.is_empty() {
            return None;
        }
        let batch = self.layout.batch();
        if values.len() == cells.len() && width > 1 {
            let column = |statistic: &Statistic| {
                let which = family.expectation_of(statistic)?;
                let extent = family.expectations()[which].extent;
                let mut out = vec![0.0; batch.len(extent)];
                family.expect(&batch, &views(columns), which, &mut out);
                Some(Column { extent, values: out })
            };
            let (mean, covariance) = (column(&Statistic::identity())?, column(&Statistic::covariance())?);
            let own = |(cell, value): (&usize, &f64)| {
                let (row, within) = (places[*cell] / width, places[*cell] % width);
                let mean = mean.values[place(&batch, mean.extent, row)][within];
                let var = covariance.values[place(&batch, covariance.extent, row)][within * (width + 1)];
                let off = value - mean;
                -0.5 * (ln(2.0 * std::f64::consts::PI * var) + off * off / var)
            };
            return Some(cells.iter().zip(values).map(own).collect());
        }
        // Other rows may be point masses, which have no density: any distribution may stand in their place.
        let mut proper = columns.clone();
        family.start(&batch, &mut ChaCha8Rng::seed_from_u64(0), &mut views_mut(&mut proper));
        let rows: Vec<usize> = cells.iter().map(|cell| places[*cell] / width).collect();
        for (proper, column) in proper.iter_mut().zip(columns) {
            let width = column.len() / self.layout.rows.max(1);
            for row in &rows {
                let place = row * width..(row + 1) * width;
                proper[place.clone()].copy_from_slice(&column[place]);
            }
        }
        Some(self.log_densities(family, &proper, &rows, values))
    }

    /// Draws, and shows the draw rows by slice before it is brought to the order of each variable. A point shows none.
    fn draw_rows(
        &self,
        equations: &Equations,
        parameters: &Parameters,
        rng: &mut ChaCha8Rng,
        show: &mut dyn FnMut(&[f64]),
    ) -> Vec<(ArrayId, Vec<f64>)> {
        let columns = &parameters.blocks[self.block.index()];
        let Some(family) = family(equations, self.block) else {
            let of = |(column, (variable, places)): (&Vec<f64>, &(ArrayId, Vec<usize>))| {
                (*variable, places.iter().map(|place| column[*place]).collect())
            };
            return columns.iter().zip(&self.members).map(of).collect();
        };
        let width = if equations.block(self.block).classes.is_some() { 1 } else { self.layout.width() };
        let mut drawn = vec![0.0; self.layout.rows * width];
        let batch = self.layout.batch();
        match &self.observed {
            None => family.sample(&batch, &views(columns), rng, &mut drawn),
            // An observed entry is a point mass and is not drawn: any distribution stands in its place, and its value is put there after.
            Some(observed) => {
                let mut proper = columns.clone();
                family.start(&batch, &mut ChaCha8Rng::seed_from_u64(0), &mut views_mut(&mut proper));
                let mut own = columns.clone();
                for (column, proper) in own.iter_mut().zip(&proper) {
                    let width = column.len() / self.layout.rows.max(1);
                    for (row, _) in observed.rows() {
                        let place = row * width..(row + 1) * width;
                        column[place.clone()].copy_from_slice(&proper[place]);
                    }
                }
                family.sample(&batch, &views(&own), rng, &mut drawn);
                observed.put(&mut drawn);
            }
        }
        show(&drawn);
        let of = |(variable, places): &(ArrayId, Vec<usize>)| {
            (*variable, places.iter().map(|place| drawn[*place]).collect())
        };
        self.members.iter().map(of).collect()
    }
}

/// Whether a block has one value, whatever is drawn.
pub(super) fn is_certain(equations: &Equations, id: BlockId) -> bool {
    equations.block(id).mode != Mode::Implicit && family(equations, id).is_none()
}

/// Where the numbers of a row stand in a column.
fn place(batch: &Batch, extent: Extent, row: usize) -> Range<usize> {
    match extent {
        Extent::Scalar => row..row + 1,
        Extent::Vector => batch.row(row),
        Extent::Matrix => batch.matrix(batch.group_of(row)),
        Extent::Pairs => batch.pairs(row),
    }
}

/// A column of expectations.
struct Column {
    extent: Extent,
    values: Vec<f64>,
}

/// The expectation of a statistic under q.
enum Expected {
    /// As the family answers it.
    Answered(Column),
    /// Of the outer product of a vector, `E x x' = Cov x + E x (E x)'`, where the family answers mean and covariance.
    Outer { mean: Column, covariance: Column },
}

impl Expected {
    fn of(family: &dyn Posterior, batch: &Batch, columns: &[Vec<f64>], statistic: &Statistic) -> Expected {
        let column = |which: usize| {
            let extent = family.expectations()[which].extent;
            let mut values = vec![0.0; batch.len(extent)];
            family.expect(batch, &views(columns), which, &mut values);
            Column { extent, values }
        };
        let answered = |statistic: &Statistic| family.expectation_of(statistic).map(column);
        if let Some(answered) = answered(statistic) {
            return Expected::Answered(answered);
        }
        let outer =
            family.place_of(statistic).is_some_and(|_| statistic.of_one_vector() == Statistic::outer());
        match (outer, answered(&Statistic::identity()), answered(&Statistic::covariance())) {
            (true, Some(mean), Some(covariance)) => Expected::Outer { mean, covariance },
            _ => unreachable!(
                "a family whose bound adds its entropy answers its statistics, or mean and covariance"
            ),
        }
    }

    /// Takes it off the values of the statistic in a row.
    fn take_off(&self, batch: &Batch, row: usize, values: &mut [f64]) {
        let of = |column: &Column| -> Range<usize> { place(batch, column.extent, row) };
        match self {
            Expected::Answered(column) => {
                let own = &column.values[of(column)];
                values.iter_mut().zip(own).for_each(|(value, own)| *value -= own);
            }
            Expected::Outer { mean, covariance } => {
                let (mean, covariance) = (&mean.values[of(mean)], &covariance.values[of(covariance)]);
                let products = mean.iter().flat_map(|left| mean.iter().map(move |right| left * right));
                for ((value, product), covariance) in values.iter_mut().zip(products).zip(covariance) {
                    *value -= product + covariance;
                }
            }
        }
    }
}
