//! A point to the mode of its own statements, row after row.

use cavi_algebra::evaluate::{evaluate, for_each_value};
use cavi_algebra::rules::divide;
use cavi_algebra::{BlockId, Natural, Sum};
use cavi_families::{Extent, Posterior, posterior, views};

use super::{Interpreter, Partition};
use crate::trouble::Trouble;
use cavi_families::kept::is_inside;

impl Interpreter<'_> {
    /// Makes a point the mode of its own statements alone. It keeps its value where that is every value, where it has no closed form, where
    /// it is one that no update leaves, and in rows of weight 0.
    pub(super) fn reset_point(&mut self, id: BlockId) -> Result<(), Trouble> {
        let Some((family, own)) = self.own_of(id) else { return Ok(()) };
        let view = self.view(Partition::Held);
        let symbols = self.context.symbols();
        let (block, place) = self.context.block(id);
        let batch = place.layout.batch();
        let statistics = family.statistics();
        let mut natural: Vec<Vec<f64>> =
            statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        let mut seen = vec![false; place.layout.groups];
        for row in 0..place.layout.rows {
            let first = !std::mem::replace(&mut seen[batch.group_of(row)], true);
            let mut assignment = self.context.row(id, row, &view);
            for Natural { statistic, slots, coefficient: sum } in &own {
                let which = family.place_of(statistic).expect("its family has the statistics");
                let extent = statistics[which].extent;
                if extent == Extent::Matrix && !first {
                    continue;
                }
                let span = place.span(extent, row);
                for_each_value(symbols, &view, slots, &mut assignment, &mut |assignment| {
                    let value = evaluate(symbols, sum, &view, assignment);
                    let slots: Vec<usize> =
                        slots.iter().map(|slot| assignment.get(*slot).expect("it was just given")).collect();
                    let elements = place.elements(statistic, &slots);
                    natural[which][span.start + place.within(extent, &elements)] += value;
                });
            }
        }
        if block.ascent.is_none() {
            self.hold(id, None, &mut natural);
            self.hold_back(id, None, &mut natural);
        }
        let mut point = self.now.parameters.blocks[id.index()][0].clone();
        family
            .mode(&batch, &views(&natural), &mut point)
            .map_err(|improper| self.context.trouble(id, improper.row, improper.reason))?;
        let support = symbols.array(block.members[0]).support;
        let copies = place.layout.slices_of(0);
        let mut columns = self.now.parameters.blocks[id.index()].clone();
        for copy in 0..copies.rows {
            let own = copies.row(copy);
            let moves = self.weight(&view, id, copy) != 0.0;
            if moves && is_inside(support, &point[own.clone()]) {
                columns[0][own.clone()].copy_from_slice(&point[own]);
            }
        }
        self.put_held(id, None, &mut columns);
        self.now.parameters.blocks[id.index()] = columns;
        self.now.expect(&self.context, id);
        Ok(())
    }

    /// The family whose mode a point becomes, and the coefficients of its statistics in the own statements, of one row each.
    fn own_of(&self, id: BlockId) -> Option<(&'static dyn Posterior, Vec<Natural>)> {
        let block = self.context.equations.block(id);
        let (family, own) = match &block.ascent {
            Some(ascent) => (ascent.own_family?, ascent.own.clone()),
            None => {
                let mut symbols = self.context.symbols().clone();
                let of_prior = |(natural, prior): (&Natural, &Sum)| Natural {
                    coefficient: divide(&mut symbols, prior, &block.multiplicity),
                    ..natural.clone()
                };
                (block.family, block.natural.iter().zip(&block.prior).map(of_prior).collect())
            }
        };
        own.iter().any(|natural| !natural.coefficient.is_zero()).then(|| (posterior(family), own))
    }
}
