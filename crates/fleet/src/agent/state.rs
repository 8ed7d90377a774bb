//! Reactions of an agent to orders, ends of jobs and time: a state machine without clock, network or threads.

use crate::key::PublicKey;
use crate::load::{Load, Planned, Prepared, StartGate};
use crate::message::{
    AgentHeartbeat, AgentState, AnswerBody, CollectBody, HeartbeatBody, PlanBody, ResultBody, StartBody, bounded,
};
use crate::name;
use crate::order::{Admitted, Gatekeeper, Now, Order, Rejection, Verb};
use crate::silence::Silence;
use crate::store::Stored;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Maximum time until a start.
const MAX_AHEAD_NS: u64 = 300_000_000_000;

/// Subject of an answer, and its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplyTo {
    pub(crate) subject: String,
    pub(crate) run: String,
    pub(crate) sequence: u64,
}

/// Next action.
#[derive(Debug)]
pub(crate) enum Action {
    /// Answer an order.
    Answer(ReplyTo, AnswerBody),
    /// Answer with the time: when the order arrived, and when the answer is sent.
    AnswerClock(ReplyTo),
    /// Answer with a part of this result.
    AnswerPart(ReplyTo, Stored, u64),
    /// Answer about kept results.
    AnswerCollect(ReplyTo, CollectBody),
    /// Begin a job; its end comes back as [`JobEnd`].
    Begin(Job),
    /// Ask the current job to end.
    StopJob,
    /// Remove the result of this run, which was fetched.
    Remove(String),
    /// Log this.
    Log(String),
}

/// Work for a separate thread.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    Plan(Load),
    Prepare(Load),
    Run(Load, Prepared, Arc<StartGate>),
    Undo(Prepared),
    Settle(Load),
}

/// Result of a job.
#[derive(Clone, Debug)]
pub(crate) enum JobEnd {
    Plan(Result<Planned, Vec<String>>),
    Prepare(Result<Prepared, Vec<String>>),
    /// The result is on the disk.
    Run(Result<Stored, Vec<String>>),
    Undo,
    Settle(Result<(), Vec<String>>),
}

/// The run that the agent executes.
#[derive(Debug)]
struct Run {
    load: Load,
    key: PublicKey,
    state: AgentState,
    /// Time of its controller's last heartbeat.
    heard_ns: u64,
    plan_reply: Option<ReplyTo>,
    planned: Option<Planned>,
    prepared: Option<Prepared>,
    gate: Option<Arc<StartGate>>,
    /// No further job begins: prepared files are removed when the current job has ended.
    ending: bool,
    /// A job is running.
    busy: bool,
    sentences: Vec<String>,
    stored: Option<Stored>,
    /// The shared files are closed, or cannot be.
    settled: bool,
}

/// State of an agent.
#[derive(Debug)]
pub(crate) struct Agent {
    version: String,
    instance: String,
    pub(crate) gatekeeper: Gatekeeper,
    /// Timeout of the controller.
    silence: Silence,
    run: Option<Run>,
}

impl Agent {
    pub(crate) fn new(version: &str, instance: &str, gatekeeper: Gatekeeper, silence: Silence) -> Self {
        Self { version: version.to_owned(), instance: instance.to_owned(), gatekeeper, silence, run: None }
    }

    pub(crate) fn state(&self) -> AgentState {
        self.run.as_ref().map_or(AgentState::Idle, |run| run.state)
    }

    pub(crate) fn run_id(&self) -> Option<&str> {
        self.run.as_ref().map(|run| run.load.run.as_str())
    }

