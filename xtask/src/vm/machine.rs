//! The virtual machines themselves.

use super::kernel::Kernel;
use super::rows::{SERVING, UP};
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
const START: Duration = Duration::from_mins(3);

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
    let mut guest = start(machine(qemu, kernel, Cpu::Kvm, "").args(["-serial", "stdio"]).stderr(Stdio::null()))?;
    let spoke = lines_of(guest.stdout.take()).recv_timeout(FIRST_WORD).is_ok();
    end(&mut guest);
    Ok(if spoke { Cpu::Kvm } else { Cpu::Emulated })
}

/// A virtual machine to be.
#[derive(Debug)]
pub(super) struct Guest<'a> {
    pub(super) qemu: &'a Path,
    pub(super) kernel: &'a Kernel,
    pub(super) cpu: Cpu,
    /// Its root file system.
    pub(super) archive: &'a Path,
    /// More words for its kernel.
    pub(super) words: &'a str,
    /// qemu's arguments for its disks and network.
    pub(super) devices: Vec<String>,
    /// Directory of its logs.
    pub(super) logs: &'a Path,
}

/// The guest's output on the serial line for results.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) text: String,
    /// False if the guest ended early, or was ended at the time limit.
    pub(super) is_whole: bool,
}

impl Guest<'_> {
    /// Boots; returns the output up to its line `last`, at most up to `until`. The guest is then killed, whatever it does.
    pub(super) fn run(&self, last: &str, until: Instant) -> Step<Output> {
        println!(
            "booting Linux {} ({})",
            self.kernel.version,
            if self.cpu == Cpu::Kvm { "KVM" } else { "emulated CPU" }
        );
        let results = self.logs.join("results.log");
        let mut copy = File::create(&results).map_err(|error| failed("make", &results, &error))?;
        let mut guest = start(&mut self.command("console.log"))?;
        let lines = lines_of(guest.stdout.take());
        let mut text = String::new();
        let mut limit = until.min(Instant::now() + START);
        let is_whole = loop {
            let Ok(line) = lines.recv_timeout(limit.saturating_duration_since(Instant::now())) else { break false };
            if line == UP {
                limit = until;
            }
            writeln!(copy, "{line}").map_err(|error| failed("write", &results, &error))?;
            if line == last {
                break true;
            }
            text += &(line + "\n");
        };
        end(&mut guest);
        if text.is_empty() && Instant::now() < until {
            let console = self.logs.join("console.log");
            return Err(Stop::Failed(format!(
                "the guest did not start; what its kernel said is in '{}'",
                console.display()
            )));
        }
        Ok(Output { text, is_whole })
    }

    /// Boots one that serves others until the result is dropped.
    pub(super) fn serve(&self) -> Step<Server> {
        println!("booting a server");
        let mut server = Server(start(&mut self.command("server-console.log"))?);
        let lines = lines_of(server.0.stdout.take());
        let until = Instant::now() + START;
        let mut text = String::new();
        loop {
            match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if line == SERVING => return Ok(server),
                Ok(line) => text += &(line + "\n"),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(Stop::Failed(format!("the server does not serve:\n{text}")));
                }
            }
        }
    }

    /// Kernel messages to a file, the tests' output to us.
    fn command(&self, console: &str) -> Command {
        let mut command = machine(self.qemu, self.kernel, self.cpu, self.words);
        let console = self.logs.join(console);
        command.args(["-serial", &format!("file:{}", console.display()), "-serial", "stdio"]);
        command.arg("-initrd").arg(self.archive).args(&self.devices);
        command
    }
}

/// A running guest, killed when it is dropped: it has no data to lose.
#[derive(Debug)]
pub(super) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn machine(qemu: &Path, kernel: &Kernel, cpu: Cpu, words: &str) -> Command {
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
        .args(["-append", &format!("console=ttyS0 panic=-1 mitigations=off diskspd.vm-test {words}")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

fn start(command: &mut Command) -> Step<Child> {
    command.spawn().map_err(|error| Stop::Failed(format!("qemu does not start: {error}")))
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

fn end(guest: &mut Child) {
    let _ = guest.kill();
    let _ = guest.wait();
}
