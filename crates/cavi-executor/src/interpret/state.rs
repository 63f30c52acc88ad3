//! What changes during a run: descriptors and expectations, and how equations read them.

use std::ops::Range;

use cavi_algebra::evaluate::{Assignment, Environment, evaluate, for_each_value};
use cavi_algebra::{ArrayId, AuxiliaryId, AxisId, BlockId, Elementary, Function, Mode, Moment, SiteId};
use cavi_families::observed::at_value;
use cavi_families::{Extent, functions, views};

use super::context::{Context, Place, assignment, flat, log_sum_exp};
use super::held::Held;
use super::infinite::Whole;
use crate::layout::Parameters;

/// The factors of q at one time, with their expectations.
#[derive(Clone)]
pub struct State {
    /// The descriptors of every block that is stored.
    pub parameters: Parameters,
    /// The descriptors of implicit blocks; only a state that was refreshed has them.
    pub implicit: Vec<Vec<Vec<f64>>>,
    /// For each block the expectations that its family answers, a column each.
    expectations: Vec<Vec<Vec<f64>>>,
}

/// What the log of a bounded sum contributes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// `log sum_c exp(log weight of c)`: allocations at their optimum.
    Optimal,
    /// `sum_c phi_c (log weight of c - log phi_c)`, with the allocations that are held.
    Held,
}

/// Equations read the newest expectations, and allocations those at the last refresh.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub context: &'a Context<'a>,
    pub now: &'a State,
    pub held: &'a Held,
    pub partition: Partition,
}

impl State {
    /// The state of given parameters, implicit blocks not refreshed.
    pub fn new(context: &Context, parameters: Parameters) -> State {
        let blocks = context.places.len();
        let mut state =
            State { parameters, implicit: vec![Vec::new(); blocks], expectations: vec![Vec::new(); blocks] };
        for index in 0..blocks {
            if context.equations.blocks[index].mode != Mode::Implicit {
                state.expect(context, BlockId::from(index));
            }
        }
        state
    }

    /// The columns that describe a block.
    pub fn columns(&self, context: &Context, id: BlockId) -> &[Vec<f64>] {
        match context.equations.block(id).mode {
            Mode::Implicit => &self.implicit[id.index()],
            Mode::Distribution | Mode::Point | Mode::Fixed => &self.parameters.blocks[id.index()],
        }
    }

    /// Recomputes the expectations of a block.
    pub fn expect(&mut self, context: &Context, id: BlockId) {
        let place = &context.places[id.index()];
        if place.values {
            return;
        }
        let family = place.family;
        let batch = place.layout.batch();
        let columns = self.columns(context, id);
        let mut expectations = Vec::with_capacity(place.expectations.len());
        for (which, own) in place.expectations.iter().enumerate() {
            let mut column = vec![0.0; batch.len(own.extent)];
            family.expect(&batch, &views(columns), which, &mut column);
            for row in 0..place.layout.rows {
                if let Some(value) = place.observed_value(row) {
                    at_value(&own.statistic, value, &mut column[place.span(own.extent, row)]);
                }
            }
            expectations.push(column);
        }
        self.expectations[id.index()] = expectations;
    }

    /// Recomputes the expectations of one copy.
    pub fn expect_row(&mut self, context: &Context, id: BlockId, row: usize) {
        let place = &context.places[id.index()];
        if place.values {
            return;
        }
        let family = place.family;
        let columns = row_of(place, self.columns(context, id), &place.extents(), row);
        for (which, own) in place.expectations.iter().enumerate() {
            let mut column = vec![0.0; place.length(own.extent)];
            family.expect(&place.layout.batch_of(1), &views(&columns), which, &mut column);
            if let Some(value) = place.observed_value(row) {
                at_value(&own.statistic, value, &mut column);
            }
            self.expectations[id.index()][which][place.span(own.extent, row)].copy_from_slice(&column);
        }
    }
}

/// One row of columns.
pub fn row_of(place: &Place, columns: &[Vec<f64>], extents: &[Extent], row: usize) -> Vec<Vec<f64>> {
    columns.iter().zip(extents).map(|(column, extent)| column[place.span(*extent, row)].to_vec()).collect()
}

impl<'a> View<'a> {
    /// `E t` at a copy of a block.
    pub fn expectation(
        &self,
        id: BlockId,
        statistic: &cavi_algebra::Statistic,
        row: usize,
        elements: &[usize],
    ) -> f64 {
        let (block, place) = self.context.block(id);
        let state = if block.mode == Mode::Implicit { self.held.state() } else { self.now };
        place.expectation(&state.expectations[id.index()], statistic, row, elements)
    }

