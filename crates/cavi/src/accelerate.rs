//! `accelerate = auto`: after every third sweep the run steps on along the way that the last sweeps have taken
//! ([`cavi_numerics::squarem`]), and steps back if the sweep after that has not led higher. Where the equations have vectors that
//! stand in inner products alone, sweeps end with their best coordinates ([`Runner::rotate`]); where only priors fix a level, with the best one
//! ([`crate::levels`]), and where the bound is quadratic in several means together, with the best ones ([`crate::together`]).
//!
//! Sweeps come in cycles: plain ones, then one with a step. Those of a cycle in which the step fails change the bound by much less than those of
//! the next, so that a run is at rest only if no sweep of so many whole cycles has changed it, as many as the program asks of sweeps, and no move at the
//! end of one of the last.

use cavi_algebra::{BlockId, Rotation, Shift};
use cavi_executor::{Parameters, Runner, Trouble};
use cavi_numerics::squarem::Stride;

/// Sweeps that change the bound by less than this share of it are slow. Before that, factors still change their
/// meaning, and the best coordinates would remove them too early.
const SLOW: f64 = 3e-4;
/// A rotation or a shift that raises the bound by less than this share of what a sweep does is left out for a number of sweeps. Means that move
/// together have to raise it by as much as all of their steps would, were they sweeps.
const SHARE: f64 = 0.1;
/// The sweeps of a cycle.
const CYCLE: u32 = 3;
/// The longest while, in sweeps.
const LONGEST: u32 = 32;

/// What acceleration keeps of a run.
pub(crate) struct Accelerator<'e> {
    blocks: Vec<BlockId>,
    turns: Vec<Turn<'e>>,
    /// Whether a sweep has changed the bound by less than [`SLOW`] of itself.
    is_slow: bool,
    iterates: Vec<Vec<f64>>,
    /// Whether a step has been taken from them, and the next sweep begins without any.
    is_used: bool,
    stride: Stride,
    /// The stride and the number of states before the last sweep.
    entered: (Stride, usize),
    /// Where the run was before the last step, and its bound there.
    before: Option<(Parameters, f64)>,
}

/// What acceleration has learnt between two sweeps: with the parameters it says what the next ones do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    /// Whether rotations and shifts have begun.
    pub is_slow: bool,
    /// The longest step that is tried.
    pub longest: f64,
    /// The states that the next step is taken from, fewer than three, in coordinates.
    pub iterates: Vec<Vec<f64>>,
    /// For each rotation, then for each shift, then for each set of means that move together: so many sweeps do without it, and so many did before its last turn.
    pub turns: Vec<(u32, u32)>,
}

