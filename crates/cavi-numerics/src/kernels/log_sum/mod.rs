//! The fused pass over a sparse pattern.
//!
//! For every entry `e` with weight `x_e`:
//!
//! ```text
//! s_e                 = c_e + sum_k prod_i G_i[idx_i(e), k]
//! r_e                 = x_e / s_e
//! acc_i[idx_i(e), k] += r_e prod_{j != i} G_j[idx_j(e), k]
//! total              += x_e (ln s_e + o_e)
//! ```
//!
//! `k` runs over a contiguous row of each factor. Entries of weight 0 contribute nothing. An entry whose `s_e` is below
//! [`LogSum::least`] or not finite is left out, and its position returned, so that the caller may treat it in logarithms.
//!
//! Where the products of an entry have not moved since its sum over `k` was taken, [`ratios`] does the first two lines and
//! the last from that sum, and [`log_sum`] with these ratios ([`LogSum::ratios`]) the third alone. [`log_sum_rows`] does the
//! first three for some rows of the first mode, with the bits of the whole.

mod any;
mod block;
mod collapsed;
mod known;
mod narrow;
mod pass;
mod products;
mod rounds;
mod rows;
mod visit;

#[cfg(test)]
mod tests;

pub use collapsed::{MOST_MODES as MOST_MODES_COLLAPSED, Own, width_of};
pub use known::{Known, ratios};
pub use narrow::{least_of_narrow, least_of_scaled, narrow, narrow_rows, power_of_two};
pub use rows::log_sum_rows;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::pattern::{self, Pattern};
use crate::pages::{bring, give_back};
use crate::{InstructionSet, Threads, instruction_set};

/// The rows `G_i[., k]` of one mode: row `index` begins at `index * stride`.
///
/// Fastest are strides of a multiple of eight values in all modes but the first. Any finite numbers may stand behind
/// the `length` values of such a row: they are multiplied by zeros. What is accumulated there has no meaning.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    /// The rows, each of `stride` values of which the first `length` ([`LogSum::length`]) count.
    pub values: Values<'a>,
    /// The distance between the beginnings of two rows.
    pub stride: usize,
}

/// The values of a factor in memory; sums are doubles in any case. Single precision is for patterns of two modes, and both.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// In double precision.
    Double(&'a [f64]),
    /// In single precision: half the bytes to gather.
    Single(&'a [f32]),
}

impl<'a> From<&'a [f64]> for Values<'a> {
    fn from(values: &'a [f64]) -> Values<'a> {
        Values::Double(values)
    }
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(values: &'a [f32]) -> Values<'a> {
        Values::Single(values)
    }
}

impl Values<'_> {
    fn is_double(&self) -> bool {
        matches!(self, Values::Double(_))
    }

    fn len(&self) -> usize {
        match self {
            Values::Double(values) => values.len(),
            Values::Single(values) => values.len(),
        }
    }

    /// The first value, of the type that the values have.
    fn pointer<T>(&self) -> *const T {
        match self {
            Values::Double(values) => values.as_ptr().cast(),
            Values::Single(values) => values.as_ptr().cast(),
        }
    }
}

/// What [`log_sum`] reads.
#[derive(Clone, Copy, Debug)]
pub struct LogSum<'a> {
    /// The coordinates of the entries.
    pub pattern: &'a Pattern<'a>,
    /// One factor a mode of the pattern.
    pub factors: &'a [Factor<'a>],
    /// The number of values `k` takes.
    pub length: usize,
    /// The weight `x_e` of each entry.
    pub weights: &'a [f64],
    /// The addend `c_e` of each entry; 0 if absent.
    pub addends: Option<&'a [f64]>,
    /// The offset `o_e` of each entry's logarithm; 0 if absent.
    pub offsets: Option<&'a [f64]>,
    /// The ratios `r_e`, where they are known: only accumulators are then wanted, and no entry is left out.
    pub ratios: Option<&'a [f64]>,
    /// An entry whose `s_e` is less is left out; at least [`LEAST`].
    pub least: f64,
    /// What allocations that leave their own shares out read besides: counts are then what is accumulated, and neither ratios nor
    /// sums nor the total can be wanted.
    pub own: Option<Own<'a>>,
}

/// One for each mode, if it is wanted. The list is on the heap only if there are more modes than usual.
pub type Accumulators<'a> = SmallVec<[Option<&'a mut [f64]>; 4]>;

