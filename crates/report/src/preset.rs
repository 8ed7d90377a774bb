//! The beginning of the report of a preset: how many of its loads pass, which can be trusted, and their figures.

use super::answer::{Statement, sentence};
use super::block::{Banner, Block, Column, Section, Table, Tone, dash};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant_grouped};
use super::warnings::{Explain, NamedRun, banner, warnings, warnings_of_repeats};
use super::weak;
use crate::block::{Answer, VerdictLine};
use crate::numbers::ms;
use crate::words::figure_words::shown_figure;
use model::expectation::{Ceiling, Expectation};
use model::finding::{Finding, Severity};
use model::headline::Headline;
use model::interference::StreamHeadline;
use model::latency_band::{BandKind, Medium};
use model::metric::Metric;
use model::preset::{PresetRun, PresetTable};
use model::result::{RunResult, TimeSpanResult};
use model::units::{counted, mib};
use stats::latency_band::Judgement;
use stats::preset_rows::RunsOfLoad;
use stats::ranks::{P99_PPB, P999_PPB};

/// The outcome of a load without limits beside loads that have some.
const NOT_JUDGED: &str = "not judged";

/// The rule of latency bands.
const BAND_RULE: &str = "latency-band";

/// The joint answer of a preset's loads; `None` if the result is of none.
pub(crate) fn section(result: &RunResult, explain: Explain) -> Option<Section> {
    let preset = result.preset.as_ref()?;
    let table = table(preset, result);
    let headlines = headlines(preset, result);
    let runs: Vec<NamedRun<'_>> =
        headlines.iter().filter_map(|(name, headline)| Some((text(name), headline.as_ref()?))).collect();
    let requirements = requirements(preset, result);
    let loads = counted(if preset.table == PresetTable::Loads { headlines.len() } else { table.rows.len() }, "load");
    let statement = match requirements {
        Some(requirements) => Some(statement(&loads, &requirements, &runs)),
        None => answer(preset, result).map(|answer| Statement::new(Tone::Good, format!("{loads}: {answer}"), [])),
    };
    let answer = statement.map(|statement| Answer::resting_on(runs.iter().map(|(_, run)| *run), statement));
    let busy = busy_cpus(runs.iter().map(|(_, run)| *run));
    let about = busy.into_iter().chain(about_commits(result)).map(|words| sentence(&words));
    let notes = [runs_of_rows(preset)].into_iter().chain(about).chain([table.note.clone()]);
    let note = notes.filter(|note| !note.is_empty()).collect::<Vec<_>>().join(" ");
    let table = Table { note, ..table };
    let mut blocks: Vec<Block> = answer.map(|answer| Block::Answers { answers: vec![answer] }).into_iter().collect();
    let findings = if preset.repeats > 1 { warnings_of_repeats(&runs, explain) } else { warnings(&runs, explain) };
    blocks.extend(banner(findings));
    blocks.push(Block::Table(table));
    Some(Section::new("All loads", blocks))
}

/// The same for text, without its heading, with the requirements that are not known to be met, each with its loads.
pub fn preset(result: &RunResult) -> Vec<Block> {
    let Some((preset, section)) = result.preset.as_ref().zip(section(result, |_| None)) else { return Vec::new() };
    let mut unmet: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for (name, span_result) in preset.loads.iter().zip(&result.time_spans) {
        for finding in span_result.requirements.iter().filter(|finding| finding.severity != Severity::Pass) {
            match unmet.iter_mut().find(|(other, _)| other.subject == finding.subject) {
                Some((_, loads)) if loads.contains(&name.as_str()) => {}
                Some((_, loads)) => loads.push(name),
                None => unmet.push((finding, vec![name])),
            }
        }
    }
    let found = |(finding, loads): &(&Finding, Vec<&str>)| VerdictLine {
        tone: Tone::from_severity(Some(finding.severity)),
        word: finding.severity.word().to_owned(),
        name: text(&format!("{} ({})", finding.subject, loads.join("; "))),
        figure: text(&finding.figure),
        ..VerdictLine::default()
    };
    let findings: Vec<VerdictLine> = unmet.iter().map(found).collect();
    // Those of an acceptance are all listed after it.
    let unmet = (!findings.is_empty() && !preset.is_acceptance)
        .then(|| Block::Verdict(Banner { tone: Tone::Bad, headline: String::new(), findings }));
    let (findings, mut blocks): (Vec<Block>, Vec<Block>) =
        section.blocks.into_iter().partition(|block| matches!(block, Block::Verdict(_)));
    if requirements(preset, result).is_none() {
        // The table has the figures.
        blocks.retain(|block| !matches!(block, Block::Answers { .. }));
    }
    for block in &mut blocks {
        if let Block::Table(table) = block {
            table.note = table.note.replace(CHARTS_BELOW, "");
        }
    }
    blocks.extend(findings);
    blocks.extend(unmet);
    blocks
}

