//! Shares and log partitions of sites that have no pass, from the log weights of their categories at every entry.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use cavi_families::Views;
use cavi_numerics::{Scratch, Threads, special};
use smallvec::SmallVec;

use super::state::State;
use crate::plan::tensor::{Allotted, LogWeights, NodeId, Reads};

/// Log weights as numbers: for each addend, the entries by its categories.
struct Values<'v> {
    now: Views<'v>,
    then: Views<'v>,
    /// The number of categories of each addend.
    widths: SmallVec<[usize; 6]>,
}

impl State<'_> {
    /// What a site gives at every entry; its log weights that are kept are up to date.
    pub(super) fn allotted(&self, what: Allotted, weights: &LogWeights, out: &mut [f64]) {
        let streams = |node: &NodeId| self.work.plan.streamed[node.index()];
        let shape = &self.work.plan.nodes[weights.then[0].index()].shape[..weights.rank];
        let entries: usize = shape.iter().product();
        if entries == 0 {
            return;
        }
        if !weights.now.iter().chain(&weights.then).any(streams) {
            let whole = |node: &NodeId| self.values[node.index()].as_ref();
            let widths =
                weights.then.iter().map(|node| self.work.plan.nodes[node.index()].len() / entries).collect();
            let now = weights.now.iter().map(whole).collect();
            let values = Values { now, then: weights.then.iter().map(whole).collect(), widths };
            return fill(what, &values, out, &self.work.threads);
        }
        let each = out.len() / shape[0];
        for range in self.ranges(shape[0]) {
            let out = &mut out[range.start * each..range.end * each];
            self.allotted_rows(what, weights, &range, &mut BTreeMap::new(), out);
        }
    }

    /// What a site gives at the entries of some rows: those whose first dimension has a value of the range.
    pub(super) fn allotted_rows(
        &self,
        what: Allotted,
        weights: &LogWeights,
        range: &Range<usize>,
        rows: &mut BTreeMap<NodeId, Vec<f64>>,
        out: &mut [f64],
    ) {
        let shape = &self.work.plan.nodes[weights.then[0].index()].shape[1..weights.rank];
        let entries = range.len() * shape.iter().product::<usize>();
        let own: Reads = weights.now.iter().chain(&weights.then).copied().collect();
        for node in own.iter().filter(|node| self.work.plan.streamed[node.index()]) {
            self.rows(*node, range, rows);
        }
        let length = |node: &NodeId| {
            let node = &self.work.plan.nodes[node.index()];
            node.len() / node.shape[0]
        };
        let value = |node: &NodeId| -> Cow<[f64]> {
            match rows.get(node) {
                Some(row) => Cow::Borrowed(row),
                None => {
                    let own = range.start * length(node)..range.end * length(node);
                    Cow::Borrowed(&self.values[node.index()][own])
                }
            }
        };
        let now: SmallVec<[Cow<[f64]>; 6]> = weights.now.iter().map(value).collect();
        let then: SmallVec<[Cow<[f64]>; 6]> = weights.then.iter().map(value).collect();
        let values = Values {
            now: now.iter().map(AsRef::as_ref).collect(),
            then: then.iter().map(AsRef::as_ref).collect(),
            widths: weights.then.iter().map(|node| range.len() * length(node) / entries.max(1)).collect(),
        };
        fill(what, &values, out, &self.work.threads);
    }
}

/// Fills `out` entry by entry.
fn fill(what: Allotted, values: &Values, out: &mut [f64], threads: &Threads) {
    /// Entries that one task works out.
    const CHUNK: usize = 1 << 10;
    let width = match what {
        Allotted::Shares(addend) => values.widths[addend],
        Allotted::Partition => 1,
    };
    if width == 0 {
        return;
    }
    let same = values.now.iter().map(|own| own.as_ptr()).eq(values.then.iter().map(|own| own.as_ptr()));
    threads.for_each_chunk(out, CHUNK * width, |chunk, out| {
        let mut then = Scratch::with_room(values.widths.iter().sum());
        for (place, out) in out.chunks_exact_mut(width).enumerate() {
            let entry = chunk * CHUNK + place;
            let at = |addend: usize| entry * values.widths[addend]..(entry + 1) * values.widths[addend];
            then.clear();
            for addend in 0..values.widths.len() {
                values.then[addend][at(addend)].iter().for_each(|own| then.push(*own));
            }
            let partition = special::log_sum_exp(&then);
            let share = |log_weight: f64| match partition == f64::NEG_INFINITY {
                true => 0.0,
                false => special::exp(log_weight - partition),
            };
            match what {
                Allotted::Shares(addend) => {
                    if partition == f64::NEG_INFINITY {
                        out.fill(0.0);
                        continue;
                    }
                    let own = &values.then[addend][at(addend)];
                    out.iter_mut().zip(own).for_each(|(out, own)| *out = own - partition);
                    special::exp_in_place(out);
                }
                // Nothing has moved since.
                Allotted::Partition if same => out[0] = partition,
                Allotted::Partition => {
                    let now = (0..values.widths.len()).flat_map(|addend| &values.now[addend][at(addend)]);
                    out[0] = if partition == f64::NEG_INFINITY {
                        // All weights were 0, so that there are no shares to hold.
                        special::log_sum_exp(&now.copied().collect::<Scratch>())
                    } else {
                        let change = |(now, then): (&f64, &f64)| {
                            let share = share(*then);
                            if share == 0.0 { 0.0 } else { share * (now - then) }
                        };
                        partition + now.zip(&*then).map(change).sum::<f64>()
                    };
                }
            }
        }
    });
}
