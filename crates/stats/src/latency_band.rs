//! The latency that a band judges.

use crate::ranks::P99_PPB;
use model::finding::Severity;
use model::latency_band::{BandKind, LatencyBand, Medium, words};
use model::result::{RunResult, TimeSpanResult};
use model::verdict::Verdict;

/// Judgement of a latency.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The latency in nanoseconds.
    pub latency_ns: f64,
    /// [`Severity::Pass`] up to the last limit, [`Severity::Fail`] above it, [`Severity::Unknown`] if the run is
    /// invalid, or if the limit depends on a property that is not known.
    pub severity: Severity,
    /// The band, marked if it is doubtful.
    pub words: String,
}

/// Judgement of a timespan by bands of this kind; `None` if the latency was not measured.
pub fn judge(span_result: &TimeSpanResult, kind: BandKind, medium: Medium) -> Option<Judgement> {
    let latency_ns = match kind {
        BandKind::Data => crate::headline(span_result)?.mean_ns?,
        BandKind::Log => commit(span_result)?.mean_ns,
    };
    let bands = kind.bands(medium);
    let over = bands.iter().filter(|bands| bands.classify(latency_ns) == LatencyBand::Impacted).count();
    let severity = match over {
        0 => Severity::Pass,
        all if all == bands.len() => Severity::Fail,
        _ => Severity::Unknown,
    };
    let words = words(bands, latency_ns);
    Some(match span_result.verdict.as_ref().and_then(Verdict::severity) {
        Some(Severity::Invalid) => {
            Judgement { latency_ns, severity: Severity::Unknown, words: "not judged (INVALID)".to_owned() }
        }
        Some(Severity::Warn) => Judgement { latency_ns, severity, words: format!("{words}; doubtful (WARN)") },
        _ => Judgement { latency_ns, severity, words },
    })
}

/// How long commits took: durable writes, or writes and the flushes after them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Commit {
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile in nanoseconds; `None` if it was not measured.
    pub p99_ns: Option<u64>,
    /// Commits whose time was measured.
    pub count: u64,
    /// True if a flush is part of it.
    pub has_flush: bool,
}

/// The commits of a timespan; `None` if it wrote nothing, or flushed nothing of what it was to flush.
pub fn commit(span_result: &TimeSpanResult) -> Option<Commit> {
    let measured = span_result.measured.as_ref()?;
    let writes = &measured.total.write;
    let write_ns = writes.latency.as_ref()?.mean_ns;
    let Some(flushes) = measured.flushes else {
        let latencies = measured.total_latency.as_ref().and_then(|latencies| latencies.write.as_ref());
        let p99_ns = latencies.and_then(|latencies| latencies.at(P99_PPB));
        return Some(Commit { mean_ns: write_ns, p99_ns, count: writes.ios, has_flush: false });
    };
    if let (1, Some(commit)) = (flushes.after_writes, flushes.commit) {
        let (mean_ns, p99_ns) = (commit.mean_ns, Some(commit.p99_ns));
        return Some(Commit { mean_ns, p99_ns, count: flushes.count, has_flush: true });
    }
    // Without a single flush nothing was committed. Each write has its part of the flush after it.
    let flush_ns = flushes.latency?.mean_ns;
    // Discards and write-zeroes are flushed, too.
    let operations = measured.operations.iter().map(|of| of.figures.ios);
    let changes = operations.fold(writes.ios, u64::saturating_add);
    let mean_ns = write_ns + flush_ns * flushes.count as f64 / changes.max(1) as f64;
    Some(Commit { mean_ns, p99_ns: None, count: writes.ios, has_flush: true })
}

/// Medium of the disks below the targets, as far as the kernel reports it: virtual disks are reported as rotational
/// whatever the host has.
pub fn medium(result: &RunResult) -> Medium {
    let disks = result.targets.environments.values().flat_map(|environment| environment.disks());
    let rotational: Vec<Option<bool>> = disks.into_iter().map(|disk| disk.queue.rotational).collect();
    if rotational.contains(&Some(true)) {
        if is_virtual(result) { Medium::Unknown } else { Medium::HardDisk }
    } else if rotational.is_empty() || rotational.contains(&None) {
        Medium::Unknown
    } else {
        Medium::Flash
    }
}

