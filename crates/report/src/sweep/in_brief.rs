//! The four answers of a sweep: the varied settings, the certainty of the answer, and the next command to run.

use super::super::again::TypedCommand;
use super::super::block::Tone;
use super::super::brief::{self, remedy_of_any, remedy_of_runs};
use super::super::engines::{self, PointEngines};
use super::super::foreign_text::text;
use super::super::quantity::{self, Quantity, trimmed};
use super::super::warnings::Explain;
use super::how_sure;
use crate::block::{Brief, Trust};
use crate::words::limit::without_overload;
use crate::words::load_line;
use crate::words::sweep::{dashed, names, range_of_load};
use model::doubt::RunWarnings;
use model::headline::Headline;
use model::limit::LimitFound;
use model::printable::command_line;
use model::result::RunResult;
use model::sweep::{BlockKnee, BlockSeries, DepthSeries, Knee, Purpose, Saturation, Setting, Sweep, Visit};
use model::units::{counted, mib};

/// Runs of each point to advise, where one each is too few.
const RUNS: u32 = 5;

/// Factor from the largest value tried to the largest of a range that is tried next.
const NEXT_RANGE: u64 = 8;

/// Outstanding I/Os of a search that had too few, as a multiple.
const MORE_OUTSTANDING: u64 = 4;

/// Outstanding I/Os of a thread where `-o` was not given.
const OUTSTANDING: u64 = 2;

/// Seconds of a run long enough to confirm an answer.
const LONG_RUN_S: u32 = 600;

/// Shortest probes of a search whose runs vary too much, in seconds.
const PROBE_S: u64 = 10;

/// Shortest confirming runs of a search whose runs vary too much, in seconds.
const CONFIRM_S: u64 = 60;

/// The four answers; `chosen` is the result of one run, `name` that of the directory.
pub(crate) fn in_brief(sweep: &Sweep, chosen: Option<&RunResult>, (name, explain): (&str, Explain)) -> Brief {
    if crate::words::limit::is_unfinished(sweep) {
        return of_unfinished(sweep, chosen, name);
    }
    let Step { words, command } = next(sweep, explain);
    Brief {
        measured: measured(sweep, chosen),
        trust: trust(sweep),
        next: words,
        command,
        ..Brief::of_runs(sweep, chosen)
    }
}

/// The brief of a search that was stopped before it had an answer.
fn of_unfinished(sweep: &Sweep, chosen: Option<&RunResult>, name: &str) -> Brief {
    let runs = counted(sweep.measured().count(), "run");
    let rates = counted(with_runs(sweep).len(), "rate");
    let measured = format!("Part of a search for the highest rate: {runs} at {rates}{}.", lengths(sweep));
    let trust =
        Trust { tone: Tone::Warn, words: "No: the search had not ended, and only its end has an answer.".to_owned() };
    let command = command_line(["diskspd", "sweep", "--resume", name]);
    let next = format!("Continue the search, whose directory is {}, from the directory that contains it:", text(name));
    Brief { measured, trust, next, command, ..Brief::of_runs(sweep, chosen) }
}

fn measured(sweep: &Sweep, chosen: Option<&RunResult>) -> String {
    let engines = engines(sweep, chosen).map(|engines| format!(", {engines}")).unwrap_or_default();
    if let Some(found) = &sweep.limit {
        return format!("{}{engines}; {}.", of_search(sweep, found), of_limits(sweep, found));
    }
    let points = with_runs(sweep);
    if points.is_empty() {
        return "Nothing: no run has results.".to_owned();
    }
    let runs: Vec<usize> = points.iter().map(|point| stats::sweep::runs(sweep, *point).len()).collect();
    let often = match (runs.iter().min(), runs.iter().max()) {
        (Some(1), Some(1)) => "each once".to_owned(),
        (Some(least), Some(most)) if least == most => format!("each {most} times"),
        (least, most) => format!("each {} to {} times", least.unwrap_or(&0), most.unwrap_or(&0)),
    };
    let is_length_varied = names(sweep).iter().any(|name| matches!(name.as_str(), "d" | "W"));
    let has_probes = sweep.visits.iter().any(|visit| visit.purpose == Purpose::Probe);
    let span = chosen.and_then(|result| result.profile.time_spans.first()).filter(|_| !is_length_varied);
    let length = match (span, has_probes) {
        (_, true) => lengths(sweep),
        (Some(span), false) => format!(" for {}", load_line::length(span)),
        (None, false) => String::new(),
    };
    let order = match value_of(sweep, "--order=") {
        Some("random") => ", in random order",
        Some("abba") => ", in alternating order",
        _ => "",
    };
    let (what, rates) = (text(&varied(sweep, &points)), rates(sweep, &points));
    format!("{what}, {often}{length}{order}{engines}: {rates}.")
}

