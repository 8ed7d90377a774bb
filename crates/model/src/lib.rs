//! The data types of diskspd: the request ([`profile`]), the machine ([`facts`], [`topology`]), the plan ([`plan`]),
//! the raw record of a run ([`record`]) and its results ([`result`]).
//!
//! Pure data, and the checks that need no machine ([`validate`]). This crate does no I/O, reads no clock and no
//! environment, and knows no file format except how serde writes its types; everything else may import it and it
//! imports nothing of ours.

pub mod ab;
pub mod affinity;
pub mod block_device;
pub mod by_path;
pub mod cache_probe;
pub mod change;
pub mod check;
pub mod confidence;
pub mod corruption;
pub mod counter_object;
pub mod course;
pub mod cpu_shares;
pub mod device_guard;
pub mod device_interval;
pub mod doubt;
pub mod durability;
pub mod ending;
pub mod engine_kind;
pub mod environment;
pub mod expectation;
pub mod facts;
pub mod figures;
pub mod finding;
pub mod fleet;
pub mod gate;
pub mod headline;
mod histogram;
pub mod host_timing;
pub mod interference;
pub mod kernel_counters;
pub mod kernel_events;
pub mod kernel_log;
pub mod label;
pub mod latency_band;
pub mod ledger;
pub mod limit;
pub mod limits;
pub mod live;
pub mod machine_counters;
pub mod mark;
pub mod metric;
pub mod note;
pub mod operation;
pub mod packed_counts;
pub mod path;
pub mod performance_counter;
pub mod placement;
pub mod plan;
pub mod preset;
pub mod printable;
pub mod profile;
pub mod record;
pub mod requirement;
pub mod result;
pub mod rw_flags;
pub mod shell;
pub mod storage_course;
pub mod suggest;
pub mod sweep;
pub mod system_counter;
pub mod targets_found;
pub mod tier;
pub mod topology;
pub mod trace;
pub mod units;
pub mod validate;
pub mod varint;
pub mod verdict;
pub mod verification;
pub mod version;
