//! Reads through the page cache, and whether they came from there.

use super::{RuleContext, VerdictRule, stack};
use crate::rule::{Observation, percent};
use model::finding::Severity;
use model::result::Row;
use model::units::mib;

pub(super) const RULES: &[VerdictRule] = &[VerdictRule {
    name: "served-from-memory",
    severity: Severity::Warn,
    unit: "percent",
    computed_from: "the bytes that the run read through the page cache or from a mapping are compared with the bytes \
                    that this process fetched from storage (read_bytes in /proc/self/io, without the direct reads of \
                    the run). Reported if the bytes fetched fall short by more than 2 % plus an allowance for 50 ms of I/O and \
                    for the I/Os that may be outstanding. The value is a percentage of these reads, and a lower bound, \
                    because read-ahead fetches more than is read. Only on devices with ext2-4, xfs or vfat, or without \
                    a file system",
    advice: "bypass the page cache (-Su, -Sh), or read more than fits in memory: the figures are mostly those of memory, not \
             of the device",
    evaluate: |context| served_from_memory(context).into_iter().collect(),
}];

fn served_from_memory(context: &RuleContext<'_>) -> Option<Observation> {
    let around = context.span_result.kernel_counters.as_ref()?;
    let fetched_bytes = around.after.since(&around.before).process?.storage_read_bytes;
    let reading = context.measured.rows.iter().filter(|row| row.figures.read.bytes > 0);
    let (cached, direct): (Vec<&Row>, Vec<&Row>) =
        reading.filter(|row| context.reaches_kernel(row.target)).partition(|row| is_cached(context, row));
    // What else is read through the cache, and from where, is not known.
    if cached.is_empty() || !cached.iter().all(|row| is_fetched_as_counted(context, row)) {
        return None;
    }
    let bytes = |rows: &[&Row]| rows.iter().map(|row| row.figures.read.bytes).fold(0, u64::saturating_add);
    let read_bytes = bytes(&cached);
    let fetched_bytes = fetched_bytes.saturating_sub(bytes(&direct));
    let early_bytes = context.outstanding_bytes(&cached.iter().map(|row| row.target).collect());
    let missing_bytes = read_bytes.saturating_sub(fetched_bytes).saturating_sub(early_bytes);
    let share = missing_bytes as f64 / read_bytes as f64;
    let figure = format!(
        "at least {} of the bytes read through the page cache came from memory; the run read {:.1} MiB/s from the device",
        percent(share),
        mib(fetched_bytes as f64) / context.elapsed_s()
    );
    (share > context.slack()).then(|| Observation::new(figure, share * 100.0))
}

/// True if reads of the row go through the page cache.
fn is_cached(context: &RuleContext<'_>, row: &Row) -> bool {
    let is_direct = context.target(row.target).is_some_and(|target| target.open.direct);
    !is_direct || context.work.of(row.target).any(|work| work.mapped.is_some())
}

/// True if the kernel counts as many bytes for the process as it fetches for the row.
fn is_fetched_as_counted(context: &RuleContext<'_>, row: &Row) -> bool {
    let environment = context.environment(row.target);
    environment.is_some_and(|below| {
        let is_plain = below.mount.as_ref().is_none_or(|mount| stack::PLAIN.contains(&mount.file_system.as_str()));
        is_plain && !below.devices().is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, Built};
    use model::engine_kind::EngineKind;
    use model::kernel_counters::ProcessCounters;
    use model::plan::{MappedPlan, Pace};

    /// Reads through the page cache, of which these bytes came from storage.
    fn cached(fetched_bytes: u64) -> Built {
        let mut built = Built::sound();
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let fetched = |bytes| Some(ProcessCounters { storage_read_bytes: bytes, ..ProcessCounters::default() });
        (around.before.process, around.after.process) = (fetched(7), fetched(7 + fetched_bytes));
        built
    }

    // Shows verdict: served-from-memory
    #[test]
    fn reads_that_never_reached_the_device_are_warned_of() {
        let found = [
            "WARN served-from-memory: at least 75.0 % of the bytes read through the page cache came from memory; the \
                      run read 2.0 MiB/s from the device",
        ];
        assert_eq!(cached(BYTES / 4).found(RULES), found);
        let mut paced = cached(BYTES / 4);
        paced.work().pace = Pace::Burst { ios: 1, pause_ns: 1 };
        assert_eq!(paced.found(RULES), found);
        let mut mapped = cached(BYTES / 4);
        mapped.plan().targets[0].open.direct = true;
        mapped.work().mapped = Some(MappedPlan::default());
        assert_eq!(mapped.found(RULES), found);
    }

    #[test]
    fn reads_that_were_fetched_are_silent() {
        assert_eq!(cached(BYTES).found(RULES), [""; 0]);
        assert_eq!(cached(3 * BYTES).found(RULES), [""; 0], "read-ahead");
        assert_eq!(cached(BYTES - BYTES / 50).found(RULES), [""; 0], "2 %");
        let mut outstanding = cached(BYTES / 2);
        (outstanding.plan().workers[0].slots, outstanding.work().slots) = (50_000, 50_000);
        assert_eq!(outstanding.found(RULES), [""; 0], "the rest may have been fetched before");
    }

    #[test]
    fn what_is_not_cached_or_not_known_is_silent() {
        let mut direct = cached(0);
        direct.plan().targets[0].open.direct = true;
        assert_eq!(direct.found(RULES), [""; 0]);
        let mut compressed = cached(0);
        compressed.stands_on("btrfs");
        assert_eq!(compressed.found(RULES), [""; 0]);
        let mut null = cached(0);
        null.span_result().engines = vec![EngineKind::Null];
        assert_eq!(null.found(RULES), [""; 0]);
        assert_eq!(Built::sound().found(RULES), [""; 0], "nothing was counted");
    }
}
