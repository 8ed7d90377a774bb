//! The load on one line: `8 KiB random 70/30 read/write, QD 16 (2 threads x 8), O_DIRECT + O_DSYNC, 1 GiB file on ext4
//! on vda (virtio, 256 GiB)`.
//!
//! A view of the profile and of the known facts of its targets: unknown ones are left out.

mod io;
mod place;
#[cfg(test)]
mod tests;

use crate::words::{limit, sweep};
pub(crate) use io::IoParts;
use model::by_path::ByPath;
use model::environment::TargetEnvironment;
use model::facts::TargetFacts;
use model::fleet::few_names;
use model::limit::Limit;
use model::plan::TimeSpanPlan;
use model::printable::printable;
use model::profile::{EndAfter, OfferedRate, RateProcess, Target, TimeSpan};
use model::result::{Measured, RunResult};
use model::sweep::{Setting, Sweep};
use model::units::counted;
use std::collections::BTreeSet;

/// Different loads of one timespan that are written out; the others are counted.
const LOADS_MAX: usize = 8;

/// Different places of targets with the same load that are written out; the others are counted.
const PLACES_MAX: usize = 3;

/// Values of a varied setting that are written out.
const VALUES_MAX: usize = 10;

/// Known facts of the targets of a timespan, beside its profile.
#[derive(Clone, Debug)]
pub struct KnownTargets<'a> {
    /// The state before the run.
    pub facts: ByPath<'a, TargetFacts>,
    /// The storage below each target.
    pub environments: ByPath<'a, TargetEnvironment>,
    /// Their planned use.
    pub plan: Option<&'a TimeSpanPlan>,
    /// The measured figures: they include the sizes.
    pub measured: Option<&'a Measured>,
    /// True if `DiskSpd` ran the profile on Windows.
    pub is_windows: bool,
    /// True if a search sets the rate, so that the depth is a bound as in any open loop.
    pub is_rate_searched: bool,
}

impl<'a> KnownTargets<'a> {
    /// The facts in a result about the targets of one of its timespans.
    fn of_result(result: &'a RunResult, time_span: usize) -> Self {
        Self {
            facts: ByPath::new(&result.targets.facts),
            environments: ByPath::new(&result.targets.environments),
            plan: result.plan.as_ref().and_then(|plan| plan.time_spans.get(time_span)),
            measured: result.time_spans.get(time_span).and_then(|span| span.measured.as_ref()),
            is_windows: result.tool.implementation.is_none(),
            is_rate_searched: false,
        }
    }
}

/// The load of a whole result. If timespans differ, the first represents all: each of their own sections begins with
/// [`of_time_span`].
pub fn of_result(result: &RunResult) -> String {
    let spans = &result.profile.time_spans;
    of_lines((0..spans.len()).map(|index| of_time_span(result, index)))
}

/// The load of timespans, of which each has its line.
pub fn of_lines(lines: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<String> = lines.into_iter().collect();
    let Some(first) = lines.first() else { return "no load".to_owned() };
    let different = lines.iter().collect::<BTreeSet<_>>().len();
    match lines.len() {
        1 => first.clone(),
        count if different == 1 => format!("{count} timespans, each: {first}"),
        count if different == count => format!("{count} timespans with different loads; the first: {first}"),
        count => format!("{count} timespans with {different} different loads; the first: {first}"),
    }
}

/// The load of a sweep, and the options that its points vary; the command line as typed, if the load was not kept.
pub fn of_sweep(sweep: &Sweep) -> String {
    if sweep.load.is_empty() {
        return printable(&sweep.words.join(" ")).into_owned();
    }
    let varied: Vec<String> = sweep::names(sweep).iter().map(|name| sweep::dashed(name)).collect();
    let with_values = || varied.iter().enumerate().map(|(index, name)| format!("{name} ({})", values(sweep, index)));
    match varied.len() {
        0 => sweep.load.clone(),
        // It began without a rate.
        1 if let Some(found) = &sweep.limit => of_search(&sweep.load, &found.limits),
        1 if limit::is_unfinished(sweep) => {
            let limits: Vec<&str> = limit::typed(sweep).collect();
            printable(&format!("{}; searched: highest --rate with {}; not ended", sweep.load, limits.join(" and ")))
                .into_owned()
        }
        // It names the streams.
        1 if varied[0] == Setting::STREAM => sweep.load.clone(),
        // The sides of pairs, which may differ in any options.
        1 if varied[0] == Setting::SIDE => printable(&format!("side A: {}", sweep.load)).into_owned(),
        _ => {
            let varied = with_values().collect::<Vec<_>>().join(", ");
            printable(&format!("first point: {}; varied: {varied}", sweep.load)).into_owned()
        }
    }
}

