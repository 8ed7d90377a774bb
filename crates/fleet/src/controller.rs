//! The controller: finds agents and drives one load on them.

mod peer;
pub(crate) mod state;

use crate::FleetError;
use crate::clock::{Exchange, Sample, estimate, unix_ms};
use crate::key::SigningKey;
use crate::load::{Finished, Load};
use crate::message::{
    AgentHeartbeat, AgentState, AnswerBody, CollectBody, Hello, HelloAnswer, Kept, PlanBody, SCHEMA, bounded_text,
};
use crate::name;
use crate::order::{CLOCKS_DIFFER_MS, Verb};
use crate::silence::Silence;
use crate::transport::{CONTROLLER_WAITING, Connection};
use async_nats::{Client, Message};
use futures_util::stream::FuturesUnordered;
use futures_util::{Future, StreamExt};
use model::fleet::ClockOffset;
use peer::Peer;
use serde_json::Value;
use state::{Conductor, Step};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sys::clock::monotonic_ns;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

/// Time limit for answers of agents, and time after the last expected one in which another agent with the same name may
/// answer.
const HELLO_WAIT: Duration = Duration::from_secs(2);
const HELLO_QUIET: Duration = Duration::from_millis(400);
const TICK: Duration = Duration::from_millis(50);
/// Time limit of the last orders of a run, which release the agents.
const RELEASE_WAIT: Duration = Duration::from_secs(1);
/// The maximum number of progress messages in the caller's queue; further live figures are dropped.
const WAITING_PROGRESS: usize = 64;
/// The maximum size in bytes of an agent's answer to hello, and of its heartbeat. Larger ones are dropped before they
/// are parsed, so that a hostile sender cannot let a queue of them grow.
const MAX_HELLO_BYTES: usize = 64 << 10;
const MAX_HEARTBEAT_BYTES: usize = 128 << 10;
/// The maximum number of agents that are found.
const MAX_AGENTS: usize = 4096;
/// Time limit for fetching the result of a host: 64 MiB at a Mbit/s.
pub const RESULT_WAIT: Duration = Duration::from_mins(10);
/// Clocks that are measured, and results that are fetched, in parallel.
const MEASURED_TOGETHER: usize = 8;
const FETCHED_TOGETHER: usize = 4;

/// An agent that answered.
#[derive(Clone, Debug, PartialEq)]
pub struct HostInfo {
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The version of its protocol; a run needs the same as the controller's.
    pub schema: u32,
    /// Its state.
    pub state: AgentState,
    /// The run that it executes.
    pub run: Option<String>,
    /// True if it trusts the key of the query ([`Controller::hosts`]).
    pub trusts_key: bool,
    /// Its wall clock minus the controller's, in milliseconds; accurate to some tenths of a second.
    pub clock_ahead_ms: i64,
    /// Its limits.
    pub limits: Value,
    /// Boot ID of its kernel: agents on one machine have the same. Empty = unknown.
    pub boot_id: String,
    /// Number of agents that answered with this name; 1 unless there is a conflict.
    pub agents: usize,
    instance: String,
    challenge: String,
}

/// Plan of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPlan {
    /// The host.
    pub name: String,
    /// Its position among the hosts, from 0.
    pub index: usize,
    /// Facts about the machine; null if they did not fit into a message.
    pub facts: Value,
    /// The plan as text: foreign text.
    pub text: String,
}

/// State of the load on a host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLive {
    /// The host.
    pub name: String,
    /// Its position among the hosts, from 0.
    pub index: usize,
    /// Its last reported state.
    pub state: AgentState,
    /// True if no heartbeat arrived for 10 s.
    pub lost: bool,
    /// I/Os since its load began.
    pub ios: u64,
    /// Bytes since its load began.
    pub bytes: u64,
    /// The documents that it reported since the last time ([`crate::StartGate::report_live`]): foreign text.
    pub live: Vec<Value>,
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// All hosts planned; nothing was touched. If the caller sets `stop` before it returns, nothing will be.
    Planned(Vec<HostPlan>),
    /// All hosts are prepared.
    Prepared,
    /// All hosts have received the start time.
    Starting {
        /// Time until the start, in nanoseconds.
        lead_ns: u64,
    },
    /// The load runs, and once more when it has ended; each quarter of a second.
    Running(Vec<HostLive>),
    /// The load has ended on all hosts; results are fetched.
    Collecting,
    /// The caller stopped the run, whose load has ended: the results of these hosts are still awaited, each for at most
    /// [`RESULT_WAIT`].
    AwaitingResults(Vec<String>),
    /// The connection was lost or restored: a sentence.
    Connection(String),
}

