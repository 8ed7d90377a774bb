//! Passes the commit and the build profile to the program.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=DISKSPD_COMMIT");
    let commit = std::env::var("DISKSPD_COMMIT").ok().or_else(of_repository);
    println!("cargo::rustc-env=DISKSPD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    let variable = |name| std::env::var(name).unwrap_or_default();
    println!("cargo::rustc-env=DISKSPD_TARGET={}", variable("TARGET"));
    // "release" also stands for profiles that inherit from it.
    println!("cargo::rustc-env=DISKSPD_PROFILE={}", variable("PROFILE"));
}

/// The commit of this repository; none in an unpacked archive, even one that lies within another repository.
fn of_repository() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != workspace {
        return None;
    }
    // Grows with every commit and check-out.
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    println!("cargo::rerun-if-changed=build.rs");
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    output.status.success().then_some(())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
