//! Reactions of a controller to answers, heartbeats and time: a state machine without clock, network or threads.

use super::{FleetRun, HostLive, HostOutcome, HostPlan, HostRun, Progress, TimeLimits};
use crate::FleetError;
use crate::clock::{Sample, agent_time, offset_at};
use crate::load::Finished;
use crate::message::{AgentHeartbeat, AgentState, AnswerBody, HeartbeatBody, StartBody, bounded, bounded_text};
use crate::order::Verb;
use crate::silence::Silence;
use model::fleet::ClockOffset;
use serde_json::Value;

/// A controller without any event for this long was stopped: it is called each few milliseconds.
const STOOD_STILL_NS: u64 = 1_000_000_000;
/// Hosts that have not ended, or not removed their prepared files, this long after the order to end are not waited for.
const GIVE_UP_NS: u64 = 60_000_000_000;
/// The start is at least this far ahead, and at least this many round trips.
const LEAD_NS: u64 = 2_000_000_000;
const LEAD_ROUND_TRIPS: u64 = 20;
/// The duration of the clock measurement is added this many times, up to a limit: busy machines and networks answer
/// much later than the shortest round trip suggests.
const LEAD_MEASUREMENTS: u64 = 2;
const LEAD_ADDED_NS: u64 = 20_000_000_000;
/// Time added per host: each receives an order, and each must confirm.
const LEAD_OF_HOST_NS: u64 = 50_000_000;
/// Time before the start at which all agents must have confirmed it.
const CONFIRMED_NS: u64 = 500_000_000;
/// Maximum age of a confirmation.
const FRESH_NS: u64 = 1_000_000_000;
/// Interval of the controller's heartbeats.
const HEARTBEAT_NS: u64 = 250_000_000;
/// Interval of live figures to the caller.
const LIVE_NS: u64 = 250_000_000;
/// The maximum number of queued documents of a host; the first are dropped.
const WAITING_LIVE: usize = 16;

/// Next action.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send an order and report the answer with [`Conductor::answered`].
    Order { host: usize, verb: Verb, body: Value },
    /// Send a heartbeat, without an answer.
    Beat { host: usize, body: HeartbeatBody },
    /// Measure the offset of the agent's clock and report it with [`Conductor::measured`].
    Measure { host: usize },
    /// Fetch the result and report it with [`Conductor::fetched`].
    Fetch { host: usize },
    /// Report to the caller.
    Say(Progress),
    /// All is done.
    Done(Box<Result<FleetRun, FleetError>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Planning,
    /// The caller has the plans and may stop.
    Planned,
    Preparing,
    Measuring,
    /// Starts are ordered; not all are confirmed.
    Starting,
    /// All are confirmed; the start time is not reached.
    Going,
    Running,
    /// The first host closes the shared files.
    Settling,
    MeasuringAgain,
    Fetching,
    Undoing,
    Done,
}

impl Phase {
    /// Text for the end of a sentence.
    fn text(self) -> &'static str {
        match self {
            Self::Planning | Self::Planned => "the load is planned",
            Self::Preparing => "the load is prepared",
            Self::Measuring => "the clocks are measured",
            Self::Starting | Self::Going => "the start is awaited",
            Self::Running => "the load runs",
            Self::Settling => "the first host closes the files",
            Self::MeasuringAgain | Self::Fetching => "results are fetched",
            Self::Undoing | Self::Done => "the run ends",
        }
    }
}

#[derive(Debug)]
struct Host {
    name: String,
    index: usize,
    /// Its last heartbeat.
    last: AgentHeartbeat,
    /// Live documents to be reported.
    live: Vec<Value>,
    /// Time of its last heartbeat; `None` = it does not know the run yet.
    heard_ns: Option<u64>,
    /// Time since which it is in its state.
    state_ns: u64,
    /// Last time at which its state was valid in the phase, or the start of the phase.
    fits_ns: u64,
    /// The reason why it is not waited for although it sends heartbeats: a sentence.
    dropped: Option<String>,
    /// Time since then in which this controller itself was stopped: no heartbeat could be received.
    deaf_ns: u64,
    plan: Option<HostPlan>,
    /// It has answered the plan, or will not.
    plan_answered: bool,
    /// It accepted the order to prepare.
    prepare_acknowledged: bool,
    start_acknowledged: bool,
    before: Option<Sample>,
    after: Option<Sample>,
    /// A measurement of its clock is in progress.
    measuring: bool,
    /// Its result is being fetched.
    fetching: bool,
    result: Option<Result<Finished, String>>,
    /// It will not answer orders to undo.
    undo_unanswered: bool,
    /// It has released the run.
    released: bool,
    /// Timeout of the host.
    silence: Silence,
}

