//! The command line, read in three passes as `DiskSpd` reads it: first targets and our own options; then the block size
//! and the options permitted with `-X`; then everything else, up to the first error.

mod scan;
mod streams;

use crate::builder::{Builder, GivenOption};
use crate::options::{self, Kind, OptionRow, Pass};
use crate::request::{Environment, LoadRequest, ParseFailure, RunRequest, ShowRequest};
use crate::shell::Shell;
use crate::targets;
use model::profile::{Profile, ResultFormat, Target, TimeSpan};
use scan::{Line, ShortOption};
use settings::job;
use settings::suggest::near;
use settings::xml::unsayable_paths;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A command line without a subcommand.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
pub enum LineCommand {
    /// `-?`, `/?`: the usage text on stdout, exit status 0.
    Usage,
    /// No argument at all: the usage text on stdout, exit status 3.
    UsageWithoutArguments,
    /// `--version`.
    Version,
    /// `--man`: the man page of the command, or of the subcommand with this name.
    Man(Option<&'static str>),
    /// `--completions`.
    Completions(Shell),
    /// `-Rs`: print the system block and stop.
    SystemInformation(ResultFormat),
    /// `-Rp`: print the profile and stop.
    ShowProfile(ShowRequest),
    /// Run a profile.
    Run(RunRequest),
    /// `-ye`: set these events and stop.
    SignalEvents {
        /// Their names, in order.
        names: Vec<String>,
        /// Warnings for the user.
        warnings: Vec<String>,
    },
    /// `-X`: read a profile, then run or show it.
    LoadProfile(LoadRequest),
}

/// A command line without a subcommand, or the words after `--help`.
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
pub(crate) enum ParsedCommandLine {
    /// The words after `--help`.
    Help(Vec<OsString>),
    Line(LineCommand),
}

/// Parses the arguments of a command line without a subcommand. There is at least one.
pub(crate) fn parse(args: &[OsString], environment: &dyn Environment) -> Result<ParsedCommandLine, ParseFailure> {
    match scan::scan(args, environment)? {
        scan::ScanResult::Help(words) => Ok(ParsedCommandLine::Help(words)),
        scan::ScanResult::Answer(command) => Ok(ParsedCommandLine::Line(command)),
        scan::ScanResult::Line(line) => read_line(&line, args.len(), None, environment).map(ParsedCommandLine::Line),
    }
}

/// True if these arguments are a load, valid or not on this machine.
pub(crate) fn is_load(args: &[OsString], environment: &dyn Environment) -> bool {
    let is_of_load = |line: &LineCommand| {
        matches!(line, LineCommand::Run(_) | LineCommand::LoadProfile(_) | LineCommand::ShowProfile(_))
    };
    matches!(parse(args, environment), Ok(ParsedCommandLine::Line(line)) if is_of_load(&line))
}

/// Reads the options and targets given with a job file: those permitted with `-X`.
pub(crate) fn parse_beside_job(
    path: &Path,
    args: &[OsString],
    environment: &dyn Environment,
) -> Result<LoadRequest, ParseFailure> {
    let read = match scan::scan(args, environment)? {
        scan::ScanResult::Line(line) => read_line(&line, args.len(), Some(path), environment)?,
        scan::ScanResult::Help(_) | scan::ScanResult::Answer(_) => LineCommand::Usage,
    };
    match read {
        LineCommand::LoadProfile(request) => Ok(LoadRequest { is_job: true, ..request }),
        _ => Err(ParseFailure::because("this command line does not start a run")),
    }
}

fn read_line(
    line: &Line,
    count: usize,
    job: Option<&Path>,
    environment: &dyn Environment,
) -> Result<LineCommand, ParseFailure> {
    let mut builder = Builder {
        warnings: line.warnings.clone(),
        options: line.options.clone(),
        overrides: line.overrides.clone(),
        profile_path: job.map(Path::to_path_buf),
        ..Builder::default()
    };
    // Earlier warnings help to understand the error.
    interpret(line, &mut builder, count, environment).map_err(|failure| {
        let warnings = builder.warnings.iter().map(|warning| format!("WARNING: {warning}"));
        ParseFailure { messages: warnings.chain(failure.messages).collect(), ..failure }
    })
}

fn interpret(
    line: &Line,
    builder: &mut Builder,
    argument_count: usize,
    environment: &dyn Environment,
) -> Result<LineCommand, ParseFailure> {
    check_company_of_profile(&line.short, builder.profile_path.is_some())?;
    apply(Pass::One, &line.short, builder, environment)?;
    if let Some(format) = builder.system_information {
        if argument_count > 1 {
            return Err(ParseFailure::because("-Rs must be the only argument"));
        }
        return Ok(LineCommand::SystemInformation(format));
    }
    check_outputs(builder)?;
    if let Some(path) = builder.profile_path.take() {
        if let Some(stream) = line.streams.first() {
            let option = stream.option();
            return Err(ParseFailure::because(format!(
                "{option} cannot be combined with an XML profile (-X) or a job file: there, each target has settings of \
                 its own"
            )));
        }
        return Ok(LineCommand::LoadProfile(LoadRequest {
            path,
            overrides: std::mem::take(&mut builder.overrides),
            show: builder.show,
            show_job: builder.show_job,
            is_job: false,
            targets: line.targets.iter().map(PathBuf::from).collect(),
            options: std::mem::take(&mut builder.options),
            warnings: std::mem::take(&mut builder.warnings),
        }));
    }
    apply(Pass::Two, &line.short, builder, environment)?;
    finish(line, builder, environment)
}

/// Refuses two documents on stdout, and warns if none will be written there.
fn check_outputs(builder: &mut Builder) -> Result<(), ParseFailure> {
    let options = &builder.options;
    if let Some(conflict) = options.outputs.conflict_with(builder.overrides.result_format) {
        return Err(ParseFailure::because(conflict));
    }
    if builder.show || options.plan_only {
        let instead = if builder.show { "-Rp" } else { "--plan" };
        let warnings: Vec<String> = options
            .outputs
            .options()
            .chain(options.live.asked())
            .map(|o| format!("{o} has no effect with {instead}"))
            .collect();
        builder.warnings.extend(warnings);
    }
    Ok(())
}

/// Refuses options that cannot be combined with `-X`, before or after it, or with a job file.
fn check_company_of_profile(typed: &[ShortOption], is_job: bool) -> Result<(), ParseFailure> {
    let is_profile = |option: &&ShortOption| option.row().is_some_and(|row| row.name == "-X");
    match typed.iter().filter(is_profile).count() {
        0 if !is_job => return Ok(()),
        1 if is_job => return Err(ParseFailure::because("a job file cannot be combined with an XML profile (-X)")),
        0 | 1 => {}
        _ => return Err(ParseFailure::because("only one XML profile (-X) can be given")),
    }
    let source = if is_job { "a job file" } else { "an XML profile (-X)" };
    for option in typed {
        let Some((row, _)) = &option.found else { return Err(unknown(&option.argument)) };
        if !row.with_profile {
            let company: Vec<&str> = options::all()
                .filter(|row| row.with_profile && !row.is_long() && row.name != "-X")
                .map(|row| row.name)
                .collect();
            return Err(ParseFailure::because(format!(
                "'{}' cannot be combined with {source}; only {} and options that begin with -- may be used with it",
                option.argument,
                company.join(" ")
            )));
        }
    }
    Ok(())
}

/// Applies the options of one pass, left to right, up to the first error.
fn apply(
    pass: Pass,
    typed: &[ShortOption],
    builder: &mut Builder,
    environment: &dyn Environment,
) -> Result<(), ParseFailure> {
    for option in typed {
        let argument = option.argument.as_str();
        let Some((row, value)) = &option.found else {
            if pass == Pass::Two {
                return Err(unknown(argument));
            }
            continue;
        };
        if row.pass != pass {
            continue;
        }
        let value = if row.kind == Kind::Flag { ignore_text(row, argument, value, builder) } else { value };
        row.apply(builder, &GivenOption { argument, value, environment }).map_err(|fault| {
            // An error of several lines shows the argument below its first.
            let (text, marked) = fault.split_once('\n').map_or((fault.as_str(), ""), |(text, marked)| (text, marked));
            let hint = long_hint(argument);
            let separator = if marked.is_empty() { "" } else { "\n" };
            ParseFailure::because(format!("incorrectly provided option: '{argument}': {text}{hint}{separator}{marked}"))
        })?;
        if builder.usage {
            return Ok(());
        }
    }
    Ok(())
}

/// Text after a flag is ignored, as in `DiskSpd`; scripts in the field contain it (`-n953`).
fn ignore_text(row: &OptionRow, argument: &str, text: &str, builder: &mut Builder) -> &'static str {
    if !text.trim().is_empty() {
        builder.warn(format!("'{argument}': the text '{text}' after {} is ignored{}", row.name, long_hint(argument)));
    }
    ""
}

