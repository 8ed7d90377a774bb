//! Limits that our cgroups set on CPU time, memory and I/O.

use crate::block::place;
use crate::cgroups::{Group, Hierarchy, Version, hierarchies};
use crate::memory::LIMIT_BYTES_MAX;
use crate::mounts::Mount;
use crate::root::Root;
use crate::syntax::device_number;
use model::block_device::DeviceNumber;
use model::environment::{CgroupDevice, CgroupLimit, IoRates, Limit};

/// Reads a limit from the content of a file.
type Reader = fn(&str) -> Vec<Limit>;

/// Files of version 2.
const VERSION_2: [(&str, Reader); 7] = [
    ("cpu.max", cpu_max),
    ("memory.max", |text| memory(text, true)),
    ("memory.high", |text| memory(text, false)),
    ("io.max", io_max),
    ("io.latency", io_latency),
    ("io.weight", |text| weights(text, 100)),
    ("io.bfq.weight", |text| weights(text, 100)),
];

/// Controllers and files of version 1. The CPU quota is in two files and is read separately.
const VERSION_1: [(&str, &str, Reader); 9] = [
    ("memory", "memory.limit_in_bytes", |text| memory(text, true)),
    ("blkio", "blkio.throttle.read_bps_device", |text| {
        throttle(text, |rate| IoRates { read_bytes_per_s: Some(rate), ..IoRates::default() })
    }),
    ("blkio", "blkio.throttle.write_bps_device", |text| {
        throttle(text, |rate| IoRates { write_bytes_per_s: Some(rate), ..IoRates::default() })
    }),
    ("blkio", "blkio.throttle.read_iops_device", |text| {
        throttle(text, |rate| IoRates { read_ios_per_s: Some(rate), ..IoRates::default() })
    }),
    ("blkio", "blkio.throttle.write_iops_device", |text| {
        throttle(text, |rate| IoRates { write_ios_per_s: Some(rate), ..IoRates::default() })
    }),
    ("blkio", "blkio.weight", |text| weights(text, 500)),
    ("blkio", "blkio.weight_device", |text| weights(text, 500)),
    ("blkio", "blkio.bfq.weight", |text| weights(text, 100)),
    ("blkio", "blkio.bfq.weight_device", |text| weights(text, 100)),
];

/// Every limit that is set in any of our cgroups, the innermost first.
pub(crate) fn read(root: &Root, mounts: &[Mount]) -> Vec<CgroupLimit> {
    let mut limits = Vec::new();
    for hierarchy in hierarchies(root, mounts) {
        for group in &hierarchy.groups {
            limits.extend(in_group(root, &hierarchy, group));
        }
    }
    for limit in &mut limits {
        if let Limit::Io { device, .. }
        | Limit::IoLatency { device, .. }
        | Limit::IoWeight { device: Some(device), .. } = &mut limit.limit
        {
            device.name = place::by_number(root, device.number);
        }
    }
    limits
}

fn in_group(root: &Root, hierarchy: &Hierarchy, group: &Group) -> Vec<CgroupLimit> {
    let text = |file: &str| root.text(group.directory.join(file)).unwrap_or_default();
    let named = |file: &'static str, limits: Vec<Limit>| {
        limits.into_iter().map(move |limit| CgroupLimit { cgroup: group.path.clone(), file: file.to_owned(), limit })
    };
    match hierarchy.version {
        Version::Two => VERSION_2.iter().flat_map(|(file, reader)| named(file, reader(&text(file)))).collect(),
        Version::One => {
            let files = VERSION_1.iter().filter(|(controller, ..)| hierarchy.has(controller));
            let mut limits: Vec<CgroupLimit> =
                files.flat_map(|(_, file, reader)| named(file, reader(&text(file)))).collect();
            if hierarchy.has("cpu") {
                // -1 where there is no quota.
                let quota = cpu_max(&format!("{} {}", text("cpu.cfs_quota_us").trim(), text("cpu.cfs_period_us")));
                limits.extend(named("cpu.cfs_quota_us", quota));
            }
            limits
        }
    }
}

/// `50000 100000`, or `max 100000`.
fn cpu_max(text: &str) -> Vec<Limit> {
    let mut words = text.split_whitespace().map(str::parse);
    match (words.next(), words.next()) {
        (Some(Ok(quota_us)), Some(Ok(period_us))) if period_us > 0 => vec![Limit::Cpu { quota_us, period_us }],
        _ => Vec::new(),
    }
}

