//! The loads and series of a preset as command lines.

use super::counts::{self, Counts, Machine};
use super::request::{PresetRequest, User};
use super::{Load, Preset, Series, series};

/// A load as a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The name of the load.
    pub load: String,
    /// Publication of its pattern; empty if the preset has none.
    pub source: String,
    /// The arguments, `<target>` last.
    pub words: String,
}

/// The loads of a preset as command lines.
///
/// # Errors
///
/// The error in the user's arguments.
pub fn command_lines(preset: &Preset, request: &PresetRequest, machine: Machine) -> Result<Vec<CommandLine>, String> {
    counts::check(preset, &request.name, request.counts)?;
    let counts = Counts::new(preset, request.counts, machine);
    let user = User { preset, options: &[], targets: &[], counts };
    let line = |load: &Load| {
        let parts = user.parts(load).into_iter().map(|(option, part)| format!("{option} '{part}'"));
        let bounds = preset.requirements.iter().map(|of| format!("--require '{}'", of.requirement()));
        let target = (load.targets() == 0).then(|| user.target(load.target));
        let words: Vec<String> = user.options(load).into_iter().chain(parts).chain(bounds).chain(target).collect();
        CommandLine { load: load.name.clone(), source: load.source.clone(), words: words.join(" ") }
    };
    let of_series = |series: &Series| {
        let words = series::shown(preset, series, counts);
        CommandLine { load: series.title.clone(), source: String::new(), words }
    };
    Ok(preset.loads.iter().map(line).chain(preset.series.iter().map(of_series)).collect())
}
