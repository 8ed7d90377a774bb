//! Signed orders: how a controller makes them and how an agent checks them.
//!
//! [`Gatekeeper`] decides alone, from bytes and times, whether an agent executes an order. Of a message whose signature
//! is not that of a trusted key only the envelope is parsed, never the order in it.

use crate::FleetError;
use crate::key::{PublicKey, SigningKey, Trusted};
use crate::message::SCHEMA;
use crate::name;
use crate::store::sha256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt;

/// Validity of an order after it was signed, in milliseconds.
pub const VALIDITY_MS: u64 = 30_000;
/// Maximum difference of the wall clocks of controller and agent, in milliseconds.
pub const CLOCKS_DIFFER_MS: u64 = 30_000;
/// Validity of a challenge, in nanoseconds.
const CHALLENGE_VALID_NS: u64 = 60_000_000_000;
/// The maximum number of challenges that are remembered, each of those for anyone and of those for controllers with a
/// trusted key.
const MAX_CHALLENGES: usize = 64;
/// All hellos within this time receive the same challenge, so that endless hellos displace no valid one.
const SHARED_NS: u64 = 1_000_000_000;
/// The maximum number of orders for one shared challenge.
const MAX_USES: usize = 64;
/// Runs that are remembered after their end. No order can be delayed for the time that this number of runs takes.
const MAX_ENDED: usize = 256;
/// The maximum sizes in bytes of a message with a profile, and of any other.
const MAX_PLAN_BYTES: usize = 1 << 20;
const MAX_ORDER_BYTES: usize = 16 << 10;

/// Kind of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Plan a load without touching any file.
    Plan,
    /// Create and fill the files of the load.
    Prepare,
    /// Start at a time, if a heartbeat confirms it.
    Start,
    /// List or fetch kept results.
    Collect,
    /// Remove prepared files, release the run.
    Undo,
    /// Return the time.
    Clock,
    /// Sign of life of the controller.
    Heartbeat,
    /// End the load now.
    Stop,
    /// Return a part of the result.
    Result,
    /// Close the shared files.
    Settle,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Plan,
        Self::Prepare,
        Self::Start,
        Self::Collect,
        Self::Undo,
        Self::Clock,
        Self::Heartbeat,
        Self::Stop,
        Self::Result,
        Self::Settle,
    ];

    /// The last part of the subject.
    pub fn text(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Prepare => "prepare",
            Self::Start => "start",
            Self::Collect => "collect",
            Self::Undo => "undo",
            Self::Clock => "clock",
            Self::Heartbeat => "heartbeat",
            Self::Stop => "stop",
            Self::Result => "result",
            Self::Settle => "settle",
        }
    }

    /// The verb of a subject's last part.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.text() == text)
    }

    /// True if it needs a challenge, because it begins something.
    pub fn needs_challenge(self) -> bool {
        matches!(self, Self::Plan | Self::Prepare | Self::Start | Self::Collect)
    }

    /// True if it is accepted with a challenge or as an order of the current run: `stop`, also from another controller.
    fn takes_either(self) -> bool {
        self == Self::Stop
    }

    fn max_bytes(self) -> usize {
        if self == Self::Plan { MAX_PLAN_BYTES } else { MAX_ORDER_BYTES }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// An order: its JSON is the text that is signed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The version of the protocol.
    pub schema: u32,
    /// Its verb; must be that of the subject.
    pub verb: Verb,
    /// The run that it belongs to: 32 hexadecimal digits.
    pub run: String,
    /// The agent that it is for.
    pub agent: String,
    /// The instance of the agent from its answer to `hello`; new each time that an agent starts.
    pub instance: String,
    /// A challenge of this agent, for the verbs that begin something.
    pub challenge: Option<String>,
    /// Its expiry, in milliseconds since 1970.
    pub expires_at_unix_ms: u64,
    /// Increases within the run.
    pub sequence: u64,
    /// The subject of the answer. Signed with all else: the answer goes nowhere else, even if another client replays
    /// the order faster.
    pub reply: Option<String>,
    /// Parameters of the verb.
    pub body: Value,
}

/// The signed message: the order as text, key and signature.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    order: String,
    key: String,
    signature: String,
}

impl Order {
    /// The encoded, signed message.
    pub fn signed(&self, key: &SigningKey) -> Result<Vec<u8>, FleetError> {
        let order = serde_json::to_string(self)
            .map_err(|error| FleetError::failed(format!("cannot write an order: {error}")))?;
        signed_text(order, key)
    }
}

/// The encoded, signed message for the text of an order.
///
/// # Errors
///
/// If the key does not sign.
pub fn signed_text(order: String, key: &SigningKey) -> Result<Vec<u8>, FleetError> {
    let signature = BASE64.encode(key.sign(&order)?);
    let envelope = Envelope { order, key: key.public().to_string(), signature };
    serde_json::to_vec(&envelope).map_err(|error| FleetError::failed(format!("cannot write an order: {error}")))
}

