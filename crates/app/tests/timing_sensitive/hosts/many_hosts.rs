//! `--on`, `agent`, `fleet`: one load on several hosts. The hosts are agents on this machine, each with its own
//! directory.

mod live;
mod series;

use crate::hosts::server::{run_in_time, start_in_time};
use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{Finished, Program, Running, Workplace, or_skip, tool, workplace};

/// Time limit for steps that normally take a moment.
const PATIENCE: Duration = Duration::from_mins(3);

/// A NATS server, a key, and agents.
struct Fleet {
    place: Workplace,
    port: u16,
    server: Option<Running>,
    agents: Vec<(String, Running)>,
}

impl Fleet {
    fn start(place: Workplace, names: &[&str]) -> Result<Self, String> {
        Self::start_with(place, "", names)
    }

    /// With additional options of the server.
    fn start_with(place: Workplace, options: &str, names: &[&str]) -> Result<Self, String> {
        let (server, port) = crate::hosts::server::start(&place, options)?;
        place.diskspd("fleet key --output fleet").run().expect_status(0);
        let mut fleet = Self { place, port, server: Some(server), agents: Vec::new() };
        for name in names {
            fleet.add(name);
        }
        fleet.wait_for_all();
        Ok(fleet)
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The directory that an agent may use.
    fn room(&self, name: &str) -> PathBuf {
        self.place.path(&format!("room-{name}"))
    }

    /// Starts an agent with its own directory, and does not wait for it.
    fn add(&mut self, name: &str) {
        let room = self.room(name);
        fs::create_dir(&room).expect("made");
        self.add_in(&room, name);
    }

    /// Starts one that may use this directory.
    fn add_in(&mut self, room: &Path, name: &str) {
        let agent = self.agent(name).arg("--allow").arg(room).start();
        self.agents.push((name.to_owned(), agent));
    }

    fn agent(&self, name: &str) -> Program {
        let words = format!("agent --server {} --trust fleet.pub --name {name} --state state-{name}", self.url());
        self.place.diskspd(&words).limit(Duration::from_mins(5))
    }

    fn begin(&mut self, name: &str, agent: Program) {
        self.agents.push((name.to_owned(), agent.start()));
        self.wait_for_all();
    }

    /// Waits until all agents accept orders.
    fn wait_for_all(&mut self) {
        self.agents.iter_mut().for_each(|(_, agent)| agent.wait_for_stderr("waits for orders"));
    }

    /// Waits until an agent reports that it has forgotten its last run.
    fn wait_until_idle(&self, name: &str) {
        let (_, agent) = self.agents.iter().find(|(other, _)| other == name).expect("it was started");
        let began = Instant::now();
        loop {
            let said = agent.stderr();
            let last = said.lines().rfind(|line| line.starts_with("run "));
            if last.is_some_and(|line| line.ends_with(": released") || line.ends_with(": the result was fetched")) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{name} is not idle: {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// True if all these hosts write to their files repeatedly; a file being created changes a few times only.
    fn are_writing(&self, names: &[&str]) -> bool {
        let is_writing = |name: &&str| {
            let file = self.room(name).join("t.dat");
            let time = || fs::metadata(&file).and_then(|file| file.modified()).ok();
            let mut changes = 0;
            let mut last = time();
            for _ in 0..50 {
                std::thread::sleep(Duration::from_millis(10));
                let now = time();
                changes += u32::from(now != last);
                last = now;
            }
            changes > 8
        };
        names.iter().all(is_writing)
    }

    /// True if a load has received its start time and writes on all these hosts.
    fn is_under_way(&self, run: &Running, names: &[&str]) -> bool {
        run.stderr().contains("start in ") && self.are_writing(names)
    }

    /// Ends the load of a host as another controller would.
    fn stop(&self, name: &str) {
        let words = format!("fleet stop --server {} --key fleet.key {name}", self.url());
        self.place.diskspd(&words).run().expect_status(0);
    }

    /// True if `fleet hosts` shows all these agents in a state.
    fn are(&self, names: &[&str], state: &str) -> bool {
        let hosts = self.place.diskspd(&format!("fleet hosts --json --server {}", self.url())).run();
        // There is none if the server does not answer in time.
        let hosts: Value = serde_json::from_str(&hosts.stdout).unwrap_or_default();
        let is_so = |name: &&str| {
            hosts.as_array().into_iter().flatten().any(|host| host["name"] == **name && host["state"] == state)
        };
        names.iter().all(is_so)
    }

    /// A load on some hosts, on a target in the directory of each.
    fn load(&self, hosts: &str, words: &str) -> Program {
        let target = self.place.path("room-{host}/t.dat");
        self.load_without_target(hosts, words).arg(target)
    }

    fn load_without_target(&self, hosts: &str, words: &str) -> Program {
        let on = format!("--on={}/{hosts}", self.url());
        self.place.diskspd("").limit(Duration::from_mins(2)).arg(on).args("--key=fleet.key").args(words)
    }

    fn result(&self, name: &str) -> Value {
        self.place.json(name)
    }

    /// Ends all agents and the server; returns the output of each agent.
    fn end(mut self) -> Vec<Finished> {
        let mut ended = Vec::new();
        for (_, agent) in self.agents.drain(..) {
            agent.interrupt();
            ended.push(agent.finish());
        }
        if let Some(server) = self.server.take() {
            server.kill_hard();
        }
        ended
    }
}

// Shows switches: --on=<[user@]host,...|nats://server/host,...>
// Shows switches: --key=<file>
#[test]
fn hosts_carry_out_one_load_together() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let words = "-c1M -b4K -r -w50 -o4 -t2 -d60 -W0 -L --max-ios=100000 --json r.json --text r.txt";
    let run = run_in_time(|| fleet.load("h1,h2", words));
    run.expect_status(0).expect_stderr(&["2 hosts checked the load: h1, h2", "start in "]);
    for host in ["h1", "h2"] {
        assert_eq!(fs::metadata(fleet.room(host).join("t.dat")).expect("made").len(), 1 << 20);
    }
    let result = fleet.result("r.json");
    let findings = result["time_spans"][0]["verdict"]["findings"].as_array().expect("a list");
    let shared = findings.iter().find(|finding| finding["name"] == "shared-machine");
    let figure = "h1, h2 are one machine: they share its CPUs, memory and network";
    assert_eq!(shared.expect("both agents run here")["figure"], figure, "{findings:#?}");
    let hosts = result["fleet"]["hosts"].as_array().expect("a list");
    assert_eq!(hosts.len(), 2);
    let measured = &result["time_spans"][0]["measured"];
    let ios = |of: &Value| of["total"]["ios"].as_u64().expect("a number");
    let rows = measured["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 4, "two threads on each of two hosts");
    let of_host = |host: &str| -> u64 {
        let is_of = |row: &&Value| row["path"].as_str().is_some_and(|path| path.starts_with(&format!("{host}:")));
        rows.iter().filter(is_of).map(|row| ios(&row["figures"])).sum()
    };
    assert!(of_host("h1") > 0 && of_host("h2") > 0, "{measured}");
    assert_eq!(of_host("h1") + of_host("h2"), ios(&measured["total"]));
    assert_eq!(measured["total_latency"]["total"]["count"], measured["total"]["total"]["ios"]);
    for host in hosts {
        // Clocks of one machine are the same clock.
        let offset = host["clock"]["offset_ns"].as_i64().expect("a number");
        let uncertainty = host["clock"]["uncertainty_ns"].as_i64().expect("a number");
        assert!(offset.abs() <= uncertainty, "{host}");
    }
    let text = String::from_utf8(fleet.place.content("r.txt")).expect("a text");
    assert!(text.contains("h1:/") && text.contains("h2:/") && text.contains("Hosts"), "{text}");
    fleet.place.diskspd("report r.json --output r.html").run().expect_status(0);
    let page = String::from_utf8(fleet.place.content("r.html")).expect("a page");
    assert!(page.contains("data-chart=\"hosts-cpu\""), "each host's CPU usage is drawn");
    assert!(!page.contains("CPU usage of the machine"), "the CPUs of one machine are not missed");
    for ended in fleet.end() {
        ended.expect_status(0);
    }
}

// Shows switches: --inbox=<prefix>
#[test]
fn a_plan_of_all_hosts_touches_nothing() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let run = fleet.load("h*", "-c1M -d1 --plan --inbox=_INBOX_controller").run();
    run.expect_status(0).expect_stdout(&["h1\n==", "h2\n==", "room-h1/t.dat", "room-h2/t.dat"]);
    for host in ["h1", "h2"] {
        assert_eq!(fs::read_dir(fleet.room(host)).expect("there").count(), 0, "{host}");
    }
    fleet.server.as_mut().expect("it runs").wait_for_stderr("SUB _INBOX_controller.");
}

#[test]
fn nothing_is_written_anywhere_if_one_host_refuses() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &["h1"]));
    // The second one may not use its directory.
    fs::create_dir(fleet.room("h2")).expect("made");
    let elsewhere = fleet.place.path("elsewhere");
    fs::create_dir(&elsewhere).expect("made");
    let agent = fleet.agent("h2").arg("--allow").arg(elsewhere);
    fleet.begin("h2", agent);
    let run = fleet.load("h1,h2", "-c1M -d1 -W0").run();
    run.expect_status(3).expect_stderr(&["h2", "is not beneath an allowed directory"]);
    for host in ["h1", "h2"] {
        assert_eq!(fs::read_dir(fleet.room(host)).expect("there").count(), 0, "{host}");
    }
}

