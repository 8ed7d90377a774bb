//! Course of a device over a recording, in as many steps as a chart has room for.

use crate::device_rates::merged;
use model::device_interval::{DeviceInterval, DeviceRates};

/// A step: one interval or several together.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceStep {
    /// When it began, in nanoseconds since 1970 in UTC.
    pub start_unix_ns: i64,
    /// When it ended.
    pub end_unix_ns: i64,
    /// Rates of the device; `None` if it was not there in any interval of the step.
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

/// From this part of an interval on, in percent, a device counts as busy all the time.
pub const BUSY_PERCENT: f64 = 95.0;

/// Mean and extremes of the course of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// The whole recording of it together.
    pub mean: DeviceRates,
    /// The interval with the most reads and writes per second.
    pub peak: DeviceRates,
    /// When that interval began, in nanoseconds since the first reading.
    pub peak_began_ns: u64,
    /// The highest mean latency of an interval, in nanoseconds, and when it began; `None` if none is known.
    pub slowest: Option<(f64, u64)>,
    /// The most requests in flight, as the mean of an interval.
    pub queue_max: f64,
    /// The largest part of an interval with any request in flight, in percent.
    pub busy_max_percent: f64,
    /// Intervals with requests in flight all the time.
    pub busy_intervals: usize,
    /// Intervals in which the device was there.
    pub intervals: usize,
}

/// Mean and extremes of a device; `None` if it is in no interval.
pub fn activity(intervals: &[DeviceInterval], device: &str) -> Option<Activity> {
    let known = || {
        let of_device = |interval: &DeviceInterval| {
            let began_ns = interval.end_ns.saturating_sub(interval.interval_ns);
            Some((began_ns, *interval.devices.get(device)?))
        };
        intervals.iter().filter_map(of_device)
    };
    let requests = |rates: &DeviceRates| rates.read.per_s + rates.write.per_s;
    let (peak_began_ns, peak) = known().max_by(|(_, a), (_, b)| requests(a).total_cmp(&requests(b)))?;
    let latencies = known().filter_map(|(began_ns, rates)| Some((rates.latency_ns?, began_ns)));
    let highest = |of: fn(&DeviceRates) -> f64| known().map(|(_, rates)| of(&rates)).fold(0.0, f64::max);
    Some(Activity {
        mean: course(intervals, device, 1).pop()?.rates?,
        peak,
        peak_began_ns,
        slowest: latencies.max_by(|(a, _), (b, _)| a.total_cmp(b)),
        queue_max: highest(|rates| rates.queue_length),
        busy_max_percent: highest(|rates| rates.busy_percent),
        busy_intervals: known().filter(|(_, rates)| rates.busy_percent >= BUSY_PERCENT).count(),
        intervals: known().count(),
    })
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
            system: [].into(),
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

    #[test]
    fn peak_and_saturation_of_a_device_stand_out() {
        let mut intervals: Vec<DeviceInterval> = [10, 30, 20].map(|count| interval(count, &[("sda", count)])).into();
        for (number, interval) in (0..).zip(&mut intervals) {
            interval.end_ns = (number + 1) * 1_000_000_000;
            let rates = interval.devices.get_mut("sda").expect("it is there");
            rates.read.per_s = rates.read.count as f64;
            rates.latency_ns = Some(1000.0 * (3 - number) as f64);
            rates.busy_percent = if number == 1 { 100.0 } else { 40.0 };
        }
        intervals.push(interval(4, &[]));
        let found = activity(&intervals, "sda").expect("it is there");
        assert_eq!((found.peak.read.per_s, found.peak_began_ns), (30.0, 1_000_000_000));
        assert_eq!(found.slowest, Some((3000.0, 0)));
        assert_eq!((found.busy_intervals, found.intervals, found.busy_max_percent), (1, 3, 100.0));
        assert_eq!((found.mean.read.count, found.queue_max), (60, 1.0));
        assert_eq!(activity(&intervals, "sdb"), None);
    }
}