/// The I/O engines of the runs; `None` if not known for all points: the depth alone may change the engine.
fn engines(sweep: &Sweep, chosen: Option<&RunResult>) -> Option<String> {
    match engines::of_points(sweep, &with_runs(sweep)) {
        PointEngines::Same(words) | PointEngines::Mixed(words) => Some(words),
        PointEngines::Unknown => {
            let may_differ = |setting: &Setting| setting.is_depth() || setting.name == "engine";
            let is_known = !sweep.points.iter().flat_map(|point| &point.settings).any(may_differ);
            chosen.filter(|_| is_known).and_then(|result| engines::engines(result.time_spans.first()?))
        }
    }
}

/// Points with figures.
fn with_runs(sweep: &Sweep) -> Vec<usize> {
    (0..sweep.points.len()).filter(|point| stats::sweep::figures(sweep, *point).is_some()).collect()
}

/// The value of an option of the sweep itself.
fn value_of<'a>(sweep: &'a Sweep, option: &str) -> Option<&'a str> {
    sweep.own_words().find_map(|word| word.strip_prefix(option))
}

/// `6 queue depths (-o 1 to 32)`, `9 combinations of 3 block sizes (-b 4K to 64K) and 3 queue depths (-o 1 to 16)`
fn varied(sweep: &Sweep, points: &[usize]) -> String {
    let values = |index: usize| {
        let mut values: Vec<&str> = Vec::new();
        for setting in points.iter().filter_map(|point| sweep.points[*point].settings.get(index)) {
            if !values.contains(&setting.value.as_str()) {
                values.push(&setting.value);
            }
        }
        values
    };
    let all: Vec<(String, Vec<&str>)> =
        names(sweep).into_iter().enumerate().map(|(index, name)| (name, values(index))).collect();
    let each: Vec<String> = all.iter().map(|(name, values)| values_in_words(name, values)).collect();
    let combinations: usize = all.iter().map(|(_, values)| values.len()).product();
    match &each[..] {
        [] => counted(points.len(), "point"),
        [only] => only.clone(),
        _ if combinations == points.len() => format!("{} combinations of {}", points.len(), each.join(" and ")),
        _ => {
            let names: Vec<String> = all.iter().map(|(name, _)| dashed(name)).collect();
            format!("{} combinations of {}", points.len(), names.join(" and "))
        }
    }
}

/// `3 block sizes (-b 4K to 64K)`
fn values_in_words(name: &str, values: &[&str]) -> String {
    let dashed = Setting::dashed(name);
    let noun = match name {
        "b" => "block size".to_owned(),
        "o" | "O" => "queue depth".to_owned(),
        "t" | "F" => "number of threads".to_owned(),
        "files" => "number of files".to_owned(),
        Setting::TARGETS => "number of targets".to_owned(),
        Setting::TARGET | Setting::PATTERN => name.to_owned(),
        "rate" => "rate".to_owned(),
        _ => format!("value of {dashed}"),
    };
    let count = match values.len() {
        1 => format!("1 {noun}"),
        count if noun.contains(" of ") => format!("{count} {}", noun.replacen(" of ", "s of ", 1)),
        count => format!("{count} {noun}s"),
    };
    let are_numbers = values.iter().all(|value| value.starts_with(|first: char| first.is_ascii_digit()));
    let range = match values {
        [first, _, .., last] if are_numbers => format!("{first} to {last}"),
        all => all.join(", "),
    };
    format!("{count} ({dashed} {range})")
}

/// Lengths of runs that differ: `, probes of 3 s, confirming runs of 5 s`.
fn lengths(sweep: &Sweep) -> String {
    let length_range = |what: &str, is_it: fn(Purpose) -> bool| {
        let seconds = sweep.visits.iter().filter(|visit| is_it(visit.purpose)).filter_map(seconds);
        let seconds: Vec<f64> = seconds.collect();
        let (least, most) = (seconds.iter().copied().reduce(f64::min)?, seconds.into_iter().reduce(f64::max)?);
        let range = match [least, most].map(|seconds| trimmed(seconds, 1)) {
            [least, most] if least == most => most,
            [least, most] => format!("{least} to {most}"),
        };
        Some(format!(", {what} of {range} s"))
    };
    let probes =
        length_range("probes", |purpose| matches!(purpose, Purpose::Probe | Purpose::Again | Purpose::Measure));
    [probes, length_range("confirming runs", |purpose| purpose == Purpose::Confirm)].into_iter().flatten().collect()
}

