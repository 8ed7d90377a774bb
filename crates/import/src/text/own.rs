//! Lines of a text report of this program that `DiskSpd` does not print.

use super::finish;
use model::engine_kind::EngineKind;
use model::figures::FlushFigures;
use model::finding::{Finding, Severity, Source};
use model::profile::{FlushCall, OfferedRate};
use model::result::{Implementation, RunResult, Tool};
use model::verdict::Verdict;
use model::version::IMPLEMENTATION;

/// Adds labels, verdicts, and the settings that decide which latency the application waits for. None of them can fail:
/// an unexpected line is left out.
pub(super) fn add(text: &str, result: &mut RunResult) {
    // Texts do not contain the version.
    let implementation = Implementation { name: IMPLEMENTATION.to_owned(), version: String::new() };
    result.tool = Tool { implementation: Some(implementation), ..result.tool.clone() };
    let labels = text.lines().take_while(|line| !line.starts_with("Results for timespan "));
    let labels = labels.filter_map(|line| line.strip_prefix("Label: ")?.split_once('='));
    result.labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let rate = steady_rate(&result.command_line);
    for (index, part) in text.split("\n  timespan: ").skip(1).enumerate() {
        // In other programs' reports the sections begin the same.
        let part = part.split("\nSystem information:").next().unwrap_or_default();
        let engines = engines(part);
        if let Some(span) = result.profile.time_spans.get_mut(index)
            && engines == [EngineKind::Null]
        {
            span.engine = Some(EngineKind::Null);
        }
        if let Some(span_result) = result.time_spans.get_mut(index) {
            span_result.engines = engines;
        }
    }
    for (index, part) in text.split("\nResults for timespan ").skip(1).enumerate() {
        let Some(span) = result.profile.time_spans.get_mut(index) else { continue };
        let Some(span_result) = result.time_spans.get_mut(index) else { continue };
        span_result.verdict = verdict(part);
        let lines: Vec<&str> = part.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            if line.starts_with("open loop") {
                // The rate itself is in the command line only.
                span.rate_iops = Some(OfferedRate::Steady(rate.unwrap_or_default()));
            } else if let Some(flushes) = flushes(line, lines[number + 1..].iter().copied()) {
                match flushes.call {
                    FlushCall::Fdatasync => span.flush_after_writes = Some(flushes.after_writes),
                    FlushCall::Fsync => span.fsync_after_writes = Some(flushes.after_writes),
                }
                if let Some(measured) = &mut span_result.measured {
                    measured.flushes = Some(flushes);
                }
            }
        }
    }
    finish::summaries(result);
}

/// The engines that the settings of a timespan list, each once.
fn engines(settings: &str) -> Vec<EngineKind> {
    let mut found = Vec::new();
    for line in settings.lines().filter_map(|line| line.trim_start().strip_prefix("using ")) {
        let is_it = |engine: &EngineKind| match engine {
            EngineKind::Null => line.ends_with("(null engine)"),
            engine => line == engine.name(),
        };
        found.extend(EngineKind::ALL.into_iter().find(is_it).filter(|engine| !found.contains(engine)));
    }
    found
}

/// The line `fdatasync, after every 4 writes of a thread` and, after a header line, `fdatasync  25  7.3`.
fn flushes<'a>(line: &str, mut below: impl Iterator<Item = &'a str>) -> Option<FlushFigures> {
    let (call, rest) = line.split_once(", after ")?;
    let call = [FlushCall::Fdatasync, FlushCall::Fsync].into_iter().find(|known| known.name() == call)?;
    let writes = rest.strip_suffix(" of a thread")?;
    let after_writes = match writes.strip_prefix("every ") {
        Some(writes) => writes.split(' ').next()?.parse().ok()?,
        None => (writes == "each write").then_some(1)?,
    };
    below.next().filter(|headings| headings.split_whitespace().take(3).eq(["count", "per", "s"]))?;
    let mut cells = below.next()?.split_whitespace().skip(1).map(|cell| cell.replace(',', ""));
    let (count, per_s) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
    Some(FlushFigures { call, after_writes, count, per_s, ..FlushFigures::default() })
}

/// `--rate=500` among the arguments.
fn steady_rate(command_line: &str) -> Option<u32> {
    let mut words = command_line.split(' ');
    let value = words.find_map(|word| match word.strip_prefix("--rate")? {
        "" => Some(None),
        value => value.strip_prefix('=').map(Some),
    })?;
    value.or_else(|| words.next())?.parse().ok()
}

/// The verdict of a timespan: `Verdict: WARN`, then a line for each warning and one with the names of all notes;
/// without warnings `Verdict: valid; NOTE short-run, weak-percentiles`.
fn verdict(part: &str) -> Option<Verdict> {
    let mut lines = part.lines().skip_while(|line| !line.starts_with("Verdict: "));
    let notes = lines.next()?.strip_prefix("Verdict: valid; NOTE ").map(|notes| format!("  NOTE {notes}"));
    let mut findings = Vec::new();
    // Names that continue on the next line.
    let mut unfinished = None;
    for line in notes.as_deref().into_iter().chain(lines.take_while(|line| line.starts_with("  "))) {
        let (severity, rest) = match (unfinished.take(), first_word(line)) {
            (_, Some((severity, rest))) => (severity, rest),
            (Some(severity), None) => (severity, line.trim()),
            (None, None) => continue,
        };
        let (names, figure) = rest.split_once(": ").unwrap_or((rest, ""));
        if figure.is_empty() && names.ends_with(',') {
            unfinished = Some(severity);
        }
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            findings.push(Finding {
                name: name.to_owned(),
                severity,
                subject: String::new(),
                figure: figure.trim().to_owned(),
                value: None,
                advice: String::new(),
                basis: String::new(),
                source: Source::Verdict,
            });
        }
    }
    Some(Verdict { findings })
}

/// The severity at the start of a line of a finding, and the rest of the line; continuation lines have none.
fn first_word(line: &str) -> Option<(Severity, &str)> {
    let line = line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?;
    let (word, rest) = line.split_once(' ')?;
    Some((Severity::ALL.into_iter().find(|severity| severity.word() == word)?, rest.trim_start()))
}