/// The load of a search for the highest rate within limits.
pub fn of_search(load: &str, limits: &[Limit]) -> String {
    printable(&format!("{load}; searched: highest --rate with {}", limit::limits(limits))).into_owned()
}

/// The values of the setting with this index: `1, 2, 4`; of many the first and the last: `1, 2, 3, ... 64; 64 values`.
/// All that are planned; of an open range (`o=1..`), once it has begun, those that were tried.
fn values(sweep: &Sweep, index: usize) -> String {
    let is_planned = sweep.visits.is_empty() || !is_open(sweep);
    let is_tried = |point: usize| is_planned || sweep.visits.iter().any(|visit| visit.point == point);
    let points = sweep.points.iter().enumerate().filter(|(point, _)| is_tried(*point));
    let mut values: Vec<&str> = Vec::new();
    for value in points.filter_map(|(_, point)| point.settings.get(index)).map(|setting| setting.value.as_str()) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    match &values[..] {
        [first, second, third, .., last] if values.len() > VALUES_MAX => {
            format!("{first}, {second}, {third}, ... {last}; {} values", values.len())
        }
        all => all.join(", "),
    }
}

/// True if a range that is varied has no end: `--vary=o=1..`, `--vary=o=1..*2`.
fn is_open(sweep: &Sweep) -> bool {
    let ranges = sweep.own_words().filter_map(|word| word.strip_prefix("--vary="));
    let mut ends = ranges.filter_map(|range| range.rsplit_once("..")).map(|(_, end)| end);
    ends.any(|end| end.is_empty() || end.starts_with(['*', '/']))
}

/// The load of a sweep, and the run length if one run is known. A search for a rate has runs of several lengths.
pub fn of_runs(sweep: &Sweep, example: Option<&RunResult>) -> String {
    let load = of_sweep(sweep);
    let is_varied = sweep::names(sweep).iter().any(|name| matches!(name.as_str(), "d" | "W"));
    let span = example.and_then(|result| result.profile.time_spans.first());
    let is_search = sweep.limit.is_some() || limit::is_unfinished(sweep);
    let span = span.filter(|_| !is_search && !is_varied);
    span.map_or_else(|| load.clone(), |span| format!("{load}; each run: {}", length(span)))
}

/// The storage below a target: `on ext4 on vda (virtio, 256 GiB)`; `None` if unknown.
pub fn storage(environment: &TargetEnvironment) -> Option<String> {
    place::file_system(environment)
}

/// The length of a timespan: `60 s after a warm-up of 5 s`.
pub fn length(span: &TimeSpan) -> String {
    let most = if span.end_after == EndAfter::default() { "" } else { "at most " };
    match span.warm_up_s {
        0 => format!("{most}{} s, no warm-up", span.duration_s),
        warm_up_s => format!("{most}{} s after a warm-up of {warm_up_s} s", span.duration_s),
    }
}

/// The loads of results that are compared: one line if they are the same, else one for each, with its name.
pub fn of_sides<'a>(sides: impl Iterator<Item = (&'a str, Option<&'a RunResult>)>) -> Vec<String> {
    let lines = sides.filter_map(|(name, result)| Some((name, of_result(result?))));
    let lines: Vec<(&str, String)> = lines.collect();
    match &lines[..] {
        [] => Vec::new(),
        [(_, first), others @ ..] if others.iter().all(|(_, line)| line == first) => vec![first.clone()],
        _ => lines.iter().map(|(name, line)| printable(&format!("{name}: {line}")).into_owned()).collect(),
    }
}

/// The load of one timespan of a result, by its index; that of several hosts begins with them: `2 hosts: h1, h2: `.
pub fn of_time_span(result: &RunResult, index: usize) -> String {
    let span = result.profile.time_spans.get(index);
    let line =
        span.map_or_else(|| "unknown load".to_owned(), |span| load_line(span, &KnownTargets::of_result(result, index)));
    let Some(fleet) = &result.fleet else { return line };
    let names: Vec<&str> = fleet.names().collect();
    printable(&format!("{}: {}: {line}", counted(names.len(), "host"), few_names(&names))).into_owned()
}

/// The load of one timespan of a result without its places and caches: `8 KiB random 70/30 read/write, QD 16`.
pub fn short(result: &RunResult, index: usize) -> String {
    let Some(span) = result.profile.time_spans.get(index) else { return "unknown load".to_owned() };
    let known = KnownTargets::of_result(result, index);
    let groups = groups(span, &known);
    let Some(first) = groups.first() else { return "no target".to_owned() };
    let access = io::words(span, first.target, known.is_windows).access;
    let requests = || groups.iter().filter_map(|group| group.requests(span)).fold(0, u64::saturating_add);
    let depth = shared_requests(span).unwrap_or_else(requests);
    let others =
        if groups.len() > 1 { format!(" and {}", counted(groups.len() - 1, "other load")) } else { String::new() };
    let hosts = result.fleet.as_ref().map(|fleet| format!("{}, each ", counted(fleet.names().count(), "host")));
    let rate = span.rate_iops.map(|rate| format!(" {}", rate_words(rate))).unwrap_or_default();
    let hosts = hosts.unwrap_or_default();
    printable(&format!("{hosts}{access}{others}{rate}, QD {depth}")).into_owned()
}

