//! Rates of block devices between two readings of their counters.

use crate::system_rates;
use model::device_interval::{DeviceInterval, DeviceRates, DeviceReading, FlushRates, RequestRates};
use model::kernel_counters::{DeviceCounters, FlushCounters, RequestCounters};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// The interval between two readings, the `number`-th since `begun_ns`; `None` if no time passed.
///
/// A device is in it if both readings have it. One whose counters went backwards is left out: it was created again, or
/// a counter of 32 bits wrapped, and its rates are unknown.
pub fn interval(before: &DeviceReading, after: &DeviceReading, number: u64, begun_ns: u64) -> Option<DeviceInterval> {
    let interval_ns = after.monotonic_ns.checked_sub(before.monotonic_ns).filter(|ns| *ns > 0)?;
    let rates = |(name, now): (&String, &model::device_interval::CountedDevice)| {
        let then = before.devices.get(name).filter(|then| then.number == now.number)?;
        Some((name.clone(), rates(&then.counters, &now.counters, interval_ns)?))
    };
    Some(DeviceInterval {
        number,
        ended_at_unix_ns: i64::try_from(after.at.0).unwrap_or(i64::MAX),
        end_ns: after.monotonic_ns.saturating_sub(begun_ns),
        interval_ns,
        devices: after.devices.iter().filter_map(rates).collect(),
        system: system_rates::figures(&before.system, &after.system, interval_ns),
    })
}

/// Rates of a device in `interval_ns`; `None` if a counter went backwards.
pub fn rates(before: &DeviceCounters, after: &DeviceCounters, interval_ns: u64) -> Option<DeviceRates> {
    if interval_ns == 0 || went_backwards(before, after) {
        return None;
    }
    let counted = after.since(before);
    let length_ms = interval_ns as f64 / NS_PER_MS;
    let transfer_count = counted.read.count.saturating_add(counted.write.count);
    let both_time_ms = counted.read.time_ms.saturating_add(counted.write.time_ms);
    Some(DeviceRates {
        read: requests(&counted.read, interval_ns),
        write: requests(&counted.write, interval_ns),
        discard: counted.discard.map(|discards| requests(&discards, interval_ns)),
        flush: counted.flush.map(|flushes| flush_rates(flushes, interval_ns)),
        latency_ns: mean(both_time_ms as f64 * NS_PER_MS, transfer_count),
        queue_length: counted.queue_time_ms as f64 / length_ms,
        in_flight_count: counted.in_flight_count,
        // The kernel counts busy time in ticks of its own, so a busy device may have a little too much.
        busy_percent: (counted.busy_ms as f64 * 100.0 / length_ms).min(100.0),
    })
}

/// All requests of several devices as if they were one device's; percentages are the mean of theirs.
pub fn sum<'a>(devices: impl IntoIterator<Item = &'a DeviceRates>) -> DeviceRates {
    let mut sum = DeviceRates::default();
    let mut device_count = 0u64;
    for device in devices {
        device_count += 1;
        add(&mut sum.read, &device.read);
        add(&mut sum.write, &device.write);
        if let Some(discard) = &device.discard {
            add(sum.discard.get_or_insert_default(), discard);
        }
        if let Some(flush) = &device.flush {
            let flushes = sum.flush.get_or_insert_default();
            flushes.count = flushes.count.saturating_add(flush.count);
            flushes.time_ms = flushes.time_ms.saturating_add(flush.time_ms);
            flushes.per_s += flush.per_s;
        }
        sum.queue_length += device.queue_length;
        sum.in_flight_count = sum.in_flight_count.saturating_add(device.in_flight_count);
        sum.busy_percent += device.busy_percent;
    }
    if device_count > 0 {
        sum.busy_percent /= device_count as f64;
    }
    for requests in [Some(&mut sum.read), Some(&mut sum.write), sum.discard.as_mut()].into_iter().flatten() {
        requests.size_bytes = mean(requests.bytes as f64, requests.count);
        requests.latency_ns = mean(requests.time_ms as f64 * NS_PER_MS, requests.count);
    }
    if let Some(flush) = &mut sum.flush {
        flush.latency_ns = mean(flush.time_ms as f64 * NS_PER_MS, flush.count);
    }
    let both_ms = sum.read.time_ms.saturating_add(sum.write.time_ms);
    sum.latency_ns = mean(both_ms as f64 * NS_PER_MS, sum.read.count.saturating_add(sum.write.count));
    sum
}

