//! Runs of the same load: a line for each, and what they say together.

use crate::figure_words::shown_figure;
use crate::plain_table::PlainTable;
use crate::prose::in_lines;
use crate::sweep::figures_of_line;
use crate::verdict_block;
use model::headline::Headline;
use model::metric::{Metric, Scope};
use model::sweep::{Purpose, SteadyState, Sweep, Visit};
use model::units::counted;
use stats::repeats::{Repeats, Spread};
use std::io::{self, Write};

/// What the intervals of runs that all have warnings say.
pub const EVERY_RUN_WARNED: &str = "every run has a warning: the 95 % confidence intervals cover the variation between the \
                                    runs, not errors that all of them share";

/// One run: `Run 3, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn line(visit: &Visit, out: &mut dyn Write) -> io::Result<()> {
    match visit.purpose {
        Purpose::Precondition => write!(out, "Preconditioning")?,
        _ => write!(out, "Run {}", visit.run + 1)?,
    }
    figures_of_line(&visit.outcome, out)?;
    writeln!(out)
}

/// The average in the form that `DiskSpd`'s guides print, then median, interval and spread.
pub fn summary(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    let runs: Vec<&Headline> = sweep.measured().collect();
    let Some(found) = stats::repeats::repeats(&runs) else { return Ok(()) };
    let Repeats { iops, mib_per_s, latencies, cpu_percent, .. } = &found;
    write!(out, "Average, {:.3} iops, {:.3} MB/sec", iops.mean, mib_per_s.mean)?;
    for ((scope, _), mean_ns) in latencies.iter().filter(|((_, metric), _)| *metric == Metric::Mean) {
        write!(out, ", {}", scope.label(&format!("{:.4} ms", mean_ns.mean / 1e6)))?;
    }
    writeln!(out, ", {:.3}% CPU\n", cpu_percent.mean)?;
    let first = [((Scope::All, Metric::Iops), iops), ((Scope::All, Metric::MibPerS), mib_per_s)];
    let rows: Vec<(String, Metric, &Spread)> = first
        .into_iter()
        .chain(latencies.iter().map(|(metric, spread)| (*metric, spread)))
        .chain([((Scope::All, Metric::Cpu), cpu_percent)])
        .map(|((scope, metric), spread)| (scope.label(metric.heading()), metric, spread))
        .collect();
    let header = ["", "median", "95 % interval", "smallest", "largest", "std dev"];
    let mut table = PlainTable::new(header, 1..header.len()).fitted([]);
    for (name, metric, spread) in rows {
        table.add(row(name, metric, spread));
    }
    table.write(out)?;
    in_lines(out, |out| {
        if runs.len() < 6 {
            writeln!(out, "\nno 95 % confidence interval: only {}; 6 are needed", counted(runs.len(), "run"))?;
        } else if iops.interval.is_none() {
            writeln!(out, "\nno 95 % confidence interval of the IOPS: neighbouring runs are too strongly correlated")?;
        } else if found.is_doubtful {
            writeln!(out, "\n{EVERY_RUN_WARNED}")?;
        }
        verdict_block::of_runs(out, sweep)?;
        sweep.steady_state.as_ref().map_or(Ok(()), |found| steady_state(found, out))
    })
}

/// Whether it was reached, by what, and what it is not.
fn steady_state(found: &SteadyState, out: &mut dyn Write) -> io::Result<()> {
    let SteadyState { is_reached, rounds: (first, last), mean_iops, range_percent, rise_percent, missing } = found;
    let what = if *is_reached { "steady state by the SNIA criteria" } else { "no steady state" };
    writeln!(
        out,
        "\n{what}: rounds {first} to {last} have a mean of {mean_iops:.2} IOPS, a range of {range_percent:.1} % (limit \
         20) and a slope excursion of {rise_percent:.1} % (limit 10)"
    )?;
    missing.iter().try_for_each(|sentence| writeln!(out, "  deviation from the SNIA specification: {sentence}"))
}

fn row(name: String, figure: Metric, spread: &Spread) -> [String; 6] {
    let Spread { median, interval, min, max, deviation_percent, .. } = spread;
    let shown = |value: f64| shown_figure(figure, value, 4);
    let interval = interval.map_or("-".to_owned(), |(low, high)| format!("{} - {}", shown(low), shown(high)));
    [name, shown(*median), interval, shown(*min), shown(*max), format!("{deviation_percent:.2} %")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;
    use model::sweep::VisitOutcome;

    /// There was no interval of such runs, while `ab` printed its own without a word.
    #[test]
    fn runs_that_all_have_warnings_have_intervals_that_say_what_they_cover() {
        let told = |sound: usize| {
            let visit = |run: u32| {
                let severity = (run as usize >= sound).then_some(Severity::Warn);
                let headline = Headline { iops: 100.0 + f64::from(run * 7 % 5), severity, ..Headline::default() };
                let outcome = VisitOutcome::Measured { file: String::new(), headline };
                let purpose = Purpose::Measure;
                Visit { point: 0, run, purpose, outcome, limit: None, sustained_iops: None, streams: Vec::new() }
            };
            let sweep = Sweep { visits: (0..8).map(visit).collect(), ..Sweep::default() };
            let mut out = Vec::new();
            summary(&sweep, &mut out).expect("memory takes all");
            String::from_utf8(out).expect("text").replace("\n  ", " ")
        };
        let (warned, mixed) = (told(0), told(1));
        for text in [&warned, &mixed] {
            assert!(text.contains(" 100.00 - 104.00 "), "{text}");
        }
        assert!(warned.contains(EVERY_RUN_WARNED) && !mixed.contains(EVERY_RUN_WARNED), "{warned}{mixed}");
    }
}