// Shows data-safety: targets of a load that another host orders
#[test]
fn targets_lie_beneath_allowed_directories() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &["h1"]));
    let (room, outside) = (fleet.room("h1"), fleet.place.file("outside.dat", &vec![7; 1 << 20]));
    symlink(&outside, room.join("link")).expect("made");
    symlink(fleet.place.folder(), room.join("folder")).expect("made");
    fs::hard_link(&outside, room.join("hard")).expect("made");
    // One agent each, so that none has to wait for another's refusal.
    for name in ["h2", "h3", "h4", "h5", "h6", "h7"] {
        fleet.add_in(&room, name);
    }
    fleet.begin("bare", fleet.agent("bare"));
    let up = room.join("../outside.dat");
    let targets = [
        ("h1", outside.clone()),
        ("h2", up),
        ("h3", room.join("link")),
        ("h4", room.join("folder/outside.dat")),
        ("h5", room.join("folder/new.dat")),
        ("h6", room.join("hard")),
        ("h7", "/etc/passwd".into()),
        ("bare", room.join("new.dat")),
    ];
    std::thread::scope(|scope| {
        for (host, target) in targets {
            let loads =
                ["-d1 -W0", "-d1 -W0 -c1M -w100"].map(|words| fleet.load_without_target(host, words).arg(&target));
            scope.spawn(move || {
                for load in loads {
                    load.run().expect_status(3).expect_stderr(&[host]);
                }
            });
        }
    });
    let source = format!("-d1 -W0 -c1M -w100 -Z1M,{}", outside.display());
    fleet.load("h1", &source).run().expect_status(3).expect_stderr(&["is not beneath an allowed directory"]);
    assert!(fs::read(&outside).expect("there") == vec![7; 1 << 20]);
    assert_eq!(fs::read_dir(&room).expect("there").count(), 3);
    assert!(!fleet.place.path("new.dat").exists());
}

