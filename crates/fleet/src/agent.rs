//! An agent: waits for signed orders and executes them.

mod log;
pub(crate) mod state;

use crate::FleetError;
use crate::clock::unix_ms;
use crate::key::Trusted;
use crate::load::LoadHost;
use crate::message::{AgentState, bounded};
use crate::message::{Answer, AnswerBody, CollectBody, Hello, HelloAnswer, SCHEMA};
use crate::name;
use crate::order::{Gatekeeper, Now, Verb};
use crate::silence::Silence;
use crate::store::{Store, Stored};
use crate::transport::{AGENT_WAITING, Connection};
use async_nats::service::ServiceExt;
use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt;
use log::LimitedLog;
use serde_json::Value;
use state::{Action, Agent, Job, JobEnd, ReplyTo};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::clock::monotonic_ns;
use tokio::sync::mpsc;

/// Receiver of an agent's log messages: refused messages, progress of runs, the connection. Parts of them are foreign
/// text.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Intervals of heartbeats, and of the agent's time checks.
const HEARTBEAT: Duration = Duration::from_millis(250);
const TICK: Duration = Duration::from_millis(50);
/// Time that a starting agent waits for another one with its name to answer.
const OTHERS_ANSWER_NS: u64 = 1_000_000_000;
/// Time that a controller's own server has to answer.
const OWN_SERVER_ANSWERS: Duration = Duration::from_secs(10);
/// The maximum number of messages in the send queue.
const WAITING: usize = 256;
/// The maximum size of a hello in bytes.
const MAX_HELLO_BYTES: usize = 1024;
/// The maximum size of a part of a result in bytes, before it is encoded.
const MAX_PART_BYTES: usize = 384 << 10;

/// Lifetime of an agent.
#[derive(Clone)]
pub enum Service {
    /// Until it is stopped.
    Standing,
    /// One load: until that has ended and its controller has released the agent, or none has begun within this time.
    Once(Duration),
    /// Until it is stopped or loses the connection, on a server of its controller's own, where no other agent can have
    /// its name. The function is called once it accepts orders.
    Private(Arc<dyn Fn() + Send + Sync>),
}

/// Options of an agent.
#[derive(Clone)]
pub struct AgentOptions {
    /// The name by which controllers find it; see [`name::is_name`].
    pub name: String,
    /// The server.
    pub connection: Connection,
    /// Keys whose orders it executes.
    pub trusted: Trusted,
    /// A folder of its own for results that were not fetched yet.
    pub state: PathBuf,
    /// The version of the program; a controller of another version is refused.
    pub version: String,
    /// The agent's limits, for `hosts`: shown, not interpreted.
    pub limits: Value,
    /// Boot ID of the kernel; empty = unknown.
    pub boot_id: String,
    /// Receives one sentence for each event.
    pub log: Log,
    /// Its lifetime.
    pub service: Service,
    /// Time without messages of its controller after which a run ends.
    pub silence: Silence,
}

/// Serves as an agent until `stop` is true. A load that runs then is stopped and its result is kept.
///
/// # Errors
///
/// If the options are wrong, the server is not reached, or another agent has the same name.
pub fn serve(options: AgentOptions, host: Arc<dyn LoadHost>, stop: &AtomicBool) -> Result<(), FleetError> {
    name::checked(&options.name)?;
    options.connection.check()?;
    let store = Store::open(&options.state, &options.name)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| FleetError::failed(format!("cannot begin: {error}")))?;
    runtime.block_on(async {
        let mut server = Server::connect(options, store, host).await?;
        server.run(stop).await
    })
}

/// A message to be sent.
type Outgoing = (String, Vec<u8>);

struct Server {
    options: AgentOptions,
    instance: String,
    host: Arc<dyn LoadHost>,
    store: Store,
    client: Client,
    outgoing: mpsc::Sender<Outgoing>,
    jobs: (mpsc::Sender<JobEnd>, mpsc::Receiver<JobEnd>),
    stop_job: Arc<AtomicBool>,
    agent: Agent,
    log: LimitedLog,
    /// Start of the agent; it accepts orders when no other agent with its name has answered for a second.
    began_ns: u64,
    starting: bool,
    last_heartbeat_ns: u64,
    /// Number of the live document that was sent last.
    last_live: u64,
    /// The preparation of a load has begun.
    has_served: bool,
    _micro_service: async_nats::service::Service,
}

