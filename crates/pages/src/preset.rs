//! What the page of a preset begins with: how many of its loads pass, which of them can be trusted, and their figures.

use super::answer::{Answer, Statement, sentence};
use super::block::{Block, Column, Section, Table, Tone};
use super::foreign_text::text;
use super::quantity::{grouped, latency, significant};
use super::warnings::{Explain, NamedRun, banner, warnings};
use super::weak;
use model::finding::Severity;
use model::headline::Headline;
use model::metric::Metric;
use model::preset::{PresetRun, PresetTable};
use model::result::RunResult;
use render::figure_words::label;
use render::load_line;
use render::preset::{COMMIT_COLUMNS, LoadRow, about_commits, busy_cpus};

/// The percentiles that the table shows, and their ranks in parts per billion.
const PERCENTILES: [(&str, u64); 3] =
    [(COMMIT_COLUMNS[1], 990_000_000), (label(Metric::P99), 990_000_000), (label(Metric::P999), 999_000_000)];

/// What a preset's loads say together; `None` if the result is of none.
pub(super) fn section(result: &RunResult, explain: Explain) -> Option<Section> {
    let preset = result.preset.as_ref()?;
    let table = table(preset, result)?;
    let headlines = headlines(preset, result);
    let runs: Vec<NamedRun<'_>> =
        headlines.iter().filter_map(|(name, headline)| Some((text(name.as_bytes()), headline.as_ref()?))).collect();
    let requirements = render::preset::requirements(result);
    let loads = if preset.table == PresetTable::Loads { headlines.len() } else { table.rows.len() };
    let statement = statement(loads, requirements.as_ref(), &runs);
    let answer = Answer::resting_on(runs.iter().map(|(_, run)| *run), statement);
    let commits = about_commits(result).into_iter().map(|words| sentence(&words));
    let notes = [runs_of_rows(preset, result)].into_iter().chain(commits).chain([table.note.clone()]);
    let note = notes.filter(|note| !note.is_empty()).collect::<Vec<_>>().join(" ");
    let table = Table { note, ..table };
    let mut blocks = vec![Block::Answers { answers: vec![answer] }];
    blocks.extend(banner(warnings(&runs, explain)));
    blocks.push(Block::Table(table));
    Some(Section::new("All loads", blocks))
}

/// How many runs are behind a row, and how long they were.
fn runs_of_rows(preset: &PresetRun, result: &RunResult) -> String {
    let mut lengths = result.profile.time_spans.iter().map(load_line::length);
    let Some(first) = lengths.next().filter(|first| lengths.all(|length| length == *first)) else {
        return String::new();
    };
    match preset.repeats {
        0 | 1 => format!("Each load: one run, {first}."),
        repeats => format!("Each figure is the median of {repeats} runs, best is the highest. Each run: {first}."),
    }
}

/// The figures of each timespan, with the name of its load.
fn headlines<'a>(preset: &'a PresetRun, result: &RunResult) -> Vec<(&'a str, Option<Headline>)> {
    preset.loads.iter().map(String::as_str).zip(result.time_spans.iter().map(stats::headline)).collect()
}

