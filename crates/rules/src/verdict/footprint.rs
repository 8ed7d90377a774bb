//! Size of the used parts of targets against memory and caches.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::block_device::{BlockDevice, DeviceKind};
use model::environment::{CgroupLimit, Environment, Limit};
use model::finding::Severity;
use model::plan::{TargetPlan, WorkerTarget};
use model::units::Bytes;
use std::ops::Range;
use std::path::Path;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "fits-in-memory",
        severity: Severity::Note,
        unit: "bytes",
        computed_from: "total size of the ranges that the threads may access on targets that use the page cache, if \
                        smaller than the machine's memory, or the memory limit of the cgroup if that is lower. Only targets on block devices count",
        advice: "use targets larger than memory, or bypass the page cache (-Su, -Sh): data in memory is not read from \
                 the target",
        evaluate: fits_in_memory,
    },
    VerdictRule {
        name: "small-for-array",
        severity: Severity::Note,
        unit: "bytes",
        computed_from: "on targets that span several disks: total size of the ranges that the threads may access. \
                        Reported if less than 40 GB",
        advice: "use 40 GB or more: most caches of arrays and controllers are smaller",
        evaluate: small_for_array,
    },
];

/// Size that caches of arrays and controllers may have, in bytes.
const ARRAY_BYTES_MIN: u64 = 40_000_000_000;

fn fits_in_memory(context: &RuleContext<'_>) -> Vec<Observation> {
    let is_buffered = |index, target: &TargetPlan| !target.open.direct && is_on_devices(context, index);
    let buffered_bytes = used_bytes_of(context, is_buffered);
    let memory = context.result.environment.as_ref().and_then(memory);
    let in_memory = memory.filter(|(memory, _)| below(buffered_bytes, *memory));
    let observation = |(memory, owner): (u64, &str)| {
        let figure = format!(
            "the run uses {} of buffered targets; the {owner} has {} of memory",
            size(buffered_bytes),
            size(memory)
        );
        Observation::new(figure, buffered_bytes as f64)
    };
    in_memory.map(observation).into_iter().collect()
}

/// Limit of the page cache of this run in bytes, and its owner.
fn memory(environment: &Environment) -> Option<(u64, &'static str)> {
    let limit = |limit: &CgroupLimit| match limit.limit {
        Limit::Memory { bytes, .. } => Some((bytes, "cgroup")),
        _ => None,
    };
    let limits = environment.cgroup_limits.iter().filter_map(limit);
    limits.chain(environment.memory_bytes.map(|bytes| (bytes, "machine"))).min_by_key(|(bytes, _)| *bytes)
}

fn small_for_array(context: &RuleContext<'_>) -> Vec<Observation> {
    let array_bytes = used_bytes_of(context, |index, _| is_on_array(context, index));
    if !below(array_bytes, ARRAY_BYTES_MIN) {
        return Vec::new();
    }
    let figure = format!("the run uses {} of targets on several disks", size(array_bytes));
    vec![Observation::new(figure, array_bytes as f64)]
}

/// The size of the used parts of some targets together. A part of a file that several of them use counts once.
pub(super) fn used_bytes_of(context: &RuleContext<'_>, counts: impl Fn(usize, &TargetPlan) -> bool) -> u64 {
    let targets = context.plan.into_iter().flat_map(|plan| plan.targets.iter().enumerate());
    let counted = targets.filter(|(index, target)| counts(*index, target));
    covered(
        counted.filter_map(|(index, target)| Some((target.path.as_path(), context.work.used_bytes(index)?))).collect(),
    )
}

/// The bytes in parts of files, each once.
fn covered(mut parts: Vec<(&Path, Range<u64>)>) -> u64 {
    parts.sort_unstable_by_key(|(path, used)| (*path, used.start));
    let mut last: Option<(&Path, u64)> = None;
    let mut bytes = 0;
    for (path, used) in parts {
        let counted_to = last.filter(|(known, _)| *known == path).map_or(0, |(_, end)| end);
        bytes += used.end.saturating_sub(used.start.max(counted_to));
        last = Some((path, used.end.max(counted_to)));
    }
    bytes
}

fn below(used_bytes: u64, limit_bytes: u64) -> bool {
    (1..limit_bytes).contains(&used_bytes)
}

