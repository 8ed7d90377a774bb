//! The report of one result.

use super::block::{Banner, Block, Column, Report, Section, Table, Tile, Tone, VerdictLine, charts, dash};
use super::charts::of_time_span;
use super::environment::{command, environment, subtitle};
use super::fleet;
use super::foreign_text::{text, text_of_path};
use super::intervals;
use super::kinds;
use super::ledger;
use super::load_loop;
use super::preset;
use super::quantity::{Quantity, grouped, latency, significant, significant_grouped, size};
use super::recording;
use super::replay;
use super::run_brief::brief;
use super::run_brief::ended;
use super::storage;
use super::warnings::Explain;
use crate::words::confidence::{WithoutInterval, of_bytes, of_iops, of_mean_latency, without_interval};
use crate::words::load_line;
use crate::words::verdict::{requirements_summary, sum_up};
use model::confidence::{HalfWidths, Interval};
use model::device_interval::Recording;
use model::expectation::{Ceiling, CeilingUnit, Expectation};
use model::figures::{Directions, LatencyDistribution};
use model::finding::{Finding, Severity};
use model::kernel_events::{IoLevel, IoStack, LevelFigures};
use model::profile::{OfferedRate, TimeSpan};
use model::result::{HottestShare, LoadLoop, Measured, ReductionFigures, RunResult, SkewFigures, TimeSpanResult};
use model::units::{counted, mib, percent_rounded_down, pluralized};
use model::verdict::Verdict;
use model::verification::VerificationFigures;
use stats::latency_band::Commit;
use stats::overview::Stall;
use stats::ranks::{P50_PPB, P99_PPB, P999_PPB};
use stats::{NAMED_PERCENTILES, ordinal};

/// Rows of the table of stalls.
const STALL_ROWS: usize = 20;
/// Rows of the table of slowest I/Os.
const SLOWEST_ROWS: usize = 20;

/// The report of a result.
pub(crate) fn report(result: &RunResult, name: &str, devices: Option<&Recording>, explain: Explain) -> Report {
    let mut sections = Vec::new();
    if !result.errors.is_empty() {
        sections.push(Section::new("", vec![failure("Nothing was run", &result.errors)]));
    }
    let several = result.time_spans.len() > 1;
    if several {
        sections.extend(preset::section(result, explain));
    }
    for (index, span_result) in result.time_spans.iter().enumerate() {
        let heading = heading(result, index, several);
        let is_imported = is_imported(result, span_result);
        // Findings on the figures of another program are not a verdict.
        let (found, without_verdict);
        let span_result = if is_imported {
            found = span_result.verdict.clone().unwrap_or_default();
            without_verdict = TimeSpanResult { verdict: None, ..span_result.clone() };
            &without_verdict
        } else {
            found = Verdict::default();
            span_result
        };
        let mut of_span = time_span(result.profile.time_spans.get(index), span_result, &heading);
        if result.preset.as_ref().is_some_and(|preset| !stats::preset_rows::is_typical(preset, result, index)) {
            let has_charts =
                |section: &Section| section.blocks.iter().any(|block| matches!(block, Block::Charts { .. }));
            of_span.retain(|section| !has_charts(section));
        }
        if result.fleet.is_some() {
            of_span.iter_mut().for_each(fleet::without_cpus_of_one_machine);
        }
        if let Some(first) = of_span.first_mut().filter(|_| is_imported) {
            first.blocks.splice(0..0, shown_by_figures(&found));
        }
        // The table of a preset's loads explains the findings.
        if let Some(first) = of_span.first_mut().filter(|_| result.preset.is_none() || !several) {
            first.blocks.iter_mut().for_each(|block| add_meanings(block, explain));
        }
        if let Some(first) = of_span.first_mut().filter(|_| several) {
            first.blocks.insert(0, Block::Load { line: load_line::of_time_span(result, index) });
        }
        // The hosts come after the figures of all.
        let rest = of_span.split_off(of_span.len().min(1));
        let of_span = of_span.into_iter().chain(fleet::sections(result, index)).chain(rest);
        sections.extend(of_span.map(|section| section.of_time(index)));
    }
    // Only the beginning of the first timespan is known.
    let first = result.time_spans.first().and_then(|span_result| span_result.measured.as_ref());
    if let Some((recording, measured)) = devices.zip(first) {
        sections.extend(recording::during(recording, result, measured));
    }
    sections.extend(remarks(result));
    sections.push(environment(result));
    sections.push(command(result));
    let preset = result.preset.as_ref().map(|preset| text(&preset.title)).unwrap_or_default();
    Report::new(title(result, name), load_line::of_result(result), subtitle(result), brief(result, explain), sections)
        .of_method(&preset)
}

/// `Timespan 2`, with the name of its load in a preset; empty if there is only one.
fn heading(result: &RunResult, index: usize, several: bool) -> String {
    let name = result.preset.as_ref().and_then(|preset| preset.loads.get(index)).map(|name| text(name));
    match (several, name) {
        (true, Some(name)) => format!("Timespan {}: {name}{}", index + 1, which_run(result, index)),
        (true, None) => format!("Timespan {}", index + 1),
        (false, _) => String::new(),
    }
}

