//! Memoized passes over shards of an axis, before the sweeps of a run over the whole data.
//!
//! In the first passes what lies at the positions of a shard begins afresh at each visit, so that it does not hold what all share to what
//! that was at first; these passes are a warm-up, whose bound may fall. From then on no visit lowers the bound. The sweeps over the
//! whole data, which go on from there, decide as ever when the fit is at rest.

use std::borrow::Cow;
use std::time::Instant;

use cavi_algebra::{ArrayId, AxisId, BlockId};
use cavi_executor::shard::memory::{How, one_by_one};
use cavi_executor::shard::{Part, Passes, Visits, ranges};
use cavi_executor::{Bound, Digits, Parameters, Sharded, Trouble, Unplanned};
use cavi_model::Statement;
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::Allocations;

use super::attempt::{Clock, Sweeps, Watch};
use super::{Context, Control, FitError, Lost, TraceRow, WARMUP, fall, rel_change, rounding};
use crate::batch::{self, Batch};
use crate::checkpoint::{At, Snapshot};
use crate::rows::observations;

/// What `trace.csv` calls passes whose shards go on from where they were.
const BATCH: &str = "batch";

/// What the passes leave.
pub(super) struct Passed {
    pub parameters: Parameters,
    /// Whether the callback stopped them.
    pub stopped: bool,
    pub peak_bytes: usize,
}

/// An axis in shards.
pub(super) struct Cut<'a> {
    sharded: Sharded<'a>,
    axis: AxisId,
    shards: usize,
}

/// Passes of which a checkpoint has some.
#[derive(Clone, Copy)]
pub(super) struct Midway {
    /// In so many of them shards begin afresh.
    pub afresh: u64,
    /// Whether squares that were multiplied out had lost digits, so that they are over.
    pub has_lost_digits: bool,
}

/// How the first pass begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// A sum is that of the shards that have come by; what lies at the positions of a shard begins afresh.
    OneByOne,
    /// All shards have come by before what all share moves.
    AllBefore,
    /// The same, and nothing begins afresh.
    AsTheyAre,
}

impl Beginning {
    fn afresh(self) -> u64 {
        if self == Beginning::AsTheyAre { 0 } else { batch::AFRESH }
    }
}

/// How a pass ended: with its bound, before its end because the fit was stopped, or with an update that has no value.
enum Visited {
    All(f64),
    Stopped,
    Failed(Trouble),
}

