//! The four answers of a result.

use super::again::TypedCommand;
use super::answer::sentence;
use super::block::Tone;
use super::brief::{FINDINGS_MAX, is_small_share, listed, names_option, place, remedy};
use super::engines::engines;
use super::foreign_text::{text, text_of_path};
use super::preset;
use super::quantity::{Quantity, grouped, latency, significant};
use super::storage;
use super::warnings::{Explain, NamedRun};
use crate::block::{Brief, Trust};
use crate::words::load_line;
use model::ending::Ending;
use model::finding::{Finding, Severity};
use model::headline::Headline;
use model::preset::PresetRun;
use model::printable::words_of;
use model::profile::{CacheMode, Target, TimeSpan};
use model::result::{Measured, RunResult, TimeSpanResult};
use model::units::{counted, mib, pluralized};

/// Timespans whose figures are in the brief; the others are in their sections.
const TOLD_MAX: usize = 4;

/// Facts missing from results of DiskSpd.
const UNSAID: &str = "The file does not say: the build of Windows, the memory, the disk and the file system, and whether other \
                      programs used the CPUs or the disk meanwhile.";

/// The same of other programs.
const UNSAID_BY_OTHERS: &str = "The file does not say: the machine, its memory and disks, and whether other programs used the \
                                CPUs or the disk meanwhile.";

/// Advice for a result of DiskSpd that shows nothing to fix.
const COMPARE: &str = "Repeat the run a few times with the same load and see how much it varies: diskspd compare shows the \
                       differences between results of DiskSpd and of this program.";

/// The place for changes to a load of an XML profile.
const IN_PROFILE: &str = "The load was in an XML profile (-X): make the changes there (-Sh is DisableOSCache and WriteThrough, -d \
                          Duration, -g Throughput), and run it again:";

/// The reason why a flush in a virtual machine proves little.
const OF_THE_HOST: &str = "a flush ends when the host of this virtual machine says so, and its cache mode, which the guest \
                           cannot see, decides whether the data is then durable";

/// The remedy.
const ON_THE_HOST: &str = "Find out on the host how it treats flushes of this disk: QEMU with cache=unsafe, for one, ignores \
                           them.";

/// The answers of a result.
pub fn brief(result: &RunResult, explain: Explain) -> Brief {
    let spans: Vec<&TimeSpanResult> = result.time_spans.iter().filter(|span| span.measured.is_some()).collect();
    let is_imported = !result.tool.is_ours();
    let on = match &result.tool.implementation {
        None => format!("{} {UNSAID}", place(result)),
        Some(_) if is_imported => format!("{} {UNSAID_BY_OTHERS}", place(result)),
        Some(_) => place(result),
    };
    let again = TypedCommand::from_result(result);
    if spans.is_empty() {
        return Brief { on, ..nothing(result, again.as_ref()) };
    }
    let (trust, (next, command)) = if is_imported {
        (unjudged(&program(result), &spans), next_of_imported(result, &spans, explain))
    } else {
        let (words, command) = next(result, again.as_ref(), explain);
        let words = if is_durable_in_guest(result) { format!("{ON_THE_HOST} {words}") } else { words };
        (trust(result), (words, command))
    };
    Brief { measured: measured(result, &spans), on, trust, next, command }
}

/// Of a result without figures.
fn nothing(result: &RunResult, again: Option<&TypedCommand>) -> Brief {
    let of_spans = result.time_spans.iter();
    let errors = result.errors.iter().chain(of_spans.clone().flat_map(|span_result| &span_result.errors));
    let reason =
        errors.into_iter().next().cloned().or_else(|| of_spans.map(|span| ended(span.outcome).to_owned()).next());
    let reason = reason.map(|reason| format!(": {}", text(&reason))).unwrap_or_default();
    let cause = if reason.is_empty() { "Run it again." } else { "Remove the cause and run it again." };
    Brief {
        measured: format!("Nothing{reason}."),
        trust: Trust { tone: Tone::Bad, words: "No: there are no figures.".to_owned() },
        next: cause.to_owned(),
        command: again.map(TypedCommand::command).unwrap_or_default(),
        ..Brief::default()
    }
}

