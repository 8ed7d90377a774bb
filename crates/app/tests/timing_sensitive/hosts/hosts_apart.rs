//! Hosts far apart: agents in separate network namespaces, with clocks that differ by hours; and agents, controllers
//! and servers that stall or die at any moment of a load.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use testkit::{Running, Workplace, or_skip, tool, workplace};

/// Time limit for steps that normally take a moment.
const PATIENCE: Duration = Duration::from_mins(2);
/// Longest life of an agent or a server.
const LIFE: Duration = Duration::from_mins(10);
/// Environment variable: the number of measurements of clocks (CONTRIBUTING.md).
const MEASUREMENTS: &str = "DISKSPD_TEST_CLOCKS";
/// Environment variable: if set, every kind of disturbance is tried in every phase.
const ALL_DISTURBANCES: &str = "DISKSPD_TEST_DISTURBANCES";

/// Number of networks created, for unique names.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Network namespaces of agents, and one of the server and the controller, which a bridge connects.
struct Network {
    place: Workplace,
    stem: String,
    hosts: usize,
}

impl Network {
    fn new(place: Workplace, hosts: usize) -> Result<Self, String> {
        if !testkit::is_root() {
            return Err("needs root".to_owned());
        }
        for program in ["ip", "unshare", "nats-server"] {
            tool(program)?;
        }
        let stem = format!("dsk{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let network = Self { place, stem, hosts };
        let bus = network.space("bus");
        let mut lines = vec![
            format!("netns add {bus}"),
            format!("-n {bus} link set lo up"),
            format!("-n {bus} link add br0 type bridge"),
            format!("-n {bus} addr add 10.0.0.254/24 dev br0"),
            format!("-n {bus} link set br0 up"),
        ];
        for host in 1..=hosts {
            let space = network.space(&format!("h{host}"));
            lines.push(format!("netns add {space}"));
            lines.push(format!("-n {space} link set lo up"));
            lines.push(format!("-n {bus} link add v{host} type veth peer name eth0 netns {space}"));
            lines.push(format!("-n {bus} link set v{host} master br0 up"));
            lines.push(format!("-n {space} addr add 10.0.0.{host}/24 dev eth0"));
            lines.push(format!("-n {space} link set eth0 up"));
        }
        for line in lines {
            let run = network.place.tool("ip").args(&line).run();
            if run.code() != Some(0) {
                return Err(format!("not possible here: ip {line}: {}", run.stderr.trim()));
            }
        }
        let time = network.place.tool("unshare").args("-T --monotonic 1 --fork true").run();
        if time.code() == Some(0) {
            Ok(network)
        } else {
            Err(format!("no time namespaces here: unshare: {}", time.stderr.trim()))
        }
    }

    fn space(&self, name: &str) -> String {
        format!("{}-{name}", self.stem)
    }

    /// A program in the namespace of a host or of the `bus`.
    fn inside(&self, name: &str, words: &str) -> testkit::Program {
        self.place.tool("ip").args("netns exec").arg(self.space(name)).args(words).limit(LIFE)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let names = (1..=self.hosts).map(|host| format!("h{host}")).chain(["bus".to_owned()]);
        for name in names {
            let _ = self.place.tool("ip").args("netns del").arg(self.space(&name)).run();
        }
    }
}

/// Seconds by which the clocks of hosts differ from the controller's: ahead by up to hours, and behind by at most the
/// uptime that clocks since boot permit.
fn clock_offsets(hosts: usize) -> Vec<i64> {
    let uptime = fs::read_to_string("/proc/uptime").expect("there");
    let uptime = uptime.split('.').next().and_then(|seconds| seconds.parse::<i64>().ok()).expect("a number");
    let behind = |seconds: i64| -seconds.min(uptime / 2);
    let all = [86_400, behind(7200), 3, behind(5), 0, 500_000, behind(100_000), 1];
    all.into_iter().cycle().take(hosts).collect()
}

/// Loads on hosts in namespaces: checks that the offset of each clock is within the bound in the result.
fn measure_clocks(hosts: usize, measurements: usize) -> Result<(), String> {
    let network = Network::new(workplace!(), hosts)?;
    let place = &network.place;
    place.diskspd("fleet key --output fleet").run().expect_status(0);
    let nats = tool("nats-server")?;
    let mut server = network.inside("bus", "").arg(nats).args("-a 0.0.0.0 -p 4222 -V").start();
    server.wait_for_stderr("Server is ready");
    let access = "--no-tls --anonymous";
    let offsets = clock_offsets(hosts);
    let mut agents = Vec::new();
    for (index, offset) in offsets.iter().enumerate() {
        let name = format!("h{}", index + 1);
        let room = place.path(&format!("room-{name}"));
        fs::create_dir(&room).expect("made");
        let words = format!("unshare -T --monotonic={offset} --boottime={offset} --fork --kill-child");
        let agent = network.inside(&name, &words).arg(place.program());
        let words =
            format!("agent --server nats://10.0.0.254 {access} --trust fleet.pub --name {name} --state state-{name}");
        agents.push(agent.args(&words).arg("--allow").arg(room).start());
    }
    for agent in &mut agents {
        agent.wait_for_stderr("waits for orders");
    }
    let (mut measured, mut skews) = (0, Vec::new());
    while measured < measurements {
        let load = || {
            let run = network.inside("bus", "").arg(place.program());
            let run = run.args(&format!("--on=nats://10.0.0.254/h* {access}"));
            let words = "--key=fleet.key -c64K -b4K -r -o1 -t1 -d60 --max-ios=100 -W0 -L --json r.json";
            run.args(words).arg(place.path("room-{host}/t.dat"))
        };
        crate::hosts::server::run_in_time(load).expect_status(0);
        let result: Value = place.json("r.json");
        let fleet = &result["fleet"];
        let of_hosts = fleet["hosts"].as_array().expect("a list");
        assert_eq!(of_hosts.len(), hosts);
        for host in of_hosts {
            let index: usize = host["name"].as_str().and_then(|name| name[1..].parse().ok()).expect("a number");
            let true_ns = offsets[index - 1] * 1_000_000_000;
            let offset_ns = host["clock"]["offset_ns"].as_i64().expect("a number");
            let uncertainty_ns = host["clock"]["uncertainty_ns"].as_u64().expect("a number");
            let wrong_ns = offset_ns.abs_diff(true_ns);
            assert!(wrong_ns <= uncertainty_ns, "off by {wrong_ns} ns: {host}");
            measured += 1;
        }
        skews.extend(fleet["start_skew_ns"].as_u64());
        let total = &result["time_spans"][0]["measured"];
        assert_eq!(total["total"]["total"]["ios"], 100 * hosts, "{}", total["total"]);
        assert_eq!(total["total_latency"]["total"]["count"], 100 * hosts);
    }
    skews.sort_unstable();
    let median = skews.get(skews.len() / 2).copied().unwrap_or(0);
    eprintln!("{measured} clocks of {hosts} hosts; first I/Os of {} loads: median skew {median} ns", skews.len());
    Ok(())
}

fn measurements() -> Option<usize> {
    std::env::var(MEASUREMENTS).ok().map(|number| number.parse().expect("a number of measurements"))
}

// Shows switches: --no-tls
#[test]
fn clocks_of_eight_hosts_differ_by_what_the_result_says() {
    or_skip!(measure_clocks(8, measurements().unwrap_or(8)));
}

#[test]
fn clocks_of_three_hosts_differ_by_what_the_result_says() {
    if let Some(measurements) = measurements() {
        or_skip!(measure_clocks(3, measurements));
    }
}

/// The part that is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DisturbedPart {
    Agent,
    Controller,
    Server,
}

