//! Presets: named loads that belong together, and how they are shown and judged.

use crate::finding::Severity;
use crate::latency_band::BandKind;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// Which preset a run was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PresetRun {
    /// Its name, or the path of its file.
    pub name: String,
    /// Its title: the workload in a few words.
    pub title: String,
    /// The name of each timespan's load.
    pub loads: Vec<String>,
    /// How the loads are shown.
    pub table: PresetTable,
    /// True if latencies are judged in bands.
    pub has_latency_bands: bool,
    /// The bands of each timespan; empty in older documents, where mean latencies of all loads are judged if any is.
    #[serde(default)]
    pub bands: Vec<Option<BandKind>>,
    /// True if a load above its last band fails.
    #[serde(default)]
    pub is_judged: bool,
    /// True if it states bounds that decide whether the storage is accepted.
    #[serde(default)]
    pub is_acceptance: bool,
    /// How often each load is run, one run after another; 0 in older documents: once.
    #[serde(default)]
    pub repeats: u32,
}

impl PresetRun {
    /// The bands of a timespan, counted from 0.
    pub fn band(&self, index: usize) -> Option<BandKind> {
        let of_all = (self.has_latency_bands && self.bands.is_empty()).then_some(BandKind::Data);
        self.bands.get(index).copied().flatten().or(of_all)
    }

    /// True if the verdict of a load makes its PASS doubtful. Acceptances have `UNKNOWN` for it.
    pub fn is_unproven(&self, verdict: Option<&Verdict>) -> bool {
        !self.is_acceptance && verdict.and_then(Verdict::severity) >= Some(Severity::Warn)
    }

    /// Progress when a timespan, counted from 1, begins: `3 of 8, run 2 of 5: RND4K Q32T1`; `None` if there is only
    /// one.
    pub fn progress(&self, number: usize) -> Option<String> {
        let name = self.loads.get(number.checked_sub(1)?).filter(|_| self.loads.len() > 1)?;
        let repeats = self.repeats.max(1) as usize;
        let (load, loads) = ((number - 1) / repeats + 1, self.loads.len() / repeats);
        let run =
            if repeats > 1 { format!(", run {} of {repeats}", (number - 1) % repeats + 1) } else { String::new() };
        Some(format!("{load} of {loads}{run}: {name}"))
    }
}

/// The table of a preset's loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PresetTable {
    /// A row for each load, with all headline figures.
    #[default]
    Loads,
    /// A row for each name, with reads and writes side by side in MB (10^6 bytes) per second, as in desktop benchmarks.
    Desktop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_counts_loads_and_their_runs() {
        let preset = |loads: &[&str], repeats| PresetRun {
            loads: loads.iter().map(|&name| name.to_owned()).collect(),
            repeats,
            ..PresetRun::default()
        };
        let twice = preset(&["a", "a", "b", "b"], 2);
        assert_eq!(twice.progress(1).as_deref(), Some("1 of 2, run 1 of 2: a"));
        assert_eq!(twice.progress(4).as_deref(), Some("2 of 2, run 2 of 2: b"));
        assert_eq!(preset(&["a", "b"], 0).progress(2).as_deref(), Some("2 of 2: b"));
        assert_eq!((preset(&["a"], 1).progress(1), twice.progress(0), twice.progress(5)), (None, None, None));
    }

    #[test]
    fn an_older_document_has_the_bands_of_data_files() {
        let old = PresetRun { has_latency_bands: true, ..PresetRun::default() };
        assert_eq!(old.band(3), Some(BandKind::Data));
        let new = PresetRun { bands: vec![None, Some(BandKind::Log)], ..old };
        assert_eq!((new.band(0), new.band(1)), (None, Some(BandKind::Log)));
        assert_eq!(PresetRun::default().band(0), None);
    }
}