/// One device's intervals with their lengths in nanoseconds, as if they were one; `None` of none. Requests in
/// flight are those of the last.
pub fn merged<'a>(intervals: impl IntoIterator<Item = (&'a DeviceRates, u64)>) -> Option<DeviceRates> {
    let mut total = DeviceCounters::default();
    let (mut total_ns, mut queue_ns, mut busy_ns) = (0u64, 0.0, 0.0);
    let mut is_any = false;
    for (rates, interval_ns) in intervals {
        is_any = true;
        total_ns = total_ns.saturating_add(interval_ns);
        queue_ns += rates.queue_length * interval_ns as f64;
        busy_ns += rates.busy_percent * interval_ns as f64;
        count_in(&mut total.read, &rates.read);
        count_in(&mut total.write, &rates.write);
        if let Some(discard) = &rates.discard {
            count_in(total.discard.get_or_insert_default(), discard);
        }
        if let Some(flush) = &rates.flush {
            let flushes = total.flush.get_or_insert_default();
            flushes.count = flushes.count.saturating_add(flush.count);
            flushes.time_ms = flushes.time_ms.saturating_add(flush.time_ms);
        }
        total.in_flight_count = rates.in_flight_count;
    }
    if !is_any {
        return None;
    }
    let whole = rates(&DeviceCounters::default(), &total, total_ns)?;
    // These two are no counts, and the kernel's own sums of them are not kept.
    let length_ns = total_ns as f64;
    Some(DeviceRates { queue_length: queue_ns / length_ns, busy_percent: busy_ns / length_ns, ..whole })
}

fn count_in(total: &mut RequestCounters, requests: &RequestRates) {
    total.count = total.count.saturating_add(requests.count);
    total.merged_count = total.merged_count.saturating_add(requests.merged_count);
    total.bytes = total.bytes.saturating_add(requests.bytes);
    total.time_ms = total.time_ms.saturating_add(requests.time_ms);
}

fn add(sum: &mut RequestRates, requests: &RequestRates) {
    sum.count = sum.count.saturating_add(requests.count);
    sum.merged_count = sum.merged_count.saturating_add(requests.merged_count);
    sum.bytes = sum.bytes.saturating_add(requests.bytes);
    sum.time_ms = sum.time_ms.saturating_add(requests.time_ms);
    sum.per_s += requests.per_s;
    sum.merged_per_s += requests.merged_per_s;
    sum.bytes_per_s += requests.bytes_per_s;
    sum.queue_length += requests.queue_length;
}

fn requests(counted: &RequestCounters, interval_ns: u64) -> RequestRates {
    let per_s = |amount: u64| amount as f64 * NS_PER_S / interval_ns as f64;
    RequestRates {
        count: counted.count,
        merged_count: counted.merged_count,
        bytes: counted.bytes,
        time_ms: counted.time_ms,
        per_s: per_s(counted.count),
        merged_per_s: per_s(counted.merged_count),
        bytes_per_s: per_s(counted.bytes),
        size_bytes: mean(counted.bytes as f64, counted.count),
        latency_ns: mean(counted.time_ms as f64 * NS_PER_MS, counted.count),
        queue_length: counted.time_ms as f64 * NS_PER_MS / interval_ns as f64,
    }
}

