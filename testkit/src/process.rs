//! Programs that are started, watched, and killed if they take too long.

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, setpriority_process};
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Default time limit of a program: far more than any needs on a busy machine.
const LIMIT: Duration = Duration::from_mins(3);

/// Polling interval of a running program.
const TICK: Duration = Duration::from_millis(5);

/// The remaining time of a program. Time for which the whole machine stalled is not counted: virtual machines are
/// paused for minutes.
#[derive(Debug)]
struct Patience {
    left: Duration,
    looked_at: Instant,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        Self { left: limit, looked_at: Instant::now() }
    }

    /// Waits for a tick. False once the time is over.
    fn tick(&mut self) -> bool {
        std::thread::sleep(TICK);
        let now = Instant::now();
        let passed = now - std::mem::replace(&mut self.looked_at, now);
        self.left = self.left.saturating_sub(passed.min(Duration::from_secs(1)));
        !self.left.is_zero()
    }
}

/// A child has copies of all open files from fork to exec: a test that has its file open for a moment must not make
/// another test's child a user of it. Locked for reading by code that opens files that runs write to, or tests locks
/// and leases.
static FORKING: RwLock<()> = RwLock::new(());

/// Prevents [`spawned`] and [`Program`] from starting anything while this exists.
pub fn no_child() -> RwLockReadGuard<'static, ()> {
    FORKING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process when no test has a file open for a moment. On return it has its process group and none of our other
