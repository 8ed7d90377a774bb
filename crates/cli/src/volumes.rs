//! Caps of cloud volumes by name, in a TOML file that a user can copy and edit.

use crate::request::Environment;
use model::printable::clipped;
use model::suggest::hint;
use serde::Deserialize;
use settings::job::read_toml;
use std::path::Path;

/// The table that the program knows.
pub const BUILTIN: &str = include_str!("../volumes.toml");
/// Marks a file as a table of this form.
const FORM: &str = "diskspd-volumes/1";
/// Larger figures are slips.
const FIGURE_MAX: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
const MB: u64 = 1_000_000;

/// A file of volumes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    form: String,
    #[serde(rename = "volume")]
    volumes: Vec<Volume>,
}

/// A kind of volume and its caps.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// As in `volume=NAME`.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub title: String,
    /// I/Os per second.
    #[serde(default)]
    pub iops: Option<u64>,
    /// Throughput per second, in units of 2^20 bytes.
    #[serde(default)]
    mib_per_s: Option<u64>,
    /// The same in units of 10^6 bytes.
    #[serde(default)]
    mb_per_s: Option<u64>,
    /// Where the figures are from.
    #[serde(default)]
    pub source: String,
    /// Date of the source.
    #[serde(default)]
    pub as_of: String,
}

impl Volume {
    /// Throughput, bytes per second.
    pub fn bytes_per_s(&self) -> Option<u64> {
        self.mib_per_s.map(|mib| mib * MIB).or_else(|| self.mb_per_s.map(|mb| mb * MB))
    }

    /// The throughput in the unit of its source.
    pub fn throughput_as_stated(&self) -> Option<String> {
        let mib = self.mib_per_s.map(|mib| format!("{mib} MiB/s"));
        mib.or_else(|| self.mb_per_s.map(|mb| format!("{mb} MB/s")))
    }

    /// What is wrong with it.
    fn fault(&self) -> Option<&'static str> {
        let figures = [self.iops, self.mib_per_s, self.mb_per_s];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(is_name) {
            Some("a name has letters, digits, '-', '.' and '_' only")
        } else if figures.iter().all(Option::is_none) {
            Some("iops, mib_per_s or mb_per_s is missing")
        } else if self.mib_per_s.and(self.mb_per_s).is_some() {
            Some("give mib_per_s or mb_per_s, not both")
        } else if figures.into_iter().flatten().any(|figure| !(1..=FIGURE_MAX).contains(&figure)) {
            Some("figures are 1 to 1000000000")
        } else {
            None
        }
    }
}

/// Reads a table; what is wrong with it, with its place.
///
/// # Errors
///
/// If it is no table of volumes, or one of them has no caps, or two have the same name.
pub fn read(text: &str) -> Result<Vec<Volume>, String> {
    let table: Table = read_toml(text)?;
    if table.form != FORM {
        return Err(format!("unsupported format '{}' (expected: {FORM})", clipped(&table.form, 60)));
    }
    for (index, volume) in table.volumes.iter().enumerate() {
        if let Some(fault) = volume.fault() {
            return Err(format!("volume '{}': {fault}", clipped(&volume.name, 60)));
        }
        if table.volumes[..index].iter().any(|before| before.name == volume.name) {
            return Err(format!("volume '{}' is there twice", volume.name));
        }
    }
    Ok(table.volumes)
}

/// The volume of this name in `file`, or in the program's own table.
pub(crate) fn find(name: &str, file: Option<&str>, environment: &dyn Environment) -> Result<Volume, String> {
    let volumes = match file {
        None => read(BUILTIN),
        Some(path) => {
            let text = environment.text_file(Path::new(path)).map_err(|reason| format!("volumes={path}: {reason}"))?;
            read(&text)
        }
    };
    let table = file.map(|path| format!("volumes={path}: ")).unwrap_or_default();
    let volumes = volumes.map_err(|reason| format!("{table}{reason}"))?;
    volumes.iter().find(|volume| volume.name == name).cloned().ok_or_else(|| {
        let names: Vec<&str> = volumes.iter().map(|volume| volume.name.as_str()).collect();
        let meant = hint(name, names.iter().copied());
        format!(
            "{table}unknown volume '{name}' ({meant}expected: {}; or give volume-iops= and volume-bytes=)",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_volume_of_the_table_has_caps_a_source_and_its_date() {
        let volumes = read(BUILTIN).expect("the table is right");
        assert!(volumes.len() > 20, "{}", volumes.len());
        for volume in &volumes {
            let name = &volume.name;
            assert!(volume.iops.is_some() && volume.bytes_per_s().is_some(), "{name} has both caps");
            assert!(volume.source.starts_with("https://") && !volume.title.is_empty(), "{name}");
            let year = volume.as_of.get(..4).and_then(|year| year.parse::<u32>().ok());
            assert!(year.is_some_and(|year| year > 2020), "{name}: {}", volume.as_of);
        }
        let gp3 = volumes.iter().find(|volume| volume.name == "gp3").expect("gp3");
        assert_eq!((gp3.iops, gp3.bytes_per_s()), (Some(3000), Some(131_072_000)));
        let p30 = volumes.iter().find(|volume| volume.name == "p30").expect("p30");
        assert_eq!((p30.iops, p30.bytes_per_s()), (Some(5000), Some(200_000_000)));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said_with_the_volume() {
        let table = |volumes: &str| format!("form = \"{FORM}\"\n{volumes}");
        for (text, expected) in [
            ("form = \"x\"\nvolume = []".to_owned(), "unsupported format 'x' (expected: diskspd-volumes/1)"),
            (table(""), "missing field `volume`"),
            (table("[[volume]]\nname = \"a\""), "volume 'a': iops, mib_per_s or mb_per_s is missing"),
            (table("[[volume]]\nname = \"a,b\"\niops = 1"), "volume 'a,b': a name has letters"),
            (table("[[volume]]\nname = \"a\"\niops = 0"), "volume 'a': figures are 1 to"),
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