/// On pages only.
const CHARTS_BELOW: &str = " Of these runs, the one with the median throughput has charts below.";

/// The basis of the figures of a row; the run length is stated above.
fn runs_of_rows(preset: &PresetRun) -> String {
    match preset.repeats {
        0 | 1 => String::new(),
        repeats => format!("Each figure is the median of {repeats} runs, best is the highest.{CHARTS_BELOW}"),
    }
}

/// The figures of each timespan, with the name of its load.
fn headlines<'a>(preset: &'a PresetRun, result: &RunResult) -> Vec<(&'a str, Option<Headline>)> {
    preset.loads.iter().map(String::as_str).zip(result.time_spans.iter().map(stats::headline)).collect()
}

/// `6 loads`, `8 loads of 5 runs`
pub(crate) fn runs_of_loads(preset: &PresetRun, result: &RunResult) -> String {
    let loads = if preset.table == PresetTable::Loads {
        result.time_spans.len()
    } else {
        result.time_spans.len() / preset.repeats.max(1) as usize
    };
    let runs = if preset.repeats > 1 { format!(" of {} runs", preset.repeats) } else { String::new() };
    format!("{}{runs}", counted(loads, "load"))
}

/// The joint answer of its loads, in a sentence without a full stop; `None` if nothing was measured.
pub(crate) fn answer(preset: &PresetRun, result: &RunResult) -> Option<String> {
    let judged = judged(preset, result);
    if !judged.is_empty() {
        return Some(judged.join("; "));
    }
    let mut runs: Vec<(&str, Headline)> =
        headlines(preset, result).into_iter().filter_map(|(name, run)| Some((name, run?))).collect();
    if preset.table == PresetTable::Desktop {
        let mb_per_s = |runs: &RunsOfLoad| significant_grouped(runs.median_bytes_per_s / 1e6);
        let row = |(name, runs): &(&str, [Option<RunsOfLoad>; 2])| {
            let named = ["reads", "writes"].into_iter().zip(runs);
            let told: Vec<String> =
                named.filter_map(|(kind, runs)| Some(format!("{kind} {} MB/s", mb_per_s(runs.as_ref()?)))).collect();
            format!("{} {}", text(name), told.join(", "))
        };
        let rows: Vec<String> = stats::preset_rows::reads_and_writes(preset, result).iter().map(row).collect();
        return (!rows.is_empty()).then(|| rows.join("; "));
    }
    runs.sort_by(|(_, one), (_, other)| one.iops.total_cmp(&other.iops));
    let with_name = |(name, run): &(&str, Headline)| format!("{} ({})", Quantity::Iops.value(run.iops), text(name));
    match &runs[..] {
        [] => None,
        [only] => Some(with_name(only)),
        [lowest, .., highest] => Some(format!("from {} to {}", with_name(lowest), with_name(highest))),
    }
}

/// Ratings of its latencies: `mean commits of 86 µs to 117 µs: 6 ideal for a hard disk and flash, 1 of them doubtful
/// (WARN)`.
fn judged(preset: &PresetRun, result: &RunResult) -> Vec<String> {
    let medium = stats::latency_band::medium(result);
    let of_kind = |(kind, what): (BandKind, &str)| {
        let of_span = |(index, span_result): (usize, &TimeSpanResult)| {
            let of_kind = preset.band(index).filter(|found| *found == kind)?;
            stats::latency_band::judge(span_result, of_kind, medium)
        };
        let found: Vec<Judgement> = result.time_spans.iter().enumerate().filter_map(of_span).collect();
        let lowest = found.iter().map(|found| found.latency_ns).min_by(f64::total_cmp)?;
        let highest = found.iter().map(|found| found.latency_ns).max_by(f64::total_cmp)?;
        let mut counts: Vec<(&str, usize, usize)> = Vec::new();
        for judgement in &found {
            let (words, is_doubtful) = match judgement.words.split_once("; ") {
                Some((words, _)) => (words, 1),
                None => (judgement.words.as_str(), 0),
            };
            match counts.iter_mut().find(|(known, ..)| *known == words) {
                Some((_, count, doubtful)) => (*count, *doubtful) = (*count + 1, *doubtful + is_doubtful),
                None => counts.push((words, 1, is_doubtful)),
            }
        }
        let count_of_loads = |(words, count, doubtful): &(&str, usize, usize)| {
            let doubtful = if *doubtful > 0 { format!(", {doubtful} of them doubtful (WARN)") } else { String::new() };
            let count = if *count == found.len() { "all".to_owned() } else { count.to_string() };
            format!("{count} {words}{doubtful}")
        };
        let range =
            if found.len() == 1 { latency(lowest) } else { format!("{} to {}", latency(lowest), latency(highest)) };
        Some(format!("{what} of {range}, {}", counts.iter().map(count_of_loads).collect::<Vec<_>>().join(", ")))
    };
    let kinds = [
        (BandKind::Data, "mean latencies"),
        (BandKind::Log, "mean commit times (a write until its flush is acknowledged)"),
    ];
    if preset.has_latency_bands { kinds.into_iter().filter_map(of_kind).collect() } else { Vec::new() }
}

