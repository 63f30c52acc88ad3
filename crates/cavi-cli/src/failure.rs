//! Why a command ends without success, and with which status.

use cavi::{Error, Kind};

use crate::terminal;

/// Why a command ends without success. The texts are complete messages with a newline at their end.
#[derive(Debug)]
pub enum Failure {
    /// The program or the data is wrong: 1.
    Wrong(String),
    /// Wrong usage: 2.
    Usage(String),
    /// Cavi broke a promise: 3.
    Broken(String),
    /// Interrupted, with everything up to the last completed sweep written: 130.
    Interrupted,
    /// Nobody reads standard output any more: 0, in silence.
    Closed,
    /// Another process has said what is wrong: this status, in silence.
    Elsewhere(u8),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        terminal::remember(error.code());
        let text = error.text(terminal::colors(true));
        match error.kind() {
            Kind::Wrong => Failure::Wrong(text),
            Kind::Usage => Failure::Usage(text),
            Kind::Broken => Failure::Broken(text),
            Kind::Stopped => Failure::Interrupted,
        }
    }
}

impl Failure {
    /// The message of a wrong usage, on one line.
    pub fn usage(message: impl AsRef<str>) -> Failure {
        Failure::Usage(format!("error: {}\n", message.as_ref()))
    }

    /// The message of something wrong with what was given.
    pub fn wrong(message: impl AsRef<str>) -> Failure {
        Failure::Wrong(format!("error: {}\n", message.as_ref()))
    }

    /// Shows the message and gives the exit status.
    pub fn report(self) -> u8 {
        let (message, status) = match self {
            Failure::Wrong(message) => (message, 1),
            Failure::Usage(message) => (message, 2),
            Failure::Broken(message) => (message, 3),
            Failure::Interrupted => return 130,
            Failure::Closed => return 0,
            Failure::Elsewhere(status) => return status,
        };
        terminal::note(&message);
        status
    }
}
