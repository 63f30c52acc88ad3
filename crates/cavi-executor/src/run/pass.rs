//! The pass over the entries of a site: log partitions and expected counts, the allocation itself never stored.
//!
//! With `f_c(e) = exp(offset_a(e)) prod_i G_i[row_i(e), c]` for the categories `c` of addend `a`, the partition of entry `e`
//! is `s_e = sum f_c(e)`, the bound has `sum_e w_e log s_e`, and the counts of a log term are
//! `N[row, c] = G[row, c] sum_{e in row} (w_e / s_e) prod_{others} G`. One kernel does all of this for the addend with the
//! most categories; the others come in as a number for each entry. Entries whose partition leaves the range of doubles are
//! treated one by one in log space.

use std::borrow::Cow;

use cavi_algebra::{BlockId, SiteId};
use cavi_numerics::kernels::contract::{Operand, Output, Step, contract};
use cavi_numerics::kernels::log_sum::{Factor, LogSum, Outputs, Scratch, log_sum};
use cavi_numerics::kernels::pattern::{Pattern, by_rows};
use cavi_numerics::{Threads, special};

use super::Executor;
use crate::data::{Bound, BoundArray};
use crate::plan::site::{AddendPlan, ModePlan, Rows, SitePlan};
use crate::plan::tensor::{NodeId, Operation};
use crate::trouble::Trouble;

/// What a site keeps between passes.
pub struct SiteState<'a> {
    /// For each addend, its entries' rows as the kernel reads them; `None` where it has no mode.
    patterns: Vec<Option<Pattern<'a>>>,
    /// For each addend, the rows of the numbers that its offset is the product of.
    single: Vec<Vec<Option<Cow<'a, [u32]>>>>,
    /// For each addend, the elements of its terms without a summed letter.
    elements: Vec<Vec<Cow<'a, [u32]>>>,
    /// The entry at each place of the pass; empty where it visits them as they are, or on a grid.
    order: Vec<u32>,
    /// The weights in that order, and the stamp of the node they were taken from.
    weights: Vec<f64>,
    weights_stamp: Option<u64>,
    scratch: Scratch,
    /// For each addend the exponential of its offset less the main addend's; empty where both are 0.
    scales: Vec<Vec<f64>>,
    /// The state of the offsets that the scales follow from.
    scales_stamp: u64,
    /// The ratio of each entry, where several addends or a count without a summed letter read it.
    ratios: Vec<f64>,
    /// The sum of weight times offset of the only addend, and the state that it follows from.
    offsets: (u64, f64),
    /// The state of the inputs at the last pass.
    stamp: u64,
    /// The blocks whose counts the last pass took.
    targets: Vec<BlockId>,
    /// The sum of weight times log partition at the last pass.
    total: f64,
}

