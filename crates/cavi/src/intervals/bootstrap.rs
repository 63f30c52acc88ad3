//! Intervals by bootstrap: how far the means of a fit move when it is fitted to other data of the same kind.
//!
//! **Parametric**: the fit is taken for the truth, data are drawn from it (see `held.rs` for what is held and what is drawn anew), with the
//! sizes, the missing entries and the row totals of its own, and fitted again from the q of the fit. **Of rows**: positions of an axis are drawn
//! with replacement from the data themselves (`resampled.rs`), which does not believe the program; latents of these rows have no
//! interval, since the rows differ. A row of multiplicity m is m rows, each with data drawn by themselves, so that what is fitted again has them
//! written out; the first of them has the interval of the row. Of rows that were projected what they share keeps its q in every fit. Components are put in the order of the fit (`components.rs`).
//!
//! With `t` the mean in the fit and `t*` the means in the fits to other data, the **basic** interval takes `t* - t` to be distributed as `t` less
//! the truth, `[2 t - q_hi(t*), 2 t - q_lo(t*)]`, so that a shrinkage that both have is taken out; of positive numbers on the scale of their
//! logarithms, of probabilities on that of their log odds, so that it stays where they are. The **percentile** interval is
//! `[q_lo(t*), q_hi(t*)]`; a shrinkage that `t` has is in it twice.
//!
//! # Source
//! Efron and Tibshirani (1993), An introduction to the bootstrap, chapters 6 and 13; Davison and Hinkley (1997), Bootstrap methods and their
//! application, sections 2.4, 3.3 and 5.2.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use cavi_algebra::{ArrayId, BlockId, Support};
use cavi_executor::Parameters;
use cavi_numerics::special::{exp, ln, log1p};
use rand_chacha::ChaCha8Rng;

use super::components::Components;
use super::held::Held;
use super::refit::Refit;
use super::resampled::Resampling;
use super::{Interval, Intervals, Labelled, Target, Variable, check_level, percent, targets};
use crate::bind::{Binding, DataError};
use crate::error::Error;
use crate::fit::is_stopped;
use crate::means::{Mean, mean};
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::rows::Repeated;
use crate::sample::quantile;
use crate::simulate;
use crate::streams;

/// The stack of a thread: that of a main thread on most systems.
const STACK: usize = 8 << 20;

/// How other data come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Draws {
    /// They are drawn from the fit.
    Fit,
    /// Rows of the data are drawn with replacement, along the axis of this name.
    Rows(String),
}

/// Which interval is made of the means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Their distances from the fit, turned around.
    Basic,
    /// Their quantiles.
    Percentile,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// How many data sets are fitted.
    pub refits: usize,
    /// How they come about.
    pub draws: Draws,
    /// Which interval.
    pub form: Form,
    /// These latents alone; without any, those that rows share, else all.
    pub names: Vec<String>,
    /// The probability that intervals are made for.
    pub level: f64,
    /// Of the random numbers.
    pub seed: u64,
    /// How many fits go side by side; it changes no result.
    pub threads: usize,
    /// Each fit has at most so many sweeps; without it as many as the fit had.
    pub sweeps: Option<u64>,
    /// The relative change of the bound under which a fit stops.
    pub tolerance: f64,
    /// Ends the work with [`Error::Stopped`] once it is true.
    pub stop: Option<Arc<AtomicBool>>,
}

