//! Checks of a profile that need no machine.
//!
//! All faults are collected, in the order in which `DiskSpd` reports them. Checks against the
//! machine's CPUs, and limits on how many threads, targets and intervals a run may have, belong to
//! the planner.

mod distribution;
mod target;

use crate::engine_kind::EngineKind;
use crate::limits::{COMPLETION_DEPTH_MAX, OUTSTANDING_MAX};
use crate::operation::Operation;
use crate::printable::{REPEATED_CHARACTERS_MAX, clipped};
use crate::profile::{BypassIo, Profile, RateProcess, Target, Throughput, TimeSpan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Use of the checked profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be shown (`-Rp`): templates and targets of other systems are allowed.
    Show,
    /// To be run.
    Run,
}

/// Faults of a profile: whole sentences without a prefix or full stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// With one of these, nothing is run or shown.
    pub errors: Vec<String>,
    /// Faults to report, which prevent nothing.
    pub warnings: Vec<String>,
}

/// Checks a whole profile.
///
/// A target that differs from the one before it in nothing but its path, as on a command line, is
/// not reported again. Messages name timespan and target where there are several.
pub fn validate(profile: &Profile, purpose: Purpose) -> Findings {
    let mut findings = Findings::default();
    if profile.time_spans.is_empty() {
        findings.errors.push("the profile has no timespan; at least one is needed".to_owned());
    }
    let several = profile.time_spans.len() > 1;
    for (index, span) in profile.time_spans.iter().enumerate() {
        let place = if several { format!("timespan {}: ", index + 1) } else { String::new() };
        check_time_span(span, purpose, &mut Report { findings: &mut findings, place });
    }
    findings
}

/// The findings so far, with the place that messages name.
struct Report<'a> {
    findings: &'a mut Findings,
    place: String,
}

impl Report<'_> {
    fn error(&mut self, message: impl AsRef<str>) {
        self.findings.errors.push(format!("{}{}", self.place, message.as_ref()));
    }

    fn warning(&mut self, message: impl AsRef<str>) {
        self.findings.warnings.push(format!("{}{}", self.place, message.as_ref()));
    }

    fn at_target(&mut self, target: &Target) -> Report<'_> {
        let stream = target.stream.as_ref().map(|name| format!("stream '{name}', ")).unwrap_or_default();
        let path = target.path.to_string_lossy();
        let place = format!("{}{stream}target '{}': ", self.place, clipped(&path, REPEATED_CHARACTERS_MAX));
        Report { place, findings: self.findings }
    }
}

fn check_time_span(span: &TimeSpan, purpose: Purpose, report: &mut Report<'_>) {
    check_completion_depth(span, report);
    check_affinity(span, report);
    check_flushes(span, report);
    check_verification(span, report);
    if span.io_ring.is_some() && span.completion_routines {
        report.error("IoRing (-u) cannot be used with completion routines (-x)");
    }
    if span.request_count > OUTSTANDING_MAX {
        report.error(format!("{} outstanding I/Os (-O) exceed the maximum {OUTSTANDING_MAX}", span.request_count));
    }
    check_times(span, purpose, report);
    check_rate(span, report);
    check_streams(span, report);
    check_targets(span, purpose, report);
    check_same_path_bypass(span, report);
}

fn check_completion_depth(span: &TimeSpan, report: &mut Report<'_>) {
    let Some(depth) = span.completion_depth else { return };
    if depth == 0 || depth > COMPLETION_DEPTH_MAX {
        report.error(format!("the completion depth (-oc) must be 1 to {COMPLETION_DEPTH_MAX}, not {depth}"));
    }
    if span.completion_routines {
        report.error("a completion depth (-oc) cannot be used with completion routines (-x)");
    }
    if !span.targets.is_empty() && span.targets.iter().all(|target| target.memory_mapped) {
        report.error("a completion depth (-oc) cannot be used when all targets are memory mapped (-Sm)");
    }
}

fn check_affinity(span: &TimeSpan, report: &mut Report<'_>) {
    let affinity = &span.affinity;
    let ordered = affinity.traversal.is_some() || affinity.group_span.is_some() || affinity.efficiency.is_some();
    if affinity.disabled && (ordered || !affinity.listed.is_empty()) {
        report.error("-n and -a cannot be used together: -n leaves threads unbound, -a pins them");
    }
    if span.near_device && (affinity.disabled || !affinity.listed.is_empty()) {
        report.error(
            "--near-device cannot be used with -n or with CPUs listed by -a: --near-device chooses the CPUs itself",
        );
    }
}