fn measured(result: &RunResult, spans: &[&TimeSpanResult]) -> String {
    let engines = spans.first().and_then(|span_result| engines(span_result));
    let engines = engines.map(|engines| format!(", {engines}")).unwrap_or_default();
    let of_spans = &result.profile.time_spans;
    let length = length(of_spans);
    if let Some(preset) = &result.preset {
        let each = length.map(|length| format!(", each {length}")).unwrap_or_default();
        // A flush that the host ignores is fast, too.
        let if_durable = if preset.has_latency_bands && is_durable_in_guest(result) {
            ", if the host carries out flushes"
        } else {
            ""
        };
        let answer = preset::answer(preset, result).map(|answer| format!(": {answer}{if_durable}")).unwrap_or_default();
        return format!("{}{each}{engines}{answer}.", preset::runs_of_loads(preset, result));
    }
    if let [only] = spans {
        let length = only.measured.as_ref().map(|measured| elapsed(length, measured)).unwrap_or_default();
        return format!("{}{length}{engines}{}.", figures(only), of_imported(result));
    }
    let each = length.map(|length| format!(", each {length}")).unwrap_or_default();
    let names = targets_of_each(of_spans);
    let number = |(index, span_result): (usize, &&TimeSpanResult)| {
        let target = names.get(index).map(|name| format!(" ({name})")).unwrap_or_default();
        format!("{}{target}: {}", index + 1, figures(span_result))
    };
    let told: Vec<String> = spans.iter().enumerate().take(TOLD_MAX).map(number).collect();
    let more = if spans.len() > TOLD_MAX { "; the others below" } else { "" };
    let count = counted(spans.len(), "timespan");
    format!("{count}{each}{engines}{}: {}{more}.", of_imported(result), told.join("; "))
}

/// The target of each timespan, if each has one and they differ.
fn targets_of_each(spans: &[TimeSpan]) -> Vec<String> {
    let only = |span: &TimeSpan| match &span.targets[..] {
        [target] => Some(text_of_path(&target.path)),
        _ => None,
    };
    let names: Vec<String> = spans.iter().filter_map(only).collect();
    let differ = names.iter().any(|name| *name != names[0]);
    if names.len() == spans.len() && differ { names } else { Vec::new() }
}

/// The planned length of each timespan, if it is the same for all.
fn length(spans: &[TimeSpan]) -> Option<String> {
    let mut lengths = spans.iter().map(load_line::length);
    lengths.next().filter(|first| lengths.all(|length| length == *first))
}

/// `; 30 s after a warm-up of 5 s`
fn elapsed(length: Option<String>, measured: &Measured) -> String {
    let took = Quantity::TimeS.value(measured.elapsed_ns as f64 / 1e9);
    match length {
        Some(length) if measured.is_partial => format!("; ended after {took} of {length}"),
        Some(length) => format!("; {length}"),
        None => format!("; {took}"),
    }
}

/// `70,071 IOPS, 547 MiB/s, mean latency 443 µs, 99th percentile 1.34 ms, reads and writes together (70 % reads)`
fn figures(span_result: &TimeSpanResult) -> String {
    let Some((headline, measured)) = stats::headline(span_result).zip(span_result.measured.as_ref()) else {
        return String::new();
    };
    let rate =
        format!("{}, {}", Quantity::Iops.value(headline.iops), Quantity::MibPerS.value(mib(headline.bytes_per_s)));
    let commit = stats::latency_band::commit(span_result).filter(|commit| commit.has_flush).map(|commit| {
        let call = measured.flushes.map_or("flush", |flushes| flushes.call.name());
        format!(", mean commit {} (write + {call})", latency(commit.mean_ns))
    });
    let is_open = headline.response_mean_ns.is_some();
    let (name, mean_ns, p99_ns) = if is_open {
        ("response time, from the intended start,", headline.response_mean_ns, headline.response_p99_ns)
    } else {
        ("latency", headline.mean_ns, headline.p99_ns)
    };
    let mean = mean_ns.map(|ns| format!(", mean {name} {}", latency(ns)));
    let p99 = p99_ns.map(|ns| format!(", 99th percentile {}", latency(ns as f64)));
    let total = &measured.total;
    let both = (total.read.ios > 0 && total.write.ios > 0).then(|| {
        format!(", reads and writes together ({} % reads)", significant(100.0 * (1.0 - headline.write_share)))
    });
    let verified = span_result.verification.as_ref().map(|found| {
        let units = pluralized(found.checked_units, "unit");
        let checked = format!("{} {units}", grouped(found.checked_units as f64));
        match found.corrupt_units() {
            0 => format!(", {checked} of data verified, none corrupt"),
            corrupt => format!(", {} of {checked} of data corrupt", grouped(corrupt as f64)),
        }
    });
    [Some(rate), commit, mean, p99, both, verified].into_iter().flatten().collect()
}

