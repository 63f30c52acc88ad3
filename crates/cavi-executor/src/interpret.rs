//! The slow twin of the fast run: equations evaluated literally, copy after copy.
//!
//! In come equations, data, parameters and a schedule; out go the same parameters and the same bound as those of the fast run. It
//! shares the meaning of an equation ([`cavi_algebra::evaluate`]), the families, the layout of parameters and the search of L-BFGS
//! with the fast run, and no other code. What it computes is right because it can be read beside the equations: natural parameters
//! are sums over data as they are written, allocations are read from a copy of all expectations made at the last refresh, and
//! nothing is hoisted, cached or shared.

mod ascend;
mod context;
mod coordinates;
mod held;
mod infinite;
mod reset;
mod state;

#[cfg(test)]
mod tests;

use cavi_algebra::evaluate::{Accumulator, Assignment, evaluate, evaluate_atom, for_each_value};
use cavi_algebra::{Atom, AuxiliaryId, BlockId, Elementary, Equations, Mode, Statistic, Sum};
use cavi_families::observed::hold;
use cavi_families::{Extent, Improper, Posterior, views, views_mut};

use crate::data::Bound;
use crate::layout::Parameters;
use crate::schedule::{Item, Schedule, Step};
use crate::trouble::Trouble;
use cavi_families::kept::lend;
use context::{Context, Place, assignment, unflat};
use held::Held;
use infinite::{Common, Whole};
use state::{Concrete, Partition, State, View, row_of};

/// A run of equations on data.
pub struct Interpreter<'a> {
    context: Context<'a>,
    now: State,
    /// The state at the last refresh of the allocations.
    held: Held,
}

/// Which coefficients of a block are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Those of all terms.
    All,
    /// Those of the block's own statements.
    Prior,
}

/// What becomes of the masks of data without a missing entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Masks {
    /// They are evaluated like everything else.
    AsWritten,
    /// They are left out, for a group without a copy, whose mask has no entry to ask.
    FullLeftOut,
}

impl<'a> Interpreter<'a> {
    /// A run that starts at these parameters, allocations refreshed.
    pub fn new(equations: &'a Equations, bound: &'a Bound, parameters: Parameters) -> Result<Self, Trouble> {
        let context = Context::new(equations, bound)?;
        for (index, place) in context.places.iter().enumerate() {
            let id = BlockId::from(index);
            let block = equations.block(id);
            let trouble = |reason: String| Err(Trouble { block: id, copy: Vec::new(), reason });
            let wanted = if block.mode == Mode::Implicit { Vec::new() } else { place.column_lengths() };
            let given: Vec<usize> = parameters
                .blocks
                .get(index)
                .map_or_else(Vec::new, |columns| columns.iter().map(Vec::len).collect());
            if given != wanted {
                return trouble(format!("its parameters have {given:?} numbers and must have {wanted:?}"));
            }
        }
        let now = State::new(&context, parameters);
        let held = Held::new(now.clone());
        let mut interpreter = Interpreter { context, now, held };
        for index in 0..equations.blocks.len() {
            let id = BlockId::from(index);
            if interpreter.context.places[index].observed.is_some() {
                let (place, family) = interpreter.family(id);
                let mut columns = interpreter.now.parameters.blocks[index].clone();
                match place.values {
                    true => interpreter.put_held(id, None, &mut columns),
                    false => interpreter.observe(id, None, family, &mut columns),
                }
                interpreter.set_block(id, columns);
            }
        }
        interpreter.refresh()?;
        Ok(interpreter)
    }

    /// The descriptors of all blocks; of an implicit block none.
    pub fn parameters(&self) -> &Parameters {
        &self.now.parameters
    }

    /// Replaces the descriptors of a block (of a point: its values). The allocations that are held stay.
    pub fn set_block(&mut self, id: BlockId, columns: Vec<Vec<f64>>) {
        self.now.parameters.blocks[id.index()] = columns;
        self.now.expect(&self.context, id);
    }

    /// Runs all items of a schedule once.
    pub fn sweep(&mut self, schedule: &Schedule) -> Result<(), Trouble> {
        schedule.items.iter().try_for_each(|item| self.item(item))
    }