/// The reason why an order is rejected. None of these is answered: a sender without a key learns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// More bytes than a message of its kind may have.
    TooLarge,
    /// Not the JSON of an envelope.
    NotAnOrder,
    /// Signed with a key that is not trusted.
    UnknownKey,
    /// Not signed with the key that it states.
    WrongSignature,
    /// Signed, but not the JSON of an order.
    Malformed,
    /// Of another version of the protocol.
    WrongSchema,
    /// The verb of the order is not that of the subject.
    OtherVerb,
    /// For another agent.
    OtherAgent,
    /// For an earlier agent of this name.
    OtherInstance,
    /// It has expired.
    Expired,
    /// Its expiry is too far ahead: the clocks differ.
    ClockDiffers,
    /// Without a challenge, or with one that is unknown, was used, or has expired.
    Challenge,
    /// Of a run that is unknown to this agent, or that another key began.
    UnknownRun,
    /// Its sequence number is not above the last one: delayed or replayed.
    Sequence,
}

impl Rejection {
    /// The reason for the log.
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "it is too large",
            Self::NotAnOrder => "it is not a signed order",
            Self::UnknownKey => "its key is not trusted",
            Self::WrongSignature => "its signature is wrong",
            Self::Malformed => "its signed text is not an order",
            Self::WrongSchema => "it is of another version of the protocol",
            Self::OtherVerb => "it was sent to the subject of another order",
            Self::OtherAgent => "it is for another agent",
            Self::OtherInstance => "it is for an agent that ran here before",
            Self::Expired => "it has expired, or the clocks of the two machines differ by more than 30 s",
            Self::ClockDiffers => "it expires too late: the clocks of the two machines differ by more than 30 s",
            Self::Challenge => "its challenge is missing, unknown, used or expired",
            Self::UnknownRun => "it is for a run that this agent does not carry out",
            Self::Sequence => "its sequence number was used",
        }
    }
}

/// The time, by two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
    /// The wall clock, in milliseconds since 1970.
    pub unix_ms: u64,
}

/// An order that passed all checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// The order.
    pub order: Order,
    /// The key that signed it.
    pub key: PublicKey,
    /// True if it was accepted as an order of the current run, false if by a challenge.
    pub of_run: bool,
}

/// A challenge that is not used up.
#[derive(Clone, Debug)]
struct Challenge {
    text: String,
    given_ns: u64,
    /// Hashes of the orders that came with it, if it is shared: each of them is accepted once.
    used: Vec<String>,
}

/// The run whose orders are accepted without a challenge.
#[derive(Clone, Debug)]
struct KnownRun {
    id: String,
    key: PublicKey,
    last_sequence: u64,
}

/// Decides which messages are orders for this agent.
#[derive(Debug)]
pub struct Gatekeeper {
    agent: String,
    instance: String,
    trusted: Trusted,
    /// Given to anyone in an answer to hello.
    given_to_anyone: VecDeque<Challenge>,
    /// Given in answers to signed orders; kept apart, so that endless hellos do not displace them.
    given_to_trusted: VecDeque<Challenge>,
    run: Option<KnownRun>,
    /// Runs that have ended: none of their orders is accepted any more, not even a delayed one.
    ended: VecDeque<String>,
}

impl Gatekeeper {
    /// A gatekeeper for an agent with this name, in this instance.
    pub fn new(agent: &str, instance: &str, trusted: Trusted) -> Self {
        Self {
            agent: agent.to_owned(),
            instance: instance.to_owned(),
            trusted,
            given_to_anyone: VecDeque::new(),
            given_to_trusted: VecDeque::new(),
            run: None,
            ended: VecDeque::new(),
        }
    }

    /// True if orders of this key are accepted.
    pub fn trusts(&self, key: &str) -> bool {
        self.trusted.find(key).is_some()
    }

    /// The current shared challenge, if there is one: it serves all hellos within a second.
    pub fn shared_challenge(&self, now: Now) -> Option<String> {
        let last = self.given_to_anyone.back()?;
        let is_new = now.monotonic_ns.saturating_sub(last.given_ns) < SHARED_NS && last.used.len() < MAX_USES;
        is_new.then(|| last.text.clone())
    }

    /// Stores a fresh random text as a challenge: for anyone, or for the answer to an order.
    pub fn give_challenge(&mut self, text: String, to_trusted: bool, now: Now) {
        let given = if to_trusted { &mut self.given_to_trusted } else { &mut self.given_to_anyone };
        while given.len() >= MAX_CHALLENGES {
            given.pop_front();
        }
        given.push_back(Challenge { text, given_ns: now.monotonic_ns, used: Vec::new() });
    }

