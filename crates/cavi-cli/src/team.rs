//! The processes that run one command together. The first prints and writes; the others compute with it.
//!
//! Before a fit begins, all say whether they can and what they are about to fit, once and on every way through the program: then none waits for
//! one that has ended, and none adds up what is not the same. What fails on one process alone after that ends them all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use cavi::{Exchange, agree_on_instructions, all_bytes};

use crate::failure::Failure;
use crate::terminal;

static OTHERS: OnceLock<Arc<dyn Exchange>> = OnceLock::new();
static IS_AGREED: AtomicBool = AtomicBool::new(false);

/// How the message of a process begins that can go on.
const READY: u8 = b'+';
/// How that of one begins that cannot.
const FAILED: u8 = b'-';

/// From here on this process is one of several.
pub fn join(others: Arc<dyn Exchange>) {
    if others.ranks() > 1 {
        if others.rank() > 0 {
            terminal::silence();
        }
        if !agree_on_instructions(&*others) {
            others.abort("its instruction set was chosen before the processes came together");
        }
    }
    let _ = OTHERS.set(others);
}

/// The other processes, if there are any.
pub fn others() -> Option<&'static Arc<dyn Exchange>> {
    OTHERS.get().filter(|own| own.ranks() > 1)
}

/// Whether this process prints and writes.
pub fn is_first() -> bool {
    others().is_none_or(|own| own.rank() == 0)
}

/// Comes together with all before a fit of these facts, one a line.
///
/// # Errors
/// If a process has failed, or is about to fit something else.
pub fn agree(facts: &str) -> Result<(), Failure> {
    let Some(others) = others() else { return Ok(()) };
    exchange(&**others, READY, facts)
}

/// The end of a command with this status, and what it said where it could not print. A process that has not come together with the others does so
/// now; one that fails later than that where the others may go on ends them all.
pub fn close(status: u8) -> u8 {
    let Some(others) = others() else { return status };
    if IS_AGREED.load(Ordering::SeqCst) {
        return status;
    }
    let said = terminal::silenced();
    match status {
        0 => exchange(&**others, READY, "").map_or_else(Failure::report, |()| 0),
        _ => {
            let _ = exchange(&**others, FAILED, &said);
            status
        }
    }
}

/// Ends all processes.
pub fn abort(why: &str) {
    if let Some(others) = others() {
        others.abort(why);
    }
}

/// Comes together with all after a fit, which succeeded or failed on all of them.
pub fn after_fit() {
    if let Some(others) = others() {
        all_bytes(&**others, &[]);
    }
}

fn exchange(others: &dyn Exchange, begin: u8, text: &str) -> Result<(), Failure> {
    IS_AGREED.store(true, Ordering::SeqCst);
    let own: Vec<u8> = std::iter::once(begin).chain(text.bytes()).collect();
    let all = all_bytes(others, &own);
    if let Some(rank) = all.iter().position(|own| own.first() == Some(&FAILED)) {
        let said = String::from_utf8_lossy(all[rank].get(1..).unwrap_or_default()).into_owned();
        // The first process has printed its own message.
        return Err(match rank {
            0 => Failure::Elsewhere(1),
            rank => Failure::Wrong(format!("error: rank {rank} cannot begin:\n{said}")),
        });
    }
    let first = String::from_utf8_lossy(&all[0]).into_owned();
    for (rank, other) in all.iter().enumerate().skip(1) {
        let other = String::from_utf8_lossy(other);
        if other == first {
            continue;
        }
        let lines = |own: &str| own.lines().map(str::to_owned).collect::<Vec<_>>();
        let (one, other) = (lines(&first), lines(&other));
        let place = (0..one.len().max(other.len())).find(|place| one.get(*place) != other.get(*place));
        let fact = place.and_then(|place| one.get(place).or(other.get(place))).cloned().unwrap_or_default();
        let name =
            fact.trim_start_matches(char::from(READY)).split('\t').next().unwrap_or_default().to_owned();
        let name = if name.is_empty() { "there is nothing to fit" } else { &name };
        return Err(Failure::wrong(format!(
            "rank {rank} is about to fit something else than rank 0: {name} is not the same\n  help: every rank needs the same program, files and \
             options"
        )));
    }
    Ok(())
}
