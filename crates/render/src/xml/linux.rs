//! Data that `DiskSpd`'s document cannot hold, in the last element of a timespan.
//!
//! Its elements share no name with `DiskSpd`'s, so that readers which search the whole document for a name find the
//! same as before.

use super::events;
use super::number::{ms, percent, two_decimals};
use super::statistics::{ranks, value_ns};
use super::writer::Writer;
use model::confidence::{HalfWidths, Interval, PercentileHalfWidth, Withheld};
use model::expectation::{Ceiling, Expectation};
use model::figures::{CommitFigures, Directions, FlushFigures, LatencyDistribution, OperationFigures, RotationFigures};
use model::finding::Finding;
use model::profile::FlushCall;
use model::result::{
    HottestShare, LoadLoop, RampInterval, ReductionFigures, RunResult, SkewFigures, StreamFigures, TimeSpanResult,
};
use model::units::mib;
use model::verdict::Verdict;
use model::verification::VerificationFigures;
use std::fmt::Display;
use std::io;

/// Data of the whole run, here because the document has no other place for it.
pub(super) struct AboutRun<'a> {
    /// In the first timespan.
    pub(super) before: Option<&'a RunResult>,
    /// In the last timespan.
    pub(super) after: Option<&'a RunResult>,
}

pub(super) fn element(xml: &mut Writer<'_>, span_result: &TimeSpanResult, about_run: &AboutRun<'_>) -> io::Result<()> {
    xml.inside("Linux", &[], |xml| {
        if let Some(RunResult { command_line, labels, .. }) = about_run.before {
            xml.element("CommandLine", command_line)?;
            for (name, value) in labels {
                xml.element_with("Label", &[("Name", name)], value)?;
            }
        }
        if let Some(measured) = &span_result.measured {
            // The test time has two decimals, too few to divide by after a short run.
            xml.element("ElapsedNanoseconds", measured.elapsed_ns)?;
            if measured.is_partial {
                xml.element("Partial", true)?;
            }
        }
        for engine in &span_result.engines {
            xml.element("Engine", engine.name())?;
        }
        for error in &span_result.errors {
            xml.element("Failure", error)?;
        }
        for note in &span_result.notes {
            xml.element("Note", note)?;
        }
        if let Some(RunResult { errors, warnings, notes, .. }) = about_run.after {
            errors.iter().try_for_each(|error| xml.element("RunFailure", error))?;
            warnings.iter().try_for_each(|warning| xml.element("RunWarning", warning))?;
            notes.iter().try_for_each(|note| xml.element("RunNote", note))?;
        }
        if let Some(events) = &span_result.kernel_events {
            events::beside(xml, events)?;
        }
        let targets = span_result.measured.iter().flat_map(|measured| &measured.target_latencies);
        targets.into_iter().try_for_each(|target| {
            latency(xml, "TargetLatency", &[("Path", target.path.display().to_string())], &target.latency)
        })?;
        let load_loop = span_result.measured.as_ref().and_then(|measured| measured.load_loop.as_ref());
        load_loop.map_or(Ok(()), |load_loop| self::load_loop(xml, load_loop))?;
        let flushes = span_result.measured.as_ref().and_then(|measured| measured.flushes.as_ref());
        flushes.map_or(Ok(()), |flushes| self::flushes(xml, flushes))?;
        let rotations = span_result.measured.as_ref().and_then(|measured| measured.rotations.as_ref());
        rotations.map_or(Ok(()), |rotations| self::rotations(xml, rotations))?;
        let operations = span_result.measured.iter().flat_map(|measured| &measured.operations);
        operations.into_iter().try_for_each(|of| operation(xml, of))?;
        let skews = span_result.measured.iter().flat_map(|measured| &measured.skews);
        skews.into_iter().try_for_each(|skew| self::skew(xml, skew))?;
        let streams = span_result.measured.iter().flat_map(|measured| &measured.streams);
        streams.into_iter().try_for_each(|of| stream(xml, of))?;
        let reductions = span_result.measured.iter().flat_map(|measured| &measured.reductions);
        reductions.into_iter().try_for_each(|of| reduction(xml, of))?;
        span_result.verification.as_ref().map_or(Ok(()), |found| verification(xml, found))?;
        let confidence = span_result.measured.as_ref().and_then(|measured| measured.confidence.as_ref());
        confidence.map_or(Ok(()), |confidence| self::confidence(xml, confidence))?;
        span_result.verdict.as_ref().map_or(Ok(()), |verdict| self::verdict(xml, verdict))?;
        span_result.expectation.as_ref().map_or(Ok(()), |expectation| self::expectation(xml, expectation))?;
        if span_result.requirements.is_empty() {
            return Ok(());
        }
        xml.inside("Requirements", &[], |xml| span_result.requirements.iter().try_for_each(|found| finding(xml, found)))
    })
}