/// State of a run on all its hosts.
#[derive(Debug)]
pub(crate) struct Conductor {
    hosts: Vec<Host>,
    phase: Phase,
    /// Start of the phase; in the preparation of a shared load, the time of the order to the other hosts.
    phase_ns: u64,
    limits: TimeLimits,
    plan_only: bool,
    /// The first host prepares before the others and settles at the end.
    shared: bool,
    /// The others have not received the order to prepare yet.
    others_wait: bool,
    plans_seen: bool,
    start_at_ns: u64,
    /// Start of the clock measurement.
    measuring_since_ns: u64,
    go: bool,
    stop: bool,
    /// The user stopped it.
    stopped: bool,
    /// Time from which hosts are no longer waited for; `None` = no order to end was sent.
    give_up_ns: Option<u64>,
    /// Time from which the first host is no longer waited for to settle.
    settle_until_ns: u64,
    /// Reasons why it did not.
    unsettled: Vec<String>,
    sentences: Vec<String>,
    /// Time of the last event.
    last_ns: Option<u64>,
    last_beat_ns: u64,
    last_live_ns: u64,
    steps: Vec<Step>,
}

impl Conductor {
    /// For hosts with the bodies of their plans.
    pub(crate) fn new(
        hosts: Vec<(String, usize, Value)>,
        plan_only: bool,
        shared: bool,
        silence: &Silence,
        limits: TimeLimits,
    ) -> Self {
        let mut steps = Vec::new();
        let mut all = Vec::new();
        for (host, (name, index, body)) in hosts.into_iter().enumerate() {
            steps.push(Step::Order { host, verb: Verb::Plan, body });
            all.push(Host {
                name,
                index,
                last: AgentHeartbeat::default(),
                live: Vec::new(),
                heard_ns: None,
                state_ns: 0,
                fits_ns: 0,
                dropped: None,
                deaf_ns: 0,
                plan: None,
                plan_answered: false,
                prepare_acknowledged: false,
                start_acknowledged: false,
                before: None,
                after: None,
                measuring: false,
                fetching: false,
                result: None,
                undo_unanswered: false,
                released: false,
                silence: silence.clone(),
            });
        }
        Self {
            hosts: all,
            phase: Phase::Planning,
            phase_ns: 0,
            limits,
            plan_only,
            shared,
            others_wait: shared,
            plans_seen: false,
            start_at_ns: 0,
            measuring_since_ns: 0,
            go: false,
            stop: false,
            stopped: false,
            give_up_ns: None,
            settle_until_ns: 0,
            unsettled: Vec::new(),
            sentences: Vec::new(),
            last_ns: None,
            last_beat_ns: 0,
            last_live_ns: 0,
            steps,
        }
    }

    #[cfg(test)]
    pub(crate) fn limit_times(&mut self, limits: TimeLimits) {
        self.limits = limits;
    }

    /// The actions since the last call.
    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// True if the agent has sent a heartbeat of this run.
    pub(crate) fn knows(&self, host: usize) -> bool {
        self.hosts[host].heard_ns.is_some()
    }

    fn say(&mut self, progress: Progress) {
        self.steps.push(Step::Say(progress));
    }

    fn order_all(&mut self, verb: Verb, body: impl FnMut(&Host) -> Value) {
        self.order_those(verb, |_| true, body);
    }

    /// Orders those hosts with these positions that have sent a heartbeat.
    fn order_those(&mut self, verb: Verb, which: impl Fn(usize) -> bool, mut body: impl FnMut(&Host) -> Value) {
        for (host, of) in self.hosts.iter().enumerate().filter(|(host, of)| which(*host) && of.heard_ns.is_some()) {
            self.steps.push(Step::Order { host, verb, body: body(of) });
        }
    }

