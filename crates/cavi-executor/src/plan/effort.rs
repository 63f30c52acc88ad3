//! What steps of a plan do, counted: so many units of each kind of work.

use cavi_algebra::{BlockId, Elementary, Equations, Function};
use cavi_families::{Expectation, Extent, Posterior};
use cavi_numerics::kernels::contract::Work;

use crate::plan::Plan;
use crate::plan::parts::Parts;
use crate::plan::precision::Stored;
use crate::plan::prepared::Prepared;
use crate::plan::print::whitened;
use cavi_numerics::kernels::masked::ROWS as MASKED_ROWS;

use crate::plan::rates::{KINDS, Kind, SECONDS, SHARED};
use crate::plan::site::{AddendPlan, SitePlan};
use crate::plan::tensor::{Contraction, Elementwise, Index, Node, NodeId, Operation};

/// So many units of each kind of work, cut into so many tasks.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    units: [f64; KINDS],
    tasks: usize,
}

impl Effort {
    /// Nothing.
    pub const NONE: Effort = Effort { units: [0.0; KINDS], tasks: 1 };

    /// One step that does so much.
    pub fn step(kinds: &[(Kind, f64)]) -> Effort {
        Effort::NONE.and(Kind::Step, 1.0).with(kinds)
    }

    /// And so many units of a kind.
    pub fn and(mut self, kind: Kind, units: f64) -> Effort {
        self.units[kind as usize] += units;
        self
    }

    /// And so many units of each of these.
    pub fn with(self, kinds: &[(Kind, f64)]) -> Effort {
        kinds.iter().fold(self, |effort, (kind, units)| effort.and(*kind, *units))
    }

    /// And another effort.
    pub fn plus(mut self, other: &Effort) -> Effort {
        self.units.iter_mut().zip(&other.units).for_each(|(own, other)| *own += other);
        self.tasks = self.tasks.max(other.tasks);
        self
    }

    /// Without an effort that is a part of it.
    pub fn less(mut self, other: &Effort) -> Effort {
        self.units.iter_mut().zip(&other.units).for_each(|(own, other)| *own -= other);
        self
    }

    /// So many times.
    pub fn times(mut self, count: f64) -> Effort {
        self.units.iter_mut().for_each(|own| *own *= count);
        self
    }

    /// Into so many tasks.
    pub fn cut(mut self, tasks: usize) -> Effort {
        self.tasks = tasks.max(1);
        self
    }

    /// Seconds on so many threads.
    pub fn seconds(&self, threads: usize) -> f64 {
        let alone: f64 = SECONDS.iter().map(|(kind, each)| each * self.units[*kind as usize]).sum();
        let together = threads.min(self.tasks) as f64;
        alone / (1.0 + SHARED * (together - 1.0))
    }
}

/// Bytes that stay near a core, and that stay in the cache behind it.
const NEAR: usize = 1 << 21;
const FAR: usize = 1 << 25;
/// As many values are a task of what is done value by value.
const CHUNK: usize = 1 << 13;
/// Bytes of a factor's rows that a strip of a grid holds.
const STRIP: usize = 400_000;

/// So many bytes on their way between a core and where they are.
fn fetched(bytes: usize) -> Effort {
    match bytes {
        0..=NEAR => Effort::NONE,
        _ if bytes <= FAR => Effort::NONE.and(Kind::Far, bytes as f64),
        _ => Effort::NONE.and(Kind::Memory, bytes as f64),
    }
}

fn values_fetched(values: usize) -> Effort {
    fetched(values * size_of::<f64>())
}

/// A function of every element.
fn of_values(values: usize, kinds: &[(Kind, f64)]) -> Effort {
    let each: Vec<(Kind, f64)> = kinds.iter().map(|(kind, each)| (*kind, each * values as f64)).collect();
    Effort::step(&each).plus(&values_fetched(values)).cut(values / CHUNK)
}