// Shows data-safety: new files of such a load, deleted
#[test]
fn what_was_created_is_removed_if_a_host_cannot_create_its_files() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &["h1"]));
    fs::create_dir(fleet.room("h2")).expect("made");
    fleet.place.file("room-h1/theirs", b"theirs");
    // The kernel refuses writes beyond 100 blocks of 512 bytes.
    let script = r#"ulimit -f 100; exec "$0" "$@""#;
    let words = format!("agent --server {} --trust fleet.pub --name h2 --state state-h2", fleet.url());
    let agent = fleet.place.tool("sh").args("-c").arg(script).arg(fleet.place.program()).args(&words).arg("--allow");
    fleet.begin("h2", agent.arg(fleet.room("h2")).limit(Duration::from_mins(5)));
    let run = fleet.load("h1,h2", "-c1M -d1 -W0").run();
    run.expect_status(1).expect_stderr(&["h2", "cannot write"]);
    fleet.wait_until_idle("h1");
    fleet.wait_until_idle("h2");
    let names = |host: &str| fs::read_dir(fleet.room(host)).expect("there").flatten().map(|entry| entry.file_name());
    assert_eq!(names("h1").collect::<Vec<_>>(), ["theirs"]);
    assert_eq!(names("h2").count(), 0);
}

// Shows data-safety: files NAME.key and NAME.pub
#[test]
fn a_key_is_never_replaced() {
    let place = workplace!();
    place.diskspd("fleet key --output fleet").run().expect_status(0);
    let [private, public] = ["fleet.key", "fleet.pub"].map(|name| place.content(name));
    let mode = fs::metadata(place.path("fleet.key")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    place.diskspd("fleet key --output fleet").run().expect_status(3).expect_stderr(&["fleet.key"]);
    fs::remove_file(place.path("fleet.key")).expect("there");
    place.diskspd("fleet key --output fleet").run().expect_status(3).expect_stderr(&["fleet.pub"]);
    assert!(!place.path("fleet.key").exists() && place.content("fleet.pub") == public && private != public);
}

#[test]
fn limits_of_an_agent_are_kept() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &[]));
    fs::create_dir(fleet.room("h1")).expect("made");
    let agent = fleet.agent("h1").arg("--allow").arg(fleet.room("h1")).args("--max-file 1M --max-threads 2");
    fleet.begin("h1", agent);
    fleet.load("h1", "-d1 -W0 -c2M").run().expect_status(3).expect_stderr(&["--max-file"]);
    fleet.load("h1", "-d1 -W0 -c1M -t3").run().expect_status(3).expect_stderr(&["--max-threads"]);
    assert_eq!(fs::read_dir(fleet.room("h1")).expect("there").count(), 0);
    run_in_time(|| fleet.load("h1", "-d60 --max-ios=10 -W0 -c1M -t2")).expect_status(0);
}

