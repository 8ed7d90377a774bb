//! Presets: named loads that belong together, and how they are shown and judged.

use serde::{Deserialize, Serialize};

/// Which preset a run was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PresetRun {
    /// Its name, or the path of its file.
    pub name: String,
    /// What it stands for.
    pub title: String,
    /// The name of each timespan's load.
    pub loads: Vec<String>,
    /// How the loads are shown.
    pub table: PresetTable,
    /// True if mean latencies are judged in the bands of SQL Server's guides.
    pub has_latency_bands: bool,
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