/// The measured seconds of a run, as far as its figures show them.
fn seconds(visit: &Visit) -> Option<f64> {
    let run = visit.headline()?;
    (run.ios > 0 && run.iops > 0.0).then(|| run.ios as f64 / run.iops)
}

/// `20,305 to 83,500 IOPS`, with MiB/s where block sizes differ.
fn rates(sweep: &Sweep, points: &[usize]) -> String {
    let range = |of_values: Quantity, of: fn(&Headline) -> f64| {
        let values = || points.iter().filter_map(|point| stats::sweep::figures(sweep, *point)).map(of);
        let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        Some(quantity::range(&of_values.value(least), &of_values.value(most)))
    };
    let iops = range(Quantity::Iops, |figures| figures.iops);
    let is_by_bytes = stats::sweep::compared(sweep).by_bytes;
    let bytes = is_by_bytes.then(|| range(Quantity::MibPerS, |figures| mib(figures.bytes_per_s))).flatten();
    [iops, bytes].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `A search for the highest rate: 9 runs at 4 rates after one without a rate (83,308 IOPS), probes of 3 s`
fn of_search(sweep: &Sweep, found: &LimitFound) -> String {
    let runs = sweep.measured().count();
    let capacity = match found.capacity_iops {
        Some(iops) => format!(" after one without a rate (capacity {})", Quantity::Iops.value(iops)),
        None => String::new(),
    };
    format!(
        "A search for the highest rate: {} at {}{capacity}{}",
        counted(runs, "run"),
        counted(with_runs(sweep).len(), "rate"),
        lengths(sweep)
    )
}

/// `limit 99th percentile of the response time <= 20 ms (rates in I/Os per second): met at 64,194, missed at 72,293`
fn of_limits(sweep: &Sweep, found: &LimitFound) -> String {
    let limits = crate::words::limit::limits(&found.limits);
    let rate = |point: usize| text(&crate::words::limit::rate(sweep, point));
    let has_runs = |point: &usize| !stats::sweep::runs(sweep, *point).is_empty();
    let missed = found.fails.filter(has_runs).map(|point| format!("missed at {}", rate(point)));
    let parts = match (found.noise, found.holds) {
        (Some(noise), _) => {
            vec![format!("met in some runs and missed in others from {} to {}", rate(noise.first), rate(noise.last))]
        }
        (None, Some(holds)) if !found.is_confirmed => vec![format!("met at about {}, not confirmed", rate(holds))],
        (None, holds) => holds.map(|point| format!("met at {}", rate(point))).into_iter().chain(missed).collect(),
    };
    if parts.is_empty() {
        format!("limit {limits}")
    } else {
        format!("limit {limits} (rates in I/Os per second): {}", parts.join(", "))
    }
}

/// Trust in the answer: by the runs that decide it, and by their number.
fn trust(sweep: &Sweep) -> Trust {
    let mut trust = match &sweep.limit {
        Some(found) => in_search(sweep, found),
        None => Trust::in_runs(sweep.measured()),
    };
    if sweep.measured().next().is_none() {
        trust = Trust { tone: Tone::Bad, words: "No: no run has results.".to_owned() };
    }
    let failed = sweep.visits.iter().filter(|visit| visit.headline().is_none()).count();
    if failed > 0 {
        trust.tone = trust.tone.max(Tone::Warn);
        trust.words = format!("{} {failed} of {} failed.", trust.words, counted(sweep.visits.len(), "run"));
    }
    for words in [named_with_warnings(sweep), firmness(sweep)].into_iter().flatten() {
        trust.words = format!("{} {words}", trust.words);
    }
    trust
}

/// The points that the answer names with warnings, if some but not all runs have warnings.
fn named_with_warnings(sweep: &Sweep) -> Option<String> {
    if sweep.limit.is_some() || RunWarnings::from_runs(sweep.measured())?.of_all().is_some() {
        return None;
    }
    let is_warned = |point: &usize| RunWarnings::from_runs(super::runs_of(sweep, &[*point])).is_some();
    let warned: Vec<String> = named(sweep).into_iter().filter(is_warned).map(|point| typed(sweep, point)).collect();
    let has = if warned.len() == 1 { "has a run" } else { "have runs" };
    (!warned.is_empty()).then(|| format!("This concerns the answer: {} {has} with warnings.", warned.join(" and ")))
}

/// Points that the first answer names.
fn named(sweep: &Sweep) -> Vec<usize> {
    let mut points = match stats::sweep::across_blocks(sweep) {
        Some(across) => vec![across.most_bytes, across.most_iops],
        None => stats::sweep::recommended(sweep).into_iter().collect(),
    };
    points.dedup();
    points
}

fn is_once(sweep: &Sweep) -> bool {
    with_runs(sweep).iter().all(|point| stats::sweep::runs(sweep, *point).len() < 2)
}

/// Trust in the answer of a search.
fn in_search(sweep: &Sweep, found: &LimitFound) -> Trust {
    let runs = crate::words::limit::decisive(sweep, found);
    if runs.is_empty() {
        return Trust::in_runs(&runs);
    }
    let which = crate::words::limit::which_runs(sweep, found);
    // The basis of an estimate is all runs.
    let judged = |visit: &Visit| Some(without_overload(found, visit.point, visit.headline()?));
    let all = || sweep.visits.iter().filter(|visit| visit.is_of_point()).filter_map(judged).collect();
    let runs = if found.is_confirmed || found.noise.is_some() { runs } else { all() };
    let (is_firm, basis) = match (found.noise, found.is_confirmed) {
        (Some(_), _) => {
            (false, format!("no rate {which} can be named, because chance decides which run meets the limit"))
        }
        (None, true) => {
            let count = counted(runs.len(), "run");
            (true, format!("the {count} {which}, taken together, are on their side of the limit by more than chance"))
        }
        (None, false) => (
            false,
            "the rate is an estimate: runs near the limit do not show from which rate on it is missed".to_owned(),
        ),
    };
    Trust::in_answer(&runs, is_firm, &basis)
}

/// The certainty of the answer, apart from the verdicts of its runs.
fn firmness(sweep: &Sweep) -> Option<String> {
    if sweep.limit.is_some() {
        return None;
    }
    let once = "Each was run once: differences of a few percent may be chance.";
    match &sweep.depths[..] {
        [series] if !stats::sweep::is_doubtful(sweep, &series.points) => {
            let Knee { efficient, saturation } = series.knee.as_ref()?;
            how_sure(sweep, series, efficient, saturation).or_else(|| is_once(sweep).then(|| once.to_owned()))
        }
        _ => (is_once(sweep) && sweep.measured().next().is_some()).then(|| once.to_owned()),
    }
}

/// The next step.
struct Step {
    words: String,
    /// The command line; may be empty.
    command: String,
}

fn next(sweep: &Sweep, explain: Explain) -> Step {
    if let Some(found) = &sweep.limit {
        return after_search(sweep, found, explain);
    }
    let runs: Vec<&Headline> = sweep.measured().collect();
    if runs.is_empty() {
        let words = "Run it again: its error message says why it has no results.".to_owned();
        return Step { words, command: again(sweep, &[]) };
    }
    let concerns_answer = named_with_warnings(sweep).is_some();
    let remedy = if concerns_answer { remedy_of_any(&runs, explain) } else { remedy_of_runs(&runs, explain) };
    let (words, command) =
        more_depths(sweep).or_else(|| beyond(sweep)).unwrap_or_else(|| within(sweep, remedy.is_some()));
    Step { words: brief::after(remedy.as_deref(), &words), command }
}

/// The range to try next, if the range tried ends too early or has too few values.
fn beyond(sweep: &Sweep) -> Option<(String, String)> {
    let best = stats::sweep::best(sweep);
    let of_best = |points: &[usize]| best.is_some_and(|best| points.contains(&best));
    let (words, points) = if let Some(series) = sweep.depths.iter().find(|series| of_best(&series.points)) {
        (beyond_depths(sweep, series)?, &series.points)
    } else {
        let series = sweep.block_sizes.iter().find(|series| of_best(&series.points))?;
        (beyond_blocks(sweep, series)?, &series.points)
    };
    let (name, [first, last]) = only_varied(sweep, points)?;
    let unit = last.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let largest: u64 = last.strip_suffix(unit)?.parse().ok()?;
    let to = largest.checked_mul(NEXT_RANGE)?;
    // Single runs left open which of the smaller ones is best.
    let smallest = first.strip_suffix(unit).and_then(|first| first.parse().ok()).filter(|_| is_once(sweep));
    let from: u64 = smallest.unwrap_or(largest / 2).max(1);
    let range = format!("{from}{unit}..{to}{unit}*2");
    Some((words, with_range(sweep, name, &range)?))
}

/// A range with enough values, if there are too few queue depths to find the best one.
fn more_depths(sweep: &Sweep) -> Option<(String, String)> {
    let has_too_few = |series: &&DepthSeries| series.knee.is_none() && series.points.len() < stats::DEPTHS_MIN;
    let points = &sweep.depths.iter().find(has_too_few)?.points;
    let (name, [first, last]) = only_varied(sweep, points)?;
    let (smallest, largest): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    // Doubled until there are enough depths.
    let enough = smallest.checked_mul(1 << (stats::DEPTHS_MIN - 1))?;
    let range = format!("{smallest}..{}*2", largest.checked_mul(2)?.max(enough));
    let words = format!("Try more queue depths: at least {} are needed to find the best one.", stats::DEPTHS_MIN);
    Some((words, with_range(sweep, name, &range)?))
}

/// The sweep with another range of an option, several times if each point was run once.
fn with_range(sweep: &Sweep, name: &str, range: &str) -> Option<String> {
    let vary = format!("--vary={name}=");
    value_of(sweep, &vary)?;
    let runs = RUNS.to_string();
    let options = [(vary.as_str(), range), ("--runs=", &runs)];
    Some(again(sweep, if is_once(sweep) { &options } else { &options[..1] }))
}

fn beyond_depths(sweep: &Sweep, series: &DepthSeries) -> Option<String> {
    match series.knee.as_ref().map(|knee| &knee.saturation) {
        Some(Saturation::At { .. }) => None,
        Some(Saturation::StillRising { .. }) => Some(
            "If throughput matters most, try larger queue depths: throughput still rises at the largest one tried."
                .to_owned(),
        ),
        None => {
            let last = series.points.last().filter(|_| is_at_edge(sweep, &series.points))?;
            Some(format!(
                "Try larger queue depths: the largest one tried has the most throughput ({}).",
                typed(sweep, *last)
            ))
        }
    }
}

fn beyond_blocks(sweep: &Sweep, series: &BlockSeries) -> Option<String> {
    let larger = match series.knee {
        Some(BlockKnee::StillRising { .. }) => "throughput still rises at the largest size tried",
        None if is_at_edge(sweep, &series.points) => "the largest size tried has the most throughput",
        Some(BlockKnee::At { .. }) | None => return None,
    };
    Some(format!("Try larger blocks: {larger}."))
}

/// True if the last of several points has the most throughput.
pub(crate) fn is_at_edge(sweep: &Sweep, points: &[usize]) -> bool {
    let bytes = |point: &usize| stats::sweep::figures(sweep, *point).map(|figures| figures.bytes_per_s);
    let most = points.iter().copied().max_by(|a, b| bytes(a).unwrap_or(0.0).total_cmp(&bytes(b).unwrap_or(0.0)));
    points.len() > 1 && most == points.last().copied()
}

/// The only option that varies among points, and its values at the first and the last of them: `o`, `1`, `32`.
fn only_varied<'a>(sweep: &'a Sweep, points: &[usize]) -> Option<(&'a str, [&'a str; 2])> {
    let settings = |point: &usize| sweep.points[*point].settings.iter();
    let first = points.first()?;
    let mut varied =
        settings(first).filter(|setting| points.iter().any(|point| !settings(point).any(|s| s == *setting)));
    let (Setting { name, value, .. }, None) = (varied.next()?, varied.next()) else { return None };
    let last = settings(points.last()?).find(|setting| setting.name == *name)?;
    Some((name, [value, &last.value]))
}