impl Context<'_> {
    /// Whether passes come before the sweeps.
    pub(super) fn is_batched(&self) -> bool {
        self.resolved.batch != Batch::Off && self.resolved.sweeps > 0
    }

    /// The passes of a run: from its start, or from where a checkpoint has it.
    pub(super) fn passes(
        &self,
        (restart, threads): (u64, usize),
        cut: Cut<'_>,
        (from, resumed): (Parameters, Option<Midway>),
        (own, clock): (&mut Sweeps<'_>, &mut Clock<'_>),
        warnings: &mut Vec<Diagnostic>,
        callback: Watch<'_>,
    ) -> Result<Passed, Lost> {
        let Cut { sharded, axis, shards } = cut;
        let parts: Vec<Part> =
            ranges(sharded.positions(), shards).into_iter().map(|range| sharded.part(range)).collect();
        let bounds: Vec<Bound> = parts.iter().map(Part::bound).collect();
        let first_shard = self.first_shard(axis, &bounds);
        // A point that climbs reads how many rows there are beside sums over them: of a part of the sums its objective may have no maximum.
        let blocks = self.swept.blocks.iter().enumerate();
        let climbs = blocks.filter(|(_, block)| block.ascent.is_some());
        let needs_all = climbs.map(|(number, _)| BlockId::from(number)).any(|own| !sharded.is_local(own));
        let begin = |from: &Parameters| {
            let passes = Passes::new(&sharded, (&parts, &bounds), from.clone(), &self.schedule, threads);
            passes.map_err(|unplanned| Lost::from(self.refused(&unplanned.0)))
        };
        let is_given = restart == 0 && self.settings.given.is_some();
        let ways = match (is_given, needs_all) {
            // What is given is kept: no shard begins afresh.
            (true, _) => &[Beginning::AsTheyAre][..],
            (false, true) => &[Beginning::AllBefore, Beginning::AsTheyAre],
            (false, false) => &[Beginning::OneByOne, Beginning::AllBefore, Beginning::AsTheyAre],
        };
        let mut passes = begin(&from)?;
        let has_few = sharded.positions() < batch::FEW * parts.len();
        // A run that was stopped in its first pass begins that pass anew.
        let resumed = resumed.filter(|_| own.done() > 0);
        let mut afresh = match resumed {
            Some(Midway { afresh, .. }) => {
                passes.begin(None).map_err(|trouble| self.failed(&trouble, own.done()))?;
                let (elbo, _) = passes.elbo().map_err(|trouble| self.failed(&trouble, own.done()))?;
                warnings.extend(super::attempt::differs(elbo, own.elbo));
                afresh
            }
            None => 0,
        };
        // Whether they were lost by the end of the last whole pass.
        let mut lost = resumed.is_some_and(|own| own.has_lost_digits) || passes.has_lost_digits();
        let started = Instant::now();
        let earlier = own.trace.last().map_or(0.0, |row| row.seconds);
        // The parameters after the last whole pass.
        let mut last = from;
        let mut stopped = self.tell(restart, &own.trace, 0, callback) == Control::Stop;
        let is_at_rest = |own: &Sweeps<'_>, afresh: u64| {
            let change = own.trace.last().and_then(|row| row.rel_change);
            own.done() > afresh && change.is_some_and(|change| change < self.resolved.tolerance)
        };
        while !stopped && !self.is_over(own) && !is_at_rest(own, afresh) && !lost {
            let pass = own.done() + 1;
            let outcome = match pass {
                1 => {
                    let best = match has_few && ways.len() > 1 {
                        true => self.best_way(|| begin(&last), (ways, first_shard))?,
                        false => None,
                    };
                    let ways = best.as_ref().map_or(ways, std::slice::from_ref);
                    let (first, beginning) =
                        self.first_pass(&mut passes, || begin(&last), own.elbo, (ways, first_shard))?;
                    afresh = beginning.afresh();
                    first
                }
                _ => self.pass(&mut passes, batch::visits(pass <= afresh), (pass, 0))?,
            };
            let elbo = match outcome {
                Visited::All(elbo) => elbo,
                Visited::Stopped => {
                    stopped = true;
                    break;
                }
                Visited::Failed(trouble) if pass == 1 => return Err(self.failed(&trouble, pass)),
                // What came of the passes before is kept: sweeps over all data go on from there, and say what is wrong if it is.
                Visited::Failed(_) => break,
            };
            self.judge(elbo, pass, warnings)?;
            let change = rel_change(own.elbo, elbo);
            own.elbo = elbo;
            own.trace.push(TraceRow {
                sweep: pass as i64,
                elbo: Some(elbo),
                rel_change: Some(change),
                seconds: earlier + started.elapsed().as_secs_f64(),
                phase: if pass <= afresh { WARMUP } else { BATCH },
            });
            last.clone_from(passes.parameters());
            lost = passes.has_lost_digits();
            self.show(restart, pass, &last);
            let stops = self.tell(restart, &own.trace, 0, callback) == Control::Stop;
            stopped = stops && !self.is_over(own);
            if !stopped && !self.is_over(own) {
                clock.tick(restart, false, || snapshot(own, (afresh, lost), &last, passes.bytes()));
            }
        }
        let peak_bytes = passes.bytes();
        if stopped {
            clock.tick(restart, true, || snapshot(own, (afresh, lost), &last, peak_bytes));
        }
        Ok(Passed { parameters: last, stopped, peak_bytes })
    }

    /// The first pass, in the first of these ways that leads anywhere: to a bound that is no lower than that of the start. `begin` gives passes
    /// before the first.
    ///
    /// A sum that is that of a few shards may leave what all share without an update, or a point at a 0 that no update leaves, or far away; so may
    /// what begins afresh.
    fn first_pass<'p>(
        &self,
        passes: &mut Passes<'p>,
        begin: impl Fn() -> Result<Passes<'p>, Lost>,
        start: f64,
        (ways, first_shard): (&[Beginning], usize),
    ) -> Result<(Visited, Beginning), Lost> {
        for (number, beginning) in ways.iter().enumerate() {
            if number > 0 {
                *passes = begin()?;
            }
            let outcome = self.begun(passes, *beginning, first_shard)?;
            let leads_nowhere = match &outcome {
                Visited::All(elbo) => start.is_finite() && (!elbo.is_finite() || *elbo < start),
                Visited::Stopped => false,
                Visited::Failed(_) => true,
            };
            if !leads_nowhere || number + 1 == ways.len() {
                return Ok((outcome, *beginning));
            }
        }
        unreachable!("the last way is taken as it ends")
    }

    /// The first pass in one way.
    fn begun(
        &self,
        passes: &mut Passes<'_>,
        beginning: Beginning,
        first_shard: usize,
    ) -> Result<Visited, Lost> {
        let visits = batch::visits(beginning.afresh() > 0);
        let before = match beginning {
            Beginning::OneByOne => Ok(()),
            Beginning::AllBefore => passes.begin(Some(visits)),
            Beginning::AsTheyAre => passes.begin(None),
        };
        match before {
            Ok(()) => self.pass(passes, visits, (1, first_shard)),
            Err(trouble) => Ok(Visited::Failed(trouble)),
        }
    }

    /// The way with the highest bound after as many passes as begin afresh, the first of several with the same; `None` where none of them has a bound, or
    /// the fit is stopped.
    fn best_way<'p>(
        &self,
        begin: impl Fn() -> Result<Passes<'p>, Lost>,
        (ways, first_shard): (&[Beginning], usize),
    ) -> Result<Option<Beginning>, Lost> {
        let mut best: Option<(f64, Beginning)> = None;
        for beginning in ways {
            let mut passes = begin()?;
            let mut reached = self.begun(&mut passes, *beginning, first_shard)?;
            for pass in 2..=batch::AFRESH {
                if !matches!(reached, Visited::All(_)) {
                    break;
                }
                reached = self.pass(&mut passes, batch::visits(beginning.afresh() > 0), (pass, 0))?;
            }
            match reached {
                Visited::All(elbo) if elbo.is_finite() => {
                    if best.is_none_or(|(highest, _)| elbo > highest) {
                        best = Some((elbo, *beginning));
                    }
                }
                Visited::All(_) | Visited::Failed(_) => {}
                Visited::Stopped => return Ok(None),
            }
        }
        Ok(best.map(|(_, beginning)| beginning))
    }

    /// The axis in shards, and how many of them are asked for; or why it has none.
    pub(super) fn cut(&self, from: &Parameters) -> Result<Cut<'_>, Lost> {
        let (axis, shards) = self.resolved.batch.axis(&self.model.symbols).ok_or_else(|| {
            let reason =
                format!("`--batch {}`: the program has no such axis with these data", self.resolved.batch);
            FitError::Unplanned(reason)
        })?;
        if self.resolved.allocations != Allocations::Ordinary {
            let rule = self.resolved.allocations.word();
            let why = format!(
                "allocations by `{rule}` may lower the ELBO, and the sums of shards are kept for ordinary ones"
            );
            let help = "`--allocations ordinary` has them, with `--warmup none` if the warm-ups over all data take long; \
                        or leave `batch` out: the fit then has sweeps over all data";
            return Err(FitError::Wrong(vec![self.refusal(&why).help(help)]).into());
        }
        let refused = |own: Unplanned| Lost::from(self.refused(&own.0));
        let (bound, precision) = (&self.binding.bound, self.settings.precision);
        let sharded = Sharded::memoizing(self.swept, bound, axis, from, precision).map_err(refused)?;
        let shards = batch::shards(shards, sharded.positions());
        Ok(Cut { sharded, axis, shards })
    }

    /// Refuses mini-batches that cannot be had, before anything is run.
    ///
    /// # Errors
    /// As the fit.
    pub(super) fn refuse_uncut(&self, how: How<'_>) -> Result<(), FitError> {
        let bound = &self.binding.bound;
        let from = cavi_executor::start(self.swept, bound, 0);
        let cut = self.cut(&from).map_err(|lost| match lost {
            Lost::Run(error, _) | Lost::Fit(error) => error,
        })?;
        let pieces = (cut.axis, cut.shards);
        one_by_one(self.swept, bound, pieces, how).map_err(|own| self.refused(&own.0)).map(|_| ())
    }

    /// The shard that the first pass begins with: the first that has half as many observations as shards have on average.
    ///
    /// What all share then follows from this one alone. Of a shard that has next to nothing to say it would be left at its prior, whose mean may be
    /// a saddle of the bound (loadings of 0) that nothing later leads away from.
    fn first_shard(&self, axis: AxisId, bounds: &[Bound]) -> usize {
        let symbols = &self.model.symbols;
        let is_cut = |id: ArrayId| {
            let mut letters = symbols.array(id).letters.iter().flat_map(|own| symbols.lineage(*own));
            letters.any(|own| symbols.letter(own).axis == axis)
        };
        let cut = self.model.statements.iter().filter(|own| own.observed && is_cut(own.target));
        let cut: Vec<&Statement> = cut.collect();
        let of = |bound: &Bound| cut.iter().map(|own| observations(symbols, bound, own)).sum();
        let own: Vec<f64> = bounds.iter().map(of).collect();
        let enough = own.iter().sum::<f64>() / (2.0 * own.len() as f64);
        own.iter().position(|own| *own >= enough).unwrap_or(0)
    }

    /// Visits all shards, of which one is the first, and takes the bound.
    fn pass(
        &self,
        passes: &mut Passes<'_>,
        visits: Visits,
        (pass, first): (u64, usize),
    ) -> Result<Visited, Lost> {
        let verifies = self.settings.verify && !visits.afresh && self.phase == "fit";
        let mut before = None;
        for shard in (first..passes.shards()).chain(0..first) {
            if self.settings.is_stopped() {
                return Ok(Visited::Stopped);
            }
            if verifies && before.is_none() {
                before = match passes.elbo() {
                    Ok(own) => Some(own),
                    Err(trouble) => return Ok(Visited::Failed(trouble)),
                };
            }
            if let Err(trouble) = passes.visit(shard, visits) {
                return Ok(Visited::Failed(trouble));
            }
            let Some((elbo, scale)) = before else { continue };
            let after = match passes.elbo() {
                Ok(after) => after,
                Err(trouble) => return Ok(Visited::Failed(trouble)),
            };
            let allowed = rounding(self.settings.precision) * scale.max(after.1);
            if let Some(amount) = fall(elbo, after.0, allowed) {
                let block = format!("a visit of shard {} of {}", shard + 1, passes.shards());
                return Err(Lost::Fit(FitError::Fell { block, sweep: pass, amount, allowed }));
            }
            before = Some(after);
        }
        Ok(match passes.elbo() {
            Ok((elbo, _)) => Visited::All(elbo),
            Err(trouble) => Visited::Failed(trouble),
        })
    }

    fn failed(&self, trouble: &Trouble, pass: u64) -> Lost {
        Lost::Run(FitError::Wrong(vec![self.explain(trouble, pass as i64)]), 0)
    }

    /// Why the axis has no mini-batches.
    fn refused(&self, why: &str) -> FitError {
        let refusal = self
            .refusal(why)
            .possible("an axis of the data over which every statement is a product or a sum; `cavi plan` says which can be cut")
            .help("leave it out: the fit then has sweeps over all data");
        FitError::Wrong(vec![refusal])
    }

    fn refusal(&self, why: &str) -> Diagnostic {
        let written = match &self.settings.batch {
            Some(own) => format!("--batch {own}"),
            None => "batch".to_owned(),
        };
        let diagnostic = Diagnostic::error("E0616", format!("`{written}` cannot be had: {why}"));
        match &self.model.fit.batch {
            Some((_, span)) if self.settings.batch.is_none() => diagnostic.at(*span, "this axis"),
            _ => diagnostic,
        }
    }
}

/// The state of a run between two passes: that of the shards follows from its parameters.
fn snapshot<'s>(
    own: &'s Sweeps<'_>,
    (afresh, lost): (u64, bool),
    parameters: &'s Parameters,
    bytes: usize,
) -> Snapshot<'s> {
    Snapshot {
        at: At::Passes { elbo: own.elbo, afresh },
        parameters: Some(Cow::Borrowed(parameters)),
        digits: Digits { lost, ..Digits::default() },
        trace: Cow::Borrowed(&own.trace),
        peak_bytes: own.peak_bytes.max(bytes),
    }
}
