//! The virtual machine itself.

use super::kernel::Kernel;
use super::rows::{DONE, UP};
use super::{Step, Stop, failed};
use crate::surroundings::installed;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time limit for the first output of a kernel on a CPU of this machine. If `/dev/kvm` can be opened but does not work,
/// there is none.
const FIRST_WORD: Duration = Duration::from_secs(15);
/// Time limit for a guest to start its first process.
const START: Duration = Duration::from_mins(2);
/// Time limit for all tests.
const LIMIT: Duration = Duration::from_mins(12);

/// The path of qemu.
pub(super) fn find() -> Step<PathBuf> {
    installed("qemu-system-x86_64")
        .ok_or_else(|| Stop::Skipped("qemu-system-x86_64 is not installed (Debian: qemu-system-x86)".to_owned()))
}

/// The executor of the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cpu {
    /// A CPU of this machine.
    Kvm,
    /// An emulator, several times slower.
    Emulated,
}

/// KVM if a kernel really starts with it; for that no root file system is needed.
pub(super) fn cpu(qemu: &Path, kernel: &Kernel) -> Step<Cpu> {
    if File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(Cpu::Emulated);
    }
    let mut guest = start(machine(qemu, kernel, Cpu::Kvm).args(["-serial", "stdio"]))?;
    let spoke = lines_of(guest.stdout.take()).recv_timeout(FIRST_WORD).is_ok();
    end(&mut guest);
    Ok(if spoke { Cpu::Kvm } else { Cpu::Emulated })
}

/// Boots, and returns the guest's output on the serial line for results, up to its end.
pub(super) fn run(
    qemu: &Path,
    kernel: &Kernel,
    cpu: Cpu,
    archive: &Path,
    disks: &[String],
    cache: &Path,
) -> Step<String> {
    println!("booting Linux {} ({})", kernel.version, if cpu == Cpu::Kvm { "KVM" } else { "emulated CPU" });
    let console = cache.join("console.log");
    let mut command = machine(qemu, kernel, cpu);
    // Kernel messages to a file, the tests' output to us.
    command.args(["-serial", &format!("file:{}", console.display()), "-serial", "stdio"]);
    command.arg("-initrd").arg(archive).args(disks);
    boot(&mut command, &cache.join("results.log"))?.ok_or_else(|| {
        Stop::Failed(format!("the guest did not start; what its kernel said is in '{}'", console.display()))
    })
}

fn machine(qemu: &Path, kernel: &Kernel, cpu: Cpu) -> Command {
    let (acceleration, model) = match cpu {
        Cpu::Kvm => ("kvm", "host"),
        Cpu::Emulated => ("tcg,thread=multi", "max"),
    };
    let mut command = Command::new(qemu);
    command
        .args(["-machine", "q35", "-accel", acceleration, "-cpu", model, "-smp", "2", "-m", "1G"])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .arg("-kernel")
        .arg(&kernel.image)
        .args(["-append", "console=ttyS0 panic=-1 mitigations=off diskspd.vm-test"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

fn start(command: &mut Command) -> Step<Child> {
    command.spawn().map_err(|error| Stop::Failed(format!("qemu does not start: {error}")))
}

/// `None` if the guest's first process does not start.
fn boot(command: &mut Command, results: &Path) -> Step<Option<String>> {
    let mut copy = File::create(results).map_err(|error| failed("make", results, &error))?;
    let mut guest = start(command)?;
    let lines = lines_of(guest.stdout.take());
    let mut until = Instant::now() + START;
    let mut log = String::new();
    loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if log.is_empty() && line == UP {
                    until = Instant::now() + LIMIT;
                }
                writeln!(copy, "{line}").map_err(|error| failed("write", results, &error))?;
                if line == DONE {
                    end(&mut guest);
                    return Ok(Some(log));
                }
                log += &(line + "\n");
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                end(&mut guest);
                return Ok(Some(log).filter(|log| !log.is_empty()));
            }
        }
    }
}

fn lines_of(stdout: Option<ChildStdout>) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    if let Some(stdout) = stdout {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    lines
}

/// Kills the guest, which has no data to lose.
fn end(guest: &mut Child) {
    let _ = guest.kill();
    let _ = guest.wait();
}