/// The I/Os of each target, each kind once.
pub(crate) fn kinds_of_io(span: &TimeSpan, is_windows: bool) -> Vec<IoParts> {
    let mut kinds: Vec<IoParts> = Vec::new();
    for target in &span.targets {
        let parts = io::parts(span, target, is_windows);
        if !kinds.contains(&parts) {
            kinds.push(parts);
        }
    }
    kinds
}

/// I/Os that all threads of a timespan have outstanding at most, by its profile.
pub(crate) fn total_depth(result: &RunResult, index: usize) -> Option<u64> {
    let span = result.profile.time_spans.get(index)?;
    let groups = groups(span, &KnownTargets::of_result(result, index));
    shared_requests(span).or_else(|| groups.iter().map(|group| group.requests(span)).sum())
}

/// The load of a timespan.
pub fn load_line(span: &TimeSpan, known: &KnownTargets<'_>) -> String {
    let groups = groups(span, known);
    let mut common: Vec<String> =
        of_all_threads(span).into_iter().chain(shared_depth(span, known, groups.len())).collect();
    let is_one_place = groups.len() > 1 && is_in_the_same_places(span, known, &groups);
    if is_one_place {
        common.extend(groups.first().and_then(|group| group.places(span, known)));
    }
    let line = match &groups[..] {
        [] => "no target".to_owned(),
        [only] => only.line(span, known, &common, true),
        _ => {
            let mut parts: Vec<String> =
                groups.iter().take(LOADS_MAX).map(|g| g.line(span, known, &[], !is_one_place)).collect();
            if groups.len() > LOADS_MAX {
                parts.push(format!("and {}", counted(groups.len() - LOADS_MAX, "other load")));
            }
            if !common.is_empty() {
                parts.push(format!("all: {}", common.join(", ")));
            }
            parts.join("; ")
        }
    };
    printable(&line).into_owned()
}

/// Targets that differ in nothing but their paths.
struct Group<'a> {
    target: &'a Target,
    /// Their places in the timespan.
    indices: Vec<usize>,
}

fn groups<'a>(span: &'a TimeSpan, known: &KnownTargets<'_>) -> Vec<Group<'a>> {
    let mut groups = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        let words = (&target.stream, io::words(span, target, known.is_windows), own_depth(span, target));
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, Group { indices, .. })) => indices.push(index),
            None => groups.push((words, Group { target, indices: vec![index] })),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Group<'_> {
    /// The places of its targets.
    fn places(&self, span: &TimeSpan, known: &KnownTargets<'_>) -> Option<String> {
        place::joined(self.indices.iter().map(|index| place::locate(span, *index, known)), PLACES_MAX)
    }

    /// Its load, with what all loads of the timespan have in common, and perhaps where its targets are.
    fn line(&self, span: &TimeSpan, known: &KnownTargets<'_>, common: &[String], has_places: bool) -> String {
        let io = io::words(span, self.target, known.is_windows);
        let places = has_places.then(|| self.places(span, known)).flatten();
        let own = [self.depth(span, known), Some(io.caches), io.content, io.limit, places].into_iter().flatten();
        let name = self.target.stream.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        [format!("{name}{}", io.access)]
            .into_iter()
            .chain(common.iter().cloned())
            .chain(own)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Outstanding I/Os of all its threads; `None` if they are those of all targets.
    fn requests(&self, span: &TimeSpan) -> Option<u64> {
        let Depth { threads, each } = own_depth(span, self.target);
        let targets = self.indices.len() as u64;
        let total = u64::from(threads).saturating_mul(each.into()).saturating_mul(targets);
        (!shares_requests(span)).then_some(total)
    }

    /// `QD 16 (2 threads x 8)`; nothing if its requests are those of all targets.
    fn depth(&self, span: &TimeSpan, known: &KnownTargets<'_>) -> Option<String> {
        let Depth { threads, each } = own_depth(span, self.target);
        let targets = self.indices.len() as u64;
        let total = self.requests(span)?;
        let threads_in_words = counted(threads, "thread");
        let in_parts = match targets {
            1 => format!("{threads_in_words} x {each}"),
            _ if span.thread_count > 0 => format!("{threads_in_words} x {targets} targets x {each}"),
            _ => format!("{targets} targets x {threads_in_words} x {each}"),
        };
        Some(format!("{}QD {total} ({in_parts})", at_most(span, known)))
    }
}

