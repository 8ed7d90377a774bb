//! A line for each run of a series, in the form of `DiskSpd`'s guides.

use model::headline::Headline;
use model::metric::Metric;
use model::profile::Profile;
use model::sweep::{Point, Purpose, Setting, Sweep, Visit, VisitOutcome};
use model::units::mib;
use report::Repeats;
use report::numbers::ms;
use std::io::{self, Write};

/// One run, in the form of `DiskSpd`'s guides: `Param -o 8 -t 1, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn sweep_line(visit: &Visit, profile: &Profile, point: &Point, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "Param")?;
    // A run for the capacity has no rate.
    let none = Point::default();
    let point = if visit.purpose == Purpose::Capacity { &none } else { point };
    for setting in shown(profile, point) {
        write!(out, " {} {}", Setting::dashed(&setting.name), setting.value)?;
    }
    figures_of_line(&visit.outcome, out)?;
    writeln!(out, "{}", why(visit.purpose))
}

/// `, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`, or the reason why there are none.
fn figures_of_line(outcome: &VisitOutcome, out: &mut dyn Write) -> io::Result<()> {
    match outcome {
        VisitOutcome::Measured { headline, .. } => {
            write!(out, ", {:.2} iops, {:.2} MB/sec", headline.iops, mib(headline.bytes_per_s))?;
            for (scope, metric) in Headline::shown_metrics(&[Metric::Mean], [headline]) {
                if let Some(mean_ns) = headline.scoped_value((scope, metric)) {
                    write!(out, ", {}", scope.label(&format!("{:.3} ms", ms(mean_ns))))?;
                }
            }
            for (scope, p99_ns) in headline.waited_for.iter().filter_map(|of| Some((of.scope, of.p99_ns?))) {
                write!(out, ", {} {:.3} ms", scope.label("p99"), ms(p99_ns))?;
            }
            write!(out, ", {:.2}% CPU", headline.cpu_percent)
        }
        VisitOutcome::Failed { reasons } => write!(out, ", failed: {}", reasons.join("; ")),
    }
}

fn why(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Measure => "",
        Purpose::Probe => " (probe)",
        Purpose::Again => " (repeated)",
        Purpose::Confirm => " (confirmed)",
        Purpose::Precondition => " (preconditioning)",
        Purpose::Capacity => " (without a rate: the target's capacity)",
    }
}

/// Depth and threads, which the guides always print, and the other varied settings.
fn shown(profile: &Profile, point: &Point) -> Vec<Setting> {
    let setting = |name: &str, value: u32| Setting { name: name.to_owned(), value: value.to_string() };
    let target = profile.time_spans.first().and_then(|span| Some((span, span.targets.first()?)));
    let mut settings = match target {
        Some((span, _)) if span.thread_count > 0 && span.request_count > 0 => {
            vec![setting("O", span.request_count), setting("F", span.thread_count)]
        }
        Some((span, target)) if span.thread_count > 0 => {
            vec![setting("o", target.outstanding), setting("F", span.thread_count)]
        }
        Some((_, target)) => vec![setting("o", target.outstanding), setting("t", target.threads)],
        None => Vec::new(),
    };
    let others = point.settings.iter().filter(|setting| !setting.is_depth());
    settings.extend(others.cloned());
    settings
}

/// One run: `Run 3, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn repeat_line(visit: &Visit, out: &mut dyn Write) -> io::Result<()> {
    match visit.purpose {
        Purpose::Precondition => write!(out, "Preconditioning")?,
        _ => write!(out, "Run {}", visit.run + 1)?,
    }
    figures_of_line(&visit.outcome, out)?;
    writeln!(out)
}

/// The average of all runs, in the same form.
pub fn average_line(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    let runs: Vec<&Headline> = sweep.measured().collect();
    let Some(Repeats { iops, mib_per_s, latencies, cpu_percent, .. }) = report::repeats(&runs) else {
        return Ok(());
    };
    write!(out, "Average, {:.3} iops, {:.3} MB/sec", iops.mean, mib_per_s.mean)?;
    for ((scope, _), mean_ns) in latencies.iter().filter(|((_, metric), _)| *metric == Metric::Mean) {
        write!(out, ", {}", scope.label(&format!("{:.4} ms", mean_ns.mean / 1e6)))?;
    }
    writeln!(out, ", {:.3}% CPU", cpu_percent.mean)
}

/// One run: `Pair 3 A, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn pair_line(visit: &Visit, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "Pair {} {}", visit.run + 1, if visit.point == 0 { "A" } else { "B" })?;
    figures_of_line(&visit.outcome, out)?;
    writeln!(out)
}

/// One run: `Round 1 oltp, 1999.31 iops, 15.62 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn round_line(visit: &Visit, point: &Point, out: &mut dyn Write) -> io::Result<()> {
    let name = point.settings.first().map_or("", |setting| setting.value.as_str());
    write!(out, "Round {} {name}", visit.run + 1)?;
    figures_of_line(&visit.outcome, out)?;
    writeln!(out)
}
