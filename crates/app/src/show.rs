//! What is printed without running anything: usage, help, version, the machine, a profile.

use crate::Invocation;
use crate::feature;
use crate::output::{print, say};
use crate::status::{Status, printed};
use cli::ShowRequest;
use host::Root;
use model::profile::ResultFormat;
use model::units::UnixTime;
use model::validate::{Purpose, validate};

/// `-?`.
pub(crate) fn usage(invocation: &Invocation, status: Status) -> Status {
    printed(print(cli::help::usage(&invocation.program.to_string_lossy()).as_bytes()), status)
}

/// `--help`; the parser let only known topics through.
pub(crate) fn help(topic: Option<&str>) -> Status {
    let help = topic.map_or_else(|| Some(cli::help::help()), cli::help::topic).unwrap_or_default();
    // Help, man pages and completions are those of all builds.
    let lacks = feature::absent().map_or_else(String::new, |names| {
        format!(
            "\nThis build has no {names}; options and subcommands that need them \
                                                   are refused.\n"
        )
    });
    text(&(help + &lacks))
}

/// A text that was asked for, as it is.
pub(crate) fn text(text: &str) -> Status {
    printed(print(text.as_bytes()), Status::Done)
}

/// `--version`.
pub(crate) fn version() -> Status {
    text(&crate::version::text())
}

/// `-Rs`.
pub(crate) fn system(format: ResultFormat) -> Status {
    let started_at = UnixTime(sys::clock::realtime_ns());
    let system = host::system(&Root::machine());
    let mut text = Vec::new();
    let result = match format {
        ResultFormat::Text => render::system_text(&system, started_at, &mut text),
        ResultFormat::Xml => render::system_xml(&system, started_at, &mut text),
    };
    printed(result.and_then(|()| print(&text)), Status::Done)
}

/// `-Rp`.
pub(crate) fn profile(invocation: &Invocation, request: &ShowRequest) -> Status {
    let findings = validate(&request.profile, Purpose::Show);
    for error in &findings.errors {
        say(&format!("ERROR: {error}"));
    }
    let warnings = request.warnings.iter().chain(&findings.warnings);
    for warning in warnings {
        say(&format!("WARNING: {warning}"));
    }
    if !findings.errors.is_empty() {
        return Status::Refused;
    }
    let mut text = Vec::new();
    let result = match request.format {
        ResultFormat::Xml => {
            text = cli::write_profile(&request.profile, request.format).into_bytes();
            Ok(())
        }
        ResultFormat::Text => {
            let system = host::system(&Root::machine());
            render::profile_text(&invocation.command_line(), &request.profile, &system, &mut text)
        }
    };
    printed(result.and_then(|()| print(&text)), Status::Done)
}
