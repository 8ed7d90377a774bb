//! The test can fail: programs that destroy other people's data are caught, and one that does nothing is not.

use super::command::{Command, Load};
use super::stack::Stack;
use super::*;
use std::fs;
use std::path::Path;
use std::process;

/// Creates an executable script. Another process writes it: a file that this one has open for writing is also open in
/// the children of other tests started at that moment, and cannot be executed until then ("Text file busy").
fn make_program(path: &Path, script: &str) {
    let words = ["-c", r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#];
    let status = process::Command::new("sh").args(words).arg(path).arg(script).status();
    assert!(status.is_ok_and(|status| status.success()), "'{}' is made", path.display());
}

/// Runs cases with a script in place of the program, without steps that need root.
fn losses_of(script: &str) -> (u64, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("fake");
    make_program(&program, script);
    let places = Places::new(folder.path(), &program, false).expect("places");
    let mut losses = Vec::new();
    for case in 0..25 {
        losses.extend(case::run(&places, 1, case, false).expect("a case").losses);
    }
    (25, losses)
}

#[test]
fn a_program_that_does_nothing_loses_nothing() {
    let (_, losses) = losses_of("exit 0");
    assert!(losses.is_empty(), "{losses:?}");
}

#[test]
fn a_program_that_overwrites_its_target_is_caught() {
    let script = r#"for last; do :; done; printf taken | dd of="$last" conv=notrunc 2>/dev/null; exit 0"#;
    let (_, losses) = losses_of(script);
    assert!(losses.iter().any(|loss| loss.contains("has lost data")), "{losses:?}");
}

#[test]
fn a_program_that_deletes_or_makes_files_is_caught() {
    let (_, losses) = losses_of("rm -f f1 d*/f*; : >made; exit 0");
    assert!(losses.iter().any(|loss| loss.ends_with("is gone")), "{losses:?}");
    assert!(losses.iter().any(|loss| loss.contains("'made' is new")), "{losses:?}");
}

#[test]
fn a_refused_command_may_change_nothing() {
    let script = r#"for last; do :; done; case "$*" in *max-ios=32*) : >"$last"; exit 3;; esac; printf 1234 >"$last""#;
    let (_, losses) = losses_of(script);
    assert!(losses.iter().any(|loss| loss.contains("bytes and has 0")), "{losses:?}");
}

#[test]
fn a_program_that_ends_badly_is_caught() {
    let (cases, losses) = losses_of("exit 2");
    let bad = losses.iter().filter(|loss| loss.contains("exit status 2")).count();
    assert_eq!(bad as u64, cases, "{losses:?}");
    let (_, losses) = losses_of("echo \"thread 'main' panicked at x\" >&2");
    assert!(losses.iter().all(|loss| loss.contains("panicked")) && !losses.is_empty(), "{losses:?}");
}

/// True if a command of these loads is reported for overwriting `f1`, which belongs to someone else.
fn is_overwriting_caught(loads: Vec<Load>) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["case", "out", "bin"].map(|name| folder.path().join(name));
    for name in &names {
        fs::create_dir(name).expect("a new folder");
    }
    let [case, scratch, programs] = names;
    let program = programs.join("diskspd");
    make_program(&program, "printf taken | dd of=f1 conv=notrunc 2>/dev/null");
    let mut stack = Stack::new(case, scratch, programs, false);
    stack.shell("echo somebody >f1; echo somebody >f2").expect("two files");
    let (_, losses, _) = case::judge(&mut stack, &Command { loads, ..Command::default() }).expect("a case");
    losses.iter().any(|loss| loss.contains("'f1' has lost data"))
}

#[test]
fn each_load_of_a_command_needs_a_permission_of_its_own() {
    let load = |target: &str, overwrites| Load {
        targets: vec![target.to_owned()],
        writes: true,
        overwrites,
        ..Load::default()
    };
    assert!(!is_overwriting_caught(vec![load("f1", true), load("f1", true)]));
    assert!(!is_overwriting_caught(vec![load("f1", true), Load { writes: false, ..load("f1", false) }]));
    assert!(is_overwriting_caught(vec![load("f1", true), load("f1", false)]));
    // All loads are checked before the first of them runs.
    assert!(is_overwriting_caught(vec![load("f1", true), load("f2", false)]));
    assert!(is_overwriting_caught(vec![Load { is_unconfirmed: true, ..load("f1", true) }]));
}
