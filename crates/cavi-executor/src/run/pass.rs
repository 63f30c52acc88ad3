//! The pass over the entries of a site: log partitions and expected counts, the allocation itself never stored.
//!
//! With `f_c(e) = exp(offset_a(e)) prod_i G_i[row_i(e), c]` for the categories `c` of addend `a`, the partition of entry `e`
//! is `s_e = sum f_c(e)`, the bound has `sum_e w_e log s_e`, and the counts of a log term are
//! `N[row, c] = G[row, c] sum_{e in row} (w_e / s_e) prod_{others} G`. One kernel does all of this for the addend with the
//! most categories; the others come in as a number for each entry. Entries whose partition leaves the range of doubles are
//! treated one by one in log space.

use std::borrow::Cow;

use cavi_algebra::{BlockId, SiteId};
use cavi_numerics::kernels::contract::{Letters, Operand, Output, Step, contract};
use cavi_numerics::kernels::log_sum::{self, Known, LEAST, LogSum, Outputs, log_sum};
use cavi_numerics::kernels::pattern::Pattern;
use cavi_numerics::{Scratch, Threads, facts, special};
use smallvec::SmallVec;

use super::buffers::Array;
use super::elementwise::zeros;
use super::rows::Column;
use super::single::{self, Narrow};
use super::site_state::SiteState;
use super::state::State;
use crate::plan::site::{AddendPlan, ModePlan, SitePlan};
use crate::plan::tensor::{NodeId, Operation};

/// For each addend, the counts of each of its modes, or terms without a summed letter, that is wanted.
pub(super) type Counts = SmallVec<[SmallVec<[Option<Vec<f64>>; 4]>; 4]>;

/// Entries whose numbers are worked out by one task.
pub(super) const CHUNK: usize = 1 << 14;

