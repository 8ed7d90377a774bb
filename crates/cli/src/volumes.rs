//! Caps of named cloud volumes and of virtual machines, in a TOML file that a user can copy and edit.

use crate::request::Environment;
use model::printable::clipped;
use model::suggest::hint;
use serde::{Deserialize, Deserializer, de};
use settings::job::read_toml;
use std::fmt;
use std::path::Path;

/// The built-in table.
pub const BUILTIN: &str = include_str!("../volumes.toml");
/// Identifies a file as a table of this form.
const FORM: &str = "diskspd-volumes/1";
/// Larger values are typing errors.
const FIGURE_MAX: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
const MB: u64 = 1_000_000;

/// A file of volumes and VM sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    form: String,
    /// Kinds of volumes.
    #[serde(default, rename = "volume")]
    pub volumes: Vec<Caps>,
    /// Sizes of virtual machines.
    #[serde(default, rename = "vm")]
    pub machines: Vec<Caps>,
}

/// The part of the storage with caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Volume,
    Machine,
}

impl Part {
    const fn noun(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::Machine => "vm",
        }
    }

    fn entries(self, table: &Table) -> &[Caps] {
        match self {
            Self::Volume => &table.volumes,
            Self::Machine => &table.machines,
        }
    }
}

/// A kind of volume, or a size of a virtual machine, and its caps.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Name for `volume=NAME` or `vm=NAME`.
    pub name: String,
    /// The vendor's name for it.
    #[serde(default)]
    pub title: String,
    /// I/Os per second.
    #[serde(default)]
    pub iops: Option<u64>,
    /// Throughput per second, in units of 2^20 bytes.
    #[serde(default)]
    mib_per_s: Option<Tenths>,
    /// The same in units of 10^6 bytes.
    #[serde(default)]
    mb_per_s: Option<Tenths>,
    /// Source of the values.
    #[serde(default)]
    pub source: String,
    /// Date of the source.
    #[serde(default)]
    pub as_of: String,
}

/// A number with at most one decimal, in tenths: vendors state 22.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tenths(u64);

impl<'de> Deserialize<'de> for Tenths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tenths = f64::deserialize(deserializer)? * 10.0;
        let is_one = (1.0..=FIGURE_MAX as f64 * 10.0).contains(&tenths) && (tenths - tenths.round()).abs() < 1e-6;
        is_one
            .then_some(Self(tenths.round() as u64))
            .ok_or_else(|| de::Error::custom(format!("figures are 0.1 to {FIGURE_MAX}, with at most one decimal")))
    }
}

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 10, self.0 % 10) {
            (whole, 0) => write!(f, "{whole}"),
            (whole, tenth) => write!(f, "{whole}.{tenth}"),
        }
    }
}

impl Caps {
    /// Throughput, bytes per second.
    pub fn bytes_per_s(&self) -> Option<u64> {
        self.mib_per_s.map(|mib| mib.0 * MIB / 10).or_else(|| self.mb_per_s.map(|mb| mb.0 * MB / 10))
    }

    /// The throughput in the unit of its source.
    pub fn throughput_as_stated(&self) -> Option<String> {
        let mib = self.mib_per_s.map(|mib| format!("{mib} MiB/s"));
        mib.or_else(|| self.mb_per_s.map(|mb| format!("{mb} MB/s")))
    }

    /// The error in it, if any.
    fn fault(&self) -> Option<&'static str> {
        let has_throughput = self.mib_per_s.or(self.mb_per_s).is_some();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(is_name) {
            Some("a name has letters, digits, '-', '.' and '_' only")
        } else if self.iops.is_none() && !has_throughput {
            Some("iops, mib_per_s or mb_per_s is missing")
        } else if self.mib_per_s.and(self.mb_per_s).is_some() {
            Some("give mib_per_s or mb_per_s, not both")
        } else if self.iops.is_some_and(|iops| !(1..=FIGURE_MAX).contains(&iops)) {
            Some("iops is 1 to 1000000000")
        } else {
            None
        }
    }
}

/// Reads a table; the error has its position.
///
/// # Errors
///
/// If it is not a table of volumes and VM sizes, or one of them has no caps, or two have the same name.
pub fn read(text: &str) -> Result<Table, String> {
    let table: Table = read_toml(text)?;
    if table.form != FORM {
        return Err(format!("unsupported format '{}' (expected: {FORM})", clipped(&table.form, 60)));
    }
    for part in [Part::Volume, Part::Machine] {
        let (noun, all) = (part.noun(), part.entries(&table));
        for (index, caps) in all.iter().enumerate() {
            if let Some(fault) = caps.fault() {
                return Err(format!("{noun} '{}': {fault}", clipped(&caps.name, 60)));
            }
            if all[..index].iter().any(|before| before.name == caps.name) {
                return Err(format!("{noun} '{}' is there twice", caps.name));
            }
        }
    }
    Ok(table)
}

