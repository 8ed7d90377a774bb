//! Agents and a controller on virtual time, with a network that delays and loses messages, and machines that fail:
//! invariants are checked in each of many courses.

use crate::agent::state::{Action, Agent, Job, JobEnd, ReplyTo};
use crate::clock::Sample;
use crate::controller::state::{Conductor, Step};
use crate::controller::{FleetRun, HostOutcome, Progress, TimeLimits};
use crate::key::{SigningKey, Trusted};
use crate::load::{Finished, Planned, Prepared, StartGate};
use crate::message::{AgentHeartbeat, AgentState, AnswerBody, HeartbeatBody, PlanBody, ResultBody, SCHEMA};
use crate::order::{Gatekeeper, Now, Order, VALIDITY_MS, Verb};
use crate::silence::Silence;
use crate::store::Stored;
use crate::{FleetError, name};
use model::host_timing::HostTiming;
use proptest::prelude::*;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const RUN: &str = "00112233445566778899aabbccddeeff";
/// Start time of a simulation: not 0, so that clocks may be behind.
const BEGIN: u64 = 1_000_000 * SECOND;

/// Fault of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    RefusesPlan,
    FailsToPrepare,
    FailsToRun,
    /// Its load, or its preparation, never ends.
    Hangs,
    /// Fetching its result takes this long, in milliseconds.
    SendsLate(u64),
    /// Its machine stops at this time, in milliseconds.
    Dies(u64),
    /// It is cut off from the network between these times, in milliseconds.
    CutOff(u64, u64),
    /// From this time on, in milliseconds, its heartbeats report this state, whatever its true one.
    Says(AgentState, u64),
}

const STATES: [AgentState; 14] = [
    AgentState::Starting,
    AgentState::Idle,
    AgentState::Planning,
    AgentState::Planned,
    AgentState::Preparing,
    AgentState::Prepared,
    AgentState::Waiting,
    AgentState::Running,
    AgentState::Stopping,
    AgentState::Finished,
    AgentState::Settling,
    AgentState::Failed,
    AgentState::Undoing,
    AgentState::Undone,
];

/// Loads of simulations are short.
const LIMITS: TimeLimits = TimeLimits { prepare: Duration::from_mins(1), run: Duration::from_mins(2) };

#[derive(Clone, Debug)]
struct SimulatedRun {
    hosts: Vec<Fault>,
    /// The hosts share files.
    shared: bool,
    /// Hours by which the hosts' clocks differ from the controller's.
    offsets: Vec<i64>,
    seed: u64,
    /// Lost messages, per mille.
    lost: u64,
    delay_ms: u64,
    prepare_ms: u64,
    load_ms: u64,
    /// The controller dies, or the user stops the run.
    controller_dies_ms: Option<u64>,
    user_stops_ms: Option<u64>,
    /// From this time on the controller's heartbeats are delayed: each arrives ten times as late after it.
    held_back_from_ms: Option<u64>,
}

enum Event {
    ToAgent { host: usize, verb: Verb, bytes: Vec<u8> },
    Heartbeat { host: usize, heartbeat: AgentHeartbeat },
    Answer { order: u64, body: AnswerBody },
    Timeout { order: u64 },
    Measured { host: usize, sample: Option<Sample> },
    Fetched { host: usize, fetched: bool },
    JobEnds { host: usize, end: JobEnd },
    StartTime { host: usize, gate: Arc<StartGate> },
    LoadEnds { host: usize, gate: Arc<StartGate> },
    Tick,
}

struct Pending {
    host: usize,
    verb: Verb,
    body: Value,
    attempts: u32,
}

#[derive(Default)]
struct Machine {
    prepared: bool,
    /// Its preparation has ended.
    is_ready: bool,
    prepare_ended_ms: u64,
    settled: bool,
    undone: bool,
    stop: bool,
    entered_ns: Option<u64>,
    ended_ns: Option<u64>,
    gate_made: bool,
    ever_prepared: bool,
    kept: bool,
    last_beat_ns: u64,
}

