//! The four answers of a report: what was measured, on what, whether it can be trusted, and what to do next.

use super::answer::{lower, sentence};
use super::block::{Fact, Tone};
use super::engines::engines;
use super::environment::facts;
use super::foreign_text::{text, text_of_path};
use super::warnings::{Explain, advice_for_all, plain};
use crate::block::{Brief, Trust};
use crate::words::load_line;
use model::doubt::{NotedRuns, RunWarnings};
use model::environment::{Hypervisor, TargetEnvironment};
use model::finding::{Finding, Severity};
use model::headline::Headline;
use model::result::RunResult;
use model::sweep::{Setting, Sweep};
use model::units::counted;
use std::path::PathBuf;

/// Findings of one run that are named; the others are counted.
pub(crate) const FINDINGS_MAX: usize = 4;

/// The same for several runs.
const OF_RUNS_MAX: usize = 4;

/// Findings whose advice is shown here; the advice of the others is below.
const REMEDIES_MAX: usize = 2;

/// Targets that are named; the others are counted.
const TARGETS_MAX: usize = 2;

/// Facts of a machine that are shown in the brief, in this order; the others are in the section of the environment.
const MACHINE_FACTS: [&str; 6] = ["virtual machine", "processor", "CPUs", "memory", "system", "kernel"];

/// By note, the limits of the figures. These notes are named first.
const NOT_SHOWN: [(&str, &str); 4] = [
    ("volatile-cache", "the speed of durable writes (needs -Sh or --fdatasync-every)"),
    ("small-for-host", "how fast the storage behind the virtual disk is (see --probe-host-cache)"),
    ("short-run", "what a longer load gets"),
    ("weak-percentiles", "the highest percentiles"),
];

/// Findings of CPU time and I/O that others took: the measured work was done, and would not have been less without
/// them.
const DISTURBANCES: [&str; 6] = ["cpu-contention", "steal", "cpu-limited", "cpu-bound", "process-paused", "other-io"];

/// Those whose figure is a share of the time of the run's own threads or CPUs, which bounds the effect.
const SHARES: [&str; 2] = ["cpu-contention", "steal"];

/// Percent below which such a share changes means by little.
const SMALL_PERCENT: f64 = 5.0;

/// Findings of I/O that caches completed.
const CACHES: [&str; 3] = ["served-from-memory", "served-from-cache", "writes-in-memory"];

impl Brief {
    /// The brief for the runs of a method: `example` is the result of one of them.
    pub(crate) fn of_runs(sweep: &Sweep, example: Option<&RunResult>) -> Self {
        Self {
            measured: format!("{}{}.", counted(sweep.measured().count(), "run"), each(example)),
            on: in_turn(sweep)
                + &example.map_or_else(|| "Not known: no result of a run could be read.".to_owned(), place),
            trust: Trust::in_runs(sweep.measured()),
            ..Self::default()
        }
    }
}

/// Length and I/O engine of each of several runs: `, each 5 s after a warm-up of 1 s, I/O by io_uring`.
pub(crate) fn each(example: Option<&RunResult>) -> String {
    let length = example.and_then(|result| result.profile.time_spans.first()).map(load_line::length);
    let length = length.map(|length| format!("each {length}"));
    let engines = example.and_then(|result| result.time_spans.first()).and_then(engines);
    [length, engines].into_iter().flatten().fold(String::new(), |all, part| all + ", " + &part)
}

