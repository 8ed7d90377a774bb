//! Streams alone and together: a line for each run, and what the streams do to each other.

use crate::figure_words::shown_figure;
use crate::plain_table::PlainTable;
use crate::sweep::figures_of_line;
use crate::verdict_block;
use model::interference::{Interference, StreamHeadline, StreamInterference};
use model::metric::Metric;
use model::profile::{Profile, StreamName, Throughput};
use model::sweep::{Point, Sweep, Visit};
use stats::interference::Spread;
use std::io::{self, Write};

/// One run: `Round 1 oltp, 1999.31 iops, 15.62 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn line(visit: &Visit, point: &Point, out: &mut dyn Write) -> io::Result<()> {
    let name = point.settings.first().map_or("", |setting| setting.value.as_str());
    write!(out, "Round {} {name}", visit.run + 1)?;
    figures_of_line(&visit.outcome, out)?;
    writeln!(out)
}

/// The table of the streams, what limits its figures, and what the verdicts of the runs say; `profile` is that of all
/// streams together.
pub fn summary(sweep: &Sweep, profile: Option<&Profile>, out: &mut dyn Write) -> io::Result<()> {
    let Some(found) = &sweep.interference else {
        return if sweep.visits.is_empty() {
            Ok(())
        } else {
            writeln!(out, "\nno answer: no round is complete (a run of each stream alone, and one of all together)")
        };
    };
    writeln!(out)?;
    table(found).write(out)?;
    writeln!(out, "\n{}", rounds(found.rounds))?;
    if let Some(capped) = profile.and_then(capped) {
        writeln!(out, "{capped}")?;
    }
    for StreamInterference { name, .. } in &found.streams {
        if let Some(words) = stats::interference::spread(sweep, name).as_ref().and_then(spread) {
            writeln!(out, "{name} in single rounds: {words}")?;
        }
    }
    if let Some(few) = few(found.rounds) {
        writeln!(out, "{few}")?;
    }
    verdict_block::of_runs(out, &sweep.findings)
}

/// Rounds whose median one disturbed round does not decide.
const ROUNDS_ENOUGH: u32 = 3;

/// How many rounds there were, and whether they can tell.
pub fn rounds(rounds: u32) -> String {
    match rounds {
        1 => "one round cannot tell interference from the scatter between runs: repeat it (--rounds 5)".to_owned(),
        rounds => format!("medians of {rounds} rounds"),
    }
}

/// What several rounds, but not many, leave open.
pub fn few(rounds: u32) -> Option<String> {
    (2..ROUNDS_ENOUGH)
        .contains(&rounds)
        .then(|| format!("with {rounds} rounds, one that was disturbed moves the median: make more (--rounds 5)"))
}

/// How much the rounds differ: `share 57.4 % to 62.7 %, p99 factor 0.93 to 1.77`.
pub fn spread(spread: &Spread) -> Option<String> {
    let share = spread.iops_share_percent.map(|(low, high)| format!("share {low:.1} % to {high:.1} %"));
    let factor = spread.p99_factor.map(|(low, high)| format!("p99 factor {low:.2} to {high:.2}"));
    let both: Vec<String> = [share, factor].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(", "))
}

/// Which streams have a rate of their own, and what that means; `None` if none has.
pub fn capped(profile: &Profile) -> Option<String> {
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let mut names: Vec<&str> = Vec::new();
    for target in targets.filter(|target| target.throughput != Throughput::Unlimited) {
        if let Some(name) = target.stream.as_ref().map(StreamName::as_str).filter(|name| !names.contains(name)) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "limited to a rate (-g): {}: alone and together such a stream does at most that, so look at its latency",
            names.join(", ")
        )
    })
}

/// A row for each stream.
pub fn table(found: &Interference) -> PlainTable {
    let header = ["stream", "IOPS alone", "together", "share", "p99 ms alone", "together", "factor"];
    let mut table = PlainTable::new(header, 1..header.len());
    for StreamInterference { name, alone, together, iops_share_percent, p99_factor } in &found.streams {
        let iops = |of: &StreamHeadline| shown_figure(Metric::Iops, of.iops, 3);
        let p99 = |of: &StreamHeadline| of.p99_ns.map_or_else(unknown, |ns| shown_figure(Metric::P99, ns, 3));
        table.add([
            name.to_string(),
            iops(alone),
            iops(together),
            iops_share_percent.map_or_else(unknown, |share| format!("{share:.1} %")),
            p99(alone),
            p99(together),
            p99_factor.map_or_else(unknown, |factor| format!("{factor:.2}")),
        ]);
    }
    table
}

fn unknown() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::{Target, TimeSpan};

    #[test]
    fn each_stream_has_a_row() {
        let headline = |iops, p99_ns| StreamHeadline { iops, p99_ns, ..StreamHeadline::default() };
        let stream = |name: &str, share, factor| StreamInterference {
            name: StreamName::parse(name).expect("a name"),
            alone: headline(2000.0, Some(1_500_000.0)),
            together: headline(1990.0, None),
            iops_share_percent: share,
            p99_factor: factor,
        };
        let found =
            Interference { rounds: 2, streams: vec![stream("oltp", Some(99.5), None), stream("b", None, Some(3.0))] };
        let mut text = Vec::new();
        let limited = |name: &str, throughput| Target {
            stream: Some(StreamName::parse(name).expect("a name")),
            throughput,
            ..Target::new("a.dat")
        };
        let targets = vec![limited("oltp", Throughput::Iops(2000)), limited("b", Throughput::Unlimited)];
        let span = TimeSpan { targets, ..TimeSpan::default() };
        let profile = Profile { time_spans: vec![span], ..Profile::default() };
        let sweep = Sweep { interference: Some(found), ..Sweep::default() };
        summary(&sweep, Some(&profile), &mut text).expect("written");
        insta::assert_snapshot!(String::from_utf8(text).expect("text"), @r"

         stream  IOPS alone  together   share  p99 ms alone  together  factor
         oltp       2000.00   1990.00  99.5 %         1.500         -       -
         b          2000.00   1990.00       -         1.500         -    3.00

        medians of 2 rounds
        limited to a rate (-g): oltp: alone and together such a stream does at most that, so look at its latency
        with 2 rounds, one that was disturbed moves the median: make more (--rounds 5)
        ");
        assert!(rounds(1).starts_with("one round cannot tell "));
        let of_rounds = Spread { iops_share_percent: Some((57.41, 62.7)), p99_factor: Some((0.93, 1.77)) };
        assert_eq!(spread(&of_rounds).as_deref(), Some("share 57.4 % to 62.7 %, p99 factor 0.93 to 1.77"));
        assert_eq!(spread(&Spread::default()), None);
    }
}