impl<'a> SiteState<'a> {
    /// Before the first pass. Rows that are no coordinates of the data move here from the plan.
    pub fn new(plan: &mut SitePlan, bound: &'a Bound) -> SiteState<'a> {
        let column = |rows: &mut Rows| -> Cow<'a, [u32]> {
            match rows {
                Rows::Coordinate(array, column) => match bound.array(*array) {
                    BoundArray::Sparse { indices, .. } => Cow::Borrowed(indices[*column].as_slice()),
                    BoundArray::Dense { .. } => unreachable!("coordinates belong to sparse arrays"),
                },
                Rows::Own(row) => Cow::Owned(std::mem::take(row)),
            }
        };
        let columns = |addend: &mut AddendPlan| -> Vec<Cow<'a, [u32]>> {
            addend.modes.iter_mut().map(|mode| column(&mut mode.row)).collect()
        };
        let mut all: Vec<Vec<Cow<'a, [u32]>>> = plan.addends.iter_mut().map(columns).collect();
        let main = main_addend(plan);
        let order = main.filter(|main| wants_order(plan, *main)).and_then(|main| {
            let columns: Vec<&[u32]> = all[main].iter().map(|column| column.as_ref()).collect();
            let pairs = columns[0].iter().zip(columns[1]);
            (!pairs.is_sorted()).then(|| by_rows(&columns))
        });
        let order = order.unwrap_or_default();
        let mut elements: Vec<Vec<Cow<'a, [u32]>>> = plan
            .addends
            .iter_mut()
            .map(|addend| addend.scalars.iter_mut().map(|scalar| column(&mut scalar.element)).collect())
            .collect();
        let mut single: Vec<Vec<Option<Cow<'a, [u32]>>>> = plan
            .addends
            .iter_mut()
            .map(|addend| addend.single.iter_mut().map(|single| single.row.as_mut().map(column)).collect())
            .collect();
        if !order.is_empty() {
            let permuted =
                |values: &[u32]| -> Vec<u32> { order.iter().map(|entry| values[*entry as usize]).collect() };
            let others = elements.iter_mut().flatten().chain(single.iter_mut().flatten().flatten());
            for column in all.iter_mut().flatten().chain(others) {
                *column = Cow::Owned(permuted(column));
            }
        }
        let pattern = |(addend, columns): (usize, Vec<Cow<'a, [u32]>>)| {
            let on_grid = Some(addend) == main;
            (!columns.is_empty()).then(|| match on_grid {
                true => Pattern::on_grid(columns, plan.addends[addend].categories),
                false => Pattern::new(columns),
            })
        };
        let patterns = all.into_iter().enumerate().map(pattern).collect();
        SiteState { patterns, single, elements, order, ..SiteState::empty() }
    }

    /// What stands in while a pass runs, and for a site without one.
    pub(super) fn empty() -> SiteState<'a> {
        SiteState {
            patterns: Vec::new(),
            single: Vec::new(),
            elements: Vec::new(),
            order: Vec::new(),
            weights: Vec::new(),
            weights_stamp: None,
            scratch: Scratch::default(),
            scales: Vec::new(),
            scales_stamp: 0,
            offsets: (0, 0.0),
            ratios: Vec::new(),
            stamp: 0,
            targets: Vec::new(),
            total: 0.0,
        }
    }

    /// The bytes of what the pass keeps beside the plan: grids, and entries in another order.
    pub(super) fn bytes(&self) -> usize {
        let patterns = || self.patterns.iter().flatten();
        let grids: usize = patterns().map(Pattern::grid_bytes).sum();
        if self.order.is_empty() {
            return grids;
        }
        let columns: usize = patterns().map(|pattern| pattern.modes() * pattern.len()).sum();
        grids + (self.order.len() + columns) * size_of::<u32>() + self.order.len() * size_of::<f64>()
    }

    /// Values of the entries in the order of the pass.
    fn ordered<'v>(&self, values: &'v [f64]) -> Cow<'v, [f64]> {
        if self.order.is_empty() {
            return Cow::Borrowed(values);
        }
        Cow::Owned(self.order.iter().map(|entry| values[*entry as usize]).collect())
    }

    /// The entry at a place of the pass.
    fn entry(&self, place: usize) -> usize {
        if self.order.is_empty() { place } else { self.order[place] as usize }
    }

    /// The row of each entry in one mode of an addend.
    fn rows(&self, addend: usize, mode: usize) -> &[u32] {
        self.patterns[addend].as_ref().expect("an addend with modes has a pattern").column(mode)
    }
}

/// The addend that the kernel treats: the first of those with the most categories. Where the categories differ from entry
/// to entry, all is done in log space.
fn main_addend(plan: &SitePlan) -> Option<usize> {
    if plan.addends.iter().any(|addend| addend.listed.is_some()) {
        return None;
    }
    (0..plan.addends.len())
        .filter(|addend| !plan.addends[*addend].modes.is_empty())
        .max_by_key(|addend| (plan.addends[*addend].categories, std::cmp::Reverse(*addend)))
}

/// Whether sorting the entries by their rows pays for a second copy of their coordinates and weights: the rows that they
/// gather in the second mode outgrow a cache of a megabyte, and each is gathered many times.
fn wants_order(plan: &SitePlan, main: usize) -> bool {
    const LEAST_BYTES: usize = 1 << 20;
    const LEAST_ENTRIES: usize = 1 << 16;
    let addend = &plan.addends[main];
    let [_, second, ..] = addend.modes.as_slice() else { return false };
    let bytes = second.rows * addend.categories * size_of::<f64>();
    let many = plan.entries >= LEAST_ENTRIES.max(8 * second.rows);
    many && bytes >= LEAST_BYTES && u32::try_from(plan.entries).is_ok()
}