/// Hint for `-help` and others that were meant to begin with two dashes.
fn long_hint(argument: &str) -> String {
    let meant = format!("-{argument}");
    match options::find_long(meant.split('=').next().unwrap_or_default()) {
        Some(row) => format!("; did you mean {}?", row.name),
        None => String::new(),
    }
}

fn unknown(argument: &str) -> ParseFailure {
    let hint = match argument.strip_prefix("--") {
        Some(word) if !word.is_empty() => {
            let word = word.split('=').next().unwrap_or_default();
            let names: Vec<String> = near(word, options::long_named().filter_map(|row| row.name.strip_prefix("--")))
                .into_iter()
                .map(|name| format!("--{name}"))
                .collect();
            if names.is_empty() { String::new() } else { format!("did you mean {}? ", names.join(" or ")) }
        }
        _ => kin(argument),
    };
    ParseFailure::because(format!("invalid option: '{argument}'; {hint}--help lists all options"))
}

/// Options with the same first letter, in either case.
fn kin(argument: &str) -> String {
    let Some(letter) = argument.chars().nth(1) else { return String::new() };
    let mut names: Vec<&str> = options::all()
        .filter(|row| !row.is_long())
        .filter(|row| row.name.chars().nth(1).is_some_and(|first| first.eq_ignore_ascii_case(&letter)))
        .map(|row| row.name)
        .collect();
    names.dedup();
    if names.is_empty() { String::new() } else { format!("did you mean {}? ", names.join(", ")) }
}