    /// True while a thread works for a run.
    pub(crate) fn is_busy(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.busy)
    }

    /// The heartbeat of the run, if there is one.
    pub(crate) fn heartbeat(&self) -> Option<AgentHeartbeat> {
        let run = self.run.as_ref()?;
        let (ios, bytes) = run.gate.as_ref().map_or((0, 0), |gate| gate.reported());
        Some(AgentHeartbeat {
            instance: self.instance.clone(),
            state: run.state,
            sent_ns: 0,
            armed: run.gate.as_ref().is_some_and(|gate| gate.is_confirmed()),
            entered: run.gate.as_ref().is_some_and(|gate| gate.has_entered()),
            settled: run.settled,
            ios,
            bytes,
            live: None,
            sentences: run.sentences.clone(),
        })
    }

    /// The load's live document if it is later than the one with this number.
    pub(crate) fn live_after(&self, number: u64) -> Option<(u64, Value)> {
        self.run.as_ref()?.gate.as_ref()?.live_after(number)
    }

    /// Handles a message to the subject of this verb.
    pub(crate) fn message(&mut self, message: &[u8], verb: Verb, now: Now) -> Result<Vec<Action>, Rejection> {
        let admitted = self.gatekeeper.admit(message, verb, now)?;
        let Order { reply, run, sequence, .. } = &admitted.order;
        let subject = reply.clone().filter(|reply| name::may_be_answered(reply));
        let reply = subject.map(|subject| ReplyTo { subject, run: run.clone(), sequence: *sequence });
        Ok(self.order(&admitted, reply, now.monotonic_ns))
    }

    fn order(&mut self, admitted: &Admitted, reply: Option<ReplyTo>, now_ns: u64) -> Vec<Action> {
        let body = &admitted.order.body;
        let handled = match admitted.order.verb {
            Verb::Plan => parsed(body).map(|body| self.plan(admitted, body, reply.clone(), now_ns)),
            Verb::Prepare => Ok(self.prepare(admitted, reply.clone())),
            Verb::Start => parsed(body).map(|body| self.start(admitted, body, reply.clone(), now_ns)),
            Verb::Heartbeat => parsed(body).map(|body| self.heard(body, now_ns)),
            Verb::Stop => Ok(self.stop(admitted, reply.clone())),
            Verb::Undo => Ok(self.undo(reply.clone())),
            Verb::Settle => Ok(self.settle(admitted, reply.clone())),
            Verb::Clock => Ok(reply.clone().map(Action::AnswerClock).into_iter().collect()),
            Verb::Result => parsed(body).map(|body| self.result(body, reply.clone())),
            Verb::Collect => {
                parsed(body).map(|body| reply.clone().map(|to| Action::AnswerCollect(to, body)).into_iter().collect())
            }
        };
        handled.unwrap_or_else(|sentence| refused(reply, vec![sentence]))
    }

    fn plan(&mut self, admitted: &Admitted, body: PlanBody, reply: Option<ReplyTo>, now_ns: u64) -> Vec<Action> {
        if body.version != self.version {
            let sentence = format!("the agent is version {}, the controller {}", self.version, body.version);
            return refused(reply, vec![sentence]);
        }
        if let Some(run) = &mut self.run {
            let same = run.load.run == admitted.order.run && run.key == admitted.key;
            match (same, run.state) {
                (true, AgentState::Planning) => {
                    run.plan_reply = reply; // the controller asks again, because it did not hear of the first time
                    return Vec::new();
                }
                (true, AgentState::Planned) => {
                    let planned = run.planned.clone().unwrap_or_default();
                    return answered(reply, AnswerBody::Planned { facts: planned.facts, text: planned.text });
                }
                (true, _) => return refused(reply, vec!["this run was planned before".into()]),
                (false, state) if run.busy || holds(state) => {
                    return refused(reply, vec![format!("busy with run {} of key {}", run.load.run, run.key)]);
                }
                _ => {}
            }
        }
        let load = Load {
            run: admitted.order.run.clone(),
            host: body.host,
            index: body.index,
            hosts: body.hosts,
            shared: body.shared,
            profile: body.profile,
            options: body.options,
        };
        self.gatekeeper.begin_run(admitted);
        let log = format!("run {} of key {}: planning", load.run, admitted.key);
        self.run = Some(Run {
            load: load.clone(),
            key: admitted.key.clone(),
            state: AgentState::Planning,
            heard_ns: now_ns,
            plan_reply: reply,
            planned: None,
            prepared: None,
            gate: None,
            ending: false,
            busy: true,
            sentences: Vec::new(),
            stored: None,
            settled: false,
        });
        vec![Action::Log(log), Action::Begin(Job::Plan(load))]
    }

    /// The run of an order, if it is the one of this agent.
    fn run_of(&mut self, admitted: &Admitted) -> Option<&mut Run> {
        self.run.as_mut().filter(|run| run.load.run == admitted.order.run && run.key == admitted.key)
    }

    fn prepare(&mut self, admitted: &Admitted, reply: Option<ReplyTo>) -> Vec<Action> {
        let Some(run) = self.run_of(admitted) else { return refused(reply, vec!["this run was not planned".into()]) };
        match run.state {
            AgentState::Planned => {
                run.state = AgentState::Preparing;
                run.busy = true;
                let begin = Action::Begin(Job::Prepare(run.load.clone()));
                let log = Action::Log(format!("run {}: preparing", run.load.run));
                answered(reply, AnswerBody::Taken).into_iter().chain([log, begin]).collect()
            }
            AgentState::Preparing | AgentState::Prepared => answered(reply, AnswerBody::Taken),
            state => refused(reply, vec![format!("it cannot prepare while it is {}", state.text())]),
        }
    }

    fn start(&mut self, admitted: &Admitted, body: StartBody, reply: Option<ReplyTo>, now_ns: u64) -> Vec<Action> {
        let Some(run) = self.run_of(admitted) else { return refused(reply, vec!["this run was not planned".into()]) };
        let Some(prepared) = run.prepared.clone().filter(|_| run.state == AgentState::Prepared) else {
            let again = run.gate.as_ref().is_some_and(|gate| gate.start_at_ns() == body.start_at_ns);
            if again && run.state == AgentState::Waiting {
                return answered(reply, AnswerBody::Taken);
            }
            return refused(reply, vec![format!("it cannot start while it is {}", run.state.text())]);
        };
        if body.start_at_ns <= now_ns || body.start_at_ns - now_ns > MAX_AHEAD_NS {
            return refused(reply, vec!["the time of the start is past, or more than 300 s ahead".into()]);
        }
        let gate = Arc::new(StartGate::new(body.start_at_ns));
        run.gate = Some(Arc::clone(&gate));
        run.state = AgentState::Waiting;
        run.busy = true;
        let begin = Action::Begin(Job::Run(run.load.clone(), prepared, gate));
        let log = Action::Log(format!("run {}: waiting for the start", run.load.run));
        answered(reply, AnswerBody::Taken).into_iter().chain([log, begin]).collect()
    }

    /// Handles a heartbeat of the run's controller.
    fn heard(&mut self, body: HeartbeatBody, now_ns: u64) -> Vec<Action> {
        let Some(run) = &mut self.run else { return Vec::new() };
        // Not the time of arrival: it may have been delayed.
        run.heard_ns = run.heard_ns.max(body.heard_ns.min(now_ns));
        if body.stop {
            return run.end(None);
        }
        if let Some(gate) = &run.gate
            && body.go
            && run.state == AgentState::Waiting
            && now_ns < gate.start_at_ns()
        {
            gate.confirm();
        }
        Vec::new()
    }

    fn stop(&mut self, admitted: &Admitted, reply: Option<ReplyTo>) -> Vec<Action> {
        let Some(run) = &mut self.run else { return answered(reply, AnswerBody::Taken) };
        let by = (run.key != admitted.key || !admitted.of_run)
            .then(|| format!("stopped by an order of key {}", admitted.key));
        let mut actions = answered(reply, AnswerBody::Taken);
        actions.extend(run.end(by));
        actions
    }

    fn undo(&mut self, reply: Option<ReplyTo>) -> Vec<Action> {
        let Some(run) = &mut self.run else { return answered(reply, AnswerBody::Released) };
        if !run.busy && run.state != AgentState::Prepared {
            let log = Action::Log(format!("run {}: released", run.load.run));
            self.release();
            return answered(reply, AnswerBody::Released).into_iter().chain([log]).collect();
        }
        let mut actions = answered(reply, AnswerBody::Taken);
        actions.extend(run.end(None));
        actions
    }

    fn settle(&mut self, admitted: &Admitted, reply: Option<ReplyTo>) -> Vec<Action> {
        let Some(run) = self.run_of(admitted) else { return refused(reply, vec!["this run was not planned".into()]) };
        match run.state {
            AgentState::Finished if !run.settled => {
                run.state = AgentState::Settling;
                run.busy = true;
                let begin = Action::Begin(Job::Settle(run.load.clone()));
                answered(reply, AnswerBody::Taken).into_iter().chain([begin]).collect()
            }
            AgentState::Finished | AgentState::Settling => answered(reply, AnswerBody::Taken),
            state => refused(reply, vec![format!("it cannot settle while it is {}", state.text())]),
        }
    }

    fn result(&mut self, body: ResultBody, reply: Option<ReplyTo>) -> Vec<Action> {
        let stored = self.run.as_ref().and_then(|run| run.stored.clone());
        let Some(stored) = stored else { return refused(reply, vec!["it has no result of this run".into()]) };
        if !body.received {
            return reply.map(|to| Action::AnswerPart(to, stored, body.offset)).into_iter().collect();
        }
        let mut actions = answered(reply, AnswerBody::Taken);
        actions.push(Action::Remove(stored.run.clone()));
        actions.push(Action::Log(format!("run {}: the result was fetched", stored.run)));
        self.release();
        actions
    }

    fn release(&mut self) {
        self.run = None;
        self.gatekeeper.end_run();
    }

    /// Handles the end of a job.
    pub(crate) fn job_ended(&mut self, end: JobEnd) -> Vec<Action> {
        let Some(run) = &mut self.run else { return Vec::new() };
        run.busy = false;
        match end {
            JobEnd::Plan(planned) => self.planned(planned),
            JobEnd::Prepare(Ok(prepared)) => {
                run.state = AgentState::Prepared;
                run.prepared = Some(prepared);
                if run.ending { run.remove_prepared() } else { Vec::new() }
            }
            JobEnd::Run(Ok(stored)) => {
                run.stored = Some(stored);
                run.state = AgentState::Finished;
                vec![Action::Log(format!("run {}: finished", run.load.run))]
            }
            JobEnd::Prepare(Err(sentences)) => run.failed(sentences),
            JobEnd::Run(Err(sentences)) => {
                let mut actions = run.failed(sentences);
                if !run.has_begun() {
                    actions.extend(run.remove_prepared());
                }
                actions
            }
            JobEnd::Settle(settled) => {
                run.state = AgentState::Finished;
                run.settled = true;
                run.sentences = settled.err().unwrap_or_default();
                Vec::new()
            }
            JobEnd::Undo => {
                run.state = if run.sentences.is_empty() { AgentState::Undone } else { AgentState::Failed };
                vec![Action::Log(format!("run {}: removed what was prepared", run.load.run))]
            }
        }
    }

    fn planned(&mut self, planned: Result<Planned, Vec<String>>) -> Vec<Action> {
        let Some(run) = &mut self.run else { return Vec::new() };
        let reply = run.plan_reply.take();
        match planned {
            Ok(planned) if !run.ending => {
                run.state = AgentState::Planned;
                run.planned = Some(planned.clone());
                answered(reply, AnswerBody::Planned { facts: planned.facts, text: planned.text })
            }
            planned => {
                let sentences = planned.err().unwrap_or_default();
                let mut actions = run.failed(sentences);
                actions.extend(refused(reply, run.sentences.clone()));
                actions
            }
        }
    }

    /// Checks timeouts.
    pub(crate) fn tick(&mut self, now_ns: u64) -> Vec<Action> {
        let Some(run) = &mut self.run else { return Vec::new() };
        if run.state == AgentState::Waiting && run.gate.as_ref().is_some_and(|gate| gate.has_entered()) {
            run.state = AgentState::Running;
        }
        if now_ns.saturating_sub(run.heard_ns) < self.silence.ns() {
            return Vec::new();
        }
        if !run.busy && run.state != AgentState::Prepared {
            let log = Action::Log(format!(
                "run {}: no word from its controller for {}: released",
                run.load.run, self.silence
            ));
            self.release();
            return vec![log];
        }
        if run.ending || run.state == AgentState::Settling {
            return Vec::new();
        }
        let log = Action::Log(format!("run {}: no word from its controller for {}: ended", run.load.run, self.silence));
        std::iter::once(log).chain(run.end(Some(format!("no word from the controller for {}", self.silence)))).collect()
    }

    /// Ends the agent: the load is stopped as if its controller had ordered it.
    pub(crate) fn shut_down(&mut self) -> Vec<Action> {
        self.run.as_mut().map(|run| run.end(Some("the agent was stopped".into()))).unwrap_or_default()
    }
}

