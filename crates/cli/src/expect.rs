//! The value of `--expect`: `raid=5,drives=3,drive-write=450M,vm-iops=1920`.

use crate::request::Environment;
use crate::volumes::{self, Part};
use model::expectation::{RaidLevel, StatedLimits};

/// Keys, as help and messages list them.
const NAMES: &str = "raid, drives, drive-read, drive-write, drive-iops, drive-read-iops, drive-write-iops, vm, vm-iops, \
                     vm-bytes, volume, volumes, volume-iops, volume-bytes and hba";
/// More volumes than one machine has.
const VOLUMES_MAX: u64 = 1000;
/// More drives than any array has.
const DRIVES_MAX: u64 = 100_000;
/// Bits on the wire per byte: SAS up to 12 Gbit/s and its predecessors encode 8 bits as 10.
const HBA_BITS_PER_BYTE: u64 = 10;
/// Larger values are typing errors.
const FIGURE_MAX: u64 = 1_000_000_000_000_000;

/// Adds the values in `text` to those given before. The caps of a named volume come first, so that others in `text`
/// replace them.
pub(crate) fn parse(text: &str, before: StatedLimits, environment: &dyn Environment) -> Result<StatedLimits, String> {
    let mut stated = before;
    let parts: Vec<(&str, &str)> = text.split(',').map(pair).collect::<Result<_, _>>()?;
    let last = |key: &str| parts.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let (volume, machine, file) = (last("volume"), last("vm"), last("volumes"));
    if let (None, None, Some(file)) = (volume, machine, file) {
        return Err(format!(
            "volumes={file} needs the name of a volume or VM in that file, as in volumes={file},volume=gp3"
        ));
    }
    if let Some(text) = volume {
        let (count, name) = counted_name(text)?;
        let volume = volumes::find(Part::Volume, name, file, environment)?;
        stated.volumes = Some(count);
        stated.volume_iops = volume.iops;
        stated.volume_bytes_per_s = volume.bytes_per_s();
    }
    if let Some(name) = machine {
        let machine = volumes::find(Part::Machine, name, file, environment)?;
        stated.vm_iops = machine.iops;
        stated.vm_bytes_per_s = machine.bytes_per_s();
    }
    for (name, value) in parts {
        set(&mut stated, name, value)?;
    }
    sensible(&stated)?;
    Ok(stated)
}

/// The number of volumes, and their kind: `4xp30`, `gp3`.
fn counted_name(text: &str) -> Result<(u32, &str), String> {
    let Some((count, name)) = text.split_once('x').filter(|(count, _)| count.bytes().all(|byte| byte.is_ascii_digit()))
    else {
        return Ok((1, text));
    };
    let wrong = || format!("volume={text}: the number of volumes must be 1 to {VOLUMES_MAX}, as in 4xp30");
    let count = count.parse().ok().filter(|count| (1..=VOLUMES_MAX).contains(count)).ok_or_else(wrong)?;
    Ok((count as u32, name))
}

fn pair(part: &str) -> Result<(&str, &str), String> {
    let wrong = || format!("'{part}' is not a key=value pair, as in vm-iops=1920 (keys: {NAMES})");
    part.split_once('=').ok_or_else(wrong)
}

/// Sets one value; those of a named volume or VM are already set.
fn set(stated: &mut StatedLimits, name: &str, value: &str) -> Result<(), String> {
    match name {
        "raid" => stated.raid = Some(raid(value)?),
        "drives" => stated.drives = Some(drives(value)?),
        "drive-read" => stated.drive_read_bytes_per_s = Some(decimal(name, value)?),
        "drive-write" => stated.drive_write_bytes_per_s = Some(decimal(name, value)?),
        "drive-read-iops" => stated.drive_read_iops = Some(decimal(name, value)?),
        "drive-write-iops" => stated.drive_write_iops = Some(decimal(name, value)?),
        "drive-iops" => stated.drive_iops = Some(decimal(name, value)?),
        "vm-iops" => stated.vm_iops = Some(decimal(name, value)?),
        "vm-bytes" => stated.vm_bytes_per_s = Some(decimal(name, value)?),
        "volume-iops" => stated.volume_iops = Some(decimal(name, value)?),
        "volume-bytes" => stated.volume_bytes_per_s = Some(decimal(name, value)?),
        "hba" => stated.hba_bytes_per_s = Some(adapter(value)?),
        "volume" | "volumes" | "vm" => {}
        _ => return Err(format!("unknown key '{name}' (expected: {NAMES})")),
    }
    Ok(())
}