struct World {
    course: SimulatedRun,
    now: u64,
    random: u64,
    count: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    agents: Vec<Agent>,
    machines: Vec<Machine>,
    conductor: Conductor,
    key: SigningKey,
    sequences: Vec<u64>,
    pending: BTreeMap<u64, Pending>,
    done: Option<(u64, Result<FleetRun, FleetError>)>,
    planned: bool,
    /// The hosts with awaited results as reported to the user, each time.
    awaited: Vec<Vec<String>>,
}

impl World {
    fn new(course: SimulatedRun) -> Self {
        let key = SigningKey::generate().unwrap();
        let hosts = course.hosts.len();
        let instance = |host: usize| format!("{host:032x}");
        let agents = (0..hosts).map(|host| {
            let trusted = Trusted::new(vec![key.public().clone()]);
            let gatekeeper = Gatekeeper::new(&format!("h{host}"), &instance(host), trusted);
            Agent::new("1", &instance(host), gatekeeper, Silence::default())
        });
        let plan = |host: usize| {
            let body = PlanBody {
                version: "1".into(),
                host: format!("h{host}"),
                index: host,
                hosts,
                shared: course.shared,
                profile: Value::Null,
                options: Value::Null,
            };
            (format!("h{host}"), host, serde_json::to_value(body).unwrap())
        };
        let mut world = Self {
            now: BEGIN,
            random: course.seed,
            count: 0,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            agents: agents.collect(),
            machines: (0..hosts).map(|_| Machine::default()).collect(),
            conductor: Conductor::new(
                (0..hosts).map(plan).collect(),
                false,
                course.shared,
                &Silence::default(),
                LIMITS,
            ),
            key,
            sequences: vec![0; hosts],
            pending: BTreeMap::new(),
            done: None,
            planned: false,
            awaited: Vec::new(),
            course,
        };
        world.take_steps();
        world.after(0, Event::Tick);
        world
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below.max(1)
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.count += 1;
        self.queue.push(Reverse((self.now + delay, self.count)));
        self.events.insert(self.count, event);
    }

    fn offset(&self, host: usize) -> i64 {
        self.course.offsets[host] * 3_600_000_000_000 / 8
    }

    fn agent_now(&self, host: usize) -> u64 {
        self.now.checked_add_signed(self.offset(host)).unwrap()
    }

    fn ms(&self) -> u64 {
        (self.now - BEGIN) / MS
    }

    fn is_dead(&self, host: usize) -> bool {
        matches!(self.course.hosts[host], Fault::Dies(at) if self.ms() >= at)
    }

    fn is_cut_off(&self, host: usize) -> bool {
        matches!(self.course.hosts[host], Fault::CutOff(from, to) if (from..to).contains(&self.ms()))
    }

    /// True if a host reports a false state.
    fn has_liar(&self) -> bool {
        self.course.hosts.iter().any(|fault| matches!(fault, Fault::Says(..)))
    }

    fn controller_is_dead(&self) -> bool {
        self.course.controller_dies_ms.is_some_and(|at| self.ms() >= at)
    }

    /// Sends a message, or loses it.
    fn send(&mut self, host: usize, event: Event) {
        let lost = self.draw(1000) < self.course.lost || self.is_cut_off(host);
        if !lost {
            // In order, as a connection delivers them.
            let mut delay = self.course.delay_ms * MS + 10_000;
            if let (Event::ToAgent { verb: Verb::Heartbeat, .. }, Some(from)) = (&event, self.course.held_back_from_ms)
            {
                delay += 9 * self.ms().saturating_sub(from) * MS;
            }
            self.after(delay, event);
        }
    }

    fn order(&mut self, pending: Pending) {
        let Pending { host, verb, .. } = pending;
        self.sequences[host] += 1;
        let sequence = self.sequences[host];
        let challenge = verb.needs_challenge().then(|| format!("{:032x}", self.count));
        if let Some(challenge) = &challenge {
            let now = Now { monotonic_ns: self.agent_now(host), unix_ms: self.now / MS };
            self.agents[host].gatekeeper.give_challenge(challenge.clone(), true, now);
        }
        self.count += 1;
        let id = self.count;
        let bytes = self.signed(host, verb, pending.body.clone(), challenge, sequence, Some(id));
        self.pending.insert(id, pending);
        self.send(host, Event::ToAgent { host, verb, bytes });
        self.after(5 * SECOND, Event::Timeout { order: id });
    }

