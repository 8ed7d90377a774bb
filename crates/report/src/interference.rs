//! The report of streams alone and together, and of their interference.

use super::again::TypedCommand;
use super::answer::{Statement, sentence};
use super::block::{Block, Column, Report, Section, Table, Tone, charts, dash};
use super::brief::{self, each, remedy_of_runs};
use super::charts::streams;
use super::environment::environment;
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant_grouped};
use super::series::{command, report_of_runs, verdicts};
use super::warnings::Explain;
use super::weak;
use crate::block::{Answer, Brief, Trust};
use crate::chart::ChartResult;
use crate::words::interference::{factor, share_of_iops};
use model::finding::Severity;
use model::headline::Headline;
use model::interference::{Interference, StreamInRun, StreamInterference};
use model::profile::StreamName;
use model::result::RunResult;
use model::sweep::{Sweep, Visit};
use model::units::{counted, mib};

/// The report; `example` is the result of one of the runs.
pub(crate) fn report(sweep: &Sweep, example: Option<&RunResult>, name: &str, explain: Explain) -> Report {
    let streams = sweep.interference.as_ref().map(|found| &found.streams[..]).unwrap_or_default();
    let rounds = sweep.interference.as_ref().map_or(0, |found| found.rounds);
    // Runs of other streams alone contain nothing about a stream.
    let runs_of = |name: &StreamName| {
        let has_it = |visit: &&Visit| visit.streams.iter().any(|stream| stream.name == *name);
        sweep.visits.iter().filter(has_it).filter_map(Visit::headline).collect::<Vec<_>>()
    };
    let answer = |of: &StreamInterference| {
        Answer::resting_on_some(runs_of(&of.name), &format!("of {}", of.name), statement(sweep, of, rounds))
    };
    let mut answers: Vec<Answer> = streams.iter().map(answer).collect();
    if answers.is_empty() {
        let statement = Statement::new(
            Tone::Warn,
            "No round is complete",
            ["An answer needs a run of each stream alone, and one of all together.".to_owned()],
        );
        answers.push(Answer::resting_on(sweep.visits.iter().filter_map(Visit::headline), statement));
    }
    let mut first = vec![Block::Answers { answers }];
    if let Some(found) = &sweep.interference {
        let notes = example.map(|RunResult { profile, .. }| {
            [
                crate::words::interference::capped(profile),
                profile.time_spans.first().and_then(crate::words::waits::beside),
            ]
        });
        let notes = notes.into_iter().flatten().flatten().map(|words| sentence(&words));
        let note = notes.collect::<Vec<_>>().join(" ");
        first.push(Block::Table(Table { note, ..of_streams(found) }));
    }
    first.extend(verdicts(sweep, explain, run_of_round));
    let mut sections = vec![Section::new("", first)];
    let runs = runs(sweep, example);
    if !runs.rows.is_empty() {
        let mut blocks = charts(shown(sweep));
        blocks.push(Block::Table(runs));
        sections.push(Section::of_details("The runs", blocks));
    }
    sections.extend(example.map(environment));
    sections.push(command("interference", sweep));
    let brief = brief(sweep, example, explain);
    report_of_runs("Interference", name, sweep, example, brief, sections)
}

/// The chart of the streams; none before a round is complete.
pub(crate) fn shown(sweep: &Sweep) -> Vec<ChartResult> {
    sweep.interference.as_ref().and_then(streams).map(Ok).into_iter().collect()
}

/// Streams whose share is stated at the head of the report.
const STREAMS_MAX: usize = 4;

/// Rounds that are advised where there were fewer than enough.
const ROUNDS: &str = "5";