/// Intervals by bootstrap. `progress` is told how many fits are done.
///
/// # Errors
/// Fewer than 2 fits; fits of no sweep, or whose tolerance is negative or no number; a level that is none; names and axes that are wrong; a fit from which no data can be drawn; more than a tenth of the fits
/// failing, with the reason of the first; a stop.
pub fn bootstrap(
    fit: &Reopened,
    asked: &Bootstrap,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Intervals, Error> {
    check_level(asked.level)?;
    if asked.refits < 2 {
        return Err(Error::Usage(vec![
            DataError::new(format!("`--bootstrap {}`: expected at least 2 fits", asked.refits))
                .help("200 are enough for standard deviations and intervals of 90 %, 1000 for those of 99 %"),
        ]));
    }
    if asked.sweeps == Some(0) {
        return Err(Error::Usage(vec![DataError::new(
            "`--sweeps 0`: a fit of no sweep stays where it begins; expected at least 1",
        )]));
    }
    if !(asked.tolerance >= 0.0 && asked.tolerance.is_finite()) {
        return Err(Error::Usage(vec![DataError::new(format!(
            "`--tol {}`: expected a number, 0 or greater, such as 1e-8",
            asked.tolerance
        ))]));
    }
    let given = fit.problem.as_given();
    let repeated = match &asked.draws {
        Draws::Rows(_) => None,
        Draws::Fit => Repeated::of(&given.model, &given.binding).map_err(|own| {
            own.help("`--rows AXIS` draws rows of the data with the weights that they have, and `--linear-response` draws nothing")
        })?,
    };
    let rows = match &repeated {
        None => None,
        Some(own) => Some(fit.problem.with_data(own.binding.clone())?),
    };
    let fitted = rows.as_ref().unwrap_or(&fit.problem);
    let problem = fitted.as_given();
    let resampling = match &asked.draws {
        Draws::Fit => None,
        Draws::Rows(axis) => Some(Resampling::along(problem, axis)?),
    };
    let is_row = |array: ArrayId| resampling.as_ref().is_some_and(|own| own.rows().has_rows(array));
    if let (Some(name), Draws::Rows(axis)) = (row_among(problem, &asked.names, &is_row), &asked.draws) {
        return Err(DataError::new(format!(
            "`{name}` belongs to rows along `{axis}`, which differ in each data set: it has no interval by `--rows`"
        ))
        .possible("latents that rows share")
        .help("`--bootstrap N` without `--rows` has intervals of it")
        .into());
    }
    let refit = Refit::of(fit, asked)?;
    // A fit that stopped early would go on in every refit, and its distance from them would not be that of the truth from it.
    let is_repeated = |id: BlockId| match &repeated {
        Some(own) => fitted.equations.block(id).members.iter().any(|member| own.latent(*member).is_some()),
        None => false,
    };
    let (base, _) = refit.run(fitted, &fit.parameters, &is_repeated)?;
    let mut wanted = targets(fit, problem, &base, &asked.names)?;
    wanted.retain(|own| !is_row(own.array));
    if wanted.is_empty() {
        return Err(DataError::new("all latents belong to rows, which differ in each data set")
            .help("`--bootstrap N` without `--rows` has intervals of them")
            .into());
    }
    let names: BTreeSet<ArrayId> = wanted.iter().map(|own| own.array).collect();
    let held = match resampling {
        Some(_) => None,
        None => Some(Held::of(problem, &base, &names)?),
    };
    let is_new = |array: ArrayId| match &held {
        Some(held) => held.anew.contains(&array),
        None => is_row(array),
    };
    let of_base = |array: ArrayId| mean(&problem.equations, &problem.binding.bound, &base, array);
    let setting = Setting {
        problem,
        base: &base,
        refit: &refit,
        held: held.as_ref(),
        resampling: resampling.as_ref(),
        repeated: repeated.as_ref(),
        components: Components::of(problem, &of_base, &is_new, &|array| fit.is_held(array)),
        wanted: &wanted,
        is_new: &is_new,
        seed: asked.seed,
    };
    let done = AtomicUsize::new(0);
    let outcomes = side_by_side(asked.refits, asked.threads, &|number| {
        if is_stopped(asked.stop.as_ref()) {
            return Err(Error::Stopped);
        }
        let outcome = setting.means(number);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        outcome
    });
    if is_stopped(asked.stop.as_ref()) {
        return Err(Error::Stopped);
    }
    let (mut means, mut failures, mut unconverged) = (Vec::new(), Vec::new(), 0);
    for outcome in outcomes {
        match outcome {
            Ok((own, is_converged)) => {
                unconverged += usize::from(!is_converged);
                means.push(own);
            }
            Err(error) => failures.push(error),
        }
    }
    let failed = failures.len();
    if let Some(first) = failures.into_iter().next().filter(|_| failed * 10 > asked.refits || means.len() < 2)
    {
        return Err(first);
    }
    let mut notes = Vec::new();
    if failed > 0 {
        notes.push(format!("{failed} of {} fits failed, and are left out", asked.refits));
    }
    if unconverged > 0 && fit.stored.allocations.is_none_or(|own| own.word() == "ordinary") {
        notes.push(format!(
            "{unconverged} of {} fits had not converged: `--sweeps N` gives them more",
            asked.refits
        ));
    }
    let variables: Vec<Variable> = wanted
        .iter()
        .enumerate()
        .map(|(place, own)| setting.variable(fit, own, &means, place, asked))
        .collect();
    let without = |own: &&Target| setting.shown(fit, own).1.len() < stated(fit, own).len();
    for own in wanted.iter().filter(without) {
        let name = &problem.model.symbols.array(own.array).name;
        notes.push(without_rows(name));
    }
    let shown =
        |own: &Target| setting.shown(fit, own).1.into_iter().map(|(new, _)| own.mean.values[new]).collect();
    let at_rest = wanted.iter().map(shown).collect::<Vec<Vec<f64>>>();
    notes.extend(went_on(&at_rest, &variables, "when it went on before its refits"));
    notes.extend(too_few(means.len(), asked.level));
    notes.extend(wanted.iter().zip(&variables).filter_map(|(own, variable)| unmoved(problem, own, variable)));
    notes.extend(variables.iter().filter_map(apart));
    let (method, how) = match &asked.draws {
        Draws::Fit => {
            ("bootstrap", "parametric bootstrap: fits to data that were drawn from the fit".to_owned())
        }
        Draws::Rows(axis) => (
            "rows",
            format!("bootstrap of rows: fits to rows along `{axis}` that were drawn with replacement"),
        ),
    };
    let form = match asked.form {
        Form::Basic => "basic",
        Form::Percentile => "percentile",
    };
    let what = format!("{} intervals ({form}) by {how}, {} of them", percent(asked.level), means.len());
    Ok(Intervals { method, what, level: asked.level, variables, notes })
}

/// What there is to say where intervals would reach beyond the least and the greatest of the refits. Of N refits one more lies below the k-th
/// with probability k / (N + 1), so that the ends of an interval of level c have a place if `(1 - c) / 2 (N + 1) >= 1`.
fn too_few(refits: usize, level: f64) -> Option<String> {
    let (count, tail) = (refits as f64 + 1.0, (1.0 - level) / 2.0);
    // 19 refits are enough for 90 %, whatever the rounding of 0.9.
    if tail * count >= 1.0 - 1e-9 {
        return None;
    }
    let needed = (1.0 / tail - 1e-9 * count).ceil() - 1.0;
    Some(format!(
        "{refits} refits are too few for intervals of {}: these end at the least and the greatest of them, between which one more would lie \
         with a probability of {} at most; `--bootstrap {needed}` or more has intervals of this level",
        percent(level),
        percent(((1.0 - 2.0 / count) * 1e4).round() / 1e4)
    ))
}

/// Whether the refits left a number where it is in the fit, rounding apart; `largest` is the size of the largest mean of the variable.
fn is_still(own: &Interval, largest: f64) -> bool {
    own.sd <= STILL * largest
        && (own.low - own.mean).abs().max((own.high - own.mean).abs()) <= STILL * largest
}

/// What there is to say where numbers are the same in all refits though nothing holds them: no data touch them, and they have what their prior says.
fn unmoved(problem: &Problem, target: &Target, variable: &Variable) -> Option<String> {
    let largest = variable.intervals.iter().map(|own| own.mean.abs()).fold(0.0, f64::max);
    if problem.binding.fixed.contains(&target.array) {
        return None;
    }
    // On the edge of what it may be a number can stay in fits to data that touch it.
    let support = problem.model.symbols.array(target.array).support;
    let is_free = |own: &Interval| is_still(own, largest) && link(support, own.mean).is_finite();
    let still: Vec<&Interval> = variable.intervals.iter().filter(|own| is_free(own)).collect();
    let first = still.first()?;
    let name = &variable.name;
    let labels = first.labels.join(", ");
    let which = match (still.len(), labels.is_empty()) {
        (_, true) => format!("`{name}` is the same"),
        (1, _) => format!("`{name}` at {labels} is the same"),
        (count, _) => format!("{count} numbers of `{name}` (the first at {labels}) are the same"),
    };
    Some(format!(
        "{which} in all refits: as no other data move what the data do not touch, that is no certainty, and an interval of no width \
         says nothing there. `cavi intervals DIR {name}` has the quantiles of q"
    ))
}

/// What there is to say where intervals leave the means of the fit out.
fn apart(variable: &Variable) -> Option<String> {
    let largest = variable.intervals.iter().map(|own| own.mean.abs()).fold(0.0, f64::max);
    let is_outside =
        |own: &&Interval| own.mean < own.low - STILL * largest || own.mean > own.high + STILL * largest;
    let count = variable.intervals.iter().filter(is_outside).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} intervals of `{}` leave the mean of the fit out: the refits come to something else than the fit itself, which is \
             biased there by more than its spread, as what shrinks towards its prior is",
            variable.intervals.len(),
            variable.name
        )
    })
}