fn finish(line: &Line, builder: &mut Builder, environment: &dyn Environment) -> Result<LineCommand, ParseFailure> {
    if builder.usage {
        return Ok(LineCommand::Usage);
    }
    if !builder.signals.is_empty() {
        return Ok(LineCommand::SignalEvents {
            names: std::mem::take(&mut builder.signals),
            warnings: std::mem::take(&mut builder.warnings),
        });
    }
    if line.targets.is_empty() && line.streams.is_empty() {
        return Err(ParseFailure::because("need to provide at least one target: the path of a file or device"));
    }
    if builder.seen.separation && builder.settings().large_pages {
        builder.warn("buffer separation (-bsp) has no effect: large pages (-l) are used for I/O buffers");
    }
    if builder.span.request_count > 0 && builder.span.thread_count == 0 {
        builder.warn("-O has no effect without -F");
    }
    if builder.seen.no_writes && builder.overrides.given.contains("Append") {
        return Err(ParseFailure::because("--append writes, and -w0 excludes writes: leave out -w"));
    }
    let profile = profile(line, builder, environment)?;
    if builder.show {
        if builder.show_job {
            builder.warnings.extend(job::unsayable_paths(&profile));
        } else if profile.result_format == ResultFormat::Xml {
            builder.warnings.extend(unsayable_paths(&profile));
        }
        return Ok(LineCommand::ShowProfile(ShowRequest {
            job: builder.show_job.then(|| builder.options.requirements_typed()),
            format: profile.result_format,
            profile,
            warnings: std::mem::take(&mut builder.warnings),
        }));
    }
    targets::check_number(&profile)?;
    let mut seen = HashSet::new();
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    // Streams may share them.
    let paths: Vec<&OsStr> = targets.map(|target| target.path.as_os_str()).filter(|path| seen.insert(*path)).collect();
    let refusals: Vec<String> = paths
        .iter()
        .filter_map(|target| targets::refusal(target, environment))
        .map(|refusal| format!("ERROR: {refusal}"))
        .collect();
    if !refusals.is_empty() {
        return Err(ParseFailure { messages: refusals, exit_status: 3 });
    }
    builder.warnings.extend(paths.iter().filter_map(|target| targets::warning(target, environment)));
    Ok(LineCommand::Run(RunRequest {
        profile,
        events: std::mem::take(&mut builder.events),
        options: std::mem::take(&mut builder.options),
        warnings: std::mem::take(&mut builder.warnings),
    }))
}

/// The profile with its one timespan. Without streams, every target has the same settings.
fn profile(line: &Line, builder: &mut Builder, environment: &dyn Environment) -> Result<Profile, ParseFailure> {
    let targets = if line.streams.is_empty() {
        let settings = std::mem::take(&mut builder.target).0;
        let settings = |path: &OsString| {
            let mut target = Target { path: PathBuf::from(path), ..settings.clone() };
            builder.overrides.apply_to_target(&mut target);
            target
        };
        line.targets.iter().map(settings).collect()
    } else {
        streams::targets(line, builder, environment)?
    };
    let span = TimeSpan { targets, ..std::mem::take(&mut builder.span) };
    let mut profile = Profile { time_spans: vec![span], ..std::mem::take(&mut builder.profile) };
    builder.overrides.apply_to_run(&mut profile);
    let rounded = builder.overrides.apply_rate(&mut profile).map_err(ParseFailure::because)?;
    builder.warnings.extend(rounded);
    Ok(profile)
}

#[cfg(test)]
mod tests;