/// `, write, run 2 of 5`: the position among timespans of one name; empty for a unique name.
fn which_run(result: &RunResult, index: usize) -> String {
    let kind = |index: usize| {
        let total = &result.time_spans.get(index)?.measured.as_ref()?.total;
        match (total.read.ios > 0, total.write.ios > 0) {
            (true, false) => Some("read"),
            (false, true) => Some("write"),
            _ => None,
        }
    };
    let loads = result.preset.as_ref().map(|preset| &preset.loads[..]).unwrap_or_default();
    let of_name: Vec<usize> = (0..loads.len()).filter(|other| loads.get(*other) == loads.get(index)).collect();
    if of_name.len() < 2 {
        return String::new();
    }
    let alike: Vec<usize> = of_name.into_iter().filter(|other| kind(*other) == kind(index)).collect();
    let kind = kind(index).map(|kind| format!(", {kind}")).unwrap_or_default();
    let number = alike.iter().position(|other| *other == index).map_or(0, |before| before + 1);
    if alike.len() < 2 { kind } else { format!("{kind}, run {number} of {}", alike.len()) }
}

/// The first label, or the name of the file.
pub(crate) fn title(result: &RunResult, name: &str) -> String {
    let label = result.labels.first().map(|(key, value)| text(&format!("{key}: {value}")));
    label.unwrap_or_else(|| name.to_owned())
}

/// Verdict and headline, charts, tables.
pub(crate) fn time_span(span: Option<&TimeSpan>, span_result: &TimeSpanResult, heading: &str) -> Vec<Section> {
    let mut first = Vec::new();
    if !span_result.errors.is_empty() {
        first.push(failure("An error ended the timespan", &span_result.errors));
    }
    first.extend(span_result.verdict.as_ref().map(|found| Block::Verdict(verdict(found))));
    if let Some((banner, table)) = span_result.expectation.as_ref().map(expectation) {
        first.extend([Block::Verdict(banner), Block::Table(table)]);
    }
    first.extend(requirements(&span_result.requirements).map(Block::Verdict));
    let Some(measured) = &span_result.measured else {
        if span_result.errors.is_empty() {
            first.push(failure("Nothing was measured", &[ended(span_result.outcome).to_owned()]));
        }
        return vec![Section::new(heading, first)];
    };
    first.extend(span_result.verification.as_ref().and_then(not_verified));
    first.push(Block::Tiles { tiles: tiles(span_result, measured), note: no_intervals(measured).unwrap_or_default() });
    first.push(Block::Table(totals(measured)));
    first.extend(intervals::table(measured).map(Block::Table));
    let mut sections = vec![Section::new(heading, first)];
    sections
        .extend(kinds::streams(measured).map(|table| of_table(Table { heading: String::new(), ..table }, "Streams")));
    sections.extend(
        kinds::verification(span_result).map(|blocks| Section::new("Data verification (experimental)", blocks)),
    );
    sections.push(Section::new("Charts", charts(of_time_span(span, measured))));
    let latency = measured.total_latency.as_ref();
    let latency = latency.and_then(|latency| percentiles("Percentiles of latency".to_owned(), latency));
    let tables: Vec<Block> =
        tables_of_options(span_result, measured).into_iter().chain(latency).map(Block::Table).collect();
    let replay = replay::blocks(span, measured);
    let tables: Vec<Block> = replay.into_iter().chain(tables).chain(details(span, span_result, measured)).collect();
    if !tables.is_empty() {
        sections.push(Section::new("Tables", tables));
    }
    if !span_result.notes.is_empty() {
        let sentences = span_result.notes.iter().map(|note| text(&note.to_string()));
        sections.push(Section::new("Notes", vec![Block::notes(sentences)]));
    }
    for section in sections.iter_mut().skip(1) {
        section.is_part = !heading.is_empty();
    }
    sections
}

fn of_table(table: Table, heading: &str) -> Section {
    Section::new(heading, vec![Block::Table(table)])
}

/// The note that no figure has an interval, and the remedy.
pub fn no_intervals(measured: &Measured) -> Option<String> {
    let is_any = intervals::table(measured).is_some();
    let without = without_interval(measured, None, measured.total.total.ios).filter(|_| !is_any)?;
    Some(format!("No 95 % intervals: {}.", reason(without)))
}

/// Tables requested by options, beside streams and verification.
fn tables_of_options(span_result: &TimeSpanResult, measured: &Measured) -> Vec<Table> {
    let of_streams = measured.streams.iter().filter(|_| measured.streams.len() > 1);
    let of_streams = of_streams
        .map(|stream| percentiles(format!("Percentiles of latency, stream {}", stream.name), &stream.latency));
    let others = [
        load_loop::ramp(measured),
        kinds::sizes(measured),
        kinds::without_data(measured),
        load_loop::flushes(measured),
        kinds::rotations(measured),
        reductions(measured),
    ];
    of_streams.chain(others).flatten().chain(skews(measured)).chain(levels(span_result)).collect()
}

/// All other known facts of a measurement.
fn details(span: Option<&TimeSpan>, span_result: &TimeSpanResult, measured: &Measured) -> Vec<Block> {
    let responses = match &measured.load_loop {
        Some(LoadLoop::Open(open)) => percentiles(
            "Percentiles of response time (from the intended start to completion)".to_owned(),
            &open.response_time,
        ),
        _ => None,
    };
    let tables = [
        responses,
        stalls(measured),
        slowest(measured, SLOWEST_ROWS),
        kernel_messages(measured),
        span_result.ledger.as_ref().and_then(ledger::table),
    ];
    let tables = tables.into_iter().chain(storage::tables(span, measured)).flatten().map(Block::Table);
    load_loop::block(span, span_result).into_iter().chain(tables).collect()
}