/// Bytes, or `max`.
fn memory(text: &str, is_hard: bool) -> Vec<Limit> {
    let bytes = text.trim().parse().ok().filter(|bytes| *bytes < LIMIT_BYTES_MAX);
    bytes.map(|bytes| Limit::Memory { bytes, is_hard }).into_iter().collect()
}

fn device(number: DeviceNumber) -> CgroupDevice {
    CgroupDevice { number, name: None }
}

/// The device that a line begins with, and the rest.
fn device_line(line: &str) -> Option<(DeviceNumber, &str)> {
    let (number, rest) = line.trim().split_once(char::is_whitespace)?;
    Some((device_number(number)?, rest.trim()))
}

/// Lines such as `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn io_max(text: &str) -> Vec<Limit> {
    let limit = |line: &str| {
        let (number, words) = device_line(line)?;
        let rate = |key: &str| {
            let mut pairs = words.split_whitespace().filter_map(|word| word.split_once('='));
            pairs.find(|(name, _)| *name == key).and_then(|(_, value)| value.parse().ok())
        };
        let rates = IoRates {
            read_bytes_per_s: rate("rbps"),
            write_bytes_per_s: rate("wbps"),
            read_ios_per_s: rate("riops"),
            write_ios_per_s: rate("wiops"),
        };
        (rates != IoRates::default()).then_some(Limit::Io { device: device(number), rates })
    };
    text.lines().filter_map(limit).collect()
}

/// Lines such as `8:16 target=75000`.
fn io_latency(text: &str) -> Vec<Limit> {
    let limit = |line: &str| {
        let (number, words) = device_line(line)?;
        let target_us = words.split_whitespace().find_map(|word| word.strip_prefix("target="))?.parse().ok()?;
        Some(Limit::IoLatency { device: device(number), target_us })
    };
    text.lines().filter_map(limit).collect()
}

/// Lines such as `default 200`, `200` and `8:16 50`; the default weight for all devices is no limit.
fn weights(text: &str, usual: u64) -> Vec<Limit> {
    let limit = |line: &str| {
        if let Some((number, weight)) = device_line(line) {
            return Some(Limit::IoWeight { device: Some(device(number)), weight: weight.parse().ok()? });
        }
        let weight = line.trim().strip_prefix("default").unwrap_or(line).trim().parse().ok()?;
        (weight != usual).then_some(Limit::IoWeight { device: None, weight })
    };
    text.lines().filter_map(limit).collect()
}

/// Lines such as `8:16 1048576`.
fn throttle(text: &str, rates: fn(u64) -> IoRates) -> Vec<Limit> {
    let limit = |line: &str| {
        let (number, rate) = device_line(line)?;
        Some(Limit::Io { device: device(number), rates: rates(rate.parse().ok()?) })
    };
    text.lines().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_limit_is_none() {
        assert_eq!(cpu_max("max 100000\n"), []);
        assert_eq!(cpu_max("-1 100000\n"), []);
        assert_eq!(cpu_max("5 0"), []);
        assert_eq!(memory("max\n", true), []);
        assert_eq!(memory("9223372036854771712\n", true), []);
        assert_eq!(io_max("8:16 rbps=max wbps=max riops=max wiops=max\n"), []);
        assert_eq!(weights("default 100\n", 100), []);
        assert_eq!(weights("500\n", 500), []);
    }

    #[test]
    fn limits_on_devices_are_read_line_by_line() {
        let text = "8:16 rbps=2097152 wbps=max riops=max wiops=120\ngarbage\n259:0 wbps=1\n";
        let expected = [
            Limit::Io {
                device: device(DeviceNumber { major: 8, minor: 16 }),
                rates: IoRates { read_bytes_per_s: Some(2_097_152), write_ios_per_s: Some(120), ..IoRates::default() },
            },
            Limit::Io {
                device: device(DeviceNumber { major: 259, minor: 0 }),
                rates: IoRates { write_bytes_per_s: Some(1), ..IoRates::default() },
            },
        ];
        assert_eq!(io_max(text), expected);
        let on_sdb = Some(device(DeviceNumber { major: 8, minor: 16 }));
        assert_eq!(
            weights("default 200\n8:16 100\n", 100),
            [Limit::IoWeight { device: None, weight: 200 }, Limit::IoWeight { device: on_sdb, weight: 100 }]
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text in "\\PC*", words in "([0-9:= a-z\n-]{0,6}( |\n)){0,12}") {
            for text in [text, words] {
                for reader in VERSION_2.iter().map(|row| row.1).chain(VERSION_1.iter().map(|row| row.2)) {
                    let _ = reader(&text);
                }
            }
        }
    }
}