/// By how many of the standard deviations of the refits a mean moves before the refits for a fit to be called unfinished.
const MOVED: f64 = 0.5;

/// A spread of refits that is smaller than this, relative to the largest mean of the variable, is rounding.
const STILL: f64 = 1e-9;

/// What there is to say where the fit went on, so that its means are not those that the intervals stand about; `when` says when it did.
pub(super) fn went_on(at_rest: &[Vec<f64>], variables: &[Variable], when: &str) -> Option<String> {
    let mut most = 0.0_f64;
    let mut moved: Vec<&str> = Vec::new();
    for (own, variable) in at_rest.iter().zip(variables) {
        let each = own.iter().zip(&variable.intervals);
        let largest = variable.intervals.iter().map(|own| own.mean.abs()).fold(0.0, f64::max);
        // What refits do not move, rounding apart, has no spread to compare with.
        let each = each.filter(|(_, interval)| interval.sd > STILL * largest);
        let far = each.map(|(at_rest, own)| (at_rest - own.mean).abs() / own.sd).fold(0.0, f64::max);
        if far > MOVED {
            moved.push(&variable.name);
            most = most.max(far);
        }
    }
    (!moved.is_empty()).then(|| {
        format!(
            "the fit had not come to rest: {when}, {} moved by up to {most:.1} of the standard deviations \
             here. `mean` is what the fit wrote, and the intervals stand about what it came to: fit again with more `--sweeps`, a \
             smaller `--tol`, or `--accelerate auto`",
            crate::bind::list(&moved)
        )
    })
}

