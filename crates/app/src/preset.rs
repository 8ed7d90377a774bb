//! `diskspd preset`: named loads.

use crate::check;
use crate::foreign_file;
use crate::load;
use crate::output::say;
use crate::preset_series;
use crate::request_checks;
use crate::status::{Status, refuse_each, refuse_with};
use crate::system_env::{Invocation, SystemEnv};
use crate::text_file;
use cli::preset::{self, BUILTIN, Builtin, Checked, Machine, Preset, PresetRequest, SeriesChoices};
use cli::subcommand::preset::{PresetCommand, PresetForm};
use host::Root;
use model::printable::printable;
use model::profile::ResultFormat;
use model::suggest::hint;
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
    outcome.unwrap_or_else(|reason| refuse_with(&reason))
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

/// The text of a preset, built in or from a file.
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
        text_file::read(Path::new(name)).map_err(|error| format!("cannot read the preset '{name}': {error}"))?;
    text_file::text(bytes).map_err(|reason| format!("the preset '{name}' is {reason}"))
}

fn preset_of(request: &PresetRequest) -> Result<Preset, String> {
    Preset::read(&text_of(&request.name)?).map_err(|reason| format!("preset '{}': {reason}", request.name))
}

/// The load of a preset.
///
/// # Errors
///
/// The reason why it has none.
pub(crate) fn request_of(request: &PresetRequest) -> Result<cli::RunRequest, String> {
    preset::run_request(&preset_of(request)?, request, machine(), &SystemEnv)
}

fn machine() -> Machine {
    let topology = host::system(&Root::machine()).topology;
    let [cpus, sockets, nodes] =
        [topology.cpus.len(), topology.socket_count(), topology.node_count()].map(|count| count as u32);
    Machine { cpus, sockets, nodes }
}

fn show(request: &PresetRequest, form: PresetForm) -> Result<String, String> {
    match form {
        PresetForm::Toml => text_of(&request.name),
        PresetForm::Xml => {
            let profile = preset::profile(&preset_of(request)?, request, machine(), &SystemEnv)?;
            Ok(cli::write_profile(&profile, ResultFormat::Text))
        }
        PresetForm::CommandLines => {
            let preset = preset_of(request)?;
            let mut text = format!("{}\n", printable(&preset.title));
            if !preset.about.is_empty() {
                let _ = write!(text, "\n{}\n", preset.about.trim());
            }
            if !preset.sources.is_empty() {
                let _ = write!(text, "\nSources:\n{}\n", preset.sources.join("\n"));
            }
            for line in preset::command_lines(&preset, request, machine())? {
                let source =
                    if line.source.is_empty() { String::new() } else { format!("# source: {}\n", line.source) };
                let _ = write!(text, "\n# {}\n{source}diskspd {}\n", line.load, line.words);
            }
            Ok(text)
        }
    }
}

fn go(invocation: &Invocation, request: &PresetRequest) -> Result<Status, String> {
    let preset = preset_of(request)?;
    if !preset.series.is_empty() {
        return preset_series::run(invocation, &preset, request, machine());
    }
    // Runs also have --plan.
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
    let mut run = preset::run_request(&preset, request, machine(), &SystemEnv)?;
    if Builtin::find(&request.name).is_none() {
        let path = Path::new(&request.name);
        if let Err(reasons) = request_checks::check_outputs(&run.options, path, "the preset of this run") {
            return Ok(refuse_each(&reasons));
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
        Some(Checked::Sql) if !run.options.plan_only => check::before_load(&["--for", "sql"], &request.words)?,
        _ => Status::Done,
    };
    let status = load::run(invocation, &run);
    // A failed check is no better than a load that fails.
    Ok(if status == Status::Done { checked } else { status })
}