    /// Stores sentences about a host, each once.
    fn complain(&mut self, host: usize, sentences: Vec<String>) {
        let name = &self.hosts[host].name;
        for sentence in bounded(sentences).into_iter().map(|sentence| format!("{name}: {sentence}")) {
            if !self.sentences.contains(&sentence) {
                self.sentences.push(sentence);
            }
        }
    }

    /// Handles a heartbeat of an agent.
    pub(crate) fn heard(&mut self, host: usize, heartbeat: AgentHeartbeat, now_ns: u64) {
        self.time_is(now_ns);
        let of = &mut self.hosts[host];
        of.hears(now_ns);
        if of.last.state != heartbeat.state {
            of.state_ns = now_ns;
        }
        of.last = heartbeat;
        if of.live.len() == WAITING_LIVE {
            of.live.remove(0);
        }
        of.live.extend(of.last.live.take());
        of.last.sentences = bounded(std::mem::take(&mut of.last.sentences));
        if self.fits(host, now_ns) {
            self.hosts[host].fits_ns = now_ns;
        }
        self.advance(now_ns);
    }

    /// Handles the answer to an order, or (`None`) its absence after all attempts.
    pub(crate) fn answered(&mut self, host: usize, verb: Verb, answer: Option<AnswerBody>, now_ns: u64) {
        self.time_is(now_ns);
        if answer.is_some() {
            self.hosts[host].hears(now_ns);
        }
        match (self.phase, verb) {
            (Phase::Planning, Verb::Plan) => self.plan_answered(host, answer),
            (Phase::Preparing, Verb::Prepare) => match answer {
                Some(AnswerBody::Refused(sentences)) => self.fail(host, sentences),
                Some(AnswerBody::Taken) => self.hosts[host].prepare_acknowledged = true,
                Some(_) => self.fail(host, vec!["it answered the order to prepare with something else".into()]),
                None if matches!(self.hosts[host].last.state, AgentState::Preparing | AgentState::Prepared) => {}
                None => {
                    self.fail(host, vec!["no answer to the order to prepare (see the messages of the agent)".into()]);
                }
            },
            (Phase::Starting, Verb::Start) => match answer {
                Some(AnswerBody::Taken) => self.hosts[host].start_acknowledged = true,
                Some(AnswerBody::Refused(sentences)) => self.fail(host, sentences),
                Some(_) => self.fail(host, vec!["it answered the order to start with something else".into()]),
                None => self.fail(host, vec!["no answer to the order to start".into()]),
            },
            (Phase::Settling, Verb::Settle) => match answer {
                Some(AnswerBody::Refused(sentences)) => self.is_unsettled(now_ns, sentences),
                None => self.is_unsettled(now_ns, vec!["no answer to the order to close them".into()]),
                Some(_) => {}
            },
            (Phase::Undoing, Verb::Undo) => match answer {
                None => self.hosts[host].undo_unanswered = true,
                Some(AnswerBody::Released) => self.hosts[host].released = true,
                Some(_) => {}
            },
            _ => {}
        }
        self.advance(now_ns);
    }

    fn plan_answered(&mut self, host: usize, answer: Option<AnswerBody>) {
        let of = &mut self.hosts[host];
        of.plan_answered = true;
        match answer {
            Some(AnswerBody::Planned { facts, text }) => {
                of.plan = Some(HostPlan { name: of.name.clone(), index: of.index, facts, text });
            }
            Some(AnswerBody::Refused(sentences)) => self.complain(host, sentences),
            Some(_) => self.complain(host, vec!["it answered the order to plan with something else".into()]),
            None => {
                self.complain(host, vec!["no answer to the order to plan (see the messages of the agent)".into()]);
            }
        }
    }

    /// Handles the measurement of the agent's clock, or (`None`) no exchange was answered.
    pub(crate) fn measured(&mut self, host: usize, sample: Option<Sample>, now_ns: u64) {
        self.time_is(now_ns);
        self.hosts[host].measuring = false;
        match self.phase {
            Phase::Measuring if sample.is_none() => {
                self.fail(host, vec!["its clock cannot be measured: no answer".into()]);
            }
            Phase::Measuring => self.hosts[host].before = sample,
            Phase::MeasuringAgain => self.hosts[host].after = sample,
            _ => {}
        }
        self.advance(now_ns);
    }