/// The program that measured.
fn program(result: &RunResult) -> String {
    let implementation = result.tool.implementation.as_ref();
    implementation.map_or_else(|| "DiskSpd".to_owned(), |implementation| text(&implementation.name))
}

/// `, by DiskSpd 2.2; the file system's cache was in use, without write-through`
fn of_imported(result: &RunResult) -> String {
    if let Some(implementation) = &result.tool.implementation {
        let version = text(&implementation.version);
        return if result.tool.is_ours() { String::new() } else { format!(", by {} {version}", program(result)) };
    }
    let mut caches: Vec<&str> =
        result.profile.time_spans.iter().flat_map(|span| &span.targets).map(cache_words).collect();
    caches.dedup();
    let caches = if caches.is_empty() { String::new() } else { format!("; {}", caches.join("; ")) };
    format!(", by DiskSpd {}{caches}", text(&result.tool.version))
}

/// The Windows caches that an I/O passes through.
const fn cache_words(target: &Target) -> &'static str {
    match (target.cache_mode, target.write_through) {
        (CacheMode::Unbuffered, true) => "caches bypassed, with write-through (-Sh)",
        (CacheMode::Unbuffered, false) => "the file system's cache was bypassed (-Su), without write-through",
        (_, true) => "the file system's cache was in use, with write-through (-Sw)",
        (_, false) => "the file system's cache was in use, without write-through",
    }
}

/// Trust in all timespans together.
fn trust(result: &RunResult) -> Trust {
    let spans = &result.time_spans;
    if spans.iter().all(|span_result| span_result.verdict.is_none()) {
        return Trust { tone: Tone::Plain, words: "Not judged: the result has no verdict.".to_owned() };
    }
    let headlines: Vec<Option<Headline>> = spans.iter().map(stats::headline).collect();
    let loads = result.preset.as_ref().map(|preset| &preset.loads[..]).unwrap_or_default();
    let name = |index: usize| loads.get(index).map_or_else(|| format!("timespan {}", index + 1), Clone::clone);
    let named = headlines.iter().enumerate();
    let runs: Vec<NamedRun<'_>> = named.filter_map(|(index, run)| Some((text(&name(index)), run.as_ref()?))).collect();
    let spread = result.preset.as_ref().and_then(|preset| spread(preset, result));
    let which = which(&runs).into_iter().chain(spread).fold(String::new(), |all, words| all + " " + &words);
    let runs = runs.iter().map(|(_, run)| *run);
    if is_durable_in_guest(result) {
        // The limit that nothing in the guest can show comes before checks without findings.
        return Trust::with_reservation(runs, &which, ["Only as latencies of this virtual disk", OF_THE_HOST]);
    }
    let Trust { tone, words } = Trust::in_runs(runs);
    Trust { tone, words: format!("{words}{which}") }
}

/// The largest spread between runs of the same load; `None` if each was run once.
fn spread(preset: &PresetRun, result: &RunResult) -> Option<String> {
    let rows = stats::preset_rows::reads_and_writes(preset, result);
    let each = rows.iter().flat_map(|(name, runs)| ["reads", "writes"].into_iter().zip(runs).map(move |of| (name, of)));
    let apart = each.filter_map(|(name, (kind, runs))| {
        let runs = runs.as_ref().filter(|runs| runs.runs > 1)?;
        Some((name, kind, (runs.best_bytes_per_s - runs.lowest_bytes_per_s) / runs.median_bytes_per_s))
    });
    let (name, kind, share) = apart.max_by(|one, other| one.2.total_cmp(&other.2))?;
    let name = text(name);
    Some(format!("Runs of the same load differ by up to {:.0} % of their median ({name} {kind}).", share * 100.0))
}

