//! `diskspd preset`: loads with a name.

use crate::foreign_file;
use crate::load;
use crate::output::{say, say_each};
use crate::preset_series;
use crate::profile_file;
use crate::status::Status;
use crate::system_env::{Invocation, SystemEnv};
use cli::preset::{self, BUILTIN, Builtin, Checked, Preset, PresetRequest, SeriesChoices};
use cli::subcommand::preset::{PresetCommand, Shown};
use cli::{Command, Subcommand};
use host::Root;
use model::printable::printable;
use model::profile::ResultFormat;
use model::suggest::hint;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

/// Runs `diskspd preset`.
pub(crate) fn run(invocation: &Invocation, command: &PresetCommand) -> Status {
    match command {
        PresetCommand::List => list(),
        PresetCommand::Show(request, form) => answer(show(request, *form).map(|text| crate::show::text(&text))),
        PresetCommand::Run(request) => answer(go(invocation, request)),
    }
}

fn answer(outcome: Result<Status, String>) -> Status {
    outcome.unwrap_or_else(|reason| {
        say(&format!("ERROR: {reason}"));
        Status::Refused
    })
}

fn list() -> Status {
    let width = BUILTIN.iter().map(|builtin| builtin.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    // Writing to a string does not fail, here and below.
    for builtin in BUILTIN {
        let title = builtin.preset().map_or_else(|reason| reason, |preset| preset.title);
        let _ = writeln!(text, "{:<width$}  {title}", builtin.name);
    }
    crate::show::text(&text)
}

/// The text of a preset, of the program's own or of a file.
fn text_of(name: &str) -> Result<String, String> {
    if let Some(builtin) = Builtin::find(name) {
        return Ok(builtin.text.to_owned());
    }
    let is_path = name.contains('/') || Path::new(name).extension().is_some_and(|suffix| suffix == "toml");
    if let Some(reason) = foreign_file::reason_at(Path::new(name)) {
        return Err(reason);
    }
    if !is_path {
        let meant = hint(name, BUILTIN.iter().map(|builtin| builtin.name));
        return Err(format!(
            "unknown preset '{name}' ({meant}diskspd preset list shows all; preset files end in .toml)"
        ));
    }
    let bytes =
        profile_file::read(Path::new(name)).map_err(|error| format!("cannot read the preset '{name}': {error}"))?;
    profile_file::text(bytes).map_err(|reason| format!("the preset '{name}' is {reason}"))
}

fn preset_of(request: &PresetRequest) -> Result<Preset, String> {
    Preset::read(&text_of(&request.name)?).map_err(|reason| format!("preset '{}': {reason}", request.name))
}

/// The load of a preset.
///
/// # Errors
///
/// Why it has none.
pub(crate) fn request_of(request: &PresetRequest) -> Result<cli::RunRequest, String> {
    preset::run_request(&preset_of(request)?, request, cpus(), &SystemEnv)
}

fn cpus() -> u32 {
    host::system(&Root::machine()).topology.cpus.len() as u32
}

fn show(request: &PresetRequest, form: Shown) -> Result<String, String> {
    match form {
        Shown::Toml => text_of(&request.name),
        Shown::Xml => {
            let profile = preset::profile(&preset_of(request)?, request, cpus(), &SystemEnv)?;
            Ok(cli::write_profile(&profile, ResultFormat::Text))
        }
        Shown::CommandLines => {
            let preset = preset_of(request)?;
            let mut text = format!("{}\n", printable(&preset.title));
            if !preset.about.is_empty() {
                let _ = write!(text, "\n{}\n", preset.about.trim());
            }
            if !preset.sources.is_empty() {
                let _ = write!(text, "\nSources:\n{}\n", preset.sources.join("\n"));
            }
            for line in preset::command_lines(&preset, request, cpus()) {
                let words = line.words.map_or_else(
                    || format!("not expressible as a command line; see diskspd preset show {} --xml", request.name),
                    |words| format!("diskspd {words}"),
                );
                let _ = write!(text, "\n# {}\n{words}\n", line.load);
            }
            Ok(text)
        }
    }
}

fn go(invocation: &Invocation, request: &PresetRequest) -> Result<Status, String> {
    let preset = preset_of(request)?;
    if !preset.series.is_empty() {
        return preset_series::run(invocation, &preset, request, cpus());
    }
    // A run has --plan, too.
    let plan_only = request.choices.plan_only;
    if request.choices != (SeriesChoices { plan_only, ..SeriesChoices::default() }) {
        return Err(format!(
            "preset '{}' is one run: --dir, --quick, --resume, --against, --ssds and --copies are for presets of several \
             series",
            request.name
        ));
    }
    let plan = plan_only.then(|| "--plan".to_owned());
    let request = &PresetRequest { words: plan.into_iter().chain(request.words.clone()).collect(), ..request.clone() };
    let mut run = preset::run_request(&preset, request, cpus(), &SystemEnv)?;
    if Builtin::find(&request.name).is_none() {
        let path = Path::new(&request.name);
        if let Err(reasons) = load::check_outputs(&run.options, path, "the preset of this run") {
            say_each("ERROR", &reasons);
            return Ok(Status::Refused);
        }
        run.options.source = Some(path.to_owned());
    }
    let checked = match preset.check {
        Some(Checked::Sql) if run.options.fleet.is_some() => {
            say(
                "WARNING: targets on other hosts are not checked for SQL Server (diskspd check --for sql on each host)",
            );
            Status::Done
        }
        Some(Checked::Sql) if !run.options.plan_only => check(&["--for", "sql"], &request.words)?,
        _ => Status::Done,
    };
    let status = load::run(invocation, &run);
    // A failed check is no better than a load that fails.
    Ok(if status == Status::Done { checked } else { status })
}

/// Checks the targets before the loads, as `diskspd check` does with these options.
pub(crate) fn check(options: &[&str], words: &[String]) -> Result<Status, String> {
    let words: Vec<OsString> = std::iter::once("check")
        .chain(options.iter().copied())
        .chain(["--"])
        .chain(words.iter().map(String::as_str))
        .map(OsString::from)
        .collect();
    match cli::parse(&words, &SystemEnv) {
        Ok(Command::Subcommand(Subcommand::Check(request))) => {
            let status = crate::check::run(&request);
            crate::output::print(b"\n").map_err(|error| format!("cannot write to stdout: {error}"))?;
            Ok(status)
        }
        Ok(_) => Err("the command is not a check of the targets".to_owned()),
        Err(failure) => Err(failure.messages.join("; ")),
    }
}