/// What there is to say of a latent some of whose rows have weight 0.
pub(super) fn without_rows(name: &str) -> String {
    format!("what `{name}` has for rows of weight 0 has no interval: these are no rows")
}

/// The means of a latent as the fit states them.
fn stated(fit: &Reopened, own: &Target) -> Vec<f64> {
    let given = fit.problem.as_given();
    let stated = mean(&given.equations, &given.binding.bound, &fit.parameters, own.array);
    stated.map_or_else(|| own.mean.values.clone(), |own| own.values)
}

/// The first name that is that of a latent of rows.
fn row_among<'n>(
    problem: &Problem,
    names: &'n [String],
    is_row: &dyn Fn(ArrayId) -> bool,
) -> Option<&'n str> {
    let symbols = &problem.model.symbols;
    names.iter().map(String::as_str).find(|name| symbols.find(name).is_some_and(is_row))
}

/// What the fits to other data share.
struct Setting<'a> {
    problem: &'a Problem,
    /// The fit, at rest.
    base: &'a Parameters,
    refit: &'a Refit,
    held: Option<&'a Held>,
    resampling: Option<&'a Resampling<'a>>,
    repeated: Option<&'a Repeated>,
    components: Components,
    wanted: &'a [Target],
    /// Whether a latent belongs to other rows in other data.
    is_new: &'a (dyn Fn(ArrayId) -> bool + Sync),
    seed: u64,
}