fn brief(sweep: &Sweep, example: Option<&RunResult>, explain: Explain) -> Brief {
    let runs: Vec<&Headline> = sweep.measured().collect();
    let common = Brief::of_runs(sweep, example);
    let again = TypedCommand::of_method("interference", sweep);
    let Some(Interference { rounds, streams }) = &sweep.interference else {
        return Brief {
            trust: Trust { tone: Tone::Bad, words: "No: no round is complete.".to_owned() },
            next: "Find out why runs failed, as listed below, and run the rounds again.".to_owned(),
            command: again.command(),
            ..common
        };
    };
    let names: Vec<&str> = streams.iter().map(|of| of.name.as_str()).collect();
    let share = |of: &StreamInterference| Some(format!("{} {}", of.name, share_of_iops(of.iops_share_percent?)));
    let mut shares: Vec<String> = streams.iter().take(STREAMS_MAX).filter_map(share).collect();
    shares.extend((streams.len() > STREAMS_MAX).then(|| format!("{} more below", streams.len() - STREAMS_MAX)));
    let came_out = if shares.is_empty() {
        String::new()
    } else {
        format!(". IOPS beside the others, as a share of those alone: {}", shares.join(", "))
    };
    let measured = format!(
        "The streams {}, each alone and all together, in {} of {}{}{came_out}.",
        names.join(" and "),
        counted(*rounds as usize, "round"),
        counted(streams.len() + 1, "run"),
        each(example),
    );
    let targets = example.and_then(|example| crate::words::interference::shared_targets(&example.profile));
    let on = std::iter::once(common.on.clone()).chain(targets.map(|words| sentence(&words)));
    let too_few = crate::words::interference::too_few(*rounds);
    let few_samples: Vec<String> = streams.iter().filter_map(|of| few_samples(sweep, &of.name)).collect();
    let doubts: Vec<String> = too_few.iter().cloned().chain(few_samples).collect();
    let basis = if doubts.is_empty() { crate::words::interference::rounds(*rounds) } else { doubts.join("; ") };
    let mut trust = Trust::in_answer(runs.iter().copied(), doubts.is_empty(), &basis);
    if let Some(words) = one_sided(sweep) {
        trust.words = format!("{} {words}", trust.words);
    }
    let asked = if too_few.is_some() { again.with_own("--rounds=", ROUNDS) } else { again };
    let (again, is_longer) = asked.of_a_minute(runs.iter().copied());
    let remedy = remedy_of_runs(&runs, explain);
    let length = if is_longer { ", with runs of 60 s each" } else { "" };
    let words = match (&too_few, streams.iter().min_by(|a, b| kept(a).total_cmp(&kept(b)))) {
        (Some(_), _) => format!("Run {ROUNDS} rounds{length}."),
        (None, Some(most)) if remedy.is_none() && !is_longer => format!(
            "{} loses most beside the others: if it must not, limit the others (-g in their --stream) or move them to another \
             device, and run the rounds again.",
            most.name
        ),
        (None, _) => format!("Run the rounds again{length}."),
    };
    let next = brief::after(remedy.as_deref(), &words);
    Brief { measured, on: on.collect::<Vec<_>>().join(" "), trust, next, command: again.command() }
}

/// The effect of warnings on the shares, if only runs of streams alone or only those of all together have some.
fn one_sided(sweep: &Sweep) -> Option<&'static str> {
    let is_warned = |visit: &&Visit| visit.headline().is_some_and(|run| run.severity > Some(Severity::Note));
    let mut are_alone = sweep.visits.iter().filter(is_warned).map(|visit| visit.streams.len() == 1);
    let first = are_alone.next()?;
    are_alone.all(|is_alone| is_alone == first).then_some(if first {
        "Only runs of streams alone have warnings: without these, shares may be lower and factors higher."
    } else {
        "Only runs of all streams together have warnings: without these, shares may be higher and factors lower."
    })
}

/// Share of its IOPS that a stream keeps beside the others, in percent.
fn kept(of: &StreamInterference) -> f64 {
    of.iops_share_percent.unwrap_or(f64::INFINITY)
}

/// A row for each stream.
fn of_streams(found: &Interference) -> Table {
    let row = |of: &StreamInterference| {
        let unknown = dash;
        let time = |ns: Option<f64>| ns.map_or_else(unknown, latency);
        let factor = |times: Option<f64>| times.map_or_else(unknown, factor);
        vec![
            of.name.to_string(),
            grouped(of.alone.iops),
            grouped(of.together.iops),
            of.iops_share_percent.map_or_else(unknown, share_of_iops),
            time(of.alone.mean_ns),
            time(of.together.mean_ns),
            factor(stats::interference::mean_factor(&of.alone, &of.together)),
            time(of.alone.p99_ns),
            time(of.together.p99_ns),
            factor(of.p99_factor),
        ]
    };
    // Phones show each figure below its own name.
    let numbers = ["IOPS", "mean", "p99"].map(|figure| {
        let last = if figure == "IOPS" { "share" } else { "factor" };
        ["alone", "together", last].map(|word| format!("{figure} {word}"))
    });
    Table {
        label: "Streams",
        columns: std::iter::once(Column::text("stream"))
            .chain(numbers.iter().flatten().map(|name| {
                let spare = ["p99 alone", "mean alone"].iter().position(|known| known == name);
                Column { spare, ..Column::number(name) }
            }))
            .collect(),
        rows: found.streams.iter().map(row).collect(),
        ..Table::default()
    }
}

fn statement(sweep: &Sweep, of: &StreamInterference, rounds: u32) -> Statement {
    let StreamInterference { name, .. } = of;
    let spread = stats::interference::spread(sweep, name).as_ref().and_then(crate::words::interference::spread);
    let one_round = if rounds == 1 { ", in one round" } else { "" };
    let tone = if rounds == 1 { Tone::Warn } else { Tone::Plain };
    let headline = format!("{}{one_round}", crate::words::interference::headline(of));
    let spread = spread.map(|words| format!("In single rounds: {words}."));
    Statement::new(tone, headline, spread.into_iter().chain(few_samples(sweep, name).map(|words| sentence(&words))))
}

