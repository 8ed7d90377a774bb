//! Presets: named loads, in TOML files that a user can copy and edit.

mod command_lines;
pub(crate) mod counts;
pub(crate) mod request;
pub(crate) mod series;

pub use command_lines::{CommandLine, command_lines};
pub use counts::{GivenCounts, Machine};
pub use request::{PresetRequest, SeriesChoices, profile, run_request};

use model::latency_band::BandKind;
use model::preset::PresetTable;
use model::printable::clipped;
use model::profile::StreamName;
use model::requirement::Requirement;
use serde::{Deserialize, Deserializer, de};
use settings::job::read_toml;

/// Identifies a file as a preset of this form.
pub(crate) const FORM: &str = "diskspd-preset/1";

/// Upper limit: more runs of a load would take too long.
const REPEATS_MAX: u32 = 100;

/// Longest source of a bound, in bytes.
const SOURCE_BYTES_MAX: usize = 400;

/// A preset as in its file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Always `diskspd-preset/1`.
    form: String,
    /// Title, one line.
    pub title: String,
    /// The application that its loads imitate, and the interpretation of their results.
    #[serde(default)]
    pub about: String,
    /// Its documentation: addresses of web pages.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Names of its targets: the first replaces those that are not given. Empty = any number of targets.
    #[serde(default)]
    pub(crate) targets: Vec<String>,
    /// Maximum of `{threads}` without `--maxdop`.
    #[serde(default)]
    pub(crate) threads_max: Option<u32>,
    /// Presentation of the loads.
    #[serde(default)]
    pub table: PresetTable,
    /// True if mean latencies are judged in the bands of SQL Server's guides: `bands = "data"`.
    #[serde(default)]
    pub latency_bands: bool,
    /// The latency bands of loads that name none.
    #[serde(default)]
    bands: Option<BandKind>,
    /// True if a load above its last band fails.
    #[serde(default)]
    pub(crate) judge: bool,
    /// Requirements that the targets are checked for before the loads: `sql`.
    #[serde(default)]
    pub check: Option<Checked>,
    /// Number of runs of each load, one after another.
    #[serde(default = "one")]
    pub(crate) repeats: u32,
    /// Bounds that every load must meet.
    #[serde(default, rename = "require")]
    pub(crate) requirements: Vec<Required>,
    /// Options common to all loads, as on a command line.
    #[serde(default)]
    pub(crate) options: String,
    /// The loads, run one after the other.
    #[serde(default, rename = "load")]
    pub loads: Vec<Load>,
    /// Alternatively series of runs, one after the other.
    #[serde(default)]
    pub series: Vec<Series>,
}

/// A series of runs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The name of its directory, after its number.
    pub name: String,
    /// Its subject, in a few words.
    pub title: String,
    /// `sweep`, `repeat` or `ab` with its options; `{target}` is the first target, `{against}` the file of `--against`,
    /// without which the series is left out.
    pub(crate) command: String,
    /// Options of its load, which override the common ones.
    #[serde(default)]
    pub(crate) options: String,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Its name.
    pub name: String,
    /// Publication of its pattern, in one line.
    #[serde(default, deserialize_with = "basis")]
    pub(crate) source: String,
    /// The kind of its latencies that is judged: `data` or `log`.
    #[serde(default)]
    bands: Option<BandKind>,
    /// The number of its target in the preset's `targets`, from 1.
    #[serde(default = "first")]
    pub(crate) target: usize,
    /// Options, which override the common ones.
    #[serde(default)]
    pub(crate) options: String,
    /// Parts that run at the same time over the same target; none = the load is of one piece.
    #[serde(default)]
    pub(crate) mix: Vec<Part>,
    /// Streams that run at the same time, each with separate results; none = the load is of one piece.
    #[serde(default)]
    pub(crate) streams: Vec<StreamPart>,
}

/// The check before the loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// `diskspd check --for sql`.
    Sql,
}

/// A bound that every load must meet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Required {
    /// The condition, as for `--require`.
    #[serde(deserialize_with = "condition")]
    condition: Requirement,
    /// The source of the bound in one line: the publisher and the publication, or that it is the author's choice.
    #[serde(deserialize_with = "basis")]
    source: String,
}

