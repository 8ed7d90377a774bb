//! Limits that were set, and not the target, that decided the rate.

use super::stack::OnDevice;
use super::{Rule, RuleContext};
use model::environment::{IoRates, Limit};
use model::note::Note;
use model::verdict::{Finding, Severity};

pub(super) const IO_LIMITED: Rule = Rule {
    name: "io-limited",
    severity: Severity::Warn,
    advice: "raise or remove the I/O limit (io.max, blkio.throttle) of the cgroup or container: the result measures \
             the limit, not the target",
};

pub(super) const DEPTH_LIMITED: Rule = Rule {
    name: "depth-limited",
    severity: Severity::Warn,
    advice: "allow more outstanding I/Os (-o, -t): response times include queueing in diskspd at the -o limit",
};

pub(super) const STARTS_NOT_MADE: Rule = Rule {
    name: "starts-not-made",
    severity: Severity::Warn,
    advice: "lower the rate (--rate), or treat the run as overloaded: response times leave out the I/Os still waiting \
             at the end",
};

/// How near to a limit a rate must be to be taken for it.
const AT_LIMIT: f64 = 0.9;

pub(super) fn evaluate(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = context.devices().iter().filter_map(|on| io_limited(context, on)).collect();
    findings.extend(context.notes().filter_map(open_loop));
    findings
}

/// A rate that is as high as a cgroup allows on the device.
fn io_limited(context: &RuleContext<'_>, on: &OnDevice<'_>) -> Option<Finding> {
    let set = context.result.environment.as_ref()?.cgroup_limits.iter();
    let on_it = set.filter_map(|set| match &set.limit {
        Limit::Io { device, rates } if is_same(on, device.number, device.name.as_deref()) => Some((set, *rates)),
        _ => None,
    });
    let findings = on_it.filter_map(|(set, rates)| {
        let (share, what) = nearest(context, on, rates)?;
        let figure = format!(
            "{} on {} was at {:.0} % of the limit in {} of cgroup {}",
            what,
            on.device.name,
            share * 100.0,
            set.file,
            set.cgroup.display()
        );
        (share > AT_LIMIT).then(|| IO_LIMITED.finding(figure, share * 100.0))
    });
    findings.max_by(|a, b| a.value.partial_cmp(&b.value).unwrap_or(std::cmp::Ordering::Equal))
}

fn is_same(on: &OnDevice<'_>, number: model::block_device::DeviceNumber, name: Option<&str>) -> bool {
    on.device.number == Some(number) || name == Some(on.device.name.as_str())
}

/// The rate that is nearest to its limit: its share of it, and what it is.
fn nearest(context: &RuleContext<'_>, on: &OnDevice<'_>, limits: IoRates) -> Option<(f64, &'static str)> {
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

/// Starts of an open loop that were late or not made for want of requests.
fn open_loop(note: &Note) -> Option<Finding> {
    let (rule, count, of) = match note {
        Note::StartsDelayedByDepth { delayed, started, .. } => (DEPTH_LIMITED, *delayed, *started),
        Note::StartsNotMade { backlog, intended } => (STARTS_NOT_MADE, *backlog, *intended),
        _ => return None,
    };
    let share = count as f64 / of.max(1) as f64;
    let what = if rule == DEPTH_LIMITED {
        "started late because all requests (-o) were outstanding"
    } else {
        "were never started"
    };
    let figure = format!("{} of the intended I/Os {what}", super::rule::percent(share));
    (share > super::WORTH_A_WARNING).then(|| rule.finding(figure, share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, Built, IOS};
    use model::environment::{CgroupDevice, CgroupLimit, Environment};

    fn limited(device: &str, rates: IoRates) -> Built {
        let mut built = Built::sound();
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
        assert_eq!(limited("sda", reads(2 * per_s)).found(evaluate), [""; 0], "far below");
        assert_eq!(limited("sdb", reads(per_s)).found(evaluate), [""; 0], "another disk");
        assert_eq!(
            limited("sda", reads(per_s)).found(evaluate),
            ["WARN io-limited: read IOPS on sda was at 100 % of the limit in io.max of cgroup /job"]
        );
        let writes = IoRates { write_bytes_per_s: Some(1), ..IoRates::default() };
        assert_eq!(limited("sda", writes).found(evaluate), [""; 0], "nothing was written");
    }

    #[test]
    fn late_and_missing_starts_count_above_two_percent() {
        let found = |note: Note| {
            let mut built = Built::sound();
            built.span_result().notes = vec![note];
            built.found(evaluate)
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
