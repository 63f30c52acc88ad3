//! How long a sweep will take: its steps counted by the same book-keeping as in the run, each at the rates of its kernels.
//!
//! The schedule is walked with stamps in the place of values: a step is taken when what it follows from has moved since,
//! exactly as [`Executor`](crate::Executor) takes it. The third sweep is counted, in which nothing is taken for the first
//! time. What depends on values is assumed: a point that ascends takes all steps of a visit.

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, BlockId, Equations, SiteId};

use crate::plan::Plan;
use crate::plan::effort::{self, Effort, Pass};
use crate::plan::rates::Kind;
use crate::plan::site::AddendPlan;
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::run::{LARGE, VISIT, transient};
use crate::schedule::{Item, Schedule, Step};

/// Of a point in one variable at a time, about so many steps of Newton's method bring a visit to its end.
const NEWTON: usize = 4;

/// What a step does in a sweep with its bound: how often, and the effort of all.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// How often.
    pub count: u64,
    /// The effort.
    pub effort: Effort,
}

impl Taken {
    const NEVER: Taken = Taken { count: 0, effort: Effort::NONE };

    fn once_more(&mut self, effort: &Effort) {
        self.count += 1;
        self.effort = self.effort.plus(effort);
    }
}

/// A sweep with its bound: what it does.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// The seconds of the bound.
    pub bound: f64,
    /// How many threads.
    pub threads: usize,
    /// The nodes.
    pub nodes: Vec<Taken>,
    /// The passes over the entries of sites.
    pub sites: Vec<Taken>,
    /// The factors of q, described.
    pub blocks: Vec<Taken>,
    /// Their entropies.
    pub entropies: Vec<Taken>,
}

impl Forecast {
    /// A sweep with its bound, in seconds.
    pub fn seconds(&self) -> f64 {
        let all = [&self.nodes, &self.sites, &self.blocks, &self.entropies];
        all.into_iter().flatten().map(|taken| taken.effort.seconds(self.threads)).sum()
    }

    /// The seconds, and of what takes at least a hundredth of them: how often, and its seconds.
    pub fn text(&self, equations: &Equations) -> String {
        let all = self.seconds();
        let mut lines: Vec<(f64, String)> = Vec::new();
        let mut line = |taken: &Taken, what: String| {
            let often = match taken.count {
                1 => "once".to_owned(),
                count => format!("{count} times"),
            };
            lines.push((taken.effort.seconds(self.threads), format!("{what}, {often}")));
        };
        for (number, taken) in self.sites.iter().enumerate() {
            line(taken, format!("pass over site {}", number + 1));
        }
        for (number, taken) in self.nodes.iter().enumerate() {
            line(taken, format!("step {number}"));
        }
        for (place, block) in equations.blocks.iter().enumerate() {
            let name = |member: &ArrayId| equations.symbols.array(*member).name.clone();
            let names = block.members.iter().map(name).collect::<Vec<String>>().join(", ");
            let what = if block.is_point() { "value" } else { "q" };
            line(&self.blocks[place], format!("{what} of {names}"));
            line(&self.entropies[place], format!("entropy of {names}"));
        }
        let (mut large, small): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|(seconds, _)| *seconds >= 0.01 * all);
        large.sort_by(|one, other| other.0.total_cmp(&one.0));
        let rest: f64 = small.iter().map(|(seconds, _)| seconds).sum();
        if rest > 0.0 {
            large.push((rest, "all else".to_owned()));
        }
        let threads =
            if self.threads == 1 { "one thread".to_owned() } else { format!("{} threads", self.threads) };
        let mut out = format!(
            "predicted, on {threads} of the machine of the benches: {} a sweep, of which {} for its bound\n",
            time(all),
            time(self.bound)
        );
        large.iter().for_each(|(seconds, what)| out.push_str(&format!("  {:>9}  {what}\n", time(*seconds))));
        out
    }
}

/// Seconds in a unit that fits, three digits.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (1e3 * s, "ms"),
        s => (1e6 * s, "us"),
    };
    match value {
        v if v >= 100.0 => format!("{v:.0} {unit}"),
        v if v >= 10.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.2} {unit}"),
    }
}

/// What a site has seen.
#[derive(Clone, Default)]
struct Seen {
    stamp: u64,
    targets: Vec<BlockId>,
    has_total: bool,
    /// For each addend, the state of the factors that its sums were taken from.
    sums: Vec<u64>,
}

