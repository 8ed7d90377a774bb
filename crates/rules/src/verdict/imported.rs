//! Results of DiskSpd for Windows, with only the load and the figures known.

use super::{RuleContext, VerdictRule};
use crate::rule::{Observation, percent};
use model::finding::Severity;
use model::profile::{CacheMode, Target, Throughput};
use model::units::{counted, grouped, latency, mib, pluralized};

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "imported-cached",
        severity: Severity::Warn,
        unit: "targets",
        computed_from: "pages of results of DiskSpd for Windows: targets that were measured through the file system's cache \
                        (no `-Su`, `-Sh` or `-h`)",
        advice: "the figures are those of memory as well as of the disk: to measure the disk, repeat the run with -Sh",
        evaluate: |context| cached(context).into_iter().collect(),
    },
    VerdictRule {
        name: "imported-rate",
        severity: Severity::Note,
        unit: "targets",
        computed_from: "pages of results of DiskSpd for Windows: targets with a rate limit (`-g`). The finding also shows \
                        whether the run reached it, to 5 %",
        advice: "IOPS and throughput are at most those of the limit, not those that the target can do: read the latency, if it was measured (-L), or \
                 repeat the run without the limit (-g, or its Throughput element in an XML profile)",
        evaluate: |context| limited(context).into_iter().collect(),
    },
    VerdictRule {
        name: "imported-busy-cpu",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "pages of results of DiskSpd for Windows: usage of the busiest CPU, if it is 95 % or more, unless the run \
                        reached its rate limit (`-g`)",
        advice: "this CPU may limit the figures: look which program used it, and repeat the run with threads on other CPUs (-a)",
        evaluate: |context| busy_cpu(context).into_iter().collect(),
    },
    VerdictRule {
        name: "imported-outlier",
        severity: Severity::Note,
        unit: "times the 99.9th percentile",
        computed_from: "pages of results of DiskSpd for Windows with `-L`: the highest latency, if it is at least 10 times \
                        the 99.9th percentile and 10 ms or more",
        advice: "the file does not say what delayed this I/O: repeat the run, and look whether it comes back; quote the median \
                 beside the mean",
        evaluate: |context| outlier(context).into_iter().collect(),
    },
    VerdictRule {
        name: "imported-contradiction",
        severity: Severity::Warn,
        unit: "contradictions",
        computed_from: "pages of results of DiskSpd for Windows: figures and settings that do not fit together. I/Os per \
                        second times mean latency (Little's law) is below half or above 110 % of the outstanding I/Os of \
                        all threads, in loads without pauses or rate limit and with 100 I/Os or more; bytes per second \
                        differ by more than 2 % from I/Os per second times the block size; a target is smaller than one \
                        block; `-t` or `-o` of the command line is not what the settings of the file say",
        advice: "the file was edited or put together from several, or the run was disturbed: do not use its figures before \
                 you know why; measure again",
        evaluate: |context| contradictions(context).into_iter().collect(),
    },
];

/// Range of the share of the depth that IOPS and latency explain in a closed loop.
const EXPLAINED: std::ops::RangeInclusive<f64> = 0.5..=1.1;
/// I/Os below which the first and the last distort the result.
const IOS_MIN: u64 = 100;
/// Relative difference allowed for rounding.
const ROUNDING: f64 = 0.02;

/// Share of a rate limit from which it counts as reached.
const REACHED: f64 = 0.95;
/// Share of its time from which a CPU counts as busy all the time.
const BUSY: f64 = 0.95;

/// A maximum this many times the 99.9th percentile is an outlier.
const OUTLIER_FACTOR: f64 = 10.0;
/// Shorter ones are normal.
const OUTLIER_MIN_NS: u64 = 10_000_000;

/// The targets of a result of another program: it has neither a plan nor the name of this program.
fn targets<'a>(context: &RuleContext<'a>) -> &'a [Target] {
    let is_imported = context.result.tool.implementation.is_none() && context.plan.is_none();
    if is_imported { &context.span.targets } else { &[] }
}

fn cached(context: &RuleContext<'_>) -> Option<Observation> {
    let all = targets(context);
    let count = all.iter().filter(|target| target.cache_mode != CacheMode::Unbuffered).count();
    let which = if count == all.len() { String::new() } else { format!(" of {count} of {} targets", all.len()) };
    (count > 0).then(|| Observation::new(format!("the I/O{which} went through the file system's cache"), count as f64))
}

