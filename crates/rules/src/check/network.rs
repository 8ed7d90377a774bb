//! Network errors, and network use by others, on the way to a share or network disk.

use super::checklist::{ALL_TARGETS, Checklist, answers};
use super::{CheckDocumentation, CheckRule};
use model::check::{CheckFacts, InterfaceActivity, NetworkPath};
use model::finding::Severity;
use model::units::{counted, mib};

pub(super) const RULES: &[CheckRule] = &[CheckRule {
    name: "network",
    severity: Severity::Warn,
    unit: "",
    computed_from: CheckDocumentation {
        looks_at: "speed and counters of the network interface to the server of a share or of `NVMe` over a network, over \
                   two seconds",
        warns_if: "errors are counted, or at least 10 % of the link's speed is used",
        fails_if: "",
    },
    advice: "look for the cause (ip -s link, ethtool -S, iftop): the network limits and delays every I/O",
    evaluate: |facts| answers(facts, paths),
}];

/// Share of the link speed that others may use, in percent.
const BUSY_PERCENT: f64 = 10.0;
const BITS_PER_BYTE: f64 = 8.0;

fn paths(facts: &CheckFacts, list: &mut Checklist) {
    let mut known: Vec<&NetworkPath> = Vec::new();
    for path in facts.targets.iter().flat_map(|target| &target.network) {
        if !known.contains(&path) {
            known.push(path);
        }
    }
    if known.is_empty() {
        list.pass(ALL_TARGETS, "no target is on a share or a network disk");
    }
    for NetworkPath { server, interface } in known {
        match interface {
            Ok(name) => match facts.activity.interfaces.get(name).filter(|_| facts.activity.duration_ms > 0) {
                Some(activity) => assess(name, server, activity, facts.activity.duration_ms, list),
                None => list.unknown(name, "the kernel has no counters for this interface"),
            },
            Err(reason) => list.unknown(server, reason),
        }
    }
}

fn assess(name: &str, server: &str, activity: &InterfaceActivity, duration_ms: u64, list: &mut Checklist) {
    let seconds = duration_ms as f64 / 1000.0;
    // Links are full duplex.
    let bytes_per_s = activity.received_bytes.max(activity.sent_bytes) as f64 / seconds;
    let percent = |link_mbit_per_s: u64| bytes_per_s * BITS_PER_BYTE * 100.0 / (link_mbit_per_s as f64 * 1e6);
    let used = activity.link_mbit_per_s.map(percent);
    let link = match (activity.link_mbit_per_s, used) {
        (Some(speed), Some(used)) => format!("{} Gbit/s, {used:.1} % used", speed as f64 / 1000.0),
        _ => "link speed unknown".to_owned(),
    };
    let found = format!(
        "to {server}: {link} ({:.1} MiB/s); {} and {} now, {} and {} since boot",
        mib(bytes_per_s),
        counted(activity.error_count, "error"),
        counted(activity.drop_count, "drop"),
        activity.error_total,
        activity.drop_total,
    );
    if activity.error_count > 0 || used.is_some_and(|used| used >= BUSY_PERCENT) {
        list.warn(name, found);
    } else {
        list.pass(name, found);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, facts, outcomes};
    use model::check::{InterfaceActivity, NetworkPath};
    use model::finding::Severity;

    // Shows check: network
    #[test]
    fn errors_or_a_tenth_of_the_link_warn() {
        let mut facts = facts();
        assert_eq!(answers(&facts, "network"), ["pass targets: no target is on a share or a network disk"]);
        let path = NetworkPath { server: "10.0.0.5".to_owned(), interface: Ok("eth0".to_owned()) };
        facts.targets[0].network = vec![path];
        assert_eq!(outcomes(&facts, "network"), [Severity::Unknown]);
        // In 2 s, 10 % of 10 Gbit/s are 250 MB.
        for (received_bytes, sent_bytes, error_count, link_mbit_per_s, outcome) in [
            (249_000_000, 249_000_000, 0, Some(10_000), Severity::Pass),
            (250_000_000, 0, 0, Some(10_000), Severity::Warn),
            (0, 250_000_000, 0, Some(10_000), Severity::Warn),
            (250_000_000, 0, 0, None, Severity::Pass),
            (0, 0, 1, None, Severity::Warn),
        ] {
            let activity = InterfaceActivity {
                link_mbit_per_s,
                received_bytes,
                sent_bytes,
                error_count,
                ..InterfaceActivity::default()
            };
            facts.activity.interfaces.insert("eth0".to_owned(), activity);
            assert_eq!(outcomes(&facts, "network"), [outcome], "{activity:?}");
        }
        let activity = InterfaceActivity {
            link_mbit_per_s: Some(2500),
            received_bytes: 2 << 20,
            drop_count: 1,
            error_total: 7,
            drop_total: 8,
            ..InterfaceActivity::default()
        };
        facts.activity.interfaces.insert("eth0".to_owned(), activity);
        let found = "to 10.0.0.5: 2.5 Gbit/s, 0.3 % used (1.0 MiB/s); 0 errors and 1 drop now, 7 and 8 since boot";
        assert_eq!(answers(&facts, "network"), [format!("pass eth0: {found}")]);
        facts.targets[0].network[0].interface = Err("no route".to_owned());
        assert_eq!(answers(&facts, "network"), ["unknown 10.0.0.5: no route"]);
    }
}
