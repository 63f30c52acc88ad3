//! Intervals by linear response: the covariance of the posterior, from how the means of q answer to a small change of the log joint.
//!
//! Tilting the log joint by `t x` changes posterior expectations by `d E[y] / dt = Cov(x, y)` at t = 0, exactly. Of a fit the same
//! derivative of the means of q is an estimate of that covariance, which is not that of q: it holds what the other factors answer.
//! With V the covariance of the statistics under q and H the second derivatives of the expected log joint in their means it is
//! `(I - V H)^-1 V`; where the posterior is Normal, it is exact, although the factors of q are too narrow.
//!
//! **As it is computed.** Natural parameters of all factors are one vector eta, a sweep is a map `S(eta, t)` of it, and the fit is at rest,
//! `eta = S(eta, 0)`. The state at rest under a tilt moves by `delta = d eta / dt`, which solves
//!
//! ```text
//! (I - dS/deta) delta = dS/dt
//! ```
//!
//! by GMRES, where the product of `dS/deta` with a vector is a central difference of two sweeps. Allocations and implicit factors are at their
//! optimum in every sweep and answer with the rest. The covariance with x of every mean is its derivative along delta.
//!
//! **Rows of weight.** A row of multiplicity m is m copies with one stored factor, and a tilt of that tilts all of them: what the mean of one answers is
//! A, its variance and m - 1 covariances with the others. Tilting one copy is tilting all by `1 / m`, and this copy against the others, by `1 - 1 / m` and
//! by `-1 / m` each. What copies share sees no sum of such a contrast and stays at rest, so that the answer to it is A', that of a copy with all held that
//! is shared. One copy has the variance `A / m + (1 - 1 / m) A'`. Where copies are counted by several multiplicities, each of them is taken apart so.
//! Rows of weight 0 are none.
//!
//! Of rows that were projected what they share keeps its q, and does not answer.
//!
//! A probability of 0 in doubles, of a class that is out of the question for a row, stays 0 and does not answer, nor does a switch whose probability is as
//! near to 1 as doubles tell.
//!
//! An interval stands about the mean at rest, whose variance this is; where the fit had not come to rest, a note says by how much its own mean differs.
//!
//! Points have no variance under q to begin with, and no interval here.
//!
//! # Source
//! Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, Journal of Machine Learning Research 19(51),
//! section 4 and appendix C; Saad and Schultz (1986) for GMRES.

use super::bootstrap::{went_on, without_rows};
use super::gmres::gmres;
use cavi_algebra::{ArrayId, Atom, BlockId, Mode, Support};
use cavi_executor::{Executor, Item, Layout, Parameters, Schedule, Step, is_of_switches};

use super::tilt::{Element, Tilt, Tilted};
use super::{Interval, Intervals, Labelled, Target, Variable, check_level, percent, quantile_of, targets};
use crate::bind::{DataError, list};
use crate::error::Error;
use crate::fit::Control;
use crate::heldout::unflat;
use crate::means::mean;
use crate::posterior::{Role, layouts, roles};
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::rows::RowWeights;
use crate::start::Given;

/// As many numbers get an interval at once: each takes a solution of linear equations.
pub const MOST: usize = 2000;

/// Sweeps until the fit is at rest.
const SWEEPS: usize = 20_000;
/// A sweep at rest moves no coordinate by more than this share of its scale.
const REST: f64 = 1e-10;
/// A fit that its sweeps still move by more than this is not at rest.
const NEAR: f64 = 1e-6;
/// The step of differences, as a share of the scale of coordinates.
const STEP: f64 = 1e-4;
/// The residual at which equations count as solved; differences are good for about as many digits.
const TOLERANCE: f64 = 1e-8;
/// A residual above this is no solution.
const UNSOLVED: f64 = 1e-4;
/// Log odds beyond this belong to a probability that is 1 but for 1e-10, of whose distance to 1 a double keeps six digits.
const CERTAIN: f64 = 23.0;
/// Products with `dS/deta` for one number at most.
const PRODUCTS: usize = 300;