/// The outcome of requirements, which verdicts may put into doubt.
fn statement(loads: &str, (worst, words): &(Severity, String), runs: &[NamedRun<'_>]) -> Statement {
    let is_doubtful = runs.iter().any(|(_, run)| run.severity >= Some(Severity::Warn));
    let doubt = is_doubtful.then(|| {
        "PASS and FAIL compare figures with limits. They do not show that the figures are right: with a WARN or \
         INVALID verdict of the run, even a PASS is not proven."
            .to_owned()
    });
    Statement::new(Tone::from_severity(Some(*worst)), format!("{loads}: {words}"), doubt)
}

/// A PASS of a load whose verdict puts it into doubt.
const UNPROVEN: &str = "PASS, unproven";

/// The outcome of all requirements of a preset's loads: the worst, and how many there are of each kind and
/// loads without any; `None` if no load has one.
fn requirements(preset: &PresetRun, result: &RunResult) -> Option<(Severity, String)> {
    let of_span = |span_result: &TimeSpanResult| {
        let is_unproven = preset.is_unproven(span_result.verdict.as_ref());
        span_result.requirements.iter().map(|of| (of.severity, is_unproven)).collect::<Vec<_>>()
    };
    let all: Vec<(Severity, bool)> = result.time_spans.iter().flat_map(of_span).collect();
    let worst = [Severity::Fail, Severity::Unknown, Severity::Pass];
    let worst = worst.into_iter().find(|kind| all.iter().any(|(severity, _)| severity == kind))?;
    let count = |wanted: Severity, is_wanted: fn(bool) -> bool| {
        all.iter().filter(|(severity, is_unproven)| *severity == wanted && is_wanted(*is_unproven)).count()
    };
    let kinds = [
        (count(Severity::Pass, |is_unproven| !is_unproven), Severity::Pass.word()),
        (count(Severity::Pass, |is_unproven| is_unproven), UNPROVEN),
        (count(Severity::Unknown, |_| true), Severity::Unknown.word()),
        (count(Severity::Fail, |_| true), Severity::Fail.word()),
        // Another part of them may have no limits.
        (result.time_spans.iter().filter(|span_result| span_result.requirements.is_empty()).count(), NOT_JUDGED),
    ];
    let parts = kinds.into_iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}"));
    Some((worst, parts.collect::<Vec<_>>().join(", ")))
}

/// The outcome of the bands of a load.
fn band_finding(span_result: &TimeSpanResult) -> Option<&Finding> {
    span_result.requirements.iter().find(|finding| finding.name == BAND_RULE)
}

fn has_flushes(result: &RunResult) -> bool {
    result.time_spans.iter().any(|span| span.measured.as_ref().is_some_and(|measured| measured.flushes.is_some()))
}

/// The figures of each load with the verdict of its run; percentiles of few samples are marked.
fn table(preset: &PresetRun, result: &RunResult) -> Table {
    match preset.table {
        PresetTable::Loads => of_loads(preset, result),
        PresetTable::Desktop => desktop(preset, result),
    }
}

/// The verdict of a run in a word.
fn verdict_word(severity: Option<Severity>) -> String {
    severity.filter(|worst| *worst >= Severity::Note).map_or("ok", Severity::word).to_owned()
}

