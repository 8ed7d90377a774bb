//! The beginning of the report of a preset: how many of its loads pass, which of them can be trusted, and their figures.

use super::answer::{Statement, sentence};
use super::block::{Block, Column, Section, Table, Tone};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant_grouped};
use super::warnings::{Explain, NamedRun, banner, warnings, warnings_of_repeats};
use super::weak;
use crate::block::Answer;
use crate::words::preset::{COMMIT_COLUMNS, LoadRow, about_commits, busy_cpus};
use model::finding::Severity;
use model::headline::Headline;
use model::latency_band::BandKind;
use model::metric::Metric;
use model::preset::{PresetRun, PresetTable};
use model::result::{RunResult, TimeSpanResult};
use model::units::counted;
use stats::latency_band::Judgement;
use stats::preset_rows::RunsOfLoad;

/// The percentiles that the table shows, and their ranks in parts per billion.
const PERCENTILES: [(&str, u64); 3] =
    [(COMMIT_COLUMNS[1], 990_000_000), (Metric::P99.heading(), 990_000_000), (Metric::P999.heading(), 999_000_000)];

/// What a preset's loads say together; `None` if the result is of none.
pub(crate) fn section(result: &RunResult, explain: Explain) -> Option<Section> {
    let preset = result.preset.as_ref()?;
    let table = table(preset, result)?;
    let headlines = headlines(preset, result);
    let runs: Vec<NamedRun<'_>> =
        headlines.iter().filter_map(|(name, headline)| Some((text(name.as_bytes()), headline.as_ref()?))).collect();
    let requirements = crate::words::preset::requirements(result);
    let loads = counted(if preset.table == PresetTable::Loads { headlines.len() } else { table.rows.len() }, "load");
    let answer = requirements.map(|requirements| {
        Answer::resting_on(runs.iter().map(|(_, run)| *run), statement(&loads, &requirements, &runs))
    });
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

/// What the figures of a row are of; how long each run was stands above.
fn runs_of_rows(preset: &PresetRun) -> String {
    match preset.repeats {
        0 | 1 => String::new(),
        repeats => format!(
            "Each figure is the median of {repeats} runs, best is the highest. Of these runs, the one with the median throughput has charts below."
        ),
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

/// What its loads say together, in a sentence without a full stop; `None` if nothing was measured.
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
            format!("{} {}", text(name.as_bytes()), told.join(", "))
        };
        let rows: Vec<String> = stats::preset_rows::reads_and_writes(preset, result).iter().map(row).collect();
        return (!rows.is_empty()).then(|| rows.join("; "));
    }
    runs.sort_by(|(_, one), (_, other)| one.iops.total_cmp(&other.iops));
    let told =
        |(name, run): &(&str, Headline)| format!("{} ({})", Quantity::Iops.value(run.iops), text(name.as_bytes()));
    match &runs[..] {
        [] => None,
        [only] => Some(told(only)),
        [lowest, .., highest] => Some(format!("from {} to {}", told(lowest), told(highest))),
    }
}

/// How its latencies were judged: `mean commits of 86 µs to 117 µs: 6 ideal for a hard disk and flash, 1 of them doubtful (WARN)`.
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
        let told = |(words, count, doubtful): &(&str, usize, usize)| {
            let doubtful = if *doubtful > 0 { format!(", {doubtful} of them doubtful (WARN)") } else { String::new() };
            let count = if *count == found.len() { "all".to_owned() } else { count.to_string() };
            format!("{count} {words}{doubtful}")
        };
        let range =
            if found.len() == 1 { latency(lowest) } else { format!("{} to {}", latency(lowest), latency(highest)) };
        Some(format!("{what} of {range}, {}", counts.iter().map(told).collect::<Vec<_>>().join(", ")))
    };
    let kinds = [
        (BandKind::Data, "mean latencies"),
        (BandKind::Log, "mean commit times (a write until its flush is acknowledged)"),
    ];
    if preset.has_latency_bands { kinds.into_iter().filter_map(of_kind).collect() } else { Vec::new() }
}