#[test]
fn an_agent_limits_the_memory_of_loads() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &[]));
    fs::create_dir(fleet.room("h1")).expect("made");
    let agent = fleet.agent("h1").arg("--allow").arg(fleet.room("h1")).args("--max-memory 64M");
    fleet.begin("h1", agent);
    let small = "-d60 --max-ios=10 -W0 -c32M -b1M -o8";
    let plan = fleet.load("h1", &format!("{small} --plan")).run();
    let need = plan.stdout.split_once("Memory: needs at most ").and_then(|(_, text)| text.split_once(';'));
    plan.expect_status(0);
    assert!(need.is_some_and(|(need, _)| need.ends_with("MiB")), "{plan}");
    // 128 buffers of 1 MiB.
    let run = fleet.load("h1", "-d60 --max-ios=10 -W0 -c32M -b1M -o128").run();
    run.expect_status(3).expect_stderr(&["h1: the load needs up to 1", "MiB of memory", "allows 64MiB (--max-memory)"]);
    assert_eq!(fs::read_dir(fleet.room("h1")).expect("there").count(), 0);
    let hosts = fleet.place.diskspd(&format!("fleet hosts --json --server {}", fleet.url())).run();
    let hosts: Value = serde_json::from_str(&hosts.stdout).expect("JSON");
    assert_eq!(hosts[0]["limits"]["max_memory_bytes"], 64 << 20);
}

