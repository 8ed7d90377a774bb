//! Tables of the devices and shares below the targets.

use super::block::{Column, Table, dash};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant};
use model::plan::OpenPlan;
use model::profile::{Target, TimeSpan};
use model::result::Measured;
use model::storage_course::{
    CacheFigures, CacheHits, DeviceCourse, DeviceFigures, RpcFigures, ShareCourse, ShareFigures,
};
use model::units::mib;

/// All tables, as far as the result has them.
pub(crate) fn tables(span: Option<&TimeSpan>, measured: &Measured) -> [Option<Table>; 3] {
    [devices(measured, flushes(span, measured)), caches(measured), shares(measured)]
}

/// Explains why a device has more writes than a run that flushes them.
pub(crate) const FLUSHES_COUNT: &str = " This run flushes what it writes: the kernel counts flushes of a device's cache, and \
                                        the journal of the file system, as writes of the device, and \
                                        in its depth.";

/// True if writes were made durable one by one.
pub(crate) fn flushes(span: Option<&TimeSpan>, measured: &Measured) -> bool {
    let is_through = |target: &Target, span| OpenPlan::new(span, target).write_through;
    let is_any_through = span.is_some_and(|span| span.targets.iter().any(|target| is_through(target, span)));
    measured.total.write.ios > 0 && (measured.flushes.is_some() || is_any_through)
}

/// The devices over the measurement.
fn devices(measured: &Measured, flushes: bool) -> Option<Table> {
    let row = |device: &str, figure: &str, figures: &DeviceFigures| {
        let DeviceFigures { read, write, total, queue_depth, busy_percent } = figures;
        let time = |ns: Option<f64>| ns.map_or_else(dash, latency);
        vec![
            text(device),
            figure.to_owned(),
            rate(read.iops),
            rate(write.iops),
            rate(mib(total.bytes_per_s)),
            time(read.latency_mean_ns),
            time(write.latency_mean_ns),
            significant(*queue_depth),
            Quantity::Percent.value(*busy_percent),
        ]
    };
    let rows_of =
        |DeviceCourse { device, mean, max, .. }: &DeviceCourse| [row(device, "mean", mean), row(device, "max", max)];
    let numbers = ["reads/s", "writes/s", "MiB/s", "read latency", "write latency", "queue depth", "busy"];
    (!measured.devices.is_empty()).then(|| Table {
        heading: "Devices over the measurement".to_owned(),
        columns: ["device", "figure"].map(Column::text).into_iter().chain(numbers.map(Column::number)).collect(),
        rows: measured.devices.iter().flat_map(rows_of).collect(),
        note: format!(
            "Requests of all programs, by the kernel's counters (/sys/block/*/stat); {}.{}",
            steps(measured.devices.first().map_or(0, |device| device.steps.len())),
            if flushes { FLUSHES_COUNT } else { "" }
        ),
        ..Table::default()
    })
}

/// The caches over the measurement.
fn caches(measured: &Measured) -> Option<Table> {
    let row = |cache: &str, kind: &str, hits: Option<&CacheHits>, bypassed: Option<u64>| {
        let count = |of: fn(&CacheHits) -> u64| hits.map_or_else(dash, |hits| grouped(of(hits) as f64));
        let share = hits.and_then(|hits| hits.hit_percent).map_or_else(dash, |share| Quantity::Percent.value(share));
        let bypassed = bypassed.map_or_else(dash, |reads| grouped(reads as f64));
        vec![text(cache), kind.to_owned(), count(|hits| hits.hits), count(|hits| hits.misses), bypassed, share]
    };
    let rows_of = |CacheFigures { cache, read, write, bypassed_reads }: &CacheFigures| {
        let writes = write.as_ref().map(|write| row(cache, "writes", Some(write), None));
        [Some(row(cache, "reads", Some(read), *bypassed_reads)), writes].into_iter().flatten()
    };
    let numbers = ["hits", "misses", "bypassed", "hit rate"].map(Column::number);
    (!measured.caches.is_empty()).then(|| Table {
        heading: "Caches over the measurement".to_owned(),
        columns: ["cache", "kind"].map(Column::text).into_iter().chain(numbers).collect(),
        rows: measured.caches.iter().flat_map(rows_of).collect(),
        note: "I/Os of all programs, as the caches count them (bcache adds to its counters every 14 s).".to_owned(),
        ..Table::default()
    })
}

fn rate(per_s: f64) -> String {
    if per_s >= 1000.0 { grouped(per_s) } else { significant(per_s) }
}

