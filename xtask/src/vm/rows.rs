//! The guest's report, row by row.
//!
//! ```text
//! @@ up
//! @@ begin vm nvme::by_eui
//! whatever the test prints
//! @@ end 0
//! @@ done
//! ```

use super::{Step, Stop};
use std::collections::BTreeMap;
use std::fmt;

/// The guest's first line.
pub(super) const UP: &str = "@@ up";
/// The guest's last line.
pub(super) const DONE: &str = "@@ done";
const BEGIN: &str = "@@ begin ";
const END: &str = "@@ end ";
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
}

/// Prints the table, then the output of failed tests.
pub(super) fn judge(rows: &[Name], log: &str, kernel: &str) -> Step<()> {
    let mut verdicts = verdicts(log);
    let mut failures = Vec::new();
    let mut skipped = 0;
    println!("on Linux {kernel}:");
    for row in rows {
        let name = row.to_string();
        let verdict = verdicts.remove(&name).unwrap_or_else(|| Verdict::Failed("it did not run\n".to_owned()));
        match verdict {
            Verdict::Passed => println!("ok       {name}"),
            Verdict::Skipped(reason) => {
                skipped += 1;
                println!("skipped  {name}: {reason}");
            }
            Verdict::Failed(printed) => {
                println!("FAILED   {name}");
                failures.push(format!("\n---- {name}\n{printed}"));
            }
        }
    }
    for failure in &failures {
        println!("{failure}");
    }
    let passed = rows.len() - skipped - failures.len();
    println!("{passed} passed, {skipped} skipped, {} failed", failures.len());
    if failures.is_empty() { Ok(()) } else { Err(Stop::Failed("not all rows passed".to_owned())) }
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
        verdicts.insert(name, Verdict::Failed(printed + "the guest ended, or ran out of time, in this test\n"));
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
        assert!(matches!(&verdicts["vm::e"], Verdict::Failed(printed) if printed.starts_with("half")));
    }

    #[test]
    fn a_row_that_did_not_run_has_failed() {
        let name = |test: &str| Name { program: "vm".to_owned(), test: test.to_owned() };
        let log = "@@ begin vm a\n@@ end 0\n";
        assert!(judge(&[name("a")], log, "6").is_ok());
        assert!(judge(&[name("a"), name("b")], log, "6").is_err());
    }
}