/// Checks combinations of values.
fn sensible(stated: &StatedLimits) -> Result<(), String> {
    let of_drive = [
        stated.drive_read_bytes_per_s,
        stated.drive_write_bytes_per_s,
        stated.drive_iops,
        stated.drive_read_iops,
        stated.drive_write_iops,
    ];
    let tells_drive = of_drive.iter().any(Option::is_some);
    if (stated.raid.is_some() || stated.drives.is_some()) && !tells_drive {
        return Err(
            "raid= and drives= need the rates of one drive: drive-read=, drive-write=, drive-iops=, drive-read-iops= or \
             drive-write-iops="
                .to_owned()
        );
    }
    let Some(level) = stated.raid else { return Ok(()) };
    let (number, drives_min) = (level.number(), level.drives_min());
    match stated.drives {
        None => Err(format!("raid={number} needs the number of drives, as in raid={number},drives={drives_min}")),
        Some(drives) if drives < drives_min => {
            Err(format!("RAID {number} needs at least {drives_min} drives, not {drives}"))
        }
        Some(drives) if level == RaidLevel::Ten && !drives.is_multiple_of(2) => {
            Err(format!("RAID 10 needs an even number of drives, not {drives}"))
        }
        Some(_) => Ok(()),
    }
}

fn raid(value: &str) -> Result<RaidLevel, String> {
    let level = RaidLevel::ALL.into_iter().find(|level| level.number().to_string() == value);
    level.ok_or_else(|| {
        let levels = RaidLevel::ALL.map(|level| level.number().to_string()).join(", ");
        format!("raid={value}: unsupported level (expected: {levels})")
    })
}

fn drives(value: &str) -> Result<u32, String> {
    let count = value.parse().ok().filter(|count| (1..=DRIVES_MAX).contains(count));
    count.map(|count: u64| count as u32).ok_or_else(|| format!("drives={value}: not a number from 1 to {DRIVES_MAX}"))
}

/// A number with at most one decimal suffix letter, as vendors and clouds state their limits.
fn decimal(name: &str, value: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "{name}={value}: not a whole number of at least 1, optionally with a decimal suffix K, M, G or T, as in \
             450M"
        )
    };
    let (digits, scale) = match value.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&value[..at], 1_000),
        Some((at, 'M' | 'm')) => (&value[..at], 1_000_000),
        Some((at, 'G' | 'g')) => (&value[..at], 1_000_000_000),
        Some((at, 'T' | 't')) => (&value[..at], 1_000_000_000_000),
        _ => (value, 1),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse::<u64>().ok()).flatten().and_then(|number| number.checked_mul(scale));
    number.filter(|number| (1..=FIGURE_MAX).contains(number)).ok_or_else(wrong)
}

