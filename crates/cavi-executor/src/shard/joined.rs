//! The runs of shards in step: one run of the whole data.
//!
//! Each shard has a run of its own over its positions, on a thread of its own, and all come to each sum together ([`Meeting`]): then every
//! update is that of the whole data, and what all shards share is the same in each, bit for bit. Processes hold ranges of the shards, and do the
//! same at the same time; each of them knows the bound, and gets the parameters of all positions where it asks for them.
//!
//! What is asked of parameters alone (coordinates, steps along them, rotations) is worked out of all of them, as in a run of the whole.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};

use cavi_algebra::{BlockId, Equations, Rotation};
use cavi_families::Improper;

use super::ground::Cut;
use super::{Common, Part, Sharded};
use crate::data::Bound;
use crate::layout::Parameters;
use crate::plan::tensor::NodeId;
use crate::plan::{Place, Unplanned};
use crate::reduce::{Exchange, Meeting, all_bytes, held_by};
use crate::run::{Digits, Executor, Space, coordinates, move_to, place_of_pairs};
use crate::schedule::Schedule;
use crate::trouble::Trouble;

/// The stack of a shard's thread: that of a main thread on most systems.
const STACK: usize = 8 << 20;

/// The runs of the shards of this process, in step with all others.
pub struct Joined<'a> {
    cut: &'a Cut<'a>,
    bound: &'a Bound,
    /// The way to the thread of each shard.
    shards: Vec<Sender<Message>>,
    exchanges: bool,
    /// The parameters of all positions, since they were last asked for; empty once they have moved.
    whole: OnceCell<Parameters>,
    /// The memory of these while they are out of date; what all shards share and what lies along the axis are put into it.
    frame: RefCell<Parameters>,
    /// Of the first shard, after the last thing that all did.
    digits: Digits,
    scale: f64,
    /// Whether digits were lost: it goes on by the other plan, if there is one.
    on_residuals: bool,
    /// The most memory that the plan before took, in bytes.
    outgrown: usize,
}

/// What the thread of a shard is told.
enum Message {
    /// To do this with its run.
    Do(Job),
    /// To begin a run anew, by the plan with residuals or the plain one.
    Begin(Box<Begin>),
}

/// How a run begins.
struct Begin {
    residuals: bool,
    parameters: Parameters,
    common: Arc<Common>,
    /// Where it says why it cannot, or nothing.
    answer: Sender<Option<String>>,
}

type Job = Box<dyn FnOnce(&mut Executor<'_>) + Send>;

/// A shard at work. Where its thread panics it is lost to the others.
struct AtWork<'m>(&'m Meeting);

impl AtWork<'_> {
    fn new(meeting: &Meeting) -> AtWork<'_> {
        meeting.enter();
        AtWork(meeting)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lose("the run of a shard has failed");
        }
        self.0.leave();
    }
}

/// The life of a shard's thread.
fn live<'a>(
    cut: &'a Cut<'a>,
    place: usize,
    threads: usize,
    meeting: &Arc<Meeting>,
    told: &Receiver<Message>,
) {
    let shard = cut.own.start + place;
    let (part, bound) = (&cut.parts[shard], &cut.bounds[place]);
    let mut executor = None;
    while let Ok(message) = told.recv() {
        let _at_work = AtWork::new(meeting);
        match message {
            Message::Do(job) => {
                if let Some(executor) = &mut executor {
                    job(executor);
                }
            }
            Message::Begin(own) => {
                let Begin { residuals, parameters, common, answer } = *own;
                let sharded = cut.plan(residuals);
                executor = None;
                let reducer = Box::new(meeting.member(shard));
                let begun = sharded.executor(part, bound, parameters, threads, (reducer, &common));
                let _ = answer.send(match begun {
                    Ok(begun) => {
                        executor = Some(begun);
                        None
                    }
                    Err(unplanned) => Some(unplanned.0),
                });
            }
        }
    }
}