impl Plan<'_> {
    /// What it takes to work out a node, once what it reads is there.
    pub(super) fn node_effort(&self, equations: &Equations, id: NodeId) -> Effort {
        let node = &self.nodes[id.index()];
        let values = node.len();
        match &node.operation {
            Operation::Static(_) | Operation::Counts(..) => Effort::NONE,
            Operation::Moment(block, which) => {
                let family = cavi_families::posterior(equations.block(*block).family);
                let kinds = expectation(&family.expectations()[*which]);
                of_values(values, &kinds).cut(self.parts(*block, family))
            }
            Operation::Point(..) | Operation::Held(_) | Operation::Whole(_) | Operation::Taken(_) => {
                of_values(values, &[(Kind::Plain, 1.0)]).cut(1)
            }
            Operation::Pairs(..) | Operation::Square(..) | Operation::Beside(..) => {
                of_values(values, &[(Kind::Plain, 1.0)])
            }
            Operation::Pair(Function::Power, ..) => of_values(values, &[(Kind::Scalar, 1.0)]).cut(1),
            Operation::Pair(Function::LogLeft, ..) => of_values(values, &[(Kind::Scalar, 1.0)]).cut(1),
            Operation::Pair(..) => of_values(values, &[(Kind::Bessel, 1.0)]).cut(1),
            Operation::Contractions(parts) => {
                let all = parts.iter().map(|part| self.contraction(part, node));
                let zero = of_values(values, &[(Kind::Zeroed, 1.0)]);
                all.fold(zero, |all, part| all.plus(&part))
            }
            Operation::Masked(sum) => {
                let width = values * sum.listed / node.shape[0].max(1);
                let work = [(Kind::Listed, sum.listed as f64), (Kind::ListedValue, width as f64)];
                Effort::step(&work).cut(node.shape[0] / MASKED_ROWS)
            }
            Operation::Map(function, _) => of_values(values, &map(function)),
            Operation::LogDeterminant(from) => {
                let from = &self.nodes[from.index()];
                let size = from.shape.last().copied().unwrap_or(1) as f64;
                let matrices = from.len() as f64 / (size * size).max(1.0);
                let half = 0.4 * matrices;
                Effort::step(&[(Kind::Cube, half * size.powi(3)), (Kind::Square, half * size.powi(2))])
            }
            Operation::Site(_, weights) => {
                let weights = weights.then.iter().map(|node| self.nodes[node.index()].len()).sum::<usize>();
                Effort::step(&[(Kind::Share, weights as f64)]).cut(weights / CHUNK)
            }
        }
    }

    fn contraction(&self, part: &Contraction, node: &Node) -> Effort {
        let prepared = Prepared::new(part, &self.nodes, &node.shape, &self.maps);
        if prepared.is_multiple() {
            return Effort::NONE.and(Kind::Plain, node.len() as f64).cut(node.len() / CHUNK);
        }
        let Work { calls, packed, narrow, copied, rows, values, gathered, looked_up, tasks, .. } =
            prepared.work(&self.maps);
        let through = |dims: &[Index]| dims.iter().any(|index| index.map.is_some());
        let is_far = |dims: &[Index], values: usize| through(dims) && values * size_of::<f64>() > NEAR;
        let far = part.operands.iter().any(|own| is_far(&own.dims, self.nodes[own.node.index()].len()));
        let far = far || is_far(&part.output, node.len());
        let work = [
            (Kind::Call, calls),
            (Kind::Packed, packed),
            (Kind::Narrow, narrow),
            (Kind::Copied, copied),
            (Kind::Row, rows),
            (Kind::Value, values),
            (Kind::Gathered, gathered),
            (if far { Kind::LookedUpFar } else { Kind::LookedUp }, looked_up),
        ];
        let read = part.operands.iter().map(|own| values_fetched(self.nodes[own.node.index()].len()));
        let written = values_fetched(node.len()).times(2.0);
        read.fold(written.with(&work), |all, own| all.plus(&own)).cut(tasks)
    }

    /// Into how many parts the rows of a block are cut.
    fn parts(&self, block: BlockId, family: &dyn Posterior) -> usize {
        Parts::new(family, &self.layouts[block.index()]).count()
    }

    /// What it takes to describe the factors of a block by their natural parameters, or to find a point.
    pub(super) fn description(&self, equations: &Equations, block: BlockId) -> Effort {
        let own = equations.block(block);
        let layout = &self.layouts[block.index()];
        let family = cavi_families::posterior(own.family);
        let batch = layout.batch();
        if self.blocks[block.index()].ascent.is_some() {
            let values = layout.rows * layout.width();
            return of_values(values, &[(Kind::Plain, 2.0)]).cut(1).plus(&self.whitening(equations, block));
        }
        let read: usize = family.statistics().iter().map(|own| batch.len(own.extent)).sum();
        let written: usize = match own.is_point() {
            true => layout.rows * layout.width(),
            false => family.descriptors().iter().map(|own| batch.len(own.extent)).sum(),
        };
        let values = (read + written) as f64;
        let mut effort = Effort::step(&[(Kind::Plain, values)]).plus(&values_fetched(read + written));
        if own.is_point() {
            let extents = family.statistics().into_iter().map(|own| own.extent);
            return effort.plus(&matrices(extents, layout)).cut(self.parts(block, family));
        }
        if is_choice(family) {
            effort = effort.and(Kind::Choice, batch.len(Extent::Vector) as f64);
        }
        effort.plus(&matrices(extents(family), layout)).cut(self.parts(block, family))
    }

    /// What it takes to whiten the members of a point and back.
    fn whitening(&self, equations: &Equations, block: BlockId) -> Effort {
        let (own, layout) = (equations.block(block), &self.layouts[block.index()]);
        let products = |(member, (points, _)): (usize, (usize, usize))| {
            let values = layout.rows * layout.slices[member].iter().product::<usize>();
            (4 * values * points) as f64
        };
        let all = whitened(equations, own, layout).into_iter().map(products).sum();
        Effort::NONE.and(Kind::Value, all)
    }

    /// What it takes to work out the entropies of a block; `beside` a step with an expectation, what they take more than it.
    pub(super) fn entropy(&self, equations: &Equations, block: BlockId, beside: bool) -> Effort {
        let own = equations.block(block);
        let layout = &self.layouts[block.index()];
        let family = cavi_families::posterior(own.family);
        let batch = layout.batch();
        let values: usize = family.descriptors().iter().map(|own| batch.len(own.extent)).sum();
        let rows = batch.rows as f64;
        let vector = batch.len(Extent::Vector) as f64;
        if let Some(which) = family.pairs_with() {
            let length = batch.len(family.expectations()[which].extent) as f64;
            let natural: usize = family.statistics().iter().map(|own| batch.len(own.extent)).sum();
            let special = if beside { 0.6 } else { 1.6 } * length;
            let work = [(Kind::Plain, natural as f64), (Kind::Special, special), (Kind::Paired, rows)];
            return Effort::step(&work).cut(self.parts(block, family));
        }
        let mut effort = Effort::step(&[(Kind::Plain, values as f64), (Kind::ExpOrLn, rows)]);
        if has_logs(family) {
            effort = effort.and(Kind::Special, vector.max(rows));
            if family.descriptors().iter().any(|own| own.extent == Extent::Vector) {
                effort = effort.and(Kind::Scalar, 12.0 * rows);
            }
        } else if is_choice(family) {
            effort = effort.and(Kind::Choice, vector);
        }
        if family.paired() {
            for own in family.statistics() {
                let length = batch.len(own.extent) as f64;
                effort = effort.and(Kind::Plain, 3.0 * length).and(Kind::Paired, rows);
                for (kind, each) in expectation(&own) {
                    effort = effort.and(kind, each * length);
                }
            }
        }
        effort.plus(&matrices(extents(family), layout).times(0.3)).cut(self.parts(block, family))
    }
}

