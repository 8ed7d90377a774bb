//! Streams alone and together: a line for each run, and their interference.

use crate::numbers::{grouped, significant};
use model::interference::StreamInterference;
use model::printable::printable;
use model::profile::{Profile, StreamName, Throughput};
use model::units::pluralized;
use stats::interference::Spread;
use std::path::Path;

/// A share of IOPS, with the precision of single runs: `92.4 %`, `0.061 %`.
pub fn share_of_iops(percent: f64) -> String {
    format!("{} %", significant(percent))
}

/// A ratio of latencies with three digits: `1.09`, `1,760`.
pub fn factor(times: f64) -> String {
    match times {
        ..9.995 => format!("{times:.2}"),
        ..99.95 => format!("{times:.1}"),
        _ => {
            let step = 10f64.powf(times.log10().floor() - 2.0);
            grouped((times / step).round() * step)
        }
    }
}

/// The effect of the others on a stream: `oltp keeps 19.6 % of its IOPS; mean latency 5.19x, p99 1.26x`.
pub fn headline(of: &StreamInterference) -> String {
    let StreamInterference { name, alone, together, iops_share_percent, p99_factor } = of;
    let share = iops_share_percent.map(|share| format!("keeps {} of its IOPS", share_of_iops(share)));
    let factors = [("mean latency", stats::interference::mean_factor(alone, together)), ("p99", *p99_factor)];
    let factors =
        factors.into_iter().filter_map(|(figure, factor)| Some(format!("{figure} {}x", self::factor(factor?))));
    let factors: Vec<String> = factors.collect();
    let factors = (!factors.is_empty()).then(|| factors.join(", "));
    match (share, factors) {
        (Some(share), Some(factors)) => format!("{name} {share}; {factors}"),
        (Some(share), None) => format!("{name} {share}"),
        (None, Some(factors)) => format!("{name}: {factors}"),
        (None, None) => format!("{name} did no I/Os alone"),
    }
}

/// The targets that streams have in common: `same target for oltp and backup: a.dat`; `None` if no target is shared.
pub fn shared_targets(profile: &Profile) -> Option<String> {
    let mut users: Vec<(&Path, Vec<&str>)> = Vec::new();
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        let name = target.stream.as_ref().map_or("", StreamName::as_str);
        match users.iter_mut().find(|(path, _)| *path == target.path) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => users.push((&target.path, vec![name])),
        }
    }
    let mut shared: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for (path, names) in users.into_iter().filter(|(_, names)| names.len() > 1) {
        let shown = printable(&path.to_string_lossy()).into_owned();
        match shared.iter_mut().find(|(known, _)| *known == names) {
            Some((_, paths)) => paths.push(shown),
            None => shared.push((names, vec![shown])),
        }
    }
    let each = shared.iter().map(|(names, paths)| {
        format!("same {} for {}: {}", pluralized(paths.len(), "target"), names.join(" and "), listed(paths))
    });
    (!shared.is_empty()).then(|| each.collect::<Vec<_>>().join("; "))
}

/// Shared targets that are named.
const TARGETS_MAX: usize = 4;

fn listed(paths: &[String]) -> String {
    match paths {
        [first, .., last] if paths.len() > TARGETS_MAX => format!("{first}, ... {last}; {} targets", paths.len()),
        all => all.join(", "),
    }
}

/// Rounds whose median a single disturbed round does not decide.
const ROUNDS_ENOUGH: u32 = 3;

/// The number of rounds, and a note if they are too few.
pub fn rounds(rounds: u32) -> String {
    match rounds {
        1 => format!("{ONE_ROUND}: repeat it (--rounds 5)"),
        rounds => format!("medians of {rounds} rounds"),
    }
}

const ONE_ROUND: &str = "one round cannot tell interference from the scatter between runs";

/// The reason why this number of rounds is inconclusive; `None` if there are enough.
pub fn too_few(rounds: u32) -> Option<String> {
    match rounds {
        ..=1 => Some(ONE_ROUND.to_owned()),
        ROUNDS_ENOUGH.. => None,
        few => Some(format!("with only {few} rounds, a single disturbed round would shift the median")),
    }
}

