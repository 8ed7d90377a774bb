//! Messages and the exit status that belongs to them.

use crate::output::{say, say_each};
use cli::ParseFailure;
pub(crate) use cli::exit_status::ExitStatus as Status;
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use std::fmt::Display;

/// Prints the reason why a profile from a file was rejected.
pub(crate) fn refuse_profile(failure: &ParseFailure) -> Status {
    failure.messages.iter().for_each(|message| say(&shortened(message)));
    Status::Refused
}

/// Prints the reason why the command line was rejected.
pub(crate) fn refuse(failure: &ParseFailure) -> Status {
    // Some messages have several lines. A line feed in an argument must not start a new one.
    let may_be_typed = std::env::args_os().any(|arg| arg.as_encoded_bytes().contains(&b'\n'));
    for message in &failure.messages {
        let message = shortened(message);
        if may_be_typed {
            say(&message);
        } else {
            message.trim_end_matches('\n').split('\n').for_each(say);
        }
    }
    Status::Refused
}

/// A message with long arguments shortened.
fn shortened(message: &str) -> String {
    let mut shown = String::with_capacity(message.len().min(4096));
    // Messages quote arguments.
    for (index, part) in message.split('\'').enumerate() {
        if index > 0 {
            shown.push('\'');
        }
        if index % 2 == 1 {
            shown.push_str(&clipped(part, REPEATED_CHARACTERS_MAX));
        } else {
            shown.push_str(part);
        }
    }
    shown
}

/// Prints the reason for a refusal.
pub(crate) fn refuse_with(reason: &str) -> Status {
    say(&format!("ERROR: {reason}"));
    Status::Refused
}

/// Prints all reasons for a refusal.
pub(crate) fn refuse_each(reasons: &[impl Display]) -> Status {
    say_each("ERROR", reasons);
    Status::Refused
}

/// Prints the reason for a failure.
pub(crate) fn fail(reason: &str) -> Status {
    say(&format!("ERROR: {reason}"));
    Status::Failed
}

/// The exit status of writing a file.
pub(crate) fn done(written: Result<(), String>) -> Status {
    written.map_or_else(|reason| fail(&reason), |()| Status::Done)
}

/// The status, unless stdout could not be written.
pub(crate) fn printed(result: std::io::Result<()>, status: Status) -> Status {
    match result {
        Ok(()) => status,
        Err(error) => fail(&format!("cannot write to stdout: {error}")),
    }
}

/// The reason why a monitor ended early.
#[derive(Debug)]
pub(crate) enum MonitorEnd {
    /// The reader of stdout is gone: a normal end.
    ReaderGone,
    /// Something could not be written.
    Failed(String),
}

impl MonitorEnd {
    pub(crate) fn status(self) -> Status {
        match self {
            Self::ReaderGone => Status::Done,
            Self::Failed(reason) => fail(&reason),
        }
    }

    pub(crate) fn of_stdout(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::Failed(format!("cannot write to stdout: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_arguments_are_cut() {
        let long = "ü".repeat(300);
        let cut = format!("{}…{}", "ü".repeat(134), "ü".repeat(66));
        assert_eq!(shortened(&format!("ERROR: '{long}' is not a size")), format!("ERROR: '{cut}' is not a size"));
        let short = "ERROR: '-x' is an option, and 'y' is not (expected: z)";
        assert_eq!(shortened(short), short);
    }
}