    /// Handles a fetched result, or its error.
    pub(crate) fn fetched(&mut self, host: usize, result: Result<Finished, String>, now_ns: u64) {
        self.time_is(now_ns);
        self.hosts[host].released = result.is_ok();
        self.hosts[host].result = Some(result);
        self.advance(now_ns);
    }

    /// The caller has the plans and did not stop: hosts may be touched.
    pub(crate) fn plans_seen(&mut self) {
        self.plans_seen = true;
    }

    /// The user stops the run.
    pub(crate) fn user_stop(&mut self, now_ns: u64) {
        if self.stopped || self.phase == Phase::Done {
            return;
        }
        self.stopped = true;
        match self.phase {
            Phase::Running => {
                self.stop = true;
                self.order_all(Verb::Stop, |_| Value::Null);
            }
            // The load has ended; each result has its own limit.
            Phase::Fetching => {
                let is_awaited = |host: &&Host| host.fetching && host.result.is_none();
                let hosts = self.hosts.iter().filter(is_awaited).map(|host| host.name.clone()).collect();
                self.say(Progress::AwaitingResults(hosts));
            }
            Phase::Settling | Phase::MeasuringAgain | Phase::Undoing | Phase::Done => {}
            Phase::Planning | Phase::Planned | Phase::Preparing | Phase::Measuring | Phase::Starting | Phase::Going => {
                self.undo();
            }
        }
        self.beat(now_ns);
        self.advance(now_ns);
    }

    /// Fails the run before the start: nothing starts anywhere, and prepared files are removed.
    fn fail(&mut self, host: usize, sentences: Vec<String>) {
        self.complain(host, sentences);
        self.undo();
    }

    fn undo(&mut self) {
        if self.phase == Phase::Undoing {
            return;
        }
        self.enter(Phase::Undoing);
        self.go = false;
        self.stop = true;
        self.order_all(Verb::Undo, |_| Value::Null);
    }

