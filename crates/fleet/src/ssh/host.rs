//! One host: ssh, and the agent at its other end.

use super::lines::{LastLines, each_line};
use super::{AgentMessage, Destination, MAX_SETUP_BYTES, Setup};
use crate::FleetError;
use crate::message::bounded_text;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time limit for the output of a program after its end.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Exit statuses: ssh's own failures, and a shell's if it finds no program.
const SSH_FAILED: i32 = 255;
const NOT_FOUND: i32 = 127;

/// For each connection; the rest is the user's configuration of ssh.
const OPTIONS: [&str; 9] = [
    // Never prompts.
    "BatchMode=yes",
    // A connection of its own that ends with this process: a shared one would keep the port.
    "ControlMaster=no",
    "ControlPath=none",
    "RequestTTY=no",
    "RemoteCommand=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    // Prints the port allocated on the host.
    "LogLevel=INFO",
    "ServerAliveInterval=5",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Until the agent has sent its version and sshd the allocated port.
    Connecting,
    /// The agent has its setup.
    Starting,
    /// It waits for orders.
    Ready,
    /// Refused, failed or late.
    Failed,
}

#[derive(Debug)]
pub(super) struct Host {
    destination: Destination,
    setup: Setup,
    child: Child,
    stdin: Option<ChildStdin>,
    heard: Arc<Mutex<AgentOutput>>,
    stage: Stage,
    ended: Option<(ExitStatus, Instant)>,
    refusals: Vec<String>,
}

/// Output so far.
#[derive(Debug, Default)]
struct AgentOutput {
    port: Option<u16>,
    has_no_port: bool,
    version: Option<String>,
    is_ready: bool,
    last: LastLines,
    /// Number of streams at their end.
    ended_streams: u32,
}

impl Host {
    /// Starts ssh, which makes the server's port reachable from the host and runs an agent there.
    pub(super) fn reach(destination: Destination, setup: Setup, port: u16) -> Result<Self, FleetError> {
        let mut command = Command::new("ssh");
        command.arg("-T");
        command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        command.arg("-R").arg(format!("127.0.0.1:0:127.0.0.1:{port}"));
        command.args(["--", &destination.destination, "diskspd", "agent", "--stdin"]);
        // Ctrl+C in a terminal ends the load, and then this.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = command.spawn();
        let mut child = spawned.map_err(|error| {
            let hint = if error.kind() == std::io::ErrorKind::NotFound { " (package openssh-client)" } else { "" };
            FleetError::refused(format!("{}: cannot run ssh: {error}{hint}", destination.name))
        })?;
        let heard = Arc::<Mutex<AgentOutput>>::default();
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut reached = Self {
            destination,
            setup,
            child,
            stdin,
            heard: Arc::clone(&heard),
            stage: Stage::Connecting,
            ended: None,
            refusals: Vec::new(),
        };
        // Read to their ends, whatever they contain: an agent must never wait for its output to be read.
        let said = Arc::clone(&heard);
        let read_stdout = stdout.map(|stdout| move || read(stdout, &said, |heard, line| heard.handle_line(&line)));
        let forwarded = format!(" to 127.0.0.1:{port}");
        let complain = move |heard: &mut AgentOutput, line: String| heard.complained(&line, &forwarded);
        let read_stderr = stderr.map(|stderr| move || read(stderr, &heard, complain));
        let cannot = |error: std::io::Error| FleetError::failed(format!("cannot begin: {error}"));
        let spawned = read_stdout.map(spawn).transpose().and_then(|_| read_stderr.map(|read| spawn(read)).transpose());
        if let Err(error) = spawned {
            reached.stage = Stage::Failed;
            return Err(cannot(error));
        }
        Ok(reached)
    }

