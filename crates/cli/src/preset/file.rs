//! The form of a preset file.

use model::preset::PresetTable;
use serde::Deserialize;

/// Marks a file as a preset of this form.
const FORM: &str = "diskspd-preset/1";

/// A preset as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Always `diskspd-preset/1`.
    form: String,
    /// Title, one line.
    pub title: String,
    /// What its loads imitate, and how to read their figures.
    #[serde(default)]
    pub about: String,
    /// The most threads that `{threads}` becomes without `--maxdop`.
    #[serde(default)]
    pub(super) threads_max: Option<u32>,
    /// How the loads are shown.
    #[serde(default)]
    pub table: PresetTable,
    /// True if mean latencies are judged in the bands of SQL Server's guides.
    #[serde(default)]
    pub latency_bands: bool,
    /// Options that all loads share, as on a command line.
    #[serde(default)]
    pub(super) options: String,
    /// The loads, run one after the other.
    #[serde(rename = "load")]
    pub loads: Vec<Load>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Its name.
    pub name: String,
    /// Options, which win over those that all share.
    #[serde(default)]
    pub(super) options: String,
    /// Parts that run at the same time over the same target; none = the load is of one piece.
    #[serde(default)]
    pub(super) mix: Vec<Part>,
}

/// A part of a mixed load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Share of the I/Os beside the other parts' weights, where threads choose (-F with -O).
    #[serde(default = "one")]
    pub(super) weight: u32,
    /// Options of the target, which win over those of the load.
    pub(super) options: String,
}

fn one() -> u32 {
    1
}

impl Preset {
    /// Reads a preset; what is wrong with it, with its place.
    pub fn read(text: &str) -> Result<Self, String> {
        let preset: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if preset.form != FORM {
            return Err(format!("unsupported format '{}' (expected: {FORM})", preset.form));
        }
        if preset.loads.is_empty() {
            return Err("no [[load]] in it".to_owned());
        }
        if let Some(load) = preset.loads.iter().find(|load| load.mix.iter().any(|part| part.weight == 0)) {
            return Err(format!("load '{}': weight must be above 0", load.name));
        }
        Ok(preset)
    }
}
