//! Presets that are series of runs: each a separate command, one after another, in adjacent directories.

use super::counts::Counts;
use super::request::PresetRequest;
use super::{Preset, Series};
use crate::words::with_all;

/// The arguments of a series as printed, `<target>` last.
pub(super) fn shown(preset: &Preset, series: &Series, counts: Counts) -> String {
    let request = PresetRequest::default();
    let target = "<target>".to_owned();
    let targets = std::slice::from_ref(&target);
    let own = Words { preset, series, request: &request, shorter: &[], options: &[], targets, target: &target, counts };
    own.words(&[]).join(" ")
}

/// Placeholders in the command of a series.
pub(crate) const AGAINST: &str = "{against}";
const TARGET: &str = "{target}";

/// The parts of the arguments of a series.
pub(crate) struct Words<'a> {
    pub(crate) preset: &'a Preset,
    pub(crate) series: &'a Series,
    pub(crate) request: &'a PresetRequest,
    pub(crate) shorter: &'a [String],
    pub(crate) options: &'a [String],
    pub(crate) targets: &'a [String],
    pub(crate) target: &'a String,
    pub(crate) counts: Counts,
}

impl Words<'_> {
    /// All arguments, with additional ones of the series itself.
    pub(crate) fn words(&self, more: &[String]) -> Vec<String> {
        let against = self.request.choices.against.clone().unwrap_or_else(|| "<file on one disk>".to_owned());
        let placed = |word: &str| word.replace(AGAINST, &against).replace(TARGET, self.target);
        let mut words: Vec<String> = self.series.command.split_whitespace().map(placed).collect();
        words.extend(more.iter().cloned());
        words.push("--".to_owned());
        let typed = |options: &str| self.counts.typed(options);
        let layers = [typed(&self.series.options), self.shorter.to_vec(), self.options.to_vec()];
        words.extend(layers.iter().fold(typed(&self.preset.options), |options, layer| with_all(&options, layer)));
        // A command with a target has it before --.
        words.extend(self.targets.iter().filter(|_| !self.series.command.contains(TARGET)).cloned());
        words
    }
}