/// The next step if the range tried was wide enough.
fn within(sweep: &Sweep, is_doubtful: bool) -> (String, String) {
    if is_once(sweep) {
        let words = match &sweep.depths[..] {
            [DepthSeries { knee: Some(Knee { efficient, .. }), .. }] if efficient.low != efficient.high => format!(
                "Run each queue depth {RUNS} times to narrow the range from {} to {}.",
                efficient.low, efficient.high
            ),
            _ => format!("Run each {RUNS} times, to tell differences from chance."),
        };
        return (words, again(sweep, &[("--runs=", &RUNS.to_string())]));
    }
    if is_doubtful {
        return ("Run the sweep again.".to_owned(), again(sweep, &[]));
    }
    match stats::sweep::recommended(sweep).filter(|_| range_of_load(sweep).is_none()) {
        Some(point) => {
            let typed = typed(sweep, point);
            (format!("Run the load with {typed} for long, to see whether it stays as fast."), long_run(sweep, point))
        }
        None => ("Run the same sweep after changes to the system, and compare.".to_owned(), again(sweep, &[])),
    }
}

fn after_search(sweep: &Sweep, found: &LimitFound, explain: Explain) -> Step {
    let runs = crate::words::limit::decisive(sweep, found);
    let causes = RunWarnings::from_runs(&runs).map(|doubt| doubt.causes).unwrap_or_default();
    let is_limited = causes.first().is_some_and(|(name, _)| name == "depth-limited");
    let varies = found.noise.is_some() || (found.holds.is_some() && !found.is_confirmed);
    let next = TypedCommand::of_method("sweep", sweep);
    let next = if varies { with_longer_runs(next, sweep) } else { next };
    let longer = if varies { " with longer runs" } else { "" };
    if let Some((more, next)) = is_limited.then(|| with_more_outstanding(&next)).flatten() {
        let words = format!(
            "Allow more outstanding I/Os (-o{more}) and search again{longer}: response times include the wait for a free \
             request (depth-limited).",
        );
        return Step { words, command: next.command() };
    }
    let remedy = remedy_of_runs(&runs.iter().collect::<Vec<_>>(), explain);
    if remedy.is_some() {
        let words = brief::after(remedy.as_deref(), &format!("Search again{longer}."));
        return Step { words, command: next.command() };
    }
    match found.holds {
        _ if varies => {
            let words = "Find out why runs at the same rate differ, or search again with longer runs.".to_owned();
            Step { words, command: next.command() }
        }
        Some(point) => {
            let words = "Run the load at this rate for long: it may not hold once caches are full.".to_owned();
            Step { words, command: long_run(sweep, point) }
        }
        None => {
            let words =
                "Find out what delays the I/Os at the lowest rate tried, or search with a larger --limit.".to_owned();
            Step { words, command: found.fails.map(|point| long_run(sweep, point)).unwrap_or_default() }
        }
    }
}