/// The blocks of a timespan after `DiskSpd`'s tables: those that options requested and, on request, the rest.
pub fn beside_diskspd(span: Option<&TimeSpan>, span_result: &TimeSpanResult, has_details: bool) -> Vec<Block> {
    let verification = kinds::verification(span_result).into_iter().flatten();
    let Some(measured) = &span_result.measured else { return verification.collect() };
    let tables = kinds::streams(measured).into_iter().chain(tables_of_options(span_result, measured));
    let blocks = replay::blocks(span, measured).into_iter().chain(tables.map(Block::Table)).chain(verification);
    let blocks: Vec<Block> = blocks.collect();
    if has_details {
        let none = || no_intervals(measured).map(|words| Block::notes([words]));
        let intervals = intervals::table(measured).map(Block::Table).or_else(none);
        return blocks.into_iter().chain(details(span, span_result, measured)).chain(intervals).collect();
    }
    let of_loop = load_loop::block(span, span_result).filter(|_| !load_loop::is_plain(span, measured));
    blocks.into_iter().chain(of_loop).collect()
}

fn failure(headline: &str, reasons: &[String]) -> Block {
    let found = |reason: &String| VerdictLine {
        tone: Tone::Bad,
        word: "ERROR".to_owned(),
        figure: text(reason),
        ..VerdictLine::default()
    };
    Block::Verdict(Banner {
        tone: Tone::Bad,
        headline: headline.to_owned(),
        findings: reasons.iter().map(found).collect(),
    })
}

/// Measured by another program, which makes no verdict.
fn is_imported(result: &RunResult, span_result: &TimeSpanResult) -> bool {
    span_result.measured.is_some() && !result.tool.is_ours()
}

/// Findings on the figures of another program, if there are any.
fn shown_by_figures(found: &Verdict) -> Option<Block> {
    let tone = found.severity().map(|severity| match severity {
        Severity::Note => Tone::Plain,
        graver => Tone::from_severity(Some(graver)),
    })?;
    let findings = found.findings.iter().map(|finding| self::found(finding, &finding.name)).collect();
    Some(Block::Verdict(Banner { tone, headline: "What the figures alone show".to_owned(), findings }))
}

/// The verdict with its findings, the gravest first.
pub fn verdict(verdict: &Verdict) -> Banner {
    let severity = verdict.severity();
    let headline = match severity {
        Some(Severity::Invalid | Severity::Fail) => "INVALID: do not use these results as measurements".to_owned(),
        Some(Severity::Warn) => "WARN: something affected the results".to_owned(),
        Some(Severity::Note | Severity::Unknown | Severity::Pass) => format!("Valid: {}", sum_up(verdict)),
        None => format!("Sound: {}", sum_up(verdict)),
    };
    let findings = verdict.findings.iter().map(|finding| found(finding, &finding.name)).collect();
    Banner { tone: Tone::from_severity(severity), headline, findings }
}

/// Results against the stated limits (`--expect`).
pub fn expectation(expectation: &Expectation) -> (Banner, Table) {
    let Expectation { ceilings, findings, .. } = expectation;
    let row = |ceiling: &Ceiling| {
        let Ceiling { name, unit, limit, reached, share_percent, is_estimate, parts: _ } = ceiling;
        let (limit, reached) = (limit / unit.scale(), reached / unit.scale());
        vec![
            format!("{name}{}", if *is_estimate { " (estimate for small random writes)" } else { "" }),
            format!("{reached:.2}"),
            format!("{limit:.2} {unit}"),
            format!("{share_percent:.1} %"),
        ]
    };
    let tone = findings.iter().map(|finding| Tone::from_severity(Some(finding.severity))).max().unwrap_or(Tone::Plain);
    let headline = lowest_limit(expectation);
    let findings = findings.iter().map(|finding| found(finding, &finding.name)).collect();
    let numbers = ["reached", "limit", "share"].map(Column::number);
    let table = Table {
        label: "Limits",
        columns: [Column::text("CEILING")].into_iter().chain(numbers).collect(),
        rows: ceilings.iter().map(row).collect(),
        ..Table::default()
    };
    (Banner { tone, headline, findings }, table)
}

/// Names the limit that the load meets first, and the next one of another part of the storage.
pub fn lowest_limit(Expectation { ceilings, binding, .. }: &Expectation) -> String {
    let lead = "Expectation: lowest limit is";
    let Some(lowest) = ceilings.iter().find(|ceiling| ceiling.name == *binding) else {
        return format!("{lead} {binding}");
    };
    let amount = |ceiling: &Ceiling| match ceiling.unit {
        CeilingUnit::IosPerSecond => grouped(ceiling.limit),
        CeilingUnit::BytesPerSecond => significant_grouped(ceiling.limit / ceiling.unit.scale()),
    };
    let unit = |ceiling: &Ceiling| match ceiling.unit {
        CeilingUnit::IosPerSecond => "IOPS",
        CeilingUnit::BytesPerSecond => "MB/s",
    };
    let others = ceilings.iter().filter(|ceiling| owner(ceiling) != owner(lowest));
    let next = others.max_by(|a, b| a.share_percent.total_cmp(&b.share_percent)).map(|next| {
        let unit = if next.unit == lowest.unit { String::new() } else { format!(" {}", unit(next)) };
        format!(", before the {} {}{unit}", owner(next), amount(next))
    });
    let next = next.unwrap_or_default();
    format!("{lead} the {} {} {}{next}", owner(lowest), amount(lowest), unit(lowest))
}

