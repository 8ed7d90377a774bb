//! Series of a preset with the user's options, each a separate command.

use crate::command::{Command, parse};
use crate::command_line::run_of;
use crate::preset::counts::{self, Counts, Machine};
use crate::preset::request::{PresetRequest, only_loads};
use crate::preset::series::{AGAINST, Words};
use crate::preset::{Preset, Series};
use crate::request::{Environment, RunOptions};
use crate::subcommand::Subcommand;
use crate::subcommand::sweep::{SweepCommand, SweepRequest};
use crate::words::split;
use model::sweep::SeriesKind;
use std::ffi::OsString;
use std::path::Path;

/// A series of a preset, ready to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedSeries {
    /// `02-depth`: the name of its directory.
    pub name: String,
    /// Its subject, without a full stop.
    pub title: String,
    pub kind: SeriesKind,
    /// The arguments, including the name of the subcommand.
    pub words: Vec<String>,
    pub command: SweepCommand,
}

impl PlannedSeries {
    /// The request of a new series; `None` of one that is resumed.
    pub fn request(&self) -> Option<&SweepRequest> {
        match &self.command {
            SweepCommand::Run { request, .. } => Some(request),
            SweepCommand::Resume { .. } => None,
        }
    }
}

/// The series of a preset with the user's options and targets, in the order of execution. `shorter` are options that
/// override those of the preset, and are overridden by the user's.
///
/// # Errors
///
/// The error in the user's arguments or in the preset.
pub fn planned_series(
    preset: &Preset,
    request: &PresetRequest,
    machine: Machine,
    shorter: &[String],
    environment: &dyn Environment,
) -> Result<Vec<PlannedSeries>, String> {
    counts::check(preset, &request.name, request.counts)?;
    let counts = Counts::new(preset, request.counts, machine);
    let user = run_of(&request.words, environment)?.options;
    only_loads(&preset.options)?;
    let (options, targets) = split(&request.words);
    let target = targets.first().ok_or_else(|| format!("preset '{}': no target given", request.name))?;
    let against = request.choices.against.as_ref();
    let is_wanted = |series: &&Series| against.is_some() || !series.command.contains(AGAINST);
    let wanted = preset.series.iter().filter(is_wanted).enumerate();
    let planned = wanted.map(|(index, series)| {
        let own = Words { preset, series, request, shorter, options, targets, target, counts };
        let planned = self::planned(&own, index + 1, environment);
        let checked = planned.and_then(|planned| check_permissions(&planned, &user).map(|()| planned));
        checked.map_err(|reason| format!("series '{}': {reason}", series.name))
    });
    planned.collect()
}

fn planned(words: &Words<'_>, number: usize, environment: &dyn Environment) -> Result<PlannedSeries, String> {
    only_loads(&words.series.options)?;
    let name = format!("{number:02}-{}", words.series.name);
    let choices = &words.request.choices;
    let mut more = Vec::new();
    if words.series.command.starts_with("sweep ") {
        more.extend(choices.devices.iter().cloned());
    }
    let typed = words.words(&more);
    let folder = choices.folder.as_deref().unwrap_or(Path::new(&words.request.name)).join(&name);
    let parsed: Vec<OsString> = typed.iter().map(OsString::from).collect();
    let (kind, command) = match parse(&parsed, environment) {
        Ok(Command::Subcommand(Subcommand::Sweep(command))) => (SeriesKind::Sweep, command),
        Ok(Command::Subcommand(Subcommand::Repeat(command))) => (SeriesKind::Repeat, command),
        Ok(Command::Subcommand(Subcommand::Ab(command))) => (SeriesKind::Ab, command),
        Ok(_) => return Err(format!("'{}' is none of sweep, repeat, ab", words.series.command)),
        Err(failure) => return Err(failure.messages.join("; ").trim_start_matches("ERROR: ").to_owned()),
    };
    let SweepCommand::Run { request, .. } = command else {
        return Err("a series of a preset starts a series".to_owned());
    };
    let command =
        SweepCommand::Run { request, folder: Some(folder), replace_output: false, plan_only: choices.plan_only };
    let title = words.series.title.clone();
    Ok(PlannedSeries { name, title, kind, words: typed, command })
}