/// A latency of `ios` I/Os in milliseconds, marked if it is a percentile of too few.
fn in_ms(ns: Option<f64>, ios: u64, rank_ppb: Option<u64>) -> String {
    let is_weak = rank_ppb.is_some_and(|rank_ppb| weak::is_weak(ios, rank_ppb));
    ns.map_or_else(dash, |ns| format!("{:.3}{}", ms(ns), if is_weak { weak::MARK } else { "" }))
}

/// A cell of each column; `None` for columns that the preset lacks.
type Cells = [Option<String>; 14];

/// The table of loads, with the columns that not every preset has.
struct LoadTable<'a> {
    preset: &'a PresetRun,
    has_flushes: bool,
    has_commits: bool,
    has_limits: bool,
    medium: Medium,
}

fn of_loads(preset: &PresetRun, result: &RunResult) -> Table {
    let of = LoadTable {
        preset,
        has_flushes: has_flushes(result),
        has_commits: (0..preset.loads.len()).any(|index| preset.band(index) == Some(BandKind::Log)),
        has_limits: result.time_spans.iter().any(|span_result| span_result.expectation.is_some()),
        medium: stats::latency_band::medium(result),
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut add = |cells: Cells| rows.push(cells.into_iter().flatten().collect());
    for (index, (name, span_result)) in preset.loads.iter().zip(&result.time_spans).enumerate() {
        let headline = stats::headline(span_result);
        let verdict = verdict_word(headline.as_ref().and_then(|headline| headline.severity));
        add(of.load(index, [text(name), verdict.clone()], headline.as_ref(), span_result));
        if let Some(measured) = &span_result.measured {
            for (stream, figures) in stats::interference::streams(measured).iter().zip(&measured.streams) {
                let ios = figures.figures.total.ios;
                add(of.stream([format!("- {}", stream.name), verdict.clone()], &stream.figures, ios));
            }
        }
    }
    let is_any_weak = rows.iter().flatten().any(|cell| cell.ends_with(weak::MARK));
    Table { label: "Loads", columns: of.columns(), rows, note: weak::note(is_any_weak), ..Table::default() }
}

impl LoadTable<'_> {
    /// The columns that were judged come first.
    fn columns(&self) -> Vec<Column> {
        let spare = |column: Column, place: usize| Column { spare: Some(place), ..column };
        let figure = |metric: Metric| Column::number(metric.heading());
        let columns = [
            Some(Column::text("load")),
            Some(spare(Column::text("run verdict"), 0)),
            self.preset.has_latency_bands.then(|| Column::words("rating of mean")),
            self.has_commits.then(|| Column::number("commit ms")),
            Some(figure(Metric::Mean)),
            Some(figure(Metric::Iops)),
            self.has_limits.then(|| Column::words("of the limit")),
            Some(spare(figure(Metric::MibPerS), 7)),
            self.has_commits.then(|| spare(Column::number("commit p99 ms"), 6)),
            Some(spare(figure(Metric::P99), 5)),
            Some(spare(figure(Metric::P999), 2)),
            Some(spare(figure(Metric::Cpu), 4)),
            self.has_flushes.then(|| spare(Column::number("fdatasync/s"), 1)),
            self.has_flushes.then(|| spare(Column::number("fdatasync ms"), 3)),
        ];
        columns.into_iter().flatten().collect()
    }

    fn load(
        &self,
        index: usize,
        [name, verdict]: [String; 2],
        headline: Option<&Headline>,
        span_result: &TimeSpanResult,
    ) -> Cells {
        let Some(headline) = headline else {
            let is_rated = self.preset.has_latency_bands;
            let rating = is_rated.then(|| "not measured".to_owned());
            let mean = Some("not measured".to_owned()).filter(|_| !is_rated);
            return self.present([Some(name), Some(verdict), rating, None, mean]);
        };
        let ios = headline.ios;
        let kind = self.preset.band(index);
        let limit = span_result.expectation.as_ref().and_then(Expectation::nearest);
        let commit = stats::latency_band::commit(span_result).filter(|_| kind == Some(BandKind::Log));
        let commit_p99 = commit.as_ref().and_then(|commit| commit.p99_ns).map(|ns| ns as f64);
        let flushes = span_result.measured.as_ref().and_then(|measured| measured.flushes);
        let flush_mean = flushes.and_then(|flushes| flushes.latency).map(|latency| latency.mean_ns);
        [
            Some(name),
            Some(verdict),
            self.preset.has_latency_bands.then(|| self.rating(kind, span_result)),
            self.has_commits.then(|| in_ms(commit.as_ref().map(|commit| commit.mean_ns), ios, None)),
            Some(in_ms(headline.mean_ns, ios, None)),
            Some(significant_grouped(headline.iops)),
            self.has_limits.then(|| limit.map_or_else(dash, of_limit)),
            Some(significant_grouped(mib(headline.bytes_per_s))),
            self.has_commits.then(|| in_ms(commit_p99, ios, Some(P99_PPB))),
            Some(in_ms(headline.p99_ns.map(|ns| ns as f64), ios, Some(P99_PPB))),
            Some(in_ms(headline.p999_ns.map(|ns| ns as f64), ios, Some(P999_PPB))),
            Some(shown_figure(Metric::Cpu, headline.cpu_percent, 3)),
            self.has_flushes.then(|| flushes.map_or_else(dash, |flushes| significant_grouped(flushes.per_s))),
            self.has_flushes.then(|| in_ms(flush_mean, ios, None)),
        ]
    }

    /// The rating by its band, after the outcome where the preset judges.
    fn rating(&self, kind: Option<BandKind>, span_result: &TimeSpanResult) -> String {
        let judgement = kind.and_then(|kind| stats::latency_band::judge(span_result, kind, self.medium));
        let Some(Judgement { words, .. }) = judgement else { return NOT_JUDGED.to_owned() };
        match band_finding(span_result).filter(|_| self.preset.is_judged).map(|finding| finding.severity) {
            None => words,
            Some(Severity::Pass) if self.preset.is_unproven(span_result.verdict.as_ref()) => {
                // The band without its doubt.
                format!("{UNPROVEN}: {}", words.split("; ").next().unwrap_or_default())
            }
            Some(severity) => format!("{severity} {words}"),
        }
    }

    /// Figures of a stream, below those of its load.
    fn stream(&self, [name, verdict]: [String; 2], of: &StreamHeadline, ios: u64) -> Cells {
        let cells = [
            Some(name),
            Some(verdict),
            None,
            Some(dash()),
            Some(in_ms(of.mean_ns, ios, None)),
            Some(significant_grouped(of.iops)),
            Some(dash()),
            Some(significant_grouped(mib(of.bytes_per_s))),
            Some(dash()),
            Some(in_ms(of.p99_ns, ios, Some(P99_PPB))),
            Some(in_ms(of.p999_ns, ios, Some(P999_PPB))),
        ];
        self.present(cells)
    }

    /// The first cells, as far as the preset has their columns; the others are empty.
    fn present<const COUNT: usize>(&self, first: [Option<String>; COUNT]) -> Cells {
        let mut first = first.into_iter();
        let has = |place| match place {
            2 => self.preset.has_latency_bands,
            3 | 8 => self.has_commits,
            6 => self.has_limits,
            12 | 13 => self.has_flushes,
            _ => true,
        };
        std::array::from_fn(|place| {
            let cell = first.next().flatten().unwrap_or_default();
            has(place).then_some(cell)
        })
    }
}