impl<'a> Joined<'a> {
    /// Begins the runs of this process's shards, on threads of a scope.
    pub(super) fn new<'s>(
        (cut, bound): (&'a Cut<'a>, &'a Bound),
        parameters: Parameters,
        threads: usize,
        scope: &'s Scope<'s, 'a>,
    ) -> Result<Joined<'a>, Unplanned> {
        let threads = threads.max(1);
        let meeting = Meeting::new(cut.parts.len(), cut.own.clone(), threads, cut.exchange.clone());
        // Where there are fewer shards than threads, each has several.
        let each = (threads / cut.own.len()).max(1);
        let mut shards = Vec::with_capacity(cut.own.len());
        for place in 0..cut.own.len() {
            let (sender, told) = channel();
            let meeting = Arc::clone(&meeting);
            let run = move || live(cut, place, each, &meeting, &told);
            let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
            thread.map_err(|error| Unplanned(format!("no thread could be started for a shard: {error}")))?;
            shards.push(sender);
        }
        let own = Joined {
            cut,
            bound,
            shards,
            exchanges: cut.exchange.is_some(),
            whole: OnceCell::new(),
            frame: RefCell::new(parameters),
            digits: Digits::default(),
            scale: 0.0,
            on_residuals: false,
            outgrown: 0,
        };
        own.begin()?;
        Ok(own)
    }

    /// Begins the runs by the plan that holds.
    fn begin(&self) -> Result<(), Unplanned> {
        let (answer, answers) = channel();
        let common = self.sharded().common();
        for (part, shard) in self.own_parts().iter().zip(&self.shards) {
            let parameters = self.sharded().parameters(part, &self.frame.borrow());
            let (residuals, common, answer) = (self.on_residuals, Arc::clone(&common), answer.clone());
            let begin = Begin { residuals, parameters, common, answer };
            let _ = shard.send(Message::Begin(Box::new(begin)));
        }
        drop(answer);
        let own = answers.iter().flatten().next().unwrap_or_default();
        // What one process cannot begin, none does.
        let all = match &self.cut.exchange {
            Some(exchange) => all_bytes(&**exchange, own.as_bytes()),
            None => vec![own.into_bytes()],
        };
        match all.into_iter().find(|own| !own.is_empty()) {
            None => Ok(()),
            Some(why) => Err(Unplanned(String::from_utf8_lossy(&why).into_owned())),
        }
    }

    fn own_parts(&self) -> &'a [Part<'a>] {
        &self.cut.parts[self.cut.own.clone()]
    }

    /// The plan that is run.
    fn sharded(&self) -> &'a Sharded<'a> {
        self.cut.plan(self.on_residuals)
    }

    /// Has something done in the run of a shard, by its place among those of this process.
    fn tell(&self, place: usize, job: impl FnOnce(&mut Executor<'_>) + Send + 'static) {
        // A thread that has failed ends the scope.
        let _ = self.shards[place].send(Message::Do(Box::new(job)));
    }

    /// Asks each shard, in order; none comes to a sum.
    fn ask<T: Send + 'static>(
        &self,
        run: impl Fn(usize, &mut Executor<'_>) -> T + Send + Sync + 'static,
    ) -> Vec<T> {
        let run = Arc::new(run);
        let (sender, answers) = channel();
        for place in 0..self.shards.len() {
            let (run, sender) = (Arc::clone(&run), sender.clone());
            self.tell(place, move |executor| {
                let _ = sender.send((place, run(place, executor)));
            });
        }
        drop(sender);
        let mut all: Vec<(usize, T)> = answers.iter().collect();
        all.sort_unstable_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, own)| own).collect()
    }

    /// Does the same in all shards, which come to each sum together. What the first of this process has, unless one has trouble.
    fn at_all<T: Send + 'static>(
        &mut self,
        run: impl Fn(&mut Executor<'_>) -> Result<T, Trouble> + Send + Sync + 'static,
    ) -> Result<Vec<T>, Trouble> {
        let outcomes = self.ask(move |_, executor| {
            let outcome = run(executor);
            let outcome = executor.end(outcome);
            (outcome, executor.digits(), executor.elbo_scale())
        });
        if outcomes.len() < self.shards.len() {
            let why = "the run of a shard has failed".to_owned();
            return Err(Trouble::of_another(BlockId(0), Some(why)));
        }
        (self.digits, self.scale) = (outcomes[0].1, outcomes[0].2);
        let mut all = Vec::with_capacity(outcomes.len());
        let mut troubles = Vec::new();
        for (part, (outcome, ..)) in self.own_parts().iter().zip(outcomes) {
            match outcome {
                Ok(own) => all.push(own),
                Err(trouble) => troubles.push(part.of_whole(trouble)),
            }
        }
        match troubles.is_empty() {
            true => Ok(all),
            false => Err(self.first_of(&troubles)),
        }
    }

    /// The trouble of the first shard that has some of its own: the others have it because of that one.
    fn first_of(&self, troubles: &[Trouble]) -> Trouble {
        let own = troubles.iter().find(|own| !own.is_of_another()).unwrap_or(&troubles[0]).clone();
        let Some(exchange) = &self.cut.exchange else { return own };
        let all = all_bytes(&**exchange, &own.bytes());
        let all: Vec<Trouble> = all.iter().filter_map(|bytes| Trouble::of_bytes(bytes)).collect();
        all.iter().find(|own| !own.is_of_another()).or(all.first()).cloned().unwrap_or(own)
    }

    /// Before parameters move: those of all positions are out of date, and their memory is kept.
    fn take_frame(&mut self) {
        if let Some(whole) = self.whole.take() {
            self.frame = RefCell::new(whole);
        }
    }

    /// Goes on without squares multiplied out, once they have lost digits. Whether that is another plan.
    fn keep_digits(&mut self) -> bool {
        !self.on_residuals && (self.digits.lost || self.digits.residuals) && self.take_residuals()
    }

    fn take_residuals(&mut self) -> bool {
        self.outgrown = self.peak_bytes();
        self.parameters();
        self.take_frame();
        self.on_residuals = true;
        self.cut.residuals.is_some() && self.begin().is_ok()
    }

    /// What it runs.
    pub fn equations(&self) -> &'a Equations {
        self.cut.plain.equations
    }

    /// The whole data.
    pub fn bound(&self) -> &'a Bound {
        self.bound
    }

    /// The parameters of all positions.
    pub fn parameters(&self) -> &Parameters {
        self.whole.get_or_init(|| {
            let mut whole = std::mem::take(&mut *self.frame.borrow_mut());
            let columns = self.ask(|place, executor| executor.columns(place == 0));
            self.put(columns, &mut whole);
            whole
        })
    }

    /// The parameters of all positions, after the run.
    pub fn into_parameters(mut self) -> Parameters {
        self.parameters();
        self.whole.take().unwrap_or_default()
    }

    /// Puts columns of this process's shards, and those of others, where they are among those of all positions.
    fn put(&self, columns: Vec<Vec<Vec<Vec<f64>>>>, whole: &mut Parameters) {
        let sharded = self.sharded();
        let mut moved = Vec::new();
        for (place, (part, blocks)) in self.own_parts().iter().zip(columns).enumerate() {
            let mut own = Vec::with_capacity(sharded.moved(part));
            sharded.each_column(part, |block, number, is_cut| match is_cut {
                true => own.extend_from_slice(&blocks[block][number]),
                false if place == 0 => whole.blocks[block][number].clone_from(&blocks[block][number]),
                false => {}
            });
            sharded.put_moved(part, &own, whole);
            if self.exchanges {
                moved.extend(own);
            }
        }
        let Some(exchange) = &self.cut.exchange else { return };
        let lengths: Vec<usize> = self.cut.parts.iter().map(|part| sharded.moved(part)).collect();
        let all = self.gathered(&**exchange, &moved, &lengths);
        let mut rest = all.as_slice();
        for (shard, (part, length)) in self.cut.parts.iter().zip(lengths).enumerate() {
            let (values, others) = rest.split_at(length);
            rest = others;
            if !self.cut.own.contains(&shard) {
                sharded.put_moved(part, values, whole);
            }
        }
    }

    /// What the shards of all processes have, in their order, of these lengths.
    fn gathered(&self, exchange: &dyn Exchange, own: &[f64], lengths: &[usize]) -> Vec<f64> {
        let ranks = exchange.ranks();
        let count = |rank| lengths[held_by(lengths.len(), ranks, rank)].iter().sum();
        let counts: Vec<usize> = (0..ranks).map(count).collect();
        let mut all = vec![0.0; counts.iter().sum()];
        exchange.all_gather(own, &counts, &mut all);
        all
    }

    /// Replaces the parameters of all blocks.
    pub fn restore(&mut self, parameters: Parameters) {
        let sharded = self.sharded();
        for (place, part) in self.own_parts().iter().enumerate() {
            let own = sharded.parameters(part, &parameters);
            self.tell(place, move |executor| executor.restore(own));
        }
        self.whole = OnceCell::from(parameters);
    }

    /// Replaces the parameters of a block.
    pub fn replace(&mut self, block: BlockId, columns: Vec<Vec<f64>>) {
        self.parameters();
        let mut whole = self.whole.take().unwrap_or_default();
        whole.blocks[block.index()] = columns;
        self.tell_block(block, &whole);
        self.whole = OnceCell::from(whole);
    }

    /// Replaces a column of the parameters of a block.
    pub fn replace_column(&mut self, block: BlockId, column: usize, values: Vec<f64>) {
        self.parameters();
        let mut whole = self.whole.take().unwrap_or_default();
        whole.blocks[block.index()][column] = values;
        self.tell_block(block, &whole);
        self.whole = OnceCell::from(whole);
    }

    /// Gives all shards the parameters of a block.
    fn tell_block(&self, block: BlockId, whole: &Parameters) {
        for (place, part) in self.own_parts().iter().enumerate() {
            let own = self.sharded().columns(part, block, &whole.blocks[block.index()]);
            self.tell(place, move |executor| executor.replace(block, own));
        }
    }

    /// The evidence lower bound, allocations at their optimum; no number where the shards have come apart.
    pub fn elbo(&mut self) -> f64 {
        let elbo = self.elbo_once();
        if self.keep_digits() { self.elbo_once() } else { elbo }
    }

    fn elbo_once(&mut self) -> f64 {
        self.at_all(|executor| Ok(executor.elbo())).map_or(f64::NAN, |all| all[0])
    }

    /// The sum of the absolute values of the terms of the bound when it was last taken.
    pub fn elbo_scale(&self) -> f64 {
        self.scale
    }

    /// See [`Executor::update_scale`].
    pub fn update_scale(&mut self, block: BlockId) -> f64 {
        self.at_all(move |executor| Ok(executor.update_scale(block))).map_or(f64::NAN, |all| all[0])
    }

    /// One sweep. Where an update has no value since squares have lost their digits, the sweep is made again without these.
    ///
    /// # Errors
    /// If an update has no value.
    pub fn sweep(&mut self, schedule: &Schedule) -> Result<(), Trouble> {
        self.keep_digits();
        match self.sweep_once(schedule) {
            Err(_) if self.keep_digits() => self.sweep_once(schedule),
            outcome => outcome,
        }
    }

    fn sweep_once(&mut self, schedule: &Schedule) -> Result<(), Trouble> {
        self.take_frame();
        let schedule = schedule.clone();
        self.at_all(move |executor| executor.sweep(&schedule)).map(|_| ())
    }

    /// See [`Executor::rotate`].
    ///
    /// # Errors
    /// If a precision has no update.
    pub fn rotate(&mut self, rotation: &Rotation, blocks: &[BlockId]) -> Result<f64, Trouble> {
        let layouts = &self.sharded().plan.layouts;
        let space = Space { equations: self.equations(), bound: self.bound, layouts };
        let may_move = |block: BlockId| blocks.contains(&block) && !self.is_observed(block);
        let Some(followers) = space.followers(rotation, &may_move) else { return Ok(0.0) };
        if !followers.is_empty() {
            self.take_frame();
            let followers = followers.clone();
            self.at_all(move |executor| executor.reach_optimum(&followers))?;
        }
        let mut known = BTreeMap::new();
        for block in space.known(rotation, &followers) {
            let pairs = self.prior(block, place_of_pairs(self.equations(), block))?;
            known.insert(block, pairs.unwrap_or_default());
        }
        self.parameters();
        let mut whole = self.whole.take().unwrap_or_default();
        let mut moved = Vec::new();
        let outcome = space.rotate(rotation, (&followers, &known), (&mut whole, &mut moved));
        moved.into_iter().for_each(|block| self.tell_block(block, &whole));
        self.whole = OnceCell::from(whole);
        outcome
    }

    /// See [`Executor::natural`]; of the copies of all shards.
    ///
    /// # Errors
    /// If a shard has failed.
    pub fn natural(&mut self, block: BlockId, place: usize) -> Result<Vec<f64>, Trouble> {
        self.values_of(self.sharded().plan.blocks[block.index()].natural[place])
    }

    /// See [`Executor::prior`]; of the copies of all shards.
    ///
    /// # Errors
    /// If a shard has failed.
    pub fn prior(&mut self, block: BlockId, place: usize) -> Result<Option<Vec<f64>>, Trouble> {
        let node = self.sharded().plan.blocks[block.index()].prior.get(place).copied();
        node.map(|node| self.values_of(node)).transpose()
    }

    /// The values of a step, of all positions.
    fn values_of(&mut self, node: NodeId) -> Result<Vec<f64>, Trouble> {
        let sharded = self.sharded();
        let mut own = self.at_all(move |executor| Ok(executor.values_of(node)))?;
        if sharded.places[node.index()] != Place::Local {
            return Ok(own.swap_remove(0));
        }
        let node = &sharded.plan.nodes[node.index()];
        let loops = node.loops();
        let lengths: Vec<usize> = self.cut.parts.iter().map(|part| part.of_loops(&loops).len()).collect();
        let all = match &self.cut.exchange {
            Some(exchange) => self.gathered(&**exchange, &own.concat(), &lengths),
            None => own.concat(),
        };
        let mut values = vec![0.0; node.len()];
        let mut rest = all.as_slice();
        for (part, length) in self.cut.parts.iter().zip(lengths) {
            let (own, others) = rest.split_at(length);
            rest = others;
            part.of_loops(&loops).put(own, &mut values);
        }
        Ok(values)
    }

    /// See [`Executor::refresh`].
    ///
    /// # Errors
    /// If the allocations have no value.
    pub fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), Trouble> {
        let blocks = blocks.to_vec();
        self.at_all(move |executor| executor.refresh(&blocks)).map(drop)
    }

    /// Whether a block is that of data, some of whose entries are observed.
    pub fn is_observed(&self, block: BlockId) -> bool {
        self.ask(move |_, executor| executor.is_observed(block)).contains(&true)
    }

    /// See [`Executor::coordinates`].
    pub fn coordinates(&self, blocks: &[BlockId]) -> Vec<f64> {
        coordinates((self.equations(), self.bound), &self.sharded().plan.layouts, self.parameters(), blocks)
    }

    /// See [`Executor::move_to`].
    ///
    /// # Errors
    /// If a factor of q would be no distribution there; then some blocks have moved.
    pub fn move_to(&mut self, blocks: &[BlockId], at: &[f64]) -> Result<(), Improper> {
        self.parameters();
        let mut whole = self.whole.take().unwrap_or_default();
        let layouts = &self.sharded().plan.layouts;
        let outcome = move_to((self.equations(), self.bound), layouts, &mut whole, (blocks, at));
        blocks.iter().for_each(|block| self.tell_block(*block, &whole));
        self.whole = OnceCell::from(whole);
        outcome
    }

    /// How many copies of a point on a simplex nothing determines.
    pub fn undetermined(&mut self, block: BlockId) -> usize {
        let Ok(own) = self.at_all(move |executor| Ok(executor.undetermined(block).len())) else { return 0 };
        if !self.sharded().is_local(block) {
            return own[0];
        }
        let Some(exchange) = &self.cut.exchange else { return own.iter().sum() };
        let own: Vec<f64> = own.into_iter().map(|count| count as f64).collect();
        let all = self.gathered(&**exchange, &own, &vec![1; self.cut.parts.len()]);
        all.into_iter().map(|count| count as usize).sum()
    }

    /// What the next sweep depends on beside the parameters.
    pub fn digits(&self) -> Digits {
        Digits { residuals: self.on_residuals || self.digits.residuals, lost: self.digits.lost }
    }

    /// Goes on as a run did that had these parameters and digits.
    pub fn resume(&mut self, digits: Digits, schedule: &Schedule, took_bound: bool) -> Option<f64> {
        if (digits.residuals || digits.lost) && !self.on_residuals {
            self.take_residuals();
        }
        let schedule = schedule.clone();
        let own = self.at_all(move |executor| Ok(executor.resume(Digits::default(), &schedule, took_bound)));
        let elbo = own.map_or(took_bound.then_some(f64::NAN), |all| all[0]);
        if took_bound && self.keep_digits() { Some(self.elbo_once()) } else { elbo }
    }

    /// The steps of the plan of the whole data as text.
    pub fn plan_text(&self) -> String {
        self.sharded().plan.text(self.equations())
    }

    /// The most memory that the shards of this process and the parameters of all take, in bytes.
    pub fn peak_bytes(&self) -> usize {
        let bytes = |own: &Parameters| -> usize {
            own.blocks.iter().flatten().map(|column| size_of_val(column.as_slice())).sum()
        };
        let whole = bytes(&self.frame.borrow()) + self.whole.get().map_or(0, bytes);
        let shards = self.ask(|place, executor| {
            executor.peak_bytes() + if place == 0 { executor.common_bytes() } else { 0 }
        });
        let shards: usize = shards.into_iter().sum();
        self.outgrown.max(whole + shards)
    }
}