    fn signed(
        &self,
        host: usize,
        verb: Verb,
        body: Value,
        challenge: Option<String>,
        sequence: u64,
        reply: Option<u64>,
    ) -> Vec<u8> {
        let order = Order {
            schema: SCHEMA,
            verb,
            run: RUN.into(),
            agent: format!("h{host}"),
            instance: format!("{host:032x}"),
            challenge,
            expires_at_unix_ms: self.now / MS + VALIDITY_MS,
            sequence,
            reply: reply.map(|id| id.to_string()),
            body,
        };
        order.signed(&self.key).unwrap()
    }

    fn take_steps(&mut self) {
        for step in self.conductor.take_steps() {
            match step {
                Step::Order { host, verb, body } => {
                    self.order(Pending { host, verb, body, attempts: 1 });
                }
                Step::Beat { host, body } => self.beat(host, body),
                Step::Measure { host } => {
                    let reached = !self.is_dead(host) && !self.is_cut_off(host);
                    let offset_ns = self.offset(host);
                    let sample = reached.then_some(Sample {
                        at_ns: self.now,
                        offset_ns,
                        uncertainty_ns: 100,
                        round_trip_ns: 200,
                    });
                    self.after(if reached { 50 * MS } else { 10 * SECOND }, Event::Measured { host, sample });
                }
                Step::Fetch { host } => {
                    let fetched = !self.is_dead(host) && !self.is_cut_off(host);
                    let takes = match self.course.hosts[host] {
                        Fault::SendsLate(ms) => ms * MS,
                        _ => 100 * MS,
                    };
                    self.after(if fetched { takes } else { 15 * SECOND }, Event::Fetched { host, fetched });
                }
                Step::Say(Progress::Planned(_)) => {
                    assert!(self.machines.iter().all(|machine| !machine.ever_prepared));
                    self.planned = true;
                    self.conductor.plans_seen();
                }
                Step::Say(Progress::AwaitingResults(hosts)) => self.awaited.push(hosts),
                Step::Say(_) => {}
                Step::Done(result) => self.done = Some((self.now, *result)),
            }
        }
    }

    fn beat(&mut self, host: usize, body: HeartbeatBody) {
        self.sequences[host] += 1;
        let bytes =
            self.signed(host, Verb::Heartbeat, serde_json::to_value(body).unwrap(), None, self.sequences[host], None);
        self.send(host, Event::ToAgent { host, verb: Verb::Heartbeat, bytes });
    }

