//! Facts about the machine, read from a root directory passed to it.
//!
//! [`system()`] reads CPUs, caches, memory and kernel features, [`targets()`] inspects the files and devices of a
//! profile. For reports, [`environment()`] describes the system around a run, [`target_environment`] the storage below
//! its targets, [`placement()`] the location of a file on its devices, [`devices()`] all block devices, and
//! [`io_counters()`], [`dirty_parts()`], [`cpu_counters()`] and [`machine_counters()`] the kernel's counters,
//! [`share_counters()`] those of NFS and SMB, [`HealthWatch`] device errors during the run; [`device_state`],
//! [`file_system_state`] and [`processor_state`] the state that `diskspd check` evaluates. [`sampled_zeros`] reads
//! samples of a device before it is measured. Nothing here decides anything, and nothing here changes anything but this
//! process's own limit of open files: the callers decide.

mod block;
mod cache_counters;
mod cache_probe;
mod caches;
mod cgroup_limits;
mod cgroups;
mod classes;
mod cpu_times;
mod cpus;
mod device_reading;
mod devices;
mod direct_reader;
mod distribution;
mod environment;
mod exports;
mod file_system;
mod guard;
mod health;
mod hypervisor;
mod kernel;
mod kernel_counters;
mod lasting_names;
mod loops;
mod machine_counters;
mod memory;
mod mounts;
mod named_device;
mod nvlist;
mod open_files;
mod openers;
mod origin;
mod other_programs;
mod overlay;
mod placement;
mod processor;
mod request_place;
mod resolve;
mod root;
mod shares;
mod state;
mod storage;
mod syntax;
mod system;
mod system_reading;
mod target;
mod threads;
mod tracepoint;
mod zeros;
mod zpool;

pub use block::place::disk_of_partition;
pub use cache_probe::cache_probe;
pub use cpu_times::cpu_times;
pub use device_reading::device_reading;
pub use devices::devices;
pub use direct_reader::DirectReader;
pub use environment::{environment, target_environment, watched_machine};
pub use health::HealthWatch;
pub use kernel::{boot_id, clock_source, computer_name, trusts_cpu_counter};
pub use kernel_counters::{device_counters, io_counters};
pub use lasting_names::lasting_names;
pub use loops::loop_file;
pub use machine_counters::machine_counters;
pub use memory::{dirty_parts, free_memory_bytes, huge_page_bytes};
pub use model::facts::TargetQuestion;
pub use named_device::{NamedDevice, disks_below, named_device};
pub use openers::{users_of_files, users_of_shared_file};
pub use other_programs::{other_bytes, other_cpu_time};
pub use overlay::identity as file_identity;
pub use placement::{
    BtrfsChunks, FileExtent, PlacementSource, device_places, device_places_from, placement, placement_from,
};
pub use processor::cpu_counters;
pub use request_place::{RequestPlace, process_exists, process_of_thread, request_place};
pub use resolve::on_machine;
pub use root::Root;
pub use shares::{counts_transfers, share_counters};
pub use state::{
    CronJob, CronJobs, CronMinute, CronSchedule, JobSchedule, cron_jobs, device_state, file_system_state, housekeeping,
    network_paths, processor_state,
};
pub use system::system;
pub use system_reading::{interface_values, processor_names};
pub use target::targets;
pub use threads::{IoWorkerThread, cpu_wait, io_worker_threads};
pub use tracepoint::{Tracepoint, tracefs, tracepoint};
pub use zeros::sampled_zeros;