/// What [`log_sum`] writes or adds to. `Outputs::default()` asks for the entries left out alone.
#[derive(Debug, Default)]
pub struct Outputs<'a> {
    /// One a mode, added to, with the stride of that mode's factor; `None` (or a shorter list) where not wanted.
    pub accumulators: Accumulators<'a>,
    /// `r_e` of each entry, 0 where the weight is 0 or the entry is left out.
    pub ratios: Option<&'a mut [f64]>,
    /// `s_e - c_e`, the sum over `k`, of each entry, whatever its weight.
    pub sums: Option<&'a mut [f64]>,
    /// Whether the total is wanted, which takes a logarithm an entry.
    pub total: bool,
}

/// What [`log_sum`] returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// The sum of `x_e (ln s_e + o_e)` over the entries not left out; 0 where it was not wanted.
    pub total: f64,
    /// The positions of the entries left out, ascending.
    pub rare: Vec<usize>,
}

/// Memory that [`log_sum`] keeps between calls: copies of the accumulators that chunks share, at most three of each, and what
/// each chunk works in.
#[derive(Debug, Default)]
pub struct Scratch {
    copies: Vec<f64>,
    desks: Vec<pass::Desk>,
}

impl Scratch {
    /// The bytes that a pass over `pattern` takes, with accumulators of these strides in the modes that have one.
    pub fn bytes(pattern: &Pattern, strides: &[Option<usize>]) -> usize {
        let values: usize =
            pattern.shared_modes().filter_map(|mode| Some(pattern.size(mode) * (*strides.get(mode)?)?)).sum();
        values * pattern.chunks().len().saturating_sub(2) * size_of::<f64>()
    }
}

/// The stack of a thread that asks for pages and does nothing else.
const BRINGING_STACK: usize = 1 << 16;

impl LogSum<'_> {
    /// Brings what a pass reads of these entries.
    fn bring(&self, entries: Range<usize>) {
        self.with_lists(entries, bring, bring);
    }

    /// Gives back what a pass has read of these entries.
    fn give_back(&self, entries: Range<usize>) {
        self.with_lists(entries, give_back, give_back);
    }

    /// Does something with each list that a pass over slabs reads of these entries: of positions, and of values. The rows are those of the grid.
    fn with_lists(&self, entries: Range<usize>, of_positions: fn(&[u32]), of_values: fn(&[f64])) {
        (1..self.pattern.modes())
            .filter_map(|mode| self.pattern.column(mode).get(entries.clone()))
            .for_each(of_positions);
        let lists = [Some(self.weights), self.addends, self.offsets, self.ratios];
        lists.into_iter().flatten().for_each(|own| of_values(&own[entries.clone()]));
    }
}

/// Below this `s_e` is too near to zero for its reciprocal.
pub const LEAST: f64 = 1e-250;

/// Runs the pass. See the [module](self) for the formula.
///
/// The chunks of the pattern run in parallel. The first adds to the accumulators themselves, the others to copies that
/// are then added in order. The accumulators of the first mode need no copies if its indices are sorted, nor do those of
/// the second on a grid, where chunks that run together are in different groups.
///
/// # Panics
/// If a slice is too short for the pattern.
pub fn log_sum(input: &LogSum, outputs: Outputs, scratch: &mut Scratch, threads: &Threads) -> Totals {
    log_sum_on(instruction_set(), input, outputs, scratch, threads)
}

