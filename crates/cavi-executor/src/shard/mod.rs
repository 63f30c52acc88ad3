//! The runs of the shards of an axis: each over its own range of positions, by the same plan.
//!
//! The plan of the whole data is cut. A step that lies along the axis keeps the values at the positions of the shard; one that sums over it
//! is taken over these positions, and the run hands it to its [`Reducer`]; everything else is as it was. So all
//! shards have the same steps, whatever their sizes, and what follows from data and constants alone is worked out once, for all.

mod cut;
mod ground;
mod joined;
pub mod memory;
mod part;
mod passes;
mod runner;
mod spread_cost;

use std::ops::Range;
use std::sync::Arc;

use cavi_algebra::{AxisId, Block, BlockId, Equations};

use crate::data::Bound;
use crate::layout::{Layout, Parameters};
use crate::plan::passes::places::{Axis, Place};
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::plan::{Plan, Precision, Unplanned, plan, plan_memoized};
use crate::reduce::Reducer;
pub use crate::run::common::Common;
use crate::run::common::Seen;
use crate::run::joint::Joint;
use crate::run::{Array, Executor};
pub use ground::{Ground, Spread, axes};
pub use joined::Joined;
pub use part::Part;
use part::Places;
pub use passes::{Passes, Visits};
pub use runner::Runner;
pub use spread_cost::{Cluster, Spent, SpreadCost};

/// A program and its data, to be run in shards of an axis.
pub struct Sharded<'a> {
    equations: &'a Equations,
    bound: &'a Bound,
    axis: AxisId,
    plan: Plan<'a>,
    precision: Precision,
    places: Vec<Place>,
    /// For each step that follows from data and constants alone and is kept, its values.
    constants: Vec<Option<Arc<Vec<f64>>>>,
    /// For each block, whether its copies belong to positions of the axis.
    local: Vec<bool>,
    /// For each site, whether its entries do.
    sites: Vec<bool>,
    /// How many columns of parameters each block has.
    columns_of: Vec<usize>,
}

/// The positions of each of so many shards of an axis: as even as can be, none empty.
pub fn ranges(positions: usize, shards: usize) -> Vec<Range<usize>> {
    let shards = shards.clamp(1, positions.max(1));
    (0..shards).map(|shard| shard * positions / shards..(shard + 1) * positions / shards).collect()
}

