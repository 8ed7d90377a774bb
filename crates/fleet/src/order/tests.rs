//! Orders that an agent admits, and those that it rejects.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const RUN: &str = "00112233445566778899aabbccddeeff";
const INSTANCE: &str = "ffffffffffffffffffffffffffffffff";
const CHALLENGE: &str = "0123456789abcdef0123456789abcdef";
const NOW: Now = Now { monotonic_ns: 1_000_000_000_000, unix_ms: 1_800_000_000_000 };

fn later(ms: u64) -> Now {
    Now { monotonic_ns: NOW.monotonic_ns + ms * 1_000_000, unix_ms: NOW.unix_ms + ms }
}

struct Gate {
    keeper: Gatekeeper,
    key: SigningKey,
}

impl Gate {
    fn new() -> Self {
        let key = SigningKey::generate().unwrap();
        let mut keeper = Gatekeeper::new("h1", INSTANCE, Trusted::new(vec![key.public().clone()]));
        keeper.give_challenge(CHALLENGE.into(), false, NOW);
        Self { keeper, key }
    }

    fn order(verb: Verb, sequence: u64) -> Order {
        Order {
            schema: SCHEMA,
            verb,
            run: RUN.into(),
            agent: "h1".into(),
            instance: INSTANCE.into(),
            challenge: verb.needs_challenge().then(|| CHALLENGE.into()),
            expires_at_unix_ms: NOW.unix_ms + VALIDITY_MS,
            sequence,
            reply: None,
            body: json!({"x": 1}),
        }
    }

    fn admit(&mut self, order: &Order) -> Result<Admitted, Rejection> {
        let bytes = order.signed(&self.key).unwrap();
        self.keeper.admit(&bytes, order.verb, NOW)
    }

    /// A gate with a current run, whose last sequence number is 1.
    fn in_run() -> Self {
        let mut gate = Self::new();
        let admitted = gate.admit(&Self::order(Verb::Plan, 1)).unwrap();
        gate.keeper.begin_run(&admitted);
        gate
    }
}

#[test]
fn an_order_of_a_trusted_key_is_admitted_once() {
    let mut gate = Gate::new();
    let order = Gate::order(Verb::Plan, 1);
    let bytes = order.signed(&gate.key).unwrap();
    let admitted = gate.keeper.admit(&bytes, Verb::Plan, NOW).unwrap();
    assert_eq!((&admitted.order, &admitted.key, admitted.of_run), (&order, gate.key.public(), false));
    assert_eq!(gate.keeper.admit(&bytes, Verb::Plan, NOW), Err(Rejection::Challenge));
    gate.keeper.begin_run(&admitted);
    assert_eq!(gate.keeper.admit(&bytes, Verb::Plan, NOW), Err(Rejection::Sequence));
}

#[test]
fn each_field_is_checked() {
    type Change = fn(&mut Order);
    let changes: [(Change, Rejection); 9] = [
        (|order| order.schema = 2, Rejection::WrongSchema),
        (|order| order.agent = "h2".into(), Rejection::OtherAgent),
        (|order| order.instance = RUN.into(), Rejection::OtherInstance),
        (|order| order.challenge = None, Rejection::Challenge),
        (|order| order.challenge = Some(RUN.into()), Rejection::Challenge),
        (|order| order.expires_at_unix_ms = NOW.unix_ms, Rejection::Expired),
        (|order| order.expires_at_unix_ms = 0, Rejection::Expired),
        (|order| order.expires_at_unix_ms = NOW.unix_ms + 60_001, Rejection::ClockDiffers),
        (|order| order.run = "../x".into(), Rejection::Malformed),
    ];
    for (change, rejection) in changes {
        let mut gate = Gate::new();
        let mut order = Gate::order(Verb::Plan, 1);
        change(&mut order);
        assert_eq!(gate.admit(&order), Err(rejection), "{order:?}");
        assert!(gate.admit(&Gate::order(Verb::Plan, 1)).is_ok(), "a refused order used the challenge up");
    }
}

#[test]
fn wall_clocks_may_differ_by_thirty_seconds() {
    for (ahead_ms, expected) in [(-29_999, true), (29_999, true), (-30_000, false), (30_001, false)] {
        let mut gate = Gate::new();
        let mut order = Gate::order(Verb::Plan, 1);
        order.expires_at_unix_ms = (NOW.unix_ms + VALIDITY_MS).checked_add_signed(ahead_ms).unwrap();
        assert_eq!(gate.admit(&order).is_ok(), expected, "the controller's clock is {ahead_ms} ms ahead");
    }
}

