//! The state of a run between two sweeps, as bytes.

use std::borrow::Cow;
use std::io::{self, Write};

use cavi_executor::{Digits, Parameters};

use super::bytes::{Decoder, Encoder};
use crate::accelerate;
use crate::fit::TraceRow;

/// The first text of every checkpoint, with the version of its layout.
const LAYOUT: &str = "cavi checkpoint 1";

/// What `trace.csv` calls a sweep.
const PHASES: [&str; 7] = ["fit", "reset", "clamp", "warmup", "means", "collapsed", "batch"];

/// The state of a run between two sweeps; [`crate::checkpoint`] says why this is all of it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot<'r> {
    /// Where the run is.
    pub at: At<'r>,
    /// The parameters of q, all blocks; `None` of a run that has ended and is not the best.
    pub parameters: Option<Cow<'r, Parameters>>,
    /// What is known of the digits of squares.
    pub digits: Digits,
    /// The rows of its trace.
    pub trace: Cow<'r, [TraceRow]>,
    /// The most memory that it took, in bytes.
    pub peak_bytes: usize,
}

/// How far a run is.
#[derive(Clone, Debug)]
pub(crate) enum At<'r> {
    /// In a warm-up: which of them, and how many of its sweeps are done.
    Warmup { line: usize, done: u64 },
    /// In its passes over shards, of which the last row of the trace is one: the bound after it, and how many passes begin afresh.
    Passes { elbo: f64, afresh: u64 },
    /// In its sweeps, of which the last row of the trace is one.
    Sweeps {
        /// The bound when it was last taken.
        elbo: f64,
        /// How many evaluations of the bound running (cycles of them, where sweeps are extrapolated) have changed it by less than the tolerance.
        small: u64,
        /// Whether these are enough.
        converged: bool,
        /// What acceleration keeps.
        accelerator: Option<Cow<'r, accelerate::Kept>>,
        /// The means when they were last compared.
        moved: Option<Cow<'r, [Vec<f64>]>>,
    },
}

impl Snapshot<'_> {
    /// How many sweeps of the fit itself are done.
    pub fn sweeps(&self) -> u64 {
        self.trace.last().map_or(0, |row| u64::try_from(row.sweep).unwrap_or(0))
    }

    /// Writes it for a fit of this identity.
    pub fn write<W: Write>(&self, to: W, identity: &str) -> io::Result<W> {
        let mut out = Encoder::new(to);
        out.text(LAYOUT)?;
        out.text(identity)?;
        match &self.at {
            At::Warmup { line, done } => {
                out.number(0)?;
                out.number(*line as u64)?;
                out.number(*done)?;
            }
            At::Passes { elbo, afresh } => {
                out.number(2)?;
                out.double(*elbo)?;
                out.number(*afresh)?;
            }
            At::Sweeps { elbo, small, converged, accelerator, moved } => {
                out.number(1)?;
                out.double(*elbo)?;
                out.number(*small)?;
                out.number(u64::from(*converged))?;
                out.number(u64::from(accelerator.is_some()))?;
                if let Some(kept) = accelerator {
                    write_kept(&mut out, kept)?;
                }
                out.number(u64::from(moved.is_some()))?;
                out.columns(moved.as_deref().unwrap_or_default())?;
            }
        }
        out.number(u64::from(self.parameters.is_some()))?;
        let blocks = self.parameters.as_ref().map_or(&[][..], |own| &own.blocks);
        out.number(blocks.len() as u64)?;
        blocks.iter().try_for_each(|columns| out.columns(columns))?;
        out.number(u64::from(self.digits.residuals))?;
        out.number(u64::from(self.digits.lost))?;
        out.number(self.trace.len() as u64)?;
        for row in self.trace.iter() {
            out.number(row.sweep as u64)?;
            out.optional(row.elbo)?;
            out.optional(row.rel_change)?;
            out.double(row.seconds)?;
            out.text(row.phase)?;
        }
        out.number(self.peak_bytes as u64)?;
        out.finish()
    }

    /// Reads it again, with the identity of its fit; `None` of bytes that are damaged, or of another version.
    pub fn read(bytes: &[u8]) -> Option<(Snapshot<'static>, String)> {
        let mut from = Decoder::new(bytes)?;
        if from.text()? != LAYOUT {
            return None;
        }
        let identity = from.text()?.to_owned();
        let at = match from.number()? {
            0 => At::Warmup { line: usize::try_from(from.number()?).ok()?, done: from.number()? },
            1 => At::Sweeps {
                elbo: from.double()?,
                small: from.number()?,
                converged: from.flag()?,
                accelerator: match from.flag()? {
                    true => Some(Cow::Owned(read_kept(&mut from)?)),
                    false => None,
                },
                moved: {
                    let is_some = from.flag()?;
                    let columns = from.columns()?;
                    is_some.then_some(Cow::Owned(columns))
                },
            },
            2 => At::Passes { elbo: from.double()?, afresh: from.number()? },
            _ => return None,
        };
        let is_kept = from.flag()?;
        let blocks = (0..from.length()?).map(|_| from.columns()).collect::<Option<_>>()?;
        let parameters = is_kept.then_some(Cow::Owned(Parameters { blocks }));
        let digits = Digits { residuals: from.flag()?, lost: from.flag()? };
        let trace = (0..from.length()?).map(|_| read_row(&mut from)).collect::<Option<Vec<_>>>()?;
        let peak_bytes = usize::try_from(from.number()?).ok()?;
        let snapshot = Snapshot { at, parameters, digits, trace: Cow::Owned(trace), peak_bytes };
        from.is_at_end().then_some((snapshot, identity))
    }
}

fn read_row(from: &mut Decoder<'_>) -> Option<TraceRow> {
    Some(TraceRow {
        sweep: from.number()? as i64,
        elbo: from.optional()?,
        rel_change: from.optional()?,
        seconds: from.double()?,
        phase: {
            let word = from.text()?;
            PHASES.into_iter().find(|own| *own == word)?
        },
    })
}

fn write_kept<W: Write>(out: &mut Encoder<W>, kept: &accelerate::Kept) -> io::Result<()> {
    out.number(u64::from(kept.is_slow))?;
    out.double(kept.longest)?;
    out.columns(&kept.iterates)?;
    out.number(kept.turns.len() as u64)?;
    for (wait, waited) in &kept.turns {
        out.number(u64::from(*wait))?;
        out.number(u64::from(*waited))?;
    }
    Ok(())
}

fn read_kept(from: &mut Decoder<'_>) -> Option<accelerate::Kept> {
    let (is_slow, longest, iterates) = (from.flag()?, from.double()?, from.columns()?);
    let count = from.length()?;
    let mut wait = || u32::try_from(from.number()?).ok();
    let turns = (0..count).map(|_| Some((wait()?, wait()?))).collect::<Option<_>>()?;
    Some(accelerate::Kept { is_slow, longest, iterates, turns })
}