/// What became of requirements, which verdicts may put into doubt.
fn statement(loads: &str, (worst, words): &(Severity, String), runs: &[NamedRun<'_>]) -> Statement {
    let is_doubtful = runs.iter().any(|(_, run)| run.severity >= Some(Severity::Warn));
    let doubt = is_doubtful.then(|| {
        "PASS and FAIL compare figures with limits. They do not show that the figures are right: with a WARN or \
         INVALID verdict of the run, even a PASS is not proven."
            .to_owned()
    });
    Statement {
        tone: Tone::of(Some(*worst)),
        about: String::new(),
        headline: format!("{loads}: {words}"),
        sentences: doubt.into_iter().collect(),
    }
}

/// The table of the text, with the verdict of the run beside each load and marks at percentiles of few samples.
fn table(preset: &PresetRun, result: &RunResult) -> Option<Table> {
    let (written, rows) = crate::words::preset::loads(result)?;
    let mut table = Table { label: "Loads", ..Table::judged_first(&written, written.header()) };
    let headlines = headlines(preset, result);
    let severity = |headline: &Option<Headline>| headline.as_ref().and_then(|headline| headline.severity);
    let word = |severity: Option<Severity>| {
        severity.filter(|worst| *worst >= Severity::Note).map_or("ok", Severity::word).to_owned()
    };
    if let Some(rows) = rows {
        let mut is_any_weak = false;
        for (name, rank_ppb) in PERCENTILES {
            let Some(column) = table.column(name) else { continue };
            for (row, LoadRow { ios, .. }) in table.rows.iter_mut().zip(&rows) {
                let has_value =
                    row.get(column).is_some_and(|cell| cell.starts_with(|first: char| first.is_ascii_digit()));
                if has_value && weak::is_weak(*ios, rank_ppb) {
                    row[column].push_str(weak::MARK);
                    is_any_weak = true;
                }
            }
        }
        for column in 1..table.columns.len() {
            let name = table.columns[column].name();
            if name != "IOPS" && !name.ends_with("/s") {
                continue;
            }
            for cell in table.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
                if let Ok(value) = cell.parse::<f64>() {
                    *cell = significant_grouped(value);
                }
            }
        }
        table.note = weak::note(is_any_weak);
        let of_row = |row: &LoadRow| word(headlines.get(row.time_span).and_then(|(_, run)| severity(run)));
        let verdicts = rows.iter().map(of_row);
        table.insert(1, "run verdict", verdicts.collect::<Vec<_>>());
        return Some(table);
    }
    for column in 1..table.columns.len() {
        let name = table.columns[column].name().to_owned();
        for cell in table.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            let Ok(value) = cell.parse::<f64>() else { continue };
            *cell = if name.ends_with(" us") { latency(value * 1e3) } else { grouped(value) };
        }
        if let Some(direction) = name.strip_suffix(" us") {
            table.columns[column] = Column::number(&format!("{direction} latency"));
        }
    }
    if let Some(first) = table.columns.first_mut() {
        // What the text explains in the corner of its table.
        table.note = sentence(first.name());
        *first = Column::text("load");
    }
    // Loads of one name share a row.
    let verdict = |row: &Vec<String>| {
        let of_load = headlines.iter().filter(|(name, _)| row.first().is_some_and(|first| first == name));
        word(of_load.filter_map(|(_, headline)| severity(headline)).max())
    };
    let verdicts: Vec<String> = table.rows.iter().map(verdict).collect();
    table.insert(1, "run verdict", verdicts);
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(worst: Severity, words: &str, severity: Severity) -> (Tone, String, Vec<String>) {
        let run = Headline { severity: Some(severity), ..Headline::default() };
        let runs = [("reads".to_owned(), &run)];
        let Statement { tone, headline, sentences, .. } = statement("2 loads", &(worst, words.to_owned()), &runs);
        (tone, headline, sentences)
    }

    #[test]
    fn passes_and_verdicts_are_put_into_relation() {
        let (tone, headline, sentences) = told(Severity::Pass, "2 PASS", Severity::Warn);
        assert_eq!((tone, headline.as_str()), (Tone::Good, "2 loads: 2 PASS"));
        assert!(sentences[0].ends_with("even a PASS is not proven."), "{sentences:?}");
        let (tone, _, sentences) = told(Severity::Fail, "1 FAIL", Severity::Note);
        assert_eq!((tone, sentences), (Tone::Bad, Vec::new()));
    }
}