    fn act(&mut self, host: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Answer(to, body) => self.answer(host, &to, body),
                Action::Begin(job) => self.begin(host, job),
                Action::StopJob => self.machines[host].stop = true,
                Action::Remove(_) => self.machines[host].kept = false,
                Action::Log(_) => {}
                Action::AnswerClock(_) | Action::AnswerPart(..) | Action::AnswerCollect(..) => {
                    unreachable!("not asked for")
                }
            }
        }
    }

    fn answer(&mut self, host: usize, to: &ReplyTo, body: AnswerBody) {
        let order: u64 = to.subject.parse().unwrap();
        assert_eq!(to.run, RUN);
        self.send(host, Event::Answer { order, body });
    }

    fn begin(&mut self, host: usize, job: Job) {
        let fault = self.course.hosts[host];
        self.machines[host].stop = false;
        match job {
            Job::Plan(_) => {
                let end = if fault == Fault::RefusesPlan { Err(vec!["no".into()]) } else { Ok(Planned::default()) };
                let delay = self.draw(200) * MS;
                self.after(delay, Event::JobEnds { host, end: JobEnd::Plan(end) });
            }
            Job::Prepare(_) => {
                assert!(self.planned, "prepared before all had planned");
                let first = &self.machines[0];
                let may_prepare = host == 0 || !self.course.shared || first.is_ready || self.has_liar();
                assert!(may_prepare, "prepared before the first host had");
                self.machines[host].ever_prepared = true;
                let failed = fault == Fault::FailsToPrepare;
                let end = if failed { Err(vec!["no space".into()]) } else { Ok(Prepared::default()) };
                let delay = self.draw(self.course.prepare_ms) * MS;
                self.machines[host].prepared = !failed;
                self.after(delay, Event::JobEnds { host, end: JobEnd::Prepare(end) });
            }
            Job::Run(_, _, gate) => {
                self.machines[host].gate_made = true;
                let left = gate.start_at_ns().saturating_sub(self.agent_now(host));
                self.after(left, Event::StartTime { host, gate });
            }
            Job::Settle(_) => {
                assert!(self.course.shared && host == 0 && !self.machines[host].settled);
                // The end of a lost host is not known either.
                let all_ended = self.machines.iter().all(|machine| machine.ended_ns.is_some());
                assert!(all_ended || self.has_liar(), "one may still write");
                self.machines[host].settled = true;
                self.after(30 * MS, Event::JobEnds { host, end: JobEnd::Settle(Ok(())) });
            }
            Job::Undo(_) => {
                assert!(self.machines[host].prepared && self.machines[host].entered_ns.is_none());
                self.machines[host].undone = true;
                self.after(20 * MS, Event::JobEnds { host, end: JobEnd::Undo });
            }
        }
    }

    fn load_ends(&mut self, host: usize, gate: &StartGate) {
        let entered = gate.has_entered();
        let failed = !entered || self.course.hosts[host] == Fault::FailsToRun;
        if entered {
            self.machines[host].ended_ns = Some(self.now);
            self.machines[host].kept = !failed;
        }
        let stored = Stored { run: RUN.into(), total: 1, sha256: String::new() };
        let end = if failed { Err(vec!["device gone".into()]) } else { Ok(stored) };
        self.after(MS, Event::JobEnds { host, end: JobEnd::Run(end) });
    }

    fn happen(&mut self, event: Event) {
        let (to_host, to_controller) = match &event {
            Event::ToAgent { host, .. }
            | Event::JobEnds { host, .. }
            | Event::StartTime { host, .. }
            | Event::LoadEnds { host, .. } => (Some(*host), false),
            Event::Tick => (None, false),
            _ => (None, true),
        };
        if to_host.is_some_and(|host| self.is_dead(host)) {
            return;
        }
        if to_controller && (self.controller_is_dead() || self.done.is_some()) {
            return;
        }
        match event {
            Event::ToAgent { host, verb, bytes } => {
                let now = Now { monotonic_ns: self.agent_now(host), unix_ms: self.now / MS };
                if let Ok(actions) = self.agents[host].message(&bytes, verb, now) {
                    self.act(host, actions);
                }
            }
            Event::Heartbeat { host, heartbeat } => self.conductor.heard(host, heartbeat, self.now),
            Event::Answer { order, body } => {
                if let Some(pending) = self.pending.remove(&order) {
                    self.conductor.answered(pending.host, pending.verb, Some(body), self.now);
                }
            }
            Event::Timeout { order } => {
                if let Some(mut pending) = self.pending.remove(&order) {
                    pending.attempts += 1;
                    if pending.attempts <= 3 {
                        self.order(pending);
                    } else {
                        self.conductor.answered(pending.host, pending.verb, None, self.now);
                    }
                }
            }
            Event::Measured { host, sample } => self.conductor.measured(host, sample, self.now),
            Event::Fetched { host, fetched } => self.fetched(host, fetched),
            Event::JobEnds { host, end } => {
                if let JobEnd::Prepare(prepared) = &end {
                    self.machines[host].is_ready |= prepared.is_ok();
                    self.machines[host].prepare_ended_ms = self.ms();
                }
                let actions = self.agents[host].job_ended(end);
                self.act(host, actions);
            }
            Event::StartTime { host, gate } => {
                if gate.enter_at(gate.start_at_ns()) {
                    assert!(
                        self.machines.iter().all(|machine| machine.gate_made),
                        "one has not acknowledged the start"
                    );
                    self.machines[host].entered_ns = Some(self.now);
                }
                self.after(0, Event::LoadEnds { host, gate });
            }
            Event::LoadEnds { host, gate } => {
                let since = self.machines[host].entered_ns.map_or(u64::MAX, |entered| self.now - entered);
                let hangs = self.course.hosts[host] == Fault::Hangs && self.machines[host].entered_ns.is_some();
                if !hangs && self.machines[host].stop || since >= self.course.load_ms * MS {
                    self.load_ends(host, &gate);
                } else {
                    self.after(10 * MS, Event::LoadEnds { host, gate });
                }
            }
            Event::Tick => self.tick(),
        }
        self.take_steps();
    }

    fn fetched(&mut self, host: usize, fetched: bool) {
        if fetched && self.agents[host].state() == AgentState::Finished {
            self.sequences[host] += 1;
            let body = serde_json::to_value(ResultBody { offset: 0, received: true }).unwrap();
            let bytes = self.signed(host, Verb::Result, body, None, self.sequences[host], None);
            self.after(0, Event::ToAgent { host, verb: Verb::Result, bytes });
            let finished = Finished { result: String::new(), timing: HostTiming::default() };
            self.conductor.fetched(host, Ok(finished), self.now);
        } else {
            self.conductor.fetched(host, Err("no answer".into()), self.now);
        }
    }

    fn tick(&mut self) {
        for host in 0..self.agents.len() {
            if self.is_dead(host) {
                continue;
            }
            let now = self.agent_now(host);
            let actions = self.agents[host].tick(now);
            self.act(host, actions);
            if self.now - self.machines[host].last_beat_ns >= 250 * MS
                && let Some(mut heartbeat) = self.agents[host].heartbeat()
            {
                heartbeat.sent_ns = now;
                if let Fault::Says(state, from_ms) = self.course.hosts[host]
                    && self.ms() >= from_ms
                {
                    heartbeat.state = state;
                    heartbeat.entered |= state == AgentState::Finished;
                }
                self.machines[host].last_beat_ns = self.now;
                self.send(host, Event::Heartbeat { host, heartbeat });
            }
        }
        if !self.controller_is_dead() && self.done.is_none() {
            if self.course.user_stops_ms.is_some_and(|at| self.ms() >= at) {
                self.conductor.user_stop(self.now);
            }
            self.conductor.tick(self.now);
        }
        self.after(50 * MS, Event::Tick);
    }

    /// Runs until all has settled.
    fn settle(&mut self) {
        let end = BEGIN + 400 * SECOND;
        while let Some(Reverse((at, id))) = self.queue.pop() {
            self.now = at;
            let event = self.events.remove(&id).unwrap();
            self.happen(event);
            let over = self.done.is_some() || self.controller_is_dead();
            let idle = |host: usize| self.is_dead(host) || self.agents[host].run_id().is_none();
            if over && (0..self.agents.len()).all(idle) || at > end {
                return;
            }
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let over = self.done.is_some() || self.controller_is_dead();
        prop_assert!(over, "the controller did not come to an end");
        for (host, machine) in self.machines.iter().enumerate() {
            if self.is_dead(host) {
                continue;
            }
            prop_assert!(self.agents[host].run_id().is_none(), "h{} still holds the run", host);
            prop_assert!(!self.agents[host].is_busy());
            if machine.prepared && machine.entered_ns.is_none() {
                prop_assert!(machine.undone, "h{} left what it had prepared", host);
            }
            if let Some(entered) = machine.entered_ns {
                let ended = machine.ended_ns.expect("a load that does not end");
                if let Some(died) = self.course.controller_dies_ms {
                    let limit = (BEGIN + died * MS).max(entered) + 11 * SECOND;
                    prop_assert!(ended <= limit, "the load outlived its controller");
                }
            }
        }
        match &self.done {
            Some((_, Ok(run))) => self.check_run(run)?,
            Some((_, Err(FleetError::Refused(_) | FleetError::Usage(_)))) => {
                prop_assert!(self.machines.iter().all(|machine| !machine.ever_prepared), "refused, and touched");
            }
            Some((done, Err(_))) => {
                for machine in &self.machines {
                    // Only if the order to stop came late, and then not for long.
                    if let (Some(entered), Some(ended)) = (machine.entered_ns, machine.ended_ns) {
                        prop_assert!(ended - entered <= 11 * SECOND, "ran on although the run failed at {}", done);
                    }
                }
            }
            None => {}
        }
        Ok(())
    }

    fn check_run(&self, run: &FleetRun) -> Result<(), TestCaseError> {
        let undisturbed = self.course.lost == 0 && self.course.user_stops_ms.is_none();
        let all_finished = run.hosts.iter().all(|host| matches!(host.outcome, HostOutcome::Finished(_)));
        let settled = self.machines[0].settled;
        if self.course.shared && all_finished && run.unsettled.is_empty() {
            prop_assert!(settled, "left open, and nobody was told");
        }
        prop_assert!(!settled || self.course.shared);
        let starts: Vec<u64> = self.machines.iter().filter_map(|machine| machine.entered_ns).collect();
        if let (Some(first), Some(last)) = (starts.iter().min(), starts.iter().max()) {
            prop_assert!(last - first <= 1000, "the loads started {} ns apart", last - first);
        }
        for (host, outcome) in run.hosts.iter().map(|host| &host.outcome).enumerate() {
            match (outcome, self.course.hosts[host]) {
                (HostOutcome::Finished(_), _) => {
                    prop_assert!(self.machines[host].entered_ns.is_some());
                    prop_assert!(!self.machines[host].kept || self.is_dead(host), "fetched and still kept");
                }
                (HostOutcome::Failed(_), Fault::FailsToRun)
                | (HostOutcome::Lost(_), Fault::Dies(_) | Fault::CutOff(..))
                | (_, Fault::Says(..)) => {}
                (outcome, fault) => prop_assert!(!undisturbed, "h{host}: {fault:?}, but {outcome:?}"),
            }
        }
        Ok(())
    }
}