/// The part of the storage that has the limit, in the genitive.
fn owner(Ceiling { name, parts, .. }: &Ceiling) -> &'static str {
    match (name.split('-').next(), parts) {
        (Some("vm"), _) => "VM's",
        (Some("volume"), 1) => "volume's",
        (Some("volume"), _) => "volumes'",
        (Some("hba"), _) => "adapter's",
        (_, 1) => "drive's",
        (_, _) => "drives'",
    }
}

/// A warning, where the data is corrupt or none of it could be checked.
fn not_verified(found: &VerificationFigures) -> Option<Block> {
    let (tone, words) = match (found.checked_units, found.corrupt_units()) {
        (0, 0) => (Tone::Warn, "nothing could be checked".to_owned()),
        (_, 0) => return None,
        (_, corrupt) => (Tone::Bad, format!("{} {}", grouped(corrupt as f64), pluralized(corrupt, "corrupt unit"))),
    };
    Some(Block::Verdict(Banner { tone, headline: format!("Data verification: {words}"), findings: Vec::new() }))
}

/// The outcome of the requirements, if there were any.
pub fn requirements(requirements: &[Finding]) -> Option<Banner> {
    let tone = requirements.iter().map(|finding| Tone::from_severity(Some(finding.severity))).max()?;
    let headline = format!("Requirements: {}", requirements_summary(requirements));
    let findings = requirements.iter().map(|finding| found(finding, &finding.subject)).collect();
    Some(Banner { tone, headline, findings })
}

/// Adds the meaning of each finding, as far as it is documented.
fn add_meanings(block: &mut Block, explain: Explain) {
    let Block::Verdict(banner) = block else { return };
    for found in &mut banner.findings {
        found.meaning = explain(&found.name).map(|meaning| meaning.sentence()).unwrap_or_default();
    }
}

/// A line of a banner.
fn found(finding: &Finding, name: &str) -> VerdictLine {
    let basis =
        if finding.basis.is_empty() { String::new() } else { format!("; source of the limit: {}", finding.basis) };
    let figure = finding.figure.clone() + &basis;
    let (figure, more) = Finding::parts(&figure);
    VerdictLine {
        tone: match finding.severity {
            Severity::Note => Tone::Plain,
            graver => Tone::from_severity(Some(graver)),
        },
        word: finding.severity.word().to_owned(),
        name: text(name),
        figure: text(figure),
        more: text(more),
        advice: text(&finding.advice),
        ..VerdictLine::default()
    }
}

fn tile(label: &str, value: String, unit: &str, beside: String) -> Tile {
    Tile { label: label.to_owned(), value, unit: unit.to_owned(), beside, is_weak: false }
}

fn latency_tile(label: &str, ns: f64, beside: String, is_weak: bool) -> Tile {
    let shown = latency(ns);
    let (value, unit) = shown.split_once(' ').unwrap_or((&shown, ""));
    Tile { is_weak, ..tile(label, value.to_owned(), unit, beside) }
}

/// Times from writes to their durability; `call` flushes.
fn commit_tiles(commit: &Commit, call: &str) -> Vec<Tile> {
    let beside = || format!("write + {call}");
    let p99 = commit.p99_ns.map(|ns| {
        let is_weak = stats::is_weak(commit.count, P99_PPB);
        latency_tile("99th percentile of commits", ns as f64, beside(), is_weak)
    });
    [Some(latency_tile("Mean commit", commit.mean_ns, beside(), false)), p99].into_iter().flatten().collect()
}

/// The remedy for a missing interval or, if that is not known, the reason.
fn reason(without: WithoutInterval) -> String {
    match without {
        WithoutInterval::Reason(reason) => reason.to_owned(),
        WithoutInterval::Withheld { why, remedy } => remedy.unwrap_or(why),
    }
}