impl Run {
    /// No further job begins; the current one is stopped; prepared files are removed, unless the load has begun.
    fn end(&mut self, reason: Option<String>) -> Vec<Action> {
        let over = [AgentState::Finished, AgentState::Settling, AgentState::Failed, AgentState::Undone];
        if self.ending || over.contains(&self.state) {
            return Vec::new();
        }
        self.ending = true;
        if self.state == AgentState::Undoing {
            return Vec::new(); // ends by itself
        }
        if let Some(gate) = &self.gate {
            gate.cancel();
        }
        self.sentences.extend(reason);
        if self.busy {
            if self.state != AgentState::Planning {
                self.state = AgentState::Stopping;
            }
            return vec![Action::StopJob];
        }
        if self.state == AgentState::Prepared {
            return self.remove_prepared();
        }
        self.state = if self.sentences.is_empty() { AgentState::Undone } else { AgentState::Failed };
        Vec::new()
    }

    fn remove_prepared(&mut self) -> Vec<Action> {
        let Some(prepared) = self.prepared.take() else { return Vec::new() };
        self.state = AgentState::Undoing;
        self.busy = true;
        vec![Action::Begin(Job::Undo(prepared))]
    }

    /// True if the load was started.
    fn has_begun(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.has_entered())
    }

    /// Handles a job that ended without success. One that was stopped before the load began needs no reason.
    fn failed(&mut self, sentences: Vec<String>) -> Vec<Action> {
        self.sentences.extend(sentences);
        self.sentences = bounded(std::mem::take(&mut self.sentences));
        if self.sentences.is_empty() && (self.has_begun() || !self.ending) {
            let is_not_started = self.gate.is_some() && !self.has_begun();
            let reason = if is_not_started { "the load was not started" } else { "it failed and gave no reason" };
            self.sentences.push(reason.into());
        }
        if self.sentences.is_empty() {
            self.state = AgentState::Undone;
            return vec![Action::Log(format!("run {}: stopped before its start", self.load.run))];
        }
        self.state = AgentState::Failed;
        vec![Action::Log(format!("run {}: {}", self.load.run, self.sentences.join("; ")))]
    }
}

/// True for the states in which a run blocks other runs.
fn holds(state: AgentState) -> bool {
    !matches!(state, AgentState::Idle | AgentState::Finished | AgentState::Failed | AgentState::Undone)
}

fn parsed<T: DeserializeOwned>(body: &serde_json::Value) -> Result<T, String> {
    T::deserialize(body).map_err(|error| format!("the order cannot be read: {error}"))
}

fn answered(reply: Option<ReplyTo>, body: AnswerBody) -> Vec<Action> {
    reply.map(|to| Action::Answer(to, body)).into_iter().collect()
}

fn refused(reply: Option<ReplyTo>, sentences: Vec<String>) -> Vec<Action> {
    answered(reply, AnswerBody::Refused(bounded(sentences)))
}
