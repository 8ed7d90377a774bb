//! State of a block device: temperature, paths, power saving.

use super::drive_log;
use crate::block::place;
use crate::root::Root;
use model::block_device::{BlockDevice, DeviceKind};
use model::check::{DeviceState, KnownFact, Temperature};
use std::path::Path;

/// The unit of places in /sys, whatever the sector size of the device.
const SECTOR_BYTES: u64 = 512;
/// The default limit of the wake-up latency of all `NVMe` drives.
const DEFAULT_WAKE_LATENCY: &str = "/sys/module/nvme_core/parameters/default_ps_max_latency_us";

/// Reads the state of `device` itself.
pub fn device_state(root: &Root, device: &BlockDevice) -> DeviceState {
    let directory = place::directory(root, &device.name);
    let at = |file: &str| directory.as_ref().map(|directory| directory.join(file));
    let is_partition = matches!(device.kind, DeviceKind::Partition { .. });
    let start_sectors = at("start").filter(|_| is_partition).and_then(|file| root.number(file));
    DeviceState {
        start_bytes: start_sectors.and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
        path_access: at("device/access_state").and_then(|file| root.word(file)),
        health: drive_log::health(root, &device.name),
        temperature: at("device")
            .and_then(|place| temperature(root, &place))
            .ok_or_else(|| "no sensor for it in /sys/class/hwmon".to_owned()),
        wake_latency_us: wake_latency_us(root, &device.name, directory.as_deref()),
    }
}

/// The first sensor, which is the whole drive's, below the device behind a disk. Its directory differs between drivers
/// and their versions.
fn temperature(root: &Root, device: &Path) -> Option<Temperature> {
    let folders = [device.to_owned(), device.join("hwmon"), device.join("device/hwmon")];
    let sensors = folders.iter().flat_map(|folder| {
        let names = root.names(folder).into_iter().filter(|name| name.starts_with("hwmon"));
        names.map(move |name| folder.join(name))
    });
    let number = |file: &Path| root.word(file)?.parse::<i64>().ok();
    sensors.into_iter().find_map(|sensor| {
        Some(Temperature {
            millidegrees: number(&sensor.join("temp1_input"))?,
            warning_millidegrees: number(&sensor.join("temp1_max")),
        })
    })
}

fn wake_latency_us(root: &Root, name: &str, directory: Option<&Path>) -> KnownFact<u64> {
    if !name.starts_with("nvme") {
        return Err("reported only by NVMe drives".to_owned());
    }
    // `auto` leaves it to the drive.
    let own = directory.and_then(|directory| root.number(directory.join("device/power/pm_qos_latency_tolerance_us")));
    let latency_us = own.or_else(|| root.number(DEFAULT_WAKE_LATENCY));
    latency_us.ok_or_else(|| "wake-up latency not reported by the kernel".to_owned())
}