impl<'a> Sharded<'a> {
    /// Plans the whole.
    ///
    /// # Errors
    /// If there is no plan, or the axis cannot be cut; the reason names what stands in the way.
    pub fn new(
        equations: &'a Equations,
        bound: &'a Bound,
        axis: AxisId,
        parameters: &Parameters,
        precision: Precision,
    ) -> Result<Sharded<'a>, Unplanned> {
        let plan = plan(equations, bound, precision)?;
        Sharded::planned(equations, bound, axis, parameters, (plan, precision))
    }

    /// The same for shards that are visited one after another ([`Passes`]): sums over the axis are free of what all shards share.
    ///
    /// # Errors
    /// As [`Sharded::new`]; if they cannot be free of it.
    pub fn memoizing(
        equations: &'a Equations,
        bound: &'a Bound,
        axis: AxisId,
        parameters: &Parameters,
        precision: Precision,
    ) -> Result<Sharded<'a>, Unplanned> {
        let plan = plan_memoized(equations, bound, precision, axis)?;
        let own = Sharded::planned(equations, bound, axis, parameters, (plan, precision))?;
        own.memoizes().map_err(Unplanned)?;
        Ok(own)
    }

    fn planned(
        equations: &'a Equations,
        bound: &'a Bound,
        axis: AxisId,
        parameters: &Parameters,
        (plan, precision): (Plan<'a>, Precision),
    ) -> Result<Sharded<'a>, Unplanned> {
        let places = plan.cuts.iter().find(|cut| cut.axis == axis).map(|cut| cut.places.clone());
        let places = places.unwrap_or_else(|| Err("no data run along it".to_owned()));
        let name = &equations.symbols.axis(axis).name;
        let places =
            places.map_err(|why| Unplanned(format!("axis `{name}` cannot be cut into shards: {why}")))?;
        let constants = crate::run::constants_of(&plan, equations, bound, parameters, precision)?;
        let constants = constants.into_iter().map(|own| own.map(Arc::new)).collect();
        let own = Axis { axis, equations, plan: &plan };
        let local = equations.blocks.iter().map(|block| own.is_local(block)).collect();
        let entries = |site: &crate::plan::site::SitePlan| own.carries_any(site.weight);
        let sites = plan.sites.iter().map(|site| site.as_ref().is_some_and(|site| entries(site))).collect();
        let columns_of = parameters.blocks.iter().map(Vec::len).collect();
        Ok(Sharded { equations, bound, axis, precision, places, constants, local, sites, columns_of, plan })
    }

    /// The axis.
    pub fn axis(&self) -> AxisId {
        self.axis
    }

    /// The number of its positions.
    pub fn positions(&self) -> usize {
        self.bound.size(self.axis)
    }

    /// Whether the copies of a block belong to positions of the axis: they move with their shard.
    pub fn is_local(&self, block: BlockId) -> bool {
        self.local[block.index()]
    }

    /// The layout of a block, of the whole data.
    pub fn layout(&self, block: BlockId) -> &Layout {
        &self.plan.layouts[block.index()]
    }

    /// What of program and data lies in a range of the axis.
    pub fn part(&self, range: Range<usize>) -> Part<'a> {
        Part::new(self.equations, self.bound, self.axis, range)
    }

    /// The parameters of a shard: of what lies along the axis those at its positions, of all else all.
    pub fn parameters(&self, part: &Part, whole: &Parameters) -> Parameters {
        let blocks = self.equations.blocks.iter().zip(&self.plan.layouts).zip(&whole.blocks);
        let own = blocks.map(|((block, layout), columns)| {
            let number = columns.iter().enumerate();
            number.map(|(number, column)| part.column(block, layout, number).taken(column)).collect()
        });
        Parameters { blocks: own.collect() }
    }

    /// The columns of a block, of a shard.
    fn columns(&self, part: &Part, id: BlockId, whole: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (block, layout) = (self.equations.block(id), &self.plan.layouts[id.index()]);
        let columns = whole.iter().enumerate();
        columns.map(|(number, column)| part.column(block, layout, number).taken(column)).collect()
    }

    /// Does something with each column: of which block, its number, and whether it is cut.
    fn each_column(&self, part: &Part, mut each: impl FnMut(usize, usize, bool)) {
        for (index, (block, layout)) in self.equations.blocks.iter().zip(&self.plan.layouts).enumerate() {
            for number in 0..self.columns_of[index] {
                each(index, number, part.column(block, layout, number).is_cut());
            }
        }
    }

    /// The same with the place of each column that is cut.
    fn each_cut(&self, part: &Part, mut each: impl FnMut(usize, usize, Places)) {
        let blocks = &self.equations.blocks;
        self.each_column(part, |block, number, is_cut| {
            if is_cut {
                each(block, number, part.column(&blocks[block], &self.plan.layouts[block], number));
            }
        });
    }

    /// How many parameters lie along the axis, of a shard.
    fn moved(&self, part: &Part) -> usize {
        let mut count = 0;
        self.each_cut(part, |_, _, places| count += places.len());
        count
    }

    /// Puts these parameters of a shard where they are among those of the whole.
    fn put_moved(&self, part: &Part, own: &[f64], whole: &mut Parameters) {
        let mut rest = own;
        self.each_cut(part, |block, number, places| {
            let (column, others) = rest.split_at(places.len());
            rest = others;
            places.put(column, &mut whole.blocks[block][number]);
        });
    }

    /// The same of all parameters of a shard; those that all share are left alone.
    fn put_cut(&self, part: &Part, own: &Parameters, whole: &mut Parameters) {
        self.each_cut(part, |block, number, places| {
            places.put(&own.blocks[block][number], &mut whole.blocks[block][number]);
        });
    }

    /// Puts the parameters of a shard where they are among those of the whole.
    pub fn put(&self, part: &Part, own: &Parameters, whole: &mut Parameters) {
        let blocks = self.equations.blocks.iter().zip(&self.plan.layouts);
        for ((block, layout), (own, whole)) in blocks.zip(own.blocks.iter().zip(&mut whole.blocks)) {
            for (number, (own, whole)) in own.iter().zip(whole).enumerate() {
                part.column(block, layout, number).put(own, whole);
            }
        }
    }

    /// For each block, which of its columns are the same for all shards: where no copy belongs to a position of the axis, and of
    /// matrices that copies at several positions share.
    fn shared(&self, part: &Part<'a>, parameters: &Parameters) -> Vec<Vec<bool>> {
        let blocks = self.equations.blocks.iter().zip(&self.plan.layouts).zip(&parameters.blocks);
        let is_shared = |((block, layout), columns): ((&Block, &Arc<Layout>), &Vec<Vec<f64>>)| {
            (0..columns.len()).map(|number| !part.column(block, layout, number).is_cut()).collect()
        };
        blocks.map(is_shared).collect()
    }

    /// What the shards of a process have in common, before the first of them is run.
    pub fn common(&self) -> Arc<Common> {
        Common::new(self.plan.nodes.len(), self.plan.blocks.len())
    }

    /// The run of a shard. `bound` is that of its part ([`Part::bound`]), as are `parameters`; all shards of a run on this process have
    /// the same of `common`.
    ///
    /// # Errors
    /// If positions of the axis are looked up across shards.
    pub fn executor(
        &self,
        part: &Part<'a>,
        bound: &'a Bound,
        parameters: Parameters,
        threads: usize,
        (reducer, common): (Box<dyn Reducer>, &Arc<Common>),
    ) -> Result<Executor<'a>, Unplanned> {
        let (plan, split) = self.cut(part).map_err(Unplanned)?;
        if cfg!(debug_assertions)
            && let Err(problem) = crate::plan::verify(&plan, self.equations, bound)
        {
            panic!("the plan of a shard is broken: {problem}");
        }
        let constants = self.constants.iter().enumerate().map(|(index, values)| {
            let values = values.as_ref()?;
            let places = part.of_loops(&self.plan.nodes[index].loops());
            Some(match places.is_cut() {
                true => Array::Own(places.taken(values)),
                false => Array::Lent(Arc::clone(values)),
            })
        });
        let joint = Joint {
            places: self.places.clone(),
            split,
            local: self.local.clone(),
            shared: self.shared(part, &parameters),
            sites: self.sites.clone(),
            halted: None,
            reducer,
            common: Arc::clone(common),
            seen: Seen::default(),
        };
        let constants = constants.collect();
        Executor::of_shard(
            plan,
            self.equations,
            bound,
            parameters,
            (threads, self.precision),
            (joint, constants),
        )
    }

    /// Why shards cannot be visited one after another, each with the last sums of the others: a sum over the axis that the update of what all
    /// share reads follows from what all share by more than allocations that were held, so that it would be out of date.
    ///
    /// # Errors
    /// The reason, with the names of the blocks.
    pub fn memoizes(&self) -> Result<(), String> {
        let name = |block: usize| {
            let members = self.equations.blocks[block].members.iter();
            let names: Vec<&str> =
                members.map(|member| self.equations.symbols.array(*member).name.as_str()).collect();
            names.join(", ")
        };
        if self.plan.sites.iter().flatten().any(|site| site.own.is_some()) {
            return Err(
                "allocations that leave their own shares out read what all documents share".to_owned()
            );
        }
        for number in (0..self.local.len()).filter(|own| self.local[*own]) {
            let mut seen = vec![false; self.plan.nodes.len()];
            let mut rest = self.plan.blocks[number].updated_from();
            while let Some(node) = rest.pop() {
                let index = node.index();
                if std::mem::replace(&mut seen[index], true) || self.constants[index].is_some() {
                    continue;
                }
                if self.places[index] == Place::Partial {
                    return Err(format!("the update of `{}` reads a sum over all shards", name(number)));
                }
                let own = &self.plan.nodes[index];
                rest.extend(own.reads());
                rest.extend(if let Operation::Held(from) = own.operation { Some(from) } else { None });
            }
        }
        for (number, plan) in self.plan.blocks.iter().enumerate().filter(|(own, _)| !self.local[*own]) {
            let mut seen = vec![false; self.plan.nodes.len()];
            let mut rest: Vec<NodeId> = plan.updated_from();
            while let Some(node) = rest.pop() {
                let index = node.index();
                if std::mem::replace(&mut seen[index], true) || self.constants[index].is_some() {
                    continue;
                }
                let own = &self.plan.nodes[index];
                if let Operation::Held(from) = own.operation
                    && self.places[index] != Place::Local
                    && self.moves(from).is_some()
                {
                    return Err(format!(
                        "the update of `{}` reads what was held for all shards",
                        name(number)
                    ));
                }
                if self.places[index] != Place::Partial || matches!(own.operation, Operation::Counts(..)) {
                    rest.extend(own.reads());
                    continue;
                }
                let Operation::Contractions(parts) = &own.operation else {
                    if let Some(block) = own.reads().into_iter().find_map(|read| self.moves(read)) {
                        return Err(self.out_of_date(&name(number), &name(block)));
                    }
                    continue;
                };
                let cut = Axis { axis: self.axis, equations: self.equations, plan: &self.plan };
                for part in parts {
                    let reads = || part.operands.iter().map(|operand| operand.node);
                    if !cut.sums(part, own).unwrap_or(true) {
                        rest.extend(reads());
                    } else if let Some(block) = reads().find_map(|read| self.moves(read)) {
                        return Err(self.out_of_date(&name(number), &name(block)));
                    }
                }
            }
        }
        Ok(())
    }

    fn out_of_date(&self, updated: &str, read: &str) -> String {
        let axis = &self.equations.symbols.axis(self.axis).name;
        format!(
            "a sum over `{axis}` that the update of `{updated}` reads follows from `{read}`, which all shards share: the sums of \
             the others would be out of date"
        )
    }

    /// A block with parameters that all shards share and from which a step follows, allocations and auxiliaries at the positions of the
    /// axis held.
    fn moves(&self, id: NodeId) -> Option<usize> {
        let mut seen = vec![false; self.plan.nodes.len()];
        let mut rest = vec![id];
        while let Some(node) = rest.pop() {
            let own = &self.plan.nodes[node.index()];
            if std::mem::replace(&mut seen[node.index()], true) || self.constants[node.index()].is_some() {
                continue;
            }
            match (own.source(), &own.operation) {
                (Source::Block(block), _) if self.places[node.index()] != Place::Local => {
                    return Some(block.index());
                }
                (Source::Refresh, Operation::Held(from)) if self.places[node.index()] != Place::Local => {
                    rest.push(*from);
                }
                _ => rest.extend(own.reads()),
            }
        }
        None
    }
}
