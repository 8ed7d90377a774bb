//! Messages that go with an exit status.

use crate::output::say;
use cli::ParseFailure;
pub(crate) use cli::exit_status::ExitStatus as Status;
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};

/// Says why a profile from a file was not understood.
pub(crate) fn refuse_profile(failure: &ParseFailure) -> Status {
    failure.messages.iter().for_each(|message| say(&shortened(message)));
    Status::Refused
}

/// Says why the command line was not understood.
pub(crate) fn refuse(failure: &ParseFailure) -> Status {
    // Some messages are of several lines. A line feed in an argument begins none.
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

/// A message without the rest of arguments that are too long to read.
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

/// Says why something is refused.
pub(crate) fn refuse_with(reason: &str) -> Status {
    say(&format!("ERROR: {reason}"));
    Status::Refused
}

/// Says why something failed.
pub(crate) fn fail(reason: &str) -> Status {
    say(&format!("ERROR: {reason}"));
    Status::Failed
}

/// The status, unless stdout took no more.
pub(crate) fn printed(result: std::io::Result<()>, status: Status) -> Status {
    match result {
        Ok(()) => status,
        Err(error) => fail(&format!("cannot write to stdout: {error}")),
    }
}

/// Why a monitor went no further.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Whoever read stdout went away: that is an end like any other.
    ReaderGone,
    /// Something could not be written.
    Failed(String),
}

impl Ended {
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
