//! The report of runs of the same load.

use super::again::TypedCommand;
use super::answer::Statement;
use super::block::{Block, Column, Report, Section, Table, Tone, charts, dash};
use super::brief::{self, each, remedy_of_runs};
use super::charts::runs;
use super::environment::environment;
use super::figures::shown;
use super::quantity::{Quantity, grouped, range, significant_grouped};
use super::series::{command, report_of_runs, verdicts};
use super::warnings::Explain;
use super::weak;
use crate::block::{Answer, Brief, Trust};
use crate::series::EVERY_RUN_WARNED;
use crate::words::figure_words::name_of;
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};
use model::printable::command_line;
use model::result::RunResult;
use model::sweep::{SteadyState, Sweep, Visit};
use model::units::{counted, mib};
use stats::repeats::{Repeats, Spread, repeats};

/// The report; `example` is the result of one of the runs.
pub(crate) fn report(sweep: &Sweep, example: Option<&RunResult>, name: &str, explain: Explain) -> Report {
    let headlines: Vec<&Headline> = sweep.measured().collect();
    let mut first = Vec::new();
    let mut sections = Vec::new();
    let found = repeats(&headlines);
    let statement = statement(found.as_ref(), headlines.len(), !sweep.findings.is_empty());
    first.push(Block::Answers { answers: vec![Answer::resting_on(headlines.iter().copied(), statement)] });
    first.extend(verdicts(sweep, explain, |_, visit| format!("run {}", visit.run + 1)));
    sections.push(Section::new("", first));
    if let Some(found) = &found {
        let mut blocks = charts(vec![Ok(runs(&headlines, found))]);
        blocks.push(Block::Table(table(found)));
        blocks.extend(sweep.steady_state.as_ref().map(steady_state));
        sections.push(Section::new("The runs", blocks));
        let each = Section::of_details("Each run", vec![Block::Table(each_run(sweep))]);
        sections.push(Section { is_part: true, ..each });
    }
    sections.extend(example.map(environment));
    sections.push(command("repeat", sweep));
    let brief = brief(sweep, example, found.as_ref(), (name, explain));
    report_of_runs("Repeated runs", name, sweep, example, brief, sections)
}

/// The rule by which it was reached or not, and its limits.
fn steady_state(found: &SteadyState) -> Block {
    let SteadyState { is_reached, rounds: (first, last), mean_iops, range_percent, rise_percent, missing } = found;
    let what = if *is_reached { "Steady state by the SNIA criteria" } else { "No steady state" };
    let reached = format!(
        "{what}: rounds {first} to {last} have a mean of {}, a range of {range_percent:.1} % (limit 20) and a slope excursion \
         of {rise_percent:.1} % (limit 10).",
        Quantity::Iops.value(*mean_iops)
    );
    let missing = missing.iter().map(|words| format!("Deviation from the SNIA specification: {words}."));
    Block::notes([reached].into_iter().chain(missing))
}

fn statement(found: Option<&Repeats>, runs: usize, has_findings: bool) -> Statement {
    let Some(found) = found else {
        return Statement::new(Tone::Bad, "No run has results", []);
    };
    let iops = &found.iops;
    let sentences = vec![format!(
        "The median of {}; their standard deviation is {:.1} % of the mean.",
        counted(runs, "run"),
        iops.deviation_percent
    )];
    let tone = if has_findings { Tone::Warn } else { Tone::Good };
    Statement::new(tone, Quantity::Iops.value(iops.median), sentences)
}

/// Default number of runs of `repeat`.
const RUNS: usize = 10;

/// Runs from which the median can have an interval.
const RUNS_FOR_INTERVAL: usize = 6;

