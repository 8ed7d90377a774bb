//! Maxima of a timespan, refused by name before anything of that size is built.

use crate::findings::{Findings, Refusal, RefusalKind};
use model::engine_kind::EngineKind;
use model::facts::SystemFacts;
use model::limits::{INTERVALS_MAX, THREADS_MAX};
use model::plan::Intervals;
use model::profile::{Profile, Target, TimeSpan};
use model::units::counted;

/// Descriptors of the process beside those of its threads: the standard streams, the inputs of the control thread, the
/// files of the threads being started.
const DESCRIPTORS_BESIDE: u64 = 32;

const NS_PER_MS: u64 = 1_000_000;

/// Number of (thread, target) pairs.
pub(crate) fn pair_count(time_span: &TimeSpan) -> u64 {
    if time_span.thread_count == 0 {
        return thread_count(time_span);
    }
    let threads_on = |listed: usize| if listed == 0 { u64::from(time_span.thread_count) } else { listed as u64 };
    time_span.targets.iter().map(|target| threads_on(target.thread_targets.len())).sum()
}

/// Number of threads of all targets.
pub(crate) fn thread_count(time_span: &TimeSpan) -> u64 {
    match time_span.thread_count {
        0 => time_span.targets.iter().map(|target| u64::from(target.threads)).sum(),
        count => u64::from(count),
    }
}

/// False if no thread will have a ring: all have one request at a time, or another engine is requested.
fn may_need_rings(time_span: &TimeSpan) -> bool {
    let polls = time_span.submission_polling || time_span.completion_polling;
    let is_single = |target: &Target| target.outstanding == 1 && !target.write_through;
    match time_span.engine {
        Some(kind) => kind == EngineKind::IoUring,
        None if time_span.io_ring.is_some() || polls || time_span.thread_count > 0 => true,
        None => !time_span.targets.iter().all(is_single),
    }
}

/// Refuses sizes in a profile that are too large for any target: known before targets are examined.
pub fn check_size(profile: &Profile, system: &SystemFacts) -> Vec<Refusal> {
    let mut findings = Findings::default();
    let several = profile.time_spans.len() > 1;
    for (index, time_span) in profile.time_spans.iter().enumerate() {
        findings.enter(several.then_some(index + 1));
        check(time_span, system, &mut findings);
    }
    findings.into_refusals()
}

/// True if the timespan is small enough to be planned.
pub(crate) fn check(time_span: &TimeSpan, system: &SystemFacts, findings: &mut Findings) -> bool {
    let threads = thread_count(time_span);
    let mut messages = Vec::new();
    if let Some(reason) = time_span.too_many_targets() {
        messages.push((RefusalKind::Invalid, reason));
    }
    if threads > u64::from(THREADS_MAX) {
        messages
            .push((RefusalKind::Invalid, format!("{threads} threads; the maximum in one timespan is {THREADS_MAX}")));
    }
    // One descriptor for each target of each thread, another one if it is mapped, one for its ring, and one for each
    // file that is watched until it is written to.
    let written = time_span.targets.iter().filter(|target| target.writes()).count() as u64;
    let rings = if may_need_rings(time_span) { threads } else { 0 };
    let mapped = if time_span.targets.iter().any(|target| target.memory_mapped) { pair_count(time_span) } else { 0 };
    let descriptors = pair_count(time_span) + mapped + rings + written + DESCRIPTORS_BESIDE;
    if descriptors > system.open_files_max {
        messages.push((
            RefusalKind::Impossible,
            format!(
                "{}, each opening its own targets, need {descriptors} open files; the limit of this process is {} \
                 (raise it with ulimit -n, or use fewer threads or targets)",
                counted(threads, "thread"),
                system.open_files_max
            ),
        ));
    }
    let is_small_enough = messages.is_empty();
    for (kind, message) in messages {
        findings.refuse(kind, message);
    }
    is_small_enough
}

/// The intervals of `-D`.
pub(crate) fn intervals(time_span: &TimeSpan, duration_ns: u64, findings: &mut Findings) -> Option<Intervals> {
    if !time_span.calculate_iops_std_dev {
        return None;
    }
    if time_span.interval_ms == 0 {
        findings.refuse(RefusalKind::Invalid, "the interval (-D) must be above 0 ms");
        return None;
    }
    let width_ns = u64::from(time_span.interval_ms) * NS_PER_MS;
    let count = duration_ns.div_ceil(width_ns);
    if count > INTERVALS_MAX {
        let interval_ms = time_span.interval_ms;
        findings.refuse(
            RefusalKind::Invalid,
            format!(
                "-D{interval_ms} divides {} s into {count} intervals; the maximum is {INTERVALS_MAX}: use longer \
                 intervals",
                time_span.duration_s
            ),
        );
        return None;
    }
    Some(Intervals { width_ns, count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::ThreadTarget;

    fn span(targets: usize, threads: u32, pool: u32) -> TimeSpan {
        let mut target = Target::new("a");
        target.threads = threads;
        TimeSpan { targets: vec![target; targets], thread_count: pool, ..TimeSpan::default() }
    }

    #[test]
    fn threads_and_their_targets_are_counted() {
        assert_eq!((thread_count(&span(3, 4, 0)), pair_count(&span(3, 4, 0))), (12, 12));
        assert_eq!((thread_count(&span(3, 1, 5)), pair_count(&span(3, 1, 5))), (5, 15));
        let mut some = span(2, 1, 5);
        some.targets[1].thread_targets = vec![ThreadTarget { thread: 1, weight: 0 }];
        assert_eq!(pair_count(&some), 6);
    }

    #[test]
    fn too_much_is_refused_by_name() {
        let mut findings = Findings::default();
        let system = SystemFacts { open_files_max: 1024, ..SystemFacts::default() };
        assert!(check(&span(1, 496, 0), &system, &mut findings));
        let mut one_request = span(1, 992, 0);
        one_request.targets[0].outstanding = 1;
        assert!(check(&one_request, &system, &mut findings));
        assert!(!check(&span(1, 497, 0), &system, &mut findings));
        assert!(!check(&span(2, u32::MAX, 0), &system, &mut findings));
        let text: Vec<String> = findings.refusals().iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
            497 threads, each opening its own targets, need 1026 open files; the limit of this process is 1024 (raise it with ulimit -n, or use fewer threads or targets)
            8589934590 threads; the maximum in one timespan is 65536
            8589934590 threads, each opening its own targets, need 17179869212 open files; the limit of this process is 1024 (raise it with ulimit -n, or use fewer threads or targets)
            "#);
    }

    #[test]
    fn intervals_cover_the_duration() {
        let mut findings = Findings::default();
        let mut span = TimeSpan { calculate_iops_std_dev: true, interval_ms: 300, ..TimeSpan::default() };
        let intervals_of = |span: &TimeSpan, findings: &mut Findings| {
            intervals(span, u64::from(span.duration_s) * 1_000_000_000, findings)
        };
        assert_eq!(intervals_of(&span, &mut findings), Some(Intervals { width_ns: 300_000_000, count: 34 }));
        (span.interval_ms, span.duration_s) = (1, 16_777);
        assert_eq!(intervals_of(&span, &mut findings).map(|intervals| intervals.count), Some(16_777_000));
        assert!(findings.refusals().is_empty());
        span.duration_s = 16_778;
        assert_eq!(intervals_of(&span, &mut findings), None);
        assert_eq!(findings.refusals().len(), 1);
    }
}
