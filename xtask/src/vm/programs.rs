//! The program and the tests that go into the virtual machine.

use super::rows::Name;
use super::{Step, Stop, output_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Test targets of the package `app` that run in the virtual machine.
const TESTS: [&str; 2] = ["vm", "e2e"];

/// The modules of `e2e` that run there: their tests are skipped if a kernel lacks swap or partitions.
const MODULES_OF_E2E: [&str; 3] = ["block_devices::", "devices::", "durable_writes::"];

/// The name of the program under test.
const PROGRAM: &str = "diskspd";

/// The built programs, at the paths that the tests were built with.
#[derive(Debug)]
pub(super) struct Programs {
    /// The program under test.
    pub(super) diskspd: PathBuf,
    /// The tests, by the name of their target.
    pub(super) tests: BTreeMap<String, PathBuf>,
    /// The directory for the tests' workplaces.
    pub(super) workplaces: PathBuf,
}

/// Builds them like `cargo test`.
pub(super) fn build(root: &Path) -> Step<Programs> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The same packages as in `cargo test`, so that its build is reused.
    command.current_dir(root).args(["test", "--quiet", "--locked", "--no-run", "--message-format=json"]);
    for test in TESTS {
        command.args(["--test", test]);
    }
    let messages = output_of(&mut command).map_err(Stop::Failed)?;
    let folder = root.canonicalize().unwrap_or_else(|_| root.to_owned()).join("crates/app");
    let executables: BTreeMap<String, PathBuf> =
        messages.lines().filter_map(|message| executable(message, &folder)).collect();
    let at = |name: &str| {
        executables.get(name).cloned().ok_or_else(|| Stop::Failed(format!("cargo built no program '{name}'")))
    };
    let diskspd = at(PROGRAM)?;
    let target = diskspd.ancestors().nth(2).unwrap_or(Path::new("/"));
    let tests = TESTS.into_iter().map(|name| Ok((name.to_owned(), at(name)?))).collect::<Step<_>>()?;
    Ok(Programs { workplaces: target.join("tmp"), diskspd, tests })
}

/// Name and path of the program in a message of cargo, if its source is in `folder`.
fn executable(message: &str, folder: &Path) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = message.get("executable")?.as_str()?;
    let target = message.get("target")?;
    let is_in_folder = Path::new(target.get("src_path")?.as_str()?).starts_with(folder);
    let name = target.get("name")?.as_str()?;
    is_in_folder.then(|| (name.to_owned(), path.into()))
}

impl Programs {
    /// The tests, as listed by their programs.
    pub(super) fn rows(&self) -> Step<Vec<Name>> {
        let mut rows = Vec::new();
        // Those that run nowhere else first.
        for program in TESTS {
            let list = output_of(Command::new(&self.tests[program]).args(["--list", "--format=terse"]))
                .map_err(Stop::Failed)?;
            let is_of_disks =
                |test: &&str| program != "e2e" || MODULES_OF_E2E.iter().any(|module| test.starts_with(module));
            let tests = list.lines().filter_map(|line| line.strip_suffix(": test")).filter(is_of_disks);
            rows.extend(tests.map(|test| Name { program: program.to_owned(), test: test.to_owned() }));
        }
        Ok(rows)
    }
}