struct Subscriptions {
    orders: Subscriber,
    hellos: Subscriber,
    hellos_to_all: Subscriber,
    others: Subscriber,
}

impl Server {
    async fn connect(options: AgentOptions, store: Store, host: Arc<dyn LoadHost>) -> Result<Self, FleetError> {
        let log = Arc::clone(&options.log);
        let client_name = format!("diskspd agent {}", options.name);
        let client = options.connection.connect(&client_name, AGENT_WAITING, move |sentence| log(sentence)).await?;
        let instance = name::new_id()?;
        let metadata = HashMap::from([("name".to_owned(), options.name.clone())]);
        let micro_service = client
            .service_builder()
            .description("Storage load generator")
            .metadata(metadata)
            .start("diskspd", &options.version)
            .await
            .map_err(|error| FleetError::failed(format!("cannot register with the server: {error}")))?;
        let (outgoing, incoming) = mpsc::channel(WAITING);
        tokio::spawn(send(client.clone(), incoming));
        let gatekeeper = Gatekeeper::new(&options.name, &instance, options.trusted.clone());
        let starting = !matches!(options.service, Service::Private(_));
        Ok(Self {
            agent: Agent::new(&options.version, &instance, gatekeeper, options.silence.clone()),
            log: LimitedLog::new(Arc::clone(&options.log)),
            options,
            instance,
            host,
            store,
            client,
            outgoing,
            jobs: mpsc::channel(4),
            stop_job: Arc::default(),
            began_ns: monotonic_ns(),
            starting,
            last_heartbeat_ns: 0,
            last_live: 0,
            has_served: false,
            _micro_service: micro_service,
        })
    }

    async fn subscribe(&self) -> Result<Subscriptions, FleetError> {
        let cannot = |error| FleetError::failed(format!("cannot subscribe: {error}"));
        let name = &self.options.name;
        let inbox = self.client.new_inbox();
        let subscriptions = Subscriptions {
            orders: self.client.subscribe(name::order_subject(name, "*")).await.map_err(cannot)?,
            hellos: self.client.subscribe(name::hello_subject(name)).await.map_err(cannot)?,
            hellos_to_all: self.client.subscribe(name::hello_to_all()).await.map_err(cannot)?,
            others: self.client.subscribe(inbox.clone()).await.map_err(cannot)?,
        };
        let hello = Hello { key: None, instance: Some(self.instance.clone()) };
        let hello = serde_json::to_vec(&hello).unwrap_or_default();
        let asked = self.client.publish_with_reply(name::hello_subject(name), inbox, hello.into()).await;
        asked.map_err(|error| FleetError::failed(format!("cannot ask for agents with the same name: {error}")))?;
        Ok(subscriptions)
    }

    async fn run(&mut self, stop: &AtomicBool) -> Result<(), FleetError> {
        let mut from = self.subscribe().await?;
        if let Service::Private(ready) = &self.options.service {
            let flushed = tokio::time::timeout(OWN_SERVER_ANSWERS, self.client.flush()).await;
            if !matches!(flushed, Ok(Ok(()))) {
                return Err(FleetError::failed("the connection to the controller's server was lost"));
            }
            ready();
        }
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut stopping = false;
        loop {
            let before = self.agent.heartbeat();
            tokio::select! {
                Some(message) = from.orders.next() => self.take_order(&message),
                Some(message) = from.hellos.next() => self.answer_hello(message)?,
                Some(message) = from.hellos_to_all.next() => self.answer_hello(message)?,
                Some(message) = from.others.next() => self.look_at_other(&message)?,
                Some(end) = self.jobs.1.recv() => {
                    let actions = self.agent.job_ended(end);
                    self.carry_out(actions, monotonic_ns());
                }
                _ = tick.tick() => {
                    let now = monotonic_ns();
                    let mut actions = self.agent.tick(now);
                    if (stop.load(Ordering::Relaxed) || self.is_cut_off()) && !stopping {
                        stopping = true;
                        actions.extend(self.agent.shut_down());
                    }
                    self.carry_out(actions, now);
                    self.pass_time(now);
                }
                else => return Err(FleetError::failed("the connection to the server was closed")),
            }
            self.send_heartbeat(before.is_some_and(|before| {
                self.agent.heartbeat().is_some_and(|now| (now.state, now.armed) != (before.state, before.armed))
            }));
            if (stopping && !self.agent.is_busy()) || self.has_served_once()? {
                tokio::time::sleep(TICK).await; // the last heartbeat or answer is on its way
                let _ = tokio::time::timeout(Duration::from_secs(1), self.client.flush()).await;
                return Ok(());
            }
        }
    }

