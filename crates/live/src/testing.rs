//! Devices and intervals for tests.

use crate::watch::Device;
use model::counter_object::CounterObject;
use model::device_interval::{DeviceInterval, DeviceRates, FlushRates, RequestRates, WatchedDevice};

/// A device with this name.
pub(crate) fn device(name: &str, object: CounterObject) -> Device {
    let facts = WatchedDevice {
        name: name.to_owned(),
        kind: "disk".to_owned(),
        mapped_name: name.starts_with("dm-").then(|| "vg-data".to_owned()),
        model: Some("ACME 9000".to_owned()),
        size_bytes: Some(1 << 40),
        ..WatchedDevice::default()
    };
    Device::watched(facts, object)
}

/// The interval of one second with this number, in which devices did the given number of reads of 4 KiB and half as
/// many writes of 64 KiB.
pub(crate) fn interval(number: u64, devices: &[(&str, f64)]) -> DeviceInterval {
    let ended_at_unix_ns = 1_800_000_000_000_000_000 + i64::try_from(number).unwrap() * 1_000_000_000;
    DeviceInterval {
        number,
        ended_at_unix_ns,
        end_ns: number * 1_000_000_000,
        interval_ns: 1_000_000_000,
        devices: devices.iter().map(|(name, reads)| ((*name).to_owned(), rates(*reads))).collect(),
        system: [].into(),
    }
}

fn rates(reads: f64) -> DeviceRates {
    let requests = |per_s: f64, size: f64, latency_ns: f64| RequestRates {
        count: per_s as u64,
        merged_count: 1,
        bytes: (per_s * size) as u64,
        time_ms: (per_s * latency_ns / 1e6) as u64,
        per_s,
        merged_per_s: 1.0,
        bytes_per_s: per_s * size,
        size_bytes: Some(size),
        latency_ns: Some(latency_ns),
        queue_length: per_s * latency_ns / 1e9,
    };
    DeviceRates {
        read: requests(reads, 4096.0, 123_456.0),
        write: requests(reads / 2.0, 65_536.0, 2_500_000.0),
        discard: Some(RequestRates::default()),
        flush: Some(FlushRates { count: 3, time_ms: 6, per_s: 3.0, latency_ns: Some(2e6) }),
        latency_ns: Some(915_637.0),
        queue_length: reads / 100.0,
        in_flight_count: 2,
        busy_percent: (reads / 10.0).min(100.0),
    }
}