impl State<'_> {
    /// Brings a mode's factor up to date. A point is read where it is stored.
    pub(super) fn evaluate_factor(&mut self, node: NodeId) {
        if !matches!(self.work.plan.nodes[node.index()].operation, Operation::Point(..)) {
            self.evaluate(node);
        }
    }

    /// The values of a mode's factor, which is up to date.
    pub(super) fn factor(&self, node: NodeId) -> &[f64] {
        match self.work.plan.nodes[node.index()].operation {
            Operation::Point(block, member) => &self.parameters.blocks[block.index()][member],
            _ => &self.values[node.index()],
        }
    }

    /// Brings the weights in the order of the pass up to date with their node; where one is negative, its entry.
    pub(super) fn weigh(&self, plan: &SitePlan, state: &mut SiteState) -> Result<(), usize> {
        let weights_stamp = Some(self.stamps.nodes[plan.weight.index()]);
        if state.weights_stamp == weights_stamp {
            return Ok(());
        }
        let weights = &self.values[plan.weight.index()];
        if let Some(entry) = facts::first_negative(weights) {
            return Err(entry);
        }
        if let Column::Own(weights) = state.ordered(weights) {
            state.weights = weights.into_values();
        }
        state.weights_stamp = weights_stamp;
        Ok(())
    }

    /// Brings the scales of the addends beside the main one up to date.
    fn rescale(&mut self, plan: &SitePlan, main: usize, state: &mut SiteState) {
        let offsets = plan.addends.iter().filter_map(|addend| addend.offset);
        let newest = offsets.map(|offset| self.newest(offset)).fold(1, u64::max);
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
            self.work.threads.for_each_chunk(scale, CHUNK, |chunk, scale| {
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

    /// The exponential of an offset at each entry, as the product of its numbers. If an intermediate product leaves
    /// the range of doubles there is no number, and the entry is treated in log space.
    fn multiply(
        &mut self,
        addend: &AddendPlan,
        rows: &[Option<Cow<[u32]>>],
        scale: &mut Vec<f64>,
        entries: usize,
    ) {
        addend.single.iter().for_each(|single| self.evaluate(single.factor));
        let factors: SmallVec<[&[f64]; 4]> =
            addend.single.iter().map(|single| self.values[single.factor.index()].as_ref()).collect();
        scale.resize(entries, 0.0);
        self.work.threads.for_each_chunk(scale, CHUNK, |chunk, scale| {
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

    /// The sum of weight times offset over the entries, those at the places in `rare` left out.
    fn offset_total(&self, plan: &SitePlan, offset: NodeId, state: &SiteState, rare: &[usize]) -> f64 {
        let [offsets, weights] = [offset, plan.weight].map(|node| &self.values[node.index()]);
        let mut rare: Vec<usize> = rare.iter().map(|place| state.entry(*place)).collect();
        rare.sort_unstable();
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
        sums: &[(u64, Vec<f64>)],
    ) -> Column<'s> {
        let others: SmallVec<[usize; 4]> = (0..plan.addends.len()).filter(|number| *number != main).collect();
        if let [only] = others.as_slice()
            && plan.addends[*only].categories == 1
            && sums[*only].1.is_empty()
            && !scales[*only].is_empty()
        {
            return Column::Kept(&scales[*only]);
        }
        let mut background = Scratch::any(plan.entries);
        self.work.threads.for_each_chunk(&mut background, CHUNK, |chunk, background| {
            background.fill(0.0);
            for number in &others {
                let categories = plan.addends[*number].categories as f64;
                for (place, background) in background.iter_mut().enumerate() {
                    let entry = chunk * CHUNK + place;
                    *background += at(&scales[*number], entry, 1.0) * at(&sums[*number].1, entry, categories);
                }
            }
        });
        Column::Own(background)
    }

    /// The pass itself: counts of the `targets`, and the total if wanted. Of several addends, sums whose factors have not
    /// moved since they were taken are not taken again.
    pub(super) fn run_pass(
        &mut self,
        id: SiteId,
        plan: &SitePlan,
        targets: &[BlockId],
        wants_total: bool,
        state: &mut SiteState,
    ) -> f64 {
        // Without a category there is no unit to leave out.
        let is_collapsed = !targets.is_empty() && plan.addends[0].categories > 0;
        if let Some(own) = plan.own.as_ref().filter(|_| is_collapsed) {
            // The total is that of the means.
            let total = if wants_total { self.run_pass(id, plan, &[], true, state) } else { 0.0 };
            self.run_collapsed(id, plan, own, targets, state);
            return total;
        }
        let entries = plan.entries;
        let main = plan.main_addend();
        let several = plan.addends.len() > 1;
        let least = single::least(plan, &state.narrow);
        let wanted = |mode: &ModePlan| mode.is_read_by(targets);
        let has_scalars =
            |addend: &AddendPlan| addend.scalars.iter().any(|scalar| targets.contains(&scalar.block));
        if let (Some(main), true) = (main, several) {
            self.rescale(plan, main, state);
            state.sums.resize_with(plan.addends.len(), Default::default);
            for (number, addend) in plan.addends.iter().enumerate() {
                if number != main && !addend.modes.is_empty() {
                    self.addend_sums(plan, number, state);
                }
            }
        }
        if let Some(offset) = main.and_then(|main| plan.addends[main].offset) {
            self.evaluate(offset);
        }
        let mut accumulators = Counts::new();
        for (number, addend) in plan.addends.iter().enumerate() {
            let own = addend.modes.iter().map(|mode| {
                wanted(mode).then(|| self.emptied(id, number, mode.log, mode.rows * addend.row_length(mode)))
            });
            accumulators.push(own.collect());
        }
        let scalars_wanted = plan.addends.iter().any(has_scalars);
        let others_wanted = plan
            .addends
            .iter()
            .enumerate()
            .any(|(number, addend)| Some(number) != main && addend.modes.iter().any(wanted));
        let known = main.is_some_and(|main| several && state.sums[main].0 >= self.newest_factor(plan, main));
        let mut ratios =
            (known || others_wanted || scalars_wanted).then(|| std::mem::take(&mut state.ratios));
        if let Some(ratios) = &mut ratios {
            ratios.resize(entries, 0.0);
        }
        let (mut total, rare) = match main {
            Some(main) => {
                let addend = &plan.addends[main];
                let mut sums = if several { std::mem::take(&mut state.sums[main].1) } else { Vec::new() };
                let background = several.then(|| self.background(plan, main, &state.scales, &state.sums));
                // The offset of the only addend moves no share: it is added to the bound after the pass.
                let offsets = addend.offset.filter(|_| several);
                let offsets = offsets.map(|node| state.ordered(&self.values[node.index()]));
                let weights = self.weights(plan, &state.weights);
                let (addends, offsets) = (background.as_deref(), offsets.as_deref());
                let mut totals = match &mut ratios {
                    Some(ratios) if known => {
                        let known = Known { sums: &sums, weights, addends, offsets, least };
                        let totals = log_sum::ratios(&known, wants_total, ratios, &self.work.threads);
                        let own = &mut accumulators[main];
                        let stored = (&state.patterns[..], &state.narrow[..]);
                        self.accumulate(plan, main, ratios, stored, &mut state.scratch, own);
                        totals
                    }
                    _ => {
                        sums.resize(if several { entries } else { 0 }, 0.0);
                        let input = LogSum {
                            pattern: state.patterns[main]
                                .as_ref()
                                .expect("an addend with modes has a pattern"),
                            factors: &self.factors(addend, &state.narrow[main]),
                            length: addend.categories,
                            weights,
                            addends,
                            offsets,
                            ratios: None,
                            least,
                            own: None,
                        };
                        let outputs = Outputs {
                            accumulators: accumulators[main]
                                .iter_mut()
                                .map(|own| own.as_deref_mut())
                                .collect(),
                            ratios: ratios.as_deref_mut(),
                            sums: several.then_some(&mut sums),
                            total: wants_total,
                        };
                        log_sum(&input, outputs, &mut state.scratch, &self.work.threads)
                    }
                };
                if several {
                    state.sums[main] = (self.newest_factor(plan, main), sums);
                }
                state.sort_by_rows(&mut totals.rare);
                let mut total = totals.total;
                if wants_total {
                    total += self.scale_total(plan, main, &totals.rare, state);
                }
                if let (Some(offset), false, true) = (addend.offset, several, wants_total) {
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
                (total, Scratch::of(&totals.rare))
            }
            // Every addend is one number an entry: log space throughout.
            None => (0.0, (0..entries).collect()),
        };
        if let (Some(main), Some(ratios)) = (main, &ratios) {
            self.other_counts(plan, main, ratios, state, &mut accumulators);
        }
        // Counts: the accumulated ratios times the factor itself.
        for (number, (addend, own)) in plan.addends.iter().zip(&mut accumulators).enumerate() {
            for (place, (mode, own)) in addend.modes.iter().zip(own).enumerate() {
                if let Some(own) = own {
                    let factor = self.factor(mode.factor);
                    let narrow = state.narrow[number].get(place);
                    self.times_factor(own, factor, addend.row_length(mode), narrow);
                }
            }
        }
        let mut scattered = Counts::new();
        for (number, addend) in plan.addends.iter().enumerate() {
            let own = addend.scalars.iter().map(|scalar| {
                let is_wanted = targets.contains(&scalar.block);
                is_wanted.then(|| self.emptied(id, number, scalar.log, scalar.size))
            });
            scattered.push(own.collect());
        }
        if let (Some(_), Some(ratios)) = (main, &ratios) {
            let weights = self.weights(plan, &state.weights);
            for (number, (addend, own)) in plan.addends.iter().zip(&mut scattered).enumerate() {
                for (element, own) in state.elements[number].iter().zip(own) {
                    let Some(own) = own else { continue };
                    let scales = state.scales.get(number).map_or(&[][..], Vec::as_slice);
                    let sums = state.sums.get(number).map_or(&[][..], |sums| &sums.1);
                    let categories = addend.categories as f64;
                    // Where the ratio is 0 the entry has no weight, or is treated in log space.
                    let share = |entry: usize| match ratios[entry] {
                        0.0 => 0.0,
                        _ if !several => weights[entry],
                        ratio => ratio * at(scales, entry, 1.0) * at(sums, entry, categories),
                    };
                    scatter(element, own, &share, &self.work.threads);
                }
            }
        }
        total += self.rare_entries(plan, &rare, state, &mut accumulators, &mut scattered);
        if let Some(ratios) = ratios {
            state.ratios = ratios;
        }
        self.store(id, plan, accumulators, scattered);
        total
    }

    /// As many zeros for the counts of a log term, in the memory of the last ones.
    pub(super) fn emptied(&mut self, id: SiteId, addend: usize, log: usize, length: usize) -> Vec<f64> {
        let last = self.counts_node(id, addend, log);
        let last = last.map(|node| self.values.memory(node.index())).unwrap_or_default();
        let memory = self.memory(last, length);
        zeros(memory, length, &self.work.threads)
    }

    /// The weights of a site in the order of its pass.
    pub(super) fn weights<'s>(&'s self, plan: &SitePlan, ordered: &'s [f64]) -> &'s [f64] {
        if ordered.is_empty() { &self.values[plan.weight.index()] } else { ordered }
    }

    /// The newest state that an addend's factors follow from.
    fn newest_factor(&self, plan: &SitePlan, number: usize) -> u64 {
        plan.addends[number].modes.iter().map(|mode| self.newest(mode.factor)).fold(1, u64::max)
    }

    /// Brings the sums of one addend over its categories, without its offset, up to date.
    fn addend_sums(&self, plan: &SitePlan, number: usize, state: &mut SiteState) {
        let newest = self.newest_factor(plan, number);
        if state.sums[number].0 >= newest {
            return;
        }
        let addend = &plan.addends[number];
        let mut sums = std::mem::take(&mut state.sums[number].1);
        sums.resize(plan.entries, 0.0);
        let input = LogSum {
            pattern: state.patterns[number].as_ref().expect("an addend with modes has a pattern"),
            factors: &self.factors(addend, &state.narrow[number]),
            length: addend.categories,
            weights: self.weights(plan, &state.weights),
            addends: None,
            offsets: None,
            ratios: None,
            least: LEAST,
            own: None,
        };
        let outputs = Outputs { sums: Some(&mut sums), ..Outputs::default() };
        log_sum(&input, outputs, &mut state.scratch, &self.work.threads);
        state.sums[number] = (newest, sums);
    }

    /// Adds the ratios, times the other modes' factors, to the accumulators of one addend.
    fn accumulate(
        &self,
        plan: &SitePlan,
        number: usize,
        ratios: &[f64],
        (patterns, narrow): (&[Option<Pattern>], &[Vec<Narrow>]),
        scratch: &mut log_sum::Scratch,
        accumulators: &mut [Option<Vec<f64>>],
    ) {
        if accumulators.iter().all(Option::is_none) {
            return;
        }
        let addend = &plan.addends[number];
        let input = LogSum {
            pattern: patterns[number].as_ref().expect("an addend with modes has a pattern"),
            factors: &self.factors(addend, &narrow[number]),
            length: addend.categories,
            weights: ratios,
            addends: None,
            offsets: None,
            ratios: Some(ratios),
            least: LEAST,
            own: None,
        };
        let accumulators = accumulators.iter_mut().map(|own| own.as_deref_mut()).collect();
        log_sum(&input, Outputs { accumulators, ..Outputs::default() }, scratch, &self.work.threads);
    }

    /// The accumulated ratios of the addends that the main kernel did not treat.
    fn other_counts(
        &self,
        plan: &SitePlan,
        main: usize,
        ratios: &[f64],
        state: &mut SiteState,
        accumulators: &mut Counts,
    ) {
        for (number, own) in accumulators.iter_mut().enumerate() {
            if number == main || own.iter().all(Option::is_none) {
                continue;
            }
            // Where the ratio is 0 the entry has no weight, or is treated in log space. Without a scale it is 1.
            let scales = &state.scales[number];
            let mut scaled = Scratch::of(ratios);
            let product =
                |(ratio, scale): (&mut f64, &f64)| *ratio = if *ratio == 0.0 { 0.0 } else { *ratio * scale };
            scaled.iter_mut().zip(scales).for_each(product);
            let stored = (&state.patterns[..], &state.narrow[..]);
            self.accumulate(plan, number, &scaled, stored, &mut state.scratch, own);
        }
    }

    /// Puts the counts into the nodes that updates read, in the blocks' own order. Where that is another one, the memory in which
    /// the pass had them is for others.
    pub(super) fn store(&mut self, id: SiteId, plan: &SitePlan, counts: Counts, scattered: Counts) {
        let clock = self.stamps.tick();
        for (number, (counts, scattered)) in counts.into_iter().zip(scattered).enumerate() {
            let addend = &plan.addends[number];
            for (mode, own) in addend.modes.iter().zip(counts) {
                let Some(own) = own else { continue };
                let Some(node) = self.counts_node(id, number, mode.log) else { continue };
                let arranged = mode.counts.as_ref().filter(|_| !mode.counts_in_order());
                let values = if let Some(arrange) = arranged {
                    let shape = &self.work.plan.nodes[node.index()].shape;
                    let mut strides = Letters::from_elem(0, arrange.letters.len());
                    let mut stride = 1;
                    for (index, size) in arrange.output.iter().zip(shape).rev() {
                        strides[index.letter] += stride;
                        stride *= size;
                    }
                    let sizes: Letters<usize> = arrange.sizes().collect();
                    let mut from = Letters::from_elem(Step::Stride(0), sizes.len());
                    // The categories of a padded mode are one letter, the last.
                    let (mut inner, mut padding) = (1, mode.padding);
                    for (letter, size) in sizes.iter().enumerate().rev() {
                        from[letter] = Step::Stride(inner);
                        inner = inner * size + std::mem::take(&mut padding);
                    }
                    let length = shape.iter().product();
                    let mut values = zeros(self.memory(Vec::new(), length), length, &self.work.threads);
                    let operand = Operand { values: &own, steps: from };
                    let steps = strides.into_iter().map(Step::Stride).collect();
                    let output = Output { values: &mut values, steps };
                    contract(&sizes, 1.0, &[operand], output, &self.work.threads);
                    self.keep(own);
                    values
                } else {
                    own
                };
                let values = self.join_whole(node.index(), values);
                let values = match mode.block {
                    Some(block) => self.by_the_copy(block, values),
                    None => values,
                };
                self.values.set(node.index(), values);
                self.stamps.nodes[node.index()] = clock;
            }
            for (scalar, own) in addend.scalars.iter().zip(scattered) {
                let Some(own) = own else { continue };
                let Some(node) = self.counts_node(id, number, scalar.log) else { continue };
                let own = self.join_whole(node.index(), own);
                let own = self.by_the_copy(scalar.block, own);
                self.values.set(node.index(), own);
                self.stamps.nodes[node.index()] = clock;
            }
        }
    }

    /// Counts by the copy: those of a row of weight are divided by its weight, which the factors of q of all its copies
    /// share. A row without weight keeps its factor, and reads nothing.
    fn by_the_copy(&mut self, block: BlockId, counts: Array<'static>) -> Array<'static> {
        let Some(node) = self.work.plan.blocks[block.index()].weight else { return counts };
        if self.work.equations.block(block).is_point() || counts.is_empty() {
            return counts;
        }
        self.evaluate(node);
        let weights = &self.values[node.index()];
        let width = counts.len() / weights.len();
        let mut counts = match counts {
            Array::Own(counts) => counts,
            lent => lent.to_vec(),
        };
        for (row, weight) in counts.chunks_mut(width).zip(weights.iter()) {
            row.iter_mut().for_each(|count| *count = if *weight == 0.0 { 0.0 } else { *count / weight });
        }
        Array::Own(counts)
    }

    /// The node of a log term's counts, if an update reads it.
    fn counts_node(&self, id: SiteId, addend: usize, log: usize) -> Option<NodeId> {
        self.work
            .plan
            .nodes
            .iter()
            .position(|node| node.operation == Operation::Counts(id, addend, log))
            .map(|index| NodeId(index as u32))
    }
}

/// A number of an entry, or the number of every entry where there is no array of them.
fn at(values: &[f64], entry: usize, otherwise: f64) -> f64 {
    if values.is_empty() { otherwise } else { values[entry] }
}

/// `own[element[entry]] += value(entry)`, in order of the entries; elements in order are shared out among the threads.
pub(super) fn scatter(
    element: &[u32],
    own: &mut [f64],
    value: &(impl Fn(usize) -> f64 + Sync),
    threads: &Threads,
) {
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