/// What a sweep may end with.
#[derive(Clone, Copy)]
enum Move<'e> {
    Rotation(&'e Rotation),
    Shift(&'e Shift),
    Together(&'e [BlockId]),
}

/// Such a move and when it is next.
struct Turn<'e> {
    step: Move<'e>,
    /// What it gave at the end of this sweep, if it was its turn, and how many steps it took that are as long as a sweep.
    gain: Option<(f64, usize)>,
    /// So many sweeps do without it.
    wait: u32,
    /// So many did before its last turn.
    waited: u32,
}

impl<'e> Accelerator<'e> {
    /// Extrapolated are the blocks that a sweep updates, except for those with observed entries.
    pub fn new(executor: &Runner<'e>, blocks: Vec<BlockId>) -> Accelerator<'e> {
        let blocks = blocks.into_iter().filter(|block| !executor.is_observed(*block)).collect();
        let equations = executor.equations();
        let rotations = equations.rotations.iter().map(Move::Rotation);
        let shifts = equations.shifts.iter().map(Move::Shift);
        let together = equations.quadratic.iter().map(|set| Move::Together(set));
        let steps = rotations.chain(shifts).chain(together);
        let turns = steps.map(|step| Turn { step, gain: None, wait: 0, waited: 0 }).collect();
        Accelerator {
            blocks,
            turns,
            is_slow: false,
            iterates: Vec::new(),
            is_used: false,
            stride: Stride::default(),
            entered: (Stride::default(), 0),
            before: None,
        }
    }

    /// What it has learnt so far; between two sweeps.
    pub fn kept(&self) -> Kept {
        Kept {
            is_slow: self.is_slow,
            longest: self.stride.longest(),
            iterates: if self.is_used { Vec::new() } else { self.iterates.clone() },
            turns: self.turns.iter().map(|turn| (turn.wait, turn.waited)).collect(),
        }
    }

    /// Goes on with what another run of the same program has learnt.
    pub fn resume(&mut self, kept: &Kept) {
        self.is_slow = kept.is_slow;
        self.stride = Stride::of(kept.longest);
        self.iterates.clone_from(&kept.iterates);
        for (turn, (wait, waited)) in self.turns.iter_mut().zip(&kept.turns) {
            (turn.wait, turn.waited) = (*wait, *waited);
        }
    }

    /// Whether the last sweep was one with a step, tried or found not to be possible: it ends a cycle of plain sweeps and a step.
    pub fn ends_cycle(&self) -> bool {
        self.is_used
    }

    /// After a sweep that was stopped on its way: what it had learnt before it, and the run where it was.
    pub fn undo(&mut self, executor: &mut Runner<'_>) {
        if let Some((here, _)) = self.before.take() {
            executor.restore(here);
        }
        let (stride, count) = self.entered;
        self.stride = stride;
        self.iterates.truncate(count);
        self.is_used = false;
    }

    /// A sweep that begins at the extrapolated state and ends with rotations and shifts. If its bound is not above `elbo`, the
    /// bound before it, the sweep is repeated from the state before the extrapolation.
    ///
    /// # Errors
    /// Those of the sweep; as [`Runner::rotate`].
    pub fn sweep<E: From<Trouble>>(
        &mut self,
        executor: &mut Runner<'_>,
        elbo: f64,
        sweep: &mut dyn FnMut(&mut Runner<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.step(executor, elbo);
        let outcome = sweep(executor).and_then(|()| self.rotate(executor).map_err(E::from));
        if self.before.is_none() {
            return outcome;
        }
        let reached = if outcome.is_ok() { executor.elbo() } else { f64::NAN };
        if !self.went_back(executor, reached) {
            return outcome;
        }
        sweep(executor)?;
        Ok(self.rotate(executor)?)
    }

    /// At the end of a sweep: the rotations and shifts whose turn it is, once the run is slow.
    fn rotate(&mut self, executor: &mut Runner<'_>) -> Result<(), Trouble> {
        for turn in self.turns.iter_mut().filter(|_| self.is_slow) {
            turn.gain = match turn.step {
                _ if turn.wait > 0 => None,
                Move::Rotation(own) => Some((executor.rotate(own, &self.blocks)?, 0)),
                Move::Shift(own) => Some((crate::levels::settle(executor, own, &self.blocks), 0)),
                Move::Together(own) => Some(crate::together::settle(executor, own, &self.blocks)),
            };
        }
        Ok(())
    }

    /// After a sweep that raised the bound by this much, relative to itself this much, rotations and shifts included: when each is next.
    pub fn plan_turns(&mut self, gain: f64, change: f64) {
        if !self.is_slow {
            self.is_slow = change < SLOW;
            return;
        }
        let of_moves: f64 = self.turns.iter().filter_map(|turn| turn.gain).map(|(own, _)| own).sum();
        let of_sweep = (gain - of_moves).max(0.0);
        let pays = |(own, steps): (f64, usize)| match steps {
            0 => own >= SHARE * gain,
            steps => own > 0.0 && own >= steps as f64 * of_sweep,
        };
        for turn in &mut self.turns {
            match turn.gain {
                None => turn.wait -= 1,
                Some(own) if pays(own) => (turn.wait, turn.waited) = (0, 0),
                Some(_) => {
                    turn.waited = (2 * turn.waited + 1).min(LONGEST);
                    turn.wait = turn.waited;
                }
            }
        }
    }

    /// Before a run counts as at rest: whether all moves have been tried in the last cycle. Those that have not are next.
    pub fn has_tried(&mut self) -> bool {
        let mut all = true;
        for turn in self.turns.iter_mut().filter(|turn| turn.waited - turn.wait >= CYCLE) {
            turn.wait = 0;
            all = false;
        }
        all
    }

    /// Before a sweep: steps on where three states are known. `elbo` is the bound of the current one.
    fn step(&mut self, executor: &mut Runner<'_>, elbo: f64) {
        self.before = None;
        if std::mem::take(&mut self.is_used) {
            self.iterates.clear();
        }
        self.entered = (self.stride, self.iterates.len());
        if !elbo.is_finite() {
            self.iterates.clear();
            return;
        }
        self.iterates.push(executor.coordinates(&self.blocks));
        let [x0, x1, x2] = self.iterates.as_slice() else { return };
        if let Some(beyond) = self.stride.beyond([x0, x1, x2]) {
            let here = executor.parameters().clone();
            match executor.move_to(&self.blocks, &beyond.at) {
                Ok(()) => self.before = Some((here, elbo)),
                Err(_) => {
                    self.stride.shorten();
                    executor.restore(here);
                }
            }
        }
        // The last one is where the run was.
        self.iterates.pop();
        self.is_used = true;
    }

    /// After the sweep that followed a step: whether it went back, since the bound is no higher than before.
    fn went_back(&mut self, executor: &mut Runner<'_>, elbo: f64) -> bool {
        let Some((here, before)) = self.before.take() else { return false };
        if elbo >= before {
            return false;
        }
        self.stride.shorten();
        executor.restore(here);
        true
    }
}
