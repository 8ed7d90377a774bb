//! Clients of the server without a key: they receive everything, and send what they like.

use crate::bench::{Bench, LONG, RunningAgent, SHORT, VERSION, loads, wait};
use async_nats::{Client, ConnectOptions, Message, Subscriber};
use fleet::order::{Order, VALIDITY_MS, Verb};
use fleet::{AgentState, Controller, HostOutcome, SigningKey, name};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testkit::or_skip;

/// Subject and bytes.
type ReceivedMessage = (String, Vec<u8>);

/// A client of the server without a key.
struct UntrustedClient {
    /// Messages to agents.
    heard: Arc<Mutex<Vec<ReceivedMessage>>>,
    /// Answers to the messages it sent to agents.
    answers: Arc<Mutex<Vec<Message>>>,
    sent: Arc<AtomicUsize>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().unwrap().block_on(future)
}

async fn client(url: &str) -> Client {
    ConnectOptions::new().connect(url).await.unwrap()
}

/// The same, with one bit changed.
fn flipped(bytes: &[u8], seed: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = seed.wrapping_mul(2_654_435_761) % bytes.len().max(1);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << (seed % 8);
    }
    bytes
}

impl UntrustedClient {
    /// Repeats all messages that it receives: as they are, with a bit changed, and to the other of two agents.
    fn echoing(url: &str) -> Self {
        let heard: Arc<Mutex<Vec<ReceivedMessage>>> = Arc::default();
        let answers: Arc<Mutex<Vec<Message>>> = Arc::default();
        let sent: Arc<AtomicUsize> = Arc::default();
        let end: Arc<AtomicBool> = Arc::default();
        let ready: Arc<AtomicBool> = Arc::default();
        let url = url.to_owned();
        let thread = {
            let (heard, answers, sent) = (Arc::clone(&heard), Arc::clone(&answers), Arc::clone(&sent));
            let (end, ready) = (Arc::clone(&end), Arc::clone(&ready));
            std::thread::spawn(move || {
                run(async {
                    // Its own messages are not returned to it.
                    let client = ConnectOptions::new().no_echo().connect(url).await.unwrap();
                    let mut all = client.subscribe("diskspd.v1.agent.>").await.unwrap();
                    let inbox = client.new_inbox();
                    let mut replies = client.subscribe(inbox.clone()).await.unwrap();
                    client.flush().await.unwrap();
                    ready.store(true, Ordering::Relaxed);
                    while !end.load(Ordering::Relaxed) {
                        tokio::select! {
                            Some(message) = all.next() => {
                                heard.lock().unwrap().push((message.subject.to_string(), message.payload.to_vec()));
                                sent.fetch_add(send_again(&client, &message, &inbox).await, Ordering::Relaxed);
                            }
                            Some(message) = replies.next() => answers.lock().unwrap().push(message),
                            () = tokio::time::sleep(Duration::from_millis(20)) => {}
                        }
                    }
                });
            })
        };
        wait(|| ready.load(Ordering::Relaxed));
        Self { heard, answers, sent, end, thread: Some(thread) }
    }
}