fn verdict(xml: &mut Writer<'_>, verdict: &Verdict) -> io::Result<()> {
    xml.inside("Verdict", &[], |xml| verdict.findings.iter().try_for_each(|found| finding(xml, found)))
}

fn finding(xml: &mut Writer<'_>, found: &Finding) -> io::Result<()> {
    // The element around it has the source.
    let Finding { name, severity, subject, figure, value, advice, basis, source: _ } = found;
    let value = value.map(|value| value.to_string());
    let mut attributes: Vec<(&str, &dyn Display)> = vec![("Name", name), ("Severity", severity)];
    if !subject.is_empty() {
        attributes.push(("Subject", subject));
    }
    attributes.extend(value.as_ref().map(|value| ("Value", value as &dyn Display)));
    xml.inside("Finding", &attributes, |xml| {
        xml.element("Figure", figure)?;
        for (element, text) in [("Advice", advice), ("Basis", basis)].into_iter().filter(|(_, text)| !text.is_empty()) {
            xml.element(element, text)?;
        }
        Ok(())
    })
}

/// The results against the stated limits, at full precision: shares are small if a ceiling is far away.
fn expectation(xml: &mut Writer<'_>, expectation: &Expectation) -> io::Result<()> {
    let Expectation { ceilings, binding, findings } = expectation;
    xml.inside("Expectation", &[("Binding", binding)], |xml| {
        for Ceiling { name, unit, limit, reached, share_percent, is_estimate, parts } in ceilings {
            let attributes: [(&str, &dyn Display); 7] = [
                ("Name", name),
                ("Unit", &unit.xml()),
                ("Limit", limit),
                ("Reached", reached),
                ("SharePercent", share_percent),
                ("Estimate", is_estimate),
                ("Parts", parts),
            ];
            xml.empty("Ceiling", &attributes)?;
        }
        findings.iter().try_for_each(|found| finding(xml, found))
    })
}

/// Confidence intervals and half their widths, with the decimals of the text report.
fn confidence(xml: &mut Writer<'_>, confidence: &Directions<Option<HalfWidths>>) -> io::Result<()> {
    let Directions { read, write, total } = confidence;
    xml.inside("Confidence", &[("Percent", &95)], |xml| {
        for (direction, intervals) in [("Read", read), ("Write", write), ("Total", total)] {
            intervals.as_ref().map_or(Ok(()), |intervals| half_widths(xml, direction, intervals))?;
        }
        Ok(())
    })
}