    /// The log weights of all categories of a copy of a site, in a fixed order: those of its partition.
    fn log_weights(&self, site: SiteId, plates: &[usize]) -> Vec<f64> {
        self.weights_by(site, plates, &|addend| self.context.log_weight(site, addend))
    }

    /// The log weights of all categories of a copy of a site, each addend's as it is given.
    fn weights_by<'w>(
        &self,
        site: SiteId,
        plates: &[usize],
        log_weight: &dyn Fn(usize) -> &'w Whole,
    ) -> Vec<f64> {
        let symbols = self.context.symbols();
        let stated = self.context.equations.site(site);
        let mut assignment = assignment(symbols, &stated.plates, plates, self);
        let mut log_weights = Vec::new();
        for (place, addend) in stated.addends.iter().enumerate() {
            let log_weight = log_weight(place);
            for_each_value(symbols, self, &addend.letters, &mut assignment, &mut |assignment| {
                log_weights.push(log_weight.value(symbols, self, assignment));
            });
        }
        log_weights
    }

    /// `E eta^2` of a copy of a tangent.
    fn square(&self, id: AuxiliaryId, plates: &[usize]) -> f64 {
        let symbols = self.context.symbols();
        let own = self.context.equations.auxiliary(id);
        let mut assignment = assignment(symbols, &own.plates, plates, self);
        evaluate(symbols, &own.square, self, &mut assignment)
    }

    /// By how much the tangents at the auxiliary variables that are held lie above those at their optimum's place in the
    /// bound: `-sum weight * slope (E eta^2 - xi^2)`.
    pub fn tangent_change(&self, id: AuxiliaryId) -> f64 {
        let symbols = self.context.symbols();
        let own = self.context.equations.auxiliary(id);
        let mut change = cavi_algebra::evaluate::Accumulator::default();
        for_each_value(symbols, self, &own.plates, &mut Assignment::new(), &mut |assignment| {
            let weight = evaluate(symbols, &own.weight, self, assignment);
            if weight != 0.0 {
                let now = evaluate(symbols, &own.square, self, assignment);
                let then = evaluate(symbols, &own.square, &self.at_refresh(), assignment);
                let slope = evaluate(symbols, &own.slope, self, assignment);
                change.add(-weight * slope * (now - then));
            }
        });
        change.total()
    }

    /// Everything at the last refresh.
    fn at_refresh(&self) -> View<'a> {
        View { context: self.context, now: self.held.state(), held: self.held, partition: Partition::Optimal }
    }
}

/// `exp(log_weight - log_partition)`, and 0 where all weights are 0.
fn share(log_weight: f64, log_partition: f64) -> f64 {
    if log_partition == f64::NEG_INFINITY {
        return 0.0;
    }
    cavi_numerics::special::exp(log_weight - log_partition)
}

impl Environment for View<'_> {
    fn positions(&self, axis: AxisId, parent: Option<usize>) -> Range<usize> {
        positions(self.context, axis, parent)
    }

    fn parent(&self, axis: AxisId, position: usize) -> usize {
        parent(self.context, axis, position)
    }

    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        if !self.context.is_latent(array) {
            return self.context.datum(array, subscripts);
        }
        let (block, column, place) = self.context.element(array, subscripts);
        assert!(
            self.context.places[block.index()].values,
            "a variable with a distribution stands in equations by its expectations only"
        );
        self.now.parameters.blocks[block.index()][column][place]
    }

    fn observed(&self, array: ArrayId, subscripts: &[usize]) -> bool {
        self.context.observed(array, subscripts)
    }

    fn moment(&self, moment: &Moment, plates: &[usize], slots: &[usize]) -> f64 {
        let place = &self.context.places[moment.block.index()];
        let row = flat(&place.layout.plates, plates);
        if place.values {
            let columns = &self.now.parameters.blocks[moment.block.index()];
            return of_values(place, columns, moment, row, slots);
        }
        self.expectation(moment.block, &moment.statistic, row, &place.elements(&moment.statistic, slots))
    }

    fn allocation(&self, site: SiteId, addend: usize, plates: &[usize], categories: &[usize]) -> f64 {
        let then = self.at_refresh();
        let symbols = self.context.symbols();
        let stated = self.context.equations.site(site);
        let mut assignment = assignment(symbols, &stated.plates, plates, &then);
        let own = self.context.allocated(site, addend);
        let addend = &stated.addends[addend];
        for (letter, position) in addend.letters.iter().zip(categories) {
            assignment.assign(symbols, &then, *letter, *position);
        }
        let all = self.held.log_weights(site, plates, || {
            then.weights_by(site, plates, &|addend| self.context.allocated(site, addend))
        });
        if all.len() == 1 {
            // A sum of one category leaves no choice, whatever its weight.
            return 1.0;
        }
        let log_weight = own.value(symbols, &then, &mut assignment);
        share(log_weight, log_sum_exp(&all))
    }

    fn log_partition(&self, site: SiteId, plates: &[usize]) -> f64 {
        let now = self.log_weights(site, plates);
        let optimum = log_sum_exp(&now);
        if self.partition == Partition::Optimal {
            return optimum;
        }
        let then = self.at_refresh().log_weights(site, plates);
        let log_partition = log_sum_exp(&then);
        if log_partition == f64::NEG_INFINITY {
            // All weights were 0, so that there are no shares to hold.
            return optimum;
        }
        let held = now.iter().zip(&then).map(|(now, then)| {
            let share = share(*then, log_partition);
            if share == 0.0 { 0.0 } else { share * (now - (then - log_partition)) }
        });
        held.collect::<cavi_algebra::evaluate::Accumulator>().total()
    }

    fn auxiliary(&self, id: AuxiliaryId, plates: &[usize]) -> f64 {
        match self.partition {
            Partition::Optimal => self.square(id, plates),
            Partition::Held => self.held.square(id, plates, || self.at_refresh().square(id, plates)),
        }
        .max(0.0)
        .sqrt()
    }

    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        functions::apply(function, arguments)
    }
}

