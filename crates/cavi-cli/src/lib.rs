//! What does the terminal take and show?
//!
//! In come arguments; out go results on standard output, progress and diagnostics on standard error, and an exit
//! status: 0 done, 1 the program or the data is wrong, 2 wrong usage, 3 Cavi broke a promise, 130 interrupted. One file
//! a command. What this crate never knows: how a program is compiled, planned or run; it is one client of `cavi`.

mod arguments;
mod commands;
mod failure;
mod findings;
mod interrupt;
mod output;
mod program;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;
use failure::Failure;

/// Deep expressions and long chains of statements need more than the stack of the first thread.
const STACK: usize = 256 << 20;

/// Runs the program on the arguments of the process.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    terminal::silence_panics();
    let run = std::thread::Builder::new().name("cavi".to_owned()).stack_size(STACK);
    let joined = match run.spawn(move || commands::run(&arguments)) {
        Ok(thread) => thread.join(),
        Err(error) => {
            return Failure::Wrong(format!("error: no thread could be started: {error}\n")).report();
        }
    };
    match joined {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.report(),
        Err(_) => Failure::Broken(terminal::last_panic()).report(),
    }
}

/// Help and version go to standard output with status 0, mistakes to standard error with status 2.
fn usage(error: &clap::Error) -> ExitCode {
    let text = if terminal::colors(error.use_stderr()) {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    };
    if error.use_stderr() {
        terminal::note(&text);
        return ExitCode::from(2);
    }
    match terminal::print(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