fn log_sum_on(
    set: InstructionSet,
    input: &LogSum,
    mut outputs: Outputs,
    scratch: &mut Scratch,
    threads: &Threads,
) -> Totals {
    let (entries, modes) = (input.pattern.len(), input.pattern.modes());
    outputs.accumulators.resize_with(modes, || None);
    check(input, &outputs);
    if entries == 0 {
        return Totals::default();
    }
    let by_products = input.pattern.is_filled() && input.own.is_none() && factors_are_finite(input, threads);
    // Products need no column of a whole matrix, a visit of its entries does.
    let with_columns = if by_products { None } else { input.pattern.with_all_columns() };
    let input = &LogSum { pattern: with_columns.as_ref().unwrap_or(input.pattern), ..*input };
    let pattern = input.pattern;
    let bounds = pattern.chunks();
    let chunks = bounds.len() - 1;

    // One copy of each private accumulator for each chunk but the first: the mode, and its place in the copy.
    let mut private: SmallVec<[(usize, Range<usize>); 4]> = SmallVec::new();
    let mut copy_length = 0;
    if chunks > 1 {
        for mode in pattern.shared_modes() {
            if let Some(accumulator) = &outputs.accumulators[mode] {
                let length = accumulator.len().min(pattern.size(mode) * input.factors[mode].stride);
                private.push((mode, copy_length..copy_length + length));
                copy_length += length;
            }
        }
    }
    let needed = copy_length * (chunks - 1);
    let Scratch { copies, desks } = scratch;
    if copies.len() < needed {
        copies.resize(needed, 0.0);
    }
    let mut rest = &mut copies[..needed];
    let pointer = |accumulator: &mut Option<&mut [f64]>| {
        accumulator.as_mut().map_or(std::ptr::null_mut(), |accumulator| accumulator.as_mut_ptr())
    };
    let first: pass::Pointers = outputs.accumulators.iter_mut().map(pointer).collect();
    let (mut ratios, mut sums) = (outputs.ratios, outputs.sums);
    let mut tasks: SmallVec<[pass::Task; pattern::MOST_ROUNDS]> = SmallVec::new();
    for (chunk, range) in bounds.windows(2).enumerate() {
        let range = range[0]..range[1];
        let copy = rest.split_off_mut(..if chunk == 0 { 0 } else { copy_length }).unwrap_or_default();
        let (ratios, sums) = (split_off(&mut ratios, range.len()), split_off(&mut sums, range.len()));
        let private = if chunk == 0 { &[][..] } else { &private };
        let own = pass::Written { ratios, sums, total: outputs.total };
        let desk = desks.pop().unwrap_or_default();
        tasks.push(pass::Task::new(input, range, first.clone(), private, copy, own, desk));
    }
    let is_padded = is_padded(input, &outputs.accumulators);
    tasks.iter_mut().for_each(|task| task.is_padded = is_padded);
    match pattern.grid() {
        None => {
            threads.for_each_item(&mut tasks, |task| pass::run(set, task, visit::Visit::All));
        }
        Some(grid) => {
            let visit = |task: &mut pass::Task, tile| match by_products {
                true => products::run(set, task, grid, tile),
                false => pass::run(set, task, visit::Visit::Tile { grid, tile }),
            };
            if grid.slabs() == 1 || grid.is_in_strips() {
                rounds::visit(grid, &mut tasks, threads, |_, _| {}, visit);
            } else {
                // The entries of a slab, and then those of the one after each, come from the disk meanwhile if they lie there; those of the
                // one before go. One thread brings them: of sixteen at a time a disk had half the speed.
                std::thread::scope(|scope| {
                    let ahead = |chunks: Range<usize>, slab: usize| {
                        let slabs = slab + usize::from(slab > 0)..grid.slabs().min(slab + 2);
                        let meanwhile = move || {
                            for (chunk, before) in
                                chunks.clone().flat_map(|chunk| Some((chunk, slab.checked_sub(1)?)))
                            {
                                input.give_back(grid.entries_of(chunk, before));
                            }
                            for (slab, chunk) in
                                slabs.flat_map(|slab| chunks.clone().map(move |chunk| (slab, chunk)))
                            {
                                input.bring(grid.entries_of(chunk, slab));
                            }
                        };
                        let thread = std::thread::Builder::new().stack_size(BRINGING_STACK);
                        // Where there is no thread to be had, pages come when they are needed.
                        let _ = thread.spawn_scoped(scope, meanwhile);
                    };
                    rounds::visit(grid, &mut tasks, threads, ahead, visit);
                });
            }
        }
    }
    let mut totals = Totals::default();
    for task in tasks {
        let (mut own, desk) = task.finish();
        desks.push(desk);
        totals.total += own.total;
        totals.rare.append(&mut own.rare);
    }
    totals.rare.sort_unstable();
    let copies = &copies[..needed];
    for (mode, place) in private {
        let accumulator = outputs.accumulators[mode].as_deref_mut().expect("private accumulators are wanted");
        add_copies(&mut accumulator[..place.len()], place.start, copies, copy_length, threads);
    }
    totals
}

/// Whether the rows of every mode but the first are whole vectors, in the factor and in what is accumulated.
fn is_padded(input: &LogSum, accumulators: &[Option<&mut [f64]>]) -> bool {
    let whole = input.length.next_multiple_of(pass::MOST_LANES);
    let mut gathered = input.factors.iter().enumerate().skip(1);
    gathered.all(|(mode, factor)| {
        let needed = input.pattern.size(mode).saturating_sub(1) * factor.stride + whole;
        let accumulated = accumulators.get(mode).and_then(Option::as_ref);
        factor.stride >= whole
            && factor.values.len() >= needed
            && accumulated.is_none_or(|own| own.len() >= needed)
    })
}

