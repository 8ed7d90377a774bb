//! Pairs of runs of two sides: a line for each run, and what they say together.

use crate::compare::{end, equivalent};
use crate::figure_words::{label, shown_figure};
use crate::plain_table::PlainTable;
use crate::repeat::EVERY_RUN_WARNED;
use crate::sweep::figures_of_line;
use model::ab::{AbAnswer, AbFigure, AbVerdict};
use model::finding::Severity;
use model::headline::Headline;
use model::metric::Metric;
use model::sweep::{Sweep, Visit};
use std::io::{self, Write};

/// One run: `Pair 3 A, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn line(visit: &Visit, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "Pair {} {}", visit.run + 1, if visit.point == 0 { "A" } else { "B" })?;
    figures_of_line(&visit.outcome, out)?;
    writeln!(out)
}

/// The table of differences, what could have been seen, and the verdicts of the runs. `names` are the options of the
/// sides; `is_noise_floor` if they differ in nothing.
pub fn summary(sweep: &Sweep, names: &[String; 2], is_noise_floor: bool, out: &mut dyn Write) -> io::Result<()> {
    let pairs = sweep.pairs();
    let Some(answer) = &sweep.ab else {
        return match pairs.len() {
            0 => Ok(()),
            count => writeln!(out, "\nno answer: {count} pairs are too few"),
        };
    };
    writeln!(out)?;
    for (side, name) in ["A", "B"].into_iter().zip(names).filter(|(_, name)| !name.is_empty()) {
        writeln!(out, "{side}: {name}")?;
    }
    table(answer).write(out)?;
    let looks = match &answer.looks[..] {
        [_] => String::new(),
        looks => {
            let looks: Vec<String> = looks.iter().map(u32::to_string).collect();
            format!(", tested after {}", looks.join(", "))
        }
    };
    writeln!(out, "\n{} pairs{looks}; the confidence intervals hold jointly for all figures and tests", answer.pairs)?;
    let what = if is_noise_floor { format!("noise floor ({DETECTABLE})") } else { DETECTABLE.to_owned() };
    writeln!(out, "{what}: {}", detectable(answer))?;
    if is_doubtful(&pairs) {
        writeln!(out, "{EVERY_RUN_WARNED}")?;
    }
    verdicts(&pairs, out)
}

/// True if every run has a warning.
pub fn is_doubtful(pairs: &[(&Headline, &Headline)]) -> bool {
    stats::repeats::is_doubtful(pairs.iter().flat_map(|(a, b)| [*a, *b]))
}

/// What [`detectable`] lists.
pub const DETECTABLE: &str = "smallest difference that this number of pairs detects with 90 % probability";

/// A difference beyond this is none that anybody looks for: the pairs cannot tell.
const DETECTABLE_PERCENT_MAX: f64 = 100.0;

/// `IOPS 1.2 %, mean ms 2.3 %`
pub fn detectable(answer: &AbAnswer) -> String {
    const NONE: &str = "these pairs cannot tell: they vary too much";
    let is_known = |found: &&AbFigure| found.detectable_percent <= DETECTABLE_PERCENT_MAX;
    let of = |found: &AbFigure| format!("{} {:.1} %", label(found.figure), found.detectable_percent);
    let known: Vec<String> = answer.figures.iter().filter(is_known).map(of).collect();
    let unknown = answer.figures.iter().filter(|found| !is_known(found)).map(|found| label(found.figure));
    let unknown: Vec<&str> = unknown.collect();
    match (known.is_empty(), unknown.is_empty()) {
        (_, true) => known.join(", "),
        (true, false) => NONE.to_owned(),
        (false, false) => format!("{}; of {}, {NONE}", known.join(", "), unknown.join(" and ")),
    }
}

/// A row for each figure.
pub fn table(answer: &AbAnswer) -> PlainTable {
    let mut table = PlainTable::new(["", "A", "B", "change", "95 % interval", "verdict"], 1..5);
    for found in &answer.figures {
        table.add([
            label(found.figure).to_owned(),
            shown_figure(found.figure, found.a, 3),
            shown_figure(found.figure, found.b, 3),
            format!("{:+.1} %", found.percent),
            format!("{} to {}", end(found.low_percent), end(found.high_percent)),
            verdict(found, answer.margin),
        ]);
    }
    let (a, b) = answer.cpu_percent;
    let figure = Metric::Cpu;
    table.add([
        label(figure).to_owned(),
        shown_figure(figure, a, 3),
        shown_figure(figure, b, 3),
        String::new(),
        String::new(),
        "not judged".to_owned(),
    ]);
    table
}

fn verdict(found: &AbFigure, margin: f64) -> String {
    let percent = margin * 100.0;
    let within = if found.is_within_margin { format!(" by less than {percent} %") } else { String::new() };
    match found.verdict {
        AbVerdict::Better => format!("better{within}"),
        AbVerdict::Worse => format!("worse{within}"),
        AbVerdict::Equivalent => equivalent(percent),
        AbVerdict::CannotTell => "cannot tell".to_owned(),
    }
}

/// How many runs have the worst verdict, if it is worse than a note.
fn verdicts(pairs: &[(&Headline, &Headline)], out: &mut dyn Write) -> io::Result<()> {
    let severities = pairs.iter().flat_map(|(a, b)| [a.severity, b.severity]).flatten();
    let Some((worst, count)) = Severity::worst_above_note(severities) else { return Ok(()) };
    writeln!(out, "verdict: {} in {count} of {} runs", worst.word(), 2 * pairs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_which_every_run_has_a_warning_are_doubtful() {
        let run = |severity| Headline { severity, ..Headline::default() };
        let (warned, sound) = (run(Some(Severity::Warn)), run(Some(Severity::Note)));
        assert!(is_doubtful(&[(&warned, &warned), (&warned, &warned)]));
        assert!(!is_doubtful(&[(&warned, &warned), (&warned, &sound)]) && !is_doubtful(&[]));
    }

    #[test]
    fn pairs_that_vary_too_much_detect_nothing() {
        let figure = |figure, detectable_percent| AbFigure {
            figure,
            a: 1.0,
            b: 1.0,
            percent: 0.0,
            low_percent: -5.0,
            high_percent: 1331.0,
            verdict: AbVerdict::CannotTell,
            is_within_margin: false,
            detectable_percent,
        };
        let answer = |figures| AbAnswer { pairs: 3, looks: vec![3], margin: 0.02, figures, cpu_percent: (1.0, 1.0) };
        let (iops, p99) = (figure(Metric::Iops, 1.24), figure(Metric::P99, 1331.0));
        assert_eq!(detectable(&answer(vec![iops])), "IOPS 1.2 %");
        let mixed = "IOPS 1.2 %; of p99 ms, these pairs cannot tell: they vary too much";
        assert_eq!(detectable(&answer(vec![iops, p99])), mixed);
        assert_eq!(detectable(&answer(vec![p99])), "these pairs cannot tell: they vary too much");
        let interval = table(&answer(vec![p99])).rows()[0][4].clone();
        assert_eq!(interval, "-5.0 % to above +1000 %");
    }
}