impl Trust {
    /// Trust in the figures of one or several runs.
    pub(crate) fn in_runs<'a>(runs: impl IntoIterator<Item = &'a Headline>) -> Self {
        Self::from_findings(&found_in(runs))
    }

    fn from_findings(found: &FoundInRuns) -> Self {
        let FoundInRuns { severity, causes, still_true: (reservation, still_true), limits, not_shown } = found;
        let words = match severity {
            Some(Severity::Invalid | Severity::Fail) => format!("No: {causes}."),
            Some(Severity::Warn | Severity::Unknown) => format!("{reservation}: {causes}.{still_true}{not_shown}"),
            Some(Severity::Note | Severity::Pass) | None if !limits.is_empty() => {
                format!("Yes, within these limits: {limits}.{not_shown}")
            }
            Some(Severity::Note | Severity::Pass) | None => {
                "Yes: no condition was found that invalidates or biases the figures.".to_owned()
            }
        };
        Self { tone: Tone::from_severity(*severity), words: text(&words) }
    }

    /// Trust in the joint answer of several runs: `basis` is the evidence or, if that is not enough, the missing part.
    pub(crate) fn in_answer<'a>(runs: impl IntoIterator<Item = &'a Headline>, is_enough: bool, basis: &str) -> Self {
        let found = found_in(runs);
        let trust = Self::from_findings(&found);
        if trust.tone > Tone::Good && (is_enough || trust.tone == Tone::Bad) {
            return Self { words: format!("{} {}", trust.words, sentence(basis)), ..trust };
        }
        let FoundInRuns { causes, still_true: (_, still_true), limits, not_shown, .. } = found;
        if trust.tone > Tone::Good {
            let words = format!("Only in part: {basis}. Warnings of the runs: {causes}.{still_true}{not_shown}");
            return Self { words: text(&words), ..trust };
        }
        let limits = if limits.is_empty() { limits } else { format!(" Limits of the runs: {limits}.{not_shown}") };
        let (tone, head) = if is_enough { (Tone::Good, "Yes") } else { (Tone::Warn, "Only in part") };
        Self { tone, words: text(&format!("{head}: {basis}.{limits}")) }
    }

    /// Trust in runs that cannot confirm their own figures: `head` and `reservation` give the extent and the reason;
    /// `beside` is additional text that is empty or begins with a space.
    pub(crate) fn with_reservation<'a>(
        runs: impl IntoIterator<Item = &'a Headline>,
        beside: &str,
        [head, reservation]: [&str; 2],
    ) -> Self {
        let found = found_in(runs);
        let Self { tone, words } = Self::from_findings(&found);
        if tone > Tone::Good {
            return Self { tone, words: format!("{words}{beside} {}", sentence(reservation)) };
        }
        let FoundInRuns { limits, not_shown, .. } = found;
        let limits = if limits.is_empty() { limits } else { format!(" Further limits: {limits}.{not_shown}") };
        Self { tone: Tone::Plain, words: format!("{head}: {reservation}.{}{beside}", text(&limits)) }
    }
}

/// Findings of runs, in words.
struct FoundInRuns {
    /// The worst.
    severity: Option<Severity>,
    /// Warnings and worse.
    causes: String,
    /// Extent to which they leave the figures usable, and the conclusions that still hold; the latter is empty or
    /// begins with a space.
    still_true: (&'static str, &'static str),
    /// Notes.
    limits: String,
    /// Limits of the figures because of notes; empty or begins with a space.
    not_shown: String,
}

fn found_in<'a>(runs: impl IntoIterator<Item = &'a Headline>) -> FoundInRuns {
    let runs: Vec<&Headline> = runs.into_iter().collect();
    let cause = |(name, count): &(String, usize)| {
        if *count < runs.len() { format!("{name} in {count} of {} runs", runs.len()) } else { name.clone() }
    };
    let most = if runs.len() > 1 { OF_RUNS_MAX } else { FINDINGS_MAX };
    let causes = RunWarnings::from_runs(runs.iter().copied()).map(|doubt| doubt.causes).unwrap_or_default();
    let mut notes = NotedRuns::from_runs(runs.iter().copied()).map(|noted| noted.notes).unwrap_or_default();
    notes.sort_by_key(|(name, _)| NOT_SHOWN.iter().position(|(first, _)| first == name).unwrap_or(usize::MAX));
    let names: Vec<&str> = causes.iter().map(|(name, _)| name.as_str()).collect();
    FoundInRuns {
        severity: runs.iter().filter_map(|run| run.severity).max(),
        still_true: if are_mostly_sound(&runs) { ("Mostly", "") } else { still_true(&names, &runs) },
        not_shown: not_shown(&notes),
        causes: listed(causes.iter().map(cause).collect(), most),
        limits: listed(notes.iter().map(cause).collect(), most),
    }
}

/// True if fewer than half of several runs have warnings, and none is worse: their median is that of sound runs.
fn are_mostly_sound(runs: &[&Headline]) -> bool {
    let warned = runs.iter().filter(|run| run.severity > Some(Severity::Note));
    warned.clone().all(|run| run.severity == Some(Severity::Warn)) && 2 * warned.count() < runs.len()
}