    /// True if its private controller is gone.
    fn is_cut_off(&self) -> bool {
        let is_private = matches!(self.options.service, Service::Private(_));
        is_private && self.client.connection_state() != async_nats::connection::State::Connected
    }

    /// True if it was to serve one load and has; an error if none came.
    fn has_served_once(&mut self) -> Result<bool, FleetError> {
        let Service::Once(wait) = self.options.service else { return Ok(false) };
        self.has_served |= self.agent.state() == AgentState::Preparing;
        if self.agent.run_id().is_some() {
            return Ok(false);
        }
        let waited_ns = monotonic_ns().saturating_sub(self.began_ns);
        if !self.has_served && u128::from(waited_ns) >= wait.as_nanos() {
            return Err(FleetError::failed(format!("no controller has begun a load within {} s", wait.as_secs())));
        }
        Ok(self.has_served)
    }

    fn pass_time(&mut self, now: u64) {
        self.log.tick(now);
        if self.starting && now - self.began_ns > OTHERS_ANSWER_NS {
            self.starting = false;
            self.log.say(&format!("{} waits for orders on {}", self.options.name, self.options.connection.shown()));
        }
    }

    fn take_order(&mut self, message: &Message) {
        let now = Now { monotonic_ns: monotonic_ns(), unix_ms: unix_ms() };
        let text = message.subject.as_str().rsplit('.').next().unwrap_or_default();
        // hello has a subscription of its own
        let Some(verb) = Verb::parse(text) else { return };
        if self.starting {
            return;
        }
        match self.agent.message(&message.payload, verb, now) {
            Ok(actions) => self.carry_out(actions, now.monotonic_ns),
            Err(rejection) => {
                self.log.limited(now.monotonic_ns, &format!("refused an order to {verb}: {}", rejection.reason()));
            }
        }
    }

    fn answer_hello(&mut self, message: Message) -> Result<(), FleetError> {
        let fits = message.payload.len() <= MAX_HELLO_BYTES;
        let Some(reply) = message.reply.filter(|reply| fits && name::may_be_answered(reply)) else { return Ok(()) };
        let hello: Hello = serde_json::from_slice(&message.payload).unwrap_or_default();
        match &hello.instance {
            Some(own) if *own == self.instance => return Ok(()),
            // It asked before this one subscribed, or after: of two that start at the same time one must end.
            Some(other) if self.starting && name::is_id(other) && *other < self.instance => return Err(self.is_taken()),
            _ => {}
        }
        let now = Now { monotonic_ns: monotonic_ns(), unix_ms: unix_ms() };
        let challenge = if let Some(challenge) = self.agent.gatekeeper.shared_challenge(now) {
            challenge
        } else {
            let challenge = name::new_id()?;
            self.agent.gatekeeper.give_challenge(challenge.clone(), false, now);
            challenge
        };
        let answer = HelloAnswer {
            schema: SCHEMA,
            name: self.options.name.clone(),
            instance: self.instance.clone(),
            version: self.options.version.clone(),
            state: if self.starting { AgentState::Starting } else { self.agent.state() },
            run: self.agent.run_id().map(ToOwned::to_owned),
            trusts_key: hello.key.is_some_and(|key| self.agent.gatekeeper.trusts(&key)),
            unix_ms: now.unix_ms,
            challenge,
            limits: self.options.limits.clone(),
            boot_id: self.options.boot_id.clone(),
        };
        self.send(reply.to_string(), serde_json::to_vec(&answer).unwrap_or_default());
        Ok(())
    }

