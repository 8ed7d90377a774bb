//! Contents of our own documents beyond `DiskSpd`'s.

use super::element::{Element, is_true};
use crate::{ReadError, finish, number};
use model::confidence::{HalfWidths, Interval, PercentileHalfWidth, Withheld};
use model::corruption::CorruptionClass;
use model::engine_kind::EngineKind;
use model::expectation::{Ceiling, CeilingUnit, Expectation};
use model::figures::{
    CommitFigures, Directions, Figures, FlushFigures, LatencyDistribution, LatencyFigures, OperationFigures,
    Percentile, RotationFigures,
};
use model::finding::{Finding, Severity, Source};
use model::note::Note;
use model::operation::Operation;
use model::profile::{FlushCall, OfferedRate, RateProcess, Reduction, Skew, StreamName};
use model::result::{
    HottestShare, LoadLoop, OpenLoop, RampInterval, ReductionFigures, RunResult, SkewFigures, StreamFigures,
    TargetLatencies, TimeSpanResult,
};
use model::units::bytes_of_mib;
use model::verdict::Verdict;
use model::verification::{CorruptUnits, VerificationFigures};

pub(super) fn read(
    linux: Option<Element<'_, '_>>,
    span_result: &mut TimeSpanResult,
    result: &mut RunResult,
) -> Result<(), ReadError> {
    let Some(linux) = linux else { return Ok(()) };
    let note = |element: Element<'_, '_>| Note::Verbatim { text: element.text().to_owned() };
    if let Some(command_line) = linux.child_text("CommandLine") {
        command_line.clone_into(&mut result.command_line);
    }
    let labels = linux.children("Label").filter_map(|label| Some((label.attribute("Name")?, label.text())));
    result.labels.extend(labels.map(|(name, value)| (name.to_owned(), value.to_owned())));
    result.warnings.extend(linux.children("RunWarning").map(|warning| warning.text().to_owned()));
    result.errors.extend(linux.children("RunFailure").map(|failure| failure.text().to_owned()));
    result.notes.extend(linux.children("RunNote").map(note));
    span_result.notes.extend(linux.children("Note").map(note));
    span_result.errors.extend(linux.children("Failure").map(|failure| failure.text().to_owned()));
    let engine = |element: Element<'_, '_>| EngineKind::ALL.into_iter().find(|engine| engine.name() == element.text());
    span_result.engines.extend(linux.children("Engine").filter_map(engine));
    span_result.verdict = linux.child("Verdict").map(verdict).transpose()?;
    span_result.expectation = linux.child("Expectation").map(expectation).transpose()?;
    span_result.verification = linux.child("DataVerification").map(verification).transpose()?;
    if let Some(requirements) = linux.child("Requirements") {
        span_result.requirements = findings(requirements, Source::Requirement)?;
    }
    if let Some(measured) = &mut span_result.measured {
        measured.is_partial = linux.is_true("Partial");
        for target in linux.children("TargetLatency") {
            let path = target.attribute("Path").unwrap_or_default().into();
            measured.target_latencies.push(TargetLatencies { path, latency: latencies(target)? });
        }
        measured.load_loop = load_loop(linux)?;
        let calls = [("Fdatasync", FlushCall::Fdatasync), ("Fsync", FlushCall::Fsync)];
        let found = calls.into_iter().find_map(|(name, call)| Some((linux.child(name)?, call)));
        measured.flushes = found.map(|(element, call)| flushes(element, call)).transpose()?;
        measured.rotations = linux.child("LogRotations").map(rotations).transpose()?;
        measured.operations = linux.children("OtherOperation").map(operation).collect::<Result<_, _>>()?;
        measured.skews = linux.children("SkewedAccess").map(skew).collect::<Result<_, _>>()?;
        let elapsed_ns = measured.elapsed_ns;
        measured.streams =
            linux.children("Stream").map(|element| stream(element, elapsed_ns)).collect::<Result<_, _>>()?;
        measured.reductions = linux.children("WrittenData").map(reduction).collect::<Result<_, _>>()?;
        measured.confidence = linux.child("Confidence").map(confidence).transpose()?;
    }
    Ok(())
}

fn verdict(element: Element<'_, '_>) -> Result<Verdict, ReadError> {
    Ok(Verdict { findings: findings(element, Source::Verdict)? })
}

