//! Predicts the seconds of a sweep. Steps are counted by the same book-keeping as in the run, and each takes the time
//! of its kernels.
//!
//! The schedule is walked by the `Walker` of the run, with `Stamps` in the place of values: a step is taken when
//! what it follows from has moved since. The third sweep is counted, in which no step is done for the first time.
//! What depends on values is assumed: a point without a closed form takes all steps of a visit.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use cavi_algebra::{ArrayId, BlockId, Equations, SiteId};
use smallvec::SmallVec;

use crate::plan::effort::{self, Effort, Pass};
use crate::plan::lifetimes::{LARGE, transient};
use crate::plan::rates::Kind;
use crate::plan::site::AddendPlan;
use crate::plan::stamps::{Due, LastPass, Stamps};
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::plan::{AscentPlan, InOrder, Plan};
use crate::schedule::walk::{Walker, first_sharing, sweep};
use crate::schedule::{Blocks, Schedule, VISIT};

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
        self.count = self.count.saturating_add(1);
        self.effort = self.effort.plus(effort);
    }

    /// Does so many times more what it has done since.
    fn again(&mut self, since: &Taken, times: u64) {
        let count = self.count - since.count;
        self.count = self.count.saturating_add(count.saturating_mul(times));
        self.effort = self.effort.plus(&self.effort.less(&since.effort).times(times as f64));
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
    /// Does so many times more what it has done since.
    fn again(&mut self, since: &Forecast, times: u64) {
        let all = [&mut self.nodes, &mut self.sites, &mut self.blocks, &mut self.entropies];
        let since = [&since.nodes, &since.sites, &since.blocks, &since.entropies];
        for (own, since) in all.into_iter().flatten().zip(since.into_iter().flatten()) {
            own.again(since, times);
        }
    }

    /// A sweep with its bound, in seconds.
    pub fn seconds(&self) -> f64 {
        let all = [&self.nodes, &self.sites, &self.blocks, &self.entropies];
        all.into_iter().flatten().map(|taken| taken.effort.seconds(self.threads)).sum()
    }

    /// The time of a sweep with its bound, if it has one.
    pub fn sweep_text(&self) -> String {
        time(self.seconds())
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
pub fn time(seconds: f64) -> String {
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

/// A sweep without numbers: stamps in the place of values.
struct Forecaster<'w> {
    plan: &'w Plan<'w>,
    equations: &'w Equations,
    transient: Vec<bool>,
    stamps: Stamps,
    passes: Vec<LastPass>,
    /// For each site and addend, the state of the factors that its sums were taken from.
    sums: Vec<Vec<u64>>,
    /// The blocks that each site's total is taken along with.
    next: Vec<Blocks>,
    held: Vec<Vec<NodeId>>,
    efforts: Vec<Option<Effort>>,
    taken: Forecast,
}

impl Plan<'_> {
    /// Predicts a sweep of this schedule with its bound.
    pub fn forecast(&self, equations: &Equations, schedule: &Schedule, threads: usize) -> Forecast {
        self.forecast_of(equations, schedule, threads, true)
    }

    /// Predicts a sweep of this schedule after which no bound is taken. What a bound would leave ready for the next sweep is not
    /// ready then.
    pub fn forecast_without_bound(
        &self,
        equations: &Equations,
        schedule: &Schedule,
        threads: usize,
    ) -> Forecast {
        self.forecast_of(equations, schedule, threads, false)
    }

    fn forecast_of(
        &self,
        equations: &Equations,
        schedule: &Schedule,
        threads: usize,
        takes_bound: bool,
    ) -> Forecast {
        let nodes = self.nodes.len();
        let reads = |site: usize| move |block: BlockId| self.site_is_read_by(SiteId::from(site), block);
        let mut forecaster = Forecaster {
            plan: self,
            equations,
            transient: transient(self),
            stamps: Stamps::new(self),
            passes: vec![LastPass::default(); self.sites.len()],
            sums: vec![Vec::new(); self.sites.len()],
            next: (0..self.sites.len()).map(|site| first_sharing(schedule, &reads(site))).collect(),
            held: (0..self.blocks.len()).map(|block| self.held_by(BlockId::from(block))).collect(),
            efforts: vec![None; nodes],
            taken: Forecast::default(),
        };
        for _ in 0..3 {
            forecaster.taken = Forecast {
                bound: 0.0,
                threads,
                nodes: vec![Taken::NEVER; nodes],
                sites: vec![Taken::NEVER; self.sites.len()],
                blocks: vec![Taken::NEVER; self.blocks.len()],
                entropies: vec![Taken::NEVER; self.blocks.len()],
            };
            let Ok(()) = sweep(&mut forecaster, schedule);
            let seconds = forecaster.taken.seconds();
            if takes_bound {
                forecaster.bound();
            }
            forecaster.taken.bound = forecaster.taken.seconds() - seconds;
        }
        forecaster.taken
    }
}

impl Walker for Forecaster<'_> {
    type End = Infallible;

    fn reset(&mut self, block: BlockId) -> Result<(), Infallible> {
        let nodes = self.plan.blocks[block.index()].prior.clone();
        nodes.iter().for_each(|node| self.evaluate(*node));
        self.describe(block);
        self.stamps.touch(block);
        self.forget(&nodes);
        Ok(())
    }

    fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), Infallible> {
        for site in (0..self.plan.sites.len()).map(SiteId::from) {
            let own = self.plan.site_targets(site, blocks);
            if !own.is_empty() {
                self.pass(site, &own, false);
            }
        }
        for block in blocks {
            self.held[block.index()].clone().into_iter().for_each(|node| self.hold(node));
        }
        Ok(())
    }

    fn update(&mut self, block: BlockId, _group: Option<&[BlockId]>) -> Result<(), Infallible> {
        let plan = Arc::clone(&self.plan.blocks[block.index()]);
        match (&plan.ascent, plan.in_order.as_slice()) {
            (Some(ascent), _) => self.ascend(block, ascent),
            (None, []) => {
                plan.natural.iter().for_each(|node| self.evaluate(*node));
                self.describe(block);
                self.stamps.touch(block);
                self.forget(&plan.natural);
            }
            (None, in_order) => self.update_in_order(block, in_order),
        }
        Ok(())
    }

    /// From the third time on every time is like the one before.
    fn repeat(
        &mut self,
        times: u64,
        once: &mut dyn FnMut(&mut Self) -> Result<(), Infallible>,
    ) -> Result<(), Infallible> {
        const WALKED: u64 = 3;
        let mut before = None;
        for number in 0..times.min(WALKED) {
            before = (times > WALKED && number + 1 == WALKED).then(|| self.taken.clone());
            once(self)?;
        }
        if let Some(before) = before {
            self.taken.again(&before, times - WALKED);
        }
        Ok(())
    }
}