/// Intervals by linear response. `progress` is told how many numbers are done, and of how many, and says whether to go on.
///
/// # Errors
/// A level that is none; names that are wrong; a program with points, or whose factors do not allow it, with the reason; more numbers than
/// [`MOST`]; a fit that comes to no rest; a stop.
pub fn response(
    fit: &Reopened,
    names: &[String],
    level: f64,
    threads: usize,
    progress: &dyn Fn(usize, usize) -> Control,
) -> Result<Intervals, Error> {
    check_level(level)?;
    let given = fit.problem.as_given();
    let wanted = targets(fit, given, &fit.parameters, names)?;
    let run = Run::of(fit, threads)?;
    let count: usize = wanted.iter().map(|own| own.mean.values.len()).sum();
    if count > MOST {
        let sizes: Vec<String> = wanted
            .iter()
            .map(|own| format!("`{}` ({})", given.model.symbols.array(own.array).name, own.mean.values.len()))
            .collect();
        return Err(DataError::new(format!(
            "linear response is too costly here: {count} numbers, of {}",
            list(&sizes.iter().map(String::as_str).collect::<Vec<_>>())
        ))
        .possible(format!("at most {MOST} numbers at once, each by a solution of linear equations"))
        .help("name fewer latents, `cavi intervals DIR VAR --linear-response`; or `--bootstrap 200`")
        .into());
    }
    let symbols = &given.model.symbols;
    let labelled = Labelled(given);
    let (mut variables, mut at_rest) = (Vec::new(), Vec::new());
    let (mut done, mut unsolved, mut negative) = (0, 0, 0);
    let mut without = Vec::new();
    let mut stopped = false;
    for own in &wanted {
        let array = symbols.array(own.array);
        let refused = |reason: String| {
            DataError::new(format!("linear response does not apply to `{}`: {reason}", array.name))
                .help("`--bootstrap 200` applies to any program")
        };
        let mut variances = run.variances(own, &mut || {
            done += 1;
            stopped = progress(done, count) == Control::Stop;
            !stopped
        });
        if stopped {
            return Err(Error::Stopped);
        }
        let variances = variances.as_mut().map_err(|reason| refused(reason.clone()))?;
        let centres = run.means(own).ok_or_else(|| refused("its factor has no mean".to_owned()))?;
        let intervals = own.mean.values.iter().zip(&centres).zip(variances.iter()).enumerate();
        let intervals = intervals.filter_map(|(cell, ((mean, centre), found))| {
            let found = found.as_ref()?;
            unsolved += usize::from(found.residual > UNSOLVED);
            negative += usize::from(found.variance < 0.0);
            let is_known = found.residual <= UNSOLVED && found.variance >= 0.0;
            let sd = if is_known { found.variance.sqrt() } else { f64::NAN };
            let at = |p: f64| if sd > 0.0 { quantile_of(array.support, *centre, sd, p) } else { centre + sd };
            Some(Interval {
                labels: labelled.labels(&own.mean, cell),
                mean: *mean,
                sd,
                low: at((1.0 - level) / 2.0),
                high: at((1.0 + level) / 2.0),
            })
        });
        variables.push(Variable {
            name: array.name.clone(),
            columns: labelled.columns(own.array),
            intervals: intervals.collect(),
        });
        if variances.iter().any(Option::is_none) {
            without.push(array.name.as_str());
        }
        let shown = centres.iter().zip(variances.iter()).filter(|(_, found)| found.is_some());
        at_rest.push(shown.map(|(centre, _)| *centre).collect());
    }
    let mut notes: Vec<String> = without.into_iter().map(without_rows).collect();
    notes.extend(went_on(&at_rest, &variables, "when it went on until it did"));
    if unsolved > 0 {
        notes
            .push(format!("the equations of {unsolved} numbers were not solved, and these have no interval"));
    }
    if negative > 0 {
        notes.push(format!(
            "{negative} variances are negative: the fit is no maximum there, and these numbers have no interval"
        ));
    }
    let what = format!(
        "{} intervals by linear response: the variance that the posterior has by how the means of q answer, with the family of the support",
        percent(level)
    );
    Ok(Intervals { method: "linear-response", what, level, variables, notes })
}

/// A variance, and the residual of its equations.
struct Variance {
    variance: f64,
    residual: f64,
}

