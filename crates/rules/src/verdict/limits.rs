//! Configured limits, instead of the target, that decided the rate.

use super::stack::DeviceIo;
use super::{RuleContext, VerdictRule};
use crate::rule::{Observation, percent};
use model::environment::{IoRates, Limit};
use model::finding::Severity;
use model::note::Note;
use stats::own_limits::{self, OwnLimit, ReachedLimit};
use std::collections::BTreeSet;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "io-limited",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "rates of the run on a disk or loop device, as a share of the limits that this process's \
                        cgroups set for that device (io.max, blkio.throttle), if above 90 %. Only for devices to which \
                        `other-io` applies",
        advice: "raise or remove the I/O limit (io.max, blkio.throttle) of the cgroup or container: the result \
                 measures the limit, not the target",
        evaluate: |context| context.devices().iter().filter_map(|on| io_limited(context, on)).collect(),
    },
    VerdictRule {
        name: "depth-limited",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "with `--rate`: I/Os that started late because all requests (-o) were outstanding, as a share \
                        of the I/Os started, if above 2 %",
        advice: "allow more outstanding I/Os (-o, -t): response times include the wait in diskspd for a free request",
        evaluate: |context| {
            context.noted(|note| {
                let Note::StartsDelayedByDepth { delayed, started, .. } = note else { return None };
                starts(*delayed, *started, "started late because all requests (-o) were outstanding")
            })
        },
    },
    VerdictRule {
        name: "starts-not-made",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "with `--rate`: I/Os that should have started, but had not when the measurement ended, as a \
                        share of all scheduled I/Os, if above 2 %",
        advice: "lower the rate (--rate), or treat the run as overloaded: response times leave out the I/Os still \
                 waiting at the end",
        evaluate: |context| {
            context.noted(|note| {
                let Note::StartsNotMade { backlog, intended } = note else { return None };
                starts(*backlog, *intended, "were never started")
            })
        },
    },
    VerdictRule {
        name: "rate-limited",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "loads that reached a limit of their own: I/Os or bytes of each thread on a target as a share of its \
                        limit (`-g`), if within 2 % of it; I/Os completed as a share of those scheduled (`--rate`), if 98 % or \
                        more; I/Os in bursts as a share of those that the pauses allow (`-i`, `-j`), if 90 % or more. The \
                        value is the smallest share",
        advice: "IOPS and throughput are those of the limit, not what the storage can do: compare latencies, or raise the limit",
        evaluate: |context| rate_limited(context).into_iter().collect(),
    },
];

/// The load reached its own limit, on all targets or on some.
fn rate_limited(context: &RuleContext<'_>) -> Option<Observation> {
    // `imported-rate` reports it for other programs' results.
    if context.result.tool.implementation.is_none() && context.plan.is_none() {
        return None;
    }
    let targets = own_limits::reached_limits(context.span, context.measured);
    let reached: Vec<ReachedLimit> = targets.iter().copied().flatten().collect();
    let least = reached.iter().map(|reached| reached.share).min_by(f64::total_cmp)?;
    let limits: BTreeSet<OwnLimit> = reached.iter().map(|reached| reached.limit).collect();
    let options = limits.into_iter().map(OwnLimit::option).collect::<Vec<_>>().join("; ");
    let figure = if reached.len() == targets.len() {
        format!("the load reached {} of its own limit ({options})", percent(least))
    } else {
        format!("{} of {} targets reached their own limit ({options})", reached.len(), targets.len())
    };
    Some(Observation::new(figure, least * 100.0))
}

/// Share of a limit from which a rate counts as limited.
const AT_LIMIT: f64 = 0.9;

/// True if a configured limit is known to have decided the rate.
pub(super) fn decided(context: &RuleContext<'_>) -> bool {
    RULES.iter().any(|rule| !(rule.evaluate)(context).is_empty())
}

/// A rate at the limit of a cgroup on the device.
fn io_limited(context: &RuleContext<'_>, on: &DeviceIo<'_>) -> Option<Observation> {
    let set = context.result.environment.as_ref()?.cgroup_limits.iter();
    let on_it = set.filter_map(|set| match &set.limit {
        Limit::Io { device, rates } if is_same(on, device.number, device.name.as_deref()) => Some((set, *rates)),
        _ => None,
    });
    let observations = on_it.filter_map(|(set, rates)| {
        let (share, what) = nearest(context, on, rates)?;
        let figure = format!(
            "{} on {} was at {:.0} % of the limit in {} of cgroup {}",
            what,
            on.device.name,
            share * 100.0,
            set.file,
            set.cgroup.display()
        );
        (share > AT_LIMIT).then(|| (share, Observation::new(figure, share * 100.0).with_subject(&on.device.name)))
    });
    observations.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, observation)| observation)
}

fn is_same(on: &DeviceIo<'_>, number: model::block_device::DeviceNumber, name: Option<&str>) -> bool {
    on.device.number == Some(number) || name == Some(on.device.name.as_str())
}

