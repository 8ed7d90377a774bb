//! Output without a run: usage, help, version, the machine, a profile.

use crate::feature;
use crate::output::{print, say};
use crate::status::{Status, printed};
use crate::system_env::Invocation;
use cli::ShowRequest;
use host::Root;
use model::facts::Availability;
use model::profile::ResultFormat;
use model::units::UnixTime;
use model::validate::{Purpose, validate};
use std::fmt::Write as _;

/// `-?`.
pub(crate) fn usage(invocation: &Invocation, status: Status) -> Status {
    printed(print(cli::help::usage(&invocation.program.to_string_lossy()).as_bytes()), status)
}

/// `--help`; the parser accepts only known topics.
pub(crate) fn help(topic: Option<&str>) -> Status {
    let help = topic.map_or_else(|| Some(cli::help::help()), cli::help::topic).unwrap_or_default();
    // Help, man pages and completions are the same in all builds.
    let lacks = feature::absent().map_or_else(String::new, |names| {
        format!(
            "\nThis build has no {names}; options and subcommands that need them \
                                                   are refused.\n"
        )
    });
    text(&(help + &lacks))
}

/// Prints a requested text unchanged.
pub(crate) fn text(text: &str) -> Status {
    printed(print(text.as_bytes()), Status::Done)
}

/// `--version`.
pub(crate) fn version() -> Status {
    text(&version_text())
}

/// The program, its build, and the kernel features available here.
fn version_text() -> String {
    let mut text = cli::help::version();
    let (commit, profile, target) = (env!("DISKSPD_COMMIT"), env!("DISKSPD_PROFILE"), env!("DISKSPD_TARGET"));
    let _ = writeln!(text, "commit: {commit}");
    let lacks = feature::absent().map_or_else(String::new, |names| format!(", without {names}"));
    let _ = writeln!(text, "build:  {profile}, {target}{lacks}");
    let system = host::system(&Root::machine());
    let release = if system.kernel_release.is_empty() { "unknown release" } else { &system.kernel_release };
    let _ = writeln!(text, "kernel: {release}");
    let found = |interface: &Availability| match interface {
        Availability::Available => "yes".to_owned(),
        Availability::Unavailable { cause } => format!("no: {cause}"),
    };
    let (rings, aio) = (found(&system.io_uring), found(&system.linux_aio));
    let write_back = if system.cache_line_write_back { "yes" } else { "no" };
    for (feature, found) in
        [("io_uring", rings.as_str()), ("Linux AIO", &aio), ("write-back of cache lines (-Nn, -Ni)", write_back)]
    {
        let _ = writeln!(text, "        {feature}: {found}");
    }
    text
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
    if let Some(requirements) = &request.job {
        return self::text(&cli::write_job(&request.profile, requirements));
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