fn courses() -> impl Strategy<Value = SimulatedRun> {
    let fault = prop_oneof![
        12 => Just(Fault::None),
        1 => Just(Fault::RefusesPlan),
        1 => Just(Fault::FailsToPrepare),
        1 => Just(Fault::FailsToRun),
        2 => (0_u64..8000).prop_map(Fault::Dies),
        2 => (0_u64..8000, 100_u64..30_000).prop_map(|(from, long)| Fault::CutOff(from, from + long)),
        2 => (prop::sample::select(&STATES[..]), 0_u64..8000).prop_map(|(state, from)| Fault::Says(state, from)),
    ];
    let maybe = || prop_oneof![4 => Just(None), 1 => (0_u64..9000).prop_map(Some)];
    let network = (prop_oneof![2 => Just(0_u64), 1 => 1_u64..150], 0_u64..40);
    (
        prop::collection::vec((fault, -200_i64..200), 1..4),
        any::<u64>(),
        network,
        1_u64..2500,
        1_u64..4000,
        maybe(),
        maybe(),
        any::<bool>(),
    )
        .prop_map(
            |(hosts, seed, (lost, delay_ms), prepare_ms, load_ms, controller_dies_ms, user_stops_ms, shared)| {
                SimulatedRun {
                    shared,
                    offsets: hosts.iter().map(|(_, offset)| *offset).collect(),
                    hosts: hosts.into_iter().map(|(fault, _)| fault).collect(),
                    seed,
                    lost,
                    delay_ms,
                    prepare_ms,
                    load_ms,
                    controller_dies_ms,
                    user_stops_ms,
                    held_back_from_ms: None,
                }
            },
        )
}

