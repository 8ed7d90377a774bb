//! Agents, controllers and servers that disappear while a load runs.

use crate::bench::{Bench, RunningAgent, SHORT, VERY_LONG, document, loads, wait};
use crate::relay::Relay;
use fleet::{AgentState, Collected, Connection, Controller, FleetRun, HostOutcome, Progress, Service, name};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use sys::clock::monotonic_ns;
use testkit::or_skip;

fn finished(run: &FleetRun, host: usize) -> &fleet::Finished {
    match &run.hosts[host].outcome {
        HostOutcome::Finished(finished) => finished,
        outcome => panic!("{outcome:?}"),
    }
}

/// Fetches the kept results of all agents of the bench.
fn collected(bench: &Bench) -> Vec<Collected> {
    let mut all = Vec::new();
    let save = &mut |collected| {
        all.push(collected);
        Ok(())
    };
    bench.controller().collect(&bench.names(), &bench.key, save).unwrap();
    all
}

pub(crate) fn a_lost_agent_stops_its_load_and_keeps_the_result_and_the_others_go_on() {
    let mut bench = or_skip!(Bench::new(0));
    let relay = Relay::to(bench.server.port);
    bench.agents = vec![bench.agent("h0"), bench.agent_at("far", &relay.url())];
    bench.wait_until_ready();
    bench.behave(|_, behaviour| behaviour.run_for = VERY_LONG);
    let loads = bench.loads();
    let id = loads[0].run.clone();
    let mut controller = bench.controller();
    let silence = controller.silence();
    let run = controller.run(loads, &bench.key, &bench.stop, &mut |progress| {
        let Progress::Running(live) = progress else { return };
        relay.cut(true);
        bench.agents[1].silence.set(SHORT);
        if bench.agents[1].host.has("stopped") {
            bench.behave(|_, behaviour| behaviour.run_for = Duration::ZERO);
        }
        if live[0].state == AgentState::Finished {
            silence.set(SHORT);
        }
    });
    let run = run.unwrap();
    assert!(matches!(&run.hosts[1].outcome, HostOutcome::Lost(_)), "{:?}", run.hosts[1].outcome);
    assert_eq!(document(finished(&run, 0))["stopped"], false);
    relay.cut(false);
    bench.wait_until_idle();
    let kept = collected(&bench);
    assert_eq!((kept.len(), &kept[0].host, &kept[0].run), (1, &"far".to_owned(), &id));
    assert_eq!(document(&kept[0].finished)["stopped"], true);
    assert!(collected(&bench).is_empty(), "what was saved is still kept");
}

pub(crate) fn a_silent_controller_ends_the_load_and_its_results_can_be_collected() {
    let bench = or_skip!(Bench::new(2));
    bench.behave(|_, behaviour| behaviour.run_for = VERY_LONG);
    let relay = Relay::to(bench.server.port);
    let connection = Connection { server: relay.url(), ..Connection::default() };
    let mut controller = Controller::connect(&connection, crate::bench::VERSION).unwrap();
    let silence = controller.silence();
    // As a stopped process: the connection stays, without messages.
    let run = controller.run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        if matches!(progress, Progress::Running(_)) {
            relay.be_silent(true);
            bench.shorten_silence();
            silence.set(SHORT);
        }
    });
    for host in run.unwrap().hosts {
        assert!(matches!(host.outcome, HostOutcome::Lost(_)), "{:?}", host.outcome);
    }
    wait(|| bench.has("stopped") == [true; 2]);
    bench.wait_until_idle();
    let listed = bench.controller().kept(&bench.names(), &bench.key).unwrap();
    assert!(listed.iter().all(|(_, kept)| kept.len() == 1 && kept[0].bytes > 0), "{listed:?}");
    // A result that cannot be saved is kept.
    let failed = bench.controller().collect(&bench.names(), &bench.key, &mut |_| Err("disk full".into()));
    assert!(failed.unwrap_err().to_string().contains("disk full"));
    let kept = collected(&bench);
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|kept| document(&kept.finished)["stopped"] == true));
}