/// Extent to which warnings leave the figures usable, and the conclusions that still hold, if all findings are of one
/// kind.
fn still_true(names: &[&str], runs: &[&Headline]) -> (&'static str, &'static str) {
    let are_all = |known: &[&str]| !names.is_empty() && names.iter().all(|name| known.contains(name));
    if !names.is_empty() && names.iter().all(|name| is_small_share(runs, name)) {
        (
            "Yes, but with small disturbances",
            " Without them, IOPS and MiB/s may be a few percent higher and mean latencies lower; high percentiles may change \
             more.",
        )
    } else if are_all(&DISTURBANCES) {
        let less = if are_open(runs) {
            " Without the disturbance, response times may be lower."
        } else {
            " Without the disturbance, IOPS and MiB/s may be higher and latencies lower."
        };
        ("Only in part", less)
    } else if are_all(&CACHES) {
        ("Not as figures of the device", " They are those of the cache.")
    } else {
        ("Only in part", "")
    }
}

/// True if the warnings of this name in runs are shares of CPU time that change means by little.
pub(crate) fn is_small_share(runs: &[&Headline], name: &str) -> bool {
    let mut affected = runs.iter().filter(|run| run.warnings.iter().any(|warning| warning == name));
    let is_small = |run: &&Headline| run.finding_value(name).is_some_and(|share| share < SMALL_PERCENT);
    // In an open loop a short wait delays all I/Os that are due meanwhile.
    SHARES.contains(&name) && !are_open(runs) && affected.all(is_small)
}

/// True if the runs had an offered rate.
fn are_open(runs: &[&Headline]) -> bool {
    runs.iter().any(|run| run.response_mean_ns.is_some())
}

fn not_shown(notes: &[(String, usize)]) -> String {
    let is_noted = |name: &str| notes.iter().any(|(noted, _)| noted == name);
    let parts: Vec<&str> = NOT_SHOWN.into_iter().filter(|(name, _)| is_noted(name)).map(|(_, what)| what).collect();
    match &parts[..] {
        [] => String::new(),
        [only] => format!(" The figures do not show {only}."),
        [first @ .., last] => format!(" The figures do not show {} or {last}.", first.join(", ")),
    }
}

/// `a; b; 3 more below`
pub(crate) fn listed(mut parts: Vec<String>, most: usize) -> String {
    parts.dedup();
    let more = parts.len().saturating_sub(most);
    parts.truncate(most);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    parts.join(", ")
}

/// The advice of the first findings above a note, one for each finding across all loads; `None` if there is none.
pub(crate) fn remedy<'a>(findings: impl IntoIterator<Item = &'a Finding>, explain: Explain) -> Option<String> {
    let mut grave: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for finding in findings.into_iter().filter(|finding| finding.severity > Severity::Note) {
        let is_same =
            |(known, _): &&mut (&Finding, _)| (&known.name, &known.subject) == (&finding.name, &finding.subject);
        match grave.iter_mut().find(is_same) {
            Some((_, advice)) => advice.push(&finding.advice),
            None => grave.push((finding, vec![&finding.advice])),
        }
    }
    let advice = grave.into_iter().filter_map(|(finding, advice)| advice_for_all(advice, explain(&finding.name)));
    let mut advice: Vec<String> = advice.map(|advice| sentence(&plain(Finding::action(advice)))).collect();
    advice.dedup();
    advice.truncate(REMEDIES_MAX);
    (!advice.is_empty()).then(|| advice.join(" "))
}

/// The advice on the most frequent causes of doubt in runs, without small shares of CPU time; `None` if most runs are
/// sound.
pub(crate) fn remedy_of_runs(runs: &[&Headline], explain: Explain) -> Option<String> {
    if are_mostly_sound(runs) { None } else { remedy_of_any(runs, explain) }
}

/// The same if a single run may decide; `None` without a cause of doubt.
pub(crate) fn remedy_of_any(runs: &[&Headline], explain: Explain) -> Option<String> {
    let mut causes = RunWarnings::from_runs(runs.iter().copied())?.causes;
    causes.retain(|(name, _)| !is_small_share(runs, name));
    let remedy = |(name, _): &(String, usize)| {
        let told = advice_for_all(runs.iter().filter_map(|run| run.finding_advice(name)), explain(name));
        sentence(
            &told
                .map(Finding::action)
                .map_or_else(|| format!("remove the cause of {name}"), |action| format!("{} ({name})", plain(action))),
        )
    };
    let remedies: Vec<String> = causes.iter().take(REMEDIES_MAX).map(remedy).collect();
    (!remedies.is_empty()).then(|| remedies.join(" "))
}

