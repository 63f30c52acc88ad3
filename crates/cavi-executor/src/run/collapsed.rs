//! The pass over the entries of a site whose allocations leave their own shares out (`cavi_derivation::collapsed`).
//!
//! What a unit adds to a mean is found by dividing means by masses. Where it is the same for all rows of a mode, which then have
//! their means alone, it is kept once; where not, it stands beside the means, so that what an entry gathers stands in one place.

use std::sync::atomic::{AtomicBool, Ordering};

use cavi_algebra::SiteId;
use cavi_numerics::kernels::log_sum::{self, Factor, LEAST, LogSum, Outputs, Own, Values, log_sum, width_of};
use cavi_numerics::{Scratch, special};
use smallvec::SmallVec;

use super::elementwise::zeros;
use super::pass::{CHUNK, Counts, scatter};
use super::site_state::SiteState;
use super::state::State;
use crate::plan::site::{AddendPlan, ModePlan, OwnPlan, SitePlan};

/// What a pass has of all modes by categories.
struct ByCategory {
    /// For each mode what of its masses stays.
    priors: Vec<Vec<f64>>,
    /// For each mode what a unit adds to its means; empty where that differs by row.
    scales: Vec<Vec<f64>>,
    /// For each mode the reciprocals of the totals and the greatest parts of them that are left out; or nothing.
    totals: Vec<Vec<f64>>,
}