/// The rate closest to its limit: its share of it, and its name.
fn nearest(context: &RuleContext<'_>, on: &DeviceIo<'_>, limits: IoRates) -> Option<(f64, &'static str)> {
    let rate = |count: u64| count as f64 / context.elapsed_s();
    let (reads, writes) = (on.reads(), on.writes());
    let rates = [
        (limits.read_bytes_per_s, rate(reads.bytes), "read throughput"),
        (limits.write_bytes_per_s, rate(writes.bytes), "write throughput"),
        (limits.read_ios_per_s, rate(reads.ios), "read IOPS"),
        (limits.write_ios_per_s, rate(writes.ios), "write IOPS"),
    ];
    let shares = rates.into_iter().filter_map(|(limit, rate, what)| Some((rate / limit? as f64, what)));
    shares.filter(|(share, _)| share.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Late or missing starts of an open loop.
fn starts(count: u64, of: u64, what: &str) -> Option<Observation> {
    let share = count as f64 / of.max(1) as f64;
    let figure = format!("{} of the intended I/Os {what}", percent(share));
    (share > super::WORTH_A_WARNING).then(|| Observation::new(figure, share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, CaseResult, IOS};
    use model::environment::{CgroupDevice, CgroupLimit, Environment};
    use model::profile::Throughput;
    use model::result::Row;

    fn limited(device: &str, rates: IoRates) -> CaseResult {
        let mut built = CaseResult::sound();
        built.plan().targets[0].open.direct = true;
        built.counted("sda").read.bytes = BYTES;
        let device = CgroupDevice { name: Some(device.to_owned()), ..CgroupDevice::default() };
        let limit =
            CgroupLimit { cgroup: "/job".into(), file: "io.max".to_owned(), limit: Limit::Io { device, rates } };
        built.result.environment = Some(Environment { cgroup_limits: vec![limit], ..Environment::default() });
        built
    }

    #[test]
    fn a_rate_at_its_limit_is_warned_of() {
        let reads = |limit| IoRates { read_ios_per_s: Some(limit), ..IoRates::default() };
        let per_s = IOS / 100;
        assert_eq!(limited("sda", reads(2 * per_s)).found(RULES), [""; 0], "far below");
        assert_eq!(limited("sdb", reads(per_s)).found(RULES), [""; 0], "another disk");
        assert_eq!(
            limited("sda", reads(per_s)).found(RULES),
            ["WARN io-limited: read IOPS on sda was at 100 % of the limit in io.max of cgroup /job"]
        );
        let writes = IoRates { write_bytes_per_s: Some(1), ..IoRates::default() };
        assert_eq!(limited("sda", writes).found(RULES), [""; 0], "nothing was written");
    }

    // Shows verdict: rate-limited
    #[test]
    fn a_load_that_reaches_its_own_limit_says_so() {
        let mut built = CaseResult::sound();
        let limit = |built: &mut CaseResult, iops| {
            built.result.profile.time_spans[0].targets[0].throughput = Throughput::Iops(iops);
        };
        limit(&mut built, 1000);
        assert_eq!(built.found(RULES), ["NOTE rate-limited: the load reached 100.0 % of its own limit (-g)"]);
        limit(&mut built, 1100);
        assert_eq!(built.found(RULES), [""; 0], "something else held it back");
        limit(&mut built, 1000);
        let mut unlimited = built.result.profile.time_spans[0].targets[0].clone();
        unlimited.throughput = Throughput::Unlimited;
        built.result.profile.time_spans[0].targets.push(unlimited);
        let other = Row { target: 1, ..built.measured().rows[0].clone() };
        built.measured().rows.push(other);
        assert_eq!(built.found(RULES), ["NOTE rate-limited: 1 of 2 targets reached their own limit (-g)"]);
        (built.result.plan, built.result.tool.implementation) = (None, None);
        let imported = RuleContext::new(&built.result, 0).expect("it measured");
        assert_eq!(rate_limited(&imported), None, "imported-rate says it");
    }

    #[test]
    fn late_and_missing_starts_count_above_two_percent() {
        let found = |note: Note| {
            let mut built = CaseResult::sound();
            built.span_result().notes = vec![note];
            built.found(RULES)
        };
        let delayed = |delayed| Note::StartsDelayedByDepth { delayed, started: 1000, depth: 4 };
        assert_eq!(found(delayed(20)), [""; 0]);
        assert_eq!(
            found(delayed(500)),
            ["WARN depth-limited: 50.0 % of the intended I/Os started late because all requests (-o) were outstanding"]
        );
        let missing = |backlog| Note::StartsNotMade { backlog, intended: 1000 };
        assert_eq!(found(missing(20)), [""; 0]);
        assert_eq!(found(missing(250)), ["WARN starts-not-made: 25.0 % of the intended I/Os were never started"]);
    }
}