/// The loads with warnings, if some have none, or those without: the shorter list.
fn which(runs: &[NamedRun<'_>]) -> Option<String> {
    let mut doubtful: Vec<&str> = Vec::new();
    let mut sound: Vec<&str> = Vec::new();
    for (name, run) in runs {
        let names = if run.severity >= Some(Severity::Warn) { &mut doubtful } else { &mut sound };
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    sound.retain(|name| !doubtful.contains(name));
    if doubtful.is_empty() || sound.is_empty() {
        return None;
    }
    let list = |names: Vec<&str>| listed(names.into_iter().map(str::to_owned).collect(), FINDINGS_MAX);
    Some(if sound.len() < doubtful.len() {
        format!("Without warnings: {}.", list(sound))
    } else {
        format!("With warnings: {}.", list(doubtful))
    })
}

/// True if writes were to be durable, and a host decides if they are.
fn is_durable_in_guest(result: &RunResult) -> bool {
    let flushes = |(index, span_result): (usize, &TimeSpanResult)| {
        let span = result.profile.time_spans.get(index);
        span_result.measured.as_ref().is_some_and(|measured| storage::flushes(span, measured))
    };
    stats::latency_band::is_virtual(result) && result.time_spans.iter().enumerate().any(flushes)
}

/// Findings of all timespans.
fn findings<'a>(spans: impl IntoIterator<Item = &'a TimeSpanResult>) -> impl Iterator<Item = &'a Finding> {
    spans.into_iter().filter_map(|span| span.verdict.as_ref()).flat_map(|verdict| &verdict.findings)
}

/// Trust in another program's result: findings on its figures are not a verdict.
fn unjudged(program: &str, spans: &[&TimeSpanResult]) -> Trust {
    let findings = || findings(spans.iter().copied());
    let of_span = |(number, span): (usize, &&TimeSpanResult)| {
        let which = if spans.len() > 1 { format!(", timespan {number}") } else { String::new() };
        let describe = move |finding: &Finding| format!("{} ({}{which})", text(&finding.figure), finding.name);
        self::findings([*span]).map(describe).collect::<Vec<_>>()
    };
    let shown: Vec<String> = (1..).zip(spans).flat_map(of_span).collect();
    let shown = if shown.is_empty() {
        String::new()
    } else {
        format!(" The figures alone show: {}.", listed(shown, FINDINGS_MAX))
    };
    let severity = findings().map(|finding| finding.severity).max().filter(|severity| *severity > Severity::Note);
    Trust {
        tone: severity.map_or(Tone::Plain, |severity| Tone::from_severity(Some(severity))),
        words: format!(
            "Not judged: {program} does not check for conditions that invalidate or bias its results.{shown}"
        ),
    }
}

/// The next step and, if the run is to be repeated, the command line as typed on Windows.
fn next_of_imported(result: &RunResult, spans: &[&TimeSpanResult], explain: Explain) -> (String, String) {
    let findings = || findings(spans.iter().copied());
    let notes = findings().filter(|finding| ["imported-rate", "short-run"].contains(&finding.name.as_str()));
    let notes =
        notes.filter(|finding| finding.severity == Severity::Note).map(|note| sentence(Finding::action(&note.advice)));
    let mut advice: Vec<String> = remedy(findings(), explain).into_iter().collect();
    for note in notes {
        // Several timespans may have the same advice.
        if !advice.contains(&note) {
            advice.push(note);
        }
    }
    if advice.is_empty() {
        return (COMPARE.replace("DiskSpd", &program(result)), String::new());
    }
    let has_profile = words_of(&result.command_line).is_some_and(|words| words.iter().any(|word| is_profile(word)));
    advice.push(if has_profile { IN_PROFILE } else { "Run it with these changes:" }.to_owned());
    (advice.join(" "), text(&result.command_line))
}

/// True for `-Xload.xml`, which Windows also takes as `/X`.
fn is_profile(word: &str) -> bool {
    word.starts_with("-X") || word.starts_with("/X")
}