fn flush_rates(counted: FlushCounters, interval_ns: u64) -> FlushRates {
    FlushRates {
        count: counted.count,
        time_ms: counted.time_ms,
        per_s: counted.count as f64 * NS_PER_S / interval_ns as f64,
        latency_ns: mean(counted.time_ms as f64 * NS_PER_MS, counted.count),
    }
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// True if anything that only grows is less than it was. Requests in flight come and go.
fn went_backwards(before: &DeviceCounters, after: &DeviceCounters) -> bool {
    let requests = |now: &RequestCounters, then: &RequestCounters| {
        now.count < then.count
            || now.merged_count < then.merged_count
            || now.bytes < then.bytes
            || now.time_ms < then.time_ms
    };
    let discards = after.discard.zip(before.discard);
    let flushes = after.flush.zip(before.flush);
    requests(&after.read, &before.read)
        || requests(&after.write, &before.write)
        || discards.is_some_and(|(now, then)| requests(&now, &then))
        || flushes.is_some_and(|(now, then)| now.count < then.count || now.time_ms < then.time_ms)
        || after.busy_ms < before.busy_ms
        || after.queue_time_ms < before.queue_time_ms
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::block_device::DeviceNumber;
    use model::device_interval::CountedDevice;
    use model::units::UnixTime;

    fn counters(read: [u64; 4], write: [u64; 4]) -> DeviceCounters {
        let requests =
            |[count, merged_count, bytes, time_ms]: [u64; 4]| RequestCounters { count, merged_count, bytes, time_ms };
        DeviceCounters { read: requests(read), write: requests(write), ..DeviceCounters::default() }
    }

    fn reading(monotonic_ns: u64, devices: &[(&str, u32, DeviceCounters)]) -> DeviceReading {
        let counted = |(name, minor, counters): &(&str, u32, DeviceCounters)| {
            let number = DeviceNumber { major: 8, minor: *minor };
            ((*name).to_owned(), CountedDevice { number, counters: *counters })
        };
        DeviceReading {
            monotonic_ns,
            at: UnixTime(5),
            devices: devices.iter().map(counted).collect(),
            system: [].into(),
        }
    }

    #[test]
    fn figures_are_of_the_measured_interval() {
        let before = counters([100, 5, 4096, 40], [0; 4]);
        let mut after = counters([300, 15, 4096 + 819_200, 140], [100, 0, 409_600, 400]);
        after.busy_ms = 1000;
        after.queue_time_ms = 6000;
        after.in_flight_count = 3;
        let rates = rates(&before, &after, 2_000_000_000).expect("it grew");
        assert_eq!((rates.read.count, rates.read.per_s, rates.read.merged_per_s), (200, 100.0, 5.0));
        assert_eq!((rates.read.bytes_per_s, rates.read.size_bytes), (409_600.0, Some(4096.0)));
        assert_eq!((rates.read.latency_ns, rates.write.latency_ns), (Some(500_000.0), Some(4_000_000.0)));
        assert_eq!(rates.latency_ns, Some(500.0 * 1e6 / 300.0));
        assert_eq!((rates.queue_length, rates.read.queue_length, rates.write.queue_length), (3.0, 0.05, 0.2));
        assert_eq!((rates.busy_percent, rates.in_flight_count), (50.0, 3));
        assert_eq!((rates.discard, rates.flush), (None, None));
    }

    #[test]
    fn nothing_has_no_mean() {
        let idle = rates(&DeviceCounters::default(), &DeviceCounters::default(), 1).expect("it did not shrink");
        assert_eq!((idle.latency_ns, idle.read.size_bytes, idle.read.per_s), (None, None, 0.0));
    }

    /// A disk that was pulled and came back, or a counter of 32 bits at its end, once showed 18 million
    /// terabytes a second in tools that subtract and look no further.
    #[test]
    fn what_went_backwards_has_no_interval() {
        let before = counters([100, 0, 4096, 4_294_967_290], [0; 4]);
        let after = counters([101, 0, 8192, 3], [0; 4]);
        assert_eq!(rates(&before, &after, 1_000_000_000), None);
        assert_eq!(rates(&before, &before, 0), None);
    }

    #[test]
    fn devices_come_and_go_and_change_under_their_name() {
        let some = counters([1, 1, 1, 1], [0; 4]);
        let before = reading(1_000, &[("sda", 0, some), ("sdb", 16, some), ("sdc", 32, some)]);
        let after = reading(2_000, &[("sda", 0, some), ("sdb", 48, some), ("sdd", 32, some)]);
        let interval = interval(&before, &after, 7, 400).expect("time passed");
        assert_eq!(interval.devices.keys().collect::<Vec<_>>(), ["sda"]);
        assert_eq!((interval.number, interval.interval_ns, interval.end_ns), (7, 1_000, 1_600));
        assert_eq!(super::interval(&after, &before, 1, 0), None);
    }

    #[test]
    fn a_sum_weighs_means_by_requests() {
        let start = DeviceCounters::default();
        let rates_after = |after: &DeviceCounters| rates(&start, after, 1_000_000_000).expect("it grew");
        let (mut fast, mut slow) = (counters([300, 0, 300, 300], [0; 4]), counters([100, 0, 100, 900], [0; 4]));
        (fast.busy_ms, slow.busy_ms) = (1000, 500);
        let sum = sum([&rates_after(&fast), &rates_after(&slow)]);
        assert_eq!((sum.read.per_s, sum.read.latency_ns), (400.0, Some(3e6)));
        assert_eq!((sum.busy_percent, sum.read.queue_length), (75.0, 1.2));
        assert_eq!(super::sum([]), DeviceRates::default());
    }
}