fn limited(context: &RuleContext<'_>) -> Option<Observation> {
    let words = |target: &Target| match target.throughput {
        Throughput::Unlimited => None,
        Throughput::BytesPerMs(bytes) => Some(format!("{} per ms", counted(bytes, "byte"))),
        Throughput::Iops(iops) => Some(format!("{iops} IOPS")),
    };
    let limits: Vec<String> = targets(context).iter().filter_map(words).collect();
    let first = limits.first()?;
    let of_first = if limits.iter().all(|limit| limit == first) { "" } else { " (first target)" };
    let figure = format!("each thread was limited to {first}{of_first}");
    let Some((asked, share)) = share_of_limit(context) else {
        return Some(Observation::new(figure, limits.len() as f64));
    };
    let reached = format!("{figure}, {asked} in all; the run reached {}", percent(share));
    let observation = Observation::new(reached, limits.len() as f64);
    Some(if share < REACHED {
        observation.with_advice(
            "the limit was not reached, so something else held the load back: the outstanding I/Os, the CPUs, the target, or how \
             DiskSpd keeps to the limit. Repeat the run without it (-g, or its Throughput element in an XML profile) to see what the target can do",
        )
    } else {
        observation
    })
}

/// The limits of all threads together, and the share that the run reached; `None` unless all targets have one.
fn share_of_limit(context: &RuleContext<'_>) -> Option<(String, f64)> {
    let span = context.span;
    let limit_per_thread = |target: &Target| match target.throughput {
        Throughput::Unlimited => None,
        Throughput::BytesPerMs(bytes) => Some(f64::from(bytes) * 1e3),
        Throughput::Iops(iops) => Some(f64::from(iops) * target.block_size.get() as f64),
    };
    let limit = |target: &Target| Some(limit_per_thread(target)? * f64::from(span.threads_on(target)));
    let asked = targets(context).iter().map(limit).sum::<Option<f64>>().filter(|asked| *asked > 0.0)?;
    // DiskSpd rounds bytes per second, not bytes.
    let reached = context.measured.total.total.bytes as f64 / context.elapsed_s();
    (span.thread_count == 0).then(|| (format!("{:.2} MiB/s", mib(asked)), reached / asked))
}

/// A saturated CPU.
fn busy_cpu(context: &RuleContext<'_>) -> Option<Observation> {
    targets(context).first()?;
    // A rate limit that was reached was the bottleneck.
    if share_of_limit(context).is_some_and(|(_, share)| share >= REACHED) {
        return None;
    }
    let busiest =
        context.measured.cpus.iter().max_by(|one, other| one.usage_percent.total_cmp(&other.usage_percent))?;
    let share = busiest.usage_percent / 100.0;
    let figure = format!("CPU {} was busy for {} of the measured time", busiest.cpu, percent(share));
    (share >= BUSY).then(|| Observation::new(figure, busiest.usage_percent))
}

fn outlier(context: &RuleContext<'_>) -> Option<Observation> {
    targets(context).first()?;
    let latencies = context.measured.total_latency.as_ref()?.total.as_ref()?;
    let (max_ns, p999_ns) = (latencies.figures.max_ns?, latencies.at(999_000_000)?);
    let factor = max_ns as f64 / p999_ns.max(1) as f64;
    if max_ns < OUTLIER_MIN_NS || factor < OUTLIER_FACTOR {
        return None;
    }
    let sum_ns = latencies.figures.mean_ns * latencies.count as f64;
    let share = max_ns as f64 / sum_ns.max(1.0) * 100.0;
    let figure = format!(
        "the slowest I/O took {}, {factor:.0} times the 99.9th percentile ({}), and makes up {share:.0} % of the \
         mean latency",
        latency(max_ns as f64),
        latency(p999_ns as f64)
    );
    Some(Observation::new(figure, factor))
}

/// Figures that contradict each other.
fn contradictions(context: &RuleContext<'_>) -> Option<Observation> {
    let all = targets(context);
    let found = [outstanding(context, all), sizes(context, all)].into_iter().flatten();
    let found: Vec<String> = found.chain(small_targets(context, all)).chain(typed(context, all)).collect();
    (!found.is_empty()).then(|| Observation::new(found.join("; "), found.len() as f64))
}

