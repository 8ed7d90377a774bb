//! One agent as the controller's peer: signs orders, sends them, receives the answers.

use crate::clock::{EXCHANGES, Exchange, unix_ms};
use crate::key::SigningKey;
use crate::load::Finished;
use crate::message::{Answer, AnswerBody, HeartbeatBody, Hello, HelloAnswer, ResultBody, SCHEMA, bounded};
use crate::name;
use crate::order::{Order, VALIDITY_MS, Verb};
use crate::store;
use async_nats::client::{RequestError, RequestErrorKind};
use async_nats::{Client, Message, Request};
use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use sys::clock::monotonic_ns;

/// Timeout of an answer, and the maximum number of attempts of an order.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
const ATTEMPTS: usize = 3;
/// The maximum number of attempts while the agent reports that it works on it.
const ATTEMPTS_WHILE_HEARD: usize = 24;
const CLOCK_WAIT: Duration = Duration::from_secs(1);
/// Time limit for all exchanges of a group.
const CLOCK_TOTAL: Duration = Duration::from_secs(10);
/// The minimum size of a part of a result in bytes, but for the last one: no agent makes smaller ones even of a server
/// with messages of 1 KiB.
const MIN_PART_BYTES: usize = 128;
/// An agent with a heartbeat within this time is alive.
const HEARD_NS: u64 = 3_000_000_000;

/// An agent.
pub(super) struct Peer {
    client: Client,
    key: SigningKey,
    run: String,
    pub(super) name: String,
    pub(super) instance: String,
    sequence: AtomicU64,
    /// Challenge for the next order that needs one.
    challenge: Mutex<Option<String>>,
    heard_ns: AtomicU64,
    /// The last order was larger than a message may be.
    too_large: AtomicBool,
}

impl Peer {
    pub(super) fn new(
        client: Client,
        key: SigningKey,
        run: &str,
        name: String,
        instance: String,
        challenge: String,
    ) -> Self {
        Self {
            client,
            key,
            run: run.to_owned(),
            name,
            instance,
            sequence: AtomicU64::new(0),
            challenge: Mutex::new(Some(challenge)),
            heard_ns: AtomicU64::new(0),
            too_large: AtomicBool::new(false),
        }
    }

    /// Notes a sign of life of the agent.
    pub(super) fn heard(&self) {
        self.heard_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// True if an order was not sent because it is too large.
    pub(super) fn cannot_be_sent(&self) -> bool {
        self.too_large.load(Ordering::Relaxed)
    }

    /// Signs an order that is answered on this subject; returns its sequence number and bytes.
    fn signed(
        &self,
        verb: Verb,
        body: &Value,
        challenge: Option<String>,
        reply: Option<String>,
    ) -> Result<(u64, Vec<u8>), String> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let order = Order {
            schema: SCHEMA,
            verb,
            run: self.run.clone(),
            agent: self.name.clone(),
            instance: self.instance.clone(),
            challenge,
            expires_at_unix_ms: unix_ms() + VALIDITY_MS,
            sequence,
            reply,
            body: body.clone(),
        };
        order.signed(&self.key).map(|bytes| (sequence, bytes)).map_err(|error| error.to_string())
    }

