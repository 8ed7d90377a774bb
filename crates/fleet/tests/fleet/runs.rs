//! Runs that succeed, and runs that hosts refuse or fail.

use crate::bench::{Bench, LONG, VERY_LONG, document, loads, noise, wait};
use fleet::{AgentState, FleetError, HostLive, HostOutcome, Progress, Service};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::or_skip;

fn go_well(hosts: usize) {
    let bench = or_skip!(Bench::new(hosts));
    bench.behave(|_, behaviour| behaviour.run_for = VERY_LONG);
    let mut controller = bench.controller();
    let run = controller.run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        let touched = bench.has("prepare");
        match &progress {
            Progress::Planned(plans) => {
                assert_eq!(touched, vec![false; hosts], "a host was touched before all had planned");
                assert_eq!(plans.len(), hosts);
                assert_eq!(plans[hosts - 1].text, format!("{} of {hosts}", hosts - 1));
                assert_eq!(plans[0].facts, json!({"host": "h0"}));
            }
            Progress::Prepared => assert_eq!(bench.has("prepared"), vec![true; hosts]),
            Progress::Starting { lead_ns } => {
                assert!(*lead_ns >= 2_000_000_000);
                assert_eq!(bench.has("started"), vec![false; hosts]);
            }
            Progress::Running(live) => {
                let is_running = |host: &HostLive| host.ios > 0 && host.state == AgentState::Running;
                if live.len() == hosts && live.iter().all(is_running) {
                    bench.behave(|_, behaviour| behaviour.run_for = Duration::ZERO);
                }
            }
            _ => {}
        }
    });
    let run = run.unwrap();
    assert_eq!(run.hosts.len(), hosts);
    for (index, (host, agent)) in run.hosts.iter().zip(&bench.agents).enumerate() {
        assert_eq!((&host.name, host.index), (&agent.name, index));
        let HostOutcome::Finished(finished) = &host.outcome else { panic!("{:?}", host.outcome) };
        assert_eq!(document(finished)["host"], agent.name.as_str());
        assert_eq!(document(finished)["profile"]["index"], index);
        let timing = finished.timing;
        assert!(timing.started_ns >= timing.planned_start_ns, "started before its time");
        // All are on one machine, so the true difference of the clocks is 0.
        assert!(host.clock.offset_ns.unsigned_abs() <= host.clock.uncertainty_ns, "{:?}", host.clock);
        assert!(host.clock.drift_ppb.is_some());
        let off = timing.planned_start_ns.abs_diff(run.start_at_ns);
        assert!(off <= host.clock.uncertainty_ns * 2 + 1, "start {off} ns from the others'");
        assert!(!agent.host.has("undo file"));
        assert_eq!(std::fs::read_dir(&agent.state).unwrap().count(), 0, "the result was fetched and is still kept");
    }
    let infos = controller.select(&bench.names(), Some(&bench.key)).unwrap();
    assert_eq!(infos.len(), hosts);
    assert!(
        infos.iter().all(|info| info.state == AgentState::Idle && info.trusts_key && info.agents == 1),
        "{infos:?}"
    );
}

pub(crate) fn two_hosts_run_a_load() {
    go_well(2);
}

pub(crate) fn eight_hosts_run_a_load() {
    go_well(8);
}

pub(crate) fn a_refusal_of_one_host_leaves_all_untouched() {
    let bench = or_skip!(Bench::new(3));
    bench.behave(|index, behaviour| {
        if index > 0 {
            behaviour.refuse_plan = vec![format!("disk {index} is mounted"), "no".into()];
        }
    });
    let error = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap_err();
    let mut sentences = error.sentences().to_vec();
    sentences.sort();
    assert_eq!(sentences, ["h1: disk 1 is mounted", "h1: no", "h2: disk 2 is mounted", "h2: no"]);
    assert!(error.touched_nothing());
    assert_eq!(bench.has("prepare"), [false; 3]);
    // Nothing remains of it that blocks others.
    bench.behave(|_, behaviour| behaviour.refuse_plan.clear());
    let mut plans = bench.controller().plan(bench.loads(), &bench.key, &bench.stop).unwrap();
    plans.sort_by_key(|plan| plan.index);
    assert_eq!(plans[2].text, "2 of 3");
    assert_eq!(bench.has("prepare"), [false; 3]);
}

pub(crate) fn a_failure_to_prepare_on_one_host_is_undone_on_all() {
    let bench = or_skip!(Bench::new(3));
    bench.behave(|index, behaviour| {
        if index == 1 {
            behaviour.prepare_for = VERY_LONG;
            behaviour.fail_prepare = vec!["no space".into()];
        }
    });
    let error = std::thread::scope(|scope| {
        let run =
            scope.spawn(|| bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap_err());
        wait(|| bench.has("prepared") == [true, false, true]);
        bench.behave(|_, behaviour| behaviour.prepare_for = Duration::ZERO);
        run.join().unwrap()
    });
    assert_eq!(error, FleetError::Failed(vec!["h1: no space".into()]));
    assert_eq!(bench.has("undo file"), [true, false, true]);
    assert_eq!(bench.has("started"), [false; 3]);
    let infos = bench.controller().select(&bench.names(), None).unwrap();
    assert!(infos.iter().all(|info| info.state == AgentState::Idle && info.run.is_none()), "{infos:?}");
}

