//! A NATS server that ends with its controller.

use super::TICK;
use super::lines::{LastLines, each_line};
use crate::FleetError;
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const PROGRAM: &str = "nats-server";
/// Directories searched in addition to the PATH.
const MORE_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"];
/// Time limit for its start.
const BEGIN: Duration = Duration::from_mins(1);
const LISTENS: &str = "Listening for client connections on 127.0.0.1:";
const IS_READY: &str = "Server is ready";

#[derive(Debug)]
pub(super) struct PrivateServer {
    child: Child,
    port: u16,
}

/// Output so far.
#[derive(Default)]
struct ServerOutput {
    port: Option<u16>,
    is_ready: bool,
    last: LastLines,
}

impl PrivateServer {
    /// Starts it. It ends when the calling thread does. Its configuration is in a nameless file.
    pub(super) fn start(configuration: &str, stop: &AtomicBool) -> Result<Self, FleetError> {
        let program = find(std::env::var_os("PATH").unwrap_or_default().as_ref()).ok_or_else(|| {
            FleetError::refused(format!(
                "{PROGRAM} is not installed on this machine: hosts and controller meet at one (Debian and Ubuntu: apt \
                 install {PROGRAM}); or use a server that runs: --on=nats://SERVER/HOST"
            ))
        })?;
        let cannot =
            |error: std::io::Error| FleetError::refused(format!("cannot start {}: {error}", program.display()));
        let mut file = tempfile::tempfile().map_err(cannot)?;
        file.write_all(configuration.as_bytes()).and_then(|()| file.rewind()).map_err(cannot)?;
        let mut command = Command::new(&program);
        // Ctrl+C in a terminal ends the load, and then this.
        command.args(["-c", "/dev/stdin"]).process_group(0).current_dir("/");
        command.stdin(file).stdout(Stdio::null()).stderr(Stdio::piped());
        sys::child::end_with_this_thread(&mut command);
        let mut server = Self { child: command.spawn().map_err(cannot)?, port: 0 };
        let heard = Arc::<Mutex<ServerOutput>>::default();
        if let Some(stderr) = server.child.stderr.take() {
            let heard = Arc::clone(&heard);
            let read = move || each_line(stderr, |line| hear(&heard, &line));
            std::thread::Builder::new().name("nats-server".into()).spawn(read).map_err(cannot)?;
        }
        let until = Instant::now() + BEGIN;
        loop {
            let ended = server.child.try_wait().map_err(cannot)?;
            let known = heard.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(port) = known.port.filter(|_| known.is_ready) {
                server.port = port;
                return Ok(server);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(FleetError::Stopped(vec![format!("stopped before {PROGRAM} was ready")]));
            }
            if ended.is_some() || Instant::now() >= until {
                let what = if ended.is_some() { "ended at once" } else { "does not begin to listen" };
                let said = known.last.all().join("; ");
                return Err(FleetError::refused(format!("{} {what}: {said}", program.display())));
            }
            drop(known);
            std::thread::sleep(TICK);
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hear(heard: &Mutex<ServerOutput>, line: &str) {
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, port)) = line.split_once(LISTENS) {
        heard.port = port.trim().parse().ok();
    }
    heard.is_ready |= line.contains(IS_READY);
    heard.last.add(line);
}

/// The program, in the directories of PATH or where packages install it.
fn find(path: &std::ffi::OsStr) -> Option<PathBuf> {
    let more = MORE_FOLDERS.iter().map(PathBuf::from);
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute()).chain(more);
    folders.map(|folder: PathBuf| Path::new(&folder).join(PROGRAM)).find(is_program)
}