/// A fit at rest.
struct Run<'a> {
    problem: &'a Problem,
    /// What a sweep updates.
    blocks: Vec<BlockId>,
    schedule: Schedule,
    /// The factors at rest, and their natural parameters.
    parameters: Parameters,
    rest: Vec<f64>,
    /// The scale of each coordinate.
    scales: Vec<f64>,
    threads: usize,
}

impl<'a> Run<'a> {
    /// Brings a fit to rest.
    ///
    /// # Errors
    /// A program to which linear response does not apply; a fit that comes to no rest.
    fn of(fit: &'a Reopened, threads: usize) -> Result<Run<'a>, Error> {
        let problem = &fit.problem;
        let equations = &problem.equations;
        let name = |id: &BlockId| {
            let members = equations.block(*id).members.iter();
            members.map(|own| problem.model.symbols.array(*own).name.as_str()).collect::<Vec<&str>>()
        };
        let all = (0..equations.blocks.len()).map(BlockId::from).filter(|id| !fit.is_held_block(*id));
        let points: Vec<BlockId> =
            all.clone().filter(|id| equations.block(*id).mode == Mode::Point).collect();
        let refused = |reason: String| {
            DataError::new(format!("linear response does not apply: {reason}"))
                .possible("programs all of whose latents are distributions under q")
                .help("`--bootstrap 200` applies to any program")
        };
        if !points.is_empty() {
            let names: Vec<&str> = points.iter().flat_map(name).collect();
            return Err(refused(format!("{} under q no distribution but a point", is(&names))).into());
        }
        let blocks: Vec<BlockId> = all.filter(|id| equations.block(*id).mode == Mode::Distribution).collect();
        // In the order of a sweep of the program, each block once.
        let order = problem.own_schedule().blocks();
        let mut ordered: Vec<BlockId> = Vec::new();
        order.into_iter().chain(blocks.clone()).filter(|id| blocks.contains(id)).for_each(|id| {
            if !ordered.contains(&id) {
                ordered.push(id);
            }
        });
        let schedule = schedule_of(&ordered);
        let blocks = ordered;
        let given = Given { blocks: fit.parameters.blocks.iter().cloned().map(Some).collect() };
        let moved = problem.to_run(given).blocks.into_iter().map(Option::unwrap_or_default);
        let parameters = Parameters { blocks: moved.collect() };
        let bound = &problem.binding.bound;
        let mut executor =
            Executor::new(equations, bound, parameters, threads).map_err(unplanned(problem))?;
        if let Some(id) = blocks.iter().find(|id| executor.is_observed(**id)) {
            return Err(refused(format!("{} observed in part", is(&name(id)))).into());
        }
        let mut at = executor.coordinates(&blocks);
        let mut far = f64::INFINITY;
        for _ in 0..SWEEPS {
            executor.sweep(&schedule).map_err(|trouble| refused(trouble.reason))?;
            let next = executor.coordinates(&blocks);
            let scales = scales(problem, &blocks, &next);
            far = at
                .iter()
                .zip(&next)
                .zip(&scales)
                .filter(|((one, other), scale)| one != other && **scale > 0.0)
                .fold(0.0, |far: f64, ((one, other), scale)| far.max((one - other).abs() / scale));
            at = next;
            if far < REST {
                break;
            }
        }
        if far.is_nan() || far > NEAR {
            return Err(DataError::new(format!(
                "the fit has not come to rest: after {SWEEPS} sweeps more, each still moves it by {far:.0e} of its scale"
            ))
            .help("a fit that has converged: `cavi fit ... --tol 1e-10 --sweeps 100000`, or `--accelerate auto`")
            .into());
        }
        let parameters = executor.parameters().clone();
        Ok(Run::at_rest(problem, blocks, parameters, at, threads))
    }

    /// A fit at rest, of which these blocks move.
    fn at_rest(
        problem: &'a Problem,
        blocks: Vec<BlockId>,
        parameters: Parameters,
        rest: Vec<f64>,
        threads: usize,
    ) -> Run<'a> {
        let (schedule, scales) = (schedule_of(&blocks), scales(problem, &blocks, &rest));
        Run { problem, blocks, schedule, parameters, rest, scales, threads }
    }