/// Result of a run on all its hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetRun {
    /// Planned start of the load, by the controller's monotonic clock, in nanoseconds.
    pub start_at_ns: u64,
    /// True if it was stopped by the caller.
    pub stopped: bool,
    /// The reason why the first host did not settle the shared files: sentences. Empty = it did, or the load is not
    /// shared.
    pub unsettled: Vec<String>,
    /// The hosts, in the order of their loads.
    pub hosts: Vec<HostRun>,
}

/// Result of a run on one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRun {
    /// The host.
    pub name: String,
    /// Its position among the hosts, from 0.
    pub index: usize,
    /// Its outcome.
    pub outcome: HostOutcome,
    /// Offset of its monotonic clock at the start of the load.
    pub clock: ClockOffset,
}

/// Outcome of a run on a host. Sentences are foreign text.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOutcome {
    /// With a result.
    Finished(Finished),
    /// Failed without a result, with the reasons.
    Failed(Vec<String>),
    /// Lost: no heartbeats, or its result could not be fetched: a sentence. The agent may keep a result
    /// ([`Controller::collect`]).
    Lost(String),
}

/// A result that an agent had kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// The host.
    pub host: String,
    /// The run.
    pub run: String,
    /// When the agent wrote it, in milliseconds since 1970.
    pub written_unix_ms: u64,
    /// The result.
    pub finished: Finished,
}

/// Outcome of an order to stop ([`Controller::stop`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The host.
    pub host: String,
    /// The error is a sentence.
    pub outcome: Result<(), String>,
}

/// Time limits for the long steps of a load on a host; a host that exceeds them is not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// From the order to prepare until the preparation is complete.
    pub prepare: Duration,
    /// From the start of the load until its result is available.
    pub run: Duration,
}

impl Default for TimeLimits {
    /// A day each, for loads without known limits.
    fn default() -> Self {
        let day = Duration::from_hours(24);
        Self { prepare: day, run: day }
    }
}

/// A connection from which loads are driven.
pub struct Controller {
    client: Client,
    handle: Handle,
    version: String,
    server: String,
    events: std::sync::mpsc::Receiver<String>,
    silence: Silence,
    limits: TimeLimits,
    /// The thread that serves the connection ends when this is dropped.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Controller {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Controller {
    /// Connects. `version` is that of the program; agents of another version are refused.
    ///
    /// # Errors
    ///
    /// If the options of the connection are wrong, or the server is not reached.
    pub fn connect(connection: &Connection, version: &str) -> Result<Self, FleetError> {
        connection.check()?;
        let cannot = |error: std::io::Error| FleetError::failed(format!("cannot begin: {error}"));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(cannot)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        // Answers the server's pings between calls, too.
        let serve = move || {
            runtime.block_on(async { _ = ended.await });
            runtime.shutdown_timeout(Duration::from_secs(1));
        };
        let thread = std::thread::Builder::new().name("fleet".into()).spawn(serve).map_err(cannot)?;
        let (event, events) = sync_channel(16);
        let on_event = move |sentence: &str| _ = event.try_send(sentence.to_owned());
        let client = handle.block_on(connection.connect("diskspd controller", CONTROLLER_WAITING, on_event));
        let (end, thread) = (Some(end), Some(thread));
        let (client, server) = match client {
            Ok(client) => (client, connection.shown()),
            Err(error) => {
                drop(end);
                let _ = thread.map(JoinHandle::join);
                return Err(error);
            }
        };
        let silence = Silence::default();
        Ok(Self {
            client,
            handle,
            version: version.to_owned(),
            server,
            events,
            silence,
            limits: TimeLimits::default(),
            end,
            thread,
        })
    }