    /// Runs one item as often as it says.
    pub fn item(&mut self, item: &Item) -> Result<(), Trouble> {
        self.run(item, true)
    }

    fn run(&mut self, item: &Item, refreshes: bool) -> Result<(), Trouble> {
        if item.reset {
            item.blocks().into_iter().try_for_each(|block| self.reset_block(block))?;
        }
        for _ in 0..item.repeat {
            if refreshes {
                self.refresh()?;
            }
            match &item.step {
                Step::Block(block) if refreshes => self.move_block(*block, Which::All, Partition::Optimal)?,
                Step::Block(block) => self.update_block(*block)?,
                Step::Group(members) => members.iter().try_for_each(|member| self.run(member, false))?,
                Step::Sequence(members) => {
                    members.iter().try_for_each(|member| self.run(member, refreshes))?
                }
            }
        }
        Ok(())
    }

    /// Brings all allocations, and implicit factors, to their optimum for the current q.
    pub fn refresh(&mut self) -> Result<(), Trouble> {
        self.held = Held::new(self.refreshed()?);
        Ok(())
    }

    /// The current state with implicit factors at their optimum.
    fn refreshed(&self) -> Result<State, Trouble> {
        let mut state = self.now.clone();
        let held = Held::new(self.now.clone());
        for (index, block) in self.context.equations.blocks.iter().enumerate() {
            if block.mode == Mode::Implicit {
                let id = BlockId::from(index);
                let view = View {
                    context: &self.context,
                    now: &self.now,
                    held: &held,
                    partition: Partition::Optimal,
                };
                state.implicit[index] = self.described(&view, id, Which::All, None)?;
                state.expect(&self.context, id);
            }
        }
        Ok(state)
    }

    /// Updates all copies of a block from the allocations that are held. A fixed or implicit block stays.
    pub fn update_block(&mut self, block: BlockId) -> Result<(), Trouble> {
        self.move_block(block, Which::All, Partition::Held)
    }

    /// Makes a block the optimum of its own statements alone.
    pub fn reset_block(&mut self, block: BlockId) -> Result<(), Trouble> {
        match self.context.equations.block(block).is_point() {
            true => self.reset_point(block),
            false => self.move_block(block, Which::Prior, Partition::Held),
        }
    }

    fn move_block(&mut self, id: BlockId, which: Which, allocations: Partition) -> Result<(), Trouble> {
        let block = self.context.equations.block(id);
        if matches!(block.mode, Mode::Fixed | Mode::Implicit) {
            return Ok(());
        }
        if let Some(ascent) = &block.ascent {
            return self.ascend(id, ascent, allocations);
        }
        if block.in_order.is_empty() {
            if self.keeps_all(id, None) {
                return Ok(());
            }
            let columns = self.moved(id, which, None)?;
            self.now.parameters.blocks[id.index()] = columns;
            self.now.expect(&self.context, id);
            return Ok(());
        }
        for row in self.context.places[id.index()].order.clone() {
            if self.keeps_all(id, Some(row)) {
                continue;
            }
            let columns = self.moved(id, which, Some(row))?;
            let place = &self.context.places[id.index()];
            for (index, column) in columns.iter().enumerate() {
                let span = if place.values {
                    row * place.widths[index]..(row + 1) * place.widths[index]
                } else {
                    place.span(place.extents()[index], row)
                };
                self.now.parameters.blocks[id.index()][index][span].copy_from_slice(column);
            }
            self.now.expect_row(&self.context, id, row);
        }
        Ok(())
    }

    /// The new columns of a block, or of one row of it.
    fn moved(&self, id: BlockId, which: Which, row: Option<usize>) -> Result<Vec<Vec<f64>>, Trouble> {
        let view = self.view(Partition::Held);
        let mut columns = match self.context.equations.block(id).mode {
            Mode::Point => self.mode(&view, id, which, row)?,
            Mode::Distribution | Mode::Fixed | Mode::Implicit => self.described(&view, id, which, row)?,
        };
        self.keep_weightless(&view, id, row, &mut columns);
        Ok(columns)
    }