/// Refuses options that only the user may give: presets are files of third parties.
fn check_permissions(planned: &PlannedSeries, user: &RunOptions) -> Result<(), String> {
    let SweepCommand::Run { request, .. } = &planned.command else { return Ok(()) };
    let of_sides = request.options.ab.iter().flat_map(|ab| ab.before.iter().flatten());
    if let Some(command) = request.options.before_point.iter().chain(of_sides).next() {
        return Err(format!("a preset may not run a command ('{command}')"));
    }
    let exceeds = |options: &RunOptions| {
        (options.overwrite && !user.overwrite)
            || options.destroy.iter().any(|name| !user.destroy.contains(name))
            || options.fleet != user.fleet
    };
    if request.points.iter().any(|point| exceeds(&point.request.options)) {
        return Err("--overwrite, --destroy and --on are given when the preset is run, not in it".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::BUILTIN;
    use crate::request::FakeEnv;

    fn planned(text: &str, words: &[&str]) -> Result<Vec<PlannedSeries>, String> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let request = PresetRequest { name: "p.toml".to_owned(), words, ..PresetRequest::default() };
        planned_series(&Preset::read(text)?, &request, Machine { cpus: 4, sockets: 1, nodes: 1 }, &[], &FakeEnv)
    }

    fn preset_text(options: &str, command: &str, own: &str) -> String {
        format!(
            "form = \"diskspd-preset/1\"\ntitle = \"t\"\noptions = \"{options}\"\n\
             series = [{{ name = \"one\", title = \"t\", command = \"{command}\", options = \"{own}\" }}]"
        )
    }

    #[test]
    fn series_of_the_program_are_what_their_words_say() {
        for builtin in BUILTIN.iter().filter(|builtin| builtin.text.contains("[[series]]")) {
            let series =
                planned(builtin.text, &["-c1G", "a"]).unwrap_or_else(|reason| panic!("{}: {reason}", builtin.name));
            let points = |one: &PlannedSeries| match &one.command {
                SweepCommand::Run { request, .. } => request.points.len(),
                SweepCommand::Resume { .. } => 0,
            };
            assert!(!series.is_empty() && series.iter().all(|one| points(one) > 0), "{}", builtin.name);
        }
    }

    #[test]
    fn the_users_options_win_over_those_of_a_series() {
        let series =
            planned(&preset_text("-d60 -b8K -t{threads}", "sweep --vary o=1,2", "-b4K -r"), &["-d3", "a"]).unwrap();
        assert_eq!(series[0].words.join(" "), "sweep --vary o=1,2 -- -d3 -b4K -r -t4 a");
        assert_eq!(series[0].name, "01-one");
    }

    /// The author of a preset does not decide what may be overwritten, or run, on this machine.
    #[test]
    fn a_preset_gives_no_permissions() {
        for (options, command, own, reason) in [
            ("--overwrite", "sweep --vary o=1,2", "", "'--overwrite' cannot be given in a preset"),
            ("", "sweep --vary o=1,2", "--destroy=sda", "'--destroy=sda' cannot be given in a preset"),
            (
                "",
                "sweep --vary overwrite=off,on",
                "",
                "--overwrite, --destroy and --on are given when the preset is run",
            ),
            ("", "sweep --vary destroy=a,b", "", "--overwrite, --destroy and --on"),
            ("", "ab --a --overwrite", "", "--overwrite, --destroy and --on"),
            ("", "sweep --vary on=h1,h2", "", "--overwrite, --destroy and --on"),
            ("", "sweep --vary o=1,2 --before-point=true", "", "a preset may not run a command ('true')"),
            ("", "ab --before-a=true", "", "a preset may not run a command ('true')"),
            ("", "sweep --resume d", "", "--resume"),
            ("", "compare a --with b", "", "none of sweep, repeat, ab"),
            ("", "-b4K", "", "none of sweep, repeat, ab"),
        ] {
            let found = planned(&preset_text(options, command, own), &["-c1M", "/t"]).map(drop);
            assert!(found.as_ref().is_err_and(|found| found.contains(reason)), "{command}: {found:?}");
        }
        let allowed = planned(&preset_text("", "sweep --vary o=1,2", ""), &["--overwrite", "a"]).unwrap();
        let SweepCommand::Run { request, .. } = &allowed[0].command else { panic!("a new one") };
        assert!(request.points.iter().all(|point| point.request.options.overwrite));
    }
}
