//! Activity of devices and shares over a measurement, from readings of their counters.

use crate::device_rates;
use crate::rate::Volume;
use model::device_interval::{DeviceRates, RequestRates};
use model::environment::TargetEnvironment;
use model::kernel_counters::{CacheCounters, KernelCountersAround, RpcCounters, ShareCounters, TransferCounters};
use model::record::CounterReading;
use model::storage_course::{
    CacheFigures, CacheHits, DeviceCourse, DeviceFigures, DeviceRequests, DeviceStep, RpcFigures, ShareCourse,
    ShareFigures, ShareStep, ShareTransfers,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const NS_PER_MS: f64 = 1e6;

/// The devices, the busiest first.
pub(crate) fn devices(readings: &[CounterReading]) -> Vec<DeviceCourse> {
    let names: BTreeSet<&String> = readings.iter().flat_map(|reading| reading.devices.keys()).collect();
    let mut courses: Vec<(u64, DeviceCourse)> = names.into_iter().filter_map(|name| device(readings, name)).collect();
    courses.sort_by_key(|(requests, _)| Reverse(*requests));
    courses.into_iter().map(|(_, course)| course).collect()
}

/// The caches below the targets.
pub(crate) fn caches(
    around: Option<&KernelCountersAround>,
    environments: &BTreeMap<PathBuf, TargetEnvironment>,
) -> Vec<CacheFigures> {
    let Some(KernelCountersAround { before, after }) = around else { return Vec::new() };
    let hits = |hits: u64, misses: u64| {
        let all = hits.saturating_add(misses);
        CacheHits { hits, misses, hit_percent: (all > 0).then(|| hits as f64 / all as f64 * 100.0) }
    };
    let figures = |(name, now): (&String, &CacheCounters)| {
        let counted = now.since(before.caches.get(name)?);
        environments.values().any(|below| below.stands_on_cache(name)).then(|| CacheFigures {
            cache: name.clone(),
            read: hits(counted.read_hits, counted.read_misses),
            write: counted.write_hits.zip(counted.write_misses).map(|(of_hits, misses)| hits(of_hits, misses)),
            bypassed_reads: counted.bypassed_reads,
        })
    };
    after.caches.iter().filter_map(figures).collect()
}

/// A device, and how many requests it completed; `None` if its counters do not reach over the measurement.
fn device(readings: &[CounterReading], name: &str) -> Option<(u64, DeviceCourse)> {
    let rates = |from: &CounterReading, to: &CounterReading| {
        let (before, after) = (from.devices.get(name)?, to.devices.get(name)?);
        device_rates::rates(before, after, to.at_ns.saturating_sub(from.at_ns))
    };
    let whole = rates(readings.first()?, readings.last()?)?;
    let steps = steps(readings, |from, to| {
        let figures = device_figures(&rates(from, to)?);
        Some(DeviceStep { start_ns: from.at_ns, end_ns: to.at_ns, figures })
    });
    let mut max = DeviceFigures::default();
    for DeviceStep { figures, .. } in whole_steps(&steps, |step| step.end_ns - step.start_ns) {
        for (max, of) in
            [(&mut max.read, figures.read), (&mut max.write, figures.write), (&mut max.total, figures.total)]
        {
            max.iops = max.iops.max(of.iops);
            max.bytes_per_s = max.bytes_per_s.max(of.bytes_per_s);
            max.latency_mean_ns = larger(max.latency_mean_ns, of.latency_mean_ns);
        }
        max.queue_depth = max.queue_depth.max(figures.queue_depth);
        max.busy_percent = max.busy_percent.max(figures.busy_percent);
    }
    let requests = whole.read.count.saturating_add(whole.write.count);
    Some((requests, DeviceCourse { device: name.to_owned(), mean: device_figures(&whole), max, steps }))
}

fn device_figures(rates: &DeviceRates) -> DeviceFigures {
    let requests = |rates: &RequestRates| DeviceRequests {
        iops: rates.per_s,
        bytes_per_s: rates.bytes_per_s,
        latency_mean_ns: rates.latency_ns,
    };
    let (read, write) = (requests(&rates.read), requests(&rates.write));
    DeviceFigures {
        read,
        write,
        total: DeviceRequests {
            iops: read.iops + write.iops,
            bytes_per_s: read.bytes_per_s + write.bytes_per_s,
            latency_mean_ns: rates.latency_ns,
        },
        queue_depth: rates.queue_length,
        busy_percent: rates.busy_percent,
    }
}

/// The shares, in the order of the readings.
pub(crate) fn shares(readings: &[CounterReading]) -> Vec<ShareCourse> {
    let first = readings.first().map_or(&[][..], |reading| &reading.shares);
    first.iter().filter_map(|share| self::share(readings, share)).collect()
}

fn share(readings: &[CounterReading], share: &ShareCounters) -> Option<ShareCourse> {
    let figures = |from: &CounterReading, to: &CounterReading| {
        let (before, after) = (share.find_in(&from.shares)?, share.find_in(&to.shares)?);
        let length_ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0 && !after.went_backwards(before))?;
        Some(share_figures(&after.since(before), length_ns))
    };
    let mean = figures(readings.first()?, readings.last()?)?;
    let steps = steps(readings, |from, to| {
        Some(ShareStep { start_ns: from.at_ns, end_ns: to.at_ns, figures: figures(from, to)? })
    });
    let mut max = ShareFigures::default();
    for ShareStep { figures, .. } in whole_steps(&steps, |step| step.end_ns - step.start_ns) {
        for (max, of) in
            [(&mut max.read, figures.read), (&mut max.write, figures.write), (&mut max.total, figures.total)]
        {
            max.iops = max.iops.max(of.iops);
            max.bytes_per_s = max.bytes_per_s.max(of.bytes_per_s);
            if let Some(of) = of.rpc {
                let rpc = max.rpc.get_or_insert_default();
                rpc.execute_mean_ns = larger(rpc.execute_mean_ns, of.execute_mean_ns);
                rpc.queue_mean_ns = larger(rpc.queue_mean_ns, of.queue_mean_ns);
                rpc.round_trip_mean_ns = larger(rpc.round_trip_mean_ns, of.round_trip_mean_ns);
                rpc.retransmissions_per_s = rpc.retransmissions_per_s.max(of.retransmissions_per_s);
            }
        }
    }
    let ShareCounters { mount_point, source, .. } = share.clone();
    Some(ShareCourse { mount_point, source, mean, max, steps })
}