/// Flushes need writes to make durable, and a way to wait for them.
fn check_flushes(span: &TimeSpan, report: &mut Report<'_>) {
    let Some((writes, call)) = span.flushes() else { return };
    let option = call.option();
    if span.flush_after_writes.is_some() && span.fsync_after_writes.is_some() {
        report.error("--fdatasync-every and --fsync-every cannot be used together; give one of them");
    }
    if writes == 0 {
        report.error(format!("the number of writes between flushes ({option}) must be at least 1"));
    }
    if !span.targets.iter().any(Target::writes) {
        report.error(format!("{option} needs writes, but the load is read-only (-w0)"));
    }
    if span.io_ring.is_some() {
        report.error(format!(
            "{option} cannot be used with -u: within a -u batch, a flush cannot be made to wait for the writes before it"
        ));
    }
    if span.targets.iter().any(|target| target.memory_mapped && target.writes()) {
        report.error(format!("{option} cannot be used with memory mapped writes (-Sm): flush them with -N"));
    }
}

/// Verified data is generated by this program, and read back from where it was written to.
fn check_verification(span: &TimeSpan, report: &mut Report<'_>) {
    if !span.verify {
        if span.verify_stop.is_some() {
            report.error("--verify-stop needs --verify");
        }
        return;
    }
    if span.verify_stop == Some(0) {
        report.error("the number of corrupt units (--verify-stop) must be at least 1");
    }
    if span.engine == Some(EngineKind::Null) {
        report.error("--verify cannot be used with --engine=null: the null engine stores nothing");
    }
    if span.random_write_data {
        report.error("--verify cannot be used with -Zr: verified data is random already; leave out -Zr");
    }
    let has = |test: fn(&Target) -> bool| span.targets.iter().any(test);
    if has(|target| target.zero_write_buffers || target.write_source.is_some()) {
        report.error(
            "--verify cannot be used with -Z or -Z<size>: each unit that is written must tell its place and write",
        );
    }
    if has(|target| target.dedupe_percent.is_some()) {
        report.error(
            "--verify cannot be used with --dedupe: units that tell their place are never equal; use --compress",
        );
    }
}

/// Discards and write-zeroes go to the file system or device, not through memory, and their completions cannot be
/// polled for.
fn check_without_data(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    let shares = target.shares();
    let sum = shares.discard_percent.saturating_add(shares.write_zeroes_percent);
    if sum > 100 {
        report.error(format!(
            "--discard={} and --write-zeroes={} are {sum}% of all I/Os together; at most 100% are possible",
            shares.discard_percent, shares.write_zeroes_percent
        ));
    }
    let options = [("--discard", Operation::Discard), ("--write-zeroes", Operation::WriteZeroes)];
    for (option, _) in options.into_iter().filter(|(_, operation)| shares.does(*operation)) {
        if target.memory_mapped {
            report.error(format!("{option} cannot be used with memory mapped I/O (-Sm): leave out -Sm"));
        }
        if span.completion_polling {
            report.error(format!("{option} cannot be used with --iopoll: the kernel polls for reads and writes only"));
        }
    }
}

fn check_times(span: &TimeSpan, purpose: Purpose, report: &mut Report<'_>) {
    if purpose == Purpose::Run && span.duration_s == 0 {
        report.error("the duration (-d) must be at least 1 second");
    }
    if span.calculate_iops_std_dev && span.interval_ms == 0 {
        report.error("the interval of the I/O rate statistics (-D) must be at least 1 ms");
    }
}