fn undisturbed(hosts: usize) -> SimulatedRun {
    SimulatedRun {
        hosts: vec![Fault::None; hosts],
        shared: false,
        offsets: [-80, -43, 0, 37, 74].into_iter().cycle().take(hosts).collect(),
        seed: 1,
        lost: 0,
        delay_ms: 1,
        prepare_ms: 500,
        load_ms: 2000,
        controller_dies_ms: None,
        user_stops_ms: None,
        held_back_from_ms: None,
    }
}

fn outcome(course: SimulatedRun) -> (World, Option<Result<FleetRun, FleetError>>) {
    let (world, result) = timed_outcome(course, LIMITS);
    (world, result.map(|(_, result)| result))
}

/// Time and result of the controller's end.
type Ended = (u64, Result<FleetRun, FleetError>);

/// The outcome with the time at which the controller was done.
fn timed_outcome(course: SimulatedRun, limits: TimeLimits) -> (World, Option<Ended>) {
    let mut world = World::new(course);
    world.conductor.limit_times(limits);
    world.settle();
    world.check().unwrap();
    let result = world.done.take();
    (world, result)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_course_comes_to_a_good_end(course in courses()) {
        let mut world = World::new(course);
        world.settle();
        world.check()?;
    }
}

#[test]
fn without_faults_all_start_together_and_all_results_are_fetched() {
    let (world, result) = outcome(undisturbed(4));
    let run = result.unwrap().unwrap();
    assert!(run.hosts.iter().all(|host| matches!(host.outcome, HostOutcome::Finished(_))));
    let elapsed = |machine: &Machine| machine.ended_ns.unwrap() - machine.entered_ns.unwrap();
    assert!(world.machines.iter().all(|machine| elapsed(machine) / MS == 2000));
}

