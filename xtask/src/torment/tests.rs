//! The test can fail: programs that take somebody's data are caught, and one that does nothing is not.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Runs cases with a script in place of the program, without what needs root.
fn losses_of(script: &str) -> (u64, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("fake");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("our own");
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
