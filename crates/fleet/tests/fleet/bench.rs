//! A server, agents whose load is a recording, and a controller.

use fleet::{
    AgentOptions, AgentState, Connection, Controller, Finished, FleetError, HostInfo, Load, LoadHost, Planned,
    Prepared, Service, SigningKey, Silence, StartGate, Trusted, name, serve,
};
use model::host_timing::HostTiming;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sys::clock::monotonic_ns;

pub(crate) const VERSION: &str = "0.1.0";
/// Longer than anything here takes on any machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);
/// Timeout of heartbeats in tests that wait for it.
pub(crate) const SHORT: Duration = Duration::from_millis(300);
/// Until the test ends it.
pub(crate) const VERY_LONG: Duration = Duration::from_mins(10);

/// A NATS server of a test's own.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts one; the error is why it cannot.
    pub(crate) fn start(configuration: &str) -> Result<Self, String> {
        let program = testkit::tool("nats-server")?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("nats.conf"), configuration).unwrap();
        let port = free_port();
        let child = spawn(&program, folder.path(), port);
        Ok(Self { child, port, program, folder })
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection { server: self.url(), ..Connection::default() }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.program, self.folder.path(), self.port);
    }
}

/// A free port that no other server of these tests was given.
fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if GIVEN.lock().unwrap().insert(port) {
            return port;
        }
    }
}

#[allow(clippy::zombie_processes)] // Dropping the server waits for it; without it the test has failed.
fn spawn(program: &Path, folder: &Path, port: u16) -> Child {
    let mut command = Command::new(program);
    command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-c"]).arg(folder.join("nats.conf"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + LONG;
    loop {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let mut greeting = [0; 4];
            if stream.read_exact(&mut greeting).is_ok() && &greeting == b"INFO" {
                return child;
            }
        }
        assert!(Instant::now() < until, "the server does not listen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Behaviour of a [`FakeHost`]; durations may change while they pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) refuse_plan: Vec<String>,
    pub(crate) fail_prepare: Vec<String>,
    pub(crate) fail_run: Vec<String>,
    /// Duration of the load after its start.
    pub(crate) run_for: Duration,
    pub(crate) prepare_for: Duration,
    /// Bytes of text in the result that do not compress.
    pub(crate) result_bytes: usize,
    pub(crate) panic_in_plan: bool,
}

/// A machine that records its orders.
#[derive(Default)]
pub(crate) struct FakeHost {
    pub(crate) behaviour: Mutex<Behaviour>,
    pub(crate) events: Mutex<Vec<String>>,
    pub(crate) started_ns: AtomicU64,
}

impl FakeHost {
    fn note(&self, event: impl Into<String>) {
        self.events.lock().unwrap().push(event.into());
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    pub(crate) fn has(&self, event: &str) -> bool {
        self.events().iter().any(|noted| noted == event)
    }

    fn behaviour(&self) -> Behaviour {
        self.behaviour.lock().unwrap().clone()
    }
}

fn nap() {
    std::thread::sleep(Duration::from_millis(1));
}

impl LoadHost for FakeHost {
    fn plan(&self, load: &Load) -> Result<Planned, Vec<String>> {
        self.note("plan");
        let behaviour = self.behaviour();
        assert!(!behaviour.panic_in_plan, "planning fails in an unforeseen way");
        if !behaviour.refuse_plan.is_empty() {
            return Err(behaviour.refuse_plan);
        }
        Ok(Planned { facts: json!({"host": load.host}), text: format!("{} of {}", load.index, load.hosts) })
    }

    fn prepare(&self, _load: &Load, stop: &AtomicBool) -> Result<Prepared, Vec<String>> {
        self.note("prepare");
        let began = Instant::now();
        while began.elapsed() < self.behaviour.lock().unwrap().prepare_for {
            if stop.load(Ordering::Relaxed) {
                self.note("prepare stopped");
                return Err(self.behaviour().fail_prepare);
            }
            nap();
        }
        let fail = self.behaviour().fail_prepare;
        if !fail.is_empty() {
            return Err(fail);
        }
        self.note("prepared");
        Ok(Prepared { created: vec!["file".into()] })
    }

    fn undo(&self, prepared: &Prepared) {
        self.note(format!("undo {}", prepared.created.join(" ")));
    }

    fn run(&self, load: &Load, _: &Prepared, gate: &StartGate, stop: &AtomicBool) -> Result<Finished, Vec<String>> {
        while monotonic_ns() < gate.start_at_ns() && !stop.load(Ordering::Relaxed) {
            nap();
        }
        if !gate.enter() {
            self.note("not started");
            return Err(self.behaviour().fail_run);
        }
        self.started_ns.store(monotonic_ns(), Ordering::Relaxed);
        self.note("started");
        let started_ns = monotonic_ns();
        let began = Instant::now();
        while began.elapsed() < self.behaviour.lock().unwrap().run_for && !stop.load(Ordering::Relaxed) {
            gate.report(monotonic_ns() - started_ns, 4096);
            nap();
        }
        let stopped = stop.load(Ordering::Relaxed);
        self.note(if stopped { "stopped" } else { "ended" });
        let behaviour = self.behaviour();
        if !behaviour.fail_run.is_empty() {
            return Err(behaviour.fail_run);
        }
        let timing = HostTiming {
            planned_start_ns: gate.start_at_ns(),
            started_ns,
            measured_from_ns: Some(started_ns),
            measured_to_ns: Some(monotonic_ns()),
        };
        let result = json!({
            "host": load.host, "profile": load.profile, "stopped": stopped, "text": noise(behaviour.result_bytes),
        });
        Ok(Finished { result: result.to_string(), timing })
    }
}

/// The result document of a host.
pub(crate) fn document(finished: &Finished) -> Value {
    serde_json::from_str(&finished.result).unwrap()
}

/// Text that does not compress to less than half.
pub(crate) fn noise(bytes: usize) -> String {
    let mut random = 7_u64;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = write!(text, "{:08x}", random >> 32);
    }
    text.truncate(bytes);
    text
}

/// An agent on a thread of its own.
pub(crate) struct RunningAgent {
    pub(crate) name: String,
    pub(crate) host: Arc<FakeHost>,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    pub(crate) state: PathBuf,
    pub(crate) silence: Silence,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), FleetError>>>,
}