/// The command of the sweep with other values of some of its own options: `--runs=`, `5`.
fn again(sweep: &Sweep, options: &[(&str, &str)]) -> String {
    let again = TypedCommand::of_method("sweep", sweep);
    let again = options.iter().fold(again, |again, (option, value)| again.with_own(option, value));
    // A search has lengths of its own.
    let (longer, _) = again.clone().of_a_minute(sweep.measured());
    if sweep.limit.is_some() { again.command() } else { longer.command() }
}

/// True if an argument is this option with a number.
fn is_number_of(word: &str, option: &str) -> bool {
    word.strip_prefix(option).is_some_and(|value| value.starts_with(|first: char| first.is_ascii_digit()))
}

/// One run of a point, long enough to confirm its figures; empty if it has no command line.
fn long_run(sweep: &Sweep, point: usize) -> String {
    let mut settings: Vec<String> = sweep.points[point].settings.iter().map(Setting::typed).collect();
    if !settings.iter().any(|setting| is_number_of(setting, "-d")) {
        settings.push(format!("-d{LONG_RUN_S}"));
    }
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    TypedCommand::of_load(sweep).with(&settings).map(|again| again.command()).unwrap_or_default()
}

/// With longer confirming runs, and with an explicit length of probes, which would otherwise become as long.
fn with_longer_runs(again: TypedCommand, sweep: &Sweep) -> TypedCommand {
    let confirm = value_of(sweep, "--confirm=").and_then(|time| time.strip_suffix('s')?.parse::<u64>().ok());
    let confirm = confirm.map_or(CONFIRM_S, |seconds| seconds.saturating_mul(4).max(CONFIRM_S));
    let probe = value_of(sweep, "--probe=").and_then(|time| time.strip_suffix('s')?.parse::<u64>().ok());
    let probe = probe.unwrap_or(0).max(PROBE_S);
    again.with_own("--probe=", &format!("{probe}s")).with_own("--confirm=", &format!("{confirm}s"))
}