fn half_widths(xml: &mut Writer<'_>, direction: &str, intervals: &HalfWidths) -> io::Result<()> {
    let mut attributes: Vec<(&str, String)> = vec![("Direction", direction.to_owned())];
    let mut add =
        |names: [&'static str; 3], half: Option<f64>, interval: Option<Interval>, shown: fn(f64) -> String| {
            let values = [half, interval.map(|found| found.low), interval.map(|found| found.high)];
            let known = names.into_iter().zip(values).filter_map(|(name, value)| Some((name, shown(value?))));
            attributes.extend(known);
        };
    let in_mib = |bytes| two_decimals(mib(bytes));
    let ios = ["IosPerSecond", "IosPerSecondLow", "IosPerSecondHigh"];
    add(ios, intervals.iops, intervals.iops_interval, two_decimals);
    let bytes = ["MiBPerSecond", "MiBPerSecondLow", "MiBPerSecondHigh"];
    add(bytes, intervals.bytes_per_s, intervals.bytes_per_s_interval, in_mib);
    let mean = ["AvgMilliseconds", "AvgMillisecondsLow", "AvgMillisecondsHigh"];
    add(mean, intervals.latency_mean_ns, intervals.latency_mean_interval_ns, ms);
    if let Some(Withheld { dependence_s, measure_s }) = &intervals.withheld {
        attributes.extend(dependence_s.map(|seconds| ("DependenceSeconds", two_decimals(seconds))));
        // 0: not estimated. The attribute also shows that an interval was withheld.
        attributes.push(("MeasureSeconds", two_decimals(measure_s.unwrap_or(0.0))));
    }
    let attributes: Vec<(&str, &dyn Display)> =
        attributes.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
    xml.inside("HalfWidths", &attributes, |xml| {
        intervals.percentiles.iter().try_for_each(|PercentileHalfWidth { rank_ppb, half_width_ns, interval_ns }| {
            let (rank, half) = (percent(*rank_ppb), ms(*half_width_ns));
            let ends = interval_ns.map(|found| (ms(found.low), ms(found.high)));
            let mut attributes: Vec<(&str, &dyn Display)> = vec![("Percent", &rank), ("Milliseconds", &half)];
            if let Some((low, high)) = &ends {
                attributes.extend([("Low", low as &dyn Display), ("High", high)]);
            }
            xml.empty("Rank", &attributes)
        })
    })
}

/// The cause of I/O starts.
fn load_loop(xml: &mut Writer<'_>, load_loop: &LoadLoop) -> io::Result<()> {
    let open = match load_loop {
        LoadLoop::Closed { depth } => return xml.empty("ClosedLoop", &[("Depth", depth)]),
        LoadLoop::Open(open) => open,
    };
    let attributes: [(&str, &dyn Display); 8] = [
        ("Depth", &open.depth),
        ("IntendedRate", &open.rate_iops),
        ("Process", &open.process),
        ("IntendedStarts", &open.intended_starts),
        ("Backlog", &open.backlog),
        ("DelayedByDepth", &open.delayed_by_depth),
        ("LatenessAvgMilliseconds", &ms(open.lateness_mean_ns)),
        ("LatenessMaxMilliseconds", &ms(open.lateness_max_ns as f64)),
    ];
    xml.inside("OpenLoop", &attributes, |xml| {
        open.ramp.iter().try_for_each(|interval| ramp_interval(xml, interval))?;
        latency(xml, "ResponseTime", &[], &open.response_time)?;
        open.response_time_confidence.as_ref().map_or(Ok(()), |intervals| half_widths(xml, "Total", intervals))
    })
}

/// A part of a ramp.
fn ramp_interval(xml: &mut Writer<'_>, interval: &RampInterval) -> io::Result<()> {
    let RampInterval { start_ns, end_ns, offered_iops, iops, response_mean_ns, response_p99_ns } = interval;
    let mut attributes: Vec<(&str, &dyn Display)> = vec![
        ("StartNanoseconds", start_ns),
        ("EndNanoseconds", end_ns),
        ("OfferedIosPerSecond", offered_iops),
        ("IosPerSecond", iops),
    ];
    let mean = response_mean_ns.map(ms);
    attributes.extend(mean.as_ref().map(|mean| ("ResponseAvgMilliseconds", mean as &dyn Display)));
    let p99 = response_p99_ns.map(|ns| ms(ns as f64));
    attributes.extend(p99.as_ref().map(|p99| ("ResponseP99Milliseconds", p99 as &dyn Display)));
    xml.empty("RampInterval", &attributes)
}