pub(crate) fn a_failing_load_of_one_host_leaves_the_results_of_the_others() {
    let bench = or_skip!(Bench::new(2));
    bench.behave(|index, behaviour| {
        if index == 0 {
            behaviour.fail_run = vec!["device gone".into()];
        }
    });
    let run = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap();
    assert_eq!(run.hosts[0].outcome, HostOutcome::Failed(vec!["device gone".into()]));
    assert!(matches!(run.hosts[1].outcome, HostOutcome::Finished(_)));
}

pub(crate) fn a_stop_before_the_start_removes_what_was_prepared() {
    let bench = or_skip!(Bench::new(2));
    let error = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        if matches!(progress, Progress::Starting { .. }) {
            bench.stop.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(error, Err(FleetError::Stopped(Vec::new())));
    assert_eq!(bench.has("started"), [false; 2]);
    assert_eq!(bench.has("undo file"), [true; 2]);
}

/// The reason of a load that failed while it was to end was lost.
pub(crate) fn what_fails_while_the_run_is_stopped_says_why() {
    let bench = or_skip!(Bench::new(3));
    bench.behave(|index, behaviour| {
        if index == 1 {
            behaviour.fail_run = vec!["device gone".into()];
        }
    });
    let error = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        if matches!(progress, Progress::Starting { .. }) {
            bench.stop.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(error, Err(FleetError::Stopped(vec!["h1: device gone".into()])));
    assert_eq!(bench.has("undo file"), [true; 3]);
    bench.stop.store(false, Ordering::Relaxed);
    bench.behave(|index, behaviour| {
        if index == 2 {
            behaviour.prepare_for = VERY_LONG;
            behaviour.fail_prepare = vec!["no space".into()];
        }
    });
    let error = std::thread::scope(|scope| {
        let run = scope.spawn(|| bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}));
        wait(|| bench.agents[2].host.events().iter().filter(|event| *event == "prepare").count() == 2);
        bench.stop.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert_eq!(error, Err(FleetError::Stopped(vec!["h2: no space".into()])));
}

pub(crate) fn a_stop_after_the_plan_touches_nothing() {
    let bench = or_skip!(Bench::new(2));
    let error = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        if matches!(progress, Progress::Planned(_)) {
            bench.stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(matches!(error, Err(FleetError::Stopped(_))), "{error:?}");
    assert_eq!(bench.has("prepare"), [false; 2]);
}

pub(crate) fn a_stop_during_the_load_ends_it_and_keeps_its_figures() {
    let bench = or_skip!(Bench::new(2));
    bench.behave(|_, behaviour| behaviour.run_for = VERY_LONG);
    let run = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |progress| {
        if matches!(progress, Progress::Running(_)) {
            bench.stop.store(true, Ordering::Relaxed);
        }
    });
    let run = run.unwrap();
    assert!(run.stopped);
    for host in &run.hosts {
        let HostOutcome::Finished(finished) = &host.outcome else { panic!("{:?}", host.outcome) };
        assert_eq!(document(finished)["stopped"], true);
    }
}

pub(crate) fn results_larger_than_a_message_come_in_parts() {
    let bench = or_skip!(Bench::with(2, "max_payload: 16384"));
    bench.behave(|_, behaviour| behaviour.result_bytes = 300_000);
    let run = bench.controller().run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap();
    for host in &run.hosts {
        let HostOutcome::Finished(finished) = &host.outcome else { panic!("{:?}", host.outcome) };
        assert_eq!(document(finished)["text"], noise(300_000));
    }
}

pub(crate) fn a_load_larger_than_a_message_is_refused() {
    let bench = or_skip!(Bench::with(1, "max_payload: 16384"));
    let mut all = loads(&["h0"]);
    all[0].profile = json!(noise(20_000));
    let error = bench.controller().run(all, &bench.key, &bench.stop, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("larger than the server takes") && error.touched_nothing(), "{error:?}");
}

pub(crate) fn an_agent_for_one_load_ends_after_it_and_not_after_a_plan() {
    let mut bench = or_skip!(Bench::new(0));
    let agent = bench.agent_for("once", &bench.server.url(), Service::Once(LONG));
    bench.agents.push(agent);
    wait(|| bench.agents[0].is_ready());
    let mut controller = bench.controller();
    controller.plan(bench.loads(), &bench.key, &bench.stop).unwrap();
    controller.run(bench.loads(), &bench.key, &bench.stop, &mut |_| {}).unwrap();
    wait(|| bench.agents[0].has_ended());
    bench.agents[0].end().unwrap();
    assert!(bench.agents[0].host.has("ended"));
}

pub(crate) fn an_agent_for_one_load_ends_if_none_comes() {
    let bench = or_skip!(Bench::new(0));
    let mut agent = bench.agent_for("once", &bench.server.url(), Service::Once(Duration::from_millis(100)));
    wait(|| agent.has_ended());
    let error = agent.end().unwrap_err().to_string();
    assert!(error.contains("no controller has begun a load"), "{error}");
}

pub(crate) fn an_agent_of_one_controller_is_ready_at_once_and_ends_with_the_server() {
    let mut bench = or_skip!(Bench::new(0));
    let ready = Arc::new(AtomicBool::new(false));
    let says = Arc::clone(&ready);
    let service = Service::Private(Arc::new(move || says.store(true, Ordering::Relaxed)));
    let agent = bench.agent_for("h0", &bench.server.url(), service);
    bench.agents.push(agent);
    wait(|| ready.load(Ordering::Relaxed));
    let infos = bench.controller().hosts(Some(&bench.key)).unwrap();
    assert_eq!((infos.len(), infos[0].state), (1, AgentState::Idle));
    bench.server.kill();
    wait(|| bench.agents[0].has_ended());
    bench.agents[0].end().unwrap();
}