fn statement(loads: usize, requirements: Option<&(Severity, String)>, runs: &[NamedRun<'_>]) -> Statement {
    let loads = if loads == 1 { "1 load".to_owned() } else { format!("{loads} loads") };
    let (tone, headline) = match requirements {
        Some((worst, words)) => (Tone::of(Some(*worst)), format!("{loads}: {words}")),
        None => (Tone::Plain, loads),
    };
    let mut doubtful: Vec<&str> = Vec::new();
    let mut sound: Vec<&str> = Vec::new();
    for (name, run) in runs {
        let names = if run.severity >= Some(Severity::Warn) { &mut doubtful } else { &mut sound };
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    sound.retain(|name| !doubtful.contains(name));
    let worst = runs.iter().filter_map(|(_, run)| run.severity).max().filter(|worst| *worst >= Severity::Warn);
    let has_notes = runs.iter().any(|(_, run)| !run.notes.is_empty());
    let trusted = match worst {
        None if has_notes => "No run has a verdict of WARN or worse; the notes limit what the figures show.".to_owned(),
        None => "No run has a verdict of WARN or worse.".to_owned(),
        Some(worst) => {
            let which = match (sound.len(), doubtful.len()) {
                (0, _) => "None of the loads can be trusted until the causes are removed".to_owned(),
                // The shorter list is read.
                (sounds, doubts) if sounds < doubts => {
                    let limits = if has_notes { ", within the limits of their notes" } else { "" };
                    format!("Only these loads can be trusted{limits}: {}", sound.join("; "))
                }
                _ => format!("These loads cannot be trusted: {}", doubtful.join("; ")),
            };
            format!("Worst verdict: {worst}. {which}.")
        }
    };
    let mut sentences = vec![trusted];
    if worst.is_some() && requirements.is_some() {
        sentences.push(
            "PASS and FAIL compare figures with limits. They do not show that the figures are right: with a WARN or \
             INVALID verdict of the run, even a PASS is not proven."
                .to_owned(),
        );
    }
    sentences.extend(busy_cpus(runs.iter().map(|(_, run)| *run)).map(|words| sentence(&words)));
    Statement { tone, about: String::new(), headline, sentences }
}

/// The table of the text, with the verdict of the run beside each load and marks at percentiles of few samples.
fn table(preset: &PresetRun, result: &RunResult) -> Option<Table> {
    let (written, rows) = render::preset::loads(result)?;
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
                    *cell = if value >= 1000.0 { grouped(value) } else { significant(value) };
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

    fn run(severity: Severity) -> Headline {
        Headline { severity: Some(severity), ..Headline::default() }
    }

    fn told(requirements: Option<(Severity, &str)>, runs: &[(&str, Severity)]) -> (Tone, String, Vec<String>) {
        let headlines: Vec<(String, Headline)> =
            runs.iter().map(|(name, severity)| ((*name).to_owned(), run(*severity))).collect();
        let named: Vec<NamedRun<'_>> = headlines.iter().map(|(name, run)| (name.clone(), run)).collect();
        let requirements = requirements.map(|(worst, words)| (worst, words.to_owned()));
        let Statement { tone, headline, sentences, .. } = statement(runs.len(), requirements.as_ref(), &named);
        (tone, headline, sentences)
    }

    #[test]
    fn passes_and_verdicts_are_put_into_relation() {
        let runs = [("reads", Severity::Note), ("log", Severity::Warn)];
        let (tone, headline, sentences) = told(Some((Severity::Pass, "2 PASS")), &runs);
        assert_eq!((tone, headline.as_str()), (Tone::Good, "2 loads: 2 PASS"));
        assert_eq!(sentences[0], "Worst verdict: WARN. These loads cannot be trusted: log.");
        assert!(sentences[1].ends_with("even a PASS is not proven."), "{sentences:?}");
        let (tone, headline, sentences) = told(None, &[("reads", Severity::Invalid), ("reads", Severity::Note)]);
        assert_eq!((tone, headline.as_str()), (Tone::Plain, "2 loads"));
        assert_eq!(
            sentences,
            ["Worst verdict: INVALID. None of the loads can be trusted until the causes are removed."]
        );
        let most = [("a, b", Severity::Warn), ("c", Severity::Warn), ("d", Severity::Note)];
        assert_eq!(told(None, &most).2, ["Worst verdict: WARN. Only these loads can be trusted: d."]);
        let noted = Headline { notes: vec!["short-run".to_owned()], cpu_percent: 99.0, ..run(Severity::Note) };
        let runs = [("reads".to_owned(), &noted), ("writes".to_owned(), &noted)];
        let Statement { sentences, .. } = statement(2, None, &runs);
        assert_eq!(sentences[0], "No run has a verdict of WARN or worse; the notes limit what the figures show.");
        assert!(
            sentences[1].starts_with("The CPUs of the machine were busy for 95 % of the time or more in 2 of 2 runs")
        );
        let (tone, _, sentences) = told(Some((Severity::Fail, "1 FAIL")), &[("reads", Severity::Note)]);
        assert_eq!((tone, sentences), (Tone::Bad, vec!["No run has a verdict of WARN or worse.".to_owned()]));
    }
}
