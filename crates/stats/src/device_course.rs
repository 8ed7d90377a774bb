//! What a device did over a recording, in as many steps as a chart has room for.

use crate::device_rates::merged;
use model::device_interval::{DeviceInterval, DeviceRates};

/// A step: one interval or several together.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceStep {
    /// When it began, in nanoseconds since 1970 in UTC.
    pub start_unix_ns: i64,
    /// When it ended.
    pub end_unix_ns: i64,
    /// What the device did; `None` if it was not there in any interval of the step.
    pub rates: Option<DeviceRates>,
}

/// The course of a device in `steps_max` steps at most, each of equally many intervals.
pub fn course(intervals: &[DeviceInterval], device: &str, steps_max: usize) -> Vec<DeviceStep> {
    let width = intervals.len().div_ceil(steps_max.max(1)).max(1);
    intervals.chunks(width).filter_map(|intervals| step(intervals, device)).collect()
}

fn step(intervals: &[DeviceInterval], device: &str) -> Option<DeviceStep> {
    let (first, last) = (intervals.first()?, intervals.last()?);
    let length_ns = i64::try_from(first.interval_ns).unwrap_or(i64::MAX);
    let there = intervals.iter().filter_map(|interval| Some((interval.devices.get(device)?, interval.interval_ns)));
    Some(DeviceStep {
        start_unix_ns: first.ended_at_unix_ns.saturating_sub(length_ns),
        end_unix_ns: last.ended_at_unix_ns,
        rates: merged(there),
    })
}

/// Devices that did anything in a recording with the number of their reads and writes, the busiest first.
pub fn active_devices(intervals: &[DeviceInterval]) -> Vec<(&str, u64)> {
    let mut names: Vec<&str> =
        intervals.iter().flat_map(|interval| interval.devices.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let transfers = |name: &str| {
        let of_interval = |interval: &DeviceInterval| {
            let rates = interval.devices.get(name)?;
            Some(rates.read.count.saturating_add(rates.write.count))
        };
        intervals.iter().filter_map(of_interval).fold(0u64, u64::saturating_add)
    };
    let mut active: Vec<(&str, u64)> =
        names.into_iter().map(|name| (name, transfers(name))).filter(|(_, count)| *count > 0).collect();
    active.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    active
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::device_interval::RequestRates;

    fn interval(number: u64, devices: &[(&str, u64)]) -> DeviceInterval {
        let rates = |count: u64| DeviceRates {
            read: RequestRates { count, time_ms: count * 2, bytes: count * 512, ..RequestRates::default() },
            queue_length: 1.0,
            busy_percent: 100.0,
            ..DeviceRates::default()
        };
        DeviceInterval {
            number,
            ended_at_unix_ns: i64::try_from(number).expect("small") * 1_000_000_000,
            end_ns: number * 1_000_000_000,
            interval_ns: 1_000_000_000,
            devices: devices.iter().map(|(name, count)| ((*name).to_owned(), rates(*count))).collect(),
        }
    }

    #[test]
    fn long_recordings_are_thinned_and_gaps_stay() {
        let mut intervals: Vec<DeviceInterval> =
            (1..=9).map(|number| interval(number, &[("sda", number * 10)])).collect();
        intervals[6].devices.clear();
        intervals[7].devices.clear();
        let all = course(&intervals, "sda", 100);
        assert_eq!((all.len(), all[6].rates.is_none()), (9, true));
        let thin = course(&intervals, "sda", 5);
        assert_eq!(thin.len(), 5);
        assert_eq!((thin[0].start_unix_ns, thin[0].end_unix_ns), (0, 2_000_000_000));
        let rates = thin[0].rates.expect("it was there");
        assert_eq!((rates.read.count, rates.read.per_s, rates.read.latency_ns), (30, 15.0, Some(2e6)));
        assert_eq!((rates.busy_percent, rates.queue_length), (100.0, 1.0));
        // In half of its time the device was there: the rate is of that half.
        assert_eq!(thin[3].rates, None);
        assert_eq!(course(&intervals[5..7], "sda", 1)[0].rates.map(|rates| rates.read.per_s), Some(60.0));
        assert_eq!(course(&[], "sda", 5), []);
    }

    #[test]
    fn the_busiest_device_comes_first() {
        let intervals = [interval(1, &[("sda", 1), ("sdb", 5), ("sdc", 0)]), interval(2, &[("sda", 1)])];
        assert_eq!(active_devices(&intervals), [("sdb", 5), ("sda", 2)]);
    }
}