    /// The copies of a block, or of one row of it, that keep what they have: which numbers they have among all, and whether each has no
    /// weight.
    fn weightless(&self, view: &View, id: BlockId, row: Option<usize>) -> Vec<bool> {
        let (_, place) = self.context.block(id);
        let (all, each) = (place.layout.batch(), place.layout.batch_of(1).rows);
        let copies = row.map_or(0..all.rows, |row| row * each..(row + 1) * each);
        copies.map(|copy| self.weight(view, id, copy) == 0.0).collect()
    }

    /// Whether no copy has a weight.
    fn keeps_all(&self, id: BlockId, row: Option<usize>) -> bool {
        self.context.equations.block(id).is_weighed()
            && !self.weightless(&self.view(Partition::Held), id, row).contains(&false)
    }

    /// Gives rows of weight 0 and those that do not exist the coefficients of one that has a weight.
    fn lend(&self, view: &View, id: BlockId, row: Option<usize>, natural: &mut [Vec<f64>]) {
        let (block, place) = self.context.block(id);
        if !block.is_weighed() {
            return;
        }
        let weightless = self.weightless(view, id, row);
        let batch = row.map_or(place.layout.batch(), |_| place.layout.batch_of(1));
        let shared = !place.layout.group.is_empty();
        lend(&place.statistics, (&batch, shared), &|copy| weightless[copy], natural);
    }

    /// A row of weight 0, or one that does not exist, keeps its factor. A matrix that rows share is made from all of them.
    fn keep_weightless(&self, view: &View, id: BlockId, row: Option<usize>, columns: &mut [Vec<f64>]) {
        let (block, place) = self.context.block(id);
        if !block.is_weighed() {
            return;
        }
        let extents = if place.values { vec![Extent::Vector; columns.len()] } else { place.extents() };
        let (all, each) = (place.layout.batch(), place.layout.batch_of(1).rows);
        let copies = row.map_or(0..all.rows, |row| row * each..(row + 1) * each);
        for weightless in copies.filter(|copy| self.weight(view, id, *copy) == 0.0) {
            for ((column, stored), extent) in
                columns.iter_mut().zip(&self.now.parameters.blocks[id.index()]).zip(&extents)
            {
                if *extent == Extent::Matrix && !place.layout.group.is_empty() {
                    continue;
                }
                let width = stored.len() / place.layout.rows;
                let from =
                    if each > 1 { all.row(weightless) } else { weightless * width..(weightless + 1) * width };
                let before = row.unwrap_or(0) * width;
                column[from.start - before..from.end - before].copy_from_slice(&stored[from]);
            }
        }
    }

