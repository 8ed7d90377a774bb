//! Results in the form of fio's JSON (`--output-format=json+`), for programs that read that.
//!
//! A stream is a job, a timespan a group. `docs/outputs.md` documents the values of figures that are not measured.

mod object;
mod options;

use jiff::Timestamp;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures};
use model::kernel_counters::DeviceCounters;
use model::operation::Operation;
use model::profile::{Target, TimeSpan};
use model::result::{Measured, RunResult, StreamFigures, TimeSpanResult};
use model::units::UnixTime;
use model::version::IMPLEMENTATION_VERSION;
use object::{Object, Value};
use report::fio_form::{self, Samples};
use std::io::{self, Write};

/// The prefix of the version: the fio version whose form it is and, like fio's own suffixes, the program.
pub(crate) const VERSION_PREFIX: &str = "fio-3.36-diskspd-";

/// A stream, or a whole timespan.
struct Job<'a> {
    name: &'a str,
    targets: Vec<usize>,
    figures: Directions<Figures>,
    latency: Directions<Option<&'a LatencyDistribution>>,
    threads: u64,
    /// True if it has the figures that are only known for the whole timespan.
    is_whole: bool,
    /// True if it has discards and flushes, which are not known per stream.
    has_changes: bool,
}

/// Writes a result.
pub fn fio(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let (mut jobs, mut end_ms) = (Vec::new(), None);
    let nothing = Measured::default();
    let spans = result.profile.time_spans.iter().zip(&result.time_spans);
    for (group, (span, span_result)) in (0_u64..).zip(spans) {
        let offset_ns = offset_ns(result, span_result);
        let start_ms = offset_ns.and_then(|ns| u64::try_from((result.started_at.0 + i128::from(ns)) / 1_000_000).ok());
        let measured = span_result.measured.as_ref().unwrap_or(&nothing);
        let length_ns = measured.elapsed_ns.saturating_add(u64::from(span.warm_up_s) * 1_000_000_000);
        end_ms = start_ms.map(|ms| ms.saturating_add(length_ns / 1_000_000)).max(end_ms);
        // fio has a kernel error number, which results lack: EIO.
        let error = if span_result.errors.is_empty() { 0 } else { 5 };
        for job in jobs_of(measured, &span.targets) {
            let about = Object::default().with([("jobname", Some(job.name))]).with([
                ("groupid", Some(group)),
                ("job_start", start_ms),
                ("error", Some(error)),
                ("eta", Some(0)),
                ("elapsed", Some(offset_ns.unwrap_or(0).saturating_add(length_ns).div_ceil(1_000_000_000))),
            ]);
            let options = Value::Object(options_of(&job, span, span_result));
            jobs.push(figures(about.with([("job options", Some(options))]), &job, span_result, measured));
        }
    }
    let disks = if let [span] = &result.time_spans[..] { disks(span) } else { Vec::new() };
    let time = end_ms.and_then(|ms| Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok());
    let document = Object::default().with([
        ("fio version", Some(format!("{VERSION_PREFIX}{IMPLEMENTATION_VERSION}").into())),
        ("timestamp", end_ms.map(|ms| (ms / 1000).into())),
        ("timestamp_ms", end_ms.map(Value::from)),
        ("time", time.map(|time| time.strftime("%a %b %e %H:%M:%S %Y").to_string().into())),
        ("global options", Some(Value::Object(Object::default()))),
        ("jobs", Some(Value::List(jobs))),
        ("disk_util", Some(Value::List(disks))),
    ]);
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// Start of a timespan in nanoseconds since the start of the first one; `None` = unknown.
fn offset_ns(result: &RunResult, span_result: &TimeSpanResult) -> Option<u64> {
    let first = result.time_spans.first().filter(|_| result.started_at != UnixTime::UNKNOWN)?;
    let timing = |of: &TimeSpanResult| of.timing.as_ref().map(|timing| timing.planned_start_ns);
    if std::ptr::eq(first, span_result) { Some(0) } else { timing(span_result)?.checked_sub(timing(first)?) }
}

/// Streams; without streams, one job.
fn jobs_of<'a>(measured: &'a Measured, targets: &[Target]) -> Vec<Job<'a>> {
    let has_stream = |index| measured.streams.iter().any(|of| of.targets.contains(&index));
    if measured.streams.is_empty() || !(0..targets.len()).all(has_stream) {
        return vec![Job {
            name: "diskspd",
            targets: (0..targets.len()).collect(),
            figures: measured.total,
            latency: measured.total_latency.as_ref().map(by_reference).unwrap_or_default(),
            threads: u64::from(measured.thread_count),
            is_whole: true,
            has_changes: true,
        }];
    }
    let writes = |stream: &StreamFigures| stream.targets.iter().any(|at| targets.get(*at).is_some_and(Target::writes));
    let first_that_writes = measured.streams.iter().position(writes).unwrap_or(0);
    let job = |(index, stream): (usize, &'a StreamFigures)| {
        let rows = measured.rows.iter().filter(|row| stream.targets.contains(&row.target)).count();
        // Clones of a job of fio are streams of the same target.
        let clones = measured.streams.iter().filter(|other| other.targets == stream.targets).count();
        Job {
            name: stream.name.as_str(),
            targets: stream.targets.clone(),
            figures: stream.figures,
            latency: by_reference(&stream.latency),
            threads: (rows / clones.max(1)) as u64,
            is_whole: measured.streams.len() == 1,
            has_changes: index == first_that_writes,
        }
    };
    measured.streams.iter().enumerate().map(job).collect()
}