/// Stamps in the place of values.
struct Walk<'w> {
    plan: &'w Plan<'w>,
    equations: &'w Equations,
    transient: Vec<bool>,
    clock: u64,
    stamps: Vec<u64>,
    held_since: Vec<u64>,
    blocks: Vec<u64>,
    sites: Vec<Seen>,
    next: Vec<Vec<BlockId>>,
    held: Vec<Vec<NodeId>>,
    efforts: Vec<Option<Effort>>,
    taken: Forecast,
}

impl Plan<'_> {
    /// Predicts a sweep of this schedule with its bound.
    pub fn forecast(&self, equations: &Equations, schedule: &Schedule, threads: usize) -> Forecast {
        let nodes = self.nodes.len();
        let mut walk = Walk {
            plan: self,
            equations,
            transient: transient(self),
            clock: 1,
            stamps: vec![0; nodes],
            held_since: vec![0; nodes],
            blocks: vec![1; self.blocks.len()],
            sites: vec![Seen::default(); self.sites.len()],
            next: vec![Vec::new(); self.sites.len()],
            held: (0..self.blocks.len()).map(|block| self.held_by(block)).collect(),
            efforts: vec![None; nodes],
            taken: Forecast::default(),
        };
        walk.expect_next(schedule);
        for _ in 0..3 {
            walk.taken = Forecast {
                bound: 0.0,
                threads,
                nodes: vec![Taken::NEVER; nodes],
                sites: vec![Taken::NEVER; self.sites.len()],
                blocks: vec![Taken::NEVER; self.blocks.len()],
                entropies: vec![Taken::NEVER; self.blocks.len()],
            };
            schedule.items.iter().for_each(|item| walk.item(item));
            let sweep = walk.taken.seconds();
            walk.bound();
            walk.taken.bound = walk.taken.seconds() - sweep;
        }
        walk.taken
    }

    /// The held nodes that the update of a block reads.
    fn held_by(&self, block: usize) -> Vec<NodeId> {
        let plan = &self.blocks[block];
        let mut rest: Vec<NodeId> = plan.natural.iter().copied().chain(plan.ascent_nodes()).collect();
        let mut reached = BTreeSet::new();
        while let Some(node) = rest.pop() {
            if reached.insert(node) {
                rest.extend(self.nodes[node.index()].reads());
            }
        }
        let is_held = |node: &NodeId| matches!(self.nodes[node.index()].operation, Operation::Held(_));
        reached.into_iter().filter(is_held).collect()
    }
}

