//! `cargo xtask TASK`: the project's own scripts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xtask::stop::Stop;
use xtask::vm::Request;

const USAGE: &str = "\
Usage: cargo xtask docs
       cargo xtask cost
       cargo xtask dist
       cargo xtask fuzz [--seconds N] [FILTER]
       cargo xtask tidy
       cargo xtask vm-test [--kernel TREE] [--only-with-kvm] [FILTER]

  docs      write the documents that are made from the program
  cost      count the instructions of an I/O, which must stay within bounds (needs valgrind)
  dist      make the static binary, the archive and the packages below target/dist, and check them
  fuzz      feed foreign bytes to the readers with FILTER in their name, each for N seconds (60; needs
            cargo-fuzz)
  tidy      look for what breaks the project's own rules: imports, sizes, dead files, links
  vm-test   run the tests that need disks of their own in a virtual machine: those with FILTER in
            their name, on the kernel below TREE (Debian's without it); --only-with-kvm skips them
            where the CPU would have to be emulated";

fn main() -> ExitCode {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["docs"] => match xtask::docs::write(root) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string()),
        },
        ["dist"] => ended("dist", xtask::dist::make(root)),
        ["fuzz", ref words @ ..] => match fuzzed(words) {
            Some(request) => ended("fuzz", xtask::fuzz::run(root, &request)),
            None => usage(),
        },
        ["tidy"] => ended("tidy", xtask::tidy::check(root)),
        ["cost"] => ended("cost", xtask::cost::check(root)),
        ["vm-test", ref words @ ..] => match request(words) {
            Some(request) => ended("vm-test", xtask::vm::test(root, &request)),
            None => usage(),
        },
        _ => usage(),
    }
}

fn request(words: &[&str]) -> Option<Request> {
    let mut request = Request::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--kernel" => request.kernel = Some(PathBuf::from(words.next()?)),
            "--only-with-kvm" => request.only_with_kvm = true,
            filter if !filter.starts_with('-') && request.filter.is_empty() => filter.clone_into(&mut request.filter),
            _ => return None,
        }
    }
    Some(request)
}

fn fuzzed(words: &[&str]) -> Option<xtask::fuzz::Request> {
    let mut request = xtask::fuzz::Request::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--seconds" => request.seconds = words.next()?.parse().ok()?,
            filter if !filter.starts_with('-') && request.filter.is_empty() => filter.clone_into(&mut request.filter),
            _ => return None,
        }
    }
    Some(request)
}

fn ended(task: &str, result: Result<(), Stop>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Skipped(reason)) => {
            println!("SKIPPED {task}: {reason}");
            ExitCode::SUCCESS
        }
        Err(Stop::Failed(reason)) => fail(&reason),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(3)
}

fn fail(reason: &str) -> ExitCode {
    eprintln!("ERROR: {reason}");
    ExitCode::FAILURE
}
