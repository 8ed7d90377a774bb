//! One cause, one finding: findings that are suppressed by the one that explains them.
//!
//! A limit that holds I/Os back also empties the device's queue: naming both would mislead. A [`Severity::Invalid`]
//! finding is never suppressed: it is a fact about the results, whatever its cause.

use model::finding::{Finding, Severity};
use std::collections::BTreeMap;

/// A rule and the findings that its condition explains.
#[derive(Debug)]
pub struct Cause {
    /// Name of the rule that is reported.
    pub name: &'static str,
    /// Names of the rules that it suppresses.
    pub explains: &'static [&'static str],
    /// The condition for that.
    pub condition: Condition,
    /// The reason, as the end of a sentence that begins with the rule.
    pub because: &'static str,
}

/// The condition under which a finding explains another one. It must also be at least as severe.
#[derive(Debug)]
pub struct Condition {
    /// In words; empty = always.
    pub words: &'static str,
    /// True if the explaining finding must be reported itself.
    is_told: bool,
    /// Predicate on the explaining finding and the other one.
    holds: fn(&Finding, &Finding) -> bool,
}

const ALWAYS: Condition = Condition { words: "", is_told: false, holds: |_, _| true };

/// Most of the load, by the percentage that the finding has as its value.
const MOSTLY: Condition =
    Condition { words: "if its value is above 50 %", is_told: false, holds: |cause, _| cause.value > Some(50.0) };

/// Values are shares of the same time: the larger one decides.
const LARGER: Condition =
    Condition { words: "if its value is larger", is_told: false, holds: |cause, silent| cause.value >= silent.value };

/// The value of `cpu-bound` is the time that threads computed or waited, that of `cpu-contention` the wait alone.
const MORE_WAIT: Condition = Condition {
    words: "if its value is more than half of the other value",
    is_told: false,
    holds: |contention, bound| contention.value.zip(bound.value).is_some_and(|(wait, all)| wait > all / 2.0),
};

/// The opposite of [`MORE_WAIT`]. A cache explains why threads are bound by the CPU, but not why they wait for one.
const LESS_WAIT: Condition = Condition {
    words: "if it is reported and its value is at least twice the other value",
    is_told: true,
    holds: |bound, contention| !(MORE_WAIT.holds)(contention, bound),
};