fn share_figures(counted: &ShareCounters, length_ns: u64) -> ShareFigures {
    let ShareCounters { read, write, .. } = counted;
    ShareFigures {
        read: transfers(read, length_ns),
        write: transfers(write, length_ns),
        total: transfers(&read.and(write), length_ns),
    }
}

fn transfers(counted: &TransferCounters, length_ns: u64) -> ShareTransfers {
    let TransferCounters { count, bytes, rpc } = *counted;
    let rates = Volume { bytes, ios: count }.figures(length_ns);
    let times = |rpc: RpcCounters| {
        let mean_ns = |sum_ms: u64| (count > 0).then(|| sum_ms as f64 * NS_PER_MS / count as f64);
        let retransmissions = rpc.transmission_count.saturating_sub(count);
        RpcFigures {
            execute_mean_ns: mean_ns(rpc.execute_ms),
            queue_mean_ns: mean_ns(rpc.queue_ms),
            round_trip_mean_ns: mean_ns(rpc.round_trip_ms),
            retransmissions_per_s: crate::per_second(retransmissions, length_ns),
        }
    };
    ShareTransfers { iops: rates.iops, bytes_per_s: rates.bytes_per_s, rpc: rpc.map(times) }
}

fn steps<T>(readings: &[CounterReading], step: impl Fn(&CounterReading, &CounterReading) -> Option<T>) -> Vec<T> {
    readings.windows(2).filter_map(|pair| step(&pair[0], &pair[1])).collect()
}

