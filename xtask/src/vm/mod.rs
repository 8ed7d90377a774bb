//! `cargo xtask vm-test`: tests that need exclusive disks, drivers, kernels and other machines, inside virtual ones.
//!
//! Debian's kernels are booted under qemu with emulated `NVMe` and SCSI disks; the root file system is an archive in
//! memory with the built program, the built tests and their tools. The tests run there one by one and report over a
//! serial line.

mod disks;
mod initramfs;
mod kernel;
mod kernels_page;
mod kills;
mod machine;
mod part;
mod programs;
mod rows;
mod shares;
mod suite;

use crate::stop::Stop;
use crate::surroundings::target_directory;
use kernel::Kernel;
use machine::{Cpu, Guest};
pub use part::Part;
use programs::Programs;
use rows::{Count, Name};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The result of a step, or the reason for the end of the task.
type Step<T> = Result<T, Stop>;

/// Time limit for all guests of a part, on a machine that does more than this.
const LIMIT: Duration = Duration::from_hours(1);
/// The same where what is not reached is skipped.
const SHORT_LIMIT: Duration = Duration::from_mins(12);

/// Tests to run, and the kernel.
#[derive(Debug, Default)]
pub struct Request {
    /// `None` = all of them, one after another.
    pub part: Option<Part>,
    /// Tests that an emulated CPU does not reach within the time limit are skipped, in place of having failed.
    pub may_run_out: bool,
    /// Directory that contains `boot/vmlinuz-*` and `lib/modules/*`: `/` for the installed kernel. `None` = Debian's
    /// packages, which are downloaded and kept in the target directory.
    pub kernel: Option<PathBuf>,
    /// Write docs/kernels.md from what is seen, in place of comparing.
    pub writes_page: bool,
    /// Only tests with this in their name.
    pub filter: String,
}

/// Runs the tests and prints a row for each.
///
/// # Errors
///
/// [`Stop::Skipped`] if qemu, a kernel or a tool to make the archive with is missing; [`Stop::Failed`] if a test failed
/// or did not run.
pub fn test(root: &Path, request: &Request) -> Step<()> {
    let cache = target_directory(root).join("vm");
    std::fs::create_dir_all(&cache).map_err(|error| failed("make", &cache, &error))?;
    let qemu = machine::find()?;
    let programs = programs::build(root)?;
    let wanted: Vec<Name> =
        programs.rows()?.into_iter().filter(|row| row.to_string().contains(&request.filter)).collect();
    let lab = Lab { root, cache: &cache, qemu: &qemu, programs: &programs, request };
    let parts = request.part.map_or(Part::ALL.to_vec(), |part| vec![part]);
    let mut has_failed = false;
    for part in parts {
        let rows: Vec<Name> = wanted.iter().filter(|row| part.has(row)).cloned().collect();
        if rows.is_empty() && !(part == Part::Cuts && kills::NAME.contains(&request.filter)) {
            continue;
        }
        println!("== {part}");
        match lab.run(part, &rows) {
            Err(Stop::Skipped(reason)) if request.part.is_none() => println!("SKIPPED {part}: {reason}"),
            Err(Stop::Failed(reason)) if request.part.is_none() => {
                println!("ERROR: {reason}");
                has_failed = true;
            }
            result => result?,
        }
    }
    if has_failed { Err(Stop::Failed("not all parts passed".to_owned())) } else { Ok(()) }
}

/// Where the tests are run.
struct Lab<'a> {
    root: &'a Path,
    cache: &'a Path,
    qemu: &'a Path,
    programs: &'a Programs,
    request: &'a Request,
}

impl Lab<'_> {
    fn run(&self, part: Part, rows: &[Name]) -> Step<()> {
        let suites = if part == Part::Kernels { &kernel::SUITES[..] } else { &[kernel::USUAL_SUITE] };
        let until = Instant::now() + if self.request.may_run_out { SHORT_LIMIT } else { LIMIT };
        let place = self.cache.join(part.to_string());
        std::fs::create_dir_all(&place).map_err(|error| failed("make", &place, &error))?;
        let mut total = Count::default();
        let mut columns = Vec::new();
        let mut cpu = None;
        for kernel in self.kernels(suites)? {
            let cpu = match cpu {
                Some(cpu) => cpu,
                None => *cpu.insert(machine::cpu(self.qemu, &kernel)?),
            };
            let archive = initramfs::make(&place, &kernel, self.programs, rows)?;
            let mut devices = disks::make(&place)?;
            let server = if part == Part::Shares { Some(self.server(&kernel, cpu, &archive, &place)?) } else { None };
            devices.extend(server.iter().flat_map(|server| server.client_devices.clone()));
            let guest =
                Guest { qemu: self.qemu, kernel: &kernel, cpu, archive: &archive, words: "", devices, logs: &place };
            let output = guest.run(rows::DONE, until)?;
            let runs_out = self.request.may_run_out && cpu == Cpu::Emulated && !output.is_whole;
            let count = rows::judge(rows, &output.text, &kernel.version, runs_out && Instant::now() >= until);
            if part == Part::Kernels {
                columns.push((kernel.version.clone(), rows::seen(&output.text)));
            }
            total += count;
            if part == Part::Cuts && kills::NAME.contains(&self.request.filter) {
                let devices = kills::disks(&place)?;
                let guest = Guest { words: kills::WORDS, devices, logs: &place.join("kills"), ..guest };
                total += kills::run(&guest, until)?;
            }
        }
        if part == Part::Kernels && self.request.filter.is_empty() && total.unreached == 0 {
            kernels_page::compare(self.root, &columns, self.request.writes_page)?;
        }
        total.verdict()
    }

    fn kernels(&self, suites: &[&str]) -> Step<Vec<Kernel>> {
        if let Some(tree) = &self.request.kernel {
            return Ok(vec![kernel::given(tree)?]);
        }
        suites.iter().map(|suite| kernel::of_suite(self.cache, suite)).collect()
    }

    fn server(&self, kernel: &Kernel, cpu: Cpu, archive: &Path, place: &Path) -> Step<shares::Server> {
        let share = shares::Share::make(self.cache, place)?;
        let guest = Guest {
            qemu: self.qemu,
            kernel,
            cpu,
            archive,
            words: "diskspd.serves",
            devices: share.server_devices.clone(),
            logs: place,
        };
        Ok(shares::Server { client_devices: share.client_devices, _machine: guest.serve()? })
    }
}

/// An error of a file operation.
fn failed(verb: &str, path: &Path, error: &std::io::Error) -> Stop {
    Stop::Failed(format!("cannot {verb} '{}': {error}", path.display()))
}

/// Output of a program that must succeed.
fn output_of(command: &mut Command) -> Result<String, String> {
    let words = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{words}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{words}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
    }
}