    /// From now on, orders of this run and key need no challenge but a sequence number above the last one.
    pub fn begin_run(&mut self, admitted: &Admitted) {
        let Admitted { order, key, .. } = admitted;
        if self.run.as_ref().is_none_or(|run| run.id != order.run || run.key != *key) {
            self.end_run();
            self.run = Some(KnownRun { id: order.run.clone(), key: key.clone(), last_sequence: order.sequence });
        }
    }

    /// Orders of the run are no longer accepted.
    pub fn end_run(&mut self) {
        let Some(ended) = self.run.take() else { return };
        while self.ended.len() >= MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(ended.id);
    }

    /// Checks a message to the subject of this verb and returns its order, or why it is rejected.
    ///
    /// Each order is admitted once: the challenge or the sequence number is used up.
    pub fn admit(&mut self, message: &[u8], verb: Verb, now: Now) -> Result<Admitted, Rejection> {
        if message.len() > verb.max_bytes() {
            return Err(Rejection::TooLarge);
        }
        let envelope: Envelope = serde_json::from_slice(message).map_err(|_| Rejection::NotAnOrder)?;
        let key = self.trusted.find(&envelope.key).ok_or(Rejection::UnknownKey)?.clone();
        let signature = BASE64.decode(&envelope.signature).map_err(|_| Rejection::WrongSignature)?;
        if !key.verifies(&envelope.order, &signature) {
            return Err(Rejection::WrongSignature);
        }
        let order: Order = serde_json::from_str(&envelope.order).map_err(|_| Rejection::Malformed)?;
        self.check_address(&order, verb)?;
        let ahead_ms = order.expires_at_unix_ms.checked_sub(now.unix_ms).filter(|&ahead| ahead > 0);
        match ahead_ms {
            None => return Err(Rejection::Expired),
            Some(ahead) if ahead > VALIDITY_MS + CLOCKS_DIFFER_MS => return Err(Rejection::ClockDiffers),
            Some(_) => {}
        }
        let of_run = self.use_up(&order, &envelope.order, &key, now)?;
        Ok(Admitted { order, key, of_run })
    }

    fn check_address(&self, order: &Order, verb: Verb) -> Result<(), Rejection> {
        if order.schema != SCHEMA {
            return Err(Rejection::WrongSchema);
        }
        if order.verb != verb {
            return Err(Rejection::OtherVerb);
        }
        if order.agent != self.agent {
            return Err(Rejection::OtherAgent);
        }
        if order.instance != self.instance {
            return Err(Rejection::OtherInstance);
        }
        if !name::is_id(&order.run) {
            return Err(Rejection::Malformed);
        }
        Ok(())
    }

    /// Uses the challenge or the sequence number; true if it was the latter.
    fn use_up(&mut self, order: &Order, text: &str, key: &PublicKey, now: Now) -> Result<bool, Rejection> {
        let by_challenge = order.verb.needs_challenge() || (order.verb.takes_either() && order.challenge.is_some());
        let known = self.run.as_mut().filter(|run| run.id == order.run && run.key == *key);
        if let Some(run) = &known
            && order.sequence <= run.last_sequence
        {
            return Err(Rejection::Sequence);
        }
        if known.is_none() && (!by_challenge || self.ended.contains(&order.run)) {
            return Err(Rejection::UnknownRun);
        }
        if by_challenge {
            let challenge = order.challenge.as_deref().ok_or(Rejection::Challenge)?;
            let given_ns = match take(&mut self.given_to_trusted, challenge) {
                Some(used) => used.given_ns,
                None => use_shared(&mut self.given_to_anyone, challenge, text).ok_or(Rejection::Challenge)?,
            };
            if now.monotonic_ns.saturating_sub(given_ns) > CHALLENGE_VALID_NS {
                return Err(Rejection::Challenge);
            }
        }
        if let Some(run) = known {
            run.last_sequence = order.sequence;
        }
        Ok(!by_challenge)
    }
}

/// Uses a shared challenge for an order with this text: the time when it was given. `None` = it is unknown, or the
/// order came with it before.
fn use_shared(given: &mut VecDeque<Challenge>, text: &str, order: &str) -> Option<u64> {
    let challenge = given.iter_mut().find(|challenge| challenge.text == text)?;
    let hash = sha256(order.as_bytes());
    if challenge.used.len() >= MAX_USES || challenge.used.contains(&hash) {
        return None;
    }
    challenge.used.push(hash);
    Some(challenge.given_ns)
}

fn take(given: &mut VecDeque<Challenge>, text: &str) -> Option<Challenge> {
    let index = given.iter().position(|challenge| challenge.text == text)?;
    given.remove(index)
}

#[cfg(test)]
mod tests;
