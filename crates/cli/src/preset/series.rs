//! Presets that are series of runs: each a command of its own, one after another, in directories beside each other.

use super::request::{PresetRequest, only_loads, threads, typed_words};
use super::{Preset, Series};
use crate::Command;
use crate::request::{Environment, RunOptions};
use crate::subcommand::Subcommand;
use crate::subcommand::sweep::SweepCommand;
use crate::words::{run_of, split, with_all};
use model::sweep::SeriesKind;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Choices of `preset run` beside the options of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesChoices {
    /// `--dir`
    pub folder: Option<PathBuf>,
    /// `--resume`: go on in `--dir`.
    pub resume: bool,
    /// `--plan`
    pub plan_only: bool,
    /// `--quick`
    pub is_quick: bool,
    /// `--against`
    pub against: Option<String>,
    /// `--ssds`, `--copies`
    pub devices: Vec<String>,
}

/// A series of a preset, ready to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedSeries {
    /// `02-depth`: the name of its directory.
    pub name: String,
    /// Its subject, without a full stop.
    pub title: String,
    pub kind: SeriesKind,
    /// The arguments, with the name of the subcommand.
    pub words: Vec<String>,
    pub command: SweepCommand,
}

/// The series of a preset with the user's options and targets, in the order in which they are run. `shorter` are options that
/// win over those of the preset, and lose against the user's.
///
/// # Errors
///
/// The error in the user's arguments or in the preset.
pub fn planned_series(
    preset: &Preset,
    request: &PresetRequest,
    cpus: u32,
    shorter: &[String],
    environment: &dyn Environment,
) -> Result<Vec<PlannedSeries>, String> {
    let user = run_of(&request.words, environment)?.options;
    only_loads(&preset.options)?;
    let (options, targets) = split(&request.words);
    let target = targets.first().ok_or_else(|| format!("preset '{}': no target given", request.name))?;
    let against = request.choices.against.as_ref();
    let is_wanted = |series: &&Series| against.is_some() || !series.command.contains(AGAINST);
    let wanted = preset.series.iter().filter(is_wanted).enumerate();
    let planned = wanted.map(|(index, series)| {
        let own = Words { preset, series, request, shorter, options, targets, target, cpus };
        let planned = own.planned(index + 1, environment);
        let checked = planned.and_then(|planned| check_permissions(&planned, &user).map(|()| planned));
        checked.map_err(|reason| format!("series '{}': {reason}", series.name))
    });
    planned.collect()
}

/// The arguments of a series as they are shown, `<target>` last.
pub(super) fn shown(preset: &Preset, series: &Series, cpus: u32) -> String {
    let request = PresetRequest::default();
    let target = "<target>".to_owned();
    let targets = std::slice::from_ref(&target);
    let own = Words { preset, series, request: &request, shorter: &[], options: &[], targets, target: &target, cpus };
    own.words(&[]).join(" ")
}

/// Placeholders in the command of a series.
const AGAINST: &str = "{against}";
const TARGET: &str = "{target}";

/// The parts of the arguments of a series.
struct Words<'a> {
    preset: &'a Preset,
    series: &'a Series,
    request: &'a PresetRequest,
    shorter: &'a [String],
    options: &'a [String],
    targets: &'a [String],
    target: &'a String,
    cpus: u32,
}

impl Words<'_> {
    /// All arguments, with some more of the series' own.
    fn words(&self, more: &[String]) -> Vec<String> {
        let against = self.request.choices.against.clone().unwrap_or_else(|| "<file on one disk>".to_owned());
        let placed = |word: &str| word.replace(AGAINST, &against).replace(TARGET, self.target);
        let mut words: Vec<String> = self.series.command.split_whitespace().map(placed).collect();
        words.extend(more.iter().cloned());
        words.push("--".to_owned());
        let threads = threads(self.preset, self.request, self.cpus);
        let typed = |options: &str| typed_words(options, threads);
        let layers = [typed(&self.series.options), self.shorter.to_vec(), self.options.to_vec()];
        words.extend(layers.iter().fold(typed(&self.preset.options), |options, layer| with_all(&options, layer)));
        // A command with a target has it before --.
        words.extend(self.targets.iter().filter(|_| !self.series.command.contains(TARGET)).cloned());
        words
    }

    fn planned(&self, number: usize, environment: &dyn Environment) -> Result<PlannedSeries, String> {
        only_loads(&self.series.options)?;
        let name = format!("{number:02}-{}", self.series.name);
        let choices = &self.request.choices;
        let mut more = Vec::new();
        if self.series.command.starts_with("sweep ") {
            more.extend(choices.devices.iter().cloned());
        }
        let words = self.words(&more);
        let folder = choices.folder.as_deref().unwrap_or(Path::new(&self.request.name)).join(&name);
        let parsed: Vec<OsString> = words.iter().map(OsString::from).collect();
        let (kind, command) = match crate::parse(&parsed, environment) {
            Ok(Command::Subcommand(Subcommand::Sweep(command))) => (SeriesKind::Sweep, command),
            Ok(Command::Subcommand(Subcommand::Repeat(command))) => (SeriesKind::Repeat, command),
            Ok(Command::Subcommand(Subcommand::Ab(command))) => (SeriesKind::Ab, command),
            Ok(_) => return Err(format!("'{}' is none of sweep, repeat, ab", self.series.command)),
            Err(failure) => return Err(failure.messages.join("; ").trim_start_matches("ERROR: ").to_owned()),
        };
        let SweepCommand::Run { request, .. } = command else {
            return Err("a series of a preset starts a series".to_owned());
        };
        let command =
            SweepCommand::Run { request, folder: Some(folder), replace_output: false, plan_only: choices.plan_only };
        let title = self.series.title.clone();
        Ok(PlannedSeries { name, title, kind, words, command })
    }
}

/// Refuses what only the user may allow: presets are files that others have written.
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
        planned_series(&Preset::read(text)?, &request, 4, &[], &FakeEnv)
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

    /// Whoever wrote a preset does not decide what may be overwritten, or run, on this machine.
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