/// Total bits per second from the rate of a lane and the number of lanes: `12G`, `12Gx4`.
fn adapter(value: &str) -> Result<u64, String> {
    let (rate, lanes) = value.split_once('x').unwrap_or((value, "1"));
    let bits_per_s = decimal("hba", rate)?;
    let lanes: u64 = lanes
        .parse()
        .ok()
        .filter(|lanes| (1..=128).contains(lanes))
        .ok_or_else(|| format!("hba={value}: the number of lanes after x must be 1 to 128, as in 12Gx4"))?;
    Ok((bits_per_s / HBA_BITS_PER_BYTE).saturating_mul(lanes).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A machine with one table of volumes, `mine.toml`.
    struct OneFile;

    impl Environment for OneFile {
        fn milliseconds_since_boot(&self) -> u32 {
            0
        }

        fn file_exists(&self, _: &Path) -> bool {
            false
        }

        fn text_file(&self, path: &Path) -> Result<String, String> {
            let volume = "form = \"diskspd-volumes/1\"\n[[volume]]\nname = \"ours\"\niops = 700\n";
            if path == Path::new("mine.toml") { Ok(volume.to_owned()) } else { Err("no such file".to_owned()) }
        }
    }

    fn parsed(text: &str) -> Result<StatedLimits, String> {
        parse(text, StatedLimits::default(), &OneFile)
    }

    #[test]
    fn a_named_volume_gives_its_caps_and_others_replace_them() {
        let caps = |text: &str| {
            let stated = parsed(text).expect(text);
            (stated.volume_iops, stated.volume_bytes_per_s)
        };
        assert_eq!(caps("volume=gp3"), (Some(3000), Some(131_072_000)));
        assert_eq!(caps("volume-iops=6000,volume=gp3"), (Some(6000), Some(131_072_000)));
        assert_eq!(caps("volumes=mine.toml,volume=ours"), (Some(700), None));
        assert_eq!(caps("volume-bytes=1G"), (None, Some(1_000_000_000)));
        let stated = parsed("vm=Standard_B2ms,volume=4xp30").expect("it is right");
        assert_eq!((stated.vm_iops, stated.vm_bytes_per_s), (Some(1920), Some(22_500_000)));
        assert_eq!((stated.volumes, stated.volume_iops), (Some(4), Some(5000)));
        assert_eq!(parsed("vm=Standard_B2ms,vm-iops=9").map(|stated| stated.vm_iops), Ok(Some(9)));
        let drive = parsed("drives=2,drive-read-iops=300,drive-write-iops=100").expect("it is right");
        assert_eq!((drive.drive_read_iops, drive.drive_write_iops), (Some(300), Some(100)));
    }

    #[test]
    fn figures_are_decimal_and_may_be_said_in_parts() {
        let first = parsed("raid=5,drives=3,drive-write=450M,drive-read=500M,drive-iops=20K").expect("it is right");
        let all = parse("vm-iops=1920,vm-bytes=48M,hba=12Gx4", first, &OneFile).expect("it is right");
        let expected = StatedLimits {
            raid: Some(RaidLevel::Five),
            drives: Some(3),
            drive_read_bytes_per_s: Some(500_000_000),
            drive_write_bytes_per_s: Some(450_000_000),
            drive_iops: Some(20_000),
            vm_iops: Some(1920),
            vm_bytes_per_s: Some(48_000_000),
            // 1200 MB/s each.
            hba_bytes_per_s: Some(4_800_000_000),
            ..StatedLimits::default()
        };
        assert_eq!(all, expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("", "'' is not a key=value pair"),
            ("vm-iops", "as in vm-iops=1920"),
            ("vm-ips=1", "unknown key 'vm-ips' (expected: raid, drives"),
            ("vm-iops=0", "a whole number of at least 1"),
            ("vm-iops=1.5K", "a whole number of at least 1"),
            ("vm-bytes=9999999T", "a whole number of at least 1"),
            ("raid=3,drives=3,drive-iops=1", "raid=3: unsupported level (expected: 0, 1, 5, 6, 10)"),
            ("raid=5,drive-iops=1", "as in raid=5,drives=3"),
            ("raid=5,drives=2,drive-iops=1", "RAID 5 needs at least 3 drives, not 2"),
            ("raid=10,drives=5,drive-iops=1", "an even number of drives"),
            ("raid=5,drives=3", "raid= and drives= need the rates of one drive"),
            ("drives=0,drive-iops=1", "a number from 1 to 100000"),
            ("volume=gp33", "unknown volume 'gp33' (did you mean gp3? expected: gp3, gp3-max, "),
            ("volume=0xp30", "the number of volumes must be 1 to 1000, as in 4xp30"),
            ("volume=9999xp30", "the number of volumes must be 1 to 1000"),
            ("vm=Standard_B2m", "unknown vm 'Standard_B2m' (did you mean Standard_B2ms? expected: Standard_B2ms, "),
            ("volumes=mine.toml,vm=x", "volumes=mine.toml: unknown vm 'x' (the table has none; or give vm-iops="),
            ("volumes=mine.toml", "as in volumes=mine.toml,volume=gp3"),
            ("volumes=mine.toml,volume=gp3", "volumes=mine.toml: unknown volume 'gp3' (expected: ours;"),
            ("volumes=other.toml,volume=gp3", "volumes=other.toml: no such file"),
            ("hba=12Gx0", "the number of lanes"),
            ("hba=x4", "a whole number of at least 1"),
        ] {
            let reason = parsed(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }
}