/// The extents of the numbers that describe a factor.
fn extents(family: &dyn Posterior) -> impl Iterator<Item = Extent> {
    family.descriptors().iter().map(|own| own.extent)
}

/// What matrices take that are factorised and inverted.
fn matrices(mut extents: impl Iterator<Item = Extent>, layout: &crate::layout::Layout) -> Effort {
    let batch = layout.batch();
    let Some(extent) = extents.find(|own| matches!(own, Extent::Matrix | Extent::Pairs)) else {
        return Effort::NONE;
    };
    let size = layout.n as f64;
    let count = batch.len(extent) as f64 / (size * size).max(1.0);
    let rows = batch.rows as f64;
    let cube = (Kind::Cube, count * size.powi(3));
    Effort::NONE.with(&[cube, (Kind::Square, count * size * size), (Kind::Applied, rows * size * size)])
}

/// What an expectation takes, a value.
fn expectation(own: &Expectation) -> Vec<(Kind, f64)> {
    let elementary = || own.statistic.0.iter().map(|(_, own)| *own);
    let is_log = |own: Elementary| {
        matches!(own, Elementary::Log | Elementary::LogComplement | Elementary::LogDeterminant)
    };
    match elementary().any(is_log) {
        true => vec![(Kind::Plain, 1.0), (Kind::Special, 1.0)],
        false => vec![(Kind::Plain, 1.0)],
    }
}

fn has_logs(family: &dyn Posterior) -> bool {
    let is_log = |own: &(u8, Elementary)| matches!(own.1, Elementary::Log | Elementary::LogComplement);
    family.statistics().iter().any(|own| own.statistic.0.iter().any(is_log))
}

fn is_choice(family: &dyn Posterior) -> bool {
    let chooses = |own: &(u8, Elementary)| own.1 == Elementary::Indicator;
    family.statistics().iter().any(|own| own.statistic.0.iter().any(chooses))
}