/// The spread of the rounds: `share 57.4 to 62.7 %, p99 0.93x to 1.77x`.
pub fn spread(spread: &Spread) -> Option<String> {
    let share =
        spread.iops_share_percent.map(|(low, high)| format!("share {} to {}", significant(low), share_of_iops(high)));
    let factor = |(figure, range): (&str, Option<(f64, f64)>)| {
        range.map(|(low, high)| format!("{figure} {}x to {}x", self::factor(low), self::factor(high)))
    };
    let factors = [("mean latency", spread.mean_factor), ("p99", spread.p99_factor)].into_iter().filter_map(factor);
    let all: Vec<String> = share.into_iter().chain(factors).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The streams with a rate of their own, and the consequence; `None` if none has one.
pub fn capped(profile: &Profile) -> Option<String> {
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let mut names: Vec<&str> = Vec::new();
    for target in targets.filter(|target| target.throughput != Throughput::Unlimited) {
        if let Some(name) = target.stream.as_ref().map(StreamName::as_str).filter(|name| !names.contains(name)) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "limited to a rate (-g): {}: alone and together such a stream does at most that, so look at its latency",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::interference::StreamHeadline;
    use model::profile::{Target, TimeSpan};

    #[test]
    fn each_stream_has_an_answer() {
        let figures = |iops, mean_ns, p99_ns| StreamHeadline { iops, mean_ns, p99_ns, ..StreamHeadline::default() };
        let stream = |name: &str, share, factor| StreamInterference {
            name: StreamName::parse(name).expect("a name"),
            alone: figures(2000.0, Some(200_000.0), Some(1_500_000.0)),
            together: figures(1990.0, Some(940_000.0), None),
            iops_share_percent: share,
            p99_factor: factor,
        };
        let told = [stream("oltp", Some(99.5), None), stream("b", None, Some(3.0))].map(|stream| headline(&stream));
        assert_eq!(told, ["oltp keeps 99.5 % of its IOPS; mean latency 4.70x", "b: mean latency 4.70x, p99 3.00x"]);
        let limited = |name: &str, throughput| Target {
            stream: Some(StreamName::parse(name).expect("a name")),
            throughput,
            ..Target::new("a.dat")
        };
        let targets = vec![limited("oltp", Throughput::Iops(2000)), limited("b", Throughput::Unlimited)];
        let span = TimeSpan { targets, ..TimeSpan::default() };
        let profile = Profile { time_spans: vec![span], ..Profile::default() };
        assert!(capped(&profile).is_some_and(|words| words.starts_with("limited to a rate (-g): oltp: ")));
        assert_eq!(shared_targets(&profile).as_deref(), Some("same target for oltp and b: a.dat"));
        let mut silent = stream("idle", None, None);
        silent.alone.mean_ns = None;
        assert_eq!(super::headline(&silent), "idle did no I/Os alone");
        let span = TimeSpan {
            targets: [("oltp", "a.dat"), ("b", "a.dat"), ("c", "c.dat")]
                .map(|(name, path)| Target { path: path.into(), ..limited(name, Throughput::Unlimited) })
                .to_vec(),
            ..TimeSpan::default()
        };
        let of_some = Profile { time_spans: vec![span], ..Profile::default() };
        assert_eq!(shared_targets(&of_some).as_deref(), Some("same target for oltp and b: a.dat"));
        assert_eq!(shared_targets(&Profile::default()), None);
        assert!(rounds(1).starts_with("one round cannot tell "));
        let of_rounds = Spread {
            iops_share_percent: Some((57.41, 62.7)),
            mean_factor: Some((1.0, 2.5)),
            p99_factor: Some((0.93, 1.77)),
        };
        let words = "share 57.4 to 62.7 %, mean latency 1.00x to 2.50x, p99 0.93x to 1.77x";
        assert_eq!(spread(&of_rounds).as_deref(), Some(words));
        assert_eq!(spread(&Spread::default()), None);
        assert_eq!([share_of_iops(0.0613), share_of_iops(92.37)], ["0.0613 %", "92.4 %"]);
        assert_eq!([factor(1761.21), factor(12.34), factor(1.0)], ["1,760", "12.3", "1.00"]);
    }
}
