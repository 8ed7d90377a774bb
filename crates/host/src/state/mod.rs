//! The state of devices, file systems and processors; callers decide whether they are fit for a measurement.

mod cron;
mod cron_schedule;
mod device;
mod drive_log;
mod file_system;
mod housekeeping;
mod network;
mod processors;

pub use cron::{CronJob, CronJobs, JobSchedule, cron_jobs};
pub use cron_schedule::{CronMinute, CronSchedule};
pub use device::device_state;
pub use file_system::file_system_state;
pub use housekeeping::housekeeping;
pub use network::network_paths;
pub use processors::processor_state;