/// The next step, after a remedy if there is one; options in the remedy are to be added to the next command.
pub(crate) fn after(remedy: Option<&str>, next: &str) -> String {
    let Some(remedy) = remedy else { return next.to_owned() };
    let then = if names_option(remedy) { "Then, with any of these options added," } else { "Then" };
    format!("{remedy} {then} {}", lower(next))
}

/// True if a remedy is an option of one letter: `(-a)`.
pub(crate) fn names_option(remedy: &str) -> bool {
    remedy.as_bytes().windows(3).any(|at| at[0] == b'(' && at[1] == b'-' && at[2] != b'-')
}

/// Advice on the better of two sides, by the metrics in which the second is better and worse; these may be empty.
pub(crate) fn choice([first, second]: [&str; 2], better: &str, worse: &str) -> String {
    match (better, worse) {
        ("", "") => "Take either: they are equivalent.".to_owned(),
        (_, "") => format!("Take {second}."),
        ("", _) => format!("Take {first}."),
        _ => format!("Take {second} for {better}, {first} for {worse}."),
    }
}

/// Targets and hosts that differ between the runs of a series: `a.dat, b.dat, one at a time; of these `; empty if all
/// runs have the same.
fn in_turn(sweep: &Sweep) -> String {
    let of_points = sweep.points.iter().flat_map(|point| &point.settings);
    let is_place = |setting: &&Setting| [Setting::TARGET, "on"].contains(&setting.name.as_str());
    let mut places: Vec<String> = of_points.filter(is_place).map(|setting| setting.value.clone()).collect();
    let of_sides = ["--target-a=", "--target-b=", "--on-a=", "--on-b="];
    let words = sweep.own_words();
    places.extend(words.filter_map(|word| of_sides.iter().find_map(|side| word.strip_prefix(side))).map(str::to_owned));
    places.sort();
    places.dedup();
    let places: Vec<String> = places.iter().map(|place| text(place)).collect();
    if places.len() < 2 { String::new() } else { format!("{}, one at a time; of these ", places.join(", ")) }
}

/// The targets of a result, the underlying storage, and the machine.
pub(crate) fn place(result: &RunResult) -> String {
    let target = |(path, environment): (&PathBuf, &TargetEnvironment)| {
        let on = load_line::storage(environment).map(|on| format!(" {on}")).unwrap_or_default();
        format!("{}{}", text_of_path(path), text(&on))
    };
    let mut targets: Vec<String> = result.targets.environments.iter().map(target).collect();
    if targets.is_empty() {
        let paths = result.profile.time_spans.iter().flat_map(|span| &span.targets);
        targets = paths.map(|target| text_of_path(&target.path)).collect();
        targets.sort();
        targets.dedup();
    }
    let others = targets.len().saturating_sub(TARGETS_MAX);
    targets.truncate(TARGETS_MAX);
    if others > 0 {
        targets.push(counted(others, "other target"));
    }
    let machine = machine(&facts(result), &result.system.computer_name);
    [targets.join("; "), machine].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". Computer ")
        + "."
}

/// `vm: KVM virtual machine, AMD EPYC, 2 CPUs`
pub(crate) fn machine(facts: &[Fact], computer: &str) -> String {
    let known = |name| facts.iter().find(|fact| fact.name == name).map(|fact| shorten_fact(name, &fact.value));
    let known: Vec<String> = MACHINE_FACTS.into_iter().filter_map(known).collect();
    let computer = text(computer);
    if known.is_empty() { computer } else { format!("{computer}: {}", known.join(", ")) }
}