impl Drop for UntrustedClient {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn send_again(client: &Client, message: &Message, inbox: &str) -> usize {
    let subject = message.subject.to_string();
    // h0 and h1 as they stand in subjects
    let other =
        if subject.contains("6830") { subject.replace("6830", "6831") } else { subject.replace("6831", "6830") };
    let seed = message.payload.iter().map(|&byte| usize::from(byte)).sum();
    let all = [
        (subject.clone(), message.payload.to_vec()),
        (subject, flipped(&message.payload, seed)),
        (other.clone(), message.payload.to_vec()),
        (other, flipped(&message.payload, seed + 1)),
    ];
    let count = all.len();
    for (subject, payload) in all {
        client.publish_with_reply(subject, inbox.to_owned(), payload.into()).await.unwrap();
    }
    count
}

pub(crate) fn what_a_listener_without_a_key_sends_again_does_nothing() {
    let bench = or_skip!(Bench::new(2));
    let stranger = UntrustedClient::echoing(&bench.server.url());
    bench.behave(|_, behaviour| behaviour.run_for = Duration::from_millis(500));
    let run_done = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap();
    for host in &run_done.hosts {
        assert!(matches!(host.outcome, HostOutcome::Finished(_)), "{:?}", host.outcome);
    }
    let expected = ["plan", "prepare", "prepared", "started", "ended"];
    for agent in &bench.agents {
        assert_eq!(agent.host.events(), expected);
    }
    // Replays the whole run when it is over.
    let heard = stranger.heard.lock().unwrap().clone();
    assert!(heard.len() > 50, "{}", heard.len());
    run(async {
        let client = client(&bench.server.url()).await;
        for (subject, bytes) in heard {
            client.publish(subject, bytes.into()).await.unwrap();
        }
        client.flush().await.unwrap();
    });
    // Agents process messages in order: when they have refused an order of ours, they have processed all before.
    std::thread::sleep(Duration::from_millis(300));
    let infos = bench.controller().hosts(None).unwrap();
    assert!(infos.iter().all(|info| info.state == AgentState::Idle), "{infos:?}");
    for agent in &bench.agents {
        assert_eq!(agent.host.events(), expected);
        assert!(agent.log().iter().any(|line| line.contains("refused")), "{:?}", agent.log());
    }
    let answers = stranger.answers.lock().unwrap().clone();
    assert!(answers.is_empty(), "somebody without a key got an answer: {answers:?}");
    assert!(stranger.sent.load(Ordering::Relaxed) > 200);
}

/// The name of an agent as it stands in subjects.
fn token(agent: &str) -> String {
    agent.bytes().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Subject of the answers to the orders of these tests.
const ANSWERS: &str = "answers";

fn order_subject(agent: &str, verb: Verb) -> String {
    format!("diskspd.v1.agent.{}.{}", token(agent), verb.text())
}

/// Sends bytes as an order of this verb to an agent, and subscribes to the answer.
async fn order_to(client: &Client, agent: &str, verb: Verb, bytes: Vec<u8>) -> Subscriber {
    let answers = client.subscribe(ANSWERS).await.unwrap();
    client.publish_with_reply(order_subject(agent, verb), ANSWERS, bytes.into()).await.unwrap();
    answers
}

async fn ask(client: &Client, agent: &str, verb: Verb, bytes: Vec<u8>) -> Value {
    answer(&mut order_to(client, agent, verb, bytes).await).await
}

/// The next answer.
async fn answer(answers: &mut Subscriber) -> Value {
    let answer = tokio::time::timeout(LONG, answers.next()).await.unwrap().unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}

/// Expects that the agent logs this reason for refusing an order, and does not answer it.
async fn expect_refused(client: &Client, agent: &RunningAgent, bytes: Vec<u8>, reason: &str) {
    let mut answers = order_to(client, &agent.name, Verb::Plan, bytes).await;
    let is_logged = async {
        while !agent.log().iter().any(|line| line.contains(reason)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(LONG, is_logged).await.is_ok(), "{reason}: {:?}", agent.log());
    // Not faster one after the other than the agent logs refusals.
    let answer = tokio::time::timeout(Duration::from_millis(200), answers.next()).await;
    assert!(answer.is_err(), "{reason}: {answer:?}");
}

async fn hello(client: &Client, agent: &str) -> Value {
    let token = token(agent);
    let answer = client.request(format!("diskspd.v1.hello.{token}"), "{}".into()).await.unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}

/// An order to plan that h0 would accept.
fn order(hello: &Value) -> Order {
    let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    Order {
        schema: 1,
        verb: Verb::Plan,
        run: name::new_id().unwrap(),
        agent: "h0".into(),
        instance: hello["instance"].as_str().unwrap().into(),
        challenge: hello["challenge"].as_str().map(Into::into),
        expires_at_unix_ms: unix_ms + VALIDITY_MS,
        sequence: 1,
        reply: Some(ANSWERS.into()),
        body: json!({"version": VERSION, "host": "h0", "index": 0, "hosts": 1, "shared": false, "profile": {}, "options": null}),
    }
}

pub(crate) fn orders_that_are_not_what_they_should_be_are_refused_logged_and_not_answered() {
    type Change = fn(&mut Order);
    let bench = or_skip!(Bench::new(1));
    let agent = &bench.agents[0];
    let cases: [(&str, Change); 6] = [
        ("it has expired", |order| order.expires_at_unix_ms -= 60_000),
        ("it expires too late", |order| order.expires_at_unix_ms += 60_000),
        ("for another agent", |order| order.agent = "h1".into()),
        ("another version of the protocol", |order| order.schema = 2),
        ("its challenge is missing", |order| order.challenge = Some("0".repeat(32))),
        ("for an agent that ran here before", |order| order.instance = "0".repeat(32)),
    ];
    run(async {
        let client = client(&bench.server.url()).await;
        for (reason, change) in cases {
            let mut order = order(&hello(&client, "h0").await);
            change(&mut order);
            expect_refused(&client, agent, order.signed(&bench.key).unwrap(), reason).await;
        }
        let other = SigningKey::generate().unwrap();
        let unknown = order(&hello(&client, "h0").await).signed(&other).unwrap();
        expect_refused(&client, agent, unknown, "its key is not trusted").await;
        assert_eq!(agent.host.events(), [""; 0]);

        // The same order is accepted once, if it is valid.
        let good = order(&hello(&client, "h0").await).signed(&bench.key).unwrap();
        let answer = ask(&client, "h0", Verb::Plan, good.clone()).await;
        assert!(answer["body"]["planned"].is_object(), "{answer}");
        expect_refused(&client, agent, good, "refused an order to plan").await;
        assert_eq!(agent.host.events(), ["plan"]);
        // Trusted, of the right run, but with an invalid body.
        let mut nonsense = order(&hello(&client, "h0").await);
        nonsense.body = json!([1, 2]);
        let answer = ask(&client, "h0", Verb::Plan, nonsense.signed(&bench.key).unwrap()).await;
        assert!(answer["body"]["refused"][0].as_str().unwrap().contains("cannot be read"), "{answer}");
    });
    // The planned run has no controller any more, so it is released and blocks nobody.
    let silence = &agent.silence;
    silence.set(SHORT);
    bench.wait_until_idle();
    silence.set(LONG);
    bench.controller().run(loads(&["h0"]), &bench.key, &bench.stop, &mut |_| {}).unwrap();
}

/// Two connections may be served in either order, so a copy can arrive before the original.
pub(crate) fn a_copy_that_is_faster_than_its_order_is_not_answered() {
    let bench = or_skip!(Bench::new(1));
    run(async {
        let client = client(&bench.server.url()).await;
        let mut answers = client.subscribe(ANSWERS).await.unwrap();
        let inbox = client.new_inbox();
        let mut to_stranger = client.subscribe(inbox.clone()).await.unwrap();
        let bytes = order(&hello(&client, "h0").await).signed(&bench.key).unwrap();
        client.publish_with_reply(order_subject("h0", Verb::Plan), inbox, bytes.into()).await.unwrap();
        let answer = answer(&mut answers).await;
        assert!(answer["body"]["planned"].is_object(), "{answer}");
        let heard = tokio::time::timeout(Duration::from_millis(300), to_stranger.next()).await;
        assert!(heard.is_err(), "{heard:?}");
    });
}

pub(crate) fn a_flood_of_nonsense_ends_no_agent_and_fills_no_log() {
    let bench = or_skip!(Bench::new(1));
    let began = std::time::Instant::now();
    run(async {
        let client = client(&bench.server.url()).await;
        let large = vec![b'['; 1_000_000];
        for number in 0..4000_usize {
            let verb = Verb::ALL[number % Verb::ALL.len()];
            let bytes = match number % 100 {
                0 => large.clone(),
                1 => b"{\"order\":\"{}\",\"key\":\"U\",\"signature\":\"\"}".to_vec(),
                2 => Vec::new(),
                _ => vec![number as u8; number % 700],
            };
            client.publish(format!("diskspd.v1.agent.6830.{}", verb.text()), bytes.into()).await.unwrap();
        }
        for subject in ["diskspd.v1.hello.6830", "diskspd.v1.hello", "$SRV.PING.diskspd", "diskspd.v1.agent.6830.x"] {
            for bytes in [large.clone(), vec![0xff; 100], b"{\"key\": 1}".to_vec(), vec![b'['; 1000]] {
                client.publish_with_reply(subject, "nobody", bytes.into()).await.unwrap();
            }
        }
        client.flush().await.unwrap();
    });
    wait(|| bench.agents[0].log().iter().any(|line| line.contains("more messages")));
    let lines = bench.agents[0].log().iter().filter(|line| line.contains("refused")).count() as u64;
    assert!(lines <= 6 * (began.elapsed().as_secs() + 2), "{lines} lines");
    assert_eq!(bench.agents[0].host.events(), [""; 0]);
    let run_done = bench.controller().run(loads(&["h0"]), &bench.key, &bench.stop, &mut |_| {}).unwrap();
    assert!(matches!(run_done.hosts[0].outcome, HostOutcome::Finished(_)));
}

pub(crate) fn a_controller_with_another_key_orders_nothing() {
    let bench = or_skip!(Bench::new(2));
    let other = SigningKey::generate().unwrap();
    let mut controller = bench.controller();
    let error = controller.run(bench.loads(), &other, &bench.stop, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("h0: the agent does not trust the key U"), "{error}");
    assert!(error.touched_nothing());
    let stopped = controller.stop(&["h0".to_owned()], &other).unwrap();
    assert!(stopped[0].outcome.as_ref().unwrap_err().contains("does not trust"));
    assert!(controller.kept(&["h0".to_owned()], &other).is_err());
    assert!(controller.hosts(Some(&other)).unwrap().iter().all(|info| !info.trusts_key));
    assert_eq!(bench.has("plan"), [false; 2]);
}

pub(crate) fn the_server_asks_who_is_there_by_micro_service() {
    let bench = or_skip!(Bench::new(2));
    let names = run(async {
        let client = client(&bench.server.url()).await;
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.unwrap();
        client.publish_with_reply("$SRV.PING.diskspd", inbox, "".into()).await.unwrap();
        let mut names = Vec::new();
        while names.len() < 2 {
            let answer = tokio::time::timeout(crate::bench::LONG, answers.next()).await.unwrap().unwrap();
            let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
            assert_eq!((&answer["name"], &answer["version"]), (&json!("diskspd"), &json!(VERSION)));
            names.push(answer["metadata"]["name"].as_str().unwrap().to_owned());
        }
        names.sort();
        names
    });
    assert_eq!(names, ["h0", "h1"]);
}

pub(crate) fn an_agent_that_lies_is_bounded() {
    // A server that answers as an agent would, with endless sentences and names.
    let bench = or_skip!(Bench::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let (ended, url) = (Arc::clone(&stop), bench.server.url());
    let liar = std::thread::spawn(move || {
        run(async {
            let client = client(&url).await;
            let mut hellos = client.subscribe("diskspd.v1.hello").await.unwrap();
            while !ended.load(Ordering::Relaxed) {
                let next = tokio::time::timeout(Duration::from_millis(50), hellos.next()).await;
                let Ok(Some(Message { reply: Some(reply), .. })) = next else { continue };
                let answer = |name: &str| {
                    json!({
                        "schema": 1, "name": name, "instance": "0".repeat(32), "version": "\u{1b}[31m".repeat(1000),
                        "state": "idle", "run": "../../x", "trusts_key": true, "unix_ms": u64::MAX,
                        "challenge": "0".repeat(32), "limits": null,
                    })
                };
                for name in ["../x", "", "good", "\u{1b}[2J"] {
                    client.publish(reply.clone(), answer(name).to_string().into()).await.unwrap();
                }
                let mut large = answer("large");
                large["limits"] = json!(vec!["x"; 100_000]);
                client.publish(reply.clone(), large.to_string().into()).await.unwrap();
                client.publish(reply, "{".into()).await.unwrap();
            }
        });
    });
    let mut controller = Controller::connect(&bench.server.connection(), VERSION).unwrap();
    let mut infos = controller.hosts(None).unwrap();
    while infos.is_empty() {
        infos = controller.hosts(None).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    liar.join().unwrap();
    assert_eq!(infos.len(), 1);
    assert_eq!((infos[0].name.as_str(), &infos[0].run), ("good", &None));
    assert!(infos[0].version.chars().count() < 500 && !infos[0].version.contains('\u{1b}'));
}

/// Fault of a fake agent's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultFault {
    /// It has a wrong hash.
    Hash,
    /// It has no end.
    Endless,
    /// Parts of one byte.
    SmallParts,
    /// Another part than requested.
    OtherPart,
    /// The agent is in this state before the load is prepared.
    Early(&'static str),
}

/// A fake agent without a key, until the flag is set.
async fn lie(url: &str, name: &str, lie: ResultFault, ready: &AtomicBool, end: &AtomicBool) {
    let client = client(url).await;
    let (token, instance) = (token(name), "0".repeat(32));
    let mut hellos = client.subscribe("diskspd.v1.hello").await.unwrap();
    let mut orders = client.subscribe(format!("diskspd.v1.agent.{token}.*")).await.unwrap();
    client.flush().await.unwrap();
    ready.store(true, Ordering::Relaxed);
    let monotonic_ns = sys::clock::monotonic_ns;
    let (mut run, mut state, mut start_ns) = (String::new(), "idle", u64::MAX);
    while !end.load(Ordering::Relaxed) {
        tokio::select! {
            Some(Message { reply: Some(reply), .. }) = hellos.next() => {
                let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
                let answer = json!({
                    "schema": 1, "name": name, "instance": instance, "version": VERSION, "state": "idle", "run": null,
                    "trusts_key": true, "unix_ms": unix_ms, "challenge": "1".repeat(32), "limits": null,
                });
                client.publish(reply, answer.to_string().into()).await.unwrap();
            }
            Some(message) = orders.next() => {
                let envelope: Value = serde_json::from_slice(&message.payload).unwrap();
                let order: Value = serde_json::from_str(envelope["order"].as_str().unwrap()).unwrap();
                run = order["run"].as_str().unwrap().into();
                let offset = order["body"]["offset"].as_u64().unwrap_or(0);
                let part = |offset: u64, total: u64, bytes: &str, sha256: &str| {
                    json!({"part": {"offset": offset, "total": total, "sha256": sha256, "bytes": bytes}})
                };
                let (zeros, sha256) = ("A".repeat(256), "0".repeat(64)); // the Base64 of 192 zeros
                let sha256 = sha256.as_str();
                let body = match order["verb"].as_str().unwrap() {
                    "plan" => json!({"planned": {"facts": null, "text": "\u{1b}[2J"}}),
                    "clock" => json!({"clock": {"received_ns": monotonic_ns(), "sent_ns": monotonic_ns()}}),
                    "result" => match lie {
                        ResultFault::Hash => part(0, 192, &zeros, sha256),
                        ResultFault::Endless => part(offset, u64::MAX, &zeros, sha256),
                        ResultFault::SmallParts => part(offset, 1 << 20, "AA==", sha256),
                        ResultFault::OtherPart | ResultFault::Early(_) => part(offset + 192, 1 << 20, &zeros, sha256),
                    },
                    "prepare" => { state = "prepared"; json!("taken") }
                    "start" => {
                        (state, start_ns) = ("waiting", order["body"]["start_at_ns"].as_u64().unwrap());
                        json!("taken")
                    }
                    _ => json!("taken"),
                };
                if let Some(reply) = message.reply {
                    let answer = json!({
                        "schema": 1, "run": run, "sequence": order["sequence"], "challenge": "1".repeat(32), "body": body,
                    });
                    client.publish(reply, answer.to_string().into()).await.unwrap();
                }
            }
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        if let ResultFault::Early(early) = lie {
            state = early;
        } else if monotonic_ns() > start_ns {
            state = "finished";
        }
        let heartbeat = json!({
            "instance": instance, "state": state, "armed": state != "prepared", "entered": state == "finished",
            "sent_ns": u64::MAX, "ios": u64::MAX, "bytes": u64::MAX, "sentences": ["\u{1b}[2J"],
        });
        client.publish(format!("diskspd.v1.run.{run}.{token}.heartbeat"), heartbeat.to_string().into()).await.unwrap();
    }
}

pub(crate) fn a_liar_among_the_hosts_costs_its_own_result_only() {
    let bench = or_skip!(Bench::new(1));
    let lies = [ResultFault::Hash, ResultFault::Endless, ResultFault::SmallParts, ResultFault::OtherPart];
    let end = AtomicBool::new(false);
    let ready: Vec<AtomicBool> = lies.iter().map(|_| AtomicBool::new(false)).collect();
    std::thread::scope(|scope| {
        for (index, ready) in ready.iter().enumerate() {
            let (url, end, one) = (bench.server.url(), &end, lies[index]);
            scope.spawn(move || run(lie(&url, &format!("liar{index}"), one, ready, end)));
        }
        wait(|| ready.iter().all(|ready| ready.load(Ordering::Relaxed)));
        let names: Vec<String> = (0..lies.len()).map(|index| format!("liar{index}")).collect();
        let mut all = vec!["h0"];
        all.extend(names.iter().map(String::as_str));
        let done = bench.controller().run(loads(&all), &bench.key, &bench.stop, &mut |_| {});
        end.store(true, Ordering::Relaxed);
        let done = done.unwrap();
        assert!(matches!(done.hosts[0].outcome, HostOutcome::Finished(_)), "{:?}", done.hosts[0]);
        let expected = ["hash", "larger than", "too small", "does not belong"];
        for (host, expected) in done.hosts[1..].iter().zip(expected) {
            let HostOutcome::Lost(sentence) = &host.outcome else { panic!("{host:?}") };
            assert!(sentence.contains(expected), "{expected}: {sentence}");
        }
    });
}

pub(crate) fn a_host_that_says_what_it_cannot_be_is_not_waited_for() {
    std::thread::scope(|scope| {
        for state in ["finished", "settling", "running", "waiting"] {
            scope.spawn(move || is_not_waited_for(state));
        }
    });
}

/// A host that is in this state before the load is prepared ends the load of all.
fn is_not_waited_for(state: &'static str) {
    let bench = or_skip!(Bench::new(1));
    let [ready, end] = [(); 2].map(|()| AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (url, end, ready) = (bench.server.url(), &end, &ready);
        scope.spawn(move || run(lie(&url, "liar", ResultFault::Early(state), ready, end)));
        wait(|| ready.load(Ordering::Relaxed));
        let done = bench.controller().run(loads(&["h0", "liar"]), &bench.key, &bench.stop, &mut |_| {});
        end.store(true, Ordering::Relaxed);
        let error = done.unwrap_err().sentences().join("; ");
        let expected = format!("liar: lost: it says '{state}', which it cannot be while the load is prepared");
        assert!(error.starts_with(&expected), "{error}");
    });
    wait(|| bench.has("undo file") == [true]);
    assert_eq!(bench.has("started"), [false]);
}

pub(crate) fn hellos_without_end_keep_no_controller_out() {
    let bench = or_skip!(Bench::new(1));
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            run(async {
                let client = client(&bench.server.url()).await;
                while !end.load(Ordering::Relaxed) {
                    // More at once than the number of challenges that an agent remembers.
                    for _ in 0..100 {
                        client.publish_with_reply("diskspd.v1.hello.6830", "nobody", "{}".into()).await.unwrap();
                    }
                    client.flush().await.unwrap();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            });
        });
        let done = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {});
        end.store(true, Ordering::Relaxed);
        assert!(matches!(done.unwrap().hosts[0].outcome, HostOutcome::Finished(_)));
    });
}

pub(crate) fn nobody_makes_an_agent_speak_for_a_run() {
    let bench = or_skip!(Bench::new(1));
    run(async {
        let client = client(&bench.server.url()).await;
        let mut all = client.subscribe("diskspd.v1.run.>").await.unwrap();
        let forged = format!("diskspd.v1.run.{}.6830.heartbeat", "0".repeat(32));
        // An answer to hello has all fields of a heartbeat.
        for subject in ["diskspd.v1.hello", "diskspd.v1.hello.6830"] {
            client.publish_with_reply(subject, forged.clone(), "{}".into()).await.unwrap();
        }
        hello(&client, "h0").await; // answered later than these
        client.flush().await.unwrap();
        let heard = tokio::time::timeout(Duration::from_millis(300), all.next()).await;
        assert!(heard.is_err(), "{heard:?}");
    });
}
