//! The agent that a controller starts over ssh: standard input carries its settings, and ends it when closed.

use super::{confined, host, print_error, shown_limits};
use crate::interrupt;
use crate::output::{print, say};
use crate::status::{Status, fail, refuse_with};
use ::fleet::ssh::{AgentMessage, Setup};
use ::fleet::{AgentOptions, Service, Silence, Trusted};
use model::version::IMPLEMENTATION_VERSION;
use std::fs::{Permissions, metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Time limit for receiving the settings, and their maximum size in bytes.
const SETTINGS_WITHIN: Duration = Duration::from_mins(1);
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Serves as an agent until standard input closes.
pub(super) fn agent() -> Result<Status, Status> {
    let signals = interrupt::watch_for_load()?;
    say_to_controller(&AgentMessage::DiskspdAgent(IMPLEMENTATION_VERSION.to_owned()));
    let (settings, come) = channel();
    let closed = Arc::clone(&signals.interrupted);
    let thread = std::thread::Builder::new().name("stdin".into()).spawn(move || read(&settings, &closed));
    thread.map_err(|error| fail(&format!("cannot read standard input: {error}")))?;
    let line = match come.recv_timeout(SETTINGS_WITHIN) {
        Ok(line) => line,
        Err(RecvTimeoutError::Disconnected) => {
            return Err(refuse_with("standard input closed before the settings came"));
        }
        Err(RecvTimeoutError::Timeout) => return Err(refuse_with("no settings on standard input within 60 s")),
    };
    let setup = Setup::parse(&line).map_err(|error| print_error(&error))?;
    drop(line);
    let allow = allowed(&setup);
    let limits = host::Limits {
        destroy: setup.allowed.destroy.clone(),
        file_bytes: u64::MAX,
        threads: u32::MAX,
        memory_bytes: None,
    };
    let shown_limits = shown_limits(&allow, &limits);
    let this_host = confined("directory of a target:", &allow, limits)?;
    // Results here are not collected later.
    let mut state = tempfile::Builder::new();
    let state = state.prefix("diskspd-agent-").permissions(Permissions::from_mode(0o700)).tempdir();
    let state = state.map_err(|error| refuse_with(&format!("cannot make a temporary directory: {error}")))?;
    let name = setup.name.clone();
    let options = AgentOptions {
        name: setup.name.clone(),
        connection: setup.connection().map_err(|error| print_error(&error))?,
        trusted: Trusted::new(vec![setup.trust().map_err(|error| print_error(&error))?]),
        state: state.path().to_owned(),
        version: IMPLEMENTATION_VERSION.to_owned(),
        limits: shown_limits,
        boot_id: ::host::boot_id(&::host::Root::machine()),
        log: Arc::new(|sentence: &str| say(sentence)),
        service: Service::Private(Arc::new(move || say_to_controller(&AgentMessage::DiskspdAgentReady(name.clone())))),
        silence: Silence::default(),
    };
    ::fleet::serve(options, this_host, &signals.interrupted).map_err(|error| print_error(&error))?;
    Ok(Status::Done)
}

fn say_to_controller(said: &AgentMessage) {
    // If the controller is gone, it has closed standard input, too.
    let _ = print(format!("{}\n", said.line()).as_bytes());
}

/// Passes on the first line, and then waits for the end of the input.
fn read(settings: &Sender<String>, closed: &AtomicBool) {
    let mut stdin = BufReader::new(io::stdin());
    let mut line = String::new();
    if (&mut stdin).take(MAX_SETTINGS_BYTES).read_line(&mut line).is_ok() && line.ends_with('\n') {
        let _ = settings.send(line);
        let _ = io::copy(&mut stdin, &mut io::sink());
    }
    closed.store(true, Relaxed);
}

/// The directories and devices of the load's targets. A file given in place of a device, such as one in /dev/shm,
/// stands for its directory.
fn allowed(setup: &Setup) -> Vec<PathBuf> {
    let is_device = |path: &Path| metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    let devices = setup.allowed.devices.iter().map(PathBuf::from);
    let devices = devices.map(|path| match path.parent() {
        Some(folder) if !is_device(&path) => folder.to_owned(),
        _ => path,
    });
    let mut allow: Vec<PathBuf> = setup.allowed.directories.iter().map(PathBuf::from).chain(devices).collect();
    allow.sort();
    allow.dedup();
    allow
}