// Shows switches: --shared
// Shows data-safety: a file that several hosts write to, with its extended attributes user.diskspd and user.diskspd.run
#[test]
fn hosts_write_to_files_of_their_own_unless_they_share_one() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &["h1"]));
    let room = fleet.room("h1");
    let agent = fleet.agent("h2").arg("--allow").arg(&room);
    fleet.begin("h2", agent);
    let target = room.join("t.dat");
    let run = fleet.load_without_target("h1,h2", "-d1 -W0 -c1M").arg(&target).run();
    run.expect_status(3).expect_stderr(&["{host}"]);
    assert!(!target.exists());
    run_in_time(|| fleet.load_without_target("h1", "-d60 --max-ios=10 -W0 -c1M").arg(&target)).expect_status(0);
    // Reading needs no permission.
    let words = "-d60 --max-ios=10 -W0 -b4K -r --json r.json";
    run_in_time(|| fleet.load_without_target("h1,h2", words).arg(&target)).expect_status(0);
    assert_eq!(fleet.result("r.json")["fleet"]["hosts"].as_array().expect("a list").len(), 2);
    let writes = "-d1 -W0 -b4K -r -w50";
    fleet.load_without_target("h1,h2", writes).arg(&target).run().expect_status(3);
    // One file for all: the first host recreates it, both write to it, and it is closed at the end.
    let shared = "--shared -d60 --max-ios=200 -W0 -c2M -b4K -r -w50 --json r.json";
    let attempts = Cell::new(0);
    let run = run_in_time(|| {
        // A load that started nowhere in time leaves its file marked as being written to.
        if attempts.replace(attempts.get() + 1) > 0 {
            let _ = fs::remove_file(&target);
        }
        fleet.load_without_target("h1,h2", shared).arg(&target)
    });
    run.expect_status(0);
    assert_eq!(fs::metadata(&target).expect("there").len(), 2 << 20);
    let result = fleet.result("r.json");
    let rows = result["time_spans"][0]["measured"]["rows"].as_array().expect("a list").clone();
    assert!(rows.len() == 2 && rows.iter().all(|row| row["figures"]["write"]["ios"] != 0), "{rows:?}");
    // A local load accepts it as a file of diskspd that nothing else has written to.
    let alone = fleet.place.diskspd("-d60 --max-ios=10 -W0 -b4K -w100").arg(&target).run();
    alone.expect_status(0);
    // Not after another program has written to it.
    fs::write(&target, vec![7; 2 << 20]).expect("written");
    let run = fleet.load_without_target("h1,h2", shared).arg(&target).run();
    run.expect_status(3).expect_stderr(&["h1: ", "h2: ", "another program has written"]);
    assert!(fs::read(&target).expect("there") == vec![7; 2 << 20]);
}

#[test]
fn orders_need_a_key_that_is_trusted() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1"]));
    fleet.place.diskspd("fleet key --output other").run().expect_status(0);
    let on = format!("--on={}/h1", fleet.url());
    let target = fleet.room("h1").join("t.dat");
    let run = fleet.place.diskspd("--key=other.key -d1 -W0 -c1M").arg(&on).arg(&target).run();
    run.expect_status(3).expect_stderr(&["does not trust"]);
    let run = fleet.place.diskspd("-d1 -W0 -c1M").arg(&on).arg(&target).run();
    run.expect_status(3).expect_stderr(&["--key is missing"]);
    let stop = format!("fleet stop --server {} --key other.key", fleet.url());
    fleet.place.diskspd(&stop).run().expect_status(1).expect_stderr(&["does not trust"]);
    assert_eq!(fs::read_dir(fleet.room("h1")).expect("there").count(), 0);
}

#[test]
fn what_other_hosts_cannot_do_is_refused() {
    let place = workplace!();
    for (words, reason) in [
        ("--overwrite", "--overwrite cannot be used with --on"),
        ("--hold-latency", "--hold-latency cannot be used with --on"),
        ("-ysgo", "an event"),
        ("--append", "--append cannot be used"),
        ("--live", "stderr to be a terminal"),
        ("--shared --verify", "--verify cannot be used with --shared"),
        ("--shared --delete-after", "--delete-after cannot be used with --shared"),
    ] {
        let run = place.diskspd("--on=nats://127.0.0.1:1/h1 --key=k -d1").args(words).arg("/a/{host}.dat").run();
        run.expect_status(3).expect_stderr(&[reason]);
    }
    let run = place.diskspd("--on=nats://127.0.0.1:1/h1 --key=k -d1 a.dat").run();
    run.expect_status(3).expect_stderr(&["absolute"]);
    let run = place
        .diskspd("interference --on=nats://127.0.0.1:1/h1 --key=k -- -d1 --stream a:-r --stream b:-w100 /a/{host}.dat")
        .run();
    run.expect_status(3).expect_stderr(&["on this machine only"]);
    let run = place.diskspd("sweep --on=nats://127.0.0.1:1/h1 --key=k --vary on=nats://127.0.0.1:1/h2 -- -d1 /a").run();
    run.expect_status(3).expect_stderr(&["the same for all runs"]);
    let run = place.diskspd("--key=k -d1 /a.dat").run();
    run.expect_status(3).expect_stderr(&["--on is missing"]);
}