impl Forecaster<'_> {
    fn hold(&mut self, id: NodeId) {
        if let Operation::Held(from) = self.plan.nodes[id.index()].operation {
            self.evaluate(from);
            if self.stamps.hold(self.plan, id).is_some() {
                self.take(id);
            }
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

    fn evaluate(&mut self, id: NodeId) {
        let newest = match self.stamps.due(self.plan, id) {
            Due::Hold => return self.hold(id),
            Due::Nothing | Due::Current(_) => return,
            Due::Outdated(newest) => newest,
        };
        let reads = self.plan.nodes[id.index()].reads();
        reads.iter().for_each(|read| self.evaluate(*read));
        if self.plan.streamed[id.index()] {
            return;
        }
        self.take(id);
        self.stamps.nodes[id.index()] = newest;
        self.forget_transient(&reads);
    }

    fn forget_transient(&mut self, nodes: &[NodeId]) {
        for node in nodes.iter().filter(|node| self.transient[node.index()]) {
            self.stamps.nodes[node.index()] = 0;
        }
    }

    /// Large natural parameters are worked out anew whenever they are read.
    fn forget(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            if self.is_large_sum(*node) {
                self.stamps.nodes[node.index()] = 0;
            }
        }
    }

    fn is_large_sum(&self, id: NodeId) -> bool {
        let node = &self.plan.nodes[id.index()];
        matches!(node.operation, Operation::Contractions(_)) && node.len() >= LARGE
    }

    fn pass(&mut self, site: SiteId, targets: &[BlockId], wants_total: bool) {
        let Some(plan) = self.plan.sites[site.index()].clone() else { return };
        let newest = self.stamps.newest_of(self.plan, plan.inputs());
        if self.passes[site.index()].serves(newest, targets, wants_total) {
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
        let factors = |addend: &AddendPlan| -> SmallVec<[NodeId; 8]> {
            addend.modes.iter().map(|mode| mode.factor).collect()
        };
        let sums: Vec<u64> =
            plan.addends.iter().map(|addend| self.stamps.newest_of(self.plan, factors(addend))).collect();
        let several = plan.addends.len() > 1;
        let last = &self.sums[site.index()];
        let known = |(addend, newest): (usize, &u64)| !several || last.get(addend) != Some(newest);
        let wanted = |addend: &AddendPlan| addend.modes.iter().map(|mode| mode.is_read_by(targets)).collect();
        let pass = Pass {
            moved: sums.iter().enumerate().map(known).collect(),
            wanted: plan.addends.iter().map(wanted).collect(),
            total: wants_total,
        };
        self.taken.sites[site.index()].once_more(&effort::pass(&plan, &pass));
        self.sums[site.index()] = sums;
        let clock = self.stamps.tick();
        for (index, node) in self.plan.nodes.iter().enumerate() {
            let Operation::Counts(own, addend, log) = node.operation else { continue };
            if own != site {
                continue;
            }
            let addend = &plan.addends[addend];
            let of_modes = addend.modes.iter().any(|mode| mode.log == log && mode.is_read_by(targets));
            let of_scalars =
                addend.scalars.iter().any(|scalar| scalar.log == log && targets.contains(&scalar.block));
            if of_modes || of_scalars {
                self.stamps.nodes[index] = clock;
            }
        }
        self.passes[site.index()].took(newest, targets, wants_total.then_some(0.0));
    }

    /// A visit to a point without a closed form.
    fn ascend(&mut self, block: BlockId, ascent: &AscentPlan) {
        let steps = if ascent.curvature.is_some() { NEWTON } else { VISIT * 3 / 2 };
        let plan = Arc::clone(&self.plan.blocks[block.index()]);
        for _ in 0..steps {
            for site in &ascent.sites {
                self.pass(*site, &self.plan.site_targets(*site, &[block]), true);
            }
            plan.ascent_nodes().for_each(|node| self.evaluate(node));
            self.describe(block);
            self.stamps.touch(block);
        }
    }

    /// Copies that move one after another: what follows from the block and is read by its own update gains what each step changes.
    fn update_in_order(&mut self, block: BlockId, in_order: &[InOrder]) {
        let natural = self.plan.blocks[block.index()].natural.clone();
        natural.iter().for_each(|node| self.evaluate(*node));
        let layout = &self.plan.layouts[block.index()];
        let steps = |along: &InOrder| match &along.groups {
            Some(starts) => starts.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0),
            None => layout.plates[along.place],
        };
        let steps: usize = in_order.iter().map(steps).product();
        let (nodes, effort) = self.follows(block);
        let description = self.plan.description(self.equations, block);
        let moves = effort.plus(&description).times(2.0).and(Kind::Moved, (steps * nodes) as f64).cut(1);
        self.taken.blocks[block.index()].once_more(&moves);
        self.stamps.touch(block);
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
        let family = |index: usize| cavi_families::posterior(self.equations.blocks[index].family);
        let pairs_at = |index| self.plan.pairs_at(family(index), BlockId::from(index));
        let steps: Vec<Option<NodeId>> = (0..self.equations.blocks.len()).map(pairs_at).collect();
        let times = |own: &Self, step: &Option<NodeId>| step.map(|node| own.taken.nodes[node.index()].count);
        let before: Vec<Option<u64>> = steps.iter().map(|step| times(self, step)).collect();
        self.plan.elbo.clone().into_iter().for_each(|node| self.evaluate(node));
        for (site, _) in self.plan.elbo_sites.clone() {
            let own = self.plan.site_targets(site, &self.next[site.index()]);
            self.pass(site, &own, true);
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
            let beside = times(self, &steps[index]) > before[index];
            let effort = self.plan.entropy(self.equations, BlockId::from(index), beside);
            self.taken.entropies[index].once_more(&effort);
        }
    }
}