/// Whether all factors are finite doubles. An entry that contributes nothing can then be multiplied by zero instead
/// of being skipped.
fn factors_are_finite(input: &LogSum, threads: &Threads) -> bool {
    const LENGTH: usize = 1 << 15;
    input.factors.iter().all(|factor| {
        let Values::Double(values) = factor.values else { return false };
        let all = AtomicBool::new(true);
        threads.for_each(values.len().div_ceil(LENGTH), |part| {
            let values = &values[part * LENGTH..values.len().min((part + 1) * LENGTH)];
            if !values.iter().fold(true, |all, value| all & (value.abs() < f64::INFINITY)) {
                all.store(false, Ordering::Relaxed);
            }
        });
        all.into_inner()
    })
}

/// The door: everything that the pass relies on without looking again.
fn check(input: &LogSum, outputs: &Outputs) {
    let pattern = input.pattern;
    let (entries, modes) = (pattern.len(), pattern.modes());
    assert_eq!(input.factors.len(), modes, "one factor a mode");
    let is_single = |factor: &Factor| matches!(factor.values, Values::Single(_));
    let single = input.factors.iter().filter(|factor| is_single(factor)).count();
    assert!(single == 0 || (single == 2 && modes == 2), "two factors in single precision, or none");
    assert!(input.least >= LEAST, "what is left out has no reciprocal");
    assert!(outputs.accumulators.len() <= modes, "at most one accumulator a mode");
    assert_eq!(input.weights.len(), entries, "one weight an entry");
    assert!(input.addends.is_none_or(|c| c.len() == entries), "one addend an entry");
    assert!(input.offsets.is_none_or(|o| o.len() == entries), "one offset an entry");
    assert!(outputs.ratios.as_ref().is_none_or(|r| r.len() == entries), "one ratio an entry");
    assert!(outputs.sums.as_ref().is_none_or(|s| s.len() == entries), "one sum an entry");
    assert!(input.ratios.is_none_or(|r| r.len() == entries), "one ratio an entry");
    let of_sums = outputs.total || outputs.ratios.is_some() || outputs.sums.is_some();
    assert!(input.ratios.is_none() || !of_sums, "known ratios leave no sum to take");
    if let Some(own) = &input.own {
        assert!(!of_sums && input.ratios.is_none() && input.addends.is_none(), "counts alone");
        assert!((1..=collapsed::MOST_MODES).contains(&modes), "a few modes");
        assert!(own.width == width_of(input.length), "rows of whole vectors");
        let lists = [own.priors, own.scales, own.totals];
        assert!(lists.iter().all(|list| list.len() == modes), "one a mode");
        assert!(own.priors.iter().all(|prior| prior.len() >= own.width), "a prior for each category");
        let whole = |values: &&[f64], times: usize| values.is_empty() || values.len() >= times * own.width;
        assert!(own.scales.iter().all(|scales| whole(scales, 1)), "a scale for each category");
        assert!(own.totals.iter().all(|total| whole(total, 2)), "a total for each category");
        for (mode, factor) in input.factors.iter().enumerate() {
            let needed = pattern.size(mode) * own.stride(mode);
            let is_long = factor.values.is_double() && factor.values.len() >= needed;
            assert!(factor.stride == own.stride(mode) && is_long, "means, and scales where they are by row");
            let accumulator = outputs.accumulators[mode].as_ref();
            assert!(accumulator.is_none_or(|own| own.len() >= needed), "an accumulator has whole rows");
        }
    }
    for (mode, factor) in input.factors.iter().enumerate() {
        let rows = pattern.size(mode);
        let needed = if rows == 0 { 0 } else { (rows - 1) * factor.stride + input.length };
        assert!(rows <= 1 || factor.stride >= input.length, "rows of a factor do not overlap");
        assert!(factor.values.len() >= needed, "a factor has a row for each index");
        let accumulator = outputs.accumulators[mode].as_ref();
        assert!(accumulator.is_none_or(|a| a.len() >= needed), "an accumulator has a row for each index");
    }
}

fn split_off<'a>(values: &mut Option<&'a mut [f64]>, count: usize) -> Option<&'a mut [f64]> {
    let (head, tail) = values.take()?.split_at_mut(count);
    *values = Some(tail);
    Some(head)
}

/// `accumulator += copy_1 + copy_2 + ...`, in this order for each element.
fn add_copies(accumulator: &mut [f64], start: usize, copies: &[f64], copy_length: usize, threads: &Threads) {
    const LENGTH: usize = 1 << 15;
    threads.for_each_chunk(accumulator, LENGTH, |index, values| {
        let start = start + index * LENGTH;
        for copy in copies.chunks_exact(copy_length) {
            for (value, copied) in values.iter_mut().zip(&copy[start..]) {
                *value += copied;
            }
        }
    });
}