fn map(function: &Elementwise) -> Vec<(Kind, f64)> {
    let kind = match function {
        Elementwise::Function(Function::Exp | Function::Log) => Kind::ExpOrLn,
        Elementwise::Function(Function::LogGamma | Function::Digamma | Function::Trigamma)
        | Elementwise::LogGammaOfGroup => Kind::Special,
        Elementwise::LogMultivariateGamma(size) => return vec![(Kind::Scalar, *size as f64)],
        Elementwise::Root | Elementwise::Power(_) | Elementwise::Function(Function::Sqrt) => Kind::Plain,
        Elementwise::Function(
            Function::Phi
            | Function::InversePhi
            | Function::StandardNormalLogCdf
            | Function::StandardNormalLogCcdf
            | Function::StandardNormalLogQf,
        ) => Kind::Tail,
        Elementwise::LogFloored | Elementwise::Function(_) => Kind::Scalar,
    };
    vec![(kind, 1.0)]
}

/// What a pass over the entries of a site does.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// Of each addend, whether its sums over the categories are to be taken.
    pub moved: Vec<bool>,
    /// Of each addend and mode, whether its counts are wanted.
    pub wanted: Vec<Vec<bool>>,
    /// Whether the total is wanted.
    pub total: bool,
}

/// The effort of a pass.
pub(super) fn pass(site: &SitePlan, pass: &Pass) -> Effort {
    let entries = site.entries as f64;
    let mut effort = Effort::step(&[]);
    if pass.total {
        effort = effort.and(Kind::Logarithm, entries);
    }
    if site.main_addend().is_none() {
        let categories: usize = site.addends.iter().map(categories).sum();
        return effort.and(Kind::Rare, entries * categories as f64);
    }
    for ((addend, moved), wanted) in site.addends.iter().zip(&pass.moved).zip(&pass.wanted) {
        let visited = if addend.by_products { Kind::Place } else { Kind::Entry };
        // Weights, and the coordinates of two modes.
        effort = effort.and(visited, entries).plus(&fetched(16 * site.entries));
        let categories = addend.categories as f64;
        let counts = addend.modes.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let rows: usize = counts.map(|(mode, _)| mode.rows).sum();
        effort = effort.and(Kind::Plain, 2.0 * (rows * addend.categories) as f64);
        let wanted_count = wanted.iter().filter(|own| **own).count() as f64;
        if addend.by_products {
            let cells = addend.modes.iter().map(|mode| mode.rows as f64).product::<f64>();
            let products = f64::from(*moved) + wanted_count;
            effort = effort.and(Kind::Filled, cells * categories * products);
            continue;
        }
        let single = if addend.stored == Stored::Double { 1.0 } else { 0.5 };
        for place in 0..addend.modes.len() {
            let far = is_far(addend, place, site.entries);
            let [read, add] = if far { [Kind::ReadFar, Kind::AddFar] } else { [Kind::Read, Kind::Add] };
            let others = wanted.iter().enumerate().any(|(other, wanted)| other != place && *wanted);
            // Rows are read for the sums. For counts they are read once more only if no sum was taken.
            let reads = f64::from(*moved || others);
            effort = effort.and(read, single * entries * categories * reads);
            if wanted[place] {
                effort = effort.and(add, entries * categories);
            }
        }
    }
    if site.own.is_some() && pass.wanted.iter().flatten().any(|own| *own) {
        // Masses are read beside the means, and each share is worked out twice.
        let addend = &site.addends[0];
        let categories = site.entries as f64 * addend.categories as f64;
        effort = effort.and(Kind::Read, 1.5 * categories * addend.modes.len() as f64);
        let rows: usize = addend.modes.iter().map(|mode| mode.rows).sum();
        effort = effort.and(Kind::Plain, 4.0 * (rows * addend.categories) as f64);
    }
    let chunks = if site.entries < 4096 { 1 } else { 8 };
    effort.cut(chunks)
}

/// Whether the rows of a mode are read from afar at every entry.
fn is_far(addend: &AddendPlan, place: usize, entries: usize) -> bool {
    if place == 0 {
        return false;
    }
    let bytes = addend.modes[place].rows * addend.categories * size_of::<f64>();
    let strips = bytes.div_ceil(STRIP);
    let has_strips = place == 1 && addend.modes[0].rows * strips < entries;
    bytes > NEAR && !has_strips
}

/// How many categories an entry has.
fn categories(addend: &AddendPlan) -> usize {
    match &addend.listed {
        Some(listed) => listed.categories.len() / (listed.starts.len().max(2) - 1),
        None => addend.categories,
    }
}