impl RunningAgent {
    /// Ends it as a signal would, and returns its result.
    pub(crate) fn end(&mut self) -> Result<(), FleetError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.log().iter().any(|line| line.contains("waits for orders"))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.end();
        }
    }
}

/// A server, a key, and agents that trust it.
pub(crate) struct Bench {
    pub(crate) agents: Vec<RunningAgent>,
    pub(crate) server: Server,
    pub(crate) key: SigningKey,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) stop: AtomicBool,
}

impl Bench {
    pub(crate) fn new(agents: usize) -> Result<Self, String> {
        Self::with(agents, "")
    }

    pub(crate) fn with(agents: usize, configuration: &str) -> Result<Self, String> {
        let server = Server::start(configuration)?;
        let key = SigningKey::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut bench = Self { agents: Vec::new(), server, key, folder, stop: AtomicBool::new(false) };
        for index in 0..agents {
            let agent = bench.agent(&format!("h{index}"));
            bench.agents.push(agent);
        }
        bench.wait_until_ready();
        Ok(bench)
    }

    pub(crate) fn wait_until_ready(&self) {
        wait(|| self.agents.iter().all(RunningAgent::is_ready));
    }

    /// Starts one more agent, and does not wait for it.
    pub(crate) fn agent(&self, name: &str) -> RunningAgent {
        self.agent_at(name, &self.server.url())
    }

    /// Starts one with the server at this address.
    pub(crate) fn agent_at(&self, name: &str, url: &str) -> RunningAgent {
        self.agent_for(name, url, Service::Standing)
    }

    /// Starts one with this lifetime.
    pub(crate) fn agent_for(&self, name: &str, url: &str, service: Service) -> RunningAgent {
        let host = Arc::new(FakeHost::default());
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        let (state, silence) = (self.folder.path().join(name), Silence::default());
        let options = AgentOptions {
            name: name.into(),
            connection: Connection { server: url.to_owned(), ..Connection::default() },
            trusted: Trusted::new(vec![self.key.public().clone()]),
            state: state.clone(),
            version: VERSION.into(),
            limits: json!({"allow": ["/x"]}),
            boot_id: "one-machine".into(),
            log: Arc::new(move |line: &str| kept.lock().unwrap().push(line.to_owned())),
            service,
            silence: silence.clone(),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, works) = (Arc::clone(&stop), Arc::clone(&host));
        let thread = std::thread::spawn(move || serve(options, works, &stopped));
        RunningAgent { name: name.into(), host, log, state, silence, stop, thread: Some(thread) }
    }

    pub(crate) fn controller(&self) -> Controller {
        Controller::connect(&self.server.connection(), VERSION).unwrap()
    }

    pub(crate) fn behave(&self, change: impl Fn(usize, &mut Behaviour)) {
        for (index, agent) in self.agents.iter().enumerate() {
            change(index, &mut agent.host.behaviour.lock().unwrap());
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.agents.iter().map(|agent| agent.name.clone()).collect()
    }

    /// Runs of the agents end soon without heartbeats.
    pub(crate) fn shorten_silence(&self) {
        self.agents.iter().for_each(|agent| agent.silence.set(SHORT));
    }

    /// Waits until the agents have released all runs.
    pub(crate) fn wait_until_idle(&self) {
        let mut controller = self.controller();
        let is_idle = |info: &HostInfo| info.state == AgentState::Idle && info.run.is_none();
        wait(|| controller.select(&self.names(), None).is_ok_and(|infos| infos.iter().all(is_idle)));
    }

    pub(crate) fn loads(&self) -> Vec<Load> {
        let names = self.names();
        loads(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub(crate) fn has(&self, event: &str) -> Vec<bool> {
        self.agents.iter().map(|agent| agent.host.has(event)).collect()
    }
}

pub(crate) fn loads(names: &[&str]) -> Vec<Load> {
    let run = name::new_id().unwrap();
    let hosts = names.len();
    let load = |(index, name): (usize, &&str)| Load {
        run: run.clone(),
        host: (*name).into(),
        index,
        hosts,
        shared: false,
        profile: json!({"block": 4096, "index": index}),
        options: Value::Null,
    };
    names.iter().enumerate().map(load).collect()
}

/// Waits for a condition; fails when it takes longer than anything here takes.
pub(crate) fn wait(mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < until, "it did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}