/// Entries whose numbers are worked out by one task.
const CHUNK: usize = 1 << 14;

impl Executor<'_> {
    /// The sum of weight times log partition at the current expectations.
    pub(super) fn site_total(&mut self, id: SiteId) -> f64 {
        let targets = self.next[id.index()].clone();
        let targets: Vec<BlockId> =
            targets.into_iter().filter(|block| self.reads(id.index(), *block)).collect();
        // A negative weight was refused before.
        match self.pass(id, &targets) {
            Ok(()) => self.sites[id.index()].total,
            Err(_) => f64::NAN,
        }
    }

    /// Runs the pass, unless the last one saw the same inputs and took these counts.
    pub(super) fn pass(&mut self, id: SiteId, targets: &[BlockId]) -> Result<(), Trouble> {
        let Some(plan) = self.plan.sites[id.index()].clone() else { return Ok(()) };
        let newest = plan.inputs().into_iter().map(|input| self.newest(input)).fold(1, u64::max);
        let state = &self.sites[id.index()];
        if state.stamp >= newest && targets.iter().all(|target| state.targets.contains(target)) {
            return Ok(());
        }
        self.evaluate(plan.weight);
        plan.addends.iter().flat_map(|addend| &addend.modes).for_each(|mode| self.evaluate(mode.factor));
        let mut state = std::mem::replace(&mut self.sites[id.index()], SiteState::empty());
        let weights_stamp = Some(self.stamps[plan.weight.index()]);
        if state.weights_stamp != weights_stamp {
            let weights = &self.values[plan.weight.index()];
            if let Some(entry) = weights.iter().position(|weight| *weight < 0.0) {
                self.sites[id.index()] = state;
                let block = targets.first().copied().unwrap_or(BlockId(0));
                let reason = format!("the coefficient of a log of a sum is negative at entry {entry}");
                return Err(Trouble { block, copy: Vec::new(), reason });
            }
            if !state.order.is_empty() {
                state.weights = state.ordered(weights).into_owned();
            }
            state.weights_stamp = weights_stamp;
        }
        let total = self.run_pass(id, &plan, targets, &mut state);
        state.total = total;
        state.stamp = newest;
        state.targets = targets.to_vec();
        self.sites[id.index()] = state;
        Ok(())
    }

    /// Brings the scales of the addends beside the main one up to date.
    fn rescale(&mut self, plan: &SitePlan, main: usize, state: &mut SiteState) {
        let offsets: Vec<NodeId> = plan.addends.iter().filter_map(|addend| addend.offset).collect();
        let newest = offsets.iter().map(|offset| self.newest(*offset)).fold(1, u64::max);
        if state.scales_stamp >= newest {
            return;
        }
        let mut scales = std::mem::take(&mut state.scales);
        scales.resize(plan.addends.len(), Vec::new());
        for (number, (addend, scale)) in plan.addends.iter().zip(&mut scales).enumerate() {
            let both = [addend.offset, plan.addends[main].offset];
            if number == main || both == [None; 2] {
                continue;
            }
            if both[1].is_none() && !addend.single.is_empty() {
                self.multiply(addend, &state.single[number], scale, plan.entries);
                continue;
            }
            both.into_iter().flatten().for_each(|offset| self.evaluate(offset));
            let [own, of_main] = both.map(|node| node.map(|node| state.ordered(&self.values[node.index()])));
            scale.resize(plan.entries, 0.0);
            self.threads.for_each_chunk(scale, CHUNK, |chunk, scale| {
                let place = chunk * CHUNK..chunk * CHUNK + scale.len();
                match &own {
                    Some(own) => scale.copy_from_slice(&own[place.clone()]),
                    None => scale.fill(0.0),
                }
                if let Some(of_main) = &of_main {
                    scale.iter_mut().zip(&of_main[place]).for_each(|(scale, main)| *scale -= main);
                }
                special::exp_in_place(scale);
            });
        }
        state.scales = scales;
        state.scales_stamp = newest;
        // What moves is computed anew when it has moved.
        for node in plan.addends.iter().enumerate().filter(|(number, _)| *number != main) {
            if let Some(offset) = node.1.offset
                && self.newest(offset) > 1
            {
                self.forget(&[offset]);
            }
        }
    }

    /// The exponential of an offset at each entry, as the product of its numbers. What leaves the range of doubles on the way
    /// is none, and the entry is then treated in log space.
    fn multiply(
        &mut self,
        addend: &AddendPlan,
        rows: &[Option<Cow<[u32]>>],
        scale: &mut Vec<f64>,
        entries: usize,
    ) {
        addend.single.iter().for_each(|single| self.evaluate(single.factor));
        let factors: Vec<&[f64]> =
            addend.single.iter().map(|single| self.values[single.factor.index()].as_ref()).collect();
        scale.resize(entries, 0.0);
        self.threads.for_each_chunk(scale, CHUNK, |chunk, scale| {
            let place = chunk * CHUNK..chunk * CHUNK + scale.len();
            scale.fill(1.0);
            for (factor, rows) in factors.iter().zip(rows) {
                match rows {
                    None => scale.iter_mut().for_each(|scale| *scale *= factor[0]),
                    Some(rows) => scale
                        .iter_mut()
                        .zip(&rows[place.clone()])
                        .for_each(|(scale, row)| *scale *= factor[*row as usize]),
                }
            }
        });
    }

    /// The sum of weight times offset over the entries, those in `rare` (ascending) left out.
    fn offset_total(&self, plan: &SitePlan, offset: NodeId, state: &SiteState, rare: &[usize]) -> f64 {
        let offsets = state.ordered(&self.values[offset.index()]);
        let weights = self.weights(plan, &state.order, &state.weights);
        let mut total = 0.0;
        for (number, (offsets, weights)) in offsets.chunks(CHUNK).zip(weights.chunks(CHUNK)).enumerate() {
            let mut products = [0.0; CHUNK];
            let products = &mut products[..offsets.len()];
            for ((product, offset), weight) in products.iter_mut().zip(offsets).zip(weights) {
                *product = if *weight == 0.0 { 0.0 } else { weight * offset };
            }
            let first = number * CHUNK;
            let bound = |place: usize| rare.partition_point(|own| *own < place);
            for entry in &rare[bound(first)..bound(first + offsets.len())] {
                products[entry - first] = 0.0;
            }
            total += cavi_numerics::reduce::sum(products);
        }
        total
    }

    /// What the addends beside the main one add to the partition of each entry, relative to the main one's offset. `sums` are
    /// their partitions without offsets; empty where these are the number of categories.
    fn background<'s>(
        &self,
        plan: &SitePlan,
        main: usize,
        scales: &'s [Vec<f64>],
        sums: &[Vec<f64>],
    ) -> Cow<'s, [f64]> {
        let others: Vec<usize> = (0..plan.addends.len()).filter(|number| *number != main).collect();
        if let [only] = others.as_slice()
            && plan.addends[*only].categories == 1
            && sums[*only].is_empty()
            && !scales[*only].is_empty()
        {
            return Cow::Borrowed(&scales[*only]);
        }
        let mut background = vec![0.0; plan.entries];
        self.threads.for_each_chunk(&mut background, CHUNK, |chunk, background| {
            for number in &others {
                let categories = plan.addends[*number].categories as f64;
                for (place, background) in background.iter_mut().enumerate() {
                    let entry = chunk * CHUNK + place;
                    *background += at(&scales[*number], entry, 1.0) * at(&sums[*number], entry, categories);
                }
            }
        });
        Cow::Owned(background)
    }

    fn run_pass(&mut self, id: SiteId, plan: &SitePlan, targets: &[BlockId], state: &mut SiteState) -> f64 {
        let entries = plan.entries;
        let main = main_addend(plan);
        let several = plan.addends.len() > 1;
        let wanted = |block: Option<BlockId>| block.is_some_and(|block| targets.contains(&block));
        let has_scalars =
            |addend: &AddendPlan| addend.scalars.iter().any(|scalar| targets.contains(&scalar.block));
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); plan.addends.len()];
        if let (Some(main), true) = (main, several) {
            self.rescale(plan, main, state);
            for (number, addend) in plan.addends.iter().enumerate() {
                // The main addend's own sums are needed only for its counts of terms without a summed letter.
                if !addend.modes.is_empty() && (number != main || has_scalars(addend)) {
                    sums[number] = self.addend_sums(plan, number, state);
                }
            }
        }
        if let Some(offset) = main.and_then(|main| plan.addends[main].offset) {
            self.evaluate(offset);
        }
        let mut accumulators: Vec<Vec<Option<Vec<f64>>>> = Vec::new();
        for (number, addend) in plan.addends.iter().enumerate() {
            let size = |mode: &ModePlan| mode.rows * addend.categories;
            let own = addend.modes.iter().map(|mode| {
                wanted(mode.block).then(|| self.cleared(self.counts_node(id, number, mode.log), size(mode)))
            });
            accumulators.push(own.collect());
        }
        let scalars_wanted = plan.addends.iter().any(has_scalars);
        let others_wanted = plan.addends.iter().enumerate().any(|(number, addend)| {
            Some(number) != main && addend.modes.iter().any(|mode| wanted(mode.block))
        });
        let mut ratios = (others_wanted || scalars_wanted).then(|| std::mem::take(&mut state.ratios));
        if let Some(ratios) = &mut ratios {
            ratios.resize(entries, 0.0);
        }
        let (mut total, rare) = match main {
            Some(main) => {
                let addend = &plan.addends[main];
                let factors: Vec<Factor> = addend
                    .modes
                    .iter()
                    .map(|mode| Factor {
                        values: &self.values[mode.factor.index()],
                        stride: addend.categories,
                    })
                    .collect();
                let pattern = state.patterns[main].as_ref().expect("an addend with modes has a pattern");
                let background = several.then(|| self.background(plan, main, &state.scales, &sums));
                // The offset of the only addend moves no share: it is added to the bound after the pass.
                let offsets = addend.offset.filter(|_| several);
                let offsets = offsets.map(|node| state.ordered(&self.values[node.index()]));
                let input = LogSum {
                    pattern,
                    factors: &factors,
                    length: addend.categories,
                    weights: self.weights(plan, &state.order, &state.weights),
                    addends: background.as_deref(),
                    offsets: offsets.as_deref(),
                };
                let outputs = Outputs {
                    accumulators: accumulators[main].iter_mut().map(|own| own.as_deref_mut()).collect(),
                    ratios: ratios.as_deref_mut(),
                    sums: None,
                };
                let totals = log_sum(&input, outputs, &mut state.scratch, &self.threads);
                let mut total = totals.total;
                if let (Some(offset), false) = (addend.offset, several) {
                    let newest = self.newest(offset).max(self.newest(plan.weight));
                    if !totals.rare.is_empty() {
                        total += self.offset_total(plan, offset, state, &totals.rare);
                    } else {
                        if state.offsets.0 < newest {
                            state.offsets = (newest, self.offset_total(plan, offset, state, &[]));
                        }
                        total += state.offsets.1;
                    }
                }
                (total, totals.rare)
            }
            // Every addend is one number an entry: log space throughout.
            None => (0.0, (0..entries).collect()),
        };
        if let (Some(main), Some(ratios)) = (main, &ratios) {
            self.other_counts(plan, main, ratios, state, &mut accumulators);
        }
        // Counts: the accumulated ratios times the factor itself.
        for (addend, own) in plan.addends.iter().zip(&mut accumulators) {
            for (mode, own) in addend.modes.iter().zip(own) {
                if let Some(own) = own {
                    let factor = &self.values[mode.factor.index()];
                    self.threads.for_each_chunk(own, CHUNK, |chunk, own| {
                        let factor = &factor[chunk * CHUNK..];
                        own.iter_mut().zip(factor).for_each(|(count, factor)| *count *= factor);
                    });
                }
            }
        }
        let mut scattered: Vec<Vec<Option<Vec<f64>>>> = plan
            .addends
            .iter()
            .map(|addend| {
                addend
                    .scalars
                    .iter()
                    .map(|scalar| targets.contains(&scalar.block).then(|| vec![0.0; scalar.size]))
                    .collect()
            })
            .collect();
        if let (Some(_), Some(ratios)) = (main, &ratios) {
            let weights = self.weights(plan, &state.order, &state.weights);
            for (number, (addend, own)) in plan.addends.iter().zip(&mut scattered).enumerate() {
                for (element, own) in state.elements[number].iter().zip(own) {
                    let Some(own) = own else { continue };
                    let (scales, sums) = (state.scales.get(number), &sums[number]);
                    let scales = scales.map_or(&[][..], Vec::as_slice);
                    let categories = addend.categories as f64;
                    // Where the ratio is 0 the entry has no weight, or is treated in log space.
                    let share = |entry: usize| match ratios[entry] {
                        0.0 => 0.0,
                        _ if !several => weights[entry],
                        ratio => ratio * at(scales, entry, 1.0) * at(sums, entry, categories),
                    };
                    scatter(element, own, &share, &self.threads);
                }
            }
        }
        total += self.rare_entries(plan, &rare, state, &mut accumulators, &mut scattered);
        state.ratios = ratios.unwrap_or_default();
        self.store(id, plan, accumulators, scattered);
        total
    }

    /// Zeros in the memory of the counts that the pass replaces.
    fn cleared(&mut self, counts: Option<NodeId>, length: usize) -> Vec<f64> {
        let old = counts.map(|node| std::mem::take(&mut self.values[node.index()]));
        match old {
            Some(Cow::Owned(mut values)) if values.len() == length => {
                self.threads.for_each_chunk(&mut values, CHUNK, |_, values| values.fill(0.0));
                values
            }
            _ => vec![0.0; length],
        }
    }

    /// The weights of a site in the order of its pass.
    fn weights<'s>(&'s self, plan: &SitePlan, order: &[u32], ordered: &'s [f64]) -> &'s [f64] {
        if order.is_empty() { &self.values[plan.weight.index()] } else { ordered }
    }

    /// The partition of one addend at every entry, without its offset.
    fn addend_sums(&self, plan: &SitePlan, number: usize, state: &mut SiteState) -> Vec<f64> {
        let addend = &plan.addends[number];
        let Some(pattern) = &state.patterns[number] else {
            return vec![addend.categories as f64; plan.entries];
        };
        let factors: Vec<Factor> = addend
            .modes
            .iter()
            .map(|mode| Factor { values: &self.values[mode.factor.index()], stride: addend.categories })
            .collect();
        let mut sums = vec![0.0; plan.entries];
        let input = LogSum {
            pattern,
            factors: &factors,
            length: addend.categories,
            weights: self.weights(plan, &state.order, &state.weights),
            addends: None,
            offsets: None,
        };
        let outputs = Outputs { accumulators: Vec::new(), ratios: None, sums: Some(&mut sums) };
        log_sum(&input, outputs, &mut state.scratch, &self.threads);
        sums
    }

    /// The accumulated ratios of the addends that the main kernel did not treat.
    fn other_counts(
        &self,
        plan: &SitePlan,
        main: usize,
        ratios: &[f64],
        state: &SiteState,
        accumulators: &mut [Vec<Option<Vec<f64>>>],
    ) {
        for (number, addend) in plan.addends.iter().enumerate() {
            if number == main || addend.modes.is_empty() {
                continue;
            }
            // Where the ratio is 0 the entry has no weight, or is treated in log space.
            let scales = &state.scales[number];
            let mut scaled = ratios.to_vec();
            let product =
                |(ratio, scale): (&mut f64, &f64)| *ratio = if *ratio == 0.0 { 0.0 } else { *ratio * scale };
            scaled.iter_mut().zip(scales).for_each(product);
            let table =
                |place: usize| Step::Table { table: state.rows(number, place), scale: addend.categories };
            for (place, own) in accumulators[number].iter_mut().enumerate() {
                let Some(own) = own else { continue };
                let mut operands =
                    vec![Operand { values: &scaled, steps: vec![Step::Stride(1), Step::Stride(0)] }];
                for (other, mode) in addend.modes.iter().enumerate() {
                    if other != place {
                        let values = &self.values[mode.factor.index()];
                        operands.push(Operand { values, steps: vec![table(other), Step::Stride(1)] });
                    }
                }
                let output = Output { values: own, steps: vec![table(place), Step::Stride(1)] };
                contract(&[plan.entries, addend.categories], 1.0, &operands, output, &self.threads);
            }
        }
    }

    /// Entries whose partition leaves the range of doubles, in log space. Returns what they add to the total.
    fn rare_entries(
        &mut self,
        plan: &SitePlan,
        rare: &[usize],
        state: &SiteState,
        counts: &mut [Vec<Option<Vec<f64>>>],
        scattered: &mut [Vec<Option<Vec<f64>>>],
    ) -> f64 {
        if rare.is_empty() {
            return 0.0;
        }
        for addend in &plan.addends {
            addend.modes.iter().for_each(|mode| self.evaluate(mode.log_factor));
            addend.offset.into_iter().for_each(|offset| self.evaluate(offset));
        }
        let mut total = 0.0;
        let mut logs: Vec<f64> = Vec::new();
        for entry in rare {
            let weight = self.values[plan.weight.index()][state.entry(*entry)];
            if weight == 0.0 {
                continue;
            }
            logs.clear();
            for (number, addend) in plan.addends.iter().enumerate() {
                let offset = addend.offset.map_or(0.0, |node| self.values[node.index()][state.entry(*entry)]);
                let of_modes = |category: usize| -> f64 {
                    let log = |(place, mode): (usize, &ModePlan)| {
                        let row = state.rows(number, place)[*entry] as usize;
                        self.values[mode.log_factor.index()][row * addend.categories + category]
                    };
                    addend.modes.iter().enumerate().map(log).sum()
                };
                let own = categories(addend, state.entry(*entry));
                logs.extend(own.map(|(category, log)| offset + log + of_modes(category)));
            }
            let partition = special::log_sum_exp(&logs);
            total += weight * partition;
            // A sum of one category leaves no choice, whatever its weight.
            let only = self.only_category(plan, state, *entry);
            if partition == f64::NEG_INFINITY && only.is_none() {
                continue;
            }
            let mut place = 0;
            for (number, addend) in plan.addends.iter().enumerate() {
                let mut share = 0.0;
                for (category, _) in categories(addend, state.entry(*entry)) {
                    let count = match only {
                        Some(only) => weight * f64::from(only == (number, category)),
                        None => weight * special::exp(logs[place] - partition),
                    };
                    place += 1;
                    share += count;
                    for (place, own) in counts[number].iter_mut().enumerate() {
                        if let Some(own) = own {
                            let row = state.rows(number, place)[*entry] as usize;
                            own[row * addend.categories + category] += count;
                        }
                    }
                }
                for (element, own) in state.elements[number].iter().zip(&mut scattered[number]) {
                    if let Some(own) = own {
                        own[element[*entry] as usize] += share;
                    }
                }
            }
        }
        total
    }

    /// The only category that an entry has, with its addend.
    fn only_category(&self, plan: &SitePlan, state: &SiteState, entry: usize) -> Option<(usize, usize)> {
        let mut only = None;
        for (number, addend) in plan.addends.iter().enumerate() {
            for category in 0..addend.categories {
                let exists = addend.modes.iter().enumerate().all(|(mode, own)| {
                    let row = || state.rows(number, mode)[entry] as usize;
                    !own.membership
                        || self.values[own.factor.index()][row() * addend.categories + category] != 0.0
                });
                if exists && only.replace((number, category)).is_some() {
                    return None;
                }
            }
        }
        only
    }

    /// Puts the counts into the nodes that updates read, in the blocks' own order.
    fn store(
        &mut self,
        id: SiteId,
        plan: &SitePlan,
        counts: Vec<Vec<Option<Vec<f64>>>>,
        scattered: Vec<Vec<Option<Vec<f64>>>>,
    ) {
        self.clock += 1;
        let clock = self.clock;
        for (number, (counts, scattered)) in counts.into_iter().zip(scattered).enumerate() {
            let addend = &plan.addends[number];
            for (mode, own) in addend.modes.iter().zip(counts) {
                let Some(own) = own else { continue };
                let Some(node) = self.counts_node(id, number, mode.log) else { continue };
                let arrange = mode.counts.as_ref().expect("a mode of a block");
                let in_order = arrange.output.iter().enumerate().all(|(place, index)| index.letter == place)
                    && arrange.output.len() == arrange.sizes.len();
                let values = if in_order {
                    own
                } else {
                    let shape = &self.plan.nodes[node.index()].shape;
                    let mut strides = vec![0; arrange.sizes.len()];
                    let mut stride = 1;
                    for (index, size) in arrange.output.iter().zip(shape).rev() {
                        strides[index.letter] += stride;
                        stride *= size;
                    }
                    let mut from = vec![Step::Stride(0); arrange.sizes.len()];
                    let mut inner = 1;
                    for (place, size) in arrange.sizes.iter().enumerate().rev() {
                        from[place] = Step::Stride(inner);
                        inner *= size;
                    }
                    let mut values = vec![0.0; shape.iter().product()];
                    let operand = Operand { values: &own, steps: from };
                    let steps = strides.into_iter().map(Step::Stride).collect();
                    let output = Output { values: &mut values, steps };
                    contract(&arrange.sizes, 1.0, &[operand], output, &self.threads);
                    values
                };
                let values = match mode.block {
                    Some(block) => self.by_the_copy(block, values),
                    None => values,
                };
                self.values[node.index()] = Cow::Owned(values);
                self.stamps[node.index()] = clock;
            }
            for (scalar, own) in addend.scalars.iter().zip(scattered) {
                let Some(own) = own else { continue };
                let Some(node) = self.counts_node(id, number, scalar.log) else { continue };
                let own = self.by_the_copy(scalar.block, own);
                self.values[node.index()] = Cow::Owned(own);
                self.stamps[node.index()] = clock;
            }
        }
    }

    /// Counts by the copy: those of a row of weight are divided by its weight, which the factors of q of all its copies
    /// share. A row without weight keeps its factor, and reads nothing.
    fn by_the_copy(&mut self, block: BlockId, mut counts: Vec<f64>) -> Vec<f64> {
        let Some(node) = self.plan.blocks[block.index()].weight else { return counts };
        if self.equations.block(block).is_point() || counts.is_empty() {
            return counts;
        }
        self.evaluate(node);
        let weights = &self.values[node.index()];
        let width = counts.len() / weights.len();
        for (row, weight) in counts.chunks_mut(width).zip(weights.iter()) {
            row.iter_mut().for_each(|count| *count = if *weight == 0.0 { 0.0 } else { *count / weight });
        }
        counts
    }

    /// The node of a log term's counts, if an update reads it.
    fn counts_node(&self, id: SiteId, addend: usize, log: usize) -> Option<NodeId> {
        self.plan
            .nodes
            .iter()
            .position(|node| node.operation == Operation::Counts(id, addend, log))
            .map(|index| NodeId(index as u32))
    }
}