    /// Sets the time limits of the following loads.
    pub fn limit_times(&mut self, limits: TimeLimits) {
        self.limits = limits;
    }

    /// Time without heartbeats after which a host is lost.
    pub fn silence(&self) -> Silence {
        self.silence.clone()
    }

    /// All agents that answer within two seconds, by name. With a key, also whether they trust it.
    pub fn hosts(&mut self, key: Option<&SigningKey>) -> Result<Vec<HostInfo>, FleetError> {
        self.handle.block_on(self.hello(key, None))
    }

    /// The agents with these names, in this order; `*` in a name stands for any characters. No agent comes twice.
    ///
    /// # Errors
    ///
    /// If one of the names is that of no agent, or of two.
    pub fn select(&mut self, names: &[String], key: Option<&SigningKey>) -> Result<Vec<HostInfo>, FleetError> {
        let exact = names.iter().all(|name| !name.contains('*'));
        for name in names.iter().filter(|name| !name.contains('*')) {
            name::checked(name)?;
        }
        let found = self.handle.block_on(self.hello(key, exact.then_some(names)))?;
        let (mut selected, mut sentences): (Vec<HostInfo>, _) = (Vec::new(), Vec::new());
        for pattern in names {
            let mut matching = found.iter().filter(|info| name::matches(pattern, &info.name)).peekable();
            if matching.peek().is_none() {
                let names: Vec<&str> = found.iter().take(20).map(|info| info.name.as_str()).collect();
                let found =
                    if exact || names.is_empty() { String::new() } else { format!(" (found: {})", names.join(", ")) };
                sentences.push(format!("no agent {} answers on {}{found}", pattern.escape_debug(), self.server));
            }
            for info in matching {
                if info.agents > 1 {
                    sentences.push(format!("{}: {} agents have this name", info.name, info.agents));
                }
                if !selected.iter().any(|other| other.name == info.name) {
                    selected.push(info.clone());
                }
            }
        }
        if sentences.is_empty() { Ok(selected) } else { Err(FleetError::Refused(sentences)) }
    }

    /// Queries all agents; with names, only until these have answered.
    async fn hello(&self, key: Option<&SigningKey>, wanted: Option<&[String]>) -> Result<Vec<HostInfo>, FleetError> {
        let cannot = |error: &dyn std::error::Error| FleetError::failed(format!("cannot ask for agents: {error}"));
        let inbox = self.client.new_inbox();
        let mut answers = self.client.subscribe(inbox.clone()).await.map_err(|error| cannot(&error))?;
        let hello = Hello { key: key.map(|key| key.public().to_string()), instance: None };
        let hello = serde_json::to_vec(&hello).unwrap_or_default();
        let asked = self.client.publish_with_reply(name::hello_to_all(), inbox, hello.into()).await;
        asked.map_err(|error| cannot(&error))?;
        let began = Instant::now();
        let mut quiet_since = Instant::now();
        let mut found: BTreeMap<String, HostInfo> = BTreeMap::new();
        loop {
            let complete = wanted.is_some_and(|names| names.iter().all(|name| found.contains_key(name)));
            let until = if complete { quiet_since + HELLO_QUIET } else { began + HELLO_WAIT };
            let left = until.min(began + HELLO_WAIT).saturating_duration_since(Instant::now());
            let Ok(Some(message)) = tokio::time::timeout(left, answers.next()).await else { break };
            let Some(info) = host_info(&message) else { continue };
            if let Some(same) = found.get_mut(&info.name) {
                same.agents += usize::from(same.instance != info.instance);
            } else if found.len() < MAX_AGENTS {
                quiet_since = Instant::now();
                found.insert(info.name.clone(), info);
            }
        }
        Ok(found.into_values().collect())
    }