/// The caps of this name in `file`, or in the program's own table.
pub(crate) fn find(part: Part, name: &str, file: Option<&str>, environment: &dyn Environment) -> Result<Caps, String> {
    let table = match file {
        None => read(BUILTIN),
        Some(path) => {
            let text = environment.text_file(Path::new(path)).map_err(|reason| format!("volumes={path}: {reason}"))?;
            read(&text)
        }
    };
    let place = file.map(|path| format!("volumes={path}: ")).unwrap_or_default();
    let table = table.map_err(|reason| format!("{place}{reason}"))?;
    let (noun, all) = (part.noun(), part.entries(&table));
    all.iter().find(|caps| caps.name == name).cloned().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|caps| caps.name.as_str()).collect();
        let meant = hint(name, names.iter().copied());
        let known =
            if names.is_empty() { "the table has none".to_owned() } else { format!("expected: {}", names.join(", ")) };
        format!("{place}unknown {noun} '{name}' ({meant}{known}; or give {noun}-iops= and {noun}-bytes=)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_the_table_has_caps_a_source_and_its_date() {
        let Table { volumes, machines, .. } = read(BUILTIN).expect("the table is right");
        assert!(volumes.len() > 20 && machines.len() == 10, "{} {}", volumes.len(), machines.len());
        for volume in volumes.iter().chain(&machines) {
            let name = &volume.name;
            assert!(volume.iops.is_some() && volume.bytes_per_s().is_some(), "{name} has both caps");
            assert!(volume.source.starts_with("https://") && !volume.title.is_empty(), "{name}");
            let year = volume.as_of.get(..4).and_then(|year| year.parse::<u32>().ok());
            assert!(year.is_some_and(|year| year >= 2020), "{name}: {}", volume.as_of);
        }
        let gp3 = volumes.iter().find(|volume| volume.name == "gp3").expect("gp3");
        assert_eq!((gp3.iops, gp3.bytes_per_s()), (Some(3000), Some(131_072_000)));
        let p30 = volumes.iter().find(|volume| volume.name == "p30").expect("p30");
        assert_eq!((p30.iops, p30.bytes_per_s()), (Some(5000), Some(200_000_000)));
        let b2ms = machines.iter().find(|machine| machine.name == "Standard_B2ms").expect("Standard_B2ms");
        assert_eq!((b2ms.iops, b2ms.bytes_per_s()), (Some(1920), Some(22_500_000)));
        assert_eq!(b2ms.throughput_as_stated().as_deref(), Some("22.5 MB/s"));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said_with_the_volume() {
        let table = |volumes: &str| format!("form = \"{FORM}\"\n{volumes}");
        for (text, expected) in [
            ("form = \"x\"\nvolume = []".to_owned(), "unsupported format 'x' (expected: diskspd-volumes/1)"),
            (table("[[vm]]\nname = \"a\""), "vm 'a': iops, mib_per_s or mb_per_s is missing"),
            (
                table("[[volume]]\nname = \"a\"\nmb_per_s = 2.25"),
                "figures are 0.1 to 1000000000, with at most one decimal",
            ),
            (table("[[volume]]\nname = \"a\"\nmib_per_s = -1"), "figures are 0.1 to"),
            (table("[[volume]]\nname = \"a\""), "volume 'a': iops, mib_per_s or mb_per_s is missing"),
            (table("[[volume]]\nname = \"a,b\"\niops = 1"), "volume 'a,b': a name has letters"),
            (table("[[volume]]\nname = \"a\"\niops = 0"), "volume 'a': iops is 1 to"),
            (table("[[volume]]\nname = \"a\"\nmb_per_s = 1\nmib_per_s = 1"), "not both"),
            (table("[[volume]]\nname = \"a\"\niop = 1"), "unknown field `iop`"),
            (
                table("[[volume]]\nname = \"a\"\niops = 1\n[[volume]]\nname = \"a\"\niops = 2"),
                "volume 'a' is there twice",
            ),
        ] {
            let reason = read(&text).expect_err(&text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }
}
