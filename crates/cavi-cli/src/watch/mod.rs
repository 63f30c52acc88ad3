//! `cavi fit --watch`: the page of a fit while it runs.
//!
//! The thread of the fit notes sweep and bound of each sweep, and copies its parameters when it is asked to (`cavi::Glances`). Everything else
//! happens on other threads, and only while a browser asks: a painter turns a copy into charts, at most one every two seconds and for a
//! twentieth of the time at most; the server ([`server`]) answers with what is there. Nothing of it changes the result, and nothing that
//! goes wrong there ends the fit.

mod server;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cavi::summary::variables_of;
use cavi::{Compiled, Fit, Glances, Problem, Progress};
use cavi_report::live::{self, Region, RunSoFar};

use crate::failure::Failure;
use crate::progress::duration;
use crate::terminal;
use server::{Answer, Server};

/// Time between two copies of the parameters, at least.
const BETWEEN: Duration = Duration::from_secs(2);
/// The painter rests so many times as long as it worked.
const RESTS: u32 = 20;
/// How often the painter looks whether there is something to do.
const PAUSE: Duration = Duration::from_millis(100);
/// Parameters of more bytes are not copied.
const MOST_BYTES: usize = 256 << 20;
/// A browser that asked within this time is there: one that looks elsewhere asks every four seconds.
const THERE: Duration = Duration::from_secs(10);
/// How long a server waits for browsers to hear of the end, at most.
const LAST: Duration = Duration::from_secs(5);
/// The trace of a run is kept at so many sweeps.
const MOST_KEPT: usize = 1000;
/// So many pages are told apart.
const MOST_PAGES: usize = 64;

/// A fit that is watched.
pub struct Watch {
    shared: Arc<Shared>,
    /// Ends before the painter, whose work it shows.
    server: Option<Server>,
    painter: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Shared {
    compiled: Compiled,
    problem: Arc<Problem>,
    glances: Glances,
    so_far: Mutex<SoFar>,
    latents: Mutex<Latents>,
    /// When each page last asked, and whether it has heard of the end.
    pages: Mutex<BTreeMap<String, (Instant, bool)>>,
    stop: AtomicBool,
}

/// What is known of the sweeps.
#[derive(Default)]
struct SoFar {
    runs: BTreeMap<u64, Line>,
    last: Option<Progress>,
    /// What is said in place of the progress.
    said: Option<String>,
    ended: Option<String>,
}

/// The bound of a run at evenly spaced sweeps, at most so many however long it is, and after its last sweep.
struct Line {
    /// Sweeps that this number divides are kept.
    stride: u64,
    points: Vec<(u64, f64)>,
    last: (u64, f64),
}

impl Line {
    fn new() -> Line {
        Line { stride: 1, points: Vec::new(), last: (0, f64::NAN) }
    }

    fn push(&mut self, sweep: u64, elbo: f64) {
        self.last = (sweep, elbo);
        if sweep.is_multiple_of(self.stride) {
            self.points.push((sweep, elbo));
        }
        while self.points.len() > MOST_KEPT {
            self.stride *= 2;
            self.points.retain(|(own, _)| own.is_multiple_of(self.stride));
        }
    }