#[test]
fn a_host_that_dies_while_the_load_runs_is_lost_and_the_others_are_not() {
    let mut course = undisturbed(3);
    course.load_ms = 20_000;
    course.hosts[1] = Fault::Dies(6000);
    let (world, result) = outcome(course);
    let run = result.unwrap().unwrap();
    assert!(matches!(run.hosts[1].outcome, HostOutcome::Lost(_)));
    assert!(matches!(run.hosts[0].outcome, HostOutcome::Finished(_)));
    assert!(world.machines[1].entered_ns.is_some(), "it died before the load");
}

#[test]
fn files_that_hosts_share_are_closed_by_the_first_when_all_have_ended() {
    let (world, result) = outcome(SimulatedRun { shared: true, ..undisturbed(3) });
    let run = result.unwrap().unwrap();
    assert!(world.machines[0].settled && run.unsettled.is_empty(), "{run:?}");
    assert!(run.hosts.iter().all(|host| matches!(host.outcome, HostOutcome::Finished(_))));
    // A lost host may still write.
    let mut course = SimulatedRun { shared: true, ..undisturbed(3) };
    course.load_ms = 20_000;
    course.hosts[1] = Fault::Dies(6000);
    let (world, result) = outcome(course);
    let run = result.unwrap().unwrap();
    assert!(!world.machines[0].settled && run.unsettled.len() == 1, "{run:?}");
    assert!(matches!(run.hosts[0].outcome, HostOutcome::Finished(_)));
}

#[test]
fn a_host_that_dies_before_the_start_starts_nobody() {
    let mut course = undisturbed(3);
    course.hosts[1] = Fault::Dies(1500); // after the preparation, before the start
    let (world, result) = outcome(course);
    assert!(matches!(result.unwrap(), Err(FleetError::Failed(_))));
    assert!(world.machines.iter().all(|machine| machine.entered_ns.is_none()));
}

#[test]
fn the_death_of_the_controller_stops_the_load_and_keeps_the_results() {
    let mut course = undisturbed(2);
    course.load_ms = 60_000;
    course.controller_dies_ms = Some(8000);
    let (world, result) = outcome(course);
    assert!(result.is_none());
    for machine in &world.machines {
        assert!(machine.kept, "the result is lost");
        let ended_ms = (machine.ended_ns.unwrap() - BEGIN) / MS;
        assert!((17_000..19_000).contains(&ended_ms), "{ended_ms}");
    }
}

#[test]
fn heartbeats_that_somebody_held_back_keep_no_load_running() {
    let mut course = undisturbed(2);
    course.load_ms = 60_000;
    course.controller_dies_ms = Some(12_000);
    course.held_back_from_ms = Some(8000); // the last one comes 40 s later
    let (world, _) = outcome(course);
    for machine in &world.machines {
        let ended_ms = (machine.ended_ns.unwrap() - BEGIN) / MS;
        assert!((17_000..19_500).contains(&ended_ms), "{ended_ms}");
    }
}

#[test]
fn a_host_that_does_not_end_is_not_waited_for() {
    let mut course = undisturbed(2);
    course.hosts[1] = Fault::Hangs;
    course.load_ms = 1_000_000;
    course.user_stops_ms = Some(9000);
    let mut world = World::new(course);
    world.settle();
    let (done, result) = world.done.take().unwrap();
    let run = result.unwrap();
    assert!(matches!(run.hosts[0].outcome, HostOutcome::Finished(_)), "{run:?}");
    assert_eq!(run.hosts[1].outcome, HostOutcome::Lost("no result within 60 s of the order to end".into()));
    assert!(((done - BEGIN) / MS).abs_diff(69_500) < 1500, "{}", (done - BEGIN) / MS);
}

