//! Agents and a controller on a NATS server: complete runs, refusals, losses.
//!
//! Each scenario has a server of its own on a free port of the loopback interface. They mostly wait (for the start of a
//! load, for a timeout), so those of a file run at the same time.

#![allow(clippy::unwrap_used)] // In a test, to panic is to fail.

mod bench;
mod hostile;
mod lost;
mod relay;
mod runs;

type Scenario = (&'static str, fn());

/// Names and functions of scenarios.
macro_rules! scenarios {
    ($module:ident: $($name:ident),* $(,)?) => { [$((stringify!($name), $module::$name as fn())),*] };
}

/// Runs them at the same time, and lists all that failed.
fn together(scenarios: &[Scenario]) {
    let spawn = |&(name, scenario): &Scenario| {
        let thread = std::thread::Builder::new().name(name.into());
        (name, thread.spawn(move || testkit::unless_paused(scenario)).unwrap())
    };
    let threads: Vec<_> = scenarios.iter().map(spawn).collect();
    let failed = threads.into_iter().filter_map(|(name, thread)| thread.join().is_err().then_some(name));
    let failed: Vec<&str> = failed.collect();
    assert!(failed.is_empty(), "failed: {failed:?}");
}

#[test]
fn runs_that_go_well_or_are_refused() {
    together(
        &scenarios![runs: two_hosts_run_a_load, eight_hosts_run_a_load, a_refusal_of_one_host_leaves_all_untouched, a_failure_to_prepare_on_one_host_is_undone_on_all, a_failing_load_of_one_host_leaves_the_results_of_the_others, a_stop_before_the_start_removes_what_was_prepared, what_fails_while_the_run_is_stopped_says_why, a_stop_after_the_plan_touches_nothing, a_stop_during_the_load_ends_it_and_keeps_its_figures, results_larger_than_a_message_come_in_parts, a_load_larger_than_a_message_is_refused, an_agent_for_one_load_ends_after_it_and_not_after_a_plan, an_agent_for_one_load_ends_if_none_comes, an_agent_of_one_controller_is_ready_at_once_and_ends_with_the_server],
    );
}

#[test]
fn agents_controllers_and_servers_that_go_away() {
    together(
        &scenarios![lost: a_lost_agent_stops_its_load_and_keeps_the_result_and_the_others_go_on, a_silent_controller_ends_the_load_and_its_results_can_be_collected, a_silent_controller_before_the_start_starts_nothing, a_restarted_server_does_not_end_the_run, an_agent_that_is_ended_stops_its_load_and_keeps_the_result, a_name_belongs_to_one_agent, unknown_names_and_versions_are_refused_before_anything_is_sent, a_second_controller_is_refused_and_a_stop_is_taken_from_it, a_failure_that_nobody_foresaw_ends_neither_agent_nor_controller, a_network_that_is_slow_on_one_way_makes_the_clock_less_sure_and_not_wrong],
    );
}

#[test]
fn others_who_have_no_key() {
    together(
        &scenarios![hostile: what_a_listener_without_a_key_sends_again_does_nothing, orders_that_are_not_what_they_should_be_are_refused_logged_and_not_answered, a_copy_that_is_faster_than_its_order_is_not_answered, a_flood_of_nonsense_ends_no_agent_and_fills_no_log, a_controller_with_another_key_orders_nothing, the_server_asks_who_is_there_by_micro_service, an_agent_that_lies_is_bounded, a_liar_among_the_hosts_costs_its_own_result_only, a_host_that_says_what_it_cannot_be_is_not_waited_for, hellos_without_end_keep_no_controller_out, nobody_makes_an_agent_speak_for_a_run],
    );
}
