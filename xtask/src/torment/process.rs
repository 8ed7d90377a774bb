//! Programs started with a time limit, in separate process groups, so that Ctrl-C reaches only this program.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time limit of any program.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// The result of a program.
#[derive(Clone, Debug)]
pub(super) struct ProgramResult {
    /// `None` if it was killed because it took too long.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl ProgramResult {
    pub(super) fn is_good(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The status as text.
    pub(super) fn status_text(&self) -> String {
        match self.status {
            None => format!("none after {} s", LIMIT.as_secs()),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => code.to_string(),
                (None, signal) => format!("signal {}", signal.unwrap_or_default()),
            },
        }
    }
}

/// A command in a cleared environment that finds `diskspd` in `programs`.
pub(super) fn command(program: &Path, folder: &Path, programs: &Path) -> Command {
    let mut command = Command::new(program);
    let path = format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", programs.display());
    command.current_dir(folder).env_clear().env("PATH", path).env("HOME", folder).env("LC_ALL", "C");
    command.stdin(Stdio::null()).process_group(0);
    command
}

/// Runs a command to its end, with its output in files of `scratch`.
pub(super) fn run(mut command: Command, scratch: &Path) -> io::Result<ProgramResult> {
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| scratch.join(name));
    command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    let mut child = command.spawn()?;
    let status = wait(&mut child)?;
    let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(ProgramResult { status, stdout: text(&stdout)?, stderr: text(&stderr)? })
}

fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            kill(child);
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// True if a child has ended; it is not reaped.
pub(super) fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Pid::from_raw(child.id().cast_signed()).is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
}

/// Kills a child and its descendants, and waits for it.
pub(super) fn kill(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        // It may have ended by itself; it is not reaped yet, so the ID is still its own.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
