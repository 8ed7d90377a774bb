//! What agents and controllers say to each other: JSON, one message a document.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the protocol.
pub(crate) const SCHEMA: u32 = 1;
/// Sentences of one host that are kept at most, and characters of each.
const MAX_SENTENCES: usize = 32;
const MAX_SENTENCE: usize = 400;

/// What an agent does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It looks whether another agent has its name.
    #[default]
    Starting,
    /// Nothing.
    Idle,
    /// It plans a load.
    Planning,
    /// It planned a load, or refused it.
    Planned,
    /// It creates what the load needs.
    Preparing,
    /// All that the load needs is there.
    Prepared,
    /// It waits for the start of the load.
    Waiting,
    /// The load runs.
    Running,
    /// It ends the load.
    Stopping,
    /// The load has ended; its result is here.
    Finished,
    /// The load has ended on all hosts; it closes what they used together.
    Settling,
    /// Planning, preparing or the load failed.
    Failed,
    /// It removes what it prepared.
    Undoing,
    /// It removed what it prepared, or there was nothing.
    Undone,
}

impl AgentState {
    /// As it is shown.
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
    /// The public key of who asks: the answer says whether it is trusted.
    pub(crate) key: Option<String>,
    /// The instance of an agent that asks whether another one has its name.
    pub(crate) instance: Option<String>,
}

/// What an agent tells everyone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HelloAnswer {
    pub(crate) schema: u32,
    pub(crate) name: String,
    pub(crate) instance: String,
    pub(crate) version: String,
    pub(crate) state: AgentState,
    /// The run that it carries out.
    pub(crate) run: Option<String>,
    /// True if it trusts the key that was asked for.
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
    /// The run and sequence number of the order that is answered: an answer to an earlier order is not taken for it.
    pub(crate) run: String,
    pub(crate) sequence: u64,
    /// For the next order that needs one.
    pub(crate) challenge: Option<String>,
    pub(crate) body: AnswerBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerBody {
    /// Taken; heartbeats say how it goes.
    Taken,
    /// The run is forgotten; nothing is left of it but a result.
    Released,
    /// Not done, and why.
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

/// A part of a result, or of a result that is kept.
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

/// A result that an agent keeps because nobody fetched it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The run that it is of.
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
    /// By the agent's monotonic clock.
    pub(crate) start_at_ns: u64,
}

/// The body of the controller's `heartbeat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeartbeatBody {
    /// All agents have confirmed their start.
    #[serde(default)]
    pub(crate) go: bool,
    /// End the load: said again and again, because one message may be lost.
    #[serde(default)]
    pub(crate) stop: bool,
    /// [`AgentHeartbeat::sent_ns`] of the last heartbeat that the controller heard of this agent.
    #[serde(default)]
    pub(crate) heard_ns: u64,
}

/// The body of `result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultBody {
    pub(crate) offset: u64,
    /// It was received whole: the agent may remove it.
    #[serde(default)]
    pub(crate) received: bool,
}

/// The body of `collect`: nothing of a run lists what is kept.
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

/// What an agent says of its run each 250 ms; not signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentHeartbeat {
    pub(crate) instance: String,
    pub(crate) state: AgentState,
    /// When it was sent, by the agent's monotonic clock. The controller's heartbeats say it back, so that one that was held back
    /// on its way does not pass for a sign of life.
    #[serde(default)]
    pub(crate) sent_ns: u64,
    /// It will start at the time of the order: the order and the go are there.
    #[serde(default)]
    pub(crate) armed: bool,
    /// The load has begun.
    #[serde(default)]
    pub(crate) entered: bool,
    /// It closed what the hosts used together, or the sentences say why it cannot.
    #[serde(default)]
    pub(crate) settled: bool,
    /// Since the load began.
    #[serde(default)]
    pub(crate) ios: u64,
    #[serde(default)]
    pub(crate) bytes: u64,
    /// What the program shows of the load, if that is new.
    #[serde(default)]
    pub(crate) live: Option<Value>,
    /// Why it failed or refused.
    #[serde(default)]
    pub(crate) sentences: Vec<String>,
}

/// At most 32 sentences of at most 400 characters, without control characters: what a machine far away says is not
/// repeated without end.
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
