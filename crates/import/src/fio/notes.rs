//! Notes beside the figures: their meaning, unknown settings, and options that are not converted.

use super::document::{Direction, Job};
use super::job::{JobFigures, Kind};
use model::note::Note;
use model::printable::{clipped, printable};
use model::units::counted;
use std::collections::BTreeSet;

/// Maximum number of names in a note, and of characters of each.
const NAMES_MAX: usize = 20;
const NAME_CHARACTERS_MAX: usize = 40;

pub(super) fn verbatim(text: String) -> Note {
    Note::Verbatim { text }
}

/// Names from outside, in a sentence.
pub(super) fn names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown = names.take(NAMES_MAX).map(|name| printable(&clipped(name, NAME_CHARACTERS_MAX)).into_owned());
    let shown = shown.collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Settings of the load that every job has, and options that are not converted.
pub(super) fn of_load(source: &str, known: &BTreeSet<&'static str>, left: &BTreeSet<String>) -> Vec<Note> {
    let known = known.iter().map(|option| (*option).to_owned()).collect();
    let mut found = vec![
        Note::LoadInPart { source: source.to_owned(), known },
        Note::NotInSource {
            source: source.to_owned(),
            missing: "the machine, the usage of its CPUs or the sizes of the targets".to_owned(),
        },
    ];
    if !left.is_empty() {
        let names = names(left.iter().map(String::as_str));
        found.push(verbatim(format!("options of fio that are not taken over: {names}")));
    }
    found
}

/// The kind of latencies, and their precision.
pub(super) fn of_latencies(kind: Kind) -> Note {
    let which = match kind {
        Kind::Completion => "clat of fio, which leaves out the submission; latencies of this program include it",
        Kind::Total => "lat of fio, which includes the submission as latencies of this program do",
    };
    verbatim(format!(
        "latencies are {which}. Percentiles are as printed, at most 1/128 (0.8 %) off; before version 3, 1 µs more"
    ))
}

/// CPU time of the jobs themselves, which is not the usage of the machine.
pub(super) fn of_cpu(jobs: &[&Job]) -> Option<Note> {
    let cpu_usage = |job: &&Job| {
        let (user, system) = (job.usr_cpu.real?, job.sys_cpu.real?);
        // Zeros mean that it was not measured.
        (user + system > 0.0).then(|| format!("{user:.2} % user, {system:.2} % system"))
    };
    let shown: Vec<String> = jobs.iter().filter_map(cpu_usage).take(NAMES_MAX).collect();
    (!shown.is_empty()).then(|| {
        verbatim(format!("CPU time of the jobs, in percent of the time of their threads: {}", shown.join("; ")))
    })
}

/// Conditions that affect the meaning of figures of jobs.
pub(super) fn of_figures(jobs: &[&Job], figures: &[JobFigures]) -> Vec<Note> {
    let sum = |of: fn(&Direction) -> Option<u64>| {
        let directions = jobs.iter().flat_map(|job| [&job.read, &job.write, &job.trim]);
        directions.filter_map(of).fold(0u64, u64::saturating_add)
    };
    let short = sum(|direction| direction.short_ios.whole);
    let dropped = sum(|direction| direction.drop_ios.whole);
    let mut found = Vec::new();
    if short > 0 {
        found.push(verbatim(format!("{} transferred less than the block (short_ios)", counted(short, "I/O"))));
    }
    if dropped > 0 {
        found.push(verbatim(format!("{} were dropped (drop_ios)", counted(dropped, "I/O"))));
    }
    if figures.iter().any(|job| job.is_mixed) {
        found.push(verbatim(
            "reads and writes are one figure (unified_rw_reporting): only totals are known, and reads and writes are \
             shown without I/Os"
                .to_owned(),
        ));
    }
    if figures.len() > 1 {
        found.push(verbatim(
            "rates of all jobs together are their counts divided by the longest runtime of a job".to_owned(),
        ));
    }
    found
}

/// The note that percentiles of all I/Os together are unknown.
pub(super) fn without_percentiles() -> Note {
    verbatim(
        "percentiles of reads and writes, or of several jobs, together need the bins of --output-format=json+"
            .to_owned(),
    )
}