/// files.
pub fn spawned(command: &mut Command) -> io::Result<Child> {
    // std calls posix_spawn unless the PATH is set, and that relies on vfork, which qemu's user-mode emulation replaces
    // by fork: it returns before the program is started. After its own fork, std waits for that.
    if !command.get_envs().any(|(name, _)| name == "PATH") {
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    }
    let _alone = FORKING.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// Prioritises the CPU time of threads and programs started by `start`, if this process may: they inherit the nice
/// value of this thread.
pub(crate) fn favoured<T>(start: impl FnOnce() -> T) -> T {
    // Without a process it applies to the calling thread.
    let is_allowed = setpriority_process(None, -20).is_ok();
    let started = start();
    if is_allowed {
        setpriority_process(None, 0).expect("a thread may become nicer");
    }
    started
}

/// A program about to be started.
#[derive(Debug)]
pub struct Program {
    command: Command,
    limit: Duration,
    is_favoured: bool,
}

impl Program {
    pub(crate) fn new(program: &Path, folder: &Path) -> Self {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", folder)
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Killed as a whole, including its children.
            .process_group(0);
        Self { command, limit: LIMIT, is_favoured: false }
    }

    /// Adds one argument unchanged.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    /// Adds the words of a line.
    #[must_use]
    pub fn args(mut self, words: &str) -> Self {
        self.command.args(words.split_whitespace());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Redirects stdout instead of capturing it.
    #[must_use]
    pub fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.command.stdout(to);
        self
    }

    /// Sets another time limit.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Prioritises its CPU time, if this process may.
    #[must_use]
    pub fn favoured(mut self) -> Self {
        self.is_favoured = true;
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Finished {
        self.start().finish()
    }

    /// Runs it until its `-v` lines report that it measures, and then as if Ctrl+C were pressed.
    pub fn run_until_measuring(self) -> Finished {
        let mut run = self.start();
        let measures = "starting measurements";
        while !run.has_ended() && !run.stderr.so_far().contains(measures) {
            assert!(run.patience.tick(), "it does not get to measure\nstderr:\n{}", run.stderr.so_far());
        }
        run.interrupt();
        run.finish()
    }

    /// Runs it to its end and reads the kernel's I/O accounting of it when it begins to write to stdout, when all I/O
    /// of a run has completed. It must write more than a page; otherwise there is no accounting, since only root can
    /// read that of an ended process.
    pub fn run_counted(mut self) -> Finished {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        // The minimum, so that the program blocks in the middle of its report.
        let capacity = rustix::pipe::fcntl_setpipe_size(&writer, 4096).expect("our own pipe");
        self.command.stdout(writer);
        let mut run = self.start();
        let mut kernel_io = None;
        while kernel_io.is_none() && !run.has_ended() {
            assert!(run.patience.tick(), "it does not get to report\nstderr:\n{}", run.stderr.so_far());
            if rustix::io::ioctl_fionread(&reader).is_ok_and(|waiting| waiting >= capacity as u64) {
                kernel_io = KernelIo::read(run.id());
            }
        }
        run.stdout = Capture::start(Some(reader));
        Finished { kernel_io, ..run.finish() }
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let mut spawn = || spawned(&mut self.command);
        let spawned = if self.is_favoured { favoured(spawn) } else { spawn() };
        let words = format!("{:?}", self.command);
        let mut child = spawned.unwrap_or_else(|error| panic!("{:?} starts: {error}", self.command));
        let stdout = Capture::start(child.stdout.take());
        let stderr = Capture::start(child.stderr.take());
        Running { child, stdout, stderr, patience: Patience::new(self.limit), words }
    }
}

/// The captured output of a stream so far.
#[derive(Debug)]
struct Capture {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Capture {
    fn start(stream: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let into = Arc::clone(&bytes);
        let reader = stream.map(|mut stream| {
            std::thread::spawn(move || {
                let mut part = [0; 4096];
                loop {
                    match stream.read(&mut part) {
                        Ok(0) => break,
                        Ok(length) => {
                            into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&part[..length]);
                        }
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
            })
        });
        Self { bytes, reader }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// True once the stream has ended.
    fn is_at_end(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            // It ends early only if reading failed.
            let _ = reader.join();
        }
        self.so_far()
    }
}

/// Flags of an open descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenMode {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Past the page cache.
    pub direct: bool,
    /// Synchronous writes (`O_DSYNC`).
    pub data_sync: bool,
}

/// Numeric entries of a directory.
fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A running program. It is killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Capture,
    stderr: Capture,
    patience: Patience,
    words: String,
}

impl Running {
    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed()).expect("ids of processes are above 0")
    }

    /// Sends SIGINT, as Ctrl+C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends SIGINT to the program and its children, as Ctrl+C in a terminal does.
    pub fn interrupt_all(&self) {
        rustix::process::kill_process_group(self.pid(), Signal::INT).expect("our own children");
    }

    /// Sends SIGTERM, as `kill` does.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends SIGUSR1, as `kill -USR1` does.
    pub fn ask_status(&self) {
        self.signal(Signal::USR1);
    }

    /// Sends SIGHUP, as the end of a terminal does.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Stops it with a signal that it cannot catch, and waits until all its threads are stopped: signals sent from then
    /// on arrive together when it continues.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        let mut patience = Patience::new(LIMIT);
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while !matches!(rustix::process::waitid(WaitId::Pid(self.pid()), options), Ok(Some(_))) {
            assert!(patience.tick() && !self.has_ended(), "{} does not stop", self.words);
        }
    }

    /// Continues it after a [`pause`](Self::pause).
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        // Not reaped before `finish`, so the ID cannot be another's.
        rustix::process::kill_process(self.pid(), signal).expect("our own child");
    }

    /// Waits until stderr has shown this text.
    pub fn wait_for_stderr(&mut self, text: &str) {
        self.wait_until(&format!("stderr to show '{text}'"), |running| running.stderr.so_far().contains(text));
    }

    /// Bytes that it has read and written by system calls so far, according to the kernel; 0 if that cannot be read.
    pub fn transferred_bytes(&self) -> u64 {
        KernelIo::read(self.id()).map_or(0, |io| io.transferred_bytes)
    }

    /// Its output on stdout so far.
    pub fn stdout(&self) -> String {
        self.stdout.so_far()
    }

    /// Its output on stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.so_far()
    }

    /// Waits until stdout has shown this text.
    pub fn wait_for_stdout(&mut self, text: &str) {
        self.wait_until(&format!("stdout to show '{text}'"), |running| running.stdout.so_far().contains(text));
    }

    /// Waits until a condition is true; fails if the program ends first.
    pub fn wait_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        loop {
            // On a busy machine its last output is read some time after its end.
            let is_over = self.has_ended() && self.stdout.is_at_end() && self.stderr.is_at_end();
            if is_so(self) {
                return;
            }
            assert!(!is_over, "{} ended; waited for {what}\nstderr:\n{}", self.words, self.stderr.all());
            assert!(self.patience.tick(), "waited too long for {what}\nstderr:\n{}", self.stderr.so_far());
        }
    }

    /// Waits until it has measured I/Os that completed from now on, according to its status lines (`kill -USR1`). It
    /// must already measure, without a warm-up.
    pub fn wait_for_ios(&mut self) {
        let begin = self.stderr.so_far().len();
        self.wait_until("I/Os to complete", |running| {
            running.ask_status();
            let said = running.stderr.so_far();
            // The first line may be of the time before.
            let told = said[begin..].lines().filter(|line| line.starts_with("measuring, "));
            told.filter(|line| line.ends_with(" mean latency")).count() > 1
        });
    }

    /// Its threads, except the first: name and permitted CPUs, in order of start.
    pub fn threads(&self) -> Vec<(String, String)> {
        let mut ids: Vec<u32> = numbers_in(&format!("/proc/{}/task", self.id()));
        ids.sort_unstable();
        let status = |id: u32| std::fs::read_to_string(format!("/proc/{}/task/{id}/status", self.id())).ok();
        let field = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned()).unwrap_or_default()
        };
        let texts = ids.into_iter().filter(|id| *id != self.id()).filter_map(status);
        texts.map(|text| (field(&text, "Name:"), field(&text, "Cpus_allowed_list:"))).collect()
    }

    /// Flags of its open descriptors of a file.
    pub fn descriptors_of(&self, path: &Path) -> Vec<OpenMode> {
        let is_it = |number: &u32| {
            std::fs::read_link(format!("/proc/{}/fd/{number}", self.id())).is_ok_and(|target| target == path)
        };
        let mode = |number: u32| {
            let text = std::fs::read_to_string(format!("/proc/{}/fdinfo/{number}", self.id())).ok()?;
            let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
            let flags = OFlags::from_bits_retain(u32::from_str_radix(flags.trim(), 8).ok()?);
            let access = flags & OFlags::ACCMODE;
            Some(OpenMode {
                read: access != OFlags::WRONLY,
                write: access != OFlags::RDONLY,
                direct: flags.contains(OFlags::DIRECT),
                data_sync: flags.contains(OFlags::DSYNC),
            })
        };
        numbers_in(&format!("/proc/{}/fd", self.id())).into_iter().filter(is_it).filter_map(mode).collect()
    }

    /// True once the program has ended; it remains a zombie that can be queried.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(rustix::process::waitid(WaitId::Pid(self.pid()), options), Ok(Some(_)))
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Finished {
        while !self.has_ended() {
            if !self.patience.tick() {
                self.kill();
                panic!("{} took too long\nstdout:\n{}\nstderr:\n{}", self.words, self.stdout.all(), self.stderr.all());
            }
        }
        let status = self.child.wait().expect("our own child");
        Finished {
            status,
            stdout: self.stdout.all(),
            stderr: self.stderr.all(),
            kernel_io: None,
            words: std::mem::take(&mut self.words),
        }
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    pub fn kill_hard(mut self) {
        self.kill();
        self.child.wait().expect("our own child");
    }

    /// Interrupts it and waits for its end, which must be successful; nothing need be measured yet.
    pub fn end(self) -> Finished {
        self.interrupt();
        let run = self.finish();
        assert!(matches!(run.code(), Some(0 | 130)), "{run}");
        run
    }

    fn kill(&mut self) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// The kernel's accounting of a process and all its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelIo {
    /// Bytes read from devices because of it.
    pub read_bytes: u64,
    /// Bytes written to devices because of it, now or later.
    pub write_bytes: u64,
    /// Bytes that it read and wrote by system calls, of any source and destination.
    pub transferred_bytes: u64,
    /// Its peak memory.
    pub peak_bytes: u64,
}