fn brief(
    sweep: &Sweep,
    example: Option<&RunResult>,
    found: Option<&Repeats>,
    (name, explain): (&str, Explain),
) -> Brief {
    let runs: Vec<&Headline> = sweep.measured().collect();
    let common = Brief::of_runs(sweep, example);
    let again = TypedCommand::of_method("repeat", sweep);
    let Some(found) = found else {
        return Brief {
            measured: "No run has results.".to_owned(),
            trust: Trust { tone: Tone::Bad, words: "No: nothing was measured.".to_owned() },
            next: "Find out why the runs failed, as listed below, and repeat them.".to_owned(),
            command: again.command(),
            ..common
        };
    };
    let Spread { median, interval, min, max, .. } = found.iops;
    let shown = |value: f64| Quantity::Iops.value(value);
    let of_median =
        interval.map(|(low, high)| format!(" (95 % confidence interval {} to {})", shown(low), shown(high)));
    let steady = sweep.steady_state.as_ref().map(|state| {
        if state.is_reached {
            format!("; steady state by the SNIA criteria from run {} to {}", state.rounds.0, state.rounds.1)
        } else {
            "; no steady state by the SNIA criteria".to_owned()
        }
    });
    let measured = format!(
        "{} of the same load{}: median {}{}, lowest {}, highest {}{}.",
        counted(runs.len(), "run"),
        each(example),
        shown(median),
        of_median.unwrap_or_default(),
        shown(min),
        shown(max),
        steady.unwrap_or_default(),
    );
    let count = runs.len();
    let basis = basis(found, count);
    let trust = Trust::in_answer(runs.iter().copied(), interval.is_some(), &basis);
    let remedy = remedy_of_runs(&runs, explain);
    let more = RUNS.max(count * 2).to_string();
    let asked = if interval.is_some() { again } else { again.with_own("--runs=", &more) };
    let (again, is_longer) = asked.of_a_minute(runs.iter().copied());
    let is_better = remedy.is_some() || is_longer || interval.is_none();
    let (next, command) = if is_better {
        let with = match (interval.is_none(), is_longer) {
            (true, true) => format!(" with {more} runs, for a confidence interval, and 60 s for each"),
            (true, false) => format!(" with {more} runs, for a confidence interval"),
            (false, true) => " with 60 s for each run".to_owned(),
            (false, false) => String::new(),
        };
        (brief::after(remedy.as_deref(), &format!("Repeat the load{with}.")), again.command())
    } else {
        let after = again.with_own("--dir=", "after");
        let report = command_line(["diskspd", "report", name, "after", "--output", "compared.html"]);
        (
            "Use the median with its interval. To see what a change does, make it, repeat the load, and compare both \
             directories."
                .to_owned(),
            format!("{} && {report}", after.command()),
        )
    };
    Brief { measured, trust, next, command, ..common }
}

/// The basis of the median or, if that is not enough, the missing part.
fn basis(found: &Repeats, count: usize) -> String {
    let spread = format!("IOPS: standard deviation {:.1} % of the mean", found.iops.deviation_percent);
    match found.iops.interval {
        Some(_) if found.is_doubtful => EVERY_RUN_WARNED.to_owned(),
        Some(_) => format!("the interval covers the variation between {count} runs ({spread})"),
        None if count >= RUNS_FOR_INTERVAL => {
            "neighbouring runs are too strongly correlated for a confidence interval".to_owned()
        }
        None => format!(
            "{} too few for a confidence interval of the median; {RUNS_FOR_INTERVAL} are needed",
            if count == 1 { "1 run is".to_owned() } else { format!("{count} runs ({spread}) are") }
        ),
    }
}

fn table(found: &Repeats) -> Table {
    let all = |metric, spread| ((Scope::All, metric), spread);
    let figures = [all(Metric::Iops, &found.iops), all(Metric::MibPerS, &found.mib_per_s)]
        .into_iter()
        .chain(found.latencies.iter().map(|(metric, spread)| (*metric, spread)))
        .chain([all(Metric::Cpu, &found.cpu_percent)]);
    let names = ["median", "95 % interval", "std dev", "mean", "smallest", "largest"].map(|name| Column {
        spare: ["mean", "std dev", "smallest", "largest"].iter().position(|known| *known == name),
        ..Column::number(name)
    });
    Table {
        columns: [Column::text("")].into_iter().chain(names).collect(),
        rows: figures.map(|(metric, spread)| row(metric, spread)).collect(),
        label: "Figures of all runs",
        ..Table::default()
    }
}