    /// The same with everything held but what has copies by all of these multiplicities.
    ///
    /// # Errors
    /// In words, what cannot be held.
    fn of_copies(&self, multiplicities: &[ArrayId]) -> Result<Run<'a>, String> {
        let equations = &self.problem.equations;
        let has_copies = |id: &BlockId| {
            let own = &equations.block(*id).multiplicity;
            multiplicities
                .iter()
                .all(|wanted| own.iter().any(|atom| matches!(atom, Atom::Value(array, _) if array == wanted)))
        };
        // An implicit factor answers whatever is asked of it.
        let all = (0..equations.blocks.len()).map(BlockId::from);
        let mut shared = all.filter(|id| equations.block(*id).mode == Mode::Implicit && !has_copies(id));
        if let Some(id) = shared.next() {
            let name = &equations.symbols.array(equations.block(id).members[0]).name;
            return Err(format!("rows of weight share `{name}`, which is implicit"));
        }
        let blocks: Vec<BlockId> = self.blocks.iter().copied().filter(has_copies).collect();
        let executor = self.executor()?;
        let rest = executor.coordinates(&blocks);
        Ok(Run::at_rest(self.problem, blocks, self.parameters.clone(), rest, self.threads))
    }

    fn executor(&self) -> Result<Executor<'a>, String> {
        let Problem { equations, binding, .. } = self.problem;
        Executor::new(equations, &binding.bound, self.parameters.clone(), self.threads)
            .map_err(|unplanned| unplanned.0)
    }

    /// The means of the elements of a latent at rest; `None` where its factor has none.
    fn means(&self, own: &Target) -> Option<Vec<f64>> {
        let Problem { equations, binding, .. } = self.problem;
        mean(equations, &binding.bound, &self.parameters, own.array).map(|own| own.values)
    }

    /// The variances of the elements of a latent, none of rows of weight 0; after each it is asked whether the work goes on, else those so far.
    ///
    /// # Errors
    /// Why there are none.
    fn variances(
        &self,
        own: &Target,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Option<Variance>>, String> {
        let Problem { model, equations, binding, .. } = self.problem;
        let bound = &binding.bound;
        let id = equations.block_of(own.array).ok_or("it has no factor of its own")?;
        let block = equations.block(id);
        let member = block.members.iter().position(|one| *one == own.array).ok_or("it has no factor")?;
        let layout = layouts(equations, bound).swap_remove(id.index());
        if self.problem.model.symbols.array(own.array).support == Support::PositiveDefinite {
            return Err("it is a matrix".to_owned());
        }
        let mut tilted = Tilted::of(equations, bound, id, &layout);
        let statement = model.statement_of(own.array).ok_or("it has no statement")?;
        let weights: Vec<RowWeights<'_>> = RowWeights::of_statement(&model.symbols, bound, statement).each();
        let multiplicities: Vec<ArrayId> = weights.iter().flat_map(RowWeights::arrays).collect();
        // For each choice of multiplicities by which copies move against each other, by its bits, what moves then.
        let mut parts: Vec<Option<(Run<'a>, Executor<'a>)>> = (0..1 << weights.len()).map(|_| None).collect();
        let mut found = Vec::new();
        for cell in 0..own.mean.values.len() {
            let position = unflat(&own.mean.shape, cell);
            let copies: Vec<f64> =
                weights.iter().map(|own| own.at(|dimension| position[dimension])).collect();
            if copies.contains(&0.0) {
                found.push(None);
                if !goes_on() {
                    break;
                }
                continue;
            }
            let (row, within) = self.place(id, member, &layout, &own.mean.shape, cell);
            let element = Element { member, row, within };
            let tilt = Tilt::of(&tilted, &layout, &self.parameters.blocks[id.index()], element)?;
            let mut all = Variance { variance: 0.0, residual: 0.0 };
            for (number, part) in parts.iter_mut().enumerate() {
                let is_apart = |place: usize| number >> place & 1 == 1;
                let of = |(place, count): (usize, &f64)| {
                    if is_apart(place) { 1.0 - 1.0 / count } else { 1.0 / count }
                };
                let share: f64 = copies.iter().enumerate().map(of).product();
                if share == 0.0 {
                    continue;
                }
                if part.is_none() {
                    let apart = (0..multiplicities.len()).filter(|place| is_apart(*place));
                    let apart: Vec<ArrayId> = apart.map(|place| multiplicities[place]).collect();
                    let run = self.of_copies(&apart)?;
                    let executor = run.executor()?;
                    *part = Some((run, executor));
                }
                let (run, executor) = part.as_mut().expect("just made");
                let answered = run.variance(executor, (&mut tilted, &tilt), id, (own, cell))?;
                all.variance += share * answered.variance;
                all.residual = all.residual.max(answered.residual);
            }
            found.push(Some(all));
            if !goes_on() {
                break;
            }
        }
        Ok(found)
    }

    /// What the mean of an element answers to its tilt.
    fn variance(
        &self,
        executor: &mut Executor<'_>,
        (tilted, tilt): (&mut Tilted, &Tilt),
        id: BlockId,
        (own, cell): (&Target, usize),
    ) -> Result<Variance, String> {
        let right = self.answer(tilted, tilt, self.smallest(id))?;
        let mut product = |v: &[f64]| -> Result<Vec<f64>, String> {
            let moved = self.moved(executor, v)?;
            Ok(v.iter().zip(moved).map(|(own, moved)| own - moved).collect())
        };
        let solved = gmres(&mut product, &right, TOLERANCE, PRODUCTS)?;
        let variance = self.along(executor, own, cell, &solved.x)? + tilt.unexplained;
        Ok(Variance { variance, residual: solved.residual })
    }

    /// The row of an element in its block, and its place in the member's slice.
    fn place(
        &self,
        id: BlockId,
        member: usize,
        layout: &Layout,
        shape: &[usize],
        cell: usize,
    ) -> (usize, usize) {
        let place = unflat(shape, cell);
        let mut plates = vec![0; layout.plates.len()];
        let mut slices = vec![0; layout.slices[member].len()];
        for (role, position) in roles(&self.problem.equations, id, member).iter().zip(place) {
            match role {
                Role::Plate(plate) => plates[*plate] = position,
                Role::Slice(slice) => slices[*slice] = position,
            }
        }
        let flat = |sizes: &[usize], positions: &[usize]| {
            sizes.iter().zip(positions).fold(0, |place, (size, position)| place * size + position)
        };
        (flat(&layout.plates, &plates), flat(&layout.slices[member], &slices))
    }

    /// The smallest scale of the coordinates of a block.
    fn smallest(&self, id: BlockId) -> f64 {
        let all = layouts(&self.problem.equations, &self.problem.binding.bound);
        let mut rest = self.scales.as_slice();
        for own in &self.blocks {
            let (here, others) = rest.split_at(coordinates(&all[own.index()]));
            if *own == id {
                let moving = here.iter().copied().filter(|scale| *scale > 0.0);
                return moving.reduce(f64::min).unwrap_or(1.0);
            }
            rest = others;
        }
        unreachable!("what has an interval is updated by a sweep")
    }

    /// `dS/dt` at rest, in scaled coordinates; the coordinates of the tilted block have at least this scale.
    fn answer(&self, tilted: &mut Tilted, tilt: &Tilt, scale: f64) -> Result<Vec<f64>, String> {
        let step = STEP * scale / tilt.largest();
        let mut swept = |by: f64| -> Result<Vec<f64>, String> {
            tilted.set(tilt, by);
            let mut executor =
                Executor::new(&tilted.equations, &tilted.bound, self.parameters.clone(), self.threads)
                    .map_err(|unplanned| unplanned.0)?;
            executor.sweep(&self.schedule).map_err(|trouble| trouble.reason)?;
            Ok(executor.coordinates(&self.blocks))
        };
        let (up, down) = (swept(step)?, swept(-step)?);
        Ok(self.slopes(&up, &down, step))
    }

    /// The differences of the coordinates of two states that are two steps apart, by step, in scaled coordinates.
    fn slopes(&self, up: &[f64], down: &[f64], step: f64) -> Vec<f64> {
        let slope = |((up, down), scale): ((&f64, &f64), &f64)| match *scale {
            0.0 => 0.0,
            scale => (up - down) / (2.0 * step * scale),
        };
        up.iter().zip(down).zip(&self.scales).map(slope).collect()
    }

    /// The state at rest, moved along scaled coordinates by so much.
    fn at(&self, v: &[f64], by: f64) -> Vec<f64> {
        let moved = self.rest.iter().zip(v).zip(&self.scales);
        moved.map(|((rest, own), scale)| rest + by * own * scale).collect()
    }

    /// The step of differences along a vector.
    fn step(v: &[f64]) -> f64 {
        STEP / v.iter().fold(f64::MIN_POSITIVE, |largest: f64, own| largest.max(own.abs()))
    }

    /// `dS/deta v`, both in scaled coordinates.
    fn moved(&self, executor: &mut Executor<'_>, v: &[f64]) -> Result<Vec<f64>, String> {
        let step = Run::step(v);
        let mut swept = |by: f64| -> Result<Vec<f64>, String> {
            executor.move_to(&self.blocks, &self.at(v, by)).map_err(|improper| improper.reason)?;
            executor.sweep(&self.schedule).map_err(|trouble| trouble.reason)?;
            Ok(executor.coordinates(&self.blocks))
        };
        let (up, down) = (swept(step)?, swept(-step)?);
        Ok(self.slopes(&up, &down, step))
    }

    /// The derivative of the mean of an element along a vector of scaled coordinates.
    fn along(
        &self,
        executor: &mut Executor<'_>,
        own: &Target,
        cell: usize,
        v: &[f64],
    ) -> Result<f64, String> {
        let Problem { equations, binding, .. } = self.problem;
        let step = Run::step(v);
        let mut at = |by: f64| -> Result<f64, String> {
            executor.move_to(&self.blocks, &self.at(v, by)).map_err(|improper| improper.reason)?;
            let mean = mean(equations, &binding.bound, executor.parameters(), own.array);
            mean.map(|own| own.values[cell]).ok_or_else(|| "its factor has no mean".to_owned())
        };
        Ok((at(step)? - at(-step)?) / (2.0 * step))
    }
}