/// The kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    /// It stalls for less than the 10 s after which it counts as lost.
    Pause,
    /// It stalls for longer.
    LongPause,
    /// It is killed; a server is restarted.
    Kill,
}

/// The phase of the load at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Preparing,
    Waiting,
    Running,
    Ending,
}

/// A server and three agents on this machine.
struct ThreeAgents {
    place: Workplace,
    port: u16,
    server: Option<Running>,
    agents: Vec<Option<Running>>,
}

impl ThreeAgents {
    fn start() -> Result<Self, String> {
        let place = workplace!();
        let (server, port) = crate::hosts::server::start(&place, "")?;
        place.diskspd("fleet key --output fleet").run().expect_status(0);
        let mut agents = Vec::new();
        for host in 1..=3 {
            let room = place.path(&format!("room-h{host}"));
            fs::create_dir(&room).expect("made");
            let words = format!(
                "agent --server nats://127.0.0.1:{port} --trust fleet.pub --name h{host} --state state-h{host}"
            );
            agents.push(Some(place.diskspd(&words).arg("--allow").arg(room).limit(LIFE).start()));
        }
        agents.iter_mut().flatten().for_each(|agent| agent.wait_for_stderr("waits for orders"));
        Ok(Self { place, port, server: Some(server), agents })
    }