/// Every cause, and what it explains.
pub const CAUSES: &[Cause] = &[
    Cause {
        name: "io-limited",
        explains: &[
            "submission-limited",
            "shallow-queue",
            "device-depth",
            "queue-drained-late",
            "depth-limited",
            "starts-not-made",
            "stall",
        ],
        condition: ALWAYS,
        because: "the limit holds I/Os back before they reach the device",
    },
    Cause {
        name: "cpu-limited",
        explains: &[
            "cpu-contention",
            "cpu-bound",
            "device-depth",
            "depth-limited",
            "starts-not-made",
            "stall",
            "periodic-stalls",
        ],
        condition: ALWAYS,
        because: "threads throttled by the CPU quota do not run and submit no I/O",
    },
    Cause {
        name: "process-paused",
        explains: &[
            "device-depth",
            "depth-limited",
            "starts-not-made",
            "stall",
            "change-point",
            "short-warm-up",
            "drift",
        ],
        condition: ALWAYS,
        because: "no I/O was submitted during the pause",
    },
    Cause {
        name: "steal",
        explains: &["device-depth"],
        condition: ALWAYS,
        because: "a thread whose CPU the hypervisor has taken submits no I/O",
    },
    Cause {
        name: "steal",
        explains: &["cpu-contention", "depth-limited", "starts-not-made"],
        condition: LARGER,
        because: "the threads waited for CPUs that the hypervisor had taken",
    },
    Cause {
        name: "cpu-contention",
        explains: &["device-depth"],
        condition: ALWAYS,
        because: "threads that wait for a CPU submit no I/O",
    },
    Cause {
        name: "cpu-contention",
        explains: &["depth-limited", "starts-not-made"],
        condition: LARGER,
        because: "threads that wait for a CPU start and complete I/Os late",
    },
    Cause {
        name: "cpu-contention",
        explains: &["cpu-bound"],
        condition: MORE_WAIT,
        because: "the threads waited for a CPU longer than they used one",
    },
    Cause {
        name: "cpu-bound",
        explains: &["cpu-contention"],
        condition: LESS_WAIT,
        because: "threads that never wait for I/O compete for the CPUs",
    },
    Cause {
        name: "cpu-bound",
        explains: &["submission-limited", "device-depth"],
        condition: ALWAYS,
        because: "the threads have no time to keep the queue full",
    },
    Cause {
        name: "io-workers",
        explains: &["shallow-queue", "device-depth", "cpu-bound"],
        condition: ALWAYS,
        because: "the kernel's worker threads delay I/Os and use CPU time",
    },
    Cause {
        name: "unwritten-target",
        explains: &["served-from-memory", "cpu-bound"],
        condition: MOSTLY,
        because: "reads of blocks that were never written return zeros without reaching the medium",
    },
    Cause {
        name: "served-from-cache",
        explains: &["submission-limited", "shallow-queue", "device-depth", "cpu-bound"],
        condition: MOSTLY,
        because: "reads from a cache do not reach the device and cost nothing but CPU time",
    },
    Cause {
        name: "served-from-memory",
        explains: &["fits-in-memory"],
        condition: ALWAYS,
        because: "it is based on a measurement; the other finding is only an inference",
    },
    Cause {
        name: "served-from-memory",
        explains: &["cpu-bound"],
        condition: MOSTLY,
        because: "reads from memory cost nothing but CPU time",
    },
    Cause {
        name: "writes-in-memory",
        explains: &["fits-in-memory", "change-point", "short-warm-up", "drift"],
        condition: ALWAYS,
        because: "writes are fast until the kernel's limit for dirty memory is reached",
    },
    Cause {
        name: "writes-in-memory",
        explains: &["cpu-bound"],
        condition: MOSTLY,
        because: "writes to memory cost nothing but CPU time",
    },
    Cause {
        name: "tmpfs-target",
        explains: &["cpu-bound"],
        condition: MOSTLY,
        because: "I/O to memory costs nothing but CPU time",
    },
    Cause {
        name: "loop-cached-writes",
        explains: &["volatile-cache"],
        condition: ALWAYS,
        because: "the writes did not reach the disk's cache",
    },
    Cause {
        name: "allocating-writes",
        explains: &["change-point", "short-warm-up", "drift"],
        condition: ALWAYS,
        because: "only the first write to a block allocates it",
    },
    Cause {
        name: "thermal-throttling",
        explains: &["frequency-change", "change-point", "short-warm-up", "drift"],
        condition: ALWAYS,
        because: "throttled CPUs run at a lower frequency",
    },
    Cause {
        name: "frequency-change",
        explains: &["change-point", "short-warm-up", "drift"],
        condition: ALWAYS,
        because: "the CPU time of an I/O changed with the frequency",
    },
    Cause {
        name: "host-cache",
        explains: &["small-for-host"],
        condition: ALWAYS,
        because: "it is based on a measurement; the other finding is only an inference",
    },
    Cause {
        name: "small-for-array",
        explains: &["small-for-host"],
        condition: ALWAYS,
        because: "both concern the same small range",
    },
    Cause {
        name: "lost-ios",
        explains: &["unfinished-ios", "stall", "change-point", "short-warm-up", "drift"],
        condition: ALWAYS,
        because: "I/Os that never complete have no latency, and the rate falls",
    },
    Cause {
        name: "device-faults",
        explains: &["change-point", "short-warm-up", "drift"],
        condition: ALWAYS,
        because: "failed I/Os are retried",
    },
    Cause {
        name: "starts-not-made",
        explains: &["depth-limited"],
        condition: ALWAYS,
        because: "a rate above what the target sustains keeps all requests outstanding",
    },
    Cause {
        name: "io-errors",
        explains: &["short-run"],
        condition: ALWAYS,
        because: "the errors ended the measurement",
    },
    Cause {
        name: "ended-early",
        explains: &["short-run"],
        condition: ALWAYS,
        because: "the measurement was planned to be longer",
    },
];

/// The findings without those that another one explains. All count as causes, even suppressed ones, unless the
/// condition requires otherwise.
pub(super) fn without_explained(findings: Vec<Finding>) -> Vec<Finding> {
    // Thousands of targets may have a finding of the same name each.
    let mut by_name = BTreeMap::<&str, Vec<&Finding>>::new();
    for finding in &findings {
        by_name.entry(&finding.name).or_default().push(finding);
    }
    let silent: Vec<bool> = findings.iter().map(|finding| is_explained(finding, &by_name)).collect();
    findings.into_iter().zip(silent).filter(|(_, is_silent)| !is_silent).map(|(finding, _)| finding).collect()
}

