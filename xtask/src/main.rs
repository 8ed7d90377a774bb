//! `cargo xtask TASK`: the project's own scripts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xtask::stop::Stop;
use xtask::vm::{Part, Request};

const USAGE: &str = "\
Usage: cargo xtask docs [--book DIR]
       cargo xtask cost
       cargo xtask fuzz [--seconds N] [FILTER]
       cargo xtask release [--target TRIPLE] [--twice]
       cargo xtask tidy
       cargo xtask torment [--seconds N] [--seed S] [--case K] [--program PATH] [--keep-going]
       cargo xtask vm-test [--part PART] [--kernel TREE] [--write] [FILTER]

  docs      write the documents that are made from the program; --book writes all pages as one HTML file,
            index.html, to a directory
  cost      count the instructions of an I/O, which must stay within bounds (needs valgrind)
  fuzz      feed foreign bytes to the readers with FILTER in their name, each for N seconds (60; needs
            cargo-fuzz)
  release   make archives, packages and container images for each CPU below target/release-files, and check
            them; --target makes those of one CPU or C library, such as aarch64-unknown-linux-gnu, --twice
            builds again in another folder and compares the files
  tidy      look for what breaks the project's own rules: imports, sizes, dead files, links
  torment   run the program over random stacks of files, links, mounts, loop devices and swap for N
            seconds (60) and compare all data that it was not told to change; --case runs one case of
            seed S again, --keep-going looks for more losses after the first
  vm-test   run the tests that need disks, kernels or servers of their own in virtual machines: those
            with FILTER in their name, of one PART (kernels, shares, stacks or cuts; today: the one whose
            turn it is, and what an emulated CPU does not reach in time is skipped), on the kernel below
            TREE (Debian's without it); --write writes docs/kernels.md from what is seen";

fn main() -> ExitCode {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["docs"] => match xtask::docs::write(root) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string()),
        },
        ["docs", "--book", folder] => ended("docs", xtask::book::write(root, Path::new(folder))),
        ["fuzz", ref words @ ..] => match fuzzed(words) {
            Some(request) => ended("fuzz", xtask::fuzz::run(root, &request)),
            None => usage(),
        },
        ["release", ref words @ ..] => match released(words) {
            Some(request) => ended("release", xtask::release::make(root, &request)),
            None => usage(),
        },
        ["tidy"] => ended("tidy", xtask::tidy::check(root)),
        ["torment", ref words @ ..] => match tormented(words) {
            Some(request) => ended("torment", xtask::torment::run(root, &request)),
            None => usage(),
        },
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
            "--write" => request.writes_page = true,
            "--part" => match *words.next()? {
                "today" => (request.part, request.may_run_out) = (Some(Part::of_today()), true),
                name => request.part = Some(Part::named(name)?),
            },
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

fn released(words: &[&str]) -> Option<xtask::release::Request> {
    let mut request = xtask::release::Request::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--target" => request.target = Some((*words.next()?).to_owned()),
            "--twice" => request.twice = true,
            _ => return None,
        }
    }
    Some(request)
}

fn tormented(words: &[&str]) -> Option<xtask::torment::Request> {
    let mut request = xtask::torment::Request::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--seconds" => request.seconds = words.next()?.parse().ok()?,
            "--seed" => request.seed = Some(words.next()?.parse().ok()?),
            "--case" => request.case = Some(words.next()?.parse().ok()?),
            "--program" => request.program = Some(PathBuf::from(words.next()?)),
            "--keep-going" => request.keep_going = true,
            _ => return None,
        }
    }
    // A case is one of a seed.
    (request.case.is_none() || request.seed.is_some()).then_some(request)
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
