//! Standard output and standard error: writing to them never panics, and a closed pipe ends the program quietly.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static SILENT: AtomicBool = AtomicBool::new(false);
static SILENCED: Mutex<String> = Mutex::new(String::new());

/// As many bytes of what was not shown are kept: a message, and no more.
const KEPT: usize = 1 << 16;

/// From here on nothing is written: another process does so.
pub fn silence() {
    SILENT.store(true, Ordering::SeqCst);
}

/// Whether nothing is written.
pub fn is_silent() -> bool {
    SILENT.load(Ordering::SeqCst)
}

/// What would have been written to standard error.
pub fn silenced() -> String {
    SILENCED.lock().map_or_else(|_| String::new(), |own| own.clone())
}

/// Writes results to standard output.
///
/// # Errors
/// [`Failure::Closed`] if nobody reads it any more; another failure if it cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    if is_silent() {
        return Ok(());
    }
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::Closed),
        Err(error) => Err(Failure::wrong(format!("standard output cannot be written: {error}"))),
    }
}

/// Writes diagnostics and progress to standard error. If that is closed nobody wants to know.
pub fn note(text: &str) {
    if is_silent() {
        if let Ok(mut silenced) = SILENCED.lock()
            && silenced.len() + text.len() <= KEPT
        {
            silenced.push_str(text);
        }
        return;
    }
    let mut err = stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Whether standard error (or standard output) is a terminal that shows colours.
pub fn colors(is_error: bool) -> bool {
    let terminal = if is_error { stderr().is_terminal() } else { stdout().is_terminal() };
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    terminal && wanted && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

static SHOWN: Mutex<Option<&'static str>> = Mutex::new(None);

/// Remembers the code of what is shown, for [`more`]: the first error, else the first warning.
pub fn remember(code: &'static str) {
    if let Ok(mut shown) = SHOWN.lock()
        && cavi::codes::entry(code).is_some()
        && shown.is_none_or(|before| before.starts_with('W') && code.starts_with('E'))
    {
        *shown = Some(code);
    }
}

/// Says once, after everything else, where more is said of the first code that was shown. Only a person at a terminal is told: what is
/// written to a file or a pipe is read by programs.
pub fn more() {
    let code = SHOWN.lock().ok().and_then(|shown| *shown);
    if let Some(code) = code.filter(|_| stderr().is_terminal()) {
        note(&format!("`cavi explain {code}` says more\n"));
    }
}

static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// A panic is a bug of ours: it is reported as one, once, by [`last_panic`].
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let text =
            payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("no message");
        let place = info.location().map(|place| format!(" ({}, line {})", place.file(), place.line()));
        if let Ok(mut last) = PANIC.lock() {
            last.get_or_insert(format!("{message}{}", place.unwrap_or_default()));
        }
    }));
}

/// The message of the first panic, for the user.
pub fn last_panic() -> String {
    let message = PANIC.lock().ok().and_then(|last| last.clone()).unwrap_or_else(|| "a panic".to_owned());
    format!(
        "error: internal error: {message}\n  This is a bug of Cavi, not of your program. Please report it with the \
         program and the command.\n"
    )
}