    /// Sends an order until it is answered, at most three times, or while the agent reports that it works on it.
    pub(super) async fn order(&self, verb: Verb, body: &Value, with_challenge: bool) -> Result<AnswerBody, String> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let challenge = if verb.needs_challenge() || with_challenge { self.challenge().await } else { None };
            let missing = challenge.is_none() && (verb.needs_challenge() || with_challenge);
            if !missing && let Some(answer) = self.send(verb, body, challenge).await? {
                return Ok(answer);
            }
            let heard = monotonic_ns().saturating_sub(self.heard_ns.load(Ordering::Relaxed)) < HEARD_NS;
            if attempt >= if heard && verb == Verb::Plan { ATTEMPTS_WHILE_HEARD } else { ATTEMPTS } {
                return Err("no answer (see the messages of the agent)".into());
            }
        }
    }

    /// Sends an order once; `None` = no answer.
    async fn send(&self, verb: Verb, body: &Value, challenge: Option<String>) -> Result<Option<AnswerBody>, String> {
        let inbox = self.client.new_inbox();
        let (sequence, bytes) = self.signed(verb, body, challenge, Some(inbox.clone()))?;
        let asked = tokio::time::timeout(ANSWER_WAIT, self.ask(verb, inbox, bytes)).await;
        match asked {
            Ok(Ok(message)) => Ok(self.answer(&message.payload, sequence)),
            Ok(Err(error)) if error.kind() == RequestErrorKind::MaxPayloadExceeded => {
                self.too_large.store(true, Ordering::Relaxed);
                Err(format!("the load is larger than the server takes ({error})"))
            }
            Ok(Err(_)) => {
                tokio::time::sleep(Duration::from_millis(500)).await; // nobody has subscribed, or the connection is lost
                Ok(None)
            }
            Err(_) => Ok(None),
        }
    }

    /// Sends an order, and waits for a message to `inbox`.
    async fn ask(&self, verb: Verb, inbox: String, bytes: Vec<u8>) -> Result<Message, RequestError> {
        let request = Request::new().inbox(inbox).payload(bytes.into());
        self.client.send_request(name::order_subject(&self.name, verb.text()), request).await
    }

    /// The answer to the order with this sequence number.
    fn answer(&self, message: &[u8], sequence: u64) -> Option<AnswerBody> {
        let answer: Answer = serde_json::from_slice(message).ok()?;
        if answer.schema != SCHEMA || answer.run != self.run || answer.sequence != sequence {
            return None;
        }
        if let Some(challenge) = answer.challenge.filter(|challenge| name::is_id(challenge)) {
            *self.challenge.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(challenge);
        }
        Some(match answer.body {
            AnswerBody::Refused(sentences) => AnswerBody::Refused(bounded(sentences)),
            body => body,
        })
    }

    /// A challenge of this agent: the one of its last answer, or a new one.
    async fn challenge(&self) -> Option<String> {
        let kept = self.challenge.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if kept.is_some() {
            return kept;
        }
        let hello = serde_json::to_vec(&Hello::default()).unwrap_or_default();
        let asked = self.client.request(name::hello_subject(&self.name), hello.into());
        let message = tokio::time::timeout(ANSWER_WAIT, asked).await.ok()?;
        let Ok(message) = message else {
            tokio::time::sleep(Duration::from_millis(500)).await;
            return None;
        };
        let answer: HelloAnswer = serde_json::from_slice(&message.payload).ok()?;
        (answer.instance == self.instance).then_some(answer.challenge).filter(|challenge| name::is_id(challenge))
    }

    /// Sends a heartbeat without waiting.
    pub(super) async fn beat(&self, body: HeartbeatBody) {
        // Not while the connection is lost: queued messages would arrive late and out of date.
        if self.client.connection_state() != async_nats::connection::State::Connected {
            return;
        }
        let body = serde_json::to_value(body).unwrap_or_default();
        if let Ok((_, bytes)) = self.signed(Verb::Heartbeat, &body, None, None) {
            let subject = name::order_subject(&self.name, Verb::Heartbeat.text());
            let _ = self.client.publish(subject, bytes.into()).await;
        }
    }

    /// Measures the clock by a group of exchanges.
    pub(super) async fn exchanges(&self) -> Vec<Exchange> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        let ask = async {
            for _ in 0..EXCHANGES {
                if let Some(exchange) = self.exchange().await {
                    self.heard();
                    exchanges.push(exchange);
                }
            }
        };
        let _ = tokio::time::timeout(CLOCK_TOTAL, ask).await;
        exchanges
    }

    async fn exchange(&self) -> Option<Exchange> {
        let inbox = self.client.new_inbox();
        let (sequence, bytes) = self.signed(Verb::Clock, &Value::Null, None, Some(inbox.clone())).ok()?;
        let sent_ns = monotonic_ns();
        let asked = tokio::time::timeout(CLOCK_WAIT, self.ask(Verb::Clock, inbox, bytes)).await;
        let received_ns = monotonic_ns();
        match self.answer(&asked.ok()?.ok()?.payload, sequence)? {
            AnswerBody::Clock { received_ns: agent_received_ns, sent_ns: agent_sent_ns } => {
                Some(Exchange { sent_ns, agent_received_ns, agent_sent_ns, received_ns })
            }
            _ => None,
        }
    }
}

/// Fetches the result of the current run, and acknowledges it to the agent.
pub(super) async fn fetch_of_run(peer: &Peer) -> Result<Finished, String> {
    let body = |offset, received| serde_json::to_value(ResultBody { offset, received }).unwrap_or_default();
    let finished = fetch(peer, |offset| (Verb::Result, body(offset, false))).await?;
    let _ = peer.order(Verb::Result, &body(0, true), false).await; // the agent removes its copy later, if this is lost
    Ok(finished)
}

/// Fetches a result in parts, each with the order that `part` returns for its offset.
pub(super) async fn fetch(peer: &Peer, part: impl Fn(u64) -> (Verb, Value)) -> Result<Finished, String> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut expected: Option<(u64, String)> = None;
    loop {
        let (verb, body) = part(bytes.len() as u64);
        let received = match peer.order(verb, &body, false).await? {
            AnswerBody::Part(received) => received,
            AnswerBody::Refused(sentences) => return Err(sentences.join("; ")),
            _ => return Err("it answered with something else than a part of the result".into()),
        };
        let (total, sha256) = expected.get_or_insert_with(|| (received.total, received.sha256.clone()));
        if *total > store::MAX_COMPRESSED {
            return Err(store::too_large());
        }
        let more = store::decoded(&received)?;
        let fits = received.offset == bytes.len() as u64 && received.total == *total && received.sha256 == *sha256;
        if !fits || (more.is_empty() && *total > 0) || (bytes.len() + more.len()) as u64 > *total {
            return Err("a part of its result does not belong to the others".into());
        }
        if more.len() < MIN_PART_BYTES && ((bytes.len() + more.len()) as u64) < *total {
            return Err("it sends its result in parts that are too small".into());
        }
        bytes.extend(more);
        if bytes.len() as u64 == *total {
            if store::sha256(&bytes) != *sha256 {
                return Err("its result does not have the hash that the agent gave".into());
            }
            let unpacked = tokio::task::spawn_blocking(move || store::unpacked(&bytes)).await;
            return unpacked.unwrap_or_else(|_| Err("its result cannot be unpacked".into()));
        }
    }
}