impl Required {
    /// The requirement, with its source.
    pub(crate) fn requirement(&self) -> Requirement {
        Requirement { basis: self.source.clone(), ..self.condition.clone() }
    }
}

fn condition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Requirement, D::Error> {
    crate::requirement::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

fn basis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?.trim().to_owned();
    let is_line = !text.is_empty() && text.len() <= SOURCE_BYTES_MAX && !text.contains(char::is_control);
    let expected = || format!("source must be one line of 1 to {SOURCE_BYTES_MAX} bytes: who states it, and where");
    is_line.then_some(text).ok_or_else(expected).map_err(de::Error::custom)
}

/// A part of a mixed load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// Share of the I/Os relative to the other parts' weights, if threads choose (-F with -O).
    #[serde(default = "one")]
    pub(crate) weight: u32,
    /// Options of the target, which override those of the load.
    pub(crate) options: String,
}

/// A stream of a load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamPart {
    /// Its name.
    pub(crate) name: StreamName,
    /// Options of its targets, which override those of the load.
    pub(crate) options: String,
}

fn one() -> u32 {
    1
}

fn first() -> usize {
    1
}

impl Preset {
    /// Reads a preset; the error has its position.
    pub fn read(text: &str) -> Result<Self, String> {
        let preset: Self = read_toml(text)?;
        if preset.form != FORM {
            return Err(format!("unsupported format '{}' (expected: {FORM})", clipped(&preset.form, 60)));
        }
        if preset.loads.is_empty() == preset.series.is_empty() {
            return Err("a preset defines either [[load]] or [[series]]".to_owned());
        }
        let is_name =
            |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if let Some(series) = preset.series.iter().find(|series| !is_name(&series.name)) {
            return Err(format!(
                "series '{}': the name must be letters, digits and hyphens",
                clipped(&series.name, 60)
            ));
        }
        if !(1..=REPEATS_MAX).contains(&preset.repeats) {
            return Err(format!("repeats must be 1 to {REPEATS_MAX}, not {}", preset.repeats));
        }
        if let Some(load) = preset.loads.iter().find(|load| load.mix.iter().any(|part| part.weight == 0)) {
            return Err(format!("load '{}': the weight must be above 0", load.name));
        }
        if let Some(load) = preset.loads.iter().find(|load| !load.mix.is_empty() && !load.streams.is_empty()) {
            return Err(format!("load '{}': mix and streams cannot be used together", load.name));
        }
        let is_target = |load: &&Load| load.target == 1 || (1..=preset.targets.len()).contains(&load.target);
        if let Some(load) = preset.loads.iter().find(|load| !is_target(load)) {
            return Err(format!("load '{}': target {} is not in the preset's targets", load.name, load.target));
        }
        Ok(preset)
    }

    /// The bands in which a load is judged.
    pub(crate) fn bands(&self, load: &Load) -> Option<BandKind> {
        load.bands.or(self.bands).or_else(|| self.latency_bands.then_some(BandKind::Data))
    }
}

/// A preset's name and its file.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its TOML file.
    pub text: &'static str,
}

macro_rules! builtin {
    ($($name:literal)*) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }),*]
    };
}

/// All built-in presets, in the order of `diskspd preset list`.
pub const BUILTIN: &[Builtin] = builtin![
    "oltp" "olap" "data-warehouse" "tempdb"
    "sql" "sql-patterns" "sql-normal" "sql-log" "sql-checkpoint" "sql-lazy-writer" "sql-bulk-insert" "sql-read-ahead" "sql-rebuild-index"
    "sql-checkdb" "sql-backup" "sql-restore" "sqliosim"
    "postgresql" "rocksdb" "kafka" "ai-data-loader" "checkpoint-writer"
    "power-cut" "wal"
    "etcd" "k8s-node" "postgres-commit"
    "fleet-peak" "fleet-general" "fleet-vdi" "fleet-sql"
    "desktop" "drive-report" "volume-baseline" "file-copy"
];

impl Builtin {
    /// The preset with this name.
    pub fn find(name: &str) -> Option<Self> {
        BUILTIN.iter().copied().find(|builtin| builtin.name == name)
    }

    /// Its parsed content; a test reads all of them.
    pub fn preset(self) -> Result<Preset, String> {
        Preset::read(self.text)
    }
}