#[test]
fn a_verb_is_taken_from_its_own_subject_only() {
    let mut gate = Gate::in_run();
    let bytes = Gate::order(Verb::Heartbeat, 2).signed(&gate.key).unwrap();
    for verb in Verb::ALL.into_iter().filter(|&verb| verb != Verb::Heartbeat) {
        assert_eq!(gate.keeper.admit(&bytes, verb, NOW), Err(Rejection::OtherVerb));
    }
    assert!(gate.keeper.admit(&bytes, Verb::Heartbeat, NOW).is_ok());
}

#[test]
fn another_key_is_refused_whatever_it_claims() {
    let mut gate = Gate::new();
    let other = SigningKey::generate().unwrap();
    let order = Gate::order(Verb::Plan, 1);
    let bytes = order.signed(&other).unwrap();
    assert_eq!(gate.keeper.admit(&bytes, Verb::Plan, NOW), Err(Rejection::UnknownKey));
    let mut envelope: Value = serde_json::from_slice(&bytes).unwrap();
    envelope["key"] = json!(gate.key.public().as_str());
    let claimed = serde_json::to_vec(&envelope).unwrap();
    assert_eq!(gate.keeper.admit(&claimed, Verb::Plan, NOW), Err(Rejection::WrongSignature));
    envelope["signature"] = json!("");
    let unsigned = serde_json::to_vec(&envelope).unwrap();
    assert_eq!(gate.keeper.admit(&unsigned, Verb::Plan, NOW), Err(Rejection::WrongSignature));
    let alone = serde_json::to_vec(&order).unwrap();
    assert_eq!(gate.keeper.admit(&alone, Verb::Plan, NOW), Err(Rejection::NotAnOrder));
}

#[test]
fn orders_of_the_run_need_its_key_and_a_higher_number() {
    let mut gate = Gate::new();
    assert_eq!(gate.admit(&Gate::order(Verb::Heartbeat, 5)), Err(Rejection::UnknownRun));
    let mut gate = Gate::in_run();
    assert!(gate.admit(&Gate::order(Verb::Heartbeat, 5)).unwrap().of_run);
    for sequence in [0, 1, 4, 5] {
        assert_eq!(gate.admit(&Gate::order(Verb::Clock, sequence)), Err(Rejection::Sequence));
    }
    assert!(gate.admit(&Gate::order(Verb::Stop, 6)).is_ok());
    let mut other_run = Gate::order(Verb::Stop, 7);
    other_run.run = INSTANCE.into();
    assert_eq!(gate.admit(&other_run), Err(Rejection::UnknownRun));
    gate.keeper.end_run();
    assert_eq!(gate.admit(&Gate::order(Verb::Undo, 8)), Err(Rejection::UnknownRun));
}

#[test]
fn a_second_trusted_key_does_not_order_the_run_of_the_first() {
    let mut gate = Gate::in_run();
    let second = SigningKey::generate().unwrap();
    gate.keeper.trusted = Trusted::new(vec![gate.key.public().clone(), second.public().clone()]);
    gate.key = second;
    assert_eq!(gate.admit(&Gate::order(Verb::Undo, 9)), Err(Rejection::UnknownRun));
    gate.keeper.give_challenge(INSTANCE.into(), true, NOW);
    let mut stop = Gate::order(Verb::Stop, 9);
    stop.challenge = Some(INSTANCE.into());
    assert!(!gate.admit(&stop).unwrap().of_run, "whoever is trusted may stop");
}

#[test]
fn a_challenge_ends_after_a_minute() {
    let mut gate = Gate::new();
    let mut order = Gate::order(Verb::Plan, 1);
    order.expires_at_unix_ms += 60_000;
    let bytes = order.signed(&gate.key).unwrap();
    assert_eq!(gate.keeper.admit(&bytes, Verb::Plan, later(60_001)), Err(Rejection::Challenge));
    let mut gate = Gate::new();
    let bytes = order.signed(&gate.key).unwrap();
    assert!(gate.keeper.admit(&bytes, Verb::Plan, later(60_000)).is_ok());
}

#[test]
fn hellos_without_end_push_out_no_challenge_of_a_controller() {
    let mut gate = Gate::new();
    gate.keeper.give_challenge(INSTANCE.into(), true, NOW);
    for number in 0..10_000 {
        gate.keeper.give_challenge(format!("{number:032x}"), false, NOW);
    }
    assert_eq!(gate.keeper.given_to_anyone.len(), MAX_CHALLENGES);
    let mut order = Gate::order(Verb::Plan, 1);
    order.challenge = Some(INSTANCE.into());
    assert!(gate.admit(&order).is_ok());
}