fn findings(element: Element<'_, '_>, source: Source) -> Result<Vec<Finding>, ReadError> {
    let finding = |element: Element<'_, '_>| {
        let word = element.attribute("Severity").unwrap_or_default();
        let unknown = || element.error(format!("Finding: unknown severity '{}'", number::shown(word)));
        Ok(Finding {
            name: element.attribute("Name").unwrap_or_default().to_owned(),
            severity: Severity::from_word(word).ok_or_else(unknown)?,
            subject: element.attribute("Subject").unwrap_or_default().to_owned(),
            figure: element.child_text("Figure").unwrap_or_default().to_owned(),
            value: element.real_attribute("Value")?,
            advice: element.child_text("Advice").unwrap_or_default().to_owned(),
            basis: element.child_text("Basis").unwrap_or_default().to_owned(),
            source,
        })
    };
    element.children("Finding").map(finding).collect()
}

fn expectation(element: Element<'_, '_>) -> Result<Expectation, ReadError> {
    let ceiling = |element: Element<'_, '_>| {
        let word = element.attribute("Unit").unwrap_or_default();
        let unknown = || element.error(format!("Ceiling: unknown unit '{}'", number::shown(word)));
        let figure = |name: &str| Ok::<f64, ReadError>(element.real_attribute(name)?.unwrap_or(0.0));
        Ok(Ceiling {
            name: element.attribute("Name").unwrap_or_default().to_owned(),
            unit: CeilingUnit::ALL.into_iter().find(|unit| unit.xml() == word).ok_or_else(unknown)?,
            limit: figure("Limit")?,
            reached: figure("Reached")?,
            share_percent: figure("SharePercent")?,
            is_estimate: element.attribute("Estimate") == Some("true"),
            parts: element.whole_attribute("Parts")?.unwrap_or(1),
        })
    };
    Ok(Expectation {
        ceilings: element.children("Ceiling").map(ceiling).collect::<Result<_, ReadError>>()?,
        binding: element.attribute("Binding").unwrap_or_default().to_owned(),
        findings: findings(element, Source::Expectation)?,
    })
}

fn confidence(element: Element<'_, '_>) -> Result<Directions<Option<HalfWidths>>, ReadError> {
    let half_widths_of = |direction: &str| {
        let mut all = element.children("HalfWidths");
        all.find(|one| one.attribute("Direction") == Some(direction)).map(half_widths).transpose()
    };
    Ok(Directions { read: half_widths_of("Read")?, write: half_widths_of("Write")?, total: half_widths_of("Total")? })
}

fn half_widths(element: Element<'_, '_>) -> Result<HalfWidths, ReadError> {
    let percentile = |rank: Element<'_, '_>| {
        let percent = rank.attribute("Percent").unwrap_or_default();
        let rank_ppb = number::rank_ppb(percent).map_err(|reason| rank.error_at_name(&reason))?;
        let half_width_ns = number::ns(rank.real_attribute("Milliseconds")?.unwrap_or(0.0));
        let interval_ns = interval(rank, ["Low", "High"])?.map(|found| found.scaled(number::ns(1.0)));
        Ok(PercentileHalfWidth { rank_ppb, half_width_ns, interval_ns })
    };
    let seconds = |name: &str| element.real_attribute(name);
    let dependence_s = seconds("DependenceSeconds")?;
    let bytes = interval(element, ["MiBPerSecondLow", "MiBPerSecondHigh"])?;
    let mean = interval(element, ["AvgMillisecondsLow", "AvgMillisecondsHigh"])?;
    Ok(HalfWidths {
        iops: element.real_attribute("IosPerSecond")?,
        bytes_per_s: element.real_attribute("MiBPerSecond")?.map(bytes_of_mib),
        latency_mean_ns: element.real_attribute("AvgMilliseconds")?.map(number::ns),
        percentiles: element.children("Rank").map(percentile).collect::<Result<_, _>>()?,
        iops_interval: interval(element, ["IosPerSecondLow", "IosPerSecondHigh"])?,
        bytes_per_s_interval: bytes.map(|found| found.scaled(bytes_of_mib(1.0))),
        latency_mean_interval_ns: mean.map(|found| found.scaled(number::ns(1.0))),
        withheld: seconds("MeasureSeconds")?.map(|measure_s| Withheld {
            dependence_s,
            measure_s: Some(measure_s).filter(|measure_s| *measure_s > 0.0),
        }),
    })
}

