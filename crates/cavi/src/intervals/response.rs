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
//! An interval stands about the mean at rest, whose variance this is; where the fit had not come to rest, a note says by how much its own mean differs.
//!
//! Points have no variance under q to begin with, and no interval here.
//!
//! # Source
//! Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, Journal of Machine Learning Research 19(51),
//! section 4 and appendix C; Saad and Schultz (1986) for GMRES.

use super::bootstrap::went_on;
use super::gmres::gmres;
use cavi_algebra::{BlockId, Mode, Support};
use cavi_executor::{Executor, Item, Layout, Parameters, Schedule, Step};

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
    let wanted = targets(given, &fit.parameters, names)?;
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
        let intervals = intervals.map(|(cell, ((mean, centre), found))| {
            unsolved += usize::from(found.residual > UNSOLVED);
            negative += usize::from(found.variance < 0.0);
            let is_known = found.residual <= UNSOLVED && found.variance >= 0.0;
            let sd = if is_known { found.variance.sqrt() } else { f64::NAN };
            let at = |p: f64| if sd > 0.0 { quantile_of(array.support, *centre, sd, p) } else { centre + sd };
            Interval {
                labels: labelled.labels(&own.mean, cell),
                mean: *mean,
                sd,
                low: at((1.0 - level) / 2.0),
                high: at((1.0 + level) / 2.0),
            }
        });
        variables.push(Variable {
            name: array.name.clone(),
            columns: labelled.columns(own.array),
            intervals: intervals.collect(),
        });
        at_rest.push(centres);
    }
    let mut notes = Vec::new();
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
        let all = (0..equations.blocks.len()).map(BlockId::from);
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
        let item = |block: &BlockId| Item { step: Step::Block(*block), repeat: 1, reset: false };
        let schedule = Schedule { items: ordered.iter().map(item).collect() };
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
        let scales = scales(problem, &blocks, &at);
        let parameters = executor.parameters().clone();
        Ok(Run { problem, blocks, schedule, parameters, rest: at, scales, threads })
    }

    /// The means of the elements of a latent at rest; `None` where its factor has none.
    fn means(&self, own: &Target) -> Option<Vec<f64>> {
        let Problem { equations, binding, .. } = self.problem;
        mean(equations, &binding.bound, &self.parameters, own.array).map(|own| own.values)
    }

    /// The variances of the elements of a latent; after each it is asked whether the work goes on, else those so far.
    ///
    /// # Errors
    /// Why there are none.
    fn variances(&self, own: &Target, goes_on: &mut dyn FnMut() -> bool) -> Result<Vec<Variance>, String> {
        let Problem { equations, binding, .. } = self.problem;
        let bound = &binding.bound;
        let id = equations.block_of(own.array).ok_or("it has no factor of its own")?;
        let block = equations.block(id);
        let member = block.members.iter().position(|one| *one == own.array).ok_or("it has no factor")?;
        let layout = layouts(equations, bound).swap_remove(id.index());
        if self.problem.model.symbols.array(own.array).support == Support::PositiveDefinite {
            return Err("it is a matrix".to_owned());
        }
        let mut plain = Executor::new(equations, bound, self.parameters.clone(), self.threads)
            .map_err(|unplanned| unplanned.0)?;
        let mut tilted = Tilted::of(equations, bound, id, &layout);
        let mut found = Vec::new();
        for cell in 0..own.mean.values.len() {
            let (row, within) = self.place(id, member, &layout, &own.mean.shape, cell);
            let element = Element { member, row, within };
            let tilt = Tilt::of(&tilted, &layout, &self.parameters.blocks[id.index()], element)?;
            let right = self.answer(&mut tilted, &tilt, self.smallest(id))?;
            let mut product = |v: &[f64]| -> Result<Vec<f64>, String> {
                let moved = self.moved(&mut plain, v)?;
                Ok(v.iter().zip(moved).map(|(own, moved)| own - moved).collect())
            };
            let solved = gmres(&mut product, &right, TOLERANCE, PRODUCTS)?;
            let variance = self.along(&mut plain, own, cell, &solved.x)? + tilt.unexplained;
            found.push(Variance { variance, residual: solved.residual });
            if !goes_on() {
                break;
            }
        }
        Ok(found)
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
                return here.iter().copied().fold(f64::INFINITY, f64::min);
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
        let slope = |((up, down), scale): ((&f64, &f64), &f64)| (up - down) / (2.0 * step * scale);
        Ok(up.iter().zip(&down).zip(&self.scales).map(slope).collect())
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
        let slope = |((up, down), scale): ((&f64, &f64), &f64)| (up - down) / (2.0 * step * scale);
        Ok(up.iter().zip(&down).zip(&self.scales).map(slope).collect())
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
/// Normal has the standard deviation 1 / sd, the root of that of x^2).
fn scales(problem: &Problem, blocks: &[BlockId], at: &[f64]) -> Vec<f64> {
    let all = layouts(&problem.equations, &problem.binding.bound);
    let mut scales = Vec::with_capacity(at.len());
    let mut rest = at;
    for id in blocks {
        let (own, others) = rest.split_at(coordinates(&all[id.index()]));
        rest = others;
        let largest = own.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let floor = if largest > 0.0 { largest } else { 1.0 };
        scales.extend(own.iter().map(|value| {
            let size = value.abs().max(1e-3 * floor.min(floor.sqrt()));
            size.min(floor.sqrt().max(1e-3 * size))
        }));
    }
    scales
}