pub(super) fn size(bytes: u64) -> String {
    let (number, unit) = Bytes(bytes).parts();
    format!("{number} {unit}")
}

/// True if I/O on the target is real, and its devices are visible.
pub(super) fn is_on_devices(context: &RuleContext<'_>, target: usize) -> bool {
    let is_mapped = |work: &WorkerTarget| work.mapped.is_some();
    context.reaches_kernel(target)
        && !context.work.workers_on(target).any(is_mapped)
        && !disks(context, target).is_empty()
}

fn is_on_array(context: &RuleContext<'_>, target: usize) -> bool {
    context.reaches_kernel(target) && disks(context, target).len() > 1
}

/// The disks and software arrays below a target.
fn disks<'a>(context: &RuleContext<'a>, target: usize) -> Vec<&'a BlockDevice> {
    let below = context.environment(target).into_iter().flat_map(|below| below.devices()).flat_map(BlockDevice::walk);
    let mut found: Vec<&BlockDevice> = Vec::new();
    for device in below.filter(|device| device.below.is_empty() || matches!(device.kind, DeviceKind::Disk)) {
        if !found.iter().any(|known| known.name == device.name) {
            found.push(device);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{CaseResult, PATH};
    use model::environment::{Backing, Environment};

    /// Streams often use the same file.
    #[test]
    fn what_several_targets_use_of_a_file_counts_once() {
        let [a, b] = ["a", "b"].map(Path::new);
        assert_eq!(covered(vec![(a, 0..10), (b, 0..10), (a, 0..10)]), 20);
        assert_eq!(covered(vec![(a, 20..30), (a, 0..5), (a, 3..25)]), 30);
        assert_eq!(covered(vec![(a, 0..30), (a, 5..10), (a, 40..50)]), 40);
        assert_eq!(covered(Vec::new()), 0);
    }

    fn with_memory(bytes: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        built.result.environment = Some(Environment { memory_bytes: Some(bytes), ..Environment::default() });
        built
    }

    #[test]
    fn what_memory_could_hold_is_noted_where_it_might() {
        assert_eq!(
            with_memory(8 << 30).found(RULES),
            ["NOTE fits-in-memory: the run uses 1 GiB of buffered targets; the machine has 8 GiB of memory"]
        );
        assert_eq!(with_memory(1 << 29).found(RULES), [""; 0], "more than memory");
        let mut direct = with_memory(8 << 30);
        direct.plan().targets[0].open.direct = true;
        assert_eq!(direct.found(RULES), [""; 0]);
    }

    #[test]
    fn a_lower_limit_of_the_cgroup_is_the_memory_that_counts() {
        let mut built = with_memory(64 << 30);
        let limit = |bytes| CgroupLimit {
            cgroup: "/job".into(),
            file: "memory.max".to_owned(),
            limit: Limit::Memory { bytes, is_hard: true },
        };
        let environment = built.result.environment.as_mut().expect("it is there");
        environment.cgroup_limits = vec![limit(128 << 20)];
        assert_eq!(built.found(RULES), [""; 0], "more than the cgroup may keep");
        let environment = built.result.environment.as_mut().expect("it is there");
        environment.cgroup_limits = vec![limit(128 << 30), limit(2 << 30)];
        let found = ["NOTE fits-in-memory: the run uses 1 GiB of buffered targets; the cgroup has 2 GiB of memory"];
        assert_eq!(built.found(RULES), found);
    }

    // Shows verdict: small-for-array
    #[test]
    fn a_small_part_of_an_array_is_noted() {
        let mut built = CaseResult::sound();
        let disk = |name: &str| BlockDevice { name: name.to_owned(), kind: DeviceKind::Disk, ..BlockDevice::default() };
        let array = |disks: &[&str]| BlockDevice {
            name: "md0".to_owned(),
            below: disks.iter().map(|name| disk(name)).collect(),
            ..BlockDevice::default()
        };
        let mut on = |devices: Vec<BlockDevice>| {
            let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
            environment.backing = Backing::Devices(devices);
            built.found(RULES)
        };
        assert_eq!(on(vec![array(&["sda"])]), [""; 0]);
        assert_eq!(
            on(vec![array(&["sda", "sdb"])]),
            ["NOTE small-for-array: the run uses 1 GiB of targets on several disks"]
        );
    }
}