    /// If this process was stopped, messages of that time have not been read: no host is lost because another's message
    /// is the first of them.
    fn time_is(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.last_ns.replace(now_ns).unwrap_or(now_ns));
        if passed_ns > STOOD_STILL_NS {
            self.hosts.iter_mut().for_each(|host| host.deaf_ns += passed_ns);
        }
    }

    /// Checks timeouts.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        self.time_is(now_ns);
        if now_ns.saturating_sub(self.last_beat_ns) >= HEARTBEAT_NS {
            self.beat(now_ns);
        }
        if self.phase == Phase::Planned && self.plans_seen && self.all_are_well(now_ns) {
            self.enter(Phase::Preparing);
            let first_alone = self.shared;
            self.order_those(Verb::Prepare, |host| host == 0 || !first_alone, |_| Value::Null);
        }
        if self.phase == Phase::Running && now_ns.saturating_sub(self.last_live_ns) >= LIVE_NS {
            self.tell_live(now_ns);
        }
        self.advance(now_ns);
    }

    fn tell_live(&mut self, now_ns: u64) {
        self.last_live_ns = now_ns;
        let live = self.hosts.iter_mut().map(|host| HostLive {
            name: host.name.clone(),
            index: host.index,
            state: host.last.state,
            lost: host.is_lost(now_ns),
            ios: host.last.ios,
            bytes: host.last.bytes,
            live: std::mem::take(&mut host.live),
        });
        let live = live.collect();
        self.say(Progress::Running(live));
    }

    fn beat(&mut self, now_ns: u64) {
        self.last_beat_ns = now_ns;
        for host in 0..self.hosts.len() {
            if self.knows(host) && !self.hosts[host].released {
                let heard_ns = self.hosts[host].last.sent_ns;
                let body = HeartbeatBody { go: self.go, stop: self.stop, heard_ns };
                self.steps.push(Step::Beat { host, body });
            }
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.begin_waiting();
    }

    /// Time limits of hosts begin now.
    fn begin_waiting(&mut self) {
        self.phase_ns = self.last_ns.unwrap_or_default();
        for host in &mut self.hosts {
            host.fits_ns = self.phase_ns;
        }
    }

    /// True if a host may have its state in this phase.
    fn fits(&self, host: usize, now_ns: u64) -> bool {
        use AgentState::{
            Failed, Finished, Planned, Planning, Prepared, Preparing, Running, Stopping, Undoing, Undone, Waiting,
        };
        let of = &self.hosts[host];
        match self.phase {
            // These phases have limits of their own: for answers, clocks, results, and the start time.
            Phase::Planning
            | Phase::Planned
            | Phase::Settling
            | Phase::MeasuringAgain
            | Phase::Fetching
            | Phase::Undoing
            | Phase::Done => true,
            Phase::Preparing => match of.last.state {
                Planning | Planned => !of.prepare_acknowledged,
                state => matches!(state, Preparing | Prepared | Undoing | Undone | Failed),
            },
            Phase::Measuring => matches!(of.last.state, Prepared | Undoing | Undone | Failed),
            Phase::Starting => matches!(of.last.state, Prepared | Waiting | Undoing | Undone | Failed),
            Phase::Going | Phase::Running => match of.last.state {
                Waiting => now_ns < self.start_at_ns.saturating_add(GIVE_UP_NS),
                Stopping | Undoing => now_ns.saturating_sub(of.state_ns) < GIVE_UP_NS,
                state => matches!(state, Running | Finished | Failed | Undone),
            },
        }
    }

    /// The reason why a host is not waited for although it sends heartbeats.
    fn reason_to_drop(&self, host: usize, now_ns: u64) -> Option<String> {
        let of = &self.hosts[host];
        let wrong_ns = now_ns.saturating_sub(of.fits_ns.saturating_add(of.deaf_ns));
        if of.heard_ns.is_some() && wrong_ns > of.silence.ns() && !self.fits(host, now_ns) {
            let (state, what) = (of.last.state.text(), self.phase.text());
            return Some(format!("it says '{state}', which it cannot be while {what}"));
        }
        let (limit, is_done, what) = match self.phase {
            Phase::Preparing => (self.limits.prepare, of.last.state == AgentState::Prepared, "the preparation"),
            Phase::Running => (self.limits.run, of.has_ended(), "its load"),
            _ => return None,
        };
        let is_ordered = !(self.others_wait && host > 0);
        let took_ns = u128::from(now_ns.saturating_sub(self.phase_ns));
        (!is_done && is_ordered && took_ns > limit.as_nanos())
            .then(|| format!("no end of {what} within {} s", limit.as_secs()))
    }

    /// Advances to the next phase if all hosts are ready for it.
    fn advance(&mut self, now_ns: u64) {
        // A host that was not waited for while the load ran is reported at the end.
        if !matches!(self.phase, Phase::Settling | Phase::MeasuringAgain | Phase::Fetching) {
            for host in 0..self.hosts.len() {
                self.hosts[host].dropped = self.reason_to_drop(host, now_ns);
            }
        }
        if self.stopped || self.phase == Phase::Undoing {
            self.give_up_ns.get_or_insert(now_ns.saturating_add(GIVE_UP_NS));
        }
        match self.phase {
            Phase::Planning => self.after_planning(),
            Phase::Planned | Phase::Done => {}
            Phase::Preparing => {
                if !self.all_are_well(now_ns) {
                    return;
                }
                if self.others_wait && self.hosts[0].last.state == AgentState::Prepared {
                    self.others_wait = false;
                    self.begin_waiting();
                    self.order_those(Verb::Prepare, |host| host > 0, |_| Value::Null);
                }
                if self.hosts.iter().all(|host| host.last.state == AgentState::Prepared) {
                    self.say(Progress::Prepared);
                    self.enter(Phase::Measuring);
                    self.measuring_since_ns = now_ns;
                    self.measure(|_| true);
                }
            }
            Phase::Measuring => {
                if self.all_are_well(now_ns) && self.hosts.iter().all(|host| !host.measuring) {
                    self.order_start(now_ns);
                }
            }
            Phase::Starting => {
                if self.all_are_well(now_ns)
                    && self.is_in_time(now_ns)
                    && self.hosts.iter().all(|host| host.start_acknowledged)
                {
                    self.go = true;
                    self.enter(Phase::Going);
                    self.beat(now_ns);
                }
            }
            Phase::Going => {
                // The end or failure of a short load may be reported before the start time by this clock.
                let began = self.hosts.iter().any(|host| self.has_run(host, now_ns));
                if began || (self.all_are_well(now_ns) && self.is_in_time(now_ns) && now_ns >= self.start_at_ns) {
                    self.enter(Phase::Running);
                }
            }
            Phase::Running => self.after_running(now_ns),
            Phase::Settling => self.after_settling(now_ns),
            Phase::MeasuringAgain => {
                if self.hosts.iter().all(|host| !host.measuring) {
                    self.fetch(now_ns);
                }
            }
            Phase::Fetching => {
                if self.hosts.iter().all(|host| !host.fetching || host.result.is_some()) {
                    self.done(now_ns);
                }
            }
            Phase::Undoing => self.after_undoing(now_ns),
        }
    }

    fn after_planning(&mut self) {
        if !self.hosts.iter().all(|host| host.plan_answered) {
            return;
        }
        let plans: Vec<HostPlan> = self.hosts.iter_mut().filter_map(|host| host.plan.take()).collect();
        if !self.sentences.is_empty() || self.plan_only {
            // Hosts that have planned discard the plan.
            self.order_all(Verb::Undo, |_| Value::Null);
            self.phase = Phase::Done;
            let refused = !self.sentences.is_empty();
            if !refused {
                self.say(Progress::Planned(plans));
            }
            let result =
                if refused { Err(FleetError::Refused(self.sentences.clone())) } else { Ok(FleetRun::default()) };
            self.steps.push(Step::Done(Box::new(result)));
            return;
        }
        self.say(Progress::Planned(plans));
        self.phase = Phase::Planned;
    }

    /// False, and everything is undone, if a host failed or is lost.
    fn all_are_well(&mut self, now_ns: u64) -> bool {
        for host in 0..self.hosts.len() {
            let of = &self.hosts[host];
            let sentences = match of.last.state {
                AgentState::Failed => of.last.sentences.clone(),
                AgentState::Undone | AgentState::Undoing => vec!["it gave the run up".into()],
                _ if of.is_lost(now_ns) => vec![format!("lost: {}", of.loss())],
                _ => continue,
            };
            self.fail(host, sentences);
            self.beat(now_ns);
        }
        self.phase != Phase::Undoing
    }

    fn measure(&mut self, which: impl Fn(&Host) -> bool) {
        for (host, of) in self.hosts.iter_mut().enumerate() {
            if which(of) {
                of.measuring = true;
                self.steps.push(Step::Measure { host });
            }
        }
    }

    fn order_start(&mut self, now_ns: u64) {
        let longest = self.hosts.iter().filter_map(|host| host.before).map(|sample| sample.round_trip_ns).max();
        let took_ns = now_ns.saturating_sub(self.measuring_since_ns);
        let of_hosts = (self.hosts.len() as u64).saturating_mul(LEAD_OF_HOST_NS);
        let lead_ns = LEAD_NS.max(longest.unwrap_or(0).saturating_mul(LEAD_ROUND_TRIPS)).max(of_hosts)
            + took_ns.saturating_mul(LEAD_MEASUREMENTS).min(LEAD_ADDED_NS);
        self.start_at_ns = now_ns + lead_ns;
        self.enter(Phase::Starting);
        self.say(Progress::Starting { lead_ns });
        let start_at_ns = self.start_at_ns;
        self.order_all(Verb::Start, |host| {
            let start_at_ns = host.before.map_or(0, |sample| agent_time(start_at_ns, sample));
            serde_json::to_value(StartBody { start_at_ns }).unwrap_or_default()
        });
    }

    /// False, and everything is undone, if it is too late and an agent has not confirmed the start.
    fn is_in_time(&mut self, now_ns: u64) -> bool {
        if now_ns + CONFIRMED_NS < self.start_at_ns {
            return true;
        }
        let late: Vec<usize> = (0..self.hosts.len()).filter(|&host| !self.hosts[host].is_armed(now_ns)).collect();
        for &host in &late {
            self.fail(host, vec!["it did not confirm the start in time".into()]);
        }
        if !late.is_empty() {
            self.beat(now_ns);
        }
        late.is_empty()
    }

    /// True if a host's load has begun: it reports so, was ordered to start, and the start time is reached, within the
    /// difference of the clocks.
    fn has_run(&self, host: &Host, now_ns: u64) -> bool {
        host.last.entered && self.start_at_ns > 0 && now_ns.saturating_add(CONFIRMED_NS) >= self.start_at_ns
    }

    fn after_running(&mut self, now_ns: u64) {
        let ended = |host: &Host| host.has_ended() || host.is_lost(now_ns);
        if self.gives_up(now_ns) || self.hosts.iter().all(ended) {
            self.tell_live(now_ns);
            let settled = self.shared.then(|| self.order_to_settle(now_ns));
            if settled.is_none_or(|ordered| !ordered) {
                self.measure_again(now_ns);
            }
        }
    }

    /// False if the first host is not to settle, because the state of the others is not known.
    fn order_to_settle(&mut self, now_ns: u64) -> bool {
        let unknown = |host: &&Host| host.last.state != AgentState::Finished || host.is_lost(now_ns);
        let unknown: Vec<String> = self.hosts.iter().filter(unknown).map(|host| host.name.clone()).collect();
        if !unknown.is_empty() {
            self.unsettled = vec![format!("whether {} still writes to them is not known", unknown.join(", "))];
            return false;
        }
        self.enter(Phase::Settling);
        self.settle_until_ns = now_ns.saturating_add(GIVE_UP_NS);
        self.order_those(Verb::Settle, |host| host == 0, |_| Value::Null);
        true
    }

    fn after_settling(&mut self, now_ns: u64) {
        let first = &self.hosts[0];
        if first.last.settled {
            self.unsettled = first.last.sentences.clone();
            self.measure_again(now_ns);
        } else if first.is_lost(now_ns) || now_ns >= self.settle_until_ns {
            self.is_unsettled(now_ns, vec![format!("{} did not confirm that it closed them", self.hosts[0].name)]);
        }
    }

    fn is_unsettled(&mut self, now_ns: u64, sentences: Vec<String>) {
        self.unsettled = bounded(sentences);
        self.measure_again(now_ns);
    }

    fn measure_again(&mut self, now_ns: u64) {
        self.enter(Phase::MeasuringAgain);
        self.say(Progress::Collecting);
        self.measure(|host| host.has_result() && !host.is_lost(now_ns));
        self.advance(now_ns);
    }

    fn fetch(&mut self, now_ns: u64) {
        self.enter(Phase::Fetching);
        for (host, of) in self.hosts.iter_mut().enumerate() {
            if of.has_result() {
                of.fetching = true;
                self.steps.push(Step::Fetch { host });
            }
        }
        self.advance(now_ns);
    }

    fn done(&mut self, now_ns: u64) {
        self.phase = Phase::Done;
        let start_at_ns = self.start_at_ns;
        self.order_failed_to_forget();
        let unsettled = std::mem::take(&mut self.unsettled);
        let hosts = self.hosts.iter_mut().map(|host| HostRun {
            name: host.name.clone(),
            index: host.index,
            clock: host.before.map_or_else(ClockOffset::default, |before| offset_at(start_at_ns, before, host.after)),
            outcome: match host.result.take() {
                Some(Ok(finished)) => HostOutcome::Finished(finished),
                Some(Err(sentence)) => HostOutcome::Lost(bounded_text(&sentence)),
                None if host.last.state == AgentState::Failed && !host.is_lost(now_ns) => {
                    HostOutcome::Failed(host.last.sentences.clone())
                }
                None if host.last.state == AgentState::Undone => {
                    HostOutcome::Failed(vec!["the load did not start".into()])
                }
                None if host.is_lost(now_ns) => HostOutcome::Lost(host.loss()),
                None => HostOutcome::Lost("no result within 60 s of the order to end".into()),
            },
        });
        let run = FleetRun { start_at_ns, stopped: self.stopped, unsettled, hosts: hosts.collect() };
        self.steps.push(Step::Done(Box::new(Ok(run))));
    }

    /// Agents whose load failed hold the run until the order to undo.
    fn order_failed_to_forget(&mut self) {
        for (host, of) in self.hosts.iter().enumerate() {
            if matches!(of.last.state, AgentState::Failed | AgentState::Undone) {
                self.steps.push(Step::Order { host, verb: Verb::Undo, body: Value::Null });
            }
        }
    }

    fn gives_up(&self, now_ns: u64) -> bool {
        self.give_up_ns.is_some_and(|at| now_ns >= at)
    }

    fn after_undoing(&mut self, now_ns: u64) {
        let settled = |host: &Host| host.is_settled() || host.is_lost(now_ns) || host.undo_unanswered;
        if !self.gives_up(now_ns) && !self.hosts.iter().all(settled) {
            return;
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host].last.state == AgentState::Failed {
                // It may have failed while it was ending.
                self.complain(host, self.hosts[host].last.sentences.clone());
            }
            let of = &self.hosts[host];
            if of.heard_ns.is_some() && !of.is_settled() {
                self.complain(host, vec!["it did not confirm that it removed what it had prepared".into()]);
            } else if self.has_run(of, now_ns) {
                self.complain(host, vec!["the order to stop came late: the load ran for a moment".into()]);
            }
        }
        self.phase = Phase::Done;
        self.order_all(Verb::Undo, |_| Value::Null);
        let sentences = std::mem::take(&mut self.sentences);
        let error = if self.stopped { FleetError::Stopped(sentences) } else { FleetError::Failed(sentences) };
        self.steps.push(Step::Done(Box::new(Err(error))));
    }
}