fn by_reference(of: &Directions<Option<LatencyDistribution>>) -> Directions<Option<&LatencyDistribution>> {
    Directions { read: of.read.as_ref(), write: of.write.as_ref(), total: of.total.as_ref() }
}

fn options_of(job: &Job<'_>, span: &TimeSpan, span_result: &TimeSpanResult) -> Object {
    let targets: Vec<_> = job.targets.iter().filter_map(|index| span.targets.get(*index)).collect();
    let mut engines = job.targets.iter().map(|index| span_result.engines.get(*index).copied());
    let engine = engines.next().flatten().filter(|first| engines.all(|other| other == Some(*first)));
    options::options(span, &targets, engine, job.threads)
}

/// Adds the figures of a job.
fn figures(about: Object, job: &Job<'_>, span_result: &TimeSpanResult, measured: &Measured) -> Object {
    let elapsed_ms = measured.elapsed_ns.saturating_add(500_000) / 1_000_000;
    let samples = |counts, of: &Figures| {
        fio_form::samples(counts, measured.series.width_ns).filter(|_| job.is_whole && of.ios > 0)
    };
    let trim = measured.operations.iter().find(|of| of.operation == Operation::Discard).filter(|_| job.has_changes);
    let (trims, trim_latency) = trim.map(|of| (of.figures, of.latency.as_ref())).unwrap_or_default();
    let Directions { read, write, .. } = &job.figures;
    let directions = [
        ("read", direction(read, job.latency.read, elapsed_ms, samples(&measured.series.read, read))),
        ("write", direction(write, job.latency.write, elapsed_ms, samples(&measured.series.write, write))),
        ("trim", direction(&trims, trim_latency, elapsed_ms, None)),
    ];
    let flushes = measured.flushes.filter(|_| job.has_changes);
    let count = flushes.map_or(0, |of| of.count);
    let flush_latency = latencies(flushes.and_then(|of| of.latency), measured.flush_latency.as_ref(), count);
    let sync = Object::default().with([("total_ios", Some(count.into())), ("lat_ns", Some(flush_latency))]);
    let (user, system) = fio_form::cpu_percent(span_result, job.threads).filter(|_| job.is_whole).unwrap_or_default();
    let parts: Vec<_> = [job.latency.read, job.latency.write, trim_latency].into_iter().flatten().collect();
    let tables = fio_form::range_shares(&parts).map(|shares| {
        let name = |edge: Option<u64>| edge.map_or_else(|| ">=2000".to_owned(), |edge| edge.to_string());
        Value::Object(Object::default().with(shares.into_iter().map(|(edge, percent)| (name(edge), Some(percent)))))
    });
    let members = directions.into_iter().chain([("sync", sync)]).map(|(name, of)| (name, Some(Value::Object(of))));
    let resources = [
        ("job_runtime", Some(elapsed_ms.saturating_mul(job.threads).into())),
        ("usr_cpu", Some(user.into())),
        ("sys_cpu", Some(system.into())),
        ("ctx", Some(Value::from(0))),
        ("majf", Some(0.into())),
        ("minf", Some(0.into())),
    ];
    let names = ["latency_ns", "latency_us", "latency_ms"];
    about.with(members).with(resources).with(names.into_iter().zip(tables.map(Some)))
}

