//! Figures of runs beside those of the kernel, of other programs and of a clock, on devices of the tests' own; and loads on
//! several hosts, which give up when they hear nothing of each other for ten seconds. They wait more than they compute:
//! these at the same time disturb each other little, and those of `e2e` would.

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
