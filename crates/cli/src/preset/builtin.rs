//! Built-in presets.

use super::file::Preset;
use settings::suggest::near;

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
        &[$(Builtin { name: $name, text: include_str!(concat!("../../presets/", $name, ".toml")) }),*]
    };
}

/// All, in the order of `diskspd preset list`.
pub const BUILTIN: &[Builtin] = builtin![
    "oltp" "olap" "data-warehouse" "tempdb"
    "sql-normal" "sql-log" "sql-checkpoint" "sql-lazy-writer" "sql-bulk-insert" "sql-read-ahead" "sql-rebuild-index"
    "sql-checkdb" "sql-backup" "sql-restore"
    "fleet-peak" "fleet-general" "fleet-vdi" "fleet-sql"
    "desktop"
];

impl Builtin {
    /// The one with this name.
    pub fn find(name: &str) -> Option<Self> {
        BUILTIN.iter().copied().find(|builtin| builtin.name == name)
    }

    /// Names that are nearly this one.
    pub fn near(name: &str) -> Vec<&'static str> {
        near(name, BUILTIN.iter().map(|builtin| builtin.name))
    }

    /// Its content; a test reads all of them.
    pub fn preset(self) -> Result<Preset, String> {
        Preset::read(self.text)
    }
}
