//! The values of a node, worked out as a whole from what it reads: the one place from which a run enters the kernels that make them.
//!
//! In come values that are up to date and memory for the result; out go the node's values. What changes a node in part stands in
//! `changes`, what is worked out a few rows at a time in `stream`.

use std::ops::Range;

use cavi_families::views;
use cavi_numerics::Scratch;
use cavi_numerics::kernels::masked::masked_sums;
use cavi_numerics::reduce::has_nan;

use super::assemble::{beside, pairs, put, square, take};
use super::buffers::Array;
use super::elementwise::{elementwise, pairwise, room, zeros};
use super::rows::expect;
use super::state::{State, family};
use crate::plan::Opened;
use crate::plan::beside::beside_in_groups;
use crate::plan::parts::Parts;
use crate::plan::prepared::Prepared;
use crate::plan::tensor::{NodeId, Operation, Within};

impl State<'_> {
    /// The values of a node, in the memory of its last ones where that is enough.
    pub(super) fn compute(&mut self, id: NodeId, memory: Vec<f64>) -> Array<'static> {
        let index = id.index();
        let mut out = memory;
        if self.is_partial(id) {
            // What is given away for a sum comes back from any shard.
            out = self.memory(out, self.work.plan.nodes[index].len());
        }
        match &self.work.plan.nodes[index].operation {
            Operation::Static(_) | Operation::Counts(..) | Operation::Held(_) => {}
            Operation::Point(block, member) => {
                let point = &self.parameters.blocks[block.index()][*member];
                out = room(out, point.len());
                out.copy_from_slice(point);
            }
            Operation::Moment(block, which) => {
                let layout = &self.work.plan.layouts[block.index()];
                let family = family(self.work.equations, *block);
                out = room(out, layout.batch().len(layout.expectations[*which].extent));
                let (block, which) = (*block, *which);
                if !self.pair_beside(block, id, &mut out) {
                    let layout = &self.work.plan.layouts[block.index()];
                    let descriptors = views(&self.parameters.blocks[block.index()]);
                    let parts = Parts::new(family, layout);
                    expect(family, &parts, &descriptors, which, &mut out, &self.work.threads);
                }
                let layout = &self.work.plan.layouts[block.index()];
                if let Some(observed) = &self.work.observed[block.index()] {
                    observed.expect(layout, which, 0..layout.rows, &mut out);
                }
            }
            Operation::Contractions(_) => {
                out = zeros(out, self.work.plan.nodes[index].len(), &self.work.threads);
                let opened = self.work.plan.opened.iter().find(|opened| opened.node == id).copied();
                let (split, all) = (self.split(id), self.work.prepared[index].len());
                if let Some(opened) = opened.filter(|_| self.is_shard()) {
                    self.sum_of_shards(opened, &mut out);
                } else if split > 0 {
                    // What the shard has of sums over all of them, and what all have alike.
                    self.sum(id, 0..split, None, &mut out);
                    if split == all {
                        return self.join_whole(index, out);
                    }
                    self.join_step((index, 0), &mut out);
                    let mut rest = Scratch::zeros(out.len());
                    self.sum(id, split..all, None, &mut rest);
                    out.iter_mut().zip(&*rest).for_each(|(out, rest)| *out += rest);
                } else {
                    self.sum(id, 0..all, opened, &mut out);
                }
            }
            Operation::Masked(sum) => {
                out = zeros(out, self.work.plan.nodes[index].len(), &self.work.threads);
                let mask = &self.masks[&(sum.mask, sum.by_columns)];
                let of = (self.values[sum.of.index()].as_ref(), sum.last);
                masked_sums(mask, sum.coefficient, of, &mut out, &self.work.threads);
                if self.is_partial(id) {
                    return self.join_whole(index, out);
                }
            }
            Operation::Map(function, node) => {
                let from = &self.values[node.index()];
                out = room(out, from.len());
                elementwise(*function, from, &mut out, &self.work.threads);
            }
            Operation::Pair(function, left, right) => {
                let [left, right] = [left, right].map(|node| &self.values[node.index()]);
                out = room(out, left.len());
                pairwise(*function, left, right, &mut out);
            }
            Operation::Whole(parts) => {
                out = zeros(out, self.work.plan.nodes[index].len(), &self.work.threads);
                let shape = &self.work.plan.nodes[index].shape;
                parts.iter().for_each(|part| put(part, &self.values[part.node.index()], shape, &mut out));
            }
            Operation::Taken(part) => {
                out = room(out, self.work.plan.nodes[index].len());
                let shape = &self.work.plan.nodes[part.node.index()].shape;
                take(part, &self.values[part.node.index()], shape, &mut out);
            }
            Operation::Pairs(node, at) => {
                out = room(out, self.work.plan.nodes[index].len());
                let shape = &self.work.plan.nodes[node.index()].shape;
                pairs(&self.values[node.index()], shape, *at, &mut out, &self.work.threads);
            }
            Operation::Square(node, at) => {
                out = room(out, self.work.plan.nodes[index].len());
                let shape = &self.work.plan.nodes[index].shape;
                square(&self.values[node.index()], shape, *at, &mut out, &self.work.threads);
            }
            Operation::LogDeterminant(node) => {
                let size = self.work.plan.nodes[node.index()].shape.last().copied().unwrap_or(1);
                out = zeros(out, self.work.plan.nodes[index].len(), &self.work.threads);
                let matrices = self.values[node.index()].chunks_exact((size * size).max(1));
                for (out, matrix) in out.iter_mut().zip(matrices) {
                    *out = cavi_numerics::linalg::log_determinant_of(matrix);
                }
            }
            Operation::Beside(side, within, node) => {
                let from = &self.values[node.index()];
                out = zeros(out, from.len(), &self.work.threads);
                let width = from.len() / self.work.plan.nodes[index].shape[0].max(1);
                match within {
                    None => beside(*side, from, width, &mut out),
                    Some(Within { group, order }) => {
                        let maps = &self.work.plan.maps;
                        let order = order.map(|table| maps.table(table));
                        let groups = (maps.table(*group), maps.range(*group));
                        beside_in_groups(*side, (groups, order), from, width, &mut out);
                    }
                }
            }
            Operation::Site(what, weights) => {
                out = room(out, self.work.plan.nodes[index].len());
                self.allotted(*what, weights, &mut out);
            }
        }
        Array::Own(out)
    }

    /// Adds some of a node's contractions to zeros.
    fn sum(&mut self, id: NodeId, parts: Range<usize>, opened: Option<Opened>, out: &mut [f64]) {
        let parts = || &self.work.prepared[id.index()][parts.clone()];
        let kept = |part: &&Prepared| !part.streams(&self.work.plan.streamed);
        match opened {
            Some(opened) => {
                let lost = self.sum_of_squares(opened, out);
                self.lost |= lost;
            }
            None => {
                for prepared in parts().iter().filter(kept) {
                    prepared.run(&self.values, &self.work.plan.maps, out, &self.work.threads);
                }
            }
        }
        self.run_streamed(parts(), out, false);
        // The logs of points at 0 are infinite, and 0 ln 0 is 0.
        if has_nan(out) {
            out.fill(0.0);
            for prepared in parts().iter().filter(kept) {
                prepared.run_guarded(&self.values, &self.work.plan.maps, out);
            }
            self.run_streamed(parts(), out, true);
        }
    }

    /// Adds a node's contractions, in which a square over the data was multiplied out, to zeros, in the run of a shard. Whether digits
    /// were lost is asked of the sums over all shards.
    fn sum_of_shards(&mut self, opened: Opened, out: &mut [f64]) {
        let (id, all) = (opened.node, self.work.prepared[opened.node.index()].len());
        let split = self.split(id);
        let (mut own, mut sizes) = (Scratch::zeros(out.len()), Scratch::zeros(out.len()));
        for part in 0..all {
            own.fill(0.0);
            self.sum(id, part..part + 1, None, &mut own);
            if part < split {
                self.join_step((id.index(), part), &mut own);
            }
            for ((out, size), own) in out.iter_mut().zip(&mut *sizes).zip(&*own) {
                *out += own;
                *size += own.abs();
            }
        }
        self.lost |= opened.has_lost(out, &sizes);
    }
}
