//! Whether the accessed part of a file holds data at all.
//!
//! A hole, or room that is only reserved, reads as zeros without touching the device, and is
//! allocated by the first write to it.

use super::{Case, Rule, rule};
use model::facts::{RegularFacts, TargetKind, UnwrittenPart};
use model::plan::{Area, Pattern, Preparation, TargetPlan, WorkerTarget};
use model::verdict::{Finding, Severity};
use std::ops::Range;
use std::path::Path;

pub(super) const UNWRITTEN_TARGET: Rule = Rule {
    name: "unwritten-target",
    severity: Severity::Invalid,
    advice: "write the file from end to end first, or let -c make one: what was never written reads as zeros without \
             the device",
};

pub(super) const ALLOCATING_WRITES: Rule = Rule {
    name: "allocating-writes",
    severity: Severity::Warn,
    advice: "write the file from end to end first, or let -c make one: the first write to a block allocates it",
};

pub(super) fn look(case: &Case<'_>) -> Vec<Finding> {
    let Some(plan) = case.plan else { return Vec::new() };
    let finding = |(index, target): (usize, &TargetPlan)| {
        let share = unwritten_share(case, index, target)?;
        let reads = case.work(index).any(|work| work.write_percent < 100);
        let rule = if reads { UNWRITTEN_TARGET } else { ALLOCATING_WRITES };
        let figure =
            format!("{} of what is used of '{}' was never written", rule::percent(share), target.path.display());
        (share > super::WORTH_A_WARNING).then(|| rule.finding(figure, share * 100.0))
    };
    plan.targets.iter().enumerate().filter_map(finding).collect()
}

/// True if much of some target that stands at `path` was never written.
pub(super) fn is_unwritten(case: &Case<'_>, path: &Path) -> bool {
    let targets = case.plan.into_iter().flat_map(|plan| plan.targets.iter().enumerate());
    let mut shares = targets.filter(|(_, target)| target.path == path);
    shares
        .any(|(index, target)| unwritten_share(case, index, target).is_some_and(|share| share > super::WORTH_A_WARNING))
}

/// The share of the used part that held no data when the run began; `None` if this run made the
/// file or wrote to it before, or if nobody can tell.
fn unwritten_share(case: &Case<'_>, index: usize, target: &TargetPlan) -> Option<f64> {
    let facts = &case.result.targets.get(&target.path)?.kind;
    let TargetKind::Regular(RegularFacts { unwritten: Some(parts), .. }) = facts else { return None };
    let is_kept = target.preparation == Preparation::Keep;
    if !is_kept || !case.reaches_kernel(index) || case.was_written_before(&target.path) {
        return None;
    }
    let used = used_of_all(case, index)?;
    let length = used.end.saturating_sub(used.start);
    let unwritten: f64 = parts.iter().map(|part| unwritten_in(part, &used)).sum();
    (length > 0).then(|| unwritten / length as f64)
}

/// The part of a target that the threads may touch, from the first byte to the last.
pub(super) fn used_of_all(case: &Case<'_>, index: usize) -> Option<Range<u64>> {
    case.work(index).map(used).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
}

/// The part of its target that a thread may touch.
fn used(work: &WorkerTarget) -> Range<u64> {
    let (Pattern::Sequential { area, .. }
    | Pattern::Interlocked { area, .. }
    | Pattern::Parallel { area, .. }
    | Pattern::Random { area, .. }
    | Pattern::Mixed { area, .. }) = &work.pattern;
    let Area { base_bytes, size_bytes, .. } = *area;
    base_bytes..base_bytes.saturating_add(size_bytes)
}

/// Unwritten bytes of a part that lie in `used`, spread evenly over the part.
fn unwritten_in(part: &UnwrittenPart, used: &Range<u64>) -> f64 {
    let end = part.start_bytes.saturating_add(part.length_bytes).min(used.end);
    let common = end.saturating_sub(part.start_bytes.max(used.start));
    part.unwritten_bytes as f64 * common as f64 / part.length_bytes.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::Built;
    use model::plan::EngineKind;

    const MIB: u64 = 1 << 20;

    /// The first GiB, of which these MiB are not written.
    fn built(parts: &[(u64, u64)]) -> Built {
        let part = |&(start, length): &(u64, u64)| UnwrittenPart {
            start_bytes: start * MIB,
            length_bytes: length * MIB,
            unwritten_bytes: length * MIB,
        };
        let mut built = Built::sound();
        built.facts().unwritten = Some(parts.iter().map(part).collect());
        built
    }

    #[test]
    fn a_written_file_is_silent_and_so_is_one_that_nobody_can_tell_about() {
        assert_eq!(Built::sound().found(look), [""; 0]);
        assert_eq!(built(&[]).found(look), [""; 0]);
        assert_eq!(built(&[(500, 20)]).found(look), [""; 0], "less than 2 %");
    }

    #[test]
    fn holes_that_are_read_make_it_invalid() {
        let found = built(&[(0, 256), (512, 256)]).found(look);
        assert_eq!(found, ["INVALID unwritten-target: 50.0 % of what is used of 'a.dat' was never written"]);
    }

    #[test]
    fn holes_that_are_only_written_are_warned_of() {
        let mut built = built(&[(0, 1024)]);
        built.work().write_percent = 100;
        assert_eq!(built.found(look), ["WARN allocating-writes: 100.0 % of what is used of 'a.dat' was never written"]);
        built.work().write_percent = 99;
        assert!(built.found(look)[0].starts_with("INVALID unwritten-target: 100.0 %"));
    }

    #[test]
    fn only_what_is_used_counts() {
        let mut built = built(&[(512, 512)]);
        built.use_bytes(0, 512 * MIB);
        assert_eq!(built.found(look), [""; 0]);
        built.use_bytes(256 * MIB, 512 * MIB);
        assert!(built.found(look)[0].starts_with("INVALID unwritten-target: 50.0 %"));
    }

    #[test]
    fn many_parts_are_spread_evenly_over_the_last() {
        let mut built = Built::sound();
        let part = UnwrittenPart { start_bytes: 0, length_bytes: 1024 * MIB, unwritten_bytes: 256 * MIB };
        built.facts().unwritten = Some(vec![part]);
        built.use_bytes(0, 512 * MIB);
        assert!(built.found(look)[0].starts_with("INVALID unwritten-target: 25.0 %"));
    }

    #[test]
    fn what_the_run_made_or_wrote_itself_is_silent() {
        let mut made = built(&[(0, 1024)]);
        made.plan().targets[0].preparation = Preparation::MadeBefore;
        assert_eq!(made.found(look), [""; 0]);
        let mut nothing = built(&[(0, 1024)]);
        nothing.happened().engines = vec![EngineKind::Null];
        assert_eq!(nothing.found(look), [""; 0]);
        let mut second = built(&[(0, 1024)]);
        let before = second.result.time_spans[0].clone();
        second.result.time_spans.insert(0, before);
        second.result.time_spans[0].measured.as_mut().expect("it was measured").rows[0].figures.write.ios = 1;
        assert_eq!(second.found_in(1, look), [""; 0]);
    }
}