pub(crate) fn a_silent_controller_before_the_start_starts_nothing() {
    let bench = or_skip!(Bench::new(2));
    let relay = Relay::to(bench.server.port);
    let connection = Connection { server: relay.url(), ..Connection::default() };
    let mut controller = Controller::connect(&connection, crate::bench::VERSION).unwrap();
    let silence = controller.silence();
    let run = controller.run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        if matches!(progress, Progress::Prepared) {
            relay.be_silent(true);
            bench.shorten_silence();
            silence.set(SHORT);
        }
    });
    run.unwrap_err();
    wait(|| bench.has("undo file") == [true; 2]);
    assert_eq!(bench.has("started"), [false; 2]);
}

pub(crate) fn a_restarted_server_does_not_end_the_run() {
    let bench = or_skip!(Bench::new(2));
    let Bench { agents, mut server, key, folder, stop } = bench;
    let run_for = |long: Duration| agents.iter().for_each(|agent| agent.host.behaviour.lock().unwrap().run_for = long);
    run_for(VERY_LONG);
    let mut controller = Controller::connect(&server.connection(), crate::bench::VERSION).unwrap();
    let mut restarted_ns = None;
    let run = controller.run(loads(&["h0", "h1"]), &key, &stop, &mut |progress| {
        let Progress::Running(live) = progress else { return };
        let Some(restarted_ns) = restarted_ns else {
            server.kill();
            std::thread::sleep(Duration::from_millis(300));
            server.restart();
            restarted_ns = Some(monotonic_ns());
            return;
        };
        // A host's I/Os are the nanoseconds since its start.
        let is_back = |host: usize| {
            let started_ns = agents[host].host.started_ns.load(Ordering::Relaxed);
            live[host].ios > 0 && started_ns + live[host].ios > restarted_ns
        };
        if is_back(0) && is_back(1) {
            run_for(Duration::ZERO);
        }
    });
    let run = run.unwrap();
    assert_eq!(document(finished(&run, 0))["stopped"], false);
    assert_eq!(document(finished(&run, 1))["stopped"], false);
    assert!(restarted_ns.is_some() && folder.path().is_dir());
}

pub(crate) fn an_agent_that_is_ended_stops_its_load_and_keeps_the_result() {
    let mut bench = or_skip!(Bench::new(1));
    bench.behave(|_, behaviour| behaviour.run_for = VERY_LONG);
    let mut controller = bench.controller();
    let silence = controller.silence();
    let mut agent = bench.agents.pop().unwrap();
    let host = Arc::clone(&agent.host);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| controller.run(loads(&["h0"]), &bench.key, &bench.stop, &mut |_| {}));
        wait(|| host.has("started"));
        agent.end().unwrap();
        silence.set(SHORT);
        assert!(host.has("stopped"));
        assert_eq!(std::fs::read_dir(&agent.state).unwrap().count(), 1);
        let run = run.join().unwrap().unwrap();
        assert!(!matches!(run.hosts[0].outcome, HostOutcome::Finished(_)), "{run:?}");
    });
    // The next agent with this folder serves it.
    let next = bench.agent("h0");
    bench.agents.push(next);
    wait(|| bench.agents[0].is_ready());
    assert_eq!(collected(&bench).len(), 1);
}

pub(crate) fn a_name_belongs_to_one_agent() {
    let bench = or_skip!(Bench::new(1));
    let mut second = bench.agent("h0");
    wait(|| second.has_ended());
    let error = second.end().unwrap_err();
    assert!(error.to_string().contains("another agent") && error.to_string().contains("h0"), "{error}");
    assert!(!bench.agents[0].has_ended());
    // Of two that begin at the same time one remains.
    let twins = [bench.agent("twin"), bench.agent("twin")];
    wait(|| twins.iter().any(RunningAgent::has_ended) && twins.iter().any(RunningAgent::is_ready));
    let ended = twins.iter().filter(|twin| twin.has_ended()).count();
    assert_eq!(ended, 1);
    let infos = bench.controller().hosts(None).unwrap();
    let names: Vec<(&str, usize)> = infos.iter().map(|info| (info.name.as_str(), info.agents)).collect();
    assert_eq!(names, [("h0", 1), ("twin", 1)]);
}