/// A row for each run, also for those that failed.
fn each_run(sweep: &Sweep) -> Table {
    let latencies = Headline::scoped_metrics(&[Metric::Mean, Metric::P99], sweep.measured());
    let mut is_any_weak = false;
    let mut row = |visit: &Visit| {
        let number = (visit.run + 1).to_string();
        let Some(figures) = visit.headline() else { return vec![number, "failed".to_owned()] };
        let mut cells = vec![
            number,
            figures.severity.map_or("", |severity| severity.word()).to_owned(),
            grouped(figures.iops),
            significant_grouped(mib(figures.bytes_per_s)),
        ];
        for metric in &latencies {
            let cell = weak::marked(figures, *metric);
            is_any_weak |= cell.is_weak;
            cells.push(cell.text);
        }
        cells
    };
    let rows = sweep.visits.iter().filter(|visit| visit.is_of_point()).map(&mut row).collect();
    let columns = [Column::number("run"), Column::text("verdict")];
    let figures = ["IOPS", "MiB/s"].map(str::to_owned).into_iter().chain(latencies.iter().copied().map(name_of));
    Table {
        label: "Each run",
        columns: columns.into_iter().chain(figures.map(|name| Column::number(&name))).collect(),
        rows,
        note: weak::note(is_any_weak),
        ..Table::default()
    }
}

fn row(metric: ScopedMetric, spread: &Spread) -> Vec<String> {
    let shown = |value: f64| shown(metric.1, value);
    let interval = spread.interval.map_or_else(dash, |(low, high)| range(&shown(low), &shown(high)));
    vec![
        name_of(metric),
        shown(spread.median),
        interval,
        format!("{:.2} %", spread.deviation_percent),
        shown(spread.mean),
        shown(spread.min),
        shown(spread.max),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;
    use model::sweep::{Purpose, SeriesKind, VisitOutcome};

    /// Runs of which the first `sound` have no warning.
    fn sweep(severity: Severity, sound: u32, count: u32) -> Sweep {
        let visit = |run: u32| {
            let severity = Some(severity).filter(|_| run >= sound);
            let headline = Headline { iops: 100.0 + f64::from(run * 7 % 5), severity, ..Headline::default() };
            let outcome = VisitOutcome::Measured { file: String::new(), headline };
            let purpose = Purpose::Measure;
            Visit { point: 0, run, purpose, outcome, limit: None, sustained_iops: None, streams: Vec::new() }
        };
        Sweep { visits: (0..count).map(visit).collect(), ..Sweep::default() }
    }

    /// Such runs had no interval, while `ab` printed its own without comment.
    #[test]
    fn runs_that_all_have_warnings_say_what_their_interval_covers() {
        let words_and_brief = |severity: Severity, sound: u32, count: u32| {
            let (name, example) = ("d", None);
            let sweep = sweep(severity, sound, count);
            let report =
                crate::Subject::Series { kind: SeriesKind::Repeat, name, sweep: &sweep, example }.report(|_| None);
            (report.words(), report.brief)
        };
        let (warned, Brief { measured, trust, .. }) = words_and_brief(Severity::Warn, 0, 8);
        assert!(measured.contains("(95 % confidence interval 100 IOPS to 104 IOPS)"), "{measured}");
        assert!(
            trust.words.contains("Every run has a warning: the 95 % confidence intervals cover "),
            "{}",
            trust.words
        );
        let (mixed, _) = words_and_brief(Severity::Warn, 1, 8);
        for text in [&warned, &mixed] {
            assert!(text.contains(" 100 to 104 IOPS "), "{text}");
        }
        // A sentence begins with a capital letter.
        let words = &EVERY_RUN_WARNED[1..];
        assert!(warned.contains(words) && !mixed.contains(words), "{warned}{mixed}");
        let (_, Brief { trust, .. }) = words_and_brief(Severity::Note, 0, 8);
        let sure = "Yes: the interval covers the variation between 8 runs (IOPS: standard deviation ";
        assert!(trust.words.starts_with(sure), "{}", trust.words);
        let (_, Brief { measured, trust, .. }) = words_and_brief(Severity::Warn, 0, 3);
        assert!(!measured.contains("95 %") && trust.words.contains("6 are needed."), "{measured} {}", trust.words);
    }
}