/// `37.2 % of vm-iops`: the limit with the least headroom.
fn of_limit(ceiling: &Ceiling) -> String {
    format!("{:.1} % of {}", ceiling.share_percent, ceiling.name)
}

/// Loads of one name share a row: reads, then writes, in MB (10^6 bytes) per second.
fn desktop(preset: &PresetRun, result: &RunResult) -> Table {
    let headlines = headlines(preset, result);
    let column = |(name, spare): (&str, Option<usize>)| Column { spare, ..Column::number(name) };
    let numbers = [
        ("read MB/s", None),
        ("read best", Some(0)),
        ("read IOPS", Some(4)),
        ("read latency", Some(6)),
        ("write MB/s", None),
        ("write best", Some(1)),
        ("write IOPS", Some(3)),
        ("write latency", Some(5)),
    ];
    let row = |(name, runs): (&str, [Option<RunsOfLoad>; 2])| {
        let of_load = headlines.iter().filter(|(other, _)| *other == name);
        let worst = of_load.filter_map(|(_, headline)| headline.as_ref()?.severity).max();
        let cells = runs.into_iter().flat_map(|runs| match runs {
            None => ["-"; 4].map(str::to_owned),
            Some(runs) => [
                significant_grouped(runs.median_bytes_per_s / 1e6),
                significant_grouped(runs.best_bytes_per_s / 1e6),
                grouped(runs.median_iops),
                runs.median_latency_ns.map_or_else(dash, latency),
            ],
        });
        [text(name), verdict_word(worst)].into_iter().chain(cells).collect()
    };
    let verdict = Column { spare: Some(2), ..Column::text("run verdict") };
    Table {
        label: "Loads",
        columns: [Column::text("load"), verdict].into_iter().chain(numbers.map(column)).collect(),
        rows: stats::preset_rows::reads_and_writes(preset, result).into_iter().map(row).collect(),
        note: "MB: 10^6 bytes.".to_owned(),
        ..Table::default()
    }
}