/// The next step, and the command for it.
fn next(result: &RunResult, again: Option<&TypedCommand>, explain: Explain) -> (String, String) {
    let mut findings: Vec<&Finding> = findings(&result.time_spans).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let measured = result.time_spans.iter().filter_map(|span_result| span_result.measured.as_ref());
    let advised_s = measured.map(stats::advised_s).fold(0.0, f64::max);
    let (longer, how_long) = (format!("-d{advised_s:.0}"), format!("for {advised_s:.0} s"));
    let is_cached = again.is_some_and(|again| again.lacks("-S") && again.lacks("-h"));
    // Loads that a preset runs several times are short so that all of them take minutes, not hours.
    let is_repeated = result.preset.as_ref().is_some_and(|preset| preset.repeats > 1);
    // A longer or more informative run is the same command with another option.
    let known = [
        ("served-from-memory", "-Su", "past the page cache", is_cached),
        ("short-run", longer.as_str(), how_long.as_str(), !is_repeated),
        ("small-for-host", "--probe-host-cache", "with a probe of the host's cache", true),
    ];
    let asked = known.iter().filter(|(.., is_possible)| *is_possible).filter_map(|(name, option, how, _)| {
        let of_name = findings.iter().filter(|finding| finding.name == *name);
        // Of advice with different numbers, that with the largest, which the option has.
        Some((of_name.max_by_key(|finding| (finding.advice.len(), &finding.advice))?, (*option, *how)))
    });
    let (asking, options): (Vec<&&Finding>, Vec<(&str, &str)>) = asked.unzip();
    let (options, how): (Vec<&str>, Vec<&str>) = options.into_iter().unzip();
    let other = again.filter(|_| !options.is_empty()).and_then(|again| again.clone().with(&options));
    let other = other.map(|other| other.command());
    let same = || again.map(TypedCommand::command).unwrap_or_default();
    let headlines: Vec<Headline> = result.time_spans.iter().filter_map(stats::headline).collect();
    let runs: Vec<&Headline> = headlines.iter().collect();
    let grave = findings.iter().copied().filter(|finding| !is_small_share(&runs, &finding.name));
    if let Some(remedy) = remedy(grave, explain) {
        // The command includes the option against the gravest finding.
        let is_in_command =
            asking.iter().any(|finding| findings.first().is_some_and(|first| first.name == finding.name));
        let then = match (is_in_command, names_option(&remedy)) {
            (true, _) => "Measure again",
            (false, true) => "When that is done, measure again, with any of these options added",
            (false, false) => "When that is done, measure again",
        };
        return match other {
            Some(command) => (format!("{remedy} {then}, {}:", how.join(", ")), command),
            None if same().is_empty() => (remedy, String::new()),
            None => (format!("{remedy} {then}:"), same()),
        };
    }
    if let Some(command) = other {
        let advice: Vec<String> = asking.iter().map(|finding| sentence(Finding::action(&finding.advice))).collect();
        return (advice.join(" "), command);
    }
    if let Some(repeated) = again.cloned().and_then(|again| again.repeated(&["--runs=6"])) {
        let why = "Run it several times: a single run does not show how much runs vary.";
        return (why.to_owned(), repeated.command());
    }
    let compare =
        "Run it again and compare the results (diskspd compare): a single run does not show how much runs vary.";
    (compare.to_owned(), same())
}