impl Host {
    fn hears(&mut self, now_ns: u64) {
        self.heard_ns = Some(now_ns);
        self.deaf_ns = 0;
    }

    /// True if it is not waited for.
    fn is_lost(&self, now_ns: u64) -> bool {
        self.dropped.is_some() || self.is_silent(now_ns)
    }

    /// The reason why it is lost.
    fn loss(&self) -> String {
        self.dropped.clone().unwrap_or_else(|| format!("nothing was heard of it for {}", self.silence))
    }

    fn is_silent(&self, now_ns: u64) -> bool {
        self.heard_ns.is_none_or(|heard| now_ns.saturating_sub(heard) > self.silence.ns().saturating_add(self.deaf_ns))
    }

    /// True if it reported recently that it will start.
    fn is_armed(&self, now_ns: u64) -> bool {
        self.last.armed && self.heard_ns.is_some_and(|heard| now_ns.saturating_sub(heard) <= FRESH_NS)
    }

    fn has_result(&self) -> bool {
        matches!(self.last.state, AgentState::Finished | AgentState::Settling)
    }

    fn has_ended(&self) -> bool {
        matches!(self.last.state, AgentState::Finished | AgentState::Failed | AgentState::Undone)
    }

    /// True if no file that was prepared for this run remains on it.
    fn is_settled(&self) -> bool {
        self.heard_ns.is_none()
            || self.released
            || self.has_ended()
            || matches!(self.last.state, AgentState::Starting | AgentState::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_that_stood_still_loses_no_host_that_spoke() {
        let hosts = ["h1", "h2"].into_iter().enumerate().map(|(index, name)| (name.to_owned(), index, Value::Null));
        let mut conductor = Conductor::new(hosts.collect(), false, false, &Silence::default(), TimeLimits::default());
        let second = 1_000_000_000;
        for now_ns in [second, 2 * second] {
            conductor.heard(0, AgentHeartbeat::default(), now_ns);
            conductor.heard(1, AgentHeartbeat::default(), now_ns);
        }
        conductor.heard(0, AgentHeartbeat::default(), 14 * second);
        assert!(!conductor.hosts[1].is_lost(14 * second));
        for tenth in 140..241 {
            conductor.tick(tenth * second / 10);
        }
        assert!(conductor.hosts[0].is_lost(241 * second / 10) && conductor.hosts[1].is_lost(241 * second / 10));
        conductor.heard(1, AgentHeartbeat::default(), 242 * second / 10);
        assert!(!conductor.hosts[1].is_lost(25 * second) && conductor.hosts[1].is_lost(35 * second));
    }
}
