//! The guest's report, row by row.
//!
//! ```text
//! @@ up
//! @@ begin vm nvme::by_eui
//! whatever the test prints
//! @@ seen a feature of the kernel: yes
//! @@ end 0
//! @@ done
//! ```

use super::{Step, Stop};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

/// The guest's first line.
pub(super) const UP: &str = "@@ up";
/// The guest's last line.
pub(super) const DONE: &str = "@@ done";
/// The line of a server that is ready.
pub(super) const SERVING: &str = "@@ serving";
/// The line of a guest whose load is to be killed now, together with it.
pub(super) const KILL: &str = "@@ kill";
/// Before the exit status of the verification after a kill.
pub(super) const VERIFIED: &str = "@@ verified ";
const BEGIN: &str = "@@ begin ";
const END: &str = "@@ end ";
/// Before a feature of the kernel and how it was seen, separated by [`IS`].
const SEEN: &str = "@@ seen ";
const IS: &str = ": ";
/// Printed by testkit before the reason of a skipped test.
const SKIPPED: &str = "SKIPPED ";

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    /// The test target.
    pub(super) program: String,
    /// The path of the test in the target.
    pub(super) test: String,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.program, self.test)
    }
}

/// The result of a test.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Skipped(String),
    /// With all its output.
    Failed(String),
    /// It had not ended when the guest did; with its output.
    Unended(String),
}

/// Numbers of tests by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: usize,
    skipped: usize,
    pub(super) failed: usize,
    /// The time was over before them.
    pub(super) unreached: usize,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.unreached += other.unreached;
    }
}

impl Count {
    /// The result of all of them.
    pub(super) fn verdict(self) -> Step<()> {
        let Self { passed, skipped, failed, unreached } = self;
        println!("{passed} passed, {failed} failed, {} skipped", skipped + unreached);
        match (failed, unreached) {
            (0, 0) => Ok(()),
            (0, _) => Err(Stop::Skipped(format!("too slow: {unreached} tests were not reached on an emulated CPU"))),
            _ => Err(Stop::Failed("not all rows passed".to_owned())),
        }
    }
}

/// Prints the table, then the output of failed tests. If the guest `ran_out` of time, what it did not end is no failure.
pub(super) fn judge(rows: &[Name], log: &str, kernel: &str, ran_out: bool) -> Count {
    let mut verdicts = verdicts(log);
    let mut failures = Vec::new();
    let mut count = Count::default();
    println!("on Linux {kernel}:");
    for row in rows {
        let name = row.to_string();
        match verdicts.remove(&name).unwrap_or_else(|| Verdict::Unended("it did not run\n".to_owned())) {
            Verdict::Passed => {
                count.passed += 1;
                println!("ok       {name}");
            }
            Verdict::Skipped(reason) => {
                count.skipped += 1;
                println!("skipped  {name}: {reason}");
            }
            Verdict::Unended(_) if ran_out => {
                count.unreached += 1;
                println!("skipped  {name}: too slow: the time was over");
            }
            Verdict::Failed(printed) | Verdict::Unended(printed) => {
                count.failed += 1;
                println!("FAILED   {name}");
                failures.push(format!("\n---- {name}\n{printed}"));
            }
        }
    }
    for failure in &failures {
        println!("{failure}");
    }
    count
}

/// Features of the kernel with how they were seen.
pub(super) fn seen(log: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (feature, how) = line.strip_prefix(SEEN)?.split_once(IS)?;
        Some((feature.to_owned(), how.to_owned()))
    };
    log.lines().filter_map(line).collect()
}

/// Results by the words after [`BEGIN`], joined like [`Name`].
fn verdicts(log: &str) -> BTreeMap<String, Verdict> {
    let mut verdicts = BTreeMap::new();
    let mut current: Option<(String, String)> = None;
    for line in log.lines() {
        if let Some(words) = line.strip_prefix(BEGIN) {
            if let Some((name, printed)) = current.replace((words.replacen(' ', "::", 1), String::new())) {
                verdicts.insert(name, Verdict::Failed(printed));
            }
        } else if let Some((name, printed)) = &mut current {
            match line.strip_prefix(END) {
                None => {
                    printed.push_str(line);
                    printed.push('\n');
                }
                Some(status) => {
                    verdicts.insert(std::mem::take(name), verdict(status, std::mem::take(printed)));
                    current = None;
                }
            }
        }
    }
    if let Some((name, printed)) = current {
        verdicts.insert(name, Verdict::Unended(printed + "the guest ended, or ran out of time, in this test\n"));
    }
    verdicts
}

fn verdict(status: &str, printed: String) -> Verdict {
    // It follows the start of libtest's own line.
    let reason = printed.lines().find_map(|line| line.split_once(SKIPPED).map(|(_, reason)| reason.to_owned()));
    match (status, reason) {
        ("0", None) => Verdict::Passed,
        ("0", Some(reason)) => Verdict::Skipped(reason.split_once(": ").map_or(reason.clone(), |it| it.1.to_owned())),
        _ => Verdict::Failed(printed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_what_stands_between_its_begin_and_its_end() {
        let log = "@@ up\n@@ begin vm a::b\ntest a::b ... ok\n@@ end 0\n@@ begin vm c\nSKIPPED c: no mdadm\n@@ end 0\n\
                   @@ begin vm d\nassertion\n@@ end 101\n@@ begin vm e\nhalf";
        let verdicts = verdicts(log);
        assert_eq!(verdicts["vm::a::b"], Verdict::Passed);
        assert_eq!(verdicts["vm::c"], Verdict::Skipped("no mdadm".to_owned()));
        assert_eq!(verdicts["vm::d"], Verdict::Failed("assertion\n".to_owned()));
        assert!(matches!(&verdicts["vm::e"], Verdict::Unended(printed) if printed.starts_with("half")));
    }

    #[test]
    fn a_row_that_did_not_run_has_failed() {
        let name = |test: &str| Name { program: "vm".to_owned(), test: test.to_owned() };
        let log = "@@ begin vm a\n@@ end 0\n@@ begin vm b\n";
        let rows = [name("a"), name("b"), name("c")];
        assert!(judge(&rows[..1], log, "6", false).verdict().is_ok());
        assert!(matches!(judge(&rows, log, "6", false).verdict(), Err(Stop::Failed(_))));
        assert!(matches!(judge(&rows, log, "6", true).verdict(), Err(Stop::Skipped(_))));
    }

    #[test]
    fn features_are_seen_once_each() {
        let log = "@@ begin vm a\ntest a ... \n@@ seen openat2: yes\n@@ seen BPF: no: it is locked\nok\n@@ end 0\n";
        let seen = seen(log);
        assert_eq!(seen["openat2"], "yes");
        assert_eq!(seen["BPF"], "no: it is locked");
    }
}