/// The note on a run with too few I/Os of a stream for its 99th percentile.
fn few_samples(sweep: &Sweep, name: &StreamName) -> Option<String> {
    let ios = |visit: &Visit| {
        let run = visit.headline().filter(|run| run.ios > 0 && run.iops > 0.0)?;
        let stream = visit.streams.iter().find(|stream| stream.name == *name)?;
        Some((stream.figures.iops * run.ios as f64 / run.iops).round() as u64)
    };
    let fewest = sweep.visits.iter().filter_map(ios).min().filter(|ios| weak::is_weak(*ios, stats::ranks::P99_PPB))?;
    let ios = counted(fewest, "I/O");
    Some(format!("few samples: a run with {ios} of {name} has fewer than ten beyond the 99th percentile"))
}

/// Round and streams of a run: `round 2, oltp alone`, `round 2, oltp+backup`.
fn run_of_round(sweep: &Sweep, visit: &Visit) -> String {
    let alone = if visit.streams.len() == 1 { " alone" } else { "" };
    format!("round {}, {}{alone}", visit.run + 1, run(sweep, visit))
}

/// The streams of a run: the name of one, or all of them.
fn run(sweep: &Sweep, visit: &Visit) -> String {
    let settings = sweep.points.get(visit.point).map(|point| &point.settings[..]).unwrap_or_default();
    text(settings.first().map_or("", |setting| setting.value.as_str()))
}

/// Each stream in each run; `together` is a run of all streams.
fn runs(sweep: &Sweep, together: Option<&RunResult>) -> Table {
    let rows_of = |visit: &Visit| {
        let cpu = visit.headline().map_or_else(dash, |run| Quantity::Percent.value(run.cpu_percent));
        let row = |StreamInRun { name: stream, figures }: &StreamInRun| {
            let shown = |ns: Option<f64>| ns.map_or_else(dash, latency);
            vec![
                (visit.run + 1).to_string(),
                run(sweep, visit),
                stream.to_string(),
                grouped(figures.iops),
                significant_grouped(mib(figures.bytes_per_s)),
                shown(figures.mean_ns),
                shown(figures.p50_ns),
                shown(figures.p99_ns),
                shown(figures.p999_ns),
                cpu.clone(),
            ]
        };
        visit.streams.iter().map(row).collect::<Vec<_>>()
    };
    let shares = together.and_then(|result| stats::cpu_shares(result.time_spans.first()?));
    let columns = [Column::number("round"), Column::text("run"), Column::text("stream")];
    let numbers = ["IOPS", "MiB/s", "mean", "p50", "p99", "p99.9", "CPU"].map(Column::number);
    Table {
        columns: columns.into_iter().chain(numbers).collect(),
        rows: sweep.visits.iter().flat_map(rows_of).collect(),
        label: "Runs",
        note: shares
            .map(|shares| format!("CPU time of the machine in a run of all streams together: {shares}."))
            .unwrap_or_default(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::interference::StreamHeadline;
    use model::sweep::{Purpose, VisitOutcome};

    /// The page showed a 99th percentile of 234 I/Os, only two of which lay beyond it.
    #[test]
    fn a_percentile_of_few_ios_of_a_stream_is_doubtful() {
        let name = |name: &str| StreamName::parse(name).expect("a name");
        let stream = |of: &str, iops: f64| {
            let figures = StreamHeadline { iops, ..StreamHeadline::default() };
            StreamInRun { name: name(of), figures }
        };
        let headline = Headline { ios: 15_000, iops: 3_000.0, ..Headline::default() };
        let visit = Visit {
            point: 0,
            run: 0,
            purpose: Purpose::Measure,
            outcome: VisitOutcome::Measured { file: String::new(), headline },
            limit: None,
            sustained_iops: None,
            streams: vec![stream("oltp", 47.0), stream("backup", 2_953.0)],
        };
        let stream_named = |of: &str| StreamInterference { name: name(of), ..interference() };
        let found = Interference { rounds: 3, streams: vec![stream_named("oltp"), stream_named("backup")] };
        let sweep = Sweep { visits: vec![visit], interference: Some(found), ..Sweep::default() };
        let trust = brief(&sweep, None, |_| None).trust.words;
        let few =
            "Only in part: few samples: a run with 235 I/Os of oltp has fewer than ten beyond the 99th percentile.";
        assert!(trust.starts_with(few) && !trust.contains("of backup"), "{trust}");
        let mut alone = sweep.clone();
        alone.visits[0].streams.pop();
        for (sweep, words) in [(&alone, "Only runs of streams alone"), (&sweep, "Only runs of all streams together")] {
            let mut warned = sweep.clone();
            let VisitOutcome::Measured { headline, .. } = &mut warned.visits[0].outcome else { panic!("a run") };
            headline.severity = Some(Severity::Warn);
            assert!(brief(&warned, None, |_| None).trust.words.contains(words), "{words}");
            assert!(!trust.contains(words), "it has no warning");
        }
    }

    fn interference() -> StreamInterference {
        StreamInterference {
            name: StreamName::parse("a").expect("a name"),
            alone: StreamHeadline::default(),
            together: StreamHeadline::default(),
            iops_share_percent: Some(90.0),
            p99_factor: Some(1.0),
        }
    }
}