impl KernelIo {
    fn read(process: u32) -> Option<Self> {
        let text = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).ok();
        let (io, status) = (text("io")?, text("status")?);
        let value = |text: &str, name: &str| -> Option<u64> {
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().trim_end_matches(" kB").parse().ok()
        };
        Some(Self {
            read_bytes: value(&io, "read_bytes:")?,
            write_bytes: value(&io, "write_bytes:")?,
            transferred_bytes: value(&io, "rchar:")? + value(&io, "wchar:")?,
            peak_bytes: value(&status, "VmHWM:")? << 10,
        })
    }
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its output on stdout.
    pub stdout: String,
    /// Its output on stderr.
    pub stderr: String,
    /// The kernel's accounting, if requested.
    pub kernel_io: Option<KernelIo>,
    words: String,
}

impl Finished {
    /// Its exit status, if no signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Fails unless it ended with this status.
    pub fn expect_status(&self, code: i32) -> &Self {
        assert_eq!(self.code(), Some(code), "exit status\n{self}");
        self
    }

    /// Fails unless stderr has all these parts.
    pub fn expect_stderr(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stderr.contains(part), "stderr lacks '{part}'\n{self}");
        }
        self
    }

    /// Fails unless stdout has all these parts.
    pub fn expect_stdout(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stdout.contains(part), "stdout lacks '{part}'\n{self}");
        }
        self
    }

    /// Fails unless stdout has all these texts, wherever its lines are wrapped.
    pub fn expect_told(&self, parts: &[&str]) -> &Self {
        let unwrapped = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(unwrapped.contains(part), "stdout does not tell '{part}'\n{self}");
        }
        self
    }

    /// Fails unless the lines of stdout fit a terminal of 80 columns, except commands to type and the lines in the form
    /// of `DiskSpd`'s guides, one per run.
    pub fn expect_narrow(&self) -> &Self {
        let of_runs = ["Param ", "Pair ", "Run ", "Round ", "Average, ", "Preconditioning, "];
        let is_command = |line: &str| ["diskspd ", "echo "].iter().any(|word| line.trim_start().starts_with(word));
        let lines = self.stdout.lines().filter(|line| !is_command(line));
        for line in lines.filter(|line| !of_runs.iter().any(|start| line.starts_with(start))) {
            assert!(line.chars().count() <= 80, "a line of {} columns: {line}\n{self}", line.chars().count());
        }
        self
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}\nstdout:\n{}\nstderr:\n{}", self.words, self.status, self.stdout, self.stderr)
    }
}