    /// Plans the loads on their hosts and discards the plans: no file is touched.
    ///
    /// # Errors
    ///
    /// If a host refuses; the sentences of all that do.
    pub fn plan(&mut self, loads: Vec<Load>, key: &SigningKey, stop: &AtomicBool) -> Result<Vec<HostPlan>, FleetError> {
        let mut plans = Vec::new();
        self.drive(loads, key, stop, true, &mut |progress| {
            if let Progress::Planned(planned) = progress {
                plans = planned;
            }
        })?;
        Ok(plans)
    }

    /// Runs one load on many hosts: plan, prepare, start at the same time, collect.
    ///
    /// The loads have the same `run` and as many hosts as there are loads. When `stop` becomes true, the load ends on
    /// all hosts; before its start, prepared files are removed.
    ///
    /// # Errors
    ///
    /// If it did not start: see [`FleetError`]. A host that fails or is lost later is part of the [`FleetRun`].
    pub fn run(
        &mut self,
        loads: Vec<Load>,
        key: &SigningKey,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<FleetRun, FleetError> {
        self.drive(loads, key, stop, false, progress)
    }

    fn drive(
        &mut self,
        loads: Vec<Load>,
        key: &SigningKey,
        stop: &AtomicBool,
        plan_only: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<FleetRun, FleetError> {
        let run = checked_run(&loads)?;
        let shared = loads.iter().any(|load| load.shared);
        let names: Vec<String> = loads.iter().map(|load| load.host.clone()).collect();
        let infos = self.select(&names, Some(key))?;
        let sentences: Vec<String> = infos.iter().filter_map(|info| self.objection(info, key)).collect();
        if !sentences.is_empty() {
            return Err(FleetError::Refused(sentences));
        }
        let peers: Vec<Arc<Peer>> = infos
            .into_iter()
            .map(|info| {
                Arc::new(Peer::new(self.client.clone(), key.clone(), &run, info.name, info.instance, info.challenge))
            })
            .collect();
        let mut bodies = Vec::new();
        for load in loads {
            let version = self.version.clone();
            let Load { host, index, hosts, shared, profile, options, .. } = load;
            let body = PlanBody { version, host: host.clone(), index, hosts, shared, profile, options };
            let body = serde_json::to_value(body)
                .map_err(|error| FleetError::failed(format!("cannot write the load of {host}: {error}")))?;
            bodies.push((host, index, body));
        }
        let mut drive = Drive {
            conductor: Conductor::new(bodies, plan_only, shared, &self.silence, self.limits),
            hosts: peers.iter().enumerate().map(|(host, peer)| (name::token(&peer.name), host)).collect(),
            peers,
            tasks: FuturesUnordered::new(),
            measured: Arc::new(Semaphore::new(MEASURED_TOGETHER)),
            fetched: Arc::new(Semaphore::new(FETCHED_TOGETHER)),
        };
        while self.events.try_recv().is_ok() {} // of the time before
        let (said, hear) = sync_channel(WAITING_PROGRESS);
        let ended = Arc::new(AtomicBool::new(false));
        let (client, stopped) = (self.client.clone(), Arc::clone(&ended));
        // On the thread of the connection: a caller that prints slowly loses live figures, but no heartbeats.
        let task = self.handle.spawn(async move { drive.run(&client, &run, &stopped, &said).await });
        loop {
            let next = hear.recv_timeout(TICK);
            ended.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            match next {
                Ok((news, seen)) => {
                    progress(news);
                    ended.store(stop.load(Ordering::Relaxed), Ordering::Relaxed);
                    let _ = seen.map(|seen| seen.send(()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.events.try_iter().for_each(|sentence| progress(Progress::Connection(sentence)));
        }
        let done = self.handle.block_on(task);
        done.unwrap_or_else(|error| {
            Err(FleetError::failed(format!("the controller failed in an unforeseen way: {error}")))
        })
    }

    /// The reason why a run cannot use this host.
    fn objection(&self, info: &HostInfo, key: &SigningKey) -> Option<String> {
        let name = &info.name;
        if info.schema != SCHEMA {
            return Some(format!(
                "{name}: the agent speaks version {} of the protocol, the controller {SCHEMA}",
                info.schema
            ));
        }
        if info.version != self.version {
            return Some(format!("{name}: the agent is version {}, the controller {}", info.version, self.version));
        }
        if !info.trusts_key {
            return Some(format!("{name}: the agent does not trust the key {}", key.public()));
        }
        if info.clock_ahead_ms.unsigned_abs() > CLOCKS_DIFFER_MS {
            let seconds = info.clock_ahead_ms as f64 / 1000.0;
            return Some(format!("clock of {name} differs by {seconds:.0} s (allowed: {} s)", CLOCKS_DIFFER_MS / 1000));
        }
        if info.state == AgentState::Starting {
            return Some(format!("{name}: the agent is starting; try again in a second"));
        }
        None
    }

    /// Stops the agents' runs, whichever controller began them.
    ///
    /// # Errors
    ///
    /// If one of the names is that of no agent.
    pub fn stop(&mut self, names: &[String], key: &SigningKey) -> Result<Vec<Stopped>, FleetError> {
        let infos = self.select(names, Some(key))?;
        let mut outcomes = Vec::new();
        for info in infos {
            let name = info.name.clone();
            let objection = self.objection(&info, key);
            let outcome = match objection {
                Some(sentence) => Err(sentence),
                None => self.handle.block_on(self.stop_one(info, key)),
            };
            outcomes.push(Stopped { host: name, outcome });
        }
        Ok(outcomes)
    }

    async fn stop_one(&self, info: HostInfo, key: &SigningKey) -> Result<(), String> {
        let run = "0".repeat(32); // not that of the agent, whose sequence numbers its controller counts
        let peer = Peer::new(self.client.clone(), key.clone(), &run, info.name, info.instance, info.challenge);
        match peer.order(Verb::Stop, &Value::Null, true).await? {
            AnswerBody::Taken => Ok(()),
            AnswerBody::Refused(sentences) => Err(sentences.join("; ")),
            _ => Err("it answered with something else".into()),
        }
    }

    /// The results that agents keep because no controller fetched them.
    pub fn kept(&mut self, names: &[String], key: &SigningKey) -> Result<Vec<(String, Vec<Kept>)>, FleetError> {
        let infos = self.select(names, Some(key))?;
        let mut all = Vec::new();
        for info in infos {
            let name = info.name.clone();
            let peer = self.peer_of(info, key)?;
            let kept = self.handle.block_on(list_kept(&peer));
            all.push((name.clone(), kept.map_err(|sentence| FleetError::failed(format!("{name}: {sentence}")))?));
        }
        Ok(all)
    }

    fn peer_of(&self, info: HostInfo, key: &SigningKey) -> Result<Peer, FleetError> {
        if let Some(sentence) = self.objection(&info, key) {
            return Err(FleetError::refused(sentence));
        }
        let run = name::new_id()?;
        Ok(Peer::new(self.client.clone(), key.clone(), &run, info.name, info.instance, info.challenge))
    }

    /// Fetches the results that agents keep. An agent removes its copy when `save` has returned without an error; an error
    /// of `save` ends the collection.
    ///
    /// # Errors
    ///
    /// If a name is that of no agent, a result cannot be fetched, or `save` failed.
    pub fn collect(
        &mut self,
        names: &[String],
        key: &SigningKey,
        save: &mut dyn FnMut(Collected) -> Result<(), String>,
    ) -> Result<(), FleetError> {
        let infos = self.select(names, Some(key))?;
        for info in infos {
            let host = info.name.clone();
            let failed = |sentence: String| FleetError::failed(format!("{host}: {sentence}"));
            let peer = self.peer_of(info, key)?;
            for kept in self.handle.block_on(list_kept(&peer)).map_err(failed)? {
                let run = kept.run.clone();
                let part = |offset| {
                    let body = CollectBody { kept_run: Some(run.clone()), offset, received: false };
                    (Verb::Collect, serde_json::to_value(body).unwrap_or_default())
                };
                let finished = self.handle.block_on(peer::fetch(&peer, part)).map_err(failed)?;
                let written_unix_ms = kept.written_unix_ms;
                save(Collected { host: host.clone(), run: run.clone(), written_unix_ms, finished }).map_err(failed)?;
                let body = CollectBody { kept_run: Some(run.clone()), offset: 0, received: true };
                let body = serde_json::to_value(body).unwrap_or_default();
                self.handle.block_on(peer.order(Verb::Collect, &body, false)).map_err(failed)?;
            }
        }
        Ok(())
    }
}

async fn list_kept(peer: &Peer) -> Result<Vec<Kept>, String> {
    let body = serde_json::to_value(CollectBody::default()).unwrap_or_default();
    match peer.order(Verb::Collect, &body, false).await? {
        AnswerBody::Kept(kept) => Ok(kept.into_iter().filter(|kept| name::is_id(&kept.run)).collect()),
        AnswerBody::Refused(sentences) => Err(sentences.join("; ")),
        _ => Err("it answered with something else".into()),
    }
}

/// The agent in an answer to hello, if it is valid.
fn host_info(message: &Message) -> Option<HostInfo> {
    let bytes = Some(&message.payload).filter(|bytes| bytes.len() <= MAX_HELLO_BYTES)?;
    let answer: HelloAnswer = serde_json::from_slice(bytes).ok()?;
    let plain = name::is_name(&answer.name) && name::is_id(&answer.instance) && name::is_id(&answer.challenge);
    plain.then(|| HostInfo {
        name: answer.name,
        version: bounded_text(&answer.version),
        schema: answer.schema,
        state: answer.state,
        run: answer.run.filter(|run| name::is_id(run)),
        trusts_key: answer.trusts_key,
        clock_ahead_ms: answer.unix_ms.cast_signed().wrapping_sub(unix_ms().cast_signed()),
        limits: answer.limits,
        boot_id: bounded_text(&answer.boot_id),
        agents: 1,
        instance: answer.instance,
        challenge: answer.challenge,
    })
}

/// The run of the loads, if they are consistent.
fn checked_run(loads: &[Load]) -> Result<String, FleetError> {
    let usage = |sentence: &str| Err(FleetError::Usage(sentence.into()));
    let Some(first) = loads.first() else { return usage("no hosts") };
    if !name::is_id(&first.run) {
        return usage("the name of a run is 32 hexadecimal digits");
    }
    for (index, load) in loads.iter().enumerate() {
        name::checked(&load.host)?;
        if load.run != first.run || load.index != index || load.hosts != loads.len() {
            return usage("the loads do not belong to the same run");
        }
        if loads[..index].iter().any(|other| other.host == load.host) {
            return Err(FleetError::Usage(format!("{} is given twice", load.host)));
        }
    }
    Ok(first.run.clone())
}

/// Result of a task.
enum TaskResult {
    Answered { host: usize, verb: Verb, answer: Option<AnswerBody> },
    Measured { host: usize, sample: Option<Sample> },
    Fetched { host: usize, result: Result<Finished, String> },
    Nothing,
}

/// Progress for the caller, and for plans, the channel to acknowledge them.
type News = (Progress, Option<oneshot::Sender<()>>);

type Task = Pin<Box<dyn Future<Output = TaskResult> + Send>>;

/// A run in progress.
struct Drive {
    conductor: Conductor,
    peers: Vec<Arc<Peer>>,
    /// Positions of hosts by the tokens of their names.
    hosts: BTreeMap<String, usize>,
    tasks: FuturesUnordered<Task>,
    measured: Arc<Semaphore>,
    fetched: Arc<Semaphore>,
}

impl Drive {
    async fn run(
        &mut self,
        client: &Client,
        run: &str,
        stop: &AtomicBool,
        said: &SyncSender<News>,
    ) -> Result<FleetRun, FleetError> {
        let mut seen: Option<oneshot::Receiver<()>> = None;
        let heartbeats = client.subscribe(name::heartbeats_of(run)).await;
        let mut heartbeats = heartbeats.map_err(|error| FleetError::failed(format!("cannot subscribe: {error}")))?;
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased; // what was heard counts before the time that passed
                Some(message) = heartbeats.next() => self.heard(&message),
                Some(back) = self.tasks.next(), if !self.tasks.is_empty() => self.back(back),
                _ = tick.tick() => {
                    if stop.load(Ordering::Relaxed) {
                        self.conductor.user_stop(monotonic_ns());
                    }
                    if seen.as_mut().is_some_and(|seen| seen.try_recv().is_ok()) {
                        self.conductor.plans_seen();
                        seen = None;
                    }
                    self.conductor.tick(monotonic_ns());
                }
            }
            for step in self.conductor.take_steps() {
                match step {
                    Step::Say(news) => {
                        let (answer, answered) = oneshot::channel();
                        let answer = matches!(news, Progress::Planned(_)).then_some(answer);
                        seen = answer.is_some().then_some(answered).or(seen);
                        if let Err(TrySendError::Disconnected(_)) = said.try_send((news, answer)) {
                            self.conductor.user_stop(monotonic_ns()); // the caller is gone
                        }
                    }
                    Step::Done(result) => {
                        let _ = tokio::time::timeout(RELEASE_WAIT, self.release()).await;
                        return *result;
                    }
                    other => self.tasks.push(self.task(other)),
                }
            }
        }
    }

    /// Waits for the last orders.
    async fn release(&mut self) {
        while self.tasks.next().await.is_some() {}
    }

    fn heard(&mut self, message: &Message) {
        let token = message.subject.as_str().rsplit('.').nth(1).unwrap_or_default();
        let Some(&host) = self.hosts.get(token) else { return };
        let fits = message.payload.len() <= MAX_HEARTBEAT_BYTES;
        let parsed = fits.then(|| serde_json::from_slice::<AgentHeartbeat>(&message.payload));
        let Some(Ok(heartbeat)) = parsed else { return };
        if heartbeat.instance == self.peers[host].instance {
            self.peers[host].heard();
            self.conductor.heard(host, heartbeat, monotonic_ns());
        }
    }

    fn back(&mut self, back: TaskResult) {
        let now = monotonic_ns();
        match back {
            TaskResult::Answered { host, verb, answer } => self.conductor.answered(host, verb, answer, now),
            TaskResult::Measured { host, sample } => self.conductor.measured(host, sample, now),
            TaskResult::Fetched { host, result } => self.conductor.fetched(host, result, now),
            TaskResult::Nothing => {}
        }
    }

    fn task(&self, step: Step) -> Task {
        match step {
            Step::Order { host, verb, body } => {
                let peer = Arc::clone(&self.peers[host]);
                Box::pin(async move {
                    let answer = match peer.order(verb, &body, false).await {
                        Ok(answer) => Some(answer),
                        Err(sentence) if peer.cannot_be_sent() => Some(AnswerBody::Refused(vec![sentence])),
                        Err(_) => None,
                    };
                    TaskResult::Answered { host, verb, answer }
                })
            }
            Step::Beat { host, body } => {
                let peer = Arc::clone(&self.peers[host]);
                Box::pin(async move {
                    peer.beat(body).await;
                    TaskResult::Nothing
                })
            }
            Step::Measure { host } => {
                let (peer, turn) = (Arc::clone(&self.peers[host]), Arc::clone(&self.measured));
                Box::pin(async move {
                    let _turn = turn.acquire_owned().await;
                    let exchanges: Vec<Exchange> = peer.exchanges().await;
                    TaskResult::Measured { host, sample: estimate(&exchanges) }
                })
            }
            Step::Fetch { host } => {
                let (peer, turn) = (Arc::clone(&self.peers[host]), Arc::clone(&self.fetched));
                Box::pin(async move {
                    let _turn = turn.acquire_owned().await;
                    let fetched = tokio::time::timeout(RESULT_WAIT, peer::fetch_of_run(&peer)).await;
                    let late = |_| Err(format!("its result was not received within {} s", RESULT_WAIT.as_secs()));
                    TaskResult::Fetched { host, result: fetched.unwrap_or_else(late) }
                })
            }
            Step::Say(_) | Step::Done(_) => Box::pin(async { TaskResult::Nothing }),
        }
    }
}
