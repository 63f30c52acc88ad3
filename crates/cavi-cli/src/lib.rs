//! What does the terminal take and show?
//!
//! In come arguments; out go results on standard output, progress and diagnostics on standard error, and an exit
//! status: 0 done, 1 the program or the data is wrong, 2 wrong usage, 3 Cavi broke a promise, 130 interrupted. One file
//! a command. What this crate never knows: how a program is compiled, planned or run; it is one client of `cavi`.

mod arguments;
mod commands;
mod components;
mod difference;
mod explained;
mod failure;
mod findings;
mod help;
mod interrupt;
mod other_names;
mod program;
mod progress;
mod scores;
mod table;
mod team;
mod terminal;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use arguments::Arguments;
use failure::Failure;

/// Deep expressions and long chains of statements need more than the stack of the first thread.
const STACK: usize = 256 << 20;

/// Runs the program on the arguments of the process.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// The same as one of several processes, on all of which it is run with the same arguments: a fit is spread over them, and the first one
/// prints and writes. Any other command is run by the first one alone.
pub fn run_among(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    others: Arc<dyn cavi::Exchange>,
) -> u8 {
    team::join(others);
    team::close(run(arguments))
}

/// Runs the program on these arguments, its name first, and gives its exit status.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    interrupt::listen();
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let words: Vec<String> = arguments.iter().map(|own| own.to_string_lossy().into_owned()).collect();
    let mut command = help::command();
    let matches = command.try_get_matches_from_mut(arguments);
    let parsed = matches.and_then(|matches| {
        Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error, &words),
    };
    terminal::silence_panics();
    let run = std::thread::Builder::new().name("cavi".to_owned()).stack_size(STACK);
    let joined = match run.spawn(move || commands::run(&arguments)) {
        Ok(thread) => thread.join(),
        Err(error) => {
            return Failure::Wrong(format!("error: no thread could be started: {error}\n")).report();
        }
    };
    let status = match joined {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failure.report(),
        Err(_) => {
            team::abort(&terminal::last_panic());
            Failure::Broken(terminal::last_panic()).report()
        }
    };
    terminal::more();
    status
}

/// A value that an option does not take, on one line: `error: \`--tol -1\`: expected a number, ...`.
fn wrong_value(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg)?.split(' ').next()?;
    let value = text(ContextKind::InvalidValue)?;
    let possible = match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::ValueValidation, _) => std::error::Error::source(error)?.to_string(),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(words))) if !words.is_empty() => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("expected {}", words.join(" or "))
        }
        (ErrorKind::InvalidValue, _) if value.is_empty() => "expected a value".to_owned(),
        _ => return None,
    };
    let given = match option.strip_suffix(']').and_then(|option| option.split_once("[=")) {
        Some((option, _)) => format!("{option}={value}"),
        None if value.is_empty() => option.to_owned(),
        None => format!("{option} {value}"),
    };
    Some(format!("error: `{given}`: {possible}\n"))
}

/// Help and version go to standard output with status 0, mistakes to standard error with status 2.
fn usage(error: &clap::Error, arguments: &[String]) -> u8 {
    let text = if terminal::colors(error.use_stderr()) {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    };
    if error.use_stderr() {
        terminal::note(&wrong_value(error).or_else(|| other_names::answer(error, arguments)).unwrap_or(text));
        return 2;
    }
    match terminal::print(&text) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}