    fn heard(&self) -> MutexGuard<'_, AgentOutput> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances as far as possible; true if nothing more is to be waited for.
    pub(super) fn advance(&mut self, version: &str) -> bool {
        let ended = self.has_ended();
        let (port, has_no_port, other, is_ready) = {
            let heard = self.heard();
            (heard.port, heard.has_no_port, heard.version.clone(), heard.is_ready)
        };
        match self.stage {
            Stage::Connecting | Stage::Starting if ended => {
                let Some((status, since)) = self.ended else { return false };
                let all_is_heard = self.heard().ended_streams == 2 || since.elapsed() >= LAST_WORDS;
                if all_is_heard {
                    let sentences = self.why(status);
                    self.refuse(sentences);
                }
                return all_is_heard;
            }
            Stage::Ready | Stage::Failed => return true,
            Stage::Connecting if has_no_port => {
                self.refuse(vec![
                    "sshd forwards no port to this machine (AllowTcpForwarding and PermitListen in its sshd_config)"
                        .into(),
                ]);
            }
            Stage::Connecting => match (port, other) {
                (_, Some(other)) if other != version => {
                    self.refuse(vec![format!("diskspd there is version {}, here {version}", bounded_text(&other))]);
                }
                (Some(port), Some(_)) => self.set_up(port),
                _ => {}
            },
            Stage::Starting if is_ready => self.stage = Stage::Ready,
            Stage::Starting => {}
        }
        matches!(self.stage, Stage::Ready | Stage::Failed)
    }

    /// Sends the agent its setup.
    fn set_up(&mut self, port: u16) {
        self.setup.server = format!("nats://127.0.0.1:{port}");
        let line = serde_json::to_string(&self.setup).unwrap_or_default() + "\n";
        self.setup.seed.clear();
        if line.len() > MAX_SETUP_BYTES {
            return self.refuse(vec!["too many directories of targets".into()]);
        }
        let Some(stdin) = &mut self.stdin else { return };
        // If ssh has ended, its status shows why.
        let _ = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush());
        self.stage = Stage::Starting;
    }

    fn refuse(&mut self, sentences: Vec<String>) {
        self.stage = Stage::Failed;
        let name = &self.destination.name;
        self.refusals.extend(sentences.into_iter().map(|sentence| format!("{name}: {sentence}")));
    }

    /// Fails the host after its time limit.
    pub(super) fn is_late(&mut self, time: Duration) {
        let seconds = time.as_secs();
        let mut sentences = match self.stage {
            Stage::Connecting => vec![format!("no answer over ssh within {seconds} s")],
            Stage::Starting => vec![format!("its agent waits for no orders within {seconds} s")],
            Stage::Ready | Stage::Failed => return,
        };
        sentences.extend(self.heard().last.all().iter().cloned());
        self.refuse(sentences);
    }

    /// The reasons why the load cannot use this host; empty if it can.
    pub(super) fn refusals(&self) -> &[String] {
        &self.refusals
    }

    /// The reasons why ssh or the agent ended.
    fn why(&self, status: ExitStatus) -> Vec<String> {
        let heard = self.heard();
        let said = heard.last.all();
        let destination = &self.destination.destination;
        match status.code() {
            Some(SSH_FAILED) => {
                let said = if said.is_empty() { "it gives no reason".to_owned() } else { said.join("; ") };
                vec![format!("ssh failed: {said} (to see more: ssh {destination} diskspd --version)")]
            }
            Some(NOT_FOUND) if heard.version.is_none() => {
                let said = said.join("; ");
                vec![format!("{said}: diskspd must be installed there, in the PATH of commands that ssh runs")]
            }
            _ if said.is_empty() => vec![format!("the agent ended without a reason ({status})")],
            _ => said.iter().map(|line| line.strip_prefix("ERROR: ").unwrap_or(line).to_owned()).collect(),
        }
    }

    /// The reason if it ended while it was needed.
    pub(super) fn lost(&mut self) -> Option<String> {
        if self.stage != Stage::Ready || !self.has_ended() {
            return None;
        }
        let (status, _) = self.ended?;
        let last = self.heard().last.all().last().cloned().unwrap_or_default();
        Some(format!(
            "{}: the connection over ssh ended before the load's end ({status}): {last}",
            self.destination.name
        ))
    }

    /// Ends the agent by closing its input. An ssh that has not reached it is terminated.
    pub(super) fn end(&mut self) {
        self.stdin = None;
        if self.heard().version.is_none() && !self.has_ended() {
            sys::child::terminate_group(&self.child);
        }
    }

    /// Terminates an ssh that did not end by itself.
    pub(super) fn terminate(&mut self) -> Option<String> {
        sys::child::terminate_group(&self.child);
        let name = &self.destination.name;
        let was_reached = self.heard().version.is_some();
        was_reached.then(|| format!("{name}: 'diskspd agent' does not end; look whether it still runs there"))
    }

    /// True once ssh has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        if self.ended.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.ended = Some((status, Instant::now()));
        }
        self.ended.is_some()
    }

    /// The last result of [`Self::has_ended`].
    pub(super) fn has_been_waited_for(&self) -> bool {
        self.ended.is_some()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stdin = None;
        if !self.has_ended() {
            sys::child::kill_group(&self.child);
            let _ = self.child.wait();
        }
    }
}