fn is_explained(silent: &Finding, by_name: &BTreeMap<&str, Vec<&Finding>>) -> bool {
    let explains = |declared: &Cause, cause: &Finding| {
        let Condition { is_told, holds, .. } = declared.condition;
        cause.severity >= silent.severity && holds(cause, silent) && !(is_told && is_explained(cause, by_name))
    };
    let mut declared = CAUSES.iter().filter(|declared| declared.explains.contains(&silent.name.as_str()));
    silent.severity != Severity::Invalid
        && declared.any(|declared| {
            let mut causes = by_name.get(declared.name).into_iter().flatten();
            causes.any(|cause| explains(declared, cause))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Source;

    fn finding(name: &str, value: f64) -> Finding {
        let rule = super::super::rules().find(|rule| rule.name == name);
        Finding {
            name: name.to_owned(),
            severity: rule.unwrap_or_else(|| panic!("there is no rule {name}")).severity,
            subject: String::new(),
            figure: "a figure".to_owned(),
            value: Some(value),
            advice: String::new(),
            basis: String::new(),
            source: Source::Verdict,
        }
    }

    fn names(findings: &[(&str, f64)]) -> Vec<String> {
        let findings = findings.iter().map(|(name, value)| finding(name, *value)).collect();
        without_explained(findings).into_iter().map(|finding| finding.name).collect()
    }

    /// Values of a cause and of another finding that it explains.
    fn values(condition: &Condition) -> (f64, f64) {
        if condition.words == LESS_WAIT.words { (97.0, 10.0) } else { (80.0, 60.0) }
    }

    #[test]
    fn each_pair_has_one_finding_whichever_comes_first() {
        for cause in CAUSES {
            let (value, other) = values(&cause.condition);
            for silent in cause.explains {
                assert_eq!(names(&[(cause.name, value), (silent, other)]), [cause.name], "{silent}");
                assert_eq!(names(&[(silent, other), (cause.name, value)]), [cause.name], "{silent}");
                assert_eq!(names(&[(silent, other)]), [*silent], "alone");
            }
        }
    }

    #[test]
    fn a_cause_is_at_least_as_severe_as_what_it_explains_and_nothing_invalid_is_silent() {
        for cause in CAUSES {
            for silent in cause.explains {
                let (speaks, silent) = (finding(cause.name, 0.0), finding(silent, 0.0));
                assert!(speaks.severity >= silent.severity, "{} and {}", cause.name, silent.name);
                assert_ne!(silent.severity, Severity::Invalid, "{}", silent.name);
            }
        }
        let mild = Finding { severity: Severity::Note, ..finding("io-workers", 1.0) };
        let left = without_explained(vec![mild, finding("shallow-queue", 3.0), finding("device-depth", 3.0)]);
        assert_eq!(left.iter().map(|left| left.name.as_str()).collect::<Vec<_>>(), ["io-workers", "shallow-queue"]);
    }

    #[test]
    fn a_small_share_explains_nothing() {
        for name in ["unwritten-target", "served-from-cache", "served-from-memory", "writes-in-memory", "tmpfs-target"]
        {
            assert_eq!(names(&[(name, 30.0), ("cpu-bound", 97.0)]), [name, "cpu-bound"]);
        }
        assert_eq!(names(&[("steal", 3.0), ("cpu-contention", 40.0)]), ["steal", "cpu-contention"]);
    }

    #[test]
    fn of_computing_and_waiting_the_larger_one_is_told() {
        assert_eq!(names(&[("cpu-bound", 97.0), ("cpu-contention", 30.0)]), ["cpu-bound"]);
        assert_eq!(names(&[("cpu-bound", 97.0), ("cpu-contention", 60.0)]), ["cpu-contention"]);
    }

    #[test]
    fn what_is_itself_explained_explains_others_all_the_same() {
        let seen = [("cpu-limited", 1.0), ("cpu-contention", 40.0), ("cpu-bound", 99.0), ("submission-limited", 2.0)];
        assert_eq!(names(&seen), ["cpu-limited"]);
    }

    /// A page of reads from memory showed 8 % of waiting for a CPU in its notes, but no finding.
    #[test]
    fn a_cache_does_not_explain_waiting_for_a_cpu() {
        let seen = [("served-from-memory", 98.7), ("cpu-bound", 96.9), ("cpu-contention", 8.4)];
        assert_eq!(names(&seen), ["served-from-memory", "cpu-contention"]);
    }

    #[test]
    fn findings_of_different_causes_all_speak() {
        let seen = [("io-limited", 99.0), ("drift", 9.0), ("short-run", 9.0), ("other-io", 9.0)];
        assert_eq!(names(&seen).len(), seen.len());
    }
}