    fn files_of(&self, folder: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.place.path(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// Applies the disturbance to the agent of the first host, the controller or the server.
    fn disturb(&mut self, who: DisturbedPart, how: Disturbance, controller: &mut Option<Running>) {
        let victim = match who {
            DisturbedPart::Agent => self.agents[0].as_ref(),
            DisturbedPart::Controller => controller.as_ref(),
            DisturbedPart::Server => self.server.as_ref(),
        };
        let victim = victim.expect("it runs");
        match how {
            Disturbance::Pause | Disturbance::LongPause => {
                victim.pause();
                std::thread::sleep(Duration::from_secs(if how == Disturbance::Pause { 4 } else { 14 }));
                victim.go_on();
            }
            Disturbance::Kill => match who {
                DisturbedPart::Agent => self.agents[0].take().expect("it runs").kill_hard(),
                DisturbedPart::Controller => controller.take().expect("it runs").kill_hard(),
                DisturbedPart::Server => {
                    self.server.take().expect("it runs").kill_hard();
                    let nats = tool("nats-server").expect("it was there");
                    let words = format!("-a 127.0.0.1 -p {} -V", self.port);
                    let mut server = self.place.tool(nats).args(&words).limit(LIFE).start();
                    server.wait_for_stderr("Server is ready");
                    self.server = Some(server);
                }
            },
        }
    }

    /// Waits until all living agents have forgotten the run.
    fn wait_until_idle(&self) {
        let live = self.agents.iter().flatten().count();
        let began = Instant::now();
        loop {
            let hosts = format!("fleet hosts --json --server nats://127.0.0.1:{}", self.port);
            let hosts: Value = serde_json::from_str(&self.place.diskspd(&hosts).run().stdout).unwrap_or_default();
            let idle = hosts.as_array().into_iter().flatten().filter(|host| host["state"] == "idle").count();
            if idle == live {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "not all are idle: {hosts}");
        }
    }
}

/// One disturbed load. In any case the controller ends, agents become idle again, a load that did not start leaves no
/// file, and the result of a load that started is with the controller or the agent.
fn disturbed(who: DisturbedPart, how: Disturbance, phase: Phase) -> Result<(), String> {
    let case = format!("{who:?} {how:?} {phase:?}");
    let mut three = ThreeAgents::start()?;
    let size = if phase == Phase::Preparing { "-c300M" } else { "-c1M" };
    // As long as the disturbance, unless that is over before the start.
    let seconds = if phase == Phase::Ending || (phase, how) == (Phase::Waiting, Disturbance::Kill) { 2 } else { 25 };
    let words = format!(
        "--on=nats://127.0.0.1:{}/h* --key=fleet.key {size} -b4K -r -o1 -g400 -W0 -L -d{seconds} --json r.json",
        three.port
    );
    let target = three.place.path("room-{host}/t.dat");
    let mut controller = Some(three.place.diskspd(&words).arg(target).limit(PATIENCE * 2).start());
    let word = match phase {
        Phase::Preparing => ": preparing",
        Phase::Waiting => ": waiting for the start",
        Phase::Running => "",
        Phase::Ending => ": finished",
    };
    let hosts = format!("fleet hosts --json --server nats://127.0.0.1:{}", three.port);
    let is_so = |_: &Running| match phase {
        Phase::Running => three.place.diskspd(&hosts).run().stdout.matches("\"running\"").count() == 3,
        _ => three.agents[0].as_ref().is_some_and(|agent| agent.stderr().contains(word)),
    };
    controller.as_mut().expect("it runs").wait_until("the phase", is_so);
    three.disturb(who, how, &mut controller);
    let ended = controller.map(Running::finish);
    if let Some(ended) = &ended {
        assert!(matches!(ended.code(), Some(0 | 1 | 3)), "{case}: {ended}");
    }
    three.wait_until_idle();
    let has_result = three.place.path("r.json").exists();
    for host in 1..=3 {
        if three.agents[host - 1].is_none() {
            continue; // who is killed leaves what it made
        }
        let log = three.agents[host - 1].as_ref().map(Running::stderr).unwrap_or_default();
        let started = log.contains(": finished");
        let made = !three.files_of(&format!("room-h{host}")).is_empty();
        assert_eq!(made, started, "{case}: h{host}: {log}");
        let kept = !three.files_of(&format!("state-h{host}")).is_empty();
        assert!(!started || kept || has_result, "{case}: h{host} lost its result: {log}");
    }
    if how == Disturbance::Pause && who != DisturbedPart::Controller && phase == Phase::Running {
        let ended = ended.expect("it was not killed");
        ended.expect_status(0);
        assert!(!ended.stdout.contains("lost-host"), "{case}: {ended}");
    }
    eprintln!("{case}: as it should be");
    Ok(())
}

fn all_disturbances() -> Vec<(DisturbedPart, Disturbance, Phase)> {
    let mut all = Vec::new();
    for who in [DisturbedPart::Agent, DisturbedPart::Controller, DisturbedPart::Server] {
        for how in [Disturbance::Pause, Disturbance::LongPause, Disturbance::Kill] {
            for phase in [Phase::Preparing, Phase::Waiting, Phase::Running, Phase::Ending] {
                all.push((who, how, phase));
            }
        }
    }
    all
}

#[test]
fn whatever_stands_still_or_dies_leaves_no_host_busy_and_no_file_behind() {
    let cases = match std::env::var_os(ALL_DISTURBANCES) {
        Some(_) => all_disturbances(),
        None => vec![
            (DisturbedPart::Server, Disturbance::Kill, Phase::Waiting),
            (DisturbedPart::Controller, Disturbance::Kill, Phase::Waiting),
        ],
    };
    for some in cases.chunks(4) {
        let skipped: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                some.iter().map(|&(who, how, phase)| scope.spawn(move || disturbed(who, how, phase))).collect();
            threads.into_iter().filter_map(|thread| thread.join().expect("as it should be").err()).collect()
        });
        if let Some(reason) = skipped.into_iter().next() {
            or_skip!(Err::<(), String>(reason));
        }
    }
}