/// Contradiction of Little's law.
fn outstanding(context: &RuleContext<'_>, all: &[Target]) -> Option<String> {
    let is_unpaced = |target: &Target| {
        target.throughput == Throughput::Unlimited && target.burst_ios.is_none() && target.think_time_ms.is_none()
    };
    let figures = &context.measured.total.total;
    if all.is_empty()
        || figures.ios < IOS_MIN
        || !all.iter().all(is_unpaced)
        || all.iter().any(|target| target.memory_mapped)
    {
        return None;
    }
    let span = context.span;
    let depth = if span.is_pool_with_requests() {
        u64::from(span.thread_count).saturating_mul(span.request_count.into())
    } else {
        let ios_of_target =
            |target: &Target| u64::from(span.threads_on(target)).saturating_mul(target.outstanding.into());
        all.iter().map(ios_of_target).fold(0, u64::saturating_add)
    };
    let mean_ns = figures.latency?.mean_ns;
    let explained = figures.iops * mean_ns / 1e9;
    let is_explained = depth == 0 || EXPLAINED.contains(&(explained / depth as f64));
    (!is_explained).then(|| {
        format!(
            "{} I/Os per second of {} each keep {explained:.2} I/Os outstanding (Little's law), not the {depth} of the \
             settings",
            grouped(figures.iops),
            latency(mean_ns)
        )
    })
}

/// Contradiction of bytes and I/Os of targets with one block size.
fn sizes(context: &RuleContext<'_>, all: &[Target]) -> Option<String> {
    let block_bytes = all.first()?.block_size.get();
    let figures = &context.measured.total.total;
    let size_bytes = figures.bytes as f64 / figures.ios.max(1) as f64;
    let is_one_size = all.iter().all(|target| target.block_size.get() == block_bytes);
    let is_other = (size_bytes / block_bytes.max(1) as f64 - 1.0).abs() > ROUNDING;
    (is_one_size && figures.ios > 0 && is_other).then(|| {
        format!(
            "{} bytes in {} {} are {} bytes each, not the {} of the block size",
            grouped(figures.bytes as f64),
            grouped(figures.ios as f64),
            pluralized(figures.ios, "I/O"),
            grouped(size_bytes),
            grouped(block_bytes as f64)
        )
    })
}

fn small_targets<'a>(context: &'a RuleContext<'_>, all: &'a [Target]) -> impl Iterator<Item = String> + 'a {
    all.iter().enumerate().filter_map(|(index, target)| {
        let row = context.measured.rows.iter().find(|row| row.target == index && row.target_size_bytes > 0)?;
        let (size, block) = (row.target_size_bytes, target.block_size.get());
        let path = target.path.display();
        (size < block).then(|| {
            let (bytes, size, block) = (pluralized(size, "byte"), grouped(size as f64), grouped(block as f64));
            format!("the target '{path}' has {size} {bytes}, less than one block of {block} bytes")
        })
    })
}