impl AgentOutput {
    /// Handles a line of the host's standard output: that of an agent, or other output of a shell there.
    fn handle_line(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(AgentMessage::DiskspdAgent(version)) => self.version = Some(version),
            Ok(AgentMessage::DiskspdAgentReady(_)) => self.is_ready = true,
            Err(_) => {}
        }
    }

    /// Handles a line of standard error, of ssh or of the host.
    fn complained(&mut self, line: &str, forwarded: &str) {
        let allocated = line.strip_prefix("Allocated port ").filter(|rest| rest.ends_with(forwarded));
        if let Some((port, _)) = allocated.and_then(|rest| rest.split_once(' ')) {
            self.port = self.port.or(port.parse().ok());
            return;
        }
        self.has_no_port |= line.contains("remote port forwarding failed for listen port 0");
        if !line.starts_with("Warning: Permanently added ") {
            self.last.add(line);
        }
    }
}

fn spawn(read: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name("ssh".into()).stack_size(128 << 10).spawn(read).map(drop)
}

fn read(stream: impl std::io::Read, heard: &Mutex<AgentOutput>, mut take: impl FnMut(&mut AgentOutput, String)) {
    let hear = |line| take(&mut heard.lock().unwrap_or_else(PoisonError::into_inner), line);
    each_line(stream, hear);
    heard.lock().unwrap_or_else(PoisonError::into_inner).ended_streams += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_that_of_the_forward_to_the_server() {
        let mut heard = AgentOutput::default();
        for line in [
            "Allocated port 7 for remote forward to 127.0.0.1:11",
            "Allocated port 8 for remote forward to 127.0.0.1:1",
            "Allocated port 9 for remote forward to 127.0.0.1:1",
            "Warning: Permanently added '[h]:22' (ED25519) to the list of known hosts.",
            "motd",
        ] {
            heard.complained(line, " to 127.0.0.1:1");
        }
        assert_eq!(heard.port, Some(8));
        assert_eq!(heard.last.all(), ["Allocated port 7 for remote forward to 127.0.0.1:11", "motd"]);
        assert!(!heard.has_no_port);
        heard.complained("Warning: remote port forwarding failed for listen port 0", " to 127.0.0.1:1");
        assert!(heard.has_no_port);
    }

    #[test]
    fn what_else_a_shell_says_is_not_the_agent() {
        let mut heard = AgentOutput::default();
        for line in ["Welcome", "{}", "{\"diskspd_agent\":7}", "[", "{\"diskspd_agent\":\"1.2\"}", "bye"] {
            heard.handle_line(line);
        }
        assert_eq!((heard.version.as_deref(), heard.is_ready), (Some("1.2"), false));
        heard.handle_line(&AgentMessage::DiskspdAgentReady("h1".into()).line());
        assert!(heard.is_ready);
    }

    #[test]
    fn a_host_that_talks_without_end_fills_no_memory() {
        let mut lines = LastLines::default();
        let mut count = 0;
        each_line(&vec![b'x'; 100_000][..], |line| {
            count += 1;
            lines.add(&line);
        });
        assert_eq!((count, lines.all().len()), (25, 8));
    }
}