/// True in a virtual machine.
pub fn is_virtual(result: &RunResult) -> bool {
    result.environment.as_ref().is_some_and(|environment| environment.virtual_machine().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::block_device::{BlockDevice, DeviceKind};
    use model::environment::{Backing, Environment, Hypervisor, TargetEnvironment};
    use model::figures::{CommitFigures, Directions, Figures, FlushFigures, LatencyFigures};
    use model::finding::{Finding, Source};
    use model::result::Measured;

    fn span(write_ms: f64, flushes: Option<FlushFigures>) -> TimeSpanResult {
        let write = Figures { ios: 100, latency: Some(latency(write_ms)), ..Figures::default() };
        let total = Directions { write, ..Directions::default() };
        let measured = Measured { total, flushes, ..Measured::default() };
        TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }
    }

    fn latency(mean_ms: f64) -> LatencyFigures {
        LatencyFigures { mean_ns: mean_ms * 1e6, ..LatencyFigures::default() }
    }

    #[test]
    fn a_commit_is_a_write_and_its_share_of_the_flushes() {
        let flushes =
            |count, latency| Some(FlushFigures { after_writes: 1, count, latency, ..FlushFigures::default() });
        let mean_ns = |span: &TimeSpanResult| commit(span).map(|commit| commit.mean_ns);
        assert_eq!(mean_ns(&span(2.0, None)), Some(2e6));
        assert_eq!(mean_ns(&span(2.0, flushes(100, Some(latency(3.0))))), Some(5e6));
        assert_eq!(mean_ns(&span(2.0, flushes(25, Some(latency(4.0))))), Some(3e6));
        assert_eq!(mean_ns(&span(2.0, flushes(0, None))), None);
        assert_eq!(mean_ns(&TimeSpanResult::default()), None);
        let timed = CommitFigures { mean_ns: 5.5e6, p50_ns: 5_000_000, p99_ns: 9_000_000, max_ns: 10_000_000 };
        let timed = flushes(100, Some(latency(3.0))).map(|flushes| FlushFigures { commit: Some(timed), ..flushes });
        let expected = Commit { mean_ns: 5.5e6, p99_ns: Some(9_000_000), count: 100, has_flush: true };
        assert_eq!(commit(&span(2.0, timed)), Some(expected));
    }

    #[test]
    fn a_judgement_is_no_surer_than_its_run_and_its_limits() {
        let judged = |ms: f64, medium, findings: &[(&str, Severity)]| {
            let finding = |(name, severity): &(&str, Severity)| Finding {
                name: (*name).to_owned(),
                severity: *severity,
                subject: String::new(),
                figure: String::new(),
                value: None,
                advice: String::new(),
                basis: String::new(),
                source: Source::Verdict,
            };
            let verdict = Some(Verdict { findings: findings.iter().map(finding).collect() });
            let judged = judge(&TimeSpanResult { verdict, ..span(ms, None) }, BandKind::Log, medium);
            let Judgement { severity, words, .. } = judged.expect("there are writes");
            format!("{severity} {words}")
        };
        let note = ("short-run", Severity::Note);
        assert_eq!(judged(3.0, Medium::HardDisk, &[note]), "PASS ideal (up to 5 ms on a hard disk)");
        let contention = ("cpu-contention", Severity::Warn);
        assert_eq!(
            judged(3.0, Medium::HardDisk, &[contention, note]),
            "PASS ideal (up to 5 ms on a hard disk); doubtful (WARN)"
        );
        assert_eq!(judged(3.0, Medium::Unknown, &[]), "PASS ideal for a hard disk, some impact for flash");
        assert_eq!(judged(7.0, Medium::Unknown, &[]), "UNKNOWN some impact for a hard disk, impacted for flash");
        assert_eq!(judged(11.0, Medium::Unknown, &[]), "FAIL impacted for a hard disk and flash");
        assert_eq!(
            judged(3.0, Medium::Flash, &[("wrong-clock", Severity::Invalid), contention]),
            "UNKNOWN not judged (INVALID)"
        );
    }

    /// A page called a commit of 4 ms ideal for a disk that only a virtual machine took for one.
    #[test]
    fn a_virtual_disk_is_not_known_to_be_a_hard_disk() {
        let band = |rotational, hypervisor| {
            let mut disk = BlockDevice { name: "vda".to_owned(), kind: DeviceKind::Disk, ..BlockDevice::default() };
            disk.queue.rotational = rotational;
            let environment = TargetEnvironment { backing: Backing::Devices(vec![disk]), ..Default::default() };
            let mut result = RunResult::default();
            result.targets.environments.insert("a.dat".into(), environment);
            result.environment = Some(Environment { hypervisor: Some(hypervisor), ..Environment::default() });
            medium(&result)
        };
        assert_eq!(band(Some(true), Hypervisor::None), Medium::HardDisk);
        assert_eq!(band(Some(true), Hypervisor::Unnamed), Medium::Unknown);
        assert_eq!(band(Some(false), Hypervisor::Unnamed), Medium::Flash);
        assert_eq!(band(None, Hypervisor::None), Medium::Unknown);
        assert_eq!(medium(&RunResult::default()), Medium::Unknown);
    }
}