/// True if all loads have the same parts of the same files or devices, as streams often have.
fn is_in_the_same_places(span: &TimeSpan, known: &KnownTargets<'_>, groups: &[Group<'_>]) -> bool {
    let paths = |group: &Group<'_>| {
        let mut paths: Vec<_> =
            group.indices.iter().filter_map(|index| Some(&span.targets.get(*index)?.path)).collect();
        paths.sort();
        paths
    };
    let places = |group: &Group<'_>| (paths(group), group.places(span, known));
    groups.windows(2).all(|pair| places(&pair[0]) == places(&pair[1]))
}

/// Threads of one target, and the I/Os that each has outstanding on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Depth {
    threads: u32,
    each: u32,
}

fn own_depth(span: &TimeSpan, target: &Target) -> Depth {
    let threads = match target.thread_targets.len() {
        listed @ 1.. if span.thread_count > 0 => u32::try_from(listed).unwrap_or(u32::MAX),
        _ => span.threads_on(target),
    };
    Depth { threads, each: if is_one_at_a_time(span) { target.outstanding.min(1) } else { target.outstanding } }
}

/// True if a thread issues one I/O after the other, regardless of the requested depth.
fn is_one_at_a_time(span: &TimeSpan) -> bool {
    match span.engine {
        Some(engine) => engine.is_one_at_a_time(),
        None => span.io_ring.is_none() && span.targets.iter().all(|target| target.memory_mapped),
    }
}

/// True if the requests of a thread serve several targets: those of a pool, or the only one that it has.
fn shares_requests(span: &TimeSpan) -> bool {
    span.is_pool_with_requests() || (span.thread_count > 0 && span.targets.len() > 1 && is_one_at_a_time(span))
}

/// In an open loop the depth is a bound.
fn at_most(span: &TimeSpan, known: &KnownTargets<'_>) -> &'static str {
    if span.rate_iops.is_some() || span.replay.is_some() || known.is_rate_searched { "at most " } else { "" }
}

/// The threads that all targets share.
fn shared_depth(span: &TimeSpan, known: &KnownTargets<'_>, loads: usize) -> Option<String> {
    let total = shared_requests(span)?;
    let requests = requests_of_thread(span);
    let over = match span.targets.len() {
        1 => String::new(),
        targets if loads == 1 => format!(" over {targets} targets"),
        _ => " over all targets".to_owned(),
    };
    let weighted = if span.is_pool_with_requests() && has_weights(span) { " by weight" } else { "" };
    let threads = counted(span.thread_count, "thread");
    Some(format!("{}QD {total} ({threads} x {requests}{over}{weighted})", at_most(span, known)))
}

/// Requests of all threads, if they serve all targets.
fn shared_requests(span: &TimeSpan) -> Option<u64> {
    shares_requests(span).then(|| u64::from(span.thread_count).saturating_mul(requests_of_thread(span).into()))
}

fn requests_of_thread(span: &TimeSpan) -> u32 {
    if is_one_at_a_time(span) { 1 } else { span.request_count }
}

fn has_weights(span: &TimeSpan) -> bool {
    let mut targets = span.targets.iter();
    let first = targets.next().map(|target| target.weight);
    targets.any(|target| Some(target.weight) != first)
        || span.targets.iter().any(|target| target.thread_targets.iter().any(|listed| listed.weight > 0))
}

/// Settings of the threads of all targets.
fn of_all_threads(span: &TimeSpan) -> Vec<String> {
    let rate = span.rate_iops.map(|rate| {
        let process = match span.rate_process.unwrap_or_default() {
            RateProcess::Constant | RateProcess::Trace => String::new(),
            RateProcess::Poisson => " (Poisson)".to_owned(),
            process @ RateProcess::Bursts(_) => format!(" ({process})"),
        };
        format!("open loop {}{process}", rate_words(rate))
    });
    let flush = span.flushes().map(|(writes, call)| match writes {
        0 | 1 => format!("{} after each write", call.name()),
        _ => format!("{} after every {writes} writes of a thread", call.name()),
    });
    [rate, flush].into_iter().flatten().collect()
}

fn rate_words(rate: OfferedRate) -> String {
    match rate {
        OfferedRate::Steady(iops) => format!("at {iops} IOPS"),
        OfferedRate::Ramp { from_iops, to_iops } => format!("from {from_iops} to {to_iops} IOPS"),
    }
}

/// A size without rounding: `8 KiB`, `1536 KiB`, `513 B`.
fn size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 5] = [(50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = UNITS.into_iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    whole.map_or_else(|| format!("{bytes} B"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}