/// Contradiction with threads and depth as typed, if all targets of the only timespan have the same.
fn typed(context: &RuleContext<'_>, all: &[Target]) -> Vec<String> {
    let words: Vec<&str> = context.result.command_line.split_whitespace().collect();
    let is_profile = words.iter().any(|word| word.starts_with("-X") || word.starts_with("/X"));
    if is_profile || context.result.time_spans.len() != 1 || context.span.thread_count > 0 {
        return Vec::new();
    }
    let value = |word: &&str, option| word.strip_prefix(['-', '/'])?.strip_prefix(option)?.parse::<u32>().ok();
    let differing = |option: char, name: &str, of: fn(&Target) -> u32| {
        let typed = words.iter().rev().find_map(|word| value(word, option))?;
        let other = all.iter().map(of).find(|value| *value != typed)?;
        Some(format!(
            "the command line asks for {typed} {name} (-{option}{typed}), the settings of the file are {other}"
        ))
    };
    [
        differing('t', "threads per target", |target| target.threads),
        differing('o', "outstanding I/Os per thread", |target| target.outstanding),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::CaseResult;
    use crate::verdict::judge;
    use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures, Percentile};
    use model::result::CpuUsage;
    use model::units::Bytes;

    /// A result as read from a file of DiskSpd: cached, with a limit, and with one slow I/O of 872 ms.
    fn imported() -> CaseResult {
        let mut built = CaseResult::sound();
        (built.result.plan, built.result.tool.implementation) = (None, None);
        let target = &mut built.result.profile.time_spans[0].targets[0];
        (target.throughput, target.block_size) = (Throughput::BytesPerMs(2000), Bytes(8192));
        let figures = LatencyFigures { mean_ns: 539_000.0, max_ns: Some(872_000_000), ..LatencyFigures::default() };
        let percentiles = vec![Percentile { rank_ppb: 999_000_000, value_ns: 4_660_000 }];
        let total = LatencyDistribution { count: 2145, figures, percentiles, ..LatencyDistribution::default() };
        built.measured().total_latency = Some(Directions { total: Some(total), ..Directions::default() });
        let elapsed_ns = built.measured().elapsed_ns;
        let bytes = 1_500_000 * elapsed_ns / 1_000_000_000;
        let total = &mut built.measured().total.total;
        (total.bytes, total.ios) = (bytes, bytes / 8192);
        let used = |cpu, usage_percent| CpuUsage { cpu, usage_percent, ..CpuUsage::default() };
        built.measured().cpus = vec![used(0, 53.0), used(1, 99.5)];
        built
    }

    fn of_imported(built: &mut CaseResult) -> Vec<String> {
        judge(&mut built.result);
        let verdict = built.result.time_spans[0].verdict.clone().expect("there are figures");
        let imported = verdict.findings.iter().filter(|finding| finding.name.starts_with("imported-"));
        imported.map(|finding| format!("{} {}: {}", finding.severity, finding.name, finding.figure)).collect()
    }

    // Shows verdict: imported-cached
    // Shows verdict: imported-rate
    // Shows verdict: imported-busy-cpu
    // Shows verdict: imported-outlier
    #[test]
    fn imported_results_have_the_findings_that_need_only_their_figures() {
        let mut built = imported();
        assert_eq!(
            of_imported(&mut built),
            [
                "WARN imported-cached: the I/O went through the file system's cache",
                "NOTE imported-rate: each thread was limited to 2000 bytes per ms, 1.91 MiB/s in all; the run reached 75.0 %",
                "NOTE imported-busy-cpu: CPU 1 was busy for 99.5 % of the measured time",
                "NOTE imported-outlier: the slowest I/O took 872 ms, 187 times the 99.9th percentile (4.66 ms), and makes \
                 up 75 % of the mean latency",
            ]
        );
        built.measured().total.total.bytes *= 2;
        assert!(of_imported(&mut built).iter().all(|line| !line.contains("busy")), "the limit was what limited it");
        built.measured().total.total.bytes /= 2;
        let target = &mut built.result.profile.time_spans[0].targets[0];
        (target.throughput, target.cache_mode) = (Throughput::Unlimited, CacheMode::Unbuffered);
        built.measured().total_latency = None;
        built.measured().cpus.pop();
        assert_eq!(of_imported(&mut built), [""; 0]);
        assert_eq!(of_imported(&mut CaseResult::sound()), [""; 0], "results of this program have rules that know more");
    }

    /// A page of 19 IOPS at 343 µs and QD 4, with a target of 100 bytes, did not mention it.
    // Shows verdict: imported-contradiction
    #[test]
    fn figures_that_contradict_each_other_are_told() {
        let mut built = imported();
        let found = |built: &mut CaseResult| -> Vec<String> {
            let mut all = of_imported(built).into_iter();
            let figure = all.find_map(|line| line.strip_prefix("WARN imported-contradiction: ").map(str::to_owned));
            figure.map(|figure| figure.split("; ").map(str::to_owned).collect()).unwrap_or_default()
        };
        let mut figures = Figures { ios: 192, bytes: 192 << 13, iops: 19.2, ..Figures::default() };
        let mean = |mean_ns| Some(LatencyFigures { mean_ns, ..LatencyFigures::default() });
        figures.latency = mean(343_000.0);
        built.measured().total.total = figures;
        built.result.command_line = "diskspd.exe -b8K -t2 -o2 a.dat".to_owned();
        let target = &mut built.result.profile.time_spans[0].targets[0];
        (target.throughput, target.block_size, target.outstanding) = (Throughput::Unlimited, Bytes(8192), 2);
        built.measured().rows[0].target_size_bytes = 100;
        assert_eq!(
            found(&mut built),
            [
                "19 I/Os per second of 343 µs each keep 0.01 I/Os outstanding (Little's law), not the 2 of the settings",
                "the target 'a.dat' has 100 bytes, less than one block of 8,192 bytes",
                "the command line asks for 2 threads per target (-t2), the settings of the file are 1",
            ]
        );
        built.measured().rows[0].target_size_bytes = 1 << 30;
        built.result.command_line = "diskspd.exe -b8K -t1 -o2 a.dat".to_owned();
        built.measured().total.total = Figures { latency: mean(100e6), ..figures };
        assert_eq!(found(&mut built), [""; 0], "19.2 I/Os of 100 ms are 1.92 outstanding");
        built.measured().total.total = Figures { latency: mean(100e6), bytes: 192 << 16, ..figures };
        assert_eq!(
            found(&mut built),
            ["12,582,912 bytes in 192 I/Os are 65,536 bytes each, not the 8,192 of the block size"]
        );
        assert_eq!(of_imported(&mut CaseResult::sound()), [""; 0]);
    }
}