/// The figures that are quoted, with their intervals.
fn tiles(span_result: &TimeSpanResult, measured: &Measured) -> Vec<Tile> {
    let Some(headline) = stats::headline(span_result) else { return Vec::new() };
    let confidence = measured.confidence.as_ref().and_then(|confidence| confidence.total.as_ref());
    let figures = &measured.total.total;
    let latencies = measured.total_latency.as_ref().and_then(|latencies| latencies.total.as_ref());
    let count = latencies.map_or(figures.ios, |latencies| latencies.count);
    let between = |found: Option<Interval>, rank_ppb: Option<u64>, shown: fn(f64) -> String| match found {
        Some(found) => format!("95 % interval: {} to {}", shown(found.low), shown(found.high)),
        None => match without_interval(measured, rank_ppb, count) {
            // A common reason is stated once.
            Some(without)
                if rank_ppb.is_some() && without_interval(measured, None, count).as_ref() != Some(&without) =>
            {
                format!("no 95 % interval: {}", reason(without))
            }
            Some(_) | None => String::new(),
        },
    };
    let mut tiles = vec![
        tile(
            "I/Os per second",
            grouped(headline.iops),
            "",
            between(confidence.and_then(|found| of_iops(figures, found)), None, grouped),
        ),
        tile(
            "Throughput",
            significant_grouped(mib(headline.bytes_per_s)),
            "MiB/s",
            between(confidence.and_then(|found| of_bytes(figures, found)), None, |bytes| significant(mib(bytes))),
        ),
    ];
    // The commit, which a transaction waits for, comes before its parts.
    let commit = stats::latency_band::commit(span_result).filter(|commit| commit.has_flush);
    let call = measured.flushes.map_or("flush", |flushes| flushes.call.name());
    tiles.extend(commit.iter().flat_map(|commit| commit_tiles(commit, call)));
    let mut add_latency = |label: &str, ns: Option<f64>, beside: String, is_weak: bool| {
        tiles.extend(ns.map(|ns| latency_tile(label, ns, beside, is_weak)));
    };
    let alone = |beside: String| match commit {
        Some(_) if beside.is_empty() => format!("without {call}"),
        Some(_) => format!("without {call}; {beside}"),
        None => beside,
    };
    let rank = |rank_ppb: u64, ns: Option<u64>| {
        let of_rank = |found: &HalfWidths| found.percentiles.iter().find(|found| found.rank_ppb == rank_ppb).copied();
        let found = confidence.and_then(of_rank).and_then(|found| {
            let around = || Some(Interval::around(ns? as f64, found.half_width_ns));
            found.interval_ns.or_else(around)
        });
        between(found, Some(rank_ppb), latency)
    };
    let mean = between(confidence.and_then(|found| of_mean_latency(figures, found)), None, latency);
    add_latency("Mean latency", headline.mean_ns, alone(mean), false);
    let named = [("Median", headline.p50_ns, P50_PPB), ("99th percentile", headline.p99_ns, P99_PPB)];
    for (label, ns, rank_ppb) in named.into_iter().chain([("99.9th percentile", headline.p999_ns, P999_PPB)]) {
        let is_weak = stats::is_weak(count, rank_ppb);
        add_latency(label, ns.map(|ns| ns as f64), alone(rank(rank_ppb, ns)), is_weak);
    }
    let responses = match &measured.load_loop {
        Some(LoadLoop::Open(open)) => open.response_time.total.as_ref().map_or(0, |responses| responses.count),
        _ => 0,
    };
    add_latency(
        "99th pct. response time",
        headline.response_p99_ns.map(|ns| ns as f64),
        "from the intended start".to_owned(),
        stats::is_weak(responses, P99_PPB),
    );
    tiles.extend(cpu_tile(span_result, headline.cpu_percent));
    tiles
}

/// Usage of the CPUs; `None` if it is unknown.
fn cpu_tile(span_result: &TimeSpanResult, percent: f64) -> Option<Tile> {
    span_result.measured.as_ref().filter(|measured| measured.has_cpu_usage())?;
    let own = stats::cpu_shares(span_result).map(|shares| format!("; diskspd {:.1} %", shares.program_percent));
    let beside = format!("mean of all CPUs{}", own.unwrap_or_default());
    Some(tile("CPU of the machine", significant(percent), "%", beside))
}

/// The cause of I/O starts.
fn load(measured: &Measured) -> String {
    match &measured.load_loop {
        Some(LoadLoop::Closed { depth }) => format!(", {} outstanding (closed loop)", counted(*depth as usize, "I/O")),
        Some(LoadLoop::Open(open)) => {
            let rate = match open.rate_iops {
                OfferedRate::Steady(iops) => format!("of {}", grouped(iops.into())),
                OfferedRate::Ramp { from_iops, to_iops } => {
                    format!("from {} to {}", grouped(from_iops.into()), grouped(to_iops.into()))
                }
            };
            format!(", open loop {rate} I/Os per second, at most {} outstanding", open.depth)
        }
        None => String::new(),
    }
}

/// Reads, writes and both.
fn totals(measured: &Measured) -> Table {
    let Directions { read, write, total } = &measured.total;
    let distributions = measured.total_latency.as_ref();
    let row = |name: &str, figures: &model::figures::Figures| {
        let known = |value: Option<f64>| value.map_or_else(dash, latency);
        let latencies = figures.latency;
        // Results of DiskSpd have it only beside the percentiles.
        let distribution = distributions.and_then(|of| match name {
            "reads" => of.read.as_ref(),
            "writes" => of.write.as_ref(),
            _ => of.total.as_ref(),
        });
        let max_ns = latencies.and_then(|latency| latency.max_ns).or(distribution.and_then(|of| of.figures.max_ns));
        vec![
            name.to_owned(),
            grouped(figures.iops),
            significant_grouped(mib(figures.bytes_per_s)),
            known(latencies.map(|latency| latency.mean_ns)),
            known(max_ns.map(|ns| ns as f64)),
            known(latencies.map(|latency| latency.std_dev_ns)),
            grouped(figures.ios as f64),
        ]
    };
    let sides = [("reads", read), ("writes", write)].into_iter().filter(|(_, figures)| figures.ios > 0);
    let mut rows: Vec<Vec<String>> = sides.map(|(name, figures)| row(name, figures)).collect();
    if rows.len() != 1 {
        rows.push(row("total", total));
    }
    let names = ["IOPS", "MiB/s", "mean", "max", "std dev", "I/Os"].map(Column::number);
    Table {
        columns: [Column::text("")].into_iter().chain(names).collect(),
        rows,
        note: format!(
            "Measured for {}{}, {}{}.",
            Quantity::TimeS.value(measured.elapsed_ns as f64 / 1e9),
            load(measured),
            counted(measured.thread_count, "thread"),
            if measured.is_partial { "; it ended early" } else { "" }
        ),
        label: "Figures",
        ..Table::default()
    }
}

