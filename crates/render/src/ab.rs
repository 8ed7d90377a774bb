//! Pairs of runs of two sides: a line for each run, and what they say together.

use crate::figure_words::{label, shown_figure};
use crate::plain_table::PlainTable;
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
    table(answer, out)?;
    let looks = match &answer.looks[..] {
        [_] => String::new(),
        looks => {
            let looks: Vec<String> = looks.iter().map(u32::to_string).collect();
            format!(", tested after {}", looks.join(", "))
        }
    };
    writeln!(out, "\n{} pairs{looks}; the intervals hold for all figures and tests together", answer.pairs)?;
    let seen: Vec<String> = answer
        .figures
        .iter()
        .map(|found| format!("{} {:.1} %", label(found.figure), found.detectable_percent))
        .collect();
    let what = if is_noise_floor { "noise floor" } else { "smallest difference" };
    writeln!(out, "{what} that as many pairs show in 90 of 100 cases: {}", seen.join(", "))?;
    verdicts(&pairs, out)
}

fn table(answer: &AbAnswer, out: &mut dyn Write) -> io::Result<()> {
    let mut table = PlainTable::new(["", "A", "B", "change", "95 % interval", "verdict"], 1..5);
    for found in &answer.figures {
        table.add([
            label(found.figure).to_owned(),
            shown_figure(found.figure, found.a, 3),
            shown_figure(found.figure, found.b, 3),
            format!("{:+.1} %", found.percent),
            format!("{:+.1} % to {:+.1} %", found.low_percent, found.high_percent),
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
    table.write(out)
}

fn verdict(found: &AbFigure, margin: f64) -> String {
    let percent = margin * 100.0;
    let within = if found.is_within_margin { format!(", by less than {percent} %") } else { String::new() };
    match found.verdict {
        AbVerdict::Better => format!("better{within}"),
        AbVerdict::Worse => format!("worse{within}"),
        AbVerdict::Equivalent => format!("equivalent within {percent} %"),
        AbVerdict::CannotTell => "cannot tell".to_owned(),
    }
}

/// How many runs have the worst verdict, if it is worse than a note.
fn verdicts(pairs: &[(&Headline, &Headline)], out: &mut dyn Write) -> io::Result<()> {
    let severities = pairs.iter().flat_map(|(a, b)| [a.severity, b.severity]).flatten();
    let Some((worst, count)) = Severity::worst_above_note(severities) else { return Ok(()) };
    writeln!(out, "verdict: {} in {count} of {} runs", worst.word(), 2 * pairs.len())
}