    fn is_taken(&self) -> FleetError {
        FleetError::refused(format!(
            "another agent on {} is called {}: give this one another name",
            self.options.connection.shown(),
            self.options.name
        ))
    }

    /// Handles an answer to the hello for other agents with the same name.
    fn look_at_other(&self, message: &Message) -> Result<(), FleetError> {
        let Ok(other) = serde_json::from_slice::<HelloAnswer>(&message.payload) else { return Ok(()) };
        let first = other.state != AgentState::Starting || other.instance < self.instance;
        if self.starting && other.instance != self.instance && first {
            return Err(self.is_taken());
        }
        Ok(())
    }

    fn carry_out(&mut self, actions: Vec<Action>, received_ns: u64) {
        for action in actions {
            match action {
                Action::Answer(to, body) => self.answer(&to, body),
                Action::AnswerClock(to) => {
                    self.answer(&to, AnswerBody::Clock { received_ns, sent_ns: monotonic_ns() });
                }
                Action::AnswerPart(to, stored, offset) => self.answer_part(to, stored, offset),
                Action::AnswerCollect(to, body) => self.answer_collect(to, body),
                Action::Begin(job) => self.begin(job),
                Action::StopJob => self.stop_job.store(true, Ordering::Relaxed),
                Action::Remove(run) => self.store.remove(&run),
                Action::Log(sentence) => self.log.say(&sentence),
            }
        }
    }

    fn begin(&mut self, job: Job) {
        self.stop_job = Arc::default();
        if matches!(job, Job::Run(..)) {
            self.last_live = 0;
        }
        let (host, store) = (Arc::clone(&self.host), self.store.clone());
        let (stop, ended) = (Arc::clone(&self.stop_job), self.jobs.0.clone());
        let failed: fn(Vec<String>) -> JobEnd = match job {
            Job::Plan(_) => |sentences| JobEnd::Plan(Err(sentences)),
            Job::Prepare(_) => |sentences| JobEnd::Prepare(Err(sentences)),
            Job::Run(..) => |sentences| JobEnd::Run(Err(sentences)),
            Job::Undo(_) => |_| JobEnd::Undo,
            Job::Settle(_) => |sentences| JobEnd::Settle(Err(sentences)),
        };
        tokio::spawn(async move {
            let done = tokio::task::spawn_blocking(move || carry_out(job, &*host, &store, &stop)).await;
            let end = done
                .unwrap_or_else(|_| failed(vec!["the agent failed in an unforeseen way (see its messages)".into()]));
            let _ = ended.send(end).await; // nobody hears it when the agent ends
        });
    }

    fn challenge(&mut self) -> Option<String> {
        let challenge = name::new_id().ok()?;
        let now = Now { monotonic_ns: monotonic_ns(), unix_ms: unix_ms() };
        self.agent.gatekeeper.give_challenge(challenge.clone(), true, now);
        Some(challenge)
    }

    fn answer(&mut self, to: &ReplyTo, body: AnswerBody) {
        let needs_none = matches!(body, AnswerBody::Clock { .. } | AnswerBody::Part(_));
        let challenge = if needs_none { None } else { self.challenge() };
        let answer = Answer { schema: SCHEMA, run: to.run.clone(), sequence: to.sequence, challenge, body };
        self.send(to.subject.clone(), fitting(answer, self.client.max_payload()));
    }

    /// Reads on another thread: the disk may be busy with a load.
    fn answer_part(&self, to: ReplyTo, stored: Stored, offset: u64) {
        let (store, outgoing) = (self.store.clone(), self.outgoing.clone());
        let most = part_bytes(self.client.max_payload());
        tokio::task::spawn_blocking(move || {
            let body = match store.part(&stored, offset, most) {
                Ok(part) => AnswerBody::Part(part),
                Err(sentence) => AnswerBody::Refused(vec![sentence]),
            };
            reply(&outgoing, &to, None, body);
        });
    }

    fn answer_collect(&mut self, to: ReplyTo, body: CollectBody) {
        let challenge = self.challenge();
        let (store, outgoing) = (self.store.clone(), self.outgoing.clone());
        let most = part_bytes(self.client.max_payload());
        tokio::task::spawn_blocking(move || reply(&outgoing, &to, challenge, collect(&store, &body, most)));
    }