/// Options that `--rate` excludes: all others that determine when I/Os start.
fn check_rate(span: &TimeSpan, report: &mut Report<'_>) {
    let Some(rate) = span.rate_iops else {
        if span.rate_process.is_some() {
            report.error("--rate-process needs --rate=<IOPS>");
        }
        return;
    };
    if rate.least_iops() == 0 {
        report.error("the rate (--rate) must be at least 1 I/O per second");
    }
    let process = span.rate_process.unwrap_or_default();
    if let Some(fault) = process.fault() {
        report.error(fault);
    }
    if rate.is_ramp() && matches!(process, RateProcess::Bursts(_)) {
        report.error(format!(
            "--rate={rate} cannot be used with --rate-process=bursts: give a single rate (the mean over bursts and the \
             time between them), or leave out the bursts"
        ));
    }
    if span.targets.iter().any(|target| target.throughput != Throughput::Unlimited) {
        report.error("--rate and -g cannot be used together: --rate is an open loop, -g limits a closed loop");
    }
    let has_bursts = |target: &Target| target.burst_ios.unwrap_or(0) > 0 || target.think_time_ms.unwrap_or(0) > 0;
    if span.targets.iter().any(has_bursts) {
        report.error("--rate and bursts (-i, -j) cannot be used together: both determine when I/Os start");
    }
    if span.is_pool_with_requests() {
        report.error("--rate cannot be used with -O (outstanding I/Os per thread); use -o instead");
    }
}

/// A stream has threads of its own and one load, and a file is created once for all streams.
fn check_streams(span: &TimeSpan, report: &mut Report<'_>) {
    let streams = span.streams();
    if streams.is_empty() {
        return;
    }
    if span.thread_count > 0 || span.request_count > 0 {
        report.error(
            "streams have threads of their own: -F and -O cannot be used with --stream; give -t and -o inside each stream",
        );
    }
    for (name, indices) in &streams {
        let targets: Vec<&Target> = indices.iter().filter_map(|&index| span.targets.get(index)).collect();
        if targets.windows(2).any(|pair| !target::is_twin(pair[0], pair[1])) {
            report.error(format!(
                "stream '{name}': its targets may differ only in their paths; put a different load in a stream with another name"
            ));
        }
        let mut paths: BTreeSet<&Path> = BTreeSet::new();
        if let Some(twice) = targets.iter().find(|target| !paths.insert(&target.path)) {
            report.error(format!("stream '{name}': target '{}' is given twice", twice.path.display()));
        }
    }
    let mut created: BTreeMap<&Path, &Target> = BTreeMap::new();
    // Files that threads append to have names of their own.
    let whole = span.targets.iter().filter(|target| target.append.is_none());
    for target in whole.filter(|target| target.size_to_create().is_some()) {
        let first = created.entry(&target.path).or_insert(target);
        if first.size_to_create() != target.size_to_create() {
            report.at_target(target).error(format!(
                "-c cannot create the same file with two sizes ({} and {}); give -c once, outside of --stream",
                first.size_to_create().unwrap_or_default(),
                target.size_to_create().unwrap_or_default()
            ));
        }
    }
}

/// Checks each target that is not a twin of the one before it.
fn check_targets(span: &TimeSpan, purpose: Purpose, report: &mut Report<'_>) {
    let Some(first) = span.targets.first() else {
        report.error("no target given; at least one is needed");
        return;
    };
    let all_alike = span.targets.iter().all(|target| target::is_twin(first, target));
    let mut before: Option<&Target> = None;
    for target in &span.targets {
        if before.is_none_or(|before| !target::is_twin(before, target)) {
            if all_alike {
                target::check_settings(span, target, report);
            } else {
                target::check_settings(span, target, &mut report.at_target(target));
            }
        }
        if purpose == Purpose::Run {
            target::check_path(target, report);
            target::check_transfers(target, report);
        }
        before = Some(target);
    }
}

/// A thread opens each file once, so all targets on a path need the same bypass mode.
fn check_same_path_bypass(span: &TimeSpan, report: &mut Report<'_>) {
    // Thousands of paths take long to compare.
    if span.targets.windows(2).all(|pair| pair[0].bypass_io == pair[1].bypass_io) {
        return;
    }
    let mut modes: BTreeMap<&Path, (Option<BypassIo>, bool)> = BTreeMap::new();
    for target in &span.targets {
        let (mode, reported) = modes.entry(&target.path).or_insert((target.bypass_io, false));
        if *mode != target.bypass_io && !*reported {
            *reported = true;
            report.error(format!(
                "conflicting BypassIO modes for '{}': all targets with this path need the same (-Sy, -SY or neither)",
                target.path.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests;