/// CPU usage from which the CPUs may limit a load.
const BUSY_PERCENT: f64 = 95.0;

/// The number of runs that left the machine no CPU time: `the CPUs of the machine were busy for 95 % of the time or
/// more in 3 of 13 runs`.
fn busy_cpus<'a>(runs: impl IntoIterator<Item = &'a Headline>) -> Option<String> {
    let runs: Vec<&Headline> = runs.into_iter().collect();
    let busy: Vec<&Headline> = runs.iter().copied().filter(|run| run.cpu_percent >= BUSY_PERCENT).collect();
    let of = if runs.len() == 1 { String::new() } else { format!(" in {} of {} runs", busy.len(), runs.len()) };
    let is_shared = busy.iter().any(|run| run.warnings.iter().any(|name| name == "cpu-contention"));
    let who = if is_shared { " (see cpu-contention)" } else { "" };
    (!busy.is_empty()).then(|| {
        format!(
            "the CPUs of the machine were busy for {BUSY_PERCENT} % of the time or more{of}: they may limit the \
             figures{who}"
        )
    })
}

/// The definition of a commit, and the limits by which commits were rated: in a virtual machine the kernel does not
/// know the disks.
fn about_commits(result: &RunResult) -> Vec<String> {
    let Some(preset) = result.preset.as_ref().filter(|preset| preset.has_latency_bands) else { return Vec::new() };
    if (0..preset.loads.len()).all(|index| preset.band(index) != Some(BandKind::Log)) {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    if has_flushes(result) {
        let commit = "a commit is a durable write (O_DSYNC), or a write and the fdatasync after it; the other latencies are \
                      those of the I/Os alone";
        sentences.push(commit.to_owned());
    }
    let limits = match stats::latency_band::medium(result) {
        Medium::Flash => return sentences,
        Medium::HardDisk => "limits of a hard disk: the kernel reports the device as rotational".to_owned(),
        Medium::Unknown => {
            let why = if stats::latency_band::is_virtual(result) {
                "the kernel of this virtual machine does not see the disks of the host"
            } else {
                "the kernel does not report it"
            };
            format!(
                "limits of a commit: 5 and 10 ms on a hard disk, 1 and 5 ms on flash; which of them the device is, is not \
                 known: {why}"
            )
        }
    };
    sentences.push(limits);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement_parts(worst: Severity, words: &str, severity: Severity) -> (Tone, String, Vec<String>) {
        let run = Headline { severity: Some(severity), ..Headline::default() };
        let runs = [("reads".to_owned(), &run)];
        let Statement { tone, headline, sentences, .. } = statement("2 loads", &(worst, words.to_owned()), &runs);
        (tone, headline, sentences)
    }

    #[test]
    fn passes_and_verdicts_are_put_into_relation() {
        let (tone, headline, sentences) = statement_parts(Severity::Pass, "2 PASS", Severity::Warn);
        assert_eq!((tone, headline.as_str()), (Tone::Good, "2 loads: 2 PASS"));
        assert!(sentences[0].ends_with("even a PASS is not proven."), "{sentences:?}");
        let (tone, _, sentences) = statement_parts(Severity::Fail, "1 FAIL", Severity::Note);
        assert_eq!((tone, sentences), (Tone::Bad, Vec::new()));
    }

    #[test]
    fn busy_cpus_are_counted_by_run() {
        let run = |cpu_percent: f64, warnings: &[&str]| Headline {
            cpu_percent,
            warnings: warnings.iter().map(ToString::to_string).collect(),
            ..Headline::default()
        };
        let head = "the CPUs of the machine were busy for 95 % of the time or more";
        assert_eq!(busy_cpus(&[run(94.0, &["cpu-contention"])]), None);
        assert_eq!(busy_cpus(&[run(95.0, &[])]), Some(format!("{head}: they may limit the figures")));
        let mixed = [run(99.0, &["cpu-contention"]), run(20.0, &[]), run(96.0, &["drift"])];
        let expected = format!("{head} in 2 of 3 runs: they may limit the figures (see cpu-contention)");
        assert_eq!(busy_cpus(&mixed), Some(expected));
    }
}