/// The users of the guide, without TLS.
fn users_of_the_guide() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/many-hosts.md");
    let page = fs::read_to_string(page).expect("there");
    let (_, after) = page.split_once("\nauthorization {").expect("the users");
    let (users, _) = after.split_once("\n```").expect("an end");
    format!("authorization {{{}", users.replace("$2a$11$…", "secret"))
}

// Shows switches: --creds=<file>
#[test]
fn the_permissions_of_the_guide_are_enough_and_no_more() {
    let place = workplace!();
    place.file("nats.conf", users_of_the_guide().as_bytes());
    for user in ["controller", "h1"] {
        place.file(&format!("{user}.creds"), format!("{user}:secret\n").as_bytes());
    }
    let mut fleet = or_skip!(Fleet::start_with(place, "-c nats.conf", &[]));
    fs::create_dir(fleet.room("h1")).expect("made");
    let access = "--creds h1.creds --inbox _INBOX_h1";
    let mut agent = fleet.agent("h1").args(access).arg("--allow").arg(fleet.room("h1")).start();
    agent.wait_for_stderr("h1 waits for orders");
    fleet.agents.push(("h1".to_owned(), agent));
    let words = "-c1M -d60 --max-ios=10 -W0 --creds=controller.creds --inbox=_INBOX_controller";
    run_in_time(|| fleet.load("h1", words)).expect_status(0);
    // A compromised host cannot give orders, even with the key.
    let run = fleet.load("h1", "-c2M -d1 -W0 --creds=h1.creds --inbox=_INBOX_h1").run();
    assert_ne!(run.code(), Some(0), "{run}");
    assert_eq!(fs::metadata(fleet.room("h1").join("t.dat")).expect("made").len(), 1 << 20);
    fleet.load("h1", "-c1M -d1 -W0").run().expect_status(3).expect_stderr(&["authorization"]);
}

// Shows switches: --tls-ca=<file>
// Shows switches: --no-tls
// Shows switches: --anonymous
#[test]
fn a_server_on_another_machine_needs_tls_and_credentials() {
    let place = workplace!();
    place.diskspd("fleet key --output fleet").run().expect_status(0);
    let line = "--on=nats://192.0.2.1:4222/h1 --key=fleet.key -d1";
    for (words, reasons) in [
        ("", &["--creds", "--anonymous"][..]),
        ("--creds=missing.creds --no-tls", &["missing.creds"]),
        ("--tls-ca=missing.pem --no-tls --anonymous", &["--no-tls contradicts"]),
    ] {
        let run = place.diskspd(line).args(words).arg("/a/{host}.dat").run();
        run.expect_status(3).expect_stderr(reasons);
    }
}

/// An authority NAME.pem, and a certificate NAME-server.pem with NAME-server.key that it signed for an address.
fn certificate(place: &Workplace, name: &str, address: &str) -> Result<(), String> {
    let openssl = tool("openssl")?;
    let config = "[req]\ndistinguished_name = who\nx509_extensions = authority\nprompt = no\n[who]\nCN = diskspd test\n\
                  [authority]\nbasicConstraints = critical,CA:TRUE\n[server]\nbasicConstraints = CA:FALSE\n\
                  subjectAltName = IP:";
    place.file("openssl.conf", format!("{config}{address}\n").as_bytes());
    let new_key = "req -config openssl.conf -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for line in [
        format!("{new_key} -x509 -days 2 -keyout {name}.key -out {name}.pem"),
        format!("{new_key} -keyout {name}-server.key -out {name}.csr"),
        format!(
            "x509 -req -in {name}.csr -CA {name}.pem -CAkey {name}.key -CAcreateserial -days 2 -extfile openssl.conf \
             -extensions server -out {name}-server.pem"
        ),
    ] {
        place.tool(&openssl).args(&line).run().expect_status(0);
    }
    Ok(())
}

/// The options of a server with the certificate of this name.
fn with_certificate(place: &Workplace, name: &str) -> String {
    let tls = format!("tls {{ cert_file: \"{name}-server.pem\", key_file: \"{name}-server.key\" }}\n");
    place.file(&format!("{name}.conf"), tls.as_bytes());
    format!("-c {name}.conf")
}