    fn send(&self, subject: String, message: Vec<u8>) {
        // Not while the connection is lost: queued messages would arrive late and out of date.
        if self.client.connection_state() == async_nats::connection::State::Connected {
            let _ = self.outgoing.try_send((subject, message)); // a full queue loses messages, never the load
        }
    }

    fn send_heartbeat(&mut self, changed: bool) {
        let now = monotonic_ns();
        let due = now.saturating_sub(self.last_heartbeat_ns) >= HEARTBEAT.as_nanos() as u64;
        let live = self.agent.live_after(self.last_live);
        if !(due || changed || live.is_some()) {
            return;
        }
        if let (Some(mut heartbeat), Some(run)) = (self.agent.heartbeat(), self.agent.run_id()) {
            self.last_heartbeat_ns = now;
            heartbeat.sent_ns = now;
            let subject = name::heartbeat_subject(run, &self.options.name);
            if let Some((number, document)) = live {
                self.last_live = number;
                heartbeat.live = Some(document);
            }
            let mut message = serde_json::to_vec(&heartbeat).unwrap_or_default();
            if message.len() > self.client.max_payload() {
                heartbeat.live = None;
                message = serde_json::to_vec(&heartbeat).unwrap_or_default();
            }
            self.send(subject, message);
        }
    }
}

/// Executes a job, on a thread that may block.
fn carry_out(job: Job, host: &dyn LoadHost, store: &Store, stop: &AtomicBool) -> JobEnd {
    match job {
        Job::Plan(load) => JobEnd::Plan(host.plan(&load).map_err(bounded)),
        Job::Prepare(load) => JobEnd::Prepare(host.prepare(&load, stop).map_err(bounded)),
        Job::Run(load, prepared, gate) => {
            let finished = host.run(&load, &prepared, &gate, stop).map_err(bounded);
            JobEnd::Run(finished.and_then(|finished| store.keep(&load.run, &finished).map_err(|error| vec![error])))
        }
        Job::Undo(prepared) => {
            host.undo(&prepared);
            JobEnd::Undo
        }
        Job::Settle(load) => JobEnd::Settle(host.settle(&load).map_err(bounded)),
    }
}

fn collect(store: &Store, body: &CollectBody, most: usize) -> AnswerBody {
    let Some(run) = &body.kept_run else { return AnswerBody::Kept(store.list()) };
    if body.received {
        store.remove(run);
        return AnswerBody::Taken;
    }
    let part = store.find(run).ok_or_else(|| "it keeps no result of this run".to_owned());
    match part.and_then(|stored| store.part(&stored, body.offset, most)) {
        Ok(part) => AnswerBody::Part(part),
        Err(sentence) => AnswerBody::Refused(vec![sentence]),
    }
}

fn reply(outgoing: &mpsc::Sender<Outgoing>, to: &ReplyTo, challenge: Option<String>, body: AnswerBody) {
    let answer = Answer { schema: SCHEMA, run: to.run.clone(), sequence: to.sequence, challenge, body };
    let _ = outgoing.try_send((to.subject.clone(), serde_json::to_vec(&answer).unwrap_or_default()));
}

/// Bytes of a part whose message is below half of the server's limit.
fn part_bytes(max_payload: usize) -> usize {
    (max_payload / 2).saturating_sub(512).clamp(256, MAX_PART_BYTES * 4 / 3) / 4 * 3
}

/// The answer as JSON; a plan is cut to the size of a message.
fn fitting(mut answer: Answer, max_payload: usize) -> Vec<u8> {
    loop {
        let json = serde_json::to_vec(&answer).unwrap_or_default();
        let AnswerBody::Planned { facts, text } = &mut answer.body else { return json };
        if json.len() <= max_payload {
            return json;
        }
        if !facts.is_null() {
            *facts = Value::Null;
            continue;
        }
        if text.len() < 64 {
            return json;
        }
        let half = (0..=text.len() / 2).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(half);
        text.push_str("\n…\n");
    }
}

async fn send(client: Client, mut messages: mpsc::Receiver<Outgoing>) {
    while let Some((subject, message)) = messages.recv().await {
        let _ = client.publish(subject, message.into()).await; // only if it is too large, or the client has ended
    }
}