impl State<'_> {
    /// The pass itself: the counts of these blocks.
    pub(super) fn run_collapsed(
        &mut self,
        id: SiteId,
        plan: &SitePlan,
        own: &[Option<OwnPlan>],
        targets: &[cavi_algebra::BlockId],
        state: &mut SiteState,
    ) {
        own.iter().flatten().flat_map(OwnPlan::nodes).for_each(|node| self.evaluate(node));
        let addend = &plan.addends[0];
        let width = width_of(addend.categories);
        let by_category = self.by_category(addend, own, width);
        let strides: SmallVec<[usize; 4]> =
            by_category.scales.iter().map(|own| if own.is_empty() { 2 * width } else { width }).collect();
        let mut rows = std::mem::take(&mut state.own_rows);
        rows.resize(addend.modes.len(), Vec::new());
        for (((mode, own), stride), rows) in addend.modes.iter().zip(own).zip(&strides).zip(&mut rows) {
            self.lay_out(addend, mode, own.as_ref().filter(|_| *stride > width), (width, *stride), rows);
        }
        let wanted: SmallVec<[bool; 4]> = addend.modes.iter().map(|mode| mode.is_read_by(targets)).collect();
        let mut sums = std::mem::take(&mut state.own_sums);
        sums.resize(addend.modes.len(), Vec::new());
        for (((mode, wanted), stride), sums) in addend.modes.iter().zip(&wanted).zip(&strides).zip(&mut sums)
        {
            let length = if *wanted { mode.rows * stride } else { 0 };
            *sums = zeros(std::mem::take(sums), length, &self.work.threads);
        }
        let of_strides = rows.iter().zip(&strides);
        let factors: SmallVec<[Factor; 4]> = of_strides
            .map(|(rows, stride)| Factor { values: Values::Double(rows), stride: *stride })
            .collect();
        let priors: SmallVec<[&[f64]; 4]> = by_category.priors.iter().map(Vec::as_slice).collect();
        let scales: SmallVec<[&[f64]; 4]> = by_category.scales.iter().map(Vec::as_slice).collect();
        let totals: SmallVec<[&[f64]; 4]> = by_category.totals.iter().map(Vec::as_slice).collect();
        let input = LogSum {
            pattern: state.patterns[0].as_ref().expect("an addend with modes has a pattern"),
            factors: &factors,
            length: addend.categories,
            weights: self.weights(plan, &state.weights),
            addends: None,
            offsets: None,
            ratios: None,
            least: LEAST,
            own: Some(Own { width, priors: &priors, scales: &scales, totals: &totals }),
        };
        let accumulators =
            sums.iter_mut().zip(&wanted).map(|(sums, wanted)| wanted.then_some(sums.as_mut_slice()));
        let outputs = Outputs { accumulators: accumulators.collect(), ..Outputs::default() };
        let log_sum::Totals { mut rare, .. } =
            log_sum(&input, outputs, &mut state.scratch, &self.work.threads);
        drop(factors);
        state.sort_by_rows(&mut rare);
        let mut counts: SmallVec<[Option<Vec<f64>>; 4]> = SmallVec::new();
        for (((mode, wanted), stride), sums) in addend.modes.iter().zip(&wanted).zip(&strides).zip(&sums) {
            counts.push(wanted.then(|| {
                let length = addend.row_length(mode);
                let mut counts = self.emptied(id, 0, mode.log, mode.rows * length);
                let each = (CHUNK / length).max(1);
                self.work.threads.for_each_chunk(&mut counts, each * length, |chunk, counts| {
                    let sums = sums[chunk * each * stride..].chunks_exact(*stride);
                    for (counts, sums) in counts.chunks_exact_mut(length).zip(sums) {
                        counts[..addend.categories].copy_from_slice(&sums[..addend.categories]);
                    }
                });
                counts
            }));
        }
        (state.own_rows, state.own_sums) = (rows, sums);
        let lost = self.rare_shares(plan, own, &rare, state, &mut counts);
        let scattered = addend.scalars.iter().map(|scalar| {
            targets.contains(&scalar.block).then(|| self.emptied(id, 0, scalar.log, scalar.size))
        });
        let mut scattered: SmallVec<[Option<Vec<f64>>; 4]> = scattered.collect();
        let weights = self.weights(plan, &state.weights);
        for (element, own) in state.elements[0].iter().zip(&mut scattered) {
            let share = |entry: usize| if lost.binary_search(&entry).is_ok() { 0.0 } else { weights[entry] };
            own.iter_mut().for_each(|own| scatter(element, own, &share, &self.work.threads));
        }
        let one = |own: SmallVec<[Option<Vec<f64>>; 4]>| -> Counts { std::iter::once(own).collect() };
        self.store(id, plan, one(counts), one(scattered));
    }

    /// The means of a mode, zeros behind the categories; in rows of twice the width with what a unit adds to each of them.
    fn lay_out(
        &self,
        addend: &AddendPlan,
        mode: &ModePlan,
        own: Option<&OwnPlan>,
        (width, stride): (usize, usize),
        rows: &mut Vec<f64>,
    ) {
        let (length, categories) = (addend.row_length(mode), addend.categories);
        let means = self.factor(mode.factor);
        let of_own = own.map(|own| [own.mass, own.prior].map(|node| self.values[node.index()].as_ref()));
        if rows.len() != mode.rows * stride {
            *rows = vec![0.0; mode.rows * stride];
        }
        let each = (CHUNK / width).max(1);
        self.work.threads.for_each_chunk(rows, each * stride, |chunk, rows| {
            for (place, row) in rows.chunks_exact_mut(stride).enumerate() {
                let number = chunk * each + place;
                let means = &means[number * length..number * length + categories];
                row[..categories].copy_from_slice(means);
                let Some([masses, priors]) = of_own else { continue };
                let masses = &masses[number * categories..(number + 1) * categories];
                for (out, (mean, mass)) in row[width..].iter_mut().zip(scales(means, masses, priors)) {
                    *out = mean / mass;
                }
            }
        });
    }

    /// What a unit adds to the means of a mode, where it is the same for all rows, but for rounding. The rows of the first mode, which
    /// are read once for several entries, always hold it.
    fn scales(&self, addend: &AddendPlan, place: usize, own: Option<&OwnPlan>, width: usize) -> Vec<f64> {
        let (mode, categories) = (&addend.modes[place], addend.categories);
        let mut common = vec![0.0; width];
        let Some(own) = own else { return common };
        if place == 0 || mode.rows == 0 {
            return Vec::new();
        }
        let means = self.factor(mode.factor);
        let [masses, priors] = [own.mass, own.prior].map(|node| self.values[node.index()].as_ref());
        let length = addend.row_length(mode);
        let row = |number: usize| {
            let (means, masses) = (&means[number * length..], &masses[number * categories..]);
            scales(&means[..categories], &masses[..categories], priors)
        };
        for (out, (mean, mass)) in common.iter_mut().zip(row(0)) {
            *out = mean / mass;
        }
        let is_common = AtomicBool::new(true);
        let each = (CHUNK / width).max(1);
        self.work.threads.for_each(mode.rows.div_ceil(each), |chunk| {
            let mut rows = chunk * each..mode.rows.min((chunk + 1) * each);
            let agrees = |number: usize| {
                row(number)
                    .zip(&common)
                    .all(|((mean, mass), scale)| (mean - mass * scale).abs() <= ROUNDING * mean.abs())
            };
            if is_common.load(Ordering::Relaxed) && !rows.all(agrees) {
                is_common.store(false, Ordering::Relaxed);
            }
        });
        if is_common.into_inner() { common } else { Vec::new() }
    }

    /// The greatest mass of each category, not below 0.
    fn greatest(&self, masses: &[f64], categories: usize) -> Vec<f64> {
        let each = (CHUNK / categories.max(1)).max(1) * categories.max(1);
        let of_chunk = |chunk: usize| {
            let mut most = vec![0.0_f64; categories];
            let rows = masses[chunk * each..masses.len().min((chunk + 1) * each)].chunks_exact(categories);
            for row in rows {
                most.iter_mut().zip(row).for_each(|(most, mass)| *most = most.max(*mass));
            }
            most
        };
        let of_chunks = self.work.threads.map(masses.len().div_ceil(each), of_chunk);
        let larger =
            |most: Vec<f64>, own: Vec<f64>| most.iter().zip(own).map(|(most, own)| most.max(own)).collect();
        of_chunks.into_iter().fold(vec![0.0; categories], larger)
    }

    /// What the modes have by categories.
    fn by_category(&self, addend: &AddendPlan, own: &[Option<OwnPlan>], width: usize) -> ByCategory {
        let (mut priors, mut totals) = (Vec::new(), Vec::new());
        let scales = own
            .iter()
            .enumerate()
            .map(|(place, own)| self.scales(addend, place, own.as_ref(), width))
            .collect();
        for own in own {
            let mut prior = vec![0.0; width];
            let mut total = Vec::new();
            if let Some(own) = own {
                let most = self.greatest(&self.values[own.mass.index()], addend.categories);
                let priors = self.values[own.prior.index()].iter().zip(most);
                for (out, (prior, most)) in prior.iter_mut().zip(priors) {
                    // No quotient is less than the least that the rule knows.
                    let least = if most.is_finite() { f64::EPSILON * most } else { 0.0 };
                    *out = prior.max(least);
                }
                if let Some(own) = &own.total {
                    total.resize(2 * width, 0.0);
                    let [mass, prior] = [own.mass, own.prior].map(|node| &self.values[node.index()]);
                    for (place, (mass, prior)) in mass.iter().zip(prior.iter()).enumerate() {
                        let inverse = 1.0 / mass.max(*prior);
                        total[place] = inverse;
                        total[width + place] = 1.0 - (prior * inverse).max(f64::EPSILON);
                    }
                }
            }
            priors.push(prior);
            totals.push(total);
        }
        ByCategory { priors, scales, totals }
    }

    /// The entries whose sums leave the range of doubles, in logarithms. Returns those that have no allocation at all, in ascending order.
    fn rare_shares(
        &mut self,
        plan: &SitePlan,
        own: &[Option<OwnPlan>],
        rare: &[usize],
        state: &SiteState,
        counts: &mut [Option<Vec<f64>>],
    ) -> Vec<usize> {
        let addend = &plan.addends[0];
        if !rare.is_empty() {
            addend.modes.iter().for_each(|mode| self.evaluate(mode.log_factor));
        }
        let mut lost = Vec::new();
        for entry in rare {
            let weight = self.values[plan.weight.index()][state.entry(*entry)];
            let row = |place: usize| state.pattern(0).index(place, *entry);
            let mut logs = Scratch::zeros(addend.categories);
            for (place, mode) in addend.modes.iter().enumerate() {
                let values = &self.values[mode.log_factor.index()];
                let length = values.len() / mode.rows;
                let values = &values[row(place) * length..];
                logs.iter_mut().zip(values).for_each(|(log, value)| *log += value);
            }
            let partition = special::log_sum_exp(&logs);
            if partition == f64::NEG_INFINITY && addend.categories > 1 {
                lost.push(*entry);
                continue;
            }
            let unit = weight.min(1.0);
            for category in 0..addend.categories {
                let share = unit * special::exp(logs[category] - partition);
                for (place, own) in own.iter().enumerate() {
                    let Some(own) = own else { continue };
                    let at =
                        |node: crate::plan::tensor::NodeId, place: usize| self.values[node.index()][place];
                    let mass = at(own.mass, row(place) * addend.categories + category);
                    logs[category] += log_left(share, mass, at(own.prior, category));
                    if let Some(total) = &own.total {
                        logs[category] -=
                            log_left(share, at(total.mass, category), at(total.prior, category));
                    }
                }
            }
            let partition = special::log_sum_exp(&logs);
            for (place, (counts, mode)) in counts.iter_mut().zip(&addend.modes).enumerate() {
                let Some(counts) = counts else { continue };
                let counts = &mut counts[row(place) * addend.row_length(mode)..];
                for (count, log) in counts.iter_mut().zip(logs.iter()) {
                    // A sum of one category leaves no choice, whatever its weight.
                    let share = if addend.categories == 1 { 1.0 } else { special::exp(log - partition) };
                    *count += weight * share;
                }
            }
        }
        lost.sort_unstable();
        lost
    }
}

/// The means of a row with their masses, which are no less than what stays of them.
fn scales<'v>(
    means: &'v [f64],
    masses: &'v [f64],
    priors: &'v [f64],
) -> impl Iterator<Item = (f64, f64)> + 'v {
    means.iter().zip(masses.iter().zip(priors)).map(|(mean, (mass, prior))| (*mean, mass.max(*prior)))
}

/// So far quotients of a mean and its mass may be apart that are one number: each is rounded a few times.
const ROUNDING: f64 = 1e-14;

/// `log max(1 - share / mass, min(prior / mass, 1), 2^-52)`
fn log_left(share: f64, mass: f64, prior: f64) -> f64 {
    cavi_families::functions::apply(cavi_algebra::Function::LogLeft, &[share / mass, prior / mass])
}