/// The interval from two attributes, if both exist.
fn interval(element: Element<'_, '_>, [low, high]: [&str; 2]) -> Result<Option<Interval>, ReadError> {
    let ends = element.real_attribute(low)?.zip(element.real_attribute(high)?);
    Ok(ends.map(|(low, high)| Interval { low, high }))
}

/// The load loop, if the document has one.
fn load_loop(linux: Element<'_, '_>) -> Result<Option<LoadLoop>, ReadError> {
    let whole = |element: Element<'_, '_>, name: &str| Ok(element.whole_attribute(name)?.unwrap_or(0));
    if let Some(closed) = linux.child("ClosedLoop") {
        return Ok(Some(LoadLoop::Closed { depth: closed.whole_attribute("Depth")?.unwrap_or(0) }));
    }
    let Some(open) = linux.child("OpenLoop") else { return Ok(None) };
    let ns = |name: &str| Ok(number::ns(open.real_attribute(name)?.unwrap_or(0.0)));
    Ok(Some(LoadLoop::Open(Box::new(OpenLoop {
        depth: open.whole_attribute("Depth")?.unwrap_or(0),
        rate_iops: open.attribute("IntendedRate").and_then(|rate| OfferedRate::parse(rate).ok()).unwrap_or_default(),
        process: open.attribute("Process").and_then(|word| RateProcess::parse(word).ok()).unwrap_or_default(),
        intended_starts: whole(open, "IntendedStarts")?,
        backlog: whole(open, "Backlog")?,
        delayed_by_depth: whole(open, "DelayedByDepth")?,
        lateness_mean_ns: ns("LatenessAvgMilliseconds")?,
        lateness_max_ns: ns("LatenessMaxMilliseconds")?.round() as u64,
        ramp: open.children("RampInterval").map(ramp_interval).collect::<Result<_, _>>()?,
        response_time: open.child("ResponseTime").map(latencies).transpose()?.unwrap_or_default(),
        response_time_confidence: open.child("HalfWidths").map(half_widths).transpose()?,
    }))))
}

fn ramp_interval(element: Element<'_, '_>) -> Result<RampInterval, ReadError> {
    let whole = |name| Ok::<u64, ReadError>(element.whole_attribute(name)?.unwrap_or(0));
    let real = |name| Ok::<f64, ReadError>(element.real_attribute(name)?.unwrap_or(0.0));
    Ok(RampInterval {
        start_ns: whole("StartNanoseconds")?,
        end_ns: whole("EndNanoseconds")?,
        offered_iops: real("OfferedIosPerSecond")?,
        iops: real("IosPerSecond")?,
        response_mean_ns: element.real_attribute("ResponseAvgMilliseconds")?.map(number::ns),
        response_p99_ns: element.real_attribute("ResponseP99Milliseconds")?.map(number::whole_ns),
    })
}

/// Milliseconds of an attribute as whole nanoseconds.
fn whole_ns(element: Element<'_, '_>, name: &str) -> Result<Option<u64>, ReadError> {
    Ok(element.real_attribute(name)?.map(number::whole_ns))
}

fn flushes(element: Element<'_, '_>, call: FlushCall) -> Result<FlushFigures, ReadError> {
    let max_ns = whole_ns(element, "MaxMilliseconds")?;
    let figures = |mean_ns| LatencyFigures { mean_ns, max_ns, ..LatencyFigures::default() };
    Ok(FlushFigures {
        call,
        after_writes: element.whole_attribute("AfterWrites")?.unwrap_or(0),
        count: element.whole_attribute("Flushes")?.unwrap_or(0),
        per_s: element.real_attribute("FlushesPerSecond")?.unwrap_or(0.0),
        writes_per_flush: element.real_attribute("WritesPerFlush")?,
        unflushed_writes: element.whole_attribute("UnflushedWrites")?,
        latency: element.real_attribute("AvgMilliseconds")?.map(number::ns).map(figures),
        p50_ns: whole_ns(element, "P50Milliseconds")?,
        p99_ns: whole_ns(element, "P99Milliseconds")?,
        commit: commit(element)?,
    })
}