#[test]
fn a_server_with_tls_shows_the_certificate_of_a_known_authority() {
    let place = workplace!();
    or_skip!(certificate(&place, "ours", "127.0.0.1"));
    or_skip!(certificate(&place, "other", "127.0.0.1"));
    let options = with_certificate(&place, "ours");
    let mut fleet = or_skip!(Fleet::start_with(place, &options, &[]));
    fs::create_dir(fleet.room("h1")).expect("made");
    let agent = |words: &str| fleet.agent("h1").args(words).arg("--allow").arg(fleet.room("h1"));
    let mut running = agent("--tls-ca ours.pem").start();
    running.wait_for_stderr("h1 waits for orders");
    let load = "-c1M -d60 --max-ios=100 -W0";
    let tls = fleet.url().replace("nats://", "tls://");
    for words in ["--tls-ca=other.pem", "", "--tls-ca=missing.pem"] {
        agent(&words.replace('=', " ")).run().expect_status(3).expect_stderr(&["cannot connect to"]);
        let run = fleet.load("h1", &format!("{load} {words}")).run();
        run.expect_status(3).expect_stderr(&["cannot connect to"]);
        let run = fleet.place.diskspd(&format!("fleet hosts --server {tls} {}", words.replace('=', " "))).run();
        run.expect_status(3).expect_stderr(&["cannot connect to"]);
    }
    fleet.load("h1", &format!("{load} --tls-ca=other.pem")).run().expect_stderr(&["certificate"]);
    let plan = fleet.load("h1", &format!("{load} --tls-ca=ours.pem --plan")).run();
    plan.expect_status(0).expect_stdout(&["h1\n==", "room-h1/t.dat"]);
    fleet.agents.push(("h1".to_owned(), running));
}

#[test]
fn a_certificate_for_another_address_is_refused() {
    let place = workplace!();
    or_skip!(certificate(&place, "ours", "192.0.2.1"));
    let options = with_certificate(&place, "ours");
    let fleet = or_skip!(Fleet::start_with(place, &options, &[]));
    let run = fleet.place.diskspd(&format!("fleet hosts --tls-ca ours.pem --server {}", fleet.url())).run();
    run.expect_status(3).expect_stderr(&["cannot connect to", "certificate"]);
}

/// An address of this machine that is not that of the loopback interface.
fn own_address() -> Result<String, String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").map_err(|error| error.to_string());
    // Nothing is sent: the kernel only chooses the source address.
    let address = socket.and_then(|socket| {
        socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()).map_err(|error| error.to_string())
    });
    match address {
        Ok(address) if !address.ip().is_loopback() && !address.ip().is_unspecified() => Ok(address.ip().to_string()),
        _ => Err("no network but loopback here".to_owned()),
    }
}

#[test]
fn who_asks_for_tls_does_not_go_on_without() {
    let place = workplace!();
    or_skip!(certificate(&place, "ours", "127.0.0.1"));
    // This server has none.
    let fleet = or_skip!(Fleet::start_with(place, "-a 0.0.0.0", &[]));
    let hosts = |words: &str| fleet.place.diskspd(&format!("fleet hosts {words}")).run();
    hosts(&format!("--server {}", fleet.url())).expect_status(0);
    for words in
        [format!("--tls-ca ours.pem --server {}", fleet.url()), format!("--server tls://127.0.0.1:{}", fleet.port)]
    {
        hosts(&words).expect_status(3).expect_stderr(&["cannot connect to"]);
    }
    let elsewhere = format!("--anonymous --server nats://{}:{}", or_skip!(own_address()), fleet.port);
    hosts(&elsewhere).expect_status(3).expect_stderr(&["it must use TLS", "--no-tls"]);
    hosts(&format!("{elsewhere} --no-tls")).expect_status(0);
    let agent = fleet.place.diskspd("agent --trust fleet.pub --name h1 --state state-h1").args(&elsewhere).run();
    agent.expect_status(3).expect_stderr(&["it must use TLS"]);
}