    fn points(&self) -> Vec<(f64, f64)> {
        let last = (self.points.last() != Some(&self.last)).then_some(&self.last);
        self.points.iter().chain(last).map(|(sweep, elbo)| (*sweep as f64, *elbo)).collect()
    }
}

/// The charts of latents.
struct Latents {
    region: Arc<Region>,
    version: u64,
}

/// The value, also where a thread that had it has panicked: it is shown, and nothing else.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Serves the page of a fit of this problem, and says where.
    ///
    /// # Errors
    /// A port that cannot be had.
    pub fn start(port: u16, compiled: &Compiled, problem: &Arc<Problem>) -> Result<Watch, Failure> {
        let nothing = live::no_latents("Charts of latents come with the next sweep.");
        let shared = Arc::new(Shared {
            compiled: compiled.clone(),
            problem: Arc::clone(problem),
            glances: Glances::new(MOST_BYTES),
            so_far: Mutex::default(),
            latents: Mutex::new(Latents { region: Arc::new(nothing), version: 0 }),
            pages: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let server = Server::start(port, Arc::new(move |path, query| own.answer(path, query)));
        let server = server.map_err(|error| {
            let given = if port == 0 { String::new() } else { format!("={port}") };
            Failure::wrong(format!(
                "`--watch{given}`: the address 127.0.0.1:{port} cannot be served: {error}\n  possible: another port, or `--watch` alone, for which the system chooses one"
            ))
        })?;
        let own = Arc::clone(&shared);
        // Without it the page has no charts of latents.
        let painter = thread::Builder::new().name("paint".to_owned()).spawn(move || own.paint()).ok();
        terminal::note(&format!("watch it at {}\n", server.url()));
        Ok(Watch { shared, server: Some(server), painter })
    }

    /// What lets the painter look at the parameters.
    pub fn glances(&self) -> Glances {
        self.shared.glances.clone()
    }

    /// Notes a sweep.
    pub fn note(&self, progress: &Progress) {
        let mut so_far = lock(&self.shared.so_far);
        if let Some(elbo) = progress.elbo.filter(|own| own.is_finite() && !progress.warming) {
            so_far.runs.entry(progress.restart).or_insert_with(Line::new).push(progress.sweep, elbo);
        }
        so_far.last = Some(*progress);
    }

    /// The sweeps are done: shows how they ended, and the latents as they are written, if somebody is there.
    pub fn fitted(&self, how: &str, fit: &Fit) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if self.shared.is_somebody_there() {
            let variables = variables_of(&self.shared.problem, &fit.parameters);
            let region = live::latents(
                &self.shared.compiled,
                variables,
                "The latents of the fit, as they are written.",
            );
            self.shared.paint_over(region);
        }
        lock(&self.shared.so_far).said =
            Some(format!("{} was fitted: {how}. Scores and files follow.", self.shared.name()));
    }

    /// Everything is written: pages that are open hear of it, for which the server waits a few seconds at most.
    pub fn end(self, how: &str) {
        let mut so_far = lock(&self.shared.so_far);
        so_far.said = Some(format!("{} was fitted: {how}.", self.shared.name()));
        so_far.ended = Some("The fit has ended, and so does this page: it stays as it is.".to_owned());
        drop(so_far);
        let end = Instant::now() + LAST;
        let was_there = self.shared.is_somebody_there();
        while Instant::now() < end && self.shared.is_somebody_waiting() {
            thread::sleep(PAUSE);
        }
        // The last answers are on their way.
        if was_there {
            thread::sleep(2 * PAUSE);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.server = None;
        if let Some(painter) = self.painter.take() {
            // A panic there is no failure of the fit.
            let _ = painter.join();
        }
    }
}

impl Shared {
    fn name(&self) -> &str {
        &self.compiled.model.name
    }

    fn answer(&self, path: &str, query: &str) -> Answer {
        let given = |name: &str| {
            query
                .split('&')
                .filter_map(|own| own.split_once('='))
                .find(|(own, _)| *own == name)
                .map(|(_, own)| own)
        };
        match path {
            "" => {
                self.heard("", false);
                let (state, _) = self.state();
                let (latents, version) = self.latents();
                let title = format!("A fit of {}", self.name());
                let body = live::page(&title, &state, &latents, version).into_bytes();
                Answer { status: 200, kind: "text/html; charset=utf-8", headers: String::new(), body }
            }
            "data" => {
                let (state, ended) = self.state();
                self.heard(given("page").unwrap_or_default(), ended.is_some());
                let (latents, version) = self.latents();
                let has = given("latents").and_then(|own| own.parse().ok());
                let newer = (has != Some(version)).then_some((&*latents, version));
                let body = live::data(&state, newer, ended.as_deref()).into_bytes();
                Answer { status: 200, kind: "application/json", headers: String::new(), body }
            }
            _ => Answer::text(404, "there is nothing here"),
        }
    }

    /// A page has asked, and is told of the end or not.
    fn heard(&self, page: &str, has_end: bool) {
        let mut pages = lock(&self.pages);
        pages.retain(|_, (last, _)| last.elapsed() < THERE);
        if page.len() <= 16 && (pages.len() < MOST_PAGES || pages.contains_key(page)) {
            pages.insert(page.to_owned(), (Instant::now(), has_end));
        }
    }

    fn is_somebody_there(&self) -> bool {
        lock(&self.pages).values().any(|(last, _)| last.elapsed() < THERE)
    }

    /// Whether a page that asks again and again has not heard of the end.
    fn is_somebody_waiting(&self) -> bool {
        let pages = lock(&self.pages);
        pages.iter().any(|(page, (last, has_end))| !page.is_empty() && !has_end && last.elapsed() < THERE)
    }

    fn latents(&self) -> (Arc<Region>, u64) {
        let latents = lock(&self.latents);
        (Arc::clone(&latents.region), latents.version)
    }

    fn paint_over(&self, region: Region) {
        let mut latents = lock(&self.latents);
        latents.region = Arc::new(region);
        latents.version += 1;
    }

    /// The state in sentences with the trace, and how the fit ended.
    fn state(&self) -> (Region, Option<String>) {
        let so_far = lock(&self.so_far);
        let runs = so_far.runs.iter();
        let runs: Vec<RunSoFar> =
            runs.map(|(restart, points)| RunSoFar { restart: *restart, points: points.points() }).collect();
        let sentences = match (&so_far.said, &so_far.last) {
            (Some(said), _) => vec![said.clone()],
            (None, None) => vec![format!("{} is being fitted: its first sweep has not ended.", self.name())],
            (None, Some(progress)) => said(self.name(), progress),
        };
        let ended = so_far.ended.clone();
        drop(so_far);
        (live::state(&sentences, &runs), ended)
    }

    /// Turns copies of the parameters into charts until the sweeps are done.
    fn paint(&self) {
        let (mut asked, mut next): (Option<Instant>, Instant) = (None, Instant::now());
        // One run is followed, as long as it answers: components of runs have other orders.
        let mut followed = None;
        while !self.stop.load(Ordering::SeqCst) {
            thread::sleep(PAUSE);
            if let Some(glance) = self.glances.take(&self.problem) {
                let begun = Instant::now();
                followed = Some(glance.restart);
                let variables = variables_of(&self.problem, &glance.parameters);
                let sentence =
                    format!("Means under q in run {} after sweep {}.", glance.restart + 1, glance.sweep);
                self.paint_over(live::latents(&self.compiled, variables, &sentence));
                asked = None;
                next = Instant::now() + BETWEEN.max(RESTS * begun.elapsed());
            } else if asked.is_some_and(|own| own.elapsed() > BETWEEN) {
                followed = None;
                self.glances.ask(None);
            } else if asked.is_none() && Instant::now() >= next && self.is_somebody_there() {
                self.glances.ask(followed);
                asked = Some(Instant::now());
            }
        }
    }
}

/// Where a fit is, a sentence each.
fn said(name: &str, progress: &Progress) -> Vec<String> {
    let Progress { restart, restarts, sweep, sweeps, warming, elbo, rel_change, seconds, .. } = progress;
    let run = if *restarts > 1 { format!("run {} of {restarts}, ", restart + 1) } else { String::new() };
    let what = if *warming { "sweep of the warm-up" } else { "sweep" };
    let mut all = vec![format!(
        "{name} is being fitted: {run}{what} {sweep} of at most {sweeps}, after {}.",
        duration(*seconds)
    )];
    if let Some(elbo) = elbo {
        let change = rel_change.map_or_else(String::new, |own| format!(", its relative change {own:.1e}"));
        all.push(format!("The evidence lower bound (ELBO) is {elbo:.4}{change}."));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_trace_keeps_its_place_and_its_ends() {
        let mut line = Line::new();
        for sweep in 0..1_000_000 {
            line.push(sweep, sweep as f64);
        }
        let points = line.points();
        assert!(points.len() <= MOST_KEPT + 1 && points.len() > MOST_KEPT / 4, "{}", points.len());
        assert_eq!((points[0], points[points.len() - 1]), ((0.0, 0.0), (999_999.0, 999_999.0)));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
