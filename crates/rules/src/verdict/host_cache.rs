//! Caches of the host of a virtual machine, an array or a drive.

use super::{RuleContext, VerdictRule, footprint};
use crate::rule::{Observation, percent};
use model::cache_probe::CacheProbe;
use model::finding::Severity;
use model::plan::{Preparation, TargetPlan};
use model::units::{latency, mib};
use std::path::Path;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "host-cache",
        severity: Severity::Warn,
        unit: "ratio of the median latencies",
        computed_from: "with `--probe-host-cache`: before the run, first reads of new blocks alternate with second \
                        reads of blocks just read. WARN if the median latency of the second reads is lower by a \
                        quarter or more and a sign test over the pairs of reads is significant at the 0.1 % level; \
                        NOTE if not. Not for targets that are only written to. \
                        [How](measurement.md#the-probe-of-host-caches)",
        advice: "use a target larger than the memory of the host, or switch off the host's cache (cache=none): a cache \
                 below the target serves repeated reads",
        evaluate: |context| {
            let probes = context.result.targets.cache_probes.iter();
            probes.map(|(path, probe)| host_cache(path, probe)).collect()
        },
    },
    VerdictRule {
        name: "small-for-host",
        severity: Severity::Note,
        unit: "bytes",
        computed_from: "in a virtual machine: total size of the ranges that direct reads may access on targets on \
                        disks. Reported if smaller than the memory of the machine, or if this run wrote some of this \
                        data before the measurement",
        advice: "the host may cache the virtual disk in its memory: use --probe-host-cache to find out",
        evaluate: |context| small_for_host(context).into_iter().collect(),
    },
];

/// Least speedup of second reads for a finding of a cache.
const FASTER_MIN: f64 = 4.0 / 3.0;

/// Standard deviations of a sign test that are significant at 0.1 %.
const DEVIATIONS: f64 = 3.29;

fn host_cache(path: &Path, probe: &CacheProbe) -> Observation {
    let CacheProbe { blocks, between_bytes, second_p50_ns, other_p50_ns, faster_blocks, fast_other_blocks, .. } =
        *probe;
    let times = probe.times_faster();
    let medians = format!("medians {} and {}", latency(second_p50_ns as f64), latency(other_p50_ns as f64));
    let between = format!("after {:.0} MiB of other reads", mib(between_bytes as f64));
    let path = path.display().to_string();
    if times >= FASTER_MIN && is_significant(faster_blocks, blocks) {
        let known = f64::from(fast_other_blocks) / f64::from(blocks.max(1));
        let figure = format!(
            "rereading {blocks} blocks of '{path}' {between} was {times:.1} times as fast as reading other blocks \
             ({medians}); {} of the other blocks were as fast as the reread ones",
            percent(known)
        );
        return Observation::new(figure, times).with_subject(path);
    }
    let figure =
        format!("rereading {blocks} blocks of '{path}' {between} was no faster than reading other blocks ({medians})");
    let advice = "this does not prove that there is no cache: a target that is entirely in a cache looks the same. Use \
                  a target larger than the memory of the host";
    Observation::new(figure, times).with_subject(path).with_severity(Severity::Note).with_advice(advice)
}

/// True if this number of pairs in one direction has a probability below 0.1 % by chance.
fn is_significant(faster: u32, pairs: u32) -> bool {
    2.0 * f64::from(faster) - f64::from(pairs) >= DEVIATIONS * f64::from(pairs).sqrt()
}

fn small_for_host(context: &RuleContext<'_>) -> Option<Observation> {
    let environment = context.result.environment.as_ref()?;
    environment.virtual_machine()?;
    let is_read = |index: usize, target: &TargetPlan| {
        target.open.direct && context.work.reads(index) && footprint::is_on_devices(context, index)
    };
    let was_written = |index: usize, target: &TargetPlan| {
        is_read(index, target) && matches!(target.preparation, Preparation::MadeBefore | Preparation::Create(_))
    };
    let used_bytes = footprint::used_bytes_of(context, is_read);
    let written_bytes = footprint::used_bytes_of(context, was_written);
    let is_small = environment.memory_bytes.is_some_and(|memory| used_bytes < memory);
    let written = if written_bytes > 0 { ", some or all of it written just before" } else { "" };
    let figure = format!("the reads are confined to {} on virtual disks{written}", footprint::size(used_bytes));
    (used_bytes > 0 && (is_small || written_bytes > 0)).then(|| Observation::new(figure, used_bytes as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{CaseResult, PATH};
    use model::environment::{Environment, Hypervisor};

    fn probed(times: u64, faster_blocks: u32) -> Vec<String> {
        let mut built = CaseResult::sound();
        let probe = CacheProbe {
            blocks: 256,
            between_bytes: 512 << 20,
            first_p50_ns: 120_000,
            second_p50_ns: 30_000,
            other_p50_ns: 30_000 * times / 100,
            faster_blocks,
            fast_other_blocks: 64,
            ..CacheProbe::default()
        };
        built.result.targets.cache_probes.insert(PATH.into(), probe);
        built.found(RULES)
    }

    // Shows verdict: host-cache
    #[test]
    fn second_reads_that_are_faster_are_warned_of_and_others_noted() {
        assert_eq!(
            probed(410, 250),
            ["WARN host-cache: rereading 256 blocks of 'a.dat' after 512 MiB of other reads was 4.1 times as fast as \
              reading other blocks (medians 30 µs and 123 µs); 25.0 % of the other blocks were as fast as the reread ones"]
        );
        let same = "NOTE host-cache: rereading 256 blocks of 'a.dat' after 512 MiB of other reads was no faster than reading other blocks";
        assert_eq!(probed(101, 130), [format!("{same} (medians 30 µs and 30.3 µs)")]);
        assert!(probed(130, 250)[0].starts_with(same), "less than a third faster");
        assert!(probed(410, 140)[0].starts_with(same), "half of them may be by chance");
        assert_eq!(CaseResult::sound().found(RULES), [""; 0]);
    }

    /// Direct reads of 1 GiB in a machine with this memory in GiB.
    fn inside(hypervisor: Hypervisor, memory_gib: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        built.plan().targets[0].open.direct = true;
        built.result.environment = Some(Environment {
            memory_bytes: Some(memory_gib << 30),
            hypervisor: Some(hypervisor),
            ..Environment::default()
        });
        built
    }

    // Shows verdict: small-for-host
    #[test]
    fn a_small_part_of_a_virtual_disk_is_noted() {
        let found = "NOTE small-for-host: the reads are confined to 1 GiB on virtual disks";
        assert_eq!(inside(Hypervisor::Unnamed, 8).found(RULES), [found]);
        assert_eq!(inside(Hypervisor::Unnamed, 1).found(RULES), [""; 0]);
        let mut made = inside(Hypervisor::Unnamed, 1);
        made.plan().targets[0].preparation = Preparation::MadeBefore;
        assert_eq!(made.found(RULES), [format!("{found}, some or all of it written just before")]);
        assert_eq!(inside(Hypervisor::None, 8).found(RULES), [""; 0]);
        let mut buffered = inside(Hypervisor::Unnamed, 8);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(RULES), [""; 0]);
        let mut written = inside(Hypervisor::Unnamed, 8);
        written.work().write_percent = 100;
        assert_eq!(written.found(RULES), [""; 0]);
    }
}
