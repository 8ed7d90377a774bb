//! Exit statuses, and the messages that go with the bad ones.

use crate::output::say;
use spec::ParseFailure;
use std::process::{ExitCode, Termination};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Everything was done as asked, or the user ended it.
    Success,
    /// It was started, or made sense, and failed.
    Failure,
    /// The command line, the profile or the targets were refused; nothing was done.
    Invalid,
    /// It was run and reported, and its results are invalid (`--strict`).
    InvalidFigures,
}

impl Termination for Status {
    fn report(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Invalid => 3,
            Self::InvalidFigures => 4,
        })
    }
}

/// Says why the command line was not understood.
pub(crate) fn refuse(failure: &ParseFailure) -> Status {
    for message in &failure.messages {
        say(message);
    }
    Status::Invalid
}

/// Says why something failed.
pub(crate) fn fail(reason: &str) -> Status {
    say(&format!("ERROR: {reason}"));
    Status::Failure
}

/// Success, unless stdout took no more.
pub(crate) fn printed(result: std::io::Result<()>, status: Status) -> Status {
    match result {
        Ok(()) => status,
        Err(error) => fail(&format!("cannot write to stdout: {error}")),
    }
}
