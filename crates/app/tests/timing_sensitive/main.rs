//! Results of runs compared with those of the kernel, of other programs and of a clock, on devices of the tests; and
//! loads on several hosts, which give up after ten seconds without messages. They wait more than they compute: in
//! parallel they disturb each other little, but those of `e2e` would.

mod block_latencies;
mod block_layer_agrees;
mod changes_during_a_run;
mod device_health;
mod devices_beside;
#[cfg(feature = "fleet")]
mod hosts;
mod kernel_events;
mod known_service_times;
mod monitor;
mod schedules;