/// The shares over the measurement; times of RPCs if any of them has some.
fn shares(measured: &Measured) -> Option<Table> {
    let has_times = measured.shares.iter().any(|share| share.mean.total.rpc.is_some());
    let row = |source: &str, figure: &str, ShareFigures { read, write, total }: &ShareFigures| {
        let time = |of: fn(&RpcFigures) -> Option<f64>| total.rpc.as_ref().and_then(of).map_or_else(dash, latency);
        let mut cells =
            vec![text(source), figure.to_owned(), rate(read.iops), rate(write.iops), rate(mib(total.bytes_per_s))];
        if has_times {
            cells.extend([
                time(|rpc| rpc.round_trip_mean_ns),
                time(|rpc| rpc.queue_mean_ns),
                time(|rpc| rpc.execute_mean_ns),
                total.rpc.map_or_else(dash, |rpc| significant(rpc.retransmissions_per_s)),
            ]);
        }
        cells
    };
    let rows_of =
        |ShareCourse { source, mean, max, .. }: &ShareCourse| [row(source, "mean", mean), row(source, "max", max)];
    let times = ["RTT", "queue", "execute", "retrans per s"].into_iter().filter(|_| has_times);
    let numbers = ["reads per s", "writes per s", "MiB/s"].into_iter().chain(times).map(Column::number);
    (!measured.shares.is_empty()).then(|| Table {
        heading: "Shares over the measurement".to_owned(),
        columns: ["share", "figure"].map(Column::text).into_iter().chain(numbers).collect(),
        rows: measured.shares.iter().flat_map(rows_of).collect(),
        note: format!(
            "Requests of all programs of this machine, by the kernel's counters (/proc/self/mountstats, \
             /proc/fs/cifs/Stats); {}. RTT: from sending to the reply; queue: before sending; execute: the whole RPC.",
            steps(measured.shares.first().map_or(0, |share| share.steps.len()))
        ),
        ..Table::default()
    })
}

fn steps(count: usize) -> String {
    if count == 1 { "one step".to_owned() } else { format!("mean and highest of {count} steps") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::storage_course::{DeviceRequests, DeviceStep, ShareStep, ShareTransfers};

    fn rows(table: &Table) -> Vec<String> {
        table.rows.iter().map(|row| row.join(" | ")).collect()
    }

    #[test]
    fn devices_have_mean_and_highest() {
        let read = DeviceRequests { iops: 6400.0, bytes_per_s: 6400.0 * 8192.0, latency_mean_ns: Some(1.25e6) };
        let mean =
            DeviceFigures { read, total: read, queue_depth: 7.96, busy_percent: 99.5, ..DeviceFigures::default() };
        let max = DeviceFigures { queue_depth: 9.0, ..mean };
        let course = DeviceCourse { device: "nvme0n1".to_owned(), mean, max, steps: vec![DeviceStep::default(); 60] };
        let measured = Measured { devices: vec![course], ..Measured::default() };
        let [devices, caches, shares] = tables(None, &measured);
        let devices = devices.expect("a table");
        assert_eq!(
            rows(&devices),
            [
                "nvme0n1 | mean | 6,400 | 0 | 50 | 1.25 ms | - | 7.96 | 99.5 %",
                "nvme0n1 | max | 6,400 | 0 | 50 | 1.25 ms | - | 9 | 99.5 %"
            ]
        );
        assert!(devices.note.ends_with("; mean and highest of 60 steps.") && shares.is_none(), "{}", devices.note);
        assert!(caches.is_none());
    }

    #[test]
    fn caches_have_a_row_for_reads_and_one_for_writes_that_they_count() {
        let hits = |hits, misses, hit_percent| CacheHits { hits, misses, hit_percent };
        let cache = |cache: &str, read, write, bypassed_reads| CacheFigures {
            cache: cache.to_owned(),
            read,
            write,
            bypassed_reads,
        };
        let caches = vec![
            cache("bcache0", hits(9000, 1000, Some(90.0)), None, Some(12)),
            cache("dm-3", hits(0, 0, None), Some(hits(3, 1, Some(75.0))), None),
        ];
        let [_, found, _] = tables(None, &Measured { caches, ..Measured::default() });
        assert_eq!(
            rows(&found.expect("a table")),
            [
                "bcache0 | reads | 9,000 | 1,000 | 12 | 90 %",
                "dm-3 | reads | 0 | 0 | - | -",
                "dm-3 | writes | 3 | 1 | - | 75 %"
            ]
        );
    }

    #[test]
    fn shares_have_times_if_they_are_counted() {
        let share = |source: &str, rpc| {
            let read = ShareTransfers { iops: 512.0, bytes_per_s: 4_194_304.0, rpc };
            let mean = ShareFigures { read, total: read, ..ShareFigures::default() };
            let steps = vec![ShareStep::default()];
            ShareCourse { source: source.to_owned(), mean, max: mean, steps, ..ShareCourse::default() }
        };
        let rpc = RpcFigures {
            execute_mean_ns: Some(3.5e6),
            queue_mean_ns: Some(1e6),
            round_trip_mean_ns: Some(2.5e6),
            retransmissions_per_s: 0.5,
        };
        let table = |courses: &[ShareCourse]| {
            shares(&Measured { shares: courses.to_vec(), ..Measured::default() }).expect("a table")
        };
        let smb = share("//filer/bench", None);
        let both = table(&[share("nas:/a", Some(rpc)), smb.clone()]);
        assert_eq!(both.columns.len(), 9);
        assert_eq!(rows(&both)[0], "nas:/a | mean | 512 | 0 | 4 | 2.5 ms | 1 ms | 3.5 ms | 0.5");
        assert_eq!(rows(&both)[3], "//filer/bench | max | 512 | 0 | 4 | - | - | - | -");
        assert!(both.note.contains("; one step. RTT"), "{}", both.note);
        let alone = table(&[smb]);
        assert_eq!((alone.columns.len(), &*rows(&alone)[0]), (5, "//filer/bench | mean | 512 | 0 | 4"));
    }
}
