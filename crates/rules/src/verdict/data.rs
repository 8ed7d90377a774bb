//! Targets whose accessed part holds no data.
//!
//! A hole of a file, or space that is only reserved, reads as zeros without touching the device, and is allocated by
//! the first write to it. So do blocks of a device that were discarded or never written, on most devices; these can
//! only be recognized by their zeros.

use super::{RuleContext, VerdictRule};
use crate::rule::{Observation, percent};
use model::facts::{RegularFacts, TargetKind, UnwrittenPart, ZeroSample};
use model::finding::Severity;
use model::operation::Operation;
use model::plan::{Preparation, TargetPlan};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "unwritten-target",
        severity: Severity::Invalid,
        unit: "percent",
        computed_from: "Files: before the run, share of holes and preallocated, unwritten extents in the range that the \
                        threads may access (FIEMAP, else SEEK_HOLE); reported if above 2 %. Files that this run creates, \
                        or has written to in an earlier timespan, are not checked. Block devices that are read: just \
                        before the run, 4 KiB blocks are sampled across that range, bypassing the page cache. Sampling \
                        stops after 1000 blocks or one second, whichever comes first; fewer than 100 blocks are not \
                        judged. Reported if more than 5 % of the sampled blocks hold only zeros, unless an earlier \
                        timespan wrote to the device",
        advice: "write the whole target first, or let -c create a file: blocks that were never written, or were \
                 discarded, read as zeros without reaching the medium",
        evaluate: |context| unwritten_targets(context, true),
    },
    VerdictRule {
        name: "allocating-writes",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "the same as `unwritten-target`, but for targets that the run does not read",
        advice: "write the whole file first, or let -c create one: the first write to a block allocates it",
        evaluate: |context| unwritten_targets(context, false),
    },
    VerdictRule {
        name: "shared-extents",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "before the run, share of a written file that lies in extents shared with other files (FIEMAP: \
                        reflinks, snapshots); reported if above 2 %. Files that this run creates, or has written to in \
                        an earlier timespan, are not checked. NOTE on btrfs, which allocates new blocks for most writes anyway",
        advice: "write the whole file first, or copy it with cp --reflink=never: the first write to a shared block \
                 allocates a new one",
        evaluate: shared_extents,
    },
    VerdictRule {
        name: "reads-of-discarded",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "for targets that are read and also changed by `--discard` or `--write-zeroes`: discards and \
                        write-zeroes as a percentage of all I/Os that change data. In a long run, about this \
                        percentage of the reads of changed blocks find a hole or zeros. Reported if above 2 %",
        advice: "measure reads in a run without --discard and --write-zeroes: a hole or a discarded block is read \
                 without reaching the medium",
        evaluate: reads_of_discarded,
    },
];

/// Loads that read what they discard.
fn reads_of_discarded(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(plan) = context.plan else { return Vec::new() };
    let mut found: BTreeMap<&Path, f64> = BTreeMap::new();
    for work in plan.workers.iter().flat_map(|worker| &worker.targets) {
        let shares = work.shares();
        let without_data: f64 = Operation::WITHOUT_DATA.iter().map(|&operation| shares.expected(operation)).sum();
        let share = without_data / (without_data + shares.expected(Operation::Write));
        if shares.does(Operation::Read) && share > super::WORTH_A_WARNING && context.reaches_kernel(work.target) {
            found.insert(&plan.targets[work.target].path, share);
        }
    }
    let observation = |(path, share): (&Path, f64)| {
        let path = path.display().to_string();
        let figure = format!(
            "{} of the changes to '{path}' are discards or write-zeroes, and the run also reads it",
            percent(share)
        );
        Observation::new(figure, share * 100.0).with_subject(path)
    };
    found.into_iter().map(observation).collect()
}

/// Share of all-zero blocks that the data of a used device may have.
const ZEROS_OF_DATA: f64 = 0.05;

/// Unwritten targets that are read, or those that are only written to.
fn unwritten_targets(context: &RuleContext<'_>, is_read: bool) -> Vec<Observation> {
    let targets = context.plan.into_iter().flat_map(|plan| plan.targets.iter().enumerate());
    let observation = |(index, target): (usize, &TargetPlan)| {
        let (share, words) = match unwritten(context, index, target)? {
            Unwritten::Room { share } => (share, "was never written"),
            Unwritten::Zeros { share } => (share, "holds only zeros"),
        };
        let path = target.path.display().to_string();
        let figure = format!("{} of the accessed part of '{path}' {words}", percent(share));
        Some(Observation::new(figure, share * 100.0).with_subject(path))
    };
    targets.filter(|(index, _)| context.work.reads(*index) == is_read).filter_map(observation).collect()
}