fn commit(element: Element<'_, '_>) -> Result<Option<CommitFigures>, ReadError> {
    let mean_ns = element.real_attribute("CommitAvgMilliseconds")?.map(number::ns);
    let p50_ns = whole_ns(element, "CommitP50Milliseconds")?;
    let p99_ns = whole_ns(element, "CommitP99Milliseconds")?;
    let max_ns = whole_ns(element, "CommitMaxMilliseconds")?;
    let all = mean_ns.zip(p50_ns).zip(p99_ns.zip(max_ns));
    Ok(all.map(|((mean_ns, p50_ns), (p99_ns, max_ns))| CommitFigures { mean_ns, p50_ns, p99_ns, max_ns }))
}

fn rotations(element: Element<'_, '_>) -> Result<RotationFigures, ReadError> {
    Ok(RotationFigures {
        count: element.whole_attribute("Count")?.unwrap_or(0),
        total_ns: whole_ns(element, "TotalMilliseconds")?.unwrap_or(0),
        max_ns: whole_ns(element, "MaxMilliseconds")?,
        time_percent: element.real_attribute("TimePercent")?.unwrap_or(0.0),
    })
}

fn skew(element: Element<'_, '_>) -> Result<SkewFigures, ReadError> {
    let whole = |name| Ok::<u64, ReadError>(element.whole_attribute(name)?.unwrap_or(0));
    let share = |hottest: Element<'_, '_>| {
        Ok::<_, ReadError>(HottestShare {
            positions_percent: hottest.whole_attribute("PositionsPercent")?.unwrap_or(0),
            positions: hottest.whole_attribute("Positions")?.unwrap_or(0),
            law_percent: hottest.real_attribute("LawPercent")?.unwrap_or(0.0),
            drawn_percent: hottest.real_attribute("DrawnPercent")?,
        })
    };
    let law = element.attribute("Law").unwrap_or_default();
    Ok(SkewFigures {
        target: element.whole_attribute("Target")?.unwrap_or(0),
        path: element.attribute("Path").unwrap_or_default().into(),
        skew: Skew::parse(law).map_err(|reason| element.error(reason))?,
        positions: whole("Positions")?,
        alignment_bytes: whole("AlignmentBytes")?,
        draws: whole("Draws")?,
        hottest: element.children("Hottest").map(share).collect::<Result<_, _>>()?,
        touched_positions: whole("TouchedPositions")?,
    })
}

fn stream(element: Element<'_, '_>, elapsed_ns: u64) -> Result<StreamFigures, ReadError> {
    let latency = element.child("StreamLatency").map(latencies).transpose()?.unwrap_or_default();
    let figures = |direction: &str, latency: Option<&LatencyDistribution>| {
        let mut all = element.children("StreamIos");
        let Some(ios) = all.find(|one| one.attribute("Direction") == Some(direction)) else {
            return Ok::<_, ReadError>(Figures::default());
        };
        let whole = |name| Ok::<u64, ReadError>(ios.whole_attribute(name)?.unwrap_or(0));
        Ok(Figures {
            latency: latency.map(|latency| latency.figures),
            iops_std_dev: ios.real_attribute("IosStdDev")?,
            ..stats::figures(whole("BytesCount")?, whole("IOCount")?, elapsed_ns)
        })
    };
    let targets = element.attribute("Targets").unwrap_or_default().split_whitespace();
    let target = |number: &str| number::whole(number).map_err(|reason| element.error_at_name(&reason));
    let name = StreamName::parse(element.attribute("Name").unwrap_or_default());
    Ok(StreamFigures {
        name: name.map_err(|reason| element.error(reason))?,
        targets: targets.map(target).collect::<Result<_, _>>()?,
        figures: Directions {
            read: figures("Read", latency.read.as_ref())?,
            write: figures("Write", latency.write.as_ref())?,
            total: figures("Total", latency.total.as_ref())?,
        },
        latency,
    })
}

fn reduction(element: Element<'_, '_>) -> Result<ReductionFigures, ReadError> {
    let ratio = Reduction::parse_ratio(element.attribute("CompressRatio").unwrap_or_default());
    Ok(ReductionFigures {
        target: element.whole_attribute("Target")?.unwrap_or(0),
        path: element.attribute("Path").unwrap_or_default().into(),
        asked: Reduction {
            compress_ratio: ratio.map_err(|reason| element.error(reason))?,
            dedupe_percent: element.whole_attribute("DedupePercent")?.unwrap_or(0),
        },
        sample_bytes: element.whole_attribute("SampleBytes")?.unwrap_or(0),
        zstd_ratio: element.real_attribute("ZstdRatio")?,
        lz4_ratio: element.real_attribute("Lz4Ratio")?,
        compared_blocks: element.whole_attribute("ComparedBlocks")?.unwrap_or(0),
        equal_blocks_percent: element.real_attribute("EqualBlocksPercent")?,
    })
}

