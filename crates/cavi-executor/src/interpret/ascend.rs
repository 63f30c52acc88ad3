//! Points without a closed form: a search uphill for an interval that holds the maximum, then bisection, one copy
//! after another; or L-BFGS on the gradient as it is written.

use cavi_algebra::evaluate::{Assignment, evaluate, for_each_value};
use cavi_algebra::{Ascent, BlockId};
use cavi_numerics::Scratch;
use cavi_numerics::lbfgs::maximise;

use super::coordinates::{Coordinates, Line};
use super::{Interpreter, Partition};
use crate::schedule::VISIT;
use crate::trouble::Trouble;

impl Interpreter<'_> {
    /// Moves a point that has no closed form.
    pub(super) fn ascend(
        &mut self,
        id: BlockId,
        ascent: &Ascent,
        allocations: Partition,
    ) -> Result<(), Trouble> {
        match ascent.curvature {
            Some(_) => self.one_by_one(id, ascent),
            None => self.together(id, ascent, allocations),
        }
    }

    /// The derivatives of the objective of a point that has no closed form, a column a member, laid out as its values.
    pub fn gradient(&self, id: BlockId) -> Vec<Vec<f64>> {
        let block = self.context.equations.block(id);
        let view = self.view(Partition::Held);
        let members = block.ascent.iter().flat_map(|ascent| ascent.gradient.iter().zip(&block.slices));
        members
            .map(|(gradient, slices)| {
                let letters = [block.plates.as_slice(), slices].concat();
                let mut own = Vec::new();
                let symbols = self.context.symbols();
                for_each_value(symbols, &view, &letters, &mut Assignment::new(), &mut |assignment| {
                    own.push(evaluate(symbols, gradient, &view, assignment));
                });
                own
            })
            .collect()
    }

    /// All elements of all members along the gradient; where allocations are at their optimum, they are refreshed at every
    /// evaluation.
    fn together(&mut self, id: BlockId, ascent: &Ascent, allocations: Partition) -> Result<(), Trouble> {
        let (objective, partition) = match (&ascent.tight, allocations) {
            (Some(tight), Partition::Optimal) => (tight, Partition::Optimal),
            (Some(_) | None, _) => (&ascent.objective, Partition::Held),
        };
        let coordinates = Coordinates::of_block(&self.context, id);
        let start = self.now.parameters.blocks[id.index()].clone();
        let from: Vec<f64> = coordinates.iter().zip(&start).flat_map(|(own, x)| own.there(x)).collect();
        // What lies on the boundary stays there, and so does what is held.
        let place = &self.context.places[id.index()];
        let held: Vec<Option<f64>> = (0..from.len()).map(|element| place.element(element)).collect();
        let on_line: Vec<bool> =
            from.iter().zip(&held).map(|(u, held)| u.is_finite() && held.is_none()).collect();
        // There and back may round it.
        let put = |mut members: Vec<Vec<f64>>| {
            members[0].iter_mut().zip(&held).for_each(|(own, held)| *own = held.unwrap_or(*own));
            members
        };
        let whole = |part: &[f64]| {
            let mut part = part.iter();
            let own = |(place, free): (usize, &bool)| {
                if *free { *part.next().expect("as many") } else { from[place] }
            };
            on_line.iter().enumerate().map(own).collect::<Vec<f64>>()
        };
        let kept = |all: &[f64]| -> Scratch {
            all.iter().zip(&on_line).filter(|(_, free)| **free).map(|(u, _)| *u).collect()
        };
        let found = maximise(&kept(&from), VISIT, &mut |part| {
            self.now.parameters.blocks[id.index()] = put(members(&coordinates, &start, &whole(part)));
            if partition == Partition::Optimal {
                self.refresh()?;
            }
            let view = self.view(partition);
            let value = evaluate(self.context.symbols(), objective, &view, &mut Assignment::new());
            let points = &self.now.parameters.blocks[id.index()];
            let members = coordinates.iter().zip(points).zip(self.gradient(id));
            let slopes: Vec<f64> = members.flat_map(|((own, x), slope)| own.gradient(x, &slope)).collect();
            Ok::<_, Trouble>((value, kept(&slopes)))
        })?;
        let moved =
            if found.steps > 0 { put(members(&coordinates, &start, &whole(&found.at))) } else { start };
        self.now.parameters.blocks[id.index()] = moved;
        self.now.expect(&self.context, id);
        Trouble::undefined(id, &found).map_or(Ok(()), Err)
    }

    /// Every copy to the maximum of the objective in it.
    fn one_by_one(&mut self, id: BlockId, ascent: &Ascent) -> Result<(), Trouble> {
        let support = self.context.symbols().array(self.context.equations.block(id).members[0]).support;
        let line = Line::of(support);
        for row in self.context.places[id.index()].order.clone() {
            if self.context.places[id.index()].element(row).is_some() {
                continue;
            }
            let start = self.now.parameters.blocks[id.index()][0][row];
            let from = line.there(start);
            let slope = self.slope_at(id, ascent, line, row, from)?;
            if slope == 0.0 || !from.is_finite() {
                self.put(id, row, start);
                continue;
            }
            if !slope.is_finite() {
                self.put(id, row, start);
                let view = self.view(Partition::Held);
                let symbols = self.context.symbols();
                if evaluate(symbols, &ascent.objective, &view, &mut Assignment::new()).is_finite() {
                    let reason = format!("the derivative of its objective is {slope} at {start}");
                    return Err(self.context.trouble(id, row, reason));
                }
            }
            // Uphill, twice as far each time, until the slope turns.
            let (mut here, mut there) = (from, from);
            let mut stride = line.step(from) * slope.signum();
            for _ in 0..60 {
                there = here + stride;
                if self.slope_at(id, ascent, line, row, there)? * slope <= 0.0 {
                    break;
                }
                (here, stride) = (there, 2.0 * stride);
            }
            loop {
                let middle = 0.5 * (here + there);
                if middle == here || middle == there {
                    break;
                }
                let uphill = self.slope_at(id, ascent, line, row, middle)? * slope > 0.0;
                *(if uphill { &mut here } else { &mut there }) = middle;
            }
            self.put(id, row, line.back(here));
        }
        Ok(())
    }

    fn put(&mut self, id: BlockId, row: usize, value: f64) {
        self.now.parameters.blocks[id.index()][0][row] = value;
        self.now.expect_row(&self.context, id, row);
    }

    /// The derivative in the coordinate of one copy.
    fn slope_at(
        &mut self,
        id: BlockId,
        ascent: &Ascent,
        line: Line,
        row: usize,
        u: f64,
    ) -> Result<f64, Trouble> {
        let x = line.back(u);
        self.put(id, row, x);
        let view = self.view(Partition::Held);
        let mut assignment = self.context.row(id, row, &view);
        let slope = evaluate(self.context.symbols(), &ascent.gradient[0], &view, &mut assignment);
        if slope.is_nan() {
            let reason = format!("the derivative of its objective is no number at {x}");
            return Err(self.context.trouble(id, row, reason));
        }
        Ok(line.slope(x, slope))
    }
}

/// The values of the members at these coordinates, one member after another.
fn members(coordinates: &[Coordinates], like: &[Vec<f64>], u: &[f64]) -> Vec<Vec<f64>> {
    let mut rest = u;
    let own = |(own, like): (&Coordinates, &Vec<f64>)| {
        let (member, others) = rest.split_at(like.len());
        rest = others;
        own.back(member)
    };
    coordinates.iter().zip(like).map(own).collect()
}