/// Flushes and their latencies.
fn flushes(xml: &mut Writer<'_>, flushes: &FlushFigures) -> io::Result<()> {
    let FlushFigures {
        call,
        after_writes,
        count,
        per_s,
        writes_per_flush,
        unflushed_writes,
        latency,
        p50_ns,
        p99_ns,
        commit,
    } = flushes;
    let mut cells = vec![
        ("AfterWrites", after_writes.to_string()),
        ("Flushes", count.to_string()),
        ("FlushesPerSecond", two_decimals(*per_s)),
    ];
    cells.extend(writes_per_flush.map(|writes| ("WritesPerFlush", writes.to_string())));
    cells.extend(unflushed_writes.map(|writes| ("UnflushedWrites", writes.to_string())));
    cells.extend(latency.map(|latency| ("AvgMilliseconds", ms(latency.mean_ns))));
    cells.extend(p50_ns.map(|ns| ("P50Milliseconds", ms(ns as f64))));
    cells.extend(p99_ns.map(|ns| ("P99Milliseconds", ms(ns as f64))));
    cells.extend(latency.and_then(|latency| latency.max_ns).map(|ns| ("MaxMilliseconds", ms(ns as f64))));
    if let Some(CommitFigures { mean_ns, p50_ns, p99_ns, max_ns }) = commit {
        let names = ["CommitP50Milliseconds", "CommitP99Milliseconds", "CommitMaxMilliseconds"];
        cells.push(("CommitAvgMilliseconds", ms(*mean_ns)));
        cells.extend(names.into_iter().zip([p50_ns, p99_ns, max_ns].map(|ns| ms(*ns as f64))));
    }
    let attributes: Vec<(&str, &dyn Display)> =
        cells.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
    let name = match call {
        FlushCall::Fdatasync => "Fdatasync",
        FlushCall::Fsync => "Fsync",
    };
    xml.empty(name, &attributes)
}

/// Rotations of logs and their latencies.
fn rotations(xml: &mut Writer<'_>, rotations: &RotationFigures) -> io::Result<()> {
    let RotationFigures { count, total_ns, max_ns, time_percent } = rotations;
    let mut cells = vec![("Count", count.to_string()), ("TotalMilliseconds", ms(*total_ns as f64))];
    cells.extend(max_ns.map(|ns| ("MaxMilliseconds", ms(ns as f64))));
    cells.push(("TimePercent", two_decimals(*time_percent)));
    let attributes: Vec<(&str, &dyn Display)> =
        cells.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
    xml.empty("LogRotations", &attributes)
}

/// I/Os of one kind that transfer no data.
fn operation(xml: &mut Writer<'_>, of: &OperationFigures) -> io::Result<()> {
    let OperationFigures { operation, figures, latency } = of;
    let cells = [
        ("Kind", operation.name().to_owned()),
        ("BytesCount", figures.bytes.to_string()),
        ("IOCount", figures.ios.to_string()),
        ("MiBPerSecond", two_decimals(mib(figures.bytes_per_s))),
        ("IosPerSecond", two_decimals(figures.iops)),
    ];
    let latencies = Directions { read: None, write: None, total: latency.clone() };
    self::latency(xml, "OtherOperation", &cells, &latencies)
}

/// Figures of a stream; rates follow from the elapsed time, too.
fn stream(xml: &mut Writer<'_>, of: &StreamFigures) -> io::Result<()> {
    let StreamFigures { name, targets, figures, latency } = of;
    let targets = targets.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    xml.inside("Stream", &[("Name", name), ("Targets", &targets)], |xml| {
        for (direction, figures) in [("Read", figures.read), ("Write", figures.write), ("Total", figures.total)] {
            let (mib_per_s, iops) = (two_decimals(mib(figures.bytes_per_s)), two_decimals(figures.iops));
            let deviation = figures.iops_std_dev.map(|deviation| deviation.to_string());
            let mut attributes: Vec<(&str, &dyn Display)> = vec![
                ("Direction", &direction),
                ("BytesCount", &figures.bytes),
                ("IOCount", &figures.ios),
                ("MiBPerSecond", &mib_per_s),
                ("IosPerSecond", &iops),
            ];
            attributes.extend(deviation.as_ref().map(|deviation| ("IosStdDev", deviation as &dyn Display)));
            xml.empty("StreamIos", &attributes)?;
        }
        self::latency(xml, "StreamLatency", &[], latency)
    })
}

