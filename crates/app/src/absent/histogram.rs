//! In a build without eBPF there are no latency distributions of block devices.

use super::invalid;
use crate::feature::Feature;
use crate::status::Status;
use cli::subcommand::monitor::{Histograms, WatchRequest};

/// Refuses to collect distributions.
pub(super) fn run(_: &WatchRequest, _: Histograms) -> Status {
    invalid(&[format!("--histogram: {}", Feature::Ebpf.refusal())])
}