/// A fact without its name and details, unless the value needs the name.
fn shorten_fact(name: &str, value: &str) -> String {
    let first = |end: &str| value.split(end).next().unwrap_or_default().to_owned();
    match name {
        "virtual machine" if value == Hypervisor::Unnamed.words() => "virtual machine".to_owned(),
        "virtual machine" => format!("{value} virtual machine"),
        "CPUs" => first(", "),
        "memory" => format!("{value} of memory"),
        "system" => first(" ("),
        "kernel" => format!("kernel {}", value.split(['.', '-']).take(2).collect::<Vec<_>>().join(".")),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warnings::Meaning;
    use model::finding::Source;

    fn runs(warned: usize, sound: usize) -> Vec<Headline> {
        let run = |severity| Headline {
            severity: Some(severity),
            warnings: if severity == Severity::Warn { vec!["steal".to_owned()] } else { Vec::new() },
            ..Headline::default()
        };
        (0..warned).map(|_| run(Severity::Warn)).chain((0..sound).map(|_| run(Severity::Note))).collect()
    }

    /// One run of six with a warning headed the answer as if all had it, and its advice came first.
    #[test]
    fn few_warned_runs_among_many_leave_the_answer_mostly_trusted() {
        for (warned, sound, words, is_advised) in [
            (1, 5, "Mostly: steal in 1 of 6 runs.", false),
            (3, 3, "Only in part: steal in 3 of 6 runs. Without the disturbance", true),
            (1, 0, "Only in part: steal. Without the disturbance", true),
        ] {
            let runs = runs(warned, sound);
            let trust = Trust::in_runs(&runs);
            assert!(trust.words.starts_with(words) && trust.tone == Tone::Warn, "{}", trust.words);
            let runs: Vec<&Headline> = runs.iter().collect();
            assert_eq!(remedy_of_runs(&runs, |_| None).is_some(), is_advised, "{words}");
            assert!(remedy_of_any(&runs, |_| None).is_some());
        }
        let mut runs = runs(1, 5);
        runs[0].severity = Some(Severity::Invalid);
        assert!(remedy_of_runs(&runs.iter().collect::<Vec<_>>(), |_| None).is_some(), "that run is no measurement");
    }

    /// 2.4 % of the threads' time left the figures trusted "only in part", on an idle machine.
    #[test]
    fn a_small_share_of_cpu_time_leaves_means_right_to_a_few_percent() {
        let run = |value: Option<f64>| Headline {
            severity: Some(Severity::Warn),
            warnings: vec!["cpu-contention".to_owned()],
            warning_values: vec![value],
            ..Headline::default()
        };
        let words = |values: &[Option<f64>]| {
            let runs: Vec<Headline> = values.iter().map(|value| run(*value)).collect();
            Trust::in_runs(&runs).words
        };
        let (small, large) = (Some(2.4), Some(15.0));
        assert!(words(&[small]).starts_with("Yes, but with small disturbances: cpu-contention."));
        assert!(words(&[small, large]).starts_with("Only in part: "), "one is large");
        assert!(words(&[None]).starts_with("Only in part: "));
        let advised = |values: &[Option<f64>]| {
            let runs: Vec<Headline> = values.iter().map(|value| run(*value)).collect();
            remedy_of_runs(&runs.iter().collect::<Vec<_>>(), |_| None).is_some()
        };
        assert!(!advised(&[small]) && advised(&[small, large]), "a small share is no reason to measure in another way");
    }

    #[test]
    fn a_remedy_is_said_once_for_all_loads() {
        let trust_of = |own: &[&str]| {
            let finding = |advice: &&str| Finding {
                name: "cpu-contention".to_owned(),
                severity: Severity::Warn,
                subject: String::new(),
                figure: String::new(),
                value: None,
                advice: (*advice).to_owned(),
                basis: String::new(),
                source: Source::Verdict,
            };
            let explain: Explain = |_| {
                let advice = "stop other programs, or bind threads (`-a`)";
                Some(Meaning { severity: Severity::Warn, unit: "", computed_from: "", advice })
            };
            remedy(&own.iter().map(finding).collect::<Vec<_>>(), explain)
        };
        assert_eq!(trust_of(&["bind threads (-a)", "bind threads (-a)"]).as_deref(), Some("Bind threads (-a)."));
        let both = trust_of(&["bind threads (-a)", "stop other programs", "bind threads (-a)"]);
        assert_eq!(both.as_deref(), Some("Stop other programs, or bind threads (-a)."));
        assert_eq!(trust_of(&[]), None);
    }

    #[test]
    fn options_that_a_remedy_names_are_to_be_added() {
        let next = |remedy| after(Some(remedy), "Run it again.");
        let bind = "Bind threads to other CPUs (-a; see /proc/interrupts) (cpu-contention).";
        assert_eq!(next(bind), format!("{bind} Then, with any of these options added, run it again."));
        let stop = "Stop other programs (cpu-contention).";
        assert_eq!(next(stop), format!("{stop} Then run it again."));
        assert_eq!(after(None, "Run it again."), "Run it again.");
    }
}
