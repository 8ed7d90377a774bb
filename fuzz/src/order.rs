//! Messages to an agent.

use fleet::order::{Admitted, Gatekeeper, Now, Order, Verb, signed_text};
use fleet::{SigningKey, Trusted};

/// Signs the examples of the corpus, and is trusted nowhere else.
const SEED: &str = "SUAHCFW2CNBOSDL65PJQRPYAA6MI2J74655GEDTIEVHOFGKFK4J64H5HLU";
const AGENT: &str = "h1";
const INSTANCE: &str = "ffffffffffffffffffffffffffffffff";
const RUN: &str = "00112233445566778899aabbccddeeff";
const CHALLENGE: &str = "0123456789abcdef0123456789abcdef";
/// The last sequence number of the run that goes on.
const LAST: u64 = 5;
const NOW: Now = Now { monotonic_ns: 1_000_000_000_000, unix_ms: 1_800_000_000_000 };

/// Bytes from the network: as they are, and as the text of an order that a trusted key signed.
///
/// Only what is meant for this agent, now, and for the first time is admitted, and nothing else changes what is admitted
/// later.
pub fn order(bytes: &[u8]) {
    let key = SigningKey::parse(SEED).expect("a key");
    for verb in Verb::ALL {
        let example = Some(signed_example()).filter(|order| is_admissible(order, verb));
        tried(&key, bytes, verb, example.as_ref());
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    let stated: Option<Order> = serde_json::from_str(&text).ok();
    let message = signed_text(text, &key).expect("the key signs");
    let verbs = [stated.as_ref().map_or(Verb::Plan, |order| order.verb), Verb::Heartbeat];
    for verb in verbs {
        let fits = message.len() <= if verb == Verb::Plan { 1 << 20 } else { 16 << 10 };
        let admissible = stated.as_ref().filter(|order| fits && is_admissible(order, verb));
        assert_eq!(tried(&key, &message, verb, admissible), admissible.is_some(), "{verb}: {stated:?}");
    }
}

/// True if an agent admits the message, and then no other order than this.
fn tried(key: &SigningKey, message: &[u8], verb: Verb, admissible: Option<&Order>) -> bool {
    let mut keeper = keeper(key);
    let admitted = keeper.admit(message, verb, NOW);
    if let Ok(admitted) = &admitted {
        assert_eq!((Some(&admitted.order), &admitted.key), (admissible, key.public()));
        assert!(keeper.admit(message, verb, NOW).is_err(), "an order is admitted once");
    } else {
        let by_challenge = Order { challenge: Some(CHALLENGE.to_owned()), ..of_run(Verb::Collect, LAST + 2) };
        for next in [of_run(Verb::Heartbeat, LAST + 1), by_challenge] {
            let message = next.signed(key).expect("the key signs");
            assert!(keeper.admit(&message, next.verb, NOW).is_ok(), "a refused message changed what is admitted");
        }
    }
    admitted.is_ok()
}

/// An agent that gave a challenge and carries out a run.
fn keeper(key: &SigningKey) -> Gatekeeper {
    let mut keeper = Gatekeeper::new(AGENT, INSTANCE, Trusted::new(vec![key.public().clone()]));
    let begun = Admitted { order: of_run(Verb::Plan, LAST), key: key.public().clone(), of_run: false };
    keeper.begin_run(&begun);
    keeper.give_challenge(CHALLENGE.to_owned(), false, NOW);
    keeper
}

/// An order of the run that goes on.
fn of_run(verb: Verb, sequence: u64) -> Order {
    Order {
        schema: 1,
        verb,
        run: RUN.to_owned(),
        agent: AGENT.to_owned(),
        instance: INSTANCE.to_owned(),
        challenge: None,
        expires_at_unix_ms: NOW.unix_ms + 30_000,
        sequence,
        reply: None,
        body: serde_json::json!({ "go": true }),
    }
}

/// The order in `corpus/order/signed`, the one message of the corpus with a signature.
fn signed_example() -> Order {
    of_run(Verb::Heartbeat, LAST + 1)
}

/// True for an order that is admitted if a trusted key signed it: the rules of decision 0019.
fn is_admissible(order: &Order, verb: Verb) -> bool {
    let is_id = order.run.len() == 32 && order.run.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
    let is_for_us =
        order.schema == 1 && order.agent == AGENT && order.instance == INSTANCE && order.verb == verb && is_id;
    let ends_soon = (NOW.unix_ms + 1..=NOW.unix_ms + 60_000).contains(&order.expires_at_unix_ms);
    let begins = matches!(verb, Verb::Plan | Verb::Prepare | Verb::Start | Verb::Collect);
    let is_new = match &order.challenge {
        Some(challenge) if begins || verb == Verb::Stop => {
            challenge == CHALLENGE && (order.run != RUN || order.sequence > LAST)
        }
        _ => !begins && order.run == RUN && order.sequence > LAST,
    };
    is_for_us && ends_soon && is_new
}
