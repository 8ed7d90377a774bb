//! Figures of runs beside those of the kernel, of other programs and of a clock, on devices of the tests' own. They wait more
//! than they compute: these few at the same time disturb each other little, and those of `e2e` would.

mod block_latencies;
mod block_layer_agrees;
mod device_health;
mod devices_beside;
mod kernel_events;
mod known_service_times;
mod monitor;
mod schedules;