/// The means of all targets in a fit, and whether it converged.
type Means = (Vec<Mean>, bool);

impl Setting<'_> {
    /// The means in the fit to the data set of this number.
    fn means(&self, number: usize) -> Result<Means, Error> {
        let mut rng = streams::BOOTSTRAP.at(number).of(self.seed);
        let problem = self.problem.with_data(self.data(&mut rng)?)?;
        let equations = &problem.equations;
        let is_new = |id: BlockId| equations.block(id).members.iter().all(|own| (self.is_new)(*own));
        let (parameters, is_converged) = self.refit.run(&problem, self.base, &is_new)?;
        let given = problem.as_given();
        let of = |own: &Target| {
            let mean = mean(&given.equations, &given.binding.bound, &parameters, own.array);
            (own.array, mean.expect("a latent that has a mean in one fit has it in another"))
        };
        let mut means: Vec<(ArrayId, Mean)> = self.wanted.iter().map(of).collect();
        self.components.align(given, &parameters, &mut means);
        Ok((means.into_iter().map(|(_, own)| own).collect(), is_converged))
    }

    /// A data set.
    fn data(&self, rng: &mut ChaCha8Rng) -> Result<Binding, Error> {
        match (self.held, self.resampling) {
            (Some(held), _) => {
                let values = held.draw(self.problem, self.base, rng);
                simulate::like(self.problem, values, &held.anew, rng)
            }
            (None, Some(resampling)) => Ok(resampling.draw(rng)),
            (None, None) => unreachable!("data are drawn from the fit or from its rows"),
        }
    }

    /// The means that the fit states, and the elements that have an interval: each in the data that are fitted again, and in the fit. Of rows
    /// that are written out these are the first of each.
    fn shown(&self, fit: &Reopened, own: &Target) -> (Vec<f64>, Vec<(usize, usize)>) {
        let stated = stated(fit, own);
        let cells = match self.repeated.filter(|repeated| repeated.latent(own.array).is_some()) {
            None => (0..own.mean.values.len()).map(|cell| (cell, cell)).collect(),
            Some(repeated) => {
                let bound = &fit.problem.as_given().binding.bound;
                let before: Vec<usize> = own.mean.axes.iter().map(|axis| bound.size(*axis)).collect();
                repeated
                    .copies(&own.mean.axes, &own.mean.shape, &before)
                    .elements
                    .into_iter()
                    .next()
                    .unwrap_or_default()
            }
        };
        (stated, cells)
    }

    /// The intervals of one latent, from its means in all fits.
    fn variable(
        &self,
        fit: &Reopened,
        own: &Target,
        means: &[Vec<Mean>],
        place: usize,
        asked: &Bootstrap,
    ) -> Variable {
        let symbols = &self.problem.model.symbols;
        let support = symbols.array(own.array).support;
        let labelled = Labelled(self.problem);
        let (stated, cells) = self.shown(fit, own);
        let intervals = cells.into_iter().map(|(cell, was)| {
            let mut all: Vec<f64> = means.iter().map(|own| own[place].values[cell]).collect();
            let (low, high) = interval(support, own.mean.values[cell], &mut all, asked.form, asked.level);
            Interval {
                labels: labelled.labels(&own.mean, cell),
                mean: stated[was],
                sd: deviation(&all),
                low,
                high,
            }
        });
        Variable {
            name: symbols.array(own.array).name.clone(),
            columns: labelled.columns(own.array),
            intervals: intervals.collect(),
        }
    }
}

