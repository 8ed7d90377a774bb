//! Use of devices and processors by others.

use super::checklist::{ALL_TARGETS, Checklist, MACHINE, answers};
use super::{CheckDocumentation, CheckRule, carriers, each_once};
use model::check::{Activity, CheckFacts};
use model::finding::Severity;
use model::units::mib;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "other-io",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "I/O counters of the disks, over two seconds",
            warns_if: "a disk serves at least 20 I/Os or 1 MiB per second",
            fails_if: "",
        },
        advice: "find the process (iotop, pidstat -d 1) and stop it, or wait: its I/O affects every result",
        evaluate: |facts| answers(facts, other_io),
    },
    CheckRule {
        name: "cpu-load",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`/proc/stat` for two seconds",
            warns_if: "at least 10 % of all CPU time is used or stolen",
            fails_if: "",
        },
        advice: "stop other load (see top), or pin the run to free CPUs (-a)",
        evaluate: |facts| answers(facts, load),
    },
];

/// I/Os per second of others worth a finding: logs and timers of an idle machine stay below.
const OTHER_IOPS: f64 = 20.0;
/// Bytes per second of others worth a finding.
const OTHER_BYTES_PER_S: f64 = 1_048_576.0;
/// CPU usage that an idle machine stays below, in percent.
const BUSY_PERCENT: f64 = 10.0;

fn other_io(facts: &CheckFacts, list: &mut Checklist) {
    let carriers = each_once(facts.targets.iter().flat_map(carriers));
    if carriers.is_empty() {
        list.unknown(ALL_TARGETS, "the underlying block device is unknown");
    }
    for device in carriers {
        others(&device.name, &facts.activity, list);
    }
}

fn others(name: &str, activity: &Activity, list: &mut Checklist) {
    let Some(counted) = activity.devices.get(name).filter(|_| activity.duration_ms > 0) else {
        return list.unknown(name, "the kernel has no I/O counters for this device");
    };
    let seconds = activity.duration_ms as f64 / 1000.0;
    let iops = (counted.read.count + counted.write.count) as f64 / seconds;
    let bytes_per_s = (counted.read.bytes + counted.write.bytes) as f64 / seconds;
    let found = format!("{iops:.0} IOPS and {:.1} MiB/s over {seconds:.1} s", mib(bytes_per_s));
    if iops >= OTHER_IOPS || bytes_per_s >= OTHER_BYTES_PER_S {
        list.warn(name, found);
    } else {
        list.pass(name, found);
    }
}

fn load(facts: &CheckFacts, list: &mut Checklist) {
    let sum = |of: fn(&model::record::CpuTimes) -> u64| facts.activity.cpus.iter().map(of).sum::<u64>();
    let (worked, stolen) = (sum(|cpu| cpu.user + cpu.kernel), sum(|cpu| cpu.steal));
    let total = worked + stolen + sum(|cpu| cpu.idle);
    if total == 0 {
        return list.unknown(MACHINE, "CPU times cannot be read from /proc/stat");
    }
    let percent = |ticks: u64| ticks as f64 * 100.0 / total as f64;
    let found = format!("{:.0} % busy, {:.0} % steal", percent(worked), percent(stolen));
    if percent(worked + stolen) >= BUSY_PERCENT {
        list.warn(MACHINE, found);
    } else {
        list.pass(MACHINE, found);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, facts, outcomes};
    use model::finding::Severity;
    use model::record::CpuTimes;

    // Shows check: other-io
    #[test]
    fn twenty_ios_or_a_mebibyte_per_second_of_others_warn() {
        let mut facts = facts();
        assert_eq!(answers(&facts, "other-io"), ["pass nvme0n1: 0 IOPS and 0.0 MiB/s over 2.0 s"]);
        let counted = facts.activity.devices.get_mut("nvme0n1").expect("a device");
        counted.write.count = 39;
        assert_eq!(outcomes(&facts, "other-io"), [Severity::Pass]);
        let counted = facts.activity.devices.get_mut("nvme0n1").expect("a device");
        counted.read.count = 1;
        assert_eq!(answers(&facts, "other-io"), ["warn nvme0n1: 20 IOPS and 0.0 MiB/s over 2.0 s"]);
        let counted = facts.activity.devices.get_mut("nvme0n1").expect("a device");
        (counted.write.count, counted.read.bytes) = (1, 2 << 20);
        assert_eq!(answers(&facts, "other-io"), ["warn nvme0n1: 1 IOPS and 1.0 MiB/s over 2.0 s"]);
        facts.activity.devices.clear();
        assert_eq!(outcomes(&facts, "other-io"), [Severity::Unknown]);
    }

    // Shows check: cpu-load
    #[test]
    fn a_tenth_of_the_cpus_busy_warns() {
        let mut facts = facts();
        for (user, steal, idle, outcome) in [(5, 4, 91, Severity::Pass), (5, 5, 90, Severity::Warn)] {
            facts.activity.cpus = vec![CpuTimes { user, steal, idle, ..CpuTimes::default() }];
            assert_eq!(outcomes(&facts, "cpu-load"), [outcome]);
        }
        facts.activity.cpus.clear();
        assert_eq!(outcomes(&facts, "cpu-load"), [Severity::Unknown]);
    }
}