    fn view(&self, partition: Partition) -> View<'_> {
        View { context: &self.context, now: &self.now, held: &self.held, partition }
    }

    /// Coefficients to descriptors.
    fn described(
        &self,
        view: &View,
        id: BlockId,
        which: Which,
        row: Option<usize>,
    ) -> Result<Vec<Vec<f64>>, Trouble> {
        let (place, family) = self.family(id);
        let mut natural = self.natural(view, id, which, row);
        self.hold(id, row, &mut natural);
        self.lend(view, id, row, &mut natural);
        let natural = views(&natural);
        let batch = row.map_or(place.layout.batch(), |_| place.layout.batch_of(1));
        let mut columns: Vec<Vec<f64>> =
            place.extents().into_iter().map(|extent| vec![0.0; batch.len(extent)]).collect();
        family
            .describe(&batch, &natural, &mut views_mut(&mut columns))
            .map_err(|improper| self.improper(id, row, improper))?;
        self.observe(id, row, family, &mut columns);
        Ok(columns)
    }

    /// Rows of a partly observed array that are observed are point masses at their values.
    fn observe(&self, id: BlockId, row: Option<usize>, family: &dyn Posterior, columns: &mut [Vec<f64>]) {
        let (_, place) = self.context.block(id);
        let Some(observed) = &place.observed else { return };
        let mut columns = views_mut(columns);
        let (batch, first) = match row {
            Some(row) => (place.layout.batch_of(1), row),
            None => (place.layout.batch(), 0),
        };
        for number in 0..batch.rows {
            if let Some(value) = &observed[first + number] {
                let has_masses = family.observe(&batch, number, value, &mut columns);
                assert!(has_masses, "a family that data have has point masses");
            } else if let Some((held, value)) = place.part(first + number) {
                family.observe_elements(&batch, number, &held, &value, &mut columns);
            }
        }
    }

    /// The coefficients of rows some of whose elements are held, to those of the others.
    fn hold(&self, id: BlockId, row: Option<usize>, natural: &mut [Vec<f64>]) {
        let place = &self.context.places[id.index()];
        let (batch, first) = match row {
            Some(row) => (place.layout.batch_of(1), row),
            None => (place.layout.batch(), 0),
        };
        for number in 0..batch.rows {
            let Some((held, value)) = place.part(first + number) else { continue };
            let [linear, square] = natural else {
                unreachable!("a family that holds elements has two statistics")
            };
            let square = &mut square[batch.matrix(batch.group_of(number))];
            hold(batch.n, &held, &value, &mut linear[batch.row(number)], square);
        }
    }

    /// Gives the elements of a point that are held their values.
    fn put_held(&self, id: BlockId, row: Option<usize>, columns: &mut [Vec<f64>]) {
        let place = &self.context.places[id.index()];
        if place.elements.is_none() {
            return;
        }
        let first = row.unwrap_or(0) * place.widths[0];
        for (number, own) in columns[0].iter_mut().enumerate() {
            *own = place.element(first + number).unwrap_or(*own);
        }
    }

    /// Coefficients to the value of a point.
    fn mode(
        &self,
        view: &View,
        id: BlockId,
        which: Which,
        row: Option<usize>,
    ) -> Result<Vec<Vec<f64>>, Trouble> {
        let (place, family) = self.family(id);
        let block = self.context.equations.block(id);
        if block.natural.is_empty() {
            let reason = "its update is not in closed form".to_owned();
            return Err(Trouble { block: id, copy: Vec::new(), reason });
        }
        let mut natural = self.natural(view, id, which, row);
        self.hold_back(id, row, &mut natural);
        let batch = row.map_or(place.layout.batch(), |_| place.layout.batch_of(1));
        // Members stand beside each other in a row.
        let rows: Vec<usize> = row.map_or_else(|| (0..place.layout.rows).collect(), |row| vec![row]);
        let stored = &self.now.parameters.blocks[id.index()];
        let mut value = Vec::new();
        for row in &rows {
            for (column, width) in stored.iter().zip(&place.widths) {
                value.extend(&column[row * width..(row + 1) * width]);
            }
        }
        self.hold(id, row, &mut natural);
        self.lend(view, id, row, &mut natural);
        let natural = views(&natural);
        family.mode(&batch, &natural, &mut value).map_err(|improper| self.improper(id, row, improper))?;
        let mut columns = vec![Vec::new(); place.widths.len()];
        let mut rest = value.as_slice();
        for _ in &rows {
            for (column, width) in columns.iter_mut().zip(&place.widths) {
                let (own, others) = rest.split_at(*width);
                column.extend(own);
                rest = others;
            }
        }
        self.put_held(id, row, &mut columns);
        Ok(columns)
    }

    /// What `by` a multiplicative bound and `clamp` make of the coefficients of a point.
    fn hold_back(&self, id: BlockId, row: Option<usize>, natural: &mut [Vec<f64>]) {
        let (block, place) = self.context.block(id);
        if self.context.equations.keeps_zeros(block) {
            // A zero of a multiplicative update stays.
            let stored = &self.now.parameters.blocks[id.index()][0];
            let rows: Vec<usize> = row.map_or_else(|| (0..place.layout.rows).collect(), |row| vec![row]);
            for (column, own) in natural.iter_mut().zip(&place.statistics) {
                let at_zero = if own.statistic == Statistic::square() { -1.0 } else { 0.0 };
                for (value, row) in column.iter_mut().zip(&rows) {
                    if stored[*row] == 0.0 {
                        *value = at_zero;
                    }
                }
            }
        }
        if block.clamp {
            // A negative coefficient of a log makes the density infinite on the boundary.
            for (column, own) in natural.iter_mut().zip(&place.statistics) {
                if matches!(own.statistic.0.as_slice(), [(_, Elementary::Log | Elementary::LogComplement)]) {
                    column.iter_mut().for_each(|value| *value = value.max(0.0));
                }
            }
        }
    }

    fn family(&self, id: BlockId) -> (&Place, &'static dyn Posterior) {
        let (_, place) = self.context.block(id);
        (place, place.family)
    }

    fn improper(&self, id: BlockId, row: Option<usize>, improper: Improper) -> Trouble {
        let before = row.unwrap_or(0) * self.context.places[id.index()].layout.batch_of(1).rows;
        self.context.trouble(id, before + improper.row, improper.reason)
    }

    /// The coefficient columns of all rows, or of one. A matrix column is evaluated at the first row of each group.
    fn natural(&self, view: &View, id: BlockId, which: Which, row: Option<usize>) -> Vec<Vec<f64>> {
        if let Some(row) = row {
            return self.coefficients(view, id, which, row, true);
        }
        let (_, place) = self.context.block(id);
        let batch = place.layout.batch();
        let mut columns: Vec<Vec<f64>> =
            place.statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        let mut seen = vec![false; place.layout.groups];
        for row in 0..place.layout.rows {
            let first = !std::mem::replace(&mut seen[batch.group_of(row)], true);
            let own_columns = self.coefficients(view, id, which, row, first);
            for ((column, own_column), own) in columns.iter_mut().zip(&own_columns).zip(&place.statistics) {
                if own.extent != Extent::Matrix || first {
                    column[place.span(own.extent, row)].copy_from_slice(own_column);
                }
            }
        }
        // A group that no row belongs to has its matrix all the same.
        let matrix = |own: &&cavi_families::Expectation| own.extent == Extent::Matrix;
        if place.statistics.iter().any(|own| matrix(&own)) {
            let letters = &place.layout.group_letters;
            for group in (0..place.layout.groups).filter(|group| !seen[*group]) {
                let positions = unflat(&place.layout.group_sizes, group);
                let mut assignment = assignment(self.context.symbols(), letters, &positions, view);
                let wanted = |own| own == Extent::Matrix;
                let own_columns =
                    self.coefficients_at(view, id, which, &mut assignment, &wanted, Masks::FullLeftOut);
                for ((column, own_column), own) in columns.iter_mut().zip(&own_columns).zip(&place.statistics)
                {
                    if own.extent == Extent::Matrix {
                        let length = place.length(own.extent);
                        column[group * length..(group + 1) * length].copy_from_slice(own_column);
                    }
                }
            }
        }
        columns
    }

    /// The coefficients of one row, a column a statistic; matrices only where asked for.
    fn coefficients(
        &self,
        view: &View,
        id: BlockId,
        which: Which,
        row: usize,
        matrices: bool,
    ) -> Vec<Vec<f64>> {
        let mut assignment = self.context.row(id, row, view);
        let wanted = |own| matrices || own != Extent::Matrix;
        self.coefficients_at(view, id, which, &mut assignment, &wanted, Masks::AsWritten)
    }

    /// A coefficient without the masks of data that lack no entry: their letters need no value then.
    fn without_full_masks(&self, sum: &Sum) -> Sum {
        let mut sum = sum.clone();
        for term in &mut sum.terms {
            term.factors.retain(|factor| match &factor.atom {
                Atom::Observed(array, _) => self.context.bound.array(*array).has_missing(),
                _ => true,
            });
            for inner in term.factors.iter_mut().flat_map(|factor| factor.atom.nested_mut()) {
                *inner = self.without_full_masks(inner);
            }
        }
        sum
    }

    /// The coefficients at given plate letters, those of the wanted extents only.
    fn coefficients_at(
        &self,
        view: &View,
        id: BlockId,
        which: Which,
        assignment: &mut Assignment,
        wanted: &dyn Fn(Extent) -> bool,
        masks: Masks,
    ) -> Vec<Vec<f64>> {
        let (_, place) = self.context.block(id);
        let block = self.context.equations.block(id);
        let (all, prior) = self.context.coefficients(id);
        let symbols = self.context.symbols();
        let mut columns: Vec<Vec<f64>> =
            place.statistics.iter().map(|own| vec![0.0; place.length(own.extent)]).collect();
        for (index, natural) in block.natural.iter().enumerate() {
            let (sum, whole) = match which {
                Which::All => (Some(&natural.coefficient), all.get(index)),
                Which::Prior => (block.prior.get(index), prior.get(index)),
            };
            let (Some(sum), Some(whole)) = (sum, whole) else { continue };
            let statistic = place
                .statistic(&natural.statistic)
                .expect("the derivation chose a family whose statistics contain the collected ones");
            let extent = place.statistics[statistic].extent;
            if !wanted(extent) {
                continue;
            }
            let without_masks;
            let whole = match masks {
                Masks::AsWritten => whole,
                Masks::FullLeftOut => {
                    let common = Common::of(&natural.statistic, block.is_point());
                    without_masks = Whole::of(self.context.equations, &self.without_full_masks(sum), common);
                    &without_masks
                }
            };
            // The product of two different variables in one vector stands on both sides of the diagonal.
            let crossed = match natural.statistic.0.as_slice() {
                [(left, _), (right, _)] => extent == Extent::Matrix && left != right,
                _ => false,
            };
            for_each_value(symbols, view, &natural.slots, assignment, &mut |assignment| {
                let value = whole.value(symbols, view, assignment);
                let slots: Vec<usize> = natural
                    .slots
                    .iter()
                    .map(|slot| assignment.get(*slot).expect("it was just given"))
                    .collect();
                let mut elements = place.elements(&natural.statistic, &slots);
                if crossed {
                    columns[statistic][place.within(extent, &elements)] += 0.5 * value;
                    elements.reverse();
                    columns[statistic][place.within(extent, &elements)] += 0.5 * value;
                } else {
                    columns[statistic][place.within(extent, &elements)] += value;
                }
            });
        }
        columns
    }

    /// The evidence lower bound, allocations at their optimum.
    pub fn elbo(&self) -> f64 {
        let terms = self.elbo_terms();
        // Under `clamp` the bound is minus infinity if an observation has probability 0, even if a density is
        // infinite.
        let clamps = self.context.equations.blocks.iter().any(|block| block.clamp);
        if clamps && terms.contains(&f64::NEG_INFINITY) && !terms.iter().any(|term| term.is_nan()) {
            return f64::NEG_INFINITY;
        }
        terms.into_iter().collect::<Accumulator>().total()
    }

    /// The addends of [`Interpreter::elbo`]: the terms of the statements, then one for each block with a distribution.
    /// The sum of their absolute values is the scale at which the bound may fall by rounding.
    pub fn elbo_terms(&self) -> Vec<f64> {
        match self.refreshed() {
            Ok(state) => {
                let held = Held::new(state);
                let view = View {
                    context: &self.context,
                    now: &self.now,
                    held: &held,
                    partition: Partition::Optimal,
                };
                self.bound_terms(&view)
            }
            // An implicit factor that has no optimum leaves the bound undefined.
            Err(_) => vec![f64::NAN],
        }
    }

    /// The bound at the allocations that are held: what never falls inside a group.
    pub fn elbo_held(&self) -> f64 {
        self.elbo_held_terms().into_iter().collect::<Accumulator>().total()
    }

    /// The addends of [`Interpreter::elbo_held`].
    pub fn elbo_held_terms(&self) -> Vec<f64> {
        self.bound_terms(&self.view(Partition::Held))
    }

    fn bound_terms(&self, view: &View) -> Vec<f64> {
        let equations = self.context.equations;
        let sums = equations.elbo.terms.iter().map(|(_, sum)| Whole::of(equations, sum, Common::Log));
        let mut terms: Vec<f64> = sums.flat_map(|whole| whole.by_points(equations, view)).collect();
        if view.partition == Partition::Held {
            let tangents = (0..self.context.equations.auxiliaries.len()).map(AuxiliaryId::from);
            terms.extend(tangents.map(|id| view.tangent_change(id)));
        }
        for index in 0..self.context.places.len() {
            terms.extend(self.entropy(view, BlockId::from(index)));
        }
        terms
    }

    /// What a block with a distribution adds to the bound beside the terms of the statements: over its copies, by their
    /// weight, `sum_i (prior_i - eta_i) E t_i + A(eta)` where its family pairs the two, else the entropy.
    fn entropy(&self, view: &View, id: BlockId) -> Option<f64> {
        let (block, place) = self.context.block(id);
        if place.values {
            return None;
        }
        let family = place.family;
        let state = if block.mode == Mode::Implicit { view.held.state() } else { view.now };
        let columns = state.columns(&self.context, id);
        let batch = place.layout.batch();
        let mut entropy = vec![0.0; batch.rows];
        family.entropy(&batch, &views(columns), &mut entropy);
        let mut natural: Vec<Vec<f64>> =
            place.statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
        if family.paired() {
            family.natural(&batch, &views(columns), &mut views_mut(&mut natural));
        }
        let extents: Vec<Extent> = place.statistics.iter().map(|own| own.extent).collect();
        let mut sum = Accumulator::default();
        let each = place.layout.batch_of(1);
        for (copy, entropy) in entropy.iter().enumerate() {
            let weight = self.weight(view, id, copy);
            if weight == 0.0 {
                continue;
            }
            // A row of ragged slices holds a copy for each group.
            let (row, group) = (copy / each.rows, copy % each.rows);
            if let Some(value) = place.observed_value(row) {
                if family.paired() {
                    let prior = self.coefficients(view, id, Which::Prior, row, true);
                    sum.add(weight * place.prior_at(&prior, value));
                }
                continue;
            }
            let mut own_sum = Accumulator::default();
            own_sum.add(*entropy);
            if family.paired() {
                let prior = self.coefficients(view, id, Which::Prior, row, true);
                let natural = row_of(place, &natural, &extents, row);
                for ((own, prior), natural) in place.statistics.iter().zip(&prior).zip(&natural) {
                    let positions = if each.rows > 1 { each.row(group) } else { 0..natural.len() };
                    for position in positions {
                        let (prior, natural) = (prior[position], natural[position]);
                        let difference = prior - natural;
                        // A product with a factor of exactly 0 is 0 even if the expectation is infinite, so that a
                        // copy without data adds nothing.
                        if difference != 0.0 {
                            let elements = place.elements_at(own, position);
                            own_sum.add(difference * view.expectation(id, &own.statistic, row, &elements));
                        }
                    }
                }
            }
            sum.add(weight * own_sum.total());
        }
        Some(sum.total())
    }

    /// The multiplicity of a copy, 0 where it does not exist.
    fn weight(&self, view: &View, id: BlockId, row: usize) -> f64 {
        let block = self.context.equations.block(id);
        let mut assignment = self.context.copy(id, row, view);
        block
            .weights()
            .map(|atom| evaluate_atom(self.context.symbols(), atom, view, &mut assignment))
            .product()
    }

    /// The log joint density of data and latents at concrete values: for each latent array its values, in C order of its
    /// declared dimensions; index variables as positions. Entries for data and constants are not read and may be `None`.
    ///
    /// # Panics
    ///
    /// Where a latent has no values.
    pub fn joint_at(&self, values: &[Option<Vec<f64>>]) -> f64 {
        let latent = |(index, values): (usize, &Option<Vec<f64>>)| {
            values.clone().filter(|_| self.context.is_latent(cavi_algebra::ArrayId::from(index)))
        };
        let values: Vec<Option<Vec<f64>>> = values.iter().enumerate().map(latent).collect();
        let environment = Concrete { context: &self.context, values: &values };
        let statements = self.context.equations.statements.iter();
        let densities = statements.map(|statement| {
            evaluate(self.context.symbols(), &statement.log_density, &environment, &mut Assignment::new())
        });
        densities.collect::<Accumulator>().total()
    }
}
