//! A performance counter's value of an interval.

use model::device_interval::{DeviceRates, RequestRates};
use model::performance_counter::Counter;

/// The value in the counter's unit: seconds, bytes, percent or a number. As on Windows a mean of nothing is 0.
pub(crate) fn value(counter: Counter, rates: &DeviceRates) -> f64 {
    let DeviceRates { read, write, .. } = rates;
    match counter {
        Counter::ReadsPerSecond => read.per_s,
        Counter::WritesPerSecond => write.per_s,
        Counter::TransfersPerSecond => read.per_s + write.per_s,
        Counter::ReadBytesPerSecond => read.bytes_per_s,
        Counter::WriteBytesPerSecond => write.bytes_per_s,
        Counter::BytesPerSecond => read.bytes_per_s + write.bytes_per_s,
        Counter::SecondsPerRead => seconds(read.latency_ns),
        Counter::SecondsPerWrite => seconds(write.latency_ns),
        Counter::SecondsPerTransfer => seconds(rates.latency_ns),
        Counter::BytesPerRead => read.size_bytes.unwrap_or(0.0),
        Counter::BytesPerWrite => write.size_bytes.unwrap_or(0.0),
        Counter::BytesPerTransfer => bytes_per_transfer(read, write),
        Counter::QueueLength => read.queue_length + write.queue_length,
        Counter::ReadQueueLength => read.queue_length,
        Counter::WriteQueueLength => write.queue_length,
        Counter::CurrentQueueLength => rates.in_flight_count as f64,
        // Windows adds up the times of requests here: ten outstanding throughout the interval are 1000 %.
        Counter::DiskTimePercent => (read.queue_length + write.queue_length) * 100.0,
        Counter::ReadTimePercent => read.queue_length * 100.0,
        Counter::WriteTimePercent => write.queue_length * 100.0,
        Counter::IdleTimePercent => 100.0 - rates.busy_percent,
    }
}

fn seconds(ns: Option<f64>) -> f64 {
    ns.unwrap_or(0.0) / 1e9
}

fn bytes_per_transfer(read: &RequestRates, write: &RequestRates) -> f64 {
    let count = read.count.saturating_add(write.count);
    if count == 0 { 0.0 } else { read.bytes.saturating_add(write.bytes) as f64 / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_windows() {
        let requests = |count, bytes, latency_ns, queue_length| RequestRates {
            count,
            bytes,
            latency_ns: Some(latency_ns),
            queue_length,
            ..RequestRates::default()
        };
        let rates = DeviceRates {
            read: requests(1, 4096, 2.5e6, 1.5),
            write: requests(3, 0, 1e6, 2.0),
            busy_percent: 40.0,
            queue_length: 9.0,
            ..DeviceRates::default()
        };
        for (counter, expected) in [
            (Counter::SecondsPerRead, "0.002500"),
            (Counter::SecondsPerTransfer, "0.000000"),
            (Counter::BytesPerTransfer, "1024.000000"),
            (Counter::QueueLength, "3.500000"),
            (Counter::DiskTimePercent, "350.000000"),
            (Counter::IdleTimePercent, "60.000000"),
        ] {
            assert_eq!(format!("{:.6}", value(counter, &rates)), expected, "{counter:?}");
        }
        assert!(value(Counter::BytesPerTransfer, &DeviceRates::default()).abs() < f64::EPSILON);
    }
}