/// Written targets that share extents.
fn shared_extents(context: &RuleContext<'_>) -> Vec<Observation> {
    let targets = context.plan.into_iter().flat_map(|plan| plan.targets.iter().enumerate());
    let observation = |(index, target): (usize, &TargetPlan)| {
        let TargetKind::Regular(facts) = &context.result.targets.facts.get(&target.path)?.kind else { return None };
        let share = facts.shared_bytes? as f64 / facts.size_bytes.max(1) as f64;
        let is_written = context.work.workers_on(index).any(|work| work.shares().changes_data());
        if !is_written || !was_there_before(context, index, target) || share <= super::WORTH_A_WARNING {
            return None;
        }
        let path = target.path.display().to_string();
        let figure = format!("{} of '{path}' is in extents shared with other files", percent(share));
        let severity = if facts.file_system.name == "btrfs" { Severity::Note } else { Severity::Warn };
        Some(Observation::new(figure, share * 100.0).with_subject(path).with_severity(severity))
    };
    targets.filter_map(observation).collect()
}

/// True if a run uses a target in its existing state.
fn was_there_before(context: &RuleContext<'_>, index: usize, target: &TargetPlan) -> bool {
    let is_kept = target.preparation == Preparation::Keep;
    is_kept && context.reaches_kernel(index) && !context.written_before.contains(target.path.as_path())
}

/// Targets that were largely never written.
pub(super) fn unwritten_paths<'a>(context: &RuleContext<'a>) -> BTreeSet<&'a Path> {
    let targets = context.plan.into_iter().flat_map(|plan| plan.targets.iter().enumerate());
    let unwritten = targets.filter(|(index, target)| unwritten(context, *index, target).is_some());
    unwritten.map(|(_, target)| target.path.as_path()).collect()
}

/// A large share of the used part without data when the run began.
enum Unwritten {
    /// For a file: holes, and space that is only reserved.
    Room { share: f64 },
    /// For a device: all-zero blocks among those sampled.
    Zeros { share: f64 },
}

/// `None` if it held data, if this run made the file or wrote to it before, or if it is unknown.
fn unwritten(context: &RuleContext<'_>, index: usize, target: &TargetPlan) -> Option<Unwritten> {
    if !was_there_before(context, index, target) {
        return None;
    }
    let used = context.work.used_bytes(index)?;
    match &context.result.targets.facts.get(&target.path)?.kind {
        TargetKind::Regular(RegularFacts { unwritten: Some(parts), .. }) => {
            let unwritten: f64 = parts.iter().map(|part| unwritten_in(part, &used)).sum();
            let share = unwritten / used.end.saturating_sub(used.start) as f64;
            (share > super::WORTH_A_WARNING).then_some(Unwritten::Room { share })
        }
        // A target that is only written needs no data.
        TargetKind::Block(facts) if context.work.reads(index) => {
            let share = zero_share(&facts.zeros, &used)?;
            (share > ZEROS_OF_DATA).then_some(Unwritten::Zeros { share })
        }
        _ => None,
    }
}