#[test]
fn who_says_hello_within_a_second_is_given_the_same_challenge() {
    let mut gate = Gate::new();
    let mut given = 0;
    // Hellos without end: one each millisecond for a minute.
    for ms in 1..60_000 {
        if gate.keeper.shared_challenge(later(ms)).is_none() {
            given += 1;
            gate.keeper.give_challenge(format!("{ms:032x}"), false, later(ms));
        }
    }
    assert!((50..=60).contains(&given), "{given}");
    let mut order = Gate::order(Verb::Plan, 1);
    order.expires_at_unix_ms += 60_000;
    let bytes = order.signed(&gate.key).unwrap();
    assert!(gate.keeper.admit(&bytes, Verb::Plan, later(59_999)).is_ok(), "the first is still valid");
}

#[test]
fn a_challenge_that_several_were_given_is_good_for_one_order_of_each() {
    let mut gate = Gate::new();
    let orders = (1..=2 * MAX_USES as u64).map(|sequence| Gate::order(Verb::Stop, sequence));
    let orders: Vec<Order> = orders.map(|order| Order { challenge: Some(CHALLENGE.into()), ..order }).collect();
    let admitted = orders.iter().filter(|order| gate.admit(order).is_ok()).count();
    assert_eq!(admitted, MAX_USES, "what is remembered of a challenge is limited");
    assert!(gate.keeper.shared_challenge(NOW).is_none(), "the next one is given another challenge");
    for order in &orders {
        assert_eq!(gate.admit(order), Err(Rejection::Challenge), "an order is taken once");
    }
}

#[test]
fn orders_of_a_run_that_has_ended_are_refused_even_if_they_are_new() {
    let mut gate = Gate::in_run();
    let held_back = Gate::order(Verb::Plan, 3); // sent again because no answer came, and kept from the agent
    gate.keeper.give_challenge(INSTANCE.into(), true, NOW);
    let held_back = Order { challenge: Some(INSTANCE.into()), ..held_back };
    gate.keeper.end_run();
    assert_eq!(gate.admit(&held_back), Err(Rejection::UnknownRun));
    // Another run that replaces it ends it, too.
    let mut gate = Gate::in_run();
    let other = Order { run: INSTANCE.into(), challenge: Some(INSTANCE.into()), ..Gate::order(Verb::Plan, 1) };
    gate.keeper.give_challenge(INSTANCE.into(), true, NOW);
    let admitted = gate.admit(&other).unwrap();
    gate.keeper.begin_run(&admitted);
    gate.keeper.give_challenge(RUN.into(), true, NOW);
    let late = Order { challenge: Some(RUN.into()), ..Gate::order(Verb::Plan, 9) };
    assert_eq!(gate.admit(&late), Err(Rejection::UnknownRun));
}

#[test]
fn size_is_checked_before_anything_else() {
    let mut gate = Gate::in_run();
    let mut order = Gate::order(Verb::Stop, 2);
    order.body = json!("x".repeat(MAX_ORDER_BYTES));
    assert_eq!(gate.admit(&order), Err(Rejection::TooLarge));
    let deep = "[".repeat(MAX_ORDER_BYTES);
    assert_eq!(gate.keeper.admit(deep.as_bytes(), Verb::Stop, NOW), Err(Rejection::NotAnOrder));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_without_a_key_are_admitted(bytes in prop::collection::vec(any::<u8>(), 0..400), verb in 0_usize..9) {
        let mut gate = Gate::in_run();
        prop_assert!(gate.keeper.admit(&bytes, Verb::ALL[verb], NOW).is_err());
    }

    #[test]
    fn a_changed_byte_is_never_admitted_as_another_order(at in any::<prop::sample::Index>(), flip in 1_u8..=255, verb in 0_usize..9) {
        let mut gate = Gate::in_run();
        gate.keeper.give_challenge(CHALLENGE.into(), true, NOW);
        let verb = Verb::ALL[verb];
        let order = Gate::order(verb, 2);
        let mut bytes = order.signed(&gate.key).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if let Ok(admitted) = gate.keeper.admit(&bytes, verb, NOW) {
            prop_assert_eq!(admitted.order, order); // white space, or another way to write the same
        }
    }

    #[test]
    fn orders_in_any_order_and_number_are_admitted_once(sequence in prop::collection::vec(2_u64..12, 1..40)) {
        let mut gate = Gate::in_run();
        let mut last = 1;
        for number in sequence {
            let admitted = gate.admit(&Gate::order(Verb::Heartbeat, number)).is_ok();
            prop_assert_eq!(admitted, number > last);
            last = last.max(number);
        }
    }
}
