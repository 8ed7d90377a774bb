//! Whether others use the devices and the processors.

use super::checklist::{ALL_TARGETS, Checklist, MACHINE};
use super::{carriers, each_once};
use model::check::{Activity, Check, CheckFacts};
use model::units::mib;

/// Other people's I/Os per second from which on they are worth a word: what logs and timers of an idle machine
/// do stays below.
const OTHER_IOPS: f64 = 20.0;
/// Other people's bytes per second.
const OTHER_BYTES_PER_S: f64 = 1_048_576.0;
/// Share of all CPU time that an idle machine stays below, in percent.
const BUSY_PERCENT: f64 = 10.0;

pub(super) fn check(facts: &CheckFacts, list: &mut Checklist) {
    let carriers = each_once(facts.targets.iter().flat_map(carriers));
    if carriers.is_empty() {
        list.unknown(Check::OtherIo, ALL_TARGETS, "the underlying block device is unknown");
    }
    for device in carriers {
        others(&device.name, &facts.activity, list);
    }
    load(&facts.activity, list);
}

fn others(name: &str, activity: &Activity, list: &mut Checklist) {
    let Some(counted) = activity.devices.get(name).filter(|_| activity.duration_ms > 0) else {
        return list.unknown(Check::OtherIo, name, "no kernel counters for it");
    };
    let seconds = activity.duration_ms as f64 / 1000.0;
    let iops = (counted.read.count + counted.write.count) as f64 / seconds;
    let bytes_per_s = (counted.read.bytes + counted.write.bytes) as f64 / seconds;
    let found = format!("{iops:.0} IOPS and {:.1} MiB/s over {seconds:.1} s", mib(bytes_per_s));
    if iops >= OTHER_IOPS || bytes_per_s >= OTHER_BYTES_PER_S {
        let advice = "find the process (iotop, pidstat -d 1) and stop it, or wait: its I/O affects every result";
        list.warn(Check::OtherIo, name, found, advice);
    } else {
        list.pass(Check::OtherIo, name, found);
    }
}

fn load(activity: &Activity, list: &mut Checklist) {
    let sum = |of: fn(&model::record::CpuTimes) -> u64| activity.cpus.iter().map(of).sum::<u64>();
    let (worked, stolen) = (sum(|cpu| cpu.user + cpu.kernel), sum(|cpu| cpu.steal));
    let total = worked + stolen + sum(|cpu| cpu.idle);
    if total == 0 {
        return list.unknown(Check::CpuLoad, MACHINE, "CPU times cannot be read from /proc/stat");
    }
    let percent = |ticks: u64| ticks as f64 * 100.0 / total as f64;
    let found = format!("{:.0} % busy, {:.0} % steal", percent(worked), percent(stolen));
    if percent(worked + stolen) >= BUSY_PERCENT {
        list.warn(Check::CpuLoad, MACHINE, found, "stop other load (see top), or pin the run to free CPUs (-a)");
    } else {
        list.pass(Check::CpuLoad, MACHINE, found);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, facts, outcomes};
    use model::check::{Check, Outcome};
    use model::record::CpuTimes;

    // Shows check: other-io
    #[test]
    fn twenty_ios_or_a_mebibyte_per_second_of_others_warn() {
        let mut facts = facts();
        assert_eq!(answers(&facts, Check::OtherIo), ["pass nvme0n1: 0 IOPS and 0.0 MiB/s over 2.0 s"]);
        let counted = facts.activity.devices.get_mut("nvme0n1").expect("a device");
        counted.write.count = 39;
        assert_eq!(outcomes(&facts, Check::OtherIo), [Outcome::Pass]);
        let counted = facts.activity.devices.get_mut("nvme0n1").expect("a device");
        counted.read.count = 1;
        assert_eq!(answers(&facts, Check::OtherIo), ["warn nvme0n1: 20 IOPS and 0.0 MiB/s over 2.0 s"]);
        let counted = facts.activity.devices.get_mut("nvme0n1").expect("a device");
        (counted.write.count, counted.read.bytes) = (1, 2 << 20);
        assert_eq!(answers(&facts, Check::OtherIo), ["warn nvme0n1: 1 IOPS and 1.0 MiB/s over 2.0 s"]);
        facts.activity.devices.clear();
        assert_eq!(outcomes(&facts, Check::OtherIo), [Outcome::Unknown]);
    }

    // Shows check: cpu-load
    #[test]
    fn a_tenth_of_the_cpus_busy_warns() {
        let mut facts = facts();
        for (user, steal, idle, outcome) in [(5, 4, 91, Outcome::Pass), (5, 5, 90, Outcome::Warn)] {
            facts.activity.cpus = vec![CpuTimes { user, steal, idle, ..CpuTimes::default() }];
            assert_eq!(outcomes(&facts, Check::CpuLoad), [outcome]);
        }
        facts.activity.cpus.clear();
        assert_eq!(outcomes(&facts, Check::CpuLoad), [Outcome::Unknown]);
    }
}
