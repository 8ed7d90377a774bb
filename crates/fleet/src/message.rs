//! Messages between agents and controllers: JSON, one message a document.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the protocol.
pub(crate) const SCHEMA: u32 = 1;
/// The maximum number of sentences kept of one host, and of characters of each.
const MAX_SENTENCES: usize = 32;
const MAX_SENTENCE: usize = 400;

/// State of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Looking for another agent with its name.
    #[default]
    Starting,
    /// No run.
    Idle,
    /// Planning a load.
    Planning,
    /// Planned a load, or refused it.
    Planned,
    /// Preparing the files of the load.
    Preparing,
    /// The preparation is complete.
    Prepared,
    /// Waiting for the start of the load.
    Waiting,
    /// The load runs.
    Running,
    /// Ending the load.
    Stopping,
    /// The load has ended; its result is available.
    Finished,
    /// The load has ended on all hosts; closing the shared files.
    Settling,
    /// Planning, preparing or the load failed.
    Failed,
    /// Removing prepared files.
    Undoing,
    /// Prepared files were removed, or there were none.
    Undone,
}

impl AgentState {
    /// Its text for users.
    pub fn text(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Planning => "planning",
            Self::Planned => "planned",
            Self::Preparing => "preparing",
            Self::Prepared => "prepared",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Finished => "finished",
            Self::Settling => "settling",
            Self::Failed => "failed",
            Self::Undoing => "undoing",
            Self::Undone => "undone",
        }
    }
}

/// Asks for [`HelloAnswer`]; not signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Hello {
    /// The public key of the sender: the answer states whether it is trusted.
    pub(crate) key: Option<String>,
    /// The instance of an agent that looks for another one with its name.
    pub(crate) instance: Option<String>,
}

/// Answer of an agent to a hello.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HelloAnswer {
    pub(crate) schema: u32,
    pub(crate) name: String,
    pub(crate) instance: String,
    pub(crate) version: String,
    pub(crate) state: AgentState,
    /// The run that it executes.
    pub(crate) run: Option<String>,
    /// True if it trusts the key of the hello.
    pub(crate) trusts_key: bool,
    /// Its wall clock.
    pub(crate) unix_ms: u64,
    pub(crate) challenge: String,
    pub(crate) limits: Value,
    /// Of its kernel: agents on one machine have the same. Empty = unknown.
    #[serde(default)]
    pub(crate) boot_id: String,
}

/// The answer to an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) schema: u32,
    /// The run and sequence number of the order: an answer to an earlier order is ignored.
    pub(crate) run: String,
    pub(crate) sequence: u64,
    /// Challenge for the next order that needs one.
    pub(crate) challenge: Option<String>,
    pub(crate) body: AnswerBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerBody {
    /// Accepted; heartbeats report its progress.
    Taken,
    /// The run is released; only its result may remain.
    Released,
    /// Refused, with the reasons.
    Refused(Vec<String>),
    Planned {
        facts: Value,
        text: String,
    },
    Clock {
        received_ns: u64,
        sent_ns: u64,
    },
    Part(Part),
    Kept(Vec<Kept>),
}

/// A part of a result, or of a kept result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) offset: u64,
    /// Bytes of the whole.
    pub(crate) total: u64,
    /// Its SHA-256 as hexadecimal digits.
    pub(crate) sha256: String,
    /// The bytes, as Base64.
    pub(crate) bytes: String,
}

/// A result that an agent keeps because no controller fetched it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its run.
    pub run: String,
    /// Compressed bytes.
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970.
    pub written_unix_ms: u64,
}

/// The body of `plan`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanBody {
    /// The program of controller and agent must be the same.
    pub(crate) version: String,
    pub(crate) host: String,
    pub(crate) index: usize,
    pub(crate) hosts: usize,
    pub(crate) shared: bool,
    pub(crate) profile: Value,
    pub(crate) options: Value,
}

/// The body of `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartBody {
    /// Start time by the agent's monotonic clock.
    pub(crate) start_at_ns: u64,
}

/// The body of the controller's `heartbeat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeartbeatBody {
    /// All agents have confirmed their start.
    #[serde(default)]
    pub(crate) go: bool,
    /// End the load: repeated, because one message may be lost.
    #[serde(default)]
    pub(crate) stop: bool,
    /// [`AgentHeartbeat::sent_ns`] of the last heartbeat that the controller received from this agent.
    #[serde(default)]
    pub(crate) heard_ns: u64,
}

/// The body of `result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultBody {
    pub(crate) offset: u64,
    /// It was received completely: the agent may remove it.
    #[serde(default)]
    pub(crate) received: bool,
}

/// The body of `collect`: without a run it lists the kept results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectBody {
    #[serde(default)]
    pub(crate) kept_run: Option<String>,
    #[serde(default)]
    pub(crate) offset: u64,
    #[serde(default)]
    pub(crate) received: bool,
}

/// State of a run, sent by its agent each 250 ms; not signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentHeartbeat {
    pub(crate) instance: String,
    pub(crate) state: AgentState,
    /// Time at which it was sent, by the agent's monotonic clock. The controller's heartbeats return it, so that a
    /// delayed one does not count as a sign of life.
    #[serde(default)]
    pub(crate) sent_ns: u64,
    /// It will start at the ordered time: the order and its confirmation arrived.
    #[serde(default)]
    pub(crate) armed: bool,
    /// The load has begun.
    #[serde(default)]
    pub(crate) entered: bool,
    /// It closed the shared files, or the sentences state why it cannot.
    #[serde(default)]
    pub(crate) settled: bool,
    /// I/Os since the load began.
    #[serde(default)]
    pub(crate) ios: u64,
    #[serde(default)]
    pub(crate) bytes: u64,
    /// The live document of the load, if it is new.
    #[serde(default)]
    pub(crate) live: Option<Value>,
    /// Reasons of a failure or refusal.
    #[serde(default)]
    pub(crate) sentences: Vec<String>,
}

/// At most 32 sentences of at most 400 characters, without control characters: text of a remote machine is not repeated
/// without a limit.
pub(crate) fn bounded(sentences: Vec<String>) -> Vec<String> {
    let mut all = sentences.into_iter();
    let mut kept: Vec<String> = all.by_ref().take(MAX_SENTENCES).map(|sentence| bounded_text(&sentence)).collect();
    let more = all.count();
    if more > 0 {
        kept.push(format!("and {more} more"));
    }
    kept
}

pub(crate) fn bounded_text(text: &str) -> String {
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let mut kept: String = text.chars().take(MAX_SENTENCE).map(clean).collect();
    if text.chars().nth(MAX_SENTENCE).is_some() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_limited_in_number_and_length() {
        let many: Vec<String> = (0..100).map(|number| format!("{number}\n{}", "x".repeat(1000))).collect();
        let kept = bounded(many);
        assert_eq!(kept.len(), MAX_SENTENCES + 1);
        assert!(kept[0].starts_with("0 x") && kept[0].chars().count() == MAX_SENTENCE + 1, "{}", kept[0]);
        assert_eq!(kept[MAX_SENTENCES], "and 68 more");
        assert_eq!(bounded(vec!["short".into()]), ["short"]);
    }
}
