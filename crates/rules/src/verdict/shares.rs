//! Kernel counters of the shares that targets are on.

use super::{RuleContext, VerdictRule};
use crate::rule::{Observation, percent};
use model::finding::Severity;
use model::kernel_counters::{RpcCounters, ShareCounters};

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "rpc-retransmits",
        severity: Severity::Warn,
        unit: "requests",
        computed_from: "NFS: retransmissions of READ and WRITE requests (transmissions minus requests in \
                        /proc/self/mountstats), if there were any during the measurement",
        advice: "look for packet loss, reconnects (dmesg) and an overloaded server: a request may be sent again only \
                 after the timeout of the mount (timeo=), so the highest latencies can be as long as this timeout",
        evaluate: |context| rpcs(context, retransmitted),
    },
    VerdictRule {
        name: "rpc-queue",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "NFS: time that READ and WRITE waited in the client to be sent, as a share of their whole time \
                        (queue and execute in /proc/self/mountstats), if above 25 %, and if on average at least \
                        one request was waiting",
        advice: "add connections (nconnect=) or session slots (max_session_slots of the module nfs), or lower -o: the \
                 latency contains the wait in this client, not only network and server",
        evaluate: |context| rpcs(context, queued),
    },
];

/// Share of the time of a request that may pass in the queue of the client.
const QUEUE_SHARE_MAX: f64 = 0.25;

/// Observations on the RPCs of shares: `observe` gets their number and counters.
fn rpcs(
    context: &RuleContext<'_>,
    observe: fn(&RuleContext<'_>, &ShareCounters, u64, RpcCounters) -> Option<Observation>,
) -> Vec<Observation> {
    let Some(around) = &context.span_result.kernel_counters else { return Vec::new() };
    let counted = around.after.shares.iter().filter_map(|now| {
        let then = now.find_in(&around.before.shares).filter(|then| !now.went_backwards(then))?;
        Some(now.since(then))
    });
    let observations = counted.filter_map(|share| {
        let both = share.read.and(&share.write);
        observe(context, &share, both.count, both.rpc?)
    });
    observations.collect()
}

fn retransmitted(_: &RuleContext<'_>, share: &ShareCounters, requests: u64, rpc: RpcCounters) -> Option<Observation> {
    let count = rpc.transmission_count.saturating_sub(requests);
    let figure = format!("{}: {count} retransmissions of {requests} NFS requests", share.source);
    (count > 0).then(|| Observation::new(figure, count as f64).with_subject(&share.source))
}

fn queued(context: &RuleContext<'_>, share: &ShareCounters, _: u64, rpc: RpcCounters) -> Option<Observation> {
    let part = rpc.queue_ms as f64 / rpc.execute_ms as f64;
    let waiting = rpc.queue_ms as f64 / 1e3 / context.elapsed_s();
    let figure =
        format!("{}: NFS requests spent {} of their time in the queue of the client", share.source, percent(part));
    (part > QUEUE_SHARE_MAX && waiting >= 1.0)
        .then(|| Observation::new(figure, part * 100.0).with_subject(&share.source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{CaseResult, IOS};
    use model::kernel_counters::TransferCounters;

    /// 100 s of reads from a share, with these transmissions and times in the queue and of all in seconds.
    fn nfs(transmission_count: u64, queue_s: u64, execute_s: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        let counted = |count, rpc| ShareCounters {
            mount_point: "/mnt".into(),
            source: "nas:/a".to_owned(),
            read: TransferCounters { count, bytes: 0, rpc: Some(rpc) },
            write: TransferCounters { rpc: Some(RpcCounters::default()), ..TransferCounters::default() },
        };
        let earlier =
            RpcCounters { transmission_count: 7, timeout_count: 1, queue_ms: 5, round_trip_ms: 5, execute_ms: 10 };
        let now = RpcCounters {
            transmission_count: 7 + transmission_count,
            queue_ms: 5 + queue_s * 1000,
            execute_ms: 10 + execute_s * 1000,
            ..earlier
        };
        let around = built.span_result().kernel_counters.get_or_insert_default();
        around.before.shares = vec![counted(5, earlier)];
        around.after.shares = vec![counted(5 + IOS, now)];
        built
    }

    // Shows verdict: rpc-retransmits
    #[test]
    fn requests_that_were_sent_again_are_warned_of() {
        assert_eq!(nfs(IOS, 0, 800).found(RULES), [""; 0], "earlier ones are not of the run");
        assert_eq!(
            nfs(IOS + 12, 0, 800).found(RULES),
            ["WARN rpc-retransmits: nas:/a: 12 retransmissions of 100000 NFS requests"]
        );
    }

    // Shows verdict: rpc-queue
    #[test]
    fn much_time_in_the_queue_of_the_client_is_told() {
        assert_eq!(nfs(IOS, 200, 800).found(RULES), [""; 0], "a quarter");
        assert_eq!(
            nfs(IOS, 400, 800).found(RULES),
            ["NOTE rpc-queue: nas:/a: NFS requests spent 50.0 % of their time in the queue of the client"]
        );
        assert_eq!(nfs(IOS, 90, 100).found(RULES), [""; 0], "less than one waited");
    }

    #[test]
    fn smb_and_shares_that_were_mounted_meanwhile_are_silent() {
        let mut smb = nfs(IOS + 12, 400, 800);
        for share in &mut smb.span_result().kernel_counters.as_mut().expect("counted").after.shares {
            share.read.rpc = None;
        }
        assert_eq!(smb.found(RULES), [""; 0]);
        let mut anew = nfs(IOS + 12, 400, 800);
        anew.span_result().kernel_counters.as_mut().expect("counted").before.shares[0].read.count = 2 * IOS;
        assert_eq!(anew.found(RULES), [""; 0]);
    }
}