/// Another number of outstanding I/Os, and the search with it; `None` if threads share theirs.
fn with_more_outstanding(again: &TypedCommand) -> Option<(u64, TypedCommand)> {
    if !again.lacks("-O") {
        return None;
    }
    let now = again.load().iter().find(|word| is_number_of(word, "-o"));
    let more = now.map_or(Some(OUTSTANDING), |word| word[2..].parse().ok())?.checked_mul(MORE_OUTSTANDING)?;
    Some((more, again.clone().with(&[&format!("-o{more}")])?))
}

fn typed(sweep: &Sweep, point: usize) -> String {
    text(&Setting::typed_all(&sweep.points[point].settings))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{add, of_depths};
    use super::*;
    use model::finding::Severity;
    use model::limit::Limit;
    use model::metric::{Metric, Scope};

    /// A sweep over all combinations of values, with throughput that rises with each of them.
    fn grid(words: &str, axes: [(&str, &[&str]); 2], severity: Severity) -> Sweep {
        let mut sweep = Sweep { words: words.split(' ').map(str::to_owned).collect(), ..Sweep::default() };
        let [(across, columns), (up, rows)] = axes;
        for (row, first) in rows.iter().enumerate() {
            for (column, second) in columns.iter().enumerate() {
                let (bytes, depth) = (4096.0 * (row + 1) as f64, 1 << column);
                let settings = [(up, *first), (across, *second)];
                add(&mut sweep, &settings, (bytes, depth, 1e4 * (column + 1) as f64), severity);
            }
        }
        stats::sweep::conclude(&mut sweep);
        sweep
    }

    fn search(holds: Option<usize>, is_confirmed: bool, warnings: &[&str]) -> Sweep {
        let words = "--limit=p99=20ms --probe=3s --confirm=5s -- -b4K -o32 -d5 -W1 a.dat";
        let mut sweep = Sweep { words: words.split(' ').map(str::to_owned).collect(), ..Sweep::default() };
        for rate in ["1000", "2000"] {
            let severity = if warnings.is_empty() { Severity::Note } else { Severity::Warn };
            add(&mut sweep, &[("rate", rate)], (4096.0, 32, rate.parse().expect("a rate")), severity);
            let visit = sweep.visits.last_mut().expect("a run");
            visit.purpose = Purpose::Confirm;
            let model::sweep::VisitOutcome::Measured { headline, .. } = &mut visit.outcome else { panic!("a run") };
            headline.warnings = warnings.iter().map(|name| (*name).to_owned()).collect();
        }
        let limits = vec![Limit { figure: Metric::P99, scope: Scope::Response, at_most: 20e6 }];
        let found = LimitFound { limits, holds, fails: Some(1), is_confirmed, ..LimitFound::default() };
        Sweep { limit: Some(found), ..sweep }
    }

    fn are_sentences(row: &str, ends: &str) -> bool {
        row.ends_with(|end| ends.contains(end)) && !row.contains("  ") && !row.contains("..")
    }

    /// Each row of the brief has text, and the command continues what was typed.
    #[test]
    fn every_sweep_has_four_answers_and_a_next_command() {
        let typed = |mut sweep: Sweep, words: &str| {
            sweep.words = words.split(' ').map(str::to_owned).collect();
            sweep
        };
        let depths = "--vary=o=1..32*2 --order=random -- -b4K -d10 a.dat";
        let by_size = "--vary=b=4K,16K,64K --vary=o=1,4,16 -- -r -d4 a.dat";
        let sizes: &[&str] = &["4K", "16K", "64K"];
        for (sweep, measured, next) in [
            (
                typed(of_depths(Severity::Note), depths),
                "6 queue depths (-o 1 to 32), each once, in random order: 10,000 to 36,000 IOPS.",
                "diskspd sweep '--vary=o=1..32*2' --order=random --runs=5 -- -b4K -d10 a.dat",
            ),
            (
                grid(by_size, [("o", &["1", "4", "16"]), ("b", sizes)], Severity::Note),
                "9 combinations of 3 block sizes (-b 4K to 64K) and 3 queue depths (-o 1 to 16), each once: 10,000 to 30,000 \
                 IOPS, 39.1 to 352 MiB/s.",
                "diskspd sweep --vary=b=4K,16K,64K '--vary=o=1..32*2' --runs=5 -- -r -d4 a.dat",
            ),
            (
                grid(
                    "--vary=w=0,50 --vary=r=1,2 -- -d4 a.dat",
                    [("w", &["0", "50"]), ("n", &["1", "2"])],
                    Severity::Warn,
                ),
                "4 combinations of 2 values of -n (-n 1, 2) and 2 values of -w (-w 0, 50), each once: 10,000 to 20,000 IOPS.",
                "diskspd sweep --vary=w=0,50 --vary=r=1,2 --runs=5 -- -d4 a.dat",
            ),
            (
                search(Some(0), true, &[]),
                "A search for the highest rate: 2 runs at 2 rates; limit 99th percentile of the response time <= 20 ms \
                 (rates in I/Os per second): met at 1,000, missed at 2,000.",
                "diskspd --rate=1000 -b4K -o32 -d600 -W1 a.dat",
            ),
            (
                search(Some(0), true, &["depth-limited"]),
                "A search for the highest rate: 2 runs at 2 rates; limit 99th percentile of the response time <= 20 ms \
                 (rates in I/Os per second): met at 1,000, missed at 2,000.",
                "diskspd sweep --limit=p99=20ms --probe=3s --confirm=5s -- -b4K -o128 -d5 -W1 a.dat",
            ),
            (
                search(Some(0), false, &[]),
                "A search for the highest rate: 2 runs at 2 rates; limit 99th percentile of the response time <= 20 ms \
                 (rates in I/Os per second): met at about 1,000, not confirmed.",
                "diskspd sweep --limit=p99=20ms --probe=10s --confirm=60s -- -b4K -o32 -d5 -W1 a.dat",
            ),
            (
                search(None, true, &["steal"]),
                "A search for the highest rate: 2 runs at 2 rates; limit 99th percentile of the response time <= 20 ms \
                 (rates in I/Os per second): missed at 2,000.",
                "diskspd sweep --limit=p99=20ms --probe=3s --confirm=5s -- -b4K -o32 -d5 -W1 a.dat",
            ),
            (
                Sweep { limit: None, ..search(None, false, &[]) },
                "Part of a search for the highest rate: 2 runs at 2 rates.",
                "diskspd sweep --resume results",
            ),
            (
                typed(Sweep::default(), depths),
                "Nothing: no run has results.",
                "diskspd sweep '--vary=o=1..32*2' --order=random -- -b4K -d10 a.dat",
            ),
        ] {
            let brief = in_brief(&sweep, None, ("results", |_| None));
            assert_eq!((brief.measured.as_str(), brief.command.as_str()), (measured, next));
            let rows = [&brief.measured, &brief.on, &brief.trust.words];
            assert!(rows.iter().all(|row| are_sentences(row, ".")) && are_sentences(&brief.next, ".:"), "{brief:?}");
        }
    }

    #[test]
    fn too_few_depths_lead_to_a_range_with_enough() {
        let next_command = |depths: &[&str]| {
            let sizes: &[&str] = &["4K", "64K"];
            let words = format!("--vary=b=4K,64K --vary=o={} -- -r -d4 a.dat", depths.join(","));
            more_depths(&grid(&words, [("o", depths), ("b", sizes)], Severity::Note)).map(|(_, command)| command)
        };
        let next =
            |range: &str| Some(format!("diskspd sweep --vary=b=4K,64K '--vary=o={range}' --runs=5 -- -r -d4 a.dat"));
        assert_eq!((next_command(&["1", "4", "16"]), next_command(&["2", "4"])), (next("1..32*2"), next("2..32*2")));
        assert_eq!(next_command(&["1", "2", "4", "8", "16"]), None, "these are enough");
    }

    #[test]
    fn trust_names_the_range_and_a_winner_with_warnings() {
        let sound = trust(&of_depths(Severity::Note));
        assert!(sound.words.contains("the efficient depth lies between 2 and 4"), "{}", sound.words);
        let mut sweep = of_depths(Severity::Note);
        let model::sweep::VisitOutcome::Measured { headline, .. } = &mut sweep.visits[2].outcome else {
            panic!("a run")
        };
        (headline.severity, headline.warnings) = (Some(Severity::Warn), vec!["steal".to_owned()]);
        let doubtful = trust(&sweep);
        assert!(
            doubtful.words.contains("This concerns the answer: -o4 has a run with warnings."),
            "{}",
            doubtful.words
        );
        let Step { words, .. } = next(&sweep, |_| None);
        assert!(words.starts_with("Remove the cause of steal. Then run each"), "{words}");
    }
}
