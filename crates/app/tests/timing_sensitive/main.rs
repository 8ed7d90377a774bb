//! Tests that other work can disturb: findings and figures of runs beside those of the kernel and of other programs, on devices
//! of the tests' own, and loads on several hosts, which give up when they hear nothing of each other for ten seconds. They
//! wait more than they compute: these at the same time disturb each other little, and those of `e2e` would.

mod block_latencies;
mod block_layer_agrees;
mod device_health;
mod devices_beside;
mod findings;
#[cfg(feature = "fleet")]
mod hosts;
mod kernel_events;
mod known_service_times;
mod monitor;
mod schedules;
