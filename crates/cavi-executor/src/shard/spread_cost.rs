//! What a sweep costs whose axis is cut into shards that are spread over processes.
//!
//! # Model
//! Of `S` shards over `R` processes a process has `k = ceil(S / R)`, and as many are at work as it has threads. A sweep takes `l` seconds along
//! the axis in all, of which a shard has one `S`-th; `u` seconds to update what all shards share, which each does; and `w` seconds of what
//! follows from it, which a process works out once while its other shards wait. With `T` threads a process computes for
//!
//! `ceil(k / T) (l / S + u) + w`, and where `k < T` for `(l / S + u + w) / (1 + 0.7 (T / k - 1))`, the threads of a shard being worth 0.7 of one each.
//!
//! A sum of `n` numbers over the axis leaves each process in parts, one for each process, and the totals come back: `8 n (R - 1) / R` bytes both
//! times. Few numbers go to all at once, `8 n (R - 1)` bytes, and so does the head by which processes see that all came for the same. Processes of one machine share its link: of what each sends, the share of
//! processes elsewhere goes over it. A call that all processes make together takes as many messages one after another as `R` has binary digits, and
//! a sum or a vote is two or three such calls. Calls do not overlap with computing.

use cavi_algebra::{AxisId, Equations};

use crate::plan::passes::places::Axis;
use crate::plan::rates::SHARED;
use crate::plan::tensor::Operation;
use crate::plan::{Place, Plan};
use crate::reduce::{FEW, HEAD};
use crate::schedule::Schedule;

/// Bytes a second within one machine: 16 MB summed over four processes on two cores in 0.042 s, which moves 96 MB.
const WITHIN: f64 = 2.3e9;

/// Seconds of a message within one machine.
const WITHIN_LATENCY: f64 = 1e-6;

/// What processes run on.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// How many processes.
    pub processes: usize,
    /// On so many machines, evenly.
    pub machines: usize,
    /// Threads of a process.
    pub threads: usize,
    /// Bytes a second in and out of a machine.
    pub bandwidth: f64,
    /// Seconds of a message between machines.
    pub latency: f64,
}

/// A sweep with its bound over an axis.
#[derive(Clone, Debug)]
pub struct SpreadCost {
    /// Seconds of one thread along the axis, in all.
    pub local: f64,
    /// Seconds of one thread for updates of what all shards share, in each shard.
    pub shared: f64,
    /// Seconds of one thread for what follows from it, once in a process.
    pub once: f64,
    /// Sums over the axis: of so many numbers, so often.
    pub sums: Vec<(usize, u64)>,
    /// Votes, by which all go on alike.
    pub votes: u64,
    /// Bytes of what all shards share and of what follows from it.
    pub shared_bytes: usize,
}

/// Seconds of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Computing.
    pub computing: f64,
    /// Of these, what all shards share.
    pub repeated: f64,
    /// Exchanging sums.
    pub exchanging: f64,
    /// Bytes that a process sends.
    pub bytes: f64,
}

impl Spent {
    /// All of it.
    pub fn seconds(&self) -> f64 {
        self.computing + self.exchanging
    }
}

impl Plan<'_> {
    /// What a sweep of this schedule with its bound costs over an axis that is cut.
    ///
    /// # Errors
    /// Why it cannot be cut.
    pub fn spread_cost(
        &self,
        equations: &Equations,
        schedule: &Schedule,
        axis: AxisId,
    ) -> Result<SpreadCost, String> {
        let cut = self.cuts.iter().find(|own| own.axis == axis);
        let places = cut.map_or_else(|| Err("no data run along it".to_owned()), |own| own.places.clone())?;
        let own = Axis { axis, equations, plan: self };
        let taken = self.forecast(equations, schedule, 1);
        let mut cost =
            SpreadCost { local: 0.0, shared: 0.0, once: 0.0, sums: Vec::new(), votes: 1, shared_bytes: 0 };
        for ((node, place), taken) in self.nodes.iter().zip(&places).zip(&taken.nodes) {
            let seconds = taken.effort.seconds(1);
            match place {
                Place::Replicated => cost.once += seconds,
                Place::Local | Place::Partial => cost.local += seconds,
            }
            // Counts of a site come out of the pass over its entries, which is counted there.
            let count = match node.operation {
                Operation::Counts(..) => 1,
                _ => taken.count,
            };
            if *place == Place::Partial && count > 0 {
                cost.sums.push((node.len(), count));
            }
            if *place != Place::Local {
                cost.shared_bytes += node.len() * size_of::<f64>();
            }
        }
        for (site, taken) in self.sites.iter().zip(&taken.sites) {
            let is_local = site.as_ref().is_some_and(|site| own.carries_any(site.weight));
            let seconds = taken.effort.seconds(1);
            if is_local {
                cost.local += seconds;
                // Its total and its weights stand in the bound.
                cost.sums.push((1, 2));
            } else {
                cost.shared += seconds;
            }
        }
        for (index, block) in equations.blocks.iter().enumerate() {
            let update = taken.blocks[index].effort.seconds(1);
            let entropy = taken.entropies[index].effort.seconds(1);
            cost.votes += 1;
            if own.is_local(block) {
                cost.local += update + entropy;
                // Its entropy and its terms.
                cost.sums.push((1, 2));
            } else {
                cost.shared += update;
                cost.once += entropy;
                cost.shared_bytes += self.layouts[index].values(block) * size_of::<f64>();
            }
        }
        Ok(cost)
    }
}

impl SpreadCost {
    /// A sweep over so many shards.
    pub fn over(&self, shards: usize, cluster: &Cluster) -> Spent {
        let Cluster { processes, machines, threads, bandwidth, latency } = *cluster;
        let each = shards.div_ceil(processes);
        let at_once = threads.min(each);
        let rounds = each.div_ceil(at_once) as f64;
        let worth = 1.0 + SHARED * (threads as f64 / at_once as f64 - 1.0).max(0.0);
        let repeated = (rounds * self.shared + self.once) / worth;
        let computing = rounds * self.local / shards as f64 / worth + repeated;
        if processes < 2 {
            return Spent { computing, repeated, exchanging: 0.0, bytes: 0.0 };
        }
        let others = (processes - 1) as f64;
        let head = 8.0 * HEAD as f64 * others;
        let mut calls = self.votes as f64;
        let mut bytes = calls * head;
        for (length, count) in &self.sums {
            let (numbers, count) = (*length as f64, *count as f64);
            let few = *length <= FEW;
            let sent = 8.0 * numbers * if few { others } else { 2.0 * others / processes as f64 };
            bytes += count * (head + sent);
            calls += count * if few { 2.0 } else { 3.0 };
        }
        let together = processes.div_ceil(machines.max(1)) as f64;
        let elsewhere = (processes as f64 - together).max(0.0) / others;
        let out = together * bytes * elsewhere / bandwidth;
        let within = together * bytes * (1.0 - elsewhere) / WITHIN;
        let message = if machines > 1 { latency } else { WITHIN_LATENCY };
        let exchanging = out.max(within) + calls * (processes as f64).log2().ceil() * message;
        Spent { computing, repeated, exchanging, bytes }
    }
}