/// The actual positions of the skewed I/Os of a target, in full.
fn skew(xml: &mut Writer<'_>, figures: &SkewFigures) -> io::Result<()> {
    let SkewFigures { target, path, skew, positions, alignment_bytes, draws, hottest, touched_positions } = figures;
    let path = path.display();
    let attributes: [(&str, &dyn Display); 7] = [
        ("Target", target),
        ("Path", &path),
        ("Law", skew),
        ("Positions", positions),
        ("AlignmentBytes", alignment_bytes),
        ("Draws", draws),
        ("TouchedPositions", touched_positions),
    ];
    xml.inside("SkewedAccess", &attributes, |xml| {
        for HottestShare { positions_percent, positions, law_percent, drawn_percent } in hottest {
            let drawn = drawn_percent.map(|percent| percent.to_string());
            let mut attributes: Vec<(&str, &dyn Display)> =
                vec![("PositionsPercent", positions_percent), ("Positions", positions), ("LawPercent", law_percent)];
            attributes.extend(drawn.as_ref().map(|drawn| ("DrawnPercent", drawn as &dyn Display)));
            xml.empty("Hottest", &attributes)?;
        }
        Ok(())
    })
}

/// The reduction of data written to a target.
fn reduction(xml: &mut Writer<'_>, figures: &ReductionFigures) -> io::Result<()> {
    let ReductionFigures { target, path, asked, sample_bytes, compared_blocks, .. } = figures;
    let path = path.display();
    let mut attributes: Vec<(&str, &dyn Display)> = vec![
        ("Target", target),
        ("Path", &path),
        ("CompressRatio", &asked.compress_ratio),
        ("DedupePercent", &asked.dedupe_percent),
        ("SampleBytes", sample_bytes),
        ("ComparedBlocks", compared_blocks),
    ];
    for (name, value) in [
        ("ZstdRatio", &figures.zstd_ratio),
        ("Lz4Ratio", &figures.lz4_ratio),
        ("EqualBlocksPercent", &figures.equal_blocks_percent),
    ] {
        attributes.extend(value.as_ref().map(|value| (name, value as &dyn Display)));
    }
    xml.empty("WrittenData", &attributes)
}

/// The findings of `--verify`; single units are in JSON only.
fn verification(xml: &mut Writer<'_>, figures: &VerificationFigures) -> io::Result<()> {
    let attributes: [(&str, &dyn Display); 6] = [
        ("UnitBytes", &figures.unit_bytes),
        ("Exact", &figures.is_exact),
        ("CheckedUnits", &figures.checked_units),
        ("UncheckedUnits", &figures.unchecked_units),
        ("WaitingIos", &figures.waiting_ios),
        ("UnreadableIos", &figures.unreadable_ios),
    ];
    xml.inside("DataVerification", &attributes, |xml| {
        let mut corrupt = figures.corrupt.iter();
        corrupt.try_for_each(|of| {
            xml.empty("CorruptUnits", &[("Class", &of.class.name() as &dyn Display), ("Units", &of.units)])
        })
    })
}

/// Figures and percentiles that the document cannot hold: it only has service times of all targets together.
fn latency(
    xml: &mut Writer<'_>,
    name: &str,
    whose: &[(&str, String)],
    latencies: &Directions<Option<LatencyDistribution>>,
) -> io::Result<()> {
    let Directions { read, write, total } = latencies;
    let kinds = [("Read", read), ("Write", write), ("Total", total)];
    let mut cells: Vec<(String, String)> =
        whose.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    for (kind, latencies) in kinds {
        let Some(LatencyDistribution { count, figures, distinct_values, .. }) = latencies else { continue };
        cells.push((format!("{kind}Ios"), count.to_string()));
        cells.push((format!("{kind}AvgMilliseconds"), ms(figures.mean_ns)));
        cells.push((format!("{kind}StdDevMilliseconds"), ms(figures.std_dev_ns)));
        cells.push((format!("{kind}Values"), distinct_values.to_string()));
    }
    let attributes: Vec<(&str, &dyn Display)> =
        cells.iter().map(|(name, value)| (name.as_str(), value as &dyn Display)).collect();
    xml.inside(name, &attributes, |xml| {
        for rank_ppb in ranks(latencies) {
            let mut cells = vec![("Percent", percent(rank_ppb))];
            for (kind, latencies) in kinds {
                cells.extend(value_ns(latencies.as_ref(), rank_ppb).map(|ns| (kind, ms(ns as f64))));
            }
            let attributes: Vec<(&str, &dyn Display)> =
                cells.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
            xml.empty("Rank", &attributes)?;
        }
        Ok(())
    })
}