/// The categories of an addend at an entry, each with the log of what lists it: all of them where nothing does.
fn categories(addend: &AddendPlan, entry: usize) -> impl Iterator<Item = (usize, f64)> {
    let listed = addend.listed.iter().flat_map(move |listed| listed.of(entry));
    let all = if addend.listed.is_some() { 0 } else { addend.categories };
    (0..all).map(|category| (category, 0.0)).chain(listed)
}

/// A number of an entry, or the number of every entry where there is no array of them.
fn at(values: &[f64], entry: usize, otherwise: f64) -> f64 {
    if values.is_empty() { otherwise } else { values[entry] }
}

/// `own[element[entry]] += value(entry)`, in order of the entries; elements in order are shared out among the threads.
fn scatter(element: &[u32], own: &mut [f64], value: &(impl Fn(usize) -> f64 + Sync), threads: &Threads) {
    let size = own.len().div_ceil(16).max(1);
    if !element.is_sorted() {
        element.iter().enumerate().for_each(|(entry, place)| own[*place as usize] += value(entry));
        return;
    }
    threads.for_each_chunk(own, size, |chunk, own| {
        let first = chunk * size;
        let bound = |place: usize| element.partition_point(|own| (*own as usize) < place);
        let (mut entry, end) = (bound(first), bound(first + own.len()));
        while entry < end {
            let place = element[entry];
            let mut sum = 0.0;
            while entry < end && element[entry] == place {
                sum += value(entry);
                entry += 1;
            }
            own[place as usize - first] += sum;
        }
    });
}
