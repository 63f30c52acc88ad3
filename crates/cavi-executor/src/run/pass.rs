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
use cavi_numerics::kernels::pattern::{Pattern, strips};
use cavi_numerics::special;

use super::Executor;
use crate::data::{Bound, BoundArray};
use crate::plan::site::{AddendPlan, ModePlan, Rows, SitePlan};
use crate::plan::tensor::{NodeId, Operation};
use crate::trouble::Trouble;

/// What a site keeps between passes.
pub struct SiteState<'a> {
    /// For each addend, its entries' rows as the kernel reads them; `None` where it has no mode.
    patterns: Vec<Option<Pattern<'a>>>,
    /// The entry at each place of the pass; empty where the pass runs over them as they are.
    order: Vec<u32>,
    /// The weights in that order, and the stamp of the node they were taken from.
    weights: Vec<f64>,
    weights_stamp: Option<u64>,
    scratch: Scratch,
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
        let columns = |addend: &mut AddendPlan| -> Vec<Cow<'a, [u32]>> {
            addend
                .modes
                .iter_mut()
                .map(|mode| match &mut mode.row {
                    Rows::Coordinate(array, column) => match bound.array(*array) {
                        BoundArray::Sparse { indices, .. } => Cow::Borrowed(indices[*column].as_slice()),
                        BoundArray::Dense { .. } => unreachable!("coordinates belong to sparse arrays"),
                    },
                    Rows::Own(row) => Cow::Owned(std::mem::take(row)),
                })
                .collect()
        };
        let mut all: Vec<Vec<Cow<'a, [u32]>>> = plan.addends.iter_mut().map(columns).collect();
        let order = main_addend(plan).filter(|main| wants_strips(plan, *main)).map(|main| {
            let columns: Vec<&[u32]> = all[main].iter().map(|column| column.as_ref()).collect();
            strips(&columns, plan.addends[main].categories)
        });
        let Some(order) = order else {
            let pattern = |columns: Vec<Cow<'a, [u32]>>| (!columns.is_empty()).then(|| Pattern::new(columns));
            return SiteState { patterns: all.into_iter().map(pattern).collect(), ..SiteState::empty() };
        };
        let permuted = |values: &[u32]| -> Vec<u32> {
            order.permutation.iter().map(|entry| values[*entry as usize]).collect()
        };
        for column in all.iter_mut().flatten() {
            *column = Cow::Owned(permuted(column));
        }
        for scalar in plan.addends.iter_mut().flat_map(|addend| &mut addend.scalars) {
            scalar.element = permuted(&scalar.element);
        }
        let pattern = |columns: Vec<Cow<'a, [u32]>>| {
            (!columns.is_empty()).then(|| Pattern::with_chunks(columns, order.chunks.clone()))
        };
        let patterns = all.into_iter().map(pattern).collect();
        SiteState { patterns, order: order.permutation, ..SiteState::empty() }
    }

    /// What stands in while a pass runs.
    fn empty() -> SiteState<'a> {
        SiteState {
            patterns: Vec::new(),
            order: Vec::new(),
            weights: Vec::new(),
            weights_stamp: None,
            scratch: Scratch::default(),
            stamp: 0,
            targets: Vec::new(),
            total: 0.0,
        }
    }

    /// The bytes of what a pass in another order keeps.
    pub(super) fn bytes(&self) -> usize {
        if self.order.is_empty() {
            return 0;
        }
        let columns: usize =
            self.patterns.iter().flatten().map(|pattern| pattern.modes() * pattern.len()).sum();
        (self.order.len() + columns) * size_of::<u32>() + self.order.len() * size_of::<f64>()
    }

    /// Values of the entries in the order of the pass.
    fn ordered(&self, values: &[f64]) -> Vec<f64> {
        if self.order.is_empty() {
            return values.to_vec();
        }
        self.order.iter().map(|entry| values[*entry as usize]).collect()
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

/// The addend that the kernel treats: the first of those with the most categories.
fn main_addend(plan: &SitePlan) -> Option<usize> {
    (0..plan.addends.len())
        .filter(|addend| !plan.addends[*addend].modes.is_empty())
        .max_by_key(|addend| (plan.addends[*addend].categories, std::cmp::Reverse(*addend)))
}

/// Whether visiting the entries in strips pays for a second copy of their coordinates and weights: the rows that they
/// gather in the second mode outgrow a cache of a megabyte, and each is gathered many times.
fn wants_strips(plan: &SitePlan, main: usize) -> bool {
    const LEAST_BYTES: usize = 1 << 20;
    const LEAST_ENTRIES: usize = 1 << 16;
    let addend = &plan.addends[main];
    let [_, second, ..] = addend.modes.as_slice() else { return false };
    let bytes = second.rows * addend.categories * size_of::<f64>();
    let many = plan.entries >= LEAST_ENTRIES.max(8 * second.rows);
    many && bytes >= LEAST_BYTES && u32::try_from(plan.entries).is_ok()
}

/// One addend's arrays during a pass.
struct Share {
    /// The partition of the addend alone at each entry, without its offset.
    sums: Vec<f64>,
}

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
        let plan = self.plan.sites[id.index()].clone();
        let inputs = plan.inputs();
        let mut newest = 1;
        for input in &inputs {
            self.evaluate(*input);
            newest = newest.max(self.stamps[input.index()]);
        }
        let state = &self.sites[id.index()];
        if state.stamp >= newest && targets.iter().all(|target| state.targets.contains(target)) {
            return Ok(());
        }
        if let Some(entry) = self.values[plan.weight.index()].iter().position(|weight| *weight < 0.0) {
            let block = targets.first().copied().unwrap_or(BlockId(0));
            let reason = format!("the coefficient of a log of a sum is negative at entry {entry}");
            return Err(Trouble { block, copy: Vec::new(), reason });
        }
        let mut state = std::mem::replace(&mut self.sites[id.index()], SiteState::empty());
        let total = self.run_pass(id, &plan, targets, &mut state);
        state.total = total;
        state.stamp = newest;
        state.targets = targets.to_vec();
        self.sites[id.index()] = state;
        Ok(())
    }

    fn run_pass(&mut self, id: SiteId, plan: &SitePlan, targets: &[BlockId], state: &mut SiteState) -> f64 {
        let entries = plan.entries;
        let main = main_addend(plan);
        let weights_stamp = Some(self.stamps[plan.weight.index()]);
        if !state.order.is_empty() && state.weights_stamp != weights_stamp {
            state.weights = state.ordered(&self.values[plan.weight.index()]);
            state.weights_stamp = weights_stamp;
        }
        let several = plan.addends.len() > 1;
        let wanted = |block: Option<BlockId>| block.is_some_and(|block| targets.contains(&block));
        let scalars_wanted = plan
            .addends
            .iter()
            .any(|addend| addend.scalars.iter().any(|scalar| targets.contains(&scalar.block)));
        let offset = |executor: &Self, state: &SiteState, addend: usize| -> Option<Vec<f64>> {
            plan.addends[addend].offset.map(|node| state.ordered(&executor.values[node.index()]))
        };
        // The other addends, relative to the main one's offset.
        let mut shares: Vec<Share> = Vec::new();
        let mut relative: Vec<Vec<f64>> = Vec::new();
        let main_offset = main.and_then(|main| offset(self, state, main));
        let mut background = several.then(|| vec![0.0; entries]);
        if several || (main.is_none()) {
            for addend in 0..plan.addends.len() {
                // The main addend's own sums are needed only for its counts of terms without a summed letter.
                let own = plan.addends[addend].scalars.iter().any(|scalar| targets.contains(&scalar.block));
                let sums = if Some(addend) == main && !own {
                    Vec::new()
                } else {
                    self.addend_sums(plan, addend, state)
                };
                let mut scale = offset(self, state, addend).unwrap_or_else(|| vec![0.0; entries]);
                if let Some(main_offset) = &main_offset {
                    scale.iter_mut().zip(main_offset).for_each(|(scale, main)| *scale -= main);
                }
                if main.is_some() {
                    special::exp_in_place(&mut scale);
                    if Some(addend) != main
                        && let Some(background) = &mut background
                    {
                        for ((background, scale), sum) in background.iter_mut().zip(&scale).zip(&sums) {
                            *background += scale * sum;
                        }
                    }
                }
                shares.push(Share { sums });
                relative.push(scale);
            }
        }
        let mut accumulators: Vec<Vec<Option<Vec<f64>>>> = Vec::new();
        for (number, addend) in plan.addends.iter().enumerate() {
            let size = |mode: &ModePlan| mode.rows * addend.categories;
            let own = addend.modes.iter().map(|mode| {
                wanted(mode.block).then(|| self.cleared(self.counts_node(id, number, mode.log), size(mode)))
            });
            accumulators.push(own.collect());
        }
        let weights = self.weights(plan, &state.order, &state.weights);
        let mut ratios = (several || scalars_wanted).then(|| vec![0.0; entries]);
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
                let input = LogSum {
                    pattern,
                    factors: &factors,
                    length: addend.categories,
                    weights,
                    addends: background.as_deref(),
                    offsets: main_offset.as_deref(),
                };
                let outputs = Outputs {
                    accumulators: accumulators[main].iter_mut().map(|own| own.as_deref_mut()).collect(),
                    ratios: ratios.as_deref_mut(),
                    sums: None,
                };
                let totals = log_sum(&input, outputs, &mut state.scratch, &self.threads);
                (totals.total, totals.rare)
            }
            // Every addend is one number an entry: log space throughout.
            None => (0.0, (0..entries).collect()),
        };
        if let (Some(main), Some(ratios)) = (main, &ratios) {
            self.other_counts(plan, main, &relative, ratios, state, &mut accumulators);
        }
        // Counts: the accumulated ratios times the factor itself.
        for (addend, own) in plan.addends.iter().zip(&mut accumulators) {
            for (mode, own) in addend.modes.iter().zip(own) {
                if let Some(own) = own {
                    let factor = self.values[mode.factor.index()].iter();
                    own.iter_mut().zip(factor).for_each(|(count, factor)| *count *= factor);
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
                for (scalar, own) in addend.scalars.iter().zip(own) {
                    let Some(own) = own else { continue };
                    for entry in 0..entries {
                        let share = if ratios[entry] == 0.0 {
                            0.0
                        } else if several {
                            ratios[entry] * relative[number][entry] * shares[number].sums[entry]
                        } else {
                            weights[entry]
                        };
                        own[scalar.element[entry] as usize] += share;
                    }
                }
            }
        }
        total += self.rare_entries(plan, &rare, state, &mut accumulators, &mut scattered);
        self.store(id, plan, accumulators, scattered);
        total
    }

    /// Zeros in the memory of the counts that the pass replaces.
    fn cleared(&mut self, counts: Option<NodeId>, length: usize) -> Vec<f64> {
        let old = counts.map(|node| std::mem::take(&mut self.values[node.index()]));
        match old {
            Some(Cow::Owned(mut values)) if values.len() == length => {
                values.fill(0.0);
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
        relative: &[Vec<f64>],
        ratios: &[f64],
        state: &SiteState,
        accumulators: &mut [Vec<Option<Vec<f64>>>],
    ) {
        for (number, addend) in plan.addends.iter().enumerate() {
            if number == main || addend.modes.is_empty() {
                continue;
            }
            // Where the ratio is 0 the entry has no weight, or is treated in log space.
            let product = |(ratio, scale): (&f64, &f64)| if *ratio == 0.0 { 0.0 } else { ratio * scale };
            let scaled: Vec<f64> = ratios.iter().zip(&relative[number]).map(product).collect();
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
        for mode in plan.addends.iter().flat_map(|addend| &addend.modes) {
            self.evaluate(mode.log_factor);
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
                for category in 0..addend.categories {
                    let log: f64 = addend
                        .modes
                        .iter()
                        .enumerate()
                        .map(|(place, mode)| {
                            let row = state.rows(number, place)[*entry] as usize;
                            let place = row * addend.categories + category;
                            self.values[mode.log_factor.index()][place]
                        })
                        .sum();
                    logs.push(offset + log);
                }
            }
            let partition = special::log_sum_exp(&logs);
            total += weight * partition;
            if partition == f64::NEG_INFINITY {
                continue;
            }
            let mut place = 0;
            for (number, addend) in plan.addends.iter().enumerate() {
                let mut share = 0.0;
                for category in 0..addend.categories {
                    let count = weight * special::exp(logs[place] - partition);
                    place += 1;
                    share += count;
                    for (place, own) in counts[number].iter_mut().enumerate() {
                        if let Some(own) = own {
                            let row = state.rows(number, place)[*entry] as usize;
                            own[row * addend.categories + category] += count;
                        }
                    }
                }
                for (scalar, own) in addend.scalars.iter().zip(&mut scattered[number]) {
                    if let Some(own) = own {
                        own[scalar.element[*entry] as usize] += share;
                    }
                }
            }
        }
        total
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