fn verification(element: Element<'_, '_>) -> Result<VerificationFigures, ReadError> {
    let whole = |name| Ok::<u64, ReadError>(element.whole_attribute(name)?.unwrap_or(0));
    let corrupt = |element: Element<'_, '_>| {
        let word = element.attribute("Class").unwrap_or_default();
        let unknown = || element.error(format!("CorruptUnits: unknown class '{}'", number::shown(word)));
        let class = CorruptionClass::ALL.into_iter().find(|class| class.name() == word).ok_or_else(unknown)?;
        Ok(CorruptUnits { class, units: element.whole_attribute("Units")?.unwrap_or(0) })
    };
    let (checked_units, unchecked_units) = (whole("CheckedUnits")?, whole("UncheckedUnits")?);
    Ok(VerificationFigures {
        unit_bytes: element.whole_attribute("UnitBytes")?.unwrap_or(0),
        is_exact: element.attribute("Exact").is_some_and(is_true),
        checked_units,
        unchecked_units,
        unchecked_percent: stats::verification::unchecked_percent(checked_units, unchecked_units),
        waiting_ios: whole("WaitingIos")?,
        unreadable_ios: whole("UnreadableIos")?,
        corrupt: element.children("CorruptUnits").map(corrupt).collect::<Result<_, ReadError>>()?,
        first: Vec::new(),
    })
}

fn operation(element: Element<'_, '_>) -> Result<OperationFigures, ReadError> {
    let word = element.attribute("Kind").unwrap_or_default();
    let unknown = || element.error(format!("OtherOperation: unknown kind '{}'", number::shown(word)));
    let real = |name: &str| Ok::<f64, ReadError>(element.real_attribute(name)?.unwrap_or(0.0));
    let latency = latency(element, "Total")?;
    Ok(OperationFigures {
        operation: Operation::ALL.into_iter().find(|operation| operation.name() == word).ok_or_else(unknown)?,
        figures: Figures {
            bytes: element.whole_attribute("BytesCount")?.unwrap_or(0),
            ios: element.whole_attribute("IOCount")?.unwrap_or(0),
            bytes_per_s: bytes_of_mib(real("MiBPerSecond")?),
            iops: real("IosPerSecond")?,
            latency: latency.as_ref().map(|latency| latency.figures),
            iops_std_dev: None,
        },
        latency,
    })
}

fn latencies(target: Element<'_, '_>) -> Result<Directions<Option<LatencyDistribution>>, ReadError> {
    Ok(Directions {
        read: latency(target, "Read")?,
        write: latency(target, "Write")?,
        total: latency(target, "Total")?,
    })
}

fn latency(target: Element<'_, '_>, kind: &str) -> Result<Option<LatencyDistribution>, ReadError> {
    let Some(count) = target.whole_attribute(&format!("{kind}Ios"))? else { return Ok(None) };
    let real = |name: &str| target.real_attribute(&format!("{kind}{name}"));
    let figures = LatencyFigures {
        mean_ns: number::ns(real("AvgMilliseconds")?.unwrap_or(0.0)),
        std_dev_ns: number::ns(real("StdDevMilliseconds")?.unwrap_or(0.0)),
        min_ns: None,
        max_ns: None,
    };
    let mut percentiles = Vec::new();
    for rank in target.children("Rank") {
        let percent = rank.attribute("Percent").unwrap_or_default();
        let rank_ppb = number::rank_ppb(percent).map_err(|reason| rank.error_at_name(&reason))?;
        let value_ms = rank.real_attribute(kind)?;
        percentiles.extend(value_ms.map(|ms| Percentile { rank_ppb, value_ns: number::whole_ns(ms) }));
    }
    let values = target.whole_attribute(&format!("{kind}Values"))?.unwrap_or(0);
    Ok(finish::distribution(count, Some(figures), percentiles, values))
}