/// The reason why there are no figures.
pub(crate) const fn ended(outcome: Ending) -> &'static str {
    match outcome {
        Ending::NotRun => "this timespan was not run, because an earlier one failed or the run was stopped",
        Ending::Stopped => "this timespan was stopped before its measurement began",
        Ending::Completed | Ending::Failed => "the result has no measurements",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::environment::{Environment, Hypervisor};
    use model::figures::{Directions, Figures, FlushFigures, LatencyFigures};
    use model::finding::Source;
    use model::profile::Profile;
    use model::verdict::Verdict;

    fn finding(name: &str, severity: Severity) -> Finding {
        let (figure, advice) = (format!("the figure of {name}"), format!("the advice of {name}"));
        let (name, subject, source) = (name.to_owned(), String::new(), Source::Verdict);
        Finding { name, severity, subject, figure, value: None, advice, basis: String::new(), source }
    }

    fn span(iops: f64, findings: Vec<Finding>) -> TimeSpanResult {
        let latency = Some(LatencyFigures { mean_ns: 1e6, ..LatencyFigures::default() });
        let read = Figures { ios: 700, iops: 0.7 * iops, ..Figures::default() };
        let write = Figures { ios: 300, iops: 0.3 * iops, ..Figures::default() };
        let total = Figures { ios: 1000, iops, bytes_per_s: iops * 4096.0, latency, ..Figures::default() };
        let measured = Measured { total: Directions { read, write, total }, ..Measured::default() };
        let verdict = Some(Verdict { findings });
        TimeSpanResult { measured: Some(measured), verdict, ..TimeSpanResult::default() }
    }

    fn result(time_spans: Vec<TimeSpanResult>) -> RunResult {
        let profile = Profile { time_spans: vec![TimeSpan::default(); time_spans.len()], ..Profile::default() };
        let command_line = "diskspd -b4K -d10 --json=r.json a.dat".to_owned();
        let mut result = RunResult { profile, time_spans, command_line, ..RunResult::default() };
        result.system.computer_name = "m".to_owned();
        result
    }

    fn answers(result: &RunResult) -> [String; 5] {
        let Brief { measured, on, trust, next, command } = brief(result, |_| None);
        [measured, on, trust.words, next, command]
    }

    /// The limit that a guest cannot see came last, after `Yes`.
    #[test]
    fn durable_writes_of_a_virtual_disk_are_trusted_as_latencies_only() {
        let trust = |findings: Vec<Finding>| {
            let mut result = result(vec![span(1000.0, findings)]);
            let machine = Environment { hypervisor: Some(Hypervisor::Unnamed), ..Environment::default() };
            result.environment = Some(machine);
            let flushes = FlushFigures { after_writes: 1, count: 300, ..FlushFigures::default() };
            result.time_spans[0].measured.as_mut().expect("measured").flushes = Some(flushes);
            brief(&result, |_| None).trust
        };
        let sound = trust(Vec::new());
        assert_eq!(
            (sound.tone, sound.words),
            (Tone::Plain, format!("Only as latencies of this virtual disk: {OF_THE_HOST}."))
        );
        let noted = trust(vec![finding("short-run", Severity::Note)]).words;
        assert!(noted.contains(" Further limits: short-run. The figures do not"), "{noted}");
        let warned = trust(vec![finding("steal", Severity::Warn)]).words;
        assert!(warned.starts_with("Only in part: ") && warned.contains(" A flush ends when the host"), "{warned}");
        let mut small = finding("steal", Severity::Warn);
        small.value = Some(3.0);
        let Trust { tone, words } = trust(vec![small]);
        assert_eq!(tone, Tone::Warn);
        assert!(
            words.contains("small disturbances: steal.") && words.contains(" A flush ends when the host"),
            "{words}"
        );
    }

    /// Contents that other kinds of results share on their pages.
    fn kinds() -> Vec<RunResult> {
        let warned = || span(2000.0, vec![finding("steal", Severity::Warn), finding("short-run", Severity::Note)]);
        let sound = || span(1000.0, Vec::new());
        let mut all = vec![
            result(Vec::new()),
            result(vec![TimeSpanResult::default()]),
            result(vec![sound()]),
            result(vec![warned()]),
            result(vec![sound(), warned()]),
            result(vec![TimeSpanResult { verdict: None, ..sound() }]),
        ];
        let mut preset = result(vec![sound(), warned()]);
        let loads = vec!["the reads".to_owned(), "the writes".to_owned()];
        preset.preset = Some(PresetRun { loads, ..PresetRun::default() });
        all.push(preset);
        let imported = all.clone().into_iter().map(|mut imported| {
            imported.tool.implementation = None;
            imported
        });
        all.extend(imported.collect::<Vec<_>>());
        all
    }

    #[test]
    fn no_answer_is_empty() {
        for result in kinds() {
            let [measured, on, trust, next, _] = answers(&result);
            for answer in [&measured, &on, &trust, &next] {
                assert!(answer.len() > 1 && answer.ends_with(['.', ':']), "{answer:?}: {result:?}");
            }
        }
    }

    #[test]
    fn the_next_command_is_what_was_typed_with_what_is_advised() {
        let next = |findings| {
            let [.., next, command] = answers(&result(vec![span(1000.0, findings)]));
            (next, command)
        };
        let (words, command) = next(Vec::new());
        assert_eq!(words, "Run it several times: a single run does not show how much runs vary.");
        assert_eq!(command, "diskspd repeat --runs=6 -- -b4K -d10 a.dat");
        let short = || finding("short-run", Severity::Note);
        let (words, command) = next(vec![short(), finding("small-for-host", Severity::Note)]);
        assert_eq!(words, "The advice of short-run. The advice of small-for-host.");
        assert_eq!(command, "diskspd --probe-host-cache -b4K -d60 a.dat");
        let (words, command) = next(vec![finding("steal", Severity::Warn), short()]);
        assert_eq!(words, "The advice of steal. When that is done, measure again, for 60 s:");
        assert_eq!(command, "diskspd -b4K -d60 a.dat");
        let (words, command) = next(vec![finding("steal", Severity::Warn)]);
        assert_eq!(
            (words.as_str(), command.as_str()),
            ("The advice of steal. When that is done, measure again:", "diskspd -b4K -d10 a.dat")
        );
    }

    /// The page of a preset with 40 runs of 5 s advised -d300: hours.
    #[test]
    fn a_preset_that_repeats_its_loads_is_not_made_longer() {
        let mut repeated = result(vec![span(1000.0, vec![finding("short-run", Severity::Note)])]);
        assert!(answers(&repeated)[4].contains("-d60"));
        repeated.time_spans.push(repeated.time_spans[0].clone());
        let rate = |span: &mut TimeSpanResult, rate| {
            span.measured.as_mut().expect("measured").total.total.bytes_per_s = rate;
        };
        rate(&mut repeated.time_spans[0], 8e6);
        rate(&mut repeated.time_spans[1], 12e6);
        let loads = vec!["RND4K".to_owned(); 2];
        repeated.preset = Some(PresetRun { repeats: 2, loads, ..PresetRun::default() });
        let trust = &answers(&repeated)[2];
        assert!(
            trust.ends_with(" Runs of the same load differ by up to 40 % of their median (RND4K reads)."),
            "{trust}"
        );
        let [.., next, command] = answers(&repeated);
        assert!(!next.contains("short-run") && !command.contains("-d60"), "{next} {command}");
    }

    #[test]
    fn several_loads_are_trusted_together() {
        let all = kinds();
        let preset = all.iter().find(|result| result.preset.is_some()).expect("there is one");
        let [measured, _, trust, ..] = answers(preset);
        assert_eq!(
            measured,
            "2 loads, each 10 s after a warm-up of 5 s: from 1,000 IOPS (the reads) to 2,000 IOPS (the writes)."
        );
        assert_eq!(
            trust,
            "Only in part: steal in 1 of 2 runs. Without the disturbance, IOPS and MiB/s may be \
             higher and latencies lower. The figures do not show what a longer load gets. With warnings: the writes."
        );
    }

    #[test]
    fn figures_of_another_program_are_not_judged() {
        let mut imported = result(vec![span(1000.0, vec![finding("imported-cached", Severity::Warn)])]);
        imported.tool.implementation = None;
        let [measured, on, trust, next, command] = answers(&imported);
        assert!(
            measured.starts_with("1,000 IOPS, 3.91 MiB/s, mean latency 1 ms, reads and writes together (70 % reads); ")
        );
        assert!(on.starts_with("m. The file does not say: "), "{on}");
        assert_eq!(
            trust,
            "Not judged: DiskSpd does not check for conditions that invalidate or bias its results. The figures alone show: \
             the figure of imported-cached (imported-cached)."
        );
        assert_eq!(next, "The advice of imported-cached. Run it with these changes:");
        assert_eq!(command, imported.command_line, "as it was typed on Windows");
        imported.command_line = "diskspd.exe -Xtwo.xml".to_owned();
        assert!(answers(&imported)[3].contains("make the changes there"), "{:?}", answers(&imported));
    }
}
