//! What follows from data and constants alone.

use super::state::State;
use crate::plan::prepared::Prepared;
use crate::plan::tensor::{NodeId, Operation, Source, Within};

impl State<'_> {
    /// Computes what follows from data and constants alone, once, and forgets the steps on the way there.
    pub(super) fn fold_constants(&mut self) {
        let folded = self.work.plan.folded();
        for index in folded.worked_out() {
            self.evaluate(NodeId(index as u32));
        }
        for index in folded.forgotten() {
            self.values.put(index, Vec::new());
        }
        let kept = folded.kept();
        let maps = kept.into_iter().flat_map(|index| &self.work.prepared[index]).flat_map(Prepared::maps);
        let of_groups = self.work.plan.nodes.iter().flat_map(|node| match node.operation {
            Operation::Beside(_, Some(Within { group, order }), _) => vec![Some(group), order],
            _ => Vec::new(),
        });
        let maps = maps.chain(of_groups.flatten()).collect();
        self.work.plan.maps.keep(&maps);
    }

    /// The values of all that follows from data and constants alone and is kept, but for what is given.
    pub(super) fn constants(&mut self) -> Vec<Option<Vec<f64>>> {
        let count = self.work.plan.nodes.len();
        let constant = self.work.plan.constant();
        self.work.transient.fill(false);
        let values = (0..count).map(|index| {
            let node = NodeId(index as u32);
            let is_given = self.work.plan.nodes[index].source() == Source::Given;
            if is_given || self.work.plan.streamed[index] || !constant[index] {
                return None;
            }
            self.evaluate(node);
            Some(self.values[index].to_vec())
        });
        values.collect()
    }
}