#[test]
fn ctrl_c_ends_the_load_everywhere_with_a_result() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let words = "-c1M -b4K -r -w50 -g100i -d600 -W0 -L --json r.json";
    let mut run = start_in_time(|| fleet.load("h1,h2", words), |_| fleet.are(&["h1", "h2"], "running"));
    // Writes change the files' times.
    let times = || {
        ["h1", "h2"]
            .map(|host| fs::metadata(fleet.room(host).join("t.dat")).and_then(|file| file.modified()).expect("made"))
    };
    let before = times();
    run.wait_until("writes on both", |_| times().iter().zip(&before).all(|(now, before)| now > before));
    run.interrupt();
    run.finish().expect_status(0);
    let result = fleet.result("r.json");
    let measured = &result["time_spans"][0]["measured"];
    assert!(measured["total"]["total"]["ios"].as_u64().is_some_and(|ios| ios > 0), "{measured}");
    fleet.wait_until_idle("h1");
    // Before anything was measured, the status is that of the signal.
    let in_warm_up = || fleet.load("h1,h2", "-c1M -b4K -r -w50 -g100i -d600 -W600");
    let run = start_in_time(in_warm_up, |run| fleet.is_under_way(run, &["h1", "h2"]));
    run.interrupt();
    run.finish().expect_status(130);
    fleet.wait_until_idle("h1");
}

#[test]
fn a_host_that_is_lost_makes_the_result_invalid() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &["h1", "h2"]));
    let words = "-c1M -b4K -r -w50 -d600 -g100i -W0 -L --json r.json";
    let run = start_in_time(|| fleet.load("h1,h2", words), |run| fleet.is_under_way(run, &["h1", "h2"]));
    let (_, agent) = fleet.agents.pop().expect("an agent");
    agent.kill_hard();
    fleet.stop("h1");
    let run = run.finish();
    assert!(run.stdout.contains("lost-host"), "{run}");
    let result = fleet.result("r.json");
    assert!(result["time_spans"][0]["measured"]["total"]["total"]["ios"].as_u64().is_some_and(|ios| ios > 0));
}

// Shows data-safety: results of such a load, in the directory of --state
#[test]
fn the_result_of_a_lost_controller_is_kept_and_collected() {
    // A late start leaves a result, too.
    testkit::unless_paused(lose_a_controller);
}

fn lose_a_controller() {
    let fleet = or_skip!(Fleet::start(workplace!(), &["h1"]));
    let words = "-c1M -b4K -r -w50 -g100i -d600 -W0";
    let run = start_in_time(|| fleet.load("h1", words), |run| fleet.is_under_way(run, &["h1"]));
    run.kill_hard();
    // The end of its heartbeats ends the load.
    fleet.wait_until_idle("h1");
    let kept = || fs::read_dir(fleet.place.path("state-h1")).expect("there").flatten();
    let is_result = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".json.gz");
    assert_eq!(kept().filter(is_result).count(), 1);
    fs::create_dir(fleet.place.path("found")).expect("made");
    let collect = format!("fleet collect --server {} --key fleet.key --output found h1", fleet.url());
    fleet.place.diskspd(&collect).run().expect_status(0);
    let found: Vec<_> = fs::read_dir(fleet.place.path("found")).expect("there").collect();
    assert_eq!(found.len(), 1);
    let path = found[0].as_ref().expect("a file").path();
    fleet.place.diskspd("report").arg(path).run().expect_status(0).expect_stdout(&["Total IO"]);
    fleet.place.diskspd(&collect).run().expect_status(0).expect_stderr(&["no host keeps a result"]);
    assert_eq!(kept().filter(is_result).count(), 0);
}

#[test]
fn an_agent_for_one_load_ends_after_it() {
    let mut fleet = or_skip!(Fleet::start(workplace!(), &[]));
    fs::create_dir(fleet.room("h1")).expect("made");
    let agent = fleet.agent("h1").arg("--once").arg("--allow").arg(fleet.room("h1"));
    fleet.begin("h1", agent);
    fleet.load("h1", "-c1M -d60 --max-ios=100 -W0 --plan").run().expect_status(0);
    fleet.load("h1", "-c1M -d60 --max-ios=100 -W0").run().expect_status(0);
    let (_, agent) = fleet.agents.pop().expect("an agent");
    agent.finish().expect_status(0).expect_stderr(&["the result was fetched"]);
}
