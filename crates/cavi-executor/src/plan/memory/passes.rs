//! The memory of one pass over the entries of a site, as `run/pass.rs` and `run/collapsed.rs`.

use cavi_algebra::{BlockId, SiteId};
use cavi_numerics::kernels::log_sum::width_of;
use smallvec::SmallVec;

use super::Walk;
use crate::plan::precision::Stored;
use crate::plan::site::{AddendPlan, ModePlan, OwnPlan, SitePlan};
use crate::plan::tensor::{NodeId, Operation};

/// For each addend the room for the counts of its modes, or terms without a summed letter, that are wanted.
type Counts = Vec<Vec<Option<usize>>>;

impl Walk<'_> {
    /// A point is read where it is stored.
    pub(super) fn evaluate_factor(&mut self, node: NodeId) {
        if !matches!(self.plan.nodes[node.index()].operation, Operation::Point(..)) {
            self.evaluate(node);
        }
    }

    /// As `Sites::pass`.
    pub(super) fn pass(&mut self, id: SiteId, targets: &[BlockId], wants_total: bool) {
        let Some(plan) = self.plan.sites[id.index()].clone() else { return };
        let newest = self.stamps.newest_of(self.plan, plan.inputs());
        if self.sites[id.index()].last.serves(newest, targets, wants_total) {
            return;
        }
        self.evaluate(plan.weight);
        for mode in plan.addends.iter().flat_map(|addend| &addend.modes) {
            self.evaluate_factor(mode.factor);
        }
        let site = &mut self.sites[id.index()];
        match self.stamps.newest(self.plan, plan.weight) {
            moved if moved > 1 => site.keep_rows(),
            _ => site.count_pass(&mut self.heap),
        }
        site.weigh(self.stamps.nodes[plan.weight.index()], &mut self.heap);
        self.narrow(id, &plan);
        self.run_pass(id, &plan, targets, wants_total);
        self.sites[id.index()].last.took(newest, targets, wants_total.then_some(0.0));
    }

    /// As `State::narrow`, with the weights of rows.
    fn narrow(&mut self, id: SiteId, plan: &SitePlan) {
        for (number, addend) in plan.addends.iter().enumerate() {
            for (place, mode) in addend.modes.iter().enumerate() {
                let each = match addend.stored {
                    Stored::Double => 0,
                    Stored::Plain => addend.row_length(mode) * size_of::<f32>(),
                    Stored::Scaled => {
                        addend.row_length(mode) * size_of::<f32>() + size_of::<i32>() + size_of::<f64>()
                    }
                };
                if !std::mem::replace(&mut self.sites[id.index()].narrow[number][place], true) {
                    self.heap.take(mode.rows * each);
                }
            }
        }
    }

    /// As `State::run_pass`.
    fn run_pass(&mut self, id: SiteId, plan: &SitePlan, targets: &[BlockId], wants_total: bool) {
        let is_collapsed = !targets.is_empty() && plan.addends[0].categories > 0;
        if let Some(own) = plan.own.as_ref().filter(|_| is_collapsed) {
            if wants_total {
                self.run_pass(id, plan, &[], true);
            }
            return self.run_collapsed(id, plan, own, targets);
        }
        let main = plan.main_addend();
        let several = plan.addends.len() > 1;
        let wanted = |mode: &ModePlan| mode.is_read_by(targets);
        if let (Some(main), true) = (main, several) {
            self.rescale(id, plan, main);
            for number in (0..plan.addends.len()).filter(|number| *number != main) {
                self.addend_sums(id, plan, number);
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
        let scalars_wanted = plan.addends.iter().flat_map(|addend| &addend.scalars);
        let scalars_wanted = { scalars_wanted }.any(|scalar| targets.contains(&scalar.block));
        let mut others = plan.addends.iter().enumerate().filter(|(number, _)| Some(*number) != main);
        let others_wanted = others.any(|(_, addend)| addend.modes.iter().any(wanted));
        let newest_of = |own: &Self, number: usize| own.newest_factor(&plan.addends[number]);
        let known =
            main.is_some_and(|main| several && self.sites[id.index()].sums[main].0 >= newest_of(self, main));
        let takes_ratios = known || others_wanted || scalars_wanted;
        if takes_ratios {
            let site = &mut self.sites[id.index()];
            site.ratios = site.numbers(site.ratios, &mut self.heap);
        }
        match main {
            Some(main) => {
                let background = several && !self.has_plain_background(plan, main);
                let background = background.then(|| self.heap.scratch(plan.entries));
                let offsets = plan.addends[main].offset.filter(|_| several);
                let offsets = offsets.and_then(|_| self.sites[id.index()].ordered(&mut self.heap));
                if several {
                    let newest = newest_of(self, main);
                    let site = &mut self.sites[id.index()];
                    site.sums[main] = (newest, site.numbers(site.sums[main].1, &mut self.heap));
                }
                self.copies(id, plan, main, targets);
                offsets.into_iter().chain(background).for_each(|room| self.heap.keep(room));
            }
            None => self.heap.places_between([plan.entries]),
        }
        if others_wanted && main.is_some() && takes_ratios {
            for number in (0..plan.addends.len()).filter(|number| Some(*number) != main) {
                if plan.addends[number].modes.iter().any(wanted) {
                    let scaled = self.heap.scratch(plan.entries);
                    self.copies(id, plan, number, targets);
                    self.heap.keep(scaled);
                }
            }
        }
        let mut scattered = Counts::new();
        for (number, addend) in plan.addends.iter().enumerate() {
            let own = addend.scalars.iter().map(|scalar| {
                targets.contains(&scalar.block).then(|| self.emptied(id, number, scalar.log, scalar.size))
            });
            scattered.push(own.collect());
        }
        self.store(id, plan, accumulators, scattered);
    }

    /// The copies of what is accumulated in an addend.
    fn copies(&mut self, id: SiteId, plan: &SitePlan, number: usize, targets: &[BlockId]) {
        let addend = &plan.addends[number];
        let modes: Vec<(usize, Option<usize>)> = addend
            .modes
            .iter()
            .map(|mode| (mode.rows, mode.is_read_by(targets).then(|| addend.row_length(mode))))
            .collect();
        self.sites[id.index()].copy(number, &modes, &mut self.heap);
    }

    /// As `State::rescale`.
    fn rescale(&mut self, id: SiteId, plan: &SitePlan, main: usize) {
        let offsets: SmallVec<[NodeId; 4]> = plan.addends.iter().filter_map(|addend| addend.offset).collect();
        let newest = self.stamps.newest_of(self.plan, offsets.iter().copied());
        if self.sites[id.index()].scales_stamp >= newest {
            return;
        }
        for (number, addend) in plan.addends.iter().enumerate() {
            let both = [addend.offset, plan.addends[main].offset];
            if number == main || both == [None; 2] {
                continue;
            }
            if both[1].is_none() && !addend.single.is_empty() {
                addend.single.iter().for_each(|single| self.evaluate(single.factor));
            } else {
                both.into_iter().flatten().for_each(|offset| self.evaluate(offset));
                let own: Vec<usize> = both
                    .iter()
                    .flatten()
                    .filter_map(|_| self.sites[id.index()].ordered(&mut self.heap))
                    .collect();
                own.into_iter().for_each(|room| self.heap.keep(room));
            }
            let site = &mut self.sites[id.index()];
            site.scales[number] = site.numbers(site.scales[number], &mut self.heap);
        }
        self.sites[id.index()].scales_stamp = newest;
        for (_, addend) in plan.addends.iter().enumerate().filter(|(number, _)| *number != main) {
            if let Some(offset) = addend.offset
                && self.stamps.newest(self.plan, offset) > 1
            {
                self.forget(&[offset]);
            }
        }
    }

    /// As `State::addend_sums`.
    fn addend_sums(&mut self, id: SiteId, plan: &SitePlan, number: usize) {
        let newest = self.newest_factor(&plan.addends[number]);
        let site = &mut self.sites[id.index()];
        if plan.addends[number].modes.is_empty() || site.sums[number].0 >= newest {
            return;
        }
        site.sums[number] = (newest, site.numbers(site.sums[number].1, &mut self.heap));
    }

    fn newest_factor(&self, addend: &AddendPlan) -> u64 {
        self.stamps.newest_of(self.plan, addend.modes.iter().map(|mode| mode.factor))
    }

    /// Whether the only other addend is one number an entry, which is read where it stands.
    fn has_plain_background(&self, plan: &SitePlan, main: usize) -> bool {
        let mut others = (0..plan.addends.len()).filter(|number| *number != main);
        let (Some(only), None) = (others.next(), others.next()) else { return false };
        let has_scale = plan.addends[only].offset.is_some() || plan.addends[main].offset.is_some();
        plan.addends[only].categories == 1 && plan.addends[only].modes.is_empty() && has_scale
    }

    /// As `State::run_collapsed`.
    fn run_collapsed(&mut self, id: SiteId, plan: &SitePlan, own: &[Option<OwnPlan>], targets: &[BlockId]) {
        own.iter().flatten().flat_map(OwnPlan::nodes).for_each(|node| self.evaluate(node));
        let addend = &plan.addends[0];
        // What a unit adds stands beside the means where it differs by row, always in the first mode.
        let stride = 2 * width_of(addend.categories);
        for (place, mode) in addend.modes.iter().enumerate() {
            let bytes = mode.rows * stride * size_of::<f64>();
            let site = &mut self.sites[id.index()];
            if !site.own_rows {
                self.heap.take(bytes);
            }
            if mode.is_read_by(targets) && !std::mem::replace(&mut site.own_sums[place], true) {
                self.heap.take(bytes);
            }
        }
        self.sites[id.index()].own_rows = true;
        let modes: Vec<(usize, Option<usize>)> =
            addend.modes.iter().map(|mode| (mode.rows, mode.is_read_by(targets).then_some(stride))).collect();
        self.sites[id.index()].copy(0, &modes, &mut self.heap);
        let counts = addend.modes.iter().map(|mode| {
            mode.is_read_by(targets)
                .then(|| self.emptied(id, 0, mode.log, mode.rows * addend.row_length(mode)))
        });
        let counts = vec![counts.collect()];
        let scattered = addend.scalars.iter().map(|scalar| {
            targets.contains(&scalar.block).then(|| self.emptied(id, 0, scalar.log, scalar.size))
        });
        let scattered = vec![scattered.collect()];
        self.store(id, plan, counts, scattered);
    }

    /// As `State::emptied`.
    fn emptied(&mut self, id: SiteId, addend: usize, log: usize, length: usize) -> usize {
        let last = self.counts_node(id, addend, log);
        if let Some(node) = last.filter(|node| self.is_common(*node)) {
            self.common[node.index()] = length;
            return length;
        }
        let last = last.map_or(0, |node| std::mem::take(&mut self.room[node.index()]));
        self.heap.again(last, length)
    }

    /// As `State::store`.
    fn store(&mut self, id: SiteId, plan: &SitePlan, counts: Counts, scattered: Counts) {
        let clock = self.stamps.tick();
        for (number, (counts, scattered)) in counts.into_iter().zip(scattered).enumerate() {
            let addend = &plan.addends[number];
            for (mode, own) in addend.modes.iter().zip(counts) {
                let Some(mut own) = own else { continue };
                let Some(node) = self.counts_node(id, number, mode.log) else {
                    self.heap.free(own * size_of::<f64>());
                    continue;
                };
                if self.is_common(node) {
                    if mode.counts.is_some() && !mode.counts_in_order() {
                        self.common[node.index()] = own + self.length(node);
                    }
                } else if mode.counts.is_some() && !mode.counts_in_order() {
                    let arranged = self.heap.again(0, self.length(node));
                    self.heap.keep(std::mem::replace(&mut own, arranged));
                }
                self.put(node, mode.block, own, clock);
            }
            for (scalar, own) in addend.scalars.iter().zip(scattered) {
                let Some(own) = own else { continue };
                match self.counts_node(id, number, scalar.log) {
                    Some(node) => self.put(node, Some(scalar.block), own, clock),
                    None => self.heap.free(own * size_of::<f64>()),
                }
            }
        }
    }

    fn put(&mut self, node: NodeId, block: Option<BlockId>, room: usize, clock: u64) {
        if let Some(weight) = block.and_then(|block| self.plan.blocks[block.index()].weight) {
            self.evaluate(weight);
        }
        let room = if self.is_common(node) { 0 } else { room };
        (self.room[node.index()], self.there[node.index()]) = (room, true);
        self.stamps.nodes[node.index()] = clock;
    }

    fn counts_node(&self, id: SiteId, addend: usize, log: usize) -> Option<NodeId> {
        let place =
            self.plan.nodes.iter().position(|node| node.operation == Operation::Counts(id, addend, log));
        place.map(|index| NodeId(index as u32))
    }
}
