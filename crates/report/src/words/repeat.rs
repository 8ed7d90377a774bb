//! Runs of the same load: a line for each, and what they say together.

use crate::words::sweep::figures_of_line;
use model::headline::Headline;
use model::metric::Metric;
use model::sweep::{Purpose, Sweep, Visit};
use stats::repeats::Repeats;
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

/// The average of all runs, in the same form.
pub fn average(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    let runs: Vec<&Headline> = sweep.measured().collect();
    let Some(Repeats { iops, mib_per_s, latencies, cpu_percent, .. }) = stats::repeats::repeats(&runs) else {
        return Ok(());
    };
    write!(out, "Average, {:.3} iops, {:.3} MB/sec", iops.mean, mib_per_s.mean)?;
    for ((scope, _), mean_ns) in latencies.iter().filter(|((_, metric), _)| *metric == Metric::Mean) {
        write!(out, ", {}", scope.label(&format!("{:.4} ms", mean_ns.mean / 1e6)))?;
    }
    writeln!(out, ", {:.3}% CPU", cpu_percent.mean)
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
            crate::Subject::Repeat { name: "d", sweep: &sweep, example: None }.report(|_| None).words()
        };
        let (warned, mixed) = (told(0), told(1));
        for text in [&warned, &mixed] {
            assert!(text.contains(" 100 to 104 IOPS "), "{text}");
        }
        // A sentence begins with a capital letter.
        let words = &EVERY_RUN_WARNED[1..];
        assert!(warned.contains(words) && !mixed.contains(words), "{warned}{mixed}");
    }
}