/// The share of zeros in the sample of exactly this part.
fn zero_share(samples: &[ZeroSample], used: &Range<u64>) -> Option<f64> {
    let sample = samples.iter().find(|sample| sample.range_bytes() == *used)?;
    (sample.blocks > 0).then(|| f64::from(sample.zero_blocks) / f64::from(sample.blocks))
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
    use crate::verdict::cases::{CaseResult, PATH};
    use model::engine_kind::EngineKind;
    use model::facts::{BlockFacts, TargetFacts};

    const MIB: u64 = 1 << 20;

    /// The first GiB, with these MiB unwritten.
    fn built(parts: &[(u64, u64)]) -> CaseResult {
        let part = |&(start, length): &(u64, u64)| UnwrittenPart {
            start_bytes: start * MIB,
            length_bytes: length * MIB,
            unwritten_bytes: length * MIB,
        };
        let mut built = CaseResult::sound();
        built.facts().unwritten = Some(parts.iter().map(part).collect());
        built
    }

    #[test]
    fn a_written_file_is_silent_and_so_is_one_that_nobody_can_tell_about() {
        assert_eq!(CaseResult::sound().found(RULES), [""; 0]);
        assert_eq!(built(&[]).found(RULES), [""; 0]);
        assert_eq!(built(&[(500, 20)]).found(RULES), [""; 0], "less than 2 %");
    }

    // Shows verdict: shared-extents
    #[test]
    fn writes_to_what_others_share_are_warned_of() {
        let shared = |bytes| {
            let mut built = CaseResult::sound();
            built.facts().shared_bytes = Some(bytes);
            built.work().write_percent = 30;
            built
        };
        let figure = "shared-extents: 50.0 % of 'a.dat' is in extents shared with other files";
        assert_eq!(shared(512 * MIB).found(RULES), [format!("WARN {figure}")]);
        assert_eq!(shared(10 * MIB).found(RULES), [""; 0]);
        let mut on_btrfs = shared(512 * MIB);
        "btrfs".clone_into(&mut on_btrfs.facts().file_system.name);
        assert_eq!(on_btrfs.found(RULES), [format!("NOTE {figure}")]);
        let mut made = shared(512 * MIB);
        made.plan().targets[0].preparation = Preparation::MadeBefore;
        assert_eq!(made.found(RULES), [""; 0]);
        let mut read = shared(512 * MIB);
        read.work().write_percent = 0;
        assert_eq!(read.found(RULES), [""; 0]);
    }

    // Shows verdict: reads-of-discarded
    #[test]
    fn loads_that_read_what_they_discard_are_warned_of() {
        let mut built = CaseResult::sound();
        built.work().write_percent = 30;
        built.work().discard_percent = 10;
        let found = built.found(RULES);
        assert_eq!(
            found,
            [
                "WARN reads-of-discarded: 27.0 % of the changes to 'a.dat' are discards or write-zeroes, and the run also \
              reads it"
            ]
        );
        built.work().discard_percent = 100;
        assert_eq!(built.found(RULES), [""; 0], "nothing is read");
    }

    #[test]
    fn holes_that_are_read_make_it_invalid() {
        let found = built(&[(0, 256), (512, 256)]).found(RULES);
        assert_eq!(found, ["INVALID unwritten-target: 50.0 % of the accessed part of 'a.dat' was never written"]);
    }

    #[test]
    fn holes_that_are_only_written_are_warned_of() {
        let mut built = built(&[(0, 1024)]);
        built.work().write_percent = 100;
        assert_eq!(
            built.found(RULES),
            ["WARN allocating-writes: 100.0 % of the accessed part of 'a.dat' was never written"]
        );
        built.work().write_percent = 99;
        assert!(built.found(RULES)[0].starts_with("INVALID unwritten-target: 100.0 %"));
    }

    #[test]
    fn only_what_is_used_counts() {
        let mut built = built(&[(512, 512)]);
        built.use_bytes(0, 512 * MIB);
        assert_eq!(built.found(RULES), [""; 0]);
        built.use_bytes(256 * MIB, 512 * MIB);
        assert!(built.found(RULES)[0].starts_with("INVALID unwritten-target: 50.0 %"));
    }

    #[test]
    fn many_parts_are_spread_evenly_over_the_last() {
        let mut built = CaseResult::sound();
        let part = UnwrittenPart { start_bytes: 0, length_bytes: 1024 * MIB, unwritten_bytes: 256 * MIB };
        built.facts().unwritten = Some(vec![part]);
        built.use_bytes(0, 512 * MIB);
        assert!(built.found(RULES)[0].starts_with("INVALID unwritten-target: 25.0 %"));
    }

    #[test]
    fn what_the_run_made_or_wrote_itself_is_silent() {
        let mut made = built(&[(0, 1024)]);
        made.plan().targets[0].preparation = Preparation::MadeBefore;
        assert_eq!(made.found(RULES), [""; 0]);
        let mut nothing = built(&[(0, 1024)]);
        nothing.span_result().engines = vec![EngineKind::Null];
        assert_eq!(nothing.found(RULES), [""; 0]);
        let mut second = built(&[(0, 1024)]);
        let before = second.result.time_spans[0].clone();
        second.result.time_spans.insert(0, before);
        second.result.time_spans[0].measured.as_mut().expect("it was measured").rows[0].figures.write.ios = 1;
        assert_eq!(second.found_in(1, RULES), [""; 0]);
    }

    /// A device with this number of zero blocks among 1000 sampled in its first GiB.
    fn device(zero_blocks: u32) -> CaseResult {
        let mut built = CaseResult::sound();
        let sample = ZeroSample { start_bytes: 0, length_bytes: 1024 * MIB, blocks: 1000, zero_blocks };
        let kind = TargetKind::Block(BlockFacts { zeros: vec![sample], ..BlockFacts::default() });
        built.result.targets.facts.insert(PATH.into(), TargetFacts::new(kind));
        built
    }

    #[test]
    fn a_device_that_gives_zeros_makes_it_invalid() {
        assert_eq!(device(0).found(RULES), [""; 0]);
        assert_eq!(device(50).found(RULES), [""; 0], "data has zeros too");
        assert_eq!(
            device(700).found(RULES),
            ["INVALID unwritten-target: 70.0 % of the accessed part of 'a.dat' holds only zeros"]
        );
        let mut other_part = device(700);
        other_part.use_bytes(0, 512 * MIB);
        assert_eq!(other_part.found(RULES), [""; 0], "nobody looked there");
    }

    #[test]
    fn a_device_that_is_only_written_or_was_written_before_is_silent() {
        let mut written = device(1000);
        written.work().write_percent = 100;
        assert_eq!(written.found(RULES), [""; 0]);
        let mut second = device(1000);
        let before = second.result.time_spans[0].clone();
        second.result.time_spans.insert(0, before);
        second.result.time_spans[0].measured.as_mut().expect("it was measured").rows[0].figures.write.ios = 1;
        assert_eq!(second.found_in(1, RULES), [""; 0]);
    }
}