fn direction(
    figures: &Figures,
    distribution: Option<&LatencyDistribution>,
    elapsed_ms: u64,
    samples: Option<(Samples, Samples)>,
) -> Object {
    let bytes_per_s = figures.bytes_per_s.round() as u64;
    let latency = latencies(figures.latency, distribution, figures.ios);
    let (bandwidth, iops) = samples.unwrap_or_default();
    let members: [(&str, Value); 23] = [
        ("io_bytes", figures.bytes.into()),
        ("io_kbytes", (figures.bytes >> 10).into()),
        ("bw_bytes", bytes_per_s.into()),
        ("bw", (bytes_per_s >> 10).into()),
        ("iops", figures.iops.into()),
        ("runtime", if figures.ios > 0 { elapsed_ms } else { 0 }.into()),
        ("total_ios", figures.ios.into()),
        // A short transfer is an error here.
        ("short_ios", 0.into()),
        ("drop_ios", 0.into()),
        ("slat_ns", latencies(None, None, 0)),
        ("clat_ns", latency.clone()),
        ("lat_ns", latency),
        ("bw_min", bandwidth.min.into()),
        ("bw_max", bandwidth.max.into()),
        ("bw_agg", if bandwidth.count > 0 { 100.0 } else { 0.0 }.into()),
        ("bw_mean", bandwidth.mean.into()),
        ("bw_dev", bandwidth.std_dev.into()),
        ("bw_samples", bandwidth.count.into()),
        ("iops_min", iops.min.into()),
        ("iops_max", iops.max.into()),
        ("iops_mean", iops.mean.into()),
        ("iops_stddev", iops.std_dev.into()),
        ("iops_samples", iops.count.into()),
    ];
    Object::default().with(members.map(|(name, value)| (name, Some(value))))
}

/// Latencies; zeros, as in fio, if there are none.
fn latencies(figures: Option<LatencyFigures>, distribution: Option<&LatencyDistribution>, ios: u64) -> Value {
    let distribution = distribution.filter(|of| of.count > 0 && ios > 0);
    let none = LatencyFigures { min_ns: Some(0), max_ns: Some(0), ..LatencyFigures::default() };
    let count = if distribution.is_some() || figures.is_some() { distribution.map_or(ios, |of| of.count) } else { 0 };
    // Imported results have moments without extremes, and extremes without moments.
    let extremes = distribution.map(|of| of.figures).or(figures).unwrap_or(none);
    let moments = figures.unwrap_or(extremes);
    let percentiles = distribution.map(|distribution| {
        let named = fio_form::RANKS_PPB
            .map(|rank_ppb| (format!("{:.6}", rank_ppb as f64 / 1e7), fio_form::percentile_ns(distribution, rank_ppb)));
        Value::Object(Object::default().with(named))
    });
    let bins = distribution.filter(|of| !of.buckets.is_empty()).map(|of| {
        let bins = fio_form::bins(&of.buckets).into_iter().map(|(ns, count)| (ns.to_string(), Some(count)));
        Value::Object(Object::default().with(bins))
    });
    Value::Object(Object::default().with([
        ("min", extremes.min_ns.map(Value::from)),
        ("max", extremes.max_ns.map(Value::from)),
        ("mean", Some(moments.mean_ns.into())),
        ("stddev", Some(moments.std_dev_ns.into())),
        ("N", Some(count.into())),
        ("percentile", percentiles),
        ("bins", bins),
    ]))
}

/// The kernel's counts of the block devices below the targets.
fn disks(span_result: &TimeSpanResult) -> Vec<Object> {
    let since = span_result.kernel_counters.iter().map(|around| around.after.since(&around.before));
    let disk = |(name, of): (String, DeviceCounters)| {
        Object::default()
            .with([("name", Some(name))])
            .with([
                ("read_ios", Some(of.read.count)),
                ("write_ios", Some(of.write.count)),
                ("read_sectors", Some(of.read.bytes / 512)),
                ("write_sectors", Some(of.write.bytes / 512)),
                ("read_merges", Some(of.read.merged_count)),
                ("write_merges", Some(of.write.merged_count)),
                ("read_ticks", Some(of.read.time_ms)),
                ("write_ticks", Some(of.write.time_ms)),
                ("in_queue", Some(of.queue_time_ms)),
            ])
            .with([("util", fio_form::busy_percent(&of, span_result))])
    };
    since.flat_map(|since| since.devices).map(disk).collect()
}