/// A sweep over blocks, each once.
fn schedule_of(blocks: &[BlockId]) -> Schedule {
    let item = |block: &BlockId| Item { step: Step::Block(*block), repeat: 1, reset: false };
    Schedule { items: blocks.iter().map(item).collect() }
}

/// "`a` and `b` are", "`a` is".
fn is(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", list(names))
}

fn unplanned(problem: &Problem) -> impl Fn(cavi_executor::Unplanned) -> Error {
    let file_name = problem.source.file_name.clone();
    move |unplanned| Error::Unplanned { file_name: file_name.clone(), reason: unplanned.0 }
}

/// How many natural parameters a block has.
fn coordinates(layout: &Layout) -> usize {
    let batch = layout.batch();
    layout.statistics.iter().map(|own| batch.len(own.extent)).sum()
}

/// A scale for each natural parameter: its size, or the root of the largest of its block where that is less (the natural parameter of x of a
/// Normal has the standard deviation 1 / sd, the root of that of x^2). A coordinate that is the logarithm of a probability of 0, or the log odds of one
/// of 1, has the scale 0: no difference of two states moves it, since the probability stays below the smallest double, or as near to 1. So have log odds
/// beyond [`CERTAIN`], of which the probability keeps few digits.
fn scales(problem: &Problem, blocks: &[BlockId], at: &[f64]) -> Vec<f64> {
    let all = layouts(&problem.equations, &problem.binding.bound);
    let mut scales = Vec::with_capacity(at.len());
    let mut rest = at;
    for id in blocks {
        let layout = &all[id.index()];
        let batch = layout.batch();
        let (own, others) = rest.split_at(coordinates(layout));
        rest = others;
        let alone = problem.equations.block(*id).members.len() == 1;
        // For each coordinate whether it is the log odds of a variable alone.
        let are_log_odds = layout.statistics.iter().flat_map(|of| {
            let log_odds = alone && is_of_switches(&problem.equations, *id, &of.statistic);
            std::iter::repeat_n(log_odds, batch.len(of.extent))
        });
        let finite = own.iter().filter(|value| value.is_finite());
        let largest = finite.fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let floor = if largest > 0.0 { largest } else { 1.0 };
        scales.extend(own.iter().zip(are_log_odds).map(|(value, log_odds)| {
            if value.is_infinite() || log_odds && *value > CERTAIN {
                return 0.0;
            }
            let size = value.abs().max(1e-3 * floor.min(floor.sqrt()));
            size.min(floor.sqrt().max(1e-3 * size))
        }));
    }
    scales
}