/// The standard deviation, with divisor n - 1.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0)).sqrt()
}

/// An interval of a number that is `centre` in the fit, from what it is in the others.
fn interval(support: Support, centre: f64, all: &mut [f64], form: Form, level: f64) -> (f64, f64) {
    all.sort_by(f64::total_cmp);
    let [low, high] = [(1.0 - level) / 2.0, (1.0 + level) / 2.0].map(|p| expected_quantile(all, p));
    if form == Form::Percentile {
        return (low, high);
    }
    let [centre, one, other] = [centre, high, low].map(|own| link(support, own));
    // On the boundary of its support a number has no finite link, and quantiles are all there is.
    if [centre, one, other].iter().any(|own| !own.is_finite()) {
        return (low, high);
    }
    (back(support, 2.0 * centre - one), back(support, 2.0 * centre - other))
}

/// The number that one more would be below with probability `p`: at the place `p (n + 1)` of n that are sorted, counted from 1, between two
/// of them on the line that joins them, and not beyond the first or the last.
fn expected_quantile(sorted: &[f64], p: f64) -> f64 {
    let count = sorted.len() as f64;
    quantile(sorted, ((p * (count + 1.0) - 1.0) / (count - 1.0)).clamp(0.0, 1.0))
}

/// A number on the whole line.
fn link(support: Support, value: f64) -> f64 {
    match support {
        Support::Positive | Support::Nonnegative => ln(value),
        Support::Unit | Support::Simplex => ln(value) - log1p(-value),
        Support::Real
        | Support::Count
        | Support::Binary
        | Support::Index(_)
        | Support::Multiplicity
        | Support::PositiveDefinite => value,
    }
}

/// The number of a place on the whole line.
fn back(support: Support, place: f64) -> f64 {
    match support {
        Support::Positive | Support::Nonnegative => exp(place),
        Support::Unit | Support::Simplex => 1.0 / (1.0 + exp(-place)),
        Support::Real
        | Support::Count
        | Support::Binary
        | Support::Index(_)
        | Support::Multiplicity
        | Support::PositiveDefinite => place,
    }
}

/// `[task(0), task(1), ...]`, some at a time.
pub(crate) fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    task: &(dyn Fn(usize) -> T + Sync),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            break;
        }
        let own = task(number);
        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, own));
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            // Where no thread can be started, this one does the work.
            if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, own)| own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_turn_distances_around_and_stay_in_the_support() {
        // 99 numbers: the fifth is at 5 %.
        let all = || (1..100).map(|own| f64::from(own) / 100.0).collect::<Vec<f64>>();
        let of = |support, centre, form| interval(support, centre, &mut all(), form, 0.9);
        let (low, high) = of(Support::Real, 0.4, Form::Percentile);
        assert!((low - 0.05).abs() < 1e-12 && (high - 0.95).abs() < 1e-12);
        let (low, high) = of(Support::Real, 0.4, Form::Basic);
        assert!((low + 0.15).abs() < 1e-12 && (high - 0.75).abs() < 1e-12);
        // 0.4^2 / 0.95 and 0.4^2 / 0.05.
        let (low, high) = of(Support::Positive, 0.4, Form::Basic);
        assert!((low - 0.16 / 0.95).abs() < 1e-12 && (high - 3.2).abs() < 1e-12);
        let (low, high) = of(Support::Unit, 0.4, Form::Basic);
        assert!(0.0 < low && low < 0.4 && 0.4 < high && high < 1.0);
        let (low, high) = of(Support::Nonnegative, 0.0, Form::Basic);
        assert!((low - 0.05).abs() < 1e-12 && (high - 0.95).abs() < 1e-12);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_order() {
        for threads in [1, 3, 9] {
            assert_eq!(side_by_side(5, threads, &|own| own * own), [0, 1, 4, 9, 16]);
        }
    }
}