/// A statistic of a point: that of its value.
fn of_values(place: &Place, columns: &[Vec<f64>], moment: &Moment, row: usize, slots: &[usize]) -> f64 {
    let mut rest = slots;
    let mut product = 1.0;
    for (member, elementary) in &moment.statistic.0 {
        let member = usize::from(*member);
        let sizes = place.layout.slices[member].as_slice();
        let width = elementary.slots(sizes.len());
        let (own, others) = rest.split_at(width);
        rest = others;
        let start = row * place.widths[member];
        product *= match *elementary {
            Elementary::Power(power) => columns[member][start + flat(sizes, own)].powi(power),
            Elementary::Log => functions::apply(Function::Log, &[columns[member][start + flat(sizes, own)]]),
            Elementary::LogComplement => {
                functions::apply(Function::Log, &[1.0 - columns[member][start + flat(sizes, own)]])
            }
            Elementary::Indicator => f64::from(columns[member][start] == own[0] as f64),
            Elementary::LogDeterminant => functions::apply(
                Function::LogDeterminant,
                &columns[member][start..start + place.widths[member]],
            ),
            Elementary::Contracted(_) => {
                unreachable!("several variables of which one is a matrix are no values")
            }
            Elementary::Centred => 0.0,
            Elementary::Mass | Elementary::MassOfComplement => {
                unreachable!("a point has no natural parameter")
            }
        };
    }
    product
}

/// The positions of an axis, or of a group of it.
pub fn positions(context: &Context, axis: AxisId, parent: Option<usize>) -> Range<usize> {
    let axis = &context.bound.axes[axis.index()];
    match (&axis.starts, parent) {
        (Some(starts), Some(parent)) => starts[parent]..starts[parent + 1],
        (Some(_) | None, _) => 0..axis.size,
    }
}

/// The parent of a position of a ragged axis.
pub fn parent(context: &Context, axis: AxisId, position: usize) -> usize {
    let parents = context.bound.axes[axis.index()].parent.as_ref();
    parents.expect("only a ragged axis has a parent")[position]
}

/// The log joint reads concrete values of all latents.
pub struct Concrete<'a> {
    pub context: &'a Context<'a>,
    /// For each array its values in C order of its declared dimensions; only latents are read.
    pub values: &'a [Option<Vec<f64>>],
}

impl Environment for Concrete<'_> {
    fn positions(&self, axis: AxisId, parent: Option<usize>) -> Range<usize> {
        positions(self.context, axis, parent)
    }

    fn parent(&self, axis: AxisId, position: usize) -> usize {
        parent(self.context, axis, position)
    }

    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        match &self.values[array.index()] {
            Some(values) => values[self.context.in_declared_order(array, subscripts)],
            None => self.context.datum(array, subscripts),
        }
    }

    fn observed(&self, array: ArrayId, subscripts: &[usize]) -> bool {
        self.context.observed(array, subscripts)
    }

    fn moment(&self, _: &Moment, _: &[usize], _: &[usize]) -> f64 {
        unreachable!("a log-density before expectations has no moment")
    }

    fn allocation(&self, _: SiteId, _: usize, _: &[usize], _: &[usize]) -> f64 {
        unreachable!("a log-density before expectations has no allocation")
    }

    fn log_partition(&self, _: SiteId, _: &[usize]) -> f64 {
        unreachable!("a log-density before expectations has no log partition")
    }

    fn auxiliary(&self, _: AuxiliaryId, _: &[usize]) -> f64 {
        unreachable!("a log-density before expectations has no auxiliary variable")
    }

    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        functions::apply(function, arguments)
    }
}
