//! Memoized passes over shards of an axis, before the sweeps of a run over the whole data.
//!
//! In the first passes what lies at the positions of a shard begins afresh at each visit, so that it does not hold what all share to what
//! that was at first; these passes are a warm-up, whose bound may fall. From then on no visit lowers the bound. The sweeps over the
//! whole data, which go on from there, decide as ever when the fit is at rest.

use std::time::Instant;

use cavi_executor::shard::{Part, Passes, Visits, ranges};
use cavi_executor::{Bound, Parameters, Sharded, Trouble, Unplanned};
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::Allocations;

use super::attempt::{Sweeps, Watch};
use super::{Context, Control, FitError, Lost, TraceRow, WARMUP, fall, rel_change, rounding};
use crate::batch::{self, Batch};

/// What `trace.csv` calls passes whose shards go on from where they were.
const BATCH: &str = "batch";

/// What the passes leave.
pub(super) struct Passed {
    pub parameters: Parameters,
    /// Whether the callback stopped them.
    pub stopped: bool,
    pub peak_bytes: usize,
}

impl Context<'_> {
    /// Whether passes come before the sweeps.
    pub(super) fn is_batched(&self) -> bool {
        self.resolved.batch != Batch::Off && self.resolved.sweeps > 0
    }

    /// The passes of a run, from its start.
    pub(super) fn passes(
        &self,
        (restart, threads): (u64, usize),
        from: Parameters,
        own: &mut Sweeps<'_>,
        warnings: &mut Vec<Diagnostic>,
        callback: Watch<'_>,
    ) -> Result<Passed, Lost> {
        let (sharded, shards) = self.sharded(&from)?;
        let refused = |own: Unplanned| Lost::from(self.refused(&own.0));
        let parts: Vec<Part> = ranges(sharded.positions(), shards.unwrap_or(batch::SHARDS) as usize)
            .into_iter()
            .map(|range| sharded.part(range))
            .collect();
        let bounds: Vec<Bound> = parts.iter().map(Part::bound).collect();
        let begun = |from: &Parameters| {
            Passes::new(&sharded, (&parts, &bounds), from.clone(), &self.schedule, threads).map_err(refused)
        };
        let mut passes = begun(&from)?;
        // What is given is kept: no shard begins afresh.
        let is_given = restart == 0 && self.settings.given.is_some();
        let mut afresh = if is_given { 0 } else { batch::AFRESH };
        if is_given {
            passes.begin(None).map_err(|trouble| self.failed(&trouble, 1))?;
        }
        let begin = Instant::now();
        let earlier = own.trace.last().map_or(0.0, |row| row.seconds);
        let mut stopped = false;
        for pass in 1..=self.resolved.sweeps {
            let mut visits = batch::visits(pass <= afresh);
            let mut outcome = self.pass(&mut passes, visits, pass)?;
            if let (1, true, Visited::Failed(_)) = (pass, visits.afresh, &outcome) {
                // With the data of some shards alone what all share may have no update: all come by first.
                passes = begun(&from)?;
                outcome = match passes.begin(Some(visits)) {
                    Ok(()) => self.pass(&mut passes, visits, pass)?,
                    Err(trouble) => Visited::Failed(trouble),
                };
            }
            if let (1, true, Visited::Failed(_)) = (pass, visits.afresh, &outcome) {
                // What begins afresh may leave what all share without an update too: all go on from the start.
                passes = begun(&from)?;
                passes.begin(None).map_err(|trouble| self.failed(&trouble, 1))?;
                visits = batch::visits(false);
                afresh = 0;
                outcome = self.pass(&mut passes, visits, pass)?;
            }
            match outcome {
                Visited::All => {}
                Visited::Stopped => {
                    stopped = true;
                    break;
                }
                Visited::Failed(trouble) => return Err(self.failed(&trouble, pass)),
            }
            let (elbo, _) = passes.elbo().map_err(|trouble| self.failed(&trouble, pass))?;
            self.judge(elbo, pass, warnings)?;
            let change = rel_change(own.elbo, elbo);
            own.elbo = elbo;
            own.trace.push(TraceRow {
                sweep: pass as i64,
                elbo: Some(elbo),
                rel_change: Some(change),
                seconds: earlier + begin.elapsed().as_secs_f64(),
                phase: if pass <= afresh { WARMUP } else { BATCH },
            });
            stopped = self.tell(restart, &own.trace, 0, callback) == Control::Stop;
            let at_rest = pass > afresh && change < self.resolved.tolerance;
            if stopped || at_rest || passes.has_lost_digits() {
                break;
            }
        }
        // Where copies in several shards share a matrix, each has its own until what all share is held.
        if !stopped {
            passes.settle().map_err(|trouble| self.failed(&trouble, own.done()))?;
        }
        let peak_bytes = passes.bytes();
        Ok(Passed { parameters: passes.parameters().clone(), stopped, peak_bytes })
    }

    /// The axis in shards, and how many of them are asked for; or why it has none.
    pub(super) fn sharded(&self, from: &Parameters) -> Result<(Sharded<'_>, Option<u64>), Lost> {
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
        Ok((sharded, shards))
    }

    /// Visits all shards.
    fn pass(&self, passes: &mut Passes<'_>, visits: Visits, pass: u64) -> Result<Visited, Lost> {
        let verifies = self.settings.verify && !visits.afresh && self.phase == "fit";
        let mut before = None;
        for shard in 0..passes.shards() {
            if self.settings.is_stopped() {
                return Ok(Visited::Stopped);
            }
            if verifies && before.is_none() {
                before = passes.elbo().ok();
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
        Ok(Visited::All)
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

/// How a pass ended.
enum Visited {
    All,
    Stopped,
    Failed(Trouble),
}