/// After Ctrl+C, a result that took longer than 60 s was abandoned.
#[test]
fn a_result_that_comes_late_is_waited_for_although_the_user_stops_the_run() {
    let mut course = undisturbed(2);
    course.hosts[1] = Fault::SendsLate(90_000);
    course.user_stops_ms = Some(12_000);
    let (world, result) = timed_outcome(course, LIMITS);
    let (done, result) = result.unwrap();
    let run = result.unwrap();
    assert!(run.stopped && run.hosts.iter().all(|host| matches!(host.outcome, HostOutcome::Finished(_))), "{run:?}");
    assert!(done - BEGIN > 90 * SECOND);
    assert_eq!(world.awaited, [["h1"]], "the user is told once what is waited for");
}

#[test]
fn a_reason_that_comes_while_the_run_is_stopped_is_kept() {
    let mut course = undisturbed(2);
    course.hosts[1] = Fault::FailsToPrepare;
    course.prepare_ms = 8000;
    let fails_at_ms = {
        let (world, result) = outcome(course.clone());
        assert_eq!(result.unwrap().unwrap_err().sentences(), ["h1: no space"]);
        world.machines[1].prepare_ended_ms
    };
    course.user_stops_ms = Some(fails_at_ms - 200);
    let (_, result) = outcome(course);
    assert_eq!(result.unwrap(), Err(FleetError::Stopped(vec!["h1: no space".into()])));
    // A stop is no failure.
    let (_, result) = outcome(SimulatedRun { user_stops_ms: Some(1500), prepare_ms: 3000, ..undisturbed(2) });
    assert_eq!(result.unwrap(), Err(FleetError::Stopped(Vec::new())));
}

#[test]
fn no_state_at_any_time_holds_a_run_for_ever() {
    for state in STATES {
        for from_ms in [0, 700, 1500, 5000, 8000] {
            for (shared, liar) in [(false, 1), (true, 0), (true, 1)] {
                let mut course = SimulatedRun { shared, load_ms: 4000, ..undisturbed(2) };
                course.hosts[liar] = Fault::Says(state, from_ms);
                let (world, result) = timed_outcome(course, LIMITS);
                let (done, result) = result.unwrap_or_else(|| panic!("{state:?} from {from_ms} ms on held the run"));
                assert!((done - BEGIN) / SECOND < 200, "{state:?} from {from_ms} ms on: {} s", (done - BEGIN) / SECOND);
                let sentences = result.err().map(|error| error.sentences().join("; ")).unwrap_or_default();
                let ran = world.machines.iter().any(|machine| machine.entered_ns.is_some());
                assert!(ran || !sentences.contains("ran for a moment"), "{state:?} from {from_ms} ms on: {sentences}");
            }
        }
    }
}

#[test]
fn a_host_that_finished_before_the_load_was_prepared_ends_the_run() {
    let mut course = undisturbed(2);
    course.hosts[1] = Fault::Says(AgentState::Finished, 0);
    let (world, result) = outcome(course);
    let sentences = result.unwrap().unwrap_err().sentences().join("; ");
    assert_eq!(sentences, "h1: lost: it says 'finished', which it cannot be while the load is prepared");
    assert!(world.machines[0].undone, "what the other host prepared is left");
}

#[test]
fn a_load_that_takes_no_end_is_not_waited_for() {
    let mut course = SimulatedRun { load_ms: 4000, ..undisturbed(2) };
    course.hosts[1] = Fault::Says(AgentState::Running, 5000);
    let limits = TimeLimits { run: Duration::from_secs(30), ..LIMITS };
    let (world, result) = timed_outcome(course, limits);
    let run = result.unwrap().1.unwrap();
    assert!(world.machines.iter().all(|machine| machine.entered_ns.is_some()));
    assert!(matches!(run.hosts[0].outcome, HostOutcome::Finished(_)), "{run:?}");
    assert_eq!(run.hosts[1].outcome, HostOutcome::Lost("no end of its load within 30 s".into()));
}

#[test]
fn a_name_of_a_run_is_an_id() {
    assert!(name::is_id(RUN));
}