/// The steps without one at the end that is too short to be compared with the others.
fn whole_steps<T>(steps: &[T], length_ns: impl Fn(&T) -> u64) -> &[T] {
    let longest_ns = steps.iter().map(&length_ns).max().unwrap_or(0);
    match steps.split_last() {
        Some((last, others)) if !others.is_empty() && length_ns(last) < longest_ns / 2 => others,
        _ => steps,
    }
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::block_device::BlockDevice;
    use model::environment::Backing;
    use model::kernel_counters::{DeviceCounters, KernelCounters, RequestCounters};

    const S: u64 = 1_000_000_000;

    #[test]
    fn caches_below_the_targets_have_shares_of_hits() {
        let counters = |read_hits, read_misses, writes: Option<(u64, u64)>| CacheCounters {
            read_hits,
            read_misses,
            write_hits: writes.map(|(hits, _)| hits),
            write_misses: writes.map(|(_, misses)| misses),
            bypassed_reads: writes.is_none().then_some(read_hits),
        };
        let counters_with = |bcache, dm| KernelCounters {
            caches: [("bcache0".to_owned(), bcache), ("dm-3".to_owned(), dm), ("ZFS ARC".to_owned(), bcache)].into(),
            ..KernelCounters::default()
        };
        let around = KernelCountersAround {
            before: counters_with(counters(7, 7, None), counters(5, 5, Some((1, 2)))),
            after: counters_with(counters(97, 17, None), counters(5, 5, Some((4, 3)))),
        };
        let device = |name: &str| BlockDevice { name: name.to_owned(), ..BlockDevice::default() };
        let backing = Backing::Devices(vec![device("bcache0"), device("dm-3")]);
        let below = TargetEnvironment { backing, ..TargetEnvironment::default() };
        let found = caches(Some(&around), &[(PathBuf::from("a"), below)].into());
        let hits = |hits, misses, hit_percent| CacheHits { hits, misses, hit_percent };
        let expected = [
            CacheFigures {
                cache: "bcache0".to_owned(),
                read: hits(90, 10, Some(90.0)),
                write: None,
                bypassed_reads: Some(90),
            },
            CacheFigures {
                cache: "dm-3".to_owned(),
                read: hits(0, 0, None),
                write: Some(hits(3, 1, Some(75.0))),
                bypassed_reads: None,
            },
        ];
        assert_eq!(found, expected, "no target is on ZFS");
        assert_eq!(caches(None, &BTreeMap::new()), []);
    }

    /// Counters of a disk after this many reads of 4 KiB and 2 ms.
    fn reads(count: u64) -> DeviceCounters {
        DeviceCounters {
            read: RequestCounters { count, bytes: count * 4096, time_ms: count * 2, ..RequestCounters::default() },
            queue_time_ms: count * 2,
            busy_ms: count,
            ..DeviceCounters::default()
        }
    }

    fn reading(at_ns: u64, devices: &[(&str, u64)]) -> CounterReading {
        let devices = devices.iter().map(|(name, count)| ((*name).to_owned(), reads(*count)));
        CounterReading { at_ns, devices: devices.collect(), ..CounterReading::default() }
    }

    #[test]
    fn a_device_has_a_step_between_two_readings() {
        let readings = [
            reading(0, &[("sda", 1000), ("sdb", 0)]),
            reading(S, &[("sda", 1100), ("sdb", 400)]),
            reading(2 * S, &[("sda", 1300), ("sdb", 800)]),
        ];
        let found = devices(&readings);
        let names: Vec<&str> = found.iter().map(|course| course.device.as_str()).collect();
        assert_eq!(names, ["sdb", "sda"], "the busiest first");
        let DeviceCourse { mean, max, steps, .. } = &found[1];
        let places: Vec<_> = steps.iter().map(|step| (step.start_ns, step.end_ns)).collect();
        assert_eq!(places, [(0, S), (S, 2 * S)]);
        assert_eq!((steps[0].figures.read.iops, steps[1].figures.read.iops), (100.0, 200.0));
        assert_eq!((mean.total.iops, max.total.iops), (150.0, 200.0));
        assert_eq!((mean.total.bytes_per_s, mean.read.latency_mean_ns), (150.0 * 4096.0, Some(2e6)));
        assert_eq!((mean.write.latency_mean_ns, max.write.latency_mean_ns), (None, None));
        assert_eq!((steps[1].figures.queue_depth, steps[1].figures.busy_percent), (0.4, 20.0));
    }

    #[test]
    fn a_device_that_is_gone_or_begins_anew_has_no_such_step() {
        let mut readings = [
            reading(0, &[("sda", 10)]),
            reading(S, &[]),
            reading(2 * S, &[("sda", 20)]),
            reading(3 * S, &[("sda", 30)]),
        ];
        let steps = |readings: &[CounterReading]| -> Vec<u64> {
            devices(readings).iter().flat_map(|course| &course.steps).map(|step| step.start_ns).collect()
        };
        assert_eq!(steps(&readings), [2 * S]);
        readings[3] = reading(3 * S, &[("sda", 5)]);
        assert_eq!(devices(&readings), [], "nothing is known of the whole measurement");
        assert_eq!(devices(&[]), []);
        assert_eq!(devices(&readings[..1]), []);
    }

    #[test]
    fn a_scrap_at_the_end_is_no_maximum() {
        let readings = [reading(0, &[("sda", 0)]), reading(S, &[("sda", 100)]), reading(S + S / 100, &[("sda", 200)])];
        let found = devices(&readings);
        assert_eq!((found[0].steps.len(), found[0].max.read.iops), (2, 100.0));
        let alone = devices(&readings[1..]);
        assert_eq!((alone[0].steps.len(), alone[0].max.read.iops), (1, 10_000.0));
    }

    /// A share after this many reads, with this many transmissions and times.
    fn nfs(at_ns: u64, count: u64, transmission_count: u64, [queue_ms, round_trip_ms]: [u64; 2]) -> CounterReading {
        let rpc = RpcCounters {
            transmission_count,
            timeout_count: 0,
            queue_ms,
            round_trip_ms,
            execute_ms: queue_ms + round_trip_ms,
        };
        let read = TransferCounters { count, bytes: count * 4200, rpc: Some(rpc) };
        let write = TransferCounters { rpc: Some(RpcCounters::default()), ..TransferCounters::default() };
        let share = ShareCounters { mount_point: "/mnt".into(), source: "nas:/a".to_owned(), read, write };
        CounterReading { at_ns, shares: vec![share], ..CounterReading::default() }
    }

    #[test]
    fn a_share_has_the_times_of_its_rpcs() {
        let readings = [nfs(0, 50, 50, [5, 5]), nfs(S, 150, 150, [105, 205]), nfs(2 * S, 350, 360, [105, 605])];
        let found = shares(&readings);
        let [ShareCourse { source, mean, max, steps, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(source, "nas:/a");
        let first = steps[0].figures.read.rpc.expect("it is NFS");
        assert_eq!((first.queue_mean_ns, first.round_trip_mean_ns), (Some(1e6), Some(2e6)));
        assert_eq!((first.execute_mean_ns, first.retransmissions_per_s), (Some(3e6), 0.0));
        assert_eq!((mean.total.iops, max.read.iops, mean.read.bytes_per_s), (150.0, 200.0, 150.0 * 4200.0));
        let rpc = max.total.rpc.expect("it is NFS");
        assert_eq!(
            (rpc.queue_mean_ns, rpc.round_trip_mean_ns, rpc.retransmissions_per_s),
            (Some(1e6), Some(2e6), 10.0)
        );
        assert_eq!(steps[1].figures.write.rpc.expect("it is NFS").execute_mean_ns, None);
        let anew = [nfs(0, 50, 50, [5, 5]), nfs(S, 10, 10, [1, 1])];
        assert_eq!(shares(&anew), []);
        assert_eq!(shares(&[]), []);
    }

    #[test]
    fn smb_has_rates_only() {
        let mut readings = [nfs(0, 0, 0, [0, 0]), nfs(S, 100, 100, [0, 0])];
        for share in readings.iter_mut().flat_map(|reading| &mut reading.shares) {
            (share.read.rpc, share.write.rpc) = (None, None);
        }
        let found = shares(&readings);
        assert_eq!((found[0].mean.total.iops, found[0].mean.total.rpc, found[0].max.total.rpc), (100.0, None, None));
    }
}
