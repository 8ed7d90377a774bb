//! Runs of the same load: a line for each, and what they say together.

use crate::figure_words::shown_figure;
use crate::sweep::figures_of_line;
use crate::verdict_block;
use model::headline::Headline;
use model::metric::Metric;
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
    let Repeats { iops, mib_per_s, mean_ns, p99_ns, cpu_percent, .. } = &found;
    write!(out, "Average, {:.3} iops, {:.3} MB/sec", iops.mean, mib_per_s.mean)?;
    if let Some(mean_ns) = mean_ns {
        write!(out, ", {:.4} ms", mean_ns.mean / 1e6)?;
    }
    writeln!(out, ", {:.3}% CPU\n", cpu_percent.mean)?;
    writeln!(
        out,
        "{:<8} {:>12} {:>27} {:>12} {:>12} {:>9}",
        "", "median", "95 % interval", "smallest", "largest", "std dev"
    )?;
    row(Metric::Iops, Some(iops), out)?;
    row(Metric::MibPerS, Some(mib_per_s), out)?;
    row(Metric::Mean, mean_ns.as_ref(), out)?;
    row(Metric::P99, p99_ns.as_ref(), out)?;
    row(Metric::Cpu, Some(cpu_percent), out)?;
    if runs.len() < 6 {
        writeln!(out, "\nno 95 % confidence interval: only {}; 6 are needed", counted(runs.len(), "run"))?;
    } else if iops.interval.is_none() {
        writeln!(out, "\nno 95 % confidence interval of the IOPS: neighbouring runs are too strongly correlated")?;
    } else if found.is_doubtful {
        writeln!(out, "\n{EVERY_RUN_WARNED}")?;
    }
    verdict_block::of_runs(out, sweep)?;
    sweep.steady_state.as_ref().map_or(Ok(()), |found| steady_state(found, out))
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

fn row(figure: Metric, spread: Option<&Spread>, out: &mut dyn Write) -> io::Result<()> {
    let Some(Spread { median, interval, min, max, deviation_percent, .. }) = spread else { return Ok(()) };
    let (name, shown) = (figure.heading(), |value: f64| shown_figure(figure, value, 4));
    let interval = interval.map_or("-".to_owned(), |(low, high)| format!("{} - {}", shown(low), shown(high)));
    writeln!(
        out,
        "{name:<8} {:>12} {interval:>27} {:>12} {:>12} {deviation_percent:>7.2} %",
        shown(*median),
        shown(*min),
        shown(*max)
    )
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
            String::from_utf8(out).expect("text")
        };
        let (warned, mixed) = (told(0), told(1));
        for text in [&warned, &mixed] {
            assert!(text.contains(" 100.00 - 104.00 "), "{text}");
        }
        assert!(warned.contains(EVERY_RUN_WARNED) && !mixed.contains(EVERY_RUN_WARNED), "{warned}{mixed}");
    }
}