/// `99.9th`, and `5 nines` of those that would be long, as in charts.
fn short_ordinal(rank_ppb: u64) -> String {
    let name = ordinal(rank_ppb).replace(" percentile", "");
    let nines = name.chars().filter(|digit| *digit == '9').count();
    if nines > 4 { format!("{nines} nines") } else { name }
}

/// The percentiles of reports, marked if they have too few samples.
fn percentiles(heading: String, latencies: &Directions<Option<LatencyDistribution>>) -> Option<Table> {
    let sides = [("reads", &latencies.read), ("writes", &latencies.write), ("total", &latencies.total)];
    let mut sides: Vec<(&str, &LatencyDistribution)> =
        sides.into_iter().filter_map(|(name, side)| Some((name, side.as_ref()?))).collect();
    // The total of reads alone equals the reads.
    if let [(_, one), (_, total)] = sides[..]
        && one.count == total.count
    {
        sides.truncate(1);
    }
    let mut is_any_weak = false;
    let mut cell = |side: &LatencyDistribution, rank_ppb: u64| {
        let found = side.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
        let is_weak = stats::is_weak(side.count, rank_ppb);
        is_any_weak |= is_weak && found.is_some();
        found.map_or_else(dash, |percentile| {
            format!("{}{}", latency(percentile.value_ns as f64), if is_weak { " *" } else { "" })
        })
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let extreme = |side: &LatencyDistribution, of: fn(&LatencyDistribution) -> Option<u64>| {
        of(side).map_or_else(dash, |ns| latency(ns as f64))
    };
    let row = |name: &str, cells: Vec<String>| [name.to_owned()].into_iter().chain(cells).collect();
    rows.push(row("min", sides.iter().map(|(_, side)| extreme(side, |side| side.figures.min_ns)).collect()));
    for (_, rank_ppb) in NAMED_PERCENTILES {
        rows.push(row(&short_ordinal(rank_ppb), sides.iter().map(|(_, side)| cell(side, rank_ppb)).collect()));
    }
    rows.push(row("max", sides.iter().map(|(_, side)| extreme(side, |side| side.figures.max_ns)).collect()));
    let names = sides.iter().map(|(name, _)| Column::number(name));
    (!sides.is_empty()).then(|| Table {
        heading,
        columns: [Column::text("percentile")].into_iter().chain(names).collect(),
        rows,
        note: format!(
            "{}5 nines is the {}.",
            if is_any_weak { "* unreliable: fewer than ten I/Os lie beyond this percentile. " } else { "" },
            ordinal(999_990_000)
        ),
        ..Table::default()
    })
}

/// I/Os at each level of storage (`-eDISK_IO`). A kind is shown at every level if any level has it: its absence at a
/// level is informative too.
fn levels(span_result: &TimeSpanResult) -> Vec<Table> {
    type Side = fn(&IoLevel) -> &LevelFigures;
    let sides: [(&str, Side); 2] = [("read", |level| &level.read), ("write", |level| &level.write)];
    let table = |stack: &IoStack| {
        let row = |kind: &str, level: &IoLevel, figures: &LevelFigures| {
            let indent = "\u{2003}".repeat(level.depth as usize);
            let name = level.device.as_deref().unwrap_or("diskspd");
            vec![
                format!("{indent}{}", text(name)),
                kind.to_owned(),
                grouped(figures.ios as f64),
                grouped(figures.iops),
                significant_grouped(mib(figures.bytes_per_s)),
                figures.latency_mean_ns.map_or_else(dash, latency),
            ]
        };
        let sides = sides.into_iter().filter(|(_, side)| stack.levels.iter().any(|level| side(level).ios > 0));
        let rows = sides.flat_map(|(kind, side)| stack.levels.iter().map(move |level| row(kind, level, side(level))));
        let targets: Vec<String> = stack.targets.iter().map(|path| format!("'{}'", text_of_path(path))).collect();
        let columns = [Column::text("level"), Column::text("kind")];
        let numbers = ["I/Os", "IOPS", "MiB/s", "mean latency"].map(Column::number);
        Table {
            heading: format!("I/O at each level below {}", targets.join(", ")),
            columns: columns.into_iter().chain(numbers).collect(),
            rows: rows.collect(),
            note: "Devices: requests of all programs, timed from creation to completion (/sys/block/*/stat)."
                .to_owned(),
            ..Table::default()
        }
    };
    let stacks = span_result.kernel_events.iter().flat_map(|events| &events.stacks);
    stacks.map(table).filter(|table| !table.rows.is_empty()).collect()
}

/// The shares of the hottest positions (`--skew`), a table for each skew.
fn skews(measured: &Measured) -> Vec<Table> {
    let percent = |share: f64| format!("{share:.2} %");
    let row = |share: &HottestShare| {
        vec![
            format!("{} %", share.positions_percent),
            grouped(share.positions as f64),
            percent(share.law_percent),
            share.drawn_percent.map_or_else(dash, percent),
        ]
    };
    let table = |figures: &SkewFigures| {
        let SkewFigures { path, skew, positions, alignment_bytes, draws, hottest, touched_positions, .. } = figures;
        let touched = *touched_positions as f64;
        let touched_percent = percent_rounded_down(touched * 100.0 / (*positions).max(1) as f64, 2);
        Table {
            heading: format!(
                "I/Os on the hottest positions of '{}', skew {}:{} ({})",
                text_of_path(path),
                skew.law.option(),
                skew.parameter,
                skew.placement()
            ),
            columns: ["hottest", "positions", "expected", "drawn"].map(Column::number).into(),
            rows: hottest.iter().map(row).collect(),
            note: format!(
                "Shares of the {} {} that started during the measurement, on {} {} of {}, of which about {} ({touched_percent} %) \
                 were touched.",
                grouped(*draws as f64),
                pluralized(*draws, "random I/O"),
                grouped(*positions as f64),
                pluralized(*positions, "position"),
                size(*alignment_bytes),
                grouped(touched)
            ),
            ..Table::default()
        }
    };
    measured.skews.iter().filter(|skew| !skew.hottest.is_empty()).map(table).collect()
}

/// The reduction of written data (`--compress`, `--dedupe`).
fn reductions(measured: &Measured) -> Option<Table> {
    let or_dash = |value: Option<f64>, unit: &str| value.map_or_else(dash, |value| format!("{value:.2}{unit}"));
    let row = |figures: &ReductionFigures| {
        vec![
            text_of_path(&figures.path),
            figures.asked.compress_ratio.to_string(),
            or_dash(figures.zstd_ratio, ""),
            or_dash(figures.lz4_ratio, ""),
            size(figures.sample_bytes),
            format!("{} %", figures.asked.dedupe_percent),
            or_dash(figures.equal_blocks_percent, " %"),
            grouped(figures.compared_blocks as f64),
        ]
    };
    let rows: Vec<Vec<String>> = measured.reductions.iter().map(row).collect();
    let numbers = ["ratio asked for", "zstd", "lz4", "sample", "repeats asked for", "equal blocks", "blocks compared"];
    (!rows.is_empty()).then(|| Table {
        heading: "Compressibility of the written data".to_owned(),
        label: "",
        columns: [Column::text("file")].into_iter().chain(numbers.map(Column::number)).collect(),
        rows,
        note: "Measured on a sample of the first writes: zstd (level 3) and LZ4 on pieces of 128 KiB, and blocks of 4 KiB \
               that are equal to another one."
            .to_owned(),
    })
}

/// The least ratio of the longest latency of a stall to the median.
const STALL_TIMES_MEDIAN: u64 = 10;

/// The slowest I/Os, grouped by the stall that they waited for.
fn stalls(measured: &Measured) -> Option<Table> {
    let latencies = measured.total_latency.as_ref().and_then(|latencies| latencies.total.as_ref());
    stalls_beside(measured, latencies.and_then(|latencies| latencies.at(P50_PPB)).unwrap_or(0))
}

/// The same beside a median latency.
fn stalls_beside(measured: &Measured, median_ns: u64) -> Option<Table> {
    let found = stats::overview::stalls(&measured.slowest);
    // If most I/Os take nearly as long, the slowest are no stall.
    let is_stall = |stall: &&Stall| stall.ios() > 1 && stall.longest_ns >= STALL_TIMES_MEDIAN * median_ns;
    let together: Vec<&Stall> = found.iter().filter(is_stall).collect();
    let row = |stall: &&Stall| {
        let counted = |count: usize| if count == 0 { dash() } else { count.to_string() };
        let threads: Vec<String> = stall.threads.iter().map(u32::to_string).collect();
        let paths = measured.rows.iter().filter(|row| stall.targets.contains(&row.target));
        let mut paths: Vec<String> = paths.map(|row| text_of_path(&row.path)).collect();
        paths.sort();
        paths.dedup();
        vec![
            format!("{:.3} s", stall.began_at_ns as f64 / 1e9),
            latency(stall.longest_ns as f64),
            counted(stall.reads),
            counted(stall.writes),
            counted(stall.without_data),
            threads.join(", "),
            paths.join(", "),
        ]
    };
    let columns = vec![
        Column::number("began at"),
        Column::number("longest latency"),
        Column::number("reads"),
        Column::number("writes"),
        Column::number("discards and write-zeroes"),
        Column::text("threads"),
        Column::text("files"),
    ];
    let others = measured.slowest.len() - together.iter().map(|stall| stall.ios()).sum::<usize>();
    (!together.is_empty()).then(|| Table {
        heading: stalled(&together),
        columns,
        rows: together.iter().take(STALL_ROWS).map(row).collect(),
        note: format!(
            "The {}, grouped into stalls: those of each were all outstanding at one moment.{}{}",
            counted(measured.slowest.len(), "slowest I/O"),
            if together.len() > STALL_ROWS { format!(" The {STALL_ROWS} longest are shown.") } else { String::new() },
            if others > 0 {
                format!(" {others} waited alone, or less than {STALL_TIMES_MEDIAN} times the median latency.")
            } else {
                String::new()
            },
        ),
        ..Table::default()
    })
}

/// `8 I/Os, one stall of 746 ms at 0.078 s, thread 0`
fn stalled(stalls: &[&Stall]) -> String {
    let ios = counted(stalls.iter().map(|stall| stall.ios()).sum::<usize>(), "slow I/O");
    let Some(longest) = stalls.first() else { return String::new() };
    let length = latency(longest.longest_ns as f64);
    let at = format!("at {:.3} s", longest.began_at_ns as f64 / 1e9);
    let threads = match (longest.threads.len(), longest.threads.first()) {
        (1, Some(thread)) => format!("thread {thread}"),
        (count, _) => format!("{count} threads"),
    };
    match stalls.len() {
        1 => format!("{ios}, one stall of {length} {at}, {threads}"),
        count => format!("{ios} in {count} stalls, the longest of {length} {at}, {threads}"),
    }
}

/// The slowest I/Os, at most `rows_max` of them.
pub fn slowest(measured: &Measured, rows_max: usize) -> Option<Table> {
    let row = |io: &model::record::SlowIo| {
        let path = measured.rows.iter().find(|row| row.target == io.target).map(|row| text_of_path(&row.path));
        vec![
            format!("{:.3} s", io.ended_at_ns as f64 / 1e9),
            latency(io.latency_ns as f64),
            io.operation().name().to_owned(),
            io.thread.to_string(),
            grouped(io.offset_bytes as f64),
            grouped(io.size_bytes as f64),
            path.unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = measured.slowest.iter().take(rows_max).map(row).collect();
    let columns = vec![
        Column::number("completed at"),
        Column::number("latency"),
        Column::text("kind"),
        Column::number("thread"),
        Column::number("offset"),
        Column::number("bytes"),
        Column::text("file"),
    ];
    (!rows.is_empty()).then(|| Table {
        heading: format!("The {}", counted(rows.len(), "slowest I/O")),
        columns,
        rows,
        ..Table::default()
    })
}

/// Kernel messages logged while the slowest I/Os were in flight, or within a second of that.
pub fn kernel_messages(measured: &Measured) -> Option<Table> {
    let messages = measured.kernel_messages.iter();
    let row = |message: &model::kernel_log::KernelMessage| {
        vec![format!("{:.3} s", message.at_ns as f64 / 1e9), text(&message.text)]
    };
    let rows: Vec<Vec<String>> = messages.map(row).collect();
    (!rows.is_empty()).then(|| Table {
        heading: "Kernel messages within 1 s of the slowest I/Os".to_owned(),
        columns: vec![Column::number("at"), Column::text("message")],
        rows,
        ..Table::default()
    })
}

/// Notes of the plan, and warnings.
fn remarks(result: &RunResult) -> Option<Section> {
    let notes = result.notes.iter().map(|note| text(&note.to_string()));
    let warnings = result.warnings.iter().map(|warning| text(warning));
    let sentences: Vec<String> = warnings.chain(notes).collect();
    let block = Block::notes(sentences);
    (!result.notes.is_empty() || !result.warnings.is_empty()).then(|| Section::new("Warnings and notes", vec![block]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{CommitFigures, Figures, FlushFigures, LatencyFigures};

    /// The slowest I/Os of an always full queue were called stalls.
    #[test]
    fn a_stall_is_longer_than_most_ios_take() {
        let io = |latency_ns| model::record::SlowIo {
            ended_at_ns: 9_000_000,
            latency_ns,
            thread: 0,
            target: 0,
            is_write: false,
            operation: None,
            offset_bytes: 0,
            size_bytes: 4096,
        };
        let measured = Measured { slowest: vec![io(3_000_000), io(2_900_000)], ..Measured::default() };
        let found = |median_ns| stalls_beside(&measured, median_ns);
        assert!(found(2_000_000).is_none(), "a half more than the median");
        assert!(found(200_000).expect("a stall").heading.starts_with("2 slow I/Os, one stall of 3 ms"));
    }

    /// Pages of logs showed the write without its fdatasync as the latency.
    #[test]
    fn a_commit_comes_before_the_write_that_is_part_of_it() {
        let latency = Some(LatencyFigures { mean_ns: 177_000.0, ..LatencyFigures::default() });
        let write = Figures { ios: 5000, iops: 264.0, latency, ..Figures::default() };
        let commit = CommitFigures { mean_ns: 3_752_000.0, p50_ns: 3_000_000, p99_ns: 8_050_000, max_ns: 9_000_000 };
        let flushes = FlushFigures { after_writes: 1, count: 5000, commit: Some(commit), ..FlushFigures::default() };
        let total = Directions { write, total: write, ..Directions::default() };
        let measured = Measured { total, flushes: Some(flushes), ..Measured::default() };
        let span_result = TimeSpanResult { measured: Some(measured.clone()), ..TimeSpanResult::default() };
        let shown = tiles(&span_result, &measured);
        let latencies: Vec<String> = shown
            .iter()
            .filter(|tile| tile.unit.ends_with('s') && !tile.unit.contains('/'))
            .map(|tile| format!("{}: {} {}, {}", tile.label, tile.value, tile.unit, tile.beside))
            .collect();
        assert_eq!(
            latencies,
            [
                "Mean commit: 3.75 ms, write + fdatasync",
                "99th percentile of commits: 8.05 ms, write + fdatasync",
                "Mean latency: 177 µs, without fdatasync",
            ]
        );
    }
}