impl Walk<'_> {
    fn item(&mut self, item: &Item) {
        if item.reset {
            item.blocks().into_iter().for_each(|block| self.reset(block));
        }
        for _ in 0..item.repeat {
            match &item.step {
                Step::Block(block) => {
                    self.refresh(&[*block]);
                    self.update(*block);
                }
                Step::Group(_) => {
                    self.refresh(&item.blocks());
                    self.members(item);
                }
                Step::Sequence(items) => items.iter().for_each(|item| self.item(item)),
            }
        }
    }

    fn members(&mut self, item: &Item) {
        match &item.step {
            Step::Block(block) => self.update(*block),
            Step::Group(items) | Step::Sequence(items) => {
                for item in items {
                    if item.reset {
                        item.blocks().into_iter().for_each(|block| self.reset(block));
                    }
                    (0..item.repeat).for_each(|_| self.members(item));
                }
            }
        }
    }

    fn expect_next(&mut self, schedule: &Schedule) {
        fn leaves(item: &Item, out: &mut Vec<Vec<BlockId>>) {
            match &item.step {
                Step::Block(block) => out.push(vec![*block]),
                Step::Group(_) => out.push(item.blocks().to_vec()),
                Step::Sequence(items) => items.iter().for_each(|item| leaves(item, out)),
            }
        }
        let mut order = Vec::new();
        schedule.items.iter().for_each(|item| leaves(item, &mut order));
        for site in 0..self.sites.len() {
            let first = order.iter().find(|blocks| blocks.iter().any(|block| self.reads(site, *block)));
            self.next[site] = first.cloned().unwrap_or_default();
        }
    }

    fn reads(&self, site: usize, block: BlockId) -> bool {
        self.plan.sites[site].as_ref().is_some_and(|site| site.is_read_by(block))
    }

    fn refresh(&mut self, blocks: &[BlockId]) {
        for site in 0..self.sites.len() {
            let own: Vec<BlockId> = blocks.iter().copied().filter(|block| self.reads(site, *block)).collect();
            if !own.is_empty() {
                self.pass(site, &own, false);
            }
        }
        for block in blocks {
            self.held[block.index()].clone().into_iter().for_each(|node| self.hold(node));
        }
    }

    fn hold(&mut self, id: NodeId) {
        let Operation::Held(from) = self.plan.nodes[id.index()].operation else { return };
        self.evaluate(from);
        if self.held_since[id.index()] != self.stamps[from.index()] {
            self.take(id);
            self.held_since[id.index()] = self.stamps[from.index()];
            self.clock += 1;
            self.stamps[id.index()] = self.clock;
        }
    }

    /// What it takes to work out a node; those that are worked out row by row where it reads them belong to it.
    fn effort(&mut self, id: NodeId) -> Effort {
        if let Some(known) = self.efforts[id.index()] {
            return known;
        }
        let mut effort = self.plan.node_effort(self.equations, id);
        for read in self.plan.nodes[id.index()].reads() {
            if self.plan.streamed[read.index()] {
                effort = effort.plus(&self.effort(read));
            }
        }
        self.efforts[id.index()] = Some(effort);
        effort
    }

    fn take(&mut self, id: NodeId) {
        let effort = self.effort(id);
        self.taken.nodes[id.index()].once_more(&effort);
    }

    fn describe(&mut self, block: BlockId) {
        let effort = self.plan.description(self.equations, block);
        self.taken.blocks[block.index()].once_more(&effort);
    }

    fn newest(&self, id: NodeId) -> u64 {
        let node = &self.plan.nodes[id.index()];
        match node.source() {
            Source::Given => 1,
            Source::Refresh => self.stamps[id.index()],
            Source::Block(block) => self.blocks[block.index()],
            Source::Nodes => node.reads().into_iter().map(|read| self.newest(read)).fold(1, u64::max),
        }
    }

    fn evaluate(&mut self, id: NodeId) {
        match self.plan.nodes[id.index()].source() {
            Source::Refresh if self.stamps[id.index()] == 0 => return self.hold(id),
            Source::Given | Source::Refresh => return,
            Source::Block(_) | Source::Nodes => {}
        }
        let newest = self.newest(id);
        if self.stamps[id.index()] >= newest {
            return;
        }
        let reads = self.plan.nodes[id.index()].reads();
        reads.iter().for_each(|read| self.evaluate(*read));
        if self.plan.streamed[id.index()] {
            return;
        }
        self.take(id);
        self.stamps[id.index()] = newest;
        self.forget_transient(&reads);
    }

    fn forget_transient(&mut self, nodes: &[NodeId]) {
        for node in nodes.iter().filter(|node| self.transient[node.index()]) {
            self.stamps[node.index()] = 0;
        }
    }

    /// Large natural parameters are worked out anew whenever they are read.
    fn forget(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            if self.is_large_sum(*node) {
                self.stamps[node.index()] = 0;
            }
        }
    }

    fn is_large_sum(&self, id: NodeId) -> bool {
        let node = &self.plan.nodes[id.index()];
        matches!(node.operation, Operation::Contractions(_)) && node.len() >= LARGE
    }

    fn newest_factor(&self, addend: &AddendPlan) -> u64 {
        addend.modes.iter().map(|mode| self.newest(mode.factor)).fold(1, u64::max)
    }

    fn pass(&mut self, site: usize, targets: &[BlockId], wants_total: bool) {
        let Some(plan) = self.plan.sites[site].clone() else { return };
        let newest = plan.inputs().map(|input| self.newest(input)).fold(1, u64::max);
        let seen = &self.sites[site];
        let has_all =
            (seen.has_total || !wants_total) && targets.iter().all(|target| seen.targets.contains(target));
        if seen.stamp >= newest && has_all {
            return;
        }
        self.evaluate(plan.weight);
        let main = plan.main_addend();
        for (number, addend) in plan.addends.iter().enumerate() {
            addend.modes.iter().for_each(|mode| self.evaluate(mode.factor));
            addend.single.iter().for_each(|single| self.evaluate(single.factor));
            // The offset itself is read by the main addend, and by others without numbers to multiply.
            if Some(number) == main || addend.single.is_empty() {
                addend.offset.into_iter().for_each(|offset| self.evaluate(offset));
            }
        }
        let sums: Vec<u64> = plan.addends.iter().map(|addend| self.newest_factor(addend)).collect();
        let several = plan.addends.len() > 1;
        let known =
            |(addend, newest): (usize, &u64)| !several || self.sites[site].sums.get(addend) != Some(newest);
        let wanted = |addend: &AddendPlan| addend.modes.iter().map(|mode| mode.is_read_by(targets)).collect();
        let pass = Pass {
            moved: sums.iter().enumerate().map(known).collect(),
            wanted: plan.addends.iter().map(wanted).collect(),
            total: wants_total,
        };
        self.taken.sites[site].once_more(&effort::pass(&plan, &pass));
        self.sites[site].sums = sums;
        self.clock += 1;
        let id = SiteId::from(site);
        for (index, node) in self.plan.nodes.iter().enumerate() {
            let Operation::Counts(own, addend, log) = node.operation else { continue };
            if own != id {
                continue;
            }
            let addend = &plan.addends[addend];
            let of_modes = addend.modes.iter().any(|mode| mode.log == log && mode.is_read_by(targets));
            let of_scalars =
                addend.scalars.iter().any(|scalar| scalar.log == log && targets.contains(&scalar.block));
            if of_modes || of_scalars {
                self.stamps[index] = self.clock;
            }
        }
        let seen = &self.sites[site];
        let has_total = wants_total || (seen.has_total && seen.stamp >= newest);
        (self.sites[site].stamp, self.sites[site].has_total) = (newest, has_total);
        self.sites[site].targets = targets.to_vec();
    }

    fn touch(&mut self, block: BlockId) {
        self.clock += 1;
        self.blocks[block.index()] = self.clock;
    }

    fn reset(&mut self, block: BlockId) {
        let nodes = self.plan.blocks[block.index()].prior.clone();
        nodes.iter().for_each(|node| self.evaluate(*node));
        self.describe(block);
        self.touch(block);
        self.forget(&nodes);
    }

    fn update(&mut self, block: BlockId) {
        let plan = &self.plan.blocks[block.index()];
        if let Some(ascent) = &plan.ascent {
            let steps = if ascent.curvature.is_some() { NEWTON } else { VISIT * 3 / 2 };
            for _ in 0..steps {
                for site in &ascent.sites {
                    let own = if self.reads(site.index(), block) { vec![block] } else { Vec::new() };
                    self.pass(site.index(), &own, true);
                }
                plan.ascent_nodes().for_each(|node| self.evaluate(node));
                self.describe(block);
                self.touch(block);
            }
            return;
        }
        let natural = plan.natural.clone();
        natural.iter().for_each(|node| self.evaluate(*node));
        let layout = &self.plan.layouts[block.index()];
        let steps: usize = plan
            .in_order
            .iter()
            .map(|along| match &along.groups {
                Some(starts) => starts.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0),
                None => layout.plates[along.place],
            })
            .product();
        if plan.in_order.is_empty() {
            self.describe(block);
            self.touch(block);
            self.forget(&natural);
            return;
        }
        // What follows from the block and is read by its own update gains what each step changes.
        let (nodes, effort) = self.follows(block);
        let description = self.plan.description(self.equations, block);
        let moves = effort.plus(&description).times(2.0).and(Kind::Moved, (steps * nodes) as f64).cut(1);
        self.taken.blocks[block.index()].once_more(&moves);
        self.touch(block);
    }

    /// How many nodes between a block and its own natural parameters follow from it, and the effort of all of them.
    fn follows(&mut self, block: BlockId) -> (usize, Effort) {
        let mut from = vec![false; self.plan.nodes.len()];
        for (index, node) in self.plan.nodes.iter().enumerate() {
            from[index] = match node.source() {
                Source::Block(own) => own == block,
                Source::Given | Source::Refresh => false,
                Source::Nodes => node.reads().iter().any(|read| from[read.index()]),
            };
        }
        let mut rest = self.plan.blocks[block.index()].natural.clone();
        let mut reached = BTreeSet::new();
        while let Some(node) = rest.pop() {
            if from[node.index()] && reached.insert(node) {
                rest.extend(self.plan.nodes[node.index()].reads());
            }
        }
        let all = reached.iter().fold(Effort::NONE, |all, node| all.plus(&self.effort(*node)));
        (reached.len(), all)
    }

    fn bound(&mut self) {
        self.plan.elbo.clone().into_iter().for_each(|node| self.evaluate(node));
        for (site, _) in self.plan.elbo_sites.clone() {
            let next = self.next[site.index()].clone();
            let own: Vec<BlockId> =
                next.into_iter().filter(|block| self.reads(site.index(), *block)).collect();
            self.pass(site.index(), &own, true);
        }
        for (index, block) in self.equations.blocks.iter().enumerate() {
            if block.is_point() {
                continue;
            }
            let paired = cavi_families::posterior(block.family).paired();
            if paired {
                let prior = self.plan.blocks[index].prior.clone();
                prior.iter().for_each(|node| self.evaluate(*node));
                self.forget(&prior);
            }
            let effort = self.plan.entropy(self.equations, BlockId::from(index));
            self.taken.entropies[index].once_more(&effort);
        }
    }
}