pub(crate) fn unknown_names_and_versions_are_refused_before_anything_is_sent() {
    let bench = or_skip!(Bench::new(2));
    let mut controller = bench.controller();
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<String>>();
    let selected = controller.select(&names(&["h1", "h*"]), None).unwrap();
    assert_eq!(selected.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["h1", "h0"]);
    assert_eq!(selected[0].limits["allow"][0], "/x");
    let error = controller.select(&names(&["h0", "gone"]), None).unwrap_err();
    assert!(error.to_string().contains("no agent gone answers") && error.touched_nothing(), "{error}");
    let error = controller.select(&names(&["x*"]), None).unwrap_err();
    assert!(error.to_string().contains("found: h0, h1"), "{error}");
    let mut other = Controller::connect(&bench.server.connection(), "9.9.9").unwrap();
    let error = other.run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("h0: the agent is version 0.1.0, the controller 9.9.9"), "{error}");
    let mut twice = bench.loads();
    twice[1].host = "h0".into();
    assert!(controller.run(twice, &bench.key, &bench.stop, &mut |_| {}).unwrap_err().to_string().contains("twice"));
    assert_eq!(bench.has("plan"), [false; 2]);
    assert_eq!(name::new_id().unwrap().len(), 32);
}

pub(crate) fn a_second_controller_is_refused_and_a_stop_is_taken_from_it() {
    let bench = or_skip!(Bench::new(2));
    bench.behave(|_, behaviour| behaviour.run_for = VERY_LONG);
    let mut asked = false;
    let run = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        if matches!(progress, Progress::Running(_)) && !asked {
            asked = true;
            let mut second = bench.controller();
            let error = second.run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap_err();
            assert!(error.to_string().contains("busy with run") && error.touched_nothing(), "{error}");
            assert_eq!(bench.has("stopped"), [false; 2]);
            let stopped = second.stop(&bench.names(), &bench.key).unwrap();
            assert!(stopped.iter().all(|one| one.outcome == Ok(())) && stopped.len() == 2, "{stopped:?}");
        }
    });
    let run = run.unwrap();
    assert!(!run.stopped && !bench.stop.load(Ordering::Relaxed));
    for host in 0..2 {
        assert_eq!(document(finished(&run, host))["stopped"], true);
    }
}

pub(crate) fn a_network_that_is_slow_on_one_way_makes_the_clock_less_sure_and_not_wrong() {
    let mut bench = or_skip!(Bench::new(0));
    let relay = Relay::delaying(bench.server.port, Duration::from_millis(20));
    // They need not look first whether others have their names.
    let ready = Arc::new(AtomicUsize::new(0));
    let agents = [("h0", bench.server.url()), ("slow", relay.url())].map(|(name, url)| {
        let ready = Arc::clone(&ready);
        bench.agent_for(name, &url, Service::Private(Arc::new(move || _ = ready.fetch_add(1, Ordering::Relaxed))))
    });
    bench.agents = agents.into();
    wait(|| ready.load(Ordering::Relaxed) == 2);
    let run = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap();
    for host in &run.hosts {
        // All clocks are the same, and half of the delay looks like an offset.
        assert!(host.clock.offset_ns.unsigned_abs() <= host.clock.uncertainty_ns, "{:?}", host.clock);
    }
    let slow = &run.hosts[1].clock;
    assert!(slow.uncertainty_ns >= 10_000_000 && slow.offset_ns.abs() >= 5_000_000, "{slow:?}");
}

pub(crate) fn a_failure_that_nobody_foresaw_ends_neither_agent_nor_controller() {
    let bench = or_skip!(Bench::new(2));
    bench.behave(|index, behaviour| behaviour.panic_in_plan = index == 0);
    let error = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("h0: the agent failed in an unforeseen way"), "{error}");
    bench.behave(|_, behaviour| behaviour.panic_in_plan = false);
    bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap();
}
